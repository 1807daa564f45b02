/* topology.c - calls about where GPUs are: CPUs and memory near them, how near they are to each other, the NVLink fabric
 *
 * The machine: two NUMA nodes, pairs of GPUs behind one PCIe switch.
 * SOURCE the usual eight-GPU board.
 */
#include "libnvsim.h"

/* Bits first .. first + bits_n of a mask of `words_n` words. */
static void mask_fill(unsigned long *words, uint32_t words_n, uint32_t first, uint32_t bits_n)
{
    const uint32_t word_bits = 8 * sizeof *words;
    memset(words, 0, words_n * sizeof *words);
    for (uint32_t bit = first; bit < first + bits_n && bit / word_bits < words_n; bit++)
        words[bit / word_bits] |= 1ul << bit % word_bits;
}

int nvmlDeviceGetCpuAffinityWithinScope(struct nvml_device *d, uint32_t words_n, unsigned long *words, uint32_t scope)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    uint32_t first, cpus_n;
    if (!words || words_n == 0 || scope > NVML_AFFINITY_SOCKET)
        return NVML_INVALID_ARGUMENT;
    nvsim_numa_cpus(v.model, v.g.numa_node, &first, &cpus_n);
    mask_fill(words, words_n, first, cpus_n);
    return NVML_OK;
}

int nvmlDeviceGetCpuAffinity(struct nvml_device *d, uint32_t words_n, unsigned long *words)
{
    return nvmlDeviceGetCpuAffinityWithinScope(d, words_n, words, NVML_AFFINITY_NODE);
}

int nvmlDeviceGetMemoryAffinity(struct nvml_device *d, uint32_t words_n, unsigned long *words, uint32_t scope)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!words || words_n == 0 || scope > NVML_AFFINITY_SOCKET)
        return NVML_INVALID_ARGUMENT;
    mask_fill(words, words_n, (uint32_t)v.g.numa_node, 1);
    return NVML_OK;
}

/* ---- two GPUs ---- */

static int level_between(const struct view *a, const struct view *b)
{
    if (a->gpu == b->gpu)
        return NVML_TOPOLOGY_INTERNAL;
    if (a->g.numa_node != b->g.numa_node)
        return NVML_TOPOLOGY_SYSTEM;
    return a->gpu / 2 == b->gpu / 2 ? NVML_TOPOLOGY_MULTIPLE : NVML_TOPOLOGY_NODE;
}

static bool linked(const struct view *a, const struct view *b)
{
    const struct gpu_model *m = a->model;
    if (!m->nvlink_n || a->gpu == b->gpu)
        return false;
    return m->nvswitch || (m->node_link_group_n > 1 && a->gpu / m->node_link_group_n == b->gpu / m->node_link_group_n);
}

int nvmlDeviceGetTopologyCommonAncestor(struct nvml_device *d, struct nvml_device *other, int *level)
{
    VIEW_GPU(a, d, NVML_INVALID_ARGUMENT);
    VIEW_GPU(b, other, NVML_INVALID_ARGUMENT);
    if (!level)
        return NVML_INVALID_ARGUMENT;
    *level = level_between(&a, &b);
    return NVML_OK;
}

int nvmlDeviceGetTopologyNearestGpus(struct nvml_device *d, int level, uint32_t *n, struct nvml_device **list)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!n || (*n && !list) || level < NVML_TOPOLOGY_INTERNAL || level > NVML_TOPOLOGY_SYSTEM || level % 10)
        return NVML_INVALID_ARGUMENT;
    uint32_t room = *n, found = 0;
    for (uint32_t i = 0; i < v.node->gpus_n; i++) {
        struct view other;
        if (i == v.gpu || view_device(device_of_gpu(i), &other) != NVML_OK || level_between(&v, &other) > level)
            continue;
        if (found < room)
            list[found] = device_of_gpu(i);
        found++;
    }
    *n = room && room < found ? room : found; /* with room it fills what there is */
    return NVML_OK;
}

