#include "core/queue/admission.h"
#include <assert.h>
#include "base/memory.h"
#include "core/explain/why.h"
#include "core/heal/hole.h"
#include "core/place/domain.h"
#include "core/preempt/promise.h"
#include "core/queue/checks.h"
#include "core/queue/gang.h"
#include "core/queue/consumption.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/queue/shrink.h"
#include "core/quota/deserve.h"
#include "core/quota/ledger.h"
#include "core/quota/share.h"
#include "core/time/booking.h"

/* ---- phases and what queues count ---- */

static void counts_add(struct counts *c, uint8_t what, int by)
{
    c->pending_n += (what & COUNTED_PENDING) ? (uint32_t)by : 0;
    c->reserving_n += (what & COUNTED_RESERVING) ? (uint32_t)by : 0;
    c->admitted_n += (what & COUNTED_ADMITTED) ? (uint32_t)by : 0;
    c->leaving_n += (what & COUNTED_LEAVING) ? (uint32_t)by : 0;
}

static void count(struct state *s, struct gang *g, int by)
{
    struct local_queue *l = &s->local_queues[g->own->counted_local];
    if (g->own->counted_local)
        counts_add(&l->counts, g->counted, by);
    struct queue *q = g->own->counted_local ? l->counted : g->own->counted_queue;
    if (q)
        counts_add(&q->counts, g->counted, by);
}

/* SOURCE Kueue: pending are those that may be tried some day; reserving those with quota; admitted those that may start. */
static uint8_t counted_as(const struct gang *g)
{
    if (g->phase == GANG_WAITING)
        return g->active ? COUNTED_PENDING : 0;
    if (!gang_holds(g))
        return 0;
    if (g->phase == GANG_RESERVED || g->phase == GANG_CHECKING)
        return COUNTED_RESERVING;
    return COUNTED_RESERVING | COUNTED_ADMITTED | (g->phase == GANG_LEAVING && g->active ? COUNTED_LEAVING : 0);
}

static void count_anew(struct state *s, struct gang *g)
{
    count(s, g, -1);
    name_id missing;
    g->counted = counted_as(g);
    struct local_queue *l = g->own->local_queue ? local_queue_named(s, g->own->local_queue) : NULL;
    uint32_t local = l ? (uint32_t)(l - s->local_queues) : 0;
    struct queue *q = l ? NULL : gang_asks_queue(s, g, &missing);
    if (local != g->own->counted_local || q != g->own->counted_queue) {
        gang_own(g)->counted_local = local;
        gang_own(g)->counted_queue = q;
    }
    count(s, g, 1);
}

void gang_enter(struct state *s, struct gang *g, enum gang_phase phase)
{
    bool begins = !gang_holds(g) && (phase == GANG_CHECKING || phase == GANG_RESERVED);
    g->answered = g->let_in_again = false;
    g->restarts &= phase >= GANG_CHECKING && phase <= GANG_LEAVING;
    g->phase = phase;
    ledger_follow(s, g);
    deserve_note_phase(s, g);
    if (phase != GANG_WAITING) {
        promise_drop(s, g);
        booking_drop(s, g);
    }
    if (begins && s->bookings_n)
        bookings_look(s, g);
    if (g->restarts && (phase == GANG_ADMITTED || phase == GANG_BOUND))
        order_wake(s, g); /* it was asked before anybody said that it is admitted */
    if (begins || (!gang_holds(g) && !gang_leaves_places(s, g)))
        promise_forget_victim(s, g);
    if (gang_is_lone(g))
        return; /* it is in no queue, and nobody waits for its pod to be ready */
    count_anew(s, g);
    ready_follow(s, g);
    consumption_follow(s, g);
}

void admission_recount_queues(struct state *s, struct gang *g)
{
    count_anew(s, g);
}

/* ---- into its queue ---- */

/* It may take back what is above its own from others below a bound that they share. */
static bool is_its_own(const struct state *s, const struct queue *q, const struct amount *least)
{
    const struct quota_cell *cell = quota_find(&s->quota, q->quota, 0, least->resource);
    return q->preempts && cell && least->value <= cell->subtree - cell->usage;
}

