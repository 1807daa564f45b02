/* driver_nvml_call.c - who waits for an answer of the driver, and what it tells unasked; what the other files ask of its state */
#include <stdio.h>
#include "agent/driver/driver_nvml_part.h"

void nvml_roots(const struct nvml_driver *d, struct roots *ret_roots)
{
    roots_find(&(struct roots_options){.root = d->root, .driver = d->driver_root, .driver_here = d->driver_here,
                                       .validations = d->validations},
               ret_roots);
}

/* ---- answers ---- */

static void call_unlink(struct nvml_call *c)
{
    struct nvml_call **at = &c->d->deferred;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
}

static void on_deferred(void *arg)
{
    struct nvml_call *c = arg;
    call_unlink(c);
    nvml_call_answer(c, c->code, NULL);
}

struct nvml_call *nvml_call_new(struct nvml_driver *d, void *arg)
{
    struct nvml_call *c = mem_zero(1, sizeof *c);
    c->d = d;
    c->arg = arg;
    return c;
}

void nvml_call_defer(struct nvml_call *c, int code)
{
    struct nvml_driver *d = c->d;
    c->code = code;
    c->next = d->deferred;
    d->deferred = c;
    loop_defer(d->loop, on_deferred, c);
}

void nvml_call_answer(struct nvml_call *c, int code, const struct driver_reading *r)
{
    struct nvml_call copy = *c;
    free(c);
    if (copy.done_fn)
        copy.done_fn(copy.arg, code, &copy.error);
    else if (copy.processes_fn)
        copy.processes_fn(copy.arg, code, NULL, 0, &copy.error);
    else if (copy.measure_fn)
        copy.measure_fn(copy.arg, code, copy.measured, &copy.error);
    else if (copy.reading_fn)
        copy.reading_fn(copy.arg, code, r, &copy.error);
    measure_reading_unref(copy.measured);
}

void nvml_calls_free(struct nvml_driver *d, struct nvml_call *list)
{
    while (list) {
        struct nvml_call *c = list;
        list = c->next;
        loop_forget(d->loop, on_deferred, c);
        measure_reading_unref(c->measured);
        free(c);
    }
}

void nvml_tell(struct nvml_driver *d, const char *uuid, int kind, uint64_t data)
{
    struct driver_event event = {.gi = NVML_NONE_U32, .ci = NVML_NONE_U32, .kind = kind, .data = data};
    (void)snprintf(event.uuid, sizeof event.uuid, "%s", uuid);
    if (d->event_fn)
        d->event_fn(d->event_arg, &event);
}

/* ---- state ---- */

int nvml_ready(const struct nvml_driver *d, struct err *e)
{
    if (d->reset)
        return err_set(e, E_AGAIN, "a GPU is being reset: the driver is not used meanwhile");
    return d->nvml ? 0 : err_set(e, E_NOTFOUND, "no GPU driver is open: the next reading says why");
}

int nvml_slot_of(const struct nvml_driver *d, const struct driver_gpu *g)
{
    for (uint32_t i = 0; !g->lost && i < d->slots_n; i++)
        if (d->slots[i]->device && !d->slots[i]->facts.lost && text_equal(d->slots[i]->facts.gpu.uuid, g->uuid))
            return (int)i;
    return -1;
}
