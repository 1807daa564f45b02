/* device_plugin.h - the kubelet's device plugin API v1beta1: one socket per resource, one table behind all of them
 *
 *     resource_table ──▶ per resource: socket nvidia-<name>.sock, ListAndWatch stream(s), Allocate, GetPreferredAllocation
 *     inotify on the directory: kubelet.sock appears, or a socket of ours vanishes ──▶ listen again, register again
 *
 * SOURCE Kubernetes, deviceplugin/v1beta1 and the kubelet's device manager; life cycle: NVIDIA's device plugin.
 * ORDER  lists are sent in the table's order; changes within one turn are one message.
 *
 * A socket serves before it is registered, since the kubelet calls back within Register. Registration is tried again after 2 ms, then
 * longer, up to every 5 s; at once when kubelet.sock appears; and when nobody has watched a registered resource for 10 s. The directory may
 * come and go. A second agent (lock on the directory) or another plugin that answers on one of our sockets is said, and waited for.
 * BAD INPUT  a request that is malformed, names an unknown device or one twice is refused with the reason, which the kubelet shows in the
 *            pod's status; of several containers in one request all get their devices or none.
 * Socket names are those of NVIDIA's plugin, nvidia-<name>.sock; other domains add their first label (keti.com/mpsgpu:
 * nvidia-keti-mpsgpu.sock).
 */
#ifndef AGENT_DEVICE_PLUGIN_H
#define AGENT_DEVICE_PLUGIN_H
#include "agent/plugin/allocate.h"

struct device_plugin;
struct device_plugin_config {
    const char *directory;   /* "/var/lib/kubelet/device-plugins" */
    const char *kubelet_socket; /* NULL: <directory>/kubelet.sock */
    /* Which slots a container should get, when the scheduler has chosen: fills `ret` (arena strings) and returns true. NULL = nobody knows.
     * Asked in GetPreferredAllocation and Allocate (agent/plugin/steering.h). */
    bool (*steer)(void *ctx, struct arena *a, const struct resource *r, const char *const *available, uint32_t available_n, uint32_t size,
                  const char ***ret_slots);
    /* Allocate of these slots: may refuse (-E_CONFLICT: they are another pod's) and may give limits. NULL = always. */
    int (*admit)(void *ctx, const struct resource *r, const char *const *slots, uint32_t n, struct allocate_limits *ret_limits,
                 struct err *e);
    /* Whether a container is known that waits for n slots of r. While none is, GetPreferredAllocation and Allocate are held back, for
     * PLUGIN_HOLD_MS at most: the kubelet often asks a moment before the agent hears of the pod. NULL = always. */
    bool (*awaited)(void *ctx, const struct resource *r, uint32_t n);
    void *ctx;
};
/* kubelets admit one pod after the other: so long the others wait, for a pod that the API server does not tell */
#define PLUGIN_HOLD_MS 1000
/* The strings are copied. Work begins in the loop's next turn. */
struct device_plugin *device_plugin_new(struct loop *l, struct inventory *i, const struct device_plugin_config *config);
void device_plugin_free(struct device_plugin *p); /* NULL-safe; removes its sockets */
/* What is offered from now on; both are kept by reference until the next call. Resources that are gone end their streams. */
void device_plugin_set(struct device_plugin *p, const struct inventory_snapshot *s, const struct agent_config *c, const struct machine *m,
                       const struct resource_table *t);
/* Pods are known that were not before: answers that were held back may be given. */
void device_plugin_pods_changed(struct device_plugin *p);
struct device_plugin_counts {
    uint64_t registrations_n, registration_failures_n, allocations_n, refusals_n, lists_n;
    /* questions held back, for how long; those that nobody was known to wait for to the end */
    uint64_t held_n, held_ms, held_max_ms, unawaited_n;
};
struct device_plugin_counts device_plugin_counts(const struct device_plugin *p);
/* Every resource, with the present kubelet. True when a table without resources was set; false before any was. */
bool device_plugin_registered(const struct device_plugin *p);

#endif
