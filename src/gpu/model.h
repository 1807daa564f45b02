/* model.h - what GPUs there are: identity, memory, limits and MIG geometry of each model, as data
 *
 * SHAPE  tables generated from data/gpu/models.tsv and data/gpu/mig.tsv (scripts/generate-gpu).
 * UNIT   memory in MiB, power in milliwatts, clocks in MHz, temperatures in degrees Celsius.
 * SOURCE recorded nvidia-smi output and NVML of each model; see the heads of the two files.
 *
 * Three readers: libnvsim (a GPU behind NVML's C ABI), sim/driver/driver_model (the GPUs of simulated nodes) and the MIG planner.
 * A real driver is always asked; these tables never stand in for it.
 */
#ifndef GPU_MODEL_H
#define GPU_MODEL_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"

#define MIG_GI_MAX 8      /* GPU instances of one GPU; 7 is the most that exist */
#define MIG_CI_MAX 8      /* compute instances of one GPU instance */
#define MIG_PROFILES_MAX 24
#define MIG_UNITS_MAX 16  /* memory slices of one GPU: 8 on 7-slice parts, 4 on A30, 12 on RTX PRO 6000 */

/* One GPU instance profile of one model. Its compute instance profiles are 1c, 2c, 3c, 4c, 7c up to its own width. */
struct mig_profile {
    const char *name;       /* "1g.5gb", "1g.5gb+me", "3g.20gb" */
    uint8_t nvml_index;     /* NVML's profile argument: 0 1g, 1 2g, 2 3g, 3 4g, 4 7g, 7 1g+me, 9 1g double memory, ... */
    uint8_t id;             /* hardware profile id: 19, 20, 15, 14, 9, 5, 0 on 7-slice parts */
    uint8_t slices;         /* G: compute slices */
    uint8_t max_n;          /* how many fit on an empty GPU */
    uint8_t units;          /* memory slices it takes */
    uint16_t starts;        /* bit s set: it may start at memory slice s */
    uint16_t sm_n;
    uint8_t copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    bool p2p, graphics;
    uint32_t memory_mib;
};

struct gpu_model {
    const char *key;            /* "a100-40gb": name in node shapes and `capstan nvsim` */
    const char *name;           /* NVML: "NVIDIA A100-SXM4-40GB" */
    const char *architecture;   /* "ampere": as GPU Feature Discovery names families */
    const char *part_number;    /* of the board: "692-2G506-0200-003", where G506 is the design */
    uint8_t nvml_architecture, nvml_brand;
    uint8_t compute_major, compute_minor;
    uint32_t pci_device_id;     /* device << 16 | vendor */
    uint32_t pci_subsystem_id;
    bool display_class;         /* PCI class 0x0300 instead of 0x0302 */
    uint32_t memory_mib;        /* NVML total */
    uint32_t reserved_mib;      /* of it, held by the driver */
    uint16_t bar1_mib_log2;     /* log2 of the BAR1 size in MiB */
    uint16_t sm_n;
    uint32_t core_n;
    uint16_t bus_width_bits;
    uint8_t pcie_generation, pcie_width;
    uint8_t nvlink_n, nvlink_version; /* links of one GPU (0 = none); generation: 3 = NVLink 3.0 */
    bool nvswitch;              /* links end in a switch */
    uint8_t fans_n;
    uint32_t power_default_mw, power_min_mw, power_max_mw, power_idle_mw;
    uint16_t clock_graphics_mhz, clock_memory_mhz, clock_idle_mhz;
    uint8_t temperature_idle, temperature_slowdown, temperature_shutdown, temperature_max;
    uint8_t copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    bool gpm;                   /* GPU performance monitoring (Hopper and later) */
    uint8_t mig_slices;         /* 0 = no MIG, 7 or 4 */
    uint8_t mig_units;          /* memory slices: 8, 4, 12 */
    bool mig_needs_reset;       /* mode change needs a GPU reset (Ampere) */
    const struct mig_profile *profiles;
    uint8_t profiles_n;
    /* The node that it is usually sold in. */
    uint8_t node_gpus_n, node_link_group_n;
    uint16_t node_cpu_n;
    uint32_t node_memory_gib;
};

extern const struct gpu_model gpu_models[];
extern const uint32_t gpu_models_n;

const struct gpu_model *gpu_model_find(const char *key); /* by key, or by product name; NULL: none */
const char *gpu_model_keys(void);                        /* "a100-40gb, a100-80gb, ..." for error texts */
/* By name as mig-parted writes it ("1g.10gb+me"; "-me" suffixes are part of the name); NULL: this model has none. */
const struct mig_profile *mig_profile_find(const struct gpu_model *m, const char *name);
const struct mig_profile *mig_profile_by_id(const struct gpu_model *m, uint32_t id);
const struct mig_profile *mig_profile_by_nvml_index(const struct gpu_model *m, uint32_t index);

/* A name as labels of nodes have it ("NVIDIA A100-SXM4-40GB" is NVIDIA-A100-SXM4-40GB): letters, digits and "-_." stay, a run of blanks is
 * one '-', all else is dropped. In the arena. SOURCE GPU Feature Discovery. */
const char *gpu_text_in_label(struct arena *a, const char *text);

/* A profile as names of labels and resources have it, "1g.10gb.me" of 1g.10gb+me; the resource that offers it, nvidia.com/mig-1g.10gb.me.
 * In the arena. SOURCE NVIDIA's device plugin. */
const char *mig_profile_text(struct arena *a, const char *profile);
const char *mig_profile_resource(struct arena *a, const char *profile);

/* Is it a resource of accelerators, whole or as a part that a device plugin offers: nvidia.com/gpu, nvidia.com/mig-1g.5gb, amd.com/gpu? */
bool gpu_is_resource(const char *resource);

#endif
