#include "apiserver/apply/object_write.h"

#include <stdio.h>

#include "apiserver/serve/accept.h"
#include "base/limits.h"
#include "base/log.h"
#include "wire/json_reader.h"
#include "wire/yaml.h"

const char *object_api_version(struct arena *a, const struct kind *k, const char *version)
{
    return *k->group ? arena_printf(a, "%s/%s", k->group, version) : version;
}

/* Member by member: what cannot be read is left out, and of an object only as little as possible. */
static struct json *parse_members(struct arena *a, struct bytes text, int levels)
{
    struct json_reader r;
    struct bytes key;
    struct json *object = json_new(a, JSON_OBJECT);
    json_reader_init(&r, text);
    if (!json_reader_object(&r))
        return object;
    while (json_reader_key(&r, &key)) {
        const char *name = arena_text_n(a, key.data, key.n);
        struct bytes value = json_reader_raw(&r);
        struct json *v = json_parse(a, value, NULL, NULL);
        if (!v && levels > 0 && value.n && *value.data == '{')
            v = parse_members(a, value, levels - 1);
        if (v)
            json_set(a, object, name, v);
    }
    return object;
}

struct json *object_parse(struct arena *a, const struct blob *body)
{
    struct bytes text = {body->data, body->n};
    struct err e = {0};
    struct json *object = json_parse(a, text, NULL, &e);
    if (!object)
        object = parse_members(a, text, 2);
    struct json *metadata = json_ensure_object(a, object, "metadata");
    if (e.code)
        log_warning("a stored object is shown in part only name=\"%s\" error=\"%s\"", json_get_text(metadata, "name", ""), e.text);
    return object;
}

bool object_terminating(const struct json *object)
{
    return json_is(json_path(object, "metadata", "deletionTimestamp", NULL), JSON_STRING);
}

bool object_defaults_late(const struct kind *k, const char *version)
{
    const struct kind_version *v = kind_version_find(k, version);
    return !kind_is_built_in(k) && v && v->schema && v->schema->defaults_below;
}

void object_show(struct arena *a, const struct kind *k, struct json *object, const char *version)
{
    kind_convert(a, k, object, version);
    if (object_defaults_late(k, version))
        schema_default(a, kind_version_find(k, version)->schema, object);
}

struct json *object_read(struct apiserver *s, struct arena *a, const struct kind *k, const char *ns, const char *name)
{
    const struct store_object *o = store_get(s->store, store_kind(s->store, k->group, k->plural), ns, name);
    const char *storage = k->versions[k->storage].version;
    struct json *object = o ? object_parse(a, o->body) : NULL;
    if (object && object_defaults_late(k, storage))
        schema_default(a, kind_version_find(k, storage)->schema, object);
    return object;
}

struct json *object_read_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural,
                                const char *ns, const char *name)
{
    const struct kind *k = kind_find(s->kinds, group, plural);
    return k ? object_read(s, a, k, k->flags & KIND_NAMESPACED ? ns : "", name) : NULL;
}

struct json *object_list_plural(struct apiserver *s, struct arena *a, const char *group, const char *plural, const char *ns)
{
    uint32_t kind = store_kind(s->store, group, plural);
    if (!store_count(s->store, kind)) /* most clusters have none of what is asked for */
        return NULL;
    struct json *all = json_new(a, JSON_ARRAY);
    struct store_cursor *c = store_list(s->store, kind, ns, NULL);
    for (const struct store_object *o; (o = store_list_next(c));)
        json_append(all, object_parse(a, o->body));
    store_list_free(c);
    return all->n ? all : NULL;
}

const struct kind *object_kind(struct apiserver *s, uint32_t kind_id)
{
    for (uint32_t i = 0; i < kind_count(s->kinds); i++) {
        const struct kind *k = kind_at(s->kinds, i);
        if (!(k->flags & (KIND_REVIEW | KIND_READ_ONLY)) && store_kind(s->store, k->group, k->plural) == kind_id)
            return k;
    }
    return NULL;
}

