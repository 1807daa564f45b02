/* jobs.h - words for tests of whole jobs: a queue with room for all, workloads of several sets, the API's word that one was admitted */
#ifndef TEST_JOBS_H
#define TEST_JOBS_H
#include "world.h"

#define GPU "nvidia.com/gpu"

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

/* The API says that the gang has been admitted under flavor "any". */
static inline struct gang_record admitted(struct world *w, struct gang_record r)
{
    struct flavor_choice *choices = arena_zero(w->records, r.pod_sets_n * 2 + 1, sizeof *choices);
    for (uint32_t i = 0; i < r.pod_sets_n; i++)
        for (uint32_t k = 0; k < r.pod_sets[i].shape.requests_n; k++)
            choices[r.choices_n++] = (struct flavor_choice){(uint16_t)i, r.pod_sets[i].shape.requests[k].resource, id(w, "any")};
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.choices = choices;
    return r;
}

static inline struct pod_record pod_in(struct world *w, const char *key, const char *gang, const char *set, const char *requests,
                                const char *node_labels)
{
    struct pod_record p = a_pod(w, key, gang, requests);
    p.shape = shape_of(w, requests, node_labels);
    p.pod_set = id(w, set);
    return p;
}

static inline const char *node_of(struct world *w, const char *pod_key)
{
    const struct plan_entry *e = entry_of(w, EFFECT_BIND, pod_key);
    return e ? text_of(w, e->node) : "";
}

#endif
