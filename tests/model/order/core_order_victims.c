#include "core_order.h"

bool is_above(const struct model *m, int i, const struct need *x)
{
    FOR_EACH_CELL(f, r)
        if (x->is_short[f][r] && usage(m, i, f, r) > subtree(m, i, f, r))
            return true;
    return false;
}

static bool is_below(const struct model *m, int i, int cohort)
{
    while (i >= 0 && i != cohort)
        i = m->nodes[i].parent;
    return i >= 0;
}

bool gang_allows(enum preemption_policy p, const struct plain_gang *g, const struct plain_gang *v)
{
    return p == PREEMPT_ANY || (p != PREEMPT_NEVER && v->priority < g->priority) ||
           (p == PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY && v->priority == g->priority && is_in_front(g, v));
}

/* All queues and cohorts from v's queue up to the shared cohort use more than their own. */
static bool path_is_above(const struct model *m, int queue, int shared, const struct need *x)
{
    for (int i = queue; i >= 0 && i != shared; i = m->nodes[i].parent)
        if (!is_above(m, i, x))
            return false;
    return true;
}

/* Does g's queue, or a cohort above it but below `shared`, hold the amounts within its own quota? What each keeps for itself is taken off
 * what those above it are asked for. */
static bool has_advantage(const struct model *m, const struct plain_gang *g, int shared, const struct need *x)
{
    struct amounts left = x->amount;
    bool any = false;
    for (int i = COHORTS + g->queue; i != shared; i = m->nodes[i].parent) {
        bool holds = true;
        FOR_EACH_CELL(f, r) {
            if (!x->amount.of[f][r])
                continue;
            holds &= usage(m, i, f, r) + left.of[f][r] <= subtree(m, i, f, r);
            left.of[f][r] = max0(left.of[f][r] - max0(kept(m, i, f, r) - usage(m, i, f, r)));
        }
        any |= holds;
    }
    return any;
}

static bool goes_before_as(const struct model *m, const struct victim *a, const struct victim *b)
{
    const struct plain_gang *x = &m->gangs[a->gang], *y = &m->gangs[b->gang];
    char left[16], right[16];
    if (x->leaving != y->leaving)
        return x->leaving;
    if (a->class != b->class)
        return a->class < b->class;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    int by_stakes = m->spares && !x->leaving ? compare_stakes(m, x, y) : 0;
    if (by_stakes)
        return by_stakes < 0;
    if (x->reserved_ms != y->reserved_ms)
        return x->reserved_ms > y->reserved_ms;
    snprintf(left, sizeof left, "g%d", x->serial);
    snprintf(right, sizeof right, "g%d", y->serial);
    return strcmp(left, right) < 0;
}

bool goes_before(const struct model *m, const struct victim *a, const struct victim *b)
{
    struct victim x = *a, y = *b;
    x.gang = m->gangs[x.gang].leaving ? x.gang : x.behind;
    y.gang = m->gangs[y.gang].leaving ? y.gang : y.behind;
    return goes_before_as(m, &x, &y);
}

/* In a queue of its own: who has used more goes first. */
static bool goes_before_there(const struct model *m, const struct victim *a, const struct victim *b)
{
    const struct plain_gang *x = &m->gangs[a->gang], *y = &m->gangs[b->gang];
    int r = x->leaving == y->leaving && !x->leaving ? compare_used(m, x, y) : 0;
    return r ? r > 0 : goes_before_as(m, a, b);
}

/* Is nobody of its queue, and of those left, before it? */
static bool is_first_there(const struct model *m, const struct victims *left, int at)
{
    const struct plain_gang *g = &m->gangs[left->all[at].gang];
    for (int i = 0; i < left->n; i++)
        if (i != at && m->gangs[left->all[i].gang].queue == g->queue && goes_before_there(m, &left->all[i], &left->all[at]))
            return false;
    return true;
}

/* Again and again the best of those who are first in their queues. */
static void sort_as_it_is(const struct model *m, struct victims *v)
{
    struct victims left = *v;
    for (int n = 0; n < v->n; n++) {
        int best = -1;
        for (int i = 0; i < left.n; i++)
            if (is_first_there(m, &left, i) && (best < 0 || goes_before_as(m, &left.all[i], &left.all[best])))
                best = i;
        struct victim *one = &v->all[n], last;
        *one = left.all[best];
        one->behind = one->gang;
        for (int i = 0; i < n; i++) {
            last = v->all[i];
            last.gang = last.behind;
            if (m->gangs[v->all[i].gang].queue == m->gangs[one->gang].queue && !m->gangs[v->all[i].gang].leaving &&
                goes_before_as(m, one, &last))
                one->behind = last.gang;
        }
        left.all[best] = left.all[--left.n];
    }
}

void sort_victims(struct model *m, struct victims *v)
{
    bool spares = m->spares;
    m->spares = false;
    sort_as_it_is(m, v);
    m->spares = spares;
    if (!spares)
        return;
    weigh_budgets(m, v);
    sort_as_it_is(m, v);
}

