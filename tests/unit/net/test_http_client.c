/* The client against peers that are absent, wrong or rude. */
#include "world.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static struct http_client *client_to(struct loop *l, const char *url)
{
    struct http_client *c = NULL;
    struct err e = {0};
    if (http_client_new(l, &(struct http_client_config){.base_url = url}, &c, &e) < 0)
        fail_msg("%s", e.text);
    return c;
}

static void test_bad_addresses(void **state)
{
    static const char *const bad[] = {
        NULL, "", "localhost:80", "ftp://x", "http://", "http://:80", "https://a b/", "http://x:99999", "unix:x"};
    struct loop *l = loop_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct http_client *c = NULL;
        struct err e = {0};
        if (http_client_new(l, &(struct http_client_config){.base_url = bad[i]}, &c, &e) != -E_INVALID)
            fail_msg("accepted \"%s\"", bad[i] ? bad[i] : "NULL");
        assert_non_null(strstr(e.text, "server address"));
    }
    http_client_free(NULL);
    loop_free(l);
}

static void test_nobody_listens(void **state)
{
    struct world w = {.l = loop_new()};
    struct got g;
    w.client = client_to(w.l, "http://127.0.0.1:1/");
    call(&w, &g, (struct http_call){.method = "GET", .path = "/x"});
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_IO);
    assert_non_null(strstr(g.error.text, "GET http://127.0.0.1:1/x"));
    assert_non_null(strstr(g.error.text, "is the server running"));
    http_client_free(w.client);
    w.client = client_to(w.l, "unix:/nonexistent/socket");
    call(&w, &g, (struct http_call){.method = "GET", .path = "/x"});
    assert_int_equal(g.error.code, E_IO);
    http_client_free(w.client);
    loop_free(w.l);
}

enum { HASTY_N = 8 };
struct hasty {
    struct http_client *client;
    uint64_t ids[HASTY_N];
};

static bool no_chunk(void *arg, int status, struct bytes chunk)
{
    return true;
}

static void change_mind(void *arg)
{
    struct hasty *h = arg;
    for (int i = 0; i < HASTY_N; i++)
        http_client_cancel(h->client, h->ids[i]);
}

/* libcurl closes sockets that are not connected yet without a word: the loop must not go on watching them. */
static void test_cancelled_while_connecting(void **state)
{
    char url[64];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, n), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    struct loop *l = loop_new();
    for (int round = 0; round < 4; round++) {
        struct hasty h = {.client = client_to(l, url)};
        for (int i = 0; i < HASTY_N; i++)
            h.ids[i] = http_client_send(h.client, &(struct http_call){.method = "GET", .path = "/x", .on_chunk = no_chunk});
        loop_at_turn_end(l, change_mind, &h); /* behind the client, which has just opened the sockets */
        loop_run_for(l, 50, NULL);
        assert_int_equal(http_client_in_flight(h.client), 0);
        http_client_free(h.client);
        loop_run_for(l, 5, NULL);
    }
    loop_free(l);
    close(fd);
}

struct rude {
    struct loop *l;
    const char *answer;
    int fd, peer;
    struct loop_poll *poll, *peer_poll;
};

static void rude_answers(void *arg, int events)
{
    struct rude *r = arg;
    char request[4096];
    (void)!recv(r->peer, request, sizeof request, 0);
    (void)!send(r->peer, r->answer, strlen(r->answer), MSG_NOSIGNAL);
    loop_poll_free(r->peer_poll);
    r->peer_poll = NULL;
    close(r->peer);
}

static void rude_accepts(void *arg, int events)
{
    struct rude *r = arg;
    int fd = accept(r->fd, NULL, NULL);
    if (fd < 0 || r->peer_poll) {
        close(fd);
        return;
    }
    r->peer = fd;
    r->peer_poll = loop_poll_new(r->l, fd, rude_answers, r);
    loop_poll_set(r->peer_poll, LOOP_READ);
}

