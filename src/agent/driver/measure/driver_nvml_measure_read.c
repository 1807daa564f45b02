/* driver_nvml_measure_read.c - the values of one GPU and of its MIG devices, in its thread
 *
 * SHAPE  three tables: fields (many in one call), plain calls of one number, and what needs a function of its own.
 * What the library does not support is asked once a state of the GPU (library opened, MIG mode), then left out: absent, not 0. What
 * never changes is asked once a library opened.
 * WHY  nvmlDeviceGetPcieThroughput is not among them: it sleeps 20 ms for each direction.
 * SOURCE dcgm-exporter's counters; NVML API 13
 */
#include "agent/driver/measure/driver_nvml_measure.h"

/* A field of nvmlDeviceGetFieldValues. */
static const struct {
    uint32_t field;
    enum measure measure;
    uint32_t scope;
} fields[] = {{NVML_FIELD_MEMORY_TEMPERATURE, MEASURE_MEMORY_TEMPERATURE, 0},
              {NVML_FIELD_POWER_INSTANT_MW, MEASURE_POWER_INSTANT_MW, 0},
              {NVML_FIELD_ENERGY_MJ, MEASURE_ENERGY_MJ, 0},
              {NVML_FIELD_PCIE_REPLAY, MEASURE_PCIE_REPLAYS, 0},
              {NVML_FIELD_PCIE_TX_BYTES, MEASURE_PCIE_TX_BYTES, 0},
              {NVML_FIELD_PCIE_RX_BYTES, MEASURE_PCIE_RX_BYTES, 0},
              {NVML_FIELD_THROTTLE_POWER_CAP, MEASURE_THROTTLE_SW_POWER_NS, 0},
              {NVML_FIELD_THROTTLE_SW_THERMAL, MEASURE_THROTTLE_SW_THERMAL_NS, 0},
              {NVML_FIELD_THROTTLE_HW_THERMAL, MEASURE_THROTTLE_HW_THERMAL_NS, 0},
              {NVML_FIELD_THROTTLE_POWER_BRAKE, MEASURE_THROTTLE_HW_POWER_BRAKE_NS, 0},
              {NVML_FIELD_ECC_SBE_VOLATILE, MEASURE_ECC_SBE_VOLATILE, 0},
              {NVML_FIELD_ECC_DBE_VOLATILE, MEASURE_ECC_DBE_VOLATILE, 0},
              {NVML_FIELD_ECC_SBE_AGGREGATE, MEASURE_ECC_SBE_AGGREGATE, 0},
              {NVML_FIELD_ECC_DBE_AGGREGATE, MEASURE_ECC_DBE_AGGREGATE, 0},
              {NVML_FIELD_ROWS_REMAPPED_CORRECTABLE, MEASURE_ROWS_REMAPPED_CORRECTABLE, 0},
              {NVML_FIELD_ROWS_REMAPPED_UNCORRECTABLE, MEASURE_ROWS_REMAPPED_UNCORRECTABLE, 0},
              {NVML_FIELD_ROWS_REMAP_PENDING, MEASURE_ROW_REMAP_PENDING, 0},
              {NVML_FIELD_ROWS_REMAP_FAILURE, MEASURE_ROW_REMAP_FAILURE, 0},
              {NVML_FIELD_NVLINK_DATA_TX_KIB, MEASURE_NVLINK_TX_KIB, NVML_NONE_U32},
              {NVML_FIELD_NVLINK_DATA_RX_KIB, MEASURE_NVLINK_RX_KIB, NVML_NONE_U32},
              {NVML_FIELD_NVLINK_CRC_FLIT_TOTAL, MEASURE_NVLINK_CRC_FLIT, 0},
              {NVML_FIELD_NVLINK_CRC_DATA_TOTAL, MEASURE_NVLINK_CRC_DATA, 0},
              {NVML_FIELD_NVLINK_REPLAY_TOTAL, MEASURE_NVLINK_REPLAY, 0},
              {NVML_FIELD_NVLINK_RECOVERY_TOTAL, MEASURE_NVLINK_RECOVERY, 0},
              {NVML_FIELD_RECOVERY_ACTION, MEASURE_RECOVERY_ACTION, 0}};
enum { FIELDS_N = sizeof fields / sizeof *fields };
_Static_assert(FIELDS_N <= 64, "one bit a line");

