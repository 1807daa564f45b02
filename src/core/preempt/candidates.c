#include "core/preempt/candidates.h"
#include "core/preempt/promise.h"
#include "core/preempt/tenure.h"
#include <stdlib.h>
#include "core/queue/consumption.h"
#include "core/queue/gang.h"
#include "core/queue/lane.h"
#include "core/quota/deserve.h"
#include "core/quota/ledger.h"
#include "core/quota/share.h"
#include "core/time/booking.h"

/* ---- policies ---- */

static bool policy_allows(enum preemption_policy policy, const struct gang *preemptor, const struct gang *victim)
{
    switch (policy) {
    case PREEMPT_ANY:
        return true;
    case PREEMPT_LOWER_PRIORITY:
        return victim->priority < preemptor->priority;
    case PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY:
        return victim->priority < preemptor->priority || (victim->priority == preemptor->priority && gang_is_in_front(preemptor, victim));
    case PREEMPT_NEVER:
        break;
    }
    return false;
}

static bool is_lower_than_threshold(const struct queue *q, const struct gang *preemptor, const struct gang *victim)
{
    return q->borrow != PREEMPT_NEVER && victim->priority < preemptor->priority &&
           (!q->has_threshold || victim->priority <= q->threshold);
}

/* ---- the tree ---- */

static bool is_above(const struct preemptor *x, uint32_t node)
{
    for (uint32_t i = 0; i < x->needs_n; i++)
        if (x->is_short[i] && share_borrows(&x->c->s->quota, node, x->needs[i].flavor, x->needs[i].resource))
            return true;
    return false;
}

/* Would the node hold `left` of each need within its own quota? What it keeps for itself alone is taken off `left`. */
static bool holds_within(const struct preemptor *x, uint32_t node, int64_t *left)
{
    bool holds = true;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        const struct quota_cell *cell = quota_find(&x->c->s->quota, node, x->needs[i].flavor, x->needs[i].resource);
        int64_t subtree = cell ? cell->subtree : 0, usage = cell ? cell->usage : 0, kept = cell ? cell->kept : 0, after;
        holds &= !__builtin_add_overflow(usage, left[i], &after) && after <= subtree;
        int64_t local = kept > usage ? kept - usage : 0;
        left[i] = left[i] > local ? left[i] - local : 0;
    }
    return holds;
}

/* ---- order ---- */

static bool leaves(const struct gang *g)
{
    return g->phase == GANG_LEAVING || !gang_holds(g);
}

/* Stakes: of both, where they count. */
static int compare_gangs(const struct gang *a, const struct stake *a_stake, const struct gang *b, const struct stake *b_stake)
{
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    int by_stake = a_stake && b_stake ? stake_compare(a_stake, b_stake) : 0;
    if (by_stake)
        return by_stake;
    int64_t a_ms = stakes_let_in_ms(a), b_ms = stakes_let_in_ms(b);
    if (a_ms != b_ms)
        return a_ms > b_ms ? -1 : 1;
    int r = strcmp(intern_name(a->names, a->uid), intern_name(b->names, b->uid));
    return r ? r : strcmp(intern_name(a->names, a->key), intern_name(b->names, b->key));
}

static const struct candidate_order in_no_other_order;
static const struct candidate_order *order_of(const struct candidate *c)
{
    return c->order ? c->order : &in_no_other_order;
}

