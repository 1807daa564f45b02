#include "codec/groups/kai_grouping.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"

#define JOBSET_NAME "jobset.sigs.k8s.io/jobset-name"
#define JOBSET_JOB "jobset.sigs.k8s.io/replicatedjob-name"
#define JOBSET_INDEX "jobset.sigs.k8s.io/job-index"
#define LWS "leaderworkerset.sigs.k8s.io/"
#define TRAINING "training.kubeflow.org/"

#define KUBEFLOW(version, plural, name, of) {"/apis/kubeflow.org/" version "/" plural, "kubeflow.org", "kubeflow.org/" version, name, of}
const struct kai_owner_kind kai_owner_kinds[KAI_OWNERS_N] = {
    [KAI_OWNER_PYTORCH] = KUBEFLOW("v1", "pytorchjobs", "PyTorchJob", "pytorchReplicaSpecs"),
    [KAI_OWNER_TF] = KUBEFLOW("v1", "tfjobs", "TFJob", "tfReplicaSpecs"),
    [KAI_OWNER_XGBOOST] = KUBEFLOW("v1", "xgboostjobs", "XGBoostJob", "xgbReplicaSpecs"),
    [KAI_OWNER_JAX] = KUBEFLOW("v1", "jaxjobs", "JAXJob", "jaxReplicaSpecs"),
    [KAI_OWNER_MPI] = KUBEFLOW("v2beta1", "mpijobs", "MPIJob", "mpiReplicaSpecs"),
    [KAI_OWNER_JOBSET] = {"/apis/jobset.x-k8s.io/v1alpha2/jobsets", "jobset.x-k8s.io", "jobset.x-k8s.io/v1alpha2", "JobSet", NULL},
    [KAI_OWNER_LWS] = {"/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets", "leaderworkerset.x-k8s.io", "leaderworkerset.x-k8s.io/v1",
                       "LeaderWorkerSet", NULL},
    [KAI_OWNER_RAY] = {"/apis/ray.io/v1/rayclusters", "ray.io", "ray.io/v1", "RayCluster", NULL},
    [KAI_OWNER_JOB] = {"/apis/batch/v1/jobs", "batch", "batch/v1", "Job", NULL},
};

static const char *meta_text(const struct json *object, const char *map, const char *key)
{
    return json_text(json_get(json_path(object, "metadata", map, NULL), key), "");
}

static const char *label(const struct json *object, const char *key)
{
    return meta_text(object, "labels", key);
}

static const struct json *controller_of(const struct json *object)
{
    const struct json *owners = json_path(object, "metadata", "ownerReferences", NULL);
    JSON_EACH (owner, json_is(owners, JSON_ARRAY) ? owners : NULL)
        if (json_bool(json_get(owner, "controller"), false))
            return owner;
    return NULL;
}

/* ---- whose it is ---- */

static bool is_of_group(const struct json *owner, const char *group)
{
    const char *version = json_get_text(owner, "apiVersion", "");
    size_t n = strlen(group);
    return text_starts(version, group) && version[n] == '/';
}

/* By labels, where something stands between the pod and the owner: a job, a StatefulSet, a leader. KAI_OWNERS_N: by none. */
static enum kai_owner_id labelled_owner(const struct json *pod, const struct json *owner, const char **ret_name)
{
    bool by_mpi = strcmp(json_get_text(owner, "kind", ""), "Job") == 0 && strcmp(label(pod, TRAINING "operator-name"), "mpi-operator") == 0;
    *ret_name = *label(pod, JOBSET_JOB) ? label(pod, JOBSET_NAME) : "";
    if (**ret_name)
        return KAI_OWNER_JOBSET;
    *ret_name = label(pod, LWS "name");
    if (**ret_name)
        return KAI_OWNER_LWS;
    *ret_name = by_mpi ? label(pod, TRAINING "job-name") : "";
    return **ret_name ? KAI_OWNER_MPI : KAI_OWNERS_N;
}

