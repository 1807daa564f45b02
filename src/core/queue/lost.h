/* lost.h - admitted gangs that were told to stand on nodes, and a node of them that failed
 *
 *            the node has failed, and no pod of the gang is     LOST_WAIT_MS later      another node in the domain that the rest
 *   told ─────────────────────────────────────────────▶ lost ─────────────────────▶ requires: told anew
 *                     left on it                        │ ▲                              │ there is none: evicted, or (patient) waits
 *                                                       │ └ it is back: as told          ▼
 *                                                       └ a second one is lost: evicted  comes back through its queue
 *
 * SHAPE  what is lost follows from the nodes and from what was told; only since when is kept. A scheduler that starts anew finds the same,
 *        and waits anew.
 * WHY    a wait: of nodes that fail together (a rack, a switch) all are seen before the first is replaced, and one that was only restarted
 *        is back. SOURCE Kueue, TASFailedNodeReplacement and its second pass.
 */
#ifndef CORE_LOST_H
#define CORE_LOST_H
#include "core/cycle.h"

#define LOST_WAIT_MS 1000
#define LOST_NODES 8 /* LIMIT  so many are named; one is replaced, several end the gang */

struct lost {
    name_id nodes[LOST_NODES];
    uint32_t nodes_n;
    int32_t *of_set;   /* by set: members that stood there and have no other place; in the arena; NULL: nothing is lost */
};
/* Only of gangs that the API calls admitted, whose sets were told nodes. Held places are good ones by now. */
struct lost lost_find(struct cycle *c, const struct gang *g);
/* The pod that owns its Workload exists, or comes back nowhere: no place is looked for in its stead. */
static inline bool lost_for_good(const struct gang *g)
{
    return g->of_one_pod && g->api_admitted && !g->reserved_only;
}
/* A pod that is going, and whose node has failed for it: its successor stands elsewhere. */
bool lost_is_given_up(const struct state *s, const struct gang *g, const struct pod *p);
/* What the object says of it follows; from here on the wait counts. */
void lost_note(struct cycle *c, struct gang *g, const struct lost *lost);
bool lost_is_due(const struct cycle *c, const struct gang *g);
/* It looks again when its time has come, or, when nobody may be let in then, a little later. */
void lost_wait(struct cycle *c, struct gang *g);
/* An EVICT's reason in the arena. */
const struct reason *lost_why_evict(struct cycle *c, const struct lost *lost);

#endif
