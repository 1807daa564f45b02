/* Small kinds of the cluster: PriorityClass, PodDisruptionBudget, Lease, RBAC, CustomResourceDefinition. */
#include "codec/admission/admission_part.h"

#define USER_PRIORITY_MAX 1000000000 /* above are the system's classes */

static void admit_priority_class(struct admission *x)
{
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    bool builtin = text_equal(name, "system-cluster-critical") || text_equal(name, "system-node-critical");
    const struct json *value = json_get(x->object, "value");
    if (text_starts(name, "system-") && !builtin)
        admission_error(x, FIELD_FORBIDDEN, "metadata.name", NULL,
                        "priority class names with 'system-' prefix are reserved for system use only");
    if (!builtin && json_int64(value, 0) > USER_PRIORITY_MAX)
        admission_error(x, FIELD_FORBIDDEN, "value", NULL, "maximum allowed value of a user defined priority is %d",
                        USER_PRIORITY_MAX);
    if (!value)
        json_set_int64(x->arena, x->object, "value", 0);
    admission_default_text(x, x->object, "preemptionPolicy", "PreemptLowerPriority");
    if (!x->old)
        return;
    if (json_int64(value, 0) != json_get_int64(x->old, "value", 0))
        admission_error(x, FIELD_FORBIDDEN, "value", NULL,
                        "may not be changed in an update: make a class of another name, and move pods to it");
    admission_immutable(x, NULL, "preemptionPolicy");
}

/* SOURCE Kubernetes 1.33, where both are dropped unless the gate CoordinatedLeaderElection is on: the server elects no leaders. */
static void drop_coordination(struct admission *x, struct json *spec)
{
    static const char *const members[] = {"strategy", "preferredHolder"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!json_get(spec, members[i]))
            continue;
        json_remove(spec, members[i]);
        admission_warn(x, "spec.%s: is not kept: who holds a Lease is settled by those who want it", members[i]);
    }
}

static void admit_lease(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec");
    const struct json *duration = json_get(spec, "leaseDurationSeconds");
    drop_coordination(x, spec);
    if (duration && json_int64(duration, 0) < 1)
        admission_error(x, FIELD_INVALID, "spec.leaseDurationSeconds", duration, "must be greater than 0");
    admission_not_negative(x, spec, "spec", "leaseTransitions");
}

static void check_rules(struct admission *x, bool cluster)
{
    const struct json *rules = json_get(x->object, "rules");
    uint32_t at = 0;
    JSON_EACH (rule, admission_list_n(rules) ? rules : NULL) {
        const char *path = AT(x, "rules[%u]", at++);
        bool urls = admission_list_n(json_get(rule, "nonResourceURLs")) > 0;
        bool resources = admission_list_n(json_get(rule, "resources")) > 0;
        if (admission_list_n(json_get(rule, "verbs")) == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.verbs", path), NULL, "verbs must contain at least one value");
        if (urls && !cluster)
            admission_error(x, FIELD_INVALID, AT(x, "%s.nonResourceURLs", path), NULL,
                            "namespaced rules cannot apply to non-resource URLs");
        if (urls && resources)
            admission_error(x, FIELD_INVALID, AT(x, "%s.nonResourceURLs", path), NULL,
                            "rules cannot apply to both regular resources and non-resource URLs");
        if (!urls && admission_list_n(json_get(rule, "apiGroups")) == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.apiGroups", path), NULL,
                            "resource rules must supply at least one api group (\"\" is the core group)");
        if (!urls && !resources)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.resources", path), NULL,
                            "resource rules must supply at least one resource");
    }
}

