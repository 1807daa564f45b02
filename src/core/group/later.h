/* later.h - members of a pod group that has started: they start one by one, or as many as make their subgroup whole */
#ifndef CORE_GROUP_LATER_H
#define CORE_GROUP_LATER_H
#include "core/cycle.h"

/* Of an admitted group. */
void later_settle(struct cycle *c, struct gang *g);

#endif
