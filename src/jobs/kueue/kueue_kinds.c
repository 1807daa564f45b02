/* kueue_kinds.c - one reconciler for all kinds of queued jobs; what differs is in kueue_kind.h's callbacks
 *
 * A pass, in order: finished? -> Workload exists and fits the job? -> evicted: stop, undo, give back -> admitted: start
 * -> else: keep suspended. Each pass does one step and relies on the change that it causes to bring the next.
 */
#include "base/clock.h"
#include "base/collections/map.h"
#include "base/log.h"
#include "codec/decode/decode.h"
#include "codec/kinds/waiting_names.h"
#include "jobs/kueue/kueue_in_use.h"
#include "jobs/kueue/kueue_retention.h"
#include "jobs/kueue/kueue_scope.h"
#include "jobs/kueue/kueue_served.h"

enum { UNREAD_MS = 200, MISSED_MS = 5000 }; /* asked for again: a watch is behind; somebody has to make it */

/* ORDER queued_kinds */
static const struct kueue_kind *const calls[QUEUED_KINDS_N] = {
    [QUEUED_JOB] = &kueue_job_kind,
    [QUEUED_TRAINJOB] = &kueue_trainjob_kind,
    [QUEUED_JOBSET] = &kueue_jobset_kind,
    [QUEUED_MPIJOB] = &kueue_kubeflow_kind,
    [QUEUED_PYTORCHJOB] = &kueue_kubeflow_kind,
    [QUEUED_TFJOB] = &kueue_kubeflow_kind,
    [QUEUED_XGBOOSTJOB] = &kueue_kubeflow_kind,
    [QUEUED_JAXJOB] = &kueue_kubeflow_kind,
    [QUEUED_PADDLEJOB] = &kueue_kubeflow_kind,
    [QUEUED_RAYJOB] = &kueue_rayjob_kind,
    [QUEUED_RAYCLUSTER] = &kueue_raycluster_kind,
    [QUEUED_RAYSERVICE] = &kueue_rayservice_kind,
    [QUEUED_SPARKAPPLICATION] = &kueue_sparkapplication_kind,
};

const struct kueue_kind *kueue_kind_of(const struct queued_kind *k)
{
    return calls[k - queued_kinds];
}

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
    const struct queued_kind *k = x->s->kind;
    return kube_path(x->work->arena, k->group, k->version, k->plural, x->work->ns, x->work->name, sub);
}

static const char *api_version(const struct pass *x)
{
    return arena_printf(x->work->arena, "%s/%s", x->s->kind->group, x->s->kind->version);
}

#define WARN(x, reason, ...)                                                                                                        \
    job_event((x)->s->all->jobs, (x)->job, api_version(x), (x)->s->kind->kind, "Warning", reason, __VA_ARGS__)
/* Of the next write, once it is done. */
#define TELL_THEN(x, reason, ...)                                                                                                   \
    job_event_then((x)->s->all->jobs, (x)->work, (x)->job, api_version(x), (x)->s->kind->kind, "Normal", reason, __VA_ARGS__)

/* Made by the operator of a kind that is itself queued: it has no Workload of its own. */
static bool owned_by_queued_kind(const struct json *job)
{
    const struct queued_kind *k = queued_kind_named(object_controller(job, "kind"));
    return k && k != &queued_kinds[QUEUED_JOB];
}

static bool is_suspended(const struct pass *x)
{
    return queued_kind_is_suspended(x->s->kind, x->job);
}

static void suspend(struct pass *x, const char *reason, const char *why)
{
    struct json *patch = object_patch(x->work->arena, x->job);
    json_set_bool(x->work->arena, queued_kind_policy(x->work->arena, x->s->kind, patch), "suspend", true);
    bool unused = false;
    if (x->s->calls->restores_at_once && x->workload)
        (void)x->s->calls->restore(x->work->arena, x->s->kind, x->job, x->workload, patch, &unused);
    TELL_THEN(x, reason, "%s", why);
    work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, NULL), patch);
}

/* ---- the Workload ---- */

#define CLASS_NOT_FOUND "WorkloadPriorityClassNotFound"

static struct json *pod_sets_of(struct pass *x, const char **ret_why)
{
    return x->s->calls->pod_sets(x->s->all->jobs, x->work->arena, x->s->kind, x->job, ret_why);
}

