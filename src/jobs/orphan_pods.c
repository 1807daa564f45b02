/* orphan_pods.c - node deleted -> some seconds later: still away? -> list its pods -> delete them */
#include "jobs/orphan_pods.h"
#include "base/collections/map.h"
#include "kube/object.h"
#include "kube/watch.h"
#include "kube/workqueue.h"

enum { AWAY_MS = 4000 }; /* WHY  a node that is replaced under its name keeps its pods */

struct orphan_pods {
    struct kube_client *client;
    struct kube_watch *nodes;
    struct map *known; /* node name -> the map itself: only membership counts */
    struct workqueue *queue;
};

static void drop_pod(struct orphan_pods *o, struct arena *a, const struct json *pod)
{
    const char *path = kube_path(a, "", "v1", "pods", object_meta(pod, "namespace"), object_meta(pod, "name"), NULL);
    const char *options = arena_printf(a,
                                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,"
                                       "\"preconditions\":{\"uid\":\"%s\"}}",
                                       object_meta(pod, "uid"));
    kube_delete(o->client, path, bytes_of(options), NULL, NULL);
}

static void on_pods(void *arg, const struct kube_answer *answer)
{
    struct orphan_pods *o = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *list = answer->code == 0 ? json_parse(a, answer->body, NULL, NULL) : NULL;
    JSON_EACH (pod, json_get(list, "items")) {
        const char *node = json_text(json_path(pod, "spec", "nodeName", NULL), "");
        if (*node && !map_find_text(o->known, node))
            drop_pod(o, a, pod);
    }
}

static void reconcile(void *arg, struct work *w)
{
    struct orphan_pods *o = arg;
    if (!kube_watch_synced(o->nodes) || map_find_text(o->known, w->name))
        return;
    kube_get(o->client, arena_printf(w->arena, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", w->name), on_pods, o);
}

static void on_node(void *arg, enum kube_event event, struct bytes object)
{
    struct orphan_pods *o = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *name = object_meta(json_parse(a, object, NULL, NULL), "name");
    if (event != KUBE_DELETED) {
        map_put(o->known, bytes_of(name), NULL);
        return;
    }
    map_remove(o->known, bytes_of(name));
    workqueue_add_after(o->queue, arena_printf(a, "/%s", name), AWAY_MS);
}

struct orphan_pods *orphan_pods_new(struct kube_client *c)
{
    struct orphan_pods *o = mem_zero(1, sizeof *o);
    o->client = c;
    o->known = map_new(sizeof(char));
    o->queue = workqueue_new(c, reconcile, o);
    o->nodes = kube_watch_new(c, &(struct kube_watch_config){.path = "/api/v1/nodes", .on_event = on_node, .arg = o});
    return o;
}

void orphan_pods_free(struct orphan_pods *o)
{
    if (!o)
        return;
    kube_client_forget(o->client, on_pods, o);
    kube_watch_free(o->nodes);
    workqueue_free(o->queue);
    map_free(o->known);
    free(o);
}
