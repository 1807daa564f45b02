/* batch_job.c - reconcile one Job at a time: read it and its pods, plan, carry the plan out, write the status when it differs */
#include "jobs/batch/batch_job.h"
#include <stdlib.h>
#include "base/clock.h"
#include "base/collections/map.h"
#include "jobs/batch/claim.h"
#include "jobs/batch/job_pods.h"
#include "jobs/batch/pod_template.h"
#include "kube/cache.h"
#include "kube/object.h"
#include "kube/workqueue.h"

#define BACKOFF_FIRST_MS 10000 /* after a failed pod; doubles */
#define BACKOFF_MAX_MS 360000
#define CREATE_BATCH 500       /* pods of one job created in one pass */

/* What ended and is gone, per job uid, since the last status write that contains it. */
struct history {
    int64_t succeeded_n, failed_n;
    char *failure;                     /* see job_history; NULL */
    struct job_create *index_failures; /* one for each index that has some */
    uint32_t index_failures_n, index_failures_cap;
};

struct batch_jobs {
    struct kube_client *client;
    struct loop *loop;
    struct kube_recorder *events;
    struct batch_jobs_config config;
    struct kube_cache *jobs;
    struct job_pods *pods;
    struct workqueue *queue;
    struct map *seen; /* job uid -> struct history: made at the first look */
    struct random random;
};

/* ---- pods ---- */

static void add_index_variable(struct arena *a, struct json *containers)
{
    JSON_EACH (container, containers) {
        struct json *variable = json_new(a, JSON_OBJECT);
        json_set_text(a, variable, "name", "JOB_COMPLETION_INDEX");
        struct json *field = json_ensure_object(a, json_ensure_object(a, variable, "valueFrom"), "fieldRef");
        json_set_text(a, field, "fieldPath", "metadata.annotations['batch.kubernetes.io/job-completion-index']");
        json_append(json_ensure_array(a, container, "env"), variable);
    }
}

static void set_index(struct arena *a, struct json *pod, const char *job, int32_t index)
{
    struct json *metadata = json_get(pod, "metadata"), *spec = json_ensure_object(a, pod, "spec");
    const char *text = arena_printf(a, "%d", index);
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), "batch.kubernetes.io/job-completion-index", text);
    json_set_text(a, json_ensure_object(a, metadata, "labels"), "batch.kubernetes.io/job-completion-index", text);
    if (!json_get(spec, "hostname"))
        json_set_text(a, spec, "hostname", arena_printf(a, "%s-%d", job, index));
    add_index_variable(a, json_get(spec, "containers"));
    add_index_variable(a, json_get(spec, "initContainers"));
}

static struct json *pod_of(struct batch_jobs *b, struct work *w, const struct json *job, int32_t index)
{
    struct arena *a = w->arena;
    const char *uid = json_get_text(json_get(job, "metadata"), "uid", "");
    const char *middle = index >= 0 ? arena_printf(a, "-%d", index) : "";
    const char *base = arena_printf(a, "%.*s%s", 57 - (int)strlen(middle), w->name, middle);
    struct json *pod = pod_from_template(a, &b->random, json_path(job, "spec", "template", NULL), job, "batch/v1", "Job", base);
    struct json *labels = json_ensure_object(a, json_get(pod, "metadata"), "labels");
    json_set_text(a, labels, "batch.kubernetes.io/controller-uid", uid);
    json_set_text(a, labels, "batch.kubernetes.io/job-name", w->name);
    json_set_text(a, labels, "controller-uid", uid);
    json_set_text(a, labels, "job-name", w->name);
    if (index >= 0)
        set_index(a, pod, w->name, index);
    return pod;
}

/* A job that is found by the name in the pod's label. */
static void on_orphan(void *arg, const char *ns, const struct json *labels)
{
    struct batch_jobs *b = arg;
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, json_get_text(labels, "batch.kubernetes.io/job-name", ""));
    if (kube_cache_raw(b->jobs, ns, json_get_text(labels, "batch.kubernetes.io/job-name", "")).n)
        workqueue_add(b->queue, key.data);
}

