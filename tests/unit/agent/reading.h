/* reading.h - readings and snapshots by hand: n GPUs of a model, MIG devices, links; everything may be changed after
 *
 *     struct bench_node *n = node_new("a100-40gb", 8);   node_mig(n, 0, "1g.5gb", 0, 7);   node_done(n) -> n->snapshot   node_free(n)
 */
#ifndef TEST_AGENT_READING_H
#define TEST_AGENT_READING_H
#include <assert.h>
#include <stdio.h>
#include "agent/config/config.h"
#include "agent/inventory/resource.h"

struct test_node {
    struct arena *arena;
    struct driver_reading reading;
    struct inventory_snapshot snapshot;
    struct mig_state states[LIMIT_NODE_GPUS];
    struct agent_config config;
    struct resource_table table;
};

static inline struct test_node *node_new(const char *model, uint32_t gpus_n)
{
    struct test_node *n = mem_zero(1, sizeof *n);
    const struct gpu_model *m = gpu_model_find(model);
    assert(m && gpus_n <= LIMIT_NODE_GPUS);
    n->arena = arena_new();
    struct driver_reading *r = &n->reading;
    r->refs = 1;
    (void)snprintf(r->driver_version, sizeof r->driver_version, "580.95.05");
    r->cuda_version = 13000;
    r->gpus_n = gpus_n;
    r->gpus = arena_zero(n->arena, gpus_n + 1, sizeof *r->gpus);
    r->links = arena_zero(n->arena, (size_t)gpus_n * gpus_n + 1, sizeof *r->links);
    for (uint32_t i = 0; i < gpus_n; i++) {
        struct driver_gpu *g = &r->gpus[i];
        g->index = g->minor = (uint16_t)i;
        (void)snprintf(g->uuid, sizeof g->uuid, "GPU-%08x-1111-4222-8333-%012x", i, i);
        (void)snprintf(g->name, sizeof g->name, "%s", m->name);
        (void)snprintf(g->bus_id, sizeof g->bus_id, "0000:%02x:00.0", 7 + 2 * i);
        g->pci_device_id = m->pci_device_id;
        g->pci_class = m->display_class ? 0x030000 : 0x030200;
        g->numa_node = (int16_t)(i * 2 / gpus_n);
        g->memory_mib = m->memory_mib;
        g->compute_major = m->compute_major;
        g->compute_minor = m->compute_minor;
        g->mig_capable = m->mig_slices > 0;
        g->geometry = m->mig_slices ? m : NULL;
        g->mig = &n->states[i];
        for (uint32_t k = 0; k < gpus_n; k++)
            r->links[i * gpus_n + k] = (struct driver_link){
                .ancestor = i == k ? 0 : i * 2 / gpus_n == k * 2 / gpus_n ? 40 : 50,
                .nvlinks_n = i != k && m->nvswitch ? m->nvlink_n : 0};
    }
    agent_config_default(&n->config);
    return n;
}

static inline void node_free(struct test_node *n)
{
    arena_free(n->arena);
    free(n);
}

static inline void node_link(struct test_node *n, uint32_t a, uint32_t b, uint8_t ancestor, uint8_t nvlinks_n)
{
    n->reading.links[a * n->reading.gpus_n + b] = n->reading.links[b * n->reading.gpus_n + a] =
        (struct driver_link){ancestor, nvlinks_n};
}

static inline void node_mig_on(struct test_node *n, uint32_t gpu)
{
    n->reading.gpus[gpu].mig_on = true;
    n->states[gpu].mode = n->states[gpu].mode_pending = 1;
}

