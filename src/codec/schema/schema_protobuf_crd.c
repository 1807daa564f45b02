/* schema_protobuf_crd.c - see schema_protobuf_crd.h */
#include "codec/schema/schema_protobuf_crd.h"
#include <stdio.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "wire/protobuf.h"

/* What a field holds. Those with _PTR are written even when they are zero; the others are on the wire, and not meant, when they are. */
enum holds {
    TEXT, TEXT_PTR, TEXT_LIST, BOOL, BOOL_PTR, INT_PTR, DOUBLE_PTR, RAW, RAW_LIST,
    SCHEMA, SCHEMA_LIST, SCHEMA_MAP, SCHEMA_OR_BOOL, SCHEMA_OR_LIST, NAMES_MAP, DOCS, RULE_LIST,
};
struct field {
    uint8_t number;
    enum holds holds;
    const char *name;
};
struct message {
    const struct field *fields;
    size_t n;
};
#define MESSAGE(fields) {fields, sizeof fields / sizeof *fields}

static const struct field schema_fields[] = {
    {1, TEXT, "id"}, {2, TEXT, "$schema"}, {3, TEXT_PTR, "$ref"}, {4, TEXT, "description"}, {5, TEXT, "type"}, {6, TEXT, "format"},
    {7, TEXT, "title"}, {8, RAW, "default"}, {9, DOUBLE_PTR, "maximum"}, {10, BOOL, "exclusiveMaximum"}, {11, DOUBLE_PTR, "minimum"},
    {12, BOOL, "exclusiveMinimum"}, {13, INT_PTR, "maxLength"}, {14, INT_PTR, "minLength"}, {15, TEXT, "pattern"},
    {16, INT_PTR, "maxItems"}, {17, INT_PTR, "minItems"}, {18, BOOL, "uniqueItems"}, {19, DOUBLE_PTR, "multipleOf"},
    {20, RAW_LIST, "enum"}, {21, INT_PTR, "maxProperties"}, {22, INT_PTR, "minProperties"}, {23, TEXT_LIST, "required"},
    {24, SCHEMA_OR_LIST, "items"}, {25, SCHEMA_LIST, "allOf"}, {26, SCHEMA_LIST, "oneOf"}, {27, SCHEMA_LIST, "anyOf"}, {28, SCHEMA, "not"},
    {29, SCHEMA_MAP, "properties"}, {30, SCHEMA_OR_BOOL, "additionalProperties"}, {31, SCHEMA_MAP, "patternProperties"},
    {32, NAMES_MAP, "dependencies"}, {33, SCHEMA_OR_BOOL, "additionalItems"}, {34, SCHEMA_MAP, "definitions"}, {35, DOCS, "externalDocs"},
    {36, RAW, "example"}, {37, BOOL, "nullable"}, {38, BOOL_PTR, "x-kubernetes-preserve-unknown-fields"},
    {39, BOOL, "x-kubernetes-embedded-resource"}, {40, BOOL, "x-kubernetes-int-or-string"}, {41, TEXT_LIST, "x-kubernetes-list-map-keys"},
    {42, TEXT_PTR, "x-kubernetes-list-type"}, {43, TEXT_PTR, "x-kubernetes-map-type"}, {44, RULE_LIST, "x-kubernetes-validations"},
};
static const struct field docs_fields[] = {{1, TEXT, "description"}, {2, TEXT, "url"}};
static const struct field rule_fields[] = {{1, TEXT, "rule"}, {2, TEXT, "message"}, {3, TEXT, "messageExpression"},
                                           {4, TEXT_PTR, "reason"}, {5, TEXT, "fieldPath"}, {6, BOOL_PTR, "optionalOldSelf"}};
static const struct message schema_message = MESSAGE(schema_fields), docs_message = MESSAGE(docs_fields),
                            rule_message = MESSAGE(rule_fields);

struct decode {
    struct arena *arena;
    uint32_t *nodes;
    uint32_t depth_left;
    struct err *e;
};

static int decode_message(struct decode *d, const struct message *m, struct bytes in, struct json **ret);

static int malformed(struct decode *d, const char *what)
{
    return err_set(d->e, E_INVALID, "malformed protobuf body: %s", what);
}

bool schema_protobuf_is_text(struct bytes b)
{
    if (b.n == 0) /* data may be NULL */
        return true;
    const char *end = b.data + b.n;
    for (const char *at = b.data; at < end;) {
        size_t n = utf8_length(at, end);
        if (n == 0 || *at == '\0')
            return false;
        at += n;
    }
    return true;
}

