/* core_claims.c - blocked heads of StrictFIFO queues keep quota from others: does everybody start as soon as a claim ends?
 *
 *   core_claims [SEED [STEPS [RUNS]]]          MODEL_TRACE=1 prints what happens, and the cluster at the end
 *
 * One cohort, few flavors with one node each, gangs of one pod that come, go and change places in their queues; every third run with
 * preemption of all kinds, the others with queues that take back what they lent, or with none. Who is preempted leaves at once, and waits
 * again. After each event the core runs until it has nothing to do; then a core that begins anew, told the same, must start nobody: whoever
 * it would start has been forgotten by the other; where somebody is tried again a while later (preempted in vain, or too often) that is
 * waited for. Nodes only grow, so that admitted gangs have their places in both.
 */
#include <inttypes.h>
#include "../unit/core/world.h"
#include "base/random.h"
#include "core/queue/order.h"

enum { QUEUES = 4, FLAVORS = 3, GANGS = 16, CYCLES_MAX = 50, WAKES_MAX = 5 };
#define GPU "nvidia.com/gpu"
static const char *const flavors[FLAVORS] = {"fa", "fb", "fc"}, *const labels[FLAVORS] = {"kind=a", "kind=b", "kind=c"};

struct plain_queue {
    bool strict;
    enum preemption_policy within, reclaim, borrow;
    int64_t nominal[FLAVORS], borrowing[FLAVORS];
};
struct plain_gang {
    bool exists;
    int serial, queue, priority, flavor; /* flavor: -1 not admitted */
    int64_t ask, created_ms;
};
struct model {
    struct world w;
    struct random random;
    int64_t room[FLAVORS];
    struct plain_queue queues[QUEUES];
    struct plain_gang gangs[GANGS];
    uint64_t seed, step;
    int serial;
    uint64_t admits_n, evicts_n, waits_n;
};

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* With MODEL_TRACE, for people. */
static void print_model(const struct model *m)
{
    for (int i = 0; i < QUEUES; i++) {
        const struct plain_queue *q = &m->queues[i];
        printf("# q%d:%s within %d reclaim %d borrow %d", i, q->strict ? " strict" : "", q->within, q->reclaim, q->borrow);
        for (int f = 0; f < FLAVORS; f++)
            printf(" %s %" PRId64 " borrows %" PRId64 ",", flavors[f], q->nominal[f], q->borrowing[f]);
        printf("\n");
    }
    for (int f = 0; f < FLAVORS; f++)
        printf("# node of %s: %" PRId64 "\n", flavors[f], m->room[f]);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            printf("# g%d in q%d asks %" PRId64 " priority %d flavor %d\n", m->gangs[i].serial, m->gangs[i].queue, m->gangs[i].ask,
                   m->gangs[i].priority, m->gangs[i].flavor);
}

static void die(const struct model *m, const char *text, const char *gang)
{
    if (getenv("MODEL_TRACE"))
        print_model(m);
    fprintf(stderr, "core_claims: seed %" PRIu64 " step %" PRIu64 ": %s%s\n", m->seed, m->step, gang, text);
    exit(1);
}

/* ---- telling it to a core ---- */

static void tell_node(struct world *w, const struct model *m, int f)
{
    char amounts[64];
    snprintf(amounts, sizeof amounts, "pods=110," GPU "=%" PRId64, m->room[f]);
    node(w, flavors[f], amounts, labels[f]);
}

static void tell_queue(struct world *w, const struct model *m, int i)
{
    const struct plain_queue *q = &m->queues[i];
    struct queue_words words;
    char name[16], key[16];
    snprintf(name, sizeof name, "q%d", i);
    snprintf(key, sizeof key, "ns/l%d", i);
    queue_begin(w, &words, name, "co");
    words.r.strategy = q->strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
    words.r.within_queue = q->within;
    words.r.reclaim_within_cohort = q->reclaim;
    words.r.borrow_within_cohort = q->borrow;
    for (int f = 0; f < FLAVORS; f++)
        queue_quota(w, &words, flavors[f], GPU, q->nominal[f], q->borrowing[f], NO_LIMIT);
    queue_done(w, &words);
    local_queue(w, key, name);
}

static const char *gang_key(const struct plain_gang *g, char out[16])
{
    snprintf(out, 16, "g%d", g->serial);
    return out;
}

