/* workload_policy.h - how Workloads are made of jobs, and how long they are kept: what controllers of jobs follow of Kueue's Configuration
 *
 * UNIT   milliseconds.
 * SHAPE  all zero: Kueue without a configuration of its own.
 * OWNER  texts belong to whoever read the configuration.
 */
#ifndef CODEC_WORKLOAD_POLICY_H
#define CODEC_WORKLOAD_POLICY_H
#include <stdbool.h>
#include <stdint.h>

/* How long something is kept. */
struct retention {
    bool ends; /* false: for ever */
    int64_t after_ms;
};
struct json;
struct workload_policy {
    bool all_jobs;                 /* those that name no queue are held, too, until they name one */
    const struct json *namespaces; /* a LabelSelector: whose jobs are queued; NULL = of all */
    const char *const *labels; /* keys of those labels of a job that its Workload gets, too */
    uint32_t labels_n;
    struct retention finished;    /* a Workload since it is finished */
    struct retention deactivated; /* the job of a Workload that was deactivated by us */
    bool hides_reclaimable;       /* pods that are over for good are not told of. SOURCE the gate ReclaimablePods, off */
};

#endif
