#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/random.h"

static void test_format(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00Z"},
        {-1, "1969-12-31T23:59:59Z"},
        {INT64_C(1767225600000), "2026-01-01T00:00:00Z"},
        {INT64_C(951827696789), "2000-02-29T12:34:56Z"},
        {INT64_C(4107542399000), "2100-02-28T23:59:59Z"},
        {INT64_C(-62135596800000), "0001-01-01T00:00:00Z"},
        {INT64_C(253402300799999), "9999-12-31T23:59:59Z"},
        {INT64_MIN, "0001-01-01T00:00:00Z"},
        {INT64_MAX, "9999-12-31T23:59:59Z"},
    };
    char text[TIME_TEXT_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(time_format(text, rows[i].ms), rows[i].text);
    assert_string_equal(time_format_micro(text, INT64_C(1767225600000042)), "2026-01-01T00:00:00.000042Z");
    assert_string_equal(time_format_micro(text, -1), "1969-12-31T23:59:59.999999Z");
}

static void test_parse(void **state)
{
    int64_t ms = 5;
    assert_true(time_parse(BYTES("2026-01-01T00:00:00Z"), &ms) && ms == INT64_C(1767225600000));
    assert_true(time_parse(BYTES("2026-01-01T00:00:00+00:00"), &ms) && ms == INT64_C(1767225600000));
    assert_true(time_parse(BYTES("2026-01-01T01:30:00.123456789+01:30"), &ms) && ms == INT64_C(1767225600123));
    assert_true(time_parse(BYTES("2025-12-31T19:00:00.5-05:00"), &ms) && ms == INT64_C(1767225600500));
    assert_true(time_parse(BYTES("2024-02-29T00:00:00Z"), &ms));
    ms = 5;
    static const char *const bad[] = {"", "2026-01-01", "2026-01-01 00:00:00Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                                      "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z",
                                      "2026-01-01T00:00:00Zx", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+0000",
                                      "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "2026-1-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(time_parse(bytes_of(bad[i]), &ms));
    assert_int_equal(ms, 5);
}

static void test_there_and_back(void **state)
{
    struct random r = {9};
    for (int i = 0; i < 20000; i++) {
        char text[TIME_TEXT_MAX];
        int64_t ms = ((int64_t)random_below(&r, 315537897600) - 62135596800) * 1000, back;
        assert_true(time_parse(bytes_of(time_format(text, ms)), &back));
        assert_int_equal(back, ms);
    }
}

static void test_age(void **state)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {{-5, "0s"}, {0, "0s"}, {119, "119s"}, {120, "2m"}, {123, "2m3s"}, {599, "9m59s"}, {600, "10m"}, {61 * 60, "61m"},
                {179 * 60 + 59, "179m"}, {5 * 3600 + 120, "5h2m"}, {5 * 3600, "5h"}, {47 * 3600 + 3599, "47h"}, {48 * 3600, "2d"},
                {51 * 3600, "2d3h"}, {8 * 86400, "8d"}, {729 * 86400, "729d"}, {740 * 86400, "2y10d"}, {730 * 86400, "2y"},
                {INT64_C(3000) * 86400, "8y"}};
    char text[TIME_TEXT_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(time_age(text, rows[i].s * 1000), rows[i].text);
}

static void test_duration(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0}, {"1h30m", 5400000}, {"1.5s", 1500}, {"300ms", 300}, {"-2m", -120000}, {"+5s", 5000}, {"1us", 0},
                {"1500\xc2\xb5s", 1}, {".5h", 1800000}, {"1.s", 1000}, {"2562047h", INT64_C(9223369200000)}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ms = -1;
        assert_true(duration_parse(bytes_of(good[i].text), &ms));
        assert_int_equal(ms, good[i].ms);
    }
    static const char *const bad[] = {"", "1", "s", "1d", "1h ", ".", "-", "1h-1m", "9999999999999h", "00"};
    int64_t ms;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(duration_parse(bytes_of(bad[i]), &ms));
}

static void test_clocks(void **state)
{
    assert_true(clock_wall_us() > INT64_C(1700000000000000));
    int64_t before_us = clock_monotonic_us();
    assert_true(clock_monotonic_us() >= before_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_format), cmocka_unit_test(test_parse), cmocka_unit_test(test_there_and_back),
                                       cmocka_unit_test(test_age), cmocka_unit_test(test_duration), cmocka_unit_test(test_clocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
