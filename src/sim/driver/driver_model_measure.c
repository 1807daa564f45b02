/* driver_model_measure.c - loads of processes ─▶ activity of units ─▶ board: power, heat, clocks, energy */
#include "sim/driver/driver_model_measure.h"
#include <math.h>
#include "base/collections/map.h"
#include "base/memory.h"

#define ALL 0xffffffffu
#define LIMIT_MODEL_WORKS 1024
#define IDLE_ONE_IN 10 /* of the processes: they hold their GPU and hardly use it, as people do */
#define WAVE_S 600.0   /* loads swing once in this time */

struct model_board {
    double energy_mj, nvlink_kib, pcie_bytes; /* since the beginning */
    double power_mw, traffic;                 /* as measured last: they hold until now */
};
struct model_meter {
    int64_t last_ms, changed_ms; /* of measurements; of processes */
    struct model_work *works;
    uint32_t works_n, works_cap, gpus_n;
    struct model_board boards[];
};

struct load {
    double sm, memory;
}; /* 0..1 */

struct model_meter *model_meter_new(uint32_t gpus_n)
{
    struct model_meter *m = mem_zero(1, sizeof *m + gpus_n * sizeof m->boards[0]);
    m->gpus_n = gpus_n;
    return m;
}

void model_meter_free(struct model_meter *m)
{
    if (!m)
        return;
    free(m->works);
    free(m);
}

void model_meter_changed(struct model_meter *m, int64_t now_ms)
{
    if (m)
        m->changed_ms = now_ms;
}

static const struct model_work *find_work(const struct model_meter *m, uint32_t gpu, uint32_t gi, uint32_t ci)
{
    for (uint32_t i = 0; i < m->works_n; i++)
        if (m->works[i].gpu == gpu && m->works[i].gi == gi && m->works[i].ci == ci)
            return &m->works[i];
    return NULL;
}

void model_meter_set(struct model_meter *m, const struct model_work *work)
{
    struct model_work *known = (struct model_work *)find_work(m, work->gpu, work->gi, work->ci);
    if (work->sm_permille > 1000) {
        if (known)
            *known = m->works[--m->works_n];
        return;
    }
    if (!known && m->works_n == LIMIT_MODEL_WORKS)
        return;
    if (!known) {
        MEM_RESERVE(m->works, m->works_cap, m->works_n + 1);
        known = &m->works[m->works_n++];
    }
    *known = *work;
}

/* ---- loads ---- */

static struct load load_of_process(const struct driver_process *p, int64_t wall_us)
{
    uint64_t h = hash_bytes(&p->pid, sizeof p->pid, 7);
    double base = h % IDLE_ONE_IN == 0 ? 0.05 : 0.40 + (double)(h >> 8 & 0xff) / 256 * 0.5;
    double phase = (double)(h >> 16 & 0xff) / 256;
    double sm = base * (1 + 0.1 * sin(2 * M_PI * ((double)wall_us / 1e6 / WAVE_S + phase)));
    return (struct load){sm, sm * 0.6};
}

static bool is_on(const struct driver_process *p, uint32_t gpu, const struct driver_mig *mig)
{
    return p->gpu == gpu && (mig ? p->gi == mig->gi && p->ci == mig->ci : p->gi == ALL);
}

/* What a unit is busy with: what was set, else the sum of its processes. Without a process nothing runs. */
static struct load load_of_unit(const struct model_meter *m, const struct model_scene *s, uint32_t gpu,
                                const struct driver_mig *mig)
{
    struct load sum = {0, 0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->processes_n; i++) {
        if (!is_on(&s->processes[i], gpu, mig))
            continue;
        struct load l = load_of_process(&s->processes[i], s->wall_us);
        sum.sm += l.sm;
        sum.memory += l.memory;
        n++;
    }
    const struct model_work *work = find_work(m, gpu, mig ? mig->gi : ALL, mig ? mig->ci : ALL);
    if (work && n > 0)
        sum = (struct load){work->sm_permille / 1000.0, work->memory_permille / 1000.0};
    return (struct load){fmin(sum.sm, 1), fmin(sum.memory, 1)};
}

