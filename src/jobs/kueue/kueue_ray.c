/* kueue_ray.c - RayCluster, RayJob and RayService, queued the Kueue way: pod sets head, a worker group each, and of a RayJob whose
 * submitter is a Job of its own, submitter
 *
 * Merge patches replace lists whole: start and restore write all worker groups, each as it is but for its pod template.
 *
 * SOURCE Kueue, for what KubeRay adds to a head pod and quota has to count.
 */
#include "base/quantity.h"
#include "jobs/kueue/kueue_kind.h"

#define HEAD "head"
#define SUBMITTER "submitter"
#define SUBMITTER_CONTAINER "ray-job-submitter"

static bool is_rayjob(const struct queued_kind *k)
{
    return k == &queued_kinds[QUEUED_RAYJOB];
}

/* The member of spec that says what its cluster is like; NULL: spec itself. */
static const char *cluster_key(const struct queued_kind *k)
{
    return is_rayjob(k) ? "rayClusterSpec" : k == &queued_kinds[QUEUED_RAYSERVICE] ? "rayClusterConfig" : NULL;
}

static const struct json *cluster_spec(const struct queued_kind *k, const struct json *job)
{
    const struct json *spec = json_get(job, "spec");
    return cluster_key(k) ? json_get(spec, cluster_key(k)) : spec;
}

static bool is_submitted_as(const struct json *job, const char *mode)
{
    return strcmp(json_get_text(json_get(job, "spec"), "submissionMode", "K8sJobMode"), mode) == 0;
}

/* ---- pod sets ---- */

static struct json *add_container(struct arena *a, struct json *pod_spec, const char *name)
{
    struct json *container = json_new(a, JSON_OBJECT);
    json_set_text(a, container, "name", name);
    json_append(json_ensure_array(a, pod_spec, "containers"), container);
    return container;
}

static void set_amounts(struct arena *a, struct json *container, const char *which, const char *cpu, const char *memory)
{
    struct json *amounts = json_ensure_object(a, json_ensure_object(a, container, "resources"), which);
    json_set_text(a, amounts, "cpu", cpu);
    json_set_text(a, amounts, "memory", memory);
}

static void set_submitter(struct arena *a, struct json *container)
{
    set_amounts(a, container, "limits", "1", "1Gi");
    set_amounts(a, container, "requests", "500m", "200Mi");
}

/* No less than this is asked for. */
static void at_least(struct arena *a, struct json *requests, const char *resource, const char *amount)
{
    struct quantity least, is;
    struct err unused;
    const struct json *now = json_get(requests, resource);
    bool less = !now || quantity_parse(json_bytes(now), &is, &unused) < 0;
    if (!less && quantity_parse(bytes_of(amount), &least, &unused) == 0)
        less = quantity_compare(is, least) < 0;
    if (less)
        json_set_text(a, requests, resource, amount);
}

/* What KubeRay makes of the head's template beyond what stands there. */
static void grow_head(struct arena *a, const struct queued_kind *k, const struct json *job, struct json *head)
{
    const struct json *cluster = cluster_spec(k, job), *options = json_path(cluster, "autoscalerOptions", "resources", NULL);
    struct json *spec = json_get(head, "spec"), *first = json_first(json_get(spec, "containers"));
    bool survives = json_get(cluster, "gcsFaultToleranceOptions") || strcmp(object_annotation(job, "ray.io/ft-enabled"), "true") == 0;
    if (survives && first) {
        struct json *requests = json_ensure_object(a, json_ensure_object(a, first, "resources"), "requests");
        at_least(a, requests, "cpu", "200m");
        at_least(a, requests, "memory", "256Mi");
    }
    if (json_get_bool(cluster, "enableInTreeAutoscaling", false)) {
        struct json *container = add_container(a, spec, "autoscaler");
        set_amounts(a, container, "requests", "500m", "512Mi");
        set_amounts(a, container, "limits", "500m", "512Mi");
        if (options)
            json_set(a, container, "resources", json_clone(a, options));
    }
    if (is_rayjob(k) && is_submitted_as(job, "SidecarMode"))
        set_submitter(a, add_container(a, spec, SUBMITTER_CONTAINER));
}

static int64_t workers_n(const struct json *group)
{
    int64_t hosts = json_get_int64(group, "numOfHosts", 1);
    return json_get_int64(group, "replicas", 1) * (hosts > 1 ? hosts : 1);
}

