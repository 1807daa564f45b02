/* deployment.c - reconcile: find the ReplicaSet of the template, scale new and old ones step by step, report */
#include "jobs/apps/deployment.h"
#include <stdlib.h>
#include "base/clock.h"
#include "jobs/batch/claim.h"
#include "jobs/batch/owners.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

#define REVISION "deployment.kubernetes.io/revision"
#define HASH_LABEL "pod-template-hash"
#define SETS_MAX 256 /* ReplicaSets of one deployment that are looked at: revisionHistoryLimit keeps them few */

struct deployments {
    struct loop *loop;
    struct owners deployments;
    struct kube_cache *sets; /* ReplicaSets: marked by the uid of their controller, orphans by "ns/" */
};

struct rollout {
    struct deployments *d;
    struct work *work;
    const struct json *deployment, *spec, *metadata;
    const struct json *sets[SETS_MAX]; /* ours, any order */
    uint32_t sets_n;
    const struct json *current; /* the one with this template; NULL = to be made */
    const char *hash;
    int64_t replicas, revision_max;
};

static int64_t replicas_of(const struct json *set)
{
    return json_get_int64(json_get(set, "spec"), "replicas", 1);
}

static int64_t revision_of(const struct json *set)
{
    int64_t revision = 0;
    bytes_int64(json_bytes(json_path(set, "metadata", "annotations", REVISION, NULL)), &revision);
    return revision;
}

/* WHY compared and not found by hash: `rollout undo` writes the old template with its fields in another order. The oldest wins. */
static void find_current(struct rollout *r)
{
    struct arena *a = r->work->arena;
    const struct json *wanted = pod_template_plain(a, json_get(r->spec, "template"), HASH_LABEL);
    for (uint32_t i = 0; i < r->sets_n; i++) {
        if (!json_equal(pod_template_plain(a, json_path(r->sets[i], "spec", "template", NULL), HASH_LABEL), wanted))
            continue;
        if (r->current && strcmp(json_get_text(json_get(r->current, "metadata"), "creationTimestamp", ""),
                                 json_get_text(json_get(r->sets[i], "metadata"), "creationTimestamp", "")) <= 0)
            continue;
        r->current = r->sets[i];
    }
    const char *hash = json_text(json_path(r->current, "metadata", "labels", HASH_LABEL, NULL), "");
    if (*hash)
        r->hash = hash;
}

/* Sets of one mark (on_set): the Deployment's own, or those of its namespace that nobody controls. */
static void find_sets_of(struct rollout *r, const char *mark)
{
    size_t at = 0;
    struct bytes key, raw;
    while (r->sets_n < SETS_MAX && kube_cache_next_of(r->d->sets, mark, &at, &key, &raw)) {
        struct json *set = json_parse(r->work->arena, raw, NULL, NULL);
        const char *path = kube_path(r->work->arena, "apps", "v1", "replicasets", r->work->ns,
                                     json_get_text(json_get(set, "metadata"), "name", ""), NULL);
        enum claim claim = claim_of(r->deployment, "Deployment", json_get(r->spec, "selector"), set);
        if (claim == CLAIM_ADOPT)
            claim_adopt(r->work, path, "apps/v1", "Deployment", r->deployment, set);
        else if (claim == CLAIM_RELEASE)
            claim_release(r->work, path, r->deployment, set);
        if (claim == CLAIM_NONE || claim == CLAIM_RELEASE)
            continue;
        r->sets[r->sets_n++] = set;
        if (revision_of(set) > r->revision_max)
            r->revision_max = revision_of(set);
    }
}

static void find_sets(struct rollout *r)
{
    find_sets_of(r, object_meta(r->deployment, "uid"));
    find_sets_of(r, arena_printf(r->work->arena, "%s/", r->work->ns));
    find_current(r);
}

/* ---- writes ---- */

static void act_patch(struct rollout *r, const char *plural, const char *name, const char *format, int64_t number)
{
    struct arena *a = r->work->arena;
    const char *text = arena_printf(a, format, (long long)number);
    work_patch(r->work, KUBE_PATCH_MERGE, kube_path(a, "apps", "v1", plural, r->work->ns, name, NULL),
               json_parse(a, bytes_of(text), NULL, NULL));
}

static void act_scale(struct rollout *r, const struct json *set, int64_t replicas)
{
    if (replicas != replicas_of(set))
        act_patch(r, "replicasets", json_get_text(json_get(set, "metadata"), "name", ""),
                  "{\"spec\":{\"replicas\":%lld}}", replicas);
}

