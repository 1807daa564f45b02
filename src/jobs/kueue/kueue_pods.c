/* kueue_pods.c - plain pods and pod groups, queued the Kueue way
 *
 *   label queue-name                            one pod: one Workload "pod-<name>-<hash>"
 *   label queue-name
 *     + pod-group-name (annotation or label)
 *     + annotation pod-group-total-count        all pods of the group: one Workload of the group's name
 *
 * The pod is tied to its Workload by annotation kueue.x-k8s.io/workload and label kueue.x-k8s.io/podset; until then the scheduler does
 * not touch it. The scheduling gates kueue.x-k8s.io/admission and kueue.x-k8s.io/topology, where a webhook set them, are
 * taken away on admission: places are chosen together with quota, so nobody else will.
 */
#include "base/clock.h"
#include "codec/kinds/queued_sets.h"
#include "jobs/kueue/kueue_gate.h"
#include "jobs/kueue/kueue_in_use.h"
#include "jobs/kueue/kueue_retention.h"

#define POD_FINALIZER "kueue.x-k8s.io/managed"
#define MANAGED_LABEL "kueue.x-k8s.io/managed"
#define STOPPED "TerminationTarget" /* condition of a pod */

struct kueue_pods {
    struct jobs *jobs;
    struct kube_cache *pods; /* marked by "ns/group"; alone with a Workload made for it: by "=ns/workload" */
    struct workqueue *singles, *groups;
};

struct members {
    const struct json **pods; /* those that are lost last */
    uint32_t n, cap;
    uint32_t usable_n; /* that are not lost: they make the group */
};
struct pass {
    struct kueue_pods *k;
    struct work *work;
    struct members members;
    const struct json *workload;
    const char *workload_name;
    int64_t total; /* members wanted */
    /* Pods of the group that... */
    uint32_t alive_n;     /* nobody has deleted, and that have not failed */
    uint32_t stays_n;     /* nobody but us has deleted */
    uint32_t goes_n;      /* deleted by others before they succeeded, and still there: they may be replaced any moment */
    uint32_t succeeded_n; /* ended well, where that counts */
    uint32_t leaving_n;   /* are being deleted, and still hold their quota */
    int64_t now_ms;
};

static char *pod_path(const struct pass *x, const struct json *pod)
{
    return kube_path(x->work->arena, "", "v1", "pods", x->work->ns, object_meta(pod, "name"), NULL);
}

/* Name of its group, or "". SOURCE Kueue: since 0.18 an annotation counts before the label. */
static const char *group_of(const struct json *pod)
{
    const char *name = object_annotation(pod, KUEUE_GROUP_NAME);
    return *name ? name : object_label(pod, KUEUE_GROUP_NAME);
}

static const char *phase_of(const struct json *pod)
{
    return json_text(json_path(pod, "status", "phase", NULL), "Pending");
}

static bool has_ended(const struct json *pod)
{
    return strcmp(phase_of(pod), "Succeeded") == 0 || strcmp(phase_of(pod), "Failed") == 0;
}

/* It is being deleted: for how long will its quota be held at most? SOURCE Kueue: who is there after twice the time that it was given to
 * end is on a node that is lost. */
static int64_t holds_for_ms(const struct json *pod, int64_t now_ms)
{
    const struct json *metadata = json_get(pod, "metadata");
    int64_t ends_ms;
    if (has_ended(pod) || !*json_text(json_path(pod, "spec", "nodeName", NULL), "") ||
        !time_parse(json_bytes(json_get(metadata, "deletionTimestamp")), &ends_ms))
        return 0;
    ends_ms += 1000 * json_get_int64(metadata, "deletionGracePeriodSeconds", 0);
    return ends_ms > now_ms ? ends_ms - now_ms : 0;
}

/* A member that will not succeed any more. */
static bool is_lost(const struct json *pod)
{
    return strcmp(phase_of(pod), "Failed") == 0 || (object_deleting(pod) && strcmp(phase_of(pod), "Succeeded") != 0);
}

/* A group that serves never ends, and what succeeded in it is made again. SOURCE Kueue. */
static bool is_serving(const struct json *pod)
{
    return strcmp(object_annotation(pod, KUEUE_GROUP_SERVING), "true") == 0;
}

/* How many pods its group has. False: it does not say so. */
static bool total_read(const struct json *pod, int64_t *ret_total)
{
    int64_t total = 0;
    bool said = bytes_int64(bytes_of(object_annotation(pod, KUEUE_GROUP_TOTAL)), &total) && total >= 1;
    *ret_total = said ? total : *ret_total;
    return said;
}

