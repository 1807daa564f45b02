/* booking.c - bookings kept. Who is to look again: booking_turn.c; put in the way of others: booking_put.c; found: booking_find.c
 *
 * WHY    nobody is woken here: gangs start, change and go in all of core, and who looks again then is found when the try is over. */
#include "core/time/booking.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/queue/gang.h"

/* ---- when somebody ends ---- */

/* The first of from + step, from + 2 steps, from + 4 steps ... that is to come. WHY not so long from now on: it would be another time
 * whenever somebody looks, and those who wait for it would look for ever. */
static int64_t next_doubled_ms(const struct state *s, int64_t from_ms, int64_t step_ms)
{
    while (from_ms + step_ms <= s->now_ms)
        step_ms *= 2;
    return from_ms + step_ms;
}

/* WHY  longer than expected: who runs by what others like it ran is expected to run as long again (profile_prolong has the reason); who is
 * to be ended by a limit goes any moment, but the later he is the less that is to be believed. What a victim leaves is its preemptor's. */
int64_t booking_end_ms(const struct state *s, const struct gang *g)
{
    const struct gang_object *o = g->own;
    int64_t began_ms = o->admitted_ms > g->reserved_ms ? o->admitted_ms : g->reserved_ms, run_ms = (int64_t)o->run_s * 1000;
    if (g->preemptor && g->preemptor->promise && !g->shrinks)
        return INT64_MAX;
    if (!gang_holds(g) && !g->planned && g->phase == GANG_WAITING)
        return INT64_MAX; /* members of a group that stay where they are, however long the others are missing */
    if (!gang_holds(g) || g->phase == GANG_LEAVING)
        return s->now_ms - s->now_ms % BOOKING_LATE_MS + BOOKING_LATE_MS;
    if (g->phase == GANG_CHECKING || !run_ms || !began_ms)
        return INT64_MAX;
    if (began_ms + run_ms > s->now_ms)
        return began_ms + run_ms;
    return o->run_by_limit ? next_doubled_ms(s, began_ms + run_ms, BOOKING_LATE_MS)
                           : next_doubled_ms(s, began_ms, run_ms > BOOKING_LATE_MS ? run_ms : BOOKING_LATE_MS);
}

int64_t booking_run_ms(const struct gang *g, int64_t from_ms)
{
    return g->own->run_s ? from_ms - from_ms % 1000 + (int64_t)g->own->run_s * 1000 : INT64_MAX; /* reserved_ms is of whole seconds */
}

int64_t booking_over_ms(const struct booking *b)
{
    return booking_run_ms(b->gang, b->start_ms);
}

/* ---- kept ---- */

static uint32_t index_of(const struct state *s, const struct gang *g)
{
    uint32_t i = 0;
    while (i < s->bookings_n && s->bookings[i]->gang != g)
        i++;
    return i;
}

struct booking *booking_of(const struct state *s, const struct gang *g)
{
    return g->booked ? s->bookings[index_of(s, g)] : NULL;
}

void booking_free(struct booking *b)
{
    free(b->places);
    free(b->quota);
    free(b->rooms);
    free(b);
}

void bookings_free(struct state *s)
{
    for (uint32_t i = 0; i < s->bookings_n; i++)
        booking_free(s->bookings[i]);
    free(s->bookings);
}

void booking_add(struct state *s, struct booking *b)
{
    MEM_RESERVE(s->bookings, s->bookings_cap, s->bookings_n + 1);
    uint32_t at = s->bookings_n++;
    for (; at && order_before(b->gang, s->bookings[at - 1]->gang); at--)
        s->bookings[at] = s->bookings[at - 1];
    s->bookings[at] = b;
    b->gang->booked = true;
    if (b->queue)
        b->queue->booked_n++;
}

struct booking *booking_remove(struct state *s, struct gang *g)
{
    uint32_t at = index_of(s, g);
    struct booking *b = s->bookings[at];
    memmove(&s->bookings[at], &s->bookings[at + 1], (--s->bookings_n - at) * sizeof *s->bookings);
    g->booked = false;
    if (b->queue)
        b->queue->booked_n--;
    return b;
}

static void *copy(const void *from, uint32_t n, size_t size)
{
    void *to = mem_alloc((n + 1) * size);
    if (n)
        memcpy(to, from, n * size);
    return to;
}

