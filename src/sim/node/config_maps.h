/* config_maps.h - the ConfigMaps that say how GPUs are shared and split, and which of them a simulated node's agent is to look at
 *
 *     label nvidia.com/device-plugin.config=KEY  ─▶ the one ConfigMap of namespace gpu-operator that has this key
 *                                        =NAME        ... or the ConfigMap called so, when it has one key
 *                                        =NAME.KEY    ... or, where that is not enough, both
 *     label nvidia.com/mig.config=LAYOUT         ─▶ the ConfigMap with `mig-configs` that has the layout called so
 *     ConfigMap gpu-operator-values              ─▶ values of the GPU operator: default keys for nodes without a label; where they name
 *                                                   a ConfigMap, agents look at that one, as on a cluster
 *
 * What an entry means is the agent's (agent/agent_feed.h): here it is only found.
 * LIMIT  256 ConfigMaps.
 */
#ifndef SIM_CONFIG_MAPS_H
#define SIM_CONFIG_MAPS_H
#include "agent/agent_feed.h"
#include "sim/node/node_kind.h"

#define CONFIG_MAPS_NAMESPACE "gpu-operator"
#define CONFIG_MAPS_VALUES "gpu-operator-values"
#define CONFIG_MAPS_MAX 256

struct config_maps;
struct config_maps *config_maps_new(void);
void config_maps_free(struct config_maps *g); /* NULL-safe */
/* A ConfigMap of the namespace; data NULL: it is gone. Returns -E_* with the text when it is the operator's values and they are wrong
 * (those before stay); warnings: lines about the values. */
int config_maps_put(struct config_maps *g, const char *name, const struct json *config_map, struct buf *warnings, struct err *e);

/* As agent_feed.config. g NULL: there are none. -E_NOTFOUND, -E_INVALID: the label fits no entry, or several. */
int config_maps_choose(struct config_maps *g, const struct node_kind *kind, const char *label, struct agent_config_map *ret_map,
                       struct err *e);
/* Text of the file that has this layout; of a damaged one where no other has it; NULL: none. */
const char *config_maps_layouts(struct config_maps *g, const char *layout);
/* Layout for nodes without a label; NULL none. */
const char *config_maps_layout_preset(const struct config_maps *g);
bool config_maps_ask(const struct config_maps *g); /* something of nodes without a label */
bool config_maps_plugin_off(const struct config_maps *g);

#endif
