/* kueue_workload.c - making Workloads and writing the job side of their status; see kueue_kind.h */
#include <gnutls/crypto.h>
#include "base/limits.h"
#include "codec/decode/decode.h"
#include "codec/kinds/waiting_names.h"
#include "jobs/kueue/kueue_kind.h"
#include "wire/patch.h"

char *kueue_lower(struct arena *a, const char *text)
{
    char *lower = arena_text(a, text);
    for (char *c = lower; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return lower;
}

char *kueue_workload_name(struct arena *a, const char *kind, const char *group, const char *job, const char *uid)
{
    const char *prefix = kueue_lower(a, kind);
    const char *text = arena_printf(a, "%s\n%s\n%s\n%s", kind, group, job, uid);
    unsigned char digest[20] = {0};
    (void)gnutls_hash_fast(GNUTLS_DIG_SHA1, text, strlen(text), digest); /* cannot fail for a known digest */
    size_t room = LIMIT_NAME - strlen(prefix) - 7, n = strlen(job);
    return arena_printf(a, "%s-%.*s-%02x%02x%x", prefix, (int)(n < room ? n : room), job, digest[0], digest[1],
                        digest[2] >> 4);
}

char *kueue_workload_path(const struct work *w, const char *name, const char *sub)
{
    return kube_path(w->arena, "kueue.x-k8s.io", "v1beta2", "workloads", w->ns, name, sub);
}

struct json *kueue_pod_set(struct arena *a, const char *name, int64_t count, const struct json *pod_template, const char *index_label)
{
    struct json *set = json_new(a, JSON_OBJECT);
    json_set_text(a, set, "name", name);
    json_set_int64(a, set, "count", count);
    struct json *copy = pod_template ? json_clone(a, pod_template) : json_new(a, JSON_OBJECT);
    struct json *meta = json_get(copy, "metadata");
    if (meta)
        (void)json_remove(meta, "creationTimestamp"); /* null in what some clients send */
    json_set(a, set, "template", copy);
    kueue_topology_request(a, set, json_get(meta, "annotations"), index_label);
    return set;
}

/* ---- templates ---- */

int kueue_template_start(struct arena *a, const struct json *pod_template, const struct kueue_start *s,
                         struct json *patch, struct err *e)
{
    const struct json *spec = json_get(pod_template, "spec");
    const char *conflict = kueue_updates_conflict(a, s, pod_template);
    if (conflict)
        return err_set(e, E_CONFLICT, "pod set %s: %s", s->pod_set, conflict);
    struct json *meta = json_ensure_object(a, patch, "metadata");
    struct json *labels = json_ensure_object(a, meta, "labels");
    json_set_text(a, labels, KUEUE_PODSET_LABEL, s->pod_set);
    json_set_text(a, labels, KUEUE_CLUSTER_QUEUE_LABEL, s->cluster_queue);
    json_set_text(a, labels, KUEUE_LOCAL_QUEUE_LABEL, s->local_queue);
    json_set_text(a, json_ensure_object(a, meta, "annotations"), KUEUE_WORKLOAD_ANNOTATION, s->workload);
    JSON_EACH (label, s->labels)
        json_set(a, labels, label->key, json_clone(a, label));
    JSON_EACH (annotation, s->annotations)
        json_set(a, json_get(meta, "annotations"), annotation->key, json_clone(a, annotation));
    struct json *to = json_ensure_object(a, patch, "spec");
    if (s->node_labels && s->node_labels->n)
        json_set(a, to, "nodeSelector", json_clone(a, s->node_labels));
    if (s->tolerations && s->tolerations->n)
        json_set(a, to, "tolerations", kueue_with_tolerations(a, spec, s));
    return 0;
}

static void restore_member(struct arena *a, const struct json *now, const struct json *original, const char *group,
                           const char *key, struct json *patch)
{
    const struct json *from = json_get(json_get(now, group), key), *to = json_get(json_get(original, group), key);
    struct json *diff = NULL;
    if (!from && !to)
        return;
    if (!to)
        diff = json_new(a, JSON_NULL);
    else if (json_is(from, JSON_OBJECT) && json_is(to, JSON_OBJECT))
        diff = object_diff(a, from, to);
    else if (!from || !json_equal(from, to))
        diff = json_clone(a, to);
    if (diff)
        json_set(a, json_ensure_object(a, patch, group), key, diff);
}

void kueue_template_restore(struct arena *a, const struct json *now, const struct json *original, struct json *patch)
{
    restore_member(a, now, original, "metadata", "labels", patch);
    restore_member(a, now, original, "metadata", "annotations", patch);
    restore_member(a, now, original, "spec", "nodeSelector", patch);
    restore_member(a, now, original, "spec", "tolerations", patch);
}

int kueue_templates_start(struct arena *a, const struct kueue_templates *t, const struct kueue_start *starts, uint32_t starts_n,
                          struct err *e)
{
    for (uint32_t i = 0; i < starts_n; i++) {
        struct json *now = t->named(a, t->of, starts[i].pod_set), *added = json_new(a, JSON_OBJECT);
        int r = now ? kueue_template_start(a, now, &starts[i], added, e) : 0;
        if (r < 0)
            return r;
        if (now)
            patch_merge(a, &now, added);
    }
    return 0;
}

bool kueue_templates_restore(struct arena *a, const struct kueue_templates *t, const struct json *workload)
{
    bool any = false;
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        struct json *now = t->named(a, t->of, json_get_text(set, "name", "main")), *undone = json_new(a, JSON_OBJECT);
        if (!json_path(now, "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL))
            continue;
        kueue_template_restore(a, now, json_get(set, "template"), undone);
        patch_merge(a, &now, undone);
        any = true;
    }
    return any;
}

/* ---- making ---- */

static const char *default_class(struct jobs *j, struct arena *a)
{
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(j->priority_classes, &at, &key, &raw)) {
        const struct json *class = json_parse(a, raw, NULL, NULL);
        if (json_get_bool(class, "globalDefault", false))
            return object_meta(class, "name");
    }
    return NULL;
}

bool kueue_set_priority(struct jobs *j, struct arena *a, const char *workload_class, const char *pod_class,
                        struct json *spec)
{
    bool own = *workload_class != '\0';
    const char *name = own ? workload_class : pod_class && *pod_class ? pod_class : default_class(j, a);
    const struct json *class = name ? kube_cache_get(own ? j->workload_classes : j->priority_classes, "", name, a) : NULL;
    if (own && !class)
        return false;
    json_set_int64(a, spec, "priority", json_get_int64(class, "value", 0));
    if (name) {
        struct json *ref = json_ensure_object(a, spec, "priorityClassRef");
        json_set_text(a, ref, "group", own ? "kueue.x-k8s.io" : "scheduling.k8s.io");
        json_set_text(a, ref, "kind", own ? "WorkloadPriorityClass" : "PriorityClass");
        json_set_text(a, ref, "name", name);
    }
    return true;
}

/* Those labels of an owner that the configuration names, into those of its Workload. The key that has another value there, or NULL. */
static const char *copy_labels(const struct jobs *j, struct arena *a, const struct json *owner, struct json *labels)
{
    const char *other = NULL;
    for (uint32_t i = 0; i < j->policy.labels_n && !other; i++) {
        const char *key = j->policy.labels[i], *there = json_get_text(labels, key, NULL);
        const char *value = json_text(json_path(owner, "metadata", "labels", key, NULL), NULL);
        if (value && there && strcmp(value, there) != 0)
            other = key;
        else if (value)
            json_set_text(a, labels, key, value);
    }
    return other;
}

/* SOURCE Kueue: two values of one label keep all pods of the group back. */
bool kueue_copy_group_labels(struct jobs *j, struct arena *a, const struct json *const *pods, uint32_t pods_n, struct json *workload)
{
    struct json *labels = json_path(workload, "metadata", "labels", NULL);
    for (uint32_t i = 0; i < pods_n; i++) {
        const char *other = copy_labels(j, a, pods[i], labels);
        if (!other)
            continue;
        job_event(j, pods[i], "v1", "Pod", "Warning", "ErrWorkloadCompose",
                  "pods of group %s have different values of label %s, which is copied onto their Workload: '%s' and '%s'; write the same",
                  object_meta(workload, "name"), other, json_get_text(labels, other, ""), object_label(pods[i], other));
        return false;
    }
    return true;
}

bool kueue_copy_stakes(struct arena *a, const struct json *owner, const struct json *workload, struct json *to)
{
    static const char *const keys[] = {DECODE_MINIMUM_RUN_ANNOTATION, DECODE_CHECKPOINT_ANNOTATION, DECODE_HUNG_AFTER_ANNOTATION,
                                       DECODE_HUNG_RESTART_ANNOTATION, DECODE_MOVABLE_ANNOTATION, DECODE_CHECKPOINT_WITHIN_ANNOTATION};
    bool any = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct json *from = json_path(owner, "metadata", "annotations", keys[i], NULL),
                          *there = json_path(workload, "metadata", "annotations", keys[i], NULL);
        bool same = from && there ? json_equal(from, there) : from == there;
        if (same || (!from && *kueue_prebuilt_name(owner)))
            continue;
        json_set(a, json_ensure_object(a, json_ensure_object(a, to, "metadata"), "annotations"), keys[i],
                 from ? json_clone(a, from) : json_new(a, JSON_NULL));
        any = true;
    }
    return any;
}

