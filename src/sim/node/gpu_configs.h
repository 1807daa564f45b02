/* gpu_configs.h - the ConfigMaps that say how GPUs are shared and split, and which of them a node means
 *
 *     label nvidia.com/device-plugin.config=KEY  ─▶ the one ConfigMap of namespace gpu-operator that has this key
 *                                        =NAME        ... or the ConfigMap called so, when it has one key
 *                                        =NAME.KEY    ... or, where that is not enough, both
 *     label nvidia.com/mig.config=LAYOUT         ─▶ the layout called so in any ConfigMap with `mig-configs`
 *     ConfigMap gpu-operator-values              ─▶ values of the GPU operator: default keys for nodes without a label;
 *                                                   where they name a ConfigMap, labels mean its keys only, as for the
 *                                                   agents of a cluster
 *
 * OWNER  what was parsed is counted: a thousand nodes share one.
 * LIMIT  256 ConfigMaps.
 */
#ifndef SIM_GPU_CONFIGS_H
#define SIM_GPU_CONFIGS_H
#include "agent/config/config.h"
#include "agent/mig/mig_config.h"
#include "wire/json.h"

#define GPU_CONFIGS_NAMESPACE "gpu-operator"
#define GPU_CONFIGS_VALUES "gpu-operator-values"
#define GPU_CONFIGS_MAX 256

struct gpu_config { /* one key of a ConfigMap */
    uint32_t refs;
    struct arena *arena;
    char *from;  /* "gpu-operator/mps-config/config.yaml", as the agent names it */
    bool is_mig;
    struct agent_config plugin;
    struct mig_config mig;
};
void gpu_config_unref(struct gpu_config *c); /* NULL-safe */

struct gpu_configs;
struct gpu_configs *gpu_configs_new(void);
void gpu_configs_free(struct gpu_configs *g); /* NULL-safe */
/* A ConfigMap of the namespace; data NULL: it is gone. Returns -E_* with the text when it is the operator's values and they are wrong
 * (those before stay); warnings: lines about the values. */
int gpu_configs_put(struct gpu_configs *g, const char *name, const struct json *config_map, struct buf *warnings, struct err *e);

/* What a node with this label (NULL: without) is to do. 0 and *ret_config = NULL: nothing was asked for. bare_too: values that name no
 * ConfigMap (mig.strategy alone) count as well. The caller gets a reference. */
int gpu_configs_plugin(struct gpu_configs *g, const char *label, bool bare_too, struct gpu_config **ret_config, struct err *e);
/* -E_NOTFOUND: no ConfigMap has such a layout. */
int gpu_configs_layout(struct gpu_configs *g, const char *name, struct gpu_config **ret_config, const struct mig_layout **ret_layout,
                       struct err *e);
/* Layout for nodes without a label; "" none. */
const char *gpu_configs_default_layout(const struct gpu_configs *g);
bool gpu_configs_plugin_off(const struct gpu_configs *g);

#endif
