/* drive.h - what the commands share that change a job which is there: hold, resume, requeue, move, cancel
 *
 *   KIND/NAME ──drive_each──▶ the object that decides, its Workload ──▶ one patch, command or deletion ──▶ a line that says what was done
 *
 * Everything goes through the API, as the user's own rights allow: what may not be done is refused by the server, and said.
 *
 *                     hold                        resume             requeue                      move
 *   with a Workload   active: false               active: true       the one, then the other      label queue-name of who owns it
 *   vcjob             Command AbortJob            ResumeJob          RestartJob                   spec.queue
 *   Job and the like  suspend: true               suspend: false     the one, then the other      label queue-name
 *   PodGroup          annotation capstan.dev/hold it is taken off    -                            spec.queue, of Volcano's
 */
#ifndef CLI_DRIVE_DRIVE_H
#define CLI_DRIVE_DRIVE_H
#include "cli/connect.h"
#include "cli/lookup/job_find.h"

struct drive {
    struct connection *c;
    struct arena *a;
    const struct options *o;
    enum job_kind kind;
    const struct json *object;   /* who owns the rest: the Job of a Workload, the vcjob of a pod group */
    const struct json *workload; /* Kueue's, NULL none */
    const char *name, *uid;      /* of the object */
    const char *said;            /* what was done, for people */
};

/* `act` once for each argument; prints "KIND/NAME: SAID", or what is wrong. Returns the exit code of the first that failed. */
int drive_each(const struct options *o, int (*act)(struct drive *d, struct err *e));

/* Is it over, so that nothing can be done to it? */
bool drive_is_over(const struct drive *d);
/* Has it places, so that its pods end when it is stopped? */
bool drive_runs(const struct drive *d);
/* -E_CONFLICT: it runs, and --stop was not given, or its pods would be gone for good. */
int drive_may_stop(const struct drive *d, bool stop, const char *verb, struct err *e);

/* A merge patch, written as JSON text. */
int drive_patch(struct drive *d, enum job_kind kind, const char *name, const char *patch, struct err *e);
int drive_patch_object(struct drive *d, const char *patch, struct err *e);
int drive_patch_workload(struct drive *d, const char *patch, struct err *e);
/* Of a job in no queue. */
int drive_suspend(struct drive *d, bool suspend, struct err *e);
/* A Command of bus.volcano.sh for the object. */
int drive_command(struct drive *d, const char *action, struct err *e);
/* Reads the Workload anew until `is` says yes; -E_AGAIN after a minute. */
int drive_wait(struct drive *d, bool (*is)(const struct drive *d), const char *what, struct err *e);
bool drive_gave_back(const struct drive *d); /* for drive_wait: nothing is held any more */
/* Of a pod or pod group of Kueue: its pods that have not ended. Else those that the object controls. */
const struct json *drive_pods(const struct drive *d);

#endif
