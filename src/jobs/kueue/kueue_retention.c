/* kueue_retention.c - see kueue_retention.h */
#include "jobs/kueue/kueue_retention.h"
#include "base/clock.h"

struct kueue_retention {
    struct jobs *jobs;
    struct workqueue *queue; /* of Workloads that are finished */
};

/* Milliseconds until it ends; 0 or less: it has ended. A condition without a time is as old as can be. */
static int64_t left_ms(const struct retention *r, const struct json *condition, int64_t now_ms)
{
    int64_t since_ms = now_ms;
    if (!time_parse(json_bytes(json_get(condition, "lastTransitionTime")), &since_ms))
        return 0;
    return since_ms > INT64_MAX - r->after_ms ? INT64_MAX : since_ms + r->after_ms - now_ms;
}

/* SOURCE Kueue: who deactivates a Workload by hand keeps it. */
static bool is_deactivated_by_us(const struct json *workload)
{
    return !json_get_bool(json_get(workload, "spec"), "active", true) && object_condition_true(workload, "Evicted") &&
           text_starts(json_get_text(object_condition(workload, "Evicted"), "reason", ""), "DeactivatedDueTo");
}

bool kueue_retention_is_over(const struct jobs *j, struct work *w, const struct json *workload, int64_t now_ms)
{
    const struct retention *r = &j->policy.deactivated;
    if (!r->ends || !is_deactivated_by_us(workload))
        return false;
    int64_t ms = left_ms(r, object_condition(workload, "Evicted"), now_ms);
    if (ms > 0)
        work_again(w, ms);
    return ms <= 0;
}

/* ORDER the finalizer first: kueue_in_use.c takes it off what is finished, and that brings the next pass. */
static void reconcile(void *arg, struct work *w)
{
    struct kueue_retention *k = arg;
    const struct json *workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena);
    if (!workload || !object_condition_true(workload, "Finished") || object_deleting(workload) ||
        object_has_finalizer(workload, KUEUE_IN_USE_FINALIZER))
        return;
    int64_t ms = left_ms(&k->jobs->policy.finished, object_condition(workload, "Finished"), loop_wall_ms(k->jobs->loop));
    if (ms > 0) {
        work_again(w, ms);
        return;
    }
    job_event_then(k->jobs, w, workload, "kueue.x-k8s.io/v1beta2", "Workload", "Normal", "Deleted",
                   "Deleted finished workload due to elapsed retention");
    work_delete(w, kueue_workload_path(w, w->name, NULL), object_meta(workload, "uid"), NULL);
}

void kueue_retention_workload(struct kueue_retention *k, const struct json *workload, const char *key)
{
    if (k->jobs->policy.finished.ends && object_condition_true(workload, "Finished"))
        workqueue_add(k->queue, key);
}

struct kueue_retention *kueue_retention_new(struct jobs *j)
{
    struct kueue_retention *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->queue = workqueue_new(j->client, reconcile, k);
    return k;
}

void kueue_retention_free(struct kueue_retention *k)
{
    if (!k)
        return;
    workqueue_free(k->queue);
    free(k);
}
