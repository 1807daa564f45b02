/* explain_words.c - amounts and names, as all sentences have them */
#include "base/quantity.h"
#include "core/explain/explain_part.h"

void explain_amount(struct buf *out, const struct intern *names, name_id resource, int64_t value)
{
    char text[QUANTITY_TEXT_MAX];
    const char *name = intern_name(names, resource);
    if (!strcmp(name, "cpu"))
        buf_text(out, quantity_format(text, quantity_of_milli(value)));
    else if (!strcmp(name, "memory") || !strcmp(name, "ephemeral-storage") || text_starts(name, "hugepages-") ||
             !strcmp(name, GPU_SHARE_MEMORY))
        buf_text(out, quantity_format(text, quantity_of_whole(value, QUANTITY_BINARY_SI)));
    else
        buf_int64(out, value);
}

const char *explain_last_part(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

const char *explain_kind_of(int64_t source)
{
    return source == GANG_WORKLOAD    ? "Workload"
           : source == GANG_POD       ? "Pod"
           : source == GANG_COMPOSITE ? "CompositePodGroup"
                                      : "PodGroup";
}
