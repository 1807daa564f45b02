/* wanting.c - see wanting.h */
#include "core/explain/wanting.h"
#include "core/place/fit.h"
#include "core/queue/gang.h"
#include "core/queue/shrink.h"

static int32_t kind_of(const name_id *kinds, uint32_t kinds_n, name_id resource)
{
    for (uint32_t i = 0; i < kinds_n; i++)
        if (kinds[i] == resource)
            return (int32_t)i;
    return -1;
}

/* NULL: the shape asks for none of the kinds. */
static const int64_t *asks_of(const struct shape_class *c, const name_id *kinds, uint32_t kinds_n, struct arena *a)
{
    int64_t *asks = NULL;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        int32_t kind = kind_of(kinds, kinds_n, c->demands[i].resource);
        if (kind < 0 || c->demands[i].value <= 0)
            continue;
        asks = asks ? asks : arena_zero(a, kinds_n, sizeof *asks);
        asks[kind] = c->demands[i].value;
    }
    return asks;
}

static bool is_short_of(const struct reason *r, const name_id *kinds, uint32_t kinds_n)
{
    for (; r; r = r->next)
        if ((r->code == REASON_NODE_RESOURCE && kind_of(kinds, kinds_n, r->resource) >= 0) || is_short_of(r->child, kinds, kinds_n))
            return true;
    return false;
}

/* In line for places, or with quota for them. */
static bool waits(const struct gang *g)
{
    return (g->phase == GANG_WAITING || g->phase == GANG_CHECKING) && g->active && !g->finished && !g->on_hold;
}

uint32_t wanting_find(const struct state *s, const name_id *kinds, uint32_t kinds_n, struct arena *a, struct wanting **ret_all)
{
    struct wanting *all = NULL;
    uint32_t n = 0, cap = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        for (uint32_t k = 0; k < g->sets_n && waits(g); k++) {
            const int64_t *asks = asks_of(&s->shapes.classes[g->sets[k].shape], kinds, kinds_n, a);
            if (!asks || set_needs(&g->sets[k]) <= 0)
                continue;
            all = arena_grow(a, all, n, 1, &cap, sizeof *all);
            all[n++] = (struct wanting){g->key, g->sets[k].shape, set_needs(&g->sets[k]), asks, false};
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct reason *why = state_gang_reason(s, all[i].gang);
        all[i].lacks = why && is_short_of(why->child, kinds, kinds_n);
    }
    *ret_all = all;
    return n;
}

uint32_t wanting_room(const struct state *s, uint32_t shape, const name_id *kinds, uint32_t kinds_n, name_id node)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    uint32_t slot = node_table_find(&s->nodes, node);
    uint64_t room = UINT32_MAX;
    if (!slot || fit_record(s, c, slot, NULL) != FIT_OK)
        return 0;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const struct demand *d = &c->demands[i];
        if (kind_of(kinds, kinds_n, d->resource) >= 0 || d->value <= 0)
            continue;
        int64_t left = d->column < 0 ? 0 : node_free(&s->nodes, slot)[d->column];
        uint64_t n = left < d->value ? 0 : (uint64_t)(left / d->value);
        room = n < room ? n : room;
    }
    if (c->shape.ports_n && room)
        return fit_ports(s, c, slot);
    return (uint32_t)room;
}

int64_t wanting_taken(const struct state *s, name_id resource, name_id node)
{
    uint32_t slot = node_table_find(&s->nodes, node);
    int32_t column = node_table_find_column(&s->nodes, resource);
    return slot && column >= 0 ? node_allocatable(&s->nodes, slot)[column] - node_free(&s->nodes, slot)[column] : 0;
}

uint64_t wanting_seq(const struct state *s)
{
    return s->nodes.seq;
}

bool wanting_offered(const struct state *s, name_id node, name_id resource)
{
    uint32_t slot = node_table_find(&s->nodes, node);
    int32_t column = node_table_find_column(&s->nodes, resource);
    return slot && column >= 0 && (s->nodes.flags[slot] & NODE_READY) && node_allocatable(&s->nodes, slot)[column] > 0;
}

/* ---- one gang ---- */

/* Its members may not exist yet: the sets say how many there will be. */
static void each_set(struct state *s, const struct gang *g, wanting_pods_fn *fn, void *arg)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        int32_t n = set_needs(&g->sets[i]);
        if (n <= 0)
            continue;
        uint32_t shape = gang_flavored_shape(s, g->sets[i].shape, g->own->choices, g->own->choices_n, i);
        fn(arg, &(struct wanting_pods){g->sets[i].name, shape, &s->shapes.classes[shape].shape, n});
        shape_release(s, shape);
    }
}

/* Members without a place, of any shape; of a group only its minimum has to start, and no one knows of which shape those are. */
static void each_member(struct state *s, const struct gang *g, wanting_pods_fn *fn, void *arg)
{
    _cleanup_arena_ struct arena *a = arena_new();
    uint32_t *pods, n = gang_loose_members(s, g, a, &pods), kinds_n = 0;
    struct wanting_pods *kinds = arena_zero(a, n + 1, sizeof *kinds);
    int64_t spare_n = !g->planned && g->min_members > 0 ? (int64_t)g->bound_n + n - g->min_members : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pod *p = &s->pods[pods[i]];
        uint32_t at = 0;
        while (at < kinds_n && kinds[at].shape_id != p->shape)
            at++;
        if (at == kinds_n)
            kinds[kinds_n++] = (struct wanting_pods){p->pod_set, p->shape, NULL, 0};
        kinds[at].pods_n++;
    }
    for (uint32_t i = 0; i < kinds_n; i++) {
        kinds[i].pods_n -= spare_n > 0 ? (int32_t)spare_n : 0;
        kinds[i].shape = &s->shapes.classes[kinds[i].shape_id].shape;
        if (kinds[i].pods_n > 0)
            fn(arg, &kinds[i]);
    }
}

void wanting_each(struct state *s, name_id gang, wanting_pods_fn *fn, void *arg)
{
    const struct gang *g = gang_find(s, gang);
    if (!g || !g->active || g->finished || g->on_hold)
        return;
    bool begins = g->phase >= GANG_CHECKING && g->phase <= GANG_ADMITTED && g->bound_n == 0;
    if (g->planned && begins)
        each_set(s, g, fn, arg);
    else if (!g->planned || g->phase == GANG_ADMITTED || g->phase == GANG_BOUND)
        each_member(s, g, fn, arg);
}

int64_t wanting_holds_where(const struct state *s, uint32_t shape_id, const struct label *label, int64_t most)
{
    const struct shape_class *c = &s->shapes.classes[shape_id];
    int64_t n = 0;
    for (uint32_t slot = 1; slot < s->nodes.n && n < most; slot++)
        if ((!label || labels_contain(node_labels(&s->nodes, slot), label, 1)) && fit_record(s, c, slot, NULL) == FIT_OK)
            n += fit_room(s, c, slot);
    return n < most ? n : most;
}

int64_t wanting_holds(const struct state *s, uint32_t shape_id, int64_t most)
{
    return wanting_holds_where(s, shape_id, NULL, most);
}
