/* field.c - nvmlDeviceGetFieldValues: many readings in one call, each with its own result */
#include "libnvsim.h"

static int put_u32(struct nvml_field_value *f, uint64_t value)
{
    f->value_type = NVML_VALUE_U32;
    f->value.u64 = 0;
    f->value.u32 = (uint32_t)value;
    return NVML_OK;
}

static int put_u64(struct nvml_field_value *f, double value)
{
    f->value_type = NVML_VALUE_U64;
    f->value.u64 = value > 0 ? (uint64_t)value : 0;
    return NVML_OK;
}

static int put_s32(struct nvml_field_value *f, int32_t value)
{
    f->value_type = NVML_VALUE_S32;
    f->value.u64 = 0;
    f->value.s32 = value;
    return NVML_OK;
}

/* Each group answers -1 for a field that is not its own. */
#define NOT_MINE (-1)

static int field_ecc(const struct view *v, struct nvml_field_value *f)
{
    const struct nvsim_ecc *e = &v->g.ecc;
    switch (f->field) {
    case NVML_FIELD_ECC_SBE_VOLATILE:
        return v->g.ecc_mode ? put_u64(f, (double)e->corrected[0]) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_ECC_DBE_VOLATILE:
        return v->g.ecc_mode ? put_u64(f, (double)e->uncorrected[0]) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_ECC_SBE_AGGREGATE:
        return v->g.ecc_mode ? put_u64(f, (double)e->corrected[1]) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_ECC_DBE_AGGREGATE:
        return v->g.ecc_mode ? put_u64(f, (double)e->uncorrected[1]) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_ROWS_REMAPPED_CORRECTABLE:
        return put_u32(f, v->g.remapped_corrected);
    case NVML_FIELD_ROWS_REMAPPED_UNCORRECTABLE:
        return put_u32(f, v->g.remapped_uncorrected);
    case NVML_FIELD_ROWS_REMAP_PENDING:
        return put_u32(f, v->g.remap_pending != 0);
    case NVML_FIELD_ROWS_REMAP_FAILURE:
        return put_u32(f, v->g.remap_failure != 0);
    default:
        return NOT_MINE;
    }
}

/* SOURCE nvml.h beside NVML_FI_DEV_POWER_AVERAGE: Ampere but GA100, and newer */
static bool averages_power(const struct gpu_model *m)
{
    return m->compute_major > 8 || (m->compute_major == 8 && m->compute_minor > 0);
}

static int field_power(const struct view *v, struct nvml_field_value *f)
{
    if ((f->field == NVML_FIELD_POWER_AVERAGE_MW || f->field == NVML_FIELD_POWER_INSTANT_MW) && f->scope != NVML_POWER_GPU)
        return NVML_NOT_SUPPORTED; /* no board here measures its memory, or the module that it shares with a CPU */
    switch (f->field) {
    case NVML_FIELD_ENERGY_MJ:
        return put_u64(f, v->g.energy_mj);
    case NVML_FIELD_POWER_AVERAGE_MW:
        return averages_power(v->model) ? put_u32(f, (uint64_t)(v->g.power_average_mw + 0.5)) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_POWER_INSTANT_MW:
        return put_u32(f, v->g.power_mw);
    case NVML_FIELD_POWER_MIN_LIMIT_MW:
        return put_u32(f, v->model->power_min_mw);
    case NVML_FIELD_POWER_MAX_LIMIT_MW:
        return put_u32(f, v->model->power_max_mw);
    case NVML_FIELD_POWER_DEFAULT_LIMIT_MW:
        return put_u32(f, v->model->power_default_mw);
    case NVML_FIELD_POWER_LIMIT_MW:
        return put_u32(f, v->g.power_limit_mw);
    case NVML_FIELD_THROTTLE_POWER_CAP:
        return put_u64(f, v->g.power_violation_us * 1000);
    case NVML_FIELD_THROTTLE_SYNC_BOOST:
        return put_u64(f, 0);
    case NVML_FIELD_THROTTLE_SW_THERMAL:
    case NVML_FIELD_THROTTLE_HW_THERMAL:
        return put_u64(f, v->g.thermal_violation_us * 1000);
    case NVML_FIELD_THROTTLE_POWER_BRAKE:
        return put_u64(f, v->g.brake_violation_us * 1000);
    default:
        return NOT_MINE;
    }
}

static int field_temperature(const struct view *v, struct nvml_field_value *f)
{
    bool limits = v->model->nvml_architecture >= NVML_ARCH_ADA; /* offsets from the limit came with Ada */
    int32_t slowdown = v->model->temperature_slowdown, most = v->model->temperature_max;
    switch (f->field) {
    case NVML_FIELD_MEMORY_TEMPERATURE: /* HBM sits on the package and is a little warmer than the GPU */
        return nvsim_model_is_hbm(v->model) ? put_u32(f, (uint64_t)temperature_of(v) + 6) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_T_LIMIT_SHUTDOWN:
        return limits ? put_s32(f, most - v->model->temperature_shutdown) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_T_LIMIT_SLOWDOWN:
        return limits ? put_s32(f, most - slowdown) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_T_LIMIT_MEMORY_MAX:
        return limits && nvsim_model_is_hbm(v->model) ? put_s32(f, 0) : NVML_NOT_SUPPORTED;
    case NVML_FIELD_T_LIMIT_GPU_MAX:
        return limits ? put_s32(f, 0) : NVML_NOT_SUPPORTED;
    default:
        return NOT_MINE;
    }
}

