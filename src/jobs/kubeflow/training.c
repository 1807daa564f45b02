/* training.c - carrying out what training.h says: Kubeflow's jobs where none of its operators is installed (the embedded cluster)
 *
 * A pass, in order: over? what is left is cleaned up -> suspended? its pods go -> what is missing is made -> the status is written.
 */
#include "base/clock.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/training.h"
#include "jobs/kubeflow/training_status.h"

enum { KINDS_N = 6, MADE_MOST = 200 }; /* pods of one pass: their coming brings the next */

struct trainings;
struct served {
    struct trainings *all;
    const struct training_kind *kind;
    struct kube_cache *cache;
    struct workqueue *queue;
};
struct trainings {
    struct jobs *jobs;
    struct kube_cache *pods, *launchers, *configs; /* pods are marked by "OPERATOR/NAMESPACE/JOB" */
    struct served served[KINDS_N];
};
struct pass {
    struct served *s;
    struct work *work;
    struct training t;
    const struct json *launcher; /* NULL: none */
    int64_t now_ms;
};

static const char *path_of(const struct pass *x, const char *sub)
{
    const struct queued_kind *k = x->s->kind->of;
    return kube_path(x->work->arena, k->group, k->version, k->plural, x->work->ns, x->work->name, sub);
}

static const char *core_path(const struct pass *x, const char *plural, const char *name)
{
    return kube_path(x->work->arena, "", "v1", plural, x->work->ns, name, NULL);
}

static const char *mark_of(struct arena *a, const char *operator_name, const char *ns, const char *job)
{
    return arena_printf(a, "%s/%s/%s", operator_name, ns, job);
}

static void pod_delete(struct pass *x, const struct json *pod)
{
    if (!object_deleting(pod))
        work_delete(x->work, core_path(x, "pods", object_meta(pod, "name")), object_meta(pod, "uid"), NULL);
}

static void place_pod(struct pass *x, const struct json *pod)
{
    const char *role = object_label(pod, training_is_mpi(&x->t) ? TRAINING_PART_LABEL : TRAINING_ROLE_LABEL);
    int64_t index = -1;
    if (strcmp(object_controller(pod, "uid"), object_meta(x->t.job, "uid")) != 0 ||
        !bytes_int64(bytes_of(object_label(pod, TRAINING_INDEX_LABEL)), &index))
        return;
    for (uint32_t i = 0; i < x->t.roles_n; i++)
        if (strcmp(x->t.roles[i].lower, role) == 0 && index >= 0 && index < x->t.roles[i].replicas) {
            x->t.roles[i].pods[index] = pod;
            return;
        }
    pod_delete(x, pod); /* the job was made smaller */
    if (!training_is_mpi(&x->t) && !object_deleting(pod))
        work_delete(x->work, core_path(x, "services", object_meta(pod, "name")), NULL, NULL);
}

static void read_pods(struct pass *x)
{
    const char *mark = mark_of(x->work->arena, x->s->kind->operator_name, x->work->ns, x->work->name);
    struct bytes key, raw;
    for (size_t at = 0; kube_cache_next_of(x->s->all->pods, mark, &at, &key, &raw);) {
        const struct json *pod = json_parse(x->work->arena, raw, NULL, NULL);
        if (pod)
            place_pod(x, pod);
    }
    if (!training_is_mpi(&x->t))
        return;
    x->launcher = kube_cache_get(x->s->all->launchers, x->work->ns, mpi_launcher_name(x->work->arena, &x->t), x->work->arena);
    if (x->launcher && strcmp(object_controller(x->launcher, "uid"), object_meta(x->t.job, "uid")) != 0)
        x->launcher = NULL;
}

/* ---- making ---- */

static void make_gang(struct pass *x)
{
    struct arena *a = x->work->arena;
    work_create(x->work, kube_path(a, "scheduling.x-k8s.io", "v1alpha1", "podgroups", x->work->ns, NULL, NULL), training_gang(a, &x->t));
}

/* Those of a role that are missing; of `left`, how many may still be made. */
static void make_pods(struct pass *x, const struct training_role *role, int64_t *left)
{
    struct arena *a = x->work->arena;
    for (int64_t i = 0; i < role->replicas && *left > 0; i++) {
        const struct json *pod = role->pods[i];
        if (pod && training_may_rerun(&x->t, role, pod))
            pod_delete(x, pod);
        if (pod)
            continue;
        if (x->t.gang && *left == MADE_MOST)
            make_gang(x);
        (*left)--;
        work_create(x->work, core_path(x, "pods", NULL), training_pod(a, &x->t, role, i));
        if (!training_is_mpi(&x->t))
            work_create(x->work, core_path(x, "services", NULL), training_service(a, &x->t, role, i));
    }
}

