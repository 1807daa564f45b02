/* fake_nvml.c - two libraries of older drivers, for tests of version fallback
 *
 *     FAKE_MIG 0: only names without suffixes, 16-byte process entries, no MIG at all
 *     FAKE_MIG 2: as 1, with compute instances: the call with a placement is there and not supported
 *     FAKE_MIG 1: the first driver with MIG: profile infos without names, no creation with a placement, MIG devices with holes
 *
 * FAKE_NVML_INIT=n: nvmlInit answers n. The answers are made up; the shapes are those of gpu/nvml_calls.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu/nvml_calls.h"

NVML_CALLS(NVML_DECLARE)

enum { MIB = 1024 * 1024, DESTROYED = 0xff };
#define GPU ((struct nvml_device *)0x1000)
#define GI(id) ((struct nvml_gpu_instance *)(0x2000 + (size_t)(id)))
#define MIG(id) ((struct nvml_device *)(0x3000 + (size_t)(id)))

static int text(const char *from, char *to, uint32_t length)
{
    if (strlen(from) >= length)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(to, from, strlen(from) + 1);
    return NVML_OK;
}

static int init(void)
{
    const char *code = getenv("FAKE_NVML_INIT");
    return code ? (int)strtol(code, NULL, 10) : NVML_OK;
}

int nvmlShutdown(void)
{
    return NVML_OK;
}

int nvmlSystemGetDriverVersion(char *to, uint32_t length)
{
    return text("450.80.02", to, length);
}

int nvmlDeviceGetUUID(struct nvml_device *d, char *to, uint32_t length)
{
    if (d == GPU)
        return text("GPU-00000000-1111-2222-3333-444444444444", to, length);
    char uuid[48];
    (void)snprintf(uuid, sizeof uuid, "MIG-00000000-1111-2222-3333-%012zx", (size_t)d);
    return text(uuid, to, length);
}

int nvmlDeviceGetName(struct nvml_device *d, char *to, uint32_t length)
{
    (void)d;
    return text(FAKE_MIG ? "A100-SXM4-40GB" : "Tesla M60", to, length);
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *memory)
{
    (void)d;
    *memory = (struct nvml_memory){(uint64_t)40536 * MIB, (uint64_t)40000 * MIB, (uint64_t)536 * MIB};
    return NVML_OK;
}

#if !FAKE_MIG

int nvmlInit(void)
{
    return init();
}

int nvmlDeviceGetCount(uint32_t *n)
{
    *n = 1;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex(uint32_t index, struct nvml_device **device)
{
    *device = GPU;
    return index == 0 ? NVML_OK : NVML_INVALID_ARGUMENT;
}

/* Writes what callers of its time had room for, and not a byte more. */
int nvmlDeviceGetPciInfo(struct nvml_device *d, struct nvml_pci_info *info)
{
    (void)d;
    struct nvml_pci_info full = {
        .bus_id_legacy = "0001:82:00.0", .domain = 1, .bus = 0x82, .pci_device_id = 0x13F210DE};
    memcpy(info, &full, offsetof(struct nvml_pci_info, bus_id));
    return NVML_OK;
}

int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list)
{
    (void)d;
    if (*n < 3) {
        *n = 3;
        return NVML_INSUFFICIENT_SIZE;
    }
    *n = 3;
    for (uint32_t i = 0; i < 3; i++)
        list[i] = (struct nvml_process_v1){300 - i, (uint64_t)(i + 1) * MIB};
    return NVML_OK;
}

int nvmlDeviceGetGraphicsRunningProcesses(struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list)
{
    (void)d;
    if (*n < 1) {
        *n = 1;
        return NVML_INSUFFICIENT_SIZE;
    }
    *n = 1;
    list[0] = (struct nvml_process_v1){300, NVML_NONE_U64}; /* in the other list too, with its memory */
    return NVML_OK;
}

#else

int nvmlInit_v2(void)
{
    return init();
}