/* SOURCE batch/v1 JobSpec, Kubeflow's RunPolicy, RayJob. */
void kueue_note_deadline(struct arena *a, const struct json *owner, struct json *meta)
{
    const struct json *spec = json_get(owner, "spec"), *of_policy = json_path(spec, "runPolicy", "activeDeadlineSeconds", NULL);
    int64_t seconds = json_get_int64(spec, "activeDeadlineSeconds", json_int64(of_policy, 0));
    if (seconds > 0)
        json_set_text(a, json_ensure_object(a, meta, "annotations"), DECODE_DEADLINE_ANNOTATION,
                      arena_printf(a, "%lld", (long long)seconds));
}

struct json *kueue_workload(struct jobs *j, struct arena *a, const struct kueue_workload_request *r,
                            const char **ret_why)
{
    struct json *workload = json_new(a, JSON_OBJECT);
    json_set_text(a, workload, "apiVersion", "kueue.x-k8s.io/v1beta2");
    json_set_text(a, workload, "kind", "Workload");
    struct json *meta = json_ensure_object(a, workload, "metadata");
    json_set_text(a, meta, "name", r->name);
    json_set_text(a, meta, "namespace", object_meta(r->owner, "namespace"));
    json_append(json_ensure_array(a, meta, "finalizers"), json_new_text(a, KUEUE_IN_USE_FINALIZER));
    json_set(a, meta, "ownerReferences", r->owner_references);
    struct json *labels = json_ensure_object(a, meta, "labels");
    (void)copy_labels(j, a, r->owner, labels); /* none is there yet */
    json_set_text(a, labels, "kueue.x-k8s.io/job-uid", object_meta(r->owner, "uid"));
    JSON_EACH (annotation, json_path(r->owner, "metadata", "annotations", NULL)) /* for provisioning requests */
        if (text_starts(annotation->key, "provreq.kueue.x-k8s.io/"))
            json_set(a, json_ensure_object(a, meta, "annotations"), annotation->key, json_clone(a, annotation));
    (void)kueue_copy_stakes(a, r->owner, workload, workload);
    kueue_note_deadline(a, r->owner, meta);
    if (r->later)
        json_set_text(a, json_ensure_object(a, meta, "annotations"), DECODE_LATER_ANNOTATION, r->later);
    struct json *spec = json_ensure_object(a, workload, "spec");
    json_set(a, spec, "podSets", r->pod_sets);
    if (*r->queue)
        json_set_text(a, spec, "queueName", r->queue);
    json_set_bool(a, spec, "active", true);
    int64_t seconds;
    if (bytes_int64(bytes_of(object_label(r->owner, KUEUE_EXEC_TIME_LABEL)), &seconds) && seconds > 0)
        json_set_int64(a, spec, "maximumExecutionTimeSeconds", seconds);
    const char *class = object_label(r->owner, KUEUE_PRIORITY_LABEL);
    if (!kueue_set_priority(j, a, class, r->priority_class, spec)) {
        *ret_why = arena_printf(a, "WorkloadPriorityClass \"%s\" not found", class);
        return NULL;
    }
    return workload;
}

