/* jobs.h - words for tests of whole jobs: clusters with one queue, workloads of several sets, what the API says of them and their pods */
#ifndef TEST_JOBS_H
#define TEST_JOBS_H
#include "world.h"

#define GPU "nvidia.com/gpu"

/* Each test has a world of its own, which goes with it also when it fails. */
static inline int world_begin(void **state)
{
    struct world *w = malloc(sizeof *w);
    *w = world_new();
    *state = w;
    return 0;
}
static inline int world_end(void **state)
{
    world_free(*state);
    free(*state);
    return 0;
}
#define in_a_world(test) cmocka_unit_test_setup_teardown(test, world_begin, world_end)

static inline void step(struct world *w)
{
    struct err e = {0};
    run(w);
    if (!state_check(w->s, &e))
        fail_msg("%s", e.text);
}

/* One queue "q" with room for all, under flavor "any", and a local queue "ns/lq". */
static inline void wide_queue(struct world *w, enum queue_strategy strategy, enum stop_policy stop)
{
    struct queue_words q;
    flavor(w, "any", "");
    queue_begin(w, &q, "q", NULL);
    q.r.strategy = strategy;
    q.r.stop = stop;
    queue_quota(w, &q, "any", "cpu", 1000000, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "any", GPU, 1000, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
}

/* That queue, and nodes "n0"... of eight CPUs and eight GPUs each. */
static inline void wide_cluster(struct world *w, int nodes_n)
{
    wide_queue(w, QUEUE_BEST_EFFORT_FIFO, STOP_NONE);
    for (int i = 0; i < nodes_n; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        node(w, name, "cpu=8000," GPU "=8", "");
    }
}

/* A queue with so many GPUs of flavor "any", and a local queue that leads to it. */
static inline void gpu_queue(struct world *w, const char *name, const char *cohort, const char *local, int64_t gpus)
{
    struct queue_words q;
    flavor(w, "any", "");
    queue_begin(w, &q, name, cohort);
    queue_quota(w, &q, "any", GPU, gpus, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, local, name);
}

/* Flavors "fa" of nodes with kind=a and "fb" of those with kind=b; a queue "q" with so much of each, and a local queue "ns/lq". */
static inline void two_flavors(struct world *w, const char *resource, int64_t of_a, int64_t of_b)
{
    struct queue_words q;
    flavor(w, "fa", "kind=a");
    flavor(w, "fb", "kind=b");
    queue_begin(w, &q, "q", NULL);
    queue_quota(w, &q, "fa", resource, of_a, NO_LIMIT, NO_LIMIT);
    queue_quota(w, &q, "fb", resource, of_b, NO_LIMIT, NO_LIMIT);
    queue_done(w, &q);
    local_queue(w, "ns/lq", "q");
}

/* A queue of Volcano's, "volcano:v": GPUs are counted where gpus >= 0, nothing else is. */
static inline struct queue_record volcano_queue(struct world *w, int64_t gpus)
{
    struct quota_record *quota = arena_zero(w->records, 1, sizeof *quota);
    *quota = (struct quota_record){.resource = id(w, GPU), .nominal = gpus, .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    struct queue_record q = {.name = id(w, "volcano:v"), .kind = QUEUE_VOLCANO, .unlimited = true, .quotas = quota, .quotas_n = gpus >= 0};
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q});
    return q;
}

static inline struct gang_record workload_of(struct world *w, const char *name, const struct pod_set *sets, uint32_t n)
{
    struct gang_record r = a_workload(w, name, "ns/lq", 1, GPU "=1");
    r.pod_sets = sets;
    r.pod_sets_n = n;
    r.min_members = 0;
    for (uint32_t i = 0; i < n; i++)
        r.min_members += sets[i].count;
    return r;
}

static inline struct pod_set a_set(struct world *w, const char *name, int32_t count, const char *requests)
{
    return (struct pod_set){.name = id(w, name), .shape = shape_of(w, requests, ""), .count = count, .min_count = count};
}

static inline struct gang_record admitted(struct world *w, struct gang_record r)
{
    return admitted_in(w, r, "any");
}

/* It comes, and its admission is decided. */
static inline void submit_and_admit(struct world *w, struct gang_record r)
{
    gang_record(w, r);
    step(w);
    assert_non_null(entry_of(w, EFFECT_ADMIT, text_of(w, r.key)));
}

static inline struct pod_record pod_in(struct world *w, const char *key, const char *gang, const char *set, const char *requests,
                                const char *node_labels)
{
    struct pod_record p = a_pod(w, key, gang, requests);
    p.shape = shape_of(w, requests, node_labels);
    p.pod_set = id(w, set);
    return p;
}

/* The API says that it runs there. */
static inline void running_pod(struct world *w, const char *key, const char *gang, const char *requests, const char *on)
{
    struct pod_record p = a_pod(w, key, gang, requests);
    p.node = id(w, on);
    p.phase = POD_RUNNING;
    pod_record(w, p);
}

static inline const char *node_of(struct world *w, const char *pod_key)
{
    const struct plan_entry *e = entry_of(w, EFFECT_BIND, pod_key);
    return e ? text_of(w, e->node) : "";
}

#endif
