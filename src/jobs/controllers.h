/* controllers.h - inside the jobs room: what its controllers share, and how jobs.c drives them */
#ifndef JOBS_CONTROLLERS_H
#define JOBS_CONTROLLERS_H
#include "base/collections/map.h"
#include "codec/configuration/workload_policy.h"
#include "jobs/jobs.h"
#include "jobs/volcano/vcjob_pods.h"
#include "kube/cache.h"
#include "kube/event.h"
#include "kube/object.h"
#include "kube/workqueue.h"
#include "loop/loop.h"

struct vcjobs;
struct volcano_pods;
struct hypernode_finder;
struct applications;
struct pod_grouper;
struct kueue_kinds;
struct kueue_pods;
struct kueue_sets;
struct kueue_priority;
struct kueue_deadline;
struct kueue_retention;
struct kueue_scope;
struct kueue_in_use;
struct provisioning;
struct trainjobs;
struct jobsets;
struct trainings;
struct leader_worker_sets;
struct jobs {
    struct kube_client *client;
    struct loop *loop;
    struct jobs_config config;
    struct workload_policy policy;
    struct kube_recorder *events;
    struct kube_cache *workloads; /* marked by the ClusterQueue in which they run (kueue_in_use.c) */
    struct kube_cache *flavors, *workload_classes, *priority_classes;
    struct kube_cache *runtimes, *cluster_runtimes; /* TrainingRuntime, ClusterTrainingRuntime */
    struct vcjobs *vcjobs;
    struct volcano_pods *volcano_pods;
    struct hypernode_finder *hypernode_finder;
    struct applications *applications; /* NULL: YuniKorn's are somebody else's */
    struct pod_grouper *pod_grouper;   /* NULL: KAI's are */
    struct kueue_kinds *kueue;
    struct kueue_pods *kueue_pods; /* NULL where pods are not queued */
    struct kueue_sets *kueue_sets; /* the same */
    struct kueue_priority *kueue_priority;
    struct kueue_deadline *kueue_deadline;
    struct kueue_retention *kueue_retention;
    struct kueue_scope *kueue_scope; /* NULL: whoever names a queue is queued, wherever it is */
    struct kueue_in_use *kueue_in_use;
    struct provisioning *provisioning;
    struct trainjobs *trainjobs;
    struct jobsets *jobsets;     /* these three: NULL where their operators run */
    struct trainings *trainings; /* Kubeflow's jobs */
    struct leader_worker_sets *leader_worker_sets;
};

/* Everybody's on_change does at most: note something, workqueue_add. */
struct vcjobs *vcjobs_new(struct jobs *j);
void vcjobs_free(struct vcjobs *v);
void vcjobs_synced(struct vcjobs *v); /* priority classes are read */
struct kueue_kinds *kueue_kinds_new(struct jobs *j);
void kueue_kinds_free(struct kueue_kinds *k);
void kueue_kinds_synced(struct kueue_kinds *k); /* the Workloads are known: look at every job */
/* A Workload changed: whose is it? Called for every one; each looks at the owner. */
void kueue_kinds_workload(struct kueue_kinds *k, const struct json *workload);
/* Something has come that jobs may wait for, a WorkloadPriorityClass for example: those that name it are looked at. */
void kueue_kinds_naming(struct kueue_kinds *k, const char *name);
/* What is known of the owner of a Workload. */
enum kueue_owner { KUEUE_OWNER_FOREIGN, KUEUE_OWNER_THERE, KUEUE_OWNER_LEAVING, KUEUE_OWNER_GONE }; /* LEAVING: is being deleted */
enum kueue_owner kueue_kinds_owner(const struct kueue_kinds *k, const char *kind, const char *ns, const char *name, const char *uid);
/* As jobs_wait. */
enum job_waits kueue_kinds_wait(const struct kueue_kinds *k, const struct queued_kind *kind, const char *ns, const char *name,
                                const char *uid);
