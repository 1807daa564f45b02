/* object_write_state.c - what a write begins with and how it ends: who asks, failures, warnings */
#include <stdio.h>

#include "apiserver/apply/object_write.h"
#include "apiserver/request/status.h"

void object_write_asked(struct object_write *w, const struct http_exchange *x)
{
    struct requester *who = arena_zero(w->arena, 1, sizeof *who);
    if (!w->server->config.authenticate)
        return;
    requester_of(w->server, &x->request, who);
    w->who = who;
}

void object_write_init(struct object_write *w, const struct request_info *ri, struct arena *a)
{
    *w = (struct object_write){
        .server = ri->server,
        .arena = a,
        .kind = kind_stored(ri->kind),
        .asked = ri->kind,
        .rules = kind_rules_find(ri->server, kind_stored(ri->kind)),
        .kind_id = ri->kind_id,
        .ns = ri->kind->flags & KIND_NAMESPACED ? ri->ns : "",
        .version = ri->version,
        .subresource = ri->subresource,
        .validation = ri->validation,
        .dry_run = ri->dry_run,
        .manager = ri->field_manager,
    };
    field_errors_init(&w->errors, a);
}

bool object_write_fail(struct object_write *w, int http, const char *reason, const char *format, ...)
{
    _cleanup_buf_ struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    w->fail_http = http;
    w->fail_reason = reason;
    w->fail_message = arena_text(w->arena, text.data ? text.data : "");
    return false;
}

void object_write_warn(struct object_write *w, const char *text)
{
    for (uint32_t i = 0; i < w->warnings_n; i++)
        if (strcmp(w->warnings[i], text) == 0)
            return;
    if (w->warnings_n < sizeof w->warnings / sizeof *w->warnings)
        w->warnings[w->warnings_n++] = arena_text(w->arena, text);
}

int object_write_err(const struct object_write *w, struct err *e)
{
    if (w->errors.refusal)
        return err_set(e, E_DENIED, "%s \"%s\" is forbidden: %s", status_resource(w->arena, w->kind),
                       json_text(json_path(w->object, "metadata", "name", NULL), ""), w->errors.refusal);
    if (w->errors.n) {
        _cleanup_buf_ struct buf text = {0};
        field_errors_text(&text, &w->errors);
        return err_set(e, E_INVALID, "%s is invalid: %s", w->kind->kind, text.data);
    }
    static const struct {
        int http, code;
    } codes[] = {{400, E_INVALID}, {403, E_DENIED}, {404, E_NOTFOUND}, {410, E_GONE}, {413, E_LIMIT}, {422, E_INVALID}};
    int code = w->fail_http == 409 ? strcmp(w->fail_reason, "Conflict") == 0 ? E_CONFLICT : E_EXISTS : E_IO;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].http == w->fail_http)
            code = codes[i].code;
    return err_set(e, code, "%s", w->fail_message);
}
