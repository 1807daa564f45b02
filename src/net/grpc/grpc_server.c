/* grpc_server.c - calls from connections of a unix socket to handlers, and their answers
 *
 *     HEADERS ─▶ stream (handler by :path, or refused) ─▶ DATA: message ─▶ END_STREAM: ready ─▶ settled: handler ─▶ answer
 */
#include "net/grpc/grpc.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/memory.h"
#include "net/grpc/grpc_carrier.h"

enum {
    BACKLOG = 64,
    ACCEPTS_PER_TURN = 16,
    ACCEPT_PAUSE_MS = 100, /* no descriptor is left: others may free some */
};

struct grpc_stream {
    struct server_connection *connection;
    struct grpc_stream *next, *previous;
    const struct grpc_handler *handler; /* NULL: no such path */
    struct grpc_assembly in;
    struct buf request;
    struct grpc_outgoing out;
    struct loop_timer *timer;
    char *error_text;
    int64_t timeout_ms; /* -1: malformed, 0: none */
    size_t headers_bytes;
    int32_t id;
    enum grpc_status status;
    bool is_post, is_grpc, has_path;
    bool request_whole;   /* one message is in `request` */
    bool ready;           /* the client has said everything */
    bool called;          /* the handler has seen it */
    bool answered;        /* the status is known: nothing more comes from the handler */
    bool headers_sent;
};

struct server_connection {
    struct grpc_server *server;
    struct grpc_carrier *carrier;
    struct server_connection *next, *previous;
    struct grpc_stream *first, *last; /* by time of arrival */
    uint32_t streams_n;
    size_t unread_bytes;
};

struct grpc_server {
    struct loop *loop;
    struct sockaddr_un address;
    dev_t device;
    ino_t inode;
    int fd;
    struct loop_poll *poll;
    struct loop_timer *pause;
    const struct grpc_handler *handlers;
    uint32_t handlers_n;
    void *ctx;
    nghttp2_session_callbacks *callbacks;
    struct server_connection *first, *last; /* by time of arrival */
    uint32_t connections_n;
};

/* ---- streams ---- */

static struct grpc_stream *stream_new(struct server_connection *n, int32_t id)
{
    struct grpc_stream *s = mem_zero(1, sizeof *s);
    s->connection = n;
    s->id = id;
    s->previous = n->last;
    *(n->last ? &n->last->next : &n->first) = s;
    n->last = s;
    n->streams_n++;
    return s;
}

static void stream_forget_input(struct grpc_stream *s)
{
    s->connection->unread_bytes -= s->in.body.n + s->request.n;
    grpc_assembly_free(&s->in);
    buf_free(&s->request);
}

static void stream_free(struct grpc_stream *s)
{
    struct server_connection *n = s->connection;
    stream_forget_input(s);
    *(s->previous ? &s->previous->next : &n->first) = s->next;
    *(s->next ? &s->next->previous : &n->last) = s->previous;
    n->streams_n--;
    grpc_outgoing_free(&s->out);
    loop_timer_free(s->timer);
    free(s->error_text);
    free(s);
}

/* The handler that still keeps the stream is told that it ends. */
static void stream_tell_closed(struct grpc_stream *s)
{
    if (!s->called || s->answered)
        return;
    s->answered = true;
    if (s->handler->closed)
        s->handler->closed(s->connection->server->ctx, s);
}

static void trailer_fill(const struct grpc_stream *s, char *status, size_t status_n, struct buf *text)
{
    snprintf(status, status_n, "%d", (int)s->status);
    grpc_text_encode(text, s->error_text ? s->error_text : "");
    buf_char(text, 0);
}

static ssize_t answer_read(nghttp2_session *session, int32_t id, uint8_t *into, size_t n, uint32_t *flags,
                           nghttp2_data_source *source, void *user)
{
    struct grpc_stream *s = source->ptr;
    size_t taken = grpc_outgoing_take(&s->out, into, n);
    if (!grpc_outgoing_empty(&s->out))
        return (ssize_t)taken;
    if (!s->answered)
        return taken ? (ssize_t)taken : NGHTTP2_ERR_DEFERRED;
    char status[12];
    _cleanup_buf_ struct buf text = {0};
    trailer_fill(s, status, sizeof status, &text);
    nghttp2_nv trailer[] = {grpc_header("grpc-status", status), grpc_header("grpc-message", text.data)};
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(session, id, trailer, s->error_text ? 2 : 1) < 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)taken;
}

