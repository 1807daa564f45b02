/* kind_convert.c - one object, two versions
 *
 * Fields that only changed their name are rows of a table; what else differs is a function. What the target version does not have is
 * dropped by pruning with its schema, as a conversion webhook would.
 * SOURCE Kueue's conversion webhooks; Kubernetes API reference (scheduling: native pod groups; autoscaling; events).
 */
#include "codec/kinds/kind_convert.h"
#include "codec/kinds/kind.h"

struct move {
    const char *kind, *parent, *old_name, *new_parent, *new_name;
};
/* Old and new place of a field; parents are paths of at most two names. */
static const struct move kueue_moves[] = {
    {"ClusterQueue", "spec", "cohort", "spec", "cohortName"},
    {"LocalQueue", "status", "flavorUsage", "status", "flavorsUsage"},
    {"Workload", "status", "accumulatedPastExexcutionTimeSeconds", "status", "accumulatedPastExecutionTimeSeconds"},
    {"MultiKueueCluster", "spec", "kubeConfig", "spec.clusterSource", "kubeConfig"},
    {"MultiKueueCluster", "spec", "clusterProfileRef", "spec.clusterSource", "clusterProfileRef"},
};

/* The object at "a" or "a.b"; made when `make`. NULL when absent or no object. */
static struct json *parent_at(struct arena *a, struct json *object, const char *path, bool make)
{
    const char *dot = strchr(path, '.');
    const char *name = dot ? arena_text_n(a, path, (size_t)(dot - path)) : path;
    struct json *v = make ? json_ensure_object(a, object, name) : json_get(object, name);
    if (!json_is(v, JSON_OBJECT))
        return NULL;
    return dot ? parent_at(a, v, dot + 1, make) : v;
}

static void move_field(struct arena *a, struct json *object, const char *from, const char *name, const char *to, const char *new_name)
{
    struct json *parent = parent_at(a, object, from, false);
    struct json *v = json_get(parent, name);
    if (!v)
        return;
    json_remove(parent, name);
    json_set(a, parent_at(a, object, to, true), new_name, v);
}

static void rename_value(struct arena *a, struct json *object, const char *key, const char *from, const char *to)
{
    if (text_equal(json_get_text(object, key, NULL), from))
        json_set_text(a, object, key, to);
}

static void cluster_queue_up(struct arena *a, struct json *spec)
{
    struct json *checks = json_get(spec, "admissionChecks");
    if (json_is(checks, JSON_ARRAY) && checks->n > 0) {
        json_remove(spec, "admissionChecks");
        struct json *strategy = json_new(a, JSON_OBJECT);
        struct json *rules = json_ensure_array(a, strategy, "admissionChecks");
        JSON_EACH(check, checks) {
            struct json *rule = json_new(a, JSON_OBJECT);
            json_set_text(a, rule, "name", json_text(check, ""));
            json_append(rules, rule);
        }
        json_set(a, spec, "admissionChecksStrategy", strategy);
    }
    struct json *fungibility = json_get(spec, "flavorFungibility");
    rename_value(a, fungibility, "whenCanBorrow", "Borrow", "MayStopSearch");
    rename_value(a, fungibility, "whenCanPreempt", "Preempt", "MayStopSearch");
}

