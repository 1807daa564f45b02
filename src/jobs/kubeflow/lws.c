/* lws.c - running LeaderWorkerSets where no LWS operator is installed (the embedded cluster)
 *
 *   LeaderWorkerSet NAME ── StatefulSet NAME, its leaders ── pod NAME-2 ── StatefulSet NAME-2, the workers of group 2 ── pod NAME-2-1
 *                       ├── Service NAME, their names                └── Service NAME-2, where each group has its own (UniquePerReplica)
 *                       └── ControllerRevisions NAME-HASH, what groups are made from that are not updated yet
 *
 * What differs from pod to pod is written as it is made (codec/admission/pods/admission_lws_pod.c). A group goes with its leader: whoever
 * owns a StatefulSet of workers is its leader's pod.
 *
 * ORDER  groups are updated from the last, as lws_plan.h says: the leaders' partition falls.
 * SOURCE lws v1.
 */
#include "base/clock.h"
#include "jobs/batch/pod_template.h"
#include "jobs/controllers.h"
#include "jobs/kubeflow/child_jobs.h"
#include "jobs/kubeflow/lws_plan.h"

#define API_VERSION "leaderworkerset.x-k8s.io/v1"
#define LWS(word) "leaderworkerset.sigs.k8s.io/" word

struct leader_worker_sets {
    struct jobs *jobs;
    struct kube_cache *sets, *stateful_sets, *pods, *revisions; /* the latter three marked by "ns/set" */
    struct kube_cache *services; /* that we have made */
    struct workqueue *queue;
};
struct group {
    const struct json *leader, *workers; /* NULL: not there */
};
struct pass {
    struct leader_worker_sets *t;
    struct work *work;
    const struct json *set, *spec, *below;
    const struct json *leaders; /* their StatefulSet; NULL: it is not there */
    int64_t replicas, now, n, size; /* groups: wanted, of the leaders' StatefulSet, of the lists: the larger of both */
    int64_t ready_n;
    int64_t partition, planned;     /* what that is to be, and how many groups meanwhile */
    const char *revision;
    struct group *groups;           /* by index */
    struct lws_group *states;
    int64_t now_ms;
};

static bool is_running(const struct json *pod)
{
    return strcmp(json_text(json_path(pod, "status", "phase", NULL), ""), "Running") == 0 && object_condition_true(pod, "Ready");
}

/* ---- what is there ---- */

static const char *revision_of(struct arena *a, const struct json *spec)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, json_get(spec, "leaderWorkerTemplate"));
    json_write(&text, json_get(spec, "networkConfig"));
    return arena_printf(a, "%010llx", (unsigned long long)hash_bytes(text.data, text.n, 0) & 0xffffffffffULL);
}

static int64_t group_of(const struct pass *x, const struct json *object)
{
    int64_t group;
    return bytes_int64(bytes_of(object_label(object, LWS("group-index"))), &group) && group >= 0 && group < x->n ? group : -1;
}

static bool is_leader(const struct json *pod)
{
    return strcmp(object_label(pod, LWS("worker-index")), "0") == 0;
}

static bool workers_ready(const struct json *workers)
{
    const struct json *spec = json_get(workers, "spec"), *status = json_get(workers, "status");
    int64_t wanted = json_get_int64(spec, "replicas", 1);
    return json_get_int64(status, "readyReplicas", 0) == wanted && json_get_int64(status, "replicas", 0) == wanted;
}

static bool has_revision(const struct pass *x, const struct json *object)
{
    return strcmp(object_label(object, LWS("template-revision-hash")), x->revision) == 0;
}

/* It has no workers: as was so when its leader was made. */
static bool is_alone(const struct pass *x, const struct json *leader)
{
    return leader ? strcmp(object_annotation(leader, LWS("size")), "1") == 0 : x->size == 1;
}

