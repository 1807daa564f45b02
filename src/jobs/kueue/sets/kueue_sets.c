/* kueue_sets.c - sets that are queued by their pods: their Workloads, and the group of each pod; see kueue_set.h
 *
 * A pass over a set, one step each: its Workloads are there, of its shape, queue and priority; those too many go. A pass over a pod: it
 * gets the name of its Workload's group, once. Who waits, starts, is stopped and comes back is kueue_pods.c's.
 */
#include "codec/decode/decode.h"
#include "codec/kinds/queued_sets.h"
#include "codec/kinds/waiting_names.h"
#include "jobs/kueue/kueue_gate.h"
#include "jobs/kueue/sets/kueue_set.h"
#include "jobs/kueue/sets/kueue_unheld.h"

#define COMPONENT_ANNOTATION "kueue.x-k8s.io/component-workload-index"
#define MANAGED "kueue.x-k8s.io/managed"
enum { CREATE_MOST = 100, BEHIND_MS = 200, SETS_N = 2 }; /* Workloads made in one pass; a watch is behind */

struct served {
    struct kueue_sets *all;
    const struct queued_set *set;
    const struct kueue_set_kind *calls;
    struct kube_cache *cache; /* marked by what of it concerns its pods and the number of its Workloads */
    struct workqueue *queue;
};
struct kueue_sets {
    struct jobs *jobs;
    struct kueue_sets_calls calls;
    struct kube_cache *bare; /* pods that a webhook holds, and that name no queue yet */
    struct workqueue *pods;
    struct kueue_unheld *unheld;
    struct map *strayed;     /* "kind/ns/set" whose Workloads may be too many */
    struct arena *scratch;
    struct served served[SETS_N];
    uint32_t served_n;
};

struct pass {
    struct served *s;
    struct work *work;
    const struct json *set;
    int64_t now_ms;
};

static const char *api_version(struct arena *a, const struct queued_set *s)
{
    return arena_printf(a, "%s/%s", s->group, s->version);
}

static struct served *served_of(struct kueue_sets *k, const struct queued_set *set)
{
    for (uint32_t i = 0; set && i < k->served_n; i++)
        if (k->served[i].set == set)
            return &k->served[i];
    return NULL;
}

#define TELL_THEN(x, reason, ...)                                                                                                   \
    job_event_then((x)->s->all->jobs, (x)->work, (x)->set, api_version((x)->work->arena, (x)->s->set), (x)->s->set->kind, "Normal", \
                   reason, __VA_ARGS__)

/* ---- the Workload of a group ---- */

static const char *priority_class_of(const struct json *pod_sets)
{
    JSON_EACH (set, pod_sets) {
        const char *class = json_text(json_path(set, "template", "spec", "priorityClassName", NULL), "");
        if (*class)
            return class;
    }
    return "";
}

/* What its pods are made after, as annotations of the Workload. False: it says so. */
static bool order_set(struct pass *x, const struct json *workload, struct json *patch)
{
    const struct kueue_set_kind *calls = x->s->calls;
    const struct {
        const char *key, *value;
    } all[] = {{DECODE_LATER_ANNOTATION, calls->later ? calls->later(x->set) : ""},
               {DECODE_SERIAL_ANNOTATION, calls->serial ? calls->serial(x->set) : ""}};
    bool any = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(object_annotation(workload, all[i].key), all[i].value) == 0)
            continue;
        struct json *annotations = json_ensure_object(x->work->arena, json_ensure_object(x->work->arena, patch, "metadata"), "annotations");
        json_set(x->work->arena, annotations, all[i].key,
                 *all[i].value ? json_new_text(x->work->arena, all[i].value) : json_new(x->work->arena, JSON_NULL));
        any = true;
    }
    return any;
}

/* It is the set's, but not for it alone: pods own it, too, where Kueue made it. */
static struct json *owner_of(struct pass *x)
{
    struct json *owners = job_owner(x->work->arena, x->set, api_version(x->work->arena, x->s->set), x->s->set->kind);
    (void)json_remove(json_item(owners, 0), "controller");
    return owners;
}

/* WHY  no webhook has written it, and nobody holds its pods back. */
static void warn_unheld(struct pass *x)
{
    const char *text = unheld_text(x->work->arena, x->s->set->kind, x->set);
    if (text)
        job_event(x->s->all->jobs, x->set, api_version(x->work->arena, x->s->set), x->s->set->kind, "Warning", KUEUE_UNHELD_EVENT, "%s",
                  text);
}

