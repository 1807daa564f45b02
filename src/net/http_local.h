/* http_local.h - an HTTP client whose server is a handler in the same process, with faults from one seed
 *
 * Used with the virtual loop: the same kube/, sched/, jobs/ and apiserver/ code as live, no sockets. Each call and each
 * stream chunk is delayed and may fail as the fault table says.
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
/* faults may be changed while running (pointed to, not copied); NULL = none. */
struct http_client *http_local_client_new(struct loop *l, http_handler_fn handler, void *ctx,
                                          const struct http_faults *faults, uint64_t seed);

#endif
