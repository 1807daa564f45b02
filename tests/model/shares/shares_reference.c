/* shares_reference.c - what queues deserve, and whether members that groups can do without are enough: plainly */
#include "shares_model.h"

/* ---- what each deserves: plainly ---- */

bool has_children(const struct model *m, int i)
{
    bool any = false;
    for (int k = 1; k < QUEUES; k++)
        any |= m->queues[k].exists && m->queues[k].parent == i && k != i;
    return any;
}

bool in_cycle(const struct model *m, int i)
{
    int steps = 0;
    for (; i != ROOT && m->queues[i].exists && steps <= QUEUES; steps++)
        i = m->queues[i].parent;
    return steps > QUEUES;
}

double said(int64_t value, double otherwise)
{
    return value == UNSAID ? otherwise : (double)value;
}

static double asked(const struct model *m, int i, int r)
{
    double sum = 0;
    for (int g = 0; g < GROUPS; g++) {
        int stand_n = 0, come_n = 0;
        const struct m_group *one = &m->groups[g];
        for (int k = 0; k < PODS && one->exists && one->queue == i; k++) {
            bool counts = one->pods[k].exists && !one->pods[k].deleting;
            stand_n += counts && one->pods[k].node >= 0;
            come_n += counts && one->pods[k].node < 0;
        }
        if (!one->exists || one->queue != i)
            continue;
        come_n = one->kept_n > come_n ? one->kept_n : come_n;
        sum += (double)one->ask[r] * (stand_n + come_n > one->had_n ? stand_n + come_n : one->had_n);
    }
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == i)
            sum += asked(m, k, r);
    return sum;
}

struct answer {
    bool free;
    double value;
};

bool is_guaranteed(const struct model *m, int r)
{
    bool any = false;
    for (int i = 0; i < QUEUES; i++)
        any |= m->queues[i].exists && m->queues[i].guarantee[r] > 0; /* UNSAID is below zero */
    return any;
}

double guaranteed(const struct model *m, int i, int r)
{
    double below = 0, own = m->queues[i].exists ? said(m->queues[i].guarantee[r], 0) : 0;
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == i && k != i)
            below += guaranteed(m, k, r);
    return below > own ? below : own;
}

bool is_free(const struct model *m, int i, int r)
{
    const struct m_queue *q = &m->queues[i];
    if (i == ROOT || !q->exists || q->deserved[r] != UNSAID)
        return false;
    bool names_other = false;
    for (int k = 0; k < RES_N; k++)
        names_other |= q->deserved[k] != UNSAID;
    return (names_other && !is_guaranteed(m, r)) || is_free(m, q->parent, r);
}

/* Those who deserve by weight, with the water at this level. */
static double poured(const struct model *m, int parent, int r, double pool, double level, int one)
{
    double sum = 0, promised = 0;
    for (int k = 1; k < QUEUES; k++)
        promised += m->queues[k].exists && m->queues[k].parent == parent ? guaranteed(m, k, r) : 0;
    for (int k = 1; k < QUEUES; k++) {
        const struct m_queue *q = &m->queues[k];
        if (!q->exists || q->parent != parent || q->deserved[r] != UNSAID || is_free(m, k, r))
            continue;
        double least = guaranteed(m, k, r), most = said(q->capability[r], 1e15), wants = asked(m, k, r);
        double room = pool - (promised - least) > 0 ? pool - (promised - least) : 0, has = level * (double)q->weight;
        most = wants < most ? wants : most;
        most = room < most ? room : most;
        has = has > most ? most : has;
        has = has < least ? least : has;
        if (one < 0 || one == k)
            sum += has;
    }
    return sum;
}

