#include "core/place/view.h"
#include "base/memory.h"
#include "core/place/fit.h"
#include "core/score/score.h"

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
    free(v->room_in);
    *v = (struct view){0};
}

void view_table_free(struct view_table *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->n; i++)
        drop(&t->views[i]);
    free(t->views);
    free(t->holes);
    free(t);
}

void view_table_forget(struct state *s)
{
    for (uint32_t i = 0; i < s->views->n; i++)
        s->views->views[i].leaves = 0;
}

void view_forget_shape(struct state *s, uint32_t shape)
{
    for (uint32_t at = s->shapes.classes[shape].view; at; at = s->views->views[at - 1].next)
        s->views->views[at - 1].leaves = 0;
}

void shape_release(struct state *s, uint32_t shape)
{
    uint32_t view = s->shapes.classes[shape].view;
    if (!shape || !shape_class_unref(&s->shapes, shape) || !view)
        return;
    struct view_table *t = s->views;
    for (uint32_t next; view; view = next) {
        next = t->views[view - 1].next;
        drop(&t->views[view - 1]);
        MEM_RESERVE(t->holes, t->holes_cap, t->holes_n + 1);
        t->holes[t->holes_n++] = view - 1;
    }
}

/* Slots without a score may be no nodes at all: they have no rank, and which of two wins means nothing. */
static uint32_t better_of(const struct view *v, const uint32_t *rank, uint32_t a, uint32_t b)
{
    if (v->score[a] != v->score[b])
        return v->score[a] > v->score[b] ? a : b;
    return !v->score[a] || rank[a] < rank[b] ? a : b;
}

/* Where another slot won before and wins again, nothing changes above. */
static void play_up(struct view *v, const uint32_t *rank, uint32_t slot)
{
    uint32_t at = (v->leaves + slot) / 2, best = better_of(v, rank, slot, slot ^ 1);
    for (; v->winner[at] != best || best == slot; at /= 2) {
        v->winner[at] = best;
        if (at == 1)
            break;
        best = better_of(v, rank, best, v->winner[at ^ 1]);
    }
}

/* The way up from the node's leaf. A tree that is another one by now is counted anew when it is asked for. */
static void add_in_domains(const struct state *s, struct view *v, uint32_t slot, uint64_t difference)
{
    const struct topology *t = &s->topologies[v->topology];
    if (t->built != v->built)
        return;
    for (uint32_t at = topology_leaf(t, slot); at; at = t->domains[at].parent)
        v->room_in[at] += difference;
}

static void look(struct state *s, struct view *v, const struct shape_class *c, uint32_t slot)
{
    uint32_t before = v->room[slot];
    v->room_n -= before;
    v->fits_n -= v->room[slot] != 0;
    v->room[slot] = v->cause[slot] == FIT_OK ? fit_room(s, c, slot) : 0;
    v->score[slot] = v->room[slot] ? score_node(s, c, slot, v->by) : 0;
    v->room_n += v->room[slot];
    v->fits_n += v->room[slot] != 0;
    if (v->topology && v->room[slot] != before)
        add_in_domains(s, v, slot, (uint64_t)v->room[slot] - before);
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
    v->room_n = v->fits_n = 0;
    v->topology = 0;
    for (uint32_t slot = 1; slot < v->n; slot++) {
        v->cause[slot] = (uint8_t)fit_record(s, c, slot, NULL);
        look(s, v, c, slot);
    }
    const uint32_t *rank = s->nodes.rank;
    for (uint32_t at = leaves / 2; at < leaves; at++)
        v->winner[at] = better_of(v, rank, 2 * at - leaves, 2 * at - leaves + 1);
    for (uint32_t at = leaves / 2 - 1; at >= 1; at--)
        v->winner[at] = better_of(v, rank, v->winner[2 * at], v->winner[2 * at + 1]);
    v->seq = s->nodes.seq;
}

static void repair(struct state *s, struct view *v)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    const uint64_t since = v->seq;
    v->n = s->nodes.n;
    for (; v->seq < s->nodes.seq; v->seq++) {
        uint32_t slot = s->nodes.journal[v->seq % NODE_JOURNAL];
        if (s->nodes.touched[slot] != v->seq + 1) /* and once more since */
            continue;
        if (s->nodes.nodes[slot].record_seq > since)
            v->cause[slot] = (uint8_t)fit_record(s, c, slot, NULL);
        look(s, v, c, slot);
        play_up(v, s->nodes.rank, slot);
    }
}

/* Columns are told apart by name once, not per score. */
static void note_columns(struct state *s)
{
    for (; s->columns_seen_n < s->nodes.columns_n; s->columns_seen_n++)
        if (strchr(intern_name(s->names, s->nodes.columns[s->columns_seen_n]), '/'))
            s->device_columns[s->device_columns_n++] = s->columns_seen_n;
}

