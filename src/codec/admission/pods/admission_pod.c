#include "codec/admission/admission_part.h"
#include "codec/kinds/queued_sets.h"
#include "codec/share/share.h"

#include <stdio.h>

#include "codec/decode/decode.h"
#include "codec/decode/limit_range.h"
#include "codec/decode/pod_qos.h"

/* ---- defaults ---- */

void admission_pod_defaults(struct admission *x, struct json *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    if (!json_is(spec, JSON_OBJECT))
        return;
    bool host_network = json_get_bool(spec, "hostNetwork", false);
    for (size_t l = 0; l < 2; l++)
        JSON_EACH (c, admission_list_n(json_get(spec, lists[l])) ? json_get(spec, lists[l]) : NULL)
            admission_container_defaults(x, c, host_network);
    const char *account = json_get_text(spec, "serviceAccountName", ""),
               *older = json_get_text(spec, "serviceAccount", "");
    if (account[0] || older[0]) { /* two spellings of one thing */
        json_set_text(x->arena, spec, "serviceAccountName", account[0] ? account : older);
        json_set_text(x->arena, spec, "serviceAccount", account[0] ? account : older);
    }
}

/* What the Priority plugin of an API server does: a class becomes a number. */
static void resolve_priority(struct admission *x, struct json *spec)
{
    const char *class_name = json_get_text(spec, "priorityClassName", "");
    int64_t value = 0;
    if (text_equal(class_name, "system-cluster-critical"))
        value = 2000000000;
    else if (text_equal(class_name, "system-node-critical"))
        value = 2000001000;
    else if (class_name[0] && x->read) {
        const struct json *class = x->read(x->ctx, "scheduling.k8s.io", "priorityclasses", "", class_name);
        if (!class) {
            admission_error(x, FIELD_FORBIDDEN, "spec.priorityClassName", NULL,
                            "no PriorityClass with name %s was found: create it first, or leave the field out",
                            class_name);
            x->errors.refusal = AT(x, "no PriorityClass with name %s was found", class_name);
            return;
        }
        value = json_get_int64(class, "value", 0);
        admission_default_text(x, spec, "preemptionPolicy",
                               json_get_text(class, "preemptionPolicy", "PreemptLowerPriority"));
    } else if (class_name[0] || !x->read)
        return; /* nobody to ask */
    const struct json *given = json_get(spec, "priority");
    if (given && json_int64(given, value) != value)
        admission_error(x, FIELD_FORBIDDEN, "spec.priority", NULL,
                        "the integer value of priority (%lld) must not be provided in pod spec; priority admission "
                        "controller computed %lld from the given PriorityClass name",
                        (long long)json_int64(given, 0), (long long)value);
    json_set_int64(x->arena, spec, "priority", value);
    admission_default_text(x, spec, "preemptionPolicy", "PreemptLowerPriority");
}

/* Pods stay 300 seconds on a node that went away, unless they say otherwise. */
static void tolerate_lost_nodes(struct admission *x, struct json *spec)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"};
    for (size_t i = 0; i < 2; i++) {
        struct json *list = json_ensure_array(x->arena, spec, "tolerations");
        bool found = false;
        JSON_EACH (t, list) {
            struct bytes key = json_bytes(json_get(t, "key")), effect = json_bytes(json_get(t, "effect"));
            found |= (key.n == 0 || bytes_is(key, keys[i])) && (effect.n == 0 || bytes_is(effect, "NoExecute"));
        }
        if (found)
            continue;
        struct json *t = json_new(x->arena, JSON_OBJECT);
        json_set_text(x->arena, t, "key", keys[i]);
        json_set_text(x->arena, t, "operator", "Exists");
        json_set_text(x->arena, t, "effect", "NoExecute");
        json_set_int64(x->arena, t, "tolerationSeconds", 300);
        json_append(list, t);
    }
}

/* False: it is there. */
static bool add_gate(struct admission *x, struct json *spec, const char *name)
{
    struct json *gates = json_ensure_array(x->arena, spec, "schedulingGates");
    JSON_EACH (gate, gates)
        if (text_equal(json_get_text(gate, "name", ""), name))
            return false;
    struct json *gate = json_new(x->arena, JSON_OBJECT);
    json_set_text(x->arena, gate, "name", name);
    json_append(gates, gate);
    return true;
}

