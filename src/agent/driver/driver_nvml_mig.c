/* driver_nvml_mig.c - the MIG side of one GPU, in its thread
 *
 * The geometry is asked of the driver (profiles, places), never taken from tables. MIG devices are found by walking their indexes, which
 * has holes; GPU instances, also those without a compute instance, by asking for those of each profile (which needs privileges).
 * SOURCE nvidia-mig-parted (names of profiles); NVML API 13, MIG.
 */
#include <stdio.h>
#include "agent/driver/driver_nvml_part.h"
#include "base/collections/map.h"

enum { PROFILES_ASKED_MAX = 64, PLACES_MAX = 32, INSTANCES_MAX = 16, WALK_MAX = 64 };

/* ---- geometry ---- */

/* One shape for the three versions of the call. */
static int profile_read(struct nvml *n, struct nvml_device *d, uint32_t index, struct nvml_gi_profile_v3 *p)
{
    int code = NVML_FUNCTION_NOT_FOUND;
    if (n->gi_profile_versioned) {
        p->version = NVML_GI_PROFILE_V3;
        /* The parameter is one pointer for both versions; `version` says which it is. */
        code = n->gi_profile_versioned(d, index, (struct nvml_gi_profile_v2 *)(void *)p);
        if (code != NVML_ARGUMENT_VERSION_MISMATCH && code != NVML_INVALID_ARGUMENT)
            return code;
        struct nvml_gi_profile_v2 v2 = {.version = NVML_GI_PROFILE_V2};
        code = n->gi_profile_versioned(d, index, &v2);
        if (code == NVML_OK) {
            *p = (struct nvml_gi_profile_v3){0,
                                             v2.id,
                                             v2.slices_n,
                                             v2.instances_n,
                                             v2.sm_n,
                                             v2.copy_n,
                                             v2.decoder_n,
                                             v2.encoder_n,
                                             v2.jpeg_n,
                                             v2.ofa_n,
                                             v2.memory_mib,
                                             "",
                                             v2.p2p ? NVML_GI_CAN_P2P : 0};
            memcpy(p->name, v2.name, sizeof p->name);
        }
        if (code != NVML_ARGUMENT_VERSION_MISMATCH && code != NVML_INVALID_ARGUMENT)
            return code;
    }
    if (n->gi_profile) {
        struct nvml_gi_profile v1 = {0};
        code = n->gi_profile(d, index, &v1);
        if (code == NVML_OK)
            *p = (struct nvml_gi_profile_v3){0,
                                             v1.id,
                                             v1.slices_n,
                                             v1.instances_n,
                                             v1.sm_n,
                                             v1.copy_n,
                                             v1.decoder_n,
                                             v1.encoder_n,
                                             v1.jpeg_n,
                                             v1.ofa_n,
                                             v1.memory_mib,
                                             "",
                                             v1.p2p ? NVML_GI_CAN_P2P : 0};
    }
    return code;
}

static const char *name_suffix(uint32_t index)
{
    switch (index) {
    case NVML_GI_1_MEDIA:
    case NVML_GI_2_MEDIA:
        return "+me";
    case NVML_GI_1_GRAPHICS:
    case NVML_GI_2_GRAPHICS:
    case NVML_GI_3_GRAPHICS:
    case NVML_GI_4_GRAPHICS:
        return "+gfx";
    case NVML_GI_1_NO_MEDIA:
    case NVML_GI_2_NO_MEDIA:
        return "-me";
    case NVML_GI_1_ALL_MEDIA:
    case NVML_GI_2_ALL_MEDIA:
        return "+me.all";
    default:
        return "";
    }
}

