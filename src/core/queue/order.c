/* order.c - gangs in and out of their places, lines in and out of their queues. Waking is in wake.c */
#include "core/queue/order.h"
#include <stddef.h>
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/view.h"
#include "core/queue/gang.h"
#include "core/queue/lane.h"
#include "core/queue/ready.h"
#include "core/queue/standing.h"

static bool timer_before(const void *gang_a, const void *gang_b)
{
    const struct gang *a = gang_a, *b = gang_b;
    return a->retry_ms != b->retry_ms ? a->retry_ms < b->retry_ms : order_before(a, b);
}

void order_init(struct state *s)
{
    heap_init(&s->timers, offsetof(struct gang, timer_at), timer_before);
    s->lines = map_new(sizeof(struct line *));
}

static void line_free(struct line *l)
{
    heap_fini(&l->gangs);
    free(l->reason);
    free(l);
}

void order_fini(struct state *s)
{
    size_t at = 0;
    struct bytes key;
    struct line **slot;
    standing_fini(s);
    while ((slot = map_next(s->lines, &at, &key)))
        line_free(*slot);
    map_free(s->lines);
    if (s->spare_line)
        line_free(s->spare_line);
    heap_fini(&s->timers);
    free(s->fresh);
    free(s->work);
    free(s->unlinked);
    free(s->ready);
    free(s->parked);
    free(s->telling);
    free(s->helping);
    free(s->helping_roots);
    free(s->candidates);
}

/* ---- parking ---- */

void parking_release(struct state *s, struct parking *p)
{
    for (uint32_t i = 0; i < p->shapes_n && p->shapes_n <= PARK_SHAPES; i++)
        shape_release(s, p->shapes[i]);
    p->shapes_n = 0;
}

void parking_add_shape(struct state *s, struct parking *p, uint32_t shape)
{
    for (uint32_t i = 0; i < p->shapes_n && i < PARK_SHAPES; i++)
        if (p->shapes[i] == shape)
            return;
    if (p->shapes_n > PARK_SHAPES)
        return;
    if (p->shapes_n == PARK_SHAPES) {
        parking_release(s, p);
        p->shapes_n = PARK_SHAPES + 1;
        return;
    }
    shape_class_ref(&s->shapes, shape);
    p->shapes[p->shapes_n++] = shape;
}

void parking_add_hope(struct parking *p, name_id flavor, name_id resource, int64_t need)
{
    for (uint32_t i = 0; i < p->hopes_n && p->hopes_n <= PARK_HOPES; i++) {
        struct hope *h = &p->hopes[i];
        if (h->flavor != flavor || h->resource != resource)
            continue;
        h->need = need < h->need ? need : h->need;
        return;
    }
    if (p->hopes_n < PARK_HOPES)
        p->hopes[p->hopes_n] = (struct hope){flavor, resource, need};
    if (p->hopes_n <= PARK_HOPES)
        p->hopes_n++;
}

void parking_add(struct state *s, struct parking *p, const struct parking *other)
{
    p->on |= other->on;
    p->takes |= other->takes;
    for (uint32_t i = 0; i < other->shapes_n && other->shapes_n <= PARK_SHAPES; i++)
        parking_add_shape(s, p, other->shapes[i]);
    if (other->shapes_n > PARK_SHAPES) {
        parking_release(s, p);
        p->shapes_n = PARK_SHAPES + 1;
    }
    for (uint32_t i = 0; i < other->hopes_n && other->hopes_n <= PARK_HOPES; i++)
        parking_add_hope(p, other->hopes[i].flavor, other->hopes[i].resource, other->hopes[i].need);
    if (other->hopes_n > PARK_HOPES)
        p->hopes_n = PARK_HOPES + 1;
}

static void list_parked(struct state *s, struct parking *p)
{
    MEM_RESERVE(s->parked, s->parked_cap, s->parked_n + 1);
    s->parked[s->parked_n++] = p;
    p->at = s->parked_n;
    s->borrowers_awaited_n += (p->on & PARK_BORROWERS) != 0;
    s->takers_awaited_n += p->takes;
}

