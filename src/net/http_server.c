/* http_server.c - libmicrohttpd on the loop
 *
 * The loop polls libmicrohttpd's epoll descriptor. A request that is not answered inside the handler suspends its
 * connection; the answer resumes it, and one MHD_run at the end of the turn sends everything that this turn produced. A
 * stream that has nothing to send is suspended too; its descriptor then stands in a second epoll set that only tells
 * when the client hangs up.
 *
 * OWNER  an exchange ends when libmicrohttpd has completed the request; when the server goes first, with its answer (orphan).
 */
#include "net/http_server.h"
#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"
#include "base/log.h"
#include "base/memory.h"
#include "net/http_listen.h"
#include "net/http_request.h"
#include "net/http_server_part.h"
#include "net/http_tls.h"

enum {
    POOL_BYTES = 32 << 10, /* libmicrohttpd's memory for one connection: request line, headers, socket buffers. Nearly
                                    all of it becomes resident, for each watch */
    BLOCK_BYTES = 2 << 10, /* buffer of a stream to an HTTP/1.0 client; others are chunked in the pool */
    SPARE_MAX = 64,        /* exchanges kept for reuse */
    SPARE_KEEP_BYTES = 64 << 10, /* an exchange that grew beyond this is not kept */
    DISCARD_MAX_BYTES =
        64 << 20, /* of a body that is too large anyway, so that the client reads our 413 instead of a reset */
    HEADERS_MAX = 256,
    GONE_BATCH = 64,
    FILES_WANTED = LIMIT_CONNECTIONS + 1024,
};

static const struct http_exchange_ops server_ops;
static void server_kick(struct http_server *s);

static struct exchange *exchange_new(struct http_server *s, struct MHD_Connection *connection, struct link *link)
{
    struct exchange *x = s->spare;
    if (x) {
        s->spare = x->next;
        s->spare_n--;
        struct arena *arena = x->x.request.arena;
        struct buf body = x->body;
        memset(x, 0, sizeof *x);
        x->x.request.arena = arena;
        x->body = body;
    } else {
        x = mem_zero(1, sizeof *x);
        x->x.request.arena = arena_new();
    }
    x->x.ops = &server_ops;
    x->server = s;
    x->connection = connection;
    x->link = link;
    return x;
}

static void exchange_free(struct exchange *x)
{
    arena_free(x->x.request.arena);
    buf_free(&x->body);
    free(x);
}

static void exchange_release(struct exchange *x)
{
    struct http_server *s = x->server;
    exchange_hold(x, 0);
    if (!s || s->spare_n >= SPARE_MAX || arena_used(x->x.request.arena) > SPARE_KEEP_BYTES ||
        x->body.cap > SPARE_KEEP_BYTES) {
        exchange_free(x);
        return;
    }
    arena_reset(x->x.request.arena);
    buf_clear(&x->body);
    x->next = s->spare;
    s->spare = x;
    s->spare_n++;
}

static void exchange_resume(struct exchange *x)
{
    if (!x->suspended)
        return;
    x->suspended = false;
    *(x->previous ? &x->previous->next : &x->server->suspended) = x->next;
    if (x->next)
        x->next->previous = x->previous;
    MHD_resume_connection(x->connection);
    server_kick(x->server);
}

static void exchange_suspend(struct exchange *x)
{
    struct http_server *s = x->server;
    x->suspended = true;
    x->previous = NULL;
    x->next = s->suspended;
    if (s->suspended)
        s->suspended->previous = x;
    s->suspended = x;
    MHD_suspend_connection(x->connection);
}

/* Hand a response over to the connection; its reference is ours to drop. */
static void exchange_queue(struct exchange *x, int status, const char *content_type, struct MHD_Response *response)
{
    if (content_type)
        (void)MHD_add_response_header(response, "Content-Type",
                                      content_type); /* fails only for texts with line breaks */
    for (struct extra_header *h = x->extra_first; h; h = h->next)
        (void)MHD_add_response_header(response, h->name, h->value);
    x->step = STEP_ANSWERED;
    x->progress_ms = loop_now_ms(x->server->l);
    (void)MHD_queue_response(x->connection, (unsigned)status,
                             response); /* fails when the server closes: "completed" follows */
    MHD_destroy_response(response);
    exchange_resume(x);
}