static void tell_gang(struct world *w, const struct plain_gang *g)
{
    char key[16], queue[16], asks[64];
    struct flavor_choice choice;
    snprintf(queue, sizeof queue, "ns/l%d", g->queue);
    snprintf(asks, sizeof asks, GPU "=%" PRId64, g->ask);
    struct gang_record r = a_workload(w, gang_key(g, key), queue, 1, asks);
    if (g->serial % 3 == 0)
        charge_only(w, &r);
    r.priority = g->priority;
    r.created_ms = g->created_ms;
    if (g->flavor >= 0) {
        choice = (struct flavor_choice){0, id(w, GPU), id(w, flavors[g->flavor])};
        snprintf(queue, sizeof queue, "q%d", g->queue);
        r.admitted = true;
        r.admitted_queue = id(w, queue);
        r.choices = &choice;
        r.choices_n = 1;
    }
    gang_record(w, r);
}

static struct world begin(const struct model *m)
{
    struct world w = world_new();
    for (int f = 0; f < FLAVORS; f++) {
        flavor(&w, flavors[f], labels[f]);
        tell_node(&w, m, f);
    }
    for (int i = 0; i < QUEUES; i++)
        tell_queue(&w, m, i);
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            tell_gang(&w, &m->gangs[i]);
    return w;
}

/* ---- running it ---- */

static struct plain_gang *gang_named(struct model *m, const char *key)
{
    char text[16];
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists && !strcmp(gang_key(&m->gangs[i], text), key))
            return &m->gangs[i];
    return NULL;
}

static void take_admission(struct model *m, const struct plan_entry *e)
{
    struct world *w = &m->w;
    struct plain_gang *g = gang_named(m, text_of(w, e->gang));
    for (int f = 0; f < FLAVORS; f++)
        if (e->choices[0].flavor == id(w, flavors[f]))
            g->flavor = f;
    m->admits_n++;
    if (getenv("MODEL_TRACE"))
        printf("# step %" PRIu64 ": %s is admitted under %s\n", m->step, text_of(w, e->gang), flavors[g->flavor]);
    tell_gang(w, g);
    outcome(w, EFFECT_ADMIT, text_of(w, e->gang), NULL, OUTCOME_DONE);
}

static void take_eviction(struct model *m, const struct plan_entry *e)
{
    struct world *w = &m->w;
    struct plain_gang *g = gang_named(m, text_of(w, e->gang));
    g->flavor = -1;
    m->evicts_n++;
    if (getenv("MODEL_TRACE"))
        printf("# step %" PRIu64 ": %s is preempted\n", m->step, text_of(w, e->gang));
    outcome(w, EFFECT_EVICT, text_of(w, e->gang), NULL, OUTCOME_DONE);
    tell_gang(w, g);
}

static void take(struct model *m, const struct plan_entry *e)
{
    if (e->effect == EFFECT_ADMIT)
        take_admission(m, e);
    else if (e->effect == EFFECT_EVICT)
        take_eviction(m, e);
}

static void cycle(struct model *m)
{
    struct world *w = &m->w;
    struct err e = {0};
    run(w);
    for (uint32_t k = 0; k < w->plan.entries_n; k++)
        take(m, &w->plan.entries[k]);
    if (!state_check(w->s, &e))
        die(m, e.text, "");
}

static void run_to_rest(struct model *m)
{
    for (int i = 0; decide_has_work(m->w.s); i++) {
        if (i == CYCLES_MAX)
            die(m, "it goes on trying", "");
        cycle(m);
    }
}

/* Preempted in vain, or too often: it is tried again a while later, whatever changes, and meanwhile others are the heads of its queue. */
static bool somebody_backs_off(const struct model *m)
{
    for (uint32_t i = 0; i < order_parked_n(m->w.s); i++) {
        const struct parking *p = order_parked(m->w.s, i);
        if (p->gang && (p->on & PARK_TIME))
            return true;
    }
    return false;
}

/* Whom a core that begins anew would admit first; "": nobody. */
static const char *forgotten(struct model *m)
{
    const char *found = "";
    struct world fresh = begin(m);
    for (int i = 0; i < 3 && !*found; i++) {
        run(&fresh);
        for (uint32_t k = 0; k < fresh.plan.entries_n && !*found; k++)
            if (fresh.plan.entries[k].effect == EFFECT_ADMIT)
                found = arena_text(m->w.records, text_of(&fresh, fresh.plan.entries[k].gang));
    }
    world_free(&fresh);
    return found;
}

