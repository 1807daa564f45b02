/* machine_judge.c - see machine_judge.h */
#include "sched/machines/machine_judge.h"
#include <stdlib.h>
#include <string.h>
#include "base/amount.h"
#include "kube/object.h"
#include "sched/machines/machine_labels.h"
#include "sched/telling/amount.h"

enum { POOLS_TOLD = 3 };
#define MANY INT64_MAX

struct pool_view { /* one pool, for one kind of pods */
    const struct machine_pool *pool;
    enum machine_cause cause;
    const char *what;   /* key of a label or taint, resource */
    int64_t have, need; /* TOO_SMALL, in milli; have 0 where nothing of it is known to be there */
    int64_t room_n;     /* pods for which machines may come, or are on their way; MANY */
    int64_t coming_n;
};

/* What a pod asks of it that Karpenter knows; 0: nothing. */
static int64_t asked_milli(const struct machine_pools *m, const struct intern *names, const struct amount *request)
{
    const char *name = intern_name(names, request->resource);
    if (text_starts(name, GPU_SHARE_PREFIX) || !machine_resource_known(m, name))
        return 0;
    return strcmp(name, "cpu") == 0 ? request->value : amount_times(request->value, 1000);
}

/* ---- size ---- */

/* Labels that say how large a machine is, whatever the cloud; the unit in milli of the resource. */
static const struct {
    const char *end, *resource;
    int64_t unit;
} sizes[] = {{"/instance-gpu-count", "nvidia.com/gpu", 1000},
             {"/sku-gpu-count", "nvidia.com/gpu", 1000},
             {"/instance-cpu", "cpu", 1000},
             {"/sku-cpu", "cpu", 1000},
             {"/instance-memory", "memory", INT64_C(1048576000)},
             {"/sku-memory", "memory", INT64_C(1048576000)}};

/* By such requirements. */
static int64_t most_by_labels(const struct machine_pool *p, const char *resource)
{
    int64_t most = MANY;
    for (uint32_t i = 0; i < p->requirements_n; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const char *key = p->requirements[i].key;
            if (strcmp(sizes[k].resource, resource) != 0 || !text_ends(key, sizes[k].end))
                continue;
            int64_t n = machine_label_most(p, key);
            int64_t here = n == INT64_MAX ? MANY : amount_times(n > 0 ? n : 0, sizes[k].unit);
            most = here < most ? here : most;
        }
    return most;
}

/* So many of the pods on one machine that has so much (NULL: as requirements say). ret_short: the resource of which one has too little. */
static int64_t pods_on(const struct machine_pools *m, const struct intern *names, const struct shape *shape, const struct machine_pool *p,
                       const struct machine_amounts *has, struct pool_view *ret_short)
{
    int64_t n = MANY;
    for (uint32_t i = 0; i < shape->requests_n; i++) {
        const char *resource = intern_name(names, shape->requests[i].resource);
        int64_t one = asked_milli(m, names, &shape->requests[i]);
        if (one <= 0)
            continue;
        int64_t have = has ? machine_amount_of(has, resource) : MANY, by_labels = p ? most_by_labels(p, resource) : MANY;
        have = have < 0 ? 0 : have;
        have = by_labels < have ? by_labels : have;
        if (have < one && (!ret_short->what || (strcmp(ret_short->what, resource) == 0 && have > ret_short->have)))
            *ret_short = (struct pool_view){.what = resource, .have = have, .need = one};
        n = have / one < n && have != MANY ? have / one : n;
    }
    return n;
}

static bool pods_admit_type(const struct intern *names, const struct shape *shape, const char *type)
{
    for (uint32_t i = 0; i < shape->node_labels_n; i++)
        if (strcmp(intern_name(names, shape->node_labels[i].key), MACHINE_TYPE_LABEL) == 0 &&
            strcmp(intern_name(names, shape->node_labels[i].value), type) != 0)
            return false;
    return true;
}

static const struct machine_requirement *types_of(const struct machine_pool *p)
{
    for (uint32_t i = 0; i < p->requirements_n; i++)
        if (strcmp(p->requirements[i].key, MACHINE_TYPE_LABEL) == 0 && p->requirements[i].op == REQUIRE_IN)
            return &p->requirements[i];
    return NULL;
}

/* ---- limits ---- */

