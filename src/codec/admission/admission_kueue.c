#include "codec/admission/admission_part.h"
#include "codec/decode/decode.h"
#include "core/state/topology.h"

/* ---- ClusterQueue ---- */

static void check_fair_sharing(struct admission *x, const struct json *spec)
{
    const struct json *weight = json_path(spec, "fairSharing", "weight", NULL);
    struct quantity q;
    admission_as_webhook(x, true);
    if (admission_quantity(x, weight, "spec.fairSharing", &q) && q.nano == 1) /* the field that Kueue names */
        admission_error(x, FIELD_INVALID, "spec.fairSharing", weight, "weight: when greater than 0, must be greater than 10^-9");
    admission_as_webhook(x, false);
}

static void check_preemption(struct admission *x, const struct json *spec)
{
    const struct json *preemption = json_get(spec, "preemption"),
                      *policy = json_path(preemption, "borrowWithinCohort", "policy", NULL);
    const char *reclaim = json_get_text(preemption, "reclaimWithinCohort", "Never");
    if (text_equal(reclaim, "Never") && policy && !bytes_is(json_bytes(policy), "Never"))
        admission_error(x, FIELD_INVALID, "spec.preemption", NULL,
                        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never");
    const struct json *fungibility = json_get(spec, "flavorFungibility");
    if (json_get(fungibility, "preference") &&
        (!text_equal(json_get_text(fungibility, "whenCanBorrow", ""), "TryNextFlavor") ||
         !text_equal(json_get_text(fungibility, "whenCanPreempt", ""), "TryNextFlavor")))
        admission_error(x, FIELD_INVALID, "spec.flavorFungibility", NULL,
                        "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor");
}

#define STATUS_CHECKS_MAX 8 /* Kueue's own limit: status.admissionChecks of a Workload */

static bool flavor_exists(const struct json *groups, struct bytes name)
{
    JSON_EACH (group, admission_list_n(groups) ? groups : NULL)
        JSON_EACH (flavor, admission_list_n(json_get(group, "flavors")) ? json_get(group, "flavors") : NULL)
            if (bytes_equal(json_bytes(json_get(flavor, "name")), name))
                return true;
    return false;
}

static void check_admission_checks(struct admission *x, const struct json *spec)
{
    const struct json *checks = json_path(spec, "admissionChecksStrategy", "admissionChecks", NULL);
    uint32_t at = 0;
    admission_as_webhook(x, true);
    JSON_EACH (check, admission_list_n(checks) ? checks : NULL) {
        uint32_t flavor_at = 0;
        JSON_EACH (flavor, admission_list_n(json_get(check, "onFlavors")) ? json_get(check, "onFlavors") : NULL) {
            if (!flavor_exists(json_get(spec, "resourceGroups"), json_bytes(flavor)))
                admission_error(x, FIELD_NOT_SUPPORTED,
                                AT(x, "spec.admissionChecksStrategy.admissionChecks[%u].onFlavors[%u]", at, flavor_at),
                                flavor, "is not a flavor of this ClusterQueue");
            flavor_at++;
        }
        at++;
    }
    admission_as_webhook(x, false);
    if (at > STATUS_CHECKS_MAX)
        admission_warn(x, "spec.admissionChecksStrategy.admissionChecks: %u checks, and the status of a Workload holds at most %d: who needs "
                          "more of them than that is never admitted", at, STATUS_CHECKS_MAX);
}

static void check_backfill(struct admission *x, const struct json *spec)
{
    const struct json *note = json_path(x->object, "metadata", "annotations", DECODE_BACKFILL_ANNOTATION, NULL);
    enum queue_backfill backfill;
    if (decode_backfill(json_bytes(note), &backfill) && backfill != BACKFILL_NONE &&
        bytes_is(json_bytes(json_get(spec, "queueingStrategy")), "StrictFIFO"))
        admission_warn(x, "metadata.annotations[" DECODE_BACKFILL_ANNOTATION "]: has no effect: in a StrictFIFO queue nobody passes who waits; "
                          "remove it, or make the queue with spec.queueingStrategy: BestEffortFIFO");
}

static void admit_cluster_queue(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *cohort = json_get(spec, "cohortName");
    if (!admission_absent(cohort) && !name_is_dns_subdomain(json_bytes(cohort)))
        admission_error(x, FIELD_INVALID, "spec.cohortName", cohort, NAME_DNS_SUBDOMAIN_RULE);
    admission_resource_groups(x, spec, false, !admission_absent(cohort));
    admission_as_webhook(x, true);
    admission_label_selector(x, json_get(spec, "namespaceSelector"), "spec.namespaceSelector");
    admission_as_webhook(x, false);
    check_preemption(x, spec);
    check_fair_sharing(x, spec);
    check_admission_checks(x, spec);
    check_backfill(x, spec);
    admission_as_webhook(x, true);
    admission_immutable(x, "spec", "concurrentAdmissionPolicy");
    admission_as_webhook(x, false);
}

/* ---- Cohort ---- */

static void admit_cohort(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *parent = json_get(spec, "parentName");
    const char *own = json_text(json_path(x->object, "metadata", "name", NULL), "");
    if (!admission_absent(parent) && !name_is_dns_subdomain(json_bytes(parent)))
        admission_error(x, FIELD_INVALID, "spec.parentName", parent, NAME_DNS_SUBDOMAIN_RULE);
    admission_resource_groups(x, spec, true, !admission_absent(parent));
    check_fair_sharing(x, spec);
    /* A cycle is legal to write (Kueue stops admission in it), and never meant. */
    const char *at = json_text(parent, "");
    for (int depth = 0; at[0] && depth < LIMIT_COHORT_DEPTH; depth++) {
        if (text_equal(at, own)) {
            admission_warn(x,
                           "spec.parentName: %s is above %s already: the cohorts form a cycle, and nothing is admitted "
                           "in them until it is broken",
                           json_text(parent, ""), own);
            return;
        }
        const struct json *up = x->read ? x->read(x->ctx, "kueue.x-k8s.io", "cohorts", "", at) : NULL;
        at = json_text(json_path(up, "spec", "parentName", NULL), "");
    }
}

/* ---- LocalQueue ---- */

static void admit_local_queue(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *queue = json_get(spec, "clusterQueue");
    if (!admission_absent(queue) && !name_is_dns_subdomain(json_bytes(queue)))
        admission_error(x, FIELD_INVALID, "spec.clusterQueue", queue, NAME_DNS_SUBDOMAIN_RULE);
    if (x->old && !admission_absent(json_path(x->old, "spec", "clusterQueue", NULL)))
        admission_immutable(x, "spec", "clusterQueue");
    check_fair_sharing(x, spec);
}

/* ---- ResourceFlavor ---- */

/* SOURCE Kueue: of a taint its type looks at the effect, its webhook at all else. */
static void check_flavor_taints(struct admission *x, const struct json *list)
{
    uint32_t at = 0;
    JSON_EACH (taint, admission_list_n(list) ? list : NULL) {
        if (admission_absent(json_get(taint, "effect")))
            admission_error(x, FIELD_NOT_SUPPORTED, AT(x, "spec.nodeTaints[%u].effect", at), json_get(taint, "effect"),
                            "supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"");
        at++;
    }
    admission_as_webhook(x, true);
    admission_taints(x, list, "spec.nodeTaints");
    admission_as_webhook(x, false);
}

/* SOURCE Kueue: of a toleration its webhook looks at the key alone, and the type knows two operators. */
static void check_flavor_tolerations(struct admission *x, const struct json *list)
{
    uint32_t at = 0;
    JSON_EACH (t, admission_list_n(list) ? list : NULL) {
        const struct json *key = json_get(t, "key"), *operator = json_get(t, "operator");
        const char *path = AT(x, "spec.tolerations[%u]", at++);
        admission_as_webhook(x, true);
        if (!admission_absent(key) && !name_is_qualified(json_bytes(key)))
            admission_error(x, FIELD_INVALID, admission_below(x, path, "key"), key, NAME_QUALIFIED_RULE);
        admission_as_webhook(x, false);
        if (bytes_is(json_bytes(operator), "Lt") || bytes_is(json_bytes(operator), "Gt"))
            admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, path, "operator"), operator,
                            "supported values: \"Equal\", \"Exists\"");
    }
    admission_tolerations(x, list, "spec.tolerations");
}

