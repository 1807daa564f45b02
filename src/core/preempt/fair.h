/* fair.h - fair sharing: in which order gangs go for another one, and who of them may
 *
 *     root ── the child with the highest share ── ... ── a queue ── its next candidate
 *
 * SHAPE  the gang's own needs count as used. Below each cohort the child with the highest share is asked first (cohorts before queues, then
 *        the queue with the better candidate); who borrows nothing is passed over, but for the gang's own queue and the cohorts above it.
 *        A candidate of the own queue goes. One of another queue goes where the shares say so, those of the two children of the lowest
 *        cohort that holds both:
 *            final share    preemptor's with the gang <= victim's without the candidate
 *            initial share  preemptor's with the gang <  victim's with the candidate; with both strategies, once a queue, for those whom
 *                           the first refused, and only when those that went are not enough
 *        A queue that stays within its own quota in what is short takes it back whatever the shares.
 * WHY    it is fast: shares are remembered in the tree, a queue is looked into when its turn comes, and where with the gang the own side
 *        would have a higher share than the highest of the others below a cohort, all of them are refused at once.
 * WHY    three rules of our own, without which gangs could take each other's place for ever. Who is within its queue's own quota in all
 *        that it uses stays: it would take its place back whatever the shares. And nobody goes where the other could then come back by the
 *        same rule: where nothing but who of them runs would change, the higher priority stays. Nor where others of its queue
 *        would take at once what is within their queue's own quota then: of three gangs one could go for the next for ever, a small one of
 *        that queue for who borrows, and the large one for the small by its priority. That is asked of those who are left once all others
 *        have been put back (victims.c), and only where it is so of each candidate, so that others may go instead. The same is asked of
 *        shares: those of its own queue who had gone when they were compared are put back where they are not needed, and with them the
 *        gang may have a higher share than who went for it, who would take it back by that.
 * SOURCE Kueue, preemption with fair sharing.
 */
#ifndef CORE_FAIR_H
#define CORE_FAIR_H
#include "core/preempt/candidates.h"

enum fair_verdict { FAIR_ALLOWS, FAIR_SHARES_REFUSE, FAIR_TAKEN_BACK };
struct fair_refusal {          /* the first candidate that was kept from going */
    enum fair_verdict why;
    name_id other;             /* its queue, or the cohort whose share was asked for */
    bool other_is_queue;
    int64_t own_share, other_share; /* as in share_weighted: with the gang; of the other */
};
struct fair_order;
/* Careful: nobody goes whose queue would take it back at once, nor by shares that count on those of the own side. */
struct fair_order *fair_begin(const struct preemptor *x, bool careful);
/* The next to go; those before it have. False: nobody is left. */
bool fair_next(struct fair_order *f, struct candidate *ret_one);
/* All that go have gone, and these have been put back: where they are of the own side, do shares let this one go then, too? */
bool fair_still_allows(struct fair_order *f, const struct gang *victim, const struct candidate *back, uint32_t back_n);
bool fair_any(struct fair_order *f); /* is there, or was there, any candidate? */
void fair_end(struct fair_order *f); /* before the next begins; NULL-safe */
const struct fair_refusal *fair_refused(const struct fair_order *f);

#endif