static int compare(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    const struct candidate_order *x = order_of(a), *y = order_of(b);
    bool a_leaves = leaves(a->gang), b_leaves = leaves(b->gang);
    if (a_leaves != b_leaves)
        return a_leaves ? -1 : 1;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    int r = compare_gangs(x->behind ? x->behind : a->gang, x->stake, y->behind ? y->behind : b->gang, y->stake);
    return r ? r : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int compare_used(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    bool a_leaves = leaves(a->gang), b_leaves = leaves(b->gang);
    if (a_leaves != b_leaves)
        return a_leaves ? -1 : 1;
    int r = a->order->used == b->order->used ? 0 : used_compare(b->order->used, a->order->used);
    return r ? r : compare_gangs(a->gang, a->order->stake, b->gang, b->order->stake);
}

static void give_orders(const struct preemptor *x, const struct queue *q, struct candidate *all, uint32_t n)
{
    struct candidate_order *orders = arena_zero(x->c->a, n, sizeof *orders);
    for (uint32_t i = 0; i < n; i++) {
        all[i].order = &orders[i];
        orders[i].used = consumption_used(x->c->s, q, all[i].gang);
    }
}

/* Those of one queue. WHY in its plain order: it does not depend on itself. Who leaves already is counted off by budgets, and else as
 * before. */
static void weigh(const struct preemptor *x, struct candidate *all, uint32_t n)
{
    struct gang **gangs = arena_alloc(x->c->a, (n + 1) * sizeof(struct gang *));
    struct stake *stakes = arena_alloc(x->c->a, (n + 1) * sizeof *stakes);
    if (n > 1)
        qsort(all, n, sizeof *all, compare_used);
    for (uint32_t i = 0; i < n; i++)
        gangs[i] = all[i].gang;
    stakes_weigh(x->c->s, x->c->a, gangs, n, stakes);
    for (uint32_t i = 0; i < n; i++)
        all[i].order->stake = leaves(all[i].gang) ? NULL : &stakes[i];
}

/* Of one queue that goes by what its LocalQueues have used.
 * WHY behind: what they have used says nothing about candidates of other queues, and three of them could go round in a circle. It is as if
 * the queues, each in its own order, were merged by who stands first in each. SOURCE Kueue, where the sort decides who of a circle goes. */
static void stand_behind(struct candidate *all, uint32_t n)
{
    const struct gang *last = NULL;
    const struct stake *of_last = NULL;
    if (n > 1)
        qsort(all, n, sizeof *all, compare_used);
    for (uint32_t i = 0; i < n; i++) {
        struct candidate_order *order = all[i].order;
        if (leaves(all[i].gang))
            continue;
        if (!last || compare_gangs(all[i].gang, order->stake, last, of_last) >= 0) {
            last = all[i].gang;
            of_last = order->stake;
        }
        order->behind = last;
        order->stake = of_last;
        order->rank = i;
    }
}

/* Those of one queue. */
static void set_in_order(const struct preemptor *x, const struct queue *q, struct candidate *all, uint32_t n)
{
    bool by_used = n && consumption_used(x->c->s, q, all[0].gang);
    if (by_used || (n && x->spares))
        give_orders(x, q, all, n);
    if (n && x->spares)
        weigh(x, all, n);
    if (by_used)
        stand_behind(all, n);
}

/* ---- gathering ---- */

struct gathering {
    const struct preemptor *x;
    struct candidates *found;
    uint32_t cap, shared;
    bool advantage;
};

static bool is_needed(const struct preemptor *x, const struct charge *c)
{
    for (uint32_t k = 0; k < x->needs_n; k++)
        if (x->is_short[k] && x->needs[k].flavor == c->flavor && x->needs[k].resource == c->resource)
            return true;
    return false;
}

/* WHY  who has no queue is charged nothing, and whoever stands somewhere has some of what nodes have too little of. */
static bool uses_what_is_short(const struct preemptor *x, const struct gang *g)
{
    if (queue_is_none(x->queue))
        return true;
    for (uint32_t i = 0; i < g->own->charges_n; i++)
        if (g->own->charges[i].amount > 0 && is_needed(x, &g->own->charges[i]))
            return true;
    return false;
}

/* Has the gang's queue more than its own of something that the gang uses? `needed`: and that the preemptor needs. */
static bool uses_what_is_borrowed(const struct preemptor *x, const struct gang *g, bool needed)
{
    for (uint32_t i = 0; i < g->own->charges_n; i++) {
        const struct charge *c = &g->own->charges[i];
        if (c->amount > 0 && (!needed || is_needed(x, c)) && share_borrows(&x->c->s->quota, g->queue->quota, c->flavor, c->resource))
            return true;
    }
    return false;
}

/* WHY  where nodes are short everything counts as short, and a queue may be above its own in what the gang does not use: one of higher
 * priority that borrows would take its node, it would take it back as what is its own, and so on for ever. By shares that could happen
 * whatever is short: a queue's share is of all that it borrows. And in queues with shares nobody loses what his queue has no more of than
 * it deserves because it has more of something else. */
bool candidate_may_go(const struct preemptor *x, const struct gang *g)
{
    const struct state *s = x->c->s;
    bool needed = x->for_nodes || g->queue->has_shares;
    return (!needed || uses_what_is_borrowed(x, g, true)) && (!shares_fairly(s, g->queue) || uses_what_is_borrowed(x, g, false)) &&
           (!g->queue->has_shares || x->members || deserve_spares(s, g));
}

static void reserve(struct gathering *to, uint32_t more)
{
    struct candidates *f = to->found;
    f->all = arena_grow(to->x->c->a, f->all, f->n, more, &to->cap, sizeof *f->all);
}

static void add(struct gathering *to, struct candidate one)
{
    reserve(to, 1);
    to->found->all[to->found->n++] = one;
}

/* Is there nobody of so low a priority? */
static bool is_too_low(struct queue *q, enum preemption_policy policy, const struct gang *g)
{
    int32_t lowest = policy == PREEMPT_ANY ? INT32_MIN : ledger_lowest(q);
    return lowest > g->priority || (policy == PREEMPT_LOWER_PRIORITY && lowest == g->priority);
}

/* May it end for others at all? Of a queue with shares whole groups may; one that only waits for the rest of its members holds nothing that
 * it could be told to give back. */
static bool may_end(const struct gang *g)
{
    bool as_group = !g->queue || g->queue->has_shares;
    return !g->ended && (g->planned || (as_group && gang_holds(g) && !g->keeps_places));
}

/* SOURCE Volcano, action preempt, and kube-scheduler: nobody goes for a pod with preemptionPolicy Never. */
static enum preemption_policy policy_within(const struct queue *q, const struct gang *g)
{
    enum preemption_policy within = queue_is_none(q) ? PREEMPT_LOWER_PRIORITY : q->within;
    return (q->has_shares || queue_is_none(q)) && g->preempts_nobody ? PREEMPT_NEVER : within;
}

bool candidate_is_own(const struct preemptor *x, const struct gang *g)
{
    return g->queue ? g->queue == x->queue : queue_is_none(x->queue);
}

/* A lone pod that is held for a queue. */
static bool is_gated(const struct state *s, const struct gang *g)
{
    return gang_is_lone(g) && s->pods[g->members[0]].gated;
}

/* WHY  a full cluster has tens of thousands of gangs, each of three blocks anywhere in memory: each is fetched while those before are
 * looked at. */
__attribute__((always_inline)) static inline void fetch_ahead(const struct queue *q, uint32_t i)
{
    enum { GANG = 24, OBJECT = 16, CHARGES = 8 };
    if (i + GANG < q->charged_n) {
        __builtin_prefetch(&q->charged[i + GANG]->own);
        __builtin_prefetch(&q->charged[i + GANG]->reserved_ms);
    }
    if (i + OBJECT < q->charged_n)
        __builtin_prefetch(&q->charged[i + OBJECT]->own->charges);
    if (i + CHARGES < q->charged_n)
        __builtin_prefetch(q->charged[i + CHARGES]->own->charges);
}

/* It runs too short as yet. */
static bool stays_for_now(const struct gathering *to, const struct gang *g, uint32_t shared)
{
    struct cycle *c = to->x->c;
    int64_t until = to->x->members || leaves(g) ? 0 : tenure_stays_until_ms(c->s, g, shared);
    if (until && (!c->stays_until_ms || until < c->stays_until_ms))
        c->stays_until_ms = until;
    return until != 0;
}

static void gather_queue(struct gathering *to, struct queue *q)
{
    const struct preemptor *x = to->x;
    bool own = q == x->queue;
    enum preemption_policy policy = own ? policy_within(q, x->gang) : x->queue->reclaim;
    bool stays = policy == PREEMPT_NEVER || (!own && q->has_shares && q->shares.keeps) || is_too_low(q, policy, x->gang);
    uint32_t n = stays ? 0 : q->charged_n, first = to->found->n;
    reserve(to, n);
    for (uint32_t i = 0; i < n; i++) {
        struct gang *g = q->charged[i];
        fetch_ahead(q, i);
        if (!may_end(g) || g == x->gang || !policy_allows(policy, x->gang, g) || !uses_what_is_short(x, g) ||
            promise_is_others(g, x->gang) || booking_awaits(x->c->s, g) || is_gated(x->c->s, g) || (!own && !candidate_may_go(x, g)) ||
            stays_for_now(to, g, own ? 0 : to->shared))
            continue;
        struct candidate one = {.gang = g, .class = own ? CLASS_OWN : to->advantage ? CLASS_HIERARCHY : CLASS_PRIORITY,
                                .shared = own ? 0 : to->shared};
        one.while_borrowing = own || to->advantage || is_lower_than_threshold(x->queue, x->gang, g);
        to->found->all[to->found->n++] = one;
    }
    set_in_order(x, q, &to->found->all[first], to->found->n - first);
}

/* Queues below `node` but for those below `skip`, where they and the cohorts between use more than their own. */
static void gather_below(struct gathering *to, uint32_t node, uint32_t skip)
{
    struct state *s = to->x->c->s;
    for (uint32_t child = s->quota.nodes[node].first_child; child; child = s->quota.nodes[child].next_child) {
        if (child == skip || child == to->x->queue->quota || !is_above(to->x, child))
            continue;
        if (!s->quota.nodes[child].is_queue) {
            gather_below(to, child, 0);
            continue;
        }
        struct queue *q = queue_find(s, s->quota.nodes[child].name);
        if (q)
            gather_queue(to, q);
    }
}

static void gather_others(struct gathering *to)
{
    const struct preemptor *x = to->x;
    struct state *s = x->c->s;
    if (x->queue->reclaim == PREEMPT_NEVER)
        return;
    int64_t *left = arena_alloc(x->c->a, (x->needs_n + 1) * sizeof *left);
    for (uint32_t i = 0; i < x->needs_n; i++)
        left[i] = x->needs[i].amount;
    to->advantage = holds_within(x, x->queue->quota, left);
    for (uint32_t at = s->quota.nodes[x->queue->quota].parent, below = x->queue->quota; at; at = s->quota.nodes[at].parent) {
        to->shared = at;
        gather_below(to, at, below);
        to->advantage |= holds_within(x, at, left);
        below = at;
    }
}

/* It was told to leave for this gang: it goes, and then its pods go, whatever the policies say by now. */
static bool leaves_for(const struct state *s, const struct gang *victim, const struct gang *g)
{
    return victim->preemptor == g && (victim->phase == GANG_LEAVING || gang_leaves_places(s, victim));
}

bool candidates_ask_for_more(const struct preemptor *x)
{
    const struct promise *p = x->gang->promise;
    bool more = false;
    for (uint32_t i = 0; p && i < x->needs_n && !more; i++) {
        uint32_t k = 0;
        while (k < p->charges_n && (p->charges[k].flavor != x->needs[i].flavor || p->charges[k].resource != x->needs[i].resource))
            k++;
        more = x->needs[i].amount > (k < p->charges_n ? p->charges[k].amount : 0);
    }
    return more;
}

/* WHY not for more than it was told for: that may be refused it. With flavors in which it borrows more it would be preempted for that by
 * whom it went before, and look for the others again, for ever. */
static bool leaves_for_this(const struct preemptor *x, const struct gang *victim)
{
    return leaves_for(x->c->s, victim, x->gang) && !(uses_what_is_short(x, victim) && candidates_ask_for_more(x));
}

static bool is_found(const struct candidates *f, const struct gang *g)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (f->all[i].gang == g)
            return true;
    return false;
}

