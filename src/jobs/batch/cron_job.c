/* cron_job.c - reconcile one CronJob: is a time due, may it start, what is active, which old jobs go */
#include "jobs/batch/cron_job.h"
#include <stdlib.h>
#include "base/clock.h"
#include "jobs/batch/cron_schedule.h"
#include "jobs/batch/pod_template.h"
#include "kube/cache.h"
#include "kube/workqueue.h"

#define OWNED_MAX 256

struct cron_jobs {
    struct loop *loop;
    struct kube_cache *cron_jobs, *jobs; /* jobs: marked by the uid of their CronJob */
    struct workqueue *queue;
};

struct owned {
    const struct json *job;
    int64_t created_ms;
    bool complete, failed;
};

static bool condition_holds(const struct json *object, const char *type)
{
    JSON_EACH (c, json_path(object, "status", "conditions", NULL))
        if (text_equal(json_get_text(c, "type", ""), type))
            return text_equal(json_get_text(c, "status", ""), "True");
    return false;
}

static uint32_t find_owned(struct cron_jobs *c, struct work *w, const char *uid, struct owned *owned)
{
    uint32_t n = 0;
    size_t at = 0;
    struct bytes key, raw;
    while (n < OWNED_MAX && kube_cache_next_of(c->jobs, uid, &at, &key, &raw)) {
        struct json *job = json_parse(w->arena, raw, NULL, NULL);
        const struct json *metadata = json_get(job, "metadata");
        owned[n] = (struct owned){
            .job = job, .complete = condition_holds(job, "Complete"), .failed = condition_holds(job, "Failed")};
        time_parse(json_bytes(json_get(metadata, "creationTimestamp")), &owned[n++].created_ms);
    }
    return n;
}

static void act_delete(struct work *w, const struct json *job)
{
    const struct json *metadata = json_get(job, "metadata");
    work_delete(w, kube_path(w->arena, "batch", "v1", "jobs", w->ns, json_get_text(metadata, "name", ""), NULL),
                json_get_text(metadata, "uid", ""), "Background");
}

/* The oldest finished ones beyond the limit go. */
static void trim_history(struct work *w, struct owned *owned, uint32_t n, bool complete, int64_t keep)
{
    for (uint32_t i = 0; i < n; i++) {
        if (complete ? !owned[i].complete : !owned[i].failed)
            continue;
        int64_t newer_n = 0;
        for (uint32_t k = 0; k < n; k++)
            newer_n += (complete ? owned[k].complete : owned[k].failed) && owned[k].created_ms > owned[i].created_ms;
        if (newer_n >= keep)
            act_delete(w, owned[i].job);
    }
}

static void act_start(struct work *w, const struct json *cron, int64_t due_ms)
{
    struct arena *a = w->arena;
    const struct json *template = json_path(cron, "spec", "jobTemplate", NULL);
    struct json *job = json_new(a, JSON_OBJECT);
    json_set_text(a, job, "apiVersion", "batch/v1");
    json_set_text(a, job, "kind", "Job");
    const struct json *from = json_get(template, "metadata");
    struct json *metadata = json_is(from, JSON_OBJECT) ? json_clone(a, from) : json_new(a, JSON_OBJECT);
    json_remove(metadata, "creationTimestamp");
    json_set_text(a, metadata, "name", arena_printf(a, "%s-%lld", w->name, (long long)(due_ms / 60000)));
    json_set_text(a, metadata, "namespace", w->ns);
    owner_reference_add(a, metadata, cron, "batch/v1", "CronJob");
    json_set(a, job, "metadata", metadata);
    const struct json *spec = json_get(template, "spec");
    json_set(a, job, "spec", spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT));
    work_create(w, kube_path(a, "batch", "v1", "jobs", w->ns, NULL, NULL), job);
}

static void write_status(struct work *w, const struct json *cron, const struct owned *owned, uint32_t n,
                         int64_t scheduled_ms)
{
    struct arena *a = w->arena;
    char text[TIME_TEXT_MAX];
    const struct json *old = json_get(cron, "status");
    struct json *status = old ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct json *active = json_new(a, JSON_ARRAY);
    for (uint32_t i = 0; i < n; i++) {
        if (owned[i].complete || owned[i].failed)
            continue;
        const struct json *metadata = json_get(owned[i].job, "metadata");
        struct json *reference = json_new(a, JSON_OBJECT);
        json_set_text(a, reference, "apiVersion", "batch/v1");
        json_set_text(a, reference, "kind", "Job");
        json_set_text(a, reference, "namespace", w->ns);
        json_set_text(a, reference, "name", json_get_text(metadata, "name", ""));
        json_set_text(a, reference, "uid", json_get_text(metadata, "uid", ""));
        json_append(active, reference);
    }
    if (active->n || json_get(status, "active"))
        json_set(a, status, "active", active);
    if (scheduled_ms > 0)
        json_set_text(a, status, "lastScheduleTime", time_format(text, scheduled_ms));
    if (old && json_equal(old, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "batch", "v1", "cronjobs", w->ns, w->name, "status"), patch);
}

