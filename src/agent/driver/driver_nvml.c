/* driver_nvml.c - the interface of driver.h over libnvidia-ml: start and end, MIG steps, compute mode, processes
 *
 * WHY    one lane of work a GPU (agent/driver/nvml_worker.h): a GPU that hangs holds up nobody else.
 */
#include "agent/driver/driver_nvml.h"
#include <assert.h>
#include <stdio.h>
#include <unistd.h>
#include "agent/driver/driver_nvml_part.h"

enum { CALL_MS = 10 * 1000, STEP_MS = 120 * 1000 };

/* 0, and *ret_slot: the GPU is there to be changed. */
static int find_slot(struct nvml_driver *d, const char *uuid, uint32_t *ret_slot, struct err *e)
{
    int r = nvml_ready(d, e);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < d->slots_n; i++) {
        const struct nvml_slot *s = d->slots[i];
        if (!s->facts.known || !text_equal(s->facts.gpu.uuid, uuid))
            continue;
        if (worker_hung(d->pool, LANE_GPU + i))
            return err_set(e, E_AGAIN, "%s: a call that was made before does not return", uuid);
        if (s->facts.lost || !s->device)
            return err_set(e, E_GONE, "%s is lost", uuid);
        *ret_slot = i;
        return 0;
    }
    return err_set(e, E_NOTFOUND, "no GPU %s on this node", uuid);
}

/* ---- MIG steps and compute mode ---- */

struct nvml_step {
    struct worker_job job;
    struct nvml_step *next;
    struct nvml_driver *d;
    struct nvml_call *call;
    struct nvml *n;
    struct dcgm *dcgm; /* a reference; NULL: none */
    struct nvml_device *device;
    uint32_t slot;
    bool is_mode;
    int mode;
    struct mig_step step;
    uint8_t created;
    int code;
    struct err error;
};

static void step_work(struct worker_job *job)
{
    struct nvml_step *j = (struct nvml_step *)job;
    if (!j->is_mode) {
        dcgm_close(j->dcgm, DCGM_CLOSE_MS);
        j->code = gpu_mig_step(j->n, j->device, &j->step, &j->created, &j->error);
    } else if (j->n->set_compute_mode)
        j->code = nvml_error(j->n->set_compute_mode(j->device, j->mode), &j->error, "set compute mode %d", j->mode);
    else
        j->code = err_set(&j->error, E_INVALID, "this driver cannot set the compute mode");
}

/* It is not under way any more: answered, or taken back. */
static void step_end(struct nvml_step *j)
{
    struct nvml_step **at = &j->d->steps;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    if (!j->is_mode)
        dcgm_resume(j->dcgm); /* also of the others, where this step hangs */
}

static void step_done(struct worker_job *job, int code)
{
    struct nvml_step *j = (struct nvml_step *)job;
    struct nvml_driver *d = j->d;
    struct nvml_call *call = j->call;
    struct nvml_slot *s = d->slots[j->slot];
    j->call = NULL;
    step_end(j);
    if (code < 0) {
        code = err_set(&call->error, E_AGAIN, "%s: the driver has not answered in %lld s", s->facts.gpu.uuid,
                       (long long)((j->is_mode ? d->call_ms : d->step_ms) / 1000));
        nvml_call_answer(call, code, NULL);
        return;
    }
    if (j->code == 0 && !j->is_mode && j->step.kind == MIG_STEP_CREATE_GI)
        s->last_gi = j->created;
    call->error = j->error;
    bool tell = j->code == 0 && !j->is_mode && !s->facts.mig_events;
    code = j->code;
    UNLESS_FREED(d, nvml_call_answer(call, code, NULL));
    if (tell) /* libraries that send an event of their own do it for every client */
        nvml_tell(d, s->facts.gpu.uuid, DRIVER_EVENT_MIG_CHANGED, 0);
}

static void step_release(struct worker_job *job)
{
    struct nvml_step *j = (struct nvml_step *)job;
    free(j->call);
    nvml_unref(j->n);
    dcgm_unref(j->dcgm);
    free(j);
}

static struct nvml_step *step_new(struct nvml_driver *d, uint32_t slot, struct nvml_call *call)
{
    struct nvml_step *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = step_work, .done = step_done, .release = step_release};
    j->d = d;
    j->call = call;
    j->n = nvml_ref(d->nvml);
    j->dcgm = dcgm_ref(d->dcgm);
    j->device = d->slots[slot]->device;
    j->slot = slot;
    j->next = d->steps;
    d->steps = j;
    return j;
}

static void driver_nvml_mig_step(void *self, const char *uuid, const struct mig_step *step, driver_done_fn fn,
                                 void *arg)
{
    struct nvml_driver *d = self;
    struct nvml_call *call = nvml_call_new(d, arg);
    uint32_t slot = 0;
    call->done_fn = fn;
    int r = find_slot(d, uuid, &slot, &call->error);
    if (r == 0 && step->kind == MIG_STEP_CREATE_CI && step->instance_id == 0xff && d->slots[slot]->last_gi == 0xff)
        r = err_set(&call->error, E_NOTFOUND, "%s: no GPU instance was created before", uuid);
    if (r < 0) {
        nvml_call_defer(call, r);
        return;
    }
    struct nvml_step *j = step_new(d, slot, call);
    j->step = *step;
    if (step->kind == MIG_STEP_CREATE_CI && step->instance_id == 0xff)
        j->step.instance_id = d->slots[slot]->last_gi;
    dcgm_pause(j->dcgm); /* until step_done */
    worker_post(d->pool, LANE_GPU + slot, &j->job, d->step_ms);
}

