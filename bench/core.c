/* core.c - decisions per second of the core alone: no JSON, no API server, records ready in memory
 *
 * core.place.NODESx10000  10,000 single-GPU pods, each its own gang, onto NODES nodes x 8 GPUs; taking the pods in is part of the time
 * core.wishes.5000x500    500 pods that would rather be spread over zones and stand on nodes of their own, onto 5,000 nodes where 20,000
 *                         others stand
 * core.gang.512           one pod group of 512 x 8 GPUs onto 1,000 nodes, decide only
 * core.gangs.1000x3, .9x1000  so many groups of so many single-GPU pods, all waiting, onto 5,000 nodes, decide only, until all are placed
 * core.nofit.gang80       "cannot fit" for 80 x 1 GPU on a full cluster of 500 x 8
 * core.backlog.10000      10,000 pods wait on a full cluster, one GPU comes free: time until it is taken
 * core.backlog.10000x1000 the same with 1,000 different shapes among those that wait
 * tas.512                 a workload of 512 pods, block required, onto 10,000 nodes in 4 levels; tas.512.no: no block holds it, why (what
 *                         would help is not looked for); .known: another of its shape was decided before
 * tiers.1024x8            a pod group of 128 subgroups of 8 pods of 8 GPUs, each subgroup in one rack, all of them in one row: onto 10,000
 *                         nodes in racks of 8 and rows of 250 racks, decide only
 * core.bytes.node, .pod   memory by difference of resident size
 */
#include <malloc.h>
#include <time.h>
#include "../tests/unit/core/world.h"
#include "figure_line.h"

#define GPU "nvidia.com/gpu"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void add_nodes(struct world *w, int n)
{
    char name[64], labels[160];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "node-%06d", i);
        snprintf(labels, sizeof labels, "kubernetes.io/hostname=%s,zone=z%d,product=a100", name, i % 4);
        node(w, name, "cpu=96000,memory=1099511627776,pods=110," GPU "=8", labels);
    }
}

static struct pod_record *make_pods(struct world *w, const char *prefix, const char *gang, const char *requests, int n)
{
    struct pod_record *all = arena_alloc(w->records, (size_t)n * sizeof *all);
    struct shape shape = shape_of(w, requests, "");
    char key[64];
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "ns/%s-%06d", prefix, i);
        all[i] = a_pod(w, key, gang, "");
        all[i].shape = shape;
    }
    return all;
}

/* Decide until nothing is left; returns how many pods were bound. */
static uint32_t bind_all(struct world *w)
{
    uint32_t bound = 0;
    do {
        run(w);
        bound += effects(w, EFFECT_BIND);
    } while (w->plan.entries_n);
    return bound;
}

static void place(int nodes, int pods, int rounds)
{
    double best = 1e9;
    char name[64];
    for (int r = 0; r < rounds; r++) {
        struct world w = world_new();
        size_t before = heap_bytes();
        add_nodes(&w, nodes);
        size_t after_nodes = heap_bytes();
        struct pod_record *all = make_pods(&w, "pod", NULL, "cpu=1000,memory=1073741824," GPU "=1", pods);
        size_t before_pods = heap_bytes();
        double start = seconds();
        for (int i = 0; i < pods; i++)
            pod_record(&w, all[i]);
        uint32_t bound = bind_all(&w);
        double took = seconds() - start;
        if (bound != (uint32_t)(pods < nodes * 8 ? pods : nodes * 8)) {
            fprintf(stderr, "core.place: bound %u of %d\n", bound, pods);
            exit(1);
        }
        best = took < best ? took : best;
        if (nodes == 5000 && r == 0) {
            print("core.bytes.node", (double)(after_nodes - before) / nodes, "B");
            print("core.bytes.pod", (double)(heap_bytes() - before_pods) / pods, "B");
        }
        world_free(&w);
    }
    snprintf(name, sizeof name, "core.place.%dx%d", nodes, pods);
    print(name, pods / best, "pods/s");
}