/* WHY  its queue may be within its own quota since somebody else has left, while nodes still wait for this one: if it did not count any
 * more, what is promised would be everybody's, and who takes it would be preempted next, for ever. */
static void gather_leaving(struct gathering *to)
{
    const struct preemptor *x = to->x;
    const struct promise *p = x->gang->promise;
    for (uint32_t i = 0; p && i < p->victims_n; i++) {
        struct gang *g = p->victims[i];
        if (leaves_for_this(x, g) && !is_found(to->found, g))
            add(to, (struct candidate){.gang = g, .class = candidate_is_own(x, g) ? CLASS_OWN : CLASS_PRIORITY, .while_borrowing = true});
    }
}

/* ---- the first of many ---- */

static void swap(struct candidate *a, struct candidate *b)
{
    const struct candidate c = *a;
    *a = *b;
    *b = c;
}

/* One of whom a little more than k come first, as far as a sample tells. */
#define SAMPLE 63u
static struct candidate pivot_for(const struct candidate *all, uint32_t n, uint32_t k)
{
    struct candidate sample[SAMPLE];
    uint32_t sample_n = n < SAMPLE ? n : SAMPLE, rank = (uint32_t)((uint64_t)sample_n * k / n) + 2;
    for (uint32_t i = 0; i < sample_n; i++)
        sample[i] = all[(uint64_t)n * i / sample_n];
    qsort(sample, sample_n, sizeof *sample, compare);
    return sample[rank < sample_n ? rank : sample_n - 1];
}

