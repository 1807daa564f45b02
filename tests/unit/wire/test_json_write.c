#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "wire/yaml.h"

/* Of every length around those at which the ways change, with each byte that may stand in a text at each place. */
static void test_strings_of_every_length(void **state)
{
    static const char *const odd[] = {"\"", "\\", "\n", "\x01", "\x1f", " ", "!", "#", "[", "]", "\x7f", "\xc3\xa9", "\xdc\xa2"};
    for (size_t n = 0; n <= 40; n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
                _cleanup_arena_ struct arena *a = arena_new();
                _cleanup_buf_ struct buf text = {0}, out = {0};
                for (size_t k = 0; k < n; k++)
                    k == at ? buf_text(&text, odd[i]) : buf_char(&text, 'a');
                json_write_string(&out, buf_view(&text));
                size_t escapes_n = at < n && (i < 2 || i == 2) ? 1 : at < n && i < 5 ? 5 : 0;
                assert_int_equal(out.n, text.n + 2 + escapes_n);
                assert_string_equal(json_text(json_parse(a, buf_view(&out), NULL, NULL), NULL), text.data ? text.data : "");
            }
}

static void test_pretty(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    json_write_pretty(&out, json_parse(a, BYTES("{\"a\":[1,{}],\"b\":{\"c\":\"d\"},\"e\":[]}"), NULL, NULL));
    assert_string_equal(out.data, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": \"d\"\n  },\n  \"e\": []\n}");
}

static void test_yaml_shape(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    struct bytes text = BYTES("{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"-v\",\"x\"],\"env\":[]},{\"name\":\"b\",\"script\":"
                              "\"set -e\\n\\nrun\\n\"}],\"hostNetwork\":true,\"priority\":5,\"none\":null,\"o\":{}},\"deep\":[[1,[2]],[{\"x\":1}]]}");
    yaml_write(&out, json_parse(a, text, NULL, NULL));
    assert_string_equal(out.data, "kind: Pod\n"
                                  "spec:\n"
                                  "  containers:\n"
                                  "  - name: a\n"
                                  "    args:\n"
                                  "    - -v\n"
                                  "    - x\n"
                                  "    env: []\n"
                                  "  - name: b\n"
                                  "    script: |\n"
                                  "      set -e\n"
                                  "\n"
                                  "      run\n"
                                  "  hostNetwork: true\n"
                                  "  priority: 5\n"
                                  "  none: null\n"
                                  "  o: {}\n"
                                  "deep:\n"
                                  "- - 1\n"
                                  "  - - 2\n"
                                  "- - x: 1\n");
}

