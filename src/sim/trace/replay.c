#include "sim/trace/replay.h"
#include <math.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "core/decide.h"
#include "sim/trace/latency.h"

#define GPU "nvidia.com/gpu"
#define GPU_PART "capstan.dev/gpu-milli"
#define NODE_PODS 1001        /* SOURCE of the published runs */
#define PROGRESS_EVERY 4096

const int replay_points[REPLAY_POINTS] = {80, 90, 95, 100, 110, 120, 130};

/* A pod that stands somewhere: when it leaves, and what it has. */
struct stay {
    double until;
    uint32_t kind;
    name_id key;
};
struct replay {
    const struct trace *t;
    const struct replay_options *o;
    struct replay_result *result;
    struct state *s;
    struct intern *names;
    struct arena *records, *cycle;
    struct shape *shapes;        /* by kind */
    struct decide_config config;
    struct plan plan;
    struct random random;
    name_id *keys;               /* that nobody has */
    size_t keys_cap;
    uint32_t keys_n, keys_made_n;
    struct stay *stays;          /* with churn: a heap by `until` */
    size_t stays_cap;
    uint32_t stays_n;
    int64_t used_milli, created_ms;
    struct latency *latency;
};

static name_id name(struct replay *r, const char *text)
{
    return intern_text_id(r->names, text);
}

/* ---- the cluster ---- */

static void list_devices(struct replay *r, const struct trace_node *n, struct node_record *to)
{
    struct device *all = arena_zero(r->records, 2 * (size_t)n->gpus_n + 1, sizeof *all);
    char id[16];
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        snprintf(id, sizeof id, "%u", i);
        all[2 * i] = (struct device){.resource = name(r, GPU), .id = name(r, id), .gpu = (uint16_t)i, .healthy = true};
        all[2 * i + 1] = all[2 * i];
        all[2 * i + 1].resource = name(r, GPU_PART);
        all[2 * i + 1].parts = 1000;
    }
    to->devices = all;
    to->devices_n = 2 * n->gpus_n;
}

/* Nodes are called by their place, so that names are in the order of ranks. */
static void tell_node(struct replay *r, uint32_t at)
{
    const struct trace_node *n = &r->t->nodes[at];
    char text[16];
    snprintf(text, sizeof text, "%08u", at);
    struct amount amounts[] = {{name(r, "cpu"), n->cpu_milli}, {name(r, "memory"), n->memory_mib << 20}, {name(r, "pods"), NODE_PODS},
                               {name(r, GPU), n->gpus_n}, {name(r, GPU_PART), 1000 * (int64_t)n->gpus_n}};
    struct label label = {name(r, "model"), name(r, n->model ? r->t->models[n->model - 1] : "")};
    struct node_record record = {.name = name(r, text), .labels = &label, .labels_n = 1, .allocatable = amounts, .allocatable_n = 5,
                                 .ready = true};
    list_devices(r, n, &record);
    state_apply(r->s, &(struct change){.type = CHANGE_NODE, .node = record});
}

/* Models that a kind accepts, as a term of node affinity. */
static void add_models(struct replay *r, uint64_t models, struct shape *to)
{
    if (!models)
        return;
    name_id *values = arena_alloc(r->records, LIMIT_TRACE_MODELS * sizeof *values);
    struct requirement *one = arena_zero(r->records, 1, sizeof *one);
    struct selector *term = arena_zero(r->records, 1, sizeof *term);
    *one = (struct requirement){.key = name(r, "model"), .op = REQUIRE_IN, .values = values};
    for (uint32_t i = 0; i < r->t->models_n; i++)
        if (models >> i & 1)
            values[one->values_n++] = name(r, r->t->models[i]);
    *term = (struct selector){.all = one, .all_n = 1};
    to->node_terms = term;
    to->node_terms_n = 1;
}

static void make_shapes(struct replay *r)
{
    r->shapes = arena_zero(r->records, r->t->kinds_n + 1, sizeof *r->shapes);
    for (uint32_t i = 0; i < r->t->kinds_n; i++) {
        const struct trace_kind *k = &r->t->kinds[i];
        struct amount *requests = arena_alloc(r->records, 3 * sizeof *requests);
        uint32_t n = 0;
        bool is_part = k->gpus_n == 1 && k->gpu_milli < 1000;
        if (k->gpus_n)
            requests[n++] = (struct amount){name(r, is_part ? GPU_PART : GPU), is_part ? k->gpu_milli : k->gpus_n};
        requests[n++] = (struct amount){name(r, "cpu"), k->cpu_milli};
        requests[n++] = (struct amount){name(r, "memory"), k->memory_mib << 20};
        r->shapes[i] = (struct shape){.requests = requests, .requests_n = n, .ns = name(r, "trace")};
        add_models(r, k->models, &r->shapes[i]);
    }
}

