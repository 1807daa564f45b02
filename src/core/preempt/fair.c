#include "core/preempt/fair.h"
#include <string.h>
#include "core/preempt/promise.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/share.h"

/* A queue with candidates, a cohort above one, or one above the preemptor's queue. */
struct side {
    uint32_t node;             /* of the tree of quotas */
    struct side *first_child, *next_child;
    const struct candidate **all, **later; /* later: refused by the first strategy */
    uint32_t n, at, later_n;
    bool is_over;              /* nobody below it goes any more */
    bool is_above_own;         /* a cohort above the preemptor's queue */
    bool is_known;             /* share: as it is while nobody else goes */
    struct share share;
};
struct fair_order {
    const struct preemptor *x;
    struct side *sides;        /* those of quota_node.side, which is the index + 1 */
    uint32_t sides_n;
    const struct candidate **leaving; /* told already: gone, whatever shares say now */
    uint32_t leaving_n, leaving_at;
    bool within, within_all;   /* the preemptor's queue, in what is short; in all that it needs */
    bool second;               /* the second strategy has its turn */
    const struct gang **gone;
    uint32_t gone_n;
    struct fair_refusal refused;
};

/* ---- usage ---- */

static void put_needs(const struct fair_order *f, int sign)
{
    const struct preemptor *x = f->x;
    for (uint32_t i = 0; i < x->needs_n; i++)
        quota_add(&x->c->s->quota, x->queue->quota, x->needs[i].flavor, x->needs[i].resource, sign * x->needs[i].amount);
}

static void put_gang(const struct fair_order *f, const struct gang *g, int sign)
{
    for (uint32_t i = 0; i < g->charges_n; i++)
        quota_add(&f->x->c->s->quota, g->queue->quota, g->charges[i].flavor, g->charges[i].resource, sign * g->charges[i].amount);
}

static void note_within(struct fair_order *f)
{
    const struct preemptor *x = f->x;
    f->within = f->within_all = true;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        bool borrows = share_borrows(&x->c->s->quota, x->queue->quota, x->needs[i].flavor, x->needs[i].resource);
        f->within &= !borrows || !x->is_short[i];
        f->within_all &= !borrows;
    }
}

/* ---- whose turn: the highest share ---- */

static struct quota *tree(const struct fair_order *f)
{
    return &f->x->c->s->quota;
}

static struct side *side_of(const struct fair_order *f, uint32_t node)
{
    return &f->sides[tree(f)->nodes[node].side - 1];
}

static const struct share *share_now(struct fair_order *f, struct side *one)
{
    if (!one->is_known)
        one->share = share_of(tree(f), one->node);
    one->is_known = true;
    return &one->share;
}

static void note_gone(struct fair_order *f, const struct gang *g)
{
    f->gone[f->gone_n++] = g;
    for (uint32_t at = g->queue ? g->queue->quota : 0; at; at = tree(f)->nodes[at].parent)
        if (tree(f)->nodes[at].side)
            side_of(f, at)->is_known = false;
}

static bool is_queue(const struct fair_order *f, const struct side *one)
{
    return tree(f)->nodes[one->node].is_queue;
}

static bool passed_over(struct fair_order *f, struct side *one)
{
    if (is_queue(f, one))
        return one->at == one->n || (one->node != f->x->queue->quota && !share_now(f, one)->borrows);
    return !one->is_above_own && !share_now(f, one)->borrows;
}

/* ORDER  cohorts before queues; queues by their next candidates; cohorts by name, where Kueue takes any. */
static bool goes_first(struct fair_order *f, struct side *a, struct side *b)
{
    const struct quota *t = tree(f);
    int r = share_compare(share_now(f, a), share_now(f, b));
    if (r)
        return r > 0;
    if (is_queue(f, a) != is_queue(f, b))
        return !is_queue(f, a);
    if (is_queue(f, a))
        return a->all[a->at] < b->all[b->at];
    return strcmp(intern_name(f->x->c->s->names, t->nodes[a->node].name), intern_name(f->x->c->s->names, t->nodes[b->node].name)) < 0;
}

