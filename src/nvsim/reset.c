/* reset.c - what nvidia-smi --gpu-reset does to simulated GPUs
 *
 * Linked boards: before Ampere every GPU that is linked by NVLink to one that is reset has to be reset in the same command; from then on
 * only those on an NVSwitch whose fabric manager does not run. SOURCE nvidia-smi's manual, --gpu-reset.
 */
#include <stdio.h>
#include <string.h>
#include "nvsim/state.h"

static void gpu_reset(struct nvsim *n, struct nvsim_gpu *g)
{
    mig_reset(&g->mig, n->model);
    g->lost = NVSIM_HERE;
    g->reset_required = 0;
    g->hang_until_us = 0;
    g->slow_ms = 0;
    g->ecc_mode = g->ecc_pending;
    g->ecc.corrected[0] = g->ecc.uncorrected[0] = g->ecc.sram_corrected[0] = g->ecc.sram_uncorrected[0] = 0;
    g->remap_pending = 0; /* rows are remapped at the reset */
    g->nvlink_down = 0;
    g->fabric_unhealthy = 0;
    memset(g->nvlink_errors, 0, sizeof g->nvlink_errors);
    g->clock_lock_min_mhz = g->clock_lock_max_mhz = 0;
    g->compute_mode = 0;
    g->xid = 0;
}

/* The GPUs that go with this one, itself among them, as bits. */
static uint32_t reset_with(const struct nvsim *n, uint32_t gpu)
{
    const struct gpu_model *m = n->model;
    uint32_t group_n = m->nvswitch ? n->gpus_n : m->node_link_group_n, mask = 0;
    bool together = m->nvlink_n && (m->compute_major < 8 || (m->nvswitch && n->state->fabric_manager_off));
    for (uint32_t i = 0; i < n->gpus_n; i++)
        if (i == gpu || (together && group_n && i / group_n == gpu / group_n))
            mask |= 1u << i;
    return mask;
}

static int linked_check(const struct nvsim *n, uint32_t gpus, struct err *e)
{
    char list[NVSIM_GPUS_MAX * 20] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        uint32_t missing = gpus >> i & 1 ? reset_with(n, i) & ~gpus : 0;
        for (uint32_t k = 0; k < n->gpus_n && missing; k++) {
            const struct nvsim_gpu *g = nvsim_gpu_current(n, k);
            if (missing >> k & 1)
                at += (size_t)snprintf(list + at, sizeof list - at, "%s%08x:%02x:00.0", at ? ", " : "", g->domain, g->bus & 0xff);
        }
        if (missing)
            return err_set(e, E_CONFLICT, "gpu %u: GPUs that are linked to it by NVLink have to be reset in the same command: %s", i, list);
    }
    return 0;
}

static int gpu_check(struct nvsim *n, uint32_t gpu, int64_t now_us, struct err *e)
{
    struct nvsim_gpu *g = nvsim_gpu_change(n, gpu, now_us);
    if (g->lost == NVSIM_OFF_BUS)
        return err_set(e, E_CONFLICT, "gpu %u: it has fallen off the bus, a reset does not reach it; the fault 'back' is the reboot", gpu);
    if (g->load.processes_n)
        return err_set(e, E_CONFLICT, "gpu %u: %u processes run on it: stop them first", gpu, g->load.processes_n);
    return 0;
}

/* All or none: everything is looked at before the first is touched. */
static int reset_locked(struct nvsim *n, uint32_t gpus, struct err *e)
{
    int64_t now_us = nvsim_now_us();
    nvsim_work_settle_now(n, now_us);
    int r = linked_check(n, gpus, e);
    for (uint32_t i = 0; r == 0 && i < n->gpus_n; i++)
        if (gpus >> i & 1)
            r = gpu_check(n, i, now_us, e);
    for (uint32_t i = 0; r == 0 && i < n->gpus_n; i++) {
        if (!(gpus >> i & 1))
            continue;
        struct nvsim_gpu *g = nvsim_gpu_change(n, i, now_us);
        gpu_reset(n, g);
        nvsim_gpu_commit(n, i);
        nvsim_companion_mig(n, i, NVSIM_NONE, &g->mig);
    }
    return r;
}

int nvsim_reset_all(struct nvsim *n, uint32_t gpus, struct err *e)
{
    if (!gpus || gpus >> n->gpus_n)
        return err_set(e, E_NOTFOUND, "the node has %u GPUs, 0 to %u", n->gpus_n, n->gpus_n - 1);
    int r = nvsim_lock(n, e);
    if (r < 0)
        return r;
    r = reset_locked(n, gpus, e);
    nvsim_unlock(n);
    return r;
}

int nvsim_reset(struct nvsim *n, uint32_t gpu, struct err *e)
{
    if (gpu >= n->gpus_n)
        return err_set(e, E_NOTFOUND, "gpu %u: the node has %u GPUs, 0 to %u", gpu, n->gpus_n, n->gpus_n - 1);
    return nvsim_reset_all(n, 1u << gpu, e);
}