/* Pods of jobs that are queued themselves already belong to the job's Workload. */
static bool belongs_to_job(const struct json *pod)
{
    return queued_kind_named(object_controller(pod, "kind")) != NULL;
}

/* ---- roles ---- */

/* The group may start before all its pods exist: they are all like the first, or a set makes them one after the other. */
static bool is_fast(const struct json *pod)
{
    return strcmp(object_annotation(pod, KUEUE_GROUP_FAST), "true") == 0 || queued_set_of_pod(pod);
}

/* Pod sets by role. */
static struct json *pod_sets_of(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *sets = json_new(a, JSON_ARRAY);
    const struct json *first = x->members.pods[0];
    if (x->total == 1 && !*group_of(first)) {
        json_append(sets, kueue_pod_set_of(a, "main", 1, first));
        return sets;
    }
    if (is_fast(first)) {
        json_append(sets, kueue_pod_set_of(a, kueue_role(a, first), x->total, first));
        return sets;
    }
    for (uint32_t i = 0; i < x->members.usable_n; i++) {
        const char *name = kueue_role(a, x->members.pods[i]);
        struct json *found = NULL;
        JSON_EACH (set, sets)
            if (strcmp(json_get_text(set, "name", ""), name) == 0)
                found = set;
        if (found)
            json_set_int64(a, found, "count", json_get_int64(found, "count", 0) + 1);
        else
            kueue_pod_sets_insert(sets, kueue_pod_set_of(a, name, 1, x->members.pods[i]));
    }
    return sets;
}

/* ---- steps ---- */

/* Members of one group say the same of it; who does not keeps all of them back, and is told. */
static bool members_agree(const struct pass *x)
{
    const struct json *first = x->members.pods[0];
    for (uint32_t i = 1; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        const char *queue = object_label(first, KUEUE_QUEUE_LABEL), *other = object_label(pod, KUEUE_QUEUE_LABEL),
                   *total = object_annotation(first, KUEUE_GROUP_TOTAL),
                   *other_total = object_annotation(pod, KUEUE_GROUP_TOTAL);
        bool queues = strcmp(queue, other) != 0;
        if (is_lost(pod) || (!queues && strcmp(total, other_total) == 0))
            continue;
        job_event(x->k->jobs, pod, "v1", "Pod", "Warning", "ErrWorkloadCompose",
                  "pods '%s' and '%s' of group %s have different %s: '%s' and '%s'; write the same in both",
                  object_meta(first, "name"), object_meta(pod, "name"), x->workload_name,
                  queues ? "queue names" : "values of " KUEUE_GROUP_TOTAL, queues ? queue : total,
                  queues ? other : other_total);
        return false;
    }
    return true;
}

/* One ownerReference of the Workload. */
static void owner_add(struct pass *x, struct json *owners, const struct json *pod, bool is_controller)
{
    struct json *one = job_owner(x->work->arena, pod, "v1", "Pod"), *ref = json_item(one, 0);
    (void)json_remove_item(one, ref);
    json_set_bool(x->work->arena, ref, "controller", is_controller);
    ref->next = NULL;
    json_append(owners, ref);
}

static void create_workload(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct jobs *j = x->k->jobs;
    const struct json *first = x->members.pods[0];
    if (!members_agree(x))
        return;
    struct kueue_workload_request r = {
        .name = x->workload_name, .queue = object_label(first, KUEUE_QUEUE_LABEL), .owner = first};
    r.priority_class = json_text(json_path(first, "spec", "priorityClassName", NULL), "");
    r.pod_sets = pod_sets_of(x);
    r.owner_references = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < x->members.n; i++)
        owner_add(x, r.owner_references, x->members.pods[i], x->members.n == 1 && x->total == 1);
    const char *why = "";
    struct json *workload = kueue_workload(j, a, &r, &why);
    if (!workload) {
        job_event(j, first, "v1", "Pod", "Warning", "WorkloadPriorityClassNotFound", "%s", why);
        return;
    }
    if (!kueue_copy_group_labels(j, a, x->members.pods, x->members.n, workload))
        return;
    if (*group_of(first))
        json_set_text(a, json_ensure_object(a, json_get(workload, "metadata"), "annotations"),
                      KUEUE_GROUP_WORKLOAD_ANNOTATION, "true");
    job_event_then(j, x->work, first, "v1", "Pod", "Normal", "CreatedWorkload", "Created Workload: %s/%s", x->work->ns, x->workload_name);
    work_create(x->work, kueue_workload_path(x->work, NULL, NULL), workload);
}

