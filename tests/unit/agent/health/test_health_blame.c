/* test_health_blame.c - errors that leave the GPU in use: whose they are, and how often they are told */
#include "health_world.h"

static void test_applications_are_blamed(void **state)
{
    struct world *w = *state;
    w->processes[0] = (struct driver_process){.pid = 100, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w->processes[1] = (struct driver_process){.pid = 200, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w->processes[2] = (struct driver_process){.pid = 300, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 1};
    w->processes_n = 3;
    world_run(w, 1000, 1000);
    w->sets_n = 0;
    world_xid(w, "GPU-0", 31);
    world_run(w, 2000, 1000);
    assert_int_equal(w->events_n, 0);
    w->processes[1] = w->processes[2]; /* 200 ends */
    w->processes_n = 2;
    world_run(w, 1000, 1000);
    assert_int_equal(w->events_n, 1);
    assert_int_equal(w->last_event.pids_n, 1);
    assert_int_equal(w->last_event.pids[0], 200);
    assert_non_null(strstr(w->last_event.text, "of process 200"));
    w->processes_n = HEALTH_PROCESSES_UNKNOWN; /* not asked for a while: 300 is known, 400 has come since */
    w->processes[2] = (struct driver_process){.pid = 400, .gi = 2, .ci = 0, .gpu = 2};
    world_run(w, 20000, 1000);
    world_event(w, node_xid("GPU-2", 2, 0, 13));
    w->processes_n = 3;
    world_run(w, 1000, 1000);
    assert_int_equal(w->last_event.pids_n, 1);
    assert_int_equal(w->last_event.pids[0], 400);
    world_xid(w, "GPU-1", 94); /* alone there: at once */
    world_run(w, 1000, 1000);
    assert_int_equal(w->last_event.pids[0], 300);
    static const uint32_t apps[] = {13, 31, 43, 45, 68, 94};
    for (int k = 0; k < 1000; k++) {
        world_event(w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, apps[k % 6]));
        world_run(w, 100, 100);
    }
    assert_int_equal(w->sets_n, 0);
    assert_in_range(w->events_n, 4, 3 + 3 * 6 + 6); /* 100 s: not a thousand */
}

static void test_named_by_the_kernel_log(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 0; i < 3; i++)
        w->processes[i] = (struct driver_process){.pid = 100 + i, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w->processes_n = 3;
    world_run(w, 1000, 1000);
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 31);
    world_event(w, e);
    world_run(w, 1000, 1000);
    assert_int_equal(w->events_n, 0);
    e.pid = 101; /* after the driver's event */
    health_culprit(w->h, &e);
    world_run(w, 1000, 1000);
    assert_non_null(strstr(w->last_event.text, "XID 31 GPU memory page fault; of process 101; the GPU stays in use"));
    e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 43);
    e.pid = 102; /* with the event */
    world_event(w, e);
    world_run(w, 1000, 1000);
    assert_int_equal(w->last_event.pids_n, 1);
    assert_int_equal(w->last_event.pids[0], 102);
    health_culprit(w->h, &e); /* nothing waits any more */
    world_run(w, 20000, 1000);
    assert_int_equal(w->events_n, 2);
}

static void test_kernel_log_names_one_instance(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 0; i < 4; i++)
        w->processes[i] = (struct driver_process){.pid = 100 + i, .gi = 1 + i / 2, .ci = 0, .gpu = 2};
    w->processes_n = 4;
    world_run(w, 1000, 1000);
    struct driver_event first = node_xid("GPU-2", 1, 0, 31), second = node_xid("GPU-2", 2, 0, 31);
    world_event(w, first);
    world_event(w, second);
    first.pid = 101;
    health_culprit(w->h, &first);
    world_run(w, 1000, 1000);
    assert_int_equal(w->events_n, 1); /* the other instance has an error of its own */
    assert_non_null(strstr(w->last_event.text, "GPU-2 instance 1/0: XID 31 GPU memory page fault; of process 101;"));
    second.pid = 102;
    second.ci = HEALTH_WHOLE; /* the log does not say it always */
    health_culprit(w->h, &second);
    world_run(w, 1000, 1000);
    assert_int_equal(w->events_n, 2);
    assert_non_null(strstr(w->last_event.text, "GPU-2 instance 2/0: XID 31 GPU memory page fault; of process 102;"));
}

static void test_harmless_ones_are_told(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 10; i++) {
        world_xid(w, "GPU-0", 92);
        world_run(w, 1000, 1000);
    }
    assert_int_equal(w->events_n, 1);
    assert_false(w->last_event.warning);
    assert_string_equal(w->last_event.text, "GPU-0: XID 92 Many corrected memory errors; the GPU stays in use. All were corrected; have the board "
                                           "checked if they go on.");
    assert_health(w, 0, UNIT_HEALTHY);
    world_restart(w, "92", NULL);
    world_xid(w, "GPU-0", 92);
    assert_int_equal(w->events_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_applications_are_blamed),
        WORLD_TEST(test_named_by_the_kernel_log),
        WORLD_TEST(test_kernel_log_names_one_instance),
        WORLD_TEST(test_harmless_ones_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
