/* core_order_random.c - random trees, gangs that come, end and leave, and what the API says of them */
#include "core_order.h"

uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- trees ---- */

static bool is_covered(const struct tree_node *n, int f, int r)
{
    bool any = false;
    for (int i = 0; i < n->groups_n; i++)
        for (int at = 0; at < n->groups[i].flavors_n; at++)
            any |= n->groups[i].covers[r] && n->groups[i].flavors[at] == f;
    return any;
}

static void put_quotas(struct model *m, int i)
{
    FOR_EACH_CELL(f, r) {
        int64_t unit = r ? 1 : 1000;
        struct plain_quota *q = &m->nodes[i].quota[f][r];
        *q = (struct plain_quota){0};
        q->named = i >= COHORTS ? is_covered(&m->nodes[i], f, r) : f < m->flavors_n && r < m->resources_n && pick(m, 3) == 0;
        if (!q->named)
            continue;
        q->nominal = unit * pick(m, i < COHORTS ? 4 : 8);
        q->borrowing = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
        q->lending = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
    }
    forget_sums(m);
}

static void shuffle(struct model *m, int *all, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)pick(m, (uint32_t)i + 1), one = all[i];
        all[i] = all[k];
        all[k] = one;
    }
}

/* Of a plain world all queues have one group, with the same two flavors; else each has one or two groups of its own, of some flavors in any
 * order. */
static void put_groups(struct model *m, struct tree_node *n)
{
    int all[FLAVORS] = {0, 1, 2, 3}, at = 0;
    n->groups_n = m->plain || pick(m, 3) == 0 ? 1 : 2;
    if (!m->plain)
        shuffle(m, all, FLAVORS);
    memset(n->groups, 0, sizeof n->groups);
    for (int i = 0; i < n->groups_n; i++) {
        struct group *group = &n->groups[i];
        group->flavors_n = m->plain ? m->flavors_n : 1 + (int)pick(m, 2);
        for (int k = 0; k < group->flavors_n; k++)
            group->flavors[k] = all[at++];
    }
    for (int r = 0; r < m->resources_n; r++)
        n->groups[r < n->groups_n ? r : (int)pick(m, (uint32_t)n->groups_n)].covers[r] = true;
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
    n->level_first = pick(m, 3) == 0;
    if (m->quiet && n->within == PREEMPT_NEVER && (n->parent < 0 || n->reclaim == PREEMPT_NEVER))
        n->within = PREEMPT_LOWER_PRIORITY;
    if (m->seed % 4 == 0) { /* nobody is preempted, but by heads of StrictFIFO queues that take back what they lent: longer lives */
        n->within = n->borrow = PREEMPT_NEVER;
        n->reclaim = n->strict && n->parent >= 0 ? PREEMPT_ANY : PREEMPT_NEVER;
    }
}

static void put_tree(struct model *m)
{
    static const int weights[] = {1000, 1000, 1000, 2000, 333, 0};
    for (int i = 0; i < NODES; i++) {
        struct tree_node *n = &m->nodes[i];
        n->parent = i < COHORTS ? (i && pick(m, 4) ? (int)pick(m, (uint32_t)i) : -1) : (int)pick(m, COHORTS + 1) - 1;
        n->strict = pick(m, 3) == 0;
        n->borrow_stops = pick(m, 2);
        n->weight_milli = weights[pick(m, sizeof weights / sizeof *weights)];
        n->volcano = m->seed % 3 == 0 && pick(m, 3);
        n->priority = n->volcano ? (int)pick(m, 3) - 1 : 0;
        n->by_consumption = pick(m, 3);
        put_policies(m, n);
        if (i >= COHORTS)
            put_groups(m, n);
        if (i >= COHORTS && pick(m, 4) == 0)
            n->check = CHECKS_ALL + (int)pick(m, 1 + (uint32_t)m->flavors_n);
        put_quotas(m, i);
    }
}

/* ---- gangs ---- */

