/* test_resource.c - which resources a node offers: strategies, names, shares, selections, what is refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "wire/json.h"
#include "reading.h"

static struct test_node *node;
static struct buf warnings;
static struct err error;

static int end(void **state)
{
    (void)state;
    node_free(node);
    buf_free(&warnings);
    return 0;
}

static void make(const char *yaml)
{
    node_config(node, yaml);
    buf_clear(&warnings);
    error = (struct err){0};
    if (node_table(node, &warnings, &error) < 0)
        fail_msg("%s: %s", yaml, error.text);
}

static void refused(const char *yaml, const char *words)
{
    node_config(node, yaml);
    assert_int_equal(node_table(node, NULL, &error), -E_INVALID);
    if (!strstr(error.text, words))
        fail_msg("expected '%s' in: %s", words, error.text);
}

/* "name xN first..last" of every resource. */
static void offers(const char *expected)
{
    _cleanup_buf_ struct buf text = {0};
    for (uint32_t i = 0; i < node->table.resources_n; i++) {
        const struct resource *r = &node->table.resources[i];
        buf_printf(&text, "%s%s x%u %s..%s", i ? "; " : "", r->name, r->slots_n, r->slots[0].id, r->slots[r->slots_n - 1].id);
        for (uint32_t k = 0; k < r->slots_n; k++)
            assert_ptr_equal(resource_find_slot(r, r->slots[k].id), &r->slots[k]);
        assert_null(resource_find_slot(r, "GPU-x"));
    }
    assert_string_equal(text.data ? text.data : "", expected);
}

static bool warned(const char *words)
{
    return warnings.data && strstr(warnings.data, words);
}

static const struct resource *find(const char *name)
{
    const struct resource *r = resource_table_find(&node->table, name);
    if (!r)
        fail_msg("no resource %s", name);
    return r;
}

#define G0 "GPU-00000000-1111-4222-8333-000000000000"
#define G1 "GPU-00000001-1111-4222-8333-000000000001"
#define G3 "GPU-00000003-1111-4222-8333-000000000003"

static void whole(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    make("");
    offers("nvidia.com/gpu x4 " G0 ".." G3);
    assert_int_equal(find("nvidia.com/gpu")->sharing, SHARING_NONE);
    assert_int_equal(find("nvidia.com/gpu")->replicas, 1);
    node->reading.gpus[1].lost = true;
    make("");
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 4);
    assert_int_equal(find("nvidia.com/gpu")->slots[1].state, SLOT_LOST);
    (void)snprintf(node->reading.gpus[0].name, 96, "NVIDIA DGX Display");
    make("");
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 3);
    node->reading.gpus_n = 0;
    make("");
    offers("");
}

static void shares(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    make("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}");
    offers("nvidia.com/gpu x16 " G0 "::0.." G3 "::3");
    assert_int_equal(find("nvidia.com/gpu")->sharing, SHARING_TIME_SLICING);
    assert_false(find("nvidia.com/gpu")->renamed);
    make("sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 4}]}}");
    offers("nvidia.com/gpu.shared x16 " G0 "::0.." G3 "::3");
    assert_true(find("nvidia.com/gpu.shared")->renamed);
    assert_string_equal(find("nvidia.com/gpu.shared")->base_name, "nvidia.com/gpu");
    make("sharing: {mps: {resources: [{name: gpu, replicas: 10}]}}");
    offers("nvidia.com/gpu x40 " G0 "::0.." G3 "::9");
    assert_true(find("nvidia.com/gpu")->fail_requests_greater_than_one);
    make("sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}");
    offers("nvidia.com/gpu x4 " G0 "::0.." G3 "::0");
    make("sharing: {keti: {replicas: 10}}");
    offers("keti.com/mpsgpu x40 " G0 "::0.." G3 "::9");
    /* both: MPS wins */
    make("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}, mps: {resources: [{name: gpu, replicas: 3}]}}");
    offers("nvidia.com/gpu x12 " G0 "::0.." G3 "::2");
    assert_int_equal(find("nvidia.com/gpu")->sharing, SHARING_MPS);
    /* of a resource that the node does not have */
    make("sharing: {timeSlicing: {resources: [{name: mig-1g.5gb, replicas: 2}]}}");
    offers("nvidia.com/gpu x4 " G0 ".." G3);
}

