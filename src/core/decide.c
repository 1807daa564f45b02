/* decide.c - the cycle
 *
 *   wake    who waits for something that changed
 *   settle  admitted gangs: bind members that came, replace lost places, evict what must end
 *   rounds  one head per queue, best first:  ready? -> quota -> place -> commit
 *                                                        \       \-> take back, next flavor ... explain, park
 *                                                         \-> explain, park
 *   explain those who stand behind a blocked head
 */
#include "core/decide.h"
#include <stdlib.h>
#include "core/admission.h"
#include "core/claim.h"
#include "core/cycle.h"
#include "core/flavor.h"
#include "core/gang.h"
#include "core/order.h"
#include "core/settle.h"
#include "core/state_gang.h"
#include "core/undo.h"
#include "core/view.h"
#include "core/why.h"

#define GANGS_MAX_DEFAULT 1024
#define PODS_MAX_DEFAULT 20000

/* ---- refused: explain, park, perhaps block the queue ---- */

static void refuse(struct cycle *c, struct gang *g, struct reason *why, uint8_t park)
{
    struct queue *q = g->home;
    why_add_help(c, why);
    cycle_explain(c, g, why);
    order_park(c->s, g, park);
    if (q->strategy == QUEUE_STRICT_FIFO && (park & (PARK_QUOTA | PARK_NODES)))
        order_block(q, g);
}

/* ---- planned gangs: pod sets are known, members may not exist yet ---- */

/* Wishes for all members under the flavors found. Returns shapes (one per set) that the caller releases. */
static struct want *wish_all(struct cycle *c, struct gang *g, const struct flavor_search *f, uint32_t **ret_shapes, uint32_t *ret_n)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        n += (uint32_t)(g->sets[i].count - g->sets[i].reclaimed_n);
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    uint32_t *shapes = arena_alloc(c->a, (g->sets_n + 1) * sizeof *shapes);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        shapes[i] = gang_flavored_shape(c->s, g->sets[i].shape, f->choices, f->choices_n, i);
        for (int32_t k = g->sets[i].reclaimed_n; k < g->sets[i].count; k++)
            wants[at++] = (struct want){.shape = shapes[i], .labels = g->sets[i].labels, .pod_set = i};
    }
    *ret_shapes = shapes;
    *ret_n = n;
    return wants;
}

static name_id first_flavor(const struct flavor_search *f, uint32_t set)
{
    for (uint32_t i = 0; i < f->choices_n; i++)
        if (f->choices[i].pod_set == set)
            return f->choices[i].flavor;
    return 0;
}

/* One assignment: charge it, place everybody, or take all back and add to `root` why. */
static bool try_assignment(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f, struct reason *root,
                           struct misfit *ret_misfit)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s), n, *shapes;
    for (uint32_t i = 0; i < f->charges_n; i++)
        undo_charge(s, q->quota, f->charges[i].flavor, f->charges[i].resource, f->charges[i].amount);
    struct want *wants = wish_all(c, g, f, &shapes, &n);
    bool placed = !n || gang_place(s, g, wants, n, 0, ret_misfit);
    if (placed) {
        undo_commit(s);
        admission_book(s, g, q, f->choices, f->choices_n, f->charges, f->charges_n);
        for (uint32_t i = 0; i < n; i++)
            admission_hold_seat(g, wants[i].seat);
    } else {
        uint32_t set = ret_misfit->pod_set;
        reason_add_once(root, why_unplaced(c, ret_misfit, g->sets[set].name, first_flavor(f, set)));
        undo_back(s, mark);
        order_park_shape(s, g, ret_misfit->shape);
    }
    for (uint32_t i = 0; i < g->sets_n; i++)
        shape_release(s, shapes[i]);
    return placed;
}

static struct flavor_demand *demands_of(struct cycle *c, const struct gang *g)
{
    struct flavor_demand *sets = arena_alloc(c->a, (g->sets_n + 1) * sizeof *sets);
    for (uint32_t i = 0; i < g->sets_n; i++)
        sets[i] = (struct flavor_demand){.name = g->sets[i].name, .shape = g->sets[i].shape, .count = g->sets[i].count - g->sets[i].reclaimed_n};
    return sets;
}

