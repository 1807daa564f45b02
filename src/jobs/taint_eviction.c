/* taint_eviction.c - a node that is tainted so has a watch of its pods; a pass looks at one of them */
#include "jobs/taint_eviction.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "kube/object.h"
#include "kube/watch.h"
#include "kube/workqueue.h"

struct tainted_node {
    struct taint_eviction *t;
    char *taints;            /* those with this effect, each with timeAdded, as JSON */
    struct kube_watch *pods; /* of this node */
};
struct taint_eviction {
    struct kube_client *client;
    struct loop *loop;
    struct kube_recorder *events;
    double speed;
    struct kube_watch *nodes;
    struct map *tainted; /* node name -> struct tainted_node * */
    struct map *pods;    /* "ns/name" of pods on them -> char *: what decides, as JSON */
    struct workqueue *queue;
};

static bool is_evicting(const struct json *taint)
{
    return text_equal(json_get_text(taint, "effect", ""), "NoExecute");
}

static bool tolerates(const struct json *toleration, const struct json *taint)
{
    const char *key = json_get_text(toleration, "key", ""), *effect = json_get_text(toleration, "effect", "");
    bool exists = text_equal(json_get_text(toleration, "operator", "Equal"), "Exists");
    if (*effect && !text_equal(effect, json_get_text(taint, "effect", "")))
        return false;
    if (*key ? !text_equal(key, json_get_text(taint, "key", "")) : !exists)
        return false;
    return exists || text_equal(json_get_text(toleration, "value", ""), json_get_text(taint, "value", ""));
}

int64_t taint_eviction_patience_ms(const struct json *taints, const struct json *tolerations)
{
    int64_t least_ms = TAINT_EVICTION_NEVER;
    JSON_EACH (taint, taints) {
        const struct json *found = NULL;
        JSON_EACH (toleration, is_evicting(taint) ? tolerations : NULL)
            if (!found && tolerates(toleration, taint))
                found = toleration;
        if (!is_evicting(taint))
            continue;
        int64_t seconds = found ? json_get_int64(found, "tolerationSeconds", INT64_MAX) : 0;
        int64_t ms = seconds == INT64_MAX ? TAINT_EVICTION_NEVER : seconds <= 0 ? 0 : seconds * 1000;
        least_ms = ms < least_ms ? ms : least_ms;
    }
    return least_ms;
}

/* ---- one pod ---- */

static void act_evict(struct taint_eviction *t, struct work *w, const struct json *pod)
{
    const char *uid = object_meta(pod, "uid");
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(t->loop));
    struct kube_object_ref ref = {"v1", "Pod", w->ns, w->name, uid};
    kube_event(t->events, &ref, "Normal", "TaintManagerEviction", "Marking for deletion Pod %s/%s", w->ns, w->name);
    const char *text = arena_printf(w->arena,
                                    "{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
                                    "\"True\",\"reason\":\"DeletionByTaintManager\",\"message\":\"Taint manager: deleting due to "
                                    "NoExecute taint\",\"lastTransitionTime\":\"%s\"}]}}",
                                    uid, now);
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, "status"),
               json_parse(w->arena, bytes_of(text), NULL, NULL));
    work_delete(w, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, NULL), uid, "Background");
}

/* Since when the pod stands under the taints. */
static int64_t since_ms(const struct json *taints, const struct json *pod)
{
    int64_t since = 0, one;
    const struct json *started = json_path(pod, "status", "startTime", NULL);
    JSON_EACH (taint, taints)
        if (time_parse(json_bytes(json_get(taint, "timeAdded")), &one) && one > since)
            since = one;
    if (time_parse(json_bytes(started ? started : json_path(pod, "metadata", "creationTimestamp", NULL)), &one) && one > since)
        since = one;
    return since;
}

static void reconcile(void *arg, struct work *w)
{
    struct taint_eviction *t = arg;
    char *const *text = map_find_text(t->pods, w->key);
    const struct json *pod = text ? json_parse(w->arena, bytes_of(*text), NULL, NULL) : NULL;
    struct tainted_node *const *node = map_find_text(t->tainted, json_text(json_path(pod, "spec", "nodeName", NULL), ""));
    if (!pod || !node || object_deleting(pod))
        return;
    const struct json *taints = json_parse(w->arena, bytes_of((*node)->taints), NULL, NULL);
    int64_t patience_ms = taint_eviction_patience_ms(taints, json_path(pod, "spec", "tolerations", NULL));
    if (patience_ms == TAINT_EVICTION_NEVER)
        return;
    int64_t due_ms = patience_ms == 0 ? 0 : since_ms(taints, pod) + (int64_t)((double)patience_ms / t->speed);
    int64_t left_ms = due_ms - loop_wall_ms(t->loop);
    if (left_ms > 0)
        work_again(w, left_ms);
    else
        act_evict(t, w, pod);
}

/* ---- pods of tainted nodes ---- */

static void pod_drop(struct taint_eviction *t, struct bytes key)
{
    char **old = map_find(t->pods, key);
    if (!old)
        return;
    free(*old);
    map_remove(t->pods, key);
}

static const char *pod_text(struct arena *a, const struct json *pod)
{
    static const char *const fields[][2] = {{"metadata", "uid"},         {"metadata", "creationTimestamp"}, {"metadata", "deletionTimestamp"},
                                            {"spec", "nodeName"},        {"spec", "tolerations"},           {"status", "startTime"}};
    struct json *view = json_new(a, JSON_OBJECT);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct json *value = json_path(pod, fields[i][0], fields[i][1], NULL);
        if (value)
            json_set(a, json_ensure_object(a, view, fields[i][0]), fields[i][1], json_clone(a, value));
    }
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, view);
    return arena_text(a, text.data);
}