/* In a server the gate is added, lint shows the pod as it is written. SOURCE Volcano's webhook of pods (SchedulingGatesQueueAdmission). The
 * scheduler opens it (sched/binding/queue_gates.h). */
static void gate_for_volcano(struct admission *x, struct json *spec)
{
    const char *asks = admission_annotation(x->object, DECODE_VOLCANO_GATE);
    bool applies = text_equal(asks, "true") && text_equal(json_get_text(spec, "schedulerName", ""), "volcano");
    if (applies && x->read && !json_get_text(spec, "nodeName", "")[0])
        (void)add_gate(x, spec, DECODE_VOLCANO_GATE);
    if (!applies && asks[0] && !text_equal(asks, "false"))
        admission_warn(x, "metadata.annotations[" DECODE_VOLCANO_GATE "]: has no effect: it is for pods of schedulerName volcano that are to "
                          "wait for their queue, with the value true");
}

/* A pod of its own that names a queue is held until its Workload is admitted, as Kueue's webhook does: only a gated pod
 * can still be given the node selector of its flavor. Pods of jobs are held by their job, those of sets wait as if they stood alone. */
static void gate_queued(struct admission *x, struct json *spec)
{
    bool of_set = admission_annotation(x->object, QUEUED_SET_ANNOTATION)[0];
    if (!(admission_label(x->object, QUEUE_NAME_LABEL)[0] || of_set) ||
        admission_annotation(x->object, "kueue.x-k8s.io/workload")[0] ||
        (!of_set && admission_list_n(json_path(x->object, "metadata", "ownerReferences", NULL))) ||
        json_get_text(spec, "nodeName", "")[0])
        return;
    if (!add_gate(x, spec, "kueue.x-k8s.io/admission"))
        return;
    struct json *metadata = json_ensure_object(x->arena, x->object, "metadata");
    json_set_text(x->arena, json_ensure_object(x->arena, metadata, "labels"), "kueue.x-k8s.io/managed", "true");
}

/* ---- checks ---- */

static void check_node_expressions(struct admission *x, const struct json *list, const char *path)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL};
    uint32_t at = 0;
    JSON_EACH (v, admission_list_n(list) ? list : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        struct bytes op = json_bytes(json_get(v, "operator"));
        uint32_t n = admission_list_n(json_get(v, "values"));
        if (!name_is_qualified(json_bytes(json_get(v, "key"))))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "key"), json_get(v, "key"), NAME_QUALIFIED_RULE);
        if (!admission_is_one_of(op, operators))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "operator"), json_get(v, "operator"),
                            "not a valid selector operator: write In, NotIn, Exists, DoesNotExist, Gt or Lt");
        if ((bytes_is(op, "In") || bytes_is(op, "NotIn")) && n == 0)
            admission_error(x, FIELD_REQUIRED, admission_below(x, item, "values"), NULL,
                            "must be specified when `operator` is 'In' or 'NotIn'");
        if ((bytes_is(op, "Exists") || bytes_is(op, "DoesNotExist")) && n)
            admission_error(x, FIELD_FORBIDDEN, admission_below(x, item, "values"), NULL,
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        if ((bytes_is(op, "Gt") || bytes_is(op, "Lt")) && n != 1)
            admission_error(x, FIELD_REQUIRED, admission_below(x, item, "values"), NULL,
                            "must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
}

static void check_affinity(struct admission *x, const struct json *affinity, const char *path)
{
    const char *required = "requiredDuringSchedulingIgnoredDuringExecution";
    const struct json *node = json_path(affinity, "nodeAffinity", required, NULL);
    const char *at_node = AT(x, "%s.nodeAffinity.%s", path, required);
    const struct json *terms = json_get(node, "nodeSelectorTerms");
    if (node && admission_list_n(terms) == 0)
        admission_error(x, FIELD_REQUIRED, AT(x, "%s.nodeSelectorTerms", at_node), NULL,
                        "must have at least one node selector term");
    uint32_t at = 0;
    JSON_EACH (term, admission_list_n(terms) ? terms : NULL)
        check_node_expressions(x, json_get(term, "matchExpressions"),
                               AT(x, "%s.nodeSelectorTerms[%u].matchExpressions", at_node, at++));
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    for (int i = 0; i < 2; i++) {
        at = 0;
        JSON_EACH (term, admission_list_n(json_path(affinity, kinds[i], required, NULL))
                             ? json_path(affinity, kinds[i], required, NULL)
                             : NULL) {
            const char *item = AT(x, "%s.%s.%s[%u]", path, kinds[i], required, at++);
            admission_require(x, term, item, "topologyKey", "can not be empty");
            admission_label_selector(x, json_get(term, "labelSelector"), admission_below(x, item, "labelSelector"));
        }
    }
}

static void check_spreads(struct admission *x, const struct json *list, const char *path)
{
    static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
    uint32_t at = 0;
    JSON_EACH (c, admission_list_n(list) ? list : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        if (json_get_int64(c, "maxSkew", 0) < 1)
            admission_error(x, FIELD_INVALID, admission_below(x, item, "maxSkew"), json_get(c, "maxSkew"),
                            "must be greater than zero");
        admission_require(x, c, item, "topologyKey", "can not be empty");
        if (!admission_is_one_of(json_bytes(json_get(c, "whenUnsatisfiable")), actions))
            admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, item, "whenUnsatisfiable"),
                            json_get(c, "whenUnsatisfiable"),
                            "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"");
        if (json_get(c, "minDomains") && json_get_int64(c, "minDomains", 0) < 1)
            admission_error(x, FIELD_INVALID, admission_below(x, item, "minDomains"), json_get(c, "minDomains"),
                            "must be greater than zero");
        admission_label_selector(x, json_get(c, "labelSelector"), admission_below(x, item, "labelSelector"));
    }
}