static void park_on(struct state *s, struct parking *p, const struct parking *what)
{
    uint32_t shapes_n = what->shapes_n > PARK_SHAPES ? 0 : what->shapes_n;
    p->on = what->on;
    p->takes = what->takes;
    p->shapes_n = what->shapes_n;
    p->hopes_n = what->hopes_n;
    for (uint32_t i = 0; i < what->hopes_n && what->hopes_n <= PARK_HOPES; i++)
        p->hopes[i] = what->hopes[i];
    for (uint32_t i = 0; i < shapes_n; i++) {
        p->shapes[i] = what->shapes[i];
        shape_class_ref(&s->shapes, p->shapes[i]);
    }
}

static void leave_parked(struct state *s, struct parking *p)
{
    if (p->at == PARK_STANDS) {
        standing_remove(s, p->line);
        p->at = 0;
        return;
    }
    struct parking *last = s->parked[--s->parked_n];
    s->borrowers_awaited_n -= (p->on & PARK_BORROWERS) != 0;
    s->takers_awaited_n -= p->takes;
    s->parked[p->at - 1] = last;
    last->at = p->at;
    p->at = 0;
}

static void unpark(struct state *s, struct parking *p)
{
    if (!p || !p->at)
        return;
    leave_parked(s, p);
    parking_release(s, p);
    p->on = p->hopes_n = 0;
    p->takes = false;
}

uint32_t order_parked_n(const struct state *s)
{
    return s->parked_n + standing_n(s);
}

struct parking *order_parked(const struct state *s, uint32_t i)
{
    return i < s->parked_n ? s->parked[i] : &standing_line(s, i - s->parked_n)->park;
}

void order_refresh_after(struct state *s, int64_t tried_ms)
{
    if (!s->refresh_ms || tried_ms + REFRESH_MS < s->refresh_ms)
        s->refresh_ms = tried_ms + REFRESH_MS;
}

void order_look_again(struct state *s, struct line *l)
{
    l->park.outdated = true;
    order_refresh_after(s, l->park.tried_ms);
}

void order_end_standing(struct state *s)
{
    for (uint32_t i = standing_n(s); i-- > 0;) {
        struct parking *p = &standing_line(s, i)->park;
        p->outdated |= standing_outdated(p->line);
        standing_remove(s, p->line);
        list_parked(s, p);
    }
}

/* ---- lines in their queues ---- */

static void ready_list_update(struct state *s, struct queue *q)
{
    if (q->ready.n && !q->ready_at) {
        MEM_RESERVE(s->ready, s->ready_cap, s->ready_n + 1);
        s->ready[s->ready_n++] = q;
        q->ready_at = s->ready_n;
    } else if (!q->ready.n && q->ready_at) {
        struct queue *last = s->ready[--s->ready_n];
        s->ready[q->ready_at - 1] = last;
        last->ready_at = q->ready_at;
        q->ready_at = 0;
    }
}

static bool blocks(const struct line *l)
{
    return l->queue->strategy == QUEUE_STRICT_FIFO && (l->park.on & (PARK_QUOTA | PARK_NODES));
}

/* Out of whichever heap it is in. */
static void line_leave(struct state *s, struct line *l)
{
    lane_remove(l);
    unpark(s, &l->park);
    ready_list_update(s, l->queue);
}

static void forget_woken(struct state *s, struct line *l)
{
    parking_release(s, &l->woken);
    l->recheck = false;
}

static void telling_add(struct state *s, struct line *l)
{
    if (l->telling_at)
        return;
    MEM_RESERVE(s->telling, s->telling_cap, s->telling_n + 1);
    s->telling[s->telling_n++] = l;
    l->telling_at = s->telling_n;
}

void order_line_ready(struct state *s, struct line *l, bool recheck)
{
    forget_woken(s, l);
    if (recheck)
        l->woken = l->park;
    for (uint32_t i = 0; recheck && i < l->woken.shapes_n && l->woken.shapes_n <= PARK_SHAPES; i++)
        shape_class_ref(&s->shapes, l->woken.shapes[i]); /* references of its own */
    line_leave(s, l);
    l->recheck = recheck;
    l->woken_cycle = s->cycles_n;
    lane_add(l, false);
    ready_list_update(s, l->queue);
    telling_add(s, l);
}

