#include "core/admission.h"
#include <assert.h>
#include "base/memory.h"
#include "core/gang.h"
#include "core/order.h"

static void join_queue(struct gang *g, struct queue *q)
{
    g->queue = q;
    if (!q)
        return;
    MEM_RESERVE(q->admitted, q->admitted_cap, q->admitted_n + 1);
    g->admitted_at = q->admitted_n;
    q->admitted[q->admitted_n++] = g;
}

static void leave_queue(struct gang *g)
{
    struct queue *q = g->queue;
    g->queue = NULL;
    if (!q)
        return;
    struct gang *last = q->admitted[--q->admitted_n];
    q->admitted[g->admitted_at] = last;
    last->admitted_at = g->admitted_at;
}

static void copy_choices(struct gang *g, const struct flavor_choice *choices, uint32_t n)
{
    free(g->choices);
    g->choices = n ? mem_alloc(n * sizeof *choices) : NULL;
    if (n)
        memcpy(g->choices, choices, n * sizeof *choices);
    g->choices_n = n;
}

static void find_placed_shapes(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++) {
        uint32_t old = g->sets[i].placed_shape;
        g->sets[i].placed_shape = gang_flavored_shape(s, g->sets[i].shape, g->choices, g->choices_n, i);
        if (old)
            shape_release(s, old);
    }
}

void admission_book(struct state *s, struct gang *g, struct queue *q, const struct flavor_choice *choices, uint32_t choices_n,
                    const struct charge *charges, uint32_t charges_n)
{
    assert(!g->admitted);
    g->admitted = true;
    g->confirmed = g->burst = g->evict_sent = false;
    copy_choices(g, choices, choices_n);
    free(g->charges);
    g->charges = charges_n ? mem_alloc(charges_n * sizeof *charges) : NULL;
    if (charges_n)
        memcpy(g->charges, charges, charges_n * sizeof *charges);
    g->charges_n = charges_n;
    join_queue(g, q);
    find_placed_shapes(s, g);
    order_count(s, g);
}

static name_id flavor_of(const struct gang *g, uint32_t set, name_id resource, bool *ret_found)
{
    *ret_found = false;
    for (uint32_t i = 0; i < g->choices_n; i++) {
        if (g->choices[i].pod_set != set || g->choices[i].resource != resource)
            continue;
        *ret_found = true;
        return g->choices[i].flavor;
    }
    return 0;
}

static void add_charge(struct gang *g, uint32_t *cap, name_id flavor, name_id resource, int64_t value, int32_t count)
{
    uint32_t at = 0;
    while (at < g->charges_n && (g->charges[at].flavor != flavor || g->charges[at].resource != resource))
        at++;
    if (at == g->charges_n) {
        MEM_RESERVE(g->charges, *cap, at + 1);
        g->charges[g->charges_n++] = (struct charge){.flavor = flavor, .resource = resource};
    }
    int64_t sum;
    if (__builtin_mul_overflow(value, (int64_t)count, &sum) || __builtin_add_overflow(sum, g->charges[at].amount, &sum))
        sum = INT64_MAX / 4;
    g->charges[at].amount = sum;
}

/* What sets x counts come to under the gang's choices; a resource without a choice counts only in queues without flavors. */
static void find_charges(struct state *s, struct gang *g)
{
    uint32_t cap = 0;
    free(g->charges);
    g->charges = NULL;
    g->charges_n = 0;
    for (uint32_t i = 0; i < g->sets_n && g->queue; i++) {
        const struct shape_class *c = &s->shapes.classes[g->sets[i].shape];
        for (uint32_t k = 0; k < c->demands_n; k++) {
            bool found;
            name_id flavor = flavor_of(g, i, c->demands[k].resource, &found);
            if (found || (!g->queue->groups_n && quota_names(&s->quota, g->queue->quota, 0, c->demands[k].resource)))
                add_charge(g, &cap, flavor, c->demands[k].resource, c->demands[k].value, g->sets[i].count - g->sets[i].reclaimed_n);
        }
    }
}

