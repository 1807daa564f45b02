#include "core/place/place.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/place_domains.h"
#include "core/place/tiers.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/rules/wish.h"
#include "core/score/score.h"
#include "core/score/target.h"

/* ---- kinds ---- */

struct kind {
    uint32_t shape, labels;
    uint32_t first, n;       /* its members: order[first .. first + n) */
    uint32_t fits_n;         /* nodes that can take one, before anything is placed */
    int64_t device, cpu, memory;
    uint32_t at;             /* of its first member in the caller's list */
    struct spot *spots;      /* search: where to try it, best first */
    uint32_t spots_n;
};
/* A node, or of one whose GPUs are given in parts one of them, for who asks for parts. */
struct spot {
    uint32_t node;
    int32_t device;          /* -1: what seat_take chooses */
};
struct plan_of_kinds {
    const struct area *area; /* NULL: all nodes */
    enum placement by;       /* by which policy they are chosen */
    struct kind *kinds;
    uint32_t kinds_n;
    uint32_t *order;         /* indexes into wants, kind by kind */
};

static int64_t demand_of(const struct shape_class *c, int32_t column)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column == column)
            return c->demands[i].value;
    return 0;
}

/* Fewest nodes first, then the largest, then as the caller lists them. */
static int compare_kinds(const void *left, const void *right)
{
    const struct kind *a = left, *b = right;
    if (a->fits_n != b->fits_n)
        return a->fits_n < b->fits_n ? -1 : 1;
    if (a->device != b->device)
        return a->device > b->device ? -1 : 1;
    if (a->cpu != b->cpu)
        return a->cpu > b->cpu ? -1 : 1;
    if (a->memory != b->memory)
        return a->memory > b->memory ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

struct kind_key {
    uint32_t shape, labels, at;
};

static int compare_keys(const void *left, const void *right)
{
    const struct kind_key *a = left, *b = right;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    if (a->labels != b->labels)
        return a->labels < b->labels ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static struct kind new_kind(struct state *s, const struct want *w, uint32_t at, enum placement by)
{
    const struct shape_class *c = &s->shapes.classes[w->shape];
    struct kind k = {.shape = w->shape, .labels = w->labels, .at = at};
    k.device = c->device_demand >= 0 ? c->demands[c->device_demand].value : 0;
    k.cpu = demand_of(c, s->column_cpu);
    k.memory = demand_of(c, s->column_memory);
    k.fits_n = view_scored(s, w->shape, by)->fits_n;
    return k;
}

/* Labels tell kinds apart only where some rule looks at them. */
static uint32_t kind_labels(const struct state *s, const struct want *w)
{
    return neighbour_matters(s, w->shape) || s->shapes.classes[w->shape].neighbour_wishes ? w->labels : 0;
}

static void sort_into_kinds(struct state *s, const struct want *wants, uint32_t n, struct plan_of_kinds *p)
{
    struct kind_key *keys = mem_alloc(n * sizeof *keys);
    bool sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = (struct kind_key){wants[i].shape, kind_labels(s, &wants[i]), i};
        sorted = sorted && (!i || compare_keys(&keys[i - 1], &keys[i]) < 0);
    }
    if (!sorted)
        qsort(keys, n, sizeof *keys, compare_keys);
    p->kinds_n = 0;
    for (uint32_t i = 0; i < n; i++)
        p->kinds_n += !i || keys[i].shape != keys[i - 1].shape || keys[i].labels != keys[i - 1].labels;
    p->kinds = mem_alloc(p->kinds_n * sizeof *p->kinds);
    uint32_t k = 0;
    for (uint32_t i = 0, end; i < n; i = end, k++) {
        p->kinds[k] = new_kind(s, &wants[keys[i].at], keys[i].at, p->by);
        for (end = i; end < n && keys[end].shape == keys[i].shape && keys[end].labels == keys[i].labels; end++)
            ;
        p->kinds[k].first = i;
        p->kinds[k].n = end - i;
    }
    qsort(p->kinds, p->kinds_n, sizeof *p->kinds, compare_kinds);
    p->order = mem_alloc(n * sizeof *p->order);
    uint32_t at = 0;
    for (k = 0; k < p->kinds_n; k++) {
        uint32_t from = p->kinds[k].first;
        p->kinds[k].first = at;
        for (uint32_t i = 0; i < p->kinds[k].n; i++)
            p->order[at++] = keys[from + i].at;
    }
    free(keys);
}

/* ---- one member ---- */

/* Greater score, then the node's name. */
static bool is_better(const struct state *s, const struct view *v, uint32_t node, uint32_t than)
{
    return v->score[node] != v->score[than] ? v->score[node] > v->score[than] : s->nodes.rank[node] < s->nodes.rank[than];
}

/* Slow way: the best node that has room and is allowed, of an area or, NULL, of all. rules NULL: nobody looks at others. */
static uint32_t best_of(struct state *s, const struct view *v, const struct neighbours *rules, const struct area *area)
{
    const struct shape *shape = &s->shapes.classes[v->shape].shape;
    uint32_t best = 0;
    for (uint32_t i = 0; i < (area ? area->n : v->n); i++) { /* slot 0 has no score */
        uint32_t slot = area ? area->nodes[i] : i;
        bool better = v->score[slot] && (!best || is_better(s, v, slot, best));
        if (better && (!rules || neighbour_check(s, rules, shape, slot) == NEIGHBOUR_OK))
            best = slot;
    }
    return best;
}

static void take(struct state *s, struct gang *g, struct want *w, uint32_t node)
{
    w->seat = seat_take(s, node, w->shape, w->labels, g, w->pod_set, true);
    undo_seat(s, w->seat);
}

/* Any that has room. */
static uint32_t draw_node(const struct state *s, const struct view *v)
{
    uint64_t drawn = v->fits_n ? score_draw(s, 0) % v->fits_n : 0;
    for (uint32_t slot = 1; slot < v->n; slot++)
        if (v->room[slot] && !drawn--)
            return slot;
    return 0;
}

/* For others. */
static bool is_kept(struct state *s, const struct view *v, uint32_t node)
{
    return s->keeps_whole && placement_alone(v->by) == PLACEMENT_CAPSTAN && s->targets &&
           reserve_keeps(s, &s->shapes.classes[v->shape], node);
}

/* Where the best is kept for others: the best of those that are not. */
static uint32_t best_not_kept(struct state *s, const struct view *v, uint32_t node)
{
    uint32_t best = 0;
    if (!node || !is_kept(s, v, node))
        return node;
    for (uint32_t slot = 1; slot < v->n; slot++)
        if (v->score[slot] && (!best || is_better(s, v, slot, best)) && !is_kept(s, v, slot))
            best = slot;
    return best;
}

/* Of all nodes that do the best of those that the pod would rather have. There is one. */
static uint32_t best_wished(struct state *s, const struct view *v, const struct want *w, const struct neighbours *rules,
                            const struct area *area)
{
    const struct shape *shape = &s->shapes.classes[v->shape].shape;
    uint32_t n = 0, most = area ? area->n : v->n, *nodes = mem_alloc((most + 1) * sizeof *nodes);
    for (uint32_t i = 0; i < most; i++) { /* slot 0 has no score */
        uint32_t slot = area ? area->nodes[i] : i;
        bool does = v->score[slot] && (rules ? neighbour_check(s, rules, shape, slot) == NEIGHBOUR_OK : area || !is_kept(s, v, slot));
        if (does)
            nodes[n++] = slot;
    }
    n = wish_pick(s, v->shape, w->labels, nodes, n);
    uint32_t best = v->by == PLACEMENT_RANDOM ? nodes[score_draw(s, 0) % n] : nodes[0];
    for (uint32_t i = 1; i < n && v->by != PLACEMENT_RANDOM; i++)
        best = is_better(s, v, nodes[i], best) ? nodes[i] : best;
    free(nodes);
    return best;
}

static bool place_one(struct state *s, struct gang *g, struct want *w, const struct area *area, enum placement by, bool *ret_neighbours)
{
    struct view *v = view_scored(s, w->shape, by);
    uint32_t node = area ? best_of(s, v, NULL, area) : by == PLACEMENT_RANDOM ? draw_node(s, v) : view_best(v);
    node = area ? node : best_not_kept(s, v, node);
    struct neighbours rules;
    bool ruled = node && neighbour_matters(s, w->shape) && neighbour_prepare(s, w->shape, w->labels, &rules);
    w->seat = 0;
    if (ruled) {
        node = best_of(s, v, &rules, area);
        *ret_neighbours |= !node;
    }
    if (node && wish_matters(s, w->shape, node))
        node = best_wished(s, v, w, ruled ? &rules : NULL, area);
    if (ruled)
        neighbour_release(&rules);
    if (node)
        take(s, g, w, node);
    return w->seat != 0;
}

/* ---- search ---- */

struct search {
    struct state *s;
    struct gang *gang;
    struct want *wants;
    struct plan_of_kinds *p;
    uint32_t n, *steps;
    uint32_t *kind_of, *cursor, *mark; /* by position in p->order */
    bool rules;              /* other pods matter: equal nodes are not interchangeable */
};

struct candidate {
    uint32_t harm, score, rank;
    struct spot at;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->harm != b->harm)
        return a->harm < b->harm ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->at.device < b->at.device ? -1 : a->at.device > b->at.device;
}

