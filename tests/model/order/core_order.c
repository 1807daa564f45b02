/* core_order.c - who is admitted, in which order, with which flavor, and who is preempted for whom: random cohort trees against Kueue's
 * cycle written out plainly
 *
 *   core_order [SEED [STEPS [RUNS]]]
 *
 * Nodes have room for all in most worlds, so only quota and order decide. The cycle: the head of every queue; who borrows less comes
 * first, then priority, age, uid, or as shares say in every other world; each is tried with what those before it left, but for those who
 * would borrow while a queue that may take that back goes on within its own quota; a head that fails blocks a StrictFIFO queue and steps
 * aside in a BestEffortFIFO one; again until no queue has a head. StrictFIFO queues in a cohort may reclaim whatever they lent, so a
 * blocked head keeps nothing for itself. Of Volcano's queues those with the highest priority go first. A head for whom others must go
 * steps aside as well, and what is promised to it is nobody else's for the rest of the cycle; those who were told to leave do so some
 * cycles later. Who is admitted and who is evicted, in which order and for which reason, is what the core must say; on hold nobody is.
 * Everybody is tried in each cycle: queues are told anew before it, or, where all of them preempt and so wait for anything, a node gains
 * room; then promises outlive the cycle.
 * Objects say how long a job should run, when its last checkpoint was and how long its pods take to end; some have pods that budgets
 * protect: of equals those go by whose end less is lost.
 * In most worlds each queue has LocalQueues, and of most queues who has used less comes first. Now and then, in a copy of the core, all who
 * wait are tried though nothing woke them: nobody may start (forced.h).
 * Most gangs ask for an amount of their own. Of those that are alike in a queue, as the core's lines have it, the first is tried for all.
 * In half of the worlds gangs have up to three pod sets and queues one or two resource groups of their own; in all some may start with
 * fewer pods. Some queues demand an admission check: it is answered some cycles later, and asked again of some that run.
 * In every eighth world flavors have a topology of one to three levels over up to six nodes, and one or two pod sets of a gang require,
 * prefer or do not mind a level, some in slices: who has quota must find places, too, others go for places as for quota, and in which
 * domains a gang stands is compared. Nodes fail there, are cordoned, go and come back, whoever stands on them or is promised them; who has
 * no pods there yet is given another one after a while, or has to go.
 * In half of those each GPU may be given in parts: of a pod set that asks for one of its thousandths quota counts whole ones, and which GPU
 * each pod has is compared, and so what of each is kept for whom others leave.
 */
#include "core_order.h"
#include "../forced.h"
#include "core/state/model.h"

enum { FORCE_EVERY = 8 };      /* steps */

/* ---- what is said of a failure ---- */

/* "2xfa,fb,-": of each pod set how many, and its flavors. */
static const char *given_words(struct model *m, const struct given *g)
{
    const char *text = "";
    for (int i = 0; i < SETS; i++) {
        text = g->count[i] ? arena_printf(m->w.cycle, "%s %dx", text, g->count[i]) : text;
        for (int r = 0; r < RES_N && g->count[i]; r++)
            text = arena_printf(m->w.cycle, "%s%s%s", text, r ? "," : "", g->flavor[i][r] < 0 ? "-" : flavors[g->flavor[i][r]]);
    }
    return text;
}

static struct given given_in(struct model *m, const struct plan_entry *e)
{
    struct given g = {0};
    memset(g.flavor, -1, sizeof g.flavor);
    for (uint32_t i = 0; i < e->counts_n; i++)
        g.count[i] = e->counts[i];
    for (uint32_t i = 0; i < e->choices_n; i++)
        for (int r = 0; r < RES_N; r++)
            for (int f = 0; f < FLAVORS; f++)
                if (e->choices[i].resource == id(&m->w, resources[r]) && e->choices[i].flavor == id(&m->w, flavors[f]))
                    g.flavor[e->choices[i].pod_set][r] = f;
    return g;
}

static const char *entry_words(struct model *m, const struct plan_entry *e)
{
    struct given g = given_in(m, e);
    return given_words(m, &g);
}

