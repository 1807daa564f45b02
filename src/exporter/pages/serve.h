/* serve.h - :9400: /metrics, /healthz, /readyz (also /health), /, and nothing that waits for the driver
 *
 * One rendering per sample and format, shared by all scrapes, gzip once when asked for. TLS and basic auth by exporter-toolkit's
 * web.config.yml (exporter/pages/web_config.h), read again when it changes; the health paths need no password, since kubelets have none. A
 * port that is taken does not end the agent: it is tried again.
 * SOURCE dcgm-exporter (address and flags); prometheus.io, "Exposition formats"
 */
#ifndef EXPORTER_SERVE_H
#define EXPORTER_SERVE_H
#include "exporter/pages/page.h"

struct serve_config {
    const char *listen;       /* ":9400" all addresses, "127.0.0.1:0", "unix:/path"; NULL: no socket, only serve_page */
    const char *web_config;   /* path; NULL: plain */
    struct page_config page;
    struct page_cache *cache; /* shared with other renderings; NULL: its own */
    int64_t period_ms;
};
struct serve_counts {
    uint64_t scrapes_n, renderings_n, refused_n; /* refused: wrong or missing password, a certificate of no allowed name, too many */
};
struct serve;
/* Texts and page.counters are the caller's until serve_free or serve_set_page. `a` may be NULL. -E_INVALID: the address or the web config
 * is wrong; -E_NOTFOUND, -E_DENIED, -E_LIMIT, -E_IO of the web config's files. */
int serve_new(struct loop *l, struct collect *c, struct account *a, const struct serve_config *config, struct serve **ret_s, struct err *e);
void serve_free(struct serve *s); /* NULL-safe */
int serve_port(const struct serve *s); /* 0: not listening (yet) */
/* Other counters from the next rendering on. */
void serve_set_page(struct serve *s, const struct page_config *page);
void serve_reload(struct serve *s); /* read the web config again now */
/* The page as it would be answered now; borrowed until the next call or request. */
struct bytes serve_page(struct serve *s, bool openmetrics);
/* A sample has come: what was asked for since the last one is rendered now, so that scrapers wait for nothing. */
void serve_sampled(struct serve *s);
struct serve_counts serve_counts(const struct serve *s);

#endif
