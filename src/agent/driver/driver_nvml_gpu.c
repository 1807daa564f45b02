/* driver_nvml_gpu.c - one GPU, read in its thread: identity once, what changes every time
 *
 * A value that the library refuses is left as it was or at "unknown"; only GPU_IS_LOST ends the reading.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/driver/driver_nvml_part.h"

enum {
    EVENTS_WANTED = NVML_EVENT_ECC_SINGLE | NVML_EVENT_ECC_DOUBLE | NVML_EVENT_XID | NVML_EVENT_MIG_CONFIG |
                    NVML_EVENT_GPU_UNAVAILABLE
};
enum { NVLINKS_EVERY = 6 }; /* readings: they are a call for each link, and train late, go down and come back */
enum { PROCESSES_TRIES = 5, PROCESSES_SPARE = 16 };

void gpu_facts_free(struct gpu_facts *f)
{
    if (!f)
        return;
    free(f->geometry);
    f->geometry = NULL;
}

void gpu_facts_copy(struct gpu_facts *to, const struct gpu_facts *from)
{
    *to = *from;
    if (!from->geometry)
        return;
    struct gpu_geometry *g = mem_alloc(sizeof *g);
    *g = *from->geometry;
    g->model.profiles = g->profiles;
    g->model.name = g->model.key = g->name;
    for (uint32_t i = 0; i < g->model.profiles_n; i++)
        g->profiles[i].name = g->names[i];
    to->geometry = g;
}

/* ---- sysfs ---- */

/* A small file as a number (any base that C knows). False: not there, not a number. */
static bool number_read(const char *path, long *ret_number)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    char *end;
    *ret_number = strtol(text, &end, 0);
    return end != text;
}

static void read_sysfs(const char *sys_root, struct driver_gpu *g)
{
    char path[512];
    long number;
    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/numa_node", sys_root, g->bus_id);
    if (number_read(path, &number) && number >= 0 && number <= INT16_MAX)
        g->numa_node = (int16_t)number;
    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/class", sys_root, g->bus_id);
    if (number_read(path, &number) && number > 0 && number <= 0xffffff)
        g->pci_class = (uint32_t)number;
}

/* ---- identity ---- */

static void read_pci(struct nvml *n, struct nvml_device *d, struct driver_gpu *g)
{
    struct nvml_pci_info info = {0};
    int code = NVML_FUNCTION_NOT_FOUND;
    if (n->pci)
        code = n->pci(d, &info);
    else if (n->pci_old)
        code = n->pci_old(d, &info);
    if (code == NVML_OK) {
        g->pci_device_id = info.pci_device_id;
        g->pci_subsystem_id = info.pci_subsystem_id;
        (void)snprintf(g->bus_id, sizeof g->bus_id, "%04x:%02x:%02x.0", info.domain, info.bus & 0xff,
                       info.device & 0xff);
    }
    struct nvml_pci_info_ext ext = {.version = NVML_PCI_INFO_EXT_V1};
    if (n->pci_ext && n->pci_ext(d, &ext) == NVML_OK)
        g->pci_class = (ext.base_class & 0xff) << 16 | (ext.sub_class & 0xff) << 8;
}

static void read_memory(struct nvml *n, struct nvml_device *d, struct driver_gpu *g)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory v1 = {0};
    if (n->memory_v2 && n->memory_v2(d, &v2) == NVML_OK)
        g->memory_mib = (uint32_t)(v2.total_bytes >> 20);
    else if (n->memory && n->memory(d, &v1) == NVML_OK)
        g->memory_mib = (uint32_t)(v1.total_bytes >> 20);
}

static void read_nvlinks(struct nvml *n, struct nvml_device *d, struct gpu_facts *f)
{
    struct nvml_field_value count = {.field = NVML_FIELD_NVLINK_N};
    uint32_t links_n = NVML_NVLINKS_MAX;
    f->nvlinks_n = f->nvlinks_age = 0;
    if (!n->nvlink_state)
        return;
    if (n->field_values && n->field_values(d, 1, &count) == NVML_OK && count.code == NVML_OK &&
        count.value.u32 < links_n)
        links_n = count.value.u32;
    for (uint32_t i = 0; i < links_n; i++) {
        int active = 0, type = NVML_REMOTE_UNKNOWN;
        int code = n->nvlink_state(d, i, &active);
        if (code == NVML_NOT_SUPPORTED || code == NVML_INVALID_ARGUMENT || code == NVML_GPU_IS_LOST)
            break;
        if (code != NVML_OK || active != NVML_ENABLED)
            continue;
        struct nvml_pci_info remote = {0};
        struct gpu_nvlink *link = &f->nvlinks[f->nvlinks_n++];
        if (n->nvlink_remote_type)
            (void)n->nvlink_remote_type(d, i, &type); /* stays unknown */
        link->type = (uint8_t)type;
        link->bus = 0;
        if (n->nvlink_remote_pci && n->nvlink_remote_pci(d, i, &remote) == NVML_OK)
            link->bus = (uint64_t)remote.domain << 32 | (remote.bus & 0xff) << 8 | (remote.device & 0xff);
    }
}

