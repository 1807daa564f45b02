/* sample.c - counted, and what it counts on */
#include "exporter/sample.h"
#include <math.h>
#include "base/memory.h"

#define CLOCK_SET_S 1.0 /* the two clocks are read one after the other; steps that are smaller add up */

double sample_clock_set(struct sample_clock *c, double wall_s, int64_t monotonic_ms)
{
    double ahead_s = wall_s - (double)monotonic_ms / 1000, by_s = ahead_s - c->ahead_s;
    if (c->is_known && fabs(by_s) < CLOCK_SET_S)
        return 0;
    bool was_known = c->is_known;
    *c = (struct sample_clock){ahead_s, true};
    return was_known ? by_s : 0;
}

double sample_unit_size(const struct sample_unit *u)
{
    uint8_t slices = u->gpu->geometry ? u->gpu->geometry->mig_slices : 0;
    return u->mig && slices ? (double)u->mig->ci_slices / slices : 1;
}

const struct sample *sample_ref(const struct sample *s)
{
    ((struct sample *)s)->refs++;
    return s;
}

void sample_unref(const struct sample *s)
{
    struct sample *own = (struct sample *)s;
    if (!own || --own->refs > 0)
        return;
    inventory_snapshot_unref(own->inventory);
    measure_reading_unref(own->measured);
    arena_free(own->arena); /* the sample itself lies in it */
}