/* NULL: all below the cohort are over. */
static struct side *highest_child(struct fair_order *f, struct side *cohort)
{
    struct side *best = NULL;
    for (struct side *child = cohort->first_child; child; child = child->next_child) {
        if (child->is_over)
            continue;
        child->is_over = passed_over(f, child);
        if (!child->is_over && (!best || goes_first(f, child, best)))
            best = child;
    }
    cohort->is_over = !best;
    return best;
}

/* The queue whose turn it is; NULL: all are over. */
static struct side *highest_queue(struct fair_order *f)
{
    struct side *root = side_of(f, tree(f)->nodes[f->x->queue->quota].root);
    while (!root->is_over) {
        struct side *at = root;
        while (at && !is_queue(f, at))
            at = highest_child(f, at);
        if (at && at->at < at->n)
            return at;
        if (at)
            at->is_over = true; /* the root itself: a queue without a cohort */
    }
    return NULL;
}

/* ---- who may go ---- */

/* The children of the lowest cohort that holds both: what their shares are is compared. */
static void sides_of(const struct quota *t, uint32_t *a, uint32_t *b)
{
    while (t->nodes[*a].parent != t->nodes[*b].parent) {
        uint32_t a_depth = t->nodes[*a].depth, b_depth = t->nodes[*b].depth;
        if (a_depth >= b_depth)
            *a = t->nodes[*a].parent;
        if (b_depth >= a_depth)
            *b = t->nodes[*b].parent;
    }
}

struct shares {
    uint32_t own, other;       /* nodes */
    struct share own_before, own_after, other_before, other_after; /* without and with the gang; with and without the candidate */
};

static void find_shares(struct fair_order *f, const struct gang *victim, struct shares *ret)
{
    struct quota *t = tree(f);
    *ret = (struct shares){.own = f->x->queue->quota, .other = victim->queue->quota};
    sides_of(t, &ret->own, &ret->other);
    ret->own_after = *share_now(f, side_of(f, ret->own));
    ret->other_before = *share_now(f, side_of(f, ret->other));
    put_gang(f, victim, -1);
    ret->other_after = share_of(t, ret->other);
    put_gang(f, victim, 1);
    put_needs(f, -1);
    ret->own_before = share_of(t, ret->own);
    put_needs(f, 1);
}

/* Were they to change places, would the victim's claim be as good? Then higher priority decides. */
static bool is_a_draw(const struct fair_order *f, const struct gang *victim, const struct shares *a)
{
    return share_compare(&a->own_before, &a->other_before) >= 0 && victim->priority >= f->x->gang->priority;
}

static bool initial_share_allows(const struct shares *a)
{
    return share_compare(&a->own_after, &a->other_before) < 0;
}

static enum fair_strategy strategy(const struct fair_order *f)
{
    const struct fair_policy *fair = &f->x->c->s->fair;
    return fair->strategies_n ? fair->strategies[0] : FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
}

static bool shares_allow(const struct fair_order *f, const struct gang *victim, const struct shares *a)
{
    if (f->second || strategy(f) == FAIR_LESS_THAN_INITIAL_SHARE)
        return initial_share_allows(a);
    return share_compare(&a->own_after, &a->other_after) <= 0 && !is_a_draw(f, victim, a);
}

/* WHY  who is within its own only in what is short may borrow the rest: with a higher share than the victim it would be the next victim. */
static bool may_take_back(const struct fair_order *f, const struct shares *a)
{
    return f->within_all || (share_compare(&a->own_after, &a->other_before) <= 0 && share_compare(&a->own_before, &a->other_before) < 0);
}

static void note_refused(struct fair_order *f, const struct shares *a)
{
    const struct quota_node *other = &tree(f)->nodes[a->other];
    if (f->refused.why == FAIR_ALLOWS)
        f->refused = (struct fair_refusal){FAIR_SHARES_REFUSE, other->name, other->is_queue, share_weighted(&a->own_after),
                                           share_weighted(&a->other_before)};
}

/* ---- would it be taken back? ---- */

static int64_t asked_of(const struct state *s, const struct gang *g, name_id resource)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        for (uint32_t k = 0; k < c->demands_n; k++)
            if (c->demands[k].resource == resource)
                sum += c->demands[k].value * set_needs(&g->sets[i]);
    }
    return sum;
}

