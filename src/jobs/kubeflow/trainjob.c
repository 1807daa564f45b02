/* trainjob.c - running TrainJobs where no trainer operator is installed (the embedded cluster)
 *
 * Jobs are named and labelled as a JobSet would: <trainjob>-<replicatedJob>-<i>, Indexed, behind a headless Service of
 * the TrainJob's name. Without a queue, podGroupPolicy.coscheduling makes the trainer's pods one gang.
 */
#include "base/clock.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/trainjob_sets.h"

#define API_VERSION "trainer.kubeflow.org/v1alpha1"
#define SET_LABEL "jobset.sigs.k8s.io/jobset-name"
#define JOB_LABEL "jobset.sigs.k8s.io/replicatedjob-name"

struct trainjobs {
    struct jobs *jobs;
    struct kube_cache *cache, *children;
    struct workqueue *queue;
};
struct pass {
    struct trainjobs *t;
    struct work *work;
    const struct json *job, *runtime;
    struct trainjob_set *sets;
    uint32_t sets_n;
    bool gang; /* a coscheduling PodGroup of our making */
};

struct json *trainjob_runtime(struct jobs *j, struct arena *a, const struct json *trainjob)
{
    const struct json *ref = json_path(trainjob, "spec", "runtimeRef", NULL);
    const char *name = json_get_text(ref, "name", "");
    if (strcmp(json_get_text(ref, "kind", "ClusterTrainingRuntime"), "TrainingRuntime") == 0)
        return kube_cache_get(j->runtimes, object_meta(trainjob, "namespace"), name, a);
    return kube_cache_get(j->cluster_runtimes, "", name, a);
}

static const char *child_name(const struct pass *x, const struct trainjob_set *set, int64_t i)
{
    return arena_printf(x->work->arena, "%s-%s-%lld", x->work->name, set->name, (long long)i);
}

static const struct json *child_get(const struct pass *x, const struct trainjob_set *set, int64_t i)
{
    return kube_cache_get(x->t->children, x->work->ns, child_name(x, set, i), x->work->arena);
}

static void labels_set(const struct pass *x, struct json *meta, const struct trainjob_set *set, int64_t i)
{
    struct arena *a = x->work->arena;
    struct json *labels = json_ensure_object(a, meta, "labels");
    json_set_text(a, labels, SET_LABEL, x->work->name);
    json_set_text(a, labels, JOB_LABEL, set->name);
    json_set_text(a, labels, "jobset.sigs.k8s.io/job-index", arena_printf(a, "%lld", (long long)i));
    if (set->is_trainer)
        json_set_text(a, labels, TRAINJOB_STEP_LABEL, "trainer");
}

static struct json *object_new(const struct pass *x, const char *api_version, const char *kind, const char *name)
{
    struct arena *a = x->work->arena;
    return job_object(a, x->job, job_owner(a, x->job, API_VERSION, "TrainJob"), api_version, kind, name);
}

static void child_create(struct pass *x, const struct trainjob_set *set, int64_t i)
{
    struct arena *a = x->work->arena;
    struct json *child = object_new(x, "batch/v1", "Job", child_name(x, set, i));
    labels_set(x, json_get(child, "metadata"), set, i);
    struct json *spec = json_clone(a, set->job_spec);
    json_set(a, child, "spec", spec);
    json_set_int64(a, spec, "parallelism", set->count);
    json_set_int64(a, spec, "completions", set->count);
    json_set_text(a, spec, "completionMode", "Indexed");
    if (!json_get(spec, "backoffLimit"))
        json_set_int64(a, spec, "backoffLimit", 0);
    struct json *template = json_ensure_object(a, spec, "template");
    struct json *meta = json_ensure_object(a, template, "metadata"),
                *pod_spec = json_ensure_object(a, template, "spec");
    labels_set(x, meta, set, i);
    if (x->gang && set->is_trainer)
        json_set_text(a, json_ensure_object(a, meta, "labels"), "scheduling.x-k8s.io/pod-group", x->work->name);
    if (!json_get(pod_spec, "restartPolicy"))
        json_set_text(a, pod_spec, "restartPolicy", "Never");
    json_set_text(a, pod_spec, "subdomain", x->work->name);
    trainjob_env(a, x->job, x->runtime, set, template);
    work_create(x->work, kube_path(a, "batch", "v1", "jobs", x->work->ns, NULL, NULL), child);
}

static void service_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *service = object_new(x, "v1", "Service", x->work->name),
                *spec = json_ensure_object(a, service, "spec");
    json_set_text(a, spec, "clusterIP", "None");
    json_set_bool(a, spec, "publishNotReadyAddresses", true);
    json_set_text(a, json_ensure_object(a, spec, "selector"), SET_LABEL, x->work->name);
    work_create(x->work, kube_path(a, "", "v1", "services", x->work->ns, NULL, NULL), service);
}