/* The pivot and those before it come to the front. Returns how many. */
static uint32_t part(struct candidate *all, uint32_t n, const struct candidate *pivot)
{
    uint32_t front_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (compare(&all[i], pivot) <= 0)
            swap(&all[i], &all[front_n++]);
    return front_n;
}

/* The first k come to the front, in any order. */
static void select_first(struct candidate *all, uint32_t n, uint32_t k)
{
    while (k > 0 && k < n) {
        const struct candidate pivot = pivot_for(all, n, k);
        uint32_t front_n = n > SAMPLE ? part(all, n, &pivot) : n;
        if (front_n == n) { /* few are left, or the sample says nothing */
            qsort(all, n, sizeof *all, compare);
            return;
        }
        if (front_n >= k) {
            n = front_n;
            continue;
        }
        all += front_n;
        n -= front_n;
        k -= front_n;
    }
}

#define SORTED_FIRST 64u
const struct candidate *candidates_at(struct candidates *c, uint32_t i)
{
    while (c->sorted_n <= i) {
        uint32_t left = c->n - c->sorted_n, more = c->sorted_n > SORTED_FIRST ? c->sorted_n : SORTED_FIRST;
        struct candidate *from = &c->all[c->sorted_n];
        more = more < left ? more : left;
        select_first(from, left, more);
        qsort(from, more, sizeof *from, compare);
        c->sorted_n += more;
    }
    return &c->all[i];
}

