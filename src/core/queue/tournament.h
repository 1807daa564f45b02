/* tournament.h - fair sharing: which of the heads of a round is next
 *
 *     root      who wins here is next ──────────────┐
 *     cohort    the winner of each child, with the share that the child has once the winner has started
 *     queue     its head
 *
 * ORDER  within a cohort: who does not borrow what he asks for; lower share; priority, age. Trees have nothing in common but nodes: of
 *        their winners the one with the lower borrowing level comes first, then priority, age.
 * SHAPE  each cohort keeps its children in a heap. Who has his turn changes shares on his way to the root and nowhere else, so only those
 *        are looked at again.
 * SOURCE Kueue, order of heads with fair sharing. What is promised counts as used.
 */
#ifndef CORE_TOURNAMENT_H
#define CORE_TOURNAMENT_H
#include "base/arena.h"
#include "core/quota/bid.h"

struct tournament;
struct tournament *tournament_begin(struct state *s, struct arena *a, const struct contender *all, uint32_t n);
/* The next one's index; n: nobody is left. Before it: tournament_touch of each queue of which more or less is used, or promised. */
uint32_t tournament_next(struct tournament *t);
void tournament_touch(struct tournament *t, uint32_t node);
void tournament_end(struct tournament *t);

#endif
