/* mig_blocker.h - what is in the way of a MIG step: who uses which device, one record each. Pure.
 *
 * SHAPE  one record for each pod on a unit, or one for a unit whose user nobody knows.
 *        unit: UUID of a MIG device that goes, or of a GPU whose mode changes or that is reset with such a one. DRIVER: the driver refused
 *        a step without saying for whom; the owners that are known on that GPU follow as records of their own.
 */
#ifndef AGENT_MIG_BLOCKER_H
#define AGENT_MIG_BLOCKER_H
#include "agent/inventory/inventory.h"

enum mig_block { MIG_BLOCK_OWNER, MIG_BLOCK_PROCESS, MIG_BLOCK_DRIVER };
struct mig_blocker {
    enum mig_block by; /* a container that was given the unit; a process that the driver lists; the driver's refusal */
    char gpu[48], unit[48];
    char profile[32];        /* of a MIG device; "" a GPU */
    char ns[64], pod[256];   /* OWNER: "" while it is not known whose */
};
struct mig_blockers { /* all zero: none. LIMIT: the slots that a node offers, and one a GPU instance */
    struct mig_blocker *list;
    uint32_t n, cap;
};
void mig_blockers_free(struct mig_blockers *b); /* it is empty then */
void mig_blockers_add(struct mig_blockers *b, const struct mig_blocker *one);
/* Owners and processes on a MIG device, or (mig NULL) on the whole GPU. `s` NULL: no owners are known. busy: in use, whoever it is. */
void mig_blockers_add_unit(struct mig_blockers *b, const struct driver_gpu *gpu, const struct driver_mig *mig,
                           const struct inventory_snapshot *s, bool busy);
/* The driver refused: that, and who is known to be on any unit of the GPU. */
void mig_blockers_add_refusal(struct mig_blockers *b, const struct driver_gpu *gpu, const struct inventory_snapshot *s);
/* Is anything still on one of these units (after a refusal: anywhere on the GPU)? */
bool mig_blockers_hold(const struct mig_blockers *b, const struct inventory_snapshot *s);
bool mig_blockers_seen(const struct mig_blockers *b); /* one of them is an owner or a process */
bool mig_blocker_is_on(const struct mig_blocker *b, const char *gpu_uuid, const char *unit_uuid); /* is the record about this unit? */
/* "in use: 1g.5gb MIG-... by team/train, GPU-... and 3 more; end what runs there, or have it evicted" */
void mig_blockers_error(const struct mig_blockers *b, struct err *e);

#endif
