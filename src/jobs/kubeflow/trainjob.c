/* trainjob.c - running TrainJobs where no trainer operator is installed (the embedded cluster)
 *
 * Its Jobs are those of a JobSet of its name (child_jobs.h). Without a queue, podGroupPolicy.coscheduling makes the trainer's pods one
 * gang.
 */
#include "base/clock.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/trainjob_sets.h"

#define API_VERSION "trainer.kubeflow.org/v1alpha1"

struct trainjobs {
    struct jobs *jobs;
    struct kube_cache *cache, *children;
    struct workqueue *queue;
};
struct pass {
    struct trainjobs *t;
    struct work *work;
    const struct json *job, *runtime;
    struct replicated_job *sets;
    uint32_t sets_n;
    struct child_jobs children;
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

static void gang_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *owners = job_owner(a, x->job, API_VERSION, "TrainJob");
    struct json *group = job_object(a, x->job, owners, "scheduling.x-k8s.io/v1alpha1", "PodGroup", x->work->name),
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

/* What the trainer's pods get besides, once for all of them. */
static void decorate(struct pass *x)
{
    struct arena *a = x->work->arena;
    for (uint32_t i = 0; i < x->sets_n; i++) {
        struct json *template = json_ensure_object(a, x->sets[i].job_spec, "template"), *meta = json_ensure_object(a, template, "metadata");
        if (!x->sets[i].is_trainer)
            continue;
        json_set_text(a, json_ensure_object(a, meta, "labels"), TRAINJOB_STEP_LABEL, "trainer");
        struct json *labels = json_new(a, JSON_OBJECT);
        json_set_text(a, labels, TRAINJOB_STEP_LABEL, "trainer");
        x->sets[i].labels = labels;
        if (x->gang)
            json_set_text(a, json_get(meta, "labels"), "scheduling.x-k8s.io/pod-group", x->work->name);
        trainjob_env(a, x->job, x->runtime, &x->sets[i], template);
    }
}

static void make(struct pass *x)
{
    if (child_jobs_make(&x->children) && x->gang)
        gang_create(x);
}

/* ---- status ---- */

static void status_write(struct pass *x, bool suspend)
{
    struct work *w = x->work;
    struct arena *a = w->arena;
    const struct json *old = json_get(x->job, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct json *list = json_new(a, JSON_ARRAY);
    bool failed = false, complete = true;
    for (uint32_t s = 0; s < x->sets_n; s++) {
        struct child_counts n = child_jobs_count(&x->children, &x->sets[s]);
        failed = failed || n.failed > 0;
        complete = complete && n.succeeded >= x->sets[s].replicas;
        json_append(list, child_jobs_status(a, &x->sets[s], &n));
    }
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
    decorate(&x);
    x.children = (struct child_jobs){.all = j, .work = w, .cache = t->children, .owner = x.job, .api_version = API_VERSION,
                                     .kind = "TrainJob", .subdomain = w->name, .jobs = x.sets, .n = x.sets_n};
    if (suspend)
        child_jobs_stop(&x.children);
    else if (!queued || injected) /* a queued one that was never admitted is about to be suspended */
        make(&x);
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
    const struct trainjobs *t = arg;
    (void)event;
    child_jobs_seen(t->queue, "TrainJob", key, object);
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
        .watch = {.path = "/apis/batch/v1/jobs", .label_selector = CHILD_SET_LABEL}, .on_change = on_child, .arg = t};
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
