/* What clients send that no client library sends: raw bytes, cut requests, silence. */
#include "world.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/limits.h"

static int setup(void **state)
{
    *state = world_new("127.0.0.1:0");
    return 0;
}

static int teardown(void **state)
{
    world_free(*state);
    return 0;
}

static int raw_connect(struct world *w)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(w->server))};
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0 || errno == EINPROGRESS);
    loop_run_for(w->l, 2, NULL);
    return fd;
}

static void raw_send(struct world *w, int fd, const char *data)
{
    size_t n = strlen(data);
    while (n > 0) {
        ssize_t k = send(fd, data, n, MSG_NOSIGNAL);
        if (k < 0 && errno != EAGAIN)
            return; /* the server has closed: its answer is what the test looks at */
        data += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
        loop_run_for(w->l, 1, NULL);
    }
}

/* Everything that arrives until `needle` or the end; caller frees. */
static char *raw_read(struct world *w, int fd, const char *needle)
{
    struct buf out = {0};
    buf_text(&out, "");
    for (int i = 0; i < 1000 && !(needle && strstr(out.data, needle)); i++) {
        char chunk[4096];
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        if (n > 0)
            buf_add(&out, chunk, (size_t)n);
        loop_run_for(w->l, 2, NULL);
    }
    return buf_take(&out, NULL);
}

static void expect(struct world *w, const char *request, const char *status_line, const char *in_body)
{
    int fd = raw_connect(w);
    raw_send(w, fd, request);
    char *got = raw_read(w, fd, in_body ? in_body : status_line);
    if (!text_starts(got, status_line) || (in_body && !strstr(got, in_body)))
        fail_msg("sent:\n%.200s\nwanted: %s ... %s\ngot:\n%.400s", request, status_line, in_body ? in_body : "", got);
    free(got);
    close(fd);
    loop_run_for(w->l, 2, NULL);
}