static bool is_owner(const struct json *workload, const struct json *pod)
{
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL))
        if (strcmp(json_get_text(owner, "uid", ""), object_meta(pod, "uid")) == 0)
            return true;
    return false;
}

/* Members that came later own it too, or it would go with the last of those that it was made for; that of a set is the set's. SOURCE
 * Kueue. Returns true when a write is on its way. */
static bool add_owners(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *owners = NULL;
    const struct json *first = x->members.pods[0];
    uint32_t n = *group_of(first) && !queued_set_of_pod(first) && !object_deleting(x->workload) ? x->members.usable_n : 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_owner(x->workload, x->members.pods[i]))
            continue;
        const struct json *now = json_path(x->workload, "metadata", "ownerReferences", NULL);
        if (!owners)
            owners = now ? json_clone(a, now) : json_new(a, JSON_ARRAY);
        owner_add(x, owners, x->members.pods[i], false);
    }
    if (!owners)
        return false;
    struct json *patch = object_patch(a, x->workload);
    json_set(a, json_get(patch, "metadata"), "ownerReferences", owners);
    work_patch(x->work, KUBE_PATCH_MERGE, kueue_workload_path(x->work, x->workload_name, NULL), patch);
    return true;
}

static bool is_tied(const struct pass *x, const struct json *pod)
{
    return strcmp(object_annotation(pod, KUEUE_WORKLOAD_ANNOTATION), x->workload_name) == 0;
}

static void tie(struct pass *x, const struct json *pod)
{
    struct arena *a = x->work->arena;
    if (is_tied(x, pod))
        return;
    bool group = *group_of(pod);
    struct json *patch = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata");
    const char *role = group ? kueue_role(a, pod) : "main";
    struct json *annotations = json_ensure_object(a, meta, "annotations");
    json_set_text(a, annotations, KUEUE_WORKLOAD_ANNOTATION, x->workload_name);
    if (group) /* what the flavors put into the pod must not change its role */
        json_set_text(a, annotations, KUEUE_ROLE_ANNOTATION, role);
    json_set_text(a, json_ensure_object(a, meta, "labels"), KUEUE_PODSET_LABEL, role);
    work_patch(x->work, KUBE_PATCH_MERGE, pod_path(x, pod), patch);
}

/* The gates go; what the flavors demand is added while the pod may still be changed. */
static void ungate(struct pass *x, const struct json *pod, const struct kueue_start *starts, uint32_t starts_n)
{
    struct arena *a = x->work->arena;
    const char *queue = starts_n ? starts[0].cluster_queue : "";
    if (!kueue_gate_stands(pod))
        return;
    struct json *patch = object_patch(a, pod), *spec = json_ensure_object(a, patch, "spec");
    json_set(a, spec, "schedulingGates", kueue_gate_others(a, pod));
    for (uint32_t i = 0; i < starts_n; i++)
        if (strcmp(starts[i].pod_set, object_label(pod, KUEUE_PODSET_LABEL)) == 0)
            kueue_pod_start(a, pod, &starts[i], patch);
    job_event_then(x->k->jobs, x->work, pod, "v1", "Pod", "Normal", "Started", "Admitted by clusterQueue %s", queue);
    kueue_gate_opens(x->k->jobs, x->work, pod, x->workload, queue, *group_of(pod), x->now_ms);
    work_patch(x->work, KUBE_PATCH_MERGE, pod_path(x, pod), patch);
}

/* What admission checks add contradicts itself, or a pod that is still to start: the sentence. NULL: nothing does. */
static const char *conflict_of(const struct pass *x, const struct kueue_start *starts, uint32_t starts_n)
{
    const char *conflict = NULL;
    for (uint32_t i = 0; i < x->members.n && !conflict; i++)
        for (uint32_t k = 0; k < starts_n && kueue_gate_stands(x->members.pods[i]) && !conflict; k++)
            if (strcmp(starts[k].pod_set, object_label(x->members.pods[i], KUEUE_PODSET_LABEL)) == 0)
                conflict = kueue_updates_conflict(x->work->arena, &starts[k], x->members.pods[i]);
    return conflict;
}

/* ---- stopping ---- */

