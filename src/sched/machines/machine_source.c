/* machine_source.c - see machine_source.h */
#include "sched/machines/machine_source.h"
#include <stdlib.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/memory.h"
#include "core/explain/wanting.h"
#include "core/state/selector.h"
#include "kube/object.h"
#include "kube/watch.h"
#include "loop/loop.h"

enum { SETTLE_MS = 1000, KINDS_MOST = LIMIT_PODSETS };

struct machine_source {
    struct kube_client *client;
    struct state *state;
    struct machine_pools *pools;
    struct kube_watch *pools_watch, *claims_watch; /* claims: NULL until there is a pool */
    struct loop_timer *timer;                      /* something has changed */
    struct arena *arena;
    uint64_t nodes_seq;                            /* as nodes were when they were last looked at */
    void (*on_changed)(void *arg), (*on_synced)(void *arg);
    void *arg;
};

/* ---- a gang ---- */

struct looking {
    struct machine_source *x;
    struct arena *a;
    struct machine_look look;
    struct machine_ask asks[KINDS_MOST];
    uint32_t n, kinds_n;
    bool exact; /* room on nodes that are there is always counted */
};

static void count_kind(void *arg, const struct wanting_pods *pods)
{
    uint32_t *n = arg;
    (void)pods;
    ++*n;
}

static const struct shape *shape_copy(struct arena *a, const struct shape *shape)
{
    struct bump b = {0};
    struct shape *copy = arena_alloc(a, sizeof *copy);
    bump_shape(&b, shape, copy);
    b = (struct bump){arena_alloc(a, b.n), 0};
    bump_shape(&b, shape, copy);
    return copy;
}

static int64_t without_place(const struct looking *l, const struct wanting_pods *pods)
{
    return pods->pods_n - wanting_holds(l->x->state, pods->shape_id, pods->pods_n);
}

/* What only Karpenter can bring counts most, then what comes first. */
static void note(struct looking *l, struct machine_verdict v, bool only)
{
    struct machine_verdict *is = &l->look.verdict;
    int64_t coming_n = is->coming_n > v.coming_n ? is->coming_n : v.coming_n;
    const char *coming = is->coming_n > v.coming_n ? is->coming : v.coming;
    if (v.cause != MACHINE_FITS && (is->cause == MACHINE_FITS || (only && !l->look.only)))
        l->look = (struct machine_look){v, only};
    is->coming_n = coming_n;
    is->coming = coming;
}

/* First as if nodes that are there had no room: to know that is dear, and seldom changes anything. */
static void look_at_kind(void *arg, const struct wanting_pods *pods)
{
    struct looking *l = arg;
    const struct intern *names = state_names(l->x->state);
    struct machine_ask ask = {pods->shape, l->exact ? without_place(l, pods) : pods->pods_n,
                              l->kinds_n > 1 ? intern_name(names, pods->pod_set) : ""};
    struct machine_verdict v = {.coming = "", .text = ""};
    if (ask.pods_n > 0)
        v = machine_judge(l->x->pools, names, &ask, l->a);
    if (v.cause != MACHINE_FITS && !l->exact) {
        ask.pods_n = without_place(l, pods);
        v = ask.pods_n > 0 ? machine_judge(l->x->pools, names, &ask, l->a) : (struct machine_verdict){.coming = "", .text = ""};
    }
    if (l->n < KINDS_MOST && ask.pods_n > 0)
        l->asks[l->n++] = (struct machine_ask){shape_copy(l->a, pods->shape), ask.pods_n, ask.title};
    note(l, v, v.cause != MACHINE_FITS && machine_is_karpenters(names, pods->shape));
}

/* Pods of several kinds may each have enough, and all together not. */
static void look_together(struct looking *l)
{
    const struct intern *names = state_names(l->x->state);
    struct machine_verdict v = machine_judge_together(l->x->pools, names, l->asks, l->n, l->a);
    if (v.cause == MACHINE_FITS)
        return;
    bool only = true;
    for (uint32_t i = 0; i < l->n; i++)
        only &= machine_is_karpenters(names, l->asks[i].shape);
    note(l, v, only);
}

/* WHY  it becomes a node a moment before its claim says so, and would be counted twice. */
static bool is_there(const struct state *s, const struct machine_claim *c)
{
    const struct intern *names = state_names((struct state *)s);
    name_id node = *c->node ? intern_find(names, bytes_of(c->node)) : 0;
    for (uint32_t i = 0; node && i < c->has.n; i++) {
        bool is_device = strchr(c->has.all[i].resource, '/');
        name_id resource = intern_find(names, bytes_of(c->has.all[i].resource));
        if (is_device && (!resource || !wanting_offered(s, node, resource)))
            return false;
    }
    return node && wanting_offered(s, node, intern_find(names, BYTES("cpu")));
}

