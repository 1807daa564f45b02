/* sim_node.c - see sim_node.h */
#include "sim/node/sim_node.h"
#include <stdlib.h>
#include "agent/inventory/slot_id.h"
#include "base/collections/map.h"
#include "sim/driver/driver_model.h"
#include "sim/node/mig_memory.h"
#include "sim/node/node_fault.h"
#include "sim/node/node_status.h"

#define WHOLE_GPU 0xffffffffu

struct sim_node {
    struct sim_node_config told;
    char *name;
    struct agent_feed feed;
    struct driver *driver; /* the agent's */
    struct agent *agent;
    struct node_status *status;
    struct sim_node_watcher watcher; /* functions NULL: nobody */
    char *fault; /* NULL: none */
    bool listed; /* the driver lists who had slots, of which this is a hash */
    uint64_t owners;
};

struct agent *sim_node_agent(const struct sim_node *n)
{
    return n->agent;
}

bool sim_node_ready(const struct sim_node *n)
{
    return agent_table(n->agent) != NULL;
}

void sim_node_watch(struct sim_node *n, const struct sim_node_watcher *w)
{
    n->watcher = w ? *w : (struct sim_node_watcher){0};
}

/* ---- what the agent asks for ---- */

static int config(void *arg, const char *label, struct agent_config_map *ret_map, struct err *e)
{
    const struct sim_node *n = arg;
    return config_maps_choose(n->told.maps, n->told.kind, label, ret_map, e);
}

static const char *layouts(void *arg, const char *layout)
{
    const struct sim_node *n = arg;
    return config_maps_layouts(n->told.maps, layout);
}

static const char *layout_preset(void *arg)
{
    const struct sim_node *n = arg;
    return n->told.kind->model.mig_slices > 0 ? config_maps_layout_preset(n->told.maps) : NULL;
}

static const char *pod_uid(void *arg, const char *ns, const char *name)
{
    const struct sim_node *n = arg;
    return n->told.pod_uid(n->told.arg, ns, name);
}

/* Who runs where, as the driver would know it: one process for each slot that is held. */
static uint32_t processes(void *arg, struct driver_process **ret_list)
{
    const struct sim_node *node = arg;
    const struct inventory_snapshot *s = inventory_now(agent_inventory(node->agent));
    struct driver_process *list = mem_zero(s->owners_n + 1, sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->owners_n; i++) {
        const struct slot_owner *o = &s->owners[i];
        char unit[48];
        slot_unit_part(o->slot, unit);
        const struct unit *u = inventory_snapshot_unit(s, unit);
        uint64_t pod = hash_bytes(o->pod, strlen(o->pod), hash_bytes(o->ns, strlen(o->ns), 0));
        if (u)
            list[n++] = (struct driver_process){.pid = 100000 + (uint32_t)(pod % 900000),
                                                .gpu = u->gpu->index,
                                                .gi = u->mig ? u->mig->gi : WHOLE_GPU,
                                                .ci = u->mig ? u->mig->ci : WHOLE_GPU,
                                                .memory_bytes = 1ULL << 30};
    }
    *ret_list = list;
    return n;
}

static uint64_t owners_hash(const struct inventory_snapshot *s)
{
    uint64_t h = s->owners_n;
    for (uint32_t i = 0; i < s->owners_n; i++)
        h = hash_bytes(s->owners[i].slot, strlen(s->owners[i].slot), h);
    return h;
}

static void tell_driver(void *arg)
{
    struct sim_node *node = arg;
    struct driver_process *list;
    uint32_t n = processes(arg, &list);
    driver_model_set_processes(node->driver, list, n);
    free(list);
    node->listed = n > 0;
    node->owners = owners_hash(inventory_now(agent_inventory(node->agent)));
}

/* ---- what the agent tells ---- */

static void on_resources(void *arg, const struct resource_table *t)
{
    struct sim_node *n = arg;
    (void)t;
    node_status_ask(n->status);
    n->told.changed(n->told.arg, n->name);
}

static void on_event(void *arg, const struct driver_event *event)
{
    const struct sim_node *n = arg;
    if (n->watcher.event)
        n->watcher.event(n->watcher.arg, event);
}

/* A layout may wait for those who have gone, and has not come yet to the GPU of those who came; or it failed because of them. */
static void on_inventory(void *arg, const struct inventory_snapshot *s)
{
    struct sim_node *n = arg;
    if ((!n->listed && !agent_mig_changes(n->agent)) || owners_hash(s) == n->owners)
        return;
    tell_driver(n);
    agent_fed_processes(n->agent);
}

/* ---- what is told to it ---- */

void sim_node_seen(struct sim_node *n, const struct json *node)
{
    agent_fed_node(n->agent, node);
    if (sim_node_ready(n) && json_get(node, "status"))
        node_status_seen(n->status, node);
}

void sim_node_configs(struct sim_node *n)
{
    bool off = config_maps_plugin_off(n->told.maps);
    if (off != n->feed.off)
        node_status_ask(n->status);
    n->feed.off = off;
    agent_fed_configs(n->agent);
}

