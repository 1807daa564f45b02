/* stateful_set.c - reconcile: find the revisions, plan, make and end pods with their claims, write the status */
#include "jobs/apps/stateful_set.h"
#include <stdlib.h>
#include "jobs/apps/revision.h"
#include "jobs/apps/stateful_set_plan.h"
#include "jobs/batch/owners.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

#define KIND "StatefulSet"

struct stateful_sets {
    struct kube_client *client;
    struct loop *loop;
    double speed;
    struct owners sets;
    struct revisions *revisions; /* NULL, like pods: no set has been seen yet */
    struct job_pods *pods;
};

/* One pass over one set. */
struct pass {
    struct stateful_sets *s;
    struct work *work;
    const struct json *set, *spec, *metadata, *status;
    struct revision_list revisions;
    const struct job_pod *const *pods;
    uint32_t pods_n;
    struct stateful_spec wanted;
    struct stateful_plan plan;
};

/* ---- claims ---- */

static const char *claim_name(const struct pass *p, const struct json *template, int64_t ordinal)
{
    return arena_printf(p->work->arena, "%s-%s-%lld", object_meta(template, "name"), p->work->name, (long long)ordinal);
}

static bool is_claim_deleted(const struct pass *p, const char *when)
{
    return text_equal(json_get_text(json_get(p->spec, "persistentVolumeClaimRetentionPolicy"), when, ""), "Delete");
}

/* A claim of the pod, made before it. One that is there already, from a pod before this one, is taken as it is. */
static void act_claim(const struct pass *p, const struct json *template, int64_t ordinal)
{
    struct arena *a = p->work->arena;
    struct json *claim = json_clone(a, template), *metadata = json_ensure_object(a, claim, "metadata");
    json_set_text(a, claim, "apiVersion", "v1");
    json_set_text(a, claim, "kind", "PersistentVolumeClaim");
    json_remove(claim, "status");
    json_set_text(a, metadata, "name", claim_name(p, template, ordinal));
    json_set_text(a, metadata, "namespace", p->work->ns);
    struct json *labels = json_ensure_object(a, metadata, "labels");
    JSON_EACH (label, json_path(p->spec, "selector", "matchLabels", NULL))
        json_set_text(a, labels, label->key, json_text(label, ""));
    if (is_claim_deleted(p, "whenDeleted"))
        owner_reference_add(a, metadata, p->set, "apps/v1", KIND);
    work_create(p->work, kube_path(a, "", "v1", "persistentvolumeclaims", p->work->ns, NULL, NULL), claim);
}

/* The claims of a pod that goes because there are fewer now: garbage as soon as it has gone, though the set stays. */
static void act_claims_leave(const struct pass *p, const struct job_pod *pod, int64_t ordinal)
{
    struct arena *a = p->work->arena;
    JSON_EACH (template, json_get(p->spec, "volumeClaimTemplates")) {
        const char *text = arena_printf(a,
                                        "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                                        "\"name\":\"%s\",\"uid\":\"%s\"},{\"$patch\":\"delete\",\"uid\":\"%s\"}]}}",
                                        pod->name, pod->uid, object_meta(p->set, "uid"));
        work_patch(p->work, KUBE_PATCH_STRATEGIC,
                   kube_path(a, "", "v1", "persistentvolumeclaims", p->work->ns, claim_name(p, template, ordinal), NULL),
                   json_parse(a, bytes_of(text), NULL, NULL));
    }
}

static void mount_claims(const struct pass *p, struct json *pod, int64_t ordinal)
{
    struct arena *a = p->work->arena;
    struct json *spec = json_get(pod, "spec");
    JSON_EACH (template, json_get(p->spec, "volumeClaimTemplates")) {
        const char *name = object_meta(template, "name");
        struct json *volumes = json_ensure_array(a, spec, "volumes"), *volume = json_new(a, JSON_OBJECT);
        JSON_EACH (old, volumes)
            if (text_equal(json_get_text(old, "name", ""), name)) {
                json_remove_item(volumes, old);
                break;
            }
        json_set_text(a, volume, "name", name);
        json_set_text(a, json_ensure_object(a, volume, "persistentVolumeClaim"), "claimName", claim_name(p, template, ordinal));
        json_append(volumes, volume);
    }
}