static void apply_charges(struct state *s, struct gang *g, int sign)
{
    for (uint32_t i = 0; i < g->charges_n && g->queue; i++)
        quota_add(&s->quota, g->queue->quota, g->charges[i].flavor, g->charges[i].resource, sign * g->charges[i].amount);
}

void admission_restore(struct state *s, struct gang *g, const struct gang_record *r)
{
    name_id missing;
    struct queue *q = r->admitted_queue ? queue_find(s, r->admitted_queue) : gang_asks_queue(s, g, &missing);
    admission_book(s, g, q, r->choices, r->choices_n, NULL, 0);
    quota_settle(&s->quota);
    find_charges(s, g);
    apply_charges(s, g, 1);
    g->confirmed = true; /* whether the first burst is over is found when it is settled: all members bound or done */
}

void admission_recharge(struct state *s, struct gang *g)
{
    quota_settle(&s->quota);
    apply_charges(s, g, -1);
    if (g->queue)
        quota_gain(&s->quota, g->queue->quota);
    find_charges(s, g);
    apply_charges(s, g, 1);
    find_placed_shapes(s, g);
}

void admission_release(struct state *s, struct gang *g)
{
    if (!g->admitted)
        return;
    quota_settle(&s->quota);
    apply_charges(s, g, -1);
    if (g->queue)
        quota_gain(&s->quota, g->queue->quota);
    while (g->seats_n)
        seat_free(s, g->seats[--g->seats_n]);
    free(g->seats);
    g->seats = NULL;
    g->seats_cap = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        if (g->sets[i].placed_shape)
            shape_release(s, g->sets[i].placed_shape);
        g->sets[i].placed_shape = 0;
        g->sets[i].done_n = 0;
    }
    leave_queue(g);
    copy_choices(g, NULL, 0);
    free(g->charges);
    g->charges = NULL;
    g->charges_n = 0;
    g->admitted = g->confirmed = g->burst = g->evict_sent = false;
    order_count(s, g);
}

void admission_hold_seat(struct gang *g, uint32_t seat)
{
    MEM_RESERVE(g->seats, g->seats_cap, g->seats_n + 1);
    g->seats[g->seats_n++] = seat;
}

void admission_drop_held(struct state *s, struct gang *g, uint32_t at)
{
    seat_free(s, g->seats[at]);
    memmove(&g->seats[at], &g->seats[at + 1], (--g->seats_n - at) * sizeof *g->seats);
}

void pod_sit(struct state *s, uint32_t at, uint32_t seat)
{
    struct pod *p = &s->pods[at];
    assert(!p->seat && !s->seats[seat].pod);
    p->seat = seat;
    s->seats[seat].pod = at;
    if (p->gang)
        p->gang->bound_n++;
}

void pod_leave_seat(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    if (!p->seat)
        return;
    if (p->gang)
        p->gang->bound_n--;
    seat_free(s, p->seat);
    p->seat = 0;
    p->assumed = false;
}

/* Its job goes on, and a pod that takes over is expected. */
static bool leaves_its_place(const struct pod *p)
{
    const struct gang *g = p->gang;
    return p->seat && p->phase != POD_SUCCEEDED && g && g->planned && g->known && g->admitted && g->active && !g->finished && !g->evict_sent;
}

void pod_end_seat(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    int32_t set = leaves_its_place(p) ? pod_set_index(p->gang, p) : -1;
    if (set < 0) {
        pod_leave_seat(s, at);
        return;
    }
    struct seat *seat = &s->seats[p->seat];
    seat->pod = 0;
    seat->gang = p->gang;
    seat->pod_set = (uint32_t)set;
    admission_hold_seat(p->gang, p->seat);
    p->gang->bound_n--;
    p->seat = 0;
    p->assumed = false;
}

int32_t pod_set_index(const struct gang *g, const struct pod *p)
{
    if (g->sets_n == 1)
        return 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        if (g->sets[i].name == p->pod_set)
            return (int32_t)i;
    return -1;
}
