#include "sched/domains/unadmitted_pods.h"
#include <stdlib.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/memory.h"
#include "kube/object.h"

/* UNSEEN_MS: jobs of a kind that is new to the server are seen in 30 s (kube/watch.c). */
enum { HOLD_MS = 200, HOLD_MOST_MS = 1000, UNSEEN_MS = 60 * 1000 };

struct unadmitted_pods {
    struct unadmitted_pods_config config;
    struct loop *loop;
    struct loop_timer *timer;
    int64_t wait_ms; /* until the next look: longer each time, as long as somebody is held */
    struct map *held; /* "ns/name" -> char *, the pod */
    struct arena *scratch;
};

static bool names_queue(const struct unadmitted_pods *x, const struct pod_record *pod)
{
    for (uint32_t i = 0; i < pod->shape.labels_n; i++)
        if (pod->shape.labels[i].key == x->config.queue_label)
            return true;
    return false;
}

static bool must_wait(const struct unadmitted_pods *x, const char *text, size_t n)
{
    int64_t created_ms;
    arena_reset(x->scratch);
    const struct json *pod = json_parse(x->scratch, (struct bytes){text, n}, NULL, NULL), *owner = object_controlling_owner(pod);
    const struct queued_kind *kind = owner ? queued_kind_of_owner(owner) : NULL;
    enum job_waits waits = kind ? x->config.job_waits(x->config.arg, kind, object_meta(pod, "namespace"), json_get_text(owner, "name", ""),
                                                      json_get_text(owner, "uid", ""))
                                : JOB_WAITS_NOT;
    if (waits != JOB_UNSEEN)
        return waits == JOB_WAITS;
    return time_parse(bytes_of(object_meta(pod, "creationTimestamp")), &created_ms) && loop_wall_ms(x->loop) - created_ms < UNSEEN_MS;
}

void unadmitted_pods_gone(struct unadmitted_pods *x, const char *key)
{
    char **text = map_find_text(x->held, key);
    if (!text)
        return;
    free(*text);
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
    if (!x->config.job_waits || !to_bind || !memmem(object.data, object.n, owned, sizeof owned - 1) || !must_wait(x, object.data, object.n))
        return false;
    if (map_count(x->held) == 0)
        loop_timer_start(x->timer, x->wait_ms = HOLD_MS, 0);
    *(char **)map_put(x->held, bytes_of(key), NULL) = mem_text_n(object.data, object.n);
    return true;
}

/* ORDER  first all are found: taken in, one may be held again, for another reason. */
static void look_again(void *arg)
{
    struct unadmitted_pods *x = arg;
    struct bytes key;
    size_t at = 0;
    uint32_t freed_n = 0;
    char **text, **freed = mem_alloc((map_count(x->held) + 1) * sizeof *freed);
    while ((text = map_next(x->held, &at, &key))) {
        if (must_wait(x, *text, strlen(*text)))
            continue;
        freed[freed_n++] = *text;
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
    x->held = map_new(sizeof(char *));
    x->scratch = arena_new();
    return x;
}

void unadmitted_pods_free(struct unadmitted_pods *x)
{
    if (!x)
        return;
    size_t at = 0;
    char **text;
    while ((text = map_next(x->held, &at, NULL)))
        free(*text);
    map_free(x->held);
    loop_timer_free(x->timer);
    arena_free(x->scratch);
    free(x);
}