static const struct {
    const char *source, *group, *kind;
} priority_sources[] = {
    {"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"},
    {"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

static void workload_priority(struct arena *a, struct json *spec, bool up)
{
    if (!json_is(spec, JSON_OBJECT))
        return;
    const struct json *ref = json_get(spec, "priorityClassRef");
    const char *source = json_get_text(spec, "priorityClassSource", "");
    const char *name = up ? json_get_text(spec, "priorityClassName", "") : json_get_text(ref, "name", "");
    for (size_t i = 0; i < sizeof priority_sources / sizeof *priority_sources; i++) {
        if (up && strcmp(priority_sources[i].source, source) == 0) {
            struct json *made = json_new(a, JSON_OBJECT);
            json_set_text(a, made, "group", priority_sources[i].group);
            json_set_text(a, made, "kind", priority_sources[i].kind);
            json_set_text(a, made, "name", name);
            json_set(a, spec, "priorityClassRef", made);
        } else if (!up && text_equal(json_get_text(ref, "group", NULL), priority_sources[i].group) &&
                   text_equal(json_get_text(ref, "kind", NULL), priority_sources[i].kind)) {
            json_set_text(a, spec, "priorityClassSource", priority_sources[i].source);
            json_set_text(a, spec, "priorityClassName", name);
        }
    }
}

static void convert_kueue(struct arena *a, const struct kind *k, struct json *object, bool up)
{
    for (size_t i = 0; i < sizeof kueue_moves / sizeof *kueue_moves; i++) {
        const struct move *m = &kueue_moves[i];
        if (strcmp(m->kind, k->kind) != 0)
            continue;
        if (up)
            move_field(a, object, m->parent, m->old_name, m->new_parent, m->new_name);
        else
            move_field(a, object, m->new_parent, m->new_name, m->parent, m->old_name);
    }
    if (strcmp(k->kind, "ClusterQueue") == 0 && up)
        cluster_queue_up(a, json_get(object, "spec"));
    if (strcmp(k->kind, "Workload") != 0)
        return;
    workload_priority(a, json_get(object, "spec"), up);
    JSON_EACH(assignment, json_path(object, "status", "admission", "podSetAssignments", NULL)) {
        struct json *topology = json_get(assignment, "topologyAssignment");
        if (json_is(topology, JSON_OBJECT))
            kind_convert_topology(a, topology, up);
    }
}

/* "Pod" <-> {single: {}}, "PodGroup" <-> {all: {}} */
static void disruption_mode(struct arena *a, struct json *spec, bool up)
{
    const struct json *mode = json_get(spec, "disruptionMode");
    if (!mode)
        return;
    bool all = up ? text_equal(json_text(mode, NULL), "PodGroup") : json_get(mode, "all") != NULL;
    if (up) {
        struct json *made = json_new(a, JSON_OBJECT);
        json_set(a, made, all ? "all" : "single", json_new(a, JSON_OBJECT));
        json_set(a, spec, "disruptionMode", made);
    } else {
        json_set_text(a, spec, "disruptionMode", all ? "PodGroup" : "Pod");
    }
}

/* What v1beta1 calls PodGroupInitiallyScheduled. */
static void scheduled_condition(struct arena *a, struct json *object, bool up)
{
    static const char *const names[] = {"PodGroupScheduled", "PodGroupInitiallyScheduled"};
    JSON_EACH(condition, json_path(object, "status", "conditions", NULL))
        if (text_equal(json_get_text(condition, "type", NULL), names[!up]))
            json_set_text(a, condition, "type", names[up]);
}

static void rename_field(struct arena *a, struct json *object, const char *from, const char *to)
{
    struct json *v = json_get(object, from);
    if (!v)
        return;
    json_remove(object, from);
    json_set(a, object, to, v);
}

/* What v1alpha1 calls groups are templates since there are PodGroups. */
static void workload_groups(struct arena *a, struct json *spec, bool up)
{
    static const char *const lists[] = {"podGroups", "podGroupTemplates"}, *const policies[] = {"policy", "schedulingPolicy"};
    rename_field(a, spec, lists[!up], lists[up]);
    JSON_EACH(group, json_get(spec, lists[up]))
        rename_field(a, group, policies[!up], policies[up]);
}

/* Between v1beta1 and an older version. */
static void convert_native_workload(struct arena *a, struct json *spec, const char *older, bool up)
{
    if (strcmp(older, "v1alpha1") == 0) {
        workload_groups(a, spec, up);
        return;
    }
    JSON_EACH(template, json_get(spec, "podGroupTemplates"))
        disruption_mode(a, template, up);
}

static void convert_pod_group(struct arena *a, struct json *object, bool up)
{
    struct json *spec = json_get(object, "spec");
    disruption_mode(a, spec, up);
    scheduled_condition(a, object, up);
    const char *const from = up ? "podGroupTemplateRef" : "workloadRef";
    struct json *ref = json_get(spec, from);
    const struct json *names = up ? json_get(ref, "workload") : ref;
    if (!names)
        return;
    const char *workload = json_get_text(names, "workloadName", "");
    const char *template = json_get_text(names, up ? "podGroupTemplateName" : "templateName", "");
    json_remove(spec, from);
    struct json *made = json_ensure_object(a, spec, up ? "workloadRef" : "podGroupTemplateRef");
    if (!up)
        made = json_ensure_object(a, made, "workload");
    json_set_text(a, made, "workloadName", workload);
    json_set_text(a, made, up ? "templateName" : "podGroupTemplateName", template);
}

/* Older versions are two apart from each other: by way of the newest. */
static void convert_scheduling(struct arena *a, const struct kind *k, struct json *object, const char *from, const char *to)
{
    const char *newest = k->versions[0].version, *const older[] = {from, to};
    for (int down = 0; down < 2; down++) {
        if (strcmp(older[down], newest) == 0)
            continue;
        if (strcmp(k->kind, "Workload") == 0)
            convert_native_workload(a, json_get(object, "spec"), older[down], !down);
        else
            convert_pod_group(a, object, !down);
    }
}

static bool is_cpu_share(const struct json *metric)
{
    return text_equal(json_get_text(metric, "type", NULL), "Resource") &&
           text_equal(json_text(json_path(metric, "resource", "name", NULL), NULL), "cpu") &&
           json_path(metric, "resource", "target", "averageUtilization", NULL);
}

/* autoscaling/v1 knows one metric: CPU use in percent of the request. */
static void convert_autoscaler(struct arena *a, struct json *object, bool up)
{
    struct json *spec = json_get(object, "spec");
    if (up) {
        int64_t share = json_get_int64(spec, "targetCPUUtilizationPercentage", -1);
        if (share < 0)
            return;
        struct json *metric = json_new(a, JSON_OBJECT);
        json_set_text(a, metric, "type", "Resource");
        struct json *resource = json_ensure_object(a, metric, "resource");
        json_set_text(a, resource, "name", "cpu");
        struct json *target = json_ensure_object(a, resource, "target");
        json_set_text(a, target, "type", "Utilization");
        json_set_int64(a, target, "averageUtilization", share);
        json_append(json_ensure_array(a, spec, "metrics"), metric);
        return;
    }
    JSON_EACH(metric, json_get(spec, "metrics")) {
        if (!is_cpu_share(metric))
            continue;
        json_set_int64(a, spec, "targetCPUUtilizationPercentage",
                       json_int64(json_path(metric, "resource", "target", "averageUtilization", NULL), 0));
        return;
    }
}

static void convert_event(struct arena *a, struct json *object, bool to_core)
{
    static const char *const names[][2] = {
        {"involvedObject", "regarding"},
        {"source", "deprecatedSource"},
        {"firstTimestamp", "deprecatedFirstTimestamp"},
        {"lastTimestamp", "deprecatedLastTimestamp"},
        {"count", "deprecatedCount"},
        {"message", "note"},
        {"reportingComponent", "reportingController"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *from = names[i][to_core], *to = names[i][!to_core];
        struct json *v = json_get(object, from);
        if (!v)
            continue;
        json_remove(object, from);
        json_set(a, object, to, v);
    }
    /* core/v1 demands it, events.k8s.io does not */
    if (to_core)
        (void)json_ensure_object(a, object, "involvedObject");
}

void kind_convert(struct arena *a, const struct kind *k, struct json *object, const char *to_version)
{
    const char *api_version = json_get_text(object, "apiVersion", "");
    const char *slash = strrchr(api_version, '/');
    const char *from = slash ? slash + 1 : api_version;
    const struct kind_version *target = kind_version_find(k, to_version);
    size_t group_n = slash ? (size_t)(slash - api_version) : 0;
    bool other_group = group_n != strlen(k->group) || memcmp(api_version, k->group, group_n) != 0;
    if (!target || (strcmp(from, to_version) == 0 && !other_group))
        return;
    bool up = target == &k->versions[0]; /* the preferred version is the newer one of the pairs below */
    if (strcmp(k->group, "kueue.x-k8s.io") == 0)
        convert_kueue(a, k, object, up);
    else if (strcmp(k->group, "scheduling.k8s.io") == 0)
        convert_scheduling(a, k, object, from, to_version);
    else if (strcmp(k->group, "autoscaling") == 0)
        convert_autoscaler(a, object, up);
    else if (other_group && strcmp(k->kind, "Event") == 0)
        convert_event(a, object, !*k->group);
    json_set_text(a, object, "apiVersion", k->group[0] ? arena_printf(a, "%s/%s", k->group, to_version) : to_version);
    (void)schema_prune(a, target->schema, object, NULL, NULL); /* a value of a wrong type was refused before, or stays as it is */
}