static void make_mpi_objects(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct json *config = mpi_config(a, &x->t);
    const struct json *is = kube_cache_get(x->s->all->configs, x->work->ns, object_meta(config, "name"), a);
    if (!is) { /* the first pass */
        struct json *secret = mpi_secret(a, &x->t);
        work_create(x->work, core_path(x, "services", NULL), mpi_service(a, &x->t));
        if (secret)
            work_create(x->work, core_path(x, "secrets", NULL), secret);
        work_create(x->work, core_path(x, "configmaps", NULL), config);
        return;
    }
    struct json *diff = object_diff(a, json_get(is, "data"), json_get(config, "data")), *patch = object_patch(a, is);
    if (!diff)
        return;
    json_set(a, patch, "data", diff);
    work_patch(x->work, KUBE_PATCH_MERGE, core_path(x, "configmaps", object_meta(config, "name")), patch);
}

static void make_launcher(struct pass *x)
{
    const struct training_role *workers = training_role_named(&x->t, "Worker");
    struct json *job = mpi_launcher(x->work->arena, &x->t);
    if (x->launcher || !job || (training_waits_for_workers(&x->t) && workers && training_ready_n(workers) < workers->replicas))
        return;
    work_create(x->work, kube_path(x->work->arena, "batch", "v1", "jobs", x->work->ns, NULL, NULL), job);
}

static void make(struct pass *x)
{
    int64_t left = MADE_MOST;
    if (work_failed(x->work) && *work_failure(x->work))
        job_event(x->s->all->jobs, x->t.job, training_api_version(x->work->arena, &x->t), x->s->kind->of->kind, "Warning",
                  "FailedCreatePod", "%s", work_failure(x->work));
    if (training_is_mpi(&x->t))
        make_mpi_objects(x);
    for (uint32_t i = 0; i < x->t.roles_n; i++)
        if (!training_is_mpi(&x->t) || strcmp(x->t.roles[i].name, "Launcher") != 0)
            make_pods(x, &x->t.roles[i], &left);
    if (training_is_mpi(&x->t))
        make_launcher(x);
}

/* ---- ending ---- */

static void stop_launcher(struct pass *x)
{
    struct arena *a = x->work->arena;
    if (x->launcher && !object_deleting(x->launcher))
        work_delete(x->work, kube_path(a, "batch", "v1", "jobs", x->work->ns, object_meta(x->launcher, "name"), NULL),
                    object_meta(x->launcher, "uid"), "Background");
}

/* All of them, or those that have not ended; each with its Service. */
static void stop_pods(struct pass *x, bool all)
{
    for (uint32_t i = 0; i < x->t.roles_n; i++)
        for (int64_t p = 0; p < x->t.roles[i].replicas; p++) {
            const struct json *pod = x->t.roles[i].pods[p];
            const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
            if (!pod || object_deleting(pod) || (!all && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0)))
                continue;
            pod_delete(x, pod);
            if (!training_is_mpi(&x->t))
                work_delete(x->work, core_path(x, "services", object_meta(pod, "name")), NULL, NULL);
        }
}

static void pass_of_over(struct pass *x, const char *ended)
{
    const struct json *policy = json_path(x->t.job, "spec", "runPolicy", NULL), *ttl = json_get(policy, "ttlSecondsAfterFinished");
    const char *clean = json_get_text(policy, "cleanPodPolicy", "None");
    int64_t ended_ms;
    if (strcmp(clean, "None") != 0)
        stop_pods(x, strcmp(clean, "All") == 0);
    struct json *diff = object_diff(x->work->arena, json_get(x->t.job, "status"), training_status_over(x->work->arena, &x->t));
    if (diff)
        work_patch_status(x->work, path_of(x, "status"), x->t.job, diff);
    if (!ttl || !time_parse(bytes_of(ended), &ended_ms))
        return;
    int64_t left_ms = ended_ms + json_int64(ttl, 0) * 1000 - x->now_ms;
    if (left_ms > 0)
        work_again(x->work, left_ms);
    else
        work_delete(x->work, path_of(x, NULL), object_meta(x->t.job, "uid"), "Background");
}

/* ---- the pass ---- */

static void status_write(struct pass *x, bool suspended)
{
    struct arena *a = x->work->arena;
    struct training_news news = {0};
    struct json *status = training_status(a, &x->t, x->launcher, suspended, x->now_ms, &news);
    struct json *diff = object_diff(a, json_get(x->t.job, "status"), status);
    if (news.again_ms > 0)
        work_again(x->work, news.again_ms);
    if (!diff)
        return;
    if (news.reason)
        job_event_then(x->s->all->jobs, x->work, x->t.job, training_api_version(a, &x->t), x->s->kind->of->kind,
                       news.is_bad ? "Warning" : "Normal", news.reason, "%s", news.message);
    work_patch_status(x->work, path_of(x, "status"), x->t.job, diff);
}

