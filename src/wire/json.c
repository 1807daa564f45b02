/* json.c - the tree: look, make, change, compare. Parsing is in json_parse.c, printing in json_write.c. */
#include <assert.h>
#include "wire/json.h"
#include "base/collections/map.h"

#define LINEAR_MEMBERS 32 /* objects up to this size are compared without an index */

static bool is_container(const struct json *v)
{
    return v && v->type >= JSON_ARRAY;
}

static __attribute__((noinline)) struct json *member_long(struct json *m, struct bytes key)
{
    for (; m; m = m->next)
        if (m->key_n == key.n && memcmp(m->key, key.data, key.n) == 0)
            break;
    return m;
}

/* WHY  long keys apart: a call in the loop would make the way of all others longer. */
struct json *json_get_n(const struct json *object, struct bytes key)
{
    if (!json_is(object, JSON_OBJECT))
        return NULL;
    if (key.n > 16)
        return member_long(object->first, key);
    for (struct json *m = object->first; m; m = m->next)
        if (m->key_n == key.n && bytes_same(m->key, key.data, key.n))
            return m;
    return NULL;
}

struct json *json_item(const struct json *array, size_t index)
{
    if (!json_is(array, JSON_ARRAY) || index >= array->n)
        return NULL;
    struct json *item = array->first;
    while (index-- > 0)
        item = item->next;
    return item;
}

const char *json_text(const struct json *v, const char *fallback)
{
    return json_is(v, JSON_STRING) ? v->text : fallback;
}

int64_t json_int64(const struct json *v, int64_t fallback)
{
    int64_t value;
    return json_is(v, JSON_NUMBER) && bytes_int64(json_bytes(v), &value) ? value : fallback;
}

bool json_bool(const struct json *v, bool fallback)
{
    return json_is(v, JSON_BOOL) ? v->truth : fallback;
}

struct json *json_new(struct arena *a, enum json_type type)
{
    struct json *v = arena_alloc(a, sizeof *v);
    *v = (struct json){.type = (uint8_t)type, .key = ""};
    if (type == JSON_STRING || type == JSON_NUMBER) {
        v->text = type == JSON_STRING ? "" : "0";
        v->n = type == JSON_NUMBER;
    }
    return v;
}

struct json *json_new_text_n(struct arena *a, struct bytes text)
{
    assert(text.n < UINT32_MAX);
    struct json *v = json_new(a, JSON_STRING);
    v->text = arena_text_n(a, text.data, text.n);
    v->n = (uint32_t)text.n;
    return v;
}

struct json *json_new_int64(struct arena *a, int64_t value)
{
    char text[24];
    struct buf digits = {text, 0, sizeof text}; /* 20 characters at most: never grows */
    buf_int64(&digits, value);
    struct json *v = json_new(a, JSON_NUMBER);
    v->text = arena_text_n(a, digits.data, digits.n);
    v->n = (uint32_t)digits.n;
    return v;
}

struct json *json_new_bool(struct arena *a, bool value)
{
    struct json *v = json_new(a, JSON_BOOL);
    v->truth = value;
    return v;
}

static struct json *copy_of(struct arena *a, const struct json *v, bool texts)
{
    struct json *copy = arena_alloc(a, sizeof *copy);
    *copy = *v;
    copy->next = NULL;
    if (texts && (v->type == JSON_STRING || v->type == JSON_NUMBER))
        copy->text = arena_text_n(a, v->text, v->n);
    if (!is_container(v))
        return copy;
    struct json **link = &copy->first;
    copy->first = copy->last = NULL;
    for (const struct json *child = v->first; child; child = child->next) {
        struct json *c = copy_of(a, child, texts);
        if (texts && v->type == JSON_OBJECT)
            c->key = arena_text_n(a, child->key, child->key_n);
        *link = c;
        link = &c->next;
        copy->last = c;
    }
    return copy;
}

static struct json *copy_alone(struct json *copy)
{
    copy->key = "";
    copy->key_n = 0;
    return copy;
}

struct json *json_clone(struct arena *a, const struct json *v)
{
    return v ? copy_alone(copy_of(a, v, true)) : json_new(a, JSON_NULL);
}

struct json *json_copy(struct arena *a, const struct json *v)
{
    return v ? copy_alone(copy_of(a, v, false)) : json_new(a, JSON_NULL);
}

void json_append(struct json *array, struct json *v)
{
    assert(is_container(array));
    v->next = NULL;
    if (array->last)
        array->last->next = v;
    else
        array->first = v;
    array->last = v;
    array->n++;
}

void json_append_member(struct arena *a, struct json *object, struct bytes key, struct json *v)
{
    v->key = arena_text_n(a, key.n ? key.data : "", key.n);
    v->key_n = (uint32_t)key.n;
    json_append(object, v);
}

