/* job_flow.c - passes over JobFlows and JobTemplates; see job_flow.h */
#include "jobs/volcano/flow/job_flow.h"
#include <stdlib.h>
#include "base/clock.h"
#include "jobs/volcano/flow/job_flow_plan.h"

#define GROUP "flow.volcano.sh"
#define API_VERSION "flow.volcano.sh/v1alpha1"

struct job_flows {
    struct jobs *jobs;
    struct kube_cache *flows, *templates, *vcjobs;
    struct workqueue *queue, *queue_templates;
    struct map *made;  /* "ns/job" -> char *: the template that it was made of */
};

struct pass {
    struct job_flows *f;
    struct work *work;
    const struct json *flow;
    struct job_flow_entry *entries;
    uint32_t n;
};

/* ---- flows ---- */

static void tell(struct pass *x, const char *type, const char *reason, const char *text)
{
    job_event(x->f->jobs, x->flow, API_VERSION, "JobFlow", type, reason, "%s", text);
}

static void find_jobs(struct pass *x)
{
    struct work *w = x->work;
    const char *uid = object_meta(x->flow, "uid");
    for (uint32_t i = 0; i < x->n; i++) {
        struct job_flow_entry *e = &x->entries[i];
        const struct json *job = kube_cache_get(x->f->vcjobs, w->ns, e->job_name, w->arena);
        if (job && strcmp(object_controller(job, "uid"), uid) == 0)
            e->job = job;
        else if (job)
            tell(x, "Warning", "JobNameTaken",
                 arena_printf(w->arena, "Job %s is there already and is not of this flow: delete it, or call the flow otherwise",
                              e->job_name));
    }
}

static bool name_is_taken(struct pass *x, const struct job_flow_entry *e)
{
    return !e->job && kube_cache_raw(x->f->vcjobs, x->work->ns, e->job_name).n > 0;
}

static void make_job(struct pass *x, const struct job_flow_entry *e)
{
    struct work *w = x->work;
    const struct json *job_template = kube_cache_get(x->f->templates, w->ns, e->name, w->arena);
    if (!job_template) {
        tell(x, "Warning", "TemplateMissing",
             arena_printf(w->arena, "no JobTemplate of namespace %s is called %s: create it, and Job %s is made", w->ns, e->name,
                          e->job_name));
        return;
    }
    job_event_then(x->f->jobs, w, x->flow, API_VERSION, "JobFlow", "Normal", "Created", "create a job named %s!", e->job_name);
    work_create(w, kube_path(w->arena, "batch.volcano.sh", "v1alpha1", "jobs", w->ns, NULL, NULL),
                job_flow_job(w->arena, x->flow, e, job_template));
}

static void make_jobs(struct pass *x)
{
    if (work_failed(x->work) && *work_failure(x->work))
        tell(x, "Warning", "FailedCreate", work_failure(x->work));
    for (uint32_t i = 0; i < x->n; i++)
        if (job_flow_is_due(x->entries, x->n, i) && !name_is_taken(x, &x->entries[i]))
            make_job(x, &x->entries[i]);
}

static void drop_jobs(struct pass *x)
{
    struct work *w = x->work;
    for (uint32_t i = 0; i < x->n; i++) {
        const struct json *job = x->entries[i].job;
        if (job && !object_deleting(job))
            work_delete(w, kube_path(w->arena, "batch.volcano.sh", "v1alpha1", "jobs", w->ns, x->entries[i].job_name, NULL),
                        object_meta(job, "uid"), "Background");
    }
}

enum { FIRST_STATUS_MS = 2000 }; /* more than a second, since creationTimestamp has whole ones */

/* WHY  a flow without a status is Pending, and who has just created it may write once more what he got in answer: a status before there
 * is a job says no more, and would make that write a conflict. */
static bool is_just_made(const struct json *flow, int64_t now_ms)
{
    int64_t made_ms = 0;
    bool known = time_parse(bytes_of(object_meta(flow, "creationTimestamp")), &made_ms);
    return known && now_ms >= made_ms && now_ms - made_ms < FIRST_STATUS_MS;
}

static void write_status(struct pass *x)
{
    struct work *w = x->work;
    int64_t now_ms = loop_wall_ms(x->f->jobs->loop);
    struct json *status = job_flow_status(w->arena, x->flow, x->entries, x->n, now_ms);
    if (!json_first(json_get(x->flow, "status")) && !json_get(status, "jobStatusList") && is_just_made(x->flow, now_ms)) {
        work_again(w, FIRST_STATUS_MS);
        return;
    }
    struct json *diff = object_diff(w->arena, json_get(x->flow, "status"), status);
    if (diff)
        work_patch_status(w, kube_path(w->arena, GROUP, "v1alpha1", "jobflows", w->ns, w->name, "status"), x->flow, diff);
}

static void reconcile_flow(void *arg, struct work *w)
{
    struct job_flows *f = arg;
    if (!kube_cache_synced(f->flows) || !kube_cache_synced(f->templates) || !kube_cache_synced(f->vcjobs))
        return;
    struct pass x = {.f = f, .work = w, .flow = kube_cache_get(f->flows, w->ns, w->name, w->arena)};
    if (!x.flow || object_deleting(x.flow))
        return;
    x.n = job_flow_entries(w->arena, x.flow, &x.entries);
    find_jobs(&x);
    enum job_flow_phase phase = job_flow_phase_of(x.flow);
    bool deletes = strcmp(json_text(json_path(x.flow, "spec", "jobRetainPolicy", NULL), ""), "delete") == 0;
    if (phase == JOB_FLOW_SUCCEED && deletes) {
        drop_jobs(&x);
        return; /* the status stays as it was at the end */
    }
    if (phase == JOB_FLOW_PENDING || phase == JOB_FLOW_RUNNING)
        make_jobs(&x);
    write_status(&x);
}

