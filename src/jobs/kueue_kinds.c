/* kueue_kinds.c - one reconciler for all kinds of queued jobs; what differs is in kueue_kind.h's callbacks
 *
 * A pass, in order: finished? -> Workload exists and fits the job? -> evicted: stop, undo, give back -> admitted: start
 * -> else: keep suspended. Each pass does one step and relies on the change that it causes to bring the next.
 */
#include "base/clock.h"
#include "base/log.h"
#include "jobs/kueue_kind.h"

struct served {
    struct kueue_kinds *all;
    const struct kueue_kind *kind;
    struct kube_cache *cache;
    struct workqueue *queue;
};
struct kueue_kinds {
    struct jobs *jobs;
    struct arena *scratch;
    struct served served[2];
    uint32_t served_n;
};

struct pass {
    struct served *s;
    struct work *work;
    const struct json *job;
    struct json *workload; /* NULL when there is none */
    const char *workload_name;
    int64_t now_ms;
};

static char *job_path(const struct pass *x, const char *sub)
{
    const struct kueue_kind *k = x->s->kind;
    return kube_path(x->work->arena, k->group, k->version, k->plural, x->work->ns, x->work->name, sub);
}

static char *workload_path(const struct pass *x, const char *name)
{
    return kube_path(x->work->arena, "kueue.x-k8s.io", "v1beta2", "workloads", x->work->ns, name, NULL);
}

#define EVENT(x, type, reason, ...)                                                                                    \
    job_event((x)->s->all->jobs, (x)->job, (x)->s->kind->api_version, (x)->s->kind->kind, type, reason, __VA_ARGS__)

/* A child of a kind that is itself queued follows its owner. */
static bool owned_by_queued_kind(const struct json *job)
{
    static const char *const owners[] = {"TrainJob", "JobSet", "MPIJob", "PyTorchJob", "TFJob", "RayJob", "RayCluster"};
    const char *kind = object_controller(job, "kind");
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (strcmp(kind, owners[i]) == 0)
            return true;
    return false;
}

static void suspend(struct pass *x, const char *why)
{
    struct json *patch = object_patch(x->work->arena, x->job);
    x->s->kind->stop(x->work->arena, patch);
    work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, NULL), patch);
    EVENT(x, "Normal", "Stopped", "%s", why);
}

/* ---- the Workload ---- */

static struct json *wanted_workload(struct pass *x)
{
    struct arena *a = x->work->arena;
    const struct kueue_kind *k = x->s->kind;
    const char *why = NULL;
    struct json *pod_sets = k->pod_sets(x->s->all->jobs, a, x->job, &why);
    if (!pod_sets) {
        EVENT(x, "Warning", "ErrWorkloadCompose", "%s", why ? why : "the pod sets are not known");
        return NULL;
    }
    struct kueue_workload_request r = {
        .name = x->workload_name, .queue = object_label(x->job, KUEUE_QUEUE_LABEL), .owner = x->job};
    r.priority_class = k->priority_class(a, x->job, pod_sets);
    r.pod_sets = pod_sets;
    r.owner_references = job_owner(a, x->job, k->api_version, k->kind);
    int64_t seconds;
    if (bytes_int64(bytes_of(object_label(x->job, KUEUE_EXEC_TIME_LABEL)), &seconds) && seconds > 0)
        r.max_exec_seconds = seconds;
    return kueue_workload(x->s->all->jobs, a, &r);
}

static void create_workload(struct pass *x)
{
    struct json *workload = wanted_workload(x);
    if (!workload)
        return;
    work_create(x->work, workload_path(x, NULL), workload);
    EVENT(x, "Normal", "CreatedWorkload", "Created Workload: %s/%s", x->work->ns, x->workload_name);
}

/* Names and counts; when nothing runs yet also all else that the job may have changed. */
static bool workload_fits(const struct json *workload, const struct json *wanted)
{
    const struct json *is = json_path(workload, "spec", "podSets", NULL),
                      *want = json_path(wanted, "spec", "podSets", NULL);
    if (!is || is->n != want->n)
        return false;
    const struct json *other = json_item(want, 0);
    JSON_EACH (set, is) {
        if (strcmp(json_get_text(set, "name", "main"), json_get_text(other, "name", "main")) != 0 ||
            json_get_int64(set, "count", 1) != json_get_int64(other, "count", 1))
            return false;
        other = other->next;
    }
    return true;
}