static struct load load_of_board(const struct model_meter *m, const struct model_scene *s, const struct driver_gpu *g)
{
    struct load sum = {0, 0};
    if (!g->mig_on)
        return load_of_unit(m, s, g->index, NULL);
    for (uint32_t i = 0; i < g->migs_n; i++) {
        struct load l = load_of_unit(m, s, g->index, &g->migs[i]);
        double part = s->model->mig_slices ? (double)g->migs[i].ci_slices / s->model->mig_slices : 0;
        sum.sm += l.sm * part;
        sum.memory += l.memory * part;
    }
    return (struct load){fmin(sum.sm, 1), fmin(sum.memory, 1)};
}

static double used_mib(const struct model_scene *s, uint32_t gpu, const struct driver_mig *mig)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->processes_n; i++) {
        const struct driver_process *p = &s->processes[i];
        bool here = mig ? is_on(p, gpu, mig) : p->gpu == gpu;
        if (here && p->memory_bytes != UINT64_MAX)
            sum += (double)(p->memory_bytes >> 20);
    }
    return sum;
}

/* ---- values ---- */

static void memory_put(struct measure_values *v, double total_mib, double reserved_mib, double used)
{
    double most = total_mib - reserved_mib;
    used = fmin(used, most);
    measure_set(v, MEASURE_FB_TOTAL_MIB, total_mib);
    measure_set(v, MEASURE_FB_RESERVED_MIB, reserved_mib);
    measure_set(v, MEASURE_FB_USED_MIB, used);
    measure_set(v, MEASURE_FB_FREE_MIB, most - used);
}

static void engines_put(struct measure_values *v, enum measure first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        measure_set(v, first + i, 0);
}

static void gpm_put(struct measure_values *v, const struct gpu_model *m, struct load l)
{
    if (!m->gpm)
        return;
    measure_set(v, MEASURE_GPM_GRAPHICS, l.sm);
    measure_set(v, MEASURE_GPM_SM, l.sm * 0.95);
    measure_set(v, MEASURE_GPM_SM_OCCUPANCY, l.sm * 0.5);
    measure_set(v, MEASURE_GPM_TENSOR, l.sm * 0.4);
    measure_set(v, MEASURE_GPM_DRAM, l.memory);
    measure_set(v, MEASURE_GPM_FP64, 0);
    measure_set(v, MEASURE_GPM_FP32, l.sm * 0.3);
    measure_set(v, MEASURE_GPM_FP16, l.sm * 0.1);
    measure_set(v, MEASURE_GPM_INTEGER, l.sm * 0.1);
    measure_set(v, MEASURE_GPM_TENSOR_IMMA, 0);
    measure_set(v, MEASURE_GPM_TENSOR_HMMA, l.sm * 0.4);
    measure_set(v, MEASURE_GPM_TENSOR_DFMA, 0);
    engines_put(v, MEASURE_GPM_NVDEC_0, m->decoder_n);
    engines_put(v, MEASURE_GPM_NVJPG_0, m->jpeg_n);
    engines_put(v, MEASURE_GPM_NVOFA_0, m->ofa_n);
}

static void heat_put(struct measure_values *v, const struct gpu_model *m, struct load l, double power_mw)
{
    double range = fmax(1, (double)m->power_max_mw - m->power_idle_mw), part = (power_mw - m->power_idle_mw) / range;
    double celsius = floor(m->temperature_idle + part * fmax(5, m->temperature_max - 15.0 - m->temperature_idle));
    bool idle = l.sm <= 0;
    measure_set(v, MEASURE_TEMPERATURE, celsius);
    if (m->bus_width_bits >= 1024)
        measure_set(v, MEASURE_MEMORY_TEMPERATURE, celsius + 6);
    measure_set(v, MEASURE_TEMPERATURE_MARGIN, m->temperature_slowdown - celsius);
    measure_set(v, MEASURE_POWER_MW, floor(power_mw));
    measure_set(v, MEASURE_POWER_INSTANT_MW, floor(power_mw));
    measure_set(v, MEASURE_CLOCK_SM_MHZ, idle ? m->clock_idle_mhz : m->clock_graphics_mhz);
    measure_set(v, MEASURE_CLOCK_GRAPHICS_MHZ, idle ? m->clock_idle_mhz : m->clock_graphics_mhz);
    measure_set(v, MEASURE_CLOCK_VIDEO_MHZ, idle ? m->clock_idle_mhz : m->clock_graphics_mhz);
    measure_set(v, MEASURE_CLOCK_MEMORY_MHZ, m->clock_memory_mhz);
    measure_set(v, MEASURE_CLOCK_EVENT_REASONS, idle ? 1 : 0);
    measure_set(v, MEASURE_PERFORMANCE_STATE, idle ? 8 : 0);
}