/* WHY  released without asking whether the label is gone or the pod: it need not be known, the uid goes along. */
static void on_left(void *arg, const struct json *pod)
{
    struct batch_jobs *b = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf patch = {0};
    const char *ns = object_meta(pod, "namespace");
    const struct json *job = kube_cache_get(b->jobs, ns, object_controller(pod, "name"), a);
    if (!job || object_deleting(job) || !text_equal(object_meta(job, "uid"), object_controller(pod, "uid")))
        return;
    json_write(&patch, claim_release_patch(a, job, pod));
    kube_patch(b->client, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", ns, object_meta(pod, "name"), NULL), buf_view(&patch), NULL,
               NULL);
}

static void on_not_created(void *arg, const char *key, int code, const char *why)
{
    (void)why;
    struct batch_jobs *b = arg;
    workqueue_add_after(b->queue, key, code == -E_AGAIN || code == -E_IO ? 200 : 2000);
}

static void act_remove(struct work *w, const struct job_pod *p)
{
    work_delete(w, kube_path(w->arena, "", "v1", "pods", p->ns, p->name, NULL), p->uid, "Background");
}

/* ---- status ---- */

static const struct json *condition_of(const struct json *conditions, const char *type)
{
    JSON_EACH (condition, conditions)
        if (text_equal(json_get_text(condition, "type", ""), type))
            return condition;
    return NULL;
}

static bool condition_holds(const struct json *job, const char *type)
{
    const struct json *c = condition_of(json_path(job, "status", "conditions", NULL), type);
    return text_equal(json_get_text(c, "status", ""), "True");
}

/* Set type=status; the transition time moves only when the status does. Returns true when the status changed. */
static bool condition_set(struct arena *a, struct json *conditions, const char *type, bool holds, const char *reason, const char *message,
                          const char *now)
{
    struct json *c = (struct json *)condition_of(conditions, type);
    const char *text = holds ? "True" : "False";
    if (c && text_equal(json_get_text(c, "status", ""), text))
        return false;
    if (!c) {
        c = json_new(a, JSON_OBJECT);
        json_append(conditions, c);
    }
    json_set_text(a, c, "type", type);
    json_set_text(a, c, "status", text);
    json_set_text(a, c, "lastProbeTime", now);
    json_set_text(a, c, "lastTransitionTime", now);
    json_set_text(a, c, "reason", reason);
    json_set_text(a, c, "message", message);
    return true;
}

static void set_count(struct arena *a, struct json *status, const char *key, int64_t n, bool keep_zero)
{
    if (n > 0 || keep_zero)
        json_set_int64(a, status, key, n);
    else if (json_get(status, key))
        json_set(a, status, key, json_new(a, JSON_NULL));
}

static void set_end(struct batch_jobs *b, struct work *w, struct json *status, const struct job_plan *plan,
                    const struct kube_object_ref *ref, const char *now)
{
    struct arena *a = w->arena;
    struct json *conditions = json_ensure_array(a, status, "conditions");
    bool complete = plan->verdict == JOB_COMPLETE;
    condition_set(a, conditions, complete ? "SuccessCriteriaMet" : "FailureTarget", true, plan->reason, plan->message, now);
    if (plan->active_n > 0 || plan->terminating_n > 0)
        return; /* Complete and Failed come when every pod has ended */
    if (!condition_set(a, conditions, complete ? "Complete" : "Failed", true, plan->reason, plan->message, now))
        return;
    if (complete)
        json_set_text(a, status, "completionTime", now);
    kube_event_then(b->events, w, ref, complete ? "Normal" : "Warning", complete ? "Completed" : plan->reason, "%s",
                    complete ? "Job completed" : plan->message);
}

static void set_suspension(struct batch_jobs *b, struct work *w, struct json *status, bool suspended, const struct kube_object_ref *ref,
                           const char *now)
{
    struct arena *a = w->arena;
    struct json *conditions = json_ensure_array(a, status, "conditions");
    if (suspended) {
        json_set(a, status, "startTime", json_new(a, JSON_NULL));
        if (condition_set(a, conditions, "Suspended", true, "JobSuspended", "Job suspended", now))
            kube_event_then(b->events, w, ref, "Normal", "Suspended", "Job suspended");
        return;
    }
    if (!json_is(json_get(status, "startTime"), JSON_STRING))
        json_set_text(a, status, "startTime", now);
    if (condition_of(conditions, "Suspended") &&
        condition_set(a, conditions, "Suspended", false, "JobResumed", "Job resumed", now))
        kube_event_then(b->events, w, ref, "Normal", "Resumed", "Job resumed");
}