static bool try_planned(struct cycle *c, struct gang *g, struct queue *q)
{
    struct reason *root = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = q ? q->name : 0});
    struct flavor_search search = {0};
    struct misfit misfit;
    uint8_t park = PARK_QUEUE;
    if (q)
        flavor_search_begin(c->s, &search, q, demands_of(c, g), g->sets_n, c->a);
    do {
        if (q && !flavor_search_next(c->s, &search, c->a, root)) {
            park |= PARK_QUOTA;
            break;
        }
        if (try_assignment(c, g, q, &search, root, &misfit))
            return true;
        park |= misfit.neighbours ? PARK_NODES | PARK_NEIGHBOURS : PARK_NODES;
    } while (q && flavor_refuse(&search, misfit.pod_set));
    /* Preemption and reservation have their place here: quota or nodes said no, and somebody else may have to go. */
    refuse(c, g, root, park);
    return false;
}

/* ---- pod groups and lone pods: members are the pods that exist ---- */

struct reason *group_quota_refuses(struct cycle *c, const struct gang *g, const uint32_t *pods, uint32_t n)
{
    struct state *s = c->s;
    name_id missing;
    struct queue *q = g->admitted ? g->queue : gang_asks_queue(s, g, &missing);
    if (!q)
        return NULL;
    struct reason *root = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = q->name});
    if (q->groups_n) {
        /* A queue with flavors needs pod sets to assign them to; groups reach such queues as planned gangs. */
        struct reason uncovered = {.code = REASON_RESOURCE_UNCOVERED, .queue = q->name, .resource = s->name_pods};
        reason_add(root, reason_new(c->a, uncovered));
        return root;
    }
    struct flavor_demand *sets = arena_alloc(c->a, (n + 1) * sizeof *sets);
    uint32_t sets_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (sets_n && sets[sets_n - 1].shape == s->pods[pods[i]].shape)
            sets[sets_n - 1].count++;
        else
            sets[sets_n++] = (struct flavor_demand){.name = s->pods[pods[i]].pod_set, .shape = s->pods[pods[i]].shape, .count = 1};
    }
    struct flavor_search search;
    flavor_search_begin(s, &search, q, sets, sets_n, c->a);
    return flavor_search_next(s, &search, c->a, root) ? NULL : root;
}

/* The fewest members that make the gang whole, moved to the front: first each task's own minimum, then by order. */
static uint32_t fewest(struct cycle *c, const struct gang *g, uint32_t *pods, uint32_t n)
{
    uint32_t *chosen = arena_alloc(c->a, (n + 1) * sizeof *chosen), *rest = arena_alloc(c->a, (n + 1) * sizeof *rest);
    uint32_t chosen_n = 0, rest_n = 0, there_n = 0;
    int64_t *task_n = arena_zero(c->a, g->min_of_task_n + 1, sizeof *task_n);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &c->s->pods[g->members[i]];
        bool there = p->seat || p->phase == POD_SUCCEEDED;
        there_n += there;
        for (uint32_t t = 0; t < g->min_of_task_n; t++)
            task_n[t] += there && p->pod_set == g->min_of_task[t].resource;
    }
    for (uint32_t i = 0; i < n; i++) {
        bool needed = false;
        for (uint32_t t = 0; t < g->min_of_task_n && !needed; t++)
            needed = c->s->pods[pods[i]].pod_set == g->min_of_task[t].resource && task_n[t]++ < g->min_of_task[t].value;
        if (needed)
            chosen[chosen_n++] = pods[i];
        else
            rest[rest_n++] = pods[i];
    }
    uint32_t need = g->min_members > 1 ? (uint32_t)g->min_members : 1;
    uint32_t at = 0;
    for (uint32_t i = 0; i < chosen_n; i++)
        pods[at++] = chosen[i];
    for (uint32_t i = 0; i < rest_n; i++)
        pods[at++] = rest[i];
    while (chosen_n < n && chosen_n + there_n < need)
        chosen_n++;
    return chosen_n;
}

