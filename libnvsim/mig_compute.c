/* mig_compute.c - calls about compute instances: their profiles, making and ending them */
#include <stdio.h>
#include "libnvsim.h"

/* Widths of NVML's compute instance profiles; their index is also their hardware id. 0: none here has it. */
static const uint8_t widths[NVML_CI_PROFILES_N] = {
    [NVML_CI_1] = 1, [NVML_CI_2] = 2, [NVML_CI_3] = 3, [NVML_CI_4] = 4, [NVML_CI_7] = 7};

static uint32_t width_id(uint8_t slices)
{
    for (uint32_t i = 0; i < NVML_CI_PROFILES_N; i++)
        if (widths[i] == slices)
            return i;
    return 0;
}

/* Slices of a profile inside this GPU instance; 0: it has no such profile. */
static uint8_t width_of(const struct view *v, uint32_t profile)
{
    uint8_t slices = profile < NVML_CI_PROFILES_N ? widths[profile] : 0;
    return slices && mig_compute_starts(v->profile->slices, slices) ? slices : 0;
}

static struct nvml_ci_profile_v3 profile_of(const struct view *v, uint8_t slices)
{
    const struct mig_profile *p = v->profile;
    struct nvml_ci_profile_v3 i = {.version = NVML_CI_PROFILE_V3,
                                   .id = width_id(slices),
                                   .slices_n = slices,
                                   .instances_n = (uint32_t)__builtin_popcount(mig_compute_starts(p->slices, slices)),
                                   .sm_n = compute_sm_n(v->model, p, slices),
                                   /* engines are shared by the compute instances of a GPU instance */
                                   .copy_n = p->copy_n,
                                   .decoder_n = p->decoder_n,
                                   .encoder_n = p->encoder_n,
                                   .jpeg_n = p->jpeg_n,
                                   .ofa_n = p->ofa_n,
                                   .capabilities = p->graphics ? NVML_GI_CAN_GRAPHICS : 0u};
    char name[64];
    compute_name(p, slices, name);
    (void)snprintf(i.name, sizeof i.name, "MIG %s", name);
    return i;
}

static int profile_view(const struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine, struct view *v, uint8_t *ret_slices)
{
    int code = view_instance(gi, v);
    if (code != NVML_OK)
        return code;
    if (profile >= NVML_CI_PROFILES_N || engine != NVML_CI_ENGINE_SHARED)
        return NVML_INVALID_ARGUMENT;
    *ret_slices = width_of(v, profile);
    return *ret_slices ? NVML_OK : NVML_NOT_SUPPORTED;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine,
                                                 struct nvml_ci_profile *info)
{
    struct view v;
    uint8_t slices;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    int code = profile_view(gi, profile, engine, &v, &slices);
    if (code != NVML_OK)
        return code;
    struct nvml_ci_profile_v3 i = profile_of(&v, slices);
    memcpy(info, &i.id, sizeof *info); /* the same numbers without a version before and a name after */
    return NVML_OK;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine,
                                                  struct nvml_ci_profile_v2 *info)
{
    struct view v;
    uint8_t slices;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    uint32_t version = info->version;
    if (version != NVML_CI_PROFILE_V2 && version != NVML_CI_PROFILE_V3)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    int code = profile_view(gi, profile, engine, &v, &slices);
    if (code != NVML_OK)
        return code;
    struct nvml_ci_profile_v3 i = profile_of(&v, slices);
    i.version = version;
    memcpy(info, &i, version == NVML_CI_PROFILE_V3 ? sizeof i : sizeof *info); /* v3 has one field more at the end */
    return NVML_OK;
}

/* For the calls that only root may make. */
static int administer_view(const struct nvml_gpu_instance *gi, uint32_t profile_id, struct view *v, uint8_t *ret_slices)
{
    int code = view_instance(gi, v);
    if (code != NVML_OK)
        return code;
    if (!nvsim_may_administer(v->node))
        return NVML_NO_PERMISSION;
    *ret_slices = width_of(v, profile_id);
    return *ret_slices ? NVML_OK : NVML_INVALID_ARGUMENT;
}

int nvmlGpuInstanceGetComputeInstanceRemainingCapacity(struct nvml_gpu_instance *gi, uint32_t profile_id, uint32_t *n)
{
    struct view v;
    uint8_t slices;
    int code = administer_view(gi, profile_id, &v, &slices);
    if (code != NVML_OK)
        return code;
    if (!n)
        return NVML_INVALID_ARGUMENT;
    *n = mig_remaining_computes(v.instance, v.profile->slices, slices);
    return NVML_OK;
}

