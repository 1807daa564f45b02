/* trainjob_sets.c - resolving a TrainJob; see trainjob_sets.h */
#include "jobs/kubeflow/trainjob_sets.h"
#include "apiserver/apply/strategic_merge.h"
#include "jobs/kubeflow/jobset_plan.h"
#include "kube/object.h"
#include "wire/patch.h"

struct view {
    struct arena *a;
    const struct json *job, *trainer, *ml; /* the TrainJob, its spec.trainer, spec.mlPolicy of its runtime */
    struct json *set;
};

static const char *step_of(const struct json *replicated)
{
    return json_text(json_path(replicated, "template", "metadata", "labels", TRAINJOB_STEP_LABEL, NULL), "");
}

static bool is_named(const struct json *replicated, const char *name)
{
    return strcmp(json_get_text(replicated, "name", ""), name) == 0;
}

bool trainjob_trains(const struct json *jobset, const struct json *replicated)
{
    bool any = false;
    JSON_EACH (one, json_path(jobset, "spec", "replicatedJobs", NULL))
        any = any || strcmp(step_of(one), "trainer") == 0;
    return any ? strcmp(step_of(replicated), "trainer") == 0 : !*step_of(replicated) && is_named(replicated, "node");
}

bool trainjob_initializes(const struct json *replicated)
{
    return *step_of(replicated) && strcmp(step_of(replicated), "trainer") != 0;
}

static struct json *container_named(const struct json *replicated, const char *name)
{
    const struct json *list = json_path(replicated, "template", "spec", "template", "spec", "containers", NULL);
    JSON_EACH (container, list)
        if (strcmp(json_get_text(container, "name", ""), name) == 0)
            return container;
    struct json *first = json_item(list, 0);
    return json_is(first, JSON_OBJECT) ? first : NULL;
}

struct json *trainjob_container(const struct json *replicated)
{
    return container_named(replicated, "node");
}

int64_t trainjob_pods_n(const struct json *replicated)
{
    return json_int64(json_path(replicated, "template", "spec", "parallelism", NULL), 1);
}

/* ---- what the job asks of its containers ---- */

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

static void resources_merge(const struct view *v, struct json *container)
{
    const struct json *asked = json_get(v->trainer, "resourcesPerNode");
    if (!json_is(asked, JSON_OBJECT))
        return;
    struct json *merged = json_ensure_object(v->a, container, "resources");
    patch_merge(v->a, &merged, asked);
}

static void train(const struct view *v, struct json *replicated)
{
    static const char *const plain[] = {"image", "command", "args"};
    struct json *container = trainjob_container(replicated);
    if (!container || !v->trainer)
        return;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (json_get(v->trainer, plain[i]))
            json_set(v->a, container, plain[i], json_clone(v->a, json_get(v->trainer, plain[i])));
    env_merge(v->a, container, json_get(v->trainer, "env"));
    resources_merge(v, container);
}

/* Where it is fetched from, and the secret to do so. */
static void initialize(const struct view *v, const char *which, struct json *replicated)
{
    struct arena *a = v->a;
    const char *name = arena_printf(a, "%s-initializer", which);
    const struct json *asked = json_path(v->job, "spec", "initializer", which, NULL);
    struct json *container = container_named(replicated, name);
    if (!asked || strcmp(step_of(replicated), name) != 0 || !container || strcmp(json_get_text(container, "name", ""), name) != 0)
        return;
    if (json_get(asked, "storageUri")) {
        struct json *list = json_new(a, JSON_ARRAY), *env = json_new(a, JSON_OBJECT);
        json_set_text(a, env, "name", "STORAGE_URI");
        json_set(a, env, "value", json_clone(a, json_get(asked, "storageUri")));
        json_append(list, env);
        env_merge(a, container, list);
    }
    env_merge(a, container, json_get(asked, "env"));
    if (json_get(asked, "secretRef")) {
        struct json *from = json_new(a, JSON_OBJECT);
        json_set(a, from, "secretRef", json_clone(a, json_get(asked, "secretRef")));
        json_append(json_ensure_array(a, container, "envFrom"), from);
    }
}

/* ---- how many ---- */

static int64_t count_of(const struct view *v, const struct json *replicated, bool trains)
{
    int64_t own = trainjob_pods_n(replicated), all = json_get_int64(v->trainer, "numNodes", json_get_int64(v->ml, "numNodes", own));
    const struct json *mpi = json_get(v->ml, "mpi");
    int64_t launchers = json_get_bool(mpi, "runLauncherAsNode", false) ? 1 : 0;
    if (!mpi)
        return trains ? all : own;
    if (is_named(replicated, "node") && json_get(v->trainer, "numNodes"))
        return all - launchers > 1 ? all - launchers : 1;
    return trains && !is_named(replicated, "launcher") ? all : own;
}

