/* test_health.c - the catalogue, the way of a unit through its states, routing, and random events against what must always hold */
#include "health_node.h"
#include "base/random.h"
#include "gpu/nvml.h"

struct world {
    struct node node;
    struct health *h;
    int64_t now_ms;
    uint32_t resets_n, events_n, sets_n;
    char reset_uuid[48];
    struct health_order last_event;
    struct driver_process processes[8];
    uint32_t processes_n;
};

static void world_take(struct world *w)
{
    struct health_order o;
    while (health_next(w->h, &o)) {
        if (o.act == HEALTH_EVENT) {
            w->events_n++;
            w->last_event = o;
        } else if (o.act == HEALTH_RESET) {
            w->resets_n++;
            memcpy(w->reset_uuid, o.gpu_uuid, sizeof w->reset_uuid);
        } else if (o.act == HEALTH_SET) {
            w->sets_n++;
            for (uint32_t i = 0; i < NODE_UNITS; i++) {
                struct unit *u = &w->node.units[i];
                bool same = o.gi == HEALTH_WHOLE || (u->mig && u->mig->gi == o.gi && u->mig->ci == o.ci);
                if (same && text_equal(u->gpu->uuid, o.gpu_uuid)) {
                    u->health = o.health;
                    u->xid = o.xid;
                }
            }
        }
    }
}

static void world_run(struct world *w, int64_t span_ms, int64_t step_ms)
{
    for (int64_t end = w->now_ms + span_ms; w->now_ms < end;) {
        w->now_ms += step_ms;
        w->node.reading.number++;
        health_tick(w->h, &w->node.s, w->processes, w->processes_n, w->now_ms);
        world_take(w);
    }
}

static void world_start(struct world *w, const char *disable, const char *enable)
{
    memset(w, 0, sizeof *w);
    node_make(&w->node);
    w->h = health_new(disable, enable);
    w->now_ms = 1000000;
    world_run(w, 1000, 1000);
}

static void world_event(struct world *w, struct driver_event e)
{
    health_event(w->h, &e, &w->node.s, w->now_ms);
    world_take(w);
}

static void assert_health(const struct world *w, uint32_t unit, enum unit_health health)
{
    assert_string_equal(unit_health_name(w->node.units[unit].health), unit_health_name(health));
}

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
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 77, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes_n = 1;
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 48));
    assert_health(&w, 0, UNIT_SUSPECT);
    assert_health(&w, 1, UNIT_HEALTHY);
    assert_int_equal(w.node.units[0].xid, 48);
    assert_non_null(strstr(w.last_event.text, "GPU-0: XID 48 Uncorrectable memory error"));
    assert_true(w.last_event.warning);
    world_run(&w, 3000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    world_run(&w, 3600000, 1000);
    assert_int_equal(w.resets_n, 0); /* somebody is on it */
    w.processes_n = HEALTH_PROCESSES_UNKNOWN;
    world_run(&w, 60000, 1000);
    assert_int_equal(w.resets_n, 0); /* nobody knows */
    w.processes_n = 0;
    w.node.owners[0] = (struct slot_owner){"nvidia.com/gpu", "GPU-0::1", "team", "train", "c"};
    w.node.s.owners_n = 1;
    world_run(&w, HEALTH_IDLE_OWNED_MS - 2000, 1000);
    assert_int_equal(w.resets_n, 0); /* its pod may be between two containers */
    world_run(&w, 5000, 1000);
    assert_int_equal(w.resets_n, 1);
    assert_string_equal(w.reset_uuid, "GPU-0");
    world_run(&w, 20000, 1000);
    assert_int_equal(w.resets_n, 1); /* asked once */
    health_reset_done(w.h, "GPU-0", 0, w.now_ms);
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    world_run(&w, HEALTH_PROBATION_MS - 2000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    world_run(&w, 3000, 1000);
    assert_health(&w, 0, UNIT_HEALTHY);
    assert_int_equal(w.node.units[0].xid, 0);
    health_free(w.h);
}

static void fail_and_reset(struct world *w, uint64_t xid)
{
    uint32_t resets = w->resets_n;
    world_event(w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, xid));
    for (int i = 0; i < 20 && w->resets_n == resets; i++)
        world_run(w, 1000, 1000);
    assert_int_equal(w->resets_n, resets + 1);
    health_reset_done(w->h, "GPU-1", 0, w->now_ms);
    world_run(w, 1000, 1000);
    assert_health(w, 1, UNIT_PROBATION);
}

