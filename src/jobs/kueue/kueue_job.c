/* kueue_job.c - batch/v1 Job, queued the Kueue way: one pod set "main", count = min(parallelism, completions)
 *
 * A Job that may do with fewer pods is started with the parallelism that was granted. What it asked for stands in annotation ASKED as long
 * as it runs so, and comes back when it is stopped: "4/8" or, where completions were lowered too, "4/8/8" ("-": it had none).
 */
#include <stdlib.h>
#include "jobs/kueue/kueue_kind.h"

#define MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define ASKED "capstan.dev/asked-parallelism"

/* Labels that the API server gives the template of each Job, of no use before it has pods. SOURCE Kueue, which keeps
 * batch.kubernetes.io/job-name. WHY  a uid would make the Workload of each Job another one, though they ask for the same. */
static const char *const given_labels[] = {"job-name", "controller-uid", "batch.kubernetes.io/controller-uid"};
enum { GIVEN_LABELS_N = sizeof given_labels / sizeof *given_labels };

static void take_given_labels(struct json *template)
{
    struct json *labels = json_path(template, "metadata", "labels", NULL);
    for (size_t i = 0; labels && i < GIVEN_LABELS_N; i++)
        (void)json_remove(labels, given_labels[i]);
}

/* The template that the Workload was made of, with those that the Job's own has. */
static struct json *with_given_labels(struct arena *a, const struct json *of_workload, const struct json *now)
{
    struct json *template = of_workload ? json_clone(a, of_workload) : json_new(a, JSON_OBJECT),
                *labels = json_ensure_object(a, json_ensure_object(a, template, "metadata"), "labels");
    for (size_t i = 0; i < GIVEN_LABELS_N; i++) {
        const struct json *given = json_path(now, "metadata", "labels", given_labels[i], NULL);
        if (given)
            json_set(a, labels, given_labels[i], json_clone(a, given));
    }
    return template;
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    (void)j;
    (void)k;
    const struct json *spec = json_get(job, "spec"), *template = json_get(spec, "template");
    if (!json_is(template, JSON_OBJECT)) {
        *ret_why = "spec.template is missing";
        return NULL;
    }
    int64_t parallelism = json_get_int64(spec, "parallelism", 1),
            completions = json_get_int64(spec, "completions", parallelism);
    struct json *sets = json_new(a, JSON_ARRAY);
    int64_t count = completions < parallelism ? completions : parallelism, min_count;
    struct json *set = kueue_pod_set(a, "main", count, template, KUEUE_JOB_INDEX_LABEL);
    take_given_labels(json_get(set, "template"));
    const char *fewest = object_annotation(job, MIN_PARALLELISM);
    if (bytes_int64(bytes_of(fewest), &min_count) && min_count > 0 && min_count < count)
        json_set_int64(a, set, "minCount", min_count);
    json_append(sets, set);
    return sets;
}

