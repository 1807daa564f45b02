/* nvml_calls.h - the functions of libnvidia-ml.so.1, one line each
 *
 *     NVML_CALLS(X)   X(type it returns, name, parameters)
 *
 * The agent makes pointers of the lines that it looks up, libnvsim makes prototypes of all of them (NVML_DECLARE). The same function
 * under several suffixes may fill different structs: the parameters of each line are those of that name.
 * SHAPE  `int` results are enum nvml_code; `int *` parameters are C enums of the library (gpu/nvml.h) or plain numbers.
 * SOURCE NVML API 13.
 */
#ifndef GPU_NVML_CALLS_H
#define GPU_NVML_CALLS_H
#include "gpu/nvml.h"

/* 5.2: start and end, the system, identity, topology */
#define NVML_CALLS_SYSTEM(X)                                                                                            \
    X(int, nvmlInit, (void))                                                                                            \
    X(int, nvmlInit_v2, (void))                                                                                         \
    X(int, nvmlInitWithFlags, (uint32_t flags))                                                                         \
    X(int, nvmlShutdown, (void))                                                                                        \
    X(const char *, nvmlErrorString, (int code))                                                                        \
    X(int, nvmlSystemGetDriverVersion, (char *text, uint32_t length))                                                   \
    X(int, nvmlSystemGetNVMLVersion, (char *text, uint32_t length))                                                     \
    X(int, nvmlSystemGetCudaDriverVersion, (int *version))                                                              \
    X(int, nvmlSystemGetCudaDriverVersion_v2, (int *version))                                                           \
    X(int, nvmlSystemGetProcessName, (uint32_t pid, char *text, uint32_t length))                                       \
    X(int, nvmlSystemGetTopologyGpuSet, (uint32_t cpu, uint32_t *n, struct nvml_device **list))                         \
    X(int, nvmlDeviceGetCount, (uint32_t *n))                                                                           \
    X(int, nvmlDeviceGetCount_v2, (uint32_t *n))                                                                        \
    X(int, nvmlDeviceGetHandleByIndex, (uint32_t index, struct nvml_device **device))                                   \
    X(int, nvmlDeviceGetHandleByIndex_v2, (uint32_t index, struct nvml_device **device))                                \
    X(int, nvmlDeviceGetHandleByUUID, (const char *uuid, struct nvml_device **device))                                  \
    X(int, nvmlDeviceGetHandleByUUIDV, (const struct nvml_uuid *uuid, struct nvml_device **device))                     \
    X(int, nvmlDeviceGetHandleByPciBusId, (const char *bus_id, struct nvml_device **device))                            \
    X(int, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, struct nvml_device **device))                         \
    X(int, nvmlDeviceGetHandleBySerial, (const char *serial, struct nvml_device **device))