bool uses_what_is_short(const struct plain_gang *v, const struct need *x)
{
    struct amounts has = charged_now(v);
    FOR_EACH_CELL(f, r)
        if (x->is_short[f][r] && has.of[f][r])
            return true;
    return false;
}

static bool uses_what_is_borrowed(const struct model *m, const struct plain_gang *v, const struct need *x)
{
    struct amounts has = charged_now(v);
    FOR_EACH_CELL(f, r)
        if (has.of[f][r] && (!x || x->amount.of[f][r]) && usage(m, COHORTS + v->queue, f, r) > subtree(m, COHORTS + v->queue, f, r))
            return true;
    return false;
}

bool may_go(const struct model *m, const struct plain_gang *v, const struct need *x)
{
    return (!x->for_nodes || uses_what_is_borrowed(m, v, x)) && (!m->w.fair.on || uses_what_is_borrowed(m, v, NULL));
}

static struct victims candidates(struct model *m, const struct plain_gang *g, const struct need *x)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct victims out = {.n = 0};
    for (int i = 0; i < GANGS; i++) {
        const struct plain_gang *v = &m->gangs[i];
        bool same = v->queue == g->queue;
        if (!v->exists || !v->admitted || is_held_for_others(m, v, g) || !uses_what_is_short(v, x) ||
            !gang_allows(same ? own->within : own->reclaim, g, v) || (!same && !may_go(m, v, x)))
            continue;
        struct victim one = {.gang = i, .class = 2, .while_borrowing = true, .shared = -1};
        if (!same) {
            int shared = own->parent;
            while (shared >= 0 && !is_below(m, COHORTS + v->queue, shared))
                shared = m->nodes[shared].parent;
            if (shared < 0 || !path_is_above(m, COHORTS + v->queue, shared, x))
                continue;
            one.shared = shared;
            one.class = has_advantage(m, g, shared, x) ? 0 : 1;
            one.while_borrowing = !one.class || (own->borrow != PREEMPT_NEVER && v->priority < g->priority &&
                                                 (own->threshold < 0 || v->priority <= own->threshold));
        }
        out.all[out.n++] = one;
    }
    sort_victims(m, &out);
    return out;
}

void take_off(struct model *m, const struct victim *v, int sign)
{
    const struct plain_gang *g = &m->gangs[v->gang];
    struct amounts a = charged_now(g);
    add_amounts(m, g->queue, &a, -sign);
}

bool is_held(const struct model *m, const struct plain_gang *g, const struct need *x, bool borrows)
{
    int queue = COHORTS + g->queue;
    FOR_EACH_CELL(f, r) {
        int64_t amount = x->amount.of[f][r];
        if (amount && (amount > available(m, queue, f, r) || (!borrows && usage(m, queue, f, r) + amount > subtree(m, queue, f, r))))
            return false;
    }
    return true;
}

void lift(struct model *m, const struct victim *v, bool gone)
{
    take_off(m, v, gone ? 1 : -1);
    m->gangs[v->gang].lifted = gone;
}

bool is_enough(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, struct victims *v)
{
    struct seats on;
    if (!is_held(m, g, x, borrows) || !nodes_hold(m, g, x, &on))
        return false;
    v->on = on;
    return true;
}

/* Who stands nowhere where the gang would leaves it there. */
void put_back(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, struct victims *v)
{
    for (int i = v->n - 2; i >= 0; i--) {
        struct victim one = v->all[i];
        lift(m, &one, false);
        bool in_the_way = is_on_one_of(&m->gangs[one.gang], &v->on);
        if (in_the_way ? !is_enough(m, g, x, borrows, v) : !is_held(m, g, x, borrows)) {
            lift(m, &one, true);
            continue;
        }
        memmove(&v->all[i], &v->all[i + 1], (size_t)(--v->n - i) * sizeof one);
    }
}

int level_with(const struct model *m, const struct plain_gang *g, const struct need *x)
{
    int most = 0;
    FOR_EACH_CELL(f, r) {
        int level = x->amount.of[f][r] ? borrow_level(m, COHORTS + g->queue, f, r, x->amount.of[f][r]) : 0;
        most = level > most ? level : most;
    }
    return most;
}

int level_without(struct model *m, const struct plain_gang *g, const struct need *x)
{
    const struct plain_promise *p = x->alone ? promise_of(m, g) : NULL;
    struct victims rest = {.n = 0};
    for (int i = 0; p && i < p->victims.n; i++) {
        const struct plain_gang *v = &m->gangs[p->victims.all[i].gang];
        if (v->exists && v->leaving && v->leaves_for == (int)(g - m->gangs) && !v->lifted)
            rest.all[rest.n++] = p->victims.all[i];
    }
    for (int i = 0; i < rest.n; i++)
        lift(m, &rest.all[i], true);
    int level = level_with(m, g, x);
    for (int i = 0; i < rest.n; i++)
        lift(m, &rest.all[i], false);
    return level;
}

