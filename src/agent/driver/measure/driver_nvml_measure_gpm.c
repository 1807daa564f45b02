/* driver_nvml_measure_gpm.c - GPU performance monitoring (Hopper and later): a sample each time, metrics of it and the one before
 *
 * WHY  One lock for all GPUs: concurrent callers have crashed kernels. Whoever does not get it in time goes without these values once.
 * SOURCE NVML API 13, GPM; DCGM, profiling fields
 */
#include "agent/driver/measure/driver_nvml_measure.h"
#include "base/mutex.h"

enum { BETWEEN_MS = 50 }; /* shorter distances between two samples say nothing */

static const struct {
    uint32_t id; /* enum nvml_gpm */
    enum measure measure;
    double scale; /* percent to ratio, MiB/s to bytes a second */
} metrics[] = {{NVML_GPM_GRAPHICS, MEASURE_GPM_GRAPHICS, 0.01},
               {NVML_GPM_SM, MEASURE_GPM_SM, 0.01},
               {NVML_GPM_OCCUPANCY, MEASURE_GPM_SM_OCCUPANCY, 0.01},
               {NVML_GPM_TENSOR, MEASURE_GPM_TENSOR, 0.01},
               {NVML_GPM_DRAM, MEASURE_GPM_DRAM, 0.01},
               {NVML_GPM_FP64, MEASURE_GPM_FP64, 0.01},
               {NVML_GPM_FP32, MEASURE_GPM_FP32, 0.01},
               {NVML_GPM_FP16, MEASURE_GPM_FP16, 0.01},
               {NVML_GPM_INTEGER, MEASURE_GPM_INTEGER, 0.01},
               {NVML_GPM_IMMA, MEASURE_GPM_TENSOR_IMMA, 0.01},
               {NVML_GPM_HMMA, MEASURE_GPM_TENSOR_HMMA, 0.01},
               {NVML_GPM_DFMA, MEASURE_GPM_TENSOR_DFMA, 0.01},
#define ENGINE(id, name, n)                                                                                            \
    {                                                                                                                  \
        NVML_GPM_##id##_0 + (n), MEASURE_GPM_##name##_0 + (n), 0.01                                                    \
    }
               ENGINE(DECODER, NVDEC, 0),
               ENGINE(DECODER, NVDEC, 1),
               ENGINE(DECODER, NVDEC, 2),
               ENGINE(DECODER, NVDEC, 3),
               ENGINE(DECODER, NVDEC, 4),
               ENGINE(DECODER, NVDEC, 5),
               ENGINE(DECODER, NVDEC, 6),
               ENGINE(DECODER, NVDEC, 7),
               ENGINE(JPEG, NVJPG, 0),
               ENGINE(JPEG, NVJPG, 1),
               ENGINE(JPEG, NVJPG, 2),
               ENGINE(JPEG, NVJPG, 3),
               ENGINE(JPEG, NVJPG, 4),
               ENGINE(JPEG, NVJPG, 5),
               ENGINE(JPEG, NVJPG, 6),
               ENGINE(JPEG, NVJPG, 7),
               ENGINE(OFA, NVOFA, 0),
               ENGINE(OFA, NVOFA, 1),
#undef ENGINE
               {NVML_GPM_PCIE_TX, MEASURE_GPM_PCIE_TX_BYTES, 1048576},
               {NVML_GPM_PCIE_RX, MEASURE_GPM_PCIE_RX_BYTES, 1048576},
               {NVML_GPM_NVLINK_TX, MEASURE_GPM_NVLINK_TX_BYTES, 1048576},
               {NVML_GPM_NVLINK_RX, MEASURE_GPM_NVLINK_RX_BYTES, 1048576}};
enum { METRICS_N = sizeof metrics / sizeof *metrics };
_Static_assert(METRICS_N <= 64, "one bit a line");
/* Room for libraries that write more entries than they are asked for. */
enum { ROOM_N = 512 };

static bool is_wanted(const struct meter *m)
{
    for (int i = 0; i < METRICS_N; i++)
        if (meter_wants(m->in, metrics[i].measure))
            return true;
    return false;
}

static bool has_gpm(struct meter *m)
{
    struct gpu_meter *k = m->kept;
    struct nvml *n = m->n;
    if (!k->gpm_asked) {
        struct nvml_gpm_support support = {.version = NVML_GPM_VERSION};
        k->gpm_asked = true;
        k->has_gpm = n->gpm_support && n->gpm_sample_new && n->gpm_sample_free && n->gpm_sample && n->gpm_metrics &&
                     meter_ok(m, "nvmlGpmQueryDeviceSupport", n->gpm_support(m->in->device, &support), NULL) &&
                     support.supported;
    }
    return k->has_gpm;
}

