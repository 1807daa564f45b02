/* kueue_stateful_set.c - StatefulSet: all its replicas are one group, which serves; see kueue_set.h */
#include "jobs/kueue/sets/kueue_set.h"

#define INDEX_LABEL "apps.kubernetes.io/pod-index"

static int64_t replicas_of(const struct json *set)
{
    return json_get_int64(json_get(set, "spec"), "replicas", 1);
}

static int64_t groups_n(const struct json *set)
{
    return replicas_of(set) > 0;
}

static const char *workload_name(struct arena *a, const struct json *set, int64_t group)
{
    (void)group;
    return kueue_workload_name(a, "StatefulSet", "apps", object_meta(set, "name"), object_meta(set, "uid"));
}

static const char *former_name(struct arena *a, const struct json *set)
{
    return kueue_workload_name(a, "StatefulSet", "apps", object_meta(set, "name"), "");
}

/* SOURCE Kueue: of the template its spec alone. */
static struct json *pod_sets(struct arena *a, const struct json *set)
{
    const struct json *template = json_path(set, "spec", "template", NULL), *spec = json_get(template, "spec");
    struct json *sets = json_new(a, JSON_ARRAY), *plain = json_new(a, JSON_OBJECT);
    if (spec)
        json_set(a, plain, "spec", json_clone(a, spec));
    struct json *one = kueue_pod_set(a, "main", replicas_of(set), plain, INDEX_LABEL);
    kueue_topology_request(a, one, json_path(template, "metadata", "annotations", NULL), INDEX_LABEL);
    json_append(sets, one);
    return sets;
}

static const char *serial(const struct json *set)
{
    return strcmp(json_get_text(json_get(set, "spec"), "podManagementPolicy", "OrderedReady"), "Parallel") == 0 ? "" : "main";
}

static const char *set_of(const struct json *pod)
{
    return strcmp(object_controller(pod, "kind"), "StatefulSet") == 0 ? object_controller(pod, "name") : "";
}

static int64_t group_of(const struct json *pod)
{
    (void)pod;
    return 0;
}

static const char *pod_set_of(const struct json *set, const struct json *pod)
{
    (void)set;
    (void)pod;
    return "main";
}

const struct kueue_set_kind kueue_stateful_set = {
    .id = QUEUED_STATEFULSET,
    .groups_n = groups_n,
    .keeps_last = true,
    .workload_name = workload_name,
    .former_name = former_name,
    .pod_sets = pod_sets,
    .serial = serial,
    .set_of = set_of,
    .group_of = group_of,
    .pod_set_of = pod_set_of,
    .pods_n = replicas_of,
    .is_fast = true,
    .index_label = INDEX_LABEL,
};
