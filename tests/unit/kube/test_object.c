/* Parts that all objects share: conditions, differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "kube/object.h"
#include "kube/object_meta.h"
#include "wire/patch.h"

static void test_empty(void **state)
{
    (void)state;
    assert_string_equal(object_meta(NULL, "name"), "");
    assert_string_equal(object_label(parse("{}"), "x"), "");
    assert_string_equal(object_controller(parse("{\"metadata\":{\"ownerReferences\":[{\"name\":\"x\"}]}}"), "name"),
                        "");
    assert_null(object_condition(parse("[]"), "Ready"));
    assert_false(object_condition_true(NULL, "Ready"));
}

static void test_condition_times(void **state)
{
    (void)state;
    struct json *list = json_new(a, JSON_ARRAY);
    assert_true(object_condition_set(a, list, "Ready", true, "R", "m", 1000, 3));
    assert_false(object_condition_set(a, list, "Ready", true, "R", "m", 9000, 3));
    assert_true(object_condition_set(a, list, "Ready", true, "R", "other", 9000, 4));
    assert_string_equal(json_get_text(json_item(list, 0), "lastTransitionTime", ""),
                        "1970-01-01T00:00:01Z"); /* status stands still */
    assert_int_equal(json_get_int64(json_item(list, 0), "observedGeneration", 0), 4);
    assert_true(object_condition_set(a, list, "Ready", false, "R", "other", 9000, 4));
    assert_string_equal(json_get_text(json_item(list, 0), "lastTransitionTime", ""), "1970-01-01T00:00:09Z");
    assert_int_equal(list->n, 1);
}

static void check_diff(const char *from_text, const char *to_text)
{
    struct json *from = parse(from_text), *to = parse(to_text);
    struct json *diff = object_diff(a, from, to);
    if (diff)
        patch_merge(a, &from, diff);
    assert_true(json_equal(from, to));
}

static void test_diff(void **state)
{
    (void)state;
    assert_null(object_diff(a, parse("{\"a\":{\"b\":[1]}}"), parse("{\"a\":{\"b\":[1]}}")));
    check_diff("{}", "{\"a\":1}");
    check_diff("{\"a\":1,\"b\":2}", "{\"b\":2}");
    check_diff("{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":3,\"z\":{}}}");
    check_diff("{\"a\":{\"x\":1}}", "{\"a\":[1,2]}");
    check_diff("{\"a\":[1,2]}", "{\"a\":[2]}");
    check_diff("[\"x\",{\"y\":1}]", "{\"a\":1}"); /* a status as others wrote it */
    check_diff("\"x\"", "{\"a\":{\"b\":1}}");
}

static void test_finalizer(void **state)
{
    (void)state;
    struct json *object = parse("{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":[\"a\"]}}");
    assert_null(object_finalizer_patch(a, object, "b", false));
    struct json *patch = object_finalizer_patch(a, object, "b", true);
    assert_true(json_equal(patch, parse("{\"metadata\":{\"resourceVersion\":\"7\",\"finalizers\":[\"a\",\"b\"]}}")));
    patch_merge(a, &object, patch);
    assert_true(object_has_finalizer(object, "b"));
    assert_null(object_finalizer_patch(a, object, "b", true));
    patch_merge(a, &object, object_finalizer_patch(a, object, "a", false));
    assert_true(json_equal(json_path(object, "metadata", "finalizers", NULL), parse("[\"b\"]")));
    patch_merge(a, &object, object_finalizer_patch(a, object, "b", false));
    assert_null(json_path(object, "metadata", "finalizers", NULL));
}

/* Servers take annotations with a NUL; a backslash and what looks like one is a text. */
static void test_without_nul(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""}, {"{\"a\":\"u0000\"}", NULL}, {"{\"a\":\"\\u0000\"}", "{\"a\":\"\\ufffd\"}"}, {"[\"\\\\u0000\"]", NULL},
        {"[\"\\\\\\", NULL}, {"\\u000", NULL}, {"\\", NULL}, {"\\n\\u0000", "\\n\\ufffd"},
        {"[\"\\\\\\u0000\\u0000x\\\\u0000\",\"\\u0000\"]", "[\"\\\\\\ufffd\\ufffdx\\\\u0000\",\"\\ufffd\"]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        _cleanup_buf_ struct buf room = {0};
        struct bytes text = object_text_without_nul(bytes_of(cases[i][0]), &room);
        assert_int_equal(text.n, strlen(cases[i][0]));
        assert_memory_equal(text.data, cases[i][1] ? cases[i][1] : cases[i][0], text.n);
    }
}

/* A word of labels, annotations and owners is in it, wherever they stand; what is not looked for is left out where it stands last. */
static void test_head(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""}, {"null", "null"}, {"{\"spec\":{}}", "{\"spec\":{}}"}, {"{\"metadata\":7,\"a\":1}", "{\"metadata\":7,\"a\":1}"},
        {"{\"metadata\":{\"a\":1", "{\"metadata\":{\"a\":1"}, {"{\"metadata\":{},\"spec\":{}}", "{\"metadata\":{}"},
        {"{\"kind\":\"K\",\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{}}", "{\"kind\":\"K\",\"metadata\":{\"labels\":{\"a\":\"b\"}}"},
        {"{\"spec\":{},\"metadata\":{\"name\":\"n\"} }", "{\"spec\":{},\"metadata\":{\"name\":\"n\"}"},
        {"{\"metadata\":{\"managedFields\":[],\"labels\":{}},\"a\":1}", "{\"metadata\":{\"managedFields\":[],\"labels\":{}}"},
        {"{\"metadata\":{\"labels\":{},\"managedFields\":[{}]},\"spec\":{}}", "{\"metadata\":{\"labels\":{},\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes head = object_text_head(bytes_of(cases[i][0]), NULL);
        assert_int_equal(head.n, strlen(cases[i][1]));
        assert_memory_equal(head.data, cases[i][1], head.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_empty), cmocka_unit_test(test_condition_times),
                                       cmocka_unit_test(test_diff), cmocka_unit_test(test_finalizer),
                                       cmocka_unit_test(test_without_nul), cmocka_unit_test(test_head)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
