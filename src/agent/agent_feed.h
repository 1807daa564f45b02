/* agent_feed.h - an agent that watches and reads nothing itself: what it would look up is told to it
 *
 *     one watch of nodes ─▶ agent_fed_node       one watch of ConfigMaps ─▶ agent_fed_configs      (asked: config, layouts)
 *     one watch of pods ─▶ pod_uid (asked)       who has which slot: the owners in agent_inventory
 *
 * WHY    A simulated cluster runs an agent for each of a thousand nodes: with watches, a copy of its Node object and a clock of its own
 *        they would cost more than all the rest. Everything else is the agent of a machine.
 * SHAPE  There is no machine: no device nodes, CDI, MPS daemons, kernel log, features file; the driver is read when it tells something,
 *        the clock runs while a GPU is not well. Before something is written the Node object is read: only what it lacks is patched.
 *        What is logged on a machine is a debug line here.
 */
#ifndef AGENT_FEED_H
#define AGENT_FEED_H
#include "agent/agent.h"
#include "agent/config/config_choice.h"
#include "agent/config/loaded.h"
#include "agent/node/labels.h"
#include "kube/event.h"
#include "wire/json.h"

/* Where the config of a node is looked for. Borrowed until the end of the call that asked. */
struct agent_config_map {
    const char *name; /* "namespace/name" of the ConfigMap */
    const char **keys;
    char **texts;
    uint32_t n;
    struct config_wish wish;
    const char *defaults; /* text of the config when nothing is asked for */
    bool searched; /* found among several ConfigMaps by the label alone: without it nothing is asked for */
    const struct config_setting *settings; /* above all of them */
    uint32_t settings_n;
};
struct agent_feed { /* kept by reference, like what it points to; functions may be NULL where nothing of the kind is there */
    const char *machine_type;
    const struct label_pair *labels; /* stand above those that follow from the GPUs; copied by agent_new */
    uint32_t labels_n;
    struct kube_recorder *recorder; /* of several agents; NULL: events are not written */
    struct config_cache *configs;
    bool off; /* the device plugin is switched off: nothing is offered */
    /* 0, or a negative code and why nothing can be chosen. */
    int (*config)(void *arg, const char *label, struct agent_config_map *ret_map, struct err *e);
    const char *(*layouts)(void *arg, const char *layout); /* text of the file in which this MIG layout is looked for; NULL: none */
    const char *(*layout_preset)(void *arg);               /* layout of a node without a label; NULL: none */
    const char *(*pod_uid)(void *arg, const char *ns, const char *name); /* of a pod that is here and runs; NULL: none */
    uint32_t (*processes)(void *arg, struct driver_process **ret_list);  /* on the GPUs, for health; the caller frees the list */
    void (*driver_changes)(void *arg); /* a GPU is going to be split or reset: the driver has to know who uses it */
    void *arg;
};

/* What a Node asks its agent for: two labels, and an annotation. */
#define AGENT_CONFIG_LABEL "nvidia.com/device-plugin.config"
#define AGENT_MIG_LABEL "nvidia.com/mig.config"
#define AGENT_LAYOUTS_ANNOTATION "capstan.dev/mig-layouts" /* a mig-parted file: a layout is looked for there first */
#define AGENT_ASKED_N 3
const char *agent_asked(const struct json *metadata, size_t i); /* NULL: not there */
void agent_asked_set(struct json *metadata, size_t i, const char *value, struct arena *m);

void agent_fed_node(struct agent *a, const struct json *node);
void agent_fed_configs(struct agent *a); /* ConfigMaps have changed */
void agent_fed_processes(struct agent *a); /* who runs on the GPUs has changed */
/* Every GPU works again, as after a repair and a reboot: nothing is remembered of what was. */
void agent_fed_repaired(struct agent *a, const char *text);
/* Writes into a Node object what the agent would write to it. Once agent_ready. */
void agent_fed_describe(const struct agent *a, struct arena *m, struct json *node);

/* What is offered. Good until the loop's turn ends. NULL: nothing was projected yet. */
const struct resource_table *agent_table(const struct agent *a);
const struct inventory_snapshot *agent_table_snapshot(const struct agent *a); /* of the table's units */
const struct agent_config *agent_config_in_use(const struct agent *a);
bool agent_is_held(const struct agent *a, const char *gpu_uuid); /* its units are about to change: nothing of it is handed out */
bool agent_mig_changes(const struct agent *a); /* a layout is being applied */

#endif