bool kueue_follow_priority(struct jobs *j, struct arena *a, const struct json *owner, const struct json *workload, const char *pod_class,
                           struct json *spec, const char **ret_missing)
{
    const struct json *is = json_get(workload, "spec"), *ref = json_get(is, "priorityClassRef");
    const char *wanted = object_label(owner, KUEUE_PRIORITY_LABEL);
    bool own = strcmp(json_get_text(ref, "group", ""), "kueue.x-k8s.io") == 0;
    if (*kueue_prebuilt_name(owner))
        return false;
    if (object_condition_true(workload, "QuotaReserved") && (!own || !*wanted || strcmp(wanted, json_get_text(ref, "name", "")) == 0))
        return false;
    struct json *now = json_new(a, JSON_OBJECT);
    if (!kueue_set_priority(j, a, wanted, pod_class, now)) {
        *ret_missing = wanted;
        return false;
    }
    const struct json *class = json_get(now, "priorityClassRef"), *priority = json_get(now, "priority");
    bool same = ref && class ? json_equal(ref, class) : ref == class;
    if (same && json_get(is, "priority") && json_equal(json_get(is, "priority"), priority))
        return false;
    json_set(a, spec, "priorityClassRef", class ? json_clone(a, class) : json_new(a, JSON_NULL));
    if (priority)
        json_set(a, spec, "priority", json_clone(a, priority));
    return true;
}

