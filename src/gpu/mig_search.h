/* mig_search.h - which instances of one GPU stay, and where the missing ones go: exact search, for gpu/mig_plan.c alone
 *
 * SHAPE  `kinds`: what is wanted, one entry a (profile, width), larger profiles first, equal profiles side by side.
 * LIMIT  a GPU has at most 7 compute slices, so at most 7 compute instances are wanted; more never fits.
 */
#ifndef GPU_MIG_SEARCH_H
#define GPU_MIG_SEARCH_H
#include "gpu/mig.h"

#define MIG_KINDS_MAX 64
struct mig_kind {
    const struct mig_profile *profile;
    uint8_t slices; /* width of the compute instance */
    uint8_t n;
};

struct mig_room { /* a GPU instance that stays or is made */
    const struct mig_profile *profile;
    uint8_t instance; /* index in mig_state.instances, or 0xff: to be made */
    uint8_t used;     /* compute slices taken, bit set */
    uint8_t start;    /* memory slice */
};
struct mig_place { /* a compute instance to be made */
    uint8_t room, slices, start;
};
struct mig_found {
    uint8_t kept[MIG_GI_MAX];      /* per instance of the state: bit set of the computes that stay */
    bool instance_kept[MIG_GI_MAX];
    struct mig_room rooms[3 * MIG_GI_MAX];
    struct mig_place places[MIG_GI_MAX];
    uint32_t rooms_n, places_n;
    uint32_t busy_n, destroyed_n, created_n;
};
/* False: the wish does not fit on this GPU, whatever is destroyed. */
bool mig_search(const struct gpu_model *m, const struct mig_state *now, const struct mig_kind *kinds, uint32_t kinds_n,
                struct mig_found *ret_found);

#endif
