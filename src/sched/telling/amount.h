/* amount.h - an amount of a resource, as statuses have it */
#ifndef SCHED_TELLING_AMOUNT_H
#define SCHED_TELLING_AMOUNT_H
#include "base/arena.h"

/* cpu in milli-cores, GPU_COUNTED in thousandths, all else in whole units; as Kueue writes it: 500m, 16Gi, 8. In the arena. */
const char *status_amount(struct arena *a, const char *resource, int64_t amount);

#endif
