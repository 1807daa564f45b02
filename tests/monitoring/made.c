/* made.c - the nodes of made.h */
#include "made.h"
#include <math.h>
#include <stdio.h>
#include "base/memory.h"
#include "gpu/model.h"

#define NONE (-1)

struct made_instance {
    const char *profile;
    uint8_t gi, ci, gi_slices, ci_slices;
    uint32_t memory_mib;
};
struct made_gpu {
    const char *model, *name;
    double activity; /* 0..1 */
    struct made_instance instances[5];
};
struct made_holder {
    uint32_t unit;
    const char *ns, *pod, *container, *uid, *queue, *resource, *replica;
    double share;
    const struct prometheus_label *labels;
    uint32_t labels_n;
    const char *job, *user; /* NULL: unknown */
};
struct made_process {
    uint32_t unit, pid;
    int32_t holder; /* NONE: a process of the host */
    const char *command;
    uint64_t memory_mib; /* UINT64_MAX: not told */
    uint32_t sm_percent;
    double ends_s; /* after the start; 0 never */
};
struct made {
    const char *key, *hostname;
    struct made_gpu gpus[4];
    struct made_holder holders[6];
    struct made_process processes[8];
    uint32_t processes_left_out_n;
};

static const struct prometheus_label hostile_labels[] = {
    {"app_kubernetes_io_name", "a\"b"}, {"gpu", "shadow"}, {"team", "x\ny\\"}};

static const struct made nodes[] = {
    {.key = "a100",
     .hostname = "node-a",
     .gpus = {{.model = "a100-40gb", .activity = 0.75},
              {.model = "a100-40gb", .activity = 0},
              {.model = "a100-40gb",
               .activity = 0.5,
               .instances = {{"1g.5gb", 7, 0, 1, 1, 4864}, {"1g.5gb", 8, 0, 1, 1, 4864}}}},
     .holders = {{0, "ml", "train-0", "pytorch", "8d2a1c5e-0001-4000-8000-000000000001", "team-a", "nvidia.com/gpu", "",
                  1, NULL, 0, "train", "ada"},
                 {2, "web", "chat-7f", "vllm", "8d2a1c5e-0001-4000-8000-000000000002", "", "nvidia.com/mig-1g.5gb", "",
                  1.0 / 7, NULL, 0, "chat", NULL}},
     .processes = {{0, 4242, 0, "python3", 8192, 70, 0},
                   {0, 4243, 0, "python3", 1024, 5, 12},
                   {2, 5001, 1, "vllm", 4000, 0, 0}}},
    {.key = "shared",
     .hostname = "node-b",
     .gpus = {{.model = "t4", .activity = 0.4}, {.model = "t4", .activity = 0}},
     .holders = {{0, "ml", "notebook-1", "jupyter", "8d2a1c5e-0002-4000-8000-000000000001", "team-a",
                  "nvidia.com/gpu.shared", "0", 0.25, NULL, 0},
                 {0, "ml", "notebook-2", "jupyter", "8d2a1c5e-0002-4000-8000-000000000002", "team-b",
                  "nvidia.com/gpu.shared", "1", 0.25, NULL, 0},
                 {0, "web", "ocr", "worker", "8d2a1c5e-0002-4000-8000-000000000003", "", "nvidia.com/gpu.shared", "3",
                  0.25, NULL, 0},
                 {1, "ml", "forgotten", "jupyter", "8d2a1c5e-0002-4000-8000-000000000004", "team-b",
                  "nvidia.com/gpu.shared", "0", 0.25, NULL, 0}},
     .processes = {{0, 301, 0, "python3", 2048, 30, 0},
                   {0, 302, 2, "ocr", 512, 10, 0},
                   {0, 303, NONE, "Xorg", 64, 0, 0},
                   {1, 304, 1, "python3", 256, 0, 0}}},
    {.key = "h100",
     .hostname = "node-c",
     .gpus = {{.model = "h100-80gb", .activity = 0.9},
              {.model = "h100-80gb",
               .activity = 0.6,
               .instances = {{"3g.40gb", 2, 0, 3, 3, 40320},
                             {"1c.2g.20gb", 3, 0, 2, 1, 20096},
                             {"1c.2g.20gb", 3, 1, 2, 1, 20096},
                             {"1g.10gb", 9, 0, 1, 1, 9856}}}},
     .holders = {{0, "ml", "train-1", "pytorch", "8d2a1c5e-0003-4000-8000-000000000001", "team-b", "nvidia.com/gpu", "",
                  1, NULL, 0},
                 {1, "web", "embed", "worker", "8d2a1c5e-0003-4000-8000-000000000002", "", "nvidia.com/mig-3g.40gb", "",
                  3.0 / 7, NULL, 0}},
     .processes = {{0, 900, 0, "torchrun", 70000, 88, 0}, {1, 901, 1, "embedder", 30000, 0, 0}}},
    {.key = "hostile",
     .hostname = "node\"d\\",
     .gpus = {{.model = "t4", .name = "Tesla \"T4\"\nTurbo\\", .activity = 1.3}},
     .holders = {{0, "ml", "a\"b\nc\\d", "", "", "", "nvidia.com/gpu", "", 1, hostile_labels, 3, "job\"\\", "u\n\""}},
     .processes = {{0, 1, 0, "sh -c \"rm\"\\", UINT64_MAX, 250, 0}, {0, 4294967295u, 0, "", 0, 0, 0}},
     .processes_left_out_n = 98000},
};

