/* core/v1 but pods: Namespace, Node, Service, ConfigMap, Secret, PersistentVolumeClaim; taints and tolerations of all kinds. */
#include "codec/admission/admission_part.h"
#include "codec/decode/limit_range.h"
#include "codec/groups/task_groups.h"

#define DATA_BYTES_MAX (1u << 20) /* Kubernetes' own limit for ConfigMap and Secret */

/* ---- taints ---- */

static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

void admission_taints(struct admission *x, const struct json *list, const char *path)
{
    uint32_t at = 0;
    JSON_EACH (taint, admission_list_n(list) ? list : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        if (!name_is_qualified(json_bytes(json_get(taint, "key"))))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "key"), json_get(taint, "key"), NAME_QUALIFIED_RULE);
        if (!name_is_label_value(json_bytes(json_get(taint, "value"))))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "value"), json_get(taint, "value"), NAME_LABEL_VALUE_RULE);
        if (!admission_is_one_of(json_bytes(json_get(taint, "effect")), effects))
            admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, item, "effect"), json_get(taint, "effect"),
                            "supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"");
        for (const struct json *before = list->first; before != taint; before = before->next)
            if (bytes_equal(json_bytes(json_get(before, "key")), json_bytes(json_get(taint, "key"))) &&
                bytes_equal(json_bytes(json_get(before, "effect")), json_bytes(json_get(taint, "effect"))))
                admission_error(x, FIELD_DUPLICATE, item, NULL, "taints must be unique by key and effect pair");
    }
}

