/* cron_job.c - reconcile one CronJob: is a time due, may it start, what is active, which old jobs go */
#include "jobs/batch/cron_job.h"
#include <stdlib.h>
#include "base/clock.h"
#include "jobs/batch/cron_schedule.h"
#include "base/collections/map.h"
#include "jobs/batch/pod_template.h"
#include "jobs/batch/time_zone.h"
#include "kube/cache.h"
#include "kube/workqueue.h"

#define OWNED_MAX 256
#define FIRST_SPAN_MS 3600000

struct cron_jobs {
    struct loop *loop;
    const struct cron_kind *kind;
    char *api_version;
    struct kube_cache *cron_jobs, *jobs; /* jobs: marked by the uid of their CronJob */
    bool watches_jobs;
    struct kube_recorder *events;
    struct map *zones; /* by name -> struct time_zone * */
    struct workqueue *queue;
};

struct owned {
    const struct json *job;
    int64_t created_ms, ended_ms;
    enum cron_ended ended;
};

static bool condition_holds(const struct json *object, const char *type)
{
    JSON_EACH (c, json_path(object, "status", "conditions", NULL))
        if (text_equal(json_get_text(c, "type", ""), type))
            return text_equal(json_get_text(c, "status", ""), "True");
    return false;
}

/* Of batch. */
static enum cron_ended batch_ended(const struct json *job, int64_t *ret_ended_ms)
{
    time_parse(json_bytes(json_path(job, "status", "completionTime", NULL)), ret_ended_ms);
    return condition_holds(job, "Complete") ? CRON_SUCCEEDED : condition_holds(job, "Failed") ? CRON_FAILED : CRON_RUNS;
}

const struct cron_kind cron_kind_batch = {"batch", "v1", "batch.kubernetes.io/cronjob-scheduled-timestamp", batch_ended};

static uint32_t find_owned(struct cron_jobs *c, struct work *w, const char *uid, struct owned *owned)
{
    uint32_t n = 0;
    size_t at = 0;
    struct bytes key, raw;
    while (n < OWNED_MAX && kube_cache_next_of(c->jobs, uid, &at, &key, &raw)) {
        struct json *job = json_parse(w->arena, raw, NULL, NULL);
        const struct json *metadata = json_get(job, "metadata");
        owned[n] = (struct owned){.job = job};
        owned[n].ended = c->kind->ended(job, &owned[n].ended_ms);
        time_parse(json_bytes(json_get(metadata, "creationTimestamp")), &owned[n++].created_ms);
    }
    return n;
}

static const char *job_name(struct work *w, int64_t due_ms)
{
    return arena_printf(w->arena, "%s-%lld", w->name, (long long)(due_ms / 60000));
}

static bool find_named(const struct owned *owned, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(json_text(json_path(owned[i].job, "metadata", "name", NULL), ""), name))
            return true;
    return false;
}

static void act_delete(const struct cron_jobs *c, struct work *w, const struct json *job)
{
    const struct json *metadata = json_get(job, "metadata");
    work_delete(w, kube_path(w->arena, c->kind->group, c->kind->version, "jobs", w->ns, json_get_text(metadata, "name", ""), NULL),
                json_get_text(metadata, "uid", ""), "Background");
}

/* ORDER  by age, then by name. */
static bool is_newer(const struct owned *a, const struct owned *b)
{
    if (a->created_ms != b->created_ms)
        return a->created_ms > b->created_ms;
    const struct json *name = json_path(a->job, "metadata", "name", NULL), *other = json_path(b->job, "metadata", "name", NULL);
    return strcmp(json_text(name, ""), json_text(other, "")) > 0;
}

/* The oldest ones that ended so, beyond the limit, go. */
static void trim_history(const struct cron_jobs *c, struct work *w, const struct owned *owned, uint32_t n, enum cron_ended ended,
                         int64_t keep)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t newer_n = 0;
        for (uint32_t k = 0; owned[i].ended == ended && k < n; k++)
            newer_n += owned[k].ended == ended && is_newer(&owned[k], &owned[i]);
        if (owned[i].ended == ended && newer_n >= keep)
            act_delete(c, w, owned[i].job);
    }
}

