/* client_calls.h - functions that the agent does not call and clients of others do, in the form of gpu/nvml_calls.h */
#ifndef LIBNVSIM_CLIENT_CALLS_H
#define LIBNVSIM_CLIENT_CALLS_H
#include "gpu/nvml.h"

#define CLIENT_CALLS(X)                                                                                                           \
    X(int, nvmlDeviceGetDriverModel, (struct nvml_device *d, int *ret_now, int *ret_other))                                       \
    X(int, nvmlDeviceGetDriverModel_v2, (struct nvml_device *d, int *ret_now, int *ret_other))                                    \
    X(int, nvmlDeviceGetGpuOperationMode, (struct nvml_device *d, int *ret_now, int *ret_other))                                  \
    X(int, nvmlDeviceGetAutoBoostedClocksEnabled, (struct nvml_device *d, int *ret_now, int *ret_other))                          \
    X(int, nvmlDeviceGetGspFirmwareVersion, (struct nvml_device *d, char *text))                                                  \
    X(int, nvmlDeviceGetGspFirmwareMode, (struct nvml_device *d, uint32_t *on, uint32_t *standard))                               \
    X(int, nvmlDeviceGetInforomVersion, (struct nvml_device *d, int object, char *text, uint32_t length))                         \
    X(int, nvmlDeviceGetInforomConfigurationChecksum, (struct nvml_device *d, uint32_t *checksum))                                \
    X(int, nvmlDeviceGetBusType, (struct nvml_device *d, uint32_t *type))                                                         \
    X(int, nvmlDeviceGetIrqNum, (struct nvml_device *d, uint32_t *number))                                                        \
    X(int, nvmlDeviceGetPowerSource, (struct nvml_device *d, uint32_t *source))                                                   \
    X(int, nvmlDeviceGetGpuMaxPcieLinkGeneration, (struct nvml_device *d, uint32_t *generation))                                  \
    X(int, nvmlDeviceGetPcieLinkMaxSpeed, (struct nvml_device *d, uint32_t *speed))                                               \
    X(int, nvmlDeviceGetPcieSpeed, (struct nvml_device *d, uint32_t *megabits_s))                                                 \
    X(int, nvmlDeviceGetEncoderStats, (struct nvml_device *d, uint32_t *sessions_n, uint32_t *frames_s, uint32_t *latency_us))    \
    X(int, nvmlDeviceGetEncoderSessions, (struct nvml_device *d, uint32_t *n, void *list))                                        \
    X(int, nvmlDeviceGetEncoderCapacity, (struct nvml_device *d, int type, uint32_t *percent))                                    \
    X(int, nvmlDeviceGetFBCStats, (struct nvml_device *d, uint32_t stats[3]))                                                     \
    X(int, nvmlDeviceGetFBCSessions, (struct nvml_device *d, uint32_t *n, void *list))                                            \
    X(int, nvmlDeviceGetDefaultApplicationsClock, (struct nvml_device *d, int clock, uint32_t *mhz))                              \
    X(int, nvmlDeviceGetMaxCustomerBoostClock, (struct nvml_device *d, int clock, uint32_t *mhz))                                 \
    X(int, nvmlDeviceGetClock, (struct nvml_device *d, int clock, int id, uint32_t *mhz))                                         \
    X(int, nvmlDeviceGetSupportedMemoryClocks, (struct nvml_device *d, uint32_t *n, uint32_t *list))                              \
    X(int, nvmlDeviceGetSupportedGraphicsClocks, (struct nvml_device *d, uint32_t memory_mhz, uint32_t *n, uint32_t *list))       \
    X(int, nvmlDeviceGetSupportedPerformanceStates, (struct nvml_device *d, int *states, uint32_t size_bytes))                    \
    X(int, nvmlDeviceGetMinMaxClockOfPState, (struct nvml_device *d, int clock, int state, uint32_t *min_mhz, uint32_t *max_mhz)) \
    X(int, nvmlDeviceGetDefaultEccMode, (struct nvml_device *d, int *mode))                                                       \
    X(int, nvmlDeviceSetEccMode, (struct nvml_device *d, int mode))                                                               \
    X(int, nvmlDeviceClearEccErrorCounts, (struct nvml_device *d, int counter))                                                   \
    X(int, nvmlDeviceResetNvLinkErrorCounters, (struct nvml_device *d, uint32_t link))                                            \
    X(int, nvmlDeviceQueryDrainState, (const struct nvml_pci_info *at, int *draining))                                            \
    X(int, nvmlSystemGetHicVersion, (uint32_t *n, void *list))                                                                    \
    X(int, nvmlUnitGetCount, (uint32_t *n))                                                                                       \
    X(int, nvmlGetExcludedDeviceCount, (uint32_t *n))                                                                             \
    X(int, nvmlGetExcludedDeviceInfoByIndex, (uint32_t index, void *info))

#endif
