#include "core/view.h"
#include "base/memory.h"
#include "core/fit.h"
#include "core/score.h"

struct view_table *view_table_new(void)
{
    return mem_zero(1, sizeof(struct view_table));
}

static void drop(struct view *v)
{
    free(v->score);
    free(v->room);
    free(v->winner);
    free(v->cause);
    free(v->diagnosis);
    *v = (struct view){0};
}

void view_table_free(struct view_table *t)
{
    for (uint32_t i = 0; t && i < VIEWS_MAX; i++)
        drop(&t->views[i]);
    free(t);
}

void view_table_forget(struct state *s)
{
    for (uint32_t i = 0; i < VIEWS_MAX; i++)
        s->views->views[i].leaves = 0;
}

void shape_release(struct state *s, uint32_t shape)
{
    uint32_t view = s->shapes.classes[shape].view;
    if (shape && shape_class_unref(&s->shapes, shape) && view)
        drop(&s->views->views[view - 1]);
}

static bool beats(const struct view *v, uint32_t a, uint32_t b)
{
    return v->score[a] >= v->score[b]; /* a is the lower slot */
}

static void play_up(struct view *v, uint32_t slot)
{
    uint32_t at = (v->leaves + slot) / 2;
    if (at >= 1) {
        uint32_t left = slot & ~1u;
        v->winner[at] = beats(v, left, left + 1) ? left : left + 1;
        at /= 2;
    }
    for (; at >= 1; at /= 2) {
        uint32_t left = v->winner[2 * at], right = v->winner[2 * at + 1];
        v->winner[at] = beats(v, left, right) ? left : right;
    }
}

static void look(struct state *s, struct view *v, const struct shape_class *c, uint32_t slot)
{
    v->room_n -= v->room[slot];
    v->room[slot] = v->cause[slot] == FIT_OK ? fit_room(s, c, slot) : 0;
    v->score[slot] = v->room[slot] ? score_node(s, c, slot) : 0;
    v->room_n += v->room[slot];
}

static void build(struct state *s, struct view *v)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    uint32_t leaves = 2;
    while (leaves < s->nodes.cap || leaves < s->nodes.n)
        leaves *= 2;
    v->score = mem_grow(v->score, leaves, sizeof *v->score);
    v->room = mem_grow(v->room, leaves, sizeof *v->room);
    v->winner = mem_grow(v->winner, leaves, sizeof *v->winner);
    v->cause = mem_grow(v->cause, leaves, sizeof *v->cause);
    memset(v->score, 0, leaves * sizeof *v->score);
    memset(v->room, 0, leaves * sizeof *v->room);
    memset(v->cause, FIT_UNKNOWN_NODE, leaves);
    v->leaves = leaves;
    v->n = s->nodes.n;
    v->room_n = 0;
    for (uint32_t slot = 1; slot < v->n; slot++) {
        v->cause[slot] = (uint8_t)fit_record(s, c, slot, NULL);
        look(s, v, c, slot);
    }
    for (uint32_t at = leaves / 2; at < leaves; at++) {
        uint32_t left = 2 * at - leaves;
        v->winner[at] = beats(v, left, left + 1) ? left : left + 1;
    }
    for (uint32_t at = leaves / 2 - 1; at >= 1; at--) {
        uint32_t left = v->winner[2 * at], right = v->winner[2 * at + 1];
        v->winner[at] = beats(v, left, right) ? left : right;
    }
    v->seq = s->nodes.seq;
}

static void repair(struct state *s, struct view *v)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    v->n = s->nodes.n;
    for (; v->seq < s->nodes.seq; v->seq++) {
        uint32_t slot = s->nodes.journal[v->seq % NODE_JOURNAL];
        if (s->nodes.nodes[slot].record_seq > v->seq)
            v->cause[slot] = (uint8_t)fit_record(s, c, slot, NULL);
        look(s, v, c, slot);
        play_up(v, slot);
    }
}

/* Columns are told apart by name once, not per score. */
static void note_columns(struct state *s)
{
    for (; s->columns_seen_n < s->nodes.columns_n; s->columns_seen_n++)
        if (strchr(intern_name(s->names, s->nodes.columns[s->columns_seen_n]), '/'))
            s->device_columns[s->device_columns_n++] = s->columns_seen_n;
}

