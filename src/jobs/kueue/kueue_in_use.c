/* kueue_in_use.c - the finalizer kueue.x-k8s.io/resource-in-use: what is still needed goes last
 *
 *   ClusterQueue                      while a Workload that it admitted is neither over nor evicted
 *   ResourceFlavor, AdmissionCheck    while a ClusterQueue names it
 *   Topology                          while a ResourceFlavor names it
 *   Workload                          while its job or its pods are there and it is not over
 *
 * It is put on a queue when it is missing, on the next three when somebody names them (Workloads: when they are made, kueue_workload.c;
 * queues and flavors in `capstan up`: by its API server), and taken off what is being deleted as soon as nobody needs it. Who takes it off
 * by hand wants it gone: it is not put on again. A Workload that is deleted while its job runs is released by the job's own pass, once the
 * job is stopped and what its start put in is out again.
 * WHY not before somebody names it: who creates a flavor and changes it at once would have that refused as a conflict.
 * SOURCE Kueue: who moved from there has these finalizers on everything, and nobody else takes them off.
 */
#include "jobs/kueue/kueue_in_use.h"

enum { COLLECTED_MS = 2000 }; /* what the garbage collector has not taken by then it does not take */
enum held_kind { HELD_QUEUES, HELD_FLAVORS, HELD_CHECKS, HELD_TOPOLOGIES, HELD_N };
struct held {
    struct kueue_in_use *all;
    enum held_kind kind;
    struct kube_cache *cache;
    struct workqueue *queue;
};
struct kueue_in_use {
    struct jobs *jobs;
    struct held held[HELD_N];
    struct workqueue *workloads;
    bool queues_leaving; /* a ClusterQueue waits for its Workloads: their changes are looked at */
    bool closing;
};

static const char *const plurals[HELD_N] = {"clusterqueues", "resourceflavors", "admissionchecks", "topologies"};

/* ---- who needs it ---- */

/* Of which queue it runs, or "". What only holds a reservation loses nothing, and what was evicted stops anyway. */
static const char *runs_in(const struct json *workload)
{
    return kueue_admitted(workload) ? json_text(json_path(workload, "status", "admission", "clusterQueue", NULL), "") : "";
}

static bool queue_names_flavor(const struct json *queue, const char *name)
{
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors"))
            if (strcmp(json_get_text(flavor, "name", ""), name) == 0)
                return true;
    return false;
}

static bool queue_names_check(const struct json *queue, const char *name)
{
    JSON_EACH (check, json_path(queue, "spec", "admissionChecksStrategy", "admissionChecks", NULL))
        if (strcmp(json_get_text(check, "name", ""), name) == 0)
            return true;
    JSON_EACH (check, json_path(queue, "spec", "admissionChecks", NULL)) /* v1beta1 */
        if (strcmp(json_text(check, ""), name) == 0)
            return true;
    return false;
}

static bool flavor_names_topology(const struct json *flavor, const char *name)
{
    return strcmp(json_text(json_path(flavor, "spec", "topologyName", NULL), ""), name) == 0;
}

/* Does any object of the cache say so? WHY  the search before the parse: most do not name it at all. */
static bool any_needs(const struct kube_cache *cache, const char *name, bool (*needs)(const struct json *, const char *))
{
    struct arena *a = arena_new();
    size_t at = 0, name_n = strlen(name);
    struct bytes key, raw;
    bool found = false;
    while (!found && kube_cache_next(cache, &at, &key, &raw)) {
        arena_reset(a);
        found = memmem(raw.data, raw.n, name, name_n) && needs(json_parse(a, raw, NULL, NULL), name);
    }
    arena_free(a);
    return found;
}

static bool is_needed(const struct held *h, const char *name)
{
    const struct kueue_in_use *k = h->all;
    size_t at = 0;
    struct bytes key, raw;
    switch (h->kind) {
    case HELD_QUEUES:
        return kube_cache_next_of(k->jobs->workloads, name, &at, &key, &raw);
    case HELD_FLAVORS:
        return any_needs(k->held[HELD_QUEUES].cache, name, queue_names_flavor);
    case HELD_CHECKS:
        return any_needs(k->held[HELD_QUEUES].cache, name, queue_names_check);
    case HELD_TOPOLOGIES:
        return any_needs(k->held[HELD_FLAVORS].cache, name, flavor_names_topology);
    case HELD_N:
        break;
    }
    return false;
}

/* ---- queues, flavors, checks, topologies ---- */

static bool ready(const struct kueue_in_use *k)
{
    for (int i = 0; i < HELD_N; i++)
        if (!kube_cache_synced(k->held[i].cache))
            return false;
    return k->jobs->workloads && kube_cache_synced(k->jobs->workloads);
}

