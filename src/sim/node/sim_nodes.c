/* sim_nodes.c - what is asked of each node, and by which ConfigMaps */
#include "sim/node/sim_nodes.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "kube/watch.h"
#include "sim/node/node_object.h"
#include "sim/node/node_status.h"

#define FAULT_ANNOTATION "capstan.dev/simulate-fault"

struct known {
    char *name, *uid;
    const struct node_kind *kind;
    struct sim_node *node; /* NULL: not needed yet */
    char *asked[AGENT_ASKED_N], *fault; /* NULL: not there */
    char *mig_before; /* instances of an earlier run; used when the node is made */
    char *complaint;  /* the last error of a fault that was told */
};
struct sim_nodes {
    struct kube_client *client;
    struct loop *loop;
    struct kube_recorder *events;
    struct sim_nodes_config config;
    struct map *nodes; /* name -> struct known * */
    struct map *kinds; /* shape text -> struct node_kind * */
    struct config_maps *maps;
    struct config_cache *configs;
    struct kube_watch *watch;
    struct arena *arena; /* of watch events */
    bool settling;       /* every node will be looked at again in the next turn */
};

/* ---- when something is asked ---- */

static bool is_asked_something(const struct known *k, const struct sim_nodes *g)
{
    bool preset = k->kind->model.mig_slices > 0 && config_maps_layout_preset(g->maps);
    return k->asked[0] || k->asked[1] || k->fault || preset || config_maps_ask(g->maps);
}

/* Of a node that was not fed yet: what is asked of it. */
static void feed_first(const struct known *k)
{
    _cleanup_arena_ struct arena *m = arena_new();
    struct json *node = json_new(m, JSON_OBJECT);
    struct json *metadata = json_ensure_object(m, node, "metadata");
    for (size_t i = 0; i < AGENT_ASKED_N; i++)
        if (k->asked[i])
            agent_asked_set(metadata, i, k->asked[i], m);
    sim_node_seen(k->node, node);
}

static void ensure_node(struct sim_nodes *g, struct known *k)
{
    if (k->node)
        return;
    k->node = sim_node_new(&(struct sim_node_config){.kind = k->kind,
                                                     .name = k->name,
                                                     .mig = k->mig_before,
                                                     .client = g->client,
                                                     .recorder = g->events,
                                                     .maps = g->maps,
                                                     .configs = g->configs,
                                                     .mig_evicts = g->config.mig_evicts,
                                                     .pod_uid = g->config.pod_uid,
                                                     .changed = g->config.changed,
                                                     .arg = g->config.arg});
    feed_first(k);
}

/* The same complaint once, until something else happens. */
static void complain(struct sim_nodes *g, struct known *k, const struct err *e)
{
    const struct kube_object_ref about = {"v1", "Node", "", k->name, k->name};
    if (text_equal(k->complaint, e->text))
        return;
    free(k->complaint);
    k->complaint = mem_text(e->text);
    kube_event(g->events, &about, "Warning", "SimulatedFaultInvalid", "annotation " FAULT_ANNOTATION ": %s", e->text);
}

static void settle(struct sim_nodes *g, struct known *k)
{
    struct err e = {0};
    if (!kube_watch_synced(g->watch) || (!k->node && !is_asked_something(k, g)))
        return;
    ensure_node(g, k);
    if (sim_node_fault(k->node, k->fault, &e) < 0)
        complain(g, k, &e);
}

static void settle_all(void *arg)
{
    struct sim_nodes *g = arg;
    size_t at = 0;
    struct bytes key;
    g->settling = false;
    for (struct known **k; (k = map_next(g->nodes, &at, &key));) {
        if ((*k)->node)
            sim_node_configs((*k)->node);
        settle(g, *k);
    }
}

static void settle_soon(struct sim_nodes *g)
{
    if (!g->settling)
        loop_defer(g->loop, settle_all, g);
    g->settling = true;
}

/* ---- seeing ---- */

static void replace(char **text, const char *now, bool *changed)
{
    if (text_equal(*text, now))
        return;
    free(*text);
    *text = mem_text(now);
    *changed = true;
}

static const struct node_kind *kind_of(struct sim_nodes *g, const char *shape_text)
{
    struct node_kind **known = map_find_text(g->kinds, shape_text);
    if (known)
        return *known;
    struct node_shape shape;
    int32_t nodes_n;
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "1:%s", shape_text);
    if (node_shape_parse(text.data, &nodes_n, &shape, NULL) < 0 || shape.gpus_n == 0)
        return NULL;
    struct node_kind *k = mem_zero(1, sizeof *k);
    node_kind_init(k, &shape);
    *(struct node_kind **)map_put(g->kinds, bytes_of(shape_text), NULL) = k;
    return k;
}

static void known_free(struct known *k)
{
    sim_node_free(k->node);
    free(k->name);
    free(k->uid);
    for (size_t i = 0; i < AGENT_ASKED_N; i++)
        free(k->asked[i]);
    free(k->fault);
    free(k->mig_before);
    free(k->complaint);
    free(k);
}