static int64_t had_of(const struct gang *g, name_id flavor, name_id resource)
{
    for (uint32_t i = 0; i < g->charges_n; i++)
        if (g->charges[i].flavor == flavor && g->charges[i].resource == resource)
            return g->charges[i].amount;
    return 0;
}

/* What a queue has left of its own, of something that the preemptor needs; 0: nothing. */
static int64_t own_left(const struct fair_order *f, const struct queue *q, const struct charge *need)
{
    const struct quota_cell *cell = quota_find(tree(f), q->quota, need->flavor, need->resource);
    return cell && cell->usage < cell->subtree ? cell->subtree - cell->usage : 0;
}

/* Could this one, waiting or gone for the preemptor, have something of that within its queue's own quota? */
static bool takes_back(const struct fair_order *f, const struct queue *q, const struct gang *g, bool waits)
{
    const struct preemptor *x = f->x;
    if (q->reclaim == PREEMPT_LOWER_PRIORITY && g->priority <= x->gang->priority)
        return false;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        const struct charge *need = &x->needs[i];
        int64_t asked = waits ? asked_of(x->c->s, g, need->resource) : had_of(g, need->flavor, need->resource);
        if (x->is_short[i] && asked > 0 && asked <= own_left(f, q, need))
            return true;
    }
    return false;
}

/* With the victim gone: those of its queue that wait for something, and those that have gone for the preemptor. */
static bool somebody_takes_back(const struct fair_order *f, struct queue *q)
{
    const struct state *s = f->x->c->s;
    bool any = false;
    for (uint32_t i = 0; i < f->x->needs_n && !any; i++)
        any = f->x->is_short[i] && own_left(f, q, &f->x->needs[i]) > 0;
    if (!any || q->reclaim == PREEMPT_NEVER)
        return false;
    any = false;
    for (uint32_t i = 0; i < f->gone_n && !any; i++)
        any = f->gone[i]->queue == q && takes_back(f, q, f->gone[i], false);
    for (size_t i = 0; i < q->ready.n && !any; i++)
        any = takes_back(f, q, line_first(q->ready.items[i]), true);
    for (uint32_t i = 0; i < s->parked_n && !any; i++)
        any = s->parked[i]->line && s->parked[i]->line->queue == q && takes_back(f, q, line_first(s->parked[i]->line), true);
    return any;
}

/* WHY  of three gangs one could go for the next for ever: who borrows takes the place of a large one by its share, smaller ones of that
 * queue take it back as what is their own, and the large one goes before them by its priority. */
static bool is_in_vain(struct fair_order *f, const struct gang *victim)
{
    put_gang(f, victim, -1);
    f->gone[f->gone_n++] = victim;
    bool vain = somebody_takes_back(f, victim->queue);
    f->gone_n--;
    put_gang(f, victim, 1);
    if (vain && f->refused.why == FAIR_ALLOWS)
        f->refused.why = FAIR_TAKEN_BACK;
    return vain;
}

/* Does the next candidate of this queue go? */
static bool goes(struct fair_order *f, struct side *from, const struct candidate *one, struct candidate *ret_one)
{
    struct shares a;
    *ret_one = *one;
    if (from->node == f->x->queue->quota)
        return true;
    if (!candidate_may_go(f->x, one->gang))
        return false;
    find_shares(f, one->gang, &a);
    ret_one->class = f->within ? CLASS_HIERARCHY : CLASS_FAIR;
    if (f->within ? may_take_back(f, &a) : shares_allow(f, one->gang, &a))
        return f->within || !is_in_vain(f, one->gang);
    if (!f->within && !f->second)
        from->later[from->later_n++] = one;
    note_refused(f, &a);
    return false;
}

/* ---- the order ---- */

/* SOURCE Kueue: the second strategy takes one of a queue at most. */
static bool next_of_strategy(struct fair_order *f, struct candidate *ret_one)
{
    for (struct side *one; (one = highest_queue(f));) {
        if (f->second)
            one->is_over = true;
        if (goes(f, one, one->all[one->at++], ret_one))
            return true;
    }
    return false;
}

