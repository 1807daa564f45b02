/* gpm.c - GPU performance monitoring: a sample holds integrals of the load, a metric is their difference over the time between two samples
 *
 * What a real GPU counts by kind of instruction is split here in fixed shares of the SM load: half occupancy, 40 % tensor, 30 % FP32.
 */
#include <stdlib.h>
#include "libnvsim.h"

#define SAMPLE_MARK 0x6e7673696d67706du

struct nvml_gpm_sample {
    uint64_t mark;
    const struct gpu_model *model; /* NULL until it was taken */
    uint32_t gpu, gi;
    int64_t at_us;
    struct nvsim_integral integral;
    double pcie_tx_kib, pcie_rx_kib, nvlink_kib;
};

int nvmlGpmQueryDeviceSupport(struct nvml_device *d, struct nvml_gpm_support *support)
{
    VIEW_DEVICE(v, d);
    if (!support)
        return NVML_INVALID_ARGUMENT;
    if (support->version != NVML_GPM_VERSION)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    support->supported = v.model->gpm;
    return NVML_OK;
}

int nvmlGpmSampleAlloc(struct nvml_gpm_sample **sample)
{
    int code;
    if (!node_get(&code))
        return code;
    if (!sample)
        return NVML_INVALID_ARGUMENT;
    struct nvml_gpm_sample *s = calloc(1, sizeof *s);
    if (!s)
        return NVML_MEMORY;
    s->mark = SAMPLE_MARK;
    *sample = s;
    return NVML_OK;
}

static bool sample_ok(const struct nvml_gpm_sample *s)
{
    return s && s->mark == SAMPLE_MARK;
}

int nvmlGpmSampleFree(struct nvml_gpm_sample *sample)
{
    if (!sample_ok(sample))
        return NVML_INVALID_ARGUMENT;
    sample->mark = 0;
    free(sample);
    return NVML_OK;
}

int nvmlGpmSampleGet(struct nvml_device *d, struct nvml_gpm_sample *sample)
{
    VIEW_DEVICE(v, d);
    if (!sample_ok(sample))
        return NVML_INVALID_ARGUMENT;
    if (v.is_mig)
        return nvmlGpmMigSampleGet(device_of_gpu(v.gpu), v.instance->id, sample);
    if (!v.model->gpm)
        return NVML_NOT_SUPPORTED;
    sample->model = v.model;
    sample->gpu = v.gpu;
    sample->gi = NVSIM_NONE;
    sample->at_us = v.now_us;
    sample->integral = v.g.integral;
    sample->pcie_tx_kib = v.g.pcie_tx_kib;
    sample->pcie_rx_kib = v.g.pcie_rx_kib;
    sample->nvlink_kib = v.g.nvlink_kib * v.model->nvlink_n;
    return NVML_OK;
}

int nvmlGpmMigSampleGet(struct nvml_device *d, uint32_t gi, struct nvml_gpm_sample *sample)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!sample_ok(sample))
        return NVML_INVALID_ARGUMENT;
    if (!v.model->gpm || !v.g.mig.mode)
        return NVML_NOT_SUPPORTED;
    const struct mig_instance *i = gi <= UINT8_MAX ? mig_find_instance(&v.g.mig, (uint8_t)gi) : NULL;
    if (!i)
        return NVML_NOT_FOUND;
    sample->model = v.model;
    sample->gpu = v.gpu;
    sample->gi = gi;
    sample->at_us = v.now_us;
    sample->integral = v.g.instance_integrals[i - v.g.mig.instances];
    sample->pcie_tx_kib = sample->pcie_rx_kib = sample->nvlink_kib = 0;
    return NVML_OK;
}

int nvmlGpmQueryIfStreamingEnabled(struct nvml_device *d, uint32_t *on)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (!on)
        return NVML_INVALID_ARGUMENT;
    if (!v.model->gpm)
        return NVML_NOT_SUPPORTED;
    *on = 1;
    return NVML_OK;
}

int nvmlGpmSetStreamingEnabled(struct nvml_device *d, uint32_t on)
{
    VIEW_GPU(v, d, NVML_INVALID_ARGUMENT);
    if (on > 1)
        return NVML_INVALID_ARGUMENT;
    if (!v.model->gpm)
        return NVML_NOT_SUPPORTED;
    return nvsim_may_administer(v.node) ? NVML_OK : NVML_NO_PERMISSION;
}

/* ---- metrics ---- */

enum gpm_of { OF_SM, OF_MEMORY, OF_ENCODER, OF_DECODER, OF_NOTHING, OF_PCIE_TX, OF_PCIE_RX, OF_NVLINK, OF_LINK };