static void selections(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 4);
    make("sharing: {timeSlicing: {resources: [{name: gpu, rename: slow, devices: 1, replicas: 4}]}}");
    offers("nvidia.com/gpu x3 " G1 ".." G3 "; nvidia.com/slow x4 " G0 "::0.." G0 "::3");
    make("sharing: {timeSlicing: {resources: [{name: gpu, devices: [0, " G3 "], replicas: 2}]}}");
    offers("nvidia.com/gpu x6 " G0 "::0.." G3 "::1");
    assert_true(warned("2 of its 4 devices are shared"));
    assert_false(find("nvidia.com/gpu")->slots[2].shared);
    /* several entries: the one that names a device goes before all */
    make("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: gpu, rename: many, devices: [3], replicas: 8}]}}");
    offers("nvidia.com/gpu x6 " G0 "::0..GPU-00000002-1111-4222-8333-000000000002::1; nvidia.com/many x8 " G3 "::0.." G3 "::7");
    /* time slices and MPS side by side, each with its own name */
    make("sharing: {timeSlicing: {resources: [{name: gpu, rename: ts, devices: [0], replicas: 2}]},"
         " mps: {resources: [{name: gpu, rename: mps, devices: [1], replicas: 3}]}}");
    offers("nvidia.com/gpu x2 GPU-00000002-1111-4222-8333-000000000002.." G3 "; nvidia.com/mps x3 " G1 "::0.." G1
           "::2; nvidia.com/ts x2 " G0 "::0.." G0 "::1");
    make("sharing: {timeSlicing: {resources: [{name: gpu, devices: [7, GPU-b1028956-cfa2-0990-bf4a-5da9abb51763], replicas: 2}]}}");
    assert_true(warned("no device '7'") && warned("no device 'GPU-b1028956"));
    make("sharing: {timeSlicing: {resources: [{name: gpu, devices: 9, replicas: 2}]}}");
    assert_true(warned("9 devices were to be shared, the node has 4"));
    make("sharing: {timeSlicing: {resources: [{name: gpus, replicas: 2}]}}");
    assert_true(warned("nvidia.com/gpus: no device of the node has this name"));
    make("sharing: {timeSlicing: {resources: [{name: mig-1g.5gb, replicas: 2}]}}"); /* one config for many nodes */
    assert_false(warned("no device of the node"));
    refused("sharing: {timeSlicing: {resources: [{name: gpu, devices: [0], replicas: 2}, {name: gpu, rename: x, devices: [" G0
            "], replicas: 3}]}}",
            "two entries");
    refused("sharing: {mps: {resources: [{name: gpu, devices: [0], replicas: 2}, {name: gpu, devices: [1], replicas: 3}]}}",
            "equal shares");
}

static void patterns(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    (void)snprintf(node->reading.gpus[1].name, 96, "Tesla T4");
    make("resources: {gpus: [{pattern: \"*A100*40GB\", name: a100}, {pattern: \"T*s*4\", name: t4}]}");
    offers("nvidia.com/a100 x1 " G0 ".." G0 "; nvidia.com/t4 x1 " G1 ".." G1);
    make("resources: {gpus: [{pattern: \"*A100*80GB\", name: a100}, {pattern: \"\", name: none}]}");
    offers("nvidia.com/gpu x2 " G0 ".." G1);
    make("resources: {gpus: [{pattern: \"*T4\", name: t4}]}\nsharing: {timeSlicing: {renameByDefault: true, resources: [{name: t4, replicas: 2}]}}");
    offers("nvidia.com/gpu x1 " G0 ".." G0 "; nvidia.com/t4.shared x2 " G1 "::0.." G1 "::1");
}

static void mig(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node_mig(node, 0, "3g.20gb", 0, 1);
    node_mig(node, 0, "1g.5gb", 0, 2);
    node_mig(node, 0, "1g.5gb+me", 0, 1);
    make("flags: {migStrategy: mixed}");
    offers("nvidia.com/gpu x1 " G1 ".." G1 "; nvidia.com/mig-1g.5gb x2 MIG-00000000-0007-5222-8333-000000000000.."
           "MIG-00000000-0008-5222-8333-000000000000; nvidia.com/mig-1g.5gb.me x1 MIG-00000000-0009-5222-8333-000000000000.."
           "MIG-00000000-0009-5222-8333-000000000000; nvidia.com/mig-3g.20gb x1 MIG-00000000-0002-5222-8333-000000000000.."
           "MIG-00000000-0002-5222-8333-000000000000");
    make("");
    offers("nvidia.com/gpu x1 " G1 ".." G1);
    assert_true(warned("GPU 0 has MIG on and flags.migStrategy is none"));
    refused("flags: {migStrategy: single}", "several kinds");
    make("flags: {migStrategy: mixed}\nresources: {mig: [{pattern: \"1g*\", name: small}]}");
    assert_int_equal(find("nvidia.com/small")->slots_n, 3);
    node_mig_on(node, 1);
    make("flags: {migStrategy: mixed}");
    assert_true(warned("GPU 1 has MIG on and no MIG device"));
}

static void single(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node_mig(node, 0, "1g.5gb", 0, 7);
    refused("flags: {migStrategy: single}", "GPU 0 has MIG on, GPU 1 has not");
    node_mig_on(node, 1);
    refused("flags: {migStrategy: single}", "GPU 1 has MIG on and no MIG device");
    node_mig(node, 1, "1g.5gb", 0, 3);
    make("flags: {migStrategy: single}");
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 10);
    make("flags: {migStrategy: single}\nsharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 20);
}

static void part_instances(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 1);
    node_mig(node, 0, "3g.20gb", 1, 1);
    make("flags: {migStrategy: mixed}");
    offers("");
    assert_true(warned("1c.3g.20gb") && warned("resources.mig"));
    make("flags: {migStrategy: mixed}\nresources: {mig: [{pattern: 1c.3g.20gb, name: third}]}");
    assert_int_equal(find("nvidia.com/third")->slots_n, 3);
    make("flags: {migStrategy: single}");
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 3);
}

