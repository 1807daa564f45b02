/* state_figures.c - what is told of the state besides what one object needs: cohorts, shares, who waits for what and in which place */
#include <stdlib.h>
#include "base/amount.h"
#include "core/queue/consumption.h"
#include "core/queue/order.h"
#include "core/quota/count.h"
#include "core/quota/decay.h"
#include "core/quota/share.h"
#include "core/state/state.h"
#include "core/state/state_gang.h"

/* ---- cohorts ---- */

static struct queue_usage *row_for(struct cohort_look *look, uint64_t key)
{
    for (uint32_t i = 0; i < look->rows_n; i++)
        if (look->rows[i].flavor == (name_id)(key >> 32) && look->rows[i].resource == (name_id)key)
            return &look->rows[i];
    return NULL;
}

static void look_at_cohort(const struct state *s, const struct quota_node *node, struct arena *a, struct cohort_look *look)
{
    *look = (struct cohort_look){.name = node->name,
                                 .parent = s->quota.nodes[node->parent].name, /* node 0 has none */
                                 .root = s->quota.nodes[node->root].name,
                                 .rows = arena_zero(a, node->cells_n + 1, sizeof *look->rows),
                                 .rows_n = node->cells_n,
                                 .left = node->left};
    for (uint32_t i = 0; i < node->cells_n; i++) {
        look->rows[i].flavor = (name_id)(node->cells[i].key >> 32);
        look->rows[i].resource = (name_id)node->cells[i].key;
        look->rows[i].nominal = node->cells[i].subtree;
    }
}

/* A queue counts for every cohort above it. */
static void add_queue(const struct state *s, const struct quota_node *node, const uint32_t *at, struct cohort_look *all)
{
    const struct queue *q = queue_find(s, node->name);
    for (uint32_t id = node->parent; id && !s->quota.nodes[id].is_shared_out; id = s->quota.nodes[id].parent) {
        struct cohort_look *above = &all[at[id]];
        above->admitted_n += q ? (int32_t)q->counts.admitted_n : 0;
        for (uint32_t i = 0; i < node->cells_n; i++) {
            struct queue_usage *row = row_for(above, node->cells[i].key);
            if (row)
                row->reserved += node->cells[i].usage;
        }
    }
}

uint32_t state_cohorts(struct state *s, struct arena *a, struct cohort_look **ret_all)
{
    quota_settle(&s->quota);
    const struct quota *quota = &s->quota;
    struct cohort_look *all = arena_zero(a, quota->nodes_n + 1, sizeof *all);
    uint32_t *at = arena_zero(a, quota->nodes_n + 1, sizeof *at), n = 0;
    for (uint32_t id = 1; id < quota->nodes_n; id++) {
        const struct quota_node *node = &quota->nodes[id];
        if (node->is_queue || node->broken || node->is_shared_out || (!node->known && !node->first_child))
            continue;
        at[id] = n;
        look_at_cohort(s, node, a, &all[n++]);
    }
    for (uint32_t id = 1; id < quota->nodes_n; id++)
        if (quota->nodes[id].is_queue && !quota->nodes[id].broken)
            add_queue(s, &quota->nodes[id], at, all);
    *ret_all = all;
    return n;
}

bool state_share_parts(struct state *s, name_id name, bool is_cohort, struct share_parts *ret_parts)
{
    uint32_t node = name ? id_map_get(is_cohort ? &s->quota.cohorts : &s->quota.queues, name) : 0;
    if (!node)
        return false;
    quota_settle(&s->quota);
    const struct share *share = share_of(&s->quota, node);
    *ret_parts = (struct share_parts){.borrowed = share->borrowed, .lendable = share->lendable, .weight_nano = share->weight_nano};
    return true;
}

/* ---- what LocalQueues have used ---- */

static struct fine_amount fine(name_id resource, u128 amount)
{
    uint32_t nano;
    u128 units = decay_whole(amount, &nano);
    return (struct fine_amount){resource, units < INT64_MAX ? (int64_t)units : INT64_MAX, (int32_t)nano};
}

static struct fine_amount *fine_of(struct consumption_look *look, name_id resource)
{
    for (uint32_t i = 0; i < look->consumed_n; i++)
        if (look->consumed[i].resource == resource)
            return &look->consumed[i];
    look->consumed[look->consumed_n] = (struct fine_amount){.resource = resource};
    return &look->consumed[look->consumed_n++];
}

