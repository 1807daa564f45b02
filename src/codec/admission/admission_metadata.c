#include "codec/admission/admission_part.h"

struct name_rule {
    bool (*holds)(struct bytes text);
    const char *rule;
};

static struct name_rule name_rule_of(const struct kind *k)
{
    if (text_equal(k->group, "") && text_equal(k->plural, "namespaces"))
        return (struct name_rule){name_is_dns_label, NAME_DNS_LABEL_RULE};
    if (text_equal(k->group, "") && text_equal(k->plural, "services"))
        return (struct name_rule){name_is_dns1035_label, NAME_DNS1035_RULE};
    if (text_equal(k->group, "rbac.authorization.k8s.io"))
        return (struct name_rule){name_is_path_segment, "must not be '.' or '..' and must not contain '/' or '%'"};
    if (text_equal(k->group, "networking.k8s.io") && text_equal(k->plural, "ipaddresses"))
        return (struct name_rule){name_is_address, "must be a valid IP address in its shortest form, such as 10.96.0.1 or fd00::1"};
    return (struct name_rule){name_is_dns_subdomain, NAME_DNS_SUBDOMAIN_RULE};
}

void admission_labels(struct admission *x, const struct json *labels, const char *path)
{
    JSON_EACH (label, json_is(labels, JSON_OBJECT) ? labels : NULL) {
        struct bytes key = {label->key, label->key_n};
        if (!name_is_qualified(key))
            admission_error_text(x, FIELD_INVALID, path, key, NAME_QUALIFIED_RULE);
        if (json_is(label, JSON_STRING) && !name_is_label_value(json_bytes(label)))
            admission_error(x, FIELD_INVALID, AT(x, "%s[%s]", path, label->key), label, NAME_LABEL_VALUE_RULE);
    }
}

static bool is_annotation_key(struct bytes key)
{
    /* The prefix may have capitals here and nowhere else: it is compared in lower case. */
    char lower[LIMIT_NAME + LIMIT_LABEL + 1];
    const char *slash = key.n ? memchr(key.data, '/', key.n) : NULL;
    size_t prefix_n = slash ? (size_t)(slash - key.data) : 0;
    if (key.n >= sizeof lower)
        return false;
    memcpy(lower, key.data, key.n);
    for (size_t i = 0; i < prefix_n; i++)
        lower[i] = lower[i] >= 'A' && lower[i] <= 'Z' ? (char)(lower[i] + 32) : lower[i];
    return name_is_qualified((struct bytes){lower, key.n});
}

void admission_annotation_keys(struct admission *x, const struct json *annotations, const char *path)
{
    JSON_EACH (annotation, json_is(annotations, JSON_OBJECT) ? annotations : NULL) {
        struct bytes key = {annotation->key, annotation->key_n};
        if (!is_annotation_key(key))
            admission_error_text(x, FIELD_INVALID, path, key, NAME_QUALIFIED_RULE);
    }
}

static void check_annotations(struct admission *x, const struct json *annotations)
{
    size_t bytes = 0;
    admission_annotation_keys(x, annotations, "metadata.annotations");
    JSON_EACH (annotation, json_is(annotations, JSON_OBJECT) ? annotations : NULL)
        bytes += annotation->key_n + json_bytes(annotation).n;
    if (bytes > LIMIT_ANNOTATIONS_BYTES)
        admission_error(x, FIELD_TOO_LONG, "metadata.annotations", NULL,
                        "may not be more than %u bytes together, is %zu", LIMIT_ANNOTATIONS_BYTES, bytes);
}

static void check_owners(struct admission *x, const struct json *owners)
{
    static const char *const keys[] = {"apiVersion", "kind", "name", "uid"};
    uint32_t at = 0, controllers_n = 0;
    JSON_EACH (owner, admission_list_n(owners) ? owners : NULL) {
        const char *path = AT(x, "metadata.ownerReferences[%u]", at++);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (admission_absent(json_get(owner, keys[i])))
                admission_error(x, FIELD_INVALID, AT(x, "%s.%s", path, keys[i]), json_new_text(x->arena, ""),
                                "must not be empty");
        controllers_n += json_get_bool(owner, "controller", false);
    }
    if (controllers_n > 1)
        admission_error(x, FIELD_INVALID, "metadata.ownerReferences", NULL,
                        "only one reference can have controller set to true, found %u", controllers_n);
}

static bool has_owner(const struct kind *k, struct bytes finalizer)
{
    static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        if (bytes_is(finalizer, standard[i]))
            return true;
    if (strcmp(k->group, "apiextensions.k8s.io") == 0 && bytes_is(finalizer, "customresourcecleanup.apiextensions.k8s.io"))
        return true;
    return finalizer.n && memchr(finalizer.data, '/', finalizer.n);
}

