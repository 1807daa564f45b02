/* latency.h - many times in little room: their sum, the most, and percentiles that are right to 1/64 */
#ifndef SIM_LATENCY_H
#define SIM_LATENCY_H
#include <stdint.h>
#include "base/amount.h"

#define LATENCY_STEPS 64
struct latency {
    uint64_t n, counts[64 * LATENCY_STEPS];
    int64_t sum_ns, most_ns;
};
static inline uint32_t latency_step(uint64_t ns) /* 64 steps from each power of two to the next */
{
    uint32_t bits = ns < LATENCY_STEPS ? 0 : 63 - (uint32_t)__builtin_clzll(ns) - 6;
    return bits * LATENCY_STEPS + (uint32_t)(ns >> bits);
}
static inline void latency_add(struct latency *l, int64_t ns)
{
    uint64_t n = ns > 0 ? (uint64_t)ns : 0;
    uint32_t step = latency_step(n);
    l->counts[step < 64 * LATENCY_STEPS ? step : 64 * LATENCY_STEPS - 1]++;
    l->n++;
    l->sum_ns = amount_plus(l->sum_ns, (int64_t)n);
    l->most_ns = ns > l->most_ns ? ns : l->most_ns;
}
static inline int64_t latency_percentile(const struct latency *l, uint64_t per_cent)
{
    uint64_t seen = 0, wanted = (l->n * per_cent + 99) / 100;
    for (uint32_t step = 0; step < 64 * LATENCY_STEPS && l->n; step++) {
        seen += l->counts[step];
        if (seen >= wanted) {
            uint32_t bits = step < 2 * LATENCY_STEPS ? 0 : step / LATENCY_STEPS - 1;
            return (int64_t)((uint64_t)(step - bits * LATENCY_STEPS) << bits);
        }
    }
    return l->most_ns;
}

#endif
