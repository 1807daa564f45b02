/* remedy_rivals.c - would it start with the measures applied, whoever else is tried in the same cycle?
 *
 * SHAPE  where nobody can be preempted, more room for one is never less for it: those that start too are tried in every order. Where
 *        somebody can, that is not so: who starts before it may be its next victim, or bring others above their quota who are. There an
 *        answer is given only where nobody else starts or preempts, beside what is promised to others.
 */
#include "core/explain/remedy.h"
#include "core/explain/why.h"
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/preempt/candidates.h"
#include "core/preempt/lone.h"
#include "core/quota/ledger.h"
#include "core/preempt/promise.h"
#include "core/queue/order.h"
#include "core/quota/claim.h"

/* ---- who else would be tried ---- */

#define RIVALS_MAX 16
struct rivals {
    struct line *lines[RIVALS_MAX];
    uint32_t n;
    bool too_many, preempt; /* preempt: some of them may */
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
        case MEASURE_MOVE:
            if (gang_helps(s, p, one->gang))
                return true;
            break;
        case MEASURE_FREE:
        case MEASURE_UNCORDON:
            if (node_helps(s, p, one->node))
                return true;
            break;
        case MEASURE_MEMBERS:
        case MEASURE_MINIMUM:
            if (p->line == x->gang->line)
                return true; /* its own record */
            break;
        }
    }
    return false;
}

static uint32_t nth_node(const struct state *s, const struct gang *g, uint32_t i)
{
    uint32_t seat = i < g->members_n ? s->pods[g->members[i]].seat : g->own->seats[i - g->members_n];
    return seat ? s->seats[seat].node : 0;
}

/* Calls back with each node where the measures make room, until that says true; with none where nothing is measured, all nodes. */
static bool any_node(struct remedy_search *x, const struct measures *m, struct gang *g,
                     bool (*says)(struct remedy_search *x, struct gang *g, uint32_t node))
{
    const struct state *s = x->c->s;
    bool any = false;
    for (uint32_t i = 0; i < s->nodes.sorted_n && !m->n && !any; i++)
        any = says(x, g, s->nodes.sorted[i]);
    for (uint32_t i = 0; i < m->n && !any; i++) {
        const struct measure *one = &m->all[i];
        if (one->kind == MEASURE_FREE || one->kind == MEASURE_UNCORDON)
            any = says(x, g, one->node);
        bool leaves = one->kind == MEASURE_END || one->kind == MEASURE_MOVE;
        for (uint32_t k = 0; leaves && k < one->gang->members_n + one->gang->own->seats_n && !any; k++) {
            uint32_t node = nth_node(s, one->gang, k);
            any = node && says(x, g, node);
        }
    }
    return any;
}

static bool somebody_lower(struct remedy_search *x, struct gang *g, uint32_t node)
{
    return lone_may_preempt_on(x->c->s, g, node);
}

/* More room on the node, or there with others gone, and somebody of lower priority besides: that may be enough for a pod without a queue,
 * and for a group wherever he is. */
static bool is_helped_by_priority(struct remedy_search *x, const struct measures *m, struct gang *g)
{
    if (gang_is_lone(g))
        return m->n && any_node(x, m, g, somebody_lower);
    return m->n && ledger_has_lower(x->c->s, g);
}

static bool may_preempt(struct remedy_search *x, const struct measures *m, struct line *l)
{
    return l->queue->preempts || is_helped_by_priority(x, m, line_first(l));
}

static void add_rival(struct rivals *r, struct line *l, bool preempts)
{
    r->preempt |= preempts;
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
    *ret_ahead = *ret_others = (struct rivals){0};
    uint32_t looks = order_parked_n(s) / 64; /* a long list costs as much as a trial */
    x->trials_left -= looks < x->trials_left ? looks : x->trials_left;
    for (uint32_t i = 0; i < order_parked_n(s); i++) {
        struct parking *p = order_parked(s, i);
        struct queue *q = p->line ? p->line->queue : p->gang->queue;
        if (p->line == own || (!p->line && !(p->on & (PARK_QUOTA | PARK_NODES | PARK_NEIGHBOURS))))
            continue;
        if (!is_helped(x, m, p, q) && !(p->line && is_helped_by_priority(x, m, line_first(p->line))))
            continue;
        if (!p->line)
            return false; /* admitted, and in want of a place: it would be settled first */
        if (q == own->queue && p->line->lane != own->lane)
            return false; /* of another LocalQueue: with each that starts it may be the other's turn */
        if (q != own->queue)
            add_rival(ret_others, p->line, may_preempt(x, m, p->line));
        else if (line_before(p->line, own) && q->strategy != QUEUE_STRICT_FIFO)
            add_rival(ret_ahead, p->line, may_preempt(x, m, p->line));
    }
    return !ret_ahead->too_many && !ret_others->too_many;
}

