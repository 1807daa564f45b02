/* vcjob_pods.h - what a Volcano Job turns into: tasks, pods, the PodGroup
 *
 * Pure: JSON of the Job in, JSON of the objects out, all in the caller's arena. Names, labels and annotations are part of the contract with
 * other tools and with the users' scripts.
 * SOURCE batch.volcano.sh/v1alpha1 as its controller writes them.
 */
#ifndef JOBS_VCJOB_PODS_H
#define JOBS_VCJOB_PODS_H
#include "kube/object.h"
#include "wire/json.h"

struct vcjob_task {
    const char *name;
    int64_t replicas, min_available, max_retry; /* max_retry -1 = TaskFailed never happens */
    const struct json *spec;
    int64_t priority; /* of its pods' class; 0 until somebody says it */
};
/* Tasks in the order of the spec, in the arena; missing names and minimums are filled as admission does. LIMIT_GANG_MEMBERS
 * replicas of all together: tasks behind those have fewer, or none. */
uint32_t vcjob_tasks(struct arena *a, const struct json *job, struct vcjob_task **ret_tasks);
int64_t vcjob_min_available(const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n);

char *vcjob_pod_name(struct arena *a, const char *job, const char *task, int64_t index);
/* "<pod>.<job>", or what the task's template says of hostname and subdomain. */
char *vcjob_host(struct arena *a, const char *job, const struct vcjob_task *task, int64_t index);
/* How many hosts the task has: replicas, but one where its template gives all its pods one hostname. */
int64_t vcjob_hosts_n(const struct vcjob_task *task);
char *vcjob_pod_group_name(struct arena *a, const struct json *job); /* <job>-<uid> */
/* Without what plugins add. version, retry_count: of the Job's status. */
struct json *vcjob_pod(struct arena *a, const struct json *job, const struct vcjob_task *task, int64_t index, int64_t version,
                       int64_t retry_count);
struct json *vcjob_pod_group(struct arena *a, const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n, int64_t version);

/* Shared by the job kinds: {apiVersion, kind, name, uid, controller, blockOwnerDeletion}. */
struct json *job_owner(struct arena *a, const struct json *owner, const char *api_version, const char *kind);
/* A new object beside the job, in its namespace; `owners` is what job_owner made. */
struct json *job_object(struct arena *a, const struct json *job, struct json *owners, const char *api_version, const char *kind,
                        const char *name);
struct json *vcjob_object(struct arena *a, const struct json *job, const char *api_version, const char *kind, const char *name);
/* Requests of one pod of this spec (limits stand in for missing requests; the larger of init and main containers, with the
 * sidecars beside them; overhead), added to
 * `into` (object resource -> quantity text), `times` times. wanted: of these resources; NULL: of all. */
void job_requests_add_of(struct arena *a, struct json *into, const struct json *pod_spec, int64_t times,
                         bool (*wanted)(const char *resource));
void job_requests_add(struct arena *a, struct json *into, const struct json *pod_spec, int64_t times);
/* What `pods_n` such pods count for in quotas: requests, requests.*, limits.*, pods, count/pods. */
struct json *job_min_resources(struct arena *a, const struct json *pod_spec, int64_t pods_n);

#endif
