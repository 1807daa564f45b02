/* test_health.c - the catalogue, the way of a unit through its states, routing, and the variables that switch checks off */
#include "health_world.h"

static void test_catalogue(void **state)
{
    (void)state;
    assert_int_equal(xid_find(79)->action, XID_REBOOT);
    assert_int_equal(xid_find(48)->action, XID_DRAIN_RESET);
    assert_int_equal(xid_find(109)->action, XID_DRAIN_RESET);
    assert_int_equal(xid_find(63)->action, XID_RESET_IDLE);
    assert_int_equal(xid_find(64)->again, XID_RMA);
    static const uint32_t apps[] = {13, 31, 43, 45, 68, 94};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(xid_find(apps[i])->action, XID_RESTART_APP);
    static const uint32_t others[] = {56, 81, 92, 111, 118, 125, 138, 154, 162, 170}; /* screens, notes, what is told beside */
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(xid_find(others[i])->action, XID_IGNORE);
    static const uint32_t engines[] = {42, 47, 65, 68, 73, 88, 98, 105, 126, 139, 142}; /* of an application, each */
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        assert_int_equal(xid_find(engines[i])->action, XID_RESTART_APP);
    for (uint32_t xid = 37; xid <= 172; xid++) /* all that NVIDIA's catalogue has for Ampere to Blackwell, and its neighbours */
        if ((xid < 49 || xid > 53) && xid != 55 && xid != 91)
            assert_non_null(xid_find(xid));
    assert_null(xid_find(0));
    assert_null(xid_find(7));
    assert_null(xid_find(173));
    assert_null(xid_find(0xffffffff));
}

