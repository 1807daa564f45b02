/* nvsim.h - a simulated GPU node: the state behind libnvsim's NVML, in one file that all processes share
 *
 *     capstan nvsim create DIR ──▶ DIR/state (mmap, fixed layout) ◀── libnvidia-ml.so.1 (libnvsim) in each client
 *                                  DIR/root/{dev,proc,sys}: companion files under a root prefix
 *
 * Found through NVSIM_STATE (path of the state file); without it libnvsim answers DRIVER_NOT_LOADED.
 * Load, memory, power, temperature, clocks and energy follow the *work* that was put on the GPUs (nvsim_work_start) by the time that has
 * passed since, computed when they are read: nothing moves without work, and no process has to run.
 * RACE   one robust process-shared mutex in the file; a holder that dies leaves a consistent state (every change is made on a copy of
 *        the GPU's record and switched in at the end).
 * SHAPE  plain old data; `layout` names its version; another version is refused with what to do.
 */
#ifndef NVSIM_NVSIM_H
#define NVSIM_NVSIM_H
#include "base/err.h"
#include "base/bytes.h"
#include "gpu/mig.h"

#define NVSIM_GPUS_MAX 16
#define NVSIM_PROCESSES_MAX 65536 /* of the whole node; 8 GPUs x 7 MIG devices x 1000 processes */
#define NVSIM_EVENTS_MAX 1024

struct nvsim;
struct nvsim_config {
    const struct gpu_model *model;
    uint32_t gpus_n;
    const char *seed_name;        /* identities follow from it: node name */
    const char *driver_version;   /* "580.95.05" */
    uint32_t cuda_version;        /* 13000 */
};
int nvsim_create(const char *dir, const struct nvsim_config *config, struct err *e); /* makes state and companion files */
/* Puts the libraries (absolute paths; cuda NULL: none) where a driver has them under the root, under the driver's names, for clients that
 * are given a driver root and for what makes CDI files: libnvidia-ml.so.580.95.05, with links libnvidia-ml.so.1 and libnvidia-ml.so. */
int nvsim_install_driver(const struct nvsim *n, const char *nvml, const char *cuda, struct err *e);
int nvsim_open(const char *state_path, struct nvsim **ret_n, struct err *e);
void nvsim_close(struct nvsim *n);
/* A GPU by its index, UUID or bus id ("0000:07:00.0"). -E_NOTFOUND. */
int nvsim_find_gpu(const struct nvsim *n, const char *name, uint32_t *ret_gpu, struct err *e);

/* Work: a process (real pid or made up) that keeps a GPU or MIG device busy. Utilisations in permille of what it runs on. */
struct nvsim_work {
    uint32_t pid;
    uint32_t gpu, gi, ci;         /* gi, ci 0xffffffff: the whole GPU */
    uint64_t memory_mib;
    uint32_t sm_permille, memory_permille, encoder_permille, decoder_permille;
    uint32_t kind;                /* 0 compute, 1 graphics, 2 MPS client */
    char name[64];                /* for nvmlSystemGetProcessName when /proc has none */
    int64_t end_ms;               /* wall time when it stops by itself; 0: when the pid is gone or it is stopped */
    bool follow_pid;              /* gone from /proc: the work is over */
};
/* -E_NOTFOUND: no such GPU, MIG device or (with follow_pid) process; -E_LIMIT: out of memory there; -E_INVALID: MIG is on and no device
 * named; -E_CONFLICT, -E_DENIED: the GPU's state or compute mode does not allow it. */
int nvsim_work_start(struct nvsim *n, const struct nvsim_work *work, struct err *e);
int nvsim_work_stop(struct nvsim *n, uint32_t pid, struct err *e); /* on every device */

/* Faults, kind and argument. gi < 0: the whole GPU. -E_INVALID: unknown kind or argument; -E_NOTFOUND: no such GPU or MIG device.
 *
 *     xid NUMBER          the event, and what follows from it (79: lost; 48: ECC; 63, 64: remapping; 94: its processes die;
 *                         95, 119: reset needed)
 *     ecc single|double|sram    lost    off-bus (also gone from sysfs; a reset does not help)
 *     hang SECONDS (calls on the GPU block)    slow MILLISECONDS (each call takes so long; 0 ends it)
 *     throttle thermal|software-thermal|power|brake|off    row-remap pending|failure|corrected
 *     nvlink LINK (down)    fabric (unhealthy)    pcie-replay    driver ok|mismatch|not-loaded (the whole node's)
 *     fabric-manager on|off (the whole node's)
 *     back                ends lost, off-bus, hang, slow, throttle, nvlink, fabric and a needed reset
 */
int nvsim_fault(struct nvsim *n, uint32_t gpu, int gi, int ci, const char *kind, const char *argument, struct err *e);
/* Ends what a reset ends; a pending MIG mode is taken up, MIG instances are gone. -E_CONFLICT while processes run on it, or off the bus. */
int nvsim_reset(struct nvsim *n, uint32_t gpu, struct err *e);
/* The same of several in one command, as bits: all or none. -E_CONFLICT too where others are linked to them and have to go with them. */
int nvsim_reset_all(struct nvsim *n, uint32_t gpus, struct err *e);
/* The whole node as JSON: {"node","model","driver","gpus":[{"index","uuid",...,"mig":{...},"processes":[...],"faults":[...]}]}. */
void nvsim_list(struct nvsim *n, struct buf *out_json);

#endif