bool state_local_queue_consumption(const struct state *s, name_id local_queue, struct arena *a, struct consumption_look *ret_look)
{
    const struct local_queue *l = local_queue_find(s, local_queue);
    const struct queue *q = l ? queue_find(s, l->queue) : NULL;
    *ret_look = (struct consumption_look){0};
    if (!s->consumption.on || !q)
        return false;
    uint32_t most = l->consumption.rows_n;
    for (uint32_t i = 0; i < q->groups_n; i++)
        most += q->groups[i].resources_n;
    ret_look->consumed = arena_zero(a, most + 1, sizeof *ret_look->consumed);
    for (uint32_t i = 0; i < q->groups_n; i++)
        for (uint32_t k = 0; k < q->groups[i].resources_n; k++)
            (void)fine_of(ret_look, q->groups[i].resources[k]);
    for (uint32_t i = 0; i < l->consumption.rows_n; i++)
        if (l->consumption.rows[i].consumed)
            *fine_of(ret_look, l->consumption.rows[i].resource) = fine(l->consumption.rows[i].resource, l->consumption.rows[i].consumed);
    ret_look->entries = arena_zero(a, l->consumption.rows_n + 1, sizeof *ret_look->entries);
    for (uint32_t i = 0; i < l->consumption.rows_n; i++)
        if (l->consumption.rows[i].entry)
            ret_look->entries[ret_look->entries_n++] = fine(l->consumption.rows[i].resource, l->consumption.rows[i].entry);
    ret_look->at_ms = l->consumption.at_ms;
    ret_look->share = l->used.weight_nano ? wide_over(wide_times(l->used.sum, 1000), (u128)(uint64_t)l->used.weight_nano) : INT64_MAX;
    return true;
}

uint64_t state_consumption_ticks(const struct state *s)
{
    return s->consumption_ticks;
}

/* ---- who waits ---- */

/* SOURCE Kueue, in whose queues all others keep their turn while somebody waits for his victims. */
static bool stands_behind(const struct state *s, const struct line *l)
{
    for (uint32_t i = 0; i < s->promised_n && l->queue->promised_n; i++) {
        const struct gang *g = s->promised[i];
        if (g->promise->queue != l->queue || g->promise->since_ms > l->park.tried_ms)
            continue;
        if (g->line == l || g->promise->since_ms < l->park.tried_ms || consumption_before(s, l->queue, g, line_first(l)))
            return true;
    }
    return false;
}

/* In all flavors together; what the queue does not count is there. */
static int64_t available(const struct state *s, const struct queue *q, name_id resource)
{
    int64_t sum = INT64_MAX;
    for (uint32_t i = 0; i < q->groups_n; i++)
        for (uint32_t r = 0; r < q->groups[i].resources_n; r++)
            for (uint32_t f = 0; f < q->groups[i].flavors_n && q->groups[i].resources[r] == resource; f++) {
                int64_t have = quota_available(&s->quota, q->quota, q->groups[i].flavors[f], resource);
                sum = amount_plus(f ? sum : 0, have > 0 ? have : 0);
            }
    return sum;
}

/* So few members as may start; what several sets ask of one resource is asked together. */
static int64_t least_asked(const struct state *s, const struct gang *g, name_id resource)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        int32_t wanted_n = g->sets[i].asked_n - g->sets[i].over_n, count = g->sets[i].min_count;
        count = count < wanted_n ? count : wanted_n;
        for (uint32_t k = 0; k < c->demands_n; k++)
            if (c->demands[k].resource == resource)
                sum = amount_plus(sum, amount_times(c->demands[k].value, count));
    }
    return sum;
}

/* Quota was short when it was tried, and is not as the tree is now: nobody's promise or claim stands on it between decisions. WHY  hopes
 * alone are each set's for itself. LIMIT  not where others may go for it: what was short is not written down there. */
static bool is_kept_from(const struct state *s, const struct line *l)
{
    const struct gang *g = line_first(l);
    const struct queue *q = l->queue;
    if (!(l->park.on & PARK_QUOTA) || !q->quota || !l->park.hopes_n || l->park.hopes_n > PARK_HOPES || !order_hope_met(s, &l->park, q))
        return false;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        for (uint32_t k = 0; k < c->demands_n; k++)
            if (least_asked(s, g, c->demands[k].resource) > available(s, q, c->demands[k].resource))
                return false;
    }
    return true;
}