enum kueue_owner kueue_pods_owner(const struct kueue_pods *k, const char *ns, const char *name, const char *uid);
void kueue_pods_naming(struct kueue_pods *k, const char *word); /* as kueue_kinds_naming; k may be NULL */
struct kueue_pods *kueue_pods_new(struct jobs *j);
void kueue_pods_free(struct kueue_pods *k);
void kueue_pods_synced(struct kueue_pods *k);
void kueue_pods_workload(struct kueue_pods *k, const struct json *workload);
const struct json *kueue_pods_get(const struct kueue_pods *k, const char *ns, const char *name, struct arena *a); /* one; or NULL */
/* Sets that are queued by their pods (kueue/sets); k may be NULL in all of these. */
struct kueue_sets_calls {
    bool (*is_ready)(const struct jobs *j);                           /* what is made now is made once */
    bool (*in_scope)(const struct jobs *j, const struct json *set);   /* it is to be queued */
    const struct json *(*queued_pod)(const struct jobs *j, const char *ns, const char *name, struct arena *a); /* names a queue; or NULL */
    void (*look_at_pods)(struct jobs *j, const char *word);           /* kueue_sets_pod of those in whose text it stands */
    void (*owner_gone)(struct jobs *j, const char *workload);         /* nobody is left who would release it */
};
struct kueue_sets *kueue_sets_new(struct jobs *j, const struct kueue_sets_calls *calls);
void kueue_sets_free(struct kueue_sets *k);
void kueue_sets_synced(struct kueue_sets *k);
void kueue_sets_naming(struct kueue_sets *k, const char *name);
void kueue_sets_workload(struct kueue_sets *k, const struct json *workload);
void kueue_sets_pod(struct kueue_sets *k, const struct json *pod, const char *key); /* a pod was seen */
bool kueue_sets_owns(const struct kueue_sets *k, const struct json *workload);      /* of a set that is there */
enum kueue_owner kueue_sets_owner(const struct kueue_sets *k, const char *kind, const char *ns, const char *name, const char *uid);
struct kueue_priority *kueue_priority_new(struct jobs *j);
void kueue_priority_free(struct kueue_priority *k);
/* Workloads and classes are read: what is made now is made once, and has its priority. */
bool kueue_ready(const struct jobs *j);
/* A WorkloadPriorityClass was seen or changed: its Workloads take its value. */
void kueue_priority_changed(struct kueue_priority *k, const char *class);
struct kueue_deadline *kueue_deadline_new(struct jobs *j);
void kueue_deadline_free(struct kueue_deadline *k);
void kueue_deadline_workload(struct kueue_deadline *k, const struct json *workload, const char *key);
struct kueue_retention *kueue_retention_new(struct jobs *j);
void kueue_retention_free(struct kueue_retention *k);
void kueue_retention_workload(struct kueue_retention *k, const struct json *workload, const char *key);
struct kueue_scope *kueue_scope_new(struct jobs *j);
void kueue_scope_free(struct kueue_scope *k);
bool kueue_scope_ready(const struct kueue_scope *k);
/* One of the caches that kueue_ready asks for has read all. */
void kueue_read_all(struct jobs *j);
/* A TrainJob's runtime object in the arena, or NULL. */
struct json *trainjob_runtime(struct jobs *j, struct arena *a, const struct json *trainjob);
struct trainjobs *trainjobs_new(struct jobs *j);
void trainjobs_free(struct trainjobs *t);
struct jobsets *jobsets_new(struct jobs *j);
void jobsets_free(struct jobsets *t);
struct trainings *trainings_new(struct jobs *j);
void trainings_free(struct trainings *t);
struct leader_worker_sets *leader_worker_sets_new(struct jobs *j);
void leader_worker_sets_free(struct leader_worker_sets *t);

void job_event(struct jobs *j, const struct json *object, const char *api_version, const char *kind, const char *type, const char *reason,
               const char *format, ...) PRINTF_LIKE(7, 8);
/* The same of what the next write of this pass does, once that is done. */
void job_event_then(struct jobs *j, struct work *w, const struct json *object, const char *api_version, const char *kind, const char *type,
                    const char *reason, const char *format, ...) PRINTF_LIKE(8, 9);

#endif