/* Place these members now or nobody. */
static bool try_members(struct cycle *c, struct gang *g, struct queue *q, const uint32_t *pods, uint32_t n, struct reason **ret_why,
                        uint8_t *ret_park)
{
    struct state *s = c->s;
    *ret_park = PARK_QUOTA | PARK_QUEUE;
    *ret_why = group_quota_refuses(c, g, pods, n);
    if (*ret_why)
        return false;
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    for (uint32_t i = 0; i < n; i++)
        wants[i] = (struct want){.shape = s->pods[pods[i]].shape, .labels = s->pods[pods[i]].labels, .pod = pods[i]};
    uint32_t mark = undo_mark(s);
    struct misfit misfit;
    if (!gang_place(s, g, wants, n, q ? q->quota : 0, &misfit)) {
        *ret_why = why_unplaced(c, &misfit, 0, 0);
        undo_back(s, mark);
        order_park_shape(s, g, misfit.shape);
        *ret_park = misfit.neighbours ? PARK_NODES | PARK_NEIGHBOURS : PARK_NODES;
        return false;
    }
    undo_commit(s);
    admission_book(s, g, q, NULL, 0, NULL, 0);
    cycle_admit(c, g);
    for (uint32_t i = 0; i < n; i++)
        cycle_bind(c, g, pods[i], wants[i].seat);
    return true;
}

static bool try_group(struct cycle *c, struct gang *g, struct queue *q)
{
    struct reason *why;
    uint8_t park;
    uint32_t *pods, n = gang_loose_members(c->s, g, c->a, &pods);
    uint32_t needed = n > 1 ? fewest(c, g, pods, n) : n;
    if (!needed) { /* enough of it runs already (we were started anew): the rest joins one by one */
        admission_book(c->s, g, q, NULL, 0, NULL, 0);
        return true;
    }
    if (try_members(c, g, q, pods, n, &why, &park) || (needed < n && try_members(c, g, q, pods, needed, &why, &park)))
        return true;
    refuse(c, g, why, park);
    return false;
}

/* ---- one gang ---- */

static void try_gang(struct cycle *c, struct gang *g)
{
    name_id missing;
    struct queue *q = gang_asks_queue(c->s, g, &missing);
    uint8_t park;
    if (gang_is_over(c->s, g)) {
        order_forget(c->s, g);
        return;
    }
    if (g->home != (q ? q : c->s->queues[0])) {
        order_wake(c->s, g); /* its queue came or went while it stood in line: to the right line */
        return;
    }
    struct reason *why = why_not_ready(c, g, &park);
    if (why) {
        refuse(c, g, why, park);
        return;
    }
    bool admitted = g->planned ? try_planned(c, g, q) : try_group(c, g, q);
    if (!admitted)
        return;
    order_forget(c->s, g);
    cycle_explained_away(g);
    if (g->planned)
        cycle_admit(c, g);
    order_wake(c->s, g); /* members that exist already, or are left over, are settled at the end of the round */
}

/* ---- rounds ---- */

struct nominee {
    struct gang *gang;
    uint32_t borrow_level;
    const struct queue *claims; /* the gang is its blocked head: not tried, only its claim is put on the tree */
    struct charge *charges;
    uint32_t charges_n;
};

static uint32_t borrow_level(struct cycle *c, struct gang *g)
{
    struct flavor_search search;
    struct reason *unused = reason_new(c->a, (struct reason){.code = REASON_WAITING});
    name_id missing;
    struct queue *q = gang_asks_queue(c->s, g, &missing);
    if (!q || !g->planned)
        return 0;
    struct flavor_demand *sets = demands_of(c, g);
    flavor_search_begin(c->s, &search, q, sets, g->sets_n, c->a);
    if (flavor_search_next(c->s, &search, c->a, unused))
        return search.borrow_level;
    flavor_search_begin(c->s, &search, q, sets, g->sets_n, c->a); /* it will not fit, but its claim has a place in the order */
    search.others_give_way = true;
    return flavor_search_next(c->s, &search, c->a, unused) ? search.borrow_level : 0;
}

/* SOURCE Kueue, order across cluster queues: who borrows less, then priority, then age. */
static int compare_nominees(const void *left, const void *right)
{
    const struct nominee *a = left, *b = right;
    if (a->borrow_level != b->borrow_level)
        return a->borrow_level < b->borrow_level ? -1 : 1;
    return order_before(a->gang, b->gang) ? -1 : order_before(b->gang, a->gang);
}

