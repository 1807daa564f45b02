/* grpc_client.c - calls over one connection to a unix socket, made when the first call needs it
 *
 *     call ─▶ connection (kept; a new one after GOAWAY or an end) ─▶ stream ─▶ headers, messages, trailers ─▶ callback
 */
#include "net/grpc/grpc.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/memory.h"
#include "net/grpc/grpc_carrier.h"

enum { STATUS_NONE = -1, TIMEOUT_TEXT_BYTES = 16 };

struct client_call {
    struct grpc_client *client;
    struct client_connection *connection; /* NULL: has failed, the callback is due */
    struct client_call *next, *previous;
    uint64_t id;
    int32_t stream;
    grpc_answer_fn answer;   /* unary */
    grpc_message_fn message; /* streaming */
    void *arg;
    struct loop_timer *timer;
    struct grpc_outgoing out;
    struct grpc_assembly in;
    struct buf answer_body, text;
    bool answer_whole;
    size_t headers_bytes;
    int http_status, status; /* status: STATUS_NONE until known */
};

struct client_connection {
    struct grpc_client *client;
    struct grpc_carrier *carrier;
    struct client_connection *next;
    bool draining; /* the server takes no more calls here */
};

struct grpc_client {
    struct loop *loop;
    char *path;
    nghttp2_session_callbacks *callbacks;
    struct client_connection *connections; /* the newest first */
    struct client_call *calls;
    uint64_t last_id;
};

/* ---- calls ---- */

static void call_unlink(struct client_call *k)
{
    *(k->previous ? &k->previous->next : &k->client->calls) = k->next;
    if (k->next)
        k->next->previous = k->previous;
    if (k->connection && k->stream > 0)
        (void)nghttp2_session_set_stream_user_data(k->connection->carrier->session, k->stream, NULL); /* may be closed already */
}

static void call_ends(void *arg);

static void call_free(struct client_call *k)
{
    loop_forget(k->client->loop, call_ends, k);
    loop_timer_free(k->timer);
    grpc_outgoing_free(&k->out);
    grpc_assembly_free(&k->in);
    buf_free(&k->answer_body);
    buf_free(&k->text);
    free(k);
}

/* The last callback of a call; it may free the client. */
static void call_finish(struct client_call *k, int status, const char *text)
{
    call_unlink(k);
    _cleanup_buf_ struct buf body = k->answer_body, error_text = {0};
    buf_init(&k->answer_body);
    buf_text(&error_text, text ? text : "");
    grpc_answer_fn answer = k->answer;
    grpc_message_fn message = k->message;
    void *arg = k->arg;
    call_free(k);
    struct bytes view = status == GRPC_OK && body.n ? buf_view(&body) : (struct bytes){"", 0};
    if (answer)
        answer(arg, (enum grpc_status)status, view, error_text.data ? error_text.data : "");
    else
        message(arg, true, (enum grpc_status)status, (struct bytes){"", 0});
}

static void call_ends(void *arg)
{
    struct client_call *k = arg;
    _cleanup_buf_ struct buf text = k->text;
    buf_init(&k->text);
    call_finish(k, k->status, text.data);
}

/* The callback comes in the next turn: never within the call that failed. */
static void call_fail_later(struct client_call *k, int status, const char *text)
{
    call_unlink(k);
    k->connection = NULL;
    k->previous = NULL;
    k->next = k->client->calls;
    if (k->next)
        k->next->previous = k;
    k->client->calls = k;
    loop_timer_free(k->timer);
    k->timer = NULL;
    k->status = status;
    buf_clear(&k->text);
    buf_text(&k->text, text);
    loop_defer(k->client->loop, call_ends, k);
}

static void call_reset(struct client_call *k)
{
    if (!k->connection)
        return;
    struct grpc_carrier *c = k->connection->carrier;
    (void)nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, k->stream, NGHTTP2_CANCEL); /* may be closed already */
    grpc_carrier_flush_soon(c);
}

static void call_late(void *arg)
{
    struct client_call *k = arg;
    call_reset(k);
    call_finish(k, GRPC_DEADLINE_EXCEEDED, "no answer in time");
}