static void see_nodes(struct machine_source *x)
{
    struct bytes key;
    size_t at = 0;
    uint64_t seq = wanting_seq(x->state);
    if (!x->pools->unsummed && seq == x->nodes_seq) /* thousands are looked at in a row */
        return;
    x->nodes_seq = seq;
    machine_pools_sum(x->pools);
    for (struct machine_pool **p; (p = map_next(x->pools->pools, &at, &key));)
        for (uint32_t i = 0; i < (*p)->coming_n; i++)
            (*p)->coming[i]->there = is_there(x->state, (*p)->coming[i]);
}

struct machine_look machine_source_look(struct machine_source *x, name_id gang, struct arena *a)
{
    struct looking l = {.x = x, .a = a, .look = {.verdict = {.coming = "", .text = ""}}};
    if (!machine_source_any(x))
        return l.look;
    see_nodes(x);
    wanting_each(x->state, gang, count_kind, &l.kinds_n);
    wanting_each(x->state, gang, look_at_kind, &l);
    if (l.look.verdict.cause != MACHINE_FITS || l.n < 2 ||
        machine_judge_together(x->pools, state_names(x->state), l.asks, l.n, a).cause == MACHINE_FITS)
        return l.look;
    l.exact = true;
    l.n = 0;
    wanting_each(x->state, gang, look_at_kind, &l);
    look_together(&l);
    return l.look;
}

/* ---- one domain for all of it ---- */

struct trying {
    struct machine_source *x;
    struct arena *a;
    const struct json *left_out;
    struct label label;
    int64_t lacking_n; /* pods that no node with the label holds */
    bool fits;
};

static bool is_among(const struct json *texts, const char *text)
{
    JSON_EACH (one, texts)
        if (strcmp(json_text(one, ""), text) == 0)
            return true;
    return false;
}

/* Its labels with this one, in the place of one that was tried. NULL: somebody else holds it to a value, and there is nothing to choose. */
static const struct label *labels_with(const struct trying *t, const struct shape *shape, uint32_t *ret_n)
{
    struct label *labels = arena_alloc(t->a, (shape->node_labels_n + 1) * sizeof *labels);
    uint32_t n = 0;
    for (uint32_t i = 0; i < shape->node_labels_n; i++) {
        const struct label *is = &shape->node_labels[i];
        if (is->key != t->label.key)
            labels[n++] = *is;
        else if (!is_among(t->left_out, intern_name(state_names(t->x->state), is->value)))
            return NULL;
    }
    labels[n++] = t->label;
    *ret_n = n;
    return labels;
}

static void try_kind(void *arg, const struct wanting_pods *pods)
{
    struct trying *t = arg;
    int64_t n = pods->pods_n - wanting_holds_where(t->x->state, pods->shape_id, &t->label, pods->pods_n);
    struct shape shape = *pods->shape;
    shape.node_labels = labels_with(t, pods->shape, &shape.node_labels_n);
    const struct machine_ask ask = {&shape, n, ""};
    t->lacking_n += n;
    t->fits &= shape.node_labels && (n <= 0 || machine_judge(t->x->pools, state_names(t->x->state), &ask, t->a).cause == MACHINE_FITS);
}

static void consider(struct trying *best, struct trying *t, name_id gang, const char *value)
{
    struct intern *names = state_names(t->x->state);
    t->label.value = intern_text_id(names, value);
    t->lacking_n = 0;
    t->fits = true;
    wanting_each(t->x->state, gang, try_kind, t);
    int order = best->fits ? strcmp(value, intern_name(names, best->label.value)) : -1;
    if (t->fits && (!best->fits || t->lacking_n < best->lacking_n || (t->lacking_n == best->lacking_n && order < 0)))
        *best = *t;
}

const char *machine_source_domain(struct machine_source *x, name_id gang, const char *key, const struct json *left_out, struct arena *a)
{
    struct trying best = {0}, t = {.x = x, .a = a, .left_out = left_out};
    struct bytes name;
    size_t at = 0;
    if (!machine_source_any(x))
        return NULL;
    see_nodes(x);
    t.label.key = intern_text_id(state_names(x->state), key);
    for (struct machine_pool **p; (p = map_next(x->pools->pools, &at, &name));)
        for (uint32_t i = 0; i < (*p)->requirements_n; i++) {
            const struct machine_requirement *r = &(*p)->requirements[i];
            for (uint32_t k = 0; k < r->values_n && r->op == REQUIRE_IN && strcmp(r->key, key) == 0; k++)
                if (!is_among(left_out, r->values[k]))
                    consider(&best, &t, gang, r->values[k]);
        }
    return best.fits ? arena_text(a, intern_name(state_names(x->state), best.label.value)) : NULL;
}