static void print_gang(struct model *m, const struct plain_gang *g)
{
    fprintf(stderr, "  g%d: q%d priority %d created %d,", g->serial, g->queue, g->priority, (int)g->created_ms);
    for (int i = 0; i < g->sets_n; i++)
        fprintf(stderr, " %d x cpu %d gpu %d memory %d,", g->sets[i].count, (int)g->sets[i].ask[0], (int)g->sets[i].ask[1],
                (int)g->sets[i].ask[2]);
    if (m->places.n)
        print_domains(m, g);
    fprintf(stderr, " %s%s; %s\n", g->admitted ? given_words(m, &g->given) : "", g->leaving ? ", leaves" : g->checking ? ", waits for its check" : "",
            why(&m->w, arena_printf(m->w.cycle, "g%d", g->serial)));
}

static void print_quota(const struct tree_node *n, int f, int r)
{
    const struct plain_quota *q = &n->quota[f][r];
    if (q->named || n->own[f][r])
        fprintf(stderr, " %s.%s %d borrow %d lend %d", flavors[f], resources[r], (int)q->nominal, (int)q->borrowing, (int)q->lending);
}

static void print_node(const struct model *m, int i)
{
    const struct tree_node *n = &m->nodes[i];
    fprintf(stderr, "  %s%d under co%d, weight %d", i < COHORTS ? "co" : "q", i < COHORTS ? i : i - COHORTS, n->parent, n->weight_milli);
    if (i >= COHORTS)
        fprintf(stderr, ", within %d reclaim %d borrow %d max %d%s%s%s%s%s %d;", n->within, n->reclaim, n->borrow, n->threshold,
                n->strict ? ", strict" : "", n->borrow_stops ? ", stops" : "", n->preempt_stops ? ", preempts first" : "",
                n->level_first ? ", level first" : n->check ? ", checks" : "", n->volcano ? ", Volcano" : "", n->priority);
    for (int g = 0; g < n->groups_n; g++) {
        fprintf(stderr, " (");
        for (int at = 0; at < n->groups[g].flavors_n; at++)
            fprintf(stderr, "%s%s", at ? " " : "", flavors[n->groups[g].flavors[at]]);
        fprintf(stderr, ")");
    }
    FOR_EACH_CELL(f, r)
        print_quota(n, f, r);
    fprintf(stderr, "\n");
}

static void print_promises_of_core(struct model *m)
{
    const struct state *s = m->w.s;
    for (uint32_t i = 0; i < s->promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        fprintf(stderr, "  the core promised to %s, level %u:", text_of(&m->w, s->promised[i]->key), p->borrow_level);
        for (uint32_t k = 0; k < p->charges_n; k++)
            fprintf(stderr, " %s.%s=%d", text_of(&m->w, p->charges[k].flavor), text_of(&m->w, p->charges[k].resource),
                    (int)p->charges[k].amount);
        for (uint32_t k = 0; k < p->rooms_n && m->places.n; k++)
            fprintf(stderr, " %s.%s=%d", text_of(&m->w, p->rooms[k].node_name), text_of(&m->w, p->rooms[k].resource),
                    (int)p->rooms[k].amount);
        for (uint32_t k = 0; k < p->victims_n; k++)
            fprintf(stderr, " -%s", text_of(&m->w, p->victims[k]->key));
        fprintf(stderr, "\n");
    }
}

static void print_world(struct model *m)
{
    print_promises_of_core(m);
    for (int i = 0; i < m->promises_n; i++) {
        const struct plain_promise *one = &m->promises[i];
        const struct plain_gang there = {.sets_n = m->gangs[one->gang].sets_n, .on = one->victims.on};
        fprintf(stderr, "  promised to g%d, level %d,%s in %s:", m->gangs[one->gang].serial, one->level, given_words(m, &one->given),
                domains_words(m, &there));
        for (int k = 0; k < one->victims.n; k++)
            fprintf(stderr, " g%d", m->gangs[one->victims.all[k].gang].serial);
        fprintf(stderr, "\n");
    }
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            print_gang(m, &m->gangs[i]);
    for (int i = 0; i < NODES; i++)
        print_node(m, i);
    print_places(m);
}

static bool is_let_in(int victim_of)
{
    return victim_of == ADMITTED || victim_of == RESERVED || victim_of == READY;
}