/* Does the pod need the quota that is taken back? SOURCE Kueue: what is still held by its gate goes only with its Workload. */
static bool is_to_stop(const struct pass *x, const struct json *pod)
{
    return !has_ended(pod) && !object_deleting(pod) && is_tied(x, pod) && (object_deleting(x->workload) || !kueue_gate_stands(pod));
}

/* By whom it was deleted is told in the pod itself. SOURCE Kueue. ORDER the reason first; its change brings the pass that deletes. */
static void stop_pod(struct pass *x, const struct json *pod, const char *reason, const char *message)
{
    struct arena *a = x->work->arena;
    char now[TIME_TEXT_MAX];
    if (object_condition_true(pod, STOPPED)) {
        work_delete(x->work, pod_path(x, pod), object_meta(pod, "uid"), NULL);
        return;
    }
    time_format(now, x->now_ms);
    struct json *patch = json_new(a, JSON_OBJECT), *condition = json_new(a, JSON_OBJECT);
    json_set_text(a, json_ensure_object(a, patch, "metadata"), "uid", object_meta(pod, "uid"));
    json_set_text(a, condition, "type", STOPPED);
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "reason", reason);
    json_set_text(a, condition, "message", message);
    json_set_text(a, condition, "lastTransitionTime", now);
    json_append(json_ensure_array(a, json_ensure_object(a, patch, "status"), "conditions"), condition);
    work_patch(x->work, KUBE_PATCH_STRATEGIC, kube_path(a, "", "v1", "pods", x->work->ns, object_meta(pod, "name"), "status"), patch);
}

static void stop(struct pass *x)
{
    struct arena *a = x->work->arena;
    const struct json *evicted = object_condition(x->workload, "Evicted");
    bool any = x->leaving_n > 0, deleted = object_deleting(x->workload);
    const char *reason = deleted ? "WorkloadDeleted" : arena_printf(a, "WorkloadEvictedDueTo%s", json_get_text(evicted, "reason", ""));
    for (uint32_t i = 0; i < x->members.n; i++)
        if (is_to_stop(x, x->members.pods[i])) {
            stop_pod(x, x->members.pods[i], reason, deleted ? "Workload is deleted" : json_get_text(evicted, "message", ""));
            any = true;
        }
    if (any)
        return;
    if (deleted)
        kueue_workload_let_go(x->work, x->workload);
    else
        kueue_workload_release(x->work, x->workload, !*group_of(x->members.pods[0]) && object_deleting(x->members.pods[0]), x->now_ms);
}

/* Somebody took the quota of a group that runs. WHY only of pods that came through their gate: the watch of Workloads may be behind that of
 * pods, but not behind the pass that opened the gate. */
static void stop_unadmitted(struct pass *x)
{
    for (uint32_t i = 0; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        if (strcmp(object_label(pod, MANAGED_LABEL), "true") == 0 && is_to_stop(x, pod))
            stop_pod(x, pod, "NotAdmitted", "Not admitted by cluster queue");
    }
}

/* Nothing of it will run again. */
static bool is_over(const struct pass *x, int64_t *ret_succeeded_n)
{
    int64_t succeeded_n = 0, failed_n = 0;
    bool no_retry = false;
    for (uint32_t i = 0; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        succeeded_n += strcmp(phase_of(pod), "Succeeded") == 0;
        failed_n += strcmp(phase_of(pod), "Failed") == 0;
        no_retry = no_retry || strcmp(object_annotation(pod, "kueue.x-k8s.io/retriable-in-group"), "false") == 0;
    }
    /* A member of a group that failed may be replaced, unless one of them says no. */
    bool group = *group_of(x->members.pods[0]) != '\0', done = succeeded_n >= x->total,
         lost = failed_n > 0 && (!group || no_retry) && succeeded_n + failed_n >= x->members.n;
    *ret_succeeded_n = succeeded_n;
    return (done || lost) && !(group && is_serving(x->members.pods[0]));
}

static bool finish(struct pass *x)
{
    int64_t succeeded_n;
    if (!is_over(x, &succeeded_n))
        return false;
    kueue_workload_finish(
        x->work, x->workload, succeeded_n >= x->total, NULL,
        arena_printf(x->work->arena, "Pods succeeded: %lld/%lld.", (long long)succeeded_n, (long long)x->total),
        x->now_ms);
    return true;
}

