#include "sched/hung/hung.h"
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "core/score/load.h"
#include "gpu/model.h"
#include "sched/scheduler.h"

enum { AGAIN_MS = 600000 }; /* it asks for a restart, and nothing came of it: the core was started anew, perhaps. It is asked again */

struct watched {
    uint64_t look_n;          /* the last in which it had devices */
    int64_t idle_ms;          /* wall: since when none of them does anything; 0: some does, or it is not known */
    int64_t found_ms;         /* what its object says, or is about to; 0: nothing */
    uint32_t devices_n;
    bool busy, unmeasured;    /* in this look */
    bool talks;               /* the same: the network of a node that it has alone is busy */
    bool read;                /* what its object says has been looked at */
};
struct hung {
    struct scheduler *s;
    struct loop_timer *timer;
    struct map *gangs;        /* key -> struct watched */
    uint64_t looks_n;
    int64_t after_ms;
};

/* ---- who has which device, and what that does ---- */

static struct watched *watched_in_look(struct hung *h, name_id gang)
{
    struct watched *w = map_put(h->gangs, bytes_of(intern_name(h->s->names, gang)), NULL);
    if (w->look_n == h->looks_n)
        return w;
    w->look_n = h->looks_n;
    w->devices_n = 0;
    w->busy = w->unmeasured = w->talks = false;
    return w;
}

/* WHY not of a node on which others have GPUs, too: the counters are the node's, and it may be them who talk. */
static void look_at_network(struct hung *h, const struct node_detail *d, name_id node, int64_t now_ms)
{
    name_id gang = 0;
    for (uint32_t i = 0; i < d->devices_n; i++) {
        bool other = d->devices[i].gang && gang && d->devices[i].gang != gang;
        if (other)
            return;
        gang = d->devices[i].gang ? d->devices[i].gang : gang;
    }
    if (gang && !d->taken_n && !d->shares_n && state_node_network(h->s->state, node, now_ms) >= HUNG_NETWORK_BYTES)
        watched_in_look(h, gang)->talks = true;
}

static void look_at_node(struct hung *h, struct arena *a, name_id node, int64_t now_ms)
{
    struct scheduler *s = h->s;
    struct node_detail d = {0};
    const struct device_feedback *all = NULL;
    int64_t age_ms;
    uint32_t n = state_node_feedback(s->state, node, now_ms, &all, &age_ms);
    if (!state_node_detail(s->state, node, a, &d))
        return;
    for (uint32_t i = 0; i < d.devices_n; i++) {
        if (!d.devices[i].gang || !gpu_is_resource(intern_name(s->names, d.devices[i].resource)))
            continue;
        struct watched *w = watched_in_look(h, d.devices[i].gang);
        const struct device_feedback *f = load_measured(s->names, all, n, d.devices[i].id);
        w->devices_n++;
        w->unmeasured |= !d.ready || !f || f->activity_permille < 0;
        w->busy |= f && f->activity_permille >= HUNG_PERMILLE;
    }
    look_at_network(h, &d, node, now_ms);
    for (uint32_t i = 0; i < d.taken_n; i++) /* devices that are only counted: nobody knows which they are */
        if (d.taken[i].gang)
            watched_in_look(h, d.taken[i].gang)->unmeasured = true;
    for (uint32_t i = 0; i < d.shares_n; i++) /* of a GPU that others use, too */
        if (d.shares[i].gang)
            watched_in_look(h, d.shares[i].gang)->unmeasured = true;
}

/* ---- what its object says ---- */

struct look {
    struct hung *h;
    struct arena *a;
    const struct seen_gang *g;
    struct watched *w;
    struct json *object;
    int64_t now_ms;
};

static const char *said(const struct look *x, const char *annotation)
{
    return object_annotation(x->object, annotation);
}

static int64_t after_ms(const struct look *x)
{
    int32_t seconds;
    return decode_hung_after(bytes_of(said(x, DECODE_HUNG_AFTER_ANNOTATION)), &seconds) ? (int64_t)seconds * 1000 : x->h->after_ms;
}

static bool asks_restart(const struct look *x)
{
    bool restarts;
    return decode_truth(bytes_of(said(x, DECODE_HUNG_RESTART_ANNOTATION)), &restarts) && restarts;
}

static void on_written(void *arg, const struct kube_answer *answer)
{
    (void)arg;
    if (answer->code < 0 && answer->code != -E_NOTFOUND)
        log_warning("a gang that hangs is not told so status=%d error=\"%s\"", answer->status, answer->error.text);
}

/* found_ms 0: it does not hang any more. */
static void write_found(const struct look *x, int64_t found_ms)
{
    const char *ns = object_meta(x->object, "namespace"), *name = object_meta(x->object, "name");
    struct json *patch = json_new(x->a, JSON_OBJECT),
                *annotations = json_ensure_object(x->a, json_ensure_object(x->a, patch, "metadata"), "annotations");
    char text[TIME_TEXT_MAX];
    if (found_ms)
        json_set_text(x->a, annotations, DECODE_HUNG_ANNOTATION, time_format(text, found_ms));
    else
        json_set(x->a, annotations, DECODE_HUNG_ANNOTATION, json_new(x->a, JSON_NULL));
    _cleanup_buf_ struct buf body = {0};
    json_write(&body, patch);
    struct gang_object_kind kind = gang_object_kind(x->h->s, x->g->source);
    const char *path = kube_path(x->a, kind.group, kind.version, kind.plural, ns, name, NULL);
    kube_patch(x->h->s->client, KUBE_PATCH_MERGE, path, buf_view(&body), on_written, x->h);
    x->w->found_ms = found_ms;
}

