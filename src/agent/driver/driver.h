/* driver.h - the GPUs of one node as their driver tells of them; one interface, two bodies
 *
 *     driver_nvml   libnvidia-ml.so.1 behind dlopen (real, or libnvsim): worker threads, deadlines
 *     driver_model  gpu/model and gpu/mig in this process: the nodes of `capstan up` (sim/driver/driver_model.h)
 *
 * A reading is immutable and counted: readers keep it as long as they like. Calls answer by callback in the loop's turn, exactly once,
 * never inside the call; a call that outlives its deadline answers -E_AGAIN and its late result is dropped. Each call is a token, by which
 * its caller takes it back before he goes.
 */
#ifndef AGENT_DRIVER_H
#define AGENT_DRIVER_H
#include "base/arena.h"
#include "base/err.h"
#include "gpu/mig.h"
#include "gpu/mig_plan.h"
#include "loop/loop.h"

#define LIMIT_NODE_GPUS 64

/* How near two GPUs are. */
struct driver_link {
    uint8_t ancestor; /* NVML topology level: 0 same, 10 one switch, 20 several, 30 host bridge, 40 node (NUMA), 50 system; 255 unknown */
    uint8_t nvlinks_n; /* direct NVLinks, or links of each to a common NVSwitch */
};

/* One compute instance = one MIG device. */
struct driver_mig {
    uint8_t gi, ci, gi_profile_id, gi_start, gi_units, ci_slices, ci_start;
    uint8_t gi_slices;
    char profile[32];          /* "1g.5gb", "1c.3g.20gb" */
    char uuid[48];             /* "MIG-..." */
    uint32_t memory_mib;
    uint16_t sm_n;
    uint8_t copy_n, decoder_n, encoder_n, jpeg_n, ofa_n;
    uint16_t processes_n;
};

struct driver_gpu {
    uint16_t index, minor;
    bool lost;                 /* the driver lists it, but answers GPU_IS_LOST or nothing in time */
    char uuid[48];             /* "GPU-..." */
    char name[96], serial[32];
    char bus_id[32];           /* "0000:07:00.0", lower case: as sysfs names it */
    uint32_t pci_device_id, pci_subsystem_id;
    uint32_t pci_class;        /* 0x030200; 0 unknown */
    int16_t numa_node;         /* -1: none */
    uint32_t memory_mib;
    uint8_t architecture, compute_major, compute_minor, brand;
    bool mig_capable, mig_on, mig_pending;
    uint8_t recovery;          /* enum nvml_recovery: what the driver wants done; 0 nothing, or it does not say */
    bool recovery_told;        /* it does say, if only that it wants nothing: drivers since R570 */
    char fabric_cluster[40];   /* UUID text; "" none */
    uint32_t fabric_clique;
    uint8_t fabric_state;      /* NVML: 0 not supported, 1 not started, 2 in progress, 3 completed */
    uint16_t processes_n;
    const struct gpu_model *geometry; /* MIG geometry as the driver enumerates it; NULL: no MIG */
    struct driver_mig *migs;   /* by (gi, ci) */
    uint32_t migs_n;
    const struct mig_state *mig; /* the same as plan input; GPU instances without compute instances included. Never NULL: a GPU that
                                  * has none points at driver_mig_none */
};
extern const struct mig_state driver_mig_none; /* mode off, no instances */

struct driver_reading {
    uint32_t refs;
    uint64_t number;           /* counts readings */
    char driver_version[80];   /* "580.95.05" */
    uint32_t cuda_version;     /* 13000 = 13.0 */
    struct driver_gpu *gpus;   /* by index */
    uint32_t gpus_n;
    uint64_t silent;           /* bit i: the driver counts a GPU i that has never answered: not in gpus, nothing is known of it */
    struct driver_link *links; /* [gpus_n * gpus_n] */
    bool resets_linked;        /* the reset program wants linked GPUs in one command, also those after Volta: driver_reset_set */
    struct arena *arena;       /* holds the reading itself and all that it points to; NULL: the reading is one block of memory */
};
/* An empty reading in `a`, which it takes over: one reference. All that the reading points to is then put into the same arena. */
struct driver_reading *driver_reading_new(struct arena *a);
struct driver_reading *driver_reading_ref(const struct driver_reading *r);
void driver_reading_unref(const struct driver_reading *r); /* NULL-safe */
/* By UUID of a GPU or "GPU-..." prefix of a MIG parent; NULL: none. */
const struct driver_gpu *driver_reading_gpu(const struct driver_reading *r, const char *uuid);

/* Which GPUs are reset with this one: their indexes as bits, its own among them. GPUs that are linked by NVLink go together before Ampere,
 * and later where the reset program has said so: on an NVSwitch whose fabric manager does not run. SOURCE nvidia-smi's manual,
 * --gpu-reset. */
uint64_t driver_reset_set(const struct driver_reading *r, const struct driver_gpu *gpu);
uint64_t driver_linked_set(const struct driver_reading *r, const struct driver_gpu *gpu); /* the same without itself */

