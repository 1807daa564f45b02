/* job_find.c - see job_find.h */
#include "cli/lookup/job_find.h"
#include <ctype.h>
#include "codec/decode/decode.h"
#include "kube/object.h"

#define SOME_ITEMS 1000 /* looked through for what was meant: a help, not an answer */

const struct job_kind_row job_kinds[JOB_KINDS_N] = {
    {" job jobs ", "batch", "v1", "jobs", "Job", "Job"},
    {" job vcjob vcjobs vj ", "batch.volcano.sh", "v1alpha1", "jobs", "Volcano Job", "vcjob"},
    {" job trainjob trainjobs ", "trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", "TrainJob"},
    {" job jobset jobsets ", "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", "JobSet"},
    {" job mpijob mpijobs ", "kubeflow.org", "v2beta1", "mpijobs", "MPIJob", "MPIJob"},
    {" job pytorchjob pytorchjobs ", "kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", "PyTorchJob"},
    {" job tfjob tfjobs ", "kubeflow.org", "v1", "tfjobs", "TFJob", "TFJob"},
    {" job xgboostjob xgboostjobs ", "kubeflow.org", "v1", "xgboostjobs", "XGBoostJob", "XGBoostJob"},
    {" job jaxjob jaxjobs ", "kubeflow.org", "v1", "jaxjobs", "JAXJob", "JAXJob"},
    {" job paddlejob paddlejobs ", "kubeflow.org", "v1", "paddlejobs", "PaddleJob", "PaddleJob"},
    {" job rayjob rayjobs ", "ray.io", "v1", "rayjobs", "RayJob", "RayJob"},
    {" job raycluster rayclusters ", "ray.io", "v1", "rayclusters", "RayCluster", "RayCluster"},
    {" job rayservice rayservices ", "ray.io", "v1", "rayservices", "RayService", "RayService"},
    {" job sparkapplication sparkapplications sparkapp ", "sparkoperator.k8s.io", "v1beta2", "sparkapplications", "SparkApplication", "SparkApplication"},
    {" job workload workloads wl ", "kueue.x-k8s.io", "v1beta2", "workloads", "Workload", "Workload"},
    {" job podgroup podgroups pg ", "scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", "PodGroup"},
    {" podgroup podgroups pg ", "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", "PodGroup"},
    {" podgroup podgroups pg ", "scheduling.k8s.io", NULL, "podgroups", "PodGroup", "PodGroup"}, /* in which of native_versions: asked */
    {" podgroup podgroups pg ", "scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", "PodGroup"},
    {" compositepodgroup compositepodgroups ", "scheduling.k8s.io", COMPOSITES_VERSION, "compositepodgroups", "CompositePodGroup", "CompositePodGroup"},
    {" pod pods po ", "", "v1", "pods", "Pod", "Pod"},
    {" deployment deployments deploy ", "apps", "v1", "deployments", "Deployment", "Deployment"},
    {" replicaset replicasets rs ", "apps", "v1", "replicasets", "ReplicaSet", "ReplicaSet"},
    {" statefulset statefulsets sts ", "apps", "v1", "statefulsets", "StatefulSet", "StatefulSet"},
    {" daemonset daemonsets ds ", "apps", "v1", "daemonsets", "DaemonSet", "DaemonSet"},
    {" leaderworkerset leaderworkersets lws ", "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", "LeaderWorkerSet"},
};

/* As kubectl prints it: " jobset.jobset.x-k8s.io ", " jobs.v1alpha1.batch.volcano.sh "; plural or not, of whichever version. */
static bool is_full_name(const struct job_kind_row *k, const char *called)
{
    const char *word = called + 1, *dot = strchr(word, '.'), *version_end = dot && dot[1] == 'v' ? strchr(dot + 1, '.') : NULL;
    size_t n = dot ? (size_t)(dot - word) : 0, plural_n = strlen(k->plural), group_n = strlen(k->group);
    if (!dot || !group_n || (n != plural_n && n + 1 != plural_n) || strncmp(word, k->plural, n) != 0)
        return false;
    const char *group = strncmp(dot + 1, k->group, group_n) == 0 || !version_end ? dot + 1 : version_end + 1;
    return strncmp(group, k->group, group_n) == 0 && group[group_n] == ' ';
}

/* called: the word between spaces */
static bool is_called(const struct job_kind_row *k, const char *called)
{
    return strstr(k->names, called) || is_full_name(k, called);
}

/* One object, or without a name their list; query: "" or "?...". In the first version in which it is there. */
static const struct json *ask(struct connection *c, struct arena *a, enum job_kind kind, const char *ns, const char *name,
                              const char *query, struct err *e)
{
    const struct job_kind_row *k = &job_kinds[kind];
    const struct json *found = NULL;
    for (const struct native_version *v = native_versions; !found && (v == native_versions || (!k->version && v->version)); v++) {
        *e = (struct err){0};
        const char *path = kube_path(a, k->group, k->version ? k->version : v->version, k->plural, ns, name, NULL);
        found = connection_get(c, a, arena_printf(a, "%s%s", path, query), e);
        if (e->code && e->code != E_NOTFOUND)
            return NULL;
    }
    return found;
}

const char *job_path(const struct connection *c, struct arena *a, enum job_kind kind, const struct json *object, const char *name)
{
    const struct job_kind_row *k = &job_kinds[kind];
    const char *slash = strchr(json_get_text(object, "apiVersion", ""), '/'),
               *version = k->version ? k->version : slash ? slash + 1 : native_versions[0].version;
    return kube_path(a, k->group, version, k->plural, c->ns, name, NULL);
}