static void create_workload(struct pass *x, const char *name, int64_t group)
{
    struct arena *a = x->work->arena;
    struct jobs *j = x->s->all->jobs;
    struct kueue_workload_request r = {.name = name, .queue = object_label(x->set, KUEUE_QUEUE_LABEL), .owner = x->set};
    r.pod_sets = x->s->calls->pod_sets(a, x->set);
    r.priority_class = priority_class_of(r.pod_sets);
    r.owner_references = owner_of(x);
    const char *why = "";
    struct json *workload = kueue_workload(j, a, &r, &why);
    if (!workload) {
        job_event(j, x->set, api_version(a, x->s->set), x->s->set->kind, "Warning", "WorkloadPriorityClassNotFound", "%s", why);
        return; /* its coming brings the next pass */
    }
    struct json *annotations = json_ensure_object(a, json_get(workload, "metadata"), "annotations");
    json_set_text(a, annotations, KUEUE_GROUP_WORKLOAD_ANNOTATION, "true");
    json_set_text(a, annotations, "kueue.x-k8s.io/job-owner-gvk",
                  arena_printf(a, "%s, Kind=%s", api_version(a, x->s->set), x->s->set->kind));
    json_set_text(a, annotations, "kueue.x-k8s.io/job-owner-name", object_meta(x->set, "name"));
    if (!x->s->calls->keeps_last)
        json_set_text(a, annotations, COMPONENT_ANNOTATION, arena_printf(a, "%lld", (long long)group));
    (void)order_set(x, workload, workload);
    warn_unheld(x);
    TELL_THEN(x, "CreatedWorkload", "Created Workload: %s/%s", x->work->ns, name);
    work_create(x->work, kueue_workload_path(x->work, NULL, NULL), workload);
}

static bool is_owned(const struct json *workload, const struct json *set)
{
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL))
        if (strcmp(json_get_text(owner, "uid", ""), object_meta(set, "uid")) == 0)
            return true;
    return false;
}

/* Do its pods ask for what the Workload was made for? */
static bool has_shape(struct arena *a, const struct json *workload, const struct json *pod_sets)
{
    const struct json *is = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    if (!kueue_workload_fits(workload, pod_sets))
        return false;
    JSON_EACH (want, pod_sets) {
        if (strcmp(kueue_shape(a, json_get(is, "template")), kueue_shape(a, json_get(want, "template"))) != 0)
            return false;
        is = is->next;
    }
    return true;
}

static void drop_workload(struct pass *x, const struct json *workload)
{
    TELL_THEN(x, "DeletedWorkload", "Deleted not matching Workload: %s/%s", x->work->ns, object_meta(workload, "name"));
    work_delete(x->work, kueue_workload_path(x->work, object_meta(workload, "name"), NULL), object_meta(workload, "uid"), NULL);
}

static bool is_held(const struct json *workload)
{
    const struct json *reserved = object_condition(workload, "QuotaReserved");
    return strcmp(json_get_text(reserved, "reason", ""), "OnHold") == 0 && !object_condition_true(workload, "QuotaReserved") &&
           strcmp(json_get_text(reserved, "message", ""), WORKLOAD_HELD_MESSAGE) == 0;
}

/* What the Workload says of its owner, queue, priority and pods follows the set. Of a Workload with quota shape and queue are fixed: it
 * goes, and its pods with it, and the set is queued again as a whole. WHY  where no rule keeps the set as it is. Returns true when a write
 * is on its way. */
