/* Server and client together over loopback: bodies, late answers, streams, cancelling, time limits. */
#include "world.h"
#include <unistd.h>

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

static void test_get(void **state)
{
    struct got g;
    call(*state, &g, (struct http_call){.method = "GET", .path = "/a%20b?q=1+2"});
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body.data, "GET /a b q=1 2 h=- n=0");
    assert_string_equal(g.content_type, "text/plain");
    buf_free(&g.body);
}

static void test_methods(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS"};
    for (int i = 0; i < 12; i++) {
        struct got g;
        char want[64];
        struct bytes body = i % 2 ? BYTES("hello") : (struct bytes){0};
        call(*state, &g,
             (struct http_call){.method = methods[i / 2], .path = "/", .body = body, .content_type = "text/plain"});
        snprintf(want, sizeof want, "%s / q=- h=- n=%zu", methods[i / 2], body.n);
        assert_string_equal(g.body.data, want);
        buf_free(&g.body);
    }
}

static void test_head_has_no_body(void **state)
{
    struct got g;
    call(*state, &g, (struct http_call){.method = "HEAD", .path = "/x"});
    assert_int_equal(g.status, 200);
    assert_int_equal(g.body.n, 0);
    call(*state, &g, (struct http_call){.method = "GET", .path = "/empty"});
    assert_int_equal(g.status, 204);
    buf_free(&g.body);
}

static void test_large_bodies_both_ways(void **state)
{
    struct got g;
    _cleanup_buf_ struct buf body = {0};
    for (int i = 0; i < 300000; i++)
        buf_printf(&body, "%d,", i);
    body.n = body.n < (3u << 20) ? body.n : 3u << 20;
    call(*state, &g,
         (struct http_call){.method = "POST", .path = "/body", .body = buf_view(&body), .content_type = "text/plain"});
    assert_int_equal(g.status, 200);
    assert_true(bytes_equal(buf_view(&g.body), buf_view(&body)));
    assert_string_equal(g.warning, "299 - \"one  two\""); /* no header injection */
    buf_free(&g.body);
    call(*state, &g, (struct http_call){.method = "GET", .path = "/big?n=20000000"});
    assert_int_equal(g.body.n, 20000000);
    buf_free(&g.body);
    call(*state, &g, (struct http_call){.method = "GET", .path = "/big?n=2000", .answer_max_bytes = 1999});
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_LIMIT);
}

static void test_body_over_the_limit_is_413(void **state)
{
    struct world *w = *state;
    struct got g;
    size_t n = (3u << 20) + 1;
    char *body = mem_zero(n, 1);
    int before = w->handled_n;
    call(w, &g, (struct http_call){.method = "POST", .path = "/body", .body = {body, n}, .content_type = "text/plain"});
    assert_int_equal(g.status, 413);
    assert_non_null(strstr(g.body.data, "\"kind\":\"Status\""));
    assert_non_null(strstr(g.body.data, "RequestEntityTooLarge"));
    assert_int_equal(w->handled_n, before);
    buf_free(&g.body);
    free(body);
}

static void test_answer_later(void **state)
{
    struct got g;
    call(*state, &g, (struct http_call){.method = "POST", .path = "/later", .body = BYTES("x")});
    assert_int_equal(g.status, 202);
    assert_string_equal(g.body.data, "later");
    buf_free(&g.body);
}

static void test_many_at_once(void **state)
{
    struct world *w = *state;
    enum { N = 500 };
    struct got *g = mem_zero(N, sizeof *g);
    for (int i = 0; i < N; i++)
        http_client_send(w->client,
                         &(struct http_call){.method = "GET", .path = "/m", .on_answer = on_answer, .arg = &g[i]});
    assert_int_equal(http_client_in_flight(w->client), N);
    for (int i = 0; i < 500 && http_client_in_flight(w->client); i++)
        loop_run_for(w->l, 10, NULL);
    for (int i = 0; i < N; i++) {
        assert_int_equal(g[i].n, 1);
        assert_int_equal(g[i].status, 200);
        buf_free(&g[i].body);
    }
    assert_true(http_server_connections(w->server) <= 16);
    free(g);
}

static void test_stream(void **state)
{
    struct world *w = *state;
    struct got g = {0};
    http_client_send(w->client,
                     &(struct http_call){
                         .method = "GET", .path = "/stream", .on_chunk = on_chunk, .on_answer = on_answer, .arg = &g});
    WAIT(w, w->stream);
    for (int i = 0; i < 3; i++) {
        buf_text(&w->feed, "{\"n\":1}\n");
        http_stream_wake(w->stream);
        WAIT(w, g.chunks_n == i + 1);
    }
    assert_int_equal(g.n, 0);
    w->feed_ends = true;
    http_stream_wake(w->stream);
    WAIT(w, w->closed_n == 1 && g.n == 1);
    assert_int_equal(g.status, 200);
    assert_string_equal(g.body.data, "{\"n\":1}\n{\"n\":1}\n{\"n\":1}\n");
    buf_free(&g.body);
}

static void stream_start(struct world *w, struct got *g, int64_t timeout_ms)
{
    *g = (struct got){.w = w};
    g->cancel_id = 0;
    http_client_send(w->client, &(struct http_call){.method = "GET",
                                                    .path = "/stream",
                                                    .on_chunk = on_chunk,
                                                    .on_answer = on_answer,
                                                    .arg = g,
                                                    .timeout_ms = timeout_ms});
    g->w = NULL;
    WAIT(w, w->stream);
    g->w = w;
}