/* What the model says, whatever runs. */
static void nature_put(struct measure_values *v, const struct gpu_model *m)
{
    measure_set(v, MEASURE_TEMPERATURE_SLOWDOWN, m->temperature_slowdown);
    measure_set(v, MEASURE_TEMPERATURE_SHUTDOWN, m->temperature_shutdown);
    measure_set(v, MEASURE_TEMPERATURE_MAX, m->temperature_max);
    measure_set(v, MEASURE_POWER_LIMIT_MW, m->power_default_mw);
    measure_set(v, MEASURE_POWER_LIMIT_SET_MW, m->power_default_mw);
    measure_set(v, MEASURE_POWER_LIMIT_DEFAULT_MW, m->power_default_mw);
    measure_set(v, MEASURE_POWER_LIMIT_MIN_MW, m->power_min_mw);
    measure_set(v, MEASURE_POWER_LIMIT_MAX_MW, m->power_max_mw);
    measure_set(v, MEASURE_CLOCK_SM_MAX_MHZ, m->clock_graphics_mhz);
    measure_set(v, MEASURE_CLOCK_SM_SET_MHZ, m->clock_graphics_mhz);
    measure_set(v, MEASURE_CLOCK_MEMORY_MAX_MHZ, m->clock_memory_mhz);
    measure_set(v, MEASURE_CLOCK_MEMORY_SET_MHZ, m->clock_memory_mhz);
    measure_set(v, MEASURE_CLOCK_VIDEO_MAX_MHZ, m->clock_graphics_mhz);
    measure_set(v, MEASURE_PCIE_GENERATION, m->pcie_generation);
    measure_set(v, MEASURE_PCIE_GENERATION_MAX, m->pcie_generation);
    measure_set(v, MEASURE_PCIE_WIDTH, m->pcie_width);
    measure_set(v, MEASURE_PCIE_WIDTH_MAX, m->pcie_width);
    measure_set(v, MEASURE_BAR1_TOTAL_MIB, (double)(1ull << m->bar1_mib_log2));
    measure_set(v, MEASURE_BAR1_USED_MIB, 1);
    measure_set(v, MEASURE_BAR1_FREE_MIB, (double)(1ull << m->bar1_mib_log2) - 1);
    measure_set(v, MEASURE_ECC_MODE, 1);
    measure_set(v, MEASURE_ECC_MODE_PENDING, 1);
    measure_set(v, MEASURE_PERSISTENCE_MODE, 1);
}

/* Counters of things that do not happen to simulated GPUs by themselves. */
static void nothing_put(struct measure_values *v)
{
    static const enum measure zeros[] = {
        MEASURE_UTILIZATION_ENCODER,        MEASURE_UTILIZATION_DECODER,       MEASURE_PCIE_REPLAYS,
        MEASURE_VIOLATION_POWER_NS,         MEASURE_VIOLATION_THERMAL_NS,      MEASURE_VIOLATION_SYNC_BOOST_NS,
        MEASURE_VIOLATION_BOARD_NS,         MEASURE_VIOLATION_LOW_UTIL_NS,     MEASURE_VIOLATION_RELIABILITY_NS,
        MEASURE_VIOLATION_SET_CLOCKS_NS,    MEASURE_VIOLATION_BASE_CLOCKS_NS,  MEASURE_THROTTLE_HW_THERMAL_NS,
        MEASURE_THROTTLE_HW_POWER_BRAKE_NS, MEASURE_THROTTLE_SW_THERMAL_NS,    MEASURE_THROTTLE_SW_POWER_NS,
        MEASURE_ECC_SBE_VOLATILE,           MEASURE_ECC_DBE_VOLATILE,          MEASURE_ECC_SBE_AGGREGATE,
        MEASURE_ECC_DBE_AGGREGATE,          MEASURE_ROWS_REMAPPED_CORRECTABLE, MEASURE_ROWS_REMAPPED_UNCORRECTABLE,
        MEASURE_ROW_REMAP_PENDING,          MEASURE_ROW_REMAP_FAILURE,         MEASURE_RECOVERY_ACTION};
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        measure_set(v, zeros[i], 0);
}

