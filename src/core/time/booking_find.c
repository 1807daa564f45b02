/* booking_find.c - the earliest start of a gang that was refused, and who is kept out by whose
 *
 * SHAPE  what holds something is taken away in the order of its end, on the undo log, until the gang fits on trial: by halving where no
 *        booking stands against it, else from there on one time after the other, beside them.
 */
#include <stdlib.h>
#include "core/place/undo.h"
#include "core/preempt/lone.h"
#include "core/preempt/promise.h"
#include "core/queue/gang.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/time/booking.h"
#include "core/time/forecast.h"

enum { STEPS_MOST = 64 }; /* times that are tried beside bookings */

struct ending {
    int64_t ms;
    struct gang *gang;
};
struct search {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;
    struct ending *endings; /* by time */
    uint32_t endings_n;
    uint32_t mark; /* of the undo log, where nobody is taken away */
};

/* ---- what runs, by its end ---- */

static int compare_endings(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return order_before(a->gang, b->gang) ? -1 : order_before(b->gang, a->gang);
}

static void find_endings(struct search *x)
{
    const struct state *s = x->c->s;
    x->endings = arena_alloc(x->c->a, (s->gangs_n + 1) * sizeof *x->endings);
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        struct gang *g = s->gangs[i];
        int64_t ms = g->bound_n || gang_holds(g) ? booking_end_ms(s, g) : INT64_MAX;
        if (ms != INT64_MAX && g != x->gang)
            x->endings[x->endings_n++] = (struct ending){ms, g};
    }
    if (x->endings_n > 1)
        qsort(x->endings, x->endings_n, sizeof *x->endings, compare_endings);
}

static void lift(struct state *s, uint32_t seat)
{
    if (seat && !s->nodes.nodes[s->seats[seat].node].has_devices_twice)
        undo_lift(s, seat);
}

static void take_away(struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n; i++)
        lift(s, s->pods[g->members[i]].seat);
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        lift(s, g->own->seats[i]);
    undo_charges_of(s, g, -1);
}

/* The log stands as it will at that time. */
static void go_to(struct search *x, int64_t ms)
{
    undo_back(x->c->s, x->mark);
    for (uint32_t i = 0; i < x->endings_n && x->endings[i].ms <= ms; i++)
        take_away(x->c->s, x->endings[i].gang);
}

enum beside { BESIDE_NONE, BESIDE_NOT_BORROWING, BESIDE_ALL }; /* which bookings stand against it */

/* True: what it takes stands on the log, above ret_mark. */
static bool fits_at(struct search *x, int64_t ms, enum beside beside, uint32_t *ret_mark)
{
    struct state *s = x->c->s;
    go_to(x, ms);
    if (beside != BESIDE_NONE)
        bookings_put(s, x->gang, beside == BESIDE_ALL, ms, booking_run_ms(x->gang, ms));
    *ret_mark = undo_mark(s);
    bool fits = try_on_trial(x->c, x->gang);
    bookings_lie_down(s);
    shrink_back(x->gang);
    return fits;
}

/* What those of its queue will use by then whom it comes behind. */
static int64_t booked_amount(const struct search *x, int64_t ms, name_id flavor, name_id resource)
{
    const struct state *s = x->c->s;
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        bool counts =
            b->queue == x->queue && order_before(b->gang, x->gang) && b->start_ms <= ms && booking_over_ms(b) > ms;
        for (uint32_t k = 0; counts && k < b->quota_n; k++)
            sum += b->quota[k].flavor == flavor && b->quota[k].resource == resource ? b->quota[k].amount : 0;
    }
    return sum;
}

/* Something that it was charged with on trial, at that time, is not its queue's own. */
static bool borrows_above(const struct search *x, uint32_t mark, int64_t ms)
{
    const struct state *s = x->c->s;
    bool borrows = false;
    for (uint32_t i = mark; i < s->undo.n && !borrows; i++) {
        const struct undo_step *step = &s->undo.steps[i];
        const struct quota_cell *cell = step->kind == UNDO_CHARGE ? quota_find(&s->quota, step->id, step->flavor, step->resource) : NULL;
        borrows = cell && step->id == x->queue->quota && cell->usage + booked_amount(x, ms, step->flavor, step->resource) > cell->subtree;
    }
    return borrows;
}

