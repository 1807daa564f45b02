#include "core/order.h"
#include <stddef.h>
#include "base/memory.h"
#include "core/fit.h"

bool order_before(const void *gang_a, const void *gang_b)
{
    const struct gang *a = gang_a, *b = gang_b;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms;
    int r = strcmp(intern_name(a->names, a->uid), intern_name(b->names, b->uid));
    if (!r)
        r = strcmp(intern_name(a->names, a->key), intern_name(b->names, b->key));
    return r < 0;
}

static bool timer_before(const void *gang_a, const void *gang_b)
{
    const struct gang *a = gang_a, *b = gang_b;
    return a->retry_ms != b->retry_ms ? a->retry_ms < b->retry_ms : order_before(a, b);
}

void order_init(struct state *s)
{
    heap_init(&s->timers, offsetof(struct gang, timer_at), timer_before);
}

void order_fini(struct state *s)
{
    heap_fini(&s->timers);
    free(s->work);
    free(s->parked);
}

/* ---- the places where a gang can stand ---- */

static void work_remove(struct state *s, struct gang *g)
{
    if (!g->work_at)
        return;
    struct gang *last = s->work[--s->work_n];
    s->work[g->work_at - 1] = last;
    last->work_at = g->work_at;
    g->work_at = 0;
}

static void unpark(struct state *s, struct gang *g)
{
    if (g->parked_at) {
        struct gang *last = s->parked[--s->parked_n];
        s->parked[g->parked_at - 1] = last;
        last->parked_at = g->parked_at;
        g->parked_at = 0;
    }
    g->park = PARK_NONE;
    for (uint32_t i = 0; i < g->park_shapes_n && i < PARK_SHAPES; i++) {
        s->shapes.classes[g->park_shapes[i]].waiting_n--;
        shape_release(s, g->park_shapes[i]);
    }
    g->park_shapes_n = 0;
}

static void leave(struct state *s, struct gang *g)
{
    work_remove(s, g);
    unpark(s, g);
    heap_remove(&s->timers, g);
    if (g->home) {
        heap_remove(&g->home->heap, g);
        if (g->home->blocked == g)
            g->home->blocked = NULL;
    }
}

void order_forget(struct state *s, struct gang *g)
{
    if (g->home && g->home->blocked == g && g->home->cohort)
        quota_gain(&s->quota, g->home->quota); /* what it claimed is free for others */
    leave(s, g);
    g->home = NULL;
}

void order_wake(struct state *s, struct gang *g)
{
    leave(s, g);
    if (!g->known || g->finished)
        return;
    if (g->admitted) {
        MEM_RESERVE(s->work, s->work_cap, s->work_n + 1);
        s->work[s->work_n++] = g;
        g->work_at = s->work_n;
        return;
    }
    name_id missing;
    struct queue *q = gang_asks_queue(s, g, &missing);
    g->home = q ? q : s->queues[0];
    heap_add(&g->home->heap, g);
    g->home->unexplained = true;
}

void order_park(struct state *s, struct gang *g, uint8_t park)
{
    if (!g->parked_at) {
        if (g->home)
            heap_remove(&g->home->heap, g);
        work_remove(s, g);
        MEM_RESERVE(s->parked, s->parked_cap, s->parked_n + 1);
        s->parked[s->parked_n++] = g;
        g->parked_at = s->parked_n;
    }
    g->park |= park;
    if ((park & PARK_TIME) && g->retry_ms)
        heap_add(&s->timers, g);
}

void order_park_shape(struct state *s, struct gang *g, uint32_t shape)
{
    for (uint32_t i = 0; i < g->park_shapes_n && i < PARK_SHAPES; i++)
        if (g->park_shapes[i] == shape)
            return;
    if (g->park_shapes_n >= PARK_SHAPES) {
        g->park_shapes_n = PARK_SHAPES + 1;
        return;
    }
    shape_class_ref(&s->shapes, shape);
    s->shapes.classes[shape].waiting_n++;
    g->park_shapes[g->park_shapes_n++] = shape;
}

