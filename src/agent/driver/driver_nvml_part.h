/* driver_nvml_part.h - what the files of driver_nvml share; nobody else includes it
 *
 *     driver_nvml.c          the functions of agent/driver/driver.h: start and end, MIG steps, lists of processes
 *     measure/               measures what happens on the GPUs (agent/driver/measure.h)
 *     driver_nvml_reset.c    resets a GPU: waits until nothing is under way, closes the library, runs the reset program
 *     driver_nvml_read.c     makes a reading: opens the library, reads every GPU in its thread, then the links between them
 *     driver_nvml_events.c   waits for events of the library
 *     driver_nvml_call.c     answers who waits, and tells the listener
 *     driver_nvml_reading.c  puts what was read of all GPUs into one reading
 *     driver_nvml_gpu.c      reads one GPU
 *     driver_nvml_mig.c      reads its MIG geometry and instances, and carries out MIG steps
 *
 * ORDER  each file calls those below it in this list; a lower one calls back only by a pointer (`look`, `answered`).
 * RACE   a function whose comment says "in the thread" runs in a GPU's thread: it calls the library and touches only its arguments.
 *        All others run in the loop.
 */
#ifndef AGENT_DRIVER_NVML_PART_H
#define AGENT_DRIVER_NVML_PART_H
#include "agent/driver/dcgm.h"
#include "agent/driver/driver_nvml.h"
#include "agent/driver/measure.h"
#include "agent/driver/nvml.h"
#include "agent/driver/nvml_worker.h"
#include "agent/host/roots.h"

#define LIMIT_GPU_PROCESSES 16384 /* on one GPU: twice as many as 7 MIG devices with 1000 processes each */

#define GPU_MIGS_MAX 16 /* compute instances of one GPU: there are 7 compute slices, and each instance has one at least */

/* The MIG geometry that the driver enumerated: a model and all that it points to, in one block of memory. */
struct gpu_geometry {
    struct gpu_model model;
    struct mig_profile profiles[MIG_PROFILES_MAX];
    char names[MIG_PROFILES_MAX][32];
    char name[96];
};
struct gpu_nvlink {
    uint8_t type; /* enum nvml_nvlink_remote */
    uint64_t bus; /* domain << 32 | bus << 8 | device of the other end; 0 unknown */
};
/* What is known of one GPU. */
struct gpu_facts {
    bool known;              /* its identity has been read, and stays while the GPU is lost */
    bool lost;
    bool stale;              /* the library was opened again, so its identity has to be read again */
    bool registered;         /* the driver tells its events */
    bool mig_events;         /* the driver tells its MIG changes too */
    struct driver_gpu gpu;   /* its pointers are not set */
    struct mig_state mig;
    struct driver_mig migs[GPU_MIGS_MAX];
    uint32_t migs_n;
    struct gpu_geometry *geometry; /* owned; NULL: no MIG, or the driver tells nothing while the mode is off */
    struct gpu_nvlink nvlinks[NVML_NVLINKS_MAX];
    uint32_t nvlinks_n, nvlinks_age; /* age: readings since they were read */
};
void gpu_facts_free(struct gpu_facts *f); /* what it owns; NULL-safe */
void gpu_facts_copy(struct gpu_facts *to, const struct gpu_facts *from);

/* In the thread. `f` comes in with what was known before and is brought up to date. `sys_root`: folder that holds "bus/pci/devices". */
void gpu_facts_read(struct nvml *n, struct nvml_device *d, uint32_t index, const char *sys_root, struct gpu_facts *f);
/* One list of processes, of a GPU or of a MIG device, as the library gives it. Returns NVML's code, FUNCTION_NOT_FOUND where the library
 * has no such list. The caller frees the list. */
int gpu_process_list_read(struct nvml *n, struct nvml_device *d, enum nvml_process_mode mode, struct nvml_process **ret_list,
                          uint32_t *ret_n);
/* All processes of a GPU, each (pid, gi, ci) once and in that order. Returns how many, or a negative E_*. The caller frees the list. */
int gpu_processes_read(struct nvml *n, struct nvml_device *d, uint32_t index, struct driver_process **ret_list, struct err *e);

/* In the thread: MIG. The caller frees the geometry; NULL: the GPU has none. */
struct gpu_geometry *gpu_geometry_read(struct nvml *n, struct nvml_device *d, const struct gpu_facts *f);
/* Reads instances, MIG devices and how many processes are on them. False: the GPU is lost. */
bool gpu_migs_read(struct nvml *n, struct nvml_device *d, struct gpu_facts *f, const struct driver_process *list, uint32_t list_n);
/* Carries out one step; after CREATE_GI *ret_id is the new instance. An `instance_id` of 0xff ("the one created last") is not understood:
 * the caller puts the number there. */
int gpu_mig_step(struct nvml *n, struct nvml_device *d, const struct mig_step *step, uint8_t *ret_id, struct err *e);

/* One reading of the GPUs of `list`; `ancestors`: n * n topology levels. */
struct driver_reading *gpu_reading_make(const struct gpu_facts *const *list, const uint8_t *ancestors, uint32_t n, uint64_t number,
                                        const char *driver_version, uint32_t cuda_version);

/* ---- the driver, in the loop ---- */

enum { DCGM_CLOSE_MS = 5000 }; /* for a read of libdcgm to end, before a GPU is cut or reset */
enum { LANE_SYSTEM = 0, LANE_GPU = 1, LANE_EVENTS = LANE_GPU + LIMIT_NODE_GPUS, LANE_DCGM, LANES_N };