const struct made *made_find(const char *name)
{
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (text_equal(nodes[i].key, name))
            return &nodes[i];
    return NULL;
}

/* ---- the devices ---- */

static void make_instances(const struct made_gpu *from, struct driver_gpu *g, struct arena *a)
{
    g->migs = arena_zero(a, 5, sizeof *g->migs);
    for (const struct made_instance *i = from->instances; i < from->instances + 5 && i->profile; i++) {
        struct driver_mig *m = &g->migs[g->migs_n++];
        *m = (struct driver_mig){.gi = i->gi,
                                 .ci = i->ci,
                                 .gi_slices = i->gi_slices,
                                 .ci_slices = i->ci_slices,
                                 .memory_mib = i->memory_mib};
        (void)snprintf(m->profile, sizeof m->profile, "%s", i->profile);
        (void)snprintf(m->uuid, sizeof m->uuid, "MIG-%s-%u-%u", g->uuid + 4, i->gi, i->ci);
    }
    g->mig_on = g->migs_n > 0;
}

static struct driver_reading *make_devices(const struct made *m)
{
    struct arena *a = arena_new();
    struct driver_reading *r = driver_reading_new(a);
    (void)snprintf(r->driver_version, sizeof r->driver_version, "580.95.05");
    r->cuda_version = 13000;
    r->gpus = arena_zero(a, 4, sizeof *r->gpus);
    for (const struct made_gpu *from = m->gpus; from < m->gpus + 4 && from->model; from++) {
        struct driver_gpu *g = &r->gpus[r->gpus_n];
        const struct gpu_model *model = gpu_model_find(from->model);
        *g = (struct driver_gpu){.index = (uint16_t)r->gpus_n,
                                 .minor = (uint16_t)r->gpus_n,
                                 .numa_node = (int16_t)(r->gpus_n / 2),
                                 .memory_mib = model->memory_mib,
                                 .compute_major = model->compute_major,
                                 .compute_minor = model->compute_minor,
                                 .geometry = model,
                                 .mig = &driver_mig_none};
        (void)snprintf(g->uuid, sizeof g->uuid, "GPU-%s-%u", m->key, r->gpus_n);
        (void)snprintf(g->name, sizeof g->name, "%s", from->name ? from->name : model->name);
        (void)snprintf(g->bus_id, sizeof g->bus_id, "0000:%02x:00.0", 7 + 8 * r->gpus_n);
        make_instances(from, g, a);
        r->gpus_n++;
    }
    return r;
}

/* ---- their values ---- */