static void server_header(struct http_exchange *hx, const char *name, const char *value)
{
    struct exchange *x = (struct exchange *)hx;
    struct extra_header *h = arena_zero(hx->request.arena, 1, sizeof *h);
    h->name = arena_text(hx->request.arena, name);
    h->value = http_header_clean(hx->request.arena, value);
    *(x->extra_last ? &x->extra_last->next : &x->extra_first) = h;
    x->extra_last = h;
}

static void response_check(const struct MHD_Response *response)
{
    if (response)
        return;
    log_error("out of memory for an HTTP answer"); /* as base/memory.c does */
    exit(70);
}

static void blob_drop(void *blob)
{
    blob_unref(blob);
}

static void server_reply(struct http_exchange *hx, int status, const char *content_type, struct blob *body)
{
    struct exchange *x = (struct exchange *)hx;
    assert(x->step == STEP_HANDLER || x->step == STEP_HEAD || x->step == STEP_BODY);
    if (!x->server) {
        blob_unref(body);
        exchange_free(x);
        return;
    }
    struct MHD_Response *response =
        body ? MHD_create_response_from_buffer_with_free_callback_cls(body->n, body->data, blob_drop, body)
             : MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    response_check(response);
    exchange_hold(x, body && body->refs == 1 ? body->n : 0); /* others keep a shared one anyway */
    exchange_queue(x, status, content_type, response);
}

static ssize_t stream_read(void *cls, uint64_t at, char *out, size_t max)
{
    (void)at;
    struct exchange *x = cls;
    if (x->peer_gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    do {
        x->woken = false;
        x->progress_ms = loop_now_ms(x->server->l);
        ssize_t n = x->pull(x->arg, out, max);
        if (n > 0)
            return n;
        if (n < 0)
            return MHD_CONTENT_READER_END_OF_STREAM;
    } while (x->woken); /* RACE something came while we were told that there is nothing */
    exchange_suspend(x);
    return 0;
}

/* Ask for one event when the client closes its side, for a connection that libmicrohttpd does not look at while it is
 * suspended. */
static void stream_watch_peer(struct exchange *x)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = x};
    x->watched = info && epoll_ctl(x->server->gone_fd, EPOLL_CTL_ADD, info->connect_fd, &ev) == 0;
}

static void stream_unwatch_peer(struct exchange *x)
{
    if (!x->watched)
        return;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        (void)epoll_ctl(x->server->gone_fd, EPOLL_CTL_DEL, info->connect_fd,
                        NULL); /* a closed one has left by itself */
    x->watched = false;
}

static void socket_progress(void *owner)
{
    struct exchange *x = owner;
    x->progress_ms = loop_now_ms(x->server->l);
}

/* The connection is libmicrohttpd's again, which ends it: on_request says so. */
static void socket_end(struct exchange *x)
{
    websocket_free(x->socket);
    x->socket = NULL;
    x->peer_gone = true;
    const union MHD_ConnectionInfo *info =
        x->server->tls ? MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
    if (info)
        http_tls_bye(info->tls_session);
    exchange_resume(x);
}

static void socket_over(void *owner)
{
    socket_end(owner);
}

/* What is sent before the first message. */
static struct bytes socket_head(const struct exchange *x, const char *accept, const char *protocol)
{
    struct arena *a = x->x.request.arena;
    const char *text = arena_printf(a,
                                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                                    "Sec-WebSocket-Accept: %s\r\n%s%s%s",
                                    accept, protocol ? "Sec-WebSocket-Protocol: " : "", protocol ? protocol : "", protocol ? "\r\n" : "");
    for (const struct extra_header *h = x->extra_first; h; h = h->next)
        text = arena_printf(a, "%s%s: %s\r\n", text, h->name, h->value);
    return bytes_of(arena_printf(a, "%s\r\n", text));
}

/* OWNER  libmicrohttpd's connection, suspended: its socket is ours until it is resumed.
 * WHY    libmicrohttpd 0.9.75 can hand sockets over, but those that it ciphers for are forwarded by it, and not all that is written comes
 *        through, nor do all of them end.
 * LIMIT  what a client sends before it has our answer, which it must not, may be lost with libmicrohttpd's buffer. */