/* ---- pods ---- */

static void act_create(const struct pass *p, const struct stateful_create *create)
{
    struct arena *a = p->work->arena;
    const struct json *template = revision_template(&p->revisions, create->revision);
    const char *name = arena_printf(a, "%s-%lld", p->work->name, (long long)create->ordinal);
    if (!template)
        template = json_get(p->spec, "template"); /* its revision was deleted by hand */
    struct json *pod = pod_named_from_template(a, template, p->set, "apps/v1", KIND, name);
    struct json *labels = json_ensure_object(a, json_get(pod, "metadata"), "labels"), *spec = json_get(pod, "spec");
    json_set_text(a, labels, "statefulset.kubernetes.io/pod-name", name);
    json_set_text(a, labels, "apps.kubernetes.io/pod-index", arena_printf(a, "%lld", (long long)create->ordinal));
    json_set_text(a, labels, "controller-revision-hash", create->revision);
    json_set_text(a, spec, "hostname", name);
    json_set_text(a, spec, "subdomain", json_get_text(p->spec, "serviceName", ""));
    mount_claims(p, pod, create->ordinal);
    JSON_EACH (claim, json_get(p->spec, "volumeClaimTemplates"))
        act_claim(p, claim, create->ordinal);
    job_pods_create(p->s->pods, a, p->work->key, pod, -1);
}

static void act_remove(const struct pass *p, const struct job_pod *pod)
{
    int64_t ordinal = stateful_set_ordinal(p->work->name, pod->name), at = ordinal - p->wanted.first;
    if (is_claim_deleted(p, "whenScaled") && (at < 0 || at >= p->wanted.replicas))
        act_claims_leave(p, pod, ordinal);
    work_delete(p->work, kube_path(p->work->arena, "", "v1", "pods", pod->ns, pod->name, NULL), pod->uid, "Background");
}

/* ---- status ---- */

