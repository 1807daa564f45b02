#include "sched/serve/port.h"
#include <stdlib.h>
#include "base/memory.h"
#include "net/http_server.h"
#include "sched/view/view.h"
#include "wire/prometheus.h"

enum { CONNECTIONS_MAX = 64 + VIEW_VIEWERS_MAX, IDLE_SECONDS = 60, REQUEST_SECONDS = 10 };
#define PLAIN "text/plain; charset=utf-8"

struct scheduler_port {
    const struct scheduler *scheduler;
    struct view *view;
    struct http_server *server;
};

/* The page shows whose jobs stand where, and this port asks nobody who he is: it is for those who are on this machine already, as through
 * `kubectl port-forward`, which asks. WHY  Host and Origin: any page in such a one's browser can reach loopback, too. */
static bool page_allowed(const struct http_exchange *x)
{
    const char *host = http_header(&x->request, "host");
    return http_from_here(x) && host && http_host_is_loopback(host) && http_origin_is_own(&x->request);
}

static bool is_page_path(const char *path)
{
    return !path[1] || text_equal(path, "/ui") || text_starts(path, "/ui/");
}

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
    if (is_page_path(path)) {
        if (!page_allowed(x))
            http_reply_text(x, 403, PLAIN,
                            "the page is for this machine only, as localhost: kubectl -n capstan-system port-forward deploy/capstan-scheduler "
                            "8081, then http://localhost:8081/ui/\n");
        else if (!view_handle(p->view, x))
            http_reply_text(x, 404, PLAIN, "not found: /ui/, /metrics, /healthz and /readyz are here\n");
        return;
    }
    bool is_page = text_equal(path, "/metrics"), is_ready = text_equal(path, "/readyz");
    if (!is_page && !is_ready && !text_equal(path, "/healthz")) {
        http_reply_text(x, 404, PLAIN, "not found: /ui/, /metrics, /healthz and /readyz are here\n");
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

int scheduler_port_new(struct loop *l, struct scheduler *s, const char *address, struct scheduler_port **ret_p, struct err *e)
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
    p->view = view_new(l, s);
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
    view_free(p->view);
    http_server_free(p->server);
    free(p);
}
