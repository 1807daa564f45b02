/* driver_nvml_measure.h - what driver_nvml measures on one GPU, in its thread; only the files of this folder include it
 *
 *     driver_nvml_measure.c           the operation: a job for every GPU, then one reading
 *     driver_nvml_measure_read.c      the values of a GPU and of its MIG devices
 *     driver_nvml_measure_gpm.c       performance monitoring: two samples and what lies between
 *     driver_nvml_measure_process.c   who runs there, and how much of it each one ran
 *     driver_nvml_meter.c             what is kept of the GPU between two measurements
 *     driver_nvml_measure_dcgm.c      the same values from libdcgm where the GPU has no performance monitoring
 */
#ifndef AGENT_DRIVER_NVML_MEASURE_H
#define AGENT_DRIVER_NVML_MEASURE_H
#include "agent/driver/dcgm.h"
#include "agent/driver/driver_nvml_part.h"
#include "agent/driver/measure.h"

#define METER_ERRORS_MAX 48 /* different calls and codes of one reading of one GPU */

struct gpm_pair { /* the sample before, and room for the next; of the GPU, or of one GPU instance */
    uint32_t gi;      /* NVML_NONE_U32: the whole GPU */
    bool is_used, has_last;
    struct nvml_gpm_sample *samples[2];
    uint32_t last;
    int64_t last_ms;
};
/* What is kept of a GPU between two readings. RACE: only the thread of its lane looks inside, one job at a time. */
struct gpu_meter {
    atomic_uint refs;
    struct nvml *n; /* a reference */
    bool is_mig;
    uint64_t unsupported[(MEASURE_N + 63) / 64]; /* as the GPU is now: not asked again */
    struct measure_values constant;              /* what stays as long as the library is open: read when first wanted */
    uint64_t fields_unsupported;                 /* bit i: line i of the fields' table */
    bool gpm_asked, has_gpm, no_utilization, no_memory_v2;
    uint64_t gpm_bad;                            /* bit of each metric that makes the whole call fail */
    struct gpm_pair pairs[MIG_GI_MAX + 1];
    uint64_t last_seen_us;                       /* newest sample of processes' utilisation */
    int64_t before_us;                           /* wall time of the reading before; 0 none */
    struct {
        char uuid[48];
        struct nvml_device *device;
    } migs[GPU_MIGS_MAX];
};
struct gpu_meter *gpu_meter_new(struct nvml *n);
struct gpu_meter *gpu_meter_ref(struct gpu_meter *m);
/* gpu_meter_unref: driver_nvml_part.h */

struct meter_input {
    struct nvml_device *device;
    uint16_t gpu;
    bool is_mig;
    struct driver_mig migs[GPU_MIGS_MAX];
    uint32_t migs_n;
    uint64_t wanted[(MEASURE_N + 63) / 64];
    bool processes;
    int64_t now_ms, now_us; /* monotonic; wall */
    int64_t wait_ms;        /* for others' use of what has to be used one by one */
};
struct meter_result {
    bool lost; /* GPU_IS_LOST: no values */
    bool no_gpm; /* performance monitoring was wanted, and this GPU has none */
    struct measure_values board, *migs; /* as meter_input.migs; owned */
    struct measure_process *processes; /* owned */
    uint32_t processes_n, processes_cap;
    struct measure_error errors[METER_ERRORS_MAX];
    uint32_t errors_n;
};
/* In the thread. */
struct meter {
    struct gpu_meter *kept;
    struct nvml *n;
    const struct meter_input *in;
    struct meter_result *out;
};
void meter_read(struct gpu_meter *kept, const struct meter_input *in, struct meter_result *ret);
void meter_take_up(struct meter *m); /* a GPU that was cut or made whole supports other things; what is constant is there already */
/* True: NVML_OK. Else the code is counted, and *ret_unsupported (may be NULL) says that asking again is of no use. */
bool meter_ok(struct meter *m, const char *call, int code, bool *ret_unsupported);
static inline bool meter_wants(const struct meter_input *in, enum measure what)
{
    return in->wanted[what / 64] >> (what % 64) & 1;
}
struct nvml_device *meter_mig(struct meter *m, uint32_t at); /* handle of in->migs[at]; NULL: gone */
void meter_gpm(struct meter *m);
void meter_processes(struct meter *m);

/* ---- in the loop: a measurement of all GPUs under way ---- */

struct gpu_answer {
    bool is_here;
    struct measure_values *migs; /* owned */
    struct measure_values board;
    uint32_t migs_n;
};
struct nvml_measure {
    struct nvml_measure *next;
    const struct driver_reading *devices; /* a reference */
    measure_fn fn;
    void *arg;
    int64_t now_ms, now_us;
    uint32_t pending_n, answered_n;
    struct gpu_answer *gpus; /* as devices->gpus */
    struct measure_process *processes;
    uint32_t processes_n, processes_cap, left_out_n;
    struct measure_error errors[METER_ERRORS_MAX];
    uint32_t errors_n;
    struct dcgm_unit *dcgm_units; /* owned; with their values, owned too */
    struct measure_values *dcgm_values;
    uint32_t dcgm_units_n;
    void (*answered)(struct nvml_driver *d, struct nvml_measure *x); /* one of pending_n has its answer; may free the driver */
};
static inline void nvml_measure_errors(struct nvml_measure *x, const struct measure_error *list, uint32_t n) /* counts them */
{
    for (uint32_t i = 0; i < n; i++)
        measure_error_add(x->errors, &x->errors_n, METER_ERRORS_MAX, list[i]);
}
void nvml_measure_dcgm_start(struct nvml_driver *d, struct nvml_measure *x, const struct measure_request *request);
void nvml_measure_dcgm_fill(const struct nvml_measure *x, struct measure_reading *r);

#endif
