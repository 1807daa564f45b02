/* test_unauthorised.c - slots and their units; who is on a device that its pod was not given */
#include "health_node.h"
#include "base/arena.h"

static void test_slots(void **state)
{
    (void)state;
    struct node n;
    node_make(&n);
    static const struct {
        const char *slot;
        int unit; /* -1: none */
    } cases[] = {
        {"GPU-0", 0},     {"GPU-0::0", 0},   {"GPU-0::17", 0}, {"GPU-1-9", 1}, {"0", 0},      {"1::3", 1},    {"2:0", 2},  {"2:1::4", 3},
        {"MIG-2", 4},     {"MIG-2::1", 4},   {"2", -1},        {"0:0", -1},    {"GPU-00", -1}, {"GPU-0::", -1}, {"GPU-0:1", -1}, {"", -1},
        {"GPU-0::1x", -1}, {"frog", -1},     {"-1", -1},       {"2:", -1},     {"2:9", -1},    {"1-3", -1},
        {"nvidia0", 0},   {"nvidia1/vgpu3", 1}, {"nvidia2/gi1", 2}, {"nvidia2/gi3/vgpu0", 4}, {"nvidia2", -1}, {"nvidia0/gi1", -1},
        {"nvidia", -1},   {"nvidia0/", -1}, {"nvidia0/vgpux", -1}, {"nvidia2/gi", -1}, {"nvidia2/gi9", -1}, {"nvidia-0", -1},
        {"MIG-GPU-2/1/0", 2}, {"MIG-GPU-2/3/0::1", 4}, {"MIG-GPU-2/1/1", -1}, {"MIG-GPU-2/1", -1}, {"MIG-GPU-1/1/0", -1}, {"MIG-GPU-", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int u = 0; u < NODE_UNITS; u++)
            assert_int_equal(health_slot_on_unit(&n.s, &n.units[u], cases[i].slot), u == cases[i].unit);
    }
}

static bool pod_of(void *ctx, uint32_t pid, struct process_pod *ret)
{
    (void)ctx;
    if (pid >= 900)
        return false; /* host */
    *ret = (struct process_pod){.uid = "u", .ns = "team", .name = pid < 200 ? "a" : "b"};
    if (pid >= 300)
        ret->ns = ret->name = NULL;
    return true;
}

static void test_unauthorised(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct node n;
    node_make(&n);
    n.owners[0] = (struct slot_owner){"nvidia.com/gpu", "GPU-0::1", "team", "a", "c"};
    n.owners[1] = (struct slot_owner){"nvidia.com/mig-1g.5gb", "MIG-1", "team", "b", "c"};
    n.owners[2] = (struct slot_owner){"nvidia.com/mig-1g.5gb", "MIG-2", "", "", ""}; /* allocated, not yet named */
    n.s.owners_n = 3;
    const struct driver_process list[] = {
        {100, HEALTH_WHOLE, HEALTH_WHOLE, 0, 0}, /* a on its own */
        {200, HEALTH_WHOLE, HEALTH_WHOLE, 0, 0}, /* b on a's: reported */
        {201, 2, 0, 2, 0},                       /* b on its own instance */
        {101, 2, 0, 2, 0},                       /* a on b's instance: reported */
        {102, 3, 0, 2, 0},                       /* may be its own */
        {103, 1, 0, 2, 0},                       /* nobody's: reported */
        {300, HEALTH_WHOLE, HEALTH_WHOLE, 0, 0}, /* pod without a name, on somebody's */
        {301, HEALTH_WHOLE, HEALTH_WHOLE, 1, 0}, /* and on nobody's: reported */
        {900, HEALTH_WHOLE, HEALTH_WHOLE, 1, 0}, /* host */
        {104, HEALTH_WHOLE, HEALTH_WHOLE, 9, 0}, /* a GPU that is gone */
        {105, 7, 0, 2, 0},                       /* an instance that is gone */
    };
    struct unauthorised *found;
    assert_int_equal(health_unauthorised(a, &n.s, list, 11, false, pod_of, NULL, &found), 4);
    assert_int_equal(found[0].pid, 200);
    assert_string_equal(found[0].device, "GPU-0");
    assert_string_equal(found[0].pod, "b");
    assert_int_equal(found[1].pid, 101);
    assert_string_equal(found[1].device, "MIG-1");
    assert_int_equal(found[2].pid, 103);
    assert_int_equal(found[3].pid, 301);
    assert_string_equal(found[3].pod, "");
    assert_int_equal(health_unauthorised(a, &n.s, list, 11, true, pod_of, NULL, &found), 5);
    assert_int_equal(found[4].pid, 900);
    assert_int_equal(health_unauthorised(a, &n.s, NULL, 0, true, pod_of, NULL, &found), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slots), cmocka_unit_test(test_unauthorised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
