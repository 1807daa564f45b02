/* test_shape.c - node shapes: parsing, errors, the Node object */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "sim/node/node_object.h"

static void named_shapes_parse(void **state)
{
    (void)state;
    static const char *const names[] = {"a100-40gb", "a100-80gb", "h100-80gb", "h200-141gb", "t4", "l4", "cpu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct node_shape s;
        int32_t n = 0;
        assert_int_equal(node_shape_parse(names[i], &n, &s, NULL), 0);
        assert_int_equal(n, 1);
        assert_string_equal(s.name, names[i]);
        assert_non_null(strstr(node_shape_names(), names[i]));
    }
}

static void written_out_shape(void **state)
{
    (void)state;
    struct node_shape s;
    int32_t n = 0;
    assert_int_equal(
        node_shape_parse("12:gpus=8,product=NVIDIA-B200,cpu=192,memory=2Ti,label.rack=r1,taint.nvidia.com/gpu=present",
                         &n, &s, NULL),
        0);
    assert_int_equal(n, 12);
    assert_int_equal(s.gpus_n, 8);
    assert_int_equal(s.cpu_n, 192);
    assert_int_equal(s.memory_bytes, 2LL << 40);
    assert_string_equal(s.product, "NVIDIA-B200");
    assert_string_equal(s.labels[0].key, "rack");
    assert_string_equal(s.taints[0].key, "nvidia.com/gpu");
}

static void wrong_shapes_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"", "empty"},
        {"0:t4", "1 to 100000"},
        {"x:t4", "1 to 100000"},
        {"b300", "no node shape 'b300'"},
        {"t4,gpus=65", "gpus"},
        {"t4,memory=lots", "memory"},
        {"t4,mig=8g.1gb", "mig=8g"},
        {"t4,colour=red", "colour=red"},
        {"t4,t4", "t4"},
        {"2:a100-40gb,2:t4", "give --nodes again for it, as --nodes 2:t4"},
        {"gpus=64,mps=48", "devices"},
        {"t4,mig=1g.5gb!", "mig=1g"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct node_shape s;
        int32_t n;
        struct err e = {0};
        assert_true(node_shape_parse(wrong[i].text, &n, &s, &e) < 0);
        if (!strstr(e.text, wrong[i].part))
            fail_msg("'%s' gave: %s", wrong[i].text, e.text);
    }
}

static struct json *object_of(struct arena *a, const char *text)
{
    struct node_shape s;
    int32_t n;
    assert_int_equal(node_shape_parse(text, &n, &s, NULL), 0);
    struct node_kind kind;
    node_kind_init(&kind, &s);
    return node_object_make(a, &kind, 0, 0, 0, false);
}

static const char *allocatable(const struct json *node, const char *resource)
{
    return json_text(json_path(node, "status", "allocatable", resource, NULL), "");
}

static void nodes_offer_what_their_shape_says(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *whole = object_of(a, "a100-40gb");
    assert_string_equal(allocatable(whole, "nvidia.com/gpu"), "8");
    assert_string_equal(json_text(json_path(whole, "metadata", "labels", "nvidia.com/gpu.product", NULL), ""),
                        "NVIDIA-A100-SXM4-40GB");
    struct json *mig = object_of(a, "a100-40gb,gpus=2,mig=1g.5gb");
    assert_string_equal(allocatable(mig, "nvidia.com/mig-1g.5gb"), "14");
    assert_string_equal(allocatable(mig, "nvidia.com/gpu"), "");
    struct json *mps = object_of(a, "t4,gpus=2,mps=10");
    assert_string_equal(allocatable(mps, "keti.com/mpsgpu"), "20");
    struct json *shared = object_of(a, "t4,gpus=2,replicas=4");
    assert_string_equal(allocatable(shared, "nvidia.com/gpu"), "8");
    assert_string_equal(json_text(json_path(shared, "metadata", "labels", "nvidia.com/gpu.product", NULL), ""),
                        "Tesla-T4-SHARED");
}

static void devices_are_listed_once_each(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *node = object_of(a, "a100-40gb,gpus=2,mig=3g.20gb");
    struct bytes text = json_bytes(json_path(node, "metadata", "annotations", "capstan.dev/devices", NULL));
    struct json *list = json_parse(a, text, NULL, NULL);
    assert_int_equal(list->n, 4);
    JSON_EACH (x, list)
        JSON_EACH (y, list)
            if (x != y)
                assert_string_not_equal(json_get_text(x, "id", ""), json_get_text(y, "id", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_shapes_parse),
        cmocka_unit_test(written_out_shape),
        cmocka_unit_test(wrong_shapes_say_what_is_wrong),
        cmocka_unit_test(nodes_offer_what_their_shape_says),
        cmocka_unit_test(devices_are_listed_once_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