int nvmlGpuInstanceGetComputeInstancePossiblePlacements(struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_placement *list,
                                                        uint32_t *n)
{
    struct view v;
    uint8_t slices;
    int code = administer_view(gi, profile_id, &v, &slices);
    if (code != NVML_OK)
        return code;
    if (!n)
        return NVML_INVALID_ARGUMENT;
    uint32_t found = 0, room = *n, starts = mig_compute_starts(v.profile->slices, slices);
    for (uint32_t start = 0; start < 8; start++) {
        if (!(starts & 1u << start))
            continue;
        if (list && found < room)
            list[found] = (struct nvml_placement){start, slices};
        found++;
    }
    *n = found;
    return list && found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

/* ---- making and ending ---- */

static void changed(struct edit *e, uint8_t gi, uint8_t ci)
{
    nvsim_companion_mig(e->node, e->gpu, gi, &e->g->mig);
    nvsim_event_add(e->node, e->gpu, gi, ci, NVSIM_EVENT_MIG, 0, e->now_us);
}

static int compute_create(struct nvml_gpu_instance *gi, uint32_t profile_id, const struct nvml_placement *at,
                          struct nvml_compute_instance **ci)
{
    struct view v;
    struct edit e;
    uint8_t slices, id;
    int code = administer_view(gi, profile_id, &v, &slices);
    if (code != NVML_OK)
        return code;
    if (!ci || (at && (at->size != slices || at->start >= 8)))
        return NVML_INVALID_ARGUMENT;
    code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    uint8_t of = v.instance->id;
    code = (int)mig_create_compute(&e.g->mig, e.model, of, slices, at ? (int)at->start : -1, e.g->seed, &id);
    if (code != NVML_OK) {
        edit_cancel(&e);
        return code;
    }
    *ci = handle_of_compute(v.gpu, of, mig_find_compute(&e.g->mig, of, id));
    changed(&e, of, id);
    edit_commit(&e);
    return NVML_OK;
}

int nvmlGpuInstanceCreateComputeInstance(struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_compute_instance **ci)
{
    return compute_create(gi, profile_id, NULL, ci);
}

int nvmlGpuInstanceCreateComputeInstanceWithPlacement(struct nvml_gpu_instance *gi, uint32_t profile_id, const struct nvml_placement *at,
                                                      struct nvml_compute_instance **ci)
{
    return at ? compute_create(gi, profile_id, at, ci) : NVML_INVALID_ARGUMENT;
}

int nvmlComputeInstanceDestroy(struct nvml_compute_instance *ci)
{
    struct view v;
    struct edit e;
    int code = view_compute(ci, &v);
    if (code == NVML_OK)
        code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    uint8_t gi_id = v.instance->id, ci_id = v.compute->id;
    const struct mig_compute *now = mig_find_compute(&e.g->mig, gi_id, ci_id);
    bool same = now && memcmp(now->uuid, v.compute->uuid, sizeof now->uuid) == 0; /* not one that was made in between */
    code = same ? (int)mig_destroy_compute(&e.g->mig, gi_id, ci_id) : NVML_NOT_FOUND;
    if (code != NVML_OK) {
        edit_cancel(&e);
        return code;
    }
    changed(&e, gi_id, ci_id);
    edit_commit(&e);
    return NVML_OK;
}

/* ---- looking ---- */

/* `list` has room for as many as the profile allows. */
int nvmlGpuInstanceGetComputeInstances(struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_compute_instance **list, uint32_t *n)
{
    struct view v;
    uint8_t slices;
    int code = administer_view(gi, profile_id, &v, &slices);
    if (code != NVML_OK)
        return code;
    if (!list || !n)
        return NVML_INVALID_ARGUMENT;
    uint32_t found = 0;
    for (uint8_t id = 0; id < MIG_CI_MAX; id++) {
        const struct mig_compute *c = mig_find_compute(&v.g.mig, v.instance->id, id);
        if (c && c->slices == slices)
            list[found++] = handle_of_compute(v.gpu, v.instance->id, c);
    }
    *n = found;
    return NVML_OK;
}

int nvmlGpuInstanceGetComputeInstanceById(struct nvml_gpu_instance *gi, uint32_t id, struct nvml_compute_instance **ci)
{
    struct view v;
    int code = view_instance(gi, &v);
    if (code != NVML_OK)
        return code;
    if (!ci || id > UINT8_MAX)
        return NVML_INVALID_ARGUMENT;
    if (!nvsim_may_administer(v.node))
        return NVML_NO_PERMISSION;
    const struct mig_compute *c = mig_find_compute(&v.g.mig, v.instance->id, (uint8_t)id);
    if (!c)
        return NVML_NOT_FOUND;
    *ci = handle_of_compute(v.gpu, v.instance->id, c);
    return NVML_OK;
}

int nvmlComputeInstanceGetInfo_v2(struct nvml_compute_instance *ci, struct nvml_ci_info *info)
{
    struct view v;
    int code = view_compute(ci, &v);
    if (code != NVML_OK)
        return code;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    *info = (struct nvml_ci_info){.device = device_of_mig(v.gpu, v.instance->id, v.compute),
                                  .gpu_instance = handle_of_instance(v.gpu, v.instance->id),
                                  .id = v.compute->id,
                                  .profile_id = width_id(v.compute->slices),
                                  .placement = {v.compute->start, v.compute->slices}};
    return NVML_OK;
}

int nvmlComputeInstanceGetInfo(struct nvml_compute_instance *ci, struct nvml_ci_info *info)
{
    struct nvml_ci_info whole;
    int code = nvmlComputeInstanceGetInfo_v2(ci, &whole);
    if (code == NVML_OK && !info)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        memcpy(info, &whole, offsetof(struct nvml_ci_info, placement)); /* callers of the older name have no more room */
    return code;
}
