#include "core_order.h"

/* ---- the tree: core/quota/quota.h's definitions; a sum is kept until something of it changes, as sums are most of what this costs ---- */

/* False: it has to be summed up now, and is known from then on. */
static bool is_known(struct sums *all, int i, int f, int r)
{
    bool known = all->known[i][f][r];
    all->known[i][f][r] = true;
    return known;
}

int64_t max0(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t sum_of_quotas(const struct model *m, int i, int f, int r)
{
    const struct plain_quota *q = &m->nodes[i].quota[f][r];
    int64_t sum = q->named ? q->nominal : 0;
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += subtree(m, c, f, r) - kept(m, c, f, r);
    return sum;
}

int64_t subtree(const struct model *m, int i, int f, int r)
{
    struct sums *all = m->quotas;
    if (!is_known(all, i, f, r))
        all->of[i][f][r] = sum_of_quotas(m, i, f, r);
    return all->of[i][f][r];
}

int64_t kept(const struct model *m, int i, int f, int r)
{
    const struct plain_quota *q = &m->nodes[i].quota[f][r];
    return !q->named || q->lending == NO_LIMIT ? 0 : max0(subtree(m, i, f, r) - q->lending);
}

static int64_t sum_of_usage(const struct model *m, int i, int f, int r)
{
    int64_t sum = m->nodes[i].own[f][r];
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += max0(usage(m, c, f, r) - kept(m, c, f, r));
    return sum;
}

int64_t usage(const struct model *m, int i, int f, int r)
{
    struct sums *all = m->usages;
    if (!is_known(all, i, f, r))
        all->of[i][f][r] = sum_of_usage(m, i, f, r);
    return all->of[i][f][r];
}

void forget_sums(struct model *m)
{
    memset(m->quotas, 0, sizeof *m->quotas);
    memset(m->usages, 0, sizeof *m->usages);
    memset(m->potentials, 0, sizeof *m->potentials);
}

static void put_own(struct model *m, int i, int f, int r, int64_t amount)
{
    m->nodes[i].own[f][r] = amount;
    for (; i >= 0; i = m->nodes[i].parent)
        m->usages->known[i][f][r] = false;
}

int64_t available(const struct model *m, int i, int f, int r)
{
    const struct plain_quota *q = &m->nodes[i].quota[f][r];
    int64_t used = usage(m, i, f, r), keeps = kept(m, i, f, r);
    if (m->nodes[i].parent < 0)
        return subtree(m, i, f, r) - used;
    int64_t from_parent = available(m, m->nodes[i].parent, f, r);
    if (q->named && q->borrowing != NO_LIMIT) {
        int64_t most = subtree(m, i, f, r) - keeps - max0(used - keeps) + q->borrowing;
        from_parent = most < from_parent ? most : from_parent;
    }
    return max0(keeps - used) + from_parent;
}

int root_of(const struct model *m, int i)
{
    while (m->nodes[i].parent >= 0)
        i = m->nodes[i].parent;
    return i;
}

int height(const struct model *m, int i)
{
    int most = 0;
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i && height(m, c) + 1 > most)
            most = height(m, c) + 1;
    return most;
}

int borrow_level(const struct model *m, int i, int f, int r, int64_t amount)
{
    while (m->nodes[i].parent >= 0 && usage(m, i, f, r) + amount > subtree(m, i, f, r)) {
        amount -= max0(kept(m, i, f, r) - usage(m, i, f, r));
        i = m->nodes[i].parent;
    }
    return height(m, i);
}

/* As if nobody used anything. */
static int64_t most_of(struct model *m, int i, int f, int r)
{
    int64_t own[QUEUES];
    for (int q = 0; q < QUEUES; q++) {
        own[q] = m->nodes[COHORTS + q].own[f][r];
        put_own(m, COHORTS + q, f, r, 0);
    }
    int64_t most = available(m, i, f, r);
    for (int q = 0; q < QUEUES; q++)
        put_own(m, COHORTS + q, f, r, own[q]);
    return most;
}

int64_t potential(struct model *m, int i, int f, int r)
{
    struct sums *all = m->potentials;
    if (!is_known(all, i, f, r))
        all->of[i][f][r] = most_of(m, i, f, r);
    return all->of[i][f][r];
}

/* ---- amounts ---- */

int64_t asked_of(const struct plain_gang *g, int r)
{
    int64_t sum = 0;
    for (int i = 0; i < g->sets_n; i++)
        sum += g->sets[i].ask[r] * g->sets[i].count;
    return sum;
}

struct amounts charged(const struct plain_gang *g, const struct given *given)
{
    struct amounts a = {0};
    for (int i = 0; i < g->sets_n; i++)
        for (int r = 0; r < RES_N; r++)
            if (given->flavor[i][r] >= 0)
                a.of[given->flavor[i][r]][r] += g->sets[i].ask[r] * given->count[i];
    return a;
}

struct amounts charged_now(const struct plain_gang *g)
{
    return charged(g, &g->given);
}

void add_amounts(struct model *m, int queue, const struct amounts *a, int sign)
{
    FOR_EACH_CELL(f, r)
        if (a->of[f][r])
            put_own(m, COHORTS + queue, f, r, m->nodes[COHORTS + queue].own[f][r] + sign * a->of[f][r]);
}

/* ---- shares: core/quota/share.h's definition ---- */

struct plain_share plain_share(struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[i];
    struct plain_share most = {0, 1, false, false};
    for (int r = 0; r < RES_N && n->parent >= 0; r++) {
        int64_t borrowed = 0, lendable = 0;
        for (int f = 0; f < FLAVORS; f++) {
            borrowed += max0(usage(m, i, f, r) - subtree(m, i, f, r));
            lendable += potential(m, n->parent, f, r);
        }
        most.borrows |= borrowed > 0;
        if (lendable > 0 && (__int128)borrowed * most.whole > most.borrowed * lendable) {
            most.borrowed = borrowed;
            most.whole = lendable;
        }
    }
    most.infinite = !n->weight_milli && most.borrowed;
    most.borrowed *= 1000;
    most.whole *= n->weight_milli ? n->weight_milli : 1000;
    return most;
}

int compare_shares(struct plain_share a, struct plain_share b)
{
    if (a.infinite != b.infinite)
        return a.infinite ? 1 : -1;
    __int128 left = a.borrowed * b.whole, right = b.borrowed * a.whole;
    return left < right ? -1 : left > right;
}
