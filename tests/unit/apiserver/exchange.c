#include "exchange.h"

#include <stdio.h>

static void on_header(struct http_exchange *x, const char *name, const char *value)
{
    struct exchange *e = (struct exchange *)x;
    if (strcmp(name, "ETag") == 0)
        snprintf(e->etag, sizeof e->etag, "%s", value);
}

static void on_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body)
{
    struct exchange *e = (struct exchange *)x;
    e->status = status;
    e->ended = true;
    snprintf(e->type, sizeof e->type, "%s", content_type);
    if (body)
        buf_add(&e->text, body->data, body->n);
    blob_unref(body);
}

static void on_stream(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                      void (*closed)(void *), void *arg)
{
    struct exchange *e = (struct exchange *)x;
    e->status = status;
    e->pull = pull;
    e->closed = closed;
    e->arg = arg;
}

static void on_wake(struct http_exchange *x)
{
}

static const struct http_exchange_ops ops = {on_header, on_reply, on_stream, on_wake, NULL};

static void query_split(struct exchange *e, char *text)
{
    char *rest;
    for (char *part = strtok_r(text, "&", &rest); part && e->x.request.query_n < 8; part = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(part, '=');
        if (value)
            *value++ = 0;
        e->query[e->x.request.query_n++] = (struct http_param){part, value ? value : ""};
    }
}

void exchange_open(struct exchange *e, struct api *api, const char *method, const char *target, const char *body, ...)
{
    struct http_request *r = &e->x.request;
    va_list args;
    *e = (struct exchange){.arena = arena_new()};
    char *path = arena_text(e->arena, target), *query = strchr(path, '?');
    if (query) {
        *query = 0;
        query_split(e, query + 1);
    }
    va_start(args, body);
    for (const char *header; (header = va_arg(args, const char *)) && r->headers_n < 8;) {
        const char *colon = strchr(header, ':');
        e->headers[r->headers_n++] =
            (struct http_param){arena_text_n(e->arena, header, (size_t)(colon - header)), colon + 2};
    }
    va_end(args);
    r->method = method;
    r->path = path;
    r->query = e->query;
    r->headers = e->headers;
    r->body = bytes_of(body);
    r->arena = e->arena;
    r->user = "";
    e->x.ops = &ops;
    apiserver_handle(api->server, &e->x);
    for (int i = 0; i < 100 && !e->status; i++)
        api_run(api, 0);
}

void exchange_pull(struct exchange *e)
{
    while (e->pull && !e->ended) {
        ssize_t n = e->pull(e->arg, buf_reserve(&e->text, 16), 16);
        if (n > 0)
            e->text.n += (size_t)n;
        e->ended = n < 0;
        if (n <= 0)
            break;
    }
    if (e->text.data)
        e->text.data[e->text.n] = 0;
}

void exchange_close(struct exchange *e)
{
    if (e->closed)
        e->closed(e->arg);
    buf_free(&e->text);
    arena_free(e->arena);
}
