/* node_view.c - a watch of nodes cut down, and the scheduler's own rules for selectors and taints */
#include "jobs/apps/node_view.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "codec/decode/decode.h"
#include "core/state/selector.h"
#include "kube/object.h"

struct node_view {
    struct kube_watch *watch;
    struct map *nodes; /* name -> char *: JSON */
    void (*on_change)(void *arg);
    void (*on_synced)(void *arg);
    void *arg;
};

static const char *cut(struct arena *a, const struct json *node)
{
    struct json *view = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, view, "metadata");
    const struct json *labels = json_path(node, "metadata", "labels", NULL), *taints = json_path(node, "spec", "taints", NULL);
    json_set_text(a, metadata, "name", object_meta(node, "name"));
    if (labels)
        json_set(a, metadata, "labels", json_clone(a, labels));
    if (taints)
        json_set(a, json_ensure_object(a, view, "spec"), "taints", json_clone(a, taints));
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, view);
    return arena_text(a, text.data);
}

static void on_event(void *arg, enum kube_event event, struct bytes object)
{
    struct node_view *v = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *node = json_parse(a, object, NULL, NULL);
    struct bytes name = bytes_of(object_meta(node, "name"));
    char **old = map_find(v->nodes, name);
    if (event == KUBE_DELETED) {
        if (old)
            free(*old);
        if (old)
            map_remove(v->nodes, name);
        v->on_change(v->arg);
        return;
    }
    const char *text = cut(a, node);
    if (old && text_equal(*old, text))
        return;
    if (old)
        free(*old);
    *(char **)map_put(v->nodes, name, NULL) = mem_text(text);
    v->on_change(v->arg);
}

static void on_synced(void *arg)
{
    struct node_view *v = arg;
    v->on_synced(v->arg);
}

struct node_view *node_view_new(struct kube_client *c, void (*on_change)(void *arg), void (*on_all)(void *arg), void *arg)
{
    struct node_view *v = mem_zero(1, sizeof *v);
    v->nodes = map_new(sizeof(char *));
    v->on_change = on_change;
    v->on_synced = on_all;
    v->arg = arg;
    v->watch = kube_watch_new(
        c, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_event, .on_synced = on_synced, .arg = v});
    return v;
}

void node_view_free(struct node_view *v)
{
    if (!v)
        return;
    kube_watch_free(v->watch);
    size_t at = 0;
    for (char **text; (text = map_next(v->nodes, &at, NULL));)
        free(*text);
    map_free(v->nodes);
    free(v);
}

bool node_view_synced(const struct node_view *v)
{
    return kube_watch_synced(v->watch);
}

/* ---- judging ---- */

static bool is_tolerated(const struct shape *shape, const struct node_record *node, bool only_evicting)
{
    for (uint32_t i = 0; i < node->taints_n; i++)
        if ((!only_evicting || node->taints[i].effect == TAINT_NO_EXECUTE) &&
            taint_untolerated(&node->taints[i], 1, shape->tolerations, shape->tolerations_n, NULL, 0))
            return false;
    return true;
}

static void judge(const struct decoder *d, const struct shape *shape, const char *only_node, struct bytes text,
                  struct daemon_node *ret_node)
{
    struct node_record node;
    if (decode_node(d, text, &node, NULL) < 0)
        return;
    struct label_list labels = {node.labels, node.labels_n};
    bool matches = (!*only_node || text_equal(only_node, ret_node->name)) && node_terms_match(shape, labels, node.name, d->names);
    ret_node->is_wanted = matches && is_tolerated(shape, &node, false);
    ret_node->may_stay = matches && is_tolerated(shape, &node, true);
}

static int order(const void *x, const void *y)
{
    return strcmp(((const struct daemon_node *)x)->name, ((const struct daemon_node *)y)->name);
}

uint32_t node_view_judge(const struct node_view *v, struct arena *a, const struct json *template, struct daemon_node **ret_nodes)
{
    struct intern *names = intern_new();
    struct decoder d = {.names = names, .arena = a};
    struct shape shape;
    struct daemon_node *nodes = arena_zero(a, map_count(v->nodes) + 1, sizeof *nodes);
    bool is_sound = decode_template(&d, template, 0, "spec.template", &shape, NULL) == 0;
    const char *only_node = json_text(json_path(template, "spec", "nodeName", NULL), "");
    size_t at = 0;
    struct bytes name;
    uint32_t n = 0;
    for (char *const *text; (text = map_next(v->nodes, &at, &name)); n++) {
        nodes[n].name = arena_text_n(a, name.data, name.n);
        if (is_sound)
            judge(&d, &shape, only_node, bytes_of(*text), &nodes[n]);
    }
    intern_free(names);
    qsort(nodes, n, sizeof *nodes, order);
    *ret_nodes = nodes;
    return n;
}
