/* absent.h - functions about what simulated GPUs do not have: they exist, and say so
 *
 * WHY    A program that was linked against the library, as those of go-nvml are, ends when it comes to a symbol that is not there. On
 *        hardware these functions answer NOT_SUPPORTED, too, where the GPU lacks what they are about.
 * LIMIT  Names of API 13.0, the one of driver 580. A later version of a function that is answered elsewhere is left out on purpose: clients
 *        take the newest that they find, and would not come back for the older one.
 */
#ifndef LIBNVSIM_ABSENT_H
#define LIBNVSIM_ABSENT_H

/* of a physical GPU: its own fans, clock offsets and application clocks, confidential computing, power profiles, link control */
#define ABSENT_OF_DEVICE(X)                                                                                      \
    X(nvmlDeviceCcuGetStreamState) X(nvmlDeviceCcuSetStreamState) X(nvmlDeviceClearCpuAffinity)                  \
    X(nvmlDeviceFreezeNvLinkUtilizationCounter) X(nvmlDeviceGetAPIRestriction)                                   \
    X(nvmlDeviceGetAdaptiveClockInfoStatus) X(nvmlDeviceGetBridgeChipInfo) X(nvmlDeviceGetC2cModeInfoV)          \
    X(nvmlDeviceGetCapabilities) X(nvmlDeviceGetClkMonStatus) X(nvmlDeviceGetClockOffsets)                       \
    X(nvmlDeviceGetConfComputeGpuAttestationReport) X(nvmlDeviceGetConfComputeGpuCertificate)                    \
    X(nvmlDeviceGetConfComputeMemSizeInfo) X(nvmlDeviceGetConfComputeProtectedMemoryUsage)                       \
    X(nvmlDeviceGetCoolerInfo) X(nvmlDeviceGetCurrentClockFreqs) X(nvmlDeviceGetDetailedEccErrors)               \
    X(nvmlDeviceGetDramEncryptionMode) X(nvmlDeviceGetDynamicPstatesInfo) X(nvmlDeviceGetFanControlPolicy_v2)    \
    X(nvmlDeviceGetFanSpeedRPM) X(nvmlDeviceGetGpcClkMinMaxVfOffset) X(nvmlDeviceGetGpcClkVfOffset)              \
    X(nvmlDeviceGetLastBBXFlushTime) X(nvmlDeviceGetMemClkMinMaxVfOffset) X(nvmlDeviceGetMemClkVfOffset)         \
    X(nvmlDeviceGetMinMaxFanSpeed) X(nvmlDeviceGetNvLinkInfo) X(nvmlDeviceGetNvLinkUtilizationControl)           \
    X(nvmlDeviceGetNvLinkUtilizationCounter) X(nvmlDeviceGetNvlinkBwMode) X(nvmlDeviceGetNvlinkSupportedBwModes) \
    X(nvmlDeviceGetPdi) X(nvmlDeviceGetPerformanceModes) X(nvmlDeviceGetRepairStatus)                            \
    X(nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts) X(nvmlDeviceGetTargetFanSpeed)                           \
    X(nvmlDeviceGetThermalSettings) X(nvmlDevicePowerSmoothingActivatePresetProfile)                             \
    X(nvmlDevicePowerSmoothingSetState) X(nvmlDevicePowerSmoothingUpdatePresetProfileParam)                      \
    X(nvmlDeviceResetApplicationsClocks) X(nvmlDeviceResetMemoryLockedClocks)                                    \
    X(nvmlDeviceResetNvLinkUtilizationCounter) X(nvmlDeviceSetAPIRestriction) X(nvmlDeviceSetApplicationsClocks) \
    X(nvmlDeviceSetAutoBoostedClocksEnabled) X(nvmlDeviceSetClockOffsets)                                        \
    X(nvmlDeviceSetConfComputeUnprotectedMemSize) X(nvmlDeviceSetCpuAffinity)                                    \
    X(nvmlDeviceSetDefaultAutoBoostedClocksEnabled) X(nvmlDeviceSetDefaultFanSpeed_v2)                           \
    X(nvmlDeviceSetDramEncryptionMode) X(nvmlDeviceSetDriverModel) X(nvmlDeviceSetDriverModel_v2)                \
    X(nvmlDeviceSetFanControlPolicy) X(nvmlDeviceSetFanSpeed_v2) X(nvmlDeviceSetGpcClkVfOffset)                  \
    X(nvmlDeviceSetGpuOperationMode) X(nvmlDeviceSetMemClkVfOffset) X(nvmlDeviceSetMemoryLockedClocks)           \
    X(nvmlDeviceSetNvLinkDeviceLowPowerThreshold) X(nvmlDeviceSetNvLinkUtilizationControl)                       \
    X(nvmlDeviceSetNvlinkBwMode) X(nvmlDeviceSetTemperatureThreshold) X(nvmlDeviceSetVirtualizationMode)         \
    X(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles) X(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles)  \
    X(nvmlDeviceWorkloadPowerProfileGetProfilesInfo) X(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles)

