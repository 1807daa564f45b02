/* node_object.h - the Node object of a simulated node: what a kubelet, feature discovery and the device plugin write into it
 *
 * The annotation capstan.dev/shape says what the node is, so that whoever sees the object can simulate it; nodes that are added by hand
 * with it and the label capstan.dev/simulated=true become GPU nodes. capstan.dev/devices names each device (codec/decode/decode.h reads
 * it).
 */
#ifndef SIM_NODE_OBJECT_H
#define SIM_NODE_OBJECT_H
#include "sim/node/node_kind.h"
#include "wire/json.h"

#define NODE_SHAPE_ANNOTATION "capstan.dev/shape"

/* Node number `index` (0..) of this kind; `ordinal` makes addresses unique in the cluster. bare: without what an agent and a kubelet of its
 * own will write about GPUs. */
struct json *node_object_make(struct arena *a, const struct node_kind *kind, int32_t index, int32_t ordinal, int64_t wall_ms, bool bare);
const char *node_object_name(struct arena *a, const struct node_kind *kind, int32_t index);

#endif