static void fill_memory(struct measure_values *v, const struct made *m, uint32_t unit, double total_mib,
                        double reserved_mib)
{
    double used = 0;
    for (const struct made_process *p = m->processes; p < m->processes + 8 && p->pid; p++)
        used += p->unit == unit && p->memory_mib != UINT64_MAX ? (double)p->memory_mib : 0;
    measure_set(v, MEASURE_FB_TOTAL_MIB, total_mib);
    measure_set(v, MEASURE_FB_RESERVED_MIB, reserved_mib);
    measure_set(v, MEASURE_FB_USED_MIB, used);
    measure_set(v, MEASURE_FB_FREE_MIB, total_mib - reserved_mib - used);
}

static void fill_gpm(struct measure_values *v, double activity)
{
    measure_set(v, MEASURE_GPM_GRAPHICS, activity);
    measure_set(v, MEASURE_GPM_SM, activity * 0.8);
    measure_set(v, MEASURE_GPM_SM_OCCUPANCY, activity * 0.5);
    measure_set(v, MEASURE_GPM_TENSOR, activity * 0.4);
    measure_set(v, MEASURE_GPM_DRAM, activity * 0.3);
}

static void fill_nature(struct measure_values *v, const struct gpu_model *model)
{
    measure_set(v, MEASURE_PCIE_GENERATION, 1);
    measure_set(v, MEASURE_PCIE_GENERATION_MAX, model->pcie_generation);
    measure_set(v, MEASURE_PCIE_WIDTH, model->pcie_width);
    measure_set(v, MEASURE_POWER_LIMIT_MW, model->power_default_mw - 500);
    measure_set(v, MEASURE_POWER_LIMIT_SET_MW, model->power_default_mw);
    measure_set(v, MEASURE_BAR1_TOTAL_MIB, (double)(1u << model->bar1_mib_log2));
    measure_set(v, MEASURE_ECC_MODE, 1);
}

static void fill_board(struct measure_values *v, const struct made_gpu *from, const struct driver_gpu *g,
                       double since_s)
{
    const struct gpu_model *model = g->geometry;
    double activity = from->activity < 1 ? from->activity : 1;
    double watts = model->power_idle_mw / 1000.0 + activity * (model->power_default_mw - model->power_idle_mw) / 1000.0;
    measure_set(v, MEASURE_TEMPERATURE, 30 + floor(activity * 50));
    measure_set(v, MEASURE_TEMPERATURE_SLOWDOWN, model->temperature_slowdown);
    measure_set(v, MEASURE_POWER_MW, floor(watts * 1000));
    measure_set(v, MEASURE_ENERGY_MJ, floor(watts * 1000) * floor(since_s));
    measure_set(v, MEASURE_CLOCK_SM_MHZ, activity > 0 ? model->clock_graphics_mhz : model->clock_idle_mhz);
    measure_set(v, MEASURE_CLOCK_MEMORY_MHZ, model->clock_memory_mhz);
    measure_set(v, MEASURE_CLOCK_EVENT_REASONS, activity > 0 ? 0 : 1);
    measure_set(v, MEASURE_PCIE_REPLAYS, 3);
    measure_set(v, MEASURE_THROTTLE_SW_THERMAL_NS, activity > 0.7 ? since_s * 0.05e9 : 0);
    measure_set(v, MEASURE_THROTTLE_SW_POWER_NS, 0);
    measure_set(v, MEASURE_ROWS_REMAPPED_UNCORRECTABLE, 0);
    measure_set(v, MEASURE_ROWS_REMAPPED_CORRECTABLE, 0);
    measure_set(v, MEASURE_ROW_REMAP_FAILURE, 0);
    fill_nature(v, model);
    if (!g->mig_on) {
        measure_set(v, MEASURE_UTILIZATION_GPU, floor(activity * 100));
        measure_set(v, MEASURE_UTILIZATION_MEMORY, floor(activity * 30));
        measure_set(v, MEASURE_UTILIZATION_ENCODER, 0);
        measure_set(v, MEASURE_UTILIZATION_DECODER, 0);
    }
    if (model->nvlink_n)
        measure_set(v, MEASURE_MEMORY_TEMPERATURE, 40 + floor(activity * 50));
    if (!model->gpm)
        return;
    fill_gpm(v, activity);
    measure_set(v, MEASURE_GPM_PCIE_TX_BYTES, floor(activity * 1e9));
    measure_set(v, MEASURE_GPM_PCIE_RX_BYTES, floor(activity * 2e9));
}

