/* test_health_lost.c - GPUs that the driver does not reach, and what the agent takes over from its last run */
#include "health_world.h"

static void test_lost_and_back(void **state)
{
    struct world *w = *state;
    struct driver_event e = {.uuid = "GPU-1", .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .kind = DRIVER_EVENT_LOST};
    w->node.gpus[1].lost = true;
    world_event(w, e);
    assert_health(w, 1, UNIT_SUSPECT);
    world_run(w, 60000, 1000);
    assert_health(w, 1, UNIT_SUSPECT);
    w->node.gpus[1].lost = false;
    e.kind = DRIVER_EVENT_BACK;
    world_event(w, e);
    assert_health(w, 1, UNIT_PROBATION);
    world_run(w, HEALTH_PROBATION_MS + 1000, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
    w->node.gpus[1].lost = true; /* seen only in the reading */
    world_run(w, HEALTH_LOST_MS + 2000, 1000);
    assert_health(w, 1, UNIT_FAILED);
    w->node.gpus[1].lost = false;
    world_run(w, 5000, 1000);
    assert_health(w, 1, UNIT_PROBATION);
    assert_int_equal(w->resets_n, 0);

    world_xid(w, "GPU-0", 79);
    assert_health(w, 0, UNIT_FAILED);
    w->node.gpus[0].lost = true;
    world_run(w, 10000, 1000);
    assert_health(w, 0, UNIT_FAILED);
    w->node.gpus[0].lost = false; /* somebody rescanned the bus */
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
}

static void test_lost_while_it_drains(void **state)
{
    struct world *w = *state;
    world_process(w, 77, 0);
    world_xid(w, "GPU-0", 48);
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    assert_true(health_is_faulty(w->h, &w->node.units[0]));
    assert_false(health_is_faulty(w->h, &w->node.units[1]));
    w->node.gpus[0].lost = true;
    world_run(w, HEALTH_LOST_MS - 10000, 1000);
    assert_health(w, 0, UNIT_SUSPECT);
    w->node.gpus[0].lost = false; /* back in time: what it waited for is still to be done */
    world_run(w, 10000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    w->node.gpus[0].lost = true;
    world_run(w, HEALTH_LOST_MS + 10000, 1000);
    assert_health(w, 0, UNIT_FAILED);
    assert_true(health_is_faulty(w->h, &w->node.units[0]));
}

static void test_journal_is_taken_over(void **state)
{
    struct world *w = *state;
    w->node.units[0].health = UNIT_DRAINING;
    w->node.units[0].xid = 48;
    w->node.units[1].health = UNIT_FAILED;
    w->node.units[1].xid = 151;
    world_agent_restarts(w);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    assert_health(w, 1, UNIT_FAILED);
    world_run(w, 10000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-0", -E_IO, w->now_ms);
    health_reset_done(w->h, "GPU-0", 0, w->now_ms); /* not asked: no effect */
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    for (int i = 0; i < 2; i++) {
        world_run(w, 120000, 1000);
        health_reset_done(w->h, "GPU-0", -E_IO, w->now_ms);
    }
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_FAILED);
    assert_int_equal(w->resets_n, 3);

    world_agent_restarts(w);
    world_run(w, 600000, 1000);
    assert_health(w, 0, UNIT_FAILED); /* it answers, and that is no cure for either */
    assert_health(w, 1, UNIT_FAILED);

    w->node.units[2].health = UNIT_SUSPECT;
    world_agent_restarts(w);
    health_rebooted(w->h);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    assert_health(w, 1, UNIT_PROBATION);
    world_run(w, HEALTH_PROBATION_MS + 1000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_HEALTHY);
}

static void test_restart_while_lost(void **state)
{
    struct world *w = *state;
    world_process(w, 77, 0);
    w->node.gpus[0].lost = w->node.gpus[1].lost = true;
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_SUSPECT);
    world_agent_restarts(w);
    w->node.gpus[0].lost = false; /* back while nobody looked */
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    assert_health(w, 1, UNIT_SUSPECT);
    w->node.gpus[1].lost = false;
    world_run(w, 10000, 1000);
    assert_health(w, 1, UNIT_PROBATION);
    assert_false(health_is_faulty(w->h, &w->node.units[0]));
    world_run(w, 2 * HEALTH_PROBATION_MS + 10000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_health(w, 1, UNIT_HEALTHY);
    assert_int_equal(w->resets_n, 0);
}

/* Failed for no other reason than that the driver did not reach them: as good as any other once it does. */
static void test_restart_after_lost_ones_failed(void **state)
{
    struct world *w = *state;
    world_xid(w, "GPU-1", 79);
    w->node.gpus[0].lost = w->node.gpus[1].lost = w->node.gpus[2].lost = true;
    world_run(w, HEALTH_LOST_MS + 10000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_FAILED);
    world_agent_restarts(w);
    w->node.gpus[1].lost = w->node.gpus[2].lost = false;
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_SUSPECT);
    for (uint32_t i = 1; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_PROBATION);
    world_run(w, HEALTH_LOST_MS + 10000, 1000);
    assert_health(w, 0, UNIT_FAILED);
    for (uint32_t i = 1; i < NODE_UNITS; i++)
        assert_health(w, i, UNIT_HEALTHY);
    w->node.gpus[0].lost = false;
    world_run(w, 5000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    assert_int_equal(w->resets_n, 0);
}

/* Being lost, and back, is no cure for what was there before, nor for failing again and again. */
static void test_lost_after_other_faults(void **state)
{
    struct world *w = *state;
    world_process(w, 77, 0);
    world_xid(w, "GPU-0", 48);
    world_xid(w, "GPU-0", 79);
    assert_health(w, 0, UNIT_FAILED);
    assert_int_equal(w->last_event.xid, 79);
    world_agent_restarts(w);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_FAILED);

    world_restart(w, NULL, NULL);
    world_process(w, 77, 0);
    world_xid(w, "GPU-0", 48);
    world_xid(w, "GPU-0", 79);
    world_run(w, 10000, 1000);
    assert_health(w, 0, UNIT_DRAINING); /* back */
    world_agent_restarts(w);
    w->processes_n = 0;
    world_run(w, 60000, 1000);
    assert_int_equal(w->resets_n, 1);

    world_restart(w, NULL, NULL);
    for (int i = 1; i < HEALTH_FAILURES_MAX; i++) {
        world_xid(w, "GPU-1", 48);
        for (int k = 0; k < 600 && w->resets_n < (uint32_t)i; k++)
            world_run(w, 1000, 1000);
        assert_int_equal(w->resets_n, i);
        health_reset_done(w->h, "GPU-1", 0, w->now_ms);
        world_run(w, HEALTH_PROBATION_MAX_MS + 1000, 60000);
        assert_health(w, 1, UNIT_HEALTHY);
    }
    world_xid(w, "GPU-1", 79);
    assert_health(w, 1, UNIT_FAILED);
    world_agent_restarts(w);
    world_run(w, 10000, 1000);
    assert_health(w, 1, UNIT_FAILED);
}

/* Lost while it waited for its reset, and the agent starts anew: its return is not the cure. */
static void test_restart_does_not_forget_the_fault(void **state)
{
    struct world *w = *state;
    world_process(w, 4711, 1);
    world_xid(w, "GPU-1", 48);
    world_run(w, 5000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    w->node.gpus[1].lost = true;
    world_run(w, HEALTH_LOST_MS + 5000, 1000);
    assert_health(w, 1, UNIT_FAILED);
    world_agent_restarts(w);
    world_run(w, 5000, 1000);
    assert_health(w, 1, UNIT_FAILED);
    w->node.gpus[1].lost = false;
    world_run(w, 2 * HEALTH_PROBATION_MS, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    w->processes_n = 0;
    world_run(w, 10000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-1", 0, w->now_ms);
    world_run(w, 2 * HEALTH_PROBATION_MS, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
}

/* One instance waits for its reset while its GPU is lent to another's: the journal has the fault. */
static void test_instance_of_a_lent_one(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 1, 2);
    world_agent_restarts(w);
    world_xid(w, "GPU-2", 31); /* so that the GPU is known before its instances */
    world_event(w, node_xid("GPU-2", 1, 0, 48));
    w->processes[0] = (struct driver_process){.pid = 1, .gi = 1, .ci = 0, .gpu = 2};
    w->processes_n = 1;
    world_run(w, 5000, 1000);
    world_xid(w, "GPU-1", 95);
    world_run(w, 5000, 1000);
    w->processes_n = 0;
    for (int i = 0; i < 60 && w->node.units[3].health != UNIT_DRAINING; i++)
        world_run(w, 1000, 1000);
    assert_health(w, 3, UNIT_DRAINING);
    assert_int_equal(w->node.units[2].xid, 48);
    world_agent_restarts(w);
    world_run(w, 1000, 1000);
    assert_health(w, 2, UNIT_DRAINING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_lost_and_back),
        WORLD_TEST(test_lost_while_it_drains),
        WORLD_TEST(test_journal_is_taken_over),
        WORLD_TEST(test_restart_while_lost),
        WORLD_TEST(test_restart_after_lost_ones_failed),
        WORLD_TEST(test_lost_after_other_faults),
        WORLD_TEST(test_restart_does_not_forget_the_fault),
        WORLD_TEST(test_instance_of_a_lent_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
