/* allocate.c - the answer to Allocate: each strategy adds its part to one answer */
#include "agent/plugin/allocate.h"
#include <stdio.h>
#include <stdlib.h>
#include "agent/mps/mps.h"
#include "base/collections/map.h"

#define VISIBLE "NVIDIA_VISIBLE_DEVICES"
#define MOUNT_ROOT "/var/run/nvidia-container-devices" /* SOURCE NVIDIA's device plugin */
#define MPS_ROOT "/mps"                                /* where containers see mpsRoot */
#define KETI_PIPE "/tmp/nvidia-mps"                    /* SOURCE KETI; pods mount it themselves */
#define ANY_CDI (DEVICE_LIST_CDI_ANNOTATIONS | DEVICE_LIST_CDI_CRI)

struct answer_maker {
    struct arena *arena;
    const struct inventory_snapshot *snapshot;
    const struct agent_config *config;
    const struct machine *machine;
    const struct resource *resource;
    const struct allocate_limits *limits;
    const struct unit **units; /* distinct, in the order of the slots */
    const char **ids;          /* of units, as deviceIDStrategy says */
    uint32_t units_n;
    bool shared;               /* one of the slots is a share */
    struct allocate_answer *answer;
    struct err *e;
};

static void add_env(struct answer_maker *m, const char *name, const char *value)
{
    m->answer->envs[m->answer->envs_n++] = (struct allocate_pair){name, value};
}

static void add_mount(struct answer_maker *m, const char *container, const char *host, bool read_only)
{
    m->answer->mounts[m->answer->mounts_n++] = (struct allocate_mount){container, host, read_only};
}

static const char *join_ids(struct answer_maker *m, const char *const *items, uint32_t n)
{
    _cleanup_buf_ struct buf text = {0};
    for (uint32_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i ? "," : "", items[i]);
    return arena_text_n(m->arena, text.n ? text.data : "", text.n);
}

/* ---- the request ---- */

static int take_slot(struct answer_maker *m, const char *id)
{
    const struct slot *slot = resource_find_slot(m->resource, id);
    if (!slot)
        return err_set(m->e, E_NOTFOUND, "%s: unknown device '%.80s'", m->resource->name, id);
    const struct unit *u = &m->snapshot->units[slot->unit];
    if (!slot_is_open(slot)) {
        _cleanup_buf_ struct buf state = {0};
        slot_state_text(slot, &state);
        return err_set(m->e, E_DENIED, "%s: device %s is not handed out now: %s", m->resource->name, id, state.data);
    }
    m->shared = m->shared || slot->shared;
    for (uint32_t i = 0; i < m->units_n; i++)
        if (m->units[i] == u)
            return 0;
    m->ids[m->units_n] = m->config->device_id_strategy == DEVICE_ID_INDEX && m->resource->sharing != SHARING_KETI
                             ? resource_unit_index(m->arena, u)
                             : u->uuid;
    m->units[m->units_n++] = u;
    return 0;
}

static int take_slots(struct answer_maker *m, const char *const *slots, uint32_t n)
{
    m->units = arena_zero(m->arena, n + 1, sizeof *m->units);
    m->ids = arena_zero(m->arena, n + 1, sizeof *m->ids);
    for (uint32_t i = 0; i < n; i++) {
        int failed = take_slot(m, slots[i]);
        if (failed < 0)
            return failed;
    }
    if (m->shared && n > 1 && m->resource->fail_requests_greater_than_one)
        return err_set(m->e, E_DENIED, "%s: a container can have 1 share, %u were asked for (failRequestsGreaterThanOne is true)",
                       m->resource->name, n);
    return 0;
}

/* ---- parts of the answer ---- */

static void add_strategies(struct answer_maker *m, bool imex)
{
    unsigned strategies = m->config->device_list_strategies;
    if (strategies & DEVICE_LIST_VOLUME_MOUNTS) {
        add_env(m, VISIBLE, MOUNT_ROOT);
        for (uint32_t i = 0; i < m->units_n; i++)
            add_mount(m, arena_printf(m->arena, MOUNT_ROOT "/%s", m->ids[i]), "/dev/null", false);
        if (imex)
            add_mount(m, MOUNT_ROOT "/imex/0", "/dev/null", false);
    } else if (strategies & DEVICE_LIST_ENVVAR)
        add_env(m, VISIBLE, join_ids(m, m->ids, m->units_n));
    if ((strategies & DEVICE_LIST_ENVVAR) && imex)
        add_env(m, "NVIDIA_IMEX_CHANNELS", "0");
}

