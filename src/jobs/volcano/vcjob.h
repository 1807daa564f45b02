/* vcjob.h - inside the Volcano Job controller: what it remembers of a job, and one pass over it
 *
 * SHAPE  memory: pods by name, pods that somebody else deleted ("evicted") until their policy has been carried out. Everything else is
 *        read anew in each pass, so a restart loses at most an eviction, and then the pod is simply made again.
 */
#ifndef JOBS_VCJOB_H
#define JOBS_VCJOB_H
#include "jobs/controllers.h"
#include "jobs/volcano/vcjob_plugins.h"
#include "jobs/volcano/vcjob_policy.h"
#include "jobs/volcano/vcjob_status.h"
#include "sched/telling/pace.h"

enum {
    VCJOB_EVICTED_MAX = 1024,     /* LIMIT deletions remembered per job; one is enough for most policies */
    VCJOB_TAKEN_MS = 5000,        /* after which a pod that was asked for is said to be somebody else's */
    VCJOB_TAKEN_AGAIN_MS = 60000, /* after which it is asked for again */
    VCJOB_REFUSALS_MAX = 15,      /* SOURCE Volcano --max-requeue-num */
    VCJOB_CREATES_PER_PASS = 512, /* LIMIT pods made in one pass: bounded turns */
    VCJOB_FIGURES_MS = 300,       /* after which its figures say that a new pod waits: most run by then, and nothing else follows from it */
};

struct vcjob_memory {
    struct map *pods;             /* name -> struct vcjob_pod * */
    struct map *made;             /* pods and PodGroup that the server took and no watch has shown yet: name -> int64_t, wall time */
    struct vcjob_pod **evicted;
    uint32_t evicted_n, evicted_cap;
    int64_t evicted_retry;        /* retryCount when a targeted restart was ordered for them; see vcjob_trigger.c */
    bool restarting_part;
    char *uid;                    /* of the Job that this is about; another uid under the same name starts anew */
    int64_t objects_version, objects_generation; /* job version and generation that the plugins' objects were made for; -1 = none */
    enum vcjob_writing { VCJOB_OBJECTS_QUIET, VCJOB_OBJECTS_MAKING, VCJOB_OBJECTS_DROPPING } writing; /* in the pass before this one */
    int64_t asked_ms;             /* wall: since when pods are missing that were asked for; 0 = none are, -1 = that was told */
    bool met_now;                 /* nothing was looked at since we know it */
    uint64_t group_looked;        /* of what the last pass looked at in its PodGroup; 0 = there was none */
    uint64_t group_made;          /* of what its PodGroup was made from, until it is seen; 0 = not by us */
    uint64_t group_seen;          /* of what its PodGroup's spec follows from, when that was last as it should be; 0 = not yet */
    char *command_uid;            /* Command being carried out */
    char command_before[64];      /* phase/version/retry before it */
    int64_t generation_seen, updated_ms; /* for JobUpdated: when it was, 0 = answered */
    int64_t unknown_ms;           /* since when its PodGroup is Unknown; 0 = it is not */
};

struct vcjobs {
    struct jobs *jobs;
    struct arena *scratch;        /* one callback */
    struct map *memories;         /* "ns/name" -> struct vcjob_memory * */
    struct workqueue *queue, *queue_commands;
    struct pace *pace;            /* of figures in status, by "ns/name" */
    struct job_flows *flows;
    struct cron_jobs *cron_jobs;  /* of batch.volcano.sh */
    struct kube_cache *cache, *groups, *commands; /* commands: marked by the job they are for, "ns/name" */
    struct kube_watch *pods;
    struct map *queue_sent;       /* "ns/name" of Commands for Queues whose writes are under way -> bool */
};

struct vcjob_pass {
    struct vcjobs *vcjobs;
    struct work *work;
    struct vcjob_memory *memory;
    const struct json *job, *group;
    const char *group_name;       /* of its PodGroup, which may not be there */
    bool group_old;               /* the PodGroup belongs to an earlier version of the job */
    struct vcjob_task *tasks;
    uint32_t tasks_n;
    struct vcjob_plugins plugins;
    struct vcjob_view view;
    int64_t version, now_ms;
    uint32_t creates_n;
};

struct vcjob_memory *vcjob_memory_of(struct vcjobs *v, const char *key, bool make);
struct vcjob_memory *vcjob_memory_of_pod(struct vcjobs *v, const char *ns, const char *pod, struct arena *a, const char **ret_key);

/* What has happened, and what is to be done about it now: a Command first, then whole-job policies, then targeted ones (whose pods are
 * marked condemned). SYNC when nothing. Asks to be looked at again when a delayed action is pending. */
enum vcjob_action vcjob_trigger(struct vcjob_pass *x, const char **ret_message);
/* Objects of plugins and claims of volumes (vcjob_objects.c): that they be there, or (not the claims) be gone. */
void vcjob_objects_meet(struct vcjob_memory *m, const struct json *job);    /* a job that is new to us: by its status */
void vcjob_objects_settle(struct vcjob_memory *m, const struct work *w);    /* first in a pass: has what was written been taken? */
void vcjob_objects_make(struct vcjob_pass *x);
void vcjob_objects_drop(struct vcjob_pass *x);
/* status.controlledResources: what is known to be there. */
void vcjob_resources_mark(struct vcjob_pass *x, struct json *status);
/* Command objects for Volcano Queues: OpenQueue, CloseQueue. A work_fn. */
void vcjob_queue_command(void *arg, struct work *w);

#endif
