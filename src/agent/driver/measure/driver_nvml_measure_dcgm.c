/* driver_nvml_measure_dcgm.c - what libdcgm adds to a measurement: profiling of GPUs that have no performance monitoring
 *
 * A job in a lane of its own, beside those of the GPUs: a host engine that hangs costs one measurement its deadline, later ones nothing.
 */
#include "agent/driver/measure/driver_nvml_measure.h"
#include "base/log.h"

struct dcgm_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml_measure *measure; /* the loop's */
    struct dcgm *dcgm;            /* a reference */
    struct dcgm_request request;
    struct dcgm_unit *units;
    struct dcgm_answer answer;
    int code;
    struct err error;
};

static void job_work(struct worker_job *job)
{
    struct dcgm_job *j = (struct dcgm_job *)job;
    j->code = dcgm_read(j->dcgm, &j->request, &j->answer, &j->error);
}

/* Once for each change. */
static void say(struct nvml_driver *d, int code, const char *why)
{
    if (d->dcgm_said && d->dcgm_code == code)
        return;
    d->dcgm_said = true;
    d->dcgm_code = code;
    if (code == 0)
        log_info("profiling values of GPUs without performance monitoring come from DCGM");
    else if (code == -E_NOTFOUND)
        log_info("no profiling values of GPUs without performance monitoring reason=\"%s\"", why);
    else
        log_warning("no profiling values of GPUs without performance monitoring error=\"%s\"", why);
}

static void job_done(struct worker_job *job, int code)
{
    struct dcgm_job *j = (struct dcgm_job *)job;
    struct nvml_measure *x = j->measure;
    if (code < 0) { /* the thread may still be writing */
        say(j->d, code, "DCGM does not answer in time");
    } else {
        if (j->code != -E_CONFLICT) /* a MIG step came between: nothing is wrong */
            say(j->d, j->code, j->error.text);
        nvml_measure_errors(x, j->answer.errors, j->answer.errors_n);
        x->dcgm_values = j->answer.values;
        x->dcgm_units = j->units;
        x->dcgm_units_n = j->request.units_n;
        j->answer.values = NULL;
        j->units = NULL;
    }
    x->answered(j->d, x);
}

static void job_release(struct worker_job *job)
{
    struct dcgm_job *j = (struct dcgm_job *)job;
    free(j->answer.values);
    free(j->units);
    dcgm_unref(j->dcgm);
    free(j);
}

/* Engines (NVDEC, ...) have no field. False: nothing else is wanted. */
static bool wanted_of(const struct measure_request *request, struct dcgm_request *to)
{
    bool any = false;
    for (enum measure m = 0; m < MEASURE_N; m++) {
        uint64_t bit = request->wanted[m / 64] & (uint64_t)1 << (m % 64);
        if (bit && dcgm_measures(m)) {
            to->wanted[m / 64] |= bit;
            any = true;
        }
    }
    return any;
}

static uint32_t units_add(struct dcgm_unit *list, uint32_t n, const struct driver_gpu *g)
{
    list[n] = (struct dcgm_unit){.gi = NVML_NONE_U32};
    memcpy(list[n++].uuid, g->uuid, sizeof g->uuid);
    for (uint32_t i = 0; i < g->migs_n; i++)
        if (i == 0 || g->migs[i].gi != g->migs[i - 1].gi) {
            list[n] = list[n - 1];
            list[n++].gi = g->migs[i].gi;
        }
    return n;
}

void nvml_measure_dcgm_start(struct nvml_driver *d, struct nvml_measure *x, const struct measure_request *request)
{
    struct dcgm_unit *units = NULL;
    struct dcgm_request all = {.period_ms = request->period_ms, .now_ms = x->now_ms, .now_us = x->now_us};
    if (!d->dcgm || !wanted_of(request, &all))
        return;
    for (uint32_t i = 0; i < x->devices->gpus_n; i++) {
        const struct driver_gpu *g = &x->devices->gpus[i];
        int slot = nvml_slot_of(d, g);
        if (slot < 0 || !d->slots[slot]->no_gpm)
            continue;
        units = mem_grow(units, all.units_n + 1 + g->migs_n, sizeof *units);
        all.units_n = units_add(units, all.units_n, g);
    }
    if (!units)
        return;
    all.units = units;
    struct dcgm_job *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = job_work, .done = job_done, .release = job_release};
    j->d = d;
    j->measure = x;
    j->dcgm = dcgm_ref(d->dcgm);
    j->request = all;
    j->units = units;
    x->pending_n++;
    worker_post(d->pool, LANE_DCGM, &j->job, request->deadline_ms);
}

static void values_add(struct measure_values *to, const struct measure_values *from)
{
    double value;
    for (enum measure m = 0; m < MEASURE_N; m++)
        if (dcgm_measures(m) && measure_get(from, m, &value))
            measure_set(to, m, value);
}

void nvml_measure_dcgm_fill(const struct nvml_measure *x, struct measure_reading *r)
{
    for (uint32_t i = 0; i < x->dcgm_units_n; i++) {
        const struct dcgm_unit *u = &x->dcgm_units[i];
        for (uint32_t g = 0; g < x->devices->gpus_n; g++) {
            const struct driver_gpu *gpu = &x->devices->gpus[g];
            if (!x->gpus[g].is_here || !text_equal(gpu->uuid, u->uuid))
                continue;
            if (u->gi == NVML_NONE_U32)
                values_add(&r->gpus[g].board, &x->dcgm_values[i]);
            for (uint32_t k = 0; k < gpu->migs_n; k++)
                if (gpu->migs[k].gi == u->gi)
                    values_add(&r->gpus[g].migs[k], &x->dcgm_values[i]);
        }
    }
}
