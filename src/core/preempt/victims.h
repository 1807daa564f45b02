/* victims.h - the smallest set of gangs, by Kueue's rule, whose end lets a gang start under one assignment of flavors
 *
 * Candidates go in their order, one by one, until quota, nodes and devices hold the gang; then, from the last but one to the first,
 * everybody is put back who was not needed. With and without borrowing, in the order that the policies say. All on the undo log.
 *
 * Members that pod groups can do without are looked for first (surplus.h), in the same way: where they are enough, no group goes whole.
 *
 * SHAPE  quota is asked after each candidate; nodes only once quota is enough, then after twice as many candidates each time, and by
 *        halving for the first that was enough. While people are put back, who stands on none of the nodes that were chosen needs no try.
 * LIMIT  CYCLE_PREEMPT_TRIALS places for all members a cycle, whoever asks for them; as many for second searches among equals.
 *        By shares only once, and borrowing (fair.h).
 * SOURCE Kueue, classical and fair preemption; that nodes have a say is our own.
 */
#ifndef CORE_VICTIMS_H
#define CORE_VICTIMS_H
#include "core/place/place.h"
#include "core/preempt/fair.h"

#define CYCLE_PREEMPT_TRIALS 4096u

struct victims {
    struct candidate *all;     /* in the order in which they went, each gang once; in the cycle's arena */
    uint32_t n;
    const uint32_t *members;   /* these alone go, of gangs that stay; NULL: whole gangs */
    uint32_t members_n;
    bool borrows;              /* the preemptor may end up borrowing */
    uint32_t borrow_level;     /* where it stands once they are gone; also where it waits for others' victims (LACK_COMING) */
    const uint32_t *places;    /* node of each want */
    enum preemption_lack lack; /* none found: why */
    struct fair_refusal refused; /* LACK_SHARES */
    enum sparing spares;       /* not those who would go by Kueue's order alone: what for, and one of them */
    const struct gang *spared;
};
enum preemption victim_reason(const struct candidate *one);
void victims_leave(struct state *s, const struct victims *v); /* on the undo log: the quota that they give */
/* With wants: nodes and devices, too. False: there is no such set, and ret_victims->lack says why. */
bool victims_find(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *ret_victims);
/* Such a set was found. Is there another one, with other equals of theirs, by whose end less is lost? */
void victims_spare(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *v);

#endif
