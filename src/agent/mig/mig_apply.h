/* mig_apply.h - a layout onto the GPUs of a node: one transaction per GPU, journaled, with rollback
 *
 *     plan (gpu/mig_plan) ─▶ intent in the journal ─▶ evict or refuse for busy ones ─▶ steps ─▶ verify ─▶ intent removed
 *                                                                                └ failure ─▶ back to the recorded layout
 *
 * ORDER  GPUs one after the other, by index; the rest of the node works on. Nothing is changed when the layout does not fit one of them, or
 *        one cannot be reached.
 *        GPUs that are reset with one (driver_reset_set) have to be free as it has, and are held with it; what the layout wants of them is
 *        made anew afterwards.
 * SHAPE  an instance is in use when the driver lists a process on it, or when a container was given it (inventory).
 */
#ifndef AGENT_MIG_APPLY_H
#define AGENT_MIG_APPLY_H
#include "agent/inventory/inventory.h"
#include "agent/mig/mig_blocker.h"
#include "agent/mig/mig_config.h"

enum mig_busy_policy { MIG_BUSY_REFUSE, MIG_BUSY_EVICT };
struct mig_apply_config {
    enum mig_busy_policy busy;
    int64_t evict_timeout_ms;
    /* Ask that these leave (eviction API: PodDisruptionBudgets are respected); `done` when they have or cannot. NULL: busy instances are
     * refused. The list is good during the call. */
    void (*evict)(void *ctx, const struct mig_blockers *in_the_way, driver_done_fn done, void *arg);
    /* Units that are about to go must not be handed out meanwhile. May be NULL. */
    void (*hold)(void *ctx, const char *gpu_uuid, bool hold);
    void *ctx;
    bool mode_only;  /* MIG mode as the layout says; instances stay, but where the mode goes off */
    bool skip_reset; /* leave a mode change pending that needs a reset */
};
struct mig_apply_result {
    int code;                /* 0: every selected GPU has its layout; else the first error */
    uint32_t changed_n, unchanged_n, failed_n; /* GPUs */
    uint32_t steps_n;
    bool reset_required;     /* a mode change waits for a reset that was not possible, or skipped */
    struct err error;
    struct mig_blockers blockers; /* of the GPUs that failed because something was in use; good during the call of mig_apply_fn */
};
typedef void (*mig_apply_fn)(void *arg, const struct mig_apply_result *result);

/* One at a time per driver: -E_CONFLICT in the result while another runs. `i` may be NULL (the command line without an agent). The layout
 * and the config are copied. fn is called once, never inside this call; what is returned is good until then. */
struct mig_apply;
struct mig_apply *mig_apply_start(struct loop *l, struct driver *d, struct inventory *i, const struct mig_layout *layout,
                     const struct mig_apply_config *config, mig_apply_fn fn, void *arg);
/* After a restart: an intent left in the journal is rolled back; finished when the wish is there already, or when going back would end
 * what is in use and going on would not. Of the config only `hold` and `ctx` count. */
struct mig_apply *mig_apply_recover(struct loop *l, struct driver *d, struct inventory *i, const struct mig_apply_config *config,
                                    mig_apply_fn fn, void *arg);
/* Without an answer; the step that has begun goes on to its end, no other follows, the intent stays in the journal. Call it before
 * driver_free, and before what evict and hold need goes. NULL-safe. */
void mig_apply_cancel(struct mig_apply *x);

/* 0; -E_GONE: the layout names a GPU that is lost, or one that has never answered. Of those only the index is known: filters count as
 * met. */
int mig_apply_reaches(const struct driver_reading *r, const struct mig_layout *layout, struct err *e);
/* True: the layout names a GPU by an index that nobody here has. Not an error: one file may be for nodes of different sizes. */
bool mig_apply_absent(const struct driver_reading *r, const struct mig_layout *layout, uint32_t *ret_index);
/* 0: the node is as the layout says; -E_CONFLICT: it is not (text: the first difference); -E_INVALID: it does not go with these GPUs;
 * -E_GONE as above. */
int mig_apply_assert(const struct driver_reading *r, const struct mig_layout *layout, bool mode_only, struct err *e);
/* What would be done to one GPU: 1 and the plan, 0 when the layout does not select it, or an error. Steps of a mode change are followed by
 * those that come after it. Nothing for a lost GPU (mig_apply_reaches). `i` may be NULL. */
int mig_apply_plan(const struct driver_gpu *gpu, struct inventory *i, const struct mig_layout *layout, bool mode_only,
                   struct mig_plan *ret_plan, struct err *e);

#endif