/* Devices of the node of which one of kind k takes a share; NULL: there are none, or it takes several. */
static const struct device_span *parts_of(const struct state *s, const struct kind *kind, uint32_t node)
{
    const struct device_table *t = &s->nodes.nodes[node].devices;
    return s->shapes.classes[kind->shape].share.n == 1 && t->gpus ? &t->spans[t->parts_at] : NULL;
}

/* Spots for one of kind k, those that the fewest later kinds could use first. */
static void list_spots(struct search *x, uint32_t k)
{
    struct state *s = x->s;
    struct kind *kind = &x->p->kinds[k];
    uint32_t n = 0;
    size_t cap = 0;
    struct candidate *all = NULL;
    const struct view *v = view_scored(s, kind->shape, x->p->by);
    const struct area *area = x->p->area;
    for (uint32_t i = 0; i < (area ? area->n : v->n); i++) { /* slot 0 has no room */
        uint32_t slot = area ? area->nodes[i] : i;
        if (!v->room[slot])
            continue;
        const struct device_span *span = parts_of(s, kind, slot);
        for (int32_t d = span ? span->first : -1; d < (span ? span->first + span->n : 0); d++) {
            MEM_RESERVE(all, cap, n + 1);
            all[n++] = (struct candidate){.score = v->score[slot], .rank = s->nodes.rank[slot], .at = {slot, d}};
        }
    }
    for (uint32_t later = k + 1; later < x->p->kinds_n; later++) {
        v = view_scored(s, x->p->kinds[later].shape, x->p->by);
        for (uint32_t i = 0; i < n; i++)
            all[i].harm += v->room[all[i].at.node] != 0;
    }
    if (n)
        qsort(all, n, sizeof *all, compare_candidates);
    kind->spots = mem_grow(kind->spots, n + 1, sizeof *kind->spots);
    for (uint32_t i = 0; i < n; i++)
        kind->spots[i] = all[i].at;
    kind->spots_n = n;
    free(all);
}

