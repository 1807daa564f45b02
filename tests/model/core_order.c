/* core_order.c - who is admitted, in which order, with which flavor, and who is preempted for whom: random cohort trees against Kueue's
 * cycle written out plainly
 *
 *   core_order [SEED [STEPS [RUNS]]]
 *
 * Nodes have room for all, so only quota and order decide. The cycle: the head of every queue; who borrows less comes first, then priority,
 * age, uid; each is tried with what those before it left; a head that fails blocks a StrictFIFO queue and steps aside in a BestEffortFIFO
 * one; again until no queue has a head. StrictFIFO queues in a cohort may reclaim whatever they lent, so a blocked head keeps nothing for
 * itself. The first head for whom others must go ends the cycle here, and the world after it: who is admitted up to then, and who is
 * evicted, in which order and for which reason, is what the core must say. What becomes of it is asked by core_events.c.
 * Every gang asks for an amount of its own: no two are alike to the core.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

enum { COHORTS = 4, QUEUES = 5, NODES = COHORTS + QUEUES, FLAVORS = 2, RES_N = 2, GANGS = 40 };
static const char *const resources[RES_N] = {"cpu", "nvidia.com/gpu"};
static const char *const flavors[FLAVORS] = {"fa", "fb"};

struct quota {
    bool named;
    int64_t nominal, borrowing, lending;
};
struct tree_node {             /* cohorts, then queues */
    int parent;                /* -1: root */
    bool strict, borrow_stops, preempt_stops;
    enum preemption_policy within, reclaim, borrow;
    int threshold;             /* -1: none */
    struct quota quota[FLAVORS][RES_N];
    int64_t own[FLAVORS][RES_N];
};
struct plain_gang {
    bool exists, admitted, tried;
    int serial, queue, priority, flavor, count;
    int64_t created_ms, reserved_ms, ask[RES_N];
};
struct victim {
    int gang, class;           /* class: 0 whatever its priority, 1 by priority, 2 own queue */
    bool while_borrowing;
    int shared;                /* lowest cohort that both are below; -1: own queue */
};
struct victims {
    struct victim all[GANGS];
    int n;
};
struct model {
    struct world w;
    struct random random;
    struct tree_node nodes[NODES];
    struct plain_gang gangs[GANGS];
    int order[GANGS], order_n; /* as the reference admits */
    struct victims evicted;    /* and then evicts */
    uint32_t preemptions_n, evicts_n[3];
    uint64_t seed, step;
    int serial;
    uint32_t admits_n;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- the tree: core/quota/quota.h's definitions ---- */

static int64_t max0(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t kept(const struct model *m, int i, int f, int r);

static int64_t subtree(const struct model *m, int i, int f, int r)
{
    const struct quota *q = &m->nodes[i].quota[f][r];
    int64_t sum = q->named ? q->nominal : 0;
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += subtree(m, c, f, r) - kept(m, c, f, r);
    return sum;
}

static int64_t kept(const struct model *m, int i, int f, int r)
{
    const struct quota *q = &m->nodes[i].quota[f][r];
    return !q->named || q->lending == NO_LIMIT ? 0 : max0(subtree(m, i, f, r) - q->lending);
}

static int64_t usage(const struct model *m, int i, int f, int r)
{
    int64_t sum = m->nodes[i].own[f][r];
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i)
            sum += max0(usage(m, c, f, r) - kept(m, c, f, r));
    return sum;
}

static int64_t available(const struct model *m, int i, int f, int r)
{
    const struct quota *q = &m->nodes[i].quota[f][r];
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

static int height(const struct model *m, int i)
{
    int most = 0;
    for (int c = 0; c < NODES && i < COHORTS; c++)
        if (m->nodes[c].parent == i && height(m, c) + 1 > most)
            most = height(m, c) + 1;
    return most;
}

/* The height of the smallest subtree that holds the amount on top of what is used. */
static int borrow_level(const struct model *m, int i, int f, int r, int64_t amount)
{
    while (m->nodes[i].parent >= 0 && usage(m, i, f, r) + amount > subtree(m, i, f, r)) {
        amount -= max0(kept(m, i, f, r) - usage(m, i, f, r));
        i = m->nodes[i].parent;
    }
    return height(m, i);
}

/* ---- preemption ---- */

static int64_t potential(struct model *m, int i, int f, int r)
{
    int64_t own[QUEUES];
    for (int q = 0; q < QUEUES; q++) {
        own[q] = m->nodes[COHORTS + q].own[f][r];
        m->nodes[COHORTS + q].own[f][r] = 0;
    }
    int64_t most = available(m, i, f, r);
    for (int q = 0; q < QUEUES; q++)
        m->nodes[COHORTS + q].own[f][r] = own[q];
    return most;
}

/* What is asked of the flavor, and of which of it there is too little. */
struct need {
    int flavor;
    int64_t amount[RES_N];
    bool is_short[RES_N];
};

static bool is_above(const struct model *m, int i, const struct need *x)
{
    for (int r = 0; r < RES_N; r++)
        if (x->is_short[r] && usage(m, i, x->flavor, r) > subtree(m, i, x->flavor, r))
            return true;
    return false;
}

static bool is_below(const struct model *m, int i, int cohort)
{
    while (i >= 0 && i != cohort)
        i = m->nodes[i].parent;
    return i >= 0;
}

static bool allows(enum preemption_policy p, const struct plain_gang *g, const struct plain_gang *v)
{
    return p == PREEMPT_ANY || (p != PREEMPT_NEVER && v->priority < g->priority) ||
           (p == PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY && v->priority == g->priority && v->created_ms > g->created_ms);
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
    int64_t left[RES_N];
    bool any = false;
    memcpy(left, x->amount, sizeof left);
    for (int i = COHORTS + g->queue; i != shared; i = m->nodes[i].parent) {
        bool holds = true;
        for (int r = 0; r < RES_N; r++) {
            if (!x->amount[r])
                continue;
            holds &= usage(m, i, x->flavor, r) + left[r] <= subtree(m, i, x->flavor, r);
            left[r] = max0(left[r] - max0(kept(m, i, x->flavor, r) - usage(m, i, x->flavor, r)));
        }
        any |= holds;
    }
    return any;
}

static bool goes_before(const struct model *m, const struct victim *a, const struct victim *b)
{
    const struct plain_gang *x = &m->gangs[a->gang], *y = &m->gangs[b->gang];
    char left[16], right[16];
    if (a->class != b->class)
        return a->class < b->class;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (x->reserved_ms != y->reserved_ms)
        return x->reserved_ms > y->reserved_ms;
    snprintf(left, sizeof left, "g%d", x->serial);
    snprintf(right, sizeof right, "g%d", y->serial);
    return strcmp(left, right) < 0;
}

static struct victims candidates(const struct model *m, const struct plain_gang *g, const struct need *x)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct victims out = {.n = 0};
    for (int i = 0; i < GANGS; i++) {
        const struct plain_gang *v = &m->gangs[i];
        bool uses = false, same = v->queue == g->queue;
        for (int r = 0; r < RES_N; r++)
            uses |= x->is_short[r] && v->ask[r] && v->flavor == x->flavor;
        if (!v->exists || !v->admitted || !uses || !allows(same ? own->within : own->reclaim, g, v))
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
        int at = out.n++;
        for (; at > 0 && goes_before(m, &one, &out.all[at - 1]); at--)
            out.all[at] = out.all[at - 1];
        out.all[at] = one;
    }
    return out;
}

static void take_off(struct model *m, const struct victim *v, int sign)
{
    const struct plain_gang *g = &m->gangs[v->gang];
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + g->queue].own[g->flavor][r] -= sign * g->ask[r] * g->count;
}