/* SOURCE Kueue */
const char *kueue_priority_class(const struct queued_kind *k, const struct json *job, const struct json *pod_sets)
{
    const struct kueue_kind *kind = kueue_kind_of(k);
    const char *class = kind->priority_class ? kind->priority_class(k, job) : "";
    JSON_EACH (set, pod_sets)
        if (!*class)
            class = json_text(json_path(set, "template", "spec", "priorityClassName", NULL), "");
    return class;
}

/* NULL: they cannot be said yet, and are asked for again. WHY  what a job is made from does not name the job. */
static struct json *wanted_pod_sets(struct pass *x)
{
    const char *why = NULL;
    struct json *sets = pod_sets_of(x, &why);
    if (sets)
        (void)map_remove(x->s->missed, bytes_of(x->work->key));
    if (!sets && why) {
        uint64_t is = hash_bytes(why, strlen(why), 0), *told = map_put(x->s->missed, bytes_of(x->work->key), NULL);
        if (*told != is)
            WARN(x, "ErrWorkloadCompose", "%s", why);
        *told = is;
    }
    if (!sets)
        work_again(x->work, why ? MISSED_MS : UNREAD_MS);
    return sets;
}

static struct json *wanted_workload(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *pod_sets = wanted_pod_sets(x);
    if (!pod_sets)
        return NULL;
    struct kueue_workload_request r = {
        .name = x->workload_name, .queue = object_label(x->job, KUEUE_QUEUE_LABEL), .owner = x->job};
    r.priority_class = kueue_priority_class(x->s->kind, x->job, pod_sets);
    r.pod_sets = pod_sets;
    r.later = x->s->calls->later ? x->s->calls->later(x->s->all->jobs, a, x->s->kind, x->job) : NULL;
    r.owner_references = job_owner(a, x->job, api_version(x), x->s->kind->kind);
    const char *why = "";
    struct json *workload = kueue_workload(x->s->all->jobs, a, &r, &why);
    if (!workload)
        WARN(x, CLASS_NOT_FOUND, "%s", why); /* its coming brings the next pass */
    return workload;
}

static void create_workload(struct pass *x)
{
    struct json *workload = wanted_workload(x);
    if (!workload)
        return;
    TELL_THEN(x, "CreatedWorkload", "Created Workload: %s/%s", x->work->ns, x->workload_name);
    work_create(x->work, kueue_workload_path(x->work, NULL, NULL), workload);
}

/* Does the job want more, or other, pods than its quota was taken for? */
static bool outgrown(struct pass *x)
{
    const char *why;
    const struct json *want = pod_sets_of(x, &why);
    return want && !kueue_workload_covers(x->workload, want);
}

/* Members that will not be needed again, as the job says now: pod set -> count. */
static const struct json *over_now(const struct pass *x)
{
    struct json *over = json_new(x->work->arena, JSON_OBJECT);
    if (x->s->calls->over && !x->s->all->jobs->policy.hides_reclaimable)
        x->s->calls->over(x->work->arena, x->job, x->workload, over);
    return over;
}

/* Are members made again that were over? WHY  they gave their quota back, or it was granted without them: it is not enough for all, and
 * while it is held what is over cannot become less. */
static bool came_back(const struct pass *x)
{
    if (!x->s->calls->begins_anew || x->s->all->jobs->policy.hides_reclaimable)
        return false;
    const struct json *over = over_now(x);
    JSON_EACH (one, json_path(x->workload, "status", "reclaimablePods", NULL))
        if (json_get_int64(over, json_get_text(one, "name", "main"), 0) < json_get_int64(one, "count", 0))
            return true;
    return false;
}

/* What was over was so of the pod sets before; of the new ones it is counted when they run. ORDER  first, as more pods over than there are
 * would be refused. Returns true when a write is on its way. */
static bool forget_reclaimed(struct pass *x)
{
    struct arena *a = x->work->arena;
    const struct json *over = json_path(x->workload, "status", "reclaimablePods", NULL);
    struct json *status = json_new(a, JSON_OBJECT);
    if (!json_is(over, JSON_ARRAY) || !over->n)
        return false;
    json_set(a, status, "reclaimablePods", json_new(a, JSON_NULL));
    work_patch_status(x->work, kueue_workload_path(x->work, x->workload_name, "status"), x->workload, status);
    return true;
}

