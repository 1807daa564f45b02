/* trainjob_sets.c - resolving a TrainJob; see trainjob_sets.h */
#include "jobs/kubeflow/trainjob_sets.h"
#include "kube/object.h"
#include "wire/patch.h"

static struct json *container_named(const struct json *pod_spec, const char *name)
{
    JSON_EACH (container, json_get(pod_spec, "containers"))
        if (strcmp(json_get_text(container, "name", ""), name) == 0)
            return container;
    return json_item(json_get(pod_spec, "containers"), 0);
}

static void env_merge(struct arena *a, struct json *container, const struct json *env)
{
    JSON_EACH (item, env) {
        struct json *list = json_ensure_array(a, container, "env"), *old = NULL;
        JSON_EACH (known, list)
            if (strcmp(json_get_text(known, "name", ""), json_get_text(item, "name", "")) == 0)
                old = known;
        if (old)
            (void)json_remove_item(list, old);
        json_append(list, json_clone(a, item));
    }
}

static void trainer_merge(struct arena *a, const struct json *trainer, struct json *pod_template)
{
    struct json *container = container_named(json_get(pod_template, "spec"), "node");
    if (!container || !trainer)
        return;
    static const char *const plain[] = {"image", "command", "args"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (json_get(trainer, plain[i]))
            json_set(a, container, plain[i], json_clone(a, json_get(trainer, plain[i])));
    env_merge(a, container, json_get(trainer, "env"));
    const struct json *resources = json_get(trainer, "resourcesPerNode");
    if (json_is(resources, JSON_OBJECT)) {
        struct json *merged = json_ensure_object(a, container, "resources");
        patch_merge(a, &merged, resources);
    }
}

/* The part of every runtimePatch that speaks of this replicatedJob. Lists of containers are merged by name, everything
 * else as a merge patch. */
static void template_patch(struct arena *a, struct json *pod_template, const struct json *patch)
{
    struct json *rest = json_clone(a, patch), *spec = json_get(rest, "spec");
    JSON_EACH (container, json_path(patch, "spec", "containers", NULL)) {
        struct json *own = container_named(json_get(pod_template, "spec"), json_get_text(container, "name", "node"));
        if (!own)
            continue;
        env_merge(a, own, json_get(container, "env"));
        JSON_EACH (mount, json_get(container, "volumeMounts"))
            json_append(json_ensure_array(a, own, "volumeMounts"), json_clone(a, mount));
    }
    if (spec)
        (void)json_remove(spec, "containers");
    struct json *merged = pod_template;
    patch_merge(a, &merged, rest);
}

static void patches_merge(struct arena *a, const struct json *trainjob, const char *name, struct json *pod_template)
{
    JSON_EACH (patch, json_path(trainjob, "spec", "runtimePatches", NULL))
        JSON_EACH (job, json_path(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", NULL)) {
            const struct json *template = json_path(job, "template", "spec", "template", NULL);
            if (template && strcmp(json_get_text(job, "name", ""), name) == 0)
                template_patch(a, pod_template, template);
        }
}

static void set_fill(struct arena *a, const struct json *trainjob, const struct json *runtime, const struct json *job,
                     struct replicated_job *set)
{
    const struct json *trainer = json_path(trainjob, "spec", "trainer", NULL),
                      *spec = json_path(job, "template", "spec", NULL);
    const char *step = json_text(json_path(job, "template", "metadata", "labels", TRAINJOB_STEP_LABEL, NULL), "");
    set->name = json_get_text(job, "name", "node");
    set->replicas = child_jobs_bound(json_get_int64(job, "replicas", 1));
    set->count = json_get_int64(spec, "parallelism", 1);
    set->is_trainer = strcmp(step, "trainer") == 0 || (!*step && strcmp(set->name, "node") == 0);
    set->depends_on = json_get(job, "dependsOn");
    set->job_spec = json_is(spec, JSON_OBJECT) ? json_clone(a, spec) : json_new(a, JSON_OBJECT);
    struct json *template = json_ensure_object(a, set->job_spec, "template");
    if (set->is_trainer) {
        int64_t nodes = json_int64(json_path(runtime, "spec", "mlPolicy", "numNodes", NULL), 1);
        set->replicas = 1;
        set->count = json_get_int64(trainer, "numNodes", nodes);
        trainer_merge(a, trainer, template);
    } else if (*step) {
        set->replicas = set->count = 1; /* initializers */
    }
    patches_merge(a, trainjob, set->name, template);
    (void)json_remove(set->job_spec, "suspend");
    json_set_int64(a, set->job_spec, "parallelism", set->count);
    json_set_int64(a, set->job_spec, "completions", set->count);
    json_set_text(a, set->job_spec, "completionMode", "Indexed");
    if (!json_get(set->job_spec, "backoffLimit"))
        json_set_int64(a, set->job_spec, "backoffLimit", 0);
    struct json *pod_spec = json_ensure_object(a, template, "spec");
    if (!json_get(pod_spec, "restartPolicy"))
        json_set_text(a, pod_spec, "restartPolicy", "Never");
}

uint32_t trainjob_sets(struct arena *a, const struct json *trainjob, const struct json *runtime,
                       struct replicated_job **ret_sets, const char **ret_why)
{
    const struct json *jobs = json_path(runtime, "spec", "template", "spec", "replicatedJobs", NULL);
    uint32_t n = 0;
    if (!jobs || jobs->n == 0) {
        *ret_why = runtime ? "the runtime has no spec.template.spec.replicatedJobs"
                           : "the runtime that spec.runtimeRef names does not exist";
        return 0;
    }
    struct replicated_job *sets = arena_zero(a, jobs->n, sizeof *sets);
    JSON_EACH (job, jobs)
        set_fill(a, trainjob, runtime, job, &sets[n++]);
    *ret_sets = sets;
    return n;
}

/* ---- env ---- */

static struct json *env_new(struct arena *a, struct json *list, const char *name)
{
    struct json *env = json_new(a, JSON_OBJECT);
    json_set_text(a, env, "name", name);
    json_append(list, env);
    return env;
}

void trainjob_env(struct arena *a, const struct json *trainjob, const struct json *runtime,
                  const struct replicated_job *set, struct json *pod_template)
{
    struct json *container = container_named(json_get(pod_template, "spec"), "node");
    const struct json *ml = json_path(runtime, "spec", "mlPolicy", NULL);
    if (!container || !set->is_trainer || json_get(ml, "mpi"))
        return;
    const char *name = object_meta(trainjob, "name");
    const struct json *procs = json_path(trainjob, "spec", "trainer", "numProcPerNode", NULL);
    if (!procs)
        procs = json_path(ml, "torch", "numProcPerNode", NULL);
    struct bytes procs_text = json_bytes(procs);
    struct json *list = json_new(a, JSON_ARRAY);
    json_set_text(a, env_new(a, list, "PET_NNODES"), "value", arena_printf(a, "%lld", (long long)set->count));
    json_set_text(a, env_new(a, list, "PET_NPROC_PER_NODE"), "value",
                  procs_text.n ? arena_text_n(a, procs_text.data, procs_text.n) : "auto");
    struct json *rank = env_new(a, list, "PET_NODE_RANK");
    json_set_text(a, json_ensure_object(a, json_ensure_object(a, rank, "valueFrom"), "fieldRef"), "fieldPath",
                  "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    json_set_text(a, env_new(a, list, "PET_MASTER_ADDR"), "value",
                  arena_printf(a, "%s-%s-0-0.%s", name, set->name, name));
    json_set_text(a, env_new(a, list, "PET_MASTER_PORT"), "value", "29500");
    JSON_EACH (own, json_get(container, "env"))
        json_append(list, json_clone(a, own));
    json_set(a, container, "env", list);
}
