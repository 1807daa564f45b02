#include "core/explain/remedy.h"
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/preempt/lone.h"
#include "core/queue/order.h"
#include "core/quota/claim.h"

void measures_add(struct measures *m, struct measure one)
{
    if (m->n == REMEDY_MEASURES) {
        m->overflow = true;
        return;
    }
    m->all[m->n++] = one;
}

/* ---- applying ---- */

static bool lift(struct state *s, uint32_t seat)
{
    if (s->nodes.nodes[s->seats[seat].node].has_devices_twice)
        return false;
    if (!s->seats[seat].lifted)
        undo_lift(s, seat);
    return true;
}

static bool end_gang(struct state *s, const struct gang *g)
{
    bool ok = true;
    for (uint32_t i = 0; i < g->members_n && ok; i++)
        ok = !s->pods[g->members[i]].seat || lift(s, s->pods[g->members[i]].seat);
    for (uint32_t i = 0; i < g->own->seats_n && ok; i++)
        ok = lift(s, g->own->seats[i]);
    for (uint32_t i = 0; i < g->own->charges_n && g->queue; i++)
        undo_charge(s, g->queue->quota, g->own->charges[i].flavor, g->own->charges[i].resource, -g->own->charges[i].amount);
    return ok;
}

bool remedy_apply(struct remedy_search *x, const struct measures *m)
{
    struct state *s = x->c->s;
    bool ok = true;
    for (uint32_t i = 0; i < m->n && ok; i++) {
        const struct measure *one = &m->all[i];
        switch (one->kind) {
        case MEASURE_QUOTA:
            ok = !one->amount || undo_nominal(s, x->queue->quota, one->flavor, one->resource, one->amount);
            break;
        case MEASURE_FREE:
            ok = !one->amount || undo_room(s, one->node, one->resource, one->amount);
            break;
        case MEASURE_END:
            ok = end_gang(s, one->gang);
            break;
        case MEASURE_UNCORDON:
            undo_flags(s, one->node, s->nodes.flags[one->node] & (uint8_t)~NODE_UNSCHEDULABLE);
            break;
        }
    }
    return ok;
}

/* ---- who else would be tried ---- */

#define RIVALS_MAX 16
struct rivals {
    struct line *lines[RIVALS_MAX];
    uint32_t n;
    bool too_many;
};

static uint32_t root_of(const struct state *s, const struct queue *q)
{
    return q && q->quota ? s->quota.nodes[q->quota].root : 0;
}

static bool shape_fits(const struct state *s, uint32_t shape, uint32_t node)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    return fit_record(s, c, node, NULL) == FIT_OK && fit_room(s, c, node) > 0;
}

static bool node_helps(const struct state *s, const struct parking *p, uint32_t node)
{
    if (!(p->on & (PARK_NODES | PARK_NEIGHBOURS)))
        return false;
    if (p->shapes_n > PARK_SHAPES || (p->on & PARK_NEIGHBOURS))
        return true;
    for (uint32_t i = 0; i < p->shapes_n; i++)
        if (shape_fits(s, p->shapes[i], node))
            return true;
    return false;
}

static bool gang_helps(const struct state *s, const struct parking *p, const struct gang *ends)
{
    for (uint32_t i = 0; i < ends->members_n; i++) {
        uint32_t seat = s->pods[ends->members[i]].seat;
        if (seat && node_helps(s, p, s->seats[seat].node))
            return true;
    }
    for (uint32_t i = 0; i < ends->own->seats_n; i++)
        if (node_helps(s, p, s->seats[ends->own->seats[i]].node))
            return true;
    return false;
}

/* With the measures applied: would this be looked at again? As wake.c decides it. */
static bool is_helped(const struct remedy_search *x, const struct measures *m, const struct parking *p, const struct queue *q)
{
    const struct state *s = x->c->s;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct measure *one = &m->all[i];
        bool quota = (p->on & PARK_QUOTA) && q && q->quota;
        switch (one->kind) {
        case MEASURE_QUOTA:
            if (q == x->queue || (quota && root_of(s, q) == root_of(s, x->queue)))
                return true;
            break;
        case MEASURE_END:
            if ((quota && root_of(s, q) == root_of(s, one->gang->queue)) || gang_helps(s, p, one->gang))
                return true;
            break;
        case MEASURE_FREE:
        case MEASURE_UNCORDON:
            if (node_helps(s, p, one->node))
                return true;
            break;
        }
    }
    return false;
}

