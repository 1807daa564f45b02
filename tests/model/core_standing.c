/* core_standing.c - fair sharing: lines that stand in the order of shares from one cycle to the next, against the same core where all of
 * them are woken and looked at anew
 *
 *   core_standing [SEED [STEPS [RUNS]]]
 *
 * Two cores are told the same: gangs come, end and go, queues and cohorts get other quotas, weights and parents, or go, fair sharing is
 * turned off and on, names and quotas that nobody uses are dropped, time passes. Who is let in, in which order and with what, and who must
 * go, has to be the same in each cycle. Most trees have no limits and most queues preempt nobody, so that lines stand; in some worlds
 * nodes are short, queues are StrictFIFO, preempt, or have limits, so that they may not.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/queue/standing.h"
#include "core/state/state_unused.h"

enum { COHORTS = 4, QUEUES = 6, GANGS = 24 };
enum { PLAIN, LACKS_NODES, HAS_STRICT, PREEMPTS, HAS_LIMITS, KINDS_OF_WORLDS };

struct plain_gang {
    bool exists, admitted, leaving;
    int serial, queue, priority, count, gpus, cpus;
    int64_t created_ms;
};
struct plain_node {
    int parent, nominal_gpu, nominal_cpu, weight_milli;
    bool limited, strict, preempts;
};
struct model {
    uint64_t seed, step;
    struct random random;
    struct world w[2];           /* [1]: all are woken */
    int kind, serial;
    bool is_unfair;
    int64_t now_ms;
    struct plain_node nodes[COHORTS + QUEUES];
    struct plain_gang gangs[GANGS];
    uint64_t *counts;            /* admissions, evictions, lines that stood at the end of a cycle, steps of them */
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- what both are told ---- */