/* Calls that give one uint32. */
typedef int (*number_fn)(struct nvml_device *d, uint32_t *value);
static const struct {
    size_t pointer; /* offset in struct nvml */
    enum measure measure;
    bool is_constant;
    const char *call;
} numbers[] = {
    {offsetof(struct nvml, power), MEASURE_POWER_MW, false, "nvmlDeviceGetPowerUsage"},
    {offsetof(struct nvml, power_limit), MEASURE_POWER_LIMIT_MW, false, "nvmlDeviceGetEnforcedPowerLimit"},
    {offsetof(struct nvml, power_limit_set), MEASURE_POWER_LIMIT_SET_MW, false, "nvmlDeviceGetPowerManagementLimit"},
    {offsetof(struct nvml, power_limit_default), MEASURE_POWER_LIMIT_DEFAULT_MW, true,
     "nvmlDeviceGetPowerManagementDefaultLimit"},
    {offsetof(struct nvml, pcie_replays), MEASURE_PCIE_REPLAYS, false, "nvmlDeviceGetPcieReplayCounter"},
    {offsetof(struct nvml, pcie_generation), MEASURE_PCIE_GENERATION, false, "nvmlDeviceGetCurrPcieLinkGeneration"},
    {offsetof(struct nvml, pcie_width), MEASURE_PCIE_WIDTH, false, "nvmlDeviceGetCurrPcieLinkWidth"},
    {offsetof(struct nvml, pcie_generation_max), MEASURE_PCIE_GENERATION_MAX, true,
     "nvmlDeviceGetMaxPcieLinkGeneration"},
    {offsetof(struct nvml, pcie_width_max), MEASURE_PCIE_WIDTH_MAX, true, "nvmlDeviceGetMaxPcieLinkWidth"},
    {offsetof(struct nvml, fan), MEASURE_FAN_PERCENT, false, "nvmlDeviceGetFanSpeed"},
};
/* The same with a selection. */
typedef int (*chosen_fn)(struct nvml_device *d, int which, uint32_t *value);
static const struct {
    size_t pointer;
    int which;
    enum measure measure;
    bool is_constant;
    const char *call;
} chosen[] = {
#define THRESHOLD(which, measure)                                                                                      \
    {                                                                                                                  \
        offsetof(struct nvml, temperature_threshold), NVML_THRESHOLD_##which, MEASURE_##measure, true,                 \
            "nvmlDeviceGetTemperatureThreshold"                                                                        \
    }
    THRESHOLD(SLOWDOWN, TEMPERATURE_SLOWDOWN),
    THRESHOLD(SHUTDOWN, TEMPERATURE_SHUTDOWN),
    THRESHOLD(GPU_MAX, TEMPERATURE_MAX),
    THRESHOLD(MEMORY_MAX, MEMORY_TEMPERATURE_MAX),
#undef THRESHOLD
    {offsetof(struct nvml, clock), NVML_CLOCK_SM, MEASURE_CLOCK_SM_MHZ, false, "nvmlDeviceGetClockInfo"},
    {offsetof(struct nvml, clock), NVML_CLOCK_MEMORY, MEASURE_CLOCK_MEMORY_MHZ, false, "nvmlDeviceGetClockInfo"},
    {offsetof(struct nvml, clock), NVML_CLOCK_GRAPHICS, MEASURE_CLOCK_GRAPHICS_MHZ, false, "nvmlDeviceGetClockInfo"},
    {offsetof(struct nvml, clock), NVML_CLOCK_VIDEO, MEASURE_CLOCK_VIDEO_MHZ, false, "nvmlDeviceGetClockInfo"},
    {offsetof(struct nvml, clock_max), NVML_CLOCK_SM, MEASURE_CLOCK_SM_MAX_MHZ, true, "nvmlDeviceGetMaxClockInfo"},
    {offsetof(struct nvml, clock_max), NVML_CLOCK_MEMORY, MEASURE_CLOCK_MEMORY_MAX_MHZ, true,
     "nvmlDeviceGetMaxClockInfo"},
    {offsetof(struct nvml, clock_max), NVML_CLOCK_VIDEO, MEASURE_CLOCK_VIDEO_MAX_MHZ, true,
     "nvmlDeviceGetMaxClockInfo"},
    {offsetof(struct nvml, clock_set), NVML_CLOCK_GRAPHICS, MEASURE_CLOCK_SM_SET_MHZ, false,
     "nvmlDeviceGetApplicationsClock"},
    {offsetof(struct nvml, clock_set), NVML_CLOCK_MEMORY, MEASURE_CLOCK_MEMORY_SET_MHZ, false,
     "nvmlDeviceGetApplicationsClock"},
};
static const struct {
    int policy;
    enum measure measure;
} violations[] = {{NVML_VIOLATION_POWER, MEASURE_VIOLATION_POWER_NS},
                  {NVML_VIOLATION_THERMAL, MEASURE_VIOLATION_THERMAL_NS},
                  {NVML_VIOLATION_SYNC_BOOST, MEASURE_VIOLATION_SYNC_BOOST_NS},
                  {NVML_VIOLATION_BOARD, MEASURE_VIOLATION_BOARD_NS},
                  {NVML_VIOLATION_LOW_UTILIZATION, MEASURE_VIOLATION_LOW_UTIL_NS},
                  {NVML_VIOLATION_RELIABILITY, MEASURE_VIOLATION_RELIABILITY_NS},
                  {NVML_VIOLATION_APPLICATION_CLOCKS, MEASURE_VIOLATION_SET_CLOCKS_NS},
                  {NVML_VIOLATION_BASE_CLOCKS, MEASURE_VIOLATION_BASE_CLOCKS_NS}};