bool kai_owner_of(const struct json *pod, enum kai_owner_id *ret_kind, const char **ret_name)
{
    const struct json *owner = controller_of(pod);
    const char *kind = json_get_text(owner, "kind", "");
    if (!owner)
        return false;
    *ret_kind = labelled_owner(pod, owner, ret_name);
    for (int i = 0; i < KAI_OWNERS_N && *ret_kind == KAI_OWNERS_N; i++)
        if (strcmp(kind, kai_owner_kinds[i].kind) == 0 && is_of_group(owner, kai_owner_kinds[i].group)) {
            *ret_kind = (enum kai_owner_id)i;
            *ret_name = json_get_text(owner, "name", "");
        }
    return **ret_name != '\0';
}

/* ---- how many ---- */

static int64_t whole(const struct json *v, int64_t otherwise)
{
    int64_t n = json_int64(v, otherwise);
    return n < 0 ? 0 : n > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : n;
}

static int32_t members(int64_t n)
{
    return n < 1 ? 1 : n > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : (int32_t)n;
}

static void part_add(struct kai_grouping *g, const char *name, int64_t n)
{
    if (n > 0 && *name && g->parts_n < KAI_GROUPING_PARTS) {
        g->parts[g->parts_n].name = name;
        g->parts[g->parts_n++].min_member = members(n);
    }
}

static int64_t replicas_of(const struct json *specs, const char *role)
{
    const struct json *spec = json_get(specs, role);
    return spec ? whole(json_get(spec, "replicas"), 1) : 0;
}

static void of_kubeflow(const struct json *pod, enum kai_owner_id kind, const struct json *spec, struct kai_grouping *g)
{
    const struct json *specs = json_get(spec, kai_owner_kinds[kind].replicas);
    const struct json *least = json_path(spec, "runPolicy", "schedulingPolicy", "minAvailable", NULL);
    const struct json *elastic = kind == KAI_OWNER_PYTORCH ? json_path(spec, "elasticPolicy", "minReplicas", NULL) : NULL;
    int64_t all = 0, masters = replicas_of(specs, "Master");
    JSON_EACH (role, json_is(specs, JSON_OBJECT) ? specs : NULL)
        all += whole(json_get(role, "replicas"), 1);
    if (kind == KAI_OWNER_MPI && strcmp(json_get_text(spec, "launcherCreationPolicy", ""), "WaitForWorkersReady") == 0)
        all -= replicas_of(specs, "Launcher");
    const struct json *said = json_is(least, JSON_NUMBER) ? least : elastic;
    g->min_member = members(json_is(said, JSON_NUMBER) ? whole(said, 1) : all);
    if (kind != KAI_OWNER_PYTORCH || !masters || g->min_member <= masters)
        return;
    part_add(g, "master", masters);
    part_add(g, "worker", g->min_member - masters);
    g->part = label(pod, TRAINING "replica-type");
}

static int64_t pods_of_job(const struct json *job)
{
    const struct json *spec = json_path(job, "template", "spec", NULL);
    int64_t replicas = whole(json_get(job, "replicas"), 1), side = whole(json_get(spec, "parallelism"), 1);
    int64_t completions = whole(json_get(spec, "completions"), 0);
    return replicas * (completions && completions < side ? completions : side);
}

static int64_t said_least(const struct json *object, int64_t otherwise)
{
    int64_t least;
    return bytes_int64(bytes_of(meta_text(object, "annotations", KAI_GROUPING_LEAST)), &least) && least > 0 ? least : otherwise;
}

/* Without subgroups, where they would be too many. */
static void of_large_jobset(struct arena *a, const struct json *jobs, const char *own, bool in_order, struct kai_grouping *g)
{
    int64_t n = 0;
    JSON_EACH (job, jobs)
        if (!in_order || strcmp(json_get_text(job, "name", ""), own) == 0)
            n += pods_of_job(job);
    g->min_member = members(n);
    if (in_order)
        g->name = arena_printf(a, "%s-%s", g->name, own);
}

static const char *replica_name(struct arena *a, const char *job, int64_t at)
{
    return arena_printf(a, "%s-replica-%lld", job, (long long)at);
}