/* SOURCE Kubernetes: what the deployment says of itself its sets say too, but for what is about the deployment alone. */
static bool is_passed(const char *annotation)
{
    static const char *const own[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                      REVISION,
                                      "deployment.kubernetes.io/revision-history",
                                      "deployment.kubernetes.io/desired-replicas",
                                      "deployment.kubernetes.io/max-replicas",
                                      "deprecated.deployment.rollback.to"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_equal(annotation, own[i]))
            return false;
    return true;
}

/* Those that differ from what `has` says, into `into`. */
static void pass_annotations(struct rollout *r, struct json *into, const struct json *has)
{
    JSON_EACH (annotation, json_get(r->metadata, "annotations"))
        if (is_passed(annotation->key) && !json_equal(json_get(has, annotation->key), annotation))
            json_set(r->work->arena, into, annotation->key, json_clone(r->work->arena, annotation));
}

static void act_create_set(struct rollout *r, int64_t replicas)
{
    struct arena *a = r->work->arena;
    struct json *set = json_new(a, JSON_OBJECT);
    json_set_text(a, set, "apiVersion", "apps/v1");
    json_set_text(a, set, "kind", "ReplicaSet");
    struct json *metadata = json_ensure_object(a, set, "metadata");
    json_set_text(a, metadata, "name", arena_printf(a, "%s-%s", r->work->name, r->hash));
    json_set_text(a, metadata, "namespace", r->work->ns);
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), REVISION,
                  arena_printf(a, "%lld", (long long)r->revision_max + 1));
    pass_annotations(r, json_get(metadata, "annotations"), NULL);
    const struct json *template_labels = json_path(r->spec, "template", "metadata", "labels", NULL);
    json_set(a, metadata, "labels", template_labels ? json_clone(a, template_labels) : json_new(a, JSON_OBJECT));
    json_set_text(a, json_get(metadata, "labels"), HASH_LABEL, r->hash);
    owner_reference_add(a, metadata, r->deployment, "apps/v1", "Deployment");
    struct json *spec = json_ensure_object(a, set, "spec");
    json_set_int64(a, spec, "replicas", replicas);
    json_set(a, spec, "selector", json_clone(a, json_get(r->spec, "selector")));
    json_set_text(a, json_ensure_object(a, json_get(spec, "selector"), "matchLabels"), HASH_LABEL, r->hash);
    json_set(a, spec, "template", json_clone(a, json_get(r->spec, "template")));
    struct json *to = json_ensure_object(a, json_get(spec, "template"), "metadata");
    json_set_text(a, json_ensure_object(a, to, "labels"), HASH_LABEL, r->hash);
    work_create(r->work, kube_path(a, "apps", "v1", "replicasets", r->work->ns, NULL, NULL), set);
}

/* ---- rolling ---- */

/* Rounded up for surge, down for unavailable; 25% where nothing is said. */
static int64_t share(const struct json *value, int64_t total, bool up)
{
    return pod_share(value, (total * 25 + (up ? 99 : 0)) / 100, total, up);
}

struct totals {
    int64_t all_n, ready_n, old_n;
};

static struct totals totals_of(const struct rollout *r)
{
    struct totals t = {0};
    for (uint32_t i = 0; i < r->sets_n; i++) {
        t.all_n += replicas_of(r->sets[i]);
        t.ready_n += json_get_int64(json_get(r->sets[i], "status"), "readyReplicas", 0);
        t.old_n += r->sets[i] == r->current ? 0 : replicas_of(r->sets[i]);
    }
    return t;
}

static void scale_old(struct rollout *r, int64_t may_go)
{
    for (uint32_t i = 0; i < r->sets_n && may_go > 0; i++) {
        int64_t have = replicas_of(r->sets[i]);
        if (r->sets[i] == r->current || have == 0)
            continue;
        int64_t go = have < may_go ? have : may_go;
        act_scale(r, r->sets[i], have - go);
        may_go -= go;
    }
}

