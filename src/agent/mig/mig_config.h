/* mig_config.h - the mig-parted v1 file: named layouts for the GPUs of a node. Pure.
 * SOURCE nvidia-mig-parted
 *
 * The text may also be the manifest of a ConfigMap: then the file under its key config.yaml is read.
 */
#ifndef AGENT_MIG_CONFIG_H
#define AGENT_MIG_CONFIG_H
#include "agent/driver/driver.h"
#include "base/bytes.h"

struct mig_config_wish { const char *profile; uint32_t n; };
struct mig_config_entry {
    const uint64_t *filters;  /* device << 16 | vendor, and subsystem << 32 when given */
    uint32_t filters_n;
    bool devices_all;
    const uint32_t *devices;
    uint32_t devices_n;
    bool mig_enabled;
    const struct mig_config_wish *wishes; /* in file order */
    uint32_t wishes_n;
};
struct mig_layout { const char *name; const struct mig_config_entry *entries; uint32_t entries_n; };
struct mig_config { const struct mig_layout *layouts; uint32_t layouts_n; };

/* Errors name line or path, what is wrong, what to write. */
int mig_config_parse(struct arena *a, struct bytes text, struct mig_config *ret_config, struct err *e);
const struct mig_layout *mig_config_find(const struct mig_config *c, const char *name);
/* What the driver tells, or the table of models while MIG mode is off and it tells nothing; NULL: neither. */
const struct gpu_model *mig_geometry(const struct driver_gpu *gpu);
/* The layout of one GPU of the node: 1 = selected (mode and wishes of the last entry that names it), 0 = not selected, -E_INVALID.
 * A lost GPU is selected without wishes: what it has cannot be known. */
int mig_layout_for(const struct mig_layout *l, const struct driver_gpu *gpu, bool *ret_mode_on, struct mig_wish *ret_wishes,
                   uint32_t wishes_max, uint32_t *ret_wishes_n, struct err *e);
/* The file that would give the present state, one layout called `name` (export). */
void mig_config_export(const struct driver_reading *r, const char *name, struct buf *out_yaml);
/* all-disabled, all-enabled, all-balanced, all-<profile>: what every node understands when no file is there. */
void mig_config_default(const struct driver_reading *r, struct buf *out_yaml);

#endif
