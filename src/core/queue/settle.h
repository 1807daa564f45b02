/* settle.h - admitted gangs: bind members as they come, replace places that were lost, give back what must end */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H
#include "core/cycle.h"

/* Why the gang must give back what it has, or NULL. */
const struct reason *settle_why_evict(struct cycle *c, const struct gang *g);
void settle_gang(struct cycle *c, struct gang *g);
void settle_all(struct cycle *c); /* everything in the work list */

#endif
