/* preempt.h - a gang was refused: may others be preempted for it?
 *
 * decide.c asks twice: where a head would stand in the order of a round once its victims are gone, and whom to evict when its turn comes.
 * SOURCE docs/design/0010-preemption.md
 */
#ifndef CORE_PREEMPT_H
#define CORE_PREEMPT_H
#include "core/place/try.h"
#include "core/preempt/promise.h"

/* Under which assignment it takes its place in the order of a round. */
struct nomination {
    uint32_t borrow_level;
    const struct charge *charges; /* in the cycle's arena, or its promise's */
    uint32_t charges_n;
};
/* With quota alone: the assignment that it would get. False: nobody can go for it. */
bool preempt_nominate(struct cycle *c, struct gang *g, struct queue *q, struct nomination *ret_nomination);
/* Victims on quota, nodes and devices, with the counts that its sets have now. True: the gang has a promise, and the plan evicts them.
 * `keep` false: only whether it could be. False: `why` gets a reason why not. */
bool preempt_counts(struct cycle *c, struct gang *g, struct queue *q, bool keep, struct reason *why);
/* The same under one assignment. */
bool preempt_assignment(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f, bool keep,
                        struct victims *ret_victims);
/* The same under the one that it was promised, with as many pods, where nobody goes but who does for it already: before any other is asked.
 * WHY  those who leave count as gone, so that another flavor may be better by now, and they would have left in vain. */
bool preempt_as_promised(struct cycle *c, struct gang *g, struct queue *q, bool keep);
/* Which assignments the policies of the queue allow where quota is short, for flavor_search (quota/flavor.h). */
struct flavor_oracle preempt_oracle(struct cycle *c, struct gang *g, struct queue *q);

#endif
