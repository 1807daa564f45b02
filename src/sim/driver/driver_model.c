/* driver_model.c - the GPUs of a simulated node: gpu/model for what they are, gpu/mig for what may be done to them
 *
 * SHAPE  a node is this struct, its GPUs and one reading: MIG states are allocated for GPUs that have been switched to MIG, and an
 *        unchanged node hands out the same reading again. No thread, no descriptor: thousands of nodes fit in one process.
 * ORDER  answers and events by loop_defer, in the order of the calls.
 */
#include <assert.h>
#include <stdio.h>
#include "base/collections/map.h"
#include "sim/driver/driver_model.h"
#include "sim/driver/driver_model_measure.h"

#define DRIVER_VERSION "580.95.05"
#define CUDA_VERSION 13000
#define ALL 0xffffffffu

struct model_gpu {
    struct mig_state *mig; /* NULL: never switched to MIG */
    bool lost;
    uint8_t last_instance; /* GPU instance created last; 0xff none */
    int8_t compute_mode;
};
struct model;
struct call {
    struct model *model;
    struct call *next;
    int code;
    struct err error;
    driver_reading_fn reading_fn;
    driver_done_fn done_fn;
    driver_processes_fn processes_fn;
    measure_fn measure_fn;
    const struct measure_reading *measured; /* a reference */
    void *arg;
};
struct told { /* an event on its way to the listener */
    struct model *model;
    struct told *next;
    struct driver_event event;
};
struct model {
    struct driver driver; /* first: what the user holds */
    struct loop *loop;
    const struct gpu_model *model;
    struct driver_reading *reading; /* NULL: something has changed since the last */
    uint64_t readings_n;
    struct call *calls;
    struct told *told;
    driver_event_fn event_fn;
    void *event_arg;
    struct driver_process *processes;
    uint32_t processes_n;
    uint32_t refuse_n;
    int refuse_code;
    uint32_t gpus_n;
    char *node_name;
    struct model_meter *meter; /* NULL: never measured */
    struct model_gpu gpus[];
};

/* ---- identities ---- */

static uint64_t identity(const char *node_name, uint32_t gpu)
{
    return hash_bytes(node_name, strlen(node_name), (uint64_t)gpu + 1);
}

void driver_model_uuid(const char *node_name, uint32_t gpu, char ret_uuid[48])
{
    uint64_t hi = identity(node_name, gpu), lo = hash_bytes(node_name, strlen(node_name), hi);
    (void)snprintf(ret_uuid, 48, "GPU-%08x-%04x-%04x-%04x-%012llx", (unsigned)(hi >> 32), (unsigned)(hi >> 16) & 0xffff,
                   ((unsigned)hi & 0x0fff) | 0x4000, ((unsigned)(lo >> 48) & 0x3fff) | 0x8000,
                   (unsigned long long)lo & 0xffffffffffffULL);
}