static void write_status(struct batch_jobs *b, struct work *w, const struct json *job, const struct job_plan *plan)
{
    struct arena *a = w->arena;
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(b->loop));
    const struct json *old = json_get(job, "status");
    struct json *status = old ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct kube_object_ref ref = {"batch/v1", "Job", w->ns, w->name, json_get_text(json_get(job, "metadata"), "uid", "")};
    set_suspension(b, w, status, json_get_bool(json_get(job, "spec"), "suspend", false), &ref, now);
    set_count(a, status, "active", plan->active_n, false);
    set_count(a, status, "ready", plan->ready_n, true);
    set_count(a, status, "terminating", plan->terminating_n, true);
    set_count(a, status, "succeeded", plan->succeeded_n, false);
    set_count(a, status, "failed", plan->failed_n, false);
    if (plan->completed_indexes && (plan->completed_indexes[0] || json_get(status, "completedIndexes")))
        json_set_text(a, status, "completedIndexes", plan->completed_indexes);
    if (plan->failed_indexes && (plan->failed_indexes[0] || json_get(status, "failedIndexes")))
        json_set_text(a, status, "failedIndexes", plan->failed_indexes);
    json_ensure_object(a, status, "uncountedTerminatedPods");
    if (plan->verdict != JOB_GO_ON)
        set_end(b, w, status, plan, &ref, now);
    if (json_get(status, "conditions") && json_get(status, "conditions")->n == 0)
        json_remove(status, "conditions");
    if (old && json_equal(old, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", ref.uid);
    json_set(a, patch, "status", status);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "batch", "v1", "jobs", w->ns, w->name, "status"), patch);
}

/* ---- reconcile ---- */

static int64_t scaled_ms(const struct batch_jobs *b, int64_t simulated_ms)
{
    return (int64_t)((double)simulated_ms / b->config.speed);
}

static void collect_finished(struct batch_jobs *b, struct work *w, const struct json *job)
{
    int64_t ttl_s = json_get_int64(json_get(job, "spec"), "ttlSecondsAfterFinished", -1), ended_ms = 0;
    const struct json *conditions = json_path(job, "status", "conditions", NULL);
    const struct json *end = condition_holds(job, "Complete") ? condition_of(conditions, "Complete") : condition_of(conditions, "Failed");
    if (ttl_s < 0 || !time_parse(json_bytes(json_get(end, "lastTransitionTime")), &ended_ms))
        return;
    int64_t left_ms = ended_ms + scaled_ms(b, ttl_s * 1000) - loop_wall_ms(b->loop);
    if (left_ms > 0)
        work_again(w, left_ms);
    else
        work_delete(w, kube_path(w->arena, "batch", "v1", "jobs", w->ns, w->name, NULL),
                    json_get_text(json_get(job, "metadata"), "uid", ""), "Background");
}

/* Is the pod one of those that status.failed counts? */
static bool counts_as_failed(struct arena *a, const struct json *job, const struct job_pod *p)
{
    const char *why;
    return p->phase == JOB_POD_FAILED && !p->let_go &&
           batch_job_failure(a, json_get(job, "spec"), p, &why) != JOB_FAILURE_IGNORED;
}

/* At the first look at a job, what status counts beyond the pods that exist is history. */
static struct history *history_of(struct batch_jobs *b, struct arena *a, const struct json *job, const struct job_pod *const *pods,
                                  uint32_t pods_n)
{
    bool is_new;
    struct history *h = map_put(b->seen, json_bytes(json_path(job, "metadata", "uid", NULL)), &is_new);
    if (!is_new)
        return h;
    h->succeeded_n = json_get_int64(json_get(job, "status"), "succeeded", 0);
    h->failed_n = json_get_int64(json_get(job, "status"), "failed", 0);
    for (uint32_t i = 0; i < pods_n; i++) {
        h->succeeded_n -= pods[i]->phase == JOB_POD_SUCCEEDED && h->succeeded_n > 0;
        h->failed_n -= h->failed_n > 0 && counts_as_failed(a, job, pods[i]);
    }
    return h;
}

