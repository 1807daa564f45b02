#include "core/queue/consumption.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/queue/lane.h"
#include "core/queue/order.h"
#include "core/quota/decay.h"

/* ---- rows ---- */

static struct consumption_row *row_of(struct consumption *h, name_id resource)
{
    for (uint32_t i = 0; i < h->rows_n; i++)
        if (h->rows[i].resource == resource)
            return &h->rows[i];
    MEM_RESERVE(h->rows, h->rows_cap, h->rows_n + 1);
    h->rows[h->rows_n] = (struct consumption_row){.resource = resource};
    return &h->rows[h->rows_n++];
}

static u128 nano_of(const struct state *s, name_id resource, uint64_t amount)
{
    uint64_t most = INT64_MAX;
    return (u128)(amount < most ? amount : most) * (resource == s->name_cpu ? FINE_PER_UNIT / 1000 : FINE_PER_UNIT);
}

static u128 plus(u128 a, u128 b)
{
    u128 sum;
    return __builtin_add_overflow(a, b, &sum) ? ~(u128)0 : sum;
}

/* LIMIT  2^126: times a weight it is still a number of 192 bits. */
static u128 weighted(const struct state *s, name_id resource, u128 amount)
{
    int64_t weight = WEIGHT_ONE;
    for (uint32_t i = 0; i < s->consumption_weights_n; i++)
        if (s->consumption_weights[i].resource == resource)
            weight = s->consumption_weights[i].value;
    uint32_t rest, unused;
    u128 whole = decay_whole(amount, &rest), most = (u128)1 << 126;
    if (whole > UINT64_MAX)
        return weight ? most : 0;
    u128 product = whole * (uint64_t)weight + decay_whole((u128)rest * (uint64_t)weight, &unused);
    return product < most ? product : most;
}

/* ---- LocalQueues ---- */

struct used consumption_used_by(const struct state *s, const struct local_queue *l)
{
    struct used u = {.weight_nano = l->used.weight_nano};
    u128 most = (u128)1 << 127;
    for (uint32_t i = 0; i < l->consumption.rows_n; i++) {
        const struct consumption_row *r = &l->consumption.rows[i];
        u.sum = plus(u.sum, weighted(s, r->resource, plus(r->consumed, r->entry)));
    }
    u.sum = u.sum < most ? u.sum : most;
    return u;
}

static void used_changed(struct state *s, struct local_queue *l)
{
    l->used = consumption_used_by(s, l);
    if (l->lane)
        lane_set_used(l->lane, &l->used);
}

/* RACE  clocks are set back: time goes on from there. */
static void sample(struct state *s, struct local_queue *l)
{
    struct consumption *h = &l->consumption;
    int64_t half_ms = s->consumption.half_life_ms, elapsed_ms = s->now_ms - h->at_ms;
    if (!s->now_ms)
        return; /* before the first cycle */
    if (h->at_ms && elapsed_ms > 0) {
        uint64_t left = half_ms ? decay_left(elapsed_ms, half_ms) : 0;
        for (uint32_t i = 0; i < h->rows_n; i++) {
            struct consumption_row *r = &h->rows[i];
            u128 added = half_ms ? decay_part(nano_of(s, r->resource, r->held), ~left) : 0;
            r->consumed = plus(decay_part(r->consumed, left), added);
        }
    }
    h->at_ms = s->now_ms;
}

void consumption_take(struct state *s, struct local_queue *l, const struct local_queue_record *r)
{
    l->used.weight_nano = r->has_weight ? r->weight_nano : WEIGHT_ONE;
    if (!s->consumption.on)
        return;
    for (uint32_t i = 0; i < l->consumption.rows_n && r->consumed_ms > l->consumption.at_ms; i++)
        l->consumption.rows[i].consumed = 0;
    for (uint32_t i = 0; i < r->consumed_n && r->consumed_ms > l->consumption.at_ms; i++) {
        const struct fine_amount *one = &r->consumed[i];
        row_of(&l->consumption, one->resource)->consumed = one->units < 0 ? 0 : (u128)one->units * FINE_PER_UNIT + (uint32_t)one->nano;
    }
    if (r->consumed_ms > l->consumption.at_ms)
        l->consumption.at_ms = r->consumed_ms;
    if (!l->consumption.at_ms)
        l->consumption.at_ms = s->now_ms; /* it is new */
    used_changed(s, l);
}