/* Something is to be sent: headers first, then whatever answer_read finds. */
static void stream_send(struct grpc_stream *s)
{
    struct grpc_carrier *c = s->connection->carrier;
    if (s->headers_sent) {
        (void)nghttp2_session_resume_data(c->session, s->id); /* fails when it is not waiting: then it is read anyway */
    } else {
        s->headers_sent = true;
        nghttp2_nv headers[] = {grpc_header(":status", "200"), grpc_header("content-type", "application/grpc")};
        nghttp2_data_provider provider = {.source.ptr = s, .read_callback = answer_read};
        (void)nghttp2_submit_response(c->session, s->id, headers, 2, &provider); /* fails when the stream has gone */
    }
    grpc_carrier_flush_soon(c);
}

/* An answer without a body: HTTP status for those who do not speak gRPC, else 200 and the status in the only headers. */
static void stream_refuse(struct grpc_stream *s, const char *http_status)
{
    struct grpc_carrier *c = s->connection->carrier;
    char status[12];
    _cleanup_buf_ struct buf text = {0};
    trailer_fill(s, status, sizeof status, &text);
    nghttp2_nv headers[] = {grpc_header(":status", http_status), grpc_header("content-type", "application/grpc"),
                            grpc_header("grpc-status", status), grpc_header("grpc-message", text.data)};
    s->headers_sent = true;
    (void)nghttp2_submit_response(c->session, s->id, headers, s->error_text ? 4 : 3, NULL); /* fails when the stream has gone */
    grpc_carrier_flush_soon(c);
}

static void stream_answer(struct grpc_stream *s, enum grpc_status status, const char *text)
{
    s->answered = true;
    s->status = status;
    free(s->error_text);
    s->error_text = mem_text(text);
    loop_timer_free(s->timer);
    s->timer = NULL;
}

void grpc_fail(struct grpc_stream *s, enum grpc_status status, const char *text)
{
    assert(!s->answered && "a stream is answered once");
    stream_answer(s, status, text);
    if (s->headers_sent)
        stream_send(s);
    else
        stream_refuse(s, "200");
}

void grpc_reply(struct grpc_stream *s, struct bytes message)
{
    assert(!s->answered && "a stream is answered once");
    if (message.n > LIMIT_GRPC_MESSAGE) {
        grpc_fail(s, GRPC_RESOURCE_EXHAUSTED, "the answer is longer than 4 MiB");
        return;
    }
    stream_answer(s, GRPC_OK, NULL);
    grpc_outgoing_put(&s->out, message);
    stream_send(s);
}

void grpc_stream_replace(struct grpc_stream *s, struct bytes message)
{
    assert(!s->answered && "the stream has ended");
    grpc_outgoing_put(&s->out, message);
    stream_send(s);
}

void grpc_stream_end(struct grpc_stream *s)
{
    assert(!s->answered && "a stream is answered once");
    stream_answer(s, GRPC_OK, NULL);
    stream_send(s);
}

static void stream_late(void *arg)
{
    struct grpc_stream *s = arg;
    stream_tell_closed(s);
    s->answered = false;
    grpc_fail(s, GRPC_DEADLINE_EXCEEDED, "the call's grpc-timeout has passed");
}

/* ---- what the peer sends ---- */

static const struct grpc_handler *handler_find(const struct grpc_server *server, struct bytes path)
{
    for (uint32_t i = 0; i < server->handlers_n; i++)
        if (bytes_is(path, server->handlers[i].path))
            return &server->handlers[i];
    return NULL;
}

static bool content_type_is_grpc(struct bytes value)
{
    if (!bytes_starts(value, "application/grpc"))
        return false;
    struct bytes rest = {value.data + 16, value.n - 16};
    return rest.n == 0 || rest.data[0] == ';' || bytes_starts(rest, "+proto");
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct server_connection *n = c->owner;
    if (n->streams_n >= LIMIT_GRPC_STREAMS)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream_new(n, frame->hd.stream_id));
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n, const uint8_t *value,
                     size_t value_n, uint8_t flags, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s)
        return 0;
    struct bytes key = {(const char *)name, name_n}, text = {(const char *)value, value_n};
    s->headers_bytes += name_n + value_n;
    if (s->headers_bytes > LIMIT_GRPC_HEADERS)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers of a request mean nothing */
    if (bytes_is(key, ":method")) {
        s->is_post = bytes_is(text, "POST");
    } else if (bytes_is(key, ":path")) {
        s->has_path = true;
        s->handler = handler_find(s->connection->server, text);
    } else if (bytes_is(key, "content-type")) {
        s->is_grpc = content_type_is_grpc(text);
    } else if (bytes_is(key, "grpc-timeout")) {
        s->timeout_ms = grpc_timeout_parse(text);
        if (s->timeout_ms == 0)
            s->timeout_ms = 1; /* "0n": over at once, but it is a timeout */
    }
    return 0;
}

