/* kueue_jobset.c - JobSet, queued the Kueue way: one pod set a replicatedJob, count = replicas * min(parallelism, completions)
 *
 * Merge patches replace lists whole: start and restore write all replicatedJobs, each as it is but for its pod template.
 */
#include "jobs/kueue/kueue_kind.h"

static const struct json *replicated_jobs(const struct json *job)
{
    return json_path(job, "spec", "replicatedJobs", NULL);
}

/* Pods that one of its jobs runs at a time. */
static int64_t pods_of_each(const struct json *replicated)
{
    const struct json *spec = json_path(replicated, "template", "spec", NULL);
    int64_t parallelism = json_get_int64(spec, "parallelism", 1), completions = json_get_int64(spec, "completions", parallelism);
    return completions < parallelism ? completions : parallelism;
}

static struct json *pod_set(struct arena *a, const struct json *replicated)
{
    int64_t replicas = json_get_int64(replicated, "replicas", 1);
    struct json *set = kueue_pod_set(a, json_get_text(replicated, "name", ""), replicas * pods_of_each(replicated),
                                     json_path(replicated, "template", "spec", "template", NULL), KUEUE_JOB_INDEX_LABEL);
    kueue_topology_of_jobs(a, set, replicas);
    return set;
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    struct json *sets = json_new(a, JSON_ARRAY);
    (void)j;
    (void)k;
    JSON_EACH (replicated, replicated_jobs(job))
        json_append(sets, pod_set(a, replicated));
    if (sets->n)
        return sets;
    *ret_why = "spec.replicatedJobs is empty: there is nothing to run";
    return NULL;
}

/* Those that depend on others, or stand behind others in order. */
static const char *later(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job)
{
    const char *list = NULL, *order = json_text(json_path(job, "spec", "startupPolicy", "startupPolicyOrder", NULL), "");
    (void)j;
    (void)k;
    JSON_EACH (replicated, replicated_jobs(job)) {
        const struct json *depends = json_get(replicated, "dependsOn");
        bool behind = strcmp(order, "InOrder") == 0 && replicated != json_first(replicated_jobs(job));
        const char *name = json_get_text(replicated, "name", "");
        if (behind || (json_is(depends, JSON_ARRAY) && depends->n))
            list = list ? arena_printf(a, "%s,%s", list, name) : name;
    }
    return list;
}

static struct json *list_copy(struct arena *a, const struct json *job)
{
    const struct json *list = replicated_jobs(job);
    return list ? json_clone(a, list) : json_new(a, JSON_ARRAY);
}

static struct json *template_named(struct arena *a, const void *of, const char *name)
{
    const struct json *list = of;
    (void)a;
    JSON_EACH (replicated, list)
        if (strcmp(json_get_text(replicated, "name", ""), name) == 0)
            return json_path(replicated, "template", "spec", "template", NULL);
    return NULL;
}

static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct json *list = list_copy(a, job);
    int r = kueue_templates_start(a, &(struct kueue_templates){template_named, list}, starts, starts_n, e);
    (void)k;
    if (r < 0)
        return r;
    json_set(a, json_ensure_object(a, patch, "spec"), "replicatedJobs", list);
    return 0;
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    struct json *list = list_copy(a, job);
    bool any = kueue_templates_restore(a, &(struct kueue_templates){template_named, list}, workload);
    (void)k;
    (void)ret_status;
    if (any)
        json_set(a, json_ensure_object(a, patch, "spec"), "replicatedJobs", list);
    return any;
}

static bool active(const struct json *job)
{
    JSON_EACH (one, json_path(job, "status", "replicatedJobsStatus", NULL))
        if (json_get_int64(one, "active", 0) > 0)
            return true;
    return false;
}

/* SOURCE Kueue: counted in jobs; each is ready with all of its pods. */
static bool all_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    int64_t jobs_n = 0, ready_n = 0;
    (void)j;
    (void)a;
    JSON_EACH (replicated, replicated_jobs(job))
        jobs_n += json_get_int64(replicated, "replicas", 1);
    JSON_EACH (one, json_path(job, "status", "replicatedJobsStatus", NULL))
        ready_n += json_get_int64(one, "ready", 0) + json_get_int64(one, "succeeded", 0);
    return ready_n == jobs_n;
}

/* Pods of the jobs that have succeeded. */
static void over(struct arena *a, const struct json *job, const struct json *workload, struct json *ret_over)
{
    (void)workload;
    JSON_EACH (one, json_path(job, "status", "replicatedJobsStatus", NULL))
        JSON_EACH (replicated, replicated_jobs(job)) {
            const char *name = json_get_text(one, "name", "");
            int64_t succeeded = json_get_int64(one, "succeeded", 0);
            if (strcmp(json_get_text(replicated, "name", ""), name) == 0 && succeeded <= json_get_int64(replicated, "replicas", 1))
                json_set_int64(a, ret_over, name, succeeded * pods_of_each(replicated));
        }
}

const struct kueue_kind kueue_jobset_kind = {
    .pod_sets = pod_sets,
    .later = later,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = active,
    .all_ready = all_ready,
    .over = over,
    .begins_anew = true,
};