/* As the library says ("MIG 1g.5gb"), or by mig-parted's arithmetic where it is too old to say. */
static void name_profile(const struct nvml_gi_profile_v3 *p, uint32_t index, uint32_t gpu_mib, char ret_name[32])
{
    char name[NVML_NAME_LENGTH + 1] = "";
    memcpy(name, p->name, sizeof p->name);
    const char *text = text_starts(name, "MIG ") ? name + 4 : name;
    if (text[0] >= '1' && text[0] <= '9' && strlen(text) < 32) {
        (void)snprintf(ret_name, 32, "%.31s", text);
        return;
    }
    uint64_t eighths = gpu_mib > 0 ? (8 * p->memory_mib + gpu_mib - 1) / gpu_mib : 0;
    uint64_t gpu_gib = (gpu_mib + 1023u) / 1024, gib = (2 * eighths * gpu_gib + 8) / 16; /* half up */
    (void)snprintf(ret_name, 32, "%ug.%llugb%s", p->slices_n & 0xff, (unsigned long long)(gib & 0xffff),
                   name_suffix(index));
}

static bool places_read(struct nvml *n, struct nvml_device *d, uint32_t profile_id, struct mig_profile *to)
{
    struct nvml_placement list[PLACES_MAX] = {{0}};
    uint32_t list_n = PLACES_MAX;
    if (!n->gi_placements || n->gi_placements(d, profile_id, list, &list_n) != NVML_OK)
        return false;
    for (uint32_t i = 0; i < list_n && i < PLACES_MAX; i++) {
        if (list[i].start >= MIG_UNITS_MAX || list[i].size == 0 || list[i].start + list[i].size > MIG_UNITS_MAX)
            continue;
        to->starts |= (uint16_t)(1u << list[i].start);
        to->units = (uint8_t)list[i].size;
    }
    return to->starts != 0;
}

static void profile_add(struct gpu_geometry *g, uint32_t index, const struct nvml_gi_profile_v3 *p,
                        const struct mig_profile *places)
{
    struct gpu_model *m = &g->model;
    struct mig_profile *to = &g->profiles[m->profiles_n];
    char *name = g->names[m->profiles_n++];
    name_profile(p, index, m->memory_mib, name);
    *to = (struct mig_profile){.name = name,
                               .nvml_index = (uint8_t)index,
                               .id = (uint8_t)p->id,
                               .slices = (uint8_t)p->slices_n,
                               .max_n = (uint8_t)p->instances_n,
                               .units = places->units,
                               .starts = places->starts,
                               .sm_n = (uint16_t)p->sm_n,
                               .copy_n = (uint8_t)p->copy_n,
                               .decoder_n = (uint8_t)p->decoder_n,
                               .encoder_n = (uint8_t)p->encoder_n,
                               .jpeg_n = (uint8_t)p->jpeg_n,
                               .ofa_n = (uint8_t)p->ofa_n,
                               .p2p = p->capabilities & NVML_GI_CAN_P2P,
                               .graphics = p->capabilities & NVML_GI_CAN_GRAPHICS,
                               .memory_mib = (uint32_t)p->memory_mib};
    if (to->slices > m->mig_slices)
        m->mig_slices = to->slices;
    if (to->sm_n > m->sm_n)
        m->sm_n = to->sm_n;
    for (int s = 0; s < MIG_UNITS_MAX; s++)
        if ((to->starts & 1u << s) && s + to->units > m->mig_units)
            m->mig_units = (uint8_t)(s + to->units);
}

static bool needs_reset(struct nvml *n, struct nvml_device *d, uint8_t architecture)
{
    struct nvml_field_value f = {.field = NVML_FIELD_RESETLESS_MIG};
    if (n->field_values && n->field_values(d, 1, &f) == NVML_OK && f.code == NVML_OK)
        return f.value.u32 == 0;
    return architecture <= NVML_ARCH_AMPERE;
}