/* ---- templates ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ORDER  by name: in that of their making the list would be another after a restart, and be written again. */
static struct json *names_made_of(struct job_flows *f, struct arena *a, const char *ns, const char *job_template)
{
    struct json *list = json_new(a, JSON_ARRAY);
    const char **names = arena_alloc(a, (map_count(f->made) + 1) * sizeof *names);
    size_t at = 0, ns_n = strlen(ns), n = 0;
    struct bytes key;
    for (char **made; (made = map_next(f->made, &at, &key));)
        if (strcmp(*made, job_template) == 0 && key.n > ns_n && memcmp(key.data, ns, ns_n) == 0 && key.data[ns_n] == '/')
            names[n++] = arena_text_n(a, key.data + ns_n + 1, key.n - ns_n - 1);
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++)
        json_append(list, json_new_text(a, names[i]));
    return list;
}

/* SOURCE Volcano: the names of its jobs, as long as there are any. */
static void reconcile_template(void *arg, struct work *w)
{
    struct job_flows *f = arg;
    const struct json *job_template = kube_cache_get(f->templates, w->ns, w->name, w->arena);
    if (!job_template || !kube_cache_synced(f->vcjobs))
        return;
    struct json *names = names_made_of(f, w->arena, w->ns, w->name);
    if (names->n == 0 || json_equal(json_path(job_template, "status", "jobDependsOnList", NULL), names))
        return;
    struct json *status = json_new(w->arena, JSON_OBJECT);
    json_set(w->arena, status, "jobDependsOnList", names);
    work_patch_status(w, kube_path(w->arena, GROUP, "v1alpha1", "jobtemplates", w->ns, w->name, "status"), job_template, status);
}

/* ---- watching ---- */

static void on_flow(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct job_flows *f = arg;
    (void)object;
    if (event != KUBE_DELETED)
        workqueue_add(f->queue, key);
}

/* Flows that name it may have waited for it. */
static void on_template(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct job_flows *f = arg;
    (void)object;
    if (event == KUBE_DELETED)
        return;
    workqueue_add(f->queue_templates, key);
    if (event == KUBE_ADDED && f->flows && kube_cache_synced(f->templates)) /* else on_synced looks at all */
        workqueue_add_all(f->queue, f->flows, strchr(key, '/') + 1);
}

static void made_forget(struct job_flows *f, const char *key)
{
    char **made = map_find_text(f->made, key);
    if (!made)
        return;
    free(*made);
    map_remove(f->made, bytes_of(key));
}

/* "namespace.name" of its template; NULL: none, or of another namespace. */
static const char *template_of(const struct json *job)
{
    const char *mark = object_label(job, JOB_TEMPLATE_LABEL), *ns = object_meta(job, "namespace");
    size_t n = strlen(ns);
    return strncmp(mark, ns, n) == 0 && mark[n] == '.' && mark[n + 1] ? mark + n + 1 : NULL;
}

void job_flows_job(struct job_flows *f, enum kube_event event, const char *key, const struct json *job)
{
    const char *slash = strchr(key, '/'), *made_of = template_of(job), *flow = object_controller(job, "name");
    char text[512];
    if (strcmp(object_controller(job, "kind"), "JobFlow") == 0) {
        text_printf(text, sizeof text, "%.*s/%s", (int)(slash - key), key, flow);
        workqueue_add(f->queue, text);
    }
    if (!made_of || event == KUBE_MODIFIED)
        return;
    if (event == KUBE_DELETED)
        made_forget(f, key);
    else if (!map_find_text(f->made, key))
        *(char **)map_put(f->made, bytes_of(key), NULL) = mem_text(made_of);
    text_printf(text, sizeof text, "%.*s/%s", (int)(slash - key), key, made_of);
    workqueue_add(f->queue_templates, text);
}

void job_flows_synced(struct job_flows *f)
{
    workqueue_add_all(f->queue, f->flows, NULL);
    workqueue_add_all(f->queue_templates, f->templates, NULL);
}

static void on_synced(void *arg)
{
    struct job_flows *f = arg;
    if (f->flows && f->templates)
        job_flows_synced(f);
}

struct job_flows *job_flows_new(struct jobs *j, struct kube_cache *vcjobs)
{
    struct job_flows *f = mem_zero(1, sizeof *f);
    f->jobs = j;
    f->vcjobs = vcjobs;
    f->made = map_new(sizeof(char *));
    f->queue = workqueue_new(j->client, reconcile_flow, f);
    f->queue_templates = workqueue_new(j->client, reconcile_template, f);
    struct kube_cache_config templates = {.watch = {.path = "/apis/flow.volcano.sh/v1alpha1/jobtemplates", .optional = true},
                                          .on_change = on_template,
                                          .on_synced = on_synced,
                                          .arg = f};
    struct kube_cache_config flows = {.watch = {.path = "/apis/flow.volcano.sh/v1alpha1/jobflows", .optional = true},
                                      .on_change = on_flow,
                                      .on_synced = on_synced,
                                      .arg = f};
    f->templates = kube_cache_new(j->client, &templates);
    f->flows = kube_cache_new(j->client, &flows);
    return f;
}

void job_flows_free(struct job_flows *f)
{
    if (!f)
        return;
    workqueue_free(f->queue);
    workqueue_free(f->queue_templates);
    kube_cache_free(f->flows);
    kube_cache_free(f->templates);
    size_t at = 0;
    struct bytes key;
    for (char **made; (made = map_next(f->made, &at, &key));)
        free(*made);
    map_free(f->made);
    free(f);
}
