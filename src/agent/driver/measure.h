/* measure.h - what the driver measures on each GPU and MIG instance, read in one go; and the processes on them
 *
 * A value that the driver does not give (NOT_SUPPORTED, no permission, lost GPU) is absent, never 0.
 * LEVEL  says where a value lives: power and temperature belong to the board, memory and SM activity to the instance; a level that has no
 *        such value on this GPU is absent.
 * UNIT   the driver's own, as in DCGM: degrees Celsius, milliwatts, millijoules, MHz, percent, MiB, nanoseconds, bytes; ratios 0..1.
 * SOURCE dcgm-exporter's counters and DCGM's field list (which NVML call gives what).
 */
#ifndef AGENT_MEASURE_H
#define AGENT_MEASURE_H
#include "agent/driver/driver.h"

/* X(name): GPU level first, then those that also exist per instance. */
#define MEASURES(X)                                                                                                              \
    /* board */                                                                                                                  \
    X(TEMPERATURE) X(MEMORY_TEMPERATURE) X(TEMPERATURE_SLOWDOWN) X(TEMPERATURE_SHUTDOWN) X(TEMPERATURE_MARGIN)                   \
    X(TEMPERATURE_MAX) X(MEMORY_TEMPERATURE_MAX)                                                                                 \
    X(POWER_MW) X(POWER_INSTANT_MW) X(POWER_LIMIT_MW) X(ENERGY_MJ)                                                               \
    X(POWER_LIMIT_SET_MW) X(POWER_LIMIT_DEFAULT_MW) X(POWER_LIMIT_MIN_MW) X(POWER_LIMIT_MAX_MW)                                  \
    X(CLOCK_SM_MHZ) X(CLOCK_MEMORY_MHZ) X(CLOCK_GRAPHICS_MHZ) X(CLOCK_VIDEO_MHZ) X(CLOCK_EVENT_REASONS) X(PERFORMANCE_STATE)     \
    X(CLOCK_SM_MAX_MHZ) X(CLOCK_MEMORY_MAX_MHZ) X(CLOCK_VIDEO_MAX_MHZ) X(CLOCK_SM_SET_MHZ) X(CLOCK_MEMORY_SET_MHZ)                \
    X(UTILIZATION_GPU) X(UTILIZATION_MEMORY) X(UTILIZATION_ENCODER) X(UTILIZATION_DECODER)                                       \
    X(PCIE_REPLAYS) X(PCIE_TX_BYTES) X(PCIE_RX_BYTES) X(PCIE_GENERATION) X(PCIE_WIDTH)                                           \
    X(PCIE_GENERATION_MAX) X(PCIE_WIDTH_MAX)                                                                                     \
    X(VIOLATION_POWER_NS) X(VIOLATION_THERMAL_NS) X(VIOLATION_SYNC_BOOST_NS) X(VIOLATION_BOARD_NS) X(VIOLATION_LOW_UTIL_NS)      \
    X(VIOLATION_SET_CLOCKS_NS) X(VIOLATION_BASE_CLOCKS_NS)                                                                       \
    X(VIOLATION_RELIABILITY_NS) X(THROTTLE_HW_THERMAL_NS) X(THROTTLE_HW_POWER_BRAKE_NS) X(THROTTLE_SW_THERMAL_NS)                \
    X(THROTTLE_SW_POWER_NS)                                                                                                      \
    X(ECC_SBE_VOLATILE) X(ECC_DBE_VOLATILE) X(ECC_SBE_AGGREGATE) X(ECC_DBE_AGGREGATE)                                            \
    X(RETIRED_SBE) X(RETIRED_DBE) X(RETIRED_PENDING)                                                                             \
    X(ROWS_REMAPPED_CORRECTABLE) X(ROWS_REMAPPED_UNCORRECTABLE) X(ROW_REMAP_PENDING) X(ROW_REMAP_FAILURE)                        \
    X(NVLINK_TX_KIB) X(NVLINK_RX_KIB) X(NVLINK_CRC_FLIT) X(NVLINK_CRC_DATA) X(NVLINK_REPLAY) X(NVLINK_RECOVERY)                  \
    X(RECOVERY_ACTION) X(FAN_PERCENT) X(BAR1_TOTAL_MIB) X(BAR1_USED_MIB) X(BAR1_FREE_MIB)                                        \
    X(ECC_MODE) X(ECC_MODE_PENDING) X(PERSISTENCE_MODE) X(COMPUTE_MODE)                                                          \
    /* instance too */                                                                                                           \
    X(FB_TOTAL_MIB) X(FB_USED_MIB) X(FB_FREE_MIB) X(FB_RESERVED_MIB)                                                             \
    X(GPM_GRAPHICS) X(GPM_SM) X(GPM_SM_OCCUPANCY) X(GPM_TENSOR) X(GPM_DRAM) X(GPM_FP64) X(GPM_FP32) X(GPM_FP16) X(GPM_INTEGER)   \
    X(GPM_TENSOR_IMMA) X(GPM_TENSOR_HMMA) X(GPM_TENSOR_DFMA)                                                                     \
    X(GPM_NVDEC_0) X(GPM_NVDEC_1) X(GPM_NVDEC_2) X(GPM_NVDEC_3) X(GPM_NVDEC_4) X(GPM_NVDEC_5) X(GPM_NVDEC_6) X(GPM_NVDEC_7)      \
    X(GPM_NVJPG_0) X(GPM_NVJPG_1) X(GPM_NVJPG_2) X(GPM_NVJPG_3) X(GPM_NVJPG_4) X(GPM_NVJPG_5) X(GPM_NVJPG_6) X(GPM_NVJPG_7)      \
    X(GPM_NVOFA_0) X(GPM_NVOFA_1)                                                                                                \
    X(GPM_PCIE_TX_BYTES) X(GPM_PCIE_RX_BYTES) X(GPM_NVLINK_TX_BYTES) X(GPM_NVLINK_RX_BYTES)
