/* queues.c - what it costs the core alone to decide who of many queues is next, and who goes for whom
 *
 * fair.1000            1,000 queues in a tree of four levels of cohorts, all full by fair shares, gangs waiting in each; one gang ends:
 *                      CPU until the next stands in its place, state and decision, the mean of 200; what would help those that
 *                      wait is not looked for, which is at most 400 trials a cycle more
 * fair.1000.preempt    the same where queues may take back what is their own (reclaimWithinCohort: Any)
 * fair.1000.strict     the first where all queues are StrictFIFO, so that each one's head claims what is its own
 * fair.1000.fill       the same tree, empty: CPU for each of the 4,000 that are admitted
 * queue.15000, .50000  workloads of three sizes and priorities as Kueue's performance runner makes them (baseline: 5 cohorts of 6 queues;
 *                      large-scale: 10 of 100), on virtual time, preemption on: CPU of all changes and decisions, until the last has ended
 * queue.rounds         one cohort of 6 queues with a tenth of that load, each queue 37 ms behind the one before it; whoever is preempted
 *                      takes 20 ms to leave: how many are preempted, on virtual time; .wait: how long they waited on the average, by
 *                      size; .ends: when the last has ended; queue.rounds.fair: with fair sharing
 * queue.*.rss          the most memory that the process had; queue.*.preempted: how many were preempted
 * preempt.flat         5,000 nodes x 8 GPUs full of gangs of one GPU, 64 pods of one GPU of higher priority: one decision
 * preempt.flat.whole   the same for 8 pods of 8 GPUs
 * explain.20           5,000 nodes x 8 GPUs, on each 7 jobs of one GPU, and 20 gangs of 8 GPUs that differ: the decision that says why each
 *                      waits and what would help, jobs that could stand elsewhere among it
 * preempt.topology     100 racks of 20 nodes x 8 GPUs, full; 700 Workloads of two nodes may go, 300 may not, all mixed; 1 to 20 pods of 8
 *                      GPUs that require one rack: the 99th percentile of 200 decisions; .no: of those where no rack can be had
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tests/unit/core/world.h"
#include "base/collections/heap.h"
#include "base/memory.h"
#include "figure_line.h"

#define GPU "nvidia.com/gpu"
static const struct decide_config fairly = {.gangs_max = 100000, .pods_max = 1000000, .no_remedies = true, .fair = {.on = true}},
                                  plainly = {.gangs_max = 100000, .pods_max = 1000000};

_Noreturn static void wrong(const char *name, long have, long want)
{
    fprintf(stderr, "%s: %ld, not %ld\n", name, have, want);
    exit(1);
}

/* ---- what the records are made of ---- */

static struct queue_words queue_with(struct world *w, const char *name, const char *cohort, int64_t nominal, int64_t borrowing)
{
    struct queue_words q;
    queue_begin(w, &q, name, cohort);
    queue_quota(w, &q, "any", GPU, nominal, borrowing, NO_LIMIT);
    return q;
}

static void take_queue(struct world *w, struct queue_words *q, const char *name)
{
    char key[64];
    queue_done(w, q);
    snprintf(key, sizeof key, "ns/%s", name);
    local_queue(w, key, name);
}

static void cohort_in(struct world *w, const char *name, const char *parent, int64_t nominal)
{
    struct quota_record quota = {.flavor = id(w, "any"), .resource = id(w, GPU), .nominal = nominal, .borrowing_limit = NO_LIMIT,
                                 .lending_limit = NO_LIMIT};
    struct cohort_record r = {.name = id(w, name), .parent = id(w, parent), .quotas = &quota, .quotas_n = nominal > 0};
    state_apply(w->s, &(struct change){.type = CHANGE_COHORT, .cohort = r});
}

static void add_nodes(struct world *w, int n, const char *amounts)
{
    char name[64];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "node-%05d", i);
        node(w, name, amounts, "");
    }
}

/* A workload of `count` pods of so many GPUs. */
static struct gang_record job(struct world *w, const char *name, const char *queue, int32_t count, int gpus, int32_t priority)
{
    char key[80], requests[64];
    snprintf(key, sizeof key, "ns/%s", queue);
    snprintf(requests, sizeof requests, GPU "=%d", gpus);
    struct gang_record r = a_workload(w, name, key, count, requests);
    r.priority = priority;
    return r;
}

