#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "wire/yaml.h"

static void test_accepted(void **state)
{
    /* YAML, and all its documents as JSON */
    static const char *const rows[][2] = {
        {"", "[]"},
        {"# only\n---\n---\n...\n", "[]"},
        {"a: 1\n---\nb: 2\n", "[{\"a\":1},{\"b\":2}]"},
        {"null\n---\n~", "[]"},
        {"a: [yes, No, on, OFF, y, n, True, FALSE]", "[{\"a\":[true,false,true,false,true,false,true,false]}]"},
        {"a: [~, null, NULL, ,]", NULL},
        {"a: [~, null, NULL]\nb:", "[{\"a\":[null,null,null],\"b\":null}]"},
        {"[0x1f, 010, 0o10, 0b11, 1_000, +5, -3, 08, -0x10]", "[[31,8,8,3,1000,5,-3,8,-16]]"},
        {"[.5, 1., 1.10, 1e3, -2.5E-3, 1e21, 1.2e-9, 123456789012345678901234567890]",
         "[[0.5,1,1.1,1000,-0.0025,1e+21,1.2e-9,1.2345678901234568e+29]]"},
        {"[9223372036854775807, 18446744073709551615, -9223372036854775808]",
         "[[9223372036854775807,18446744073709551615,-9223372036854775808]]"},
        {"['1', \"yes\", '~', 2026-01-01, 1:30, 1.2.3, 10.0.0.1, 0x, 1__, _1, 500m, 1Gi, -, .]",
         "[[\"1\",\"yes\",\"~\",\"2026-01-01\",\"1:30\",\"1.2.3\",\"10.0.0.1\",\"0x\",1,\"_1\",\"500m\",\"1Gi\",\"-\",\".\"]]"},
        {"a: |\n  x\n  y\nb: >-\n  one\n  two\n", "[{\"a\":\"x\\ny\\n\",\"b\":\"one two\"}]"},
        {"base: &b {x: 1, w: [1, 2]}\nc: *b\nd: {<<: *b, x: 2}\ne: {<<: [{z: 1}, *b], x: 3}",
         "[{\"base\":{\"x\":1,\"w\":[1,2]},\"c\":{\"x\":1,\"w\":[1,2]},\"d\":{\"x\":2,\"w\":[1,2]},\"e\":{\"x\":3,\"z\":1,\"w\":[1,2]}}]"},
        {"'<<': 1", "[{\"<<\":1}]"},
        {"a: {<<: &m {p: 1}, q: 2}\nb: *m", "[{\"a\":{\"q\":2,\"p\":1},\"b\":{\"p\":1}}]"},
        {"1: a\ntrue: b\n1.5: c\n'2': d", "[{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"2\":\"d\"}]"},
        {"a: !!str 12\nb: !!int '12'\nc: !!binary aGVs\n  bG8=\nd: !custom x\ne: !!float 3\nf: !!bool yes",
         "[{\"a\":\"12\",\"b\":12,\"c\":\"hello\",\"d\":\"x\",\"e\":3,\"f\":true}]"},
        {" {\"a\":\t[1, \"\\ud83d\\ude00\", 1e3]}\n", "[{\"a\":[1,\"\xf0\x9f\x98\x80\",1e3]}]"},
        {"{a: b, c: [d]}", "[{\"a\":\"b\",\"c\":[\"d\"]}]"},
        {"a: &x 1\na: 2\nb: *x", "[{\"a\":2,\"b\":1}]"},
        {"a:\n- b\n- c:\n  - d\n", "[{\"a\":[\"b\",{\"c\":[\"d\"]}]}]"},
        {"just text", "[\"just text\"]"},
        {"%YAML 1.1\n---\na: b\n", "[{\"a\":\"b\"}]"},
        {"\xef\xbb\xbf"
         "a: b",
         "[{\"a\":\"b\"}]"},
        {"\xef\xbb\xbf# of an editor\na: b\nc: d\n", "[{\"a\":\"b\",\"c\":\"d\"}]"},
        {"\xef\xbb\xbf{\"a\":1}", "[{\"a\":1}]"},
        {"a: b\r\nc: d\r\n", "[{\"a\":\"b\",\"c\":\"d\"}]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        struct json *docs;
        struct err e = {0};
        int r = yaml_parse(a, bytes_of(rows[i][0]), &docs, NULL, &e);
        if (!rows[i][1]) {
            assert_int_equal(r, -E_INVALID);
            continue;
        }
        if (r < 0)
            fail_msg("%s: %s", rows[i][0], e.text);
        json_write(&out, docs);
        assert_string_equal(out.data, rows[i][1]);
    }
}

static void test_refused(void **state)
{
    static const char *const rows[][2] = {
        {"a: [", "line "},
        {"a: b: c", "line 1"},
        {"a: .inf", "line 1, column 4: .inf is no number"},
        {"a: *b", "no anchor"},
        {"a: &a [*a]", "no anchor"},
        {"? [x]\n: y", "a key must be text"},
        {"~: x", "not null"},
        {"a: \"\\0\"", "NUL"},
        {"a:\n\t- b", "line 2"},
        {"a: !!int x", "!!int"},
        {"a: !!int 1.5", "!!int"},
        {"a: !!binary '*'", "base64"},
        {"a: !!binary AAAA", "no JSON string"},
        {"{<<: 5}", "<< needs"},
        {"a: \xff", "byte"},
        {"a: b\n c: d", "line 2"},
        {"- a\nb", "line 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *docs;
        struct err e = {0};
        assert_int_equal(yaml_parse(a, bytes_of(rows[i][0]), &docs, NULL, &e), -E_INVALID);
        if (!strstr(e.text, rows[i][1]))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i][0], e.text, rows[i][1]);
    }
}

