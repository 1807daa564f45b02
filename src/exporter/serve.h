/* serve.h - :9400: /metrics, /healthz, /readyz (also /health), /, and nothing that waits for the driver
 *
 * One rendering per sample and format, shared by all scrapes, gzip once when asked for. TLS and basic auth by exporter-toolkit's
 * web.config.yml (cert_file, key_file, client_ca_file, client_auth_type, basic_auth_users with bcrypt). SOURCE monitoring.md 1.1, 7.2
 */
#ifndef EXPORTER_SERVE_H
#define EXPORTER_SERVE_H
#include "exporter/page.h"

struct serve_config {
    const char *listen;       /* ":9400" */
    const char *web_config;   /* NULL: plain */
    struct page_config page;
    int64_t period_ms;
};
struct serve;
int serve_new(struct loop *l, struct collect *c, struct account *a, const struct serve_config *config, struct serve **ret_s, struct err *e);
void serve_free(struct serve *s);
int serve_port(const struct serve *s);
/* The page as it would be answered now; borrowed until the next sample. */
struct bytes serve_page(struct serve *s, bool openmetrics);

#endif
