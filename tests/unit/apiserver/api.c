#include "api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

struct call {
    struct http_exchange x; /* first */
    struct api *api;
    struct arena *arena;
    struct http_param query[16], headers[3];
    int status;
    struct blob *body;
    http_pull_fn pull;
    void (*closed)(void *arg);
    void *stream_arg;
};
struct api_watch {
    struct call call;
    struct buf text;
    size_t at;
    bool ended;
    struct arena *arena;
    const struct json *object;
    char event[512];
};

static void on_header(struct http_exchange *x, const char *name, const char *value)
{
    struct api *api = ((struct call *)x)->api;
    size_t n = strlen(api->warnings);
    if (strcmp(name, "Warning") == 0)
        snprintf(api->warnings + n, sizeof api->warnings - n, "%s\n", value);
}

static void on_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    struct call *c = (struct call *)x;
    assert_int_equal(c->status, 0); /* one answer each */
    c->status = status;
    c->body = body;
}

static void on_stream(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                      void (*closed)(void *), void *arg)
{
    struct call *c = (struct call *)x;
    c->status = status;
    c->pull = pull;
    c->closed = closed;
    c->stream_arg = arg;
}

static void on_wake(struct http_exchange *x)
{
}

static const struct http_exchange_ops ops = {on_header, on_reply, on_stream, on_wake, NULL};

static void call_start(struct api *api, struct call *c, const char *method, const char *target, const char *type,
                       const char *body)
{
    *c = (struct call){.api = api, .arena = arena_new()};
    char *path = arena_text(c->arena, target), *query = strchr(path, '?');
    if (query)
        *query++ = 0;
    struct http_request *r = &c->x.request;
    for (char *part = query; part && *part && r->query_n < 16;) {
        char *next = strchr(part, '&'), *value;
        if (next)
            *next++ = 0;
        value = strchr(part, '=');
        if (value)
            *value++ = 0;
        c->query[r->query_n++] = (struct http_param){part, value ? value : ""};
        part = next;
    }
    c->headers[0] = (struct http_param){"user-agent", "test/1"};
    c->headers[1] = (struct http_param){"content-type", type};
    r->method = method;
    r->path = path;
    r->query = c->query;
    r->headers = c->headers;
    r->headers_n = type ? 2 : 1;
    r->body = bytes_of(body ? arena_text(c->arena, body) : NULL);
    r->arena = c->arena;
    r->user = "";
    c->x.ops = &ops;
    apiserver_handle(api->server, &c->x);
}

void api_open(struct api *api, const char *dir)
{
    api_open_as(api, &(struct apiserver_config){.data_dir = dir});
}

void api_open_as(struct api *api, const struct apiserver_config *config)
{
    struct err e = {0};
    *api = (struct api){.loop = loop_new_virtual(1767225600000), .arena = arena_new()};
    if (apiserver_new(api->loop, config, &api->server, &e) < 0)
        fail_msg("%s", e.text);
    api_run(api, 0);
}

void api_close(struct api *api)
{
    apiserver_free(api->server);
    loop_free(api->loop);
    arena_free(api->arena);
}

int api_setup(void **state)
{
    static struct api api;
    api_open(&api, NULL);
    *state = &api;
    return 0;
}

int api_teardown(void **state)
{
    api_close(*state);
    return 0;
}

void api_run(struct api *api, int64_t span_ms)
{
    struct err e = {0};
    assert_int_equal(loop_run_for(api->loop, span_ms, &e), 0);
}

/* An answer in pieces, to its end. */
static void stream_take(struct call *c)
{
    _cleanup_buf_ struct buf text = {0};
    ssize_t n;
    while ((n = c->pull(c->stream_arg, buf_reserve(&text, 1000), 1000)) > 0)
        text.n += (size_t)n;
    assert_int_equal(n, -1);
    c->closed(c->stream_arg);
    c->body = blob_new(text.data, text.n);
}

