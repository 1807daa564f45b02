/* reason.h - why a gang waits, as data: a tree that people and programs read
 *
 *   quota-short queue=ml flavor=a100-40gb resource=nvidia.com/gpu have=3 need=4
 *   placement-failed have=3 need=4
 *   |- nodes-lack flavor=t4 nodes=4 resource=memory
 *   `- node-selector-mismatch nodes=2
 *
 * Text and JSON come from core/explain/explain.h. Codes are stable: clients match on them. The names (kebab case) are what JSON shows.
 */
#ifndef CORE_REASON_H
#define CORE_REASON_H
#include "core/flow.h"

#define REASON_CODES(X)                                                                                                          \
    X(WAITING,              "waiting")               /* root: children say for what */                                           \
    X(NOT_TRIED,            "not-tried-yet")         /* in the queue behind others */                                            \
    X(BEHIND,               "behind-in-queue")       /* StrictFIFO, or dequeueStrategy fifo: name = the gang in front */          \
    X(QUEUE_MISSING,        "queue-missing")         /* name = queue that does not exist, of queue_kind */                       \
    X(QUEUE_STOPPED,        "queue-stopped")         /* name = LocalQueue, or the queue itself */                                \
    X(QUEUE_INACTIVE,       "queue-inactive")        /* flavor missing (name), cohort cycle, closed */                           \
    X(NAMESPACE_MISMATCH,   "namespace-not-selected")                                                                            \
    X(INACTIVE,             "deactivated")                                                                                       \
    X(ON_HOLD,              "on-hold")               /* name = text of the dialect */                                            \
    X(MISCONFIGURED,        "misconfigured")         /* name = what is wrong with it */                                          \
    X(BACKOFF,              "backing-off")           /* need = until wall ms */                                                  \
    X(PODS_UNREADY,         "pods-not-ready")        /* of others that are admitted: nobody is admitted meanwhile */               \
    X(MEMBERS_MISSING,      "members-missing")       /* have pods exist, need; of the subgroup pod_set; taken: subgroups of it */ \
    X(MEMBERS_LOST,         "members-lost")          /* it runs in part: have, need; places are kept for the others */                \
    X(GATED,                "pods-gated")            /* have = gated pods */                                                     \
    X(RESOURCE_UNCOVERED,   "resource-not-in-queue") /* resource is in no resource group of the queue */                         \
    X(QUOTA_EXCEEDS_MAX,    "quota-exceeds-maximum") /* can never fit: need > have = largest possible */                         \
    X(CHECKS,               "admission-checks")      /* it has quota in `queue`; children: checks that are not ready */          \
    X(CHECK,                "admission-check")       /* name; have = enum check_state */                                         \
    X(QUOTA_SHORT,          "quota-short")           /* flavor, resource: have = free, need = asked, short by need - have */     \
    X(KEPT_OVER_QUOTA,      "kept-over-quota")       /* of resource, of what gangs may have that keep their places: have = free, need */ \
    X(FLAVOR_MISSING,       "flavor-missing")        /* flavor named by the queue has no object */                               \
    X(FLAVOR_TAINT,         "flavor-taint")          /* untolerated taint name on flavor */                                      \
    X(FLAVOR_AFFINITY,      "flavor-affinity")       /* the pod's selector excludes the flavor */                                \
    X(FLAVOR_TOPOLOGY,      "flavor-topology")       /* the pod set and the flavor do not suit: have = enum topology_mismatch */  \
    X(TOPOLOGY_MISSING,     "topology-missing")      /* the topology `name` of a flavor has no object */                         \
    X(TOPOLOGY_SHORT,       "topology-short")        /* of the topology `name`: have of need pods find a place; nodes_n looked at;  \
                                                      * children: nodes without place; TOPOLOGY_LAYER */                          \
    X(TOPOLOGY_SHORT_SLICES, "topology-short-of-slices") /* the same, of slices */                                               \
    X(TOPOLOGY_LAYER,       "topology-layer")        /* slices of the level `name`: have, need */                                \
    X(TOPOLOGY_OUTSIDE,     "topology-outside")      /* nodes_n nodes have room, and are in no domain: no label `name` */        \
    X(TOPOLOGY_UNFIT,       "topology-unfit")        /* have = enum domain_trouble; name = level, resource = another level */  \
    X(TIER_SHORT,           "tier-short")            /* in HyperNode `resource` have of need pods find a place, and in none of a tier \
                                                      * up to `name` more of them */                                             \
    X(TIER_UNFIT,           "tier-unfit")            /* have = enum domain_trouble; name = the highest tier */                   \
    X(NODE_LABELS,          "node-labels")           /* nodes_n nodes do not have the labels that the pod selects */             \
    X(PLACEMENT_FAILED,     "placement-failed")      /* quota yes, nodes no: have members placed, need; children say why */      \
    X(FREE_SHORT,           "free-short")            /* with what its own pods have all nodes together have `have` of resource free, \
                                                      * and it is to start only while that is `need`, though its pods ask for   \
                                                      * no more than `taken`; children: of others */                            \
    X(ARRANGEMENT,          "no-arrangement")        /* each kind of pods finds its places alone, all together do not: need = kinds */ \
    X(GAVE_UP,              "search-stopped")        /* there may be a way: need = steps that were tried, or have = most kinds */      \
    X(NO_NODES,             "no-nodes")              /* none match at all */                                                     \
    X(NODE_SELECTOR,        "node-selector")         /* nodes_n nodes do not match selector/affinity */                          \
    X(NODE_TAINT,           "node-taint")            /* nodes_n nodes have untolerated taint name */                             \
    X(NODE_UNSCHEDULABLE,   "node-unschedulable")                                                                                \
    X(NODE_NOT_READY,       "node-not-ready")                                                                                    \
    X(NODE_RESOURCE,        "node-resource-short")   /* nodes_n nodes have too little `resource`: have = most free on one, need */ \
    X(NODE_PORT,            "node-port-taken")                                                                                   \
    X(NODE_AFFINITY,        "pod-affinity")                                                                                      \
    X(NODE_ANTI_AFFINITY,   "pod-anti-affinity")                                                                                 \
    X(NODE_SPREAD,          "topology-spread")                                                                                   \
    X(NODE_DEVICE,          "devices-unhealthy")                                                                                 \
    X(NODE_SHARE,           "gpu-share-short")       /* no GPU of nodes_n nodes has so large a share left */                      \
    X(PREEMPTING,           "preempting")            /* need gangs must end for it (lone pods: on node `name`; in Volcano's queue \
                                                      * `queue`: `have` of them for their lower priority in it) */                         \
                                                     /* children: PREEMPTED_GANG, SPARED, SURPLUS */                               \
    X(PREEMPTED_GANG,       "preempted-workload")    /* the gang `name` in namespace pod_set; have = enum preemption */            \
    X(SURPLUS,              "above-minimum")         /* need members go alone, their groups stay; of an EVICT: its group's minimum */ \
    X(KEPT_TO_DESERVED,     "kept-to-deserved")      /* need members above the minimum wait: with them queue `queue` has more than it \
                                                      * deserves, and a group of another queue waits */                              \
    X(SPARED,               "spared-workload")       /* an equal of those, `name` in namespace pod_set, stays: have = enum sparing */ \
    X(NO_PREEMPTION,        "no-preemption")         /* have = enum preemption_lack; LACK_SHARES: child SHARES;                    \
                                                      * lone pods: children count nodes */                                         \
    X(SHARES,               "shares")                /* in thousandths: need = of its queue, or a cohort above it, if it started;   \
                                                      * have = of the queue, or of the cohort `name`, in which others would have to go */ \
    X(NO_VICTIMS,           "no-preemption-victims") /* nodes_n nodes where nobody stands whom it may preempt */                   \
    X(NOT_HELPFUL,          "preemption-not-helpful") /* nodes_n nodes that would not hold it even if they were empty */           \
    X(START_PROMISED,       "start-promised")        /* need = about wall ms, from when on it has nodes_n nodes and quota; have = bits of \
                                                      * enum end_basis; children: PROMISED_PLACE */                                  \
    X(PROMISED_PLACE,       "promised-place")        /* need pods of pod_set on the node `name` */                                  \
    X(KEPT_OUT,             "kept-out-by-promise")   /* the gang `name` in namespace pod_set is promised a start at wall ms `have`, and \
                                                      * it may run longer; it would start if it ended within need seconds. need: 0, \
                                                      * it has no limit that counts; nodes_n: 0, nothing is known of how long it runs */ \
    X(REMEDIES,             "remedies")              /* of the gang `name`; children: any one of them lets it start; none: impossible */ \
    X(REMEDY,               "remedy")                /* children: all of them are needed */                                      \
    X(IMPOSSIBLE,           "impossible")            /* the largest node has `have` of resource, or all together place `have` of `need`; \
                                                      * child: what has to be mended first */                                        \
    X(NOT_COMPUTED,         "remedies-not-computed") /* have = enum remedies_gap */                                              \
    X(CHANGE_QUOTA,         "quota")                 /* need more nominal quota of flavor and resource for the queue */          \
    X(CHANGE_FREE,          "free")                  /* need more of resource free on the node `name` */                         \
    X(CHANGE_END,           "end")                   /* the gang `name` in namespace pod_set ends (`have` enum gang_source), need free */ \
    X(CHANGE_UNCORDON,      "uncordon")              /* the node `name` */                                                       \
    X(CHANGE_MEMBERS,       "raise-members")         /* need more pods of the gang `name` in namespace pod_set (`have` enum gang_source); \
                                                      * flavor: of this task of it; else of any, all of which are alike */           \
    X(CHANGE_MINIMUM,       "lower-minimum")         /* its minimum need less; flavor: that of this pod set or task */               \
    X(CHANGE_RESUME,        "resume")                /* the ClusterQueue `name`, or (have = 1) the LocalQueue of the key `name` */ \
    X(CHANGE_MOVE,          "move")                  /* the Workload `name` in namespace pod_set, of `queue`: need GPU-seconds of its work \
                                                      * are lost; have = enum move_leave; children: MOVE_TO */                            \
    X(CHANGE_FLOOR,         "lower-min-resources")   /* need less of resource in the minResources of the gang `name` in namespace pod_set \
                                                      * (`have` enum gang_source) */                                                  \
    X(MOVE_TO,              "move-to")               /* need of its pods to the node `name`; pod_set: of this one of several */     \
    X(CHANGE_LIMIT,         "limit-time")            /* the gang `name` in namespace pod_set (a Workload) ends within need s */            \
    X(STOPPED_QUEUE,        "queue-drained")         /* EVICT: HoldAndDrain */                                                   \
    X(NODE_LOST,            "node-lost")             /* EVICT: name = node of a topology, need = how many; children: the others */    \
    X(GANG_BROKEN,          "gang-broken")           /* EVICT: have pods were left of it, for need s */                               \
    X(RESTARTED,            "restarted")             /* EVICT: its object asks for it */                                            \
    X(CHECK_RETRIED,        "admission-check-retry") /* EVICT: the check `name` asks for another try later */                     \
    X(DEACTIVATED,          "workload-deactivated")  /* EVICT */                                                                  \
    X(PODS_TIMEOUT,         "pods-ready-timeout")    /* EVICT: need times by now; not before wall ms `have` again */               \
    X(RETRIES_EXCEEDED,     "retries-exceeded")      /* EVICT, and it is to be deactivated: have times, need at most */           \
    X(PREEMPTED,            "preempted")             /* EVICT: for the gang `name`, uid pod_set (of its job resource: the dialect knows) \
                                                      * have = enum preemption; queue, flavor: paths to its queue and to one's own; of a \
                                                      * lone pod flavor = its node; DESERVED: the two queues, and of `resource` \
                                                      * one's own has more than the `need` that it deserves; pod_set = namespace; \
                                                      * LOWER_IN_QUEUE: the queue; pod_set = namespace. children: SPARED, SURPLUS */

