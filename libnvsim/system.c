/* system.c - calls about the node: versions, how many GPUs, handles by index, UUID, bus and serial number */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>
#include "base/memory.h"
#include "libnvsim.h"

const char *nvmlErrorString(int code)
{
    return nvml_code_text(code);
}

/* ---- versions ---- */

int nvmlSystemGetDriverVersion(char *text, uint32_t length)
{
    int code;
    const struct nvsim *n = node_get(&code);
    return n ? text_answer(n->state->driver_version, text, length) : code;
}

int nvmlSystemGetNVMLVersion(char *text, uint32_t length)
{
    int code;
    const struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    char version[48]; /* API generation and driver: "13.580.95.05" */
    (void)snprintf(version, sizeof version, "%u.%s", n->state->cuda_version / 1000, n->state->driver_version);
    return text_answer(version, text, length);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    int code;
    const struct nvsim *n = node_get(&code);
    if (!version)
        return NVML_INVALID_ARGUMENT;
    if (n)
        *version = (int)n->state->cuda_version;
    return code;
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

/* ---- process names ---- */

/* The first argument of a live process. */
static bool name_from_proc(uint32_t pid, char *ret_name, size_t size)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret_name, size - 1);
    if (n <= 0)
        return false;
    ret_name[n] = '\0';
    return ret_name[0] != '\0';
}

/* As work was given it; false: no work of this pid, or it has no name. */
static bool name_from_work(struct nvsim *n, uint32_t pid, char *ret_name, size_t size, bool *ret_follows)
{
    struct nvsim_state *s = n->state;
    bool found = false;
    *ret_follows = true;
    if (nvsim_lock(n, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < s->processes_high && i < NVSIM_PROCESSES_MAX && !found; i++)
        if (s->process_gpu[i] && s->processes[i].work.pid == pid && s->processes[i].work.name[0]) {
            (void)snprintf(ret_name, size, "%s", s->processes[i].work.name);
            *ret_follows = s->processes[i].work.follow_pid;
            found = true;
        }
    nvsim_unlock(n);
    return found;
}

int nvmlSystemGetProcessName(uint32_t pid, char *text, uint32_t length)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!text || length == 0)
        return NVML_INVALID_ARGUMENT;
    char name[4096], given[64];
    bool follows, has_work = name_from_work(n, pid, given, sizeof given, &follows);
    /* A made-up pid may be that of another process by chance: what was said about it counts. */
    if (has_work && !follows)
        return text_answer(given, text, length);
    if (name_from_proc(pid, name, sizeof name))
        return text_answer(name, text, length);
    return has_work ? text_answer(given, text, length) : NVML_NOT_FOUND;
}

/* ---- handles ---- */

int nvmlDeviceGetCount_v2(uint32_t *n)
{
    int code;
    const struct nvsim *node = node_get(&code);
    if (!node)
        return code;
    if (!n)
        return NVML_INVALID_ARGUMENT;
    *n = node->gpus_n;
    return NVML_OK;
}

int nvmlDeviceGetCount(uint32_t *n)
{
    return nvmlDeviceGetCount_v2(n);
}

/* The handle of a GPU that is there; its own faults count. */
static int device_answer(uint32_t gpu, struct nvml_device **device)
{
    struct view v;
    int code = view_device(device_of_gpu(gpu), &v);
    if (code == NVML_OK)
        *device = device_of_gpu(gpu);
    return code;
}

int nvmlDeviceGetHandleByIndex_v2(uint32_t index, struct nvml_device **device)
{
    int code;
    const struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    return !device || index >= n->gpus_n ? NVML_INVALID_ARGUMENT : device_answer(index, device);
}