void order_no_candidate(struct state *s, struct line *l)
{
    if (!l->candidate_at)
        return;
    struct line *last = s->candidates[--s->candidates_n];
    l->queue->candidates_n--;
    s->candidates[l->candidate_at - 1] = last;
    last->candidate_at = l->candidate_at;
    l->candidate_at = 0;
}

static void telling_remove(struct state *s, struct line *l)
{
    if (!l->telling_at)
        return;
    struct line *last = s->telling[--s->telling_n];
    s->telling[l->telling_at - 1] = last;
    last->telling_at = l->telling_at;
    l->telling_at = 0;
}

void order_told(struct state *s, struct line *l)
{
    telling_remove(s, l);
}

static void line_drop(struct state *s, struct line *l)
{
    line_leave(s, l);
    forget_woken(s, l);
    telling_remove(s, l);
    order_no_candidate(s, l);
    map_remove(s->lines, l->key);
    if (s->joined_last == l)
        s->joined_last = NULL;
    struct line *last = l->queue->lines[--l->queue->lines_n];
    l->queue->lines[l->queue_at] = last;
    last->queue_at = l->queue_at;
    lane_leave(s, l);
    if (s->spare_line) {
        line_free(l);
        return;
    }
    free(l->reason);
    l->reason = NULL;
    s->spare_line = l;
}

/* WHY  one is kept: of pods of no queue the line of each ends before the next one comes. */
static struct line *line_new(struct state *s)
{
    struct line *l = s->spare_line;
    if (!l) {
        l = mem_zero(1, sizeof *l);
        heap_init(&l->gangs, offsetof(struct gang, line_at), order_before);
        return l;
    }
    s->spare_line = NULL;
    *l = (struct line){.gangs = l->gangs};
    return l;
}

static void park_line(struct state *s, struct line *l, const struct parking *what, bool has_enough)
{
    line_leave(s, l);
    l->park.tried_ms = s->now_ms;
    l->park.outdated = false;
    park_on(s, &l->park, what);
    if (standing_add(s, l, has_enough))
        l->park.at = PARK_STANDS;
    else
        list_parked(s, &l->park);
    forget_woken(s, l); /* only now: `what` may be what it was woken from */
    if (blocks(l))
        lane_add(l, true);
}

void order_park_line(struct state *s, struct line *l, const struct parking *what)
{
    park_line(s, l, what, false);
}

void order_park_again(struct state *s, struct line *l, const struct parking *what)
{
    park_line(s, l, what, true);
}

struct gang *order_blocker(const struct queue *q)
{
    const struct line *l = lane_first_blocked(q), *ready = l ? lane_first_ready(q) : NULL;
    if (!l || (ready && lane_line_before(ready, l)))
        return NULL;
    return line_first(l);
}

struct line *order_first(struct queue *q)
{
    return order_blocker(q) ? NULL : lane_first_ready(q);
}

bool order_goes_on(struct queue *q)
{
    return order_first(q) || q->candidates_n;
}

/* ---- what makes gangs alike ---- */

