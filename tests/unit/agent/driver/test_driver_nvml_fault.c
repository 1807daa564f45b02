/* driver_nvml on a node with faults: every kind that libnvsim injects, a driver that comes late or changes, the end at any moment */
#include "nvml_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct driver_nvml_options impatient = {.call_ms = 3000, .step_ms = 3000};

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void check_lost(const struct driver_reading *r, uint32_t gpu)
{
    for (uint32_t i = 0; i < r->gpus_n; i++)
        assert_int_equal(r->gpus[i].lost, i == gpu);
}

/* ---- GPUs that hang, are lost, are slow ---- */

static void test_one_gpu_hangs(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 4, &impatient);
    struct driver_reading *before = node_reading(&n);
    node_fault(&n, 2, -1, -1, "hang", "3600");
    int64_t began_ms = now_ms();
    struct driver_reading *r = node_reading(&n);
    assert_in_range(now_ms() - began_ms, 2900, 60000); /* at the deadline, not at the end of the hang */
    check_lost(r, 2);
    assert_string_equal(r->gpus[2].uuid, before->gpus[2].uuid); /* still known */
    assert_string_equal(node_wait_event(&n, DRIVER_EVENT_LOST, 1)->uuid, r->gpus[2].uuid);
    began_ms = now_ms();
    struct driver_reading *again = node_reading(&n); /* from now on nobody waits for it */
    assert_in_range(now_ms() - began_ms, 0, 2900);
    check_lost(again, 2);
    assert_int_equal(node_step(&n, 1, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0); /* others work */
    assert_int_equal(node_step(&n, 2, (struct mig_step){.kind = MIG_STEP_MODE_ON}), -E_AGAIN);
    struct answer a = {.l = n.l};
    driver_processes(n.d, on_processes, &a);
    answer_wait(&a, 2900);
    assert_int_equal(a.code, 0);
    assert_int_equal(n.events_n, 1 + (n.events_n > 1 && n.events[1].kind == DRIVER_EVENT_MIG_CHANGED));
    node_fault(&n, 2, -1, -1, "back", "");
    const struct driver_event *back = node_wait_event(&n, DRIVER_EVENT_BACK, 1);
    assert_non_null(back);
    assert_string_equal(back->uuid, r->gpus[2].uuid);
    struct driver_reading *after = node_reading(&n);
    check_lost(after, ALL);
    assert_int_equal(node_step(&n, 2, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    driver_reading_unref(after);
    driver_reading_unref(again);
    driver_reading_unref(r);
    driver_reading_unref(before);
    node_free(&n);
}

/* Hanging from the start: its identity is not known, the others are. */
static void test_a_gpu_hangs_from_the_start(void **state)
{
    struct node n;
    node_init(&n, "t4", 3, &impatient);
    node_fault(&n, 0, -1, -1, "hang", "3600");
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(r->gpus_n, 2);
    assert_int_equal(r->gpus[0].index, 1);
    assert_int_equal(r->gpus[1].index, 2);
    driver_reading_unref(r);
    node_fault(&n, 0, -1, -1, "back", "");
    for (int i = 0; i < 500; i++) {
        r = node_reading(&n);
        uint32_t gpus_n = r->gpus_n;
        driver_reading_unref(r);
        if (gpus_n == 3)
            break;
        loop_run_for(n.l, 50, NULL);
    }
    r = node_reading(&n);
    assert_int_equal(r->gpus_n, 3);
    check_lost(r, ALL);
    assert_int_not_equal(r->links[1].ancestor, 255); /* asked as soon as both live */
    driver_reading_unref(r);
    node_free(&n);
}

static void test_lost_and_back(void **state)
{
    static const char *const kinds[] = {"lost", "off-bus"};
    for (int i = 0; i < 2; i++) {
        struct node n;
        node_init(&n, "h100-80gb", 2, NULL);
        node_make_mig(&n, 0, "3g.40gb", 0);
        struct driver_reading *before = node_reading(&n);
        node_fault(&n, 0, -1, -1, kinds[i], "");
        struct driver_reading *r = node_reading(&n);
        check_lost(r, 0);
        assert_string_equal(r->gpus[0].uuid, before->gpus[0].uuid);
        assert_string_equal(r->gpus[0].bus_id, before->gpus[0].bus_id);
        assert_non_null(node_wait_event(&n, DRIVER_EVENT_LOST, 1));
        assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_MODE_OFF}), -E_GONE);
        struct answer a = {.l = n.l};
        driver_processes(n.d, on_processes, &a);
        answer_wait(&a, 60000);
        assert_int_equal(a.code, 0);
        node_fault(&n, 0, -1, -1, "back", "");
        struct driver_reading *after = node_reading(&n);
        check_lost(after, ALL);
        assert_string_equal(node_wait_event(&n, DRIVER_EVENT_BACK, 1)->uuid, before->gpus[0].uuid);
        node_fault(&n, 0, -1, -1, "xid", "48"); /* its events were registered again */
        assert_non_null(node_wait_event(&n, DRIVER_EVENT_XID, 1));
        driver_reading_unref(after);
        driver_reading_unref(r);
        driver_reading_unref(before);
        node_free(&n);
    }
}

