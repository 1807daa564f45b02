/* agent_parts.h - inside the agent: one struct, and the calls between agent*.c
 *
 *     agent.c ─▶ project ─▶ mig ─▶ drain ─▶ health ─▶ pods ─▶ node     a file calls only those to the right of it; what it tells the
 *                        ├─▶ config ─────────────────────────▶ node     others, or wants to know of them, goes by `above`
 *                        └─▶ host
 *
 *     agent.c         driver, inventory, status                  agent_project.c what follows from them: resources, labels, conditions
 *     agent_config.c  which config counts, and when it changes   agent_feed.h    who is told instead of looking
 *     agent_node.c    labels, annotation, conditions, events     agent_mig.c     label nvidia.com/mig.config, evictions
 *     agent_pods.c    pods of this node: steering, owners        agent_health.c  health orders, unauthorised use
 *     agent_drain.c   pods of GPUs that are out of use          agent_host.c    where the host has its driver, device nodes
 */
#ifndef AGENT_AGENT_PARTS_H
#define AGENT_AGENT_PARTS_H
#include "agent/agent_feed.h"
#include "agent/node/condition.h"
#include "agent/node/labels.h"
#include "agent/node/node_patch.h"
#include "agent/plugin/device_plugin.h"

struct agent_node;
struct agent_mig;
struct agent_pods;
struct agent_health;
struct evict;
struct features_file;
struct agent_source;
struct mps;
struct resource_guard;
struct roots;

/* What the node offers now, and all that its pointers point into. */
struct projection {
    struct arena *arena;
    const struct inventory_snapshot *snapshot;
    struct agent_loaded *loaded;
    struct machine machine;
    struct resource_table table;
    struct label_pair *labels; /* of a machine: its facts are read but now and then */
    uint32_t labels_n;
    const char *devices; /* the annotation, likewise */
};
/* A GPU whose units are about to change: not handed out. */
struct agent_hold {
    char uuid[48];
    bool ends; /* with the next reading */
};

/* What a part tells agent.c, which knows whom it concerns. */
struct agent_wiring {
    void (*project_later)(struct agent *a); /* what is offered may have changed */
    void (*read_now)(struct agent *a);      /* what the GPUs are may have changed */
    void (*gpu_event)(struct agent *a, const struct driver_event *event); /* something happened on a GPU */
    void (*gpu_reset)(struct agent *a);     /* a GPU was reset, maybe with others */
    void (*node_changed)(struct agent *a);  /* the Node was read: its labels may be others */
    void (*wish)(const struct agent *a, struct arena *m, struct node_wish *w); /* agent_wish */
};

struct agent {
    const struct agent_wiring *above;
    struct loop *loop;
    struct driver *driver;
    struct kube_client *kube; /* NULL: none */
    struct agent_options o;
    struct inventory *inventory;
    struct agent_loaded *loaded; /* NULL: none yet */
    struct projection *projection; /* NULL: none yet */
    uint64_t projected, projected_machine; /* what the projection was made from: hashes */
    struct device_plugin *plugin;
    struct mps *mps;
    struct resource_guard *guard;
    struct loop_timer *read_timer, *tick_timer;
    bool reading, read_again, read_once; /* a call is on its way; another is wanted; one was answered */
    int64_t read_delay_ms;
    struct features_file *features;
    struct err driver_error, table_error, status_error, nodes_error, validations_error;
    uint64_t status_hash, registrations_n;
    int64_t trim_ms; /* when next */
    struct agent_hold *held;
    uint32_t held_n, held_cap;
    struct agent_source *source;
    struct agent_node *node;
    struct agent_mig *mig;
    struct agent_pods *pods;
    struct agent_health *health;
    struct evict *drain; /* NULL: pods of broken GPUs are waited for */
    struct agent_observer observer;
    void (*stopped)(void *arg); /* of agent_stop */
    void *stopped_arg;
};

/* What a machine's agent logs would be a flood with a thousand of them in one process. */
#define agent_log(a, level, ...) log_line((a)->o.feed ? LOG_DEBUG : (level), __VA_ARGS__)

/* agent_project.c */
void agent_project_later(struct agent *a);
void agent_project_stop(struct agent *a); /* the agent ends */
void agent_projection_free(struct projection *p); /* NULL-safe */
void agent_wish(const struct agent *a, struct arena *m, struct node_wish *w); /* labels and annotation; there is a projection */

