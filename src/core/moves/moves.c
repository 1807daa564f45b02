#include "core/moves/moves.h"
#include <stdlib.h>
#include <string.h>
#include "core/moves/mover.h"
#include "core/place/fit.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/queue/shrink.h"

#define SHAPES_MOST 8u         /* of the gang, whose sums are looked at */
#define STEPS_OF_MOVER 256u    /* that a search for the places of one may take, and of all */
#define STEPS_TOGETHER 2048u
#define WAYS_MOST 4u           /* assignments of flavors under which those who stand in its way are looked for */

struct search {
    struct cycle *c;
    struct gang *gang;
    struct wishes wishes;
    struct movers movers;
    const struct mover *chosen[MOVERS_MOST];
    uint32_t chosen_n;
    uint32_t shapes[SHAPES_MOST], needs[SHAPES_MOST], shapes_n;
    uint64_t now[SHAPES_MOST]; /* so many of each hold all nodes together */
    int64_t *left;             /* mover_scratch */
};
struct set {                   /* some of the chosen, by bits */
    uint32_t bits, n;
    int64_t lost, lost_s;
};

/* ---- moving ---- */

void move_lift(struct state *s, const struct move *m)
{
    for (uint32_t i = 0; i < m->n; i++)
        undo_lift(s, m->seats[i]);
}

bool move_put(struct state *s, const struct move *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct seat from = s->seats[m->seats[i]];
        const struct shape_class *c = &s->shapes.classes[from.shape];
        if (fit_record(s, c, m->to[i], NULL) != FIT_OK || !fit_room(s, c, m->to[i]))
            return false;
        undo_seat(s, seat_take(s, m->to[i], from.shape, from.labels, from.gang, from.pod_set, true));
    }
    return true;
}

int64_t moves_told_s(int64_t lost)
{
    int64_t s = lost / 1000 + (lost % 1000 > 0), step = s < 3600 ? 60 : s < 36000 ? 360 : 3600;
    return (s / step + (s % step > 0)) * step;
}

/* ---- one set ---- */

/* Larger pods first: they find fewer places. */
static bool places_before(const struct mover *a, const struct mover *b)
{
    return a->size != b->size ? a->size > b->size : a < b;
}

static uint32_t in_order(const struct search *x, uint32_t bits, const struct mover **ret_all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->chosen_n; i++) {
        if (!(bits >> i & 1))
            continue;
        uint32_t at = n++;
        for (; at && places_before(x->chosen[i], ret_all[at - 1]); at--)
            ret_all[at] = ret_all[at - 1];
        ret_all[at] = x->chosen[i];
    }
    return n;
}

static void wish(const struct state *s, const struct mover *one, struct want *ret_wants)
{
    for (uint32_t i = 0; i < one->n; i++) {
        const struct seat *seat = &s->seats[one->seats[i]];
        ret_wants[i] = (struct want){.shape = seat->shape, .labels = seat->labels, .pod_set = seat->pod_set};
    }
}

static void note_places(struct search *x, const struct mover *one, const struct want *wants, struct move *ret_move)
{
    *ret_move = (struct move){.gang = one->gang, .lost = one->lost, .n = one->n, .seats = one->seats};
    ret_move->to = arena_alloc(x->c->a, one->n * sizeof *ret_move->to);
    for (uint32_t i = 0; i < one->n; i++)
        ret_move->to[i] = x->c->s->seats[wants[i].seat].node;
}

/* The gang takes the places that are best for it, then each of the others. *ret_starts: the gang found its own. */
static bool place_in_turn(struct search *x, const struct mover *const *all, uint32_t n, struct moves *ret_moves, bool *ret_starts)
{
    struct state *s = x->c->s;
    bool ok = *ret_starts = try_on_trial(x->c, x->gang);
    for (uint32_t i = 0; i < n && ok; i++) {
        struct want *wants = arena_zero(x->c->a, all[i]->n, sizeof *wants);
        uint32_t steps = STEPS_OF_MOVER;
        struct misfit unused;
        wish(s, all[i], wants);
        ok = place_all(s, all[i]->gang, wants, all[i]->n, &steps, &unused);
        if (ok)
            note_places(x, all[i], wants, &ret_moves->all[i]);
    }
    return ok;
}

/* All of them at once, as if they were one gang: exact as place_all is. WHY  not for who looks at other pods, or at domains: he would take
 * the others' for his own. */
