/* strategic_merge.c - see strategic_merge.h
 *
 * Linear in target and patch: members and items are found by tables where they are many, and what is rebuilt is rebuilt in one walk.
 */
#include "apiserver/apply/strategic_merge.h"

#include "apiserver/apply/managed_fields_set.h"
#include "base/collections/map.h"
#include "wire/json_index.h"

#define LINEAR_ITEMS 16 /* so many names are compared one by one; beyond, a table finds them */
#define ORDER "$setElementOrder/"
#define DELETE_VALUES "$deleteFromPrimitiveList/"

struct merge {
    struct arena *arena;
    struct err *e;
};
/* Where a merge stands, printed only when it fails. */
struct place {
    const struct place *above; /* NULL = the root */
    const char *key;
};

static int merge_object(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                        const struct place *place);

static void place_write(struct buf *out, const struct place *p)
{
    if (!p->above)
        return;
    place_write(out, p->above);
    buf_printf(out, "%s%.100s", out->n ? "." : "", p->key);
}

static int refuse(struct merge *m, const struct place *place, const char *what, const char *detail)
{
    _cleanup_buf_ struct buf path = {0};
    place_write(&path, place);
    return err_set(m->e, E_INVALID, "%.120s: %s%.40s", path.n ? path.data : "patch", what, detail);
}

static const struct schema_field *field_of(const struct schema *s, struct bytes key)
{
    return s && s->form == SCHEMA_OBJECT ? schema_field_find(s, key) : NULL;
}

static bool directive(const char *key)
{
    return *key == '$' && (strcmp(key, "$patch") == 0 || strcmp(key, "$retainKeys") == 0 || text_starts(key, ORDER) ||
                           text_starts(key, DELETE_VALUES));
}

/* ---- lists by their items ---- */

/* What names an item: the value under the merge key, or ("" as key) the item itself. Empty: it has no such value.
 * SHAPE  a text as it is, as most are; another value, and the empty text, as JSON behind a NUL, which no text has. */
static struct bytes item_name(struct merge *m, const struct json *item, const char *key)
{
    _cleanup_buf_ struct buf out = {0};
    const struct json *v = *key ? json_get(item, key) : item;
    if (!v)
        return (struct bytes){"", 0};
    if (json_is(v, JSON_STRING) && v->n)
        return json_bytes(v);
    buf_char(&out, '\0');
    json_write(&out, v);
    return (struct bytes){arena_text_n(m->arena, out.data, out.n), out.n};
}

struct item {
    struct json *item;
    size_t at;
};

/* Items by name. */
struct items {
    struct {
        struct bytes name;
        struct item item;
    } few[LINEAR_ITEMS]; /* not zeroed */
    uint32_t few_n;
    struct map *table; /* of all, once they are more; NULL before */
};

static struct item *items_find(struct items *x, struct bytes name)
{
    if (x->table)
        return map_find(x->table, name);
    for (uint32_t i = 0; i < x->few_n; i++)
        if (bytes_equal(x->few[i].name, name))
            return &x->few[i].item;
    return NULL;
}

/* As map_put: good until the next is put. */
static struct item *items_put(struct items *x, struct bytes name, bool *ret_is_new)
{
    struct item *found = x->table ? NULL : items_find(x, name);
    *ret_is_new = !found;
    if (found)
        return found;
    if (!x->table && x->few_n < LINEAR_ITEMS) {
        x->few[x->few_n].name = name;
        found = &x->few[x->few_n++].item;
        *found = (struct item){0};
        return found;
    }
    if (!x->table) {
        x->table = map_new(sizeof(struct item));
        for (uint32_t i = 0; i < x->few_n; i++)
            *(struct item *)map_put(x->table, x->few[i].name, NULL) = x->few[i].item;
    }
    return map_put(x->table, name, ret_is_new);
}

static void items_free(struct items *x)
{
    map_free(x->table);
}
#define _cleanup_items_ _cleanup_(items_free)

static void items_init(struct items *x)
{
    x->few_n = 0;
    x->table = NULL;
}

