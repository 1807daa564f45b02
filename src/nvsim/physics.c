/* physics.c - what a GPU does under load, as closed formulas of (record, time)
 *
 *     load ─▶ wanted power ─▶ power (limit, slowdown) ─▶ energy = ∫ power
 *                 │                  └─▶ temperature: nears its target with TAU_TEMPERATURE
 *                 └─▶ clocks, and the reasons why they are not higher
 *
 * Between two changes the load is constant, so nothing has to run: every reader computes where the values are by now.
 * SOURCE  shapes, not measurements: a data-centre GPU reaches its power limit with all SMs busy, draws about 4 % of the range above idle
 *         for an open context alone, warms with a time constant of about half a minute, and halves its clocks on a hardware slowdown.
 */
#include <math.h>
#include "nvsim/state.h"

#define TAU_TEMPERATURE_US 30e6
#define TAU_POWER_AVERAGE_US 1e6 /* field 185 is an average over one second */
#define CONTEXT_PERMILLE 40      /* of the power range: a context without work */
#define SLOWDOWN_PERMILLE 500    /* clocks left on a hardware slowdown */
#define THERMAL_PERMILLE 700     /* clocks left on a software thermal slowdown */
#define PCIE_SHARE 0.25          /* of the link at full memory load */
#define NVLINK_SHARE 0.20

bool nvsim_model_is_hbm(const struct gpu_model *m)
{
    return m->bus_width_bits >= 1024;
}

/* KiB per microsecond of one direction at full speed: generation 3 moves about 0.985 GB/s a lane, doubling with each generation. */
static double pcie_kib_per_us(const struct gpu_model *m)
{
    double lane = 0.985e9;
    for (int g = 3; g < m->pcie_generation; g++)
        lane *= 2;
    return lane * m->pcie_width / 1024 / 1e6;
}

static double nvlink_kib_per_us(const struct gpu_model *m)
{
    return (m->nvlink_version >= 5 ? 50e9 : 25e9) / 1024 / 1e6;
}

static double temperature_target(const struct nvsim_gpu *g, const struct gpu_model *m)
{
    if (g->throttle & (NVSIM_REASON_SW_THERMAL | NVSIM_REASON_HW_THERMAL))
        return m->temperature_slowdown + 1.0;
    double range = m->power_max_mw > m->power_idle_mw ? m->power_max_mw - m->power_idle_mw : 1;
    double above = g->power_mw > m->power_idle_mw ? g->power_mw - m->power_idle_mw : 0;
    double full = m->temperature_max > m->temperature_idle + 20 ? m->temperature_max - 15.0 : m->temperature_idle + 5.0;
    return m->temperature_idle + above / range * (full - m->temperature_idle);
}

/* Value after dt_us of something that nears `target` from `start`. */
static double near(double start, double target, double dt_us, double tau_us)
{
    return target + (start - target) * exp(-dt_us / tau_us);
}

static void integral_add(struct nvsim_integral *i, const struct nvsim_load *l, double dt_us)
{
    i->sm += l->sm_permille * dt_us;
    i->memory += l->memory_permille * dt_us;
    i->encoder += l->encoder_permille * dt_us;
    i->decoder += l->decoder_permille * dt_us;
}

void nvsim_physics_fold(struct nvsim_gpu *g, const struct gpu_model *m, int64_t now_us)
{
    if (now_us <= g->changed_us) /* the wall clock was set back: time stands still until it has caught up */
        return;
    double dt_us = (double)(now_us - g->changed_us);
    integral_add(&g->integral, &g->load, dt_us);
    for (int i = 0; i < MIG_GI_MAX; i++)
        integral_add(&g->instance_integrals[i], &g->instances[i], dt_us);
    g->energy_mj += g->power_mw * dt_us / 1e6;
    g->temperature_c = near(g->temperature_c, temperature_target(g, m), dt_us, TAU_TEMPERATURE_US);
    g->power_average_mw = near(g->power_average_mw, g->power_mw, dt_us, TAU_POWER_AVERAGE_US);
    if (g->clock_reasons & NVSIM_REASON_POWER_CAP)
        g->power_violation_us += dt_us;
    if (g->clock_reasons & (NVSIM_REASON_SW_THERMAL | NVSIM_REASON_HW_THERMAL))
        g->thermal_violation_us += dt_us;
    if (g->clock_reasons & NVSIM_REASON_POWER_BRAKE)
        g->brake_violation_us += dt_us;
    double busy = g->load.memory_permille / 1000.0 * dt_us;
    g->pcie_rx_kib += busy * PCIE_SHARE * pcie_kib_per_us(m);
    g->pcie_tx_kib += busy * PCIE_SHARE / 2 * pcie_kib_per_us(m);
    if (m->nvlink_n && g->mig.mode == 0)
        g->nvlink_kib += busy * NVLINK_SHARE * nvlink_kib_per_us(m);
    g->changed_us = now_us;
}