static void roll(struct rollout *r)
{
    const struct json *strategy = json_get(r->spec, "strategy"), *rolling = json_get(strategy, "rollingUpdate");
    struct totals t = totals_of(r);
    bool recreate = text_equal(json_get_text(strategy, "type", ""), "Recreate");
    int64_t surge = recreate ? 0 : share(json_get(rolling, "maxSurge"), r->replicas, true);
    int64_t unavailable = recreate ? r->replicas : share(json_get(rolling, "maxUnavailable"), r->replicas, false);
    if (surge == 0 && unavailable == 0)
        unavailable = 1;
    int64_t current = r->current ? replicas_of(r->current) : 0;
    int64_t want = r->replicas + surge - t.old_n;
    want = want > r->replicas || t.old_n == 0         ? r->replicas
           : want < current && current <= r->replicas ? current
           : want < 0                                 ? 0
                                                      : want;
    if (recreate && t.old_n > 0)
        want = 0;
    if (!r->current)
        act_create_set(r, want);
    else
        act_scale(r, r->current, want);
    int64_t current_ready = json_get_int64(json_get(r->current, "status"), "readyReplicas", 0);
    int64_t old_ready = t.ready_n - current_ready;
    int64_t spare = t.ready_n - (r->replicas - unavailable), not_ready = t.old_n - old_ready;
    scale_old(r, recreate ? t.old_n : (spare > 0 ? spare : 0) + (not_ready > 0 ? not_ready : 0));
}

static void remove_history(struct rollout *r)
{
    int64_t keep = json_get_int64(r->spec, "revisionHistoryLimit", 10);
    for (;;) {
        const struct json *oldest = NULL;
        int64_t empty_n = 0;
        uint32_t at = 0;
        for (uint32_t i = 0; i < r->sets_n; i++) {
            if (r->sets[i] == r->current || replicas_of(r->sets[i]) > 0 ||
                json_get_int64(json_get(r->sets[i], "status"), "replicas", 0) > 0)
                continue;
            empty_n++;
            if (!oldest || revision_of(r->sets[i]) < revision_of(oldest)) {
                oldest = r->sets[i];
                at = i;
            }
        }
        if (empty_n <= keep || !oldest)
            return;
        const struct json *metadata = json_get(oldest, "metadata");
        work_delete(r->work,
                    kube_path(r->work->arena, "apps", "v1", "replicasets", r->work->ns,
                              json_get_text(metadata, "name", ""), NULL),
                    json_get_text(metadata, "uid", ""), "Background");
        r->sets[at] = r->sets[--r->sets_n];
    }
}

/* ---- status ---- */

static void set_condition(struct rollout *r, struct json *list, const char *type, bool holds, const char *reason,
                          const char *message)
{
    struct arena *a = r->work->arena;
    char now[TIME_TEXT_MAX];
    time_format(now, loop_wall_ms(r->d->loop));
    struct json *found = NULL;
    JSON_EACH (c, list)
        if (text_equal(json_get_text(c, "type", ""), type))
            found = c;
    const char *status = holds ? "True" : "False";
    if (found && text_equal(json_get_text(found, "status", ""), status) &&
        text_equal(json_get_text(found, "reason", ""), reason))
        return;
    bool moved = !found || !text_equal(json_get_text(found, "status", ""), status);
    if (!found)
        json_append(list, found = json_new(a, JSON_OBJECT));
    json_set_text(a, found, "type", type);
    json_set_text(a, found, "status", status);
    json_set_text(a, found, "lastUpdateTime", now);
    if (moved)
        json_set_text(a, found, "lastTransitionTime", now);
    json_set_text(a, found, "reason", reason);
    json_set_text(a, found, "message", message);
}

