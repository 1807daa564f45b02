/* order.h - who is next, who is parked, and what wakes them
 *
 * SHAPE  a pending gang stands in exactly one of: the heap of its queue (to be tried), the parked list (tried, waits for a change that
 *        could help; `park` says which), nowhere (not known, finished). Admitted gangs with something to settle stand in the work list.
 * ORDER  priority, creation, uid text, key text.
 *        Wake-ups:  PARK_SELF        the gang's own record or pods changed (always wakes)
 *                   PARK_QUOTA       something was given back in its quota tree
 *                   PARK_NODES       a node gained room that holds one more of a shape that it failed on
 *                   PARK_NEIGHBOURS  any pod came or went
 *                   PARK_QUEUE       a queue, cohort, flavor or namespace changed
 *                   PARK_TIME        its time has come
 */
#ifndef CORE_ORDER_H
#define CORE_ORDER_H
#include "core/model.h"

bool order_before(const void *gang_a, const void *gang_b);
void order_init(struct state *s);
void order_fini(struct state *s);
void order_wake(struct state *s, struct gang *g);  /* to be tried (pending) or settled (admitted) */
void order_park(struct state *s, struct gang *g, uint8_t park);
void order_park_shape(struct state *s, struct gang *g, uint32_t shape); /* with PARK_NODES: wake me when this fits somewhere */
void order_forget(struct state *s, struct gang *g);
void order_wake_changed(struct state *s, int64_t now_ms);
bool order_has_changes(const struct state *s);
struct gang *order_first(const struct queue *q); /* next to try; NULL: empty or blocked */
void order_block(struct queue *q, struct gang *g);
/* Keep the counts of queue and local queue right after any change of the gang. */
void order_count(struct state *s, struct gang *g);

#endif
