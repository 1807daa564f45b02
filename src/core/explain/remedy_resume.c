/* remedy_resume.c - gangs that a stopped queue holds back: would the first of them start if it were resumed?
 *
 * SHAPE  only the first that would be tried is told, as in a line; who stands behind it depends on what it takes. It is looked at again
 *        after a while, since others start and end meanwhile.
 * LIMIT  one look through all gangs for each stopped queue of which a gang was held in this cycle.
 */
#include "core/explain/remedy.h"
#include "core/explain/why.h"
#include "core/heal/refill.h"
#include "core/queue/consumption.h"
#include "core/queue/order.h"
#include "core/quota/claim.h"

struct stopped {
    struct stopped *next;
    struct gang *gang;
    struct reason *why;
};

/* What stands between a gang and its turn: either may be NULL. */
struct stops {
    struct local_queue *local;
    struct queue *queue;
};

static struct stops stops_of(const struct state *s, const struct gang *g)
{
    name_id missing;
    struct local_queue *l = g->own->local_queue ? local_queue_find(s, g->own->local_queue) : NULL;
    struct queue *q = gang_asks_queue(s, g, &missing);
    return (struct stops){l && l->stop != STOP_NONE ? l : NULL, q && q->stop != STOP_NONE ? q : NULL};
}

struct policies {
    enum stop_policy local, queue;
};

static struct policies lift(const struct stops *x)
{
    struct policies was = {x->local ? x->local->stop : STOP_NONE, x->queue ? x->queue->stop : STOP_NONE};
    if (x->local)
        x->local->stop = STOP_NONE;
    if (x->queue)
        x->queue->stop = STOP_NONE;
    return was;
}

static void put_back(const struct stops *x, struct policies was)
{
    if (x->local)
        x->local->stop = was.local;
    if (x->queue)
        x->queue->stop = was.queue;
}

/* With its stops lifted: is there one that would be tried before it? */
static bool is_first(struct cycle *c, const struct gang *g, const struct stops *lifted)
{
    struct state *s = c->s;
    uint8_t unused;
    name_id missing;
    const struct queue *q = gang_asks_queue(s, g, &missing);
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        struct gang *other = s->gangs[i];
        bool is_held = other->phase == GANG_WAITING && !other->line && other != g;
        bool is_released = is_held && (lifted->queue || other->own->local_queue == g->own->local_queue) &&
                           gang_asks_queue(s, other, &missing) == q;
        if (is_released && consumption_before(s, q, other, g) && !why_not_ready(c, other, &unused))
            return false;
    }
    return true;
}

/* Heads of StrictFIFO queues keep quota for themselves, and those behind them waiting: who is tried when depends on them. */
bool remedy_somebody_blocks(const struct state *s, const struct queue *q)
{
    for (uint32_t i = 0; i < s->queues_n && s->strict_n; i++) {
        const struct queue *other = s->queues[i];
        if (claim_stands(other) || (other == q && (q->ready.n || q->blocked.n)))
            return true;
    }
    return false;
}

static struct reason *resume(struct cycle *c, name_id name, bool is_local)
{
    return reason_new(c->a, (struct reason){.code = REASON_CHANGE_RESUME, .name = name, .have = is_local});
}

static struct reason *remedies_of(struct cycle *c, struct gang *g, const struct stops *x)
{
    struct state *s = c->s;
    name_id missing;
    if (s->fresh_n || s->work_n || !g->planned || remedy_looks_at_others(s, g) ||
        remedy_somebody_blocks(s, gang_asks_queue(s, g, &missing)))
        return NULL;
    uint32_t cost = s->gangs_n / 64;
    struct remedy_search trial = {.c = c, .gang = g, .trials_left = c->trials_left - (cost < c->trials_left ? cost : c->trials_left)};
    struct measures nothing = {0};
    bool acts = remedy_acts(&trial, &nothing, g) == VERDICT_YES;
    c->trials_left = trial.trials_left + trial.unspent;
    if (!acts)
        return NULL;
    struct reason *all = reason_new(c->a, (struct reason){.code = REASON_REMEDIES, .name = g->key}),
                  *one = reason_new(c->a, (struct reason){.code = REASON_REMEDY});
    if (x->queue)
        reason_add(one, resume(c, x->queue->name, false));
    if (x->local)
        reason_add(one, resume(c, x->local->key, true));
    reason_add(all, one);
    return all;
}

void remedy_note_stopped(struct cycle *c, struct gang *g, struct reason *why)
{
    struct stopped *one = arena_alloc(c->a, sizeof *one);
    *one = (struct stopped){.gang = g, .why = why};
    *(c->stopped ? &c->stopped_last->next : &c->stopped) = one;
    c->stopped_last = one;
}

/* The first of those that were held in this cycle, for each stop that this one is the first of the list to name. */
static struct stopped *best_of_stop(struct stopped *from)
{
    struct stopped *best = from;
    for (struct stopped *x = from->next; x; x = x->next)
        if (x->why->queue == from->why->queue && x->why->name == from->why->name && order_before(x->gang, best->gang))
            best = x;
    return best;
}

static bool was_seen(const struct stopped *first, const struct stopped *x)
{
    for (const struct stopped *y = first; y != x; y = y->next)
        if (y->why->queue == x->why->queue && y->why->name == x->why->name)
            return true;
    return false;
}

static void look_at_first(struct cycle *c, struct stopped *x)
{
    struct gang *g = x->gang;
    struct stops stops = stops_of(c->s, g);
    struct policies was = lift(&stops);
    bool first = is_first(c, g, &stops);
    if (first)
        x->why->remedies = remedies_of(c, g, &stops);
    put_back(&stops, was);
    if (!first)
        return;
    g->retry_ms = c->now_ms + REMEDY_LOOK_AGAIN_MS;
    order_hold(c->s, g, PARK_QUEUE | PARK_TIME);
    refill_watch(c->s, g); /* no later than when it has been broken for too long */
}

void remedy_tell_stopped(struct cycle *c)
{
    for (struct stopped *x = c->stopped; x; x = x->next)
        if (!was_seen(c->stopped, x))
            look_at_first(c, best_of_stop(x));
    for (struct stopped *x = c->stopped; x; x = x->next)
        cycle_explain(c, x->gang, x->why);
}
