/* push.c - the head of the queue is under way or waits for its next try */
#include "exporter/push/push.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/memory.h"

enum { QUEUE_DEFAULT = 64, FIRST_WAIT_MS = 1000, LONGEST_WAIT_MS = 60 * 1000, TIMEOUT_MS = 10 * 1000 };

struct push_body {
    struct push_body *next;
    int64_t added_ms;
    size_t n;
    char data[];
};

struct push {
    struct loop *loop;
    struct http_client *http;
    struct loop_timer *timer;
    char *path, *content_type, *authorization;
    const struct http_param *headers;
    uint32_t headers_n, queue_max;
    struct push_body *first, **last;
    size_t queued_bytes;
    struct push_counts counts;
    int64_t wait_ms; /* before the next try; 0: the last one went well */
    bool in_flight;
};

static void send_first(void *arg);

static void drop_at(struct push *p, struct push_body **at)
{
    struct push_body *b = *at;
    *at = b->next;
    if (!*at)
        p->last = at;
    p->counts.queued_n--;
    p->queued_bytes -= b->n;
    free(b);
}

static void say(struct push *p, const struct http_answer *answer)
{
    if (answer->status == 0)
        snprintf(p->counts.last_error, sizeof p->counts.last_error, "%.150s", answer->error.text);
    else
        snprintf(p->counts.last_error, sizeof p->counts.last_error, "HTTP %d %.*s", answer->status,
                 (int)(answer->body.n < 120 ? answer->body.n : 120), answer->body.n ? answer->body.data : "");
}

/* Longer with each failure, and not before the receiver wants to be asked again. SOURCE RFC 9110 10.2.3; dates are not read. */
static int64_t next_wait_ms(const struct push *p, const struct http_answer *answer)
{
    int64_t wait_ms = p->wait_ms == 0 ? FIRST_WAIT_MS : p->wait_ms * 2, after_s;
    wait_ms = wait_ms < LONGEST_WAIT_MS ? wait_ms : LONGEST_WAIT_MS;
    for (uint32_t i = 0; i < answer->headers_n; i++)
        if (text_equal(answer->headers[i].key, "retry-after") && bytes_int64(bytes_of(answer->headers[i].value), &after_s) &&
            after_s > wait_ms / 1000)
            wait_ms = after_s < PUSH_AGE_MS / 1000 ? after_s * 1000 : PUSH_AGE_MS;
    return wait_ms;
}

static void on_answer(void *arg, const struct http_answer *answer)
{
    struct push *p = arg;
    int status = answer->status;
    p->in_flight = false;
    if (status >= 200 && status < 300) {
        p->counts.sent_n++;
        p->counts.last_error[0] = '\0';
        p->wait_ms = 0;
        drop_at(p, &p->first);
    } else {
        say(p, answer);
        if (status >= 400 && status < 500 && status != 429) {
            p->counts.refused_n++;
            p->wait_ms = 0;
            drop_at(p, &p->first);
        } else {
            p->counts.retried_n++;
            p->wait_ms = next_wait_ms(p, answer);
        }
    }
    loop_timer_start(p->timer, p->wait_ms, 0);
}

static void send_first(void *arg)
{
    struct push *p = arg;
    while (!p->in_flight && p->first && loop_now_ms(p->loop) - p->first->added_ms > PUSH_AGE_MS) {
        p->counts.dropped_n++;
        drop_at(p, &p->first);
    }
    if (p->in_flight)
        return;
    if (!p->first) {
        p->wait_ms = 0; /* nothing waits any more: the next body is sent at once */
        return;
    }
    p->in_flight = true;
    http_client_send(p->http, &(struct http_call){.method = "POST",
                                                  .path = p->path,
                                                  .content_type = p->content_type,
                                                  .headers = p->headers,
                                                  .headers_n = p->headers_n,
                                                  .body = {p->first->data, p->first->n},
                                                  .timeout_ms = TIMEOUT_MS,
                                                  .answer_max_bytes = 64 << 10,
                                                  .on_answer = on_answer,
                                                  .arg = p});
}

static bool is_full(const struct push *p, size_t more_bytes)
{
    return p->counts.queued_n >= p->queue_max || p->queued_bytes + more_bytes > PUSH_QUEUE_BYTES;
}

void push_add(struct push *p, struct bytes body)
{
    /* The oldest go; while the first is under way, those after it. */
    struct push_body **oldest = p->in_flight ? &p->first->next : &p->first;
    while (is_full(p, body.n) && *oldest) {
        drop_at(p, oldest);
        p->counts.dropped_n++;
    }
    if (is_full(p, body.n)) {
        p->counts.dropped_n++;
        return;
    }
    struct push_body *b = mem_alloc(sizeof *b + body.n);
    *b = (struct push_body){.added_ms = loop_now_ms(p->loop), .n = body.n};
    memcpy(b->data, body.data, body.n);
    *p->last = b;
    p->last = &b->next;
    p->counts.queued_n++;
    p->queued_bytes += b->n;
    if (!p->in_flight && p->wait_ms == 0)
        loop_timer_start(p->timer, 0, 0);
}

static const char *authorization_of(void *ctx)
{
    const struct push *p = ctx;
    return p->authorization ? p->authorization : "";
}

void push_basic(struct buf *out, const char *user, const char *password)
{
    _cleanup_buf_ struct buf pair = {0};
    buf_printf(&pair, "%s:%s", user, password ? password : "");
    buf_text(out, "Basic ");
    base64_encode(out, buf_view(&pair));
}

/* "scheme://user:password@host" */
static bool has_user(const char *url)
{
    const char *host = strstr(url, "://"), *at = host ? strchr(host, '@') : NULL;
    return at && at < host + 3 + strcspn(host + 3, "/?#");
}

static struct push *push_make(struct loop *l, const struct push_config *config)
{
    struct push *p = mem_zero(1, sizeof *p);
    p->loop = l;
    p->timer = loop_timer_new(l, send_first, p);
    p->path = mem_text(config->path);
    p->content_type = mem_text(config->content_type);
    p->authorization = mem_text(config->authorization);
    p->headers = config->headers;
    p->headers_n = config->headers_n;
    p->queue_max = config->queue_max ? config->queue_max : QUEUE_DEFAULT;
    p->last = &p->first;
    return p;
}

int push_new(struct loop *l, const struct push_config *config, struct push **ret_p, struct err *e)
{
    if (has_user(config->url)) /* the text does not repeat it */
        return err_set(e, E_INVALID,
                       "the URL has a user or password in it, and URLs are logged: give them by their own options and variables");
    struct push *p = push_make(l, config);
    int r = http_client_new(l,
                            &(struct http_client_config){
                                .base_url = config->url, .authorization = authorization_of, .authorization_ctx = p},
                            &p->http, e);
    if (r < 0) {
        push_free(p);
        return r;
    }
    *ret_p = p;
    return 0;
}

struct push *push_wrap(struct loop *l, struct http_client *http, const struct push_config *config)
{
    struct push *p = push_make(l, config);
    p->http = http;
    return p;
}

void push_free(struct push *p)
{
    if (!p)
        return;
    http_client_free(p->http); /* first: an open call answers here */
    loop_timer_free(p->timer);
    while (p->first)
        drop_at(p, &p->first);
    free(p->path);
    free(p->content_type);
    free(p->authorization);
    free(p);
}

struct push_counts push_counts(const struct push *p)
{
    return p->counts;
}
