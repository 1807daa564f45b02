/* driver_nvml_meter.c - what is kept of a GPU between two measurements: its state, what it does not support, handles of its MIG devices */
#include "agent/driver/measure/driver_nvml_measure.h"

struct gpu_meter *gpu_meter_new(struct nvml *n)
{
    struct gpu_meter *k = mem_zero(1, sizeof *k);
    atomic_store(&k->refs, 1);
    k->n = nvml_ref(n);
    return k;
}

struct gpu_meter *gpu_meter_ref(struct gpu_meter *k)
{
    (void)atomic_fetch_add(&k->refs, 1);
    return k;
}

void gpu_meter_unref(struct gpu_meter *k)
{
    if (!k || atomic_fetch_sub(&k->refs, 1) > 1)
        return;
    for (int i = 0; i < MIG_GI_MAX + 1; i++)
        for (int s = 0; s < 2; s++)
            if (k->pairs[i].samples[s])
                (void)k->n->gpm_sample_free(k->pairs[i].samples[s]);
    nvml_unref(k->n);
    free(k);
}

bool meter_ok(struct meter *m, const char *call, int code, bool *ret_unsupported)
{
    if (code == NVML_OK)
        return true;
    measure_error_add(m->out->errors, &m->out->errors_n, METER_ERRORS_MAX, (struct measure_error){call, code, 1});
    if (code == NVML_GPU_IS_LOST)
        m->out->lost = true;
    if (ret_unsupported)
        *ret_unsupported = code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND ||
                           code == NVML_INVALID_ARGUMENT || code == NVML_ARGUMENT_VERSION_MISMATCH;
    return false;
}

/* ORDER  A MIG device's handle is found by walking all of them once; it is good as long as its UUID is there. */
static void walk_migs(struct meter *m)
{
    struct gpu_meter *k = m->kept;
    uint32_t max_n = 0, found_n = 0;
    memset(k->migs, 0, sizeof k->migs);
    if (!m->n->migs_max || !m->n->mig_by_index ||
        !meter_ok(m, "nvmlDeviceGetMaxMigDeviceCount", m->n->migs_max(m->in->device, &max_n), NULL))
        return;
    for (uint32_t i = 0; i < max_n && i < 64 && found_n < GPU_MIGS_MAX && !m->out->lost; i++) {
        struct nvml_device *device = NULL;
        char uuid[NVML_UUID_LENGTH] = "";
        int code = m->n->mig_by_index(m->in->device, i, &device);
        if (code == NVML_NOT_FOUND || !meter_ok(m, "nvmlDeviceGetMigDeviceHandleByIndex", code, NULL) ||
            !meter_ok(m, "nvmlDeviceGetUUID", m->n->uuid(device, uuid, sizeof uuid), NULL) ||
            strlen(uuid) >= sizeof k->migs[0].uuid)
            continue;
        memcpy(k->migs[found_n].uuid, uuid, strlen(uuid) + 1);
        k->migs[found_n++].device = device;
    }
}

static struct nvml_device *mig_known(const struct meter *m, const char *uuid)
{
    for (uint32_t i = 0; i < GPU_MIGS_MAX; i++)
        if (m->kept->migs[i].device && text_equal(m->kept->migs[i].uuid, uuid))
            return m->kept->migs[i].device;
    return NULL;
}

struct nvml_device *meter_mig(struct meter *m, uint32_t at)
{
    return mig_known(m, m->in->migs[at].uuid);
}

void meter_take_up(struct meter *m)
{
    struct gpu_meter *k = m->kept;
    bool all_known = true;
    if (k->is_mig != m->in->is_mig) {
        memset(k->unsupported, 0, sizeof k->unsupported);
        k->fields_unsupported = k->gpm_bad = 0;
        k->no_utilization = k->no_memory_v2 = k->gpm_asked = false;
        k->is_mig = m->in->is_mig;
    }
    for (uint32_t i = 0; i < m->in->migs_n; i++)
        all_known = all_known && mig_known(m, m->in->migs[i].uuid);
    if (!all_known)
        walk_migs(m);
    m->out->board = k->constant;
    for (size_t i = 0; i < sizeof m->in->wanted / sizeof *m->in->wanted; i++)
        m->out->board.present[i] &= m->in->wanted[i];
}