int sim_node_fault(struct sim_node *n, const char *text, struct err *e)
{
    if (text_equal(n->fault, text))
        return 0;
    const struct node_shape *shape = &n->told.kind->shape;
    if (text) {
        int r = node_fault_happen(n->driver, (uint32_t)shape->gpus_n, text, n->fault, e);
        if (r < 0)
            return r;
    } else {
        agent_fed_repaired(n->agent, "the simulated faults are gone: every GPU works");
        for (uint32_t i = 0; i < (uint32_t)shape->gpus_n; i++)
            driver_model_event(n->driver, i, WHOLE_GPU, WHOLE_GPU, DRIVER_EVENT_BACK, 0);
    }
    free(n->fault);
    n->fault = mem_text(text);
    return 0;
}

/* ---- life ---- */

/* Labels of the shape that are among those of an agent stand above its own. */
static void set_labels(struct agent_feed *feed, const struct node_kind *kind, struct label_pair *list)
{
    const struct node_shape *s = &kind->shape;
    for (uint32_t i = 0; i < s->labels_n; i++)
        if (labels_owns(s->labels[i].key))
            list[feed->labels_n++] = (struct label_pair){s->labels[i].key, s->labels[i].value};
    feed->labels = list;
}

/* Instances of before, or as the shape says. */
static void restore(const struct sim_node *n)
{
    const struct node_kind *kind = n->told.kind;
    struct err e = {0};
    _cleanup_buf_ struct buf split = {0};
    uint32_t gpus_n = (uint32_t)kind->shape.gpus_n;
    const struct kube_object_ref about = {"v1", "Node", "", n->name, n->name};
    if (n->told.mig && *n->told.mig && mig_memory_restore(n->driver, &kind->model, gpus_n, n->told.mig, &e) == 0)
        return;
    if (e.code)
        kube_event(n->told.recorder, &about, "Warning", "MIGConfigFailed", "%s", e.text);
    node_kind_split(kind, n->name, &split);
    if (split.n)
        (void)mig_memory_restore(n->driver, &kind->model, gpus_n, split.data, NULL); /* just written */
}

struct sim_node *sim_node_new(const struct sim_node_config *c)
{
    struct sim_node *n = mem_zero(1, sizeof *n);
    struct loop *l = kube_client_loop(c->client);
    struct label_pair labels[SHAPE_EXTRAS_MAX];
    n->told = *c;
    n->name = mem_text(c->name);
    n->driver = driver_model_new(l, &c->kind->model, (uint32_t)c->kind->shape.gpus_n, n->name);
    restore(n);
    n->told.mig = NULL;
    n->feed = (struct agent_feed){.machine_type = SIM_MACHINE_TYPE,
                                  .recorder = c->recorder,
                                  .configs = c->configs,
                                  .off = config_maps_plugin_off(c->maps),
                                  .config = config,
                                  .layouts = layouts,
                                  .layout_preset = layout_preset,
                                  .pod_uid = pod_uid,
                                  .processes = processes,
                                  .driver_changes = tell_driver,
                                  .arg = n};
    set_labels(&n->feed, c->kind, labels);
    const struct agent_options o = {
        .node_name = n->name, .mig_busy = c->mig_evicts ? MIG_BUSY_EVICT : MIG_BUSY_REFUSE, .feed = &n->feed};
    (void)agent_new(l, n->driver, c->client, &o, &n->agent, NULL); /* without a directory nothing can fail */
    n->feed.labels_n = 0; /* they were copied */
    n->status = node_status_new(c->client, n->agent, n->name, &n->feed.off, c->kind->layout.entries_n > 0);
    inventory_listen(agent_inventory(n->agent), on_inventory, n);
    agent_observe(n->agent, &(struct agent_observer){on_resources, on_event, n});
    return n;
}

void sim_node_free(struct sim_node *n)
{
    if (!n)
        return;
    if (n->watcher.freed)
        n->watcher.freed(n->watcher.arg);
    node_status_free(n->status);
    agent_free(n->agent);
    free(n->fault);
    free(n->name);
    free(n);
}

/* ---- before it starts ---- */

static int own_config(void *arg, const char *label, struct agent_config_map *ret_map, struct err *e)
{
    return config_maps_choose(NULL, arg, label, ret_map, e);
}

/* WHY  everything about GPUs is answered in a loop's turn: a loop in virtual time of our own runs until the agent has read them. */
void sim_node_describe(const struct node_kind *kind, const char *name, int64_t wall_ms, struct arena *m, struct json *node)
{
    struct loop *l = loop_new_virtual(wall_ms);
    struct agent *a = NULL;
    struct driver *driver = driver_model_new(l, &kind->model, (uint32_t)kind->shape.gpus_n, name);
    const struct agent_feed feed = {.machine_type = SIM_MACHINE_TYPE, .configs = kind->configs, .config = own_config, .arg = (void *)kind};
    const struct agent_options o = {.node_name = name, .feed = &feed};
    _cleanup_buf_ struct buf split = {0};
    node_kind_split(kind, name, &split);
    if (split.n)
        (void)mig_memory_restore(driver, &kind->model, (uint32_t)kind->shape.gpus_n, split.data, NULL); /* just written */
    (void)agent_new(l, driver, NULL, &o, &a, NULL); /* without a directory nothing can fail */
    agent_fed_node(a, node);
    (void)loop_run(l, NULL); /* in virtual time it ends when nothing is left to do */
    if (agent_table(a)) {
        agent_fed_describe(a, m, node);
        node_status_describe(a, kind->layout.entries_n > 0, m, node);
    }
    agent_free(a);
    loop_free(l);
}
