/* job_flow_plan.c - jobs and status of a JobFlow; see job_flow_plan.h */
#include "jobs/volcano/flow/job_flow_plan.h"
#include "base/clock.h"
#include "jobs/volcano/vcjob_pods.h"

static const char *const phase_names[] = {
#define X(phase, name) name,
    JOB_FLOW_PHASES(X)
#undef X
};

enum job_flow_phase job_flow_phase_of(const struct json *flow)
{
    const char *name = json_text(json_path(flow, "status", "state", "phase", NULL), "");
    for (size_t i = 0; i < sizeof phase_names / sizeof *phase_names; i++)
        if (strcmp(name, phase_names[i]) == 0)
            return (enum job_flow_phase)i;
    return JOB_FLOW_PENDING;
}

static const struct json *past_of(const struct json *flow, const char *job_name)
{
    JSON_EACH (item, json_path(flow, "status", "jobStatusList", NULL))
        if (strcmp(json_get_text(item, "name", ""), job_name) == 0 && strcmp(json_get_text(item, "state", ""), "Completed") == 0)
            return item;
    return NULL;
}

static bool is_among(const struct job_flow_entry *entries, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(entries[i].name, name) == 0)
            return true;
    return false;
}

uint32_t job_flow_entries(struct arena *a, const struct json *flow, struct job_flow_entry **ret_entries)
{
    const struct json *list = json_path(flow, "spec", "flows", NULL);
    uint32_t n = json_is(list, JSON_ARRAY) ? list->n : 0, at = 0;
    struct job_flow_entry *entries = arena_zero(a, n + 1, sizeof *entries);
    JSON_EACH (item, n ? list : NULL) {
        const char *name = json_get_text(item, "name", "");
        const char *job_name = arena_printf(a, "%s-%s", object_meta(flow, "name"), name);
        if (!is_among(entries, at, name))
            entries[at++] = (struct job_flow_entry){item, name, job_name, NULL, past_of(flow, job_name)};
    }
    *ret_entries = entries;
    return at;
}

/* ---- what is due ---- */

static const char *phase_of_job(const struct json *job)
{
    return json_text(json_path(job, "status", "state", "phase", NULL), "");
}

static const struct json *task_of(const struct json *job, const char *name)
{
    JSON_EACH (task, json_path(job, "spec", "tasks", NULL))
        if (strcmp(json_get_text(task, "name", ""), name) == 0)
            return task;
    return NULL;
}

/* Enough pods of each task that the probe names are in its phase; a probe that names no task of the job says nothing of it. */
static bool probe_holds(const struct json *probe, const struct json *job)
{
    bool any = false;
    JSON_EACH (wanted, json_get(probe, "taskStatusList")) {
        const char *name = json_get_text(wanted, "taskName", "");
        const struct json *task = task_of(job, name);
        if (!task)
            continue;
        int64_t fewest = json_get_int64(task, "minAvailable", json_get_int64(task, "replicas", 1));
        const struct json *phases = json_path(job, "status", "taskStatusCount", name, "phase", NULL);
        if (json_get_int64(phases, json_get_text(wanted, "phase", ""), 0) < (fewest > 0 ? fewest : 1))
            return false;
        any = true;
    }
    return any;
}

static bool target_done(const struct job_flow_entry *entries, uint32_t n, const char *target, const struct json *probe)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(entries[i].name, target) == 0)
            return entries[i].job ? strcmp(phase_of_job(entries[i].job), "Completed") == 0 || probe_holds(probe, entries[i].job)
                                  : entries[i].past != NULL;
    return false;
}

bool job_flow_is_due(const struct job_flow_entry *entries, uint32_t n, uint32_t at)
{
    const struct json *depends = json_get(entries[at].spec, "dependsOn");
    if (entries[at].job || entries[at].past)
        return false;
    JSON_EACH (target, json_get(depends, "targets"))
        if (!target_done(entries, n, json_text(target, ""), json_get(depends, "probe")))
            return false;
    return true;
}

/* ---- the job ---- */

struct json *job_flow_job(struct arena *a, const struct json *flow, const struct job_flow_entry *entry, const struct json *job_template)
{
    const char *ns = object_meta(flow, "namespace");
    struct json *job = job_object(a, flow, job_owner(a, flow, "flow.volcano.sh/v1alpha1", "JobFlow"), "batch.volcano.sh/v1alpha1", "Job",
                                  entry->job_name);
    static const char *const maps[] = {"labels", "annotations"};
    for (int i = 0; i < 2; i++) {
        struct json *marks = json_ensure_object(a, json_get(job, "metadata"), maps[i]);
        json_set_text(a, marks, JOB_TEMPLATE_LABEL, arena_printf(a, "%s.%s", ns, entry->name));
        json_set_text(a, marks, JOB_FLOW_LABEL, arena_printf(a, "%s.%s", ns, object_meta(flow, "name")));
    }
    json_set(a, job, "spec", job_flow_patched(a, json_get(job_template, "spec"), json_path(entry->spec, "patch", "jobSpec", NULL)));
    return job;
}

/* ---- status ---- */

enum list { LIST_PENDING, LIST_RUNNING, LIST_FAILED, LIST_COMPLETED, LIST_TERMINATED, LIST_UNKNOWN, LISTS_N, LIST_NONE };
static const char *const list_names[] = {"pendingJobs", "runningJobs", "failedJobs", "completedJobs", "terminatedJobs", "unKnowJobs"};

