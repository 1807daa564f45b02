/* page_sample.c - see page_part.h */
#include "sched/serve/page_part.h"

void page_sample(const struct page_writing *w, double value, ...)
{
    struct prometheus_label labels[8];
    uint32_t n = 0;
    va_list args;
    va_start(args, value);
    for (const char *name; (name = va_arg(args, const char *)) && n < 7;)
        labels[n++] = (struct prometheus_label){name, va_arg(args, const char *)};
    va_end(args);
    labels[n++] = (struct prometheus_label){"replica_role", w->role};
    prometheus_sample(w->page, labels, n, value);
}

double page_amount(const char *resource, int64_t amount)
{
    return (double)amount / (strcmp(resource, "cpu") == 0 ? 1000 : 1);
}
