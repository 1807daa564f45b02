/* openapi_v2_protobuf.c - the OpenAPI v2 document as gnostic's message openapi.v2.Document
 *
 * SHAPE  Document: 1 swagger, 2 info {1 title, 2 version}, 8 paths {2 path {1 name, 2 item {7 patch}}}, 9 definitions {1 {1 name, 2
 *        Schema}}. Any (enum values, defaults, extensions): 2 yaml. JSON is YAML, so it is written as it stands.
 * SOURCE gnostic openapiv2/OpenAPIv2.proto, field numbers.
 */
#include "codec/kinds/openapi_v2.h"
#include "wire/protobuf.h"

enum { DOCUMENT_SWAGGER = 1, DOCUMENT_INFO = 2, DOCUMENT_PATHS = 8, DOCUMENT_DEFINITIONS = 9 };
enum { PATHS_PATH = 2, PATH_ITEM_PATCH = 7, OPERATION_PARAMETERS = 8, OPERATION_RESPONSES = 9, OPERATION_EXTENSION = 13 };
enum {
    SCHEMA_REF = 1,
    SCHEMA_FORMAT = 2,
    SCHEMA_TITLE = 3,
    SCHEMA_DESCRIPTION = 4,
    SCHEMA_DEFAULT = 5,
    SCHEMA_PATTERN = 13,
    SCHEMA_REQUIRED = 19,
    SCHEMA_ENUM = 20,
    SCHEMA_ADDITIONAL = 21,
    SCHEMA_TYPE = 22,
    SCHEMA_ITEMS = 23,
    SCHEMA_PROPERTIES = 25,
    SCHEMA_EXTENSION = 31
};

static void write_any(struct buf *out, uint32_t number, const struct json *v)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, v);
    size_t any = protobuf_begin(out, number);
    protobuf_text(out, 2, text.data);
    protobuf_end(out, any);
}

static void write_extensions(struct buf *out, uint32_t number, const struct json *of)
{
    JSON_EACH (member, of) {
        if (!text_starts(member->key, "x-"))
            continue;
        size_t named = protobuf_begin(out, number);
        protobuf_text(out, 1, member->key);
        write_any(out, 2, member);
        protobuf_end(out, named);
    }
}

static void write_schema(struct buf *out, const struct json *schema);

/* {name: schema} as repeated NamedSchema. */
static void write_named(struct buf *out, uint32_t number, const struct json *map)
{
    JSON_EACH (member, map) {
        size_t named = protobuf_begin(out, number), value;
        protobuf_text(out, 1, member->key);
        value = protobuf_begin(out, 2);
        write_schema(out, member);
        protobuf_end(out, value);
        protobuf_end(out, named);
    }
}

static void write_texts(struct buf *out, const struct json *schema)
{
    static const struct {
        const char *key;
        uint32_t number;
    } texts[] = {{"$ref", SCHEMA_REF}, {"format", SCHEMA_FORMAT}, {"title", SCHEMA_TITLE}, {"description", SCHEMA_DESCRIPTION},
                 {"pattern", SCHEMA_PATTERN}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        protobuf_text(out, texts[i].number, json_get_text(schema, texts[i].key, ""));
    JSON_EACH (name, json_get(schema, "required"))
        protobuf_text_always(out, SCHEMA_REQUIRED, json_text(name, ""));
    JSON_EACH (value, json_get(schema, "enum"))
        write_any(out, SCHEMA_ENUM, value);
    if (json_get(schema, "default"))
        write_any(out, SCHEMA_DEFAULT, json_get(schema, "default"));
}

static void write_schema(struct buf *out, const struct json *schema)
{
    const struct json *type = json_get(schema, "type"), *items = json_get(schema, "items"), *properties = json_get(schema, "properties"),
                      *additional = json_get(schema, "additionalProperties");
    size_t outer, inner;
    write_texts(out, schema);
    if (json_is(additional, JSON_OBJECT)) {
        outer = protobuf_begin(out, SCHEMA_ADDITIONAL);
        inner = protobuf_begin(out, 1);
        write_schema(out, additional);
        protobuf_end(out, inner);
        protobuf_end(out, outer);
    }
    if (json_is(type, JSON_STRING)) {
        outer = protobuf_begin(out, SCHEMA_TYPE);
        protobuf_text_always(out, 1, json_text(type, ""));
        protobuf_end(out, outer);
    }
    if (json_is(items, JSON_OBJECT)) {
        outer = protobuf_begin(out, SCHEMA_ITEMS);
        inner = protobuf_begin(out, 1);
        write_schema(out, items);
        protobuf_end(out, inner);
        protobuf_end(out, outer);
    }
    if (properties) {
        outer = protobuf_begin(out, SCHEMA_PROPERTIES);
        write_named(out, 1, properties);
        protobuf_end(out, outer);
    }
    write_extensions(out, SCHEMA_EXTENSION, schema);
}

/* ParametersItem {1 Parameter {2 NonBodyParameter {3 QueryParameterSubSchema {2 in, 4 name, 6 type}}}} */
static void write_parameter(struct buf *out, const struct json *parameter)
{
    static const uint32_t numbers[] = {OPERATION_PARAMETERS, 1, 2, 3};
    size_t marks[4];
    for (int i = 0; i < 4; i++)
        marks[i] = protobuf_begin(out, numbers[i]);
    protobuf_text(out, 2, json_get_text(parameter, "in", ""));
    protobuf_text(out, 4, json_get_text(parameter, "name", ""));
    protobuf_text(out, 6, json_get_text(parameter, "type", ""));
    for (int i = 3; i >= 0; i--)
        protobuf_end(out, marks[i]);
}

static void write_path(struct buf *out, const struct json *path)
{
    const struct json *patch = json_get(path, "patch");
    size_t named = protobuf_begin(out, PATHS_PATH), item, operation;
    protobuf_text(out, 1, path->key);
    item = protobuf_begin(out, 2);
    operation = protobuf_begin(out, PATH_ITEM_PATCH);
    JSON_EACH (parameter, json_get(patch, "parameters"))
        write_parameter(out, parameter);
    protobuf_end(out, protobuf_begin(out, OPERATION_RESPONSES));
    write_extensions(out, OPERATION_EXTENSION, patch);
    protobuf_end(out, operation);
    protobuf_end(out, item);
    protobuf_end(out, named);
}

void openapi_v2_protobuf(const struct json *document, struct buf *out)
{
    const struct json *info = json_get(document, "info");
    size_t mark;
    protobuf_text(out, DOCUMENT_SWAGGER, json_get_text(document, "swagger", ""));
    mark = protobuf_begin(out, DOCUMENT_INFO);
    protobuf_text(out, 1, json_get_text(info, "title", ""));
    protobuf_text(out, 2, json_get_text(info, "version", ""));
    protobuf_end(out, mark);
    mark = protobuf_begin(out, DOCUMENT_PATHS);
    JSON_EACH (path, json_get(document, "paths"))
        write_path(out, path);
    protobuf_end(out, mark);
    mark = protobuf_begin(out, DOCUMENT_DEFINITIONS);
    write_named(out, 1, json_get(document, "definitions"));
    protobuf_end(out, mark);
}