static void socket_answer(struct exchange *x, const char *content_type)
{
    const struct http_request *r = &x->x.request;
    const char *accept = websocket_accept(r->arena, http_header(r, "sec-websocket-key"), http_header(r, "sec-websocket-version"));
    const char *protocol;
    if (!accept) {
        static const char text[] = "a WebSocket of version 13 with its Sec-WebSocket-Key is spoken here\n";
        struct MHD_Response *response = MHD_create_response_from_buffer(sizeof text - 1, (void *)text, MHD_RESPMEM_PERSISTENT);
        response_check(response);
        exchange_queue(x, 400, "text/plain", response);
        return;
    }
    enum websocket_form form = websocket_form_of(http_header(r, "sec-websocket-protocol"), content_type, &protocol);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int fd = info->connect_fd; /* WHY  copied: the next question may have its answer in the same place */
    info = x->server->tls ? MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
    x->step = STEP_ANSWERED;
    x->is_socket = true;
    x->progress_ms = loop_now_ms(x->server->l);
    if (!x->suspended)
        exchange_suspend(x);
    x->socket = websocket_new(&(struct websocket_config){.loop = x->server->l,
                                                         .fd = fd,
                                                         .tls_session = info ? info->tls_session : NULL,
                                                         .form = form,
                                                         .pull = x->pull,
                                                         .pull_arg = x->arg,
                                                         .progress = socket_progress,
                                                         .over = socket_over,
                                                         .owner = x},
                              socket_head(x, accept, protocol));
}

static void server_stream(struct http_exchange *hx, int status, const char *content_type, http_pull_fn pull,
                          void (*closed)(void *arg), void *arg)
{
    struct exchange *x = (struct exchange *)hx;
    assert(x->step == STEP_HANDLER);
    if (!x->server) {
        exchange_free(x);
        closed(arg);
        return;
    }
    x->pull = pull;
    x->closed = closed;
    x->arg = arg;
    if (websocket_is_asked(hx->request.method, http_header(&hx->request, "connection"), http_header(&hx->request, "upgrade"))) {
        socket_answer(x, content_type);
        return;
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, stream_read, x, NULL);
    response_check(response);
    stream_watch_peer(x);
    exchange_queue(x, status, content_type, response);
}

static void server_wake(struct http_exchange *hx)
{
    struct exchange *x = (struct exchange *)hx;
    x->woken = true;
    if (x->socket)
        websocket_wake(x->socket);
    else if (x->server)
        exchange_resume(x);
}

static bool server_from_here(const struct http_exchange *hx)
{
    const struct exchange *x = (const struct exchange *)hx;
    const union MHD_ConnectionInfo *info = x->server ? MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS) : NULL;
    return info && http_address_is_loopback(info->client_addr);
}

static const struct http_exchange_ops server_ops = {server_header, server_reply, server_stream, server_wake, NULL, server_from_here};

static void refuse(struct exchange *x, int status, const char *reason, const char *message)
{
    server_reply(&x->x, status, "application/json", http_status_blob(status, reason, message));
}

struct header_walk {
    struct exchange *x;
    struct http_param *params;
    uint32_t n;
    size_t bytes;
};

static enum MHD_Result header_take(void *cls, enum MHD_ValueKind kind, const char *key, const char *value)
{
    (void)kind;
    struct header_walk *w = cls;
    if (w->n == HEADERS_MAX)
        return MHD_NO;
    size_t key_n = strlen(key), value_n = value ? strlen(value) : 0;
    w->bytes += key_n + value_n + 4;
    char *name = arena_alloc(w->x->x.request.arena, key_n + value_n + 2);
    for (size_t i = 0; i <= key_n; i++)
        name[i] = (char)(key[i] >= 'A' && key[i] <= 'Z' ? key[i] | 0x20 : key[i]);
    memcpy(name + key_n + 1, value ? value : "", value_n + 1);
    http_header_repair(name, key_n);
    http_header_repair(name + key_n + 1, value_n);
    w->params[w->n++] = (struct http_param){name, name + key_n + 1};
    return MHD_YES;
}