/* Something happened on a GPU. */
enum driver_severity { DRIVER_SEVERITY_UNSAID, DRIVER_SEVERITY_FATAL, DRIVER_SEVERITY_NONFATAL };
struct driver_event {
    char uuid[48];   /* of the GPU; "" = the driver does not say which */
    uint32_t gi, ci; /* 0xffffffff: the whole GPU */
    enum {
        DRIVER_EVENT_XID,
        DRIVER_EVENT_ECC_SINGLE,
        DRIVER_EVENT_ECC_DOUBLE,
        DRIVER_EVENT_MIG_CHANGED,
        DRIVER_EVENT_LOST,
        DRIVER_EVENT_BACK
    } kind;
    uint64_t data;   /* XID number */
    uint32_t pid;    /* of an XID: the process that it is about; 0: not said */
    enum driver_severity severity; /* of an XID of NVLink 5, by the kernel's log */
};

/* A process on a GPU or MIG device. */
struct driver_process {
    uint32_t pid, gi, ci; /* gi, ci 0xffffffff when not MIG */
    uint16_t gpu;         /* index */
    uint64_t memory_bytes; /* all-ones: not available */
};
int driver_process_order(const void *a, const void *b); /* of two of them: by driver_process_key_order */
struct driver_process_key { /* all that tells one entry of a list of processes from another */
    uint32_t gpu, gi, ci, pid;
};
int driver_process_key_order(struct driver_process_key a, struct driver_process_key b); /* in this order of fields; 0: the same */

struct driver;
typedef void (*driver_reading_fn)(void *arg, int code, const struct driver_reading *reading, const struct err *e);
typedef void (*driver_done_fn)(void *arg, int code, const struct err *e);
typedef void (*driver_event_fn)(void *arg, const struct driver_event *event);
typedef void (*driver_processes_fn)(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e);

/* Codes of mig_step, reset, set_compute_mode: -E_CONFLICT in use, -E_LIMIT no room there, -E_NOTFOUND no such GPU or instance, -E_INVALID
 * not possible on this GPU, -E_DENIED permission, -E_AGAIN deadline, -E_GONE the GPU is lost, -E_IO others. A mode change that waits for a
 * reset is 0: the next reading says mig_pending. */
struct measure_request;
struct measure_reading;
typedef void (*measure_fn)(void *arg, int code, const struct measure_reading *reading, const struct err *e);

struct driver_ops {
    void (*read)(void *self, driver_reading_fn fn, void *arg);
    void (*mig_step)(void *self, const char *gpu_uuid, const struct mig_step *step, driver_done_fn fn, void *arg);
    /* After a mode change that needs it, or a fault. GPUs of its driver_reset_set go with it: nobody may be on any of them. */
    void (*reset)(void *self, const char *gpu_uuid, driver_done_fn fn, void *arg);
    void (*set_compute_mode)(void *self, const char *gpu_uuid, int mode, driver_done_fn fn, void *arg); /* 0 default, 3 exclusive process */
    void (*processes)(void *self, driver_processes_fn fn, void *arg);
    /* What is happening on the devices (agent/driver/measure.h); `devices` is a reading of this driver. NULL: cannot. */
    void (*measure)(void *self, const struct driver_reading *devices, const struct measure_request *request, measure_fn fn, void *arg);
    /* The call with this arg is taken back: what it waits for is not begun. True: no answer will come. May be NULL. */
    bool (*cancel)(void *self, const void *arg);
    void (*listen)(void *self, driver_event_fn fn, void *arg); /* one listener; events come in the loop's turn */
    void (*free)(void *self);
};
struct driver_call;
struct driver {
    const struct driver_ops *ops;
    void *self;
    struct driver_call *calls;   /* that wait for an answer */
    struct mig_apply *mig_apply; /* who changes the MIG layout now; NULL: nobody (agent/mig/mig_apply.h) */
};

/* `library`: path, or NULL for the search paths of the driver root (NULL = "/"). The library may come later: read answers -E_NOTFOUND
 * until then, and every read tries again. */
struct driver *driver_nvml_new(struct loop *l, const char *library, const char *driver_root);
void driver_free(struct driver *d); /* NULL-safe; calls that wait for an answer get none */

/* Calls through the interface. What they return is good until fn is called, or the driver freed: keep it where the call may have to be
 * taken back, or ignore it. */
struct driver_call *driver_read(struct driver *d, driver_reading_fn fn, void *arg);
struct driver_call *driver_mig_step(struct driver *d, const char *gpu_uuid, const struct mig_step *step, driver_done_fn fn, void *arg);
struct driver_call *driver_reset(struct driver *d, const char *gpu_uuid, driver_done_fn fn, void *arg);
struct driver_call *driver_set_compute_mode(struct driver *d, const char *gpu_uuid, int mode, driver_done_fn fn, void *arg);
struct driver_call *driver_processes(struct driver *d, driver_processes_fn fn, void *arg);
struct driver_call *driver_measure(struct driver *d, const struct driver_reading *devices, const struct measure_request *request,
                                   measure_fn fn, void *arg);
/* No answer any more: arg may be freed. A step, reset or mode that has not begun never does; one that has goes on to its end. NULL-safe. */
void driver_cancel(struct driver_call *c);
void driver_listen(struct driver *d, driver_event_fn fn, void *arg);

#endif
