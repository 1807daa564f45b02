/* serve.c - the answers are blobs that were rendered before; a request only picks one */
#include "exporter/pages/serve.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/memory.h"
#include "exporter/pages/web_config.h"
#include "exporter/push/gzip.h"

#define AGAIN_MS 10000     /* a port that is taken is tried again */
#define LOOK_MS 60000      /* the web config and its certificates may have changed */
#define IDLE_SECONDS 60
#define REQUEST_SECONDS 10 /* a scraper asks at once */
#define CONNECTIONS_MAX 128 /* of 32 KiB each: what connects and says nothing does not use up the agent's memory */
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* What a rendering was made from; another one is made when any of it differs. */
struct rendered_of {
    uint64_t sample;
    uint64_t skipped_n, failures_n;
    bool stalled, driver_loaded;
    uint32_t page; /* counts serve_set_page */
};
struct rendering {
    struct rendered_of of;
    struct blob *text, *gzip; /* NULL: not asked for yet */
    bool asked, asked_gzip;   /* by a scrape since the last sample */
};
struct serve {
    struct loop *loop;
    struct collect *collect;
    struct account *account;
    struct serve_config config;
    struct page_cache *own_cache;
    struct web_config *web;
    struct http_server *server;
    struct loop_timer *timer;
    struct rendering renderings[2]; /* text, OpenMetrics */
    struct serve_counts counts;
    uint32_t page;
    struct err error; /* of listening */
};

/* ---- renderings ---- */

static struct rendered_of now_of(const struct serve *s, const struct collect_state *state, const struct sample *sample)
{
    struct rendered_of of;
    memset(&of, 0, sizeof of); /* compared as bytes */
    of.sample = sample ? sample->number + 1 : 0;
    of.skipped_n = state->skipped_n;
    of.failures_n = state->failures_n;
    of.stalled = state->stalled;
    of.driver_loaded = state->driver_loaded;
    of.page = s->page;
    return of;
}

static struct rendering *render(struct serve *s, bool openmetrics)
{
    struct rendering *r = &s->renderings[openmetrics];
    struct collect_state state = {0};
    collect_state(s->collect, &state);
    const struct sample *sample = collect_last(s->collect);
    struct rendered_of of = now_of(s, &state, sample);
    if (r->text && memcmp(&of, &r->of, sizeof of) == 0)
        return r;
    _cleanup_buf_ struct buf out = {0};
    if (r->text) /* about as long as the last one */
        (void)buf_reserve(&out, r->text->n + r->text->n / 8);
    blob_unref(r->text);
    blob_unref(r->gzip);
    page_render(&s->config.page, s->config.cache, sample, s->account, &state, openmetrics, &out);
    r->of = of;
    r->text = blob_new(out.data, out.n);
    r->gzip = NULL;
    s->counts.renderings_n++;
    return r;
}

static struct blob *gzip(const struct blob *text)
{
    _cleanup_buf_ struct buf out = {0};
    return gzip_add(&out, (struct bytes){text->data, text->n}) ? blob_new(out.data, out.n) : NULL;
}

/* "gzip, deflate;q=0.5", "*": is gzip among them and not with q=0? */
static bool accepts_gzip(const char *header)
{
    for (const char *at = header; at && *at;) {
        at += strspn(at, " \t,");
        size_t n = strcspn(at, " \t,;"), whole = strcspn(at, ",");
        if ((n == 4 && strncasecmp(at, "gzip", 4) == 0) || (n == 1 && *at == '*')) {
            const char *q = memmem(at, whole, "q=", 2);
            return !q || strtod(q + 2, NULL) > 0;
        }
        at += whole;
    }
    return false;
}

struct bytes serve_page(struct serve *s, bool openmetrics)
{
    const struct rendering *r = render(s, openmetrics);
    return (struct bytes){r->text->data, r->text->n};
}

void serve_set_page(struct serve *s, const struct page_config *page)
{
    s->config.page = *page;
    s->page++;
}

void serve_sampled(struct serve *s)
{
    for (int i = 0; i < 2; i++) {
        struct rendering *r = &s->renderings[i];
        if (r->asked || r->asked_gzip)
            (void)render(s, i == 1);
        if (r->asked_gzip && !r->gzip)
            r->gzip = gzip(r->text);
        r->asked = r->asked_gzip = false;
    }
}

