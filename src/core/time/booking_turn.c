/* booking_turn.c - who is to look again whether he has, or can keep, a booking */
#include "core/queue/gang.h"
#include "core/queue/lane.h"
#include "core/queue/order.h"
#include "core/time/booking.h"

static uint32_t bookings_most(const struct queue *q)
{
    return q->backfill == BACKFILL_EASY ? 1 : q->backfill == BACKFILL_CONSERVATIVE ? BOOKINGS_MOST : 0;
}

bool booking_may_give(const struct state *s, const struct queue *q, const struct gang *g)
{
    uint32_t before_n = 0;
    for (uint32_t i = 0; i < s->bookings_n && q; i++)
        before_n += s->bookings[i]->queue == q && s->bookings[i]->gang != g && order_before(s->bookings[i]->gang, g);
    return q && g->planned && before_n < bookings_most(q);
}

/* LIMIT  those of the first BOOKING_LINES lines of the queue. WHY  where no start is known of many, each would be tried in vain. */
static void next_looks(struct state *s, struct queue *q, const struct gang *after)
{
    struct line *first = NULL;
    uint32_t before_n = 0;
    for (uint32_t i = 0; i < q->lines_n && bookings_most(q); i++) {
        struct line *l = q->lines[i];
        if (after && !order_before(after, line_first(l)))
            before_n++;
        else if (!line_first(l)->booked && line_first(l)->phase == GANG_WAITING && (!first || line_before(l, first)))
            first = l;
    }
    q->seeks = first && before_n < BOOKING_LINES && booking_may_give(s, q, line_first(first));
    if (q->seeks && (first->park.at || first->recheck)) /* else it is tried anyway */
        order_line_ready(s, first, false);
}

/* Also where it is only to see whether it may fit. */
static void looks(struct state *s, const struct gang *g)
{
    if (g->line && (g->line->park.at || g->line->recheck))
        order_line_ready(s, g->line, false);
}

static void wake_marked(struct state *s)
{
    if (!s->bookings_news)
        return;
    s->bookings_news = false;
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        if (s->bookings[i]->looks)
            looks(s, s->bookings[i]->gang);
        s->bookings[i]->looks = false;
    }
    for (uint32_t i = 0; i < s->queues_n; i++) {
        struct queue *q = s->queues[i];
        if (q->seeks_anew)
            next_looks(s, q, NULL);
        q->seeks_anew = false;
    }
}

void booking_tried(struct state *s, struct queue *q, const struct gang *g)
{
    wake_marked(s);
    if (q->seeks)
        next_looks(s, q, g);
}

/* The last of the queue has one too many. It is told that it has none. */
static void drop_last(struct state *s, const struct queue *q)
{
    for (uint32_t i = s->bookings_n; i-- > 0 && q->booked_n > bookings_most(q);) {
        struct gang *last = s->bookings[i]->gang;
        if (s->bookings[i]->queue != q)
            continue;
        booking_end(s, last);
        looks(s, last);
    }
}

static bool is_same(const struct booking *b, const struct booking_record *r)
{
    bool same = b->start_ms == r->start_ms && b->basis == r->basis && b->borrows == r->borrows && b->places_n == r->places_n &&
                b->quota_n == r->quota_n;
    for (uint32_t i = 0; i < r->places_n && same; i++)
        same = b->places[i].node == r->places[i].node && b->places[i].pod_set == r->places[i].pod_set &&
               b->places[i].count == r->places[i].count;
    for (uint32_t i = 0; i < r->quota_n && same; i++)
        same = b->quota[i].flavor == r->quota[i].flavor && b->quota[i].resource == r->quota[i].resource &&
               b->quota[i].amount == r->quota[i].amount;
    return same;
}

void booking_make(struct state *s, struct gang *g, struct queue *q, const struct booking_record *r)
{
    const struct booking *had = booking_of(s, g);
    if (had && had->queue == q && is_same(had, r))
        return;
    struct booking *old = had ? booking_remove(s, g) : NULL, *b = booking_copy(g, q, r);
    booking_find_rooms(s, b);
    booking_add(s, b);
    if (old) {
        booking_gain(s, old);
        booking_free(old);
    }
    bookings_look(s, g);
    drop_last(s, q);
}

void booking_lined_up(struct state *s, struct gang *g)
{
    name_id missing;
    struct queue *q = gang_asks_queue(s, g, &missing);
    struct booking *b = booking_of(s, g);
    if (q && !b->queue) {
        b->queue = q;
        q->booked_n++;
    }
    if (b->queue != q || !q || !bookings_most(q))
        booking_end(s, g);
    else
        drop_last(s, q);
}

static bool gains_quota(const struct state *s, const struct queue *q)
{
    return q->quota && s->quota.nodes[s->quota.nodes[q->quota].root].helping;
}

void bookings_begin(struct state *s)
{
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        struct booking *b = s->bookings[i];
        booking_find_rooms(s, b);
        if (b->start_ms <= s->now_ms || !booking_has_nodes(s, b))
            looks(s, b->gang);
    }
    wake_marked(s);
    for (uint32_t i = 0; i < s->queues_n && s->backfills_n && (s->helping_n || s->quota_helping); i++)
        if (s->helping_n || gains_quota(s, s->queues[i]))
            next_looks(s, s->queues[i], NULL);
}