/* The items of a list by name, of two with one name the first. */
static void items_of(struct items *x, struct merge *m, const struct json *list, const char *key)
{
    size_t at = 0;
    items_init(x);
    JSON_EACH (item, list) {
        struct bytes name = item_name(m, item, key);
        bool is_new;
        struct item *found = name.n ? items_put(x, name, &is_new) : NULL;
        if (found && is_new)
            *found = (struct item){.item = item, .at = at};
        at++;
    }
}

static void list_empty(struct json *list)
{
    list->first = list->last = NULL;
    list->n = 0;
}

/* Drop the items whose names stand in `names`; all of them, when it is NULL. */
static void items_drop(struct merge *m, struct json *list, struct items *names, const char *key)
{
    struct json *next, *item = list->first;
    list_empty(list);
    for (; names && item; item = next) {
        next = item->next;
        if (!items_find(names, item_name(m, item, key)))
            json_append(list, item);
    }
}

struct ordered {
    struct json *item;
    size_t rank, live_at;
    bool in_live;
};

static int rank_compare(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->live_at < y->live_at ? -1 : x->live_at > y->live_at;
}

/* Items that `order` names stand as it says; the others keep their place among them as far as the old list tells, else they
 * follow. SOURCE Kubernetes: so a new item comes before those that only the server knows. */
static void list_order(struct merge *m, struct json *list, struct items *live, const struct json *order, const char *key)
{
    _cleanup_items_ struct items places;
    items_of(&places, m, order, key);
    struct ordered *named = arena_zero(m->arena, list->n + 1u, sizeof *named),
                   *other = arena_zero(m->arena, list->n + 1u, sizeof *other);
    size_t named_n = 0, other_n = 0;
    JSON_EACH (item, list) {
        struct bytes name = item_name(m, item, key);
        const struct item *was = items_find(live, name), *place = items_find(&places, name);
        struct ordered x = {item, place ? place->at : 0, was ? was->at : SIZE_MAX, was != NULL};
        if (place)
            named[named_n++] = x;
        else
            other[other_n++] = x;
    }
    qsort(named, named_n, sizeof *named, rank_compare);
    list_empty(list);
    size_t i = 0, j = 0;
    while (i < named_n || j < other_n) {
        bool take_other = i == named_n ||
                          (j < other_n && named[i].in_live && other[j].in_live && other[j].live_at < named[i].live_at);
        json_append(list, take_other ? other[j++].item : named[i++].item);
    }
}

/* ---- merging ---- */

/* What the patch wants where the target has nothing: its values without nulls and directives. */
static int value_new(struct merge *m, const struct schema *s, const struct json *patch, const struct place *place,
                     struct json **ret_v)
{
    if (patch->type != JSON_OBJECT) {
        *ret_v = json_copy(m->arena, patch);
        return 0;
    }
    *ret_v = json_new(m->arena, JSON_OBJECT);
    return merge_object(m, s, *ret_v, patch, place);
}

static const char *patch_word(const struct json *item)
{
    return json_get_text(item, "$patch", "");
}

/* What {"$patch": "replace"} and {"$patch": "delete", KEY: ...} among the items ask for. */
static int items_remove(struct merge *m, const char *key, struct json *target, const struct json *patch,
                        const struct place *place)
{
    _cleanup_items_ struct items gone;
    bool is_new;
    items_init(&gone);
    JSON_EACH (item, patch) {
        const char *word = patch_word(item);
        if (strcmp(word, "replace") == 0)
            items_drop(m, target, NULL, key);
        if (strcmp(word, "replace") == 0 && item->n == 1)
            continue;
        if (!json_is(item, JSON_OBJECT) || !json_get(item, key))
            return refuse(m, place, "map does not contain declared merge key: ", key);
        if (strcmp(word, "delete") == 0)
            (void)items_put(&gone, item_name(m, item, key), &is_new);
    }
    if (gone.few_n)
        items_drop(m, target, &gone, key);
    return 0;
}

