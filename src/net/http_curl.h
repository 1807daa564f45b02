/* http_curl.h - inside the net room: the parts of the libcurl carrier
 *
 * http_client.c   calls: queue, start, end, time limits; the other two know nothing of it
 * http_easy.c     one call's options: URL, headers, TLS
 * http_socket.c   libcurl's descriptors and timer on the loop
 */
#ifndef NET_HTTP_CURL_H
#define NET_HTTP_CURL_H
#include "net/curl_library.h"
#include "net/http_carrier.h"

enum { REQUEST_HEADERS_MAX = 6 + HTTP_CALL_HEADERS_MAX, ANSWER_HEADERS_MAX = 64 };

/* One request. Kept for reuse together with its easy handle and buffers. */
struct curl_call {
    struct curl_client *c;
    struct curl_call *next, *previous; /* queue or active list; next: spare list */
    uint64_t id;
    CURL *easy; /* NULL until first started */
    bool is_active, is_busy, is_cancelled;
    struct buf texts;        /* url, method and header lines, each NUL terminated */
    struct buf body;         /* of the request */
    struct buf answer;       /* body of the answer */
    struct buf header_lines; /* of the answer: name NUL value NUL ... */
    uint32_t header_n;
    struct curl_slist headers[REQUEST_HEADERS_MAX];
    uint32_t headers_n;
    size_t url_at, method_at, header_at[REQUEST_HEADERS_MAX];
    int status; /* of the answer so far */
    size_t answer_max_bytes;
    int64_t silence_ms;  /* streams: longest silence, 0 = none */
    int64_t deadline_ms; /* 0 = none */
    int failure;         /* E_* that we found ourselves; libcurl only says "aborted" */
    http_chunk_fn on_chunk;
    http_answer_fn on_answer;
    void *arg;
    char curl_text[CURL_ERROR_SIZE];
};

struct curl_calls {
    struct curl_call *first, *last;
    uint32_t n;
};

struct curl_socket;

struct curl_client {
    struct http_client base;
    CURLM *multi;
    struct loop_timer *timer, *sweep; /* libcurl's timer; our time limits */
    int64_t sweep_due_ms;
    struct curl_socket **sockets; /* by descriptor; NULL = not ours */
    size_t sockets_cap;
    struct curl_calls queue, active;         /* calls: waiting; running, at most connections_max */
    struct curl_calls stream_queue, streams; /* calls with on_chunk: to be started this turn; running, not counted */
    struct curl_call *spare;
    uint32_t spare_n, connections_max;
    uint64_t last_id;
    void (*progressed)(struct curl_client *c); /* libcurl has done something: look for ended calls */
    uint32_t inside; /* depth of libcurl's and users' callbacks: the multi handle may not be changed, the client not freed */
    bool is_freed;
    char *base_url, *unix_path, *host_header, *user_agent, *proxy_url;
    struct curl_slist *connect_to;
    int ca_fd, cert_fd, key_fd; /* memory files with PEM; -1 = none */
    bool is_tls, insecure_skip_verify;
    const char *(*authorization)(void *ctx);
    void *authorization_ctx;
};

/* Options that all calls of a client share. Sets call->easy. */
void http_easy_create(struct curl_call *k);
/* Options of this call: fills texts from call, then sets them. */
void http_easy_prepare(struct curl_call *k, const struct http_call *call);
void http_easy_apply(struct curl_call *k);

void http_socket_init(struct curl_client *c);
void http_socket_fini(struct curl_client *c);
/* Lets go of descriptors that libcurl has closed without saying so. */
void http_socket_sweep(struct curl_client *c);
void http_socket_easy(struct curl_call *k); /* the easy handle's part: who opens and closes descriptors */

#endif
