/* forced.h - liveness at rest: is anybody parked who would start, or have others go, if only he were tried?
 *
 * SHAPE  in a copy (a process of its own, so that the core goes on untouched) the core decides until it has nothing more to do. Then every
 *        gang that waits stands ready in a line of its own, whatever it waits for, and what holds something is settled once more: nothing
 *        but reasons may come of that. Last are those for whom others leave already: none of them may start, or have more go.
 *        Who waits by a rule (behind the head of a StrictFIFO queue, for pods to be ready, for a time to pass, for what is promised to
 *        others) is kept by that rule again, as the rules themselves are asked anew.
 * WHY    those for whom others leave come last: tried anew they may stand elsewhere, and who is refused for what they were promised before
 *        is refused by the rule.
 * LIMIT  two have a wake that is certain, and are excepted: who waits after writes of his own that failed, and a lone pod for whom others
 *        leave already, as far as more would have to go. SOURCE kube-scheduler, PodEligibleToPreemptOthers: not while those are there.
 */
#ifndef TESTS_MODEL_FORCED_H
#define TESTS_MODEL_FORCED_H
#include "../unit/core/world.h"

/* False: somebody would, and standard error says who. On hold nobody is asked. */
bool forced_world_rests(struct world *w);

#endif