static void check_binding(struct admission *x)
{
    struct json *ref = json_get(x->object, "roleRef"), *subjects = json_get(x->object, "subjects");
    struct bytes kind = json_bytes(json_get(ref, "kind"));
    if (json_is(ref, JSON_OBJECT))
        admission_default_text(x, ref, "apiGroup", "rbac.authorization.k8s.io");
    if (!bytes_is(kind, "Role") && !bytes_is(kind, "ClusterRole"))
        admission_error(x, FIELD_NOT_SUPPORTED, "roleRef.kind", json_get(ref, "kind"),
                        "supported values: \"Role\", \"ClusterRole\"");
    admission_require(x, ref, "roleRef", "name", "");
    uint32_t at = 0;
    JSON_EACH (subject, admission_list_n(subjects) ? subjects : NULL) {
        const char *path = AT(x, "subjects[%u]", at++);
        bool account = bytes_is(json_bytes(json_get(subject, "kind")), "ServiceAccount");
        if (!account)
            admission_default_text(x, subject, "apiGroup", "rbac.authorization.k8s.io");
        admission_require(x, subject, path, "name", "");
        if (account && text_equal(json_get_text(x->object, "kind", ""), "ClusterRoleBinding"))
            admission_require(x, subject, path, "namespace", "");
    }
    if (x->old && !json_equal(json_get(x->old, "roleRef") ? json_get(x->old, "roleRef") : x->old, ref ? ref : x->old))
        admission_error(x, FIELD_INVALID, "roleRef", NULL,
                        "cannot change roleRef: delete the binding and create it again");
}

static void admit_crd(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *names = json_get(spec, "names");
    const char *group = json_get_text(spec, "group", ""), *plural = json_get_text(names, "plural", "");
    const char *name = json_text(json_path(x->object, "metadata", "name", NULL), ""),
               *wanted = AT(x, "%s.%s", plural, group);
    if (group[0] && plural[0] && !text_equal(name, wanted))
        admission_error(x, FIELD_INVALID, "metadata.name", json_path(x->object, "metadata", "name", NULL),
                        "must be spec.names.plural+\".\"+spec.group: write %s", wanted);
    uint32_t at = 0, stored_n = 0;
    const struct json *versions = json_get(spec, "versions");
    JSON_EACH (version, admission_list_n(versions) ? versions : NULL) {
        stored_n += json_get_bool(version, "storage", false);
        if (!json_path(version, "schema", "openAPIV3Schema", NULL))
            admission_error(x, FIELD_REQUIRED, AT(x, "spec.versions[%u].schema.openAPIV3Schema", at), NULL,
                            "schemas are required");
        at++;
    }
    if (at && stored_n != 1)
        admission_error(x, FIELD_INVALID, "spec.versions", NULL,
                        "must have exactly one version marked as storage version");
    admission_unique(x, versions, "spec.versions", "name");
    if (x->old) {
        admission_immutable(x, "spec", "group");
        admission_immutable(x, "spec", "scope");
    }
}

#define PERCENT_RULE                                                                                                               \
    "a valid percent string must be a numeric followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

static bool is_percent(struct bytes text)
{
    size_t n = 0;
    while (n < text.n && text.data[n] >= '0' && text.data[n] <= '9')
        n++;
    return n && n + 1 == text.n && text.data[n] == '%';
}

/* A number of pods, or a share of them. */
static void check_share(struct admission *x, const struct json *spec, const char *key)
{
    const struct json *v = json_get(spec, key);
    struct bytes text = json_bytes(v);
    int64_t percent;
    if (!json_is(v, JSON_STRING))
        admission_not_negative(x, spec, "spec", key);
    else if (!is_percent(text))
        admission_error(x, FIELD_INVALID, admission_below(x, "spec", key), v, "%s", PERCENT_RULE);
    else if (!bytes_int64((struct bytes){text.data, text.n - 1}, &percent) || percent > 100)
        admission_error(x, FIELD_INVALID, admission_below(x, "spec", key), v, "%s", "must not be greater than 100%");
}

static void admit_budget(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec");
    if (json_get(spec, "minAvailable") && json_get(spec, "maxUnavailable"))
        admission_error(x, FIELD_INVALID, "spec", NULL, "minAvailable and maxUnavailable cannot be both set");
    check_share(x, spec, "minAvailable");
    check_share(x, spec, "maxUnavailable");
    admission_label_selector(x, json_get(spec, "selector"), "spec.selector");
}

void admission_cluster(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "priorityclasses"))
        admit_priority_class(x);
    else if (text_equal(k->plural, "poddisruptionbudgets"))
        admit_budget(x);
    else if (text_equal(k->plural, "leases"))
        admit_lease(x);
    else if (text_equal(k->plural, "roles") || text_equal(k->plural, "clusterroles"))
        check_rules(x, text_equal(k->plural, "clusterroles"));
    else if (text_equal(k->plural, "rolebindings") || text_equal(k->plural, "clusterrolebindings"))
        check_binding(x);
    else if (text_equal(k->plural, "customresourcedefinitions"))
        admit_crd(x);
}
