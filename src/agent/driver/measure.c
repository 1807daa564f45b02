/* measure.c - readings are counted, and so are errors */
#include "agent/driver/measure.h"
#include "base/bytes.h"

struct measure_reading *measure_reading_new(const struct driver_reading *devices, int64_t wall_us, int64_t monotonic_ms)
{
    struct arena *a = arena_new();
    struct measure_reading *r = arena_zero(a, 1, sizeof *r);
    *r = (struct measure_reading){.refs = 1,
                                  .devices = driver_reading_ref(devices),
                                  .wall_us = wall_us,
                                  .monotonic_ms = monotonic_ms,
                                  .gpus = arena_zero(a, devices->gpus_n + 1, sizeof *r->gpus),
                                  .arena = a};
    for (uint32_t i = 0; i < devices->gpus_n; i++) {
        r->gpus[i].migs_n = devices->gpus[i].migs_n;
        r->gpus[i].migs = arena_zero(a, r->gpus[i].migs_n + 1, sizeof *r->gpus[i].migs);
    }
    return r;
}

struct measure_reading *measure_reading_ref(const struct measure_reading *r)
{
    struct measure_reading *own = (struct measure_reading *)r;
    own->refs++;
    return own;
}

void measure_reading_unref(const struct measure_reading *r)
{
    struct measure_reading *own = (struct measure_reading *)r;
    if (!own || --own->refs > 0)
        return;
    driver_reading_unref(own->devices);
    arena_free(own->arena); /* the reading itself lies in it */
}

int measure_process_order(const void *a, const void *b)
{
    const struct measure_process *x = a, *y = b;
    return driver_process_key_order((struct driver_process_key){x->gpu, x->gi, x->ci, x->pid},
                                    (struct driver_process_key){y->gpu, y->gi, y->ci, y->pid});
}

void measure_error_add(struct measure_error *list, uint32_t *list_n, uint32_t max_n, struct measure_error error)
{
    uint32_t i = 0;
    while (i < *list_n && (list[i].code != error.code || !text_equal(list[i].call, error.call)))
        i++;
    if (i < *list_n)
        list[i].n += error.n;
    else if (i < max_n)
        list[(*list_n)++] = error;
}
