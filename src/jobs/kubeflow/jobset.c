/* jobset.c - running JobSets where no JobSet operator is installed (the embedded cluster)
 *
 * A restart counts status.restarts up: Jobs of an earlier attempt are deleted and made again.
 */
#include "base/clock.h"
#include "codec/kinds/queued_kinds.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/jobset_plan.h"

#define API_VERSION "jobset.x-k8s.io/v1alpha2"
#define RESTARTING "RestartingJobSet"
#define CONTROLLER "jobset.sigs.k8s.io/jobset-controller"

struct jobsets {
    struct jobs *jobs;
    struct kube_cache *cache, *children;
    struct workqueue *queue;
};
struct pass {
    struct jobsets *t;
    struct work *work;
    const struct json *set;
    struct child_jobs children;
    int64_t now_ms;
};

static const char *path_of(const struct pass *x, const char *sub)
{
    return kube_path(x->work->arena, "jobset.x-k8s.io", "v1alpha2", "jobsets", x->work->ns, x->work->name, sub);
}

static void say(struct pass *x, struct json *conditions, const char *type, bool status, const char *reason, const char *message)
{
    bool is_bad = status && (strcmp(type, "Failed") == 0 || strcmp(type, RESTARTING) == 0);
    if (object_condition_set(x->work->arena, conditions, type, status, reason, message, x->now_ms, 0))
        job_event(x->t->jobs, x->set, API_VERSION, "JobSet", is_bad ? "Warning" : "Normal", reason, "%s", message);
}

/* A condition that is there is taken back; one that never was stays away. */
static void unsay(struct pass *x, struct json *conditions, const char *type, const char *reason, const char *message)
{
    if (object_condition_true(x->set, type))
        say(x, conditions, type, false, reason, message);
}

/* Which parts begin when, as far as it is InOrder. */
static void tell_order(struct pass *x, struct json *conditions, const struct child_counts *counts)
{
    bool all = true;
    for (uint32_t s = 0; s < x->children.n; s++)
        all = all && counts[s].ready + counts[s].succeeded + counts[s].failed >= x->children.jobs[s].replicas;
    if (!x->children.in_order)
        return;
    if (!all) {
        say(x, conditions, "StartupPolicyInProgress", true, "InOrderStartupPolicyInProgress", "in order startup policy is in progress");
        unsay(x, conditions, "StartupPolicyCompleted", "InOrderStartupPolicyCompleted", "in order startup policy has completed");
        return;
    }
    say(x, conditions, "StartupPolicyCompleted", true, "InOrderStartupPolicyCompleted", "in order startup policy has completed");
    unsay(x, conditions, "StartupPolicyInProgress", "InOrderStartupPolicyInProgress", "in order startup policy is in progress");
}

static bool all_ready(const struct pass *x, const struct child_counts *counts)
{
    bool all = true;
    for (uint32_t s = 0; s < x->children.n; s++)
        all = all && counts[s].ready + counts[s].succeeded >= x->children.jobs[s].replicas;
    return all;
}

static void restart(struct pass *x, struct json *status, struct json *conditions, const struct jobset_decision *d)
{
    struct arena *a = x->work->arena;
    if (d->alone)
        child_jobs_delete(&x->children, d->failed);
    else
        json_set_int64(a, status, "restarts", json_get_int64(status, "restarts", 0) + 1);
    if (d->counts)
        json_set_int64(a, status, "restartsCountTowardsMax", json_get_int64(status, "restartsCountTowardsMax", 0) + 1);
    job_event(x->t->jobs, x->set, API_VERSION, "JobSet", "Warning", d->reason, "%s", d->message);
    if (!d->alone)
        say(x, conditions, RESTARTING, true, d->rule ? arena_printf(a, "FailurePolicy_%s", d->rule) : "DefaultFailurePolicy", d->message);
}

static void conclude(struct pass *x, struct json *status, const struct child_counts *counts)
{
    struct arena *a = x->work->arena;
    struct json *conditions = json_ensure_array(a, status, "conditions");
    struct child_failure *failures;
    uint32_t failures_n = child_jobs_failures(&x->children, &failures);
    struct jobset_decision d = jobset_decide(a, x->set, x->children.jobs, x->children.n, counts, failures, failures_n);
    if (all_ready(x, counts))
        unsay(x, conditions, RESTARTING, "JobsReady", "all jobs are ready");
    if (d.verdict == JOBSET_RESTARTS) {
        restart(x, status, conditions, &d);
        return;
    }
    tell_order(x, conditions, counts);
    if (d.verdict == JOBSET_GOES_ON)
        return;
    const char *type = d.verdict == JOBSET_COMPLETED ? "Completed" : "Failed";
    json_set_text(a, status, "terminalState", type);
    say(x, conditions, type, true, d.reason, d.message);
    if (d.verdict == JOBSET_COMPLETED)
        unsay(x, conditions, RESTARTING, "JobSetCompleted", d.message);
    else
        unsay(x, conditions, RESTARTING, "JobSetFailed", "jobset failed");
}

