#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "wire/json_reader.h"

struct seen {
    struct buf all; /* values, each followed by '|' */
    int stop_after; /* values; 0 = never */
    int n;
};

static int on_value(void *arg, struct bytes value)
{
    struct seen *s = arg;
    buf_bytes(&s->all, value);
    buf_char(&s->all, '|');
    return ++s->n == s->stop_after ? -E_AGAIN : 0;
}

/* Feed `text` in pieces of `step` bytes. Returns the result of feed or finish; rest is copied out. */
static int split(enum json_split_mode mode, size_t limit, struct bytes text, size_t step, struct seen *seen, struct buf *rest,
                 struct err *e)
{
    struct json_splitter *s = json_splitter_new(mode, limit, on_value, seen);
    int r = 0;
    for (size_t at = 0; at < text.n && r == 0; at += step) {
        size_t n = text.n - at < step ? text.n - at : step;
        char piece[4096];
        memcpy(piece, text.data + at, n); /* WHY  a value must not point into a chunk of before */
        r = json_splitter_feed(s, (struct bytes){piece, n}, e);
        memset(piece, '#', n);
    }
    struct bytes view = {0};
    if (r == 0)
        r = json_splitter_finish(s, &view, e);
    else
        assert_int_equal(json_splitter_feed(s, BYTES("{}"), NULL), r); /* an error stays */
    if (rest)
        buf_bytes(rest, view);
    json_splitter_free(s);
    return r;
}

static void check(enum json_split_mode mode, const char *text, const char *values, const char *rest)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct seen seen = {0};
        struct err e = {0};
        _cleanup_buf_ struct buf out = {0};
        buf_text(&seen.all, "");
        if (split(mode, 1000, bytes_of(text), step, &seen, &out, &e) < 0)
            fail_msg("step %zu of %s: %s", step, text, e.text);
        assert_string_equal(seen.all.data, values);
        if (rest)
            assert_string_equal(out.data, rest);
        buf_free(&seen.all);
    }
}

static void test_stream(void **state)
{
    check(JSON_SPLIT_STREAM, "", "", NULL);
    check(JSON_SPLIT_STREAM, " \n", "", NULL);
    check(JSON_SPLIT_STREAM, "{\"a\":\"}\\\"{\"}\n{\"type\":\"ADDED\",\"object\":{\"x\":[1,{}]}}\r\n[1]{}",
          "{\"a\":\"}\\\"{\"}|{\"type\":\"ADDED\",\"object\":{\"x\":[1,{}]}}|[1]|{}|", NULL);
    check(JSON_SPLIT_STREAM, "1 true \"a\\\\\" \"b\"null", "1|true|\"a\\\\\"|\"b\"|null|", NULL);
}

static void test_list(void **state)
{
    check(JSON_SPLIT_LIST, "{\"kind\":\"List\",\"metadata\":{\"items\":[1,\"]\"],\"resourceVersion\":\"5\"},\"items\":[{\"a\":[]}, {\"b\":\"]},\"} ,null],\"z\":\"items\"}\n",
          "{\"a\":[]}|{\"b\":\"]},\"}|null|", "{\"kind\":\"List\",\"metadata\":{\"items\":[1,\"]\"],\"resourceVersion\":\"5\"},\"items\":[],\"z\":\"items\"}");
    check(JSON_SPLIT_LIST, "{\"items\":[],\"metadata\":{}}", "", "{\"items\":[],\"metadata\":{}}");
    check(JSON_SPLIT_LIST, " { \"items\" : [ 1 , 2 ] } ", "1|2|", NULL);
    check(JSON_SPLIT_LIST, "{\"items\":null}", "", "{\"items\":null}");
    check(JSON_SPLIT_LIST, "{\"kind\":\"Status\",\"a\":\"items\",\"b\":[1]}", "", "{\"kind\":\"Status\",\"a\":\"items\",\"b\":[1]}");
    check(JSON_SPLIT_LIST, "{\"x\":\"\\\"items\\\":[\",\"items\":[{\"y\":\"\\\\\"}]}", "{\"y\":\"\\\\\"}|", NULL);
}

static void test_refused(void **state)
{
    static const struct {
        enum json_split_mode mode;
        const char *text;
    } bad[] = {{JSON_SPLIT_STREAM, "{\"a\":1"},      {JSON_SPLIT_STREAM, "\"abc"},          {JSON_SPLIT_STREAM, "{},{}"},
               {JSON_SPLIT_STREAM, "]"},             {JSON_SPLIT_LIST, ""},                 {JSON_SPLIT_LIST, "[1]"},
               {JSON_SPLIT_LIST, "\"items\""},       {JSON_SPLIT_LIST, "{\"items\":[1"},    {JSON_SPLIT_LIST, "{\"items\":[1,]}"},
               {JSON_SPLIT_LIST, "{\"items\":[,]}"}, {JSON_SPLIT_LIST, "{\"items\":[1 2]}"}, {JSON_SPLIT_LIST, "{\"items\":[]"},
               {JSON_SPLIT_LIST, "{} {}"},           {JSON_SPLIT_LIST, "{\"items\":[{]}"},  {JSON_SPLIT_LIST, "{\"items\":[}]}"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t step = 1; step < 20; step++) {
            struct seen seen = {0};
            struct err e = {0};
            if (split(bad[i].mode, 1000, bytes_of(bad[i].text), step, &seen, NULL, &e) != -E_PROTO)
                fail_msg("step %zu of %s", step, bad[i].text);
            assert_int_equal(e.code, E_PROTO);
            buf_free(&seen.all);
        }
}

static void test_limit_and_stop(void **state)
{
    for (size_t step = 1; step < 30; step++) {
        struct seen seen = {0};
        struct err e = {0};
        assert_int_equal(split(JSON_SPLIT_STREAM, 10, BYTES("{\"a\":1234}{\"a\":12345}"), step, &seen, NULL, &e), -E_LIMIT);
        assert_int_equal(seen.n, 1);
        buf_clear(&seen.all);
        seen = (struct seen){.all = seen.all, .stop_after = 2};
        assert_int_equal(split(JSON_SPLIT_STREAM, 10, BYTES("{}{}{}"), step, &seen, NULL, &e), -E_AGAIN);
        assert_int_equal(seen.n, 2);
        assert_int_equal(split(JSON_SPLIT_LIST, 10, BYTES("{\"longer\":\"than ten\"}"), step, &seen, NULL, &e), -E_LIMIT);
        buf_free(&seen.all);
    }
    json_splitter_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stream), cmocka_unit_test(test_list), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_limit_and_stop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
