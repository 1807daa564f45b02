/* memory.c - calls about memory and utilisation of a GPU or MIG device */
#include "libnvsim.h"

#define MIB (1ull << 20)
#define SAMPLE_PERIOD_US 166667 /* the driver samples utilisation six times a second */
#define SAMPLES_MAX 100         /* of its sample buffer */

struct memory { /* MiB */
    uint64_t total, reserved, used;
};

static struct memory memory_of(const struct view *v)
{
    struct memory m = {.total = v->is_mig ? v->profile->memory_mib : v->model->memory_mib,
                       .reserved = v->is_mig ? 0 : v->model->reserved_mib,
                       .used = v->load->memory_mib};
    return m;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *memory)
{
    VIEW_DEVICE(v, d);
    if (!memory)
        return NVML_INVALID_ARGUMENT;
    struct memory m = memory_of(&v);
    *memory = (struct nvml_memory){.total_bytes = m.total * MIB,
                                   .used_bytes = (m.used + m.reserved) * MIB,
                                   .free_bytes = (m.total - m.used - m.reserved) * MIB};
    return NVML_OK;
}

int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d, struct nvml_memory_v2 *memory)
{
    VIEW_DEVICE(v, d);
    if (!memory)
        return NVML_INVALID_ARGUMENT;
    if (memory->version != NVML_MEMORY_V2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct memory m = memory_of(&v);
    memory->total_bytes = m.total * MIB;
    memory->reserved_bytes = m.reserved * MIB;
    memory->used_bytes = m.used * MIB;
    memory->free_bytes = (m.total - m.used - m.reserved) * MIB;
    return NVML_OK;
}

int nvmlDeviceGetBAR1MemoryInfo(struct nvml_device *d, struct nvml_bar1_memory *memory)
{
    VIEW_DEVICE(v, d);
    if (!memory)
        return NVML_INVALID_ARGUMENT;
    /* Each context maps 2 MiB of it; a MIG device has its share. */
    uint64_t total = 1ull << v.model->bar1_mib_log2, used = 1 + 2ull * v.load->processes_n;
    if (v.is_mig)
        total = total * v.instance->units / v.model->mig_units;
    used = used > total ? total : used;
    *memory = (struct nvml_bar1_memory){.total_bytes = total * MIB, .used_bytes = used * MIB, .free_bytes = (total - used) * MIB};
    return NVML_OK;
}

/* ---- utilisation: not on MIG devices, nor on the GPU while MIG is on ---- */

static int utilization_view(const struct nvml_device *d, struct view *v)
{
    int code = view_gpu(d, v, NVML_NOT_SUPPORTED);
    return code == NVML_OK && v->g.mig.mode ? NVML_NOT_SUPPORTED : code;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *rates)
{
    struct view v;
    int code = utilization_view(d, &v);
    if (code != NVML_OK)
        return code;
    if (!rates)
        return NVML_INVALID_ARGUMENT;
    rates->gpu_percent = (v.load->sm_permille + 5) / 10;
    rates->memory_percent = (v.load->memory_permille + 5) / 10;
    return NVML_OK;
}

/* load: per mille of the view `v`. SOURCE recorded: GPUs without JPEG engines or OFA answer 0, too; work here never uses them. */
#define ENGINE_CALL(name, load)                                                  \
    int name(struct nvml_device *d, uint32_t *percent, uint32_t *period_us)      \
    {                                                                            \
        struct view v;                                                           \
        int code = utilization_view(d, &v);                                      \
        if (code != NVML_OK)                                                     \
            return code;                                                         \
        if (!percent || !period_us)                                              \
            return NVML_INVALID_ARGUMENT;                                        \
        *percent = ((load) + 5) / 10;                                            \
        *period_us = SAMPLE_PERIOD_US;                                           \
        return NVML_OK;                                                          \
    }
ENGINE_CALL(nvmlDeviceGetEncoderUtilization, v.load->encoder_permille)
ENGINE_CALL(nvmlDeviceGetDecoderUtilization, v.load->decoder_permille)
ENGINE_CALL(nvmlDeviceGetJpgUtilization, 0)
ENGINE_CALL(nvmlDeviceGetOfaUtilization, 0)

/* ---- the driver's sample buffers: the history of the load, read at fixed moments ---- */

static uint32_t sample_value(const struct nvsim_point *p, int type)
{
    switch (type) {
    case NVML_SAMPLE_POWER:
        return p->power_mw;
    case NVML_SAMPLE_GPU:
        return (p->sm_permille + 5u) / 10;
    case NVML_SAMPLE_MEMORY:
        return (p->memory_permille + 5u) / 10;
    case NVML_SAMPLE_ENCODER:
        return (p->encoder_permille + 5u) / 10;
    case NVML_SAMPLE_DECODER:
        return (p->decoder_permille + 5u) / 10;
    case NVML_SAMPLE_PROCESSOR_CLOCK:
        return p->clock_mhz;
    case NVML_SAMPLE_MEMORY_CLOCK:
        return p->clock_memory_mhz;
    default:
        return 0;
    }
}

int nvmlDeviceGetSamples(struct nvml_device *d, int type, unsigned long long last_seen_us, int *value_type, uint32_t *n,
                         struct nvml_sample *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!value_type || !n || type < NVML_SAMPLE_POWER || type > NVML_SAMPLE_OFA)
        return NVML_INVALID_ARGUMENT;
    bool utilization = type >= NVML_SAMPLE_GPU && type <= NVML_SAMPLE_DECODER;
    if (type >= NVML_SAMPLE_MODULE_POWER || (utilization && v.g.mig.mode))
        return NVML_NOT_SUPPORTED;
    *value_type = NVML_VALUE_U32;
    if (!list) { /* asks how large the buffer is */
        *n = SAMPLES_MAX;
        return NVML_OK;
    }
    int64_t last = v.now_us / SAMPLE_PERIOD_US, first = last - SAMPLES_MAX + 1, oldest = v.node->state->created_us;
    if (first * SAMPLE_PERIOD_US < oldest)
        first = oldest / SAMPLE_PERIOD_US + 1;
    if (last_seen_us < INT64_MAX && first * SAMPLE_PERIOD_US <= (int64_t)last_seen_us)
        first = (int64_t)last_seen_us / SAMPLE_PERIOD_US + 1;
    if (last_seen_us >= INT64_MAX || first > last)
        return NVML_NOT_FOUND;
    uint32_t found = 0;
    for (int64_t i = first; i <= last && found < *n; i++, found++) {
        struct nvsim_point p = nvsim_physics_at(&v.g, i * SAMPLE_PERIOD_US);
        list[found] = (struct nvml_sample){.timestamp_us = (uint64_t)(i * SAMPLE_PERIOD_US), .value.u32 = sample_value(&p, type)};
    }
    *n = found;
    return NVML_OK;
}
