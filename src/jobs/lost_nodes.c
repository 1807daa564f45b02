/* lost_nodes.c - node deleted -> some seconds later: still away? -> list its pods: they have failed -> list them again: delete them
 *
 * WHY  two looks: whoever counts failures by what is there (operators of others) sees a pod that failed before it is gone.
 */
#include "jobs/lost_nodes.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object.h"
#include "kube/watch.h"
#include "kube/workqueue.h"

enum {
    AWAY_MS = 4000, /* WHY  a node that is replaced under its name keeps its pods */
    FAILED_MS = 200, /* so long its pods stand there as failed */
};
#define FAILED "failed" /* keys: "/NODE": the first look, FAILED "/NODE": the second one */

struct lost_nodes {
    struct kube_client *client;
    struct kube_watch *nodes;
    struct map *known; /* node name -> the map itself: only membership counts */
    struct workqueue *queue;
};

static void act_drop(struct lost_nodes *o, struct arena *a, const struct json *pod)
{
    const char *path = kube_path(a, "", "v1", "pods", object_meta(pod, "namespace"), object_meta(pod, "name"), NULL);
    const char *options = arena_printf(a,
                                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,"
                                       "\"preconditions\":{\"uid\":\"%s\"}}",
                                       object_meta(pod, "uid"));
    kube_delete(o->client, path, bytes_of(options), NULL, NULL);
}

/* SOURCE Kubernetes' pod garbage collector: phase and condition in one write, conditions of others stay. */
static void act_fail(struct lost_nodes *o, struct arena *a, const struct json *pod)
{
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(kube_client_loop(o->client)));
    const char *path = kube_path(a, "", "v1", "pods", object_meta(pod, "namespace"), object_meta(pod, "name"), "status");
    const char *patch = arena_printf(a,
                                     "{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":"
                                     "\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"DeletionByPodGC\",\"message\":"
                                     "\"PodGC: node no longer exists\",\"lastTransitionTime\":\"%s\"}]}}",
                                     object_meta(pod, "uid"), now);
    kube_patch(o->client, KUBE_PATCH_STRATEGIC, path, bytes_of(patch), NULL, NULL);
}

static bool is_over(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

/* look: of each pod in the list whose node is away. */
static void look_at_pods(struct lost_nodes *o, const struct kube_answer *answer,
                         void (*look)(struct lost_nodes *o, struct arena *a, const struct json *pod))
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *list = answer->code == 0 ? json_parse(a, answer->body, NULL, NULL) : NULL;
    JSON_EACH (pod, json_get(list, "items")) {
        const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), "");
        if (*node && !map_find_text(o->known, node))
            look(o, a, pod);
    }
}

static void first_look(struct lost_nodes *o, struct arena *a, const struct json *pod)
{
    if (!is_over(pod))
        act_fail(o, a, pod);
    const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), "");
    workqueue_add_after(o->queue, arena_printf(a, FAILED "/%s", node), FAILED_MS);
}

static void on_pods(void *arg, const struct kube_answer *answer)
{
    look_at_pods(arg, answer, first_look);
}

/* Also a pod that would not be told to have failed: it goes as it is. */
static void on_failed_pods(void *arg, const struct kube_answer *answer)
{
    look_at_pods(arg, answer, act_drop);
}

static void reconcile(void *arg, struct work *w)
{
    struct lost_nodes *o = arg;
    if (!kube_watch_synced(o->nodes) || map_find_text(o->known, w->name))
        return;
    kube_get(o->client, arena_printf(w->arena, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", w->name),
             *w->ns ? on_failed_pods : on_pods, o);
}

/* ---- nodes that are not ready ---- */

static bool is_condition_taint(const struct json *taint)
{
    const char *key = json_get_text(taint, "key", "");
    return text_equal(key, "node.kubernetes.io/not-ready") || text_equal(key, "node.kubernetes.io/unreachable");
}

static void add_taint(struct arena *a, struct json *taints, const char *key, const char *effect, const char *now)
{
    struct json *taint = json_new(a, JSON_OBJECT);
    json_set_text(a, taint, "key", key);
    json_set_text(a, taint, "effect", effect);
    json_set_text(a, taint, "timeAdded", now);
    json_append(taints, taint);
}

struct json *lost_nodes_taints(struct arena *a, const struct json *node, int64_t now_ms)
{
    const char *ready = json_get_text(object_condition(node, "Ready"), "status", "True");
    const char *key = text_equal(ready, "False") ? "node.kubernetes.io/not-ready" : "node.kubernetes.io/unreachable";
    bool is_ready = text_equal(ready, "True"), is_other = false;
    uint32_t right_n = 0;
    struct json *taints = json_new(a, JSON_ARRAY);
    JSON_EACH (taint, json_path(node, "spec", "taints", NULL)) {
        bool is_ours = is_condition_taint(taint), is_right = is_ours && !is_ready && text_equal(json_get_text(taint, "key", ""), key);
        right_n += is_right;
        is_other |= is_ours && !is_right;
        if (!is_ours)
            json_append(taints, json_clone(a, taint));
    }
    if (!is_other && right_n == (is_ready ? 0 : 2))
        return NULL;
    char now[TIME_TEXT_MAX];
    time_format(now, now_ms);
    if (!is_ready)
        add_taint(a, taints, key, "NoSchedule", now);
    if (!is_ready)
        add_taint(a, taints, key, "NoExecute", now);
    return taints;
}

/* A conflict means that the node was changed meanwhile: its event comes, and it is looked at again. */
static void act_taint(struct lost_nodes *o, struct arena *a, const struct json *node)
{
    struct json *taints = lost_nodes_taints(a, node, loop_wall_ms(kube_client_loop(o->client)));
    if (!taints)
        return;
    struct json *patch = object_patch(a, node);
    json_set(a, json_ensure_object(a, patch, "spec"), "taints", taints);
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    kube_patch(o->client, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "nodes", NULL, object_meta(node, "name"), NULL), buf_view(&body),
               NULL, NULL);
}

void lost_nodes_look(struct lost_nodes *o, const char *node)
{
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "/%s", node);
    workqueue_add_after(o->queue, key.data, AWAY_MS);
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct lost_nodes *o = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *node = json_parse(a, object, NULL, NULL);
    const char *name = object_meta(node, "name");
    if (event != KUBE_DELETED) {
        act_taint(o, a, node);
        map_put(o->known, bytes_of(name), NULL);
        return;
    }
    map_remove(o->known, bytes_of(name));
    lost_nodes_look(o, name);
}

struct lost_nodes *lost_nodes_new(struct kube_client *c)
{
    struct lost_nodes *o = mem_zero(1, sizeof *o);
    o->client = c;
    o->known = map_new(sizeof(char));
    o->queue = workqueue_new(c, reconcile, o);
    o->nodes = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_node, .arg = o});
    return o;
}

void lost_nodes_free(struct lost_nodes *o)
{
    if (!o)
        return;
    kube_client_forget(o->client, on_pods, o);
    kube_client_forget(o->client, on_failed_pods, o);
    kube_watch_free(o->nodes);
    workqueue_free(o->queue);
    map_free(o->known);
    free(o);
}
