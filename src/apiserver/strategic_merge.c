#include "apiserver/strategic_merge.h"

#include <stdio.h>

#include "apiserver/managed_fields_set.h"

#define ORDER "$setElementOrder/"
#define DELETE_VALUES "$deleteFromPrimitiveList/"

struct merge {
    struct arena *arena;
    struct err *e;
};

static int merge_object(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                        const char *path);

static const struct schema_field *field_of(const struct schema *s, const char *key)
{
    return s && s->form == SCHEMA_OBJECT ? schema_field_find(s, bytes_of(key)) : NULL;
}

static bool directive(const char *key)
{
    return *key == '$' && (strcmp(key, "$patch") == 0 || strcmp(key, "$retainKeys") == 0 || text_starts(key, ORDER) ||
                           text_starts(key, DELETE_VALUES));
}

static bool value_in(const struct json *list, const struct json *value)
{
    JSON_EACH (v, list)
        if (json_equal(v, value))
            return true;
    return false;
}

/* An item of `list` whose `key` equals that of `like`; *ret_at is its index. */
static struct json *item_by_key(const struct json *list, const char *key, const struct json *like, size_t *ret_at)
{
    const struct json *want = json_get(like, key);
    size_t at = 0;
    JSON_EACH (item, list) {
        if (want && json_get(item, key) && json_equal(json_get(item, key), want)) {
            if (ret_at)
                *ret_at = at;
            return item;
        }
        at++;
    }
    return NULL;
}

/* What the patch wants where the target has nothing: its values without nulls and directives. */
static int value_new(struct merge *m, const struct schema *s, const struct json *patch, const char *path,
                     struct json **ret_v)
{
    if (patch->type != JSON_OBJECT) {
        *ret_v = json_clone(m->arena, patch);
        return 0;
    }
    *ret_v = json_new(m->arena, JSON_OBJECT);
    return merge_object(m, s, *ret_v, patch, path);
}

static int merge_items(struct merge *m, const struct schema *item_type, const char *key, struct json *target,
                       const struct json *patch, const char *path)
{
    JSON_EACH (item, patch)
        if (strcmp(json_get_text(item, "$patch", ""), "replace") == 0)
            while (target->first)
                json_remove_item(target, target->first);
    JSON_EACH (item, patch) {
        const char *order = json_get_text(item, "$patch", "");
        if (strcmp(order, "replace") == 0 && item->n == 1)
            continue;
        if (!json_is(item, JSON_OBJECT) || !json_get(item, key))
            return err_set(m->e, E_INVALID, "%s: map does not contain declared merge key: %s", path, key);
        struct json *found = item_by_key(target, key, item, NULL);
        if (strcmp(order, "delete") == 0) {
            for (; found; found = item_by_key(target, key, item, NULL))
                json_remove_item(target, found);
            continue;
        }
        if (!found) {
            found = json_new(m->arena, JSON_OBJECT);
            json_append(target, found);
        }
        int r = merge_object(m, item_type, found, item, path);
        if (r < 0)
            return r;
    }
    return 0;
}

static void merge_values(struct merge *m, struct json *target, const struct json *patch)
{
    JSON_EACH (v, patch)
        if (!value_in(target, v))
            json_append(target, json_clone(m->arena, v));
}

static int merge_list(struct merge *m, const struct schema_field *f, struct json *object, const struct json *patch,
                      const char *path)
{
    struct json *target = json_get(object, patch->key);
    if (!f || !f->merge_key) {
        json_set(m->arena, object, patch->key, json_clone(m->arena, patch));
        return 0;
    }
    target = json_is(target, JSON_ARRAY) ? target : json_ensure_array(m->arena, object, patch->key);
    if (!*f->merge_key) {
        merge_values(m, target, patch);
        return 0;
    }
    return merge_items(m, field_item_type(f->type), f->merge_key, target, patch, path);
}

static int merge_member(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                        const char *path)
{
    const char *here = *path ? arena_printf(m->arena, "%s.%s", path, patch->key) : patch->key;
    if (patch->type == JSON_NULL) {
        json_remove(target, patch->key);
        return 0;
    }
    if (patch->type == JSON_ARRAY)
        return merge_list(m, field_of(s, patch->key), target, patch, here);
    struct json *old = json_get(target, patch->key);
    const struct schema *type = field_member_type(s, patch->key);
    if (patch->type == JSON_OBJECT && json_is(old, JSON_OBJECT)) {
        if (strcmp(json_get_text(patch, "$patch", ""), "delete") == 0) {
            json_remove(target, patch->key);
            return 0;
        }
        return merge_object(m, type, old, patch, here);
    }
    struct json *v;
    int r = value_new(m, type, patch, here, &v);
    if (r == 0)
        json_set(m->arena, target, patch->key, v);
    return r;
}