/* Power that the load would draw at full clocks. */
static double power_wanted(const struct nvsim_gpu *g, const struct gpu_model *m)
{
    double range = m->power_max_mw > m->power_idle_mw ? m->power_max_mw - m->power_idle_mw : 0;
    double activity = (0.75 * g->load.sm_permille + 0.25 * g->load.memory_permille) / 1000.0;
    double open = g->load.processes_n ? CONTEXT_PERMILLE / 1000.0 : 0;
    return m->power_idle_mw + range * (open + (1 - open) * (activity > 1 ? 1 : activity));
}

static uint32_t clock_limit(const struct nvsim_gpu *g, uint32_t clock_mhz, uint64_t *reasons)
{
    if (!g->clock_lock_max_mhz)
        return clock_mhz;
    if (clock_mhz > g->clock_lock_max_mhz) {
        *reasons |= NVSIM_REASON_APPLICATION;
        return g->clock_lock_max_mhz;
    }
    return clock_mhz < g->clock_lock_min_mhz ? g->clock_lock_min_mhz : clock_mhz;
}

static void history_add(struct nvsim_gpu *g)
{
    struct nvsim_point p = {.start_us = g->changed_us,
                            .power_mw = g->power_mw,
                            .sm_permille = (uint16_t)g->load.sm_permille,
                            .memory_permille = (uint16_t)g->load.memory_permille,
                            .encoder_permille = (uint16_t)g->load.encoder_permille,
                            .decoder_permille = (uint16_t)g->load.decoder_permille,
                            .clock_mhz = (uint16_t)g->clock_mhz,
                            .clock_memory_mhz = (uint16_t)g->clock_memory_mhz};
    g->history[g->history_n++ % NVSIM_HISTORY] = p;
}

void nvsim_physics_apply(struct nvsim_gpu *g, const struct gpu_model *m)
{
    bool working = g->load.processes_n > 0;
    uint64_t reasons = g->throttle;
    double wanted = power_wanted(g, m), left = 1; /* left: share of the full clock */
    if (!working)
        reasons |= NVSIM_REASON_IDLE;
    if (reasons & (NVSIM_REASON_HW_THERMAL | NVSIM_REASON_POWER_BRAKE)) {
        reasons |= NVSIM_REASON_HW_SLOWDOWN;
        left = SLOWDOWN_PERMILLE / 1000.0;
    } else if (reasons & NVSIM_REASON_SW_THERMAL) {
        left = THERMAL_PERMILLE / 1000.0;
    }
    /* Power above idle falls a little faster than the clock. */
    double power = m->power_idle_mw + (wanted - m->power_idle_mw) * left * sqrt(left);
    if (power > g->power_limit_mw) {
        double room = g->power_limit_mw > m->power_idle_mw ? g->power_limit_mw - m->power_idle_mw : 1;
        left *= pow(room / (power - m->power_idle_mw), 2.0 / 3);
        power = g->power_limit_mw;
        reasons |= NVSIM_REASON_POWER_CAP;
    }
    g->power_mw = (uint32_t)(power + 0.5);
    g->clock_mhz = working ? clock_limit(g, (uint32_t)(m->clock_graphics_mhz * left), &reasons) : m->clock_idle_mhz;
    g->clock_memory_mhz = working || nvsim_model_is_hbm(m) ? m->clock_memory_mhz : 405;
    g->clock_reasons = reasons;
    history_add(g);
}

struct nvsim_point nvsim_physics_at(const struct nvsim_gpu *g, int64_t at_us)
{
    uint32_t kept = g->history_n < NVSIM_HISTORY ? g->history_n : NVSIM_HISTORY;
    for (uint32_t i = 1; i <= kept; i++) {
        const struct nvsim_point *p = &g->history[(g->history_n - i) % NVSIM_HISTORY];
        if (p->start_us <= at_us)
            return *p;
    }
    return (struct nvsim_point){0};
}
