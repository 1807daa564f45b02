/* core_victims.c - pods of no queue in random clusters: who is evicted for whom, against kube-scheduler's rule written out plainly
 *
 *   core_victims [SEED [STEPS [RUNS]]]
 *
 * Every step is a cluster of its own: nodes, pods of many priorities on them, disruption budgets, and pods that wait. The waiting ones come
 * by priority, then age. For each: all of lower priority leave a node; if it fits then, they come back one by one, those that a budget
 * protects first, then by priority, then who began first; who cannot come back is a victim. Of the nodes: fewest broken budgets, lowest
 * highest priority, least sum of priorities, fewest, whose highest began last, name. What was promised to one is not there for those after
 * it, nor is the node for who may not stand beside it, and its victims are nobody else's. The first that fits without anybody's end is
 * where the comparison stops: which node it takes is asked elsewhere.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"

enum { NODES = 5, STANDING = 24, WAITING = 5, BUDGETS = 3, RES_N = 2, APPS = 3, PORTS = 3 };
static const char *const resources[RES_N] = {"cpu", "nvidia.com/gpu"};

struct plain_pod {
    int node, priority, app, port, apart; /* port, apart: 0 none; apart: no pod with that app on its node */
    int64_t ask[RES_N], started_ms;
    bool never, gone, foreign;
};
struct plain_budget {
    int app, allowed;
};
struct set {
    int node, victims[STANDING], n, broken_n;
};
struct model {
    struct random random;
    int64_t room[NODES][RES_N];
    bool ready[NODES];
    struct plain_pod standing[STANDING], waiting[WAITING];
    int standing_n, waiting_n, budgets_n;
    struct plain_budget budgets[BUDGETS];
    int promised[WAITING];       /* to the pod that waits: a node; -1: none */
    int64_t held[NODES][RES_N];  /* beyond what its victims still have, for pods that were promised a node */
    struct set expected[WAITING];
    int expected_n;
    uint64_t seed, step;
    uint32_t victims_n, sets_n;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- the rule ---- */

static bool are_apart(const struct plain_pod *a, const struct plain_pod *b)
{
    return (a->apart && a->apart == b->app) || (b->apart && b->apart == a->app);
}

static bool fits(const struct model *m, const struct plain_pod *p, int node, const bool away[STANDING])
{
    for (int r = 0; r < RES_N; r++) {
        int64_t left = m->room[node][r] - m->held[node][r];
        for (int i = 0; i < m->standing_n; i++)
            left -= m->standing[i].node == node && !away[i] ? m->standing[i].ask[r] : 0;
        if (p->ask[r] > left)
            return false;
    }
    int64_t pods = 110;
    for (int i = 0; i < m->standing_n; i++) {
        const struct plain_pod *s = &m->standing[i];
        if (s->node != node || away[i])
            continue;
        pods--;
        if ((p->port && p->port == s->port) || are_apart(p, s))
            return false;
    }
    for (int w = 0; w < m->waiting_n; w++)
        if (m->promised[w] == node && are_apart(p, &m->waiting[w]))
            return false;
    return m->ready[node] && pods > 0;
}

static bool is_more_important(const struct plain_pod *all, int a, int b)
{
    if (all[a].priority != all[b].priority)
        return all[a].priority > all[b].priority;
    int64_t a_ms = all[a].started_ms ? all[a].started_ms : INT64_MAX, b_ms = all[b].started_ms ? all[b].started_ms : INT64_MAX;
    return a_ms != b_ms ? a_ms < b_ms : a < b; /* names are s00, s01, ... */
}

static void sort(const struct model *m, int *list, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i; k > 0 && is_more_important(m->standing, list[k], list[k - 1]); k--) {
            int swap = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swap;
        }
}

static bool is_protected(const struct model *m, const int *list, int at)
{
    for (int b = 0; b < m->budgets_n; b++) {
        int before = 0;
        for (int i = 0; i <= at; i++)
            before += m->standing[list[i]].app == m->budgets[b].app;
        if (m->standing[list[at]].app == m->budgets[b].app && before > m->budgets[b].allowed)
            return true;
    }
    return false;
}