/* The job was changed while it waits: pod sets and queue of the Workload follow. With quota both are fixed. */
static void update_workload(struct pass *x, struct json *wanted)
{
    struct arena *a = x->work->arena;
    struct json *patch = object_patch(a, x->workload), *spec = json_new(a, JSON_OBJECT);
    const struct json *want = json_get(wanted, "spec"), *sets = json_get(want, "podSets");
    if (object_condition_true(x->workload, "QuotaReserved"))
        return;
    bool differs = !kueue_workload_fits(x->workload, sets) || kueue_topology_is_missing(x->workload, sets);
    if ((differs || came_back(x)) && forget_reclaimed(x))
        return; /* its change brings the next pass */
    if (differs)
        json_set(a, spec, "podSets", json_clone(a, sets));
    const char *later = object_annotation(wanted, DECODE_LATER_ANNOTATION), *queue = json_get_text(want, "queueName", "");
    bool later_differs = strcmp(later, object_annotation(x->workload, DECODE_LATER_ANNOTATION)) != 0;
    if (later_differs)
        json_set(a, json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations"), DECODE_LATER_ANNOTATION,
                 *later ? json_new_text(a, later) : json_new(a, JSON_NULL));
    if (*queue && strcmp(json_get_text(json_get(x->workload, "spec"), "queueName", ""), queue) != 0)
        json_set_text(a, spec, "queueName", queue);
    if (spec->n == 0 && !later_differs)
        return;
    if (spec->n)
        json_set(a, patch, "spec", spec);
    TELL_THEN(x, "UpdatedWorkload", "Updated workload: %s/%s", x->work->ns, x->workload_name);
    work_patch(x->work, KUBE_PATCH_MERGE, kueue_workload_path(x->work, x->workload_name, NULL), patch);
}

/* Returns true when a write is on its way. */
static bool follow_priority(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *patch = object_patch(a, x->workload), *spec = json_ensure_object(a, patch, "spec");
    const char *class = kueue_priority_class(x->s->kind, x->job, json_path(x->workload, "spec", "podSets", NULL)), *missing = NULL;
    bool differs = kueue_follow_priority(x->s->all->jobs, a, x->job, x->workload, class, spec, &missing);
    if (missing)
        WARN(x, CLASS_NOT_FOUND, "WorkloadPriorityClass \"%s\" not found", missing);
    if (!differs)
        return false;
    TELL_THEN(x, "UpdatedWorkload", "Updated workload priority class: %s/%s", x->work->ns, x->workload_name);
    work_patch(x->work, KUBE_PATCH_MERGE, kueue_workload_path(x->work, x->workload_name, NULL), patch);
    return true;
}

/* Checkpoints are told of while it runs. */
static bool follow_stakes(struct pass *x)
{
    struct json *patch = object_patch(x->work->arena, x->workload);
    bool differs = kueue_copy_stakes(x->work->arena, x->job, x->workload, patch);
    if (differs)
        work_patch(x->work, KUBE_PATCH_MERGE, kueue_workload_path(x->work, x->workload_name, NULL), patch);
    return differs;
}

/* ---- steps ---- */

static void start(struct pass *x)
{
    struct arena *a = x->work->arena;
    uint32_t n;
    struct err e;
    struct kueue_start *starts = kueue_starts(x->s->all->jobs, a, x->workload, &n);
    if (!starts) {
        work_again(x->work, UNREAD_MS); /* the flavor's own watch is behind */
        return;
    }
    if (x->s->calls->active(x->job))
        return; /* made before it was suspended; their end brings the next pass */
    struct json *patch = object_patch(a, x->job);
    if (x->s->calls->rewind && x->s->calls->rewind(a, x->job, patch)) {
        work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, "status"), patch);
        return;
    }
    json_set_bool(a, queued_kind_policy(a, x->s->kind, patch), "suspend", false);
    if (x->s->calls->start(a, x->s->kind, x->job, starts, n, patch, &e) < 0) {
        kueue_workload_finish(x->work, x->workload, false, "FailedToStart", e.text, x->now_ms);
        WARN(x, "FailedToStart", "%s", e.text);
        return;
    }
    if (work_refusals(x->work) && *work_failure(x->work))
        WARN(x, "FailedToStart", "%s", work_failure(x->work)); /* and is tried again */
    TELL_THEN(x, "Started", "Admitted by clusterQueue %s", n ? starts[0].cluster_queue : "");
    work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, NULL), patch);
}

