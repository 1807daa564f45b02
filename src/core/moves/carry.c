#include "core/moves/carry.h"
#include "core/place/undo.h"
#include "core/preempt/promise.h"
#include "core/queue/checks.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"

/* ---- may they ---- */

/* WHY not in StrictFIFO queues: nobody behind the gang is tried there, and it would wait for those who are. */
static bool can_come_back(const struct move *m)
{
    return m->leave == MOVE_ALLOWED && m->gang->queue->strategy != QUEUE_STRICT_FIFO && !m->gang->queue->checks_n;
}

bool carry_may(const struct state *s, const struct gang *g, const struct moves *m)
{
    name_id missing;
    const struct queue *q = gang_asks_queue(s, g, &missing);
    bool may = g->planned && q && !q->has_shares && q->strategy != QUEUE_STRICT_FIFO && !q->checks_n && !s->promised_n && !s->bookings_n &&
               !s->hold && m->n;
    for (uint32_t i = 0; i < m->n && may; i++)
        may = can_come_back(&m->all[i]);
    return may;
}

/* ---- begun ---- */

/* What the gang will be charged, and where it will stand, once the others stand elsewhere. */
struct grant {
    struct flavor_search search;
    struct want *wants;
    uint32_t *shapes, *places, n;
};

static bool find_grant(struct cycle *c, struct gang *g, struct queue *q, struct grant *x)
{
    struct state *s = c->s;
    uint32_t sets_n, steps = PLACE_STEPS;
    struct misfit misfit;
    struct reason *unused = reason_new(c->a, (struct reason){.code = REASON_WAITING});
    const struct flavor_demand *sets = try_demands(c, g, &sets_n);
    flavor_search_begin(s, &x->search, q, sets, sets_n, c->a);
    while (flavor_search_next(s, &x->search, c->a, unused)) {
        uint32_t mark = undo_mark(s);
        x->wants = try_wish_all(c, g, &x->search, &x->shapes, &x->n);
        bool fits = place_all(s, g, x->wants, x->n, &steps, &misfit);
        x->places = arena_alloc(c->a, (x->n + 1) * sizeof *x->places);
        for (uint32_t i = 0; i < x->n && fits; i++)
            x->places[i] = s->seats[x->wants[i].seat].node;
        undo_back(s, mark);
        if (fits)
            return true;
        for (uint32_t i = 0; i < g->sets_n; i++)
            shape_release(s, x->shapes[i]);
        if (!flavor_refuse(&x->search, flavor_chooser(&x->search, misfit.pod_set), misfit.alone))
            break;
    }
    return false;
}

static bool find_beside_moved(struct cycle *c, struct gang *g, struct queue *q, const struct moves *m, struct grant *ret_grant)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s);
    bool found = true;
    for (uint32_t i = 0; i < m->n; i++)
        move_lift(s, &m->all[i]);
    for (uint32_t i = 0; i < m->n && found; i++)
        found = move_put(s, &m->all[i]);
    found = found && find_grant(c, g, q, ret_grant);
    undo_back(s, mark);
    return found;
}

static void promise_to(struct cycle *c, struct gang *g, struct queue *q, const struct moves *m, const struct grant *x)
{
    struct victims v = {.n = m->n, .borrow_level = x->search.borrow_level, .places = x->places};
    v.all = arena_zero(c->a, m->n, sizeof *v.all);
    for (uint32_t i = 0; i < m->n; i++)
        v.all[i] = (struct candidate){.gang = m->all[i].gang, .class = CLASS_MOVED};
    struct preemptor p = {.c = c, .gang = g, .queue = q, .needs = x->search.charges, .needs_n = x->search.charges_n,
                          .choices = x->search.choices, .choices_n = x->search.choices_n};
    promise_make(&p, &v, x->wants, x->n);
    for (uint32_t i = 0; i < m->n; i++)
        moved_keep(c->s, g->promise, m->all[i].gang, m->all[i].seats, m->all[i].to, m->all[i].n);
}

static bool make_of(struct cycle *c, struct gang *g, struct queue *q)
{
    struct moves *m = arena_alloc(c->a, sizeof *m);
    struct grant x = {0};
    uint32_t trials = MOVES_TRIALS;
    if (!moves_find(c, g, true, &trials, m) || !carry_may(c->s, g, m) || !find_beside_moved(c, g, q, m, &x))
        return false;
    promise_to(c, g, q, m, &x);
    for (uint32_t i = 0; i < g->sets_n; i++)
        shape_release(c->s, x.shapes[i]);
    return true;
}

static bool make(struct cycle *c, struct gang *g, struct queue *q)
{
    if (!q || g->promise || c->now_ms < g->own->preempts_after_ms)
        return false;
    if (make_of(c, g, q))
        return true;
    if (!shrink_may(g))
        return false;
    shrink_to_fewest(g);
    bool made = make_of(c, g, q);
    shrink_back(g);
    return made;
}

/* It waits for them, and looks again at any gain: who looked anew would have no promise. */
static void refuse(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    refusal->preempts = true;
    reason_add(refusal->why, promise_what(g, c->a));
    parking_release(c->s, &refusal->park);
    refusal->park.on |= PARK_QUOTA | PARK_NODES;
    refusal->park.shapes_n = PARK_SHAPES + 1;
    refusal->park.hopes_n = PARK_HOPES + 1;
    order_look_later(c->s, g, 0);
}

void carry_begins(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    name_id missing;
    bool wants = g->wants_moves && !refusal->preempts;
    g->wants_moves = false;
    if (wants && make(c, g, gang_asks_queue(c->s, g, &missing)))
        refuse(c, g, refusal);
}

/* ---- under way ---- */

static bool waits_for_movers(const struct state *s, const struct gang *g)
{
    const struct promise *p = g->promise;
    if (!p || !p->movers_n || s->now_ms - p->since_ms >= CARRY_MOST_MS)
        return false;
    bool waits = p->victims_n > 0;
    for (uint32_t i = 0; i < p->movers_n && !waits; i++)
        waits = moved_awaits(s, p->movers[i]);
    return waits;
}

bool carry_holds(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    const struct promise *p = g->promise;
    if (!p || !waits_for_movers(c->s, g))
        return false;
    *refusal = (struct refusal){.why = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = p->queue->title})};
    refuse(c, g, refusal);
    return true;
}

void carry_begin(struct state *s)
{
    for (uint32_t i = 0; i < s->promised_n; i++) {
        struct gang *g = s->promised[i];
        if (g->promise->movers_n && g->line && g->line->park.at && !waits_for_movers(s, g))
            order_line_ready(s, g->line, false);
    }
}

int64_t carry_next_ms(const struct state *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->promised_n; i++)
        any |= s->promised[i]->promise->movers_n > 0;
    return any ? s->now_ms + CARRY_LOOK_AGAIN_MS : 0;
}
