/* The carrier of simulations: same behaviour as a socket, faults from one seed. */
#include "world.h"
#include "net/http_local.h"

static struct world *local_new(const struct http_faults *faults, uint64_t seed)
{
    struct world *w = mem_zero(1, sizeof *w);
    w->l = loop_new_virtual(0);
    w->client = http_local_client_new(w->l, world_handler, w, faults, seed);
    return w;
}

static void test_like_a_socket(void **state)
{
    struct world *w = local_new(NULL, 1);
    struct got g;
    call(w, &g, (struct http_call){.method = "GET", .path = "/a%20b?q=1+2"});
    assert_string_equal(g.body.data, "GET /a b q=1 2 h=- n=0");
    assert_string_equal(g.content_type, "text/plain");
    buf_free(&g.body);
    call(w, &g, (struct http_call){.method = "POST", .path = "/body", .body = BYTES("hi")});
    assert_string_equal(g.body.data, "hi");
    assert_string_equal(g.warning, "299 - \"one  two\"");
    buf_free(&g.body);
    call(w, &g, (struct http_call){.method = "POST", .path = "/later"});
    assert_int_equal(g.status, 202);
    buf_free(&g.body);
    call(w, &g, (struct http_call){.method = "GET", .path = "/%zz"});
    assert_int_equal(g.status, 400);
    buf_free(&g.body);
    call(w, &g, (struct http_call){.method = "GET", .path = "/big?n=100", .answer_max_bytes = 99});
    assert_int_equal(g.error.code, E_LIMIT);
    call(w, &g, (struct http_call){.method = "GET", .path = "/hold", .timeout_ms = 50});
    assert_int_equal(g.error.code, E_AGAIN);
    answer_held(w); /* an orphan */
    world_free(w);
}

static void test_stream_and_cancel(void **state)
{
    struct http_faults faults = {.latency_ms_max = 10};
    struct world *w = local_new(&faults, 1);
    struct got g = {0};
    struct http_call c = {.method = "GET", .path = "/stream", .on_chunk = on_chunk, .on_answer = on_answer, .arg = &g};
    http_client_send(w->client, &c);
    loop_run_for(w->l, 50, NULL);
    for (int i = 0; i < 3; i++) {
        buf_text(&w->feed, "x");
        http_stream_wake(w->stream);
        loop_run_for(w->l, 50, NULL);
        assert_int_equal(g.chunks_n, i + 1);
    }
    w->feed_ends = true;
    http_stream_wake(w->stream);
    loop_run_for(w->l, 50, NULL);
    assert_int_equal(g.n, 1);
    assert_int_equal(w->closed_n, 1);
    w->feed_ends = false;
    uint64_t id = http_client_send(w->client, &c);
    loop_run_for(w->l, 50, NULL);
    g.w = w;
    g.cancel_id = id; /* inside the chunk */
    buf_text(&w->feed, "x");
    http_stream_wake(w->stream);
    loop_run_for(w->l, 50, NULL);
    assert_int_equal(w->closed_n, 2);
    assert_int_equal(g.n, 1);
    g.w = NULL;
    g.cancel_id = 0;
    http_client_send(w->client, &c);
    http_client_send(w->client,
                     &(struct http_call){.method = "GET", .path = "/hold", .on_answer = on_answer, .arg = &g});
    loop_run_for(w->l, 50, NULL);
    assert_int_equal(http_client_in_flight(w->client), 2);
    http_client_free(w->client);
    w->client = NULL;
    assert_int_equal(g.n, 3);
    assert_int_equal(w->closed_n, 3);
    world_free(w);
    buf_free(&g.body);
}