static void test_lost_before_the_start(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 3, NULL);
    node_fault(&n, 1, -1, -1, "lost", "");
    struct driver_reading *r = node_reading(&n);
    assert_int_equal(r->gpus_n, 2);
    assert_int_equal(r->gpus[1].index, 2);
    assert_true(r->silent == 2); /* nothing else is known of it */
    node_fault(&n, 1, -1, -1, "back", "");
    struct driver_reading *after = node_reading(&n);
    assert_int_equal(after->gpus_n, 3);
    assert_true(after->silent == 0);
    driver_reading_unref(after);
    driver_reading_unref(r);
    node_free(&n);
}

/* Lost between two calls of one reading, again and again: a reading is whole or says lost, never a crash. */
static void test_lost_in_the_middle(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    node_make_mig(&n, 0, "1g.10gb", 0);
    for (int i = 0; i < 60; i++) {
        struct answer a = {.l = n.l};
        driver_read(n.d, on_reading, &a);
        loop_run_for(n.l, i % 3, NULL);
        node_fault(&n, 0, -1, -1, i % 2 ? "back" : "lost", "");
        answer_wait(&a, 60000);
        assert_int_equal(a.code, 0);
        assert_int_equal(a.reading->gpus_n, 2);
        assert_false(a.reading->gpus[1].lost);
        if (!a.reading->gpus[0].lost && a.reading->gpus[0].migs_n > 0)
            assert_string_equal(a.reading->gpus[0].migs[0].profile, "1g.10gb");
        answer_free(&a);
    }
    node_free(&n);
}

static void test_slow_calls(void **state)
{
    struct node n;
    node_init(&n, "t4", 2, NULL);
    node_fault(&n, 1, -1, -1, "slow", "10");
    struct driver_reading *r = node_reading(&n);
    check_lost(r, ALL);
    assert_int_equal(r->gpus_n, 2);
    driver_reading_unref(r);
    node_free(&n);
}

/* ---- events ---- */

static void test_events_name_their_instance(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    node_make_mig(&n, 1, "3g.40gb", 0);
    node_make_mig(&n, 1, "3g.40gb", 4);
    struct driver_reading *r = node_reading(&n);
    const struct driver_mig *m = &r->gpus[1].migs[1];
    node_fault(&n, 0, -1, -1, "xid", "79");
    const struct driver_event *e = node_wait_event(&n, DRIVER_EVENT_XID, 1);
    assert_non_null(e);
    assert_string_equal(e->uuid, r->gpus[0].uuid);
    assert_int_equal(e->data, 79);
    assert_int_equal(e->gi, ALL);
    assert_int_equal(e->ci, ALL);
    node_fault(&n, 1, m->gi, m->ci, "xid", "94");
    e = node_wait_event(&n, DRIVER_EVENT_XID, 2);
    assert_non_null(e);
    assert_string_equal(e->uuid, r->gpus[1].uuid);
    assert_int_equal(e->data, 94);
    assert_int_equal(e->gi, m->gi);
    assert_int_equal(e->ci, m->ci);
    node_fault(&n, 1, -1, -1, "ecc", "double");
    assert_non_null(node_wait_event(&n, DRIVER_EVENT_ECC_DOUBLE, 1));
    node_fault(&n, 1, -1, -1, "ecc", "single");
    assert_non_null(node_wait_event(&n, DRIVER_EVENT_ECC_SINGLE, 1));
    loop_run_for(n.l, 50, NULL); /* ECC errors come with an XID of their own */
    n.events_n = 0;
    for (int i = 0; i < 100; i++) /* a burst, in order, none lost */
        node_fault(&n, 1, -1, -1, "xid", i % 2 ? "13" : "31");
    assert_non_null(node_wait_event(&n, DRIVER_EVENT_XID, 100));
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(n.events[i].data, i % 2 ? 13 : 31);
    driver_reading_unref(r);
    node_free(&n);
}

