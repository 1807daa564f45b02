#include "core/moves/mover.h"
#include <stdlib.h>
#include "core/place/fit.h"
#include "core/preempt/promise.h"
#include "core/preempt/stakes.h"
#include "core/queue/order.h"
#include "core/score/gpus.h"

/* ---- who ---- */

int64_t mover_gpus(const struct state *s, uint32_t shape)
{
    struct gpu_ask ask = gpu_ask_of(s, &s->shapes.classes[shape]);
    return (int64_t)ask.n * ask.each;
}

static bool stands_freely(const struct state *s, const struct gang *g)
{
    bool freely = true;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct gang_set *set = &g->sets[i];
        freely &= set_topology(set)->mode == TOPOLOGY_UNASKED && !set_topology(set)->slices_n && !set_topology(set)->group &&
                  !set->later && !set->serial && !domain_topology(s, g->own->choices, g->own->choices_n, i) &&
                  !s->shapes.classes[set->shape].neighbours;
    }
    return freely && !gang_tiers(g) && !gang_has_subgroups(g);
}

/* It was sent away for another one not long ago, or its writes are held. */
static bool rests(const struct state *s, const struct gang *g)
{
    int64_t sent_ms = 1000 * (int64_t)g->own->sent_away_s;
    return (sent_ms && s->now_ms - sent_ms < MOVE_REST_MS) || (g->park && g->park->at && (g->park->on & PARK_TIME));
}

/* It runs whole, and would come back whole. */
static bool can_be_moved(const struct state *s, const struct gang *g)
{
    bool runs = g->planned && (g->phase == GANG_ADMITTED || g->phase == GANG_BOUND) && g->queue && !g->queue->has_shares;
    if (!runs || !g->active || g->finished || g->on_hold || g->of_one_pod || g->keeps_places || g->foreign || g->reserved_only ||
        g->restarts || g->ended || rests(s, g) || g->preemptor || g->own->lost || !stands_freely(s, g))
        return false;
    for (uint32_t i = 0; i < g->members_n; i++) /* who goes by himself comes back where his place is kept */
        if (s->pods[g->members[i]].former || s->pods[g->members[i]].deleting)
            return false;
    return true;
}

static bool add_seat(const struct state *s, struct mover *m, uint32_t seat)
{
    if (!seat)
        return true;
    if (s->seats[seat].lifted || s->nodes.nodes[s->seats[seat].node].has_devices_twice)
        return false;
    m->seats[m->n++] = seat;
    return true;
}

static bool list_seats(struct cycle *c, struct mover *m)
{
    const struct state *s = c->s;
    const struct gang *g = m->gang;
    bool ok = true;
    m->seats = arena_alloc(c->a, (g->members_n + g->own->seats_n + 1) * sizeof *m->seats);
    for (uint32_t i = 0; i < g->members_n && ok; i++)
        ok = add_seat(s, m, s->pods[g->members[i]].seat);
    for (uint32_t i = 0; i < g->own->seats_n && ok; i++)
        ok = add_seat(s, m, g->own->seats[i]);
    return ok && m->n;
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 64 : product < INT64_MAX / 64 ? product : INT64_MAX / 64;
}

/* WHY not who has not run as long as it asks for, nor whose end breaks a budget: these say so themselves. */
static bool weigh(struct cycle *c, struct mover *m)
{
    const struct state *s = c->s;
    struct gang *g = m->gang;
    struct stake stake;
    stakes_weigh(s, c->a, &g, 1, &stake);
    int64_t each_s = s->now_ms > stake.since_ms ? (s->now_ms - stake.since_ms) / 1000 : 0, gpus = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t of_pod = mover_gpus(s, s->seats[m->seats[i]].shape);
        gpus += of_pod;
        m->size = of_pod > m->size ? of_pod : m->size;
    }
    m->lost = times(each_s, gpus);
    m->lost_s = times(each_s, m->n);
    return !stake.is_early && !stake.broken_n;
}

static int compare_losses(const struct mover *a, const struct mover *b)
{
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    return a->lost_s < b->lost_s ? -1 : a->lost_s > b->lost_s;
}

/* Of those that lose as much who is behind in the order of queues. */
static int compare_movers(const void *left, const void *right)
{
    const struct mover *a = left, *b = right;
    int by_loss = compare_losses(a, b);
    return by_loss ? by_loss : order_before(b->gang, a->gang) ? -1 : order_before(a->gang, b->gang);
}

static bool stays(const struct state *s, const struct gang *g)
{
    return g->own->stakes && s->stakes[g->own->stakes].stays;
}

enum move_leave mover_leave(const struct state *s, const struct gang *g, int64_t lost, int64_t gained)
{
    if (!g->queue->move_cost_s)
        return MOVE_UNASKED;
    if (stays(s, g))
        return MOVE_FORBIDDEN;
    return lost > times(g->queue->move_cost_s, gained) ? MOVE_COSTLY : MOVE_ALLOWED;
}