struct json *object_ordered(struct arena *a, struct json *object, const char *api_version, const char *kind)
{
    json_remove(object, "apiVersion");
    json_remove(object, "kind");
    struct json *metadata = json_get(object, "metadata");
    if (metadata)
        json_remove(object, "metadata");
    if (!json_is(metadata, JSON_OBJECT))
        metadata = json_new(a, JSON_OBJECT);
    struct json *out = json_new(a, JSON_OBJECT);
    json_set_text(a, out, "kind", kind);
    json_set_text(a, out, "apiVersion", api_version);
    metadata->next = NULL;
    json_set(a, out, "metadata", metadata);
    for (struct json *v = object->first, *next; v; v = next) {
        next = v->next;
        const char *key = v->key;
        v->next = NULL;
        json_set(a, out, key, v);
    }
    return out;
}

/* ---- bodies in ---- */

static bool media_is(const char *content_type, const char *media)
{
    size_t n = strlen(media);
    return strncmp(content_type, media, n) == 0 &&
           (content_type[n] == 0 || content_type[n] == ';' || content_type[n] == ' ');
}

static void parse_failed(struct http_exchange *x, const struct request_info *ri, const struct err *e)
{
    if (e->code == E_LIMIT)
        status_reply(x, 413, "RequestEntityTooLarge", ri, NULL, "the body is too large or nested too deep: %s",
                     e->text);
    else
        status_reply(x, 400, "BadRequest", ri, NULL, "the body cannot be read: %s", e->text);
}

bool object_parse_text(struct http_exchange *x, const struct request_info *ri, bool yaml, struct json **ret_object,
                       struct json_parse_info *ret_info)
{
    struct arena *a = x->request.arena;
    struct err e = {0};
    struct json *object;
    if (yaml) {
        struct json *docs = NULL;
        if (yaml_parse(a, x->request.body, &docs, ret_info, &e) < 0) {
            parse_failed(x, ri, &e);
            return false;
        }
        if (docs->n != 1) {
            status_reply(x, 400, "BadRequest", ri, NULL, "the body must hold one YAML document, it holds %u", docs->n);
            return false;
        }
        object = docs->first;
        object->next = NULL;
    } else {
        object = json_parse(a, x->request.body, ret_info, &e);
        if (!object) {
            parse_failed(x, ri, &e);
            return false;
        }
    }
    *ret_object = object;
    return true;
}

static bool protobuf_read(struct http_exchange *x, const struct request_info *ri, struct json **ret_object)
{
    struct err e = {0};
    int r = schema_decode_protobuf(x->request.arena, x->request.body, ret_object, &e);
    if (r == 0)
        return true;
    if (r == -E_NOTFOUND)
        status_reply(x, 415, "UnsupportedMediaType", ri, NULL,
                     "this kind is not known in protobuf form (%s): use kubectl create ... --dry-run=client -o yaml | "
                     "kubectl apply -f -",
                     e.text);
    else
        parse_failed(x, ri, &e);
    return false;
}

static bool decode_by_type(struct http_exchange *x, const struct request_info *ri, struct json **ret_object,
                           struct json_parse_info *info)
{
    const struct http_request *r = &x->request;
    const char *type = http_header(r, "content-type");
    if (!type || !*type)
        type = r->body.n >= 4 && memcmp(r->body.data, "k8s", 4) == 0 ? "application/vnd.kubernetes.protobuf"
                                                                     : "application/json";
    if (media_is(type, "application/vnd.kubernetes.protobuf"))
        return protobuf_read(x, ri, ret_object);
    if (media_is(type, "application/yaml"))
        return object_parse_text(x, ri, true, ret_object, info);
    if (media_is(type, "application/json"))
        return object_parse_text(x, ri, false, ret_object, info);
    status_reply(x, 415, "UnsupportedMediaType", ri, NULL,
                 "the body of the request was in an unknown format - accepted media types include: application/json, "
                 "application/yaml, "
                 "application/vnd.kubernetes.protobuf");
    return false;
}

/* apiVersion and kind of the body must be those of the URL, when they are there at all. */
static bool type_check(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
                       const struct json *object)
{
    const char *want = object_api_version(x->request.arena, expect, ri->version);
    const char *api_version = json_get_text(object, "apiVersion", ""), *kind = json_get_text(object, "kind", "");
    if (*kind && strcmp(kind, expect->kind) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL, "%.100s in version \"%.100s\" cannot be handled as a %s", kind,
                     *api_version ? api_version : ri->version, expect->kind);
        return false;
    }
    if (*api_version && strcmp(api_version, want) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the API version in the data (%.100s) does not match the expected API version (%s)", api_version,
                     want);
        return false;
    }
    return true;
}