static uint32_t nominate_claims(struct cycle *c, struct nominee *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->s->queues_n; i++) {
        const struct queue *q = c->s->queues[i];
        if (order_first(q) || !claim_stands(q))
            continue;
        struct nominee *one = &all[n++];
        *one = (struct nominee){.gang = q->blocked, .claims = q};
        one->charges_n = claim_find(c->s, q, c->a, &one->charges, &one->borrow_level);
    }
    return n;
}

/* The head was refused just now: its claim stands against those who come after it in this round, too. */
static void claim_if_blocked(struct cycle *c, struct nominee *one)
{
    const struct queue *q = one->gang->home;
    if (!q || q->blocked != one->gang || !claim_stands(q))
        return;
    one->claims = q;
    one->charges_n = claim_find(c->s, q, c->a, &one->charges, &one->borrow_level);
    claim_charge(c->s, q, one->charges, one->charges_n, 1);
}

/* The head of every queue, tried in order. False: there was none. */
static bool round_of_heads(struct cycle *c)
{
    struct state *s = c->s;
    struct gang *single = NULL;
    uint32_t n = 0, claims_n = 0;
    for (uint32_t i = 0; i < s->queues_n; i++) {
        struct gang *g = order_first(s->queues[i]);
        n += g != NULL;
        single = g ? g : single;
        claims_n += !g && claim_stands(s->queues[i]);
    }
    if (n == 1 && !claims_n) {
        c->gangs_left--;
        try_gang(c, single);
    }
    if (!n || (n == 1 && !claims_n))
        return n == 1;
    struct nominee *all = arena_zero(c->a, n + claims_n, sizeof *all);
    n = nominate_claims(c, all);
    for (uint32_t i = 0; i < s->queues_n; i++) {
        struct gang *g = order_first(s->queues[i]);
        if (g)
            all[n++] = (struct nominee){.gang = g, .borrow_level = borrow_level(c, g)};
    }
    qsort(all, n, sizeof *all, compare_nominees);
    uint32_t at = 0;
    for (; at < n && c->gangs_left && c->pods_left; at++) {
        if (all[at].claims) {
            claim_charge(s, all[at].claims, all[at].charges, all[at].charges_n, 1);
            continue;
        }
        c->gangs_left--;
        try_gang(c, all[at].gang);
        claim_if_blocked(c, &all[at]);
    }
    while (at-- > 0)
        if (all[at].claims)
            claim_charge(s, all[at].claims, all[at].charges, all[at].charges_n, -1);
    return true;
}

static void explain_behind(struct cycle *c)
{
    for (uint32_t i = 0; i < c->s->queues_n; i++) {
        struct queue *q = c->s->queues[i];
        if (!q->unexplained || !q->blocked)
            continue;
        q->unexplained = false;
        for (size_t k = 0; k < q->heap.n; k++) {
            struct gang *g = q->heap.items[k];
            struct reason behind = {.code = REASON_BEHIND, .queue = q->name, .name = q->blocked->key};
            if (!g->reason)
                cycle_explain(c, g, reason_new(c->a, behind));
        }
    }
}

static int64_t next_wake(const struct state *s)
{
    const struct gang *g = heap_first(&s->timers);
    return g ? g->retry_ms : 0;
}

bool decide_has_work(const struct state *s)
{
    if (s->work_n || order_has_changes(s))
        return true;
    for (uint32_t i = 0; i < s->queues_n; i++)
        if (order_first(s->queues[i]))
            return true;
    return false;
}

void decide(struct state *s, const struct decide_config *config, int64_t now_ms, struct arena *a, struct plan *ret_plan)
{
    *ret_plan = (struct plan){0};
    struct cycle c = {.s = s, .a = a, .plan = ret_plan, .now_ms = now_ms};
    c.gangs_left = config && config->gangs_max ? config->gangs_max : GANGS_MAX_DEFAULT;
    c.pods_left = config && config->pods_max ? config->pods_max : PODS_MAX_DEFAULT;
    s->now_ms = now_ms;
    if (s->spread != (config && config->spread)) {
        s->spread = config && config->spread;
        view_table_forget(s);
    }
    quota_settle(&s->quota);
    order_wake_changed(s, now_ms);
    settle_all(&c);
    while (c.gangs_left && c.pods_left && round_of_heads(&c))
        ;
    settle_all(&c);
    explain_behind(&c);
    ret_plan->wake_ms = next_wake(s);
}
