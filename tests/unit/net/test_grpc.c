/* Our server and our client over a unix socket on one loop, and raw peers that break every rule. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../folder.h"
#include "base/memory.h"
#include "base/random.h"
#include "net/grpc/grpc.h"
#include "net/grpc/grpc_carrier.h"

enum { WATCHERS_MAX = 128, WAIT_MS = 30000 };

struct bench {
    struct loop *loop;
    char directory[64], path[96];
    struct grpc_server *server;
    struct grpc_client *client;
    struct grpc_stream *watchers[WATCHERS_MAX];
    uint32_t watchers_n, closed_n, calls_n;
    struct buf last; /* of the client */
    uint32_t answers_n, messages_n, ends_n;
    enum grpc_status status;
    char text[256];
    uint64_t watch;
};

/* ---- handlers ---- */

static void handle_echo(void *ctx, struct grpc_stream *s, struct bytes request)
{
    ((struct bench *)ctx)->calls_n++;
    grpc_reply(s, request);
}

static void handle_fail(void *ctx, struct grpc_stream *s, struct bytes request)
{
    grpc_fail(s, GRPC_FAILED_PRECONDITION, "no: 100% \xc3\xa4 \"quoted\"\nsecond line");
}

static void handle_watch(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct bench *b = ctx;
    assert_true(b->watchers_n < WATCHERS_MAX);
    b->watchers[b->watchers_n++] = s;
    grpc_stream_replace(s, request);
}

static void handle_closed(void *ctx, struct grpc_stream *s)
{
    struct bench *b = ctx;
    for (uint32_t i = 0; i < b->watchers_n; i++)
        if (b->watchers[i] == s)
            b->watchers[i] = b->watchers[--b->watchers_n];
    b->closed_n++;
}

static void handle_stop(void *ctx, struct grpc_stream *s, struct bytes request)
{
    struct bench *b = ctx;
    grpc_server_free(b->server);
    b->server = NULL;
}

static void handle_big(void *ctx, struct grpc_stream *s, struct bytes request)
{
    size_t n = LIMIT_GRPC_MESSAGE + 1;
    char *big = mem_zero(1, n);
    grpc_reply(s, (struct bytes){big, n});
    free(big);
}

static const struct grpc_handler handlers[] = {
    {"/test.Echo/Echo", handle_echo, NULL},   {"/test.Echo/Fail", handle_fail, NULL},
    {"/test.Echo/Watch", handle_watch, handle_closed}, {"/test.Echo/Stop", handle_stop, NULL},
    {"/test.Echo/Big", handle_big, NULL},
};
enum { HANDLERS_N = sizeof handlers / sizeof *handlers };

/* ---- the bench ---- */

static int setup(void **state)
{
    struct bench *b = mem_zero(1, sizeof *b);
    folder_make(b->directory, sizeof b->directory, "grpc");
    snprintf(b->path, sizeof b->path, "%s/s.sock", b->directory);
    b->loop = loop_new();
    struct err e;
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &b->server, &e), 0);
    b->client = grpc_client_new(b->loop, b->path);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    grpc_client_free(b->client);
    grpc_server_free(b->server);
    (void)unlink(b->path); /* some tests put a file there */
    assert_int_equal(rmdir(b->directory), 0);
    loop_free(b->loop);
    buf_free(&b->last);
    free(b);
    return 0;
}

static void run_until(struct bench *b, const uint32_t *counter, uint32_t n)
{
    int64_t end = loop_now_ms(b->loop) + WAIT_MS;
    while (*counter < n && loop_now_ms(b->loop) < end)
        assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
    assert_int_equal(*counter, n);
}

static void on_answer(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct bench *b = arg;
    b->answers_n++;
    b->status = status;
    buf_clear(&b->last);
    buf_bytes(&b->last, message);
    snprintf(b->text, sizeof b->text, "%s", error_text);
}

static void on_message(void *arg, bool ended, enum grpc_status status, struct bytes message)
{
    struct bench *b = arg;
    if (ended) {
        b->ends_n++;
        b->status = status;
        return;
    }
    b->messages_n++;
    buf_clear(&b->last);
    buf_bytes(&b->last, message);
}

