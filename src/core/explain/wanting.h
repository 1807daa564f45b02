/* wanting.h - what those that wait ask of devices, and where they would stand if these were there: for whoever can make nodes offer others
 *
 * Only looks: no decision reads it, and it changes nothing.
 */
#ifndef CORE_WANTING_H
#define CORE_WANTING_H
#include "core/state/state.h"

struct wanting {             /* pods of a gang that are alike */
    name_id gang;
    uint32_t shape;          /* the core's; good until the next change */
    int32_t pods_n;
    const int64_t *asks;     /* of one pod, by kind; in the arena */
    bool lacks;              /* of one of the kinds nodes have too little, and so it waits */
};
/* Of gangs that wait for places and ask for any of these resources, by the order in which the state has them. In the arena. */
uint32_t wanting_find(const struct state *s, const name_id *kinds, uint32_t kinds_n, struct arena *a, struct wanting **ret_all);
/* So many pods of the shape would stand on the node, had it enough of these resources; neighbours are not looked at. */
uint32_t wanting_room(const struct state *s, uint32_t shape, const name_id *kinds, uint32_t kinds_n, name_id node);
/* How much of it is taken on the node, by whomever: more than its named devices that somebody has, where a pod came before their names. */
int64_t wanting_taken(const struct state *s, name_id resource, name_id node);

#endif