static void fail(struct model *m, const char *what, int at)
{
    const struct plan *p = &m->w.plan;
    fprintf(stderr, "core_order: seed %" PRIu64 " step %" PRIu64 "%s: %s at %d\n  Kueue's cycle:", m->seed, m->step,
            m->told ? "" : " (queues not told)", what, at);
    for (int i = 0; i < m->decided_n; i++) {
        const struct plain_gang *g = &m->gangs[m->decided[i].gang];
        if (is_let_in(m->decided[i].victim_of))
            fprintf(stderr, " g%d (q%d,%s%s)", g->serial, g->queue, given_words(m, &g->given),
                    m->decided[i].victim_of == RESERVED ? ", check" : "");
        else
            fprintf(stderr, " -g%d", g->serial);
    }
    fprintf(stderr, "\n  the core:     ");
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect == EFFECT_EVICT)
            fprintf(stderr, " -%s", text_of(&m->w, p->entries[i].gang));
        else if (p->entries[i].effect == EFFECT_ADMIT || p->entries[i].effect == EFFECT_RESERVE)
            fprintf(stderr, " %s (%s,%s%s)", text_of(&m->w, p->entries[i].gang), text_of(&m->w, p->entries[i].queue),
                    entry_words(m, &p->entries[i]), p->entries[i].effect == EFFECT_RESERVE ? ", check" : "");
    fprintf(stderr, "\n");
    print_world(m);
    exit(1);
}

/* ---- the core beside it ---- */

static void count_admission(struct model *m, const struct plain_gang *g, int how)
{
    bool used[FLAVORS] = {false};
    int used_n = 0;
    for (int i = 0; i < g->sets_n; i++)
        for (int r = 0; r < RES_N; r++)
            if (g->given.flavor[i][r] >= 0)
                used[g->given.flavor[i][r]] = true;
    for (int f = 0; f < FLAVORS; f++)
        used_n += used[f];
    m->counts.ready_n += how == READY;
    m->counts.reserved_n += how == RESERVED;
    m->counts.admits_n++;
    m->counts.several_sets_n += g->sets_n > 1;
    m->counts.several_groups_n += m->nodes[COHORTS + g->queue].groups_n > 1;
    m->counts.several_flavors_n += used_n > 1;
    for (int i = 0, several = 0; i < PLACES && m->places.n; i++) {
        several += is_on(&g->on, i);
        m->counts.several_domains_n += several == 2 && is_on(&g->on, i);
    }
    for (int i = 0; i < g->sets_n && m->places.n; i++)
        m->counts.domains_n[g->sets[i].mode]++;
    for (int i = 0; i < g->sets_n && m->places.n; i++)
        m->counts.sliced_n += g->sets[i].slices_n && g->sets[i].slice_size[0] > 1 && g->given.count[i] > 1;
    m->counts.sets_in_domains_n += m->places.n && g->sets_n > 1;
    for (int i = 0; i < g->sets_n && m->places.n; i++)
        m->counts.nested_n += g->sets[i].slices_n > 1 && g->sets[i].slice_size[1] > 1 && g->given.count[i] > 1;
    for (int i = 0; i < g->sets_n; i++)
        m->counts.parts_n += g->sets[i].milli > 0;
    for (int i = 0; i < g->sets_n && m->places.n; i++)
        m->counts.led_n += g->sets[i].in_group && g->given.count[i] > 1;
    m->counts.groups_in_domains_n += m->places.n && m->nodes[COHORTS + g->queue].groups_n > 1;
    for (int i = 0; i < g->sets_n; i++)
        m->counts.fewer_n += g->given.count[i] < g->sets[i].asked_n;
}