static enum grpc_status ask(struct bench *b, const char *path, struct bytes request)
{
    uint32_t before = b->answers_n;
    (void)grpc_call(b->client, path, request, WAIT_MS, on_answer, b);
    assert_int_equal(b->answers_n, before); /* never within the call */
    run_until(b, &b->answers_n, before + 1);
    return b->status;
}

/* ---- unary calls ---- */

static void test_unary(void **state)
{
    struct bench *b = *state;
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("hello")), GRPC_OK);
    assert_true(bytes_is(buf_view(&b->last), "hello"));
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("")), GRPC_OK);
    assert_int_equal(b->last.n, 0);
    for (int i = 0; i < 300; i++)
        assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("again")), GRPC_OK);
}

static void test_large_messages(void **state)
{
    struct bench *b = *state;
    static const size_t sizes[] = {16379, 16384, 65531, 65535, 65536, 1 << 20, LIMIT_GRPC_MESSAGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *big = mem_alloc(sizes[i]);
        struct random random = {i};
        for (size_t at = 0; at < sizes[i]; at++)
            big[at] = (char)random_next(&random);
        assert_int_equal(ask(b, "/test.Echo/Echo", (struct bytes){big, sizes[i]}), GRPC_OK);
        assert_true(bytes_equal(buf_view(&b->last), (struct bytes){big, sizes[i]}));
        free(big);
    }
}

static void test_too_large(void **state)
{
    struct bench *b = *state;
    char *big = mem_zero(1, LIMIT_GRPC_MESSAGE + 1);
    assert_int_equal(ask(b, "/test.Echo/Echo", (struct bytes){big, LIMIT_GRPC_MESSAGE + 1}), GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(b->calls_n, 0);
    assert_int_equal(ask(b, "/test.Echo/Big", BYTES("")), GRPC_RESOURCE_EXHAUSTED);
    free(big);
}

static void test_errors(void **state)
{
    struct bench *b = *state;
    assert_int_equal(ask(b, "/test.Echo/Fail", BYTES("")), GRPC_FAILED_PRECONDITION);
    assert_string_equal(b->text, "no: 100% \xc3\xa4 \"quoted\"\nsecond line");
    assert_int_equal(ask(b, "/test.Echo/Nothing", BYTES("")), GRPC_UNIMPLEMENTED);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

static void test_nobody_listens(void **state)
{
    struct bench *b = *state;
    grpc_server_free(b->server);
    b->server = NULL;
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_UNAVAILABLE);
    assert_non_null(strstr(b->text, "connect to"));
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &b->server, NULL), 0);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

/* The server that the client was connected to is replaced by another: the next call finds the new one. */
static void test_server_restarts(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
        grpc_server_free(b->server);
        assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &b->server, NULL), 0);
        assert_int_equal(loop_run_for(b->loop, 5, NULL), 0);
    }
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

static void test_server_freed_by_its_handler(void **state)
{
    struct bench *b = *state;
    assert_int_equal(ask(b, "/test.Echo/Stop", BYTES("x")), GRPC_UNAVAILABLE);
    assert_null(b->server);
}

static void free_client(void *arg, enum grpc_status status, struct bytes message, const char *error_text)
{
    struct bench *b = arg;
    b->answers_n++;
    grpc_client_free(b->client);
    b->client = NULL;
}

static void test_client_freed_by_its_callback(void **state)
{
    struct bench *b = *state;
    (void)grpc_call(b->client, "/test.Echo/Echo", BYTES("1"), WAIT_MS, free_client, b);
    (void)grpc_call(b->client, "/test.Echo/Echo", BYTES("2"), WAIT_MS, on_answer, b);
    (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("3"), on_message, b);
    run_until(b, &b->answers_n, 1);
    assert_int_equal(loop_run_for(b->loop, 20, NULL), 0);
    assert_int_equal(b->answers_n, 1);
}

