/* used.h - what the status of LocalQueues says that they have used of late */
#ifndef CHAOS_USED_H
#define CHAOS_USED_H
#include "world.h"

/* Where it counts: all of them say it, no LocalQueue has used more than there ever was, and nobody's clock is ahead. Elsewhere: nothing. */
bool used_check(struct world *w);

#endif
