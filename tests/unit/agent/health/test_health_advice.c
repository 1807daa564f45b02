/* test_health_advice.c - what the driver itself wants done, and resets that wait until a GPU is idle */
#include "health_world.h"
#include "gpu/nvml.h"

static void test_driver_advises(void **state)
{
    struct world *w = *state;
    w->node.gpus[0].recovery = NVML_RECOVERY_GPU_RESET; /* no event was seen */
    w->node.gpus[1].recovery = NVML_RECOVERY_NODE_REBOOT;
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_SUSPECT);
    assert_health(w, 1, UNIT_FAILED);
    world_run(w, 10000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-0", 0, w->now_ms);
    world_run(w, HEALTH_PROBATION_MS - 2000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_DRAINING); /* not content yet: again, and longer */
    w->node.gpus[0].recovery = NVML_RECOVERY_NONE;
    world_run(w, 10000, 1000);
    assert_int_equal(w->resets_n, 2);
    health_reset_done(w->h, "GPU-0", 0, w->now_ms);
    world_run(w, 2 * HEALTH_PROBATION_MS + 2000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    w->node.gpus[0].recovery = NVML_RECOVERY_DRAIN_AND_RESET; /* at leisure */
    world_process(w, 77, 0);
    world_run(w, 600000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    w->processes_n = 0;
    world_run(w, 120000, 1000);
    assert_int_equal(w->resets_n, 3);
    world_restart(w, "154", NULL);
    w->node.gpus[0].recovery = NVML_RECOVERY_NODE_REBOOT;
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
}

/* NVLink 5 has one number for what is fatal and what is not. */
static void test_severity_decides(void **state)
{
    struct world *w = *state;
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 149);
    e.severity = DRIVER_SEVERITY_NONFATAL;
    world_event(w, e);
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_int_equal(w->events_n, 1);
    assert_string_equal(w->last_event.text, "GPU-0: XID 149 NVLink error; the GPU stays in use");
    e.severity = DRIVER_SEVERITY_FATAL;
    world_event(w, e);
    assert_health(w, 0, UNIT_SUSPECT);
    world_xid(w, "GPU-1", 145); /* it does not say, nor what is to be done */
    assert_health(w, 1, UNIT_SUSPECT);
    world_restart(w, NULL, NULL);
    w->node.gpus[0].recovery_told = w->node.gpus[1].recovery_told = true;
    world_xid(w, "GPU-0", 145); /* the driver would ask for a reset */
    world_xid(w, "GPU-1", 48);  /* always fatal */
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_health(w, 1, UNIT_SUSPECT);
    w->node.gpus[0].recovery = NVML_RECOVERY_GPU_RESET;
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_SUSPECT);
    world_restart(w, "154", "146"); /* whose advice is not wanted, and what is wanted whatever it says */
    w->node.gpus[0].recovery_told = true;
    world_xid(w, "GPU-0", 145);
    assert_health(w, 0, UNIT_SUSPECT);
    e = node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 146);
    e.severity = DRIVER_SEVERITY_NONFATAL;
    world_event(w, e);
    assert_health(w, 1, UNIT_SUSPECT);
}

static void test_advice_about_one_instance(void **state)
{
    struct world *w = *state;
    w->processes[0] = (struct driver_process){.pid = 5, .gi = 1, .ci = 0, .gpu = 2};
    w->processes_n = 1;
    world_event(w, node_xid("GPU-2", 2, 0, 95));
    w->node.gpus[2].recovery = NVML_RECOVERY_GPU_RESET;
    for (int i = 0; i < 60; i++) {
        world_run(w, 1000, 1000);
        assert_health(w, 2, UNIT_HEALTHY); /* works on, and its pod is not asked to go */
        assert_false(health_is_faulty(w->h, &w->node.units[2]));
    }
    assert_health(w, 3, UNIT_DRAINING);
    assert_int_equal(w->resets_n, 0);
    w->processes_n = 0;
    world_run(w, 15000, 1000);
    assert_int_equal(w->resets_n, 1);
    w->node.gpus[2].recovery = NVML_RECOVERY_NONE;
    health_reset_done(w->h, "GPU-2", 0, w->now_ms);
    world_run(w, HEALTH_PROBATION_MS + 2000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_HEALTHY);
    world_event(w, node_xid("GPU-2", 2, 0, 95));
    w->node.gpus[2].recovery = NVML_RECOVERY_NODE_REBOOT; /* no reset of an instance's fault helps */
    world_run(w, 1000, 1000);
    assert_health(w, 2, UNIT_FAILED);
}

