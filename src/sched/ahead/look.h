/* look.h - a scheduler that only looks: it has read the whole cluster, is changed in thought, and is thrown away
 *
 *   look_begin ──▶ state as the scheduler has it ──look_take──▶ with what is not there yet ──▶ decide, forecast ──▶ look_end
 *
 * Nothing is written: it never leads, and the client is halted meanwhile.
 */
#ifndef SCHED_LOOK_H
#define SCHED_LOOK_H
#include "core/flow.h"
#include "core/policy.h"
#include "kube/client.h"

struct scheduler;
struct charge_policy;
/* Runs the loop until everything is read, timeout_ms at most. NULL policy: none. -E_AGAIN: it was not read until then. look_end either
 * way. */
int look_begin(struct loop *l, struct kube_client *c, const struct policy *policy, const struct charge_policy *charge, int64_t timeout_ms,
               struct scheduler **ret_scheduler, struct err *e);
/* An object as a server would store it, with name, namespace, uid and creationTimestamp: a Workload, a PodGroup of coscheduling or
 * Volcano, a Pod; a Node, ResourceFlavor, Cohort, ClusterQueue, LocalQueue or Topology in the place of the one of that name. *ret_gang: the
 * gang that it is, or is of; 0: none. -E_INVALID: it cannot be decoded, or is of another kind. */
int look_take(struct scheduler *s, const struct json *object, name_id *ret_gang, struct err *e);
void look_end(struct scheduler *s, struct kube_client *c);

#endif
