/* scale.c - the number of replicas of any kind, as autoscaling/v1 Scale */
#include "apiserver/request/body.h"
#include "apiserver/request/status.h"
#include "apiserver/store/object.h"
#include "apiserver/tables/table.h"
#include "apiserver/tables/table_cells.h"
#include "apiserver/tables/table_path.h"
#include "apiserver/verbs/subresource.h"
#include "apiserver/verbs/write_reply.h"
#include "wire/patch.h"

static const char *path_or(const char *path, const char *fallback)
{
    return path && *path ? path : fallback;
}

/* Built-in kinds have label selectors, CRDs a text. */
static const char *selector_text(struct arena *a, const struct kind *k, const struct json *object)
{
    const struct json *selector = table_path_find(object, path_or(k->scale_selector_path, ".spec.selector"));
    struct table_cells cells = {.arena = a};
    if (!selector)
        return "";
    if (selector->type == JSON_STRING)
        return selector->text;
    bool plain =
        json_is(selector, JSON_OBJECT) && !json_get(selector, "matchLabels") && !json_get(selector, "matchExpressions");
    const char *text = plain ? cell_labels(&cells, selector) : cell_selector(&cells, selector);
    return strcmp(text, "<none>") == 0 ? "" : text;
}

static struct json *scale_of(struct arena *a, const struct kind *k, const struct json *object)
{
    static const char *const copied[] = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"};
    struct json *scale = json_new(a, JSON_OBJECT), *metadata;
    const struct json *source = json_get(object, "metadata");
    json_set_text(a, scale, "kind", "Scale");
    json_set_text(a, scale, "apiVersion", "autoscaling/v1");
    metadata = json_ensure_object(a, scale, "metadata");
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        if (json_get(source, copied[i]))
            json_set_text(a, metadata, copied[i], json_get_text(source, copied[i], ""));
    int64_t wanted = json_int64(table_path_find(object, path_or(k->scale_spec_path, ".spec.replicas")), 0);
    int64_t present = json_int64(table_path_find(object, path_or(k->scale_status_path, ".status.replicas")), 0);
    const char *selector = selector_text(a, k, object);
    struct json *spec = json_ensure_object(a, scale, "spec"), *status = json_ensure_object(a, scale, "status");
    if (wanted)
        json_set_int64(a, spec, "replicas", wanted);
    json_set_int64(a, status, "replicas", present);
    if (*selector)
        json_set_text(a, status, "selector", selector);
    return scale;
}

/* Set the number under a path of plain names (".spec.replicas"). */
static void replicas_set(struct arena *a, struct json *object, const char *path, int64_t replicas)
{
    path += *path == '.';
    for (;;) {
        size_t n = strcspn(path, ".");
        const char *name = arena_text_n(a, path, n);
        if (!path[n]) {
            json_set_int64(a, object, name, replicas);
            return;
        }
        object = json_ensure_object(a, object, name);
        path += n + 1;
    }
}

static void scale_reply(struct http_exchange *x, const struct request_info *ri, const struct json *object)
{
    struct arena *a = x->request.arena;
    struct json *scale = scale_of(a, ri->kind, object);
    struct buf out = {0};
    if (table_wanted(&x->request)) {
        static const struct kind scale_kind = {.group = "autoscaling", .kind = "Scale", .plural = "scales"};
        struct request_info as_scale = *ri;
        as_scale.kind = &scale_kind;
        as_scale.kind_version = NULL;
        table_begin(&out, &as_scale, json_text(json_path(scale, "metadata", "resourceVersion", NULL), NULL), NULL, -1,
                    true);
        table_row(&out, &as_scale, a, scale, http_query(&x->request, "includeObject"), true);
        table_end(&out);
    } else {
        json_write(&out, scale);
    }
    reply_durable(ri->server, x, 200, "application/json", blob_new(out.data, out.n));
    buf_free(&out);
}

/* The new Scale: the body (PUT), or the present one patched. Answers on failure and returns false. */
static bool scale_read(struct http_exchange *x, const struct request_info *ri, const struct json *object,
                       struct json **ret_scale)
{
    struct arena *a = x->request.arena;
    struct err e = {0};
    if (ri->verb == VERB_UPDATE) {
        if (!body_read(x, ri, NULL, ret_scale))
            return false;
        if (*ret_scale)
            return true;
        status_reply(x, 400, "BadRequest", ri, NULL, "the request has no body: send a Scale");
        return false;
    }
    struct json *patch = json_parse(a, x->request.body, NULL, &e);
    if (!patch) {
        status_reply(x, 400, "BadRequest", ri, NULL, "the patch is no JSON: %s", e.text);
        return false;
    }
    *ret_scale = scale_of(a, ri->kind, object);
    if (patch->type == JSON_ARRAY && patch_json(a, ret_scale, patch, &e) < 0) {
        status_reply(x, 422, "Invalid", ri, NULL, "%s", e.text);
        return false;
    }
    if (patch->type == JSON_OBJECT) /* a Scale has no lists: merge and strategic patches mean the same */
        patch_merge(a, ret_scale, patch);
    return true;
}

void scale_handle(struct apiserver *s, struct http_exchange *x, const struct request_info *ri)
{
    struct arena *a = x->request.arena;
    struct json *old = object_read(s, a, ri->kind, ri->ns, ri->name), *scale, *result;
    if (!old) {
        status_reply_not_found(x, ri, ri->name);
        return;
    }
    if (ri->verb == VERB_GET) {
        scale_reply(x, ri, old);
        return;
    }
    if (ri->verb != VERB_UPDATE && ri->verb != VERB_PATCH) {
        status_reply_method(x, ri);
        return;
    }
    if (!scale_read(x, ri, old, &scale))
        return;
    const char *rv = json_text(json_path(scale, "metadata", "resourceVersion", NULL), "");
    const struct json *replicas_json = json_path(scale, "spec", "replicas", NULL);
    int64_t replicas = replicas_json ? json_int64(replicas_json, -1) : 0;
    if (replicas < 0 || replicas > INT32_MAX) {
        struct field_errors errors;
        field_errors_init(&errors, a);
        field_error_add(&errors, FIELD_INVALID, "spec.replicas",
                        arena_text_n(a, json_bytes(replicas_json).data, json_bytes(replicas_json).n),
                        "must be a whole number, 0 or more");
        status_reply_invalid(x, ri, ri->name, &errors);
        return;
    }
    struct json *object = json_clone(a, old);
    replicas_set(a, object, path_or(ri->kind->scale_spec_path, ".spec.replicas"), replicas);
    if (*rv)
        json_set_text(a, json_ensure_object(a, object, "metadata"), "resourceVersion", rv);
    struct request_info whole = *ri;
    whole.subresource = "";
    if (object_write_checked(x, &whole, old, object, &result))
        scale_reply(x, ri, result);
}
