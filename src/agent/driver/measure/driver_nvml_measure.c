/* driver_nvml_measure.c - one measurement of the node: a job in the lane of every GPU, one reading when all have their answer
 *
 * A GPU that is lost, or has not answered at the deadline, has no values in the reading; when none has answered there is no reading.
 * RACE   a job has copies of all it needs; after its deadline the loop reads nothing of it.
 */
#include "agent/driver/measure/driver_nvml_measure.h"

struct measure_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml_measure *measure; /* the loop's */
    struct gpu_meter *meter;      /* a reference, and by it the library's */
    uint32_t at, slot;            /* in devices->gpus; the driver's */
    struct meter_input in;
    struct meter_result result;
};

static void measure_free(struct nvml_measure *x)
{
    for (uint32_t i = 0; i < x->devices->gpus_n; i++)
        free(x->gpus[i].migs);
    driver_reading_unref(x->devices);
    free(x->gpus);
    free(x->processes);
    free(x->dcgm_units);
    free(x->dcgm_values);
    free(x);
}

void nvml_measure_forget(struct nvml_driver *d)
{
    while (d->measures) {
        struct nvml_measure *x = d->measures;
        d->measures = x->next;
        measure_free(x);
    }
    for (uint32_t i = 0; i < d->slots_n; i++) {
        gpu_meter_unref(d->slots[i]->meter);
        d->slots[i]->meter = NULL;
    }
}

/* ---- one reading of all answers ---- */

static void *arena_copy(struct arena *a, const void *from, size_t size)
{
    void *to = arena_alloc(a, size ? size : 1);
    if (size > 0)
        memcpy(to, from, size);
    return to;
}

static struct measure_reading *reading_make(struct nvml_measure *x)
{
    struct measure_reading *r = measure_reading_new(x->devices, x->now_us, x->now_ms);
    for (uint32_t i = 0; i < x->devices->gpus_n; i++) {
        if (!x->gpus[i].is_here)
            continue;
        r->gpus[i].board = x->gpus[i].board;
        if (x->gpus[i].migs_n > 0)
            memcpy(r->gpus[i].migs, x->gpus[i].migs, x->gpus[i].migs_n * sizeof *r->gpus[i].migs);
    }
    nvml_measure_dcgm_fill(x, r);
    if (x->processes_n > 0)
        qsort(x->processes, x->processes_n, sizeof *x->processes, measure_process_order);
    r->processes = arena_copy(r->arena, x->processes, x->processes_n * sizeof *x->processes);
    r->processes_n = x->processes_n;
    r->processes_left_out_n = x->left_out_n;
    r->errors = arena_copy(r->arena, x->errors, x->errors_n * sizeof *x->errors);
    r->errors_n = x->errors_n;
    return r;
}

static void measure_ends(struct nvml_driver *d, struct nvml_measure *x)
{
    struct nvml_measure **at = &d->measures;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    struct err e = {0};
    int code = 0;
    struct measure_reading *r = NULL;
    if (x->answered_n > 0)
        r = reading_make(x);
    else
        code = err_set(&e, E_AGAIN, "no GPU has answered in time");
    x->fn(x->arg, code, r, &e); /* may free the driver */
    measure_reading_unref(r);
    measure_free(x);
}

static void answered(struct nvml_driver *d, struct nvml_measure *x)
{
    if (--x->pending_n == 0)
        measure_ends(d, x);
}

/* ---- one GPU ---- */

static void processes_add(struct nvml_measure *x, const struct meter_result *r)
{
    uint32_t room = LIMIT_MEASURE_PROCESSES - x->processes_n, n = r->processes_n < room ? r->processes_n : room;
    x->left_out_n += r->processes_n - n;
    if (n == 0)
        return;
    MEM_RESERVE(x->processes, x->processes_cap, x->processes_n + n);
    memcpy(x->processes + x->processes_n, r->processes, n * sizeof *r->processes);
    x->processes_n += n;
}

static void job_work(struct worker_job *job)
{
    struct measure_job *j = (struct measure_job *)job;
    meter_read(j->meter, &j->in, &j->result);
}

