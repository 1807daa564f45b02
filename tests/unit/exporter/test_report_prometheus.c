/* A report from a Prometheus: the queries, its answers, what is no answer */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "exporter/report/report_prometheus.h"
#include "loop/loop.h"
#include "net/http_server.h"

static void asks_for_the_span(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf path = {0};
    report_prometheus_query(&path, REPORT_COUNTER_WASTED, 1000, 4600);
    assert_non_null(strstr(path.data, "gpu_pod_wasted_seconds_total%5B3600s%5D"));
    assert_non_null(strstr(path.data, "class"));
    assert_true(text_ends(path.data, "&time=4600.000"));
    buf_clear(&path);
    report_prometheus_query(&path, REPORT_COUNTER_INFO, 1000, 4600);
    assert_non_null(strstr(path.data, "last_over_time%28gpu_pod_info%5B3600s%5D"));
    assert_non_null(strstr(path.data, "job_name%2C%20user"));
    static const struct {
        double until_s;
        const char *span; /* one in 15 s to 300 s, a hundred at least */
    } capacity[] = {{1010, "%5B15s%3A15s%5D"}, {4600, "%5B3600s%3A36s%5D"}, {605800, "%5B604800s%3A300s%5D"}};
    for (size_t i = 0; i < sizeof capacity / sizeof *capacity; i++) {
        buf_clear(&path);
        report_prometheus_query(&path, REPORT_COUNTER_CAPACITY, 1000, capacity[i].until_s);
        assert_non_null(strstr(path.data, capacity[i].span));
        assert_non_null(strstr(path.data, "parent_uuid%3D%22%22"));
    }
}

#define ANSWER(series) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" series "]}}"
#define SERIES(labels, value) "{\"metric\":{" labels "},\"value\":[4600,\"" value "\"]}"
#define POD_A "\"namespace\":\"a\",\"pod\":\"p\",\"queue\":\"q\",\"instance\":\"n1:9400\""

static int add(struct report_joining *j, enum report_counter counter, const char *body, struct err *e)
{
    return report_joining_add(j, counter, bytes_of(body), e);
}

static void joins_counters_by_pod(void **state)
{
    (void)state;
    struct err e = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    struct report_joining *j = report_joining_new();
    struct report_input in;
    assert_int_equal(add(j, REPORT_COUNTER_ALLOCATED,
                         ANSWER(SERIES(POD_A, "3600") "," SERIES("\"namespace\":\"monitoring\",\"pod\":\"agent\","
                                                                 "\"exported_namespace\":\"b\",\"exported_pod\":\"r\"",
                                                                 "7200.5") "," SERIES("\"pod\":\"nan\"", "NaN")),
                         &e),
                     0);
    /* The agent was restarted: another instance, the same pod. */
    assert_int_equal(add(j, REPORT_COUNTER_ALLOCATED,
                         ANSWER(SERIES("\"namespace\":\"a\",\"pod\":\"p\",\"instance\":\"n1:9401\"", "400")), &e),
                     0);
    assert_int_equal(add(j, REPORT_COUNTER_ACTIVE, ANSWER(SERIES(POD_A, "1800")), &e), 0);
    assert_int_equal(add(j, REPORT_COUNTER_WASTED,
                         ANSWER(SERIES(POD_A ",\"class\":\"idle\"", "60") "," SERIES(
                             POD_A ",\"class\":\"no_process\"", "30") "," SERIES(POD_A ",\"class\":\"low\"", "15")),
                         &e),
                     0);
    assert_int_equal(add(j, REPORT_COUNTER_INFO,
                         ANSWER(SERIES(POD_A ",\"job_name\":\"train\",\"user\":\"ada\"", "1") ","
                                SERIES("\"namespace\":\"a\",\"pod\":\"idle\",\"user\":\"bob\"", "1")), &e),
                     0);
    assert_int_equal(add(j, REPORT_COUNTER_CAPACITY,
                         ANSWER(SERIES("\"instance\":\"n1:9400\",\"product\":\"A100\"", "28800") ","
                                SERIES("\"node\":\"n0\",\"instance\":\"x\",\"product\":\"T4\"", "3600") ","
                                SERIES("\"node\":\"n0\",\"instance\":\"y\",\"product\":\"T4\"", "1800")), &e),
                     0);
    report_joining_take(j, a, &in);
    const struct usage_record *r = in.records;
    assert_int_equal(in.records_n, 2);
    report_joining_free(j);
    assert_int_equal(in.capacity_n, 2);
    assert_string_equal(in.capacity[0].node, "n0"); /* restarted: another instance of one node */
    assert_float_equal(in.capacity[0].gpu_s, 5400, 1e-9);
    assert_string_equal(in.capacity[1].model, "A100");
    assert_string_equal(r[0].job, "train");
    assert_string_equal(r[0].user, "ada");
    assert_string_equal(r[1].user, "");
    assert_true(r[0].queue_wait_s == -1 && r[0].throttled_s == -1);
    assert_string_equal(r[0].ns, "a");
    assert_string_equal(r[0].queue, "q");
    assert_string_equal(r[0].node, "n1:9400");
    assert_float_equal(r[0].allocated_s, 4000, 1e-9);
    assert_float_equal(r[0].active_s, 1800, 1e-9);
    assert_float_equal(r[0].idle_s + 10 * r[0].no_process_s + 100 * r[0].low_s, 60 + 300 + 1500, 1e-9);
    assert_string_equal(r[1].ns, "b");
    assert_string_equal(r[1].pod, "r");
    assert_float_equal(r[1].allocated_s, 7200.5, 1e-9);
}

