/* settle.h - admitted gangs: bind members as they come, replace places that were lost, give back what must end */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H
#include "core/cycle.h"

/* Why the gang must give back what it has, or NULL. */
const struct reason *settle_why_evict(struct cycle *c, const struct gang *g);
/* Everything in the work list. last: all who wait have been tried in this cycle. */
void settle_all(struct cycle *c, bool last);

#endif
