/* child_jobs.c - see child_jobs.h */
#include "jobs/kubeflow/child_jobs.h"
#include <gnutls/crypto.h>
#include "base/limits.h"
#include "jobs/controllers.h"

enum { MADE_MOST = 200 };

static const char *name_of(const struct child_jobs *c, const struct replicated_job *job, int64_t i)
{
    return arena_printf(c->work->arena, "%s-%s-%lld", c->work->name, job->name, (long long)i);
}

int64_t child_jobs_bound(int64_t replicas)
{
    return replicas < 0 ? 0 : replicas > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : replicas;
}

static const char *number(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

static int64_t all_n(const struct child_jobs *c, const struct replicated_job *until)
{
    int64_t n = 0;
    for (uint32_t s = 0; s < c->n && &c->jobs[s] != until; s++)
        n += c->jobs[s].replicas;
    return n;
}

void child_jobs_read(struct child_jobs *c)
{
    struct arena *a = c->work->arena;
    for (uint32_t s = 0; s < c->n; s++) {
        struct replicated_job *job = &c->jobs[s];
        job->children = arena_zero(a, (size_t)job->replicas + 1, sizeof *job->children);
        for (int64_t i = 0; i < job->replicas; i++) {
            const struct json *child = kube_cache_get(c->cache, c->work->ns, name_of(c, job, i), a);
            if (child && strcmp(object_controller(child, "uid"), object_meta(c->owner, "uid")) == 0)
                job->children[i] = child;
        }
    }
}

bool child_jobs_any(const struct child_jobs *c)
{
    for (uint32_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < c->jobs[s].replicas; i++)
            if (c->jobs[s].children[i])
                return true;
    return false;
}

static bool is_of_attempt(const struct child_jobs *c, const struct json *child)
{
    const char *attempt = object_label(child, CHILD_ATTEMPT_LABEL);
    return strcmp(*attempt ? attempt : "0", number(c->work->arena, c->attempt)) == 0;
}

const struct json *child_jobs_get(const struct child_jobs *c, const struct replicated_job *job, int64_t i)
{
    const struct json *child = job->children[i];
    return child && is_of_attempt(c, child) ? child : NULL;
}

static bool is_over(const struct json *child)
{
    return object_condition_true(child, "Complete") || object_condition_true(child, "Failed");
}

uint32_t child_jobs_failures(const struct child_jobs *c, struct child_failure **ret_failures)
{
    struct child_failure *list = arena_zero(c->work->arena, (size_t)all_n(c, NULL) + 1, sizeof *list);
    uint32_t n = 0;
    for (uint32_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < c->jobs[s].replicas; i++) {
            const struct json *child = child_jobs_get(c, &c->jobs[s], i);
            if (object_condition_true(child, "Failed") && !object_deleting(child))
                list[n++] = (struct child_failure){child, &c->jobs[s]};
        }
    *ret_failures = list;
    return n;
}

struct child_counts child_jobs_count(const struct child_jobs *c, const struct replicated_job *job)
{
    struct child_counts n = {0};
    for (int64_t i = 0; i < job->replicas; i++) {
        const struct json *child = child_jobs_get(c, job, i), *status = json_get(child, "status");
        if (!child)
            continue;
        bool over = is_over(child);
        int64_t up = json_get_int64(status, "ready", 0) + json_get_int64(status, "succeeded", 0);
        n.succeeded += object_condition_true(child, "Complete");
        n.failed += object_condition_true(child, "Failed");
        n.active += !over && json_get_int64(status, "active", 0) > 0;
        n.ready += !over && up >= job->count;
        n.suspended += json_get_bool(json_get(child, "spec"), "suspend", false);
    }
    return n;
}

struct json *child_jobs_status(struct arena *a, const struct replicated_job *job, const struct child_counts *n)
{
    struct json *out = json_new(a, JSON_OBJECT);
    json_set_text(a, out, "name", job->name);
    json_set_int64(a, out, "ready", n->ready);
    json_set_int64(a, out, "succeeded", n->succeeded);
    json_set_int64(a, out, "failed", n->failed);
    json_set_int64(a, out, "active", n->active);
    json_set_int64(a, out, "suspended", n->suspended);
    return out;
}

/* ---- making ---- */

/* Jobs of its group: of all of it, or of those before `until`. */
static int64_t group_n(const struct child_jobs *c, const char *group, const struct replicated_job *until)
{
    int64_t n = 0;
    for (uint32_t s = 0; s < c->n && &c->jobs[s] != until; s++)
        n += strcmp(c->jobs[s].group, group) == 0 ? c->jobs[s].replicas : 0;
    return n;
}

/* Identifies the Job among all of the cluster. */
static const char *job_key(const struct child_jobs *c, const char *name)
{
    const char *text = arena_printf(c->work->arena, "%s/%s", c->work->ns, name);
    unsigned char digest[20] = {0};
    char *hex = arena_alloc(c->work->arena, 2 * sizeof digest + 1);
    (void)gnutls_hash_fast(GNUTLS_DIG_SHA1, text, strlen(text), digest); /* cannot fail for a known digest */
    for (size_t i = 0; i < sizeof digest; i++)
        for (int half = 0; half < 2; half++)
            hex[2 * i + (size_t)half] = "0123456789abcdef"[(half ? digest[i] : digest[i] >> 4) & 15];
    hex[2 * sizeof digest] = '\0';
    return hex;
}

/* The same stand on the Job and on its pods, as labels and as annotations. */
static void mark(const struct child_jobs *c, struct json *meta, const struct replicated_job *job, int64_t i)
{
    struct arena *a = c->work->arena;
    const struct {
        const char *key, *value;
    } marks[] = {
        {CHILD_SET_LABEL, c->work->name},
        {"jobset.sigs.k8s.io/jobset-uid", object_meta(c->owner, "uid")},
        {"jobset.sigs.k8s.io/replicatedjob-name", job->name},
        {"jobset.sigs.k8s.io/replicatedjob-replicas", number(a, job->replicas)},
        {"jobset.sigs.k8s.io/global-replicas", number(a, all_n(c, NULL))},
        {"jobset.sigs.k8s.io/job-index", number(a, i)},
        {"jobset.sigs.k8s.io/job-global-index", number(a, all_n(c, job) + i)},
        {"jobset.sigs.k8s.io/job-key", job_key(c, name_of(c, job, i))},
        {CHILD_ATTEMPT_LABEL, number(a, c->attempt)},
        {"jobset.sigs.k8s.io/group-name", job->group},
        {"jobset.sigs.k8s.io/group-replicas", number(a, group_n(c, job->group, NULL))},
        {"jobset.sigs.k8s.io/job-group-index", number(a, group_n(c, job->group, job) + i)},
        {"jobset.sigs.k8s.io/coordinator", c->coordinator ? c->coordinator : ""},
    };
    struct json *labels = json_ensure_object(a, meta, "labels"), *annotations = json_ensure_object(a, meta, "annotations");
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        if (!*marks[m].value)
            continue;
        json_set_text(a, labels, marks[m].key, marks[m].value);
        json_set_text(a, annotations, marks[m].key, marks[m].value);
    }
}

