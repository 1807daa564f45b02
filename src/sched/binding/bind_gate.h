/* bind_gate.h - which binds wait until another pod has its devices
 *
 * The kubelet does not say for whom it asks a device plugin. Two pods that wait on one node for as many of one resource, with different
 * limits, cannot be told apart there, and the agent refuses rather than give one the limits of the other (agent/plugin/steering.h): the
 * kubelet then fails the pod for good. So such a pair is bound one after the other; all others are not kept from each other.
 *
 *     WAITS ──its turn──▶ ENTERED ──admitted, gone, not bound after all──▶ forgotten
 *                            `──for BIND_GATE_MS not bound, or not admitted──▶ in nobody's way any longer
 *
 * ORDER  on one node: whoever came first. One that waits keeps away later ones that differ from it, so that nobody waits for ever.
 * Pure: time is an argument (monotonic milliseconds). One pod, one entry, by uid.
 */
#ifndef SCHED_BIND_GATE_H
#define SCHED_BIND_GATE_H
#include "base/collections/intern.h"
#include "core/flow.h"

/* so long a pod may keep others away: a silent node is noticed after 40 s; kubelets admit within a second when they are up */
#define BIND_GATE_MS 60000

struct bind_gate;
struct bind_gate *bind_gate_new(struct intern *names); /* names: of pod_record, must live longer */
void bind_gate_free(struct bind_gate *g);              /* NULL-safe; tickets are the caller's */

struct bind_gate_pod {
    name_id uid, node, asks, limits; /* asks, limits: pod_record's device_asks, device_limits */
};
/* A bind is to be sent. True: now. False: later, when bind_gate_next returns `ticket`. ticket NULL: it has been sent already. */
bool bind_gate_enter(struct bind_gate *g, const struct bind_gate_pod *pod, void *ticket, int64_t now_ms);
/* The API server has bound it: its time begins anew. Nothing happens when it is not known (admitted meanwhile). */
void bind_gate_bound(struct bind_gate *g, name_id uid, int64_t now_ms);
/* It is seen bound and not admitted, whoever bound it. Returns the ticket of one that still waited: it does so no more. */
void *bind_gate_seen(struct bind_gate *g, const struct bind_gate_pod *pod, int64_t now_ms);
/* Admitted, ended, deleted, or not bound after all. Returns the ticket of one that still waited: it does so no more. */
void *bind_gate_leave(struct bind_gate *g, name_id uid, int64_t now_ms);
/* A ticket whose turn has come, each once; NULL: no more. */
void *bind_gate_next(struct bind_gate *g);
/* Those that have been here too long keep nobody away any longer. Returns when to call again; 0 = not before another call. */
int64_t bind_gate_expire(struct bind_gate *g, int64_t now_ms);
void bind_gate_mark_names(const struct bind_gate *g); /* before intern_sweep of its pool */
size_t bind_gate_pods(const struct bind_gate *g); /* known ones */

#endif
