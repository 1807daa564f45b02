/* kueue_pods.c - plain pods and pod groups, queued the Kueue way
 *
 *   label kueue.x-k8s.io/queue-name                                    one pod, one Workload "pod-<name>-<hash>"
 *   + label pod-group-name, annotation pod-group-total-count           all pods of the group, one Workload of the
 * group's name
 *
 * The pod is tied to its Workload by annotation kueue.x-k8s.io/workload and label kueue.x-k8s.io/podset; until then the
 * scheduler does not touch it. A scheduling gate kueue.x-k8s.io/admission, where a webhook set one, is taken away on
 * admission.
 */
#include "base/clock.h"
#include "jobs/kueue_kind.h"

#define GROUP_LABEL "kueue.x-k8s.io/pod-group-name"
#define TOTAL_ANNOTATION "kueue.x-k8s.io/pod-group-total-count"
#define GATE "kueue.x-k8s.io/admission"

struct kueue_pods {
    struct jobs *jobs;
    struct kube_cache *pods;
    struct workqueue *singles, *groups;
};

struct members {
    const struct json **pods;
    uint32_t n, cap;
};
struct pass {
    struct kueue_pods *k;
    struct work *work;
    struct members members;
    const struct json *workload;
    const char *workload_name;
    int64_t total; /* members wanted */
    int64_t now_ms;
};

static char *pod_path(const struct pass *x, const struct json *pod)
{
    return kube_path(x->work->arena, "", "v1", "pods", x->work->ns, object_meta(pod, "name"), NULL);
}

static const char *phase_of(const struct json *pod)
{
    return json_text(json_path(pod, "status", "phase", NULL), "Pending");
}

/* Pods of jobs that are queued themselves already belong to the job's Workload. */
static bool belongs_to_job(const struct json *pod)
{
    static const char *const kinds[] = {"Job", "TrainJob", "JobSet", "MPIJob", "PyTorchJob"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(object_controller(pod, "kind"), kinds[i]) == 0)
            return true;
    return false;
}

/* ---- roles ---- */

/* Pods that ask for the same are one role: what decides is what scheduling reads. */
static const char *role_of(struct arena *a, const struct json *pod)
{
    static const char *const parts[] = {"nodeSelector",      "affinity", "tolerations", "topologySpreadConstraints",
                                        "priorityClassName", "overhead"};
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    const struct json *spec = json_get(pod, "spec");
    static const char *const lists[] = {"initContainers", "containers"};
    for (int i = 0; i < 2; i++)
        JSON_EACH (container, json_get(spec, lists[i])) {
            const struct json *resources = json_get(container, "resources"), *ports = json_get(container, "ports");
            if (resources)
                json_write(&text, resources);
            if (ports)
                json_write(&text, ports);
            buf_char(&text, ';');
        }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_get(spec, parts[i]))
            json_write(&text, json_get(spec, parts[i]));
    return arena_printf(a, "%08x", (unsigned)hash_bytes(text.data, text.n, 0));
}

static struct json *template_of(struct arena *a, const struct json *pod)
{
    struct json *template = json_new(a, JSON_OBJECT), *spec = json_clone(a, json_get(pod, "spec"));
    const struct json *labels = json_path(pod, "metadata", "labels", NULL);
    (void)json_remove(spec, "nodeName");
    (void)json_remove(spec, "schedulingGates");
    if (labels)
        json_set(a, json_ensure_object(a, template, "metadata"), "labels", json_clone(a, labels));
    json_set(a, template, "spec", spec);
    return template;
}

/* Pod sets by role in the order of the members; counts are set at the end. */
static struct json *pod_sets_of(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *sets = json_new(a, JSON_ARRAY);
    bool group = x->total > 1 || *object_label(x->members.pods[0], GROUP_LABEL);
    for (uint32_t i = 0; i < x->members.n; i++) {
        const char *name = group ? role_of(a, x->members.pods[i]) : "main";
        struct json *found = NULL;
        JSON_EACH (set, sets)
            if (strcmp(json_get_text(set, "name", ""), name) == 0)
                found = set;
        if (found)
            json_set_int64(a, found, "count", json_get_int64(found, "count", 0) + 1);
        else
            json_append(sets, kueue_pod_set(a, name, 1, template_of(a, x->members.pods[i])));
    }
    return sets;
}

/* ---- steps ---- */

static void create_workload(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct jobs *j = x->k->jobs;
    const struct json *first = x->members.pods[0];
    struct kueue_workload_request r = {
        .name = x->workload_name, .queue = object_label(first, KUEUE_QUEUE_LABEL), .owner = first};
    r.priority_class = json_text(json_path(first, "spec", "priorityClassName", NULL), "");
    r.pod_sets = pod_sets_of(x);
    r.owner_references = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < x->members.n; i++) {
        struct json *one = job_owner(a, x->members.pods[i], "v1", "Pod"), *ref = json_item(one, 0);
        (void)json_remove_item(one, ref);
        json_set_bool(a, ref, "controller", x->members.n == 1 && x->total == 1);
        ref->next = NULL;
        json_append(r.owner_references, ref);
    }
    work_create(x->work, kube_path(a, "kueue.x-k8s.io", "v1beta2", "workloads", x->work->ns, NULL, NULL),
                kueue_workload(j, a, &r));
    job_event(j, first, "v1", "Pod", "Normal", "CreatedWorkload", "Created Workload: %s/%s", x->work->ns,
              x->workload_name);
}

