/* mig_wish.h - a wish in the form the search takes, and the words when it does not fit; for gpu/mig_plan.c and the default layouts */
#ifndef GPU_MIG_WISH_H
#define GPU_MIG_WISH_H
#include "gpu/mig_plan.h"
#include "gpu/mig_search.h"

#define MIG_BALANCED_KINDS 3
/* NVIDIA's all-balanced: 2 x 1g + 1 x 2g + 1 x 3g on 7-slice parts, 2 x 1g + 1 x 2g on 4-slice ones; 0 when the model has not these.
 * ORDER larger first. */
uint32_t mig_balanced(const struct gpu_model *m, struct mig_kind ret_kinds[MIG_BALANCED_KINDS]);
/* -E_INVALID with the reason, and what of the wish would fit. */
int mig_wish_refuse(const struct gpu_model *m, const struct mig_kind *kinds, uint32_t kinds_n, struct err *e);

#endif
