#include "codec/decode/limit_range.h"

#include "codec/decode/pod_amounts.h"

static const char *const container_lists[] = {"containers", "initContainers"};

static bool is_of(const struct json *item, const char *type)
{
    return text_equal(json_get_text(item, "type", ""), type);
}

/* ---- what is added ---- */

/* Amounts that are not there yet, but for those that stand in `except`. Their names, ", " between them; NULL = none. */
static const char *add_missing(struct arena *a, struct json *container, const char *key, const struct json *from,
                               const struct json *except)
{
    const char *names = NULL;
    JSON_EACH (amount, from) {
        if (json_path(container, "resources", key, amount->key, NULL) || json_get(except, amount->key))
            continue;
        struct json *resources = json_ensure_object(a, container, "resources");
        json_set(a, json_ensure_object(a, resources, key), amount->key, json_clone(a, amount));
        names = arena_printf(a, "%s%s%s", names ? names : "", names ? ", " : "", amount->key);
    }
    return names;
}

void limit_range_container(struct arena *a, const struct json *ranges, struct json *container, struct json *ret_set)
{
    JSON_EACH (range, ranges)
        JSON_EACH (item, json_path(range, "spec", "limits", NULL)) {
            if (!is_of(item, "Container"))
                continue;
            /* ORDER requests first: a limit that is the container's own stands for its request, a default one does not. */
            const char *asked = add_missing(a, container, "requests", json_get(item, "defaultRequest"),
                                            json_path(container, "resources", "limits", NULL));
            const char *most = add_missing(a, container, "limits", json_get(item, "default"), NULL);
            if (ret_set && asked)
                json_append(ret_set, json_new_text(a, arena_printf(a, "%s request", asked)));
            if (ret_set && most)
                json_append(ret_set, json_new_text(a, arena_printf(a, "%s limit", most)));
        }
}

void limit_range_pod(struct arena *a, const struct json *ranges, struct json *pod)
{
    _cleanup_buf_ struct buf told = {0};
    for (int i = 0; i < 2 && ranges; i++)
        JSON_EACH (container, json_path(pod, "spec", container_lists[i], NULL)) {
            struct json *set = json_new(a, JSON_ARRAY);
            limit_range_container(a, ranges, container, set);
            JSON_EACH (part, set)
                buf_printf(&told, "%s%s for %s %s", told.n ? "; " : "LimitRanger plugin set: ", json_text(part, ""),
                           i ? "init container" : "container", json_get_text(container, "name", ""));
        }
    struct json *metadata = told.n ? json_ensure_object(a, pod, "metadata") : NULL;
    if (metadata)
        json_set_text(a, json_ensure_object(a, metadata, "annotations"), "kubernetes.io/limit-ranger", told.data);
}

/* ---- what is refused ---- */

struct bounds {
    struct arena *a;
    const char *type; /* "Container" */
    struct amounts requests, limits;
    bool no_limits; /* of claims: only what is asked for is bounded */
    struct json *broken; /* sentences */
};

static void tell(struct bounds *b, const char *text)
{
    JSON_EACH (had, b->broken)
        if (text_equal(json_text(had, ""), text))
            return;
    json_append(b->broken, json_new_text(b->a, text));
}

static const char *text_of(struct bounds *b, struct quantity q)
{
    char text[QUANTITY_TEXT_MAX];
    return arena_text(b->a, quantity_format(text, q));
}

static void check_min(struct bounds *b, const char *name, struct quantity bound)
{
    const struct quantity *request = amounts_find(&b->requests, name), *limit = amounts_find(&b->limits, name);
    const char *must = arena_printf(b->a, "minimum %s usage per %s is %s", name, b->type, text_of(b, bound));
    if (!request)
        tell(b, arena_printf(b->a, "%s.  No request is specified", must));
    else if (quantity_compare(*request, bound) < 0)
        tell(b, arena_printf(b->a, "%s, but request is %s", must, text_of(b, *request)));
    else if (limit && quantity_compare(*limit, bound) < 0)
        tell(b, arena_printf(b->a, "%s, but limit is %s", must, text_of(b, *limit)));
}

