/* daemon_set.c - reconcile: find the revisions, judge the nodes, plan, make and end pods, write the status */
#include "jobs/apps/daemon_set.h"
#include <stdlib.h>
#include "jobs/apps/node_view.h"
#include "jobs/apps/revision.h"
#include "jobs/batch/owners.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

#define KIND "DaemonSet"
#define HASH_LABEL "controller-revision-hash"

struct daemon_sets {
    struct kube_client *client;
    struct loop *loop;
    double speed;
    struct random random;
    struct owners sets;
    struct revisions *revisions; /* NULL, like the next two: no set has been seen yet */
    struct node_view *nodes;
    struct job_pods *pods;
};

/* One pass over one set. */
struct pass {
    struct daemon_sets *d;
    struct work *work;
    const struct json *set, *spec, *status;
    struct json *template; /* with the tolerations of daemons */
    struct revision_list revisions;
    const struct job_pod *const *pods;
    uint32_t pods_n;
    struct daemon_plan plan;
};

/* ---- pods ---- */

static void tolerate(struct arena *a, struct json *tolerations, const char *key, const char *effect)
{
    JSON_EACH (old, tolerations)
        if (text_equal(json_get_text(old, "key", ""), key) && text_equal(json_get_text(old, "effect", ""), effect))
            return;
    struct json *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "key", key);
    json_set_text(a, one, "operator", "Exists");
    json_set_text(a, one, "effect", effect);
    json_append(tolerations, one);
}

/* SOURCE Kubernetes, "Taints and tolerations" of DaemonSets: a daemon stays on a node that is not well. */
static struct json *daemon_template(struct arena *a, const struct json *set)
{
    struct json *template = json_clone(a, json_path(set, "spec", "template", NULL)), *spec = json_ensure_object(a, template, "spec");
    struct json *tolerations = json_ensure_array(a, spec, "tolerations");
    tolerate(a, tolerations, "node.kubernetes.io/not-ready", "NoExecute");
    tolerate(a, tolerations, "node.kubernetes.io/unreachable", "NoExecute");
    tolerate(a, tolerations, "node.kubernetes.io/disk-pressure", "NoSchedule");
    tolerate(a, tolerations, "node.kubernetes.io/memory-pressure", "NoSchedule");
    tolerate(a, tolerations, "node.kubernetes.io/pid-pressure", "NoSchedule");
    tolerate(a, tolerations, "node.kubernetes.io/unschedulable", "NoSchedule");
    if (json_get_bool(spec, "hostNetwork", false))
        tolerate(a, tolerations, "node.kubernetes.io/network-unavailable", "NoSchedule");
    return template;
}

/* Required terms of the template have been judged: this one stands for them. */
static void hold_to_node(struct arena *a, struct json *spec, const char *node)
{
    struct json *affinity = json_ensure_object(a, json_ensure_object(a, spec, "affinity"), "nodeAffinity");
    const char *text = arena_printf(a,
                                    "{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
                                    "\"values\":[\"%s\"]}]}]}",
                                    node);
    json_set(a, affinity, "requiredDuringSchedulingIgnoredDuringExecution", json_parse(a, bytes_of(text), NULL, NULL));
}

static void act_create(const struct pass *p, const char *node)
{
    struct arena *a = p->work->arena;
    struct json *pod = pod_from_template(a, &p->d->random, p->template, p->set, "apps/v1", KIND, p->work->name);
    json_set_text(a, json_ensure_object(a, json_get(pod, "metadata"), "labels"), HASH_LABEL, p->revisions.hash);
    hold_to_node(a, json_get(pod, "spec"), node);
    job_pods_create(p->d->pods, a, p->work->key, pod, -1);
}

static void act_remove(const struct pass *p, const struct job_pod *pod)
{
    work_delete(p->work, kube_path(p->work->arena, "", "v1", "pods", pod->ns, pod->name, NULL), pod->uid, "Background");
}

/* ---- status ---- */

