/* identity.c - calls about who a GPU or MIG device is, and about its settings */
#include <stdio.h>
#include "libnvsim.h"

int nvmlDeviceGetIndex(struct nvml_device *d, uint32_t *index)
{
    VIEW_DEVICE(v, d);
    if (!index)
        return NVML_INVALID_ARGUMENT;
    *index = v.gpu;
    for (uint32_t i = 0; v.is_mig; i++) { /* of a MIG device: its place in the GPU's list */
        struct nvml_device *at;
        int code = nvmlDeviceGetMigDeviceHandleByIndex(device_of_gpu(v.gpu), i, &at);
        if (code == NVML_OK && at != d)
            continue;
        *index = i;
        return code;
    }
    return NVML_OK;
}

int nvmlDeviceGetName(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_DEVICE(v, d);
    char name[192], kind[64];
    if (!v.is_mig)
        return text_answer(v.model->name, text, length);
    compute_name(v.profile, v.compute->slices, kind);
    (void)snprintf(name, sizeof name, "%s MIG %s", v.model->name, kind);
    return text_answer(name, text, length);
}

int nvmlDeviceGetUUID(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_DEVICE(v, d);
    char uuid[48];
    if (v.is_mig)
        nvsim_uuid_text("MIG-", v.compute->uuid, uuid);
    return text_answer(v.is_mig ? uuid : v.g.uuid, text, length);
}

int nvmlDeviceGetSerial(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    return text_answer(v.g.serial, text, length);
}

int nvmlDeviceGetBoardPartNumber(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    return text_answer(v.model->part_number, text, length);
}

int nvmlDeviceGetInforomImageVersion(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    char version[32];
    (void)snprintf(version, sizeof version, "%.4s.0200.00.01", v.model->part_number + 5); /* named for the board's design */
    return text_answer(version, text, length);
}

int nvmlDeviceGetVbiosVersion(struct nvml_device *d, char *text, uint32_t length)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    return text_answer("00.00.00.00.00", text, length); /* as /proc/driver/nvidia/gpus says */
}

NUMBER_CALL(nvmlDeviceGetMinorNumber, uint32_t, v.g.minor)
NUMBER_CALL(nvmlDeviceGetBoardId, uint32_t, v.g.bus << 8)
NUMBER_CALL(nvmlDeviceGetMultiGpuBoard, uint32_t, 0)
NUMBER_CALL(nvmlDeviceGetNumGpuCores, uint32_t, v.model->core_n)
NUMBER_CALL(nvmlDeviceGetMemoryBusWidth, uint32_t, v.model->bus_width_bits)
NUMBER_CALL(nvmlDeviceGetModuleId, uint32_t, v.g.module_id)
NUMBER_CALL(nvmlDeviceGetVirtualizationMode, int, NVML_VIRTUALIZATION_NONE)
NUMBER_CALL(nvmlDeviceGetPersistenceMode, int, v.g.persistence)
NUMBER_CALL(nvmlDeviceGetComputeMode, int, v.g.compute_mode)
NUMBER_CALL(nvmlDeviceGetDisplayActive, int, NVML_DISABLED)
NUMBER_CALL(nvmlDeviceGetDisplayMode, int, v.model->display_class ? NVML_DISABLED : NVML_ENABLED)
DEVICE_CALL(nvmlDeviceGetBrand, int, v.model->nvml_brand)
DEVICE_CALL(nvmlDeviceGetArchitecture, uint32_t, v.model->nvml_architecture)

/* Of the GPU's memory, where it is a node of its own: beside a Grace CPU. The nodes of the CPUs are the first two, eight follow for each
 * GPU. */
int nvmlDeviceGetNumaNodeId(struct nvml_device *d, uint32_t *node)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!node)
        return NVML_INVALID_ARGUMENT;
    if (!text_starts(v.model->name, "NVIDIA GB"))
        return NVML_NOT_SUPPORTED;
    *node = 2 + 8 * v.gpu;
    return NVML_OK;
}

int nvmlDeviceGetCudaComputeCapability(struct nvml_device *d, int *major, int *minor)
{
    VIEW_DEVICE(v, d);
    if (!major || !minor)
        return NVML_INVALID_ARGUMENT;
    *major = v.model->compute_major;
    *minor = v.model->compute_minor;
    return NVML_OK;
}