static void wishes(void)
{
    struct world w = world_new();
    add_nodes(&w, 5000);
    struct pod_record *others = make_pods(&w, "other", NULL, "cpu=1000", 20000);
    for (int i = 0; i < 20000; i++)
        pod_record(&w, others[i]);
    (void)bind_all(&w);
    struct label label = {id(&w, "app"), id(&w, "web")};
    struct requirement is_web = {.key = label.key, .op = REQUIRE_IN, .values = &label.value, .values_n = 1};
    const struct selector web = {.all = &is_web, .all_n = 1};
    const struct pod_affinity apart = {.pods = web, .topology_key = id(&w, "kubernetes.io/hostname"), .anti = true, .weight = 100};
    const struct topology_spread even = {.pods = web, .topology_key = id(&w, "zone"), .max_skew = 1};
    struct pod_record *all = make_pods(&w, "web", NULL, "cpu=1000", 500);
    double start = seconds();
    for (int i = 0; i < 500; i++) {
        struct shape *shape = &all[i].shape;
        shape->labels = &label;
        shape->pod_wishes = &apart;
        shape->spread_wishes = &even;
        shape->labels_n = shape->pod_wishes_n = shape->spread_wishes_n = 1;
        pod_record(&w, all[i]);
    }
    uint32_t bound = bind_all(&w);
    print("core.wishes.5000x500", bound / (seconds() - start), "pods/s");
    world_free(&w);
}

static void gang_512(void)
{
    double best = 1e9;
    for (int r = 0; r < 5; r++) {
        struct world w = world_new();
        add_nodes(&w, 1000);
        gang_record(&w, a_group(&w, "gang", NULL, 512));
        struct pod_record *all = make_pods(&w, "pod", "gang", "cpu=8000," GPU "=8", 512);
        for (int i = 0; i < 512; i++)
            pod_record(&w, all[i]);
        double start = seconds();
        uint32_t bound = bind_all(&w);
        double took = seconds() - start;
        best = took < best ? took : best;
        if (bound != 512)
            exit(1);
        world_free(&w);
    }
    print("core.gang.512", best * 1e3, "ms");
}

static void gangs(int groups, int size)
{
    double best = 1e9;
    char name[64];
    for (int r = 0; r < 3; r++) {
        struct world w = world_new();
        add_nodes(&w, 5000);
        for (int g = 0; g < groups; g++) {
            char gang[16];
            snprintf(gang, sizeof gang, "gang%d", g);
            gang_record(&w, a_group(&w, gang, NULL, size));
            struct pod_record *all = make_pods(&w, gang, gang, "cpu=1000,memory=1073741824," GPU "=1", size);
            for (int i = 0; i < size; i++)
                pod_record(&w, all[i]);
        }
        double start = seconds();
        uint32_t bound = bind_all(&w);
        double took = seconds() - start;
        best = took < best ? took : best;
        if (bound != (uint32_t)(groups * size)) {
            fprintf(stderr, "core.gangs: bound %u of %d\n", bound, groups * size);
            exit(1);
        }
        world_free(&w);
    }
    snprintf(name, sizeof name, "core.gangs.%dx%d", groups, size);
    print(name, best * 1e3, "ms");
}

static void nofit_80(void)
{
    double worst = 0;
    struct world w = world_new();
    add_nodes(&w, 500);
    struct pod_record *all = make_pods(&w, "full", NULL, "cpu=1000," GPU "=8", 500);
    for (int i = 0; i < 500; i++)
        pod_record(&w, all[i]);
    if (bind_all(&w) != 500)
        exit(1);
    for (int r = 0; r < 5; r++) {
        char gang[16];
        snprintf(gang, sizeof gang, "gang%d", r);
        gang_record(&w, a_group(&w, gang, NULL, 80));
        char requests[64];
        snprintf(requests, sizeof requests, "cpu=%d," GPU "=1", 1000 + r); /* a shape never seen before each time */
        all = make_pods(&w, gang, gang, requests, 80);
        for (int i = 0; i < 80; i++)
            pod_record(&w, all[i]);
        double start = seconds();
        run(&w);
        double took = seconds() - start;
        worst = took > worst ? took : worst;
        if (effects(&w, EFFECT_BIND) || !effects(&w, EFFECT_EXPLAIN))
            exit(1);
    }
    world_free(&w);
    print("core.nofit.gang80", worst * 1e3, "ms");
}