/* SOURCE Volcano: jobs that are being completed or terminated stand in no list, those that it has no list for in the last. */
static enum list list_of(const char *phase)
{
    static const struct {
        const char *phase;
        enum list list;
    } lists[] = {{"Pending", LIST_PENDING},     {"Running", LIST_RUNNING},       {"Failed", LIST_FAILED},
                 {"Completed", LIST_COMPLETED}, {"Terminated", LIST_TERMINATED}, {"Completing", LIST_NONE},
                 {"Terminating", LIST_NONE}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(phase, lists[i].phase) == 0)
            return lists[i].list;
    return LIST_UNKNOWN;
}

static struct json *copy_of(struct arena *a, const struct json *v)
{
    return v ? json_clone(a, v) : NULL;
}

static struct json *condition_of(struct arena *a, const struct json *job)
{
    struct json *c = json_new(a, JSON_OBJECT), *duration = copy_of(a, json_path(job, "status", "runningDuration", NULL)),
                *counts = copy_of(a, json_path(job, "status", "taskStatusCount", NULL));
    json_set_text(a, c, "phase", phase_of_job(job));
    json_set_text(a, c, "createTime", object_meta(job, "creationTimestamp"));
    if (duration)
        json_set(a, c, "runningDuration", duration);
    if (counts && counts->n)
        json_set(a, c, "taskStatusCount", counts);
    return c;
}

/* One entry a phase that the job was in, the last one open. */
static struct json *histories_of(struct arena *a, const struct json *old, const char *phase, const char *now)
{
    const struct json *before = json_get(old, "runningHistories");
    struct json *list = json_is(before, JSON_ARRAY) ? json_clone(a, before) : json_new(a, JSON_ARRAY), *last = list->last;
    if (!*phase || (last && strcmp(json_get_text(last, "state", ""), phase) == 0))
        return list;
    if (last)
        json_set_text(a, last, "endTimestamp", now);
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "startTimestamp", now);
    json_set_text(a, entry, "state", phase);
    json_append(list, entry);
    return list;
}

/* When it came to its end. */
static const char *ended_at(const struct json *job)
{
    bool is_over = json_path(job, "status", "runningDuration", NULL) != NULL;
    return is_over ? json_text(json_path(job, "status", "state", "lastTransitionTime", NULL), "") : "";
}

static struct json *job_status_of(struct arena *a, const struct json *old_list, const struct json *job, const char *now)
{
    const char *name = object_meta(job, "name"), *phase = phase_of_job(job), *end = ended_at(job);
    const struct json *old = NULL;
    JSON_EACH (item, old_list)
        if (strcmp(json_get_text(item, "name", ""), name) == 0)
            old = item;
    struct json *s = json_new(a, JSON_OBJECT), *histories = histories_of(a, old, phase, now);
    json_set_text(a, s, "name", name);
    json_set_text(a, s, "state", phase);
    json_set_text(a, s, "startTimestamp", object_meta(job, "creationTimestamp"));
    if (*end)
        json_set_text(a, s, "endTimestamp", end);
    int64_t retries_n = json_int64(json_path(job, "status", "retryCount", NULL), 0);
    if (retries_n > 0)
        json_set_int64(a, s, "restartCount", retries_n);
    if (histories->n)
        json_set(a, s, "runningHistories", histories);
    return s;
}

static enum job_flow_phase next_phase(enum job_flow_phase now, const uint32_t *counts, uint32_t flows_n)
{
    bool failed = counts[LIST_FAILED] > 0 || counts[LIST_TERMINATED] > 0;
    switch (now) {
    case JOB_FLOW_PENDING:
        return counts[LIST_RUNNING] + counts[LIST_COMPLETED] > 0 && counts[LIST_FAILED] == 0 ? JOB_FLOW_RUNNING
               : failed                                                                     ? JOB_FLOW_FAILED
                                                                                            : JOB_FLOW_PENDING;
    case JOB_FLOW_RUNNING:
        return counts[LIST_COMPLETED] == flows_n ? JOB_FLOW_SUCCEED : failed ? JOB_FLOW_FAILED : JOB_FLOW_RUNNING;
    case JOB_FLOW_SUCCEED:
    case JOB_FLOW_FAILED:
    case JOB_FLOW_TERMINATING:
        break;
    }
    return now;
}

struct json *job_flow_status(struct arena *a, const struct json *flow, const struct job_flow_entry *entries, uint32_t n, int64_t now_ms)
{
    char now[TIME_TEXT_MAX];
    time_format(now, now_ms);
    const struct json *old = json_get(flow, "status");
    struct json *status = json_new(a, JSON_OBJECT), *jobs = json_new(a, JSON_ARRAY), *conditions = json_new(a, JSON_OBJECT);
    struct json *lists[LISTS_N];
    uint32_t counts[LISTS_N] = {0};
    for (int l = 0; l < LISTS_N; l++)
        lists[l] = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < n; i++) {
        const struct json *job = entries[i].job, *past = entries[i].past;
        if (!job && !past)
            continue;
        enum list list = job ? list_of(phase_of_job(job)) : LIST_COMPLETED;
        if (list != LIST_NONE) {
            json_append(lists[list], json_new_text(a, entries[i].job_name));
            counts[list]++;
        }
        const struct json *condition = json_path(old, "conditions", entries[i].job_name, NULL);
        if (job || condition)
            json_set(a, conditions, entries[i].job_name, job ? condition_of(a, job) : json_clone(a, condition));
        json_append(jobs, job ? job_status_of(a, json_get(old, "jobStatusList"), job, now) : json_clone(a, past));
    }
    for (int l = 0; l < LISTS_N; l++)
        if (lists[l]->n)
            json_set(a, status, list_names[l], lists[l]);
    if (jobs->n)
        json_set(a, status, "jobStatusList", jobs);
    if (conditions->n)
        json_set(a, status, "conditions", conditions);
    json_set_text(a, json_ensure_object(a, status, "state"), "phase", phase_names[next_phase(job_flow_phase_of(flow), counts, n)]);
    return status;
}