static int items_merge(struct merge *m, const struct schema *item_type, const char *key, struct json *target,
                       const struct json *patch, const struct place *place)
{
    _cleanup_items_ struct items items;
    items_of(&items, m, target, key);
    JSON_EACH (item, patch) {
        const char *word = patch_word(item);
        bool is_new;
        if (strcmp(word, "delete") == 0 || (strcmp(word, "replace") == 0 && item->n == 1))
            continue;
        struct item *found = items_put(&items, item_name(m, item, key), &is_new);
        if (is_new) {
            found->item = json_new(m->arena, JSON_OBJECT);
            json_append(target, found->item);
        }
        if (!json_is(found->item, JSON_OBJECT))
            return refuse(m, place, "an item is no object: ", "");
        int r = merge_object(m, item_type, found->item, item, place);
        if (r < 0)
            return r;
    }
    return 0;
}

static void values_merge(struct merge *m, struct json *target, const struct json *patch)
{
    _cleanup_items_ struct items known;
    items_of(&known, m, target, "");
    JSON_EACH (v, patch) {
        bool is_new;
        (void)items_put(&known, item_name(m, v, ""), &is_new);
        if (is_new)
            json_append(target, json_copy(m->arena, v));
    }
}

/* `old` is merged with the patch, or NULL. *ret_v is what stands in the place of both. */
static int merge_list(struct merge *m, const struct schema_field *f, struct json *old, const struct json *patch,
                      const struct json *order, const struct place *place, struct json **ret_v)
{
    if (!f || !f->merge_key) {
        *ret_v = json_copy(m->arena, patch);
        return 0;
    }
    const char *key = f->merge_key;
    struct json *target = *ret_v = json_is(old, JSON_ARRAY) ? old : json_new(m->arena, JSON_ARRAY);
    int r = *key ? items_remove(m, key, target, patch, place) : 0;
    if (r < 0)
        return r;
    bool was_empty = target->n == 0;
    _cleanup_items_ struct items live;
    items_of(&live, m, target, key);
    if (*key)
        r = items_merge(m, field_item_type(f->type), key, target, patch, place);
    else
        values_merge(m, target, patch);
    if (r == 0 && (!was_empty || order)) /* else they stand as the patch says */
        list_order(m, target, &live, json_is(order, JSON_ARRAY) ? order : patch, key);
    return r;
}

/* One member of the patch over the target's (NULL: it has none). *ret_v NULL: it goes. */
static int merge_member(struct merge *m, const struct schema *s, struct json *old, const struct json *patch,
                        const struct json *order, const struct place *above, struct json **ret_v)
{
    const struct place place = {above, patch->key};
    const struct schema *type = field_member_type(s, patch);
    *ret_v = NULL;
    if (patch->type == JSON_NULL)
        return 0;
    if (patch->type == JSON_ARRAY)
        return merge_list(m, field_of(s, (struct bytes){patch->key, patch->key_n}), old, patch, order, &place, ret_v);
    if (patch->type == JSON_OBJECT && json_is(old, JSON_OBJECT)) {
        if (strcmp(patch_word(patch), "delete") == 0)
            return 0;
        *ret_v = old;
        return merge_object(m, type, old, patch, &place);
    }
    return value_new(m, type, patch, &place, ret_v);
}

static void member_put(struct json *object, const struct json *like, struct json *v)
{
    v->key = like->key;
    v->key_n = like->key_n;
    json_append(object, v);
}

/* Most patches say only what they want. */
static bool has_directives(const struct json *patch)
{
    JSON_EACH (m, patch)
        if (*m->key == '$')
            return true;
    return false;
}

/* The patch's order for its list `key`, or NULL. */
static const struct json *order_of(struct json_index *in_patch, const struct json *member, struct buf *scratch)
{
    if (member->type != JSON_ARRAY || !in_patch->object)
        return NULL;
    buf_clear(scratch);
    buf_printf(scratch, ORDER "%s", member->key);
    return json_index_find(in_patch, buf_view(scratch));
}