/* Kubernetes' own kinds take no finalizer of which nobody can tell whose it is; with custom kinds it only warns. */
static void check_finalizer(struct admission *x, const struct kind *k, const struct json *finalizer, uint32_t at)
{
    const char *path = AT(x, "metadata.finalizers[%u]", at);
    if (!name_is_qualified(json_bytes(finalizer)))
        admission_error(x, FIELD_INVALID, path, finalizer, NAME_QUALIFIED_RULE);
    else if (has_owner(k, json_bytes(finalizer)))
        return;
    else if (k->flags & KIND_CUSTOM)
        admission_warn(x, "metadata.finalizers: \"%s\": prefer a domain-qualified finalizer name including a path (/) "
                       "to avoid accidental conflicts with other finalizer writers", json_text(finalizer, ""));
    else
        admission_error(x, FIELD_INVALID, path, finalizer,
                        "name is neither a standard finalizer name nor is it fully qualified: write one such as "
                        "example.com/%s", json_text(finalizer, ""));
}

static void check_finalizers(struct admission *x, const struct kind *k, const struct json *finalizers)
{
    uint32_t at = 0;
    JSON_EACH (finalizer, admission_list_n(finalizers) ? finalizers : NULL)
        check_finalizer(x, k, finalizer, at++);
    if (!x->old || !json_is(json_path(x->old, "metadata", "deletionTimestamp", NULL), JSON_STRING))
        return;
    const struct json *before = json_path(x->old, "metadata", "finalizers", NULL);
    JSON_EACH (finalizer, admission_list_n(finalizers) ? finalizers : NULL) {
        bool known = false;
        JSON_EACH (was, admission_list_n(before) ? before : NULL)
            known |= json_equal(was, finalizer);
        if (!known)
            admission_error(x, FIELD_FORBIDDEN, "metadata.finalizers", NULL,
                            "no new finalizers can be added if the object is being deleted, found new finalizer \"%s\"",
                            json_text(finalizer, ""));
    }
}

/* As nearly every write of a status leaves it: it was judged when it was written. */
static bool is_as_it_was(const struct json *was, const struct json *is)
{
    static const char *const judged[] = {"name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers"};
    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++)
        if (!json_equal(json_get(was, judged[i]), json_get(is, judged[i])))
            return false;
    return true;
}

const char *admission_generated_name(struct arena *a, const struct json *object)
{
    const struct json *metadata = json_get(object, "metadata");
    const char *base = json_get_text(metadata, "generateName", "");
    return *base && !*json_get_text(metadata, "name", "") ? arena_printf(a, "%.*sxxxxx", NAME_GENERATED_BASE_MAX, base) : "";
}

void admission_metadata(struct admission *x, const struct kind *k)
{
    const struct json *metadata = json_get(x->object, "metadata");
    if (x->metadata_rests || (x->old && is_as_it_was(json_get(x->old, "metadata"), metadata)))
        return;
    const struct json *name = json_get(metadata, "name"), *generate = json_get(metadata, "generateName");
    struct name_rule rule = name_rule_of(k);
    if (admission_absent(name) && admission_absent(generate))
        admission_error(x, FIELD_REQUIRED, "metadata.name", NULL, "name or generateName is required");
    else if (!admission_absent(name) && !rule.holds(json_bytes(name)))
        admission_error(x, FIELD_INVALID, "metadata.name", name, "%s", rule.rule);
    if (!admission_absent(generate)) {
        struct bytes base = json_bytes(generate);
        size_t n = base.n; /* a trailing dash is fine: random letters follow */
        while (n > 1 && base.data[n - 1] == '-')
            n--;
        if (!rule.holds((struct bytes){base.data, n < 63 ? n : 63}))
            admission_error(x, FIELD_INVALID, "metadata.generateName", generate, "%s", rule.rule);
    }
    if (x->old) {
        admission_immutable(x, "metadata", "name");
        admission_immutable(x, "metadata", "namespace");
    }
    admission_labels(x, json_get(metadata, "labels"), "metadata.labels");
    check_annotations(x, json_get(metadata, "annotations"));
    check_owners(x, json_get(metadata, "ownerReferences"));
    check_finalizers(x, k, json_get(metadata, "finalizers"));
}

void admission_label_selector(struct admission *x, const struct json *selector, const char *path)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};
    admission_labels(x, json_get(selector, "matchLabels"), AT(x, "%s.matchLabels", path));
    uint32_t at = 0;
    const struct json *expressions = json_get(selector, "matchExpressions");
    JSON_EACH (expression, admission_list_n(expressions) ? expressions : NULL) {
        const char *item = AT(x, "%s.matchExpressions[%u]", path, at++);
        struct bytes op = json_bytes(json_get(expression, "operator"));
        uint32_t values_n = admission_list_n(json_get(expression, "values"));
        size_t known = 0;
        while (known < 4 && !bytes_is(op, operators[known]))
            known++;
        if (known == 4)
            admission_error(x, FIELD_INVALID, AT(x, "%s.operator", item), json_get(expression, "operator"),
                            "not a valid selector operator: write In, NotIn, Exists or DoesNotExist");
        if (known < 2 && values_n == 0)
            admission_error(x, FIELD_REQUIRED, AT(x, "%s.values", item), NULL,
                            "must be specified when `operator` is 'In' or 'NotIn'");
        if ((known == 2 || known == 3) && values_n > 0)
            admission_error(x, FIELD_FORBIDDEN, AT(x, "%s.values", item), NULL,
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        if (!name_is_qualified(json_bytes(json_get(expression, "key"))))
            admission_error(x, FIELD_INVALID, AT(x, "%s.key", item), json_get(expression, "key"), NAME_QUALIFIED_RULE);
    }
}