/* ---- what is expected: kinds by cpu, GPUs and models, the most frequent first ---- */

static int compare_texts(const char *a, const char *b)
{
    int r = strcmp(a, b);
    return r < 0 ? -1 : r > 0;
}

static int compare_asks(const struct trace_kind *a, const struct trace_kind *b)
{
    if (a->cpu_milli != b->cpu_milli)
        return a->cpu_milli < b->cpu_milli ? -1 : 1;
    if (a->gpu_milli != b->gpu_milli)
        return a->gpu_milli < b->gpu_milli ? -1 : 1;
    if (a->gpus_n != b->gpus_n)
        return a->gpus_n < b->gpus_n ? -1 : 1;
    return compare_texts(a->spec, b->spec);
}

static int by_asks(const void *left, const void *right)
{
    return compare_asks(left, right);
}

static int by_count(const void *left, const void *right)
{
    const struct trace_kind *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return -compare_asks(a, b);
}

static void tell_targets(struct replay *r)
{
    const struct trace *t = r->t;
    struct trace_kind *all = arena_alloc(r->records, (t->kinds_n + 1) * sizeof *all);
    struct target *targets = arena_zero(r->records, t->kinds_n + 1, sizeof *targets);
    uint32_t n = 0, targets_n = 0;
    memcpy(all, t->kinds, t->kinds_n * sizeof *all);
    qsort(all, t->kinds_n, sizeof *all, by_asks);
    for (uint32_t i = 0; i < t->kinds_n; i++) { /* memory makes no difference */
        if (n && compare_asks(&all[n - 1], &all[i]) == 0)
            all[n - 1].count += all[i].count;
        else
            all[n++] = all[i];
    }
    qsort(all, n, sizeof *all, by_count);
    for (; targets_n < n; targets_n++) {
        const struct trace_kind *k = &all[targets_n];
        targets[targets_n] = (struct target){.cpu_milli = k->cpu_milli, .gpus_n = k->gpus_n, .gpu_milli = k->gpu_milli, .count = k->count};
        add_models(r, k->models, &targets[targets_n].on);
    }
    state_set_targets(r->s, targets, targets_n, t->pods_n);
}

/* ---- one pod ---- */

static void key_give(struct replay *r, name_id key)
{
    MEM_RESERVE(r->keys, r->keys_cap, r->keys_n + 1);
    r->keys[r->keys_n++] = key;
}

static name_id key_make(struct replay *r, uint32_t number)
{
    char text[32];
    snprintf(text, sizeof text, "trace/p%u", number);
    return name(r, text);
}

/* For all who will come, the first on top. WHY  before: how a pod's name becomes a number is no part of what is decided. */
static void keys_make(struct replay *r)
{
    for (uint32_t i = r->o->load > 0 ? 0 : r->t->arrivals_n; i-- > 0;)
        key_give(r, key_make(r, i));
    r->keys_made_n = r->keys_n;
}

static name_id key_take(struct replay *r)
{
    return r->keys_n ? r->keys[--r->keys_n] : key_make(r, r->keys_made_n++);
}

static void leave(struct replay *r, name_id key)
{
    state_apply(r->s, &(struct change){.type = CHANGE_POD_GONE, .gone = key});
    key_give(r, key);
}

static void write_decision(struct replay *r, uint64_t arrival, const struct plan_entry *e)
{
    const char *devices = e && e->devices ? strchr(e->devices, '=') : NULL;
    int64_t at = 0;
    if (e)
        (void)bytes_int64(bytes_of(intern_name(r->names, e->node)), &at);
    fprintf(r->o->decisions, "%llu %s ", (unsigned long long)arrival, e ? r->t->nodes[at].name : "-");
    for (devices = devices ? devices + 1 : ""; *devices; devices++)
        fputc(*devices == ',' ? '-' : *devices, r->o->decisions);
    fputc('\n', r->o->decisions);
}

