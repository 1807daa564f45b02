/* reference.h - where pod sets stand in domains of a topology, found by counting everything anew for each question */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H
#include "../../unit/core/world.h"

enum { NODES = 12, LEVELS = 3, SETS = 2, NODE_PODS = 20, NODE_GPUS = 6, MOODS = 3 };
struct plain_node {
    bool known, ready, of_flavor;
    int value[LEVELS];         /* by level; -1: without the label */
    int cpu, gpu, mood;        /* mood: what pods may wish for */
};
struct ask {
    enum topology_mode mode;
    int level, count, cpu, gpu, layers_n, layer_level[2], layer_size[2];
    int wish[MOODS];           /* weights; 0: none */
    int milli;                 /* of one GPU, in a cluster that gives them in parts; 0: none */
    int rest;                  /* while it is placed: pods that fill no slice */
};
struct plain_gang {
    bool known, admitted, group, refused; /* refused: when it was tried last */
    int serial, sets_n;
    struct ask sets[SETS];
    int given[SETS][NODES];    /* pods of a set in a leaf, by its first node */
    int on[SETS][NODES];       /* on a node; where a leaf has several it may be another one of them: all pods ask for the same there */
};
struct cluster {
    struct plain_node nodes[NODES];
    int levels_n;
    bool wishes;               /* they count */
    bool in_parts;             /* each GPU is given whole, or in thousandths */
};
struct usage {
    int cpu[NODES], gpu[NODES], pods[NODES];
    int parts[NODES];            /* thousandths given as parts, also of GPUs that the node has no more */
    int taken[NODES][NODE_GPUS]; /* thousandths, where GPUs are given in parts */
};

/* By the values down to the level. */
int compare_paths(const struct cluster *m, int a, int b, int level);
/* Does it fit beside what is used? Then the gang says where, and it is used, too. */
bool reference_place(const struct cluster *m, struct usage *used, struct plain_gang *g);
/* A node that it stood on is no more: single pods of the set in its place, in the domain that the others of the set require. False: there
 * is none, and nothing is changed. */
bool reference_replace(const struct cluster *m, struct usage *used, struct plain_gang *g, int set, int lost);
/* Of GPUs of which so many thousandths are taken: the first that nobody has, or, of those with that many left, the one with the fewest. -1:
 * there is none. */
int reference_best_gpu(int gpus_n, const int taken[NODE_GPUS], int milli);

#endif