static bool holds(const struct model *m, const struct plain_gang *g, const struct need *x, bool borrows)
{
    int queue = COHORTS + g->queue;
    for (int r = 0; r < RES_N; r++)
        if (x->amount[r] && (x->amount[r] > available(m, queue, x->flavor, r) ||
                             (!borrows && usage(m, queue, x->flavor, r) + x->amount[r] > subtree(m, queue, x->flavor, r))))
            return false;
    return true;
}

static struct victims remove_some(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *from,
                                  bool borrows, int *ret_level)
{
    struct victims out = {.n = 0};
    bool enough = false;
    for (int i = 0; i < from->n && !enough; i++) {
        const struct victim *one = &from->all[i];
        if (one->class != 2 && ((borrows && !one->while_borrowing) ||
                                !path_is_above(m, COHORTS + m->gangs[one->gang].queue, one->shared, x)))
            continue;
        take_off(m, one, 1);
        out.all[out.n++] = *one;
        enough = holds(m, g, x, borrows);
    }
    for (int i = out.n - 2; i >= 0 && enough; i--) {
        struct victim one = out.all[i];
        take_off(m, &one, -1);
        if (!holds(m, g, x, borrows)) {
            take_off(m, &one, 1);
            continue;
        }
        memmove(&out.all[i], &out.all[i + 1], (size_t)(--out.n - i) * sizeof one);
    }
    *ret_level = 0;
    for (int r = 0; r < RES_N && enough; r++) {
        int level = x->amount[r] ? borrow_level(m, COHORTS + g->queue, x->flavor, r, x->amount[r]) : 0;
        *ret_level = level > *ret_level ? level : *ret_level;
    }
    for (int i = 0; i < out.n; i++)
        take_off(m, &out.all[i], -1);
    out.n = enough ? out.n : 0;
    return out;
}

