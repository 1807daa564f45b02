/* test_unauthorised.c - who is on a device that its pod was not given */
#include "health_node.h"
#include "base/arena.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unauthorised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
