#include "apiserver/apply/managed_fields_set.h"

#include "base/collections/map.h"
#include "wire/json_index.h"

#define LINEAR_ITEMS 32

/* ---- types ---- */

enum field_shape field_shape(const struct schema *s, const struct json *v)
{
    if (!v || v->n == 0)
        return FIELD_LEAF;
    if (v->type == JSON_OBJECT)
        return s && s->atomic ? FIELD_LEAF : FIELD_MEMBERS;
    if (v->type != JSON_ARRAY || !s || s->form != SCHEMA_LIST)
        return FIELD_LEAF;
    return s->list == SCHEMA_LIST_MAP ? FIELD_KEYED : s->list == SCHEMA_LIST_SET ? FIELD_SET : FIELD_LEAF;
}

const struct schema *field_member_type(const struct schema *s, const struct json *member)
{
    if (!s)
        return NULL;
    if (s->form == SCHEMA_MAP)
        return s->item;
    const struct schema_field *f = schema_field_of(s, member);
    return f ? f->type : NULL;
}

const struct schema *field_item_type(const struct schema *s)
{
    return s && s->form == SCHEMA_LIST ? s->item : NULL;
}

static void key_part(struct buf *out, const struct schema *item_type, const struct json *item, const char *name,
                     bool *missing)
{
    json_write_string(out, bytes_of(name));
    buf_char(out, ':');
    const struct json *v = json_get(item, name);
    const struct schema_field *f =
        item_type && item_type->form == SCHEMA_OBJECT ? schema_field_find(item_type, bytes_of(name)) : NULL;
    if (v && v->type < JSON_ARRAY)
        json_write(out, v);
    else if (f && f->default_json)
        buf_text(out, f->default_json);
    else
        *missing = true;
}

const char *field_item_key(struct arena *a, const struct schema *list, const struct json *item)
{
    const char *names[8];
    size_t n = 0;
    for (; list->list_keys && list->list_keys[n] && n < 8; n++) {
        size_t at = n;
        for (; at > 0 && strcmp(names[at - 1], list->list_keys[n]) > 0; at--)
            names[at] = names[at - 1];
        names[at] = list->list_keys[n];
    }
    _cleanup_buf_ struct buf out = {0};
    bool missing = n == 0 || !json_is(item, JSON_OBJECT);
    buf_reserve(&out, 100); /* for most keys at once */
    buf_text(&out, "k:{");
    for (size_t i = 0; i < n && !missing; i++) {
        if (i)
            buf_char(&out, ',');
        key_part(&out, list->item, item, names[i], &missing);
    }
    buf_char(&out, '}');
    return missing ? NULL : arena_text_n(a, out.data, out.n);
}

const char *field_set_key(struct arena *a, const struct json *item)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "v:");
    json_write(&out, item);
    return arena_text(a, out.data);
}

const char *field_item_element(struct arena *a, const struct schema *list, const struct json *item)
{
    return list->list == SCHEMA_LIST_MAP ? field_item_key(a, list, item) : field_set_key(a, item);
}

const char *field_member_element(struct arena *a, const struct json *member)
{
    char *element = arena_alloc(a, member->key_n + 3);
    memcpy(element, "f:", 2);
    memcpy(element + 2, member->key, member->key_n + 1);
    return element;
}

void field_items_init(struct field_items *x, struct arena *a, const struct schema *s, const struct json *list)
{
    uint32_t n = 0;
    *x = (struct field_items){.n = list ? list->n : 0};
    x->items = arena_alloc(a, (x->n + 1) * sizeof *x->items);
    x->elements = arena_alloc(a, (x->n + 1) * sizeof *x->elements);
    JSON_EACH (item, list) {
        x->items[n] = item;
        x->elements[n++] = field_item_element(a, s, item);
    }
}

static bool element_is(const struct field_items *x, uint32_t i, const char *element)
{
    return x->elements[i] && strcmp(x->elements[i], element) == 0;
}