/* ---- the sample ---- */

static void add_unit(struct sample *s, const struct made *m, const struct driver_gpu *g, const struct driver_mig *mig,
                     struct sample_unit *board, double at_s)
{
    struct sample_unit *u = &s->units[s->units_n];
    struct measure_values *v = arena_zero(s->arena, 1, sizeof *v);
    double activity = m->gpus[g->index].activity;
    *u = *board;
    u->mig = mig;
    u->values = v;
    *v = mig ? (struct measure_values){0} : *board->board;
    fill_memory(v, m, s->units_n, mig ? mig->memory_mib : g->geometry->memory_mib,
                mig ? 128 : g->geometry->reserved_mib);
    u->activity = g->geometry->gpm || !mig ? (activity < 1 ? activity : 1) : -1;
    u->session_label =
        mig ? arena_printf(s->arena, "%u_%u_%u", g->index, mig->gi, mig->ci) : arena_printf(s->arena, "%u", g->index);
    u->last_active_s = activity > 0 ? at_s : 0;
    if (mig && g->geometry->gpm)
        fill_gpm(v, activity);
    s->units_n++;
}

static void add_boards(struct sample *s, const struct made *m, double start_s, double at_s)
{
    const struct driver_reading *r = s->inventory->reading;
    s->boards = arena_zero(s->arena, 4, sizeof *s->boards);
    s->units = arena_zero(s->arena, 20, sizeof *s->units);
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        const struct driver_gpu *g = &r->gpus[i];
        struct measure_values *v = arena_zero(s->arena, 1, sizeof *v);
        struct sample_unit *b = &s->boards[s->boards_n++];
        fill_board(v, &m->gpus[i], g, at_s - start_s);
        *b = (struct sample_unit){.gpu = g,
                                  .values = v,
                                  .board = v,
                                  .session_label = arena_printf(s->arena, "%u", i),
                                  .activity = -1,
                                  .nvlink_mb_per_s = g->geometry->nvlink_n ? 1250.5 : -1};
        b->clock_events[0] = m->gpus[i].activity > 0 ? 0 : 20;
        b->clock_events[5] = m->gpus[i].activity > 0.7 ? 2 : 0;
        for (uint32_t k = 0; k < g->migs_n; k++)
            add_unit(s, m, g, &g->migs[k], b, at_s);
        if (!g->mig_on)
            add_unit(s, m, g, NULL, b, at_s);
    }
}

static void add_holders(struct sample *s, const struct made *m)
{
    s->containers = arena_zero(s->arena, 6, sizeof *s->containers);
    s->allocations = arena_zero(s->arena, 6, sizeof *s->allocations);
    for (const struct made_holder *h = m->holders; h < m->holders + 6 && h->ns; h++) {
        s->containers[s->containers_n] = (struct sample_container){.ns = h->ns,
                                                                   .pod = h->pod,
                                                                   .container = h->container,
                                                                   .pod_uid = h->uid,
                                                                   .queue = h->queue,
                                                                   .job = h->job,
                                                                   .user = h->user,
                                                                   .pod_labels = h->labels,
                                                                   .pod_labels_n = h->labels_n};
        s->allocations[s->allocations_n++] = (struct sample_allocation){.unit = h->unit,
                                                                        .container = (int32_t)s->containers_n++,
                                                                        .resource = h->resource,
                                                                        .replica = h->replica,
                                                                        .share = h->share};
    }
}

