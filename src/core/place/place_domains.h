/* place_domains.h - members whose flavor has a topology: domains first (domain.h), then nodes of their leaves
 *
 * SHAPE  pod set by pod set, the sets of one group together; what stands of a set already, and where it was told to stand, comes before
 *        what is chosen anew. Where rules about other pods matter, the domains of the level are tried one after the other.
 */
#ifndef CORE_PLACE_DOMAINS_H
#define CORE_PLACE_DOMAINS_H
#include "core/place/place.h"

bool place_is_in_domains(const struct want *wants, uint32_t n);
/* Of place_all: wants with a topology. False: ret_misfit says what stopped it, seats that were taken stand. */
bool place_in_domains(struct state *s, struct gang *g, struct want *wants, uint32_t n, struct misfit *ret_misfit);

#endif
