/* driver.c - what both bodies share: counted readings, calls through the interface and their tokens */
#include <assert.h>
#include <stdlib.h>
#include "agent/driver/driver.h"

const struct mig_state driver_mig_none;

struct driver_reading *driver_reading_new(struct arena *a)
{
    struct driver_reading *r = arena_zero(a, 1, sizeof *r);
    r->refs = 1;
    r->arena = a;
    return r;
}

struct driver_reading *driver_reading_ref(const struct driver_reading *r)
{
    struct driver_reading *counted = (struct driver_reading *)r; /* the count is the only part that changes */
    assert(counted->refs > 0);
    counted->refs++;
    return counted;
}

void driver_reading_unref(const struct driver_reading *r)
{
    struct driver_reading *counted = (struct driver_reading *)r;
    if (!counted)
        return;
    assert(counted->refs > 0);
    if (--counted->refs > 0)
        return;
    if (counted->arena)
        arena_free(counted->arena);
    else
        free(counted);
}

const struct driver_gpu *driver_reading_gpu(const struct driver_reading *r, const char *uuid)
{
    if (text_starts(uuid, "MIG-GPU-"))
        uuid += 4; /* "MIG-GPU-<uuid>/gi/ci": the older form names its parent */
    size_t n = strcspn(uuid, "/");
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        const struct driver_gpu *gpu = &r->gpus[i];
        if (strncmp(gpu->uuid, uuid, n) == 0 && gpu->uuid[n] == '\0')
            return gpu;
        for (uint32_t m = 0; m < gpu->migs_n; m++)
            if (text_equal(gpu->migs[m].uuid, uuid))
                return gpu;
    }
    return NULL;
}

/* ---- calls ---- */

/* SHAPE  it is the `arg` of the body's call; the functions below come between the body's answer and the caller's. */
struct driver_call {
    struct driver *driver;
    struct driver_call *next;
    driver_reading_fn reading_fn; /* one of them; none: taken back */
    driver_done_fn done_fn;
    driver_processes_fn processes_fn;
    measure_fn measure_fn;
    void *arg;
};

static struct driver_call *call_new(struct driver *d, void *arg)
{
    struct driver_call *c = mem_zero(1, sizeof *c);
    c->driver = d;
    c->arg = arg;
    c->next = d->calls;
    d->calls = c;
    return c;
}

/* It has its answer: a copy, since the caller may free the driver. */
static struct driver_call call_end(struct driver_call *c)
{
    struct driver_call copy = *c;
    struct driver_call **at = &c->driver->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
    return copy;
}

static void on_reading(void *arg, int code, const struct driver_reading *reading, const struct err *e)
{
    struct driver_call c = call_end(arg);
    if (c.reading_fn)
        c.reading_fn(c.arg, code, reading, e);
}

static void on_done(void *arg, int code, const struct err *e)
{
    struct driver_call c = call_end(arg);
    if (c.done_fn)
        c.done_fn(c.arg, code, e);
}

static void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e)
{
    struct driver_call c = call_end(arg);
    if (c.processes_fn)
        c.processes_fn(c.arg, code, list, n, e);
}

static void on_measured(void *arg, int code, const struct measure_reading *reading, const struct err *e)
{
    struct driver_call c = call_end(arg);
    if (c.measure_fn)
        c.measure_fn(c.arg, code, reading, e);
}

struct driver_call *driver_read(struct driver *d, driver_reading_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->reading_fn = fn;
    d->ops->read(d->self, on_reading, c);
    return c;
}

struct driver_call *driver_mig_step(struct driver *d, const char *gpu_uuid, const struct mig_step *step, driver_done_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->done_fn = fn;
    d->ops->mig_step(d->self, gpu_uuid, step, on_done, c);
    return c;
}

struct driver_call *driver_reset(struct driver *d, const char *gpu_uuid, driver_done_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->done_fn = fn;
    d->ops->reset(d->self, gpu_uuid, on_done, c);
    return c;
}

struct driver_call *driver_set_compute_mode(struct driver *d, const char *gpu_uuid, int mode, driver_done_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->done_fn = fn;
    d->ops->set_compute_mode(d->self, gpu_uuid, mode, on_done, c);
    return c;
}

struct driver_call *driver_processes(struct driver *d, driver_processes_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->processes_fn = fn;
    d->ops->processes(d->self, on_processes, c);
    return c;
}

struct driver_call *driver_measure(struct driver *d, const struct driver_reading *devices, const struct measure_request *request,
                                   measure_fn fn, void *arg)
{
    struct driver_call *c = call_new(d, arg);
    c->measure_fn = fn;
    d->ops->measure(d->self, devices, request, on_measured, c);
    return c;
}

void driver_cancel(struct driver_call *c)
{
    if (!c)
        return;
    c->reading_fn = NULL;
    c->done_fn = NULL;
    c->processes_fn = NULL;
    c->measure_fn = NULL;
    if (c->driver->ops->cancel && c->driver->ops->cancel(c->driver->self, c))
        (void)call_end(c);
}

void driver_listen(struct driver *d, driver_event_fn fn, void *arg)
{
    d->ops->listen(d->self, fn, arg);
}

void driver_free(struct driver *d)
{
    if (!d)
        return;
    struct driver_call *waiting = d->calls;
    d->ops->free(d->self);
    while (waiting) {
        struct driver_call *c = waiting;
        waiting = c->next;
        free(c);
    }
}

/* ---- processes ---- */

int driver_process_key_order(struct driver_process_key a, struct driver_process_key b)
{
    if (a.gpu != b.gpu)
        return a.gpu < b.gpu ? -1 : 1;
    if (a.gi != b.gi)
        return a.gi < b.gi ? -1 : 1;
    if (a.ci != b.ci)
        return a.ci < b.ci ? -1 : 1;
    return a.pid < b.pid ? -1 : a.pid > b.pid;
}

int driver_process_order(const void *a, const void *b)
{
    const struct driver_process *x = a, *y = b;
    return driver_process_key_order((struct driver_process_key){x->gpu, x->gi, x->ci, x->pid},
                                    (struct driver_process_key){y->gpu, y->gi, y->ci, y->pid});
}

/* ---- GPUs that are reset together ---- */

#define AMPERE 8 /* compute capability from which linked GPUs are reset one by one */

static bool linked(const struct driver_reading *r, uint32_t a, uint32_t b)
{
    return a != b && r->links && (r->links[(size_t)a * r->gpus_n + b].nvlinks_n || r->links[(size_t)b * r->gpus_n + a].nvlinks_n);
}

uint64_t driver_reset_set(const struct driver_reading *r, const struct driver_gpu *gpu)
{
    uint32_t queue[LIMIT_NODE_GPUS], queue_n = 0;
    bool in[LIMIT_NODE_GPUS] = {false};
    uint64_t set = 1ULL << gpu->index;
    for (uint32_t i = 0; i < r->gpus_n && i < LIMIT_NODE_GPUS; i++)
        if (&r->gpus[i] == gpu && (r->resets_linked || (gpu->compute_major && gpu->compute_major < AMPERE)))
            in[queue[queue_n++] = i] = true;
    for (uint32_t at = 0; at < queue_n; at++)
        for (uint32_t k = 0; k < r->gpus_n && k < LIMIT_NODE_GPUS; k++)
            if (!in[k] && linked(r, queue[at], k)) {
                in[queue[queue_n++] = k] = true;
                set |= 1ULL << r->gpus[k].index;
            }
    return set;
}

uint64_t driver_linked_set(const struct driver_reading *r, const struct driver_gpu *gpu)
{
    return driver_reset_set(r, gpu) & ~(1ULL << gpu->index);
}