/* "2026-03-01T03:00:00+01:00", in UTC with a Z. */
static const char *due_text(struct arena *a, const struct time_zone *zone, int64_t due_ms)
{
    char text[TIME_TEXT_MAX];
    int32_t offset = time_zone_offset(zone, due_ms / 1000), minutes = (offset < 0 ? -offset : offset) / 60;
    time_format(text, due_ms + offset * 1000LL);
    if (offset == 0)
        return arena_text(a, text);
    return arena_printf(a, "%.*s%c%02d:%02d", (int)strcspn(text, "Z"), text, offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

static void act_start(const struct cron_jobs *c, struct work *w, const struct json *cron, const struct time_zone *zone, int64_t due_ms)
{
    struct arena *a = w->arena;
    const struct json *template = json_path(cron, "spec", "jobTemplate", NULL);
    struct json *job = json_new(a, JSON_OBJECT);
    json_set_text(a, job, "apiVersion", c->api_version);
    json_set_text(a, job, "kind", "Job");
    const struct json *from = json_get(template, "metadata");
    struct json *metadata = json_is(from, JSON_OBJECT) ? json_clone(a, from) : json_new(a, JSON_OBJECT);
    json_remove(metadata, "creationTimestamp");
    json_set_text(a, metadata, "name", job_name(w, due_ms));
    json_set_text(a, metadata, "namespace", w->ns);
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), c->kind->annotation, due_text(a, zone, due_ms));
    owner_reference_add(a, metadata, cron, c->api_version, "CronJob");
    json_set(a, job, "metadata", metadata);
    const struct json *spec = json_get(template, "spec");
    json_set(a, job, "spec", spec ? json_clone(a, spec) : json_new(a, JSON_OBJECT));
    work_create(w, kube_path(a, c->kind->group, c->kind->version, "jobs", w->ns, NULL, NULL), job);
}

static void write_status(const struct cron_jobs *c, struct work *w, const struct json *cron, const struct owned *owned, uint32_t n,
                         int64_t scheduled_ms)
{
    struct arena *a = w->arena;
    char text[TIME_TEXT_MAX];
    const struct json *old = json_get(cron, "status");
    struct json *status = old ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    struct json *active = json_new(a, JSON_ARRAY);
    int64_t succeeded_ms = 0;
    time_parse(json_bytes(json_get(old, "lastSuccessfulTime")), &succeeded_ms);
    int64_t told_ms = succeeded_ms;
    for (uint32_t i = 0; i < n; i++) {
        if (owned[i].ended == CRON_SUCCEEDED && owned[i].ended_ms > succeeded_ms)
            succeeded_ms = owned[i].ended_ms;
        if (owned[i].ended != CRON_RUNS)
            continue;
        const struct json *metadata = json_get(owned[i].job, "metadata");
        struct json *reference = json_new(a, JSON_OBJECT);
        json_set_text(a, reference, "apiVersion", c->api_version);
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
    if (succeeded_ms > told_ms)
        json_set_text(a, status, "lastSuccessfulTime", time_format(text, succeeded_ms));
    if (old && json_equal(old, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, c->kind->group, c->kind->version, "cronjobs", w->ns, w->name, "status"), patch);
}

/* The last due time at or before now that was not started yet; 0 = none. WHY in spans back from now: one that was suspended for years has
 * missed millions of minutes, and only the last of them counts. */
static int64_t due_time(const struct cron_schedule *s, const struct time_zone *zone, const struct json *cron, int64_t now_ms)
{
    int64_t last_ms = now_ms;
    time_parse(json_bytes(json_path(cron, "metadata", "creationTimestamp", NULL)), &last_ms);
    time_parse(json_bytes(json_path(cron, "status", "lastScheduleTime", NULL)), &last_ms);
    int64_t deadline_s = json_get_int64(json_get(cron, "spec"), "startingDeadlineSeconds", 86400);
    if ((now_ms - last_ms) / 1000 >= deadline_s)
        last_ms = now_ms - deadline_s * 1000;
    int64_t due_ms = 0, from_ms = now_ms;
    for (int64_t span_ms = FIRST_SPAN_MS; due_ms == 0 && from_ms > last_ms; span_ms *= 8) {
        from_ms = now_ms - span_ms > last_ms ? now_ms - span_ms : last_ms;
        for (int64_t at = cron_schedule_next(s, zone, from_ms); at >= 0 && at <= now_ms; at = cron_schedule_next(s, zone, at))
            due_ms = at;
    }
    return due_ms;
}

/* Files are read once. NULL: there is none of this name, which is told. */
static const struct time_zone *zone_of(struct cron_jobs *c, const struct json *cron)
{
    const char *name = json_text(json_path(cron, "spec", "timeZone", NULL), "");
    struct time_zone **known = map_find_text(c->zones, name), *zone;
    struct err e = {0};
    if (known)
        return *known;
    if (time_zone_load(name, &zone, &e) < 0) {
        const struct json *m = json_get(cron, "metadata");
        struct kube_object_ref about = {c->api_version, "CronJob", json_get_text(m, "namespace", ""), json_get_text(m, "name", ""),
                                        json_get_text(m, "uid", "")};
        kube_event(c->events, &about, "Warning", "InvalidTimeZone", "%s; no job is made before spec.timeZone is changed", e.text);
        return NULL;
    }
    *(struct time_zone **)map_put(c->zones, bytes_of(name), NULL) = zone;
    return zone;
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
    const struct time_zone *zone = zone_of(c, cron);
    if (!zone)
        return;
    int64_t now_ms = loop_wall_ms(c->loop), due_ms = due_time(&schedule, zone, cron, now_ms);
    struct owned *owned = arena_alloc(w->arena, sizeof *owned * OWNED_MAX);
    uint32_t n = find_owned(c, w, json_get_text(json_get(cron, "metadata"), "uid", ""), owned);
    uint32_t active_n = 0;
    for (uint32_t i = 0; i < n; i++)
        active_n += owned[i].ended == CRON_RUNS;
    const char *policy = json_get_text(spec, "concurrencyPolicy", "Allow");
    bool is_due = due_ms > 0 && !json_get_bool(spec, "suspend", false), is_made = is_due && find_named(owned, n, job_name(w, due_ms));
    bool start = is_due && !is_made && !(text_equal(policy, "Forbid") && active_n > 0);
    for (uint32_t i = 0; start && text_equal(policy, "Replace") && i < n; i++)
        if (owned[i].ended == CRON_RUNS)
            act_delete(c, w, owned[i].job);
    if (start)
        act_start(c, w, cron, zone, due_ms);
    write_status(c, w, cron, owned, n, is_made ? due_ms : 0);
    if (is_made) {
        work_again(w, 0); /* none goes before it is written that it was: it would be made once more */
        return;
    }
    trim_history(c, w, owned, n, CRON_SUCCEEDED, json_get_int64(spec, "successfulJobsHistoryLimit", 3));
    trim_history(c, w, owned, n, CRON_FAILED, json_get_int64(spec, "failedJobsHistoryLimit", 1));
    int64_t next_ms = cron_schedule_next(&schedule, zone, now_ms);
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

void cron_jobs_job(struct cron_jobs *c, const char *key, const struct json *job)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *metadata = json_get(job, "metadata");
    const struct json *owner = json_item(json_get(metadata, "ownerReferences"), 0);
    bool owned = text_equal(json_get_text(owner, "kind", ""), "CronJob");
    kube_cache_mark(c->jobs, key, owned ? json_get_text(owner, "uid", "") : "");
    if (owned)
        workqueue_add(c->queue, arena_printf(a, "%s/%s", json_get_text(metadata, "namespace", ""), json_get_text(owner, "name", "")));
}

static void on_job(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)event;
    _cleanup_arena_ struct arena *a = arena_new();
    cron_jobs_job(arg, key, json_parse(a, object, NULL, NULL));
}