/* A queued one that was never admitted is about to be suspended. */
static bool may_run(const struct pass *x)
{
    bool queued = *object_label(x->t.job, "kueue.x-k8s.io/queue-name") && !x->s->all->jobs->config.no_kueue;
    for (uint32_t i = 0; i < x->t.roles_n && queued; i++)
        if (json_path(x->t.roles[i].spec, "template", "metadata", "annotations", "kueue.x-k8s.io/workload", NULL))
            return true;
    return !queued;
}

static bool all_synced(const struct served *s)
{
    return kube_cache_synced(s->cache) && kube_cache_synced(s->all->pods) && kube_cache_synced(s->all->launchers) &&
           kube_cache_synced(s->all->configs);
}

static void reconcile(void *arg, struct work *w)
{
    struct served *s = arg;
    if (!all_synced(s)) {
        work_again(w, 100);
        return;
    }
    struct pass x = {.s = s, .work = w, .now_ms = loop_wall_ms(s->all->jobs->loop)};
    const struct json *job = kube_cache_get(s->cache, w->ns, w->name, w->arena);
    const char *managed_by = queued_kind_managed_by(s->kind->of, job);
    if (!job || object_deleting(job) || (*managed_by && strcmp(managed_by, s->kind->controller) != 0))
        return;
    training_read(w->arena, s->kind, job, &x.t);
    read_pods(&x);
    if (object_condition_true(job, "Succeeded") || object_condition_true(job, "Failed")) {
        pass_of_over(&x, json_get_text(json_get(job, "status"), "completionTime", ""));
        return;
    }
    bool suspended = queued_kind_is_suspended(s->kind->of, job);
    if (suspended) {
        stop_pods(&x, true);
        stop_launcher(&x);
    } else if (may_run(&x))
        make(&x);
    status_write(&x, suspended);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct served *s = arg;
    (void)event;
    (void)object;
    workqueue_add(s->queue, key);
}

/* A pod, or a launcher, of the job that its labels name. */
static void on_part(struct trainings *t, const char *key, struct bytes object, struct kube_cache *marked)
{
    struct arena *a = arena_new();
    const struct json *part = json_parse(a, object, NULL, NULL);
    const char *operator_name = object_label(part, TRAINING_OPERATOR_LABEL), *job = object_label(part, TRAINING_JOB_LABEL);
    if (marked)
        kube_cache_mark(marked, key, mark_of(a, operator_name, object_meta(part, "namespace"), job));
    for (size_t i = 0; i < KINDS_N; i++)
        if (strcmp(t->served[i].kind->operator_name, operator_name) == 0)
            workqueue_add(t->served[i].queue, arena_printf(a, "%s/%s", object_meta(part, "namespace"), job));
    arena_free(a);
}

static void on_pod(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct trainings *t = arg;
    on_part(t, key, object, event == KUBE_DELETED ? NULL : t->pods);
}

static void on_other(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)event;
    on_part(arg, key, object, NULL);
}

static struct kube_cache *parts_of(struct trainings *t, const char *path, const char *selector,
                                   void (*changed)(void *, enum kube_event, const char *, struct bytes))
{
    struct kube_cache_config config = {.watch = {.path = path, .label_selector = selector}, .on_change = changed, .arg = t};
    return kube_cache_new(t->jobs->client, &config);
}

struct trainings *trainings_new(struct jobs *j)
{
    struct trainings *t = mem_zero(1, sizeof *t);
    struct arena *a = arena_new();
    t->jobs = j;
    assert(training_kinds_n == KINDS_N);
    for (size_t i = 0; i < KINDS_N; i++) {
        struct served *s = &t->served[i];
        *s = (struct served){.all = t, .kind = &training_kinds[i], .queue = workqueue_new(j->client, reconcile, s)};
        const char *path = kube_path(a, s->kind->of->group, s->kind->of->version, s->kind->of->plural, NULL, NULL, NULL);
        struct kube_cache_config config = {.watch = {.path = path, .optional = true}, .on_change = on_change, .arg = s};
        s->cache = kube_cache_new(j->client, &config);
    }
    t->pods = parts_of(t, "/api/v1/pods", TRAINING_JOB_LABEL, on_pod);
    t->launchers = parts_of(t, "/apis/batch/v1/jobs", TRAINING_OPERATOR_LABEL "=mpi-operator", on_other);
    t->configs = parts_of(t, "/api/v1/configmaps", TRAINING_OPERATOR_LABEL "=mpi-operator", on_other);
    arena_free(a);
    return t;
}

void trainings_free(struct trainings *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < KINDS_N; i++) {
        workqueue_free(t->served[i].queue);
        kube_cache_free(t->served[i].cache);
    }
    kube_cache_free(t->pods);
    kube_cache_free(t->launchers);
    kube_cache_free(t->configs);
    free(t);
}