static void make_alike(struct plain_gang *g, const struct plain_gang *to)
{
    g->queue = to->queue;
    g->local = to->local;
    g->charged_only = to->charged_only;
    g->sets_n = to->sets_n;
    memcpy(g->sets, to->sets, sizeof g->sets);
    for (int i = 0; i < g->sets_n; i++)
        g->sets[i].count = g->sets[i].asked_n;
}

/* Some ask for one resource only, and then perhaps for that of another group than the set before. In a world with a topology that are most,
 * as nobody stands anywhere with flavors of two groups. */
static void put_sets(struct model *m, struct plain_gang *g)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    bool two = m->places.n && own->check < CHECKS_FLAVOR && pick(m, 3) == 0; /* not where places are asked for in some flavors only */
    int most = m->plain ? 1 + two : own->groups_n > 1 ? 2 : SETS;
    g->sets_n = m->places.n && own->check >= CHECKS_FLAVOR ? 1 : m->plain ? most : 1 + (int)pick(m, (uint32_t)most);
    for (int i = 0; i < g->sets_n; i++) {
        struct pod_group *set = &g->sets[i];
        bool only = !m->plain && (pick(m, 3) == 0 || (m->places.n && pick(m, 4)));
        int one = m->places.n && !i ? 0 : (int)pick(m, RES_N);
        set->count = set->asked_n = set->fewest = m->only_grace ? 1 : 1 + (int)pick(m, 3);
        for (int r = 0; r < m->resources_n; r++)
            set->ask[r] = only && r != one ? 0 : r ? pick(m, 4) : 500 * (1 + pick(m, 4));
        if (m->places.n)
            put_domains(m, set);
    }
    if (m->places.n && own->groups_n == 1 && g->sets_n > 1 && pick(m, 2))
        put_group(m, g);
    for (uint32_t n = pick(m, 4) == 0 ? 1 + pick(m, 2) : 0; n; n--) {
        struct pod_group *set = &g->sets[pick(m, (uint32_t)g->sets_n)];
        if (set->in_group && (set->asked_n == 1 || set->slices_n))
            continue;
        set->count = set->asked_n += (int)pick(m, 3);
        set->fewest = 1 + (int)pick(m, (uint32_t)set->asked_n);
    }
    g->sets[0].ask[0] += (g->sets[0].ask[0] ? 0 : 500) + (g - m->gangs); /* below GANGS: nobody else's who is there */
}

static void new_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->exists)
        return;
    *g = (struct plain_gang){.exists = true, .active = true, .leaves_for = -1, .serial = ++m->serial, .queue = (int)pick(m, QUEUES),
                             .local = (int)pick(m, LOCALS), .priority = (int)pick(m, 3), .created_ms = 1000 + pick(m, 6)};
    g->due_ms = g->serial % 4 ? 0 : 5000 + g->serial % 3;
    put_sets(m, g);
    g->charged_only = pick(m, 3) == 0;
    g->app = (int)pick(m, 1 + APPS);
    const struct plain_gang *other = &m->gangs[pick(m, GANGS)];
    if (other->exists && m->seed % 3)
        make_alike(g, other);
    g->charged_only &= !m->places.n;
    put_stakes(m, g);
    gang_record(&m->w, record_of(m, g));
}

/* Somebody else, who knows of no promise, has let one in where room is promised. */
static void new_gang_of_others(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->exists || !m->promises_n || m->places.n)
        return;
    const struct plain_promise *p = &m->promises[pick(m, (uint32_t)m->promises_n)];
    *g = (struct plain_gang){.exists = true, .active = true, .admitted = true, .leaves_for = -1, .serial = ++m->serial, .queue = p->queue,
                             .local = (int)pick(m, LOCALS), .priority = (int)pick(m, 3), .created_ms = 1000 + pick(m, 6)};
    g->sets_n = m->gangs[p->gang].sets_n;
    memcpy(g->sets, m->gangs[p->gang].sets, sizeof g->sets);
    g->sets[0].ask[0] = g->sets[0].ask[0] / 500 * 500 + GANGS + (g - m->gangs); /* once it waits it is like nobody else */
    g->given = p->given;
    g->reserved_ms = 1000 * (1 + pick(m, 4));
    struct amounts a = charged_now(g);
    add_amounts(m, g->queue, &a, 1);
    put_stakes(m, g);
    gang_record(&m->w, record_of(m, g));
    consumption_lands(m, g);
}

