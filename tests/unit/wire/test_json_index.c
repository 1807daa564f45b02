/* Members found by name: in order, out of order, in objects too large to walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "wire/json_index.h"

static void test_nothing(void **state)
{
    struct arena *a = arena_new();
    struct json *empty = json_new(a, JSON_OBJECT), *text = json_new_text(a, "x");
    const struct json *no_objects[] = {NULL, empty, text};
    for (size_t i = 0; i < 3; i++) {
        _cleanup_json_index_ struct json_index x = json_index_of(no_objects[i]);
        assert_null(json_index_find(&x, BYTES("a")));
    }
    arena_free(a);
}

static void test_every_member_in_any_order(void **state)
{
    struct arena *a = arena_new();
    for (int n = 1; n <= 200; n += 33) {
        struct json *object = json_new(a, JSON_OBJECT);
        for (int i = 0; i < n; i++)
            json_set_int64(a, object, arena_printf(a, "m%d", i), i);
        _cleanup_json_index_ struct json_index up = json_index_of(object), down = json_index_of(object);
        for (int i = 0; i < n; i++) {
            assert_int_equal(json_int64(json_index_find(&up, bytes_of(arena_printf(a, "m%d", i))), -1), i);
            assert_int_equal(json_int64(json_index_find(&down, bytes_of(arena_printf(a, "m%d", n - 1 - i))), -1), n - 1 - i);
        }
        assert_null(json_index_find(&up, BYTES("m")));
        assert_null(json_index_find(&down, BYTES("m200")));
    }
    arena_free(a);
}

static void test_copy_shares_texts(void **state)
{
    struct arena *a = arena_new();
    struct json *v = json_parse(a, BYTES("{\"a\":[1,\"t\",{\"b\":null}],\"c\":true}"), NULL, NULL), *copy = json_copy(a, v);
    assert_true(json_equal(v, copy));
    assert_ptr_equal(json_item(json_get(v, "a"), 1)->text, json_item(json_get(copy, "a"), 1)->text);
    json_set_text(a, copy, "c", "changed");
    json_append(json_get(copy, "a"), json_new_text(a, "more"));
    assert_true(json_get_bool(v, "c", false));
    assert_int_equal(json_get(v, "a")->n, 3);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_every_member_in_any_order),
        cmocka_unit_test(test_copy_shares_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