int nvmlDeviceGetP2PStatus(struct nvml_device *d, struct nvml_device *other, int index, int *status)
{
    VIEW_GPU(a, d, NVML_INVALID_ARGUMENT);
    VIEW_GPU(b, other, NVML_INVALID_ARGUMENT);
    if (!status || index < NVML_P2P_READ || index > NVML_P2P_PCI)
        return NVML_INVALID_ARGUMENT;
    bool needs_link = index == NVML_P2P_NVLINK || index == NVML_P2P_ATOMICS, ok = needs_link ? linked(&a, &b) : true;
    *status = !ok || a.g.mig.mode || b.g.mig.mode ? NVML_P2P_NOT_SUPPORTED : NVML_P2P_OK; /* MIG turns peer access off */
    return NVML_OK;
}

int nvmlDeviceOnSameBoard(struct nvml_device *d, struct nvml_device *other, int *same)
{
    VIEW_GPU(a, d, NVML_INVALID_ARGUMENT);
    VIEW_GPU(b, other, NVML_INVALID_ARGUMENT);
    if (!same)
        return NVML_INVALID_ARGUMENT;
    *same = a.gpu == b.gpu;
    return NVML_OK;
}

/* ---- fabric ---- */

/* Trays of a rack (fewer than eight GPUs, all on switches) are in one cluster: their names differ in the number at the end. A board whose
 * switches serve it alone has no cluster UUID. */
static void cluster_uuid(const struct view *v, uint8_t uuid[16])
{
    const char *name = v->node->state->node;
    size_t n = strlen(name);
    memset(uuid, 0, 16);
    if (v->model->nvml_architecture < NVML_ARCH_BLACKWELL || v->model->node_gpus_n >= 8)
        return;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    uint64_t words[2] = {nvsim_hash(7, name, n), nvsim_hash(8, name, n)};
    memcpy(uuid, words, 16);
}

static struct nvml_fabric_info_v3 fabric_of(const struct view *v)
{
    struct nvml_fabric_info_v3 f = {.status = NVML_OK};
    if (!v->model->nvswitch || v->model->nvml_architecture < NVML_ARCH_HOPPER)
        return f;
    cluster_uuid(v, f.cluster_uuid);
    f.state = NVML_FABRIC_COMPLETED;
    uint32_t bad = v->g.fabric_unhealthy ? 1 : 2; /* 1 yes, 2 no */
    f.health_mask = bad << NVML_FABRIC_DEGRADED_BANDWIDTH | 2u << NVML_FABRIC_ROUTE_RECOVERY | bad << NVML_FABRIC_ROUTE_UNHEALTHY |
                    2u << NVML_FABRIC_ACCESS_TIMEOUT;
    f.health_summary = v->g.fabric_unhealthy ? NVML_FABRIC_UNHEALTHY : NVML_FABRIC_HEALTHY;
    return f;
}

int nvmlDeviceGetGpuFabricInfo(struct nvml_device *d, struct nvml_fabric_info *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    struct nvml_fabric_info_v3 f = fabric_of(&v);
    memcpy(info->cluster_uuid, f.cluster_uuid, sizeof info->cluster_uuid);
    info->status = f.status;
    info->clique_id = f.clique_id;
    info->state = f.state;
    return NVML_OK;
}

int nvmlDeviceGetGpuFabricInfoV(struct nvml_device *d, struct nvml_fabric_info_v2 *info)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!info)
        return NVML_INVALID_ARGUMENT;
    if (info->version != NVML_FABRIC_INFO_V2 && info->version != NVML_FABRIC_INFO_V3)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    struct nvml_fabric_info_v3 f = fabric_of(&v);
    f.version = info->version;
    /* v3 has one field more at the end. */
    memcpy(info, &f, f.version == NVML_FABRIC_INFO_V3 ? sizeof f : sizeof *info);
    return NVML_OK;
}
