/* test_health_linked.c - GPUs that are linked by NVLink: which go together, and that a reset waits for all of them */
#include "health_world.h"

static uint64_t set_of(struct world *w, uint32_t gpu)
{
    return driver_reset_set(&w->node.reading, &w->node.gpus[gpu]);
}

static void test_sets(void **state)
{
    struct world *w = *state;
    assert_int_equal(set_of(w, 0), 1); /* no links are known */
    node_link(&w->node, 0, 1);
    assert_int_equal(set_of(w, 0), 3);
    assert_int_equal(set_of(w, 1), 3);
    assert_int_equal(set_of(w, 2), 4);
    node_link(&w->node, 1, 2);
    assert_int_equal(set_of(w, 0), 7); /* over GPU 1 */
    for (uint32_t i = 0; i < 3; i++)
        w->node.gpus[i].compute_major = 8;
    assert_int_equal(set_of(w, 0), 1); /* from Ampere on each alone */
    w->node.reading.resets_linked = true;
    assert_int_equal(set_of(w, 0), 7); /* unless the reset program says otherwise */
    w->node.gpus[1].index = 5;
    assert_int_equal(set_of(w, 0), 1 | 1 << 5 | 1 << 2); /* by index, not by place */
}

static void test_a_reset_waits_for_all(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 0, 1);
    world_process(w, 4711, 1);
    world_run(w, 1000, 1000);
    world_xid(w, "GPU-0", 48);
    world_run(w, 120000, 1000);
    assert_int_equal(w->resets_n, 0);
    assert_health(w, 0, UNIT_DRAINING);
    assert_health(w, 1, UNIT_HEALTHY); /* works on meanwhile */
    w->processes_n = 0;
    world_run(w, HEALTH_IDLE_MS + 1000, 1000);
    assert_health(w, 1, UNIT_DRAINING); /* nobody new comes */
    assert_int_equal(w->resets_n, 0);
    world_run(w, HEALTH_IDLE_MS + 2000, 1000);
    assert_int_equal(w->resets_n, 1);
    assert_string_equal(w->reset_uuid, "GPU-0");
    health_reset_done(w->h, "GPU-0", 0, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_PROBATION);
    assert_health(w, 1, UNIT_PROBATION);
    world_run(w, HEALTH_PROBATION_MS + 1000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_health(w, 1, UNIT_HEALTHY);
    assert_int_equal(w->resets_n, 1);
}

static void test_an_owner_on_a_linked_one(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 0, 1);
    w->node.owners[0] = (struct slot_owner){"nvidia.com/gpu", "GPU-1", "default", "p", "main"};
    w->node.s.owners_n = 1;
    world_xid(w, "GPU-0", 48);
    world_run(w, HEALTH_IDLE_OWNED_MS - 5000, 1000);
    assert_health(w, 1, UNIT_HEALTHY); /* its container may be between two starts */
    assert_int_equal(w->resets_n, 0);
}

static void test_what_comes_to_nothing(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 0, 1);
    world_xid(w, "GPU-0", 48);
    world_run(w, 9000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    world_process(w, 4711, 1); /* somebody who asked nobody */
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_PROBATION);
    assert_int_equal(w->resets_n, 0);
    w->processes_n = 0;
    world_run(w, 20000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-0", -E_IO, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 0, UNIT_DRAINING);
    assert_health(w, 1, UNIT_PROBATION); /* not kept for the next attempt */
    w->node.gpus[1].lost = true;
    world_run(w, 300000, 1000);
    assert_int_equal(w->resets_n, 1); /* who is on a lost GPU nobody knows */
}

/* Out of use for another's sake alone: an XID of long ago is not why. */
static void test_reason_of_a_lent_one(void **state)
{
    struct world *w = *state;
    world_xid(w, "GPU-1", 48);
    world_run(w, 10000, 1000);
    health_reset_done(w->h, "GPU-1", 0, w->now_ms);
    world_run(w, HEALTH_PROBATION_MS + 2000, 1000);
    assert_health(w, 1, UNIT_HEALTHY);
    node_link(&w->node, 0, 1);
    world_xid(w, "GPU-0", 48);
    world_run(w, 9000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    assert_int_equal(w->node.units[1].xid, 0);
    assert_int_equal(w->node.units[0].xid, 48);
}

/* The agent starts anew while one is lent: that one is well. Its pods need not go, and where no reset comes it is in use again. */
static void test_restart_while_one_is_lent(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 0, 1);
    world_xid(w, "GPU-0", 48);
    world_run(w, 9000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    world_agent_restarts(w);
    w->node.gpus[0].lost = true;
    world_run(w, 2000, 1000);
    assert_false(health_is_faulty(w->h, &w->node.units[1]));
    world_run(w, 2 * HEALTH_PROBATION_MS, 1000);
    assert_int_equal(w->resets_n, 0);
    assert_health(w, 1, UNIT_HEALTHY);
    w->node.gpus[0].lost = false; /* and where it comes after all, both go through it */
    world_run(w, 30000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, "GPU-0", 0, w->now_ms);
    world_run(w, HEALTH_PROBATION_MS * 2 + 2000, 1000);
    assert_health(w, 0, UNIT_HEALTHY);
    assert_health(w, 1, UNIT_HEALTHY);
}

/* A fault of its own, while it is lent: no end of the other's reset makes it well. */
static void test_fault_of_a_lent_one(void **state)
{
    struct world *w = *state;
    node_link(&w->node, 0, 1);
    world_xid(w, "GPU-0", 48);
    world_run(w, 9000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    world_xid(w, "GPU-1", 95);
    assert_int_equal(w->node.units[1].xid, 95);
    for (int i = 0; i < 3 * 60 && w->resets_n == 0; i++)
        world_run(w, 1000, 1000);
    assert_int_equal(w->resets_n, 1);
    health_reset_done(w->h, w->reset_uuid, -E_IO, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    assert_true(health_is_faulty(w->h, &w->node.units[1]));
    world_agent_restarts(w);
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_DRAINING);
    assert_int_equal(w->node.units[1].xid, 95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_sets),
        WORLD_TEST(test_a_reset_waits_for_all),
        WORLD_TEST(test_an_owner_on_a_linked_one),
        WORLD_TEST(test_what_comes_to_nothing),
        WORLD_TEST(test_reason_of_a_lent_one),
        WORLD_TEST(test_restart_while_one_is_lent),
        WORLD_TEST(test_fault_of_a_lent_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
