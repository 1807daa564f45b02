/* why.h - reason trees: made where a decision is refused */
#ifndef CORE_WHY_H
#define CORE_WHY_H
#include "core/cycle.h"
#include "core/place/place.h"
#include "core/queue/gang.h"

/* NULL when the gang may be tried. ret_park: what can change that (enum park); PARK_TIME: not_before_ms. */
struct reason *why_not_ready(struct cycle *c, const struct gang *g, uint8_t *ret_park);
/* Why an inactive queue admits nothing, or NULL. */
struct reason *why_queue_refuses(const struct state *s, const struct queue *q, struct arena *a);
/* The same, where it is about domains of a topology. */
struct reason *why_no_domain(struct cycle *c, const struct misfit *m, name_id pod_set, name_id flavor);
/* Placement: how many were placed, and what is wrong with each node for the next one. Call it before taking back. */
struct reason *why_unplaced(struct cycle *c, const struct misfit *m, name_id pod_set, name_id flavor);

#endif