static void check_restart_policy(struct admission *x, const struct json *spec, const char *path,
                                 enum admission_pod_use use)
{
    const struct json *v = json_get(spec, "restartPolicy");
    struct bytes policy = json_bytes(v);
    if (use == ADMISSION_TEMPLATE_ALWAYS && policy.n && !bytes_is(policy, "Always"))
        admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, path, "restartPolicy"), v, "supported values: \"Always\"");
    if (use == ADMISSION_TEMPLATE_FINITE && !bytes_is(policy, "OnFailure") && !bytes_is(policy, "Never"))
        admission_error(x, policy.n ? FIELD_NOT_SUPPORTED : FIELD_REQUIRED, admission_below(x, path, "restartPolicy"), v,
                        "valid values: \"OnFailure\", \"Never\"");
}

static void check_volumes(struct admission *x, const struct json *volumes, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (volume, admission_list_n(volumes) ? volumes : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        const struct json *name = json_get(volume, "name");
        if (admission_absent(name))
            admission_error(x, FIELD_REQUIRED, admission_below(x, item, "name"), NULL, "%s", "");
        else if (!name_is_dns_label(json_bytes(name)))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "name"), name, NAME_DNS_LABEL_RULE);
        if (json_is(volume, JSON_OBJECT) && volume->n > 2)
            admission_error(x, FIELD_FORBIDDEN, item, NULL, "may not specify more than 1 volume type");
    }
    admission_unique(x, volumes, path, "name");
}

static void check_sysctls(struct admission *x, const struct json *list, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (sysctl, admission_list_n(list) ? list : NULL) {
        const struct json *name = json_get(sysctl, "name");
        if (!name_is_sysctl(json_bytes(name)))
            admission_error(x, FIELD_INVALID, AT(x, "%s[%u].name", path, at), name, NAME_SYSCTL_RULE);
        at++;
    }
    admission_unique(x, list, path, "name");
}

static void check_gates(struct admission *x, const struct json *gates, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (gate, admission_list_n(gates) ? gates : NULL) {
        if (!name_is_qualified(json_bytes(json_get(gate, "name"))))
            admission_error(x, FIELD_INVALID, AT(x, "%s[%u].name", path, at), json_get(gate, "name"),
                            NAME_QUALIFIED_RULE);
        at++;
    }
    admission_unique(x, gates, path, "name");
}

static void check_dns_name(struct admission *x, const struct json *spec, const char *path, const char *key,
                           bool subdomain)
{
    const struct json *v = json_get(spec, key);
    if (!admission_absent(v) && !(subdomain ? name_is_dns_subdomain(json_bytes(v)) : name_is_dns_label(json_bytes(v))))
        admission_error(x, FIELD_INVALID, admission_below(x, path, key), v, "%s",
                        subdomain ? NAME_DNS_SUBDOMAIN_RULE : NAME_DNS_LABEL_RULE);
}

