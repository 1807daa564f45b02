/* admission_jobset.c - JobSet: its defaults, and what its webhook refuses; see admission_part.h
 *
 * SOURCE jobset v1alpha2: its definition's CEL and its webhook.
 */
#include "codec/admission/admission_part.h"
#include "codec/schema/schema_checks.h"

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

static bool is_indexed(const struct json *replicated)
{
    return text_equal(json_text(json_path(replicated, "template", "spec", "completionMode", NULL), ""), "Indexed");
}

/* A list of jobs without the numbers of pods, which may change, and of a set that stands still without where its pods may run. */
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
        if (!is_indexed(replicated))
            continue;
        (void)json_remove(json_path(replicated, "template", "spec", NULL), "parallelism");
        (void)json_remove(json_path(replicated, "template", "spec", NULL), "completions");
    }
    return copy;
}

static bool is_over(const struct json *set)
{
    return text_equal(json_text(json_path(set, "status", "terminalState", NULL), ""), "Completed") ||
           text_equal(json_text(json_path(set, "status", "terminalState", NULL), ""), "Failed");
}

/* Jobs that are told apart by their index may get more pods, or fewer: all of them run at once, before as after. */
static void check_scaled(struct admission *x, const struct json *was, const struct json *list)
{
    static const char *const keys[] = {"parallelism", "completions"};
    uint32_t i = 0;
    JSON_EACH (replicated, list) {
        const struct json *old = json_path(json_item(was, i), "template", "spec", NULL),
                          *job = json_path(replicated, "template", "spec", NULL);
        const char *path = AT(x, LIST "[%u].template.spec", i++);
        int64_t n[2], before[2];
        for (int k = 0; k < 2; k++) {
            n[k] = json_get_int64(job, keys[k], k ? n[0] : 1);
            before[k] = json_get_int64(old, keys[k], k ? before[0] : 1);
        }
        if (n[0] == before[0] && n[1] == before[1])
            continue;
        if (is_over(x->old))
            admission_error(x, FIELD_FORBIDDEN, path, NULL,
                            "Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed or Failed)");
        else if (n[0] < 1)
            admission_error(x, FIELD_INVALID, AT(x, "%s.parallelism", path), json_get(job, "parallelism"), "parallelism must be >= 1");
        else if (n[0] != n[1])
            admission_error(x, FIELD_INVALID, AT(x, "%s.completions", path), json_get(job, "completions"),
                            "completions must be equal to parallelism for Elastic Indexed Jobs: write %lld", (long long)n[0]);
    }
}

static void check_update(struct admission *x, const struct queued_kind *k, const struct json *list)
{
    static const char *const fixed[] = {"network", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"};
    const struct json *was = json_path(x->old, "spec", "replicatedJobs", NULL);
    bool stands = queued_kind_is_suspended(k, x->old) || queued_kind_is_suspended(k, x->object);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        admission_immutable(x, "spec", fixed[i]);
    if (!was || !list || json_equal(was, list))
        return;
    if (json_equal(fixed_parts(x, was, stands), fixed_parts(x, list, stands))) {
        check_scaled(x, was, list);
        return;
    }
    admission_error(x, FIELD_INVALID, LIST, NULL,
                    "field is immutable, but for parallelism and completions of Indexed jobs, and for node selectors, tolerations, scheduling gates, labels and annotations of "
                    "pod templates%s", stands ? "" : " while the set is suspended");
}

/* ---- rules for failures ---- */

static bool is_rule_name(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        bool letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z');
        bool word = letter || (name[i] >= '0' && name[i] <= '9') || name[i] == '_';
        if ((i == 0 && !letter) || (i == n - 1 && !word) || (!word && name[i] != ',' && name[i] != ':'))
            return false;
    }
    return n >= 1 && n <= 128;
}

static void check_reasons(struct admission *x, const struct json *rule, const char *path)
{
    static const char *const known[] = {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded",
                                        "PodFailurePolicy"};
    uint32_t i = 0;
    JSON_EACH (reason, json_get(rule, "onJobFailureReasons")) {
        bool found = false;
        for (size_t n = 0; n < sizeof known / sizeof *known; n++)
            found = found || text_equal(json_text(reason, ""), known[n]);
        if (!found)
            admission_error(x, FIELD_INVALID, AT(x, "%s.onJobFailureReasons[%u]", path, i), reason,
                            "is not a recognized job failure reason: write BackoffLimitExceeded, DeadlineExceeded, FailedIndexes, "
                            "MaxFailedIndexesExceeded or PodFailurePolicy");
        i++;
    }
    i = 0;
    JSON_EACH (pattern, json_get(rule, "onJobFailureMessagePatterns")) {
        bool found;
        const char *text = "";
        if (!schema_pattern_finds(json_text(pattern, ""), &text, 1, &found))
            admission_warn(x, "%s.onJobFailureMessagePatterns[%u]: is no regular expression of RE2, and fits no message", path, i);
        i++;
    }
}

