#include "sim/trace/job_cluster.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "core/decide.h"

#define GPU "nvidia.com/gpu"
#define NODE_PODS 1001 /* as in traces of pods */

struct job_cluster {
    struct state *s;
    struct intern *names;
    struct arena *records, *cycle;
    struct plan plan;
    name_id *nodes;
    name_id gpu, pods, ns, field;
    uint32_t *slots; /* that nobody has */
    uint32_t slots_n, slots_cap, made_n;
    int64_t now_ms; /* one more for each gang: when it came */
};

static name_id node_name(struct job_cluster *c, uint32_t at)
{
    char text[16];
    snprintf(text, sizeof text, "%08u", at);
    return intern_text_id(c->names, text);
}

struct job_cluster *job_cluster_new(uint32_t nodes_n, uint32_t gpus_n)
{
    struct job_cluster *c = mem_zero(1, sizeof *c);
    c->s = state_new();
    c->names = state_names(c->s);
    c->records = arena_new();
    c->cycle = arena_new();
    c->gpu = intern_text_id(c->names, GPU);
    c->pods = intern_text_id(c->names, "pods");
    c->ns = intern_text_id(c->names, "trace");
    c->field = intern_text_id(c->names, "metadata.name");
    c->nodes = mem_alloc((nodes_n + 1) * sizeof *c->nodes);
    for (uint32_t i = 0; i < nodes_n; i++) {
        struct amount amounts[] = {{c->pods, NODE_PODS}, {c->gpu, gpus_n}};
        c->nodes[i] = node_name(c, i);
        struct node_record record = {.name = c->nodes[i], .allocatable = amounts, .allocatable_n = 2, .ready = true};
        state_apply(c->s, &(struct change){.type = CHANGE_NODE, .node = record});
    }
    return c;
}

void job_cluster_free(struct job_cluster *c)
{
    if (!c)
        return;
    state_free(c->s);
    arena_free(c->records);
    arena_free(c->cycle);
    free(c->nodes);
    free(c->slots);
    free(c);
}

static name_id gang_name(struct job_cluster *c, uint32_t slot)
{
    char text[48];
    snprintf(text, sizeof text, "coscheduling/trace/j%u", slot);
    return intern_text_id(c->names, text);
}

static name_id pod_name(struct job_cluster *c, uint32_t slot, uint32_t pod)
{
    char text[48];
    snprintf(text, sizeof text, "trace/j%u-%u", slot, pod);
    return intern_text_id(c->names, text);
}

static void tell_pod(struct job_cluster *c, name_id key, name_id gang, int64_t gpus, const name_id *node)
{
    struct amount request = {c->gpu, gpus};
    struct requirement on = {.key = c->field, .op = REQUIRE_IN, .is_field = true, .values = node, .values_n = 1};
    struct selector term = {.all = &on, .all_n = 1};
    struct shape shape = {.requests = &request, .requests_n = 1, .node_terms = &term, .node_terms_n = 1, .ns = c->ns};
    struct pod_record pod = {.key = key,
                             .uid = key,
                             .gang = gang,
                             .gang_source = gang ? GANG_COSCHEDULING : GANG_POD,
                             .shape = shape,
                             .created_ms = c->now_ms,
                             .ours = true,
                             .preempts_nobody = true};
    state_apply(c->s, &(struct change){.type = CHANGE_POD, .pod = pod});
}

static uint32_t take_slot(struct job_cluster *c)
{
    return c->slots_n ? c->slots[--c->slots_n] : c->made_n++;
}

int64_t job_cluster_start(struct job_cluster *c, const int64_t *gpus, const uint32_t *nodes, uint32_t pods_n)
{
    uint32_t slot = take_slot(c), bound_n = 0;
    name_id gang = pods_n > 1 ? gang_name(c, slot) : 0;
    c->now_ms++;
    if (gang) {
        struct gang_record group = {.key = gang,
                                    .source = GANG_COSCHEDULING,
                                    .ns = c->ns,
                                    .created_ms = c->now_ms,
                                    .uid = gang,
                                    .min_members = (int32_t)pods_n,
                                    .active = true};
        state_apply(c->s, &(struct change){.type = CHANGE_GANG, .gang = group});
    }
    for (uint32_t i = 0; i < pods_n; i++)
        tell_pod(c, pod_name(c, slot, i), gang, gpus[i], &c->nodes[nodes[i]]);
    arena_reset(c->cycle);
    struct decide_config config = {.no_remedies = true, .no_counts = true};
    decide(c->s, &config, c->now_ms, c->cycle, &c->plan);
    for (uint32_t i = 0; i < c->plan.entries_n; i++)
        bound_n += c->plan.entries[i].effect == EFFECT_BIND;
    if (bound_n == pods_n)
        return slot;
    job_cluster_end(c, slot, pods_n);
    return -1;
}

void job_cluster_end(struct job_cluster *c, uint32_t slot, uint32_t pods_n)
{
    for (uint32_t i = 0; i < pods_n; i++)
        state_apply(c->s, &(struct change){.type = CHANGE_POD_GONE, .gone = pod_name(c, slot, i)});
    if (pods_n > 1)
        state_apply(c->s, &(struct change){.type = CHANGE_GANG_GONE, .gone = gang_name(c, slot)});
    MEM_RESERVE(c->slots, c->slots_cap, c->slots_n + 1);
    c->slots[c->slots_n++] = slot;
}
