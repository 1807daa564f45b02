/* tiers.h - all members of a pod group, or of one of its subgroups, in one domain of the topology with tiers (HyperNodes)
 *
 * SHAPE  from the lowest tier up: of the domains of one tier that have room for each kind of members the one with the least room first,
 *        in which all are placed as anywhere else. Members that stand already say which domains there are.
 *        Required: up to the highest tier that is asked for. Preferred: in all tiers, then on any nodes.
 *        Subgroups stand each in a domain of its own choice, within the one of their group: those first that have fewer to choose from,
 *        then the large ones; at last members of no subgroup.
 * LIMIT  of members that differ only all, and the fewest by order, are tried in a domain: which others would make it whole is asked of
 *        all nodes (try_others). A subgroup leaves its domain for none that comes after it: where all would stand in another way only,
 *        the domain does not hold them.
 * ORDER  (tier, places, what is left of the devices that the first pod asks for, of cpu, of memory, path). SOURCE Volcano: tier by
 *        tier; of several the one that is fullest then.
 */
#ifndef CORE_TIERS_H
#define CORE_TIERS_H
#include "core/place/place.h"

/* As place_in_area of place.h, for a gang with `tiers`, or whose subgroups have some. */
bool place_in_tiers(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit);
bool place_asks_for_tiers(const struct gang *g);

#endif