static void find_groups(struct pass *x)
{
    struct arena *a = x->work->arena;
    struct bytes key, raw;
    x->leaders = kube_cache_get(x->t->stateful_sets, x->work->ns, x->work->name, a);
    x->now = x->leaders ? child_jobs_bound(json_get_int64(json_get(x->leaders, "spec"), "replicas", 1)) : 0;
    x->n = x->replicas > x->now ? x->replicas : x->now;
    x->groups = arena_zero(a, (size_t)x->n + 1, sizeof *x->groups);
    x->states = arena_zero(a, (size_t)x->n + 1, sizeof *x->states);
    for (size_t at = 0; kube_cache_next_of(x->t->pods, x->work->key, &at, &key, &raw);) {
        const struct json *pod = json_parse(a, raw, NULL, NULL);
        int64_t group = is_leader(pod) ? group_of(x, pod) : -1;
        if (group >= 0)
            x->groups[group].leader = pod;
    }
    for (size_t at = 0; kube_cache_next_of(x->t->stateful_sets, x->work->key, &at, &key, &raw);) {
        const struct json *one = json_parse(a, raw, NULL, NULL);
        int64_t group = strcmp(object_meta(one, "name"), x->work->name) == 0 ? -1 : group_of(x, one);
        if (group >= 0)
            x->groups[group].workers = one;
    }
    for (int64_t i = 0; i < x->n; i++) {
        struct group *g = &x->groups[i];
        bool alone = is_alone(x, g->leader), own = alone || (g->leader && g->workers &&
                                                   strcmp(object_controller(g->workers, "uid"), object_meta(g->leader, "uid")) == 0);
        if (!own)
            g->workers = NULL; /* of the leader before this one: they go with it */
        bool leads = g->leader && is_running(g->leader) && !object_deleting(g->leader);
        x->states[i].ready = leads && own && (alone || workers_ready(g->workers));
        x->states[i].updated = has_revision(x, g->leader) && (alone || has_revision(x, g->workers));
    }
}

static void plan(struct pass *x)
{
    const struct json *rolling = json_path(x->spec, "rolloutStrategy", "rollingUpdateConfiguration", NULL);
    struct lws_rollout r = {.replicas = x->replicas, .asked = x->replicas, .is_there = x->leaders, .now = x->now, .groups = x->states};
    r.least = json_get_int64(rolling, "partition", 0);
    r.most_surge = child_jobs_bound(pod_share(json_get(rolling, "maxSurge"), 0, x->replicas, true));
    r.most_unavailable = child_jobs_bound(pod_share(json_get(rolling, "maxUnavailable"), 1, x->replicas, false));
    r.is_new = x->leaders && !has_revision(x, x->leaders);
    r.partition = json_int64(json_path(x->leaders, "spec", "updateStrategy", "rollingUpdate", "partition", NULL), 0);
    (void)bytes_int64(bytes_of(object_annotation(x->leaders, LWS("replicas"))), &r.asked);
    lws_plan(&r, &x->partition, &x->planned);
    x->planned = child_jobs_bound(x->planned);
}

/* ---- what is made ---- */

static void set_label(struct arena *a, struct json *metadata, const char *which, const char *key, const char *value)
{
    json_set_text(a, json_ensure_object(a, metadata, which), key, value);
}

static bool has_own_names(const struct pass *x)
{
    return strcmp(json_text(json_path(x->spec, "networkConfig", "subdomainPolicy", NULL), ""), "UniquePerReplica") == 0;
}

static struct json *template_of(struct pass *x, const char *key)
{
    struct arena *a = x->work->arena;
    const struct json *from = json_get(x->below, key);
    struct json *template = from ? json_clone(a, from) : json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, template, "metadata");
    set_label(a, metadata, "labels", LWS("name"), x->work->name);
    set_label(a, metadata, "labels", LWS("template-revision-hash"), x->revision);
    set_label(a, metadata, "annotations", LWS("size"), arena_printf(a, "%lld", (long long)x->size));
    const struct json *sub = json_get(x->below, "subGroupPolicy");
    if (sub) {
        set_label(a, metadata, "annotations", LWS("subgroup-policy-type"), json_get_text(sub, "subGroupPolicyType", "LeaderWorker"));
        set_label(a, metadata, "annotations", LWS("subgroup-size"),
                  arena_printf(a, "%lld", (long long)json_get_int64(sub, "subGroupSize", 1)));
    }
    static const char *const own[] = {LWS("exclusive-topology"), LWS("subgroup-exclusive-topology")};
    for (size_t i = 0; i < (sub ? 2 : 1); i++)
        if (*object_annotation(x->set, own[i]))
            set_label(a, metadata, "annotations", own[i], object_annotation(x->set, own[i]));
    return template;
}

