#include "core/quota/ledger.h"
#include "base/memory.h"
#include "core/queue/gang.h"
#include "core/queue/shrink.h"
#include "core/quota/count.h"

/* ---- which gangs have charges in a queue ---- */

static void lowest_add(struct queue *q, const struct gang *g)
{
    if (q->lowest_n && g->priority > q->lowest)
        return;
    if (!q->lowest_n && q->charged_n)
        return; /* unknown */
    q->lowest_n = q->lowest_n && g->priority == q->lowest ? q->lowest_n + 1 : 1;
    q->lowest = g->priority;
}

int32_t ledger_lowest(struct queue *q)
{
    if (q->lowest_n || !q->charged_n)
        return q->charged_n ? q->lowest : INT32_MAX;
    q->lowest = INT32_MAX;
    for (uint32_t i = 0; i < q->charged_n; i++) {
        int32_t priority = q->charged[i]->priority;
        if (priority < q->lowest)
            q->lowest_n = 0;
        q->lowest = priority < q->lowest ? priority : q->lowest;
        q->lowest_n += priority == q->lowest;
    }
    return q->lowest;
}

static void join(struct gang *g, struct queue *q)
{
    lowest_add(q, g);
    MEM_RESERVE(q->charged, q->charged_cap, q->charged_n + 1);
    q->charged[q->charged_n++] = g;
    q->charged_groups_n += !gang_is_lone(g);
    g->charged_at = q->charged_n;
}

static void leave(struct gang *g, struct queue *q)
{
    struct gang *last = q->charged[--q->charged_n];
    q->charged[g->charged_at - 1] = last;
    last->charged_at = g->charged_at;
    g->charged_at = 0;
    q->charged_groups_n -= !gang_is_lone(g);
    q->lowest_n -= q->lowest_n && g->priority == q->lowest;
}

void ledger_follow(struct state *s, struct gang *g)
{
    bool belongs = gang_has_no_queue(g) && gang_holds(g);
    if (g->queue || belongs == (g->charged_at != 0))
        return;
    if (belongs)
        join(g, s->queues[0]);
    else
        leave(g, s->queues[0]);
    if (belongs && g->bound_n) /* it was broken, and nobody could go before it */
        ledger_may_go_again(s, g);
}

void ledger_may_go_again(struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n && !g->queue && !gang_is_lone(g); i++)
        if (s->pods[g->members[i]].seat)
            node_table_gain(&s->nodes, s->seats[s->pods[g->members[i]].seat].node);
}

bool ledger_has_lower(const struct state *s, const struct gang *g)
{
    return gang_has_no_queue(g) && !g->preempts_nobody && ledger_lowest(s->queues[0]) < g->priority;
}

bool ledger_has_lower_group(const struct state *s, const struct gang *g)
{
    const struct queue *q = s->queues[0];
    bool any = false;
    for (uint32_t i = 0; i < q->charged_n && q->charged_groups_n && !any; i++)
        any = !gang_is_lone(q->charged[i]) && q->charged[i]->priority < g->priority;
    return any;
}

/* Out of the list that it is in. */
static void leave_any(struct state *s, struct gang *g)
{
    if (g->charged_at)
        leave(g, g->queue ? g->queue : s->queues[0]);
    g->queue = NULL;
}

/* ---- amounts ---- */

static struct charge *charge_of(struct gang *g, name_id flavor, name_id resource)
{
    struct gang_object *o = gang_own(g);
    for (uint32_t i = 0; i < o->charges_n; i++)
        if (o->charges[i].flavor == flavor && o->charges[i].resource == resource)
            return &o->charges[i];
    MEM_RESERVE(o->charges, o->charges_cap, o->charges_n + 1);
    o->charges[o->charges_n] = (struct charge){.flavor = flavor, .resource = resource};
    return &o->charges[o->charges_n++];
}