static struct victims find_victims(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct victims from = candidates(m, g, x), out;
    bool others = false, hierarchy = false, under = true, forbidden = own->borrow == PREEMPT_NEVER;
    for (int i = 0; i < from.n; i++) {
        others |= from.all[i].class != 2;
        hierarchy |= from.all[i].class == 0;
    }
    for (int r = 0; r < RES_N; r++)
        under &= !x->is_short[r] || own->own[x->flavor][r] < own->quota[x->flavor][r].nominal;
    if (!others || (forbidden && !under))
        return remove_some(m, g, x, &from, true, ret_level);
    bool first = !(forbidden && !hierarchy);
    out = remove_some(m, g, x, &from, first, ret_level);
    return out.n ? out : remove_some(m, g, x, &from, !first, ret_level);
}

/* ---- the cycle ---- */

enum mode { MODE_FITS, MODE_RECLAIMS, MODE_PREEMPTS, MODE_NOT };
struct choice {
    int flavor, level;
    enum mode mode;
};

/* One flavor and resource for itself. */
static enum mode mode_of(struct model *m, const struct plain_gang *g, int f, int r, int *ret_level)
{
    int queue = COHORTS + g->queue, i = queue;
    int64_t need = g->ask[r] * g->count, left = need;
    *ret_level = borrow_level(m, queue, f, r, need);
    if (need <= available(m, queue, f, r))
        return MODE_FITS;
    if (need > potential(m, queue, f, r))
        return MODE_NOT;
    while (m->nodes[i].parent >= 0 && usage(m, i, f, r) + left > subtree(m, i, f, r)) {
        left -= max0(kept(m, i, f, r) - usage(m, i, f, r));
        i = m->nodes[i].parent;
    }
    if (need > m->nodes[queue].quota[f][r].nominal && m->nodes[queue].borrow == PREEMPT_NEVER && m->nodes[i].parent < 0)
        return MODE_NOT;
    struct need x = {.flavor = f};
    x.amount[r] = need;
    x.is_short[r] = true;
    struct victims v = find_victims(m, g, &x, ret_level);
    enum mode mode = v.n ? MODE_RECLAIMS : MODE_NOT;
    for (int k = 0; k < v.n; k++)
        mode = v.all[k].class == 2 ? MODE_PREEMPTS : mode;
    return mode;
}