/* False: the node does not do. */
static bool victims_on(const struct model *m, const struct plain_pod *p, int node, struct set *ret)
{
    int list[STANDING], n = 0;
    bool away[STANDING] = {false};
    *ret = (struct set){.node = node};
    for (int i = 0; i < m->standing_n; i++)
        if (m->standing[i].node == node && !m->standing[i].gone && !m->standing[i].foreign && m->standing[i].priority < p->priority) {
            list[n++] = i;
            away[i] = true;
        }
    if (!n || !fits(m, p, node, away))
        return false;
    sort(m, list, n);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < n; i++) {
            if (is_protected(m, list, i) == half)
                continue;
            away[list[i]] = false;
            if (fits(m, p, node, away))
                continue;
            away[list[i]] = true;
            ret->victims[ret->n++] = list[i];
            ret->broken_n += !half;
        }
    sort(m, ret->victims, ret->n);
    return ret->n > 0;
}

static int64_t score(const struct model *m, const struct set *s, int what)
{
    int64_t sum = 0, first = INT64_MAX;
    for (int i = 0; i < s->n; i++) {
        const struct plain_pod *v = &m->standing[s->victims[i]];
        int64_t began = v->started_ms ? v->started_ms : INT64_MAX;
        sum += (int64_t)v->priority - INT32_MIN;
        if (v->priority == m->standing[s->victims[0]].priority && began < first)
            first = began;
    }
    return what == 0 ? s->broken_n : what == 1 ? m->standing[s->victims[0]].priority : what == 2 ? sum : what == 3 ? s->n : -first;
}

static bool is_better(const struct model *m, const struct set *a, const struct set *b)
{
    for (int what = 0; what < 5; what++)
        if (score(m, a, what) != score(m, b, what))
            return score(m, a, what) < score(m, b, what);
    return false; /* the first by name stays */
}

/* The others' room on the node: at most what is free there. */
static void hold(struct model *m, const struct plain_pod *p, const struct set *s)
{
    for (int r = 0; r < RES_N; r++) {
        int64_t kept = p->ask[r], left = m->room[s->node][r] - m->held[s->node][r];
        for (int i = 0; i < s->n; i++)
            kept -= m->standing[s->victims[i]].ask[r];
        for (int i = 0; i < m->standing_n; i++)
            left -= m->standing[i].node == s->node ? m->standing[i].ask[r] : 0;
        kept = kept < left ? kept : left;
        m->held[s->node][r] += kept > 0 ? kept : 0;
    }
    for (int i = 0; i < s->n; i++)
        m->standing[s->victims[i]].gone = true;
}

/* False: one fits as it is. */
static bool reference(struct model *m)
{
    static const bool nobody[STANDING];
    m->expected_n = 0;
    memset(m->held, 0, sizeof m->held);
    memset(m->promised, -1, sizeof m->promised);
    for (int w = 0; w < m->waiting_n; w++) { /* made in this order */
        const struct plain_pod *p = &m->waiting[w];
        struct set best = {0}, one;
        for (int n = 0; n < NODES; n++)
            if (fits(m, p, n, nobody))
                return false;
        for (int n = 0; n < NODES && !p->never; n++)
            if (victims_on(m, p, n, &one) && (!best.n || is_better(m, &one, &best)))
                best = one;
        if (best.n) {
            hold(m, p, &best);
            m->promised[w] = best.node;
            m->expected[m->expected_n++] = best;
        }
    }
    return true;
}

/* ---- worlds ---- */

static struct plain_pod a_plain_pod(struct model *m, int priorities)
{
    struct plain_pod p = {.node = (int)pick(m, NODES), .priority = (int)pick(m, (uint32_t)priorities) - 1, .app = (int)pick(m, APPS + 1)};
    p.ask[0] = 1 + pick(m, 4);
    p.ask[1] = pick(m, 3);
    p.started_ms = pick(m, 4) ? 1000 * (1 + pick(m, 4)) : 0;
    p.port = pick(m, 10) ? 0 : 1 + (int)pick(m, PORTS);
    return p;
}

static int compare_waiting(const void *left, const void *right)
{
    const struct plain_pod *a = left, *b = right;
    return a->priority > b->priority ? -1 : a->priority < b->priority;
}

