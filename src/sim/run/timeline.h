/* timeline.h - what a cluster on virtual time does, seen through its API server: one fact a line, who had which GPU when, queues
 *
 *     watches of pods, jobs, Workloads, pod groups, nodes, ClusterQueues ──▶ jobs ──(what has changed by then)──▶ facts
 *                                                                      └──▶ pods ──(devices)──▶ spans      └──▶ points
 *
 * SHAPE  what happens in one millisecond is told as one: a gang of 100 pods starts in one line. Facts stand in the order of their times,
 *        then of the jobs as they came.
 * UNIT   milliseconds since the beginning of the scenario.
 * LIMIT  LIMIT_SCENARIO_FACTS, _SPANS, _JOBS: what comes later is counted in left_out_n, and not kept.
 */
#ifndef SIM_RUN_TIMELINE_H
#define SIM_RUN_TIMELINE_H
#include "base/arena.h"
#include "base/collections/map.h"
#include "sim/job_watches.h"

/* What a fact is about: for programs, and for colours. */
#define TIMELINE_KINDS(X)                                                                                                                  \
    X(STEP, "step")                                                                                                                        \
    X(NODE, "node") X(COMES, "comes") X(WAITS, "waits") X(STARTS, "starts") X(CHANGES, "changes") X(MUST_STOP, "must-stop")                \
        X(STOPS, "stops") X(ENDS, "ends") X(BORROWS, "borrows") X(MET, "met") X(UNMET, "unmet")
enum timeline_kind {
#define X(name, text) TIMELINE_##name,
    TIMELINE_KINDS(X)
#undef X
        TIMELINE_KINDS_N
};
extern const char *const timeline_kinds[TIMELINE_KINDS_N];

struct timeline_fact {
    int64_t at_ms;
    enum timeline_kind kind;
    const char *object; /* "team-a/train", a node, a ClusterQueue; "" the scenario */
    const char *text;   /* a sentence, without the time */
};
#define TIMELINE_JOB_NAME 256
struct timeline_job {
    const char *key, *kind;                /* "NAMESPACE/NAME"; "Job" */
    const char *queue;                     /* "NAMESPACE/LOCALQUEUE", a queue of Volcano's; "" none */
    const char *why;                       /* it waits; "" */
    const char *must_stop;                 /* by whom; "" */
    int64_t came_ms, started_ms, ended_ms; /* started, ended: -1 not yet */
    int64_t gpu_ms;                        /* GPUs times how long it had them */
    uint32_t index;
    uint32_t pods_n, pods_most_n, gpus_n, gpus_most_n, starts_n; /* pods, GPUs: on nodes now; the most at once */
    uint32_t over_n, failed_n;                                   /* pods */
    uint32_t made_n;                                             /* pods that are there, or were */
    bool is_object;                                              /* it is no pod of its own: its object says when it is over */
    bool ended, failed, gone;
    /* what has been told, and what is to be */
    const char *told_why, *told_must_stop;
    uint32_t told_pods_n, lost_n;
    uint32_t line;   /* its queue's */
    uint8_t counted; /* there: 1 as waiting, 2 as running */
    bool came_told, end_told, gone_told, changed;
};
struct timeline_node {
    const char *name;
    uint32_t gpus_n, used_n;
    int64_t came_ms, gone_ms; /* gone: -1 it is there */
    int64_t down_ms;          /* since when nothing runs there, or may; -1 it is well */
    bool is_cordoned;
};
/* A GPU had a pod of the job; of a part of one, others may overlap. job TIMELINE_DOWN: nobody could have the node. */
#define TIMELINE_DOWN UINT32_MAX
struct timeline_span {
    uint32_t node, gpu, job;
    int64_t from_ms, until_ms;
};
struct timeline_point {
    int64_t at_ms;
    uint32_t waiting_n, running_n; /* jobs of a queue; of the whole: GPUs that are there, and those in use */
};
struct timeline_line {
    const char *name;
    struct timeline_point *points;
    size_t n, cap;
    uint32_t counts[3]; /* jobs by timeline_job.counted */
};

struct timeline {
    struct arena *arena, *scratch;
    struct loop *loop;
    struct kube_client *client;
    int64_t zero_ms, now_ms; /* zero: of the loop's time; now: of what is being told */
    struct timeline_fact *facts;
    struct timeline_job **jobs;
    struct timeline_node *nodes;
    struct timeline_span *spans;
    struct timeline_line *queues, gpus;
    uint32_t *changed; /* jobs */
    size_t changed_n, changed_cap;
    size_t facts_n, facts_cap, jobs_cap, nodes_cap, spans_n, spans_cap, queues_cap;
    uint32_t jobs_n, nodes_n, queues_n;
    uint64_t left_out_n, points_n;
    struct map *job_of;    /* "NAMESPACE/NAME" -> uint32_t */
    struct map *node_of;   /* name -> uint32_t */
    struct map *device_of; /* "NODE DEVICE" -> uint32_t GPU */
    struct map *pods;      /* uid -> struct timeline_pod (timeline_watch.c) */
    struct map *borrowed;  /* "QUEUE RESOURCE" -> int64_t as told */
    struct map *queue_of;  /* name -> uint32_t */
    struct loop_timer *timer;
    bool asked; /* something has changed that is not told yet */
    struct job_watches watches;
    void (*told)(void *arg, const struct timeline_fact *f); /* may be NULL: each fact as it is told */
    void *told_arg;
};
/* Watches from now on; what the loop's time is in zero_ms is the beginning. */
void timeline_begin(struct timeline *t, struct kube_client *client);
void timeline_end(struct timeline *t);  /* what is open ends now; nothing is watched any more */
void timeline_free(struct timeline *t); /* also of one that is all zero */
int64_t timeline_now(const struct timeline *t);
void timeline_say(struct timeline *t, enum timeline_kind kind, const char *object, const char *format, ...) PRINTF_LIKE(4, 5);
/* What has changed is told now. WHY  also before a step: what it causes comes after it. */
void timeline_tell(struct timeline *t);
const struct timeline_job *timeline_job_named(const struct timeline *t, const char *key); /* NULL none */
bool timeline_all_over(const struct timeline *t);                                         /* no job waits or runs */
/* The names of its pods' nodes with how many on each, in the order of the names: {"a": 2}. */
struct json *timeline_job_nodes(const struct timeline *t, struct arena *a, const struct timeline_job *j);

/* ---- timeline_watch.c ---- */

struct timeline_pod {
    uint32_t job, node;  /* node: UINT32_MAX none yet */
    const char *devices; /* text of the annotation; "" none */
    int64_t since_ms;
    uint32_t gpus_n;
    bool bound, over;
};
void timeline_pod_free(struct timeline *t, struct timeline_pod *p, bool well); /* its GPUs are free; well: it was over, or not needed */
void timeline_node_back(struct timeline *t, uint32_t node);                    /* the time that it was down ends */
void timeline_job_changed(struct timeline *t, struct timeline_job *j);
void timeline_ask(struct timeline *t); /* timeline_tell at the end of this millisecond */

#endif