/* Who takes no more than his queue's own is not bound by those who borrow. */
static bool fits_beside(struct search *x, int64_t ms, uint32_t *ret_mark)
{
    bool any = false;
    for (uint32_t i = 0; i < x->c->s->bookings_n; i++)
        any |= x->c->s->bookings[i]->borrows;
    return (any && fits_at(x, ms, BESIDE_NOT_BORROWING, ret_mark) && !borrows_above(x, *ret_mark, ms)) ||
           fits_at(x, ms, BESIDE_ALL, ret_mark);
}

/* ---- the earliest start ---- */

/* Index of the first ending with which it fits as far as no booking is in its way; endings_n: it does not. */
static uint32_t first_fit(struct search *x)
{
    uint32_t low = 0, high = x->endings_n, unused;
    if (!high || !fits_at(x, x->endings[high - 1].ms, BESIDE_NONE, &unused))
        return x->endings_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (fits_at(x, x->endings[middle].ms, BESIDE_NONE, &unused))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* From `from_ms` on: ends of what runs, and of those that have bookings. Returns how many. */
static uint32_t find_times(struct search *x, int64_t from_ms, int64_t *times)
{
    const struct state *s = x->c->s;
    uint32_t n = 0, unlike_n = 0;
    for (uint32_t i = 0; i < x->endings_n; i++)
        if (x->endings[i].ms >= from_ms)
            times[n++] = x->endings[i].ms;
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        int64_t ms = booking_over_ms(s->bookings[i]);
        if (ms != INT64_MAX && ms >= from_ms && ms > s->now_ms)
            times[n++] = ms;
    }
    if (n > 1)
        qsort(times, n, sizeof *times, compare_times);
    for (uint32_t i = 0; i < n; i++)
        if (!unlike_n || times[i] != times[unlike_n - 1])
            times[unlike_n++] = times[i];
    return unlike_n;
}

/* Does it fit with nothing gone but for bookings? Then only those decide when. */
static int64_t earliest_ms(struct search *x)
{
    uint32_t unused, first;
    if (fits_at(x, x->c->s->now_ms, BESIDE_NONE, &unused))
        return x->c->s->now_ms;
    first = first_fit(x);
    return first < x->endings_n ? x->endings[first].ms : INT64_MAX;
}

static int64_t find_start(struct search *x, uint32_t *ret_mark)
{
    struct state *s = x->c->s;
    int64_t first_ms = earliest_ms(x);
    if (first_ms == INT64_MAX)
        return INT64_MAX;
    int64_t *times = arena_alloc(x->c->a, (x->endings_n + s->bookings_n + 1) * sizeof *times);
    uint32_t n = find_times(x, first_ms, times);
    for (uint32_t i = 0; i < n && i < STEPS_MOST; i++)
        if (times[i] > s->now_ms && fits_beside(x, times[i], ret_mark))
            return times[i];
    return INT64_MAX;
}

/* ---- what it takes then ---- */

struct place_key {
    struct booked_place place;
    uint32_t rank; /* of its node, by name */
};

static int compare_places(const void *left, const void *right)
{
    const struct place_key *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->place.pod_set < b->place.pod_set ? -1 : a->place.pod_set > b->place.pod_set;
}

