/* admission_vc_queue.c - Volcano's queues: guarantee <= deserved <= capability, annotations of a hierarchy; and in their tree: parents that
 * are there, amounts that fit into those above; see admission_part.h
 *
 * SOURCE Volcano's webhook of queues. Of what a queue names the amounts count, what it does not name is none for a sum of its children's
 * guarantee and deserved, and no bound for their capability; the root is no bound at all. Volcano takes 5 levels, as it is installed.
 */
#include "codec/admission/admission_part.h"

#include <math.h>
#include <stdlib.h>

#define GROUP "scheduling.volcano.sh"

struct tree {
    struct admission *x;
    const struct json *all;     /* the other queues; NULL: not known */
    const struct json *queue;   /* as it shall be */
    const char *name;
};

static const char *name_of(const struct json *queue)
{
    return json_text(json_path(queue, "metadata", "name", NULL), "");
}

static const char *parent_of(const struct json *queue)
{
    return json_text(json_path(queue, "spec", "parent", NULL), "");
}

static const struct json *named(const struct tree *t, const char *name)
{
    if (text_equal(name, t->name))
        return t->queue;
    JSON_EACH (queue, t->all)
        if (text_equal(name_of(queue), name))
            return queue;
    return NULL;
}

static bool is_root(const char *name)
{
    return !*name || text_equal(name, "root");
}

static __int128 nano_of(const struct json *amounts, const char *resource)
{
    struct quantity q;
    const struct json *v = json_get(amounts, resource);
    return v && quantity_parse(json_bytes(v), &q, NULL) == 0 ? q.nano : 0;
}

static const char *printed(struct tree *t, __int128 nano, enum quantity_format format)
{
    char text[QUANTITY_TEXT_MAX];
    return AT(t->x, "%s", quantity_format(text, (struct quantity){nano, format}));
}

/* ---- the parent ---- */

static bool check_path(struct tree *t, const struct json *value)
{
    const char *at = parent_of(t->queue);
    if (text_equal(at, t->name)) {
        admission_error(t->x, FIELD_INVALID, "spec.parent", value, "queue %s cannot use itself as parent", t->name);
        return false;
    }
    for (int depth = 1; !is_root(at); depth++) {
        const struct json *above = named(t, at);
        if (!above) {
            admission_error(t->x, FIELD_INVALID, "spec.parent", value,
                            "failed to get parent queue of queue %s: there is no queue %s; create it first, or write root", t->name, at);
            return false;
        }
        if (depth >= LIMIT_COHORT_DEPTH || above == t->queue) {
            admission_error(t->x, FIELD_INVALID, "spec.parent", value,
                            above == t->queue ? "queue %s would stand below itself" : "queue %s exceeds the maximum allowed depth of %d",
                            t->name, LIMIT_COHORT_DEPTH);
            return false;
        }
        at = parent_of(above);
    }
    return true;
}

static uint32_t children_n(const struct tree *t, const char *name)
{
    uint32_t n = 0;
    JSON_EACH (queue, t->all)
        n += text_equal(parent_of(queue), name) && !text_equal(name_of(queue), t->name);
    return n;
}

/* One that has jobs of its own is a leaf. */
static void check_parent_is_free(struct tree *t, const struct json *parent, const struct json *value)
{
    const struct json *status = json_get(parent, "status");
    int64_t pods_n = (int64_t)(nano_of(json_get(status, "allocated"), "pods") / 1000000000);
    if (children_n(t, name_of(parent)) == 0 && pods_n > 0)
        admission_error(t->x, FIELD_INVALID, "spec.parent", value,
                        "queue %s cannot be the parent queue of queue %s because it has allocated Pods: %lld; wait for its jobs, or move them",
                        name_of(parent), t->name, (long long)pods_n);
}

/* ---- amounts ---- */

static void check_capability(struct tree *t)
{
    const struct json *own = json_path(t->queue, "spec", "capability", NULL);
    JSON_EACH (amount, json_is(own, JSON_OBJECT) ? own : NULL) {
        struct quantity q;
        const char *at = parent_of(t->queue);
        const struct json *above = NULL;
        for (; !is_root(at) && (above = named(t, at)); at = parent_of(above))
            if (nano_of(json_path(above, "spec", "capability", NULL), amount->key) > 0)
                break;
        if (is_root(at) || !above || quantity_parse(json_bytes(amount), &q, NULL) < 0)
            continue;
        __int128 most = nano_of(json_path(above, "spec", "capability", NULL), amount->key);
        if (q.nano > most)
            admission_error(t->x, FIELD_INVALID, AT(t->x, "spec.capability[%s]", amount->key), amount,
                            "queue %s capability[%s]=%s exceeds its ancestor's capability=%s, of queue %s", t->name, amount->key,
                            json_bytes(amount).data, printed(t, most, q.format), name_of(above));
    }
}

