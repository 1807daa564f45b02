/* order.h - who is next, who waits for what, and what wakes them
 *
 * SHAPE  a gang that holds nothing stands in exactly one of these places:
 *          fresh     it, or its queue, has changed: the next cycle looks whether it may get in line
 *          held      by a parking of its own: not active, backing off, members missing, queue stopped or missing
 *          a line    with gangs that ask for the same in the same queue, of one priority where others may go for them; lines are ready (in
 *                    queue->ready), or parked after a refusal
 *        A gang that holds something stands in `work` when there is something to settle, else nowhere, or parked when it misses a place.
 * ORDER  gangs by priority, creation, uid text, key text; lines by their first gang.
 * WHY    lines: of ten thousand gangs that ask for the same only the first is ever tried; what stops it stops all behind it. A parking
 *        tells without a try that nothing has changed for it. So a change costs as much as what it starts, not as much as what waits.
 */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H
#include "core/queue/gang.h"
#include "core/queue/lane.h"

void order_init(struct state *s);
void order_fini(struct state *s);

/* ---- gangs ---- */
void order_wake(struct state *s, struct gang *g);   /* something of its own changed: to be looked at (or settled) in the next cycle */
void order_forget(struct state *s, struct gang *g); /* stands nowhere from now on */
void order_hold(struct state *s, struct gang *g, uint8_t on); /* not to be tried before this changes; admitted gangs: not to be settled */
void order_line_up(struct state *s, struct gang *g);          /* gets in line; its sets are known */
void order_sets_of_group(struct state *s, struct gang *g);    /* finds the sets of a pod group from the members that can be bound */

/* Some node has changed: who waits because one failed looks whether it is back (lost.h). Or somebody may be let in again. */
void order_wake_lost(struct state *s);
/* In line: it is woken then, whatever happens meanwhile; 0: not any more. */
void order_look_later(struct state *s, struct gang *g, int64_t at_ms);

/* ---- lines ---- */
struct line *order_first(struct queue *q);          /* next to try; NULL: none is ready, or all are behind a blocked head */
bool order_goes_on(struct queue *q);                /* one of its lines is next to try, now or in a later round of this cycle */
struct gang *order_blocker(const struct queue *q);  /* StrictFIFO: the head that quota or nodes refused and that keeps the others waiting */
void order_line_ready(struct state *s, struct line *l, bool recheck); /* recheck: woken, so look first whether it may fit now */
void order_no_candidate(struct state *s, struct line *l);
void order_told(struct state *s, struct line *l); /* out of state.telling */
/* Refused. `what` says what may change it; the line keeps a copy. */
void order_park_line(struct state *s, struct line *l, const struct parking *what);
void order_park_again(struct state *s, struct line *l, const struct parking *what); /* not refused: it had no turn */
void order_step_aside(struct state *s, struct gang *g); /* into a line of its own */
uint64_t order_likeness(struct state *s, const struct gang *g, const struct queue *q); /* the same of gangs that q would have in one line */

/* ---- all that are parked, in no order. Whoever takes some out goes from the end ---- */
uint32_t order_parked_n(const struct state *s);
struct parking *order_parked(const struct state *s, uint32_t i);

/* ---- what can change ---- */
/* A parking under construction: its shapes are references, which parking_release drops. */
void parking_add_shape(struct state *s, struct parking *p, uint32_t shape);
void parking_release(struct state *s, struct parking *p);
void parking_add(struct state *s, struct parking *p, const struct parking *other); /* either wakes it */
void parking_add_hope(struct parking *p, name_id flavor, name_id resource, int64_t need);
void order_park_gang(struct state *s, struct gang *g, const struct parking *what); /* admitted: a place is missing */

/* ---- cycles ---- */
bool order_has_changes(const struct state *s);
void order_begin(struct state *s, int64_t now_ms); /* wakes whom the changes since the last cycle may help */
void order_pick(struct state *s);                  /* before each round: of those that are woken one by one, the first of each queue */
/* The tree of state.standing_root: all of its lines that may start are to be tried one by one. */
void order_wake_standing(struct state *s);
bool order_may_fit(const struct state *s, const struct line *l); /* of a line that was woken alone: is what woke it still there? */
/* Is there enough now of one of what was short? True where that was not written down, too. */
bool order_hope_met(const struct state *s, const struct parking *p, const struct queue *q);
/* It was woken alone, and its first has started: it is tried again in a later round. */
void order_try_again(struct state *s, struct line *l);
void order_end_standing(struct state *s); /* none of them may stay where they stand: they are parked like others */
bool order_wake_tree(struct state *s,
                     uint32_t root); /* whom quota of this tree kept waiting, though there is enough: true, there are some */
void order_look_again(struct state *s, struct line *l); /* the reason of this parked line is outdated */
/* So old may a reason be whose amounts have changed, though nobody can start for it: then it is looked for anew (order_refresh). */
#define REFRESH_MS 10000
void order_refresh_after(struct state *s, int64_t tried_ms);
bool order_refresh(struct state *s,
                   int64_t now_ms); /* lines whose reason has been outdated for long are ready again: true, there are some */
void order_end(struct state *s);

#endif
