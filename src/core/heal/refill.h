/* refill.h - a pod group that runs and loses members: their places are kept for the pods that come in their stead
 *
 *           a member is gone, fewer than the minimum are left          pods came that make it whole: tried before everybody else
 *   whole ────────────────────────────────────────────────▶ keeps ───────────────────────────────────────────────▶ whole
 *                                                            │ the time is over, the last place is no good any more (its node
 *                                                            │ failed, its GPU is not healthy), or those who came do not fit
 *                                                            ▼
 *                                    in line again, with what it has left ── asked for: so long broken ──▶ evicted whole
 *
 * SHAPE  held places as those of a planned gang (gang_object.seats), charged to its queue like the pods that stood there; since when in
 *        lost_ms. Only while somebody of it goes on: a gang whose pods are all being deleted is no broken one.
 * WHY    whoever takes a GPU between the end of a member and the start of its successor breaks the gang: the others compute nothing, hold
 *        what they have, and whoever took it may run for days.
 * ORDER  a scheduler that begins anew knows of no hole: such a gang is in line, and its time to be evicted begins anew.
 */
#ifndef CORE_REFILL_H
#define CORE_REFILL_H
#include "core/cycle.h"

/* Of groups that say nothing: then others may have the places, and nobody is evicted. SOURCE KAI's grace for stale gangs */
#define REFILL_S 60

/* Settles one that keeps places, which are good ones. True: it is whole again, and more members may come. */
bool refill_settle(struct cycle *c, struct gang *g);
/* It is evicted: nobody comes for the places that it keeps while the rest of it ends, which may take long. */
void refill_drop(struct state *s, struct gang *g);
/* It waits, with a part of it running: an EVICT's reason in the arena when it has been so for as long as it asks for. NULL: go on. */
const struct reason *refill_why_evict(struct cycle *c, struct gang *g);
void refill_watch(struct state *s, struct gang *g); /* it waits somewhere now: it is looked at when that time is over */

#endif
