/* vcjob_status.c - status of a Volcano Job; see vcjob_status.h */
#include "jobs/volcano/vcjob_status.h"
#include "base/clock.h"
#include "kube/object.h"

static const char *const phase_texts[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};

static enum vcjob_pod_phase phase_of(const char *text)
{
    for (int i = 0; i < VCPOD_PHASES_N; i++)
        if (strcmp(text, phase_texts[i]) == 0)
            return (enum vcjob_pod_phase)i;
    return VCPOD_PENDING;
}

static int64_t number_of(const char *text)
{
    int64_t n;
    return bytes_int64(bytes_of(text), &n) ? n : 0;
}

static int64_t restarts_of(const struct json *status)
{
    int64_t n = 0;
    JSON_EACH (container, json_get(status, "initContainerStatuses"))
        n += json_get_int64(container, "restartCount", 0);
    JSON_EACH (container, json_get(status, "containerStatuses"))
        n += json_get_int64(container, "restartCount", 0);
    return n;
}

struct vcjob_pod *vcjob_pod_read(const struct json *pod, int64_t now_ms)
{
    const char *job = object_label(pod, "volcano.sh/job-name");
    if (!*job || strcmp(object_controller(pod, "kind"), "Job") != 0)
        return NULL;
    const struct json *status = json_get(pod, "status");
    struct vcjob_pod *p = mem_zero(1, sizeof *p);
    p->name = mem_text(object_meta(pod, "name"));
    p->uid = mem_text(object_meta(pod, "uid"));
    p->task = mem_text(object_annotation(pod, "volcano.sh/task-spec"));
    p->owner_uid = mem_text(object_controller(pod, "uid"));
    p->index = number_of(object_annotation(pod, "volcano.sh/task-index"));
    p->version = number_of(object_annotation(pod, "volcano.sh/job-version"));
    p->phase = phase_of(json_get_text(status, "phase", "Pending"));
    p->ready = object_condition_true(pod, "Ready");
    p->deleting = object_deleting(pod);
    p->restarts_n = restarts_of(status);
    p->since_ms = now_ms;
    const struct json *first = json_item(json_get(status, "containerStatuses"), 0);
    p->exit_code = (int32_t)json_int64(json_path(first, "state", "terminated", "exitCode", NULL), 0);
    return p;
}

bool vcjob_pod_is_as(const struct vcjob_pod *p, const struct vcjob_pod *old)
{
    return strcmp(p->uid, old->uid) == 0 && strcmp(p->owner_uid, old->owner_uid) == 0 && strcmp(p->task, old->task) == 0 &&
           p->index == old->index && p->version == old->version && p->phase == old->phase && p->ready == old->ready &&
           p->deleting == old->deleting && p->restarts_n == old->restarts_n && p->exit_code == old->exit_code;
}

void vcjob_pod_free(struct vcjob_pod *p)
{
    if (!p)
        return;
    free(p->name);
    free(p->uid);
    free(p->task);
    free(p->owner_uid);
    free(p);
}

/* ---- view ---- */

static bool on_its_way_out(const struct vcjob_pod *p, const char *uid, int64_t version)
{
    return p->deleting || p->condemned || p->version != version || strcmp(p->owner_uid, uid) != 0;
}

static void view_add(struct vcjob_view *v, const struct vcjob_pod *p, const struct vcjob_task *tasks)
{
    if (p->phase == VCPOD_RUNNING)
        v->running_n++;
    else if (p->phase == VCPOD_FAILED)
        v->failed_n++;
    else if (p->phase == VCPOD_PENDING)
        v->pending_n++;
    else if (p->phase == VCPOD_SUCCEEDED)
        v->succeeded_n++;
    else
        v->unknown_n++;
    for (uint32_t i = 0; p->phase == VCPOD_SUCCEEDED && i < v->tasks_n; i++)
        if (strcmp(tasks[i].name, p->task) == 0)
            v->tasks[i].succeeded_n++;
}

void vcjob_view_of(const struct json *job, const struct vcjob_task *tasks, uint32_t tasks_n, const struct map *pods,
                   struct vcjob_view *ret_view)
{
    const struct json *spec = json_get(job, "spec"), *status = json_get(job, "status");
    struct vcjob_view v = {.tasks_n = tasks_n};
    v.phase = vcjob_phase_of(json_text(json_path(status, "state", "phase", NULL), ""));
    v.min_available = vcjob_min_available(job, tasks, tasks_n);
    v.min_success = json_get_int64(spec, "minSuccess", 0);
    v.max_retry = json_get_int64(spec, "maxRetry", 3);
    v.retry_count = json_get_int64(status, "retryCount", 0);
    for (uint32_t i = 0; i < tasks_n; i++) {
        v.replicas += tasks[i].replicas;
        v.tasks[i].min_available = tasks[i].min_available;
    }
    bool kept = vcjob_phase_kill(v.phase) == VCJOB_KILL_SOFT; /* ended pods of the killed version stay and are shown */
    size_t at = 0;
    struct bytes name;
    struct vcjob_pod **slot;
    while (pods && (slot = map_next(pods, &at, &name))) {
        const struct vcjob_pod *p = *slot;
        bool ended = p->phase == VCPOD_SUCCEEDED || p->phase == VCPOD_FAILED;
        if (on_its_way_out(p, object_meta(job, "uid"), json_get_int64(status, "version", 0)) &&
            !(kept && ended && !p->deleting))
            v.terminating_n++;
        else
            view_add(&v, p, tasks);
    }
    *ret_view = v;
}

