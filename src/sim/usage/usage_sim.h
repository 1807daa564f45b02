/* usage_sim.h - GPU-hours of simulated pods, into the usage store that `capstan report` reads
 *
 *     nodes ─▶ share of each device ─┐
 *     pods  ─▶ runs from .. until ───┼─▶ totals of each pod ─every few seconds─▶ usage.db
 *     workloads, podgroups ─▶ queue ─┘
 *
 * A pod counts while its phase is Running. What it does with its GPUs is told, not measured: annotations capstan.dev/gpu-activity (part of
 * the time that they are busy, default 0.8; 0: a process that does nothing) and capstan.dev/gpu-memory (highest part of their memory in
 * use, default 0.6). User: annotation or label capstan.dev/user, or annotation notebooks.kubeflow.org/creator.
 * UNIT   seconds are simulated ones: wall time times `speed`. A device's share of its GPU: slices of a MIG device by the GPU's, 1 by the
 *        number of devices that share a GPU, else 1.
 * WAIT   a Kueue workload: from its creation until it was admitted; else from the creation of the Volcano pod group, or of the pod, until
 *        the pod was seen on a node.
 */
#ifndef SIM_USAGE_SIM_H
#define SIM_USAGE_SIM_H
#include "kube/watch.h"

struct usage_sim;
/* path: the store's file, made when absent. */
int usage_sim_new(struct kube_client *c, const char *path, double speed, struct usage_sim **ret_u, struct err *e);
/* For kubelets_on_pod: arg is the struct usage_sim. */
void usage_sim_pod(void *arg, enum kube_event event, struct bytes object);
/* A pod with devices begins or ends on the node: one listener; fn NULL: none any more. */
void usage_sim_on_change(struct usage_sim *u, void (*fn)(void *arg, const char *node), void *arg);
void usage_sim_free(struct usage_sim *u); /* NULL-safe; writes what is not written yet */

#endif
