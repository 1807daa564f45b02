#include "core/group/later.h"
#include "core/explain/why.h"
#include "core/group/places.h"
#include "core/group/subgroups.h"
#include "core/heal/hole.h"
#include "core/heal/refill.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/preempt/promise.h"
#include "core/queue/gang.h"
#include "core/queue/order.h"
#include "core/quota/deserve.h"
#include "core/quota/ledger.h"
#include "core/time/booking.h"

/* Its queue deserves all of them. */
static bool deserves(struct cycle *c, const struct gang *g, const struct want *wants, uint32_t n)
{
    uint32_t mark = undo_mark(c->s);
    bool holds = true;
    for (uint32_t i = 0; i < n && holds; i++) {
        holds = deserve_holds(c->s, g, wants[i].shape);
        try_charge(c->s, g, g->queue, wants[i].shape);
    }
    undo_back(c->s, mark);
    return holds;
}

enum later { LATER_STARTS, LATER_FAILS, LATER_HELD };

static enum later start_later(struct cycle *c, struct gang *g, const uint32_t *pods, uint32_t n, bool held_back, struct parking *park)
{
    struct want *wants = try_wants(c, pods, n);
    if (held_back && !deserves(c, g, wants, n))
        return LATER_HELD;
    struct reason *why = g->queue ? try_pod_quota(c, g->queue, pods, n, park) : NULL;
    if (why) {
        cycle_explain(c, g, why);
        park->on |= PARK_QUOTA | PARK_QUEUE;
    }
    if (why || !places_take_or_say(c, g, wants, n, park))
        return LATER_FAILS;
    for (uint32_t i = 0; i < n; i++)
        cycle_bind(c, g, pods[i], wants[i].seat);
    return LATER_STARTS;
}

/* WHY the shape of one that failed: others like it would, and where many wait it is asked once. */
static bool settle_now(struct cycle *c, struct gang *g, bool once)
{
    struct state *s = c->s;
    if (holes_are_kept(g)) {
        places_drop_bad(s, g);
        if (!refill_settle(c, g))
            return false;
    }
    uint32_t *pods, pods_n = gang_loose_members(s, g, c->a, &pods), held_n = 0, failed_shape = 0, i = 0;
    struct unit *units;
    uint32_t n = group_units(s, g, c->a, pods, pods_n, &units);
    bool held_back = pods_n && g->queue && g->queue->preempts && deserve_holds_back(s, g->queue);
    bool *started = arena_zero(c->a, n + 1, sizeof *started), had_turn = false;
    struct parking park = {0};
    for (; i < n && c->pods_left && !had_turn; i++) {
        const uint32_t *first = &pods[units[i].first], shape = s->pods[*first].shape;
        if ((units[i].n == 1 && shape == failed_shape) || (units[i].after && !started[units[i].after - 1]))
            continue;
        enum later is = start_later(c, g, first, units[i].n, held_back, &park);
        started[i] = is == LATER_STARTS;
        had_turn = once && started[i];
        held_n += is == LATER_HELD ? units[i].n : 0;
        if (is != LATER_HELD)
            failed_shape = is == LATER_FAILS && units[i].n == 1 && !gang_has_subgroups(g) ? shape : 0;
    }
    if (had_turn && n > 1 && c->pods_left) {
        parking_release(s, &park);
        return true;
    }
    if (held_n && !park.on)
        cycle_explain(c, g, reason_new(c->a, (struct reason){.code = REASON_KEPT_TO_DESERVED, .queue = g->queue->title, .need = held_n}));
    park.on |= held_n ? PARK_QUOTA | PARK_QUEUE : 0;
    if (i < n)
        order_wake(s, g); /* the turn is full: the rest is tried in the next one */
    else if (park.on)
        order_park_gang(s, g, &park);
    parking_release(s, &park);
    return false;
}

/* WHY  others go for somebody, and a member that took their room would be no part of its group's minimum. Where queues take back what they
 * deserve, quota is kept, too: the group would be the next to go, whole. */
bool later_settle(struct cycle *c, struct gang *g, bool once)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s);
    for (uint32_t i = 0; i < s->promised_n; i++)
        if (g->queue && g->queue->has_shares)
            promise_put(s, s->promised[i], g->queue, g);
        else
            promise_put_rooms(s, s->promised[i]);
    bookings_put(s, g, true, c->now_ms, INT64_MAX);
    bool goes_on = settle_now(c, g, once);
    undo_back(s, mark);
    promises_lie_down(s);
    bookings_lie_down(s);
    return goes_on;
}