static void test_client_closes_stream(void **state)
{
    struct world *w = *state;
    struct got g;
    stream_start(w, &g, 0);
    g.close_after_chunks = 1;
    buf_text(&w->feed, "x");
    http_stream_wake(w->stream);
    WAIT(w, g.n == 1 && w->closed_n == 1); /* without another wake */
    assert_int_equal(g.status, 200);
    buf_free(&g.body);
}

static void test_cancel_inside_chunk(void **state)
{
    struct world *w = *state;
    struct got g;
    stream_start(w, &g, 0);
    g.cancel_id = 1;
    buf_text(&w->feed, "x");
    http_stream_wake(w->stream);
    WAIT(w, w->closed_n == 1);
    assert_int_equal(g.chunks_n, 1);
    assert_int_equal(g.n, 0); /* cancelled: no callback */
    assert_int_equal(http_client_in_flight(w->client), 0);
    buf_free(&g.body);
}

static void test_cancel_of_waiting_and_running_calls(void **state)
{
    struct world *w = *state;
    struct got g = {0};
    uint64_t id = http_client_send(
        w->client, &(struct http_call){.method = "GET", .path = "/x", .on_answer = on_answer, .arg = &g});
    http_client_cancel(w->client, id);
    http_client_cancel(w->client, id);
    http_client_cancel(w->client, 999);
    id = http_client_send(w->client,
                          &(struct http_call){.method = "GET", .path = "/hold", .on_answer = on_answer, .arg = &g});
    WAIT(w, w->held);
    http_client_cancel(w->client, id);
    loop_run_for(w->l, 20, NULL);
    assert_int_equal(g.n, 0);
    assert_int_equal(http_client_in_flight(w->client), 0);
    answer_held(w); /* the client is gone; nothing breaks */
    loop_run_for(w->l, 20, NULL);
}

static void test_time_limit(void **state)
{
    struct world *w = *state;
    struct got g;
    call(w, &g, (struct http_call){.method = "GET", .path = "/hold", .timeout_ms = 40});
    assert_int_equal(g.status, 0);
    assert_int_equal(g.error.code, E_AGAIN);
    assert_non_null(strstr(g.error.text, "timed out"));
    answer_held(w);
}

static void test_stream_silence(void **state)
{
    struct world *w = *state;
    struct got g;
    stream_start(w, &g, 500);
    for (int i = 0; i < 4; i++) {
        buf_text(&w->feed, "x");
        http_stream_wake(w->stream);
        loop_run_for(w->l, 30, NULL);
    }
    assert_int_equal(g.n, 0);
    WAIT(w, g.n == 1);
    assert_int_equal(g.error.code, E_AGAIN);
    buf_free(&g.body);
}

static void test_free_with_everything_open(void **state)
{
    struct world *w = *state;
    struct got g, held = {0};
    stream_start(w, &g, 0);
    g.w = NULL;
    http_client_send(w->client,
                     &(struct http_call){.method = "GET", .path = "/hold", .on_answer = on_answer, .arg = &held});
    WAIT(w, w->held);
    http_client_send(w->client,
                     &(struct http_call){.method = "GET", .path = "/x", .on_answer = on_answer, .arg = &held});
    http_server_free(w->server);
    w->server = NULL;
    assert_int_equal(w->closed_n, 1);
    http_client_free(w->client);
    w->client = NULL;
    assert_int_equal(g.n, 1);
    assert_int_equal(held.n, 2);
    assert_int_equal(held.error.code, E_IO);
    assert_non_null(strstr(held.error.text, "closed"));
}

static void test_fetch(void **state)
{
    struct world *w = *state;
    _cleanup_buf_ struct buf out = {0};
    struct err e = {0};
    int status = 0;
    assert_int_equal(
        http_client_fetch(w->client, &(struct http_call){.method = "GET", .path = "/f"}, &out, &status, &e), 0);
    assert_int_equal(status, 200);
    assert_string_equal(out.data, "GET /f q=- h=- n=0");
    assert_int_equal(http_client_fetch(w->client,
                                       &(struct http_call){.method = "GET", .path = "/hold", .timeout_ms = 20}, &out,
                                       &status, &e),
                     -E_AGAIN);
    answer_held(w);
}

static void test_unix_socket(void **state)
{
    char listen[80];
    snprintf(listen, sizeof listen, "unix:/tmp/capstan-test-%d.sock", (int)getpid());
    struct world *w = world_new(listen);
    struct got g;
    call(w, &g, (struct http_call){.method = "GET", .path = "/u"});
    assert_string_equal(g.body.data, "GET /u q=- h=- n=0");
    assert_int_equal(http_server_port(w->server), 0);
    buf_free(&g.body);
    world_free(w);
    assert_int_equal(access(listen + 5, F_OK), -1);
}

int main(void)
{
#define WITH_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_get),
        WITH_WORLD(test_methods),
        WITH_WORLD(test_head_has_no_body),
        WITH_WORLD(test_large_bodies_both_ways),
        WITH_WORLD(test_body_over_the_limit_is_413),
        WITH_WORLD(test_answer_later),
        WITH_WORLD(test_many_at_once),
        WITH_WORLD(test_stream),
        WITH_WORLD(test_client_closes_stream),
        WITH_WORLD(test_cancel_inside_chunk),
        WITH_WORLD(test_cancel_of_waiting_and_running_calls),
        WITH_WORLD(test_time_limit),
        WITH_WORLD(test_stream_silence),
        WITH_WORLD(test_free_with_everything_open),
        WITH_WORLD(test_fetch),
        cmocka_unit_test(test_unix_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