static void check_max(struct bounds *b, const char *name, struct quantity bound)
{
    const struct quantity *request = amounts_find(&b->requests, name), *limit = amounts_find(&b->limits, name);
    const char *must = arena_printf(b->a, "maximum %s usage per %s is %s", name, b->type, text_of(b, bound));
    if (b->no_limits && !request)
        tell(b, arena_printf(b->a, "%s.  No request is specified", must));
    else if (!b->no_limits && !limit)
        tell(b, arena_printf(b->a, "%s.  No limit is specified", must));
    else if (limit && quantity_compare(*limit, bound) > 0)
        tell(b, arena_printf(b->a, "%s, but limit is %s", must, text_of(b, *limit)));
    else if (request && quantity_compare(*request, bound) > 0)
        tell(b, arena_printf(b->a, "%s, but request is %s", must, text_of(b, *request)));
}

/* limit / request <= bound, without division: limit * 1000 <= bound in thousandths * request. */
static void check_ratio(struct bounds *b, const char *name, struct quantity bound)
{
    const struct quantity *request = amounts_find(&b->requests, name), *limit = amounts_find(&b->limits, name);
    const char *must = arena_printf(b->a, "%s max limit to request ratio per %s is %s", name, b->type, text_of(b, bound));
    if (!request || quantity_sign(*request) == 0)
        tell(b, arena_printf(b->a, "%s, but no request is specified or request is 0", must));
    else if (!limit || quantity_sign(*limit) == 0)
        tell(b, arena_printf(b->a, "%s, but no limit is specified or limit is 0", must));
    else if ((long double)limit->nano * 1000 > (long double)quantity_milli(bound) * (long double)request->nano)
        tell(b, arena_printf(b->a, "%s, but provided ratio is %f", must, (double)limit->nano / (double)request->nano));
}

static void check_item(struct bounds *b, const struct json *item)
{
    static const struct {
        const char *key;
        void (*check)(struct bounds *b, const char *name, struct quantity bound);
    } checks[] = {{"min", check_min}, {"max", check_max}, {"maxLimitRequestRatio", check_ratio}};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        JSON_EACH (bound, json_get(item, checks[i].key)) {
            struct quantity q;
            if (quantity_parse(json_bytes(bound), &q, NULL) == 0)
                checks[i].check(b, bound->key, q);
        }
}

static void check_ranges(struct bounds *b, const struct json *ranges)
{
    JSON_EACH (range, ranges)
        JSON_EACH (item, json_path(range, "spec", "limits", NULL))
            if (is_of(item, b->type))
                check_item(b, item);
}

static struct bounds bounds_of(struct arena *a, const char *type, struct json *broken)
{
    struct bounds b = {.a = a, .type = type, .broken = broken};
    amounts_init(&b.requests, a);
    amounts_init(&b.limits, a);
    return b;
}

static const char *sentence(struct arena *a, const struct json *broken)
{
    const char *all = NULL;
    JSON_EACH (one, broken)
        all = arena_printf(a, "%s%s%s", all ? all : "", all ? ", " : "", json_text(one, ""));
    return broken->n > 1 ? arena_printf(a, "[%s]", all) : all;
}

const char *limit_range_pod_broken(struct arena *a, const struct json *ranges, const struct json *pod)
{
    if (!ranges) /* most namespaces have none */
        return NULL;
    const struct json *spec = json_get(pod, "spec");
    struct json *broken = json_new(a, JSON_ARRAY);
    for (int i = 0; i < 2; i++)
        JSON_EACH (container, json_get(spec, container_lists[i])) {
            struct bounds b = bounds_of(a, "Container", broken);
            amounts_read(&b.requests, json_path(container, "resources", "requests", NULL));
            amounts_read(&b.limits, json_path(container, "resources", "limits", NULL));
            check_ranges(&b, ranges);
        }
    struct bounds whole = bounds_of(a, "Pod", broken);
    pod_amounts(&whole.requests, spec, "requests");
    pod_amounts(&whole.limits, spec, "limits");
    check_ranges(&whole, ranges);
    return sentence(a, broken);
}

const char *limit_range_claim_broken(struct arena *a, const struct json *ranges, const struct json *claim)
{
    struct bounds b = bounds_of(a, "PersistentVolumeClaim", json_new(a, JSON_ARRAY));
    b.no_limits = true;
    amounts_read(&b.requests, json_path(claim, "spec", "resources", "requests", NULL));
    check_ranges(&b, ranges);
    return sentence(a, b.broken);
}