static void mps_limits(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node->reading.gpus[0].compute_major = 6;
    refused("sharing: {mps: {resources: [{name: gpu, replicas: 17}]}}", "at most 16 MPS clients");
    refused("sharing: {keti: {replicas: 17}}", "at most 16 MPS clients");
    node->reading.gpus[0].compute_major = 8;
    node_mig(node, 0, "1g.5gb", 0, 7);
    make("flags: {migStrategy: mixed}\nsharing: {mps: {resources: [{name: mig-1g.5gb, replicas: 10}, {name: gpu, replicas: 10}]}}");
    assert_int_equal(find("nvidia.com/mig-1g.5gb")->slots_n, 7 * 6);
    assert_int_equal(find("nvidia.com/mig-1g.5gb")->sharing, SHARING_MPS);
    assert_true(warned("takes at most 6 MPS clients"));
    assert_int_equal(find("nvidia.com/gpu")->slots_n, 10);
    make("flags: {migStrategy: mixed}\nsharing: {keti: {replicas: 3}, timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    assert_true(warned("nvidia.com/gpu of GPU 1 has no effect"));
    assert_int_equal(find("keti.com/mpsgpu")->slots_n, 3);
    assert_null(resource_table_find(&node->table, "nvidia.com/gpu"));
}

static void references(void **state)
{
    (void)state;
    node = node_new("a100-40gb", 2);
    node_mig(node, 0, "3g.20gb", 0, 2);
    make("flags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: [{name: mig-3g.20gb, rename: x, devices: [\"0:1\"], replicas: 2}]}}");
    assert_int_equal(find("nvidia.com/x")->slots_n, 2);
    const struct driver_mig *first = &node->reading.gpus[0].migs[0];
    char yaml[400];
    (void)snprintf(yaml, sizeof yaml,
                   "flags: {migStrategy: mixed}\nsharing: {timeSlicing: {resources: [{name: mig-3g.20gb, rename: x, devices: [MIG-" G0
                   "/%u/%u], replicas: 2}]}}",
                   first->gi, first->ci);
    make(yaml);
    assert_true(text_starts(find("nvidia.com/x")->slots[0].id, first->uuid));
    assert_string_equal(resource_unit_index(node->arena, &node->snapshot.units[1]), "0:1");
    assert_string_equal(resource_unit_index(node->arena, &node->snapshot.units[2]), "1");
}

static const struct json *devices(void)
{
    struct buf text = {0};
    resource_table_devices_text(&node->table, &node->snapshot, &text);
    struct json *list = json_parse(node->arena, buf_view(&text), NULL, &error);
    buf_free(&text);
    assert_non_null(list);
    return list;
}

static void annotation(void **state)
{
    (void)state;
    node = node_new("t4", 4); /* no NVLink: NUMA nodes */
    node->reading.gpus[3].lost = true;
    make("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}");
    const struct json *list = devices();
    assert_int_equal(list->n, 8);
    const struct json *d = json_item(list, 5);
    assert_string_equal(json_get_text(d, "r", ""), "nvidia.com/gpu");
    assert_string_equal(json_get_text(d, "id", ""), "GPU-00000002-1111-4222-8333-000000000002::1");
    assert_int_equal(json_get_int64(d, "gpu", -1), 2);
    assert_int_equal(json_get_int64(d, "link", -1), 1);
    assert_true(json_get_bool(d, "healthy", false));
    assert_false(json_get_bool(json_item(list, 6), "healthy", true));
    node_link(node, 1, 2, 50, 2); /* a bridge over the NUMA border */
    list = devices();
    assert_int_equal(json_get_int64(json_item(list, 0), "link", -1), 0);
    assert_int_equal(json_get_int64(json_item(list, 2), "link", -1), 1);
    assert_int_equal(json_get_int64(json_item(list, 4), "link", -1), 1);
    assert_int_equal(json_get_int64(json_item(list, 7), "link", -1), 2);
}

/* More slots than are counted of a node: every GPU keeps its first shares. */
static void too_many(void **state)
{
    (void)state;
    node = node_new("t4", 32);
    make("sharing: {mps: {resources: [{name: gpu, replicas: 48}]}}");
    assert_true(warned("the node offers 1536 slots"));
    const struct json *list = devices();
    assert_int_equal(list->n, LIMIT_DEVICES_PER_NODE);
    assert_int_equal(json_get_int64(json_item(list, list->n - 1), "gpu", -1), 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(whole, end),          cmocka_unit_test_teardown(shares, end),
        cmocka_unit_test_teardown(selections, end),     cmocka_unit_test_teardown(patterns, end),
        cmocka_unit_test_teardown(mig, end),            cmocka_unit_test_teardown(single, end),
        cmocka_unit_test_teardown(part_instances, end), cmocka_unit_test_teardown(mps_limits, end),
        cmocka_unit_test_teardown(references, end),     cmocka_unit_test_teardown(annotation, end),
        cmocka_unit_test_teardown(too_many, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