#define NVML_CALLS_IDENTITY(X)                                                                                          \
    X(int, nvmlDeviceGetIndex, (struct nvml_device *d, uint32_t *index))                                                \
    X(int, nvmlDeviceGetMinorNumber, (struct nvml_device *d, uint32_t *minor))                                          \
    X(int, nvmlDeviceGetName, (struct nvml_device *d, char *text, uint32_t length))                                     \
    X(int, nvmlDeviceGetUUID, (struct nvml_device *d, char *text, uint32_t length))                                     \
    X(int, nvmlDeviceGetSerial, (struct nvml_device *d, char *text, uint32_t length))                                   \
    X(int, nvmlDeviceGetBoardPartNumber, (struct nvml_device *d, char *text, uint32_t length))                          \
    X(int, nvmlDeviceGetBoardId, (struct nvml_device *d, uint32_t *id))                                                 \
    X(int, nvmlDeviceGetMultiGpuBoard, (struct nvml_device *d, uint32_t *several))                                      \
    X(int, nvmlDeviceGetInforomImageVersion, (struct nvml_device *d, char *text, uint32_t length))                      \
    X(int, nvmlDeviceGetVbiosVersion, (struct nvml_device *d, char *text, uint32_t length))                             \
    X(int, nvmlDeviceGetBrand, (struct nvml_device *d, int *brand))                                                     \
    X(int, nvmlDeviceGetArchitecture, (struct nvml_device *d, uint32_t *architecture))                                  \
    X(int, nvmlDeviceGetCudaComputeCapability, (struct nvml_device *d, int *major, int *minor))                         \
    X(int, nvmlDeviceGetNumGpuCores, (struct nvml_device *d, uint32_t *n))                                              \
    X(int, nvmlDeviceGetMemoryBusWidth, (struct nvml_device *d, uint32_t *bits))                                        \
    X(int, nvmlDeviceGetPciInfo, (struct nvml_device *d, struct nvml_pci_info *info))                                   \
    X(int, nvmlDeviceGetPciInfo_v2, (struct nvml_device *d, struct nvml_pci_info *info))                                \
    X(int, nvmlDeviceGetPciInfo_v3, (struct nvml_device *d, struct nvml_pci_info *info))                                \
    X(int, nvmlDeviceGetPciInfoExt, (struct nvml_device *d, struct nvml_pci_info_ext *info))                            \
    X(int, nvmlDeviceGetModuleId, (struct nvml_device *d, uint32_t *id))                                                \
    X(int, nvmlDeviceGetPlatformInfo, (struct nvml_device *d, struct nvml_platform_info *info))                         \
    X(int, nvmlDeviceGetAddressingMode, (struct nvml_device *d, struct nvml_addressing_mode *mode))                     \
    X(int, nvmlDeviceGetNumaNodeId, (struct nvml_device *d, uint32_t *node))                                            \
    X(int, nvmlDeviceGetCpuAffinity, (struct nvml_device *d, uint32_t words_n, unsigned long *words))                   \
    X(int, nvmlDeviceGetCpuAffinityWithinScope, (struct nvml_device *d, uint32_t words_n, unsigned long *words, uint32_t scope)) \
    X(int, nvmlDeviceGetMemoryAffinity, (struct nvml_device *d, uint32_t words_n, unsigned long *words, uint32_t scope)) \
    X(int, nvmlDeviceGetTopologyCommonAncestor, (struct nvml_device *d, struct nvml_device *other, int *level))         \
    X(int, nvmlDeviceGetTopologyNearestGpus, (struct nvml_device *d, int level, uint32_t *n, struct nvml_device **list)) \
    X(int, nvmlDeviceGetP2PStatus, (struct nvml_device *d, struct nvml_device *other, int index, int *status))          \
    X(int, nvmlDeviceOnSameBoard, (struct nvml_device *d, struct nvml_device *other, int *same))                        \
    X(int, nvmlDeviceGetGpuFabricInfo, (struct nvml_device *d, struct nvml_fabric_info *info))                          \
    X(int, nvmlDeviceGetGpuFabricInfoV, (struct nvml_device *d, struct nvml_fabric_info_v2 *info)) /* or _v3 */          \
    X(int, nvmlDeviceGetVirtualizationMode, (struct nvml_device *d, int *mode))                                         \
    X(int, nvmlDeviceGetPersistenceMode, (struct nvml_device *d, int *mode))                                            \
    X(int, nvmlDeviceSetPersistenceMode, (struct nvml_device *d, int mode))                                             \
    X(int, nvmlDeviceGetComputeMode, (struct nvml_device *d, int *mode))                                                \
    X(int, nvmlDeviceSetComputeMode, (struct nvml_device *d, int mode))                                                 \
    X(int, nvmlDeviceGetDisplayActive, (struct nvml_device *d, int *active))                                            \
    X(int, nvmlDeviceGetDisplayMode, (struct nvml_device *d, int *mode))                                                \
    X(int, nvmlDeviceValidateInforom, (struct nvml_device *d))