static void test_remap_waits_for_idle(void **state)
{
    struct world *w = *state;
    w->node.owners[0] = (struct slot_owner){"nvidia.com/gpu", "1", "team", "train", "c"};
    w->node.s.owners_n = 1;
    world_xid(w, "GPU-1", 63);
    world_run(w, 3600000, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
    w->node.s.owners_n = 0;
    for (int i = 0; i < 6; i++) { /* asked now and then, as long as all is well */
        w->processes_n = HEALTH_PROCESSES_UNKNOWN;
        world_run(w, 14000, 1000);
        w->processes_n = 0;
        world_run(w, 1000, 1000);
    }
    assert_health(w, 1, UNIT_DRAINING);
    world_run(w, 10000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-1", 0, w->now_ms);
    world_run(w, HEALTH_PROBATION_MS + 2000, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
    world_run(w, 600000, 1000);
    assert_int_equal(w->resets_n, 1);
}

static void test_advice_withdrawn_in_time(void **state)
{
    struct world *w = *state;
    world_process(w, 77, 0);
    w->node.gpus[0].recovery = w->node.gpus[1].recovery = NVML_RECOVERY_DRAIN_AND_RESET;
    world_xid(w, "GPU-1", 63); /* a reason of its own */
    world_run(w, 30000, 1000);
    w->node.gpus[0].recovery = w->node.gpus[1].recovery = NVML_RECOVERY_NONE;
    world_run(w, 2000, 1000);
    w->processes_n = 0;
    world_run(w, 600000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_int_equal(w->resets_n, 1);
    assert_string_equal(w->reset_uuid, "GPU-1");
}

static void test_advice_that_stays(void **state)
{
    struct world *w = *state;
    w->node.gpus[0].recovery = NVML_RECOVERY_DRAIN_AND_RESET;
    world_run(w, 61000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    assert_int_equal(w->node.units[0].xid, 154); /* no row was remapped */
    assert_non_null(strstr(w->last_event.text, "GPU-0: XID 154 Recovery advice changed; idle: is reset."));
    int64_t probation_ms = HEALTH_PROBATION_MS;
    for (uint32_t i = 1; i < HEALTH_FAILURES_MAX; i++) {
        world_run(w, 7000, 1000);
        assert_int_equal(w->resets_n, i);
        health_reset_done(w->h, "GPU-0", 0, w->now_ms);
        world_run(w, probation_ms - 2000, 1000);
        assert_health(w, 0, UNIT_PROBATION);
        world_run(w, 4000, 1000);
        assert_health(w, 0, UNIT_HEALTHY);
        world_run(w, 50000, 1000);
        assert_health(w, 0, UNIT_HEALTHY); /* one minute in use, before it is idle again */
        world_run(w, 10000, 1000);
        probation_ms = probation_ms * 2 < HEALTH_PROBATION_MAX_MS ? probation_ms * 2 : HEALTH_PROBATION_MAX_MS;
    }
    assert_health(w, 0, UNIT_FAILED);
    assert_non_null(strstr(w->last_event.text, "after every reset; it is out of use for good"));
    world_run(w, 24 * 3600000LL, 60000);
    assert_health(w, 0, UNIT_FAILED);
    assert_int_equal(w->resets_n, HEALTH_FAILURES_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_driver_advises),
        WORLD_TEST(test_severity_decides),
        WORLD_TEST(test_advice_about_one_instance),
        WORLD_TEST(test_remap_waits_for_idle),
        WORLD_TEST(test_advice_withdrawn_in_time),
        WORLD_TEST(test_advice_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
