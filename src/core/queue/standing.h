/* standing.h - fair sharing: lines that quota alone keeps waiting, in the order in which they would be tried, from one cycle to the next
 *
 *     root ── cohort ── ... ── queue ── its lines that stand
 *
 * SHAPE  a tournament (tournament.h) over the first of each queue's lines, of which only those places are looked at again that lie above a
 *        queue with other lines, or other usage, than before. A line that stands is parked, but not in state.parked.
 *        Of each tree the kinds of its lines are counted by what they would be charged: where no kind has enough, nobody is looked at.
 * WHY    when one gang ends, thousands that wait could take its place, and one does. Waking them all to find out who costs as much as they
 *        are; so it costs the way from one queue to the root.
 * LIMIT  who stands is refused for what a tournament needs to know nothing else of: one flavor for each resource, one pod set, one amount
 *        that is short, nobody may be preempted for it, and no limit in its tree, so that all below a root have the same available.
 *        In all other cases the line is parked as ever (order.h).
 */
#ifndef CORE_STANDING_H
#define CORE_STANDING_H
#include "core/state/model.h"

/* It was refused for park.hopes. False: it cannot stand. `has_enough`: it will be tried in this cycle again. */
bool standing_add(struct state *s, struct line *l, bool has_enough);
void standing_remove(struct state *s, struct line *l);
void standing_moved(struct state *s, struct line *l); /* its first gang is another one; no-op for a line that does not stand */
uint32_t standing_n(const struct state *s);
struct line *standing_line(const struct state *s, uint32_t i); /* in no order */
bool standing_is_old(const struct state *s); /* the tree of quotas is another one: none of them may stay */
void standing_fini(struct state *s);

/* Something was given back in this tree. False: nobody stands in it. It was too little for those who were refused at ret_outdated_ms or
 * later; INT64_MAX: for none. */
bool standing_gained(struct state *s, uint32_t root, int64_t now_ms, int64_t *ret_outdated_ms);
bool standing_helped(const struct line *l);    /* it was enough for this one */
bool standing_outdated(const struct line *l);  /* it is one of those: what its reason counts may be another amount */
void standing_retried(struct state *s);        /* those times are to be found anew */

/* ---- one round of a cycle: the first of each queue, best first. Nobody else may be a head in it. ---- */
enum standing_round { STANDING_NOBODY, STANDING_SOME, STANDING_ALL };
/* Who has enough? SOME: not all, so that who has not would be in the way of others. */
enum standing_round standing_begin_round(struct state *s, uint32_t root);
struct line *standing_next(struct state *s, uint32_t root); /* NULL: nobody is left who has enough */
struct line *standing_left(struct state *s, uint32_t root); /* the next that had no turn, enough or not; NULL: all had */

#endif