/* The next decision tries it; or it waits only for its turn: behind others of its queue, or because what there is is kept for others. */
static bool line_is_active(const struct state *s, const struct line *l)
{
    return l->heap_at || stands_behind(s, l) || is_kept_from(s, l);
}

bool state_gang_is_active(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && (g->promise || (g->line && line_is_active(s, g->line)));
}

int32_t state_queue_active_n(const struct state *s, name_id queue)
{
    const struct queue *q = queue_find(s, queue);
    int32_t n = 0;
    for (uint32_t i = 0; q && i < q->lines_n; i++)
        n += line_is_active(s, q->lines[i]) ? (int32_t)q->lines[i]->gangs.n : 0;
    for (uint32_t i = 0; q && i < s->promised_n; i++) { /* SOURCE Kueue: who waits for its victims is tried again and again */
        const struct gang *g = s->promised[i];
        n += g->promise->queue == q && !(g->line && line_is_active(s, g->line));
    }
    return n;
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* It is pending in the queue, and not in line: e.g. its namespace may not use the queue. */
static bool is_held_from(const struct state *s, const struct gang *g, const struct queue *q)
{
    name_id missing;
    const struct local_queue *l = g->own->local_queue ? local_queue_find(s, g->own->local_queue) : NULL;
    return !g->line && (g->counted & COUNTED_PENDING) && !(l && l->stop != STOP_NONE) && gang_asks_queue(s, g, &missing) == q;
}

static int32_t held_shapes_n(struct state *s, const struct queue *q)
{
    uint64_t *all = NULL;
    uint32_t n = 0, cap = 0, in_line_n = 0;
    int32_t different_n = 0;
    for (uint32_t i = 0; i < q->lines_n; i++)
        in_line_n += (uint32_t)q->lines[i]->gangs.n;
    for (uint32_t i = 0; i < order_parked_n(s) && in_line_n < q->counts.pending_n; i++) {
        const struct gang *g = order_parked(s, i)->gang;
        if (!g || !is_held_from(s, g, q))
            continue;
        MEM_RESERVE(all, cap, n + 1);
        all[n++] = order_likeness(s, g, q);
    }
    if (n)
        qsort(all, n, sizeof *all, compare_words);
    for (uint32_t i = 0; i < n; i++)
        different_n += i == 0 || all[i] != all[i - 1];
    free(all);
    return different_n;
}

void state_queue_shapes_n(struct state *s, name_id queue, int32_t *ret_active_n, int32_t *ret_inadmissible_n)
{
    const struct queue *q = queue_find(s, queue);
    int32_t n[2] = {0};
    for (uint32_t i = 0; q && i < q->lines_n; i++)
        if (q->lines[i]->gangs.n)
            n[line_is_active(s, q->lines[i])]++;
    *ret_active_n = n[true];
    *ret_inadmissible_n = n[false] + (q ? held_shapes_n(s, q) : 0);
}

static struct amount *amount_of(struct amount *rows, uint32_t *n, name_id resource)
{
    for (uint32_t i = 0; i < *n; i++)
        if (rows[i].resource == resource)
            return &rows[i];
    rows[*n] = (struct amount){.resource = resource};
    return &rows[(*n)++];
}

/* A group of which only its pods say what they ask for, counted by these rules. */
static uint32_t members_ask(const struct state *s, const struct gang *g, const struct queue_shares *by, struct arena *a,
                            struct amount **ret_rows)
{
    uint32_t most = 0, n = 0;
    struct amount one;
    for (uint32_t i = 0; i < g->members_n; i++)
        most += s->shapes.classes[s->pods[g->members[i]].shape].demands_n + by->counts_n;
    *ret_rows = arena_zero(a, most + 1, sizeof **ret_rows);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        struct count x = {.shape = &s->shapes.classes[p->shape], .by = by, .keeps_places = g->keeps_places};
        while (p->phase != POD_SUCCEEDED && p->phase != POD_FAILED && count_next(&x, &one)) {
            struct amount *row = amount_of(*ret_rows, &n, one.resource);
            row->value = amount_plus(row->value, one.value);
        }
    }
    return n;
}