static void test_probation_grows(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    for (int64_t i = 0, need = HEALTH_PROBATION_MS; i < 4; i++, need *= 2) {
        fail_and_reset(&w, 109);
        world_run(&w, need - 3000, 1000);
        assert_health(&w, 1, UNIT_PROBATION);
    }
    world_run(&w, 5000, 1000);
    assert_health(&w, 1, UNIT_HEALTHY);
    world_run(&w, HEALTH_FORGET_MS + 60000, 60000);
    fail_and_reset(&w, 109);
    world_run(&w, HEALTH_PROBATION_MS + 1000, 1000); /* forgiven */
    assert_health(&w, 1, UNIT_HEALTHY);
    for (int i = 0; i < HEALTH_FAILURES_MAX - 2; i++)
        fail_and_reset(&w, 109);
    world_event(&w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 109));
    assert_health(&w, 1, UNIT_FAILED);
    world_run(&w, 24 * 3600000LL, 600000);
    assert_health(&w, 1, UNIT_FAILED);
    health_free(w.h);
}

static void test_again_is_worse(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    fail_and_reset(&w, 64);
    world_event(&w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 64));
    assert_health(&w, 1, UNIT_FAILED);
    assert_non_null(strstr(w.last_event.text, "replaced"));
    health_free(w.h);
}

static void test_mig_routing(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 5, .gi = 1, .ci = 0, .gpu = 2};
    w.processes_n = 1;
    world_event(&w, node_xid("GPU-2", 2, 0, 95));
    assert_health(&w, 2, UNIT_HEALTHY);
    assert_health(&w, 3, UNIT_SUSPECT);
    assert_health(&w, 4, UNIT_HEALTHY);
    world_run(&w, 600000, 1000);
    assert_health(&w, 3, UNIT_DRAINING);
    assert_health(&w, 2, UNIT_HEALTHY); /* works on */
    assert_int_equal(w.resets_n, 0);
    w.processes_n = 0;
    for (int i = 0; i < 30 && !w.resets_n; i++) {
        world_run(&w, 1000, 1000);
        if (w.resets_n)
            assert_health(&w, 2, UNIT_DRAINING); /* nothing new may start on it */
    }
    assert_int_equal(w.resets_n, 1);
    health_reset_done(w.h, "GPU-2", 0, w.now_ms);
    world_run(&w, 1000, 1000);
    assert_health(&w, 3, UNIT_PROBATION);
    world_run(&w, HEALTH_PROBATION_MS + 2000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(&w, i, UNIT_HEALTHY);

    world_event(&w, node_xid("GPU-2", 3, HEALTH_WHOLE, 95)); /* a GPU instance with all of its compute instances */
    assert_health(&w, 4, UNIT_SUSPECT);
    assert_health(&w, 3, UNIT_HEALTHY);
    world_event(&w, node_xid("GPU-0", 0, 0, 95)); /* 0 from a GPU without MIG is no instance */
    assert_health(&w, 0, UNIT_SUSPECT);
    health_free(w.h);
}

static void test_without_device(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    world_event(&w, node_xid("", HEALTH_WHOLE, HEALTH_WHOLE, 7)); /* an unknown number, too */
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(&w, i, UNIT_SUSPECT);
    health_free(w.h);
}