static void drop_excess(struct pass *x)
{
    uint32_t first = (uint32_t)x->total, dropped_n = x->members.usable_n - first;
    for (uint32_t i = first; i < x->members.usable_n; i++) {
        const struct json *pod = x->members.pods[i];
        job_event_then(x->k->jobs, x->work, pod, "v1", "Pod", "Warning", "ExcessPodDeleted", "the group %s has %lld pods already",
                       x->workload_name, (long long)x->total);
        work_delete(x->work, pod_path(x, pod), object_meta(pod, "uid"), NULL);
    }
    memmove(&x->members.pods[first], &x->members.pods[x->members.usable_n],
            (x->members.n - x->members.usable_n) * sizeof *x->members.pods);
    x->members.n -= dropped_n;
    x->members.usable_n = first;
}

/* Members that are lost are to be made again by whoever made them. SOURCE Kueue: the first cause stands until all are there; a fast group
 * needs one. Returns true when a write is on its way. */
static bool tell_replacement(struct pass *x)
{
    static const char type[] = "WaitingForReplacementPods";
    const struct json *evicted = object_condition_true(x->workload, "Evicted") ? object_condition(x->workload, "Evicted") : NULL,
                      *first = x->members.pods[0];
    bool waited = object_condition_true(x->workload, type), waits = x->members.usable_n < (is_fast(first) ? 1 : x->total);
    if (!*group_of(first) || (!waited && !waits) || (waited && waits && !evicted))
        return false;
    if (!waits)
        return kueue_workload_say(x->work, x->workload, type, false, "PodsReady", "No pods need replacement", x->now_ms);
    return kueue_workload_say(x->work, x->workload, type, true, evicted ? json_get_text(evicted, "reason", "") : "PodsFailed",
                              evicted ? json_get_text(evicted, "message", "") : "Some Failed pods need replacement", x->now_ms);
}

/* Members that succeeded are needed neither now nor when the group starts again. Returns true when a write is on its way. */
static bool reclaim(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *over = json_new(a, JSON_OBJECT);
    bool reclaims = !x->k->jobs->policy.hides_reclaimable && *group_of(x->members.pods[0]) && !is_serving(x->members.pods[0]);
    for (uint32_t i = 0; i < x->members.n && reclaims; i++) {
        const struct json *pod = x->members.pods[i];
        const char *role = object_label(pod, KUEUE_PODSET_LABEL);
        if (strcmp(phase_of(pod), "Succeeded") == 0)
            json_set_int64(a, over, role, json_get_int64(over, role, 0) + 1);
    }
    return kueue_workload_reclaim(x->work, x->workload, over);
}

/* Kueue's webhook puts a finalizer on pods, to count those that end. They are counted here without it, and nobody else takes it off. */
static void let_go(struct work *w, const struct json *pod)
{
    struct json *patch = object_finalizer_patch(w->arena, pod, POD_FINALIZER, false);
    if (patch)
        work_patch(w, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", w->ns, object_meta(pod, "name"), NULL),
                   patch);
}

/* Members that are lost and have been replaced, the oldest first: nobody counts them any more. */
static void let_go_replaced(struct pass *x)
{
    for (int64_t i = 0; i < (int64_t)x->members.n - x->total; i++)
        let_go(x->work, x->members.pods[x->members.usable_n + i]);
}

/* Its Workload was deactivated, and it is not kept any longer. */
static bool retire(struct pass *x)
{
    if (!kueue_retention_is_over(x->k->jobs, x->work, x->workload, x->now_ms))
        return false;
    for (uint32_t i = 0; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        if (object_deleting(pod) && *group_of(pod))
            let_go(x->work, pod); /* nobody will replace it */
        if (object_deleting(pod))
            continue;
        job_event_then(x->k->jobs, x->work, pod, "v1", "Pod", "Normal", "Deleted", KUEUE_JOB_DELETED);
        work_delete(x->work, pod_path(x, pod), object_meta(pod, "uid"), NULL);
    }
    return true;
}

static void step(struct pass *x)
{
    struct arena *a = x->work->arena;
    if (object_condition_true(x->workload, "Finished") || finish(x))
        return;
    if (add_owners(x) || tell_replacement(x) || reclaim(x))
        return; /* its change brings the next pass */
    let_go_replaced(x); /* ORDER those that replaced them own the Workload by now */
    if (object_condition_true(x->workload, "Evicted") || object_deleting(x->workload)) {
        if (!retire(x))
            stop(x);
        return;
    }
    for (uint32_t i = 0; i < x->members.n; i++)
        tie(x, x->members.pods[i]);
    if (!kueue_admitted(x->workload)) {
        stop_unadmitted(x);
        return;
    }
    uint32_t n;
    struct kueue_start *starts = kueue_starts(x->k->jobs, a, x->workload, &n);
    if (!starts) {
        work_again(x->work, 200);
        return;
    }
    const char *conflict = conflict_of(x, starts, n);
    if (conflict) {
        kueue_workload_finish(x->work, x->workload, false, "FailedToStart", conflict, x->now_ms);
        return;
    }
    for (uint32_t i = 0; i < x->members.n; i++)
        if (is_tied(x, x->members.pods[i]))
            ungate(x, x->members.pods[i], starts, n);
    if (x->k->jobs->config.says_ready)
        kueue_pods_say_ready(x->work, x->workload, x->members.pods, x->members.n, x->total, x->now_ms);
}

