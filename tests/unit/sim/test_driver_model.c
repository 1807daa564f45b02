/* test_driver_model.c - simulated GPUs behave as a driver's: identities, MIG, faults, answers later and exactly once */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "agent/driver/measure.h"
#include "sim/driver/driver_model.h"

#define ALL 0xffffffffu

struct world {
    struct loop *loop;
    struct driver *driver;
    const struct driver_reading *reading;
    int code, done_n, events_n, processes_n;
    struct err error;
    struct driver_event event;
};

static void on_reading(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    struct world *w = arg;
    (void)e;
    assert_int_equal(code, 0);
    driver_reading_unref(w->reading);
    w->reading = driver_reading_ref(r);
}

static void on_done(void *arg, int code, const struct err *e)
{
    struct world *w = arg;
    w->code = code;
    w->error = *e;
    w->done_n++;
}

static void on_event(void *arg, const struct driver_event *event)
{
    struct world *w = arg;
    w->event = *event;
    w->events_n++;
}

static void on_processes(void *arg, int code, const struct driver_process *list, uint32_t n, const struct err *e)
{
    struct world *w = arg;
    (void)e;
    assert_int_equal(code, 0);
    assert_true(n == 0 || list[0].pid == 4711);
    w->processes_n = (int)n;
}

static const struct driver_reading *read_now(struct world *w)
{
    driver_read(w->driver, on_reading, w);
    assert_int_equal(loop_run_for(w->loop, 1, NULL), 0);
    return w->reading;
}

static int step(struct world *w, uint32_t gpu, struct mig_step s)
{
    char uuid[48];
    driver_model_uuid("a100-40gb-0", gpu, uuid);
    int before = w->done_n;
    driver_mig_step(w->driver, uuid, &s, on_done, w);
    assert_int_equal(w->done_n, before); /* never inside the call */
    assert_int_equal(loop_run_for(w->loop, 1, NULL), 0);
    assert_int_equal(w->done_n, before + 1);
    return w->code;
}

static int setup(void **state)
{
    struct world *w = mem_zero(1, sizeof *w);
    w->loop = loop_new_virtual(0);
    w->driver = driver_model_new(w->loop, gpu_model_find("a100-40gb"), 8, "a100-40gb-0");
    driver_listen(w->driver, on_event, w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    driver_free(w->driver);
    driver_reading_unref(w->reading);
    loop_free(w->loop);
    free(w);
    return 0;
}

static void test_identity(void **state)
{
    struct world *w = *state;
    const struct driver_reading *r = read_now(w), *again;
    assert_int_equal(r->gpus_n, 8);
    /* As earlier versions named it: what schedulers and pods remember stays right. */
    char uuid[48];
    driver_model_uuid("a100-40gb-0", 3, uuid);
    assert_string_equal(r->gpus[3].uuid, uuid);
    assert_int_equal(strlen(uuid), 40);
    assert_string_equal(r->gpus[0].bus_id, "0000:07:00.0");
    assert_int_equal(r->gpus[0].numa_node, 0);
    assert_int_equal(r->gpus[7].numa_node, 1);
    assert_string_equal(r->driver_version, "580.95.05");
    assert_true(r->gpus[0].mig_capable && !r->gpus[0].mig_on);
    assert_ptr_equal(r->gpus[0].mig, &driver_mig_none);
    assert_int_equal(r->links[0 * 8 + 0].ancestor, 0);
    assert_int_equal(r->links[0 * 8 + 7].ancestor, 50);
    assert_true(r->links[0 * 8 + 7].nvlinks_n > 0);
    assert_ptr_equal(driver_reading_gpu(r, uuid), &r->gpus[3]);
    assert_null(driver_reading_gpu(r, "GPU-none"));
    again = driver_reading_ref(r);
    assert_ptr_equal(read_now(w), again); /* unchanged: the same one */
    driver_reading_unref(again);
}

static void test_mig_life(void **state)
{
    struct world *w = *state;
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 19}), -E_INVALID);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    const struct driver_reading *r = read_now(w);
    if (r->gpus[0].mig_pending) {
        driver_reset(w->driver, r->gpus[0].uuid, on_done, w);
        r = read_now(w);
    }
    assert_true(r->gpus[0].mig_on && !r->gpus[0].mig_pending);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 9, .start = 4}), 0);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_CREATE_CI, .instance_id = 0xff, .slices = 3}), 0);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_CREATE_GI, .profile_id = 9, .start = 4}), -E_LIMIT);
    assert_true(w->events_n >= 3);
    assert_int_equal(w->event.kind, DRIVER_EVENT_MIG_CHANGED);
    r = read_now(w);
    assert_int_equal(r->gpus[0].migs_n, 1);
    const struct driver_mig *m = &r->gpus[0].migs[0];
    assert_string_equal(m->profile, "3g.20gb");
    assert_int_equal(m->gi_start, 4);
    assert_int_equal(m->sm_n, 42);
    assert_true(text_starts(m->uuid, "MIG-"));
    assert_ptr_equal(driver_reading_gpu(r, m->uuid), &r->gpus[0]);
    struct driver_process p = {.pid = 4711, .gpu = 0, .gi = m->gi, .ci = m->ci};
    uint8_t gi = m->gi;
    driver_model_set_processes(w->driver, &p, 1);
    assert_int_equal(read_now(w)->gpus[0].migs[0].processes_n, 1);
    driver_processes(w->driver, on_processes, w);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_DESTROY_CI, .instance_id = gi}), -E_CONFLICT);
    assert_int_equal(w->processes_n, 1);
    driver_model_set_processes(w->driver, NULL, 0);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_DESTROY_CI, .instance_id = gi}), 0);
    assert_int_equal(step(w, 0, (struct mig_step){.kind = MIG_STEP_DESTROY_GI, .instance_id = gi}), 0);
    assert_int_equal(read_now(w)->gpus[0].migs_n, 0);
}

