/* node_gpus.c - settle each node with what is asked of it */
#include "sim/node/node_gpus.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/node/condition.h"
#include "agent/node/evict.h"
#include "base/collections/map.h"
#include "kube/watch.h"
#include "sim/node/gpu_configs.h"
#include "sim/node/node_publish.h"

#define PLUGIN_LABEL "nvidia.com/device-plugin.config"
#define MIG_LABEL "nvidia.com/mig.config"
#define FAULT_ANNOTATION "capstan.dev/simulate-fault"

struct node_gpu {
    struct node_gpus *gpus;
    char *name, *uid;
    const struct node_kind *kind;
    struct node_devices *devices; /* NULL: not needed yet */
    struct node_publish *publish;
    char *plugin_label, *mig_label, *fault; /* NULL: not there */
    char *mig_before;                       /* instances of an earlier run; used when the devices are made */
    char *complaint;                        /* the last error that was told */
    struct gpu_config *config;              /* in use; NULL: the shape's */
    struct gpu_config *mig_config;          /* of mig_done; NULL: built in */
    char *mig_done;                         /* layout that was applied, or failed */
    bool mig_running;
    struct evict *evict; /* NULL: nobody had to leave yet */
};
struct node_gpus {
    struct kube_client *client;
    struct loop *loop;
    struct kube_recorder *events;
    struct node_gpus_config config;
    struct map *nodes; /* name -> struct node_gpu * */
    struct map *kinds; /* shape text -> struct node_kind * */
    struct gpu_configs *configs;
    struct kube_watch *watch;
    struct arena *arena; /* of watch events */
    bool settling;       /* every node will be looked at again in the next turn */
};

static void settle(struct node_gpu *n);

/* ---- telling ---- */

static void say(struct node_gpu *n, bool warning, const char *reason, const char *text)
{
    const struct kube_object_ref ref = {"v1", "Node", "", n->name, n->uid};
    kube_event(n->gpus->events, &ref, warning ? "Warning" : "Normal", reason, "%s", text);
}

/* The same complaint once, until something else happens. */
static void complain(struct node_gpu *n, const char *reason, const char *text)
{
    if (text_equal(n->complaint, text))
        return;
    free(n->complaint);
    n->complaint = mem_text(text);
    say(n, true, reason, text);
}

static void on_said(void *arg, bool warning, const char *reason, const char *text)
{
    say(arg, warning, reason, text);
}

static void on_changed(void *arg)
{
    struct node_gpu *n = arg;
    settle(n);
    node_publish_ask(n->publish);
    n->gpus->config.changed(n->gpus->config.arg, n->name);
}

/* ---- configuration ---- */

/* What was before stays. */
static void refuse_config(struct node_gpu *n, const char *source, const char *error)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct node_condition c = node_condition_refusal(a, "ConfigInvalid", source, error, true);
    complain(n, "GPUConfigInvalid", c.message);
    node_publish_config(n->publish, false, c.message);
}

static void use_config(struct node_gpu *n, struct gpu_config *c)
{
    struct err e = {0};
    if (c == n->config) {
        node_publish_config(n->publish, true, c ? c->from : NODE_CONDITION_DEFAULTS);
        gpu_config_unref(c);
        return;
    }
    if (node_devices_configure(n->devices, c ? &c->plugin : NULL, &e) < 0) {
        refuse_config(n, c ? c->from : "the node's own configuration", e.text);
        gpu_config_unref(c);
        return;
    }
    node_publish_config(n->publish, true, c ? c->from : NODE_CONDITION_DEFAULTS);
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "GPUs are shared as %s says", c ? c->from : "the node's shape");
    say(n, false, "GPUConfigApplied", text.data);
    free(n->complaint);
    n->complaint = NULL;
    gpu_config_unref(n->config);
    n->config = c;
}

/* Nodes with shares of their own (KETI) run another device plugin: only their label changes them. */
static bool has_own_shares(const struct node_gpu *n)
{
    return n->kind->shape.mps_shares > 0 && !n->plugin_label;
}

static void settle_config(struct node_gpu *n)
{
    struct gpu_config *c = NULL;
    struct err e = {0};
    bool split = n->kind->shape.replicas > 1;
    if (!has_own_shares(n) && gpu_configs_plugin(n->gpus->configs, n->plugin_label, !split, &c, &e) < 0)
        refuse_config(n, NULL, e.text);
    else
        use_config(n, c);
}

