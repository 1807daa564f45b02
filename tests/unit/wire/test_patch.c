#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "wire/patch.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct json *v = json_parse(a, bytes_of(text), NULL, NULL);
    if (!v)
        fail_msg("not JSON: %s", text);
    return v;
}

static void check_text(const struct json *v, const char *expected)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    assert_string_equal(out.data, expected);
}

/* Most rows: RFC 6902, appendix A. */
static void test_patch(void **state)
{
    static const char *const rows[][3] = {
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]", "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]", "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]", "{\"foo\":\"bar\"}"},
        {"{\"foo\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]", "{\"foo\":[1,3]}"},
        {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
         "{\"baz\":\"boo\",\"foo\":\"bar\"}"},
        {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
         "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
         "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}"},
        {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}", "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
         "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}"},
        {"{\"baz\":\"qux\",\"foo\":[\"a\",2]}",
         "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]", NULL},
        {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", "!"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
         "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}"},
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", "!"},
        {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10},{\"op\":\"test\",\"path\":\"/~1\",\"value\":9}]", NULL},
        {"{\"/\":9}", "[{\"op\":\"test\",\"path\":\"/~1\",\"value\":\"9\"}]", "!"},
        {"{\"foo\":[\"bar\"]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\"]}]", "{\"foo\":[\"bar\",[\"abc\"]]}"},
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":[1]},{\"op\":\"add\",\"path\":\"/0\",\"value\":0}]", "[0,1]"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":5}]", "5"},
        {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b\"}]", "{\"a\":1,\"b\":{\"a\":1}}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"\"}]", "1"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", NULL},
        {"{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null},{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", NULL},
        {"{\"\":1}", "[{\"op\":\"replace\",\"path\":\"/\",\"value\":2}]", "{\"\":2}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *v = parse(a, rows[i][0]);
        struct err e = {0};
        bool refused = rows[i][2] && strcmp(rows[i][2], "!") == 0;
        int r = patch_json(a, &v, parse(a, rows[i][1]), &e);
        if (r != (refused ? -E_INVALID : 0))
            fail_msg("%s: %d %s", rows[i][1], r, e.text);
        check_text(v, rows[i][2] && !refused ? rows[i][2] : rows[i][0]);
    }
}

static void test_refused_changes_nothing(void **state)
{
    /* operations, and a part of the message */
    static const char *const rows[][2] = {
        {"{}", "array of operations"},
        {"[{}]", "operation 0: \"op\" and \"path\""},
        {"[{\"op\":\"add\",\"path\":\"/l/0\",\"value\":9},{\"op\":\"remove\",\"path\":\"/zz\"}]",
         "operation 1 (remove /zz): \"zz\" does not exist"},
        {"[{\"op\":\"add\",\"path\":\"/a\"}]", "\"value\" is missing"},
        {"[{\"op\":\"move\",\"path\":\"/a\"}]", "\"from\" is missing"},
        {"[{\"op\":\"swap\",\"path\":\"/a\",\"value\":1}]", "unknown op"},
        {"[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", "starts with '/'"},
        {"[{\"op\":\"add\",\"path\":\"/~2\",\"value\":1}]", "~0"},
        {"[{\"op\":\"add\",\"path\":\"/a~\",\"value\":1}]", "~0"},
        {"[{\"op\":\"add\",\"path\":\"/l/3\",\"value\":1}]", "past the end"},
        {"[{\"op\":\"add\",\"path\":\"/l/01\",\"value\":1}]", "not an array index"},
        {"[{\"op\":\"add\",\"path\":\"/l/-1\",\"value\":1}]", "not an array index"},
        {"[{\"op\":\"add\",\"path\":\"/l/99999999999999999999\",\"value\":1}]", "not an array index"},
        {"[{\"op\":\"replace\",\"path\":\"/l/-\",\"value\":1}]", "not an array index"},
        {"[{\"op\":\"replace\",\"path\":\"/l/2\",\"value\":1}]", "past the end"},
        {"[{\"op\":\"remove\",\"path\":\"\"}]", "whole document"},
        {"[{\"op\":\"move\",\"from\":\"/o\",\"path\":\"/o/x\"}]", "into itself"},
        {"[{\"op\":\"move\",\"from\":\"\",\"path\":\"/o/x\"}]", "into itself"},
        {"[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", "neither"},
        {"[{\"op\":\"remove\",\"path\":\"/e/0\"}]", "empty"},
        {"[{\"op\":\"replace\",\"path\":\"/zz\",\"value\":1}]", "does not exist"},
        {"[5]", "operation 0"},
    };
    const char *text = "{\"a\":1,\"l\":[1,2],\"o\":{},\"e\":[]}";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *v = parse(a, text);
        struct err e = {0};
        assert_int_equal(patch_json(a, &v, parse(a, rows[i][0]), &e), -E_INVALID);
        if (!strstr(e.text, rows[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", e.text, rows[i][1]);
        check_text(v, text);
    }
}

static void test_limits(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct json *v = parse(a, "{\"a\":[1]}");
    buf_char(&text, '[');
    for (int i = 0; i <= LIMIT_PATCH_OPERATIONS; i++)
        buf_printf(&text, "%s{\"op\":\"test\",\"path\":\"/a/0\",\"value\":1}", i ? "," : "");
    buf_char(&text, ']');
    assert_int_equal(patch_json(a, &v, parse(a, text.data), NULL), -E_LIMIT);
    buf_clear(&text);
    buf_char(&text, '[');
    for (int i = 0; i < 60; i++)
        buf_printf(&text, "%s{\"op\":\"copy\",\"from\":\"\",\"path\":\"/a/-\"}", i ? "," : "");
    buf_char(&text, ']');
    assert_int_equal(patch_json(a, &v, parse(a, text.data), NULL), -E_LIMIT);
    check_text(v, "{\"a\":[1]}");
    struct json *deep = json_new(a, JSON_ARRAY), *at = deep;
    for (int i = 0; i < LIMIT_JSON_DEPTH - 1; i++, at = at->first)
        json_append(at, json_new(a, JSON_ARRAY));
    struct json *operations = parse(a, "[{\"op\":\"add\",\"path\":\"/a/0\"}]");
    json_set(a, json_item(operations, 0), "value", deep);
    assert_int_equal(patch_json(a, &v, operations, NULL), -E_LIMIT);
}

/* RFC 7386, appendix A. */
static void test_merge(void **state)
{
    static const char *const rows[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":null,\"d\":4}", "{\"a\":1,\"b\":2,\"d\":4}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *v = parse(a, rows[i][0]);
        patch_merge(a, &v, parse(a, rows[i][1]));
        check_text(v, rows[i][2]);
    }
}

static void test_merge_large(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0}, change = {0};
    for (int i = 0; i < 20000; i++) {
        buf_printf(&text, "%s\"k%d\":%d", i ? "," : "{", i, i);
        if (i % 2)
            buf_printf(&change, "%s\"k%d\":null", change.n ? "," : "{", i);
        else
            buf_printf(&change, "%s\"k%d\":\"new\",\"n%d\":0", change.n ? "," : "{", i, i);
    }
    buf_char(&text, '}');
    buf_char(&change, '}');
    struct json *v = parse(a, text.data);
    patch_merge(a, &v, parse(a, change.data));
    assert_int_equal(v->n, 20000);
    assert_string_equal(json_get_text(v, "k2", ""), "new");
    assert_null(json_get(v, "k3"));
    assert_string_equal(v->last->key, "n19998");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patch), cmocka_unit_test(test_refused_changes_nothing),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_merge), cmocka_unit_test(test_merge_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