struct booking *booking_copy(struct gang *g, struct queue *q, const struct booking_record *r)
{
    struct booking *b = mem_zero(1, sizeof *b);
    *b = (struct booking){.gang = g,
                          .queue = q,
                          .start_ms = r->start_ms,
                          .basis = r->basis,
                          .borrows = r->borrows,
                          .places_n = r->places_n,
                          .quota_n = r->quota_n};
    b->places = copy(r->places, r->places_n, sizeof *r->places);
    b->quota = copy(r->quota, r->quota_n, sizeof *r->quota);
    return b;
}

static int compare_rooms(const void *left, const void *right)
{
    const struct promised_room *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

/* Of nodes that are not there any more there are none. */
void booking_find_rooms(const struct state *s, struct booking *b)
{
    uint32_t cap = 0, sums_n = 0;
    for (uint32_t i = 0; i < b->places_n; i++)
        cap += b->places[i].pod_set < b->gang->sets_n ? s->shapes.classes[b->gang->sets[b->places[i].pod_set].shape].demands_n : 0;
    b->rooms = mem_grow(b->rooms, cap + 1, sizeof *b->rooms);
    b->rooms_n = 0;
    for (uint32_t i = 0; i < b->places_n; i++) {
        const struct booked_place *p = &b->places[i];
        uint32_t node = node_table_find(&s->nodes, p->node);
        const struct shape_class *c = p->pod_set < b->gang->sets_n ? &s->shapes.classes[b->gang->sets[p->pod_set].shape] : NULL;
        for (uint32_t k = 0; c && node && k < c->demands_n; k++)
            b->rooms[b->rooms_n++] = (struct promised_room){
                .node = node, .node_name = p->node, .resource = c->demands[k].resource, .amount = p->count * c->demands[k].value};
    }
    if (b->rooms_n > 1)
        qsort(b->rooms, b->rooms_n, sizeof *b->rooms, compare_rooms);
    for (uint32_t i = 0; i < b->rooms_n; i++) {
        if (sums_n && !compare_rooms(&b->rooms[sums_n - 1], &b->rooms[i]))
            b->rooms[sums_n - 1].amount += b->rooms[i].amount;
        else
            b->rooms[sums_n++] = b->rooms[i];
    }
    b->rooms_n = sums_n;
}

void booking_gain(struct state *s, const struct booking *b)
{
    if (b->queue && b->queue->quota)
        quota_gain(&s->quota, b->queue->quota);
    for (uint32_t i = 0; i < b->rooms_n; i++)
        if (node_table_has(&s->nodes, b->rooms[i].node, b->rooms[i].node_name))
            node_table_gain(&s->nodes, b->rooms[i].node);
}

/* They were found beside another booking of this one, or beside room that it has now. WHY all where any borrows: that one does not bind
 * those who do not, and whether somebody does depends on what his queue has. */
void bookings_look(struct state *s, const struct gang *g)
{
    bool any_borrows = false;
    for (uint32_t i = 0; i < s->bookings_n; i++)
        any_borrows |= s->bookings[i]->borrows;
    for (uint32_t i = 0; i < s->bookings_n; i++)
        s->bookings[i]->looks |= s->bookings[i]->gang != g && (any_borrows || order_before(g, s->bookings[i]->gang));
    s->bookings_news = true;
}

void bookings_look_all(struct state *s)
{
    for (uint32_t i = 0; i < s->bookings_n; i++)
        s->bookings[i]->looks = true;
    s->bookings_news |= s->bookings_n > 0;
}

void booking_end(struct state *s, struct gang *g)
{
    struct booking *b = booking_remove(s, g);
    booking_gain(s, b);
    bookings_look(s, g);
    if (b->queue)
        b->queue->seeks_anew = true;
    booking_free(b);
}

bool state_backfills(const struct state *s)
{
    return s->backfills_n > 0;
}

bool state_gang_booking(const struct state *s, name_id gang, struct booking_record *ret)
{
    const struct gang *g = gang_find(s, gang);
    const struct booking *b = g ? booking_of(s, g) : NULL;
    if (b)
        *ret = (struct booking_record){b->start_ms, b->basis, b->borrows, b->places, b->quota, b->places_n, b->quota_n};
    return b != NULL;
}

bool booking_take_run(struct state *s, struct gang *g, const struct gang_record *r)
{
    uint32_t run_s = r->run_s > 0 ? (uint32_t)r->run_s : 0;
    if (g->own->run_s == run_s && g->own->run_by_limit == r->run_by_limit)
        return true;
    gang_own(g)->run_s = run_s & INT32_MAX;
    gang_own(g)->run_by_limit = r->run_by_limit;
    if (gang_holds(g))
        bookings_look_all(s);
    return gang_holds(g) || !s->backfills_n;
}

/* WHY until the first cycle only: who decides knows better than what comes back of his writes. */
void booking_take(struct state *s, struct gang *g, const struct gang_record *r)
{
    if (s->cycles_n)
        return;
    if (g->booked)
        booking_free(booking_remove(s, g));
    if (r->booking && g->phase == GANG_WAITING && g->planned)
        booking_add(s, booking_copy(g, NULL, r->booking)); /* its queue may not be known yet */
}

bool booking_has_nodes(const struct state *s, const struct booking *b)
{
    bool all = true;
    for (uint32_t i = 0; i < b->places_n && all; i++) {
        uint32_t node = node_table_find(&s->nodes, b->places[i].node);
        all = node && b->places[i].pod_set < b->gang->sets_n &&
              (s->nodes.flags[node] & (NODE_KNOWN | NODE_READY | NODE_UNSCHEDULABLE)) == (NODE_KNOWN | NODE_READY);
    }
    return all;
}

int64_t bookings_next_ms(const struct state *s)
{
    int64_t next_ms = 0;
    for (uint32_t i = 0; i < s->bookings_n; i++)
        if (s->bookings[i]->start_ms > s->now_ms && (!next_ms || s->bookings[i]->start_ms < next_ms))
            next_ms = s->bookings[i]->start_ms;
    return next_ms;
}

/* ---- against whom ---- */

static bool binds(const struct booking *b, const struct gang *g, const struct queue *q, bool borrows)
{
    return b->queue && b->gang != g && order_before(b->gang, g) && !(b->borrows && !borrows && q && q->quota && q != b->queue);
}

bool bookings_bind(const struct state *s, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < s->bookings_n && !any; i++)
        any = binds(s->bookings[i], g, NULL, true);
    return any;
}