/* One letter a call: what 300 calls came to. */
static void outcomes(uint64_t seed, struct buf *out)
{
    struct http_faults faults = {.latency_ms_max = 20,
                                 .refuse_permille = 100,
                                 .lose_answer_permille = 100,
                                 .status_409_permille = 100,
                                 .status_429_permille = 100,
                                 .status_500_permille = 100,
                                 .slow_permille = 50};
    struct world *w = local_new(&faults, seed);
    for (int i = 0; i < 300; i++) {
        struct got g;
        call(w, &g, (struct http_call){.method = i % 2 ? "POST" : "GET", .path = "/x"});
        buf_printf(out, "%d@%lld ", g.status ? g.status : g.error.code, (long long)loop_now_ms(w->l));
        if (i % 2 == 0)
            assert_int_not_equal(g.status, 409); /* conflicts are for writes */
        buf_free(&g.body);
    }
    assert_true(w->handled_n < 300);
    world_free(w);
}

static void test_faults_repeat_with_the_seed(void **state)
{
    _cleanup_buf_ struct buf a = {0}, b = {0}, c = {0};
    outcomes(7, &a);
    outcomes(7, &b);
    outcomes(8, &c);
    assert_string_equal(a.data, b.data);
    assert_string_not_equal(a.data, c.data);
    static const char *const kinds[] = {"200@", "409@", "429@", "500@", "9@"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_non_null(strstr(a.data, kinds[i]));
}

static void test_stream_faults(void **state)
{
    struct http_faults faults = {.stream_gone_permille = 1000};
    struct world *w = local_new(&faults, 1);
    struct got g = {0};
    struct http_call c = {
        .method = "GET", .path = "/stream?watch=true", .on_chunk = on_chunk, .on_answer = on_answer, .arg = &g};
    http_client_send(w->client, &c);
    loop_run_for(w->l, 50, NULL);
    assert_int_equal(g.status, 410);
    assert_non_null(strstr(g.body.data, "Expired"));
    faults = (struct http_faults){.stream_drop_permille = 1000};
    http_client_send(w->client, &c);
    loop_run_for(w->l, 50, NULL);
    buf_text(&w->feed, "x");
    http_stream_wake(w->stream);
    loop_run_for(w->l, 50, NULL);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.status, 0);
    assert_int_equal(w->closed_n, 1);
    world_free(w);
    buf_free(&g.body);
}

static void test_on_the_real_loop(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    struct got g;
    w->l = loop_new();
    w->client = http_local_client_new(w->l, world_handler, w, NULL, 1);
    call(w, &g, (struct http_call){.method = "GET", .path = "/r"});
    assert_int_equal(g.status, 200);
    buf_free(&g.body);
    world_free(w);
}

/* ---- within one process, live ---- */

struct events {
    struct http_exchange *x;
    struct http_client *client;
    char said[256];
    int left_n, given_n, closed_n, ended_n, stop_after;
    bool over, frees_client, took_events;
};

static int event_pull(void *arg, struct http_event *ret_event)
{
    struct events *v = arg;
    if (v->left_n == 0)
        return v->over ? -1 : 0;
    v->left_n--;
    *ret_event = (struct http_event){"ADDED", BYTES("{}")};
    return 1;
}

static ssize_t no_bytes(void *arg, char *out, size_t max)
{
    return 0;
}

static void events_closed(void *arg)
{
    ((struct events *)arg)->closed_n++;
}

static void events_handler(void *ctx, struct http_exchange *x)
{
    struct events *v = ctx;
    const struct http_request *r = &x->request;
    const char *agent = http_header(r, "user-agent");
    v->x = x;
    v->took_events = r->takes_events;
    snprintf(v->said, sizeof v->said, "%s|%s|%s", r->user, r->groups ? r->groups : "-", agent ? agent : "-");
    if (strcmp(r->path, "/watch") != 0)
        http_reply_text(x, 200, "text/plain", "ok");
    else if (r->takes_events)
        http_stream_events(x, 200, "application/json", event_pull, events_closed, v);
    else
        http_stream(x, 200, "application/json", no_bytes, events_closed, v);
}

static bool on_event(void *arg, const struct http_event *event)
{
    struct events *v = arg;
    assert_string_equal(event->type, "ADDED");
    assert_int_equal(event->object.n, 2);
    v->given_n++;
    if (v->frees_client)
        http_client_free(take_ptr(v->client));
    return v->given_n != v->stop_after;
}

