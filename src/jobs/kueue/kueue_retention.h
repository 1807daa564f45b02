/* kueue_retention.h - Workloads that are over, and jobs that were deactivated, go after the time that the configuration gives them
 *
 *   Finished ------ objectRetentionPolicies.workloads.afterFinished -----------------------> the Workload is deleted
 *   evicted with a reason DeactivatedDueTo... -- afterDeactivatedByKueue --> its job is deleted, and with it Workload and pods
 *
 * The time counts from when the condition says, so a restart changes nothing; each Workload has one appointment, and nobody else is asked.
 */
#ifndef JOBS_KUEUE_RETENTION_H
#define JOBS_KUEUE_RETENTION_H
#include "jobs/kueue/kueue_kind.h"

#define KUEUE_JOB_DELETED "Deleted job: deactivation retention period expired"
/* Is the time of the deactivated Workload's job over? If it will be, the pass is repeated then. */
bool kueue_retention_is_over(const struct jobs *j, struct work *w, const struct json *workload, int64_t now_ms);

#endif