struct gpu_geometry *gpu_geometry_read(struct nvml *n, struct nvml_device *d, const struct gpu_facts *f)
{
    struct gpu_geometry *g = mem_zero(1, sizeof *g);
    struct gpu_model *m = &g->model;
    memcpy(g->name, f->gpu.name, sizeof g->name);
    m->key = m->name = g->name;
    m->architecture = "";
    m->nvml_architecture = f->gpu.architecture;
    m->nvml_brand = f->gpu.brand;
    m->compute_major = f->gpu.compute_major;
    m->compute_minor = f->gpu.compute_minor;
    m->pci_device_id = f->gpu.pci_device_id;
    m->pci_subsystem_id = f->gpu.pci_subsystem_id;
    m->memory_mib = f->gpu.memory_mib;
    m->profiles = g->profiles;
    for (uint32_t i = 0; i < PROFILES_ASKED_MAX && m->profiles_n < MIG_PROFILES_MAX; i++) {
        struct nvml_gi_profile_v3 p = {0};
        struct mig_profile places = {0};
        int code = profile_read(n, d, i, &p);
        if (code == NVML_GPU_IS_LOST) {
            m->profiles_n = 0; /* half a geometry would be believed for ever */
            break;
        }
        if (code == NVML_INVALID_ARGUMENT && i >= NVML_GI_PROFILES_N)
            break;
        if (code == NVML_OK && p.slices_n > 0 && p.slices_n <= 8 && p.id < 256 && places_read(n, d, p.id, &places))
            profile_add(g, i, &p, &places);
    }
    if (m->profiles_n == 0) {
        free(g);
        return NULL;
    }
    m->mig_needs_reset = needs_reset(n, d, f->gpu.architecture);
    return g;
}

/* ---- instances ---- */

static void instance_add(struct mig_state *s, const struct nvml_gi_info *info)
{
    for (int i = 0; i < MIG_GI_MAX; i++) {
        struct mig_instance *to = &s->instances[i];
        if (to->used)
            continue;
        *to = (struct mig_instance){.used = 1,
                                    .id = (uint8_t)info->id,
                                    .profile_id = (uint8_t)info->profile_id,
                                    .start = (uint8_t)info->placement.start,
                                    .units = (uint8_t)info->placement.size};
        return;
    }
}

static bool instances_read(struct nvml *n, struct nvml_device *d, struct gpu_facts *f)
{
    const struct gpu_model *m = f->geometry ? &f->geometry->model : NULL;
    for (uint32_t i = 0; m && n->gis && n->gi_info && i < m->profiles_n; i++) {
        struct nvml_gpu_instance *list[INSTANCES_MAX] = {NULL};
        uint32_t list_n = INSTANCES_MAX;
        int code = n->gis(d, m->profiles[i].id, list, &list_n);
        if (code == NVML_GPU_IS_LOST)
            return false;
        for (uint32_t k = 0; code == NVML_OK && k < list_n && k < INSTANCES_MAX; k++) {
            struct nvml_gi_info info = {0};
            if (n->gi_info(list[k], &info) == NVML_OK && info.id < 256 && info.placement.start < MIG_UNITS_MAX &&
                info.placement.size <= MIG_UNITS_MAX)
                instance_add(&f->mig, &info);
        }
    }
    return true;
}

static uint16_t count_processes(const struct driver_process *list, uint32_t list_n, uint32_t gi, uint32_t ci)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list_n; i++)
        count += list[i].gi == gi && list[i].ci == ci;
    return (uint16_t)(count > UINT16_MAX ? UINT16_MAX : count);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "MIG-6f3b...": its 16 bytes; another form: bytes that follow from it. */
static void uuid_bytes(const char *text, uint8_t ret_bytes[16])
{
    int digits = 0;
    for (const char *c = text_starts(text, "MIG-") ? text + 4 : text; *c && digits < 32; c++) {
        int value = hex_digit(*c);
        if (*c == '-')
            continue;
        if (value < 0)
            break;
        ret_bytes[digits / 2] = (uint8_t)(digits % 2 ? ret_bytes[digits / 2] | value : value << 4);
        digits++;
    }
    if (digits == 32)
        return;
    uint64_t half[2] = {hash_bytes(text, strlen(text), 1), hash_bytes(text, strlen(text), 2)};
    memcpy(ret_bytes, half, 16);
}

