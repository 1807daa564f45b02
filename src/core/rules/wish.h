/* wish.h - what a pod would rather have: which of the nodes that do is best, by its own words
 *
 * Each node that does gets a number, the sum of four parts, of which each goes from 0 to 100 among these nodes:
 *
 *     3 x  taints       PreferNoSchedule that it does not tolerate, the fewer the better
 *     2 x  nodes        weights of the terms of preferred nodeAffinity that match
 *     2 x  pods         weights of preferred podAffinity for each pod in the node's domain, less those of podAntiAffinity
 *     2 x  spread       pods in the node's domains of topologySpreadConstraints that may be broken (ScheduleAnyway), the fewer the better
 *
 * Those with the highest number come before others; among them the policy chooses (score/).
 * WHY    before the policy, where kube-scheduler adds its own wishes to those of the pod: who says what he wants gets it where it can be.
 * COST   nothing for pods that wish for nothing; else all nodes that do are looked at, and all that stand somewhere are counted once.
 * LIMIT  WISHES_MOST of each kind are read. Wishes of pods that are there already about those that come say nothing.
 * SOURCE kube-scheduler: scores of TaintToleration, NodeAffinity, InterPodAffinity and PodTopologySpread, and their default weights.
 */
#ifndef CORE_WISH_H
#define CORE_WISH_H
#include "core/state/model.h"

/* Has a pod of this shape a wish that another node than `best` might fulfil? */
bool wish_matters(const struct state *s, uint32_t shape, uint32_t best);
/* Of these n > 0 nodes those with the highest number come to the front, in their order. Returns how many. */
uint32_t wish_pick(const struct state *s, uint32_t shape, uint32_t labels, uint32_t *nodes, uint32_t n);

#endif