/* ---- status ---- */

static void task_counts_set(struct arena *a, struct json *status, const struct json *job,
                            const struct vcjob_task *tasks, uint32_t tasks_n, const struct map *pods)
{
    struct json *by_task = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < tasks_n; i++) {
        int64_t n[VCPOD_PHASES_N] = {0};
        size_t at = 0;
        struct bytes name;
        struct vcjob_pod **slot;
        while (pods && (slot = map_next(pods, &at, &name)))
            if (strcmp((*slot)->task, tasks[i].name) == 0 && strcmp((*slot)->owner_uid, object_meta(job, "uid")) == 0)
                n[(*slot)->phase]++;
        struct json *phases = NULL;
        for (int p = 0; p < VCPOD_PHASES_N; p++) {
            if (n[p] == 0)
                continue;
            if (!phases)
                phases = json_ensure_object(a, json_ensure_object(a, by_task, tasks[i].name), "phase");
            json_set_int64(a, phases, phase_texts[p], n[p]);
        }
    }
    json_set(a, status, "taskStatusCount", by_task);
}

static const char *duration_text(struct arena *a, int64_t ms)
{
    int64_t s = ms / 1000;
    if (s >= 3600)
        return arena_printf(a, "%lldh%lldm%llds", (long long)(s / 3600), (long long)(s / 60 % 60), (long long)(s % 60));
    if (s >= 60)
        return arena_printf(a, "%lldm%llds", (long long)(s / 60), (long long)(s % 60));
    return arena_printf(a, "%llds", (long long)s);
}

/* One entry a phase, the newest at the tail. */
static void phase_enter(struct arena *a, struct json *status, enum vcjob_phase phase, const char *message,
                        int64_t now_ms)
{
    char now[TIME_TEXT_MAX];
    time_format(now, now_ms);
    const char *name = vcjob_phase_name(phase);
    struct json *state = json_ensure_object(a, status, "state");
    json_set_text(a, state, "phase", name);
    json_set_text(a, state, "lastTransitionTime", now);
    if (message && *message)
        json_set_text(a, state, "message", message);
    else
        (void)json_remove(state, "message");
    struct json *conditions = json_ensure_array(a, status, "conditions");
    JSON_EACH (condition, conditions)
        if (strcmp(json_get_text(condition, "status", ""), name) == 0) {
            (void)json_remove_item(conditions, condition);
            break;
        }
    struct json *entry = json_new(a, JSON_OBJECT);
    json_set_text(a, entry, "status", name);
    json_set_text(a, entry, "lastTransitionTime", now);
    json_append(conditions, entry);
}

struct json *vcjob_status_next(struct arena *a, const struct json *job, const struct vcjob_task *tasks,
                               uint32_t tasks_n, const struct map *pods, const struct vcjob_view *v,
                               const struct vcjob_step *step, const char *message, int64_t now_ms)
{
    const struct json *old = json_get(job, "status");
    struct json *status = json_is(old, JSON_OBJECT) ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    bool first = !json_path(status, "state", "phase", NULL);
    if (first || step->next != v->phase)
        phase_enter(a, status, step->next, message, now_ms);
    if (step->whole)
        json_set_int64(a, status, "version", json_get_int64(status, "version", 0) + 1);
    if (step->retry)
        json_set_int64(a, status, "retryCount", v->retry_count + 1);
    json_set_int64(a, status, "minAvailable", v->min_available);
    object_count_set(a, status, "pending", v->pending_n);
    object_count_set(a, status, "running", v->running_n);
    object_count_set(a, status, "succeeded", v->succeeded_n);
    object_count_set(a, status, "failed", v->failed_n);
    object_count_set(a, status, "terminating", v->terminating_n);
    object_count_set(a, status, "unknown", v->unknown_n);
    task_counts_set(a, status, job, tasks, tasks_n, pods);
    int64_t created_ms;
    if (vcjob_phase_final(step->next) && !vcjob_phase_final(v->phase) &&
        time_parse(bytes_of(object_meta(job, "creationTimestamp")), &created_ms))
        json_set_text(a, status, "runningDuration", duration_text(a, now_ms - created_ms));
    return status;
}