/* Fill the request's headers. False: there are too many. */
static bool headers_take(struct exchange *x)
{
    struct http_request *r = &x->x.request;
    int n = MHD_get_connection_values(x->connection, MHD_HEADER_KIND, NULL, NULL);
    if (n < 0 || n > HEADERS_MAX)
        return false;
    struct header_walk w = {.x = x, .params = arena_alloc(r->arena, ((size_t)n + 1) * sizeof *w.params)};
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, header_take, &w);
    r->headers = w.params;
    r->headers_n = w.n;
    return w.bytes <= LIMIT_HEADERS_BYTES;
}

/* WHY  Two readers of such a request (a proxy and we) would take it for two different ones. */
static const char *headers_conflict(const struct http_request *r)
{
    int hosts_n = 0, lengths_n = 0;
    for (uint32_t i = 0; i < r->headers_n; i++) {
        hosts_n += text_equal(r->headers[i].key, "host");
        lengths_n +=
            text_equal(r->headers[i].key, "content-length") || text_equal(r->headers[i].key, "transfer-encoding");
    }
    if (hosts_n > 1)
        return "the request has several Host headers; send one";
    return lengths_n > 1
               ? "the request tells the length of its body twice; send one Content-Length or Transfer-Encoding"
               : NULL;
}

static bool method_is_plain(const char *method)
{
    size_t n = strlen(method);
    for (size_t i = 0; i < n; i++)
        if (method[i] < 'A' || method[i] > 'Z')
            return false;
    return n > 0 && n <= 16;
}

static const char *peer_user(struct exchange *x)
{
    if (!x->server->tls)
        return "";
    if (!x->link->user) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        x->link->user = http_tls_peer_name(info ? info->tls_session : NULL, &x->link->groups, &x->link->names);
    }
    return x->link->user;
}

/* The request line and the headers have come. Refuse at once what cannot become better with the body. */
static void request_head(struct exchange *x, const char *method)
{
    struct http_request *r = &x->x.request;
    struct err e = {0};
    r->method = arena_text(r->arena, method);
    r->user = peer_user(x);
    r->groups = x->link->groups;
    r->names = x->link->names;
    r->path = "/";
    if (x->url_n > LIMIT_URL_BYTES) {
        refuse(x, 414, "RequestURITooLong",
               "the URL is longer than 16384 bytes; use shorter selectors or several requests");
        return;
    }
    if (!headers_take(x)) {
        refuse(x, 431, "RequestHeaderFieldsTooLarge", "too many or too large request headers (at most 256 and 20 KiB)");
        return;
    }
    const char *conflict = headers_conflict(r);
    if (conflict) {
        refuse(x, 400, "BadRequest", conflict);
        return;
    }
    if (!method_is_plain(method)) {
        refuse(x, 400, "BadRequest", "the method must be written in capital letters, for example GET");
        return;
    }
    if (http_request_set_url(r, x->url, x->url_n, &e) < 0) {
        refuse(x, 400, "BadRequest", e.text);
        return;
    }
    x->step = STEP_BODY;
    const char *length = http_header(r, "content-length");
    int64_t n = 0;
    if (length && bytes_int64(bytes_of(length), &n) && n > LIMIT_BODY_BYTES &&
        (n > DISCARD_MAX_BYTES || http_header(r, "expect")))
        refuse(x, 413, "RequestEntityTooLarge", "the request body is larger than 3 MiB");
    else if ((length ? n != 0 : http_header(r, "transfer-encoding") != NULL) && x->server->head)
        x->unwanted = !x->server->head(x->server->ctx, &x->x);
}

static bool request_body(struct exchange *x, const char *data, size_t n)
{
    if (!x->unwanted && x->dropped_bytes == 0 && x->body.n + n <= LIMIT_BODY_BYTES) {
        buf_add(&x->body, data, n);
        exchange_hold(x, x->body.n);
        return true;
    }
    x->dropped_bytes += n;
    return x->dropped_bytes <= DISCARD_MAX_BYTES;
}