static void mig_uuid(const uint8_t b[16], char ret_uuid[48])
{
    (void)snprintf(ret_uuid, 48, "MIG-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
                   b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* Index of the GPU with this UUID; -1: none. */
static int find_gpu(const struct model *d, const char *uuid)
{
    for (uint32_t i = 0; i < d->gpus_n; i++) {
        char mine[48];
        driver_model_uuid(d->node_name, i, mine);
        if (text_equal(mine, uuid))
            return (int)i;
    }
    return -1;
}

/* ---- readings ---- */

static uint32_t count_migs(const struct mig_state *s)
{
    uint32_t n = 0;
    for (int i = 0; s && i < MIG_GI_MAX; i++)
        for (int c = 0; s->instances[i].used && c < MIG_CI_MAX; c++)
            n += s->instances[i].computes[c].used;
    return n;
}

static uint16_t count_processes(const struct model *d, uint32_t gpu, uint32_t gi, uint32_t ci)
{
    uint16_t n = 0;
    for (uint32_t i = 0; i < d->processes_n; i++) {
        const struct driver_process *p = &d->processes[i];
        bool here = p->gpu == gpu && (gi == ALL || (p->gi == gi && (ci == ALL || p->ci == ci)));
        n = (uint16_t)(n + here);
    }
    return n;
}

static void read_compute(const struct model *d, uint32_t gpu, const struct mig_instance *gi, const struct mig_compute *ci,
                         struct driver_mig *to)
{
    const struct mig_profile *p = mig_profile_by_id(d->model, gi->profile_id);
    *to = (struct driver_mig){.gi = gi->id,
                              .ci = ci->id,
                              .gi_profile_id = gi->profile_id,
                              .gi_start = gi->start,
                              .gi_units = gi->units,
                              .ci_slices = ci->slices,
                              .ci_start = ci->start,
                              .gi_slices = p->slices,
                              .memory_mib = p->memory_mib,
                              .sm_n = (uint16_t)(p->sm_n * ci->slices / p->slices),
                              .copy_n = p->copy_n,
                              .decoder_n = p->decoder_n,
                              .encoder_n = p->encoder_n,
                              .jpeg_n = p->jpeg_n,
                              .ofa_n = p->ofa_n,
                              .processes_n = count_processes(d, gpu, gi->id, ci->id)};
    mig_compute_name(p, ci->slices, to->profile);
    mig_uuid(ci->uuid, to->uuid);
}

static uint32_t read_migs(const struct model *d, uint32_t gpu, struct driver_mig *to)
{
    const struct mig_state *s = d->gpus[gpu].mig;
    uint32_t n = 0;
    for (int id = 0; s && id < 256; id++) /* by (gi, ci): ids, not places in the state */
        for (int i = 0; i < MIG_GI_MAX; i++) {
            const struct mig_instance *gi = &s->instances[i];
            if (!gi->used || gi->id != id)
                continue;
            for (int c = 0; c < MIG_CI_MAX * MIG_CI_MAX; c++) {
                const struct mig_compute *ci = &gi->computes[c % MIG_CI_MAX];
                if (ci->used && ci->id == c / MIG_CI_MAX)
                    read_compute(d, gpu, gi, ci, &to[n++]);
            }
        }
    return n;
}

static void read_gpu(const struct model *d, uint32_t i, struct driver_gpu *g)
{
    const struct gpu_model *m = d->model;
    const struct model_gpu *from = &d->gpus[i];
    uint64_t id = identity(d->node_name, i);
    g->index = g->minor = (uint16_t)i;
    g->lost = from->lost;
    driver_model_uuid(d->node_name, i, g->uuid);
    (void)snprintf(g->name, sizeof g->name, "%s", m->name);
    (void)snprintf(g->serial, sizeof g->serial, "16%011llu", (unsigned long long)(id % 100000000000ULL));
    (void)snprintf(g->bus_id, sizeof g->bus_id, "0000:%02x:00.0", (7 + 8 * i) & 0xff);
    g->pci_device_id = m->pci_device_id;
    g->pci_subsystem_id = m->pci_subsystem_id;
    g->pci_class = m->display_class ? 0x030000 : 0x030200;
    g->numa_node = (int16_t)(i * 2 / d->gpus_n);
    g->memory_mib = m->memory_mib;
    g->architecture = m->nvml_architecture;
    g->brand = m->nvml_brand;
    g->compute_major = m->compute_major;
    g->compute_minor = m->compute_minor;
    g->mig_capable = m->mig_slices > 0;
    g->mig_on = from->mig && from->mig->mode;
    g->mig_pending = from->mig && from->mig->mode_pending != from->mig->mode;
    g->processes_n = count_processes(d, i, ALL, ALL);
    g->geometry = m->mig_slices > 0 ? m : NULL;
    g->mig = &driver_mig_none;
}

static struct driver_link link_between(const struct model *d, uint32_t a, uint32_t b)
{
    const struct gpu_model *m = d->model;
    uint32_t group = m->node_link_group_n > 1 ? m->node_link_group_n : 1;
    if (a == b)
        return (struct driver_link){0};
    bool near = a * 2 / d->gpus_n == b * 2 / d->gpus_n;
    return (struct driver_link){.ancestor = near ? 40 : 50, .nvlinks_n = a / group == b / group ? m->nvlink_n : 0};
}

/* One block: reading, GPUs, MIG states, MIG devices, links; by falling alignment. */
static struct driver_reading *make_reading(struct model *d)
{
    uint32_t n = d->gpus_n, migs_n = 0, states_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        migs_n += count_migs(d->gpus[i].mig);
        states_n += d->gpus[i].mig != NULL;
    }
    size_t gpus_at = sizeof(struct driver_reading), states_at = gpus_at + n * sizeof(struct driver_gpu),
           migs_at = states_at + states_n * sizeof(struct mig_state),
           links_at = migs_at + migs_n * sizeof(struct driver_mig);
    char *block = mem_zero(1, links_at + (size_t)n * n * sizeof(struct driver_link));
    struct driver_reading *r = (struct driver_reading *)(void *)block;
    struct driver_mig *migs = (struct driver_mig *)(void *)(block + migs_at);
    struct mig_state *states = (struct mig_state *)(void *)(block + states_at);
    r->refs = 1;
    r->number = ++d->readings_n;
    (void)snprintf(r->driver_version, sizeof r->driver_version, "%s", DRIVER_VERSION);
    r->cuda_version = CUDA_VERSION;
    r->gpus = (struct driver_gpu *)(void *)(block + gpus_at);
    r->gpus_n = n;
    r->links = (struct driver_link *)(void *)(block + links_at);
    for (uint32_t i = 0; i < n; i++) {
        read_gpu(d, i, &r->gpus[i]);
        r->gpus[i].migs = migs;
        r->gpus[i].migs_n = read_migs(d, i, migs);
        migs += r->gpus[i].migs_n;
        if (d->gpus[i].mig) {
            *states = *d->gpus[i].mig;
            r->gpus[i].mig = states++;
        }
        for (uint32_t other = 0; other < n; other++)
            r->links[i * n + other] = link_between(d, i, other);
    }
    return r;
}

static void changed(struct model *d)
{
    driver_reading_unref(d->reading);
    d->reading = NULL;
}

/* ---- answers and events ---- */

static void call_unlink(struct call *c)
{
    struct call **at = &c->model->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void on_answer(void *arg)
{
    struct call *c = arg;
    struct model *d = c->model;
    struct call copy = *c;
    call_unlink(c);
    free(c);
    if (copy.done_fn) {
        copy.done_fn(copy.arg, copy.code, &copy.error);
    } else if (copy.processes_fn) {
        copy.processes_fn(copy.arg, 0, d->processes, d->processes_n, &copy.error);
    } else if (copy.measured) {
        copy.measure_fn(copy.arg, 0, copy.measured, &copy.error);
        measure_reading_unref(copy.measured);
    } else {
        if (!d->reading)
            d->reading = make_reading(d);
        struct driver_reading *r = driver_reading_ref(d->reading);
        copy.reading_fn(copy.arg, 0, r, &copy.error);
        driver_reading_unref(r);
    }
}

static struct call *call_new(struct model *d, void *arg)
{
    struct call *c = mem_zero(1, sizeof *c);
    c->model = d;
    c->arg = arg;
    c->next = d->calls;
    d->calls = c;
    loop_defer(d->loop, on_answer, c);
    return c;
}

static void on_told(void *arg)
{
    struct told *t = arg;
    struct model *d = t->model;
    struct driver_event event = t->event;
    struct told **at = &d->told;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    free(t);
    if (d->event_fn)
        d->event_fn(d->event_arg, &event);
}

static void tell(struct model *d, uint32_t gpu, uint32_t gi, uint32_t ci, int kind, uint64_t data)
{
    if (!d->event_fn)
        return; /* as with a real driver: what happens before somebody listens is not repeated */
    struct told *t = mem_zero(1, sizeof *t);
    t->model = d;
    t->event.gi = gi;
    t->event.ci = ci;
    t->event.kind = kind;
    t->event.data = data;
    if (gpu < d->gpus_n)
        driver_model_uuid(d->node_name, gpu, t->event.uuid);
    t->next = d->told;
    d->told = t;
    loop_defer(d->loop, on_told, t);
}

/* ---- the interface ---- */

static void model_read(void *self, driver_reading_fn fn, void *arg)
{
    call_new(self, arg)->reading_fn = fn;
}

static void model_processes(void *self, driver_processes_fn fn, void *arg)
{
    call_new(self, arg)->processes_fn = fn;
}

static void model_measure(void *self, const struct driver_reading *devices, const struct measure_request *request, measure_fn fn, void *arg)
{
    struct model *d = self;
    struct call *c = call_new(d, arg);
    if (!d->meter)
        d->meter = model_meter_new(d->gpus_n);
    struct model_scene s = {.model = d->model,
                            .devices = devices,
                            .processes = d->processes,
                            .processes_n = d->processes_n,
                            .now_ms = loop_now_ms(d->loop),
                            .wall_us = loop_wall_us(d->loop)};
    c->measure_fn = fn;
    c->measured = model_meter_read(d->meter, &s, request);
}

static void model_listen(void *self, driver_event_fn fn, void *arg)
{
    struct model *d = self;
    d->event_fn = fn;
    d->event_arg = arg;
}

static int mig_error(enum mig_result result, const char *what, const char *uuid, struct err *e)
{
    switch (result) {
    case MIG_OK:
        return 0;
    case MIG_NOT_FOUND:
        return err_set(e, E_NOTFOUND, "%s on %s: no such instance", what, uuid);
    case MIG_IN_USE:
        return err_set(e, E_CONFLICT, "%s on %s: in use", what, uuid);
    case MIG_INSUFFICIENT_RESOURCES:
        return err_set(e, E_LIMIT, "%s on %s: no room at this place", what, uuid);
    case MIG_NOT_SUPPORTED:
        return err_set(e, E_INVALID, "%s on %s: this GPU has no MIG, or its mode is off", what, uuid);
    case MIG_INVALID_ARGUMENT:
        break;
    }
    return err_set(e, E_INVALID, "%s on %s: no such profile, place or width", what, uuid);
}

/* Busy counts of the state follow from the processes. */
static void count_busy(const struct model *d, uint32_t gpu, struct mig_state *s)
{
    for (int i = 0; i < MIG_GI_MAX; i++)
        for (int c = 0; c < MIG_CI_MAX; c++) {
            struct mig_compute *ci = &s->instances[i].computes[c];
            uint16_t n = ci->used ? count_processes(d, gpu, s->instances[i].id, ci->id) : 0;
            ci->busy_n = (uint8_t)(n > 255 ? 255 : n);
        }
}

static int apply_step(struct model *d, uint32_t i, const struct mig_step *step, const char *uuid, struct err *e)
{
    const struct gpu_model *m = d->model;
    struct model_gpu *gpu = &d->gpus[i];
    struct mig_state *s = gpu->mig;
    uint8_t id = step->instance_id == 0xff ? gpu->last_instance : step->instance_id;
    switch (step->kind) {
    case MIG_STEP_MODE_ON:
    case MIG_STEP_MODE_OFF:
        return mig_error(mig_set_mode(s, m, step->kind == MIG_STEP_MODE_ON, count_processes(d, i, ALL, ALL) > 0),
                         "MIG mode", uuid, e);
    case MIG_STEP_DESTROY_CI:
        return mig_error(mig_destroy_compute(s, id, step->compute_id), "destroy compute instance", uuid, e);
    case MIG_STEP_DESTROY_GI:
        return mig_error(mig_destroy_instance(s, id), "destroy GPU instance", uuid, e);
    case MIG_STEP_CREATE_GI:
        return mig_error(mig_create_instance(s, m, step->profile_id, step->start, &gpu->last_instance),
                         "create GPU instance", uuid, e);
    case MIG_STEP_CREATE_CI:
        return mig_error(
            mig_create_compute(s, m, id, step->slices, step->start, identity(d->node_name, i), &(uint8_t){0}),
            "create compute instance", uuid, e);
    }
    return err_set(e, E_INVALID, "unknown MIG step %d", (int)step->kind);
}

/* A call that changes a GPU: its place here, or the negative code that is answered. */
static int change_new(struct model *d, const char *uuid, driver_done_fn fn, void *arg, struct call **ret_call)
{
    struct call *c = *ret_call = call_new(d, arg);
    int i = find_gpu(d, uuid);
    c->done_fn = fn;
    if (d->refuse_n > 0) {
        d->refuse_n--;
        c->code = err_set(&c->error, -d->refuse_code, "refused by the simulation");
    } else if (i < 0) {
        c->code = err_set(&c->error, E_NOTFOUND, "no GPU %s on this node", uuid);
    } else if (d->gpus[i].lost) {
        c->code = err_set(&c->error, E_GONE, "%s is lost", uuid);
    }
    return c->code < 0 ? c->code : i;
}

static void model_mig_step(void *self, const char *uuid, const struct mig_step *step, driver_done_fn fn, void *arg)
{
    struct model *d = self;
    struct call *c;
    int i = change_new(d, uuid, fn, arg, &c);
    if (i < 0)
        return;
    struct model_gpu *gpu = &d->gpus[i];
    if (!gpu->mig)
        gpu->mig = mem_zero(1, sizeof *gpu->mig);
    count_busy(d, (uint32_t)i, gpu->mig);
    c->code = apply_step(d, (uint32_t)i, step, uuid, &c->error);
    changed(d);
    if (c->code == 0)
        tell(d, (uint32_t)i, ALL, ALL, DRIVER_EVENT_MIG_CHANGED, 0);
}

static void model_reset(void *self, const char *uuid, driver_done_fn fn, void *arg)
{
    struct model *d = self;
    struct call *c;
    int i = change_new(d, uuid, fn, arg, &c);
    if (i < 0)
        return;
    if (count_processes(d, (uint32_t)i, ALL, ALL) > 0)
        c->code = err_set(&c->error, E_CONFLICT, "reset of %s: processes run on it", uuid);
    else if (d->gpus[i].mig)
        mig_reset(d->gpus[i].mig, d->model);
    changed(d);
}

static void model_set_compute_mode(void *self, const char *uuid, int mode, driver_done_fn fn, void *arg)
{
    struct model *d = self;
    struct call *c;
    int i = change_new(d, uuid, fn, arg, &c);
    if (i < 0)
        return;
    if (mode < 0 || mode > 3 || mode == 1)
        c->code = err_set(&c->error, E_INVALID, "compute mode %d: 0 default, 2 prohibited or 3 exclusive process", mode);
    else
        d->gpus[i].compute_mode = (int8_t)mode;
}

static void model_free(void *self)
{
    struct model *d = self;
    for (struct call *c = d->calls, *next; c; c = next) {
        next = c->next;
        loop_forget(d->loop, on_answer, c);
        measure_reading_unref(c->measured);
        free(c);
    }
    for (struct told *t = d->told, *next; t; t = next) {
        next = t->next;
        loop_forget(d->loop, on_told, t);
        free(t);
    }
    driver_reading_unref(d->reading);
    for (uint32_t i = 0; i < d->gpus_n; i++)
        free(d->gpus[i].mig);
    model_meter_free(d->meter);
    free(d->processes);
    free(d->node_name);
    free(d);
}

static const struct driver_ops model_ops = {.read = model_read,
                                            .mig_step = model_mig_step,
                                            .reset = model_reset,
                                            .set_compute_mode = model_set_compute_mode,
                                            .processes = model_processes,
                                            .measure = model_measure,
                                            .listen = model_listen,
                                            .free = model_free};

struct driver *driver_model_new(struct loop *l, const struct gpu_model *m, uint32_t gpus_n, const char *node_name)
{
    assert(gpus_n <= LIMIT_NODE_GPUS);
    struct model *d = mem_zero(1, sizeof *d + gpus_n * sizeof d->gpus[0]);
    d->driver = (struct driver){&model_ops, d};
    d->loop = l;
    d->model = m;
    d->gpus_n = gpus_n;
    d->node_name = mem_text(node_name);
    for (uint32_t i = 0; i < gpus_n; i++)
        d->gpus[i].last_instance = 0xff;
    return &d->driver;
}

/* ---- what happens to simulated GPUs ---- */

void driver_model_event(struct driver *driver, uint32_t gpu, uint32_t gi, uint32_t ci, int kind, uint64_t data)
{
    struct model *d = driver->self;
    if (gpu < d->gpus_n && (kind == DRIVER_EVENT_LOST || kind == DRIVER_EVENT_BACK)) {
        d->gpus[gpu].lost = kind == DRIVER_EVENT_LOST;
        changed(d);
    }
    tell(d, gpu, gi, ci, kind, data);
}

void driver_model_set_processes(struct driver *driver, const struct driver_process *list, uint32_t n)
{
    struct model *d = driver->self;
    free(d->processes);
    d->processes = n > 0 ? mem_alloc(n * sizeof *list) : NULL;
    if (n > 0)
        memcpy(d->processes, list, n * sizeof *list);
    d->processes_n = n;
    model_meter_changed(d->meter, loop_now_ms(d->loop));
    for (uint32_t i = 0; i < d->gpus_n; i++)
        if (d->gpus[i].mig)
            count_busy(d, i, d->gpus[i].mig);
    changed(d);
}

void driver_model_work(struct driver *driver, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t sm_permille, uint32_t memory_permille)
{
    struct model *d = driver->self;
    struct model_work work = {gpu, gi, ci, sm_permille, memory_permille <= 1000 ? memory_permille : 1000};
    if (!d->meter)
        d->meter = model_meter_new(d->gpus_n);
    model_meter_set(d->meter, &work);
}

void driver_model_refuse(struct driver *driver, int code, uint32_t n)
{
    struct model *d = driver->self;
    d->refuse_code = code;
    d->refuse_n = n;
}

int driver_model_compute_mode(const struct driver *driver, uint32_t gpu)
{
    const struct model *d = driver->self;
    return gpu < d->gpus_n ? d->gpus[gpu].compute_mode : -1;
}

void driver_model_set_mig(struct driver *driver, uint32_t gpu, const struct mig_state *state)
{
    struct model *d = driver->self;
    assert(gpu < d->gpus_n);
    if (!d->gpus[gpu].mig)
        d->gpus[gpu].mig = mem_zero(1, sizeof *d->gpus[gpu].mig);
    *d->gpus[gpu].mig = *state;
    changed(d);
}