/* One decision; what it says is told to be done. Returns how many were admitted. */
static uint32_t decide_and_tell(struct world *w, const struct decide_config *config)
{
    uint32_t n = 0;
    arena_reset(w->cycle);
    decide(w->s, config, w->now_ms, w->cycle, &w->plan);
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        struct outcome_record done = {.effect = (uint8_t)e->effect, .outcome = OUTCOME_DONE, .gang = e->gang};
        if (e->effect == EFFECT_ADMIT || e->effect == EFFECT_EVICT)
            state_apply(w->s, &(struct change){.type = CHANGE_OUTCOME, .outcome = done});
        n += e->effect == EFFECT_ADMIT;
    }
    return n;
}

/* ---- fair sharing ---- */

#define QUEUES 1000
#define WAITING 8              /* in each queue, at the beginning */

/* root > 4 > 20 > 100 > 1,000 queues of 3 GPUs each; what the root owns besides is shared. */
static void make_tree(struct world *w, bool preempts, bool strict)
{
    char name[64], parent[64];
    cohort_in(w, "root", NULL, QUEUES);
    for (int level = 1, n = 4; level <= 3; level++, n *= 5)
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "cohort-%d-%d", level, i);
            snprintf(parent, sizeof parent, "cohort-%d-%d", level - 1, i / 5);
            cohort_in(w, name, level == 1 ? "root" : parent, 0);
        }
    for (int i = 0; i < QUEUES; i++) {
        snprintf(name, sizeof name, "queue-%04d", i);
        snprintf(parent, sizeof parent, "cohort-3-%d", i / 10);
        struct queue_words q = queue_with(w, name, parent, 3, NO_LIMIT);
        q.r.reclaim_within_cohort = preempts ? PREEMPT_ANY : PREEMPT_NEVER;
        q.r.within_queue = preempts ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
        q.r.strategy = strict ? QUEUE_STRICT_FIFO : QUEUE_BEST_EFFORT_FIFO;
        q.r.has_weight = true;
        q.r.weight_nano = (preempts ? 1 : 1 + i % 3) * (int64_t)1000000000; /* so that nobody has to go before the first has ended */
        take_queue(w, &q, name);
    }
}

/* Until nothing more follows; `runs` by number of the job. Returns how many were admitted. */
static uint32_t settle(struct world *w, bool *runs)
{
    uint32_t n = 0;
    do {
        n += decide_and_tell(w, &fairly);
        for (uint32_t i = 0; i < w->plan.entries_n; i++)
            if (w->plan.entries[i].effect == EFFECT_ADMIT || w->plan.entries[i].effect == EFFECT_EVICT)
                runs[strtol(text_of(w, w->plan.entries[i].gang) + 4, NULL, 10)] = w->plan.entries[i].effect == EFFECT_ADMIT;
    } while (decide_has_work(w->s));
    return n;
}

static void fair(bool preempts, bool strict)
{
    struct world w = world_new();
    char name[64], queue[64];
    static bool runs[QUEUES * WAITING];
    uint32_t ends_n = 200, admitted_n = 0;
    flavor(&w, "any", "");
    add_nodes(&w, QUEUES / 2, "pods=110," GPU "=8");
    make_tree(&w, preempts, strict);
    for (int i = 0; i < QUEUES * WAITING; i++) {
        snprintf(queue, sizeof queue, "queue-%04d", i % QUEUES);
        snprintf(name, sizeof name, "job-%05d", i);
        gang_record(&w, job(&w, name, queue, 1, 1, 0));
    }
    double start = cpu_seconds();
    uint32_t running_n = settle(&w, runs);
    if (running_n < QUEUES * 4)
        wrong("fair.1000: running", running_n, QUEUES * 4);
    if (!preempts && !strict)
        print("fair.1000.fill", (cpu_seconds() - start) * 1e6 / running_n, "us");
    start = cpu_seconds();
    for (uint32_t i = 0, at = 0; i < ends_n; i++) {
        while (!runs[at])
            at = (at + 17) % (QUEUES * WAITING);
        snprintf(name, sizeof name, "job-%05d", (int)at);
        runs[at] = false;
        state_apply(w.s, &(struct change){.type = CHANGE_GANG_GONE, .gone = id(&w, name)});
        admitted_n += settle(&w, runs);
    }
    if (admitted_n < ends_n)
        wrong("fair.1000: admitted", admitted_n, ends_n);
    print(strict ? "fair.1000.strict" : preempts ? "fair.1000.preempt" : "fair.1000", (cpu_seconds() - start) * 1e6 / ends_n, "us");
    world_free(&w);
}