/* In the core: thousandths of each GPU that its members have. */
static void compare_gpus(struct model *m, const struct plain_gang *g)
{
    struct state *s = m->w.s;
    const struct gang *there = gang_find(s, id(&m->w, arena_printf(m->w.cycle, "g%d", g->serial)));
    int more[PLACES][PLACE_GPUS] = {0};
    for (uint32_t i = 1; i < s->seats_n; i++) {
        const struct seat *seat = &s->seats[i];
        if (!seat->node || seat->gang != there)
            continue;
        const struct device_table *t = &s->nodes.nodes[seat->node].devices;
        const struct device_bits bits = seat_devices(seat);
        int node = text_of(&m->w, s->nodes.nodes[seat->node].name)[1] - '0';
        for (uint16_t k = 0; k < t->n; k++)
            if (device_bit(&bits, k))
                more[node][t->all[k].gpu] += t->all[k].parts ? (int)seat_share(s, seat)->parts : 1000;
    }
    for (int set = 0; set < g->sets_n; set++)
        for (int i = 0; i < PLACES; i++)
            for (int k = 0; k < PLACE_GPUS; k++)
                more[i][k] -= g->on.gpus[set][i][k];
    for (int i = 0; i < PLACES; i++)
        for (int k = 0; k < m->places.all[i].has[1]; k++) /* pods may stand there whose GPUs the node has no more */
            if (more[i][k] && m->places.all[i].state != PLACE_GONE)
                fail(m, arena_printf(m->w.cycle, "g%d has %d thousandths more of GPU %d of n%d", g->serial, more[i][k], k, i), 0);
}

static void compare_given(struct model *m, const struct plan_entry *e, const struct plain_gang *g, int at)
{
    struct given given = given_in(m, e);
    if (memcmp(given.count, g->given.count, sizeof given.count) != 0)
        fail(m, arena_printf(m->w.cycle, "other counts for g%d", g->serial), at);
    for (int i = 0; i < g->sets_n; i++)
        if (memcmp(given.flavor[i], g->given.flavor[i], sizeof given.flavor[i]) != 0)
            fail(m, arena_printf(m->w.cycle, "other flavors for g%d", g->serial), at);
    const char *domains = domains_of(&m->w, text_of(&m->w, e->gang));
    if (m->places.n && strcmp(domains, domains_words(m, g)) != 0)
        fail(m, arena_printf(m->w.cycle, "g%d stands in %s, not in %s", g->serial, domains, domains_words(m, g)), at);
}

static bool is_for_reason(const struct reason *r, int victim_of)
{
    if (victim_of == RETRIED || victim_of == DEACTIVATED)
        return r->code == (victim_of == RETRIED ? REASON_CHECK_RETRIED : REASON_DEACTIVATED);
    if (victim_of == LOST)
        return r->code == REASON_NODE_LOST;
    return r->code == REASON_PREEMPTED && r->have == victim_of;
}

/* An entry of the plan beside what the reference decided. */
static void compare_one(struct model *m, const struct plan_entry *e, int at)
{
    const struct plain_gang *g = &m->gangs[m->decided[at].gang];
    int victim_of = m->decided[at].victim_of;
    enum effect effect = victim_of == RESERVED ? EFFECT_RESERVE : is_let_in(victim_of) ? EFFECT_ADMIT : EFFECT_EVICT;
    if (e->gang != id(&m->w, arena_printf(m->w.cycle, "g%d", g->serial)) || e->effect != effect)
        fail(m, arena_printf(m->w.cycle, "not g%d", g->serial), at);
    if (effect != EFFECT_EVICT) {
        compare_given(m, e, g, at);
        count_admission(m, g, victim_of);
        return;
    }
    if (!is_for_reason(e->reason, victim_of))
        fail(m, arena_printf(m->w.cycle, "another reason for g%d", g->serial), at);
    m->counts.retried_n += victim_of == RETRIED;
    m->counts.rejected_n += victim_of == DEACTIVATED;
    if (victim_of >= 0)
        m->counts.evicts_n[victim_of]++;
}

static void compare_moved(struct model *m, const struct plain_gang *g)
{
    const char *domains = domains_of(&m->w, arena_printf(m->w.cycle, "g%d", g->serial));
    if (strcmp(domains, domains_words(m, g)) != 0)
        fail(m, arena_printf(m->w.cycle, "a node was lost, and g%d stands in %s, not in %s", g->serial, domains, domains_words(m, g)), 0);
}

static void compare(struct model *m)
{
    int at = 0;
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[i];
        if (e->effect != EFFECT_ADMIT && e->effect != EFFECT_EVICT && e->effect != EFFECT_RESERVE)
            continue;
        if (at == m->decided_n)
            fail(m, "one too many", at);
        compare_one(m, e, at++);
    }
    if (at < m->decided_n)
        fail(m, "one is missing", at);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists && m->gangs[i].moved)
            compare_moved(m, &m->gangs[i]);
    for (int i = 0; i < GANGS && m->places.in_parts; i++)
        if (m->gangs[i].exists && m->gangs[i].admitted)
            compare_gpus(m, &m->gangs[i]);
}

