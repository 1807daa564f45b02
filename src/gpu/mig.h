/* mig.h - MIG state of one GPU and its rules: what may be created where, what may be destroyed
 *
 *     GPU (mode on) ── GPU instance: profile at [start, start+units) of the memory slices ── compute instance: [start, start+slices)
 *
 * SHAPE  plain old data without pointers: it lies in libnvsim's shared file and in simulated nodes alike.
 * ORDER  GPU instance ids are handed out as the hardware does (as nvidia-smi shows it); compute instance ids count from 0.
 * Results are NVML's return codes, since this is the one rule book for both bodies.
 */
#ifndef GPU_MIG_H
#define GPU_MIG_H
#include "gpu/model.h"

enum mig_result { /* the values are nvmlReturn_t's */
    MIG_OK = 0,
    MIG_INVALID_ARGUMENT = 2,
    MIG_NOT_SUPPORTED = 3,
    MIG_NOT_FOUND = 6,
    MIG_IN_USE = 19,
    MIG_INSUFFICIENT_RESOURCES = 23,
};

struct mig_compute {
    uint8_t used, id, slices, start; /* slices: width in compute slices; start within the GPU instance */
    uint8_t busy_n;                  /* processes on it (set by the owner of the state) */
    uint8_t uuid[16];                /* of its MIG device */
};
struct mig_instance {
    uint8_t used, id, profile_id, start, units;
    struct mig_compute computes[MIG_CI_MAX];
};
struct mig_state {
    uint8_t mode, mode_pending;      /* 0 off, 1 on */
    struct mig_instance instances[MIG_GI_MAX];
    uint64_t created_n;              /* counts creations: UUIDs of later instances differ from earlier ones */
};

/* `busy`: something runs on the whole GPU, the change waits (mode_pending differs from mode). Turning off with instances: IN_USE. */
enum mig_result mig_set_mode(struct mig_state *s, const struct gpu_model *m, bool on, bool busy);
void mig_reset(struct mig_state *s, const struct gpu_model *m); /* pending mode becomes the mode; instances do not outlive a reset */

/* start < 0: the driver chooses. */
enum mig_result mig_create_instance(struct mig_state *s, const struct gpu_model *m, uint8_t profile_id, int start, uint8_t *ret_id);
enum mig_result mig_destroy_instance(struct mig_state *s, uint8_t id);
/* `seed`: identity of the GPU, for the new UUID. slices: 1, 2, 3, 4, 7. start < 0: the driver chooses. */
enum mig_result mig_create_compute(struct mig_state *s, const struct gpu_model *m, uint8_t instance_id, uint8_t slices, int start,
                                   uint64_t seed, uint8_t *ret_id);
enum mig_result mig_destroy_compute(struct mig_state *s, uint8_t instance_id, uint8_t compute_id);

struct mig_instance *mig_find_instance(struct mig_state *s, uint8_t id);
struct mig_compute *mig_find_compute(struct mig_state *s, uint8_t instance_id, uint8_t compute_id);
/* Free places of a profile now, as a bit set of starts; and how many more of it fit. */
uint16_t mig_free_starts(const struct mig_state *s, const struct gpu_model *m, const struct mig_profile *p);
uint32_t mig_remaining(const struct mig_state *s, const struct gpu_model *m, const struct mig_profile *p);

/* Compute instances inside a GPU instance of `instance_slices`: places of width `slices`, as a bit set of starts; 0: no such width there.
 * The second one: of these, the free ones. How many more fit: mig_remaining_computes. */
uint8_t mig_compute_starts(uint8_t instance_slices, uint8_t slices);
uint8_t mig_free_compute_starts(const struct mig_instance *gi, uint8_t instance_slices, uint8_t slices);
uint32_t mig_remaining_computes(const struct mig_instance *gi, uint8_t instance_slices, uint8_t slices);

/* Which start the driver takes when it may choose among `starts` (not 0). */
int mig_choose_start(const struct gpu_model *m, uint16_t starts);
/* Media engines of a profile, and of the whole GPU (as far as its profiles tell): instances together have no more than that. */
struct mig_engines {
    uint16_t decoder_n, encoder_n, jpeg_n, ofa_n;
};
struct mig_engines mig_profile_engines(const struct mig_profile *p);
struct mig_engines mig_model_engines(const struct gpu_model *m);
bool mig_engines_fit(struct mig_engines used, struct mig_engines more, struct mig_engines all);
struct mig_engines mig_engines_sum(struct mig_engines a, struct mig_engines b);

#endif