/* The job is suspended: take out what start put in. Returns true when that is not over yet. */
static bool undo_start(struct pass *x)
{
    const struct kueue_kind *k = x->s->calls;
    struct json *patch = object_patch(x->work->arena, x->job);
    bool status = false;
    if (k->active(x->job))
        return true; /* pods are still going away; their end brings the next pass */
    if (k->restore(x->work->arena, x->s->kind, x->job, x->workload, patch, &status)) {
        work_patch(x->work, KUBE_PATCH_MERGE, job_path(x, status ? "status" : NULL), patch);
        return true;
    }
    return false;
}

/* Do its pod templates say of which Workload they are? */
static bool is_marked(const struct pass *x)
{
    bool status = false;
    return x->s->calls->restore(x->work->arena, x->s->kind, x->job, x->workload, json_new(x->work->arena, JSON_OBJECT), &status);
}

/* Somebody resumed it between its admission and its start: its pods would be nowhere near where it has quota, and nobody's.
 * WHY  only of those that were seen to stand still: what an older Kueue has started runs on without a mark. */
static bool runs_unstarted(const struct pass *x)
{
    return map_find(x->s->still, bytes_of(x->work->key)) && !is_marked(x);
}

/* Suspended and not admitted: undo the start, then give the quota back. Returns true when the start is not undone yet. */
static bool settle(struct pass *x)
{
    if (undo_start(x))
        return true;
    /* WHY not what only waits for its checks: who evicts it has to say why first */
    bool shut = !json_get_bool(json_get(x->workload, "spec"), "active", true) && object_condition_true(x->workload, "Admitted");
    if (shut || object_condition_true(x->workload, "Evicted"))
        kueue_workload_release(x->work, x->workload, false, x->now_ms);
    return false;
}

/* Its quota was for another shape of the job: the next pass makes a new one. */
static void drop_workload(struct pass *x)
{
    TELL_THEN(x, "DeletedWorkload", "Deleted not matching Workload: %s/%s", x->work->ns, x->workload_name);
    work_delete(x->work, kueue_workload_path(x->work, x->workload_name, NULL), object_meta(x->workload, "uid"), NULL);
}

/* Somebody deletes the Workload: it goes when its job stands still and is as it was. */
static void pass_with_leaving_workload(struct pass *x)
{
    if (!is_suspended(x))
        suspend(x, "Stopped", "Workload is deleted");
    else if (!undo_start(x))
        kueue_workload_let_go(x->work, x->workload);
}

/* An invalid job is on hold, and queued again once its operator takes that back. WHY suspended first: or it would start without quota
 * then. Returns false when there is nothing to be done about that. SOURCE Kueue, which leaves it as it is. */
static bool pass_of_invalid(struct pass *x)
{
    const struct json *reserved = object_condition(x->workload, "QuotaReserved");
    bool held = strcmp(json_get_text(reserved, "message", ""), WORKLOAD_INVALID_MESSAGE) == 0;
    if (!x->s->calls->is_invalid || !x->s->calls->is_invalid(x->job))
        return held && kueue_workload_say(x->work, x->workload, "QuotaReserved", false, "PendingEvaluation",
                                          "The job is valid again: its Workload waits for quota", x->now_ms);
    if (!is_suspended(x))
        suspend(x, "Stopped", WORKLOAD_INVALID_MESSAGE);
    else if (!undo_start(x) && !held)
        kueue_workload_hold(x->work, x->workload, WORKLOAD_INVALID_MESSAGE, x->now_ms);
    return true;
}

/* Its Workload was deactivated, and it is not kept any longer: it goes, and Workload and pods with it. */
static bool retire(struct pass *x)
{
    if (!kueue_retention_is_over(x->s->all->jobs, x->work, x->workload, x->now_ms))
        return false;
    TELL_THEN(x, "Deleted", KUEUE_JOB_DELETED);
    work_delete(x->work, job_path(x, NULL), object_meta(x->job, "uid"), "Background");
    return true;
}

/* Members that the job runs at a time: those that it was started with, where that is not all. */
static int64_t running_n(struct pass *x, int64_t all_n)
{
    const char *why;
    int64_t n = 0;
    const struct json *sets = pod_sets_of(x, &why);
    JSON_EACH (set, sets)
        n += json_get_int64(set, "count", 1);
    return sets ? n : all_n;
}

