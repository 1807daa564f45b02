/* node_devices.h - the devices of one simulated node: the agent's own driver model, inventory, configuration and resource table
 *
 *     shape ─▶ driver_model ─▶ inventory ─▶ resource table, labels, devices annotation       (the same projections as on a real node)
 *                  ▲ MIG            ▲ health       ▲ config            │
 *        mig_apply ┘        faults ─┘              └ ConfigMap         └─▶ who holds which slot: the truth that podresources would tell
 *
 * ORDER  everything is answered in the loop's turns; `changed` comes when the projections may differ from before.
 * OWNER  who has which slot stands in the inventory, as podresources would tell it; what an earlier sharing still holds is closed by the
 *        agent's own guard (agent/plugin/resource_guard.h).
 */
#ifndef SIM_NODE_DEVICES_H
#define SIM_NODE_DEVICES_H
#include "agent/inventory/resource.h"
#include "agent/mig/mig_blocker.h"
#include "agent/mig/mig_config.h"
#include "agent/node/labels.h"
#include "sim/node/shape.h"

/* What nodes of one shape have in common. Does not move: parts of it point at each other. */
struct node_kind {
    struct node_shape shape;
    struct gpu_model model;
    struct agent_config config; /* what the shape itself asks for: mps=, replicas= */
    struct sharing_resource sharing[2];
    char mig_resource[48];
    struct mig_config_wish wish;
    struct mig_config_entry entry;
    struct mig_layout layout; /* mig=; entries_n 0: none */
};
void node_kind_init(struct node_kind *k, const struct node_shape *s);

struct node_devices;
struct node_devices_config {
    const struct node_kind *kind; /* kept by reference */
    const char *node_name;
    const char *mig; /* the instances that it had (sim/node/mig_memory.h), instead of what the shape says; NULL none */
    void (*changed)(void *arg);
    /* Ask that these leave, as mig_apply_config has it. NULL: layouts that need units in use are refused. */
    void (*evict)(void *arg, const struct mig_blockers *in_the_way, driver_done_fn done, void *done_arg);
    void (*said)(void *arg, bool warning, const char *reason, const char *text); /* for an event on the node; may be NULL */
    void *arg;
};
struct node_devices *node_devices_new(struct loop *l, const struct node_devices_config *config);
void node_devices_free(struct node_devices *d); /* NULL-safe */
/* Who measures it: one. */
struct node_devices_watcher {
    void (*freed)(void *arg); /* the devices are about to be freed */
    void (*event)(void *arg, const struct driver_event *event);
    void *arg;
};
void node_devices_watch(struct node_devices *d, const struct node_devices_watcher *w); /* copied; NULL: nobody any more */
bool node_devices_ready(const struct node_devices *d); /* read, and split as the shape says */

/* `c` is kept by reference until the next call that succeeds; NULL = the shape's own. On an error what was before stays. */
int node_devices_configure(struct node_devices *d, const struct agent_config *c, struct err *e);
/* One at a time; fn in a later turn. The layout is kept by reference until then. GPUs in use are left as they are and say so, or their pods
 * are evicted. */
typedef void (*node_devices_mig_fn)(void *arg, int code, const char *text);
int node_devices_apply(struct node_devices *d, const struct mig_layout *layout, node_devices_mig_fn fn, void *arg, struct err *e);
/* A layout is under way: the driver's processes are then who holds slots, and nobody else sets them. */
bool node_devices_applying(const struct node_devices *d);
/* Once true after a layout failed on instances in use and these are free now (`changed` is called): apply it again. */
bool node_devices_mig_again(struct node_devices *d);
/* "xid=79,gpu=3" or "lost,gpu=0" or "ecc,gpu=1,gi=7,ci=0"; several with ';'. "" = everything works again. Faults that are there already
 * do not happen again. */
int node_devices_fault(struct node_devices *d, const char *text, struct err *e);

/* The projections, as of now. Only when ready. */
const struct inventory_snapshot *node_devices_snapshot(const struct node_devices *d);
struct driver *node_devices_driver(const struct node_devices *d);             /* its own; for who measures it */
const struct inventory *node_devices_inventory(const struct node_devices *d); /* likewise */
const struct agent_config *node_devices_agent_config(const struct node_devices *d);
const struct resource_table *node_devices_table(const struct node_devices *d);
void node_devices_labels(const struct node_devices *d, struct arena *a, struct label_pair **ret_labels, uint32_t *ret_n);
void node_devices_text(const struct node_devices *d, struct buf *out); /* annotation capstan.dev/devices */
void node_devices_mig_text(const struct node_devices *d, struct buf *out); /* for node_devices_config.mig of the next start; may be "" */

struct node_pod { const char *ns, *name; };
/* n slots of a resource for `pod`: those chosen (annotation of the scheduler) where they can be had, else as GetPreferredAllocation says.
 * Returns 1: as chosen, or nothing was chosen; 0: others than chosen; -E_NOTFOUND: no such resource here; -E_DENIED with the kubelet's
 * text: not so many free. The slots stand in `a`. */
int node_devices_take(struct node_devices *d, const struct node_pod *pod, const char *resource, uint32_t n, const char *const *chosen,
                      uint32_t chosen_n, struct arena *a, const char ***ret_slots, struct err *e);
/* May one container ask for so many? -E_DENIED with the text of the device plugin. Whatever it was given before: Allocate is asked for
 * all. */
int node_devices_allows(const struct node_devices *d, const char *resource, uint32_t n, struct err *e);
/* Slots that a pod had before this program started: theirs, whatever the table says now. */
void node_devices_hold(struct node_devices *d, const struct node_pod *pod, const char *resource, const char *const *slots, uint32_t n);
void node_devices_release(struct node_devices *d, const struct node_pod *pod);
bool node_devices_healthy(const struct node_devices *d, const char *resource, const char *slot);

#endif