static void test_applications_are_blamed(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 100, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes[1] = (struct driver_process){.pid = 200, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes[2] = (struct driver_process){.pid = 300, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 1};
    w.processes_n = 3;
    world_run(&w, 1000, 1000);
    w.sets_n = 0;
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 31));
    world_run(&w, 2000, 1000);
    assert_int_equal(w.events_n, 0);
    w.processes[1] = w.processes[2]; /* 200 ends */
    w.processes_n = 2;
    world_run(&w, 1000, 1000);
    assert_int_equal(w.events_n, 1);
    assert_int_equal(w.last_event.pids_n, 1);
    assert_int_equal(w.last_event.pids[0], 200);
    assert_non_null(strstr(w.last_event.text, "of process 200"));
    w.processes_n = HEALTH_PROCESSES_UNKNOWN; /* not asked for a while: 300 is known, 400 has come since */
    w.processes[2] = (struct driver_process){.pid = 400, .gi = 2, .ci = 0, .gpu = 2};
    world_run(&w, 20000, 1000);
    world_event(&w, node_xid("GPU-2", 2, 0, 13));
    w.processes_n = 3;
    world_run(&w, 1000, 1000);
    assert_int_equal(w.last_event.pids_n, 1);
    assert_int_equal(w.last_event.pids[0], 400);
    world_event(&w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 94)); /* alone there: at once */
    world_run(&w, 1000, 1000);
    assert_int_equal(w.last_event.pids[0], 300);
    static const uint32_t apps[] = {13, 31, 43, 45, 68, 94};
    for (int k = 0; k < 1000; k++) {
        world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, apps[k % 6]));
        world_run(&w, 100, 100);
    }
    assert_int_equal(w.sets_n, 0);
    assert_in_range(w.events_n, 4, 3 + 3 * 6 + 6); /* 100 s: not a thousand */
    health_free(w.h);
}