/* Its quota is granted: it starts, or says how far it is. */
static void pass_of_admitted(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct jobs *j = x->s->all->jobs;
    const struct kueue_kind *k = x->s->calls;
    const struct json *sets = json_path(x->workload, "spec", "podSets", NULL);
    int64_t count = 0;
    if (is_suspended(x)) {
        start(x);
        return;
    }
    (void)map_remove(x->s->still, bytes_of(x->work->key));
    JSON_EACH (set, sets)
        count += json_get_int64(set, "count", 1);
    if (kueue_workload_reclaim(x->work, x->workload, over_now(x)))
        return; /* its change brings the next pass */
    if (k->ready_n && j->config.says_ready)
        kueue_workload_ready(x->work, x->workload, k->ready_n(x->job) >= running_n(x, count), x->now_ms);
    else if (k->all_ready && j->config.says_ready)
        kueue_workload_ready(x->work, x->workload, k->all_ready(j, a, x->job), x->now_ms);
}

/* Why its quota is not that of the job any more; NULL: it is, or it has none. */
static const char *outgrown_by(struct pass *x)
{
    if (!kueue_holds_quota(x->workload))
        return NULL;
    if (outgrown(x))
        return "No matching Workload; the job was changed while it was admitted";
    return came_back(x) ? "Pods that were over are made again, and need the quota that they gave back: the job is queued again" : NULL;
}

static void pass_with_workload(struct pass *x)
{
    bool suspended = is_suspended(x);
    if (suspended)
        (void)map_put(x->s->still, bytes_of(x->work->key), NULL); /* no value */
    if (object_deleting(x->workload)) {
        pass_with_leaving_workload(x);
        return;
    }
    if (pass_of_invalid(x) || follow_priority(x) || follow_stakes(x))
        return; /* its change brings the next pass */
    const char *outgrown = outgrown_by(x);
    if (outgrown) {
        if (!suspended)
            suspend(x, "Stopped", outgrown);
        else if (!settle(x))
            drop_workload(x);
        return;
    }
    if (kueue_admitted(x->workload)) {
        if (!suspended && runs_unstarted(x))
            suspend(x, "Stopped", "It was resumed before it was started: now it starts where its Workload has quota");
        else
            pass_of_admitted(x);
        return;
    }
    if (!suspended) {
        suspend(x, "Stopped", json_get_text(object_condition(x->workload, "Evicted"), "message", "Not admitted by cluster queue"));
        return;
    }
    if (retire(x))
        return;
    bool settles = settle(x);
    if (object_condition(x->workload, "PodsReady") && !object_condition_true(x->workload, "QuotaReserved"))
        kueue_workload_waits(x->work, x->workload, x->now_ms); /* nothing where the release has said so */
    if (settles)
        return;
    struct json *wanted = wanted_workload(x);
    if (wanted)
        update_workload(x, wanted);
}

/* SOURCE Kueue: a job has one Workload; others that name it as their controller go. */
static void drop_strays(struct pass *x)
{
    struct jobs *j = x->s->all->jobs;
    const char *uid = object_meta(x->job, "uid"), *ns = arena_printf(x->work->arena, "%s/", x->work->ns);
    struct bytes key, raw;
    if (!map_remove(x->s->all->strayed, bytes_of(x->work->key)))
        return;
    for (size_t at = 0; kube_cache_next(j->workloads, &at, &key, &raw);) {
        if (!bytes_starts(key, ns) || !memmem(raw.data, raw.n, uid, strlen(uid)))
            continue;
        const struct json *workload = json_parse(x->work->arena, raw, NULL, NULL);
        const char *name = object_meta(workload, "name");
        if (strcmp(name, x->workload_name) == 0 || !kueue_workload_is_of(workload, x->job))
            continue;
        if (object_deleting(workload)) {
            kueue_workload_let_go(x->work, workload);
            continue;
        }
        TELL_THEN(x, "DeletedWorkload", "Deleted not matching Workload: %s/%s", x->work->ns, name);
        work_delete(x->work, kueue_workload_path(x->work, name, NULL), object_meta(workload, "uid"), NULL);
    }
}

/* ---- jobs of jobs ---- */

static bool is_over(const struct pass *x, bool *ret_well, const char **ret_message)
{
    const char *well = x->s->kind->succeeded;
    if (x->s->calls->over_well)
        return x->s->calls->over_well(x->job, ret_well, ret_message);
    *ret_well = object_condition_true(x->job, well);
    *ret_message = json_get_text(object_condition(x->job, *ret_well ? well : "Failed"), "message", "");
    return *ret_well || object_condition_true(x->job, "Failed");
}

