/* agent.h - one node's agent: driver -> inventory -> { device plugin, labels, annotation, CDI, MIG, MPS, health }, on one loop
 *
 * SHAPE of the way: reading ─▶ inventory ─▶ (turn end) project: resource table, labels, CDI ─▶ device_plugin_set, node patch
 *                   config (file, ConfigMap by node label) ─▶ project       label nvidia.com/mig.config ─▶ mig_apply ─▶ reading
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H
#include "agent/config.h"
#include "agent/driver.h"
#include "agent/health.h"
#include "agent/mig_apply.h"
#include "kube/client.h"

struct agent_options {
    const char *node_name;
    const char *root;                 /* prefix of /proc, /sys, /dev reads: "" on a host */
    const char *state_dir;            /* journal; "/var/lib/capstan" */
    const char *plugin_dir;           /* "/var/lib/kubelet/device-plugins" */
    const char *pod_resources_socket; /* "/var/lib/kubelet/pod-resources/kubelet.sock" */
    const char *cdi_dir;              /* "/var/run/cdi" */
    const char *config_file;          /* NULL: from the cluster, or defaults */
    const char *config_map;           /* "namespace/name"; NULL none */
    const char *config_default;       /* key used when the node has no label */
    const char *mig_config_file, *mig_config_map;
    enum mig_busy_policy mig_busy;
    const char *health_disable, *health_enable;
    const struct config_setting *settings;
    uint32_t settings_n;
    int64_t read_period_ms;           /* how often the driver is read again without an event */
};
struct agent;
/* `c` may be NULL: no API server (labels go to the features file only). Takes the driver over. */
int agent_new(struct loop *l, struct driver *d, struct kube_client *c, const struct agent_options *o, struct agent **ret_a, struct err *e);
void agent_free(struct agent *a); /* NULL-safe */
bool agent_ready(const struct agent *a); /* read, configured, registered */
void agent_status(const struct agent *a, struct buf *out_json); /* `capstan agent --status` */

#endif