/* agent_host.c */
void agent_host_roots(const struct agent *a, struct roots *ret_roots);
/* Files for those who wait for the driver or for us (agent/host/validation.h). ready: agent_ready. */
void agent_host_tick(struct agent *a, bool ready);
void agent_host_stop(struct agent *a);
void agent_host_nodes(struct agent *a); /* device nodes that are missing are made; what hinders that is said once */
void agent_host_capabilities(struct agent *a, const struct roots *r, const struct machine *m,
                             const struct inventory_snapshot *s); /* of MIG */

/* agent_config.c */
/* Whether resources can be made of these GPUs with the config in use; `e` says why not. kept: what was offered before still is. */
void agent_config_fits(struct agent *a, const struct err *e, bool kept);
int agent_source_new(struct agent *a, struct err *e);
void agent_source_free(struct agent *a);
void agent_source_tick(struct agent *a);
void agent_source_label(struct agent *a); /* the node's labels may have changed */
void agent_source_reload(struct agent *a);
void agent_source_status(const struct agent *a, struct json *out, struct arena *arena);

/* agent_node.c: all are no-ops without an API server */
void agent_node_new(struct agent *a);
void agent_node_free(struct agent *a);
void agent_node_want(struct agent *a); /* there is a new projection */
void agent_node_set(struct agent *a, const char *label, const char *value); /* one label that is not of labels_make */
bool agent_node_written(const struct agent *a); /* what was wanted last stands on the node; true without an API server */
bool agent_node_seen(const struct agent *a);                                /* the node object has been read */
bool agent_node_missing(const struct agent *a);                             /* the API server says that there is none */
/* The agent ends: the annotation says of no device that it can be had. Then fn(arg), not within this call. */
void agent_node_leave(struct agent *a, void (*fn)(void *arg), void *arg);
#define AGENT_TAINT "capstan.dev/starting"
void agent_node_started(struct agent *a); /* all is offered: the start-up taint goes, once the node has the annotation. Safe to repeat. */
const char *agent_node_asks(const struct agent *a, const char *name); /* one of agent_asked; NULL: not there, or not known */
void agent_node_condition(struct agent *a, enum agent_condition which, const struct node_condition *c); /* copied */
void agent_node_event(struct agent *a, bool warning, const char *reason, const char *message);
void agent_pod_event(struct agent *a, const char *ns, const char *pod, const char *uid, bool warning, const char *reason,
                     const char *message);

/* agent_mig.c */
void agent_mig_new(struct agent *a);
void agent_mig_free(struct agent *a);
void agent_mig_check(struct agent *a); /* the label or the first reading may have come */
void agent_mig_reset(struct agent *a); /* a GPU was reset, maybe with others */
bool agent_mig_busy(const struct agent *a);
const char *agent_mig_layout(const struct agent *a); /* the layout that is being applied, or was last; NULL: none */

/* agent_pods.c */
void agent_pods_new(struct agent *a);
void agent_pods_free(struct agent *a);
void agent_pods_kubelet_restarted(struct agent *a);
bool agent_pods_steer(void *ctx, struct arena *arena, const struct resource *r, const char *const *available, uint32_t available_n,
                      uint32_t size, const char ***ret_slots);
bool agent_pods_awaited(void *ctx, const struct resource *r, uint32_t n);
int agent_pods_admit(struct agent *a, const struct resource *r, const char *const *slots, uint32_t n, struct allocate_limits *ret_limits,
                     struct err *e);
struct agent_pod {
    char *ns, *name, *uid;
    bool ended;     /* Succeeded or Failed */
    bool is_static; /* of a file of the kubelet: what the API server has is a copy */
};
const struct agent_pod *agent_pods_by_uid(const struct agent *a, const char *uid);
const struct agent_pod *agent_pods_by_name(const struct agent *a, const char *ns, const char *name);

/* agent_health.c */
void agent_health_new(struct agent *a);
void agent_health_free(struct agent *a);
void agent_health_event(struct agent *a, const struct driver_event *event);
bool agent_health_is_news(struct agent *a, const struct driver_event *event); /* false: the kernel's log was faster than the driver */
bool agent_health_is_faulty(const struct agent *a, const struct unit *u); /* health_is_faulty */
void agent_health_tick(struct agent *a);
bool agent_health_attends(const struct agent *a); /* something is not well, or was told of lately */

/* agent_drain.c */
void agent_drain_new(struct agent *a);
void agent_drain_free(struct agent *a);
void agent_drain_tick(struct agent *a);
struct evict *agent_evict_new(struct agent *a, int64_t every_ms); /* of the agent's own pods */

#endif
