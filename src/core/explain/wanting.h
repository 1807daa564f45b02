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
uint64_t wanting_seq(const struct state *s); /* is another one when anything of any node is, or who stands there */
bool wanting_offered(const struct state *s, name_id node, name_id resource); /* the node is ready, and has some */

/* Pods of one gang that are alike and have no place: with what quota it needs it waits for nodes, or it needs none. */
struct wanting_pods {
    name_id pod_set;
    uint32_t shape_id;       /* for wanting_holds, while wanting_each goes on */
    const struct shape *shape; /* with what the flavors add that it was given; the same */
    int32_t pods_n;          /* so many of them need a place, if the gang is to start, or to be whole again */
};
typedef void wanting_pods_fn(void *arg, const struct wanting_pods *pods);
/* Of a gang that is in line for quota: none. */
void wanting_each(struct state *s, name_id gang, wanting_pods_fn *fn, void *arg);
/* So many of the shape find a place as nodes are now, others of the gang aside; counted up to `most`. */
int64_t wanting_holds(const struct state *s, uint32_t shape_id, int64_t most);
/* The same on nodes that have this label. */
int64_t wanting_holds_where(const struct state *s, uint32_t shape_id, const struct label *label, int64_t most);

#endif
