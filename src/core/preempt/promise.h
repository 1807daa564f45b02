/* promise.h - a gang waits for others that it preempted, and what they leave is its own
 *
 *   refused, and victims found ──promise_make──▶ they are told to leave; their gang waits
 *                                                  │ something is gained: it is tried again, and what it is promised is found anew,
 *                                                  │ under the same assignment and with the same victims where they are enough
 *                                                  ├─ it starts, here or elsewhere, or goes, or is held back: promise_end
 *                                                  └─ others take a victim over (StrictFIFO): promise_end, and it looks again
 *
 * SHAPE  while anybody else is tried, the promise stands on the undo log: of quota and of each node as much as the gang will take and its
 *        victims have not left yet. Others find that much less, and may not count on the same victims. Nothing is booked between tries:
 *        places that are only held never keep others waiting (docs/design/0005).
 * WHY    a victim is told once: it is GANG_LEAVING from then on, and is the first candidate whenever the gang looks again.
 */
#ifndef CORE_PROMISE_H
#define CORE_PROMISE_H
#include "core/preempt/victims.h"

/* Whoever does not start though others left for it waits so long before anybody else has to go, and twice as long each further time. */
#define VAIN_FIRST_MS 10000
#define VAIN_DOUBLINGS 5 /* 320 s at most */

/* The gang waits for these from now on; who of them has not been told to leave is told now (EFFECT_EVICT), or all later, while writes about
 * one of them are not to be tried again yet. */
void promise_make(const struct preemptor *x, const struct victims *v, const struct want *wants, uint32_t wants_n);
void promise_end(struct state *s, struct gang *g); /* of a gang that has one */
void promise_was_vain(const struct state *s, struct gang *g); /* all have left, and it does not start: nobody goes for it for a while */
void promise_unkept(const struct state *s, struct gang *g); /* they still leave, and are not enough any more: often, and it was in vain */
static inline void promise_drop(struct state *s, struct gang *g)
{
    if (g->promise)
        promise_end(s, g);
}
/* On the undo log, against somebody of queue q; no-op when it stands already. What the pods of `against` still have does not count for what
 * it leaves. WHY  let in again it is no victim any more, and whom it left that for would have to look for another one: it again. */
void promise_put(struct state *s, struct gang *g, const struct queue *q, const struct gang *against);
void promise_put_rooms(struct state *s, struct gang *g); /* on nodes alone: against somebody who has his quota */
/* On the undo log: the quota of q's tree as it will be when the victims of all promises that stand but g's have left, and their gangs have
 * started. False: there are none. */
bool promises_kept(struct state *s, const struct gang *g, const struct queue *q);
void promise_free(struct promise *p);               /* of a gang that is freed with the state */
void promises_lie_down(struct state *s);            /* the try is over, and its log taken back */
/* Its admission is over, and some of its pods are still there: their places come by themselves. */
bool gang_leaves_places(const struct state *s, const struct gang *g);
/* Does the end of the gang, or that it has ended, free the place of this member? WHY not a former one's beside a new admission: it goes as
 * it goes, whether the gang is evicted again or not; who counted on it would evict for nothing. */
static inline bool gang_gives_place(const struct gang *victim, const struct pod *member)
{
    return member->seat && member->former != gang_holds(victim);
}
static inline bool victim_gives_place(const struct gang *victim, const struct pod *member) /* the same where it may be one that shrinks */
{
    return victim->shrinks ? member->seat && member->surplus : gang_gives_place(victim, member);
}
/* Each seat that victims leave, but for those of `but`. */
typedef void (*left_seat_fn)(struct state *s, const struct promise *p, uint32_t seat, void *arg);
void promise_each_left(struct state *s, const struct promise *p, const struct gang *but, left_seat_fn f, void *arg);
/* What this one leaves is promised to somebody else, who comes before g. */
bool promise_is_others(const struct gang *victim, const struct gang *g);
/* The gang has left, with its pods, or stays after all: nobody waits for it any more. */
void promise_forget_victim(struct state *s, struct gang *g);
/* The same of a gang that shrinks, once no member of it that was told to go stands any more; else a no-op. */
void promise_follow_members(struct state *s, struct gang *g);
/* EVICT of this member alone was answered. Refused: it stays, and who waits for it looks again. */
void promise_member_answered(struct state *s, struct gang *g, name_id pod, bool refused);
/* Somebody has taken room on the node. A lone pod to whom more of it is promised than will be left looks again. WHY  it waits there in vain
 * else until its victims have left, and keeps others out meanwhile. */
void promises_shrink(struct state *s, uint32_t node);
/* Somebody has deleted this lone pod. Those that come before it, and are promised room on its node, look again. WHY  they count on what it
 * leaves as well by then, and keep less from others. */
void promises_gain_victim(struct state *s, const struct pod *pod);
/* The node is there, perhaps in another slot than before it went: what gangs were promised on it stands. Lone pods looked again when it
 * went. */
void promises_follow(struct state *s, uint32_t node);
/* Of each node that others leave for lone pods: the highest priority of these, as a cycle begins. */
void promises_rank(struct state *s);
/* Why a victim must go: a REASON_PREEMPTED in the arena. */
const struct reason *promise_why(struct state *s, const struct gang *victim, struct arena *a);
/* What its gang is told: a REASON_PREEMPTING in the arena. */
struct reason *promise_what(const struct gang *g, struct arena *a);

/* ---- of those who left for it and begin again elsewhere (moves/carry.h) ----
 * Places and quota are kept from everybody but the one whom they are for, from when it is told to leave until it holds quota again, or does
 * not wait for any. The gang that they leave for counts on none of their quota: they come back. */
/* These places of the mover's, and all that it is charged, which it still is. */
void moved_keep(struct state *s, struct promise *p, const struct gang *mover, const uint32_t *seats, const uint32_t *to, uint32_t n);
bool moved_awaits(const struct state *s, name_id gang); /* it leaves, or waits to begin again */
bool moved_is_kept(const struct state *s, const struct gang *g); /* something is kept for it */

#endif