void sim_nodes_gone(struct sim_nodes *g, const char *name)
{
    struct known **k = map_find_text(g->nodes, name);
    if (!k)
        return;
    known_free(*k);
    (void)map_remove(g->nodes, bytes_of(name)); /* it is there */
}

static struct known *known_new(struct sim_nodes *g, const char *name, const struct json *annotations)
{
    const struct node_kind *kind = kind_of(g, json_get_text(annotations, NODE_SHAPE_ANNOTATION, "cpu"));
    if (!kind)
        return NULL;
    struct known *k = mem_zero(1, sizeof *k);
    k->kind = kind;
    k->name = mem_text(name);
    k->mig_before = mem_text(json_get_text(annotations, NODE_MIG_ANNOTATION, NULL));
    *(struct known **)map_put(g->nodes, bytes_of(name), NULL) = k;
    return k;
}

void sim_nodes_seen(struct sim_nodes *g, const struct json *node)
{
    const struct json *metadata = json_get(node, "metadata"), *annotations = json_get(metadata, "annotations");
    const char *name = json_get_text(metadata, "name", ""), *uid = json_get_text(metadata, "uid", "");
    struct known **at = map_find_text(g->nodes, name);
    if (at && !text_equal((*at)->uid, uid)) {
        sim_nodes_gone(g, name); /* a namesake */
        at = NULL;
    }
    struct known *k = at ? *at : known_new(g, name, annotations);
    if (!k)
        return;
    bool changed = false;
    replace(&k->uid, uid, &changed);
    for (size_t i = 0; i < AGENT_ASKED_N; i++)
        replace(&k->asked[i], agent_asked(metadata, i), &changed);
    const char *fault = json_get_text(annotations, FAULT_ANNOTATION, NULL);
    replace(&k->fault, fault && *fault ? fault : NULL, &changed);
    if (changed)
        settle(g, k);
    if (k->node)
        sim_node_seen(k->node, node);
}

struct sim_node *sim_nodes_get(struct sim_nodes *g, const char *name, bool *ret_wait)
{
    struct known **k = map_find_text(g->nodes, name);
    *ret_wait = false;
    if (!k)
        return NULL;
    *ret_wait = true;
    if (!kube_watch_synced(g->watch))
        return NULL;
    ensure_node(g, *k);
    *ret_wait = !sim_node_ready((*k)->node);
    return *ret_wait ? NULL : (*k)->node;
}

/* ---- ConfigMaps ---- */

static void on_config_map(void *arg, enum kube_event event, struct bytes object)
{
    struct sim_nodes *g = arg;
    struct err e = {0};
    _cleanup_buf_ struct buf warnings = {0};
    struct json *parsed = json_parse(g->arena, object, NULL, NULL);
    const struct json *metadata = json_get(parsed, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    const struct kube_object_ref ref = {"v1", "ConfigMap", CONFIG_MAPS_NAMESPACE, name, json_get_text(metadata, "uid", "")};
    int r = config_maps_put(g->maps, name, event == KUBE_DELETED ? NULL : parsed, &warnings, &e);
    for (size_t i = 0; i < warnings.n; i++)
        if (warnings.data[i] == '\n')
            warnings.data[i] = i + 1 < warnings.n ? ';' : '.';
    if (r < 0)
        kube_event(g->events, &ref, "Warning", "GPUConfigInvalid", "%s; what was there before stays", e.text);
    else if (warnings.n)
        kube_event(g->events, &ref, "Normal", "GPUConfigNotes", "%s", warnings.data);
    settle_soon(g);
    arena_reset(g->arena);
}

static void on_synced(void *arg)
{
    struct sim_nodes *g = arg;
    settle_soon(g);
    g->config.changed(g->config.arg, NULL);
}

/* ---- life ---- */

struct sim_nodes *sim_nodes_new(struct kube_client *c, struct kube_recorder *events, const struct sim_nodes_config *config)
{
    struct sim_nodes *g = mem_zero(1, sizeof *g);
    g->client = c;
    g->loop = kube_client_loop(c);
    g->events = events;
    g->config = *config;
    g->nodes = map_new(sizeof(struct known *));
    g->kinds = map_new(sizeof(struct node_kind *));
    g->maps = config_maps_new();
    g->configs = config_cache_new();
    g->arena = arena_new();
    g->watch = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/namespaces/" CONFIG_MAPS_NAMESPACE "/configmaps",
                                                             .on_event = on_config_map,
                                                             .on_synced = on_synced,
                                                             .arg = g});
    return g;
}

void sim_nodes_free(struct sim_nodes *g)
{
    if (!g)
        return;
    kube_watch_free(g->watch);
    loop_forget(g->loop, settle_all, g);
    size_t at = 0;
    struct bytes key;
    for (struct known **k; (k = map_next(g->nodes, &at, &key));)
        known_free(*k);
    at = 0;
    for (struct node_kind **k; (k = map_next(g->kinds, &at, &key));)
        free(*k);
    map_free(g->nodes);
    map_free(g->kinds);
    config_maps_free(g->maps);
    config_cache_free(g->configs);
    arena_free(g->arena);
    free(g);
}
