/* vcjob_status.h - the status that a Volcano Job shows; and the pods of a job as its controller remembers them */
#ifndef JOBS_VCJOB_STATUS_H
#define JOBS_VCJOB_STATUS_H
#include "base/collections/map.h"
#include "jobs/volcano/vcjob_pods.h"
#include "jobs/volcano/vcjob_state.h"

enum vcjob_pod_phase { VCPOD_PENDING, VCPOD_RUNNING, VCPOD_SUCCEEDED, VCPOD_FAILED, VCPOD_UNKNOWN, VCPOD_PHASES_N };
struct vcjob_pod {
    char *name, *uid, *task, *owner_uid;
    int64_t index, version;
    enum vcjob_pod_phase phase;
    bool ready, deleting;
    bool condemned;           /* we deleted it, or are about to */
    int32_t exit_code;        /* of the first container, when failed */
    int64_t restarts_n;
    int64_t since_ms;         /* wall: when it was first seen in this phase; of a deleted one: when that was seen */
    int64_t task_failed_ms;   /* wall: when its restarts made its task one that has failed; 0 = they did not */
};
struct vcjob_pod *vcjob_pod_read(const struct json *pod, int64_t now_ms); /* mem_*; NULL when it is no pod of a Volcano Job */
/* All that its Job looks at is as in `old`. */
bool vcjob_pod_is_as(const struct vcjob_pod *p, const struct vcjob_pod *old);
void vcjob_pod_free(struct vcjob_pod *p);

/* View for the state machine. pods: name -> struct vcjob_pod *. Pods of another owner or of an older version count as terminating. */
void vcjob_view_of(const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n, const struct map *pods,
                   struct vcjob_view *ret_view);
/* The whole new status after `step`; equal to the old one when nothing has changed. */
struct json *vcjob_status_next(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n,
                               const struct map *pods, const struct vcjob_view *v, const struct vcjob_step *step, const char *message,
                               int64_t now_ms);

#endif
