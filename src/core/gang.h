/* gang.h - all members onto nodes and devices, or none
 *
 * SHAPE  the caller lists what it wants placed; largest members go first (fewest choices), equal ones in the order given. All seats
 *        stand on the undo log, so the caller commits or takes back to its own mark.
 */
#ifndef CORE_GANG_H
#define CORE_GANG_H
#include "core/model.h"
#include "core/neighbour.h"

struct want {
    uint32_t shape, labels, pod_set, pod; /* pod 0: for a member to come */
    uint32_t seat;                        /* out */
};
/* Why placing stopped. */
struct misfit {
    uint32_t shape, labels, pod_set;
    uint32_t placed_n, wanted_n;
    bool neighbours;      /* filters on other pods had a part in it */
};
/* Place all; `charge` is the quota node charged per seat (0 = none). False: nothing is undone yet, ret_misfit says what stopped it. */
bool gang_place(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t charge, struct misfit *ret_misfit);

/* Shape with the node labels and tolerations of the flavors that `set` of the gang was given; the caller gets a reference. */
uint32_t gang_flavored_shape(struct state *s, uint32_t shape, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set);

/* Members to place, by (creation, key): unbound, ours, not gated, not ending. In the arena. */
uint32_t gang_loose_members(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods);
bool gang_member_is_loose(const struct state *s, uint32_t pod);

#endif
