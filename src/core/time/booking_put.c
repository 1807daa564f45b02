/* booking_put.c - bookings in the way of others: room on nodes that is withheld, and quota as it will be then */
#include "core/place/undo.h"
#include "core/time/booking.h"

static int64_t then_ms(const struct state *s, const struct booking *b)
{
    return b->start_ms > s->booking_view.at_ms ? b->start_ms : s->booking_view.at_ms;
}

static bool runs_at(const struct booking *b, int64_t ms)
{
    return b->start_ms <= ms && booking_over_ms(b) > ms;
}

static struct promised_room *room_of(const struct booking *b, uint32_t node, name_id resource)
{
    for (uint32_t i = booking_first_room_on(b, node); i < b->rooms_n && b->rooms[i].node == node; i++)
        if (b->rooms[i].resource == resource)
            return &b->rooms[i];
    return NULL;
}

/* Less by what those have there who end by then. rooms[first..]: of one node. */
static uint32_t take_away_endings(const struct state *s, const struct booking *b, uint32_t first, int64_t ms)
{
    uint32_t node = b->rooms[first].node, end = first;
    while (end < b->rooms_n && b->rooms[end].node == node)
        end++;
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
        if (s->seats[at].gang == s->booking_view.against || !booking_ends_by(s, s->seats[at].gang, ms))
            continue;
        const struct shape_class *c = &s->shapes.classes[s->seats[at].shape];
        for (uint32_t i = first; i < end; i++)
            for (uint32_t k = 0; k < c->demands_n; k++)
                b->rooms[i].taken -= c->demands[k].resource == b->rooms[i].resource ? c->demands[k].value : 0;
    }
    return end;
}

/* `taken` of its rooms: what has to be free of them now, so that it, and those that run by then, have theirs when it starts. */
static void find_needs(const struct state *s, const struct booking *b)
{
    int64_t ms = then_ms(s, b);
    for (uint32_t i = 0; i < b->rooms_n; i++)
        b->rooms[i].taken = b->rooms[i].amount;
    for (uint32_t k = 0; k < s->bookings_n; k++) {
        const struct booking *other = s->bookings[k];
        for (uint32_t i = 0; other != b && booking_stands(s, other) && runs_at(other, ms) && i < b->rooms_n; i++) {
            const struct promised_room *r = room_of(other, b->rooms[i].node, b->rooms[i].resource);
            b->rooms[i].taken += r ? r->amount : 0;
        }
    }
    for (uint32_t i = 0; i < b->rooms_n;)
        i = take_away_endings(s, b, i, ms);
}

/* Each node's room is withheld once, for the booking that needs the most of it. */
static int64_t withheld_before(const struct state *s, uint32_t at, const struct promised_room *r)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < at; i++) {
        const struct promised_room *other = booking_stands(s, s->bookings[i]) ? room_of(s->bookings[i], r->node, r->resource) : NULL;
        most = other && other->taken > most ? other->taken : most;
    }
    return most;
}

void bookings_put(struct state *s, const struct gang *g, bool borrows, int64_t at_ms, int64_t until_ms)
{
    s->booking_view = (struct booking_view){
        .stands = s->bookings_n > 0, .against = g, .borrows = borrows, .at_ms = at_ms, .until_ms = until_ms, .mark = undo_mark(s)};
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        if (!booking_stands(s, b))
            continue;
        find_needs(s, b);
        for (uint32_t k = 0; k < b->rooms_n; k++) {
            int64_t more = b->rooms[k].taken - withheld_before(s, i, &b->rooms[k]);
            if (more <= 0 || !node_table_has(&s->nodes, b->rooms[k].node, b->rooms[k].node_name))
                continue;
            undo_withhold(s, b->rooms[k].node, b->rooms[k].resource, more);
            s->booking_view.withheld = true;
        }
    }
}

void bookings_lie_down(struct state *s)
{
    s->booking_view.stands = false;
}

/* ---- quota ---- */

static void charge(struct state *s, const struct booking *b, int sign)
{
    for (uint32_t i = 0; i < b->quota_n; i++)
        undo_charge(s, b->queue->quota, b->quota[i].flavor, b->quota[i].resource, sign * b->quota[i].amount);
}

static void give_back_endings(struct state *s, uint32_t root, int64_t ms)
{
    for (uint32_t i = 0; i < s->queues_n; i++) {
        const struct queue *q = s->queues[i];
        for (uint32_t k = 0; booking_root_of(s, q) == root && k < q->charged_n; k++) {
            const struct gang *g = q->charged[k];
            bool ends = g != s->booking_view.against && booking_ends_by(s, g, ms);
            for (uint32_t n = 0; ends && n < g->own->charges_n; n++)
                undo_charge(s, q->quota, g->own->charges[n].flavor, g->own->charges[n].resource, -g->own->charges[n].amount);
        }
    }
}

/* WHY  its queue's own, where it does not borrow: who would makes it one of those whom bookings that borrow bind, too. Those of other
 * queues take nothing of that: where one of its own queue that is promised to borrow runs by then, they are not to blame. */
bool booking_has_quota(const struct state *s, const struct booking *b, const struct queue *beside)
{
    bool enough = true;
    for (uint32_t i = 0; i < b->quota_n && enough; i++) {
        const struct booked_quota *n = &b->quota[i];
        const struct quota_cell *cell = quota_find(&s->quota, b->queue->quota, n->flavor, n->resource);
        enough = quota_available(&s->quota, b->queue->quota, n->flavor, n->resource) >= n->amount &&
                 (b->borrows || beside != b->queue || !cell || cell->usage + n->amount <= cell->subtree);
    }
    return enough;
}

/* When it starts, with whom else will run by then, and one of q. */
static bool has_quota_then(struct state *s, const struct booking *b, const struct queue *q)
{
    uint32_t mark = undo_mark(s), root = booking_root_of(s, b->queue);
    give_back_endings(s, root, then_ms(s, b));
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *other = s->bookings[i];
        if (other != b && other->queue && booking_root_of(s, other->queue) == root && booking_stands(s, other) &&
            runs_at(other, then_ms(s, b)))
            charge(s, other, 1);
    }
    bool has = booking_has_quota(s, b, q);
    undo_back(s, mark);
    return has;
}

bool bookings_allow(struct state *s, const struct queue *q)
{
    bool allow = true;
    for (uint32_t i = 0; i < s->bookings_n && allow && s->booking_view.stands; i++) {
        const struct booking *b = s->bookings[i];
        if (booking_stands(s, b) && booking_root_of(s, q) && booking_root_of(s, b->queue) == booking_root_of(s, q))
            allow = has_quota_then(s, b, q);
    }
    s->booking_view.refused |= !allow;
    return allow;
}
