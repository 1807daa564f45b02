/* replica_set.c - count, create or remove, write status */
#include "jobs/apps/replica_set.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "jobs/batch/owners.h"
#include "jobs/batch/pod_template.h"
#include "kube/object.h"

#define CREATE_BATCH 500

static const struct replica_names {
    const char *group, *api_version, *plural, *kind, *path;
} NAMES[] = {
    [REPLICA_SET] = {"apps", "apps/v1", "replicasets", "ReplicaSet", "/apis/apps/v1/replicasets"},
    [REPLICATION_CONTROLLER] = {"", "v1", "replicationcontrollers", "ReplicationController",
                                "/api/v1/replicationcontrollers"},
};

struct replica_sets {
    const struct replica_names *names;
    struct kube_client *client;
    struct owners sets;
    struct job_pods *pods; /* NULL: no set has been seen yet */
    struct kube_recorder *events;
    struct map *failures; /* key of a set -> char *: why its last pod was not created */
    struct random random;
};

struct counts {
    int64_t active_n, ready_n;
};

static bool is_active(const struct job_pod *p)
{
    return p->phase <= JOB_POD_RUNNING && !p->deleting;
}

static struct counts count(const struct job_pod *const *pods, uint32_t n)
{
    struct counts c = {0};
    for (uint32_t i = 0; i < n; i++) {
        c.active_n += is_active(pods[i]);
        c.ready_n += is_active(pods[i]) && pods[i]->ready;
    }
    return c;
}

/* Newest first, those that are not ready before those that are. */
static void remove_surplus(struct work *w, const struct job_pod *const *pods, uint32_t n, int64_t surplus)
{
    for (int ready = 0; ready < 2; ready++)
        for (uint32_t i = n; i-- > 0 && surplus > 0;) {
            const struct job_pod *p = pods[i];
            if (!is_active(p) || p->expected || p->ready != (ready == 1))
                continue;
            work_delete(w, kube_path(w->arena, "", "v1", "pods", p->ns, p->name, NULL), p->uid, "Background");
            surplus--;
        }
}

static void failure_drop(const struct replica_sets *r, const char *key)
{
    char **why = map_find_text(r->failures, key);
    if (!why)
        return;
    free(*why);
    map_remove(r->failures, bytes_of(key));
}

/* Condition ReplicaFailure, as long as pods are missing. */
static void set_failure(const struct replica_sets *r, struct work *w, struct json *status, bool is_short)
{
    char **why = map_find_text(r->failures, w->key);
    struct json *conditions = json_get(status, "conditions"), *found = NULL;
    JSON_EACH (c, conditions)
        if (text_equal(json_get_text(c, "type", ""), "ReplicaFailure"))
            found = c;
    if (why && is_short) {
        (void)object_condition_set(w->arena, json_ensure_array(w->arena, status, "conditions"), "ReplicaFailure", true, "FailedCreate",
                                   *why, loop_wall_ms(kube_client_loop(r->client)), 0);
        return;
    }
    if (found)
        json_remove_item(conditions, found);
    failure_drop(r, w->key);
}

static void write_status(const struct replica_sets *r, struct work *w, const struct json *set, const struct counts *c)
{
    struct arena *a = w->arena;
    const struct json *old = json_get(set, "status");
    struct json *status = old ? json_clone(a, old) : json_new(a, JSON_OBJECT);
    json_set_int64(a, status, "replicas", c->active_n);
    json_set_int64(a, status, "fullyLabeledReplicas", c->active_n);
    json_set_int64(a, status, "readyReplicas", c->ready_n);
    json_set_int64(a, status, "availableReplicas", c->ready_n);
    json_set_int64(a, status, "observedGeneration", json_get_int64(json_get(set, "metadata"), "generation", 1));
    set_failure(r, w, status, json_get_int64(json_get(set, "spec"), "replicas", 1) > c->active_n);
    if (json_equal(old, status))
        return;
    struct json *patch = json_new(a, JSON_OBJECT);
    json_set(a, patch, "status", status);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, r->names->group, "v1", r->names->plural, w->ns, w->name, "status"),
               patch);
}

