/* coming.h - without a queue: room that comes free by itself, since pods are being deleted and go for nobody
 *
 * WHY    whoever was told to go loses its pods one by one. A scheduler that begins anew sees pods that are being deleted, and not for whom:
 *        if it did not count on what they leave, it would tell others to go besides.
 */
#ifndef CORE_COMING_H
#define CORE_COMING_H
#include "base/arena.h"
#include "core/state/model.h"

/* On the undo log: such pods have left their nodes, those of gangs without a queue that have less priority than g, but for members whose
 * places their groups keep. Where g is a lone pod, on the node that its object nominates. Returns whether there are any; of a lone pod, of
 * groups: where only lone pods leave, lone.h knows. */
bool coming_lift(struct state *s, const struct gang *g);
/* The same as a REASON_PREEMPTING in the arena, of a lone pod for which that is enough. WHY  it waits on that node until all have left, so
 * its object has to go on naming it. */
struct reason *coming_reason(const struct state *s, const struct gang *lone, struct arena *a);

#endif