enum reason_code {
#define X(code, name) REASON_##code,
    REASON_CODES(X)
#undef X
    REASON_CODES_N
};

/* Why a gang had to go: Kueue's reasons InClusterQueue, InCohortReclamation, InCohortReclaimWhileBorrowing, InCohortFairSharing;
 * kube-scheduler's of a lone pod, PreemptionByScheduler; in Volcano's queues, for one that has less than it
 * deserves, and for one of higher priority in the same queue;
 * and who has a place kept for it elsewhere. */
enum preemption {
    PREEMPTION_IN_QUEUE,
    PREEMPTION_RECLAIM,
    PREEMPTION_RECLAIM_WHILE_BORROWING,
    PREEMPTION_FAIR_SHARING,
    PREEMPTION_BY_PRIORITY,
    PREEMPTION_DESERVED,
    PREEMPTION_LOWER_IN_QUEUE,
    PREEMPTION_MOVED,
};
/* By what less is lost, where others go than by Kueue's order of equals (preempt/stakes.h). */
enum sparing { SPARES_NOBODY, SPARES_BUDGET, SPARES_MINIMUM_RUN, SPARES_RUN_TIME, SPARES_GRACE };
/* Why nobody was preempted for a gang. */
enum preemption_lack {
    LACK_POLICY,      /* its queue preempts nobody, though somebody of lower priority runs in it */
    LACK_CANDIDATES,  /* nobody whom its queue may preempt has what it needs */
    LACK_BORROWING,   /* it would have to borrow, and its queue preempts nobody for that */
    LACK_QUOTA,       /* all of them would not free enough quota */
    LACK_ROOM,        /* nor would they make room on nodes */
    LACK_TAKEN_BACK,  /* others of their queues would take back what they leave, as their queue's own */
    LACK_SHARES,      /* their queues, or cohorts, have no higher share than its own would have */
    LACK_TRIALS,      /* so many ways were tried that there may be one that was not */
    LACK_RECLAIM,     /* as LACK_BORROWING, by fair sharing: its queue takes from nobody else's */
    LACK_COMING,      /* what others leave, who are told to already, will be enough */
    LACK_EARLY,       /* those who could go have not run as long as their queues let them: need = until wall ms, the first of them */
    LACK_DELAY,       /* its object asks to wait before others end for it: need = until wall ms */
    LACK_NEVER,       /* a lone pod that preempts nobody (preemptionPolicy: Never) */
    LACK_NODES,       /* a lone pod: on no node would it be enough if those of lower priority left */
    LACK_PATIENCE,    /* a lone pod that did not start though others had left for it: it waits before it looks again */
};