/* ---- MIG ---- */

static void set_mig_state(struct node_gpu *n, const char *state)
{
    node_publish_label(n->publish, MIG_LABEL ".state", state);
}

static void mig_failed(struct node_gpu *n, const char *text)
{
    _cleanup_buf_ struct buf message = {0};
    if (text_starts(text, "layout "))
        buf_printf(&message, "MIG %s", text);
    else
        buf_printf(&message, "MIG layout '%.63s': %s", n->mig_done, text);
    set_mig_state(n, "failed");
    say(n, true, "MIGConfigFailed", message.data);
}

static void on_mig_done(void *arg, int code, const char *text)
{
    struct node_gpu *n = arg;
    n->mig_running = false;
    if (code < 0) {
        mig_failed(n, text);
    } else {
        _cleanup_buf_ struct buf message = {0};
        buf_printf(&message, "GPUs are split as MIG layout '%.63s' of %s says", n->mig_done,
                   n->mig_config ? n->mig_config->from : "the built-in list");
        set_mig_state(n, "success");
        say(n, false, "MIGConfigApplied", message.data);
    }
    settle(n); /* another layout may be wanted by now */
}

/* all-disabled, all-balanced, all-PROFILE: what every node understands without a ConfigMap. */
static int built_in_layout(struct node_gpu *n, const char *name, struct gpu_config **ret_config,
                           const struct mig_layout **ret_layout)
{
    _cleanup_buf_ struct buf yaml = {0};
    struct gpu_config *c = mem_zero(1, sizeof *c);
    c->refs = 1;
    c->arena = arena_new();
    c->from = mem_text("the built-in list");
    mig_config_default(node_devices_snapshot(n->devices)->reading, &yaml);
    int r = mig_config_parse(c->arena, buf_view(&yaml), &c->mig, NULL);
    *ret_layout = r == 0 ? mig_config_find(&c->mig, name) : NULL;
    if (!*ret_layout) {
        gpu_config_unref(c);
        return -E_NOTFOUND;
    }
    *ret_config = c;
    return 0;
}

static int find_layout(struct node_gpu *n, const char *name, struct gpu_config **ret_config,
                       const struct mig_layout **ret_layout, struct err *e)
{
    int r = gpu_configs_layout(n->gpus->configs, name, ret_config, ret_layout, e);
    if (r == -E_NOTFOUND && built_in_layout(n, name, ret_config, ret_layout) == 0)
        return 0;
    return r;
}

static void remember_mig(struct node_gpu *n, const char *name, struct gpu_config *c)
{
    char *copy = mem_text(name); /* name may be mig_done */
    gpu_config_unref(n->mig_config);
    n->mig_config = c;
    free(n->mig_done);
    n->mig_done = copy;
}

static const char *wanted_layout(const struct node_gpu *n)
{
    if (n->mig_label)
        return n->mig_label;
    const char *preset = gpu_configs_default_layout(n->gpus->configs);
    return *preset && n->kind->model.mig_slices > 0 ? preset : NULL;
}

static void settle_mig(struct node_gpu *n)
{
    const char *name = wanted_layout(n);
    struct gpu_config *c = NULL;
    const struct mig_layout *layout = NULL;
    struct err e = {0};
    if (n->mig_running)
        return;
    if (!name) {
        remember_mig(n, NULL, NULL);
        return;
    }
    int r = find_layout(n, name, &c, &layout, &e);
    bool built_in = c && !c->is_mig, was_built_in = n->mig_config && !n->mig_config->is_mig;
    bool again = node_devices_mig_again(n->devices);
    if (!again && text_equal(n->mig_done, name) && (c == n->mig_config || (built_in && was_built_in))) {
        gpu_config_unref(c);
        return; /* done before, or failed before and nothing has changed since */
    }
    remember_mig(n, name, c);
    if (r < 0) {
        mig_failed(n, e.text);
        return;
    }
    set_mig_state(n, "pending");
    n->mig_running = true;
    if (node_devices_apply(n->devices, layout, on_mig_done, n, &e) < 0)
        on_mig_done(n, -e.code, e.text);
}

/* ---- pods that have to leave ---- */