static int status_of_http(int http_status)
{
    switch (http_status) {
    case 200:
    case 0:
        return GRPC_INTERNAL; /* ended without grpc-status */
    case 401:
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

static void call_close(struct client_call *k, uint32_t error_code)
{
    _cleanup_buf_ struct buf text = k->text;
    buf_init(&k->text);
    int status = k->status;
    if (status == GRPC_OK && k->answer && !k->answer_whole) {
        status = GRPC_INTERNAL;
        buf_text(&text, "the answer has no message");
    } else if (status == STATUS_NONE) {
        status = error_code == NGHTTP2_REFUSED_STREAM ? GRPC_UNAVAILABLE
                 : error_code == NGHTTP2_CANCEL       ? GRPC_CANCELLED
                                                      : status_of_http(k->http_status);
        buf_clear(&text);
        buf_printf(&text, "the call ended without a gRPC status (HTTP status %d, stream error %s)", k->http_status,
                   nghttp2_http2_strerror(error_code));
    }
    call_finish(k, status, text.data);
}

/* ---- what the server sends ---- */

static struct client_call *call_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

static int number_of(struct bytes text)
{
    int64_t value;
    return text.n <= 9 && bytes_int64(text, &value) && value >= 0 ? (int)value : GRPC_UNKNOWN;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n, const uint8_t *value,
                     size_t value_n, uint8_t flags, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    struct client_call *k = call_of(session, frame->hd.stream_id);
    if (!k)
        return 0;
    struct bytes key = {(const char *)name, name_n}, text = {(const char *)value, value_n};
    k->headers_bytes += name_n + value_n;
    if (k->headers_bytes > LIMIT_GRPC_HEADERS)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (bytes_is(key, ":status")) {
        k->http_status = number_of(text);
    } else if (bytes_is(key, "grpc-status")) {
        k->status = number_of(text);
    } else if (bytes_is(key, "grpc-message")) {
        buf_clear(&k->text);
        grpc_text_decode(&k->text, text);
    }
    return 0;
}

/* False: the call is no more. */
static bool call_take_message(struct grpc_carrier *c, struct client_call *k)
{
    int32_t stream = k->stream;
    _cleanup_buf_ struct buf body = k->in.body;
    buf_init(&k->in.body);
    grpc_assembly_next(&k->in);
    if (k->answer && k->answer_whole) {
        call_reset(k);
        call_fail_later(k, GRPC_INTERNAL, "a second message came where one is allowed");
        return false;
    }
    if (k->answer) {
        k->answer_whole = true;
        k->answer_body = body;
        buf_init(&body);
        return true;
    }
    k->message(k->arg, false, GRPC_OK, (struct bytes){body.n ? body.data : "", body.n});
    return !c->gone && call_of(c->session, stream) == k;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t n, void *user)
{
    struct grpc_carrier *c = user;
    struct client_call *k = c->gone ? NULL : call_of(session, stream);
    size_t used;
    while (k && n) {
        int got = grpc_assembly_feed(&k->in, data, n, &used);
        if (got < 0) {
            call_reset(k);
            call_fail_later(k, got == -E_LIMIT ? GRPC_RESOURCE_EXHAUSTED : GRPC_INTERNAL,
                            got == -E_LIMIT ? "the message is longer than 4 MiB" : "the message is compressed, which was not offered");
            break;
        }
        data += used;
        n -= used;
        if (!got || !call_take_message(c, k))
            break;
    }
    return c->gone ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        ((struct client_connection *)c->owner)->draining = true;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error_code, void *user)
{
    struct grpc_carrier *c = user;
    struct client_call *k = c->gone ? NULL : call_of(session, stream);
    if (k)
        call_close(k, error_code);
    return 0;
}

/* A request that could not even begin: the server said GOAWAY meanwhile. No stream closes, since none was opened. */
static int on_frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int code, void *user)
{
    struct grpc_carrier *c = user;
    if (c->gone || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct client_connection *n = c->owner;
    for (struct client_call *k = n->client->calls; k; k = k->next)
        if (k->connection == n && k->stream == frame->hd.stream_id) {
            call_fail_later(k, GRPC_UNAVAILABLE, "the server takes no more calls on this connection");
            break;
        }
    return 0;
}

static nghttp2_session_callbacks *callbacks_new(void)
{
    nghttp2_session_callbacks *k = grpc_callbacks_new();
    nghttp2_session_callbacks_set_on_header_callback(k, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(k, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, on_stream_close);
    return k;
}

/* ---- connections ---- */

static void connection_free(struct client_connection *n)
{
    struct client_connection **at = &n->client->connections;
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    grpc_carrier_free(n->carrier);
    free(n);
}

static void connection_lost(void *owner)
{
    struct client_connection *n = owner;
    for (struct client_call *k = n->client->calls, *next; k; k = next) {
        next = k->next;
        if (k->connection == n)
            call_fail_later(k, GRPC_UNAVAILABLE, "the peer has closed the connection");
    }
    connection_free(n);
}

static int socket_connect(const char *path, int *ret_fd, struct err *e)
{
    struct sockaddr_un address;
    int r = grpc_address(path, &address, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return err_errno(e, errno, "connect to %s", path);
    *ret_fd = fd;
    fd = -1;
    return 0;
}

static struct client_connection *connection_get(struct grpc_client *c, struct err *e)
{
    static const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_GRPC_HEADERS}};
    int fd = -1;
    if (c->connections && !c->connections->draining)
        return c->connections;
    if (socket_connect(c->path, &fd, e) < 0)
        return NULL;
    struct client_connection *n = mem_zero(1, sizeof *n);
    n->client = c;
    n->next = c->connections;
    c->connections = n;
    n->carrier = grpc_carrier_new(c->loop, fd, &(struct grpc_carrier_config){.callbacks = c->callbacks, .settings = settings,
                                  .settings_n = 2, .lost = connection_lost, .owner = n});
    return n;
}

static ssize_t request_read(nghttp2_session *session, int32_t stream, uint8_t *into, size_t n, uint32_t *flags,
                            nghttp2_data_source *source, void *user)
{
    struct client_call *k = call_of(session, stream);
    if (!k) {
        *flags |= NGHTTP2_DATA_FLAG_EOF; /* cancelled before its request was sent: RST_STREAM follows */
        return 0;
    }
    size_t taken = grpc_outgoing_take(&k->out, into, n);
    if (grpc_outgoing_empty(&k->out))
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)taken;
}

static int call_submit(struct client_call *k, const char *path, int64_t timeout_ms)
{
    char timeout[TIMEOUT_TEXT_BYTES] = "";
    if (timeout_ms > 0)
        grpc_timeout_print(timeout_ms, timeout, sizeof timeout);
    nghttp2_nv headers[] = {
        grpc_header(":method", "POST"),
        grpc_header(":scheme", "http"),
        grpc_header(":path", path),
        grpc_header(":authority", "localhost"),
        grpc_header("te", "trailers"),
        grpc_header("content-type", "application/grpc"),
        grpc_header("user-agent", "capstan/" CAPSTAN_VERSION),
        grpc_header("grpc-timeout", timeout),
    };
    struct grpc_carrier *c = k->connection->carrier;
    nghttp2_data_provider provider = {.read_callback = request_read};
    k->stream = nghttp2_submit_request(c->session, NULL, headers, timeout_ms > 0 ? 8 : 7, &provider, k);
    grpc_carrier_flush_soon(c);
    return k->stream;
}

static struct client_call *call_new(struct grpc_client *c, const char *path, struct bytes request, int64_t timeout_ms)
{
    struct client_call *k = mem_zero(1, sizeof *k);
    struct err e = {0};
    k->client = c;
    k->id = ++c->last_id;
    k->status = STATUS_NONE;
    k->next = c->calls;
    if (k->next)
        k->next->previous = k;
    c->calls = k;
    if (request.n > LIMIT_GRPC_MESSAGE) {
        call_fail_later(k, GRPC_RESOURCE_EXHAUSTED, "the request is longer than 4 MiB");
        return k;
    }
    grpc_outgoing_put(&k->out, request);
    k->connection = connection_get(c, &e);
    if (!k->connection || call_submit(k, path, timeout_ms) < 0) {
        call_fail_later(k, GRPC_UNAVAILABLE, e.text[0] ? e.text : "the connection takes no more calls");
        return k;
    }
    if (timeout_ms > 0) {
        k->timer = loop_timer_new(c->loop, call_late, k);
        loop_timer_start(k->timer, timeout_ms, 0);
    }
    return k;
}

/* ---- public ---- */

struct grpc_client *grpc_client_new(struct loop *l, const char *socket_path)
{
    struct grpc_client *c = mem_zero(1, sizeof *c);
    c->loop = l;
    c->path = mem_text(socket_path);
    c->callbacks = callbacks_new();
    return c;
}

void grpc_client_free(struct grpc_client *c)
{
    if (!c)
        return;
    while (c->calls) {
        struct client_call *k = c->calls;
        call_unlink(k);
        call_free(k);
    }
    while (c->connections)
        connection_free(c->connections);
    nghttp2_session_callbacks_del(c->callbacks);
    free(c->path);
    free(c);
}

uint64_t grpc_call(struct grpc_client *c, const char *path, struct bytes request, int64_t timeout_ms, grpc_answer_fn fn, void *arg)
{
    struct client_call *k = call_new(c, path, request, timeout_ms);
    k->answer = fn;
    k->arg = arg;
    return k->id;
}

uint64_t grpc_watch(struct grpc_client *c, const char *path, struct bytes request, grpc_message_fn fn, void *arg)
{
    struct client_call *k = call_new(c, path, request, 0);
    k->message = fn;
    k->arg = arg;
    return k->id;
}

void grpc_cancel(struct grpc_client *c, uint64_t id)
{
    struct client_call *k = c->calls;
    while (k && k->id != id)
        k = k->next;
    if (!k)
        return;
    call_reset(k);
    call_unlink(k);
    call_free(k);
}