static bool follow(struct pass *x, const struct json *workload, bool is_former)
{
    struct arena *a = x->work->arena;
    struct json *pod_sets = x->s->calls->pod_sets(a, x->set), *patch = object_patch(a, workload), *spec = json_new(a, JSON_OBJECT);
    bool has_quota = object_condition_true(workload, "QuotaReserved"), same = is_former || has_shape(a, workload, pod_sets);
    const char *queue = object_label(x->set, KUEUE_QUEUE_LABEL), *missing = NULL;
    bool moves = *queue && strcmp(json_get_text(json_get(workload, "spec"), "queueName", ""), queue) != 0;
    if (has_quota && (!same || moves)) {
        drop_workload(x, workload);
        return true;
    }
    if (!same)
        json_set(a, spec, "podSets", pod_sets);
    if (moves)
        json_set_text(a, spec, "queueName", queue);
    (void)kueue_follow_priority(x->s->all->jobs, a, x->set, workload, priority_class_of(pod_sets), spec, &missing);
    bool marks = kueue_copy_stakes(a, x->set, workload, patch), owned = is_owned(workload, x->set);
    marks |= order_set(x, workload, patch);
    if (!owned) { /* left by another set of its name, or by Kueue for this one */
        struct json *owners = owner_of(x);
        JSON_EACH (one, json_path(workload, "metadata", "ownerReferences", NULL))
            json_append(owners, json_clone(a, one));
        json_set(a, json_get(patch, "metadata"), "ownerReferences", owners);
    }
    if (!spec->n && !marks && owned)
        return false;
    if (spec->n)
        json_set(a, patch, "spec", spec);
    TELL_THEN(x, "UpdatedWorkload", "Updated workload: %s/%s", x->work->ns, object_meta(workload, "name"));
    work_patch(x->work, KUBE_PATCH_MERGE, kueue_workload_path(x->work, object_meta(workload, "name"), NULL), patch);
    return true;
}

/* ---- a pass over a set ---- */

static const struct json *workload_named(struct pass *x, const char *name)
{
    return kube_cache_get(x->s->all->jobs->workloads, x->work->ns, name, x->work->arena);
}

static void pass_of_group(struct pass *x, int64_t group, uint32_t *created_n)
{
    const struct kueue_set_kind *calls = x->s->calls;
    const char *name = calls->workload_name(x->work->arena, x->set, group);
    const struct json *workload = workload_named(x, name);
    bool is_former = !workload && calls->former_name; /* what Kueue had made is taken as it is */
    if (is_former)
        workload = workload_named(x, calls->former_name(x->work->arena, x->set));
    if (!workload) {
        create_workload(x, name, group);
        *created_n += 1;
        return;
    }
    if (object_deleting(workload) || object_condition_true(workload, "Finished") || follow(x, workload, is_former))
        return; /* its change brings the next pass */
    if (is_held(workload))
        (void)kueue_workload_say(x->work, workload, "QuotaReserved", false, "PendingEvaluation",
                                 "The set has pods again: its Workload waits for quota", x->now_ms);
}

/* SOURCE Kueue: a set that is scaled to zero keeps its Workload, without quota and out of the queue. */
static void hold(struct pass *x)
{
    const struct json *workload = workload_named(x, x->s->calls->workload_name(x->work->arena, x->set, 0));
    if (!workload && x->s->calls->former_name)
        workload = workload_named(x, x->s->calls->former_name(x->work->arena, x->set));
    if (!workload || object_deleting(workload) || object_condition_true(workload, "Finished") || is_held(workload))
        return;
    kueue_workload_hold(x->work, workload, WORKLOAD_HELD_MESSAGE, x->now_ms);
}

static int64_t component_of(const struct json *workload)
{
    int64_t group;
    return bytes_int64(bytes_of(object_annotation(workload, COMPONENT_ANNOTATION)), &group) ? group : -1;
}

/* Those of groups that are not any more. */
static void drop_surplus(struct pass *x, int64_t groups)
{
    struct jobs *j = x->s->all->jobs;
    const char *uid = object_meta(x->set, "uid"), *ns = arena_printf(x->work->arena, "%s/", x->work->ns);
    struct bytes key, raw;
    if (!map_remove(x->s->all->strayed, bytes_of(arena_printf(x->work->arena, "%s/%s", x->s->set->kind, x->work->key))))
        return;
    for (size_t at = 0; kube_cache_next(j->workloads, &at, &key, &raw);) {
        if (!bytes_starts(key, ns) || !memmem(raw.data, raw.n, uid, strlen(uid)))
            continue;
        const struct json *workload = json_parse(x->work->arena, raw, NULL, NULL);
        if (is_owned(workload, x->set) && component_of(workload) >= groups && !object_deleting(workload))
            drop_workload(x, workload);
    }
}

