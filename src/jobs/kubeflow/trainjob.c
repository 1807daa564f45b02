/* trainjob.c - running TrainJobs where no trainer operator is installed: the embedded cluster, and --run-trainjobs
 *
 *     TrainJob ──▶ JobSet of its name ──▶ Jobs ──▶ pods            (embedded: jobset.c is there)
 *              └──▶ Jobs, as that JobSet would have them           (--run-trainjobs: nobody may run JobSets)
 *              └──▶ PodGroup; of mpi: Secret NAME-mpi-ssh-auth, ConfigMap NAME-mpi-hostfile
 *
 * Without a queue, podGroupPolicy makes the pods that train one gang.
 */
#include "base/clock.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/jobset_plan.h"
#include "jobs/kubeflow/trainjob_sets.h"
#include "jobs/volcano/vcjob_plugins.h"

#define API_VERSION "trainer.kubeflow.org/v1alpha1"
#define CONTROLLER "trainer.kubeflow.org/trainjob-controller"

struct trainjobs {
    struct jobs *jobs;
    struct kube_cache *cache, *made; /* made: JobSets; not embedded: Jobs */
    struct workqueue *queue;
};
struct pass {
    struct trainjobs *t;
    struct work *work;
    const struct json *job, *runtime;
    struct json *set, *gang;      /* its JobSet and PodGroup, as they are to be; gang NULL: none */
    const struct json *is;        /* the JobSet that is there, or NULL */
    struct child_jobs children;   /* not embedded */
    int64_t now_ms;
    bool suspend;
};

struct json *trainjob_runtime(struct jobs *j, struct arena *a, const struct json *trainjob)
{
    const struct json *ref = json_path(trainjob, "spec", "runtimeRef", NULL);
    const char *name = json_get_text(ref, "name", "");
    if (strcmp(json_get_text(ref, "kind", "ClusterTrainingRuntime"), "TrainingRuntime") == 0)
        return kube_cache_get(j->runtimes, object_meta(trainjob, "namespace"), name, a);
    return kube_cache_get(j->cluster_runtimes, "", name, a);
}

/* ---- what is made besides ---- */

static struct json *object_new(struct pass *x, const char *api_version, const char *kind, const char *name)
{
    struct arena *a = x->work->arena;
    return job_object(a, x->job, job_owner(a, x->job, API_VERSION, "TrainJob"), api_version, kind, name);
}

static void gang_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    const char *api_version = json_get_text(x->gang, "apiVersion", ""), *slash = strchr(api_version, '/');
    struct json *group = object_new(x, api_version, "PodGroup", x->work->name);
    json_set(a, group, "spec", json_clone(a, json_get(x->gang, "spec")));
    work_create(x->work, kube_path(a, arena_printf(a, "%.*s", (int)(slash - api_version), api_version), slash + 1, "podgroups", x->work->ns,
                                   NULL, NULL), group);
}

static void mpi_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    const char *hosts = trainjob_hostfile(a, x->job, x->runtime, x->set);
    char *private, *public;
    if (!hosts)
        return;
    struct json *config = object_new(x, "v1", "ConfigMap", arena_printf(a, "%s-mpi-hostfile", x->work->name));
    json_set_text(a, json_ensure_object(a, config, "data"), "hostfile", hosts);
    work_create(x->work, kube_path(a, "", "v1", "configmaps", x->work->ns, NULL, NULL), config);
    if (vcjob_ssh_key_short(a, &private, &public, NULL) < 0)
        return;
    struct json *secret = object_new(x, "v1", "Secret", arena_printf(a, "%s-mpi-ssh-auth", x->work->name)),
                *data = json_ensure_object(a, secret, "stringData");
    json_set_text(a, secret, "type", "kubernetes.io/ssh-auth");
    json_set_bool(a, secret, "immutable", true);
    json_set_text(a, data, "ssh-privatekey", private);
    json_set_text(a, data, "ssh-publickey", public);
    work_create(x->work, kube_path(a, "", "v1", "secrets", x->work->ns, NULL, NULL), secret);
}

static bool was_refused(const struct pass *x)
{
    return work_failed(x->work) && *work_failure(x->work);
}

