/* test_decode_booking.c - what a ClusterQueue says of starts that are promised, and what a Workload says of its own;
 * how long a pod group may be broken, and how long Volcano's may wait; who may be moved */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "decoder_world.h"
#include "core/time/forecast.h"

static void a_queue_says_how_it_gives_them(void **state)
{
    static const struct {
        const char *annotation, *strategy;
        enum queue_backfill backfill;
        bool is_read;
    } cases[] = {{"\"easy\"", "BestEffortFIFO", BACKFILL_EASY, true}, {"\"conservative\"", "BestEffortFIFO", BACKFILL_CONSERVATIVE, true},
                 {"\"none\"", "BestEffortFIFO", BACKFILL_NONE, true}, {"\"EASY\"", "BestEffortFIFO", BACKFILL_NONE, false},
                 {"\"\"", "BestEffortFIFO", BACKFILL_NONE, false},    {"[\"easy\"]", "BestEffortFIFO", BACKFILL_NONE, false},
                 {"\"easy\"", "StrictFIFO", BACKFILL_EASY, true}}; /* the core passes it over */
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct queue_record q;
        struct err e;
        const struct json *v = tree(w, arena_printf(w->arena,
                                                    "{\"metadata\":{\"name\":\"q\",\"annotations\":{\"capstan.dev/backfill\":%s}},"
                                                    "\"spec\":{\"queueingStrategy\":\"%s\",\"resourceGroups\":[]}}",
                                                    cases[i].annotation, cases[i].strategy));
        enum queue_backfill unused;
        const struct json *said = json_path(v, "metadata", "annotations", "capstan.dev/backfill", NULL);
        assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
        assert_int_equal(q.backfill, cases[i].backfill);
        assert_int_equal(decode_backfill(json_bytes(said), &unused), cases[i].is_read);
    }
}

static void a_queue_and_a_job_say_who_may_be_moved(void **state)
{
    static const struct {
        const char *annotation;
        int32_t seconds;
        bool is_read;
    } cases[] = {{"\"600\"", 600, true},    {"\"0\"", 0, true},   {"\"604800\"", 604800, true}, {"\"604801\"", 0, false},
                 {"\"-1\"", 0, false},      {"\"10m\"", 0, false}, {"\"\"", 0, false},           {"600", 600, true},
                 {"[\"600\"]", 0, false}};
    static const struct {
        const char *annotation;
        bool stays;
    } jobs[] = {{"\"false\"", true}, {"\"true\"", false}, {"\"no\"", false}, {"false", false}, {"\"\"", false}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct queue_record q;
        struct err e;
        int32_t unused;
        const struct json *v = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"q\",\"annotations\":{\"capstan.dev/move-cost-seconds\":%s}},"
                                                              "\"spec\":{\"resourceGroups\":[]}}", cases[i].annotation));
        const struct json *said = json_path(v, "metadata", "annotations", "capstan.dev/move-cost-seconds", NULL);
        assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
        assert_int_equal(q.move_cost_s, cases[i].seconds);
        assert_int_equal(decode_move_cost(json_bytes(said), &unused), cases[i].is_read);
    }
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct gang_record g;
        struct err e;
        const struct json *v = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\",\"annotations\":{\"capstan.dev/movable\":%s}},"
                                                              "\"spec\":{\"podSets\":[]}}", jobs[i].annotation));
        assert_int_equal(decode_workload(&w->d, v, &g, &e), 0);
        assert_int_equal(g.stays, jobs[i].stays);
    }
}

static void a_group_says_how_long_it_may_be_broken(void **state)
{
    static const char *const said[] = {"\"120\"", "\"86400\"", "\"86401\"", "\"0\"", "\"2m\"", "[]"};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct gang_record g;
        struct err e;
        const struct json *v = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"annotations\":{"
                                                              "\"capstan.dev/refill-seconds\":%s}}}", said[i]));
        assert_int_equal(decode_native_pod_group(&w->d, v, &g, &e), 0);
        assert_int_equal(g.refill_s, i == 0 ? 120 : i == 1 ? 86400 : 0);
    }
}

static void workload_of(struct world *w, const char *status, const char *message, struct gang_record *ret)
{
    struct err e;
    struct json *condition = json_new(w->arena, JSON_OBJECT);
    struct json *v = tree(w, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\"},\"spec\":{\"podSets\":["
                             "{\"name\":\"main\",\"count\":3,\"template\":{\"spec\":{\"containers\":[]}}},"
                             "{\"name\":\"side\",\"count\":1,\"template\":{\"spec\":{\"containers\":[]}}}]}}");
    json_set_text(w->arena, condition, "type", "capstan.dev/Promised");
    json_set_text(w->arena, condition, "status", status);
    json_set_text(w->arena, condition, "message", message);
    json_append(json_ensure_array(w->arena, json_ensure_object(w->arena, v, "status"), "conditions"), condition);
    assert_int_equal(decode_workload(&w->d, v, ret, &e), 0);
}