struct gpm_row {
    uint32_t first, last; /* ids */
    enum gpm_of of;
    double share;
    const char *short_name, *long_name, *unit;
};
static const struct gpm_row rows[] = {
    {1, 1, OF_SM, 1, "GrActivity", "Graphics engine activity", "%"},
    {2, 2, OF_SM, 0.95, "SmActivity", "SM activity", "%"},
    {3, 3, OF_SM, 0.5, "SmOccupancy", "SM occupancy", "%"},
    {4, 4, OF_SM, 0.1, "IntActivity", "Integer pipe activity", "%"},
    {5, 5, OF_SM, 0.4, "TensorActivity", "Tensor pipe activity", "%"},
    {6, 6, OF_NOTHING, 0, "DfmaTensorActivity", "FP64 tensor activity", "%"},
    {7, 7, OF_SM, 0.4, "HmmaTensorActivity", "FP16 tensor activity", "%"},
    {8, 9, OF_NOTHING, 0, "OtherTensorActivity", "Other tensor activity", "%"},
    {10, 10, OF_MEMORY, 1, "DramActivity", "Memory bandwidth in use", "%"},
    {11, 11, OF_NOTHING, 0, "Fp64Activity", "FP64 pipe activity", "%"},
    {12, 12, OF_SM, 0.3, "Fp32Activity", "FP32 pipe activity", "%"},
    {13, 13, OF_SM, 0.1, "Fp16Activity", "FP16 pipe activity", "%"},
    {20, 20, OF_PCIE_TX, 1, "PcieTx", "PCIe sent", "MiB/s"},
    {21, 21, OF_PCIE_RX, 1, "PcieRx", "PCIe received", "MiB/s"},
    {30, 37, OF_DECODER, 1, "NvdecActivity", "Decoder activity", "%"},
    {40, 47, OF_NOTHING, 0, "NvjpgActivity", "JPEG engine activity", "%"},
    {50, 51, OF_NOTHING, 0, "NvofaActivity", "Optical flow activity", "%"},
    {60, 61, OF_NVLINK, 1, "NvlinkTotal", "NVLink traffic, all links", "MiB/s"},
    {62, 97, OF_LINK, 1, "NvlinkLink", "NVLink traffic, one link", "MiB/s"},
    {166, 169, OF_ENCODER, 1, "NvencActivity", "Encoder activity", "%"},
};

/* Engines or links of this kind that the GPU has; others answer NOT_SUPPORTED. */
static uint32_t parts_n(const struct gpu_model *m, const struct gpm_row *r)
{
    switch (r->first) {
    case NVML_GPM_DECODER_0:
        return m->decoder_n;
    case NVML_GPM_JPEG_0:
        return m->jpeg_n;
    case NVML_GPM_OFA_0:
        return m->ofa_n;
    case NVML_GPM_NVLINK_RX:
        return m->nvlink_n ? 2 : 0;
    case NVML_GPM_LINK_0_RX:
        return m->nvlink_n * 2u;
    case NVML_GPM_ENCODER_0:
        return m->encoder_n;
    default:
        return UINT32_MAX;
    }
}

static double change(enum gpm_of of, const struct nvml_gpm_sample *a, const struct nvml_gpm_sample *b)
{
    switch (of) {
    case OF_SM:
        return b->integral.sm - a->integral.sm;
    case OF_MEMORY:
        return b->integral.memory - a->integral.memory;
    case OF_ENCODER:
        return b->integral.encoder - a->integral.encoder;
    case OF_DECODER:
        return b->integral.decoder - a->integral.decoder;
    case OF_PCIE_TX:
        return b->pcie_tx_kib - a->pcie_tx_kib;
    case OF_PCIE_RX:
        return b->pcie_rx_kib - a->pcie_rx_kib;
    case OF_NVLINK:
        return b->nvlink_kib - a->nvlink_kib;
    case OF_LINK:
        return (b->nvlink_kib - a->nvlink_kib) / (b->model->nvlink_n ? b->model->nvlink_n : 1);
    case OF_NOTHING:
        break;
    }
    return 0;
}

static void metric_fill(struct nvml_gpm_metric *metric, const struct nvml_gpm_sample *a, const struct nvml_gpm_sample *b)
{
    metric->code = NVML_NOT_SUPPORTED;
    metric->value = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gpm_row *r = &rows[i];
        if (metric->id < r->first || metric->id > r->last)
            continue;
        metric->short_name = r->short_name;
        metric->long_name = r->long_name;
        metric->unit = r->unit;
        if (metric->id - r->first >= parts_n(a->model, r))
            return;
        double dt_us = (double)(b->at_us - a->at_us), sum = change(r->of, a, b) * r->share;
        /* permille x us over us is permille; KiB over us becomes MiB a second */
        metric->value = r->of >= OF_PCIE_TX ? sum / dt_us * 1e6 / 1024 : sum / dt_us / 10;
        metric->code = NVML_OK;
        return;
    }
    metric->code = NVML_INVALID_ARGUMENT;
}

int nvmlGpmMetricsGet(struct nvml_gpm_metrics *metrics)
{
    int code;
    if (!node_get(&code))
        return code;
    if (!metrics)
        return NVML_INVALID_ARGUMENT;
    if (metrics->version != NVML_GPM_VERSION)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    const struct nvml_gpm_sample *a = metrics->sample1, *b = metrics->sample2;
    if (!sample_ok(a) || !sample_ok(b) || !a->model || !b->model || a->gpu != b->gpu || a->gi != b->gi || b->at_us <= a->at_us)
        return NVML_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < metrics->metrics_n; i++)
        metric_fill(&metrics->metrics[i], a, b);
    return NVML_OK;
}
