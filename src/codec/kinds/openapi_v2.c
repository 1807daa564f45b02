#include "codec/kinds/openapi_v2.h"

#include "base/collections/map.h"
#include "codec/schema/schema_openapi.h"

#define META_REF "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

/* ---- custom kinds: the schema as its author wrote it, without what v2 or kubectl cannot read ---- */

static void required_remove(struct json *schema, const char *name)
{
    struct json *list = json_get(schema, "required");
    for (struct json *item = json_first(list), *next; item; item = next) {
        next = item->next;
        if (text_equal(json_text(item, ""), name))
            (void)json_remove_item(list, item);
    }
    if (list && !list->n)
        (void)json_remove(schema, "required");
}

/* WHY  kubectl refuses null where a type is said, and lists without items, and takes unknown members only of what has no type. */
static void lower_one(struct json *schema)
{
    static const char *const dropped[] = {"allOf", "oneOf", "anyOf", "not", "x-kubernetes-validations"};
    bool nullable = json_get_bool(schema, "nullable", false), open = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false);
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        (void)json_remove(schema, dropped[i]);
    (void)json_remove(schema, "nullable");
    if (nullable || open) {
        (void)json_remove(schema, "items");
        (void)json_remove(schema, "properties");
    }
    const char *type = json_get_text(schema, "type", "");
    if (nullable || (!json_get(schema, "items") && text_equal(type, "array")) || (open && text_equal(type, "object")))
        (void)json_remove(schema, "type");
}

static void lower(struct json *schema)
{
    if (!json_is(schema, JSON_OBJECT))
        return;
    JSON_EACH (property, json_get(schema, "properties"))
        if (json_get_bool(property, "nullable", false))
            required_remove(schema, property->key);
    lower_one(schema);
    JSON_EACH (property, json_get(schema, "properties"))
        lower(property);
    lower(json_get(schema, "items"));
    lower(json_get(schema, "additionalProperties"));
}

static void property_set(struct arena *a, struct json *schema, const char *name, const char *key, const char *value,
                         const char *description)
{
    struct json *property = json_new(a, JSON_OBJECT);
    json_set_text(a, property, "description", description);
    json_set_text(a, property, key, value);
    json_set(a, json_ensure_object(a, schema, "properties"), name, property);
}

static const struct json *schema_of_version(const struct json *definition, const char *version)
{
    JSON_EACH (v, json_path(definition, "spec", "versions", NULL))
        if (text_equal(json_get_text(v, "name", ""), version))
            return json_path(v, "schema", "openAPIV3Schema", NULL);
    return NULL;
}

static struct json *custom_schema(struct arena *a, const struct json *definition, const char *version)
{
    const struct json *given = schema_of_version(definition, version);
    struct json *schema = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_new(a, JSON_OBJECT);
    if (!schema->n || json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false) ||
        json_get_bool(json_get(definition, "spec"), "preserveUnknownFields", false)) {
        schema = json_new(a, JSON_OBJECT); /* with any member it would be closed */
        json_set_text(a, schema, "type", "object");
        return schema;
    }
    lower(schema);
    property_set(a, schema, "apiVersion", "type", "string", "APIVersion defines the group and version that the object is written in, such as v1 or batch/v1.");
    property_set(a, schema, "kind", "type", "string", "Kind, in CamelCase.");
    property_set(a, schema, "metadata", "$ref", META_REF, "Standard object's metadata: name, labels and what else every object has.");
    return schema;
}

static void write_custom(struct schema_openapi *x, struct arena *a, const struct kind *k, const struct kind_version *v,
                         const struct json *definition)
{
    struct json *schema = custom_schema(a, definition, v->version), *kinds = json_new(a, JSON_ARRAY), *one = json_new(a, JSON_OBJECT);
    json_set_text(a, one, "group", k->group);
    json_set_text(a, one, "version", v->version);
    json_set_text(a, one, "kind", k->kind);
    json_append(kinds, one);
    json_set(a, schema, "x-kubernetes-group-version-kind", kinds);
    buf_text(x->out, x->comma ? "," : "");
    x->comma = true;
    json_write_string(x->out, bytes_of(v->schema->name));
    buf_char(x->out, ':');
    json_write(x->out, schema);
}

/* ---- the document ---- */

static void write_path(struct buf *out, const struct kind *k, const char *version, bool *comma)
{
    static const char *const parameters[] = {"dryRun", "fieldManager", "fieldValidation", "force"};
    if (k->flags & (KIND_REVIEW | KIND_READ_ONLY))
        return;
    buf_printf(out, "%s\"/%s%s/%s%s/%s/{name}\":{\"patch\":{\"parameters\":[", *comma ? "," : "", *k->group ? "apis/" : "api", k->group,
               version, k->flags & KIND_NAMESPACED ? "/namespaces/{namespace}" : "", k->plural);
    *comma = true;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        buf_printf(out, "%s{\"name\":\"%s\",\"in\":\"query\",\"type\":\"%s\"}", i ? "," : "", parameters[i],
                   text_equal(parameters[i], "force") ? "boolean" : "string");
    buf_printf(out,
               "],\"responses\":{\"200\":{\"description\":\"OK\"}},\"x-kubernetes-action\":\"patch\","
               "\"x-kubernetes-group-version-kind\":{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}}}",
               k->group, version, k->kind);
}

void openapi_v2(const struct kind_table *t, struct arena *a, const struct json *(*definition_of)(void *ctx, const struct kind *k),
                void *ctx, struct buf *out)
{
    bool comma = false;
    const struct kind *k;
    struct schema_openapi x;
    buf_text(out, "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Capstan\",\"version\":\"" CAPSTAN_VERSION "\"},\"paths\":{");
    for (uint32_t i = 0; (k = kind_at(t, i)); i++)
        for (uint32_t j = 0; j < k->versions_n; j++)
            if (k->versions[j].served)
                write_path(out, k, k->versions[j].version, &comma);
    buf_text(out, "},\"definitions\":{");
    schema_openapi_begin(&x, out);
    x.v2 = true;
    for (uint32_t i = 0; (k = kind_at(t, i)); i++) {
        const struct json *definition = definition_of(ctx, k);
        for (uint32_t j = 0; j < k->versions_n; j++) {
            const struct kind_version *v = &k->versions[j];
            if (v->served && definition)
                write_custom(&x, a, k, v, definition);
            else if (v->served)
                schema_openapi_kind(&x, v->schema, k->group, v->version, k->kind);
        }
    }
    schema_openapi_end(&x);
    buf_text(out, "}}");
}
