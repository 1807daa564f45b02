/* run_limit.h - when a Workload ends at the latest, as its object says
 *
 *   spec.maximumExecutionTimeSeconds                         of all its admissions together
 *   spec.podSets[].template.spec.activeDeadlineSeconds       of one: a pod that is ended ends the job, or begins again
 *   annotation capstan.dev/active-deadline-seconds           its job's own activeDeadlineSeconds, as the job was when it was queued
 *
 * UNIT   milliseconds. Pure.
 */
#ifndef SCHED_RUN_LIMIT_H
#define SCHED_RUN_LIMIT_H
#include "wire/json.h"

/* How long it may run in one admission, the first of these that counts; 0: nothing limits it. */
int64_t run_limit_ms(const struct json *workload);
int64_t run_limit_of_s(int64_t seconds); /* 0: it is no limit */

#endif
