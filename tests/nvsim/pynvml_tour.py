"""pynvml_tour.py MODEL - look at GPU 0 of a simulated node through nvidia-ml-py, then split GPU 1 with MIG and take it apart again.

Prints one fact a line, and `done` when everything held."""
import inspect
import os
import subprocess
import sys

import pynvml as nvml

model = sys.argv[1]
nvml.nvmlInit()
gpu = nvml.nvmlDeviceGetHandleByIndex(0)


def text(value):
    return value.decode() if isinstance(value, bytes) else value


print("driver", text(nvml.nvmlSystemGetDriverVersion()), nvml.nvmlSystemGetCudaDriverVersion())
print("name", text(nvml.nvmlDeviceGetName(gpu)))
print("uuid", text(nvml.nvmlDeviceGetUUID(gpu)))
rates = nvml.nvmlDeviceGetUtilizationRates(gpu)
print("utilization", rates.gpu, rates.memory)
for process in nvml.nvmlDeviceGetComputeRunningProcesses(gpu):
    print("process", process.pid, process.usedGpuMemory)
memory = nvml.nvmlDeviceGetMemoryInfo(gpu, version=nvml.nvmlMemory_v2)
assert memory.total == memory.free + memory.used + memory.reserved
print("memory", memory.total >> 20, memory.reserved >> 20, memory.used >> 20)
print("power", nvml.nvmlDeviceGetPowerUsage(gpu), "limit", nvml.nvmlDeviceGetEnforcedPowerLimit(gpu))
print("temperature", nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU))
print("clocks", nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM), nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM))
print("pci", text(nvml.nvmlDeviceGetPciInfo(gpu).busId))
energy = nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
fields = nvml.nvmlDeviceGetFieldValues(gpu, [nvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, nvml.NVML_FI_DEV_POWER_INSTANT])
assert fields[0].nvmlReturn == 0 and fields[0].value.ullVal >= energy
assert fields[1].nvmlReturn == 0 and fields[1].value.uiVal > 0

# every getter that takes a device and nothing else: it answers, or says that this GPU has no such thing
NEWER = ("_v1",)  # of a later driver than the simulated one
answered = refused = 0
for name, call in inspect.getmembers(nvml, callable):
    if not name.startswith("nvmlDeviceGet") or "Handle" in name or name.endswith(NEWER):
        continue
    needed = [p for p in inspect.signature(call).parameters.values() if p.default is p.empty]
    if len(needed) != 1:
        continue
    try:
        call(gpu)
        answered += 1
    except nvml.NVMLError_NotSupported:
        refused += 1
print("getters", answered, "answer,", refused, "are not supported")
assert answered > 50

# events: one of another process arrives, one from before registration does not
events = nvml.nvmlEventSetCreate()
nvml.nvmlDeviceRegisterEvents(gpu, nvml.nvmlEventTypeXidCriticalError, events)
capstan = os.environ.get("CAPSTAN")
if capstan:
    subprocess.run([capstan, "nvsim", "fault", "--gpu", "0", "xid", "43"], check=True)
    event = nvml.nvmlEventSetWait_v2(events, 5000)
    assert event.eventData == 43 and event.gpuInstanceId == 0xFFFFFFFF
    print("event xid", event.eventData)
nvml.nvmlEventSetFree(events)

other = nvml.nvmlDeviceGetHandleByIndex(1)
try:
    mode, pending = nvml.nvmlDeviceGetMigMode(other)
except nvml.NVMLError_NotSupported:
    print("mig not supported")
    print("done")
    sys.exit(0)
activation = nvml.nvmlDeviceSetMigMode(other, 1)
if activation == nvml.NVML_ERROR_RESET_REQUIRED and capstan:
    subprocess.run([capstan, "nvsim", "reset", "--gpu", "1"], check=True)
assert list(nvml.nvmlDeviceGetMigMode(other)) == [1, 1]
made = []
for index in (nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE, nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE):
    profile = nvml.nvmlDeviceGetGpuInstanceProfileInfo(other, index)
    instance = nvml.nvmlDeviceCreateGpuInstance(other, profile.id)
    compute_index = {3: 2, 2: 1, 1: 0}[profile.sliceCount]
    compute_profile = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, compute_index, 0)
    compute = nvml.nvmlGpuInstanceCreateComputeInstance(instance, compute_profile.id)
    made.append((instance, compute))
for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(other)):
    try:
        mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(other, index)
    except nvml.NVMLError_NotFound:
        continue
    attributes = nvml.nvmlDeviceGetAttributes_v2(mig)
    print("mig", text(nvml.nvmlDeviceGetName(mig)), text(nvml.nvmlDeviceGetUUID(mig)), nvml.nvmlDeviceGetGpuInstanceId(mig),
          attributes.multiprocessorCount, attributes.memorySizeMB)
    try:
        nvml.nvmlDeviceGetUtilizationRates(mig)
        raise SystemExit("utilisation of a MIG device must not be there")
    except nvml.NVMLError_NotSupported:
        pass
try:
    nvml.nvmlGpuInstanceDestroy(made[0][0])
    raise SystemExit("an instance with a compute instance must be in use")
except nvml.NVMLError_InUse:
    pass
for instance, compute in made:
    nvml.nvmlComputeInstanceDestroy(compute)
    nvml.nvmlGpuInstanceDestroy(instance)
nvml.nvmlShutdown()
print("done")
