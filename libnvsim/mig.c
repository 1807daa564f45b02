/* mig.c - calls about MIG: mode, profiles, GPU instances, MIG devices. Compute instances: mig_compute.c. Rules: gpu/mig.c */
#include <stdio.h>
#include "libnvsim.h"

/* ---- mode ---- */

int nvmlDeviceGetMigMode(struct nvml_device *d, uint32_t *now, uint32_t *pending)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!now || !pending)
        return NVML_INVALID_ARGUMENT;
    if (!v.model->mig_slices)
        return NVML_NOT_SUPPORTED;
    *now = v.g.mig.mode;
    *pending = v.g.mig.mode_pending;
    return NVML_OK;
}

/* The call succeeds when the wish was noted; `activation` tells whether it is in force. */
static int mode_change(struct edit *e, bool on, int *activation)
{
    struct mig_state *mig = &e->g->mig;
    bool busy = e->g->load.processes_n > 0, was = mig->mode != 0;
    int code = (int)mig_set_mode(mig, e->model, on, busy);
    if (code != NVML_OK)
        return code;
    *activation = (mig->mode != 0) == on ? NVML_OK : busy ? NVML_IN_USE : NVML_RESET_REQUIRED;
    if ((mig->mode != 0) != was)
        nvsim_event_add(e->node, e->gpu, NVSIM_NONE, NVSIM_NONE, NVSIM_EVENT_MIG, 0, e->now_us);
    return NVML_OK;
}

int nvmlDeviceSetMigMode(struct nvml_device *d, uint32_t mode, int *activation)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    struct edit e;
    if (!activation || mode > 1)
        return NVML_INVALID_ARGUMENT;
    if (!v.model->mig_slices)
        return NVML_NOT_SUPPORTED;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    code = mode_change(&e, mode != 0, activation);
    if (code == NVML_OK)
        edit_commit(&e);
    else
        edit_cancel(&e);
    return code;
}

/* ---- profiles ---- */

/* NVML's index -> profile of this model. */
static int profile_find(const struct view *v, uint32_t index, const struct mig_profile **ret_profile)
{
    if (index >= NVML_GI_PROFILES_N)
        return NVML_INVALID_ARGUMENT;
    *ret_profile = v->model->mig_slices ? mig_profile_by_nvml_index(v->model, index) : NULL;
    return *ret_profile ? NVML_OK : NVML_NOT_SUPPORTED;
}

static struct nvml_gi_profile_v3 profile_of(const struct mig_profile *p)
{
    struct nvml_gi_profile_v3 i = {.version = NVML_GI_PROFILE_V3,
                                   .id = p->id,
                                   .slices_n = p->slices,
                                   .instances_n = p->max_n,
                                   .sm_n = p->sm_n,
                                   .copy_n = p->copy_n,
                                   .decoder_n = p->decoder_n,
                                   .encoder_n = p->encoder_n,
                                   .jpeg_n = p->jpeg_n,
                                   .ofa_n = p->ofa_n,
                                   .memory_mib = p->memory_mib,
                                   .capabilities = (p->p2p ? NVML_GI_CAN_P2P : 0u) | (p->graphics ? NVML_GI_CAN_GRAPHICS : 0u)};
    (void)snprintf(i.name, sizeof i.name, "MIG %s", p->name);
    return i;
}

int nvmlDeviceGetGpuInstanceProfileInfo(struct nvml_device *d, uint32_t profile, struct nvml_gi_profile *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    const struct mig_profile *p;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    int code = profile_find(&v, profile, &p);
    if (code == NVML_OK)
        *info = (struct nvml_gi_profile){p->id,     p->p2p,       p->slices,    p->max_n,  p->sm_n, p->copy_n,
                                         p->decoder_n, p->encoder_n, p->jpeg_n, p->ofa_n, p->memory_mib};
    return code;
}

/* The struct that `info->version` names. */
static int profile_answer(const struct mig_profile *p, struct nvml_gi_profile_v2 *info)
{
    struct nvml_gi_profile_v3 i = profile_of(p);
    if (info->version == NVML_GI_PROFILE_V3) {
        memcpy(info, &i, sizeof i);
        return NVML_OK;
    }
    *info = (struct nvml_gi_profile_v2){NVML_GI_PROFILE_V2, i.id,        p->p2p,   i.slices_n, i.instances_n, i.sm_n, i.copy_n,
                                        i.decoder_n,        i.encoder_n, i.jpeg_n, i.ofa_n,    i.memory_mib,  ""};
    memcpy(info->name, i.name, sizeof info->name);
    return NVML_OK;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(struct nvml_device *d, uint32_t profile, struct nvml_gi_profile_v2 *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    const struct mig_profile *p;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != NVML_GI_PROFILE_V2 && info->version != NVML_GI_PROFILE_V3)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    int code = profile_find(&v, profile, &p);
    return code == NVML_OK ? profile_answer(p, info) : code;
}

