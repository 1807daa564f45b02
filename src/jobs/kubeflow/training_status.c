/* training_status.c - see training_status.h */
#include "jobs/kubeflow/training_status.h"
#include "base/clock.h"

enum { EXIT_PASSING = 128 }; /* exit codes from here on: signals, and what the program says will pass */

struct writer {
    struct arena *a;
    const struct training *t;
    struct json *status, *conditions;
    int64_t now_ms;
    struct training_news *news;
};
struct counts {
    int64_t active, ready, succeeded, failed, restarts;
    const struct json *lost; /* a pod that failed for good */
};

static const char *phase_of(const struct json *pod)
{
    return json_text(json_path(pod, "status", "phase", NULL), "");
}

static int64_t exit_code(const struct json *pod)
{
    JSON_EACH (container, json_path(pod, "status", "containerStatuses", NULL)) {
        int64_t code = json_int64(json_path(container, "state", "terminated", "exitCode", NULL), 0);
        if (code)
            return code;
    }
    return 0;
}

bool training_may_rerun(const struct training_role *role, const struct json *pod)
{
    return strcmp(phase_of(pod), "Failed") == 0 && strcmp(json_get_text(role->spec, "restartPolicy", ""), "ExitCode") == 0 &&
           exit_code(pod) >= EXIT_PASSING;
}

int64_t training_ready_n(const struct training_role *role)
{
    int64_t n = 0;
    for (int64_t i = 0; i < role->replicas; i++)
        n += role->pods[i] && object_condition_true(role->pods[i], "Ready");
    return n;
}

/* Pods that are being deleted are active until they are gone: they hold their place. */
static struct counts count(const struct training_role *role)
{
    struct counts n = {0};
    for (int64_t i = 0; i < role->replicas; i++) {
        const struct json *pod = role->pods[i];
        const char *phase = phase_of(pod);
        bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
        if (!pod)
            continue;
        n.succeeded += strcmp(phase, "Succeeded") == 0;
        n.active += !ended && (strcmp(phase, "Running") == 0 || object_deleting(pod));
        n.ready += strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Running") == 0;
        if (strcmp(phase, "Failed") == 0 && !training_may_rerun(role, pod)) {
            n.failed++;
            n.lost = pod;
        }
        JSON_EACH (container, json_path(pod, "status", "containerStatuses", NULL))
            n.restarts += json_get_int64(container, "restartCount", 0);
    }
    return n;
}

/* ---- conditions ---- */

/* What is new goes to the end. */
static void say(struct writer *w, const char *type, bool status, const char *what, const char *message)
{
    const char *reason = arena_printf(w->a, "%s%s", w->t->kind->of->kind, what);
    char now[TIME_TEXT_MAX];
    if (!object_condition_set(w->a, w->conditions, type, status, reason, message, w->now_ms, 0))
        return;
    JSON_EACH (condition, w->conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0) {
            struct json *moved = json_clone(w->a, condition);
            json_set_text(w->a, moved, "lastUpdateTime", time_format(now, w->now_ms));
            (void)json_remove_item(w->conditions, condition);
            json_append(w->conditions, moved);
            break;
        }
    if (!status)
        return;
    w->news->reason = reason;
    w->news->message = message;
    w->news->is_bad = strcmp(type, "Failed") == 0;
}

static bool is_said(const struct writer *w, const char *type)
{
    JSON_EACH (condition, w->conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0)
            return strcmp(json_get_text(condition, "status", ""), "True") == 0;
    return false;
}

static const char *sentence(const struct writer *w, const char *rest)
{
    return arena_printf(w->a, "%s %s/%s %s", w->t->kind->of->kind, w->t->ns, w->t->name, rest);
}

static void set_time(struct writer *w, const char *key)
{
    char now[TIME_TEXT_MAX];
    json_set_text(w->a, w->status, key, time_format(now, w->now_ms));
}

static void end(struct writer *w, bool well, const char *message)
{
    set_time(w, "completionTime");
    if (is_said(w, "Running"))
        say(w, "Running", false, well ? "Succeeded" : "Failed", message);
    say(w, well ? "Succeeded" : "Failed", true, well ? "Succeeded" : "Failed", message);
}

static void suspend(struct writer *w)
{
    const char *message = sentence(w, "is suspended.");
    if (is_said(w, "Running"))
        say(w, "Running", false, "Suspended", message);
    say(w, "Suspended", true, "Suspended", message);
    (void)json_remove(w->status, "startTime");
}

static void resume(struct writer *w)
{
    if (is_said(w, "Suspended"))
        say(w, "Suspended", false, "Resumed", sentence(w, "is resumed."));
    if (!json_get(w->status, "startTime"))
        set_time(w, "startTime");
}

