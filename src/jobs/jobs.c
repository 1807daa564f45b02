/* jobs.c - the job controllers together, and the caches that they share; see jobs.h */
#include "jobs/jobs.h"
#include "codec/decode/decode.h"
#include "jobs/controllers.h"
#include "jobs/kai/pod_grouper.h"
#include "jobs/kueue/kueue_in_use.h"
#include "jobs/kueue/kueue_scope.h"
#include "jobs/provisioning/provisioning.h"
#include "jobs/volcano/hypernodes/hypernode_finder.h"
#include "jobs/volcano/volcano_pods.h"
#include "jobs/yunikorn/applications.h"

static void on_workload(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct jobs *j = arg;
    struct arena *a = arena_new();
    const struct json *workload = json_parse(a, object, NULL, NULL);
    if (workload) {
        kueue_kinds_workload(j->kueue, workload);
        if (j->kueue_pods)
            kueue_pods_workload(j->kueue_pods, workload);
        kueue_sets_workload(j->kueue_sets, workload);
        if (event == KUBE_DELETED) {
            kueue_in_use_workload_gone(j->kueue_in_use);
        } else {
            kueue_deadline_workload(j->kueue_deadline, workload, key);
            kueue_retention_workload(j->kueue_retention, workload, key);
            kueue_in_use_workload(j->kueue_in_use, workload, key);
            provisioning_workload(j->provisioning, workload, key);
        }
    }
    arena_free(a);
}

bool kueue_ready(const struct jobs *j)
{
    return kueue_scope_ready(j->kueue_scope) && kube_cache_synced(j->workloads) &&
           kube_cache_synced(j->workload_classes) && kube_cache_synced(j->priority_classes);
}

void kueue_read_all(struct jobs *j)
{
    if (!j->workloads || !kueue_ready(j))
        return;
    kueue_kinds_synced(j->kueue);
    if (j->kueue_pods)
        kueue_pods_synced(j->kueue_pods);
    kueue_sets_synced(j->kueue_sets);
    kueue_in_use_synced(j->kueue_in_use);
}

static void on_kueue_synced(void *arg)
{
    kueue_read_all(arg);
}

static void on_class(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct jobs *j = arg;
    (void)object;
    const char *name = strrchr(key, '/') ? strrchr(key, '/') + 1 : key;
    if (event == KUBE_DELETED || !j->workloads)
        return;
    kueue_priority_changed(j->kueue_priority, name);
    kueue_kinds_naming(j->kueue, name);
    kueue_sets_naming(j->kueue_sets, name);
    kueue_pods_naming(j->kueue_pods, name);
}

static const struct json *queued_pod(const struct jobs *j, const char *ns, const char *name, struct arena *a)
{
    return kueue_pods_get(j->kueue_pods, ns, name, a);
}

static void look_at_pods(struct jobs *j, const char *word)
{
    kueue_pods_naming(j->kueue_pods, word);
}

static void owner_gone(struct jobs *j, const char *workload)
{
    kueue_in_use_owner_gone(j->kueue_in_use, workload);
}

static const struct kueue_sets_calls sets_calls = {kueue_ready, kueue_scope_has, queued_pod, look_at_pods, owner_gone};

static void on_classes_synced(void *arg)
{
    struct jobs *j = arg;
    kueue_read_all(j);
    if (j->vcjobs)
        vcjobs_synced(j->vcjobs);
}

static struct kube_cache *cache_of(struct jobs *j, const char *path, void (*on_synced)(void *jobs))
{
    struct kube_cache_config config = {.watch = {.path = path, .optional = true}, .on_synced = on_synced, .arg = j};
    return kube_cache_new(j->client, &config);
}

static void create_queue(struct jobs *j, const char *name, const char *spec)
{
    struct arena *a = arena_new();
    const char *body = arena_printf(a,
                                    "{\"apiVersion\":\"scheduling.volcano.sh/"
                                    "v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"%s\"},\"spec\":%s}",
                                    name, spec);
    /* Fire and forget: most often they are there already. */
    kube_create(j->client, "/apis/scheduling.volcano.sh/v1beta1/queues", bytes_of(body), NULL, NULL);
    arena_free(a);
}

enum job_waits jobs_wait(const struct jobs *j, const struct queued_kind *kind, const char *ns, const char *name, const char *uid)
{
    return j && j->kueue ? kueue_kinds_wait(j->kueue, kind, ns, name, uid) : JOB_WAITS_NOT;
}