static uint64_t key_word(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static void key_words(struct buf *b, uint32_t high, uint32_t low)
{
    uint64_t word = key_word(high, low);
    buf_add(b, &word, sizeof word);
}

static void topology_words(struct buf *b, const struct topology_request *r)
{
    key_words(b, (uint32_t)r->mode << 8 | r->slices_n, r->level);
    key_words(b, r->group, 0);
    for (uint32_t i = 0; i < r->slices_n; i++)
        key_words(b, r->slices[i].level, (uint32_t)r->slices[i].size);
}

/* WHY labels only with rules of their own: job names and indexes stand in labels, and few shapes look at other pods at all.
 * WHY priority where others may go for them: whom only the higher one may preempt may go first, or let another flavor look better, and then
 * it has not enough where the lower one has. SOURCE Kueue, scheduling equivalence hashing: a class is of one priority. */
static void line_key(struct state *s, const struct gang *g, const struct queue *q)
{
    struct buf *b = &s->text;
    buf_clear(b);
    if (g->alone) {
        key_words(b, UINT32_MAX, g->key);
        return;
    }
    const uint64_t all[] = {key_word(q->name, g->own->local_queue),
                            key_word(q->name ? g->ns : 0, (uint32_t)g->min_members << 1 | g->planned),
                            key_word(q->preempts, q->preempts ? (uint32_t)g->priority : 0)};
    buf_add(b, all, sizeof all);
    if (g->preempts_nobody) /* those behind it may */
        key_words(b, UINT32_MAX, UINT32_MAX);
    if (g->keeps_places && q->shares.counts_n)
        key_words(b, UINT32_MAX, 1);
    if (ready_was_late(s, g, q)) /* it comes after those who are like it */
        key_words(b, UINT32_MAX, 0);
    const struct tier_request *tiers = gang_tiers(g);
    if (tiers) {
        key_words(b, UINT32_MAX - (uint32_t)tiers->mode, tiers->title);
        buf_add(b, &tiers->highest, sizeof tiers->highest);
    }
    if (g->own->terms && g->own->terms->patience_s) /* from when it waits */
        key_words(b, UINT32_MAX - 9, g->key);
    if (gang_has_subgroups(g)) /* which of its pods start together follows from their labels */
        key_words(b, UINT32_MAX - 8, g->key);
    const struct amount *floor;
    for (uint32_t i = 0, n = gang_floor(g, &floor); i < n; i++) {
        key_words(b, UINT32_MAX - 10, floor[i].resource);
        buf_add(b, &floor[i].value, sizeof floor[i].value);
    }
    if (s->backfills_n) /* who ends before a start that is promised may pass it */
        key_words(b, g->own->run_s, g->own->run_by_limit);
    for (uint32_t i = 0; i < g->own->min_of_task_n; i++)
        key_words(b, g->own->min_of_task[i].resource, (uint32_t)g->own->min_of_task[i].value);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct gang_set *set = &g->sets[i];
        const uint64_t own[] = {key_word(set->name, set->shape), key_word((uint32_t)set->count, (uint32_t)set->reclaimed_n),
                                key_word(set->charged, (uint32_t)set->min_count << 1 | (set->topology != NULL))};
        buf_add(b, own, sizeof own);
        if (set->topology)
            topology_words(b, set->topology);
        if (s->shapes.classes[set->shape].neighbours)
            key_words(b, set->labels, UINT32_MAX);
    }
}

uint64_t order_likeness(struct state *s, const struct gang *g, const struct queue *q)
{
    line_key(s, g, q);
    return hash_bytes(s->text.data, s->text.n, 0);
}

static struct line *line_for(struct state *s, struct gang *g)
{
    name_id missing;
    struct queue *q = gang_asks_queue(s, g, &missing);
    q = q ? q : s->queues[0];
    line_key(s, g, q);
    if (s->joined_last && bytes_equal(s->joined_last->key, buf_view(&s->text)))
        return s->joined_last;
    bool is_new;
    struct line **slot = map_put(s->lines, buf_view(&s->text), &is_new);
    if (!is_new)
        return *slot;
    struct line *l = *slot = line_new(s);
    l->key = map_key(slot);
    MEM_RESERVE(q->lines, q->lines_cap, q->lines_n + 1);
    l->queue_at = q->lines_n;
    q->lines[q->lines_n++] = l;
    l->queue = q;
    lane_join(s, l, g);
    l->park.line = l;
    return l;
}

static uint32_t loose_n(const struct gang *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        n += (uint32_t)g->sets[i].count;
    return n;
}