/* A container may have slots of several resources, and the kubelet merges annotations: each needs a key of its own. */
static const char *annotation_key(struct answer_maker *m, const char *names)
{
    uint64_t hi = hash_bytes(m->resource->name, strlen(m->resource->name), 1), lo = hash_bytes(names, strlen(names), hi);
    return arena_printf(m->arena, "%snvidia-device-plugin_%08x-%04x-%04x-%04x-%012llx", m->config->cdi_annotation_prefix,
                        (unsigned)(hi >> 32), (unsigned)(hi >> 16) & 0xffff, ((unsigned)hi & 0x0fff) | 0x4000,
                        ((unsigned)(lo >> 48) & 0x3fff) | 0x8000, (unsigned long long)lo & 0xffffffffffffULL);
}

static void add_cdi(struct answer_maker *m)
{
    struct allocate_answer *answer = m->answer;
    uint32_t n = 0, room = m->units_n + 4;
    const char **names = arena_zero(m->arena, room, sizeof *names);
    for (uint32_t i = 0; i < m->units_n; i++)
        names[n++] = arena_printf(m->arena, CDI_VENDOR "/gpu=%s", m->ids[i]);
    for (const char *const *class = cdi_classes + 1; *class && n < room; class++)
        if (cdi_class_offered(m->config, m->machine, *class))
            names[n++] = arena_printf(m->arena, CDI_VENDOR "/%s=%s", *class, text_equal(*class, "imex-channel") ? "0" : "all");
    if (m->config->device_list_strategies & DEVICE_LIST_CDI_ANNOTATIONS) {
        const char *all = join_ids(m, names, n);
        answer->annotations[answer->annotations_n++] = (struct allocate_pair){annotation_key(m, all), all};
    }
    if (m->config->device_list_strategies & DEVICE_LIST_CDI_CRI) {
        answer->cdi_devices = names;
        answer->cdi_devices_n = n;
    }
}

static void add_device(struct answer_maker *m, const char *path)
{
    struct allocate_answer *answer = m->answer;
    for (uint32_t i = 0; i < answer->devices_n; i++)
        if (text_equal(answer->devices[i].container_path, path))
            return;
    const char *root = !m->machine->dev_root || text_equal(m->machine->dev_root, "/") ? "" : m->machine->dev_root;
    answer->devices[answer->devices_n++] = (struct allocate_device){path, arena_printf(m->arena, "%s%s", root, path), "rw"};
}

static int add_mig_nodes(struct answer_maker *m, const struct unit *u)
{
    for (int part = 0; part < 2; part++) {
        int ci = part ? u->mig->ci : -1,
            minor = m->machine->cap_minor ? m->machine->cap_minor(m->machine, u->gpu->minor, u->mig->gi, ci) : -1;
        if (minor < 0)
            return err_set(m->e, E_NOTFOUND,
                           "passDeviceSpecs: the capability of gpu%u/gi%u%s is not in /proc/driver/nvidia-caps/mig-minors: is the directory "
                           "mounted?",
                           u->gpu->minor, u->mig->gi, part ? "/ci" : "");
        add_device(m, arena_printf(m->arena, "/dev/nvidia-caps/nvidia-cap%d", minor));
    }
    return 0;
}

static int add_device_specs(struct answer_maker *m, bool imex)
{
    const struct machine *facts = m->machine;
    m->answer->devices = arena_zero(m->arena, 5 + 3 * m->units_n, sizeof *m->answer->devices);
    if (facts->has_ctl)
        add_device(m, "/dev/nvidiactl");
    if (facts->has_uvm)
        add_device(m, "/dev/nvidia-uvm");
    if (facts->has_uvm_tools)
        add_device(m, "/dev/nvidia-uvm-tools");
    if (facts->has_modeset)
        add_device(m, "/dev/nvidia-modeset");
    for (uint32_t i = 0; i < m->units_n; i++) {
        add_device(m, arena_printf(m->arena, "/dev/nvidia%u", m->units[i]->gpu->minor));
        int failed = m->units[i]->mig ? add_mig_nodes(m, m->units[i]) : 0;
        if (failed < 0)
            return failed;
    }
    if (imex)
        add_device(m, "/dev/nvidia-caps-imex-channels/channel0");
    return 0;
}

