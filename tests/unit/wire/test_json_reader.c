#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/limits.h"
#include "base/random.h"
#include "wire/json_reader.h"
#include "wire/json_scan.h"

static struct json_reader reader(const char *text)
{
    struct json_reader r;
    json_reader_init(&r, bytes_of(text));
    return r;
}

static void test_walk(void **state)
{
    struct json_reader r = reader(" { \"a\" : [ 1 , -2.5, \"x\" , [ ] , { } ] , \"b\\u0041\":\"q\\n\\u20ac\", \"c\":true,\"d\":null,\"e\":{\"x\":[1,{\"}\":\"]\"}]} } ");
    _cleanup_buf_ struct buf scratch = {0};
    struct bytes key, text;
    int64_t number;
    bool truth;
    assert_int_equal(json_reader_peek(&r), JSON_OBJECT);
    assert_true(json_reader_object(&r));
    assert_true(json_reader_key(&r, &key) && bytes_is(key, "a"));
    assert_true(json_reader_array(&r));
    assert_true(json_reader_item(&r) && json_reader_int64(&r, &number) && number == 1);
    assert_true(json_reader_item(&r) && json_reader_number(&r, &text) && bytes_is(text, "-2.5"));
    assert_true(json_reader_item(&r) && json_reader_string(&r, &scratch, &text) && bytes_is(text, "x"));
    assert_true(json_reader_item(&r) && json_reader_array(&r) && !json_reader_item(&r));
    assert_true(json_reader_item(&r) && json_reader_object(&r) && !json_reader_key(&r, &key));
    assert_false(json_reader_item(&r));
    assert_true(json_reader_key(&r, &key) && bytes_is(key, "b\\u0041"));
    assert_true(json_reader_string(&r, &scratch, &text) && bytes_is(text, "q\n\xe2\x82\xac"));
    assert_true(json_reader_key(&r, &key) && json_reader_bool(&r, &truth) && truth);
    assert_true(json_reader_key(&r, &key) && json_reader_peek(&r) == JSON_NULL);
    assert_false(json_reader_string(&r, &scratch, &text));
    assert_true(json_reader_key(&r, &key));
    assert_true(bytes_is(json_reader_raw(&r), "{\"x\":[1,{\"}\":\"]\"}]}"));
    assert_false(json_reader_key(&r, &key));
    assert_false(r.failed);
    assert_int_equal(r.depth, 0);
}

static void test_other_type_is_skipped(void **state)
{
    struct json_reader r = reader("[{\"a\":1},[1],\"s\",5,true]");
    struct bytes text;
    int64_t number;
    bool truth;
    struct buf scratch = {0};
    assert_true(json_reader_array(&r));
    assert_true(json_reader_item(&r) && !json_reader_array(&r));
    assert_true(json_reader_item(&r) && !json_reader_object(&r));
    assert_true(json_reader_item(&r) && !json_reader_int64(&r, &number));
    assert_true(json_reader_item(&r) && !json_reader_string(&r, &scratch, &text));
    assert_true(json_reader_item(&r) && !json_reader_number(&r, &text));
    assert_false(json_reader_item(&r));
    assert_false(r.failed);
    r = reader("7");
    assert_false(json_reader_bool(&r, &truth));
    assert_false(r.failed);
}

/* What every member of a document costs when all of it is taken. */
static void take_all(struct json_reader *r, struct buf *scratch, int depth)
{
    struct bytes view;
    bool truth;
    switch (json_reader_peek(r)) {
    case JSON_OBJECT:
        if (json_reader_object(r))
            while (json_reader_key(r, &view))
                take_all(r, scratch, depth + 1);
        break;
    case JSON_ARRAY:
        if (json_reader_array(r))
            while (json_reader_item(r))
                take_all(r, scratch, depth + 1);
        break;
    case JSON_STRING:
        json_reader_string(r, scratch, &view);
        break;
    case JSON_NUMBER:
        json_reader_number(r, &view);
        break;
    case JSON_BOOL:
        json_reader_bool(r, &truth);
        break;
    case JSON_NULL:
        if (!bytes_is(json_reader_raw(r), "null"))
            r->failed = true;
        break;
    }
}

