/* test_workload_wait.c - one wait at a time: never the sum, never the time that it ran */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "sched/figures/workload_wait.h"

#define NOW "2026-01-01T12:00:00Z"

/* Seconds; conditions as "type status time" lines of JSON. */
static int64_t waited_s(const char *created, const char *conditions)
{
    struct arena *a = arena_new();
    int64_t now_ms;
    assert_true(time_parse(bytes_of(NOW), &now_ms));
    const char *text = arena_printf(a, "{\"metadata\":{%s},\"status\":{\"conditions\":[%s]}}", created, conditions);
    struct err e = {0};
    const struct json *w = json_parse(a, bytes_of(text), NULL, &e);
    assert_non_null(w);
    int64_t s = workload_waited_ms(w, now_ms) / 1000;
    arena_free(a);
    return s;
}

#define CREATED "\"creationTimestamp\":\"2026-01-01T10:00:00Z\""
#define CONDITION(type, status, time)                                                                                            \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"lastTransitionTime\":\"2026-01-01T" time "Z\"}"

static void waits_since_it_was_created(void **state)
{
    assert_int_equal(waited_s(CREATED, ""), 7200);
    assert_int_equal(waited_s(CREATED, CONDITION("QuotaReserved", "False", "10:00:01")), 7200);
}

static void waited_until_it_was_admitted(void **state)
{
    assert_int_equal(waited_s(CREATED, CONDITION("QuotaReserved", "True", "10:30:00")), 1800);
}

/* Admitted at 10:30, evicted at 11:00: what lies before 11:00 is no part of this wait. */
static void waits_since_the_eviction(void **state)
{
    assert_int_equal(waited_s(CREATED, CONDITION("QuotaReserved", "False", "11:00:00") "," CONDITION(
                                           "Evicted", "True", "11:00:00") "," CONDITION("Requeued", "False", "11:00:00")),
                     3600);
    assert_int_equal(waited_s(CREATED, CONDITION("QuotaReserved", "False", "11:00:00") "," CONDITION("Requeued", "True", "11:00:00")),
                     3600);
    assert_int_equal(waited_s(CREATED, CONDITION("QuotaReserved", "True", "11:45:00") "," CONDITION(
                                           "Evicted", "False", "11:45:00") "," CONDITION("Requeued", "True", "11:00:00")),
                     2700);
}

static void nonsense_is_no_wait(void **state)
{
    assert_int_equal(waited_s("\"creationTimestamp\":\"soon\"", ""), 0);
    assert_int_equal(waited_s("\"name\":\"a\"", ""), 0);
    assert_int_equal(waited_s("\"creationTimestamp\":\"2026-01-01T13:00:00Z\"", ""), 0); /* its clock is ahead */
    assert_int_equal(waited_s(CREATED, "{\"type\":\"QuotaReserved\",\"status\":\"True\"}"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_since_it_was_created),
        cmocka_unit_test(waited_until_it_was_admitted),
        cmocka_unit_test(waits_since_the_eviction),
        cmocka_unit_test(nonsense_is_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