bool jobs_groups(const struct jobs *j, const struct json *pod)
{
    const char *scheduler = json_text(json_path(pod, "spec", "schedulerName", NULL), "");
    return strcmp(scheduler, DECODE_KAI_SCHEDULER) == 0 && (!j || pod_grouper_groups(j->pod_grouper, pod));
}

struct jobs *jobs_new(struct kube_client *c, const struct jobs_config *config)
{
    struct jobs *j = mem_zero(1, sizeof *j);
    j->client = c;
    j->loop = kube_client_loop(c);
    j->config = *config;
    if (config->policy)
        j->policy = *config->policy;
    j->events = kube_recorder_new(c, "capstan-jobs");
    j->runtimes = cache_of(j, "/apis/trainer.kubeflow.org/v1alpha1/trainingruntimes", NULL);
    j->cluster_runtimes = cache_of(j, "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes", NULL);
    j->priority_classes = cache_of(j, "/apis/scheduling.k8s.io/v1/priorityclasses", on_classes_synced);
    if (!config->no_kueue) {
        j->kueue_in_use = kueue_in_use_new(j);
        j->flavors = kueue_in_use_flavors(j->kueue_in_use);
        j->kueue_priority = kueue_priority_new(j);
        j->kueue_deadline = kueue_deadline_new(j);
        j->kueue_retention = kueue_retention_new(j);
        j->provisioning = provisioning_new(j);
        struct kube_cache_config classes = {
            .watch = {.path = "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses", .optional = true},
            .on_change = on_class,
            .on_synced = on_kueue_synced,
            .arg = j};
        j->workload_classes = kube_cache_new(c, &classes);
        j->kueue_scope = kueue_scope_new(j);
        j->kueue = kueue_kinds_new(j);
        j->kueue_pods = config->no_kueue_pods ? NULL : kueue_pods_new(j);
        j->kueue_sets = config->no_kueue_pods ? NULL : kueue_sets_new(j, &sets_calls);
        struct kube_cache_config workloads = {
            .watch = {.path = "/apis/kueue.x-k8s.io/v1beta2/workloads", .optional = true},
            .on_change = on_workload,
            .on_synced = on_kueue_synced,
            .arg = j};
        j->workloads = kube_cache_new(c, &workloads);
    }
    if (!config->no_volcano) {
        j->vcjobs = vcjobs_new(j);
        j->volcano_pods = volcano_pods_new(c);
        j->hypernode_finder = hypernode_finder_new(j);
    }
    if (!config->no_volcano || !config->no_yunikorn) { /* jobs that name no queue are in "default" */
        create_queue(j, "root", "{\"reclaimable\":false,\"weight\":1}");
        create_queue(j, "default", "{\"reclaimable\":true,\"weight\":1}");
    }
    if (!config->no_yunikorn)
        j->applications = applications_new(j);
    if (!config->no_kai)
        j->pod_grouper = pod_grouper_new(j);
    if (config->embedded || config->run_trainjobs)
        j->trainjobs = trainjobs_new(j);
    if (config->embedded) {
        j->jobsets = jobsets_new(j);
        j->trainings = trainings_new(j);
        j->leader_worker_sets = leader_worker_sets_new(j);
    }
    return j;
}

void jobs_free(struct jobs *j)
{
    if (!j)
        return;
    trainjobs_free(j->trainjobs);
    jobsets_free(j->jobsets);
    trainings_free(j->trainings);
    leader_worker_sets_free(j->leader_worker_sets);
    vcjobs_free(j->vcjobs);
    volcano_pods_free(j->volcano_pods);
    hypernode_finder_free(j->hypernode_finder);
    applications_free(j->applications);
    pod_grouper_free(j->pod_grouper);
    kueue_kinds_free(j->kueue);
    kueue_pods_free(j->kueue_pods);
    kueue_sets_free(j->kueue_sets);
    kueue_priority_free(j->kueue_priority);
    kueue_deadline_free(j->kueue_deadline);
    kueue_retention_free(j->kueue_retention);
    kueue_scope_free(j->kueue_scope);
    provisioning_free(j->provisioning);
    kueue_in_use_free(j->kueue_in_use);
    struct kube_cache *caches[] = {j->workloads, j->workload_classes, j->priority_classes, j->runtimes,
                                   j->cluster_runtimes};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
        if (caches[i])
            kube_cache_free(caches[i]);
    kube_recorder_free(j->events);
    free(j);
}