static void read_places(const struct search *x, uint32_t mark, struct booking_record *r)
{
    const struct state *s = x->c->s;
    struct place_key *all = arena_alloc(x->c->a, (s->undo.n - mark + 1) * sizeof *all);
    uint32_t n = 0;
    for (uint32_t i = mark; i < s->undo.n; i++) {
        const struct seat *seat = s->undo.steps[i].kind == UNDO_SEAT_TAKE ? &s->seats[s->undo.steps[i].id] : NULL;
        if (seat)
            all[n++] = (struct place_key){{(uint16_t)seat->pod_set, s->nodes.nodes[seat->node].name, 1}, s->nodes.rank[seat->node]};
    }
    if (n > 1)
        qsort(all, n, sizeof *all, compare_places);
    struct booked_place *places = arena_alloc(x->c->a, (n + 1) * sizeof *places);
    for (uint32_t i = 0; i < n; i++) {
        if (i && !compare_places(&all[i - 1], &all[i]))
            places[r->places_n - 1].count++;
        else
            places[r->places_n++] = all[i].place;
    }
    r->places = places;
}

static void read_quota(const struct search *x, uint32_t mark, struct booking_record *r)
{
    const struct state *s = x->c->s;
    struct booked_quota *quota = arena_alloc(x->c->a, (s->undo.n - mark + 1) * sizeof *quota);
    for (uint32_t i = mark; i < s->undo.n; i++) {
        const struct undo_step *step = &s->undo.steps[i];
        if (step->kind == UNDO_CHARGE && step->id == x->queue->quota)
            quota[r->quota_n++] = (struct booked_quota){step->flavor, step->resource, step->amount};
    }
    r->borrows = borrows_above(x, mark, r->start_ms);
    r->quota = quota;
}

static uint8_t basis_of(const struct search *x, int64_t ms)
{
    uint8_t basis = 0;
    for (uint32_t i = 0; i < x->endings_n && x->endings[i].ms <= ms; i++)
        if (x->endings[i].gang->own->run_s && gang_holds(x->endings[i].gang))
            basis |= x->endings[i].gang->own->run_by_limit ? END_BY_LIMIT : END_BY_RUNS;
    return basis;
}

/* ---- the one that it has ---- */

/* Beside those that stand against it: they are put as of then, with those gone who will be. WHY on trial, too: its queue, or its flavors,
 * may be others. */
static bool holds(struct search *x, const struct booking *b)
{
    struct state *s = x->c->s;
    uint32_t unused;
    if (b->start_ms <= s->now_ms || !booking_has_nodes(s, b) || !fits_at(x, b->start_ms, BESIDE_NONE, &unused))
        return false;
    go_to(x, b->start_ms);
    bookings_put(s, x->gang, b->borrows, b->start_ms, booking_run_ms(x->gang, b->start_ms));
    bool holds = booking_has_quota(s, b, b->queue);
    for (uint32_t i = 0; i < b->rooms_n && holds; i++) {
        int32_t column = node_table_find_column(&s->nodes, b->rooms[i].resource);
        holds = column >= 0 && node_free(&s->nodes, b->rooms[i].node)[column] >= b->rooms[i].amount;
    }
    uint32_t mark = undo_mark(s);
    for (uint32_t i = 0; i < b->quota_n; i++)
        undo_charge(s, b->queue->quota, b->quota[i].flavor, b->quota[i].resource, b->quota[i].amount);
    holds = holds && borrows_above(x, mark, b->start_ms) == b->borrows && bookings_allow(s, b->queue);
    bookings_lie_down(s);
    return holds;
}

static bool renew(struct cycle *c, struct gang *g, struct queue *q)
{
    struct state *s = c->s;
    if (!booking_may_give(s, q, g)) {
        booking_drop(s, g);
        return false;
    }
    struct search x = {.c = c, .gang = g, .queue = q, .mark = undo_mark(s)};
    struct booking_record r = {0};
    uint32_t mark;
    find_endings(&x);
    const struct booking *has = booking_of(s, g);
    bool keeps = has && has->queue == q && holds(&x, has);
    r.start_ms = find_start(&x, &mark);
    bool found = r.start_ms != INT64_MAX;
    if (found) {
        read_places(&x, mark, &r);
        read_quota(&x, mark, &r);
        r.basis = basis_of(&x, r.start_ms);
    }
    undo_back(s, x.mark);
    if (found && (!keeps || r.start_ms < has->start_ms))
        booking_make(s, g, q, &r);
    else if (!keeps)
        booking_drop(s, g);
    return g->booked;
}

