/* queue_gates.h - pods that wait at the gate of their Volcano queue: scheduling.volcano.sh/queue-allocation-gate
 *
 * A pod that asks for it by an annotation of that name is made with the gate, behind which no autoscaler sees it. To the core it is a pod
 * like any other; what is decided of it opens the gate:
 *
 *   it starts                                               ──▶ opened, then bound (bind.c)
 *   its queue has room, and what it lacks is on nodes       ──▶ opened: from then on it is told to be Unschedulable (status_pod.c)
 *   it waits for quota, a hold or other members             ──▶ stays shut
 *
 * Opened without a start it counts against its queue's capability until it stands, for all that come behind it at the gate: or nodes would
 * be bought for more of them than the queue lets in. It keeps nothing from those that find a place.
 *
 * SHAPE  of pods with that annotation which stand nowhere: what they ask for, and whether the gate is there.
 * COST   of the first question within ROOM_MS all such pods are summed up, of the others nothing but rows and the pods that are asked for.
 * SOURCE Volcano, SchedulingGatesQueueAdmission: its plugin capacity reserves the same.
 */
#ifndef SCHED_QUEUE_GATES_H
#define SCHED_QUEUE_GATES_H
#include "core/state/state.h"

struct queue_gates;
/* queue_of: the queue of a pod, as the core knows it; 0: none. */
struct queue_gates *queue_gates_new(const struct state *s, struct intern *names, name_id (*queue_of)(void *arg, name_id pod), void *arg);
void queue_gates_free(struct queue_gates *x); /* NULL-safe */
void queue_gates_mark_names(const struct queue_gates *x);

/* As it is now, with its text. */
void queue_gates_seen(struct queue_gates *x, const struct pod_record *pod, struct bytes object);
void queue_gates_gone(struct queue_gates *x, name_id pod);

bool queue_gates_is_shut(const struct queue_gates *x, name_id pod); /* its gate is there, and nobody has said otherwise */
/* Does what these ask for, those of them that are shut, fit into the capability of the queue beside what runs and what was opened? */
bool queue_gates_has_room(struct queue_gates *x, name_id queue, const name_id *pods, uint32_t n, int64_t now_ms);
void queue_gates_opening(struct queue_gates *x, name_id pod); /* it has been asked for: it counts */
void queue_gates_opened(struct queue_gates *x, name_id pod);  /* the server says so */

#endif
