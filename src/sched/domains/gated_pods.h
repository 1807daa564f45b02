/* gated_pods.h - pods that wait at the gate kueue.x-k8s.io/topology, of Workloads whose domains are known
 *
 * Kueue puts the gate into the templates of jobs that it starts, so that it is there in what their controllers make later, too. The pods of
 * its integration of pods are let go in src/jobs. A pod that this scheduler is to bind only loses the gate: it is bound where it may stand.
 * One that another is to bind is given the labels of a domain of its pod set as its nodeSelector: by its index that of the same place in
 * the list, where it is free, else the first that is; there is none: it waits.
 *
 * SHAPE  of the pods of such Workloads only what decides that.
 * SOURCE Kueue, its topology ungater.
 */
#ifndef SCHED_GATED_PODS_H
#define SCHED_GATED_PODS_H
#include "core/state/state.h"
#include "kube/client.h"

struct gated_pods;
/* leading: nothing is written while it is false. on_open: a pod of this Workload has lost its gate. */
struct gated_pods *gated_pods_new(struct kube_client *c, const struct state *s, struct intern *names, const bool *leading,
                                  void (*on_open)(void *arg, const char *gate, const char *workload, bool is_group), void *arg);
void gated_pods_free(struct gated_pods *x); /* NULL-safe */
/* As it is now, with its text. */
void gated_pods_seen(struct gated_pods *x, const struct pod_record *pod, struct bytes object);
void gated_pods_gone(struct gated_pods *x, const char *key);

#endif
