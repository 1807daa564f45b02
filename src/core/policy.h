/* policy.h - what a whole process decides by, whatever the objects say: Kueue's Configuration, as far as decisions follow from it, and
 *            options
 *
 * SHAPE  plain values; all zero: Kueue without a configuration of its own, but for waitForPodsReady, which is off (policy_default is on).
 * UNIT   milliseconds.
 * SOURCE Kueue, config.kueue.x-k8s.io.
 */
#ifndef CORE_POLICY_H
#define CORE_POLICY_H
#include <stdbool.h>
#include <stdint.h>

/* What a preemption must keep to between queues that share fairly. */
enum fair_strategy { FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE };
struct fair_policy {
    bool on;
    enum fair_strategy strategies[2]; /* in the order in which they are tried */
    uint32_t strategies_n;            /* 0: both, the final share first */
};

/* admissionFairSharing: what LocalQueues have used of late says who is next, in queues that ask for that (core/queue/consumption.h). */
struct resource_weight {
    const char *resource;
    int64_t weight_nano;      /* in 1e-9 */
};
struct consumption_policy {
    bool on;
    int64_t half_life_ms;     /* 0: nothing is remembered */
    int64_t sampling_ms;      /* > 0 */
    const struct resource_weight *weights; /* of resources that are not named: 1. The caller's until state_set_consumption_policy returns */
    uint32_t weights_n;
};

/* waitForPodsReady: an admitted gang whose pods are not all ready in time is evicted, and comes back after a while. */
struct ready_policy {
    int64_t timeout_ms;       /* from its admission on; 0: nobody waits for pods to be ready */
    int64_t recovery_ms;      /* from when they were ready no more; 0 = for ever */
    bool block_admission;     /* nobody is admitted while one that is admitted is not ready */
    bool requeue_by_creation; /* who was evicted so keeps its place in the queue; else it stands where the eviction puts it */
    int32_t retries_most;     /* one that was evicted oftener is deactivated; -1 = never */
    int64_t backoff_ms, backoff_most_ms;
};

/* Nodes that fail under gangs that stand in domains of a topology. SOURCE TASFailedNodeReplacement, TASFailedNodeReplacementFailFast. */
struct lost_policy {
    bool off;     /* nobody is evicted, and the object names no node: who lost a place is given another one */
    bool patient; /* where there is no other node the gang waits for one; else it is evicted */
};

/* Which of the nodes that hold a pod is best, by name: core/score/score.h. */
#define PLACEMENTS(X) \
    X(BINPACK, "binpack")       \
    X(SPREAD, "spread")         \
    X(RANDOM, "random")         \
    X(BESTFIT, "bestfit")       \
    X(DOTPRODUCT, "dotproduct") \
    X(PACKING, "packing")       \
    X(CLUSTERING, "clustering") \
    X(FGD, "fgd")               \
    X(CAPSTAN, "capstan")
#define X(name, text) PLACEMENT_##name,
enum placement { PLACEMENTS(X) };
#undef X
/* With any but RANDOM: nodes whose GPUs are busy, hot or faulty, as agents measure them, come after others (core/score/load.h). */
#define PLACEMENT_BY_LOAD 16u
#define PLACEMENT_MOST (PLACEMENT_CAPSTAN | PLACEMENT_BY_LOAD)
static inline enum placement placement_alone(enum placement p) /* without that */
{
    return (enum placement)(p & ~PLACEMENT_BY_LOAD);
}
static inline bool placement_looks_at_kinds(enum placement p) /* of pods that may come (core/score/target.h) */
{
    return placement_alone(p) == PLACEMENT_FGD || placement_alone(p) == PLACEMENT_CAPSTAN;
}

struct policy {
    bool node_wishes;         /* preferred node affinity counts among domains of a topology. SOURCE TASRespectNodeAffinityPreferred */
    struct fair_policy fair;
    struct lost_policy lost;
    struct ready_policy ready;
    struct consumption_policy consumption;
    bool volcano_preempt; /* in Volcano's queues those of higher priority may end those of lower: its action preempt. An option, no part of
                           * the Configuration */
    bool explicit_status; /* a Workload says that it waits before anybody has tried it: one write more for each */
};

#endif