/* Where a compute instance begins within its GPU instance; 0 when the library does not say. */
static uint8_t compute_start(struct nvml *n, struct nvml_device *d, uint32_t gi_id, uint32_t ci_id)
{
    struct nvml_gpu_instance *gi = NULL;
    struct nvml_compute_instance *ci = NULL;
    struct nvml_ci_info info = {0};
    if (!n->gi_by_id || !n->ci_by_id || !n->ci_info || n->gi_by_id(d, gi_id, &gi) != NVML_OK ||
        n->ci_by_id(gi, ci_id, &ci) != NVML_OK || n->ci_info(ci, &info) != NVML_OK)
        return 0;
    return (uint8_t)info.placement.start;
}

static const struct mig_profile *profile_like(const struct gpu_geometry *g, const struct nvml_attributes *a)
{
    for (uint32_t i = 0; g && i < g->model.profiles_n; i++)
        if (g->profiles[i].slices == a->gi_slices_n && g->profiles[i].memory_mib == a->memory_mib &&
            g->profiles[i].jpeg_n == a->jpeg_n && g->profiles[i].ofa_n == a->ofa_n)
            return &g->profiles[i];
    return NULL;
}

static void compute_add(struct mig_instance *gi, const struct driver_mig *m)
{
    for (int i = 0; gi && i < MIG_CI_MAX; i++) {
        struct mig_compute *to = &gi->computes[i];
        if (to->used)
            continue;
        *to = (struct mig_compute){.used = 1,
                                   .id = m->ci,
                                   .slices = m->ci_slices,
                                   .start = m->ci_start,
                                   .busy_n = (uint8_t)(m->processes_n > 255 ? 255 : m->processes_n)};
        uuid_bytes(m->uuid, to->uuid);
        return;
    }
}

/* One MIG device. False: the GPU is lost. */
static bool mig_read(struct nvml *n, struct nvml_device *d, struct nvml_device *mig, struct gpu_facts *f,
                     const struct driver_process *list, uint32_t list_n)
{
    struct driver_mig *to = &f->migs[f->migs_n];
    struct nvml_attributes a = {0};
    char uuid[NVML_UUID_LENGTH] = "";
    uint32_t gi_id = 0, ci_id = 0;
    int code = n->uuid(mig, uuid, sizeof uuid);
    if (code != NVML_OK || strlen(uuid) >= sizeof to->uuid || n->gi_id(mig, &gi_id) != NVML_OK ||
        n->ci_id(mig, &ci_id) != NVML_OK || n->attributes(mig, &a) != NVML_OK || gi_id > 255 || ci_id > 255)
        return code != NVML_GPU_IS_LOST; /* gone between two calls */
    struct mig_instance *gi = mig_find_instance(&f->mig, (uint8_t)gi_id);
    const struct mig_profile *p =
        gi && f->geometry ? mig_profile_by_id(&f->geometry->model, gi->profile_id) : profile_like(f->geometry, &a);
    *to = (struct driver_mig){.gi = (uint8_t)gi_id,
                              .ci = (uint8_t)ci_id,
                              .gi_profile_id = p ? p->id : 0xff,
                              .gi_start = gi ? gi->start : 0xff,
                              .gi_units = gi ? gi->units : 0,
                              .ci_slices = (uint8_t)a.ci_slices_n,
                              .ci_start = compute_start(n, d, gi_id, ci_id),
                              .gi_slices = (uint8_t)a.gi_slices_n,
                              .memory_mib = (uint32_t)a.memory_mib,
                              .sm_n = (uint16_t)a.sm_n,
                              .copy_n = (uint8_t)a.copy_n,
                              .decoder_n = (uint8_t)a.decoder_n,
                              .encoder_n = (uint8_t)a.encoder_n,
                              .jpeg_n = (uint8_t)a.jpeg_n,
                              .ofa_n = (uint8_t)a.ofa_n,
                              .processes_n = count_processes(list, list_n, gi_id, ci_id)};
    memcpy(to->uuid, uuid, strlen(uuid) + 1);
    if (p) {
        mig_compute_name(p, to->ci_slices, to->profile);
    } else { /* profiles may not be asked for without privileges: its kind follows from size and memory */
        struct nvml_gi_profile_v3 like = {.slices_n = a.gi_slices_n, .memory_mib = a.memory_mib};
        char name[32];
        name_profile(&like, 0, f->gpu.memory_mib, name);
        mig_compute_name(&(struct mig_profile){.name = name, .slices = to->gi_slices}, to->ci_slices, to->profile);
    }
    compute_add(gi, to);
    f->migs_n++;
    return true;
}

