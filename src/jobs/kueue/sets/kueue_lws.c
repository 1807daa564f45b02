/* kueue_lws.c - LeaderWorkerSet: each of its groups, a leader with its workers, is queued by itself; see kueue_set.h */
#include "jobs/kueue/sets/kueue_set.h"

#define LWS(word) "leaderworkerset.sigs.k8s.io/" word
#define INDEX_LABEL LWS("worker-index")

static const struct json *template_of(const struct json *set)
{
    return json_path(set, "spec", "leaderWorkerTemplate", NULL);
}

/* SOURCE Kueue: while it rolls with more groups than it has after, those count. */
static bool surges(const struct json *set, int64_t replicas)
{
    const struct json *most = json_path(set, "spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge", NULL);
    bool any = json_is(most, JSON_STRING) ? !bytes_is(json_bytes(most), "0") && !bytes_is(json_bytes(most), "0%") : json_int64(most, 0) > 0;
    return any && json_int64(json_path(set, "status", "updatedReplicas", NULL), 0) < replicas;
}

static int64_t groups_n(const struct json *set)
{
    int64_t replicas = json_get_int64(json_get(set, "spec"), "replicas", 1),
            there = json_int64(json_path(set, "status", "replicas", NULL), 0);
    if (there > replicas && surges(set, replicas))
        replicas = there;
    return replicas < 0 ? 0 : replicas > KUEUE_SET_REPLICAS_MOST ? KUEUE_SET_REPLICAS_MOST : replicas;
}

static int64_t size_of(const struct json *set)
{
    return json_get_int64(template_of(set), "size", 1);
}

static const char *workload_name(struct arena *a, const struct json *set, int64_t group)
{
    const char *name = arena_printf(a, "%s-%lld", object_meta(set, "name"), (long long)group);
    return kueue_workload_name(a, "LeaderWorkerSet", "leaderworkerset.x-k8s.io", name, object_meta(set, "uid"));
}

/* Marks of the set's own, which differ from pod to pod, are not part of what they ask for. */
static void drop_marks(struct json *marks)
{
    for (struct json *mark = json_is(marks, JSON_OBJECT) ? marks->first : NULL, *next; mark; mark = next) {
        next = mark->next;
        if (text_starts(mark->key, "leaderworkerset.sigs.k8s.io") && strcmp(mark->key, LWS("name")) != 0)
            (void)json_remove(marks, mark->key);
    }
}

static void add_set(struct arena *a, struct json *sets, const char *name, int64_t count, const struct json *template, const char *index)
{
    struct json *copy = json_clone(a, template), *metadata = json_get(copy, "metadata");
    drop_marks(json_get(metadata, "labels"));
    drop_marks(json_get(metadata, "annotations"));
    struct json *set = kueue_pod_set(a, name, count, copy, index);
    json_append(sets, set);
}

static struct json *pod_sets(struct arena *a, const struct json *set)
{
    const struct json *template = template_of(set), *leader = json_get(template, "leaderTemplate"),
                      *worker = json_get(template, "workerTemplate");
    struct json *sets = json_new(a, JSON_ARRAY), *none = json_new(a, JSON_OBJECT);
    if (json_is(leader, JSON_OBJECT))
        add_set(a, sets, "leader", 1, leader, NULL);
    if (sets->n == 0)
        add_set(a, sets, "main", size_of(set), worker ? worker : none, INDEX_LABEL);
    else
        add_set(a, sets, "worker", size_of(set) - 1, worker ? worker : none, INDEX_LABEL);
    return sets;
}

static bool waits_for_leader(const struct json *set)
{
    return strcmp(json_get_text(json_get(set, "spec"), "startupPolicy", ""), "LeaderReady") == 0;
}

static bool has_leader_template(const struct json *set)
{
    return json_is(json_get(template_of(set), "leaderTemplate"), JSON_OBJECT);
}

static const char *later(const struct json *set)
{
    return waits_for_leader(set) && has_leader_template(set) ? "worker" : "";
}

static const char *serial(const struct json *set)
{
    return waits_for_leader(set) && !has_leader_template(set) ? "main" : "";
}

static const char *set_of(const struct json *pod)
{
    return object_label(pod, LWS("name"));
}

static int64_t group_of(const struct json *pod)
{
    int64_t group;
    bool said = bytes_int64(bytes_of(object_label(pod, LWS("group-index"))), &group);
    return said && group >= 0 && group < KUEUE_SET_REPLICAS_MOST ? group : -1;
}

static const char *pod_set_of(const struct json *set, const struct json *pod)
{
    if (!has_leader_template(set))
        return "main";
    return *object_annotation(pod, LWS("leader-name")) ? "worker" : "leader";
}

const struct kueue_set_kind kueue_leader_worker_set = {
    .id = QUEUED_LEADERWORKERSET,
    .groups_n = groups_n,
    .workload_name = workload_name,
    .pod_sets = pod_sets,
    .later = later,
    .serial = serial,
    .set_of = set_of,
    .group_of = group_of,
    .pod_set_of = pod_set_of,
    .pods_n = size_of,
};
