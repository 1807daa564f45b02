/* kueue_priority.c - the value of a WorkloadPriorityClass was changed: the Workloads that name it follow
 *
 * SOURCE Kueue: a new value reaches every Workload that has not finished; a PriorityClass cannot change its value.
 */
#include "jobs/kueue/kueue_kind.h"

struct kueue_priority {
    struct jobs *jobs;
    struct workqueue *queue; /* of Workloads */
};

static const char *class_of(const struct json *workload)
{
    const struct json *ref = json_path(workload, "spec", "priorityClassRef", NULL);
    return strcmp(json_get_text(ref, "group", ""), "kueue.x-k8s.io") == 0 ? json_get_text(ref, "name", "") : "";
}

static void reconcile(void *arg, struct work *w)
{
    struct kueue_priority *k = arg;
    const struct json *workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena);
    const char *name = class_of(workload);
    const struct json *class = *name ? kube_cache_get(k->jobs->workload_classes, "", name, w->arena) : NULL;
    if (!class || object_deleting(workload) || object_condition_true(workload, "Finished"))
        return;
    int64_t value = json_get_int64(class, "value", 0);
    if (json_int64(json_path(workload, "spec", "priority", NULL), 0) == value)
        return;
    struct json *patch = object_patch(w->arena, workload);
    json_set_int64(w->arena, json_ensure_object(w->arena, patch, "spec"), "priority", value);
    work_patch(w, KUBE_PATCH_MERGE, kueue_workload_path(w, w->name, NULL), patch);
}

void kueue_priority_changed(struct kueue_priority *k, const char *class)
{
    size_t at = 0;
    struct bytes key, raw;
    struct arena *a = arena_new();
    while (kube_cache_next(k->jobs->workloads, &at, &key, &raw)) {
        if (!memmem(raw.data, raw.n, class, strlen(class)))
            continue;
        arena_reset(a);
        if (strcmp(class_of(json_parse(a, raw, NULL, NULL)), class) == 0)
            workqueue_add(k->queue, arena_text_n(a, key.data, key.n));
    }
    arena_free(a);
}

struct kueue_priority *kueue_priority_new(struct jobs *j)
{
    struct kueue_priority *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->queue = workqueue_new(j->client, reconcile, k);
    return k;
}

void kueue_priority_free(struct kueue_priority *k)
{
    if (!k)
        return;
    workqueue_free(k->queue);
    free(k);
}