bool booking_stands(const struct state *s, const struct booking *b)
{
    const struct booking_view *v = &s->booking_view;
    const struct queue *q = v->against->line ? v->against->line->queue : v->against->queue;
    return v->stands && binds(b, v->against, q, v->borrows) && b->start_ms < v->until_ms && booking_over_ms(b) > v->at_ms;
}

uint32_t booking_first_room_on(const struct booking *b, uint32_t node)
{
    uint32_t low = 0, high = b->rooms_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->rooms[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool booking_ends_by(const struct state *s, const struct gang *g, int64_t ms)
{
    int64_t end_ms = g ? booking_end_ms(s, g) : INT64_MAX;
    return end_ms > s->booking_view.at_ms && end_ms <= ms;
}

uint32_t booking_root_of(const struct state *s, const struct queue *q)
{
    return q && q->quota ? s->quota.nodes[q->quota].root : 0;
}

/* A member of it stands on one of the nodes, or its quota is of the same tree. */
static bool leaves_something(const struct state *s, const struct booking *b, const struct gang *g)
{
    bool any = booking_root_of(s, g->queue) && booking_root_of(s, g->queue) == booking_root_of(s, b->queue);
    for (uint32_t i = 0; i < g->members_n + g->own->seats_n && !any; i++) {
        uint32_t seat = i < g->members_n ? s->pods[g->members[i]].seat : g->own->seats[i - g->members_n];
        uint32_t at = seat ? booking_first_room_on(b, s->seats[seat].node) : b->rooms_n;
        any = at < b->rooms_n && b->rooms[at].node == s->seats[seat].node;
    }
    return any;
}

bool booking_awaits(const struct state *s, const struct gang *victim)
{
    bool awaits = false;
    for (uint32_t i = 0; i < s->bookings_n && !awaits && s->booking_view.stands; i++) {
        const struct booking *b = s->bookings[i];
        awaits = booking_stands(s, b) && booking_ends_by(s, victim, b->start_ms) && leaves_something(s, b, victim);
    }
    return awaits;
}
