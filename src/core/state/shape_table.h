/* shape_table.h - equal demands are one number
 *
 * SHAPE  a shape class is the demand without the pod's own labels and namespace; those are a label set of their own, since many pods that
 *        differ only in labels can share one cached answer. Both are found by the hash of their words and compared word by word.
 * OWNER  classes and label sets are counted: *_ref by whoever stores the id, *_unref frees at zero. Id 0 = none.
 */
#ifndef CORE_SHAPE_TABLE_H
#define CORE_SHAPE_TABLE_H
#include "core/state/node_table.h"

struct demand {           /* one resource of a shape */
    int32_t column;       /* -1: no node has had it so far */
    name_id resource;
    bool extended;        /* nodes may have devices of it, by name */
    int64_t value;
};
/* What a pod that stands on a node takes of it. LIMIT 2^52, more than any node has: others may have bound pods there that ask for all that
 * a number can say, and the sum of 2,000 of them still is one. */
static inline int64_t demand_taken(const struct demand *d)
{
    const int64_t most = (int64_t)1 << 52;
    return d->value < most ? d->value : most;
}
struct shape_class {
    uint32_t refs, words_n;
    uint64_t hash;
    uint64_t *words;      /* canonical form: the key */
    struct shape shape;   /* labels and ns empty */
    struct demand *demands; /* what a node must have free; "pods" = 1 first */
    uint32_t demands_n;
    struct gpu_share share; /* what it asks of GPUs that are given in parts */
    uint32_t extended_n;    /* demands for extended resources */
    uint32_t absent_n;      /* for resources that no node has had yet */
    int32_t device_demand;  /* index into demands of the scarcest kind (the extended resource that is first by name), -1: none */
    bool anti, neighbours;  /* has required anti-affinity; has any required affinity or spread */
    bool neighbour_wishes;  /* has preferred ones */
    uint32_t view;          /* view_table slot + 1, 0 = none */
    uint32_t next;          /* hash chain */
    bool helped;            /* could a node that gained room hold one more? As it stood then: in which cycle, and after what of nodes.seq */
    uint64_t helped_cycle, helped_seq;
    void *block;
};
struct label_set {
    uint32_t refs, words_n, next;
    uint64_t hash;
    uint64_t *words;
    name_id ns;
    struct label_list labels;
};
struct shape_table {
    struct shape_class *classes;
    struct label_set *sets;
    uint32_t classes_n, classes_cap, sets_n, sets_cap;
    uint32_t class_hole, set_hole;  /* free lists through next */
    uint32_t *class_buckets, *set_buckets;
    uint32_t class_buckets_n, set_buckets_n, classes_live_n, sets_live_n;
    uint64_t *scratch;
    size_t scratch_n, scratch_cap;
};
void shape_table_init(struct shape_table *t);
void shape_table_fini(struct shape_table *t);
/* Find or make; the caller gets one reference. */
uint32_t shape_class_id(struct shape_table *t, struct node_table *nodes, const struct shape *shape, const struct intern *names);
void shape_class_ref(struct shape_table *t, uint32_t id);
bool shape_class_unref(struct shape_table *t, uint32_t id); /* true: it is gone */
uint32_t label_set_id(struct shape_table *t, name_id ns, const struct label *labels, uint32_t labels_n);
void label_set_ref(struct shape_table *t, uint32_t id);
void label_set_unref(struct shape_table *t, uint32_t id);

#endif