/* False: lost, or it does not even tell its UUID. */
static bool read_identity(struct nvml *n, struct nvml_device *d, uint32_t index, const char *sys_root,
                          struct gpu_facts *f)
{
    struct driver_gpu *g = &f->gpu;
    char uuid[NVML_UUID_LENGTH] = "", name[NVML_NAME_LENGTH] = "", serial[NVML_SERIAL_LENGTH] = "";
    uint32_t minor = index, architecture = 0;
    int brand = 0, major = 0, minor_capability = 0;
    if (n->uuid(d, uuid, sizeof uuid) != NVML_OK)
        return false;
    *g = (struct driver_gpu){.index = (uint16_t)index, .numa_node = -1};
    (void)snprintf(g->uuid, sizeof g->uuid, "%.47s", uuid);
    if (n->name && n->name(d, name, sizeof name) == NVML_OK)
        (void)snprintf(g->name, sizeof g->name, "%s", name);
    if (n->serial && n->serial(d, serial, sizeof serial) == NVML_OK)
        (void)snprintf(g->serial, sizeof g->serial, "%s", serial);
    if (n->minor && n->minor(d, &minor) == NVML_OK)
        g->minor = (uint16_t)minor;
    else
        g->minor = (uint16_t)index;
    if (n->architecture && n->architecture(d, &architecture) == NVML_OK)
        g->architecture = (uint8_t)architecture;
    if (n->brand && n->brand(d, &brand) == NVML_OK)
        g->brand = (uint8_t)brand;
    if (n->compute_capability && n->compute_capability(d, &major, &minor_capability) == NVML_OK) {
        g->compute_major = (uint8_t)major;
        g->compute_minor = (uint8_t)minor_capability;
    }
    read_pci(n, d, g);
    read_memory(n, d, g);
    read_sysfs(sys_root, g);
    read_nvlinks(n, d, f);
    return true;
}

/* ---- what changes ---- */

