#include "jobs/volcano/hypernodes/hypernode_finder.h"
#include <stdlib.h>
#include "jobs/volcano/hypernodes/label_hypernodes.h"

#define CONFIGS "/api/v1/namespaces/volcano-system/configmaps"
#define CONFIG_NAME "volcano-controller-configmap"
#define CONFIG_FILE "volcano-controller.conf"
enum { COLLECT_MS = 100, WRITES_MOST = 200, AGAIN_MS = 200 };

struct hypernode_finder {
    struct jobs *jobs;
    struct kube_watch *configs;
    struct kube_watch *nodes;     /* these two: NULL while nobody asks */
    struct kube_cache *there;     /* HyperNodes that labels have made */
    struct map *labels;           /* node -> char *: its labels that count, as JSON */
    struct arena *asked_arena;
    struct label_topologies asked;
    char *file;                   /* of which that is read; NULL: there is none */
    struct workqueue *queue;      /* "/all" */
};

static void look(struct hypernode_finder *x)
{
    workqueue_add_after(x->queue, "/all", COLLECT_MS);
}

/* ---- nodes ---- */

static struct json *labels_that_count(const struct hypernode_finder *x, struct arena *a, const struct json *node)
{
    struct json *labels = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < x->asked.n; i++)
        for (uint32_t k = 0; k < x->asked.all[i].n; k++) {
            const char *label = x->asked.all[i].labels[k], *value = object_label(node, label);
            if (*value)
                json_set_text(a, labels, label, value);
        }
    return labels;
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct hypernode_finder *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *node = json_parse(a, object, NULL, NULL), *labels = labels_that_count(x, a, node);
    const char *name = object_meta(node, "name");
    char **was = map_find_text(x->labels, name);
    if (event == KUBE_DELETED || !labels->n) {
        if (!was)
            return;
        free(*was);
        (void)map_remove(x->labels, bytes_of(name));
        look(x);
        return;
    }
    struct buf text = {0};
    json_write(&text, labels);
    char *is = buf_take(&text, NULL);
    if (was && text_equal(*was, is)) {
        free(is);
        return;
    }
    was = map_put(x->labels, bytes_of(name), NULL);
    free(*was);
    *was = is;
    look(x);
}

static void on_nodes_synced(void *arg)
{
    look(arg);
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* [{"name":, "labels":{}}], by name. */
static struct json *nodes_of(const struct hypernode_finder *x, struct arena *a)
{
    struct json *all = json_new(a, JSON_ARRAY);
    const char **names = arena_alloc(a, (map_count(x->labels) + 1) * sizeof *names);
    size_t n = 0, at = 0;
    for (struct bytes key; map_next(x->labels, &at, &key);)
        names[n++] = key.data; /* keys of maps are NUL terminated */
    if (n > 1)
        qsort(names, n, sizeof *names, compare_keys);
    for (size_t i = 0; i < n; i++) {
        struct json *node = json_new(a, JSON_OBJECT);
        json_set_text(a, node, "name", names[i]);
        json_set(a, node, "labels", json_parse(a, bytes_of(*(char **)map_find_text(x->labels, names[i])), NULL, NULL));
        json_append(all, node);
    }
    return all;
}

static void nodes_forget(struct hypernode_finder *x)
{
    size_t at = 0;
    for (char **text; (text = map_next(x->labels, &at, NULL));)
        free(*text);
    map_clear(x->labels);
}

/* ---- HyperNodes ---- */

static void on_hypernode(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)event;
    (void)key;
    (void)object;
    look(arg);
}

static struct json *read_there(const struct hypernode_finder *x, struct arena *a)
{
    struct json *all = json_new(a, JSON_ARRAY);
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next(x->there, &at, &key, &raw);) {
        struct json *o = json_parse(a, raw, NULL, NULL);
        if (o)
            json_append(all, o);
    }
    return all;
}

static const char *path_of(struct arena *a, const char *name)
{
    return kube_path(a, "topology.volcano.sh", "v1alpha1", "hypernodes", NULL, name, NULL);
}

/* What of it is not as it should be; NULL: nothing. Labels that others have given it stay. */
static struct json *patch_for(struct arena *a, const struct json *is, const struct json *wanted)
{
    static const char *const fields[] = {"tier", "tierName", "members"};
    struct json *patch = object_patch(a, is);
    bool differs = false;
    JSON_EACH (label, json_path(wanted, "metadata", "labels", NULL))
        if (!text_equal(object_label(is, label->key), json_text(label, ""))) {
            json_set(a, json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "labels"), label->key, json_clone(a, label));
            differs = true;
        }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct json *was = json_path(is, "spec", fields[i], NULL), *to = json_path(wanted, "spec", fields[i], NULL);
        if (was && json_equal(was, to))
            continue;
        json_set(a, json_ensure_object(a, patch, "spec"), fields[i], json_clone(a, to));
        differs = true;
    }
    return differs ? patch : NULL;
}