/* Before the first pod; once more where something was refused. */
static void make_besides(struct pass *x)
{
    mpi_create(x);
    if (x->gang)
        gang_create(x);
}

/* ---- the JobSet ---- */

static const char *sets_path(const struct pass *x, const char *name)
{
    return kube_path(x->work->arena, "jobset.x-k8s.io", "v1alpha2", "jobsets", x->work->ns, name, NULL);
}

static void set_create(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *set = object_new(x, "jobset.x-k8s.io/v1alpha2", "JobSet", x->work->name), *meta = json_get(set, "metadata");
    JSON_EACH (group, json_get(x->set, "metadata"))
        json_set(a, meta, group->key, json_clone(a, group));
    json_set(a, set, "spec", json_clone(a, json_get(x->set, "spec")));
    json_set_bool(a, json_get(set, "spec"), "suspend", x->suspend);
    make_besides(x);
    work_create(x->work, sets_path(x, NULL), set);
}

/* What may change of a pod template while a JobSet stands still; all else is as when it was made, whatever became of the runtime. */
static void template_take(struct arena *a, struct json *template, const struct json *from)
{
    static const char *const open[] = {"nodeSelector", "tolerations", "schedulingGates"};
    if (!json_is(template, JSON_OBJECT) || !json_is(from, JSON_OBJECT))
        return;
    if (json_get(from, "metadata"))
        json_set(a, template, "metadata", json_clone(a, json_get(from, "metadata")));
    else
        (void)json_remove(template, "metadata");
    struct json *spec = json_ensure_object(a, template, "spec");
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (json_path(from, "spec", open[i], NULL))
            json_set(a, spec, open[i], json_clone(a, json_path(from, "spec", open[i], NULL)));
        else
            (void)json_remove(spec, open[i]);
}

static void set_follow(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *patch = object_patch(a, x->is), *spec = json_ensure_object(a, patch, "spec");
    struct json *list = json_clone(a, json_path(x->is, "spec", "replicatedJobs", NULL));
    JSON_EACH (replicated, list)
        JSON_EACH (wanted, json_path(x->set, "spec", "replicatedJobs", NULL))
            if (strcmp(json_get_text(wanted, "name", ""), json_get_text(replicated, "name", "")) == 0)
                template_take(a, json_path(replicated, "template", "spec", "template", NULL),
                              json_path(wanted, "template", "spec", "template", NULL));
    json_set_bool(a, spec, "suspend", x->suspend);
    json_set(a, spec, "replicatedJobs", list);
    work_patch(x->work, KUBE_PATCH_MERGE, sets_path(x, x->work->name), patch);
}

static void follow(struct pass *x, bool waits)
{
    if (was_refused(x))
        job_event(x->t->jobs, x->job, API_VERSION, "TrainJob", "Warning", "TrainJobResourcesCreationFailed",
                  "TrainJob resources reconciliation failed: %s", work_failure(x->work));
    if (x->is && strcmp(object_controller(x->is, "uid"), object_meta(x->job, "uid")) != 0) {
        job_event(x->t->jobs, x->job, API_VERSION, "TrainJob", "Warning", "TrainJobResourcesCreationFailed",
                  "there is a JobSet \"%s\" that this TrainJob has not made: delete it, or give the TrainJob another name", x->work->name);
        x->is = NULL;
        work_again(x->work, 5000);
    } else if (!x->is && !waits) {
        set_create(x);
    } else if (x->is && !object_deleting(x->is) && !waits) {
        if (was_refused(x))
            make_besides(x);
        if (json_get_bool(json_get(x->is, "spec"), "suspend", false) != x->suspend)
            set_follow(x);
    }
}

/* ---- Jobs without a JobSet ---- */

static void jobs_run(struct pass *x, bool waits)
{
    struct child_jobs *c = &x->children;
    *c = jobset_children(x->work->arena, x->set);
    c->all = x->t->jobs;
    c->work = x->work;
    c->cache = x->t->made;
    c->owner = x->job;
    c->api_version = API_VERSION;
    c->kind = "TrainJob";
    child_jobs_read(c);
    if (x->suspend) {
        child_jobs_stop(c);
    } else if (!waits) {
        if (!child_jobs_any(c) || was_refused(x))
            make_besides(x);
        (void)child_jobs_make(c);
    }
}