static const struct reason *short_of(const struct state *s, const struct queue *q, const struct amount *least, struct arena *a)
{
    int64_t left = quota_left_by_bounds(&s->quota, q->quota, 0, least->resource);
    if (least->value <= left || is_its_own(s, q, least))
        return NULL;
    int64_t most = quota_least_bound(&s->quota, q->quota, 0, least->resource);
    bool never = least->value > most;
    return reason_new(a, (struct reason){.code = never ? REASON_QUOTA_EXCEEDS_MAX : REASON_QUOTA_SHORT, .queue = q->title,
                                         .resource = least->resource, .need = least->value, .have = never ? most : left});
}

static const struct reason *short_of_any(const struct state *s, const struct queue *q, const struct gang *g, struct arena *a)
{
    const struct reason *why = NULL;
    const struct amount *least;
    for (uint32_t i = 0, n = gang_least(g, &least); i < n && !why; i++)
        why = short_of(s, q, &least[i], a);
    return why;
}

/* Is it a group of the queue whose pods are not made, since the queue has no room for them? WHY not one that has room: if nobody makes its
 * pods, it keeps nobody waiting. */
static bool is_kept_out(const struct state *s, const struct queue *q, const struct gang *g, struct arena *a)
{
    return g->phase == GANG_WAITING && g->active && !g->finished && !g->members_n && short_of_any(s, q, g, a);
}

const struct gang *admission_front(const struct state *s, const struct queue *q, const struct gang *g, struct arena *a)
{
    const struct gang *front = order_blocker(q);
    front = front && g && !order_before(front, g) ? NULL : front;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *other = s->gangs[i];
        bool comes_before = other->own->queue_name == q->name && other != g && (!g || order_before(other, g));
        if (comes_before && (!front || order_before(other, front)) && is_kept_out(s, q, other, a))
            front = other;
    }
    return front;
}

const struct reason *admission_why_kept_out(const struct state *s, const struct gang *g, struct arena *a)
{
    name_id missing;
    const struct queue *q = gang_asks_queue(s, g, &missing);
    if (g->members_n)
        return NULL;
    if (missing)
        return reason_new(a, (struct reason){.code = REASON_QUEUE_MISSING, .name = g->own->queue_title, .queue_kind = g->own->queue_kind});
    const struct reason *why = q ? why_queue_refuses(s, q, a) : NULL;
    why = why || !q ? why : short_of_any(s, q, g, a);
    const struct gang *front = q && !why && q->strategy == QUEUE_STRICT_FIFO ? admission_front(s, q, g, a) : NULL;
    if (front)
        why = reason_new(a, (struct reason){.code = REASON_BEHIND, .queue_kind = q->kind, .queue = q->title, .name = front->key});
    return why;
}

/* ---- what a gang was given ---- */

static void copy_choices(struct gang *g, const struct flavor_choice *choices, uint32_t n)
{
    if (!n && !g->own->choices)
        return;
    struct gang_object *o = gang_own(g);
    free(o->choices);
    o->choices = n ? mem_alloc(n * sizeof *choices) : NULL;
    if (n)
        memcpy(o->choices, choices, n * sizeof *choices);
    o->choices_n = n;
}

static void copy_told(struct gang *g, const struct domain_choice *domains, uint32_t n)
{
    domain_forget(g);
    if (!n)
        return;
    struct gang_object *o = gang_own(g);
    o->told = mem_alloc(n * sizeof *domains);
    memcpy(o->told, domains, n * sizeof *domains);
    o->told_n = n;
}

static void find_placed_shapes(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++) {
        uint32_t old = g->sets[i].placed_shape;
        g->sets[i].placed_shape = gang_flavored_shape(s, g->sets[i].shape, g->own->choices, g->own->choices_n, i);
        if (old)
            shape_release(s, old);
    }
}

/* May others take back from its queue, or preempt by its share, who might not before? Promises that lie on the tree only make it say so
 * too often. */