/* 5.3: memory, utilisation, processes, accounting. List calls: ask with *n = 0, answer INSUFFICIENT_SIZE and the number. */
#define NVML_CALLS_LOAD(X)                                                                                              \
    X(int, nvmlDeviceGetMemoryInfo, (struct nvml_device *d, struct nvml_memory *memory))                                \
    X(int, nvmlDeviceGetMemoryInfo_v2, (struct nvml_device *d, struct nvml_memory_v2 *memory))                          \
    X(int, nvmlDeviceGetBAR1MemoryInfo, (struct nvml_device *d, struct nvml_bar1_memory *memory))                       \
    X(int, nvmlDeviceGetUtilizationRates, (struct nvml_device *d, struct nvml_utilization *rates))                      \
    X(int, nvmlDeviceGetSamples, (struct nvml_device *d, int type, unsigned long long last_seen_us, int *value_type, uint32_t *n, \
                                  struct nvml_sample *list))                                                            \
    X(int, nvmlDeviceGetProcessUtilization, (struct nvml_device *d, struct nvml_process_utilization_sample *list, uint32_t *n, \
                                             unsigned long long last_seen_us))                                          \
    X(int, nvmlDeviceGetProcessesUtilizationInfo, (struct nvml_device *d, struct nvml_process_utilization_list *list))   \
    X(int, nvmlDeviceGetEncoderUtilization, (struct nvml_device *d, uint32_t *percent, uint32_t *period_us))            \
    X(int, nvmlDeviceGetDecoderUtilization, (struct nvml_device *d, uint32_t *percent, uint32_t *period_us))            \
    X(int, nvmlDeviceGetJpgUtilization, (struct nvml_device *d, uint32_t *percent, uint32_t *period_us))                \
    X(int, nvmlDeviceGetOfaUtilization, (struct nvml_device *d, uint32_t *percent, uint32_t *period_us))                \
    X(int, nvmlDeviceGetFieldValues, (struct nvml_device *d, int n, struct nvml_field_value *list))                     \
    X(int, nvmlDeviceClearFieldValues, (struct nvml_device *d, int n, struct nvml_field_value *list))                   \
    X(int, nvmlDeviceGetComputeRunningProcesses, (struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list))    \
    X(int, nvmlDeviceGetComputeRunningProcesses_v2, (struct nvml_device *d, uint32_t *n, struct nvml_process *list))    \
    X(int, nvmlDeviceGetComputeRunningProcesses_v3, (struct nvml_device *d, uint32_t *n, struct nvml_process *list))    \
    X(int, nvmlDeviceGetGraphicsRunningProcesses, (struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list))   \
    X(int, nvmlDeviceGetGraphicsRunningProcesses_v2, (struct nvml_device *d, uint32_t *n, struct nvml_process *list))   \
    X(int, nvmlDeviceGetGraphicsRunningProcesses_v3, (struct nvml_device *d, uint32_t *n, struct nvml_process *list))   \
    X(int, nvmlDeviceGetMPSComputeRunningProcesses, (struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list)) \
    X(int, nvmlDeviceGetMPSComputeRunningProcesses_v2, (struct nvml_device *d, uint32_t *n, struct nvml_process *list)) \
    X(int, nvmlDeviceGetMPSComputeRunningProcesses_v3, (struct nvml_device *d, uint32_t *n, struct nvml_process *list)) \
    X(int, nvmlDeviceGetRunningProcessDetailList, (struct nvml_device *d, struct nvml_process_detail_list *list))       \
    X(int, nvmlDeviceGetAccountingMode, (struct nvml_device *d, int *mode))                                             \
    X(int, nvmlDeviceSetAccountingMode, (struct nvml_device *d, int mode))                                              \
    X(int, nvmlDeviceGetAccountingPids, (struct nvml_device *d, uint32_t *n, uint32_t *pids))                           \
    X(int, nvmlDeviceGetAccountingStats, (struct nvml_device *d, uint32_t pid, struct nvml_accounting *stats))          \
    X(int, nvmlDeviceGetAccountingStats_v2, (struct nvml_device *d, struct nvml_accounting_v2 *stats))                  \
    X(int, nvmlDeviceGetAccountingBufferSize, (struct nvml_device *d, uint32_t *n))                                     \
    X(int, nvmlDeviceClearAccountingPids, (struct nvml_device *d))