static void end_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    char name[16];
    if (!g->exists || (!g->admitted && pick(m, 3)) || (g->admitted && !g->leaving && pick(m, 3)))
        return;
    struct amounts a = charged_now(g);
    if (g->admitted)
        add_amounts(m, g->queue, &a, -1);
    forget_victim(m, g);
    if (promise_of(m, g))
        drop_promise(m, promise_of(m, g));
    consumption_leaves(m, g);
    consumption_forgets(m, g);
    tell_pods(m, g, NULL, false);
    snprintf(name, sizeof name, "g%d", g->serial);
    gone(&m->w, CHANGE_GANG_GONE, name);
    g->exists = false;
}

static void carry_out_one(struct model *m, struct plain_gang *g, int victim_of)
{
    bool reserved = victim_of == RESERVED;
    char name[16];
    snprintf(name, sizeof name, "g%d", g->serial);
    if (!reserved && victim_of != ADMITTED && victim_of != READY) {
        outcome(&m->w, EFFECT_EVICT, name, NULL, OUTCOME_DONE);
        return;
    }
    /* WHY not another time then: candidates would be in another order by what the API says alone, which wakes nobody */
    if (!g->leaving && victim_of != READY) {
        g->reserved_ms = 1000 * (1 + pick(m, 4));
        g->reserved_ms = is_forced(m) ? m->w.now_ms - m->w.now_ms % 1000 : g->reserved_ms;
    }
    g->checking = reserved;
    put_stakes(m, g);
    struct gang_record r = record_of(m, g);
    outcome(&m->w, reserved ? EFFECT_RESERVE : EFFECT_ADMIT, name, NULL, OUTCOME_DONE);
    gang_record(&m->w, r);
    if (reserved)
        return;
    tell_pods(m, g, &r, true);
    consumption_lands(m, g);
}

/* What the API says by then of those that were admitted, and of those that were told to leave. */
void carry_out(struct model *m)
{
    for (int i = 0; i < m->decided_n; i++)
        carry_out_one(m, &m->gangs[m->decided[i].gang], m->decided[i].victim_of);
    tell_moved(m);
}

static void let_leave(struct model *m)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->exists || !g->leaving || pick(m, 3) == 0)
            continue;
        struct amounts a = charged_now(g);
        add_amounts(m, g->queue, &a, -1);
        forget_victim(m, g);
        consumption_leaves(m, g);
        if (!g->active)
            consumption_forgets(m, g);
        g->leaving = g->admitted = false;
        g->on = (struct seats){0};
        g->leaves_for = -1;
        put_back_checked(m, g);
        tell_pods(m, g, NULL, false);
        gang_record(&m->w, record_of(m, g));
    }
}

/* Now and then another weight, another mode of a queue, or a status that somebody else has written. */
static void put_locals(struct model *m)
{
    static const int weights[] = {1000, 1000, 2000, 333, 0};
    if (!m->consumption.on || pick(m, 3))
        return;
    int q = (int)pick(m, QUEUES), l = (int)pick(m, LOCALS);
    m->locals[q][l].weight_milli = weights[pick(m, sizeof weights / sizeof *weights)];
    m->nodes[COHORTS + q].by_consumption = pick(m, 4);
    tell_local(m, q, l, pick(m, 3) ? -1 : (int)pick(m, 8), 100 * pick(m, 40));
}

/* So that everybody is tried: whom they wait for is found anew, too. */
static void tell_all(struct model *m)
{
    if (!pick(m, 12))
        put_quotas(m, (int)pick(m, NODES));
    while (m->promises_n)
        drop_promise(m, m->promises);
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].alone = false;
    m->in_vain = false;
    m->w.now_ms += 400000; /* who was in vain has waited by then */
    for (int i = 0; i < COHORTS; i++)
        tell_cohort(m, i);
    put_locals(m);
    for (int i = 0; i < QUEUES; i++)
        tell_queue(m, i);
}

