/* kueue_job.c - batch/v1 Job, queued the Kueue way: one pod set "main", count = min(parallelism, completions) */
#include <stdlib.h>
#include "jobs/kueue/kueue_kind.h"

#define MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"

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
    const char *fewest = object_annotation(job, MIN_PARALLELISM);
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

static bool follows_parallelism(const struct json *job)
{
    return strcmp(object_annotation(job, "kueue.x-k8s.io/job-completions-equal-parallelism"), "true") == 0;
}

static int start(struct arena *a, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct json *spec = json_ensure_object(a, patch, "spec");
    json_set_bool(a, spec, "suspend", false);
    if (starts_n == 0)
        return 0;
    const struct json *now = json_get(job, "spec");
    bool may_shrink = *object_annotation(job, MIN_PARALLELISM) != '\0';
    if (may_shrink && starts[0].count > 0 && starts[0].count < json_get_int64(now, "parallelism", 1)) {
        json_set_int64(a, spec, "parallelism", starts[0].count);
        if (follows_parallelism(job))
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

/* A job that started with fewer pods than it asked for asks for all of them again. */
static void restore_parallelism(struct arena *a, const struct json *job, const struct json *set, struct json *spec)
{
    int64_t count = json_get_int64(set, "count", 0);
    if (!*object_annotation(job, MIN_PARALLELISM) || count <= 0 ||
        json_get_int64(json_get(job, "spec"), "parallelism", 1) >= count)
        return;
    json_set_int64(a, spec, "parallelism", count);
    if (follows_parallelism(job))
        json_set_int64(a, spec, "completions", count);
}

static bool restore(struct arena *a, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    const struct json *now = json_path(job, "spec", "template", NULL);
    const struct json *set = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    if (!json_path(now, "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL))
        return false;
    if (rewind_start(a, job, patch)) {
        *ret_status = true;
        return true;
    }
    struct json *spec = json_ensure_object(a, patch, "spec");
    restore_parallelism(a, job, set, spec);
    kueue_template_restore(a, now, json_get(set, "template"), json_ensure_object(a, spec, "template"));
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
    const struct json *status = json_get(job, "status"),
                      *uncounted = json_path(status, "uncountedTerminatedPods", "succeeded", NULL);
    return json_get_int64(status, "ready", 0) + json_get_int64(status, "succeeded", 0) + (uncounted ? uncounted->n : 0);
}

/* How many indexes below `below` a list like "1,3-5,7" has. SOURCE batch/v1 completedIndexes: sorted, without overlaps. */
int64_t kueue_indexes_n(const char *list, int64_t below)
{
    int64_t n = 0;
    while (*list) {
        char *end;
        int64_t first = strtoll(list, &end, 10), last = *end == '-' ? strtoll(end + 1, &end, 10) : first;
        if (end == list)
            return n;
        if (last >= below)
            last = below - 1;
        if (first >= 0 && last >= first)
            n += last - first + 1;
        if (*end != ',')
            return n; /* the end, or no such list */
        list = end + 1;
    }
    return n;
}

/* Completions that are decided. SOURCE batch/v1: of an Indexed job also the indexes that failed for good. */
static int64_t decided_n(const struct json *job, int64_t completions)
{
    const struct json *spec = json_get(job, "spec"), *status = json_get(job, "status");
    if (strcmp(json_get_text(spec, "completionMode", ""), "Indexed") != 0)
        return json_get_int64(status, "succeeded", 0);
    return kueue_indexes_n(json_get_text(status, "completedIndexes", ""), completions) +
           kueue_indexes_n(json_get_text(status, "failedIndexes", ""), completions);
}

/* Fewer completions are left than run at a time. A work queue, without completions, starts no pod after the first success. */
static int64_t over_n(const struct json *job, int64_t count)
{
    const struct json *spec = json_get(job, "spec");
    int64_t completions = json_get_int64(spec, "completions", json_get_int64(spec, "parallelism", 1));
    int64_t left = completions - decided_n(job, completions);
    return left >= count ? 0 : left > 0 ? count - left : count;
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