static int mig_order(const void *a, const void *b)
{
    const struct driver_mig *x = a, *y = b;
    return x->gi != y->gi ? x->gi - y->gi : x->ci - y->ci;
}

bool gpu_migs_read(struct nvml *n, struct nvml_device *d, struct gpu_facts *f, const struct driver_process *list,
                   uint32_t list_n)
{
    uint32_t max_n = 0;
    if (!n->migs_max || !n->mig_by_index || !n->gi_id || !n->ci_id || !n->attributes)
        return true; /* a library from before MIG */
    if (!instances_read(n, d, f))
        return false;
    int code = n->migs_max(d, &max_n);
    for (uint32_t i = 0; code == NVML_OK && i < max_n && i < WALK_MAX && f->migs_n < GPU_MIGS_MAX; i++) {
        struct nvml_device *mig = NULL;
        int found = n->mig_by_index(d, i, &mig);
        if (found == NVML_GPU_IS_LOST || (found == NVML_OK && !mig_read(n, d, mig, f, list, list_n)))
            return false;
    }
    qsort(f->migs, f->migs_n, sizeof f->migs[0], mig_order);
    return code != NVML_GPU_IS_LOST;
}

/* ---- steps ---- */

static int find_instance(struct nvml *n, struct nvml_device *d, uint8_t id, struct nvml_gpu_instance **ret_gi,
                         struct err *e)
{
    if (!n->gi_by_id)
        return err_set(e, E_INVALID, "this driver has no MIG calls");
    return nvml_error(n->gi_by_id(d, id, ret_gi), e, "find GPU instance %u", id);
}

static int set_mode(struct nvml *n, struct nvml_device *d, bool on, struct err *e)
{
    int activation = NVML_OK;
    if (!n->set_mig_mode)
        return err_set(e, E_INVALID, "this driver has no MIG calls");
    /* The call may succeed and the activation wait for a reset or for clients to leave: then pending differs from the mode. */
    return nvml_error(n->set_mig_mode(d, on, &activation), e, "turn MIG %s", on ? "on" : "off");
}

static int create_instance(struct nvml *n, struct nvml_device *d, const struct mig_step *step, uint8_t *ret_id,
                           struct err *e)
{
    struct nvml_placement list[PLACES_MAX] = {{0}}, at = {step->start, 0};
    struct nvml_gpu_instance *gi = NULL;
    struct nvml_gi_info info = {0};
    uint32_t list_n = PLACES_MAX;
    int code = NVML_FUNCTION_NOT_FOUND;
    if (n->gi_create_at && n->gi_placements && n->gi_placements(d, step->profile_id, list, &list_n) == NVML_OK) {
        for (uint32_t i = 0; i < list_n && i < PLACES_MAX; i++)
            if (list[i].start == step->start)
                at.size = list[i].size;
        if (!at.size)
            return err_set(e, E_INVALID, "create a GPU instance of profile %u: it cannot begin at slice %u",
                           step->profile_id, step->start);
        code = n->gi_create_at(d, step->profile_id, &at, &gi);
    } else if (n->gi_create) { /* older drivers choose the place */
        code = n->gi_create(d, step->profile_id, &gi);
    }
    if (code != NVML_OK)
        return nvml_error(code, e, "create a GPU instance of profile %u at slice %u", step->profile_id, step->start);
    code = n->gi_info ? n->gi_info(gi, &info) : NVML_FUNCTION_NOT_FOUND;
    *ret_id = (uint8_t)info.id;
    return nvml_error(code, e, "look at the GPU instance just created");
}