static bool place_together(struct search *x, const struct mover *const *all, uint32_t n, struct moves *ret_moves)
{
    struct state *s = x->c->s;
    uint32_t wants_n = x->wishes.n, at = 0, steps = STEPS_TOGETHER;
    struct misfit unused;
    for (uint32_t i = 0; i < x->wishes.n; i++)
        if (x->wishes.wants[i].topology || s->shapes.classes[x->wishes.wants[i].shape].neighbours)
            return false;
    for (uint32_t i = 0; i < n; i++)
        wants_n += all[i]->n;
    struct want *wants = arena_alloc(x->c->a, (wants_n + 1) * sizeof *wants);
    memcpy(wants, x->wishes.wants, x->wishes.n * sizeof *wants);
    at = x->wishes.n;
    for (uint32_t i = 0; i < n; at += all[i++]->n)
        wish(s, all[i], &wants[at]);
    if (!place_all(s, x->gang, wants, wants_n, &steps, &unused))
        return false;
    at = x->wishes.n;
    for (uint32_t i = 0; i < n; at += all[i++]->n)
        note_places(x, all[i], &wants[at], &ret_moves->all[i]);
    return true;
}

static bool stands_still(const struct state *s, const struct move *m)
{
    bool still = true;
    for (uint32_t i = 0; i < m->n; i++)
        still &= s->seats[m->seats[i]].node == m->to[i];
    return still;
}

/* All leave, the gang starts, and each finds its places: in ret_moves. Nothing stays. */
static bool does_it(struct search *x, const struct set *set, struct moves *ret_moves)
{
    struct state *s = x->c->s;
    const struct mover *all[MOVERS_MOST];
    uint32_t mark = undo_mark(s), n = in_order(x, set->bits, all);
    *ret_moves = (struct moves){.n = n, .lost = set->lost, .gained = x->movers.gained};
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < all[i]->n; k++)
            undo_lift(s, all[i]->seats[k]);
    uint32_t gone = undo_mark(s);
    bool starts, ok = place_in_turn(x, all, n, ret_moves, &starts);
    undo_back(s, gone);
    ok = ok || (starts && place_together(x, all, n, ret_moves));
    undo_back(s, mark);
    for (uint32_t i = 0; i < n && ok; i++) {
        ret_moves->all[i].leave = mover_leave(s, all[i]->gang, set->lost, x->movers.gained);
        ok = !stands_still(s, &ret_moves->all[i]);
    }
    return ok;
}

/* ---- all sets ---- */

static int compare_sets(const void *left, const void *right)
{
    const struct set *a = left, *b = right;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->lost_s != b->lost_s)
        return a->lost_s < b->lost_s ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->bits < b->bits ? -1 : a->bits > b->bits;
}

static bool pods_alike(const struct state *s, const struct mover *a, const struct mover *b)
{
    bool alike = a->n == b->n && a->gang->queue == b->gang->queue;
    for (uint32_t i = 0; i < a->n && alike; i++)
        alike = s->seats[a->seats[i]].node == s->seats[b->seats[i]].node && s->seats[a->seats[i]].shape == s->seats[b->seats[i]].shape;
    return alike;
}

/* WHY  of those that stand alike only the first k are looked at, who lose least: any others do the same, and lose more. */
static void find_alike(const struct search *x, uint32_t before[MOVERS_MOST])
{
    for (uint32_t i = 0; i < x->chosen_n; i++) {
        before[i] = 0;
        for (uint32_t k = i; k-- > 0 && !before[i];)
            before[i] = pods_alike(x->c->s, x->chosen[i], x->chosen[k]) ? 1u << k : 0;
    }
}

static uint32_t list_sets(const struct search *x, struct set **ret_sets)
{
    uint32_t before[MOVERS_MOST], n = 0, most = 1u << x->chosen_n;
    *ret_sets = arena_alloc(x->c->a, most * sizeof **ret_sets);
    find_alike(x, before);
    for (uint32_t bits = 1; bits < most; bits++) {
        struct set one = {.bits = bits};
        bool first = true;
        for (uint32_t i = 0; i < x->chosen_n; i++) {
            if (!(bits >> i & 1))
                continue;
            one.n++;
            one.lost += x->chosen[i]->lost;
            one.lost_s += x->chosen[i]->lost_s;
            first &= (bits & before[i]) == before[i];
        }
        if (first && one.n <= MOVES_MOST)
            (*ret_sets)[n++] = one;
    }
    if (n > 1)
        qsort(*ret_sets, n, sizeof **ret_sets, compare_sets);
    return n;
}