/* As much left of both. Of devices that go with shares as many are free where as many shares are taken, or it is taken for another GPU. */
static bool same_gpu(const struct device_table *left, uint16_t a, const struct device_table *right, uint16_t b)
{
    const struct gpu_ledger *x = &left->gpus[a], *y = &right->gpus[b];
    return left->left[a] == right->left[b] && x->memory_mib == y->memory_mib && x->taken_mib == y->taken_mib && x->shares_n == y->shares_n;
}

/* Would it make a difference which of the two is taken? Same room for each kind that is still to be placed, and alike in what is free. */
static bool interchangeable(struct search *x, uint32_t k, struct spot at, struct spot other)
{
    struct state *s = x->s;
    uint32_t a = at.node, b = other.node;
    const struct device_table *left = &s->nodes.nodes[a].devices, *right = &s->nodes.nodes[b].devices;
    if (at.device >= 0 && (other.device < 0 || !same_gpu(left, left->gpu_of[at.device], right, right->gpu_of[other.device])))
        return false;
    if (a == b)
        return true;
    if (x->rules || left->spans_n != right->spans_n)
        return false;
    if (memcmp(node_free(&s->nodes, a), node_free(&s->nodes, b), s->nodes.columns_n * sizeof(int64_t)) != 0)
        return false;
    for (uint16_t i = 0; i < left->spans_n; i++)
        if (left->spans[i].resource != right->spans[i].resource || left->spans[i].free_n != right->spans[i].free_n)
            return false;
    for (uint16_t i = 0; i < left->gpus_n; i++)
        if (left->gpus_n != right->gpus_n || !same_gpu(left, i, right, i))
            return false;
    for (; k < x->p->kinds_n; k++) {
        const struct view *v = view_scored(s, x->p->kinds[k].shape, x->p->by);
        if (v->room[a] != v->room[b])
            return false;
    }
    return true;
}

/* Is there room left, kind by kind, for all that are still to be placed? */
static bool all_have_room(struct search *x, uint32_t at)
{
    for (uint32_t k = at < x->n ? x->kind_of[at] : x->p->kinds_n; k < x->p->kinds_n; k++) {
        const struct kind *kind = &x->p->kinds[k];
        uint32_t left_n = at > kind->first ? kind->first + kind->n - at : kind->n;
        if (view_scored(x->s, kind->shape, x->p->by)->room_n < left_n)
            return false;
    }
    return true;
}

