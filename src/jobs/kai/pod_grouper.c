#include "jobs/kai/pod_grouper.h"
#include "codec/decode/decode.h"
#include "codec/groups/kai_grouping.h"
#include "codec/queues/kai_queues.h"

#define MANAGED_BY "app.kubernetes.io/managed-by" /* label of PodGroups that are made here: "capstan" */
#define KUEUE_QUEUE "kueue.x-k8s.io/queue-name"
#define DEFAULT_QUEUE "default-queue"             /* SOURCE KAI: of pods that name none */
#define THEIRS "theirs"                           /* mark of PodGroups that KAI's podgrouper has made */
enum { OWNER_COMES_MS = 500 };

struct pod_grouper {
    struct jobs *jobs;
    struct kube_cache *pods;   /* of KAI's scheduler name */
    struct kube_cache *groups, *queues;
    struct kube_cache *owners[KAI_OWNERS_N]; /* NULL until a pod is of such a one */
    struct workqueue *work;    /* keys of pods */
};

static void all_again(void *arg)
{
    struct pod_grouper *x = arg;
    workqueue_add_all(x->work, x->pods, NULL);
}

/* ---- which pods ---- */

static bool names_group(const struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    return *object_annotation(pod, DECODE_KAI_GROUP_ANNOTATION) || *object_annotation(pod, DECODE_VOLCANO_GROUP_ANNOTATION) ||
           *object_annotation(pod, DECODE_WORKLOAD_ANNOTATION) || *object_label(pod, DECODE_COSCHEDULING_LABEL) ||
           *object_label(pod, KUEUE_QUEUE) || json_get(spec, "schedulingGroup") || json_get(spec, "workloadRef");
}

/* Whose object says how many pods start together. False: nobody's, or those are not served. */
static bool owner_of(const struct pod_grouper *x, const struct json *pod, enum kai_owner_id *ret_kind, const char **ret_name)
{
    if (!kai_owner_of(pod, ret_kind, ret_name))
        return false;
    const struct kube_cache *owners = x->owners[*ret_kind];
    return !owners || !kube_cache_synced(owners) || kube_cache_served(owners);
}

static bool has_podgrouper(const struct pod_grouper *x)
{
    struct bytes key, raw;
    size_t at = 0;
    return kube_cache_next_of(x->groups, THEIRS, &at, &key, &raw);
}

/* The kind's objects, read from the first time on that one is asked for. */
static const struct kube_cache *owners_of(struct pod_grouper *x, enum kai_owner_id kind)
{
    if (!x->owners[kind])
        x->owners[kind] = kube_cache_new(x->jobs->client, &(struct kube_cache_config){
                                                              .watch = {.path = kai_owner_kinds[kind].path, .optional = true},
                                                              .on_synced = all_again, .arg = x});
    return x->owners[kind];
}

/* Where nobody counts in Queues a Job's pods need no group, unless the Job says how many start together. RACE  who does not know it yet
 * says so. */
static bool says_least(struct pod_grouper *x, const struct json *pod, const char *job)
{
    const struct kube_cache *jobs = owners_of(x, KAI_OWNER_JOB);
    struct bytes raw = kube_cache_raw(jobs, object_meta(pod, "namespace"), job);
    return !kube_cache_synced(jobs) || !raw.n || memmem(raw.data, raw.n, KAI_GROUPING_LEAST, sizeof KAI_GROUPING_LEAST - 1);
}

bool pod_grouper_groups(struct pod_grouper *x, const struct json *pod)
{
    enum kai_owner_id kind;
    const char *name;
    if (!x || names_group(pod) || *object_annotation(pod, KAI_GROUPING_SKIP) || object_deleting(pod) ||
        *json_text(json_path(pod, "spec", "nodeName", NULL), ""))
        return false;
    if (!kube_cache_synced(x->groups) || !kube_cache_synced(x->queues)) /* it is not known yet */
        return true;
    if (!kube_cache_served(x->groups) || has_podgrouper(x))
        return false;
    if (kube_cache_count(x->queues) > 0)
        return true;
    return owner_of(x, pod, &kind, &name) && (kind != KAI_OWNER_JOB || says_least(x, pod, name));
}