static void add_charge(struct gang *g, name_id flavor, name_id resource, int64_t value, int64_t count)
{
    struct charge *c = charge_of(g, flavor, resource);
    int64_t sum;
    if (__builtin_mul_overflow(value, count, &sum) || __builtin_add_overflow(sum, c->amount, &sum))
        sum = INT64_MAX / 4;
    c->amount = sum;
}

/* A resource without a choice counts only in queues without flavors. */
static void find_planned(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        for (uint32_t k = 0; k < c->demands_n; k++) {
            name_id flavor, resource = c->demands[k].resource;
            if (flavor_given(g, i, resource, &flavor) || (!g->queue->groups_n && quota_names(&s->quota, g->queue->quota, 0, resource)))
                add_charge(g, flavor, resource, c->demands[k].value, set_needs(&g->sets[i]));
        }
    }
}

static void add_shape(struct state *s, struct gang *g, uint32_t shape)
{
    struct amount one;
    for (struct count x = count_begin(s, g->queue, g->keeps_places, shape); count_next(&x, &one);)
        add_charge(g, 0, one.resource, one.value, 1);
}

static void find_seated(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->seat)
            add_shape(s, g, s->seats[p->seat].shape);
    }
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        add_shape(s, g, s->seats[g->own->seats[i]].shape);
}

static void apply(struct state *s, struct gang *g, int sign)
{
    quota_settle(&s->quota);
    quota_touch(&s->quota, g->queue->quota);
    for (uint32_t i = 0; i < g->own->charges_n; i++)
        quota_add(&s->quota, g->queue->quota, g->own->charges[i].flavor, g->own->charges[i].resource, sign * g->own->charges[i].amount);
}

/* ---- the ledger ---- */

void ledger_open(struct state *s, struct gang *g, struct queue *q)
{
    if (g->queue == q)
        return;
    ledger_close(s, g);
    if (!q)
        return;
    leave_any(s, g);
    g->queue = q;
    join(g, q);
    if (!g->planned && g->bound_n)
        ledger_recount(s, g);
}

void ledger_take_over(struct state *s, struct gang *g, const struct charge *charges, uint32_t n)
{
    struct gang_object *o = gang_own(g);
    if (g->queue)
        quota_touch(&s->quota, g->queue->quota);
    MEM_RESERVE(o->charges, o->charges_cap, n);
    if (n)
        memcpy(o->charges, charges, n * sizeof *charges);
    o->charges_n = n;
}

void ledger_seat(struct state *s, struct gang *g, uint32_t shape, int sign)
{
    if (!g->queue || g->planned || g->queue->groups_n)
        return;
    quota_settle(&s->quota);
    quota_touch(&s->quota, g->queue->quota);
    struct amount one;
    for (struct count x = count_begin(s, g->queue, g->keeps_places, shape); count_next(&x, &one);) {
        charge_of(g, 0, one.resource)->amount += sign * one.value;
        quota_add(&s->quota, g->queue->quota, 0, one.resource, sign * one.value);
    }
    if (sign < 0)
        quota_gain(&s->quota, g->queue->quota);
    else if (g->queue->has_shares && g->queue->preempts)
        quota_rise(&s->quota, g->queue->quota); /* perhaps it has more than it deserves by now */
}

void ledger_recount(struct state *s, struct gang *g)
{
    if (!g->queue)
        return;
    apply(s, g, -1);
    quota_gain(&s->quota, g->queue->quota);
    gang_own(g)->charges_n = 0;
    if (g->planned)
        find_planned(s, g);
    else if (!g->queue->groups_n)
        find_seated(s, g);
    apply(s, g, 1);
}

void ledger_close(struct state *s, struct gang *g)
{
    if (g->queue) {
        apply(s, g, -1);
        quota_gain(&s->quota, g->queue->quota);
    }
    leave_any(s, g);
    if (g->own->charges_n)
        gang_own(g)->charges_n = 0;
    ledger_follow(s, g);
}