static uint32_t oldest_view(const struct view_table *t)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->views[i].used_tick < t->views[oldest].used_tick)
            oldest = i;
    return oldest;
}

static uint32_t most_views(const struct state *s)
{
    uint32_t domains_n = 0;
    for (uint32_t i = 1; i < s->topologies_n; i++)
        domains_n = s->topologies[i].domains_n > domains_n ? s->topologies[i].domains_n : domains_n;
    size_t most = VIEWS_BYTES / (13 * ((size_t)s->nodes.cap + 1) + sizeof(uint64_t) * domains_n);
    return most < VIEWS_MIN ? VIEWS_MIN : most > VIEWS_MAX ? VIEWS_MAX : (uint32_t)most;
}

static void unlink_view(struct state *s, uint32_t at)
{
    struct view *views = s->views->views;
    uint32_t *link = &s->shapes.classes[views[at].shape].view;
    while (*link != at + 1)
        link = &views[*link - 1].next;
    *link = views[at].next;
}

static struct view *slot_for(struct state *s, uint32_t shape, enum placement by)
{
    struct view_table *t = s->views;
    uint32_t at;
    if (t->holes_n) {
        at = t->holes[--t->holes_n];
    } else if (t->n < most_views(s)) {
        MEM_RESERVE(t->views, t->cap, t->n + 1);
        at = t->n++;
        t->views[at] = (struct view){0};
    } else {
        at = oldest_view(t);
        unlink_view(s, at);
    }
    t->views[at].shape = shape;
    t->views[at].by = by;
    t->views[at].next = s->shapes.classes[shape].view;
    t->views[at].leaves = 0;
    s->shapes.classes[shape].view = at + 1;
    return &t->views[at];
}

/* The shape's view by that policy. One that is forgotten is as good as a new one. */
static struct view *view_by(struct state *s, uint32_t shape, enum placement by)
{
    struct view *views = s->views->views, *forgotten = NULL;
    for (uint32_t at = s->shapes.classes[shape].view; at; at = views[at - 1].next) {
        if (views[at - 1].by == by)
            return &views[at - 1];
        forgotten = views[at - 1].leaves ? forgotten : &views[at - 1];
    }
    if (!forgotten)
        return slot_for(s, shape, by);
    forgotten->by = by;
    return forgotten;
}

/* The first of the shape's, whatever it is by. */
static struct view *view_any(struct state *s, uint32_t shape)
{
    uint32_t at = s->shapes.classes[shape].view;
    return at && s->views->views[at - 1].leaves ? &s->views->views[at - 1] : view_by(s, shape, s->placement);
}

static struct view *brought_up_to_date(struct state *s, struct view *v)
{
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

struct view *view_sync(struct state *s, uint32_t shape)
{
    note_columns(s);
    return brought_up_to_date(s, view_any(s, shape));
}

struct view *view_scored(struct state *s, uint32_t shape, enum placement by)
{
    note_columns(s);
    return brought_up_to_date(s, view_by(s, shape, by));
}

const uint64_t *view_domains(struct state *s, struct view *v, uint32_t topology)
{
    const struct topology *t = topology_sync(s, topology);
    if (v->topology == topology && v->built == t->built)
        return v->room_in;
    v->topology = topology;
    v->built = t->built;
    v->room_in = mem_grow(v->room_in, t->domains_n, sizeof *v->room_in);
    memset(v->room_in, 0, t->domains_n * sizeof *v->room_in);
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++)
        for (uint32_t i = 0; i < t->domains[leaf].n; i++)
            v->room_in[leaf] += v->room[t->nodes[t->domains[leaf].first + i]];
    for (uint32_t at = t->domains_n - 1; at > 0; at--)
        v->room_in[t->domains[at].parent] += v->room_in[at];
    return v->room_in;
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

/* Devices that nobody has, but for GPUs of which pods have shares: those are in use. -1: none are kept so. */
static int64_t beside_shares(const struct device_table *t, const struct demand *demand)
{
    const struct device_span *span = t->gpus && demand->extended ? device_table_span(t, demand->resource) : NULL;
    for (uint32_t i = span ? span->first : 0; span && i < (uint32_t)span->first + span->n; i++)
        if (!t->all[i].parts && t->all[i].healthy && !device_bit(t->used, i) && t->gpus[t->gpu_of[i]].shares_n)
            return span->free_n;
    return -1;
}

static void lacks_of_node(const struct state *s, const struct view *v, struct diagnosis *d, uint32_t slot)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    const int64_t *left = node_free(&s->nodes, slot);
    bool short_of_any = false;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const struct demand *demand = &c->demands[i];
        int64_t rest = demand->column < 0 ? 0 : left[demand->column];
        int64_t beside = c->share.n ? -1 : beside_shares(&s->nodes.nodes[slot].devices, demand);
        rest = beside >= 0 && beside < rest ? beside : rest;
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
