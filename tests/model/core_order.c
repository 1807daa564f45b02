/* core_order.c - who is admitted, in which order, with which flavor: random cohort trees against Kueue's cycle written out plainly
 *
 *   core_order [SEED [STEPS [RUNS]]]
 *
 * Nodes have room for all, so only quota and order decide. The cycle: the head of every queue; who borrows less comes first, then priority,
 * age, uid; each is tried with what those before it left; a head that fails blocks a StrictFIFO queue and steps aside in a BestEffortFIFO
 * one; again until no queue has a head. StrictFIFO queues here may reclaim, so a blocked head keeps nothing for itself.
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
    bool strict, borrow_stops;
    struct quota quota[FLAVORS][RES_N];
    int64_t own[FLAVORS][RES_N];
};
struct plain_gang {
    bool exists, admitted, tried;
    int serial, queue, priority, flavor, count;
    int64_t created_ms, ask[RES_N];
};
struct model {
    struct world w;
    struct random random;
    struct tree_node nodes[NODES];
    struct plain_gang gangs[GANGS];
    int order[GANGS], order_n; /* as the reference admits */
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

/* ---- the cycle ---- */

/* Flavors in order; one within own quota ends the search, one that borrows too when the queue says so, else the lowest level. */
static int find_flavor(const struct model *m, const struct plain_gang *g, int *ret_level)
{
    int queue = COHORTS + g->queue, best = -1;
    for (int f = 0; f < FLAVORS; f++) {
        int level = 0;
        bool fits = true;
        for (int r = 0; r < RES_N; r++) {
            int64_t need = g->ask[r] * g->count;
            if (!need)
                continue;
            int borrows = borrow_level(m, queue, f, r, need);
            level = borrows > level ? borrows : level;
            fits &= need <= available(m, queue, f, r);
        }
        if (!fits)
            continue;
        if (best < 0 || level < *ret_level) {
            best = f;
            *ret_level = level;
        }
        if (!level || m->nodes[queue].borrow_stops)
            break;
    }
    return best;
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
    int level, f = find_flavor(m, g, &level);
    g->tried = true;
    if (f < 0) {
        blocked[g->queue] |= m->nodes[COHORTS + g->queue].strict;
        return;
    }
    g->admitted = true;
    g->flavor = f;
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + g->queue].own[f][r] += g->ask[r] * g->count;
    m->order[m->order_n++] = (int)(g - m->gangs);
}

static void reference(struct model *m)
{
    bool blocked[QUEUES] = {false};
    m->order_n = 0;
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].tried = false;
    for (;;) {
        struct plain_gang *heads[QUEUES];
        int levels[QUEUES], n = 0;
        for (int q = 0; q < QUEUES; q++) {
            struct plain_gang *g = head_of(m, q, blocked[q]);
            int level = 0;
            if (!g)
                continue;
            if (find_flavor(m, g, &level) < 0)
                level = 0; /* it fails wherever it stands */
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
        for (int i = 0; i < n; i++)
            try_one(m, heads[i], blocked);
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
    q.r.reclaim_within_cohort = PREEMPT_ANY;
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

static void put_tree(struct model *m)
{
    for (int i = 0; i < NODES; i++) {
        struct tree_node *n = &m->nodes[i];
        n->parent = i < COHORTS ? (i && pick(m, 4) ? (int)pick(m, (uint32_t)i) : -1) : (int)pick(m, COHORTS + 1) - 1;
        n->strict = pick(m, 3) == 0;
        n->borrow_stops = pick(m, 2);
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
    fprintf(stderr, "\n  the core:     ");
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect == EFFECT_ADMIT)
            fprintf(stderr, " %s (%s, %s)", text_of(&m->w, p->entries[i].gang), text_of(&m->w, p->entries[i].queue),
                    p->entries[i].choices_n ? text_of(&m->w, p->entries[i].choices[0].flavor) : "-");
    fprintf(stderr, "\n");
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            fprintf(stderr, "  g%d: q%d priority %d created %d, %d x cpu %d gpu %d, %s\n", m->gangs[i].serial, m->gangs[i].queue,
                    m->gangs[i].priority, (int)m->gangs[i].created_ms, m->gangs[i].count, (int)m->gangs[i].ask[0], (int)m->gangs[i].ask[1],
                    m->gangs[i].admitted ? flavors[m->gangs[i].flavor] : why(&m->w, arena_printf(m->w.cycle, "g%d", m->gangs[i].serial)));
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

static void compare(struct model *m)
{
    int at = 0;
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[i];
        char name[16];
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
}

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
    for (int i = 0; i < m->order_n; i++) {
        const struct plain_gang *g = &m->gangs[m->order[i]];
        char name[16];
        snprintf(name, sizeof name, "g%d", g->serial);
        outcome(&m->w, EFFECT_ADMIT, name, NULL, OUTCOME_DONE);
        gang_record(&m->w, record_of(m, g));
    }
}

static uint32_t run_seed(uint64_t seed, uint64_t steps)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->w = world_new();
    m->random.state = m->seed = seed;
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
    for (int i = 0; i < QUEUES && seed % 2; i++)
        tell_queue(m, i); /* else gangs are told before their queues */
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    world_free(&m->w);
    return m->admits_n;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 100;
    uint64_t admits = 0;
    for (uint64_t i = 0; i < runs; i++)
        admits += run_seed(seed + i, steps);
    printf("# %" PRIu64 " admissions in the order of Kueue's cycle\n", admits);
    return admits ? 0 : 1;
}