static struct json *stateful_set(struct pass *x, const char *name, int64_t replicas, const char *service, struct json *template)
{
    struct arena *a = x->work->arena;
    struct json *set = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, set, "metadata"), *spec = json_ensure_object(a, set, "spec");
    json_set_text(a, set, "apiVersion", "apps/v1");
    json_set_text(a, set, "kind", "StatefulSet");
    json_set_text(a, metadata, "name", name);
    json_set_text(a, metadata, "namespace", x->work->ns);
    JSON_EACH (label, json_path(x->set, "metadata", "labels", NULL))
        set_label(a, metadata, "labels", label->key, json_text(label, ""));
    set_label(a, metadata, "labels", LWS("name"), x->work->name);
    set_label(a, metadata, "labels", LWS("template-revision-hash"), x->revision);
    json_set_int64(a, spec, "replicas", replicas);
    json_set_text(a, spec, "serviceName", service);
    json_set_text(a, spec, "podManagementPolicy", "Parallel");
    json_set(a, spec, "template", template);
    static const char *const kept[] = {"volumeClaimTemplates", "persistentVolumeClaimRetentionPolicy"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_get(x->below, kept[i]))
            json_set(a, spec, kept[i], json_clone(a, json_get(x->below, kept[i])));
    return set;
}

static const char *sets_path(const struct pass *x, const char *name)
{
    return kube_path(x->work->arena, "apps", "v1", "statefulsets", x->work->ns, name, NULL);
}

/* Of the set (leader NULL), or of one group. */
static void make_service(struct pass *x, const struct json *leader)
{
    struct arena *a = x->work->arena;
    struct json *service = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, service, "metadata"),
                *spec = json_ensure_object(a, service, "spec");
    json_set_text(a, service, "apiVersion", "v1");
    json_set_text(a, service, "kind", "Service");
    json_set_text(a, metadata, "name", leader ? object_meta(leader, "name") : x->work->name);
    json_set_text(a, metadata, "namespace", x->work->ns);
    set_label(a, metadata, "labels", LWS("name"), x->work->name);
    json_set(a, metadata, "ownerReferences",
             leader ? job_owner(a, leader, "v1", "Pod") : job_owner(a, x->set, API_VERSION, "LeaderWorkerSet"));
    json_set_text(a, spec, "clusterIP", "None");
    json_set_bool(a, spec, "publishNotReadyAddresses", true);
    set_label(a, spec, "selector", LWS("name"), x->work->name);
    if (leader)
        set_label(a, spec, "selector", LWS("group-index"), object_label(leader, LWS("group-index")));
    work_create(x->work, kube_path(a, "", "v1", "services", x->work->ns, NULL, NULL), service);
}

static bool has_service(const struct pass *x, const struct json *leader)
{
    const struct json *is = kube_cache_get(x->t->services, x->work->ns, object_meta(leader, "name"), x->work->arena);
    return is && strcmp(object_controller(is, "uid"), object_meta(leader, "uid")) == 0;
}

static void tell_progress(struct pass *x)
{
    int64_t was = json_int64(json_path(x->leaders, "spec", "updateStrategy", "rollingUpdate", "partition", NULL), 0);
    const char *what = was - 1 == x->partition ? arena_printf(x->work->arena, "Updating replica %lld", (long long)x->partition)
                                               : arena_printf(x->work->arena, "Updating replicas %lld to %lld (inclusive)",
                                                              (long long)x->partition, (long long)was - 1);
    if (has_revision(x, x->leaders) && x->partition < was)
        job_event_then(x->t->jobs, x->work, x->set, API_VERSION, "LeaderWorkerSet", "Normal", "GroupsUpdating", "%s", what);
}