void consumption_fini(struct state *s)
{
    for (uint32_t i = 0; i < s->local_queues_n; i++)
        free(s->local_queues[i].consumption.rows);
    free(s->consumption_weights);
}

void consumption_tick(struct state *s, int64_t now_ms)
{
    if (!s->consumption.on || now_ms < s->consumption_due_ms)
        return;
    for (uint32_t i = 1; i < s->local_queues_n; i++) {
        if (!s->local_queues[i].known)
            continue;
        sample(s, &s->local_queues[i]);
        used_changed(s, &s->local_queues[i]);
    }
    s->consumption_due_ms = now_ms + s->consumption.sampling_ms;
    s->consumption_ticks++;
}

int64_t consumption_next_ms(const struct state *s)
{
    return s->consumption.on ? s->consumption_due_ms : 0;
}

void state_set_consumption_policy(struct state *s, const struct consumption_policy *policy)
{
    s->consumption = *policy;
    s->consumption.weights = NULL;
    s->consumption_weights_n = policy->on ? policy->weights_n : 0;
    s->consumption_weights = mem_zero(s->consumption_weights_n + 1, sizeof *s->consumption_weights);
    for (uint32_t i = 0; i < s->consumption_weights_n; i++)
        s->consumption_weights[i] = (struct amount){intern_text_id(s->names, policy->weights[i].resource), policy->weights[i].weight_nano};
}

/* ---- gangs: what they hold ---- */

/* What its object says, or will say as soon as our write has landed. */
static bool is_admitted(const struct gang *g)
{
    bool was = g->own->consumption && g->own->consumption->held_of;
    return g->phase == GANG_ADMITTED || g->phase == GANG_BOUND ||
           (g->phase == GANG_LEAVING && (was || (g->api_admitted && !g->reserved_only)));
}

static struct gang_consumption *consumption_of(struct gang *g)
{
    struct gang_object *o = gang_own(g);
    if (!o->consumption)
        o->consumption = mem_zero(1, sizeof *o->consumption);
    return o->consumption;
}

static void hold_nothing(struct state *s, struct gang *g)
{
    if (!g->own->consumption || !g->own->consumption->held_of)
        return;
    struct local_queue *l = local_queue_named(s, g->own->consumption->held_of);
    for (uint32_t i = 0; i < g->own->consumption->own.rows_n; i++) {
        struct consumption_row *r = &g->own->consumption->own.rows[i];
        row_of(&l->consumption, r->resource)->held -= r->held;
        r->held = 0;
    }
    g->own->consumption->held_of = 0;
}

static void hold(struct state *s, struct gang *g)
{
    struct gang_consumption *own = consumption_of(g);
    struct local_queue *l = local_queue_named(s, g->own->local_queue);
    own->held_of = g->own->local_queue;
    for (uint32_t i = 0; i < g->own->charges_n; i++) {
        row_of(&own->own, g->own->charges[i].resource)->held += (uint64_t)g->own->charges[i].amount;
        row_of(&l->consumption, g->own->charges[i].resource)->held += (uint64_t)g->own->charges[i].amount;
    }
}

/* ---- and what they are let in for ---- */

static void drop_entry(struct state *s, struct gang *g, bool to_consumed)
{
    if (!g->own->consumption || !g->own->consumption->entry_of)
        return;
    struct local_queue *l = local_queue_named(s, g->own->consumption->entry_of);
    for (uint32_t i = 0; i < g->own->consumption->own.rows_n; i++) {
        struct consumption_row *r = &g->own->consumption->own.rows[i], *all = row_of(&l->consumption, r->resource);
        all->entry -= r->entry;
        if (to_consumed)
            all->consumed = plus(all->consumed, r->entry);
        r->entry = 0;
    }
    g->own->consumption->entry_of = 0;
    used_changed(s, l);
}

