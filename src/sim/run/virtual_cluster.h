/* virtual_cluster.h - a whole cluster on virtual time, without files, sockets and threads: what `capstan up` runs, in a loop that jumps
 *
 *     apiserver (memory) <-- calls in the process -- { scheduler + jobs + embedded controllers | kubelets | who plays the user }
 *
 * ORDER  the same calls at the same times give the same cluster to the bit: nothing is drawn but from fixed seeds.
 */
#ifndef SIM_RUN_VIRTUAL_CLUSTER_H
#define SIM_RUN_VIRTUAL_CLUSTER_H
#include "kube/client.h"
#include "core/policy.h"
#include "sim/kubelet/kubelets.h"
#include "sim/node/shape.h"

#define VIRTUAL_START_MS 1767225600000 /* 2026-01-01T00:00:00Z: what objects of a run say */

struct charge_policy;
struct workload_policy;
struct virtual_cluster_config {
    struct policy policy;                    /* the scheduler's */
    const struct charge_policy *charge;      /* NULL: quota counts what pods ask for */
    const struct workload_policy *workloads; /* NULL: Kueue's defaults */
    const char *record_dir;                  /* the scheduler's recording (sched/record/recorder.h); NULL: none */
};
struct virtual_cluster {
    struct loop *loop;
    struct kube_client *client; /* the user's */
    struct kubelets *kubelets;
    uint32_t nodes_n; /* made so far: names of a shape go on counting */
    struct virtual_parts *parts;
};
int virtual_cluster_start(struct virtual_cluster *c, const struct virtual_cluster_config *config, struct err *e);
void virtual_cluster_stop(struct virtual_cluster *c); /* also of one that is all zero */
/* What this costs is bounded by n. Names are those of `capstan up`: "h100-80gb-0"; those of a shape that came before go on counting.
 * told: each name, and how many GPUs it has; may be NULL. */
int virtual_cluster_add_nodes(struct virtual_cluster *c, const struct node_shape *shape, int32_t n,
                              void (*told)(void *arg, const char *name, int32_t gpus_n), void *arg, struct err *e);

#endif