static bool asks_for_more(struct model *m, const struct plain_gang *g, const struct need *x)
{
    const struct plain_promise *p = promise_of(m, g);
    bool more = false;
    FOR_EACH_CELL(f, r)
        more |= x->amount.of[f][r] > (p ? p->need.amount.of[f][r] : 0);
    return more;
}

bool is_mine(struct model *m, const struct plain_gang *v, const struct plain_gang *g, const struct need *x)
{
    return v->leaves_for == (int)(g - m->gangs) && !(uses_what_is_short(v, x) && asks_for_more(m, g, x));
}

void add_mine(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *to)
{
    for (int i = 0; i < GANGS; i++) {
        struct victim one = {.gang = i, .class = m->gangs[i].queue == g->queue ? 2 : 1, .while_borrowing = true, .shared = -1};
        bool found = !m->gangs[i].exists || !m->gangs[i].leaving || !is_mine(m, &m->gangs[i], g, x);
        for (int k = 0; k < to->n && !found; k++)
            found = to->all[k].gang == i;
        int at = found ? 0 : to->n++;
        for (; at > 0 && goes_before(m, &one, &to->all[at - 1]); at--)
            to->all[at] = to->all[at - 1];
        if (!found)
            to->all[at] = one;
    }
}

enum way { WITHOUT_BORROWING, BORROWING, ONLY_WHO_LEAVES }; /* the last: for this one, who borrows */

static struct victims remove_some(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *from,
                                  enum way way, int *ret_level)
{
    bool borrows = way != WITHOUT_BORROWING;
    struct victims out = {.n = 0};
    bool enough = false;
    for (int i = 0; i < from->n && !enough; i++) {
        const struct victim *one = &from->all[i];
        const struct plain_promise *own = promise_of(m, g);
        bool leaves = is_mine(m, &m->gangs[one->gang], g, x);
        bool mine = leaves && (way != BORROWING || one->while_borrowing || !own || own->level ||
                               m->nodes[COHORTS + g->queue].borrow == PREEMPT_NEVER);
        if (way == ONLY_WHO_LEAVES && !leaves)
            continue;
        if (one->class != 2 && !mine && ((borrows && !one->while_borrowing) || !may_go(m, &m->gangs[one->gang], x) ||
                                !path_is_above(m, COHORTS + m->gangs[one->gang].queue, one->shared, x)))
            continue;
        lift(m, one, true);
        out.all[out.n++] = *one;
        enough = is_enough(m, g, x, borrows, &out);
    }
    if (enough)
        put_back(m, g, x, borrows, &out);
    *ret_level = enough ? level_without(m, g, x) : 0;
    if (enough && borrows && *ret_level && is_taken_back(m, g, x, &out)) {
        enough = false;
        *ret_level = 0;
    }
    for (int i = 0; i < out.n; i++)
        lift(m, &out.all[i], false);
    out.n = enough ? out.n : 0;
    return out;
}

struct victims keep_leaving(struct model *m, const struct plain_gang *g, const struct need *x, bool borrows, int *ret_level)
{
    struct victims mine = {.n = 0}, out = {.n = 0};
    bool enough = false;
    add_mine(m, g, x, &mine);
    for (int i = 0; i < mine.n && !enough; i++) {
        lift(m, &mine.all[i], true);
        out.all[out.n++] = mine.all[i];
        enough = is_enough(m, g, x, borrows, &out);
    }
    if (enough)
        put_back(m, g, x, borrows, &out);
    *ret_level = enough ? level_with(m, g, x) : 0;
    for (int i = 0; i < out.n; i++)
        lift(m, &out.all[i], false);
    out.n = enough ? out.n : 0;
    return out;
}

struct victims find_plainly(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    if (m->w.fair.on)
        return find_fairly(m, g, x, ret_level);
    struct victims from = candidates(m, g, x), out;
    bool others = false, hierarchy = false, under = true, forbidden = own->borrow == PREEMPT_NEVER;
    for (int i = 0; i < from.n; i++) {
        others |= from.all[i].class != 2;
        hierarchy |= from.all[i].class == 0;
    }
    add_mine(m, g, x, &from);
    FOR_EACH_CELL(f, r)
        under &= !x->is_short[f][r] || own->own[f][r] < own->quota[f][r].nominal;
    if (!others || (forbidden && !under))
        return remove_some(m, g, x, &from, BORROWING, ret_level);
    bool first = !(forbidden && !hierarchy);
    out = remove_some(m, g, x, &from, first ? BORROWING : WITHOUT_BORROWING, ret_level);
    if (!out.n)
        out = remove_some(m, g, x, &from, first ? WITHOUT_BORROWING : BORROWING, ret_level);
    return out.n ? out : remove_some(m, g, x, &from, ONLY_WHO_LEAVES, ret_level);
}
