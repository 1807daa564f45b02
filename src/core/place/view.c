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
    free(v->keys);
    free(v->winners);
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

/* ---- which node is best ---- */

struct won {
    uint64_t key;
    uint32_t slot;
};

/* Slots without a score may be no nodes at all: they have no rank, and which of them wins means nothing. */
static uint64_t key_of(const struct view *v, const uint32_t *rank, uint32_t slot)
{
    return v->score[slot] ? (uint64_t)v->score[slot] << 32 | (UINT32_MAX - rank[slot]) : 0;
}

static struct won best_of_leaves(const struct view *v, const uint32_t *rank, uint32_t group)
{
    struct won best = {0, group * VIEW_FAN};
    for (uint32_t slot = group * VIEW_FAN; slot < (group + 1) * VIEW_FAN; slot++) {
        uint64_t key = key_of(v, rank, slot);
        best.slot = key > best.key ? slot : best.slot;
        best.key = key > best.key ? key : best.key;
    }
    return best;
}

static struct won best_of_winners(const struct view *v, uint32_t first, uint32_t n)
{
    struct won best = {v->keys[first], v->winners[first]};
    for (uint32_t at = first + 1; at < first + n; at++) {
        best.slot = v->keys[at] > best.key ? v->winners[at] : best.slot;
        best.key = v->keys[at] > best.key ? v->keys[at] : best.key;
    }
    return best;
}

static uint32_t groups_of(uint32_t n)
{
    return (n + VIEW_FAN - 1) / VIEW_FAN;
}

/* Its groups' winners, of one that stands at `at` among n from `first` on. */
static struct won best_of_group(const struct view *v, uint32_t first, uint32_t n, uint32_t group)
{
    uint32_t left = n - group * VIEW_FAN;
    return best_of_winners(v, first + group * VIEW_FAN, left < VIEW_FAN ? left : VIEW_FAN);
}

static void put(struct view *v, uint32_t at, struct won won)
{
    v->keys[at] = won.key;
    v->winners[at] = won.slot;
}

/* Some slots; or winners of groups, each once. */
struct batch {
    uint32_t n, all[32];
};
#define BATCH_MOST (sizeof((struct batch *)0)->all / sizeof(uint32_t))

static inline void add_once(struct batch *b, uint32_t one)
{
    for (uint32_t i = b->n; i-- > 0;)
        if (b->all[i] == one)
            return;
    b->all[b->n++] = one;
}

/* One of a group is worth something else. All are looked at only where it was the winner, and is worth less than before. Returns whether
 * the group has another winner, or the same with another worth. `at`: where its winner stands; `first`: of n below it, 0 of leaves. */
static inline bool play(struct view *v, const uint32_t *rank, struct won one, bool was_winner, uint32_t at, uint32_t first, uint32_t n)
{
    if (!was_winner && one.key <= v->keys[at])
        return false;
    if (one.key < v->keys[at])
        one = n ? best_of_group(v, first, n, at - first - n) : best_of_leaves(v, rank, at);
    v->keys[at] = one.key;
    v->winners[at] = one.slot;
    return true;
}

/* Their scores have changed. WHY  together: a few groups up they are the same ones. */
static void play_up(struct view *v, const uint32_t *rank, struct batch *b)
{
    uint32_t first = 0, n = v->leaves / VIEW_FAN, changed_n = b->n;
    b->n = 0;
    for (uint32_t i = 0; i < changed_n; i++) {
        const uint32_t slot = b->all[i], at = slot / VIEW_FAN;
        if (play(v, rank, (struct won){key_of(v, rank, slot), slot}, v->winners[at] == slot, at, 0, 0))
            add_once(b, at);
    }
    for (uint32_t bits = VIEW_FAN_BITS; n > 1 && b->n; first += n, n = groups_of(n), bits += VIEW_FAN_BITS) {
        changed_n = b->n;
        b->n = 0;
        for (uint32_t i = 0; i < changed_n; i++) {
            const uint32_t below = b->all[i], group = below / VIEW_FAN, at = first + n + group;
            const struct won one = {v->keys[first + below], v->winners[first + below]};
            if (play(v, rank, one, v->winners[at] >> bits == below, at, first, n))
                add_once(b, group);
        }
    }
}

