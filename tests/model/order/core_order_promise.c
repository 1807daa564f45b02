/* core_order_promise.c - what others left for is theirs: what of it stands in a head's way, and what comes by itself. SOURCE
 * core/preempt/promise.h says what is asked for; the sums are made anew for each head. */
#include "core_order.h"

static void take_all_off(struct model *m, const struct plain_promise *p, int sign)
{
    for (int i = 0; i < p->victims.n; i++)
        take_off(m, &p->victims.all[i], sign);
}

/* What victims in the gang's own queue give back of what it needs. */
static int64_t given_back(const struct model *m, const struct plain_promise *p, int f, int r)
{
    int64_t sum = 0;
    for (int i = 0; i < p->victims.n; i++) {
        const struct plain_gang *v = &m->gangs[p->victims.all[i].gang];
        if (v->queue == p->queue)
            sum += charged_now(v).of[f][r];
    }
    return sum;
}

/* So much of the quota is kept from a head of this queue: what the gang needs beyond what its victims give back to it; against its own
 * queue all of it, where it will not borrow, but for what is given back there. */
static void find_kept(struct model *m, struct plain_promise *p, int against)
{
    int queue = COHORTS + p->queue;
    FOR_EACH_CELL(f, r) {
        int64_t need = p->need.amount.of[f][r], now = need ? available(m, queue, f, r) : 0;
        p->kept.of[f][r] = 0;
        if (!need)
            continue;
        take_all_off(m, p, 1);
        int64_t then = available(m, queue, f, r);
        take_all_off(m, p, -1);
        int64_t own = p->level || against != p->queue ? 0 : need - given_back(m, p, f, r);
        int64_t kept_n = need - (then - now) > own ? need - (then - now) : own;
        p->kept.of[f][r] = kept_n < 0 ? 0 : kept_n < need ? kept_n : need;
    }
}

void put_promises_beside(struct model *m, const struct plain_gang *g)
{
    for (int i = 0; i < m->promises_n; i++) {
        struct plain_promise *p = &m->promises[i];
        p->stands = &m->gangs[p->gang] != g;
        if (!p->stands)
            continue;
        find_kept(m, p, g->queue);
        add_amounts(m, p->queue, &p->kept, 1);
        withhold(m, p);
    }
}

void take_promises_off(struct model *m)
{
    for (int i = 0; i < m->promises_n; i++) {
        struct plain_promise *p = &m->promises[i];
        if (p->stands)
            add_amounts(m, p->queue, &p->kept, -1);
        p->stands = false;
    }
    memset(m->withheld, 0, sizeof m->withheld);
}

void put_whole_promises(struct model *m, int sign)
{
    for (int i = 0; i < m->promises_n; i++)
        add_amounts(m, m->promises[i].queue, &m->promises[i].need.amount, sign);
}

/* All victims have left, and whom they left for has started: false, there is nobody of that in this queue's tree. */
static bool look_ahead(struct model *m, int queue, int sign)
{
    bool any = false;
    for (int i = 0; i < m->promises_n; i++) {
        const struct plain_promise *p = &m->promises[i];
        if (!p->stands || root_of(m, COHORTS + p->queue) != root_of(m, COHORTS + queue))
            continue;
        any = true;
        take_all_off(m, p, sign);
        add_amounts(m, p->queue, &p->need.amount, sign);
        add_amounts(m, p->queue, &p->kept, -sign);
    }
    return any;
}

struct victims find_victims(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level)
{
    struct need then = *x;
    struct victims v = {.n = 0};
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    if (own->within == PREEMPT_NEVER && own->reclaim == PREEMPT_NEVER) /* it waits for nobody */
        return v;
    if (!look_ahead(m, g->queue, 1))
        return find_plainly(m, g, x, ret_level);
    const struct plain_promise *mine = promise_of(m, g);
    v.coming = !x->for_nodes && (!mine || !mine->victims.n); /* with victims of its own it asks whether it still needs them */
    FOR_EACH_CELL(f, r) {
        if (x->for_nodes)
            continue;
        then.is_short[f][r] = x->amount.of[f][r] && x->amount.of[f][r] > available(m, COHORTS + g->queue, f, r);
        v.coming &= !then.is_short[f][r];
    }
    if (v.coming)
        *ret_level = level_with(m, g, x);
    else
        v = find_plainly(m, g, &then, ret_level);
    (void)look_ahead(m, g->queue, -1);
    return v;
}

/* Whatever else it could have by now: as if they had not left, it would have been refused that. */
struct answer goes_on_waiting(struct model *m, const struct plain_gang *g)
{
    const struct plain_promise *p = promise_of(m, g);
    struct answer a = {.what = NOTHING};
    bool as_many = p && p->victims.n;
    for (int i = 0; i < g->sets_n && as_many; i++)
        as_many = g->sets[i].count == p->given.count[i];
    if (!as_many)
        return a;
    a.given = p->given;
    a.need = p->need;
    bool others = look_ahead(m, g->queue, 1);
    a.victims = keep_leaving(m, g, &p->need, m->w.fair.on || p->level, &a.level);
    if (others)
        (void)look_ahead(m, g->queue, -1);
    a.what = a.victims.n ? OTHERS_GO : NOTHING;
    return a;
}

/* ---- made, and over ---- */

struct plain_promise *promise_of(struct model *m, const struct plain_gang *g)
{
    for (int i = 0; i < m->promises_n; i++)
        if (&m->gangs[m->promises[i].gang] == g)
            return &m->promises[i];
    return NULL;
}

bool is_held_for_others(const struct model *m, const struct plain_gang *v, const struct plain_gang *g)
{
    for (int i = 0; i < m->promises_n; i++)
        if (m->promises[i].stands && m->promises[i].gang == v->leaves_for && &m->gangs[v->leaves_for] != g)
            return true;
    return false;
}

/* ORDER  the last one moves to its place: what one keeps is found with those before it in place. */
void drop_promise(struct model *m, struct plain_promise *p)
{
    for (int i = 0; i < p->victims.n; i++)
        m->gangs[p->victims.all[i].gang].leaves_for = -1;
    *p = m->promises[--m->promises_n];
}

void make_promise(struct model *m, const struct plain_gang *g, const struct answer *a)
{
    struct plain_promise *old = promise_of(m, g);
    if (old)
        drop_promise(m, old);
    m->promises[m->promises_n++] = (struct plain_promise){.gang = (int)(g - m->gangs), .queue = g->queue, .level = a->level,
                                                          .given = a->given, .need = a->need, .victims = a->victims};
    for (int i = 0; i < a->victims.n; i++)
        m->gangs[a->victims.all[i].gang].leaves_for = (int)(g - m->gangs);
}

void forget_victim(struct model *m, const struct plain_gang *v)
{
    struct plain_promise *p = v->leaves_for >= 0 ? promise_of(m, &m->gangs[v->leaves_for]) : NULL;
    for (int i = p ? p->victims.n : 0; i-- > 0;)
        if (&m->gangs[p->victims.all[i].gang] == v) {
            m->gangs[v->leaves_for].unkept_n = 0;
            memmove(&p->victims.all[i], &p->victims.all[i + 1], (size_t)(--p->victims.n - i) * sizeof p->victims.all[0]);
        }
}
