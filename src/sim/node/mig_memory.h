/* mig_memory.h - the MIG instances of a simulated node as text: kept in an annotation, so that they outlive this program
 *
 *     "g0,12 i19,9,4,... "     GPU 0 is in MIG mode and has created 12 instances so far
 *     g GPU,created   i profile,id,start   c id,slices,start,uuid        instances follow their GPU, compute instances their GPU instance
 *
 * WHY  identities depend on what was created before: pods that run on an instance must find it again.
 * BAD INPUT  a text that the MIG rules do not allow restores nothing.
 */
#ifndef SIM_MIG_MEMORY_H
#define SIM_MIG_MEMORY_H
#include "agent/driver/driver.h"

#define MIG_MEMORY_NONE "none" /* restores nothing, and is no mistake */

/* Nothing is added when no GPU is in MIG mode. */
void mig_memory_write(const struct driver_reading *r, struct buf *out);
/* -E_INVALID: malformed or not possible on this model; then no GPU was changed. */
int mig_memory_restore(struct driver *model_driver, const struct gpu_model *m, uint32_t gpus_n, const char *text, struct err *e);

#endif
