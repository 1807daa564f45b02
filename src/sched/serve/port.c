#include "sched/serve/port.h"
#include <stdlib.h>
#include "base/memory.h"
#include "net/http_server.h"
#include "wire/prometheus.h"

enum { CONNECTIONS_MAX = 64, IDLE_SECONDS = 60, REQUEST_SECONDS = 10 };
#define PLAIN "text/plain; charset=utf-8"

struct scheduler_port {
    const struct scheduler *scheduler;
    struct http_server *server;
};

void scheduler_page_answer(const struct scheduler *s, struct http_exchange *x)
{
    const char *accept = http_header(&x->request, "accept");
    bool openmetrics = accept && prometheus_accepts_openmetrics(bytes_of(accept));
    _cleanup_buf_ struct buf out = {0};
    scheduler_page(s, openmetrics, &out);
    http_set_header(x, "Vary", "Accept");
    http_reply(x, 200, openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8",
               blob_new(out.data, out.n));
}

static void on_request(void *ctx, struct http_exchange *x)
{
    const struct scheduler_port *p = ctx;
    const char *path = x->request.path, *method = x->request.method;
    bool is_page = text_equal(path, "/metrics"), is_ready = text_equal(path, "/readyz");
    if (!is_page && !is_ready && !text_equal(path, "/healthz")) {
        http_reply_text(x, 404, PLAIN, "not found: /metrics, /healthz and /readyz are here\n");
    } else if (!text_equal(method, "GET") && !text_equal(method, "HEAD")) {
        http_set_header(x, "Allow", "GET, HEAD");
        http_reply_text(x, 405, PLAIN, "GET only\n");
    } else if (is_page) {
        scheduler_page_answer(p->scheduler, x);
    } else if (is_ready && !scheduler_counts(p->scheduler).synced) {
        http_reply_text(x, 503, PLAIN, "not everything has been read yet\n");
    } else {
        http_reply_text(x, 200, PLAIN, "ok\n");
    }
}

int scheduler_port_new(struct loop *l, const struct scheduler *s, const char *address, struct scheduler_port **ret_p, struct err *e)
{
    struct scheduler_port *p = mem_zero(1, sizeof *p);
    p->scheduler = s;
    struct http_server_config config = {.listen = address,
                                        .handler = on_request,
                                        .ctx = p,
                                        .connections_max = CONNECTIONS_MAX,
                                        .idle_seconds = IDLE_SECONDS,
                                        .request_seconds = REQUEST_SECONDS};
    int r = http_server_new(l, &config, &p->server, e);
    if (r < 0) {
        free(p);
        return r;
    }
    *ret_p = p;
    return 0;
}

int scheduler_port_number(const struct scheduler_port *p)
{
    return http_server_port(p->server);
}

void scheduler_port_free(struct scheduler_port *p)
{
    if (!p)
        return;
    http_server_free(p->server);
    free(p);
}
