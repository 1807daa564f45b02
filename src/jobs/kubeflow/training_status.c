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
struct ending {
    const char *reason, *message; /* of the condition; reason NULL: the kind's own, message NULL: it has not ended */
};
struct counts {
    int64_t active, ready, succeeded, failed, restarts, again; /* again: failed, and will be made again */
    const struct json *lost; /* a pod that failed for good */
};

static const char *phase_of(const struct json *pod)
{
    return json_text(json_path(pod, "status", "phase", NULL), "");
}

/* Of a container that failed, else 0; EXIT_PASSING where none was seen to end: the pod was evicted, or its node is gone.
 * SOURCE training-operator: such a pod is made again */
static int64_t exit_code(const struct json *pod)
{
    bool has_ended = false;
    JSON_EACH (container, json_path(pod, "status", "containerStatuses", NULL)) {
        const struct json *ended = json_path(container, "state", "terminated", NULL);
        int64_t code = json_get_int64(ended, "exitCode", 0);
        if (code)
            return code;
        has_ended |= json_is(ended, JSON_OBJECT);
    }
    return has_ended ? 0 : EXIT_PASSING;
}

bool training_may_rerun(const struct training *t, const struct training_role *role, const struct json *pod)
{
    bool by_code = strcmp(json_get_text(role->spec, "restartPolicy", ""), "ExitCode") == 0;
    if (strcmp(phase_of(pod), "Failed") != 0 || training_is_mpi(t))
        return false;
    return by_code ? exit_code(pod) >= EXIT_PASSING : strcmp(training_restarts(t, role), "Never") != 0;
}

/* Who has failed for good ends the job; of an MPIJob the launcher tells, but of workers that were evicted. */
static bool is_lost(const struct training *t, const struct training_role *role, const struct json *pod)
{
    if (training_is_mpi(t))
        return strcmp(json_text(json_path(pod, "status", "reason", NULL), ""), "Evicted") == 0;
    return !training_may_rerun(t, role, pod);
}

int64_t training_ready_n(const struct training_role *role)
{
    int64_t n = 0;
    for (int64_t i = 0; i < role->replicas; i++)
        n += role->pods[i] && object_condition_true(role->pods[i], "Ready");
    return n;
}

/* Pods that are being deleted are active until they are gone: they hold their place. */
static struct counts count(const struct training *t, const struct training_role *role)
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
        n.again += training_may_rerun(t, role, pod);
        n.failed += strcmp(phase, "Failed") == 0 && !training_may_rerun(t, role, pod);
        if (strcmp(phase, "Failed") == 0 && is_lost(t, role, pod))
            n.lost = pod;
        JSON_EACH (container, json_path(pod, "status", "containerStatuses", NULL))
            n.restarts += json_get_int64(container, "restartCount", 0);
    }
    return n;
}

/* ---- conditions ---- */

static struct json *condition_of(const struct writer *w, const char *type)
{
    JSON_EACH (condition, w->conditions)
        if (strcmp(json_get_text(condition, "type", ""), type) == 0)
            return condition;
    return NULL;
}

/* What is new goes to the end. Who runs does not restart, and the other way round. */
static void say_for(struct writer *w, const char *type, bool status, const char *reason, const char *message)
{
    struct json *other = condition_of(w, strcmp(type, "Running") == 0 ? "Restarting" : strcmp(type, "Restarting") == 0 ? "Running" : "");
    char now[TIME_TEXT_MAX];
    if (other && status)
        (void)json_remove_item(w->conditions, other);
    if (!object_condition_set(w->a, w->conditions, type, status, reason, message, w->now_ms, 0))
        return;
    struct json *is = condition_of(w, type), *moved = json_clone(w->a, is);
    json_set_text(w->a, moved, "lastUpdateTime", time_format(now, w->now_ms));
    (void)json_remove_item(w->conditions, is);
    json_append(w->conditions, moved);
    if (!status)
        return;
    w->news->reason = reason;
    w->news->message = message;
    w->news->is_bad = strcmp(type, "Failed") == 0 || strcmp(type, "Restarting") == 0;
}

static void say(struct writer *w, const char *type, bool status, const char *what, const char *message)
{
    say_for(w, type, status, arena_printf(w->a, "%s%s", w->t->kind->of->kind, what), message);
}