void order_line_up(struct state *s, struct gang *g)
{
    g->alone |= g->bound_n > 0 || (!g->planned && g->members_n != loose_n(g)); /* what it has already makes it unlike all others */
    struct line *l = line_for(s, g);
    s->joined_last = l;
    s->others_changed = true;
    g->line = l;
    heap_add(&l->gangs, g);
    if (l->gangs.n > 1 && line_first(l) == g) {
        lane_moved(l);
        standing_moved(s, l);
    }
    bool stands_ready = l->gangs.n > 1 && !l->park.at && !l->recheck;
    /* WHY  a better first gang may come before the claims of other queues' heads (quota/claim.h), which stopped the one before it, or
     * preempt whom that one could not, or before a start that is promised to others, or be promised one */
    bool passes_claims = (s->strict_n && l->queue->cohort && (l->park.on & PARK_QUOTA)) || s->backfills_n;
    if (!stands_ready && (l->gangs.n == 1 || (line_first(l) == g && (passes_claims || l->queue->preempts || gang_has_no_queue(g)))))
        order_line_ready(s, l, false);
    l->joined |= !l->park.at || l->queue->strategy == QUEUE_STRICT_FIFO; /* else it is told when it joins */
    if (l->joined)
        telling_add(s, l);
}

static void line_up_no_more(struct state *s, struct gang *g)
{
    struct line *l = g->line;
    if (!l)
        return;
    bool was_first = line_first(l) == g;
    s->others_changed = true;
    g->line = NULL;
    if (l->queue->has_shares && l->queue->preempts)
        quota_rise(&s->quota, l->queue->quota); /* it holds nobody back any more (quota/deserve.h) */
    if (was_first && shares_fairly(s, l->queue) && l->queue->cohort)
        quota_rise(&s->quota, l->queue->quota); /* it takes nothing back any more (preempt/fair.h) */
    if (was_first && l->queue->cohort && lane_first_blocked(l->queue) == l)
        quota_gain(&s->quota, l->queue->quota); /* a blocked head keeps quota from others (claim.h): it goes, and they may have it */
    if (l->gangs.n == 1) {
        heap_remove(&l->gangs, g);
        line_drop(s, l);
        return;
    }
    heap_remove(&l->gangs, g);
    if (!was_first)
        return;
    lane_moved(l);
    standing_moved(s, l);
}

void order_step_aside(struct state *s, struct gang *g)
{
    line_up_no_more(s, g);
    g->alone = true;
    order_line_up(s, g);
}

/* ---- gangs in and out ---- */

static void unlook(struct state *s, struct gang *g)
{
    if (!g->look_at)
        return;
    struct gang **list = g->in_work ? s->work : s->fresh;
    uint32_t *n = g->in_work ? &s->work_n : &s->fresh_n;
    struct gang *last = list[--*n];
    list[g->look_at - 1] = last;
    last->look_at = g->look_at;
    g->look_at = 0;
}

static void look(struct state *s, struct gang *g)
{
    g->in_work = gang_holds(g);
    if (g->in_work) {
        MEM_RESERVE(s->work, s->work_cap, s->work_n + 1);
        s->work[s->work_n++] = g;
        g->look_at = s->work_n;
    } else {
        MEM_RESERVE(s->fresh, s->fresh_cap, s->fresh_n + 1);
        s->fresh[s->fresh_n++] = g;
        g->look_at = s->fresh_n;
    }
}

static void leave(struct state *s, struct gang *g)
{
    unlook(s, g);
    line_up_no_more(s, g);
    unpark(s, g->park);
    heap_remove(&s->timers, g);
}

void order_forget(struct state *s, struct gang *g)
{
    leave(s, g);
    g->alone = false;
}

void order_wake(struct state *s, struct gang *g)
{
    order_forget(s, g);
    if (g->phase != GANG_UNKNOWN && g->phase != GANG_OVER)
        look(s, g);
}

void order_park_gang(struct state *s, struct gang *g, const struct parking *what)
{
    leave(s, g);
    if (!g->park) {
        g->park = mem_zero(1, sizeof *g->park);
        g->park->gang = g;
    }
    park_on(s, g->park, what);
    list_parked(s, g->park);
    if ((what->on & PARK_TIME) && g->retry_ms)
        heap_add(&s->timers, g);
}

void order_hold(struct state *s, struct gang *g, uint8_t on)
{
    order_park_gang(s, g, &(struct parking){.on = on});
}

void order_look_later(struct state *s, struct gang *g, int64_t at_ms)
{
    heap_remove(&s->timers, g);
    g->retry_ms = at_ms;
    if (at_ms)
        heap_add(&s->timers, g);
}

