/* tenure.h - how long a pod group runs before others may end it, and waits before others end for it
 *
 *   a queue says (flow.h, queue_shares)       who is ended for a gang of the same queue: preempt_after_ms of that queue
 *                                             of another one: reclaim_after_ms of the queue just below what both are below, on the side
 *                                             of who is ended; a queue that says nothing says what the one above it does
 *   a group says (gang_record.patience_s)     from when it waits
 *
 * SHAPE  a group stays whole so long; members above its minimum may go before (surplus.h).
 * UNIT   its time begins with the first of its pods that its kubelet took in; none is: now. It waits since its first pod was made that
 *        waits: those of a group that was ended are made anew. WHY of pods: a scheduler that begins anew decides the same.
 * SOURCE KAI-Scheduler, plugin minruntime (lca), and its preemption delay, which begins with the group or its last eviction.
 */
#ifndef CORE_TENURE_H
#define CORE_TENURE_H
#include "core/state/model.h"

/* Until when others may not end it whole, as of s->now_ms; 0: they may. shared: the node below which both queues are; 0: of its own. */
int64_t tenure_stays_until_ms(const struct state *s, const struct gang *g, uint32_t shared);
/* Nobody is ended for it before. */
int64_t tenure_preempts_from_ms(const struct state *s, const struct gang *g);

#endif