/* ---- trying one ---- */

static uint32_t gang_size(const struct gang *g)
{
    uint32_t n = g->sets_n ? 0 : g->members_n;
    for (uint32_t i = 0; i < g->sets_n; i++)
        n += (uint32_t)g->sets[i].count;
    return n;
}

static void spend(struct remedy_search *x, uint32_t cost)
{
    x->trials_left -= cost < x->trials_left ? cost : x->trials_left;
}

static bool try_one(struct remedy_search *x, struct gang *g)
{
    if (!x->trials_left)
        return false;
    spend(x, 1 + gang_size(g) / 32);
    return try_on_trial(x->c, g);
}

/* Each search for victims looks at all that run in the tree, or without a queue. */
static uint32_t cost_of_search(const struct state *s, const struct gang *g, const struct queue *q)
{
    uint32_t n = s->queues_n;
    if (ledger_has_lower(s, g) && (!gang_is_lone(g) || ledger_has_lower_group(s, g)))
        n += s->queues[0]->charged_n;
    for (uint32_t i = 1; i < s->queues_n && q && q->preempts; i++)
        if (root_of(s, s->queues[i]) == root_of(s, q))
            n += s->queues[i]->charged_n;
    return n / 64;
}

static bool would_preempt_on(struct remedy_search *x, struct gang *g, uint32_t node)
{
    return lone_would_preempt_on(x->c, g, node);
}

/* Admitted, and in want of a place: it comes before those to whom what is left is promised. */
static bool somebody_wants_a_place(const struct state *s)
{
    for (uint32_t i = 0; i < order_parked_n(s); i++)
        if (order_parked(s, i)->gang && gang_holds(order_parked(s, i)->gang) && (order_parked(s, i)->on & (PARK_NODES | PARK_NEIGHBOURS)))
            return true;
    return false;
}

/* WHY  who waits for others in a queue that changes gets in line anew, and nothing is promised to him any more. */
static bool keeps_promise(const struct remedy_search *x, const struct measures *m, const struct promise *p)
{
    bool keeps = true;
    for (uint32_t i = 0; i < m->n; i++)
        keeps &= m->all[i].kind != MEASURE_QUOTA || !m->all[i].amount || p->queue != x->queue;
    return keeps;
}

enum verdict remedy_acts(struct remedy_search *x, const struct measures *m, struct gang *g)
{
    struct cycle *c = x->c;
    struct state *s = c->s;
    name_id missing;
    const struct queue *q = g->line ? g->line->queue : gang_asks_queue(s, g, &missing);
    uint32_t members_n = x->is_held ? g->members_n : gang_size(g); /* held: with those that are not there yet */
    uint32_t mark = undo_mark(s), of_cycle = c->preempt_trials_left, size = 1 + members_n / 32;
    uint32_t cost = size + cost_of_search(s, g, q) + (gang_is_lone(g) && !m->n ? s->nodes.known_n / 64 : 0);
    if (cost >= x->trials_left) { /* WHY before: of a large tree not even one search is made, and the cycle is not charged for it */
        x->unspent += x->trials_left;
        x->trials_left = 0;
        return VERDICT_MAYBE;
    }
    spend(x, cost);
    for (uint32_t i = 0; i < s->promised_n; i++)
        if (s->promised[i] != g && !lone_yields(s->promised[i], g) && keeps_promise(x, m, s->promised[i]->promise))
            promise_put(s, s->promised[i], q, g);
    c->preempt_trials_left = x->trials_left;
    bool starts, acts = try_on_trial_preempting(c, g, &starts) || (gang_is_lone(g) && any_node(x, m, g, would_preempt_on));
    undo_back(s, mark);
    promises_lie_down(s);
    spend(x, size * (x->trials_left - c->preempt_trials_left));
    if (!c->preempt_trials_left)
        x->trials_left = 0; /* the search for victims may have ended early */
    c->preempt_trials_left = of_cycle;
    if (!x->trials_left || (acts && !starts && (s->promised_n || somebody_wants_a_place(s))))
        return VERDICT_MAYBE;
    return acts ? VERDICT_YES : VERDICT_NO;
}

/* ---- those before it ---- */

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

/* ---- where somebody may be preempted ---- */

static bool nobody_acts(struct remedy_search *x, const struct measures *m, const struct rivals *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct gang *g = line_first(all->lines[i]);
        bool known = !g->promise && !(all->lines[i]->queue->has_shares && all->lines[i]->queue->preempts);
        if (!known || remedy_acts(x, m, g) != VERDICT_NO)
            return false;
    }
    return true;
}

