#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "wire/json.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(a, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s: %s", text, e.text);
    return v;
}

static void test_look(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = parse(a, "{\"a\":{\"b\":[1,\"x\",true,null,1.5,99999999999999999999]},\"t\":\"text\"}");
    struct json *b = json_path(v, "a", "b", NULL);
    assert_int_equal(b->n, 6);
    assert_int_equal(json_int64(json_item(b, 0), 7), 1);
    assert_int_equal(json_int64(json_item(b, 1), 7), 7);
    assert_int_equal(json_int64(json_item(b, 4), 7), 7);
    assert_int_equal(json_int64(json_item(b, 5), 7), 7);
    assert_true(json_bool(json_item(b, 2), false));
    assert_true(json_is(json_item(b, 3), JSON_NULL));
    assert_null(json_item(b, 6));
    assert_null(json_path(v, "a", "zz", "b", NULL));
    const struct json *deep = json_parse(a, BYTES("{\"1\":{\"2\":{\"3\":{\"4\":{\"5\":{\"6\":{\"7\":{\"8\":9}}}}}}}}"), NULL, NULL);
    assert_int_equal(json_int64(json_path(deep, "1", "2", "3", "4", "5", "6", "7", "8", NULL), 0), 9);
    assert_int_equal(json_path(deep, "1", "2", "3", "4", "5", NULL)->n, 1);
    assert_null(json_get(NULL, "a"));
    assert_null(json_get(b, "a"));
    assert_string_equal(json_get_text(v, "t", ""), "text");
    assert_string_equal(json_get_text(v, "a", "none"), "none");
    assert_false(json_is(NULL, JSON_NULL));
    assert_int_equal(json_bytes(NULL).n, 0);
    size_t n = 0;
    JSON_EACH (item, b)
        n += item != NULL;
    JSON_EACH (item, json_get(v, "t"))
        n += 100;
    JSON_EACH (item, NULL)
        n += 100;
    assert_int_equal(n, 6);
}

static void check_shape(const struct json *v)
{
    uint32_t n = 0;
    const struct json *last = NULL;
    JSON_EACH (child, v) {
        n++;
        last = child;
    }
    assert_int_equal(n, v->n);
    assert_ptr_equal(last, v->last);
}

static void check_text(const struct json *v, const char *expected)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    assert_string_equal(out.data, expected);
    if (v->type >= JSON_ARRAY)
        check_shape(v);
}

static void test_change_object(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = json_new(a, JSON_OBJECT);
    assert_false(json_remove(v, "a"));
    json_set_text(a, v, "a", "1");
    json_set_int64(a, v, "b", INT64_MIN);
    json_set_bool(a, v, "c", true);
    json_set_int64(a, v, "a", 5);
    check_text(v, "{\"a\":5,\"b\":-9223372036854775808,\"c\":true}");
    json_set(a, v, "c", json_new(a, JSON_NULL));
    json_set(a, v, "c", json_get(v, "c"));
    check_text(v, "{\"a\":5,\"b\":-9223372036854775808,\"c\":null}");
    assert_true(json_remove(v, "c"));
    assert_true(json_remove(v, "a"));
    check_text(v, "{\"b\":-9223372036854775808}");
    json_set_text(a, json_ensure_object(a, v, "b"), "x", "y");
    assert_ptr_equal(json_ensure_object(a, v, "b"), json_get(v, "b"));
    json_append(json_ensure_array(a, v, "l"), json_new_bool(a, false));
    check_text(v, "{\"b\":{\"x\":\"y\"},\"l\":[false]}");
}

static void test_change_array(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = json_new(a, JSON_ARRAY);
    json_insert(v, 5, json_new_int64(a, 2));
    json_insert(v, 0, json_new_int64(a, 0));
    json_insert(v, 1, json_new_int64(a, 1));
    json_insert(v, 3, json_new_text_n(a, BYTES("e")));
    check_text(v, "[0,1,2,\"e\"]");
    assert_true(json_remove_item(v, json_item(v, 3)));
    assert_true(json_remove_item(v, json_item(v, 0)));
    struct json other = {0};
    assert_false(json_remove_item(v, &other));
    assert_false(json_remove_item(v, NULL));
    check_text(v, "[1,2]");
}

