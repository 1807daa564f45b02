/* client_calls.c - calls that only clients of others make: what exists on other systems or older boards, PCIe details, clock lists */
#include <stdio.h>
#include "libnvsim.h"

#define MEMORY_IDLE_MHZ 405 /* of parts without HBM */

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

/* ---- the InfoROM ---- */

/* object: 0 OEM, 1 ECC, 2 power, 3 dense error log. SOURCE recorded, data/gpu/models.tsv: the last two are "N/A" on these boards. */
int nvmlDeviceGetInforomVersion(struct nvml_device *d, int object, char *text, uint32_t length)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (object < 0 || object > 3)
        return NVML_INVALID_ARGUMENT;
    if (object > 1)
        return NVML_NOT_SUPPORTED;
    uint32_t architecture = v.model->nvml_architecture;
    const char *oem = architecture < NVML_ARCH_AMPERE ? "1.1" : architecture < NVML_ARCH_ADA ? "2.0" : "2.1";
    const char *ecc = architecture < NVML_ARCH_AMPERE ? "5.0" : architecture < NVML_ARCH_HOPPER ? "6.16" : "7.16";
    return text_answer(object == 0 ? oem : ecc, text, length);
}

NUMBER_CALL(nvmlDeviceGetInforomConfigurationChecksum, uint32_t, nvsim_hash(1, v.g.serial, strlen(v.g.serial)))

/* ---- sessions of the encoder and of frame capture: work here opens none ---- */

static int no_sessions(struct nvml_device *d, uint32_t *n)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n)
        return NVML_INVALID_ARGUMENT;
    *n = 0;
    return NVML_OK;
}

int nvmlDeviceGetEncoderSessions(struct nvml_device *d, uint32_t *n, void *list)
{
    return no_sessions(d, n);
}

int nvmlDeviceGetFBCSessions(struct nvml_device *d, uint32_t *n, void *list)
{
    return no_sessions(d, n);
}

int nvmlDeviceGetEncoderStats(struct nvml_device *d, uint32_t *sessions_n, uint32_t *frames_s, uint32_t *latency_us)
{
    if (!frames_s || !latency_us)
        return NVML_INVALID_ARGUMENT;
    *frames_s = *latency_us = 0;
    return no_sessions(d, sessions_n);
}

/* stats: sessions, frames a second, latency in microseconds */
int nvmlDeviceGetFBCStats(struct nvml_device *d, uint32_t stats[3])
{
    if (!stats)
        return NVML_INVALID_ARGUMENT;
    return nvmlDeviceGetEncoderStats(d, &stats[0], &stats[1], &stats[2]);
}

/* type: 0 H.264, 1 HEVC, 2 AV1 */
int nvmlDeviceGetEncoderCapacity(struct nvml_device *d, int type, uint32_t *percent)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!percent || type < 0 || type > 2)
        return NVML_INVALID_ARGUMENT;
    if (!v.model->encoder_n || (type == 2 && v.model->nvml_architecture < NVML_ARCH_ADA))
        return NVML_NOT_SUPPORTED;
    *percent = 100 - v.g.load.encoder_permille / 10;
    return NVML_OK;
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
    bool fixed = nvsim_model_is_hbm(v.model) || highest <= MEMORY_IDLE_MHZ;
    return clock_list(highest, fixed ? highest : MEMORY_IDLE_MHZ, fixed ? highest : highest - MEMORY_IDLE_MHZ, n, list);
}

int nvmlDeviceGetSupportedGraphicsClocks(struct nvml_device *d, uint32_t memory_mhz, uint32_t *n, uint32_t *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n || (*n && !list))
        return NVML_INVALID_ARGUMENT;
    if (memory_mhz != v.model->clock_memory_mhz && (nvsim_model_is_hbm(v.model) || memory_mhz != MEMORY_IDLE_MHZ))
        return NVML_NOT_FOUND;
    return clock_list(v.model->clock_graphics_mhz, v.model->clock_idle_mhz, 15, n, list);
}

#define PSTATES_N 16

/* HBM parts know P0, others also P8; the rest of the answer is "unknown". */
int nvmlDeviceGetSupportedPerformanceStates(struct nvml_device *d, int *states, uint32_t size_bytes)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!states)
        return NVML_INVALID_ARGUMENT;
    if (size_bytes < PSTATES_N * sizeof *states)
        return NVML_INSUFFICIENT_SIZE;
    for (int i = 0; i < PSTATES_N; i++)
        states[i] = NVML_PSTATE_UNKNOWN;
    states[0] = 0;
    if (!nvsim_model_is_hbm(v.model))
        states[1] = 8;
    return NVML_OK;
}

int nvmlDeviceGetMinMaxClockOfPState(struct nvml_device *d, int clock, int state, uint32_t *min_mhz, uint32_t *max_mhz)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!min_mhz || !max_mhz || clock < NVML_CLOCK_GRAPHICS || clock > NVML_CLOCK_VIDEO || state < 0 || state >= PSTATES_N)
        return NVML_INVALID_ARGUMENT;
    bool hbm = nvsim_model_is_hbm(v.model), idle = state == 8 && !hbm;
    if (state != 0 && !idle)
        return NVML_NOT_SUPPORTED;
    if (clock == NVML_CLOCK_MEMORY)
        *min_mhz = *max_mhz = idle ? MEMORY_IDLE_MHZ : v.model->clock_memory_mhz;
    else
        *min_mhz = v.model->clock_idle_mhz, *max_mhz = idle ? v.model->clock_idle_mhz : v.model->clock_graphics_mhz;
    return NVML_OK;
}

/* ---- what a node might have and does not: units, interface cards, excluded GPUs; GPUs that are drained ---- */

static int none_of_them(uint32_t *n)
{
    int code;
    if (!node_get(&code))
        return code;
    if (!n)
        return NVML_INVALID_ARGUMENT;
    *n = 0;
    return NVML_OK;
}

int nvmlUnitGetCount(uint32_t *n)
{
    return none_of_them(n);
}

int nvmlGetExcludedDeviceCount(uint32_t *n)
{
    return none_of_them(n);
}

int nvmlGetExcludedDeviceInfoByIndex(uint32_t index, void *info)
{
    int code;
    return node_get(&code) ? NVML_INVALID_ARGUMENT : code;
}

int nvmlSystemGetHicVersion(uint32_t *n, void *list)
{
    return none_of_them(n);
}

int nvmlDeviceQueryDrainState(const struct nvml_pci_info *at, int *draining)
{
    int code;
    if (!node_get(&code))
        return code;
    if (!at || !draining)
        return NVML_INVALID_ARGUMENT;
    char bus_id[32];
    struct nvml_device *d;
    (void)snprintf(bus_id, sizeof bus_id, "%x:%x:%x.0", at->domain, at->bus, at->device);
    code = nvmlDeviceGetHandleByPciBusId_v2(bus_id, &d);
    if (code == NVML_OK)
        *draining = NVML_DISABLED;
    return code;
}
