/* sample.c - counted, and what it counts on */
#include "exporter/sample.h"
#include "base/memory.h"

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