static void test_timeout(void **state)
{
    struct bench *b = *state;
    uint32_t calls_n = 0;
    for (int64_t ms = 30; b->closed_n == 0 && ms < WAIT_MS; ms *= 2) { /* on a busy machine one may be over before the server has it */
        (void)grpc_call(b->client, "/test.Echo/Watch", BYTES("x"), ms, on_answer, b);
        run_until(b, &b->answers_n, ++calls_n);
        assert_int_equal(b->status, GRPC_DEADLINE_EXCEEDED);
        assert_int_equal(loop_run_for(b->loop, 30, NULL), 0);
    }
    assert_true(b->closed_n > 0);
    assert_int_equal(b->watchers_n, 0);
}

static void test_many_at_once(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < 1000; i++) /* more than the server takes at a time: nghttp2 lets the others wait */
        (void)grpc_call(b->client, "/test.Echo/Echo", BYTES("x"), WAIT_MS, on_answer, b);
    run_until(b, &b->answers_n, 1000);
    assert_int_equal(b->calls_n, 1000);
}

/* ---- streams ---- */

static void test_stream(void **state)
{
    struct bench *b = *state;
    uint64_t id = grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    assert_int_not_equal(id, 0);
    run_until(b, &b->messages_n, 1);
    for (uint32_t i = 0; i < 50; i++) {
        char text[16];
        snprintf(text, sizeof text, "message %u", i);
        grpc_stream_replace(b->watchers[0], bytes_of(text));
        run_until(b, &b->messages_n, i + 2);
        assert_true(bytes_is(buf_view(&b->last), text));
    }
    grpc_stream_end(b->watchers[0]);
    b->watchers_n = 0;
    run_until(b, &b->ends_n, 1);
    assert_int_equal(b->status, GRPC_OK);
    assert_int_equal(b->closed_n, 0); /* the handler ended it itself */
}

static void test_stream_cancelled(void **state)
{
    struct bench *b = *state;
    uint64_t id = grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    run_until(b, &b->messages_n, 1);
    grpc_cancel(b->client, id);
    grpc_cancel(b->client, id);
    run_until(b, &b->closed_n, 1);
    assert_int_equal(b->ends_n, 0);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
    grpc_cancel(b->client, grpc_watch(b->client, "/test.Echo/Watch", BYTES("never sent"), on_message, b));
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
    assert_int_equal(b->messages_n, 1);
}