static bool is_synced(void *arg)
{
    struct replica_sets *r = arg;
    return r->pods && kube_cache_synced(r->sets.cache) && job_pods_synced(r->pods);
}

static void reconcile(void *arg, struct work *w)
{
    struct replica_sets *r = arg;
    if (!is_synced(r))
        return;
    struct json *set = kube_cache_get(r->sets.cache, w->ns, w->name, w->arena);
    const struct json *metadata = json_get(set, "metadata"), *spec = json_get(set, "spec");
    if (!set || json_get(metadata, "deletionTimestamp") || job_pods_claim(r->pods, w, set, r->names->api_version, NULL))
        return;
    const struct job_pod *const *pods;
    uint32_t n = job_pods_of(r->pods, json_get_text(metadata, "uid", ""), w->arena, &pods);
    struct counts c = count(pods, n);
    int64_t missing = json_get_int64(spec, "replicas", 1) - c.active_n;
    if (missing < 0)
        remove_surplus(w, pods, n, -missing);
    for (int64_t i = 0; i < missing && i < CREATE_BATCH; i++) {
        struct json *pod = pod_from_template(w->arena, &r->random, json_get(spec, "template"), set,
                                             r->names->api_version, r->names->kind, w->name);
        job_pods_create(r->pods, w->arena, w->key, pod, -1);
    }
    if (missing > CREATE_BATCH)
        work_again(w, 1);
    write_status(r, w, set, &c);
}

static void on_refused(void *arg, const char *key, int code, const char *why)
{
    struct replica_sets *r = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *slash = strchr(key, '/');
    const struct json *set = kube_cache_get(r->sets.cache, arena_text_n(a, key, (size_t)(slash - key)), slash + 1, a);
    if (code != -E_AGAIN && code != -E_IO && set) {
        struct kube_object_ref ref = {r->names->api_version, r->names->kind, object_meta(set, "namespace"), object_meta(set, "name"),
                                      object_meta(set, "uid")};
        kube_event(r->events, &ref, "Warning", "FailedCreate", "Error creating: %s", why);
        char **place = map_put(r->failures, bytes_of(key), NULL);
        free(*place);
        *place = mem_text(why);
    }
}

/* WHY    Without a set there is nothing to count: most clusters of jobs never watch their pods for this. */
static void on_set(void *arg, enum kube_event event, const char *key)
{
    struct replica_sets *r = arg;
    if (event == KUBE_DELETED)
        failure_drop(r, key);
    else if (!r->pods)
        r->pods = job_pods_new(r->client, &(struct job_pods_config){.owner_kind = r->names->kind,
                                                                    .on_change = owners_child_changed,
                                                                    .on_synced = owners_look_at_all,
                                                                    .on_not_created = owners_pod_refused,
                                                                    .on_orphan = owners_orphan_seen,
                                                                    .arg = &r->sets});
}

struct replica_sets *replica_sets_new(struct kube_client *c, struct kube_recorder *events, enum replica_kind kind, uint64_t seed)
{
    struct replica_sets *r = mem_zero(1, sizeof *r);
    r->events = events;
    r->failures = map_new(sizeof(char *));
    r->client = c;
    r->names = &NAMES[kind];
    r->random.state = seed;
    r->sets = (struct owners){.is_synced = is_synced, .on_event = on_set, .on_refused = on_refused, .controller = r};
    owners_start(&r->sets, c, r->names->path, reconcile);
    return r;
}

void replica_sets_free(struct replica_sets *r)
{
    if (!r)
        return;
    owners_stop(&r->sets);
    if (r->pods)
        job_pods_free(r->pods);
    size_t at = 0;
    for (char **why; (why = map_next(r->failures, &at, NULL));)
        free(*why);
    map_free(r->failures);
    free(r);
}