static void driver_nvml_set_compute_mode(void *self, const char *uuid, int mode, driver_done_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    struct nvml_call *call = nvml_call_new(d, arg);
    uint32_t slot = 0;
    call->done_fn = fn;
    int r = find_slot(d, uuid, &slot, &call->error);
    if (r == 0 && (mode < 0 || mode > 3 || mode == NVML_COMPUTE_EXCLUSIVE_THREAD))
        r = err_set(&call->error, E_INVALID, "compute mode %d: 0 default, 2 prohibited or 3 exclusive process", mode);
    if (r < 0) {
        nvml_call_defer(call, r);
        return;
    }
    struct nvml_step *j = step_new(d, slot, call);
    j->is_mode = true;
    j->mode = mode;
    worker_post(d->pool, LANE_GPU + slot, &j->job, d->call_ms);
}

/* WHY  only steps: what reads changes nothing, and a reset is begun at once. */
static bool driver_nvml_cancel(void *self, const void *arg)
{
    struct nvml_driver *d = self;
    for (struct nvml_step *j = d->steps; j; j = j->next) {
        if (j->call->arg != arg || !worker_cancel(d->pool, &j->job))
            continue;
        step_end(j);
        step_release(&j->job);
        return true;
    }
    return false;
}

static void driver_nvml_reset(void *self, const char *uuid, driver_done_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    struct err e = {0};
    uint32_t slot = 0;
    int r = find_slot(d, uuid, &slot, &e);
    if (r == -E_GONE) { /* a lost GPU is what resets are for */
        for (slot = 0; slot < d->slots_n && !text_equal(d->slots[slot]->facts.gpu.uuid, uuid);)
            slot++;
        r = 0;
    }
    if (r == 0) {
        nvml_reset_start(d, slot, fn, arg);
        return;
    }
    struct nvml_call *call = nvml_call_new(d, arg);
    call->done_fn = fn;
    call->error = e;
    nvml_call_defer(call, r);
}

/* ---- processes ---- */

struct nvml_gather {
    struct nvml_gather *next;
    driver_processes_fn fn;
    void *arg;
    uint32_t pending_n, n, cap;
    struct driver_process *list;
};
struct processes_job {
    struct worker_job job;
    struct nvml_driver *d;
    struct nvml_gather *gather; /* the loop's */
    struct nvml *n;
    struct nvml_device *device;
    uint32_t index;
    struct driver_process *list;
    int n_or_code;
};

static void processes_work(struct worker_job *job)
{
    struct processes_job *j = (struct processes_job *)job;
    j->n_or_code = gpu_processes_read(j->n, j->device, j->index, &j->list, NULL);
}

static void gather_free(struct nvml_gather *g)
{
    free(g->list);
    free(g);
}

static void processes_done(struct worker_job *job, int code)
{
    struct processes_job *j = (struct processes_job *)job;
    struct nvml_driver *d = j->d;
    struct nvml_gather *g = j->gather;
    if (code == 0 && j->n_or_code > 0) { /* a GPU that does not answer is left out: the reading says that it is lost */
        uint32_t n = (uint32_t)j->n_or_code;
        MEM_RESERVE(g->list, g->cap, g->n + n);
        memcpy(g->list + g->n, j->list, n * sizeof *g->list);
        g->n += n;
    }
    if (--g->pending_n > 0)
        return;
    struct nvml_gather **at = &d->gathers;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    if (g->n > 0)
        qsort(g->list, g->n, sizeof *g->list, driver_process_order);
    struct err e = {0};
    g->fn(g->arg, 0, g->list, g->n, &e); /* may free the driver */
    gather_free(g);
}

static void processes_release(struct worker_job *job)
{
    struct processes_job *j = (struct processes_job *)job;
    free(j->list);
    nvml_unref(j->n);
    free(j);
}

static void processes_start(struct nvml_driver *d, struct nvml_gather *g, uint32_t slot)
{
    struct processes_job *j = mem_zero(1, sizeof *j);
    j->job = (struct worker_job){.work = processes_work, .done = processes_done, .release = processes_release};
    j->d = d;
    j->gather = g;
    j->n = nvml_ref(d->nvml);
    j->device = d->slots[slot]->device;
    j->index = slot;
    g->pending_n++;
    worker_post(d->pool, LANE_GPU + slot, &j->job, d->call_ms);
}