void admission_tolerations(struct admission *x, const struct json *list, const char *path)
{
    static const char *const operators[] = {"", "Equal", "Exists", "Lt", "Gt", NULL};
    uint32_t at = 0;
    JSON_EACH (t, admission_list_n(list) ? list : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        struct bytes key = json_bytes(json_get(t, "key")), op = json_bytes(json_get(t, "operator")),
                     effect = json_bytes(json_get(t, "effect"));
        if (key.n && !name_is_qualified(key))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "key"), json_get(t, "key"), NAME_QUALIFIED_RULE);
        if (key.n == 0 && !bytes_is(op, "Exists"))
            admission_error(
                x, FIELD_INVALID, admission_below(x, item, "operator"), json_get(t, "operator"),
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
        if (!admission_is_one_of(op, operators))
            admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, item, "operator"), json_get(t, "operator"),
                            "supported values: \"Equal\", \"Exists\"");
        if (bytes_is(op, "Exists") && json_bytes(json_get(t, "value")).n)
            admission_error(x, FIELD_INVALID, admission_below(x, item, "operator"), json_get(t, "operator"),
                            "value must be empty when `operator` is 'Exists'");
        if (effect.n && !admission_is_one_of(effect, effects))
            admission_error(x, FIELD_NOT_SUPPORTED, admission_below(x, item, "effect"), json_get(t, "effect"),
                            "supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"");
        if (json_get(t, "tolerationSeconds") && !bytes_is(effect, "NoExecute"))
            admission_error(x, FIELD_INVALID, admission_below(x, item, "effect"), json_get(t, "effect"),
                            "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
}

static void check_data_keys(struct admission *x, const struct json *data, const char *path, size_t *bytes)
{
    JSON_EACH (member, json_is(data, JSON_OBJECT) ? data : NULL) {
        struct bytes key = {member->key, member->key_n};
        if (!name_is_config_key(key))
            admission_error_text(x, FIELD_INVALID, AT(x, "%s[%s]", path, member->key), key, NAME_CONFIG_KEY_RULE);
        *bytes += key.n + json_bytes(member).n;
    }
}

static void check_immutable_data(struct admission *x)
{
    static const char *const keys[] = {"data", "binaryData"};
    if (!x->old || !json_get_bool(x->old, "immutable", false))
        return;
    if (!json_get_bool(x->object, "immutable", false))
        admission_error(x, FIELD_FORBIDDEN, "immutable", NULL, "field is immutable when `immutable` is set");
    for (size_t i = 0; i < 2; i++) {
        const struct json *was = json_get(x->old, keys[i]), *is = json_get(x->object, keys[i]);
        if ((was || is) && !(was && is && json_equal(was, is)))
            admission_error(x, FIELD_FORBIDDEN, keys[i], NULL, "field is immutable when `immutable` is set");
    }
}

/* As Kueue's own manifests carry it. lint reads it, field by field; a server does not. */
static void warn_of_kueue(struct admission *x, const struct json *data)
{
    JSON_EACH (member, x->read && !x->old && json_is(data, JSON_OBJECT) ? data : NULL)
        if (strstr(json_text(member, ""), "apiVersion: config.kueue.x-k8s.io/"))
            admission_warn(x, "data[%s]: Kueue's Configuration has no effect in a ConfigMap here: start capstan up with --config FILE",
                           member->key);
}

static void admit_config_map(struct admission *x)
{
    size_t bytes = 0;
    const struct json *data = json_get(x->object, "data"), *binary = json_get(x->object, "binaryData");
    check_data_keys(x, data, "data", &bytes);
    check_data_keys(x, binary, "binaryData", &bytes);
    JSON_EACH (member, json_is(binary, JSON_OBJECT) ? binary : NULL)
        if (json_get(data, member->key))
            admission_error_text(x, FIELD_INVALID, AT(x, "binaryData[%s]", member->key), bytes_of(member->key),
                                 "duplicate of key present in data");
    if (bytes > DATA_BYTES_MAX)
        admission_error(x, FIELD_TOO_LONG, "", NULL, "may not be more than %u bytes", DATA_BYTES_MAX);
    check_immutable_data(x);
    if (json_get(data, YUNIKORN_QUEUES_FILE) && text_equal(json_text(json_path(x->object, "metadata", "name", NULL), ""), YUNIKORN_CONFIGS))
        admission_warn(x, "data[" YUNIKORN_QUEUES_FILE "]: %s", YUNIKORN_QUEUES_UNUSED);
    warn_of_kueue(x, data);
}

/* stringData is a way to write data: moved there, in base64. */
static void move_string_data(struct admission *x)
{
    struct json *texts = json_get(x->object, "stringData");
    JSON_EACH (member, json_is(texts, JSON_OBJECT) ? texts : NULL) {
        _cleanup_buf_ struct buf out = {0};
        base64_encode(&out, json_bytes(member));
        json_set_text(x->arena, json_ensure_object(x->arena, x->object, "data"), member->key, out.data ? out.data : "");
    }
    json_remove(x->object, "stringData");
}

static void admit_secret(struct admission *x)
{
    static const struct {
        const char *type, *key;
    } required[] = {{"kubernetes.io/tls", "tls.crt"},
                    {"kubernetes.io/tls", "tls.key"},
                    {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
                    {"kubernetes.io/ssh-auth", "ssh-privatekey"}};
    size_t bytes = 0;
    move_string_data(x);
    admission_default_text(x, x->object, "type", "Opaque");
    const struct json *data = json_get(x->object, "data");
    check_data_keys(x, data, "data", &bytes);
    JSON_EACH (member, json_is(data, JSON_OBJECT) ? data : NULL) {
        _cleanup_buf_ struct buf out = {0};
        if (!base64_decode(&out, json_bytes(member)))
            admission_error(x, FIELD_INVALID, AT(x, "data[%s]", member->key), NULL,
                            "must be base64 text: write plain text under stringData instead");
    }
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        if (text_equal(json_get_text(x->object, "type", ""), required[i].type) && !json_get(data, required[i].key))
            admission_error(x, FIELD_REQUIRED, AT(x, "data[%s]", required[i].key), NULL, "%s", "");
    if (bytes > DATA_BYTES_MAX * 4 / 3)
        admission_error(x, FIELD_TOO_LONG, "data", NULL, "may not be more than %u bytes", DATA_BYTES_MAX);
    admission_immutable(x, NULL, "type");
    check_immutable_data(x);
}

static void check_service_port(struct admission *x, struct json *port, const char *path, bool several)
{
    const struct json *name = json_get(port, "name"), *number = json_get(port, "port");
    if (several && admission_absent(name))
        admission_error(x, FIELD_REQUIRED, AT(x, "%s.name", path), NULL, "a Service with several ports names each");
    if (!admission_absent(name) && !name_is_dns_label(json_bytes(name)))
        admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), name, NAME_DNS_LABEL_RULE);
    int64_t n = json_int64(number, 0);
    if (n < 1 || n > 65535)
        admission_error(x, number ? FIELD_INVALID : FIELD_REQUIRED, AT(x, "%s.port", path), number,
                        "must be between 1 and 65535, inclusive");
    const struct json *target = json_get(port, "targetPort");
    if (!target && n)
        json_set_int64(x->arena, port, "targetPort", n);
    if (json_is(target, JSON_NUMBER) && (json_int64(target, 0) < 1 || json_int64(target, 0) > 65535))
        admission_error(x, FIELD_INVALID, AT(x, "%s.targetPort", path), target,
                        "must be between 1 and 65535, inclusive");
    if (json_is(target, JSON_STRING) && !name_is_port(json_bytes(target)))
        admission_error(x, FIELD_INVALID, AT(x, "%s.targetPort", path), target, NAME_PORT_RULE);
}

static bool is_headless(const struct json *spec)
{
    return text_equal(json_get_text(spec, "clusterIP", ""), "None");
}

static void default_families(struct admission *x, struct json *spec)
{
    bool both = is_headless(spec) && !json_get(spec, "selector"); /* nobody looks at the addresses: any may be there */
    if (admission_list_n(json_get(spec, "ipFamilies")) == 0) {
        struct json *families = json_new(x->arena, JSON_ARRAY);
        json_append(families, json_new_text(x->arena, "IPv4"));
        if (both)
            json_append(families, json_new_text(x->arena, "IPv6"));
        json_set(x->arena, spec, "ipFamilies", families);
    }
    admission_default_text(x, spec, "ipFamilyPolicy", both ? "RequireDualStack" : "SingleStack");
}