static void rude_call(const char *answer, struct got *g)
{
    struct world w = {.l = loop_new()};
    struct rude r = {.l = w.l, .answer = answer, .fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
    struct sockaddr_in sa = {.sin_family = AF_INET};
    socklen_t n = sizeof sa;
    char url[64];
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(r.fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen(r.fd, 5), 0);
    getsockname(r.fd, (struct sockaddr *)&sa, &n);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(sa.sin_port));
    r.poll = loop_poll_new(w.l, r.fd, rude_accepts, &r);
    loop_poll_set(r.poll, LOOP_READ);
    w.client = client_to(w.l, url);
    call(&w, g, (struct http_call){.method = "GET", .path = "/x", .timeout_ms = 2000});
    http_client_free(w.client);
    loop_poll_free(r.poll);
    close(r.fd);
    loop_free(w.l);
}

static void test_rude_servers(void **state)
{
    struct got g;
    rude_call("", &g); /* closes at once */
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_IO);
    rude_call("SSH-2.0-x\r\n", &g);
    assert_int_equal(g.status, 0);
    assert_true(g.error.code != 0);
    rude_call("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", &g);
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_IO);
    rude_call("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", &g);
    assert_int_equal(g.status, 302); /* not followed */
    rude_call("HTTP/1.1 200 OK\r\nX-A:  spaced  \r\nWarning: 299 w\r\nContent-Length: 2\r\n\r\nok", &g);
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body.data, "ok");
    assert_string_equal(g.warning, "299 w");
    buf_free(&g.body);
}

static void free_client(void *arg, const struct http_answer *a)
{
    struct world *w = arg;
    http_client_free(w->client);
    w->client = NULL;
    w->closed_n++;
}

static void test_client_freed_by_its_own_callback(void **state)
{
    struct world *w = world_new("127.0.0.1:0");
    for (int i = 0; i < 3; i++)
        http_client_send(w->client,
                         &(struct http_call){.method = "GET", .path = "/x", .on_answer = free_client, .arg = w});
    WAIT(w, w->closed_n == 1);
    world_free(w);
}

static const char *say_who(void *ctx)
{
    return ctx;
}

static void seen_by_handler(void *ctx, struct http_exchange *x)
{
    const char *a = http_header(&x->request, "authorization"), *u = http_header(&x->request, "user-agent");
    const char *extra = http_header(&x->request, "x-extra");
    http_reply_text(x, 200, "text/plain",
                    arena_printf(x->request.arena, "%s|%s|%s|%s", a ? a : "-", u ? u : "-",
                                 http_header(&x->request, "accept"), extra ? extra : "-"));
}

static void test_headers_of_each_request(void **state)
{
    struct world w = {.l = loop_new()};
    struct got g;
    char url[64];
    http_server_new(w.l, &(struct http_server_config){.listen = "127.0.0.1:0", .handler = seen_by_handler}, &w.server,
                    NULL);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", http_server_port(w.server));
    http_client_new(w.l,
                    &(struct http_client_config){.base_url = url,
                                                 .user_agent = "t/1",
                                                 .authorization = say_who,
                                                 .authorization_ctx = (void *)"Bearer a\r\nX-Evil: b"},
                    &w.client, NULL);
    call(&w, &g, (struct http_call){.method = "GET", .path = "/x", .accept = "text/x"});
    assert_string_equal(g.body.data, "Bearer a  X-Evil: b|t/1|text/x|-");
    buf_free(&g.body);
    const struct http_param extra = {"X-Extra", "1\r\nX-Evil: c"};
    call(&w, &g, (struct http_call){.method = "POST", .path = "/x", .headers = &extra, .headers_n = 1});
    assert_string_equal(g.body.data, "Bearer a  X-Evil: b|t/1|application/json|1  X-Evil: c");
    buf_free(&g.body);
    http_client_free(w.client);
    http_server_free(w.server);
    loop_free(w.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_addresses),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_cancelled_while_connecting),
        cmocka_unit_test(test_rude_servers),
        cmocka_unit_test(test_client_freed_by_its_own_callback),
        cmocka_unit_test(test_headers_of_each_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