/* Of the i-th charge's resource, in all flavors; 0: a charge before it has counted it. */
static uint64_t asked_in_all(const struct gang *g, uint32_t i)
{
    const struct charge *all = g->own->charges;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < g->own->charges_n; k++) {
        if (all[k].resource == all[i].resource && k < i)
            return 0;
        if (all[k].resource == all[i].resource && __builtin_add_overflow(sum, (uint64_t)all[k].amount, &sum))
            return UINT64_MAX;
    }
    return sum;
}

/* SOURCE Kueue: of all that it asks for, but the number of its pods. WHY  rounded once for each resource: who asks for as much in other
 * flavors would have used another amount. */
void consumption_enter(struct state *s, struct gang *g, const struct queue *q)
{
    if (!s->consumption.on || !q || !q->by_consumption || !g->planned || !g->own->local_queue)
        return;
    drop_entry(s, g, false);
    uint64_t part = s->consumption.half_life_ms ? ~decay_left(s->consumption.sampling_ms, s->consumption.half_life_ms) : 0;
    struct gang_consumption *own = consumption_of(g);
    struct local_queue *l = local_queue_named(s, g->own->local_queue);
    own->entry_of = g->own->local_queue;
    for (uint32_t i = 0; i < g->own->charges_n; i++) {
        const struct charge *c = &g->own->charges[i];
        u128 entry = c->resource == s->name_pods ? 0 : decay_part(nano_of(s, c->resource, asked_in_all(g, i)), part);
        row_of(&own->own, c->resource)->entry += entry;
        row_of(&l->consumption, c->resource)->entry += entry;
    }
    used_changed(s, l);
}

void consumption_refund(struct state *s, struct gang *g)
{
    drop_entry(s, g, false);
}

static void settle(struct state *s, struct gang *g)
{
    struct local_queue *l = local_queue_named(s, g->own->local_queue);
    if (!g->queue || !g->queue->by_consumption)
        return;
    sample(s, l);
    drop_entry(s, g, true);
    used_changed(s, l);
}

static bool enters_no_more(const struct gang *g)
{
    return g->own->local_queue != g->own->consumption->entry_of || g->finished || (!g->active && !gang_holds(g));
}

void consumption_follow(struct state *s, struct gang *g)
{
    if (!s->consumption.on || !g->planned)
        return;
    bool was = g->own->consumption && g->own->consumption->held_of, is = g->own->local_queue && is_admitted(g);
    hold_nothing(s, g);
    if (is)
        hold(s, g);
    if (g->own->consumption && g->own->consumption->entry_of && enters_no_more(g))
        drop_entry(s, g, false);
    if (is && !was)
        settle(s, g);
}

void consumption_forget(struct state *s, struct gang *g)
{
    hold_nothing(s, g);
    drop_entry(s, g, false);
}

void consumption_local_gone(struct state *s, struct local_queue *l)
{
    if (!s->consumption.on)
        return;
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if (s->gangs[i]->own->consumption && s->gangs[i]->own->consumption->entry_of == l->key)
            drop_entry(s, s->gangs[i], false);
    for (uint32_t i = 0; i < l->consumption.rows_n; i++)
        l->consumption.rows[i].consumed = 0;
    l->consumption.at_ms = 0;
    l->used.weight_nano = WEIGHT_ONE;
    used_changed(s, l);
}

/* ---- order ---- */

const struct used *consumption_used(const struct state *s, const struct queue *q, const struct gang *g)
{
    bool counts = s->consumption.on && q && q->by_consumption;
    return counts ? &s->local_queues[id_map_get(&s->local_queue_by_key, g->own->local_queue)].used : NULL; /* [0]: of no LocalQueue */
}

bool consumption_before(const struct state *s, const struct queue *q, const struct gang *a, const struct gang *b)
{
    const struct used *by_a = consumption_used(s, q, a), *by_b = consumption_used(s, q, b);
    int r = by_a == by_b ? 0 : used_compare(by_a, by_b);
    return r ? r < 0 : order_before(a, b);
}
