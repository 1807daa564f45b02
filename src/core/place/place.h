/* place.h - all members onto nodes and devices, or none
 *
 * SHAPE  equal members are one kind. The kind that the fewest nodes can take goes first, among those the largest; each member goes to the
 *        best node. When a later kind then finds no place, a search begins anew with nodes that the other kinds need least and goes back
 *        on itself: exact for up to PLACE_KINDS kinds within PLACE_STEPS steps, and `gave_up` says when it was not.
 *        All seats stand on the undo log, so the caller keeps them or takes them back to its own mark.
 */
#ifndef CORE_PLACE_H
#define CORE_PLACE_H
#include "core/place/domain.h"
#include "core/rules/neighbour.h"
#include "core/state/model.h"

#define PLACE_KINDS 8     /* kinds of members that a search tells apart; people write two or three */
#define PLACE_STEPS 8192u /* seats that the searches for one gang may try in one cycle: a few milliseconds */

struct want {
    uint32_t shape, labels, pod_set, pod; /* pod 0: for a member to come */
    uint32_t topology;                    /* of its flavor (domain_topology) */
    uint32_t seat;                        /* out */
};
/* Why placing stopped. */
struct misfit {
    uint32_t shape, labels, pod_set;
    uint32_t placed_n, wanted_n;
    bool alone;           /* there is no room for so many of the pod set even if no other stood anywhere */
    bool neighbours;      /* filters on other pods had a part in it */
    bool mixed;           /* some have domains: where these are chosen decides what is left for the others */
    bool arrangement;     /* each kind finds its places alone, all of them together do not */
    struct domain_misfit domains; /* domains.topology: it was about those */
    bool gave_up;         /* a bound was hit: there may be a way that was not found */
    bool many_kinds;      /* that bound is PLACE_KINDS: one arrangement was tried */
};
/* Place all. False: seats that were taken before it stopped still stand, and ret_misfit says what stopped it. `steps` (NULL: one attempt,
 * no search) is what is left for searches and is counted down. */
bool place_all(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit);
/* The same, on these nodes only (NULL: on all), whatever domains are asked for. */
struct area {
    const uint32_t *nodes;
    uint32_t n;
};
bool place_in_area(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct area *area, uint32_t *steps,
                   struct misfit *ret_misfit);
/* Place as many as find a place, in the same order; wants without a place have seat 0. Returns how many were placed; *ret_neighbours is
 * true where filters on other pods kept one of the others away. */
uint32_t place_some(struct state *s, struct gang *g, struct want *wants, uint32_t n, bool *ret_neighbours);

#endif