static void test_stream_ends_with_the_server(void **state)
{
    struct bench *b = *state;
    (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    run_until(b, &b->messages_n, 1);
    grpc_server_free(b->server);
    b->server = NULL;
    assert_int_equal(b->closed_n, 1);
    run_until(b, &b->ends_n, 1);
    assert_int_equal(b->status, GRPC_UNAVAILABLE);
}

static void test_stream_ends_with_the_client(void **state)
{
    struct bench *b = *state;
    (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    run_until(b, &b->messages_n, 1);
    grpc_client_free(b->client);
    b->client = NULL;
    run_until(b, &b->closed_n, 1);
}

/* A reader that is slower than the changes sees the last state, and few of those between. */
static void test_updates_coalesce(void **state)
{
    struct bench *b = *state;
    size_t n = 200000; /* beyond the peer's window */
    char *big = mem_alloc(n);
    memset(big, 'x', n);
    (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    run_until(b, &b->messages_n, 1);
    for (int i = 0; i < 50; i++) { /* within one turn: only the last one */
        big[0] = (char)i;
        grpc_stream_replace(b->watchers[0], (struct bytes){big, n});
    }
    run_until(b, &b->messages_n, 2);
    assert_int_equal(loop_run_for(b->loop, 20, NULL), 0);
    assert_int_equal(b->messages_n, 2);
    assert_int_equal(b->last.data[0], 49);
    for (int i = 0; i < 100; i++) { /* faster than the window opens */
        big[0] = (char)i;
        grpc_stream_replace(b->watchers[0], (struct bytes){big, n});
        assert_int_equal(loop_run_for(b->loop, 0, NULL), 0);
    }
    for (int i = 0; i < 1000 && b->last.data[0] != 99; i++)
        assert_int_equal(loop_run_for(b->loop, 5, NULL), 0);
    assert_in_range(b->messages_n, 4, 80);
    assert_int_equal(b->last.data[0], 99);
    free(big);
}

/* ---- the socket ---- */

static void test_socket_file(void **state)
{
    struct bench *b = *state;
    struct stat st;
    struct err e;
    struct grpc_server *other;
    assert_int_equal(stat(b->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(grpc_server_socket_is_ours(b->server));
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &other, &e), -E_EXISTS);
    assert_non_null(strstr(e.text, "another process answers"));
    assert_int_equal(unlink(b->path), 0);
    assert_false(grpc_server_socket_is_ours(b->server));
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &other, &e), 0);
    assert_true(grpc_server_socket_is_ours(other));
    grpc_server_free(b->server); /* leaves the other's file alone */
    b->server = other;
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

static void test_socket_errors(void **state)
{
    struct bench *b = *state;
    struct err e;
    struct grpc_server *other;
    char path[300];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_int_equal(grpc_server_new(b->loop, path, handlers, HANDLERS_N, b, &other, &e), -E_LIMIT);
    snprintf(path, sizeof path, "%s/nothing/s.sock", b->directory);
    assert_int_equal(grpc_server_new(b->loop, path, handlers, HANDLERS_N, b, &other, &e), -E_NOTFOUND);
    grpc_server_free(b->server);
    b->server = NULL;
    close(open(b->path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(grpc_server_new(b->loop, b->path, handlers, HANDLERS_N, b, &other, &e), -E_EXISTS);
    assert_non_null(strstr(e.text, "no socket"));
}

/* ---- peers that break the rules ---- */

static int raw_connect(const struct bench *b)
{
    struct sockaddr_un address;
    assert_int_equal(grpc_address(b->path, &address, NULL), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* What the server says until it closes or 20 ms have passed. */
static struct buf raw_read(struct bench *b, int fd, bool *ret_closed)
{
    struct buf got = {0};
    *ret_closed = false;
    for (int i = 0; i < 20 && !*ret_closed; i++) {
        assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
        ssize_t n;
        while ((n = recv(fd, buf_reserve(&got, 65536), 65536, 0)) > 0)
            got.n += (size_t)n;
        *ret_closed = n == 0 || (n < 0 && errno != EAGAIN);
    }
    return got;
}

static void test_garbage(void **state)
{
    struct bench *b = *state;
    struct random random = {42};
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int round = 0; round < 300; round++) {
        int fd = raw_connect(b);
        char junk[600];
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (char)random_next(&random);
        if (round % 3)
            (void)!send(fd, preface, sizeof preface - 1, MSG_NOSIGNAL);
        if (round % 3 == 2) { /* a frame header that makes some sense */
            memcpy(junk, "\0\0\x40", 3);
            junk[3] = (char)random_below(&random, 10);
        }
        (void)!send(fd, junk, sizeof junk, MSG_NOSIGNAL);
        assert_int_equal(loop_run_for(b->loop, 0, NULL), 0);
        close(fd);
    }
    int fd = raw_connect(b);
    static const char http1[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    bool closed;
    assert_int_equal(send(fd, http1, sizeof http1 - 1, 0), sizeof http1 - 1);
    struct buf got = raw_read(b, fd, &closed);
    assert_true(closed);
    buf_free(&got);
    close(fd);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

/* A session of nghttp2 that says what it is told to say. */
struct raw_peer {
    nghttp2_session *session;
    struct buf body, got;
    char status[8], grpc_status[8];
    bool closed;
};

static ssize_t raw_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t n, uint32_t *flags, nghttp2_data_source *source,
                        void *user)
{
    struct raw_peer *p = user;
    size_t take = p->body.n < n ? p->body.n : n;
    if (take) {
        memcpy(into, p->body.data, take);
        memmove(p->body.data, p->body.data + take, p->body.n - take);
        p->body.n -= take;
    }
    if (!p->body.n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)take;
}

static int raw_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n, const uint8_t *value,
                      size_t value_n, uint8_t flags, void *user)
{
    struct raw_peer *p = user;
    struct bytes key = {(const char *)name, name_n};
    char *into = bytes_is(key, ":status") ? p->status : bytes_is(key, "grpc-status") ? p->grpc_status : NULL;
    if (into)
        snprintf(into, 8, "%.*s", (int)value_n, (const char *)value);
    return 0;
}

static int raw_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    ((struct raw_peer *)user)->closed = true;
    return 0;
}

/* One call with these headers and bytes; the HTTP and gRPC status that came. */
static struct raw_peer raw_call(struct bench *b, const nghttp2_nv *headers, size_t headers_n, struct bytes body)
{
    struct raw_peer p = {0};
    nghttp2_session_callbacks *k;
    nghttp2_option *option;
    nghttp2_session_callbacks_new(&k);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_http_messaging(option, 1);
    nghttp2_session_callbacks_set_on_header_callback(k, raw_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, raw_close);
    nghttp2_session_client_new2(&p.session, k, &p, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(k);
    nghttp2_submit_settings(p.session, 0, NULL, 0);
    buf_bytes(&p.body, body);
    nghttp2_data_provider provider = {.read_callback = raw_body};
    nghttp2_submit_request(p.session, NULL, headers, headers_n, &provider, NULL);
    int fd = raw_connect(b);
    bool gone = false;
    for (int i = 0; i < 2000 && !p.closed && !gone; i++) {
        const uint8_t *data;
        ssize_t n;
        while ((n = nghttp2_session_mem_send(p.session, &data)) > 0)
            for (ssize_t sent = 0, m; sent < n; sent += m > 0 ? m : 0) {
                m = send(fd, data + sent, (size_t)(n - sent), MSG_NOSIGNAL);
                if (m < 0 && errno != EAGAIN)
                    break;
                assert_int_equal(loop_run_for(b->loop, 0, NULL), 0);
            }
        assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
        char in[4096];
        while ((n = recv(fd, in, sizeof in, 0)) > 0)
            assert_true(nghttp2_session_mem_recv(p.session, (uint8_t *)in, (size_t)n) >= 0);
        gone = n == 0;
    }
    close(fd);
    nghttp2_session_del(p.session);
    buf_free(&p.body);
    assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
    return p;
}

#define H(name, value) {(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1, sizeof(value) - 1, 0}
#define CALL_HEADERS                                                                                                                    \
    H(":method", "POST"), H(":scheme", "http"), H(":path", "/test.Echo/Echo"), H("content-type", "application/grpc"), H("te", "trailers")

static void expect_status(struct bench *b, const nghttp2_nv *headers, size_t headers_n, struct bytes body, const char *http,
                          const char *grpc)
{
    struct raw_peer p = raw_call(b, headers, headers_n, body);
    assert_string_equal(p.status, http);
    assert_string_equal(p.grpc_status, grpc);
}
#define N(headers) (sizeof(headers) / sizeof *(headers))

static void test_odd_headers(void **state)
{
    struct bench *b = *state;
    const struct bytes empty = BYTES("\0\0\0\0\0");
    const nghttp2_nv socket_path[] = {CALL_HEADERS, H(":authority", "/var/lib/kubelet/device-plugins/nvidia-gpu.sock")};
    expect_status(b, socket_path, N(socket_path), empty, "200", "0");
    const nghttp2_nv escaped[] = {CALL_HEADERS, H(":authority", "%2Fvar%2Flib%2Fkubelet"), H("grpc-timeout", "10S")};
    expect_status(b, escaped, N(escaped), empty, "200", "0");
    const nghttp2_nv no_authority[] = {CALL_HEADERS};
    expect_status(b, no_authority, N(no_authority), empty, "200", "0");
    const nghttp2_nv no_type[] = {H(":method", "POST"), H(":scheme", "http"), H(":path", "/test.Echo/Echo")};
    expect_status(b, no_type, N(no_type), empty, "415", "2");
    const nghttp2_nv json[] = {H(":method", "POST"), H(":path", "/test.Echo/Echo"), H("content-type", "application/grpc+json")};
    expect_status(b, json, N(json), empty, "415", "2");
    const nghttp2_nv get[] = {H(":method", "GET"), H(":path", "/test.Echo/Echo"), H("content-type", "application/grpc")};
    expect_status(b, get, N(get), empty, "405", "2");
    const nghttp2_nv no_path[] = {H(":method", "POST"), H("content-type", "application/grpc+proto")};
    expect_status(b, no_path, N(no_path), empty, "400", "2");
    const nghttp2_nv unknown[] = {H(":method", "POST"), H(":path", "/test.Echo/Other"), H("content-type", "application/grpc+proto")};
    expect_status(b, unknown, N(unknown), empty, "200", "12");
    const nghttp2_nv timeout[] = {CALL_HEADERS, H("grpc-timeout", "10 seconds")};
    expect_status(b, timeout, N(timeout), empty, "200", "13");
}

static void test_headers_too_long(void **state)
{
    struct bench *b = *state;
    char *value = mem_alloc(LIMIT_GRPC_HEADERS);
    memset(value, 'v', LIMIT_GRPC_HEADERS);
    nghttp2_nv headers[] = {CALL_HEADERS, {(uint8_t *)(uintptr_t) "x-long", (uint8_t *)value, 6, LIMIT_GRPC_HEADERS, 0}};
    struct raw_peer p = raw_call(b, headers, N(headers), BYTES("\0\0\0\0\0"));
    assert_string_equal(p.status, "");
    free(value);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

static void test_odd_messages(void **state)
{
    struct bench *b = *state;
    const nghttp2_nv headers[] = {CALL_HEADERS};
    expect_status(b, headers, N(headers), BYTES(""), "200", "13");                          /* none */
    expect_status(b, headers, N(headers), BYTES("\0\0\0"), "200", "13");                    /* half a prefix */
    expect_status(b, headers, N(headers), BYTES("\0\0\0\0\5abc"), "200", "13");             /* cut */
    expect_status(b, headers, N(headers), BYTES("\0\0\0\0\1a\0\0\0\0\1b"), "200", "13");    /* two */
    expect_status(b, headers, N(headers), BYTES("\0\0\0\0\1a\0"), "200", "13");             /* one and a half */
    expect_status(b, headers, N(headers), BYTES("\1\0\0\0\1a"), "200", "12");               /* compressed */
    expect_status(b, headers, N(headers), BYTES("\0\x7f\xff\xff\xff""a"), "200", "8");      /* 2 GiB, it says */
    expect_status(b, headers, N(headers), BYTES("\0\0\x40\0\1a"), "200", "8");              /* 4 MiB and one byte */
    assert_int_equal(b->calls_n, 0);
    assert_int_equal(ask(b, "/test.Echo/Echo", BYTES("x")), GRPC_OK);
}

/* More connections than a server keeps: those that do nothing give way, a watcher stays. */
static void test_connection_limit(void **state)
{
    struct bench *b = *state;
    int fds[3 * LIMIT_GRPC_CONNECTIONS];
    (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("first"), on_message, b);
    run_until(b, &b->messages_n, 1);
    for (size_t i = 0; i < N(fds); i++) {
        fds[i] = raw_connect(b);
        assert_int_equal(loop_run_for(b->loop, 1, NULL), 0);
    }
    struct grpc_client *other = grpc_client_new(b->loop, b->path);
    (void)grpc_call(other, "/test.Echo/Echo", BYTES("x"), WAIT_MS, on_answer, b);
    run_until(b, &b->answers_n, 1);
    assert_int_equal(b->status, GRPC_OK);
    assert_int_equal(b->closed_n, 0);
    grpc_stream_replace(b->watchers[0], BYTES("second"));
    run_until(b, &b->messages_n, 2);
    grpc_client_free(other);
    for (size_t i = 0; i < N(fds); i++)
        close(fds[i]);
}

/* More streams than a connection may have: the rest waits in the client. When all connections are busy, a new one is turned away. */
static void test_stream_limit(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < LIMIT_GRPC_STREAMS + 20; i++)
        (void)grpc_watch(b->client, "/test.Echo/Watch", BYTES("w"), on_message, b);
    run_until(b, &b->messages_n, LIMIT_GRPC_STREAMS);
    assert_int_equal(loop_run_for(b->loop, 20, NULL), 0);
    assert_int_equal(b->watchers_n, LIMIT_GRPC_STREAMS);
    grpc_stream_end(b->watchers[0]);
    b->watchers[0] = b->watchers[--b->watchers_n];
    run_until(b, &b->messages_n, LIMIT_GRPC_STREAMS + 1);
    struct grpc_client *others[LIMIT_GRPC_CONNECTIONS];
    for (int i = 0; i < LIMIT_GRPC_CONNECTIONS; i++) {
        others[i] = grpc_client_new(b->loop, b->path);
        (void)grpc_watch(others[i], "/test.Echo/Watch", BYTES("w"), on_message, b);
        assert_int_equal(loop_run_for(b->loop, 2, NULL), 0);
    }
    run_until(b, &b->ends_n, 2); /* the ended stream and the connection too many */
    for (int i = 0; i < LIMIT_GRPC_CONNECTIONS; i++)
        grpc_client_free(others[i]);
}

/* ---- texts ---- */

static void test_texts(void **state)
{
    struct buf b = {0};
    grpc_text_encode(&b, "a b%\n\x7f\xc3\xa4");
    assert_true(bytes_is(buf_view(&b), "a b%25%0A%7F%C3%A4"));
    buf_clear(&b);
    grpc_text_decode(&b, BYTES("a%20b%25%zz%4%"));
    assert_true(bytes_is(buf_view(&b), "a b%%zz%4%"));
    buf_free(&b);
    assert_int_equal(grpc_timeout_parse(BYTES("30S")), 30000);
    assert_int_equal(grpc_timeout_parse(BYTES("99999999H")), INT64_C(99999999) * 3600000);
    assert_int_equal(grpc_timeout_parse(BYTES("1u")), 1);
    assert_int_equal(grpc_timeout_parse(BYTES("0n")), 0);
    assert_int_equal(grpc_timeout_parse(BYTES("29997222u")), 29998);
    static const char *const malformed[] = {"", "S", "10", "123456789S", "-1S", "1.5S", "10s", "1 S"};
    for (size_t i = 0; i < N(malformed); i++)
        assert_int_equal(grpc_timeout_parse(bytes_of(malformed[i])), -1);
    char text[16];
    grpc_timeout_print(1500, text, sizeof text);
    assert_string_equal(text, "1500m");
    grpc_timeout_print(INT64_C(100000000), text, sizeof text);
    assert_string_equal(text, "100000S");
}

static void test_assembly_cut_anywhere(void **state)
{
    const struct bytes stream = BYTES("\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de");
    for (size_t step = 1; step <= stream.n; step++) {
        struct grpc_assembly a = {0};
        struct buf out = {0};
        for (size_t at = 0; at < stream.n; at += step) {
            size_t n = stream.n - at < step ? stream.n - at : step, used;
            const uint8_t *data = (const uint8_t *)stream.data + at;
            while (n && grpc_assembly_feed(&a, data, n, &used) == 1) {
                buf_bytes(&out, buf_view(&a.body));
                buf_char(&out, ';');
                grpc_assembly_next(&a);
                data += used;
                n -= used;
            }
        }
        assert_true(bytes_is(buf_view(&out), "abc;;de;"));
        assert_true(grpc_assembly_between(&a));
        grpc_assembly_free(&a);
        buf_free(&out);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unary), TEST(test_large_messages), TEST(test_too_large), TEST(test_errors), TEST(test_nobody_listens),
        TEST(test_server_restarts), TEST(test_server_freed_by_its_handler), TEST(test_client_freed_by_its_callback), TEST(test_timeout),
        TEST(test_many_at_once), TEST(test_stream), TEST(test_stream_cancelled), TEST(test_stream_ends_with_the_server),
        TEST(test_stream_ends_with_the_client), TEST(test_updates_coalesce), TEST(test_socket_file), TEST(test_socket_errors),
        TEST(test_garbage), TEST(test_odd_headers), TEST(test_headers_too_long), TEST(test_odd_messages), TEST(test_connection_limit),
        TEST(test_stream_limit), cmocka_unit_test(test_texts), cmocka_unit_test(test_assembly_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
