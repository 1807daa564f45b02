/* ledger.h - what each gang takes of a queue's quota: the one place where charges are booked
 *
 *   planned gang   its sets x counts, under the flavors that it was given
 *   pod group      what its pods ask for that stand on a node
 *
 *   no queue       nothing: it only stands in the list of state.queues[0] while it holds places, since others may go before it there
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
/* Its phase, or what it asks for, is another one: is it one of those without a queue that hold places? */
void ledger_follow(struct state *s, struct gang *g);
/* A group without a queue may be told to go, which it might not before: who waits for room where its pods stand looks again. */
void ledger_may_go_again(struct state *s, const struct gang *g);
/* The lowest priority of gangs in the list of q; INT32_MAX: there is none. */
int32_t ledger_lowest(struct queue *q);
/* Has somebody without a queue less priority than this gang, which has none either, and may preempt? */
bool ledger_has_lower(const struct state *s, const struct gang *g);
/* Has some pod group without a queue less priority than this gang, which has none either? */
bool ledger_has_lower_group(const struct state *s, const struct gang *g);
/* Give back everything and wake who waits for it. */
void ledger_close(struct state *s, struct gang *g);

#endif
