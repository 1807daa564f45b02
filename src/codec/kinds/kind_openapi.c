/* kind_openapi.c - the OpenAPI v3 document of one group-version
 *
 * SHAPE  paths say what kubectl looks for: which operations a kind has, and that PATCH knows dryRun and fieldValidation (kubectl then
 *        leaves validation to the server); components are the types.
 * SOURCE what kubectl 1.24 to 1.33 look up in it.
 */
#include "codec/kinds/kind.h"
#include "codec/schema/schema_openapi.h"

#define QUERY(name) "{\"name\":\"" name "\",\"in\":\"query\",\"schema\":{\"type\":\"string\",\"uniqueItems\":true}}"

struct operation {
    const char *method, *action;
    bool writes; /* takes dryRun, fieldManager, fieldValidation */
};
static const struct operation collection_all[] = {{"get", "list", false}, {"post", "post", true}, {"delete", "deletecollection", true}};
static const struct operation collection_read[] = {{"get", "list", false}};
static const struct operation collection_create[] = {{"post", "post", true}};
static const struct operation item_all[] = {
    {"get", "get", false}, {"put", "put", true}, {"patch", "patch", true}, {"delete", "delete", true}};
static const struct operation item_read[] = {{"get", "get", false}};
static const struct operation item_update[] = {{"get", "get", false}, {"put", "put", true}, {"patch", "patch", true}};
#define COUNT(array) (sizeof(array) / sizeof *(array))

struct document {
    struct buf *out;
    const struct kind *kind;
    const char *version;
    bool comma;
};

static void write_operation(struct document *d, const struct operation *o, const char *group, const char *version, const char *kind)
{
    buf_printf(d->out, "\"%s\":{\"x-kubernetes-action\":\"%s\",\"x-kubernetes-group-version-kind\":{\"group\":\"%s\",\"version\":\"%s\","
                       "\"kind\":\"%s\"},", o->method, o->action, group, version, kind);
    if (o->writes)
        buf_text(d->out, "\"parameters\":[" QUERY("dryRun") "," QUERY("fieldManager") "," QUERY("fieldValidation") "],");
    buf_text(d->out, "\"responses\":{}}");
}

static void write_path(struct document *d, bool namespaced, const char *tail, const struct operation *operations, size_t n)
{
    const struct kind *k = d->kind;
    bool scale = strcmp(tail, "/{name}/scale") == 0;
    buf_text(d->out, d->comma ? "," : "");
    d->comma = true;
    buf_printf(d->out, "\"/%s%s/%s%s%s%s\":{", k->group[0] ? "apis/" : "api", k->group, d->version,
               namespaced ? "/namespaces/{namespace}/" : "/", k->plural, tail);
    for (size_t i = 0; i < n; i++) {
        buf_text(d->out, i ? "," : "");
        write_operation(d, &operations[i], scale ? "autoscaling" : k->group, scale ? "v1" : d->version, scale ? "Scale" : k->kind);
    }
    buf_char(d->out, '}');
}

static void write_paths(struct document *d)
{
    uint32_t flags = d->kind->flags;
    bool namespaced = (flags & KIND_NAMESPACED) != 0;
    if (flags & KIND_PARENT)
        return;
    if (flags & KIND_REVIEW) {
        write_path(d, namespaced, "", collection_create, COUNT(collection_create));
        return;
    }
    bool read_only = (flags & KIND_READ_ONLY) != 0;
    if (namespaced)
        write_path(d, false, "", collection_read, COUNT(collection_read));
    write_path(d, namespaced, "", read_only ? collection_read : collection_all, read_only ? COUNT(collection_read) : COUNT(collection_all));
    write_path(d, namespaced, "/{name}", read_only ? item_read : item_all, read_only ? COUNT(item_read) : COUNT(item_all));
    if (flags & KIND_STATUS)
        write_path(d, namespaced, "/{name}/status", item_update, COUNT(item_update));
    if (flags & KIND_SCALE)
        write_path(d, namespaced, "/{name}/scale", item_update, COUNT(item_update));
}

void kind_openapi(const struct kind_table *t, const char *group, const char *version, struct buf *out)
{
    struct document d = {.out = out, .version = version};
    struct schema_openapi x;
    buf_text(out, "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Capstan\",\"version\":\"" CAPSTAN_VERSION "\"},\"paths\":{");
    for (uint32_t i = 0; (d.kind = kind_at(t, i)); i++) {
        const struct kind_version *v = strcmp(d.kind->group, group) == 0 ? kind_version_find(d.kind, version) : NULL;
        if (v && v->served)
            write_paths(&d);
    }
    buf_text(out, "},\"components\":{\"schemas\":{");
    schema_openapi_begin(&x, out);
    for (uint32_t i = 0; (d.kind = kind_at(t, i)); i++) {
        const struct kind_version *v = strcmp(d.kind->group, group) == 0 ? kind_version_find(d.kind, version) : NULL;
        if (v && v->served)
            schema_openapi_kind(&x, v->schema, group, version, d.kind->kind);
    }
    schema_openapi_end(&x);
    buf_text(out, "}}}");
}