static void test_driver_advises(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.node.gpus[0].recovery = NVML_RECOVERY_GPU_RESET; /* no event was seen */
    w.node.gpus[1].recovery = NVML_RECOVERY_NODE_REBOOT;
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_SUSPECT);
    assert_health(&w, 1, UNIT_FAILED);
    world_run(&w, 10000, 1000);
    assert_int_equal(w.resets_n, 1);
    health_reset_done(w.h, "GPU-0", 0, w.now_ms);
    world_run(&w, HEALTH_PROBATION_MS - 2000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    world_run(&w, 5000, 1000);
    assert_health(&w, 0, UNIT_DRAINING); /* not content yet: again, and longer */
    w.node.gpus[0].recovery = NVML_RECOVERY_NONE;
    world_run(&w, 10000, 1000);
    assert_int_equal(w.resets_n, 2);
    health_reset_done(w.h, "GPU-0", 0, w.now_ms);
    world_run(&w, 2 * HEALTH_PROBATION_MS + 2000, 1000);
    assert_health(&w, 0, UNIT_HEALTHY);
    w.node.gpus[0].recovery = NVML_RECOVERY_DRAIN_AND_RESET; /* at leisure */
    w.processes[0] = (struct driver_process){.pid = 77, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes_n = 1;
    world_run(&w, 600000, 1000);
    assert_health(&w, 0, UNIT_HEALTHY);
    w.processes_n = 0;
    world_run(&w, 120000, 1000);
    assert_int_equal(w.resets_n, 3);
    health_free(w.h);
    world_start(&w, "154", NULL);
    w.node.gpus[0].recovery = NVML_RECOVERY_NODE_REBOOT;
    world_run(&w, 5000, 1000);
    assert_health(&w, 0, UNIT_HEALTHY);
    health_free(w.h);
}

static void test_advice_about_one_instance(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 5, .gi = 1, .ci = 0, .gpu = 2};
    w.processes_n = 1;
    world_event(&w, node_xid("GPU-2", 2, 0, 95));
    w.node.gpus[2].recovery = NVML_RECOVERY_GPU_RESET;
    for (int i = 0; i < 60; i++) {
        world_run(&w, 1000, 1000);
        assert_health(&w, 2, UNIT_HEALTHY); /* works on, and its pod is not asked to go */
        assert_false(health_is_faulty(w.h, &w.node.units[2]));
    }
    assert_health(&w, 3, UNIT_DRAINING);
    assert_int_equal(w.resets_n, 0);
    w.processes_n = 0;
    world_run(&w, 15000, 1000);
    assert_int_equal(w.resets_n, 1);
    w.node.gpus[2].recovery = NVML_RECOVERY_NONE;
    health_reset_done(w.h, "GPU-2", 0, w.now_ms);
    world_run(&w, HEALTH_PROBATION_MS + 2000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(&w, i, UNIT_HEALTHY);
    world_event(&w, node_xid("GPU-2", 2, 0, 95));
    w.node.gpus[2].recovery = NVML_RECOVERY_NODE_REBOOT; /* no reset of an instance's fault helps */
    world_run(&w, 1000, 1000);
    assert_health(&w, 2, UNIT_FAILED);
    health_free(w.h);
}

static void test_lost_while_it_drains(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 77, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes_n = 1;
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 48));
    world_run(&w, 5000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    assert_true(health_is_faulty(w.h, &w.node.units[0]));
    assert_false(health_is_faulty(w.h, &w.node.units[1]));
    w.node.gpus[0].lost = true;
    world_run(&w, HEALTH_LOST_MS - 10000, 1000);
    assert_health(&w, 0, UNIT_SUSPECT);
    w.node.gpus[0].lost = false; /* back in time: what it waited for is still to be done */
    world_run(&w, 10000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    w.node.gpus[0].lost = true;
    world_run(&w, HEALTH_LOST_MS + 10000, 1000);
    assert_health(&w, 0, UNIT_FAILED);
    assert_true(health_is_faulty(w.h, &w.node.units[0]));
    health_free(w.h);
}

static void test_harmless_ones_are_told(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    for (int i = 0; i < 10; i++) {
        world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 92));
        world_run(&w, 1000, 1000);
    }
    assert_int_equal(w.events_n, 1);
    assert_false(w.last_event.warning);
    assert_string_equal(w.last_event.text, "GPU-0: XID 92 Many corrected memory errors; the GPU stays in use. All were corrected; have the board "
                                           "checked if they go on.");
    assert_health(&w, 0, UNIT_HEALTHY);
    health_free(w.h);
    world_start(&w, "92", NULL);
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 92));
    assert_int_equal(w.events_n, 0);
    health_free(w.h);
}

static void test_named_by_the_kernel_log(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    for (uint32_t i = 0; i < 3; i++)
        w.processes[i] = (struct driver_process){.pid = 100 + i, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes_n = 3;
    world_run(&w, 1000, 1000);
    struct driver_event e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 31);
    world_event(&w, e);
    world_run(&w, 1000, 1000);
    assert_int_equal(w.events_n, 0);
    e.pid = 101; /* after the driver's event */
    health_culprit(w.h, &e);
    world_run(&w, 1000, 1000);
    assert_non_null(strstr(w.last_event.text, "XID 31 GPU memory page fault; of process 101; the GPU stays in use"));
    e = node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 43);
    e.pid = 102; /* with the event */
    world_event(&w, e);
    world_run(&w, 1000, 1000);
    assert_int_equal(w.last_event.pids_n, 1);
    assert_int_equal(w.last_event.pids[0], 102);
    health_culprit(w.h, &e); /* nothing waits any more */
    world_run(&w, 20000, 1000);
    assert_int_equal(w.events_n, 2);
    health_free(w.h);
}

