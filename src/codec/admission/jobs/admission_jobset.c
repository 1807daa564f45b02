/* admission_jobset.c - JobSet: its defaults, and what its webhook refuses; see admission_part.h
 *
 * SOURCE jobset v1alpha2: its definition's CEL and its webhook.
 */
#include "codec/admission/admission_part.h"

#define LIST "spec.replicatedJobs"

static void default_bool(struct admission *x, struct json *object, const char *key, bool value)
{
    if (!json_get(object, key))
        json_set_bool(x->arena, object, key, value);
}

static void fill(struct admission *x, struct json *spec)
{
    struct arena *a = x->arena;
    admission_default_text(x, json_ensure_object(a, spec, "successPolicy"), "operator", "All");
    admission_default_text(x, json_ensure_object(a, spec, "startupPolicy"), "startupPolicyOrder", "AnyOrder");
    struct json *network = json_ensure_object(a, spec, "network");
    default_bool(x, network, "enableDNSHostnames", true);
    default_bool(x, network, "publishNotReadyAddresses", true);
    uint32_t i = 0;
    JSON_EACH (rule, json_path(spec, "failurePolicy", "rules", NULL))
        admission_default_text(x, rule, "name", AT(x, "failurePolicyRule%u", i++));
    JSON_EACH (replicated, json_get(spec, "replicatedJobs")) {
        struct json *job = json_path(replicated, "template", "spec", NULL);
        if (!json_is(job, JSON_OBJECT))
            continue;
        admission_default_text(x, job, "completionMode", "Indexed");
        struct json *template = json_ensure_object(a, job, "template");
        admission_default_text(x, json_ensure_object(a, template, "spec"), "restartPolicy", "OnFailure");
    }
}

static bool is_named(const struct json *list, const struct json *name, const struct json *before)
{
    JSON_EACH (replicated, list) {
        if (replicated == before)
            return false;
        if (text_equal(json_get_text(replicated, "name", ""), json_text(name, "")))
            return true;
    }
    return false;
}

static void check_targets(struct admission *x, const struct json *list, const struct json *targets, const char *path)
{
    uint32_t i = 0;
    JSON_EACH (target, targets) {
        if (!is_named(list, target, NULL))
            admission_error(x, FIELD_INVALID, AT(x, "%s[%u]", path, i), target, "no replicatedJob has this name");
        i++;
    }
}

/* The host name of its last pod. */
static void check_names(struct admission *x, const struct json *replicated, const char *path, int64_t pods)
{
    const char *set = json_text(json_path(x->object, "metadata", "name", NULL), ""), *name = json_get_text(replicated, "name", "");
    int64_t replicas = json_get_int64(replicated, "replicas", 1);
    const char *job = AT(x, "%s-%s-%lld", set, name, (long long)(replicas > 0 ? replicas - 1 : 0));
    const char *pod = AT(x, "%s-%lld", job, (long long)(pods > 0 ? pods - 1 : 0));
    if (!name_is_dns1035_label(bytes_of(job)))
        admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), json_get(replicated, "name"),
                        "its jobs would be named %s: " NAME_DNS1035_RULE, job);
    else if (strlen(pod) > LIMIT_LABEL)
        admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), json_get(replicated, "name"),
                        "its pods would have the host name %s, which has more than 63 characters: shorten it, or metadata.name", pod);
}

/* Numbers whose product, or sum, nobody could run: jobs are made one by one. */
static void check_size(struct admission *x, const struct json *replicated, const char *path, int64_t pods, int64_t *all)
{
    int64_t replicas = json_get_int64(replicated, "replicas", 1);
    bool many = replicas > LIMIT_GANG_MEMBERS || pods > LIMIT_GANG_MEMBERS;
    *all += many ? 0 : replicas * pods;
    if (many || *all > LIMIT_GANG_MEMBERS)
        admission_error(x, FIELD_INVALID, AT(x, "%s.replicas", path), json_get(replicated, "replicas"),
                        "with parallelism this makes more than %d pods, which is the most of one gang", LIMIT_GANG_MEMBERS);
}

static void check_depends(struct admission *x, const struct json *list, const struct json *replicated, const char *path)
{
    uint32_t i = 0;
    JSON_EACH (on, json_get(replicated, "dependsOn")) {
        const struct json *name = json_get(on, "name");
        if (!is_named(list, name, replicated))
            admission_error(x, FIELD_INVALID, AT(x, "%s.dependsOn[%u].name", path, i), name,
                            "must be the name of a replicatedJob that stands before this one");
        i++;
    }
}

