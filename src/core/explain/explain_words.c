/* explain_words.c - amounts and names, as all sentences have them */
#include "base/clock.h"
#include "base/quantity.h"
#include "core/explain/explain_part.h"

void explain_amount(struct buf *out, const struct intern *names, name_id resource, int64_t value)
{
    char text[QUANTITY_TEXT_MAX];
    const char *name = intern_name(names, resource);
    if (!strcmp(name, "cpu") || !strcmp(name, GPU_COUNTED))
        buf_text(out, quantity_format(text, quantity_of_milli(value)));
    else if (!strcmp(name, "memory") || !strcmp(name, "ephemeral-storage") || text_starts(name, "hugepages-") ||
             !strcmp(name, GPU_SHARE_MEMORY))
        buf_text(out, quantity_format(text, quantity_of_whole(value, QUANTITY_BINARY_SI)));
    else
        buf_int64(out, value);
}

void explain_kept_over_quota(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_text(out, "what is non-preemptible stays within the quota of queue ");
    buf_text(out, intern_name(names, r->queue));
    buf_text(out, " and of those above it: of ");
    buf_text(out, intern_name(names, r->resource));
    buf_text(out, " they have ");
    explain_amount(out, names, r->resource, r->have);
    buf_text(out, " left, and it asks for ");
    explain_amount(out, names, r->resource, r->need);
}

/* WHY what to write instead stands there, too: whoever reads the condition of a pod sees no remedies. */
void explain_free_short(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_text(out, "minResources asks that all nodes together have ");
    for (const struct reason *one = r; one; one = one == r ? r->child : one->next) {
        buf_text(out, one == r ? "" : ", ");
        explain_amount(out, names, one->resource, one->need);
        buf_printf(out, " %s free, and with what its own pods have they have ", intern_name(names, one->resource));
        explain_amount(out, names, one->resource, one->have);
    }
    buf_text(out, ": it waits until they do; write there no more than minMember of its pods ask for, or leave it out");
}

void explain_not_before(struct buf *out, const struct reason *r)
{
    char until[TIME_TEXT_MAX];
    buf_printf(out, " before %s: %s", time_format(until, r->need),
               r->have == LACK_DELAY ? "it is to wait so long (preemptionDelay)"
                                     : "who could go has not run for as long as its queue lets it (preemptMinRuntime, reclaimMinRuntime)");
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