static void let_go_when_over(struct pass *x)
{
    for (uint32_t i = 0; i < x->members.n; i++)
        if (!x->workload || object_condition_true(x->workload, "Finished")) {
            if (x->workload || object_deleting(x->members.pods[i]))
                let_go(x->work, x->members.pods[i]);
        }
}

/* A Workload of the group's name that was not made for pods. */
static bool is_foreign(const struct json *workload)
{
    if (strcmp(object_annotation(workload, KUEUE_GROUP_WORKLOAD_ANNOTATION), "true") == 0)
        return false;
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL))
        if (strcmp(json_get_text(owner, "kind", ""), "Pod") == 0)
            return false;
    return workload != NULL;
}

/* ---- passes ---- */

static void count_leaving(struct pass *x, const struct json *pod)
{
    int64_t ms = is_tied(x, pod) ? holds_for_ms(pod, x->now_ms) : 0;
    x->leaving_n += ms > 0;
    if (ms > 0)
        work_again(x->work, ms);
}

static void member_add(struct pass *x, const struct json *pod)
{
    if (x->members.n == x->members.cap)
        return;
    x->members.pods[x->members.n++] = pod;
    x->members.usable_n += !is_lost(pod);
}

static const char *workload_of_single(struct arena *a, const struct json *pod)
{
    const char *made = kueue_prebuilt_name(pod);
    return *made ? made : kueue_workload_name(a, "Pod", "", object_meta(pod, "name"), object_meta(pod, "uid"));
}

static bool ready(struct kueue_pods *k)
{
    return kube_cache_synced(k->pods) && kueue_ready(k->jobs);
}

/* Is the Workload that was made for this pod its own? */
static bool adopt(struct pass *x)
{
    const struct json *pod = x->members.pods[0];
    if (kueue_workload_is_of(x->workload, pod))
        return true;
    struct kueue_workload_request r = {.name = x->workload_name, .owner = pod};
    r.owner_references = job_owner(x->work->arena, pod, "v1", "Pod");
    r.pod_sets = pod_sets_of(x);
    kueue_workload_adopt(x->k->jobs, x->work, x->workload, &r, x->now_ms);
    return false; /* its change brings the next pass */
}

static void reconcile_single(void *arg, struct work *w)
{
    struct kueue_pods *k = arg;
    const struct json *pod = ready(k) ? kube_cache_get(k->pods, w->ns, w->name, w->arena) : NULL;
    if (!pod || belongs_to_job(pod) || *group_of(pod) || queued_set_of_pod(pod)) /* a group's Workload may have one pod for its owner */
        return;
    struct pass x = {.k = k, .work = w, .total = 1, .now_ms = loop_wall_ms(k->jobs->loop)};
    x.members = (struct members){.pods = arena_alloc(w->arena, sizeof(void *)), .cap = 1};
    member_add(&x, pod);
    bool is_made = *kueue_prebuilt_name(pod);
    x.workload_name = workload_of_single(w->arena, pod);
    count_leaving(&x, pod);
    if (object_deleting(pod))
        let_go(w, pod);
    x.workload = kube_cache_get(k->jobs->workloads, w->ns, x.workload_name, w->arena);
    let_go_when_over(&x);
    if (x.workload && (!is_made || object_condition_true(x.workload, "Finished") || adopt(&x)))
        step(&x);
    else if (!x.workload && !is_made && !object_deleting(pod) && strcmp(phase_of(pod), "Pending") == 0)
        create_workload(&x);
}

/* ORDER those that are lost last; older ones first, then by name. */
static int by_use(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;
    if (is_lost(x) != is_lost(y))
        return is_lost(x) - is_lost(y);
    int order = strcmp(object_meta(x, "creationTimestamp"), object_meta(y, "creationTimestamp"));
    return order ? order : strcmp(object_meta(x, "name"), object_meta(y, "name"));
}

