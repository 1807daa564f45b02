#include "apiserver/request/body.h"

#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "base/limits.h"
#include "wire/yaml.h"

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

bool body_parse_text(struct http_exchange *x, const struct request_info *ri, bool yaml, struct json **ret_object,
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
        return body_parse_text(x, ri, true, ret_object, info);
    if (media_is(type, "application/json"))
        return body_parse_text(x, ri, false, ret_object, info);
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

bool body_read_info(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
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

bool body_identity_check(struct http_exchange *x, const struct request_info *ri, const struct json *metadata)
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

bool body_read(struct http_exchange *x, const struct request_info *ri, const struct kind *expect,
                      struct json **ret_object)
{
    struct json_parse_info info;
    return body_read_info(x, ri, expect, ret_object, &info);
}