/* WHY  said of what people write, not of each pod that a controller makes of it. */
static bool is_written(const struct admission *x)
{
    return !x->old && !admission_list_n(json_path(x->object, "metadata", "ownerReferences", NULL));
}

static void warn_of_many(struct admission *x, const char *path, uint32_t n)
{
    if (n > WISHES_MOST)
        admission_warn(x, "%s: of what a pod would rather have %u are looked at: those after them have no effect", path, WISHES_MOST);
}

static void warn_of_wishes(struct admission *x, const struct json *spec, const char *path)
{
    static const char *const kinds[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
    const struct json *spreads = json_get(spec, "topologySpreadConstraints");
    uint32_t of_pods = 0, anyway = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t n = admission_list_n(json_path(spec, "affinity", kinds[i], "preferredDuringSchedulingIgnoredDuringExecution", NULL));
        of_pods = i ? of_pods + n : 0; /* both together */
        if (n)
            warn_of_many(x, arena_printf(x->arena, "%s.affinity.%s.preferredDuringSchedulingIgnoredDuringExecution", path, kinds[i]),
                         i ? of_pods : n);
    }
    JSON_EACH (c, admission_list_n(spreads) ? spreads : NULL)
        anyway += bytes_is(json_bytes(json_get(c, "whenUnsatisfiable")), "ScheduleAnyway");
    warn_of_many(x, admission_below(x, path, "topologySpreadConstraints"), anyway);
}

static void warn_of_claims(struct admission *x, const struct json *spec, const char *path)
{
    if (is_written(x) && admission_list_n(json_get(spec, "resourceClaims")))
        admission_warn(x, "%s: has no effect yet: no device is allocated and no quota counted; ask for it as a resource (nvidia.com/gpu)",
                       admission_below(x, path, "resourceClaims"));
}

/* Of one that another program places nothing is wrong: said where it is written, not by lint, which knows nothing of the cluster. */
static void warn_of_scheduler(struct admission *x, const struct json *spec, const char *path)
{
    const char *name = json_get_text(spec, "schedulerName", "");
    if (*name && x->read && is_written(x) && !decode_is_scheduler(name))
        admission_warn(x, "%s: this server has no scheduler %s: the pods wait until one of that name runs; write capstan, or leave it out",
                       admission_below(x, path, "schedulerName"), name);
}

void admission_pod_spec(struct admission *x, const struct json *spec, const char *path, enum admission_pod_use use)
{
    admission_containers(x, spec, path);
    check_restart_policy(x, spec, path, use);
    check_volumes(x, json_get(spec, "volumes"), admission_below(x, path, "volumes"));
    admission_labels(x, json_get(spec, "nodeSelector"), admission_below(x, path, "nodeSelector"));
    admission_tolerations(x, json_get(spec, "tolerations"), admission_below(x, path, "tolerations"));
    check_affinity(x, json_get(spec, "affinity"), admission_below(x, path, "affinity"));
    check_spreads(x, json_get(spec, "topologySpreadConstraints"), admission_below(x, path, "topologySpreadConstraints"));
    if (is_written(x))
        warn_of_wishes(x, spec, path);
    check_sysctls(x, json_path(spec, "securityContext", "sysctls", NULL), admission_below(x, path, "securityContext.sysctls"));
    check_gates(x, json_get(spec, "schedulingGates"), admission_below(x, path, "schedulingGates"));
    check_dns_name(x, spec, path, "hostname", false);
    check_dns_name(x, spec, path, "subdomain", false);
    check_dns_name(x, spec, path, "serviceAccountName", true);
    check_dns_name(x, spec, path, "priorityClassName", true);
    check_dns_name(x, spec, path, "nodeName", true);
    check_dns_name(x, spec, path, "runtimeClassName", true);
    admission_not_negative(x, spec, path, "terminationGracePeriodSeconds");
    warn_of_claims(x, spec, path);
    warn_of_scheduler(x, spec, path);
    const struct json *deadline = json_get(spec, "activeDeadlineSeconds");
    if (deadline && (json_int64(deadline, 0) < 1 || json_int64(deadline, 0) > INT32_MAX))
        admission_error(x, FIELD_INVALID, admission_below(x, path, "activeDeadlineSeconds"), deadline,
                        "must be between 1 and 2147483647, inclusive");
    if (!x->old && !admission_absent(json_get(spec, "nodeName")) && admission_list_n(json_get(spec, "schedulingGates")))
        admission_error(x, FIELD_FORBIDDEN, admission_below(x, path, "nodeName"), NULL,
                        "cannot be set until all schedulingGates have been cleared");
}

