/* driver_nvml_reading.c - what was read of all GPUs, made into one reading */
#include <assert.h>
#include "agent/driver/driver_nvml_part.h"

/* GPUs of one model share a geometry. */
static const struct gpu_model *share_geometry(struct arena *a, const struct driver_reading *r, uint32_t so_far_n,
                                              const struct gpu_facts *f)
{
    const struct gpu_geometry *from = f->geometry;
    if (!from)
        return NULL;
    for (uint32_t i = 0; i < so_far_n; i++) {
        const struct gpu_model *m = r->gpus[i].geometry;
        if (m && text_equal(m->name, from->name) && m->memory_mib == from->model.memory_mib &&
            m->profiles_n == from->model.profiles_n)
            return m;
    }
    struct gpu_model *m = arena_alloc(a, sizeof *m);
    struct mig_profile *profiles = arena_alloc(a, from->model.profiles_n * sizeof *profiles);
    *m = from->model;
    m->key = m->name = arena_text(a, from->name);
    m->profiles = profiles;
    for (uint32_t i = 0; i < m->profiles_n; i++) {
        profiles[i] = from->profiles[i];
        profiles[i].name = arena_text(a, from->names[i]);
    }
    return m;
}

static uint8_t count_direct(const struct gpu_facts *a, uint64_t bus_of_b)
{
    uint8_t n = 0;
    for (uint32_t i = 0; i < a->nvlinks_n; i++)
        n = (uint8_t)(n + (a->nvlinks[i].type != NVML_REMOTE_SWITCH && bus_of_b && a->nvlinks[i].bus == bus_of_b));
    return n;
}

static uint8_t links_to(const struct gpu_facts *f, uint64_t bus)
{
    uint8_t n = 0;
    for (uint32_t i = 0; i < f->nvlinks_n; i++)
        n = (uint8_t)(n + (f->nvlinks[i].type == NVML_REMOTE_SWITCH && f->nvlinks[i].bus == bus));
    return n;
}

/* Links of each to a common switch: over all switches, what both can use. */
static uint8_t count_switched(const struct gpu_facts *a, const struct gpu_facts *b)
{
    unsigned sum = 0;
    for (uint32_t i = 0; i < a->nvlinks_n; i++) {
        uint64_t bus = a->nvlinks[i].bus;
        bool seen = a->nvlinks[i].type != NVML_REMOTE_SWITCH;
        for (uint32_t k = 0; k < i; k++)
            seen = seen || (a->nvlinks[k].type == NVML_REMOTE_SWITCH && a->nvlinks[k].bus == bus);
        if (seen)
            continue;
        uint8_t here = links_to(a, bus), there = links_to(b, bus);
        sum += here < there ? here : there;
    }
    return (uint8_t)sum;
}

/* "0000:07:00.0" as struct gpu_nvlink has it; 0 unknown. */
static uint64_t bus_number(const char *bus_id)
{
    unsigned domain, bus, device;
    char *end;
    domain = (unsigned)strtoul(bus_id, &end, 16);
    if (*end != ':')
        return 0;
    bus = (unsigned)strtoul(end + 1, &end, 16);
    if (*end != ':')
        return 0;
    device = (unsigned)strtoul(end + 1, &end, 16);
    return (uint64_t)domain << 32 | (bus & 0xff) << 8 | (device & 0xff);
}

static void read_gpu(struct arena *a, struct driver_reading *r, uint32_t i, const struct gpu_facts *f)
{
    struct driver_gpu *g = &r->gpus[i];
    *g = f->gpu;
    g->lost = f->lost;
    g->geometry = share_geometry(a, r, i, f);
    g->mig = &driver_mig_none;
    g->migs_n = f->migs_n;
    if (f->migs_n > 0) {
        g->migs = arena_alloc(a, f->migs_n * sizeof *g->migs);
        memcpy(g->migs, f->migs, f->migs_n * sizeof *g->migs);
    }
    if (f->mig.mode || f->mig.mode_pending) {
        struct mig_state *s = arena_alloc(a, sizeof *s);
        *s = f->mig;
        g->mig = s;
    }
}

struct driver_reading *gpu_reading_make(const struct gpu_facts *const *list, const uint8_t *ancestors, uint32_t n,
                                        uint64_t number, const char *driver_version, uint32_t cuda_version)
{
    struct arena *a = arena_new();
    struct driver_reading *r = driver_reading_new(a);
    r->number = number;
    size_t length = strnlen(driver_version, sizeof r->driver_version - 1);
    memcpy(r->driver_version, driver_version, length);
    r->cuda_version = cuda_version;
    r->gpus_n = n;
    r->gpus = arena_zero(a, n, sizeof *r->gpus);
    r->links = arena_zero(a, (size_t)n * n, sizeof *r->links);
    for (uint32_t i = 0; i < n; i++)
        read_gpu(a, r, i, list[i]);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            struct driver_link *link = &r->links[(size_t)i * n + k];
            link->ancestor = i == k ? NVML_TOPOLOGY_INTERNAL : ancestors[(size_t)i * n + k];
            if (i != k)
                link->nvlinks_n = (uint8_t)(count_direct(list[i], bus_number(list[k]->gpu.bus_id)) +
                                            count_switched(list[i], list[k]));
        }
    return r;
}
