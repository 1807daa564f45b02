/* ecc.c - calls about memory errors: ECC counters, remapped rows, retired pages */
#include "libnvsim.h"

/* Rows are remapped since Ampere's HBM; earlier parts retire pages. */
static bool remaps_rows(const struct gpu_model *m)
{
    return m->nvml_architecture >= NVML_ARCH_AMPERE;
}

int nvmlDeviceGetEccMode(struct nvml_device *d, int *now, int *pending)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!now || !pending)
        return NVML_INVALID_ARGUMENT;
    *now = v.g.ecc_mode;
    *pending = v.g.ecc_pending;
    return NVML_OK;
}

NUMBER_CALL(nvmlDeviceGetDefaultEccMode, int, NVML_ENABLED)

SWITCH_CALL(nvmlDeviceSetEccMode, NVML_NOT_SUPPORTED, ecc_pending) /* counts from the next reset on */

int nvmlDeviceClearEccErrorCounts(struct nvml_device *d, int counter)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    struct edit e;
    if (counter != NVML_ECC_VOLATILE && counter != NVML_ECC_AGGREGATE)
        return NVML_INVALID_ARGUMENT;
    if (!v.g.ecc_mode)
        return NVML_NOT_SUPPORTED;
    int code = edit_gpu(&v, &e);
    if (code != NVML_OK)
        return code;
    struct nvsim_ecc *n = &e.g->ecc;
    n->corrected[counter] = n->uncorrected[counter] = n->sram_corrected[counter] = n->sram_uncorrected[counter] = 0;
    edit_commit(&e);
    return NVML_OK;
}

static bool counter_is_known(int error, int counter)
{
    return (error == NVML_ECC_CORRECTED || error == NVML_ECC_UNCORRECTED) &&
           (counter == NVML_ECC_VOLATILE || counter == NVML_ECC_AGGREGATE);
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *d, int error, int counter, unsigned long long *n)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n || !counter_is_known(error, counter))
        return NVML_INVALID_ARGUMENT;
    if (!v.g.ecc_mode)
        return NVML_NOT_SUPPORTED;
    const struct nvsim_ecc *e = &v.g.ecc;
    *n = error == NVML_ECC_CORRECTED ? e->corrected[counter] + e->sram_corrected[counter]
                                     : e->uncorrected[counter] + e->sram_uncorrected[counter];
    return NVML_OK;
}

int nvmlDeviceGetMemoryErrorCounter(struct nvml_device *d, int error, int counter, int location, unsigned long long *n)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n || !counter_is_known(error, counter) || location < NVML_ECC_L1 || location > NVML_ECC_SRAM)
        return NVML_INVALID_ARGUMENT;
    if (!v.g.ecc_mode || (location != NVML_ECC_DRAM && location != NVML_ECC_SRAM))
        return NVML_NOT_SUPPORTED;
    const struct nvsim_ecc *e = &v.g.ecc;
    if (location == NVML_ECC_DRAM)
        *n = error == NVML_ECC_CORRECTED ? e->corrected[counter] : e->uncorrected[counter];
    else
        *n = error == NVML_ECC_CORRECTED ? e->sram_corrected[counter] : e->sram_uncorrected[counter];
    return NVML_OK;
}

int nvmlDeviceGetSramEccErrorStatus(struct nvml_device *d, struct nvml_ecc_sram *status)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!status)
        return NVML_INVALID_ARGUMENT;
    if (status->version != NVML_ECC_SRAM_V1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (v.model->nvml_architecture < NVML_ARCH_AMPERE || !v.g.ecc_mode)
        return NVML_NOT_SUPPORTED;
    const struct nvsim_ecc *e = &v.g.ecc;
    *status = (struct nvml_ecc_sram){.version = NVML_ECC_SRAM_V1,
                                     .volatile_corrected = e->sram_corrected[0],
                                     .aggregate_corrected = e->sram_corrected[1],
                                     .volatile_secded = e->sram_uncorrected[0],
                                     .aggregate_secded = e->sram_uncorrected[1],
                                     .aggregate_sm = e->sram_uncorrected[1],
                                     .threshold_exceeded = e->sram_uncorrected[1] > 3};
    return NVML_OK;
}

int nvmlDeviceGetRemappedRows(struct nvml_device *d, uint32_t *corrected, uint32_t *uncorrected, uint32_t *pending, uint32_t *failure)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!corrected || !uncorrected || !pending || !failure)
        return NVML_INVALID_ARGUMENT;
    if (!remaps_rows(v.model))
        return NVML_NOT_SUPPORTED;
    *corrected = v.g.remapped_corrected;
    *uncorrected = v.g.remapped_uncorrected;
    *pending = v.g.remap_pending != 0;
    *failure = v.g.remap_failure != 0;
    return NVML_OK;
}

int nvmlDeviceGetRowRemapperHistogram(struct nvml_device *d, struct nvml_row_histogram *histogram)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!histogram)
        return NVML_INVALID_ARGUMENT;
    if (!remaps_rows(v.model))
        return NVML_NOT_SUPPORTED;
    /* Each remapped row falls into a bank of its own; a failure means that one bank has no row left. */
    bool ampere_hbm = v.model->nvml_architecture == NVML_ARCH_AMPERE && nvsim_model_is_hbm(v.model);
    uint32_t banks = v.model->bus_width_bits / (ampere_hbm ? 8 : 2); /* SOURCE recorded: A100 640, A10 192, L4 96, L40S 192, H100 2560 */
    uint32_t used = v.g.remapped_corrected + v.g.remapped_uncorrected;
    uint32_t none = v.g.remap_failure != 0;
    used = used > banks - none ? banks - none : used;
    *histogram = (struct nvml_row_histogram){.max = banks - used - none, .high = used, .none = none};
    return NVML_OK;
}

static int pages_answer(struct nvml_device *d, uint32_t *n)
{
    VIEW_GPU(v, d, NVML_NOT_SUPPORTED);
    if (!n)
        return NVML_INVALID_ARGUMENT;
    if (remaps_rows(v.model))
        return NVML_NOT_SUPPORTED;
    *n = 0;
    return NVML_OK;
}

int nvmlDeviceGetRetiredPages(struct nvml_device *d, int cause, uint32_t *n, unsigned long long *addresses)
{
    return cause < 0 || cause > 1 ? NVML_INVALID_ARGUMENT : pages_answer(d, n);
}

int nvmlDeviceGetRetiredPages_v2(struct nvml_device *d, int cause, uint32_t *n, unsigned long long *addresses, unsigned long long *times_us)
{
    return cause < 0 || cause > 1 ? NVML_INVALID_ARGUMENT : pages_answer(d, n);
}

int nvmlDeviceGetRetiredPagesPendingStatus(struct nvml_device *d, int *pending)
{
    uint32_t n;
    int code = pages_answer(d, &n);
    if (code == NVML_OK && !pending)
        return NVML_INVALID_ARGUMENT;
    if (code == NVML_OK)
        *pending = NVML_DISABLED;
    return code;
}
