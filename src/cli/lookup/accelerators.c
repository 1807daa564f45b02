/* accelerators.c - see accelerators.h */
#include "cli/lookup/accelerators.h"
#include "base/amount.h"
#include "base/quantity.h"
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

int64_t accelerators_of(struct arena *a, const struct json *pod_spec)
{
    struct json *requests = json_new(a, JSON_OBJECT);
    int64_t n = 0;
    job_requests_add(a, requests, pod_spec, 1);
    JSON_EACH (amount, requests)
        if (is_accelerator(amount->key))
            n = amount_plus(n, whole_number(amount));
    return n;
}