static void test_faults_that_are_no_business_of_a_reading(void **state)
{
    static const char *const faults[][2] = {{"throttle", "thermal"},  {"throttle", "brake"}, {"row-remap", "pending"},
                                            {"row-remap", "failure"}, {"nvlink", "3"},       {"fabric", ""},
                                            {"pcie-replay", ""},      {"ecc", "sram"},       {"throttle", "power"}};
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    driver_reading_unref(node_reading(&n));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct err e = {0};
        int r = nvsim_fault(n.sim, 0, -1, -1, faults[i][0], faults[i][1], &e);
        if (r < 0)
            print_message("# %s %s: %s\n", faults[i][0], faults[i][1], e.text);
        struct driver_reading *reading = node_reading(&n);
        check_lost(reading, ALL);
        driver_reading_unref(reading);
    }
    node_free(&n);
}

/* Links are read again: within a minute of readings they show what has become of them. */
static void test_links_change(void **state)
{
    struct node n;
    uint8_t links[20] = {0};
    node_init(&n, "h100-80gb", 8, NULL);
    for (int i = 0; i < 20; i++) {
        if (i == 1)
            node_fault(&n, 0, -1, -1, "nvlink", "3");
        struct driver_reading *r = node_reading(&n);
        links[i] = r->links[1].nvlinks_n;
        assert_int_equal(r->links[2 * 8 + 3].nvlinks_n, 18);
        driver_reading_unref(r);
    }
    assert_int_equal(links[0], 18);
    assert_int_equal(links[8], 17);
    assert_int_equal(links[19], 17);
    node_free(&n);
}

/* ---- the driver itself ---- */

static void test_the_driver_comes_later(void **state)
{
    struct node n;
    char path[300];
    node_init(&n, "t4", 1, NULL); /* its own driver is not used here */
    (void)snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", n.dir);
    struct driver_nvml_options o = {.nvml_path = path, .call_ms = 5000, .step_ms = 5000};
    driver_free(n.d);
    n.d = driver_nvml_new_with(n.l, &o);
    struct answer a = node_read(&n);
    assert_int_equal(a.code, -E_NOTFOUND);
    assert_null(a.reading);
    assert_non_null(strstr(a.error.text, "no NVIDIA driver here"));
    assert_int_equal(symlink(nvsim_library, path), 0);
    node_fault(&n, 0, -1, -1, "driver", "not-loaded");
    for (int i = 0; i < 3; i++) {
        a = node_read(&n);
        assert_int_equal(a.code, -E_NOTFOUND);
        assert_non_null(strstr(a.error.text, "kernel module is not loaded"));
    }
    node_fault(&n, 0, -1, -1, "driver", "mismatch");
    a = node_read(&n);
    assert_int_equal(a.code, -E_CONFLICT);
    node_fault(&n, 0, -1, -1, "driver", "ok");
    a = node_read(&n);
    assert_int_equal(a.code, 0);
    assert_int_equal(a.reading->gpus_n, 1);
    answer_free(&a);
    node_free(&n);
}

static void test_the_driver_changes_under_us(void **state)
{
    struct node n;
    node_init(&n, "a100-40gb", 2, NULL);
    struct driver_reading *before = node_reading(&n);
    node_fault(&n, 0, -1, -1, "driver", "mismatch");
    struct answer a = node_read(&n);
    assert_int_equal(a.code, -E_CONFLICT);
    for (int i = 0; i < 100; i++) { /* the thread that waits for events lets go of the library a little later */
        a = node_read(&n);
        assert_int_equal(a.code, -E_CONFLICT);
        if (strstr(a.error.text, "different versions"))
            break;
        loop_run_for(n.l, 20, NULL);
    }
    assert_non_null(strstr(a.error.text, "different versions"));
    node_fault(&n, 0, -1, -1, "driver", "ok");
    struct driver_reading *r = node_reading(&n);
    check_lost(r, ALL);
    assert_string_equal(r->gpus[1].uuid, before->gpus[1].uuid);
    node_fault(&n, 1, -1, -1, "xid", "43");
    assert_non_null(node_wait_event(&n, DRIVER_EVENT_XID, 1));
    driver_reading_unref(r);
    driver_reading_unref(before);
    node_free(&n);
}

/* ---- the end, at any moment ---- */

static void test_freed_with_calls_under_way(void **state)
{
    for (int i = 0; i < 6; i++) {
        struct node n;
        node_init(&n, "t4", 3, NULL);
        struct answer a[4] = {{.l = n.l}, {.l = n.l}, {.l = n.l}, {.l = n.l}};
        if (i % 2)
            driver_reading_unref(node_reading(&n));
        driver_read(n.d, on_reading, &a[0]);
        driver_read(n.d, on_reading, &a[1]);
        driver_processes(n.d, on_processes, &a[2]);
        driver_reset(n.d, "GPU-x", on_done, &a[3]);
        for (int k = 0; k < i / 2; k++)
            loop_run_for(n.l, 0, NULL);
        node_free(&n);
        for (int k = 0; k < 4; k++)
            answer_free(&a[k]);
    }
}

