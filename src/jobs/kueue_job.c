/* kueue_job.c - batch/v1 Job, queued the Kueue way: one pod set "main", count = min(parallelism, completions) */
#include "jobs/kueue_kind.h"

static bool suspended(const struct json *job)
{
    return json_get_bool(json_get(job, "spec"), "suspend", false);
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct json *job, const char **ret_why)
{
    (void)j;
    const struct json *spec = json_get(job, "spec"), *template = json_get(spec, "template");
    if (!json_is(template, JSON_OBJECT)) {
        *ret_why = "spec.template is missing";
        return NULL;
    }
    int64_t parallelism = json_get_int64(spec, "parallelism", 1),
            completions = json_get_int64(spec, "completions", parallelism);
    struct json *sets = json_new(a, JSON_ARRAY);
    struct json *set = kueue_pod_set(a, "main", completions < parallelism ? completions : parallelism, template);
    const char *fewest = object_annotation(job, "kueue.x-k8s.io/job-min-parallelism");
    int64_t min_count;
    if (bytes_int64(bytes_of(fewest), &min_count) && min_count > 0 && min_count < parallelism)
        json_set_int64(a, set, "minCount", min_count);
    json_append(sets, set);
    return sets;
}

static const char *priority_class(struct arena *a, const struct json *job, const struct json *sets)
{
    (void)a;
    (void)sets;
    return json_text(json_path(job, "spec", "template", "spec", "priorityClassName", NULL), NULL);
}

static int start(struct arena *a, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct json *spec = json_ensure_object(a, patch, "spec");
    json_set_bool(a, spec, "suspend", false);
    if (starts_n == 0)
        return 0;
    const struct json *now = json_get(job, "spec");
    if (starts[0].count > 0 && starts[0].count < json_get_int64(now, "parallelism", 1)) {
        json_set_int64(a, spec, "parallelism", starts[0].count);
        if (strcmp(object_annotation(job, "kueue.x-k8s.io/job-completions-equal-parallelism"), "true") == 0)
            json_set_int64(a, spec, "completions", starts[0].count);
    }
    return kueue_template_start(a, json_get(now, "template"), &starts[0], json_ensure_object(a, spec, "template"), e);
}

static void stop(struct arena *a, struct json *patch)
{
    json_set_bool(a, json_ensure_object(a, patch, "spec"), "suspend", true);
}

/* WHY  The API server lets a template change only while the job is suspended and has no start time. */
static bool rewind_start(struct arena *a, const struct json *job, struct json *patch)
{
    const struct json *started = json_path(job, "status", "startTime", NULL);
    if (!started || started->type == JSON_NULL)
        return false;
    json_set(a, json_ensure_object(a, patch, "status"), "startTime", json_new(a, JSON_NULL));
    return true;
}

static bool restore(struct arena *a, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    const struct json *now = json_path(job, "spec", "template", NULL);
    const struct json *original = json_get(json_item(json_path(workload, "spec", "podSets", NULL), 0), "template");
    if (!json_path(now, "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL))
        return false;
    if (rewind_start(a, job, patch)) {
        *ret_status = true;
        return true;
    }
    kueue_template_restore(a, now, original, json_ensure_object(a, json_ensure_object(a, patch, "spec"), "template"));
    return true;
}

static bool active(const struct json *job)
{
    const struct json *status = json_get(job, "status");
    return json_get_int64(status, "active", 0) > 0;
}

static enum kueue_end ended(const struct json *job, const char **ret_message)
{
    static const char *const types[] = {"Complete", "Failed"};
    for (int i = 0; i < 2; i++)
        if (object_condition_true(job, types[i])) {
            const char *fallback = i == 0 ? "Job finished successfully" : "Job failed";
            const char *message = json_get_text(object_condition(job, types[i]), "message", "");
            *ret_message = *message ? message : fallback;
            return i == 0 ? KUEUE_SUCCEEDED : KUEUE_FAILED;
        }
    return KUEUE_NOT_ENDED;
}

static int64_t ready_n(const struct json *job)
{
    const struct json *status = json_get(job, "status");
    return json_get_int64(status, "ready", 0) + json_get_int64(status, "succeeded", 0);
}

/* Fewer completions are left than run at a time. */
static int64_t over_n(const struct json *job, int64_t count)
{
    const struct json *spec = json_get(job, "spec");
    int64_t completions = json_get_int64(spec, "completions", -1);
    int64_t left = completions - json_get_int64(json_get(job, "status"), "succeeded", 0);
    if (completions < 0 || left >= count)
        return 0; /* a work queue, without completions, ends as a whole */
    return left > 0 ? count - left : count;
}

const struct kueue_kind kueue_job_kind = {
    .group = "batch",
    .version = "v1",
    .plural = "jobs",
    .kind = "Job",
    .api_version = "batch/v1",
    .prefix = "job",
    .suspended = suspended,
    .pod_sets = pod_sets,
    .priority_class = priority_class,
    .start = start,
    .stop = stop,
    .restore = restore,
    .rewind = rewind_start,
    .active = active,
    .ended = ended,
    .ready_n = ready_n,
    .over_n = over_n,
};
