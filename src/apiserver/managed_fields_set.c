#include "apiserver/managed_fields_set.h"

#include <stdio.h>

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

const struct schema *field_member_type(const struct schema *s, const char *key)
{
    if (!s)
        return NULL;
    if (s->form == SCHEMA_MAP)
        return s->item;
    if (s->form != SCHEMA_OBJECT)
        return NULL;
    const struct schema_field *f = schema_field_find(s, bytes_of(key));
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
    buf_text(&out, "k:{");
    for (size_t i = 0; i < n && !missing; i++) {
        if (i)
            buf_char(&out, ',');
        key_part(&out, list->item, item, names[i], &missing);
    }
    buf_char(&out, '}');
    return missing ? NULL : arena_text(a, out.data);
}

const char *field_set_key(struct arena *a, const struct json *item)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "v:");
    json_write(&out, item);
    return arena_text(a, out.data);
}

struct json *field_item_find(struct arena *a, const struct schema *s, const struct json *list, const char *element)
{
    JSON_EACH (item, list) {
        const char *key = *element == 'k' ? field_item_key(a, s, item) : field_set_key(a, item);
        if (key && strcmp(key, element) == 0)
            return item;
    }
    return NULL;
}

/* ---- sets of objects ---- */

static struct json *leaf(struct arena *a)
{
    return json_new(a, JSON_OBJECT);
}

static const char *member_element(struct arena *a, const char *key)
{
    return arena_printf(a, "f:%s", key);
}

static struct json *set_of_value(struct arena *a, const struct schema *s, const struct json *v)
{
    struct json *node = leaf(a);
    switch (field_shape(s, v)) {
    case FIELD_LEAF:
        break;
    case FIELD_MEMBERS:
        JSON_EACH (m, v)
            json_set(a, node, member_element(a, m->key), set_of_value(a, field_member_type(s, m->key), m));
        break;
    case FIELD_KEYED:
        JSON_EACH (item, v) {
            const char *key = field_item_key(a, s, item);
            if (!key)
                continue;
            struct json *child = leaf(a);
            json_set(a, child, ".", leaf(a));
            JSON_EACH (m, item)
                json_set(a, child, member_element(a, m->key), set_of_value(a, field_member_type(s->item, m->key), m));
            json_set(a, node, key, child);
        }
        break;
    case FIELD_SET:
        JSON_EACH (item, v)
            json_set(a, node, field_set_key(a, item), leaf(a));
        break;
    }
    return node;
}

static bool name_in(const char *key, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, key) == 0)
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

/* The object without what nobody owns; members are shared copies. */
static struct json *ownable(struct arena *a, const struct json *object)
{
    struct json *out = json_new(a, JSON_OBJECT);
    JSON_EACH (m, object) {
        if (name_in(m->key, root_skipped))
            continue;
        if (strcmp(m->key, "metadata") != 0) {
            json_set(a, out, m->key, json_clone(a, m));
            continue;
        }
        struct json *metadata = json_new(a, JSON_OBJECT);
        JSON_EACH (x, m)
            if (!name_in(x->key, metadata_skipped))
                json_set(a, metadata, x->key, json_clone(a, x));
        if (metadata->n)
            json_set(a, out, "metadata", metadata);
    }
    return out;
}

struct json *field_set_of(struct arena *a, const struct schema *s, const struct json *object)
{
    struct json *own = ownable(a, object);
    return own->n ? set_of_value(a, s, own) : NULL;
}

struct difference {
    struct json *changed, *removed;
};

static void child_add(struct arena *a, struct json **node, const char *element, struct json *child)
{
    if (!child)
        return;
    if (!*node)
        *node = leaf(a);
    json_set(a, *node, element, child);
}

static struct difference compare_value(struct arena *a, const struct schema *s, const struct json *before,
                                       const struct json *now);

