/* core_order_promise.c - what others left for is theirs: what of it stands in a head's way, and what comes by itself. SOURCE
 * core/preempt/promise.h says what is asked for; the sums are made anew for each head. */
#include "core_order.h"

static void charge(struct model *m, int queue, int flavor, const int64_t amount[RES_N], int sign)
{
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + queue].own[flavor][r] += sign * amount[r];
}

static void take_all_off(struct model *m, const struct plain_promise *p, int sign)
{
    for (int i = 0; i < p->victims.n; i++)
        take_off(m, &p->victims.all[i], sign);
}

/* What victims in the gang's own queue give back of what it needs. */
static int64_t given_back(const struct model *m, const struct plain_promise *p, int r)
{
    int64_t sum = 0;
    for (int i = 0; i < p->victims.n; i++) {
        const struct plain_gang *v = &m->gangs[p->victims.all[i].gang];
        if (v->queue == p->queue && v->flavor == p->need.flavor)
            sum += v->ask[r] * v->count;
    }
    return sum;
}

/* So much of the quota is kept from a head of this queue: what the gang needs beyond what its victims give back to it; against its own
 * queue all of it, where it will not borrow, but for what is given back there. */
static void find_kept(struct model *m, struct plain_promise *p, int against)
{
    int queue = COHORTS + p->queue, f = p->need.flavor;
    for (int r = 0; r < RES_N; r++) {
        int64_t need = p->need.amount[r], now = available(m, queue, f, r);
        take_all_off(m, p, 1);
        int64_t then = available(m, queue, f, r);
        take_all_off(m, p, -1);
        int64_t own = p->level || against != p->queue ? 0 : need - given_back(m, p, r);
        int64_t kept_n = need - (then - now) > own ? need - (then - now) : own;
        p->kept[r] = kept_n < 0 ? 0 : kept_n < need ? kept_n : need;
    }
}

void put_promises_beside(struct model *m, int queue)
{
    m->beside = true;
    for (int i = 0; i < m->promises_n; i++) {
        struct plain_promise *p = &m->promises[i];
        find_kept(m, p, queue);
        charge(m, p->queue, p->need.flavor, p->kept, 1);
    }
}

void take_promises_off(struct model *m)
{
    m->beside = false;
    for (int i = 0; i < m->promises_n; i++)
        charge(m, m->promises[i].queue, m->promises[i].need.flavor, m->promises[i].kept, -1);
}

void put_whole_promises(struct model *m, int sign)
{
    for (int i = 0; i < m->promises_n; i++)
        charge(m, m->promises[i].queue, m->promises[i].need.flavor, m->promises[i].need.amount, sign);
}

/* All victims have left, and whom they left for has started: false, there is nobody of that in this queue's tree. */
static bool look_ahead(struct model *m, int queue, int sign)
{
    bool any = false;
    for (int i = 0; i < m->promises_n; i++) {
        const struct plain_promise *p = &m->promises[i];
        if (root_of(m, COHORTS + p->queue) != root_of(m, COHORTS + queue))
            continue;
        any = true;
        take_all_off(m, p, sign);
        charge(m, p->queue, p->need.flavor, p->need.amount, sign);
        charge(m, p->queue, p->need.flavor, p->kept, -sign);
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
    if (!m->beside || !look_ahead(m, g->queue, 1))
        return find_plainly(m, g, x, ret_level);
    v.coming = true;
    for (int r = 0; r < RES_N; r++) {
        then.is_short[r] = x->amount[r] && x->amount[r] > available(m, COHORTS + g->queue, x->flavor, r);
        v.coming &= !then.is_short[r];
    }
    if (v.coming)
        *ret_level = level_with(m, g, x);
    else
        v = find_plainly(m, g, &then, ret_level);
    (void)look_ahead(m, g->queue, -1);
    return v;
}

void make_promise(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *v, int level)
{
    m->promises[m->promises_n++] = (struct plain_promise){.queue = g->queue, .level = level, .need = *x, .victims = *v};
    for (int i = 0; i < v->n; i++)
        m->gangs[v->all[i].gang].promised = true;
}

void forget_promises(struct model *m)
{
    m->promises_n = 0;
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].promised = false;
}
