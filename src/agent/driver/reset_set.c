/* reset_set.c - see reset_set.h */
#include "agent/driver/reset_set.h"

#define AMPERE 8 /* compute capability from which linked GPUs are reset one by one */

static bool linked(const struct driver_reading *r, uint32_t a, uint32_t b)
{
    return a != b && r->links && (r->links[(size_t)a * r->gpus_n + b].nvlinks_n || r->links[(size_t)b * r->gpus_n + a].nvlinks_n);
}

uint64_t reset_set(const struct driver_reading *r, const struct driver_gpu *gpu)
{
    uint32_t queue[LIMIT_NODE_GPUS], queue_n = 0;
    bool in[LIMIT_NODE_GPUS] = {false};
    uint64_t set = 1ULL << gpu->index;
    for (uint32_t i = 0; i < r->gpus_n && i < LIMIT_NODE_GPUS; i++)
        if (&r->gpus[i] == gpu && (r->resets_linked || (gpu->compute_major && gpu->compute_major < AMPERE)))
            in[queue[queue_n++] = i] = true;
    for (uint32_t at = 0; at < queue_n; at++)
        for (uint32_t k = 0; k < r->gpus_n && k < LIMIT_NODE_GPUS; k++)
            if (!in[k] && linked(r, queue[at], k)) {
                in[queue[queue_n++] = k] = true;
                set |= 1ULL << r->gpus[k].index;
            }
    return set;
}