/* Does it wait for a Workload of its own, and is something done about it? */
static bool is_queued(const struct served *s, const struct json *job)
{
    return kueue_scope_has(s->all->jobs, job) && !(s->calls->is_skipped && s->calls->is_skipped(job));
}

/* Is the job part of another that is queued, however far above? Then it runs while that one's Workload does, and has none of its own.
 * SOURCE Kueue, for how far it looks, too. */
static bool follows_ancestor(struct pass *x)
{
    const struct served *s;
    const char *workload_of = NULL;
    const struct kueue_kinds *all = x->s->all;
    const struct json *above = kueue_parent_of(all, x->work->arena, x->job, &s);
    if (above && s->calls == &kueue_rayservice_kind)
        return false; /* WHY  KubeRay makes others, and leaves those that it has as they are: one would stay suspended for ever */
    for (int level = 0; above && level < KUEUE_ANCESTORS_MOST; level++, above = kueue_parent_of(all, x->work->arena, above, &s))
        if (is_queued(s, above))
            workload_of = kueue_job_workload_name(s->kind, x->work->arena, above);
    if (!workload_of)
        return false;
    const struct json *workload = kube_cache_get(x->s->all->jobs->workloads, x->work->ns, workload_of, x->work->arena);
    bool unused;
    const char *unused_too;
    if (!is_over(x, &unused, &unused_too) && !is_suspended(x) && !(workload && object_condition_true(workload, "Admitted")))
        suspend(x, "Suspended", "Kueue managed child job suspended");
    return true;
}

/* Is the Workload that was made for the job its own? */
static bool adopt(struct pass *x)
{
    if (kueue_workload_is_of(x->workload, x->job))
        return true;
    struct kueue_workload_request r = {.name = x->workload_name, .owner = x->job};
    r.owner_references = job_owner(x->work->arena, x->job, api_version(x), x->s->kind->kind);
    r.pod_sets = wanted_pod_sets(x);
    if (r.pod_sets)
        kueue_workload_adopt(x->s->all->jobs, x->work, x->workload, &r, x->now_ms);
    return false; /* its change brings the next pass */
}

/* Nobody is left who would release its Workload. */
static void job_gone(struct served *s, const struct json *job, struct arena *a)
{
    if (job)
        kueue_in_use_owner_gone(s->all->jobs->kueue_in_use, arena_printf(a, "%s/%s", object_meta(job, "namespace"),
                                                                         kueue_job_workload_name(s->kind, a, job)));
}

/* The Workload of a job that is over is, too. Returns true when the job is. */
static bool finish(struct pass *x)
{
    bool succeeded;
    const char *message;
    if (!is_over(x, &succeeded, &message))
        return false;
    if (!x->workload || object_condition_true(x->workload, "Finished"))
        return true;
    if (!*message)
        message = arena_printf(x->work->arena, "%s %s", x->s->kind->kind, succeeded ? "finished successfully" : "failed");
    TELL_THEN(x, "FinishedWorkload", "Workload '%s/%s' is declared finished", x->work->ns, x->workload_name);
    kueue_workload_finish(x->work, x->workload, succeeded, NULL, message, x->now_ms);
    return true;
}

static void reconcile(void *arg, struct work *w)
{
    struct served *s = arg;
    struct jobs *j = s->all->jobs;
    if (!kube_cache_synced(s->cache) || !kueue_ready(j))
        return;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(j->loop)};
    x.job = kube_cache_get(s->cache, w->ns, w->name, w->arena);
    if (!x.job || object_deleting(x.job)) {
        (void)map_remove(s->missed, bytes_of(w->key));
        (void)map_remove(s->still, bytes_of(w->key));
        (void)map_remove(s->all->strayed, bytes_of(w->key));
        job_gone(s, x.job, w->arena);
        return;
    }
    if ((s->calls->is_skipped && s->calls->is_skipped(x.job)) || follows_ancestor(&x) || owned_by_queued_kind(x.job))
        return;
    x.workload_name = kueue_job_workload_name(s->kind, w->arena, x.job);
    x.workload = kube_cache_get(j->workloads, w->ns, x.workload_name, w->arena);
    /* WHY  who was taken in is served to its end, wherever its namespace is by now: its Workload holds quota that nobody else gives back */
    bool taken_in = x.workload && kueue_workload_is_of(x.workload, x.job);
    if (!taken_in && !kueue_scope_has(j, x.job))
        return;
    drop_strays(&x);
    if (finish(&x) || (x.workload && object_condition_true(x.workload, "Finished")))
        return;
    bool prebuilt = *kueue_prebuilt_name(x.job) != '\0';
    if (x.workload && (!prebuilt || adopt(&x))) {
        pass_with_workload(&x);
        return;
    }
    if (!is_suspended(&x))
        suspend(&x, "Suspended", "Suspended until its Workload is admitted");
    else if (!prebuilt)
        create_workload(&x);
    /* else whoever makes its Workload brings the next pass */
}

