/* ledger.h - what each gang takes of a queue's quota: the one place where charges are booked
 *
 *   planned gang   its sets x counts, under the flavors that it was given
 *   pod group      what its pods ask for that stand on a node
 *
 * INVARIANT  usage of a queue's cell = the sum of that cell's charges over the gangs in queue->charged (state_check).
 */
#ifndef CORE_LEDGER_H
#define CORE_LEDGER_H
#include "core/state/model.h"

/* Book on q (NULL: on none) from now on. Charges that the gang had elsewhere are given back first. */
void ledger_open(struct state *s, struct gang *g, struct queue *q);
/* The queue's usage has these amounts already (a search that is kept): they become the gang's. */
void ledger_take_over(struct state *s, struct gang *g, const struct charge *charges, uint32_t n);
/* A pod of a group came to stand on a node, or left it: sign 1 or -1. Nothing happens while no queue is open. */
void ledger_seat(struct state *s, struct gang *g, uint32_t shape, int sign);
/* All charges anew: of the sets of a planned gang, of the seated members of a group. */
void ledger_recount(struct state *s, struct gang *g);
/* The lowest priority of gangs with charges on q; INT32_MAX: there is none. */
int32_t ledger_lowest(struct queue *q);
/* Give back everything and wake who waits for it. */
void ledger_close(struct state *s, struct gang *g);

#endif