static int64_t left_milli(const struct machine_pool *p, const struct machine_amount *limit)
{
    int64_t used = strcmp(limit->resource, "nodes") == 0 ? amount_times(p->claims_n, 1000) : machine_amount_of(&p->used, limit->resource);
    return limit->milli - (used > 0 ? used : 0);
}

/* More machines that have so much each, before a limit is reached. */
static int64_t machines_left(const struct machine_pool *p, const struct machine_amounts *has)
{
    int64_t n = MANY;
    for (uint32_t i = 0; i < p->limits.n; i++) {
        int64_t left = left_milli(p, &p->limits.all[i]),
                each = strcmp(p->limits.all[i].resource, "nodes") == 0 ? 1000 : machine_amount_of(has, p->limits.all[i].resource);
        if (each <= 0)
            continue;
        int64_t here = left > 0 ? left / each : 0;
        n = here < n ? here : n;
    }
    return n;
}

/* The same where nothing is known of its machines: in pods, whose requests are the least that comes with them. */
static int64_t pods_left(const struct machine_pools *m, const struct intern *names, const struct machine_pool *p, const struct shape *shape)
{
    int64_t n = MANY;
    for (uint32_t i = 0; i < p->limits.n; i++) {
        const char *resource = p->limits.all[i].resource;
        int64_t left = left_milli(p, &p->limits.all[i]);
        bool all_have = strcmp(resource, "nodes") == 0 || strcmp(resource, "cpu") == 0 || strcmp(resource, "memory") == 0;
        if (all_have && left <= 0)
            return 0;
        for (uint32_t k = 0; k < shape->requests_n; k++) {
            int64_t one =
                strcmp(intern_name(names, shape->requests[k].resource), resource) == 0 ? asked_milli(m, names, &shape->requests[k]) : 0;
            int64_t here = one > 0 && left > 0 ? left / one : 0;
            n = one > 0 && here < n ? here : n;
        }
    }
    return n;
}

/* ---- one pool ---- */

static void look_at_coming(const struct machine_pools *m, const struct intern *names, const struct shape *shape, struct pool_view *v)
{
    struct pool_view unused = {0};
    for (uint32_t i = 0; i < v->pool->coming_n; i++) {
        const struct machine_claim *c = v->pool->coming[i];
        if (c->there || (*c->type && !pods_admit_type(names, shape, c->type)))
            continue;
        int64_t n = pods_on(m, names, shape, NULL, c->offers.n ? &c->offers : &c->asked, &unused);
        v->room_n = amount_plus(v->room_n, n);
        v->coming_n += n > 0;
    }
}

/* Of each type that it lists and the pods admit; a type that nobody has seen yet may be of any size. */
static void look_at_machines(const struct machine_pools *m, const struct intern *names, const struct shape *shape, struct pool_view *v)
{
    const struct machine_requirement *types = types_of(v->pool);
    struct pool_view lack = {0};
    int64_t most_n = 0;
    bool fits = false;
    for (uint32_t i = 0; i < (types ? types->values_n : 1); i++) {
        const char *name = types ? types->values[i] : NULL;
        if (name && (!pods_admit_type(names, shape, name) || !machine_label_may(v->pool, MACHINE_TYPE_LABEL, name)))
            continue;
        const struct machine_type *type = name ? map_find_text(m->types, name) : NULL;
        int64_t each_n = pods_on(m, names, shape, v->pool, type ? &type->offers : NULL, &lack), n;
        fits |= each_n > 0;
        n = each_n <= 0 ? 0 : type ? amount_times(machines_left(v->pool, &type->has), each_n) : pods_left(m, names, v->pool, shape);
        most_n = n > most_n ? n : most_n;
    }
    v->cause = fits ? MACHINE_FITS : MACHINE_TOO_SMALL;
    v->what = lack.what;
    v->have = lack.have;
    v->need = lack.need;
    v->room_n = most_n;
}

static struct pool_view look_at_pool(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask,
                                     const struct machine_pool *p)
{
    struct pool_view v = {.pool = p, .cause = MACHINE_FITS, .room_n = MANY};
    if (p->unready) /* what is on its way comes all the same */
        v = (struct pool_view){.pool = p, .cause = MACHINE_UNREADY};
    if (!p->unread && (v.what = machine_label_lacking(p, names, ask->shape)))
        return (struct pool_view){.pool = p, .cause = MACHINE_LABELS, .what = v.what};
    if (!p->unread && (v.what = machine_taint_lacking(p, names, ask->shape)))
        return (struct pool_view){.pool = p, .cause = MACHINE_TAINTED, .what = v.what};
    if (!p->unread && !p->unready)
        look_at_machines(m, names, ask->shape, &v);
    look_at_coming(m, names, ask->shape, &v);
    if (v.cause == MACHINE_FITS && v.room_n < ask->pods_n)
        v.cause = MACHINE_LIMITED;
    return v;
}