const struct json *job_read(struct connection *c, struct arena *a, enum job_kind kind, const char *ns, const char *name, struct err *e)
{
    return ask(c, a, kind, ns, name, "", e);
}

const struct json *job_get(struct connection *c, struct arena *a, enum job_kind kind, const char *name, struct err *e)
{
    return job_read(c, a, kind, c->ns, name, e);
}

const struct json *job_items(struct connection *c, struct arena *a, enum job_kind kind, bool everywhere)
{
    struct err e = {0};
    return json_get(ask(c, a, kind, everywhere ? NULL : c->ns, NULL, "", &e), "items");
}

/* ---- what was meant, where there is none of that name ---- */

/* Of the first so many; everywhere, or where the user may not look there, in his namespace. */
static const struct json *some_items(struct connection *c, struct arena *a, enum job_kind kind)
{
    struct err e = {0};
    const char *some = arena_printf(a, "?limit=%d", SOME_ITEMS);
    const struct json *list = ask(c, a, kind, NULL, NULL, some, &e);
    if (!list && e.code == E_DENIED)
        list = ask(c, a, kind, c->ns, NULL, some, &e);
    return json_get(list, "items");
}

/* "; there is one in namespace x: -n x", "; did you mean y?", or "". */
static const char *what_was_meant(struct connection *c, struct arena *a, const char *called, const char *name)
{
    _cleanup_buf_ struct buf names = {0};
    int end = text_equal(called, " job ") ? JOB_KIND_WORKLOAD : JOB_KINDS_N; /* names of Workloads and pods are made up */
    buf_text(&names, "");
    for (int i = 0; i < end; i++) {
        if (!is_called(&job_kinds[i], called))
            continue;
        JSON_EACH (item, some_items(c, a, (enum job_kind)i)) {
            const char *ns = object_meta(item, "namespace"), *is = object_meta(item, "name");
            if (!text_equal(ns, c->ns) && text_equal(is, name))
                return arena_printf(a, "; there is one in namespace %s: -n %s", ns, ns);
            if (text_equal(ns, c->ns))
                buf_printf(&names, "%s%s", names.n ? " " : "", is);
        }
    }
    char near[64];
    return option_near(name, names.data, near) ? arena_printf(a, "; did you mean %s?", near) : "";
}

/* Where to look for what is no job; NULL: nobody knows. */
static const char *shown_by(const char *called)
{
    return strstr(" queue queues clusterqueue clusterqueues cq localqueue localqueues lq cohort cohorts ", called) ? "capstan queues shows it"
           : strstr(" node nodes no gpu gpus ", called)                                                            ? "capstan nodes shows it"
           : strstr(" cronjob cronjobs cj ", called) ? "ask of one of its Jobs, which capstan jobs lists"
                                                     : NULL;
}

int job_find(struct connection *c, struct arena *a, const char *word, const char *name, enum job_kind *ret_kind,
             const struct json **ret_object, struct err *e)
{
    char *called = arena_printf(a, " %s ", word);
    bool known = false;
    for (char *at = called; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    for (int i = 0; i < JOB_KINDS_N; i++) {
        if (!is_called(&job_kinds[i], called))
            continue;
        known = true;
        struct err one = {0};
        const struct json *object = job_get(c, a, (enum job_kind)i, name, &one);
        if (object) {
            *ret_object = object;
            *ret_kind = (enum job_kind)i;
            return 0;
        }
        if (one.code != E_NOTFOUND) {
            *e = one;
            return -one.code;
        }
    }
    struct err one = {0};
    const struct json *group = strstr(job_kinds[JOB_KIND_NATIVE].names, called) ? job_get(c, a, JOB_KIND_WORKLOAD, name, &one) : NULL;
    if (group && job_is_pod_group(group)) {
        *ret_object = group;
        *ret_kind = JOB_KIND_WORKLOAD;
        return 0;
    }
    const char *instead = shown_by(called);
    if (instead)
        return err_set(e, E_INVALID, "%s: it does not wait by itself: %s", word, instead);
    if (!known)
        return err_set(e, E_INVALID, "%s: not a kind that waits; use job, vcjob, trainjob, jobset, mpijob, pytorchjob, tfjob, xgboostjob, "
                       "jaxjob, paddlejob, rayjob, raycluster, rayservice, sparkapplication, workload, podgroup, compositepodgroup, pod, deployment, "
                       "replicaset, statefulset, daemonset or leaderworkerset",
                       word);
    return err_set(e, E_NOTFOUND, "no %s named %s in namespace %s%s", word, name, c->ns, what_was_meant(c, a, called, name));
}

const struct queued_kind *job_queued_kind(enum job_kind kind)
{
    return queued_kind_of(job_kinds[kind].group, job_kinds[kind].plural);
}

bool job_is_pod_group(const struct json *workload)
{
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    return text_equal(json_get_text(owner, "kind", ""), "Pod");
}

const struct json *job_owned_by(const struct json *list, const char *uid)
{
    JSON_EACH (item, list)
        JSON_EACH (owner, json_path(item, "metadata", "ownerReferences", NULL))
            if (strcmp(json_get_text(owner, "uid", ""), uid) == 0)
                return item;
    return NULL;
}

bool job_split(struct arena *a, const char *what, const char **ret_word, const char **ret_name)
{
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    const char *slash = strchr(what, '/');
    *ret_name = slash ? slash + 1 : what;
    *ret_word = slash ? arena_text_n(a, what, (size_t)(slash - what)) : "job";
    return **ret_name && (*ret_name)[strspn(*ret_name, in_names)] == '\0' && strcmp(*ret_name, ".") != 0 && strcmp(*ret_name, "..") != 0;
}