void admission_template(struct admission *x, struct json *pod_template, const char *path, enum admission_pod_use use)
{
    const struct json *metadata = json_get(pod_template, "metadata");
    admission_pod_defaults(x, json_get(pod_template, "spec"));
    admission_labels(x, json_get(metadata, "labels"), admission_below(x, path, "metadata.labels"));
    admission_pod_spec(x, json_get(pod_template, "spec"), admission_below(x, path, "spec"), use);
    admission_task_groups(x, metadata, json_get(pod_template, "spec"), admission_below(x, path, "metadata"));
    if (!x->old)
        admission_share(x, metadata, json_get(pod_template, "spec"), admission_below(x, path, "metadata"), admission_below(x, path, "spec"));
}

/* WHY  what it says once it is bound is counted: its owner must not take more of a GPU by writing that it takes less. */
static void admission_pod_share(struct admission *x, const struct json *spec)
{
    const struct json *is = json_path(x->object, "metadata", "annotations", NULL);
    const struct json *was = json_path(x->old, "metadata", "annotations", NULL);
    bool bound = json_get_text(json_get(x->old, "spec"), "nodeName", "")[0] != '\0', differs = !x->old;
    for (int i = 0; i < SHARE_NOTES_N && x->old; i++) {
        const struct json *a = json_get(is, share_notes[i]), *b = json_get(was, share_notes[i]);
        bool same = a && b ? json_equal(a, b) : !a && !b;
        if (!same && bound && i <= NOTE_KAI_DEVICES)
            admission_error(x, FIELD_FORBIDDEN, AT(x, "metadata.annotations[%s]", share_notes[i]), NULL,
                            "the pod has its share of a GPU: make another pod that asks for another share");
        differs |= !same;
    }
    if (differs)
        admission_share(x, json_get(x->object, "metadata"), spec, "metadata", "spec");
}

void admission_pod(struct admission *x, const struct kind *k)
{
    if (!text_equal(k->plural, "pods") || x->status_only)
        return;
    struct json *spec = json_get(x->object, "spec");
    admission_pod_defaults(x, spec);
    if (json_is(spec, JSON_OBJECT) && !json_get(spec, "enableServiceLinks"))
        json_set_bool(x->arena, spec, "enableServiceLinks", true); /* of pods, not of templates */
    if (x->defaulted)
        x->defaulted(x);
    if (json_is(spec, JSON_OBJECT))
        tolerate_lost_nodes(x, spec); /* on updates too: a list that is replaced whole does not lose them */
    if (!x->old && json_is(spec, JSON_OBJECT)) {
        resolve_priority(x, spec);
        admission_runtime_class(x, spec);
        limit_range_pod(x->arena, admission_limit_ranges(x), x->object);
        gate_for_volcano(x, spec);
        if (x->read) { /* in a server: lint shows the pod as it is written */
            admission_lws_pod(x, spec);
            admission_jobset_pod(x, spec);
            gate_queued(x, spec);
            json_set_text(x->arena, json_ensure_object(x->arena, x->object, "status"), "qosClass", pod_qos(spec));
        }
        admission_default_text(x, spec, "serviceAccountName", "default");
        admission_default_text(x, spec, "serviceAccount", "default");
        admission_vc_budget(x, spec);
    }
    admission_pod_spec(x, spec, "spec", ADMISSION_POD);
    admission_task_groups(x, json_get(x->object, "metadata"), spec, "metadata");
    if (admission_label(x->object, QUEUE_NAME_LABEL)[0])
        admission_topology_annotations(x, json_path(x->object, "metadata", "annotations", NULL), "metadata.annotations", 0);
    admission_pod_share(x, spec);
    if (x->old)
        admission_pod_update(x);
    else
        admission_refuse(x, limit_range_pod_broken(x->arena, admission_limit_ranges(x), x->object));
}

struct json *admission_pod_fix(struct admission *x, const struct kind *k)
{
    struct json *fixed = json_clone(x->arena, x->object);
    return text_equal(k->plural, "pods") && admission_pod_spec_fix(x, json_get(fixed, "spec")) ? fixed : NULL;
}