static void play_all(struct state *s, struct view *v)
{
    uint32_t first = 0, n = v->leaves / VIEW_FAN;
    for (uint32_t at = 0; at < n; at++)
        put(v, at, best_of_leaves(v, s->nodes.rank, at));
    for (; n > 1; first += n, n = groups_of(n))
        for (uint32_t at = 0; at < groups_of(n); at++)
            put(v, first + n + at, best_of_group(v, first, n, at));
    v->root = first;
    v->ranked_n = s->nodes.ranked_n;
}

/* ---- looking at nodes ---- */

/* The way up from the node's leaf. A tree that is another one by now is counted anew when it is asked for. */
static void add_in_domains(const struct state *s, struct view *v, uint32_t slot, uint64_t difference)
{
    const struct topology *t = &s->topologies[v->topology];
    if (t->built != v->built)
        return;
    for (uint32_t at = topology_leaf(t, slot); at; at = t->domains[at].parent)
        v->room_in[at] += difference;
}

static inline uint32_t room_on(const struct state *s, const struct view *v, const struct shape_class *c, uint32_t slot)
{
    return v->cause[slot] == FIT_OK ? fit_room(s, c, slot) : 0;
}

static inline void take_room(struct state *s, struct view *v, const struct scorer *by, uint32_t slot, uint32_t room)
{
    const uint32_t before = v->room[slot];
    v->room[slot] = room;
    v->score[slot] = room ? score_node(by, slot) : 0;
    v->room_n += (uint64_t)room - before;
    v->fits_n += (uint32_t)(room != 0) - (before != 0);
    if (v->topology && room != before)
        add_in_domains(s, v, slot, (uint64_t)room - before);
}

struct alike {
    uint32_t room, score;
    bool known;
};

/* Nodes that are alike are looked at once. */
static void look_at_all(struct state *s, struct view *v, const struct scorer *by)
{
    struct alike *all = mem_zero(score_alike_most(by) + 1, sizeof *all);
    uint32_t *const score = v->score, *const room = v->room, n = v->n, fits_n = 0;
    uint64_t room_n = 0;
    for (uint32_t slot = 1; slot < n; slot++) {
        const enum fit_cause cause = fit_record_of(s, by->c, slot);
        v->cause[slot] = (uint8_t)cause;
        score[slot] = room[slot] = 0;
        if (cause != FIT_OK)
            continue;
        struct alike *same = &all[score_alike(by, slot)];
        if (!same->known) {
            const uint32_t here = fit_room(s, by->c, slot);
            if (here)
                take_room(s, v, by, slot, here);
            *same = (struct alike){room[slot], score[slot], same != all};
            continue;
        }
        room[slot] = same->room;
        score[slot] = same->score;
        room_n += same->room;
        fits_n += same->room != 0;
    }
    v->room_n += room_n;
    v->fits_n += fits_n;
    free(all);
}

static void make_space(struct view *v, uint32_t leaves)
{
    free(v->score);
    free(v->room);
    v->score = mem_zero(leaves, sizeof *v->score);
    v->room = mem_zero(leaves, sizeof *v->room);
    v->keys = mem_grow(v->keys, leaves / (VIEW_FAN - 1) + VIEW_LEVELS, sizeof *v->keys);
    v->winners = mem_grow(v->winners, leaves / (VIEW_FAN - 1) + VIEW_LEVELS, sizeof *v->winners);
    v->cause = mem_grow(v->cause, leaves, sizeof *v->cause);
    memset(v->cause, FIT_UNKNOWN_NODE, leaves);
    v->space = leaves;
}

static void build(struct state *s, struct view *v)
{
    const struct scorer by = scorer_of(s, &s->shapes.classes[v->shape], v->by);
    const uint32_t slots = s->nodes.cap > s->nodes.n ? s->nodes.cap : s->nodes.n, leaves = (slots / VIEW_FAN + 1) * VIEW_FAN;
    if (leaves > v->space)
        make_space(v, leaves);
    v->leaves = leaves;
    v->n = s->nodes.n;
    v->room_n = v->fits_n = 0;
    v->topology = 0;
    look_at_all(s, v, &by);
    play_all(s, v);
    v->seq = s->nodes.seq;
}