static void on_pod(void *arg, enum kube_event event, struct bytes object)
{
    struct tainted_node *node = arg;
    struct taint_eviction *t = node->t;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *pod = json_parse(a, object, NULL, NULL);
    const char *key = object_key(a, pod), *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    pod_drop(t, bytes_of(key));
    if (event == KUBE_DELETED || text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return;
    *(char **)map_put(t->pods, bytes_of(key), NULL) = mem_text(pod_text(a, pod));
    workqueue_add(t->queue, key);
}

/* ---- nodes ---- */

static void node_free(struct tainted_node *node)
{
    kube_watch_free(node->pods);
    free(node->taints);
    free(node);
}

/* The node's taints that count, or NULL. What was there before keeps its time. */
static const char *taints_text(struct taint_eviction *t, struct arena *a, const struct json *node, const struct json *before)
{
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(t->loop));
    struct json *taints = json_new(a, JSON_ARRAY);
    JSON_EACH (taint, json_path(node, "spec", "taints", NULL)) {
        const char *since = now;
        if (!is_evicting(taint))
            continue;
        JSON_EACH (old, before)
            if (text_equal(json_get_text(old, "key", ""), json_get_text(taint, "key", "")) &&
                text_equal(json_get_text(old, "value", ""), json_get_text(taint, "value", "")))
                since = json_get_text(old, "timeAdded", now);
        struct json *copy = json_clone(a, taint);
        if (!json_is(json_get(copy, "timeAdded"), JSON_STRING))
            json_set_text(a, copy, "timeAdded", since);
        json_append(taints, copy);
    }
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, taints);
    return taints->n ? arena_text(a, text.data) : NULL;
}

static void node_forget(struct taint_eviction *t, const char *name)
{
    struct tainted_node **place = map_find_text(t->tainted, name);
    if (!place)
        return;
    node_free(*place);
    map_remove(t->tainted, bytes_of(name));
    size_t at = 0;
    struct bytes key;
    _cleanup_arena_ struct arena *a = arena_new();
    char **keys = arena_alloc(a, (map_count(t->pods) + 1) * sizeof *keys);
    size_t n = 0;
    for (char *const *text; (text = map_next(t->pods, &at, &key));)
        if (text_equal(json_text(json_path(json_parse(a, bytes_of(*text), NULL, NULL), "spec", "nodeName", NULL), ""), name))
            keys[n++] = arena_text_n(a, key.data, key.n);
    while (n-- > 0)
        pod_drop(t, bytes_of(keys[n]));
}

static void node_watch(struct taint_eviction *t, struct arena *a, const char *name, const char *taints)
{
    struct tainted_node *node = mem_zero(1, sizeof *node);
    node->t = t;
    node->taints = mem_text(taints);
    *(struct tainted_node **)map_put(t->tainted, bytes_of(name), NULL) = node;
    node->pods = kube_watch_new(t->client, &(struct kube_watch_config){.path = "/api/v1/pods",
                                                                       .field_selector = arena_printf(a, "spec.nodeName=%s", name),
                                                                       .on_event = on_pod,
                                                                       .arg = node});
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct taint_eviction *t = arg;
    /* WHY  a Node is some 20 KB, and is written again and again for what was measured on it */
    if (map_count(t->tainted) == 0 && !memmem(object.data, object.n, "NoExecute", 9))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *node = json_parse(a, object, NULL, NULL);
    const char *name = object_meta(node, "name");
    struct tainted_node **place = map_find_text(t->tainted, name);
    const struct json *before = place ? json_parse(a, bytes_of((*place)->taints), NULL, NULL) : NULL;
    const char *taints = event == KUBE_DELETED ? NULL : taints_text(t, a, node, before);
    if (!taints) {
        node_forget(t, name);
        return;
    }
    if (!place) {
        node_watch(t, a, name, taints);
        return;
    }
    if (text_equal((*place)->taints, taints))
        return;
    free((*place)->taints);
    (*place)->taints = mem_text(taints);
    size_t at = 0;
    struct bytes key;
    while (map_next(t->pods, &at, &key))
        workqueue_add(t->queue, key.data);
}

struct taint_eviction *taint_eviction_new(struct kube_client *c, struct kube_recorder *events, double speed)
{
    struct taint_eviction *t = mem_zero(1, sizeof *t);
    t->client = c;
    t->loop = kube_client_loop(c);
    t->events = events;
    t->speed = speed;
    t->tainted = map_new(sizeof(struct tainted_node *));
    t->pods = map_new(sizeof(char *));
    t->queue = workqueue_new(c, reconcile, t);
    t->nodes = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_node, .arg = t});
    return t;
}

void taint_eviction_free(struct taint_eviction *t)
{
    if (!t)
        return;
    workqueue_free(t->queue);
    kube_watch_free(t->nodes);
    size_t at = 0;
    for (struct tainted_node **node; (node = map_next(t->tainted, &at, NULL));)
        node_free(*node);
    at = 0;
    for (char **text; (text = map_next(t->pods, &at, NULL));)
        free(*text);
    map_free(t->tainted);
    map_free(t->pods);
    free(t);
}
