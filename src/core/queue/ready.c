#include "core/queue/ready.h"
#include "core/queue/lane.h"
#include "core/queue/order.h"

/* ---- deadlines ---- */

static bool deadline_before(const void *gang_a, const void *gang_b)
{
    const struct gang *a = gang_a, *b = gang_b;
    return a->own->deadline_ms != b->own->deadline_ms ? a->own->deadline_ms < b->own->deadline_ms : order_before(a, b);
}

void ready_init(struct state *s)
{
    heap_init(&s->deadlines, offsetof(struct gang, deadline_at), deadline_before);
}

void ready_fini(struct state *s)
{
    heap_fini(&s->deadlines);
}

/* SOURCE Kueue: from the admission on; of pods that were ready once, from when they were no more. */
int64_t ready_deadline_ms(const struct state *s, const struct gang *g)
{
    const struct ready_policy *p = &s->ready_policy;
    bool runs = (g->phase == GANG_ADMITTED || g->phase == GANG_BOUND) && g->api_admitted && !g->reserved_only && !g->own->told_evicted;
    if (!p->timeout_ms || g->source != GANG_WORKLOAD || !runs)
        return 0;
    if (g->own->pods == PODS_START)
        return g->own->admitted_ms ? g->own->admitted_ms + p->timeout_ms : 0;
    return g->own->pods == PODS_RECOVER && p->recovery_ms && g->own->unready_ms ? g->own->unready_ms + p->recovery_ms : 0;
}

static void count_unready(struct state *s, struct gang *g, bool unready)
{
    if (g->own->unready == unready)
        return;
    gang_own(g)->unready = unready;
    s->unready_n += unready ? 1 : UINT32_MAX;
    s->ready_gained |= !s->unready_n && s->ready_policy.block_admission;
}

void ready_follow(struct state *s, struct gang *g)
{
    int64_t deadline_ms = ready_deadline_ms(s, g);
    count_unready(s, g, g->source == GANG_WORKLOAD && gang_holds(g) && g->own->pods != PODS_READY);
    if (deadline_ms == g->own->deadline_ms)
        return; /* also where it has passed, and was taken out of the heap */
    heap_remove(&s->deadlines, g);
    gang_own(g)->deadline_ms = deadline_ms;
    if (deadline_ms)
        heap_add(&s->deadlines, g);
}

void ready_take(struct state *s, struct gang *g, const struct gang_record *r)
{
    struct gang_object *o = gang_own(g);
    o->pods = r->pods;
    o->unready_ms = r->unready_ms;
    o->admitted_ms = r->admitted_ms;
    o->retries_n = r->retries_n;
    o->told_evicted = r->evicted;
    ready_follow(s, g);
}

void ready_forget(struct state *s, struct gang *g)
{
    heap_remove(&s->deadlines, g);
    count_unready(s, g, false);
}

/* WHY not those that back off: an eviction that could not be written is told again when its pause is over, not before. */
void ready_wake(struct state *s, int64_t now_ms)
{
    for (struct gang *g; (g = heap_first(&s->deadlines)) && g->own->deadline_ms <= now_ms;) {
        heap_remove(&s->deadlines, g);
        if (!(g->park && g->park->at && (g->park->on & PARK_TIME)))
            order_wake(s, g);
    }
}

int64_t ready_next_ms(const struct state *s)
{
    const struct gang *g = heap_first(&s->deadlines);
    return g ? g->own->deadline_ms : 0;
}

/* SOURCE Kueue: base, doubled with each time, at most max. */
static int64_t backoff_ms(const struct ready_policy *p, int32_t nth)
{
    int64_t ms = p->backoff_ms;
    for (int32_t i = 1; i < nth && ms > 0 && ms < p->backoff_most_ms; i++) /* of nothing twice as much is nothing, however often */
        ms *= 2;
    return ms < p->backoff_most_ms ? ms : p->backoff_most_ms;
}