static bool lets_others_preempt(const struct state *s, const struct gang *g, const struct queue *q)
{
    bool any = shares_fairly(s, q);
    for (uint32_t i = 0; i < g->own->charges_n && q->cohort && s->borrowers_awaited_n && !any; i++) {
        const struct charge *c = &g->own->charges[i];
        any = c->amount > 0 && share_borrows_upwards(&s->quota, q->quota, c->flavor, c->resource);
    }
    return any;
}

void admission_reserve(struct state *s, struct gang *g, struct queue *q, const struct flavor_choice *choices, uint32_t choices_n,
                       const struct charge *charges, uint32_t charges_n)
{
    assert(g->phase == GANG_WAITING);
    copy_choices(g, choices, choices_n);
    ledger_open(s, g, q);
    if (g->planned)
        ledger_take_over(s, g, charges, charges_n);
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++) /* what the API will say: members that are over already are not given */
        set_grant(&g->sets[i], set_needs(&g->sets[i]));
    find_placed_shapes(s, g);
    g->reserved_ms = s->now_ms - s->now_ms % 1000;
    g->admit_refused = false;
    if (!g->planned && g->own->lost_ms)
        gang_own(g)->lost_ms = 0; /* it is whole, and when it is broken again that begins anew (heal/refill.h) */
    if (q)
        consumption_enter(s, g, q);
    if (q && lets_others_preempt(s, g, q))
        quota_rise(&s->quota, q->quota);
    if (q && s->takers_awaited_n)
        quota_take(&s->quota, q->quota);
    gang_enter(s, g, !g->planned ? GANG_BOUND : checks_demanded(q, choices, choices_n) ? GANG_CHECKING : GANG_RESERVED);
}

static void link_queue(struct state *s, struct gang *g, struct queue *q)
{
    gang_own(g)->unknown_queue = 0;
    ledger_open(s, g, q);
    ledger_recount(s, g);
    if (g->reserved_only)
        consumption_enter(s, g, q); /* whoever begins anew counts it like the scheduler that let it in */
}

static void unlink_later(struct state *s, struct gang *g, name_id queue)
{
    gang_own(g)->unknown_queue = queue;
    MEM_RESERVE(s->unlinked, s->unlinked_cap, s->unlinked_n + 1);
    s->unlinked[s->unlinked_n++] = g;
}

static void forget_unlinked(struct state *s, struct gang *g)
{
    if (!g->own->unknown_queue)
        return;
    gang_own(g)->unknown_queue = 0;
    uint32_t at = 0;
    while (s->unlinked[at] != g)
        at++;
    s->unlinked[at] = s->unlinked[--s->unlinked_n];
}

/* WHY no rise, though its queue may have more than its own now: linking it recounts, which is a gain of its tree, and whoever waits for
 * borrowers waits for any gain (place/try.c). */
void admission_restore(struct state *s, struct gang *g, const struct gang_record *r)
{
    name_id missing, name = r->admitted_queue;
    struct queue *q = name ? queue_find(s, name) : gang_asks_queue(s, g, &missing);
    if (!q && !name)
        name = missing;
    copy_choices(g, r->choices, r->choices_n);
    copy_told(g, r->domains, r->domains_n);
    for (uint32_t i = 0; i < g->sets_n && i < r->pod_sets_n && g->planned; i++)
        set_grant(&g->sets[i], r->pod_sets[i].granted);
    g->reserved_ms = r->reserved_ms;
    for (uint32_t i = 0; i < g->members_n; i++) { /* they may have been seen before their gang */
        const struct pod *p = &s->pods[g->members[i]];
        int32_t set = p->phase == POD_SUCCEEDED && !gang_member_is_former(g, p) ? pod_set_index(g, p) : -1;
        if (set >= 0 && g->sets[set].done_n < g->sets[set].count)
            g->sets[set].done_n++;
    }
    if (q)
        link_queue(s, g, q);
    else if (name)
        unlink_later(s, g, name);
    find_placed_shapes(s, g);
    /* whether the first burst is over is found when it is settled: all members bound or done */
    gang_enter(s, g, r->evicted ? GANG_LEAVING : r->reserved_only ? GANG_CHECKING : GANG_ADMITTED);
    g->answered = r->evicted;
}

