/* agent_projection.c - what one look at a node costs: all projections of 8 GPUs x 7 MIG devices, one answer, one choice
 *
 *     agent.project.56mig    resources, labels and the devices annotation of 56 MIG devices, from nothing
 *     agent.answer           one Allocate answer of 8 GPUs with device nodes, before it is put on the wire
 *     agent.prefer.8of16     8 of 16 GPUs, all of them compared
 *     agent.prefer.32of64    32 of 64 GPUs
 *     agent.prefer.768       16 of 768 MPS shares
 */
#include "../tests/unit/agent/reading.h"
#include "agent/node/labels.h"
#include "agent/plugin/allocate.h"
#include "base/clock.h"

#define LEAST_US 300000

static void print_figure(const char *name, int64_t us, uint64_t n)
{
    printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"us\"}\n", name, (double)us / (double)n);
}

static struct test_node *make(const char *model, uint32_t gpus, const char *yaml, const char *profile)
{
    struct test_node *n = node_new(model, gpus);
    struct err e = {0};
    for (uint32_t i = 0; profile && i < gpus; i++)
        node_mig(n, i, profile, 0, 7);
    node_config(n, yaml);
    if (node_table(n, NULL, &e) < 0)
        abort();
    return n;
}

static void project(void)
{
    struct test_node *n = make("a100-40gb", 8, "flags: {migStrategy: mixed}", "1g.5gb");
    struct label_facts facts = {.machine_type = "server"};
    struct arena *a = arena_new();
    int64_t start = clock_monotonic_us(), us = 0;
    uint64_t rounds = 0;
    for (; us < LEAST_US; us = clock_monotonic_us() - start, rounds++) {
        struct resource_table t;
        struct label_pair *labels;
        struct buf devices = {0};
        uint32_t labels_n;
        arena_reset(a);
        if (resource_table_make(a, &n->snapshot, &n->config, &t, NULL, NULL) < 0)
            abort();
        labels_make(a, &n->snapshot, &n->config, &t, &facts, &labels, &labels_n, NULL);
        resource_table_devices_text(&t, &n->snapshot, &devices);
        buf_free(&devices);
    }
    print_figure("agent.project.56mig", us, rounds);
    arena_free(a);
    node_free(n);
}

static void answer(void)
{
    struct test_node *n = make("h100-80gb", 8, "flags: {plugin: {passDeviceSpecs: true}}", NULL);
    struct machine machine = {.dev_root = "/", .has_ctl = true, .has_uvm = true, .has_uvm_tools = true, .has_modeset = true};
    struct arena *a = arena_new();
    const char *slots[8];
    int64_t start = clock_monotonic_us(), us = 0;
    uint64_t rounds = 0;
    for (uint32_t i = 0; i < 8; i++)
        slots[i] = n->table.resources[0].slots[i].id;
    for (; us < LEAST_US; us = clock_monotonic_us() - start, rounds++) {
        struct allocate_answer made;
        arena_reset(a);
        if (allocate_answer_make(a, &n->snapshot, &n->config, &machine, &n->table.resources[0], slots, 8, NULL, &made, NULL) < 0)
            abort();
    }
    print_figure("agent.answer", us, rounds);
    arena_free(a);
    node_free(n);
}

static void prefer(const char *name, uint32_t gpus, const char *yaml, uint32_t size)
{
    struct test_node *n = make("h100-80gb", gpus, yaml, NULL);
    const struct resource *r = &n->table.resources[0];
    const char **all = arena_zero(n->arena, r->slots_n, sizeof *all), **chosen;
    struct arena *a = arena_new();
    int64_t start = clock_monotonic_us(), us = 0;
    uint64_t rounds = 0;
    uint32_t chosen_n;
    for (uint32_t i = 0; i < r->slots_n; i++)
        all[i] = r->slots[i].id;
    for (; us < LEAST_US; us = clock_monotonic_us() - start, rounds++) {
        arena_reset(a);
        if (preferred_choose(a, &n->snapshot, &n->config, r, all, r->slots_n, NULL, 0, size, &chosen, &chosen_n, NULL) < 0)
            abort();
    }
    print_figure(name, us, rounds);
    arena_free(a);
    node_free(n);
}

int main(void)
{
    project();
    answer();
    prefer("agent.prefer.8of16", 16, "", 8);
    prefer("agent.prefer.32of64", 64, "", 32);
    prefer("agent.prefer.768", 16, "sharing: {mps: {resources: [{name: gpu, replicas: 48}]}}", 16);
    return 0;
}