static uint32_t table_find(struct field_items *x, const char *element)
{
    if (!x->table) {
        x->table = map_new(sizeof(uint32_t));
        for (uint32_t i = x->n; i-- > 0;)
            if (x->elements[i])
                *(uint32_t *)map_put(x->table, bytes_of(x->elements[i]), NULL) = i;
    }
    const uint32_t *found = map_find_text(x->table, element);
    return found ? *found : x->n;
}

struct json *field_items_find(struct field_items *x, const char *element)
{
    uint32_t at = 0;
    if (x->n > LINEAR_ITEMS)
        at = table_find(x, element);
    else
        while (at < x->n && !element_is(x, at, element))
            at++;
    return at < x->n ? x->items[at] : NULL;
}

void field_items_free(struct field_items *x)
{
    map_free(x->table);
    x->table = NULL;
}

/* ---- sets of objects ---- */

static struct json *leaf(struct arena *a)
{
    return json_new(a, JSON_OBJECT);
}

/* node has no such element yet. The element's text is kept as it is. */
static void node_add(struct json *node, const char *element, struct json *child)
{
    child->key = element;
    child->key_n = (uint32_t)strlen(element);
    json_append(node, child);
}

static struct json *set_of_value(struct arena *a, const struct schema *s, const struct json *v);

static void set_of_members(struct arena *a, const struct schema *s, const struct json *v, struct json *node)
{
    JSON_EACH (m, v)
        node_add(node, field_member_element(a, m), set_of_value(a, field_member_type(s, m), m));
}

static struct json *set_of_item(struct arena *a, const struct schema *list, const struct json *item)
{
    struct json *node = leaf(a);
    if (list->list != SCHEMA_LIST_MAP)
        return node;
    node_add(node, ".", leaf(a));
    set_of_members(a, list->item, item, node);
    return node;
}

static void set_of_items(struct arena *a, const struct schema *s, const struct json *v, struct json *node)
{
    _cleanup_field_items_ struct field_items x;
    field_items_init(&x, a, s, v);
    for (uint32_t i = 0; i < x.n; i++)
        if (x.elements[i] && field_items_find(&x, x.elements[i]) == x.items[i]) /* of two with one key the first */
            node_add(node, x.elements[i], set_of_item(a, s, x.items[i]));
}

static struct json *set_of_value(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json *node = leaf(a);
    switch (field_shape(s, v)) {
    case FIELD_LEAF:
        break;
    case FIELD_MEMBERS:
        set_of_members(a, s, v, node);
        break;
    case FIELD_KEYED:
    case FIELD_SET:
        set_of_items(a, s, v, node);
        break;
    }
    return node;
}

static bool name_in(const char *key, const char *const *names)
{
    for (; *names; names++)
        if (**names == *key && strcmp(*names, key) == 0)
            return true;
    return false;
}

static const char *const root_skipped[] = {"apiVersion", "kind", NULL};
static const char *const metadata_skipped[] = {"name",
                                               "namespace",
                                               "uid",
                                               "resourceVersion",
                                               "generation",
                                               "creationTimestamp",
                                               "selfLink",
                                               "deletionTimestamp",
                                               "deletionGracePeriodSeconds",
                                               "managedFields",
                                               NULL};

/* A member of another tree, which is only read. */
static void share(struct arena *a, struct json *object, const struct json *m)
{
    struct json *copy = arena_alloc(a, sizeof *copy);
    *copy = *m;
    json_append(object, copy);
}

/* The object without what nobody owns, and without what `other` (may be NULL) has just so: most writes change one half of an
 * object. others: what this said of the other one; NULL, it was not asked yet. To be read only: its values are those of the object. */
static struct json *ownable(struct arena *a, const struct json *object, const struct json *other, const struct json *others)
{
    struct json *out = json_new(a, JSON_OBJECT);
    JSON_EACH (m, object) {
        if (name_in(m->key, root_skipped))
            continue;
        const struct json *beside = json_get(other, m->key);
        if (strcmp(m->key, "metadata") != 0 || !json_is(m, JSON_OBJECT)) {
            if (others ? !beside || json_get(others, m->key) : !json_equal(m, beside))
                share(a, out, m);
            continue;
        }
        if (json_equal(m, beside)) /* others do not say: what is nobody's may differ */
            continue;
        struct json *metadata = json_new(a, JSON_OBJECT);
        JSON_EACH (x, m)
            if (!name_in(x->key, metadata_skipped))
                share(a, metadata, x);
        if (metadata->n)
            node_add(out, "metadata", metadata);
    }
    return out;
}