/* A full cluster, 10,000 single-GPU pods of so many shapes waiting; one running pod ends: how long until the next stands in its place? */
static void backlog(const char *name, int shapes, int starts)
{
    struct world w = world_new();
    const struct decide_config config = {.gangs_max = 100000, .pods_max = 100000};
    add_nodes(&w, 500);
    struct pod_record *running = make_pods(&w, "run", NULL, "cpu=1000," GPU "=1", 4000);
    for (int i = 0; i < 4000; i++)
        pod_record(&w, running[i]);
    bind_all(&w);
    struct pod_record *waiting = make_pods(&w, "wait", NULL, "", 10000);
    for (int i = 0; i < 10000; i++) {
        char requests[64];
        snprintf(requests, sizeof requests, "cpu=%d," GPU "=1", 1000 - i % shapes);
        waiting[i].shape = shape_of(&w, requests, "");
        pod_record(&w, waiting[i]);
    }
    bind_all(&w);
    double start = seconds();
    for (int i = 0; i < starts; i++) {
        state_apply(w.s, &(struct change){.type = CHANGE_POD_GONE, .gone = running[i].key});
        arena_reset(w.cycle);
        decide(w.s, &config, w.now_ms, w.cycle, &w.plan);
        if (effects(&w, EFFECT_BIND) != 1)
            exit(1);
    }
    print(name, (seconds() - start) * 1e6 / starts, "us");
    world_free(&w);
}

/* 10,000 nodes of one free GPU: 10 zones of 2 blocks of 10 racks of 50. */
static void add_nodes_in_domains(struct world *w)
{
    struct queue_words q;
    topology(w, "t", "zone,block,rack,kubernetes.io/hostname");
    topology_flavor(w, "f", "t", "product=a100");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "f", "cpu", 1000000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "f", GPU, 1000000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
    for (int i = 0; i < 10000; i++) {
        char name[32], labels[160];
        snprintf(name, sizeof name, "node-%06d", i);
        snprintf(labels, sizeof labels, "zone=z%d,block=b%02d,rack=r%03d,kubernetes.io/hostname=%s,product=a100", i / 1000, i / 500, i / 50,
                 name);
        node(w, name, i % 500 < 2 && i < 500 ? "cpu=96000,pods=110," GPU "=8" : "cpu=96000,pods=110," GPU "=2", labels);
    }
}

static double decide_in_block(struct world *w, const char *name, int pods_n, const char *requests, bool fits)
{
    struct gang_record r = a_workload(w, name, "ns/lq", pods_n, requests);
    ((struct pod_set *)r.pod_sets)->topology = (struct topology_request){.mode = TOPOLOGY_REQUIRED, .level = id(w, "block")};
    gang_record(w, r);
    double start = seconds();
    arena_reset(w->cycle);
    decide(w->s, &(struct decide_config){.no_remedies = true}, w->now_ms, w->cycle, &w->plan);
    double took = seconds() - start;
    if (effects(w, EFFECT_ADMIT) != fits || effects(w, EFFECT_EXPLAIN) == fits) {
        fprintf(stderr, "tas.512: %s\n", why(w, name));
        exit(1);
    }
    return took;
}