int api_call(struct api *api, const char *method, const char *target, const char *type, const char *body)
{
    struct call c;
    struct err e = {0};
    api->warnings[0] = 0;
    call_start(api, &c, method, target, type, body);
    for (int i = 0; i < 100 && !c.status; i++)
        api_run(api, 0);
    assert_int_not_equal(c.status, 0);
    if (c.pull)
        stream_take(&c);
    arena_reset(api->arena);
    api->status = c.status;
    api->body = c.body ? json_parse(api->arena, (struct bytes){c.body->data, c.body->n}, NULL, &e) : NULL;
    blob_unref(c.body);
    arena_free(c.arena);
    return api->status;
}

int api_get(struct api *api, const char *target)
{
    return api_call(api, "GET", target, NULL, NULL);
}

int api_post(struct api *api, const char *target, const char *body)
{
    return api_call(api, "POST", target, "application/json", body);
}

int api_put(struct api *api, const char *target, const char *body)
{
    return api_call(api, "PUT", target, "application/json", body);
}

int api_patch(struct api *api, const char *target, const char *type, const char *body)
{
    const char *full = strcmp(type, "json") == 0    ? "application/json-patch+json"
                       : strcmp(type, "merge") == 0 ? "application/merge-patch+json"
                       : strcmp(type, "apply") == 0 ? "application/apply-patch+yaml"
                                                    : "application/strategic-merge-patch+json";
    return api_call(api, "PATCH", target, full, body);
}

int api_delete(struct api *api, const char *target, const char *body)
{
    return api_call(api, "DELETE", target, body ? "application/json" : NULL, body);
}

const char *api_text(const struct api *api, const char *path)
{
    const struct json *v = api->body;
    char part[128];
    while (v && *path) {
        size_t n = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        path += n + (path[n] == '.');
        v = v->type == JSON_ARRAY ? json_item(v, (size_t)strtoul(part, NULL, 10)) : json_get(v, part);
    }
    if (!v || v->type >= JSON_ARRAY)
        return "";
    return v->type == JSON_BOOL ? v->truth ? "true" : "false" : v->type == JSON_NULL ? "null" : v->text;
}

/* ---- watches ---- */

struct api_watch *api_watch_open(struct api *api, const char *target)
{
    struct api_watch *w = mem_zero(1, sizeof *w);
    w->arena = arena_new();
    call_start(api, &w->call, "GET", target, NULL, NULL);
    return w;
}

int api_watch_status(const struct api_watch *w)
{
    return w->call.status;
}

static void watch_pull(struct api_watch *w)
{
    while (!w->ended && w->call.pull) {
        char *at = buf_reserve(&w->text, 64); /* small on purpose: events are cut anywhere */
        ssize_t n = w->call.pull(w->call.stream_arg, at, 50);
        w->ended = n < 0;
        if (n <= 0)
            return;
        w->text.n += (size_t)n;
        w->text.data[w->text.n] = 0;
    }
}

const char *api_watch_next(struct api_watch *w)
{
    struct err e = {0};
    api_run(w->call.api, 0);
    watch_pull(w);
    char *start = w->text.data ? w->text.data + w->at : NULL, *end = start ? strchr(start, '\n') : NULL;
    if (!end)
        return w->ended ? "end" : "";
    arena_reset(w->arena);
    const struct json *event = json_parse(w->arena, (struct bytes){start, (size_t)(end - start)}, NULL, &e);
    assert_non_null(event);
    w->at += (size_t)(end - start) + 1;
    w->object = json_get(event, "object");
    const struct json *metadata = json_get(w->object, "metadata");
    snprintf(w->event, sizeof w->event, "%s %s %s", json_get_text(event, "type", "?"),
             json_get_text(metadata, "name", "-"), json_get_text(metadata, "resourceVersion", "-"));
    return w->event;
}

const struct json *api_watch_object(const struct api_watch *w)
{
    return w->object;
}

void api_watch_close(struct api_watch *w)
{
    if (w->call.closed)
        w->call.closed(w->call.stream_arg);
    blob_unref(w->call.body);
    buf_free(&w->text);
    arena_free(w->call.arena);
    arena_free(w->arena);
    free(w);
}
