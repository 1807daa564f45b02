/* domain.h - in which domains of a topology do so many pods stand?
 *
 * SHAPE  places are summed from the leaves up; then the level is found on which one domain holds all (preferred: going up, at last several
 *        domains; unconstrained: the lowest, several at once), and from there down each level takes as few domains as hold them: the one
 *        with most places first, and for what is left the one with the fewest that are enough. Unconstrained: fewest places first.
 *        Slices are counted instead of pods down to their level; below it each domain keeps what it was given.
 *        The leader of a group is one pod more, in a domain where the workers lose least by it.
 *        Preferred node affinity, where it counts, comes before places: the sum of the weights that the nodes of a domain have.
 * ORDER  (wished for, then places, then places of single pods, then the path). SOURCE Kueue, KEP 2724 and its profile Mixed.
 */
#ifndef CORE_DOMAIN_H
#define CORE_DOMAIN_H
#include "core/state/model.h"

struct domain_ask {
    uint32_t topology;
    const struct topology_request *request;
    uint32_t shape, pods_n;  /* of the workers, or all */
    uint32_t leader_shape;   /* 0: nobody leads */
    uint32_t within;         /* only in this domain; 0: anywhere */
    uint32_t rest_n;         /* more pods, which fill no slice: a single domain has to have places for them, too */
    enum placement by;       /* by which policy devices are chosen */
};
struct domain_share {
    uint32_t leaf, pods_n;
    bool leads;              /* the leader stands there, too */
};
struct domain_misfit {
    enum domain_trouble trouble;
    uint32_t topology;       /* slot; 0: the placement was not about domains */
    name_id level, other;
    int64_t have, want;      /* of slices, where is_sliced */
    bool is_sliced;
    uint32_t layers_n;       /* slices within slices: places of each layer in the best domain */
    name_id layers[TOPOLOGY_SLICES];
    int64_t layer_have[TOPOLOGY_SLICES], layer_want[TOPOLOGY_SLICES];
};
/* True: ret_shares (the caller frees it) has leaves by their path. What does not fill a slice is left out. */
bool domain_choose(struct state *s, const struct domain_ask *ask, struct domain_share **ret_shares, uint32_t *ret_n,
                   struct domain_misfit *ret_misfit);
/* How many pods of the shape the node holds once one of the shape `other`, for which it has room, stands there, too, on devices that are
 * chosen by that policy. */
uint32_t domain_room_beside(struct state *s, uint32_t shape, uint32_t other, uint32_t node, enum placement by);
/* The domain on a level that the leaf is in. */
uint32_t domain_above(const struct topology *t, uint32_t leaf, uint32_t level);

/* The topology of the flavors that the set was given: 0 = none; DOMAIN_SEVERAL. */
#define DOMAIN_SEVERAL UINT32_MAX
uint32_t domain_topology(const struct state *s, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set);

/* gang.told follows where its members stand and places are held. */
bool domain_note(struct state *s, struct gang *g); /* true: it is something else than before */
void domain_forget(struct gang *g);

#endif