static void gang_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *group = object_new(x, "scheduling.x-k8s.io/v1alpha1", "PodGroup", x->work->name),
                *spec = json_ensure_object(a, group, "spec");
    struct json *resources = json_new(a, JSON_OBJECT);
    int64_t members = 0;
    for (uint32_t i = 0; i < x->sets_n; i++)
        if (x->sets[i].is_trainer) {
            members += x->sets[i].count;
            job_requests_add(a, resources, json_path(x->sets[i].job_spec, "template", "spec", NULL), x->sets[i].count);
        }
    json_set_int64(a, spec, "minMember", members);
    json_set(a, spec, "minResources", resources);
    const struct json *timeout =
        json_path(x->runtime, "spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds", NULL);
    json_set_int64(a, spec, "scheduleTimeoutSeconds", json_int64(timeout, 60));
    work_create(x->work, kube_path(a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", x->work->ns, NULL, NULL), group);
}

/* ---- children ---- */

static bool dependency_met(const struct pass *x, const struct json *dependency)
{
    bool complete = strcmp(json_get_text(dependency, "status", "Complete"), "Complete") == 0;
    for (uint32_t s = 0; s < x->sets_n; s++) {
        if (strcmp(x->sets[s].name, json_get_text(dependency, "name", "")) != 0)
            continue;
        for (int64_t i = 0; i < x->sets[s].replicas; i++) {
            const struct json *child = child_get(x, &x->sets[s], i);
            bool ready = json_int64(json_path(child, "status", "ready", NULL), 0) >= x->sets[s].count;
            if (!object_condition_true(child, "Complete") && (complete || !ready))
                return false;
        }
    }
    return true;
}

static bool may_start(const struct pass *x, const struct trainjob_set *set)
{
    JSON_EACH (dependency, set->depends_on)
        if (!dependency_met(x, dependency))
            return false;
    return true;
}

/* They are made again with what the next start injects. */
static void children_stop(struct pass *x)
{
    struct work *w = x->work;
    for (uint32_t s = 0; s < x->sets_n; s++)
        for (int64_t i = 0; i < x->sets[s].replicas; i++) {
            const struct json *child = child_get(x, &x->sets[s], i);
            if (child)
                work_delete(w, kube_path(w->arena, "batch", "v1", "jobs", w->ns, object_meta(child, "name"), NULL),
                            object_meta(child, "uid"), "Background");
        }
}

static void children_make(struct pass *x)
{
    bool service = false;
    for (uint32_t s = 0; s < x->sets_n; s++) {
        if (!may_start(x, &x->sets[s]))
            continue;
        for (int64_t i = 0; i < x->sets[s].replicas; i++) {
            if (child_get(x, &x->sets[s], i))
                continue;
            if (!service)
                service_create(x);
            service = true;
            if (x->gang && x->sets[s].is_trainer)
                gang_create(x);
            child_create(x, &x->sets[s], i);
        }
    }
}

/* ---- status ---- */

static struct json *job_status(const struct pass *x, const struct trainjob_set *set, bool *ret_failed,
                               bool *ret_complete)
{
    struct arena *a = x->work->arena;
    int64_t ready = 0, succeeded = 0, failed = 0, active = 0, suspended = 0;
    for (int64_t i = 0; i < set->replicas; i++) {
        const struct json *child = child_get(x, set, i), *status = json_get(child, "status");
        if (!child)
            continue;
        bool job_complete = object_condition_true(child, "Complete"),
             job_failed = object_condition_true(child, "Failed");
        succeeded += job_complete;
        failed += job_failed;
        active += !job_complete && !job_failed && json_get_int64(status, "active", 0) > 0;
        ready += !job_complete && !job_failed && json_get_int64(status, "ready", 0) >= set->count;
        suspended += json_get_bool(json_get(child, "spec"), "suspend", false);
    }
    *ret_failed = *ret_failed || failed > 0;
    *ret_complete = *ret_complete && succeeded >= set->replicas;
    struct json *out = json_new(a, JSON_OBJECT);
    json_set_text(a, out, "name", set->name);
    json_set_int64(a, out, "ready", ready);
    json_set_int64(a, out, "succeeded", succeeded);
    json_set_int64(a, out, "failed", failed);
    json_set_int64(a, out, "active", active);
    json_set_int64(a, out, "suspended", suspended);
    return out;
}

static void status_write(struct pass *x, bool suspend)
{
    struct work *w = x->work;
    struct arena *a = w->arena;
    const struct json *old = json_get(x->job, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct json *list = json_new(a, JSON_ARRAY);
    bool failed = false, complete = true;
    for (uint32_t s = 0; s < x->sets_n; s++)
        json_append(list, job_status(x, &x->sets[s], &failed, &complete));
    json_set(a, status, "jobsStatus", list);
    struct json *conditions = json_ensure_array(a, status, "conditions");
    int64_t now_ms = loop_wall_ms(x->t->jobs->loop);
    bool was = object_condition_true(x->job, "Suspended");
    if (suspend)
        (void)object_condition_set(a, conditions, "Suspended", true, "Suspended", "TrainJob is suspended", now_ms, 0);
    else if (was)
        (void)object_condition_set(a, conditions, "Suspended", false, "Resumed", "TrainJob is resumed", now_ms, 0);
    if (failed)
        (void)object_condition_set(a, conditions, "Failed", true, "JobsFailed", "A job of the TrainJob has failed",
                                   now_ms, 0);
    else if (complete && x->sets_n > 0)
        (void)object_condition_set(a, conditions, "Complete", true, "JobsCompleted",
                                   "All jobs of the TrainJob have completed", now_ms, 0);
    struct json *diff = object_diff(a, old, status);
    if (!diff)
        return;
    work_patch_status(w, kube_path(a, "trainer.kubeflow.org", "v1alpha1", "trainjobs", w->ns, w->name, "status"), x->job, diff);
}

static void reconcile(void *arg, struct work *w)
{
    struct trainjobs *t = arg;
    struct jobs *j = t->jobs;
    if (!kube_cache_synced(t->cache) || !kube_cache_synced(t->children) || !kube_cache_synced(j->runtimes) ||
        !kube_cache_synced(j->cluster_runtimes)) {
        work_again(w, 100);
        return;
    }
    struct pass x = {.t = t, .work = w};
    x.job = kube_cache_get(t->cache, w->ns, w->name, w->arena);
    if (!x.job || object_deleting(x.job) || object_condition_true(x.job, "Complete") ||
        object_condition_true(x.job, "Failed"))
        return;
    const char *why = NULL;
    x.runtime = trainjob_runtime(j, w->arena, x.job);
    x.sets_n = trainjob_sets(w->arena, x.job, x.runtime, &x.sets, &why);
    if (x.sets_n == 0) {
        job_event(j, x.job, API_VERSION, "TrainJob", "Warning", "TrainingRuntimeNotSupported", "%s", why);
        work_again(w, 5000); /* runtimes have no back reference */
        return;
    }
    x.gang = !*object_label(x.job, "kueue.x-k8s.io/queue-name") &&
             json_path(x.runtime, "spec", "podGroupPolicy", "coscheduling", NULL);
    bool suspend = json_get_bool(json_get(x.job, "spec"), "suspend", false);
    bool queued = *object_label(x.job, "kueue.x-k8s.io/queue-name") && !j->config.no_kueue;
    bool injected = false;
    JSON_EACH (patch, json_path(x.job, "spec", "runtimePatches", NULL))
        injected = injected || strcmp(json_get_text(patch, "manager", ""), "kueue.x-k8s.io/manager") == 0;
    if (suspend)
        children_stop(&x);
    else if (!queued || injected) /* a queued one that was never admitted is about to be suspended */
        children_make(&x);
    status_write(&x, suspend);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct trainjobs *t = arg;
    (void)event;
    (void)object;
    workqueue_add(t->queue, key);
}

static void on_child(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct trainjobs *t = arg;
    (void)event;
    struct arena *a = arena_new();
    const struct json *child = json_parse(a, object, NULL, NULL);
    const char *slash = strchr(key, '/'), *owner = object_controller(child, "name");
    if (*owner && strcmp(object_controller(child, "kind"), "TrainJob") == 0)
        workqueue_add(t->queue, arena_printf(a, "%.*s/%s", (int)(slash - key), key, owner));
    arena_free(a);
}

struct trainjobs *trainjobs_new(struct jobs *j)
{
    struct trainjobs *t = mem_zero(1, sizeof *t);
    t->jobs = j;
    t->queue = workqueue_new(j->client, reconcile, t);
    struct kube_cache_config jobs = {
        .watch = {.path = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs", .optional = true},
        .on_change = on_change,
        .arg = t};
    struct kube_cache_config children = {
        .watch = {.path = "/apis/batch/v1/jobs", .label_selector = SET_LABEL}, .on_change = on_child, .arg = t};
    t->cache = kube_cache_new(j->client, &jobs);
    t->children = kube_cache_new(j->client, &children);
    return t;
}

void trainjobs_free(struct trainjobs *t)
{
    if (!t)
        return;
    workqueue_free(t->queue);
    kube_cache_free(t->cache);
    kube_cache_free(t->children);
    free(t);
}