int nvmlDeviceGetGpuInstanceProfileInfoByIdV(struct nvml_device *d, uint32_t profile_id, struct nvml_gi_profile_v2 *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != NVML_GI_PROFILE_V2 && info->version != NVML_GI_PROFILE_V3)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    const struct mig_profile *p = v.model->mig_slices ? mig_profile_by_id(v.model, profile_id) : NULL;
    return p ? profile_answer(p, info) : NVML_NOT_SUPPORTED;
}

/* Calls about instances: MIG must be on, and the caller must be allowed. */
static int instances_view(const struct nvml_device *d, struct view *v)
{
    int code = view_gpu(d, v, NVML_INVALID_ARGUMENT);
    if (code != NVML_OK)
        return code;
    if (!v->model->mig_slices || !v->g.mig.mode)
        return NVML_NOT_SUPPORTED;
    return nvsim_may_administer(v->node) ? NVML_OK : NVML_NO_PERMISSION;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct nvml_device *d, uint32_t profile_id, struct nvml_placement *list, uint32_t *n)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!v.model->mig_slices) /* with the mode off too: field MIG_QUERY_INDEPENDENT says so */
        return NVML_NOT_SUPPORTED;
    if (!nvsim_may_administer(v.node))
        return NVML_NO_PERMISSION;
    const struct mig_profile *p = mig_profile_by_id(v.model, profile_id);
    if (!p || !n)
        return NVML_INVALID_ARGUMENT;
    uint32_t found = 0, room = *n;
    for (uint32_t start = 0; start < MIG_UNITS_MAX; start++) {
        if (!(p->starts & 1u << start))
            continue;
        if (list && found < room)
            list[found] = (struct nvml_placement){start, p->units};
        found++;
    }
    *n = found;
    return list && found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

int nvmlDeviceGetGpuInstancePossiblePlacements(struct nvml_device *d, uint32_t profile_id, struct nvml_placement *list, uint32_t *n)
{
    return nvmlDeviceGetGpuInstancePossiblePlacements_v2(d, profile_id, list, n);
}

int nvmlDeviceGetGpuInstanceRemainingCapacity(struct nvml_device *d, uint32_t profile_id, uint32_t *n)
{
    struct view v;
    int code = instances_view(d, &v);
    if (code != NVML_OK)
        return code;
    const struct mig_profile *p = mig_profile_by_id(v.model, profile_id);
    if (!p || !n)
        return NVML_INVALID_ARGUMENT;
    *n = mig_remaining(&v.g.mig, v.model, p);
    return NVML_OK;
}

/* ---- GPU instances ---- */

static int instance_create(struct nvml_device *d, uint32_t profile_id, const struct nvml_placement *at, struct nvml_gpu_instance **gi)
{
    struct view v;
    struct edit e;
    uint8_t id;
    int code = instances_view(d, &v);
    if (code != NVML_OK)
        return code;
    const struct mig_profile *p = mig_profile_by_id(v.model, profile_id);
    if (!gi || !p || (at && (at->size != p->units || at->start >= MIG_UNITS_MAX)))
        return NVML_INVALID_ARGUMENT;
    code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    code = (int)mig_create_instance(&e.g->mig, e.model, p->id, at ? (int)at->start : -1, &id);
    if (code != NVML_OK) {
        edit_cancel(&e);
        return code;
    }
    nvsim_companion_mig(e.node, e.gpu, id, &e.g->mig);
    nvsim_event_add(e.node, e.gpu, id, NVSIM_NONE, NVSIM_EVENT_MIG, 0, e.now_us);
    edit_commit(&e);
    *gi = handle_of_instance(v.gpu, id);
    return NVML_OK;
}

int nvmlDeviceCreateGpuInstance(struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **gi)
{
    return instance_create(d, profile_id, NULL, gi);
}

int nvmlDeviceCreateGpuInstanceWithPlacement(struct nvml_device *d, uint32_t profile_id, const struct nvml_placement *at,
                                             struct nvml_gpu_instance **gi)
{
    return at ? instance_create(d, profile_id, at, gi) : NVML_INVALID_ARGUMENT;
}

/* `list` has room for as many as the profile allows. */
int nvmlDeviceGetGpuInstances(struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **list, uint32_t *n)
{
    struct view v;
    int code = instances_view(d, &v);
    if (code != NVML_OK)
        return code;
    if (!list || !n || !mig_profile_by_id(v.model, profile_id))
        return NVML_INVALID_ARGUMENT;
    uint32_t found = 0;
    for (uint32_t id = 0; id < 2 * MIG_UNITS_MAX; id++) {
        const struct mig_instance *i = mig_find_instance(&v.g.mig, (uint8_t)id);
        if (i && i->profile_id == profile_id)
            list[found++] = handle_of_instance(v.gpu, id);
    }
    *n = found;
    return NVML_OK;
}