static void tie(struct pass *x, const struct json *pod)
{
    struct arena *a = x->work->arena;
    if (strcmp(object_annotation(pod, KUEUE_WORKLOAD_ANNOTATION), x->workload_name) == 0)
        return;
    bool group = *object_label(pod, GROUP_LABEL);
    struct json *patch = json_new(a, JSON_OBJECT), *meta = json_ensure_object(a, patch, "metadata");
    json_set_text(a, json_ensure_object(a, meta, "annotations"), KUEUE_WORKLOAD_ANNOTATION, x->workload_name);
    json_set_text(a, json_ensure_object(a, meta, "labels"), KUEUE_PODSET_LABEL, group ? role_of(a, pod) : "main");
    work_patch(x->work, KUBE_PATCH_MERGE, pod_path(x, pod), patch);
}

/* The gate goes; what the flavors demand is added while the pod may still be changed. */
static void ungate(struct pass *x, const struct json *pod, const struct kueue_start *starts, uint32_t starts_n)
{
    struct arena *a = x->work->arena;
    const struct json *gates = json_path(pod, "spec", "schedulingGates", NULL);
    struct json *others = json_new(a, JSON_ARRAY);
    bool ours = false;
    JSON_EACH (gate, gates) {
        if (strcmp(json_get_text(gate, "name", ""), GATE) == 0)
            ours = true;
        else
            json_append(others, json_clone(a, gate));
    }
    if (!ours)
        return;
    struct json *patch = object_patch(a, pod), *spec = json_ensure_object(a, patch, "spec");
    json_set(a, spec, "schedulingGates", others->n ? others : json_new(a, JSON_NULL));
    for (uint32_t i = 0; i < starts_n; i++)
        if (strcmp(starts[i].pod_set, object_label(pod, KUEUE_PODSET_LABEL)) == 0 && starts[i].node_labels->n)
            json_set(a, spec, "nodeSelector", json_clone(a, starts[i].node_labels));
    work_patch(x->work, KUBE_PATCH_MERGE, pod_path(x, pod), patch);
    job_event(x->k->jobs, pod, "v1", "Pod", "Normal", "Started", "Admitted by clusterQueue %s",
              starts_n ? starts[0].cluster_queue : "");
}

static void stop(struct pass *x)
{
    bool any = false;
    for (uint32_t i = 0; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        const char *phase = phase_of(pod);
        if (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)
            continue;
        any = true;
        if (!object_deleting(pod))
            work_delete(x->work, pod_path(x, pod), object_meta(pod, "uid"), NULL);
    }
    if (!any)
        kueue_workload_release(x->work, x->workload, x->now_ms);
}

static bool finish(struct pass *x)
{
    int64_t succeeded_n = 0, failed_n = 0;
    bool no_retry = false;
    for (uint32_t i = 0; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        succeeded_n += strcmp(phase_of(pod), "Succeeded") == 0;
        failed_n += strcmp(phase_of(pod), "Failed") == 0;
        no_retry = no_retry || strcmp(object_annotation(pod, "kueue.x-k8s.io/retriable-in-group"), "false") == 0;
    }
    bool done = succeeded_n >= x->total,
         lost = failed_n > 0 && (x->total == 1 || no_retry) && succeeded_n + failed_n >= x->members.n;
    if (!done && !lost)
        return false;
    kueue_workload_finish(
        x->work, x->workload, done, NULL,
        arena_printf(x->work->arena, "Pods succeeded: %lld/%lld", (long long)succeeded_n, (long long)x->total),
        x->now_ms);
    return true;
}

static void drop_excess(struct pass *x)
{
    for (uint32_t i = (uint32_t)x->total; i < x->members.n; i++) {
        const struct json *pod = x->members.pods[i];
        job_event(x->k->jobs, pod, "v1", "Pod", "Warning", "ExcessPodDeleted", "the group %s has %lld pods already",
                  x->workload_name, (long long)x->total);
        work_delete(x->work, pod_path(x, pod), object_meta(pod, "uid"), NULL);
    }
    x->members.n = (uint32_t)x->total;
}

static void step(struct pass *x)
{
    struct arena *a = x->work->arena;
    if (object_condition_true(x->workload, "Finished") || finish(x))
        return;
    if (object_condition_true(x->workload, "Evicted")) {
        stop(x);
        return;
    }
    for (uint32_t i = 0; i < x->members.n; i++)
        tie(x, x->members.pods[i]);
    if (!kueue_admitted(x->workload))
        return;
    uint32_t n;
    struct kueue_start *starts = kueue_starts(x->k->jobs, a, x->workload, &n);
    if (!starts) {
        work_again(x->work, 200);
        return;
    }
    for (uint32_t i = 0; i < x->members.n; i++)
        if (strcmp(object_annotation(x->members.pods[i], KUEUE_WORKLOAD_ANNOTATION), x->workload_name) == 0)
            ungate(x, x->members.pods[i], starts, n);
}