static bool is_said(const struct writer *w, const char *type)
{
    return strcmp(json_get_text(condition_of(w, type), "status", ""), "True") == 0;
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

static void end(struct writer *w, bool well, const struct ending *how)
{
    const char *reason = how->reason ? how->reason : arena_printf(w->a, "%s%s", w->t->kind->of->kind, well ? "Succeeded" : "Failed");
    set_time(w, "completionTime");
    if (is_said(w, "Running"))
        say_for(w, "Running", false, reason, how->message);
    say_for(w, well ? "Succeeded" : "Failed", true, reason, how->message);
}

/* Some pods have failed, and are made again. */
static void tell_restart(struct writer *w, const struct counts *counts)
{
    for (uint32_t i = 0; i < w->t->roles_n; i++)
        if (counts[i].again)
            say(w, "Restarting", true, "Restarting", sentence(w, arena_printf(w->a, "is restarting because %lld %s replica(s) failed.",
                (long long)counts[i].again, w->t->roles[i].name)));
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
    if (json_path(t->job, "spec", "elasticPolicy", NULL) && strcmp(role->name, "Worker") == 0)
        return counts[role - t->roles].succeeded > 0; /* the others see it and end, too */
    if (first_alone)
        return strcmp(phase_of(role->pods[0]), "Succeeded") == 0;
    return counts[role - t->roles].succeeded >= role->replicas;
}

/* Of an MPIJob: as its launcher's Job says it, or how many workers were evicted. */
static struct ending mpi_failure(struct writer *w, const struct json *launcher)
{
    const struct training_role *workers = training_role_named(w->t, "Worker");
    int64_t evicted = 0;
    if (object_condition_true(launcher, "Failed")) {
        const struct json *failed = object_condition(launcher, "Failed");
        const char *reason = json_get_text(failed, "reason", ""), *message = json_get_text(failed, "message", "");
        return (struct ending){*reason ? reason : NULL, *message ? message : sentence(w, "has failed")};
    }
    for (int64_t i = 0; workers && i < workers->replicas; i++)
        evicted += strcmp(phase_of(workers->pods[i]), "Failed") == 0 && is_lost(w->t, workers, workers->pods[i]);
    if (!evicted)
        return (struct ending){0};
    return (struct ending){"MPIJobEvicted", arena_printf(w->a, "%lld/%lld workers are evicted", (long long)evicted,
                                                         (long long)workers->replicas)};
}

/* Why it has failed; no message: it has not. */
static struct ending failure(struct writer *w, const struct counts *counts, const struct json *launcher)
{
    const struct json *policy = json_path(w->t->job, "spec", "runPolicy", NULL), *limit = json_get(policy, "backoffLimit"),
                      *deadline = json_get(policy, "activeDeadlineSeconds");
    int64_t restarts = 0, started_ms = w->now_ms;
    for (uint32_t i = 0; i < w->t->roles_n; i++) {
        restarts += counts[i].restarts;
        if (counts[i].lost && training_is_mpi(w->t))
            return mpi_failure(w, launcher);
        if (counts[i].lost)
            return (struct ending){NULL, sentence(w, arena_printf(w->a, "is failed because pod %s of role %s has failed.",
                                                                  object_meta(counts[i].lost, "name"), w->t->roles[i].name))};
    }
    if (limit && restarts > json_int64(limit, 0))
        return (struct ending){NULL, sentence(w, "has failed because it has reached the specified backoff limit")};
    (void)time_parse(bytes_of(json_get_text(w->status, "startTime", "")), &started_ms);
    int64_t left_ms = deadline ? time_after_s(started_ms, json_int64(deadline, 0)) - w->now_ms : 1;
    w->news->again_ms = deadline && left_ms > 0 ? left_ms : 0;
    return (struct ending){NULL, left_ms > 0 ? NULL : sentence(w, "has failed because it was active longer than specified deadline")};
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
        counts[i] = training_is_mpi(w->t) && strcmp(role->name, "Launcher") == 0 ? count_launcher(launcher) : count(w->t, role);
        struct json *one = json_ensure_object(w->a, roles, role->name);
        if (!training_is_mpi(w->t))
            json_set_text(w->a, one, "selector", training_selector(w->a, w->t, role));
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
    struct ending failed = failure(&w, counts, launcher);
    tell_restart(&w, counts);
    if (succeeded(t, counts))
        end(&w, true, &(struct ending){NULL, sentence(&w, "is successfully completed.")});
    else if (failed.message)
        end(&w, false, &failed);
    else if (all_up)
        say(&w, "Running", true, "Running", sentence(&w, "is running."));
    return status;
}

/* What ran on when the job was over is cleaned up, or counts as having done its part. */
struct json *training_status_over(struct arena *a, const struct training *t)
{
    struct json *status = object_status_copy(a, t->job);
    const char *clean = json_text(json_path(t->job, "spec", "runPolicy", "cleanPodPolicy", NULL), "None");
    bool well = object_condition_true(t->job, "Succeeded");
    JSON_EACH (role, json_get(status, "replicaStatuses")) {
        int64_t active = json_get_int64(role, "active", 0);
        bool cleaned = training_is_mpi(t) && strcmp(role->key, "Worker") == 0 && strcmp(clean, "None") != 0;
        if (!active || (!cleaned && (!well || training_is_mpi(t))))
            continue;
        if (!training_is_mpi(t))
            json_set_int64(a, role, "succeeded", json_get_int64(role, "succeeded", 0) + active);
        (void)json_remove(role, "active");
    }
    return status;
}
