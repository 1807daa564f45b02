/* stray_pods.h - pods that somebody held to a node by their nodeSelector, for a Workload that has no place there
 *
 * Kueue holds pods of a topology by a gate, and lets each go to its node by a nodeSelector. Where such a pod comes late (its Workload has
 * got another place, or none), no scheduler can bind it as it was meant: it fails, with condition TerminatedByKueue, and its job makes
 * another. Only pods that another scheduler is to bind, that ask for a topology by annotation and wait for nothing else.
 *
 * WHY    a wait: the watch of Workloads may be behind that of pods.
 * SOURCE Kueue, its node controller.
 */
#ifndef SCHED_STRAY_PODS_H
#define SCHED_STRAY_PODS_H
#include "core/state/state.h"
#include "kube/event.h"

#define STRAY_WAIT_MS 1000

struct stray_pods;
/* leading: nothing is written while it is false. */
struct stray_pods *stray_pods_new(struct kube_client *c, const struct state *s, struct intern *names, struct kube_recorder *events,
                                  const bool *leading);
void stray_pods_free(struct stray_pods *x); /* NULL-safe */
/* As it is now, with its text. */
void stray_pods_seen(struct stray_pods *x, const struct pod_record *pod, struct bytes object);
void stray_pods_gone(struct stray_pods *x, const char *key);

#endif
