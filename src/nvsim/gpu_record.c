/* gpu_record.c - the record of one simulated GPU: as it is, a copy to change, and what its processes add up to
 *
 * Sums are made again from the slots of processes at every change of a GPU.
 */
#include "nvsim/state.h"
#include "base/memory.h"

static uint32_t cap(uint64_t permille)
{
    return permille > 1000 ? 1000 : (uint32_t)permille;
}

static void load_add(struct nvsim_load *l, const struct nvsim_work *w, uint32_t share, uint32_t of)
{
    l->sm_wanted_permille += w->sm_permille * share / of;
    l->memory_permille += w->memory_permille * share / of;
    l->encoder_permille += w->encoder_permille * share / of;
    l->decoder_permille += w->decoder_permille * share / of;
    l->memory_mib += w->memory_mib;
    l->processes_n++;
}

static void load_cap(struct nvsim_load *l)
{
    l->sm_permille = cap(l->sm_wanted_permille);
    l->memory_permille = cap(l->memory_permille);
    l->encoder_permille = cap(l->encoder_permille);
    l->decoder_permille = cap(l->decoder_permille);
}

static void work_add(struct nvsim_gpu *g, const struct gpu_model *m, const struct nvsim_work *w)
{
    if (w->gi == NVSIM_NONE || !m->mig_slices) {
        load_add(&g->load, w, 1, 1);
        return;
    }
    struct mig_instance *instance = mig_find_instance(&g->mig, (uint8_t)w->gi);
    struct mig_compute *compute = instance ? mig_find_compute(&g->mig, (uint8_t)w->gi, (uint8_t)w->ci) : NULL;
    const struct mig_profile *p = instance ? mig_profile_by_id(m, instance->profile_id) : NULL;
    if (!compute || !p || !p->slices)
        return;
    load_add(&g->load, w, compute->slices, m->mig_slices);
    load_add(&g->instances[instance - g->mig.instances], w, compute->slices, p->slices);
    if (compute->busy_n < UINT8_MAX)
        compute->busy_n++;
}

static void work_sum(const struct nvsim *n, uint32_t gpu, struct nvsim_gpu *g)
{
    const struct nvsim_state *s = n->state;
    memset(&g->load, 0, sizeof g->load);
    memset(g->instances, 0, sizeof g->instances);
    for (int i = 0; i < MIG_GI_MAX; i++)
        for (int k = 0; k < MIG_CI_MAX; k++)
            g->mig.instances[i].computes[k].busy_n = 0;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX; i++)
        if (s->process_gpu[i] == gpu + 1)
            work_add(g, n->model, &s->processes[i].work);
    load_cap(&g->load);
    for (int i = 0; i < MIG_GI_MAX; i++)
        load_cap(&g->instances[i]);
}

const struct nvsim_gpu *nvsim_gpu_current(const struct nvsim *n, uint32_t gpu)
{
    return &n->state->gpus[gpu][n->state->current[gpu] & 1];
}

struct nvsim_gpu *nvsim_gpu_change(struct nvsim *n, uint32_t gpu, int64_t now_us)
{
    struct nvsim_gpu *copy = &n->state->gpus[gpu][(n->state->current[gpu] & 1) ^ 1];
    *copy = *nvsim_gpu_current(n, gpu);
    nvsim_physics_fold(copy, n->model, now_us);
    return copy;
}

void nvsim_gpu_commit(struct nvsim *n, uint32_t gpu)
{
    uint8_t next = (n->state->current[gpu] & 1) ^ 1;
    struct nvsim_gpu *copy = &n->state->gpus[gpu][next];
    work_sum(n, gpu, copy);
    nvsim_physics_apply(copy, n->model);
    __atomic_store_n(&n->state->current[gpu], next, __ATOMIC_RELEASE);
}