/* 5.4: temperature, power, clocks, ECC, PCIe, NVLink */
#define NVML_CALLS_PHYSICS(X)                                                                                           \
    X(int, nvmlDeviceGetTemperature, (struct nvml_device *d, int sensor, uint32_t *celsius))                            \
    X(int, nvmlDeviceGetTemperatureV, (struct nvml_device *d, struct nvml_temperature *temperature))                    \
    X(int, nvmlDeviceGetTemperatureThreshold, (struct nvml_device *d, int threshold, uint32_t *celsius))                \
    X(int, nvmlDeviceGetMarginTemperature, (struct nvml_device *d, struct nvml_margin_temperature *margin))             \
    X(int, nvmlDeviceGetNumFans, (struct nvml_device *d, uint32_t *n))                                                  \
    X(int, nvmlDeviceGetFanSpeed, (struct nvml_device *d, uint32_t *percent))                                           \
    X(int, nvmlDeviceGetFanSpeed_v2, (struct nvml_device *d, uint32_t fan, uint32_t *percent))                          \
    X(int, nvmlDeviceGetPowerUsage, (struct nvml_device *d, uint32_t *mw))                                              \
    X(int, nvmlDeviceGetTotalEnergyConsumption, (struct nvml_device *d, unsigned long long *mj))                        \
    X(int, nvmlDeviceGetEnforcedPowerLimit, (struct nvml_device *d, uint32_t *mw))                                      \
    X(int, nvmlDeviceGetPowerManagementMode, (struct nvml_device *d, int *mode))                                        \
    X(int, nvmlDeviceGetPowerManagementLimit, (struct nvml_device *d, uint32_t *mw))                                    \
    X(int, nvmlDeviceGetPowerManagementLimitConstraints, (struct nvml_device *d, uint32_t *min_mw, uint32_t *max_mw))   \
    X(int, nvmlDeviceGetPowerManagementDefaultLimit, (struct nvml_device *d, uint32_t *mw))                             \
    X(int, nvmlDeviceSetPowerManagementLimit, (struct nvml_device *d, uint32_t mw))                                     \
    X(int, nvmlDeviceSetPowerManagementLimit_v2, (struct nvml_device *d, struct nvml_power_value *value))               \
    X(int, nvmlDeviceGetPowerState, (struct nvml_device *d, int *state))                                                \
    X(int, nvmlDeviceGetPerformanceState, (struct nvml_device *d, int *state))                                          \
    X(int, nvmlDeviceGetClockInfo, (struct nvml_device *d, int clock, uint32_t *mhz))                                   \
    X(int, nvmlDeviceGetMaxClockInfo, (struct nvml_device *d, int clock, uint32_t *mhz))                                \
    X(int, nvmlDeviceGetApplicationsClock, (struct nvml_device *d, int clock, uint32_t *mhz))                           \
    X(int, nvmlDeviceGetCurrentClocksEventReasons, (struct nvml_device *d, unsigned long long *reasons))                \
    X(int, nvmlDeviceGetCurrentClocksThrottleReasons, (struct nvml_device *d, unsigned long long *reasons))             \
    X(int, nvmlDeviceGetSupportedClocksEventReasons, (struct nvml_device *d, unsigned long long *reasons))              \
    X(int, nvmlDeviceGetSupportedClocksThrottleReasons, (struct nvml_device *d, unsigned long long *reasons))           \
    X(int, nvmlDeviceGetViolationStatus, (struct nvml_device *d, int policy, struct nvml_violation_time *time))         \
    X(int, nvmlDeviceSetGpuLockedClocks, (struct nvml_device *d, uint32_t min_mhz, uint32_t max_mhz))                   \
    X(int, nvmlDeviceResetGpuLockedClocks, (struct nvml_device *d))                                                     \
    X(int, nvmlDeviceGetEccMode, (struct nvml_device *d, int *now, int *pending))                                       \
    X(int, nvmlDeviceGetTotalEccErrors, (struct nvml_device *d, int error, int counter, unsigned long long *n))         \
    X(int, nvmlDeviceGetMemoryErrorCounter, (struct nvml_device *d, int error, int counter, int location, unsigned long long *n)) \
    X(int, nvmlDeviceGetSramEccErrorStatus, (struct nvml_device *d, struct nvml_ecc_sram *status))                      \
    X(int, nvmlDeviceGetRemappedRows, (struct nvml_device *d, uint32_t *corrected, uint32_t *uncorrected, uint32_t *pending, \
                                       uint32_t *failure))                                                              \
    X(int, nvmlDeviceGetRowRemapperHistogram, (struct nvml_device *d, struct nvml_row_histogram *histogram))            \
    X(int, nvmlDeviceGetRetiredPages, (struct nvml_device *d, int cause, uint32_t *n, unsigned long long *addresses))   \
    X(int, nvmlDeviceGetRetiredPages_v2, (struct nvml_device *d, int cause, uint32_t *n, unsigned long long *addresses, \
                                          unsigned long long *times_us))                                                \
    X(int, nvmlDeviceGetRetiredPagesPendingStatus, (struct nvml_device *d, int *pending))                               \
    X(int, nvmlDeviceGetPcieThroughput, (struct nvml_device *d, int counter, uint32_t *kib_s))                          \
    X(int, nvmlDeviceGetPcieReplayCounter, (struct nvml_device *d, uint32_t *n))                                        \
    X(int, nvmlDeviceGetCurrPcieLinkGeneration, (struct nvml_device *d, uint32_t *generation))                          \
    X(int, nvmlDeviceGetCurrPcieLinkWidth, (struct nvml_device *d, uint32_t *width))                                    \
    X(int, nvmlDeviceGetMaxPcieLinkGeneration, (struct nvml_device *d, uint32_t *generation))                           \
    X(int, nvmlDeviceGetMaxPcieLinkWidth, (struct nvml_device *d, uint32_t *width))                                     \
    X(int, nvmlDeviceGetNvLinkState, (struct nvml_device *d, uint32_t link, int *active))                               \
    X(int, nvmlDeviceGetNvLinkVersion, (struct nvml_device *d, uint32_t link, uint32_t *version))                       \
    X(int, nvmlDeviceGetNvLinkCapability, (struct nvml_device *d, uint32_t link, int capability, uint32_t *has))        \
    X(int, nvmlDeviceGetNvLinkRemotePciInfo, (struct nvml_device *d, uint32_t link, struct nvml_pci_info *info))        \
    X(int, nvmlDeviceGetNvLinkRemotePciInfo_v2, (struct nvml_device *d, uint32_t link, struct nvml_pci_info *info))     \
    X(int, nvmlDeviceGetNvLinkRemoteDeviceType, (struct nvml_device *d, uint32_t link, int *type))                      \
    X(int, nvmlDeviceGetNvLinkErrorCounter, (struct nvml_device *d, uint32_t link, int counter, unsigned long long *n))

