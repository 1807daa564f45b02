/* settle.h - admitted gangs: bind members as they come, replace places that were lost, give back what must end */
#ifndef CORE_SETTLE_H
#define CORE_SETTLE_H
#include "core/cycle.h"

/* Why the gang must give back what it has, or NULL. */
const struct reason *settle_why_evict(struct cycle *c, const struct gang *g);
struct parking;
struct want;
/* Places for all, which are kept, or for none: why is told then, and `park` gets what would have to change. */
bool settle_place_or_say(struct cycle *c, struct gang *g, struct want *wants, uint32_t n, struct parking *park);
/* Places that it keeps where nobody can stand any more are given back. */
void settle_drop_bad_seats(struct state *s, struct gang *g);
void settle_gang(struct cycle *c, struct gang *g);
void settle_all(struct cycle *c); /* everything in the work list */

#endif