static void sort(struct candidates *f)
{
    if (f->n > 1)
        qsort(f->all, f->n, sizeof *f->all, compare);
    f->sorted_n = f->n;
}

bool candidate_before(const struct candidate *a, const struct candidate *b)
{
    return compare(a, b) < 0;
}

void candidates_find(const struct preemptor *x, struct candidates *ret_candidates)
{
    struct gathering to = {.x = x, .found = ret_candidates};
    *ret_candidates = (struct candidates){0};
    gather_queue(&to, x->queue);
    gather_others(&to);
    for (uint32_t i = 0; i < ret_candidates->n; i++) {
        ret_candidates->others |= ret_candidates->all[i].class != CLASS_OWN;
        ret_candidates->hierarchy |= ret_candidates->all[i].class == CLASS_HIERARCHY;
    }
    gather_leaving(&to);
}

/* ---- by shares: all queues of the tree that use more than their own, wherever they are; each for itself, when its turn comes ---- */

static struct queue *queue_by_shares(const struct preemptor *x, uint32_t node)
{
    struct state *s = x->c->s;
    if (node != x->queue->quota && (x->queue->reclaim == PREEMPT_NEVER || !is_above(x, node)))
        return NULL;
    return queue_find(s, s->quota.nodes[node].name);
}

void candidates_of_queue(const struct preemptor *x, uint32_t node, struct candidates *ret_candidates)
{
    struct gathering to = {.x = x, .found = ret_candidates};
    struct queue *q = queue_by_shares(x, node);
    uint32_t n = 0;
    *ret_candidates = (struct candidates){0};
    if (q)
        gather_queue(&to, q);
    for (uint32_t i = 0; i < ret_candidates->n; i++)
        if (!candidate_leaves(x, &ret_candidates->all[i]))
            ret_candidates->all[n++] = ret_candidates->all[i];
    ret_candidates->n = n;
    sort(ret_candidates);
}