int nvmlDeviceGetCount_v2(uint32_t *n)
{
    *n = 1;
    return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(uint32_t index, struct nvml_device **device)
{
    *device = GPU;
    return index == 0 ? NVML_OK : NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *d, uint32_t *n, struct nvml_process *list)
{
    (void)d;
    uint32_t room = *n;
    *n = 1;
    if (room < 1)
        return NVML_INSUFFICIENT_SIZE;
    list[0] = (struct nvml_process){77, 5 * MIB, 13, 0};
    return NVML_OK;
}

int nvmlDeviceGetMigMode(struct nvml_device *d, uint32_t *now, uint32_t *pending)
{
    (void)d;
    *now = *pending = 1;
    return NVML_OK;
}

int nvmlDeviceGetGpuInstanceProfileInfo(struct nvml_device *d, uint32_t profile, struct nvml_gi_profile *info)
{
    (void)d;
    if (profile == NVML_GI_1)
        *info = (struct nvml_gi_profile){19, 0, 1, 7, 14, 1, 0, 0, 0, 0, 4864};
    else if (profile == NVML_GI_3)
        *info = (struct nvml_gi_profile){9, 0, 3, 2, 42, 3, 2, 0, 0, 0, 20096};
    else
        return profile < 8 ? NVML_NOT_SUPPORTED : NVML_INVALID_ARGUMENT;
    return NVML_OK;
}

int nvmlDeviceGetGpuInstancePossiblePlacements(struct nvml_device *d, uint32_t profile_id, struct nvml_placement *list,
                                               uint32_t *n)
{
    (void)d;
    *n = profile_id == 19 ? 7 : 2;
    for (uint32_t i = 0; list && i < *n; i++)
        list[i] = profile_id == 19 ? (struct nvml_placement){i, 1} : (struct nvml_placement){4 * i, 4};
    return NVML_OK;
}

static uint32_t created_id = DESTROYED;

int nvmlDeviceCreateGpuInstance(struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **gi)
{
    (void)d;
    if (profile_id != 19)
        return NVML_INSUFFICIENT_RESOURCES;
    created_id = 7;
    *gi = GI(created_id);
    return NVML_OK;
}

int nvmlDeviceGetGpuInstances(struct nvml_device *d, uint32_t profile_id, struct nvml_gpu_instance **list, uint32_t *n)
{
    (void)d;
    *n = profile_id == 19 ? 1 + (created_id != DESTROYED) : 0;
    if (*n > 0)
        list[0] = GI(13);
    if (*n > 1)
        list[1] = GI(created_id);
    return NVML_OK;
}

int nvmlDeviceGetGpuInstanceById(struct nvml_device *d, uint32_t id, struct nvml_gpu_instance **gi)
{
    (void)d;
    *gi = GI(id);
    return id == 13 || id == created_id ? NVML_OK : NVML_NOT_FOUND;
}

int nvmlGpuInstanceGetInfo(struct nvml_gpu_instance *gi, struct nvml_gi_info *info)
{
    uint32_t id = (uint32_t)((size_t)gi - 0x2000);
    *info = (struct nvml_gi_info){GPU, id, 19, {id == 13 ? 6 : 0, 1}};
    return NVML_OK;
}

int nvmlGpuInstanceDestroy(struct nvml_gpu_instance *gi)
{
    if (gi == GI(13))
        return NVML_IN_USE;
    created_id = DESTROYED;
    return NVML_OK;
}

#if FAKE_MIG >= 2
int nvmlGpuInstanceGetComputeInstanceProfileInfo(struct nvml_gpu_instance *gi, uint32_t profile, uint32_t engine,
                                                 struct nvml_ci_profile *info)
{
    (void)engine;
    *info = (struct nvml_ci_profile){0, 1, 1, 14, 1, 0, 0, 0, 0};
    return profile == NVML_CI_1 ? NVML_OK : NVML_NOT_SUPPORTED;
}

int nvmlGpuInstanceCreateComputeInstance(struct nvml_gpu_instance *gi, uint32_t profile_id, struct nvml_compute_instance **ci)
{
    *ci = (struct nvml_compute_instance *)(void *)gi;
    return profile_id == 0 ? NVML_OK : NVML_INVALID_ARGUMENT;
}

int nvmlGpuInstanceCreateComputeInstanceWithPlacement(struct nvml_gpu_instance *gi, uint32_t profile_id, const struct nvml_placement *at,
                                                      struct nvml_compute_instance **ci)
{
    return NVML_NOT_SUPPORTED;
}
#endif

int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *d, uint32_t *n)
{
    (void)d;
    *n = 7;
    return NVML_OK;
}

/* The one device is at index 4: before it and after it are holes. */
int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *d, uint32_t index, struct nvml_device **mig)
{
    (void)d;
    *mig = MIG(13);
    return index == 4 ? NVML_OK : NVML_NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(struct nvml_device *mig, uint32_t *id)
{
    *id = (uint32_t)((size_t)mig - 0x3000);
    return NVML_OK;
}

int nvmlDeviceGetComputeInstanceId(struct nvml_device *mig, uint32_t *id)
{
    (void)mig;
    *id = 0;
    return NVML_OK;
}

int nvmlDeviceGetAttributes_v2(struct nvml_device *mig, struct nvml_attributes *attributes)
{
    (void)mig;
    *attributes = (struct nvml_attributes){14, 1, 0, 0, 0, 0, 1, 1, 4864};
    return NVML_OK;
}

#endif