/* Its key; 0: there is no place for it, and it is gone. */
static name_id arrive(struct replay *r, uint32_t kind, uint64_t arrival)
{
    name_id key = key_take(r);
    const struct change change = {.type = CHANGE_POD,
                                  .pod = {.key = key, .uid = key, .shape = r->shapes[kind], .created_ms = ++r->created_ms, .ours = true,
                                          .preempts_nobody = true}};
    const struct plan_entry *bound = NULL;
    int64_t start = clock_monotonic_ns();
    state_apply(r->s, &change);
    arena_reset(r->cycle);
    decide(r->s, &r->config, r->created_ms, r->cycle, &r->plan);
    latency_add(r->latency, clock_monotonic_ns() - start);
    for (uint32_t i = 0; i < r->plan.entries_n && !bound; i++)
        bound = r->plan.entries[i].effect == EFFECT_BIND ? &r->plan.entries[i] : NULL;
    if (r->o->decisions)
        write_decision(r, arrival, bound);
    if (bound) {
        r->used_milli += (int64_t)r->t->kinds[kind].gpus_n * r->t->kinds[kind].gpu_milli;
        return key;
    }
    leave(r, key);
    return 0;
}

static void count(struct replay *r, uint32_t kind, bool accepted)
{
    const struct trace_kind *k = &r->t->kinds[kind];
    bool part = k->gpus_n == 1 && k->gpu_milli < 1000;
    (*(part ? &r->result->parts_came_n : &r->result->came_n[k->gpus_n]))++;
    if (accepted)
        (*(part ? &r->result->parts_accepted_n : &r->result->accepted_n[k->gpus_n]))++;
    else
        r->result->failed_n++;
}

static void show(const struct replay *r, uint64_t done_n, uint64_t all_n)
{
    if (r->o->progress && (done_n % PROGRESS_EVERY == 0 || done_n == all_n))
        r->o->progress(done_n, all_n);
}

static void note_moment(struct replay *r, double percent)
{
    int at = percent > REPLAY_CURVE ? REPLAY_CURVE : (int)percent;
    struct replay_moment *m = &r->result->curve[at];
    double all = (double)r->t->gpu_milli;
    int64_t lost, left;
    if (m->seen || percent > REPLAY_CURVE)
        return;
    int64_t start = clock_thread_ns();
    state_fragmentation(r->s, &lost, &left);
    r->result->worked_ns -= clock_thread_ns() - start;
    *m = (struct replay_moment){true, (double)r->used_milli / all * 100, left ? (double)lost / (double)left * 100 : 0,
                                (double)lost / all * 100};
}

/* ---- pods that stay ---- */

static void fill_up(struct replay *r)
{
    const struct trace *t = r->t;
    double sums[REPLAY_POINTS][3] = {{0}}, arrived = 0, all = (double)t->gpu_milli;
    uint64_t seen[REPLAY_POINTS] = {0};
    for (uint32_t i = 0; i < t->arrivals_n; i++) {
        uint32_t kind = t->pods[t->arrivals[i]];
        arrived += (double)t->kinds[kind].gpus_n * t->kinds[kind].gpu_milli;
        count(r, kind, arrive(r, kind, i) != 0);
        note_moment(r, arrived / all * 100);
        int percent = (int)nearbyint(arrived / all * 100);
        for (int p = 0; p < REPLAY_POINTS; p++) {
            int64_t lost, left;
            if (replay_points[p] != percent)
                continue;
            state_fragmentation(r->s, &lost, &left); /* a look at the clock would take longer */
            sums[p][0] += (double)r->used_milli / all * 100;
            sums[p][1] += left ? (double)lost / (double)left * 100 : 0;
            sums[p][2] += (double)lost / all * 100;
            seen[p]++;
        }
        show(r, i + 1, t->arrivals_n);
    }
    for (int p = 0; p < REPLAY_POINTS; p++) {
        r->result->allocation[p] = seen[p] ? sums[p][0] / (double)seen[p] : -1;
        r->result->fragmentation[p] = seen[p] ? sums[p][1] / (double)seen[p] : -1;
        r->result->fragmentation_of_all[p] = seen[p] ? sums[p][2] / (double)seen[p] : -1;
    }
}

/* ---- pods that come and go ---- */