enum measure {
#define X(name) MEASURE_##name,
    MEASURES(X)
#undef X
    MEASURE_N
};
struct measure_values {
    uint64_t present[(MEASURE_N + 63) / 64];
    double values[MEASURE_N];
};
static inline bool measure_get(const struct measure_values *v, enum measure m, double *ret_value)
{
    if (!(v->present[m / 64] >> (m % 64) & 1))
        return false;
    *ret_value = v->values[m];
    return true;
}
static inline void measure_set(struct measure_values *v, enum measure m, double value)
{
    v->present[m / 64] |= (uint64_t)1 << (m % 64);
    v->values[m] = value;
}

struct measure_process {
    uint32_t pid;
    uint16_t gpu;             /* index */
    uint32_t gi, ci;          /* 0xffffffff when not MIG */
    bool graphics, mps;
    uint64_t memory_bytes;    /* all-ones: not available */
    /* Since the reading before: percent of the unit, and until when (microseconds since 1970); 0 samples: nothing ran. */
    uint32_t sm_percent, memory_percent, encoder_percent, decoder_percent, samples_n;
    uint64_t last_sample_us;
    double sm_seconds;        /* integral of sm over the samples */
};
int measure_process_order(const void *a, const void *b); /* of two of them: by driver_process_key_order */
struct measure_gpu {
    struct measure_values board;
    struct measure_values *migs; /* as driver_gpu.migs */
    uint32_t migs_n;
};
/* A failed call, for gpu_agent_backend_errors_total. code: enum nvml_code, of DCGM's calls enum dcgm_code (below 0). */
struct measure_error { const char *call; int code; uint32_t n; };
/* Count it in a list, where each (call, code) stands once; one that does not fit any more is not counted. */
void measure_error_add(struct measure_error *list, uint32_t *list_n, uint32_t max_n, struct measure_error error);
struct measure_reading {
    uint32_t refs;
    const struct driver_reading *devices; /* what the indexes mean; counted */
    int64_t wall_us, monotonic_ms;
    struct measure_gpu *gpus;             /* devices->gpus_n */
    struct measure_process *processes;    /* by (gpu, gi, ci, pid); each pid once per unit */
    uint32_t processes_n, processes_left_out_n; /* LIMIT_MEASURE_PROCESSES */
    struct measure_error *errors;
    uint32_t errors_n;
    struct arena *arena;
};
/* OWNER  the reading lies in its own arena. */
#define LIMIT_MEASURE_PROCESSES 20000 /* of a node: 56 instances with 300 each; more are counted, not listed */
/* One reference: the GPUs and MIG devices of `devices`, without values; what is added lies in its arena. */
struct measure_reading *measure_reading_new(const struct driver_reading *devices, int64_t wall_us, int64_t monotonic_ms);
struct measure_reading *measure_reading_ref(const struct measure_reading *r);
void measure_reading_unref(const struct measure_reading *r); /* NULL-safe */

/* An operation of drivers (driver_ops.measure). Which measures are wanted saves calls; `processes` lists processes too.
 * `devices` is the last reading of the driver. Answers once, in the loop's turn; -E_AGAIN at the deadline. */
struct measure_request {
    uint64_t wanted[(MEASURE_N + 63) / 64];
    bool processes;
    int64_t deadline_ms;
    int64_t period_ms; /* how often this is asked: what means are taken over */
};

#endif