void admission_follow_pods(struct state *s, struct gang *g)
{
    name_id missing;
    if (g->planned || g->phase == GANG_UNKNOWN)
        return;
    struct queue *q = gang_asks_queue(s, g, &missing);
    if (g->own->unknown_queue && g->own->unknown_queue == missing)
        return;
    forget_unlinked(s, g); /* it asks for another one by now, or for none */
    if (q)
        ledger_open(s, g, q); /* counts what stands already */
    else if (missing && g->bound_n && !g->queue)
        unlink_later(s, g, missing);
    ledger_follow(s, g);
}

void admission_forget(struct state *s, struct gang *g)
{
    promise_drop(s, g);
    booking_drop(s, g);
    promise_forget_victim(s, g);
    forget_unlinked(s, g);
    consumption_forget(s, g);
    deserve_forget(s, g);
    ledger_close(s, g);
    count(s, g, -1);
    g->counted = 0;
}

bool admission_is_as_told(const struct gang *g, const struct gang_record *r)
{
    if (r->admitted_queue && r->admitted_queue != (g->queue ? g->queue->name : g->own->unknown_queue))
        return false;
    bool same = r->choices_n == g->own->choices_n;
    for (uint32_t i = 0; i < r->choices_n && same; i++) {
        name_id flavor;
        same = flavor_given(g, r->choices[i].pod_set, r->choices[i].resource, &flavor) && flavor == r->choices[i].flavor;
    }
    return same;
}

void admission_adopt(struct state *s, struct gang *g, const struct gang_record *r)
{
    bool leaving = g->phase == GANG_LEAVING, answered = g->answered, let_in_again = g->let_in_again;
    struct gang *preemptor = g->preemptor; /* who waits for it goes on waiting */
    g->preemptor = NULL;
    admission_release(s, g);
    for (uint32_t i = 0; i < g->members_n; i++)
        s->pods[g->members[i]].former = false; /* it is the same admission, said otherwise */
    admission_restore(s, g, r);
    if (leaving && g->phase != GANG_LEAVING) { /* what it was told stands: only what it holds is something else */
        gang_enter(s, g, GANG_LEAVING);
        g->answered = answered;
        g->let_in_again = let_in_again;
    }
    g->preemptor = preemptor;
    if (!gang_holds(g))
        promise_forget_victim(s, g);
}

void admission_link(struct state *s, struct queue *q)
{
    for (uint32_t i = s->unlinked_n; i-- > 0;) {
        struct gang *g = s->unlinked[i];
        if (g->own->unknown_queue != q->name)
            continue;
        s->unlinked[i] = s->unlinked[--s->unlinked_n];
        link_queue(s, g, q);
        consumption_follow(s, g);
    }
}

void admission_recount(struct state *s, struct gang *g)
{
    ledger_recount(s, g);
    find_placed_shapes(s, g);
    consumption_follow(s, g);
}

/* What a group keeps is charged as what its pods have. */
static void free_held(struct state *s, struct gang *g, uint32_t seat)
{
    ledger_seat(s, g, s->seats[seat].shape, -1);
    seat_free(s, seat);
    s->shares_changed |= s->shares_n > 0; /* it asks for the place no more (quota/deserve.h) */
}

static void drop_all_held(struct state *s, struct gang *g)
{
    if (!g->own->seats)
        return;
    struct gang_object *o = gang_own(g);
    while (o->seats_n)
        free_held(s, g, o->seats[--o->seats_n]);
    free(o->seats);
    o->seats = NULL;
    o->seats_cap = 0;
}

