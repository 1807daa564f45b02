/* test_run_times.c - how long jobs ran by what they are called, limits of time, and how a start is told */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/time/forecast.h"
#include "sched/forecast/run_limit.h"
#include "sched/forecast/run_times.h"
#include "sched/forecast/start_note.h"

static void test_names_of_runs(void **state)
{
    static const char *const names[][2] = {
        {"train", "train"},             {"train-7", "train"},         {"train7", "train"},
        {"train-x2v9k", "train"},       {"nightly-28391040", "nightly"}, {"sweep-3-q7wzk", "sweep"},
        {"sweep-3-11", "sweep"},        {"a.b-2026.11.28", "a.b"},    {"llama-70b", "llama-70b"},
        {"7", "7"},                     {"x2v9k", "x2v9k"},           {"train-quick", "train-quick"},
        {"job-bcdfg-bcdfg", "job-bcdfg"}, {"-1", "-"},                {"", ""},
    };
    _cleanup_arena_ struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(run_times_name(a, arena_printf(a, "ns/%s", names[i][0])), arena_printf(a, "ns/%s", names[i][1]));
}

static void test_what_is_left_of_those_that_took_longer(void **state)
{
    struct run_times *t = run_times_new();
    (void)state;
    assert_int_equal(run_times_left_ms(t, "n/a", 0), 0);
    for (int i = 1; i <= 5; i++)
        run_times_add(t, "n/a", i * 100);
    run_times_add(t, "n/a", 0);
    run_times_add(t, "n/a", -5);
    assert_int_equal(run_times_left_ms(t, "n/a", 0), 300);
    assert_int_equal(run_times_left_ms(t, "n/a", 250), 150); /* 300, 400, 500 took longer */
    assert_int_equal(run_times_left_ms(t, "n/a", 500), 500); /* none did */
    assert_int_equal(run_times_left_ms(t, "n/b", 10), 0);
    assert_int_equal(run_times_longest_ms(t, "n/a"), 500);
    assert_int_equal(run_times_longest_ms(t, "n/b"), 0);
    run_times_free(t);
    run_times_free(NULL);
}

static void test_old_runs_and_names_go(void **state)
{
    struct run_times *t = run_times_new();
    char name[32];
    (void)state;
    for (int i = 0; i < RUN_TIMES_EACH; i++)
        run_times_add(t, "n/a", 1000);
    for (int i = 0; i < RUN_TIMES_EACH; i++)
        run_times_add(t, "n/a", 10);
    assert_int_equal(run_times_left_ms(t, "n/a", 0), 10);
    run_times_add(t, "n/old", 10);
    for (int i = 0; i < RUN_TIMES_NAMES - 1; i++) {
        snprintf(name, sizeof name, "n/x%d-y", i);
        run_times_add(t, name, 10);
        if (i == 0)
            (void)run_times_left_ms(t, "n/a", 0); /* used since */
    }
    assert_int_equal(run_times_left_ms(t, "n/old", 0), 0);
    assert_int_equal(run_times_left_ms(t, "n/a", 0), 10);
    run_times_free(t);
}

static int64_t limit(const char *workload)
{
    _cleanup_arena_ struct arena *a = arena_new();
    return run_limit_ms(json_parse(a, bytes_of(workload), NULL, NULL));
}

static void test_the_shortest_limit_counts(void **state)
{
    (void)state;
    assert_int_equal(limit("{}"), 0);
    assert_int_equal(limit("{\"spec\":{\"maximumExecutionTimeSeconds\":60}}"), 60000);
    assert_int_equal(limit("{\"spec\":{\"maximumExecutionTimeSeconds\":60},\"status\":{\"accumulatedPastExecutionTimeSeconds\":20}}"),
                     40000);
    assert_int_equal(limit("{\"metadata\":{\"annotations\":{\"capstan.dev/active-deadline-seconds\":\"50\"}},"
                           "\"spec\":{\"maximumExecutionTimeSeconds\":60}}"), 50000);
    assert_int_equal(limit("{\"spec\":{\"podSets\":[{\"template\":{\"spec\":{\"activeDeadlineSeconds\":30}}},{\"template\":{\"spec\":{}}}]}}"),
                     30000);
    assert_int_equal(limit("{\"metadata\":{\"annotations\":{\"capstan.dev/active-deadline-seconds\":\"soon\"}}}"), 0);
    assert_int_equal(limit("{\"spec\":{\"maximumExecutionTimeSeconds\":9223372036854775807}}"), 0);
    assert_int_equal(limit("{\"spec\":{\"maximumExecutionTimeSeconds\":-1}}"), 0);
}

static void is_noted(const char *tree, int64_t ms, uint8_t basis, const char *wanted)
{
    char *noted = start_note(tree, ms, basis);
    assert_string_equal(noted, wanted);
    free(noted);
}

static void test_a_start_stands_in_the_tree_once(void **state)
{
#define START(from) ",\"start\":{\"about\":\"1970-01-01T00:01:00Z\",\"from\":[" from "]}}"
    (void)state;
    is_noted("{\"code\":\"x\"}", 60000, END_BY_LIMIT, "{\"code\":\"x\"" START("\"limits\""));
    is_noted("{\"code\":\"x\"" START("\"limits\""), 60000, END_BY_LIMIT | END_BY_RUNS, "{\"code\":\"x\"" START("\"limits\",\"runs\""));
    is_noted("{\"code\":\"x\"" START("\"runs\""), 0, 0, "{\"code\":\"x\"}");
    is_noted("{\"code\":\"x\"}", 0, 0, "{\"code\":\"x\"}");
    is_noted("{\"name\":\",\\\"start\\\":{\\\"about\\\":\"}", 60000, END_BY_RUNS, "{\"name\":\",\\\"start\\\":{\\\"about\\\":\"" START("\"runs\""));
}

static void test_small_moves_are_no_news(void **state)
{
    (void)state;
    assert_true(start_is_news(0, 0, 1000, 1, 0));
    assert_true(start_is_news(1000, 1, 0, 0, 0));
    assert_false(start_is_news(0, 0, 0, 0, 0));
    assert_true(start_is_news(1000, 1, 1000, 2, 0));
    assert_false(start_is_news(1000000, 1, 1059000, 1, 1000000)); /* less than a minute */
    assert_true(start_is_news(1000000, 1, 1061000, 1, 1000000));
    assert_false(start_is_news(80000000, 1, 89000000, 1, 0));     /* less than an eighth */
    assert_true(start_is_news(80000000, 1, 69000000, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_runs),
        cmocka_unit_test(test_what_is_left_of_those_that_took_longer),
        cmocka_unit_test(test_old_runs_and_names_go),
        cmocka_unit_test(test_the_shortest_limit_counts),
        cmocka_unit_test(test_a_start_stands_in_the_tree_once),
        cmocka_unit_test(test_small_moves_are_no_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