/* The last due time at or before now that was not started yet; 0 = none. */
static int64_t due_time(const struct cron_schedule *s, const struct json *cron, int64_t now_ms)
{
    int64_t last_ms = now_ms;
    time_parse(json_bytes(json_path(cron, "metadata", "creationTimestamp", NULL)), &last_ms);
    time_parse(json_bytes(json_path(cron, "status", "lastScheduleTime", NULL)), &last_ms);
    int64_t deadline_s = json_get_int64(json_get(cron, "spec"), "startingDeadlineSeconds", 86400);
    if (last_ms < now_ms - deadline_s * 1000)
        last_ms = now_ms - deadline_s * 1000;
    int64_t due_ms = 0;
    for (int64_t at = cron_schedule_next(s, last_ms); at >= 0 && at <= now_ms; at = cron_schedule_next(s, at))
        due_ms = at;
    return due_ms;
}

static void reconcile(void *arg, struct work *w)
{
    struct cron_jobs *c = arg;
    struct json *cron = kube_cache_get(c->cron_jobs, w->ns, w->name, w->arena);
    const struct json *spec = json_get(cron, "spec");
    struct cron_schedule schedule;
    if (!cron || !kube_cache_synced(c->jobs) || json_path(cron, "metadata", "deletionTimestamp", NULL) ||
        !cron_schedule_parse(json_get_text(spec, "schedule", ""), &schedule))
        return;
    int64_t now_ms = loop_wall_ms(c->loop), due_ms = due_time(&schedule, cron, now_ms);
    struct owned *owned = arena_alloc(w->arena, sizeof *owned * OWNED_MAX);
    uint32_t n = find_owned(c, w, json_get_text(json_get(cron, "metadata"), "uid", ""), owned);
    uint32_t active_n = 0;
    for (uint32_t i = 0; i < n; i++)
        active_n += !owned[i].complete && !owned[i].failed;
    const char *policy = json_get_text(spec, "concurrencyPolicy", "Allow");
    bool start =
        due_ms > 0 && !json_get_bool(spec, "suspend", false) && !(text_equal(policy, "Forbid") && active_n > 0);
    for (uint32_t i = 0; start && text_equal(policy, "Replace") && i < n; i++)
        if (!owned[i].complete && !owned[i].failed)
            act_delete(w, owned[i].job);
    if (start)
        act_start(w, cron, due_ms);
    write_status(w, cron, owned, n, start ? due_ms : 0);
    trim_history(w, owned, n, true, json_get_int64(spec, "successfulJobsHistoryLimit", 3));
    trim_history(w, owned, n, false, json_get_int64(spec, "failedJobsHistoryLimit", 1));
    int64_t next_ms = cron_schedule_next(&schedule, now_ms);
    if (next_ms > 0)
        work_again(w, next_ms - now_ms);
}

static void on_cron_job(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct cron_jobs *c = arg;
    (void)object;
    if (event != KUBE_DELETED)
        workqueue_add(c->queue, key);
}

static void on_job(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct cron_jobs *c = arg;
    (void)event;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *metadata = json_get(json_parse(a, object, NULL, NULL), "metadata");
    const struct json *owner = json_item(json_get(metadata, "ownerReferences"), 0);
    bool owned = text_equal(json_get_text(owner, "kind", ""), "CronJob");
    kube_cache_mark(c->jobs, key, owned ? json_get_text(owner, "uid", "") : "");
    if (owned)
        workqueue_add(c->queue, arena_printf(a, "%s/%s", json_get_text(metadata, "namespace", ""), json_get_text(owner, "name", "")));
}

static void on_jobs_synced(void *arg)
{
    struct cron_jobs *c = arg;
    if (c->cron_jobs)
        workqueue_add_all(c->queue, c->cron_jobs, NULL);
}

struct cron_jobs *cron_jobs_new(struct kube_client *client)
{
    struct cron_jobs *c = mem_zero(1, sizeof *c);
    c->loop = kube_client_loop(client);
    c->queue = workqueue_new(client, reconcile, c);
    c->jobs = kube_cache_new(client, &(struct kube_cache_config){.watch = {.path = "/apis/batch/v1/jobs"},
                                                                 .on_change = on_job,
                                                                 .on_synced = on_jobs_synced,
                                                                 .arg = c});
    c->cron_jobs = kube_cache_new(
        client,
        &(struct kube_cache_config){.watch = {.path = "/apis/batch/v1/cronjobs"}, .on_change = on_cron_job, .arg = c});
    return c;
}

void cron_jobs_free(struct cron_jobs *c)
{
    if (!c)
        return;
    workqueue_free(c->queue);
    kube_cache_free(c->cron_jobs);
    kube_cache_free(c->jobs);
    free(c);
}