static void request_complete(struct exchange *x)
{
    x->step = STEP_HANDLER;
    if (x->dropped_bytes && !x->unwanted) {
        refuse(x, 413, "RequestEntityTooLarge", "the request body is larger than 3 MiB");
        return;
    }
    x->x.request.body = buf_view(&x->body);
    x->server->handler(x->server->ctx, &x->x);
    if (x->step == STEP_HANDLER)
        exchange_suspend(x);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_n, void **con_cls)
{
    struct exchange *x = *con_cls;
    if (!x || (x->is_socket && x->peer_gone))
        return MHD_NO;
    if (x->step == STEP_HEAD) {
        request_head(x, method);
        return MHD_YES;
    }
    if (*upload_n) {
        bool going_on = x->step != STEP_BODY || request_body(x, upload, *upload_n);
        *upload_n = 0;
        return going_on ? MHD_YES : MHD_NO;
    }
    if (x->step == STEP_BODY)
        request_complete(x);
    return MHD_YES;
}

/* "http://host/path" (absolute form) means "/path". */
static const char *url_origin_form(const char *url)
{
    const char *scheme = strstr(url, "://");
    if (url[0] == '/' || !scheme || !(text_starts(url, "http://") || text_starts(url, "https://")))
        return url;
    const char *slash = strchr(scheme + 3, '/');
    return slash ? slash : "/";
}

static void *on_url(void *cls, const char *url, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct link *link = info ? info->socket_context : NULL;
    if (!link)
        return NULL;
    if (link->exchange) /* the request before this one ended before its headers did */
        exchange_release(link->exchange);
    struct exchange *x = exchange_new(cls, connection, link);
    link->exchange = x;
    link->since_ms = loop_now_ms(x->server->l);
    url = url_origin_form(url);
    x->url_n = strlen(url);
    x->url = arena_text_n(x->x.request.arena, url, x->url_n);
    return x;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *con_cls;
    if (!x)
        return;
    *con_cls = NULL;
    if (x->link) {
        x->link->exchange = NULL;
        x->link->since_ms = loop_now_ms(x->server->l);
        x->link->answered = true;
        links_make_room(x->server, NULL);
    }
    stream_unwatch_peer(x);
    if (x->step == STEP_HANDLER) { /* the server closes before the handler has answered */
        x->server = NULL;
        x->connection = NULL;
        return;
    }
    if (x->closed)
        x->closed(x->arg);
    exchange_release(x);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *s = cls;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            s->tls ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
        if (info)
            http_tls_client_auth(info->tls_session, s->client_auth);
        struct link *link = link_new(s, connection);
        *context = link;
        s->connections_n++;
        links_make_room(s, link);
        return;
    }
    struct link *link = *context;
    if (!link)
        return;
    if (link->exchange)
        exchange_release(link->exchange);
    link_free(link);
    *context = NULL;
    /* WHY  libmicrohttpd accepts again only in the run after the one in which there is room. */
    if (s->connections_n-- == s->connections_max && !s->closing)
        server_kick(s);
}

/* WHY  The path is decoded by http_request_set_url, which refuses what is malformed; libmicrohttpd's copy is not used.
 */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
    return strlen(text);
}

static void server_run(void *arg)
{
    struct http_server *s = arg;
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (s->running || s->closing) /* a handler inside MHD_run came here */
        return;
    s->running = true;
    (void)MHD_run(s->daemon); /* fails only when epoll does; the next turn tries again */
    s->running = false;
    if (MHD_get_timeout(s->daemon, &timeout_ms) != MHD_YES)
        return;
    if (timeout_ms == 0)
        loop_timer_start(s->timer, 0, 0);
    else if (!loop_timer_running(s->timer))
        loop_timer_start(s->timer, (int64_t)timeout_ms, 0);
}

static void server_kick(struct http_server *s)
{
    loop_at_turn_end(s->l, server_run, s);
}

static void server_ready(void *arg, int events)
{
    (void)events;
    server_run(arg);
}

static void peers_gone(void *arg, int events)
{
    (void)events;
    struct http_server *s = arg;
    struct epoll_event ev[GONE_BATCH];
    int n = epoll_wait(s->gone_fd, ev, GONE_BATCH, 0);
    for (int i = 0; i < n; i++) {
        struct exchange *x = ev[i].data.ptr;
        x->peer_gone = true;
        exchange_resume(x);
    }
}

/* WHY  A watch is a connection: the usual soft limit of 1024 descriptors would be the first limit that a cluster meets.
 */
static void files_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* then the old limit stands */
}