static void test_whole_way(void **state)
{
    struct world *w = *state;
    world_process(w, 77, 0);
    world_xid(w, "GPU-0", 48);
    assert_health(w, 0, UNIT_SUSPECT);
    assert_health(w, 1, UNIT_HEALTHY);
    assert_int_equal(w->node.units[0].xid, 48);
    assert_non_null(strstr(w->last_event.text, "GPU-0: XID 48 Uncorrectable memory error"));
    assert_true(w->last_event.warning);
    world_run(w, 3000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    world_run(w, 3600000, 1000);
    assert_int_equal(w->resets_n, 0); /* somebody is on it */
    w->processes_n = HEALTH_PROCESSES_UNKNOWN;
    world_run(w, 60000, 1000);
    assert_int_equal(w->resets_n, 0); /* nobody knows */
    w->processes_n = 0;
    w->node.owners[0] = (struct slot_owner){"nvidia.com/gpu", "GPU-0::1", "team", "train", "c"};
    w->node.s.owners_n = 1;
    world_run(w, HEALTH_IDLE_OWNED_MS - 2000, 1000);
    assert_int_equal(w->resets_n, 0); /* its pod may be between two containers */
    world_run(w, 5000, 1000);
    assert_int_equal(w->resets_n, 1);
    assert_string_equal(w->reset_uuid, "GPU-0");
    world_run(w, 20000, 1000);
    assert_int_equal(w->resets_n, 1); /* asked once */
    health_reset_done(w->h, "GPU-0", 0, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    world_run(w, HEALTH_PROBATION_MS - 2000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    world_run(w, 3000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_int_equal(w->node.units[0].xid, 0);
}

static void fail_and_reset(struct world *w, uint64_t xid)
{
    uint32_t resets = w->resets_n;
    world_xid(w, "GPU-1", xid);
    for (int i = 0; i < 20 && w->resets_n == resets; i++)
        world_run(w, 1000, 1000);
    assert_int_equal(w->resets_n, resets + 1);
    health_reset_done(w->h, "GPU-1", 0, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_PROBATION);
}

static void test_probation_grows(void **state)
{
    struct world *w = *state;
    for (int64_t i = 0, need = HEALTH_PROBATION_MS; i < 4; i++, need *= 2) {
        fail_and_reset(w, 109);
        world_run(w, need - 3000, 1000);
        assert_health(w, 1, UNIT_PROBATION);
    }
    world_run(w, 5000, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
    world_run(w, HEALTH_FORGET_MS + 60000, 60000);
    fail_and_reset(w, 109);
    world_run(w, HEALTH_PROBATION_MS + 1000, 1000); /* forgiven */
    assert_health(w, 1, UNIT_HEALTHY);
    for (int i = 0; i < HEALTH_FAILURES_MAX - 2; i++)
        fail_and_reset(w, 109);
    world_xid(w, "GPU-1", 109);
    assert_health(w, 1, UNIT_FAILED);
    world_run(w, 24 * 3600000LL, 600000);
    assert_health(w, 1, UNIT_FAILED);
}

static void test_again_is_worse(void **state)
{
    struct world *w = *state;
    fail_and_reset(w, 64);
    world_xid(w, "GPU-1", 64);
    assert_health(w, 1, UNIT_FAILED);
    assert_non_null(strstr(w->last_event.text, "replaced"));
}

static void test_mig_routing(void **state)
{
    struct world *w = *state;
    w->processes[0] = (struct driver_process){.pid = 5, .gi = 1, .ci = 0, .gpu = 2};
    w->processes_n = 1;
    world_event(w, node_xid("GPU-2", 2, 0, 95));
    assert_health(w, 2, UNIT_HEALTHY);
    assert_health(w, 3, UNIT_SUSPECT);
    assert_health(w, 4, UNIT_HEALTHY);
    world_run(w, 600000, 1000);
    assert_health(w, 3, UNIT_DRAINING);
    assert_health(w, 2, UNIT_HEALTHY); /* works on */
    assert_int_equal(w->resets_n, 0);
    w->processes_n = 0;
    for (int i = 0; i < 30 && !w->resets_n; i++) {
        world_run(w, 1000, 1000);
        if (w->resets_n)
            assert_health(w, 2, UNIT_DRAINING); /* nothing new may start on it */
    }
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-2", 0, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 3, UNIT_PROBATION);
    world_run(w, HEALTH_PROBATION_MS + 2000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_HEALTHY);

    world_event(w, node_xid("GPU-2", 3, HEALTH_WHOLE, 95)); /* a GPU instance with all of its compute instances */
    assert_health(w, 4, UNIT_SUSPECT);
    assert_health(w, 3, UNIT_HEALTHY);
    world_event(w, node_xid("GPU-0", 0, 0, 95)); /* 0 from a GPU without MIG is no instance */
    assert_health(w, 0, UNIT_SUSPECT);
}

static void test_without_device(void **state)
{
    struct world *w = *state;
    world_xid(w, "", 7); /* an unknown number, too */
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_SUSPECT);
}

static void test_variables(void **state)
{
    struct world *w = *state;
    world_restart(w, "all", NULL);
    world_xid(w, "GPU-0", 79);
    w->node.gpus[1].lost = true;
    world_run(w, 10000, 1000);
    assert_int_equal(w->sets_n + w->events_n, 0);
    world_restart(w, "xids", NULL);
    world_xid(w, "GPU-0", 48);
    assert_health(w, 0, UNIT_HEALTHY);
    w->node.gpus[1].lost = true;
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_SUSPECT); /* not an XID */
    world_restart(w, "48, 95,frog", "13");
    assert_non_null(strstr(w->last_event.text, "DP_DISABLE_HEALTHCHECKS: \"frog\" is not an XID"));
    world_xid(w, "GPU-0", 48);
    assert_health(w, 0, UNIT_HEALTHY);
    world_xid(w, "GPU-0", 13);
    assert_health(w, 0, UNIT_SUSPECT);
    world_xid(w, "GPU-1", 46);
    assert_health(w, 1, UNIT_SUSPECT);
    world_restart(w, "all", "48");
    world_xid(w, "GPU-0", 46);
    assert_health(w, 0, UNIT_HEALTHY);
    world_xid(w, "GPU-0", 48);
    assert_health(w, 0, UNIT_SUSPECT);

    char many[4000] = "";
    for (int i = 0; i < 900; i++)
        memcpy(many + i * 3, "31,", 4);
    world_restart(w, many, NULL);
    assert_non_null(strstr(w->last_event.text, "more than 256"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),
        WORLD_TEST(test_whole_way),
        WORLD_TEST(test_probation_grows),
        WORLD_TEST(test_again_is_worse),
        WORLD_TEST(test_mig_routing),
        WORLD_TEST(test_without_device),
        WORLD_TEST(test_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