/* Flavors in order: fitting is better than taking back, and that than ending one's own; then the lower level. */
static struct choice find_flavor(struct model *m, const struct plain_gang *g, int but)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct choice best = {.flavor = -1, .mode = MODE_NOT};
    for (int f = 0; f < FLAVORS; f++) {
        struct choice one = {.flavor = f};
        for (int r = 0; r < RES_N; r++) {
            int level;
            enum mode mode = g->ask[r] ? mode_of(m, g, f, r, &level) : MODE_FITS;
            one.mode = mode > one.mode ? mode : one.mode;
            one.level = g->ask[r] && level > one.level ? level : one.level;
        }
        if (one.mode == MODE_NOT || (but >> f & 1))
            continue;
        if (one.mode < best.mode || (one.mode == best.mode && one.level < best.level))
            best = one;
        if ((!one.level || own->borrow_stops) && (one.mode == MODE_FITS || own->preempt_stops))
            break;
    }
    return best;
}

/* The gang's end of the cycle: which flavor, or who must go. Flavors in which nobody can are passed over. */
static struct choice decide_one(struct model *m, const struct plain_gang *g, struct victims *ret_victims)
{
    struct choice c;
    ret_victims->n = 0;
    for (int but = 0; (c = find_flavor(m, g, but)).flavor >= 0; but |= 1 << c.flavor) {
        struct need x = {.flavor = c.flavor};
        if (c.mode == MODE_FITS)
            return c;
        for (int r = 0; r < RES_N; r++) {
            x.amount[r] = g->ask[r] * g->count;
            x.is_short[r] = x.amount[r] && x.amount[r] > available(m, COHORTS + g->queue, c.flavor, r); /* below 0 after a cut */
        }
        *ret_victims = find_victims(m, g, &x, &c.level);
        if (ret_victims->n)
            return c;
    }
    return c;
}

/* Where it stands in a round though nothing can be done for it: as if those in the way gave way. */
static int level_of_failing(struct model *m, const struct plain_gang *g)
{
    int queue = COHORTS + g->queue, best = -1, best_level = 0;
    for (int f = 0; f < FLAVORS; f++) {
        int level = 0;
        bool may = true;
        for (int r = 0; r < RES_N; r++) {
            int64_t need = g->ask[r] * g->count;
            int borrows = need ? borrow_level(m, queue, f, r, need) : 0;
            bool waits = need <= potential(m, queue, f, r) &&
                         (need <= m->nodes[queue].quota[f][r].nominal || m->nodes[queue].borrow != PREEMPT_NEVER);
            level = borrows > level ? borrows : level;
            may &= !need || need <= available(m, queue, f, r) || waits;
        }
        if (!may)
            continue;
        if (best < 0 || level < best_level) {
            best = f;
            best_level = level;
        }
        if (!level || m->nodes[queue].borrow_stops)
            break;
    }
    return best_level;
}

static bool before(const struct plain_gang *a, const struct plain_gang *b)
{
    char left[16], right[16];
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms;
    snprintf(left, sizeof left, "g%d", a->serial);
    snprintf(right, sizeof right, "g%d", b->serial);
    return strcmp(left, right) < 0;
}

static struct plain_gang *head_of(struct model *m, int queue, bool blocked)
{
    struct plain_gang *head = NULL;
    for (int i = 0; i < GANGS && !blocked; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (g->exists && !g->admitted && !g->tried && g->queue == queue && (!head || before(g, head)))
            head = g;
    }
    return head;
}

static void try_one(struct model *m, struct plain_gang *g, bool blocked[QUEUES])
{
    int f = decide_one(m, g, &m->evicted).flavor;
    g->tried = true;
    if (m->evicted.n)
        return;
    if (f < 0) {
        blocked[g->queue] |= m->nodes[COHORTS + g->queue].strict;
        return;
    }
    g->admitted = true;
    g->reserved_ms = 1000000; /* just now: later than all that the API has told of */
    g->flavor = f;
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + g->queue].own[f][r] += g->ask[r] * g->count;
    m->order[m->order_n++] = (int)(g - m->gangs);
}

