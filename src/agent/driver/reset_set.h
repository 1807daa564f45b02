/* reset_set.h - which GPUs are reset with one
 *
 * GPUs that are linked by NVLink go together before Ampere, and later where the reset program has said so: on an NVSwitch whose fabric manager
 * does not run. All others go alone. SOURCE nvidia-smi's manual, --gpu-reset.
 */
#ifndef AGENT_RESET_SET_H
#define AGENT_RESET_SET_H
#include "agent/driver/driver.h"

/* Indexes as bits, that of `gpu` among them; of those that the reading has. */
uint64_t reset_set(const struct driver_reading *r, const struct driver_gpu *gpu);

#endif