static void links_put(struct measure_values *v, const struct gpu_model *m, struct model_board *b, struct load l,
                      double dt_s)
{
    b->pcie_bytes += b->traffic * 2e9 * dt_s;
    measure_set(v, MEASURE_PCIE_TX_BYTES, floor(b->pcie_bytes / 2));
    measure_set(v, MEASURE_PCIE_RX_BYTES, floor(b->pcie_bytes));
    if (m->gpm) {
        measure_set(v, MEASURE_GPM_PCIE_TX_BYTES, l.memory * 1e9);
        measure_set(v, MEASURE_GPM_PCIE_RX_BYTES, l.memory * 2e9);
    }
    if (!m->nvlink_n)
        return;
    b->nvlink_kib += b->traffic * 5e6 * m->nvlink_n * dt_s;
    measure_set(v, MEASURE_NVLINK_TX_KIB, floor(b->nvlink_kib));
    measure_set(v, MEASURE_NVLINK_RX_KIB, floor(b->nvlink_kib));
}

static void board_put(struct model_meter *meter, const struct model_scene *s, const struct driver_gpu *g,
                      struct measure_values *v, double dt_s)
{
    const struct gpu_model *m = s->model;
    struct model_board *b = &meter->boards[g->index];
    struct load l = load_of_board(meter, s, g);
    double range = fmax(0, (double)m->power_max_mw - m->power_idle_mw);
    double power_mw = m->power_idle_mw + range * (0.75 * l.sm + 0.25 * l.memory);
    b->energy_mj += b->power_mw * dt_s; /* milliwatts times seconds */
    nature_put(v, m);
    heat_put(v, m, l, power_mw);
    nothing_put(v);
    links_put(v, m, b, l, dt_s);
    measure_set(v, MEASURE_ENERGY_MJ, floor(b->energy_mj));
    memory_put(v, m->memory_mib, m->reserved_mib, used_mib(s, g->index, NULL));
    gpm_put(v, m, l);
    if (!g->mig_on) {
        measure_set(v, MEASURE_UTILIZATION_GPU, round(l.sm * 100));
        measure_set(v, MEASURE_UTILIZATION_MEMORY, round(l.memory * 100));
    }
    b->power_mw = power_mw;
    b->traffic = l.memory;
}

static void leave_out_unwanted(struct measure_values *v, const struct measure_request *request)
{
    for (size_t i = 0; i < sizeof v->present / sizeof *v->present; i++)
        v->present[i] &= request->wanted[i];
}

/* ---- processes ---- */

/* A GPU without MIG: what it does, and what its processes would do each alone. */
struct run {
    struct load load;
    double wanted_sm;
};

static struct run *runs_make(const struct model_meter *m, const struct model_scene *s, struct arena *a)
{
    struct run *runs = arena_zero(a, s->devices->gpus_n + 1, sizeof *runs);
    for (uint32_t i = 0; i < s->processes_n; i++) {
        const struct driver_process *p = &s->processes[i];
        if (p->gpu < s->devices->gpus_n && is_on(p, p->gpu, NULL))
            runs[p->gpu].wanted_sm += load_of_process(p, s->wall_us).sm;
    }
    for (uint32_t g = 0; g < s->devices->gpus_n; g++)
        runs[g].load = load_of_unit(m, s, g, NULL);
    return runs;
}

