/* vcjob_state.h - the life of a Volcano Job as one table
 *
 *   Pending <-> Running -> Completed | Failed
 *      |           |--> Restarting -> Pending | Failed
 *      |           |--> Aborting -> Aborted -> Restarting (resume)
 *      `-----------'--> Completing -> Completed, Terminating -> Terminated
 *
 * Pure: a view of the job in, the next step out.
 * SOURCE Volcano, batch.volcano.sh/v1alpha1 (state machine of Job.status.state.phase).
 */
#ifndef JOBS_VCJOB_STATE_H
#define JOBS_VCJOB_STATE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/limits.h"

#define VCJOB_PHASES(X)                                                                                                         \
    X(PENDING, "Pending")                                                                                                        \
    X(RUNNING, "Running")                                                                                                        \
    X(RESTARTING, "Restarting")                                                                                                  \
    X(ABORTING, "Aborting")                                                                                                      \
    X(ABORTED, "Aborted")                                                                                                        \
    X(COMPLETING, "Completing")                                                                                                  \
    X(COMPLETED, "Completed")                                                                                                    \
    X(TERMINATING, "Terminating")                                                                                                \
    X(TERMINATED, "Terminated")                                                                                                  \
    X(FAILED, "Failed")
enum vcjob_phase {
#define X(phase, name) VCJOB_##phase,
    VCJOB_PHASES(X)
#undef X
    VCJOB_PHASES_N
};
const char *vcjob_phase_name(enum vcjob_phase p);
enum vcjob_phase vcjob_phase_of(const char *name); /* unknown or empty: Pending */

#define VCJOB_ACTIONS(X)                                                                                                        \
    X(SYNC, "SyncJob")                                                                                                           \
    X(ABORT, "AbortJob")                                                                                                         \
    X(RESTART, "RestartJob")                                                                                                     \
    X(TERMINATE, "TerminateJob")                                                                                                 \
    X(COMPLETE, "CompleteJob")                                                                                                   \
    X(RESUME, "ResumeJob")                                                                                                       \
    X(RESTART_TASK, "RestartTask")                                                                                               \
    X(RESTART_POD, "RestartPod")                                                                                                 \
    X(RESTART_PARTITION, "RestartPartition")
enum vcjob_action {
#define X(action, name) VCJOB_DO_##action,
    VCJOB_ACTIONS(X)
#undef X
    VCJOB_ACTIONS_N
};
const char *vcjob_action_name(enum vcjob_action a);
bool vcjob_action_of(const char *name, enum vcjob_action *ret_action);

#define VCJOB_TASKS_MAX LIMIT_VCJOB_TASKS /* that are told apart; admission takes no more */
struct vcjob_view {
    enum vcjob_phase phase;
    int64_t min_available, replicas;          /* of the job: sum over tasks */
    int64_t min_success;                      /* 0 = not set */
    int64_t max_retry, retry_count;
    int64_t pending_n, running_n, succeeded_n, failed_n, terminating_n, unknown_n;
    uint32_t tasks_n;
    struct {
        int64_t min_available, succeeded_n;
    } tasks[VCJOB_TASKS_MAX];
};

/* What happens to the pods: soft keeps Succeeded and Failed ones, hard keeps none; targeted kills are the caller's. */
enum vcjob_kill { VCJOB_KILL_NONE, VCJOB_KILL_SOFT, VCJOB_KILL_HARD };
struct vcjob_step {
    enum vcjob_phase next;
    enum vcjob_kill kill;   /* standing order of the state that is entered (or stayed in) */
    bool retry;             /* retryCount + 1 */
    bool whole;             /* the whole job is killed: version + 1, PodGroup and plugin objects go */
};
struct vcjob_step vcjob_state_next(const struct vcjob_view *v, enum vcjob_action action);
bool vcjob_phase_final(enum vcjob_phase p); /* Completed, Terminated, Failed */
/* What a state does with pods at every look: Restarting hard, Aborting/Aborted/... soft, Pending/Running none. */
enum vcjob_kill vcjob_phase_kill(enum vcjob_phase p);

#endif