/* ---- answers ---- */

/* True: this measure is to be asked for (again). */
static bool open_for(const struct meter *m, enum measure what)
{
    double value;
    return !m->out->lost && meter_wants(m->in, what) && !(m->kept->unsupported[what / 64] >> (what % 64) & 1) &&
           !measure_get(&m->out->board, what, &value);
}

static bool any_open(const struct meter *m, const enum measure *list, int n)
{
    for (int i = 0; i < n; i++)
        if (open_for(m, list[i]))
            return true;
    return false;
}

/* The answer of a call about several measures; about one. */
static bool answered_all(struct meter *m, const enum measure *list, int n, const char *call, int code)
{
    bool unsupported = false;
    if (meter_ok(m, call, code, &unsupported))
        return true;
    for (int i = 0; unsupported && i < n; i++)
        m->kept->unsupported[list[i] / 64] |= (uint64_t)1 << (list[i] % 64);
    return false;
}

static bool answered(struct meter *m, enum measure what, const char *call, int code)
{
    return answered_all(m, &what, 1, call, code);
}

static void put(struct meter *m, enum measure what, double value)
{
    if (value == value && value >= -1e15 && value <= 2e19)
        measure_set(&m->out->board, what, value);
}

static void put_constant(struct meter *m, enum measure what, double value)
{
    put(m, what, value);
    measure_set(&m->kept->constant, what, value);
}

/* ---- the tables ---- */

static double field_number(const struct nvml_field_value *f)
{
    switch (f->value_type) {
    case NVML_VALUE_DOUBLE:
        return f->value.d;
    case NVML_VALUE_U32:
        return f->value.u32;
    case NVML_VALUE_ULONG:
        return (double)f->value.ul;
    case NVML_VALUE_U64:
        return (double)f->value.u64;
    case NVML_VALUE_S64:
        return (double)f->value.s64;
    case NVML_VALUE_S32:
        return f->value.s32;
    case NVML_VALUE_U16:
        return f->value.u16;
    default:
        return __builtin_nan("");
    }
}

static void read_fields(struct meter *m)
{
    struct nvml_field_value list[FIELDS_N];
    int at[FIELDS_N], n = 0;
    for (int i = 0; i < FIELDS_N; i++)
        if (!(m->kept->fields_unsupported >> i & 1) && open_for(m, fields[i].measure)) {
            list[n] =
                (struct nvml_field_value){.field = fields[i].field, .scope = fields[i].scope, .code = NVML_UNKNOWN};
            at[n++] = i;
        }
    bool unsupported = false;
    if (n == 0 || !m->n->field_values)
        return;
    if (!meter_ok(m, "nvmlDeviceGetFieldValues", m->n->field_values(m->in->device, n, list), &unsupported)) {
        if (unsupported)
            m->kept->fields_unsupported = UINT64_MAX;
        return;
    }
    for (int i = 0; i < n; i++) {
        bool never = false;
        if (meter_ok(m, "nvmlDeviceGetFieldValues", list[i].code, &never))
            put(m, fields[at[i]].measure, field_number(&list[i]));
        else if (never)
            m->kept->fields_unsupported |= (uint64_t)1 << at[i];
    }
}