static void driver_nvml_processes(void *self, driver_processes_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    struct nvml_call *call = nvml_call_new(d, arg);
    int r = nvml_ready(d, &call->error);
    call->processes_fn = fn;
    struct nvml_gather *g = mem_zero(1, sizeof *g);
    g->fn = fn;
    g->arg = arg;
    for (uint32_t i = 0; r == 0 && i < d->slots_n; i++)
        if (d->slots[i]->device && !d->slots[i]->facts.lost)
            processes_start(d, g, i);
    if (g->pending_n == 0) {
        free(g);
        nvml_call_defer(call, r);
        return;
    }
    free(call);
    g->next = d->gathers;
    d->gathers = g;
}

/* ---- events ---- */

static void on_wait_timer(void *arg)
{
    nvml_listen_on(arg);
}

static void driver_nvml_listen(void *self, driver_event_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    d->event_fn = fn;
    d->event_arg = arg;
    nvml_listen_on(d);
}

/* ---- start and end ---- */

static void driver_nvml_read(void *self, driver_reading_fn fn, void *arg)
{
    struct nvml_driver *d = self;
    struct nvml_call *call = nvml_call_new(d, arg);
    call->reading_fn = fn;
    if (d->reset) {
        nvml_call_defer(call, nvml_ready(d, &call->error));
        return;
    }
    struct nvml_call **at = &d->later;
    while (*at)
        at = &(*at)->next;
    *at = call;
    nvml_read_start(d);
}

/* A lane whose call has come back after all: read again, which tells that the GPU is back. */
static void on_recovered(void *arg, uint32_t lane)
{
    struct nvml_driver *d = arg;
    (void)lane;
    if (!d->reset)
        nvml_read_start(d);
}

static void driver_nvml_free(void *self)
{
    struct nvml_driver *d = self;
    if (d->dead)
        *d->dead = true;
    nvml_wait_stop(d);
    nvml_reset_forget(d);
    worker_pool_free(d->pool);
    loop_timer_free(d->wait_timer);
    nvml_calls_free(d, d->now);
    nvml_calls_free(d, d->later);
    nvml_calls_free(d, d->deferred);
    while (d->gathers) {
        struct nvml_gather *g = d->gathers;
        d->gathers = g->next;
        gather_free(g);
    }
    nvml_measure_forget(d);
    dcgm_unref(d->dcgm);
    nvml_unref(d->nvml);
    nvml_unref(d->failed);
    for (uint32_t i = 0; i < d->slots_n; i++) {
        gpu_facts_free(&d->slots[i]->facts);
        free(d->slots[i]);
    }
    free(d->ancestors);
    free(d->nvml_path);
    free(d->root);
    free(d->driver_root);
    free(d->driver_here);
    free(d->validations);
    free(d->reset_command);
    free(d);
}

static const struct driver_ops driver_nvml_ops = {.read = driver_nvml_read,
                                                  .mig_step = driver_nvml_mig_step,
                                                  .reset = driver_nvml_reset,
                                                  .set_compute_mode = driver_nvml_set_compute_mode,
                                                  .processes = driver_nvml_processes,
                                                  .measure = driver_nvml_measure,
                                                  .cancel = driver_nvml_cancel,
                                                  .listen = driver_nvml_listen,
                                                  .free = driver_nvml_free};

struct driver *driver_nvml_new_with(struct loop *l, const struct driver_nvml_options *o)
{
    assert(!loop_is_virtual(l));
    struct nvml_driver *d = mem_zero(1, sizeof *d);
    d->driver = (struct driver){&driver_nvml_ops, d};
    d->loop = l;
    d->look = nvml_read_start;
    d->nvml_path = o->nvml_path ? mem_text(o->nvml_path) : NULL;
    d->root = o->root ? mem_text(o->root) : NULL;
    d->driver_root = o->driver_root ? mem_text(o->driver_root) : NULL;
    d->driver_here = o->driver_here ? mem_text(o->driver_here) : NULL;
    d->validations = o->validations ? mem_text(o->validations) : NULL;
    d->reset_command = mem_text(o->reset_command ? o->reset_command : "nvidia-smi --gpu-reset -i {uuid}");
    d->dcgm = o->dcgm ? dcgm_new(o->dcgm) : NULL;
    d->call_ms = o->call_ms > 0 ? o->call_ms : CALL_MS;
    d->step_ms = o->step_ms > 0 ? o->step_ms : STEP_MS;
    char probe[512];
    (void)snprintf(d->sys_root, sizeof d->sys_root, "%s/sys", o->driver_root ? o->driver_root : "");
    (void)snprintf(probe, sizeof probe, "%s/bus/pci", d->sys_root);
    if (o->sys_root || access(probe, F_OK) != 0)
        (void)snprintf(d->sys_root, sizeof d->sys_root, "%s", o->sys_root ? o->sys_root : "/sys");
    d->ancestors = mem_alloc(LIMIT_NODE_GPUS * LIMIT_NODE_GPUS);
    nvml_forget_handles(d);
    d->pool = worker_pool_new(l, LANES_N, on_recovered, d);
    d->wait_timer = loop_timer_new(l, on_wait_timer, d);
    return &d->driver;
}

struct driver *driver_nvml_new(struct loop *l, const char *library, const char *driver_root)
{
    struct driver_nvml_options options = {.nvml_path = library, .driver_root = driver_root};
    return driver_nvml_new_with(l, &options);
}
