/* lone.h - pods of no queue and no group: which of lower priority leave a node for one that fits on none
 *
 * SHAPE  node by node: all lone pods of lower priority go; if the pod fits then, they are taken back one by one, those whose end would
 *        break a budget first, then by priority, then who runs longest, as long as it still fits. Of the nodes that this leaves: fewest
 *        broken budgets, lowest priority of the highest victim, least sum of priorities, fewest victims, whose highest began last, name.
 *        What they leave is promised as for gangs (promise.h), but not against lone pods of higher priority.
 * WHY    others leave the pod's node for it already: it waits for them, and looks at no other node as long as that one may be enough.
 * LIMIT  LONE_NODES nodes that would do (or a tenth of all), as kube-scheduler; CYCLE_PREEMPT_TRIALS looks at other pods a cycle.
 * SOURCE kube-scheduler, DefaultPreemption; docs/design/0014-without-a-queue.md
 */
#ifndef CORE_LONE_H
#define CORE_LONE_H
#include "core/cycle.h"

#define LONE_NODES 100u
#define LONE_COST 15u /* a search counts as up to so many gangs more: a turn of 1,000 would take seconds on 5,000 nodes */

/* The pod was refused. True: others leave for it, and it has a promise. False: `why` gets a reason why nobody does, and *ret_neighbours is
 * true where pods that stay, wherever they are, keep it from a node by their rules or its own. */
bool lone_preempts(struct cycle *c, struct gang *g, struct reason *why, bool *ret_neighbours);
/* Would it, were it tried now? Nothing is changed but the cycle's budget, of which a search takes its cost. */
bool lone_would_preempt(struct cycle *c, struct gang *g);
/* The same on this node. Pods whose places depend on those of others are not asked about. */
bool lone_would_preempt_on(struct cycle *c, struct gang *g, uint32_t node);
/* It has taken room on the node, or is promised it: lone pods of lower priority that were promised the same look again. */
void lone_goes_before(struct state *s, const struct gang *g, uint32_t node);
/* Promises on a node that goes, or on nodes that their pods may not stand on any more, are dropped: those look again. */
void lone_node_gone(struct state *s, uint32_t node);
void lone_drop_lost(struct state *s);
/* Lone pods of lower priority take the room that others are promised no more than this. */
bool lone_yields(const struct gang *promised, const struct gang *g);
/* The lowest priority on the node of those without a queue, lone pods and pod groups; INT32_MAX: there is none. */
int32_t lone_lowest(const struct state *s, uint32_t node);
/* Has such a one, on the node or on any, less priority than this lone pod, which may preempt? */
bool lone_may_preempt_on(const struct state *s, const struct gang *g, uint32_t node);
bool lone_may_preempt_any(const struct state *s, const struct gang *g);

#endif