static void tell_eviction(void *arg, const char *ns, const char *name, const char *uid, const char *reason,
                          const char *text)
{
    const struct node_gpu *n = arg;
    const struct kube_object_ref ref = {"v1", "Pod", ns, name, uid};
    kube_event(n->gpus->events, &ref, "Warning", reason, "%s", text);
}

static const char *uid_of(void *arg, const char *ns, const char *name)
{
    const struct node_gpu *n = arg;
    return n->gpus->config.uid_of(n->gpus->config.arg, ns, name);
}

static void on_evict(void *arg, const struct mig_blockers *in_the_way, driver_done_fn done, void *done_arg)
{
    struct node_gpu *n = arg;
    if (!n->evict)
        n->evict = evict_new(&(struct evict_config){
            .loop = n->gpus->loop, .kube = n->gpus->client, .uid_of = uid_of, .tell = tell_eviction, .arg = n});
    char why[160];
    (void)snprintf(why, sizeof why, "MIG layout %.63s needs the GPU", n->mig_done);
    evict_begin(n->evict);
    for (uint32_t i = 0; i < in_the_way->n; i++)
        if (*in_the_way->list[i].pod)
            evict_pod(n->evict, in_the_way->list[i].ns, in_the_way->list[i].pod, why);
    evict_wait(n->evict, done, done_arg);
}

/* ---- settling ---- */

static bool is_asked_something(struct node_gpu *n)
{
    if (n->plugin_label || n->mig_label || n->fault || n->config || wanted_layout(n))
        return true;
    struct gpu_config *c = NULL;
    bool asked = !has_own_shares(n) &&
                 (gpu_configs_plugin(n->gpus->configs, NULL, n->kind->shape.replicas <= 1, &c, NULL) < 0 || c);
    gpu_config_unref(c);
    return asked || gpu_configs_plugin_off(n->gpus->configs);
}

static void ensure_devices(struct node_gpu *n)
{
    if (n->devices)
        return;
    n->devices = node_devices_new(n->gpus->loop,
                                  &(struct node_devices_config){.kind = n->kind,
                                                                .node_name = n->name,
                                                                .mig = n->mig_before,
                                                                .changed = on_changed,
                                                                .evict = n->gpus->config.mig_evicts ? on_evict : NULL,
                                                                .said = on_said,
                                                                .arg = n});
    n->publish = node_publish_new(n->gpus->client, n->devices, n->kind, n->name);
}

static void settle(struct node_gpu *n)
{
    struct err e = {0};
    if (!kube_watch_synced(n->gpus->watch) || (!n->devices && !is_asked_something(n)))
        return;
    ensure_devices(n);
    if (!node_devices_ready(n->devices))
        return; /* on_changed comes */
    node_publish_set_off(n->publish, gpu_configs_plugin_off(n->gpus->configs));
    settle_config(n);
    if (node_devices_fault(n->devices, n->fault ? n->fault : "", &e) < 0) {
        err_wrap(&e, "annotation " FAULT_ANNOTATION);
        complain(n, "SimulatedFaultInvalid", e.text);
    }
    settle_mig(n);
}

static void settle_all(void *arg)
{
    struct node_gpus *g = arg;
    size_t at = 0;
    struct bytes key;
    g->settling = false;
    for (struct node_gpu **n; (n = map_next(g->nodes, &at, &key));)
        settle(*n);
}

static void settle_soon(struct node_gpus *g)
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

static const struct node_kind *kind_of(struct node_gpus *g, const char *shape_text)
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

static void node_free(struct node_gpu *n)
{
    node_publish_free(n->publish);
    node_devices_free(n->devices); /* before `evict`, which answers a layout that waits: by then it is forgotten */
    evict_free(n->evict);
    gpu_config_unref(n->config);
    gpu_config_unref(n->mig_config);
    free(n->name);
    free(n->uid);
    free(n->plugin_label);
    free(n->mig_label);
    free(n->fault);
    free(n->complaint);
    free(n->mig_before);
    free(n->mig_done);
    free(n);
}

void node_gpus_gone(struct node_gpus *g, const char *name)
{
    struct node_gpu **n = map_find_text(g->nodes, name);
    if (!n)
        return;
    node_free(*n);
    (void)map_remove(g->nodes, bytes_of(name)); /* it is there */
}

