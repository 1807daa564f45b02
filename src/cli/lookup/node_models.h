/* node_models.h - nodes with accelerators summed up by model: how many are free, on how many nodes at once, and whose quota they are
 *
 *   each node and resource ──add──▶ (model, resource) ──each──▶ one line
 */
#ifndef CLI_LOOKUP_NODE_MODELS_H
#define CLI_LOOKUP_NODE_MODELS_H
#include "wire/json.h"

struct node_model {
    const char *product, *resource; /* product NULL: the node does not say */
    int64_t nodes_n, usable_nodes_n; /* usable: Ready and not cordoned. All that follows counts these alone, but total_n and used_n */
    int64_t total_n, used_n, free_n;
    int64_t empty_nodes_n;           /* nobody has any of this resource */
    int64_t most_free_n;             /* on one node */
    struct json *queues;             /* ClusterQueues with quota in a flavor that selects one of these nodes, as keys */
    struct node_model *next;
};

struct node_models {
    struct arena *arena;
    const struct json *flavors, *cluster_queues; /* items of both; NULL: there are none */
    struct node_model *first, **last;            /* ORDER as first added */
};

void node_models_init(struct node_models *m, struct arena *a, const struct json *flavors, const struct json *cluster_queues);
void node_models_add(struct node_models *m, const struct json *node, const char *resource, int64_t total_n, int64_t used_n);

/* Has the node all nodeLabels of the ResourceFlavor? */
bool node_models_selects(const struct json *flavor, const struct json *node);
/* In spec.resourceGroups of a ClusterQueue or Cohort: what has nominalQuota and its like of this flavor and resource. NULL: it has none. */
struct json *node_models_quota(const struct json *queue, const char *flavor, const char *resource);

#endif