static void headers_check(struct grpc_stream *s)
{
    if (!s->is_grpc || !s->is_post || !s->has_path) {
        stream_answer(s, GRPC_UNKNOWN, s->is_grpc ? "gRPC calls are POST requests with a path" : "content-type is not application/grpc");
        stream_refuse(s, !s->is_post ? "405" : !s->is_grpc ? "415" : "400");
    } else if (!s->handler) {
        grpc_fail(s, GRPC_UNIMPLEMENTED, "no such method here");
    } else if (s->timeout_ms < 0) {
        grpc_fail(s, GRPC_INTERNAL, "grpc-timeout is malformed: at most 8 digits and a unit of H, M, S, m, u, n");
    }
}

static void stream_reject_input(struct grpc_stream *s, int code)
{
    if (code == -E_LIMIT)
        grpc_fail(s, GRPC_RESOURCE_EXHAUSTED, "the message is longer than 4 MiB");
    else
        grpc_fail(s, GRPC_UNIMPLEMENTED, "compressed messages are not understood: send grpc-encoding identity");
    stream_forget_input(s);
}

static void input_take(struct grpc_stream *s, const uint8_t *data, size_t n)
{
    while (n && !s->answered) {
        size_t used, before = s->in.body.n;
        int got = grpc_assembly_feed(&s->in, data, n, &used);
        s->connection->unread_bytes += s->in.body.n - before;
        if (got < 0) {
            stream_reject_input(s, got);
        } else if (s->connection->unread_bytes > LIMIT_GRPC_UNREAD) {
            grpc_fail(s, GRPC_RESOURCE_EXHAUSTED, "too many unfinished requests on this connection");
            stream_forget_input(s);
        } else if (got && s->request_whole) {
            grpc_fail(s, GRPC_INTERNAL, "the call takes one message, more came");
            stream_forget_input(s);
        } else {
            data += used;
            n -= used;
            if (got) {
                s->request_whole = true;
                s->request = s->in.body;
                buf_init(&s->in.body);
                grpc_assembly_next(&s->in);
            }
        }
    }
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (s && !s->ready)
        input_take(s, data, n);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        headers_check(s);
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) || s->answered)
        return 0;
    if (!s->request_whole || !grpc_assembly_between(&s->in))
        grpc_fail(s, GRPC_INTERNAL, "the request ended before its message was whole");
    else
        s->ready = true;
    return 0;
}

/* An answer before the client has said everything: the rest is not wanted. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    if (frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error_code, void *user)
{
    struct grpc_carrier *c = user;
    struct grpc_stream *s = c->gone ? NULL : nghttp2_session_get_stream_user_data(session, id);
    if (!s)
        return 0;
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    stream_tell_closed(s);
    if (!c->gone) /* else the server was freed in `closed`, and the stream with it */
        stream_free(s);
    return 0;
}

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *k = grpc_callbacks_new();
    nghttp2_session_callbacks_set_on_begin_headers_callback(k, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(k, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(k, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, on_stream_close);
    return k;
}

/* ---- connections ---- */

static void stream_call(struct grpc_stream *s)
{
    struct grpc_carrier *c = s->connection->carrier;
    _cleanup_buf_ struct buf request = s->request;
    s->connection->unread_bytes -= request.n;
    buf_init(&s->request);
    s->called = true;
    s->handler->call(s->connection->server->ctx, s, (struct bytes){request.n ? request.data : "", request.n});
    if (c->gone || s->answered || !s->timeout_ms)
        return;
    s->timer = loop_timer_new(c->loop, stream_late, s);
    loop_timer_start(s->timer, s->timeout_ms, 0);
}

static void connection_settled(void *owner)
{
    struct server_connection *n = owner;
    struct grpc_carrier *c = n->carrier;
    for (struct grpc_stream *s = n->first, *next; s; s = next) {
        next = s->next; /* streams go in nghttp2's callbacks only, which do not run here */
        if (s->ready && !s->called && !s->answered)
            stream_call(s);
        if (c->gone)
            return;
    }
}

static void connection_free(struct server_connection *n)
{
    struct grpc_server *server = n->server;
    grpc_carrier_free(n->carrier);
    while (n->first)
        stream_free(n->first);
    *(n->previous ? &n->previous->next : &server->first) = n->next;
    *(n->next ? &n->next->previous : &server->last) = n->previous;
    server->connections_n--;
    free(n);
}

static void connection_lost(void *owner)
{
    struct server_connection *n = owner;
    struct grpc_carrier *c = n->carrier;
    for (struct grpc_stream *s = n->first; s; s = s->next) {
        stream_tell_closed(s);
        if (c->gone)
            return; /* the server was freed in `closed` */
    }
    connection_free(n);
}

static void connection_new(struct grpc_server *server, int fd)
{
    static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_GRPC_STREAMS},
                                                      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_GRPC_HEADERS}};
    struct server_connection *n = mem_zero(1, sizeof *n);
    n->server = server;
    n->carrier = grpc_carrier_new(server->loop, fd, &(struct grpc_carrier_config){.server = true, .callbacks = server->callbacks,
        .settings = settings, .settings_n = 2, .settled = connection_settled, .lost = connection_lost, .owner = n});
    n->previous = server->last;
    *(server->last ? &server->last->next : &server->first) = n;
    server->last = n;
    server->connections_n++;
}