uint32_t state_group_asks(const struct state *s, name_id gang, const struct queue_shares *by, struct arena *a, struct amount **ret_rows)
{
    const struct gang *g = gang_find(s, gang);
    return g && !g->planned ? members_ask(s, g, by, a, ret_rows) : 0;
}

uint32_t state_gang_asks(const struct state *s, name_id gang, struct arena *a, struct amount **ret_rows)
{
    const struct gang *g = gang_find(s, gang);
    uint32_t most = 0, n = 0;
    if (g && !g->planned)
        return members_ask(s, g, &count_nothing_else, a, ret_rows);
    for (uint32_t i = 0; g && i < g->sets_n; i++)
        most += s->shapes.classes[set_charged(&g->sets[i])].demands_n;
    *ret_rows = arena_zero(a, most + 1, sizeof **ret_rows);
    for (uint32_t i = 0; g && i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        for (uint32_t k = 0; k < c->demands_n; k++) {
            struct amount *row = amount_of(*ret_rows, &n, c->demands[k].resource);
            row->value = amount_plus(row->value, amount_times(c->demands[k].value, g->sets[i].asked_n - g->sets[i].over_n));
        }
    }
    return n;
}

/* ---- who waits in a queue ---- */

/* WHY  whoever waits stands in a line, is held by a parking of its own, or is to be looked at next: these are walked, not all gangs that
 * there are. */
struct waiting {
    const struct gang *gang;
    const struct state *state; /* for who comes before whom */
    const struct queue *queue;
};
struct found {
    const struct queue *queue;
    struct waiting *all; /* NULL while they are counted */
    uint32_t n;
};

static const struct queue *counted_in(const struct state *s, const struct gang *g)
{
    return g->own->counted_local ? s->local_queues[g->own->counted_local].counted : g->own->counted_queue;
}

static void add(const struct state *s, struct found *f, const struct gang *g)
{
    if (counted_in(s, g) != f->queue || !(g->counted & COUNTED_PENDING))
        return;
    if (f->all)
        f->all[f->n] = (struct waiting){g, s, f->queue};
    f->n++;
}

/* All in a line are of one queue. WHY  it is asked of the gang: whose LocalQueue was given another ClusterQueue stands in the old one's
 * lines until the next cycle. */
static void walk_line(const struct state *s, struct found *f, const struct line *l)
{
    if (counted_in(s, line_first(l)) != f->queue)
        return;
    for (uint32_t i = 0; i < l->gangs.n; i++)
        add(s, f, l->gangs.items[i]);
}

static void walk(const struct state *s, struct found *f)
{
    f->n = 0;
    for (uint32_t i = 0; i < s->queues_n; i++)
        for (uint32_t k = 0; k < s->queues[i]->lines_n; k++)
            walk_line(s, f, s->queues[i]->lines[k]);
    for (uint32_t i = 0; i < s->parked_n; i++)
        if (s->parked[i]->gang)
            add(s, f, s->parked[i]->gang);
    for (uint32_t i = 0; i < s->fresh_n; i++)
        add(s, f, s->fresh[i]);
}

static int compare_waiting(const void *left, const void *right)
{
    const struct waiting *a = left, *b = right;
    return consumption_before(a->state, a->queue, a->gang, b->gang) ? -1 : consumption_before(a->state, a->queue, b->gang, a->gang);
}

uint32_t state_queue_pending(const struct state *s, name_id queue, struct arena *a, struct pending_gang **ret_all)
{
    struct found f = {.queue = queue_find(s, queue)};
    *ret_all = NULL;
    if (!f.queue)
        return 0;
    walk(s, &f);
    f.all = arena_alloc(a, (f.n + 1) * sizeof *f.all);
    walk(s, &f);
    qsort(f.all, f.n, sizeof *f.all, compare_waiting);
    struct pending_gang *all = *ret_all = arena_alloc(a, (f.n + 1) * sizeof *all);
    for (uint32_t i = 0; i < f.n; i++) {
        const struct gang *g = f.all[i].gang;
        all[i] = (struct pending_gang){g->key, g->own->local_queue, g->priority};
    }
    return f.n;
}

/* ---- what there is ---- */

int64_t state_allocatable(const struct state *s, name_id resource)
{
    return node_table_total(&s->nodes, resource);
}