/* ---- starting ---- */

static bool start_add_flavor(struct jobs *j, struct arena *a, struct kueue_start *s, const char *flavor)
{
    const struct json *object = kube_cache_get(j->flavors, "", flavor, a);
    if (!object)
        return false;
    JSON_EACH (label, json_path(object, "spec", "nodeLabels", NULL))
        json_set_text(a, s->node_labels, label->key, json_text(label, ""));
    JSON_EACH (toleration, json_path(object, "spec", "tolerations", NULL)) {
        bool known = false;
        JSON_EACH (old, s->tolerations)
            known = known || json_equal(old, toleration);
        if (!known)
            json_append(s->tolerations, json_clone(a, toleration));
    }
    return true;
}

struct kueue_start *kueue_starts(struct jobs *j, struct arena *a, const struct json *workload, uint32_t *ret_n)
{
    const struct json *admission = json_path(workload, "status", "admission", NULL),
                      *list = json_get(admission, "podSetAssignments");
    uint32_t n = 0;
    struct kueue_start *starts = arena_zero(a, (list ? list->n : 0) + 1u, sizeof *starts);
    JSON_EACH (assignment, list) {
        struct kueue_start *s = &starts[n++];
        s->pod_set = json_get_text(assignment, "name", "main");
        s->workload = object_meta(workload, "name");
        s->admitted_at = json_get_text(object_condition(workload, "Admitted"), "lastTransitionTime", "");
        s->cluster_queue = json_get_text(admission, "clusterQueue", "");
        s->local_queue = json_get_text(json_get(workload, "spec"), "queueName", "");
        s->count = json_get_int64(assignment, "count", 0);
        s->node_labels = json_new(a, JSON_OBJECT);
        s->tolerations = json_new(a, JSON_ARRAY);
        JSON_EACH (flavor, json_get(assignment, "flavors"))
            if (!start_add_flavor(j, a, s, json_text(flavor, "")))
                return NULL;
        kueue_updates_add(a, workload, s);
    }
    *ret_n = n;
    return starts;
}

bool kueue_admitted(const struct json *workload)
{
    return object_condition_true(workload, "Admitted") && !object_condition_true(workload, "Evicted") &&
           !object_condition_true(workload, "Finished");
}

bool kueue_holds_quota(const struct json *workload)
{
    return kueue_admitted(workload) || (object_condition_true(workload, "QuotaReserved") && !object_condition_true(workload, "Evicted"));
}

/* ---- made by somebody else ---- */

const char *kueue_prebuilt_name(const struct json *job)
{
    const char *label = object_label(job, KUEUE_PREBUILT_ANNOTATION);
    return *label ? label : object_annotation(job, KUEUE_PREBUILT_ANNOTATION);
}

bool kueue_workload_fits(const struct json *workload, const struct json *pod_sets)
{
    const struct json *is = json_path(workload, "spec", "podSets", NULL), *other = json_item(pod_sets, 0);
    if (!is || is->n != pod_sets->n)
        return false;
    JSON_EACH (set, is) {
        if (strcmp(json_get_text(set, "name", "main"), json_get_text(other, "name", "main")) != 0 ||
            json_get_int64(set, "count", 1) != json_get_int64(other, "count", 1) ||
            json_get_int64(set, "minCount", 0) != json_get_int64(other, "minCount", 0))
            return false;
        other = other->next;
    }
    return true;
}

bool kueue_workload_covers(const struct json *workload, const struct json *pod_sets)
{
    const struct json *is = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    JSON_EACH (set, pod_sets) {
        if (!is || strcmp(json_get_text(set, "name", "main"), json_get_text(is, "name", "main")) != 0 ||
            json_get_int64(set, "count", 1) > json_get_int64(is, "count", 1))
            return false;
        is = is->next;
    }
    return is == NULL;
}

