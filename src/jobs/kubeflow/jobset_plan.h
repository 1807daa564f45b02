/* jobset_plan.h - what becomes of a JobSet whose Jobs are in these states; for the embedded cluster
 *
 * Pure.
 * SOURCE jobset v1alpha2: success policy, failure policy and its rules, network, coordinator.
 */
#ifndef JOBS_JOBSET_PLAN_H
#define JOBS_JOBSET_PLAN_H
#include "jobs/kubeflow/child_jobs.h"

/* Its replicatedJobs, ready to be made; returns how many. */
uint32_t jobset_jobs(struct arena *a, const struct json *jobset, struct replicated_job **ret_jobs);
/* What its Jobs are made of; who runs them adds the rest: all, work, cache, owner, api_version, kind, attempt. */
struct child_jobs jobset_children(struct arena *a, const struct json *jobset);

enum jobset_verdict { JOBSET_GOES_ON, JOBSET_COMPLETED, JOBSET_FAILED, JOBSET_RESTARTS };
struct jobset_decision {
    enum jobset_verdict verdict;
    bool counts, alone;          /* JOBSET_RESTARTS: towards maxRestarts; only the Job that has failed */
    const char *reason, *message; /* of the condition, or of the event of a restart */
    const char *rule;            /* JOBSET_RESTARTS: by which rule; NULL: by none */
    const struct json *failed;   /* the Job for which it is so; NULL: none has failed */
};
/* counts[i]: of jobs[i]. */
struct jobset_decision jobset_decide(struct arena *a, const struct json *jobset, const struct replicated_job *jobs, uint32_t n,
                                     const struct child_counts *counts, const struct child_failure *failures, uint32_t failures_n);

#endif
