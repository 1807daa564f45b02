/* accelerators.c - see accelerators.h */
#include "cli/lookup/accelerators.h"
#include "base/amount.h"
#include "base/quantity.h"
#include "codec/share/share.h"
#include "gpu/model.h"
#include "jobs/volcano/vcjob_pods.h"

bool is_accelerator(const char *resource)
{
    return gpu_is_resource(resource);
}

int64_t whole_number(const struct json *quantity)
{
    struct quantity q;
    return quantity && quantity_parse(json_bytes(quantity), &q, NULL) == 0 ? quantity_whole(q) : 0;
}

struct accelerators accelerators_of(struct arena *a, const struct json *pod)
{
    struct json *requests = json_new(a, JSON_OBJECT);
    struct share share;
    if (share_of_pod(pod, &share))
        return (struct accelerators){0, share.count};
    int64_t n = 0;
    job_requests_add_of(a, requests, json_get(pod, "spec"), 1, is_accelerator);
    JSON_EACH (amount, requests)
        n = amount_plus(n, whole_number(amount));
    return (struct accelerators){n, 0};
}

void accelerators_add(struct accelerators *sum, int64_t n, struct accelerators each)
{
    sum->devices_n = amount_plus(sum->devices_n, amount_times(n, each.devices_n));
    sum->shares_n = amount_plus(sum->shares_n, amount_times(n, each.shares_n));
}
