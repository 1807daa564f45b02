/* workload_wait.c - see workload_wait.h */
#include "sched/figures/workload_wait.h"
#include "base/clock.h"
#include "kube/object.h"

const char *workload_queued_since(const struct json *workload)
{
    const char *requeued = json_get_text(object_condition(workload, "Requeued"), "lastTransitionTime", "");
    return *requeued ? requeued : object_meta(workload, "creationTimestamp");
}

int64_t workload_waited_ms(const struct json *workload, int64_t now_ms)
{
    int64_t from_ms, until_ms = now_ms;
    const struct json *reserved = object_condition(workload, "QuotaReserved");
    if (!time_parse(bytes_of(workload_queued_since(workload)), &from_ms))
        return 0;
    if (object_condition_true(workload, "QuotaReserved") &&
        !time_parse(bytes_of(json_get_text(reserved, "lastTransitionTime", "")), &until_ms))
        return 0;
    return until_ms > from_ms ? until_ms - from_ms : 0;
}
