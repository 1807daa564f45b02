/* page.c - what has to be measured for a page, and the page of all layers */
#include "exporter/pages/page.h"
#include "exporter/pages/page_parts.h"

/* ---- what has to be measured ---- */

static void want(uint64_t *wanted, enum measure m)
{
    wanted[m / 64] |= (uint64_t)1 << (m % 64);
}

void page_wanted(const struct page_config *c, uint64_t *ret_wanted)
{
    /* What sessions, layer C and the books need, whatever the counters are. */
    static const enum measure always[] = {
        MEASURE_FB_TOTAL_MIB,         MEASURE_FB_USED_MIB,     MEASURE_FB_FREE_MIB,         MEASURE_FB_RESERVED_MIB,
        MEASURE_GPM_GRAPHICS,         MEASURE_UTILIZATION_GPU, MEASURE_ENERGY_MJ,           MEASURE_TEMPERATURE,
        MEASURE_TEMPERATURE_SLOWDOWN, MEASURE_POWER_MW,        MEASURE_CLOCK_EVENT_REASONS, MEASURE_RECOVERY_ACTION,
        MEASURE_NVLINK_TX_KIB,        MEASURE_NVLINK_RX_KIB,
#define X(name, text, measure) MEASURE_##measure,
        ACCOUNT_THROTTLES(X)
#undef X
    };
    memset(ret_wanted, 0, (MEASURE_N + 63) / 64 * sizeof *ret_wanted);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        want(ret_wanted, always[i]);
    for (uint32_t i = 0; c->dcgm && i < c->counters_n; i++)
        if (c->counters[i].field->measure >= 0)
            want(ret_wanted, (enum measure)c->counters[i].field->measure);
}

/* ---- the page ---- */

void page_render(const struct page_config *config, struct page_cache *cache, const struct sample *s,
                 const struct account *account, const struct collect_state *state, bool openmetrics, struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct page p = {.config = config,
                     .cache = cache,
                     .sample = state->stalled ? NULL : s,
                     .account = account,
                     .state = state,
                     .arena = a};
    prometheus_begin(&p.out, out, openmetrics);
    if (p.sample && config->dcgm)
        page_dcgm(&p);
    if (p.sample && config->sessions)
        page_sessions(&p);
    if (p.sample)
        page_truth(&p);
    page_agent(&p);
    prometheus_end(&p.out);
}

void page_render_sessions(const struct page_config *config, struct page_cache *cache, const struct sample *s,
                          struct buf *out)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct page p = {.config = config, .cache = cache, .sample = s, .arena = a};
    prometheus_begin(&p.out, out, false);
    page_sessions(&p);
    prometheus_end(&p.out);
}