/* Is it a member still? Who was stopped, or deleted from a group that goes on, is missed until another takes its place: it may still
 * succeed. Who succeeded counts as long as another is there, and in a group that is over. WHY  who deletes all pods wants the group gone;
 * Kueue waits until its Workload is, too. */
static bool is_member(const struct pass *x, const struct json *pod)
{
    bool waits = x->workload && !object_deleting(x->workload) && !object_condition_true(x->workload, "Finished");
    if (!object_deleting(pod))
        return true;
    if (strcmp(phase_of(pod), "Succeeded") == 0)
        return x->workload && (x->stays_n > 0 || x->goes_n > 0 || x->succeeded_n >= x->total);
    return waits && (x->alive_n > 0 || object_condition_true(pod, STOPPED)) && object_has_finalizer(pod, POD_FINALIZER);
}

static void count(struct pass *x, const struct json *pod)
{
    bool stays = !object_deleting(pod);
    count_leaving(x, pod);
    x->alive_n += stays && strcmp(phase_of(pod), "Failed") != 0;
    x->stays_n += stays || object_condition_true(pod, STOPPED);
    x->goes_n += !stays && strcmp(phase_of(pod), "Succeeded") != 0;
    x->succeeded_n += strcmp(phase_of(pod), "Succeeded") == 0 && !is_serving(pod);
}

static void find_members(struct pass *x)
{
    const struct kube_cache *pods = x->k->pods;
    size_t at = 0, pods_n = 0;
    struct bytes key, raw;
    while (kube_cache_next_of(pods, x->work->key, &at, &key, &raw))
        pods_n++;
    const struct json **all = arena_alloc(x->work->arena, (pods_n + 1) * sizeof *all);
    x->members = (struct members){.pods = arena_alloc(x->work->arena, (pods_n + 1) * sizeof(void *)), .cap = (uint32_t)pods_n};
    at = pods_n = 0;
    while (kube_cache_next_of(pods, x->work->key, &at, &key, &raw)) {
        const struct json *pod = all[pods_n++] = json_parse(x->work->arena, raw, NULL, NULL);
        count(x, pod);
        (void)total_read(pod, &x->total); /* those of a group say the same, or it does not start */
    }
    for (size_t i = 0; i < pods_n; i++) {
        if (is_member(x, all[i]))
            member_add(x, all[i]);
        else
            let_go(x->work, all[i]);
    }
    if (x->members.n)
        qsort(x->members.pods, x->members.n, sizeof(void *), by_use);
}

/* A set is there, and its pods are not: nobody runs who would have to be stopped first. */
static void pass_without_members(struct pass *x)
{
    if (!x->workload || x->leaving_n || !kueue_sets_owns(x->k->jobs->kueue_sets, x->workload))
        return;
    if (object_deleting(x->workload))
        kueue_workload_let_go(x->work, x->workload);
    else if (object_condition_true(x->workload, "Evicted"))
        kueue_workload_release(x->work, x->workload, false, x->now_ms);
}

static void reconcile_group(void *arg, struct work *w)
{
    struct kueue_pods *k = arg;
    if (!ready(k))
        return;
    struct pass x = {.k = k, .work = w, .workload_name = w->name, .now_ms = loop_wall_ms(k->jobs->loop)};
    x.workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena);
    find_members(&x);
    if (x.members.n == 0) {
        pass_without_members(&x);
        return;
    }
    const struct json *first = x.members.pods[0];
    if (!total_read(first, &x.total)) {
        job_event(k->jobs, first, "v1", "Pod", "Warning", "ErrWorkloadCompose",
                  "a pod of group %s has no annotation " KUEUE_GROUP_TOTAL ": write how many pods the group has", w->name);
        return;
    }
    if (is_foreign(x.workload)) {
        job_event(k->jobs, first, "v1", "Pod", "Warning", "WorkloadNameConflict",
                  "A Workload named \"%s\" already exists but is not a pod group workload; this pod group cannot be admitted", w->name);
        return;
    }
    int64_t succeeded_n;
    let_go_when_over(&x);
    if ((int64_t)x.members.usable_n > x.total)
        drop_excess(&x);
    if (x.workload)
        step(&x);
    else if (!*kueue_prebuilt_name(first) && ((int64_t)x.members.usable_n == x.total || is_fast(first)) && !is_over(&x, &succeeded_n))
        create_workload(&x);
}