struct gpu_meter;
struct nvml_slot { /* one GPU by its index */
    struct nvml_device *device; /* NULL: not looked up since the library was opened */
    struct gpu_facts facts;
    bool told_lost;
    bool no_gpm;                /* the last measurement wanted performance monitoring, and there is none */
    uint8_t last_gi;            /* GPU instance created last; 0xff none */
    struct gpu_meter *meter;    /* NULL: not measured since the library was opened */
};
struct nvml_driver;
struct nvml_call { /* somebody waits for an answer */
    struct nvml_driver *d;
    struct nvml_call *next;
    driver_reading_fn reading_fn;
    driver_done_fn done_fn;
    driver_processes_fn processes_fn;
    measure_fn measure_fn;
    const struct measure_reading *measured; /* a reference; its answer */
    void *arg;
    int code;
    struct err error;
};
struct nvml_step;   /* a MIG step or a compute mode */
struct nvml_gather; /* processes of all GPUs, being collected */
struct nvml_measure; /* measurements of all GPUs, being collected */
struct nvml_wait;   /* waiting for events, in their thread */
struct nvml_reset;
struct nvml_driver {
    struct driver driver; /* first: what the user holds */
    struct loop *loop;
    char *nvml_path, *root, *driver_root, *driver_here, *validations, *reset_command; /* all but the last: NULL as in the options */
    char sys_root[256];
    int64_t call_ms, step_ms; /* how long a call, or a step that changes something, may take */
    struct worker_pool *pool;
    struct nvml *nvml;    /* NULL: not open */
    struct nvml *failed;  /* loaded, but its driver did not start (nvml_open) */
    char driver_version[NVML_DRIVER_VERSION_LENGTH];
    uint32_t cuda_version;
    struct nvml_slot *slots[LIMIT_NODE_GPUS];
    uint32_t slots_n;     /* the highest count of GPUs so far */
    uint32_t counted_n;   /* GPUs that the driver counts now */
    uint8_t *ancestors;   /* LIMIT_NODE_GPUS * LIMIT_NODE_GPUS topology levels; 255 unknown */
    uint64_t readings_n;
    bool reading, again;  /* a reading is under way; another is wanted after it */
    uint32_t pending_n;   /* GPUs that it waits for */
    struct nvml_call *now, *later; /* answered by the reading under way; by the next */
    struct nvml_call *deferred;    /* answered in the next turn */
    struct nvml_gather *gathers;
    struct nvml_measure *measures;
    struct dcgm *dcgm;             /* NULL: not wanted */
    bool dcgm_said;
    int dcgm_code;                 /* what was said of it last */
    struct nvml_step *steps;       /* MIG steps and modes under way */
    driver_event_fn event_fn; /* the listener; NULL: none */
    void *event_arg;
    void (*look)(struct nvml_driver *d); /* an event says that the GPUs have to be read; what reads lies above what waits for events */
    struct nvml_wait *wait;
    struct loop_timer *wait_timer; /* tries again after an error */
    struct nvml_reset *reset;      /* NULL: none */
    bool resets_linked;            /* the reset program has named GPUs that have to go with another */
    bool *dead;                    /* set to true when the driver is freed; NULL: nobody wants to know. UNLESS_FREED points it */
};

/* Runs a statement that calls somebody else's function, which may free the driver, and returns from the calling function if it did. */
#define UNLESS_FREED(d, statement)         \
    do {                                   \
        bool dead_ = false, *outer_ = (d)->dead; \
        (d)->dead = &dead_;                \
        statement;                         \
        if (dead_) {                       \
            if (outer_)                    \
                *outer_ = true;            \
            return;                        \
        }                                  \
        (d)->dead = outer_;                \
    } while (0)

/* driver_nvml_call.c */
struct nvml_call *nvml_call_new(struct nvml_driver *d, void *arg);
void nvml_call_defer(struct nvml_call *c, int code); /* answers in the next turn, with c->error */
void nvml_call_answer(struct nvml_call *c, int code, const struct driver_reading *r); /* frees c; may free the driver */
void nvml_calls_free(struct nvml_driver *d, struct nvml_call *list);                  /* without an answer */
void nvml_tell(struct nvml_driver *d, const char *uuid, int kind, uint64_t data);     /* the listener; may free the driver */
void nvml_roots(const struct nvml_driver *d, struct roots *ret_roots);                /* where the driver is just now */
int nvml_ready(const struct nvml_driver *d, struct err *e); /* 0; -E_AGAIN while a GPU is reset; -E_NOTFOUND: no library is open */
int nvml_slot_of(const struct nvml_driver *d, const struct driver_gpu *g); /* -1: the driver does not have it now */
/* driver_nvml_events.c */
void nvml_listen_on(struct nvml_driver *d); /* waits for events from now on, when there is a listener, a library and no reset */
void nvml_wait_stop(struct nvml_driver *d);
/* driver_nvml_read.c */
struct driver_reading *nvml_reading_now(struct nvml_driver *d, uint64_t number); /* of what is known; one reference */
void nvml_read_start(struct nvml_driver *d); /* a reading, or another one after the one under way */
void nvml_forget_handles(struct nvml_driver *d); /* the library is going to be closed */
/* measure/ */
void driver_nvml_measure(void *self, const struct driver_reading *devices, const struct measure_request *request, measure_fn fn, void *arg);
void nvml_measure_forget(struct nvml_driver *d); /* the driver is being freed */
void gpu_meter_unref(struct gpu_meter *m);       /* NULL-safe; in any thread */
/* driver_nvml_reset.c */
void nvml_reset_start(struct nvml_driver *d, uint32_t slot, driver_done_fn fn, void *arg);
void nvml_reset_forget(struct nvml_driver *d); /* the driver is being freed */

#endif