/* ---- the sets of a pod group ---- */

/* Labels count only where rules look at them. */
static bool same_kind(const struct state *s, const struct gang_set *set, const struct pod *p)
{
    return set->shape == p->shape && set->name == p->pod_set && (set->labels == p->labels || !s->shapes.classes[p->shape].neighbours);
}

static struct gang_set *set_of(const struct state *s, struct gang *g, uint32_t *cap, const struct pod *p)
{
    for (uint32_t i = g->sets_n; i-- > 0;)
        if (same_kind(s, &g->sets[i], p))
            return &g->sets[i];
    if (g->sets_n == *cap) {
        struct gang_set *grown = mem_alloc(*cap * 2 * sizeof *grown);
        memcpy(grown, g->sets, g->sets_n * sizeof *grown);
        if (g->sets != &g->only)
            free(g->sets);
        g->sets = grown;
        *cap *= 2;
    }
    g->sets[g->sets_n] = (struct gang_set){.name = p->pod_set, .shape = p->shape, .labels = p->labels};
    return &g->sets[g->sets_n++];
}

/* A set with what it is sorted by: its name, then its first member. Ids say only who was seen first. */
struct set_key {
    struct gang_set set;
    const char *name, *first;
    int64_t first_ms;
};

static int compare_sets(const void *left, const void *right)
{
    const struct set_key *a = left, *b = right;
    int r = strcmp(a->name, b->name);
    if (r)
        return r;
    if (a->first_ms != b->first_ms)
        return a->first_ms < b->first_ms ? -1 : 1;
    return strcmp(a->first, b->first);
}

static struct set_key key_of_set(const struct state *s, const struct gang *g, const struct gang_set *set)
{
    struct set_key k = {.set = *set, .name = intern_name(s->names, set->name)};
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (!gang_member_is_loose(s, g->members[i]) || !same_kind(s, set, p))
            continue;
        const char *key = intern_name(s->names, p->key);
        if (k.first && (p->created_ms > k.first_ms || (p->created_ms == k.first_ms && strcmp(key, k.first) > 0)))
            continue;
        k.first = key;
        k.first_ms = p->created_ms;
    }
    return k;
}

/* WHY  members arrive in any order, and equal groups must have equal lists, also in a scheduler that begins anew. */
static void sort_sets(const struct state *s, struct gang *g)
{
    struct set_key *keys = mem_alloc(g->sets_n * sizeof *keys);
    for (uint32_t i = 0; i < g->sets_n; i++)
        keys[i] = key_of_set(s, g, &g->sets[i]);
    qsort(keys, g->sets_n, sizeof *keys, compare_sets);
    for (uint32_t i = 0; i < g->sets_n; i++)
        g->sets[i] = keys[i].set;
    free(keys);
}

void order_sets_of_group(struct state *s, struct gang *g)
{
    gang_drop_sets(s, g);
    uint32_t cap = 1;
    g->sets = &g->only;
    g->preempts_nobody = g->own->terms && g->own->terms->preempts_nobody;
    for (uint32_t i = 0; i < g->members_n; i++) {
        if (!gang_member_is_loose(s, g->members[i]))
            continue;
        g->preempts_nobody |= s->pods[g->members[i]].preempts_nobody;
        struct gang_set *set = set_of(s, g, &cap, &s->pods[g->members[i]]);
        if (!set->count++) {
            shape_class_ref(&s->shapes, set->shape);
            label_set_ref(&s->shapes, set->labels);
        }
    }
    if (g->sets_n > 1)
        sort_sets(s, g);
}

/* ---- those that wait for another node ---- */

static struct gang *first_with_lost(const struct state *s)
{
    for (size_t i = 0; i < s->timers.n; i++) {
        struct gang *g = s->timers.items[i];
        if (g->own->lost && !(g->park && g->park->at)) /* not who backs off */
            return g;
    }
    return NULL;
}

void order_wake_lost(struct state *s)
{
    if (s->now_ms > s->lost_until_ms)
        return;
    for (struct gang *g; (g = first_with_lost(s));)
        order_wake(s, g); /* which takes it out */
}