bool object_read_body_info(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
                           struct json **ret_object, struct json_parse_info *ret_info)
{
    struct json *object = NULL;
    *ret_info = (struct json_parse_info){0};
    if (x->request.body.n > LIMIT_BODY_BYTES) {
        status_reply(x, 413, "RequestEntityTooLarge", ri, NULL, "Request entity too large: limit is %u",
                     LIMIT_BODY_BYTES);
        return false;
    }
    if (x->request.body.n == 0) {
        if (expect)
            status_reply(x, 400, "BadRequest", ri, NULL,
                         "the request has no body: send the %s as JSON, YAML or protobuf", expect->kind);
        else
            *ret_object = NULL;
        return expect == NULL;
    }
    if (!decode_by_type(x, ri, &object, ret_info))
        return false;
    if (!json_is(object, JSON_OBJECT)) {
        status_reply(x, 400, "BadRequest", ri, NULL, "the body must be an object ({...})");
        return false;
    }
    if (expect) {
        if (!type_check(x, ri, expect, object))
            return false;
        const struct json *metadata = json_get(object, "metadata");
        if (metadata && !json_is(metadata, JSON_OBJECT) && !json_is(metadata, JSON_NULL)) {
            status_reply(x, 400, "BadRequest", ri, NULL, "metadata: expected an object");
            return false;
        }
        object = object_ordered(x->request.arena, object, object_api_version(x->request.arena, expect, ri->version),
                                expect->kind);
    }
    *ret_object = object;
    return true;
}

bool object_identity_check(struct http_exchange *x, const struct request_info *ri, const struct json *metadata)
{
    const char *name = json_get_text(metadata, "name", ""), *ns = json_get_text(metadata, "namespace", "");
    if (*name && strcmp(name, ri->name) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the name of the object (%.253s) does not match the name on the URL (%.253s)", name, ri->name);
        return false;
    }
    if (*ns && *ri->ns && strcmp(ns, ri->ns) != 0) {
        status_reply(x, 400, "BadRequest", ri, NULL,
                     "the namespace of the provided object does not match the namespace sent on the request");
        return false;
    }
    return true;
}

bool object_read_body(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
                      struct json **ret_object)
{
    struct json_parse_info info;
    return object_read_body_info(x, ri, expect, ret_object, &info);
}

/* ---- answers ---- */

struct durable_reply {
    struct http_exchange *x;
    const char *content_type;
    struct blob *body;
    int http;
};

static void durable_done(void *arg, bool ok)
{
    struct durable_reply *d = arg;
    if (ok) {
        http_reply(d->x, d->http, d->content_type, d->body);
    } else {
        blob_unref(d->body);
        status_reply(d->x, 500, "InternalError", NULL, NULL,
                     "the write could not be stored (is the disk full?): nothing was changed");
    }
    free(d);
}

void reply_durable(struct apiserver *s, struct http_exchange *x, int http, const char *content_type, struct blob *body)
{
    if (!store_dirty(s->store)) {
        http_reply(x, http, content_type, body);
        return;
    }
    struct durable_reply *d = mem_alloc(sizeof *d);
    *d = (struct durable_reply){x, content_type, body, http};
    store_when_durable(s->store, durable_done, d);
}

void object_reply(struct http_exchange *x, const struct request_info *ri, int http, struct json *object, bool durable)
{
    struct arena *a = x->request.arena;
    object_show(a, ri->kind, object, ri->version);
    _cleanup_buf_ struct buf out = {0};
    if (table_wanted(&x->request)) {
        table_begin(&out, ri, json_text(json_path(object, "metadata", "resourceVersion", NULL), NULL), NULL, -1, true);
        table_row(&out, ri, a, object, http_query(&x->request, "includeObject"), true);
        table_end(&out);
    } else if (accept_partial(&x->request)) {
        accept_partial_write(&out, object);
    } else {
        json_write(&out, object);
    }
    buf_char(&out, '\n');
    struct blob *body = blob_new(out.data, out.n);
    if (durable)
        reply_durable(ri->server, x, http, "application/json", body);
    else
        http_reply(x, http, "application/json", body);
}