static void make_leaders(struct pass *x)
{
    struct arena *a = x->work->arena;
    bool own = json_is(json_get(x->below, "leaderTemplate"), JSON_OBJECT);
    struct json *template = template_of(x, own ? "leaderTemplate" : "workerTemplate"), *metadata = json_get(template, "metadata");
    set_label(a, metadata, "labels", LWS("worker-index"), "0");
    if (has_own_names(x))
        set_label(a, metadata, "annotations", LWS("subdomainPolicy"), "UniquePerReplica");
    struct json *set = stateful_set(x, x->work->name, x->planned, x->work->name, template), *spec = json_get(set, "spec");
    const char *asked = arena_printf(a, "%lld", (long long)x->replicas);
    set_label(a, json_get(set, "metadata"), "annotations", LWS("replicas"), asked);
    json_set(a, json_get(set, "metadata"), "ownerReferences", job_owner(a, x->set, API_VERSION, "LeaderWorkerSet"));
    struct json *selector = json_ensure_object(a, json_ensure_object(a, spec, "selector"), "matchLabels");
    json_set_text(a, selector, LWS("name"), x->work->name);
    json_set_text(a, selector, LWS("worker-index"), "0");
    struct json *rolling = json_ensure_object(a, json_ensure_object(a, spec, "updateStrategy"), "rollingUpdate");
    json_set_text(a, json_get(spec, "updateStrategy"), "type", "RollingUpdate");
    json_set_int64(a, rolling, "partition", x->partition);
    if (!x->leaders) {
        if (!has_own_names(x))
            make_service(x, NULL);
        work_create(x->work, sets_path(x, NULL), set);
        return;
    }
    const struct json *is = json_get(x->leaders, "spec");
    bool same = x->now == x->planned && has_revision(x, x->leaders) && strcmp(object_annotation(x->leaders, LWS("replicas")), asked) == 0 &&
                json_int64(json_path(is, "updateStrategy", "rollingUpdate", "partition", NULL), 0) == x->partition;
    if (same)
        return;
    tell_progress(x);
    if (!has_own_names(x) && !has_revision(x, x->leaders)) /* they may have had their own before */
        make_service(x, NULL);
    struct json *patch = object_patch(a, x->leaders), *to = json_ensure_object(a, patch, "spec");
    set_label(a, json_get(patch, "metadata"), "labels", LWS("template-revision-hash"), x->revision);
    set_label(a, json_get(patch, "metadata"), "annotations", LWS("replicas"), asked);
    json_set_int64(a, to, "replicas", x->planned);
    json_set(a, to, "updateStrategy", json_clone(a, json_get(spec, "updateStrategy")));
    struct json *diff = object_diff(a, json_get(is, "template"), template);
    if (diff)
        json_set(a, to, "template", diff);
    work_patch(x->work, KUBE_PATCH_MERGE, sets_path(x, x->work->name), patch);
}

/* ---- revisions ---- */

static const struct json *revision_get(const struct pass *x, const char *hash)
{
    struct arena *a = x->work->arena;
    return kube_cache_get(x->t->revisions, x->work->ns, arena_joined(a, x->work->name, '-', hash), a);
}

static void keep_revision(struct pass *x)
{
    static const char *const kept[] = {"leaderWorkerTemplate", "networkConfig"};
    struct arena *a = x->work->arena;
    struct bytes key, raw;
    int64_t last = 0;
    if (revision_get(x, x->revision))
        return;
    for (size_t at = 0; kube_cache_next_of(x->t->revisions, x->work->key, &at, &key, &raw);) {
        int64_t number = json_get_int64(json_parse(a, raw, NULL, NULL), "revision", 0);
        last = number > last ? number : last;
    }
    struct json *revision = job_object(a, x->set, job_owner(a, x->set, API_VERSION, "LeaderWorkerSet"), "apps/v1", "ControllerRevision",
                                       arena_joined(a, x->work->name, '-', x->revision));
    set_label(a, json_get(revision, "metadata"), "labels", LWS("name"), x->work->name);
    set_label(a, json_get(revision, "metadata"), "labels", LWS("template-revision-hash"), x->revision);
    struct json *spec = json_ensure_object(a, json_ensure_object(a, revision, "data"), "spec");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_get(x->spec, kept[i]))
            json_set(a, spec, kept[i], json_clone(a, json_get(x->spec, kept[i])));
    json_set_int64(a, revision, "revision", last + 1);
    work_create(x->work, kube_path(a, "apps", "v1", "controllerrevisions", x->work->ns, NULL, NULL), revision);
}

/* Once all groups are updated the others are not needed any more. */
static void drop_revisions(struct pass *x)
{
    struct bytes key, raw;
    for (int64_t i = 0; i < x->n; i++)
        if (!x->states[i].updated)
            return;
    for (size_t at = 0; kube_cache_next_of(x->t->revisions, x->work->key, &at, &key, &raw);) {
        const struct json *one = json_parse(x->work->arena, raw, NULL, NULL);
        if (has_revision(x, one) || strcmp(object_controller(one, "uid"), object_meta(x->set, "uid")) != 0)
            continue;
        work_delete(x->work, kube_path(x->work->arena, "apps", "v1", "controllerrevisions", x->work->ns, object_meta(one, "name"), NULL),
                    object_meta(one, "uid"), "Background");
    }
}

