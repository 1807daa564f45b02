/* gpus.h - what scores look at: the GPUs of a node, and what a pod asks of them
 *
 * UNIT   thousandths of a GPU.
 * LIMIT  NODE_GPUS of a node; further ones count as taken.
 */
#ifndef CORE_GPUS_H
#define CORE_GPUS_H
#include "core/state/model.h"

#define NODE_GPUS 64u
#define GPU_WHOLE 1000u
struct node_gpus {
    uint32_t n, all; /* all: what is left of them together */
    const uint16_t *left; /* of each; ORDER as in the ledger of the node's device table, where it has one */
    uint16_t own[NODE_GPUS]; /* where it has none, or something is tried */
};
struct gpu_ask {
    int64_t cpu;
    uint32_t n, each; /* of so many GPUs so much each: parts of one, or whole ones; n = 0: of none */
};
struct gpu_ask gpu_ask_of(const struct state *s, const struct shape_class *c);
/* Of a node without a ledger: the devices that c asks for; of none where it asks for none. */
int32_t node_gpus_counted(const struct state *s, const struct shape_class *c, uint32_t node, struct node_gpus *ret_gpus);
/* Returns the column of those that are only counted, -1 where there are none or the ledger has all. */
static inline int32_t node_gpus_of(const struct state *s, const struct shape_class *c, uint32_t node, struct node_gpus *ret_gpus)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    if (!t->gpus)
        return node_gpus_counted(s, c, node, ret_gpus);
    ret_gpus->n = t->gpus_n < NODE_GPUS ? t->gpus_n : NODE_GPUS;
    ret_gpus->all = t->left_all;
    ret_gpus->left = t->left;
    return -1;
}
static inline bool gpu_ask_is_part(const struct gpu_ask *ask)
{
    return ask->n == 1 && ask->each < GPU_WHOLE;
}
uint16_t *node_gpus_own(struct node_gpus *g); /* what is left, to be written to */
/* Whole ones are taken from GPUs that have so much left; which of them makes no difference here. */
void node_gpus_take(struct node_gpus *g, const struct gpu_ask *ask);

#endif
