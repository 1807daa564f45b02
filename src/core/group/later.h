/* later.h - members of a pod group that has started: they start one by one, or as many as make their subgroup whole
 *
 * By turns (queue_shares.by_turns): a group starts with its minimum where others of its queue wait, or grow, whose priority is no lower
 * (group_makes_way), and does not grow before they have been tried; then those of one priority grow round by round, in each queue only who
 * has fewest above its minimum, by a member each (settle.c).
 * SOURCE KAI, plugin elastic: who is below its minimum comes before who is at it, and he before who is above; how far above it leaves open.
 */
#ifndef CORE_GROUP_LATER_H
#define CORE_GROUP_LATER_H
#include "core/cycle.h"

/* Of an admitted group. once: no more than one of them (or of their subgroups); true: one has started, and there are others to try. */
bool later_settle(struct cycle *c, struct gang *g, bool once);

#endif