bool is_forced(const struct model *m)
{
    return (m->seed + m->step) % FORCE_EVERY == 0;
}

static void step(struct model *m)
{
    struct err e = {0};
    arena_reset(m->w.records);
    change_something(m);
    reference(m);
    run(&m->w);
    compare(m);
    if (!state_check(m->w.s, &e))
        fail(m, e.text, 0);
    carry_out(m);
    if (is_forced(m) && !forced_world_rests(&m->w))
        fail(m, "somebody starts, or has others go, if only he is tried", 0);
}

static void run_seed(uint64_t seed, uint64_t steps, struct tally *counts)
{
    static struct model model;
    static struct sums sums[3];
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->quotas = &sums[0];
    m->usages = &sums[1];
    m->potentials = &sums[2];
    forget_sums(m);
    m->random.state = m->seed = seed;
    m->counts = *counts;
    begin(m);
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    world_free(&m->w);
    *counts = m->counts;
}

/* False: something was not met that has to be. */
static bool tell(const struct tally *n)
{
    const struct {
        uint64_t n;
        const char *what;
    } all[] = {{n->admits_n, "admissions in the order of Kueue's cycle"},
               {n->several_sets_n, "of several pod sets"},
               {n->several_groups_n, "in several resource groups"},
               {n->several_flavors_n, "in several flavors"},
               {n->fewer_n, "with fewer pods"},
               {n->reserved_n, "with quota, but for a check"},
               {n->ready_n, "admitted once it was ready"},
               {n->retried_n, "that was to be tried again"},
               {n->rejected_n, "that was rejected"},
               {n->checking_victims_n, "preempted while it waited for a check"},
               {n->domains_n[0], "in any domains"},
               {n->domains_n[1], "in a required one"},
               {n->domains_n[2], "in a preferred one"},
               {n->domains_n[3], "unconstrained"},
               {n->sets_in_domains_n, "of two pod sets"},
               {n->sliced_n, "in slices"},
               {n->nested_n, "in slices of slices"},
               {n->led_n, "of workers and a leader"},
               {n->parts_n, "with parts of GPUs"},
               {n->changed_places_n, "changes of nodes"},
               {n->failed_under_n, "of nodes that failed or went under pods"},
               {n->lost_n, "places lost before pods came"},
               {n->back_n, "of which nodes were back in time"},
               {n->replaced_n, "and others took their places"},
               {n->lost_evicts_n, "and whose gangs had to go"},
               {n->groups_in_domains_n, "in domains and several resource groups"},
               {n->several_domains_n, "on several nodes"},
               {n->ready_waits_n, "ready, and waited for places"},
               {n->freed_places_n, "preemptions for places alone"},
               {n->preemptions_n, "preemptions"},
               {n->further_n, "after another in the cycle"},
               {n->fewer_by_others_n, "for fewer pods"},
               {n->evicts_n[0], "evictions in the own queue"},
               {n->evicts_n[1], "of others"},
               {n->evicts_n[2], "of others while borrowing"},
               {n->evicts_n[3], "by shares"},
               {n->coming_n, "waited for what was coming"},
               {n->held_n, "cycles on hold"},
               {n->kept_n, "found their promise kept"},
               {n->vain_n, "had preempted in vain"},
               {n->by_use_n, "came before others for having used less"},
               {n->alike_n, "waited as one like them did"},
               {n->taken_back_n, "sets by shares that would have been taken back"},
               {n->spared_n[0], "equals spared by budgets"},
               {n->spared_n[1], "by how long they should run"},
               {n->spared_n[2], "by what was lost"},
               {n->spared_n[3], "by how soon they end"}};
    bool each = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        printf("%s%" PRIu64 " %s", i ? ", " : "# ", all[i].n, all[i].what);
        each &= all[i].n > 0;
    }
    printf("\n");
    return each;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 12;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
    struct tally n = {0};
    for (uint64_t i = 0; i < runs; i++)
        run_seed(seed + i, steps, &n);
    return tell(&n) || runs < 1000 ? 0 : 1; /* a few worlds need not have seen all of it */
}