/* 0 = create now; else how long the last failure still holds creation back. */
static int64_t backoff_left_ms(const struct batch_jobs *b, const struct job_create *create)
{
    if (create->last_failure_ms == 0)
        return 0;
    int64_t delay_ms = BACKOFF_FIRST_MS;
    for (int64_t i = 1; i < create->failures_n && delay_ms < BACKOFF_MAX_MS; i++)
        delay_ms *= 2;
    delay_ms = scaled_ms(b, delay_ms < BACKOFF_MAX_MS ? delay_ms : BACKOFF_MAX_MS);
    int64_t left_ms = create->last_failure_ms + delay_ms - loop_wall_ms(b->loop);
    return left_ms > 0 ? left_ms : 0;
}

static void act_plan(struct batch_jobs *b, struct work *w, const struct json *job, const struct job_plan *plan)
{
    uint32_t created_n = 0;
    for (uint32_t i = 0; i < plan->remove_n; i++)
        act_remove(w, plan->remove[i]);
    for (uint32_t i = 0; i < plan->create_n; i++) {
        int64_t wait_ms = created_n < CREATE_BATCH ? backoff_left_ms(b, &plan->create[i]) : 1;
        if (wait_ms > 0) {
            work_again(w, wait_ms);
            if (created_n == CREATE_BATCH)
                return;
            continue;
        }
        int32_t index = plan->create[i].index;
        job_pods_create(b->pods, w->arena, w->key, pod_of(b, w, job, index), index);
        created_n++;
    }
}

static void watch_deadline(struct batch_jobs *b, struct work *w, const struct json *job)
{
    int64_t deadline_s = json_get_int64(json_get(job, "spec"), "activeDeadlineSeconds", -1), started_ms = loop_wall_ms(b->loop);
    if (deadline_s < 0)
        return;
    time_parse(json_bytes(json_path(job, "status", "startTime", NULL)), &started_ms);
    int64_t left_ms = time_after_s(started_ms, deadline_s) - loop_wall_ms(b->loop);
    work_again(w, left_ms > 0 ? left_ms : 1000);
}

static void reconcile(void *arg, struct work *w)
{
    struct batch_jobs *b = arg;
    if (!kube_cache_synced(b->jobs) || !job_pods_synced(b->pods))
        return; /* all keys are added again when both are */
    struct json *job = kube_cache_get(b->jobs, w->ns, w->name, w->arena);
    const struct json *metadata = json_get(job, "metadata"), *spec = json_get(job, "spec");
    const char *manager = json_get_text(spec, "managedBy", "kubernetes.io/job-controller");
    if (!job || json_get(metadata, "deletionTimestamp") || !text_equal(manager, "kubernetes.io/job-controller"))
        return;
    if (condition_holds(job, "Complete") || condition_holds(job, "Failed")) {
        collect_finished(b, w, job);
        return;
    }
    if (job_pods_claim(b->pods, w, job, "batch/v1", NULL))
        return;
    const struct job_pod *const *pods;
    uint32_t pods_n = job_pods_of(b->pods, json_get_text(metadata, "uid", ""), w->arena, &pods);
    const struct history *seen = history_of(b, w->arena, job, pods, pods_n);
    struct job_history history = {.succeeded_n = seen->succeeded_n, .failed_n = seen->failed_n, .failure = seen->failure,
                                  .completed_indexes = json_get_text(json_get(job, "status"), "completedIndexes", NULL),
                                  .failed_indexes = json_get_text(json_get(job, "status"), "failedIndexes", NULL),
                                  .index_failures = seen->index_failures, .index_failures_n = seen->index_failures_n};
    struct job_plan plan;
    batch_job_plan(w->arena, job, pods, pods_n, &history, loop_wall_ms(b->loop), &plan);
    write_status(b, w, job, &plan);
    if (plan.verdict == JOB_GO_ON || plan.is_decided) /* ORDER what ends the job is told before the pods go that it was counted in */
        act_plan(b, w, job, &plan);
    if (plan.verdict == JOB_GO_ON && !json_get_bool(spec, "suspend", false))
        watch_deadline(b, w, job);
}

/* ---- changes ---- */

static void history_drop(struct batch_jobs *b, struct bytes uid)
{
    struct history *h = map_find(b->seen, uid);
    if (!h)
        return;
    free(h->failure);
    free(h->index_failures);
    map_remove(b->seen, uid);
}

