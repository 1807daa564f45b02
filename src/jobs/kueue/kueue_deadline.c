/* kueue_deadline.c - Workloads with a maximumExecutionTimeSeconds are deactivated when it is used up
 *
 *   Admitted -> (time is up) -> condition DeactivationTarget -> spec.active = false -> the scheduler evicts
 *
 * SOURCE Kueue: the time counts over admissions (status.accumulatedPastExecutionTimeSeconds, kept when the quota is released).
 */
#include "base/clock.h"
#include "jobs/kueue/kueue_kind.h"

struct kueue_deadline {
    struct jobs *jobs;
    struct workqueue *queue; /* of Workloads */
};

int64_t kueue_executed_ms(const struct json *workload, int64_t now_ms)
{
    const struct json *status = json_get(workload, "status"), *admitted = object_condition(workload, "Admitted");
    int64_t since_ms, ms = json_get_int64(status, "accumulatedPastExecutionTimeSeconds", 0) * 1000;
    if (object_condition_true(workload, "Admitted") &&
        time_parse(bytes_of(json_get_text(admitted, "lastTransitionTime", "")), &since_ms) && now_ms > since_ms)
        ms += now_ms - since_ms;
    return ms;
}

/* SOURCE Kueue: its message follows "The workload is deactivated due to". */
static void announce(struct kueue_deadline *k, struct work *w, const struct json *workload, int64_t limit_s)
{
    struct arena *a = w->arena;
    struct json *conditions = object_conditions_copy(a, workload), *status = json_new(a, JSON_OBJECT);
    (void)object_condition_set(a, conditions, "DeactivationTarget", true, "MaximumExecutionTimeExceeded",
                               "exceeding the maximum execution time", loop_wall_ms(k->jobs->loop),
                               object_generation_of(workload));
    json_set(a, status, "conditions", conditions);
    job_event_then(k->jobs, w, workload, "kueue.x-k8s.io/v1beta2", "Workload", "Warning", "MaximumExecutionTimeExceeded",
                   "The maximum execution time (%llds) exceeded", (long long)limit_s);
    work_patch_status(w, kueue_workload_path(w, w->name, "status"), workload, status);
}

static void reconcile(void *arg, struct work *w)
{
    struct kueue_deadline *k = arg;
    const struct json *workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena),
                      *spec = json_get(workload, "spec");
    int64_t limit_s = json_get_int64(spec, "maximumExecutionTimeSeconds", 0), now_ms = loop_wall_ms(k->jobs->loop);
    if (limit_s <= 0 || !kueue_admitted(workload) || object_deleting(workload) || !json_get_bool(spec, "active", true))
        return;
    int64_t left_ms = limit_s * 1000 - kueue_executed_ms(workload, now_ms);
    if (left_ms > 0) {
        work_again(w, left_ms);
    } else if (!object_condition_true(workload, "DeactivationTarget")) {
        announce(k, w, workload, limit_s);
    } else {
        struct json *patch = object_patch(w->arena, workload);
        json_set_bool(w->arena, json_ensure_object(w->arena, patch, "spec"), "active", false);
        work_patch(w, KUBE_PATCH_MERGE, kueue_workload_path(w, w->name, NULL), patch);
    }
}

void kueue_deadline_workload(struct kueue_deadline *k, const struct json *workload, const char *key)
{
    if (json_path(workload, "spec", "maximumExecutionTimeSeconds", NULL) && kueue_admitted(workload))
        workqueue_add(k->queue, key);
}

struct kueue_deadline *kueue_deadline_new(struct jobs *j)
{
    struct kueue_deadline *k = mem_zero(1, sizeof *k);
    k->jobs = j;
    k->queue = workqueue_new(j->client, reconcile, k);
    return k;
}

void kueue_deadline_free(struct kueue_deadline *k)
{
    if (!k)
        return;
    workqueue_free(k->queue);
    free(k);
}
