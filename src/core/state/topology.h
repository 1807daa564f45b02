/* topology.h - nodes by the values of some of their labels, or by rows that say it: a tree of domains
 *
 * SHAPE  domains[0] is the whole; then level by level from the widest, those of a level by their path, so that the children of a domain lie
 *        side by side, and so do the nodes of a leaf. A node without one of the labels is in no domain.
 *
 *            block        b1            b2          domains[1..2]
 *            rack       r1   r2         r1          domains[3..5]: the leaves
 *            nodes     x y   z        u v w         nodes[0..5]
 *
 *        With tiers every node is in the tree: where it is in no domain of a level, it is with all others of which that is so in one
 *        without a value, which holds the tree together and is nothing that anybody asks for.
 *        The tree is made when it is asked for and the labels of some node have changed since; `built` tells one tree from another.
 * ORDER  values by their text; nodes of a leaf by name.
 * LIMIT  TOPOLOGY_LEVELS.
 */
#ifndef CORE_TOPOLOGY_H
#define CORE_TOPOLOGY_H
#include "core/flow.h"
#include "core/state/id_map.h"

#define TOPOLOGY_NODE_LABEL "kubernetes.io/hostname" /* as the lowest level: a domain is a node */

struct domain {
    uint32_t parent;
    uint32_t first, n;       /* its children; of a leaf: its nodes in topology.nodes */
    name_id value;
};
/* What a search counts of one domain (place/domain.c). */
struct domain_room {
    int64_t pods, slices;    /* that find a place there */
    int64_t pods_beside, slices_beside; /* when the leader of the group stands there, too */
    int32_t leaders;
    int64_t wished;          /* what preferred node affinity finds of its nodes, the sum */
    uint64_t search;         /* the search that this is of */
};
struct topology {
    name_id name;            /* 0: a free slot */
    bool known, by_node;
    name_id levels[TOPOLOGY_LEVELS];
    uint32_t levels_n;
    bool has_tiers;
    int64_t tiers[TOPOLOGY_LEVELS]; /* as in topology_record */
    struct id_map row_of;    /* by node name: row + 1 */
    name_id *row_nodes, *row_domains; /* levels_n a row */
    uint32_t rows_n;
    uint64_t built;          /* 0: there is no tree */
    uint64_t labels_seq;     /* of the node table, when it was made */
    struct domain *domains;
    uint32_t domains_n;
    uint32_t level_first[TOPOLOGY_LEVELS + 2]; /* domains of level l: level_first[l] .. level_first[l + 1] */
    uint32_t *nodes;         /* slots */
    uint32_t *leaf_of;       /* by node slot; 0: in no domain */
    uint32_t slots_n;
    struct id_map leaf_by_name;
    name_id *leaf_names;     /* by domain - level_first[levels_n - 1] */
    struct domain_room *rooms; /* scratch, by domain */
    uint32_t *lists;         /* scratch: two lists of domains */
};

struct state;
/* True: it has, or had, tiers: those who wait for other domains look at the tree anew. */
bool topology_apply(struct state *s, const struct topology_record *r);
bool topology_gone(struct state *s, name_id name);
uint32_t topology_find(const struct state *s, name_id name); /* its slot; 0: there is none */
uint32_t topology_with_tiers(const struct state *s); /* the slot of the one that has them; 0: there is none */
struct topology *topology_sync(struct state *s, uint32_t slot); /* with its tree */
int32_t topology_level(const struct topology *t, name_id level); /* -1: it has none such */
void topology_free(struct topology *t);

static inline uint32_t topology_leaf(const struct topology *t, uint32_t node)
{
    return node < t->slots_n ? t->leaf_of[node] : 0;
}
static inline uint32_t topology_first_leaf(const struct topology *t)
{
    return t->level_first[t->levels_n - 1];
}
static inline name_id topology_leaf_name(const struct topology *t, uint32_t leaf)
{
    return t->leaf_names[leaf - topology_first_leaf(t)];
}
struct topology_request *topology_request_copy(const struct topology_request *r); /* the caller's; NULL where it asks for nothing */
bool topology_request_same(const struct topology_request *a, const struct topology_request *b);

#endif