static void test_malformed_fails_and_stays(void **state)
{
    static const char *const bad[] = {"",         "{",          "[",         "[1",    "[1,",   "[1,]",  "{\"a\"",  "{\"a\":",
                                      "{\"a\":1", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "[1 2]", "\"abc", "\"\\x\"", "\"\\ud800\"",
                                      "\"\xff\"", "\"a\nb\"",   "tru",       "[01]",  "[1.]",  "{,}",   "[,1]",    "{\"a\":}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        _cleanup_buf_ struct buf scratch = {0};
        struct json_reader r = reader(bad[i]);
        struct bytes key;
        take_all(&r, &scratch, 0);
        if (!r.failed)
            fail_msg("accepted: %s", bad[i]);
        assert_false(json_reader_key(&r, &key) || json_reader_item(&r) || json_reader_object(&r));
        assert_int_equal(json_reader_raw(&r).n, 0);
    }
}

/* Keys of every length with everything that may stand in and around them: the reader takes what the tree parser takes. */
static void test_keys_as_the_parser(void **state)
{
    static const char *const odd[] = {"", "\\n", "\\u0041", "\xc3\xa9", "\xff", "\x01", "\\"};
    static const char *const before[] = {"{", "{ ", "{\"a\":1,", "{\"a\":1 ,", "{\"a\":1, ", "{\"a\":1", "{\"a\":1,,", "{,"};
    static const char *const behind[] = {"\":1}", "\" :1}", "\": 1 }", "\"1}", "\"", "", "\":\"0123456789abcdef\"}", "\":1,}"};
    for (size_t n = 0; n < 40; n++)
        for (size_t i = 0; i < 7 * 8 * 8; i++) {
            _cleanup_arena_ struct arena *a = arena_new();
            _cleanup_buf_ struct buf text = {0}, scratch = {0};
            buf_text(&text, before[i % 8]);
            buf_char(&text, '"');
            for (size_t k = 0; k < n; k++)
                buf_char(&text, (char)('a' + k % 26));
            buf_text(&text, odd[i / 64]);
            buf_text(&text, behind[i / 8 % 8]);
            char *exact = mem_alloc(text.n); /* no byte more: who reads behind it is seen by the sanitizer */
            memcpy(exact, text.data, text.n);
            struct json_reader r;
            json_reader_init(&r, (struct bytes){exact, text.n});
            take_all(&r, &scratch, 0);
            const struct json *tree = json_parse(a, buf_view(&text), NULL, NULL);
            if (r.failed != !tree)
                fail_msg("%s: the parser %s it", text.data, tree ? "takes" : "refuses");
            struct bytes key = {0};
            json_reader_init(&r, (struct bytes){exact, text.n});
            for (bool more = json_reader_object(&r); tree && more && json_reader_key(&r, &key); json_reader_skip(&r))
                ;
            if (tree && !strstr(odd[i / 64], "\\"))
                assert_true(bytes_equal(key, (struct bytes){tree->last->key, tree->last->key_n}));
            free(exact);
        }
}

static void test_depth(void **state)
{
    char text[2 * LIMIT_JSON_DEPTH + 8] = {0};
    _cleanup_buf_ struct buf scratch = {0};
    memset(text, '[', LIMIT_JSON_DEPTH);
    memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
    struct json_reader r = reader(text);
    take_all(&r, &scratch, 0);
    assert_false(r.failed);
    memset(text, '[', LIMIT_JSON_DEPTH + 1);
    r = reader(text);
    take_all(&r, &scratch, 0);
    assert_true(r.failed);
}

/* The block body and the scalar body agree on any bytes, cut anywhere. */
static void test_scan_bodies_agree(void **state)
{
    static const char alphabet[] = "{}[]\"\\a ,:\xc3{\"\"}";
    struct random random = {11};
    char text[700];
    for (int round = 0; round < 20000; round++) {
        size_t n = random_below(&random, sizeof text), cut = n ? random_below(&random, n + 1) : 0;
        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[random_below(&random, random_permille(&random, 300) ? sizeof alphabet - 1 : 1)];
        uint64_t depth = random_below(&random, 40) + 1;
        struct json_scan fast = {.depth = depth}, slow = fast;
        const char *by_blocks = json_scan_close(&fast, text, text + cut), *by_bytes = json_scan_close_scalar(&slow, text, text + cut);
        assert_ptr_equal(by_blocks, by_bytes);
        if (by_blocks)
            continue;
        assert_true(fast.depth == slow.depth && fast.escaped == slow.escaped && fast.in_string == slow.in_string);
        assert_ptr_equal(json_scan_close(&fast, text + cut, text + n), json_scan_close_scalar(&slow, text + cut, text + n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_walk), cmocka_unit_test(test_other_type_is_skipped),
                                       cmocka_unit_test(test_malformed_fails_and_stays), cmocka_unit_test(test_keys_as_the_parser),
                                       cmocka_unit_test(test_depth), cmocka_unit_test(test_scan_bodies_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
