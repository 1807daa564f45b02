/* client_calls.c - calls that only clients of others make: what exists on other systems or older boards, PCIe details, clock lists */
#include "libnvsim.h"

/* Pairs of answers that Linux servers do not have: driver models (Windows), operation modes and auto boost (before Pascal). */
#define NOT_HERE_CALL(name)                                       \
    int name(struct nvml_device *d, int *ret_now, int *ret_other) \
    {                                                             \
        VIEW_GPU(v, d, NVML_NOT_SUPPORTED);                       \
        return NVML_NOT_SUPPORTED;                                \
    }
NOT_HERE_CALL(nvmlDeviceGetDriverModel)
NOT_HERE_CALL(nvmlDeviceGetDriverModel_v2)
NOT_HERE_CALL(nvmlDeviceGetGpuOperationMode)
NOT_HERE_CALL(nvmlDeviceGetAutoBoostedClocksEnabled)

/* ---- firmware, bus ---- */

/* `text` has room for 64 bytes. All models here run their firmware on the GPU, in the driver's version. */
int nvmlDeviceGetGspFirmwareVersion(struct nvml_device *d, char *text)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    return text_answer(v.node->state->driver_version, text, 64);
}

int nvmlDeviceGetGspFirmwareMode(struct nvml_device *d, uint32_t *on, uint32_t *standard)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!on || !standard)
        return NVML_INVALID_ARGUMENT;
    *on = *standard = 1;
    return NVML_OK;
}

/* Megabits a second of one lane, by generation. */
static uint32_t lane_speed(const struct gpu_model *m)
{
    static const uint32_t speeds[] = {2500, 2500, 5000, 8000, 16000, 32000, 64000};
    return speeds[m->pcie_generation < 7 ? m->pcie_generation : 6];
}

NUMBER_CALL(nvmlDeviceGetBusType, uint32_t, 2) /* PCI Express */
NUMBER_CALL(nvmlDeviceGetIrqNum, uint32_t, 200 + v.gpu) /* as /proc/driver/nvidia/gpus says */
NUMBER_CALL(nvmlDeviceGetPowerSource, uint32_t, 0) /* mains */
NUMBER_CALL(nvmlDeviceGetGpuMaxPcieLinkGeneration, uint32_t, v.model->pcie_generation)
NUMBER_CALL(nvmlDeviceGetPcieLinkMaxSpeed, uint32_t, v.model->pcie_generation) /* an enum that counts generations */
NUMBER_CALL(nvmlDeviceGetPcieSpeed, uint32_t, lane_speed(v.model))

/* Work here has no encoding sessions of its own. */
int nvmlDeviceGetEncoderStats(struct nvml_device *d, uint32_t *sessions_n, uint32_t *frames_s, uint32_t *latency_us)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!sessions_n || !frames_s || !latency_us)
        return NVML_INVALID_ARGUMENT;
    *sessions_n = *frames_s = *latency_us = 0;
    return v.model->encoder_n ? NVML_OK : NVML_NOT_SUPPORTED;
}

/* ---- clocks ---- */

int nvmlDeviceGetDefaultApplicationsClock(struct nvml_device *d, int clock, uint32_t *mhz)
{
    return nvmlDeviceGetApplicationsClock(d, clock, mhz);
}

int nvmlDeviceGetMaxCustomerBoostClock(struct nvml_device *d, int clock, uint32_t *mhz)
{
    return nvmlDeviceGetMaxClockInfo(d, clock, mhz);
}

/* id: 0 now, 1 application target, 2 its default, 3 highest boost */
int nvmlDeviceGetClock(struct nvml_device *d, int clock, int id, uint32_t *mhz)
{
    if (id < 0 || id > 3)
        return NVML_INVALID_ARGUMENT;
    return id == 0 ? nvmlDeviceGetClockInfo(d, clock, mhz) : nvmlDeviceGetMaxClockInfo(d, clock, mhz);
}

/* Two-call protocol. Highest first, `step` down, not below `lowest`. */
static int clock_list(uint32_t highest, uint32_t lowest, uint32_t step, uint32_t *n, uint32_t *list)
{
    uint32_t room = *n, found = 0;
    for (uint32_t mhz = highest; mhz >= lowest && mhz <= highest; mhz -= step) {
        if (found < room)
            list[found] = mhz;
        found++;
    }
    *n = found;
    return found > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

int nvmlDeviceGetSupportedMemoryClocks(struct nvml_device *d, uint32_t *n, uint32_t *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n || (*n && !list))
        return NVML_INVALID_ARGUMENT;
    uint32_t highest = v.model->clock_memory_mhz;
    bool fixed = nvsim_model_is_hbm(v.model) || highest <= 405;
    return clock_list(highest, fixed ? highest : 405, fixed ? highest : highest - 405, n, list);
}

int nvmlDeviceGetSupportedGraphicsClocks(struct nvml_device *d, uint32_t memory_mhz, uint32_t *n, uint32_t *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n || (*n && !list))
        return NVML_INVALID_ARGUMENT;
    if (memory_mhz != v.model->clock_memory_mhz && (nvsim_model_is_hbm(v.model) || memory_mhz != 405))
        return NVML_NOT_FOUND;
    return clock_list(v.model->clock_graphics_mhz, v.model->clock_idle_mhz, 15, n, list);
}
