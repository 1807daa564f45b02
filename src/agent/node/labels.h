/* labels.h - the node labels of GPU Feature Discovery, plus nvidia.com/gpu.present. Pure but for label_facts_read. SOURCE GPU Feature
 * Discovery 0.20 */
#ifndef AGENT_LABELS_H
#define AGENT_LABELS_H
#include "agent/inventory/resource.h"

struct label_pair { const char *name, *value; };
struct label_facts {
    const char *machine_type; /* DMI product name, as read; "" unknown */
    int64_t now_s;            /* for gfd.timestamp */
    bool is_vgpu; /* a GPU of the node is a hypervisor's */
    const char *vgpu_driver_version, *vgpu_driver_branch; /* of that host; NULL: it does not say */
};
/* From the files of the machine: product name, PCI configuration of its GPUs. root: prefix of /sys, NULL none. Texts stand in `a`. */
struct label_facts label_facts_read(struct arena *a, const char *root, const struct agent_config *c, int64_t now_s);
/* By name. All names begin with "nvidia.com/". */
void labels_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, const struct resource_table *t,
                 const struct label_facts *facts, struct label_pair **ret_labels, uint32_t *ret_n, struct buf *warnings);
/* Every name that labels_make may ever give: those are removed from the node when no longer given. Prefix match for "mig-". */
bool labels_owns(const char *name);
void labels_write_features(const struct label_pair *labels, uint32_t n, struct buf *out); /* NFD features.d: "name=value\n" */

#endif
