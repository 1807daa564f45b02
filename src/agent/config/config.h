/* config.h - what the agent was asked to do: NVIDIA's `version: v1` file, flags and environment, and our additions
 *
 * Precedence: flag > environment > file > default. Everything is checked before anything is used; an error names the path in the file
 * (`sharing.timeSlicing.resources[0].replicas`), what is wrong and what to write instead. Unknown keys are errors with the nearest known
 * key. Beyond NVIDIA's keys there are `sharing.keti.replicas` (shares of each GPU as keti.com/mpsgpu) and `flags.plugin.cdiDisableHooks`
 * (there a flag alone). A whole ConfigMap manifest is taken as well, when it has one key. Not given means: mpsRoot /run/nvidia/mps
 * (NVIDIA's chart sets it by environment), nvidiaDevRoot = nvidiaDriverRoot.
 * SOURCE NVIDIA's device plugin, config file v1 (keys, defaults, environment names).
 */
#ifndef AGENT_CONFIG_H
#define AGENT_CONFIG_H
#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

enum mig_strategy { MIG_STRATEGY_NONE, MIG_STRATEGY_SINGLE, MIG_STRATEGY_MIXED };
enum device_list_strategy { /* bits */
    DEVICE_LIST_ENVVAR = 1, DEVICE_LIST_VOLUME_MOUNTS = 2, DEVICE_LIST_CDI_ANNOTATIONS = 4, DEVICE_LIST_CDI_CRI = 8
};
enum cdi_hook { /* bits: hooks that CDI specifications do without */
    CDI_HOOK_CREATE_SYMLINKS = 1, CDI_HOOK_UPDATE_LDCACHE = 2, CDI_HOOK_ALL = 4
};
enum device_id_strategy { DEVICE_ID_UUID, DEVICE_ID_INDEX };
enum allocation_policy { ALLOCATION_DISTRIBUTED, ALLOCATION_PACKED };

struct sharing_resource {
    const char *name;     /* with "nvidia.com/" */
    const char *rename;   /* what it is called when shared, with prefix; NULL = keeps its name. renameByDefault is worked in: ".shared" */
    bool devices_all;
    uint32_t devices_count; /* > 0: the first that many */
    const char *const *devices; /* index "0", "0:1", UUIDs, legacy MIG ids */
    uint32_t devices_n;
    uint32_t replicas;
};
struct sharing {
    bool present, rename_by_default;
    bool fail_requests_greater_than_one; /* default: false for time-slicing, true for MPS */
    struct sharing_resource *resources;
    uint32_t resources_n;
};
struct resource_pattern {
    const char *pattern; /* shell pattern on the product name (GPUs) or profile (MIG) */
    const char *name;    /* with prefix */
};
struct agent_config {
    enum mig_strategy mig_strategy;
    bool fail_on_init_error;
    const char *mps_root, *driver_root, *dev_root;
    bool gdrcopy, gds, mofed;
    bool use_node_feature_api;
    const char *device_discovery_strategy;
    bool pass_device_specs;
    unsigned device_list_strategies; /* enum device_list_strategy */
    enum device_id_strategy device_id_strategy;
    unsigned cdi_hooks_off; /* enum cdi_hook */
    const char *cdi_annotation_prefix, *cdi_hook_path, *container_driver_root;
    enum allocation_policy shared_allocation_policy;
    bool gfd_oneshot, gfd_no_timestamp;
    int64_t gfd_sleep_ms;              /* -1: infinite */
    const char *gfd_output_file, *gfd_machine_type_file;
    struct resource_pattern *gpu_patterns, *mig_patterns;
    uint32_t gpu_patterns_n, mig_patterns_n;
    struct sharing time_slicing, mps;
    uint32_t keti_shares;              /* keti.com/mpsgpu: shares of each GPU; 0 = off. Flag --ketimpsgpu, KETI_MPSGPU */
    bool imex_channel_zero, imex_required;
};

/* One source of settings above the file: name as in the file ("flags.migStrategy"), value as text. */
struct config_setting {
    const char *path, *value, *from; /* from: "--mig-strategy", "MIG_STRATEGY": for error texts */
    bool weak; /* it takes the place of a default: the file stands above it */
};
/* clients of one MPS server, of any GPU; fewer on old GPUs and MIG devices (agent/inventory/resource.c) */
#define CONFIG_MPS_REPLICAS_MAX 48
#define CONFIG_OUTPUT_FILE "/etc/kubernetes/node-feature-discovery/features.d/gfd" /* default of flags.gfd.outputFile */
void agent_config_default(struct agent_config *c);
/* `text`: the file ("" = only defaults). `settings`: later ones win. Strings stand in `a`. `warnings` collects one line each (may be
 * NULL). */
int agent_config_parse(struct arena *a, struct bytes text, const struct config_setting *settings, uint32_t settings_n,
                       struct agent_config *ret_config, struct buf *warnings, struct err *e);
/* The settings that the environment variables of the NVIDIA device plugin and GFD give ("NAME=value", NULL ends the list); empty values
 * count as not set. Put those of flags behind them. */
uint32_t config_settings_of_environment(struct arena *a, char *const *environment, struct config_setting **ret_settings);
/* True when `option` ("mig-strategy") is one of the plugin's flags; *ret_path = its path in the file; *ret_is_switch (may be NULL): it is
 * true or false, and alone it means true. */
bool config_setting_of_flag(const char *option, const char **ret_path, bool *ret_is_switch);

#endif