/* A StatefulSet that a LeaderWorkerSet has made, that of workers for its pod of the leader, bears its labels, too. */
static bool is_of_another(const struct pass *x)
{
    const struct queued_set *by = queued_set_of_pod(json_path(x->set, "spec", "template", NULL));
    const char *maker = object_controller(x->set, "kind");
    return (by && by != x->s->set) || queued_set_named(maker) || strcmp(maker, "Pod") == 0;
}

static void reconcile(void *arg, struct work *w)
{
    struct served *s = arg;
    struct jobs *j = s->all->jobs;
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(j->loop)};
    uint32_t created_n = 0;
    if (!kube_cache_synced(s->cache) || !s->all->calls.is_ready(j))
        return; /* all keys are added again when they are */
    x.set = kube_cache_get(s->cache, w->ns, w->name, w->arena);
    if (!x.set || object_deleting(x.set) || !s->all->calls.in_scope(j, x.set) || is_of_another(&x))
        return;
    int64_t groups = s->calls->groups_n(x.set);
    if (!s->calls->keeps_last)
        drop_surplus(&x, groups);
    else if (groups == 0)
        hold(&x);
    for (int64_t i = 0; i < groups && created_n < CREATE_MOST; i++)
        pass_of_group(&x, i, &created_n);
    if (created_n == CREATE_MOST)
        work_again(w, BEHIND_MS);
}

/* ---- a pass over a pod ---- */

/* Of sets that sets have made, as those of a LeaderWorkerSet, the maker's name stands in a label: kueue_set.h */
static const struct json *set_of_pod(struct served *s, const struct json *pod, struct arena *a)
{
    const char *name = s->calls->set_of(pod);
    const struct json *set = *name ? kube_cache_get(s->cache, object_meta(pod, "namespace"), name, a) : NULL;
    bool other = s->calls->id == QUEUED_STATEFULSET && set && strcmp(object_meta(set, "uid"), object_controller(pod, "uid")) != 0;
    return other || !set || object_deleting(set) || !s->all->calls.in_scope(s->all->jobs, set) ? NULL : set;
}

static const char *group_name(const struct json *pod)
{
    const char *name = object_annotation(pod, KUEUE_GROUP_NAME);
    return *name ? name : object_label(pod, KUEUE_GROUP_NAME);
}

/* SOURCE Kueue: what its controllers write on pods of sets. */
static void join(struct served *s, struct work *w, const struct json *set, const struct json *pod, const char *group)
{
    struct arena *a = w->arena;
    struct json *patch = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata"),
                *labels = json_ensure_object(a, meta, "labels"), *annotations = json_ensure_object(a, meta, "annotations");
    const char *class = object_label(set, KUEUE_PRIORITY_LABEL);
    json_set_text(a, meta, "uid", object_meta(pod, "uid"));
    if (kueue_gate_stands(pod)) /* WHY  the label without the gate says that it came through: kueue_pods.c */
        json_set_text(a, labels, MANAGED, "true");
    json_set_text(a, labels, KUEUE_QUEUE_LABEL, object_label(set, KUEUE_QUEUE_LABEL));
    if (*class)
        json_set_text(a, labels, KUEUE_PRIORITY_LABEL, class);
    json_set_text(a, annotations, KUEUE_PREBUILT_ANNOTATION, group);
    json_set_text(a, annotations, KUEUE_GROUP_NAME, group);
    json_set_text(a, annotations, KUEUE_GROUP_TOTAL, arena_printf(a, "%lld", (long long)s->calls->pods_n(set)));
    json_set_text(a, annotations, KUEUE_GROUP_SERVING, "true");
    if (s->calls->is_fast)
        json_set_text(a, annotations, KUEUE_GROUP_FAST, "true");
    if (s->calls->index_label)
        json_set_text(a, annotations, "kueue.x-k8s.io/pod-group-pod-index-label", s->calls->index_label);
    json_set_text(a, annotations, KUEUE_ROLE_ANNOTATION, s->calls->pod_set_of(set, pod));
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "pods", w->ns, w->name, NULL), patch);
}