/* ---- Kueue's performance runner ---- */

struct class {
    const char *name;
    int n, gpus, priority, runtime_ms, interval_ms;
};
struct shape_of_run {
    const char *name;
    int cohorts, queues;       /* in each cohort */
    const struct class classes[3];
    int stagger_ms, leave_ms;  /* each queue begins so much later than the one before; who is preempted is still there for so long */
    bool fair;
};
static const struct shape_of_run baseline = {"queue.15000", 5, 6, {{"small", 350, 1, 50, 200, 100}, {"medium", 100, 5, 100, 500, 500},
                                                                   {"large", 50, 20, 200, 1000, 1200}}},
                                 large_scale = {"queue.50000", 10, 100, {{"small", 35, 1, 50, 150, 60}, {"medium", 11, 5, 100, 350, 300},
                                                                         {"large", 4, 20, 200, 700, 700}}},
                                 rounds = {"queue.rounds", 1, 6, {{"small", 35, 1, 50, 200, 100}, {"medium", 10, 5, 100, 500, 500},
                                                                  {"large", 5, 20, 200, 1000, 1200}}, 37, 20, false};
struct workload {
    size_t heap_at;
    int64_t at_ms;             /* it comes, ends, or has left, then */
    int number, queue;
    const struct class *class;
    name_id key;
    int64_t created_ms, started_ms;
    enum { COMES, RUNS, LEAVES } next;
};
struct runner {
    struct world w;
    const struct shape_of_run *shape;
    struct workload *all;
    uint32_t n, ended_n, preempted_n;
    struct heap events;
    int64_t began_ms;
    double cpu;
};

static bool sooner(const void *left, const void *right)
{
    const struct workload *a = left, *b = right;
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

static void make_run(struct runner *r)
{
    char name[64], cohort[64];
    const struct shape_of_run *shape = r->shape;
    flavor(&r->w, "any", "");
    add_nodes(&r->w, 1, "pods=1000000," GPU "=1000000");
    heap_init(&r->events, offsetof(struct workload, heap_at), sooner);
    r->all = mem_zero(100000, sizeof *r->all);
    for (int q = 0; q < shape->cohorts * shape->queues; q++) {
        snprintf(name, sizeof name, "queue-%04d", q);
        snprintf(cohort, sizeof cohort, "cohort-%d", q / shape->queues);
        struct queue_words words = queue_with(&r->w, name, cohort, 20, 100);
        words.r.reclaim_within_cohort = PREEMPT_ANY;
        words.r.within_queue = PREEMPT_LOWER_PRIORITY;
        take_queue(&r->w, &words, name);
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < shape->classes[c].n; i++) {
                struct workload *one = &r->all[r->n];
                *one = (struct workload){.at_ms = r->w.now_ms + 1000 + i * shape->classes[c].interval_ms + q * shape->stagger_ms,
                                         .queue = q, .number = (int)r->n++, .class = &shape->classes[c]};
                one->created_ms = one->at_ms;
                heap_add(&r->events, one);
            }
    }
}

static void submit(struct runner *r, struct workload *one)
{
    char name[64], queue[64];
    snprintf(name, sizeof name, "%05d", one->number);
    snprintf(queue, sizeof queue, "queue-%04d", one->queue);
    int64_t now_ms = r->w.now_ms;
    struct gang_record record = job(&r->w, name, queue, 1, one->class->gpus, one->class->priority);
    r->w.now_ms = now_ms; /* which making a record moves */
    record.created_ms = one->created_ms;
    one->key = record.key;
    one->next = COMES;
    double start = cpu_seconds();
    gang_record(&r->w, record);
    r->cpu += cpu_seconds() - start;
    arena_reset(r->w.records);
}

static void tell(struct runner *r, struct change what)
{
    double start = cpu_seconds();
    state_apply(r->w.s, &what);
    r->cpu += cpu_seconds() - start;
}