/* ---- what is written ---- */

static void topology_set(struct arena *a, struct json *of, const char *topology, const char *required, const char *preferred)
{
    const char *const fields[][2] = {{"topology", topology}, {"requiredTopologyLevel", required}, {"preferredTopologyLevel", preferred}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields && *topology; i++)
        if (*fields[i][1])
            json_set_text(a, json_ensure_object(a, of, "topologyConstraint"), fields[i][0], fields[i][1]);
}

static void parts_set(struct arena *a, struct json *spec, const struct kai_grouping *g)
{
    const char *topology, *required, *preferred;
    if (g->min_sub_group)
        json_set_int64(a, spec, "minSubGroup", g->min_sub_group);
    else
        json_set_int64(a, spec, "minMember", g->min_member);
    for (uint32_t i = 0; i < g->parts_n; i++) {
        struct json *part = json_new(a, JSON_OBJECT);
        json_set_text(a, part, "name", g->parts[i].name);
        if (g->parts[i].parent)
            json_set_text(a, part, "parent", g->parts[i].parent);
        if (g->parts[i].min_sub_group)
            json_set_int64(a, part, "minSubGroup", g->parts[i].min_sub_group);
        else
            json_set_int64(a, part, "minMember", g->parts[i].min_member);
        if (g->parts[i].by && kai_grouping_topology(g->parts[i].by, &topology, &required, &preferred))
            topology_set(a, part, topology, required, preferred);
        json_append(json_ensure_array(a, spec, "subGroups"), part);
    }
}

static struct json *group_of(struct work *w, const struct kai_grouping *g, const char *queue)
{
    struct arena *a = w->arena;
    struct json *group = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, group, "metadata"),
                *spec = json_ensure_object(a, group, "spec");
    json_set_text(a, group, "apiVersion", "scheduling.run.ai/v2alpha2");
    json_set_text(a, group, "kind", "PodGroup");
    json_set_text(a, metadata, "name", g->name);
    json_set_text(a, metadata, "namespace", w->ns);
    json_set_text(a, json_ensure_object(a, metadata, "labels"), MANAGED_BY, "capstan");
    json_append(json_ensure_array(a, metadata, "ownerReferences"), g->owner);
    parts_set(a, spec, g);
    json_set_text(a, spec, "priorityClassName", g->class_name);
    if (*queue)
        json_set_text(a, spec, "queue", queue);
    if (*g->preemptibility)
        json_set_text(a, spec, "preemptibility", g->preemptibility);
    if (*g->staleness)
        json_set_text(a, spec, "stalenessGracePeriod", g->staleness);
    if (*g->delay)
        json_set_text(a, spec, "preemptionDelay", g->delay);
    topology_set(a, spec, g->topology, g->required_level, g->preferred_level);
    return group;
}

static void write_group(const struct pod_grouper *x, struct work *w, const struct kai_grouping *g)
{
    struct arena *a = w->arena;
    const struct json *group = kube_cache_get(x->groups, w->ns, g->name, a);
    const char *queue = *g->queue || !kube_cache_count(x->queues) ? g->queue : DEFAULT_QUEUE;
    if (!group)
        work_create(w, kube_path(a, "scheduling.run.ai", "v2alpha2", "podgroups", w->ns, NULL, NULL), group_of(w, g, queue));
    bool grows = group && json_int64(json_path(group, "spec", "minMember", NULL), 1) < g->min_member;
    if (!grows || strcmp(object_label(group, MANAGED_BY), "capstan") != 0)
        return;
    struct json *patch = json_new(a, JSON_OBJECT); /* a leader that had to run first does: now the others are waited for */
    parts_set(a, json_ensure_object(a, patch, "spec"), g);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "scheduling.run.ai", "v2alpha2", "podgroups", w->ns, g->name, NULL), patch);
}

