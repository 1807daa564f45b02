/* batch_job_plan.h - what a batch/v1 Job should do next, from its spec and its pods
 *
 * Pure: records in, plan out; batch_job.c reads objects and carries the plan out.
 * SOURCE batch/v1 API reference: parallelism, completions, completionMode, backoffLimit(PerIndex), maxFailedIndexes, podFailurePolicy,
 *        successPolicy, podReplacementPolicy, activeDeadlineSeconds, suspend.
 */
#ifndef JOBS_BATCH_JOB_PLAN_H
#define JOBS_BATCH_JOB_PLAN_H
#include "wire/json.h"

#define BATCH_JOB_INDEXES_MAX 100000 /* Indexed jobs: completions; Kubernetes' own limit for parallelism above 10^4 */
#define BATCH_JOB_CREATE_MAX 1000    /* of one plan, where any number may be asked for */

enum job_pod_phase { JOB_POD_PENDING, JOB_POD_RUNNING, JOB_POD_SUCCEEDED, JOB_POD_FAILED };
struct job_pod {
    char *ns, *name, *uid;
    enum job_pod_phase phase;
    bool deleting, ready, disrupted; /* disrupted: condition DisruptionTarget=True */
    bool let_go;                     /* it failed because it was deleted, and has something left that keeps it: a finalizer of others */
    bool expected;                   /* we have asked for it, the watch has not shown it yet */
    int32_t index;                   /* -1 = none */
    int32_t exit_code;               /* first failed container; -1 = none */
    char *exit_container;            /* its name */
    int32_t restarts_n;
    int64_t created_ms, ended_ms;
    /* Only where job_pods_config.is_detailed asks for them; else NULL and 0. */
    char *revision, *node;           /* label controller-revision-hash; where it is, or where alone it may go; "" = none */
    int64_t ready_ms;                /* when it became ready */
};

/* A pod to create, when the back-off after its failures is over. */
struct job_create {
    int32_t index;           /* -1: not Indexed */
    int64_t failures_n;      /* of the job; with backoffLimitPerIndex of this index */
    int64_t last_failure_ms; /* when the last of them was; 0 = none */
};

/* Pods of this job that ended and are no longer there: counted once, kept in status. */
struct job_history {
    int64_t succeeded_n, failed_n;
    const char *completed_indexes; /* "0-2,5" from status; NULL */
    const char *failed_indexes;
    const char *failure;           /* why one of them fails the job (batch_job_failure); NULL: none does */
    const struct job_create *index_failures; /* of indexes, in any order: counted for backoffLimitPerIndex */
    uint32_t index_failures_n;
};

/* What a pod that has failed is to its job. SOURCE podFailurePolicy: the first rule that matches decides; else it counts. */
enum job_failure { JOB_FAILURE_COUNTS, JOB_FAILURE_IGNORED, JOB_FAILURE_OF_INDEX, JOB_FAILURE_OF_JOB };
/* spec: the job's. ret_why: with JOB_FAILURE_OF_JOB the message of the condition, in the arena; else NULL. */
enum job_failure batch_job_failure(struct arena *a, const struct json *spec, const struct job_pod *p, const char **ret_why);

enum job_verdict { JOB_GO_ON, JOB_COMPLETE, JOB_FAIL };
struct job_plan {
    enum job_verdict verdict;
    bool is_decided;                 /* the job's status says so already: SuccessCriteriaMet, FailureTarget */
    const char *reason, *message;    /* condition Complete or Failed */
    int64_t active_n, ready_n, terminating_n, succeeded_n, failed_n;
    const char *completed_indexes, *failed_indexes; /* NULL unless Indexed */
    struct job_create *create;
    uint32_t create_n;
    const struct job_pod **remove;   /* surplus or unwanted pods */
    uint32_t remove_n;
};
/* job: the object. pods: in creation order. started_ms: status.startTime (0 = now). The plan lives in the arena. */
void batch_job_plan(struct arena *a, const struct json *job, const struct job_pod *const *pods, uint32_t pods_n,
                    const struct job_history *history, int64_t now_ms, struct job_plan *ret_plan);

/* "0-2,5" <-> bits; false when malformed or an index is >= limit. */
bool job_indexes_parse(const char *text, uint8_t *bits, int64_t limit);
const char *job_indexes_format(struct arena *a, const uint8_t *bits, int64_t limit);

#endif