static void write_status(const struct pass *p)
{
    struct arena *a = p->work->arena;
    const struct daemon_plan *plan = &p->plan;
    struct json *status = p->status ? json_clone(a, p->status) : json_new(a, JSON_OBJECT);
    json_set_int64(a, status, "observedGeneration", json_int64(json_path(p->set, "metadata", "generation", NULL), 1));
    json_set_int64(a, status, "desiredNumberScheduled", plan->desired_n);
    json_set_int64(a, status, "currentNumberScheduled", plan->scheduled_n);
    json_set_int64(a, status, "numberMisscheduled", plan->misscheduled_n);
    json_set_int64(a, status, "numberReady", plan->ready_n);
    json_set_int64(a, status, "updatedNumberScheduled", plan->updated_n);
    json_set_int64(a, status, "numberAvailable", plan->available_n);
    json_set_int64(a, status, "numberUnavailable", plan->desired_n - plan->available_n);
    if (json_equal(p->status, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(p->work, KUBE_PATCH_MERGE,
               kube_path(a, "apps", "v1", "daemonsets", p->work->ns, p->work->name, "status"), patch);
}

/* ---- reconcile ---- */

static bool is_synced(void *arg)
{
    struct daemon_sets *d = arg;
    return d->pods && kube_cache_synced(d->sets.cache) && revisions_synced(d->revisions) && node_view_synced(d->nodes) &&
           job_pods_synced(d->pods);
}

static bool is_used(void *arg, const char *name)
{
    const struct pass *p = arg;
    const char *hash = strrchr(name, '-');
    for (uint32_t i = 0; hash && i < p->pods_n; i++)
        if (text_equal(p->pods[i]->revision, hash + 1))
            return true;
    return false;
}

static void plan(struct pass *p)
{
    struct arena *a = p->work->arena;
    const struct json *strategy = json_get(p->spec, "updateStrategy"), *rolling = json_get(strategy, "rollingUpdate");
    int64_t min_ready_ms = json_get_int64(p->spec, "minReadySeconds", 0) * 1000, wanted_n = 0;
    struct daemon_node *nodes;
    uint32_t nodes_n = node_view_judge(p->d->nodes, a, p->template, &nodes);
    for (uint32_t i = 0; i < nodes_n; i++)
        wanted_n += nodes[i].is_wanted;
    struct daemon_spec spec = {
        .update = p->revisions.hash,
        .is_on_delete = text_equal(json_get_text(strategy, "type", ""), "OnDelete"),
        .max_unavailable = pod_share(json_get(rolling, "maxUnavailable"), 1, wanted_n, true),
        .max_surge = pod_share(json_get(rolling, "maxSurge"), 0, wanted_n, true),
        .min_ready_ms = (int64_t)((double)min_ready_ms / p->d->speed),
    };
    if (spec.max_unavailable == 0 && spec.max_surge == 0)
        spec.max_unavailable = 1;
    daemon_set_plan(a, &spec, nodes, nodes_n, p->pods, p->pods_n, loop_wall_ms(p->d->loop), &p->plan);
}

static void reconcile(void *arg, struct work *w)
{
    struct daemon_sets *d = arg;
    if (!is_synced(d))
        return; /* all keys are added again when it is */
    struct pass p = {.d = d, .work = w, .set = kube_cache_get(d->sets.cache, w->ns, w->name, w->arena)};
    p.spec = json_get(p.set, "spec");
    p.status = json_get(p.set, "status");
    if (!p.set || object_deleting(p.set) || job_pods_claim(d->pods, w, p.set, "apps/v1", NULL))
        return;
    p.pods_n = job_pods_of(d->pods, object_meta(p.set, "uid"), w->arena, &p.pods);
    p.template = daemon_template(w->arena, p.set);
    revisions_find(d->revisions, w, p.set, &p.revisions);
    plan(&p);
    for (uint32_t i = 0; i < p.plan.create_n; i++)
        act_create(&p, p.plan.create[i]);
    for (uint32_t i = 0; i < p.plan.remove_n; i++)
        act_remove(&p, p.plan.remove[i]);
    if (p.plan.again_ms)
        work_again(w, p.plan.again_ms);
    write_status(&p);
    revisions_trim(w, p.set, &p.revisions, is_used, &p);
}

/* ---- changes ---- */

/* The first set. WHY  most clusters have none, and never watch pods, nodes and revisions for one. */
static void on_set(void *arg, enum kube_event event, const char *key)
{
    struct daemon_sets *d = arg;
    (void)key;
    if (d->pods || event == KUBE_DELETED)
        return;
    d->revisions = revisions_new(d->client, &(struct revisions_config){.kind = KIND,
                                                                       .hash_label = HASH_LABEL,
                                                                       .on_change = owners_revision_changed,
                                                                       .on_synced = owners_look_at_all,
                                                                       .arg = &d->sets});
    d->nodes = node_view_new(d->client, owners_look_at_all, owners_look_at_all, &d->sets);
    d->pods = job_pods_new(d->client, &(struct job_pods_config){.owner_kind = KIND,
                                                                .is_detailed = true,
                                                                .on_change = owners_child_changed,
                                                                .on_synced = owners_look_at_all,
                                                                .on_not_created = owners_pod_refused,
                                                                .on_orphan = owners_orphan_seen,
                                                                .arg = &d->sets});
}

struct daemon_sets *daemon_sets_new(struct kube_client *c, double speed, uint64_t seed)
{
    struct daemon_sets *d = mem_zero(1, sizeof *d);
    d->client = c;
    d->loop = kube_client_loop(c);
    d->speed = speed;
    d->random.state = seed;
    d->sets = (struct owners){.is_synced = is_synced, .on_event = on_set, .controller = d};
    owners_start(&d->sets, c, "/apis/apps/v1/daemonsets", reconcile);
    return d;
}

void daemon_sets_free(struct daemon_sets *d)
{
    if (!d)
        return;
    owners_stop(&d->sets);
    revisions_free(d->revisions);
    node_view_free(d->nodes);
    job_pods_free(d->pods);
    free(d);
}
