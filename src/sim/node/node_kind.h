/* node_kind.h - what nodes of one shape have in common: the GPU model, and what is asked of a node's agent before anybody asks */
#ifndef SIM_NODE_KIND_H
#define SIM_NODE_KIND_H
#include "agent/mig/mig_config.h"
#include "sim/node/shape.h"

struct config_cache; /* agent/config/loaded.h */
/* Does not move: parts of it point at each other. */
struct node_kind {
    struct node_shape shape;
    struct gpu_model model;
    char config[320]; /* replicas=, mps=: as a config file of the device plugin */
    struct config_cache *configs; /* of nodes that are described one after the other; NULL: each reads its own */
    struct mig_config_wish wish;
    struct mig_config_entry entry;
    struct mig_layout layout; /* mig=; entries_n 0: none */
};
void node_kind_init(struct node_kind *k, const struct node_shape *s);
/* The instances of a node as its shape says (sim/node/mig_memory.h): nothing where mig= is not given. */
void node_kind_split(const struct node_kind *k, const char *node_name, struct buf *out);

#endif