static bool has_ended(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void reconcile_pod(void *arg, struct work *w)
{
    struct kueue_sets *k = arg;
    const struct json *pod = k->calls.queued_pod(k->jobs, w->ns, w->name, w->arena);
    if (!pod)
        pod = kube_cache_get(k->bare, w->ns, w->name, w->arena);
    struct served *s = served_of(k, queued_set_of_pod(pod));
    const struct json *set = s && kube_cache_synced(s->cache) && k->calls.is_ready(k->jobs) ? set_of_pod(s, pod, w->arena) : NULL;
    int64_t group = set ? s->calls->group_of(pod) : -1;
    if (!set || group < 0 || object_deleting(pod) || has_ended(pod))
        return; /* the set's coming, or the label's, brings the next pass */
    const char *name = s->calls->workload_name(w->arena, set, group),
               *former = s->calls->former_name ? s->calls->former_name(w->arena, set) : NULL,
               *queue = object_label(set, KUEUE_QUEUE_LABEL);
    if (former && kube_cache_raw(k->jobs->workloads, w->ns, former).n && !kube_cache_raw(k->jobs->workloads, w->ns, name).n)
        name = former;
    if (strcmp(group_name(pod), name) != 0)
        join(s, w, set, pod, name);
    else if (*queue && strcmp(object_label(pod, KUEUE_QUEUE_LABEL), queue) != 0) {
        struct json *patch = json_new(w->arena, JSON_OBJECT);
        json_set_text(w->arena, json_ensure_object(w->arena, json_ensure_object(w->arena, patch, "metadata"), "labels"),
                      KUEUE_QUEUE_LABEL, queue);
        work_patch(w, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", w->ns, w->name, NULL), patch);
    }
}

void kueue_sets_pod(struct kueue_sets *k, const struct json *pod, const char *key)
{
    if (k && queued_set_of_pod(pod))
        workqueue_add(k->pods, key);
}

/* ---- changes ---- */

static void on_bare(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct kueue_sets *k = arg;
    if (event == KUBE_DELETED)
        return; /* or it names a queue by now */
    arena_reset(k->scratch);
    kueue_sets_pod(k, json_parse(k->scratch, object, NULL, NULL), key);
}

static void look_at_pods(struct kueue_sets *k, const char *word)
{
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next(k->bare, &at, &key, &raw);)
        if (memmem(raw.data, raw.n, word, strlen(word)))
            workqueue_add(k->pods, key.data); /* keys of maps are NUL terminated */
    k->calls.look_at_pods(k->jobs, word);
}

/* What concerns its pods, and how many Workloads it has. */
static const char *concern_of(const struct served *s, struct arena *a, const struct json *set)
{
    return arena_printf(a, "%s %s %lld", object_meta(set, "uid"), object_label(set, KUEUE_QUEUE_LABEL), (long long)s->calls->groups_n(set));
}

/* Nobody is left who would release its Workloads. */
static void set_gone(struct kueue_sets *k, const char *uid)
{
    struct bytes key, raw;
    for (size_t at = 0; k->jobs->workloads && kube_cache_next(k->jobs->workloads, &at, &key, &raw);)
        if (memmem(raw.data, raw.n, uid, strlen(uid)))
            k->calls.owner_gone(k->jobs, key.data); /* keys of maps are NUL terminated */
}

static void on_set(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct served *s = arg;
    struct kueue_sets *k = s->all;
    struct arena *a = arena_new();
    const struct json *set = json_parse(a, object, NULL, NULL);
    if (event == KUBE_DELETED) {
        set_gone(k, object_meta(set, "uid"));
    } else if (strcmp(kube_cache_marked(s->cache, key), concern_of(s, a, set)) != 0) {
        kube_cache_mark(s->cache, key, concern_of(s, a, set));
        (void)map_put(k->strayed, bytes_of(arena_printf(a, "%s/%s", s->set->kind, key)), NULL);
        look_at_pods(k, object_meta(set, "name"));
    }
    workqueue_add(s->queue, key);
    arena_free(a);
}

static void on_synced(void *arg)
{
    struct served *s = arg;
    workqueue_add_all(s->queue, s->cache, NULL);
    look_at_pods(s->all, "");
}

void kueue_sets_synced(struct kueue_sets *k)
{
    for (uint32_t i = 0; k && i < k->served_n; i++)
        on_synced(&k->served[i]);
    kueue_unheld_look(k ? k->unheld : NULL, NULL);
}

void kueue_sets_naming(struct kueue_sets *k, const char *name)
{
    for (uint32_t i = 0; k && i < k->served_n; i++)
        workqueue_add_all(k->served[i].queue, k->served[i].cache, name);
    kueue_unheld_look(k ? k->unheld : NULL, name);
}

void kueue_sets_workload(struct kueue_sets *k, const struct json *workload)
{
    JSON_EACH (owner, k ? json_path(workload, "metadata", "ownerReferences", NULL) : NULL)
        for (uint32_t i = 0; i < k->served_n; i++) {
            struct served *s = &k->served[i];
            if (strcmp(json_get_text(owner, "kind", ""), s->set->kind) != 0)
                continue;
            arena_reset(k->scratch);
            const char *ns = object_meta(workload, "namespace"), *name = json_get_text(owner, "name", ""),
                       *key = arena_printf(k->scratch, "%s/%s", ns, name);
            const struct json *set = kube_cache_get(s->cache, ns, name, k->scratch);
            if (set && !s->calls->keeps_last && component_of(workload) >= s->calls->groups_n(set))
                (void)map_put(k->strayed, bytes_of(arena_printf(k->scratch, "%s/%s", s->set->kind, key)), NULL);
            workqueue_add(s->queue, key);
        }
}

enum kueue_owner kueue_sets_owner(const struct kueue_sets *k, const char *kind, const char *ns, const char *name, const char *uid)
{
    for (uint32_t i = 0; k && i < k->served_n; i++) {
        const struct served *s = &k->served[i];
        if (strcmp(kind, s->set->kind) != 0)
            continue;
        if (!kube_cache_synced(s->cache))
            return KUEUE_OWNER_THERE; /* it will be known soon; until then nothing is let go */
        arena_reset(k->scratch);
        const struct json *set = kube_cache_get(s->cache, ns, name, k->scratch);
        if (!set || strcmp(object_meta(set, "uid"), uid) != 0)
            return KUEUE_OWNER_GONE;
        return object_deleting(set) ? KUEUE_OWNER_LEAVING : KUEUE_OWNER_THERE;
    }
    return KUEUE_OWNER_FOREIGN;
}

bool kueue_sets_owns(const struct kueue_sets *k, const struct json *workload)
{
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL))
        if (kueue_sets_owner(k, json_get_text(owner, "kind", ""), object_meta(workload, "namespace"), json_get_text(owner, "name", ""),
                             json_get_text(owner, "uid", "")) == KUEUE_OWNER_THERE)
            return true;
    return false;
}

