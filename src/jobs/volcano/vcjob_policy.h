/* vcjob_policy.h - what a Volcano Job does when something happens to its pods
 *
 * ORDER  the task's list before the job's, first match wins.
 * Pure: JSON of the spec in, action and delay out.
 */
#ifndef JOBS_VCJOB_POLICY_H
#define JOBS_VCJOB_POLICY_H
#include "jobs/volcano/vcjob_state.h"
#include "wire/json.h"

#define VCJOB_EVENTS(X)                                                                                                         \
    X(POD_PENDING, "PodPending")                                                                                                 \
    X(POD_FAILED, "PodFailed")                                                                                                   \
    X(POD_EVICTED, "PodEvicted")                                                                                                 \
    X(UNKNOWN, "Unknown")                                                                                                        \
    X(TASK_COMPLETED, "TaskCompleted")                                                                                           \
    X(TASK_FAILED, "TaskFailed")                                                                                                 \
    X(JOB_UPDATED, "JobUpdated")
enum vcjob_event {
#define X(event, name) VCJOB_ON_##event,
    VCJOB_EVENTS(X)
#undef X
    VCJOB_EVENTS_N
};
const char *vcjob_event_name(enum vcjob_event e);

struct vcjob_happened {
    enum vcjob_event event;
    int32_t exit_code;  /* POD_FAILED: of the first container; else 0 */
};
struct vcjob_verdict {
    enum vcjob_action action; /* SYNC when no policy matches */
    int64_t delay_ms;         /* the policy's timeout; 0 = at once */
};
/* task may be NULL (events of the whole job). */
struct vcjob_verdict vcjob_policy(const struct json *job_spec, const struct json *task, const struct vcjob_happened *h);
/* Does the action concern the whole job (not a task, pod or partition)? */
bool vcjob_action_whole(enum vcjob_action a);

#endif