static void tell_cohort(struct model *m, struct world *w, int i)
{
    const struct plain_node *n = &m->nodes[i];
    char name[16], parent[16];
    struct quota_record quotas[2];
    uint32_t quotas_n = 0;
    snprintf(name, sizeof name, "co%d", i);
    snprintf(parent, sizeof parent, "co%d", n->parent);
    for (int r = 0; r < 2; r++)
        if (r ? n->nominal_cpu : n->nominal_gpu)
            quotas[quotas_n++] = (struct quota_record){.flavor = id(w, "any"), .resource = id(w, r ? "cpu" : "gpu"),
                                                       .nominal = r ? n->nominal_cpu : n->nominal_gpu, .borrowing_limit = NO_LIMIT,
                                                       .lending_limit = n->limited ? 1 : NO_LIMIT};
    struct cohort_record r = {.name = id(w, name), .parent = n->parent < 0 ? 0 : id(w, parent), .quotas = quotas, .quotas_n = quotas_n,
                              .has_weight = true, .weight_nano = n->weight_milli * INT64_C(1000000)};
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static void tell_queue(struct model *m, struct world *w, int i)
{
    const struct plain_node *n = &m->nodes[COHORTS + i];
    char name[16], parent[16], local[16];
    struct queue_words q;
    snprintf(name, sizeof name, "q%d", i);
    snprintf(parent, sizeof parent, "co%d", n->parent);
    snprintf(local, sizeof local, "ns/q%d", i);
    queue_begin(w, &q, name, n->parent < 0 ? NULL : parent);
    q.r.strategy = n->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    q.r.reclaim_within_cohort = n->preempts ? PREEMPT_ANY : PREEMPT_NEVER;
    q.r.within_queue = n->preempts ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    q.r.has_weight = true;
    q.r.weight_nano = n->weight_milli * INT64_C(1000000);
    queue_quota(w, &q, "any", "gpu", n->nominal_gpu, n->limited ? 2 : NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", "cpu", n->nominal_cpu, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, local, name);
}

static void tell_node(struct model *m, int i)
{
    for (int k = 0; k < 2; k++)
        if (i < COHORTS)
            tell_cohort(m, &m->w[k], i);
        else
            tell_queue(m, &m->w[k], i - COHORTS);
}

static void tell_gang(struct model *m, const struct plain_gang *g)
{
    char name[16], queue[16], requests[48];
    snprintf(name, sizeof name, "g%d", g->serial);
    snprintf(queue, sizeof queue, "ns/q%d", g->queue);
    snprintf(requests, sizeof requests, g->cpus ? "gpu=%d,cpu=%d" : "gpu=%d", g->gpus, g->cpus);
    for (int k = 0; k < 2; k++) {
        struct gang_record r = a_workload(&m->w[k], name, queue, g->count, requests);
        r.priority = g->priority;
        r.created_ms = g->created_ms;
        gang_record(&m->w[k], r);
    }
}

static void tell_gone(struct model *m, int i)
{
    char name[16];
    snprintf(name, sizeof name, i < COHORTS ? "co%d" : "q%d", i < COHORTS ? i : i - COHORTS);
    for (int k = 0; k < 2; k++)
        gone(&m->w[k], i < COHORTS ? CHANGE_COHORT_GONE : CHANGE_QUEUE_GONE, name);
}

/* ---- random steps ---- */

static void put_node(struct model *m, int i)
{
    static const int weights[] = {1000, 1000, 2000, 333, 0};
    struct plain_node *n = &m->nodes[i];
    bool is_queue = i >= COHORTS, draws = m->seed % 6 == 0; /* shares are often the same: priority and age decide */
    n->parent = is_queue ? pick(m, 8) ? (int)pick(m, COHORTS) : -1 : i && pick(m, 4) ? (int)pick(m, (uint32_t)i) : -1;
    n->nominal_gpu = (int)pick(m, is_queue ? 4 : 6);
    n->nominal_cpu = (int)pick(m, 8);
    if (draws)
        n->nominal_gpu = is_queue;
    n->weight_milli = draws ? 1000 : weights[pick(m, sizeof weights / sizeof *weights)];
    n->limited = m->kind == HAS_LIMITS && !pick(m, 3);
    n->strict = m->kind == HAS_STRICT && !pick(m, 4);
    n->preempts = m->kind == PREEMPTS && !pick(m, 3);
}

static void new_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    bool alike = m->seed % 3 == 0; /* all ask for the same: whoever is first of all waits for nothing but his turn */
    if (g->exists)
        return;
    *g = (struct plain_gang){.exists = true, .serial = ++m->serial, .queue = (int)pick(m, QUEUES), .priority = (int)pick(m, 3),
                             .count = alike ? 1 : 1 + (int)pick(m, 2), .gpus = alike ? 1 : 1 + (int)pick(m, 2),
                             .cpus = alike || pick(m, 3) ? 0 : 1 + (int)pick(m, 3), .created_ms = 1000 + pick(m, 6)};
    tell_gang(m, g);
}

static void end_gang(struct model *m, struct plain_gang *g)
{
    char name[16];
    if (!g->exists || (!g->admitted && pick(m, 4)))
        return;
    snprintf(name, sizeof name, "g%d", g->serial);
    for (int k = 0; k < 2; k++)
        gone(&m->w[k], CHANGE_GANG_GONE, name);
    g->exists = false;
}

static void answer(struct model *m, enum effect effect, struct plain_gang *g)
{
    char name[16];
    snprintf(name, sizeof name, "g%d", g->serial);
    for (int k = 0; k < 2; k++)
        outcome(&m->w[k], effect, name, NULL, OUTCOME_DONE);
    g->admitted = effect == EFFECT_ADMIT;
    g->leaving = false;
    if (effect == EFFECT_EVICT)
        tell_gang(m, g);
}

/* ---- a cycle of both ---- */

_Noreturn static void fail(const struct model *m, const char *what)
{
    fprintf(stderr, "core_standing: seed %" PRIu64 " step %" PRIu64 ": %s\n", m->seed, m->step, what);
    for (int k = 0; k < 2; k++) {
        fprintf(stderr, k ? "\n  all woken:" : "  standing: ");
        for (uint32_t i = 0; i < m->w[k].plan.entries_n; i++)
            if (m->w[k].plan.entries[i].effect == EFFECT_ADMIT || m->w[k].plan.entries[i].effect == EFFECT_EVICT)
                fprintf(stderr, " %s%s", m->w[k].plan.entries[i].effect == EFFECT_EVICT ? "-" : "",
                        intern_name(m->w[k].names, m->w[k].plan.entries[i].gang));
    }
    fprintf(stderr, "\n");
    exit(1);
}

static const struct plan_entry *next_entry(const struct plan *p, uint32_t *at)
{
    while (*at < p->entries_n && p->entries[*at].effect != EFFECT_ADMIT && p->entries[*at].effect != EFFECT_EVICT)
        ++*at;
    return *at < p->entries_n ? &p->entries[(*at)++] : NULL;
}

static void carry_out(struct model *m)
{
    uint32_t at = 0;
    for (const struct plan_entry *e; (e = next_entry(&m->w[0].plan, &at));) {
        int serial = (int)strtol(text_of(&m->w[0], e->gang) + 1, NULL, 10);
        for (int i = 0; i < GANGS; i++) {
            struct plain_gang *g = &m->gangs[i];
            if (!g->exists || g->serial != serial)
                continue;
            if (e->effect == EFFECT_ADMIT)
                answer(m, EFFECT_ADMIT, g);
            g->leaving |= e->effect == EFFECT_EVICT;
            m->counts[e->effect == EFFECT_EVICT]++;
        }
    }
}

static void cycle(struct model *m, uint32_t gangs_max, bool hold)
{
    uint32_t at[2] = {0};
    const struct plan_entry *e[2];
    for (int k = 0; k < 2; k++) {
        struct world *w = &m->w[k];
        struct decide_config config = {.gangs_max = gangs_max, .hold = hold, .all_wake = k, .fair = {.on = !m->is_unfair}};
        struct err err = {0};
        arena_reset(w->cycle);
        decide(w->s, &config, m->now_ms, w->cycle, &w->plan);
        if (!state_check(w->s, &err))
            fail(m, err.text);
    }
    do {
        for (int k = 0; k < 2; k++)
            e[k] = next_entry(&m->w[k].plan, &at[k]);
        if (!e[0] != !e[1])
            fail(m, "one too many, or missing");
        if (e[0] && (e[0]->effect != e[1]->effect || strcmp(text_of(&m->w[0], e[0]->gang), text_of(&m->w[1], e[1]->gang)) != 0))
            fail(m, "another one");
    } while (e[0]);
    if (decide_tries(m->w[0].s) != decide_tries(m->w[1].s)) /* who is told why is not compared, nor when */
        fail(m, "only one has more to do");
    m->counts[2] += standing_n(m->w[0].s);
    m->counts[3] += standing_n(m->w[0].s) > 0;
    if (standing_n(m->w[1].s))
        fail(m, "somebody stands");
    carry_out(m);
}

static void step(struct model *m)
{
    bool sweeps = !pick(m, 40);
    for (int k = 0; k < 2; k++) {
        arena_reset(m->w[k].records);
        if (sweeps) {
            state_drop_unused(m->w[k].s);
            sweep_names(&m->w[k]);
        }
    }
    for (uint32_t n = pick(m, 3); n; n--)
        new_gang(m);
    for (uint32_t n = pick(m, 6); n; n--)
        end_gang(m, &m->gangs[pick(m, GANGS)]);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists && m->gangs[i].leaving && pick(m, 2))
            answer(m, EFFECT_EVICT, &m->gangs[i]);
    if (!pick(m, 30)) {
        int i = (int)pick(m, COHORTS + QUEUES);
        put_node(m, i);
        tell_node(m, i);
    }
    if (!pick(m, 40))
        tell_gone(m, (int)pick(m, COHORTS + QUEUES)); /* until it is told of again */
    if (!pick(m, m->is_unfair ? 5 : 60))
        m->is_unfair = !m->is_unfair;
    /* WHY one of the two: who is tried anew for his reason's sake (after 10 s) may be so at another time, but not in another order */
    bool time_passes = m->seed % 2;
    m->now_ms += time_passes ? pick(m, 4) ? pick(m, 500) : pick(m, 15000) : 0;
    uint32_t gangs_max = time_passes || pick(m, 4) ? 0 : 1 + pick(m, 3);
    bool hold = !pick(m, 12);
    for (uint32_t n = 1 + pick(m, 3); n; n--)
        cycle(m, gangs_max, hold);
}