static bool allowed(struct search *x, const struct want *w, uint32_t node)
{
    struct neighbours rules;
    if (!x->rules || !neighbour_prepare(x->s, w->shape, w->labels, &rules))
        return true;
    bool ok = neighbour_check(x->s, &rules, &x->s->shapes.classes[w->shape].shape, node) == NEIGHBOUR_OK;
    neighbour_release(&rules);
    return ok;
}

#define TRIED_MAX 16

/* The next spot for the member at this position, from its cursor on; taken when true. `failed`: the one before; its node 0: none. */
static bool advance(struct search *x, uint32_t at, struct spot failed)
{
    uint32_t k = x->kind_of[at], tried_n = failed.node != 0;
    struct spot tried[TRIED_MAX] = {failed};
    const struct kind *kind = &x->p->kinds[k];
    struct want *w = &x->wants[x->p->order[at]];
    for (; x->cursor[at] < kind->spots_n && *x->steps; x->cursor[at]++) {
        struct spot spot = kind->spots[x->cursor[at]];
        bool same = false;
        if (!view_scored(x->s, kind->shape, x->p->by)->room[spot.node] ||
            (spot.device >= 0 && !seat_share_fits(x->s, w->shape, spot.node, spot.device)))
            continue;
        for (uint32_t i = 0; i < tried_n && !same; i++)
            same = interchangeable(x, k, tried[i], spot);
        if (same || !allowed(x, w, spot.node))
            continue;
        --*x->steps;
        take(x->s, x->gang, w, spot.node);
        if (spot.device >= 0)
            seat_move_share(x->s, w->seat, spot.device);
        if (all_have_room(x, at + 1))
            return true;
        undo_back(x->s, x->mark[at]);
        tried[tried_n] = spot; /* only now: as it stands without the member */
        tried_n += tried_n < TRIED_MAX - 1;
    }
    return false;
}

/* Members of one kind stand on nodes in the order of its list: one of their many equal arrangements is enough. */
static bool search_all(struct search *x)
{
    struct spot failed = {0};
    for (uint32_t at = 0;;) {
        uint32_t k = x->kind_of[at];
        if (x->mark[at] == UINT32_MAX) { /* come from above */
            x->mark[at] = undo_mark(x->s);
            if (at == x->p->kinds[k].first) {
                list_spots(x, k);
                x->cursor[at] = 0;
            } else {
                x->cursor[at] = x->cursor[at - 1];
            }
        }
        if (advance(x, at, failed)) {
            failed.node = 0;
            if (++at == x->n)
                return true;
            x->mark[at] = UINT32_MAX;
            continue;
        }
        if (!at || !*x->steps)
            return false;
        at--;
        undo_back(x->s, x->mark[at]);
        failed = x->p->kinds[x->kind_of[at]].spots[x->cursor[at]++];
    }
}

static bool search(struct state *s, struct gang *g, struct want *wants, uint32_t n, struct plan_of_kinds *p, uint32_t *steps)
{
    struct search x = {.s = s, .gang = g, .wants = wants, .p = p, .n = n, .steps = steps, .rules = s->anti_seats_n > 0};
    x.kind_of = mem_alloc(3 * n * sizeof *x.kind_of);
    x.cursor = x.kind_of + n;
    x.mark = x.cursor + n;
    for (uint32_t k = 0; k < p->kinds_n; k++) {
        x.rules |= s->shapes.classes[p->kinds[k].shape].neighbours;
        for (uint32_t i = 0; i < p->kinds[k].n; i++)
            x.kind_of[p->kinds[k].first + i] = k;
    }
    x.mark[0] = UINT32_MAX;
    uint32_t mark = undo_mark(s);
    bool found = search_all(&x);
    if (!found)
        undo_back(s, mark);
    for (uint32_t k = 0; k < p->kinds_n; k++) {
        free(p->kinds[k].spots);
        p->kinds[k].spots = NULL;
    }
    free(x.kind_of);
    return found;
}

/* ---- all ---- */