/* A job runs while the Workload of the job above it does. WHY  kinds that are queued elsewhere look after their own, and of others there is
 * no Workload: their uids would make each change of a Workload a walk over all jobs, or stay for ever. */
static void follow_parent(struct served *s, const struct json *job, bool is_gone)
{
    const char *uid = object_controller(job, "uid");
    bool is_served = false, is_there = false;
    for (uint32_t i = 0; *uid && i < s->all->served_n && !owned_by_queued_kind(job); i++) {
        const struct served *of = &s->all->served[i];
        if (strcmp(object_controller(job, "kind"), of->kind->kind) != 0)
            continue;
        struct bytes above = kube_cache_raw(of->cache, object_meta(job, "namespace"), object_controller(job, "name"));
        is_served = true;
        is_there = above.n && memmem(above.data, above.n, uid, strlen(uid));
    }
    if (is_served && !is_gone)
        (void)map_put(s->all->parents, bytes_of(uid), NULL); /* not there yet: it may get its queue later */
    else if (is_served && !is_there)
        (void)map_remove(s->all->parents, bytes_of(uid));
}

/* What the operator of the job `uid` has made of it, as far as it is known. */
static void look_at_children(struct kueue_kinds *k, const char *uid)
{
    struct bytes key, raw;
    for (uint32_t i = 0; i < k->served_n; i++)
        for (size_t at = 0; kube_cache_next_of(k->served[i].cache, uid, &at, &key, &raw);)
            workqueue_add(k->served[i].queue, key.data);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct served *s = arg;
    struct arena *a = s->all->scratch;
    arena_reset(a);
    const struct json *job = json_parse(a, object, NULL, NULL);
    const char *named = kueue_prebuilt_name(job), *above = owned_by_queued_kind(job) ? object_controller(job, "uid") : "";
    follow_parent(s, job, event == KUBE_DELETED);
    if (event == KUBE_DELETED) {
        map_remove(s->all->parents, bytes_of(object_meta(job, "uid")));
        job_gone(s, job, a);
    } else
        kube_cache_mark(s->cache, key, *named ? arena_printf(a, "%s/%s", object_meta(job, "namespace"), named) : above);
    if (event == KUBE_ADDED)
        look_at_children(s->all, object_meta(job, "uid")); /* RACE  their watch may be ahead */
    workqueue_add(s->queue, key);
}

static bool keeps(void *arg, struct bytes object)
{
    (void)arg;
    return kueue_owners_keep(object);
}

static void on_synced(void *arg)
{
    struct served *s = arg;
    workqueue_add_all(s->queue, s->cache, NULL);
}

void kueue_kinds_synced(struct kueue_kinds *k)
{
    for (uint32_t i = 0; i < k->served_n; i++)
        on_synced(&k->served[i]);
}

void kueue_kinds_naming(struct kueue_kinds *k, const char *name)
{
    for (uint32_t i = 0; i < k->served_n; i++)
        workqueue_add_all(k->served[i].queue, k->served[i].cache, name);
}

/* A Workload of nobody: is there a job that waits for it? */
static void look_for_user(struct kueue_kinds *k, const struct json *workload)
{
    struct bytes key, raw;
    for (uint32_t i = 0; i < k->served_n; i++) {
        arena_reset(k->scratch);
        const char *name = object_key(k->scratch, workload);
        for (size_t at = 0; kube_cache_next_of(k->served[i].cache, name, &at, &key, &raw);)
            workqueue_add(k->served[i].queue, key.data);
    }
}