/* ---- PCI ---- */

static void pci_fill(const struct view *v, struct nvml_pci_info *p)
{
    memset(p, 0, sizeof *p);
    (void)snprintf(p->bus_id_legacy, sizeof p->bus_id_legacy, "%04X:%02X:00.0", v->g.domain & 0xffff, v->g.bus & 0xff);
    (void)snprintf(p->bus_id, sizeof p->bus_id, "%08X:%02X:00.0", v->g.domain, v->g.bus & 0xff);
    p->domain = v->g.domain;
    p->bus = v->g.bus;
    p->pci_device_id = v->model->pci_device_id;
    p->pci_subsystem_id = v->model->pci_subsystem_id;
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, struct nvml_pci_info *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    pci_fill(&v, info);
    return NVML_OK;
}

/* Callers of the older names have no room for the long bus id. */
static int pci_older(struct nvml_device *d, struct nvml_pci_info *info)
{
    struct nvml_pci_info whole;
    int code = nvmlDeviceGetPciInfo_v3(d, &whole);
    if (code == NVML_OK && !info)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        memcpy(info, &whole, offsetof(struct nvml_pci_info, bus_id));
    return code;
}

int nvmlDeviceGetPciInfo_v2(struct nvml_device *d, struct nvml_pci_info *info)
{
    return pci_older(d, info);
}

int nvmlDeviceGetPciInfo(struct nvml_device *d, struct nvml_pci_info *info)
{
    return pci_older(d, info);
}

int nvmlDeviceGetPciInfoExt(struct nvml_device *d, struct nvml_pci_info_ext *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != NVML_PCI_INFO_EXT_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct nvml_pci_info p;
    pci_fill(&v, &p);
    info->domain = p.domain;
    info->bus = p.bus;
    info->device = p.device;
    info->pci_device_id = p.pci_device_id;
    info->pci_subsystem_id = p.pci_subsystem_id;
    info->base_class = 3;
    info->sub_class = v.model->display_class ? 0 : 2;
    memcpy(info->bus_id, p.bus_id, sizeof info->bus_id);
    return NVML_OK;
}

int nvmlDeviceGetPlatformInfo(struct nvml_device *d, struct nvml_platform_info *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != NVML_PLATFORM_INFO_V2)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (v.model->nvml_architecture < NVML_ARCH_BLACKWELL || !v.model->nvswitch)
        return NVML_NOT_SUPPORTED;
    uint64_t node = nvsim_hash(1, v.node->state->node, strlen(v.node->state->node));
    memset(info->infiniband_guid, 0, sizeof info->infiniband_guid);
    memset(info->chassis_serial, 0, sizeof info->chassis_serial);
    memcpy(info->infiniband_guid, &v.g.seed, sizeof v.g.seed);
    (void)snprintf((char *)info->chassis_serial, sizeof info->chassis_serial, "1820%011llu", (unsigned long long)(node % 100000000000u));
    info->slot = info->tray = (uint8_t)(node % 18);
    info->host_id = 1;
    info->peer_type = 1; /* a switch */
    info->module_id = (uint8_t)v.g.module_id;
    return NVML_OK;
}

int nvmlDeviceGetAddressingMode(struct nvml_device *d, struct nvml_addressing_mode *mode)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!mode)
        return NVML_INVALID_ARGUMENT;
    if (mode->version != NVML_ADDRESSING_MODE_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    mode->mode = 0;
    return NVML_OK;
}

int nvmlDeviceValidateInforom(struct nvml_device *d)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    return NVML_OK;
}

/* ---- settings ---- */

SWITCH_CALL(nvmlDeviceSetPersistenceMode, NVML_INVALID_ARGUMENT, persistence)

int nvmlDeviceSetComputeMode(struct nvml_device *d, int mode)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    struct edit e;
    if (mode < NVML_COMPUTE_DEFAULT || mode > NVML_COMPUTE_EXCLUSIVE_PROCESS)
        return NVML_INVALID_ARGUMENT;
    if (mode == NVML_COMPUTE_EXCLUSIVE_THREAD || v.g.mig.mode) /* gone since CUDA 8; MIG devices have no such mode */
        return NVML_NOT_SUPPORTED;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    e.g->compute_mode = (uint8_t)mode;
    edit_commit(&e);
    return NVML_OK;
}