const struct reason *ready_why_evict(const struct cycle *c, const struct gang *g)
{
    const struct ready_policy *p = &c->s->ready_policy;
    if (!g->own->deadline_ms || g->own->deadline_ms > c->now_ms)
        return NULL;
    if (p->retries_most >= 0 && g->own->retries_n >= p->retries_most)
        return reason_new(c->a, (struct reason){.code = REASON_RETRIES_EXCEEDED, .have = g->own->retries_n, .need = p->retries_most});
    int32_t nth = g->own->retries_n < INT32_MAX ? g->own->retries_n + 1 : INT32_MAX;
    return reason_new(c->a, (struct reason){.code = REASON_PODS_TIMEOUT, .have = c->now_ms + backoff_ms(p, nth), .need = nth});
}

/* ---- the standstill ---- */

bool ready_blocks(const struct state *s, const struct gang *g)
{
    return s->ready_policy.block_admission && s->ready_policy.timeout_ms && s->unready_n && g->source == GANG_WORKLOAD;
}

/* What it was told holds until it is tried again; but who could never start may do so by now, else it would not be looked at. */
static bool says_enough(const struct reason *why)
{
    return why && (reason_find(why, REASON_QUOTA_SHORT) || reason_find(why, REASON_PREEMPTING) || reason_find(why, REASON_PODS_UNREADY));
}

/* WHY it is not tried: of thousands that wait only the first can start when this is over, and until then nothing that would be found out
 * lets anybody start. SOURCE Kueue, whose scheduler stands still as long. */
void ready_hold_line(struct cycle *c, struct line *l)
{
    if (!says_enough(l->reason)) {
        struct reason *why = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = l->queue->title});
        reason_add(why, reason_new(c->a, (struct reason){.code = REASON_PODS_UNREADY}));
        cycle_explain_line(c, l, why);
    }
    order_park_line(c->s, l, &(struct parking){.on = PARK_READY});
}

static bool is_held(const struct parking *p)
{
    return p->line && (p->on & PARK_READY);
}

bool ready_was_late(const struct state *s, const struct gang *g, const struct queue *q)
{
    return s->ready_policy.block_admission && g->source == GANG_WORKLOAD && g->own->retries_n > 0 && q->strategy != QUEUE_STRICT_FIFO;
}

static bool was_late(const struct state *s, const struct line *l)
{
    return ready_was_late(s, line_first(l), l->queue);
}

/* Those of the lines to try that are to be held, which moves the others. Returns how many. */
static uint32_t hold_lines(struct cycle *c, bool (*is_one)(const struct state *s, const struct line *l))
{
    struct state *s = c->s;
    uint32_t n = 0, cap = 0;
    struct line **all = NULL;
    for (uint32_t i = 0; i < s->ready_n; i++) {
        size_t lane = 0, at = 0;
        for (struct line *l; (l = lane_next_ready(s->ready[i], &lane, &at));) {
            if (!is_one(s, l))
                continue;
            all = arena_grow(c->a, all, n, 1, &cap, sizeof *all);
            all[n++] = l;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        ready_hold_line(c, all[i]);
    return n;
}

/* True: some are left for the next round. WHY  who ended the standstill by giving its quota back shall not begin the next at once: those
 * who waited for it are first. SOURCE Kueue, whose scheduler stands still with one of them in its hands. */
static bool wake_held(struct cycle *c)
{
    struct state *s = c->s;
    struct line **held = arena_alloc(c->a, (s->parked_n + 1) * sizeof *held);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->parked_n; i++)
        if (is_held(s->parked[i]))
            held[n++] = s->parked[i]->line;
    bool left = n && hold_lines(c, was_late);
    for (uint32_t i = 0; i < n; i++)
        order_line_ready(s, held[i], false);
    return left;
}

static bool is_blocked(const struct state *s, const struct line *l)
{
    return ready_blocks(s, line_first(l));
}

/* WHY in each round: what is given back within a cycle may end the standstill, and who waited for that comes before whoever comes now. */
void ready_begin_round(struct cycle *c)
{
    struct state *s = c->s;
    bool left = false;
    if (s->ready_policy.block_admission && s->unready_n)
        (void)hold_lines(c, is_blocked);
    else if (s->ready_gained)
        left = wake_held(c);
    s->ready_gained = left;
}
