/* node_gpus.h - the GPUs of all simulated nodes: what is asked of each (labels, ConfigMaps, faults), and what its Node object says
 *
 *     Node: nvidia.com/device-plugin.config, nvidia.com/mig.config, capstan.dev/simulate-fault ─┐
 *     ConfigMaps of namespace gpu-operator ─▶ gpu_configs ──────────────────────────────────────┴▶ settle ─▶ node_devices ─▶ publish
 *
 * A node that nothing is asked of is a name and a shape; its devices are made when a pod needs them or something is asked. publish reads
 * the object and writes only what differs: labels and annotation by one patch, capacity, allocatable and conditions by another.
 */
#ifndef SIM_NODE_GPUS_H
#define SIM_NODE_GPUS_H
#include "kube/event.h"
#include "sim/node/node_devices.h"

struct node_gpus;
struct node_gpus_config {
    void (*changed)(void *arg,
                    const char *node); /* the devices of this node may be others now (or can be asked for now); NULL: all nodes */
    bool mig_evicts; /* layouts that need units in use evict their pods */
    /* The uid of a pod that is there and runs; NULL: none. */
    const char *(*uid_of)(void *arg, const char *ns, const char *name);
    void *arg;
};
struct node_gpus *node_gpus_new(struct kube_client *c, struct kube_recorder *events, const struct node_gpus_config *config);
void node_gpus_free(struct node_gpus *g); /* NULL-safe */
void node_gpus_seen(struct node_gpus *g, const struct json *node); /* a simulated node was added or modified */
void node_gpus_gone(struct node_gpus *g, const char *node);
/* NULL: this node has no simulated GPUs, or (*ret_wait) they are not ready yet: `changed` says when. */
struct node_devices *node_gpus_devices(struct node_gpus *g, const char *node, bool *ret_wait);

#endif
