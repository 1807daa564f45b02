/* http.h - one request and its answer, whatever carries it
 *
 * A server (net/http_server.h: libmicrohttpd on a socket; net/http_local.h: calls inside the process) turns what it reads into a struct
 * http_request and calls one handler. The handler answers now or later, at once or as a stream:
 *
 *     handler(ctx, x) -> http_reply(x, 200, "application/json", blob)          one body
 *                     -> http_stream(x, 200, "application/json", pull, ...)    a body without end (watch, log -f)
 *
 * OWNER  the request and everything in it live until the answer is complete. `x` is gone after http_reply, or after the stream's `closed`
 *        callback.
 * LIMIT  LIMIT_URL_BYTES, LIMIT_HEADERS_BYTES, LIMIT_BODY_BYTES: the server refuses larger ones itself (414, 431, 413).
 * A stream goes to a client that asks for a WebSocket as messages of one (net/websocket).
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/arena.h"
#include "base/bytes.h"

struct http_param {
    const char *key, *value; /* percent-decoded, '+' is a space; value "" when absent */
};

struct http_request {
    const char *method; /* upper case */
    const char *path;   /* percent-decoded, without query; no NUL inside; starts with '/' */
    const struct http_param *query;
    uint32_t query_n;
    const struct http_param *headers; /* names lower-cased */
    uint32_t headers_n;
    struct bytes body;
    struct arena *arena; /* lives as long as the request: the handler may allocate here */
    const char *user;    /* authenticated name ("" = none): bearer token or client certificate, TLS mode only */
    const char *groups;  /* of the client certificate, one a line; NULL or "" = none */
    const char *names;   /* its subject alternative names (DNS, e-mail, IP, URI), likewise */
    bool is_inside;      /* the client is in this process ... */
    bool takes_events;   /* ... and http_stream_events may be used */
};
const char *http_query(const struct http_request *r, const char *key);   /* first value or NULL */
const char *http_header(const struct http_request *r, const char *name); /* lower-case name; NULL when absent */

struct http_exchange {
    struct http_request request;
    const struct http_exchange_ops *ops; /* the carrier's */
};

/* Stream source: fill up to max bytes. Returns bytes written, 0 = nothing now (the carrier sleeps until
 * http_stream_wake), -1 = end of body. */
typedef ssize_t (*http_pull_fn)(void *arg, char *out, size_t max);

/* An event of a watch for a client in this process: no text is made around the object, none is taken apart again. */
struct http_event {
    const char *type;    /* "ADDED", ... */
    struct bytes object; /* good until the next pull, or `closed` */
    const struct blob *body; /* that has this text; NULL: none */
    const char *ns, *name;   /* of the object; name NULL: the text says it */
    uint64_t rv;             /* likewise its version */
};
/* Returns 1 and one event, 0 = none now, -1 = end of the stream. */
typedef int (*http_pull_event_fn)(void *arg, struct http_event *ret_event);

struct http_exchange_ops {
    void (*header)(struct http_exchange *x, const char *name, const char *value);
    void (*reply)(struct http_exchange *x, int status, const char *content_type, struct blob *body);
    void (*stream)(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                   void (*closed)(void *arg), void *arg);
    void (*wake)(struct http_exchange *x);
    /* NULL: a socket, whose requests never take events. */
    void (*stream_events)(struct http_exchange *x, int status, const char *content_type, http_pull_event_fn pull,
                          void (*closed)(void *arg), void *arg);
    bool (*from_here)(const struct http_exchange *x); /* NULL: the carrier is in this process */
};

/* Does the host of "name:port" or "[::1]:port" have this name, in whatever case? */
bool http_host_is(const char *authority, const char *name);
bool http_host_is_loopback(const char *authority); /* localhost, 127.0.0.1, [::1] */
/* Sent by a page of this very server, or by no page at all? WHY  another port of this machine is another web site. */
bool http_origin_is_own(const struct http_request *r);
/* Does the client run on this machine (its address is a loopback one, or it came by a unix socket)? */
bool http_from_here(const struct http_exchange *x);

/* Add a response header before the answer (several of one name are allowed: Warning). Values are copied; CR/LF in
 * values become spaces. */
void http_set_header(struct http_exchange *x, const char *name, const char *value);
/* Answer. `body` may be NULL; its reference is taken over. */
void http_reply(struct http_exchange *x, int status, const char *content_type, struct blob *body);
void http_reply_text(struct http_exchange *x, int status, const char *content_type, const char *text);
/* Answer with a body that `pull` produces. `closed(arg)` is called exactly once: after the end or when the client is
 * gone. */
void http_stream(struct http_exchange *x, int status, const char *content_type, http_pull_fn pull,
                 void (*closed)(void *arg), void *arg);
/* The same, where request.takes_events: events instead of bytes. */
void http_stream_events(struct http_exchange *x, int status, const char *content_type, http_pull_event_fn pull,
                        void (*closed)(void *arg), void *arg);
/* More may be there: pull again. Callable any time before `closed`. */
void http_stream_wake(struct http_exchange *x);

typedef void (*http_handler_fn)(void *ctx, struct http_exchange *x);

/* Append text percent-encoded for use in a path segment or query value. */
void http_escape(struct buf *out, const char *text);

#endif