void candidates_leaving(const struct preemptor *x, struct candidates *ret_candidates)
{
    struct gathering to = {.x = x, .found = ret_candidates};
    *ret_candidates = (struct candidates){0};
    gather_leaving(&to);
    sort(ret_candidates);
}

bool candidate_leaves(const struct preemptor *x, const struct candidate *one)
{
    return leaves_for_this(x, one->gang);
}

/* WHY  who leaves so that it does not borrow is not one by whom it borrows: else it would find less than it was promised, and might start
 * in another flavor, so that all have left in vain. Without a search that does not borrow, he is. */
static bool may_borrow_by(const struct preemptor *x, const struct candidate *one, bool borrows)
{
    return !borrows || one->while_borrowing || x->gang->promise->borrow_level || x->queue->borrow == PREEMPT_NEVER;
}

bool candidate_is_valid(const struct preemptor *x, const struct candidate *one, bool borrows)
{
    const struct quota *t = &x->c->s->quota;
    if (one->class == CLASS_OWN || (candidate_leaves(x, one) && may_borrow_by(x, one, borrows)))
        return true;
    if ((borrows && !one->while_borrowing) || !one->gang->queue || !candidate_may_go(x, one->gang))
        return false;
    for (uint32_t node = one->gang->queue->quota; node && node != one->shared; node = t->nodes[node].parent)
        if (!is_above(x, node))
            return false;
    return true;
}

/* ---- at all ---- */

static bool any_in(struct queue *q, enum preemption_policy policy, const struct gang *g)
{
    for (uint32_t i = 0, n = is_too_low(q, policy, g) ? 0 : q->charged_n; i < n; i++)
        if (may_end(q->charged[i]) && q->charged[i] != g && policy_allows(policy, g, q->charged[i]))
            return true;
    return false;
}

bool candidates_lower(struct queue *q, const struct gang *g)
{
    return ledger_lowest(q) < g->priority;
}

bool candidates_any(const struct state *s, struct queue *q, const struct gang *g)
{
    for (uint32_t i = 0; g->promise && i < g->promise->victims_n; i++)
        if (leaves_for(s, g->promise->victims[i], g) || g->promise->victims[i]->shrinks)
            return true;
    if (policy_within(q, g) != PREEMPT_NEVER && any_in(q, q->within, g))
        return true;
    for (uint32_t i = 1; i < s->queues_n && q->reclaim != PREEMPT_NEVER && q->cohort; i++)
        if (s->queues[i] != q && s->queues[i]->quota && s->quota.nodes[s->queues[i]->quota].root == s->quota.nodes[q->quota].root &&
            any_in(s->queues[i], q->reclaim, g))
            return true;
    return false;
}
