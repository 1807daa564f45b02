/* reserve.h - nodes that stay whole for pods that ask for all GPUs of one
 *
 * WHY    where pods come and go, small ones take a GPU of each node that becomes idle, and hardly ever a whole one is left for those who
 *        ask for it. No score helps: there is no other place for the small ones then.
 * SHAPE  by GPUs of a node: how many nodes are kept, two thirds of those that such pods would fill if all of the cluster's GPUs were asked
 *        for as the targets ask; for pods that ask for more than half of what the largest node has, as others find their GPUs elsewhere.
 *        While no more than those are idle or have such a pod, smaller pods find no place on an idle one. One of whose cpu pods without
 *        GPUs have left less than any such pod asks for is of no use to them, and not kept. Two thirds: by Erlang's loss formula thirty
 *        servers, of forty-five that all who come would fill, are 95 % busy, no less than the rest of a full cluster; fewer are less,
 *        more are more busy.
 * LIMIT  looked at where a pod is placed alone or in order; the search for gangs of several kinds (place.c) keeps nothing.
 */
#ifndef CORE_RESERVE_H
#define CORE_RESERVE_H
#include "core/score/gpus.h"

struct reserve {
    uint64_t seq;           /* counted up to this journal position */
    uint32_t slots_n, kept_n[NODE_GPUS + 1], whole_n[NODE_GPUS + 1];
    uint8_t *whole_of;      /* by slot: its GPUs, while it is idle or has such a pod; 0 */
    bool counted;
};
void reserve_free(struct reserve *r);
/* Is the node kept from a pod of the shape? */
bool reserve_keeps(struct state *s, const struct shape_class *c, uint32_t node);

#endif