/* ---- who is kept out ---- */

static bool starts_beside(struct cycle *c, struct gang *g, const struct booking_view *v, int64_t until_ms)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s);
    if (until_ms)
        bookings_put(s, g, v->borrows, s->now_ms, until_ms);
    bool starts = try_on_trial(c, g) || (gang_is_lone(g) && lone_would_preempt(c, g));
    undo_back(s, mark);
    bookings_lie_down(s);
    shrink_back(g);
    return starts;
}

/* It would start, or others would go for it, but for bookings: of those that it would outlast the last by whose start it has to have
 * ended. NULL: it would not. */
static const struct booking *keeper(struct cycle *c, struct gang *g, const struct booking_view *v)
{
    const struct state *s = c->s;
    const struct booking *found = NULL;
    if ((!v->withheld && !v->refused) || !starts_beside(c, g, v, 0))
        return NULL;
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        bool later = !found || b->start_ms > found->start_ms;
        if (later && b->gang != g && order_before(b->gang, g) && b->start_ms > s->now_ms && b->start_ms < v->until_ms &&
            starts_beside(c, g, v, b->start_ms))
            found = b;
    }
    return found;
}

/* WHY  less than what is left: somebody reads it, and makes the job anew. */
static int64_t limit_s(int64_t left_ms)
{
    int64_t s = left_ms / 1000 - left_ms / 8000;
    return s > 300 ? s - s % 60 : s > 1 ? s : 1;
}

/* WHY  that the quota which a booking takes is its own again is no gain of what a flavor lacks. */
static void hope_for_any_quota(struct parking *p)
{
    p->on |= PARK_QUOTA;
    p->hopes_n = PARK_HOPES + 1;
}

static void say_kept_out(struct cycle *c, const struct gang *g, const struct booking *by, const struct queue *q, struct refusal *refusal)
{
    refusal->why = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = q ? q->title : 0});
    reason_add(refusal->why, reason_new(c->a, (struct reason){.code = REASON_KEPT_OUT,
                                                              .name = by->gang->key,
                                                              .pod_set = by->gang->ns,
                                                              .have = by->start_ms,
                                                              .need = g->planned ? limit_s(by->start_ms - c->now_ms) : 0,
                                                              .nodes_n = g->own->run_s != 0}));
    refusal->park.on |= PARK_NODES;
    hope_for_any_quota(&refusal->park);
}

static void say_promised(struct cycle *c, const struct booking *b, struct refusal *refusal)
{
    struct reason *root =
        reason_new(c->a, (struct reason){.code = REASON_START_PROMISED, .name = b->gang->key, .have = b->basis, .need = b->start_ms});
    for (uint32_t i = 0; i < b->places_n; i++) {
        const struct booked_place *p = &b->places[i];
        root->nodes_n += !i || p->node != p[-1].node;
        reason_add(root, reason_new(c->a, (struct reason){.code = REASON_PROMISED_PLACE,
                                                          .name = p->node,
                                                          .need = p->count,
                                                          .pod_set = b->gang->sets[p->pod_set].name}));
    }
    reason_add(refusal->why, root);
}

bool booking_refused(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    struct state *s = c->s;
    struct booking_view view = s->booking_view;
    if (view.stands)
        undo_back(s, view.mark);
    bookings_lie_down(s);
    if (refusal->preempts) {
        booking_drop(s, g);
        return false;
    }
    if (view.stands && view.refused)
        hope_for_any_quota(&refusal->park);
    const struct booking *by = view.stands ? keeper(c, g, &view) : NULL;
    if (by)
        say_kept_out(c, g, by, q, refusal);
    if (!renew(c, g, q))
        return false;
    say_promised(c, booking_of(s, g), refusal);
    return true;
}