/* Marked is what was seen with the finalizer, by its uid: another of the same name may come later. */
static void reconcile(void *arg, struct work *w)
{
    struct held *h = arg;
    const struct json *object = ready(h->all) ? kube_cache_get(h->cache, "", w->name, w->arena) : NULL;
    if (!object)
        return;
    const char *key = arena_printf(w->arena, "/%s", w->name), *uid = object_meta(object, "uid");
    bool leaving = object_deleting(object), has = object_has_finalizer(object, KUEUE_IN_USE_FINALIZER);
    if (has && !leaving)
        kube_cache_mark(h->cache, key, uid);
    if (has ? !leaving : leaving || strcmp(kube_cache_marked(h->cache, key), uid) == 0)
        return;
    bool needed = (h->kind == HELD_QUEUES && !leaving) || is_needed(h, w->name);
    if (leaving && needed)
        h->all->queues_leaving = h->all->queues_leaving || h->kind == HELD_QUEUES;
    if (leaving == needed)
        return;
    struct json *patch = object_finalizer_patch(w->arena, object, KUEUE_IN_USE_FINALIZER, !leaving);
    if (patch)
        work_patch(w, KUBE_PATCH_MERGE,
                   kube_path(w->arena, "kueue.x-k8s.io", "v1beta2", plurals[h->kind], NULL, w->name, NULL), patch);
}

static void look_at(struct held *h, bool only_leaving)
{
    workqueue_add_all(h->queue, h->cache, only_leaving ? "\"deletionTimestamp\"" : NULL);
}

/* Somebody names it: it is given the finalizer unless it has it, or had it. */
static void named(struct held *h, struct arena *a, const struct json *name)
{
    const char *key = arena_printf(a, "/%s", json_text(name, ""));
    if (name && !*kube_cache_marked(h->cache, key))
        workqueue_add(h->queue, key);
}

static void look_at_named(struct held *all, enum held_kind of, struct bytes raw)
{
    struct arena *a = arena_new();
    const struct json *object = json_parse(a, raw, NULL, NULL);
    if (of == HELD_FLAVORS)
        named(&all[HELD_TOPOLOGIES], a, json_path(object, "spec", "topologyName", NULL));
    if (of == HELD_QUEUES) {
        JSON_EACH (group, json_path(object, "spec", "resourceGroups", NULL))
            JSON_EACH (flavor, json_get(group, "flavors"))
                named(&all[HELD_FLAVORS], a, json_get(flavor, "name"));
        JSON_EACH (check, json_path(object, "spec", "admissionChecksStrategy", "admissionChecks", NULL))
            named(&all[HELD_CHECKS], a, json_get(check, "name"));
        JSON_EACH (check, json_path(object, "spec", "admissionChecks", NULL)) /* v1beta1 */
            named(&all[HELD_CHECKS], a, check);
    }
    arena_free(a);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct held *h = arg;
    if (event != KUBE_DELETED) {
        workqueue_add(h->queue, key);
        look_at_named(h->all->held, h->kind, object);
    }
    if (h->kind == HELD_QUEUES) {
        look_at(&h->all->held[HELD_FLAVORS], true);
        look_at(&h->all->held[HELD_CHECKS], true);
    } else if (h->kind == HELD_FLAVORS) {
        look_at(&h->all->held[HELD_TOPOLOGIES], true);
    }
}

static void on_synced(void *arg)
{
    struct held *h = arg;
    kueue_in_use_synced(h->all);
}

void kueue_in_use_synced(struct kueue_in_use *k)
{
    size_t at = 0;
    struct bytes key, raw;
    if (k->closing || !ready(k))
        return;
    for (int i = 0; i < HELD_N; i++)
        look_at(&k->held[i], false);
    while (kube_cache_next(k->jobs->workloads, &at, &key, &raw)) {
        struct arena *a = arena_new();
        kueue_in_use_workload(k, json_parse(a, raw, NULL, NULL), arena_text_n(a, key.data, key.n));
        arena_free(a);
    }
}

/* ---- Workloads ---- */

/* Is there still somebody who will release it? *ret_leaving: somebody whose it is is being deleted. */
static bool is_owned(const struct jobs *j, const struct json *workload, bool *ret_leaving)
{
    bool served = false;
    *ret_leaving = false;
    JSON_EACH (owner, json_path(workload, "metadata", "ownerReferences", NULL)) {
        const char *ns = object_meta(workload, "namespace"), *kind = json_get_text(owner, "kind", ""),
                   *name = json_get_text(owner, "name", ""), *uid = json_get_text(owner, "uid", "");
        enum kueue_owner is = strcmp(kind, "Pod") == 0 ? kueue_pods_owner(j->kueue_pods, ns, name, uid)
                                                       : kueue_kinds_owner(j->kueue, kind, ns, name, uid);
        if (is == KUEUE_OWNER_FOREIGN)
            is = kueue_sets_owner(j->kueue_sets, kind, ns, name, uid);
        if (is == KUEUE_OWNER_THERE)
            return true;
        *ret_leaving = *ret_leaving || is == KUEUE_OWNER_LEAVING;
        served = served || is == KUEUE_OWNER_GONE || is == KUEUE_OWNER_LEAVING;
    }
    return !served && !object_deleting(workload); /* of nobody whom we know: it is its maker's until he deletes it */
}