/* The replicated job, and below it each of its jobs. Different: of jobs with fewer completions than parallelism those start together. */
static void add_replicas(struct arena *a, const struct json *job, struct kai_grouping *g)
{
    const struct json *template = json_get(job, "template");
    const char *name = json_get_text(job, "name", "");
    int64_t replicas = whole(json_get(job, "replicas"), 1), each = replicas ? pods_of_job(job) / replicas : 0;
    g->parts[g->parts_n].name = name;
    g->parts[g->parts_n++].min_sub_group = members(replicas);
    for (int64_t i = 0; i < replicas; i++) {
        g->parts[g->parts_n].name = replica_name(a, name, i);
        g->parts[g->parts_n].parent = name;
        g->parts[g->parts_n].by = template;
        g->parts[g->parts_n++].min_member = members(said_least(template, each));
    }
}

/* SOURCE KAI: with InOrder the set's controller makes one replicated job after the other. */
static void of_jobset(struct arena *a, const struct json *pod, const struct json *set, struct kai_grouping *g)
{
    const struct json *spec = json_get(set, "spec"), *said = json_get(spec, "replicatedJobs");
    const struct json *jobs = json_is(said, JSON_ARRAY) ? said : NULL;
    const char *own = label(pod, JOBSET_JOB), *at = label(pod, JOBSET_INDEX);
    bool in_order = strcmp(json_text(json_path(spec, "startupPolicy", "startupPolicyOrder", NULL), ""), "InOrder") == 0;
    int64_t nodes = 0, jobs_n = 0, index = 0;
    JSON_EACH (job, jobs) {
        nodes += 1 + whole(json_get(job, "replicas"), 1);
        jobs_n++;
    }
    if (!jobs_n || nodes > KAI_GROUPING_PARTS) {
        of_large_jobset(a, jobs, own, in_order, g);
        return;
    }
    JSON_EACH (job, jobs)
        if (whole(json_get(job, "replicas"), 1) && *json_get_text(job, "name", ""))
            add_replicas(a, job, g);
    int64_t least = said_least(set, in_order ? 1 : jobs_n);
    g->min_sub_group = members(least < jobs_n ? least : jobs_n);
    g->part = bytes_int64(bytes_of(at), &index) ? replica_name(a, own, index) : "";
}

/* LeaderReady: workers are made when the leader runs; who sees the first of them asks for all. */
static void of_lws(struct arena *a, const struct json *pod, const struct json *spec, struct kai_grouping *g)
{
    bool leads = strcmp(label(pod, LWS "worker-index"), "0") == 0;
    bool alone = leads && strcmp(json_get_text(spec, "startupPolicy", ""), "LeaderReady") == 0;
    int64_t size = alone ? 1 : members(whole(json_path(spec, "leaderWorkerTemplate", "size", NULL), 1));
    g->min_member = members(size);
    part_add(g, "leader", 1);
    part_add(g, "workers", size - 1);
    g->part = leads ? "leader" : "workers";
    g->name = arena_printf(a, "%s-group-%s", g->name, *label(pod, LWS "group-index") ? label(pod, LWS "group-index") : "0");
}

static void of_ray(struct arena *a, const struct json *pod, const struct json *spec, struct kai_grouping *g)
{
    const struct json *groups = json_get(spec, "workerGroupSpecs");
    int64_t n = 1;
    int at = 0;
    part_add(g, "headgroup", 1);
    JSON_EACH (group, json_is(groups, JSON_ARRAY) ? groups : NULL) {
        int64_t least = whole(json_get(group, "minReplicas"), 0), replicas = whole(json_get(group, "replicas"), 0);
        const char *name = json_get_text(group, "groupName", "");
        name = *name ? name : arena_printf(a, "worker-group-%d", at);
        int64_t pods = json_bool(json_get(group, "suspended"), false) ? 0 : (least ? least : replicas) * whole(json_get(group, "numOfHosts"), 1);
        part_add(g, name, pods);
        n += pods;
        at++;
    }
    g->min_member = members(n);
    g->part = label(pod, "ray.io/group");
}

/* Of these no more than one waits for others, unless the job asks for it: SOURCE KAI. What is no number is as if it were not there. */
static void of_job(const struct json *job, struct kai_grouping *g)
{
    int64_t least;
    if (bytes_int64(bytes_of(meta_text(job, "annotations", KAI_GROUPING_LEAST)), &least))
        g->min_member = members(least);
}

/* ---- the group ---- */