static void *call_at(const struct nvml *n, size_t pointer)
{
    void *call;
    memcpy(&call, (const char *)n + pointer, sizeof call);
    return call;
}

static void read_numbers(struct meter *m)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        void *address = call_at(m->n, numbers[i].pointer);
        number_fn call;
        uint32_t value = 0;
        memcpy(&call, &address, sizeof call);
        if (call && open_for(m, numbers[i].measure) &&
            answered(m, numbers[i].measure, numbers[i].call, call(m->in->device, &value)))
            (numbers[i].is_constant ? put_constant : put)(m, numbers[i].measure, value);
    }
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        void *address = call_at(m->n, chosen[i].pointer);
        chosen_fn call;
        uint32_t value = 0;
        memcpy(&call, &address, sizeof call);
        if (call && open_for(m, chosen[i].measure) &&
            answered(m, chosen[i].measure, chosen[i].call, call(m->in->device, chosen[i].which, &value)))
            (chosen[i].is_constant ? put_constant : put)(m, chosen[i].measure, value);
    }
}

static void read_violations(struct meter *m)
{
    for (size_t i = 0; m->n->violation && i < sizeof violations / sizeof *violations; i++) {
        struct nvml_violation_time time = {0};
        if (open_for(m, violations[i].measure) && answered(m, violations[i].measure, "nvmlDeviceGetViolationStatus",
                                                           m->n->violation(m->in->device, violations[i].policy, &time)))
            put(m, violations[i].measure, (double)time.violation_ns);
    }
}

/* ---- calls of their own ---- */

static void read_temperature(struct meter *m)
{
    struct nvml_temperature versioned = {.version = NVML_TEMPERATURE_V1};
    struct nvml_margin_temperature margin = {.version = NVML_MARGIN_TEMPERATURE_V1};
    uint32_t celsius = 0;
    if (open_for(m, MEASURE_TEMPERATURE)) {
        if (m->n->temperature_versioned && m->n->temperature_versioned(m->in->device, &versioned) == NVML_OK)
            put(m, MEASURE_TEMPERATURE, versioned.celsius);
        else if (m->n->temperature && answered(m, MEASURE_TEMPERATURE, "nvmlDeviceGetTemperature",
                                               m->n->temperature(m->in->device, 0, &celsius)))
            put(m, MEASURE_TEMPERATURE, celsius);
    }
    if (m->n->temperature_margin && open_for(m, MEASURE_TEMPERATURE_MARGIN) &&
        answered(m, MEASURE_TEMPERATURE_MARGIN, "nvmlDeviceGetMarginTemperature",
                 m->n->temperature_margin(m->in->device, &margin)))
        put(m, MEASURE_TEMPERATURE_MARGIN, margin.celsius);
}

static void read_utilization(struct meter *m)
{
    static const enum measure both[] = {MEASURE_UTILIZATION_GPU, MEASURE_UTILIZATION_MEMORY};
    struct nvml_utilization rates = {0};
    uint32_t percent = 0, period_us;
    if (m->n->utilization && any_open(m, both, 2) &&
        answered_all(m, both, 2, "nvmlDeviceGetUtilizationRates", m->n->utilization(m->in->device, &rates))) {
        put(m, MEASURE_UTILIZATION_GPU, rates.gpu_percent <= 100 ? rates.gpu_percent : 100);
        put(m, MEASURE_UTILIZATION_MEMORY, rates.memory_percent <= 100 ? rates.memory_percent : 100);
    }
    if (m->n->encoder_utilization && open_for(m, MEASURE_UTILIZATION_ENCODER) &&
        answered(m, MEASURE_UTILIZATION_ENCODER, "nvmlDeviceGetEncoderUtilization",
                 m->n->encoder_utilization(m->in->device, &percent, &period_us)))
        put(m, MEASURE_UTILIZATION_ENCODER, percent);
    if (m->n->decoder_utilization && open_for(m, MEASURE_UTILIZATION_DECODER) &&
        answered(m, MEASURE_UTILIZATION_DECODER, "nvmlDeviceGetDecoderUtilization",
                 m->n->decoder_utilization(m->in->device, &percent, &period_us)))
        put(m, MEASURE_UTILIZATION_DECODER, percent);
}

