/* hypernodes.h - Volcano's HyperNodes as a topology: which nodes each of them has, one level a tier
 *
 * SHAPE  a HyperNode has the nodes that its members of type Node select and those of the HyperNodes that it names, of lower tiers. In each
 *        tier a node counts for one HyperNode, the first by name, and only together with all others of its HyperNode in any lower tier:
 *        so they make a tree. What is wrong with one is said of that one, and the rest counts.
 * LIMIT  TOPOLOGY_LEVELS tiers, the lowest.
 * ORDER  (tier, name).
 */
#ifndef SCHED_HYPERNODES_H
#define SCHED_HYPERNODES_H
#include "codec/decode/decode.h"
#include "core/state/state.h"

#define HYPERNODES_TOPOLOGY "hypernodes.topology.volcano.sh" /* what the core knows it by */

struct hypernode {
    const char *name, *tier_name; /* tier_name "": none */
    int64_t tier;
    const struct json *members;
    int64_t count;           /* out. SOURCE Volcano's status.nodeCount: what its own members select, a HyperNode that they name as one */
    const char *reason, *problem; /* out: the first thing that is wrong with it, as a word and a sentence; NULL: nothing */
    uint32_t *nodes, nodes_n;
};
/* Sorts them and fills them in; the record, in the decoder's arena. Nodes are sorted by name. */
void hypernodes_build(const struct decoder *d, struct hypernode *all, uint32_t n, const struct node_look *nodes, uint32_t nodes_n,
                      struct topology_record *ret_topology);

#endif