struct json *field_set_of(struct arena *a, const struct schema *s, const struct json *object)
{
    struct json *own = ownable(a, object, NULL, NULL);
    return own->n ? set_of_value(a, s, own) : NULL;
}

struct difference {
    struct json *changed, *removed;
};

static bool is_self(const struct json *member)
{
    return strcmp(member->key, ".") == 0;
}

/* A set of what is gone: with each thing that had parts goes the thing itself, which may be somebody's who made it empty. */
static struct json *with_selves(struct arena *a, struct json *node)
{
    for (struct json *m = node->first; m; m = m->next)
        if (!is_self(m))
            (void)with_selves(a, m);
    if (node->n && !json_get(node, "."))
        node_add(node, ".", leaf(a));
    return node;
}

static void child_add(struct arena *a, struct json **node, const char *element, struct json *child)
{
    if (!child)
        return;
    if (!*node)
        *node = leaf(a);
    node_add(*node, element, child);
}

static struct difference compare_value(struct arena *a, const struct schema *s, const struct json *before,
                                       const struct json *now);

static void compare_members(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                            struct difference *d)
{
    _cleanup_json_index_ struct json_index were = json_index_of(before), are = json_index_of(now);
    JSON_EACH (m, now) {
        struct difference x = compare_value(a, field_member_type(s, m),
                                            json_index_find(&were, (struct bytes){m->key, m->key_n}), m);
        if (x.changed)
            child_add(a, &d->changed, field_member_element(a, m), x.changed);
        if (x.removed)
            child_add(a, &d->removed, field_member_element(a, m), x.removed);
    }
    JSON_EACH (m, before)
        if (!json_index_find(&are, (struct bytes){m->key, m->key_n}))
            child_add(a, &d->removed, field_member_element(a, m), with_selves(a, set_of_value(a, field_member_type(s, m), m)));
}

static void compare_items(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                          struct difference *d)
{
    _cleanup_field_items_ struct field_items were, are;
    field_items_init(&were, a, s, before);
    field_items_init(&are, a, s, now);
    for (uint32_t i = 0; i < are.n; i++) {
        const char *element = are.elements[i];
        if (!element || field_items_find(&are, element) != are.items[i])
            continue;
        const struct json *old = field_items_find(&were, element);
        struct difference x = {0};
        if (!old)
            x.changed = set_of_item(a, s, are.items[i]);
        else if (s->list == SCHEMA_LIST_MAP)
            compare_members(a, s->item, old, are.items[i], &x);
        child_add(a, &d->changed, element, x.changed);
        child_add(a, &d->removed, element, x.removed);
    }
    for (uint32_t i = 0; i < were.n; i++) {
        const char *element = were.elements[i];
        if (element && field_items_find(&were, element) == were.items[i] && !field_items_find(&are, element))
            child_add(a, &d->removed, element, with_selves(a, set_of_item(a, s, were.items[i])));
    }
}

/* ORDER  whole values are compared only where they count as one piece: each byte is looked at once, however deep it lies. */
static struct difference compare_value(struct arena *a, const struct schema *s, const struct json *before,
                                       const struct json *now)
{
    struct difference d = {0};
    if (!before) {
        d.changed = set_of_value(a, s, now);
        return d;
    }
    enum field_shape x = field_shape(s, before), y = field_shape(s, now);
    if (x != y || x == FIELD_LEAF) {
        if (x == y && json_equal(before, now))
            return d;
        d.changed = set_of_value(a, s, now);
        d.removed = x == FIELD_LEAF ? NULL : with_selves(a, set_of_value(a, s, before));
        return d;
    }
    if (x == FIELD_MEMBERS)
        compare_members(a, s, before, now, &d);
    else
        compare_items(a, s, before, now, &d);
    return d;
}