/* Why it is not known what would help, nor that nothing would. */
enum remedies_gap {
    GAP_NEIGHBOURS, /* pods look at who stands beside them */
    GAP_PATIENCE,   /* it did not start though others had left for it: it waits before it looks again */
    GAP_DESERVED,   /* in a queue with shares, and others may have to go for it */
    GAP_OTHERS,     /* others would be tried in the same cycle, and start, or go for it or it for them */
    GAP_TRIALS,     /* the trials of a gang are spent */
    GAP_TIERS,      /* all have to stand in one HyperNode */
    GAP_FLOOR,      /* all nodes together have too little free for it, and that is not all */
    GAP_MANY,       /* it would start in an empty cluster, and by nothing that was tried */
};
/* May a Workload be moved? If not: its queue says nothing of it (capstan.dev/move-cost-seconds); it says itself that it must not be; or all
 * that are moved lose more, for each GPU that the gang asks for, than its queue allows. */
enum move_leave { MOVE_ALLOWED, MOVE_UNASKED, MOVE_FORBIDDEN, MOVE_COSTLY };
/* Why no domains of a topology were found for a pod set. */
enum domain_trouble {
    DOMAINS_SHORT,           /* have of want places in the best domain, or all */
    DOMAINS_NONE,            /* no node has the labels down to `level` */
    DOMAINS_NO_LEVEL,        /* the topology has no such level (any more) */
    DOMAINS_UPSIDE_DOWN,     /* slices of a level that is above another one, `other` */
    DOMAINS_INDIVISIBLE,     /* the slices of the level cannot be made of those within them */
    DOMAINS_SEVERAL,         /* flavors of several topologies for one pod set */
    DOMAINS_APART,           /* another topology than the other set of its group */
    DOMAINS_UNLED,           /* a group that is not a single pod and one other set */
    DOMAINS_TIER_SHORT,      /* in `other`, of a tier up to `level`, have of want places */
    DOMAINS_TIER_TOGETHER,   /* there each kind of its pods finds places alone, all of them together do not */
    DOMAINS_TIER_NONE,       /* no node is in a domain of a tier up to `level` */
    DOMAINS_TIER_APART,      /* its pods stand in no such domain together */
};
/* Why a flavor is not for a pod set. */
enum topology_mismatch {
    TOPOLOGY_MATCHES,
    TOPOLOGY_MISMATCH_LACKS, /* it asks for domains, and the flavor has no topology */
    TOPOLOGY_MISMATCH_ONLY,  /* the other way round */
    TOPOLOGY_MISMATCH_LEVEL, /* the topology has no such level */
};

