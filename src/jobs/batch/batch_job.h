/* batch_job.h - the batch/v1 Job controller of the embedded cluster (a real cluster has its own)
 *
 *   job + its pods --batch_job_plan--> create, remove, status
 *
 * Pods are named <job>-<5 chars>, Indexed ones <job>-<index>-<5 chars> with hostname <job>-<index>. Pods that succeeded or failed
 * and are then deleted stay counted: what status already says beyond the pods that exist is history.
 */
#ifndef JOBS_BATCH_JOB_H
#define JOBS_BATCH_JOB_H
#include "kube/event.h"

struct batch_jobs;
struct batch_jobs_config {
    double speed;          /* divides back-off, ttl and deadlines, as the simulated pods' times */
    uint64_t seed;         /* of the pod names */
};
struct batch_jobs *batch_jobs_new(struct kube_client *c, struct kube_recorder *events, const struct batch_jobs_config *config);
void batch_jobs_free(struct batch_jobs *b); /* NULL-safe */

#endif