static void test_malformed_requests(void **state)
{
    struct world *w = *state;
    expect(w, "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", "\"kind\":\"Status\"");
    expect(w, "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", "NUL");
    expect(w, "GET /?a=%2 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", "percent");
    expect(w, "get / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", "capital letters");
    expect(w, "GET * HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", NULL);
    expect(w, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", NULL); /* HTTP/1.1 without Host */
    expect(w, "GARBAGE\r\n\r\n", "", NULL); /* closed without an answer: no HTTP version to answer in */
    expect(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 ", NULL);
    expect(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400 ", NULL);
    expect(w, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400 ", "several Host headers");
    expect(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.1 400 ",
           "twice");
    expect(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.1 400 ", "twice");
    expect(w, "GET /a%ff HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 ", "UTF-8");
    assert_int_equal(w->handled_n, 0);
    expect(w, "GET /h HTTP/1.1\r\nHost: a\r\nX-Test: \xff\xfe\r\n\r\n", "HTTP/1.1 200 ", "h=??");
    expect(w, "GET /ok HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 ", "GET /ok"); /* still there */
}

static void test_absolute_form_and_http_1_0(void **state)
{
    struct world *w = *state;
    expect(w, "GET http://example.org/x?q=1 HTTP/1.1\r\nHost: example.org\r\n\r\n", "HTTP/1.1 200 ", "GET /x q=1");
    expect(w, "GET /old HTTP/1.0\r\n\r\n", "HTTP/1.", "GET /old");
    expect(w, "GET /h HTTP/1.1\r\nHost: a\r\nX-Test: Some Value\r\n\r\n", "HTTP/1.1 200 ", "h=Some Value");
}

static void test_too_long(void **state)
{
    struct world *w = *state;
    _cleanup_buf_ struct buf request = {0};
    buf_text(&request, "GET /");
    while (request.n < 17000)
        buf_text(&request, "aaaaaaaaaa");
    buf_text(&request, " HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(w, request.data, "HTTP/1.1 414 ", NULL);
    buf_clear(&request);
    buf_text(&request, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 260; i++)
        buf_printf(&request, "X-%d: y\r\n", i);
    buf_text(&request, "\r\n");
    expect(w, request.data, "HTTP/1.1 431 ", NULL);
    buf_clear(&request);
    buf_text(&request, "GET / HTTP/1.1\r\nHost: a\r\nX-Long: ");
    while (request.n < 70000)
        buf_text(&request, "bbbbbbbbbb");
    buf_text(&request, "\r\n\r\n");
    expect(w, request.data, "HTTP/1.1 431 ", NULL);
    assert_int_equal(w->handled_n, 0);
}

static void test_as_long_as_allowed(void **state)
{
    struct world *w = *state;
    _cleanup_buf_ struct buf request = {0};
    buf_text(&request, "GET /");
    while (request.n < strlen("GET ") + LIMIT_URL_BYTES)
        buf_char(&request, 'a');
    buf_text(&request, " HTTP/1.1\r\nHost: a\r\nX-Long: ");
    for (size_t end = request.n + 8000; request.n < end;)
        buf_char(&request, 'b');
    buf_text(&request, "\r\n\r\n");
    expect(w, request.data, "HTTP/1.1 200 ", NULL);
    buf_clear(&request);
    buf_text(&request, "GET / HTTP/1.1\r\nHost: a\r\nX-Long: ");
    for (size_t end = request.n + LIMIT_HEADERS_BYTES - strlen("host: a..x-long: .."); request.n < end;)
        buf_char(&request, 'b');
    size_t n = request.n;
    buf_text(&request, "\r\n\r\n");
    expect(w, request.data, "HTTP/1.1 200 ", NULL);
    assert_int_equal(w->handled_n, 2);
    request.n = n;
    buf_text(&request, "b\r\n\r\n");
    expect(w, request.data, "HTTP/1.1 431 ", "20 KiB");
    assert_int_equal(w->handled_n, 2);
}

/* A byte now and then does not hold a connection for ever: neither in the head nor in the body. */
static void test_trickling_requests_are_cut(void **state)
{
    struct world *w = *state;
    struct http_server_config config = {.listen = "127.0.0.1:0", .handler = world_handler, .ctx = w, .idle_seconds = 1};
    http_server_free(w->server);
    assert_int_equal(http_server_new(w->l, &config, &w->server, NULL), 0);
    int head = raw_connect(w), body = raw_connect(w), silent = raw_connect(w);
    raw_send(w, head, "GET /slow HTTP/1.1\r\nHost: a\r\nX: ");
    raw_send(w, body, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 30 && http_server_connections(w->server) > 0; i++) {
        raw_send(w, head, "x");
        raw_send(w, body, "y");
        loop_run_for(w->l, 100, NULL);
    }
    assert_int_equal(http_server_connections(w->server), 0);
    assert_int_equal(w->handled_n, 0);
    close(head);
    close(body);
    close(silent);
}

static void server_again(struct world *w, uint32_t request_seconds, uint32_t connections_max)
{
    struct http_server_config config = {.listen = "127.0.0.1:0",
                                        .handler = world_handler,
                                        .ctx = w,
                                        .idle_seconds = 60,
                                        .request_seconds = request_seconds,
                                        .connections_max = connections_max};
    http_server_free(w->server);
    assert_int_equal(http_server_new(w->l, &config, &w->server, NULL), 0);
}

static void ask_over(struct world *w, int fd)
{
    raw_send(w, fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    char *got = raw_read(w, fd, "\r\n\r\n");
    assert_true(text_starts(got, "HTTP/1.1 200 "));
    free(got);
}

static void test_first_request_has_less_time_than_an_idle_connection(void **state)
{
    struct world *w = *state;
    server_again(w, 1, 0);
    int silent = raw_connect(w), kept = raw_connect(w);
    ask_over(w, kept);
    WAIT(w, http_server_connections(w->server) == 1);
    ask_over(w, kept);
    close(silent);
    close(kept);
}

/* More connections than allowed, and nobody's time is over: those that say nothing give way, longest silence first. */
static void test_a_full_server_answers(void **state)
{
    struct world *w = *state;
    int silent[8];
    server_again(w, 60, 3);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        silent[i] = raw_connect(w);
        loop_run_for(w->l, 20, NULL);
        assert_in_range(http_server_connections(w->server), 1, 3);
    }
    char byte;
    assert_int_equal(recv(silent[0], &byte, 1, MSG_DONTWAIT), 0); /* cut */
    assert_int_equal(recv(silent[7], &byte, 1, MSG_DONTWAIT), -1);
    int asking = raw_connect(w);
    ask_over(w, asking);
    close(asking);
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        close(silent[i]);
}

/* There was nobody to cut when it became full: the first that has its answer goes. */
static void test_a_full_server_finds_room_later(void **state)
{
    struct world *w = *state;
    server_again(w, 60, 2);
    int held = raw_connect(w);
    raw_send(w, held, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    WAIT(w, w->held);
    int answered = raw_connect(w);
    ask_over(w, answered);
    http_reply_text(w->held, 200, "text/plain", "x");
    w->held = NULL;
    free(raw_read(w, held, "\r\n\r\n"));
    int asking = raw_connect(w);
    ask_over(w, asking);
    close(held);
    close(answered);
    close(asking);
}

static void test_expect_continue(void **state)
{
    struct world *w = *state;
    int fd = raw_connect(w);
    const char *head = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    raw_send(w, fd, head);
    char *got = raw_read(w, fd, "\r\n\r\n");
    assert_true(text_starts(got, "HTTP/1.1 100 "));
    free(got);
    raw_send(w, fd, "hello");
    got = raw_read(w, fd, "hello");
    assert_true(text_starts(got, "HTTP/1.1 200 "));
    free(got);
    close(fd);
    expect(w, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n\r\n",
           "HTTP/1.1 413 ", "3 MiB");
}

static void test_chunked_upload_and_keep_alive(void **state)
{
    struct world *w = *state;
    int fd = raw_connect(w);
    const char *two =
        "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
        "GET /second HTTP/1.1\r\nHost: a\r\n\r\n";
    raw_send(w, fd, two); /* pipelined */
    char *got = raw_read(w, fd, "GET /second");
    assert_non_null(strstr(got, "abcdefg"));
    assert_non_null(strstr(got, "GET /second"));
    assert_int_equal(http_server_connections(w->server), 1);
    free(got);
    close(fd);
    WAIT(w, http_server_connections(w->server) == 0);
}

static void test_cut_and_slow_requests_do_not_disturb(void **state)
{
    struct world *w = *state;
    struct got g;
    int slow = raw_connect(w), cut = raw_connect(w), half = raw_connect(w);
    raw_send(w, slow, "GET /sl");
    raw_send(w, cut, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    raw_send(w, half, "GET /x HTTP/1.1\r\nHost");
    call(w, &g, (struct http_call){.method = "GET", .path = "/fast"});
    assert_int_equal(g.status, 200);
    buf_free(&g.body);
    close(cut);
    close(half);
    loop_run_for(w->l, 5, NULL);
    assert_int_equal(w->handled_n, 1);
    raw_send(w, slow, "ow HTTP/1.1\r\nHost: a\r\n\r\n");
    char *got = raw_read(w, slow, "GET /slow");
    assert_true(text_starts(got, "HTTP/1.1 200 "));
    free(got);
    close(slow);
}

static void test_reader_that_does_not_read(void **state)
{
    struct world *w = *state;
    struct got g;
    int fd = raw_connect(w);
    raw_send(w, fd, "GET /big?n=30000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    loop_run_for(w->l, 20, NULL);
    call(w, &g, (struct http_call){.method = "GET", .path = "/fast"});
    assert_int_equal(g.status, 200);
    buf_free(&g.body);
    close(fd);
    loop_run_for(w->l, 5, NULL);
}

static bool head_of_known(void *ctx, const struct http_exchange *x)
{
    return http_header(&x->request, "authorization") != NULL;
}

static void server_with(struct world *w, struct http_server_config config)
{
    struct err e = {0};
    http_server_free(w->server);
    config.listen = "127.0.0.1:0";
    config.handler = world_handler;
    config.ctx = w;
    if (http_server_new(w->l, &config, &w->server, &e) < 0)
        fail_msg("%s", e.text);
}

/* The handler says why; what nobody may send is read, so that the client comes to read the answer, and not kept. */
static void test_bodies_of_strangers_are_not_kept(void **state)
{
    struct world *w = *state;
    server_with(w, (struct http_server_config){.head = head_of_known});
    int fd = raw_connect(w);
    raw_send(w, fd, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    raw_send(w, fd, "POST /body HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nContent-Length: 5\r\n\r\nhello");
    raw_send(w, fd, "GET /last HTTP/1.1\r\nHost: a\r\n\r\n");
    char *got = raw_read(w, fd, "GET /last");
    const char *hello = strstr(got, "hello");
    assert_non_null(hello);
    assert_null(strstr(hello + 1, "hello"));
    assert_non_null(strstr(got, "Content-Length: 0"));
    free(got);
    close(fd);
}

static bool is_cut(int fd)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {}
    return n == 0 || errno != EAGAIN;
}

/* The parts of many requests together: whoever has been waited for longest gives way, and others are served. */
static void test_unfinished_bodies_have_a_budget(void **state)
{
    struct world *w = *state;
    char *half = mem_zero((500 << 10) + 1, 1);
    int fd[5];
    memset(half, 'x', 500 << 10);
    server_with(w, (struct http_server_config){.held_bytes_max = 1800 << 10});
    for (size_t i = 0; i < 5; i++) {
        fd[i] = raw_connect(w);
        raw_send(w, fd[i], "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
        raw_send(w, fd[i], half);
        loop_run_for(w->l, 20, NULL);
    }
    WAIT(w, http_server_connections(w->server) == 3);
    assert_true(is_cut(fd[0]) && is_cut(fd[1]));
    assert_false(is_cut(fd[2]) || is_cut(fd[4]));
    int asking = raw_connect(w);
    ask_over(w, asking);
    close(asking);
    for (size_t i = 0; i < 5; i++)
        close(fd[i]);
    free(half);
}

static void test_unread_answers_have_a_budget(void **state)
{
    struct world *w = *state;
    int fd[3];
    server_with(w, (struct http_server_config){.held_bytes_max = 50 << 20});
    for (size_t i = 0; i < 3; i++) {
        fd[i] = raw_connect(w);
        raw_send(w, fd[i], "GET /big?n=20000000 HTTP/1.1\r\nHost: a\r\n\r\n");
        loop_run_for(w->l, 20, NULL);
    }
    WAIT(w, http_server_connections(w->server) == 2);
    assert_true(is_cut(fd[0]));
    for (size_t i = 0; i < 3; i++)
        close(fd[i]);
}

/* A stream that has something to say to somebody who does not listen ends; one that is silent goes on. */
static void test_streams_that_nobody_reads_are_cut(void **state)
{
    struct world *w = *state;
    server_with(w, (struct http_server_config){.idle_seconds = 1});
    int fd = raw_connect(w);
    raw_send(w, fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    loop_run_for(w->l, 1600, NULL);
    assert_int_equal(w->closed_n, 0);
    char *much = mem_zero((16 << 20) + 1, 1);
    memset(much, 'x', 16 << 20);
    buf_text(&w->feed, much);
    free(much);
    http_stream_wake(w->stream);
    int64_t begin_ms = loop_now_ms(w->l);
    while (w->closed_n == 0 && loop_now_ms(w->l) - begin_ms < 10000) {
        char byte;
        (void)recv(fd, &byte, 1, MSG_DONTWAIT); /* now and then a byte */
        loop_run_for(w->l, 100, NULL);
    }
    assert_int_equal(w->closed_n, 1);
    close(fd);
}

static void test_stream_whose_client_vanishes(void **state)
{
    struct world *w = *state;
    int fd = raw_connect(w);
    raw_send(w, fd, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    char *got = raw_read(w, fd, "\r\n\r\n");
    assert_non_null(strstr(got, "chunked"));
    free(got);
    assert_int_equal(w->closed_n, 0);
    close(fd);
    WAIT(w, w->closed_n == 1); /* seen without a write */
    WAIT(w, http_server_connections(w->server) == 0);
}

static void test_listen_errors(void **state)
{
    struct world *w = *state;
    static const char *const bad[] = {
        "", "8080", "127.0.0.1", "127.0.0.1:70000", "127.0.0.1:x", "host.example:80", "[::zz]:80", "unix:rel"};
    struct http_server *s = NULL;
    struct err e = {0};
    char taken[32];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct http_server_config config = {.listen = bad[i], .handler = world_handler, .ctx = w};
        assert_int_equal(http_server_new(w->l, &config, &s, &e), -E_INVALID);
        assert_non_null(strstr(e.text, "listen"));
    }
    snprintf(taken, sizeof taken, "127.0.0.1:%d", http_server_port(w->server));
    struct http_server_config config = {.listen = taken, .handler = world_handler, .ctx = w};
    assert_int_equal(http_server_new(w->l, &config, &s, &e), -E_EXISTS);
    assert_non_null(strstr(e.text, "in use"));
}

int main(void)
{
#define WITH_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_malformed_requests),
        WITH_WORLD(test_absolute_form_and_http_1_0),
        WITH_WORLD(test_too_long),
        WITH_WORLD(test_as_long_as_allowed),
        WITH_WORLD(test_trickling_requests_are_cut),
        WITH_WORLD(test_first_request_has_less_time_than_an_idle_connection),
        WITH_WORLD(test_a_full_server_answers),
        WITH_WORLD(test_a_full_server_finds_room_later),
        WITH_WORLD(test_expect_continue),
        WITH_WORLD(test_chunked_upload_and_keep_alive),
        WITH_WORLD(test_cut_and_slow_requests_do_not_disturb),
        WITH_WORLD(test_reader_that_does_not_read),
        WITH_WORLD(test_bodies_of_strangers_are_not_kept),
        WITH_WORLD(test_unfinished_bodies_have_a_budget),
        WITH_WORLD(test_unread_answers_have_a_budget),
        WITH_WORLD(test_streams_that_nobody_reads_are_cut),
        WITH_WORLD(test_stream_whose_client_vanishes),
        WITH_WORLD(test_listen_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
