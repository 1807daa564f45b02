/* workload_wait.h - since when a Workload waits in its queue
 *
 *   created ──▶ waits ──▶ admitted ──▶ evicted ──▶ waits again ──▶ admitted ...
 *   └── first wait ─────┘              └── this one ────────────┘   never the sum, never what ran in between
 *
 * SOURCE Kueue's own rule for its wait metrics: the last change of condition Requeued, else the creation.
 */
#ifndef SCHED_WORKLOAD_WAIT_H
#define SCHED_WORKLOAD_WAIT_H
#include "wire/json.h"

/* A time as the API writes it; "" when the object has none. */
const char *workload_queued_since(const struct json *workload);
/* How long it waited before this admission, or waits now. */
int64_t workload_waited_ms(const struct json *workload, int64_t now_ms);

#endif
