#include "sched/domains/stray_pods.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "codec/kinds/podset_names.h"
#include "core/state/topology.h"
#include "kube/object.h"
#include "kube/workqueue.h"

#define CONDITION "TerminatedByKueue"
#define LOOK_MS 2000 /* at those that wait for their scheduler */

struct held {
    char *gang, *node;       /* texts: names go with the state's sweep */
    char *uid, *version;
};
struct stray_pods {
    const bool *leading;
    const struct state *state;
    struct intern *names;
    struct loop *loop;
    struct kube_recorder *events;
    struct map *held;        /* "ns/name" -> struct held * */
    struct workqueue *queue;
};

static void held_free(struct held *h)
{
    free(h->gang);
    free(h->node);
    free(h->uid);
    free(h->version);
    free(h);
}

void stray_pods_gone(struct stray_pods *x, const char *key)
{
    struct held **at = map_find_text(x->held, key);
    if (!at)
        return;
    held_free(*at);
    map_remove(x->held, bytes_of(key));
}

/* Of which node its nodeSelector speaks; NULL: of none. */
static const char *node_of(const struct stray_pods *x, const struct pod_record *pod)
{
    for (uint32_t i = 0; i < pod->shape.node_labels_n; i++)
        if (text_equal(intern_name(x->names, pod->shape.node_labels[i].key), TOPOLOGY_NODE_LABEL))
            return intern_name(x->names, pod->shape.node_labels[i].value);
    return NULL;
}

static bool asks_for_topology(const struct json *pod)
{
    return *object_annotation(pod, PODSET_REQUIRED) || *object_annotation(pod, PODSET_PREFERRED) ||
           *object_annotation(pod, PODSET_UNCONSTRAINED);
}

void stray_pods_seen(struct stray_pods *x, const struct pod_record *pod, struct bytes object)
{
    bool waits = pod->gang && pod->gang_source == GANG_WORKLOAD && !pod->ours && !pod->node && !pod->gated && !pod->deleting &&
                 pod->phase == POD_PENDING;
    const char *node = waits ? node_of(x, pod) : NULL;
    const char *key = intern_name(x->names, pod->key);
    if (!node && !map_find_text(x->held, key))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *read = node ? json_parse(a, object, NULL, NULL) : NULL;
    stray_pods_gone(x, key);
    if (!read || !asks_for_topology(read))
        return;
    struct held *h = mem_zero(1, sizeof *h);
    *h = (struct held){mem_text(intern_name(x->names, pod->gang)), mem_text(node), mem_text(object_meta(read, "uid")),
                       mem_text(object_meta(read, "resourceVersion"))};
    *(struct held **)map_put(x->held, bytes_of(key), NULL) = h;
    workqueue_add_after(x->queue, key, STRAY_WAIT_MS);
}

/* Has its Workload a place on the node, or may it have one that nobody has read yet? */
static bool may_belong(const struct stray_pods *x, const struct held *h)
{
    const struct domain_choice *domains;
    const name_id *levels;
    name_id gang = intern_find(x->names, bytes_of(h->gang));
    enum gang_phase phase = gang ? state_gang_phase(x->state, gang) : GANG_UNKNOWN;
    if (phase == GANG_WAITING)
        return false;
    if (phase != GANG_RESERVED && phase != GANG_ADMITTED && phase != GANG_BOUND)
        return true;
    uint32_t n = state_gang_domains(x->state, gang, &domains);
    bool belongs = n == 0;
    for (uint32_t i = 0; i < n && !belongs; i++) {
        uint32_t levels_n = state_gang_levels(x->state, gang, domains[i].pod_set, &levels);
        bool by_node = levels_n && text_equal(intern_name(x->names, levels[levels_n - 1]), TOPOLOGY_NODE_LABEL);
        belongs = !by_node || text_equal(intern_name(x->names, domains[i].domain), h->node);
    }
    return belongs;
}

static void act_fail(struct stray_pods *x, struct work *w, const struct held *h)
{
    struct arena *a = w->arena;
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(x->loop));
    struct json *patch = json_new(a, JSON_OBJECT), *condition = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata"),
                *status = json_ensure_object(a, patch, "status");
    json_set_text(a, meta, "uid", h->uid);
    json_set_text(a, meta, "resourceVersion", h->version); /* WHY  it may have been bound meanwhile */
    json_set_text(a, status, "phase", "Failed");
    json_set_text(a, condition, "type", CONDITION);
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "reason", "UnschedulableOnAssignedNode");
    json_set_text(a, condition, "message", arena_printf(a, "Its Workload has no place on node %s", h->node));
    json_set_text(a, condition, "lastTransitionTime", now);
    json_append(json_ensure_array(a, status, "conditions"), condition);
    struct kube_object_ref ref = {"v1", "Pod", w->ns, w->name, h->uid};
    kube_event_then(x->events, w, &ref, "Normal", "PodTerminatedByKueue", "Its Workload has no place on node %s, which it was held to",
                    h->node);
    work_patch(w, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", w->ns, w->name, "status"), patch);
}

static void reconcile(void *arg, struct work *w)
{
    struct stray_pods *x = arg;
    struct held *const *at = map_find_text(x->held, w->key);
    if (!at)
        return;
    if (!*x->leading || may_belong(x, *at))
        work_again(w, LOOK_MS);
    else
        act_fail(x, w, *at);
}

struct stray_pods *stray_pods_new(struct kube_client *c, const struct state *s, struct intern *names, struct kube_recorder *events,
                                  const bool *leading)
{
    struct stray_pods *x = mem_zero(1, sizeof *x);
    x->state = s;
    x->names = names;
    x->leading = leading;
    x->loop = kube_client_loop(c);
    x->events = events;
    x->held = map_new(sizeof(struct held *));
    x->queue = workqueue_new(c, reconcile, x);
    return x;
}

void stray_pods_free(struct stray_pods *x)
{
    if (!x)
        return;
    workqueue_free(x->queue);
    size_t at = 0;
    for (struct held **h; (h = map_next(x->held, &at, NULL));)
        held_free(*h);
    map_free(x->held);
    free(x);
}
