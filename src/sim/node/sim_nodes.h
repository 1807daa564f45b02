/* sim_nodes.h - the GPUs of all simulated nodes: an agent for each of which something is asked
 *
 *     Node: nvidia.com/device-plugin.config, nvidia.com/mig.config, capstan.dev/simulate-fault ─┐
 *     ConfigMaps of namespace gpu-operator ─▶ config_maps ─────────────────────────────────────┴▶ sim_node
 *
 * A node that nothing is asked of is a name and a shape; its agent is made when a pod needs devices or something is asked.
 */
#ifndef SIM_NODES_H
#define SIM_NODES_H
#include "sim/node/sim_node.h"

struct sim_nodes;
struct sim_nodes_config {
    /* The devices of this node may be others now (or can be asked for now); NULL: all nodes. */
    void (*changed)(void *arg, const char *node);
    bool mig_evicts; /* layouts that need units in use evict their pods */
    /* The uid of a pod that is there and runs; NULL: none. */
    const char *(*pod_uid)(void *arg, const char *ns, const char *name);
    void *arg;
};
struct sim_nodes *sim_nodes_new(struct kube_client *c, struct kube_recorder *events, const struct sim_nodes_config *config);
void sim_nodes_free(struct sim_nodes *g); /* NULL-safe */
void sim_nodes_seen(struct sim_nodes *g, const struct json *node); /* a simulated node was added or modified */
void sim_nodes_gone(struct sim_nodes *g, const char *node);
/* NULL: this node has no simulated GPUs, or (*ret_wait) they are not ready yet: `changed` says when. */
struct sim_node *sim_nodes_get(struct sim_nodes *g, const char *node, bool *ret_wait);

#endif