/* All links' error counters of one kind; per link they are ids below the total. */
static int nvlink_errors(const struct view *v, struct nvml_field_value *f, uint32_t first, uint32_t total)
{
    if (f->field < first || f->field > total)
        return NOT_MINE;
    if (!v->model->nvlink_n)
        return NVML_NOT_SUPPORTED;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < v->model->nvlink_n && i < NVSIM_LINKS_MAX; i++)
        if (f->field == total || f->field - first == i)
            sum += v->g.nvlink_errors[i];
    return put_u64(f, first == 32 ? (double)sum : 0); /* CRC errors of flits are what faults cause */
}

static int nvlink_data(const struct view *v, struct nvml_field_value *f)
{
    if (!v->model->nvlink_n || (f->scope != NVML_NONE_U32 && f->scope >= v->model->nvlink_n))
        return v->model->nvlink_n ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED;
    return put_u64(f, v->g.nvlink_kib * (f->scope == NVML_NONE_U32 ? v->model->nvlink_n : 1));
}

static int field_link(const struct view *v, struct nvml_field_value *f)
{
    static const uint32_t errors[][2] = {{32, NVML_FIELD_NVLINK_CRC_FLIT_TOTAL}, {39, NVML_FIELD_NVLINK_CRC_DATA_TOTAL},
                                         {46, NVML_FIELD_NVLINK_REPLAY_TOTAL}, {53, NVML_FIELD_NVLINK_RECOVERY_TOTAL}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int code = nvlink_errors(v, f, errors[i][0], errors[i][1]);
        if (code != NOT_MINE)
            return code;
    }
    switch (f->field) {
    case NVML_FIELD_NVLINK_N:
        return put_u32(f, v->model->nvlink_n);
    case NVML_FIELD_NVSWITCH_LINKS_N:
        return put_u32(f, v->model->nvswitch ? v->model->nvlink_n : 0u);
    case NVML_FIELD_NVLINK_DATA_TX_KIB:
    case NVML_FIELD_NVLINK_DATA_RX_KIB:
    case NVML_FIELD_NVLINK_RAW_TX_KIB:
    case NVML_FIELD_NVLINK_RAW_RX_KIB:
        return nvlink_data(v, f);
    case NVML_FIELD_PCIE_REPLAY:
        return put_u32(f, v->g.pcie_replays);
    case NVML_FIELD_PCIE_REPLAY_ROLLOVER:
        return put_u32(f, 0);
    case NVML_FIELD_PCIE_TX_BYTES:
        return put_u64(f, v->g.pcie_tx_kib * 1024);
    case NVML_FIELD_PCIE_RX_BYTES:
        return put_u64(f, v->g.pcie_rx_kib * 1024);
    case NVML_FIELD_C2C_LINKS_N:
        return put_u32(f, 0);
    default:
        return NOT_MINE;
    }
}

static uint32_t recovery_of(const struct view *v)
{
    if (v->g.remap_failure)
        return NVML_RECOVERY_NODE_REBOOT;
    if (v->g.reset_required || v->g.fabric_unhealthy)
        return NVML_RECOVERY_GPU_RESET;
    return v->g.remap_pending ? NVML_RECOVERY_DRAIN_AND_RESET : NVML_RECOVERY_NONE;
}

static int field_state(const struct view *v, struct nvml_field_value *f)
{
    switch (f->field) {
    case NVML_FIELD_RESETLESS_MIG:
        return put_u32(f, v->model->mig_slices && !v->model->mig_needs_reset);
    case NVML_FIELD_MIG_QUERY_INDEPENDENT:
        return put_u32(f, v->model->mig_slices != 0);
    case NVML_FIELD_RESET_STATUS:
        return put_u32(f, recovery_of(v) == NVML_RECOVERY_GPU_RESET);
    case NVML_FIELD_DRAIN_AND_RESET:
        return put_u32(f, recovery_of(v) == NVML_RECOVERY_DRAIN_AND_RESET);
    case NVML_FIELD_RECOVERY_ACTION:
        return put_u32(f, recovery_of(v));
    default:
        return NOT_MINE;
    }
}

static int field_fill(const struct view *v, struct nvml_field_value *f)
{
    static int (*const groups[])(const struct view *, struct nvml_field_value *) = {field_ecc, field_power, field_temperature,
                                                                                    field_link, field_state};
    if (f->field == 0 || f->field >= NVML_FIELD_LIMIT)
        return NVML_INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        int code = groups[i](v, f);
        if (code != NOT_MINE)
            return code;
    }
    return NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(struct nvml_device *d, int n, struct nvml_field_value *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (n <= 0 || !list)
        return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < n; i++) {
        list[i].timestamp_us = v.now_us;
        list[i].latency_us = 0;
        list[i].code = field_fill(&v, &list[i]);
    }
    return NVML_OK;
}

int nvmlDeviceClearFieldValues(struct nvml_device *d, int n, struct nvml_field_value *list)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    struct edit e;
    if (n <= 0 || !list)
        return NVML_INVALID_ARGUMENT;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    for (int i = 0; i < n; i++) {
        bool errors = list[i].field >= 32 && list[i].field <= NVML_FIELD_NVLINK_RECOVERY_TOTAL;
        if (errors)
            memset(e.g->nvlink_errors, 0, sizeof e.g->nvlink_errors);
        list[i].code = errors ? NVML_OK : NVML_NOT_SUPPORTED;
    }
    edit_commit(&e);
    return NVML_OK;
}
