/* schema_read.c - types of CustomResourceDefinitions, read from their openAPIV3Schema
 *
 * SHAPE  x-kubernetes-int-or-string, -preserve-unknown-fields, -embedded-resource, -list-type, -list-map-keys and -map-type are
 *        understood; rules (CEL) are not evaluated, and what has no type is kept as it is.
 * LIMIT  LIMIT_JSON_DEPTH levels (the parser's); FIELDS_MAX fields of one type.
 */
#include <stdio.h>
#include "codec/schema/schema.h"
#include "codec/schema/schema_checks.h"
#include "codec/schema/schema_path.h"

#define FIELDS_MAX 4096

struct reader {
    struct arena *arena;
    struct err *e;
};

static int read_type(struct reader *r, const struct json *v, const struct schema_path *at, struct schema **ret);

static int refuse(struct reader *r, const struct schema_path *at, const char *problem)
{
    _cleanup_buf_ struct buf path;
    buf_init(&path);
    schema_path_text(&path, at);
    return err_set(r->e, E_INVALID, "%s: %s", path.n ? path.data : "openAPIV3Schema", problem);
}

static struct schema *new_type(struct arena *a, enum schema_form form)
{
    struct schema *s = arena_zero(a, 1, sizeof *s);
    s->name = s->description = "";
    s->form = form;
    s->minimum = INT64_MIN;
    s->maximum = INT64_MAX;
    return s;
}

static const char *const *read_words(struct arena *a, const struct json *list)
{
    if (!json_is(list, JSON_ARRAY) || list->n == 0)
        return NULL;
    const char **words = arena_zero(a, list->n + 1u, sizeof *words);
    uint32_t n = 0;
    JSON_EACH(word, list)
        if (word->type == JSON_STRING)
            words[n++] = arena_text_n(a, word->text, word->n);
    return n ? words : NULL;
}

static bool is_listed(const struct json *list, const char *word)
{
    JSON_EACH(item, list)
        if (text_equal(json_text(item, NULL), word))
            return true;
    return false;
}

static char *literal_of(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    json_write(&text, v);
    return arena_text_n(a, text.data, text.n);
}

static int compare_fields(const void *a, const void *b)
{
    const struct schema_field *x = a, *y = b;
    return bytes_compare((struct bytes){x->name, x->name_n}, (struct bytes){y->name, y->name_n});
}

static int read_field(struct reader *r, const struct json *property, const struct json *required, const struct schema_path *at,
                      struct schema_field *f)
{
    struct schema *type;
    int code = read_type(r, property, at, &type);
    if (code < 0)
        return code;
    if (property->key_n == 0 || property->key_n > UINT8_MAX)
        return refuse(r, at, "the name of a field must have 1 to 255 bytes");
    const struct json *fallback = json_get(property, "default");
    *f = (struct schema_field){.name = arena_text_n(r->arena, property->key, property->key_n), .name_n = (uint8_t)property->key_n};
    f->prefix = schema_prefix((struct bytes){f->name, f->name_n});
    f->type = type;
    f->description = type->description;
    f->default_json = fallback && fallback->type != JSON_NULL ? literal_of(r->arena, fallback) : NULL;
    f->values = type->form == SCHEMA_STRING ? read_words(r->arena, json_get(property, "enum")) : NULL;
    f->required = is_listed(required, property->key);
    return 0;
}

static int read_object(struct reader *r, const struct json *v, const struct json *properties, const struct schema_path *at,
                       struct schema **ret)
{
    struct schema *s = new_type(r->arena, SCHEMA_OBJECT);
    s->keep_unknown = json_get_bool(v, "x-kubernetes-preserve-unknown-fields", false) ||
                      json_get_bool(v, "x-kubernetes-embedded-resource", false);
    if (properties && properties->type != JSON_OBJECT)
        return refuse(r, at, "properties must be an object");
    if (properties && properties->n > FIELDS_MAX)
        return refuse(r, at, "more than 4096 properties");
    struct schema_field *fields = arena_zero(r->arena, properties ? properties->n + 1u : 1, sizeof *fields);
    JSON_EACH(property, properties) {
        struct schema_path here = {at, property->key, 0};
        int code = read_field(r, property, json_get(v, "required"), &here, &fields[s->fields_n]);
        if (code < 0)
            return code;
        const struct schema_field *f = &fields[s->fields_n++];
        s->defaults_below = s->defaults_below || f->default_json || f->type->defaults_below;
    }
    qsort(fields, s->fields_n, sizeof *fields, compare_fields);
    s->fields = fields;
    s->atomic = text_equal(json_get_text(v, "x-kubernetes-map-type", NULL), "atomic");
    *ret = s;
    return 0;
}

static int read_object_or_map(struct reader *r, const struct json *v, const struct schema_path *at, struct schema **ret)
{
    const struct json *properties = json_get(v, "properties"), *values = json_get(v, "additionalProperties");
    struct schema_path here = {at, "*", 0};
    struct schema *item;
    if (properties || !values || json_get_bool(v, "x-kubernetes-preserve-unknown-fields", false))
        return read_object(r, v, properties, at, ret);
    if (values->type == JSON_BOOL) {
        item = new_type(r->arena, SCHEMA_RAW);
    } else {
        int code = read_type(r, values, &here, &item);
        if (code < 0)
            return code;
    }
    *ret = new_type(r->arena, SCHEMA_MAP);
    (*ret)->item = item;
    (*ret)->defaults_below = item->defaults_below;
    (*ret)->atomic = text_equal(json_get_text(v, "x-kubernetes-map-type", NULL), "atomic");
    return 0;
}