/* of a GPU that carries virtual GPUs */
#define ABSENT_OF_VGPU_HOST(X)                                                                                       \
    X(nvmlDeviceGetActiveVgpus) X(nvmlDeviceGetCreatableVgpus) X(nvmlDeviceGetGridLicensableFeatures)                \
    X(nvmlDeviceGetGridLicensableFeatures_v2) X(nvmlDeviceGetGridLicensableFeatures_v3)                              \
    X(nvmlDeviceGetGridLicensableFeatures_v4) X(nvmlDeviceGetHostVgpuMode) X(nvmlDeviceGetPgpuMetadataString)        \
    X(nvmlDeviceGetSupportedVgpus) X(nvmlDeviceGetVgpuCapabilities) X(nvmlDeviceGetVgpuHeterogeneousMode)            \
    X(nvmlDeviceGetVgpuInstancesUtilizationInfo) X(nvmlDeviceGetVgpuMetadata) X(nvmlDeviceGetVgpuProcessUtilization) \
    X(nvmlDeviceGetVgpuProcessesUtilizationInfo) X(nvmlDeviceGetVgpuSchedulerCapabilities)                           \
    X(nvmlDeviceGetVgpuSchedulerLog) X(nvmlDeviceGetVgpuSchedulerLog_v2) X(nvmlDeviceGetVgpuSchedulerState)          \
    X(nvmlDeviceGetVgpuSchedulerState_v2) X(nvmlDeviceGetVgpuTypeCreatablePlacements)                                \
    X(nvmlDeviceGetVgpuTypeSupportedPlacements) X(nvmlDeviceGetVgpuUtilization) X(nvmlDeviceSetVgpuCapabilities)     \
    X(nvmlDeviceSetVgpuHeterogeneousMode) X(nvmlDeviceSetVgpuSchedulerState) X(nvmlDeviceSetVgpuSchedulerState_v2)   \
    X(nvmlDeviceVgpuForceGspUnload)

/* of a GPU instance that carries virtual GPUs */
#define ABSENT_OF_INSTANCE(X)                                                                                       \
    X(nvmlGpuInstanceGetActiveVgpus) X(nvmlGpuInstanceGetCreatableVgpus) X(nvmlGpuInstanceGetVgpuHeterogeneousMode) \
    X(nvmlGpuInstanceGetVgpuSchedulerLog) X(nvmlGpuInstanceGetVgpuSchedulerLog_v2)                                  \
    X(nvmlGpuInstanceGetVgpuSchedulerState) X(nvmlGpuInstanceGetVgpuSchedulerState_v2)                              \
    X(nvmlGpuInstanceGetVgpuTypeCreatablePlacements) X(nvmlGpuInstanceSetVgpuHeterogeneousMode)                     \
    X(nvmlGpuInstanceSetVgpuSchedulerState) X(nvmlGpuInstanceSetVgpuSchedulerState_v2)