/* Before anything is tried: is there room for so many of each kind alone? A gang that is far too large is refused here. */
static bool room_for_each(struct state *s, const struct want *wants, const struct plan_of_kinds *p, struct misfit *misfit)
{
    for (uint32_t k = 0; k < p->kinds_n; k++) {
        uint64_t room_n = view_scored(s, p->kinds[k].shape, p->by)->room_n;
        const struct want *w = &wants[p->order[p->kinds[k].first]], *last = &wants[p->order[p->kinds[k].first + p->kinds[k].n - 1]];
        if (room_n >= p->kinds[k].n)
            continue;
        *misfit = (struct misfit){.shape = w->shape, .labels = w->labels, .pod_set = w->pod_set,
                                  .placed_n = (uint32_t)room_n, .wanted_n = p->kinds[k].n, .alone = w->pod_set == last->pod_set};
        return false;
    }
    return true;
}

static bool one_by_one(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct plan_of_kinds *p,
                       struct misfit *misfit)
{
    for (uint32_t i = 0; i < n; i++) {
        struct want *w = &wants[p->order[i]];
        bool neighbours = false;
        if (place_one(s, g, w, p->area, p->by, &neighbours))
            continue;
        *misfit = (struct misfit){.shape = w->shape, .labels = w->labels, .pod_set = w->pod_set, .placed_n = i, .wanted_n = n,
                                  .neighbours = neighbours};
        return false;
    }
    return true;
}

static bool place_kinds(struct state *s, struct gang *g, struct want *wants, uint32_t n, struct plan_of_kinds *p, uint32_t *steps,
                        struct misfit *ret_misfit)
{
    uint32_t mark = undo_mark(s);
    if (!room_for_each(s, wants, p, ret_misfit))
        return false;
    if (one_by_one(s, g, wants, n, p, ret_misfit))
        return true;
    if (p->kinds_n == 1 && !ret_misfit->neighbours) /* equal members that look at nobody take no room from each other but on their node */
        return false;
    undo_back(s, mark);
    bool may_search = steps && *steps && p->kinds_n <= PLACE_KINDS;
    if (may_search && search(s, g, wants, n, p, steps))
        return true;
    (void)one_by_one(s, g, wants, n, p, ret_misfit); /* as it stands now it is explained */
    ret_misfit->arrangement = p->kinds_n > 1;
    ret_misfit->gave_up = !may_search || !*steps;
    ret_misfit->many_kinds = p->kinds_n > PLACE_KINDS;
    return false;
}

/* Members in domains first: they have fewer places to choose from. */
static bool place_mixed(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit)
{
    if (!place_in_domains(s, g, wants, n, ret_misfit))
        return false;
    struct want *others = mem_alloc(n * sizeof *others);
    uint32_t others_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!wants[i].topology)
            others[others_n++] = wants[i];
    bool all = place_all(s, g, others, others_n, steps, ret_misfit);
    if (!all) {
        ret_misfit->mixed = true;
        ret_misfit->alone = false;
    }
    for (uint32_t i = n; i-- > 0;)
        if (!wants[i].topology)
            wants[i] = others[--others_n];
    free(others);
    return all;
}

bool place_all(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit)
{
    if (!n)
        return true;
    if (g->own->terms && place_asks_for_tiers(g)) /* hardly anybody has terms */
        return place_in_tiers(s, g, wants, n, steps, ret_misfit);
    if (place_is_in_domains(wants, n))
        return place_mixed(s, g, wants, n, steps, ret_misfit);
    return place_in_area(s, g, wants, n, NULL, steps, ret_misfit);
}

bool place_in_area(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct area *area, uint32_t *steps,
                   struct misfit *ret_misfit)
{
    const enum placement by = gang_policy(s, g);
    if (n == 1) {
        bool neighbours = false, placed = place_one(s, g, wants, area, by, &neighbours);
        if (!placed)
            *ret_misfit = (struct misfit){.shape = wants->shape, .labels = wants->labels, .pod_set = wants->pod_set, .wanted_n = 1,
                                          .neighbours = neighbours};
        return placed;
    }
    struct plan_of_kinds p = {.area = area, .by = by};
    sort_into_kinds(s, wants, n, &p);
    bool placed = place_kinds(s, g, wants, n, &p, steps, ret_misfit);
    free(p.kinds);
    free(p.order);
    return placed;
}

uint32_t place_some(struct state *s, struct gang *g, struct want *wants, uint32_t n, bool *ret_neighbours)
{
    struct plan_of_kinds p = {.by = gang_policy(s, g)};
    uint32_t placed_n = 0;
    *ret_neighbours = false;
    sort_into_kinds(s, wants, n, &p);
    for (uint32_t i = 0; i < n; i++)
        placed_n += place_one(s, g, &wants[p.order[i]], NULL, p.by, ret_neighbours);
    free(p.kinds);
    free(p.order);
    return placed_n;
}