static void status_write(struct pass *x, bool suspend)
{
    struct arena *a = x->work->arena;
    const struct json *old = json_get(x->set, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
    struct child_counts *counts = arena_zero(a, x->children.n + 1u, sizeof *counts);
    for (uint32_t s = 0; s < x->children.n; s++) {
        counts[s] = child_jobs_count(&x->children, &x->children.jobs[s]);
        json_append(list, child_jobs_status(a, &x->children.jobs[s], &counts[s]));
    }
    json_set(a, status, "replicatedJobsStatus", list);
    if (!json_get(status, "restarts"))
        json_set_int64(a, status, "restarts", 0);
    struct json *conditions = json_ensure_array(a, status, "conditions");
    if (suspend) {
        say(x, conditions, "Suspended", true, "SuspendedJobs", "jobset is suspended");
        unsay(x, conditions, RESTARTING, "JobSetSuspended", "jobset is suspended");
    } else if (object_condition_true(x->set, "Suspended"))
        say(x, conditions, "Suspended", false, "ResumeJobs", "jobset is resumed");
    if (!suspend)
        conclude(x, status, counts);
    struct json *diff = object_diff(a, old, status);
    if (diff)
        work_patch_status(x->work, path_of(x, "status"), x->set, diff);
}

/* What still runs of one that is over is not needed any more. */
static void pass_of_over(struct pass *x)
{
    const struct json *ttl = json_path(x->set, "spec", "ttlSecondsAfterFinished", NULL),
                      *over = object_condition(x->set, object_condition_true(x->set, "Completed") ? "Completed" : "Failed");
    int64_t ended_ms;
    child_jobs_stop(&x->children);
    if (!ttl || !time_parse(bytes_of(json_get_text(over, "lastTransitionTime", "")), &ended_ms))
        return;
    int64_t left_ms = ended_ms + json_int64(ttl, 0) * 1000 - x->now_ms;
    if (left_ms > 0)
        work_again(x->work, left_ms);
    else
        work_delete(x->work, path_of(x, NULL), object_meta(x->set, "uid"), "Background");
}

static bool is_queued(const struct pass *x)
{
    return *object_label(x->set, "kueue.x-k8s.io/queue-name") && !x->t->jobs->config.no_kueue;
}

/* A queued one that was never admitted is about to be suspended. */
static bool may_run(const struct pass *x)
{
    const struct json *first = json_item(json_path(x->set, "spec", "replicatedJobs", NULL), 0);
    return !is_queued(x) || json_path(first, "template", "spec", "template", "metadata", "annotations", "kueue.x-k8s.io/workload", NULL);
}

static void reconcile(void *arg, struct work *w)
{
    struct jobsets *t = arg;
    if (!kube_cache_synced(t->cache) || !kube_cache_synced(t->children)) {
        work_again(w, 100);
        return;
    }
    const struct queued_kind *k = &queued_kinds[QUEUED_JOBSET];
    struct pass x = {.t = t, .work = w, .now_ms = loop_wall_ms(t->jobs->loop)};
    x.set = kube_cache_get(t->cache, w->ns, w->name, w->arena);
    const char *managed_by = queued_kind_managed_by(k, x.set);
    if (!x.set || object_deleting(x.set) || (*managed_by && strcmp(managed_by, CONTROLLER) != 0))
        return;
    x.children = jobset_children(w->arena, x.set);
    x.children.all = t->jobs;
    x.children.work = w;
    x.children.cache = t->children;
    x.children.owner = x.set;
    x.children.api_version = API_VERSION;
    x.children.kind = "JobSet";
    x.children.attempt = json_int64(json_path(x.set, "status", "restarts", NULL), 0);
    child_jobs_read(&x.children);
    if (object_condition_true(x.set, "Completed") || object_condition_true(x.set, "Failed")) {
        pass_of_over(&x);
        return;
    }
    const char *strategy = json_text(json_path(x.set, "spec", "failurePolicy", "restartStrategy", NULL), "");
    bool suspend = queued_kind_is_suspended(k, x.set), stale = child_jobs_clear(&x.children),
         blocks = x.children.in_order || strcmp(strategy, "BlockingRecreate") == 0;
    if (suspend)
        child_jobs_stop(&x.children);
    else if (may_run(&x) && !(stale && blocks))
        (void)child_jobs_make(&x.children);
    if (!suspend && !is_queued(&x)) /* else it is stopped, and queued for as many */
        child_jobs_resize(&x.children);
    status_write(&x, suspend);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct jobsets *t = arg;
    (void)event;
    (void)object;
    workqueue_add(t->queue, key);
}

static void on_child(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    const struct jobsets *t = arg;
    (void)event;
    child_jobs_seen(t->queue, "JobSet", key, object);
}

struct jobsets *jobsets_new(struct jobs *j)
{
    struct jobsets *t = mem_zero(1, sizeof *t);
    t->jobs = j;
    t->queue = workqueue_new(j->client, reconcile, t);
    struct kube_cache_config sets = {
        .watch = {.path = "/apis/jobset.x-k8s.io/v1alpha2/jobsets", .optional = true}, .on_change = on_change, .arg = t};
    struct kube_cache_config children = {
        .watch = {.path = "/apis/batch/v1/jobs", .label_selector = CHILD_SET_LABEL}, .on_change = on_child, .arg = t};
    t->cache = kube_cache_new(j->client, &sets);
    t->children = kube_cache_new(j->client, &children);
    return t;
}

void jobsets_free(struct jobsets *t)
{
    if (!t)
        return;
    workqueue_free(t->queue);
    kube_cache_free(t->cache);
    kube_cache_free(t->children);
    free(t);
}
