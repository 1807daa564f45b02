/* queued_kinds.c - see queued_kinds.h */
#include "codec/kinds/queued_kinds.h"
#include <string.h>

static const char *const master_worker[] = {"Master", "Worker", NULL}, *const launcher_worker[] = {"Launcher", "Worker", NULL},
                  *const worker[] = {"Worker", NULL}, *const tensorflow[] = {"Chief", "Master", "PS", "Worker", "Evaluator", NULL};

#define KUBEFLOW(v, p, k, r, of, c) \
    {.group = "kubeflow.org", .version = v, .plural = p "s", .kind = k, .framework = "kubeflow.org/" p, .policy = "runPolicy", \
     .succeeded = "Succeeded", .replicas = r, .roles = of, .container = c}

const struct queued_kind queued_kinds[QUEUED_KINDS_N] = {
    [QUEUED_JOB] = {.group = "batch", .version = "v1", .plural = "jobs", .kind = "Job", .framework = "batch/job", .succeeded = "Complete",
                    .reclaims = true},
    [QUEUED_TRAINJOB] = {.group = "trainer.kubeflow.org", .version = "v1alpha1", .plural = "trainjobs", .kind = "TrainJob",
                         .framework = "trainer.kubeflow.org/trainjob", .succeeded = "Complete"},
    [QUEUED_JOBSET] = {.group = "jobset.x-k8s.io", .version = "v1alpha2", .plural = "jobsets", .kind = "JobSet",
                       .framework = "jobset.x-k8s.io/jobset", .succeeded = "Completed", .reclaims = true},
    [QUEUED_MPIJOB] = KUBEFLOW("v2beta1", "mpijob", "MPIJob", "mpiReplicaSpecs", launcher_worker, NULL),
    [QUEUED_PYTORCHJOB] = KUBEFLOW("v1", "pytorchjob", "PyTorchJob", "pytorchReplicaSpecs", master_worker, "pytorch"),
    [QUEUED_TFJOB] = KUBEFLOW("v1", "tfjob", "TFJob", "tfReplicaSpecs", tensorflow, "tensorflow"),
    [QUEUED_XGBOOSTJOB] = KUBEFLOW("v1", "xgboostjob", "XGBoostJob", "xgbReplicaSpecs", master_worker, "xgboost"),
    [QUEUED_JAXJOB] = KUBEFLOW("v1", "jaxjob", "JAXJob", "jaxReplicaSpecs", worker, "jax"),
    [QUEUED_PADDLEJOB] = KUBEFLOW("v1", "paddlejob", "PaddleJob", "paddleReplicaSpecs", master_worker, "paddle"),
    [QUEUED_RAYJOB] = {.group = "ray.io", .version = "v1", .plural = "rayjobs", .kind = "RayJob", .framework = "ray.io/rayjob",
                       .succeeded = ""},
    [QUEUED_RAYCLUSTER] = {.group = "ray.io", .version = "v1", .plural = "rayclusters", .kind = "RayCluster",
                           .framework = "ray.io/raycluster", .succeeded = ""},
    [QUEUED_RAYSERVICE] = {.group = "ray.io", .version = "v1", .plural = "rayservices", .kind = "RayService",
                           .framework = "ray.io/rayservice", .policy = "rayClusterConfig", .succeeded = ""},
    [QUEUED_SPARKAPPLICATION] = {.group = "sparkoperator.k8s.io", .version = "v1beta2", .plural = "sparkapplications",
                                 .kind = "SparkApplication", .framework = "sparkoperator.k8s.io/sparkapplication", .succeeded = ""},
};

const struct queued_kind *queued_kind_named(const char *kind)
{
    for (size_t i = 0; i < QUEUED_KINDS_N; i++)
        if (text_equal(queued_kinds[i].kind, kind))
            return &queued_kinds[i];
    return NULL;
}

const struct queued_kind *queued_kind_of_owner(const struct json *owner)
{
    const struct queued_kind *k = queued_kind_named(json_get_text(owner, "kind", ""));
    const char *version = json_get_text(owner, "apiVersion", "");
    size_t n = k ? strlen(k->group) : 0;
    return k && text_starts(version, k->group) && version[n] == '/' ? k : NULL;
}

bool queued_kind_succeeded(const char *condition)
{
    for (size_t i = 0; i < QUEUED_KINDS_N; i++)
        if (*condition && text_equal(condition, queued_kinds[i].succeeded))
            return true;
    return false;
}

const struct queued_kind *queued_kind_of(const char *group, const char *plural)
{
    for (size_t i = 0; i < QUEUED_KINDS_N; i++)
        if (text_equal(queued_kinds[i].group, group) && text_equal(queued_kinds[i].plural, plural))
            return &queued_kinds[i];
    return NULL;
}

static const struct json *policy_of(const struct queued_kind *k, const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    return k->policy ? json_get(spec, k->policy) : spec;
}

struct json *queued_kind_policy(struct arena *a, const struct queued_kind *k, struct json *job)
{
    struct json *spec = json_ensure_object(a, job, "spec");
    return k->policy ? json_ensure_object(a, spec, k->policy) : spec;
}

bool queued_kind_is_suspended(const struct queued_kind *k, const struct json *job)
{
    return json_get_bool(policy_of(k, job), "suspend", false);
}

const char *queued_kind_managed_by(const struct queued_kind *k, const struct json *job)
{
    return json_get_text(policy_of(k, job), "managedBy", "");
}