/* More room on the node, or there with others gone, and lone pods of lower priority besides: that may be enough for one that preempts. */
static bool may_preempt(const struct state *s, const struct measures *m, const struct gang *g)
{
    bool may = false;
    for (uint32_t i = 0; i < m->n && gang_is_lone(g) && !may; i++) {
        const struct measure *one = &m->all[i];
        may = (one->kind == MEASURE_FREE || one->kind == MEASURE_UNCORDON) && lone_may_preempt_on(s, g, one->node);
        for (uint32_t k = 0; one->kind == MEASURE_END && k < one->gang->members_n && !may; k++) {
            uint32_t seat = s->pods[one->gang->members[k]].seat;
            may = seat && lone_may_preempt_on(s, g, s->seats[seat].node);
        }
        for (uint32_t k = 0; one->kind == MEASURE_END && k < one->gang->own->seats_n && !may; k++)
            may = lone_may_preempt_on(s, g, s->seats[one->gang->own->seats[k]].node);
    }
    return may;
}

static void add_rival(struct rivals *r, struct line *l)
{
    if (r->n == RIVALS_MAX) {
        r->too_many = true;
        return;
    }
    uint32_t at = r->n++;
    for (; at && line_before(l, r->lines[at - 1]); at--)
        r->lines[at] = r->lines[at - 1];
    r->lines[at] = l;
}

/* Lines of the gang's own queue that are ahead of it, and those of other queues. False: it is not to be told who would be tried. */
static bool find_rivals(struct remedy_search *x, const struct measures *m, struct rivals *ret_ahead, struct rivals *ret_others)
{
    struct state *s = x->c->s;
    struct line *own = x->gang->line;
    ret_ahead->n = ret_others->n = 0;
    ret_ahead->too_many = ret_others->too_many = false;
    uint32_t looks = order_parked_n(s) / 64; /* a long list costs as much as a trial */
    x->trials_left -= looks < x->trials_left ? looks : x->trials_left;
    for (uint32_t i = 0; i < order_parked_n(s); i++) {
        struct parking *p = order_parked(s, i);
        struct queue *q = p->line ? p->line->queue : p->gang->queue;
        if (p->line != own && p->line && may_preempt(s, m, line_first(p->line)))
            return false; /* whom it would end, and for which room, is not tried here */
        if (p->line == own || (!p->line && !(p->on & (PARK_QUOTA | PARK_NODES | PARK_NEIGHBOURS))) || !is_helped(x, m, p, q))
            continue;
        if (!p->line)
            return false; /* admitted, and in want of a place: it would be settled first */
        if (q == own->queue && p->line->lane != own->lane)
            return false; /* of another LocalQueue: with each that starts it may be the other's turn */
        if (q != own->queue)
            add_rival(ret_others, p->line);
        else if (line_before(p->line, own) && q->strategy != QUEUE_STRICT_FIFO)
            add_rival(ret_ahead, p->line);
    }
    return !ret_ahead->too_many && !ret_others->too_many;
}

static uint32_t gang_size(const struct gang *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        n += (uint32_t)g->sets[i].count;
    return n;
}

static bool try_one(struct remedy_search *x, struct gang *g)
{
    if (!x->trials_left)
        return false;
    uint32_t cost = 1 + gang_size(g) / 32;
    x->trials_left -= cost < x->trials_left ? cost : x->trials_left;
    return try_on_trial(x->c, g);
}

#define LINE_MAX 32

/* All gangs of the lines that fit, line by line and in their order, `before` whom (NULL: all). False: too many to tell. */
static bool place_rivals(struct remedy_search *x, const struct rivals *r, const struct gang *before)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct gang *all[LINE_MAX];
        uint32_t n = 0;
        if (r->lines[i]->gangs.n > LINE_MAX)
            return false;
        for (size_t k = 0; k < r->lines[i]->gangs.n; k++) {
            struct gang *g = r->lines[i]->gangs.items[k];
            uint32_t at = n++;
            for (; at && order_before(g, all[at - 1]); at--)
                all[at] = all[at - 1];
            all[at] = g;
        }
        for (uint32_t k = 0; k < n && (!before || order_before(all[k], before)); k++) {
            if (!try_one(x, all[k]))
                break;
        }
    }
    return x->trials_left > 0;
}

