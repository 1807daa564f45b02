/* booking.h - a gang that cannot start is promised a start: places on named nodes, and quota, from a time on
 *
 *   refused, its queue backfills ──booking_refused──▶ the earliest time at which it fits, as the ends that are known say: booked
 *                                                     │ others are tried: what it needs then is withheld from whoever would still run then
 *                                                     ├─ refused again: an earlier start, or the same while it can be kept, or another
 *                                                     └─ it starts, here or elsewhere, sooner or then; or goes, or is held back: dropped
 *
 * SHAPE  bookings stand in state.bookings. While somebody else is tried, each that binds him stands against him: on each node as much is
 *        withheld as those who end by then do not leave, and his quota is looked at as it will be then. Nothing is booked between tries, as
 *        with promises of those who preempt (preempt/promise.h), whose victims are told to go; nobody goes for these.
 * WHO    is bound: whoever comes behind its gang (order_before), of any queue or none, and is not known to have ended by then. Not who
 *        takes no more than his own queue's quota where the booking takes others'.
 *        Is given one: in each queue the first, or first few, for whom a start is known. What has no known end never ends.
 * LIMIT  members that replace those of a node that failed take what they find. A booking whose ends come late is found anew.
 * ORDER  of state.bookings: by order_before of their gangs.
 * SOURCE docs/design/0023-reservations.md
 */
#ifndef CORE_BOOKING_H
#define CORE_BOOKING_H
#include "core/place/try.h"

#define BOOKINGS_MOST 16       /* of one queue */
#define BOOKING_LINES 64       /* of gangs that are alike: so many are looked at for who may be given one */
#define BOOKING_LATE_MS 30000  /* who has not ended when he was to, or leaves, is given so long at least */

/* ---- kept ---- */
/* What the gang's object says. The first: how long it runs. True: nobody is to look again, as who runs is looked at whenever somebody waits
 * for its end. The second: what an earlier scheduler promised it, before the first cycle of this one. */
bool booking_take_run(struct state *s, struct gang *g, const struct gang_record *r);
void booking_take(struct state *s, struct gang *g, const struct gang_record *r);
/* Whom it kept out is to look again, and so is who is next to be given one. */
void booking_end(struct state *s, struct gang *g);
static inline void booking_drop(struct state *s, struct gang *g)
{
    if (g->booked)
        booking_end(s, g);
}
/* The gang is in line: it keeps what it has where its queue is still the same, and gives such. */
void booking_lined_up(struct state *s, struct gang *g);
/* A cycle begins: nodes are found by their names again; who may start by now, or cannot have its nodes, looks again. */
void bookings_begin(struct state *s);
/* Somebody was let in, or promised another start: those whom theirs does not bind are to see whether they can keep their own. */
void bookings_look(struct state *s, const struct gang *g);
void bookings_look_all(struct state *s); /* what they were found by is something else: all see the same */
int64_t bookings_next_ms(const struct state *s); /* the first start that is to come; 0: none */
void bookings_free(struct state *s);
struct booking *booking_of(const struct state *s, const struct gang *g); /* NULL: it has none */

/* ---- one of them; its caller says to whom that is news ---- */
struct booking *booking_copy(struct gang *g, struct queue *q, const struct booking_record *r);
void booking_free(struct booking *b);
void booking_add(struct state *s, struct booking *b);
struct booking *booking_remove(struct state *s, struct gang *g);
void booking_find_rooms(const struct state *s, struct booking *b); /* its places as amounts; of nodes that are not there there are none */
void booking_gain(struct state *s, const struct booking *b);       /* whom it kept out may fit now */
int64_t booking_over_ms(const struct booking *b);                  /* when its own gang has ended then */

/* ---- against others ---- */
/* Wall time by which it has ended, as far as is known; INT64_MAX: it is not. Of one that holds something. */
int64_t booking_end_ms(const struct state *s, const struct gang *g);
int64_t booking_run_ms(const struct gang *g, int64_t from_ms); /* the same of one that starts then */
/* On the undo log, against g of queue q, which starts at at_ms and has ended by until_ms. borrows: it would take others' quota. */
void bookings_put(struct state *s, const struct gang *g, bool borrows, int64_t at_ms, int64_t until_ms);
void bookings_lie_down(struct state *s); /* the try is over, and its log taken back */
/* It is charged on the undo log: is quota of q's tree enough for those that stand against it? */
bool bookings_allow(struct state *s, const struct queue *q);
bool booking_stands(const struct state *s, const struct booking *b);
uint32_t booking_root_of(const struct state *s, const struct queue *q); /* of the quota tree; 0: it has none */
uint32_t booking_first_room_on(const struct booking *b, uint32_t node); /* rooms are sorted by node */
/* Has it ended by then, and not before the one against whom they stand starts? */
bool booking_ends_by(const struct state *s, const struct gang *g, int64_t ms);
/* What it leaves is awaited by one of those that stand. */
bool booking_awaits(const struct state *s, const struct gang *victim);
bool bookings_bind(const struct state *s, const struct gang *g); /* any of them, should it run for long */

/* ---- refused (booking_find.c) ---- */
/* The gang was refused beside what stands; that lies down. Is it one of them that keeps it out, or is it promised a start itself? The
 * refusal says so. True: it has one. */
bool booking_refused(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal);
/* Those of the queue that come before it have theirs, and there is one left to give. */
bool booking_may_give(const struct state *s, const struct queue *q, const struct gang *g);
/* It started, or was refused: where its queue has one left to give, the first of those behind it that have none looks again. */
void booking_tried(struct state *s, struct queue *q, const struct gang *g);
void booking_make(struct state *s, struct gang *g, struct queue *q, const struct booking_record *r); /* in the place of the one it has */
bool booking_has_nodes(const struct state *s, const struct booking *b); /* all that it names are there, and take pods */
/* Now, beside one of that queue. */
bool booking_has_quota(const struct state *s, const struct booking *b, const struct queue *beside);

#endif
