/* machine_labels.h - may a machine of this NodePool have the labels, and not have the taints, that pods of this shape ask for?
 *
 * SOURCE Karpenter's requirements: sets of values that have to have something in common.
 */
#ifndef SCHED_MACHINE_LABELS_H
#define SCHED_MACHINE_LABELS_H
#include "base/collections/intern.h"
#include "sched/machines/machine_pools.h"

/* The key that cannot be had, by selector or affinity; NULL: all can. */
const char *machine_label_lacking(const struct machine_pool *p, const struct intern *names, const struct shape *shape);
/* The key of a taint that it does not tolerate; NULL: none. */
const char *machine_taint_lacking(const struct machine_pool *p, const struct intern *names, const struct shape *shape);
/* Is this value one that its machines may have? False where nothing says so and nobody else may know the key. */
bool machine_label_may(const struct machine_pool *p, const char *key, const char *value);
/* The largest number that labels of the key may be, as its requirements say; INT64_MAX: nothing does. */
int64_t machine_label_most(const struct machine_pool *p, const char *key);

#endif