static void test_kernel_log_names_one_instance(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    for (uint32_t i = 0; i < 4; i++)
        w.processes[i] = (struct driver_process){.pid = 100 + i, .gi = 1 + i / 2, .ci = 0, .gpu = 2};
    w.processes_n = 4;
    world_run(&w, 1000, 1000);
    struct driver_event first = node_xid("GPU-2", 1, 0, 31), second = node_xid("GPU-2", 2, 0, 31);
    world_event(&w, first);
    world_event(&w, second);
    first.pid = 101;
    health_culprit(w.h, &first);
    world_run(&w, 1000, 1000);
    assert_int_equal(w.events_n, 1); /* the other instance has an error of its own */
    assert_non_null(strstr(w.last_event.text, "GPU-2 instance 1/0: XID 31 GPU memory page fault; of process 101;"));
    second.pid = 102;
    second.ci = HEALTH_WHOLE; /* the log does not say it always */
    health_culprit(w.h, &second);
    world_run(&w, 1000, 1000);
    assert_int_equal(w.events_n, 2);
    assert_non_null(strstr(w.last_event.text, "GPU-2 instance 2/0: XID 31 GPU memory page fault; of process 102;"));
    health_free(w.h);
}

static void test_variables(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, "all", NULL);
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 79));
    w.node.gpus[1].lost = true;
    world_run(&w, 10000, 1000);
    assert_int_equal(w.sets_n + w.events_n, 0);
    health_free(w.h);

    world_start(&w, "xids", NULL);
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 48));
    assert_health(&w, 0, UNIT_HEALTHY);
    w.node.gpus[1].lost = true;
    world_run(&w, 1000, 1000);
    assert_health(&w, 1, UNIT_SUSPECT); /* not an XID */
    health_free(w.h);

    world_start(&w, "48, 95,frog", "13");
    assert_non_null(strstr(w.last_event.text, "DP_DISABLE_HEALTHCHECKS: \"frog\" is not an XID"));
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 48));
    assert_health(&w, 0, UNIT_HEALTHY);
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 13));
    assert_health(&w, 0, UNIT_SUSPECT);
    world_event(&w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 46));
    assert_health(&w, 1, UNIT_SUSPECT);
    health_free(w.h);

    world_start(&w, "all", "48");
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 46));
    assert_health(&w, 0, UNIT_HEALTHY);
    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 48));
    assert_health(&w, 0, UNIT_SUSPECT);
    health_free(w.h);

    char many[4000] = "";
    for (int i = 0; i < 900; i++)
        memcpy(many + i * 3, "31,", 4);
    world_start(&w, many, NULL);
    assert_non_null(strstr(w.last_event.text, "more than 256"));
    health_free(w.h);
}

static void test_lost_and_back(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    struct driver_event e = {.uuid = "GPU-1", .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .kind = DRIVER_EVENT_LOST};
    w.node.gpus[1].lost = true;
    world_event(&w, e);
    assert_health(&w, 1, UNIT_SUSPECT);
    world_run(&w, 60000, 1000);
    assert_health(&w, 1, UNIT_SUSPECT);
    w.node.gpus[1].lost = false;
    e.kind = DRIVER_EVENT_BACK;
    world_event(&w, e);
    assert_health(&w, 1, UNIT_PROBATION);
    world_run(&w, HEALTH_PROBATION_MS + 1000, 1000);
    assert_health(&w, 1, UNIT_HEALTHY);
    w.node.gpus[1].lost = true; /* seen only in the reading */
    world_run(&w, HEALTH_LOST_MS + 2000, 1000);
    assert_health(&w, 1, UNIT_FAILED);
    w.node.gpus[1].lost = false;
    world_run(&w, 5000, 1000);
    assert_health(&w, 1, UNIT_PROBATION);
    assert_int_equal(w.resets_n, 0);

    world_event(&w, node_xid("GPU-0", HEALTH_WHOLE, HEALTH_WHOLE, 79));
    assert_health(&w, 0, UNIT_FAILED);
    w.node.gpus[0].lost = true;
    world_run(&w, 10000, 1000);
    assert_health(&w, 0, UNIT_FAILED);
    w.node.gpus[0].lost = false; /* somebody rescanned the bus */
    world_run(&w, 5000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    health_free(w.h);
}

static void test_journal_is_taken_over(void **state)
{
    (void)state;
    struct world w;
    memset(&w, 0, sizeof w);
    node_make(&w.node);
    w.node.units[0].health = UNIT_DRAINING;
    w.node.units[0].xid = 48;
    w.node.units[1].health = UNIT_FAILED;
    w.node.units[1].xid = 79;
    w.h = health_new(NULL, NULL);
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    assert_health(&w, 1, UNIT_FAILED);
    world_run(&w, 10000, 1000);
    assert_int_equal(w.resets_n, 1);
    health_reset_done(w.h, "GPU-0", -E_IO, w.now_ms);
    health_reset_done(w.h, "GPU-0", 0, w.now_ms); /* not asked: no effect */
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    for (int i = 0; i < 2; i++) {
        world_run(&w, 120000, 1000);
        health_reset_done(w.h, "GPU-0", -E_IO, w.now_ms);
    }
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_FAILED);
    assert_int_equal(w.resets_n, 3);
    health_free(w.h);

    w.node.units[2].health = UNIT_SUSPECT;
    w.h = health_new(NULL, NULL);
    health_rebooted(w.h);
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    assert_health(&w, 1, UNIT_PROBATION);
    world_run(&w, HEALTH_PROBATION_MS + 1000, 1000);
    for (uint32_t i = 0; i < NODE_UNITS; i++)
        assert_health(&w, i, UNIT_HEALTHY);
    health_free(w.h);
}