/* "0=4096M,1=4096M": devices as the container counts them; keti.com/mpsgpu writes UUIDs */
static void add_limits(struct answer_maker *m)
{
    _cleanup_buf_ struct buf text = {0};
    if (!m->limits)
        return;
    if (m->limits->thread_percentage)
        add_env(m, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", arena_printf(m->arena, "%u", m->limits->thread_percentage));
    if (!m->limits->pinned_memory_mib)
        return;
    for (uint32_t i = 0; i < m->units_n; i++) {
        if (m->resource->sharing == SHARING_KETI)
            buf_printf(&text, "%s%s=", i ? "," : "", m->units[i]->uuid);
        else
            buf_printf(&text, "%s%u=", i ? "," : "", i);
        buf_printf(&text, "%lluM", (unsigned long long)m->limits->pinned_memory_mib);
    }
    add_env(m, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", arena_text_n(m->arena, text.data, text.n));
}

static void add_mps(struct answer_maker *m)
{
    if (m->resource->sharing == SHARING_KETI)
        add_env(m, "CUDA_MPS_PIPE_DIRECTORY", KETI_PIPE);
    else {
        _cleanup_buf_ struct buf directory = {0};
        mps_directory(&directory, m->resource->name, m->units[0]);
        const char *pipe = arena_printf(m->arena, MPS_ROOT "/%s/pipe", directory.data);
        add_env(m, "CUDA_MPS_PIPE_DIRECTORY", pipe);
        add_mount(m, pipe, arena_printf(m->arena, "%s/%s/pipe", m->config->mps_root, directory.data), false);
        add_mount(m, "/dev/shm", arena_printf(m->arena, "%s/shm", m->config->mps_root), false);
    }
    add_limits(m);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct allocate_pair *)a)->name, ((const struct allocate_pair *)b)->name);
}

static int fill(struct answer_maker *m)
{
    const struct agent_config *c = m->config;
    bool imex = c->imex_channel_zero && m->machine->has_imex_channel;
    if (c->imex_channel_zero && c->imex_required && !imex)
        return err_set(m->e, E_NOTFOUND, "imex.required: /dev/nvidia-caps-imex-channels/channel0 does not exist on this node");
    m->answer->envs = arena_zero(m->arena, 10, sizeof *m->answer->envs);
    m->answer->annotations = arena_zero(m->arena, 1, sizeof *m->answer->annotations);
    m->answer->mounts = arena_zero(m->arena, m->units_n + 3, sizeof *m->answer->mounts);
    if (c->device_list_strategies & ANY_CDI)
        add_cdi(m);
    if (m->shared && (m->resource->sharing == SHARING_MPS || m->resource->sharing == SHARING_KETI))
        add_mps(m);
    if (c->gdrcopy)
        add_env(m, "NVIDIA_GDRCOPY", "enabled");
    if (c->gds)
        add_env(m, "NVIDIA_GDS", "enabled");
    if (c->mofed)
        add_env(m, "NVIDIA_MOFED", "enabled");
    if (!(c->device_list_strategies & ~ANY_CDI))
        return 0;
    add_strategies(m, imex);
    return c->pass_device_specs ? add_device_specs(m, imex) : 0;
}

int allocate_answer_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *machine,
                         const struct resource *r, const char *const *slots, uint32_t slots_n, const struct allocate_limits *limits,
                         struct allocate_answer *ret_answer, struct err *e)
{
    struct allocate_answer answer = {0};
    struct answer_maker m = {.arena = a,
                             .snapshot = s,
                             .config = c,
                             .machine = machine,
                             .resource = r,
                             .limits = limits,
                             .answer = &answer,
                             .e = e};
    int failed = take_slots(&m, slots, slots_n);
    if (failed == 0)
        failed = fill(&m);
    if (failed < 0)
        return failed;
    qsort(answer.envs, answer.envs_n, sizeof *answer.envs, by_name);
    *ret_answer = answer;
    return 0;
}
