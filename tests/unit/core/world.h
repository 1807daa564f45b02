/* world.h - small words to build a cluster in tests, golden cases, models and benchmarks of the core
 *
 * Texts: labels are "k=v,k=v"; amounts are "cpu=4000,memory=8,nvidia.com/gpu=1".
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/decide.h"
#include "core/explain/explain.h"
#include "core/state/state.h"

struct world {
    struct state *s;
    struct intern *names;
    struct arena *records; /* what changes point to */
    struct arena *cycle;
    struct plan plan;
    int64_t now_ms;
    struct fair_policy fair;
    bool hold, no_remedies;
    struct lost_policy lost;
    bool node_wishes;
    enum placement placement;
};

static inline struct world world_new(void)
{
    struct world w = {.s = state_new(), .records = arena_new(), .cycle = arena_new(), .now_ms = 1000000};
    w.names = state_names(w.s);
    return w;
}
static inline void world_free(struct world *w)
{
    state_free(w->s);
    arena_free(w->records);
    arena_free(w->cycle);
}
static inline name_id id(struct world *w, const char *text)
{
    return intern_text_id(w->names, text);
}
static inline const char *text_of(struct world *w, name_id name)
{
    return intern_name(w->names, name);
}

/* Splits "k=v,k=v"; calls back with NUL-terminated parts. Returns how many. */
static inline uint32_t world_pairs(struct world *w, const char *text, const char *ret_keys[16], const char *ret_values[16])
{
    uint32_t n = 0;
    char *copy = arena_text(w->records, text ? text : ""), *save = NULL;
    for (char *part = strtok_r(copy, ",", &save); part && n < 16; part = strtok_r(NULL, ",", &save), n++) {
        char *equals = strchr(part, '=');
        if (equals)
            *equals = 0;
        ret_keys[n] = part;
        ret_values[n] = equals ? equals + 1 : "";
    }
    return n;
}
static inline const struct label *labels_of(struct world *w, const char *text, uint32_t *ret_n)
{
    const char *keys[16], *values[16];
    *ret_n = world_pairs(w, text, keys, values);
    struct label *all = arena_alloc(w->records, (*ret_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < *ret_n; i++)
        all[i] = (struct label){id(w, keys[i]), id(w, values[i])};
    return all;
}
static inline const struct amount *amounts_of(struct world *w, const char *text, uint32_t *ret_n)
{
    const char *keys[16], *values[16];
    *ret_n = world_pairs(w, text, keys, values);
    struct amount *all = arena_alloc(w->records, (*ret_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < *ret_n; i++)
        all[i] = (struct amount){id(w, keys[i]), atoll(values[i])};
    return all;
}
static inline struct shape shape_of(struct world *w, const char *requests, const char *node_labels)
{
    struct shape s = {.ns = id(w, "ns")};
    s.requests = amounts_of(w, requests, &s.requests_n);
    s.node_labels = labels_of(w, node_labels, &s.node_labels_n);
    return s;
}

static inline void node_record(struct world *w, struct node_record r)
{
    state_apply(w->s, &(struct change){.type = CHANGE_NODE, .node = r});
}
static inline struct node_record a_node(struct world *w, const char *name, const char *amounts, const char *labels)
{
    struct node_record r = {.name = id(w, name), .ready = true};
    r.allocatable = amounts_of(w, amounts, &r.allocatable_n);
    r.labels = labels_of(w, labels, &r.labels_n);
    return r;
}
static inline void node(struct world *w, const char *name, const char *amounts, const char *labels)
{
    node_record(w, a_node(w, name, amounts, labels));
}
static inline void gone(struct world *w, enum change_type type, const char *name)
{
    state_apply(w->s, &(struct change){.type = type, .gone = id(w, name)});
}
static inline void flavor(struct world *w, const char *name, const char *labels)
{
    struct flavor_record r = {.name = id(w, name)};
    r.node_labels = labels_of(w, labels, &r.node_labels_n);
    state_apply(w->s, &(struct change){.type = CHANGE_FLAVOR, .flavor = r});
}

/* levels: "block,rack,kubernetes.io/hostname" */
static inline void topology(struct world *w, const char *name, const char *levels)
{
    struct topology_record r = {.name = id(w, name)};
    const char *keys[16], *unused[16];
    r.levels_n = world_pairs(w, levels, keys, unused);
    name_id *all = arena_alloc(w->records, (r.levels_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < r.levels_n; i++)
        all[i] = id(w, keys[i]);
    r.levels = all;
    state_apply(w->s, &(struct change){.type = CHANGE_TOPOLOGY, .topology = r});
}
/* HyperNodes. tiers: "3,1", from the widest; rows: "n1=x/s0 n2=x/-": of each node its domains, "-": none. */
static inline void tiers(struct world *w, const char *levels, const char *rows)
{
    struct topology_record r = {.name = id(w, "hypernodes")};
    const char *keys[16], *unused[16];
    char *copy = arena_text(w->records, rows), *save = NULL, *inner;
    r.levels_n = world_pairs(w, levels, keys, unused);
    name_id *names = arena_alloc(w->records, (r.levels_n + 1) * sizeof *names);
    int64_t *numbers = arena_alloc(w->records, (r.levels_n + 1) * sizeof *numbers);
    struct topology_row *all = arena_zero(w->records, strlen(rows) + 1, sizeof *all);
    for (uint32_t i = 0; i < r.levels_n; i++) {
        names[i] = id(w, keys[i]);
        numbers[i] = atoll(keys[i]);
    }
    for (char *one = strtok_r(copy, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
        name_id *domains = arena_zero(w->records, r.levels_n + 1, sizeof *domains);
        char *equals = strchr(one, '=');
        *equals = 0;
        uint32_t l = 0;
        for (char *part = strtok_r(equals + 1, "/", &inner); part && l < r.levels_n; part = strtok_r(NULL, "/", &inner), l++)
            domains[l] = strcmp(part, "-") ? id(w, part) : 0;
        all[r.rows_n++] = (struct topology_row){id(w, one), domains};
    }
    r.levels = names;
    r.tiers = numbers;
    r.rows = all;
    state_apply(w->s, &(struct change){.type = CHANGE_TOPOLOGY, .topology = r});
}
static inline void topology_flavor(struct world *w, const char *name, const char *of_topology, const char *labels)
{
    struct flavor_record r = {.name = id(w, name), .topology = id(w, of_topology)};
    r.node_labels = labels_of(w, labels, &r.node_labels_n);
    state_apply(w->s, &(struct change){.type = CHANGE_FLAVOR, .flavor = r});
}

/* A queue with one resource group, or more (queue_next_group); quotas are added one by one to the last, then queue_done. */
struct queue_words {
    struct queue_record r;
    struct resource_group groups[4];
    uint32_t group;
    name_id resources[4][8], flavors[4][8];
    struct quota_record quotas[32];
};
static inline void queue_begin(struct world *w, struct queue_words *q, const char *name, const char *cohort)
{
    memset(q, 0, sizeof *q);
    q->r = (struct queue_record){.name = id(w, name), .cohort = id(w, cohort), .borrow_before_next_flavor = true};
}
static inline void queue_next_group(struct queue_words *q)
{
    q->group++;
}
static inline void name_once(name_id *all, uint32_t *n, name_id name)
{
    uint32_t i = 0;
    while (i < *n && all[i] != name)
        i++;
    if (i == *n)
        all[(*n)++] = name;
}
static inline void queue_quota(struct world *w, struct queue_words *q, const char *flavor_name, const char *resource, int64_t nominal,
                               int64_t borrowing, int64_t lending)
{
    name_id f = id(w, flavor_name), r = id(w, resource);
    name_once(q->flavors[q->group], &q->groups[q->group].flavors_n, f);
    name_once(q->resources[q->group], &q->groups[q->group].resources_n, r);
    q->quotas[q->r.quotas_n++] =
        (struct quota_record){.flavor = f, .resource = r, .nominal = nominal, .borrowing_limit = borrowing, .lending_limit = lending};
}
static inline void queue_done(struct world *w, struct queue_words *q)
{
    for (uint32_t i = 0; i <= q->group; i++) {
        q->groups[i].resources = q->resources[i];
        q->groups[i].flavors = q->flavors[i];
    }
    q->r.groups = q->groups;
    q->r.groups_n = q->group + 1;
    q->r.quotas = q->quotas;
    state_apply(w->s, &(struct change){.type = CHANGE_QUEUE, .queue = q->r});
}
static inline void local_queue(struct world *w, const char *key, const char *queue)
{
    const char *slash = strchr(key, '/');
    struct local_queue_record r = {.key = id(w, key), .title = id(w, slash ? slash + 1 : key), .ns = id(w, "ns"), .queue = id(w, queue)};
    state_apply(w->s, &(struct change){.type = CHANGE_LOCAL_QUEUE, .local_queue = r});
}

/* A planned gang with one pod set "main". */
static inline struct gang_record a_workload(struct world *w, const char *name, const char *local_queue_key, int32_t count,
                                            const char *requests)
{
    struct pod_set *set = arena_zero(w->records, 1, sizeof *set);
    *set = (struct pod_set){.name = id(w, "main"), .shape = shape_of(w, requests, ""), .count = count, .min_count = count};
    const char *slash = strchr(local_queue_key, '/');
    return (struct gang_record){.key = id(w, name), .source = GANG_WORKLOAD, .ns = id(w, "ns"), .local_queue = id(w, local_queue_key),
                                .queue_title = id(w, slash ? slash + 1 : local_queue_key), .queue_kind = QUEUE_LOCAL,
                                .created_ms = w->now_ms++, .uid = id(w, name), .planned = true, .pod_sets = set, .pod_sets_n = 1,
                                .min_members = count, .active = true};
}
/* Quota counts its requests, and its pods ask for nothing. */
static inline void charge_only(struct world *w, struct gang_record *r)
{
    struct pod_set *set = arena_zero(w->records, 1, sizeof *set);
    *set = r->pod_sets[0];
    set->charged = set->shape.requests;
    set->charged_n = set->shape.requests_n;
    set->is_charged = true;
    set->shape.requests = NULL;
    set->shape.requests_n = 0;
    r->pod_sets = set;
}
static inline void gang_record(struct world *w, struct gang_record r)
{
    state_apply(w->s, &(struct change){.type = CHANGE_GANG, .gang = r});
}
static inline void workload(struct world *w, const char *name, const char *local_queue_key, int32_t count, const char *requests)
{
    gang_record(w, a_workload(w, name, local_queue_key, count, requests));
}
/* The API says that the gang has been admitted in queue "q" under this flavor. */
static inline struct gang_record admitted_in(struct world *w, struct gang_record r, const char *flavor_name)
{
    struct flavor_choice *choices = arena_zero(w->records, r.pod_sets_n * 2 + 1, sizeof *choices);
    for (uint32_t i = 0; i < r.pod_sets_n; i++)
        for (uint32_t k = 0; k < r.pod_sets[i].shape.requests_n; k++)
            choices[r.choices_n++] = (struct flavor_choice){(uint16_t)i, r.pod_sets[i].shape.requests[k].resource,
                                                                id(w, flavor_name)};
    r.admitted = true;
    r.admitted_queue = id(w, "q");
    r.choices = choices;
    return r;
}
static inline struct gang_record a_group(struct world *w, const char *name, const char *queue, int32_t min_members)
{
    return (struct gang_record){.key = id(w, name),
                                .source = queue ? GANG_VOLCANO : GANG_COSCHEDULING,
                                .ns = id(w, "ns"),
                                .queue = id(w, queue),
                                .queue_kind = QUEUE_VOLCANO,
                                .created_ms = w->now_ms++,
                                .uid = id(w, name),
                                .min_members = min_members,
                                .active = true};
}
static inline void floor_of(struct world *w, struct gang_record *r, const char *amounts) /* all nodes together must have so much free */
{
    r->least = amounts_of(w, amounts, &r->least_n);
    r->least_is_free = true;
}
static inline struct pod_record a_pod(struct world *w, const char *key, const char *gang, const char *requests)
{
    return (struct pod_record){.key = id(w, key), .uid = id(w, key), .gang = id(w, gang), .shape = shape_of(w, requests, ""),
                               .created_ms = w->now_ms++, .ours = true};
}
static inline void pod_record(struct world *w, struct pod_record r)
{
    state_apply(w->s, &(struct change){.type = CHANGE_POD, .pod = r});
}
static inline void pod(struct world *w, const char *key, const char *gang, const char *requests)
{
    pod_record(w, a_pod(w, key, gang, requests));
}
static inline void outcome(struct world *w, enum effect effect, const char *gang, const char *pod_key, enum outcome how)
{
    struct outcome_record r = {.effect = effect, .outcome = how, .gang = id(w, gang), .pod = id(w, pod_key)};
    state_apply(w->s, &(struct change){.type = CHANGE_OUTCOME, .outcome = r});
}

static inline void run(struct world *w)
{
    arena_reset(w->cycle);
    struct decide_config config = {.fair = w->fair, .hold = w->hold, .lost = w->lost, .node_wishes = w->node_wishes,
                                   .no_remedies = w->no_remedies, .placement = w->placement};
    decide(w->s, &config, w->now_ms, w->cycle, &w->plan);
}
/* As the scheduler does between two cycles; the plan and the records are void after it. */
static inline void sweep_names(struct world *w)
{
    state_mark_names(w->s);
    intern_sweep(w->names);
}
static inline uint32_t effects(const struct world *w, enum effect effect)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->plan.entries_n; i++)
        n += w->plan.entries[i].effect == effect;
    return n;
}
static inline const struct plan_entry *entry_of(struct world *w, enum effect effect, const char *gang_or_pod)
{
    for (uint32_t i = 0; i < w->plan.entries_n; i++) {
        const struct plan_entry *e = &w->plan.entries[i];
        if (e->effect == effect && (e->gang == id(w, gang_or_pod) || e->pod == id(w, gang_or_pod)))
            return e;
    }
    return NULL;
}
/* "main x1=3 x2=1; other x1=1": domains that its sets were given; in the cycle arena. */
static inline const char *domains_of(struct world *w, const char *gang)
{
    const struct domain_choice *all;
    uint32_t n = state_gang_domains(w->s, id(w, gang), &all);
    const char *text = "";
    for (uint32_t i = 0; i < n; i++)
        text = arena_printf(w->cycle, "%s%s%s=%d", text, i && all[i - 1].pod_set != all[i].pod_set ? "; " : i ? " " : "",
                            text_of(w, all[i].domain), all[i].count);
    return text;
}
/* The sentence that says why a gang waits; in the cycle arena. */
static inline const char *why(struct world *w, const char *gang)
{
    struct buf b;
    buf_init(&b);
    const struct reason *r = state_gang_reason(w->s, id(w, gang));
    if (r)
        explain_sentence(&b, r, w->names);
    const char *text = arena_text(w->cycle, b.data ? b.data : "");
    buf_free(&b);
    return text;
}
/* The same as a tree, with all that it consists of; in the records' arena. */
static inline const char *why_tree(struct world *w, const char *gang)
{
    struct buf b;
    buf_init(&b);
    explain_tree(&b, state_gang_reason(w->s, id(w, gang)), w->names);
    const char *text = arena_text(w->records, b.data ? b.data : "");
    buf_free(&b);
    return text;
}

#endif