static void test_restart_while_lost(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.processes[0] = (struct driver_process){.pid = 77, .gi = HEALTH_WHOLE, .ci = HEALTH_WHOLE, .gpu = 0};
    w.processes_n = 1;
    w.node.gpus[0].lost = w.node.gpus[1].lost = true;
    world_run(&w, 5000, 1000);
    assert_health(&w, 0, UNIT_SUSPECT);
    health_free(w.h);
    w.h = health_new(NULL, NULL);
    w.node.gpus[0].lost = false; /* back while nobody looked */
    world_run(&w, 1000, 1000);
    assert_health(&w, 0, UNIT_PROBATION);
    assert_health(&w, 1, UNIT_SUSPECT);
    w.node.gpus[1].lost = false;
    world_run(&w, 10000, 1000);
    assert_health(&w, 1, UNIT_PROBATION);
    assert_false(health_is_faulty(w.h, &w.node.units[0]));
    world_run(&w, 2 * HEALTH_PROBATION_MS + 10000, 1000);
    assert_health(&w, 0, UNIT_HEALTHY);
    assert_health(&w, 1, UNIT_HEALTHY);
    assert_int_equal(w.resets_n, 0);
    health_free(w.h);
}

static void test_remap_waits_for_idle(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.node.owners[0] = (struct slot_owner){"nvidia.com/gpu", "1", "team", "train", "c"};
    w.node.s.owners_n = 1;
    world_event(&w, node_xid("GPU-1", HEALTH_WHOLE, HEALTH_WHOLE, 63));
    world_run(&w, 3600000, 1000);
    assert_health(&w, 1, UNIT_HEALTHY);
    w.node.s.owners_n = 0;
    for (int i = 0; i < 6; i++) { /* asked now and then, as long as all is well */
        w.processes_n = HEALTH_PROCESSES_UNKNOWN;
        world_run(&w, 14000, 1000);
        w.processes_n = 0;
        world_run(&w, 1000, 1000);
    }
    assert_health(&w, 1, UNIT_DRAINING);
    world_run(&w, 10000, 1000);
    assert_int_equal(w.resets_n, 1);
    health_reset_done(w.h, "GPU-1", 0, w.now_ms);
    world_run(&w, HEALTH_PROBATION_MS + 2000, 1000);
    assert_health(&w, 1, UNIT_HEALTHY);
    world_run(&w, 600000, 1000);
    assert_int_equal(w.resets_n, 1);
    health_free(w.h);
}