/* ---- the verdict ---- */

/* The role whose success is the job's. */
static const struct training_role *decider(const struct training *t)
{
    static const char *const order[] = {"Chief", "Master", "Launcher", "Worker"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const struct training_role *role = training_role_named(t, order[i]);
        if (role && role->replicas > 0)
            return role;
    }
    return NULL;
}

static bool succeeded(const struct training *t, const struct counts *counts)
{
    const struct training_role *role = decider(t);
    bool first_alone = t->kind->of == &queued_kinds[QUEUED_TFJOB] && role && strcmp(role->name, "Worker") == 0 &&
                       strcmp(json_get_text(json_get(t->job, "spec"), "successPolicy", ""), "AllWorkers") != 0;
    if (!role)
        return false;
    if (first_alone)
        return strcmp(phase_of(role->pods[0]), "Succeeded") == 0;
    return counts[role - t->roles].succeeded >= role->replicas;
}

/* Why it has failed; NULL: it has not. */
static const char *failure(struct writer *w, const struct counts *counts)
{
    const struct json *policy = json_path(w->t->job, "spec", "runPolicy", NULL), *limit = json_get(policy, "backoffLimit"),
                      *deadline = json_get(policy, "activeDeadlineSeconds");
    int64_t restarts = 0, started_ms = w->now_ms;
    for (uint32_t i = 0; i < w->t->roles_n; i++) {
        restarts += counts[i].restarts;
        if (counts[i].lost)
            return sentence(w, arena_printf(w->a, "is failed because pod %s of role %s has failed.",
                                            object_meta(counts[i].lost, "name"), w->t->roles[i].name));
    }
    if (limit && restarts > json_int64(limit, 0))
        return sentence(w, "has failed because it has reached the specified backoff limit");
    (void)time_parse(bytes_of(json_get_text(w->status, "startTime", "")), &started_ms);
    int64_t left_ms = deadline ? started_ms + json_int64(deadline, 0) * 1000 - w->now_ms : 1;
    w->news->again_ms = deadline && left_ms > 0 ? left_ms : 0;
    return left_ms > 0 ? NULL : sentence(w, "has failed because it was active longer than specified deadline");
}

/* Its launcher is a Job. */
static struct counts count_launcher(const struct json *job)
{
    const struct json *status = json_get(job, "status");
    bool well = object_condition_true(job, "Complete"), badly = object_condition_true(job, "Failed");
    return (struct counts){.active = !well && !badly ? json_get_int64(status, "active", 0) : 0,
                           .ready = well || json_get_int64(status, "ready", 0) > 0,
                           .succeeded = well,
                           .failed = json_get_int64(status, "failed", 0),
                           .lost = badly ? job : NULL};
}

static bool count_roles(struct writer *w, const struct json *launcher, struct counts *counts)
{
    struct json *roles = json_new(w->a, JSON_OBJECT);
    bool all_up = w->t->pods_n > 0;
    for (uint32_t i = 0; i < w->t->roles_n; i++) {
        const struct training_role *role = &w->t->roles[i];
        counts[i] = training_is_mpi(w->t) && strcmp(role->name, "Launcher") == 0 ? count_launcher(launcher) : count(role);
        struct json *one = json_ensure_object(w->a, roles, role->name);
        object_count_set(w->a, one, "active", counts[i].active);
        object_count_set(w->a, one, "succeeded", counts[i].succeeded);
        object_count_set(w->a, one, "failed", counts[i].failed);
        all_up = all_up && counts[i].ready >= role->replicas;
    }
    json_set(w->a, w->status, "replicaStatuses", roles);
    return all_up;
}

struct json *training_status(struct arena *a, const struct training *t, const struct json *launcher, bool suspended, int64_t now_ms,
                             struct training_news *ret_news)
{
    struct json *status = object_status_copy(a, t->job);
    struct writer w = {a, t, status, json_ensure_array(a, status, "conditions"), now_ms, ret_news};
    struct counts counts[TRAINING_ROLES_MOST] = {0};
    if (!w.conditions->n)
        say(&w, "Created", true, "Created", sentence(&w, "is created."));
    bool all_up = count_roles(&w, launcher, counts);
    if (suspended) {
        suspend(&w);
        return status;
    }
    resume(&w);
    const char *why = failure(&w, counts);
    if (succeeded(t, counts))
        end(&w, true, sentence(&w, "is successfully completed."));
    else if (why)
        end(&w, false, why);
    else if (all_up)
        say(&w, "Running", true, "Running", sentence(&w, "is running."));
    return status;
}