static void make(struct model *m)
{
    static const bool nobody[STANDING];
    bool anti = !pick(m, 4);
    m->standing_n = 0;
    memset(m->held, 0, sizeof m->held);
    m->waiting_n = 0;
    for (int n = 0; n < NODES; n++) {
        m->ready[n] = pick(m, 8) != 0;
        m->room[n][0] = 6 + pick(m, 8);
        m->room[n][1] = pick(m, 6);
    }
    for (int i = 0; i < STANDING; i++) {
        struct plain_pod p = a_plain_pod(m, 4);
        bool ready = m->ready[p.node];
        p.foreign = !pick(m, 8);
        m->ready[p.node] = true;
        if (fits(m, &p, p.node, nobody))
            m->standing[m->standing_n++] = p;
        m->ready[p.node] = ready;
    }
    m->budgets_n = (int)pick(m, BUDGETS + 1);
    for (int i = 0; i < m->budgets_n; i++)
        m->budgets[i] = (struct plain_budget){1 + (int)pick(m, APPS), (int)pick(m, 3)};
    m->waiting_n = 1 + (int)pick(m, WAITING);
    for (int i = 0; i < m->waiting_n; i++) {
        struct plain_pod p = a_plain_pod(m, 5);
        p.ask[0] = 2 + pick(m, 9);
        p.ask[1] = pick(m, 5);
        p.never = !pick(m, 8);
        p.apart = anti && !pick(m, 2) ? 1 + (int)pick(m, APPS) : 0;
        m->waiting[i] = p;
    }
    qsort(m->waiting, (size_t)m->waiting_n, sizeof *m->waiting, compare_waiting);
}

/* ---- the same for the core ---- */

static struct pod_record record_of(struct world *w, const struct plain_pod *p, const char *kind, int number)
{
    char name[16], requests[64], app[16];
    snprintf(name, sizeof name, "ns/%s%02d", kind, number);
    snprintf(requests, sizeof requests, "%s=%" PRId64 ",%s=%" PRId64, resources[0], p->ask[0], resources[1], p->ask[1]);
    struct pod_record r = a_pod(w, name, NULL, requests);
    r.priority = p->priority;
    r.started_ms = p->started_ms;
    r.preempts_nobody = p->never;
    r.ours = !p->foreign;
    snprintf(app, sizeof app, "app=a%d", p->app);
    r.shape.labels = labels_of(w, p->app ? app : "", &r.shape.labels_n);
    struct host_port *port = arena_zero(w->records, 1, sizeof *port);
    port->port = (uint16_t)p->port;
    r.shape.ports = port;
    r.shape.ports_n = p->port != 0;
    struct pod_affinity *a = arena_zero(w->records, 1, sizeof *a);
    struct requirement *selects = arena_zero(w->records, 1, sizeof *selects);
    name_id *values = arena_zero(w->records, 2, sizeof *values);
    snprintf(app, sizeof app, "a%d", p->apart);
    values[0] = id(w, app);
    values[1] = id(w, "ns");
    *selects = (struct requirement){.key = id(w, "app"), .op = REQUIRE_IN, .values = values, .values_n = 1};
    *a = (struct pod_affinity){.pods = {.all = selects, .all_n = 1}, .namespaces = &values[1], .namespaces_n = 1,
                               .topology_key = id(w, "host"), .anti = true};
    r.shape.affinities = a;
    r.shape.affinities_n = p->apart != 0;
    return r;
}