void cron_jobs_synced(struct cron_jobs *c)
{
    if (c->cron_jobs)
        workqueue_add_all(c->queue, c->cron_jobs, NULL);
}

static void on_jobs_synced(void *arg)
{
    cron_jobs_synced(arg);
}

static char *path_of(const struct cron_kind *kind, const char *plural)
{
    char text[128];
    text_printf(text, sizeof text, "/apis/%s/%s/%s", kind->group, kind->version, plural);
    return mem_text(text);
}

struct cron_jobs *cron_jobs_new(struct kube_client *client, struct kube_recorder *events, const struct cron_kind *kind,
                                struct kube_cache *jobs)
{
    struct cron_jobs *c = mem_zero(1, sizeof *c);
    char version[64], *jobs_path = path_of(kind, "jobs"), *path = path_of(kind, "cronjobs");
    text_printf(version, sizeof version, "%s/%s", kind->group, kind->version);
    c->loop = kube_client_loop(client);
    c->kind = kind;
    c->events = events;
    c->zones = map_new(sizeof(struct time_zone *));
    c->api_version = mem_text(version);
    c->queue = workqueue_new(client, reconcile, c);
    c->jobs = jobs;
    c->watches_jobs = !jobs;
    struct kube_cache_config children = {.watch = {.path = jobs_path}, .on_change = on_job, .on_synced = on_jobs_synced, .arg = c};
    struct kube_cache_config crons = {.watch = {.path = path, .optional = true}, .on_change = on_cron_job, .arg = c};
    if (!jobs)
        c->jobs = kube_cache_new(client, &children);
    c->cron_jobs = kube_cache_new(client, &crons);
    free(jobs_path);
    free(path);
    return c;
}

void cron_jobs_free(struct cron_jobs *c)
{
    if (!c)
        return;
    workqueue_free(c->queue);
    kube_cache_free(c->cron_jobs);
    if (c->watches_jobs)
        kube_cache_free(c->jobs);
    size_t at = 0;
    struct bytes name;
    for (struct time_zone **zone; (zone = map_next(c->zones, &at, &name));)
        time_zone_free(*zone);
    map_free(c->zones);
    free(c->api_version);
    free(c);
}
