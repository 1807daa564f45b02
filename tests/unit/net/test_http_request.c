/* Request lines: paths and queries, and what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/limits.h"
#include "net/http_request.h"

static int parse(struct http_request *r, struct arena *a, const char *url, struct err *e)
{
    *r = (struct http_request){.arena = a};
    return http_request_set_url(r, url, strlen(url), e);
}

static void test_path_and_query(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct http_request r;
    assert_int_equal(parse(&r, a, "/api/v1/pods?labelSelector=a%3Db%2Cc+d&watch&x=&watch=2&", NULL), 0);
    assert_string_equal(r.path, "/api/v1/pods");
    assert_string_equal(http_query(&r, "labelSelector"), "a=b,c d");
    assert_string_equal(http_query(&r, "watch"), "");
    assert_string_equal(http_query(&r, "x"), "");
    assert_null(http_query(&r, "y"));
    assert_int_equal(r.query_n, 4);
    assert_int_equal(parse(&r, a, "/a%2Fb+c%20d", NULL), 0);
    assert_string_equal(r.path, "/a/b+c d");
    assert_int_equal(r.query_n, 0);
    assert_int_equal(parse(&r, a, "/?", NULL), 0);
    assert_int_equal(r.query_n, 0);
}

static void test_malformed(void **state)
{
    static const char *const bad[] = {"",     "x",      "*",       "/%",       "/%4",   "/%4g",      "/%zz",
                                      "/%00", "/a?b=%", "/a?%0=1", "/a?b=%00", "/a%ff", "/a?b=\xc3", "/a?%c3%28=1"};
    _cleanup_arena_ struct arena *a = arena_new();
    struct http_request r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        assert_int_equal(parse(&r, a, bad[i], &e), -E_INVALID);
        assert_true(text_starts(e.text, "URL: "));
    }
}

static void test_header_values_become_text(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"curl/7.88", "curl/7.88"}, {"caf\xc3\xa9", "caf\xc3\xa9"}, {"a\xff \xc3(", "a? ?("}};
    char value[32];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        snprintf(value, sizeof value, "%s", pairs[i][0]);
        http_header_repair(value, strlen(value));
        assert_string_equal(value, pairs[i][1]);
    }
}

static void test_too_many_parameters(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf url = {0};
    struct http_request r;
    buf_text(&url, "/?a=0");
    for (int i = 1; i < LIMIT_QUERY_PARAMS; i++)
        buf_printf(&url, "&a=%d", i);
    assert_int_equal(parse(&r, a, url.data, NULL), 0);
    assert_int_equal(r.query_n, LIMIT_QUERY_PARAMS);
    buf_text(&url, "&b");
    assert_int_equal(parse(&r, a, url.data, NULL), -E_INVALID);
}

static void test_escape_round_trip(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf url = {0};
    struct http_request r;
    buf_text(&url, "/?q=");
    http_escape(&url, "a b+c&d=e%/\xc3\xa4~");
    assert_string_equal(url.data, "/?q=a%20b%2Bc%26d%3De%25%2F%C3%A4~");
    assert_int_equal(parse(&r, a, url.data, NULL), 0);
    assert_string_equal(http_query(&r, "q"), "a b+c&d=e%/\xc3\xa4~");
}

static void test_status_text(void **state)
{
    struct blob *b = http_status_blob(400, "BadRequest", "say \"x\"\n");
    assert_string_equal(b->data, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                                 "\"message\":\"say \\\"x\\\"\\u000a\",\"reason\":\"BadRequest\",\"code\":400}\n");
    blob_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_and_query),      cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_too_many_parameters), cmocka_unit_test(test_escape_round_trip),
        cmocka_unit_test(test_status_text),         cmocka_unit_test(test_header_values_become_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