double deserved(const struct model *m, int i, int r)
{
    const struct m_queue *q = &m->queues[i];
    double total = 0, low = 0, high = 1e15;
    if (i == ROOT || !q->exists) { /* a name above queues that is no queue has no limits */
        for (int n = 0; n < NODES; n++)
            total += m->nodes[n].exists && m->nodes[n].ready ? (double)m->nodes[n].room[r] : 0;
        return q->exists && total > said(q->capability[r], 1e15) ? said(q->capability[r], 1e15) : total;
    }
    if (q->deserved[r] != UNSAID) {
        double value = said(q->deserved[r], 0) < said(q->capability[r], 1e15) ? said(q->deserved[r], 0) : said(q->capability[r], 1e15);
        return value > guaranteed(m, i, r) ? value : guaranteed(m, i, r);
    }
    double pool = deserved(m, q->parent, r), rest = pool;
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == q->parent && m->queues[k].deserved[r] != UNSAID)
            rest -= deserved(m, k, r);
    rest = rest > 0 ? rest : 0;
    for (int n = 0; n < 120; n++) {
        double middle = (low + high) / 2;
        if (poured(m, q->parent, r, pool, middle, -1) <= rest + 1e-7)
            low = middle;
        else
            high = middle;
    }
    double value = poured(m, q->parent, r, pool, low, i) + 1e-4;
    return (double)(int64_t)value;
}

int64_t used(const struct model *m, int i, int r)
{
    int64_t sum = 0;
    for (int g = 0; g < GROUPS; g++)
        for (int k = 0; k < PODS && m->groups[g].exists && m->groups[g].queue == i; k++)
            sum += m->groups[g].pods[k].exists && m->groups[g].pods[k].node >= 0 ? m->groups[g].ask[r] : 0;
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == i && k != i)
            sum += used(m, k, r);
    return sum;
}

int64_t used_and_kept(const struct model *m, int i, int r)
{
    int64_t sum = 0;
    for (int g = 0; g < GROUPS; g++)
        for (int k = 0; k < PODS && m->groups[g].exists && m->groups[g].keeps && m->groups[g].queue == i; k++)
            sum += m->groups[g].pods[k].exists && m->groups[g].pods[k].node >= 0 ? m->groups[g].ask[r] : 0;
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == i && k != i)
            sum += used_and_kept(m, k, r);
    return sum;
}

int64_t promised(const struct model *m, int i, int r)
{
    int64_t sum = 0;
    for (int g = 0; g < GROUPS; g++)
        if (m->groups[g].exists && m->groups[g].queue == i)
            sum += m->groups[g].ask[r] * ((m->groups[g].promised ? fewest_n(&m->groups[g]) : 0) + m->groups[g].kept_n);
    for (int k = 1; k < QUEUES; k++)
        if (m->queues[k].exists && m->queues[k].parent == i && k != i)
            sum += promised(m, k, r);
    return sum;
}

/* ---- members that groups can do without ---- */

int staying_n(const struct m_group *g)
{
    int n = 0;
    for (int k = 0; k < PODS; k++)
        n += g->exists && g->pods[k].exists && g->pods[k].node >= 0 && !g->pods[k].deleting;
    return n;
}

int fewest_n(const struct m_group *g)
{
    int parts_n = g->size ? (g->min + g->size - 1) / g->size : 0, pairs_n = g->least ? g->least : g->pairs ? g->count / g->size / 2 : 0;
    if (g->pairs) /* whole pairs of them */
        return 2 * g->size * ((parts_n + 1) / 2 > pairs_n ? (parts_n + 1) / 2 : pairs_n);
    return g->size ? g->size * (parts_n > g->least ? parts_n : g->least) : g->min;
}

/* May members of v go for p, as far as that is plain: of its own queue by priority, or of a queue beside it below the root that has more
 * than it deserves and no guarantee? */
static bool may_shrink_for(const struct model *m, const struct m_group *v, const struct m_group *p)
{
    const struct m_queue *from = &m->queues[v->queue], *to = &m->queues[p->queue];
    if (!v->exists || v->keeps || v == p || v->size) /* which of its subgroups could is not so plain */
        return false;
    if (v->queue == p->queue)
        return m->preempts && v->priority < p->priority && !p->never;
    if (!from->exists || !to->exists || from->keeps || from->parent != ROOT || to->parent != ROOT || has_children(m, v->queue))
        return false;
    for (int r = 0; r < RES_N; r++)
        if (from->guarantee[r] != UNSAID || is_free(m, v->queue, r) || is_free(m, p->queue, r))
            return false;
    return true;
}