/* Which members of the patch the target has, in the patch's order. */
static const bool *members_had(struct merge *m, const struct json *target, const struct json *patch)
{
    _cleanup_json_index_ struct json_index in_target = json_index_of(target);
    bool *had = arena_zero(m->arena, patch->n + 1u, sizeof *had), *at = had;
    JSON_EACH (mine, patch)
        *at++ = json_index_find(&in_target, (struct bytes){mine->key, mine->key_n});
    return had;
}

static int merge_members(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                         const struct place *place)
{
    _cleanup_json_index_ struct json_index in_patch = json_index_of(patch), orders = json_index_of(has_directives(patch) ? patch : NULL);
    const bool *had = members_had(m, target, patch);
    _cleanup_buf_ struct buf scratch = {0};
    struct json *v, *next, *old = target->first;
    int r = 0;
    list_empty(target);
    for (; r == 0 && old; old = next) {
        next = old->next;
        const struct json *mine = json_index_find(&in_patch, (struct bytes){old->key, old->key_n});
        if (!mine || directive(mine->key)) {
            json_append(target, old);
            continue;
        }
        r = merge_member(m, s, old, mine, order_of(&orders, mine, &scratch), place, &v);
        if (r == 0 && v)
            member_put(target, mine, v);
    }
    for (const struct json *mine = patch->first; r == 0 && mine; mine = mine->next) {
        if (*had++ || directive(mine->key))
            continue;
        r = merge_member(m, s, NULL, mine, order_of(&orders, mine, &scratch), place, &v);
        if (r == 0 && v)
            member_put(target, mine, v);
    }
    return r;
}

/* Orders of lists that the patch does not touch otherwise, and values that go. */
static int merge_directives(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                            const struct place *place)
{
    JSON_EACH (d, patch) {
        bool orders = text_starts(d->key, ORDER);
        if (!orders && !text_starts(d->key, DELETE_VALUES))
            continue;
        const char *name = strchr(d->key, '/') + 1;
        const struct schema_field *f = field_of(s, bytes_of(name));
        const char *key = orders && f && f->merge_key ? f->merge_key : "";
        struct json *list = json_get(target, name);
        if (!json_is(d, JSON_ARRAY))
            return refuse(m, &(struct place){place, d->key}, "must be a list", "");
        if (!json_is(list, JSON_ARRAY) || (orders && json_is(json_get(patch, name), JSON_ARRAY) && f && f->merge_key))
            continue;
        _cleanup_items_ struct items items;
        items_of(&items, m, orders ? list : d, key);
        if (orders)
            list_order(m, list, &items, d, key);
        else
            items_drop(m, list, &items, "");
    }
    return 0;
}

static void retain(struct json *target, const struct json *keys)
{
    _cleanup_items_ struct items kept;
    bool is_new;
    items_init(&kept);
    struct json *next, *v = target->first;
    JSON_EACH (k, keys)
        (void)items_put(&kept, json_bytes(k), &is_new);
    list_empty(target);
    for (; v; v = next) {
        next = v->next;
        if (items_find(&kept, (struct bytes){v->key, v->key_n}))
            json_append(target, v);
    }
}

static int merge_object(struct merge *m, const struct schema *s, struct json *target, const struct json *patch,
                        const struct place *place)
{
    const char *word = json_get_text(patch, "$patch", "merge");
    const struct json *keys = json_get(patch, "$retainKeys");
    if (strcmp(word, "replace") == 0 || strcmp(word, "delete") == 0)
        list_empty(target);
    else if (strcmp(word, "merge") != 0)
        return refuse(m, place, "unknown patch type (use replace, delete or merge): ", word);
    if (keys)
        retain(target, keys);
    int r = merge_members(m, s, target, patch, place);
    return r < 0 || !has_directives(patch) ? r : merge_directives(m, s, target, patch, place);
}

int strategic_merge(struct arena *a, const struct schema *s, struct json *target, const struct json *patch,
                    struct err *e)
{
    struct merge m = {a, e};
    if (!json_is(target, JSON_OBJECT) || !json_is(patch, JSON_OBJECT))
        return err_set(e, E_INVALID, "a strategic merge patch and what it changes are objects: {...}");
    return merge_object(&m, s, target, patch, &(struct place){0});
}