/* Does the job want more, or other, pods than its quota was taken for? */
static bool outgrown(struct pass *x)
{
    const char *why;
    const struct json *want = x->s->kind->pod_sets(x->s->all->jobs, x->work->arena, x->job, &why),
                      *is = json_item(json_path(x->workload, "spec", "podSets", NULL), 0);
    if (!want)
        return false;
    JSON_EACH (set, want) {
        if (!is || strcmp(json_get_text(set, "name", "main"), json_get_text(is, "name", "main")) != 0 ||
            json_get_int64(set, "count", 1) > json_get_int64(is, "count", 1))
            return true;
        is = is->next;
    }
    return is != NULL;
}

/* The job was changed while it waits: the Workload follows. Returns true when a write is on its way. */
static bool update_workload(struct pass *x, struct json *wanted)
{
    struct arena *a = x->work->arena;
    struct json *patch = object_patch(a, x->workload), *spec = json_new(a, JSON_OBJECT);
    const struct json *is = json_get(x->workload, "spec"), *want = json_get(wanted, "spec");
    if (!workload_fits(x->workload, wanted) && !object_condition_true(x->workload, "QuotaReserved"))
        json_set(a, spec, "podSets", json_clone(a, json_get(want, "podSets")));
    static const char *const plain[] = {"queueName", "priority", "priorityClassRef"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const struct json *from = json_get(is, plain[i]), *to = json_get(want, plain[i]);
        if (i == 0 && object_condition_true(x->workload, "QuotaReserved"))
            continue; /* immutable while reserved */
        if (to && (!from || !json_equal(from, to)))
            json_set(a, spec, plain[i], json_clone(a, to));
    }
    if (spec->n == 0)
        return false;
    json_set(a, patch, "spec", spec);
    work_patch(x->work, KUBE_PATCH_MERGE, workload_path(x, x->workload_name), patch);
    EVENT(x, "Normal", "UpdatedWorkload", "Updated workload: %s/%s", x->work->ns, x->workload_name);
    return true;
}

/* ---- steps ---- */

static void start(struct pass *x)
{
    struct arena *a = x->work->arena;
    uint32_t n;
    struct err e;
    struct kueue_start *starts = kueue_starts(x->s->all->jobs, a, x->workload, &n);
    if (!starts) {
        work_again(x->work, 200); /* the flavor's own watch is behind */
        return;
    }
    if (x->s->kind->active(x->job))
        return; /* made before it was suspended; their end brings the next pass */
    struct json *patch = object_patch(a, x->job);
    if (x->s->kind->rewind && x->s->kind->rewind(a, x->job, patch)) {
        work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, "status"), patch);
        return;
    }
    if (x->s->kind->start(a, x->job, starts, n, patch, &e) < 0) {
        kueue_workload_finish(x->work, x->workload, false, "FailedToStart", e.text, x->now_ms);
        EVENT(x, "Warning", "FailedToStart", "%s", e.text);
        return;
    }
    work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, NULL), patch);
    EVENT(x, "Normal", "Started", "Admitted by clusterQueue %s", n ? starts[0].cluster_queue : "");
}

/* Suspended and not admitted: take out what start put in, then give the quota back. Returns true when something was
 * written. */
static bool settle(struct pass *x)
{
    const struct kueue_kind *k = x->s->kind;
    struct json *patch = object_patch(x->work->arena, x->job);
    bool status = false;
    if (k->active(x->job))
        return true; /* pods are still going away; their end brings the next pass */
    if (k->restore(x->work->arena, x->job, x->workload, patch, &status)) {
        work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, status ? "status" : NULL), patch);
        return true;
    }
    if (object_condition_true(x->workload, "Evicted") || !json_get_bool(json_get(x->workload, "spec"), "active", true))
        kueue_workload_release(x->work, x->workload, x->now_ms);
    return false;
}

/* Its quota was for another shape of the job: the next pass makes a new one. */
static void drop_workload(struct pass *x)
{
    work_delete(x->work, workload_path(x, x->workload_name), object_meta(x->workload, "uid"), NULL);
    EVENT(x, "Normal", "DeletedWorkload", "Deleted not matching Workload: %s/%s", x->work->ns, x->workload_name);
}

static void pass_with_workload(struct pass *x)
{
    const struct kueue_kind *k = x->s->kind;
    bool suspended = k->suspended(x->job);
    if (kueue_admitted(x->workload) && outgrown(x)) {
        if (!suspended)
            suspend(x, "No matching Workload; the job was changed while it was admitted");
        else if (!settle(x))
            drop_workload(x);
        return;
    }
    if (kueue_admitted(x->workload)) {
        int64_t count = 0, ready_n = k->ready_n(x->job);
        JSON_EACH (set, json_path(x->workload, "spec", "podSets", NULL))
            count += json_get_int64(set, "count", 1);
        int64_t over_n = !suspended && k->over_n ? k->over_n(x->job, count) : 0;
        if (suspended)
            start(x);
        else if (over_n > 0 && kueue_workload_reclaim(x->work, x->workload, over_n))
            return; /* its change brings the next pass */
        else if (ready_n >= 0)
            kueue_workload_ready(x->work, x->workload, ready_n >= count, x->now_ms);
        return;
    }
    if (!suspended) {
        suspend(x, json_get_text(object_condition(x->workload, "Evicted"), "message", "Not admitted by cluster queue"));
        return;
    }
    if (settle(x))
        return;
    struct json *wanted = wanted_workload(x);
    if (wanted)
        (void)update_workload(x, wanted);
}

