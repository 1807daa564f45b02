/* Answers that are no object: Status, failure or success.
 * SOURCE apimachinery api/errors: texts and details as kube-apiserver writes them; clients match on reason and causes,
 * people on message. */
#include "apiserver/request/status.h"

#include <stdio.h>
#include <stdlib.h>

const char *status_resource(struct arena *a, const struct kind *k)
{
    return *k->group ? arena_printf(a, "%s.%s", k->plural, k->group) : k->plural;
}

static void details_add(struct arena *a, struct json *status, const struct request_info *ri,
                        const struct field_errors *causes, const char *plural)
{
    struct json *details = json_new(a, JSON_OBJECT);
    if (ri && *ri->name)
        json_set_text(a, details, "name", ri->name);
    if (ri && ri->group && *ri->group)
        json_set_text(a, details, "group", ri->group);
    if (plural && *plural)
        json_set_text(a, details, "kind", plural);
    if (causes && causes->n) {
        struct json *list = json_ensure_array(a, details, "causes");
        for (const struct field_error *f = causes->first; f; f = f->next) {
            struct json *cause = json_new(a, JSON_OBJECT);
            _cleanup_buf_ struct buf text = {0};
            field_error_text(&text, f);
            const char *message = text.data ? text.data : "";
            size_t skip = strlen(f->path);
            if (strncmp(message, f->path, skip) == 0 && strncmp(message + skip, ": ", 2) == 0)
                message += skip + 2;
            json_set_text(a, cause, "reason", field_error_reason(f->type));
            json_set_text(a, cause, "message", message);
            json_set_text(a, cause, "field", f->path);
            json_append(list, cause);
        }
    }
    if (details->n)
        json_set(a, status, "details", details);
}

struct json *status_json(struct arena *a, int http, const char *reason, const struct request_info *ri,
                         const struct field_errors *causes, const char *message)
{
    struct json *status = json_new(a, JSON_OBJECT);
    json_set_text(a, status, "kind", "Status");
    json_set_text(a, status, "apiVersion", "v1");
    json_set(a, status, "metadata", json_new(a, JSON_OBJECT));
    json_set_text(a, status, "status", "Failure");
    json_set_text(a, status, "message", message);
    json_set_text(a, status, "reason", reason);
    const char *plural = ri ? ri->plural : NULL;
    if (ri && ri->kind && strcmp(reason, "Invalid") == 0)
        plural = ri->kind->kind;
    details_add(a, status, ri, causes, plural);
    json_set_int64(a, status, "code", http);
    return status;
}

void status_reply_json(struct http_exchange *x, int http, struct json *status)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, status);
    buf_char(&out, '\n');
    http_reply(x, http, "application/json", blob_new(out.data, out.n));
}

void status_reply(struct http_exchange *x, int http, const char *reason, const struct request_info *ri,
                  const struct field_errors *causes, const char *format, ...)
{
    _cleanup_buf_ struct buf message = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    status_reply_json(x, http,
                      status_json(x->request.arena, http, reason, ri, causes, message.data ? message.data : ""));
}

void status_reply_err(struct http_exchange *x, const struct request_info *ri, const struct err *e)
{
    static const struct {
        int code, http;
        const char *reason;
    } table[] = {
        {E_INVALID, 400, "BadRequest"},   {E_NOTFOUND, 404, "NotFound"},
        {E_EXISTS, 409, "AlreadyExists"}, {E_CONFLICT, 409, "Conflict"},
        {E_GONE, 410, "Expired"},         {E_AGAIN, 429, "TooManyRequests"},
        {E_DENIED, 403, "Forbidden"},     {E_LIMIT, 413, "RequestEntityTooLarge"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e->code) {
            status_reply(x, table[i].http, table[i].reason, ri, NULL, "%s", e->text);
            return;
        }
    status_reply(x, 500, "InternalError", ri, NULL, "%s", e->text);
}

void status_reply_invalid(struct http_exchange *x, const struct request_info *ri, const char *name,
                          const struct field_errors *causes)
{
    _cleanup_buf_ struct buf text = {0};
    field_errors_text(&text, causes);
    struct request_info named = *ri;
    named.name = name ? name : "";
    if (field_errors_all_denials(causes)) {
        status_reply(x, 403, "Forbidden", NULL, NULL, "admission webhook \"v%s.kb.io\" denied the request: %s",
                     arena_text_lower(x->request.arena, ri->kind->kind), text.data ? text.data : "");
        return;
    }
    if (causes->refusal) {
        status_reply(x, 403, "Forbidden", &named, NULL, "%s \"%s\" is forbidden: %s",
                     status_resource(x->request.arena, ri->kind), named.name, causes->refusal);
        return;
    }
    const char *kind =
        *ri->kind->group ? arena_printf(x->request.arena, "%s.%s", ri->kind->kind, ri->kind->group) : ri->kind->kind;
    status_reply(x, 422, "Invalid", &named, causes, "%s \"%s\" is invalid: %s", kind, named.name,
                 text.data ? text.data : "");
}

void status_reply_not_found(struct http_exchange *x, const struct request_info *ri, const char *name)
{
    struct request_info named = *ri;
    named.name = name;
    status_reply(x, 404, "NotFound", &named, NULL, "%s \"%s\" not found", status_resource(x->request.arena, ri->kind),
                 name);
}

void status_reply_method(struct http_exchange *x, const struct request_info *ri)
{
    status_reply(x, 405, "MethodNotAllowed", ri, NULL, "the server does not allow this method on the requested resource");
}

/* ---- after the commit ---- */

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

/* WHY  as text: it is told of each pod that is bound. */
void status_success(struct http_exchange *x, const struct request_info *ri, int http, const char *uid)
{
    _cleanup_buf_ struct buf out = {0};
    buf_reserve(&out, 512);
    buf_text(&out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"details\":");
    json_write_member(&out, "name", ri->name, '{');
    if (*ri->group)
        json_write_member(&out, "group", ri->group, ',');
    json_write_member(&out, "kind", ri->plural, ',');
    if (uid)
        json_write_member(&out, "uid", uid, ',');
    buf_text(&out, http == 201 ? "},\"code\":201}\n" : "}}\n");
    reply_durable(ri->server, x, http, "application/json", blob_new(out.data, out.n));
}

void status_warn(struct http_exchange *x, const char *text)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, "299 - \"");
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_char(&out, '\\');
        buf_char(&out, *p == '\n' || *p == '\r' ? ' ' : *p);
    }
    buf_char(&out, '"');
    http_set_header(x, "Warning", out.data);
}
