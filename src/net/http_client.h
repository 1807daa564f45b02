/* http_client.h - requests to one API server (or any HTTP peer), many in flight, answers by callback
 *
 * Two carriers behind one interface: libcurl multi on the loop (real), or straight into a handler in this process
 * (net/http_local.h: the embedded cluster, and simulation with faults). Connections are kept alive and reused; parallel requests open up to
 * `connections_max` connections (HTTP/1.1) or share one (HTTP/2 over TLS).
 */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H
#include "loop/loop.h"
#include "net/http.h"

struct http_client_config {
    const char *base_url; /* "https://10.0.0.1:6443", "http://127.0.0.1:8080", "unix:/path" */
    const char *ca_pem;   /* NULL = system roots */
    bool insecure_skip_verify;
    const char *tls_server_name; /* NULL = from URL */
    const char *client_cert_pem, *client_key_pem;
    const char *proxy_url;    /* NULL = environment */
    const char *user_agent;   /* NULL = "capstan/VERSION" */
    uint32_t connections_max; /* 0 = 16 */
    /* Authorization header of each request ("" = none), asked anew each time: token files are re-read by kube/. May be
     * NULL. */
    const char *(*authorization)(void *ctx);
    void *authorization_ctx;
};

struct http_client;
int http_client_new(struct loop *l, const struct http_client_config *config, struct http_client **ret_c, struct err *e);
void http_client_free(struct http_client *c); /* pending calls end with -E_IO "closed" */

struct http_answer {
    int status;                       /* HTTP status; 0 when the transport failed (see error) */
    struct bytes body;                /* good during the callback only; empty for streams */
    const struct http_param *headers; /* lower-case names */
    uint32_t headers_n;
    struct err error; /* transport errors */
};
typedef void (*http_answer_fn)(void *arg, const struct http_answer *answer);
/* Chunk of a streamed body. Return false to close the stream (on_answer follows). */
typedef bool (*http_chunk_fn)(void *arg, int status, struct bytes chunk);
/* Event of a watch whose server is in this process. Return false to close the stream (on_answer follows). */
typedef bool (*http_event_fn)(void *arg, const struct http_event *event);

#define HTTP_CALL_HEADERS_MAX 4
struct http_call {
    const char *method, *path; /* path with query, already encoded; copied */
    const char *content_type;  /* NULL = no body header */
    const char *accept;        /* NULL = application/json */
    const struct http_param *headers; /* further ones, HTTP_CALL_HEADERS_MAX at most; copied */
    uint32_t headers_n;
    struct bytes body;         /* copied */
    int64_t timeout_ms;        /* 0 = 60 s; for streams: the longest silence (0 = none) */
    size_t answer_max_bytes;   /* 0 = 64 MiB */
    http_chunk_fn on_chunk;    /* NULL = collect the body */
    http_event_fn on_event;    /* NULL = only chunks; beside on_chunk: the carrier gives one or the other */
    http_answer_fn on_answer;  /* exactly once, never inside http_client_send */
    void *arg;
};
/* Returns an id (> 0) for http_client_cancel. */
uint64_t http_client_send(struct http_client *c, const struct http_call *call);
/* The call ends without any callback. No-op when it is done. */
void http_client_cancel(struct http_client *c, uint64_t id);
uint32_t http_client_in_flight(const struct http_client *c);

/* Blocking convenience for commands (cli/): runs the loop until the answer is there. The answer's body is copied into
 * out. */
int http_client_fetch(struct http_client *c, const struct http_call *call, struct buf *out, int *ret_status,
                      struct err *e);

#endif