bool kueue_workload_is_of(const struct json *workload, const struct json *job)
{
    return strcmp(object_controller(workload, "uid"), object_meta(job, "uid")) == 0;
}

void kueue_workload_adopt(struct jobs *j, struct work *w, const struct json *workload, const struct kueue_workload_request *r,
                          int64_t now_ms)
{
    struct arena *a = w->arena;
    const struct json *ref = json_item(r->owner_references, 0);
    if (*object_controller(workload, "uid")) {
        job_event(j, r->owner, json_get_text(ref, "apiVersion", ""), json_get_text(ref, "kind", ""), "Warning", "ErrWorkloadCompose",
                  "Workload %s belongs to %s %s: name another one in " KUEUE_PREBUILT_ANNOTATION, r->name, object_controller(workload, "kind"),
                  object_controller(workload, "name"));
        return;
    }
    if (!kueue_workload_fits(workload, r->pod_sets)) {
        kueue_workload_finish(w, workload, false, "OutOfSync", "The prebuilt workload is out of sync with its user job", now_ms);
        return;
    }
    /* WHY  deleted while its job runs it would be gone at once, and nobody left who stops that */
    struct json *held = object_finalizer_patch(a, workload, KUEUE_IN_USE_FINALIZER, true);
    struct json *patch = held ? held : object_patch(a, workload), *meta = json_get(patch, "metadata");
    JSON_EACH (one, json_path(workload, "metadata", "ownerReferences", NULL))
        json_append(r->owner_references, json_clone(a, one));
    json_set(a, meta, "ownerReferences", r->owner_references);
    json_set_text(a, json_ensure_object(a, meta, "labels"), "kueue.x-k8s.io/job-uid", object_meta(r->owner, "uid"));
    work_patch(w, KUBE_PATCH_MERGE, kueue_workload_path(w, r->name, NULL), patch);
}

/* ---- status ---- */

#define NONE_READY "Not all pods are ready or succeeded"

/* released: the admission goes, and the time it lasted is kept. */
static void workload_status_send(struct work *w, const struct json *workload, struct json *conditions, bool released,
                        int64_t executed_s)
{
    struct json *status = json_new(w->arena, JSON_OBJECT);
    json_set(w->arena, status, "conditions", conditions);
    if (released) {
        json_set(w->arena, status, "admission", json_new(w->arena, JSON_NULL));
        json_set(w->arena, status, "accumulatedPastExecutionTimeSeconds",
                 executed_s ? json_new_int64(w->arena, executed_s) : json_new(w->arena, JSON_NULL));
    }
    work_patch_status(w, kueue_workload_path(w, object_meta(workload, "name"), "status"), workload, status);
}

void kueue_workload_finish(struct work *w, const struct json *workload, bool succeeded, const char *reason,
                           const char *message, int64_t now_ms)
{
    struct json *conditions = object_conditions_copy(w->arena, workload);
    if (object_condition_true(workload, "Finished"))
        return;
    (void)object_condition_set(w->arena, conditions, "Finished", true,
                               reason      ? reason
                               : succeeded ? "Succeeded"
                                           : "Failed",
                               message, now_ms, object_generation_of(workload));
    workload_status_send(w, workload, conditions, false, 0);
}

void kueue_workload_release(struct work *w, const struct json *workload, bool is_last, int64_t now_ms)
{
    if (!object_condition_true(workload, "QuotaReserved") && !object_condition_true(workload, "Admitted"))
        return;
    const struct json *evicted = object_condition(workload, "Evicted");
    const char *message = json_get_text(evicted, "message", "The job has stopped"),
               *why = json_get_text(evicted, "reason", "");
    int64_t generation = object_generation_of(workload);
    struct json *conditions = object_conditions_copy(w->arena, workload);
    bool active = json_get_bool(json_get(workload, "spec"), "active", true);
    (void)object_condition_set(w->arena, conditions, "QuotaReserved", false, active ? "PendingEvaluation" : "Deactivated",
                               active ? message : "The workload is deactivated", now_ms, generation);
    (void)object_condition_set(w->arena, conditions, "Admitted", false, "NoReservation",
                               "The workload has no reservation", now_ms, generation);
    if (object_condition(workload, "PodsReady"))
        (void)object_condition_set(w->arena, conditions, "PodsReady", false, "WaitForStart", NONE_READY, now_ms, generation);
    /* What was deactivated starts anew when it is activated. */
    int64_t executed_s = text_starts(why, "Deactivated") ? 0 : kueue_executed_ms(workload, now_ms) / 1000;
    bool at_once = (!*why || strcmp(why, "Preempted") == 0 || strcmp(why, "NodeFailures") == 0) && !is_last;
    if (*why)
        (void)object_condition_set(w->arena, conditions, "Requeued", at_once, why, message, now_ms, generation);
    workload_status_send(w, workload, conditions, true, executed_s);
}