/* Is it another than the one that the job has? WHY  without the job itself: this is asked at each change of a Workload. */
static bool is_stray(const struct served *s, const struct json *workload, const char *key, struct arena *a)
{
    const char *name = object_controller(workload, "name"), *wanted = kube_cache_marked(s->cache, key), *slash = strchr(wanted, '/');
    if (!kube_cache_raw(s->cache, object_meta(workload, "namespace"), name).n)
        return false;
    wanted = slash ? slash + 1
                   : kueue_workload_name(a, s->kind->kind, s->kind->group, name, object_controller(workload, "uid"));
    return strcmp(wanted, object_meta(workload, "name")) != 0;
}

void kueue_kinds_workload(struct kueue_kinds *k, const struct json *workload)
{
    const char *kind = object_controller(workload, "kind"), *uid = object_controller(workload, "uid");
    if (!*uid)
        look_for_user(k, workload);
    else if (map_find_text(k->parents, uid))
        kueue_kinds_naming(k, uid); /* jobs of its job */
    if (*uid && !object_condition_true(workload, "Admitted"))
        look_at_children(k, uid);
    for (uint32_t i = 0; i < k->served_n; i++)
        if (strcmp(kind, k->served[i].kind->kind) == 0) {
            arena_reset(k->scratch);
            const char *key = arena_printf(k->scratch, "%s/%s", object_meta(workload, "namespace"), object_controller(workload, "name"));
            if (is_stray(&k->served[i], workload, key, k->scratch))
                (void)map_put(k->strayed, bytes_of(key), NULL);
            workqueue_add(k->served[i].queue, key);
        }
}

/* WHY  seen: jobs that are not queued are not kept, so who is not there may be one of them, or be new: of a kind that the server did not
 * know until now, or since pods are watched by another call, which may be ahead. */
enum job_waits kueue_kinds_wait(const struct kueue_kinds *k, const struct queued_kind *kind, const char *ns, const char *name,
                                const char *uid)
{
    const struct served *s = kueue_served_named(k, kind->kind), *of = NULL;
    if (!s)
        return JOB_WAITS_NOT;
    if (!kueue_ready(k->jobs) || !kube_cache_synced(s->cache))
        return JOB_WAITS;
    arena_reset(k->scratch);
    const struct json *queued = NULL;
    for (int level = 0; s && level <= KUEUE_ANCESTORS_MOST; level++) {
        const struct json *job = kueue_served_job(s, ns, name, uid, k->scratch);
        if (!job && !kube_cache_has_seen(s->cache, ns, name, uid))
            return JOB_UNSEEN; /* or it has gone, and its pods go */
        if (!job)
            break;
        if (is_queued(s, job)) {
            queued = job;
            of = s;
        }
        s = kueue_served_named(k, object_controller(job, "kind"));
        name = object_controller(job, "name");
        uid = object_controller(job, "uid");
    }
    if (!queued)
        return JOB_WAITS_NOT;
    const struct json *workload = kube_cache_get(k->jobs->workloads, ns, kueue_job_workload_name(of->kind, k->scratch, queued), k->scratch);
    return workload && kueue_admitted(workload) ? JOB_WAITS_NOT : JOB_WAITS;
}

struct kueue_kinds *kueue_kinds_new(struct jobs *j)
{
    struct kueue_kinds *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->scratch = arena_new();
    k->parents = map_new(1);
    k->strayed = map_new(1);
    for (size_t i = 0; i < QUEUED_KINDS_N; i++) {
        if (j->config.unqueued & 1u << i)
            continue;
        struct served *s = &k->served[k->served_n++];
        s->all = k;
        s->kind = &queued_kinds[i];
        s->calls = kueue_kind_of(s->kind);
        s->queue = workqueue_new(j->client, reconcile, s);
        s->missed = map_new(sizeof(uint64_t));
        s->still = map_new(0);
        const char *path = kube_path(k->scratch, s->kind->group, s->kind->version, s->kind->plural, NULL, NULL, NULL);
        /* WHY no selector: who names no queue has to be seen, too, or the pods of its jobs would wait for it (kueue_kinds_wait) */
        struct kube_cache_config config = {
            .watch = {.path = path, .optional = true},
            .keeps = j->policy.all_jobs ? NULL : keeps,
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
        map_free(k->served[i].missed);
        map_free(k->served[i].still);
    }
    arena_free(k->scratch);
    map_free(k->parents);
    map_free(k->strayed);
    free(k);
}
