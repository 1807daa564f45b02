/* allocate.h - what a container gets for its slots: environment, mounts, device nodes, CDI names. Pure.
 *
 * SOURCE device.md 2.5 (strategies), 6 (MPS), 8.2 (KETI), 7.5 (CDI).
 */
#ifndef AGENT_ALLOCATE_H
#define AGENT_ALLOCATE_H
#include "agent/resource.h"

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

/* Facts of the machine that the answer needs, read once: which device nodes exist, minors of MIG capabilities. */
struct machine {
    const char *dev_root;
    bool has_uvm, has_uvm_tools, has_modeset, has_ctl;
    /* minor of /dev/nvidia-caps/nvidia-cap<m>; -1 unknown. From /proc/driver/nvidia-caps/mig-minors. */
    int (*cap_minor)(const struct machine *m, uint16_t gpu_minor, int gi, int ci);
    const void *minors;
};
int machine_read(struct arena *a, const char *root, const char *dev_root, struct machine *ret_machine, struct err *e);

/* -E_NOTFOUND unknown slot; -E_DENIED unhealthy slot, or more than one of a shared resource where that is refused. */
int allocate_answer_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                         const struct resource *r, const char *const *slots, uint32_t slots_n, const struct allocate_limits *limits,
                         struct allocate_answer *ret_answer, struct err *e);

/* Which of `available` to take (size of them, all of `must` among them); order of the result: as in the resource. SOURCE device.md 2.4 */
int preferred_choose(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct resource *r,
                     const char *const *available, uint32_t available_n, const char *const *must, uint32_t must_n, uint32_t size,
                     const char ***ret_slots, uint32_t *ret_n, struct err *e);

/* The CDI specification of all devices of the node (JSON text); written as <dir>/k8s.device-plugin.nvidia.com-gpu.json by cdi_write. */
void cdi_spec_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m, struct buf *out);
int cdi_write(const char *dir, struct bytes spec, struct err *e); /* temporary file and rename; unchanged content is not written */

#endif
