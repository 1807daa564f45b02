/* label_hypernodes.h - the HyperNodes that labels of nodes make, as Volcano's configuration asks for them
 *
 *   networkTopologyDiscovery:
 *   - source: label
 *     enabled: true
 *     config: {networkTopologyTypes: {fabric: [{nodeLabel: zone}, {nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}}
 *
 *   nodes with rack=r1 ──▶ hypernode-fabric-tier1-xxxxx {rack: r1} ──┐
 *   nodes with rack=r2 ──▶ hypernode-fabric-tier1-yyyyy {rack: r2} ──┴▶ hypernode-fabric-tier2-zzzzz {zone: z1}
 *
 * The last label stands for the node itself. A node counts up to the first label, from below, that it lacks.
 *
 * SHAPE  one HyperNode for each label and value, of the tier of the label's place from below; tierName: the label. One that is there for
 *        that label and value keeps its name; of others the name follows from them, so that who is asked twice says the same.
 * LIMIT  LABEL_TOPOLOGIES, TOPOLOGY_LEVELS labels each.
 * SOURCE Volcano, its discoverer of labels.
 */
#ifndef JOBS_LABEL_HYPERNODES_H
#define JOBS_LABEL_HYPERNODES_H
#include "base/arena.h"
#include "wire/json.h"

#define HYPERNODE_SOURCE_LABEL "volcano.sh/network-topology-source" /* "label": who made it */
#define LABEL_TOPOLOGIES 16

struct label_topology {
    const char *name;
    const char **labels;     /* the lowest first, without that of the node itself */
    uint32_t n;
};
struct label_topologies {
    bool enabled;
    struct label_topology all[LABEL_TOPOLOGIES];
    uint32_t n;
    const char *problem;     /* the first thing that is wrong, or has no effect; NULL: nothing */
};
/* Of Volcano's file volcano-controller.conf. What cannot be read asks for nothing. Texts in the arena. */
void label_topologies_read(struct arena *a, struct bytes text, struct label_topologies *ret);

/* nodes: [{"name":, "labels":{}}], by name; there: HyperNodes that were found before, whole. Array of HyperNodes by tier and name. */
struct json *label_hypernodes(struct arena *a, const struct label_topologies *t, const struct json *nodes, const struct json *there);

#endif
