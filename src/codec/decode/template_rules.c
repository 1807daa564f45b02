#include "codec/decode/template_rules.h"

#include "base/quantity.h"
#include "codec/decode/limit_range.h"

static const char *const container_lists[] = {"initContainers", "containers"};

/* Calls each(ctx, item) for the items of this type in all LimitRanges, until one returns false. */
static void each_limit(const struct template_rules *rules, const char *type,
                       bool (*each)(void *ctx, const struct json *item), void *ctx)
{
    JSON_EACH (range, rules->limit_ranges)
        JSON_EACH (item, json_path(range, "spec", "limits", NULL))
            if (text_equal(json_get_text(item, "type", ""), type) && !each(ctx, item))
                return;
}

/* ---- what is added ---- */

static const struct json *overhead_of(const struct json *spec, const struct template_rules *rules)
{
    const struct json *own = json_get(spec, "overhead");
    if (json_text(json_get(spec, "runtimeClassName"), "")[0] == '\0' || (own && own->n))
        return NULL;
    return json_path(rules->runtime_class, "overhead", "podFixed", NULL);
}

const struct json *template_rules_apply(struct arena *a, const struct json *pod_template,
                                        const struct template_rules *rules)
{
    const struct json *overhead = overhead_of(json_get(pod_template, "spec"), rules);
    bool limits = json_is(rules->limit_ranges, JSON_ARRAY) && rules->limit_ranges->n;
    if ((!overhead && !limits) || !json_is(json_get(pod_template, "spec"), JSON_OBJECT))
        return pod_template;
    struct json *copy = json_clone(a, pod_template), *spec = json_get(copy, "spec");
    if (overhead)
        json_set(a, spec, "overhead", json_clone(a, overhead));
    for (int i = 0; i < 2 && limits; i++) {
        struct json *list = json_get(spec, container_lists[i]);
        JSON_EACH (container, list)
            limit_range_container(a, rules->limit_ranges, container, NULL);
    }
    return copy;
}

/* ---- what is refused ---- */

enum bound { ABOVE, BELOW };

static bool is_beyond(const struct json *amount, const struct json *bound, enum bound side)
{
    struct quantity x, y;
    if (!amount || !bound || quantity_parse(json_bytes(amount), &x, NULL) < 0 ||
        quantity_parse(json_bytes(bound), &y, NULL) < 0)
        return false;
    return side == ABOVE ? quantity_compare(x, y) > 0 : quantity_compare(x, y) < 0;
}

/* Names of the amounts beyond their bounds as a JSON list: ["cpu","memory"]; NULL when all are within. */
static const char *beyond(struct arena *a, const struct json *amounts, const struct json *bounds, enum bound side)
{
    struct json *names = json_new(a, JSON_ARRAY);
    JSON_EACH (bound, bounds)
        if (is_beyond(json_get(amounts, bound->key), bound, side))
            json_append(names, json_new_text(a, bound->key));
    if (!names->n)
        return NULL;
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, names);
    return arena_text(a, text.data);
}

struct check {
    struct arena *a;
    const struct json *resources;
    const char *path, *broken;
};

static bool within_range(void *ctx, const struct json *item)
{
    static const struct {
        const char *bounds, *sentence;
        enum bound side;
    } sides[] = {{"max", "requests must not be above the limitRange max", ABOVE},
                 {"min", "requests must not be below the limitRange min", BELOW}};
    static const char *const columns[] = {"requests", "limits"};
    struct check *c = ctx;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 && !c->broken; k++) {
            const char *names = beyond(c->a, json_get(c->resources, columns[k]), json_get(item, sides[i].bounds),
                                       sides[i].side);
            if (names)
                c->broken = arena_printf(c->a, "resources didn't satisfy LimitRange constraints: %s: Invalid value: %s: %s",
                                         c->path, names, sides[i].sentence);
        }
    return !c->broken;
}

static const char *requests_broken(struct arena *a, const struct json *resources, const char *path)
{
    const char *names = beyond(a, json_get(resources, "requests"), json_get(resources, "limits"), ABOVE);
    return names ? arena_printf(a, "resources validation failed: %s: Invalid value: %s: requests must not exceed its limits", path, names)
                 : NULL;
}

static const char *container_broken(struct arena *a, const struct json *container, const char *path,
                                    const struct template_rules *rules)
{
    struct check c = {.a = a, .resources = json_get(container, "resources"), .path = path};
    const char *broken = requests_broken(a, c.resources, path);
    if (broken)
        return broken;
    each_limit(rules, "Container", within_range, &c);
    return c.broken;
}

const char *template_rules_broken(struct arena *a, const struct json *pod_template, const char *path,
                                  const struct template_rules *rules)
{
    for (int i = 0; i < 2; i++) {
        uint32_t at = 0;
        JSON_EACH (container, json_path(pod_template, "spec", container_lists[i], NULL)) {
            const char *broken = container_broken(
                a, container, arena_printf(a, "%s.spec.%s[%u]", path, container_lists[i], at++), rules);
            if (broken)
                return broken;
        }
    }
    const struct json *of_all = json_path(pod_template, "spec", "resources", NULL);
    return requests_broken(a, of_all, arena_printf(a, "%s.spec.resources", path));
}

struct pod_check {
    const struct decoder *d;
    const struct shape *shape;
    const char *path, *broken;
};

static int64_t asked(const struct shape *shape, name_id resource)
{
    for (uint32_t i = 0; i < shape->requests_n; i++)
        if (shape->requests[i].resource == resource)
            return shape->requests[i].value;
    return 0;
}

static bool pod_within_range(void *ctx, const struct json *item)
{
    struct pod_check *c = ctx;
    for (int i = 0; i < 2; i++) {
        const struct amount *bounds = NULL;
        uint32_t n = 0;
        if (decode_amounts(c->d, json_get(item, i ? "min" : "max"), "limits", &bounds, &n, NULL) < 0)
            continue; /* malformed: the API server would not have taken it */
        for (uint32_t k = 0; k < n; k++) {
            int64_t value = asked(c->shape, bounds[k].resource);
            if (i ? value >= bounds[k].value : value <= bounds[k].value)
                continue;
            c->broken = arena_printf(c->d->arena,
                                     "resources didn't satisfy LimitRange constraints: %s.spec: Invalid value: [\"%s\"]: "
                                     "requests must not be %s the limitRange %s",
                                     c->path, intern_name(c->d->names, bounds[k].resource), i ? "below" : "above",
                                     i ? "min" : "max");
            return false;
        }
    }
    return true;
}

const char *template_rules_pod_broken(const struct decoder *d, const struct shape *shape, const char *path,
                                      const struct template_rules *rules)
{
    struct pod_check c = {.d = d, .shape = shape, .path = path};
    each_limit(rules, "Pod", pod_within_range, &c);
    return c.broken;
}