static void reconcile(void *arg, struct work *w)
{
    struct served *s = arg;
    struct jobs *j = s->all->jobs;
    if (!kube_cache_synced(s->cache) || !kube_cache_synced(j->workloads))
        return;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(j->loop)};
    x.job = kube_cache_get(s->cache, w->ns, w->name, w->arena);
    if (!x.job || object_deleting(x.job) || !*object_label(x.job, KUEUE_QUEUE_LABEL) || owned_by_queued_kind(x.job))
        return;
    x.workload_name = kueue_workload_name(w->arena, s->kind->prefix, s->kind->kind, s->kind->group, w->name,
                                          object_meta(x.job, "uid"));
    x.workload = kube_cache_get(j->workloads, w->ns, x.workload_name, w->arena);
    const char *message = "";
    enum kueue_end end = s->kind->ended(x.job, &message);
    if (end != KUEUE_NOT_ENDED) {
        if (!x.workload || object_condition_true(x.workload, "Finished"))
            return;
        kueue_workload_finish(w, x.workload, end == KUEUE_SUCCEEDED, NULL, message, x.now_ms);
        EVENT(&x, "Normal", "FinishedWorkload", "Workload '%s/%s' is declared finished", w->ns, x.workload_name);
        return;
    }
    if (x.workload && object_condition_true(x.workload, "Finished"))
        return;
    if (x.workload) {
        pass_with_workload(&x);
        return;
    }
    if (!s->kind->suspended(x.job)) {
        struct json *patch = object_patch(w->arena, x.job);
        s->kind->stop(w->arena, patch);
        work_patch(w, KUBE_PATCH_MERGE, job_path(&x, NULL), patch);
        EVENT(&x, "Normal", "Suspended", "Suspended until its Workload is admitted");
        return;
    }
    create_workload(&x);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct served *s = arg;
    (void)event;
    (void)object;
    workqueue_add(s->queue, key);
}

static void on_synced(void *arg)
{
    struct served *s = arg;
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(s->cache, &at, &key, &raw)) {
        arena_reset(s->all->scratch);
        workqueue_add(s->queue, arena_text_n(s->all->scratch, key.data, key.n));
    }
}

void kueue_kinds_synced(struct kueue_kinds *k)
{
    for (uint32_t i = 0; i < k->served_n; i++)
        on_synced(&k->served[i]);
}

void kueue_kinds_workload(struct kueue_kinds *k, const struct json *workload)
{
    const char *kind = object_controller(workload, "kind"), *name = object_controller(workload, "name");
    for (uint32_t i = 0; i < k->served_n; i++)
        if (strcmp(kind, k->served[i].kind->kind) == 0) {
            arena_reset(k->scratch);
            workqueue_add(k->served[i].queue,
                          arena_printf(k->scratch, "%s/%s", object_meta(workload, "namespace"), name));
        }
}

struct kueue_kinds *kueue_kinds_new(struct jobs *j)
{
    static const struct kueue_kind *const kinds[] = {&kueue_job_kind, &kueue_trainjob_kind};
    struct kueue_kinds *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->scratch = arena_new();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct served *s = &k->served[k->served_n++];
        s->all = k;
        s->kind = kinds[i];
        s->queue = workqueue_new(j->client, reconcile, s);
        const char *path =
            kube_path(k->scratch, kinds[i]->group, kinds[i]->version, kinds[i]->plural, NULL, NULL, NULL);
        struct kube_cache_config config = {
            .watch = {.path = path, .label_selector = KUEUE_QUEUE_LABEL, .optional = true},
            .on_change = on_change,
            .on_synced = on_synced,
            .arg = s};
        s->cache = kube_cache_new(j->client, &config);
    }
    return k;
}

void kueue_kinds_free(struct kueue_kinds *k)
{
    if (!k)
        return;
    for (uint32_t i = 0; i < k->served_n; i++) {
        workqueue_free(k->served[i].queue);
        kube_cache_free(k->served[i].cache);
    }
    arena_free(k->scratch);
    free(k);
}