int nvmlDeviceGetGpuInstanceById(struct nvml_device *d, uint32_t id, struct nvml_gpu_instance **gi)
{
    struct view v;
    int code = instances_view(d, &v);
    if (code != NVML_OK)
        return code;
    if (!gi || id > UINT8_MAX)
        return NVML_INVALID_ARGUMENT;
    if (!mig_find_instance(&v.g.mig, (uint8_t)id))
        return NVML_NOT_FOUND;
    *gi = handle_of_instance(v.gpu, id);
    return NVML_OK;
}

int nvmlGpuInstanceGetInfo(struct nvml_gpu_instance *gi, struct nvml_gi_info *info)
{
    struct view v;
    int code = view_instance(gi, &v);
    if (code != NVML_OK)
        return code;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    *info = (struct nvml_gi_info){.device = device_of_gpu(v.gpu),
                                  .id = v.instance->id,
                                  .profile_id = v.instance->profile_id,
                                  .placement = {v.instance->start, v.instance->units}};
    return NVML_OK;
}

int nvmlGpuInstanceDestroy(struct nvml_gpu_instance *gi)
{
    struct view v;
    struct edit e;
    int code = view_instance(gi, &v);
    if (code == NVML_OK)
        code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    uint8_t id = v.instance->id;
    code = (int)mig_destroy_instance(&e.g->mig, id);
    if (code != NVML_OK) {
        edit_cancel(&e);
        return code;
    }
    nvsim_companion_mig(e.node, e.gpu, id, &e.g->mig);
    nvsim_event_add(e.node, e.gpu, id, NVSIM_NONE, NVSIM_EVENT_MIG, 0, e.now_us);
    edit_commit(&e);
    return NVML_OK;
}

/* ---- MIG devices ---- */

int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *d, uint32_t *n)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!n)
        return NVML_INVALID_ARGUMENT;
    *n = v.g.mig.mode ? v.model->mig_slices : 0;
    return NVML_OK;
}

/* By GPU instance id, then compute instance id. */
int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *d, uint32_t index, struct nvml_device **mig)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!v.model->mig_slices || !v.g.mig.mode)
        return NVML_NOT_SUPPORTED;
    if (!mig || index >= v.model->mig_slices)
        return NVML_INVALID_ARGUMENT;
    uint32_t seen = 0;
    for (uint32_t gi = 0; gi < 2 * MIG_UNITS_MAX; gi++)
        for (uint32_t ci = 0; ci < MIG_CI_MAX; ci++) {
            const struct mig_compute *c = mig_find_compute(&v.g.mig, (uint8_t)gi, (uint8_t)ci);
            if (c && seen++ == index) {
                *mig = device_of_mig(v.gpu, gi, c);
                return NVML_OK;
            }
        }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct nvml_device *mig, struct nvml_device **parent)
{
    VIEW_DEVICE(v, mig);
    if (!parent || !v.is_mig)
        return NVML_INVALID_ARGUMENT;
    *parent = device_of_gpu(v.gpu);
    return NVML_OK;
}

DEVICE_CALL(nvmlDeviceIsMigDeviceHandle, uint32_t, v.is_mig)

int nvmlDeviceGetAttributes_v2(struct nvml_device *mig, struct nvml_attributes *attributes)
{
    VIEW_DEVICE(v, mig);
    if (!attributes)
        return NVML_INVALID_ARGUMENT;
    if (!v.is_mig)
        return NVML_NOT_SUPPORTED;
    const struct mig_profile *p = v.profile;
    *attributes = (struct nvml_attributes){.sm_n = compute_sm_n(v.model, p, v.compute->slices),
                                           .copy_n = p->copy_n,
                                           .decoder_n = p->decoder_n,
                                           .encoder_n = p->encoder_n,
                                           .jpeg_n = p->jpeg_n,
                                           .ofa_n = p->ofa_n,
                                           .gi_slices_n = p->slices,
                                           .ci_slices_n = v.compute->slices,
                                           .memory_mib = p->memory_mib};
    return NVML_OK;
}

int nvmlDeviceGetAttributes(struct nvml_device *mig, struct nvml_attributes *attributes)
{
    return nvmlDeviceGetAttributes_v2(mig, attributes);
}

/* Of a MIG device only. */
#define VIEW_MIG(v, d)                 \
    VIEW_DEVICE(v, d);                 \
    do {                               \
        if (!(v).is_mig)               \
            return NVML_NOT_SUPPORTED; \
    } while (0)
ANSWER_CALL(VIEW_MIG(v, d), nvmlDeviceGetGpuInstanceId, uint32_t, v.instance->id)
ANSWER_CALL(VIEW_MIG(v, d), nvmlDeviceGetComputeInstanceId, uint32_t, v.compute->id)
