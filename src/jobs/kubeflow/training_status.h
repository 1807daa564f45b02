/* training_status.h - what the status of a Kubeflow job says, from its pods; see training.h
 *
 * Pure.
 * SOURCE training-operator 1.9, mpi-operator 0.8: whose success is the job's, reasons and messages of conditions. The last condition is the
 * state of the job. Running is true once all pods run or have succeeded: Kueue takes it for readiness.
 */
#ifndef JOBS_TRAINING_STATUS_H
#define JOBS_TRAINING_STATUS_H
#include "jobs/kubeflow/training.h"

struct training_news {
    const char *reason, *message; /* of the condition that is new; NULL: none is */
    bool is_bad;
    int64_t again_ms;             /* until its deadline; 0: none */
};
/* launcher: of an MPIJob, its Job; else NULL. */
struct json *training_status(struct arena *a, const struct training *t, const struct json *launcher, bool suspended, int64_t now_ms,
                             struct training_news *ret_news);
int64_t training_ready_n(const struct training_role *role);
/* The status of a job that is over, once more: nothing of it is active any more. */
struct json *training_status_over(struct arena *a, const struct training *t);
/* It failed, and its role's restartPolicy has it made again: OnFailure, Always, or ExitCode where it takes the code for passing. */
bool training_may_rerun(const struct training *t, const struct training_role *role, const struct json *pod);

#endif
