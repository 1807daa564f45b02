/* kueue_trainjob.c - TrainJob, queued the Kueue way: one pod set a replicatedJob of its runtime; injected through
 * spec.runtimePatches */
#include "jobs/kubeflow/trainjob_sets.h"
#include "jobs/kueue/kueue_kind.h"

#define MANAGER "kueue.x-k8s.io/manager"

/* SOURCE Kueue: its jobs are those of a JobSet, whose completion indexes begin anew with each. */
static struct json *pod_set(struct arena *a, const struct replicated_job *s)
{
    struct json *set = kueue_pod_set(a, s->name, s->replicas * s->count, json_get(s->job_spec, "template"), KUEUE_JOB_INDEX_LABEL);
    kueue_topology_of_jobs(a, set, s->replicas);
    return set;
}

struct json *kueue_trainjob_pod_sets(struct arena *a, const struct json *job, const struct json *runtime, const char **ret_why)
{
    struct replicated_job *sets = NULL;
    uint32_t n = trainjob_sets(a, job, runtime, &sets, ret_why);
    struct json *list = json_new(a, JSON_ARRAY);
    bool trains = false;
    for (uint32_t i = 0; i < n; i++)
        trains = trains || !sets[i].is_initializer;
    /* WHY  initializers run before the nodes and not beside them: counted in one gang they would hold what nobody uses. */
    for (uint32_t i = 0; i < n; i++)
        if (!trains || !sets[i].is_initializer)
            json_append(list, pod_set(a, &sets[i]));
    return n ? list : NULL;
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    (void)k;
    if (!kube_cache_synced(j->runtimes) || !kube_cache_synced(j->cluster_runtimes))
        return NULL;
    return kueue_trainjob_pod_sets(a, job, trainjob_runtime(j, a, job), ret_why);
}

/* Those that wait for pods which train beside them: the launcher of mpi. What initializers have to end before is not later than they. */
const char *kueue_trainjob_later(struct arena *a, const struct json *job, const struct json *runtime)
{
    struct replicated_job *sets = NULL;
    const char *list = NULL, *why = NULL;
    uint32_t n = trainjob_sets(a, job, runtime, &sets, &why);
    for (uint32_t i = 0; i < n; i++)
        JSON_EACH (on, sets[i].depends_on) {
            bool waits = false, listed = list && strcmp(list, sets[i].name) == 0;
            for (uint32_t o = 0; o < n; o++)
                waits = waits || (!sets[o].is_initializer && strcmp(sets[o].name, json_get_text(on, "name", "")) == 0);
            if (waits && !listed && !sets[i].is_initializer)
                list = list ? arena_printf(a, "%s,%s", list, sets[i].name) : sets[i].name;
        }
    return list;
}

static const char *later(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job)
{
    (void)k;
    return kueue_trainjob_later(a, job, trainjob_runtime(j, a, job));
}

static struct json *other_patches(struct arena *a, const struct json *job)
{
    struct json *list = json_new(a, JSON_ARRAY);
    JSON_EACH (patch, json_path(job, "spec", "runtimePatches", NULL))
        if (strcmp(json_get_text(patch, "manager", ""), MANAGER) != 0)
            json_append(list, json_clone(a, patch));
    return list;
}

/* WHY  where a patch has no time the trainer's webhook writes it, and the whole job as it understands it: `cpu: 4` as "4", which is a
 * change of spec.trainer, and refused. The same each time that it is written, so that the webhook has nothing to do then either. */
static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    (void)k;
    struct json *spec = json_ensure_object(a, patch, "spec"), *list = other_patches(a, job),
                *ours = json_new(a, JSON_OBJECT);
    json_set_text(a, ours, "manager", MANAGER);
    if (starts_n && *starts[0].admitted_at)
        json_set_text(a, ours, "time", starts[0].admitted_at);
    struct json *runtime = json_ensure_object(a, ours, "trainingRuntimeSpec");
    struct json *jobs = json_ensure_array(a, json_ensure_object(a, json_ensure_object(a, runtime, "template"), "spec"),
                                          "replicatedJobs");
    for (uint32_t i = 0; i < starts_n; i++) {
        struct json *one = json_new(a, JSON_OBJECT);
        json_set_text(a, one, "name", starts[i].pod_set);
        struct json *job_spec = json_ensure_object(a, json_ensure_object(a, one, "template"), "spec");
        int r = kueue_template_start(a, NULL, &starts[i], json_ensure_object(a, job_spec, "template"), e);
        if (r < 0)
            return r;
        json_append(jobs, one);
    }
    json_append(list, ours);
    json_set(a, spec, "runtimePatches", list);
    return 0;
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    (void)k;
    (void)workload;
    (void)ret_status;
    const struct json *now = json_path(job, "spec", "runtimePatches", NULL);
    struct json *others = other_patches(a, job);
    if (!now || now->n == others->n)
        return false;
    json_set(a, json_ensure_object(a, patch, "spec"), "runtimePatches", others->n ? others : json_new(a, JSON_NULL));
    return true;
}

static bool active(const struct json *job)
{
    JSON_EACH (one, json_path(job, "status", "jobsStatus", NULL))
        if (json_get_int64(one, "active", 0) > 0 || json_get_int64(one, "ready", 0) > 0)
            return true;
    return false;
}

/* SOURCE Kueue: counted in jobs; each is ready with all of its pods. */
static bool all_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    struct replicated_job *sets = NULL;
    const char *why;
    uint32_t n = trainjob_sets(a, job, trainjob_runtime(j, a, job), &sets, &why);
    int64_t jobs_n = 0, ready_n = 0;
    for (uint32_t i = 0; i < n; i++)
        jobs_n += sets[i].replicas;
    JSON_EACH (one, json_path(job, "status", "jobsStatus", NULL))
        ready_n += json_get_int64(one, "ready", 0) + json_get_int64(one, "succeeded", 0);
    return jobs_n > 0 && ready_n >= jobs_n;
}

const struct kueue_kind kueue_trainjob_kind = {
    .pod_sets = pod_sets,
    .later = later,
    .start = start,
    .restore = restore,
    .active = active,
    .all_ready = all_ready,
};