/* NVML's index of a compute instance profile by its width; -1: none. */
static int compute_profile(uint8_t slices)
{
    static const int8_t index_of[9] = {-1, NVML_CI_1, NVML_CI_2, NVML_CI_3, NVML_CI_4,
                                       -1, NVML_CI_6, NVML_CI_7, NVML_CI_8};
    return slices < sizeof index_of ? index_of[slices] : -1;
}

static int create_compute(struct nvml *n, struct nvml_device *d, const struct mig_step *step, struct err *e)
{
    struct nvml_gpu_instance *gi = NULL;
    struct nvml_compute_instance *ci = NULL;
    struct nvml_ci_profile p = {0};
    int r = find_instance(n, d, step->instance_id, &gi, e), index = compute_profile(step->slices);
    if (r < 0)
        return r;
    if (index < 0 || !n->ci_profile || !n->ci_create)
        return err_set(e, E_INVALID, "create a compute instance of %u slices: this driver knows none", step->slices);
    int code = n->ci_profile(gi, (uint32_t)index, NVML_CI_ENGINE_SHARED, &p);
    if (code == NVML_NOT_SUPPORTED && index == NVML_CI_1) /* instances with media engines have a profile of their own */
        code = n->ci_profile(gi, NVML_CI_1_REVISION_1, NVML_CI_ENGINE_SHARED, &p);
    if (code != NVML_OK)
        return nvml_error(code, e, "compute instance of %u slices in GPU instance %u", step->slices, step->instance_id);
    struct nvml_placement at = {step->start, step->slices};
    code = n->ci_create_at ? n->ci_create_at(gi, p.id, &at, &ci) : NVML_FUNCTION_NOT_FOUND;
    if (code == NVML_FUNCTION_NOT_FOUND || code == NVML_NOT_SUPPORTED) /* it chooses the place: whether it is the right one is verified */
        code = n->ci_create(gi, p.id, &ci);
    return nvml_error(code, e, "create a compute instance of %u slices at %u in GPU instance %u", step->slices,
                      step->start, step->instance_id);
}

static int destroy_compute(struct nvml *n, struct nvml_device *d, const struct mig_step *step, struct err *e)
{
    struct nvml_gpu_instance *gi = NULL;
    struct nvml_compute_instance *ci = NULL;
    int r = find_instance(n, d, step->instance_id, &gi, e);
    if (r < 0)
        return r;
    if (!n->ci_by_id || !n->ci_destroy)
        return err_set(e, E_INVALID, "this driver has no MIG calls");
    int code = n->ci_by_id(gi, step->compute_id, &ci);
    if (code == NVML_OK)
        code = n->ci_destroy(ci);
    return nvml_error(code, e, "destroy compute instance %u of GPU instance %u", step->compute_id, step->instance_id);
}

static int destroy_instance(struct nvml *n, struct nvml_device *d, const struct mig_step *step, struct err *e)
{
    struct nvml_gpu_instance *gi = NULL;
    int r = find_instance(n, d, step->instance_id, &gi, e);
    if (r < 0)
        return r;
    return nvml_error(n->gi_destroy ? n->gi_destroy(gi) : NVML_FUNCTION_NOT_FOUND, e, "destroy GPU instance %u",
                      step->instance_id);
}

int gpu_mig_step(struct nvml *n, struct nvml_device *d, const struct mig_step *step, uint8_t *ret_id, struct err *e)
{
    switch (step->kind) {
    case MIG_STEP_MODE_ON:
        return set_mode(n, d, true, e);
    case MIG_STEP_MODE_OFF:
        return set_mode(n, d, false, e);
    case MIG_STEP_DESTROY_CI:
        return destroy_compute(n, d, step, e);
    case MIG_STEP_DESTROY_GI:
        return destroy_instance(n, d, step, e);
    case MIG_STEP_CREATE_GI:
        return create_instance(n, d, step, ret_id, e);
    case MIG_STEP_CREATE_CI:
        return create_compute(n, d, step, e);
    }
    return err_set(e, E_INVALID, "unknown kind of MIG step %d", (int)step->kind);
}