/* The set as it was when this leader's template was written: its workers fit it. As it is now where nobody knows. */
static struct pass as_of(const struct pass *x, const struct json *leader)
{
    struct pass then = *x;
    const char *hash = object_label(leader, LWS("template-revision-hash"));
    const struct json *spec = has_revision(x, leader) ? NULL : json_path(revision_get(x, hash), "data", "spec", NULL);
    if (!spec)
        return then;
    then.spec = spec;
    then.below = json_get(spec, "leaderWorkerTemplate");
    then.size = child_jobs_bound(json_get_int64(then.below, "size", 1));
    then.revision = hash;
    return then;
}

/* ---- workers ---- */

static void make_workers(struct pass *x, const struct group *g, bool ready)
{
    static const char *const kept[] = {LWS("group-index"), LWS("group-key")};
    struct arena *a = x->work->arena;
    const char *name = object_meta(g->leader, "name");
    bool waits = strcmp(json_get_text(x->spec, "startupPolicy", ""), "LeaderReady") == 0 && !is_running(g->leader);
    if (has_own_names(x) && !ready && !object_deleting(g->leader) && !has_service(x, g->leader))
        make_service(x, g->leader);
    if (g->workers || object_deleting(g->leader) || waits || kube_cache_raw(x->t->stateful_sets, x->work->ns, name).n)
        return;
    struct pass then = as_of(x, g->leader);
    if (then.size == 1)
        return;
    struct json *template = template_of(&then, "workerTemplate"), *metadata = json_get(template, "metadata");
    set_label(a, metadata, "annotations", LWS("leader-name"), name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        set_label(a, metadata, "labels", kept[i], object_label(g->leader, kept[i]));
    struct json *set = stateful_set(&then, name, then.size - 1, has_own_names(&then) ? name : x->work->name, template),
                *spec = json_get(set, "spec");
    struct json *selector = json_ensure_object(a, json_ensure_object(a, spec, "selector"), "matchLabels");
    json_set_text(a, selector, LWS("name"), x->work->name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_set_text(a, selector, kept[i], object_label(g->leader, kept[i]));
        set_label(a, json_get(set, "metadata"), "labels", kept[i], object_label(g->leader, kept[i]));
    }
    json_set(a, json_get(set, "metadata"), "ownerReferences", job_owner(a, g->leader, "v1", "Pod"));
    json_set_int64(a, json_ensure_object(a, spec, "ordinals"), "start", 1);
    work_create(x->work, sets_path(x, NULL), set);
}

/* ---- restarts ---- */

static bool has_restarted(const struct json *pod)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        JSON_EACH (one, json_path(pod, "status", lists[i], NULL))
            if (json_get_int64(one, "restartCount", 0) > 0)
                return true;
    return false;
}

static bool is_pending(const struct json *pod)
{
    return strcmp(json_text(json_path(pod, "status", "phase", NULL), "Pending"), "Pending") == 0;
}

/* A group is made again when one of its pods was, or has restarted: its leader goes, and the workers with it. Not before all have started,
 * where that is asked for: by the policy, or as it was asked for before that was one. */
