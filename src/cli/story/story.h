/* story.h - capstan demo, told: half a minute in which two teams share a cluster, one fact a line
 *
 *   chapter ──▶ asks the API server as anybody would ──▶ waits until it is so ──▶ says it, with a bar of the GPUs
 *
 * Nothing is said that the cluster does not show: what does not come true in time is said, too, and the exit code is 1.
 */
#ifndef CLI_STORY_STORY_H
#define CLI_STORY_STORY_H
#include "cli/connect.h"
#include "sim/cluster.h"

struct story {
    struct loop *loop;
    struct connection c;   /* to the cluster in this process; ns is unused */
    struct arena *a;
    const char *dir;       /* where the cluster keeps its data */
    double speed;
    int64_t start_ms;
    bool stopped;          /* by a signal */
    bool failed;           /* something did not come true */
    bool progress;         /* standard error is a terminal */
};
/* The whole of it, with a cluster of its own. keep: the cluster stays afterwards, until a signal. Returns the exit code. */
int story_main(double speed, bool keep);
/* All chapters, to standard output. Returns the exit code. */
int story_tell(struct story *s);

extern const char *const story_nodes[]; /* shapes, as cluster_default_nodes */
extern const uint32_t story_nodes_n;

/* ---- story_tools.c: what chapters are made of ---- */

void story_say(struct story *s, const char *format, ...) PRINTF_LIKE(2, 3); /* with the time in front */
void story_more(const char *format, ...) PRINTF_LIKE(1, 2);                 /* below it */
void story_pause(struct story *s);                                         /* as long as one reads */
const struct json *story_get(struct story *s, const char *path);           /* NULL: it is not there */
bool story_post(struct story *s, const char *path, const char *object);    /* JSON text */
bool story_patch(struct story *s, const char *path, const char *patch);    /* a merge patch */
bool story_delete(struct story *s, const char *path);                      /* and what it made */
/* Waits until `is` says so. False: it did not come true in time, and that was said. */
bool story_wait(struct story *s, bool (*is)(struct story *s, const void *of), const void *of, const char *what);

struct story_job {
    const char *ns, *name;
    int pods_n, gpus_n;      /* gpus_n: of each pod */
    int run_s;               /* simulated */
    const char *activity;    /* of its GPUs: "0.9" */
    const char *priority;    /* a WorkloadPriorityClass; NULL none */
};
bool story_submit(struct story *s, const struct story_job *job);
int story_running_n(struct story *s, const struct story_job *job); /* pods */
bool story_starts(struct story *s, const struct story_job *job);   /* waits until all of it runs, and says how long that took */
const struct json *story_workload(struct story *s, const struct story_job *job);
const struct json *story_pods(struct story *s, const struct story_job *job);
void story_bars(struct story *s); /* of nodes with whole GPUs: whose each is */

#endif