static void test_advice_that_stays(void **state)
{
    (void)state;
    struct world w;
    world_start(&w, NULL, NULL);
    w.node.gpus[0].recovery = NVML_RECOVERY_DRAIN_AND_RESET;
    world_run(&w, 61000, 1000);
    assert_health(&w, 0, UNIT_DRAINING);
    assert_int_equal(w.node.units[0].xid, 154); /* no row was remapped */
    assert_non_null(strstr(w.last_event.text, "GPU-0: XID 154 Recovery advice changed; idle: is reset."));
    int64_t probation_ms = HEALTH_PROBATION_MS;
    for (uint32_t i = 1; i < HEALTH_FAILURES_MAX; i++) {
        world_run(&w, 7000, 1000);
        assert_int_equal(w.resets_n, i);
        health_reset_done(w.h, "GPU-0", 0, w.now_ms);
        world_run(&w, probation_ms - 2000, 1000);
        assert_health(&w, 0, UNIT_PROBATION);
        world_run(&w, 4000, 1000);
        assert_health(&w, 0, UNIT_HEALTHY);
        world_run(&w, 50000, 1000);
        assert_health(&w, 0, UNIT_HEALTHY); /* one minute in use, before it is idle again */
        world_run(&w, 10000, 1000);
        probation_ms = probation_ms * 2 < HEALTH_PROBATION_MAX_MS ? probation_ms * 2 : HEALTH_PROBATION_MAX_MS;
    }
    assert_health(&w, 0, UNIT_FAILED);
    assert_non_null(strstr(w.last_event.text, "after every reset; it is out of use for good"));
    world_run(&w, 24 * 3600000LL, 60000);
    assert_health(&w, 0, UNIT_FAILED);
    assert_int_equal(w.resets_n, HEALTH_FAILURES_MAX - 1);
    health_free(w.h);
}

/* ---- random events ---- */

struct truth {
    bool fault[NODE_UNITS]; /* since the last reset of its GPU */
    bool hopeless[NODE_UNITS];
    int64_t healthy_ms[NODE_UNITS];
    enum unit_health was[NODE_UNITS];
};

static void truth_event(struct truth *t, const struct node *n, const struct driver_event *e)
{
    static const uint32_t hard[] = {48, 62, 64, 74, 79, 95, 109, 119, 500};
    bool is_hard = e->kind == DRIVER_EVENT_ECC_DOUBLE;
    for (size_t i = 0; i < sizeof hard / sizeof *hard && e->kind == DRIVER_EVENT_XID; i++)
        is_hard = is_hard || e->data == hard[i];
    for (uint32_t i = 0; i < NODE_UNITS; i++) {
        const struct unit *u = &n->units[i];
        if (e->uuid[0] && !text_equal(e->uuid, u->gpu->uuid))
            continue;
        if (u->mig && e->gi != HEALTH_WHOLE && (e->gi != u->mig->gi || (e->ci != HEALTH_WHOLE && e->ci != u->mig->ci)))
            continue;
        t->fault[i] = t->fault[i] || is_hard;
    }
}

static void truth_check(struct truth *t, struct world *w)
{
    for (uint32_t i = 0; i < NODE_UNITS; i++) {
        enum unit_health health = w->node.units[i].health;
        if (health == UNIT_HEALTHY)
            assert_false(t->fault[i]); /* never in use with a fault */
        if (health == UNIT_HEALTHY && t->was[i] != UNIT_HEALTHY) {
            assert_true(w->now_ms - t->healthy_ms[i] >= HEALTH_PROBATION_MS); /* no flapping */
            t->healthy_ms[i] = w->now_ms;
        }
        if (health == UNIT_HEALTHY)
            t->healthy_ms[i] = t->healthy_ms[i] ? t->healthy_ms[i] : w->now_ms;
        t->was[i] = health;
    }
}

