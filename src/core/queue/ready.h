/* ready.h - pods that must be ready in time: Kueue's waitForPodsReady (policy.h)
 *
 *   admitted ──▶ not ready yet ── timeout ──────▶ evicted, and kept from its queue for a while that doubles with each time
 *                   │      ▲                       │ so often already: deactivated
 *                   ▼      │ one pod is lost: recovery, with a timeout of its own
 *                 ready ───┘
 *
 * SHAPE  a gang's deadline follows from what its object says and is kept in state.deadlines; a scheduler that starts anew finds the same.
 *        Whether all that hold quota are ready is a count.
 * WHY    Workloads only: the timers and the standstill are Kueue's, and who asks for a Volcano queue or for none has not asked for them.
 */
#ifndef CORE_READY_H
#define CORE_READY_H
#include "core/cycle.h"

void ready_init(struct state *s);
void ready_fini(struct state *s);
void ready_take(struct state *s, struct gang *g, const struct gang_record *r); /* what its object says of its pods */
void ready_follow(struct state *s, struct gang *g); /* after each change of its phase, or of what its object says */
void ready_forget(struct state *s, struct gang *g); /* it is freed */
int64_t ready_deadline_ms(const struct state *s, const struct gang *g); /* as its object and the policy have it; 0 = none */
/* Those whose time is up are looked at. */
void ready_wake(struct state *s, int64_t now_ms);
int64_t ready_next_ms(const struct state *s); /* the first deadline; 0 = none */
/* Its time is up: an EVICT's reason in the arena. NULL: it is not. */
const struct reason *ready_why_evict(const struct cycle *c, const struct gang *g);

/* Nobody is admitted now (blockAdmission): this one waits, as everybody does who is like it. */
bool ready_blocks(const struct state *s, const struct gang *g);
/* It was evicted because its pods were late, and is back: it comes after those who waited for it. */
bool ready_was_late(const struct state *s, const struct gang *g, const struct queue *q);
/* Its line waits until that is over. What was found out about it before is still what is told. */
void ready_hold_line(struct cycle *c, struct line *l);
void ready_begin_round(struct cycle *c); /* all that are blocked wait; all that waited are ready, where that is over */

#endif
