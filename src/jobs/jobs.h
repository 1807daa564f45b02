/* jobs.h - controllers that turn job objects into gangs: Kueue-queued jobs and pods, Volcano Jobs, TrainJobs
 *
 * They run beside the scheduler in one process and speak with it only through the API server: a controller makes the Workload or
 * PodGroup, the scheduler admits it, the controller starts the job. Only whether pods of a job may be bound yet it asks them (jobs_wait).
 */
#ifndef JOBS_JOBS_H
#define JOBS_JOBS_H
#include "codec/kinds/queued_kinds.h"
#include "kube/client.h"

struct jobs;
struct workload_policy;
struct jobs_config {
    bool embedded;    /* no other operators run: what they make of TrainJobs, JobSets and Kubeflow's jobs we make ourselves */
    bool run_trainjobs; /* create the jobs of TrainJobs, also when not embedded */
    bool no_kueue;    /* somebody else's Kueue is installed: leave queue-name labels alone */
    uint32_t unqueued; /* bit i: kind i of codec/kinds/queued_kinds.h is not queued the Kueue way */
    bool no_kueue_pods; /* nor are pods */
    uint32_t unqueued_sets; /* bit i: nor is set i of codec/kinds/queued_sets.h */
    const struct workload_policy *policy; /* NULL: Kueue's defaults; the caller's as long as the jobs */
    bool says_ready;  /* somebody waits for pods to be ready (core/policy.h): Workloads say whether they are */
    /* A pod that is queued itself has lost a gate of Kueue's, so long after its Workload was admitted in this ClusterQueue. May be NULL. */
    void (*on_ungated)(void *arg, const char *gate, const char *queue, bool is_group, double seconds);
    void *arg;
    bool no_volcano;  /* somebody else's Volcano controller is installed */
    bool no_yunikorn; /* pods of YuniKorn's scheduler name are somebody else's */
    bool no_kai;      /* so are those of KAI's */
};
/* Does this job wait for quota? j may be NULL: no. */
enum job_waits jobs_wait(const struct jobs *j, const struct queued_kind *kind, const char *ns, const char *name, const char *uid);
/* Does this pod name no group yet, and is about to get one? j may be NULL: so it is, as far as its scheduler's name says. */
bool jobs_groups(const struct jobs *j, const struct json *pod);
struct jobs *jobs_new(struct kube_client *c, const struct jobs_config *config);
void jobs_free(struct jobs *j); /* NULL-safe */

#endif
