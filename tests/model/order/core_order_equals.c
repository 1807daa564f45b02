/* core_order_equals.c - of those whom Kueue orders by nothing but when they were let in, by whose end least is lost. SOURCE
 * docs/design/0018-equals.md says what is asked for; here one asks for each all over again. */
#include "core_order.h"

enum { GRACE_S = 30 };         /* of pods that say nothing */

static bool is_early(const struct model *m, const struct plain_gang *g)
{
    return !g->checking && m->w.now_ms - g->reserved_ms < 1000 * (int64_t)g->minimum_run_s;
}

static int64_t since_ms(const struct model *m, const struct plain_gang *g)
{
    return g->checkpoint_ms > g->reserved_ms && g->checkpoint_ms <= m->w.now_ms ? g->checkpoint_ms : g->reserved_ms;
}

static int grace_s(const struct plain_gang *g)
{
    return g->grace_s ? g->grace_s : GRACE_S;
}

/* Pods of the i-th beyond what the budget of its app allows, after those before it that have the same. */
static int broken_n(const struct model *m, const int *gangs, int i)
{
    const struct plain_gang *g = &m->gangs[gangs[i]];
    int before = 0, broken = 0;
    for (int k = 0; k < i; k++)
        before += m->gangs[gangs[k]].app == g->app ? m->gangs[gangs[k]].pods_n : 0;
    for (int pod = 1; pod <= g->pods_n && g->app; pod++)
        broken += before + pod > m->budgets[g->app - 1];
    return broken;
}

/* Candidates of one queue, one after the other as Kueue has them. */
void weigh_budgets(struct model *m, const struct victims *v)
{
    for (int q = 0; q < QUEUES; q++) {
        int gangs[GANGS], n = 0;
        for (int i = 0; i < v->n; i++)
            if (m->gangs[v->all[i].gang].queue == q)
                gangs[n++] = v->all[i].gang;
        for (int i = 0; i < n; i++)
            m->gangs[gangs[i]].breaks = broken_n(m, gangs, i) > 0;
    }
}

/* Below 0: a goes first. */
int compare_stakes(const struct model *m, const struct plain_gang *a, const struct plain_gang *b)
{
    if (a->breaks != b->breaks)
        return a->breaks ? 1 : -1;
    if (is_early(m, a) != is_early(m, b))
        return is_early(m, a) ? 1 : -1;
    if (since_ms(m, a) != since_ms(m, b))
        return since_ms(m, a) > since_ms(m, b) ? -1 : 1;
    return grace_s(a) - grace_s(b);
}

enum { BUDGETS_BROKEN, EARLY, LOST_S, LONGEST_GRACE_S, HARMS };

static void add_up(const struct model *m, const struct victims *v, int64_t ret[HARMS])
{
    int gangs[GANGS];
    memset(ret, 0, HARMS * sizeof *ret);
    for (int i = 0; i < v->n; i++)
        gangs[i] = v->all[i].gang;
    for (int i = 0; i < v->n; i++) {
        const struct plain_gang *g = &m->gangs[gangs[i]];
        if (g->leaving)
            continue;
        ret[BUDGETS_BROKEN] += broken_n(m, gangs, i);
        ret[EARLY] += is_early(m, g);
        ret[LOST_S] += (m->w.now_ms - since_ms(m, g)) / 1000 * pods_of(g);
        ret[LONGEST_GRACE_S] = grace_s(g) > ret[LONGEST_GRACE_S] ? grace_s(g) : ret[LONGEST_GRACE_S];
    }
}

static void find_levels(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *v, int ret[FLAVORS][RES_N])
{
    for (int i = 0; i < v->n; i++)
        lift(m, &v->all[i], true);
    FOR_EACH_CELL(f, r)
        ret[f][r] = x->amount.of[f][r] ? borrow_level(m, COHORTS + g->queue, f, r, x->amount.of[f][r]) : 0;
    for (int i = 0; i < v->n; i++)
        lift(m, &v->all[i], false);
}

