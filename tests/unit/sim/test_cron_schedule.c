/* test_cron_schedule.c - five fields, and the next time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/clock.h"
#include "jobs/batch/cron_schedule.h"

static void next_is(const char *schedule, const char *after, const char *want)
{
    struct cron_schedule s;
    int64_t after_ms;
    char text[TIME_TEXT_MAX];
    assert_true(cron_schedule_parse(schedule, &s));
    assert_true(time_parse(bytes_of(after), &after_ms));
    time_format(text, cron_schedule_next(&s, after_ms));
    assert_string_equal(text, want);
}

static void next_times(void **state)
{
    (void)state;
    next_is("*/5 * * * *", "2026-01-01T00:02:30Z", "2026-01-01T00:05:00Z");
    next_is("0 9 * * mon-fri", "2026-01-02T10:00:00Z", "2026-01-05T09:00:00Z");
    next_is("@monthly", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    next_is("30 4 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T04:30:00Z");
    next_is("0 0 13 * 5", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"); /* day or weekday */
    next_is("0 0 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z");
}

static void malformed_schedules(void **state)
{
    (void)state;
    struct cron_schedule s;
    static const char *const wrong[] = {"",          "* * * *",     "* * * * * *", "60 * * * *", "* 24 * * *",
                                        "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "x * * * *",  "1, * * * *"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(cron_schedule_parse(wrong[i], &s));
    assert_true(cron_schedule_parse("0 0 31 2 *", &s)); /* well formed, never due */
    assert_int_equal(cron_schedule_next(&s, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(next_times), cmocka_unit_test(malformed_schedules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
