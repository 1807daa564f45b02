/* ResourceQuota and LimitRange themselves; what they do to other objects: quota_usage.h, limit_range.h. */
#include "codec/admission/admission_part.h"

static bool scope_given(const struct json *quota, const char *scope)
{
    JSON_EACH (given, json_path(quota, "spec", "scopes", NULL))
        if (text_equal(json_text(given, ""), scope))
            return true;
    JSON_EACH (expression, json_path(quota, "spec", "scopeSelector", "matchExpressions", NULL))
        if (text_equal(json_get_text(expression, "scopeName", ""), scope))
            return true;
    return false;
}

static void check_scopes(struct admission *x)
{
    static const char *const pairs[][2] = {{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}};
    for (int i = 0; i < 2; i++)
        if (scope_given(x->object, pairs[i][0]) && scope_given(x->object, pairs[i][1]))
            admission_error(x, FIELD_INVALID, "spec.scopes", json_path(x->object, "spec", "scopes", NULL), "conflicting scopes");
    JSON_EACH (amount, scope_given(x->object, "BestEffort") ? json_path(x->object, "spec", "hard", NULL) : NULL)
        if (!text_equal(amount->key, "pods"))
            admission_error(x, FIELD_INVALID, "spec.scopes", json_path(x->object, "spec", "scopes", NULL),
                            "unsupported scope applied to resource: pods without requests use no %s", amount->key);
    admission_immutable(x, "spec", "scopes");
}

/* Names without a domain: what Kubernetes counts. */
static bool is_counted(const char *name)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage", "pods", "services", "services.nodeports",
                                        "services.loadbalancers", "configmaps", "secrets", "persistentvolumeclaims",
                                        "replicationcontrollers", "resourcequotas", NULL};
    static const char *const prefixes[] = {"requests.", "limits.", "hugepages-"};
    for (size_t i = 0; names[i]; i++)
        if (text_equal(name, names[i]))
            return true;
    for (size_t i = 0; i < 3; i++)
        if (text_starts(name, prefixes[i]))
            return true;
    return false;
}

static void check_amounts(struct admission *x, const char *section, const char *key)
{
    JSON_EACH (amount, json_path(x->object, section, key, NULL)) {
        struct quantity q;
        const char *path = AT(x, "%s.%s[%s]", section, key, amount->key);
        (void)admission_quantity(x, amount, path, &q); /* only whether it is one */
        if (!strchr(amount->key, '/') && !is_counted(amount->key))
            admission_error_text(x, FIELD_INVALID, path, bytes_of(amount->key), "must be a standard resource for quota");
        else if (!name_is_qualified(bytes_of(amount->key)))
            admission_error_text(x, FIELD_INVALID, path, bytes_of(amount->key), NAME_QUALIFIED_RULE);
    }
}

/* ---- LimitRange: what follows from its own bounds is filled in, what contradicts itself is refused ---- */

static bool is_of(const struct json *item, const char *type)
{
    return text_equal(json_get_text(item, "type", ""), type);
}

static void copy_missing(struct arena *a, struct json *item, const char *key, const char *from)
{
    JSON_EACH (amount, json_get(item, from)) {
        struct json *map = json_ensure_object(a, item, key);
        if (!json_get(map, amount->key))
            json_set(a, map, amount->key, json_clone(a, amount));
    }
}

struct pair {
    const char *low, *high, *low_word, *high_word;
};

static void check_pair(struct admission *x, const struct json *item, const char *path, const struct pair *p)
{
    JSON_EACH (least, json_get(item, p->low)) {
        const struct json *most = json_path(item, p->high, least->key, NULL);
        struct quantity a, b;
        if (!most || quantity_parse(json_bytes(least), &a, NULL) < 0 || quantity_parse(json_bytes(most), &b, NULL) < 0 ||
            quantity_compare(a, b) <= 0)
            continue;
        admission_error(x, FIELD_INVALID, AT(x, "%s.%s[%s]", path, p->low, least->key), least, "%s value %s is greater than %s value %s",
                        p->low_word, json_text(least, ""), p->high_word, json_text(most, ""));
    }
}

static void check_pairs(struct admission *x, const struct json *item, const char *path)
{
    static const struct pair pairs[] = {
        {"min", "max", "min", "max"},
        {"min", "defaultRequest", "min", "default request"},
        {"defaultRequest", "max", "default request", "max"},
        {"defaultRequest", "default", "default request", "default limit"},
        {"min", "default", "min", "default"},
        {"default", "max", "default", "max"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_pair(x, item, path, &pairs[i]);
    JSON_EACH (ratio, json_get(item, "maxLimitRequestRatio")) {
        struct quantity q;
        if (quantity_parse(json_bytes(ratio), &q, NULL) == 0 &&
            quantity_compare(q, quantity_of_whole(1, QUANTITY_DECIMAL_SI)) < 0)
            admission_error(x, FIELD_INVALID, AT(x, "%s.maxLimitRequestRatio[%s]", path, ratio->key), ratio, "ratio %s is less than 1",
                            json_text(ratio, ""));
    }
}

static void admit_limit_range(struct admission *x)
{
    struct json *limits = json_path(x->object, "spec", "limits", NULL);
    uint32_t at = 0;
    JSON_EACH (item, json_is(limits, JSON_ARRAY) ? limits : NULL) {
        const char *path = AT(x, "spec.limits[%u]", at++);
        if (is_of(item, "Container")) {
            copy_missing(x->arena, item, "default", "max");
            copy_missing(x->arena, item, "defaultRequest", "default");
            copy_missing(x->arena, item, "defaultRequest", "min");
        }
        static const char *const given[] = {"default", "defaultRequest"};
        for (int i = 0; i < 2 && is_of(item, "Pod"); i++)
            if (json_first(json_get(item, given[i])))
                admission_error(x, FIELD_FORBIDDEN, AT(x, "%s.%s", path, given[i]), NULL, "may not be specified when `type` is 'Pod'");
        if (is_of(item, "PersistentVolumeClaim") && !json_path(item, "min", "storage", NULL) && !json_path(item, "max", "storage", NULL))
            admission_error(x, FIELD_REQUIRED, path, NULL, "either minimum or maximum storage value is required, but neither was provided");
        check_pairs(x, item, path);
    }
    admission_unique(x, limits, "spec.limits", "type");
}

void admission_limits(struct admission *x, const struct kind *k)
{
    if (text_equal(k->plural, "limitranges"))
        admit_limit_range(x);
    if (!text_equal(k->plural, "resourcequotas"))
        return;
    check_amounts(x, "spec", "hard");
    check_amounts(x, "status", "hard");
    check_amounts(x, "status", "used");
    check_scopes(x);
}