/* "ns/group"; for one without a group, but with a Workload that somebody makes for it, "=ns/workload"; else "". */
static const char *mark_of(struct arena *a, const struct json *pod)
{
    const char *group = group_of(pod), *made = kueue_prebuilt_name(pod);
    if (!*group && !*made)
        return "";
    return arena_printf(a, "%s%s/%s", *group ? "" : "=", object_meta(pod, "namespace"), *group ? group : made);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct kueue_pods *k = arg;
    struct arena *a = arena_new();
    const struct json *pod = json_parse(a, object, NULL, NULL);
    bool is_single = !*group_of(pod) && !belongs_to_job(pod);
    const char *mark = mark_of(a, pod), *its = is_single ? workload_of_single(a, pod) : object_annotation(pod, KUEUE_WORKLOAD_ANNOTATION);
    if (event == KUBE_DELETED && *its)
        kueue_in_use_owner_gone(k->jobs->kueue_in_use, arena_printf(a, "%s/%s", object_meta(pod, "namespace"), its));
    kube_cache_mark(k->pods, key, mark);
    if (event != KUBE_DELETED)
        kueue_sets_pod(k->jobs->kueue_sets, pod, key);
    if (*group_of(pod))
        workqueue_add(k->groups, mark);
    else
        workqueue_add(k->singles, key);
    arena_free(a);
}

/* At pods in whose text the word stands; "": at all. */
static void look_at(struct kueue_pods *k, const char *word)
{
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next(k->pods, &at, &key, &raw);)
        if (memmem(raw.data, raw.n, word, strlen(word)))
            on_change(k, KUBE_MODIFIED, key.data, raw); /* keys of maps are NUL terminated */
}

const struct json *kueue_pods_get(const struct kueue_pods *k, const char *ns, const char *name, struct arena *a)
{
    return kube_cache_get(k->pods, ns, name, a);
}

void kueue_pods_synced(struct kueue_pods *k)
{
    look_at(k, "");
}

static void on_synced(void *arg)
{
    kueue_pods_synced(arg);
}

void kueue_pods_workload(struct kueue_pods *k, const struct json *workload)
{
    struct arena *a = arena_new();
    const char *ns = object_meta(workload, "namespace"), *name = arena_printf(a, "%s/%s", ns, object_meta(workload, "name"));
    struct bytes key, raw;
    if (!is_foreign(workload))
        workqueue_add(k->groups, name);
    for (size_t at = 0; kube_cache_next_of(k->pods, arena_printf(a, "=%s", name), &at, &key, &raw);)
        workqueue_add(k->singles, arena_text_n(a, key.data, key.n));
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL))
        if (strcmp(json_get_text(owner, "kind", ""), "Pod") == 0 && json_get_bool(owner, "controller", false))
            workqueue_add(k->singles, arena_printf(a, "%s/%s", ns, json_get_text(owner, "name", "")));
    arena_free(a);
}

void kueue_pods_naming(struct kueue_pods *k, const char *word)
{
    if (k)
        look_at(k, word);
}

enum kueue_owner kueue_pods_owner(const struct kueue_pods *k, const char *ns, const char *name, const char *uid)
{
    if (!k)
        return KUEUE_OWNER_FOREIGN;
    if (!kube_cache_synced(k->pods))
        return KUEUE_OWNER_THERE; /* it will be known soon; until then nothing is let go */
    struct arena *a = arena_new();
    const struct json *pod = kube_cache_get(k->pods, ns, name, a);
    bool there = pod && strcmp(object_meta(pod, "uid"), uid) == 0, leaving = there && object_deleting(pod);
    arena_free(a);
    return leaving ? KUEUE_OWNER_LEAVING : there ? KUEUE_OWNER_THERE : KUEUE_OWNER_GONE;
}

struct kueue_pods *kueue_pods_new(struct jobs *j)
{
    struct kueue_pods *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->singles = workqueue_new(j->client, reconcile_single, k);
    k->groups = workqueue_new(j->client, reconcile_group, k);
    struct kube_cache_config pods = {.watch = {.path = "/api/v1/pods", .label_selector = KUEUE_QUEUE_LABEL},
                                     .on_change = on_change,
                                     .on_synced = on_synced,
                                     .arg = k};
    k->pods = kube_cache_new(j->client, &pods);
    return k;
}

void kueue_pods_free(struct kueue_pods *k)
{
    if (!k)
        return;
    workqueue_free(k->singles);
    workqueue_free(k->groups);
    kube_cache_free(k->pods);
    free(k);
}