/* All of them. */
static struct movers list_all(struct cycle *c)
{
    const struct state *s = c->s;
    struct movers all = {.all = arena_alloc(c->a, (s->gangs_n + 1) * sizeof *all.all)};
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        struct mover one = {.gang = s->gangs[i]};
        if (!can_be_moved(s, one.gang) || !list_seats(c, &one) || !weigh(c, &one))
            continue;
        all.any_allowed |= one.gang->queue->move_cost_s > 0;
        all.all[all.n++] = one;
    }
    if (all.n > 1)
        qsort(all.all, all.n, sizeof *all.all, compare_movers);
    return all;
}

void movers_know(struct cycle *c)
{
    if (c->movers)
        return;
    c->movers = arena_alloc(c->a, sizeof *c->movers);
    *c->movers = list_all(c);
}

void movers_list(struct cycle *c, const struct wishes *w, bool allowed, struct movers *ret_movers)
{
    const struct state *s = c->s;
    const struct movers all = c->movers ? *c->movers : list_all(c);
    *ret_movers = all;
    ret_movers->gained = 0;
    for (uint32_t i = 0; i < w->n; i++)
        ret_movers->gained += mover_gpus(s, w->wants[i].shape);
    if (!allowed)
        return;
    ret_movers->n = 0;
    ret_movers->all = all.any_allowed ? arena_alloc(c->a, (all.n + 1) * sizeof *all.all) : NULL;
    for (uint32_t i = 0; i < all.n && all.any_allowed; i++)
        if (mover_leave(s, all.all[i].gang, all.all[i].lost, ret_movers->gained) == MOVE_ALLOWED)
            ret_movers->all[ret_movers->n++] = all.all[i];
}

/* ---- where ---- */

#define ON_NODE 64u            /* movers of one node that are looked at */

struct site {                  /* a node that would hold one more pod of the gang if these left */
    uint32_t node, rank, n;
    const struct mover *all[MOVES_MOST];
    int64_t lost, lost_s;
};
struct standing {              /* a mover's part of a node */
    uint32_t node, nth;
};

static int compare_standing(const void *left, const void *right)
{
    const struct standing *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->nth < b->nth ? -1 : a->nth > b->nth;
}

static int compare_sites(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->lost_s != b->lost_s)
        return a->lost_s < b->lost_s ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* ---- by sums: of each demand of the class what is left on the node ---- */

static void left_now(const struct state *s, const struct shape_class *c, uint32_t node, int64_t *ret_left)
{
    for (uint32_t d = 0; d < c->demands_n; d++)
        ret_left[d] = c->demands[d].column < 0 ? 0 : node_free(&s->nodes, node)[c->demands[d].column];
}

/* sign 1: the mover is gone from the node; -1: it is there again. */
static void add_left(const struct state *s, const struct shape_class *c, uint32_t node, const struct mover *m, int sign, int64_t *left)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const struct seat *seat = &s->seats[m->seats[k]];
        const struct shape_class *other = &s->shapes.classes[seat->shape];
        for (uint32_t e = 0; seat->node == node && e < other->demands_n; e++)
            for (uint32_t d = 0; d < c->demands_n; d++)
                left[d] += other->demands[e].resource == c->demands[d].resource ? sign * demand_taken(&other->demands[e]) : 0;
    }
}

static int64_t room_of(const struct shape_class *c, const int64_t *left)
{
    int64_t least = INT64_MAX;
    for (uint32_t d = 0; d < c->demands_n; d++)
        if (c->demands[d].value > 0 && left[d] / c->demands[d].value < least)
            least = left[d] / c->demands[d].value;
    return least;
}

int64_t mover_room_without(const struct state *s, const struct shape_class *c, uint32_t node, const struct mover *const *gone,
                           uint32_t gone_n, int64_t *left)
{
    left_now(s, c, node, left);
    for (uint32_t i = 0; i < gone_n; i++)
        add_left(s, c, node, gone[i], 1, left);
    return room_of(c, left);
}

int64_t *mover_scratch(struct arena *a, const struct state *s, const struct wishes *w)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t n = s->shapes.classes[w->wants[i].shape].demands_n;
        most = n > most ? n : most;
    }
    return arena_alloc(a, (most + 1) * sizeof(int64_t));
}

/* The fewest of those who lose least, in their order; then without whom it does not need, who loses most first. */
static bool make_site(const struct state *s, const struct shape_class *c, uint32_t node, const struct mover *const *on, uint32_t on_n,
                      int64_t *left, struct site *ret_site)
{
    int64_t now = fit_room(s, c, node);
    const struct mover *gone[ON_NODE];
    uint32_t n = 0;
    left_now(s, c, node, left);
    for (; n < on_n && room_of(c, left) <= now; n++) {
        gone[n] = on[n];
        add_left(s, c, node, gone[n], 1, left);
    }
    if (!n || room_of(c, left) <= now)
        return false;
    for (uint32_t i = n; i-- > 0;) {
        add_left(s, c, node, gone[i], -1, left);
        if (room_of(c, left) > now)
            gone[i] = gone[--n];
        else
            add_left(s, c, node, gone[i], 1, left);
    }
    *ret_site = (struct site){.node = node, .rank = s->nodes.rank[node], .n = n};
    for (uint32_t i = 0; i < n && n <= MOVES_MOST; i++) {
        ret_site->all[i] = gone[i];
        ret_site->lost += gone[i]->lost;
        ret_site->lost_s += gone[i]->lost_s;
    }
    return n <= MOVES_MOST;
}

