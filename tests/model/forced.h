/* forced.h - liveness at rest: is anybody parked who would start, or have others go, if only he were tried?
 *
 * SHAPE  in a copy (a process of its own, so that the core goes on untouched) the core decides until it has nothing more to do. Then every
 *        gang that waits stands ready in a line of its own, whatever it waits for, and what holds something is settled once more: nothing
 *        but reasons may come of that. Last are those for whom others leave already. Then all who were told to leave end, one by one, and
 *        the same is asked again.
 *        Who waits by a rule (behind the head of a StrictFIFO queue, for pods to be ready, for a time to pass, for what is promised to
 *        others) is kept by that rule again, as the rules themselves are asked anew.
 * WHY    those for whom others leave come last: tried anew they may stand elsewhere, and who is refused for what they were promised before
 *        is refused by the rule.
 * LIMIT  excepted is who has a wake that is certain: who waits after writes of his own that failed; who looks again soon whether
 *        what others leave is still enough for all of its members, or within its queue's own quota, and could start with fewer, or
 *        elsewhere; for whom others leave, of what he may have since, that is quota that a blocked head of another queue claims, what
 *        fewer members need than others leave for, what is another amount since one for whom others leave, asked anew, has more of them
 *        go or does with fewer, and for a lone pod nodes on which others leave for somebody of no lower priority; and, while anybody
 *        leaves, those who would have others go: whoever leaves gives something back, and that wakes.
 *        Who comes behind one that is promised a start and looks again within ten seconds, since somebody has started, come or gone: with
 *        what others have left meanwhile its start may be another.
 *        SOURCE Kueue counts who leaves as there until he has left; kube-scheduler, PodEligibleToPreemptOthers.
 */
#ifndef TESTS_MODEL_FORCED_H
#define TESTS_MODEL_FORCED_H
#include "../unit/core/world.h"

/* False: somebody would, and standard error says who. On hold nobody is asked. */
bool forced_world_rests(struct world *w);

#endif