static void read_clock_state(struct meter *m)
{
    unsigned long long reasons = 0, energy_mj = 0;
    int state = NVML_PSTATE_UNKNOWN;
    if (m->n->clock_reasons && open_for(m, MEASURE_CLOCK_EVENT_REASONS) &&
        answered(m, MEASURE_CLOCK_EVENT_REASONS, "nvmlDeviceGetCurrentClocksEventReasons",
                 m->n->clock_reasons(m->in->device, &reasons)))
        put(m, MEASURE_CLOCK_EVENT_REASONS, (double)reasons);
    if (m->n->performance_state && open_for(m, MEASURE_PERFORMANCE_STATE) &&
        answered(m, MEASURE_PERFORMANCE_STATE, "nvmlDeviceGetPerformanceState",
                 m->n->performance_state(m->in->device, &state)) &&
        state != NVML_PSTATE_UNKNOWN)
        put(m, MEASURE_PERFORMANCE_STATE, state);
    if (m->n->energy && open_for(m, MEASURE_ENERGY_MJ) &&
        answered(m, MEASURE_ENERGY_MJ, "nvmlDeviceGetTotalEnergyConsumption", m->n->energy(m->in->device, &energy_mj)))
        put(m, MEASURE_ENERGY_MJ, (double)energy_mj);
}

static void read_power_range(struct meter *m)
{
    static const enum measure both[] = {MEASURE_POWER_LIMIT_MIN_MW, MEASURE_POWER_LIMIT_MAX_MW};
    uint32_t min_mw = 0, max_mw = 0;
    if (!m->n->power_limit_range || !any_open(m, both, 2) ||
        !answered_all(m, both, 2, "nvmlDeviceGetPowerManagementLimitConstraints",
                      m->n->power_limit_range(m->in->device, &min_mw, &max_mw)))
        return;
    put_constant(m, MEASURE_POWER_LIMIT_MIN_MW, min_mw);
    put_constant(m, MEASURE_POWER_LIMIT_MAX_MW, max_mw);
}

/* As DCGM numbers them: 0 default, 1 nobody may compute, 2 one process. */
static int compute_mode_number(int mode)
{
    return mode == NVML_COMPUTE_PROHIBITED ? 1 : mode == NVML_COMPUTE_EXCLUSIVE_PROCESS ? 2 : mode;
}

static void read_modes(struct meter *m)
{
    static const enum measure ecc[] = {MEASURE_ECC_MODE, MEASURE_ECC_MODE_PENDING};
    int mode = 0, pending = 0;
    if (m->n->ecc_mode && any_open(m, ecc, 2) &&
        answered_all(m, ecc, 2, "nvmlDeviceGetEccMode", m->n->ecc_mode(m->in->device, &mode, &pending))) {
        put(m, MEASURE_ECC_MODE, mode != 0);
        put(m, MEASURE_ECC_MODE_PENDING, pending != 0);
    }
    if (m->n->persistence_mode && open_for(m, MEASURE_PERSISTENCE_MODE) &&
        answered(m, MEASURE_PERSISTENCE_MODE, "nvmlDeviceGetPersistenceMode",
                 m->n->persistence_mode(m->in->device, &mode)))
        put(m, MEASURE_PERSISTENCE_MODE, mode != 0);
    if (m->n->compute_mode && open_for(m, MEASURE_COMPUTE_MODE) &&
        answered(m, MEASURE_COMPUTE_MODE, "nvmlDeviceGetComputeMode", m->n->compute_mode(m->in->device, &mode)))
        put(m, MEASURE_COMPUTE_MODE, compute_mode_number(mode));
}

static void read_retired(struct meter *m)
{
    static const enum measure causes[] = {MEASURE_RETIRED_SBE,
                                          MEASURE_RETIRED_DBE}; /* by the library's number of the cause */
    for (int cause = 0; m->n->retired_pages && cause < 2; cause++) {
        uint32_t n = 0;
        if (!open_for(m, causes[cause]))
            continue;
        int code = m->n->retired_pages(m->in->device, cause, &n, NULL);
        if (answered(m, causes[cause], "nvmlDeviceGetRetiredPages", code == NVML_INSUFFICIENT_SIZE ? NVML_OK : code))
            put(m, causes[cause], n);
    }
    int pending = 0;
    if (m->n->retired_pending && open_for(m, MEASURE_RETIRED_PENDING) &&
        answered(m, MEASURE_RETIRED_PENDING, "nvmlDeviceGetRetiredPagesPendingStatus",
                 m->n->retired_pending(m->in->device, &pending)))
        put(m, MEASURE_RETIRED_PENDING, pending != 0);
}