/* For the shape of w by which the least is lost there. */
static bool best_site(const struct state *s, const struct wishes *w, uint32_t node, const struct mover *const *on, uint32_t on_n,
                      int64_t *left, struct site *ret_site)
{
    bool any = false;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct shape_class *c = &s->shapes.classes[w->wants[i].shape];
        struct site one;
        if ((i && w->wants[i].shape == w->wants[i - 1].shape) || fit_record(s, c, node, NULL) != FIT_OK ||
            !make_site(s, c, node, on, on_n, left, &one) || (any && compare_sites(&one, ret_site) >= 0))
            continue;
        *ret_site = one;
        any = true;
    }
    return any;
}

static uint32_t list_standing(struct cycle *c, const struct movers *from, struct standing **ret_all)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < from->n; i++)
        n += from->all[i].n;
    *ret_all = arena_alloc(c->a, (n + 1) * sizeof **ret_all);
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t k = 0; k < from->all[i].n; k++)
            (*ret_all)[at++] = (struct standing){c->s->seats[from->all[i].seats[k]].node, i};
    if (n > 1)
        qsort(*ret_all, n, sizeof **ret_all, compare_standing);
    return n;
}

static uint32_t list_sites(struct cycle *c, const struct wishes *w, const struct movers *from, struct site **ret_sites)
{
    struct standing *all;
    uint32_t n = list_standing(c, from, &all), sites_n = 0;
    int64_t *left = mover_scratch(c->a, c->s, w);
    *ret_sites = arena_alloc(c->a, (n + 1) * sizeof **ret_sites);
    for (uint32_t at = 0, next; at < n; at = next) {
        const struct mover *on[ON_NODE];
        uint32_t on_n = 0;
        for (next = at; next < n && all[next].node == all[at].node; next++)
            if ((next == at || all[next].nth != all[next - 1].nth) && on_n < ON_NODE)
                on[on_n++] = &from->all[all[next].nth];
        sites_n += best_site(c->s, w, all[at].node, on, on_n, left, &(*ret_sites)[sites_n]);
    }
    if (sites_n > 1)
        qsort(*ret_sites, sites_n, sizeof **ret_sites, compare_sites);
    return sites_n;
}

static void choose(const struct mover *one, const struct mover **chosen, uint32_t *n)
{
    bool is_in = *n == MOVERS_MOST;
    for (uint32_t i = 0; i < *n && !is_in; i++)
        is_in = chosen[i] == one;
    if (!is_in)
        chosen[(*n)++] = one;
}

static int compare_chosen(const void *left, const void *right)
{
    const struct mover *const *a = left, *const *b = right;
    return *a < *b ? -1 : *a > *b; /* as they stand in the list */
}

static bool stands_on(const struct state *s, const struct mover *m, uint32_t node)
{
    bool any = false;
    for (uint32_t i = 0; i < m->n && !any; i++)
        any = s->seats[m->seats[i]].node == node;
    return any;
}

/* First those that a pod of the gang needs gone, site by site; then, while there is room for more of them, whoever else stands there; then
 * the others, by whose leave one of those may have a place. */
uint32_t movers_choose(struct cycle *c, const struct wishes *w, const struct movers *from, const struct mover *chosen[MOVERS_MOST])
{
    struct site *sites;
    uint32_t sites_n = list_sites(c, w, from, &sites), n = 0;
    for (uint32_t i = 0; i < sites_n && n < MOVERS_MOST; i++)
        for (uint32_t k = 0; k < sites[i].n; k++)
            choose(sites[i].all[k], chosen, &n);
    for (uint32_t i = 0; i < from->n && n < MOVERS_MOST; i++)
        for (uint32_t k = 0; k < sites_n && n < MOVERS_MOST; k++)
            if (stands_on(c->s, &from->all[i], sites[k].node))
                choose(&from->all[i], chosen, &n);
    for (uint32_t i = 0; i < from->n && n && n < MOVERS_MOST; i++)
        choose(&from->all[i], chosen, &n);
    if (n > 1)
        qsort(chosen, n, sizeof *chosen, compare_chosen);
    return n;
}

bool mover_is_first_on(const struct state *s, const struct mover *const *all, uint32_t i, uint32_t pod, uint32_t node)
{
    for (uint32_t k = 0; k < pod; k++)
        if (s->seats[all[i]->seats[k]].node == node)
            return false;
    for (uint32_t k = 0; k < i; k++)
        if (stands_on(s, all[k], node))
            return false;
    return true;
}