static void cluster_text(const uint8_t u[16], char ret_text[40])
{
    (void)snprintf(ret_text, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
                   u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void read_fabric(struct nvml *n, struct nvml_device *d, struct driver_gpu *g)
{
    struct nvml_fabric_info_v2 v2 = {.version = NVML_FABRIC_INFO_V2};
    struct nvml_fabric_info v1 = {0};
    g->fabric_state = NVML_FABRIC_NOT_SUPPORTED;
    g->fabric_cluster[0] = '\0';
    g->fabric_clique = 0;
    if (n->fabric_versioned && n->fabric_versioned(d, &v2) == NVML_OK) {
        memcpy(v1.cluster_uuid, v2.cluster_uuid, sizeof v1.cluster_uuid);
        v1.status = v2.status;
        v1.clique_id = v2.clique_id;
        v1.state = v2.state;
    } else if (!n->fabric || n->fabric(d, &v1) != NVML_OK) {
        return;
    }
    g->fabric_state = v1.state;
    if (v1.state != NVML_FABRIC_COMPLETED || v1.status != NVML_OK)
        return;
    g->fabric_clique = v1.clique_id;
    cluster_text(v1.cluster_uuid, g->fabric_cluster);
}

static void register_events(struct nvml *n, struct nvml_device *d, struct gpu_facts *f)
{
    unsigned long long types = 0;
    if (f->registered || !n->events || !n->event_types || !n->event_register || n->event_types(d, &types) != NVML_OK)
        return;
    types &= EVENTS_WANTED;
    f->registered = types != 0 && n->event_register(d, types, n->events) == NVML_OK;
    f->mig_events = f->registered && (types & NVML_EVENT_MIG_CONFIG);
}

/* What XID 154 tells of: drivers since R570. */
static void read_recovery(struct nvml *n, struct nvml_device *d, struct driver_gpu *g)
{
    struct nvml_field_value f = {.field = NVML_FIELD_RECOVERY_ACTION, .code = NVML_UNKNOWN};
    bool told = n->field_values && n->field_values(d, 1, &f) == NVML_OK && f.code == NVML_OK && f.value_type == NVML_VALUE_U32;
    g->recovery_told = told;
    g->recovery = told && f.value.u32 <= UINT8_MAX ? (uint8_t)f.value.u32 : NVML_RECOVERY_NONE;
}

/* False: the GPU is lost. */
static bool read_mode(struct nvml *n, struct nvml_device *d, struct gpu_facts *f)
{
    uint32_t mode = 0, pending = 0;
    int code = n->mig_mode ? n->mig_mode(d, &mode, &pending) : NVML_NOT_SUPPORTED;
    f->gpu.mig_capable = code == NVML_OK;
    f->gpu.mig_on = code == NVML_OK && mode;
    f->gpu.mig_pending = code == NVML_OK && mode != pending;
    memset(&f->mig, 0, sizeof f->mig);
    f->mig.mode = f->gpu.mig_on;
    f->mig.mode_pending = code == NVML_OK && pending;
    f->migs_n = 0;
    return code != NVML_GPU_IS_LOST;
}

static bool still_there(struct nvml *n, struct nvml_device *d)
{
    char uuid[NVML_UUID_LENGTH];
    struct nvml_memory memory;
    return n->uuid(d, uuid, sizeof uuid) != NVML_GPU_IS_LOST &&
           (!n->memory || n->memory(d, &memory) != NVML_GPU_IS_LOST);
}

void gpu_facts_read(struct nvml *n, struct nvml_device *d, uint32_t index, const char *sys_root, struct gpu_facts *f)
{
    bool was_lost = f->lost, anew = !f->known || was_lost || f->stale, mig_was = f->gpu.mig_on;
    uint8_t fabric_was = f->gpu.fabric_state;
    f->lost = true;
    if (!still_there(n, d))
        return;
    if (anew && !read_identity(n, d, index, sys_root, f))
        return;
    if (was_lost || f->stale)
        f->registered = false; /* a GPU that came back has forgotten it */
    f->known = true;
    f->stale = false;
    if (!read_mode(n, d, f))
        return;
    if (anew || f->gpu.mig_on != mig_was)
        gpu_facts_free(f); /* another driver may have other profiles; some tell all of them only while the mode is on */
    if (f->gpu.mig_capable && !f->geometry)
        f->geometry = gpu_geometry_read(n, d, f);
    read_fabric(n, d, &f->gpu);
    if (!anew && (f->gpu.fabric_state != fabric_was || ++f->nvlinks_age >= NVLINKS_EVERY))
        read_nvlinks(n, d, f);
    read_recovery(n, d, &f->gpu);
    register_events(n, d, f);
    struct driver_process *list = NULL;
    int list_n = gpu_processes_read(n, d, index, &list, NULL);
    bool there = list_n != -E_GONE;
    f->gpu.processes_n = (uint16_t)(list_n > 0 ? list_n : 0);
    if (there && f->gpu.mig_on)
        there = gpu_migs_read(n, d, f, list, list_n > 0 ? (uint32_t)list_n : 0);
    free(list);
    f->lost = !there;
}

/* ---- processes ---- */

struct process_list {
    struct driver_process *items;
    uint32_t n, cap;
    uint16_t gpu;
};
typedef int (*processes_fn)(struct nvml_device *d, uint32_t *n, struct nvml_process *list);
typedef int (*processes_v1_fn)(struct nvml_device *d, uint32_t *n, struct nvml_process_v1 *list);

enum { STRIDE_MAX = 32, UNWRITTEN = 0xa5 };

static bool is_unwritten(const uint8_t *from, const uint8_t *to)
{
    while (from < to && *from == UNWRITTEN)
        from++;
    return from == to;
}

/* Entries of n * 16, 24 or 32 bytes: drivers of R535 wrote longer ones under the same name. Seen by how far the buffer was written. */
static size_t stride_of(const uint8_t *room, uint32_t n)
{
    if (!is_unwritten(room + (size_t)n * sizeof(struct nvml_process), room + (size_t)n * STRIDE_MAX))
        return STRIDE_MAX;
    return is_unwritten(room + (size_t)n * sizeof(struct nvml_process_v1), room + (size_t)n * sizeof(struct nvml_process))
               ? sizeof(struct nvml_process_v1)
               : sizeof(struct nvml_process);
}

static struct nvml_process *entries_take(const uint8_t *room, uint32_t n)
{
    struct nvml_process *list = mem_alloc((n + 1) * sizeof *list);
    size_t stride = stride_of(room, n), take = stride < sizeof *list ? stride : sizeof *list;
    for (uint32_t i = 0; i < n; i++) {
        list[i] = (struct nvml_process){.gpu_instance = NVML_NONE_U32, .compute_instance = NVML_NONE_U32};
        memcpy(&list[i], room + i * stride, take);
    }
    return list;
}

static void process_add(struct process_list *to, uint32_t pid, uint32_t gi, uint32_t ci, uint64_t bytes)
{
    MEM_RESERVE(to->items, to->cap, to->n + 1);
    to->items[to->n++] = (struct driver_process){.pid = pid, .gi = gi, .ci = ci, .gpu = to->gpu, .memory_bytes = bytes};
}

/* Two calls: how many, then the list; more may have come between. */
int gpu_process_list_read(struct nvml *n, struct nvml_device *d, enum nvml_process_mode mode, struct nvml_process **ret_list,
                          uint32_t *ret_n)
{
    const struct {
        processes_fn fn;
        processes_v1_fn v1;
    } kinds[] = {[NVML_PROCESS_COMPUTE] = {n->compute_processes, n->compute_processes_v1},
                 [NVML_PROCESS_GRAPHICS] = {n->graphics_processes, n->graphics_processes_v1},
                 [NVML_PROCESS_MPS] = {n->mps_processes, n->mps_processes_v1}};
    uint32_t list_n = 0;
    *ret_list = NULL;
    *ret_n = 0;
    if (!kinds[mode].fn && !kinds[mode].v1)
        return NVML_FUNCTION_NOT_FOUND;
    int code = kinds[mode].fn ? kinds[mode].fn(d, &list_n, NULL) : kinds[mode].v1(d, &list_n, NULL);
    for (int i = 0; code == NVML_INSUFFICIENT_SIZE && i < PROCESSES_TRIES; i++) {
        list_n = list_n < LIMIT_GPU_PROCESSES ? list_n + PROCESSES_SPARE : LIMIT_GPU_PROCESSES;
        uint32_t room_n = list_n;
        _cleanup_free_ uint8_t *room = mem_alloc((size_t)room_n * STRIDE_MAX);
        memset(room, UNWRITTEN, (size_t)room_n * STRIDE_MAX);
        code = kinds[mode].fn ? kinds[mode].fn(d, &list_n, (struct nvml_process *)(void *)room)
                              : kinds[mode].v1(d, &list_n, (struct nvml_process_v1 *)(void *)room);
        if (code != NVML_OK)
            continue;
        *ret_n = list_n < room_n ? list_n : room_n;
        *ret_list = entries_take(room, *ret_n);
    }
    return code;
}

/* The same process may be in several lists (compute and graphics): once, with the larger memory that is known. */
static void processes_sort(struct process_list *l)
{
    if (l->n == 0)
        return;
    qsort(l->items, l->n, sizeof *l->items, driver_process_order);
    uint32_t n = 1;
    for (uint32_t i = 1; i < l->n; i++) {
        struct driver_process *last = &l->items[n - 1], *p = &l->items[i];
        if (driver_process_order(last, p) != 0)
            l->items[n++] = *p;
        else if (last->memory_bytes == NVML_NONE_U64 ||
                 (p->memory_bytes != NVML_NONE_U64 && p->memory_bytes > last->memory_bytes))
            last->memory_bytes = p->memory_bytes;
    }
    l->n = n;
}

int gpu_processes_read(struct nvml *n, struct nvml_device *d, uint32_t index, struct driver_process **ret_list,
                       struct err *e)
{
    struct process_list list = {.gpu = (uint16_t)index};
    int worst = NVML_OK;
    for (int mode = NVML_PROCESS_COMPUTE; mode <= NVML_PROCESS_MPS; mode++) {
        struct nvml_process *entries = NULL;
        uint32_t entries_n = 0;
        int code = gpu_process_list_read(n, d, (enum nvml_process_mode)mode, &entries, &entries_n);
        for (uint32_t i = 0; i < entries_n; i++)
            process_add(&list, entries[i].pid, entries[i].gpu_instance, entries[i].compute_instance, entries[i].used_bytes);
        free(entries);
        if (code == NVML_FUNCTION_NOT_FOUND)
            code = NVML_OK;
        if (code == NVML_GPU_IS_LOST || (mode == NVML_PROCESS_COMPUTE && code != NVML_OK && code != NVML_NOT_SUPPORTED))
            worst = code; /* without the compute processes the list would be a lie */
    }
    if (worst != NVML_OK) {
        free(list.items);
        return nvml_error(worst, e, "list the processes of GPU %u", index);
    }
    processes_sort(&list);
    *ret_list = list.items;
    return (int)list.n;
}