/* So many of v's members: of another queue only while that has more than it deserves of all that both ask for. */
static int shrinks_by(const struct model *m, const struct m_group *v, const struct m_group *p, const int64_t gone[QUEUES][RES_N])
{
    int n = staying_n(v) - v->min, most = n > 0 ? n : 0;
    for (int r = 0; r < RES_N && v->queue != p->queue; r++) {
        int64_t above = used(m, v->queue, r) - gone[v->queue][r] - (int64_t)m->deserved[v->queue][r];
        int64_t while_above = above <= 0 ? 0 : v->ask[r] ? (above + v->ask[r] - 1) / v->ask[r] : most;
        if (p->ask[r])
            most = while_above < most ? (int)while_above : most;
    }
    return most;
}

bool members_are_enough(const struct model *m, const struct m_group *p)
{
    int64_t gone[QUEUES][RES_N] = {0}, left[NODES][RES_N], all[RES_N] = {0};
    if (p->size)
        return false;
    for (int r = 0; r < RES_N; r++) /* what is kept for those may be in use by others, who must go first */
        if (is_guaranteed(m, r))
            return false;
    for (int i = 0; i < NODES; i++)
        for (int r = 0; r < RES_N; r++)
            left[i][r] = m->nodes[i].exists && m->nodes[i].ready ? m->nodes[i].room[r] : 0;
    for (int i = 0; i < GROUPS; i++) {
        const struct m_group *v = &m->groups[i];
        int goes_n = may_shrink_for(m, v, p) ? shrinks_by(m, v, p, gone) : 0;
        for (int k = 0; k < PODS && v->exists; k++) {
            int later_n = 0; /* those that were made last go */
            for (int j = 0; j < PODS; j++)
                later_n += v->pods[j].exists && v->pods[j].node >= 0 && v->pods[j].serial > v->pods[k].serial;
            for (int r = 0; r < RES_N && v->pods[k].exists && v->pods[k].node >= 0; r++) {
                left[v->pods[k].node][r] -= later_n < goes_n ? 0 : v->ask[r];
                gone[v->queue][r] += later_n < goes_n ? v->ask[r] : 0;
                all[r] += later_n < goes_n ? v->ask[r] : 0;
            }
        }
    }
    int fit_n = 0;
    for (int i = 0; i < NODES; i++) {
        int here = PODS;
        for (int r = 0; r < RES_N; r++)
            if (p->ask[r])
                here = left[i][r] < 0 ? 0 : left[i][r] / p->ask[r] < here ? (int)(left[i][r] / p->ask[r]) : here;
        fit_n += m->nodes[i].exists && m->nodes[i].ready ? here : 0;
    }
    for (int r = 0; r < RES_N; r++) {
        int64_t needs = p->ask[r] * p->min, after = used(m, p->queue, r) - gone[p->queue][r] + needs;
        if (needs && (all[r] < needs || (gone[p->queue][r] < needs && (double)after > m->deserved[p->queue][r])))
            return false;
    }
    return fit_n >= p->min;
}

/* ---- by turns ---- */

static int waiting_n(const struct m_group *g)
{
    int n = 0;
    for (int k = 0; k < g->count; k++)
        n += g->pods[k].exists && g->pods[k].node < 0;
    return n;
}

static bool are_alike(const struct m_group *a, const struct m_group *b)
{
    return a->exists && b->exists && a->queue == b->queue && a->priority == b->priority && !a->size && !b->size && a->keeps == b->keeps &&
           !a->kept_n && !b->kept_n && !memcmp(a->ask, b->ask, sizeof a->ask);
}

int out_of_turn(const struct model *m, const int grown[GROUPS])
{
    for (int i = 0; i < GROUPS * GROUPS; i++) {
        const struct m_group *a = &m->groups[i / GROUPS], *b = &m->groups[i % GROUPS];
        int above = staying_n(a) - a->min, other = staying_n(b) - b->min;
        if (grown[i / GROUPS] && are_alike(a, b) && above > 0 && other >= 0 && other + 1 < above && waiting_n(b))
            return i / GROUPS;
    }
    return -1;
}