static void write_status(struct rollout *r)
{
    struct arena *a = r->work->arena;
    const struct json *old = json_get(r->deployment, "status");
    struct json *status = old ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    int64_t ready_n = 0, pods_n = 0, updated_n = json_get_int64(json_get(r->current, "status"), "replicas", 0);
    for (uint32_t i = 0; i < r->sets_n; i++) {
        ready_n += json_get_int64(json_get(r->sets[i], "status"), "readyReplicas", 0);
        pods_n += json_get_int64(json_get(r->sets[i], "status"), "replicas", 0);
    }
    json_set_int64(a, status, "observedGeneration", json_get_int64(r->metadata, "generation", 1));
    json_set_int64(a, status, "replicas", pods_n);
    json_set_int64(a, status, "updatedReplicas", updated_n);
    json_set_int64(a, status, "readyReplicas", ready_n);
    json_set_int64(a, status, "availableReplicas", ready_n);
    json_set_int64(a, status, "unavailableReplicas", r->replicas > ready_n ? r->replicas - ready_n : 0);
    struct json *conditions = json_ensure_array(a, status, "conditions");
    int64_t least = r->replicas - share(json_path(r->spec, "strategy", "rollingUpdate", "maxUnavailable", NULL),
                                        r->replicas, false);
    bool available = ready_n >= least;
    set_condition(
        r, conditions, "Available", available, available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
        available ? "Deployment has minimum availability." : "Deployment does not have minimum availability.");
    bool done = updated_n == r->replicas && pods_n == updated_n && ready_n >= r->replicas;
    const char *set = arena_printf(a, "ReplicaSet \"%s-%s\" %s.", r->work->name, r->hash,
                                   done ? "has successfully progressed" : "is progressing");
    set_condition(r, conditions, "Progressing", true, done ? "NewReplicaSetAvailable" : "ReplicaSetUpdated", set);
    if (json_equal(old, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(r->work, KUBE_PATCH_MERGE,
               kube_path(a, "apps", "v1", "deployments", r->work->ns, r->work->name, "status"), patch);
}

static void write_revision(struct rollout *r)
{
    if (!r->current)
        return;
    int64_t revision = revision_of(r->current), shown = 0;
    if (revision < r->revision_max) {
        revision = r->revision_max + 1;
        act_patch(r, "replicasets", json_get_text(json_get(r->current, "metadata"), "name", ""),
                  "{\"metadata\":{\"annotations\":{\"" REVISION "\":\"%lld\"}}}", revision);
    }
    struct arena *a = r->work->arena;
    const struct json *set = json_get(r->current, "metadata");
    struct json *patch = json_new(a, JSON_OBJECT), *passed = json_ensure_object(a, json_ensure_object(a, patch, "metadata"), "annotations");
    pass_annotations(r, passed, json_get(set, "annotations"));
    if (passed->n)
        work_patch(r->work, KUBE_PATCH_MERGE,
                   kube_path(a, "apps", "v1", "replicasets", r->work->ns, json_get_text(set, "name", ""), NULL), patch);
    bytes_int64(json_bytes(json_path(r->metadata, "annotations", REVISION, NULL)), &shown);
    if (shown != revision)
        act_patch(r, "deployments", r->work->name, "{\"metadata\":{\"annotations\":{\"" REVISION "\":\"%lld\"}}}",
                  revision);
}

static bool is_synced(void *arg)
{
    struct deployments *d = arg;
    return kube_cache_synced(d->deployments.cache) && kube_cache_synced(d->sets);
}

static void reconcile(void *arg, struct work *w)
{
    struct deployments *d = arg;
    if (!is_synced(d))
        return;
    struct rollout r = {.d = d, .work = w, .deployment = kube_cache_get(d->deployments.cache, w->ns, w->name, w->arena)};
    r.metadata = json_get(r.deployment, "metadata");
    r.spec = json_get(r.deployment, "spec");
    if (!r.deployment || json_get(r.metadata, "deletionTimestamp"))
        return;
    r.replicas = json_get_int64(r.spec, "replicas", 1);
    r.hash = pod_template_hash(w->arena, pod_template_plain(w->arena, json_get(r.spec, "template"), HASH_LABEL));
    find_sets(&r);
    if (!json_get_bool(r.spec, "paused", false))
        roll(&r);
    else if (r.current)
        act_scale(&r, r.current, r.replicas);
    write_revision(&r);
    remove_history(&r);
    write_status(&r);
}

static void on_set(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct deployments *d = arg;
    (void)event;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *set = json_parse(a, object, NULL, NULL);
    const char *owner = object_controller(set, "uid");
    kube_cache_mark(d->sets, key, *owner ? owner : arena_printf(a, "%s/", object_meta(set, "namespace")));
    if (text_equal(object_controller(set, "kind"), "Deployment"))
        owners_child_changed(&d->deployments, object_meta(set, "namespace"), object_controller(set, "name"), owner, NULL);
    else if (!*owner)
        owners_orphan_seen(&d->deployments, object_meta(set, "namespace"), json_path(set, "metadata", "labels", NULL));
}

static void on_sets_synced(void *arg)
{
    struct deployments *d = arg;
    owners_look_at_all(&d->deployments);
}

struct deployments *deployments_new(struct kube_client *c)
{
    struct deployments *d = mem_zero(1, sizeof *d);
    d->loop = kube_client_loop(c);
    d->sets = kube_cache_new(
        c, &(struct kube_cache_config){
               .watch = {.path = "/apis/apps/v1/replicasets"}, .on_change = on_set, .on_synced = on_sets_synced, .arg = d});
    d->deployments = (struct owners){.is_synced = is_synced, .controller = d};
    owners_start(&d->deployments, c, "/apis/apps/v1/deployments", reconcile);
    return d;
}

void deployments_free(struct deployments *d)
{
    if (!d)
        return;
    owners_stop(&d->deployments);
    kube_cache_free(d->sets);
    free(d);
}