/* ---- what is said ---- */

static const char *amount_text(struct arena *a, const char *resource, int64_t milli)
{
    return status_amount(a, resource, strcmp(resource, "cpu") == 0 ? milli : milli / 1000);
}

static const char *limits_text(struct arena *a, const struct machine_pool *p)
{
    const char *text = "";
    for (uint32_t i = 0; i < p->limits.n && i < POOLS_TOLD; i++)
        text = arena_printf(a, "%s%s%s: %s", text, *text ? ", " : "", p->limits.all[i].resource,
                            amount_text(a, p->limits.all[i].resource, p->limits.all[i].milli));
    return text;
}

static const char *pool_text(struct arena *a, const struct pool_view *v)
{
    const char *name = v->pool->name;
    switch (v->cause) {
    case MACHINE_TOO_SMALL:
        if (!v->what)
            return arena_printf(a, "no machine that NodePool %s brings is of the type that is asked for", name);
        return arena_printf(a, "no machine that NodePool %s brings has %s %s (%s at most)", name, amount_text(a, v->what, v->need), v->what,
                            amount_text(a, v->what, v->have));
    case MACHINE_LABELS:
        if (strcmp(v->what, MACHINE_POOL_LABEL) == 0)
            return arena_printf(a, "NodePool %s is not asked for", name);
        return arena_printf(a, "no machine that NodePool %s brings has the label %s that is asked for", name, v->what);
    case MACHINE_TAINTED:
        return arena_printf(a, "machines of NodePool %s have the taint %s, which is not tolerated", name, v->what);
    case MACHINE_UNREADY:
        return arena_printf(a, "NodePool %s is not ready", name);
    case MACHINE_LIMITED:
    case MACHINE_FITS:
        break;
    }
    return arena_printf(a, "NodePool %s has limits (%s)", name, limits_text(a, v->pool));
}

static bool is_of_others(const struct pool_view *v)
{
    return v->cause == MACHINE_LABELS && strcmp(v->what, MACHINE_POOL_LABEL) == 0;
}

static int compare_views(const void *left, const void *right)
{
    const struct pool_view *a = left, *b = right;
    return is_of_others(a) != is_of_others(b) ? (is_of_others(a) ? 1 : -1) : strcmp(a->pool->name, b->pool->name);
}

/* Those that are asked for by name, or all where none is. */
static const char *views_text(struct arena *a, struct pool_view *views, uint32_t n)
{
    const char *text = "";
    qsort(views, n, sizeof *views, compare_views);
    uint32_t told_n = 0;
    while (told_n < n && !is_of_others(&views[told_n]))
        told_n++;
    if (!told_n)
        return "there is no NodePool of the name that is asked for";
    for (uint32_t i = 0; i < told_n && i < POOLS_TOLD; i++)
        text = arena_printf(a, "%s%s%s", text, i ? "; " : "", pool_text(a, &views[i]));
    return told_n > POOLS_TOLD ? arena_printf(a, "%s; and so on for %u more NodePools", text, told_n - POOLS_TOLD) : text;
}

static const char *titled(struct arena *a, const struct machine_ask *ask, const char *text)
{
    return *ask->title ? arena_printf(a, "pod set %s: %s", ask->title, text) : text;
}

/* ---- all pools ---- */

static uint32_t look_at_all(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask, struct arena *a,
                            struct pool_view **ret_views)
{
    struct pool_view *views = arena_alloc(a, (map_count(m->pools) + 1) * sizeof *views);
    struct bytes key;
    uint32_t n = 0;
    size_t at = 0;
    for (struct machine_pool *const *p; (p = map_next(m->pools, &at, &key));)
        views[n++] = look_at_pool(m, names, ask, *p);
    *ret_views = views;
    return n;
}

static bool takes_them(const struct pool_view *v)
{
    return v->cause == MACHINE_FITS || v->cause == MACHINE_LIMITED;
}