static bool follows_parallelism(const struct json *job)
{
    return strcmp(object_annotation(job, "kueue.x-k8s.io/job-completions-equal-parallelism"), "true") == 0;
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

/* Fewer pods than it asks for. WHY not where it has no more completions left: then its parallelism says nothing, and a number below its
 * slice size would be refused. */
static void start_with(struct arena *a, const struct json *job, int64_t granted, struct json *patch)
{
    const struct json *now = json_get(job, "spec"), *completions = json_get(now, "completions");
    int64_t parallelism = json_get_int64(now, "parallelism", 1);
    int64_t all = json_get_int64(now, "completions", parallelism);
    if (granted <= 0 || granted >= parallelism || granted >= all - decided_n(job, all))
        return;
    struct json *spec = json_ensure_object(a, patch, "spec");
    const char *asked = arena_printf(a, "%lld/%lld", (long long)granted, (long long)parallelism);
    json_set_int64(a, spec, "parallelism", granted);
    if (follows_parallelism(job)) {
        asked = completions ? arena_printf(a, "%s/%lld", asked, (long long)json_int64(completions, 0)) : arena_printf(a, "%s/-", asked);
        json_set_int64(a, spec, "completions", granted);
    }
    json_set_text(a, json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations"), ASKED, asked);
}

static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct json *spec = json_ensure_object(a, patch, "spec");
    (void)k;
    if (starts_n == 0)
        return 0;
    const struct json *now = json_get(job, "spec");
    if (*object_annotation(job, MIN_PARALLELISM))
        start_with(a, job, starts[0].count, patch);
    return kueue_template_start(a, json_get(now, "template"), &starts[0], json_ensure_object(a, spec, "template"), e);
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

/* A job that started with fewer pods than it asked for asks for all of them again. WHY only from what it was started with: another number
 * was written by its owner since. */
static bool restore_asked(struct arena *a, const struct json *job, struct json *patch)
{
    const char *asked = object_annotation(job, ASKED);
    char *end;
    if (!*asked)
        return false;
    int64_t granted = strtoll(asked, &end, 10), parallelism = *end == '/' ? strtoll(end + 1, &end, 10) : granted;
    struct json *spec = json_ensure_object(a, patch, "spec");
    const struct json *now = json_get(job, "spec");
    if (json_get_int64(now, "parallelism", 1) == granted)
        json_set_int64(a, spec, "parallelism", parallelism);
    if (*end == '/' && json_get_int64(now, "completions", 0) == granted)
        json_set(a, spec, "completions", end[1] == '-' ? json_new(a, JSON_NULL) : json_new_int64(a, strtoll(end + 1, NULL, 10)));
    json_set(a, json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations"), ASKED, json_new(a, JSON_NULL));
    return true;
}

/* The same for one that Kueue started: it does not say how many were asked for. SOURCE Kueue: the pod set's count. */
static void restore_count(struct arena *a, const struct json *job, const struct json *set, struct json *spec)
{
    int64_t count = json_get_int64(set, "count", 0);
    if (!*object_annotation(job, MIN_PARALLELISM) || count <= 0 ||
        json_get_int64(json_get(job, "spec"), "parallelism", 1) >= count)
        return;
    json_set_int64(a, spec, "parallelism", count);
    if (follows_parallelism(job))
        json_set_int64(a, spec, "completions", count);
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    (void)k;
    const struct json *now = json_path(job, "spec", "template", NULL);
    const struct json *set = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    if (!json_path(now, "metadata", "annotations", KUEUE_WORKLOAD_ANNOTATION, NULL))
        return false;
    if (rewind_start(a, job, patch)) {
        *ret_status = true;
        return true;
    }
    struct json *spec = json_ensure_object(a, patch, "spec");
    if (!restore_asked(a, job, patch))
        restore_count(a, job, set, spec);
    kueue_template_restore(a, now, with_given_labels(a, json_get(set, "template"), now), json_ensure_object(a, spec, "template"));
    return true;
}

static bool active(const struct json *job)
{
    const struct json *status = json_get(job, "status");
    return json_get_int64(status, "active", 0) > 0;
}

static int64_t ready_n(const struct json *job)
{
    const struct json *status = json_get(job, "status"),
                      *uncounted = json_path(status, "uncountedTerminatedPods", "succeeded", NULL);
    return json_get_int64(status, "ready", 0) + json_get_int64(status, "succeeded", 0) + (uncounted ? uncounted->n : 0);
}

/* Fewer completions are left than run at a time. A work queue, without completions, starts no pod after the first success. */
static int64_t over_n(const struct json *job, int64_t count)
{
    const struct json *spec = json_get(job, "spec");
    int64_t completions = json_get_int64(spec, "completions", json_get_int64(spec, "parallelism", 1));
    int64_t decided = decided_n(job, completions), left = completions - decided;
    if (!decided)
        return 0; /* started with fewer than `count`: what was left out is no member that is over */
    return left >= count ? 0 : left > 0 ? count - left : count;
}

static void over(struct arena *a, const struct json *job, const struct json *workload, struct json *ret_over)
{
    const struct json *set = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    json_set_int64(a, ret_over, json_get_text(set, "name", "main"), over_n(job, json_get_int64(set, "count", 1)));
}

const struct kueue_kind kueue_job_kind = {
    .pod_sets = pod_sets,
    .start = start,
    .restore = restore,
    .rewind = rewind_start,
    .active = active,
    .ready_n = ready_n,
    .over = over,
};