static bool begin_second(struct fair_order *f)
{
    const struct fair_policy *fair = &f->x->c->s->fair;
    if (f->second || fair->strategies_n == 1 || strategy(f) == FAIR_LESS_THAN_INITIAL_SHARE)
        return false;
    f->second = true;
    for (uint32_t i = 0; i < f->sides_n; i++) {
        struct side *one = &f->sides[i];
        one->all = one->later;
        one->n = one->later_n;
        one->at = 0;
        one->is_over = false;
    }
    return true;
}

bool fair_next(struct fair_order *f, struct candidate *ret_one)
{
    if (f->leaving_at < f->leaving_n) {
        *ret_one = *f->leaving[f->leaving_at++];
        note_gone(f, ret_one->gang);
        return true;
    }
    put_needs(f, 1);
    bool found = next_of_strategy(f, ret_one) || (begin_second(f) && next_of_strategy(f, ret_one));
    put_needs(f, -1);
    if (found)
        note_gone(f, ret_one->gang);
    return found;
}

/* The node and all above it get a side, by number first: how many there are is known at the end. */
static void mark_up(struct fair_order *f, uint32_t node)
{
    struct quota *t = tree(f);
    for (; node && !t->nodes[node].side; node = t->nodes[node].parent)
        t->nodes[node].side = ++f->sides_n;
}

static void make_sides(struct fair_order *f, const struct candidates *from)
{
    mark_up(f, f->x->queue->quota);
    for (uint32_t i = 0; i < from->n; i++)
        mark_up(f, from->all[i].gang->queue ? from->all[i].gang->queue->quota : 0);
    f->sides = arena_zero(f->x->c->a, f->sides_n, sizeof *f->sides);
}

/* Children stand in no order: who is first is decided anew each time. */
static void link_up(struct fair_order *f, uint32_t node)
{
    const struct quota *t = tree(f);
    for (; node && !side_of(f, node)->node; node = t->nodes[node].parent) {
        struct side *one = side_of(f, node), *parent = t->nodes[node].parent ? side_of(f, t->nodes[node].parent) : NULL;
        one->node = node;
        if (!parent)
            continue;
        one->next_child = parent->first_child;
        parent->first_child = one;
    }
}

static void take_in(struct fair_order *f, const struct candidates *from)
{
    struct arena *a = f->x->c->a;
    link_up(f, f->x->queue->quota);
    for (uint32_t i = 0; i < from->n; i++) {
        const struct candidate *one = &from->all[i];
        link_up(f, one->gang->queue ? one->gang->queue->quota : 0);
        if (candidate_leaves(f->x, one)) {
            f->leaving[f->leaving_n++] = one;
            continue;
        }
        side_of(f, one->gang->queue->quota)->n++;
    }
    for (uint32_t i = 0; i < from->n; i++) {
        const struct candidate *one = &from->all[i];
        if (candidate_leaves(f->x, one))
            continue;
        struct side *side = side_of(f, one->gang->queue->quota);
        if (!side->all) {
            side->all = arena_alloc(a, side->n * sizeof *side->all);
            side->later = arena_alloc(a, side->n * sizeof *side->later);
            side->n = 0;
        }
        side->all[side->n++] = one;
    }
}

struct fair_order *fair_begin(const struct preemptor *x, const struct candidates *from)
{
    struct fair_order *f = arena_zero(x->c->a, 1, sizeof *f);
    f->x = x;
    f->leaving = arena_alloc(x->c->a, (from->n + 1) * sizeof *f->leaving);
    f->gone = arena_alloc(x->c->a, (from->n + 1) * sizeof *f->gone);
    make_sides(f, from);
    take_in(f, from);
    for (uint32_t at = tree(f)->nodes[x->queue->quota].parent; at; at = tree(f)->nodes[at].parent)
        side_of(f, at)->is_above_own = true;
    put_needs(f, 1);
    note_within(f);
    put_needs(f, -1);
    return f;
}

void fair_end(struct fair_order *f)
{
    for (uint32_t i = 0; f && i < f->sides_n; i++)
        tree(f)->nodes[f->sides[i].node].side = 0;
}

const struct fair_refusal *fair_refused(const struct fair_order *f)
{
    return &f->refused;
}