static struct driver_event random_event(struct random *r)
{
    static const char *const uuids[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-2", "", "GPU-unknown"};
    static const uint32_t xids[] = {13, 31, 43, 45, 68, 94, 14, 63, 92, 48, 62, 64, 74, 95, 109, 119, 500};
    struct driver_event e = node_xid(uuids[random_below(r, random_permille(r, 100) ? 6 : 4)], HEALTH_WHOLE, HEALTH_WHOLE, xids[random_below(r, 17)]);
    if (text_equal(e.uuid, "GPU-2") && random_permille(r, 700)) {
        e.gi = 1 + (uint32_t)random_below(r, 3);
        e.ci = random_permille(r, 800) ? 0 : HEALTH_WHOLE;
    }
    if (random_permille(r, 50))
        e.kind = random_permille(r, 500) ? DRIVER_EVENT_ECC_DOUBLE : DRIVER_EVENT_ECC_SINGLE;
    return e;
}

static void world_step(struct world *w, struct truth *t, struct random *r, bool quiet)
{
    w->now_ms += 500;
    w->node.reading.number++;
    uint32_t resets = w->resets_n;
    health_tick(w->h, &w->node.s, w->processes, w->processes_n, w->now_ms);
    world_take(w);
    if (w->resets_n != resets) {
        for (uint32_t i = 0; i < w->processes_n; i++)
            assert_string_not_equal(w->node.gpus[w->processes[i].gpu].uuid, w->reset_uuid); /* nobody loses its GPU */
        bool works = quiet || !random_permille(r, 100);
        for (uint32_t i = 0; works && i < NODE_UNITS; i++)
            t->fault[i] = t->fault[i] && !text_equal(w->node.units[i].gpu->uuid, w->reset_uuid);
        health_reset_done(w->h, w->reset_uuid, works ? 0 : -E_IO, w->now_ms);
    }
    truth_check(t, w);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random r = {seed};
        struct truth t = {0};
        struct world w;
        world_start(&w, NULL, NULL);
        for (int step = 0; step < 20000; step++) {
            if (random_permille(&r, 2)) {
                struct driver_event e = random_event(&r);
                truth_event(&t, &w.node, &e);
                world_event(&w, e);
            }
            if (random_permille(&r, 3)) {
                w.processes_n = (uint32_t)random_below(&r, 4);
                for (uint32_t i = 0; i < w.processes_n; i++) {
                    uint16_t gpu = (uint16_t)random_below(&r, 3);
                    uint32_t gi = gpu == 2 ? 1 + (uint32_t)random_below(&r, 3) : HEALTH_WHOLE;
                    w.processes[i] = (struct driver_process){1 + (uint32_t)random_below(&r, 50), gi, gpu == 2 ? 0 : gi, gpu, 0};
                }
            }
            if (random_permille(&r, 1))
                w.node.gpus[random_below(&r, 3)].lost = random_permille(&r, 300);
            world_step(&w, &t, &r, false);
        }
        w.processes_n = 0;
        for (uint32_t i = 0; i < 3; i++)
            w.node.gpus[i].lost = false;
        for (int step = 0; step < 5 * 7200; step++)
            world_step(&w, &t, &r, true);
        for (uint32_t i = 0; i < NODE_UNITS; i++) /* quiet: everything is back, or out for good */
            assert_true(w.node.units[i].health == UNIT_HEALTHY || w.node.units[i].health == UNIT_FAILED);
        health_free(w.h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_whole_way),
        cmocka_unit_test(test_probation_grows),
        cmocka_unit_test(test_again_is_worse),
        cmocka_unit_test(test_mig_routing),
        cmocka_unit_test(test_without_device),
        cmocka_unit_test(test_applications_are_blamed),
        cmocka_unit_test(test_driver_advises),
        cmocka_unit_test(test_advice_about_one_instance),
        cmocka_unit_test(test_lost_while_it_drains),
        cmocka_unit_test(test_harmless_ones_are_told),
        cmocka_unit_test(test_named_by_the_kernel_log),
        cmocka_unit_test(test_kernel_log_names_one_instance),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_lost_and_back),
        cmocka_unit_test(test_journal_is_taken_over),
        cmocka_unit_test(test_restart_while_lost),
        cmocka_unit_test(test_remap_waits_for_idle),
        cmocka_unit_test(test_advice_that_stays),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
