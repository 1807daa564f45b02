/* link.c - calls about what a GPU is connected with: PCIe and NVLink
 *
 * NVLink: on a board with switches every link ends in one; else a GPU shares its links out evenly among the others of its group, and a link
 * to a GPU that the node does not have is down.
 */
#include <stdio.h>
#include <time.h>
#include "libnvsim.h"

/* ---- PCIe ---- */

NUMBER_CALL(nvmlDeviceGetPcieReplayCounter, uint32_t, v.g.pcie_replays)
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkGeneration, uint32_t, v.model->pcie_generation)
NUMBER_CALL(nvmlDeviceGetMaxPcieLinkWidth, uint32_t, v.model->pcie_width)
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkWidth, uint32_t, v.model->pcie_width)
/* The link of a part without HBM falls to generation 1 when nothing runs. */
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkGeneration, uint32_t,
            v.g.load.processes_n || nvsim_model_is_hbm(v.model) ? v.model->pcie_generation : 1)

int nvmlDeviceGetPcieThroughput(struct nvml_device *d, int counter, uint32_t *kib_s)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!kib_s || (counter != NVML_PCIE_TX && counter != NVML_PCIE_RX))
        return NVML_INVALID_ARGUMENT;
    const struct timespec window = {.tv_nsec = 20000000}; /* the hardware counts for 20 ms */
    (void)nanosleep(&window, NULL);
    struct nvsim_gpu later = v.g;
    nvsim_physics_fold(&later, v.model, v.now_us + 1000000);
    *kib_s = (uint32_t)(counter == NVML_PCIE_TX ? later.pcie_tx_kib - v.g.pcie_tx_kib : later.pcie_rx_kib - v.g.pcie_rx_kib);
    return NVML_OK;
}

/* ---- NVLink ---- */

/* The GPU at the other end; -1: a switch; -2: nothing. */
static int link_peer(const struct view *v, uint32_t link)
{
    const struct gpu_model *m = v->model;
    if (m->nvswitch)
        return -1;
    uint32_t group_n = m->node_link_group_n;
    if (group_n < 2)
        return -2;
    uint32_t at = link / (m->nvlink_n / (group_n - 1)), first = v->gpu / group_n * group_n, own = v->gpu - first;
    uint32_t peer = first + (at < own ? at : at + 1);
    return at < group_n - 1 && peer < v->node->gpus_n ? (int)peer : -2;
}

static bool link_is_up(const struct view *v, uint32_t link)
{
    return !(v->g.nvlink_down & 1u << link) && link_peer(v, link) != -2;
}

static int link_view(const struct nvml_device *d, uint32_t link, struct view *v)
{
    int code = view_gpu(d, v, NVML_NOT_SUPPORTED);
    if (code != NVML_OK)
        return code;
    if (!v->model->nvlink_n)
        return NVML_NOT_SUPPORTED;
    return link < v->model->nvlink_n && link < NVSIM_LINKS_MAX ? NVML_OK : NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetNvLinkState(struct nvml_device *d, uint32_t link, int *active)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code == NVML_OK && !active)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        *active = link_is_up(&v, link);
    return code;
}

int nvmlDeviceGetNvLinkVersion(struct nvml_device *d, uint32_t link, uint32_t *version)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code == NVML_OK && !version)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK) /* NVML's numbers skip: 2.0 is 2, 2.2 is 3, 3.0 is 4, 3.1 is 5, 4.0 is 6, 5.0 is 7 */
        *version = v.model->nvlink_version < 3 ? v.model->nvlink_version : v.model->nvlink_version == 3 ? 4 : v.model->nvlink_version + 2u;
    return code;
}

int nvmlDeviceGetNvLinkCapability(struct nvml_device *d, uint32_t link, int capability, uint32_t *has)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code != NVML_OK)
        return code;
    if (!has || capability < NVML_LINK_P2P || capability > NVML_LINK_VALID)
        return NVML_INVALID_ARGUMENT;
    *has = capability == NVML_LINK_VALID || capability == NVML_LINK_P2P || capability == NVML_LINK_P2P_ATOMICS ||
           capability == NVML_LINK_SYSMEM;
    return NVML_OK;
}

/* PCI place of the switch at the end of a link: six of them, links spread over them. */
static void switch_pci(uint32_t link, struct nvml_pci_info *p)
{
    memset(p, 0, sizeof *p);
    p->bus = 0xc1 + link % 6;
    p->pci_device_id = 0x22a310de;
    (void)snprintf(p->bus_id_legacy, sizeof p->bus_id_legacy, "0000:%02X:00.0", p->bus);
    (void)snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", p->bus);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *d, uint32_t link, struct nvml_pci_info *info)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code != NVML_OK)
        return code;
    if (!info)
        return NVML_INVALID_ARGUMENT;
    int peer = link_is_up(&v, link) ? link_peer(&v, link) : -2;
    if (peer == -2)
        return NVML_NOT_SUPPORTED;
    if (peer >= 0)
        return nvmlDeviceGetPciInfo_v3(device_of_gpu((uint32_t)peer), info);
    switch_pci(link, info);
    return NVML_OK;
}

int nvmlDeviceGetNvLinkRemotePciInfo(struct nvml_device *d, uint32_t link, struct nvml_pci_info *info)
{
    struct nvml_pci_info whole;
    int code = nvmlDeviceGetNvLinkRemotePciInfo_v2(d, link, &whole);
    if (code == NVML_OK && !info)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        memcpy(info, &whole, offsetof(struct nvml_pci_info, bus_id)); /* callers of the older name have no more room */
    return code;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *d, uint32_t link, int *type)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code != NVML_OK)
        return code;
    if (!type)
        return NVML_INVALID_ARGUMENT;
    if (!link_is_up(&v, link))
        return NVML_NOT_SUPPORTED;
    *type = link_peer(&v, link) == -1 ? NVML_REMOTE_SWITCH : NVML_REMOTE_GPU;
    return NVML_OK;
}

int nvmlDeviceGetNvLinkErrorCounter(struct nvml_device *d, uint32_t link, int counter, unsigned long long *n)
{
    struct view v;
    int code = link_view(d, link, &v);
    if (code != NVML_OK)
        return code;
    if (!n || counter < NVML_LINK_ERROR_REPLAY || counter > NVML_LINK_ERROR_ECC_DATA)
        return NVML_INVALID_ARGUMENT;
    *n = counter == NVML_LINK_ERROR_CRC_FLIT ? v.g.nvlink_errors[link] : 0;
    return NVML_OK;
}

int nvmlDeviceResetNvLinkErrorCounters(struct nvml_device *d, uint32_t link)
{
    struct view v;
    struct edit e;
    int code = link_view(d, link, &v);
    if (code == NVML_OK)
        code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    e.g->nvlink_errors[link] = 0;
    edit_commit(&e);
    return NVML_OK;
}
