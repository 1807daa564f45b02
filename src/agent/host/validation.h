/* validation.h - the GPU operator's files that pods wait for: /run/nvidia/validations/{driver,toolkit,plugin}-ready
 *
 * WHY    DaemonSets of NVIDIA and others wait in an init container until such a file is there. Where the agent takes the place of the
 *        device plugin the operator's validator does not write plugin-ready; where there is no operator nobody writes any.
 * OWNER  files whose first line is MARK are ours: they are kept true and taken away. All others are the validator's and are left alone.
 * SOURCE gpu-operator cmd/nvidia-validator (names, what driver-ready says, that `rm *-ready` ends a validator), assets/state-*.
 */
#ifndef AGENT_VALIDATION_H
#define AGENT_VALIDATION_H
#include <stdbool.h>
#include "agent/host/roots.h"
#include "base/err.h"

struct validation {
    bool driver;              /* it answers */
    bool toolkit;             /* containers get their devices without NVIDIA's container runtime: by CDI files, which are written */
    bool plugin;              /* the kubelet has devices to give */
    const struct roots *roots;
};
/* Makes the files as they should be; what is so already is not written. A directory that is not there is nothing to do. Returns how many
 * were written or removed; -E_*: the first that could not be. */
int validation_write(const char *dir, const struct validation *v, struct err *e);
/* Where the operator's validator has found driver and device nodes, as the host names it; false: it has written nothing, or we did. */
bool validation_read(const char *dir, char ret_driver[ROOT_BYTES], char ret_dev[ROOT_BYTES]);

#endif