/* Returns how much was written. */
static uint32_t write_one(struct work *w, const struct json *is, const struct json *wanted)
{
    if (!is) {
        work_create(w, path_of(w->arena, NULL), wanted);
        return 1;
    }
    const struct json *patch = object_deleting(is) ? NULL : patch_for(w->arena, is, wanted);
    if (patch)
        work_patch(w, KUBE_PATCH_MERGE, path_of(w->arena, object_meta(is, "name")), patch);
    return patch != NULL;
}

static void reconcile(void *arg, struct work *w)
{
    struct hypernode_finder *x = arg;
    if (!x->nodes || !kube_watch_synced(x->nodes) || !kube_cache_synced(x->there) || !kube_cache_served(x->there))
        return;
    const struct json *there = read_there(x, w->arena);
    const struct json *wanted = label_hypernodes(w->arena, &x->asked, nodes_of(x, w->arena), there);
    struct map *by_name = map_new(sizeof(const struct json *));
    uint32_t written_n = 0;
    JSON_EACH (o, wanted)
        *(const struct json **)map_put(by_name, bytes_of(object_meta(o, "name")), NULL) = o;
    JSON_EACH (is, there) {
        const struct json **to = map_find_text(by_name, object_meta(is, "name"));
        if (!to && !object_deleting(is) && written_n++ < WRITES_MOST)
            work_delete(w, path_of(w->arena, object_meta(is, "name")), object_meta(is, "uid"), NULL);
        if (!to)
            continue;
        written_n += written_n < WRITES_MOST ? write_one(w, is, *to) : 0;
        (void)map_remove(by_name, bytes_of(object_meta(is, "name")));
    }
    JSON_EACH (o, wanted)
        if (written_n < WRITES_MOST && map_find_text(by_name, object_meta(o, "name")))
            written_n += write_one(w, NULL, o);
    map_free(by_name);
    if (written_n >= WRITES_MOST)
        work_again(w, AGAIN_MS);
}

/* ---- what is asked for ---- */

static void stop_looking(struct hypernode_finder *x)
{
    kube_watch_free(x->nodes);
    if (x->there)
        kube_cache_free(x->there);
    x->nodes = NULL;
    x->there = NULL;
    nodes_forget(x);
}

static void start_looking(struct hypernode_finder *x)
{
    struct kube_cache_config there = {.watch = {.path = "/apis/topology.volcano.sh/v1alpha1/hypernodes", .optional = true,
                                                .label_selector = HYPERNODE_SOURCE_LABEL "=label"},
                                      .on_change = on_hypernode, .on_synced = on_nodes_synced, .arg = x};
    x->there = kube_cache_new(x->jobs->client, &there);
    x->nodes = kube_watch_new(x->jobs->client, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_node,
                                                                           .on_synced = on_nodes_synced, .arg = x});
}

static void on_config(void *arg, enum kube_event event, struct bytes object)
{
    struct hypernode_finder *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *config = event != KUBE_DELETED ? json_parse(a, object, NULL, NULL) : NULL;
    const char *file = json_get_text(json_get(config, "data"), CONFIG_FILE, NULL);
    if (x->file && file && text_equal(x->file, file))
        return;
    stop_looking(x);
    free(x->file);
    x->file = file ? mem_text(file) : NULL;
    arena_reset(x->asked_arena);
    x->asked = (struct label_topologies){0};
    if (file)
        label_topologies_read(x->asked_arena, bytes_of(x->file), &x->asked);
    if (x->asked.problem)
        job_event(x->jobs, config, "v1", "ConfigMap", "Warning", "HyperNodesIgnored", "data[" CONFIG_FILE "]: %.600s", x->asked.problem);
    if (x->asked.enabled)
        start_looking(x);
}

static void on_config_denied(void *arg)
{
    (void)arg; /* then nobody asks */
}

struct hypernode_finder *hypernode_finder_new(struct jobs *j)
{
    struct hypernode_finder *x = mem_zero(1, sizeof *x);
    x->jobs = j;
    x->labels = map_new(sizeof(char *));
    x->asked_arena = arena_new();
    x->queue = workqueue_new(j->client, reconcile, x);
    x->configs = kube_watch_new(j->client, &(struct kube_watch_config){.path = CONFIGS, .field_selector = "metadata.name=" CONFIG_NAME,
                                                                       .on_event = on_config, .on_denied = on_config_denied, .arg = x});
    return x;
}

void hypernode_finder_free(struct hypernode_finder *x)
{
    if (!x)
        return;
    kube_watch_free(x->configs);
    stop_looking(x);
    workqueue_free(x->queue);
    map_free(x->labels);
    arena_free(x->asked_arena);
    free(x->file);
    free(x);
}