/* of the node: virtual GPUs, confidential computing, taking GPUs off the bus */
#define ABSENT_OF_NODE(X)                                                                                       \
    X(nvmlGetVgpuCompatibility) X(nvmlGetVgpuDriverCapabilities) X(nvmlGetVgpuVersion) X(nvmlSetVgpuVersion)    \
    X(nvmlSystemGetConfComputeCapabilities) X(nvmlSystemGetConfComputeGpusReadyState)                           \
    X(nvmlSystemGetConfComputeKeyRotationThresholdInfo) X(nvmlSystemGetConfComputeSettings)                     \
    X(nvmlSystemGetConfComputeState) X(nvmlSystemGetDriverBranch) X(nvmlSystemGetNvlinkBwMode)                  \
    X(nvmlSystemSetConfComputeGpusReadyState) X(nvmlSystemSetConfComputeKeyRotationThresholdInfo)               \
    X(nvmlSystemSetNvlinkBwMode) X(nvmlDeviceDiscoverGpus) X(nvmlDeviceModifyDrainState) X(nvmlDeviceRemoveGpu) \
    X(nvmlDeviceRemoveGpu_v2)

/* of an S-class unit, a virtual GPU or a type of them: there are none, so no handle is a valid one */
#define ABSENT_HANDLE(X)                                                                                             \
    X(nvmlUnitGetDevices) X(nvmlUnitGetFanSpeedInfo) X(nvmlUnitGetHandleByIndex) X(nvmlUnitGetLedState)              \
    X(nvmlUnitGetPsuInfo) X(nvmlUnitGetTemperature) X(nvmlUnitGetUnitInfo) X(nvmlUnitSetLedState)                    \
    X(nvmlVgpuInstanceClearAccountingPids) X(nvmlVgpuInstanceGetAccountingMode) X(nvmlVgpuInstanceGetAccountingPids) \
    X(nvmlVgpuInstanceGetAccountingStats) X(nvmlVgpuInstanceGetEccMode) X(nvmlVgpuInstanceGetEncoderCapacity)        \
    X(nvmlVgpuInstanceGetEncoderSessions) X(nvmlVgpuInstanceGetEncoderStats) X(nvmlVgpuInstanceGetFBCSessions)       \
    X(nvmlVgpuInstanceGetFBCStats) X(nvmlVgpuInstanceGetFbUsage) X(nvmlVgpuInstanceGetFrameRateLimit)                \
    X(nvmlVgpuInstanceGetGpuInstanceId) X(nvmlVgpuInstanceGetGpuPciId) X(nvmlVgpuInstanceGetLicenseInfo)             \
    X(nvmlVgpuInstanceGetLicenseInfo_v2) X(nvmlVgpuInstanceGetLicenseStatus) X(nvmlVgpuInstanceGetMdevUUID)          \
    X(nvmlVgpuInstanceGetMetadata) X(nvmlVgpuInstanceGetPlacementId) X(nvmlVgpuInstanceGetRuntimeStateSize)          \
    X(nvmlVgpuInstanceGetType) X(nvmlVgpuInstanceGetUUID) X(nvmlVgpuInstanceGetVmDriverVersion)                      \
    X(nvmlVgpuInstanceGetVmID) X(nvmlVgpuInstanceSetEncoderCapacity) X(nvmlVgpuTypeGetBAR1Info)                      \
    X(nvmlVgpuTypeGetCapabilities) X(nvmlVgpuTypeGetClass) X(nvmlVgpuTypeGetDeviceID)                                \
    X(nvmlVgpuTypeGetFbReservation) X(nvmlVgpuTypeGetFrameRateLimit) X(nvmlVgpuTypeGetFramebufferSize)               \
    X(nvmlVgpuTypeGetGpuInstanceProfileId) X(nvmlVgpuTypeGetGspHeapSize) X(nvmlVgpuTypeGetLicense)                   \
    X(nvmlVgpuTypeGetMaxInstances) X(nvmlVgpuTypeGetMaxInstancesPerGpuInstance) X(nvmlVgpuTypeGetMaxInstancesPerVm)  \
    X(nvmlVgpuTypeGetName) X(nvmlVgpuTypeGetNumDisplayHeads) X(nvmlVgpuTypeGetResolution)

#endif
