/* core_order_places.h - where pods stand in domains of a topology, in plain numbers; the rule is that of ../domains/reference.h */
#ifndef TESTS_MODEL_CORE_ORDER_PLACES_H
#define TESTS_MODEL_CORE_ORDER_PLACES_H
#include <stdbool.h>
#include <stdint.h>

/* Of a node: CPU, GPUs, pods, and, in a world that gives GPUs in parts, thousandths that are given as parts of any of its GPUs, and
 * thousandths of each. */
enum {
    PLACES = 6, PLACE_LEVELS = 3, PLACE_GPUS = 6, PLACE_PODS = 20,
    PLACE_PARTS = 3, PLACE_FIRST_GPU = 4, PLACE_RES = PLACE_FIRST_GPU + PLACE_GPUS,
};
struct place {                 /* a node; in the order of their paths */
    int value[PLACE_LEVELS];   /* but of the lowest level, where each is a domain of its own */
    unsigned flavors;          /* a bit each, of those whose labels it has */
    int64_t has[PLACE_RES];
    enum { PLACE_GOOD, PLACE_NOT_READY, PLACE_CORDONED, PLACE_GONE } state;
};
struct places {
    struct place all[PLACES];
    int n, levels_n;
    bool in_parts;             /* a GPU is given whole, or in parts */
};
struct place_ask {             /* one pod set of a few flavors; mode, level: enum topology_mode, and of REQUIRED and PREFERRED where */
    int mode, level, count;
    unsigned flavors;
    int slices_n, slice_level[2], slice_size[2]; /* from the widest; n 0: single pods */
    int64_t each[PLACE_FIRST_GPU];
    int milli;                 /* each takes so many thousandths of one GPU; 0: none */
};
/* False: it cannot stand beside what is used. */
bool find_places(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *ask, int ret_on[PLACES]);
/* The same of two pod sets of a group, of the same flavors: they stand together. */
bool find_places_together(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *a, const struct place_ask *b,
                          int ret_a[PLACES], int ret_b[PLACES]);
/* Where a set stands once its pods on the node `lost` stand elsewhere, beside its others, which are used. */
bool find_places_instead(const struct places *p, int64_t used[PLACES][PLACE_RES], const struct place_ask *ask, const int on[PLACES],
                         int lost, int ret_on[PLACES]);
/* So many pods of the set take theirs of the GPUs of a node, as long as there are any: one that is whole with the lowest number, and a part
 * of the one of which least is left that is enough. What they take of each is added. */
void take_gpus(int64_t used[PLACE_RES], const int64_t has[PLACE_RES], const struct place_ask *ask, int pods, int16_t ret_taken[PLACE_GPUS]);

#endif
