/* push.h - bodies that have to reach an HTTP server some time: a bounded queue, one request at a time, retries with back-off
 *
 *     push_add ─▶ [queue, oldest dropped when full] ─▶ POST ─┬ 2xx          gone
 *                            ▲                               ├ 4xx but 429  dropped: it would be refused again
 *                            └──── 1 s doubling to 60 s ─────┴ else         tried again, up to PUSH_AGE_MS
 *                                  or what Retry-After says
 *
 * LIMIT  queue_max bodies and PUSH_QUEUE_BYTES, whichever is reached first: a receiver that is down does not eat the agent's memory.
 */
#ifndef EXPORTER_PUSH_H
#define EXPORTER_PUSH_H
#include "net/http_client.h"

#define PUSH_AGE_MS (10 * 60 * 1000) /* older samples help nobody; Prometheus refuses them out of order anyway */
#define PUSH_QUEUE_BYTES (8u << 20)

struct push_config {
    const char *url;                  /* scheme, host, port: "http://10.0.0.1:8086"; a path is put before `path`; no password */
    const char *path;                 /* "/write?db=x&precision=s" */
    const char *content_type;
    const char *authorization;        /* value of the header; NULL none */
    const struct http_param *headers; /* kept by reference */
    uint32_t headers_n;
    uint32_t queue_max;               /* bodies; 0 = 64 */
};
struct push_counts {
    uint64_t sent_n, retried_n, dropped_n, refused_n; /* dropped: too old or too many; refused: 4xx */
    uint32_t queued_n;
    char last_error[160];             /* "" none */
};
struct push;
/* The value of an Authorization header; password may be NULL. */
void push_basic(struct buf *out, const char *user, const char *password);
int push_new(struct loop *l, const struct push_config *config, struct push **ret_p, struct err *e);
/* Over a client of the caller's, which is the push's from now on; url and authorization are the client's. For simulations and tests. */
struct push *push_wrap(struct loop *l, struct http_client *http, const struct push_config *config);
void push_free(struct push *p); /* what waits is dropped */
void push_add(struct push *p, struct bytes body); /* copied */
struct push_counts push_counts(const struct push *p);

#endif