/* ---- passes ---- */

static void member_add(struct pass *x, const struct json *pod)
{
    if (x->members.n < x->members.cap)
        x->members.pods[x->members.n++] = pod;
}

static bool ready(struct kueue_pods *k)
{
    return kube_cache_synced(k->pods) && kube_cache_synced(k->jobs->workloads);
}

static void reconcile_single(void *arg, struct work *w)
{
    struct kueue_pods *k = arg;
    const struct json *pod = ready(k) ? kube_cache_get(k->pods, w->ns, w->name, w->arena) : NULL;
    if (!pod || belongs_to_job(pod))
        return;
    struct pass x = {.k = k, .work = w, .total = 1, .now_ms = loop_wall_ms(k->jobs->loop)};
    x.members = (struct members){arena_alloc(w->arena, sizeof(void *)), 0, 1};
    member_add(&x, pod);
    x.workload_name = kueue_workload_name(w->arena, "pod", "Pod", "", w->name, object_meta(pod, "uid"));
    x.workload = kube_cache_get(k->jobs->workloads, w->ns, x.workload_name, w->arena);
    if (x.workload)
        step(&x);
    else if (!object_deleting(pod) && strcmp(phase_of(pod), "Pending") == 0)
        create_workload(&x);
}

static int by_age(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;
    int order = strcmp(object_meta(x, "creationTimestamp"), object_meta(y, "creationTimestamp"));
    return order ? order : strcmp(object_meta(x, "name"), object_meta(y, "name"));
}

static void reconcile_group(void *arg, struct work *w)
{
    struct kueue_pods *k = arg;
    if (!ready(k))
        return;
    struct pass x = {.k = k, .work = w, .workload_name = w->name, .now_ms = loop_wall_ms(k->jobs->loop)};
    x.members = (struct members){arena_alloc(w->arena, (kube_cache_count(k->pods) + 1) * sizeof(void *)), 0,
                                 (uint32_t)kube_cache_count(k->pods)};
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(k->pods, &at, &key, &raw)) {
        if (!bytes_starts(key, w->ns) || !memmem(raw.data, raw.n, w->name, strlen(w->name)))
            continue;
        const struct json *pod = json_parse(w->arena, raw, NULL, NULL);
        if (strcmp(object_label(pod, GROUP_LABEL), w->name) == 0 && strcmp(object_meta(pod, "namespace"), w->ns) == 0 &&
            !object_deleting(pod))
            member_add(&x, pod);
    }
    if (x.members.n == 0)
        return;
    qsort(x.members.pods, x.members.n, sizeof(void *), by_age);
    if (!bytes_int64(bytes_of(object_annotation(x.members.pods[0], TOTAL_ANNOTATION)), &x.total) || x.total < 1) {
        job_event(k->jobs, x.members.pods[0], "v1", "Pod", "Warning", "ErrWorkloadCompose",
                  "a pod of group %s has no annotation " TOTAL_ANNOTATION ": write how many pods the group has",
                  w->name);
        return;
    }
    x.workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena);
    if ((int64_t)x.members.n > x.total)
        drop_excess(&x);
    if (x.workload)
        step(&x);
    else if ((int64_t)x.members.n == x.total)
        create_workload(&x);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct kueue_pods *k = arg;
    (void)event;
    struct arena *a = arena_new();
    const struct json *pod = json_parse(a, object, NULL, NULL);
    const char *group = object_label(pod, GROUP_LABEL);
    if (*group)
        workqueue_add(k->groups, arena_printf(a, "%s/%s", object_meta(pod, "namespace"), group));
    else
        workqueue_add(k->singles, key);
    arena_free(a);
}

void kueue_pods_synced(struct kueue_pods *k)
{
    size_t at = 0;
    struct bytes key, raw;
    while (kube_cache_next(k->pods, &at, &key, &raw)) {
        struct arena *a = arena_new();
        on_change(k, KUBE_MODIFIED, arena_text_n(a, key.data, key.n), raw);
        arena_free(a);
    }
}

static void on_synced(void *arg)
{
    kueue_pods_synced(arg);
}

void kueue_pods_workload(struct kueue_pods *k, const struct json *workload)
{
    bool of_pods = false;
    struct arena *a = arena_new();
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL)) {
        if (strcmp(json_get_text(owner, "kind", ""), "Pod") != 0)
            continue;
        of_pods = true;
        if (json_get_bool(owner, "controller", false))
            workqueue_add(k->singles, arena_printf(a, "%s/%s", object_meta(workload, "namespace"),
                                                   json_get_text(owner, "name", "")));
    }
    if (of_pods)
        workqueue_add(k->groups,
                      arena_printf(a, "%s/%s", object_meta(workload, "namespace"), object_meta(workload, "name")));
    arena_free(a);
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