static void tell_outcome(struct runner *r, enum effect effect, name_id gang)
{
    struct outcome_record done = {.effect = (uint8_t)effect, .outcome = OUTCOME_DONE, .gang = gang};
    tell(r, (struct change){.type = CHANGE_OUTCOME, .outcome = done});
}

/* Whoever was preempted comes back at once and begins anew. */
static void event(struct runner *r, struct workload *one)
{
    if (one->next == RUNS) {
        tell(r, (struct change){.type = CHANGE_GANG_GONE, .gone = one->key});
        r->ended_n++;
        return;
    }
    if (one->next == LEAVES)
        tell_outcome(r, EFFECT_EVICT, one->key);
    submit(r, one);
}

/* Who is admitted ends after its time; who is preempted leaves. */
static void carry_out(struct runner *r)
{
    for (uint32_t i = 0; i < r->w.plan.entries_n; i++) {
        const struct plan_entry e = r->w.plan.entries[i];
        if (e.effect != EFFECT_ADMIT && e.effect != EFFECT_EVICT)
            continue;
        struct workload *one = &r->all[strtol(text_of(&r->w, e.gang), NULL, 10)];
        heap_remove(&r->events, one);
        one->next = e.effect == EFFECT_ADMIT ? RUNS : LEAVES;
        one->at_ms = r->w.now_ms + (one->next == RUNS ? one->class->runtime_ms : r->shape->leave_ms);
        if (one->next == RUNS)
            tell_outcome(r, EFFECT_ADMIT, e.gang);
        if (one->next == RUNS)
            one->started_ms = r->w.now_ms;
        r->preempted_n += one->next == LEAVES;
        if (one->next == RUNS || r->shape->leave_ms)
            heap_add(&r->events, one);
        else
            event(r, one);
    }
}

/* A decision, and what follows from it takes a millisecond. */
static void run_all(struct runner *r)
{
    const struct workload *first;
    while ((first = heap_first(&r->events)) || decide_has_work(r->w.s)) { /* all that ran may have been preempted at once */
        bool goes_on = decide_has_work(r->w.s) && (!first || first->at_ms > r->w.now_ms);
        r->w.now_ms = goes_on ? r->w.now_ms + 1 : first->at_ms;
        while ((first = heap_first(&r->events)) && first->at_ms <= r->w.now_ms)
            event(r, heap_pop(&r->events));
        arena_reset(r->w.cycle);
        double start = cpu_seconds();
        decide(r->w.s, r->shape->fair ? &fairly : &plainly, r->w.now_ms, r->w.cycle, &r->w.plan);
        r->cpu += cpu_seconds() - start;
        carry_out(r);
    }
    if (r->ended_n != r->n)
        wrong(r->shape->name, r->ended_n, r->n);
}

/* What the plan's decisions are worth on virtual time, whatever they cost. */
static void print_waits(const struct runner *r)
{
    char name[64];
    for (int c = 0; c < 3; c++) {
        const struct class *class = &r->shape->classes[c];
        double sum = 0;
        for (uint32_t i = 0; i < r->n; i++)
            sum += r->all[i].class == class ? (double)(r->all[i].started_ms - r->all[i].created_ms) : 0;
        snprintf(name, sizeof name, "%s.wait.%s", r->shape->name, class->name);
        print(name, sum / (class->n * r->shape->cohorts * r->shape->queues), "ms");
    }
    snprintf(name, sizeof name, "%s.ends", r->shape->name);
    print(name, (double)(r->w.now_ms - r->began_ms) / 1000, "s");
}

static void runner(const struct shape_of_run *shape)
{
    struct runner r = {.w = world_new(), .shape = shape};
    char name[64];
    struct rusage usage;
    make_run(&r);
    r.began_ms = r.w.now_ms;
    run_all(&r);
    print(shape->name, r.cpu, "s");
    snprintf(name, sizeof name, "%s.preempted", shape->name);
    print(name, r.preempted_n, "workloads");
    if (shape->leave_ms)
        print_waits(&r);
    getrusage(RUSAGE_SELF, &usage);
    snprintf(name, sizeof name, "%s.rss", shape->name);
    print(name, (double)usage.ru_maxrss / 1024, "MiB");
    heap_fini(&r.events);
    free(r.all);
    world_free(&r.w);
}

/* ---- a full cluster, and somebody of higher priority ---- */

