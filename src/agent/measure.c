/* measure.c - readings are counted */
#include "agent/measure.h"

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
