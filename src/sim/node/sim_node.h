/* sim_node.h - the GPUs of one simulated node: an agent (agent/agent_feed.h) on the model driver
 *
 *     shape, instances of before ─▶ driver_model ◀─▶ struct agent ─▶ labels, annotation, conditions, events
 *     faults ──────────────────────────▲  ▲ processes    │  └─▶ node_status: capacity, allocatable
 *                                         └── owners ◀───┴─▶ device_manager: who gets which slot
 *
 * ORDER  everything is answered in the loop's turns; `changed` comes when what is offered is another.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H
#include "sim/node/config_maps.h"

#define SIM_MACHINE_TYPE "capstan-simulated" /* the product name of the machine */

struct sim_node;
struct sim_node_config { /* kept by reference, but for the texts */
    const struct node_kind *kind;
    const char *name;
    const char *mig; /* the instances that it had (sim/node/mig_memory.h); NULL: as the shape says */
    struct kube_client *client;
    struct kube_recorder *recorder;
    struct config_maps *maps;
    struct config_cache *configs;
    bool mig_evicts; /* layouts that need units in use evict their pods; else they are refused */
    const char *(*pod_uid)(void *arg, const char *ns, const char *name); /* of a pod that is here and runs; NULL: none */
    void (*changed)(void *arg, const char *node);
    void *arg;
};
struct sim_node *sim_node_new(const struct sim_node_config *config);
void sim_node_free(struct sim_node *n); /* NULL-safe */
struct agent *sim_node_agent(const struct sim_node *n);
bool sim_node_ready(const struct sim_node *n); /* something is offered */
void sim_node_seen(struct sim_node *n, const struct json *node); /* its object, or of that what is asked of the node */
void sim_node_configs(struct sim_node *n); /* ConfigMaps have changed */
/* node_fault.h. NULL: everything works again. Faults that are there already do not happen again. */
int sim_node_fault(struct sim_node *n, const char *text, struct err *e);

/* Who measures it: one. */
struct sim_node_watcher {
    void (*freed)(void *arg); /* the node is about to be freed */
    void (*event)(void *arg, const struct driver_event *event);
    void *arg;
};
void sim_node_watch(struct sim_node *n, const struct sim_node_watcher *w); /* copied; NULL: nobody any more */

/* Into the object of a node that has not started yet: all that its agent and its kubelet would write about its GPUs. */
void sim_node_describe(const struct node_kind *kind, const char *name, int64_t wall_ms, struct arena *m, struct json *node);

#endif
