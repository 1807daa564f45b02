#include "sched/domains/unadmitted_pods.h"
#include <stdlib.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object.h"

/* UNSEEN_MS: jobs of a kind that is new to the server are seen in 30 s (kube/watch.c). */
enum { HOLD_MS = 200, HOLD_MOST_MS = 1000, UNSEEN_MS = 60 * 1000, UNGROUPED_MS = 3000 };
#define SKIP_GROUPER "kai.scheduler/skip-podgrouper" /* annotation: it gets no group */

struct held {
    char *text; /* the pod */
    bool is_grouped;
};
struct unadmitted_pods {
    struct unadmitted_pods_config config;
    struct loop *loop;
    struct loop_timer *timer;
    int64_t wait_ms; /* until the next look: longer each time, as long as somebody is held */
    struct map *held; /* "ns/name" -> struct held */
    struct arena *scratch;
};

static bool names_queue(const struct unadmitted_pods *x, const struct pod_record *pod)
{
    for (uint32_t i = 0; i < pod->shape.labels_n; i++)
        if (pod->shape.labels[i].key == x->config.queue_label)
            return true;
    return false;
}

static bool is_younger(const struct unadmitted_pods *x, const struct json *pod, int64_t than_ms)
{
    int64_t created_ms;
    return time_parse(bytes_of(object_meta(pod, "creationTimestamp")), &created_ms) && loop_wall_ms(x->loop) - created_ms < than_ms;
}

static bool gets_group(const struct unadmitted_pods *x, const struct json *pod)
{
    return object_controlling_owner(pod) && !*object_annotation(pod, SKIP_GROUPER) && is_younger(x, pod, UNGROUPED_MS);
}

/* Does its job say so? */
static bool job_says_wait(const struct unadmitted_pods *x, const struct json *pod)
{
    const struct json *owner = object_controlling_owner(pod);
    const struct queued_kind *kind = owner && x->config.job_waits ? queued_kind_of_owner(owner) : NULL;
    enum job_waits waits = kind ? x->config.job_waits(x->config.arg, kind, object_meta(pod, "namespace"), json_get_text(owner, "name", ""),
                                                      json_get_text(owner, "uid", ""))
                                : JOB_WAITS_NOT;
    return waits == JOB_WAITS || (waits == JOB_UNSEEN && is_younger(x, pod, UNSEEN_MS));
}

/* is_grouped: its scheduler's pods are told their group later. */
static bool must_wait(const struct unadmitted_pods *x, struct bytes text, bool is_grouped)
{
    arena_reset(x->scratch);
    const struct json *pod = json_parse(x->scratch, text, NULL, NULL);
    return job_says_wait(x, pod) || (is_grouped && gets_group(x, pod)) || (x->config.grouping && x->config.grouping(x->config.arg, pod));
}

void unadmitted_pods_gone(struct unadmitted_pods *x, const char *key)
{
    struct held *h = map_find_text(x->held, key);
    if (!h)
        return;
    free(h->text);
    (void)map_remove(x->held, bytes_of(key));
}

bool unadmitted_pods_hold(struct unadmitted_pods *x, const char *key, const struct pod_record *pod, struct bytes object)
{
    static const char owned[] = "\"ownerReferences\"";
    unadmitted_pods_gone(x, key);
    if (pod->gang)
        return false;
    if (names_queue(x, pod))
        return true;
    bool to_bind = pod->ours && !pod->node && !pod->deleting;
    if (to_bind && x->config.is_made_group && x->config.is_made_group(x->config.again_arg, pod->scheduler))
        return true;
    bool is_grouped = x->config.is_grouped && x->config.is_grouped(x->config.again_arg, pod->scheduler);
    bool is_owned = (x->config.job_waits || is_grouped) && memmem(object.data, object.n, owned, sizeof owned - 1);
    bool gets_grouped = x->config.grouping && pod->scheduler == x->config.grouped_scheduler;
    if (!to_bind || (!is_owned && !gets_grouped) || !must_wait(x, object, is_grouped))
        return false;
    if (map_count(x->held) == 0)
        loop_timer_start(x->timer, x->wait_ms = HOLD_MS, 0);
    *(struct held *)map_put(x->held, bytes_of(key), NULL) = (struct held){mem_text_n(object.data, object.n), is_grouped};
    return true;
}

/* ORDER  first all are found: taken in, one may be held again, for another reason. */
static void look_again(void *arg)
{
    struct unadmitted_pods *x = arg;
    struct bytes key;
    size_t at = 0;
    uint32_t freed_n = 0;
    char **freed = mem_alloc((map_count(x->held) + 1) * sizeof *freed);
    for (struct held *h; (h = map_next(x->held, &at, &key));) {
        if (must_wait(x, bytes_of(h->text), h->is_grouped))
            continue;
        freed[freed_n++] = h->text;
        (void)map_remove(x->held, key);
    }
    for (uint32_t i = 0; i < freed_n; i++) {
        x->config.again(x->config.again_arg, bytes_of(freed[i]));
        free(freed[i]);
    }
    free(freed);
    x->wait_ms = 2 * x->wait_ms < HOLD_MOST_MS ? 2 * x->wait_ms : HOLD_MOST_MS;
    if (map_count(x->held))
        loop_timer_start(x->timer, x->wait_ms, 0);
}

struct unadmitted_pods *unadmitted_pods_new(struct loop *l, const struct unadmitted_pods_config *config)
{
    struct unadmitted_pods *x = mem_zero(1, sizeof *x);
    x->config = *config;
    x->loop = l;
    x->timer = loop_timer_new(l, look_again, x);
    x->held = map_new(sizeof(struct held));
    x->scratch = arena_new();
    return x;
}

void unadmitted_pods_free(struct unadmitted_pods *x)
{
    if (!x)
        return;
    size_t at = 0;
    for (struct held *h; (h = map_next(x->held, &at, NULL));)
        free(h->text);
    map_free(x->held);
    loop_timer_free(x->timer);
    arena_free(x->scratch);
    free(x);
}
