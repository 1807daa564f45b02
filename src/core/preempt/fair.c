#include "core/preempt/fair.h"
#include <string.h>
#include "core/preempt/back.h"
#include "core/preempt/promise.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/share.h"

/* A queue or cohort that was looked into. */
struct side {
    struct side *next;         /* of all, so that they are taken off the tree */
    uint32_t node;             /* of the tree of quotas */
    struct candidates of;      /* queue: its candidates, once it was looked into */
    uint32_t at, later_n;
    struct candidate *later;   /* refused by the first strategy */
    bool is_known;             /* queue: `of` was found */
    bool is_over;              /* nobody below it goes any more */
    bool is_above_own;         /* a cohort above the preemptor's queue */
};
struct fair_order {
    const struct preemptor *x;
    struct side *sides;
    struct candidates leaving; /* told already: gone, whatever shares say now */
    uint32_t leaving_at;
    struct side *rival;        /* the queue whose turn is next, of those with the share of the one whose turn it is; NULL: none */
    bool within, within_all;   /* the preemptor's queue, in what is short; in all that it needs */
    bool second;               /* the second strategy has its turn */
    bool careful;
    bool any;                  /* there was a candidate */
    const struct gang **gone;
    uint32_t gone_n, gone_cap;
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
    for (uint32_t i = 0; i < g->own->charges_n; i++) {
        const struct charge *c = &g->own->charges[i];
        quota_add(&f->x->c->s->quota, g->queue->quota, c->flavor, c->resource, sign * c->amount);
    }
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

/* ---- sides ---- */

static struct quota *tree(const struct fair_order *f)
{
    return &f->x->c->s->quota;
}

static struct side *side_of(struct fair_order *f, uint32_t node)
{
    struct quota_node *at = &tree(f)->nodes[node];
    if (at->side)
        return at->side;
    at->side = arena_zero(f->x->c->a, 1, sizeof *at->side);
    at->side->node = node;
    at->side->next = f->sides;
    return f->sides = at->side;
}

static bool is_queue(const struct fair_order *f, const struct side *one)
{
    return tree(f)->nodes[one->node].is_queue;
}

/* From the first on: the second strategy is not for those who must not go at all. */
static void keep_who_may(const struct fair_order *f, struct side *one, uint32_t first)
{
    uint32_t n = first;
    for (uint32_t i = first; i < one->of.n; i++)
        if (one->node == f->x->queue->quota || candidate_may_go(f->x, one->of.all[i].gang))
            one->of.all[n++] = one->of.all[i];
    one->of.n = n;
}

/* The queue's candidates are found. False: nobody is left. */
static bool look_into(struct fair_order *f, struct side *one)
{
    if (!one->is_known) {
        one->is_known = true;
        candidates_of_queue(f->x, one->node, &one->of);
        f->any |= one->of.n > 0;
        if (f->second)
            keep_who_may(f, one, 0);
    }
    return one->at < one->of.n;
}

static void note_gone(struct fair_order *f, const struct gang *g)
{
    f->gone = arena_grow(f->x->c->a, f->gone, f->gone_n, 1, &f->gone_cap, sizeof *f->gone);
    f->gone[f->gone_n++] = g;
}

/* ---- whose turn: the highest share ---- */

static bool is_on_own_way(const struct fair_order *f, uint32_t node)
{
    const struct side *one = tree(f)->nodes[node].side;
    return node == f->x->queue->quota || (one && one->is_above_own);
}

/* Whoever borrows nothing by now will not until the end. */
static bool is_passed_over(const struct fair_order *f, uint32_t node)
{
    const struct side *one = tree(f)->nodes[node].side;
    return (one && one->is_over) || (!is_on_own_way(f, node) && !share_of(tree(f), node)->borrows);
}

static bool name_before(const struct fair_order *f, uint32_t a, uint32_t b)
{
    const struct quota *t = tree(f);
    return strcmp(intern_name(f->x->c->s->names, t->nodes[a].name), intern_name(f->x->c->s->names, t->nodes[b].name)) < 0;
}

/* The highest share of those that are not over; of several any. 0: all are over. */
static uint32_t highest_node(const struct fair_order *f, uint32_t cohort, bool *ret_several)
{
    struct quota *t = tree(f);
    uint32_t best = 0;
    *ret_several = false;
    for (uint32_t child = t->nodes[cohort].first_child; child; child = t->nodes[child].next_child) {
        if (is_passed_over(f, child))
            continue;
        int r = best ? share_compare(share_of(t, child), share_of(t, best)) : 1;
        *ret_several = r ? *ret_several && r < 0 : true;
        best = r > 0 ? child : best;
    }
    return best;
}

/* ORDER  of equal shares: cohorts before queues; queues by their next candidates; cohorts by name, where Kueue takes any. */
static bool goes_first(struct fair_order *f, struct side *a, struct side *b)
{
    if (is_queue(f, a) != is_queue(f, b))
        return !is_queue(f, a);
    if (is_queue(f, a))
        return candidate_before(&a->of.all[a->at], &b->of.all[b->at]);
    return name_before(f, a->node, b->node);
}

/* Of those whose share is as high as this one's; f->rival: the queue that is next. NULL: nobody is left in any. */
static struct side *first_of_equals(struct fair_order *f, uint32_t cohort, uint32_t as_high)
{
    struct quota *t = tree(f);
    struct side *best = NULL;
    for (uint32_t child = t->nodes[cohort].first_child; child; child = t->nodes[child].next_child) {
        if (is_passed_over(f, child) || share_compare(share_of(t, child), share_of(t, as_high)))
            continue;
        struct side *one = side_of(f, child);
        one->is_over = is_queue(f, one) && !look_into(f, one);
        if (one->is_over)
            continue;
        bool first = !best || goes_first(f, one, best);
        struct side *other = first ? best : one;
        if (other && is_queue(f, other) && (!f->rival || goes_first(f, other, f->rival)))
            f->rival = other;
        best = first ? one : best;
    }
    return best;
}

/* ---- where all would be refused ---- */

static enum fair_strategy strategy(const struct fair_order *f)
{
    const struct fair_policy *fair = &f->x->c->s->fair;
    return f->second              ? FAIR_LESS_THAN_INITIAL_SHARE
           : fair->strategies_n ? fair->strategies[0]
                                  : FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
}

static uint32_t own_child_of(const struct fair_order *f, uint32_t cohort)
{
    uint32_t at = f->x->queue->quota;
    while (tree(f)->nodes[at].parent != cohort)
        at = tree(f)->nodes[at].parent;
    return at;
}

static void note_refused(struct fair_order *f, uint32_t other, const struct share *own_share, const struct share *other_share)
{
    const struct quota_node *node = &tree(f)->nodes[other];
    if (f->refused.why == FAIR_ALLOWS)
        f->refused = (struct fair_refusal){FAIR_SHARES_REFUSE, node->name, node->is_queue, share_weighted(own_share),
                                           share_weighted(other_share)};
}

static bool anybody_below(struct fair_order *f, uint32_t node)
{
    const struct quota *t = tree(f);
    struct side *one = t->nodes[node].is_queue ? side_of(f, node) : NULL;
    bool any = false;
    for (uint32_t child = t->nodes[node].first_child; child && !any; child = t->nodes[child].next_child)
        any = !is_passed_over(f, child) && anybody_below(f, child);
    for (uint32_t i = one && look_into(f, one) ? one->at : UINT32_MAX; one && i < one->of.n && !any; i++)
        any = candidate_may_go(f->x, one->of.all[i].gang);
    return any;
}

/* Below a cohort above the preemptor's queue: with the gang its side has a higher share than this child, so no strategy lets anybody go
 * there, nor below another child that is left. WHY it needs no look at each: nobody's share changes while all are refused. */
static bool is_refused_whole(struct fair_order *f, uint32_t cohort, uint32_t child)
{
    struct quota *t = tree(f);
    if (f->within_all || is_on_own_way(f, child))
        return false;
    uint32_t own = own_child_of(f, cohort);
    int r = share_compare(share_of(t, own), share_of(t, child));
    return r > 0 || (!r && !f->within && strategy(f) == FAIR_LESS_THAN_INITIAL_SHARE && is_passed_over(f, own));
}

/* Whom it names among several of one share: the first by name of those who hold somebody. */
static void note_refused_whole(struct fair_order *f, uint32_t cohort, uint32_t as_high)
{
    struct quota *t = tree(f);
    uint32_t best = 0;
    for (uint32_t child = t->nodes[cohort].first_child; child; child = t->nodes[child].next_child)
        if (!is_passed_over(f, child) && !share_compare(share_of(t, child), share_of(t, as_high)) &&
            (!best || name_before(f, child, best)) && anybody_below(f, child))
            best = child;
    if (best)
        note_refused(f, best, share_of(t, own_child_of(f, cohort)), share_of(t, best));
}

static void pass_equals_over(struct fair_order *f, uint32_t cohort, uint32_t as_high)
{
    struct quota *t = tree(f);
    const struct share share = *share_of(t, as_high);
    for (uint32_t child = t->nodes[cohort].first_child; child; child = t->nodes[child].next_child)
        if (!is_passed_over(f, child) && !share_compare(share_of(t, child), &share))
            side_of(f, child)->is_over = true;
}

/* NULL: all below the cohort are over. */
static struct side *highest_child(struct fair_order *f, struct side *cohort)
{
    bool several;
    for (uint32_t best; (best = highest_node(f, cohort->node, &several));) {
        if (cohort->is_above_own && is_refused_whole(f, cohort->node, best)) {
            if (f->refused.why == FAIR_ALLOWS)
                note_refused_whole(f, cohort->node, best);
            if (f->refused.why != FAIR_ALLOWS)
                break;
            pass_equals_over(f, cohort->node, best);
            continue;
        }
        f->rival = NULL;
        struct side *one = several ? first_of_equals(f, cohort->node, best) : side_of(f, best);
        if (one && (!is_queue(f, one) || look_into(f, one)))
            return one;
        if (one)
            one->is_over = true;
    }
    cohort->is_over = true;
    return NULL;
}

/* The queue whose turn it is; NULL: all are over. */
static struct side *highest_queue(struct fair_order *f)
{
    struct side *root = side_of(f, tree(f)->nodes[f->x->queue->quota].root);
    while (!root->is_over) {
        struct side *at = root;
        while (at && !is_queue(f, at))
            at = highest_child(f, at);
        if (at && look_into(f, at))
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

/* Of the queue, or of a queue below the cohort; and it does not leave anyway. */
static bool stays_below(const struct quota *t, const struct gang *g, uint32_t node)
{
    uint32_t at = g->queue ? g->queue->quota : 0;
    while (at && at != node)
        at = t->nodes[at].parent;
    return at && g->phase != GANG_LEAVING;
}

static void put_gone_below(struct fair_order *f, uint32_t node, int sign)
{
    for (uint32_t i = 0; i < f->gone_n; i++)
        if (stays_below(tree(f), f->gone[i], node))
            put_gang(f, f->gone[i], sign);
}

/* Careful: as if nobody of the own side had gone. WHY  they are put back where they are not needed, and then it has more. */
static void find_shares(struct fair_order *f, const struct gang *victim, struct shares *ret)
{
    struct quota *t = tree(f);
    *ret = (struct shares){.own = f->x->queue->quota, .other = victim->queue->quota};
    sides_of(t, &ret->own, &ret->other);
    ret->other_before = *share_of(t, ret->other);
    put_gang(f, victim, -1);
    ret->other_after = *share_of(t, ret->other);
    put_gang(f, victim, 1);
    if (f->careful)
        put_gone_below(f, ret->own, 1);
    ret->own_after = *share_of(t, ret->own);
    put_needs(f, -1);
    ret->own_before = *share_of(t, ret->own);
    put_needs(f, 1);
    if (f->careful)
        put_gone_below(f, ret->own, -1);
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

static bool shares_allow(const struct fair_order *f, const struct gang *victim, const struct shares *a)
{
    if (strategy(f) == FAIR_LESS_THAN_INITIAL_SHARE)
        return initial_share_allows(a);
    return share_compare(&a->own_after, &a->other_after) <= 0 && !is_a_draw(f, victim, a);
}

bool fair_still_allows(struct fair_order *f, const struct gang *victim, const struct candidate *back, uint32_t back_n)
{
    const struct fair_policy *fair = &f->x->c->s->fair;
    bool initial_first = fair->strategies_n && fair->strategies[0] == FAIR_LESS_THAN_INITIAL_SHARE, any = false;
    struct shares a;
    put_gang(f, victim, 1);
    put_needs(f, 1);
    find_shares(f, victim, &a);
    put_needs(f, -1);
    put_gang(f, victim, -1);
    for (uint32_t i = 0; i < back_n && !any; i++)
        any = stays_below(tree(f), back[i].gang, a.own);
    bool by_final = !initial_first && share_compare(&a.own_after, &a.other_after) <= 0;
    return f->careful || !any || by_final || ((initial_first || fair->strategies_n != 1) && initial_share_allows(&a));
}

/* WHY  who is within its own only in what is short may borrow the rest: with a higher share than the victim it would be the next victim. */
static bool may_take_back(const struct fair_order *f, const struct shares *a)
{
    return f->within_all || (share_compare(&a->own_after, &a->other_before) <= 0 && share_compare(&a->own_before, &a->other_before) < 0);
}

/* ---- would it be taken back? ---- */

/* With all of those gone who have so far, though some may be put back later. */
static bool is_in_vain(struct fair_order *f, const struct gang *victim)
{
    put_gang(f, victim, -1);
    note_gone(f, victim);
    bool vain = back_taken_by_gone(f->x, victim->queue, f->gone, f->gone_n) || back_taken_by_waiting(f->x, victim->queue);
    f->gone_n--;
    put_gang(f, victim, 1);
    if (vain && f->refused.why == FAIR_ALLOWS)
        f->refused.why = FAIR_TAKEN_BACK;
    return vain;
}

static bool same_charges(const struct gang *a, const struct gang *b)
{
    bool same = a->own->charges_n == b->own->charges_n;
    for (uint32_t i = 0; i < a->own->charges_n && same; i++)
        same = a->own->charges[i].flavor == b->own->charges[i].flavor && a->own->charges[i].resource == b->own->charges[i].resource &&
               a->own->charges[i].amount == b->own->charges[i].amount;
    return same;
}

static void keep_for_later(struct fair_order *f, struct side *from, const struct candidate *one)
{
    if (f->within || f->second)
        return;
    if (!from->later)
        from->later = arena_alloc(f->x->c->a, from->of.n * sizeof *from->later);
    from->later[from->later_n++] = *one;
}

/* Those behind it who use the same are refused as it was, while their priority is no lower (one who leaves already comes first, whatever
 * his is), and until it is another queue's turn: who goes there may be of the preemptor's side, which has a lower share then. */
static void refuse_alike(struct fair_order *f, struct side *from, const struct candidate *one)
{
    keep_for_later(f, from, one);
    for (; from->at < from->of.n; from->at++) {
        const struct candidate *next = &from->of.all[from->at];
        bool in_turn = !f->rival || candidate_before(next, &f->rival->of.all[f->rival->at]);
        if (!in_turn || next->gang->priority < one->gang->priority || !same_charges(one->gang, next->gang))
            return;
        keep_for_later(f, from, next);
    }
}

/* Does the next candidate of this queue go? */
static bool goes(struct fair_order *f, struct side *from, struct candidate *ret_one)
{
    const struct candidate *one = &from->of.all[from->at++];
    struct shares a;
    *ret_one = *one;
    if (from->node == f->x->queue->quota)
        return true;
    if (!candidate_may_go(f->x, one->gang))
        return false;
    find_shares(f, one->gang, &a);
    ret_one->class = f->within ? CLASS_HIERARCHY : CLASS_FAIR;
    if (f->within ? may_take_back(f, &a) : shares_allow(f, one->gang, &a))
        return f->within || !f->careful || !is_in_vain(f, one->gang);
    note_refused(f, a.other, &a.own_after, &a.other_before);
    refuse_alike(f, from, one);
    return false;
}

/* ---- the order ---- */

/* SOURCE Kueue: the second strategy takes one of a queue at most. */
static bool next_of_strategy(struct fair_order *f, struct candidate *ret_one)
{
    for (struct side *one; (one = highest_queue(f));) {
        if (f->second)
            one->is_over = true;
        if (goes(f, one, ret_one))
            return true;
    }
    return false;
}

/* Its turn comes for those whom the first refused: one by one, and where all were refused at once. */
static void begin_queue_anew(struct fair_order *f, struct side *one)
{
    uint32_t n = one->later_n, rest_n = one->of.n - one->at;
    struct candidate *all = arena_alloc(f->x->c->a, (n + rest_n + 1) * sizeof *all);
    if (n)
        memcpy(all, one->later, n * sizeof *all);
    if (rest_n)
        memcpy(&all[n], &one->of.all[one->at], rest_n * sizeof *all);
    one->of.all = all;
    one->of.n = n + rest_n;
    one->at = 0;
    keep_who_may(f, one, one->later_n);
}

static bool begin_second(struct fair_order *f)
{
    const struct fair_policy *fair = &f->x->c->s->fair;
    if (f->second || f->within || fair->strategies_n == 1 || strategy(f) == FAIR_LESS_THAN_INITIAL_SHARE)
        return false;
    f->second = true;
    for (struct side *one = f->sides; one; one = one->next) {
        one->is_over = false;
        if (one->is_known)
            begin_queue_anew(f, one);
    }
    return true;
}

bool fair_next(struct fair_order *f, struct candidate *ret_one)
{
    if (f->leaving_at < f->leaving.n) {
        *ret_one = f->leaving.all[f->leaving_at++];
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

/* WHY  queues of those who leave now: once they are gone, such a queue may be within its own, and yet others of it are candidates. */
static void take_leaving(struct fair_order *f)
{
    candidates_leaving(f->x, &f->leaving);
    f->any = f->leaving.n > 0;
    for (uint32_t i = 0; i < f->leaving.n; i++) {
        const struct queue *q = f->leaving.all[i].gang->queue;
        if (q && tree(f)->nodes[q->quota].root == tree(f)->nodes[f->x->queue->quota].root)
            (void)look_into(f, side_of(f, q->quota));
    }
}

struct fair_order *fair_begin(const struct preemptor *x, bool careful)
{
    struct fair_order *f = arena_zero(x->c->a, 1, sizeof *f);
    f->x = x;
    f->careful = careful;
    take_leaving(f);
    for (uint32_t at = tree(f)->nodes[x->queue->quota].parent; at; at = tree(f)->nodes[at].parent)
        side_of(f, at)->is_above_own = true;
    put_needs(f, 1);
    note_within(f);
    put_needs(f, -1);
    return f;
}

static bool any_below(struct fair_order *f, uint32_t node)
{
    const struct quota *t = tree(f);
    if (t->nodes[node].is_queue)
        (void)look_into(f, side_of(f, node));
    for (uint32_t child = t->nodes[node].first_child; child && !f->any; child = t->nodes[child].next_child)
        (void)any_below(f, child);
    return f->any;
}

bool fair_any(struct fair_order *f)
{
    return f->any || any_below(f, tree(f)->nodes[f->x->queue->quota].root);
}

void fair_end(struct fair_order *f)
{
    for (struct side *one = f ? f->sides : NULL; one; one = one->next)
        tree(f)->nodes[one->node].side = NULL;
}

const struct fair_refusal *fair_refused(const struct fair_order *f)
{
    return &f->refused;
}
