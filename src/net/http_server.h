/* http_server.h - HTTP/1.1 (and TLS) on a TCP or unix socket: libmicrohttpd on our loop
 *
 * One thread: libmicrohttpd's epoll descriptor is polled by the loop (external epoll, suspend/resume for answers that
 * come later). TCP_NODELAY; keep-alive; at most connections_max. Connections that are idle for idle_seconds are closed,
 * and so are those whose request has not come whole in request_seconds, however busily it trickles.
 */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H
#include "loop/loop.h"
#include "net/http.h"

/* What is asked of clients in the TLS handshake. With OPTIONAL the handler decides: request.user is "" without a certificate of the CA. */
enum http_client_auth {
    HTTP_CLIENT_AUTH_OPTIONAL,
    HTTP_CLIENT_AUTH_ANY,      /* a certificate, whoever signed it */
    HTTP_CLIENT_AUTH_IF_GIVEN, /* none, or one of the CA; without a CA none */
    HTTP_CLIENT_AUTH_REQUIRED, /* one of the CA */
};

struct http_server_config {
    const char *listen; /* "127.0.0.1:8080", "[::1]:0", ":8080" (all), "unix:/path"; port 0 = any free */
    const char *tls_cert_pem, *tls_key_pem,
        *tls_client_ca_pem; /* NULL = plain; client CA optional: verified peers get user = CN */
    enum http_client_auth client_auth; /* the last one needs tls_client_ca_pem */
    const char *tls_priorities;        /* versions, ciphers, curves as GnuTLS writes them; NULL = its default */
    http_handler_fn handler;
    /* Asked when the head of a request with a body has come: false when the handler will refuse whatever the body says (who asks is not
     * known, or may not). Then none of the body is kept. Does not answer. May be NULL. */
    bool (*head)(void *ctx, const struct http_exchange *x);
    void *ctx;
    uint32_t idle_seconds;    /* 0 = LIMIT_IDLE_SECONDS */
    /* for the first request of a connection, and for each from its request line on, to come whole; 0 = idle_seconds */
    uint32_t request_seconds;
    size_t held_bytes_max;    /* of bodies and answers: beyond it whoever has been waited for longest is cut; 0 = LIMIT_HELD_BYTES */
    /* at so many the one whose request has been waited for longest is cut; while all are being answered more wait; 0 = LIMIT_CONNECTIONS */
    uint32_t connections_max;
};
struct http_server;
/* -E_INVALID for a malformed address, -E_IO "port in use" etc. with what to do instead. */
int http_server_new(struct loop *l, const struct http_server_config *config, struct http_server **ret_s, struct err *e);
int http_server_port(const struct http_server *s); /* bound port; 0 for unix sockets */
uint32_t http_server_connections(const struct http_server *s);
void http_server_free(struct http_server *s); /* closes all; open streams get `closed` */

#endif