static void test_faults(void **state)
{
    struct world *w = *state;
    driver_model_event(w->driver, 2, ALL, ALL, DRIVER_EVENT_XID, 79);
    assert_int_equal(w->events_n, 0); /* in the loop's turn */
    (void)read_now(w);
    assert_int_equal(w->events_n, 1);
    assert_int_equal(w->event.data, 79);
    assert_string_equal(w->event.uuid, w->reading->gpus[2].uuid);
    driver_model_event(w->driver, 2, ALL, ALL, DRIVER_EVENT_LOST, 0);
    assert_true(read_now(w)->gpus[2].lost);
    assert_int_equal(step(w, 2, (struct mig_step){.kind = MIG_STEP_MODE_ON}), -E_GONE);
    driver_model_event(w->driver, 2, ALL, ALL, DRIVER_EVENT_BACK, 0);
    assert_false(read_now(w)->gpus[2].lost);
    driver_model_refuse(w->driver, -E_IO, 1);
    assert_int_equal(step(w, 2, (struct mig_step){.kind = MIG_STEP_MODE_ON}), -E_IO);
    assert_int_equal(step(w, 2, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    driver_set_compute_mode(w->driver, w->reading->gpus[1].uuid, 3, on_done, w);
    (void)read_now(w);
    assert_int_equal(w->code, 0);
    assert_int_equal(driver_model_compute_mode(w->driver, 1), 3);
    driver_reset(w->driver, "GPU-unknown", on_done, w);
    (void)read_now(w);
    assert_int_equal(w->code, -E_NOTFOUND);
}

/* Freed with calls and events on their way: nobody is called. */
static void test_free_in_between(void **state)
{
    struct world *w = *state;
    struct driver *d = driver_model_new(w->loop, gpu_model_find("t4"), 4, "t");
    driver_listen(d, on_event, w);
    driver_read(d, on_reading, w);
    driver_model_event(d, 0, ALL, ALL, DRIVER_EVENT_XID, 13);
    driver_free(d);
    driver_free(NULL);
    assert_int_equal(loop_run_for(w->loop, 10, NULL), 0);
    assert_int_equal(w->events_n, 0);
    assert_null(w->reading);
}

static void on_measured(void *arg, int code, const struct measure_reading *r, const struct err *e)
{
    ((struct world *)arg)->done_n++;
}

/* Each kind of call taken back, between two that are not: only those are answered, and what was under way is done. */
static void test_calls_are_taken_back(void **state)
{
    struct world *w = *state, *gone = mem_zero(1, sizeof *gone);
    char uuid[48];
    const struct mig_step on = {.kind = MIG_STEP_MODE_ON};
    driver_model_uuid("a100-40gb-0", 1, uuid);
    const struct driver_reading *devices = read_now(w);
    driver_set_compute_mode(w->driver, uuid, 3, on_done, w);
    struct driver_call *calls[] = {driver_read(w->driver, on_reading, gone),
                                   driver_processes(w->driver, on_processes, gone),
                                   driver_mig_step(w->driver, uuid, &on, on_done, gone),
                                   driver_reset(w->driver, uuid, on_done, gone),
                                   driver_set_compute_mode(w->driver, uuid, 0, on_done, gone),
                                   driver_measure(w->driver, devices, &(struct measure_request){.deadline_ms = 1000}, on_measured, gone)};
    driver_set_compute_mode(w->driver, uuid, 3, on_done, w);
    for (int i = 5; i >= 0; i--)
        driver_cancel(calls[i]);
    driver_cancel(NULL);
    free(gone); /* whoever is answered nevertheless writes here */
    assert_int_equal(loop_run_for(w->loop, 10, NULL), 0);
    assert_int_equal(w->done_n, 2);
    driver_cancel(driver_read(w->driver, on_reading, w)); /* and freed with it */
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(test_identity), T(test_mig_life), T(test_faults), T(test_free_in_between),
                                       T(test_calls_are_taken_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