static void run_seed(uint64_t seed, uint64_t steps, uint64_t counts[4])
{
    static struct model model;
    struct model *m = &model;
    *m = (struct model){.seed = seed, .random.state = seed, .now_ms = 1000000, .counts = counts};
    m->kind = (int)(seed / 3 % (2 * KINDS_OF_WORLDS)); /* half of them, and more, are plain */
    for (int k = 0; k < 2; k++) {
        m->w[k] = world_new();
        flavor(&m->w[k], "any", "");
        node(&m->w[k], "n0", m->kind == LACKS_NODES ? "cpu=1000,gpu=12" : "cpu=100000,gpu=100000", "");
    }
    for (int i = 0; i < COHORTS + QUEUES; i++) {
        put_node(m, i);
        tell_node(m, i);
    }
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    for (int k = 0; k < 2; k++)
        world_free(&m->w[k]);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 60;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 4000, counts[4] = {0};
    for (uint64_t i = 0; i < runs; i++)
        run_seed(seed + i, steps, counts);
    printf("# %" PRIu64 " admissions and %" PRIu64 " evictions as without it; lines stood after %" PRIu64 " cycles, %" PRIu64 " in all\n",
           counts[0], counts[1], counts[3], counts[2]);
    return counts[0] && counts[1] && counts[2] ? 0 : 1;
}
