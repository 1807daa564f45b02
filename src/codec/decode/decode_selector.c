/* Selectors, affinity and spread: deep, rare parts of pods, read from trees. */
#include "codec/decode/decode_part.h"

static bool requirement_op_of(struct bytes text, enum requirement_op *ret_op)
{
    static const struct {
        const char *name;
        enum requirement_op op;
    } ops[] = {{"In", REQUIRE_IN},         {"NotIn", REQUIRE_NOT_IN},
               {"Exists", REQUIRE_EXISTS}, {"DoesNotExist", REQUIRE_NOT_EXISTS},
               {"Gt", REQUIRE_GREATER},    {"Lt", REQUIRE_LESS}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (bytes_is(text, ops[i].name)) {
            *ret_op = ops[i].op;
            return true;
        }
    return false;
}

/* One expression; false when it cannot be understood (then its term must match nothing). */
static bool decode_requirement(const struct decoder *d, const struct json *v, bool is_field, struct requirement *out)
{
    memset(out, 0, sizeof *out);
    out->key = decode_name(d, json_get(v, "key"));
    out->is_field = is_field;
    if (!out->key || !requirement_op_of(json_bytes(json_get(v, "operator")), &out->op))
        return false;
    const struct json *values = json_get(v, "values");
    if (json_is(values, JSON_ARRAY) && values->n) {
        name_id *ids = arena_alloc(d->arena, values->n * sizeof *ids);
        JSON_EACH (value, values)
            ids[out->values_n++] = decode_name(d, value);
        out->values = ids;
    }
    if (out->op == REQUIRE_GREATER || out->op == REQUIRE_LESS)
        return bytes_int64(json_bytes(json_item(values, 0)), &out->number);
    return out->op == REQUIRE_EXISTS || out->op == REQUIRE_NOT_EXISTS || out->values_n > 0;
}

static uint32_t list_n(const struct json *list)
{
    return json_is(list, JSON_ARRAY) ? list->n : 0;
}

void decode_label_selector(const struct decoder *d, const struct json *selector, struct selector *ret_selector)
{
    memset(ret_selector, 0, sizeof *ret_selector);
    if (!json_is(selector, JSON_OBJECT)) {
        ret_selector->matches_nothing = true;
        return;
    }
    const struct json *labels = json_get(selector, "matchLabels"),
                      *expressions = json_get(selector, "matchExpressions");
    uint32_t room = (json_is(labels, JSON_OBJECT) ? labels->n : 0) + list_n(expressions);
    if (room == 0)
        return;
    struct requirement *all = arena_zero(d->arena, room, sizeof *all);
    uint32_t n = 0;
    JSON_EACH (label, json_is(labels, JSON_OBJECT) ? labels : NULL) {
        name_id *value = arena_alloc(d->arena, sizeof *value);
        *value = decode_name(d, label);
        all[n].key = intern_id(d->names, (struct bytes){label->key, label->key_n});
        all[n].op = REQUIRE_IN;
        all[n].values = value;
        all[n++].values_n = 1;
    }
    JSON_EACH (expression, list_n(expressions) ? expressions : NULL)
        if (!decode_requirement(d, expression, false, &all[n++]))
            ret_selector->matches_nothing = true;
    ret_selector->all = all;
    ret_selector->all_n = n;
}

/* matchLabelKeys / mismatchLabelKeys: one more expression per key that the pod has. */
static void selector_add_keys(const struct decoder *d, const struct json *keys, enum requirement_op op,
                              const struct shape *shape, struct selector *s)
{
    uint32_t keys_n = list_n(keys);
    if (keys_n == 0 || s->matches_nothing)
        return;
    struct requirement *all = arena_zero(d->arena, s->all_n + keys_n, sizeof *all);
    if (s->all_n)
        memcpy(all, s->all, s->all_n * sizeof *all);
    JSON_EACH (key, keys) {
        name_id id = decode_name(d, key);
        for (uint32_t i = 0; id && i < shape->labels_n; i++)
            if (shape->labels[i].key == id)
                all[s->all_n++] =
                    (struct requirement){.key = id, .op = op, .values = &shape->labels[i].value, .values_n = 1};
    }
    s->all = all;
}

/* A node selector term: all expressions and fields; an empty term matches nothing. */
static void decode_node_term(const struct decoder *d, const struct json *term, struct selector *out)
{
    const struct json *lists[2] = {json_get(term, "matchExpressions"), json_get(term, "matchFields")};
    uint32_t room = list_n(lists[0]) + list_n(lists[1]);
    memset(out, 0, sizeof *out);
    if (room == 0) {
        out->matches_nothing = true;
        return;
    }
    struct requirement *all = arena_zero(d->arena, room, sizeof *all);
    for (int l = 0; l < 2; l++)
        JSON_EACH (v, list_n(lists[l]) ? lists[l] : NULL)
            if (!decode_requirement(d, v, l == 1, &all[out->all_n++]))
                out->matches_nothing = true;
    out->all = all;
}

static void decode_node_affinity(const struct decoder *d, const struct json *affinity, struct shape *shape)
{
    const struct json *terms = json_path(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                                         "nodeSelectorTerms", NULL);
    if (list_n(terms) == 0)
        return;
    struct selector *out = arena_zero(d->arena, terms->n, sizeof *out);
    uint32_t n = 0;
    JSON_EACH (term, terms)
        decode_node_term(d, term, &out[n++]);
    shape->node_terms = out;
    shape->node_terms_n = n;
}

/* 0: it says nothing. */
static int32_t weight_of(const struct json *wish)
{
    int64_t weight = json_get_int64(wish, "weight", 0);
    return weight < 1 ? 0 : weight > 100 ? 100 : (int32_t)weight;
}

/* SOURCE kube-scheduler: a term without a weight, or without expressions, says nothing. */
static void decode_node_wishes(const struct decoder *d, const struct json *affinity, struct shape *shape)
{
    const struct json *wishes = json_path(affinity, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", NULL);
    struct node_preference *out = list_n(wishes) ? arena_zero(d->arena, wishes->n, sizeof *out) : NULL;
    uint32_t n = 0;
    JSON_EACH (wish, out ? wishes : NULL) {
        int32_t weight = weight_of(wish);
        decode_node_term(d, json_get(wish, "preference"), &out[n].term);
        if (!out[n].term.matches_nothing && weight && n < WISHES_MOST)
            out[n++].weight = weight;
    }
    shape->node_wishes = n ? out : NULL;
    shape->node_wishes_n = n;
}

/* Namespaces of a term. A namespaceSelector that names namespaces by kubernetes.io/metadata.name becomes that list; any
 * other non-empty one is taken as all namespaces: the record has no selector for namespaces, and too wide keeps
 * anti-affinity safe. */
static void decode_term_namespaces(const struct decoder *d, const struct json *term, name_id own,
                                   struct pod_affinity *out)
{
    const struct json *names = json_get(term, "namespaces"), *selector = json_get(term, "namespaceSelector");
    uint32_t room = list_n(names) + 1;
    struct selector parsed;
    decode_label_selector(d, selector, &parsed);
    const struct requirement *only = parsed.all_n == 1 && parsed.all[0].op == REQUIRE_IN ? &parsed.all[0] : NULL;
    if (only && !text_equal(intern_name(d->names, only->key), "kubernetes.io/metadata.name"))
        only = NULL;
    room += only ? only->values_n : 0;
    name_id *ids = arena_alloc(d->arena, room * sizeof *ids);
    uint32_t n = 0;
    JSON_EACH (name, list_n(names) ? names : NULL)
        ids[n++] = decode_name(d, name);
    if (only)
        for (uint32_t i = 0; i < only->values_n; i++)
            ids[n++] = only->values[i];
    else if (json_is(selector, JSON_OBJECT) && !parsed.matches_nothing)
        out->all_namespaces = true;
    if (n == 0 && !json_is(selector, JSON_OBJECT))
        ids[n++] = own;
    out->namespaces = ids;
    out->namespaces_n = n;
}

static struct pod_affinity decode_pod_term(const struct decoder *d, const struct json *term, bool anti, const struct shape *shape)
{
    struct pod_affinity a = {.topology_key = decode_name(d, json_get(term, "topologyKey")), .anti = anti};
    decode_label_selector(d, json_get(term, "labelSelector"), &a.pods);
    selector_add_keys(d, json_get(term, "matchLabelKeys"), REQUIRE_IN, shape, &a.pods);
    selector_add_keys(d, json_get(term, "mismatchLabelKeys"), REQUIRE_NOT_IN, shape, &a.pods);
    decode_term_namespaces(d, term, shape->ns, &a);
    return a;
}

static void decode_pod_terms(const struct decoder *d, const struct json *affinity, struct shape *shape)
{
    static const char *const required = "requiredDuringSchedulingIgnoredDuringExecution";
    const struct json *with = json_path(affinity, "podAffinity", required, NULL);
    const struct json *against = json_path(affinity, "podAntiAffinity", required, NULL);
    struct pod_affinity *out = arena_zero(d->arena, list_n(with) + list_n(against) + 1, sizeof *out);
    shape->affinities = out;
    JSON_EACH (term, list_n(with) ? with : NULL)
        out[shape->affinities_n++] = decode_pod_term(d, term, false, shape);
    JSON_EACH (term, list_n(against) ? against : NULL)
        out[shape->affinities_n++] = decode_pod_term(d, term, true, shape);
}

static void decode_pod_wishes(const struct decoder *d, const struct json *affinity, struct shape *shape)
{
    static const char *const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    const struct json *both[] = {json_path(affinity, "podAffinity", preferred, NULL),
                                 json_path(affinity, "podAntiAffinity", preferred, NULL)};
    struct pod_affinity *out = arena_zero(d->arena, list_n(both[0]) + list_n(both[1]) + 1, sizeof *out);
    shape->pod_wishes = out;
    for (int anti = 0; anti < 2; anti++)
        JSON_EACH (wish, list_n(both[anti]) ? both[anti] : NULL) {
            int32_t weight = weight_of(wish);
            if (!weight || shape->pod_wishes_n == WISHES_MOST)
                continue;
            out[shape->pod_wishes_n] = decode_pod_term(d, json_get(wish, "podAffinityTerm"), anti, shape);
            out[shape->pod_wishes_n++].weight = weight;
        }
}

void decode_affinity(const struct decoder *d, const struct json *affinity, struct shape *shape)
{
    decode_node_affinity(d, affinity, shape);
    decode_node_wishes(d, affinity, shape);
    decode_pod_terms(d, affinity, shape);
    decode_pod_wishes(d, affinity, shape);
}

void decode_spreads(const struct decoder *d, const struct json *constraints, struct shape *shape)
{
    if (list_n(constraints) == 0)
        return;
    struct topology_spread *rules = arena_zero(d->arena, constraints->n, sizeof *rules);
    struct topology_spread *wishes = arena_zero(d->arena, constraints->n, sizeof *wishes);
    shape->spreads = rules;
    shape->spread_wishes = wishes;
    JSON_EACH (c, constraints) {
        bool wish = bytes_is(json_bytes(json_get(c, "whenUnsatisfiable")), "ScheduleAnyway");
        if (wish && shape->spread_wishes_n == WISHES_MOST)
            continue;
        struct topology_spread *s = wish ? &wishes[shape->spread_wishes_n++] : &rules[shape->spreads_n++];
        decode_label_selector(d, json_get(c, "labelSelector"), &s->pods);
        selector_add_keys(d, json_get(c, "matchLabelKeys"), REQUIRE_IN, shape, &s->pods);
        s->topology_key = decode_name(d, json_get(c, "topologyKey"));
        int64_t skew = json_get_int64(c, "maxSkew", 1), domains = json_get_int64(c, "minDomains", 1);
        s->max_skew = skew < 1 ? 1 : skew > INT32_MAX ? INT32_MAX : (int32_t)skew;
        s->min_domains = domains < 1 ? 1 : domains > INT32_MAX ? INT32_MAX : (int32_t)domains;
    }
}
