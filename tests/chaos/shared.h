/* shared.h - Volcano's queues that take back what they deserve: whole pod groups leave, also where deletions are refused at first
 *
 * One seed of four has them; in the others nothing is drawn for them.
 */
#ifndef CHAOS_SHARED_H
#define CHAOS_SHARED_H
#include "world.h"

const char *shared_seed(uint64_t seed, int at); /* queues "sa" and "sb", one after the other; NULL: no more */
void shared_step(struct world *w); /* a job comes into one of them or goes, or one deserves another part; who leaves is counted */
void shared_clear(struct world *w); /* its jobs are deleted */
bool shared_worked(const struct world *w); /* groups have left, or there are none */
/* At rest nobody is still on his way out. */
bool shared_check(struct world *w);

#endif
