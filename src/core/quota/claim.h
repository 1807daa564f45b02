/* claim.h - quota that the blocked head of a StrictFIFO queue keeps from gangs tried after it
 *
 * The head would fit if others in the cohort gave way, and nobody has to: what is left of its queue's nominal quota (and of what it may
 * borrow, if it has to borrow) is its own until it fits. Queues that can take their nominal quota back at any time need no claim.
 *
 * SHAPE  charges put on the tree (by decide.c, on the undo log) for the rest of one round and taken off again; nothing of them outlives a decision.
 * SOURCE Kueue: capacity reserved for a preempting head without candidates.
 */
#ifndef CORE_CLAIM_H
#define CORE_CLAIM_H
#include "base/arena.h"
#include "core/state/model.h"

/* Does the queue's blocked head claim at all? */
bool claim_stands(const struct queue *q);
/* How much it borrows: its place in the order of the round. */
uint32_t claim_find(struct state *s, const struct queue *q, struct arena *a, struct charge **ret_charges, uint32_t *ret_borrow_level);

#endif