/* Others write arrays, texts or nothing where objects are expected. */
static void test_what_is_no_object(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct json *v = parse(a, "{\"labels\":[\"a\",{\"b\":1}],\"spec\":\"text\",\"status\":7,\"none\":null}");
    JSON_EACH (item, json_get(v, "labels")) {
        assert_string_equal(item->key, "");
        assert_null(json_get(v, item->key));
    }
    assert_string_equal(v->key, "");
    assert_string_equal(json_clone(a, json_get(v, "labels"))->key, "");
    assert_string_equal(json_copy(a, json_get(v, "labels"))->first->key, "");
    json_set_text(a, json_get(v, "labels"), "k", "v");
    json_set_int64(a, json_get(v, "spec"), "n", 1);
    json_set(a, json_get(v, "status"), "c", json_clone(a, NULL));
    assert_true(json_is(json_ensure_object(a, json_get(v, "none"), "o"), JSON_OBJECT));
    struct buf out = {0};
    json_write(&out, v);
    char *text = buf_take(&out, NULL);
    assert_string_equal(text, "{\"labels\":{\"k\":\"v\"},\"spec\":{\"n\":1},\"status\":{\"c\":null},\"none\":{\"o\":{}}}");
    free(text);
    assert_true(json_is(json_copy(a, NULL), JSON_NULL));
    buf_clear(&out);
    json_write(&out, NULL);
    assert_string_equal(out.data, "null");
    buf_free(&out);
    arena_free(a);
}

static void test_clone_and_equal(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new(), *b = arena_new();
    const char *text = "{\"a\":[1,{\"b\":\"x\"},[]],\"n\":null,\"t\":true,\"f\":1.50}";
    struct json *v = parse(a, text), *copy = json_clone(b, v);
    assert_true(json_equal(v, copy));
    arena_free_p(&a);
    a = arena_new();
    check_text(copy, text);
    assert_true(json_equal(parse(a, "{\"a\":1,\"b\":[2]}"), parse(a, "{\"b\":[2],\"a\":1}")));
    assert_true(json_equal(parse(a, "[-0,1.0]"), parse(a, "[0,1.0]")));
    static const char *const different[][2] = {{"1", "2"}, {"1", "\"1\""}, {"[1]", "[1,2]"}, {"{\"a\":1}", "{\"b\":1}"}, {"1.0", "1.00"},
                                               {"{\"a\":1}", "{\"a\":1,\"b\":2}"}, {"true", "false"}, {"[]", "{}"}, {"\"a\"", "\"b\""}};
    for (size_t i = 0; i < sizeof different / sizeof *different; i++)
        assert_false(json_equal(parse(a, different[i][0]), parse(a, different[i][1])));
    assert_false(json_equal(NULL, v));
    assert_true(json_equal(NULL, NULL));
}

static void test_equal_large_reversed(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *x = json_new(a, JSON_OBJECT), *y = json_new(a, JSON_OBJECT);
    enum { MEMBERS = 3000 };
    for (int i = 0; i < MEMBERS; i++) {
        char up[16], down[16];
        snprintf(up, sizeof up, "k%d", i);
        snprintf(down, sizeof down, "k%d", MEMBERS - 1 - i);
        json_set_int64(a, x, up, i);
        json_set_int64(a, y, down, MEMBERS - 1 - i);
    }
    assert_true(json_equal(x, y));
    json_set_int64(a, y, "k17", 0);
    assert_false(json_equal(x, y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_look), cmocka_unit_test(test_change_object),
                                       cmocka_unit_test(test_change_array), cmocka_unit_test(test_what_is_no_object),
                                       cmocka_unit_test(test_clone_and_equal),
                                       cmocka_unit_test(test_equal_large_reversed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
