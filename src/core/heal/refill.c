#include "core/heal/refill.h"
#include "core/explain/why.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/queue/admission.h"
#include "core/queue/order.h"

/* ---- how long ---- */

static int32_t asked_s(const struct gang *g)
{
    return g->own->terms ? g->own->terms->refill_s : 0;
}

static int64_t until_ms(const struct gang *g)
{
    return g->own->lost_ms + (int64_t)(asked_s(g) ? asked_s(g) : REFILL_S) * 1000;
}

static void begin(const struct cycle *c, struct gang *g)
{
    if (!g->own->lost_ms)
        gang_own(g)->lost_ms = c->now_ms;
}

static void end(struct gang *g)
{
    if (g->own->lost_ms)
        gang_own(g)->lost_ms = 0;
}

void refill_drop(struct state *s, struct gang *g)
{
    while (g->own->seats_n)
        admission_drop_held(s, g, g->own->seats_n - 1);
}

static const struct reason *why_evict(struct cycle *c, const struct gang *g)
{
    return reason_new(c->a, (struct reason){.code = REASON_GANG_BROKEN, .have = g->bound_n, .need = asked_s(g)});
}

const struct reason *refill_why_evict(struct cycle *c, struct gang *g)
{
    bool is_broken = !g->planned && g->bound_n && g->active && gang_is_below_minimum(c->s, g);
    if (!is_broken || !asked_s(g)) {
        end(g);
        return NULL;
    }
    begin(c, g);
    return c->now_ms >= until_ms(g) ? why_evict(c, g) : NULL;
}

void refill_watch(struct state *s, struct gang *g)
{
    if (!g->own->lost_ms || g->phase != GANG_WAITING || g->planned)
        return;
    if (!g->timer_at || g->retry_ms > until_ms(g))
        order_look_later(s, g, until_ms(g));
}

/* ---- while places are kept ---- */

/* It is in line again, with what it has left. */
static void give_up(struct cycle *c, struct gang *g)
{
    admission_release(c->s, g);
    order_wake(c->s, g);
}

/* The members that are there make it whole: they are tried at once, before anybody else gets what was kept for them. Who fits neither
 * there nor anywhere keeps nothing.
 * WHY  on trial first: a try that fails may tell others to go for it, and that is for who stands in line. */
static bool refill(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    admission_release(s, g);
    order_sets_of_group(s, g);
    uint32_t mark = undo_mark(s);
    bool fits = try_on_trial(c, g);
    undo_back(s, mark);
    struct refusal refusal;
    if (fits && try_gang(c, g, &refusal)) {
        parking_release(s, &refusal.park);
        return true;
    }
    if (fits)
        parking_release(s, &refusal.park);
    order_wake(s, g);
    return false;
}

static void keep_waiting(struct cycle *c, struct gang *g, const struct reason *missing)
{
    struct reason *why = reason_new(c->a, (struct reason){.code = REASON_MEMBERS_LOST, .name = missing->name, .pod_set = missing->pod_set,
                                                          .taken = missing->taken, .have = missing->have, .need = missing->need});
    cycle_explain(c, g, why);
    order_look_later(c->s, g, until_ms(g));
}

bool refill_settle(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    if (!gang_is_below_minimum(s, g)) {
        refill_drop(s, g);
        end(g);
        return true;
    }
    begin(c, g);
    if (c->now_ms >= until_ms(g) && asked_s(g)) {
        refill_drop(s, g);
        cycle_evict(c, g, why_evict(c, g));
        return false;
    }
    uint8_t unused;
    const struct reason *missing = why_not_ready(c, g, &unused);
    bool is_short = missing && missing->code == REASON_MEMBERS_MISSING;
    if (g->own->seats_n && !missing && !s->hold)
        return refill(c, g);
    if (!g->own->seats_n || (missing && !is_short) || c->now_ms >= until_ms(g))
        give_up(c, g);
    else if (is_short)
        keep_waiting(c, g, missing);
    else
        order_look_later(s, g, until_ms(g));
    return false;
}
