/* amount.c - see amount.h */
#include "sched/telling/amount.h"
#include <string.h>
#include "base/quantity.h"
#include "core/flow.h"

const char *status_amount(struct arena *a, const char *resource, int64_t amount)
{
    char text[QUANTITY_TEXT_MAX];
    bool bytes = strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0;
    bool milli = strcmp(resource, "cpu") == 0 || strcmp(resource, GPU_COUNTED) == 0;
    struct quantity q =
        milli ? quantity_of_milli(amount) : quantity_of_whole(amount, bytes ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI);
    return arena_text(a, quantity_format(text, q));
}
