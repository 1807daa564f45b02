/* test_cron_schedule.c - five fields, and the next time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/clock.h"
#include "jobs/batch/cron_schedule.h"
#include "jobs/batch/time_zone.h"

static void next_is(const char *schedule, const char *after, const char *want)
{
    struct cron_schedule s;
    int64_t after_ms;
    char text[TIME_TEXT_MAX];
    assert_true(cron_schedule_parse(schedule, &s));
    assert_true(time_parse(bytes_of(after), &after_ms));
    time_format(text, cron_schedule_next(&s, NULL, after_ms));
    assert_string_equal(text, want);
}

/* A file of version 2 without changes: only the rule at its end. */
static struct time_zone *zone_of_rule(const char *rule)
{
    struct buf file = {0};
    struct err e = {0};
    struct time_zone *z = NULL;
    static const char header[44] = {'T', 'Z', 'i', 'f', '2', [39] = 1, [43] = 4}; /* one type, four letters */
    static const char type[6] = {0}, letters[4] = {'L', 'M', 'T', 0};
    for (int version = 1; version <= 2; version++) {
        buf_add(&file, header, sizeof header);
        buf_add(&file, type, sizeof type);
        buf_add(&file, letters, sizeof letters);
    }
    buf_printf(&file, "\n%s\n", rule);
    if (time_zone_parse(buf_view(&file), &z, &e) < 0)
        z = NULL;
    buf_free(&file);
    return z;
}

static void next_in(const struct time_zone *z, const char *schedule, const char *after, const char *want)
{
    struct cron_schedule s;
    int64_t after_ms;
    char text[TIME_TEXT_MAX];
    assert_true(cron_schedule_parse(schedule, &s));
    assert_true(time_parse(bytes_of(after), &after_ms));
    time_format(text, cron_schedule_next(&s, z, after_ms));
    assert_string_equal(text, want);
}

static void schedules_of_places(void **state)
{
    (void)state;
    struct time_zone *berlin = zone_of_rule("CET-1CEST,M3.5.0,M10.5.0/3");
    assert_non_null(berlin);
    next_in(berlin, "0 3 * * *", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z");
    next_in(berlin, "0 3 * * *", "2026-07-01T02:00:00Z", "2026-07-02T01:00:00Z");
    next_in(berlin, "0 0 1 * *", "2026-01-15T00:00:00Z", "2026-01-31T23:00:00Z"); /* in UTC it is the day before */
    next_in(berlin, "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"); /* on the 29th that is skipped */
    next_in(berlin, "0 0 * * *", "2026-03-28T23:30:00Z", "2026-03-29T22:00:00Z"); /* a day of 23 hours */
    next_in(berlin, "30 2 * * *", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"); /* and twice on this one */
    next_in(berlin, "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z");
    next_in(berlin, "30 2 * * *", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z");
    time_zone_free(berlin);
    struct time_zone *sydney = zone_of_rule("AEST-10AEDT,M10.1.0,M4.1.0/3"), *chatham = zone_of_rule("<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45");
    next_in(sydney, "0 9 * * *", "2026-01-01T00:00:00Z", "2026-01-01T22:00:00Z"); /* summer in January */
    next_in(sydney, "0 9 * * *", "2026-07-01T00:00:00Z", "2026-07-01T23:00:00Z");
    next_in(chatham, "0 12 * * *", "2026-07-01T00:00:00Z", "2026-07-01T23:15:00Z");
    time_zone_free(sydney);
    time_zone_free(chatham);
    struct time_zone *kolkata = zone_of_rule("IST-5:30"), *new_york = zone_of_rule("EST5EDT,M3.2.0,M11.1.0");
    next_in(kolkata, "0 0 * * *", "2026-01-01T00:00:00Z", "2026-01-01T18:30:00Z");
    next_in(new_york, "0 0 * * *", "2026-06-01T00:00:00Z", "2026-06-01T04:00:00Z");
    time_zone_free(kolkata);
    time_zone_free(new_york);
    static const char *const wrong[] = {"CET-1CEST,M3.5.0", "CET", "CET-1CEST,M13.5.0,M10.5.0", "-1", "CET-1CEST,M3.5.0,M10.5.0/3x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(zone_of_rule(wrong[i]));
}

static void zones_of_this_system(void **state)
{
    (void)state;
    static const char *const wrong[] = {"Local", "../../etc/passwd", "/etc/localtime", "Nowhere/City", "Europe/", "Europe//Berlin", "a b"};
    struct err e = {0};
    struct time_zone *z = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(time_zone_load(wrong[i], &z, &e) < 0);
    assert_int_equal(time_zone_load("UTC", &z, &e), 0);
    assert_int_equal(time_zone_offset(z, 1767225600), 0);
    time_zone_free(z);
    if (time_zone_load("Europe/Berlin", &z, &e) < 0)
        skip(); /* no tzdata here */
    assert_int_equal(time_zone_offset(z, 1767225600), 3600);
    assert_int_equal(time_zone_offset(z, 1782864000), 7200);
    assert_int_equal(time_zone_offset(z, 4105123200), 3600); /* 2100, by the rule */
    assert_int_equal(time_zone_offset(z, -1700000000), 3600); /* 1916, before the first summer time */
    time_zone_free(z);
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
    assert_int_equal(cron_schedule_next(&s, NULL, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(next_times), cmocka_unit_test(malformed_schedules),
                                       cmocka_unit_test(schedules_of_places), cmocka_unit_test(zones_of_this_system)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