static int node_count(struct decode *d, size_t n)
{
    if (*d->nodes > LIMIT_JSON_NODES || n > LIMIT_JSON_NODES - *d->nodes)
        return err_set(d->e, E_LIMIT, "the protobuf body has more than %u values", LIMIT_JSON_NODES);
    *d->nodes += (uint32_t)n;
    return 0;
}

static int text_decode(struct decode *d, const struct protobuf_field *f, bool keep, struct json **ret)
{
    if (f->type != 2 || !schema_protobuf_is_text(f->bytes))
        return malformed(d, "a string is not UTF-8 or has a NUL");
    if (f->bytes.n || keep)
        *ret = json_new_text_n(d->arena, f->bytes);
    return 0;
}

static int double_decode(struct decode *d, const struct protobuf_field *f, struct json **ret)
{
    double value;
    char text[40];
    memcpy(&value, &f->value, sizeof value);
    if (f->type != 1 || value != value || value - value != 0)
        return malformed(d, "a number is not finite");
    snprintf(text, sizeof text, "%.17g", value);
    *ret = json_new(d->arena, JSON_NUMBER);
    (*ret)->text = arena_text(d->arena, text);
    (*ret)->n = (uint32_t)strlen(text);
    return 0;
}

/* The field of `in` with this number, the last of them. False: there is none. */
static bool field_find(struct bytes in, uint32_t number, struct protobuf_field *ret)
{
    struct protobuf_reader r = protobuf_reader(in);
    struct protobuf_field f;
    bool found = false;
    while (protobuf_next(&r, &f) > 0)
        if (f.number == number) {
            *ret = f;
            found = true;
        }
    return found;
}

/* JSON as bytes inside a message. */
static int raw_decode(struct decode *d, struct bytes in, struct json **ret)
{
    struct protobuf_field f = {0};
    struct err why = {0};
    if (!field_find(in, 1, &f) || f.type != 2 || f.bytes.n == 0)
        return 0;
    *ret = json_parse(d->arena, f.bytes, NULL, &why);
    if (!*ret)
        return err_set(d->e, E_INVALID, "a part of the protobuf body that must be JSON is not (%s)", why.text);
    return node_count(d, json_extent(*ret).nodes);
}

static int items_decode(struct decode *d, struct bytes in, uint32_t number, bool texts, struct json **ret)
{
    struct protobuf_reader r = protobuf_reader(in);
    struct protobuf_field f;
    *ret = json_new(d->arena, JSON_ARRAY);
    int got = 0, done = 0;
    while (done == 0 && (got = protobuf_next(&r, &f)) > 0) {
        struct json *item = NULL;
        if (f.number != number)
            continue;
        done = texts            ? text_decode(d, &f, true, &item)
               : f.type == 2    ? decode_message(d, &schema_message, f.bytes, &item)
                                : malformed(d, "a message is written as a number");
        if (item)
            json_append(*ret, item);
    }
    return got < 0 ? malformed(d, "it ends in the middle of a field") : done;
}

/* {1: schema} or {2: ...}: the schema, or what `other` says. */
static int union_decode(struct decode *d, enum holds holds, struct bytes in, struct json **ret)
{
    struct protobuf_field f = {0};
    uint32_t at = holds == SCHEMA_OR_BOOL ? 2 : 1;
    if (field_find(in, at, &f))
        return f.type == 2 ? decode_message(d, &schema_message, f.bytes, ret) : malformed(d, "a message is written as a number");
    if (holds != SCHEMA_OR_BOOL)
        return items_decode(d, in, 2, holds == NAMES_MAP, ret);
    *ret = json_new_bool(d->arena, field_find(in, 1, &f) && f.value != 0);
    return 0;
}

static void member_append(struct json *object, const char *key, size_t n, struct json *v)
{
    v->key = key;
    v->key_n = (uint32_t)n;
    json_append(object, v);
}

static int entry_decode(struct decode *d, enum holds holds, struct bytes in, struct json *map)
{
    struct protobuf_field key = {0}, value = {0};
    struct json *v = NULL;
    bool named = field_find(in, 1, &key), valued = field_find(in, 2, &value);
    if ((named && (key.type != 2 || !schema_protobuf_is_text(key.bytes))) || (valued && value.type != 2))
        return malformed(d, "an entry of a map has another type than it should have");
    struct bytes body = valued ? value.bytes : (struct bytes){0};
    int r = holds == NAMES_MAP ? union_decode(d, holds, body, &v) : decode_message(d, &schema_message, body, &v);
    if (r == 0)
        member_append(map, arena_text_n(d->arena, named ? key.bytes.data : "", named ? key.bytes.n : 0), named ? key.bytes.n : 0, v);
    return r;
}

