/* test_slot_id.c - slots and their units, in every form that a plugin writes */
#include "../health/health_node.h"
#include "agent/inventory/slot_id.h"

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
            assert_int_equal(slot_is_of(cases[i].slot, &n.units[u]), u == cases[i].unit);
    }
}

static void test_unit_part(void **state)
{
    (void)state;
    char unit[48];
    static const char *const cases[][2] = {{"GPU-0", "GPU-0"}, {"GPU-0::12", "GPU-0"}, {"MIG-1::0", "MIG-1"}, {"", ""}, {"::1", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slot_unit_part(cases[i][0], unit);
        assert_string_equal(unit, cases[i][1]);
    }
    slot_unit_part("GPU-00000000-0000-0000-0000-000000000000-and-much-more-than-fits::1", unit);
    assert_int_equal(strlen(unit), 47);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slots), cmocka_unit_test(test_unit_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