/* Once more: the node was touched. Returns whether it stands elsewhere among the others now. */
static inline bool look_again(struct state *s, struct view *v, const struct scorer *by, uint32_t slot)
{
    const bool other_record = s->nodes.nodes[slot].record_seq > v->seq;
    if (other_record)
        v->cause[slot] = (uint8_t)fit_record_of(s, by->c, slot);
    const uint32_t room = room_on(s, v, by->c, slot), before = v->score[slot];
    if (!(room | v->room[slot]))
        return other_record; /* the slot of another node has another rank */
    take_room(s, v, by, slot, room);
    return v->score[slot] != before || other_record;
}

/* A node without room has none after pods took more of it. */
static inline bool may_differ(const struct state *s, const struct view *v, uint32_t slot)
{
    return v->room[slot] || s->nodes.eased[slot] > v->seq;
}

/* WHY  some at once: what is read of them is asked of the memory together, before the first is looked at. */
static void look_at_batch(struct state *s, struct view *v, const struct scorer *by, struct batch *b)
{
    uint32_t left_n = 0, changed_n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t slot = b->all[i];
        const struct node *node = &s->nodes.nodes[slot];
        if (!may_differ(s, v, slot))
            continue;
        __builtin_prefetch(&node->record_seq);
        __builtin_prefetch(&node->devices.parts_at);
        __builtin_prefetch(node_free(&s->nodes, slot));
        __builtin_prefetch(&v->score[slot]);
        __builtin_prefetch(&v->cause[slot]);
        b->all[left_n++] = slot;
    }
    for (uint32_t i = 0; i < left_n; i++)
        if (look_again(s, v, by, b->all[i]))
            b->all[changed_n++] = b->all[i];
    b->n = changed_n;
    play_up(v, s->nodes.rank, b);
    b->n = 0;
}

static inline void batch_add(struct state *s, struct view *v, const struct scorer *by, struct batch *b, uint32_t slot)
{
    __builtin_prefetch(&v->room[slot]);
    b->all[b->n++] = slot;
    if (b->n == BATCH_MOST)
        look_at_batch(s, v, by, b);
}

/* Where more was touched than there are nodes, or than the journal has, they are found by their last touch. */
static void repair(struct state *s, struct view *v)
{
    const struct scorer by = scorer_of(s, &s->shapes.classes[v->shape], v->by);
    const uint32_t *journal = s->nodes.journal;
    const uint64_t *touched = s->nodes.touched, until = s->nodes.seq, behind = until - v->seq;
    struct batch batch;
    batch.n = 0;
    v->n = s->nodes.n;
    if (behind == 1) {
        batch.all[batch.n++] = journal[v->seq % NODE_JOURNAL];
    } else if (behind > NODE_JOURNAL || behind > v->n) {
        for (uint32_t slot = 1; slot < v->n; slot++)
            if (touched[slot] > v->seq)
                batch_add(s, v, &by, &batch, slot);
    } else {
        for (uint64_t at = v->seq; at < until; at++) {
            const uint32_t slot = journal[at % NODE_JOURNAL];
            if (slot)
                batch_add(s, v, &by, &batch, slot);
        }
    }
    look_at_batch(s, v, &by, &batch);
    v->seq = until;
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
    size_t most = VIEWS_BYTES / (10 * ((size_t)s->nodes.cap + 1) + sizeof(uint64_t) * domains_n);
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
    const uint64_t meaning = score_meaning(s, v->by);
    v->used_tick = ++s->views->tick;
    if (!v->leaves || s->nodes.n > v->leaves || v->meaning != meaning) {
        build(s, v);
        v->meaning = meaning;
        v->diagnosed_seq = UINT64_MAX;
    } else if (v->seq != s->nodes.seq) {
        repair(s, v);
    }
    if (v->ranked_n != s->nodes.ranked_n)
        play_all(s, v);
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
    uint32_t slot = v->winners[v->root];
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
