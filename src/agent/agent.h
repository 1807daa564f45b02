/* agent.h - one node's agent: driver -> inventory -> { device plugin, labels, annotation, CDI, MIG, MPS, health }, on one loop
 *
 * SHAPE of the way: reading ─▶ inventory ─▶ (turn end) project: resource table, labels, CDI ─▶ device_plugin_set, node patch
 *                   config (file, ConfigMap by node label) ─▶ project       label nvidia.com/mig.config ─▶ mig_apply ─▶ reading
 *
 * It runs with what there is: without a driver it offers nothing and tries again, without an API server it serves the kubelet, with a
 * broken config it keeps the last good one (also over a restart). What is wrong is logged once, written as a node condition (GPUHealthy,
 * GPUConfigValid) and as an event of the node.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H
#include "agent/config/config.h"
#include "agent/driver/driver.h"
#include "agent/health/health.h"
#include "agent/mig/mig_apply.h"
#include "kube/client.h"

struct agent_feed; /* agent_feed.h */
struct agent_options { /* texts are the caller's and stay until agent_free; NULL = that part is off, unless said */
    const char *node_name;
    const char *root;                 /* where we see the host's "/": for /proc, /sys, /dev, /usr; "" on a host (NULL too) */
    const char *validations_dir;      /* "/run/nvidia/validations": files that pods wait for; nothing where it is not there */
    const char *dev_root_here;        /* where we see flags.nvidiaDevRoot; NULL: below root */
    const char *state_dir;            /* journal, last good config, status; "/var/lib/capstan" */
    const char *plugin_dir;           /* "/var/lib/kubelet/device-plugins" */
    const char *pod_resources_socket; /* "/var/lib/kubelet/pod-resources/kubelet.sock" */
    const char *cdi_dir;              /* "/var/run/cdi" */
    const char *mps_root;             /* where we see the directory that is flags.mpsRoot on the host; NULL: the same path */
    const char *mps_control_program;  /* NULL: "nvidia-cuda-mps-control" */
    bool mps_kept;                    /* MPS daemons are children of a keeper, and go on when this agent ends: agent/mps/mps_keeper.h */
    const char *mps_keti_directory;   /* where we see the host's "/tmp/nvidia-mps"; NULL: there */
    const char *config_file;          /* NULL: from the cluster, or defaults */
    const char *config_map;           /* "namespace/name"; NULL none */
    const char *config_default;       /* key used when the node has no label */
    const char *mig_config_file, *mig_config_map;
    enum mig_busy_policy mig_busy;
    bool drain_evicts;                /* pods of GPUs that are out of use are evicted; else their end is waited for */
    const char *health_disable, *health_enable;
    const char *kernel_log;           /* "/dev/kmsg": XIDs that the driver does not tell */
    const struct config_setting *settings;
    uint32_t settings_n;
    int64_t read_period_ms;           /* how often the driver is read again without an event; 0: 10 s */
    const struct agent_feed *feed;    /* not NULL: an agent without a machine, of a simulated node */
};
struct agent;
/* `c` may be NULL: no API server (labels go to the features file only). Takes the driver over, not the client. Errors: -E_CONFLICT another
 * agent works in state_dir, -E_INVALID settings that no file can make right, -E_IO state_dir cannot be written. */
int agent_new(struct loop *l, struct driver *d, struct kube_client *c, const struct agent_options *o, struct agent **ret_a, struct err *e);
void agent_free(struct agent *a); /* NULL-safe */
/* The gentle end, before agent_free: MPS daemons are asked to quit and compute modes given back; then fn(arg), within seconds. */
void agent_stop(struct agent *a, void (*fn)(void *arg), void *arg);
bool agent_ready(const struct agent *a); /* read, configured, registered */
bool agent_labels_written(const struct agent *a); /* projected, and the node (if there is an API server) has it all */
void agent_reload(struct agent *a);      /* SIGHUP: read config and driver again now */
/* For who looks at the same devices (the exporter): the driver and the inventory are the agent's. */
struct driver *agent_driver(const struct agent *a);
struct inventory *agent_inventory(const struct agent *a);
struct resource_table;
struct agent_observer {
    void (*resources)(void *arg, const struct resource_table *t); /* at each new offer; good until the next call */
    void (*event)(void *arg, const struct driver_event *event);
    void *arg;
};
/* One observer; NULL: none from now on. An offer that stands already is told at once. */
void agent_observe(struct agent *a, const struct agent_observer *o);
/* Driver, GPUs, resources, health, config, registrations as one JSON object: `capstan agent --status` shows what the running agent has
 * written of it to <state_dir>/status.json. */
void agent_status(const struct agent *a, struct buf *out_json);

#endif
