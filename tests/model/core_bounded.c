/* core_bounded.c - pods, gangs, nodes and queues come and go by the ten thousand; what the core keeps does not grow
 *
 *   core_bounded [ROUNDS]
 */
#include <inttypes.h>
#include <malloc.h>
#include "../unit/core/world.h"

#define GPU "nvidia.com/gpu"
enum { WARM = 2000, NAMES_MORE = 500, BYTES_MORE = 128 * 1024 };

static void fail(const char *what, int round)
{
    fprintf(stderr, "core_bounded: round %d: %s\n", round, what);
    exit(1);
}

static size_t kept_bytes(void)
{
    struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static void pod_phase(struct world *w, struct pod_record p, enum pod_phase phase)
{
    p.phase = phase;
    p.node = id(w, "n0");
    pod_record(w, p);
}

/* A pod of its own. */
static void lone(struct world *w, int round)
{
    char key[32];
    snprintf(key, sizeof key, "ns/lone-%d", round);
    struct pod_record p = a_pod(w, key, NULL, "cpu=1000," GPU "=1");
    pod_record(w, p);
    run(w);
    if (!entry_of(w, EFFECT_BIND, key))
        fail("the pod was not bound", round);
    pod_phase(w, p, POD_RUNNING);
    pod_phase(w, p, POD_SUCCEEDED);
    gone(w, CHANGE_POD_GONE, key);
    run(w);
}

/* A workload of one pod, with a label of its own, as jobs have it. */
static void job(struct world *w, int round)
{
    char name[32], key[48], label[64];
    snprintf(name, sizeof name, "job-%d", round);
    snprintf(key, sizeof key, "ns/job-%d-0", round);
    snprintf(label, sizeof label, "job-name=%s", name);
    struct gang_record r = a_workload(w, name, "ns/lq", 1, "cpu=1000," GPU "=1");
    gang_record(w, r);
    run(w);
    struct pod_record p = a_pod(w, key, name, "cpu=1000," GPU "=1");
    p.shape.labels = labels_of(w, label, &p.shape.labels_n);
    pod_record(w, p);
    run(w);
    if (!entry_of(w, EFFECT_BIND, key))
        fail("the job's pod was not bound", round);
    pod_phase(w, p, POD_SUCCEEDED);
    r.finished = true;
    gang_record(w, r);
    gone(w, CHANGE_POD_GONE, key);
    gone(w, CHANGE_GANG_GONE, name);
    run(w);
}

/* One that can never start, and its reason. */
static void refused(struct world *w, int round)
{
    char name[32];
    snprintf(name, sizeof name, "large-%d", round);
    workload(w, name, "ns/lq", 1, GPU "=9000");
    run(w);
    gone(w, CHANGE_GANG_GONE, name);
    run(w);
}

static void spot_node(struct world *w, int round)
{
    char name[32], host[64];
    snprintf(name, sizeof name, "spot-%d", round);
    snprintf(host, sizeof host, "kubernetes.io/hostname=%s", name);
    node(w, name, "cpu=1000", host);
    gone(w, CHANGE_NODE_GONE, name);
}

/* A queue in a cohort, with a flavor and a namespace of its own, and a gang that asks for a local queue that is not there. */
static void team(struct world *w, int round)
{
    char name[32], cohort[32], any[32], local[48];
    struct queue_words q;
    snprintf(name, sizeof name, "team-%d", round);
    snprintf(cohort, sizeof cohort, "cohort-%d", round);
    snprintf(any, sizeof any, "flavor-%d", round);
    snprintf(local, sizeof local, "ns/local-%d", round);
    struct label label = {id(w, "team"), id(w, name)};
    state_apply(w->s, &(struct change){.type = CHANGE_NAMESPACE, .ns = {.name = id(w, name), .labels = &label, .labels_n = 1}});
    flavor(w, any, "");
    queue_begin(w, &q, name, cohort);
    queue_quota(w, &q, any, "cpu", 1000, NO_LIMIT, NO_LIMIT);
    q.r.strategy = QUEUE_STRICT_FIFO;
    workload(w, local, local, 1, "cpu=1000");
    run(w);
    queue_done(w, &q);
    local_queue(w, local, name);
    run(w);
    if (!entry_of(w, EFFECT_ADMIT, local))
        fail("the team's gang was not admitted", round);
    gone(w, CHANGE_QUEUE_GONE, name);
    gone(w, CHANGE_FLAVOR_GONE, any);
    gone(w, CHANGE_LOCAL_QUEUE_GONE, local);
    gone(w, CHANGE_NAMESPACE_GONE, name);
    gone(w, CHANGE_GANG_GONE, local);
    run(w);
}

static void one_round(struct world *w, int round)
{
    arena_reset(w->records);
    lone(w, round);
    job(w, round);
    refused(w, round);
    spot_node(w, round);
    team(w, round);
    if (intern_sweep_due(w->names, 1000))
        sweep_names(w);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10000;
    struct world w = world_new();
    struct queue_words q;
    flavor(&w, "any", "");
    queue_begin(&w, &q, "q", NULL);
    queue_quota(&w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(&w, &q, "any", GPU, 1000, NO_LIMIT, NO_LIMIT);
    queue_done(&w, &q);
    local_queue(&w, "ns/lq", "q");
    node(&w, "n0", "cpu=64000," GPU "=8", "");
    for (int i = 0; i < WARM; i++)
        one_round(&w, i);
    sweep_names(&w);
    uint32_t names_n = intern_count(w.names);
    size_t bytes = kept_bytes();
    for (int i = WARM; i < WARM + rounds; i++)
        one_round(&w, i);
    sweep_names(&w);
    int64_t names_more = (int64_t)intern_count(w.names) - names_n, more = (int64_t)kept_bytes() - (int64_t)bytes;
    printf("# %d rounds: %" PRId64 " names more, %" PRId64 " bytes more\n", rounds, names_more, more);
    bool good = names_more <= NAMES_MORE && more <= BYTES_MORE;
    if (!good)
        fprintf(stderr, "core_bounded: the core grows by %.1f names and %.0f bytes a round\n", (double)names_more / rounds,
                (double)more / rounds);
    world_free(&w);
    return good ? 0 : 1;
}