/* ---- $setElementOrder ---- */

static const struct json *order_place(const struct json *order, const char *key, const struct json *item,
                                      size_t *ret_at)
{
    size_t at = 0;
    if (*key)
        return item_by_key(order, key, item, ret_at);
    JSON_EACH (v, order) {
        if (json_equal(v, item)) {
            *ret_at = at;
            return v;
        }
        at++;
    }
    return NULL;
}

struct ordered {
    struct json *item;
    size_t rank, live_at;
    bool known, in_live;
};

/* Items that the order names stand as it says; the others keep their place among them as far as the old list tells. */
static void list_order(struct merge *m, struct json *list, const struct json *live, const struct json *order,
                       const char *key)
{
    size_t n = list->n, named_n = 0, other_n = 0;
    struct ordered *named = arena_zero(m->arena, n + 1, sizeof *named),
                   *other = arena_zero(m->arena, n + 1, sizeof *other);
    for (struct json *item = list->first, *next; item; item = next) {
        struct ordered x = {.item = item};
        next = item->next;
        x.in_live = order_place(live, key, item, &x.live_at) != NULL;
        x.known = order_place(order, key, item, &x.rank) != NULL;
        if (!x.known) {
            other[other_n++] = x;
            continue;
        }
        size_t at = named_n++;
        for (; at > 0 && named[at - 1].rank > x.rank; at--)
            named[at] = named[at - 1];
        named[at] = x;
    }
    list->first = list->last = NULL;
    list->n = 0;
    size_t i = 0, j = 0;
    while (i < named_n || j < other_n) {
        bool take_other = i == named_n ||
                          (j < other_n && named[i].in_live && other[j].in_live && other[j].live_at < named[i].live_at);
        json_append(list, take_other ? other[j++].item : named[i++].item);
    }
}

static int merge_directives(struct merge *m, const struct schema *s, struct json *target, const struct json *live,
                            const struct json *patch, const char *path)
{
    JSON_EACH (d, patch) {
        if (!text_starts(d->key, DELETE_VALUES) && !text_starts(d->key, ORDER))
            continue;
        const char *name = strchr(d->key, '/') + 1;
        const struct schema_field *f = field_of(s, name);
        struct json *list = json_get(target, name);
        if (!json_is(d, JSON_ARRAY))
            return err_set(m->e, E_INVALID, "%s%s%s: must be a list", path, *path ? "." : "", d->key);
        if (!json_is(list, JSON_ARRAY))
            continue;
        if (text_starts(d->key, ORDER)) {
            list_order(m, list, json_get(live, name), d, f && f->merge_key ? f->merge_key : "");
            continue;
        }
        for (struct json *v = list->first, *next; v; v = next) {
            next = v->next;
            if (value_in(d, v))
                json_remove_item(list, v);
        }
    }
    return 0;
}

static void retain(struct json *target, const struct json *keys)
{
    for (struct json *v = target->first, *next; v; v = next) {
        bool kept = false;
        next = v->next;
        JSON_EACH (k, keys)
            kept = kept || strcmp(json_text(k, ""), v->key) == 0;
        if (!kept)
            json_remove(target, v->key);
    }
}

static int merge_object(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                        const char *path)
{
    const char *order = json_get_text(patch, "$patch", "merge");
    const struct json *keys = json_get(patch, "$retainKeys");
    if (strcmp(order, "replace") == 0 || strcmp(order, "delete") == 0)
        while (target->first)
            json_remove(target, target->first->key);
    else if (strcmp(order, "merge") != 0)
        return err_set(m->e, E_INVALID, "%s: unknown patch type: %.40s: use replace, delete or merge",
                       *path ? path : "patch", order);
    const struct json *live = json_clone(m->arena, target);
    if (keys)
        retain(target, keys);
    JSON_EACH (member, patch) {
        if (directive(member->key))
            continue;
        int r = merge_member(m, s, target, member, path);
        if (r < 0)
            return r;
    }
    return merge_directives(m, s, target, live, patch, path);
}

int strategic_merge(struct arena *a, const struct schema *s, struct json *target, const struct json *patch,
                    struct err *e)
{
    struct merge m = {a, e};
    return merge_object(&m, s, target, patch, "");
}