static void copy_members(struct arena *a, struct json *meta, const char *group, const struct json *from)
{
    JSON_EACH (member, json_is(from, JSON_OBJECT) ? from : NULL)
        json_set(a, json_ensure_object(a, meta, group), member->key, json_clone(a, member));
}

static struct json *object_new(const struct child_jobs *c, const char *api_version, const char *kind, const char *name)
{
    struct arena *a = c->work->arena;
    return job_object(a, c->owner, job_owner(a, c->owner, c->api_version, c->kind), api_version, kind, name);
}

/* A domain of its own for each Job: pods are told by their annotation (codec/admission/pods/admission_jobset_pod.c), or stand where
 * somebody has labelled nodes with the Job's name. */
static void exclude(const struct child_jobs *c, const struct replicated_job *job, struct json *meta, struct json *template)
{
    static const char *const keys[] = {CHILD_EXCLUSIVE, CHILD_BY_SELECTOR};
    struct arena *a = c->work->arena;
    struct json *pod_meta = json_ensure_object(a, template, "metadata"), *pod_spec = json_ensure_object(a, template, "spec");
    const struct json *of_job = json_get(job->annotations, CHILD_EXCLUSIVE) ? job->annotations
                                                                            : json_path(c->owner, "metadata", "annotations", NULL);
    for (size_t i = 0; i < 2 && json_get(of_job, CHILD_EXCLUSIVE); i++)
        if (json_get(of_job, keys[i])) {
            json_set_text(a, json_ensure_object(a, meta, "annotations"), keys[i], json_get_text(of_job, keys[i], ""));
            json_set_text(a, json_ensure_object(a, pod_meta, "annotations"), keys[i], json_get_text(of_job, keys[i], ""));
        }
    if (!json_get(of_job, CHILD_EXCLUSIVE) || !json_get(of_job, CHILD_BY_SELECTOR))
        return;
    struct json *toleration = json_new(a, JSON_OBJECT);
    json_set_text(a, toleration, "key", "alpha.jobset.sigs.k8s.io/no-schedule");
    json_set_text(a, toleration, "operator", "Exists");
    json_set_text(a, toleration, "effect", "NoSchedule");
    json_append(json_ensure_array(a, pod_spec, "tolerations"), toleration);
    json_set_text(a, json_ensure_object(a, pod_spec, "nodeSelector"), "alpha.jobset.sigs.k8s.io/namespaced-job",
                  arena_printf(a, "%s_%s", c->work->ns, json_get_text(meta, "name", "")));
}

