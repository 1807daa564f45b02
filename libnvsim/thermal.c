/* thermal.c - calls about temperature, fans, power, clocks and why they are not higher */
#include "libnvsim.h"

int32_t temperature_of(const struct view *v)
{
    return (int32_t)(v->g.temperature_c + 0.5);
}

int nvmlDeviceGetTemperature(struct nvml_device *d, int sensor, uint32_t *celsius)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!celsius || sensor != 0)
        return NVML_INVALID_ARGUMENT;
    *celsius = (uint32_t)temperature_of(&v);
    return NVML_OK;
}

int nvmlDeviceGetTemperatureV(struct nvml_device *d, struct nvml_temperature *temperature)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!temperature)
        return NVML_INVALID_ARGUMENT;
    if (temperature->version != NVML_TEMPERATURE_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (temperature->sensor != 0)
        return NVML_INVALID_ARGUMENT;
    temperature->celsius = temperature_of(&v);
    return NVML_OK;
}

int nvmlDeviceGetTemperatureThreshold(struct nvml_device *d, int threshold, uint32_t *celsius)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!celsius || threshold < NVML_THRESHOLD_SHUTDOWN || threshold > NVML_THRESHOLD_GPS_NOW)
        return NVML_INVALID_ARGUMENT;
    switch (threshold) {
    case NVML_THRESHOLD_SHUTDOWN:
        *celsius = v.model->temperature_shutdown;
        return NVML_OK;
    case NVML_THRESHOLD_SLOWDOWN:
        *celsius = v.model->temperature_slowdown;
        return NVML_OK;
    case NVML_THRESHOLD_GPU_MAX:
        *celsius = v.model->temperature_max;
        return NVML_OK;
    case NVML_THRESHOLD_MEMORY_MAX:
        *celsius = 95;
        return nvsim_model_is_hbm(v.model) ? NVML_OK : NVML_NOT_SUPPORTED;
    default:
        return NVML_NOT_SUPPORTED;
    }
}

int nvmlDeviceGetMarginTemperature(struct nvml_device *d, struct nvml_margin_temperature *margin)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!margin)
        return NVML_INVALID_ARGUMENT;
    if (margin->version != NVML_MARGIN_TEMPERATURE_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (v.model->nvml_architecture < NVML_ARCH_ADA)
        return NVML_NOT_SUPPORTED;
    margin->celsius = v.model->temperature_max - temperature_of(&v);
    return NVML_OK;
}

NUMBER_CALL(nvmlDeviceGetNumFans, uint32_t, v.model->fans_n)

/* 30 percent while it is cool, all at the temperature where clocks fall. */
int nvmlDeviceGetFanSpeed_v2(struct nvml_device *d, uint32_t fan, uint32_t *percent)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (v.model->fans_n == 0)
        return NVML_NOT_SUPPORTED;
    if (!percent || fan >= v.model->fans_n)
        return NVML_INVALID_ARGUMENT;
    int32_t over = temperature_of(&v) - 45, range = v.model->temperature_slowdown - 45;
    int32_t speed = over <= 0 || range <= 0 ? 30 : 30 + 70 * over / range;
    *percent = speed > 100 ? 100 : (uint32_t)speed;
    return NVML_OK;
}

int nvmlDeviceGetFanSpeed(struct nvml_device *d, uint32_t *percent)
{
    return nvmlDeviceGetFanSpeed_v2(d, 0, percent);
}

/* ---- numbers of a physical GPU ---- */

#define REASONS_SUPPORTED                                                                                                \
    (NVML_CLOCK_IDLE | NVML_CLOCK_APPLICATION | NVML_CLOCK_SW_POWER_CAP | NVML_CLOCK_HW_SLOWDOWN | NVML_CLOCK_SW_THERMAL | \
     NVML_CLOCK_HW_THERMAL | NVML_CLOCK_HW_POWER_BRAKE)

/* HBM parts stay in P0; others fall to P8 without work. */
static int pstate_of(const struct view *v)
{
    return v->g.load.processes_n || nvsim_model_is_hbm(v->model) ? 0 : 8;
}

NUMBER_CALL(nvmlDeviceGetPowerUsage, uint32_t, v.g.power_average_mw + 0.5)
NUMBER_CALL(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, v.g.energy_mj)
NUMBER_CALL(nvmlDeviceGetEnforcedPowerLimit, uint32_t, v.g.power_limit_mw)
NUMBER_CALL(nvmlDeviceGetPowerManagementMode, int, NVML_ENABLED)
NUMBER_CALL(nvmlDeviceGetPowerManagementLimit, uint32_t, v.g.power_limit_mw)
NUMBER_CALL(nvmlDeviceGetPowerManagementDefaultLimit, uint32_t, v.model->power_default_mw)
NUMBER_CALL(nvmlDeviceGetPowerState, int, pstate_of(&v))
NUMBER_CALL(nvmlDeviceGetPerformanceState, int, pstate_of(&v))
NUMBER_CALL(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, v.g.clock_reasons)
NUMBER_CALL(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, v.g.clock_reasons)
NUMBER_CALL(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, REASONS_SUPPORTED)
NUMBER_CALL(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, REASONS_SUPPORTED)