struct machine_verdict machine_judge(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask,
                                     struct arena *a)
{
    struct pool_view *views;
    uint32_t n = look_at_all(m, names, ask, a, &views), bringing_n = 0;
    struct machine_verdict is = {.cause = MACHINE_FITS, .coming = "", .text = ""};
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any |= takes_them(&views[i]);
        is.room_n = amount_plus(is.room_n, views[i].room_n);
        is.coming_n += views[i].coming_n;
        bringing_n += views[i].coming_n > 0;
        is.coming = views[i].coming_n ? views[i].pool->name : is.coming;
    }
    is.coming = bringing_n == 1 ? arena_text(a, is.coming) : "";
    if (!n || is.room_n >= ask->pods_n)
        return is;
    is.cause = MACHINE_LIMITED;
    if (!any && !is.room_n) {
        qsort(views, n, sizeof *views, compare_views);
        is.cause = views[0].cause;
        is.text = titled(a, ask, views_text(a, views, n));
        return is;
    }
    uint32_t limited_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (views[i].cause == MACHINE_LIMITED)
            views[limited_n++] = views[i];
    is.text = limited_n ? views_text(a, views, limited_n) : "nothing more comes";
    is.text = titled(a, ask,
                     arena_printf(a, "%s: machines for %lld of %lld pods may come", is.text, (long long)is.room_n, (long long)ask->pods_n));
    return is;
}

/* The only one that takes them; NULL: none does, or several. */
static const struct machine_pool *only_pool(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask,
                                            struct arena *a)
{
    struct pool_view *views;
    const struct machine_pool *only = NULL;
    uint32_t n = look_at_all(m, names, ask, a, &views);
    for (uint32_t i = 0; i < n; i++) {
        if (takes_them(&views[i]) && only)
            return NULL;
        only = takes_them(&views[i]) ? views[i].pool : only;
    }
    return only;
}

static int64_t asked_of(const struct machine_pools *m, const struct intern *names, const struct machine_ask *ask, const char *resource)
{
    for (uint32_t i = 0; i < ask->shape->requests_n; i++)
        if (strcmp(intern_name(names, ask->shape->requests[i].resource), resource) == 0)
            return amount_times(asked_milli(m, names, &ask->shape->requests[i]), ask->pods_n);
    return 0;
}

struct machine_verdict machine_judge_together(const struct machine_pools *m, const struct intern *names, const struct machine_ask *asks,
                                              uint32_t n, struct arena *a)
{
    struct machine_verdict is = {.cause = MACHINE_FITS, .coming = "", .text = ""};
    const struct machine_pool *pool = n > 1 ? only_pool(m, names, &asks[0], a) : NULL;
    for (uint32_t i = 1; i < n && pool; i++)
        pool = only_pool(m, names, &asks[i], a) == pool ? pool : NULL;
    for (uint32_t i = 0; pool && i < pool->limits.n; i++) {
        const char *resource = pool->limits.all[i].resource;
        int64_t need = 0, left = left_milli(pool, &pool->limits.all[i]);
        for (uint32_t k = 0; k < n; k++)
            need = amount_plus(need, asked_of(m, names, &asks[k], resource));
        left = left > 0 ? left : 0;
        for (uint32_t k = 0; k < pool->coming_n; k++) {
            int64_t comes =
                pool->coming[k]->there
                    ? 0
                    : machine_amount_of(pool->coming[k]->offers.n ? &pool->coming[k]->offers : &pool->coming[k]->asked, resource);
            left = amount_plus(left, comes > 0 ? comes : 0);
        }
        if (need <= left)
            continue;
        is.cause = MACHINE_LIMITED;
        is.text = arena_printf(a, "NodePool %s has limits (%s): its pods ask for %s %s, and %s may come", pool->name, limits_text(a, pool),
                               amount_text(a, resource, need), resource, amount_text(a, resource, left));
        return is;
    }
    return is;
}

bool machine_is_karpenters(const struct intern *names, const struct shape *shape)
{
    for (uint32_t i = 0; i < shape->node_labels_n; i++)
        if (strstr(intern_name(names, shape->node_labels[i].key), "karpenter"))
            return true;
    bool every = shape->node_terms_n > 0;
    for (uint32_t i = 0; i < shape->node_terms_n && every; i++) {
        every = false;
        for (uint32_t k = 0; k < shape->node_terms[i].all_n; k++)
            every |= strstr(intern_name(names, shape->node_terms[i].all[k].key), "karpenter") != NULL &&
                     (shape->node_terms[i].all[k].op == REQUIRE_IN || shape->node_terms[i].all[k].op == REQUIRE_EXISTS);
    }
    return every;
}
