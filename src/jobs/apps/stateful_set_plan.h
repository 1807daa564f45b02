/* stateful_set_plan.h - what a StatefulSet should do next, from its numbers and its pods
 *
 * Pure: records in, plan out; stateful_set.c reads objects and carries the plan out.
 * ORDER  OrderedReady: a pod is made when all before it run and are ready; surplus pods end one by one, the highest first. Parallel: all at
 *        once. An update replaces pods one by one from the highest down to the partition, whatever the policy.
 * SOURCE apps/v1 API reference, StatefulSet.
 */
#ifndef JOBS_APPS_STATEFUL_SET_PLAN_H
#define JOBS_APPS_STATEFUL_SET_PLAN_H
#include "jobs/batch/batch_job_plan.h"

#define STATEFUL_CREATE_MAX 500   /* pods made in one pass */
#define STATEFUL_FAILED_MS 1000   /* a pod that ended stays so long before it is replaced */

struct stateful_spec {
    const char *name;
    int64_t first, replicas, partition; /* pods NAME-first .. NAME-(first + replicas - 1) */
    bool is_parallel, is_on_delete;
    int64_t min_ready_ms;
    const char *current, *update; /* names of revisions: the one that is being left, the one of the template */
};

struct stateful_create {
    int64_t ordinal;
    const char *revision; /* current or update */
};
struct stateful_plan {
    int64_t pods_n, ready_n, available_n, current_n, updated_n; /* for the status */
    bool is_rolled_out;                                         /* every pod has the update: it is the current one now */
    struct stateful_create *create;
    uint32_t create_n;
    const struct job_pod **remove;
    uint32_t remove_n;
    int64_t again_ms; /* look again then; 0 = when something changes */
};
/* The plan lives in the arena. */
void stateful_set_plan(struct arena *a, const struct stateful_spec *spec, const struct job_pod *const *pods, uint32_t pods_n,
                       int64_t now_ms, struct stateful_plan *ret_plan);
/* The number in the name of a pod of the set; -1: it is not called so. */
int64_t stateful_set_ordinal(const char *set, const char *pod);

#endif