/* What KubeRay takes where the job has none. */
static struct json *made_submitter(struct arena *a, const struct json *job)
{
    const struct json *head = json_path(job, "spec", "rayClusterSpec", "headGroupSpec", "template", "spec", "containers", NULL);
    struct json *made = json_new(a, JSON_OBJECT), *spec = json_ensure_object(a, made, "spec");
    struct json *container = add_container(a, spec, SUBMITTER_CONTAINER);
    json_set_text(a, container, "image", json_get_text(json_first(head), "image", ""));
    set_submitter(a, container);
    json_set_text(a, spec, "restartPolicy", "Never");
    return made;
}

static const struct json *submitter_template(struct arena *a, const struct json *job)
{
    const struct json *own = json_path(job, "spec", "submitterPodTemplate", NULL);
    return json_is(own, JSON_OBJECT) ? own : made_submitter(a, job);
}

static struct json *pod_sets(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job, const char **ret_why)
{
    const struct json *cluster = cluster_spec(k, job), *head = json_path(cluster, "headGroupSpec", "template", NULL);
    struct json *sets = json_new(a, JSON_ARRAY);
    (void)j;
    if (!json_is(json_get(head, "spec"), JSON_OBJECT)) {
        const char *key = cluster_key(k);
        *ret_why = arena_printf(a, "spec%s%s.headGroupSpec.template has no spec", key ? "." : "", key ? key : "");
        return NULL;
    }
    struct json *first = kueue_pod_set(a, HEAD, 1, head, NULL);
    grow_head(a, k, job, json_get(first, "template"));
    json_append(sets, first);
    JSON_EACH (group, json_get(cluster, "workerGroupSpecs"))
        json_append(sets, kueue_pod_set(a, kueue_lower(a, json_get_text(group, "groupName", "")), workers_n(group),
                                        json_get(group, "template"), NULL));
    if (is_rayjob(k) && is_submitted_as(job, "K8sJobMode"))
        json_append(sets, kueue_pod_set(a, SUBMITTER, 1, submitter_template(a, job), NULL));
    return sets;
}

/* It is made when the cluster answers. */
static const char *later(struct jobs *j, struct arena *a, const struct queued_kind *k, const struct json *job)
{
    (void)j;
    (void)a;
    return is_rayjob(k) && is_submitted_as(job, "K8sJobMode") ? SUBMITTER : NULL;
}

/* ---- starting ---- */

/* A job's templates, copied to be changed. */
struct templates {
    struct json *head, *groups, *submitter; /* groups: list of worker groups; submitter: NULL, none */
};

static struct templates copy_templates(struct arena *a, const struct queued_kind *k, const struct json *job)
{
    const struct json *cluster = cluster_spec(k, job), *head = json_path(cluster, "headGroupSpec", "template", NULL),
                      *groups = json_get(cluster, "workerGroupSpecs");
    bool submits = is_rayjob(k) && is_submitted_as(job, "K8sJobMode");
    return (struct templates){head ? json_clone(a, head) : json_new(a, JSON_OBJECT), groups ? json_clone(a, groups) : NULL,
                              submits ? json_clone(a, submitter_template(a, job)) : NULL};
}

static struct json *template_named(struct arena *a, const void *of, const char *set)
{
    const struct templates *t = of;
    if (strcmp(set, HEAD) == 0)
        return t->head;
    JSON_EACH (group, t->groups)
        if (strcmp(kueue_lower(a, json_get_text(group, "groupName", "")), set) == 0)
            return json_get(group, "template");
    return strcmp(set, SUBMITTER) == 0 ? t->submitter : NULL;
}

/* The head as a difference, for it stands in no list. */
static void write_templates(struct arena *a, const struct queued_kind *k, const struct json *job, const struct templates *t,
                            struct json *patch)
{
    struct json *spec = json_ensure_object(a, patch, "spec"), *to = cluster_key(k) ? json_ensure_object(a, spec, cluster_key(k)) : spec;
    const struct json *now = json_path(cluster_spec(k, job), "headGroupSpec", "template", NULL),
                      *submitter = json_path(job, "spec", "submitterPodTemplate", NULL);
    struct json *diff = object_diff(a, now, t->head);
    if (diff)
        json_set(a, json_ensure_object(a, to, "headGroupSpec"), "template", diff);
    if (t->groups)
        json_set(a, to, "workerGroupSpecs", t->groups);
    diff = t->submitter ? object_diff(a, submitter, t->submitter) : NULL;
    if (diff)
        json_set(a, spec, "submitterPodTemplate", diff);
}