/* ---- making ---- */

static void serve(struct kueue_sets *k, const struct kueue_set_kind *calls)
{
    if (k->jobs->config.unqueued_sets & 1u << calls->id)
        return;
    struct served *s = &k->served[k->served_n++];
    *s = (struct served){.all = k, .set = &queued_sets[calls->id], .calls = calls};
    s->queue = workqueue_new(k->jobs->client, reconcile, s);
    const char *path = kube_path(k->scratch, s->set->group, s->set->version, s->set->plural, NULL, NULL, NULL);
    struct kube_cache_config config = {.watch = {.path = path, .label_selector = KUEUE_QUEUE_LABEL, .optional = true},
                                       .on_change = on_set,
                                       .on_synced = on_synced,
                                       .arg = s};
    s->cache = kube_cache_new(k->jobs->client, &config);
}

struct kueue_sets *kueue_sets_new(struct jobs *j, const struct kueue_sets_calls *calls)
{
    struct kueue_sets *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->calls = *calls;
    k->scratch = arena_new();
    k->strayed = map_new(1);
    k->pods = workqueue_new(j->client, reconcile_pod, k);
    struct kube_cache_config bare = {
        .watch = {.path = "/api/v1/pods", .label_selector = MANAGED "=true,!" KUEUE_QUEUE_LABEL}, .on_change = on_bare, .arg = k};
    k->bare = kube_cache_new(j->client, &bare);
    serve(k, &kueue_stateful_set);
    serve(k, &kueue_leader_worker_set);
    k->unheld = kueue_unheld_new(j, calls);
    return k;
}

void kueue_sets_free(struct kueue_sets *k)
{
    if (!k)
        return;
    for (uint32_t i = 0; i < k->served_n; i++) {
        workqueue_free(k->served[i].queue);
        kube_cache_free(k->served[i].cache);
    }
    workqueue_free(k->pods);
    kube_cache_free(k->bare);
    kueue_unheld_free(k->unheld);
    map_free(k->strayed);
    arena_free(k->scratch);
    free(k);
}