/* Where the fields do not tell of rows. */
static void read_rows(struct meter *m)
{
    static const enum measure of[] = {MEASURE_ROWS_REMAPPED_CORRECTABLE, MEASURE_ROWS_REMAPPED_UNCORRECTABLE,
                                      MEASURE_ROW_REMAP_PENDING, MEASURE_ROW_REMAP_FAILURE};
    uint32_t values[4] = {0};
    if (!m->n->remapped_rows || !open_for(m, of[0]))
        return;
    if (answered(m, of[0], "nvmlDeviceGetRemappedRows",
                 m->n->remapped_rows(m->in->device, &values[0], &values[1], &values[2], &values[3])))
        for (int i = 0; i < 4; i++)
            put(m, of[i], values[i]);
}

/* ---- memory: of GPUs and MIG devices ---- */

static void read_memory(struct meter *m, struct nvml_device *device, struct measure_values *to)
{
    struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
    struct nvml_memory v1 = {0};
    bool has_v2 = false, whole = device == m->in->device;
    if (m->n->memory_v2 && !m->kept->no_memory_v2)
        has_v2 = meter_ok(m, "nvmlDeviceGetMemoryInfo_v2", m->n->memory_v2(device, &v2),
                          whole ? &m->kept->no_memory_v2 : NULL);
    if (!has_v2 &&
        (m->out->lost || !m->n->memory || !meter_ok(m, "nvmlDeviceGetMemoryInfo", m->n->memory(device, &v1), NULL))) {
        if (!whole)
            memset(m->kept->migs, 0, sizeof m->kept->migs); /* the instance may be gone: look again next time */
        return;
    }
    if (!has_v2)
        v2 = (struct nvml_memory_v2){
            .total_bytes = v1.total_bytes, .free_bytes = v1.free_bytes, .used_bytes = v1.used_bytes};
    measure_set(to, MEASURE_FB_TOTAL_MIB, (double)(v2.total_bytes >> 20));
    measure_set(to, MEASURE_FB_USED_MIB, (double)(v2.used_bytes >> 20));
    measure_set(to, MEASURE_FB_FREE_MIB, (double)(v2.free_bytes >> 20));
    if (has_v2)
        measure_set(to, MEASURE_FB_RESERVED_MIB, (double)(v2.reserved_bytes >> 20));
}

static void read_memories(struct meter *m)
{
    bool wanted = false;
    for (enum measure i = MEASURE_FB_TOTAL_MIB; i <= MEASURE_FB_RESERVED_MIB; i++)
        wanted = wanted || meter_wants(m->in, i);
    if (wanted && !m->out->lost)
        read_memory(m, m->in->device, &m->out->board);
    for (uint32_t i = 0; wanted && i < m->in->migs_n && !m->out->lost; i++) {
        struct nvml_device *device = meter_mig(m, i);
        if (device)
            read_memory(m, device, &m->out->migs[i]);
    }
}

static void read_bar1(struct meter *m)
{
    static const enum measure all[] = {MEASURE_BAR1_TOTAL_MIB, MEASURE_BAR1_USED_MIB, MEASURE_BAR1_FREE_MIB};
    struct nvml_bar1_memory bar1 = {0};
    if (!m->n->bar1 || !any_open(m, all, 3) ||
        !answered_all(m, all, 3, "nvmlDeviceGetBAR1MemoryInfo", m->n->bar1(m->in->device, &bar1)))
        return;
    put(m, MEASURE_BAR1_TOTAL_MIB, (double)(bar1.total_bytes >> 20));
    put(m, MEASURE_BAR1_USED_MIB, (double)(bar1.used_bytes >> 20));
    put(m, MEASURE_BAR1_FREE_MIB, (double)(bar1.free_bytes >> 20));
}

/* ---- all of it ---- */

void meter_read(struct gpu_meter *kept, const struct meter_input *in, struct meter_result *ret)
{
    struct meter m = {kept, kept->n, in, ret};
    meter_take_up(&m);
    read_temperature(&m); /* first: a lost GPU is told by it */
    read_fields(&m);
    read_numbers(&m);
    read_power_range(&m);
    read_clock_state(&m);
    read_modes(&m);
    read_utilization(&m);
    read_violations(&m);
    read_retired(&m);
    read_rows(&m);
    read_memories(&m);
    read_bar1(&m);
    if (!ret->lost)
        meter_gpm(&m);
    if (!ret->lost)
        meter_processes(&m);
    kept->before_us = in->now_us;
}