static bool nobody_else_acts(struct remedy_search *x, const struct measures *m, const struct rivals *ahead, const struct rivals *others)
{
    return nobody_acts(x, m, ahead) && nobody_acts(x, m, others);
}

static enum verdict where_others_may_go(struct remedy_search *x, const struct measures *m, const struct rivals *ahead,
                                        const struct rivals *others, enum verdict alone)
{
    if (!nobody_else_acts(x, m, ahead, others))
        return VERDICT_MAYBE;
    uint32_t mark = undo_mark(x->c->s), claims_n = put_claims(x);
    bool same = !claims_n || (claims_n == 1 && nobody_else_acts(x, m, ahead, others) && remedy_acts(x, m, x->gang) == alone);
    undo_back(x->c->s, mark);
    return same ? alone : VERDICT_MAYBE;
}

/* ---- the whole ---- */

/* WHY  which node somebody else takes then is not certain: what comes free by the end of others is scored otherwise than more of it. */
static bool frees_room(const struct measures *m)
{
    bool any = false;
    for (uint32_t i = 0; i < m->n; i++)
        any |= m->all[i].kind == MEASURE_FREE && m->all[i].amount;
    return any;
}

/* WHY  of members that differ those are chosen that find places one after the other: where somebody else takes some room first, these may
 * be others, and enough. */
static bool less_may_be_more(const struct gang *g)
{
    return !g->planned && g->sets_n > 1;
}

static enum verdict acts_alone(struct remedy_search *x, const struct measures *m)
{
    if (x->others_may_go)
        return remedy_acts(x, m, x->gang);
    uint32_t mark = undo_mark(x->c->s);
    bool starts = try_one(x, x->gang);
    undo_back(x->c->s, mark);
    return !x->trials_left ? VERDICT_MAYBE : starts ? VERDICT_YES : VERDICT_NO;
}

/* WHY  who was kept out by a claim alone waits for quota only, whatever nodes would say: more room there does not wake it */
static bool is_woken(struct remedy_search *x, const struct measures *m)
{
    struct line *own = x->gang->line;
    return !m->n || is_helped(x, m, &own->park, own->queue) || is_helped_by_priority(x, m, x->gang);
}

/* One in no line: with the measures it would get in line, and nobody else is looked at again for them. */
static enum verdict of_held(struct remedy_search *x, const struct measures *m)
{
    uint8_t unused;
    if (why_not_ready(x->c, x->gang, &unused))
        return VERDICT_NO;
    return remedy_acts(x, m, x->gang);
}

static bool has_kind(const struct measures *m, enum measure_kind kind)
{
    bool any = false;
    for (uint32_t i = 0; i < m->n; i++)
        any |= m->all[i].kind == kind;
    return any;
}

enum verdict remedy_verdict(struct remedy_search *x, const struct measures *m)
{
    if (x->is_held)
        return of_held(x, m);
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    struct rivals ahead, others;
    if (x->least_n && !has_kind(m, MEASURE_MINIMUM) && view_sync(s, x->shape)->room_n < x->least_n)
        return VERDICT_NO;
    enum verdict alone = acts_alone(x, m);
    bool claims;
    if (alone == VERDICT_MAYBE)
        return VERDICT_MAYBE;
    if (!is_woken(x, m) || (alone == VERDICT_NO && !x->others_may_go && !less_may_be_more(x->gang)))
        return VERDICT_NO;
    if (!find_rivals(x, m, &ahead, &others) || somebody_may_claim(x, &others))
        return VERDICT_MAYBE;
    bool rivals_preempt = ahead.preempt || others.preempt;
    if (rivals_preempt && has_kind(m, MEASURE_MOVE)) /* who is moved is nobody's victim while it is tried, and may be one afterwards */
        return VERDICT_MAYBE;
    if ((x->others_may_go && x->room_of_victims) || (rivals_preempt && x->room_of_some))
        return VERDICT_MAYBE;
    if (x->others_may_go || rivals_preempt)
        return where_others_may_go(x, m, &ahead, &others, alone);
    if (alone == VERDICT_NO)
        return ahead.n || others.n ? VERDICT_MAYBE : VERDICT_NO;
    if (!starts_beside_claims(x, &claims))
        return VERDICT_MAYBE;
    if ((claims || frees_room(m)) && (!nobody_starts(x, &ahead) || !nobody_starts(x, &others)))
        return VERDICT_MAYBE;
    if (ahead.n) {
        bool known = place_rivals(x, &ahead, x->gang);
        bool starts = known && try_one(x, x->gang);
        undo_back(s, mark);
        if (!known || !x->trials_left)
            return VERDICT_MAYBE;
        if (!starts)
            return others.n ? VERDICT_MAYBE : VERDICT_NO;
    }
    return others.n ? among_others(x, &ahead, &others) : VERDICT_YES;
}