/* 5.5: MIG. `profile` is enum nvml_gpu_instance_profile and its like, `profile_id` the hardware's number. */
#define NVML_CALLS_MIG(X)                                                                                               \
    X(int, nvmlDeviceGetMigMode, (struct nvml_device *d, uint32_t *now, uint32_t *pending))                             \
    X(int, nvmlDeviceSetMigMode, (struct nvml_device *d, uint32_t mode, int *activation))                               \
    X(int, nvmlDeviceGetMaxMigDeviceCount, (struct nvml_device *d, uint32_t *n))                                        \
    X(int, nvmlDeviceGetMigDeviceHandleByIndex, (struct nvml_device *d, uint32_t index, struct nvml_device **mig))      \
    X(int, nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (struct nvml_device *mig, struct nvml_device **parent))        \
    X(int, nvmlDeviceIsMigDeviceHandle, (struct nvml_device *d, uint32_t *is))                                          \
    X(int, nvmlDeviceGetAttributes, (struct nvml_device *mig, struct nvml_attributes *attributes))                      \
    X(int, nvmlDeviceGetAttributes_v2, (struct nvml_device *mig, struct nvml_attributes *attributes))                   \
    X(int, nvmlDeviceGetGpuInstanceId, (struct nvml_device *mig, uint32_t *id))                                         \
    X(int, nvmlDeviceGetComputeInstanceId, (struct nvml_device *mig, uint32_t *id))                                     \
    X(int, nvmlDeviceGetGpuInstanceProfileInfo, (struct nvml_device *d, uint32_t profile, struct nvml_gi_profile *info)) \
    X(int, nvmlDeviceGetGpuInstanceProfileInfoV, (struct nvml_device *d, uint32_t profile, struct nvml_gi_profile_v2 *info)) /* or _v3 */ \
    X(int, nvmlDeviceGetGpuInstanceProfileInfoByIdV, (struct nvml_device *d, uint32_t profile_id, struct nvml_gi_profile_v2 *info)) \
    X(int, nvmlDeviceGetGpuInstancePossiblePlacements, (struct nvml_device *d, uint32_t profile_id, struct nvml_placement *list, \
                                                        uint32_t *n))                                                   \
    X(int, nvmlDeviceGetGpuInstancePossiblePlacements_v2, (struct nvml_device *d, uint32_t profile_id, struct nvml_placement *list, \
                                                           uint32_t *n))                                                \
    X(int, nvmlDeviceGetGpuInstanceRemainingCapacity, (struct nvml_device *d, uint32_t profile_id, uint32_t *n))        \
    X(int, nvmlDeviceCreateGpuInstance, (struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **gi))    \
    X(int, nvmlDeviceCreateGpuInstanceWithPlacement, (struct nvml_device *d, uint32_t profile_id, const struct nvml_placement *at, \
                                                      struct nvml_gpu_instance **gi))                                   \
    X(int, nvmlDeviceGetGpuInstances, (struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **list, uint32_t *n)) \
    X(int, nvmlDeviceGetGpuInstanceById, (struct nvml_device *d, uint32_t id, struct nvml_gpu_instance **gi))           \
    X(int, nvmlGpuInstanceGetInfo, (struct nvml_gpu_instance *gi, struct nvml_gi_info *info))                           \
    X(int, nvmlGpuInstanceDestroy, (struct nvml_gpu_instance *gi))                                                      \
    X(int, nvmlGpuInstanceGetComputeInstanceProfileInfo, (struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine, \
                                                          struct nvml_ci_profile *info))                                \
    X(int, nvmlGpuInstanceGetComputeInstanceProfileInfoV, (struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine, \
                                                           struct nvml_ci_profile_v2 *info)) /* or _v3 */                \
    X(int, nvmlGpuInstanceGetComputeInstanceRemainingCapacity, (struct nvml_gpu_instance *gi, uint32_t profile_id, uint32_t *n)) \
    X(int, nvmlGpuInstanceGetComputeInstancePossiblePlacements, (struct nvml_gpu_instance *gi, uint32_t profile_id, \
                                                                 struct nvml_placement *list, uint32_t *n))             \
    X(int, nvmlGpuInstanceCreateComputeInstance, (struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_compute_instance **ci)) \
    X(int, nvmlGpuInstanceCreateComputeInstanceWithPlacement, (struct nvml_gpu_instance *gi, uint32_t profile_id, \
                                                               const struct nvml_placement *at, struct nvml_compute_instance **ci)) \
    X(int, nvmlGpuInstanceGetComputeInstances, (struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_compute_instance **list, \
                                                uint32_t *n))                                                           \
    X(int, nvmlGpuInstanceGetComputeInstanceById, (struct nvml_gpu_instance *gi, uint32_t id, struct nvml_compute_instance **ci)) \
    X(int, nvmlComputeInstanceGetInfo, (struct nvml_compute_instance *ci, struct nvml_ci_info *info))                   \
    X(int, nvmlComputeInstanceGetInfo_v2, (struct nvml_compute_instance *ci, struct nvml_ci_info *info))                \
    X(int, nvmlComputeInstanceDestroy, (struct nvml_compute_instance *ci))