static struct gpm_pair *pair_of(struct meter *m, uint32_t gi)
{
    struct gpm_pair *unused = NULL;
    for (int i = 0; i < MIG_GI_MAX + 1; i++) {
        struct gpm_pair *p = &m->kept->pairs[i];
        if (p->samples[0] && p->gi == gi)
            return p;
        if (!p->is_used && (!unused || (unused->has_last && !p->has_last)))
            unused = p;
    }
    if (!unused)
        return NULL;
    unused->gi = gi;
    unused->has_last = false;
    for (int i = 0; i < 2; i++)
        if (!unused->samples[i] &&
            !meter_ok(m, "nvmlGpmSampleAlloc", m->n->gpm_sample_new(&unused->samples[i]), NULL)) {
            unused->samples[i] = NULL;
            return NULL;
        }
    return unused;
}

static void metric_put(struct measure_values *to, int at, const struct nvml_gpm_metric *from)
{
    double value = from->value * metrics[at].scale;
    if (from->code != NVML_OK || !(value >= 0) || value > 1e15)
        return;
    if (metrics[at].scale < 1 && value > 1)
        value = 1;
    measure_set(to, metrics[at].measure, value);
}

/* One call for all; a library that refuses the whole of it is asked one by one, once, and what it refuses then is left out for good. */
static void metrics_read(struct meter *m, struct gpm_pair *p, uint32_t newest, struct measure_values *to)
{
    struct nvml_gpm_metrics *call = mem_zero(1, sizeof *call + ROOM_N * sizeof call->metrics[0]);
    int at[METRICS_N], n = 0;
    for (int i = 0; i < METRICS_N; i++)
        if (meter_wants(m->in, metrics[i].measure) && !(m->kept->gpm_bad >> i & 1)) {
            at[n] = i;
            call->metrics[n++].id = metrics[i].id;
        }
    call->version = NVML_GPM_VERSION;
    call->sample1 = p->samples[1 - newest];
    call->sample2 = p->samples[newest];
    call->metrics_n = (uint32_t)n;
    if (n > 0 && meter_ok(m, "nvmlGpmMetricsGet", m->n->gpm_metrics(call), NULL)) {
        for (int i = 0; i < n; i++)
            metric_put(to, at[i], &call->metrics[i]);
        n = 0;
    }
    for (int i = 0; i < n; i++) {
        call->metrics_n = 1;
        call->metrics[0] = (struct nvml_gpm_metric){.id = metrics[at[i]].id};
        if (m->n->gpm_metrics(call) == NVML_OK)
            metric_put(to, at[i], &call->metrics[0]);
        else
            m->kept->gpm_bad |= (uint64_t)1 << at[i];
    }
    free(call);
}

static void pair_read(struct meter *m, uint32_t gi, struct measure_values *to)
{
    struct gpm_pair *p = pair_of(m, gi);
    if (!p)
        return;
    p->is_used = true;
    uint32_t newest = p->has_last ? 1 - p->last : 0;
    if (p->has_last && m->in->now_ms - p->last_ms < BETWEEN_MS)
        return;
    int code = gi == NVML_NONE_U32    ? m->n->gpm_sample(m->in->device, p->samples[newest])
               : m->n->gpm_mig_sample ? m->n->gpm_mig_sample(m->in->device, gi, p->samples[newest])
                                      : NVML_FUNCTION_NOT_FOUND;
    if (!meter_ok(m, gi == NVML_NONE_U32 ? "nvmlGpmSampleGet" : "nvmlGpmMigSampleGet", code, NULL)) {
        p->has_last = false;
        return;
    }
    if (p->has_last)
        metrics_read(m, p, newest, to);
    p->has_last = true;
    p->last = newest;
    p->last_ms = m->in->now_ms;
}

/* Compute instances of one GPU instance have its values in common: NVML knows no finer ones. */
static void instances_read(struct meter *m)
{
    for (uint32_t i = 0; i < m->in->migs_n; i++) {
        if (i > 0 && m->in->migs[i].gi == m->in->migs[i - 1].gi)
            for (int k = 0; k < METRICS_N; k++) {
                double value;
                if (measure_get(&m->out->migs[i - 1], metrics[k].measure, &value))
                    measure_set(&m->out->migs[i], metrics[k].measure, value);
            }
        else
            pair_read(m, m->in->migs[i].gi, &m->out->migs[i]);
    }
}

void meter_gpm(struct meter *m)
{
    if (!is_wanted(m))
        return;
    m->out->no_gpm = !has_gpm(m);
    if (m->out->no_gpm)
        return;
    if (!mutex_lock_within(&m->n->gpm_lock, m->in->wait_ms)) {
        (void)meter_ok(m, "nvmlGpmSampleGet", NVML_TIMEOUT, NULL);
        return;
    }
    for (int i = 0; i < MIG_GI_MAX + 1; i++)
        m->kept->pairs[i].is_used = false;
    pair_read(m, NVML_NONE_U32, &m->out->board);
    instances_read(m);
    for (int i = 0; i < MIG_GI_MAX + 1; i++)
        if (!m->kept->pairs[i].is_used)
            m->kept->pairs[i].has_last = false; /* an instance that is gone: a later one of its number is another */
    (void)pthread_mutex_unlock(&m->n->gpm_lock);
}
