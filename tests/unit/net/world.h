/* world.h - a server and a client on one loop, and a handler that does what its path says */
#ifndef TESTS_NET_WORLD_H
#define TESTS_NET_WORLD_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "net/http_client.h"
#include "net/http_server.h"

struct world {
    struct loop *l;
    struct http_server *server;
    struct http_client *client;
    struct http_exchange *held; /* /hold: answered by the test */
    struct http_exchange *stream;
    struct buf feed; /* what /stream still has to send */
    bool feed_ends;
    int handled_n, closed_n;
    char last_user[64];
};

struct got {
    struct world *w;
    int status, n, chunks_n;
    struct buf body;
    char content_type[64], warning[64];
    struct err error;
    int close_after_chunks; /* 0 = never */
    uint64_t cancel_id;
};

/* Turn the loop until it holds, at most two seconds: a loaded machine is slow, not wrong. */
#define WAIT(w, condition)                                                                                             \
    do {                                                                                                               \
        for (int wait_i = 0; wait_i < 1000 && !(condition); wait_i++)                                                  \
            loop_run_for((w)->l, 2, NULL);                                                                             \
        assert_true(condition);                                                                                        \
    } while (0)

static inline ssize_t feed_pull(void *arg, char *out, size_t max)
{
    struct world *w = arg;
    size_t n = w->feed.n < max ? w->feed.n : max;
    if (n == 0)
        return w->feed_ends ? -1 : 0;
    memcpy(out, w->feed.data, n);
    memmove(w->feed.data, w->feed.data + n, w->feed.n - n);
    w->feed.n -= n;
    return (ssize_t)n;
}

static inline void feed_closed(void *arg)
{
    struct world *w = arg;
    w->closed_n++;
    w->stream = NULL;
}

static inline void answer_held(void *arg)
{
    struct world *w = arg;
    http_reply_text(w->held, 202, "text/plain", "later");
    w->held = NULL;
}

static inline void world_handler(void *ctx, struct http_exchange *x)
{
    struct world *w = ctx;
    const struct http_request *r = &x->request;
    w->handled_n++;
    snprintf(w->last_user, sizeof w->last_user, "%s", r->user);
    if (strcmp(r->path, "/stream") == 0) {
        w->stream = x;
        http_stream(x, 200, "application/json", feed_pull, feed_closed, w);
    } else if (strcmp(r->path, "/hold") == 0) {
        w->held = x;
    } else if (strcmp(r->path, "/later") == 0) {
        w->held = x;
        loop_defer(w->l, answer_held, w);
    } else if (strcmp(r->path, "/body") == 0) {
        http_set_header(x, "Warning", "299 - \"one\r\ntwo\"");
        http_reply(x, 200, "application/octet-stream", blob_new(r->body.data, r->body.n));
    } else if (strcmp(r->path, "/empty") == 0) {
        http_reply(x, 204, NULL, NULL);
    } else if (strcmp(r->path, "/big") == 0) {
        size_t n = (size_t)atoll(http_query(r, "n"));
        struct blob *b = blob_new("", 0);
        blob_unref(b);
        char *text = mem_zero(n, 1);
        memset(text, 'b', n);
        http_reply(x, 200, "text/plain", blob_new(text, n));
        free(text);
    } else {
        const char *q = http_query(r, "q"), *h = http_header(r, "x-test");
        char *text =
            arena_printf(r->arena, "%s %s q=%s h=%s n=%zu", r->method, r->path, q ? q : "-", h ? h : "-", r->body.n);
        http_reply_text(x, 200, "text/plain", text);
    }
}

static inline struct world *world_new(const char *listen)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct err e = {0};
    char url[128];
    w->l = loop_new();
    struct http_server_config config = {.listen = listen, .handler = world_handler, .ctx = w};
    if (http_server_new(w->l, &config, &w->server, &e) < 0)
        fail_msg("%s", e.text);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http_server_port(w->server));
    struct http_client_config client = {.base_url = text_starts(listen, "unix:") ? listen : url};
    if (http_client_new(w->l, &client, &w->client, &e) < 0)
        fail_msg("%s", e.text);
    return w;
}

static inline void world_free(struct world *w)
{
    http_client_free(w->client);
    http_server_free(w->server);
    if (w->held)
        http_reply(w->held, 200, NULL, NULL);
    loop_free(w->l);
    buf_free(&w->feed);
    free(w);
}

static inline bool on_chunk(void *arg, int status, struct bytes chunk)
{
    struct got *g = arg;
    g->status = status;
    g->chunks_n++;
    buf_bytes(&g->body, chunk);
    if (g->cancel_id)
        http_client_cancel(g->w->client, g->cancel_id);
    return g->close_after_chunks == 0 || g->chunks_n < g->close_after_chunks;
}

static inline void on_answer(void *arg, const struct http_answer *a)
{
    struct got *g = arg;
    g->n++;
    g->status = a->status;
    g->error = a->error;
    if (a->body.n)
        buf_bytes(&g->body, a->body);
    for (uint32_t i = 0; i < a->headers_n; i++) {
        if (strcmp(a->headers[i].key, "content-type") == 0)
            snprintf(g->content_type, sizeof g->content_type, "%s", a->headers[i].value);
        if (strcmp(a->headers[i].key, "warning") == 0)
            snprintf(g->warning, sizeof g->warning, "%s", a->headers[i].value);
    }
    if (g->w)
        loop_stop(g->w->l);
}

/* One call, waited for; g is cleared first and its body must be freed. */
static inline void call(struct world *w, struct got *g, struct http_call c)
{
    memset(g, 0, sizeof *g);
    g->w = w;
    c.on_answer = on_answer;
    c.arg = g;
    http_client_send(w->client, &c);
    assert_int_equal(g->n, 0);
    while (g->n == 0)
        loop_run(w->l, NULL);
}

#endif