/* Put `v` where `old` stands. */
static void replace(struct json *container, struct json *old, struct json *v)
{
    struct json **link = &container->first;
    while (*link != old)
        link = &(*link)->next;
    v->next = old->next;
    *link = v;
    if (container->last == old)
        container->last = v;
}

void json_set_n(struct arena *a, struct json *object, struct bytes key, struct json *v)
{
    assert(object);
    if (object->type != JSON_OBJECT) {
        object->type = JSON_OBJECT;
        object->first = object->last = NULL;
        object->n = 0;
    }
    struct json *old = json_get_n(object, key);
    if (old == v)
        return;
    v->key_n = (uint32_t)key.n;
    v->key = arena_text_n(a, key.data, key.n);
    if (old)
        replace(object, old, v);
    else
        json_append(object, v);
}

bool json_remove_item(struct json *array, const struct json *item)
{
    if (!is_container(array) || !item)
        return false;
    struct json **link = &array->first, *before = NULL;
    for (; *link && *link != item; link = &(*link)->next)
        before = *link;
    if (!*link)
        return false;
    *link = item->next;
    if (array->last == item)
        array->last = before;
    array->n--;
    return true;
}

void json_remove_nulls(struct json *v)
{
    struct json *before = NULL;
    for (struct json *child = v->first; child; child = child->next) {
        if (child->type == JSON_NULL && v->type == JSON_OBJECT) {
            *(before ? &before->next : &v->first) = child->next;
            v->last = child->next ? v->last : before;
            v->n--;
            continue;
        }
        before = child;
        if (is_container(child))
            json_remove_nulls(child);
    }
}

void json_insert(struct json *array, size_t index, struct json *v)
{
    assert(is_container(array));
    if (index >= array->n) {
        json_append(array, v);
        return;
    }
    struct json **link = &array->first;
    while (index-- > 0)
        link = &(*link)->next;
    v->next = *link;
    *link = v;
    array->n++;
}

struct json *json_ensure_n(struct arena *a, struct json *object, struct bytes key, enum json_type type)
{
    struct json *v = json_get_n(object, key);
    if (json_is(v, type))
        return v;
    v = json_new(a, type);
    json_set_n(a, object, key, v);
    return v;
}

struct json_extent json_extent(const struct json *v)
{
    struct json_extent all = {1, 0};
    JSON_EACH (child, v) {
        struct json_extent x = child->type < JSON_ARRAY ? (struct json_extent){1, 0} : json_extent(child);
        all.nodes += x.nodes;
        all.depth = x.depth > all.depth ? x.depth : all.depth;
    }
    all.depth += v->type >= JSON_ARRAY;
    return all;
}

static bool numbers_equal(const struct json *a, const struct json *b)
{
    int64_t x, y;
    if (bytes_int64(json_bytes(a), &x) && bytes_int64(json_bytes(b), &y))
        return x == y;
    return bytes_equal(json_bytes(a), json_bytes(b));
}

/* WHY  an index: two large objects in different order must not cost n x n. */
static bool members_equal_indexed(const struct json *a, const struct json *b)
{
    struct map *index = map_new(sizeof(struct json *));
    for (struct json *m = b->first; m; m = m->next)
        *(struct json **)map_put(index, (struct bytes){m->key, m->key_n}, NULL) = m;
    bool equal = true;
    for (const struct json *m = a->first; m && equal; m = m->next) {
        struct json **other = map_find(index, (struct bytes){m->key, m->key_n});
        equal = other && json_equal(m, *other);
    }
    map_free(index);
    return equal;
}

static bool members_equal(const struct json *a, const struct json *b)
{
    const struct json *beside = b->first; /* same order is the common case */
    for (const struct json *m = a->first; m; m = m->next, beside = beside->next) {
        const struct json *other = beside;
        if (m->key_n != other->key_n || !bytes_same(m->key, other->key, m->key_n)) {
            if (a->n > LINEAR_MEMBERS)
                return members_equal_indexed(a, b);
            other = json_get_n(b, (struct bytes){m->key, m->key_n});
        }
        if (!json_equal(m, other))
            return false;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type)
        return false;
    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->truth == b->truth;
    case JSON_NUMBER:
        return numbers_equal(a, b);
    case JSON_STRING:
        return bytes_equal(json_bytes(a), json_bytes(b));
    case JSON_OBJECT:
        return a->n == b->n && members_equal(a, b);
    case JSON_ARRAY:
        break;
    }
    const struct json *x = a->first, *y = b->first;
    for (; x && y && json_equal(x, y); x = x->next)
        y = y->next;
    return a->n == b->n && !x && !y;
}
