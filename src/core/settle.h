/* settle.h - admitted gangs: bind members as they come, replace places that were lost, give back what must end */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H
#include "core/cycle.h"

void settle_gang(struct cycle *c, struct gang *g);
void settle_all(struct cycle *c); /* everything in the work list */

#endif
