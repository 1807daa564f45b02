#include "core/queue/lane.h"
#include <stddef.h>
#include <stdlib.h>
#include "base/memory.h"
#include "core/queue/gang.h"

/* ---- order ---- */

/* SOURCE Kueue: used / weight; weight 0 is more than anything, used or not. */
int used_compare(const struct used *a, const struct used *b)
{
    if (!a->weight_nano || !b->weight_nano)
        return !a->weight_nano - !b->weight_nano;
    return wide_compare(wide_times(a->sum, (uint64_t)b->weight_nano), wide_times(b->sum, (uint64_t)a->weight_nano));
}

struct gang *line_first(const struct line *l)
{
    return heap_first(&l->gangs);
}

bool line_before(const void *line_a, const void *line_b)
{
    return order_before(line_first(line_a), line_first(line_b));
}

bool lane_line_before(const struct line *a, const struct line *b)
{
    int r = a->lane == b->lane ? 0 : used_compare(&a->lane->used, &b->lane->used);
    return r ? r < 0 : line_before(a, b);
}

static bool ready_before(const void *lane_a, const void *lane_b)
{
    const struct queue_lane *a = lane_a, *b = lane_b;
    return lane_line_before(heap_first(&a->ready), heap_first(&b->ready));
}

static bool blocked_before(const void *lane_a, const void *lane_b)
{
    const struct queue_lane *a = lane_a, *b = lane_b;
    return lane_line_before(heap_first(&a->blocked), heap_first(&b->blocked));
}

void lane_queue_init(struct queue *q)
{
    heap_init(&q->ready, offsetof(struct queue_lane, ready_at), ready_before);
    heap_init(&q->blocked, offsetof(struct queue_lane, blocked_at), blocked_before);
}

/* ---- lanes ---- */

static struct local_queue *local_of(const struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->local_queue_by_key, key);
    return at ? &s->local_queues[at] : NULL;
}

void lane_join(struct state *s, struct line *l, const struct gang *g)
{
    struct queue *q = l->queue;
    struct local_queue *local = s->consumption.on && q->by_consumption ? local_of(s, g->own->local_queue) : NULL;
    struct queue_lane **slot = local ? &local->lane : &q->plain;
    if (!*slot || (*slot)->queue != q) { /* of the queue to which it led before, whose lines are about to go */
        struct queue_lane *fresh = *slot = mem_zero(1, sizeof *fresh);
        fresh->queue = q;
        fresh->local = local ? local->key : 0;
        fresh->used = local ? local->used : (struct used){0};
        heap_init(&fresh->ready, offsetof(struct line, heap_at), line_before);
        heap_init(&fresh->blocked, offsetof(struct line, heap_at), line_before);
    }
    l->lane = *slot;
    l->lane->lines_n++;
}

static void lane_free(struct queue_lane *n)
{
    if (!n)
        return;
    heap_fini(&n->ready);
    heap_fini(&n->blocked);
    free(n);
}

/* The one of all LocalQueues stays. WHY  pods of no queue come one by one: each would make it anew. */
void lane_leave(struct state *s, struct line *l)
{
    struct queue_lane *n = l->lane;
    if (--n->lines_n || !n->local)
        return;
    struct local_queue *local = local_of(s, n->local);
    if (local && local->lane == n)
        local->lane = NULL;
    lane_free(n);
}

void lane_queue_fini(struct queue *q)
{
    heap_fini(&q->ready);
    heap_fini(&q->blocked);
    for (uint32_t i = 0; i < q->lines_n; i++) {
        struct queue_lane *n = q->lines[i]->lane;
        if (n != q->plain && !--n->lines_n)
            lane_free(n);
    }
    lane_free(q->plain);
}

/* ---- lines ---- */

void lane_add(struct line *l, bool blocked)
{
    struct queue_lane *n = l->lane;
    struct heap *lanes = blocked ? &n->queue->blocked : &n->queue->ready;
    heap_add(blocked ? &n->blocked : &n->ready, l);
    heap_add(lanes, n); /* unless it is in: then perhaps by another line */
    heap_moved(lanes, n);
}

/* ORDER  the lane first: one without lines has no place among others. */
void lane_remove(struct line *l)
{
    struct queue_lane *n = l->lane;
    struct heap *lines = l->park.at ? &n->blocked : &n->ready, *lanes = l->park.at ? &n->queue->blocked : &n->queue->ready;
    if (!l->heap_at)
        return;
    heap_remove(lanes, n);
    heap_remove(lines, l);
    if (lines->n)
        heap_add(lanes, n);
}

void lane_moved(struct line *l)
{
    struct queue_lane *n = l->lane;
    heap_moved(l->park.at ? &n->blocked : &n->ready, l);
    heap_moved(l->park.at ? &n->queue->blocked : &n->queue->ready, n);
}

void lane_set_used(struct queue_lane *n, const struct used *used)
{
    n->used = *used;
    heap_moved(&n->queue->ready, n);
    heap_moved(&n->queue->blocked, n);
}

/* ---- looks ---- */

struct line *lane_first_ready(const struct queue *q)
{
    const struct queue_lane *n = heap_first(&q->ready);
    return n ? heap_first(&n->ready) : NULL;
}

struct line *lane_first_blocked(const struct queue *q)
{
    const struct queue_lane *n = heap_first(&q->blocked);
    return n ? heap_first(&n->blocked) : NULL;
}

struct line *lane_next_ready(const struct queue *q, size_t *lane, size_t *at)
{
    for (; *lane < q->ready.n; ++*lane, *at = 0) {
        const struct queue_lane *n = q->ready.items[*lane];
        if (*at < n->ready.n)
            return n->ready.items[(*at)++];
    }
    return NULL;
}
