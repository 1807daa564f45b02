/* floor.h - what all nodes together must have free before a pod group starts, wherever that is
 *
 *   floor   memory 400     nodes   300 + 50 free, 40 that its own pods have    390: it waits
 *
 * SHAPE  a sum over all nodes that are known, cordoned ones too, that looks at no shape: where its pods find places is asked afterwards.
 *        Not asked of a group of which some have succeeded: what those would need is not known, and they need it no more.
 * COST   none where so many pods as must start ask for the floor themselves, which is what makers of groups write there; else one look at
 *        each node until there is enough.
 * SOURCE scheduler-plugins, coscheduling, PreFilter and CheckClusterResource; a node that has given more than it has counts as full here.
 */
#ifndef CORE_GROUP_FLOOR_H
#define CORE_GROUP_FLOOR_H
#include "base/arena.h"
#include "core/explain/reason.h"
#include "core/state/model.h"

/* pods: members that may start, of which any `needed` make the group whole. NULL: there is enough; else what is short, in the arena:
 * FREE_SHORT of one resource, those of others below it. */
struct reason *floor_lacks(const struct state *s, const struct gang *g, const uint32_t *pods, uint32_t needed, uint32_t n, struct arena *a);

#endif