static void preempt(const char *figure, int32_t count, int gpus)
{
    struct world w = world_new();
    char name[64];
    flavor(&w, "any", "");
    add_nodes(&w, 5000, "pods=110," GPU "=8");
    struct queue_words q = queue_with(&w, "queue", NULL, 40000, NO_LIMIT);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    take_queue(&w, &q, "queue");
    for (int i = 0; i < 40000; i++) {
        snprintf(name, sizeof name, "job-%05d", i * 7919 % 40000);
        gang_record(&w, job(&w, name, "queue", 1, 1, 0));
    }
    uint32_t running_n = decide_and_tell(&w, &plainly);
    if (running_n != 40000)
        wrong(figure, running_n, 40000);
    decide_and_tell(&w, &plainly); /* those that were admitted are settled */
    gang_record(&w, job(&w, "high", "queue", count, gpus, 1));
    double start = cpu_seconds();
    decide_and_tell(&w, &plainly);
    double took = cpu_seconds() - start;
    if (effects(&w, EFFECT_EVICT) != 64)
        wrong(figure, effects(&w, EFFECT_EVICT), 64);
    print(figure, took * 1e3, "ms");
    world_free(&w);
}

/* ---- what would help those that wait for nodes ---- */

static void explain_nodes(void)
{
    struct world w = world_new();
    char name[64];
    flavor(&w, "any", "");
    add_nodes(&w, 5000, "pods=110,cpu=800000," GPU "=8");
    struct queue_words q = queue_with(&w, "queue", NULL, 40000, NO_LIMIT);
    queue_quota(&w, &q, "any", "cpu", INT32_MAX, NO_LIMIT, NO_LIMIT);
    take_queue(&w, &q, "queue");
    for (int i = 0; i < 35000; i++) {
        snprintf(name, sizeof name, "job-%05d", i);
        gang_record(&w, admitted_in(&w, job(&w, name, "queue", 1, 1, 0), "any"));
        snprintf(name, sizeof name, "ns/job-%05d-0", i);
        struct pod_record p = a_pod(&w, name, arena_printf(w.records, "job-%05d", i), GPU "=1");
        p.node = id(&w, arena_printf(w.records, "node-%05d", i / 7));
        p.phase = POD_RUNNING;
        pod_record(&w, p);
        arena_reset(w.records);
    }
    decide_and_tell(&w, &plainly);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "big-%02d", i);
        struct gang_record r = job(&w, name, "queue", 1, 8, 0);
        ((struct pod_set *)r.pod_sets)->shape = shape_of(&w, arena_printf(w.records, "cpu=%d," GPU "=8", 1000 + i), "");
        gang_record(&w, r);
    }
    double start = cpu_seconds();
    decide_and_tell(&w, &plainly);
    double took = cpu_seconds() - start;
    if (effects(&w, EFFECT_EXPLAIN) != 20)
        wrong("explain.20", effects(&w, EFFECT_EXPLAIN), 20);
    print("explain.20", took * 1e3, "ms");
    world_free(&w);
}

/* ---- a full cluster and somebody of higher priority, in domains ---- */

enum { RACKS = 100, IN_RACK = 20, GANGS_RUN = RACKS * IN_RACK / 2, TRIALS = 200 };

static struct gang_record in_domains(struct world *w, const char *name, int32_t count, int32_t priority, enum topology_mode mode)
{
    struct gang_record r = job(w, name, "queue", count, 8, priority);
    ((struct pod_set *)r.pod_sets)->topology = (struct topology_request){.mode = mode, .level = id(w, "rack")};
    return r;
}

static void fill_racks(struct world *w)
{
    char name[64], labels[160];
    topology(w, "t", "block,rack,kubernetes.io/hostname");
    topology_flavor(w, "any", "t", "");
    for (int i = 0; i < RACKS * IN_RACK; i++) {
        snprintf(name, sizeof name, "node-%05d", i);
        snprintf(labels, sizeof labels, "block=b%d,rack=r%03d,kubernetes.io/hostname=%s", i / (10 * IN_RACK), i / IN_RACK, name);
        node(w, name, "pods=110," GPU "=8", labels);
    }
    struct queue_words q = queue_with(w, "queue", NULL, RACKS * IN_RACK * 8, NO_LIMIT);
    q.r.within_queue = PREEMPT_LOWER_PRIORITY;
    take_queue(w, &q, "queue");
    uint32_t running_n = 0;
    for (int i = 0; i < GANGS_RUN; i++) { /* one by one: else those of high priority would stand together */
        snprintf(name, sizeof name, "job-%05d", i);
        gang_record(w, in_domains(w, name, 2, i * 7 % 10 < 3 ? 9 : i % 5, TOPOLOGY_UNCONSTRAINED));
        running_n += decide_and_tell(w, &plainly);
    }
    if (running_n != GANGS_RUN)
        wrong("preempt.topology", running_n, GANGS_RUN);
    decide_and_tell(w, &plainly);
}

