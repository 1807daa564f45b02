/* tiers.h - all members of a pod group in one domain of the topology with tiers (HyperNodes)
 *
 * SHAPE  from the lowest tier up: of the domains of one tier that have room for each kind of members the one with the least room first,
 *        in which all are placed as anywhere else. Members that stand already say which domains there are.
 *        Required: up to the highest tier that is asked for. Preferred: in all tiers, then on any nodes.
 * LIMIT  of members that differ only all, and the fewest by order, are tried in a domain: which others would make it whole is asked of
 *        all nodes (try_others).
 * ORDER  (tier, room, path). SOURCE Volcano: tier by tier; of several the one that is fullest then.
 */
#ifndef CORE_TIERS_H
#define CORE_TIERS_H
#include "core/place/place.h"

/* Of place_all, for a gang with `tiers`; place: place_in_area of place.h. */
typedef bool place_in_area_fn(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct area *area, uint32_t *steps,
                              struct misfit *ret_misfit);
bool place_in_tiers(struct state *s, struct gang *g, struct want *wants, uint32_t n, place_in_area_fn *place, uint32_t *steps,
                    struct misfit *ret_misfit);

#endif