static void name_group(struct work *w, const struct kai_grouping *g)
{
    struct arena *a = w->arena;
    struct json *patch = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, patch, "metadata");
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), DECODE_KAI_GROUP_ANNOTATION, g->name);
    if (*g->part)
        json_set_text(a, json_ensure_object(a, metadata, "labels"), DECODE_KAI_SUBGROUP_LABEL, g->part);
    work_patch(w, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "pods", w->ns, w->name, NULL), patch);
}

static void reconcile(void *arg, struct work *w)
{
    struct pod_grouper *x = arg;
    enum kai_owner_id kind = KAI_OWNERS_N;
    const char *name = "";
    const struct json *pod = kube_cache_get(x->pods, w->ns, w->name, w->arena), *owner = NULL;
    if (!kube_cache_synced(x->groups) || !kube_cache_synced(x->queues) || !pod || !pod_grouper_groups(x, pod))
        return;
    if (*work_failure(w))
        job_event(x->jobs, pod, "v1", "Pod", "Warning", "PodGroupError", "its PodGroup cannot be written, and it does not start before: %.400s",
                  work_failure(w));
    if (owner_of(x, pod, &kind, &name)) {
        const struct kube_cache *owners = owners_of(x, kind);
        owner = kube_cache_get(owners, w->ns, name, w->arena);
        if (!owner && kube_cache_synced(owners)) /* RACE  its pod was seen first */
            work_again(w, OWNER_COMES_MS);
        if (!owner)
            return;
    }
    struct kai_grouping g;
    kai_grouping_make(w->arena, pod, kind, owner, &g);
    write_group(x, w, &g);
    name_group(w, &g);
}

/* ---- watching ---- */

static void on_pod(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct pod_grouper *x = arg;
    (void)object;
    if (event != KUBE_DELETED)
        workqueue_add(x->work, key);
}

static bool is_theirs(struct arena *a, struct bytes group)
{
    static const char owned[] = "\"ownerReferences\"";
    return memmem(group.data, group.n, owned, sizeof owned - 1) &&
           strcmp(object_label(json_parse(a, group, NULL, NULL), MANAGED_BY), "capstan") != 0;
}

static void on_group(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct pod_grouper *x = arg;
    _cleanup_arena_ struct arena *a = arena_new();
    bool theirs = is_theirs(a, object);
    if (event != KUBE_DELETED)
        kube_cache_mark(x->groups, key, theirs ? THEIRS : "");
    else if (theirs && !has_podgrouper(x)) /* the last of them: KAI's podgrouper may have gone */
        all_again(x);
}

static void on_queue(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct pod_grouper *x = arg;
    (void)key, (void)object;
    if (event != KUBE_MODIFIED && kube_cache_count(x->queues) <= 1) /* the first has come */
        all_again(x);
}

struct pod_grouper *pod_grouper_new(struct jobs *j)
{
    struct pod_grouper *x = mem_zero(1, sizeof *x);
    x->jobs = j;
    x->work = workqueue_new(j->client, reconcile, x);
    x->queues = kube_cache_new(j->client, &(struct kube_cache_config){.watch = {.path = KAI_QUEUES_PATH, .optional = true},
                                                                      .on_change = on_queue, .on_synced = all_again, .arg = x});
    x->groups = kube_cache_new(j->client, &(struct kube_cache_config){
                                              .watch = {.path = "/apis/scheduling.run.ai/v2alpha2/podgroups", .optional = true},
                                              .on_change = on_group, .on_synced = all_again, .arg = x});
    x->pods = kube_cache_new(j->client, &(struct kube_cache_config){.watch = {.path = "/api/v1/pods",
                                                                              .field_selector = "spec.schedulerName=" DECODE_KAI_SCHEDULER},
                                                                    .on_change = on_pod, .on_synced = all_again, .arg = x});
    return x;
}

void pod_grouper_free(struct pod_grouper *x)
{
    if (!x)
        return;
    kube_cache_free(x->pods);
    kube_cache_free(x->groups);
    kube_cache_free(x->queues);
    for (int i = 0; i < KAI_OWNERS_N; i++)
        kube_cache_free(x->owners[i]);
    workqueue_free(x->work);
    free(x);
}
