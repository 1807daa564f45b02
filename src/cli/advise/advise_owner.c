/* advise_owner.c - whose a pod is: the Deployment behind its ReplicaSet, the Job, the Workload of a queue */
#include "cli/advise/advise.h"
#include "kube/object.h"

static const struct {
    const char *kind, *group, *version, *plural;
} makers[] = {{"Job", "batch", "v1", "jobs"},
              {"Deployment", "apps", "v1", "deployments"},
              {"StatefulSet", "apps", "v1", "statefulsets"},
              {"ReplicaSet", "apps", "v1", "replicasets"},
              {"Pod", "", "v1", "pods"}};

static void owner_take(struct advise *x, struct advise_owner *o, const char *ns, const char *kind, const char *name)
{
    o->kind = kind;
    o->about = arena_printf(x->a, "%s %s/%s", kind, ns, name);
    o->object = NULL;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (text_equal(makers[i].kind, kind)) {
            o->api_version = *makers[i].group ? arena_printf(x->a, "%s/%s", makers[i].group, makers[i].version) : makers[i].version;
            o->object = advise_get(x, kube_path(x->a, makers[i].group, makers[i].version, makers[i].plural, ns, name, NULL));
        }
}

struct advise_owner advise_owner_of(struct advise *x, const char *ns, const char *pod)
{
    struct advise_owner o = {0};
    owner_take(x, &o, ns, "Pod", pod);
    const char *workload = object_annotation(o.object, "kueue.x-k8s.io/workload");
    if (*workload)
        o.workload = advise_get(x, kube_path(x->a, "kueue.x-k8s.io", "v1beta2", "workloads", ns, workload, NULL));
    for (int depth = 0; depth < 3 && o.object && *object_controller(o.object, "kind"); depth++) /* pod, ReplicaSet, Deployment */
        owner_take(x, &o, ns, object_controller(o.object, "kind"), object_controller(o.object, "name"));
    return o;
}

struct json *advise_template(const char *kind, struct json *object)
{
    if (text_equal(kind, "Pod"))
        return object;
    return text_equal(kind, "Job") || text_equal(kind, "Deployment") || text_equal(kind, "StatefulSet")
               ? json_path(object, "spec", "template", NULL)
               : NULL;
}

static void job_made_again(struct json *job)
{
    static const char *const theirs[] = {"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
                                         "batch.kubernetes.io/job-name"};
    (void)json_remove(json_get(job, "spec"), "selector");
    struct json *const labels[] = {json_path(job, "metadata", "labels", NULL),
                                   json_path(job, "spec", "template", "metadata", "labels", NULL)};
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; labels[l] && i < sizeof theirs / sizeof *theirs; i++)
            (void)json_remove(labels[l], theirs[i]);
}

void advise_made_again(const char *kind, struct json *object)
{
    static const char *const placed[] = {"nodeName", "serviceAccount", "schedulingGates"};
    struct json *annotations = json_path(object, "metadata", "annotations", NULL);
    if (text_equal(kind, "Job"))
        job_made_again(object);
    if (!text_equal(kind, "Pod"))
        return;
    for (size_t i = 0; i < sizeof placed / sizeof *placed; i++)
        (void)json_remove(json_get(object, "spec"), placed[i]);
    if (annotations)
        (void)json_remove(annotations, "capstan.dev/devices");
}
