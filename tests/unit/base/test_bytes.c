#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/memory.h"

static void test_views(void **state)
{
    struct bytes none = bytes_of(NULL);
    assert_int_equal(none.n, 0);
    assert_true(bytes_equal(none, BYTES("")));
    assert_true(bytes_is(BYTES("abc"), "abc"));
    assert_false(bytes_is(BYTES("abc"), "ab"));
    assert_true(bytes_compare(BYTES("a"), BYTES("ab")) < 0);
    assert_true(bytes_compare(BYTES("b"), BYTES("ab")) > 0);
    assert_int_equal(bytes_compare(none, BYTES("")), 0);
    assert_true(bytes_starts(BYTES("abc"), "ab"));
    assert_true(bytes_starts(none, ""));
    assert_false(bytes_starts(BYTES("a"), "ab"));
    assert_true(text_equal(NULL, NULL));
    assert_false(text_equal("", NULL));
    assert_true(text_starts("abc", "a") && text_ends("abc", "bc"));
    assert_false(text_ends("c", "bc"));
}

/* Every length around those at which the ways change, with each single byte another. */
static void test_same_and_copy(void **state)
{
    char a[40], b[42];
    for (size_t n = 0; n <= sizeof a; n++) {
        for (size_t i = 0; i < sizeof a; i++)
            a[i] = (char)('a' + i % 26);
        memset(b, '#', sizeof b);
        bytes_copy(b + 1, a, n);
        assert_memory_equal(b + 1, a, n);
        assert_true(b[0] == '#' && b[n + 1] == '#');
        assert_true(bytes_same(a, b + 1, n));
        for (size_t i = 0; i < n; i++) {
            b[i + 1] ^= 1;
            assert_false(bytes_same(a, b + 1, n));
            b[i + 1] ^= 1;
        }
    }
}

static void test_int64(void **state)
{
    int64_t v = 7;
    static const char *const lines[] = {"Zm9v\n", "Zm\n9v", "Z\r\nm9v\r\n", "\nZm9v"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        _cleanup_buf_ struct buf out = {0};
        assert_true(base64_decode(&out, bytes_of(lines[i])));
        assert_true(bytes_is(buf_view(&out), "foo"));
    }
    static const char *const bad[] = {"", "-", "+", " 1", "1 ", "0x1", "9223372036854775808", "-9223372036854775809", "1.0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(bytes_int64(bytes_of(bad[i]), &v));
    assert_int_equal(v, 7);
    assert_true(bytes_int64(BYTES("-9223372036854775808"), &v) && v == INT64_MIN);
    assert_true(bytes_int64(BYTES("9223372036854775807"), &v) && v == INT64_MAX);
    assert_true(bytes_int64(BYTES("+007"), &v) && v == 7);
}

static void test_buf(void **state)
{
    _cleanup_buf_ struct buf b;
    buf_init(&b);
    buf_clear(&b);
    buf_add(&b, NULL, 0);
    assert_string_equal(b.data, "");
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%d,", i);
    assert_int_equal(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(b.data), b.n);
    buf_clear(&b);
    buf_int64(&b, INT64_MIN);
    buf_char(&b, ' ');
    buf_int64(&b, 0);
    buf_text(&b, NULL);
    buf_bytes(&b, BYTES("!"));
    assert_string_equal(b.data, "-9223372036854775808 0!");
    size_t n;
    char *text = buf_take(&b, &n);
    assert_int_equal(n, 23);
    assert_null(b.data);
    free(text);
    text = buf_take(&b, NULL);
    assert_string_equal(text, "");
    free(text);
}

static void test_blob(void **state)
{
    struct blob *b = blob_new("ab", 2);
    assert_ptr_equal(blob_ref(b), b);
    blob_unref(b);
    assert_string_equal(b->data, "ab");
    blob_unref(b);
    blob_unref(NULL);
}

static void test_base64(void **state)
{
    static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd\xfc", "//79/A=="}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        _cleanup_buf_ struct buf out = {0}, back = {0};
        base64_encode(&out, bytes_of(pairs[i][0]));
        assert_true(bytes_is(buf_view(&out), pairs[i][1]));
        assert_true(base64_decode(&back, buf_view(&out)));
        assert_true(bytes_is(buf_view(&back), pairs[i][0]));
    }
    static const char *const bad[] = {"Z", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9*", "Zm\n9", "\n="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        _cleanup_buf_ struct buf out = {0};
        buf_text(&out, "kept");
        assert_false(base64_decode(&out, bytes_of(bad[i])));
        assert_string_equal(out.data, "kept");
    }
}