static void refuses_what_is_no_answer(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "<html>",
        "[]",
        "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"query timed out\"}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}",
        ANSWER("{\"value\":[1,\"2\"]}"),
        ANSWER("{\"metric\":{},\"value\":[1,\"x\"]}"),
        ANSWER("{\"metric\":{},\"value\":7}"),
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct err e = {0};
        struct report_joining *j = report_joining_new();
        assert_int_equal(add(j, REPORT_COUNTER_ENERGY, bodies[i], &e), -E_INVALID);
        assert_true(e.text[0] != '\0');
        report_joining_free(j);
    }
}

/* ---- over HTTP ---- */

static void answer(void *ctx, struct http_exchange *x)
{
    int *asked_n = ctx;
    ++*asked_n;
    const char *query = http_query(&x->request, "query");
    if (text_starts(x->request.path, "/denied"))
        http_reply_text(x, 403, "application/json", "{\"kind\":\"Status\"}");
    else if (!query || !text_equal(x->request.path, "/prometheus/api/v1/query"))
        http_reply_text(x, 404, "text/plain", "404 page not found\n");
    else if (strstr(query, "allocated"))
        http_reply_text(x, 200, "application/json", ANSWER(SERIES(POD_A, "100")));
    else
        http_reply_text(x, 200, "application/json", ANSWER(""));
}

static int read_from(const char *base, const char *prefix, int *asked_n, struct arena *a, struct report_input *ret_in, struct err *e)
{
    struct loop *l = loop_new();
    struct http_server *server = NULL;
    struct http_client *client = NULL;
    struct http_server_config config = {.listen = "127.0.0.1:0", .handler = answer, .ctx = asked_n};
    assert_int_equal(http_server_new(l, &config, &server, e), 0);
    _cleanup_buf_ struct buf url = {0};
    buf_printf(&url, "http://127.0.0.1:%d%s", http_server_port(server), base);
    assert_int_equal(http_client_new(l, &(struct http_client_config){.base_url = url.data}, &client, e), 0);
    int r = report_prometheus_read(client, prefix, 0, 3600, a, ret_in, e);
    http_client_free(client);
    http_server_free(server);
    loop_free(l);
    return r;
}

static void reads_over_http(void **state)
{
    (void)state;
    struct err e = {0};
    int asked_n = 0;
    struct report_input in = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    assert_int_equal(read_from("/prometheus/", "", &asked_n, a, &in, &e), 0);
    assert_int_equal(asked_n, REPORT_COUNTERS_N);
    assert_int_equal(in.records_n, 1);
    assert_float_equal(in.records[0].allocated_s, 100, 1e-9);
    assert_true(read_from("/wrong", "", &asked_n, a, &in, &e) < 0);
    assert_non_null(strstr(e.text, "HTTP 404"));
    assert_int_equal(read_from("", "/prometheus", &asked_n, a, &in, &e), 0); /* as behind an API server */
    assert_int_equal(read_from("", "/denied", &asked_n, a, &in, &e), -E_DENIED);
    assert_non_null(strstr(e.text, "services/proxy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_for_the_span),
        cmocka_unit_test(joins_counters_by_pod),
        cmocka_unit_test(refuses_what_is_no_answer),
        cmocka_unit_test(reads_over_http),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
