/* mig_plan.h - the fewest steps from the layout of a GPU to a wanted one
 *
 * A wanted layout is a count per profile name ("1g.10gb" x 7, "1c.3g.40gb" x 2 on one GPU instance...). Every instance that is still
 * wanted stays with its UUID, busy ones first; what is left over is destroyed; what is missing is created at explicit places. A
 * 7-slice GPU has 723 layouts, so all of them are searched and the best is the best:
 *
 *     fewest busy instances destroyed, then fewest destroying steps, then fewest creating steps; places as the driver itself takes them.
 *
 * C-profiles: "1c.3g.20gb" x 3 share one GPU instance where they can; what matters is how many of each kind there are, so a node on which
 * they were spread by hand is left as it is. GPU instances without a compute instance are given one or destroyed.
 *
 * Pure: no I/O, no clock.
 * SOURCE nvidia-mig-parted (names), data/gpu/mig.tsv (places).
 */
#ifndef GPU_MIG_PLAN_H
#define GPU_MIG_PLAN_H
#include "base/arena.h"
#include "base/err.h"
#include "gpu/mig.h"

struct mig_wish {
    const struct mig_profile *profile; /* of the GPU instance */
    uint8_t compute_slices;            /* width of each compute instance; equal to profile->slices for a full one */
    uint32_t n;                        /* compute instances of this kind */
};

enum mig_step_kind {
    MIG_STEP_MODE_ON,
    MIG_STEP_MODE_OFF,
    MIG_STEP_DESTROY_CI,
    MIG_STEP_DESTROY_GI,
    MIG_STEP_CREATE_GI,
    MIG_STEP_CREATE_CI
};
struct mig_step {
    enum mig_step_kind kind;
    uint8_t instance_id, compute_id; /* DESTROY_*: which. CREATE_CI: instance_id = GI that is there, or 0xff: the GI created last */
    uint8_t profile_id, start;       /* CREATE_GI: hardware profile id and memory slice; CREATE_CI: start within the GI */
    uint8_t slices;                  /* CREATE_CI: width */
    bool busy;                       /* DESTROY_CI: something runs there */
};
#define MIG_STEPS_MAX 160
struct mig_plan {
    struct mig_step steps[MIG_STEPS_MAX];
    uint32_t steps_n;
    uint32_t busy_n;   /* instances in use that the plan destroys */
    uint32_t kept_n;   /* compute instances that stay */
};

/* The grammar alone: [Cc.]Gg.Mgb, then +attribute[,attribute] or -attribute; attributes me, me.all, gfx. */
bool mig_name_is_valid(const char *name);
/* "1c.3g.20gb" -> wish without a count. -E_INVALID: grammar; -E_NOTFOUND: this model has no such profile (the text lists what there is). */
int mig_wish_parse(const struct gpu_model *m, const char *name, struct mig_wish *ret_wish, struct err *e);
/* The name of a compute instance: "1g.5gb", "1c.3g.20gb". Returns text in a static-size buffer of the caller (>= 32 bytes). */
void mig_compute_name(const struct mig_profile *p, uint8_t slices, char ret_name[32]);

/* Returns 0, or -E_INVALID when the wish fits on no such GPU (the text says what would). */
int mig_plan_make(const struct gpu_model *m, const struct mig_state *now, bool mode_on, const struct mig_wish *wishes, uint32_t wishes_n,
                  struct mig_plan *ret_plan, struct err *e);
/* True when the state is exactly the wish (assert). */
bool mig_plan_matches(const struct gpu_model *m, const struct mig_state *now, bool mode_on, const struct mig_wish *wishes,
                      uint32_t wishes_n);
/* The steps back to a recorded layout, places included (rollback). What is there at its place stays; identities of the rest are new. */
void mig_plan_restore(const struct gpu_model *m, const struct mig_state *now, const struct mig_state *recorded, struct mig_plan *ret_plan);
/* "destroy compute instance 13/0 (1g.5gb, in use)", "create GPU instance 3g.20gb at 4": for --dry-run and logs.
 * m may be NULL: then profiles have no names. */
void mig_step_text(const struct gpu_model *m, const struct mig_step *step, char ret_text[96]);
/* Carry one step out on a state, by the rules of gpu/mig.h; *last is the GPU instance created last (0xff before). For simulated GPUs. */
enum mig_result mig_step_do(struct mig_state *s, const struct gpu_model *m, const struct mig_step *step, bool busy, uint64_t seed,
                            uint8_t *last);

#endif