static void fill(const struct view *v, struct json *replicated)
{
    struct arena *a = v->a;
    bool trains = trainjob_trains(v->set, replicated);
    struct json *template = json_ensure_object(a, replicated, "template"), *spec = json_ensure_object(a, template, "spec");
    int64_t n = count_of(v, replicated, trains);
    struct json *pod = json_ensure_object(a, json_ensure_object(a, spec, "template"), "spec");
    (void)json_remove(spec, "suspend");
    if (!json_get(spec, "completionMode")) /* as JobSets have them */
        json_set_text(a, spec, "completionMode", "Indexed");
    if (!json_get(pod, "restartPolicy"))
        json_set_text(a, pod, "restartPolicy", "OnFailure");
    json_set_int64(a, spec, "parallelism", n > 1 ? n : 1);
    json_set_int64(a, spec, "completions", n > 1 ? n : 1);
    if (trains || trainjob_initializes(replicated))
        json_set_int64(a, replicated, "replicas", 1);
    if (trains)
        train(v, replicated);
    else if (json_get(v->ml, "mpi") && is_named(replicated, "node") && trainjob_container(replicated)) {
        env_merge(a, trainjob_container(replicated), json_get(v->trainer, "env"));
        resources_merge(v, trainjob_container(replicated));
    }
    initialize(v, "dataset", replicated);
    initialize(v, "model", replicated);
}

/* ---- runtimePatches ---- */

static void metadata_merge(struct arena *a, struct json *metadata, const struct json *from)
{
    static const char *const groups[] = {"labels", "annotations"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        JSON_EACH (one, json_is(json_get(from, groups[i]), JSON_OBJECT) ? json_get(from, groups[i]) : NULL)
            json_set(a, json_ensure_object(a, metadata, groups[i]), one->key, json_clone(a, one));
}

/* In the order of the runtime: a merge may put those that it names elsewhere. */
static struct json *in_order(struct arena *a, const struct json *order, struct json *list)
{
    struct json *sorted = json_new(a, JSON_ARRAY);
    JSON_EACH (first, order) {
        struct json *one = json_first(list);
        while (one && !is_named(one, json_get_text(first, "name", "")))
            one = one->next;
        if (json_remove_item(list, one))
            json_append(sorted, one);
    }
    return sorted;
}

static bool patch(struct arena *a, const struct json *runtime_patch, struct json *set, const char **ret_why)
{
    const struct json *template = json_path(runtime_patch, "trainingRuntimeSpec", "template", NULL), *spec = json_get(template, "spec"),
                      *order = json_clone(a, json_path(set, "spec", "replicatedJobs", NULL));
    struct json *change = json_new(a, JSON_OBJECT);
    struct err e = {0};
    metadata_merge(a, json_get(set, "metadata"), json_get(template, "metadata"));
    if (!json_is(spec, JSON_OBJECT))
        return true;
    json_set(a, change, "spec", json_clone(a, spec));
    if (strategic_merge(a, schema_of("jobset.x-k8s.io", "v1alpha2", "JobSet"), set, change, &e) < 0) {
        *ret_why = arena_printf(a, "spec.runtimePatches of manager \"%s\": %s", json_get_text(runtime_patch, "manager", ""), e.text);
        return false;
    }
    struct json *merged = json_ensure_object(a, set, "spec");
    json_set(a, merged, "replicatedJobs", in_order(a, order, json_get(merged, "replicatedJobs")));
    return true;
}

struct json *trainjob_jobset(struct arena *a, const struct json *trainjob, const struct json *runtime, const char **ret_why)
{
    const struct json *template = json_path(runtime, "spec", "template", NULL),
                      *jobs = json_path(template, "spec", "replicatedJobs", NULL);
    struct json *set = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, set, "metadata");
    if (!json_is(jobs, JSON_ARRAY) || jobs->n == 0) {
        *ret_why = runtime ? "the runtime has no spec.template.spec.replicatedJobs"
                           : "the runtime that spec.runtimeRef names does not exist";
        return NULL;
    }
    json_set_text(a, metadata, "name", object_meta(trainjob, "name"));
    metadata_merge(a, metadata, json_get(template, "metadata"));
    json_set(a, set, "spec", json_clone(a, json_get(template, "spec")));
    JSON_EACH (one, json_path(trainjob, "spec", "runtimePatches", NULL))
        if (!patch(a, one, set, ret_why))
            return NULL;
    struct view v = {a, trainjob, json_path(trainjob, "spec", "trainer", NULL), json_path(runtime, "spec", "mlPolicy", NULL), set};
    JSON_EACH (replicated, json_path(set, "spec", "replicatedJobs", NULL))
        if (json_is(replicated, JSON_OBJECT))
            fill(&v, replicated);
    return set;
}

uint32_t trainjob_sets(struct arena *a, const struct json *trainjob, const struct json *runtime, struct replicated_job **ret_sets,
                       const char **ret_why)
{
    const struct json *set = trainjob_jobset(a, trainjob, runtime, ret_why);
    uint32_t n = set ? jobset_jobs(a, set, ret_sets) : 0, i = 0;
    JSON_EACH (replicated, json_path(set, "spec", "replicatedJobs", NULL))
        (*ret_sets)[i++].is_initializer = trainjob_initializes(replicated);
    return n;
}
