/* admission_vc_queue.c - Volcano's queues in their tree: parents that are there, amounts that fit into those above; see admission_part.h
 *
 * SOURCE Volcano's webhook of queues. Of what a queue names the amounts count, what it does not name is none for a sum of its children's
 * guarantee and deserved, and no bound for their capability; the root is no bound at all. Volcano takes 5 levels, as it is installed.
 */
#include "codec/admission/admission_part.h"

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

/* ---- all ---- */

static bool differs(const struct admission *x, const char *key)
{
    const struct json *was = json_path(x->old, "spec", key, NULL), *is = json_path(x->object, "spec", key, NULL);
    return was && is ? !json_equal(was, is) : was != is;
}

void admission_vc_queue(struct admission *x)
{
    struct tree t = {.x = x, .queue = x->object, .name = name_of(x->object)};
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