static struct node_gpu *node_new(struct node_gpus *g, const char *name, const struct json *annotations)
{
    const struct node_kind *kind = kind_of(g, json_get_text(annotations, NODE_SHAPE_ANNOTATION, "cpu"));
    if (!kind)
        return NULL;
    struct node_gpu *n = mem_zero(1, sizeof *n);
    n->gpus = g;
    n->kind = kind;
    n->name = mem_text(name);
    n->mig_before = mem_text(json_get_text(annotations, NODE_MIG_ANNOTATION, NULL));
    *(struct node_gpu **)map_put(g->nodes, bytes_of(name), NULL) = n;
    return n;
}

void node_gpus_seen(struct node_gpus *g, const struct json *node)
{
    const struct json *metadata = json_get(node, "metadata"), *labels = json_get(metadata, "labels"),
                      *annotations = json_get(metadata, "annotations");
    const char *name = json_get_text(metadata, "name", ""), *uid = json_get_text(metadata, "uid", "");
    struct node_gpu **known = map_find_text(g->nodes, name);
    if (known && !text_equal((*known)->uid, uid)) {
        node_gpus_gone(g, name); /* a namesake */
        known = NULL;
    }
    struct node_gpu *n = known ? *known : node_new(g, name, annotations);
    if (!n)
        return;
    bool changed = false;
    replace(&n->uid, uid, &changed);
    replace(&n->plugin_label, json_get_text(labels, PLUGIN_LABEL, NULL), &changed);
    replace(&n->mig_label, json_get_text(labels, MIG_LABEL, NULL), &changed);
    replace(&n->fault, json_get_text(annotations, FAULT_ANNOTATION, NULL), &changed);
    if (n->fault && !*n->fault)
        replace(&n->fault, NULL, &changed);
    if (changed)
        settle(n);
    if (n->publish && node_devices_ready(n->devices))
        node_publish_seen(n->publish, node);
}

struct node_devices *node_gpus_devices(struct node_gpus *g, const char *name, bool *ret_wait)
{
    struct node_gpu **known = map_find_text(g->nodes, name);
    *ret_wait = false;
    if (!known)
        return NULL;
    if (!kube_watch_synced(g->watch)) {
        *ret_wait = true;
        return NULL;
    }
    ensure_devices(*known);
    *ret_wait = !node_devices_ready((*known)->devices);
    return *ret_wait ? NULL : (*known)->devices;
}

/* ---- ConfigMaps ---- */

static void on_config_map(void *arg, enum kube_event event, struct bytes object)
{
    struct node_gpus *g = arg;
    struct err e = {0};
    _cleanup_buf_ struct buf warnings = {0};
    struct json *parsed = json_parse(g->arena, object, NULL, NULL);
    const struct json *metadata = json_get(parsed, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    const struct kube_object_ref ref = {"v1", "ConfigMap", GPU_CONFIGS_NAMESPACE, name,
                                        json_get_text(metadata, "uid", "")};
    int r = gpu_configs_put(g->configs, name, event == KUBE_DELETED ? NULL : parsed, &warnings, &e);
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
    struct node_gpus *g = arg;
    settle_soon(g);
    g->config.changed(g->config.arg, NULL);
}

struct node_gpus *node_gpus_new(struct kube_client *c, struct kube_recorder *events,
                                const struct node_gpus_config *config)
{
    struct node_gpus *g = mem_zero(1, sizeof *g);
    g->client = c;
    g->loop = kube_client_loop(c);
    g->events = events;
    g->config = *config;
    g->nodes = map_new(sizeof(struct node_gpu *));
    g->kinds = map_new(sizeof(struct node_kind *));
    g->configs = gpu_configs_new();
    g->arena = arena_new();
    g->watch =
        kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/namespaces/" GPU_CONFIGS_NAMESPACE "/configmaps",
                                                      .on_event = on_config_map,
                                                      .on_synced = on_synced,
                                                      .arg = g});
    return g;
}

void node_gpus_free(struct node_gpus *g)
{
    if (!g)
        return;
    kube_watch_free(g->watch);
    loop_forget(g->loop, settle_all, g);
    size_t at = 0;
    struct bytes key;
    for (struct node_gpu **n; (n = map_next(g->nodes, &at, &key));)
        node_free(*n);
    at = 0;
    for (struct node_kind **k; (k = map_next(g->kinds, &at, &key));)
        free(*k);
    map_free(g->nodes);
    map_free(g->kinds);
    gpu_configs_free(g->configs);
    arena_free(g->arena);
    free(g);
}