#define WHOLE                                                                                                                              \
    "{\"start\":\"1970-01-01T00:20:00Z\",\"from\":[\"limits\",\"runs\"],\"borrows\":true,"                                                 \
    "\"nodes\":{\"main\":{\"n1\":2,\"n2\":1},\"side\":{\"n1\":1}},\"quota\":{\"a100\":{\"cpu\":\"1500m\",\"nvidia.com/gpu\":\"4\"}}}"

static void a_workload_says_its_start(void **state)
{
    struct world *w = *state;
    struct gang_record g;
    workload_of(w, "True", WHOLE, &g);
    const struct booking_record *b = g.booking;
    assert_non_null(b);
    assert_true(b->start_ms == 1200000 && b->basis == (END_BY_LIMIT | END_BY_RUNS) && b->borrows);
    assert_int_equal(b->places_n, 3);
    assert_true(b->places[0].pod_set == 0 && b->places[0].count == 2 && b->places[2].pod_set == 1 && b->places[2].count == 1);
    assert_string_equal(intern_name(w->d.names, b->places[1].node), "n2");
    assert_int_equal(b->quota_n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        bool is_cpu = strcmp(intern_name(w->d.names, b->quota[i].resource), "cpu") == 0;
        assert_string_equal(intern_name(w->d.names, b->quota[i].flavor), "a100");
        assert_int_equal(b->quota[i].amount, is_cpu ? 1500 : 4);
    }
}

/* Somebody else has written it, or half of it: another one is found. */
static void what_is_not_as_it_is_written_is_none(void **state)
{
    static const char *const messages[] = {
        "",
        "soon",
        "[]",
        "{}",
        "{\"start\":\"1970-01-01T00:20:00Z\"}",
        "{\"start\":\"tomorrow\",\"nodes\":{},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1969-01-01T00:00:00Z\",\"nodes\":{},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"main\":{\"n1\":4}},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"main\":{\"n1\":2,\"n2\":2}},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"main\":{\"n1\":-1}},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"other\":{\"n1\":1}},\"quota\":{\"f\":{\"cpu\":\"1\"}}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"main\":{\"n1\":1}},\"quota\":{\"f\":[\"cpu\"]}}",
        "{\"start\":\"1970-01-01T00:20:00Z\",\"nodes\":{\"main\":{\"n1\":1}},\"quota\":{\"f\":{\"cpu\":\"much\"}}}",
    };
    struct world *w = *state;
    struct gang_record g;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        workload_of(w, "True", messages[i], &g);
        if (g.booking)
            fail_msg("%s is a promise", messages[i]);
    }
    workload_of(w, "False", WHOLE, &g);
    assert_null(g.booking);
}

static void a_group_says_when_it_is_due(void **state)
{
    static const struct {
        const char *created, *wait;
        int64_t due_ms;
    } cases[] = {{"1970-01-01T00:00:05Z", "1m30s", 95000}, {"1970-01-01T00:00:05Z", "500ms", 5500}, {"1970-01-01T00:00:05Z", "-1m", 0},
                 {"1970-01-01T00:00:05Z", "0s", 0},        {"1970-01-01T00:00:05Z", "soon", 0},     {"yesterday", "1m", 0}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gang_record g;
        struct err e;
        const struct json *v = tree(w, arena_printf(w->arena,
                                                    "{\"metadata\":{\"name\":\"g\",\"namespace\":\"n\",\"creationTimestamp\":\"%s\","
                                                    "\"annotations\":{\"sla-waiting-time\":\"%s\"}}}",
                                                    cases[i].created, cases[i].wait));
        assert_int_equal(decode_volcano_pod_group(&w->d, v, &g, &e), 0);
        assert_int_equal(g.due_ms, cases[i].due_ms);
        assert_int_equal(decode_coscheduling_pod_group(&w->d, v, &g, &e), 0);
        assert_int_equal(g.due_ms, 0);
    }
}

static void reads_how_long_it_saves(void **state)
{
    static const struct {
        const char *text;
        int32_t seconds; /* 0: says nothing */
    } cases[] = {{"1", 1}, {"3600", 3600}, {"3601", 0}, {"0", 0}, {"-5", 0}, {"5m", 0}, {"", 0}, {"99999999999999999999", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t seconds = 0;
        assert_int_equal(decode_checkpoint_within(bytes_of(cases[i].text), &seconds), cases[i].seconds > 0);
        assert_int_equal(seconds, cases[i].seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_how_long_it_saves),
        cmocka_unit_test_setup_teardown(a_queue_says_how_it_gives_them, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_queue_and_a_job_say_who_may_be_moved, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_group_says_how_long_it_may_be_broken, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_group_says_when_it_is_due, world_open, world_close),
        cmocka_unit_test_setup_teardown(a_workload_says_its_start, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_is_not_as_it_is_written_is_none, world_open, world_close),
    };
    return cmocka_run_group_tests_name("decode_booking", tests, NULL, NULL);
}
