/* kept_gpus.h - what a promise keeps of a node whose GPUs are given in parts, too
 *
 * SHAPE  the members find their GPUs as if all had left who are to, as they will then. Of each GPU is kept what others and these take then
 *        beyond what others and those who leave have of it now: nothing of one that is left whole to one who takes it whole.
 * WHY    not by amounts: parts that are left are of single GPUs, and who has a part of one keeps it from those who want it whole.
 */
#ifndef CORE_KEPT_GPUS_H
#define CORE_KEPT_GPUS_H
#include "core/state/model.h"

/* On the undo log. `but`: as in promise_put. */
void kept_gpus_put(struct state *s, const struct promise *p, uint32_t node, const struct gang *but);

#endif
