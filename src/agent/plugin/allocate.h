/* allocate.h - what a container gets for its slots: environment, mounts, device nodes, CDI names. Pure.
 *
 * SOURCE NVIDIA's device plugin (strategies, MPS), KETI's GPU-Scheduler (keti.com/mpsgpu), CDI specification.
 */
#ifndef AGENT_ALLOCATE_H
#define AGENT_ALLOCATE_H
#include "agent/inventory/resource.h"

struct allocate_pair { const char *name, *value; };
struct allocate_mount { const char *container_path, *host_path; bool read_only; };
struct allocate_device { const char *container_path, *host_path, *permissions; };
struct allocate_answer { /* each list in the order in which it is sent; pairs by name */
    struct allocate_pair *envs, *annotations;
    uint32_t envs_n, annotations_n;
    struct allocate_mount *mounts;
    uint32_t mounts_n;
    struct allocate_device *devices;
    uint32_t devices_n;
    const char **cdi_devices;
    uint32_t cdi_devices_n;
};
/* Limits for this container alone, from the pod's annotations; 0 = the daemon's default. */
struct allocate_limits { uint32_t thread_percentage; uint64_t pinned_memory_mib; };

/* One file of the driver, as containers see it: path from the driver root on. target: what a symbolic link leads to; NULL: no link. */
struct machine_file { const char *path, *target; };
struct machine_paths { const char *const *paths; uint32_t n; };

/* Facts of the machine that answers and CDI specifications need, read once: which device nodes exist, minors of MIG capabilities, which
 * files the driver has. All zero is a machine where nothing was found. */
struct machine {
    const char *dev_root, *driver_root; /* on the host; NULL, "" and "/" are its root */
    bool has_uvm, has_uvm_tools, has_modeset, has_ctl;
    bool has_imex_channel; /* /dev/nvidia-caps-imex-channels/channel0 */
    struct machine_paths gdrcopy, gds, mofed; /* their device nodes, as in containers: "/dev/gdrdrv" */
    /* minor of /dev/nvidia-caps/nvidia-cap<m>; -1 unknown, ci < 0: of the GPU instance. From /proc/driver/nvidia-caps/mig-minors. */
    int (*cap_minor)(const struct machine *m, uint16_t gpu_minor, int gi, int ci);
    const void *minors;
    /* machine_read_driver: */
    const struct machine_file *libraries, *programs, *others; /* others: sockets and configuration, mounted when there */
    uint32_t libraries_n, programs_n, others_n;
    bool has_hook; /* the config's CDI hook program exists */
};
struct roots; /* agent/host/roots.h */
/* Missing files are facts, not errors. */
int machine_read(struct arena *a, const struct roots *r, struct machine *ret_machine, struct err *e);
/* What CDI needs beyond that; only of use with a cdi- strategy. */
void machine_read_driver(struct arena *a, const struct roots *r, const struct agent_config *c, struct machine *m);
/* Another one: device nodes have come or gone, or the driver is at another place. */
uint64_t machine_hash(const struct roots *r);

/* -E_NOTFOUND unknown slot; -E_DENIED closed slot (slot_state.h), or more than one of a shared resource where that is refused. */
int allocate_answer_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                         const struct resource *r, const char *const *slots, uint32_t slots_n, const struct allocate_limits *limits,
                         struct allocate_answer *ret_answer, struct err *e);

/* Which of `available` to take (size of them, all of `must` among them); order of the result: as in the resource. SOURCE NVIDIA's device
 * plugin
 *
 *     whole GPUs    the set with the most NVLink and PCI nearness inside; of equal ones the set that leaves the nearest GPUs together;
 *                   exact up to 16 GPUs, improved by exchanges beyond
 *     shares, MIG   distributed: one of each unit before two of one, then GPUs with the fewest taken slots; packed: GPUs with the most
 *                   taken slots, those of this container included
 *
 * Slots that the resource does not have are left out of `available`; unhealthy and lost ones are taken last. -E_NOTFOUND: one of `must` is
 * unknown. -E_INVALID: fewer than `size` are there, or more than `size` are a must. */
int preferred_choose(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct resource *r,
                     const char *const *available, uint32_t available_n, const char *const *must, uint32_t must_n, uint32_t size,
                     const char ***ret_slots, uint32_t *ret_n, struct err *e);

/* CDI: one file a class in <dir>, "k8s.device-plugin.nvidia.com-<class>.json", kind k8s.device-plugin.nvidia.com/<class>.
 * Classes: "gpu", "imex-channel", "gdrcopy", "gds", "mofed"; NULL ends the list. */
#define CDI_VENDOR "k8s.device-plugin.nvidia.com"
extern const char *const cdi_classes[];
/* True when this class is switched on and has devices: then Allocate names them. */
bool cdi_class_offered(const struct agent_config *c, const struct machine *m, const char *class);
/* The specification of a class as JSON; of "gpu": every unit, named as deviceIDStrategy says. MIG devices without known capability nodes
 * are left out; no device, no text. Needs machine_read_driver. */
void cdi_class_make(struct arena *a, const char *class, const struct inventory_snapshot *s, const struct agent_config *c,
                    const struct machine *m, struct buf *out);
/* All classes: made and written, or removed when not offered (all of them without a cdi- strategy). Unchanged files are not written. */
int cdi_publish(struct arena *a, const char *dir, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                struct err *e);

#endif