/* A step behind a call that is under way is not begun any more; one that is under way goes on, and nobody is told. */
static void test_steps_are_taken_back(void **state)
{
    struct node n;
    node_init(&n, "a100-40gb", 2, NULL);
    struct driver_reading *r = node_reading(&n);
    char *gone = mem_text(r->gpus[0].uuid); /* freed at once: an answer would write there */
    struct answer *nobody = mem_zero(1, sizeof *nobody);
    const struct mig_step on = {.kind = MIG_STEP_MODE_ON};
    struct answer mode = {.l = n.l};
    node_fault(&n, 0, -1, -1, "slow", "300");
    driver_set_compute_mode(n.d, gone, 3, on_done, &mode);
    struct driver_call *step = driver_mig_step(n.d, gone, &on, on_done, nobody);
    struct driver_call *read = driver_read(n.d, on_reading, nobody);
    free(gone);
    driver_cancel(step);
    driver_cancel(read);
    free(nobody);
    answer_wait(&mode, 15000);
    assert_int_equal(mode.code, 0);
    node_fault(&n, 0, -1, -1, "slow", "0");
    struct driver_reading *after = node_reading(&n);
    assert_false(after->gpus[0].mig_on || after->gpus[0].mig_pending);
    assert_int_equal(node_step(&n, 0, on), 0); /* it can still be done */
    driver_reading_unref(r);
    driver_reading_unref(after);
    answer_free(&mode);
    node_free(&n);
}

static void test_freed_while_a_gpu_hangs(void **state)
{
    struct node n;
    node_init(&n, "t4", 2, &impatient);
    driver_reading_unref(node_reading(&n));
    node_fault(&n, 0, -1, -1, "hang", "3600");
    driver_reading_unref(node_reading(&n));
    int64_t began_ms = now_ms();
    driver_free(n.d);
    n.d = NULL;
    assert_in_range(now_ms() - began_ms, 0, 60000);
    node_fault(&n, 0, -1, -1, "back", ""); /* the thread returns into nothing */
    for (int i = 0; i < 20; i++)
        loop_run_for(n.l, 10, NULL);
    node_free(&n);
}

static void free_in_answer(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct node *n = arg;
    driver_free(n->d);
    n->d = NULL;
    loop_stop(n->l);
}

static void test_freed_in_an_answer(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    driver_read(n.d, free_in_answer, &n);
    for (int i = 0; i < 100 && n.d; i++)
        loop_run_for(n.l, 50, NULL);
    assert_null(n.d);
    node_free(&n);
}

static void free_in_event(void *arg, const struct driver_event *event)
{
    struct node *n = arg;
    driver_free(n->d);
    n->d = NULL;
    loop_stop(n->l);
}

static void test_freed_in_an_event(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    driver_reading_unref(node_reading(&n));
    driver_listen(n.d, free_in_event, &n);
    struct answer a = {.l = n.l};
    node_fault(&n, 0, -1, -1, "lost", "");
    driver_read(n.d, on_reading, &a); /* told before it is answered: never answered */
    for (int i = 0; i < 100 && n.d; i++)
        loop_run_for(n.l, 50, NULL);
    assert_null(n.d);
    assert_false(a.done);
    node_free(&n);
}

int main(int argc, char **argv)
{
    assert_int_equal(argc, 2);
    nvsim_library = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_gpu_hangs),
        cmocka_unit_test(test_a_gpu_hangs_from_the_start),
        cmocka_unit_test(test_lost_and_back),
        cmocka_unit_test(test_lost_before_the_start),
        cmocka_unit_test(test_lost_in_the_middle),
        cmocka_unit_test(test_slow_calls),
        cmocka_unit_test(test_events_name_their_instance),
        cmocka_unit_test(test_faults_that_are_no_business_of_a_reading),
        cmocka_unit_test(test_links_change),
        cmocka_unit_test(test_the_driver_comes_later),
        cmocka_unit_test(test_the_driver_changes_under_us),
        cmocka_unit_test(test_freed_with_calls_under_way),
        cmocka_unit_test(test_freed_while_a_gpu_hangs),
        cmocka_unit_test(test_steps_are_taken_back),
        cmocka_unit_test(test_freed_in_an_answer),
        cmocka_unit_test(test_freed_in_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