void order_block(struct queue *q, struct gang *g)
{
    q->blocked = g;
    q->unexplained = true;
}

struct gang *order_first(const struct queue *q)
{
    struct gang *first = heap_first(&q->heap);
    if (first && q->blocked && order_before(q->blocked, first))
        return NULL;
    return first;
}

/* ---- wake-ups ---- */

static void note_helped_shapes(struct state *s)
{
    for (uint32_t id = 1; id < s->shapes.classes_n && s->nodes.gained_n; id++) {
        struct shape_class *c = &s->shapes.classes[id];
        if (!c->waiting_n)
            continue;
        for (uint32_t i = 0; i < s->nodes.gained_n && !c->helped; i++)
            c->helped = fit_record(s, c, s->nodes.gained[i], NULL) == FIT_OK && fit_room(s, c, s->nodes.gained[i]) > 0;
    }
}

static bool helped(const struct state *s, const struct gang *g)
{
    if (g->park_shapes_n > PARK_SHAPES)
        return s->nodes.gained_n > 0;
    for (uint32_t i = 0; i < g->park_shapes_n; i++)
        if (s->shapes.classes[g->park_shapes[i]].helped)
            return true;
    return false;
}

static bool wakes(const struct state *s, const struct gang *g)
{
    if ((g->park & PARK_NODES) && helped(s, g))
        return true;
    if ((g->park & PARK_NEIGHBOURS) && (s->neighbours_changed || s->nodes.gained_n))
        return true;
    if ((g->park & PARK_QUEUE) && s->queues_changed)
        return true;
    const struct queue *q = g->admitted ? g->queue : g->home;
    if (!(g->park & PARK_QUOTA) || !s->quota.gained || !q)
        return false;
    return s->quota.nodes[s->quota.nodes[q->quota].root].gained;
}

bool order_has_changes(const struct state *s)
{
    return s->parked_n && (s->nodes.gained_n || s->quota.gained || s->quota.dirty || s->queues_changed || s->neighbours_changed);
}

void order_wake_changed(struct state *s, int64_t now_ms)
{
    for (struct gang *g; (g = heap_first(&s->timers)) && g->retry_ms <= now_ms;)
        order_wake(s, g);
    if (order_has_changes(s)) {
        note_helped_shapes(s);
        for (uint32_t i = s->parked_n; i-- > 0;) /* from the end: waking moves the last one down */
            if (wakes(s, s->parked[i]))
                order_wake(s, s->parked[i]);
    }
    for (uint32_t id = 1; id < s->shapes.classes_n; id++)
        s->shapes.classes[id].helped = false;
    for (uint32_t id = 1; id < s->quota.nodes_n && s->quota.gained; id++)
        s->quota.nodes[id].gained = false;
    s->quota.gained = s->queues_changed = s->neighbours_changed = false;
    node_table_gained_clear(&s->nodes);
}

/* ---- counts ---- */

static void count_change(struct state *s, struct gang *g, int by)
{
    struct local_queue *l = &s->local_queues[g->counted_local];
    if (g->counted == COUNTED_PENDING) {
        g->counted_queue->pending_n += (uint32_t)by;
        l->pending_n += (uint32_t)by;
    } else if (g->counted == COUNTED_ADMITTED) {
        l->admitted_n += (uint32_t)by;
    }
}

void order_count(struct state *s, struct gang *g)
{
    count_change(s, g, -1);
    name_id missing;
    struct queue *q = gang_asks_queue(s, g, &missing);
    g->counted = COUNTED_NOT;
    if (g->known && !g->finished)
        g->counted = g->admitted ? COUNTED_ADMITTED : g->active ? COUNTED_PENDING : COUNTED_NOT;
    g->counted_queue = q ? q : s->queues[0];
    struct local_queue *l = g->local_queue ? local_queue_find(s, g->local_queue) : NULL;
    g->counted_local = l ? (uint32_t)(l - s->local_queues) : 0;
    count_change(s, g, 1);
}