/* Of the children of `parent` together; the queue itself counts as it shall be. */
static void check_sum(struct tree *t, const struct json *parent, const char *what, const char *below)
{
    const struct json *most = json_path(parent, "spec", what, below, NULL);
    struct json *names = json_new(t->x->arena, JSON_OBJECT);
    bool own = parent == t->queue;
    JSON_EACH (queue, t->all)
        if (text_equal(parent_of(queue), name_of(parent)) && !text_equal(name_of(queue), t->name))
            JSON_EACH (amount, json_path(queue, "spec", what, below, NULL))
                json_set_bool(t->x->arena, names, amount->key, true);
    JSON_EACH (amount, own ? NULL : json_path(t->queue, "spec", what, below, NULL))
        json_set_bool(t->x->arena, names, amount->key, true);
    JSON_EACH (name, names) {
        __int128 sum = own ? 0 : nano_of(json_path(t->queue, "spec", what, below, NULL), name->key), limit = nano_of(most, name->key);
        JSON_EACH (queue, t->all)
            if (text_equal(parent_of(queue), name_of(parent)) && !text_equal(name_of(queue), t->name))
                sum += nano_of(json_path(queue, "spec", what, below, NULL), name->key);
        if (sum > limit)
            admission_error(t->x, FIELD_INVALID, AT(t->x, "spec.%s%s%s", what, below ? "." : "", below ? below : ""), NULL,
                            "parent queue %s validation failed: sum of children's %s (%s %s) exceeds parent's %s limit (%s)",
                            name_of(parent), what, printed(t, sum, QUANTITY_DECIMAL_SI), name->key, what,
                            printed(t, limit, QUANTITY_DECIMAL_SI));
    }
}

/* No queue below may have a larger capability; of a chain the first that names the resource counts. */
static __int128 largest_below(const struct tree *t, const char *name, const char *resource, int depth)
{
    __int128 most = 0;
    JSON_EACH (queue, depth < LIMIT_COHORT_DEPTH ? t->all : NULL) {
        if (!text_equal(parent_of(queue), name) || text_equal(name_of(queue), t->name))
            continue;
        __int128 own = nano_of(json_path(queue, "spec", "capability", NULL), resource);
        own = own > 0 ? own : largest_below(t, name_of(queue), resource, depth + 1);
        most = own > most ? own : most;
    }
    return most;
}

static void check_below(struct tree *t)
{
    const struct json *own = json_path(t->queue, "spec", "capability", NULL);
    JSON_EACH (amount, json_is(own, JSON_OBJECT) ? own : NULL) {
        __int128 below = largest_below(t, t->name, amount->key, 0);
        if (nano_of(own, amount->key) < below)
            admission_error(t->x, FIELD_INVALID, AT(t->x, "spec.capability[%s]", amount->key), amount,
                            "queue %s capability[%s]=%s is smaller than its descendants' max capability=%s", t->name, amount->key,
                            json_bytes(amount).data, printed(t, below, QUANTITY_DECIMAL_SI));
    }
    check_sum(t, t->queue, "guarantee", "resource");
    check_sum(t, t->queue, "deserved", NULL);
}

/* ---- guarantee <= deserved <= capability ---- */

static bool is_more(const struct json *amount, const struct json *most)
{
    struct quantity a, b;
    return amount && most && quantity_parse(json_bytes(amount), &a, NULL) == 0 && quantity_parse(json_bytes(most), &b, NULL) == 0 &&
           quantity_compare(a, b) > 0;
}

static void check_amounts_order(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *guarantee = json_path(spec, "guarantee", "resource", NULL),
                      *deserved = json_get(spec, "deserved"), *capability = json_get(spec, "capability");
    JSON_EACH (amount, json_is(deserved, JSON_OBJECT) ? deserved : NULL) {
        const struct json *most = json_get(capability, amount->key);
        const char *key = amount->key;
        if (is_more(amount, most))
            admission_error(x, FIELD_INVALID, AT(x, "spec.deserved[%s]", key), amount,
                            "deserved[%s]=%s must be <= capability[%s]=%s: lower it, or raise spec.capability", key,
                            json_bytes(amount).data, key, json_bytes(most).data);
    }
    JSON_EACH (amount, json_is(guarantee, JSON_OBJECT) ? guarantee : NULL) {
        const struct json *own = json_get(deserved, amount->key), *most = json_get(capability, amount->key);
        const char *key = amount->key, *text = json_bytes(amount).data;
        if (!own)
            admission_error(x, FIELD_INVALID, AT(x, "spec.deserved[%s]", key), NULL,
                            "deserved[%s] must be >= guarantee[%s]=%s: write at least what spec.guarantee.resource has", key, key, text);
        else if (is_more(amount, own))
            admission_error(x, FIELD_INVALID, AT(x, "spec.deserved[%s]", key), own,
                            "deserved[%s]=%s must be >= guarantee[%s]=%s: raise it, or lower spec.guarantee.resource", key,
                            json_bytes(own).data, key, text);
        if (is_more(amount, most))
            admission_error(x, FIELD_INVALID, AT(x, "spec.guarantee.resource[%s]", key), amount,
                            "guarantee[%s]=%s must be <= capability[%s]=%s: lower it, or raise spec.capability", key, text, key,
                            json_bytes(most).data);
    }
}