static struct kube_object_ref about(const struct look *x)
{
    struct gang_object_kind kind = gang_object_kind(x->h->s, x->g->source);
    return (struct kube_object_ref){kind.api_version, kind.kind, object_meta(x->object, "namespace"),
                                    object_meta(x->object, "name"), object_meta(x->object, "uid")};
}

static void tell_found(const struct look *x)
{
    struct kube_object_ref ref = about(x);
    kube_event(x->h->s->events, &ref, "Warning", "GangHung", "none of its %u GPU(s) has done anything for %lld s, though all its pods run%s",
               x->w->devices_n, (long long)((x->now_ms - x->w->idle_ms) / 1000),
               asks_restart(x) ? ": it is started again" : "; annotation " DECODE_HUNG_RESTART_ANNOTATION ": \"true\" starts it again then");
    write_found(x, x->now_ms);
}

static void tell_over(const struct look *x)
{
    struct kube_object_ref ref = about(x);
    if (x->w->busy)
        kube_event(x->h->s->events, &ref, "Normal", "GangActive", "its GPUs work again");
    write_found(x, 0);
}

/* ---- a look ---- */

/* Its object is read only when something may be to be told: most gangs compute. */
static bool is_worth_reading(const struct look *x)
{
    return !x->w->read || x->w->found_ms || (x->w->idle_ms && x->now_ms - x->w->idle_ms >= DECODE_HUNG_AFTER_LEAST_S * 1000);
}

static void judge(struct hung *h, struct arena *a, const char *key, struct watched *w, int64_t now_ms)
{
    struct scheduler *s = h->s;
    name_id id = intern_find(s->names, bytes_of(key));
    struct look x = {.h = h, .a = a, .w = w, .now_ms = now_ms, .g = id ? seen_gang(s, id) : NULL};
    if (!x.g || !x.g->has_object || x.g->source == GANG_POD)
        return;
    bool runs = x.g->running_n > 0 && x.g->running_n >= x.g->bound_n;
    bool idle = runs && w->devices_n && !w->busy && !w->talks && !w->unmeasured;
    w->idle_ms = !idle ? 0 : w->idle_ms ? w->idle_ms : now_ms;
    if (!is_worth_reading(&x) || !(x.object = source_get(s, gang_object_kind(s, x.g->source).source, seen_gang_object(s, x.g), a)))
        return;
    int64_t limit_ms = after_ms(&x);
    bool hangs = w->idle_ms && limit_ms && now_ms - w->idle_ms >= limit_ms;
    if (!w->read && !time_parse(bytes_of(said(&x, DECODE_HUNG_ANNOTATION)), &w->found_ms))
        w->found_ms = 0;
    w->read = true;
    if (hangs && !w->found_ms)
        tell_found(&x);
    else if (hangs && asks_restart(&x) && now_ms - w->found_ms >= AGAIN_MS)
        write_found(&x, now_ms);
    else if (!hangs && w->found_ms && (w->busy || !runs || w->idle_ms))
        tell_over(&x);
}

/* It has no devices any more. */
static void leave(struct hung *h, struct arena *a, const char *key, struct watched *w)
{
    struct scheduler *s = h->s;
    name_id id = intern_find(s->names, bytes_of(key));
    struct look x = {.h = h, .a = a, .w = w, .g = id ? seen_gang(s, id) : NULL};
    if (!w->found_ms || !x.g || !x.g->has_object)
        return;
    x.object = source_get(s, gang_object_kind(s, x.g->source).source, seen_gang_object(s, x.g), a);
    if (x.object)
        write_found(&x, 0);
}

static void judge_all(struct hung *h, struct arena *a, int64_t now_ms)
{
    struct bytes key;
    size_t at = 0;
    for (struct watched *w; (w = map_next(h->gangs, &at, &key));) {
        const char *name = arena_text_n(a, key.data, key.n);
        if (w->look_n == h->looks_n) {
            judge(h, a, name, w, now_ms);
            continue;
        }
        leave(h, a, name, w);
        (void)map_remove(h->gangs, bytes_of(name));
    }
}

static void look(void *arg)
{
    struct hung *h = arg;
    struct scheduler *s = h->s;
    if (!scheduler_may_act(s) || !s->leading || !s->synced)
        return;
    _cleanup_arena_ struct arena *a = arena_new(), *of_node = arena_new();
    int64_t now_ms = loop_wall_ms(s->loop);
    struct node_look *nodes;
    uint32_t nodes_n = state_nodes(s->state, a, &nodes);
    h->looks_n++;
    for (uint32_t i = 0; i < nodes_n; i++) {
        look_at_node(h, of_node, nodes[i].name, now_ms);
        arena_reset(of_node);
    }
    judge_all(h, a, now_ms);
}

struct hung *hung_new(struct scheduler *s, int64_t after_ms)
{
    struct hung *h = mem_zero(1, sizeof *h);
    h->s = s;
    h->after_ms = after_ms;
    h->gangs = map_new(sizeof(struct watched));
    h->timer = loop_timer_new(s->loop, look, h);
    loop_timer_start(h->timer, HUNG_LOOK_MS, HUNG_LOOK_MS);
    return h;
}

void hung_free(struct hung *h)
{
    if (!h)
        return;
    kube_client_forget(h->s->client, on_written, h);
    loop_timer_free(h->timer);
    map_free(h->gangs);
    free(h);
}