/* Blocked heads of StrictFIFO queues in the same tree keep quota for themselves in rounds that try several queues. */
static uint32_t put_claims(struct remedy_search *x)
{
    struct state *s = x->c->s;
    uint32_t claims_n = 0;
    for (uint32_t i = 0; i < s->queues_n && s->strict_n; i++) {
        const struct queue *q = s->queues[i];
        struct charge *charges = NULL;
        uint32_t unused, n;
        if (q == x->queue || !claim_stands(q) || root_of(s, q) != root_of(s, x->queue))
            continue;
        claims_n++;
        n = claim_find(s, q, order_blocker(q), x->c->a, &charges, &unused);
        for (uint32_t k = 0; k < n; k++)
            undo_charge(s, q->quota, charges[k].flavor, charges[k].resource, charges[k].amount);
    }
    return claims_n;
}

/* A claim may come before it or after it in a round. What several claim depends on their order. */
static bool starts_beside_claims(struct remedy_search *x, bool *ret_any)
{
    uint32_t mark = undo_mark(x->c->s);
    uint32_t claims_n = put_claims(x);
    bool starts = !claims_n || (claims_n == 1 && try_one(x, x->gang));
    *ret_any = claims_n > 0;
    undo_back(x->c->s, mark);
    return starts;
}

/* A head that is tried again and refused for quota this time claims what it did not claim before. */
static bool somebody_may_claim(const struct remedy_search *x, const struct rivals *others)
{
    for (uint32_t i = 0; i < others->n; i++) {
        const struct queue *q = others->lines[i]->queue;
        if (q->strategy == QUEUE_STRICT_FIFO && q->cohort && !q->reclaims_any && !claim_stands(q) &&
            root_of(x->c->s, q) == root_of(x->c->s, x->queue))
            return true;
    }
    return false;
}

/* ---- the trial ---- */

#define ORDERS_MAX 3 /* others whose every order is looked at */

/* Those that would start if they were tried first: the rest are in nobody's way. False: too many, or who stands behind them would come,
 * too. */
static bool those_that_start(struct remedy_search *x, const struct rivals *all, struct rivals *ret_starting)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    ret_starting->n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        bool starts = try_one(x, line_first(all->lines[i]));
        undo_back(s, mark);
        if (!starts)
            continue;
        if (ret_starting->n == ORDERS_MAX || all->lines[i]->queue->strategy == QUEUE_STRICT_FIFO)
            return false;
        ret_starting->lines[ret_starting->n++] = all->lines[i];
    }
    return x->trials_left > 0;
}

static bool nobody_starts(struct remedy_search *x, const struct rivals *all)
{
    struct rivals starting = {0};
    return those_that_start(x, all, &starting) && !starting.n;
}

static bool starts_after(struct remedy_search *x, const struct rivals *first, const struct rivals *second)
{
    uint32_t mark = undo_mark(x->c->s);
    bool starts = place_rivals(x, first, first->lines[0]->queue == x->gang->line->queue ? x->gang : NULL) &&
                  place_rivals(x, second, second->n && second->lines[0]->queue == x->gang->line->queue ? x->gang : NULL) &&
                  try_one(x, x->gang);
    undo_back(x->c->s, mark);
    return starts;
}

/* Others of other queues start as well: it must start whoever of them is first. */
static bool starts_among(struct remedy_search *x, const struct rivals *ahead, struct rivals *others, uint32_t at)
{
    if (at + 1 >= others->n)
        return starts_after(x, others, ahead) && (!ahead->n || starts_after(x, ahead, others));
    for (uint32_t i = at; i < others->n; i++) {
        struct rivals order = *others;
        order.lines[at] = others->lines[i];
        order.lines[i] = others->lines[at];
        if (!starts_among(x, ahead, &order, at + 1))
            return false;
    }
    return true;
}

