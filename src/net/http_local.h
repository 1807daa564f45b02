/* http_local.h - an HTTP client whose server is a handler in the same process, with faults from one seed
 *
 * Used by `capstan up`, whose scheduler, controllers and kubelets live beside the API server: a request is a call in the
 * next turn of the loop, an event of a watch the stored bytes themselves. And with the virtual loop: the same kube/,
 * sched/, jobs/ and apiserver/ code, no sockets, each call and each stream chunk delayed and failing as the fault table
 * says.
 */
#ifndef NET_HTTP_LOCAL_H
#define NET_HTTP_LOCAL_H
#include "net/http_client.h"

struct http_faults {
    uint32_t latency_ms_max;       /* 0..max, uniform */
    uint32_t refuse_permille;      /* transport error before the handler sees the request */
    uint32_t lose_answer_permille; /* handler ran, the answer is lost */
    uint32_t status_409_permille, status_429_permille,
        status_500_permille;       /* answered instead of the handler; writes only for 409 */
    uint32_t slow_permille;        /* takes 100 times latency_ms_max */
    uint32_t stream_drop_permille; /* per chunk: the stream ends without its end */
    uint32_t stream_gone_permille; /* per new watch: 410 Expired */
};
struct http_local_config {
    http_handler_fn handler;
    void *ctx;
    const struct http_faults *faults; /* may be changed while running (pointed to, not copied); NULL = none */
    uint64_t seed;                    /* of the faults */
    const char *user, *groups;        /* who asks, as struct http_request has it; NULL = nobody */
    const char *user_agent;           /* NULL = none */
};
struct http_client *http_local_client_as(struct loop *l, const struct http_local_config *config);
/* The same for nobody. faults may be changed while running (pointed to, not copied); NULL = none. */
struct http_client *http_local_client_new(struct loop *l, http_handler_fn handler, void *ctx,
                                          const struct http_faults *faults, uint64_t seed);

#endif