/* Two workloads of a shape that was never seen before: the worst of the first, and of the next, of five such pairs. */
static void decide_pairs(struct world *w, int cpu, int gpus, bool fits, double ret_worst[2])
{
    ret_worst[0] = ret_worst[1] = 0;
    for (int i = 0; i < 10; i++) {
        char name[16], requests[64];
        snprintf(name, sizeof name, "w%d-%d", cpu, i);
        snprintf(requests, sizeof requests, "cpu=%d," GPU "=%d", cpu + i / 2, gpus);
        double took = decide_in_block(w, name, fits ? 512 : 512 + i % 2, requests, fits);
        ret_worst[i % 2] = took > ret_worst[i % 2] ? took : ret_worst[i % 2];
    }
}

static void tas_512(void)
{
    double yes[2], no[2];
    struct world w = world_new();
    add_nodes_in_domains(&w);
    (void)decide_in_block(&w, "warm", 1, "cpu=1," GPU "=1", true);
    decide_pairs(&w, 1000, 1, true, yes);
    decide_pairs(&w, 2000, 2, false, no);
    world_free(&w);
    print("tas.512", yes[0] * 1e3, "ms");
    print("tas.512.known", yes[1] * 1e3, "ms");
    print("tas.512.no", no[0] * 1e3, "ms");
    print("tas.512.no.known", no[1] * 1e3, "ms");
}

static void add_nodes_in_racks(struct world *w)
{
    _cleanup_buf_ struct buf rows = {0};
    for (int i = 0; i < 10000; i++) {
        const char *name = arena_printf(w->records, "n%d", i);
        node(w, name, "cpu=96000,pods=110," GPU "=8", "");
        buf_printf(&rows, "%s%s=row%d/rack%d", i ? " " : "", name, i / 2000, i / 8);
    }
    tiers(w, "2,1", rows.data);
}

static void tiers_1024(void)
{
    struct world w = world_new();
    add_nodes_in_racks(&w);
    const name_id part = id(&w, "part");
    const struct subgroup_policy policy = {.name = part, .keys = &part, .keys_n = 1, .size = 8, .least_n = 128,
                                           .tiers = {TOPOLOGY_REQUIRED, 1, 0}};
    struct gang_record r = a_group(&w, "g", NULL, 1024);
    r.tiers = (struct tier_request){TOPOLOGY_REQUIRED, 2, 0};
    r.subgroups = &policy;
    r.subgroups_n = 1;
    gang_record(&w, r);
    for (int i = 0; i < 1024; i++) {
        struct pod_record p = a_pod(&w, arena_printf(w.records, "ns/p%d", i), "g", "cpu=1000," GPU "=8");
        p.shape.labels = labels_of(&w, arena_printf(w.records, "part=%d", i / 8), &p.shape.labels_n);
        pod_record(&w, p);
    }
    double start = seconds();
    decide(w.s, &(struct decide_config){.no_remedies = true}, w.now_ms, w.cycle, &w.plan);
    double took = seconds() - start;
    if (effects(&w, EFFECT_BIND) != 1024) {
        fprintf(stderr, "tiers.1024x8: %s\n", why(&w, "g"));
        exit(1);
    }
    print("tiers.1024x8", took * 1e3, "ms");
    world_free(&w);
}

int main(int argc, char **argv)
{
    if (argc == 3) { /* core NODES PODS: one run, for profiling */
        place((int)strtol(argv[1], NULL, 10), (int)strtol(argv[2], NULL, 10), 1);
        return 0;
    }
    if (argc == 4) { /* core backlog SHAPES STARTS: the same, of at most 4,000 starts */
        backlog("core.backlog", (int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
        return 0;
    }
    place(1000, 10000, 3);
    place(5000, 10000, 3);
    place(10000, 10000, 3);
    place(100000, 10000, 3);
    wishes();
    gang_512();
    gangs(1000, 3);
    gangs(9, 1000);
    nofit_80();
    tas_512();
    tiers_1024();
    backlog("core.backlog.10000", 1, 100);
    backlog("core.backlog.10000x1000", 1000, 100);
    return 0;
}