static int start(struct arena *a, const struct queued_kind *k, const struct json *job, const struct kueue_start *starts, uint32_t starts_n,
                 struct json *patch, struct err *e)
{
    struct templates t = copy_templates(a, k, job);
    int r = kueue_templates_start(a, &(struct kueue_templates){template_named, &t}, starts, starts_n, e);
    if (r == 0)
        write_templates(a, k, job, &t, patch);
    return r;
}

static bool says_nothing(const struct json *v)
{
    if (v && !json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY))
        return false;
    JSON_EACH (inner, v)
        if (!says_nothing(inner))
            return false;
    return true;
}

/* Is it what KubeRay takes where there is none, but for maps that are empty? Then the start has put it there. */
static bool is_made(const struct json *pod_template, const struct json *made)
{
    const struct json *spec = json_get(pod_template, "spec"), *like = json_get(made, "spec");
    JSON_EACH (member, spec) {
        const struct json *same = json_get(like, member->key);
        if (!says_nothing(member) && !(same && json_equal(member, same)))
            return false;
    }
    JSON_EACH (member, like)
        if (!json_get(spec, member->key))
            return false;
    return says_nothing(json_get(pod_template, "metadata"));
}

static bool restore(struct arena *a, const struct queued_kind *k, const struct json *job, const struct json *workload, struct json *patch,
                    bool *ret_status)
{
    struct templates t = copy_templates(a, k, job);
    bool any = kueue_templates_restore(a, &(struct kueue_templates){template_named, &t}, workload);
    (void)ret_status;
    if (!any)
        return false;
    write_templates(a, k, job, &t, patch);
    if (t.submitter && is_made(t.submitter, made_submitter(a, job)))
        json_set(a, json_get(patch, "spec"), "submitterPodTemplate", json_new(a, JSON_NULL));
    return true;
}

/* ---- what they tell ---- */

static const char *status_text(const struct json *job, const char *key)
{
    return json_get_text(json_get(job, "status"), key, "");
}

static bool cluster_active(const struct json *job)
{
    return strcmp(status_text(job, "state"), "ready") == 0;
}

static bool cluster_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    (void)j;
    (void)a;
    return cluster_active(job);
}

static bool service_active(const struct json *job)
{
    return object_condition_true(job, "Ready");
}

static bool service_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    (void)j;
    (void)a;
    return service_active(job);
}

/* It serves until it is deleted. */
static bool service_over(const struct json *job, bool *ret_well, const char **ret_message)
{
    (void)job;
    (void)ret_well;
    (void)ret_message;
    return false;
}

/* KubeRay makes no cluster of it; one that was made before it was spoilt runs on. */
static bool job_invalid(const struct json *job)
{
    return strcmp(status_text(job, "jobDeploymentStatus"), "ValidationFailed") == 0 && !*status_text(job, "rayClusterName");
}

static bool job_active(const struct json *job)
{
    const char *is = status_text(job, "jobDeploymentStatus");
    return *is && strcmp(is, "Suspended") != 0 && !job_invalid(job);
}

static bool job_ready(struct jobs *j, struct arena *a, const struct json *job)
{
    (void)j;
    (void)a;
    return strcmp(json_text(json_path(job, "status", "rayClusterStatus", "state", NULL), ""), "ready") == 0;
}

static bool job_over(const struct json *job, bool *ret_well, const char **ret_message)
{
    const char *is = status_text(job, "jobDeploymentStatus");
    *ret_well = strcmp(status_text(job, "jobStatus"), "SUCCEEDED") == 0;
    *ret_message = status_text(job, "message");
    return strcmp(is, "Failed") == 0 || strcmp(is, "Complete") == 0;
}

/* It runs in a cluster that is there already. */
static bool job_is_skipped(const struct json *job)
{
    const struct json *selector = json_path(job, "spec", "clusterSelector", NULL);
    return json_is(selector, JSON_OBJECT) && selector->n;
}

const struct kueue_kind kueue_raycluster_kind = {
    .pod_sets = pod_sets,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = cluster_active,
    .all_ready = cluster_ready,
};
const struct kueue_kind kueue_rayjob_kind = {
    .pod_sets = pod_sets,
    .later = later,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = job_active,
    .all_ready = job_ready,
    .over_well = job_over,
    .is_invalid = job_invalid,
    .is_skipped = job_is_skipped,
};
const struct kueue_kind kueue_rayservice_kind = {
    .pod_sets = pod_sets,
    .start = start,
    .restore = restore,
    .restores_at_once = true,
    .active = service_active,
    .all_ready = service_ready,
    .over_well = service_over,
};
