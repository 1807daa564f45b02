/* back.h - would what others leave for a gang be taken back at once?
 *
 * SHAPE  with them gone, a queue may have something left of its own that the gang was short of. Whoever of that queue has gone for the
 *        gang, or waits, and finds room in that takes it back where the queue reclaims: the gang would be its victim.
 * WHY    a gang that borrows would go before them again by its priority or its share, and so on for ever.
 */
#ifndef CORE_BACK_H
#define CORE_BACK_H
#include "core/preempt/candidates.h"

/* By one of these, those of the queue that have gone for the gang and are off the tree of quotas; or by who waits in it. */
bool back_taken_by_gone(const struct preemptor *x, const struct queue *q, const struct gang *const *gone, uint32_t gone_n);
bool back_taken_by_waiting(const struct preemptor *x, const struct queue *q);

#endif