/* ---- requests ---- */

static void answer_metrics(struct serve *s, struct http_exchange *x)
{
    const char *accept = http_header(&x->request, "accept");
    bool openmetrics = accept && prometheus_accepts_openmetrics(bytes_of(accept));
    struct rendering *r = render(s, openmetrics);
    s->counts.scrapes_n++;
    http_set_header(x, "Vary", "Accept, Accept-Encoding");
    const char *type = openmetrics ? OPENMETRICS_TYPE : TEXT_TYPE;
    if (!accepts_gzip(http_header(&x->request, "accept-encoding"))) {
        r->asked = true;
        http_reply(x, 200, type, blob_ref(r->text));
        return;
    }
    r->asked_gzip = true;
    if (!r->gzip)
        r->gzip = gzip(r->text);
    if (r->gzip)
        http_set_header(x, "Content-Encoding", "gzip");
    http_reply(x, 200, type, blob_ref(r->gzip ? r->gzip : r->text));
}

static void answer_ready(struct serve *s, struct http_exchange *x)
{
    struct collect_state state = {0};
    collect_state(s->collect, &state);
    double age_s = (double)loop_wall_ms(s->loop) / 1000 - state.last_success_s;
    if (!collect_last(s->collect))
        http_reply_text(x, 503, "text/plain; charset=utf-8",
                        state.driver_loaded ? "no collection yet\n" : "the driver is not loaded\n");
    else if (age_s > 3 * (double)s->config.period_ms / 1000)
        http_reply_text(x, 503, "text/plain; charset=utf-8", "the last collection is older than three periods\n");
    else
        http_reply_text(x, 200, "text/plain; charset=utf-8", "ok\n");
}