/* ---- status ---- */

static void say(struct pass *x, struct json *conditions, const char *type, bool is, const char *reason, const char *message)
{
    (void)object_condition_set(x->work->arena, conditions, type, is, reason, message, x->now_ms, 0);
}

static void conclude_as_set(struct pass *x, struct json *status, struct json *conditions)
{
    static const char *const ends[][2] = {{"Completed", "Complete"}, {"Failed", "Failed"}};
    static const char *const counts[] = {"ready", "succeeded", "failed", "active", "suspended"};
    struct arena *a = x->work->arena;
    struct json *list = json_new(a, JSON_ARRAY);
    JSON_EACH (one, json_path(x->is, "status", "replicatedJobsStatus", NULL)) {
        struct json *item = json_new(a, JSON_OBJECT);
        json_set_text(a, item, "name", json_get_text(one, "name", ""));
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            json_set_int64(a, item, counts[i], json_get_int64(one, counts[i], 0));
        json_append(list, item);
    }
    if (list->n)
        json_set(a, status, "jobsStatus", list);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const struct json *end = object_condition(x->is, ends[i][0]);
        if (object_condition_true(x->is, ends[i][0]))
            say(x, conditions, ends[i][1], true, json_get_text(end, "reason", ""), json_get_text(end, "message", ""));
    }
}

static void conclude_as_jobs(struct pass *x, struct json *status, struct json *conditions)
{
    struct arena *a = x->work->arena;
    struct json *list = json_new(a, JSON_ARRAY);
    struct child_counts *counts = arena_zero(a, x->children.n + 1u, sizeof *counts);
    for (uint32_t s = 0; s < x->children.n; s++) {
        counts[s] = child_jobs_count(&x->children, &x->children.jobs[s]);
        json_append(list, child_jobs_status(a, &x->children.jobs[s], &counts[s]));
    }
    json_set(a, status, "jobsStatus", list);
    struct child_failure *failures;
    uint32_t failures_n = child_jobs_failures(&x->children, &failures);
    (void)json_remove(json_get(x->set, "spec"), "failurePolicy"); /* nobody counts restarts */
    struct jobset_decision d = jobset_decide(a, x->set, x->children.jobs, x->children.n, counts, failures, failures_n);
    if (d.verdict == JOBSET_FAILED)
        say(x, conditions, "Failed", true, d.reason, d.message);
    else if (d.verdict == JOBSET_COMPLETED)
        say(x, conditions, "Complete", true, d.reason, d.message);
}

/* It has had its time, counted from when it was made or resumed. */
static void keep_deadline(struct pass *x, struct json *conditions)
{
    const struct json *most = json_path(x->job, "spec", "activeDeadlineSeconds", NULL), *suspended = object_condition(x->job, "Suspended");
    const char *since = suspended ? json_get_text(suspended, "lastTransitionTime", "") : object_meta(x->job, "creationTimestamp");
    int64_t since_ms;
    if (!most || x->suspend || object_condition_true(x->job, "Suspended") || !time_parse(bytes_of(since), &since_ms))
        return;
    int64_t left_ms = time_after_s(since_ms, json_int64(most, 0)) - x->now_ms;
    if (left_ms > 0) {
        work_again(x->work, left_ms);
        return;
    }
    say(x, conditions, "Failed", true, "DeadlineExceeded", "TrainJob exceeded its active deadline");
    if (x->is)
        work_delete(x->work, sets_path(x, x->work->name), object_meta(x->is, "uid"), "Background");
    else
        child_jobs_stop(&x->children);
}