static void admit_flavor(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *labels = json_get(spec, "nodeLabels");
    admission_as_webhook(x, true);
    admission_labels(x, labels, "spec.nodeLabels");
    admission_as_webhook(x, false);
    check_flavor_taints(x, json_get(spec, "nodeTaints"));
    check_flavor_tolerations(x, json_get(spec, "tolerations"));
    const struct json *topology = json_get(spec, "topologyName");
    if (!admission_absent(topology) && !(json_is(labels, JSON_OBJECT) && labels->n))
        admission_error(x, FIELD_INVALID, "spec", NULL, "at least one nodeLabel is required when topology is set");
    if (x->old && !admission_absent(json_path(x->old, "spec", "topologyName", NULL)))
        admission_immutable(x, "spec", "topologyName");
}

/* ---- Topology ---- */

static bool ends_at_hosts(const struct json *levels)
{
    const struct json *last = admission_list_n(levels) ? json_item(levels, levels->n - 1) : NULL;
    return bytes_is(json_bytes(json_get(last, "nodeLabel")), TOPOLOGY_NODE_LABEL);
}

/* The field is the list, as with Kueue: the text says which level. */
static void admit_topology(struct admission *x)
{
    const struct json *levels = json_path(x->object, "spec", "levels", NULL), *was = json_path(x->old, "spec", "levels", NULL);
    uint32_t at = 0, n = admission_list_n(levels);
    JSON_EACH (level, n ? levels : NULL) {
        const struct json *label = json_get(level, "nodeLabel");
        bool twice = false;
        for (const struct json *before = levels->first; before != level; before = before->next)
            twice |= bytes_equal(json_bytes(json_get(before, "nodeLabel")), json_bytes(label));
        if (twice)
            admission_error(x, FIELD_INVALID, "spec.levels", NULL, "[%u].nodeLabel: another level has this label: \"%s\"", at,
                            json_text(label, ""));
        if (bytes_is(json_bytes(label), TOPOLOGY_NODE_LABEL) && at + 1 < n)
            admission_error(x, FIELD_INVALID, "spec.levels", NULL, "[%u].nodeLabel: " TOPOLOGY_NODE_LABEL " can only be the last level",
                            at);
        at++;
    }
    if (was && levels && !json_equal(was, levels) && !(ends_at_hosts(was) && ends_at_hosts(levels)))
        admission_error(x, FIELD_INVALID, "spec.levels", NULL,
                        "the levels can change only where the last one is " TOPOLOGY_NODE_LABEL ", and stays so");
}