static void restart_groups(struct pass *x)
{
    const char *policy = json_get_text(x->below, "restartPolicy", "");
    bool on_restart = strcmp(policy, "RecreateGroupOnPodRestart") == 0,
         at_start = on_restart && !json_path(x->set, "metadata", "annotations", LWS("experimental-recreate-group-after-start"), NULL);
    struct bytes key, raw;
    size_t n = (size_t)x->n + 1;
    bool *falls = arena_zero(x->work->arena, n, sizeof *falls), *pends = arena_zero(x->work->arena, n, sizeof *pends);
    if (!on_restart && strcmp(policy, "RecreateGroupAfterStart") != 0)
        return;
    for (size_t at = 0; kube_cache_next_of(x->t->pods, x->work->key, &at, &key, &raw);) {
        const struct json *pod = json_parse(x->work->arena, raw, NULL, NULL);
        int64_t group = group_of(x, pod);
        const struct group *g = group >= 0 ? &x->groups[group] : NULL;
        bool of_workers = g && g->workers && strcmp(object_controller(pod, "uid"), object_meta(g->workers, "uid")) == 0,
             current = g && g->leader && (is_leader(pod) || of_workers);
        if (!current)
            continue;
        falls[group] |= has_restarted(pod) || object_deleting(pod);
        pends[group] |= is_pending(pod);
    }
    for (int64_t i = 0; i < x->n; i++) {
        const struct json *leader = x->groups[i].leader;
        if (!falls[i] || object_deleting(leader) || (pends[i] && !at_start))
            continue;
        job_event_then(x->t->jobs, x->work, x->set, API_VERSION, "LeaderWorkerSet", "Normal", "RecreateGroup",
                       "a pod of group %lld has failed: leader %s is deleted, and the group made again", (long long)i,
                       object_meta(leader, "name"));
        work_delete(x->work, kube_path(x->work->arena, "", "v1", "pods", x->work->ns, object_meta(leader, "name"), NULL),
                    object_meta(leader, "uid"), "Foreground");
    }
}

/* ---- status ---- */

static void say(struct pass *x, struct json *conditions, const char *type, bool is, const char *reason, const char *message)
{
    bool was = object_condition_true(x->set, type);
    int64_t generation = object_generation_of(x->set);
    if ((is || was) && object_condition_set(x->work->arena, conditions, type, is, reason, message, x->now_ms, generation) && is && !was)
        job_event(x->t->jobs, x->set, API_VERSION, "LeaderWorkerSet", "Normal", reason, "%s, with %lld groups ready of total %lld groups",
                  message, (long long)x->ready_n, (long long)x->replicas);
}

static void write_status(struct pass *x)
{
    struct arena *a = x->work->arena;
    int64_t ready_n = 0, updated_n = 0, stays_ready_n = 0, behind_n = 0,
            least = json_int64(json_path(x->spec, "rolloutStrategy", "rollingUpdateConfiguration", "partition", NULL), 0);
    for (int64_t i = 0; i < x->n; i++) {
        const struct lws_group *g = &x->states[i];
        bool to_be = x->groups[i].leader && i >= least && i < x->replicas;
        ready_n += g->ready;
        updated_n += g->updated;
        stays_ready_n += g->ready && i < x->replicas;
        behind_n += to_be && !g->updated && (x->size == 1 || x->groups[i].workers);
    }
    struct json *status = object_status_copy(a, x->set), *conditions = object_conditions_copy(a, x->set);
    x->ready_n = ready_n;
    bool updating = behind_n > 0, available = !updating && stays_ready_n == x->replicas;
    say(x, conditions, "Available", available, "AllGroupsReady", "All replicas are ready");
    say(x, conditions, "Progressing", !available, "GroupsProgressing", "Replicas are progressing");
    say(x, conditions, "UpdateInProgress", updating, "GroupsUpdating", "Rolling Upgrade is in progress");
    json_set(a, status, "conditions", conditions);
    json_set_int64(a, status, "replicas", json_int64(json_path(x->leaders, "status", "replicas", NULL), 0));
    json_set_int64(a, status, "readyReplicas", ready_n);
    json_set_int64(a, status, "updatedReplicas", updated_n);
    json_set_int64(a, status, "observedGeneration", object_generation_of(x->set));
    json_set_text(a, status, "hpaPodSelector", arena_printf(a, LWS("name") "=%s," LWS("worker-index") "=0", x->work->name));
    struct json *diff = object_diff(a, json_get(x->set, "status"), status);
    if (diff)
        work_patch_status(x->work, kube_path(a, "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", x->work->ns, x->work->name, "status"),
                          x->set, diff);
}

/* ---- a pass ---- */

