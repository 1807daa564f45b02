/* places.h - places of a gang that is admitted: taken for some of its members, given back where nobody can stand any more */
#ifndef CORE_GROUP_PLACES_H
#define CORE_GROUP_PLACES_H
#include "core/cycle.h"

struct parking;
struct want;
/* For all, which are kept, or for none: why is told then, and `park` gets what would have to change. */
bool places_take_or_say(struct cycle *c, struct gang *g, struct want *wants, uint32_t n, struct parking *park);
/* Places that it keeps for members to come. */
void places_drop_bad(struct state *s, struct gang *g);

#endif