static void let_time_pass(struct model *m)
{
    if (m->w.plan.wake_ms > m->w.now_ms)
        m->w.now_ms = m->w.plan.wake_ms;
    cycle(m);
    run_to_rest(m);
}

/* WHY  time passes only where somebody backs off: it also brings looks that would hide whom nothing has woken. */
static void nobody_is_forgotten(struct model *m)
{
    const char *gang = forgotten(m);
    for (int i = 0; *gang && somebody_backs_off(m) && m->w.plan.wake_ms && i < WAKES_MAX; i++) {
        let_time_pass(m);
        gang = forgotten(m);
    }
    if (*gang)
        die(m, " waits, but a core that begins anew would admit it", gang);
}

/* ---- events ---- */

static void draw_queue(struct model *m, int i)
{
    struct plain_queue *q = &m->queues[i];
    *q = (struct plain_queue){.strict = pick(m, 3) > 0, .reclaim = pick(m, 6) ? PREEMPT_NEVER : PREEMPT_ANY};
    if (m->seed % 3 == 0) {
        q->within = (enum preemption_policy)pick(m, PREEMPT_ANY);
        q->reclaim = (enum preemption_policy)pick(m, PREEMPT_ANY + 1);
        q->reclaim = q->reclaim == PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY ? PREEMPT_NEVER : q->reclaim;
        q->borrow = q->reclaim != PREEMPT_NEVER && pick(m, 2) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    }
    for (int f = 0; f < FLAVORS; f++) {
        q->nominal[f] = pick(m, 9);
        q->borrowing[f] = pick(m, 3) ? NO_LIMIT : (int64_t)pick(m, 6);
    }
}

static void gang_event(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    char key[16];
    if (!g->exists) {
        *g = (struct plain_gang){.exists = true,
                                 .serial = ++m->serial,
                                 .queue = (int)pick(m, QUEUES),
                                 .priority = (int)pick(m, 3),
                                 .flavor = -1,
                                 .ask = 1 + pick(m, pick(m, 3) ? 6 : 24),
                                 .created_ms = 1000 + m->serial};
        tell_gang(&m->w, g);
    } else if (g->flavor < 0 && pick(m, 3)) {
        g->priority = (int)pick(m, 3);
        tell_gang(&m->w, g);
    } else {
        gone(&m->w, CHANGE_GANG_GONE, gang_key(g, key));
        g->exists = false;
    }
}

static void event(struct model *m)
{
    int f = (int)pick(m, FLAVORS), q = (int)pick(m, QUEUES);
    uint32_t what = pick(m, 20);
    if (getenv("MODEL_TRACE"))
        printf("# step %" PRIu64 ": event %u\n", m->step, what);
    if (what == 0) {
        draw_queue(m, q);
        tell_queue(&m->w, m, q);
    } else if (what <= 2) {
        m->room[f] += 1 + pick(m, 8);
        tell_node(&m->w, m, f);
    } else {
        gang_event(m);
    }
}

static void run_seed(struct model *m, uint64_t seed, uint64_t steps)
{
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    for (int f = 0; f < FLAVORS; f++)
        m->room[f] = pick(m, 3) ? pick(m, 30) : 0;
    for (int i = 0; i < QUEUES; i++)
        draw_queue(m, i);
    m->w = begin(m);
    for (; m->step < steps; m->step++) {
        arena_reset(m->w.records);
        event(m);
        run_to_rest(m);
        nobody_is_forgotten(m);
        for (int i = 0; i < GANGS; i++)
            m->waits_n += m->gangs[i].exists && m->gangs[i].flavor < 0;
    }
    world_free(&m->w);
}

int main(int argc, char **argv)
{
    static struct model m;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 150;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 60, admits_n = 0, evicts_n = 0, waits_n = 0;
    for (uint64_t i = 0; i < runs; i++) {
        run_seed(&m, seed + i, steps);
        admits_n += m.admits_n;
        evicts_n += m.evicts_n;
        waits_n += m.waits_n;
    }
    printf("# %" PRIu64 " admissions, %" PRIu64 " preemptions, %" PRIu64 " waits looked at\n", admits_n, evicts_n, waits_n);
    return admits_n && evicts_n && waits_n ? 0 : 1;
}