void admission_release(struct state *s, struct gang *g)
{
    if (!gang_holds(g))
        return;
    forget_unlinked(s, g);
    if (g->planned || !g->bound_n)
        ledger_close(s, g);
    for (uint32_t i = 0; i < g->members_n && g->planned; i++)
        s->pods[g->members[i]].former |= !gang_member_is_loose(s, g->members[i]);
    drop_all_held(s, g);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        if (g->sets[i].placed_shape)
            shape_release(s, g->sets[i].placed_shape);
        g->sets[i].placed_shape = 0;
        g->sets[i].done_n = 0;
    }
    shrink_back(g);
    copy_choices(g, NULL, 0);
    domain_forget(g);
    gang_enter(s, g, GANG_WAITING);
}

/* ---- places held for members to come ---- */

void admission_hold_seat(struct gang *g, uint32_t seat)
{
    struct gang_object *o = gang_own(g);
    MEM_RESERVE(o->seats, o->seats_cap, o->seats_n + 1);
    o->seats[o->seats_n++] = seat;
}

void admission_drop_held(struct state *s, struct gang *g, uint32_t at)
{
    struct gang_object *o = gang_own(g);
    uint32_t seat = o->seats[at];
    memmove(&o->seats[at], &o->seats[at + 1], (--o->seats_n - at) * sizeof *o->seats);
    free_held(s, g, seat);
}

void admission_leave_held(struct state *s, const struct pod *p, uint32_t set, uint32_t node)
{
    struct gang *g = p->gang;
    if (p->deleting || !gang_holds(g) || gang_member_is_former(g, p))
        return;
    uint32_t found = g->own->seats_n;
    for (uint32_t i = 0; i < g->own->seats_n; i++) {
        uint32_t seat = g->own->seats[i];
        if (s->seats[seat].node != node || s->seats[seat].pod_set != set)
            continue;
        bool its_own = !p->devices || seat_has_told_devices(s, seat, p);
        found = its_own || found == g->own->seats_n ? i : found;
        if (its_own)
            break;
    }
    if (found < g->own->seats_n)
        admission_drop_held(s, g, found);
}

/* ---- pods and their seats ---- */

void pod_sit(struct state *s, uint32_t at, uint32_t seat)
{
    struct pod *p = &s->pods[at];
    assert(!p->seat && !s->seats[seat].pod);
    p->seat = seat;
    s->seats[seat].pod = at;
    s->neighbours_changed = true;
    if (!p->gang)
        return;
    p->gang->bound_n++;
    ledger_seat(s, p->gang, s->seats[seat].shape, 1);
}

void pod_leave_seat(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    if (!p->seat)
        return;
    if (p->gang) {
        p->gang->bound_n--;
        ledger_seat(s, p->gang, s->seats[p->seat].shape, -1);
    }
    seat_free(s, p->seat);
    p->seat = 0;
    p->assumed = false;
}

/* Its job goes on, and a pod that takes over is expected. WHY  not where one of an earlier admission stood: its object may have been
 * told other domains since, and a place that is looked for anew is told. */
static bool leaves_its_place(const struct pod *p)
{
    const struct gang *g = p->gang;
    if (!p->seat || !g || !g->planned || !g->active || !gang_holds(g) || g->phase == GANG_LEAVING || p->former)
        return false;
    int32_t set = pod_set_index(g, p);
    return p->phase != POD_SUCCEEDED || (set >= 0 && !set_ends_by_success(&g->sets[set]));
}

void pod_end_seat(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    bool mends = hole_is_left(s, p);
    int32_t set = mends ? 0 : leaves_its_place(p) ? pod_set_index(p->gang, p) : -1;
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
    if (mends && !gang_is_below_minimum(s, p->gang)) {
        admission_drop_held(s, p->gang, p->gang->own->seats_n - 1);
        return;
    }
    const struct node *node = &s->nodes.nodes[seat->node];
    if (node->has_devices_twice || node->devices.gpus) /* a GPU may have less than pods have of it: a place takes no part in that */
        seats_settle_held(s, seat->node);
}

int32_t pod_set_index(const struct gang *g, const struct pod *p)
{
    if (g->sets_n == 1 && !p->pod_set)
        return 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        if (g->sets[i].name == p->pod_set)
            return (int32_t)i;
    return -1;
}
