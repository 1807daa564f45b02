#include "codec/decode/quota_usage.h"

#include "codec/decode/pod_amounts.h"
#include "codec/decode/pod_qos.h"

static bool is_core(const struct kind *k, const char *plural)
{
    return !*k->group && text_equal(k->plural, plural);
}

bool quota_usage_reads(const struct kind *k)
{
    return is_core(k, "pods") || is_core(k, "persistentvolumeclaims") || is_core(k, "services");
}

/* ---- pods ---- */

static bool has_ended(const struct json *pod)
{
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    return text_equal(phase, "Succeeded") || text_equal(phase, "Failed");
}

static bool is_plain(const char *resource)
{
    return text_equal(resource, "cpu") || text_equal(resource, "memory") || text_equal(resource, "ephemeral-storage");
}

/* amounts under "PREFIX.NAME"; requests of the plain resources under their names alone, too. */
static void pod_column(struct amounts *out, const struct json *spec, const char *key)
{
    struct amounts sum;
    bool requests = text_equal(key, "requests");
    amounts_init(&sum, out->arena);
    pod_amounts(&sum, spec, key);
    for (uint32_t i = 0; i < sum.n; i++) {
        const char *name = sum.rows[i].name;
        bool huge = text_starts(name, "hugepages-");
        if (requests || is_plain(name))
            amounts_add(out, arena_printf(out->arena, "%s.%s", key, name), sum.rows[i].q);
        if (requests && (is_plain(name) || huge))
            amounts_add(out, name, sum.rows[i].q);
    }
}

static void pod_usage(struct amounts *out, const struct json *pod)
{
    if (has_ended(pod)) /* it counts among the objects, but holds nothing */
        return;
    amounts_add_whole(out, "pods", 1);
    pod_column(out, json_get(pod, "spec"), "requests");
    pod_column(out, json_get(pod, "spec"), "limits");
}

/* ---- claims and services ---- */

static const char *claim_class(const struct json *claim)
{
    const char *older = json_get_text(json_path(claim, "metadata", "annotations", NULL), "volume.beta.kubernetes.io/storage-class", NULL);
    return older ? older : json_text(json_path(claim, "spec", "storageClassName", NULL), "");
}

static void claim_usage(struct amounts *out, const struct json *claim)
{
    const char *class = claim_class(claim);
    struct quantity q;
    if (*class)
        amounts_add_whole(out, arena_printf(out->arena, "%s.storageclass.storage.k8s.io/persistentvolumeclaims", class), 1);
    if (quantity_parse(json_bytes(json_path(claim, "spec", "resources", "requests", "storage", NULL)), &q, NULL) < 0)
        return;
    amounts_add(out, "requests.storage", q);
    if (*class)
        amounts_add(out, arena_printf(out->arena, "%s.storageclass.storage.k8s.io/requests.storage", class), q);
}

static void service_usage(struct amounts *out, const struct json *service)
{
    const struct json *spec = json_get(service, "spec"), *ports = json_get(spec, "ports");
    const char *type = json_get_text(spec, "type", "");
    int64_t node_ports = text_equal(type, "NodePort") && ports ? ports->n : 0;
    if (text_equal(type, "LoadBalancer")) {
        bool all = json_get_bool(spec, "allocateLoadBalancerNodePorts", true);
        JSON_EACH (port, ports)
            node_ports += all || json_get_int64(port, "nodePort", 0) != 0;
        amounts_add_whole(out, "services.loadbalancers", 1);
    }
    if (node_ports)
        amounts_add_whole(out, "services.nodeports", node_ports);
}

void quota_usage(struct amounts *out, const struct kind *k, const struct json *object)
{
    static const char *const named[] = {"services", "configmaps", "secrets", "persistentvolumeclaims", "replicationcontrollers",
                                        "resourcequotas"};
    amounts_add_whole(out, arena_printf(out->arena, "count/%s%s%s", k->plural, *k->group ? "." : "", k->group), 1);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (is_core(k, named[i]))
            amounts_add_whole(out, named[i], 1);
    if (is_core(k, "pods"))
        pod_usage(out, object);
    else if (is_core(k, "persistentvolumeclaims"))
        claim_usage(out, object);
    else if (is_core(k, "services"))
        service_usage(out, object);
}

/* ---- scopes ---- */

static bool term_reaches_out(const struct json *term)
{
    return json_first(json_get(term, "namespaces")) || json_get(term, "namespaceSelector");
}