const char *machine_look_text(struct arena *a, const struct machine_look *look)
{
    const struct machine_verdict *v = &look->verdict;
    if (v->cause != MACHINE_FITS)
        return v->text;
    if (!v->coming_n)
        return NULL;
    return arena_printf(a, "%lld machine%s%s%s %s on %s way", (long long)v->coming_n, v->coming_n > 1 ? "s" : "",
                        *v->coming ? " of NodePool " : "", v->coming, v->coming_n > 1 ? "are" : "is", v->coming_n > 1 ? "their" : "its");
}

/* ---- what comes in ---- */

/* WHY a second: claims come and change by the dozen, and nodes that they have become are known by then. */
static void changed(struct machine_source *x)
{
    if (!loop_timer_running(x->timer))
        loop_timer_start(x->timer, SETTLE_MS, 0);
}

static void on_time(void *arg)
{
    struct machine_source *x = arg;
    if (machine_source_synced(x))
        x->on_changed(x->arg);
}

static void on_claim(void *arg, enum kube_event event, struct bytes raw)
{
    struct machine_source *x = arg;
    arena_reset(x->arena);
    const struct json *claim = json_parse(x->arena, raw, NULL, NULL);
    if (event == KUBE_DELETED ? machine_claims_drop(x->pools, object_meta(claim, "name")) : machine_claims_put(x->pools, claim))
        changed(x);
}

static void on_list(void *arg)
{
    struct machine_source *x = arg;
    changed(x);
    x->on_synced(x->arg);
}

static void on_denied(void *arg)
{
    (void)arg;
    log_warning(
        "NodePools or NodeClaims may not be read: what machines Karpenter can bring is not known; let the scheduler's ClusterRole list "
        "and watch nodepools and nodeclaims of group karpenter.sh");
}

static void on_pool(void *arg, enum kube_event event, struct bytes raw)
{
    struct machine_source *x = arg;
    arena_reset(x->arena);
    const struct json *pool = json_parse(x->arena, raw, NULL, NULL);
    bool news = event == KUBE_DELETED ? machine_pools_drop(x->pools, object_meta(pool, "name")) : machine_pools_put(x->pools, pool);
    const struct kube_watch_config claims = {.path = "/apis/karpenter.sh/v1/nodeclaims",
                                             .optional = true,
                                             .objects_max = MACHINE_CLAIMS,
                                             .on_event = on_claim,
                                             .on_synced = on_list,
                                             .on_denied = on_denied,
                                             .arg = x};
    if (!x->claims_watch && event != KUBE_DELETED)
        x->claims_watch = kube_watch_new(x->client, &claims);
    if (news)
        changed(x);
}

/* ---- the whole ---- */

struct machine_source *machine_source_new(struct kube_client *c, struct state *s, void (*on_changed)(void *arg),
                                          void (*on_synced)(void *arg), void *arg)
{
    struct machine_source *x = mem_zero(1, sizeof *x);
    const struct kube_watch_config pools = {.path = "/apis/karpenter.sh/v1/nodepools",
                                            .optional = true,
                                            .objects_max = MACHINE_POOLS,
                                            .on_event = on_pool,
                                            .on_synced = on_list,
                                            .on_denied = on_denied,
                                            .arg = x};
    *x = (struct machine_source){.client = c,
                                 .state = s,
                                 .pools = machine_pools_new(),
                                 .arena = arena_new(),
                                 .on_changed = on_changed,
                                 .on_synced = on_synced,
                                 .arg = arg};
    x->timer = loop_timer_new(kube_client_loop(c), on_time, x);
    x->pools_watch = kube_watch_new(c, &pools);
    return x;
}

bool machine_source_synced(const struct machine_source *x)
{
    return kube_watch_synced(x->pools_watch) && (!x->claims_watch || kube_watch_synced(x->claims_watch));
}

bool machine_source_any(const struct machine_source *x)
{
    return x && map_count(x->pools->pools) && machine_source_synced(x);
}

void machine_source_free(struct machine_source *x)
{
    if (!x)
        return;
    kube_watch_free(x->pools_watch);
    kube_watch_free(x->claims_watch);
    loop_timer_free(x->timer);
    machine_pools_free(x->pools);
    arena_free(x->arena);
    free(x);
}
