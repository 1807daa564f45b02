/* resource.h - which extended resources a node offers and in which slots: a pure projection of (inventory, config)
 *
 * SOURCE NVIDIA's device plugin (sharing, names, ids), KETI's GPU-Scheduler (keti.com/mpsgpu). Unlike NVIDIA's plugin `rename`, `devices`
 *        and `resources` are honoured.
 * ORDER  resources by name; slots by (gpu index, gi, ci, replica): the same inventory gives the same list.
 */
#ifndef AGENT_RESOURCE_H
#define AGENT_RESOURCE_H
#include "agent/config/config.h"
#include "agent/inventory/slot_state.h"

enum sharing_kind { SHARING_NONE, SHARING_TIME_SLICING, SHARING_MPS, SHARING_KETI };

struct resource {
    const char *name;      /* "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "keti.com/mpsgpu" */
    const char *base_name; /* before renaming. The directories of MPS carry `name`, as NVIDIA's plugin has them */
    enum sharing_kind sharing; /* of its shared slots */
    uint32_t replicas;     /* of a shared unit (the most, when entries differ); 1 when not shared */
    bool renamed, fail_requests_greater_than_one;
    bool distributed; /* several shares for one container come from as many units as possible: sharedDevicesAllocationPolicy */
    struct slot *slots;
    uint32_t slots_n;
    uint16_t *by_id; /* indexes of slots, sorted by id */
};
struct resource_table {
    struct resource *resources;
    uint32_t resources_n;
};
/* Errors are those of strategy single (mixed layouts) and of sharing that the devices cannot do; the previous table stays in use then. */
int resource_table_make(struct arena *a, const struct inventory_snapshot *s, const struct agent_config *c, struct resource_table *ret_table,
                        struct buf *warnings, struct err *e);
const struct resource *resource_table_find(const struct resource_table *t, const char *name);
const struct slot *resource_find_slot(const struct resource *r, const char *id);

/* "0" of a GPU, "0:1" of its second MIG device: as deviceIDStrategy index and `devices` selections name units. */
const char *resource_unit_index(struct arena *a, const struct unit *u);
/* Not for work and skipped everywhere: the display boards of DGX stations. */
bool resource_gpu_skipped(const struct driver_gpu *gpu);

/* `closed` of `object`: [{"slot","state","why"}] of the slots that are not handed out now; nothing where all are open. */
struct json;
void resource_closed_json(struct arena *a, const struct resource *r, struct json *object);
/* The node annotation capstan.dev/devices (codec/decode/decode.h): what the scheduler chooses from. */
void resource_table_devices_text(const struct resource_table *t, const struct inventory_snapshot *s, struct buf *out);

#endif