static void on_job(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct batch_jobs *b = arg;
    if (event != KUBE_DELETED) {
        workqueue_add(b->queue, key);
        return;
    }
    _cleanup_arena_ struct arena *a = arena_new();
    history_drop(b, json_bytes(json_path(json_parse(a, object, NULL, NULL), "metadata", "uid", NULL)));
}

/* WHY  with FailIndex one is as many as there may be: whatever the limit, the index has failed. */
static void index_failed(struct history *h, const struct job_pod *p, bool for_good)
{
    uint32_t i = 0;
    while (i < h->index_failures_n && h->index_failures[i].index != p->index)
        i++;
    if (i == h->index_failures_n) {
        MEM_RESERVE(h->index_failures, h->index_failures_cap, h->index_failures_n + 1);
        h->index_failures[h->index_failures_n++] = (struct job_create){.index = p->index};
    }
    struct job_create *all = &h->index_failures[i];
    all->failures_n += for_good ? (int64_t)INT32_MAX + 1 : 1;
    all->last_failure_ms = p->ended_ms > all->last_failure_ms ? p->ended_ms : all->last_failure_ms;
}

/* A pod that failed is gone. WHY  by the job as it is now: no pass may have seen the pod between its failure and its end, as where its
 * node was removed. */
static void count_gone(struct batch_jobs *b, struct history *h, const char *job_name, const struct job_pod *gone)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *spec = json_get(kube_cache_get(b->jobs, gone->ns, job_name, a), "spec");
    const char *why;
    enum job_failure failure = batch_job_failure(a, spec, gone, &why);
    if (failure == JOB_FAILURE_IGNORED)
        return;
    h->failed_n++;
    if (why && !h->failure)
        h->failure = mem_text(why);
    if (gone->index >= 0 && json_get(spec, "backoffLimitPerIndex"))
        index_failed(h, gone, failure == JOB_FAILURE_OF_INDEX);
}

/* WHY  also one that runs, as the last word was: kubelets say of a pod that was disrupted that it failed, simulated ones save the write. */
static bool has_failed(const struct job_pod *gone)
{
    return gone->phase == JOB_POD_FAILED ? !gone->let_go : gone->phase != JOB_POD_SUCCEEDED && gone->disrupted;
}

static void on_pod(void *arg, const char *ns, const char *job, const char *job_uid, const struct job_pod *gone)
{
    struct batch_jobs *b = arg;
    struct history *h = gone ? map_find_text(b->seen, job_uid) : NULL;
    if (h)
        h->succeeded_n += gone->phase == JOB_POD_SUCCEEDED;
    if (h && has_failed(gone))
        count_gone(b, h, job, gone);
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, job);
    workqueue_add(b->queue, key.data);
}

static void on_synced(void *arg)
{
    struct batch_jobs *b = arg;
    if (!b->jobs || !b->pods || !kube_cache_synced(b->jobs) || !job_pods_synced(b->pods))
        return;
    workqueue_add_all(b->queue, b->jobs, NULL);
}

struct batch_jobs *batch_jobs_new(struct kube_client *c, struct kube_recorder *events, const struct batch_jobs_config *config)
{
    struct batch_jobs *b = mem_zero(1, sizeof *b);
    b->client = c;
    b->loop = kube_client_loop(c);
    b->events = events;
    b->config = *config;
    b->random.state = config->seed;
    b->seen = map_new(sizeof(struct history));
    b->queue = workqueue_new(c, reconcile, b);
    b->pods = job_pods_new(c, &(struct job_pods_config){.owner_kind = "Job",
                                                        .label_selector = "batch.kubernetes.io/job-name",
                                                        .on_change = on_pod,
                                                        .on_synced = on_synced,
                                                        .on_not_created = on_not_created,
                                                        .on_orphan = on_orphan,
                                                        .on_left = on_left,
                                                        .arg = b});
    b->jobs = kube_cache_new(c, &(struct kube_cache_config){
                                    .watch = {.path = "/apis/batch/v1/jobs"}, .on_change = on_job, .on_synced = on_synced, .arg = b});
    return b;
}

void batch_jobs_free(struct batch_jobs *b)
{
    if (!b)
        return;
    workqueue_free(b->queue);
    kube_cache_free(b->jobs);
    job_pods_free(b->pods);
    size_t at = 0;
    for (struct history *h; (h = map_next(b->seen, &at, NULL));) {
        free(h->failure);
        free(h->index_failures);
    }
    map_free(b->seen);
    free(b);
}
