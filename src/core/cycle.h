/* cycle.h - one call of decide: what it works on, and the plan that it writes */
#ifndef CORE_CYCLE_H
#define CORE_CYCLE_H
#include "base/arena.h"
#include "core/model.h"

struct cycle {
    struct state *s;
    struct arena *a;
    struct plan *plan;
    int64_t now_ms;
    uint32_t entries_cap;
    uint32_t gangs_left, pods_left;
};
void cycle_admit(struct cycle *c, struct gang *g);                      /* plan entry; g is booked already */
void cycle_bind(struct cycle *c, struct gang *g, uint32_t pod, uint32_t seat);
void cycle_evict(struct cycle *c, struct gang *g, const struct reason *why);
/* Keep the tree with the gang; a plan entry only when it differs from what was said last. */
void cycle_explain(struct cycle *c, struct gang *g, const struct reason *why);
void cycle_explained_away(struct gang *g); /* it does not wait any more */

#endif