/* 5.6: events. 5.7: GPU performance monitoring. */
#define NVML_CALLS_EVENTS(X)                                                                                            \
    X(int, nvmlEventSetCreate, (struct nvml_event_set **set))                                                           \
    X(int, nvmlEventSetFree, (struct nvml_event_set *set))                                                              \
    X(int, nvmlEventSetWait, (struct nvml_event_set *set, struct nvml_event_data *data, uint32_t timeout_ms))           \
    X(int, nvmlEventSetWait_v2, (struct nvml_event_set *set, struct nvml_event_data *data, uint32_t timeout_ms))        \
    X(int, nvmlDeviceGetSupportedEventTypes, (struct nvml_device *d, unsigned long long *types))                        \
    X(int, nvmlDeviceRegisterEvents, (struct nvml_device *d, unsigned long long types, struct nvml_event_set *set))     \
    X(int, nvmlSystemEventSetCreate, (struct nvml_system_event_create *request))                                        \
    X(int, nvmlSystemEventSetFree, (struct nvml_system_event_create *request))                                          \
    X(int, nvmlSystemRegisterEvents, (struct nvml_system_event_register *request))                                      \
    X(int, nvmlSystemEventSetWait, (struct nvml_system_event_wait *request))                                            \
    X(int, nvmlGpmQueryDeviceSupport, (struct nvml_device *d, struct nvml_gpm_support *support))                        \
    X(int, nvmlGpmSampleAlloc, (struct nvml_gpm_sample **sample))                                                       \
    X(int, nvmlGpmSampleFree, (struct nvml_gpm_sample *sample))                                                         \
    X(int, nvmlGpmSampleGet, (struct nvml_device *d, struct nvml_gpm_sample *sample))                                   \
    X(int, nvmlGpmMigSampleGet, (struct nvml_device *d, uint32_t gi, struct nvml_gpm_sample *sample))                   \
    X(int, nvmlGpmMetricsGet, (struct nvml_gpm_metrics *metrics))                                                       \
    X(int, nvmlGpmQueryIfStreamingEnabled, (struct nvml_device *d, uint32_t *on))                                       \
    X(int, nvmlGpmSetStreamingEnabled, (struct nvml_device *d, uint32_t on))

#define NVML_CALLS(X)      \
    NVML_CALLS_SYSTEM(X)   \
    NVML_CALLS_IDENTITY(X) \
    NVML_CALLS_LOAD(X)     \
    NVML_CALLS_PHYSICS(X)  \
    NVML_CALLS_MIG(X)      \
    NVML_CALLS_EVENTS(X)

/* Prototypes of all of them: NVML_CALLS(NVML_DECLARE). */
#define NVML_DECLARE(type, name, parameters) type name parameters;

#endif