static void reference(struct model *m)
{
    bool blocked[QUEUES] = {false};
    struct victims unused;
    m->order_n = m->evicted.n = 0;
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].tried = false;
    for (;;) {
        struct plain_gang *heads[QUEUES];
        int levels[QUEUES], n = 0;
        for (int q = 0; q < QUEUES; q++) {
            struct plain_gang *g = head_of(m, q, blocked[q]);
            if (!g)
                continue;
            struct choice c = decide_one(m, g, &unused);
            int level = c.flavor < 0 ? level_of_failing(m, g) : c.level;
            int at = n++;
            for (; at > 0 && (level < levels[at - 1] || (level == levels[at - 1] && before(g, heads[at - 1]))); at--) {
                heads[at] = heads[at - 1];
                levels[at] = levels[at - 1];
            }
            heads[at] = g;
            levels[at] = level;
        }
        if (!n)
            return;
        for (int i = 0; i < n && !m->evicted.n; i++)
            try_one(m, heads[i], blocked);
        if (m->evicted.n)
            return;
    }
}

/* ---- telling the core ---- */

static struct gang_record record_of(struct model *m, const struct plain_gang *g)
{
    struct world *w = &m->w;
    char name[16], queue[16], requests[64];
    snprintf(name, sizeof name, "g%d", g->serial);
    snprintf(queue, sizeof queue, "ns/lq%d", g->queue);
    snprintf(requests, sizeof requests, "cpu=%d,nvidia.com/gpu=%d", (int)g->ask[0], (int)g->ask[1]);
    struct gang_record r = a_workload(w, name, queue, g->count, requests);
    r.priority = g->priority;
    r.created_ms = g->created_ms;
    if (g->admitted) {
        struct flavor_choice *choices = arena_zero(w->records, RES_N, sizeof *choices);
        for (int k = 0; k < RES_N; k++)
            choices[k] = (struct flavor_choice){0, id(w, resources[k]), id(w, flavors[g->flavor])};
        snprintf(queue, sizeof queue, "q%d", g->queue);
        r.admitted = true;
        r.reserved_ms = g->reserved_ms;
        r.admitted_queue = id(w, queue);
        r.choices = choices;
        r.choices_n = RES_N;
    }
    return r;
}