/* Which fields a Service has hangs on its type: those of the type that it had go with it. */
static void default_service(struct admission *x, struct json *spec)
{
    static const char *const addressed[] = {"internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy"};
    static const char *const open[] = {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"};
    const char *type = json_get_text(spec, "type", "ClusterIP");
    bool balanced = text_equal(type, "LoadBalancer"), outside = balanced || text_equal(type, "NodePort");
    json_ensure_object(x->arena, json_ensure_object(x->arena, x->object, "status"), "loadBalancer");
    if (text_equal(type, "ExternalName")) {
        for (size_t i = 0; i < 3; i++)
            json_remove(spec, addressed[i]);
    } else {
        admission_default_text(x, spec, "internalTrafficPolicy", "Cluster");
        default_families(x, spec);
    }
    for (size_t i = outside ? balanced ? 2 : 1 : 0; i < 2; i++)
        if (x->old)
            json_remove(spec, open[i]);
    if (outside)
        admission_default_text(x, spec, "externalTrafficPolicy", "Cluster");
    if (balanced && !json_get(spec, "allocateLoadBalancerNodePorts"))
        json_set_bool(x->arena, spec, "allocateLoadBalancerNodePorts", true);
}

static void admit_service(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec");
    struct json *ports = json_get(spec, "ports");
    const char *type = json_get_text(spec, "type", "ClusterIP"), *ip = json_get_text(spec, "clusterIP", "");
    bool external = text_equal(type, "ExternalName");
    if (external)
        admission_require(x, spec, "spec", "externalName", "a Service of type ExternalName names a host");
    else if (admission_list_n(ports) == 0 && !text_equal(ip, "None"))
        admission_error(x, FIELD_REQUIRED, "spec.ports", NULL,
                        "a Service has ports unless it is headless (clusterIP: None)");
    uint32_t at = 0;
    JSON_EACH (port, admission_list_n(ports) ? ports : NULL)
        check_service_port(x, port, AT(x, "spec.ports[%u]", at++), ports->n > 1);
    admission_unique(x, ports, "spec.ports", "name");
    admission_labels(x, json_get(spec, "selector"), "spec.selector");
    if (text_equal(ip, "None") && (text_equal(type, "NodePort") || text_equal(type, "LoadBalancer")))
        admission_error(x, FIELD_INVALID, "spec.clusterIPs[0]", json_get(spec, "clusterIP"),
                        "may not be set to 'None' for %s services", type);
    const char *was = x->old ? json_text(json_path(x->old, "spec", "clusterIP", NULL), "") : "";
    if (was[0] && !external && ip[0] && !text_equal(was, ip))
        admission_error(x, FIELD_INVALID, "spec.clusterIPs[0]", json_get(spec, "clusterIP"), IMMUTABLE);
    else if (was[0] && !external && !ip[0] && spec) /* a client that does not send it means the one it has */
        json_set_text(x->arena, spec, "clusterIP", was);
    if (json_is(spec, JSON_OBJECT))
        default_service(x, spec);
}

static void check_node_amounts(struct admission *x, const char *key)
{
    const struct json *amounts = json_path(x->object, "status", key, NULL);
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL) {
        struct quantity q;
        (void)admission_quantity(x, amount, AT(x, "status.%s[%s]", key, amount->key), &q); /* only whether it is one */
    }
}

static void admit_node(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec");
    admission_taints(x, json_get(spec, "taints"), "spec.taints");
    check_node_amounts(x, "capacity");
    check_node_amounts(x, "allocatable");
    if (x->old && json_path(x->old, "spec", "providerID", NULL))
        admission_immutable(x, "spec", "providerID");
    if (!json_get(json_path(x->object, "metadata", "labels", NULL), "kubernetes.io/hostname")) {
        struct json *metadata = json_ensure_object(x->arena, x->object, "metadata");
        json_set_text(x->arena, json_ensure_object(x->arena, metadata, "labels"), "kubernetes.io/hostname",
                      json_get_text(metadata, "name", ""));
    }
}

static void admit_namespace(struct admission *x)
{
    struct json *metadata = json_ensure_object(x->arena, x->object, "metadata");
    const char *name = json_get_text(metadata, "name", "");
    if (name[0])
        json_set_text(x->arena, json_ensure_object(x->arena, metadata, "labels"), "kubernetes.io/metadata.name", name);
}

/* A claim that nothing has answered yet waits for a volume. */
static void admit_claim(struct admission *x)
{
    if (!x->status_only)
        admission_refuse(x, limit_range_claim_broken(x->arena, admission_limit_ranges(x), x->object));
    if (!x->old)
        admission_default_text(x, json_ensure_object(x->arena, x->object, "status"), "phase", "Pending");
}

void admission_core(struct admission *x, const struct kind *k)
{
    static const struct {
        const char *plural;
        void (*run)(struct admission *x);
    } kinds[] = {{"configmaps", admit_config_map},
                 {"secrets", admit_secret},
                 {"services", admit_service},
                 {"nodes", admit_node},
                 {"persistentvolumeclaims", admit_claim},
                 {"namespaces", admit_namespace}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (text_equal(k->plural, kinds[i].plural))
            kinds[i].run(x);
}