static bool connection_make_room(struct grpc_server *server)
{
    struct server_connection *n = server->first;
    while (n && n->streams_n)
        n = n->next;
    if (n)
        connection_free(n);
    return n;
}

static void accept_again(void *arg)
{
    struct grpc_server *server = arg;
    loop_poll_set(server->poll, LOOP_READ);
}

static void server_ready(void *arg, int events)
{
    struct grpc_server *server = arg;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
            loop_poll_set(server->poll, 0);
            loop_timer_start(server->pause, ACCEPT_PAUSE_MS, 0);
        }
        if (fd < 0)
            return;
        if (server->connections_n >= LIMIT_GRPC_CONNECTIONS && !connection_make_room(server))
            close(fd);
        else
            connection_new(server, fd);
    }
}

/* ---- the socket ---- */

int grpc_address(const char *path, struct sockaddr_un *ret_address, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof address.sun_path)
        return err_set(e, E_LIMIT, "socket %s: %zu bytes, a socket's path may have %zu; choose a shorter directory", path, n,
                       sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, n);
    *ret_address = address;
    return 0;
}

/* A socket that a killed process has left is removed; one that answers is in use. */
static int path_clear(const struct sockaddr_un *address, struct err *e)
{
    struct stat st;
    if (lstat(address->sun_path, &st) < 0)
        return errno == ENOENT ? 0 : err_errno(e, errno, "socket %s", address->sun_path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, E_EXISTS, "socket %s: a file of that name is there that is no socket; move it away", address->sun_path);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "socket %s", address->sun_path);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN)
        return err_set(e, E_EXISTS, "socket %s: another process answers there; stop the other device plugin or agent of this node first",
                       address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return err_errno(e, errno, "socket %s: remove the stale file", address->sun_path);
    return 0;
}

static int socket_open(const struct sockaddr_un *address, struct stat *ret_st, int *ret_fd, struct err *e)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "socket %s", address->sun_path);
    /* Nobody can connect before listen: the mode is right from the first connection on. */
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 || chmod(address->sun_path, 0600) < 0 ||
        lstat(address->sun_path, ret_st) < 0 || listen(fd, BACKLOG) < 0)
        return err_errno(e, errno, "listen on %s", address->sun_path);
    *ret_fd = fd;
    fd = -1;
    return 0;
}

int grpc_server_new(struct loop *l, const char *socket_path, const struct grpc_handler *handlers, uint32_t handlers_n, void *ctx,
                    struct grpc_server **ret_s, struct err *e)
{
    struct sockaddr_un address;
    struct stat st;
    int fd = -1, r;
    if ((r = grpc_address(socket_path, &address, e)) < 0 || (r = path_clear(&address, e)) < 0 ||
        (r = socket_open(&address, &st, &fd, e)) < 0)
        return r;
    struct grpc_server *server = mem_zero(1, sizeof *server);
    *server = (struct grpc_server){.loop = l, .address = address, .device = st.st_dev, .inode = st.st_ino, .fd = fd,
                                   .handlers = handlers, .handlers_n = handlers_n, .ctx = ctx};
    server->callbacks = callbacks_new();
    server->pause = loop_timer_new(l, accept_again, server);
    server->poll = loop_poll_new(l, fd, server_ready, server);
    loop_poll_set(server->poll, LOOP_READ);
    *ret_s = server;
    return 0;
}

bool grpc_server_socket_is_ours(const struct grpc_server *s)
{
    struct stat st;
    return lstat(s->address.sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == s->device && st.st_ino == s->inode;
}

static void connection_end(struct server_connection *n)
{
    for (struct grpc_stream *s = n->first; s; s = s->next) {
        bool answered = s->answered;
        stream_tell_closed(s);
        s->answered = answered;
        if (!answered)
            grpc_fail(s, GRPC_UNAVAILABLE, "the server stops");
    }
    grpc_carrier_farewell(n->carrier);
    connection_free(n);
}

void grpc_server_free(struct grpc_server *s)
{
    if (!s)
        return;
    if (grpc_server_socket_is_ours(s))
        (void)unlink(s->address.sun_path); /* a stale socket is replaced at the next start */
    loop_poll_free(s->poll);
    loop_timer_free(s->pause);
    close(s->fd);
    while (s->first)
        connection_end(s->first);
    nghttp2_session_callbacks_del(s->callbacks);
    free(s);
}
