/* consumption.h - what LocalQueues have used of late, which says who of them is next: Kueue's AdmissionFairSharing
 *
 *     used(LocalQueue) = sum over resources of  weight of the resource * (consumed + entry)  / weight of the LocalQueue
 *
 *     consumed   every sampling interval, and when one of its gangs is admitted: consumed * left + held * (1 - left),
 *                left = 0.5 ^ (time since / half-life), held = what its admitted gangs hold
 *     entry      of a gang that has quota and is not admitted yet: what one interval would add for it; consumed when it is admitted
 *
 *   gang    given quota ── entry ──▶ admitted ── consumed      told to go before that: keeps its entry, given quota anew it has one
 *                 └── never told, over, deactivated, of another LocalQueue: as if it had not been
 *
 * SHAPE  held, consumed and entry by resource in each LocalQueue; a gang remembers its part of held and entry. Consumed is also in the
 *        LocalQueue's status: of that and of what is known here the later counts, so a scheduler that starts anew goes on from there.
 *        Entries follow from quota, as it is told of; only that of a gang that waits again is lost then.
 * ORDER  in a ClusterQueue that asks for it: LocalQueues by what they have used, then as always (lane.h). So do those that are preempted
 *        from one ClusterQueue, the other way round (preempt/candidates.h).
 * COST   a gang admitted: O(its resources + log of the LocalQueues that wait). All LocalQueues are looked at once an interval.
 * SOURCE Kueue, KEP-4136. It lets a time in which nobody schedules go by unseen; here it counts.
 */
#ifndef CORE_CONSUMPTION_H
#define CORE_CONSUMPTION_H
#include "core/state/model.h"

/* ---- gangs ---- */
void consumption_enter(struct state *s, struct gang *g, const struct queue *q); /* it was given quota of q */
void consumption_refund(struct state *s, struct gang *g);                       /* and nobody was told: it was not */
void consumption_follow(struct state *s, struct gang *g); /* after each change of its phase, of what it holds, or of what its object says */
void consumption_forget(struct state *s, struct gang *g); /* it goes */

/* ---- LocalQueues ---- */
void consumption_take(struct state *s, struct local_queue *l, const struct local_queue_record *r);
void consumption_local_gone(struct state *s, struct local_queue *l); /* nothing is remembered but what is held */
void consumption_fini(struct state *s);
void consumption_tick(struct state *s, int64_t now_ms); /* all that are due */
int64_t consumption_next_ms(const struct state *s);     /* 0 = never */
/* Which gang of the queue comes first? Those of one that does not ask for it: order_before. */
bool consumption_before(const struct state *s, const struct queue *q, const struct gang *a, const struct gang *b);
struct used consumption_used_by(const struct state *s, const struct local_queue *l); /* as follows from what is remembered */
/* By the gang's LocalQueue, where that counts in the queue; else NULL. */
const struct used *consumption_used(const struct state *s, const struct queue *q, const struct gang *g);

#endif