static bool no_chunk(void *arg, int status, struct bytes chunk)
{
    fail_msg("bytes, where events were asked for");
    return false;
}

static void events_ended(void *arg, const struct http_answer *answer)
{
    ((struct events *)arg)->ended_n++;
}

static const struct http_call watch_call = {
    .method = "GET", .path = "/watch", .on_chunk = no_chunk, .on_event = on_event, .on_answer = events_ended};

static void watch_send(struct events *v)
{
    struct http_call c = watch_call;
    c.arg = v;
    http_client_send(v->client, &c);
}

static void test_says_who_asks(void **state)
{
    struct loop *l = loop_new();
    struct events v = {0};
    struct http_local_config config = {
        .handler = events_handler, .ctx = &v, .user = "admin", .groups = "system:masters", .user_agent = "capstan/1"};
    v.client = http_local_client_as(l, &config);
    http_client_send(v.client, &(struct http_call){.method = "GET", .path = "/", .on_answer = events_ended, .arg = &v});
    loop_run_for(l, 0, NULL);
    loop_run_for(l, 0, NULL);
    loop_run_for(l, 0, NULL);
    assert_int_equal(v.ended_n, 1);
    assert_string_equal(v.said, "admin|system:masters|capstan/1");
    http_client_free(v.client);
    loop_free(l);
}

static void test_events_are_handed_over(void **state)
{
    struct loop *l = loop_new_virtual(0);
    struct events v = {.left_n = 3};
    v.client = http_local_client_new(l, events_handler, &v, NULL, 1);
    watch_send(&v);
    loop_run_for(l, 1, NULL);
    assert_int_equal(v.given_n, 3);
    v.left_n = 1000; /* more than one step takes */
    http_stream_wake(v.x);
    loop_run_for(l, 1, NULL);
    assert_int_equal(v.given_n, 1003);
    v.over = true;
    http_stream_wake(v.x);
    loop_run_for(l, 1, NULL);
    assert_int_equal(v.closed_n, 1);
    assert_int_equal(v.ended_n, 1);
    v = (struct events){.client = v.client, .left_n = 9, .stop_after = 4};
    watch_send(&v);
    loop_run_for(l, 1, NULL);
    assert_int_equal(v.given_n, 4);
    assert_int_equal(v.closed_n, 1);
    assert_int_equal(v.ended_n, 1);
    http_client_free(v.client);
    loop_free(l);
}

/* Whoever is told may be the client's owner, and be done with it. */
static void test_client_ends_within_an_event(void **state)
{
    struct loop *l = loop_new_virtual(0);
    struct events v = {.left_n = 3, .frees_client = true};
    v.client = http_local_client_new(l, events_handler, &v, NULL, 1);
    watch_send(&v);
    watch_send(&v); /* due in the same turn */
    loop_run_for(l, 1, NULL);
    assert_int_equal(v.given_n, 1);
    assert_int_equal(v.closed_n, 2);
    loop_free(l);
}

/* Simulated faults happen to bytes, as on a socket. */
static void test_faults_want_bytes(void **state)
{
    struct loop *l = loop_new_virtual(0);
    struct http_faults faults = {0};
    struct events v = {.took_events = true};
    v.client = http_local_client_new(l, events_handler, &v, &faults, 1);
    watch_send(&v);
    loop_run_for(l, 1, NULL);
    assert_false(v.took_events);
    http_client_free(v.client);
    assert_int_equal(v.closed_n, 1);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_a_socket),
        cmocka_unit_test(test_stream_and_cancel),
        cmocka_unit_test(test_faults_repeat_with_the_seed),
        cmocka_unit_test(test_stream_faults),
        cmocka_unit_test(test_on_the_real_loop),
        cmocka_unit_test(test_says_who_asks),
        cmocka_unit_test(test_events_are_handed_over),
        cmocka_unit_test(test_client_ends_within_an_event),
        cmocka_unit_test(test_faults_want_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
