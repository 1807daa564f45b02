/* fake_kubelet.h - the device manager of a kubelet, over its real sockets: Registration, ListAndWatch, preferred allocation, Allocate,
 * podresources
 *
 *     plugin ─Register▶ kubelet.sock ─▶ endpoint: GetDevicePluginOptions, ListAndWatch ─▶ devices of a resource ─▶ capacity, allocatable
 *     pod ─admit▶ (container, resource): free ids ─▶ GetPreferredAllocation ─▶ Allocate ─▶ env, mounts, devices ─▶ podresources
 *
 * Behaves as the kubelet's: full lists replace, a lost stream makes every device unhealthy and drops the
 * resource after five minutes, the preferred ids are cut to what is free and filled up, Allocate has one container and no pod.
 * ORDER  pods are admitted one after the other, in the order of asking.
 */
#ifndef SIM_FAKE_KUBELET_H
#define SIM_FAKE_KUBELET_H
#include "loop/loop.h"
#include "sim/kubelet/pod_devices.h"

#define FAKE_KUBELET_GRACE_MS 300000 /* SOURCE endpointStopGracePeriod */

struct fake_kubelet;
struct fake_kubelet_config {
    const char *plugin_dir;           /* must be there; sockets in it are removed, as kubelets do */
    const char *pod_resources_socket; /* its directory must be there */
    void (*changed)(void *arg);       /* devices came, went or changed their health */
    void *arg;
};
int fake_kubelet_new(struct loop *l, const struct fake_kubelet_config *config, struct fake_kubelet **ret_k, struct err *e);
void fake_kubelet_free(struct fake_kubelet *k); /* NULL-safe */

struct fake_kubelet_amount {
    const char *resource;
    uint32_t capacity, allocatable; /* all devices; the healthy ones */
};
/* By name. */
uint32_t fake_kubelet_amounts(const struct fake_kubelet *k, struct arena *a, struct fake_kubelet_amount **ret_amounts);
bool fake_kubelet_healthy(const struct fake_kubelet *k, const char *resource, const char *id);

struct fake_kubelet_pod {
    const char *ns, *name, *uid;
};
/* Give the pod's wants devices (their `slots` are filled in). fn: 0, or -E_DENIED and the kubelet's text. `devices` stays
 * the caller's, until fn or fake_kubelet_remove. */
typedef void (*fake_kubelet_fn)(void *arg, const char *uid, int code, const char *text);
void fake_kubelet_admit(struct fake_kubelet *k, const struct fake_kubelet_pod *pod, struct pod_devices *devices, fake_kubelet_fn fn,
                        void *arg);
/* A pod that ran before: its slots are taken. */
void fake_kubelet_resume(struct fake_kubelet *k, const struct fake_kubelet_pod *pod, const struct pod_devices *devices);
void fake_kubelet_remove(struct fake_kubelet *k, const char *uid); /* ended or gone: its devices are free; no fn for it any more */
/* What Allocate answered for a container: one line each, "env A=b", "mount HOST CONTAINER", "device HOST CONTAINER rw", "cdi NAME",
 * "annotation A=b". */
void fake_kubelet_answers(const struct fake_kubelet *k, const char *uid, const char *container, struct buf *out);

#endif
