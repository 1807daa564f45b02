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

static void test_int64(void **state)
{
    int64_t v = 7;
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
    static const char *const bad[] = {"Z", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9*", "Zm\n9v"};
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_views), cmocka_unit_test(test_int64),  cmocka_unit_test(test_buf),
                                       cmocka_unit_test(test_blob),  cmocka_unit_test(test_base64), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