static void check_rules(struct admission *x, const struct json *list, const struct json *rules)
{
    uint32_t i = 0;
    admission_unique(x, rules, "spec.failurePolicy.rules", "name");
    JSON_EACH (rule, rules) {
        const char *path = AT(x, "spec.failurePolicy.rules[%u]", i++);
        if (!is_rule_name(json_get_text(rule, "name", "")))
            admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), json_get(rule, "name"),
                            "must start with a letter, go on with letters, digits or '_,:', end with a letter, digit or '_', and have at most "
                            "128 characters");
        check_targets(x, list, json_get(rule, "targetReplicatedJobs"), AT(x, "%s.targetReplicatedJobs", path));
        check_reasons(x, rule, path);
    }
}

/* ---- names, and who is found by them ---- */

static void check_coordinator(struct admission *x, const struct json *spec, const struct json *list)
{
    const struct json *coordinator = json_get(spec, "coordinator"), *of = NULL;
    int64_t job = json_get_int64(coordinator, "jobIndex", 0), pod = json_get_int64(coordinator, "podIndex", 0);
    if (!json_is(coordinator, JSON_OBJECT))
        return;
    JSON_EACH (replicated, list)
        if (text_equal(json_get_text(replicated, "name", ""), json_get_text(coordinator, "replicatedJob", "")))
            of = replicated;
    const struct json *template = json_path(of, "template", "spec", NULL);
    int64_t completions = json_get_int64(template, "completions", 0);
    if (!of)
        admission_error(x, FIELD_INVALID, "spec.coordinator.replicatedJob", json_get(coordinator, "replicatedJob"), "no replicatedJob has this name");
    else if (job < 0 || job >= json_get_int64(of, "replicas", 1))
        admission_error(x, FIELD_INVALID, "spec.coordinator.jobIndex", json_get(coordinator, "jobIndex"),
                        "coordinator job index %lld is invalid for replicatedJob %s: it has %lld", (long long)job, json_get_text(of, "name", ""),
                        (long long)json_get_int64(of, "replicas", 1));
    else if (!completions || !text_equal(json_get_text(template, "completionMode", ""), "Indexed"))
        admission_error(x, FIELD_INVALID, "spec.coordinator", NULL,
                        "job for coordinator pod must be indexed completion mode, and completions number must be set: write completions of %s",
                        json_get_text(of, "name", ""));
    else if (pod < 0 || pod >= completions)
        admission_error(x, FIELD_INVALID, "spec.coordinator.podIndex", json_get(coordinator, "podIndex"),
                        "coordinator pod index %lld is invalid for replicatedJob %s: its jobs have %lld", (long long)pod,
                        json_get_text(of, "name", ""), (long long)completions);
}

static void check_labels(struct admission *x, const struct json *spec, const struct json *list)
{
    const struct json *domain = json_path(spec, "network", "subdomain", NULL);
    uint32_t i = 0;
    if (*json_text(domain, "") && !name_is_dns1035_label(json_bytes(domain)))
        admission_error(x, FIELD_INVALID, "spec.network.subdomain", domain, "its Service is named so: " NAME_DNS1035_RULE);
    JSON_EACH (replicated, list) {
        const struct json *group = json_get(replicated, "groupName");
        if (group && !name_is_dns1035_label(json_bytes(group)))
            admission_error(x, FIELD_INVALID, AT(x, LIST "[%u].groupName", i), group, NAME_DNS1035_RULE);
        i++;
    }
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
    if (!x->old) {
        check_rules(x, list, json_path(spec, "failurePolicy", "rules", NULL));
        check_coordinator(x, spec, list);
        check_labels(x, spec, list);
    }
    admission_managed_by(x, k, NULL);
    admission_queue_rules(x, k);
    if (x->old)
        check_update(x, k, list);
}