static enum verdict among_others(struct remedy_search *x, const struct rivals *ahead, const struct rivals *others)
{
    struct rivals starting = {0};
    if (!those_that_start(x, others, &starting))
        return VERDICT_MAYBE;
    return !starting.n || starts_among(x, ahead, &starting, 0) ? VERDICT_YES : VERDICT_MAYBE;
}

static enum verdict with_measures(struct remedy_search *x, const struct measures *m)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    struct rivals ahead, others;
    if (x->least_n && view_sync(s, x->shape)->room_n < x->least_n)
        return VERDICT_NO;
    bool starts = try_one(x, x->gang);
    undo_back(s, mark);
    if (!x->trials_left)
        return VERDICT_MAYBE;
    /* WHY  who was kept out by a claim alone waits for quota only, whatever nodes would say: more room there does not wake it */
    if (!starts || (m->n && !is_helped(x, m, &x->gang->line->park, x->gang->line->queue)))
        return VERDICT_NO;
    bool claims;
    if (!find_rivals(x, m, &ahead, &others) || somebody_may_claim(x, &others) || !starts_beside_claims(x, &claims))
        return VERDICT_MAYBE;
    if (claims && (!nobody_starts(x, &ahead) || !nobody_starts(x, &others)))
        return VERDICT_MAYBE;
    if (ahead.n) {
        bool known = place_rivals(x, &ahead, x->gang);
        starts = known && try_one(x, x->gang);
        undo_back(s, mark);
        if (!known || !x->trials_left)
            return VERDICT_MAYBE;
        if (!starts)
            return others.n ? VERDICT_MAYBE : VERDICT_NO;
    }
    return others.n ? among_others(x, &ahead, &others) : VERDICT_YES;
}

enum verdict remedy_try(struct remedy_search *x, const struct measures *m)
{
    uint32_t mark = undo_mark(x->c->s);
    enum verdict v = VERDICT_NO;
    if (remedy_apply(x, m))
        v = with_measures(x, m);
    undo_back(x->c->s, mark);
    x->unsure |= v == VERDICT_MAYBE;
    return v;
}

/* ---- just enough ---- */

static struct measures without(const struct measures *m, uint32_t at)
{
    struct measures out = *m;
    out.n--;
    for (uint32_t i = at; i < out.n; i++)
        out.all[i] = m->all[i + 1];
    return out;
}

static bool has_amount(const struct measure *m)
{
    return m->kind == MEASURE_QUOTA || m->kind == MEASURE_FREE;
}

static enum verdict try_amount(struct remedy_search *x, const struct measures *m, uint32_t at, int64_t amount)
{
    struct measures less = *m;
    less.all[at].amount = amount;
    return remedy_try(x, &less);
}

/* From an amount that is enough to one that is while one less is not; 0 leaves it out. */
static bool reduce_amount(struct remedy_search *x, struct measures *m, uint32_t at)
{
    int64_t *enough = &m->all[at].amount, too_little = -1;
    for (int64_t guess = *enough - 1; *enough - too_little > 1; guess = too_little < 0 ? 0 : too_little + (*enough - too_little) / 2) {
        enum verdict v = try_amount(x, m, at, guess);
        if (v == VERDICT_MAYBE)
            return false;
        if (v == VERDICT_NO)
            too_little = guess;
        else
            *enough = guess;
    }
    return true;
}

/* Each measure once more against the final rest. */
static bool is_just_enough(struct remedy_search *x, const struct measures *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        struct measures less = without(m, i);
        if (remedy_try(x, &less) != VERDICT_NO || (has_amount(&m->all[i]) && try_amount(x, m, i, m->all[i].amount - 1) != VERDICT_NO))
            return false;
    }
    return m->n && remedy_try(x, m) == VERDICT_YES;
}

bool remedy_reduce(struct remedy_search *x, struct measures *m)
{
    for (uint32_t i = m->n; i-- > 0;) {
        if (has_amount(&m->all[i])) {
            if (!reduce_amount(x, m, i))
                return false;
            if (!m->all[i].amount)
                *m = without(m, i);
            continue;
        }
        struct measures less = without(m, i);
        enum verdict v = m->n > 1 ? remedy_try(x, &less) : VERDICT_NO;
        if (v == VERDICT_MAYBE)
            return false;
        if (v == VERDICT_YES)
            *m = less;
    }
    return is_just_enough(x, m);
}