static const char index_page[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Capstan GPU exporter</title></head>\n"
    "<body><h1>Capstan GPU exporter</h1>\n<p>Version " CAPSTAN_VERSION "</p>\n<ul>\n"
    "<li><a href=\"/metrics\">Metrics</a></li>\n<li><a href=\"/readyz\">Ready</a>: collected within three periods</li>\n"
    "<li><a href=\"/healthz\">Healthy</a>: the process answers</li>\n</ul></body></html>\n";

static void refuse(struct serve *s, struct http_exchange *x, int status, const char *text)
{
    s->counts.refused_n++;
    if (status == 401)
        http_set_header(x, "WWW-Authenticate", "Basic");
    if (status == 429)
        http_set_header(x, "Retry-After", "1");
    http_reply_text(x, status, "text/plain; charset=utf-8", text);
}

/* True when the request may go on. */
static bool let_in(struct serve *s, struct http_exchange *x)
{
    int64_t now_ms = loop_now_ms(s->loop);
    if (!web_config_admits(s->web, now_ms)) {
        refuse(s, x, 429, "Too Many Requests\n");
        return false;
    }
    if (!web_config_knows(s->web, x->request.names)) {
        refuse(s, x, 403, "the certificate has none of the names that are allowed\n");
        return false;
    }
    int allowed = web_config_allows(s->web, http_header(&x->request, "authorization"), now_ms);
    if (allowed > 0)
        return true;
    refuse(s, x, allowed == 0 ? 401 : 429, allowed == 0 ? "Unauthorized\n" : "too many wrong passwords\n");
    return false;
}

static void on_request(void *ctx, struct http_exchange *x)
{
    struct serve *s = ctx;
    const char *path = x->request.path, *method = x->request.method;
    bool is_metrics = text_equal(path, "/metrics"), is_index = text_equal(path, "/"),
         is_ready = text_equal(path, "/readyz") || text_equal(path, "/health"), is_health = text_equal(path, "/healthz");
    for (uint32_t i = 0; i < s->web->headers_n; i++)
        http_set_header(x, s->web->headers[i].key, s->web->headers[i].value);
    if (!is_metrics && !is_index && !is_ready && !is_health) {
        http_reply_text(x, 404, "text/plain; charset=utf-8", "not here: see /metrics\n");
    } else if (!text_equal(method, "GET") && !text_equal(method, "HEAD")) {
        http_set_header(x, "Allow", "GET, HEAD");
        http_reply_text(x, 405, "text/plain; charset=utf-8", "only GET and HEAD\n");
    } else if (is_ready) {
        answer_ready(s, x);
    } else if (is_health) {
        http_reply_text(x, 200, "text/plain; charset=utf-8", "ok\n");
    } else if (let_in(s, x)) {
        if (is_metrics)
            answer_metrics(s, x);
        else
            http_reply_text(x, 200, "text/html; charset=utf-8", index_page);
    }
}

/* ---- the socket ---- */

static int listen_now(struct serve *s, struct err *e)
{
    struct http_server_config c = {.listen = s->config.listen,
                                   .tls_cert_pem = s->web->cert_pem,
                                   .tls_key_pem = s->web->key_pem,
                                   .tls_client_ca_pem = s->web->client_ca_pem,
                                   .client_auth = s->web->client_auth,
                                   .tls_priorities = s->web->priorities,
                                   .handler = on_request,
                                   .ctx = s,
                                   .idle_seconds = IDLE_SECONDS,
                                   .request_seconds = REQUEST_SECONDS,
                                   .connections_max = CONNECTIONS_MAX};
    return http_server_new(s->loop, &c, &s->server, e);
}

/* Returns -E_INVALID for what will not get better by itself. */
static int start(struct serve *s, struct err *e)
{
    struct err error = {0};
    int r = s->config.listen && *s->config.listen ? listen_now(s, &error) : 0;
    if (r == 0) {
        if (s->server)
            log_info("metrics port=%d tls=%s auth=%s", http_server_port(s->server), s->web->cert_pem ? "yes" : "no",
                     s->web->users_n ? "yes" : "no");
        s->error = (struct err){0};
        return 0;
    }
    if (r == -E_INVALID)
        return err_set(e, E_INVALID, "%s", error.text);
    if (!text_equal(error.text, s->error.text))
        log_error("metrics not served, trying again error=\"%s\"", error.text);
    s->error = error;
    return 0;
}

void serve_reload(struct serve *s)
{
    struct web_config *web = NULL;
    struct err e = {0};
    if (web_config_read(s->config.web_config, &web, &e) < 0) {
        log_warning("web config not usable, the one before stays error=\"%s\"", e.text);
        return;
    }
    if (web->hash == s->web->hash) {
        web_config_free(web);
        return;
    }
    struct web_config *old = s->web;
    http_server_free(s->server);
    s->server = NULL;
    s->web = web;
    if (start(s, &e) < 0) { /* a certificate that does not fit its key */
        log_warning("web config not usable, the one before stays error=\"%s\"", e.text);
        s->web = old;
        old = web;
        (void)start(s, NULL); /* it worked before */
    }
    web_config_free(old);
}

static void on_timer(void *arg)
{
    struct serve *s = arg;
    struct err e = {0};
    if (s->server && s->config.web_config)
        serve_reload(s);
    else if (!s->server && start(s, &e) < 0)
        log_error("metrics not served error=\"%s\"", e.text);
    loop_timer_start(s->timer, s->server ? LOOK_MS : AGAIN_MS, 0);
}

int serve_new(struct loop *l, struct collect *c, struct account *a, const struct serve_config *config,
              struct serve **ret_s, struct err *e)
{
    struct serve *s = mem_zero(1, sizeof *s);
    s->loop = l;
    s->collect = c;
    s->account = a;
    s->config = *config;
    if (!s->config.cache)
        s->config.cache = s->own_cache = page_cache_new();
    int r = web_config_read(config->web_config, &s->web, e);
    if (r == 0)
        r = start(s, e);
    if (r < 0) {
        serve_free(s);
        return r;
    }
    if (config->listen && *config->listen && !loop_is_virtual(l)) {
        s->timer = loop_timer_new(l, on_timer, s);
        loop_timer_start(s->timer, s->server ? LOOK_MS : AGAIN_MS, 0);
    }
    *ret_s = s;
    return 0;
}

void serve_free(struct serve *s)
{
    if (!s)
        return;
    loop_timer_free(s->timer);
    http_server_free(s->server);
    web_config_free(s->web);
    page_cache_free(s->own_cache);
    for (int i = 0; i < 2; i++) {
        blob_unref(s->renderings[i].text);
        blob_unref(s->renderings[i].gzip);
    }
    free(s);
}

int serve_port(const struct serve *s)
{
    return s->server ? http_server_port(s->server) : 0;
}

struct serve_counts serve_counts(const struct serve *s)
{
    return s->counts;
}