void kueue_workload_hold(struct work *w, const struct json *workload, const char *message, int64_t now_ms)
{
    int64_t generation = object_generation_of(workload);
    struct json *conditions = object_conditions_copy(w->arena, workload);
    (void)object_condition_set(w->arena, conditions, "QuotaReserved", false, "OnHold", message, now_ms, generation);
    (void)object_condition_set(w->arena, conditions, "Admitted", false, "NoReservation",
                               "The workload has no reservation", now_ms, generation);
    if (object_condition(workload, "PodsReady"))
        (void)object_condition_set(w->arena, conditions, "PodsReady", false, "WaitForStart", NONE_READY, now_ms, generation);
    workload_status_send(w, workload, conditions, true, kueue_executed_ms(workload, now_ms) / 1000);
}

static int64_t reclaimed_n(const struct json *workload, const char *set)
{
    JSON_EACH (one, json_path(workload, "status", "reclaimablePods", NULL))
        if (strcmp(json_get_text(one, "name", "main"), set) == 0)
            return json_get_int64(one, "count", 0);
    return 0;
}

bool kueue_workload_reclaim(struct work *w, const struct json *workload, const struct json *over)
{
    struct arena *a = w->arena;
    struct json *patch = object_patch(a, workload), *list = json_ensure_array(a, json_ensure_object(a, patch, "status"), "reclaimablePods");
    bool is_news = false;
    JSON_EACH (set, json_path(workload, "spec", "podSets", NULL)) {
        const char *name = json_get_text(set, "name", "main");
        int64_t was = reclaimed_n(workload, name), now = json_get_int64(over, name, 0);
        bool grows = now > was && now <= json_get_int64(set, "count", 1);
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_text(a, one, "name", name);
        json_set_int64(a, one, "count", grows ? now : was);
        if (grows || was)
            json_append(list, one);
        is_news |= grows;
    }
    if (is_news)
        work_patch(w, KUBE_PATCH_MERGE, kueue_workload_path(w, object_meta(workload, "name"), "status"), patch);
    return is_news;
}

bool kueue_workload_say(struct work *w, const struct json *workload, const char *type, bool status, const char *reason,
                        const char *message, int64_t now_ms)
{
    struct json *conditions = object_conditions_copy(w->arena, workload);
    if (!object_condition_set(w->arena, conditions, type, status, reason, message, now_ms, object_generation_of(workload)))
        return false;
    workload_status_send(w, workload, conditions, false, 0);
    return true;
}

void kueue_workload_waits(struct work *w, const struct json *workload, int64_t now_ms)
{
    (void)kueue_workload_say(w, workload, "PodsReady", false, "WaitForStart", NONE_READY, now_ms);
}

void kueue_workload_ready(struct work *w, const struct json *workload, bool ready, int64_t now_ms)
{
    const struct json *old = object_condition(workload, "PodsReady");
    const char *was = json_get_text(old, "reason", ""), *reason = "WaitForRecovery";
    if (!old && !ready) {
        kueue_workload_waits(w, workload, now_ms);
        return;
    }
    if (object_condition_true(workload, "PodsReady") == ready)
        return;
    if (ready) /* SOURCE Kueue: who was ready before has recovered */
        reason = strcmp(was, "WaitForRecovery") == 0 || strcmp(was, "Recovered") == 0 ? "Recovered" : "Started";
    (void)kueue_workload_say(w, workload, "PodsReady", ready, reason,
                             ready ? "All pods reached readiness and the workload is running"
                                   : "At least one pod has failed, waiting for recovery",
                             now_ms);
}

void kueue_pods_say_ready(struct work *w, const struct json *workload, const struct json *const *pods, uint32_t n, int64_t total,
                          int64_t now_ms)
{
    int64_t ready_n = 0;
    for (uint32_t i = 0; i < n; i++)
        ready_n += object_condition_true(pods[i], "Ready") ||
                   strcmp(json_text(json_path(pods[i], "status", "phase", NULL), ""), "Succeeded") == 0;
    kueue_workload_ready(w, workload, ready_n >= total, now_ms);
}