static void create(const struct child_jobs *c, const struct replicated_job *job, int64_t i)
{
    struct arena *a = c->work->arena;
    struct json *child = object_new(c, "batch/v1", "Job", name_of(c, job, i)), *spec = json_clone(a, job->job_spec);
    copy_members(a, json_get(child, "metadata"), "labels", job->labels);
    copy_members(a, json_get(child, "metadata"), "annotations", job->annotations);
    mark(c, json_get(child, "metadata"), job, i);
    json_set(a, child, "spec", spec);
    struct json *template = json_ensure_object(a, spec, "template"), *pod_spec = json_ensure_object(a, template, "spec");
    mark(c, json_ensure_object(a, template, "metadata"), job, i);
    exclude(c, job, json_get(child, "metadata"), template);
    if (c->subdomain)
        json_set_text(a, pod_spec, "subdomain", c->subdomain);
    work_create(c->work, kube_path(a, "batch", "v1", "jobs", c->work->ns, NULL, NULL), child);
}

static void service_create(const struct child_jobs *c)
{
    struct arena *a = c->work->arena;
    struct json *service = object_new(c, "v1", "Service", c->subdomain), *spec = json_ensure_object(a, service, "spec");
    json_set_text(a, spec, "clusterIP", "None");
    json_set_bool(a, spec, "publishNotReadyAddresses", !c->hides_unready);
    json_set_text(a, json_ensure_object(a, spec, "selector"), CHILD_SET_LABEL, c->work->name);
    work_create(c->work, kube_path(a, "", "v1", "services", c->work->ns, NULL, NULL), service);
}

static void claims_create(const struct child_jobs *c)
{
    struct arena *a = c->work->arena;
    JSON_EACH (claim, c->claims) {
        struct json *object = object_new(c, "v1", "PersistentVolumeClaim", object_meta(claim, "name")), *meta = json_get(object, "metadata");
        copy_members(a, meta, "labels", json_path(claim, "metadata", "labels", NULL));
        copy_members(a, meta, "annotations", json_path(claim, "metadata", "annotations", NULL));
        json_set_text(a, json_ensure_object(a, meta, "labels"), CHILD_SET_LABEL, c->work->name);
        if (json_get_bool(claim, "retained", false))
            (void)json_remove(meta, "ownerReferences");
        if (json_get(claim, "spec"))
            json_set(a, object, "spec", json_clone(a, json_get(claim, "spec")));
        work_create(c->work, kube_path(a, "", "v1", "persistentvolumeclaims", c->work->ns, NULL, NULL), object);
    }
}

/* Before the first Job; once more where something was refused. */
static void besides_create(const struct child_jobs *c)
{
    if (c->subdomain)
        service_create(c);
    claims_create(c);
}