/* `count` GPU instances of a profile, each with one compute instance of `slices` (0: its full width) placed by the rules. */
static inline void node_mig(struct test_node *n, uint32_t gpu, const char *profile, uint8_t slices, uint32_t count)
{
    const struct gpu_model *m = n->reading.gpus[gpu].geometry;
    const struct mig_profile *p = mig_profile_find(m, profile);
    assert(m && p);
    node_mig_on(n, gpu);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t gi = 0, ci = 0;
        enum mig_result r = mig_create_instance(&n->states[gpu], m, p->id, -1, &gi);
        assert(r == MIG_OK);
        for (uint8_t at = 0; at + (slices ? slices : p->slices) <= p->slices; at = (uint8_t)(at + (slices ? slices : p->slices))) {
            r = mig_create_compute(&n->states[gpu], m, gi, slices ? slices : p->slices, -1, gpu + 1, &ci);
            assert(r == MIG_OK);
        }
    }
}

static inline void node_read_migs(struct test_node *n, struct driver_gpu *g)
{
    g->migs = arena_zero(n->arena, 64, sizeof *g->migs);
    g->migs_n = 0;
    for (int id = 0; id < 64; id++) {
        const struct mig_instance *gi = mig_find_instance(&n->states[g->index], (uint8_t)id);
        const struct mig_profile *p = gi ? mig_profile_by_id(g->geometry, gi->profile_id) : NULL;
        for (int c = 0; gi && c < MIG_CI_MAX; c++) {
            const struct mig_compute *ci = mig_find_compute(&n->states[g->index], gi->id, (uint8_t)c);
            if (!ci)
                continue;
            struct driver_mig *to = &g->migs[g->migs_n];
            *to = (struct driver_mig){.gi = gi->id, .ci = ci->id, .gi_profile_id = gi->profile_id, .gi_start = gi->start,
                                      .gi_units = gi->units, .ci_slices = ci->slices, .ci_start = ci->start, .gi_slices = p->slices,
                                      .memory_mib = p->memory_mib, .sm_n = (uint16_t)(p->sm_n * ci->slices / p->slices),
                                      .copy_n = p->copy_n, .decoder_n = p->decoder_n, .encoder_n = p->encoder_n,
                                      .jpeg_n = p->jpeg_n, .ofa_n = p->ofa_n};
            mig_compute_name(p, ci->slices, to->profile);
            (void)snprintf(to->uuid, sizeof to->uuid, "MIG-%08x-%04x-5222-8333-%012x", g->index, gi->id, ci->id);
            g->migs_n++;
        }
    }
}

/* Units of everything that there is now. Call again after changes. */
static inline const struct inventory_snapshot *node_done(struct test_node *n)
{
    struct inventory_snapshot *s = &n->snapshot;
    uint32_t most = 0;
    for (uint32_t i = 0; i < n->reading.gpus_n; i++) {
        node_read_migs(n, &n->reading.gpus[i]);
        most += 1 + n->reading.gpus[i].migs_n;
    }
    *s = (struct inventory_snapshot){.refs = 1, .reading = &n->reading, .units = arena_zero(n->arena, most + 1, sizeof *s->units)};
    for (uint32_t i = 0; i < n->reading.gpus_n; i++) {
        const struct driver_gpu *g = &n->reading.gpus[i];
        if (!g->mig_on)
            s->units[s->units_n++] = (struct unit){.gpu = g, .uuid = g->uuid};
        for (uint32_t k = 0; k < g->migs_n; k++)
            s->units[s->units_n++] = (struct unit){.gpu = g, .mig = &g->migs[k], .uuid = g->migs[k].uuid};
    }
    return s;
}

/* Config from YAML text; ends the test program with the message when it is refused. */
static inline void node_config(struct test_node *n, const char *yaml)
{
    struct err e = {0};
    if (agent_config_parse(n->arena, bytes_of(yaml), NULL, 0, &n->config, NULL, &e) < 0) {
        (void)fprintf(stderr, "config: %s\n", e.text);
        abort();
    }
}

static inline int node_table(struct test_node *n, struct buf *warnings, struct err *e)
{
    return resource_table_make(n->arena, node_done(n), &n->config, &n->table, warnings, e);
}

#endif