/* Comes with Kueue itself, as that for ProvisioningRequests, which Capstan has; any other name is somebody's own controller. */
static void admit_check(struct admission *x)
{
    admission_immutable(x, "spec", "controllerName");
    if (!x->old && bytes_is(json_bytes(json_path(x->object, "spec", "controllerName", NULL)), "kueue.x-k8s.io/multikueue"))
        admission_warn(x, "spec.controllerName: Capstan has no such controller yet: unless another one sets the check's condition Active, "
                          "ClusterQueues that demand it admit nothing");
}

/* ---- ProvisioningRequest: the autoscaler's own kind, by the rules of its CustomResourceDefinition ---- */

void admission_provisioning(struct admission *x, const struct kind *k)
{
    static const char *const fixed[] = {"podSets", "provisioningClassName", "parameters"};
    const struct json *spec = json_get(x->object, "spec"), *sets = json_get(spec, "podSets"), *was = json_get(x->old, "spec");
    uint32_t at = 0, n = admission_list_n(sets);
    (void)k; /* the group has no other */
    if (n < 1 || n > 32)
        admission_error(x, FIELD_INVALID, "spec.podSets", NULL, "must have 1 to 32 items");
    JSON_EACH (set, n ? sets : NULL) {
        const struct json *name = json_path(set, "podTemplateRef", "name", NULL);
        if (!name_is_dns_subdomain(json_bytes(name)))
            admission_error(x, FIELD_INVALID, AT(x, "spec.podSets[%u].podTemplateRef.name", at), name, NAME_DNS_SUBDOMAIN_RULE);
        at++;
    }
    if (!name_is_dns_subdomain(json_bytes(json_get(spec, "provisioningClassName"))))
        admission_error(x, FIELD_INVALID, "spec.provisioningClassName", json_get(spec, "provisioningClassName"), NAME_DNS_SUBDOMAIN_RULE);
    for (int i = 0; i < 3; i++) {
        const struct json *before = json_get(was, fixed[i]), *now = json_get(spec, fixed[i]);
        if (before && now && !json_equal(before, now))
            admission_error(x, FIELD_INVALID, AT(x, "spec.%s", fixed[i]), now, "Value is immutable");
    }
}

/* ---- MultiKueue: nothing is done of it, but what it cannot be is refused ---- */

static void admit_multikueue_cluster(struct admission *x)
{
    const struct json *source = json_path(x->object, "spec", "clusterSource", NULL);
    if (source && !json_get(source, "kubeConfig") == !json_get(source, "clusterProfileRef"))
        admission_error(x, FIELD_INVALID, "spec.clusterSource", NULL, "must have either kubeConfig or clusterProfileRef");
}

static void admit_multikueue_config(struct admission *x)
{
    const struct json *clusters = json_path(x->object, "spec", "clusters", NULL);
    JSON_EACH (cluster, admission_list_n(clusters) ? clusters : NULL)
        for (const struct json *before = clusters->first; before != cluster; before = before->next)
            if (json_equal(before, cluster))
                admission_error(x, FIELD_INVALID, "spec.clusters", cluster, "stands there twice");
}

/* ---- by kind ---- */

void admission_kueue(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "clusterqueues"))
        admit_cluster_queue(x);
    else if (text_equal(k->plural, "cohorts"))
        admit_cohort(x);
    else if (text_equal(k->plural, "localqueues"))
        admit_local_queue(x);
    else if (text_equal(k->plural, "resourceflavors"))
        admit_flavor(x);
    else if (text_equal(k->plural, "topologies"))
        admit_topology(x);
    else if (text_equal(k->plural, "workloads"))
        admission_workload(x);
    else if (text_equal(k->plural, "admissionchecks"))
        admit_check(x);
    else if (text_equal(k->plural, "multikueueclusters"))
        admit_multikueue_cluster(x);
    else if (text_equal(k->plural, "multikueueconfigs"))
        admit_multikueue_config(x);
}