static int daemon_start(struct http_server *s, const struct http_server_config *config, int fd, struct err *e)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
    struct MHD_OptionItem tls[5];
    uint32_t tls_n = 0;
    if (s->tls) {
        flags |= MHD_USE_TLS;
        tls[tls_n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)config->tls_cert_pem};
        tls[tls_n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)config->tls_key_pem};
    }
    if (s->tls && config->tls_client_ca_pem)
        tls[tls_n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)config->tls_client_ca_pem};
    if (s->tls && config->tls_priorities)
        tls[tls_n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)config->tls_priorities};
    tls[tls_n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_LIMIT, (unsigned)s->connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)s->idle_seconds, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, s, MHD_OPTION_URI_LOG_CALLBACK, on_url, s, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, s,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!s->daemon) {
        (void)close(fd);
        return err_set(e, E_IO,
                       "listen on %s: the HTTP server does not start (out of descriptors or memory; see ulimit -n)",
                       config->listen);
    }
    return 0;
}

int http_server_new(struct loop *l, const struct http_server_config *config, struct http_server **ret_s, struct err *e)
{
    int port;
    if (config->tls_cert_pem) {
        int r = http_tls_check(config->tls_cert_pem, config->tls_key_pem, config->tls_client_ca_pem, config->tls_priorities, e);
        if (r < 0)
            return r;
    }
    int fd = http_listen(config->listen, &port, e);
    if (fd < 0)
        return fd;
    files_limit_raise();
    struct http_server *s = mem_zero(1, sizeof *s);
    s->l = l;
    s->handler = config->handler;
    s->head = config->head;
    s->held_bytes_max = config->held_bytes_max ? config->held_bytes_max : LIMIT_HELD_BYTES;
    s->ctx = config->ctx;
    s->port = port;
    s->tls = config->tls_cert_pem != NULL;
    s->client_auth = config->client_auth;
    s->idle_seconds = config->idle_seconds ? config->idle_seconds : LIMIT_IDLE_SECONDS;
    s->request_seconds = config->request_seconds ? config->request_seconds : s->idle_seconds;
    s->connections_max = config->connections_max ? config->connections_max : LIMIT_CONNECTIONS;
    if (text_starts(config->listen, "unix:"))
        s->unix_path = mem_text(config->listen + strlen("unix:"));
    s->gone_fd = epoll_create1(EPOLL_CLOEXEC);
    int r = s->gone_fd < 0 ? err_set(e, E_IO, "listen on %s: no descriptor left (ulimit -n)", config->listen)
                           : daemon_start(s, config, fd, e);
    if (r < 0) {
        http_server_free(s);
        return r;
    }
    s->timer = loop_timer_new(l, server_run, s);
    s->sweep = loop_timer_new(l, links_sweep, s);
    int64_t look_ms = (int64_t)(s->request_seconds < s->idle_seconds ? s->request_seconds : s->idle_seconds) * 250;
    loop_timer_start(s->sweep, look_ms, look_ms);
    s->poll = loop_poll_new(l, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->listen_fd, server_ready, s);
    loop_poll_set(s->poll, LOOP_READ);
    s->gone_poll = loop_poll_new(l, s->gone_fd, peers_gone, s);
    loop_poll_set(s->gone_poll, LOOP_READ);
    *ret_s = s;
    return 0;
}

int http_server_port(const struct http_server *s)
{
    return s->port;
}

uint32_t http_server_connections(const struct http_server *s)
{
    return s->connections_n;
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    s->closing = true;
    while (s->suspended) { /* libmicrohttpd cannot stop while connections are suspended */
        s->suspended->peer_gone = true;
        if (s->suspended->socket)
            socket_end(s->suspended);
        else
            exchange_resume(s->suspended);
    }
    loop_forget(s->l, server_run, s);
    loop_poll_free(s->poll);
    loop_poll_free(s->gone_poll);
    if (s->daemon)
        MHD_stop_daemon(s->daemon);
    loop_forget(s->l, server_run, s); /* the callbacks of the stop may have asked again */
    loop_timer_free(s->timer);
    loop_timer_free(s->sweep);
    if (s->gone_fd >= 0)
        (void)close(s->gone_fd);
    while (s->spare) {
        struct exchange *x = s->spare;
        s->spare = x->next;
        exchange_free(x);
    }
    if (s->unix_path)
        (void)unlink(s->unix_path); /* somebody may have removed it */
    free(s->unix_path);
    free(s);
}