/* ---- power limit ---- */

int nvmlDeviceGetPowerManagementLimitConstraints(struct nvml_device *d, uint32_t *min_mw, uint32_t *max_mw)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!min_mw || !max_mw)
        return NVML_INVALID_ARGUMENT;
    *min_mw = v.model->power_min_mw;
    *max_mw = v.model->power_max_mw;
    return NVML_OK;
}

int nvmlDeviceSetPowerManagementLimit(struct nvml_device *d, uint32_t mw)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    struct edit e;
    if (mw < v.model->power_min_mw || mw > v.model->power_max_mw)
        return NVML_INVALID_ARGUMENT;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    e.g->power_limit_mw = mw;
    edit_commit(&e);
    return NVML_OK;
}

int nvmlDeviceSetPowerManagementLimit_v2(struct nvml_device *d, struct nvml_power_value *value)
{
    if (!value)
        return NVML_INVALID_ARGUMENT;
    if (value->version != NVML_POWER_VALUE_V2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (value->scope > NVML_POWER_MEMORY)
        return NVML_INVALID_ARGUMENT;
    return value->scope == NVML_POWER_GPU ? nvmlDeviceSetPowerManagementLimit(d, value->power_mw) : NVML_NOT_SUPPORTED;
}

/* ---- clocks ---- */

static int clock_answer(struct nvml_device *d, int clock, bool highest, uint32_t *mhz)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!mhz || clock < NVML_CLOCK_GRAPHICS || clock > NVML_CLOCK_VIDEO)
        return NVML_INVALID_ARGUMENT;
    uint32_t graphics = highest ? v.model->clock_graphics_mhz : v.g.clock_mhz;
    if (clock == NVML_CLOCK_MEMORY)
        *mhz = highest ? v.model->clock_memory_mhz : v.g.clock_memory_mhz;
    else
        *mhz = clock == NVML_CLOCK_VIDEO ? graphics * 9 / 10 : graphics; /* the video clock is a fixed part of it */
    return NVML_OK;
}

int nvmlDeviceGetClockInfo(struct nvml_device *d, int clock, uint32_t *mhz)
{
    return clock_answer(d, clock, false, mhz);
}

int nvmlDeviceGetMaxClockInfo(struct nvml_device *d, int clock, uint32_t *mhz)
{
    return clock_answer(d, clock, true, mhz);
}

int nvmlDeviceGetApplicationsClock(struct nvml_device *d, int clock, uint32_t *mhz)
{
    return clock == NVML_CLOCK_VIDEO ? NVML_NOT_SUPPORTED : clock_answer(d, clock, true, mhz);
}

static int clocks_lock(struct nvml_device *d, uint32_t min_mhz, uint32_t max_mhz)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    struct edit e;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    e.g->clock_lock_min_mhz = min_mhz;
    e.g->clock_lock_max_mhz = max_mhz < v.model->clock_graphics_mhz ? max_mhz : v.model->clock_graphics_mhz;
    if (max_mhz == 0)
        e.g->clock_lock_max_mhz = 0;
    edit_commit(&e);
    return NVML_OK;
}

int nvmlDeviceSetGpuLockedClocks(struct nvml_device *d, uint32_t min_mhz, uint32_t max_mhz)
{
    return min_mhz > max_mhz || max_mhz == 0 ? NVML_INVALID_ARGUMENT : clocks_lock(d, min_mhz, max_mhz);
}

int nvmlDeviceResetGpuLockedClocks(struct nvml_device *d)
{
    return clocks_lock(d, 0, 0);
}

int nvmlDeviceGetViolationStatus(struct nvml_device *d, int policy, struct nvml_violation_time *time)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!time || policy < NVML_VIOLATION_POWER || policy > NVML_VIOLATION_BASE_CLOCKS)
        return NVML_INVALID_ARGUMENT;
    double us = policy == NVML_VIOLATION_POWER     ? v.g.power_violation_us
                : policy == NVML_VIOLATION_THERMAL ? v.g.thermal_violation_us
                : policy == NVML_VIOLATION_BOARD   ? v.g.brake_violation_us
                                                   : 0;
    *time = (struct nvml_violation_time){.reference_us = (uint64_t)v.now_us, .violation_ns = (uint64_t)(us * 1000)};
    return NVML_OK;
}
