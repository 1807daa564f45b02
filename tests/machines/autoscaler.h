/* autoscaler.h - Karpenter, or the Cluster Autoscaler, on a virtual clock: it looks at pods and makes nodes, as far as a gang can notice
 *
 *   pod is told Unschedulable ──▶ batch ──▶ pass: what fits on nodes, on those that come, on new ones ──▶ machines
 *   bought ──▶ node without GPUs ──▶ with GPUs ──▶ empty for a while, nobody expected: taken back
 *         └──▶ the cloud has none            └──▶ fewer than were paid for
 *   node with pods, none of which says do-not-disrupt: may be emptied for a cheaper one. Any node: the cloud may take it away
 *   with objects: NodePools say what there is, a NodeClaim goes with each machine (claims.c)
 *
 * SOURCE Karpenter 1.x: a pod counts when its condition PodScheduled has reason Unschedulable, exactly, and it is not nominated; a batch
 *        closes after 1 s without a new pod, or 10 s; pending pods come again every 10 s; a node that pods are expected on is left alone
 *        for 20 s. Cluster Autoscaler: looks every 10 s, enlarges one group a time, takes back what was not needed for 10 minutes.
 */
#ifndef TESTS_MACHINES_AUTOSCALER_H
#define TESTS_MACHINES_AUTOSCALER_H
#include "base/random.h"
#include "kube/client.h"

#define POOL_LABEL "karpenter.sh/nodepool"
#define ZONE_LABEL "topology.kubernetes.io/zone"
enum { POOLS_N = 2, ZONES_MOST = 3 };
extern const char *const pool_names[POOLS_N], *const zone_names[ZONES_MOST];

enum autoscaler_kind { KARPENTER, CLUSTER_AUTOSCALER };
struct market {
    enum autoscaler_kind kind;
    int gpus;                             /* of each machine */
    int gpus_of[POOLS_N];                 /* of those of one pool, where that is another number; 0: it is not */
    int limit_n[POOLS_N];                 /* no more machines of this pool; 0: as many as are asked for */
    bool has_objects;                     /* NodePools and NodeClaims can be read */
    int zones_n;                          /* machines stand in as many; 0: nobody speaks of zones */
    int dry_zone;                         /* the cloud has none in the zone before this one; 0: it has some everywhere */
    int64_t soonest_ms, latest_ms;        /* from being bought to being a node */
    int64_t drivers_ms;                   /* at most, until its GPUs are there, too */
    uint32_t none_permille[POOLS_N];      /* the cloud has none of these */
    uint32_t lost_permille;               /* it is paid for, and never comes */
    uint32_t wrong_permille;              /* it has a GPU less */
    uint32_t consolidated_permille;       /* each second: a node whose pods may be disrupted is emptied */
};
struct autoscaler_counts {
    int passes_n;                         /* in which anything was bought */
    int bought_n, came_n, none_n, taken_back_n;
    int bought_of[POOLS_N];
    int consolidated_n;                   /* nodes that were emptied while pods stood on them */
    int there_n, ready_n;                 /* bought and not taken back; of those: nodes with all their GPUs */
    int idle_n;                           /* nodes of those that nobody stands on */
    int64_t burst_ms;                     /* from the first pod that was seen to the last, before the first pass */
};

struct autoscaler;
struct autoscaler *autoscaler_new(struct kube_client *c, const struct market *market, uint64_t seed);
void autoscaler_free(struct autoscaler *s);
void autoscaler_has(struct autoscaler *s, int pool, int zone); /* a machine that was there before */
void autoscaler_interrupt(struct autoscaler *s); /* the cloud takes a machine away on which somebody stands, if there is one */
struct autoscaler_counts autoscaler_counts(const struct autoscaler *s);

#endif
