/* driver_model.h - the GPUs of a simulated node behind the agent's interface to drivers (agent/driver/driver.h)
 *
 * gpu/model says what they are, gpu/mig what may be done to them, and these functions what happens to them.
 * UNIT  gpu is an index; gi and ci 0xffffffff mean the whole GPU.
 */
#ifndef SIM_DRIVER_MODEL_H
#define SIM_DRIVER_MODEL_H
#include "agent/driver/driver.h"

/* gpus_n GPUs of one model; identities follow from `node_name`, so that they are the same at every start. Ended by driver_free. */
struct driver *driver_model_new(struct loop *l, const struct gpu_model *m, uint32_t gpus_n, const char *node_name);
/* XID, ECC: only told to the listener. LOST, BACK: the GPU answers no more, or again. */
void driver_model_event(struct driver *d, uint32_t gpu, uint32_t gi, uint32_t ci, int kind, uint64_t data);
/* Who runs on the GPUs from now on (copied): instances with processes cannot be destroyed. */
void driver_model_set_processes(struct driver *d, const struct driver_process *list, uint32_t n);
/* How busy what runs on this unit keeps it, in permille; sm_permille above 1000: as its processes do by themselves again. */
void driver_model_work(struct driver *d, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t sm_permille, uint32_t memory_permille);
/* The next n changing calls (mig_step, reset, set_compute_mode) fail with this code and change nothing; n = 0: all calls work. */
void driver_model_refuse(struct driver *d, int code, uint32_t n);
/* The MIG state that a GPU had before (copied): what a simulated node keeps when its program is started again. */
void driver_model_set_mig(struct driver *d, uint32_t gpu, const struct mig_state *state);
int driver_model_compute_mode(const struct driver *d, uint32_t gpu);
/* GPU-..., as driver_model_new gives it to GPU number `gpu` of the node called so. */
void driver_model_uuid(const char *node_name, uint32_t gpu, char ret_uuid[48]);

#endif