/* Nobody goes in the end. False: nobody could. */
static bool decide_in_rack(struct world *w, int trial, double *ret_took)
{
    char name[64];
    snprintf(name, sizeof name, "high-%d", trial);
    gang_record(w, in_domains(w, name, 1 + trial % IN_RACK, 8, TOPOLOGY_REQUIRED));
    double start = cpu_seconds();
    arena_reset(w->cycle);
    decide(w->s, &plainly, w->now_ms, w->cycle, &w->plan);
    *ret_took = cpu_seconds() - start;
    bool any = effects(w, EFFECT_EVICT) > 0;
    for (uint32_t i = 0; i < w->plan.entries_n; i++)
        if (w->plan.entries[i].effect == EFFECT_EVICT) {
            struct outcome_record refused = {.effect = EFFECT_EVICT, .outcome = OUTCOME_FAILED, .gang = w->plan.entries[i].gang};
            state_apply(w->s, &(struct change){.type = CHANGE_OUTCOME, .outcome = refused});
        }
    gone(w, CHANGE_GANG_GONE, name);
    w->now_ms += 10000;
    arena_reset(w->cycle);
    decide(w->s, &plainly, w->now_ms, w->cycle, &w->plan);
    if (effects(w, EFFECT_EVICT))
        wrong("preempt.topology: evicted for nobody", effects(w, EFFECT_EVICT), 0);
    return any;
}

static int compare_times(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void preempt_topology(void)
{
    struct world w = world_new();
    double took[2][TRIALS];
    int n[2] = {0};
    fill_racks(&w);
    for (int i = 0; i < TRIALS; i++) {
        double one;
        bool no = !decide_in_rack(&w, i, &one);
        took[no][n[no]++] = one;
    }
    if (!n[0] || !n[1])
        wrong("preempt.topology: found", n[0], TRIALS);
    for (int no = 0; no < 2; no++) {
        qsort(took[no], (size_t)n[no], sizeof took[no][0], compare_times);
        print(no ? "preempt.topology.no" : "preempt.topology", took[no][n[no] - 1 - n[no] / 100] * 1e3, "ms");
    }
    world_free(&w);
}

/* ---- each in a process of its own: memory is that of one ---- */

struct figure {
    const char *name;
    int which;
};
static const struct figure figures[] = {{"fair.1000", 0}, {"fair.1000.preempt", 1}, {"queue.15000", 2}, {"queue.50000", 3},
                                        {"queue.rounds", 4}, {"queue.rounds.fair", 5}, {"preempt.flat", 6}, {"preempt.flat.whole", 7},
                                        {"preempt.topology", 8}, {"fair.1000.strict", 9}, {"explain.20", 10}};

static void measure(int which)
{
    struct shape_of_run fair_rounds = rounds;
    fair_rounds.name = "queue.rounds.fair";
    fair_rounds.fair = true;
    if (which < 2 || which == 9)
        fair(which == 1, which == 9);
    else if (which < 5)
        runner(which == 2 ? &baseline : which == 3 ? &large_scale : &rounds);
    else if (which == 5)
        runner(&fair_rounds);
    else if (which == 8)
        preempt_topology();
    else if (which == 10)
        explain_nodes();
    else
        preempt(which == 6 ? "preempt.flat" : "preempt.flat.whole", which == 6 ? 64 : 8, which == 6 ? 1 : 8);
}

int main(int argc, char **argv)
{
    int failed = 0, status;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (argc == 2 && strcmp(argv[1], figures[i].name) != 0) /* queues FIGURE: for profiling */
            continue;
        pid_t child = fork();
        if (!child) {
            measure(figures[i].which);
            _exit(0);
        }
        failed |= child < 0 || waitpid(child, &status, 0) < 0 || status;
    }
    return failed;
}