static void stay_add(struct replay *r, struct stay one)
{
    MEM_RESERVE(r->stays, r->stays_cap, r->stays_n + 1);
    uint32_t at = r->stays_n++;
    for (; at && r->stays[(at - 1) / 2].until > one.until; at = (at - 1) / 2)
        r->stays[at] = r->stays[(at - 1) / 2];
    r->stays[at] = one;
}

static struct stay stay_first_out(struct replay *r)
{
    struct stay first = r->stays[0], last = r->stays[--r->stays_n];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < r->stays_n; at = child) {
        child += child + 1 < r->stays_n && r->stays[child + 1].until < r->stays[child].until;
        if (r->stays[child].until >= last.until)
            break;
        r->stays[at] = r->stays[child];
    }
    r->stays[at] = last;
    return first;
}

/* With mean 1. */
static double exponential(struct random *random)
{
    return -log1p(-(double)(random_next(random) >> 11) / 9007199254740992.0);
}

struct measured {
    double now, since, sum; /* allocation times time */
    bool on;
};

static void pass(struct replay *r, struct measured *m, double until)
{
    if (m->on)
        m->sum += (until - m->now) * (double)r->used_milli;
    m->now = until;
}

static void leave_until(struct replay *r, struct measured *m, double until)
{
    while (r->stays_n && r->stays[0].until <= until) {
        pass(r, m, r->stays[0].until);
        struct stay one = stay_first_out(r);
        r->used_milli -= (int64_t)r->t->kinds[one.kind].gpus_n * r->t->kinds[one.kind].gpu_milli;
        leave(r, one.key);
    }
    pass(r, m, until);
}

static void come_and_go(struct replay *r)
{
    const struct trace *t = r->t;
    double asked = 0, next = 0;
    struct measured m = {0};
    for (uint32_t i = 0; i < t->kinds_n; i++)
        asked += (double)t->kinds[i].gpus_n * t->kinds[i].gpu_milli * t->kinds[i].count;
    double every = asked / t->pods_n / ((double)t->gpu_milli * r->o->load); /* of the mean life */
    for (uint64_t i = 0; i < r->o->arrivals_n; i++) {
        next += every * exponential(&r->random);
        leave_until(r, &m, next);
        if (i == r->o->arrivals_n / 2) {
            m.on = true;
            m.since = m.now;
        }
        uint32_t kind = t->pods[random_below(&r->random, t->pods_n)];
        double life = exponential(&r->random);
        name_id key = arrive(r, kind, i);
        if (key)
            stay_add(r, (struct stay){next + life, kind, key});
        if (m.on)
            count(r, kind, key != 0);
        note_moment(r, 100.0 * (double)(i + 1) / (double)r->o->arrivals_n);
        show(r, i + 1, r->o->arrivals_n);
    }
    r->result->allocation_mean = m.now > m.since ? m.sum / (m.now - m.since) / (double)t->gpu_milli * 100 : 0;
}

void trace_replay(const struct trace *t, const struct replay_options *o, struct replay_result *ret_result)
{
    *ret_result = (struct replay_result){0};
    struct replay r = {.t = t, .o = o, .result = ret_result, .s = state_new(), .records = arena_new(), .cycle = arena_new(),
                       .random = {o->seed}};
    r.names = state_names(r.s);
    r.config = (struct decide_config){.no_remedies = true, .no_counts = true, .placement = o->placement, .placement_seed = o->seed,
                                       .keeps_whole = true};
    r.latency = mem_zero(1, sizeof *r.latency);
    for (uint32_t i = 0; i < t->nodes_n; i++)
        tell_node(&r, i);
    make_shapes(&r);
    tell_targets(&r);
    keys_make(&r);
    int64_t start = clock_thread_ns();
    if (o->load > 0)
        come_and_go(&r);
    else
        fill_up(&r);
    ret_result->worked_ns += clock_thread_ns() - start;
    ret_result->allocation_end = (double)r.used_milli / (double)t->gpu_milli * 100;
    ret_result->decisions_n = r.latency->n;
    ret_result->decided_ns = r.latency->sum_ns;
    ret_result->p50_ns = latency_percentile(r.latency, 50);
    ret_result->p99_ns = latency_percentile(r.latency, 99);
    ret_result->most_ns = r.latency->most_ns;
    free(r.latency);
    free(r.keys);
    free(r.stays);
    state_free(r.s);
    arena_free(r.records);
    arena_free(r.cycle);
}