static void test_memory(void **state)
{
    int *array = NULL;
    uint32_t cap = 0;
    MEM_RESERVE(array, cap, 1);
    assert_int_equal(cap, 8);
    MEM_RESERVE(array, cap, 100);
    assert_int_equal(cap, 128);
    array[127] = 1;
    free(array);
    _cleanup_free_ char *text = mem_text_n("abc", 2);
    assert_string_equal(text, "ab");
    assert_null(mem_text(NULL));
    _cleanup_free_ char *none = NULL;
    char *moved = take_ptr(text);
    assert_null(text);
    free(moved);
    (void)none;
}

/* With room for all of it, for none, and cut at each byte: what stdio says, and nothing behind the room. */
static void same(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void same(const char *format, ...)
{
    char want[256], got[256];
    for (size_t max = 0; max < sizeof want; max++) {
        va_list args;
        memset(want, 'x', sizeof want);
        memset(got, 'x', sizeof got);
        va_start(args, format);
        int n = vsnprintf(max ? want : NULL, max, format, args);
        va_end(args);
        va_start(args, format);
        int m = text_vprintf(max ? got : NULL, max, format, args);
        va_end(args);
        if (n != m || memcmp(want, got, sizeof want) != 0)
            fail_msg("%s with room for %zu: %d \"%.*s\", stdio %d \"%.*s\"", format, max, m, (int)max, got, n, (int)max, want);
    }
}

static void test_formats_as_stdio(void **state)
{
    const char *volatile none = NULL;
    same("%s", "");
    same("%s", "plain");
    same("a%sb%sc", "x", "\xc3\xa9");
    same("%d %d %d %d", 0, -1, INT32_MAX, INT32_MIN);
    same("%u %u", 0u, UINT32_MAX);
    same("%lld %lld %llu", (long long)INT64_MIN, (long long)INT64_MAX, (unsigned long long)UINT64_MAX);
    same("%zu|%c|%%", SIZE_MAX, 'c');
    same("%.*s|%.*s|%.*s", 3, "abcdef", 0, "abc", -1, "abc");
    same("%s", none);
    same("%.*s|%.*s", 5, none, 6, none);
    same("100%% of %s, %u times", "it", 3u);
    char cut[6];
    assert_int_equal(text_printf(cut, sizeof cut, "%s/%d", "abc", 42), 6);
    assert_string_equal(cut, "abc/4");
}

/* What is not known here goes to stdio with all of its arguments, also those in front of it. */
static void test_other_formats(void **state)
{
    same("%s %5d %s", "a", 7, "b");
    same("%u %08x %lld", 1u, 255u, 3ll);
    same("%s %.3f", "a", 1.5);
    same("%-5s| %ld %lu %5.1f", "a", -3l, 4ul, 2.25);
    same("%.2s %x", "abc", 11u);
    same("%zx %zd %hhu", (size_t)10, (ssize_t)-5, (unsigned char)7);
}

static bool is_plain(const char *text)
{
    return utf8_is_plain(text, utf8_length(text, text + strlen(text)));
}

static void test_plain(void **state)
{
    static const char *const plain[] = {" ", "~", "\xc2\xa0", "\xc3\xa9", "\xea\xb0\x80", "\xf0\x9f\x98\x80"},
                            *const others[] = {"\n", "\x1b", "\x7f", "\xc2\x80", "\xc2\x9f", "\xc2\xad", "\xe2\x80\x8b", "\xe2\x80\xae",
                                               "\xe2\x81\xa6", "\xef\xbb\xbf", "\xf3\xa0\x80\x81", "\x80", "\xff", "\xc3"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(is_plain(plain[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_plain(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats_as_stdio), cmocka_unit_test(test_other_formats),
                                       cmocka_unit_test(test_views),  cmocka_unit_test(test_same_and_copy),
                                       cmocka_unit_test(test_int64), cmocka_unit_test(test_buf),
                                       cmocka_unit_test(test_blob),  cmocka_unit_test(test_base64),
                                       cmocka_unit_test(test_memory), cmocka_unit_test(test_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