void field_set_compare(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                       struct json **ret_changed, struct json **ret_removed)
{
    struct difference d = {0};
    const struct json *was = before ? ownable(a, before, now, NULL) : NULL;
    compare_members(a, s, was, ownable(a, now, before, was), &d);
    *ret_changed = d.changed;
    *ret_removed = d.removed;
}

/* ---- algebra ---- */

bool field_set_has(const struct json *node)
{
    return node && (node->n == 0 || json_get(node, "."));
}

/* NULL when nothing is in it; {".":{}} becomes {}. */
static struct json *tidy(struct arena *a, struct json *node, bool self)
{
    if (node->n == 0)
        return self ? node : NULL;
    if (self)
        node_add(node, ".", leaf(a));
    return node;
}

struct json *field_set_union(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x || !y)
        return x || y ? json_copy(a, x ? x : y) : NULL;
    struct json *out = leaf(a);
    _cleanup_json_index_ struct json_index in_x = json_index_of(x), in_y = json_index_of(y);
    JSON_EACH (m, x)
        if (!is_self(m))
            node_add(out, m->key, field_set_union(a, m, json_index_find(&in_y, (struct bytes){m->key, m->key_n})));
    JSON_EACH (m, y)
        if (!is_self(m) && !json_index_find(&in_x, (struct bytes){m->key, m->key_n}))
            node_add(out, m->key, json_copy(a, m));
    return tidy(a, out, field_set_has(x) || field_set_has(y));
}

struct json *field_set_minus(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x)
        return NULL;
    struct json *out = leaf(a);
    if (!y) { /* all of it: its children are x's, to be read only */
        *out = *x;
        out->next = NULL;
        return out;
    }
    _cleanup_json_index_ struct json_index in_y = json_index_of(y);
    JSON_EACH (m, x)
        if (!is_self(m))
            child_add(a, &out, m->key, field_set_minus(a, m, json_index_find(&in_y, (struct bytes){m->key, m->key_n})));
    return tidy(a, out, field_set_has(x) && !field_set_has(y));
}

struct json *field_set_common(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x || !y)
        return NULL;
    struct json *out = leaf(a);
    _cleanup_json_index_ struct json_index in_y = json_index_of(y);
    JSON_EACH (m, x)
        if (!is_self(m))
            child_add(a, &out, m->key, field_set_common(a, m, json_index_find(&in_y, (struct bytes){m->key, m->key_n})));
    return tidy(a, out, field_set_has(x) && field_set_has(y));
}

/* ---- paths for people ---- */

static void element_write(struct arena *a, struct buf *out, const char *element)
{
    if (element[0] == 'f') {
        buf_printf(out, ".%s", element + 2);
    } else if (element[0] == 'v') {
        buf_printf(out, "[=%s]", element + 2);
    } else {
        struct err e = {0};
        const struct json *keys = json_parse(a, bytes_of(element + 2), NULL, &e);
        bool first = true;
        buf_char(out, '[');
        JSON_EACH (k, keys) {
            buf_printf(out, "%s%s=", first ? "" : ",", k->key);
            json_write(out, k);
            first = false;
        }
        buf_char(out, ']');
    }
}

static void each(struct arena *a, const struct json *node, struct buf *path, void (*fn)(void *arg, const char *path),
                 void *arg)
{
    if (field_set_has(node) && path->n)
        fn(arg, path->data);
    JSON_EACH (m, node) {
        if (is_self(m) || m->key_n < 2)
            continue;
        size_t n = path->n;
        element_write(a, path, m->key);
        each(a, m, path, fn, arg);
        path->n = n;
        path->data[n] = 0;
    }
}

void field_set_each(struct arena *a, const struct json *set, void (*fn)(void *arg, const char *path), void *arg)
{
    _cleanup_buf_ struct buf path = {0};
    buf_reserve(&path, 1);
    path.data[0] = 0;
    if (set)
        each(a, set, &path, fn, arg);
}