static void tell_cohort(struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[i];
    struct quota_record quotas[FLAVORS * RES_N];
    char name[16], parent[16];
    snprintf(name, sizeof name, "co%d", i);
    snprintf(parent, sizeof parent, "co%d", n->parent);
    struct cohort_record r = {.name = id(&m->w, name), .parent = n->parent < 0 ? 0 : id(&m->w, parent), .quotas = quotas};
    for (int f = 0; f < FLAVORS; f++)
        for (int k = 0; k < RES_N; k++)
            if (n->quota[f][k].named)
                quotas[r.quotas_n++] = (struct quota_record){.flavor = id(&m->w, flavors[f]), .resource = id(&m->w, resources[k]),
                                                             .nominal = n->quota[f][k].nominal, .borrowing_limit = n->quota[f][k].borrowing,
                                                             .lending_limit = n->quota[f][k].lending};
    state_apply(m->w.s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static void tell_queue(struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[COHORTS + i];
    struct queue_words q;
    char name[16], cohort[16];
    snprintf(name, sizeof name, "q%d", i);
    snprintf(cohort, sizeof cohort, "co%d", n->parent);
    queue_begin(&m->w, &q, name, n->parent < 0 ? NULL : cohort);
    q.r.strategy = n->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    q.r.borrow_before_next_flavor = n->borrow_stops;
    q.r.preempt_before_next_flavor = n->preempt_stops;
    q.r.within_queue = n->within;
    q.r.reclaim_within_cohort = n->reclaim;
    q.r.borrow_within_cohort = n->borrow;
    q.r.has_borrow_threshold = n->threshold >= 0;
    q.r.borrow_threshold = n->threshold;
    for (int f = 0; f < FLAVORS; f++)
        for (int k = 0; k < RES_N; k++)
            queue_quota(&m->w, &q, flavors[f], resources[k], n->quota[f][k].nominal, n->quota[f][k].borrowing, n->quota[f][k].lending);
    queue_done(&m->w, &q);
}

/* ---- random steps ---- */

static void put_quotas(struct model *m, int i)
{
    for (int f = 0; f < FLAVORS; f++)
        for (int r = 0; r < RES_N; r++) {
            int64_t unit = r ? 1 : 1000;
            struct quota *q = &m->nodes[i].quota[f][r];
            q->named = i >= COHORTS || pick(m, 3) == 0;
            q->nominal = unit * pick(m, i < COHORTS ? 4 : 8);
            q->borrowing = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
            q->lending = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
        }
}

static void put_policies(struct model *m, struct tree_node *n)
{
    static const enum preemption_policy within[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY},
                                        reclaim[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_ANY};
    n->within = within[pick(m, 3)];
    n->reclaim = n->strict && n->parent >= 0 ? PREEMPT_ANY : reclaim[pick(m, 3)];
    n->borrow = n->reclaim != PREEMPT_NEVER && pick(m, 2) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    n->threshold = (int)pick(m, 4) - 1;
    n->preempt_stops = pick(m, 4) == 0;
    if (m->seed % 4 == 0) { /* nobody is preempted, but by heads of StrictFIFO queues that take back what they lent: longer lives */
        n->within = n->borrow = PREEMPT_NEVER;
        n->reclaim = n->strict && n->parent >= 0 ? PREEMPT_ANY : PREEMPT_NEVER;
    }
}

static void put_tree(struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        struct tree_node *n = &m->nodes[i];
        n->parent = i < COHORTS ? (i && pick(m, 4) ? (int)pick(m, (uint32_t)i) : -1) : (int)pick(m, COHORTS + 1) - 1;
        n->strict = pick(m, 3) == 0;
        n->borrow_stops = pick(m, 2);
        put_policies(m, n);
        put_quotas(m, i);
    }
}

static void new_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->exists)
        return;
    *g = (struct plain_gang){.exists = true, .serial = ++m->serial, .queue = (int)pick(m, QUEUES), .priority = (int)pick(m, 3),
                             .created_ms = 1000 + pick(m, 6), .count = 1 + (int)pick(m, 3)};
    g->ask[0] = 500 * (1 + pick(m, 4)) + m->serial % 400;
    g->ask[1] = pick(m, 4);
    gang_record(&m->w, record_of(m, g));
}

static void end_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    char name[16];
    if (!g->exists || (!g->admitted && pick(m, 3)))
        return;
    for (int r = 0; r < RES_N && g->admitted; r++)
        m->nodes[COHORTS + g->queue].own[g->flavor][r] -= g->ask[r] * g->count;
    snprintf(name, sizeof name, "g%d", g->serial);
    gone(&m->w, CHANGE_GANG_GONE, name);
    g->exists = false;
}