static void add_processes(struct sample *s, const struct made *m, double start_s, double at_s)
{
    s->processes = arena_zero(s->arena, 8, sizeof *s->processes);
    for (const struct made_process *p = m->processes; p < m->processes + 8 && p->pid; p++) {
        if (p->ends_s > 0 && at_s - start_s >= p->ends_s)
            continue;
        struct measure_process *q = arena_zero(s->arena, 1, sizeof *q);
        *q = (struct measure_process){.pid = p->pid,
                                      .memory_bytes = p->memory_mib == UINT64_MAX ? UINT64_MAX : p->memory_mib << 20,
                                      .sm_percent = p->sm_percent,
                                      .sm_seconds = p->sm_percent / 100.0};
        s->processes[s->processes_n++] =
            (struct sample_process){.measured = q,
                                    .unit = p->unit,
                                    .container = p->holder,
                                    .command = p->command,
                                    .start_time_s = start_s - 3600,
                                    .last_active_s = p->sm_percent ? at_s : 0,
                                    .sm_percent = p->sm_percent,
                                    .sm_seconds = floor(at_s - start_s) * p->sm_percent / 100};
        s->units[p->unit].sessions_n++;
    }
    s->processes_left_out_n = m->processes_left_out_n;
}

/* Of each GPU 79 at 0 until ten seconds have passed, then one on the first GPU; 31 twice on the first. */
static void add_xids(struct sample *s, double start_s, double at_s)
{
    s->xids = arena_zero(s->arena, 8, sizeof *s->xids);
    for (uint32_t i = 0; i < s->boards_n; i++) {
        bool came = i == 0 && at_s - start_s >= 10;
        s->xids[s->xids_n++] = (struct sample_xid){.gpu_uuid = s->boards[i].gpu->uuid,
                                                   .gpu = (uint16_t)i,
                                                   .xid = 79,
                                                   .n = came,
                                                   .window_n = came,
                                                   .last_s = came ? start_s + 10 : 0};
    }
    s->xids[s->xids_n++] = (struct sample_xid){
        .gpu_uuid = s->boards[0].gpu->uuid, .gpu = 0, .xid = 31, .n = 2, .window_n = 2, .last_s = start_s};
}

const struct sample *made_sample(const struct made *m, double start_s, double at_s)
{
    struct arena *a = arena_new(), *readings = arena_new();
    struct sample *s = arena_zero(a, 1, sizeof *s);
    struct inventory_snapshot *inventory = mem_zero(1, sizeof *inventory);
    struct measure_reading *measured = arena_zero(readings, 1, sizeof *measured);
    inventory->refs = 1;
    inventory->owners_known = true;
    inventory->reading = make_devices(m);
    *measured = (struct measure_reading){.refs = 1,
                                         .devices = driver_reading_ref(inventory->reading),
                                         .arena = readings,
                                         .wall_us = (int64_t)(at_s * 1e6),
                                         .monotonic_ms = (int64_t)((at_s - start_s) * 1000)};
    *s = (struct sample){.refs = 1,
                         .arena = a,
                         .number = (uint64_t)(at_s - start_s) + 1,
                         .wall_s = at_s,
                         .inventory = inventory,
                         .measured = measured,
                         .xid_window_ms = SAMPLE_WINDOW_MS,
                         .clock_window_ms = SAMPLE_WINDOW_MS,
                         .hostname = m->hostname};
    add_boards(s, m, start_s, at_s);
    add_holders(s, m);
    add_processes(s, m, start_s, at_s);
    add_xids(s, start_s, at_s);
    return s;
}

struct account *made_account(const struct made *m, double start_s, double at_s)
{
    struct account *books = account_open(NULL, m->hostname);
    for (double t = start_s; t <= at_s; t += 1) {
        const struct sample *s = made_sample(m, start_s, t);
        account_add(books, s);
        sample_unref(s);
    }
    return books;
}

struct collect_state made_state(double at_s, uint64_t n, bool stalled)
{
    static const struct measure_error errors[] = {{"nvmlDeviceGetUtilizationRates", 3, 4},
                                                  {"nvmlDeviceGetFanSpeed", 99, 1}};
    struct collect_state s = {.stalled = stalled,
                              .driver_loaded = !stalled,
                              .last_success_s = at_s,
                              .collections_n = n,
                              .skipped_n = stalled ? 2 : 0,
                              .failures_n = stalled ? 1 : 0,
                              .duration_sum_s = 0.0035 * (double)n,
                              .errors = errors,
                              .errors_n = 2};
    for (int i = 0; i < 12; i++)
        s.duration_buckets[i] = i < 2 ? 0 : n;
    return s;
}