static struct view *slot_for(struct state *s, uint32_t shape)
{
    struct view_table *t = s->views;
    uint32_t at = s->shapes.classes[shape].view;
    if (at)
        return &t->views[at - 1];
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < VIEWS_MAX; i++)
        if (t->views[i].used_tick < t->views[oldest].used_tick)
            oldest = i;
    struct view *v = &t->views[oldest];
    if (v->shape)
        s->shapes.classes[v->shape].view = 0;
    v->shape = shape;
    v->leaves = 0;
    s->shapes.classes[shape].view = oldest + 1;
    return v;
}

struct view *view_sync(struct state *s, uint32_t shape)
{
    note_columns(s);
    struct view *v = slot_for(s, shape);
    v->used_tick = ++s->views->tick;
    uint64_t behind = s->nodes.seq - v->seq;
    if (!v->leaves || s->nodes.n > v->leaves || behind > NODE_JOURNAL || behind > s->nodes.n) {
        build(s, v);
        v->diagnosed_seq = UINT64_MAX;
    } else if (behind) {
        repair(s, v);
    }
    return v;
}

uint32_t view_best(const struct view *v)
{
    uint32_t slot = v->winner[1];
    return v->score[slot] ? slot : 0;
}

/* ---- diagnosis ---- */

static struct lack *lack_of(struct lack *all, uint32_t *n, name_id name)
{
    for (uint32_t i = 0; i < *n; i++)
        if (all[i].name == name)
            return &all[i];
    if (*n == LACKS_MAX)
        return &all[LACKS_MAX - 1];
    all[*n] = (struct lack){.name = name, .most = INT64_MIN};
    return &all[(*n)++];
}

static void lacks_of_node(const struct state *s, const struct view *v, struct diagnosis *d, uint32_t slot)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    const int64_t *left = node_free(&s->nodes, slot);
    bool short_of_any = false;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const struct demand *demand = &c->demands[i];
        int64_t rest = demand->column < 0 ? 0 : left[demand->column];
        rest -= demand->value * (int64_t)(c->shape.ports_n ? 0 : v->room[slot]);
        if (rest >= demand->value)
            continue;
        short_of_any = true;
        struct lack *lack = lack_of(d->resources, &d->resources_n, demand->resource);
        lack->nodes_n++;
        lack->need = demand->value;
        if (rest > lack->most)
            lack->most = rest < 0 ? 0 : rest;
    }
    if (short_of_any)
        return;
    if (c->shape.ports_n)
        d->ports_n++;
    else
        d->devices_n++;
}

const struct diagnosis *view_diagnose(struct state *s, struct view *v, bool as_is)
{
    if (v->diagnosis && v->diagnosed_seq == v->seq && v->diagnosed_as_is == as_is)
        return v->diagnosis;
    const struct shape_class *c = &s->shapes.classes[v->shape];
    if (!v->diagnosis)
        v->diagnosis = mem_zero(1, sizeof *v->diagnosis);
    struct diagnosis *d = v->diagnosis;
    *d = (struct diagnosis){0};
    v->diagnosed_seq = v->seq;
    v->diagnosed_as_is = as_is;
    for (uint32_t slot = 1; slot < v->n; slot++) {
        const struct taint *taint = NULL;
        d->nodes_n += v->cause[slot] != FIT_UNKNOWN_NODE;
        switch ((enum fit_cause)v->cause[slot]) {
        case FIT_UNKNOWN_NODE:
            break;
        case FIT_NOT_READY:
            d->not_ready_n++;
            break;
        case FIT_UNSCHEDULABLE:
            d->unschedulable_n++;
            break;
        case FIT_TAINT:
            (void)fit_record(s, c, slot, &taint);
            lack_of(d->taints, &d->taints_n, taint ? taint->key : 0)->nodes_n++;
            break;
        case FIT_SELECTOR:
            d->selector_n++;
            break;
        case FIT_OK:
            if (!as_is || !v->room[slot])
                lacks_of_node(s, v, d, slot);
            break;
        }
    }
    return d;
}