static void tell(struct model *m, struct world *w)
{
    for (int n = 0; n < NODES; n++) {
        char name[8], amounts[64], labels[16];
        snprintf(name, sizeof name, "n%d", n);
        snprintf(labels, sizeof labels, "host=n%d", n);
        snprintf(amounts, sizeof amounts, "%s=%" PRId64 ",%s=%" PRId64, resources[0], m->room[n][0], resources[1], m->room[n][1]);
        struct node_record r = a_node(w, name, amounts, labels);
        r.ready = m->ready[n];
        node_record(w, r);
    }
    for (int i = 0; i < m->standing_n; i++) {
        struct pod_record r = record_of(w, &m->standing[i], "s", i);
        char node_name[8];
        snprintf(node_name, sizeof node_name, "n%d", m->standing[i].node);
        r.node = id(w, node_name);
        r.phase = POD_RUNNING;
        pod_record(w, r);
    }
    for (int i = 0; i < m->waiting_n; i++)
        pod_record(w, record_of(w, &m->waiting[i], "w", i));
    for (int i = 0; i < m->budgets_n; i++) {
        char key[8], app[8];
        snprintf(key, sizeof key, "b%d", i);
        snprintf(app, sizeof app, "a%d", m->budgets[i].app);
        name_id value = id(w, app);
        struct requirement r = {.key = id(w, "app"), .op = REQUIRE_IN, .values = &value, .values_n = 1};
        struct budget_record b = {.key = id(w, key), .ns = id(w, "ns"), .pods = {.all = &r, .all_n = 1}, .allowed = m->budgets[i].allowed};
        state_apply(w->s, &(struct change){.type = CHANGE_BUDGET, .budget = b});
    }
}

/* ---- are they the same? ---- */

static void print_world(const struct model *m)
{
    for (int n = 0; n < NODES; n++)
        fprintf(stderr, "  n%d ready %d cpu %d gpu %d\n", n, m->ready[n], (int)m->room[n][0], (int)m->room[n][1]);
    for (int i = 0; i < m->standing_n + m->waiting_n; i++) {
        bool stands = i < m->standing_n;
        const struct plain_pod *p = stands ? &m->standing[i] : &m->waiting[i - m->standing_n];
        fprintf(stderr, "  %s%02d on %d priority %d app %d port %d apart %d never %d foreign %d since %d cpu %d gpu %d\n", stands ? "s" : "w",
                stands ? i : i - m->standing_n, stands ? p->node : -1, p->priority, p->app, p->port, p->apart, p->never, p->foreign,
                (int)p->started_ms, (int)p->ask[0], (int)p->ask[1]);
    }
    for (int i = 0; i < m->budgets_n; i++)
        fprintf(stderr, "  budget of app %d allows %d\n", m->budgets[i].app, m->budgets[i].allowed);
}

static void compare(struct model *m, struct world *w)
{
    uint32_t at = 0;
    char expected[400] = "", decided[400] = "";
    size_t n = 0;
    for (int i = 0; i < m->expected_n; i++) {
        m->sets_n++;
        m->victims_n += (uint32_t)m->expected[i].n;
        for (int k = 0; k < m->expected[i].n; k++)
            n += (size_t)snprintf(expected + n, sizeof expected - n, "s%02d@n%d ", m->expected[i].victims[k], m->expected[i].node);
    }
    for (n = 0; at < w->plan.entries_n; at++) {
        const struct plan_entry *e = &w->plan.entries[at];
        if (e->effect == EFFECT_EVICT)
            n += (size_t)snprintf(decided + n, sizeof decided - n, "%s@%s ", text_of(w, e->gang) + 7, text_of(w, e->reason->flavor));
    }
    if (strcmp(expected, decided) == 0)
        return;
    fprintf(stderr, "core_victims: seed %" PRIu64 " step %" PRIu64 ": decided \"%s\", expected \"%s\"\n", m->seed, m->step, decided,
            expected);
    print_world(m);
    exit(1);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 4;
    static struct model m;
    for (uint64_t i = 0; i < runs; i++) {
        m = (struct model){.seed = seed + i};
        m.random.state = m.seed;
        for (m.step = 0; m.step < steps; m.step++) {
            make(&m);
            struct world w = world_new();
            struct err e = {0};
            tell(&m, &w);
            bool none_fits = reference(&m);
            run(&w);
            if (!state_check(w.s, &e)) {
                fprintf(stderr, "core_victims: seed %" PRIu64 " step %" PRIu64 ": %s\n", m.seed, m.step, e.text);
                return 1;
            }
            if (none_fits)
                compare(&m, &w);
            world_free(&w);
        }
        printf("# seed %" PRIu64 ": %u victims for %u pods\n", m.seed, m.victims_n, m.sets_n);
    }
    return 0;
}
