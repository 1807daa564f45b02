/* driver_nvml.h - the NVML body of driver.h with its settings; driver_nvml_new takes the defaults */
#ifndef AGENT_DRIVER_NVML_H
#define AGENT_DRIVER_NVML_H
#include "agent/driver/driver.h"

struct dcgm_options; /* agent/driver/dcgm.h */
struct driver_nvml_options {
    const char *nvml_path;     /* path; NULL: searched below driver_root */
    const char *root;          /* where we see the host's "/"; NULL: there */
    const char *driver_root;   /* on the host; NULL: "/". sysfs is read below it when it has sys/bus/pci, else in /sys */
    const char *validations;   /* folder of the GPU operator's driver-ready, which says where the driver is; NULL: none */
    const char *driver_here;   /* where we see that; NULL: below root. agent/host/roots.h says what counts */
    const char *sys_root;      /* sysfs: "/host/sys"; NULL: as said above */
    /* Program and arguments that reset one GPU, blank separated; {uuid}, {bus} ("0000:07:00.0") and {index} are replaced. NVML has no such
     * call. NULL: "nvidia-smi --gpu-reset -i {uuid}". The library is shut down first: a reset wants the GPU without clients. */
    const char *reset_command;
    const struct dcgm_options *dcgm; /* profiling of GPUs before Hopper; NULL: without. Copied */
    int64_t call_ms;           /* deadline of reading one GPU, of its processes, of its compute mode; 0: 10 s */
    int64_t step_ms;           /* of a MIG step, of opening the library, of a reset; 0: 120 s */
};
struct driver *driver_nvml_new_with(struct loop *l, const struct driver_nvml_options *options);

#endif