static bool reaches_out(const struct json *spec)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    for (int i = 0; i < 2; i++) {
        const struct json *rules = json_path(spec, "affinity", kinds[i], NULL);
        JSON_EACH (term, json_get(rules, "requiredDuringSchedulingIgnoredDuringExecution"))
            if (term_reaches_out(term))
                return true;
        JSON_EACH (term, json_get(rules, "preferredDuringSchedulingIgnoredDuringExecution"))
            if (term_reaches_out(json_get(term, "podAffinityTerm")))
                return true;
    }
    return false;
}

static bool is_best_effort(const struct json *spec)
{
    return text_equal(pod_qos(spec), "BestEffort");
}

static bool word_in(const struct json *list, const char *word)
{
    JSON_EACH (item, list)
        if (text_equal(json_text(item, ""), word))
            return true;
    return false;
}

static bool class_matches(const struct json *spec, const char *operator, const struct json *values)
{
    const char *class = json_get_text(spec, "priorityClassName", "");
    if (text_equal(operator, "In"))
        return word_in(values, class);
    if (text_equal(operator, "NotIn"))
        return !word_in(values, class);
    return *class ? text_equal(operator, "Exists") : text_equal(operator, "DoesNotExist");
}

static bool in_scope(const struct json *spec, const char *scope, const char *operator, const struct json *values)
{
    const struct json *deadline = json_get(spec, "activeDeadlineSeconds");
    if (text_equal(scope, "Terminating"))
        return deadline != NULL;
    if (text_equal(scope, "NotTerminating"))
        return deadline == NULL;
    if (text_equal(scope, "BestEffort"))
        return is_best_effort(spec);
    if (text_equal(scope, "NotBestEffort"))
        return !is_best_effort(spec);
    if (text_equal(scope, "CrossNamespacePodAffinity"))
        return reaches_out(spec);
    return text_equal(scope, "PriorityClass") && class_matches(spec, operator, values);
}

bool quota_usage_in_scope(const struct json *quota, const struct kind *k, const struct json *object)
{
    const struct json *scopes = json_path(quota, "spec", "scopes", NULL);
    const struct json *selector = json_path(quota, "spec", "scopeSelector", "matchExpressions", NULL);
    if (!json_first(scopes) && !json_first(selector))
        return true;
    if (!is_core(k, "pods")) /* only pods have any of the scopes */
        return false;
    const struct json *spec = json_get(object, "spec");
    JSON_EACH (scope, scopes)
        if (!in_scope(spec, json_text(scope, ""), "Exists", NULL))
            return false;
    JSON_EACH (expression, selector)
        if (!in_scope(spec, json_get_text(expression, "scopeName", ""), json_get_text(expression, "operator", "Exists"),
                      json_get(expression, "values")))
            return false;
    return true;
}

/* ---- what must be written ---- */

/* Where a quota's resource stands in a container: "limits.cpu" is limits, cpu. False: no container has to name it. */
static bool container_place(const char *resource, const char **ret_key, const char **ret_name)
{
    const char *dot = strchr(resource, '.');
    *ret_key = dot && text_starts(resource, "limits.") ? "limits" : "requests";
    *ret_name = dot ? dot + 1 : resource;
    bool plain = text_equal(*ret_name, "cpu") || text_equal(*ret_name, "memory");
    return plain && (!dot || text_starts(resource, "limits.") || text_starts(resource, "requests."));
}

static const char *containers_without(struct arena *a, const struct json *spec, const char *key, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *names = NULL;
    for (int i = 0; i < 2; i++)
        JSON_EACH (container, json_get(spec, lists[i]))
            if (!json_path(container, "resources", key, name, NULL))
                names = arena_printf(a, "%s%s%s", names ? names : "", names ? "," : "", json_get_text(container, "name", ""));
    return names;
}

const char *quota_usage_unsaid(struct arena *a, const struct json *hard, const struct kind *k, const struct json *object)
{
    static const char *const order[] = {"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"};
    const char *all = NULL;
    for (size_t i = 0; is_core(k, "pods") && !has_ended(object) && i < sizeof order / sizeof *order; i++) {
        const char *key, *name, *without = NULL;
        if (json_get(hard, order[i]) && container_place(order[i], &key, &name))
            without = containers_without(a, json_get(object, "spec"), key, name);
        if (without)
            all = arena_printf(a, "%s%s%s for: %s", all ? all : "must specify ", all ? "; " : "", order[i], without);
    }
    return all;
}