static void check_list(struct admission *x, const struct json *spec, const struct json *list)
{
    bool queued = admission_label(x->object, QUEUE_NAME_LABEL)[0], depends = false;
    uint32_t i = 0;
    int64_t all = 0;
    if (!admission_list_n(list))
        admission_error(x, FIELD_REQUIRED, LIST, NULL, "the jobs that belong together, each with a name and a template");
    admission_unique(x, list, LIST, "name");
    JSON_EACH (replicated, list) {
        const struct json *job = json_path(replicated, "template", "spec", NULL);
        int64_t parallelism = json_get_int64(job, "parallelism", 1), completions = json_get_int64(job, "completions", parallelism),
                pods = completions < parallelism ? completions : parallelism;
        const char *path = AT(x, LIST "[%u]", i++);
        check_size(x, replicated, path, pods, &all);
        depends = depends || admission_list_n(json_get(replicated, "dependsOn"));
        if (!x->old)
            check_names(x, replicated, path, completions);
        check_depends(x, list, replicated, path);
        if (queued)
            admission_topology_annotations(x, json_path(job, "template", "metadata", "annotations", NULL),
                                           AT(x, "%s.template.spec.template.metadata.annotations", path),
                                           pods * json_get_int64(replicated, "replicas", 1));
    }
    if (depends && text_equal(json_text(json_path(spec, "startupPolicy", "startupPolicyOrder", NULL), ""), "InOrder"))
        admission_error(x, FIELD_INVALID, "spec", NULL, "StartupPolicy and DependsOn APIs are mutually exclusive: leave one of them out");
}

/* A list of jobs without their numbers, and of a set that stands still without where its pods may run. */
static struct json *fixed_parts(struct admission *x, const struct json *list, bool stands)
{
    static const char *const open[] = {"nodeSelector", "tolerations", "schedulingGates"};
    struct json *copy = list ? json_clone(x->arena, list) : json_new(x->arena, JSON_ARRAY);
    JSON_EACH (replicated, copy) {
        struct json *template = json_path(replicated, "template", "spec", "template", NULL);
        if (template && stands)
            (void)json_remove(template, "metadata");
        for (size_t i = 0; template && stands && i < sizeof open / sizeof *open; i++)
            (void)json_remove(json_get(template, "spec"), open[i]);
        (void)json_remove(replicated, "replicas");
        (void)json_remove(json_path(replicated, "template", "spec", NULL), "parallelism");
        (void)json_remove(json_path(replicated, "template", "spec", NULL), "completions");
    }
    return copy;
}

static void check_update(struct admission *x, const struct queued_kind *k, const struct json *list)
{
    static const char *const fixed[] = {"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"};
    const struct json *was = json_path(x->old, "spec", "replicatedJobs", NULL);
    bool stands = queued_kind_is_suspended(k, x->old) || queued_kind_is_suspended(k, x->object);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        admission_immutable(x, "spec", fixed[i]);
    if (!was || !list || json_equal(was, list) || json_equal(fixed_parts(x, was, stands), fixed_parts(x, list, stands)))
        return;
    admission_error(x, FIELD_INVALID, LIST, NULL,
                    "field is immutable, but for numbers, and for node selectors, tolerations, scheduling gates, labels and annotations of "
                    "pod templates%s", stands ? "" : " while the set is suspended");
}

void admission_jobset(struct admission *x, const struct kind *kind)
{
    const struct queued_kind *k = &queued_kinds[QUEUED_JOBSET];
    struct json *spec = json_get(x->object, "spec");
    if (!text_equal(kind->plural, k->plural) || !json_is(spec, JSON_OBJECT))
        return;
    fill(x, spec);
    admission_queue_name(x, spec);
    const struct json *list = json_get(spec, "replicatedJobs");
    check_list(x, spec, list);
    check_targets(x, list, json_path(spec, "successPolicy", "targetReplicatedJobs", NULL), "spec.successPolicy.targetReplicatedJobs");
    const struct json *rules = json_path(spec, "failurePolicy", "rules", NULL);
    uint32_t i = 0;
    admission_unique(x, rules, "spec.failurePolicy.rules", "name");
    JSON_EACH (rule, rules)
        check_targets(x, list, json_get(rule, "targetReplicatedJobs"), AT(x, "spec.failurePolicy.rules[%u].targetReplicatedJobs", i++));
    admission_managed_by(x, k, NULL);
    admission_queue_rules(x, k);
    if (x->old)
        check_update(x, k, list);
}
