#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/quantity.h"

static void test_canonical(void **state)
{
    static const char *const rows[][2] = {
        {"0", "0"}, {"0m", "0"}, {"-0", "0"}, {"0.0", "0"}, {"0Gi", "0"}, {"1500m", "1500m"}, {"1.5", "1500m"}, {"1024Mi", "1Gi"},
        {"1Ki", "1Ki"}, {"0.5Gi", "512Mi"}, {"1.5Gi", "1536Mi"}, {"1e3", "1e3"}, {"1E3", "1e3"}, {"1E", "1E"}, {"12e6", "12e6"},
        {"1000k", "1M"}, {"100m", "100m"}, {"1000m", "1"}, {"2000m", "2"}, {"1n", "1n"}, {"0.9n", "1n"}, {"0.0000000001", "1n"},
        {"-1", "-1"}, {"+5", "5"}, {".5", "500m"}, {"5.", "5"}, {"1.G", "1G"}, {"00012", "12"}, {"1000", "1k"}, {"1001", "1001"},
        {"100000", "100k"}, {"1e2", "100"}, {"1e+4", "10e3"}, {"1e-3", "1e-3"}, {"1e-10", "1e-9"}, {"0.5Ki", "512"}, {"1023Ki", "1023Ki"},
        {"0.5i", NULL}, {"1.1Ki", "1126400m"}, {"0.0001Ki", "102400u"}, {"9Ei", "9223372036854775807"}, {"-9Ei", "-9223372036854775807"},
        {"8Ei", "9223372036854775807"}, {"7Ei", "7Ei"}, {"10E", "10E"}, {"1000E", "1e21"}, {"18446744073709551616", "18446744073709551616"},
        {"1.2345", "1234500u"}, {"0.123456789123", "123456790n"}, {"1e40", "1e27"}, {"1e-40", "1e-9"}, {"0e99999999999", "0"},
        {"64Gi", "64Gi"}, {"1000Ki", "1000Ki"}, {"1048576Ki", "1Gi"}, {"123456789012345678901234567890123456789012345", "1e27"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct quantity q;
        char text[QUANTITY_TEXT_MAX];
        int r = quantity_parse(bytes_of(rows[i][0]), &q, NULL);
        assert_int_equal(r, rows[i][1] ? 0 : -E_INVALID);
        if (rows[i][1])
            assert_string_equal(quantity_format(text, q), rows[i][1]);
    }
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"", " ", "1 Gi", " 1", "1 ", "abc", "1GiB", "--1", "+-1", "1.2.3", "1i", "1mi", "1ki", "1K", "m", "+",
                                      ".", "Gi", "1e", "1e-", "1ee3", "0x10", "1,5", "1e9223372036854775808", "NaN", "1m5", "1_000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct quantity q;
        struct err e = {0};
        if (strcmp(bad[i], "1e") == 0) /* "e" alone is no suffix, "E" is */
            assert_int_equal(quantity_parse(BYTES("1E"), &q, NULL), 0);
        assert_int_equal(quantity_parse(bytes_of(bad[i]), &q, &e), -E_INVALID);
        assert_non_null(strstr(e.text, "is not a quantity"));
    }
}

static struct quantity parsed(const char *text)
{
    struct quantity q = {0};
    assert_int_equal(quantity_parse(bytes_of(text), &q, NULL), 0);
    return q;
}

static void test_values(void **state)
{
    assert_int_equal(quantity_whole(parsed("1500m")), 2);
    assert_int_equal(quantity_whole(parsed("-1500m")), -2);
    assert_int_equal(quantity_whole(parsed("1n")), 1);
    assert_int_equal(quantity_milli(parsed("1n")), 1);
    assert_int_equal(quantity_milli(parsed("2.5")), 2500);
    assert_int_equal(quantity_whole(parsed("64Gi")), INT64_C(64) << 30);
    assert_true(quantity_whole(parsed("100E")) == INT64_MAX);
    assert_true(quantity_milli(parsed("-8Ei")) == INT64_MIN);
    assert_int_equal(quantity_sign(parsed("-1m")), -1);
    assert_int_equal(quantity_sign(parsed("0")), 0);
    assert_int_equal(quantity_compare(parsed("1024Mi"), parsed("1Gi")), 0);
    assert_true(quantity_compare(parsed("1G"), parsed("1Gi")) < 0);
    assert_true(quantity_compare(parsed("1"), parsed("999m")) > 0);
    char text[QUANTITY_TEXT_MAX];
    assert_string_equal(quantity_format(text, quantity_of_whole(INT64_C(3) << 30, QUANTITY_BINARY_SI)), "3Gi");
    assert_string_equal(quantity_format(text, quantity_of_whole(1000, QUANTITY_BINARY_SI)), "1k");
    assert_string_equal(quantity_format(text, quantity_of_milli(250)), "250m");
    assert_string_equal(quantity_format(text, quantity_of_whole(INT64_MIN, QUANTITY_DECIMAL_SI)), "-9223372036854775808");
}

/* A short whole number is read by another way than one with a fraction, to the same amount. */
static void test_short_as_long(void **state)
{
    static const char *const suffixes[] = {"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "e-9", "E9", "e10"};
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char plain[64], fraction[64];
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned long long value = (unsigned long long)(seed >> (8 + seed % 56));
        const char *suffix = suffixes[(seed >> 32) % (sizeof suffixes / sizeof *suffixes)], *sign = seed & 4 ? "-" : "";
        snprintf(plain, sizeof plain, "%s%llu%s", sign, value, suffix);
        snprintf(fraction, sizeof fraction, "%s%llu.0%s", sign, value, suffix);
        struct quantity x = parsed(plain), y = parsed(fraction);
        if (x.nano != y.nano || x.format != y.format)
            fail_msg("%s is not %s", plain, fraction);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_canonical), cmocka_unit_test(test_refused), cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_short_as_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