static void write_status(const struct pass *p)
{
    struct arena *a = p->work->arena;
    const struct stateful_plan *plan = &p->plan;
    struct json *status = p->status ? json_clone(a, p->status) : json_new(a, JSON_OBJECT);
    json_set_int64(a, status, "observedGeneration", json_get_int64(p->metadata, "generation", 1));
    json_set_int64(a, status, "replicas", plan->pods_n);
    json_set_int64(a, status, "readyReplicas", plan->ready_n);
    json_set_int64(a, status, "availableReplicas", plan->available_n);
    json_set_int64(a, status, "currentReplicas", plan->current_n);
    json_set_int64(a, status, "updatedReplicas", plan->updated_n);
    json_set_text(a, status, "currentRevision", plan->is_rolled_out ? p->wanted.update : p->wanted.current);
    json_set_text(a, status, "updateRevision", p->wanted.update);
    if (!json_get(status, "collisionCount"))
        json_set_int64(a, status, "collisionCount", 0);
    if (json_equal(p->status, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(p->work, KUBE_PATCH_MERGE,
               kube_path(a, "apps", "v1", "statefulsets", p->work->ns, p->work->name, "status"), patch);
}

/* ---- reconcile ---- */

static bool is_synced(void *arg)
{
    struct stateful_sets *s = arg;
    return s->pods && kube_cache_synced(s->sets.cache) && revisions_synced(s->revisions) && job_pods_synced(s->pods);
}

static bool is_used(void *arg, const char *name)
{
    const struct pass *p = arg;
    for (uint32_t i = 0; i < p->pods_n; i++)
        if (text_equal(p->pods[i]->revision, name))
            return true;
    return text_equal(p->wanted.current, name);
}

static bool is_member(const char *set, const char *pod)
{
    return stateful_set_ordinal(set, pod) >= 0;
}

static void wanted_read(struct pass *p)
{
    const struct json *strategy = json_get(p->spec, "updateStrategy");
    int64_t min_ready_ms = json_get_int64(p->spec, "minReadySeconds", 0) * 1000;
    const char *current = json_get_text(p->status, "currentRevision", "");
    p->wanted = (struct stateful_spec){
        .name = p->work->name,
        .first = json_get_int64(json_get(p->spec, "ordinals"), "start", 0),
        .replicas = json_get_int64(p->spec, "replicas", 1),
        .partition = json_get_int64(json_get(strategy, "rollingUpdate"), "partition", 0),
        .is_parallel = text_equal(json_get_text(p->spec, "podManagementPolicy", ""), "Parallel"),
        .is_on_delete = text_equal(json_get_text(strategy, "type", ""), "OnDelete"),
        .min_ready_ms = (int64_t)((double)min_ready_ms / p->s->speed),
        .update = p->revisions.update,
        .current = *current ? current : p->revisions.update,
    };
}

static void reconcile(void *arg, struct work *w)
{
    struct stateful_sets *s = arg;
    if (!is_synced(s))
        return; /* all keys are added again when it is */
    struct pass p = {.s = s, .work = w, .set = kube_cache_get(s->sets.cache, w->ns, w->name, w->arena)};
    p.metadata = json_get(p.set, "metadata");
    p.spec = json_get(p.set, "spec");
    p.status = json_get(p.set, "status");
    if (!p.set || object_deleting(p.set) || job_pods_claim(s->pods, w, p.set, "apps/v1", is_member))
        return;
    p.pods_n = job_pods_of(s->pods, object_meta(p.set, "uid"), w->arena, &p.pods);
    revisions_find(s->revisions, w, p.set, &p.revisions);
    wanted_read(&p);
    stateful_set_plan(w->arena, &p.wanted, p.pods, p.pods_n, loop_wall_ms(s->loop), &p.plan);
    for (uint32_t i = 0; i < p.plan.create_n; i++)
        act_create(&p, &p.plan.create[i]);
    for (uint32_t i = 0; i < p.plan.remove_n; i++)
        act_remove(&p, p.plan.remove[i]);
    if (p.plan.again_ms)
        work_again(w, p.plan.again_ms);
    write_status(&p);
    revisions_trim(w, p.set, &p.revisions, is_used, &p);
}

/* ---- changes ---- */

/* The first set. WHY  most clusters have none, and never watch pods and revisions for one. */
static void on_set(void *arg, enum kube_event event, const char *key)
{
    struct stateful_sets *s = arg;
    (void)key;
    if (s->pods || event == KUBE_DELETED)
        return;
    s->revisions = revisions_new(s->client, &(struct revisions_config){.kind = KIND,
                                                                       .hash_label = "controller.kubernetes.io/hash",
                                                                       .on_change = owners_revision_changed,
                                                                       .on_synced = owners_look_at_all,
                                                                       .arg = &s->sets});
    s->pods = job_pods_new(s->client, &(struct job_pods_config){.owner_kind = KIND,
                                                                .is_detailed = true,
                                                                .on_change = owners_child_changed,
                                                                .on_synced = owners_look_at_all,
                                                                .on_not_created = owners_pod_refused,
                                                                .on_orphan = owners_orphan_seen,
                                                                .arg = &s->sets});
}

struct stateful_sets *stateful_sets_new(struct kube_client *c, double speed)
{
    struct stateful_sets *s = mem_zero(1, sizeof *s);
    s->client = c;
    s->loop = kube_client_loop(c);
    s->speed = speed;
    s->sets = (struct owners){.is_synced = is_synced, .on_event = on_set, .controller = s};
    owners_start(&s->sets, c, "/apis/apps/v1/statefulsets", reconcile);
    return s;
}

void stateful_sets_free(struct stateful_sets *s)
{
    if (!s)
        return;
    owners_stop(&s->sets);
    revisions_free(s->revisions);
    job_pods_free(s->pods);
    free(s);
}