void change_something(struct model *m)
{
    let_leave(m);
    answer_checks(m);
    put_budgets(m);
    change_places(m);
    for (uint32_t n = 1 + pick(m, 8); n; n--)
        new_gang(m);
    for (uint32_t n = pick(m, 16); n; n--)
        end_gang(m);
    if (pick(m, 4) == 0)
        new_gang_of_others(m);
    m->told = !m->quiet || !m->step || m->in_vain || !pick(m, 3);
    if (!m->told)
        node(&m->w, m->places.n ? "of no flavor" : "n0",
             arena_printf(m->w.records, "cpu=%d,nvidia.com/gpu=%d,memory=%d", 1000000000 + (int)m->step, 1000000 + (int)m->step,
                          1000000 + (int)m->step), "");
    else
        tell_all(m);
    m->w.hold = pick(m, m->quiet ? 4 : 8) == 0; /* lines stand ready when the next cycle begins */
    m->counts.held_n += m->w.hold;
    m->w.now_ms += pick(m, 3) ? pick(m, 3000) : 0;
}

/* ---- a new world ---- */

static void begin_consumption(struct model *m)
{
    /* Cycles in which queues are not told are close to each other: there, too, what was used is another amount in each. */
    static const int64_t half_lives_ms[] = {400, 1500, 3000, 0, 200000, 800000, 60000000, 604800000};
    static const int64_t samplings_ms[] = {200, 1000, 150000, 300000, 600000};
    struct resource_weight weights[RES_N];
    for (int r = 0; r < RES_N; r++) {
        m->resource_weights[r] = (int)pick(m, 4);
        weights[r] = (struct resource_weight){resources[r], m->resource_weights[r] * INT64_C(1000000000)};
    }
    m->consumption = (struct consumption_policy){.on = m->seed % 5 < 3, .weights = weights, .weights_n = RES_N};
    m->consumption.half_life_ms = half_lives_ms[pick(m, m->quiet ? 4 : 8)];
    m->consumption.sampling_ms = samplings_ms[pick(m, m->quiet ? 3 : 5)];
    state_set_consumption_policy(m->w.s, &m->consumption);
}

void begin(struct model *m)
{
    static const enum fair_strategy strategies[] = {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE};
    m->w = world_new();
    if (m->seed / 4 % 2) {
        m->w.fair = (struct fair_policy){.on = true, .strategies_n = m->seed / 8 % 3, .strategies = {strategies[0], strategies[1]}};
        if (m->w.fair.strategies_n == 1 && m->seed / 24 % 2)
            m->w.fair.strategies[0] = strategies[1];
    }
    bool has_places = m->seed / 16 % 8 == 7;
    m->quiet = m->seed % 2;
    m->w.no_remedies = m->seed % 8 || has_places; /* half of the time goes there, and nothing is compared of it */
    begin_consumption(m);
    m->plain = pick(m, 2);
    m->only_grace = pick(m, 3) == 0;
    m->flavors_n = m->plain ? 2 : FLAVORS;
    m->resources_n = m->plain ? 2 : RES_N;
    for (int f = 0; f < FLAVORS; f++)
        flavor(&m->w, flavors[f], "");
    if (has_places) {
        put_places(m);
        tell_places(m);
    } else {
        node(&m->w, "n0", "cpu=1000000000,nvidia.com/gpu=1000000,memory=1000000", "");
    }
    put_tree(m);
    for (int i = 0; i < QUEUES; i++)
        for (int l = 0; l < LOCALS; l++) {
            m->locals[i][l].weight_milli = 1000;
            tell_local(m, i, l, -1, 0);
        }
    for (int i = 0; i < QUEUES && m->seed % 2; i++)
        tell_queue(m, i); /* else gangs are told before their queues */
}