int nvmlDeviceGetHandleByIndex(uint32_t index, struct nvml_device **device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

/* The record of a GPU as it is, lost or not, for looking through all of them. */
static bool peek(struct nvsim *n, uint32_t gpu, struct nvsim_gpu *g)
{
    return nvsim_gpu_read(n, gpu, nvsim_now_us(), g, NULL) == 0;
}

/* "MIG-<uuid>", or the older "MIG-GPU-<uuid of the GPU>/<gi>/<ci>". */
static bool mig_is(const struct nvsim_gpu *g, const struct mig_instance *gi, const struct mig_compute *c, const char *uuid)
{
    char text[96];
    nvsim_uuid_text("MIG-", c->uuid, text);
    if (strcasecmp(text, uuid) == 0)
        return true;
    (void)snprintf(text, sizeof text, "MIG-%s/%u/%u", g->uuid, gi->id, c->id);
    return strcasecmp(text, uuid) == 0;
}

static struct nvml_device *mig_find(const struct nvsim_gpu *g, uint32_t gpu, const char *uuid)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        for (int k = 0; k < MIG_CI_MAX && g->mig.instances[i].used; k++) {
            const struct mig_instance *gi = &g->mig.instances[i];
            if (gi->computes[k].used && mig_is(g, gi, &gi->computes[k], uuid))
                return device_of_mig(gpu, gi->id, &gi->computes[k]);
        }
    return NULL;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **device)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!uuid || !device)
        return NVML_INVALID_ARGUMENT;
    struct nvsim_gpu g;
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        if (!peek(n, i, &g))
            return NVML_UNKNOWN;
        if (strcasecmp(g.uuid, uuid) == 0)
            return device_answer(i, device);
        struct nvml_device *mig = mig_find(&g, i, uuid);
        if (mig)
            return device_answer(i, device) == NVML_OK ? (*device = mig, NVML_OK) : NVML_GPU_IS_LOST;
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByUUIDV(const struct nvml_uuid *uuid, struct nvml_device **device)
{
    if (!uuid)
        return NVML_INVALID_ARGUMENT;
    if (uuid->version != NVML_UUID_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    char text[48];
    if (uuid->type == 1) {
        memcpy(text, uuid->value.text, sizeof uuid->value.text);
        text[sizeof uuid->value.text - 1] = '\0';
        return nvmlDeviceGetHandleByUUID(text, device);
    }
    if (uuid->type != 2)
        return NVML_INVALID_ARGUMENT;
    nvsim_uuid_text("GPU-", uuid->value.binary, text);
    int code = nvmlDeviceGetHandleByUUID(text, device);
    if (code != NVML_NOT_FOUND)
        return code;
    nvsim_uuid_text("MIG-", uuid->value.binary, text);
    return nvmlDeviceGetHandleByUUID(text, device);
}

/* domain:bus:device.function in hexadecimal; the domain and the function may be left out. */
static bool bus_id_parse(const char *text, uint32_t *ret_domain, uint32_t *ret_bus)
{
    uint32_t parts[3] = {0}, parts_n = 0;
    const char *at = text;
    while (parts_n < 3) {
        char *end;
        unsigned long v = strtoul(at, &end, 16);
        if (end == at || end - at > 8)
            return false;
        parts[parts_n++] = (uint32_t)v;
        at = end;
        if (*at != ':')
            break;
        at++;
    }
    bool function_is_0 = *at == '\0' || strcmp(at, ".0") == 0;
    *ret_domain = parts_n == 3 ? parts[0] : 0;
    *ret_bus = parts[parts_n == 3 ? 1 : 0];
    return parts_n >= 2 && function_is_0 && parts[parts_n - 1] == 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct nvml_device **device)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    uint32_t domain, bus;
    struct nvsim_gpu g;
    if (!bus_id || !device || !bus_id_parse(bus_id, &domain, &bus))
        return NVML_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < n->gpus_n; i++)
        if (peek(n, i, &g) && g.domain == domain && g.bus == bus)
            return device_answer(i, device);
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, struct nvml_device **device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

int nvmlDeviceGetHandleBySerial(const char *serial, struct nvml_device **device)
{
    int code;
    struct nvsim *n = node_get(&code);
    if (!n)
        return code;
    if (!serial || !device)
        return NVML_INVALID_ARGUMENT;
    struct nvsim_gpu g;
    for (uint32_t i = 0; i < n->gpus_n; i++)
        if (peek(n, i, &g) && strcmp(g.serial, serial) == 0)
            return device_answer(i, device);
    return NVML_NOT_FOUND;
}

/* GPUs whose NUMA node has this CPU. */
int nvmlSystemGetTopologyGpuSet(uint32_t cpu, uint32_t *n, struct nvml_device **list)
{
    int code;
    struct nvsim *node = node_get(&code);
    if (!node)
        return code;
    if (!n || (*n && !list))
        return NVML_INVALID_ARGUMENT;
    uint32_t room = *n, found = 0;
    struct nvsim_gpu g;
    for (uint32_t i = 0; i < node->gpus_n; i++) {
        uint32_t first, cpus_n;
        if (!peek(node, i, &g))
            return NVML_UNKNOWN;
        nvsim_numa_cpus(node->model, g.numa_node, &first, &cpus_n);
        if (cpu < first || cpu >= first + cpus_n)
            continue;
        if (found < room)
            list[found] = device_of_gpu(i);
        found++;
    }
    *n = found;
    return room && room < found ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}