static void job_done(struct worker_job *job, int code)
{
    struct measure_job *j = (struct measure_job *)job;
    struct nvml_driver *d = j->d;
    struct nvml_measure *x = j->measure;
    struct gpu_answer *to = &x->gpus[j->at];
    if (code == 0) {
        x->answered_n++;
        nvml_measure_errors(x, j->result.errors, j->result.errors_n);
        to->is_here = !j->result.lost;
        d->slots[j->slot]->no_gpm = j->result.no_gpm;
    } else {
        nvml_measure_errors(x, &(struct measure_error){"deadline", NVML_TIMEOUT, 1}, 1);
    }
    if (to->is_here) {
        to->board = j->result.board;
        to->migs_n = j->in.migs_n;
        to->migs = j->result.migs;
        j->result.migs = NULL;
        processes_add(x, &j->result);
    }
    answered(d, x);
}

static void job_release(struct worker_job *job)
{
    struct measure_job *j = (struct measure_job *)job;
    free(j->result.processes);
    free(j->result.migs);
    gpu_meter_unref(j->meter);
    free(j);
}

static void job_start(struct nvml_driver *d, struct nvml_measure *x, uint32_t at, uint32_t slot,
                      const struct measure_request *request)
{
    const struct driver_gpu *g = &x->devices->gpus[at];
    struct nvml_slot *s = d->slots[slot];
    struct measure_job *j = mem_zero(1, sizeof *j);
    if (!s->meter)
        s->meter = gpu_meter_new(d->nvml);
    j->job = (struct worker_job){.work = job_work, .done = job_done, .release = job_release};
    j->d = d;
    j->measure = x;
    j->meter = gpu_meter_ref(s->meter);
    j->at = at;
    j->slot = slot;
    j->in = (struct meter_input){.device = s->device,
                                 .gpu = g->index,
                                 .is_mig = g->mig_on,
                                 .migs_n = g->migs_n < GPU_MIGS_MAX ? g->migs_n : GPU_MIGS_MAX,
                                 .processes = request->processes,
                                 .now_ms = x->now_ms,
                                 .now_us = x->now_us,
                                 .wait_ms = request->deadline_ms / 4};
    memcpy(j->in.wanted, request->wanted, sizeof j->in.wanted);
    if (j->in.migs_n > 0)
        memcpy(j->in.migs, g->migs, j->in.migs_n * sizeof j->in.migs[0]);
    j->result.migs = mem_zero(j->in.migs_n + 1, sizeof *j->result.migs);
    x->pending_n++;
    worker_post(d->pool, LANE_GPU + slot, &j->job, request->deadline_ms);
}

/* A call that was made before has not returned: the driver marks it lost, but it is the driver that does not answer. */
static bool is_hung(const struct nvml_driver *d, const struct driver_gpu *g)
{
    for (uint32_t i = 0; i < d->slots_n; i++)
        if (text_equal(d->slots[i]->facts.gpu.uuid, g->uuid) && worker_hung(d->pool, LANE_GPU + i))
            return true;
    return false;
}

void driver_nvml_measure(void *self, const struct driver_reading *devices, const struct measure_request *request,
                         measure_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    struct nvml_call *call = nvml_call_new(d, arg);
    int r = nvml_ready(d, &call->error);
    bool hung = false;
    call->measure_fn = fn;
    struct nvml_measure *x = mem_zero(1, sizeof *x);
    x->devices = driver_reading_ref(devices);
    x->fn = fn;
    x->arg = arg;
    x->answered = answered;
    x->now_ms = loop_now_ms(d->loop);
    x->now_us = loop_wall_us(d->loop);
    x->gpus = mem_zero(devices->gpus_n + 1, sizeof *x->gpus);
    for (uint32_t i = 0; r == 0 && i < devices->gpus_n; i++) {
        int slot = nvml_slot_of(d, &devices->gpus[i]);
        if (slot >= 0)
            job_start(d, x, i, (uint32_t)slot, request);
        else
            hung = hung || is_hung(d, &devices->gpus[i]);
    }
    if (x->pending_n > 0)
        nvml_measure_dcgm_start(d, x, request);
    if (x->pending_n == 0) {
        if (r == 0 && devices->gpus_n == 0)
            r = err_set(&call->error, E_NOTFOUND, "the driver has no GPU");
        if (r == 0 && hung)
            r = err_set(&call->error, E_AGAIN, "no GPU has answered in time");
        if (r == 0) /* all are lost: that is to be seen */
            call->measured = reading_make(x);
        measure_free(x);
        nvml_call_defer(call, r);
        return;
    }
    free(call);
    x->next = d->measures;
    d->measures = x;
}