static bool dependency_met(const struct child_jobs *c, const struct json *dependency)
{
    bool complete = strcmp(json_get_text(dependency, "status", "Complete"), "Complete") == 0;
    for (uint32_t s = 0; s < c->n; s++) {
        if (strcmp(c->jobs[s].name, json_get_text(dependency, "name", "")) != 0)
            continue;
        struct child_counts n = child_jobs_count(c, &c->jobs[s]);
        if ((complete ? n.succeeded : n.ready + n.succeeded + n.failed) < c->jobs[s].replicas)
            return false;
    }
    return true;
}

static bool may_start(const struct child_jobs *c, const struct replicated_job *job)
{
    for (uint32_t s = 0; c->in_order && &c->jobs[s] != job; s++) {
        struct child_counts n = child_jobs_count(c, &c->jobs[s]);
        if (n.ready + n.succeeded < c->jobs[s].replicas)
            return false;
    }
    JSON_EACH (dependency, job->depends_on)
        if (!dependency_met(c, dependency))
            return false;
    return true;
}

bool child_jobs_make(const struct child_jobs *c)
{
    int made_n = 0;
    bool was_refused = work_failed(c->work) && *work_failure(c->work), is_first = was_refused || !child_jobs_any(c);
    if (was_refused)
        job_event(c->all, c->owner, c->api_version, c->kind, "Warning", "JobCreationFailed", "%s", work_failure(c->work));
    for (uint32_t s = 0; s < c->n && made_n < MADE_MOST; s++) {
        if (!may_start(c, &c->jobs[s]))
            continue;
        for (int64_t i = 0; i < c->jobs[s].replicas && made_n < MADE_MOST; i++) {
            if (c->jobs[s].children[i])
                continue; /* that of an earlier attempt goes first */
            if (!made_n && is_first)
                besides_create(c);
            made_n++;
            create(c, &c->jobs[s], i);
        }
    }
    return made_n > 0;
}

void child_jobs_resize(const struct child_jobs *c)
{
    struct arena *a = c->work->arena;
    for (uint32_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < c->jobs[s].replicas; i++) {
            const struct json *child = child_jobs_get(c, &c->jobs[s], i), *is = json_get(child, "spec"), *wanted = c->jobs[s].job_spec;
            int64_t pods_n = json_get_int64(wanted, "parallelism", 1);
            if (!child || is_over(child) || object_deleting(child) || json_get_int64(wanted, "completions", -1) != pods_n ||
                json_get_int64(is, "completions", -1) != json_get_int64(is, "parallelism", 1) ||
                json_get_int64(is, "parallelism", 1) == pods_n)
                continue;
            struct json *patch = object_patch(a, child), *spec = json_ensure_object(a, patch, "spec");
            json_set_int64(a, spec, "parallelism", pods_n);
            json_set_int64(a, spec, "completions", pods_n);
            const char *path = kube_path(a, "batch", "v1", "jobs", c->work->ns, object_meta(child, "name"), NULL);
            work_patch(c->work, KUBE_PATCH_MERGE, path, patch);
        }
}

/* ---- ending ---- */

void child_jobs_delete(const struct child_jobs *c, const struct json *child)
{
    struct work *w = c->work;
    if (!object_deleting(child))
        work_delete(w, kube_path(w->arena, "batch", "v1", "jobs", w->ns, object_meta(child, "name"), NULL), object_meta(child, "uid"),
                    "Background");
}

void child_jobs_stop(const struct child_jobs *c)
{
    for (uint32_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < c->jobs[s].replicas; i++) {
            const struct json *child = c->jobs[s].children[i];
            if (child && !is_over(child))
                child_jobs_delete(c, child);
        }
}

bool child_jobs_clear(const struct child_jobs *c)
{
    bool any = false;
    for (uint32_t s = 0; s < c->n; s++)
        for (int64_t i = 0; i < c->jobs[s].replicas; i++) {
            const struct json *child = c->jobs[s].children[i];
            if (!child || is_of_attempt(c, child))
                continue;
            any = true;
            child_jobs_delete(c, child);
        }
    return any;
}

void child_jobs_seen(struct workqueue *owners, const char *kind, const char *key, struct bytes object)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *child = json_parse(a, object, NULL, NULL);
    const char *slash = strchr(key, '/'), *owner = object_controller(child, "name");
    if (*owner && strcmp(object_controller(child, "kind"), kind) == 0)
        workqueue_add(owners, arena_printf(a, "%.*s/%s", (int)(slash - key), key, owner));
}
