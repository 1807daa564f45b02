/* nvml.h - libnvidia-ml.so.1, opened at run time: NVIDIA's or libnvsim, this program cannot tell
 *
 * SHAPE  one pointer a function; NULL: this library is older and lacks it, the feature is absent. Where a function has several suffixes the
 *        newest that the library has is taken; where they fill different structs each has its own pointer.
 * OWNER  counted; the last reference shuts the library down and unloads it, in whichever thread that is. Calls may come from any thread.
 * SOURCE NVML API 13 (names), container toolkit (search paths), gpu/nvml_calls.h (parameters).
 */
#ifndef AGENT_NVML_H
#define AGENT_NVML_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "base/err.h"
#include "gpu/nvml_calls.h"

#define NVML_FUNCTION_TYPE(type, name, parameters) typedef type name##_fn parameters;
NVML_CALLS(NVML_FUNCTION_TYPE)
#undef NVML_FUNCTION_TYPE

/* X(pointer, its type, names from new to old that have this type; a name alone may be given twice) */
#define NVML_SYMBOLS(X)                                                                                                          \
    X(init, nvmlInit_v2, "nvmlInit_v2", "nvmlInit")                                                                              \
    X(shutdown, nvmlShutdown, "nvmlShutdown", NULL)                                                                              \
    X(driver_version, nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", NULL)                                            \
    X(library_version, nvmlSystemGetNVMLVersion, "nvmlSystemGetNVMLVersion", NULL)                                               \
    X(cuda_version, nvmlSystemGetCudaDriverVersion_v2, "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion")    \
    X(process_name, nvmlSystemGetProcessName, "nvmlSystemGetProcessName", NULL)                                                  \
    X(count, nvmlDeviceGetCount_v2, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                                               \
    X(by_index, nvmlDeviceGetHandleByIndex_v2, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")                    \
    X(minor, nvmlDeviceGetMinorNumber, "nvmlDeviceGetMinorNumber", NULL)                                                         \
    X(name, nvmlDeviceGetName, "nvmlDeviceGetName", NULL)                                                                        \
    X(uuid, nvmlDeviceGetUUID, "nvmlDeviceGetUUID", NULL)                                                                        \
    X(serial, nvmlDeviceGetSerial, "nvmlDeviceGetSerial", NULL)                                                                  \
    X(brand, nvmlDeviceGetBrand, "nvmlDeviceGetBrand", NULL)                                                                     \
    X(architecture, nvmlDeviceGetArchitecture, "nvmlDeviceGetArchitecture", NULL)                                                \
    X(compute_capability, nvmlDeviceGetCudaComputeCapability, "nvmlDeviceGetCudaComputeCapability", NULL)                        \
    X(pci, nvmlDeviceGetPciInfo_v3, "nvmlDeviceGetPciInfo_v3", NULL)                                                             \
    X(pci_old, nvmlDeviceGetPciInfo_v2, "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo")                                       \
    X(pci_ext, nvmlDeviceGetPciInfoExt, "nvmlDeviceGetPciInfoExt", NULL)                                                         \
    X(common_ancestor, nvmlDeviceGetTopologyCommonAncestor, "nvmlDeviceGetTopologyCommonAncestor", NULL)                         \
    X(fabric, nvmlDeviceGetGpuFabricInfo, "nvmlDeviceGetGpuFabricInfo", NULL)                                                    \
    X(fabric_versioned, nvmlDeviceGetGpuFabricInfoV, "nvmlDeviceGetGpuFabricInfoV", NULL)                                        \
    X(set_compute_mode, nvmlDeviceSetComputeMode, "nvmlDeviceSetComputeMode", NULL)                                              \
    X(memory, nvmlDeviceGetMemoryInfo, "nvmlDeviceGetMemoryInfo", NULL)                                                          \
    X(memory_v2, nvmlDeviceGetMemoryInfo_v2, "nvmlDeviceGetMemoryInfo_v2", NULL)                                                 \
    X(field_values, nvmlDeviceGetFieldValues, "nvmlDeviceGetFieldValues", NULL)                                                  \
    X(compute_processes, nvmlDeviceGetComputeRunningProcesses_v3, "nvmlDeviceGetComputeRunningProcesses_v3",                     \
      "nvmlDeviceGetComputeRunningProcesses_v2")                                                                                 \
    X(compute_processes_v1, nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses", NULL)                  \
    X(graphics_processes, nvmlDeviceGetGraphicsRunningProcesses_v3, "nvmlDeviceGetGraphicsRunningProcesses_v3",                  \
      "nvmlDeviceGetGraphicsRunningProcesses_v2")                                                                                \
    X(graphics_processes_v1, nvmlDeviceGetGraphicsRunningProcesses, "nvmlDeviceGetGraphicsRunningProcesses", NULL)               \
    X(mps_processes, nvmlDeviceGetMPSComputeRunningProcesses_v3, "nvmlDeviceGetMPSComputeRunningProcesses_v3",                   \
      "nvmlDeviceGetMPSComputeRunningProcesses_v2")                                                                              \
    X(mps_processes_v1, nvmlDeviceGetMPSComputeRunningProcesses, "nvmlDeviceGetMPSComputeRunningProcesses", NULL)                \
    X(nvlink_state, nvmlDeviceGetNvLinkState, "nvmlDeviceGetNvLinkState", NULL)                                                  \
    X(nvlink_remote_pci, nvmlDeviceGetNvLinkRemotePciInfo_v2, "nvmlDeviceGetNvLinkRemotePciInfo_v2", NULL)                       \
    X(nvlink_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType, "nvmlDeviceGetNvLinkRemoteDeviceType", NULL)                      \
    X(mig_mode, nvmlDeviceGetMigMode, "nvmlDeviceGetMigMode", NULL)                                                              \
    X(set_mig_mode, nvmlDeviceSetMigMode, "nvmlDeviceSetMigMode", NULL)                                                          \
    X(migs_max, nvmlDeviceGetMaxMigDeviceCount, "nvmlDeviceGetMaxMigDeviceCount", NULL)                                          \
    X(mig_by_index, nvmlDeviceGetMigDeviceHandleByIndex, "nvmlDeviceGetMigDeviceHandleByIndex", NULL)                            \
    X(attributes, nvmlDeviceGetAttributes_v2, "nvmlDeviceGetAttributes_v2", NULL)                                                \
    X(gi_id, nvmlDeviceGetGpuInstanceId, "nvmlDeviceGetGpuInstanceId", NULL)                                                     \
    X(ci_id, nvmlDeviceGetComputeInstanceId, "nvmlDeviceGetComputeInstanceId", NULL)                                             \
    X(gi_profile, nvmlDeviceGetGpuInstanceProfileInfo, "nvmlDeviceGetGpuInstanceProfileInfo", NULL)                              \
    X(gi_profile_versioned, nvmlDeviceGetGpuInstanceProfileInfoV, "nvmlDeviceGetGpuInstanceProfileInfoV", NULL)                  \
    X(gi_placements, nvmlDeviceGetGpuInstancePossiblePlacements_v2, "nvmlDeviceGetGpuInstancePossiblePlacements_v2",             \
      "nvmlDeviceGetGpuInstancePossiblePlacements")                                                                              \
    X(gi_create, nvmlDeviceCreateGpuInstance, "nvmlDeviceCreateGpuInstance", NULL)                                               \
    X(gi_create_at, nvmlDeviceCreateGpuInstanceWithPlacement, "nvmlDeviceCreateGpuInstanceWithPlacement", NULL)                  \
    X(gis, nvmlDeviceGetGpuInstances, "nvmlDeviceGetGpuInstances", NULL)                                                         \
    X(gi_by_id, nvmlDeviceGetGpuInstanceById, "nvmlDeviceGetGpuInstanceById", NULL)                                              \
    X(gi_info, nvmlGpuInstanceGetInfo, "nvmlGpuInstanceGetInfo", NULL)                                                           \
    X(gi_destroy, nvmlGpuInstanceDestroy, "nvmlGpuInstanceDestroy", NULL)                                                        \
    X(ci_profile, nvmlGpuInstanceGetComputeInstanceProfileInfo, "nvmlGpuInstanceGetComputeInstanceProfileInfo", NULL)            \
    X(ci_create, nvmlGpuInstanceCreateComputeInstance, "nvmlGpuInstanceCreateComputeInstance", NULL)                             \
    X(ci_create_at, nvmlGpuInstanceCreateComputeInstanceWithPlacement, "nvmlGpuInstanceCreateComputeInstanceWithPlacement",      \
      NULL)                                                                                                                      \
    X(ci_by_id, nvmlGpuInstanceGetComputeInstanceById, "nvmlGpuInstanceGetComputeInstanceById", NULL)                            \
    X(ci_info, nvmlComputeInstanceGetInfo_v2, "nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo")                     \
    X(ci_destroy, nvmlComputeInstanceDestroy, "nvmlComputeInstanceDestroy", NULL)                                                \
    X(event_set_create, nvmlEventSetCreate, "nvmlEventSetCreate", NULL)                                                          \
    X(event_set_free, nvmlEventSetFree, "nvmlEventSetFree", NULL)                                                                \
    X(event_wait, nvmlEventSetWait_v2, "nvmlEventSetWait_v2", "nvmlEventSetWait")                                                \
    X(event_types, nvmlDeviceGetSupportedEventTypes, "nvmlDeviceGetSupportedEventTypes", NULL)                                   \
    X(event_register, nvmlDeviceRegisterEvents, "nvmlDeviceRegisterEvents", NULL)                                                \
    X(process_utilization, nvmlDeviceGetProcessUtilization, "nvmlDeviceGetProcessUtilization", NULL)                             \
    X(utilization, nvmlDeviceGetUtilizationRates, "nvmlDeviceGetUtilizationRates", NULL)                                         \
    X(encoder_utilization, nvmlDeviceGetEncoderUtilization, "nvmlDeviceGetEncoderUtilization", NULL)                             \
    X(decoder_utilization, nvmlDeviceGetDecoderUtilization, "nvmlDeviceGetDecoderUtilization", NULL)                             \
    X(temperature, nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature", NULL)                                                   \
    X(temperature_versioned, nvmlDeviceGetTemperatureV, "nvmlDeviceGetTemperatureV", NULL)                                       \
    X(temperature_threshold, nvmlDeviceGetTemperatureThreshold, "nvmlDeviceGetTemperatureThreshold", NULL)                       \
    X(temperature_margin, nvmlDeviceGetMarginTemperature, "nvmlDeviceGetMarginTemperature", NULL)                                \
    X(power, nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", NULL)                                                           \
    X(power_limit, nvmlDeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit", NULL)                                     \
    X(power_limit_set, nvmlDeviceGetPowerManagementLimit, "nvmlDeviceGetPowerManagementLimit", NULL)                             \
    X(power_limit_default, nvmlDeviceGetPowerManagementDefaultLimit, "nvmlDeviceGetPowerManagementDefaultLimit", NULL)           \
    X(power_limit_range, nvmlDeviceGetPowerManagementLimitConstraints, "nvmlDeviceGetPowerManagementLimitConstraints", NULL)     \
    X(energy, nvmlDeviceGetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption", NULL)                                  \
    X(performance_state, nvmlDeviceGetPerformanceState, "nvmlDeviceGetPerformanceState", NULL)                                   \
    X(clock, nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo", NULL)                                                             \
    X(clock_max, nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo", NULL)                                                   \
    X(clock_set, nvmlDeviceGetApplicationsClock, "nvmlDeviceGetApplicationsClock", NULL)                                         \
    X(clock_reasons, nvmlDeviceGetCurrentClocksEventReasons, "nvmlDeviceGetCurrentClocksEventReasons",                           \
      "nvmlDeviceGetCurrentClocksThrottleReasons")                                                                               \
    X(violation, nvmlDeviceGetViolationStatus, "nvmlDeviceGetViolationStatus", NULL)                                             \
    X(remapped_rows, nvmlDeviceGetRemappedRows, "nvmlDeviceGetRemappedRows", NULL)                                               \
    X(retired_pages, nvmlDeviceGetRetiredPages, "nvmlDeviceGetRetiredPages", NULL)                                               \
    X(retired_pending, nvmlDeviceGetRetiredPagesPendingStatus, "nvmlDeviceGetRetiredPagesPendingStatus", NULL)                   \
    X(ecc_mode, nvmlDeviceGetEccMode, "nvmlDeviceGetEccMode", NULL)                                                              \
    X(pcie_replays, nvmlDeviceGetPcieReplayCounter, "nvmlDeviceGetPcieReplayCounter", NULL)                                      \
    X(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, "nvmlDeviceGetCurrPcieLinkGeneration", NULL)                         \
    X(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, "nvmlDeviceGetCurrPcieLinkWidth", NULL)                                        \
    X(pcie_generation_max, nvmlDeviceGetMaxPcieLinkGeneration, "nvmlDeviceGetMaxPcieLinkGeneration", NULL)                       \
    X(pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth, "nvmlDeviceGetMaxPcieLinkWidth", NULL)                                      \
    X(fan, nvmlDeviceGetFanSpeed, "nvmlDeviceGetFanSpeed", NULL)                                                                 \
    X(persistence_mode, nvmlDeviceGetPersistenceMode, "nvmlDeviceGetPersistenceMode", NULL)                                      \
    X(compute_mode, nvmlDeviceGetComputeMode, "nvmlDeviceGetComputeMode", NULL)                                                  \
    X(bar1, nvmlDeviceGetBAR1MemoryInfo, "nvmlDeviceGetBAR1MemoryInfo", NULL)                                                    \
    X(gpm_support, nvmlGpmQueryDeviceSupport, "nvmlGpmQueryDeviceSupport", NULL)                                                 \
    X(gpm_sample_new, nvmlGpmSampleAlloc, "nvmlGpmSampleAlloc", NULL)                                                            \
    X(gpm_sample_free, nvmlGpmSampleFree, "nvmlGpmSampleFree", NULL)                                                             \
    X(gpm_sample, nvmlGpmSampleGet, "nvmlGpmSampleGet", NULL)                                                                    \
    X(gpm_mig_sample, nvmlGpmMigSampleGet, "nvmlGpmMigSampleGet", NULL)                                                          \
    X(gpm_metrics, nvmlGpmMetricsGet, "nvmlGpmMetricsGet", NULL)

struct nvml {
    atomic_uint refs;
    void *handle;
    bool started;
    uint64_t device, inode; /* of the file that was loaded, and its age: a driver that was replaced meanwhile is loaded anew */
    int64_t modified_ns;
    char path[256]; /* as it was given to dlopen */
#define X(pointer, type, newest, older) type##_fn *pointer;
    NVML_SYMBOLS(X)
#undef X
    pthread_mutex_t gpm_lock; /* one thread at a time takes performance samples */
    struct nvml_event_set *events; /* made with the library where it can; freed with it */
};

/* Open and start. `path`: the library, or NULL for the places below `driver_root`, as we see it (NULL, "" or "/": this system's), where
 * drivers put it, and then the loader's.
 * *n is NULL, or what an earlier attempt left there: the loaded library of a driver that did not start. It is tried again, so that many
 * attempts do not load it many times, or dropped when its file has changed. On failure *n is such a thing or NULL.
 * May block for seconds. -E_NOTFOUND: no library or no driver loaded (a later call may succeed); -E_CONFLICT: library and kernel module are
 * of different versions; -E_DENIED: no permission; -E_INVALID: not such a library. */
int nvml_open(const char *path, const char *driver_root, struct nvml **n, struct err *e);
struct nvml *nvml_ref(struct nvml *n);
void nvml_unref(struct nvml *n); /* NULL-safe */

/* What the library answered, as one of ours (driver.h lists them); 0 for NVML_OK. */
int nvml_error(int code, struct err *e, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
