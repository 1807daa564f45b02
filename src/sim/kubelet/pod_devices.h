/* pod_devices.h - the devices that a simulated pod asks for, which of them the scheduler chose, and which the kubelet gave
 *
 * SHAPE  one want per (container, extended resource), init containers first. The choice (annotation capstan.dev/devices,
 *        "nvidia.com/gpu=GPU-a,GPU-b;...") is of the whole pod: containers take from it in their order, from what init containers
 *        leave first.
 * What was given stands in status.containerStatuses[].allocatedResourcesStatus (sidecars: initContainerStatuses), where kubelets report
 * it as well.
 */
#ifndef SIM_POD_DEVICES_H
#define SIM_POD_DEVICES_H
#include "sim/kubelet/device_manager.h"
#include "wire/json.h"

struct pod_want {
    const char *container, *resource;
    char **slots;  /* n of them, one block with their texts; NULL until given */
    uint32_t n;
    bool is_init; /* ends before the others begin, who take its slots over; a sidecar (restartPolicy: Always) does not */
};
/* OWNER  one block with all its texts, and one for the slots of each want: a cluster has many pods. */
struct pod_devices {
    uint32_t wants_n;
    bool given, differs; /* differs: others were given than chosen */
    const char *chosen;  /* the annotation; "" none */
    struct pod_want wants[];
};
/* NULL: the pod asks for no extended resources. */
struct pod_devices *pod_devices_read(const struct json *pod);
void pod_devices_free(struct pod_devices *p); /* NULL-safe */
void pod_want_set(struct pod_want *w, const char *const *slots); /* n of them, copied; NULL: none */
/* A pod that runs already: what its status (or else its annotation) says is its own. `d` NULL: the node has no simulated GPUs. */
void pod_devices_resume(struct pod_devices *p, struct agent *d, const struct node_pod *who, const struct json *pod);
/* Give devices; resources that the node does not have, and no scheduler saw there, are left out, as kubelets do. -E_DENIED with the text
 * for users. */
int pod_devices_admit(struct pod_devices *p, struct agent *d, const struct node_pod *who, struct err *e);
/* Slots that init containers before `w` had and no container between them has taken over: `w` gets these first. Texts are the pod's. */
uint32_t pod_devices_left(const struct pod_devices *p, const struct pod_want *w, struct arena *a, const char ***ret_slots);
/* What was given, each once, as the annotation says it. */
void pod_devices_text(const struct pod_devices *p, struct buf *out);
/* Whether a device is healthy, by whoever knows; is NULL: nobody does. */
struct device_health {
    bool (*is)(const void *ctx, const char *resource, const char *slot);
    const void *ctx;
};
/* allocatedResourcesStatus of one container; NULL: none. */
struct json *pod_devices_status(struct arena *a, const struct pod_devices *p, const char *container, struct device_health health);
bool pod_devices_unhealthy(const struct pod_devices *p, struct device_health health); /* any of those given is not */

#endif