static void fail(struct model *m, const char *what, int at)
{
    const struct plan *p = &m->w.plan;
    fprintf(stderr, "core_order: seed %" PRIu64 " step %" PRIu64 ": %s at %d\n  Kueue's cycle:", m->seed, m->step, what, at);
    for (int i = 0; i < m->order_n; i++)
        fprintf(stderr, " g%d (q%d, %s)", m->gangs[m->order[i]].serial, m->gangs[m->order[i]].queue, flavors[m->gangs[m->order[i]].flavor]);
    for (int i = 0; i < m->evicted.n; i++)
        fprintf(stderr, " -g%d", m->gangs[m->evicted.all[i].gang].serial);
    fprintf(stderr, "\n  the core:     ");
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect == EFFECT_EVICT)
            fprintf(stderr, " -%s", text_of(&m->w, p->entries[i].gang));
        else if (p->entries[i].effect == EFFECT_ADMIT)
            fprintf(stderr, " %s (%s, %s)", text_of(&m->w, p->entries[i].gang), text_of(&m->w, p->entries[i].queue),
                    p->entries[i].choices_n ? text_of(&m->w, p->entries[i].choices[0].flavor) : "-");
    fprintf(stderr, "\n");
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            fprintf(stderr, "  g%d: q%d priority %d created %d, %d x cpu %d gpu %d, %s\n", m->gangs[i].serial, m->gangs[i].queue,
                    m->gangs[i].priority, (int)m->gangs[i].created_ms, m->gangs[i].count, (int)m->gangs[i].ask[0], (int)m->gangs[i].ask[1],
                    m->gangs[i].admitted ? flavors[m->gangs[i].flavor] : why(&m->w, arena_printf(m->w.cycle, "g%d", m->gangs[i].serial)));
    for (int i = COHORTS; i < NODES; i++)
        fprintf(stderr, "  q%d: within %d reclaim %d borrow %d max %d%s\n", i - COHORTS, m->nodes[i].within, m->nodes[i].reclaim,
                m->nodes[i].borrow, m->nodes[i].threshold, m->nodes[i].preempt_stops ? ", preempts first" : "");
    for (int i = 0; i < NODES; i++)
        for (int f = 0; f < FLAVORS; f++)
            fprintf(stderr, "  %s%d under co%d %s%s: %s cpu %s%d borrow %d lend %d, gpu %s%d borrow %d lend %d\n", i < COHORTS ? "co" : "q",
                    i < COHORTS ? i : i - COHORTS, m->nodes[i].parent, m->nodes[i].strict ? "strict " : "",
                    m->nodes[i].borrow_stops ? "stops" : "", flavors[f], m->nodes[i].quota[f][0].named ? "" : "-",
                    (int)m->nodes[i].quota[f][0].nominal, (int)m->nodes[i].quota[f][0].borrowing, (int)m->nodes[i].quota[f][0].lending,
                    m->nodes[i].quota[f][1].named ? "" : "-", (int)m->nodes[i].quota[f][1].nominal, (int)m->nodes[i].quota[f][1].borrowing,
                    (int)m->nodes[i].quota[f][1].lending);
    exit(1);
}

static void compare_victims(struct model *m, uint32_t from)
{
    static const enum preemption reasons[] = {PREEMPTION_RECLAIM, PREEMPTION_RECLAIM, PREEMPTION_IN_QUEUE};
    for (int i = 0; i < m->evicted.n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[from + (uint32_t)i];
        const struct victim *v = &m->evicted.all[i];
        char name[16];
        snprintf(name, sizeof name, "g%d", m->gangs[v->gang].serial);
        if (from + (uint32_t)i >= m->w.plan.entries_n || e->effect != EFFECT_EVICT || e->gang != id(&m->w, name))
            fail(m, arena_printf(m->w.cycle, "another victim than %s", name), i);
        enum preemption why = v->class == 1 && v->while_borrowing ? PREEMPTION_RECLAIM_WHILE_BORROWING : reasons[v->class];
        if (e->reason->code != REASON_PREEMPTED || e->reason->have != (int64_t)why)
            fail(m, arena_printf(m->w.cycle, "another reason for %s than %s", name, preemption_name(why)), i);
        m->evicts_n[why]++;
    }
    m->preemptions_n++;
}

