/* mig_intent.h - what the journal keeps of a MIG change in progress: the layout before it, and the wish. Pure.
 *
 *     from:1;9@0:1@0,1@1;19@6:1@0|to:1;19/1x7
 *
 * from  mode, then each GPU instance: profile id @ memory slice : width @ compute slice of its compute instances
 * to    mode, then the wish: profile id / width x count
 */
#ifndef AGENT_MIG_INTENT_H
#define AGENT_MIG_INTENT_H
#include "base/bytes.h"
#include "gpu/mig_plan.h"

#define MIG_WISHES_MAX 64
struct mig_target { /* what one GPU has to become */
    bool mode_on;
    struct mig_wish wishes[MIG_WISHES_MAX];
    uint32_t wishes_n;
};
void mig_intent_write(const struct mig_state *from, const struct mig_target *to, struct buf *out);
/* Instance numbers of ret_from count from 0, identities are zero: places are what matters. -E_INVALID: not of this form, or a profile that
 * the model has not. */
int mig_intent_read(const struct gpu_model *m, const char *text, struct mig_state *ret_from, struct mig_target *ret_to, struct err *e);

#endif
