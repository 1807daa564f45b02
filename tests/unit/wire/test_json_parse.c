#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "wire/json.h"

static void test_accepted(void **state)
{
    /* text, and how it is printed */
    static const char *const rows[][2] = {
        {" [ ] ", "[]"},
        {"\t{\"a\" : 1 }\r\n", "{\"a\":1}"},
        {"0", "0"},
        {"-0.5e+10", "-0.5e+10"},
        {"1E400", "1E400"},
        {"\"\"", "\"\""},
        {"\"\\u0041\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"A\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u20AC\\uD83D\\uDE00\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\"\\u001f\x7f\"", "\"\\u001f\x7f\""},
        {"[true,false,null]", "[true,false,null]"},
        {"{\"\":{}}", "{\"\":{}}"},
        {"\"0123456789abcdef\\n0123456789abcdef\xc3\xa9\"", "\"0123456789abcdef\\n0123456789abcdef\xc3\xa9\""},
        {"123456789012345678901234567890.000", "123456789012345678901234567890.000"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        struct err e = {0};
        struct json *v = json_parse(a, bytes_of(rows[i][0]), NULL, &e);
        assert_non_null(v);
        json_write(&out, v);
        assert_string_equal(out.data, rows[i][1]);
    }
}

static void test_refused(void **state)
{
    /* text, and a part of the message */
    static const char *const rows[][2] = {
        {"", "empty"},
        {" \n ", "line 2, column 2: the document is empty"},
        {"[1,]", "remove it"},
        {"{\"a\":1,}", "remove it"},
        {"{a:1}", "expected a key"},
        {"{'a':1}", "expected a key"},
        {"[01]", "number"},
        {"[+1]", "expected a JSON value"},
        {"[1.]", "number"},
        {"[.5]", "expected"},
        {"[1e]", "number"},
        {"[-]", "number"},
        {"nul", "expected a JSON value"},
        {"NaN", "expected"},
        {"[1 2]", "expected ','"},
        {"[1}", "expected ','"},
        {"{\"a\" 1}", "':'"},
        {"\"a", "does not end"},
        {"\"a\\", "does not end"},
        {"\"\\x\"", "unknown escape"},
        {"\"\\u12g4\"", "hexadecimal"},
        {"\"\\ud800\"", "surrogate"},
        {"\"\\udc00\\ud800\"", "surrogate"},
        {"\"\\u0000\"", "NUL"},
        {"\"a\nb\"", "control character"},
        {"\"\xff\"", "UTF-8"},
        {"\"\xc0\x80\"", "UTF-8"},
        {"\"\xed\xa0\x80\"", "UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "UTF-8"},
        {"\"\xe2\x82\"", "UTF-8"},
        {"1 2", "after the end"},
        {"[", "ends"},
        {"{", "ends"},
        {"{\"a\":", "ends"},
        {"[1", "ends inside"},
        {"\xef\xbb\xbf{}", "byte order mark"},
        {"// x\n1", "expected"},
        {"]", "expected"},
        {"{\"a\":}", "expected"},
        {"{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: expected ',' or '}'"},
        {"truee", "after the end"},
        {"1.5.5", "after the end"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct err e = {0};
        assert_null(json_parse(a, bytes_of(rows[i][0]), NULL, &e));
        assert_int_equal(e.code, E_INVALID);
        if (!strstr(e.text, rows[i][1]))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i][0], e.text, rows[i][1]);
        assert_memory_equal(e.text, "line ", 5);
    }
}

static void test_nul_byte(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    assert_null(json_parse(a, BYTES("\"a\0b\""), NULL, &e));
    assert_non_null(strstr(e.text, "NUL"));
    assert_null(json_parse(a, BYTES("{}\0"), NULL, &e));
    assert_null(json_parse(a, (struct bytes){NULL, 0}, NULL, NULL));
}

static void test_every_cut_is_refused(void **state)
{
    const struct bytes text = BYTES("{\"a\":[1.5e3,true,null,{\"b\\n\":\"\xe2\x82\xac \\ud83d\\ude00 long enough for a block\"}],\"c\":false}");
    for (size_t n = 0; n < text.n; n++) {
        _cleanup_arena_ struct arena *a = arena_new();
        assert_null(json_parse(a, (struct bytes){text.data, n}, NULL, NULL));
    }
}

static void test_duplicates(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json_parse_info info;
    struct json *v = json_parse(a, BYTES("{\"spec\":{\"replicas\":1,\"containers\":[{},{\"name\":\"a\",\"name\":\"b\"}],\"replicas\":2},\"x\":1,\"\\u0078\":3}"),
                                &info, NULL);
    assert_non_null(v);
    assert_int_equal(info.duplicate_n, 3);
    assert_string_equal(info.duplicate[0], "spec.containers[1].name");
    assert_string_equal(info.duplicate[1], "spec.replicas");
    assert_string_equal(info.duplicate[2], "x");
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    assert_string_equal(out.data, "{\"spec\":{\"containers\":[{},{\"name\":\"b\"}],\"replicas\":2},\"x\":3}");
    assert_int_equal(v->n, 2);
}

/* The keys of a small object are told apart by one of 64 bits first: those that share one, and those that do not, are each kept once. */
static void test_duplicates_among_many(void **state)
{
    enum { KEYS = 31 };
    for (int again = 0; again < KEYS; again++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf text = {0};
        struct json_parse_info info;
        for (int i = 0; i < KEYS; i++)
            buf_printf(&text, "%c\"%c%d%s\":%d", i ? ',' : '{', "ai"[i % 2], i, i % 3 ? "" : "xxxxxxxxxxxxxxxxxxxxx", i);
        buf_printf(&text, ",\"%c%d%s\":%d}", "ai"[again % 2], again, again % 3 ? "" : "xxxxxxxxxxxxxxxxxxxxx", 100);
        const struct json *v = json_parse(a, buf_view(&text), &info, NULL);
        assert_non_null(v);
        assert_int_equal(v->n, KEYS);
        assert_int_equal(info.duplicate_n, 1);
        assert_int_equal(json_int64(v->last, 0), 100);
    }
}

static void test_duplicates_in_large_object(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    buf_char(&text, '{');
    for (int i = 0; i < 40000; i++)
        buf_printf(&text, "%s\"k%d\":%d", i ? "," : "", i % 20000, i);
    buf_char(&text, '}');
    struct json_parse_info info;
    struct json *v = json_parse(a, buf_view(&text), &info, NULL);
    assert_int_equal(v->n, 20000);
    assert_int_equal(info.duplicate_n, 20000);
    assert_string_equal(info.duplicate[7], "k7");
    assert_int_equal(json_get_int64(v, "k0", 0), 20000);
    assert_int_equal(json_get_int64(v, "k19999", 0), 39999);
}

static void test_limits(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct err e = {0};
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
        buf_char(&text, '[');
    for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
        buf_char(&text, ']');
    assert_non_null(json_parse(a, buf_view(&text), NULL, &e));
    buf_clear(&text);
    for (int i = 0; i < LIMIT_JSON_DEPTH + 1; i++)
        buf_char(&text, '[');
    assert_null(json_parse(a, buf_view(&text), NULL, &e));
    assert_int_equal(e.code, E_LIMIT);
    buf_clear(&text);
    buf_char(&text, '[');
    for (unsigned i = 0; i < LIMIT_JSON_NODES; i++)
        buf_text(&text, i ? ",1" : "1");
    buf_char(&text, ']');
    assert_null(json_parse(a, buf_view(&text), NULL, &e));
    assert_int_equal(e.code, E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted),   cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_nul_byte),   cmocka_unit_test(test_every_cut_is_refused),
                                       cmocka_unit_test(test_duplicates), cmocka_unit_test(test_duplicates_among_many),
                                       cmocka_unit_test(test_duplicates_in_large_object),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