struct reason {
    enum reason_code code;
    name_id name;              /* see the table */
    name_id queue, flavor, resource, pod_set; /* queue: as users wrote it */
    enum queue_kind queue_kind; /* of queue, or of what `name` is where that is a queue */
    int64_t have, need;        /* amounts of resource, or counts */
    int64_t taken;             /* of need: what pod sets before this one ask for; of quota under a flavor */
    uint32_t nodes_n;
    const struct reason *child, *next;
    const struct reason *remedies; /* of the root: REMEDIES, proven by trial; NULL: not computed. No part of the hashes */
};
const char *reason_code_name(enum reason_code code);
const char *preemption_name(enum preemption p); /* as in the Preempted condition */

/* Building and keeping. A tree is made in an arena; reason_add appends a child (ORDER as added), reason_add_once only when no equal
 * child is there. reason_copy makes one block that the caller frees. */
struct arena;
struct reason *reason_new(struct arena *a, struct reason content);
void reason_add(struct reason *parent, struct reason *child);
void reason_add_once(struct reason *parent, struct reason *child);
struct intern;
uint64_t reason_hash(const struct reason *r, const struct intern *names); /* of the texts: ids may be given to others later */
/* of what is in the way, without amounts, counts of nodes and advice */
uint64_t reason_codes_hash(const struct reason *r, const struct intern *names);
struct reason *reason_copy(const struct reason *r);
const struct reason *reason_copy_into(struct arena *a, const struct reason *r);
const struct reason *reason_find(const struct reason *r, enum reason_code code); /* first in the tree, or NULL */

#endif