/* What it ran: its part of the unit's load, and nothing per process on MIG, as NVML has it. */
static void process_ran(const struct run *run, int64_t wall_us, double own_sm, double dt_s, struct measure_process *p)
{
    double part = run->wanted_sm > 0 ? own_sm / run->wanted_sm : 0;
    p->sm_percent = (uint32_t)lround(run->load.sm * part * 100);
    p->memory_percent = (uint32_t)lround(run->load.memory * part * 100);
    p->samples_n = run->load.sm * part > 0;
    p->last_sample_us = p->samples_n ? (uint64_t)wall_us : 0;
    p->sm_seconds = run->load.sm * part * dt_s;
}

static void read_processes(const struct model_meter *m, const struct model_scene *s, struct measure_reading *r,
                           double dt_s)
{
    uint32_t most = s->processes_n < LIMIT_MEASURE_PROCESSES ? s->processes_n : LIMIT_MEASURE_PROCESSES, n = 0;
    const struct run *runs = runs_make(m, s, r->arena);
    r->processes_left_out_n = s->processes_n - most;
    r->processes = arena_zero(r->arena, most + 1, sizeof *r->processes);
    for (uint32_t i = 0; i < most; i++) {
        const struct driver_process *from = &s->processes[i];
        if (from->gpu < r->devices->gpus_n && !r->devices->gpus[from->gpu].lost)
            r->processes[n++] = (struct measure_process){.pid = from->pid,
                                                         .gpu = from->gpu,
                                                         .gi = from->gi,
                                                         .ci = from->ci,
                                                         .memory_bytes = from->memory_bytes,
                                                         .sm_seconds = load_of_process(from, s->wall_us).sm};
    }
    if (n > 0)
        qsort(r->processes, n, sizeof *r->processes, measure_process_order);
    for (uint32_t i = 0; i < n; i++) { /* a pod with several shares of a GPU is one process there */
        struct measure_process *p = &r->processes[i],
                               *last = r->processes_n > 0 ? &r->processes[r->processes_n - 1] : NULL;
        if (last && measure_process_order(last, p) == 0)
            last->sm_seconds += p->sm_seconds;
        else
            r->processes[r->processes_n++] = *p;
    }
    for (uint32_t i = 0; i < r->processes_n; i++) {
        struct measure_process *p = &r->processes[i];
        double own_sm = p->sm_seconds; /* until here: alone, of one second */
        p->sm_seconds = 0;
        if (p->gi == ALL)
            process_ran(&runs[p->gpu], s->wall_us, own_sm, dt_s, p);
    }
}

/* ---- all of it ---- */

struct measure_reading *model_meter_read(struct model_meter *m, const struct model_scene *s,
                                         const struct measure_request *request)
{
    struct measure_reading *r = measure_reading_new(s->devices, s->wall_us, s->now_ms);
    double dt_s = m->last_ms > 0 ? (double)(s->now_ms - m->last_ms) / 1000 : 0;
    double ran_s = m->last_ms > 0 && m->changed_ms > m->last_ms ? (double)(s->now_ms - m->changed_ms) / 1000 : dt_s;
    for (uint32_t i = 0; i < s->devices->gpus_n; i++) {
        const struct driver_gpu *g = &s->devices->gpus[i];
        struct measure_gpu *to = &r->gpus[i];
        if (g->lost || g->index >= m->gpus_n)
            continue;
        board_put(m, s, g, &to->board, dt_s);
        leave_out_unwanted(&to->board, request);
        for (uint32_t k = 0; k < g->migs_n; k++) {
            memory_put(&to->migs[k], g->migs[k].memory_mib, 0, used_mib(s, g->index, &g->migs[k]));
            gpm_put(&to->migs[k], s->model, load_of_unit(m, s, g->index, &g->migs[k]));
            leave_out_unwanted(&to->migs[k], request);
        }
    }
    if (request->processes)
        read_processes(m, s, r, ran_s);
    m->last_ms = s->now_ms;
    return r;
}
