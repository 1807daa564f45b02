/* http_server_part.h - inside the net room: what the HTTP server and the care for its connections share
 *
 * SHAPE  connection (libmicrohttpd's, with our struct link as socket context) -> at most one struct exchange.
 */
#ifndef NET_HTTP_SERVER_PART_H
#define NET_HTTP_SERVER_PART_H
#include "net/http_server.h"
#include "net/websocket/websocket.h"

struct MHD_Connection;

enum step { STEP_HEAD, STEP_BODY, STEP_HANDLER, STEP_ANSWERED };

struct extra_header {
    const char *name, *value;
    struct extra_header *next;
};

struct exchange {
    struct http_exchange x;     /* first: the handler's view */
    struct http_server *server; /* NULL = the server is gone, free at the answer */
    struct MHD_Connection *connection;
    struct link *link;
    struct exchange *next, *previous; /* in the list of suspended ones, or (next) of spare ones */
    struct buf body;
    const char *url; /* as sent */
    size_t url_n;
    struct extra_header *extra_first, *extra_last;
    size_t dropped_bytes; /* of a body beyond the limit */
    size_t held_bytes;    /* of the body that comes, then of the answer that goes: counted in the server's */
    int64_t progress_ms;  /* when the client took a part of the answer last */
    enum step step;
    bool suspended, woken, peer_gone, watched;
    bool unwanted; /* the handler will refuse: the body is read, so that the client reads the answer, but not kept */
    http_pull_fn pull;
    void (*closed)(void *arg);
    void *arg;
    struct websocket *socket; /* in the place of an answer of libmicrohttpd's, which does not look at the connection meanwhile */
    bool is_socket;           /* there is one, or was */
};

struct link { /* one connection */
    struct MHD_Connection *connection;
    struct link *next, **at; /* in the server's list */
    struct exchange *exchange;
    bool answered;               /* one request has come whole and was answered */
    bool cut;                    /* libmicrohttpd will see the end */
    char *user, *groups, *names; /* from the client certificate; user NULL = not looked at yet */
    int64_t since_ms;    /* the request line came; before that: the connection began, or its last answer was sent */
};

struct http_server {
    struct loop *l;
    struct MHD_Daemon *daemon;
    struct loop_poll *poll, *gone_poll;
    struct loop_timer *timer, *sweep;
    struct exchange *spare, *suspended;
    struct link *links;
    uint32_t idle_seconds, request_seconds, connections_max;
    uint32_t spare_n, connections_n;
    size_t held_bytes, held_bytes_max; /* of all exchanges */
    bool (*head)(void *ctx, const struct http_exchange *x);
    http_handler_fn handler;
    void *ctx;
    int port, gone_fd;
    bool tls, running, closing;
    enum http_client_auth client_auth;
    char *unix_path;
};

/* ---- http_links.c ---- */
struct link *link_new(struct http_server *s, struct MHD_Connection *connection);
void link_free(struct link *link);
/* When the server is full, whoever has been waited for longest gives way; not `newest`, which may be NULL. */
void links_make_room(struct http_server *s, const struct link *newest);
/* Count bytes that x holds now, instead of those that it held. Beyond held_bytes_max whoever has been waited for longest gives way,
 * as what comes or goes at once is never waited for long. */
void exchange_hold(struct exchange *x, size_t bytes);
void links_sweep(void *server);

#endif