static struct json *reference(struct arena *a, const char *api_version, const char *kind, const char *name, const char *uid)
{
    struct json *owner = json_new(a, JSON_OBJECT);
    json_set_text(a, owner, "apiVersion", api_version);
    json_set_text(a, owner, "kind", kind);
    json_set_text(a, owner, "name", name);
    json_set_text(a, owner, "uid", uid);
    return owner;
}

/* The owner's label, else the pod's. */
static const char *either_label(const struct json *owner, const struct json *pod, const char *key)
{
    const char *of_owner = owner ? label(owner, key) : "";
    return *of_owner ? of_owner : label(pod, key);
}

/* The owner's annotation, else the pod's: the first that is a duration. */
static const char *duration_of(const struct json *owner, const struct json *pod, const char *key)
{
    const char *of_owner = owner ? meta_text(owner, "annotations", key) : "", *of_pod = meta_text(pod, "annotations", key);
    int64_t ms;
    return duration_parse(bytes_of(of_owner), &ms) ? of_owner : duration_parse(bytes_of(of_pod), &ms) ? of_pod : "";
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    return *a ? a : *b ? b : c;
}

static const char *name_of(struct arena *a, const struct json *object)
{
    enum { NAME_KEPT = 200 }; /* with the uid it stays a name */
    return arena_printf(a, "pg-%.*s-%s", NAME_KEPT, json_text(json_path(object, "metadata", "name", NULL), ""),
                        json_text(json_path(object, "metadata", "uid", NULL), ""));
}

bool kai_grouping_topology(const struct json *by, const char **ret_topology, const char **ret_required, const char **ret_preferred)
{
    *ret_topology = meta_text(by, "annotations", "kai.scheduler/topology");
    *ret_required = meta_text(by, "annotations", "kai.scheduler/topology-required-placement");
    *ret_preferred = meta_text(by, "annotations", "kai.scheduler/topology-preferred-placement");
    return **ret_topology && (**ret_required || **ret_preferred);
}

void kai_grouping_make(struct arena *a, const struct json *pod, enum kai_owner_id kind, const struct json *owner, struct kai_grouping *ret)
{
    const struct json *of = owner ? owner : pod, *spec = json_get(owner, "spec"), *above = controller_of(pod);
    const char *class_default = strcmp(json_get_text(above, "kind", ""), "ReplicaSet") == 0 ? "inference" : "train";
    const char *preemptibility = either_label(owner, pod, "kai.scheduler/preemptibility");
    bool is_known = strcmp(preemptibility, "preemptible") == 0 || strcmp(preemptibility, "non-preemptible") == 0;
    *ret = (struct kai_grouping){.name = name_of(a, of), .min_member = 1, .part = ""};
    ret->owner = reference(a, owner ? kai_owner_kinds[kind].api_version : "v1", owner ? kai_owner_kinds[kind].kind : "Pod",
                           json_text(json_path(of, "metadata", "name", NULL), ""), json_text(json_path(of, "metadata", "uid", NULL), ""));
    ret->queue = first_of(either_label(owner, pod, "kai.scheduler/queue"), either_label(owner, pod, "project"), "");
    ret->class_name = first_of(either_label(owner, pod, "priorityClassName"),
                               json_text(json_path(pod, "spec", "priorityClassName", NULL), ""), class_default);
    ret->preemptibility = is_known ? preemptibility : "";
    ret->staleness = duration_of(owner, pod, "kai.scheduler/staleness-grace-period");
    ret->delay = duration_of(owner, pod, "kai.scheduler/preemption-delay");
    (void)kai_grouping_topology(of, &ret->topology, &ret->required_level, &ret->preferred_level);
    if (owner && kai_owner_kinds[kind].replicas)
        of_kubeflow(pod, kind, spec, ret);
    else if (owner && kind == KAI_OWNER_JOBSET)
        of_jobset(a, pod, owner, ret);
    else if (owner && kind == KAI_OWNER_LWS)
        of_lws(a, pod, spec, ret);
    else if (owner && kind == KAI_OWNER_RAY)
        of_ray(a, pod, spec, ret);
    else if (owner)
        of_job(owner, ret);
    bool is_part = false; /* of none it starts by itself, after the others */
    for (uint32_t i = 0; i < ret->parts_n; i++)
        is_part |= strcmp(ret->parts[i].name, ret->part) == 0;
    ret->part = is_part ? ret->part : "";
}
