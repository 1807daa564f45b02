/* job_pods.h - the pods of controllers, as little records by owner: what job and replica controllers count
 *
 * SHAPE  owner uid -> list of struct job_pod in order of appearance. Only pods with a controlling ownerReference of `owner_kind`.
 * OWNER  records belong to the index; pointers are good until the next event.
 */
#ifndef JOBS_JOB_PODS_H
#define JOBS_JOB_PODS_H
#include "jobs/batch/batch_job_plan.h"
#include "kube/watch.h"
#include "kube/workqueue.h"

struct job_pods;
struct job_pods_config {
    const char *owner_kind;     /* "Job", "ReplicaSet" */
    const char *label_selector; /* narrows the watch; NULL = none */
    bool is_detailed;           /* read the revision, the node and since when a pod is ready */
    /* A pod of this owner came, changed or went. `gone` is set for the last look at a pod that was deleted, else NULL. */
    void (*on_change)(void *arg, const char *ns, const char *owner, const char *owner_uid, const struct job_pod *gone);
    void (*on_synced)(void *arg);
    /* A create that failed: the pod is no longer counted. owner_key as given to job_pods_create. */
    void (*on_not_created)(void *arg, const char *owner_key, int code, const char *why);
    /* A pod that nobody controls came, or has other labels now: job_pods_claim takes it in. NULL: such pods are not looked at. */
    void (*on_orphan)(void *arg, const char *ns, const struct json *labels);
    /* A pod of this owner is not seen any more, though it was not being deleted: it may have lost the label that is watched for. */
    void (*on_left)(void *arg, const struct json *pod);
    void *arg;
};
struct job_pods *job_pods_new(struct kube_client *c, const struct job_pods_config *config);
void job_pods_free(struct job_pods *p);
bool job_pods_synced(const struct job_pods *p);
/* Array in the arena; returns how many. */
uint32_t job_pods_of(const struct job_pods *p, const char *owner_uid, struct arena *a, const struct job_pod *const **ret_pods);
/* Write on pods whose they are (claim.h): on those that nobody controls and the owner's selector matches, on those of the owner that it
 * does not match any more. is_member may be NULL. True: something was written; the owner's pods are counted when the watch has shown it. */
bool job_pods_claim(struct job_pods *p, struct work *w, const struct json *owner, const char *api_version,
                    bool (*is_member)(const char *owner, const char *pod));
/* Create the pod (made by pod_from_template); it is counted at once as `expected`, until the watch shows it or the create fails. */
void job_pods_create(struct job_pods *p, struct arena *a, const char *owner_key, const struct json *pod, int32_t index);

#endif