static void compare(struct model *m)
{
    int at = 0;
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[i];
        char name[16];
        if (e->effect == EFFECT_EVICT && at == m->order_n && m->evicted.n) {
            compare_victims(m, i);
            return;
        }
        if (e->effect == EFFECT_EVICT)
            fail(m, arena_printf(m->w.cycle, "%s is evicted too early, or for nothing", text_of(&m->w, e->gang)), at);
        if (e->effect != EFFECT_ADMIT)
            continue;
        if (at == m->order_n)
            fail(m, "one admission too many", at);
        const struct plain_gang *g = &m->gangs[m->order[at]];
        snprintf(name, sizeof name, "g%d", g->serial);
        if (e->gang != id(&m->w, name))
            fail(m, "another gang", at);
        for (uint32_t k = 0; k < e->choices_n; k++)
            if (e->choices[k].flavor != id(&m->w, flavors[g->flavor]))
                fail(m, "another flavor", at);
        at++;
    }
    if (at < m->order_n)
        fail(m, "an admission is missing", at);
    if (m->evicted.n)
        fail(m, arena_printf(m->w.cycle, "g%d is not evicted", m->gangs[m->evicted.all[0].gang].serial), 0);
}

static void begin(struct model *m);

static void step(struct model *m)
{
    struct err e = {0};
    arena_reset(m->w.records);
    for (uint32_t n = 1 + pick(m, 8); n; n--)
        new_gang(m);
    for (uint32_t n = pick(m, 16); n; n--)
        end_gang(m);
    if (!pick(m, 12))
        put_quotas(m, (int)pick(m, NODES));
    for (int i = 0; i < COHORTS; i++)
        tell_cohort(m, i);
    for (int i = 0; i < QUEUES; i++)
        tell_queue(m, i); /* all of it, so that everybody is tried in every cycle */
    reference(m);
    run(&m->w);
    compare(m);
    if (!state_check(m->w.s, &e))
        fail(m, e.text, 0);
    m->admits_n += (uint32_t)m->order_n;
    if (m->evicted.n) {
        world_free(&m->w);
        begin(m);
        return;
    }
    for (int i = 0; i < m->order_n; i++) {
        struct plain_gang *g = &m->gangs[m->order[i]];
        char name[16];
        g->reserved_ms = 1000 * (1 + pick(m, 4));
        snprintf(name, sizeof name, "g%d", g->serial);
        outcome(&m->w, EFFECT_ADMIT, name, NULL, OUTCOME_DONE);
        gang_record(&m->w, record_of(m, g));
    }
}

static void begin(struct model *m)
{
    m->w = world_new();
    memset(m->nodes, 0, sizeof m->nodes);
    memset(m->gangs, 0, sizeof m->gangs);
    for (int f = 0; f < FLAVORS; f++)
        flavor(&m->w, flavors[f], "");
    node(&m->w, "n0", "cpu=1000000000,nvidia.com/gpu=1000000", "");
    put_tree(m);
    for (int i = 0; i < QUEUES; i++) {
        char key[16], queue[16];
        snprintf(key, sizeof key, "ns/lq%d", i);
        snprintf(queue, sizeof queue, "q%d", i);
        local_queue(&m->w, key, queue);
    }
    for (int i = 0; i < QUEUES && m->seed % 2; i++)
        tell_queue(m, i); /* else gangs are told before their queues */
}

static uint64_t preemptions_n, evicts_n[3];

static uint32_t run_seed(uint64_t seed, uint64_t steps)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    begin(m);
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    world_free(&m->w);
    preemptions_n += m->preemptions_n;
    for (int i = 0; i < 3; i++)
        evicts_n[i] += m->evicts_n[i];
    return m->admits_n;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 100;
    uint64_t admits = 0;
    for (uint64_t i = 0; i < runs; i++)
        admits += run_seed(seed + i, steps);
    printf("# %" PRIu64 " admissions in the order of Kueue's cycle, %" PRIu64 " preemptions: %" PRIu64 " of the own queue, %" PRIu64
           " of others, %" PRIu64 " of others while borrowing\n",
           admits, preemptions_n, evicts_n[0], evicts_n[1], evicts_n[2]);
    return admits && evicts_n[0] && evicts_n[1] && evicts_n[2] ? 0 : 1;
}
