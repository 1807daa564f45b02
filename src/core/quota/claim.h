/* claim.h - quota that the blocked head of a StrictFIFO queue keeps from gangs tried after it
 *
 * The head would fit if others in the cohort gave way, and nobody has to: what is left of its queue's nominal quota (and of what it may
 * borrow, if it has to borrow) is its own until it fits. Queues that can take their nominal quota back at any time need no claim.
 *
 * SHAPE  charges put on the tree (by decide.c, on the undo log) for the rest of one round and taken off again; what outlives a decision is
 *        only a hash, to see that the claim is another one now.
 * SOURCE Kueue: capacity reserved for a preempting head without candidates.
 */
#ifndef CORE_CLAIM_H
#define CORE_CLAIM_H
#include "base/arena.h"
#include "core/state/model.h"

#define CLAIM_NEW 1u /* in queue.claimed: put on the tree in this round for the first time */
/* Would the gang claim as the blocked head of its queue? Does the blocked head of the queue claim? */
bool claim_may_stand(const struct queue *q, const struct gang *g);
bool claim_stands(const struct queue *q);
/* After the last round: did a claim end, or become another one, or may others come before it now? Then who finds quota without it is to be
 * tried again: true, there is somebody. WHY  a claim ends unheard when its head starts in another flavor, is overtaken, or is refused by
 * nodes
 * alone: no quota is given back, but what it kept from others is free. */
bool claim_ended(struct state *s, struct arena *a);
/* What g claims as the head of q, with the tree as it stands: without anybody's claims. */
uint32_t claim_find(struct state *s, const struct queue *q, const struct gang *g, struct arena *a, struct charge **ret_charges,
                    uint32_t *ret_borrow_level);

#endif