/* Of anything that it needs. */
static bool borrows_farther(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *with,
                            const struct victims *than_with)
{
    int levels[FLAVORS][RES_N], before[FLAVORS][RES_N];
    bool farther = false;
    find_levels(m, g, x, with, levels);
    find_levels(m, g, x, than_with, before);
    FOR_EACH_CELL(f, r)
        farther |= levels[f][r] > before[f][r];
    return farther;
}

void spare_equals(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *v, int *level)
{
    int64_t by_order[HARMS], less[HARMS];
    int other_level, by = 0;
    m->spares = true;
    struct victims other = find_victims(m, g, x, &other_level);
    m->spares = false;
    if (!other.n || borrows_farther(m, g, x, &other, v)) /* another flavor might be better then */
        return;
    add_up(m, v, by_order);
    add_up(m, &other, less);
    while (by < HARMS && less[by] == by_order[by])
        by++;
    if (by == HARMS || less[by] > by_order[by])
        return;
    *v = other;
    *level = other_level;
    m->counts.spared_n[by]++;
}

/* ---- what is told ---- */

/* Times are near to now: when the API tells of an admission it says that it was long ago. */
void put_stakes(struct model *m, struct plain_gang *g)
{
    static const int graces_s[] = {0, 0, 10, 60};
    int64_t ran_s = (m->w.now_ms - g->reserved_ms) / 1000;
    g->minimum_run_s = random_below(&m->random, 2) ? 0 : (int)(ran_s + (int64_t)random_below(&m->random, 800) - 200);
    g->minimum_run_s = g->minimum_run_s < 0 ? 0 : g->minimum_run_s;
    g->checkpoint_ms = random_below(&m->random, 2) ? 0 : m->w.now_ms + 1000000 - (int64_t)random_below(&m->random, 3000000);
    g->checkpoint_ms = g->checkpoint_ms < 0 ? 0 : g->checkpoint_ms;
    g->grace_s = graces_s[random_below(&m->random, sizeof graces_s / sizeof *graces_s)];
    if (m->only_grace) { /* nothing but that tells them apart: all have written one since they were let in */
        g->minimum_run_s = 0;
        g->checkpoint_ms = 5000;
    }
}

void put_budgets(struct model *m)
{
    for (int i = 0; i < APPS; i++) {
        if (m->step && random_below(&m->random, 4))
            continue;
        char name[16];
        snprintf(name, sizeof name, "a%d", i + 1);
        name_id app = id(&m->w, name);
        struct requirement r = {.key = id(&m->w, "app"), .op = REQUIRE_IN, .values = &app, .values_n = 1};
        m->budgets[i] = (int)random_below(&m->random, 4);
        struct budget_record b = {.key = id(&m->w, name), .ns = id(&m->w, "ns"), .pods = {.all = &r, .all_n = 1}, .allowed = m->budgets[i]};
        state_apply(m->w.s, &(struct change){.type = CHANGE_BUDGET, .budget = b});
    }
}

int pods_of(const struct plain_gang *g)
{
    int n = 0;
    for (int i = 0; i < g->sets_n; i++)
        n += g->given.count[i];
    return n;
}

/* Of gangs with an app: their pods stand on the one node, or where they were given places, or are there no more. */
void tell_pods(struct model *m, struct plain_gang *g, const struct gang_record *r, bool are_there)
{
    struct world *w = &m->w;
    char key[32], label[16];
    snprintf(label, sizeof label, "app=a%d", g->app);
    if (!g->app || are_there == (g->pods_n > 0))
        return;
    for (int set = 0; set < g->sets_n; set++)
        for (int i = 0; i < g->given.count[set]; i++) {
            snprintf(key, sizeof key, "ns/p%d-%d-%d", g->serial, set, i);
            if (!are_there) {
                gone(w, CHANGE_POD_GONE, key);
                continue;
            }
            struct pod_record p = a_pod(w, key, text_of(w, r->key), "");
            p.shape = r->pod_sets[set].shape;
            p.shape.labels = labels_of(w, label, &p.shape.labels_n);
            p.pod_set = r->pod_sets[set].name;
            p.node = id(w, node_of(m, g, set, i));
            if (m->places.in_parts)
                p.devices = id(w, devices_of(m, g, set, i));
            p.phase = POD_RUNNING;
            pod_record(w, p);
        }
    g->pods_n = are_there ? pods_of(g) : 0;
}