/* ---- by sums ---- */

static void note_shapes(struct search *x)
{
    const struct wishes *w = &x->wishes;
    x->shapes_n = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t at = 0;
        while (at < x->shapes_n && x->shapes[at] != w->wants[i].shape)
            at++;
        if (at == SHAPES_MOST)
            continue;
        if (at == x->shapes_n) {
            x->shapes[x->shapes_n++] = w->wants[i].shape;
            x->needs[at] = 0;
            x->now[at] = view_sync(x->c->s, w->wants[i].shape)->room_n;
        }
        x->needs[at]++;
    }
}

static int64_t room_on(const struct search *x, const struct shape_class *c, uint32_t node, const struct mover *const *gone, uint32_t gone_n)
{
    const struct state *s = x->c->s;
    if (fit_record(s, c, node, NULL) != FIT_OK)
        return 0;
    int64_t with = mover_room_without(s, c, node, gone, gone_n, x->left), now = fit_room(s, c, node);
    return with > now ? with - now : 0;
}

/* Could they be enough, each node for itself? WHY  most sets are ruled out by this alone, and nothing is lifted. */
static bool may_be_enough(const struct search *x, const struct set *set)
{
    const struct state *s = x->c->s;
    const struct mover *gone[MOVERS_MOST];
    uint32_t n = in_order(x, set->bits, gone);
    for (uint32_t k = 0; k < x->shapes_n; k++) {
        const struct shape_class *c = &s->shapes.classes[x->shapes[k]];
        uint64_t room = x->now[k];
        for (uint32_t i = 0; i < n && room < x->needs[k]; i++)
            for (uint32_t p = 0; p < gone[i]->n && room < x->needs[k]; p++) {
                uint32_t node = s->seats[gone[i]->seats[p]].node;
                if (mover_is_first_on(s, gone, i, p, node))
                    room += (uint64_t)room_on(x, c, node, gone, n);
            }
        if (room < x->needs[k])
            return false;
    }
    return true;
}

/* ---- the whole ---- */

/* WHY  the bound is on what all of them lose together. */
static bool is_allowed(const struct search *x, const struct set *set)
{
    bool allowed = true;
    for (uint32_t i = 0; i < x->chosen_n; i++)
        allowed &= !(set->bits >> i & 1) || mover_leave(x->c->s, x->chosen[i]->gang, set->lost, x->movers.gained) == MOVE_ALLOWED;
    return allowed;
}

static bool search_sets(struct search *x, bool allowed, uint32_t *trials, struct moves *ret_moves)
{
    struct set *sets;
    uint32_t n = list_sets(x, &sets);
    for (uint32_t i = 0; i < n && *trials; i++) {
        if ((allowed && !is_allowed(x, &sets[i])) || !may_be_enough(x, &sets[i]))
            continue;
        --*trials;
        if (does_it(x, &sets[i], ret_moves))
            return true;
    }
    return false;
}

static bool search_way(struct search *x, bool allowed, uint32_t *trials, struct moves *ret_moves)
{
    movers_list(x->c, &x->wishes, allowed, &x->movers);
    if (!x->movers.gained || !x->movers.n)
        return false;
    x->chosen_n = movers_choose(x->c, &x->wishes, &x->movers, x->chosen);
    x->left = mover_scratch(x->c->a, x->c->s, &x->wishes);
    note_shapes(x);
    return x->chosen_n && search_sets(x, allowed, trials, ret_moves);
}

bool moves_find(struct cycle *c, struct gang *g, bool allowed, uint32_t *trials, struct moves *ret_moves)
{
    struct search x = {.c = c, .gang = g};
    name_id missing;
    struct queue *q = gang_asks_queue(c->s, g, &missing);
    bool found = false, any = true;
    for (uint32_t nth = 0; nth < WAYS_MOST && any && !found && *trials; nth++) {
        any = try_wishes(c, g, q, nth, &x.wishes);
        found = any && search_way(&x, allowed, trials, ret_moves);
        wishes_release(c->s, &x.wishes);
    }
    return found;
}

bool moves_may_help(const struct state *s, const struct gang *g)
{
    const struct parking *park = g->line ? &g->line->park : g->park;
    bool asks = false;
    for (uint32_t i = 0; i < g->sets_n; i++)
        asks |= mover_gpus(s, g->sets[i].shape) > 0;
    return asks && park && (park->on & PARK_NODES) && !s->anti_seats_n;
}