static void status_write(struct pass *x)
{
    struct work *w = x->work;
    struct arena *a = w->arena;
    const struct json *old = json_get(x->job, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct json *conditions = json_ensure_array(a, status, "conditions");
    if (x->suspend)
        say(x, conditions, "Suspended", true, "Suspended", "TrainJob is suspended");
    else if (object_condition_true(x->job, "Suspended"))
        say(x, conditions, "Suspended", false, "Resumed", "TrainJob is resumed");
    if (x->t->jobs->config.embedded)
        conclude_as_set(x, status, conditions);
    else
        conclude_as_jobs(x, status, conditions);
    struct json *told = json_new(a, JSON_OBJECT);
    json_set(a, told, "status", status);
    if (!object_condition_true(told, "Complete") && !object_condition_true(told, "Failed"))
        keep_deadline(x, conditions);
    struct json *diff = object_diff(a, old, status);
    if (!diff)
        return;
    work_patch_status(w, kube_path(a, "trainer.kubeflow.org", "v1alpha1", "trainjobs", w->ns, w->name, "status"), x->job, diff);
}

/* ---- a pass ---- */

static bool all_synced(const struct trainjobs *t)
{
    return kube_cache_synced(t->cache) && kube_cache_synced(t->made) && kube_cache_synced(t->jobs->runtimes) &&
           kube_cache_synced(t->jobs->cluster_runtimes);
}

/* A queued one that was never admitted is about to be suspended. */
static bool awaits_queue(const struct pass *x)
{
    bool waits = *object_label(x->job, "kueue.x-k8s.io/queue-name") && !x->t->jobs->config.no_kueue && !x->suspend;
    JSON_EACH (patch, json_path(x->job, "spec", "runtimePatches", NULL))
        waits = waits && strcmp(json_get_text(patch, "manager", ""), "kueue.x-k8s.io/manager") != 0;
    return waits;
}

static void reconcile(void *arg, struct work *w)
{
    struct trainjobs *t = arg;
    struct jobs *j = t->jobs;
    if (!all_synced(t)) {
        work_again(w, 100);
        return;
    }
    struct pass x = {.t = t, .work = w, .now_ms = loop_wall_ms(j->loop)};
    x.job = kube_cache_get(t->cache, w->ns, w->name, w->arena);
    const char *managed_by = json_text(json_path(x.job, "spec", "managedBy", NULL), ""), *why = NULL;
    if (!x.job || object_deleting(x.job) || object_condition_true(x.job, "Complete") || object_condition_true(x.job, "Failed") ||
        (*managed_by && strcmp(managed_by, CONTROLLER) != 0))
        return;
    x.runtime = trainjob_runtime(j, w->arena, x.job);
    x.set = trainjob_jobset(w->arena, x.job, x.runtime, &why);
    x.is = j->config.embedded ? kube_cache_get(t->made, w->ns, w->name, w->arena) : NULL;
    if (!x.set && !x.is) {
        job_event(j, x.job, API_VERSION, "TrainJob", "Warning", "TrainingRuntimeNotSupported", "%s", why);
        work_again(w, 5000); /* runtimes have no back reference */
        return;
    }
    if (!x.set)
        x.set = json_clone(w->arena, x.is); /* it goes on as it was made */
    else
        trainjob_equip(w->arena, x.job, x.runtime, x.set);
    x.suspend = json_get_bool(json_get(x.job, "spec"), "suspend", false);
    if (!*object_label(x.job, "kueue.x-k8s.io/queue-name"))
        x.gang = trainjob_gang(w->arena, x.job, x.runtime, x.set);
    if (j->config.embedded)
        follow(&x, awaits_queue(&x));
    else
        jobs_run(&x, awaits_queue(&x));
    status_write(&x);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct trainjobs *t = arg;
    (void)event;
    (void)object;
    workqueue_add(t->queue, key);
}

/* A Job, or a JobSet. */
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
    struct kube_cache_config sets = {
        .watch = {.path = "/apis/jobset.x-k8s.io/v1alpha2/jobsets", .optional = true}, .on_change = on_child, .arg = t};
    t->cache = kube_cache_new(j->client, &jobs);
    t->made = kube_cache_new(j->client, j->config.embedded ? &sets : &children);
    return t;
}

void trainjobs_free(struct trainjobs *t)
{
    if (!t)
        return;
    workqueue_free(t->queue);
    kube_cache_free(t->cache);
    kube_cache_free(t->made);
    free(t);
}