static void reconcile(void *arg, struct work *w)
{
    struct leader_worker_sets *t = arg;
    if (!kube_cache_synced(t->sets) || !kube_cache_synced(t->stateful_sets) || !kube_cache_synced(t->pods) ||
        !kube_cache_synced(t->revisions) || !kube_cache_synced(t->services)) {
        work_again(w, 100);
        return;
    }
    struct pass x = {.t = t, .work = w, .now_ms = loop_wall_ms(t->jobs->loop)};
    x.set = kube_cache_get(t->sets, w->ns, w->name, w->arena);
    if (!x.set || object_deleting(x.set))
        return;
    x.spec = json_get(x.set, "spec");
    x.below = json_get(x.spec, "leaderWorkerTemplate");
    x.replicas = child_jobs_bound(json_get_int64(x.spec, "replicas", 1)); /* the same for objects that no admission of ours has seen */
    x.size = child_jobs_bound(json_get_int64(x.below, "size", 1));
    x.revision = revision_of(w->arena, x.spec);
    find_groups(&x);
    plan(&x);
    keep_revision(&x);
    make_leaders(&x);
    restart_groups(&x);
    for (int64_t i = 0; i < x.n; i++)
        if (x.groups[i].leader)
            make_workers(&x, &x.groups[i], x.states[i].ready);
    drop_revisions(&x);
    write_status(&x);
}

static void on_set(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct leader_worker_sets *t = arg;
    (void)event;
    (void)object;
    workqueue_add(t->queue, key);
}

static void seen(struct leader_worker_sets *t, struct kube_cache *cache, enum kube_event event, const char *key, struct bytes object)
{
    struct arena *a = arena_new();
    const struct json *one = json_parse(a, object, NULL, NULL);
    const char *set = arena_printf(a, "%s/%s", object_meta(one, "namespace"), object_label(one, LWS("name")));
    if (event != KUBE_DELETED)
        kube_cache_mark(cache, key, set);
    workqueue_add(t->queue, set);
    arena_free(a);
}

static void on_stateful_set(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct leader_worker_sets *t = arg;
    seen(t, t->stateful_sets, event, key, object);
}

static void on_pod(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct leader_worker_sets *t = arg;
    seen(t, t->pods, event, key, object);
}

/* One that went with the leader before this one is made again. */
static void on_service(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct leader_worker_sets *t = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *one = event == KUBE_DELETED ? json_parse(a, object, NULL, NULL) : NULL;
    (void)key;
    if (one)
        workqueue_add(t->queue, arena_joined(a, object_meta(one, "namespace"), '/', object_label(one, LWS("name"))));
}

/* Those of the leaders' StatefulSet have the same label. */
static void on_revision(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct leader_worker_sets *t = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *one = json_parse(a, object, NULL, NULL);
    if (event != KUBE_DELETED && strcmp(object_controller(one, "kind"), "LeaderWorkerSet") == 0)
        kube_cache_mark(t->revisions, key, arena_joined(a, object_meta(one, "namespace"), '/', object_controller(one, "name")));
}

struct leader_worker_sets *leader_worker_sets_new(struct jobs *j)
{
    struct leader_worker_sets *t = mem_zero(1, sizeof *t);
    t->jobs = j;
    t->queue = workqueue_new(j->client, reconcile, t);
    struct kube_cache_config sets = {
        .watch = {.path = "/apis/" API_VERSION "/leaderworkersets", .optional = true}, .on_change = on_set, .arg = t};
    struct kube_cache_config stateful_sets = {
        .watch = {.path = "/apis/apps/v1/statefulsets", .label_selector = LWS("name")}, .on_change = on_stateful_set, .arg = t};
    struct kube_cache_config pods = {
        .watch = {.path = "/api/v1/pods", .label_selector = LWS("name")}, .on_change = on_pod, .arg = t};
    struct kube_cache_config revisions = {
        .watch = {.path = "/apis/apps/v1/controllerrevisions", .label_selector = LWS("name")}, .on_change = on_revision, .arg = t};
    t->sets = kube_cache_new(j->client, &sets);
    t->stateful_sets = kube_cache_new(j->client, &stateful_sets);
    t->pods = kube_cache_new(j->client, &pods);
    t->services = kube_cache_new(j->client, &(struct kube_cache_config){
        .watch = {.path = "/api/v1/services", .label_selector = LWS("name")}, .on_change = on_service, .arg = t});
    t->revisions = kube_cache_new(j->client, &revisions);
    return t;
}

void leader_worker_sets_free(struct leader_worker_sets *t)
{
    if (!t)
        return;
    workqueue_free(t->queue);
    kube_cache_free(t->sets);
    kube_cache_free(t->stateful_sets);
    kube_cache_free(t->pods);
    kube_cache_free(t->revisions);
    kube_cache_free(t->services);
    free(t);
}