static void compare_members(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                            struct difference *d)
{
    JSON_EACH (m, now) {
        struct difference x = compare_value(a, field_member_type(s, m->key), json_get(before, m->key), m);
        child_add(a, &d->changed, member_element(a, m->key), x.changed);
        child_add(a, &d->removed, member_element(a, m->key), x.removed);
    }
    JSON_EACH (m, before)
        if (!json_get(now, m->key))
            child_add(a, &d->removed, member_element(a, m->key), set_of_value(a, field_member_type(s, m->key), m));
}

static void compare_items(struct arena *a, const struct schema *s, const struct json *before, const struct json *now,
                          struct difference *d)
{
    bool keyed = s->list == SCHEMA_LIST_MAP;
    struct json *all_now = set_of_value(a, s, now), *all_before = set_of_value(a, s, before);
    JSON_EACH (item, now) {
        const char *key = keyed ? field_item_key(a, s, item) : field_set_key(a, item);
        struct json *old = key ? field_item_find(a, s, before, key) : NULL;
        if (!key)
            continue;
        if (!old) {
            child_add(a, &d->changed, key, json_clone(a, json_get(all_now, key)));
        } else if (keyed) {
            struct difference x = {0};
            compare_members(a, s->item, old, item, &x);
            child_add(a, &d->changed, key, x.changed);
            child_add(a, &d->removed, key, x.removed);
        }
    }
    JSON_EACH (m, all_before)
        if (!json_get(all_now, m->key))
            child_add(a, &d->removed, m->key, json_clone(a, m));
}

static struct difference compare_value(struct arena *a, const struct schema *s, const struct json *before,
                                       const struct json *now)
{
    struct difference d = {0};
    if (!before) {
        d.changed = set_of_value(a, s, now);
        return d;
    }
    if (json_equal(before, now))
        return d;
    enum field_shape x = field_shape(s, before), y = field_shape(s, now);
    if (x != y || x == FIELD_LEAF) {
        d.changed = set_of_value(a, s, now);
        d.removed = x == FIELD_LEAF ? NULL : set_of_value(a, s, before);
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
    compare_members(a, s, before ? ownable(a, before) : NULL, ownable(a, now), &d);
    *ret_changed = d.changed;
    *ret_removed = d.removed;
}

/* ---- algebra ---- */

bool field_set_has(const struct json *node)
{
    return node && (node->n == 0 || json_get(node, "."));
}

static bool is_self(const struct json *member)
{
    return strcmp(member->key, ".") == 0;
}

/* NULL when nothing is in it; {".":{}} becomes {}. */
static struct json *tidy(struct arena *a, struct json *node, bool self)
{
    if (node->n == 0)
        return self ? node : NULL;
    if (self)
        json_set(a, node, ".", leaf(a));
    return node;
}

struct json *field_set_union(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x || !y)
        return x || y ? json_clone(a, x ? x : y) : NULL;
    struct json *out = leaf(a);
    JSON_EACH (m, x)
        if (!is_self(m))
            json_set(a, out, m->key, field_set_union(a, m, json_get(y, m->key)));
    JSON_EACH (m, y)
        if (!is_self(m) && !json_get(x, m->key))
            json_set(a, out, m->key, json_clone(a, m));
    return tidy(a, out, field_set_has(x) || field_set_has(y));
}

struct json *field_set_minus(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x)
        return NULL;
    struct json *out = leaf(a);
    JSON_EACH (m, x)
        if (!is_self(m))
            child_add(a, &out, m->key, field_set_minus(a, m, json_get(y, m->key)));
    return tidy(a, out, field_set_has(x) && !field_set_has(y));
}

struct json *field_set_common(struct arena *a, const struct json *x, const struct json *y)
{
    if (!x || !y)
        return NULL;
    struct json *out = leaf(a);
    JSON_EACH (m, x)
        if (!is_self(m))
            child_add(a, &out, m->key, field_set_common(a, m, json_get(y, m->key)));
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
