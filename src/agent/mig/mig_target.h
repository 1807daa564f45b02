/* mig_target.h - what one GPU of a reading has to become, what is in its way, and whether it is there; for mig_apply. Pure. */
#ifndef AGENT_MIG_TARGET_H
#define AGENT_MIG_TARGET_H
#include "agent/mig/mig_apply.h"
#include "agent/mig/mig_intent.h"

/* The layout, with all that it points at, in the arena. */
const struct mig_layout *mig_target_copy(struct arena *a, const struct mig_layout *layout);
/* 1 selected, 0 not, -E_INVALID. The wishes point into the GPU's geometry: good as long as its reading. */
int mig_target_of(const struct mig_layout *layout, const struct driver_gpu *gpu, struct mig_target *ret_target, struct err *e);
/* The state with what the inventory knows (NULL: nothing): what was given to a container is in use. */
struct mig_state mig_target_state(const struct driver_gpu *gpu, struct inventory *i);
/* mode_only: only the mode, and the destruction that turning it off needs. */
int mig_target_plan(const struct mig_target *t, const struct driver_gpu *gpu, const struct mig_state *now, bool mode_only,
                    struct mig_plan *ret_plan, struct err *e);
bool mig_target_reached(const struct mig_target *t, const struct driver_gpu *gpu, bool mode_only);
/* What has to be free before the plan is carried out: instances that go, the GPU itself when its mode goes on. */
void mig_target_blockers(const struct mig_plan *plan, const struct driver_gpu *gpu, struct inventory *i, struct mig_blockers *out);
/* GPUs that a mode change of this one resets with it, as bits of their indexes, without itself; 0: none, or it needs no reset. */
uint64_t mig_target_linked(const struct driver_reading *r, const struct mig_plan *plan, const struct driver_gpu *gpu);
/* Adds, of one of those, all that is in use there. */
void mig_target_linked_blockers(const struct driver_gpu *gpu, struct inventory *i, struct mig_blockers *out);

#endif
