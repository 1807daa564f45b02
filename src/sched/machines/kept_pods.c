/* kept_pods.c - see kept_pods.h */
#include "sched/machines/kept_pods.h"
#include <stdlib.h>
#include <string.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "codec/kinds/scale_up_names.h"
#include "kube/object.h"
#include "kube/workqueue.h"

enum { LOOK_MS = 1000 }; /* what the core is told with it is taken in by then */
enum kept { KEPT_NOT, KEPT_BY_US, KEPT_BY_OTHERS };

struct kept_pod {
    char *gang, *node, *uid; /* texts: names go with the state's sweep */
    enum kept is;
};
struct kept_pods {
    const struct state *state;
    struct intern *names;
    const bool *leading;
    const struct machine_source *machines;
    struct map *pods; /* "ns/name" -> struct kept_pod: bound, of a pod group */
    struct workqueue *queue;
    bool any; /* there were NodePools */
};

static void clear(struct kept_pod *p)
{
    free(p->gang);
    free(p->node);
    free(p->uid);
    *p = (struct kept_pod){0};
}

static enum kept kept_by(struct bytes object, struct bytes head)
{
    if (!memmem(head.data, head.n, MACHINE_KEEP, strlen(MACHINE_KEEP)))
        return KEPT_NOT;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *pod = json_parse(a, object, NULL, NULL);
    const char *said = object_annotation(pod, MACHINE_KEEP);
    return !*said ? KEPT_NOT : strcmp(said, "true") == 0 && *object_annotation(pod, MACHINE_KEPT) ? KEPT_BY_US : KEPT_BY_OTHERS;
}

void kept_pods_seen(struct kept_pods *x, const struct pod_record *pod, struct bytes object, struct bytes head)
{
    const char *key = intern_name(x->names, pod->key);
    bool group = pod->gang_source != GANG_WORKLOAD && pod->gang_source != GANG_POD;
    bool stands = pod->gang && group && pod->ours && pod->node && !pod->deleting && pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED;
    if (!stands) {
        kept_pods_gone(x, key);
        return;
    }
    struct kept_pod *p = map_put(x->pods, bytes_of(key), NULL);
    clear(p);
    *p = (struct kept_pod){mem_text(intern_name(x->names, pod->gang)), mem_text(intern_name(x->names, pod->node)),
                           mem_text(intern_name(x->names, pod->uid)), kept_by(object, head)};
    if (p->is == KEPT_NOT)
        workqueue_add_after(x->queue, key, LOOK_MS);
}

void kept_pods_gone(struct kept_pods *x, const char *key)
{
    struct kept_pod *p = map_count(x->pods) ? map_find_text(x->pods, key) : NULL;
    if (!p)
        return;
    clear(p);
    map_remove(x->pods, bytes_of(key));
}

void kept_pods_look(struct kept_pods *x, const char *pod)
{
    if (map_find_text(x->pods, pod))
        workqueue_add_after(x->queue, pod, LOOK_MS);
}

void kept_pods_look_all(struct kept_pods *x)
{
    struct bytes key;
    for (size_t at = 0; map_next(x->pods, &at, &key);)
        workqueue_add_after(x->queue, key.data, LOOK_MS);
}

void kept_pods_follow(struct kept_pods *x)
{
    bool any = machine_source_any(x->machines);
    if (any && !x->any)
        kept_pods_look_all(x);
    x->any = any;
}

/* ---- writing ---- */

static bool is_karpenters_node(const struct kept_pods *x, const struct kept_pod *p, struct arena *a)
{
    struct node_detail d;
    name_id node = intern_find(x->names, bytes_of(p->node)), key = intern_find(x->names, BYTES(MACHINE_POOL_LABEL));
    if (!node || !key || !state_node_detail(x->state, node, a, &d))
        return false;
    for (uint32_t i = 0; i < d.labels_n; i++)
        if (d.labels[i].key == key)
            return true;
    return false;
}

static bool is_needed(const struct kept_pods *x, const struct kept_pod *p)
{
    struct gang_look look;
    name_id gang = intern_find(x->names, bytes_of(p->gang));
    return gang && state_gang_phase(x->state, gang) != GANG_UNKNOWN && state_gang_look(x->state, gang, &look) && look.fewest_n > 1;
}

static void write_pod(struct work *w, const struct kept_pod *p, bool keeps)
{
    struct arena *a = w->arena;
    struct json *patch = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata"),
                *annotations = json_ensure_object(a, meta, "annotations");
    json_set_text(a, meta, "uid", p->uid); /* not a successor of the same name */
    json_set(a, annotations, MACHINE_KEEP, keeps ? json_new_text(a, "true") : json_new(a, JSON_NULL));
    json_set(a, annotations, MACHINE_KEPT, keeps ? json_new_text(a, "true") : json_new(a, JSON_NULL));
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "pods", w->ns, w->name, NULL), patch);
}

static void look_at(void *arg, struct work *w)
{
    struct kept_pods *x = arg;
    const struct kept_pod *p = map_find_text(x->pods, w->key);
    if (!*x->leading || !p || p->is == KEPT_BY_OTHERS || !machine_source_any(x->machines))
        return;
    bool keeps = is_needed(x, p) && is_karpenters_node(x, p, w->arena);
    if (keeps != (p->is == KEPT_BY_US))
        write_pod(w, p, keeps);
}

/* ---- the whole ---- */

struct kept_pods *kept_pods_new(struct kube_client *c, const struct state *s, struct intern *names, const bool *leading,
                                const struct machine_source *machines)
{
    struct kept_pods *x = mem_zero(1, sizeof *x);
    *x = (struct kept_pods){s, names, leading, machines, map_new(sizeof(struct kept_pod)), NULL, false};
    x->queue = workqueue_new(c, look_at, x);
    return x;
}

void kept_pods_free(struct kept_pods *x)
{
    struct bytes key;
    size_t at = 0;
    if (!x)
        return;
    workqueue_free(x->queue);
    for (struct kept_pod *p; (p = map_next(x->pods, &at, &key));)
        clear(p);
    map_free(x->pods);
    free(x);
}