static void test_duplicates(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *docs;
    struct json_parse_info info;
    struct bytes text = BYTES("spec:\n  replicas: 1\n  containers:\n  - name: a\n  - name: b\n    name: c\n  replicas: 2\n---\n1: x\n'1': y\n");
    assert_int_equal(yaml_parse(a, text, &docs, &info, NULL), 0);
    assert_int_equal(info.duplicate_n, 3);
    assert_string_equal(info.duplicate[0], "spec.containers[1].name");
    assert_string_equal(info.duplicate[1], "spec.replicas");
    assert_string_equal(info.duplicate[2], "1");
    assert_int_equal(json_int64(json_path(json_item(docs, 0), "spec", "replicas", NULL), 0), 2);
    assert_int_equal(yaml_parse(a, BYTES("{\"a\":1,\"a\":2}"), &docs, &info, NULL), 0);
    assert_int_equal(info.duplicate_n, 1);
    _cleanup_buf_ struct buf large = {0};
    for (int i = 0; i < 4000; i++)
        buf_printf(&large, "k%d: %d\n", i % 2000, i);
    assert_int_equal(yaml_parse(a, buf_view(&large), &docs, &info, NULL), 0);
    assert_int_equal(info.duplicate_n, 2000);
    assert_int_equal(json_item(docs, 0)->n, 2000);
}

/* "line:column key_line:key_column" of the value. */
static void stands_at(const struct yaml_places *p, const struct json *v, uint32_t line, uint32_t column, uint32_t key_line,
                      uint32_t key_column)
{
    struct yaml_place at = yaml_place_of(p, v);
    assert_int_equal(at.line, line);
    assert_int_equal(at.column, column);
    assert_int_equal(at.key_line, key_line);
    assert_int_equal(at.key_column, key_column);
}

static void test_places(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct yaml_places *p = yaml_places_new();
    struct json *docs, elsewhere = {.type = JSON_NULL};
    static const char text[] = "a: 1\nb:\n  - &x {c: d}\n  - *x\n  - <<: *x\nb2: 2\na: 3\n";
    assert_int_equal(yaml_parse_places(a, bytes_of(text), &docs, NULL, p, NULL), 0);
    const struct json *root = docs->first, *list = json_get(root, "b");
    stands_at(p, root, 1, 1, 0, 0);
    stands_at(p, json_get(root, "a"), 7, 4, 7, 1); /* the last one wins */
    stands_at(p, list, 3, 3, 2, 1);
    stands_at(p, json_get(json_item(list, 0), "c"), 3, 12, 3, 9);
    stands_at(p, json_item(list, 1), 4, 5, 0, 0);
    stands_at(p, json_get(json_item(list, 2), "c"), 0, 0, 0, 0);
    stands_at(p, json_get(root, "b2"), 6, 5, 6, 1);
    stands_at(p, &elsewhere, 0, 0, 0, 0);
    assert_int_equal(yaml_parse_places(a, BYTES("{\"a\": [1,\n 2]}"), &docs, NULL, p, NULL), 0);
    stands_at(p, json_item(json_get(docs->first, "a"), 1), 2, 2, 0, 0);
    yaml_places_free(p);
    yaml_places_free(NULL);
}

static void check_limit(struct buf *text)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *docs;
    struct err e = {0};
    assert_int_equal(yaml_parse(a, buf_view(text), &docs, NULL, &e), -E_LIMIT);
    assert_int_equal(e.code, E_LIMIT);
    buf_clear(text);
}

static void test_limits(void **state)
{
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"); /* billion laughs */
    for (int i = 1; i < 10; i++)
        buf_printf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
                   i - 1, i - 1, i - 1, i - 1);
    check_limit(&text);
    buf_text(&text, "a: &a x\nb:\n");
    for (int i = 0; i <= LIMIT_YAML_ALIASES; i++)
        buf_text(&text, "- *a\n");
    check_limit(&text);
    buf_text(&text, "a: &a ");
    for (int i = 0; i < 100000; i++)
        buf_char(&text, 'x');
    buf_text(&text, "\nb: [*a");
    for (int i = 0; i < 40; i++)
        buf_text(&text, ", *a");
    buf_text(&text, "]\n");
    check_limit(&text);
    for (int i = 0; i <= LIMIT_YAML_DOCUMENTS; i++)
        buf_text(&text, "---\na\n");
    check_limit(&text);
    for (int i = 0; i <= LIMIT_JSON_DEPTH; i++)
        buf_text(&text, "- ");
    buf_text(&text, "x");
    check_limit(&text);
    buf_text(&text, "a: &a ");
    for (int i = 0; i < LIMIT_JSON_DEPTH - 1; i++)
        buf_char(&text, '[');
    for (int i = 0; i < LIMIT_JSON_DEPTH - 1; i++)
        buf_char(&text, ']');
    buf_text(&text, "\nb: [*a]\n");
    check_limit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused), cmocka_unit_test(test_duplicates),
                                       cmocka_unit_test(test_places), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