/* Strings, and how they must be written to read back as strings. */
static void test_yaml_strings(void **state)
{
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"two words", "two words"},
        {"10.0.0.1", "10.0.0.1"},
        {"a:b", "a:b"},
        {"http://x/y", "http://x/y"},
        {"-v", "-v"},
        {"v1.2", "v1.2"},
        {"", "\"\""},
        {"true", "\"true\""},
        {"yes", "\"yes\""},
        {"y", "\"y\""},
        {"Off", "\"Off\""},
        {"null", "\"null\""},
        {"~", "\"~\""},
        {"1", "\"1\""},
        {"1e3", "\"1e3\""},
        {"0x1f", "\"0x1f\""},
        {"1_000", "\"1_000\""},
        {".5", "\".5\""},
        {"010", "\"010\""},
        {"1:30", "\"1:30\""},
        {".inf", "\".inf\""},
        {"2026-01-01", "\"2026-01-01\""},
        {"2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""},
        {"<<", "\"<<\""},
        {"=", "\"=\""},
        {"a: b", "'a: b'"},
        {"a:", "'a:'"},
        {"a #b", "'a #b'"},
        {"*x", "'*x'"},
        {"it's: x", "'it''s: x'"},
        {" lead", "' lead'"},
        {"trail ", "'trail '"},
        {"- x", "'- x'"},
        {"-", "'-'"},
        {"---", "'---'"},
        {"{}", "'{}'"},
        {"%a", "'%a'"},
        {"@a", "'@a'"},
        {"a\tb", "\"a\\tb\""},
        {"\xc2\x85", "\"\\N\""},
        {"\xe2\x80\xa8x", "\"\\Lx\""},
        {"\x7f", "\"\\x7F\""},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x98\x80", "\"\\U0001F600\""},
        {"a\nb", "|-\n  a\n  b"},
        {"a\n", "|\n  a"},
        {"a\n\n", "|+\n  a\n"},
        {" a\nb", "\" a\\nb\""},
        {"\n", "\"\\n\""},
        {"a\r\nb", "\"a\\r\\nb\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        struct json *v = json_new(a, JSON_OBJECT), *docs = NULL;
        json_set_text(a, v, "k", rows[i][0]);
        json_set_text(a, v, "l", "end");
        yaml_write(&out, v);
        assert_memory_equal(out.data, "k: ", 3);
        if (strncmp(out.data + 3, rows[i][1], strlen(rows[i][1])) != 0 || out.data[3 + strlen(rows[i][1])] != '\n')
            fail_msg("%s: %s", rows[i][0], out.data);
        struct err e = {0};
        if (yaml_parse(a, buf_view(&out), &docs, NULL, &e) < 0 || !json_equal(json_item(docs, 0), v))
            fail_msg("does not read back: %s %s", out.data, e.text);
        /* and as a key */
        v = json_new(a, JSON_OBJECT);
        json_set_text(a, v, rows[i][0], "x");
        buf_clear(&out);
        yaml_write(&out, v);
        assert_int_equal(yaml_parse(a, buf_view(&out), &docs, NULL, NULL), 0);
        assert_true(json_equal(json_item(docs, 0), v));
    }
}

/* Strings of each length with a character to be escaped at each place: what is written is read again as it was. */
static void test_strings_come_back(void **state)
{
    static const char special[] = "\"\\\n\x01\x1f\xc3";
    for (size_t n = 0; n <= 40; n++)
        for (size_t at = 0; at <= n; at++)
            for (size_t c = 0; c < sizeof special - 1; c++) {
                _cleanup_arena_ struct arena *a = arena_new();
                _cleanup_buf_ struct buf out = {0};
                char text[48];
                memset(text, 'a', sizeof text);
                if (at < n)
                    text[at] = special[c];
                if (at < n && special[c] == '\xc3' && at + 1 < n)
                    text[at + 1] = '\xa9';
                else if (at < n && special[c] == '\xc3')
                    text[at] = 'b';
                struct json *list = json_new(a, JSON_ARRAY);
                json_append(list, json_new_text_n(a, (struct bytes){text, n}));
                json_append(list, json_new_text(a, "\""));
                json_write(&out, list);
                struct json *again = json_parse(a, buf_view(&out), NULL, NULL);
                assert_non_null(again);
                assert_true(json_equal(list, again));
            }
}

/* Texts of the outside that are no UTF-8 end nothing. */
static void test_yaml_damaged(void **state)
{
    static const char *const rows[][2] = {{"\xff", "\xef\xbf\xbd\n"}, {"a\xc3", "a\xef\xbf\xbd\n"}, {"\xc3\xbc\xe2\x82z", "\xc3\xbc\xef\xbf\xbd\xef\xbf\xbdz\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        yaml_write(&out, json_new_text(a, rows[i][0]));
        assert_string_equal(out.data, rows[i][1]);
    }
}

/* Long texts stay on their line, as with kubectl. */
static void test_yaml_long(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    char words[600];
    for (size_t i = 0; i < sizeof words - 1; i++)
        words[i] = i % 6 == 5 ? ' ' : 'x';
    words[sizeof words - 2] = 'x';
    words[sizeof words - 1] = '\0';
    yaml_write(&out, json_new_text(a, words));
    assert_int_equal(out.n, strlen(words) + 1);
    assert_memory_equal(out.data, words, strlen(words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strings_of_every_length), cmocka_unit_test(test_pretty),
                                       cmocka_unit_test(test_yaml_shape),
                                       cmocka_unit_test(test_yaml_strings), cmocka_unit_test(test_strings_come_back),
                                       cmocka_unit_test(test_yaml_damaged), cmocka_unit_test(test_yaml_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
