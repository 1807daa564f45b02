/* script.h - an API server made of a list of answers, on a virtual loop */
#ifndef TESTS_KUBE_SCRIPT_H
#define TESTS_KUBE_SCRIPT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"
#include "kube/client.h"
#include "net/http_local.h"

struct step {
    const char *expect; /* part of "METHOD path?query body" */
    int status;         /* 0: a stream */
    const char *body;
    const char *retry_after;
};

struct script {
    struct loop *l;
    struct kube_client *c;
    struct http_faults faults;
    const struct step *steps;
    int at, closed_n, unexpected_n;
    char *last; /* what the last request looked like */
    struct http_exchange *stream;
    struct buf feed;
    bool feed_ends;
};

static inline ssize_t script_pull(void *arg, char *out, size_t max)
{
    struct script *s = arg;
    size_t n = s->feed.n < max ? s->feed.n : max;
    if (n == 0)
        return s->feed_ends ? -1 : 0;
    memcpy(out, s->feed.data, n);
    memmove(s->feed.data, s->feed.data + n, s->feed.n - n);
    s->feed.n -= n;
    return (ssize_t)n;
}

static inline void script_closed(void *arg)
{
    struct script *s = arg;
    s->closed_n++;
    s->stream = NULL;
}

static inline void script_handler(void *ctx, struct http_exchange *x)
{
    struct script *s = ctx;
    const struct http_request *r = &x->request;
    struct buf text = {0};
    const struct step *step = &s->steps[s->at];
    buf_printf(&text, "%s %s?", r->method, r->path);
    for (uint32_t i = 0; i < r->query_n; i++)
        buf_printf(&text, "%s=%s&", r->query[i].key, r->query[i].value);
    buf_printf(&text, " %.*s", (int)r->body.n, r->body.data);
    free(s->last);
    s->last = buf_take(&text, NULL);
    if (!step->expect) {
        s->unexpected_n++;
        http_reply_text(x, 500, "application/json", "{\"message\":\"script is over\"}");
        return;
    }
    if (!strstr(s->last, step->expect))
        fail_msg("step %d: wanted \"%s\", got \"%s\"", s->at, step->expect, s->last);
    s->at++;
    if (step->retry_after)
        http_set_header(x, "Retry-After", step->retry_after);
    if (step->status) {
        http_reply_text(x, step->status, "application/json", step->body);
        return;
    }
    s->stream = x;
    s->feed_ends = false;
    buf_clear(&s->feed);
    buf_text(&s->feed, step->body ? step->body : "");
    http_stream(x, 200, "application/json", script_pull, script_closed, s);
}

static inline void script_init(struct script *s, const struct step *steps)
{
    memset(s, 0, sizeof *s);
    s->steps = steps;
    s->l = loop_new_virtual(1767225600000); /* 2026-01-01 */
    s->c = kube_client_wrap(s->l, http_local_client_new(s->l, script_handler, s, &s->faults, 1));
}

static inline void script_fini(struct script *s)
{
    kube_client_free(s->c);
    loop_free(s->l);
    free(s->last);
    buf_free(&s->feed);
}

static inline void script_feed(struct script *s, const char *text)
{
    buf_text(&s->feed, text);
    assert_non_null(s->stream);
    http_stream_wake(s->stream);
}

static inline void script_end_stream(struct script *s)
{
    s->feed_ends = true;
    assert_non_null(s->stream);
    http_stream_wake(s->stream);
}

#endif