static int read_list(struct reader *r, const struct json *v, const struct schema_path *at, struct schema **ret)
{
    const struct json *items = json_get(v, "items");
    struct schema_path here = {at, NULL, 0};
    struct schema *item;
    if (!items)
        return refuse(r, at, "a list needs items");
    int code = read_type(r, items, &here, &item);
    if (code < 0)
        return code;
    struct schema *s = new_type(r->arena, SCHEMA_LIST);
    s->item = item;
    s->defaults_below = item->defaults_below;
    const char *how = json_get_text(v, "x-kubernetes-list-type", "atomic");
    s->list_keys = read_words(r->arena, json_get(v, "x-kubernetes-list-map-keys"));
    if (strcmp(how, "map") == 0 && !s->list_keys)
        return refuse(r, at, "x-kubernetes-list-type map needs x-kubernetes-list-map-keys");
    s->list = strcmp(how, "map") == 0 ? SCHEMA_LIST_MAP : strcmp(how, "set") == 0 ? SCHEMA_LIST_SET : SCHEMA_LIST_ATOMIC;
    *ret = s;
    return 0;
}

static int read_integer(struct reader *r, const struct json *v, struct schema **ret)
{
    struct schema *s = new_type(r->arena, text_equal(json_get_text(v, "format", NULL), "int32") ? SCHEMA_INT32 : SCHEMA_INT64);
    s->minimum = json_get_int64(v, "minimum", INT64_MIN);
    s->maximum = json_get_int64(v, "maximum", INT64_MAX);
    if (json_get_bool(v, "exclusiveMinimum", false) && s->minimum != INT64_MIN && s->minimum != INT64_MAX)
        s->minimum++;
    if (json_get_bool(v, "exclusiveMaximum", false) && s->maximum != INT64_MAX && s->maximum != INT64_MIN)
        s->maximum--;
    *ret = s;
    return 0;
}

static enum schema_form string_form(const struct json *v)
{
    const char *format = json_get_text(v, "format", "");
    if (strcmp(format, "date-time") == 0)
        return SCHEMA_TIME;
    return strcmp(format, "byte") == 0 ? SCHEMA_BYTES : SCHEMA_STRING;
}

static int read_by_type(struct reader *r, const struct json *v, const char *type, const struct schema_path *at, struct schema **ret)
{
    if (strcmp(type, "object") == 0)
        return read_object_or_map(r, v, at, ret);
    if (strcmp(type, "array") == 0)
        return read_list(r, v, at, ret);
    if (strcmp(type, "integer") == 0)
        return read_integer(r, v, ret);
    if (strcmp(type, "string") == 0)
        *ret = new_type(r->arena, string_form(v));
    else if (strcmp(type, "number") == 0)
        *ret = new_type(r->arena, SCHEMA_DOUBLE);
    else if (strcmp(type, "boolean") == 0)
        *ret = new_type(r->arena, SCHEMA_BOOL);
    else
        return refuse(r, at, "type must be one of object, array, string, integer, number, boolean");
    return 0;
}

static int read_type(struct reader *r, const struct json *v, const struct schema_path *at, struct schema **ret)
{
    if (!json_is(v, JSON_OBJECT))
        return refuse(r, at, "a schema must be an object");
    const char *type = json_get_text(v, "type", "");
    int code = 0;
    if (json_get_bool(v, "x-kubernetes-int-or-string", false))
        *ret = new_type(r->arena, SCHEMA_INT_OR_STRING);
    else if (type[0] == 0)
        *ret = new_type(r->arena, SCHEMA_RAW);
    else
        code = read_by_type(r, v, type, at, ret);
    if (code < 0)
        return code;
    (*ret)->description = arena_text(r->arena, json_get_text(v, "description", ""));
    (*ret)->checks = schema_checks_read(r->arena, v);
    return 0;
}

/* apiVersion, kind and metadata are what they are in every kind, whatever the schema says of them. */
static void set_root_fields(struct reader *r, struct schema *s)
{
    static const char *const names[] = {"apiVersion", "kind", "metadata"};
    const struct schema *model = schema_of("", "v1", "ConfigMap");
    struct schema_field *fields = arena_zero(r->arena, s->fields_n + 3u, sizeof *fields);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (strcmp(f->name, names[0]) != 0 && strcmp(f->name, names[1]) != 0 && strcmp(f->name, names[2]) != 0)
            fields[n++] = *f;
    }
    for (size_t i = 0; i < 3; i++) {
        fields[n] = *schema_field_find(model, bytes_of(names[i]));
        fields[n++].proto_number = 0;
    }
    qsort(fields, n, sizeof *fields, compare_fields);
    s->fields = fields;
    s->fields_n = n;
}

int schema_from_openapi(struct arena *a, const struct json *open_api_v3_schema, const char *name, const struct schema **ret_schema,
                        struct err *e)
{
    struct reader r = {a, e};
    struct schema_path root = {0};
    struct schema *s;
    int code = read_type(&r, open_api_v3_schema, &root, &s);
    if (code < 0)
        return code;
    if (s->form != SCHEMA_OBJECT)
        return refuse(&r, &root, "the type of the whole object must be object");
    set_root_fields(&r, s);
    s->name = arena_text(a, name);
    *ret_schema = s;
    return 0;
}
