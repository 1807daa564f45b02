/* starters.h - which members of a pod group start, should not all of them do
 *
 * A group is whole with `min_members` of its members, of each task as many as it asks for, and of each policy so many whole subgroups.
 * What runs, and what is done, counts.
 */
#ifndef CORE_STARTERS_H
#define CORE_STARTERS_H
#include "core/state/model.h"

/* The fewest members that make the group whole, moved to the front: first what subgroups and tasks need, then by order, unit by unit
 * (subgroups.h). *n: those of the pods that can start, all others are moved to the end. Returns how many. */
uint32_t group_fewest(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t *n);
/* Its queue's groups grow by turns (later.h), and others wait, or grow, whose priority is no lower: it starts with the fewest, and grows
 * when those have been tried. Of a line the gang is the first. */
bool group_makes_way(const struct state *s, const struct gang *g, const struct queue *q);
/* Would these make it whole? */
bool group_is_enough(const struct state *s, const struct gang *g, struct arena *a, const uint32_t *pods, uint32_t n);

#endif