/* ---- annotations of a hierarchy: "root/sci" with weights "1/2" ---- */

#define HIERARCHY "volcano.sh/hierarchy"
#define WEIGHTS "volcano.sh/hierarchy-weights"

static uint32_t parts_n(const char *text)
{
    uint32_t n = 1;
    for (const char *at = text; (at = strchr(at, '/')); at++)
        n++;
    return n;
}

/* The first of the weights that is no number above 0, in the arena; NULL: none. */
static const char *wrong_weight(struct admission *x, const char *weights)
{
    for (const char *at = weights;; at++) {
        size_t n = strcspn(at, "/");
        const char *one = arena_text_n(x->arena, at, n);
        char *end;
        double value = strtod(one, &end);
        bool is_number = n > 0 && !*end && strchr("+.0123456789", one[0]) && isfinite(value);
        if (!is_number || value <= 0)
            return one;
        at += n;
        if (!*at)
            return NULL;
    }
}

static void check_hierarchy(struct admission *x)
{
    const struct json *notes = json_path(x->object, "metadata", "annotations", NULL);
    const struct json *path_at = json_get(notes, HIERARCHY), *weights_at = json_get(notes, WEIGHTS);
    const char *path = json_text(path_at, ""), *weights = json_text(weights_at, ""), *wrong;
    if (!*path && !*weights)
        return;
    if (!*path || !*weights)
        admission_error(x, FIELD_INVALID, *path ? "metadata.annotations[" HIERARCHY "]" : "metadata.annotations[" WEIGHTS "]",
                        *path ? path_at : weights_at,
                        "denied without %s, which must have the same length with it: write both, such as root/sci and 1/2, or neither",
                        *path ? WEIGHTS : HIERARCHY);
    else if (parts_n(path) != parts_n(weights))
        admission_error(x, FIELD_INVALID, "metadata.annotations[" HIERARCHY "]", path_at,
                        HIERARCHY " must have the same length with " WEIGHTS ": %u names, %u weights: write one weight a name",
                        parts_n(path), parts_n(weights));
    else if ((wrong = wrong_weight(x, weights)))
        admission_error(x, FIELD_INVALID, "metadata.annotations[" WEIGHTS "]", weights_at,
                        "%s in the %s is invalid number: each must be larger than 0, such as 1/2", wrong, weights);
    const struct json *all = *path && !x->errors.n && x->list ? x->list(x->ctx, GROUP, "queues", "") : NULL;
    const char *below = AT(x, "%s/", path), *name = name_of(x->object);
    JSON_EACH (queue, all) {
        const char *other = admission_annotation(queue, HIERARCHY);
        if (text_starts(other, below) && !text_equal(name_of(queue), name)) {
            admission_error(x, FIELD_INVALID, "metadata.annotations[" HIERARCHY "]", path_at,
                            "%s is not allowed to be in the sub path of %s of queue %s: write one that no other queue's begins with", path,
                            other, name_of(queue));
            return;
        }
    }
}

/* ---- all ---- */

static bool differs(const struct admission *x, const char *key)
{
    const struct json *was = json_path(x->old, "spec", key, NULL), *is = json_path(x->object, "spec", key, NULL);
    return was && is ? !json_equal(was, is) : was != is;
}

void admission_vc_queue(struct admission *x)
{
    struct tree t = {.x = x, .queue = x->object, .name = name_of(x->object)};
    check_amounts_order(x);
    check_hierarchy(x);
    if (text_equal(t.name, "root"))
        return;
    admission_default_text(x, json_ensure_object(x->arena, x->object, "spec"), "parent", "root");
    bool moves = !x->old || differs(x, "parent");
    if (x->status_only || (!moves && !differs(x, "capability") && !differs(x, "deserved") && !differs(x, "guarantee")))
        return;
    t.all = x->list ? x->list(x->ctx, GROUP, "queues", "") : NULL;
    const struct json *value = json_path(x->object, "spec", "parent", NULL);
    if (!t.all || !check_path(&t, value))
        return;
    const struct json *parent = is_root(parent_of(x->object)) ? NULL : named(&t, parent_of(x->object));
    if (parent && moves)
        check_parent_is_free(&t, parent, value);
    if (parent) {
        check_capability(&t);
        check_sum(&t, parent, "guarantee", "resource");
        check_sum(&t, parent, "deserved", NULL);
    }
    if (children_n(&t, t.name) > 0)
        check_below(&t);
}