/* Made for a job that has left it behind: `kubectl delete --cascade=orphan`. */
static bool is_orphan(const struct json *workload)
{
    const struct json *owners = json_path(workload, "metadata", "ownerReferences", NULL);
    return *object_label(workload, "kueue.x-k8s.io/job-uid") && (!owners || !owners->n);
}

/* SOURCE Kueue: a Workload without its owner is over, and its quota free. WHY later where it has one that is gone: the garbage collector
 * deletes it in a moment, and nothing needs to be said. WHY not of one that is admitted: who took its queue's label off is gone for us,
 * and may run on. */
static void release(void *arg, struct work *w)
{
    struct kueue_in_use *k = arg;
    struct json *workload = kube_cache_get(k->jobs->workloads, w->ns, w->name, w->arena);
    if (!workload)
        return;
    bool over = object_condition_true(workload, "Finished"), orphan = is_orphan(workload), leaving;
    bool owned = is_owned(k->jobs, workload, &leaving);
    if (!over && !orphan && owned)
        return;
    if (object_has_finalizer(workload, KUEUE_IN_USE_FINALIZER) && (over || !orphan || object_deleting(workload))) {
        kueue_workload_let_go(w, workload);
        work_again(w, COLLECTED_MS);
    } else if (!over && !leaving && !object_deleting(workload) && (orphan || !kueue_admitted(workload))) {
        kueue_workload_finish(w, workload, false, "OwnerNotFound", "The workload's owner no longer exists", loop_wall_ms(k->jobs->loop));
    }
}

void kueue_workload_let_go(struct work *w, const struct json *workload)
{
    struct json *patch = object_finalizer_patch(w->arena, workload, KUEUE_IN_USE_FINALIZER, false);
    if (patch)
        work_patch(w, KUBE_PATCH_MERGE, kueue_workload_path(w, object_meta(workload, "name"), NULL), patch);
}

void kueue_in_use_workload(struct kueue_in_use *k, const struct json *workload, const char *key)
{
    kube_cache_mark(k->jobs->workloads, key, runs_in(workload));
    bool over = object_condition_true(workload, "Finished"), held = object_has_finalizer(workload, KUEUE_IN_USE_FINALIZER);
    bool left = !held && object_condition_true(workload, "Evicted"); /* let go before, when its owner went */
    if ((held && (over || object_deleting(workload))) || (!over && (left || is_orphan(workload))))
        workqueue_add(k->workloads, key);
    if (!k->queues_leaving)
        return;
    k->queues_leaving = false; /* said again by those that still wait */
    look_at(&k->held[HELD_QUEUES], true);
}

void kueue_in_use_owner_gone(struct kueue_in_use *k, const char *key)
{
    if (!k->closing)
        workqueue_add(k->workloads, key);
}

void kueue_in_use_workload_gone(struct kueue_in_use *k)
{
    if (k->queues_leaving)
        look_at(&k->held[HELD_QUEUES], true);
}

/* ---- making ---- */

struct kueue_in_use *kueue_in_use_new(struct jobs *j)
{
    struct kueue_in_use *k = mem_zero(1, sizeof *k);
    struct arena *a = arena_new();
    k->jobs = j;
    k->workloads = workqueue_new(j->client, release, k);
    for (int i = 0; i < HELD_N; i++) {
        struct held *h = &k->held[i];
        *h = (struct held){.all = k, .kind = (enum held_kind)i};
        h->queue = workqueue_new(j->client, reconcile, h);
        const char *path = kube_path(a, "kueue.x-k8s.io", "v1beta2", plurals[i], NULL, NULL, NULL);
        struct kube_cache_config config = {.watch = {.path = path, .optional = true},
                                           .on_change = on_change,
                                           .on_synced = on_synced,
                                           .arg = h};
        h->cache = kube_cache_new(j->client, &config);
    }
    arena_free(a);
    return k;
}

struct kube_cache *kueue_in_use_flavors(const struct kueue_in_use *k)
{
    return k->held[HELD_FLAVORS].cache;
}

void kueue_in_use_free(struct kueue_in_use *k)
{
    if (!k)
        return;
    k->closing = true;
    workqueue_free(k->workloads);
    for (int i = 0; i < HELD_N; i++) {
        workqueue_free(k->held[i].queue);
        kube_cache_free(k->held[i].cache);
    }
    free(k);
}