static int field_decode(struct decode *d, enum holds holds, const struct protobuf_field *f, struct json **slot)
{
    bool collects = holds == TEXT_LIST || holds == RAW_LIST || holds == SCHEMA_LIST || holds == RULE_LIST;
    struct json *item = NULL;
    int r = node_count(d, 1);
    if (r < 0)
        return r;
    if (holds == BOOL || holds == BOOL_PTR || holds == INT_PTR) {
        if (f->type != 0)
            return malformed(d, "a number has the wire type of another kind of value");
        if (holds != BOOL || f->value)
            *slot = holds == INT_PTR ? json_new_int64(d->arena, (int64_t)f->value) : json_new_bool(d->arena, f->value != 0);
        return 0;
    }
    if (holds == DOUBLE_PTR)
        return double_decode(d, f, slot);
    if (f->type != 2)
        return malformed(d, "a message is written as a number");
    if (collects && !*slot)
        *slot = json_new(d->arena, JSON_ARRAY);
    if ((holds == SCHEMA_MAP || holds == NAMES_MAP) && !*slot)
        *slot = json_new(d->arena, JSON_OBJECT);
    switch (holds) {
    case TEXT:
    case TEXT_PTR:
    case TEXT_LIST:
        r = text_decode(d, f, holds != TEXT, collects ? &item : slot);
        break;
    case RAW:
    case RAW_LIST:
        r = raw_decode(d, f->bytes, collects ? &item : slot);
        break;
    case SCHEMA:
    case SCHEMA_LIST:
        r = decode_message(d, &schema_message, f->bytes, collects ? &item : slot);
        break;
    case RULE_LIST:
        r = decode_message(d, &rule_message, f->bytes, &item);
        break;
    case DOCS:
        r = decode_message(d, &docs_message, f->bytes, slot);
        break;
    case SCHEMA_OR_BOOL:
    case SCHEMA_OR_LIST:
        r = union_decode(d, holds, f->bytes, slot);
        break;
    case SCHEMA_MAP:
    case NAMES_MAP:
        r = entry_decode(d, holds, f->bytes, *slot);
        break;
    case BOOL:
    case BOOL_PTR:
    case INT_PTR:
    case DOUBLE_PTR:
        break; /* above */
    }
    if (item)
        json_append(*slot, item);
    return r;
}

/* Of entries with one key the last counts. */
static void keys_unite(struct json *map)
{
    struct map *seen = map_new(sizeof(struct json *));
    struct json *next, *m = map->first;
    JSON_EACH (member, map)
        *(struct json **)map_put(seen, (struct bytes){member->key, member->key_n}, NULL) = member;
    map->first = map->last = NULL;
    map->n = 0;
    for (; m; m = next) {
        next = m->next;
        if (*(struct json **)map_find(seen, (struct bytes){m->key, m->key_n}) == m)
            json_append(map, m);
    }
    map_free(seen);
}

static const struct field *field_of(const struct message *m, uint32_t number)
{
    return number >= 1 && number <= m->n ? &m->fields[number - 1] : NULL; /* numbers are dense from 1 */
}

static int decode_message(struct decode *d, const struct message *m, struct bytes in, struct json **ret)
{
    struct json *slots[sizeof schema_fields / sizeof *schema_fields] = {0}, *object = json_new(d->arena, JSON_OBJECT);
    struct protobuf_reader r = protobuf_reader(in);
    struct protobuf_field f;
    int got = 0, done = node_count(d, 1);
    if (d->depth_left == 0)
        return err_set(d->e, E_LIMIT, "the protobuf body has too many messages inside each other");
    d->depth_left--;
    while (done == 0 && (got = protobuf_next(&r, &f)) > 0) {
        const struct field *field = field_of(m, f.number);
        if (field)
            done = field_decode(d, field->holds, &f, &slots[f.number - 1]);
    }
    d->depth_left++;
    if (got < 0)
        return malformed(d, "it ends in the middle of a field");
    for (size_t i = 0; done == 0 && i < m->n; i++) {
        if (slots[i] && (m->fields[i].holds == SCHEMA_MAP || m->fields[i].holds == NAMES_MAP))
            keys_unite(slots[i]);
        if (slots[i])
            member_append(object, m->fields[i].name, strlen(m->fields[i].name), slots[i]);
    }
    *ret = object;
    return done;
}

int schema_decode_json_schema(struct arena *a, struct bytes message, uint32_t *nodes, uint32_t depth_max, struct json **ret_schema,
                              struct err *e)
{
    struct decode d = {a, nodes, depth_max, e};
    return decode_message(&d, &schema_message, message, ret_schema);
}
