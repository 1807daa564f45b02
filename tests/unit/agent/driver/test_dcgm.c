/* dcgm against a stand-in of NVIDIA's library, alone and under a driver over libnvsim */
#include "nvml_world.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../dcgm/stand_in.h"
#include "agent/driver/measure/driver_nvml_measure.h"

#define NOW_US INT64_C(1700000000000000)
#define PERIOD_MS 15000

static const char *library;
static struct dcgm_stand_in *engine;
static const struct dcgm_unit two_gpus[] = {{"GPU-a", ALL}, {"GPU-b", ALL}};

static void engine_reset(void)
{
    memset(engine, 0, sizeof *engine);
    engine->gpus_n = 2;
    memcpy(engine->gpus[0].uuid, "GPU-b", sizeof "GPU-b"); /* the engine counts as it likes */
    memcpy(engine->gpus[1].uuid, "GPU-a", sizeof "GPU-a");
    engine->number[0] = 0.75;
    engine->number[1] = 0.25;
    engine->now_us = NOW_US;
}

static struct dcgm_request request_of(const struct dcgm_unit *units, uint32_t n, int64_t now_ms)
{
    struct dcgm_request r = {.units = units, .units_n = n, .period_ms = PERIOD_MS, .now_ms = now_ms, .now_us = NOW_US};
    static const enum measure wanted[] = {MEASURE_GPM_GRAPHICS, MEASURE_GPM_TENSOR, MEASURE_GPM_PCIE_TX_BYTES};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        r.wanted[wanted[i] / 64] |= (uint64_t)1 << (wanted[i] % 64);
    return r;
}

/* -1: absent. */
static double value_of(const struct measure_values *v, enum measure m)
{
    double value;
    return measure_get(v, m, &value) ? value : -1;
}

struct step { /* what one reading brought */
    int code;
    double graphics[2], tensor[2], sent[2];
    uint32_t errors_n;
    int error_code;
    struct err error;
};
static struct step read_at(struct dcgm *d, const struct dcgm_unit *units, uint32_t n, int64_t now_ms)
{
    struct dcgm_request r = request_of(units, n, now_ms);
    struct dcgm_answer a;
    struct step s = {.code = 0};
    s.code = dcgm_read(d, &r, &a, &s.error);
    s.errors_n = a.errors_n;
    s.error_code = a.errors_n > 0 ? a.errors[0].code : 0;
    for (uint32_t i = 0; i < n && i < 2; i++) {
        s.graphics[i] = value_of(&a.values[i], MEASURE_GPM_GRAPHICS);
        s.tensor[i] = value_of(&a.values[i], MEASURE_GPM_TENSOR);
        s.sent[i] = value_of(&a.values[i], MEASURE_GPM_PCIE_TX_BYTES);
    }
    free(a.values);
    return s;
}

static struct dcgm *fresh(const struct dcgm_options *more)
{
    struct dcgm_options o = {.path = library, .retry_ms = 1000};
    if (more) {
        o.address = more->address;
        o.embedded = more->embedded;
    }
    engine_reset();
    return dcgm_new(&o);
}

static void assert_near(double a, double b)
{
    assert_true(a > b - 1e-6 && a < b + 1e-6);
}

static void test_values(void **state)
{
    struct dcgm *d = fresh(NULL);
    struct step s = read_at(d, two_gpus, 2, 0);
    assert_int_equal(s.code, 0);
    assert_int_equal(s.errors_n, 0);
    assert_near(s.graphics[0], 0.25); /* by UUID, not by number */
    assert_near(s.graphics[1], 0.75);
    assert_near(s.sent[1], 750000);
    assert_string_equal(engine->address, "localhost:5555");
    assert_false(engine->is_unix_socket);
    assert_true(engine->period_us == PERIOD_MS * 1000);
    s = read_at(d, two_gpus, 2, PERIOD_MS);
    assert_int_equal(s.code, 0);
    assert_int_equal(engine->connects_n, 1);
    assert_int_equal(engine->watches_n, 1);
    s = read_at(d, two_gpus, 1, 2 * PERIOD_MS); /* others: another watch, and nothing is left of the old one */
    assert_int_equal(s.code, 0);
    assert_int_equal(engine->connects_n, 2);
    assert_int_equal(engine->open_n, 1);
    dcgm_close(d, 100);
    assert_int_equal(engine->open_n, 0);
    s = read_at(d, two_gpus, 2, 3 * PERIOD_MS);
    assert_int_equal(s.code, 0);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

static void test_paused(void **state)
{
    struct dcgm *d = fresh(NULL);
    assert_int_equal(read_at(d, two_gpus, 2, 0).code, 0);
    dcgm_pause(d);
    dcgm_pause(d);
    dcgm_close(d, 100);
    assert_int_equal(engine->open_n, 0);
    struct step s = read_at(d, two_gpus, 2, 1);
    assert_int_equal(s.code, -E_CONFLICT);
    assert_near(s.graphics[0], -1);
    dcgm_resume(d);
    assert_int_equal(read_at(d, two_gpus, 2, 2).code, -E_CONFLICT);
    assert_int_equal(engine->connects_n, 1);
    dcgm_resume(d);
    s = read_at(d, two_gpus, 2, 3); /* at once: it was no failure */
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[0], 0.25);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

/* Blank, refused and old values are absent; more than all of the time is all of it. */
static void test_absent(void **state)
{
    struct dcgm *d = fresh(NULL);
    engine->blank = 1004;
    engine->number[0] = 1.01;
    struct step s = read_at(d, two_gpus, 2, 0);
    assert_near(s.tensor[0], -1);
    assert_near(s.graphics[0], 0.25);
    assert_near(s.graphics[1], 1);
    engine->blank = 1009;
    s = read_at(d, two_gpus, 2, 1);
    assert_near(s.sent[0], -1);
    assert_near(s.tensor[0], 0.25);
    engine->number[1] = -0.5;
    s = read_at(d, two_gpus, 2, 2);
    assert_near(s.graphics[0], -1);
    engine->number[1] = 0.5;
    engine->age_us = (3 * PERIOD_MS + 3000) * INT64_C(1000); /* an engine that looks no more */
    s = read_at(d, two_gpus, 2, 3);
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[0], -1);
    engine->age_us = -3600 * INT64_C(1000000); /* the clock was set back meanwhile */
    s = read_at(d, two_gpus, 2, 4);
    assert_near(s.graphics[0], 0.5);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

static void test_some_fields(void **state)
{
    struct dcgm *d = fresh(NULL);
    engine->one_by_one = true;
    engine->unsupported = 1004;
    struct step s = read_at(d, two_gpus, 2, 0);
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[0], 0.25);
    assert_near(s.tensor[0], -1);
    assert_int_equal(engine->watches_n, 2);
    s = read_at(d, two_gpus, 2, 1); /* they are not asked for again */
    assert_int_equal(s.errors_n, 0);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

static void test_instances(void **state)
{
    static const struct dcgm_unit units[] = {{"GPU-a", 7}, {"GPU-a", 9}};
    struct dcgm *d = fresh(NULL);
    engine->instances_n = 1;
    engine->instances[0].gpu = 1;
    engine->instances[0].gi = 7;
    engine->instances[0].graphics = 0.5;
    struct step s = read_at(d, units, 2, 0);
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[0], 0.5);
    assert_near(s.graphics[1], -1);
    engine->instances_n = 2; /* the engine has seen the new one by now */
    engine->instances[1] = engine->instances[0];
    engine->instances[1].gi = 9;
    engine->instances[1].graphics = 0.125;
    s = read_at(d, units, 2, 999);
    assert_near(s.graphics[1], -1);
    s = read_at(d, units, 2, 1000);
    assert_near(s.graphics[1], 0.125);
    assert_int_equal(engine->open_n, 1);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

static void test_engine_dies_and_comes_back(void **state)
{
    struct dcgm *d = fresh(NULL);
    assert_int_equal(read_at(d, two_gpus, 2, 0).code, 0);
    engine->down = true;
    struct step s = read_at(d, two_gpus, 2, 15000);
    assert_int_equal(s.code, -E_AGAIN);
    assert_int_equal(s.error_code, DCGM_CONNECTION_NOT_VALID);
    assert_non_null(strstr(s.error.text, "localhost:5555"));
    assert_near(s.graphics[0], -1);
    s = read_at(d, two_gpus, 2, 15500); /* not each time */
    assert_int_equal(s.code, -E_AGAIN);
    assert_int_equal(engine->connects_n, 1);
    assert_int_equal(s.errors_n, 0);
    s = read_at(d, two_gpus, 2, 16000);
    assert_int_equal(s.code, -E_AGAIN);
    assert_int_equal(engine->connects_n, 2);
    engine->down = false;
    s = read_at(d, two_gpus, 2, 17000);
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[1], 0.75);
    dcgm_close(d, 100);
    dcgm_unref(d);
}

static void test_other_libraries(void **state)
{
    struct dcgm *d = dcgm_new(&(struct dcgm_options){.path = "/nonexistent/libdcgm.so.4"});
    struct step s = read_at(d, two_gpus, 2, 0);
    assert_int_equal(s.code, -E_NOTFOUND);
    assert_int_equal(s.errors_n, 0); /* not every node has it */
    dcgm_close(d, 100);
    dcgm_unref(d);
    d = dcgm_new(&(struct dcgm_options){.path = nvsim_library}); /* a library of something else */
    assert_int_equal(read_at(d, two_gpus, 2, 0).code, -E_INVALID);
    dcgm_unref(d);
    d = fresh(NULL);
    engine->old_values = true;
    s = read_at(d, two_gpus, 2, 0);
    assert_int_equal(s.code, -E_AGAIN);
    assert_int_equal(s.error_code, DCGM_VER_MISMATCH);
    assert_near(s.graphics[0], -1);
    assert_int_equal(engine->open_n, 0);
    dcgm_unref(d);
    assert_string_equal(dcgm_code_name(DCGM_VER_MISMATCH), "VER_MISMATCH");
    assert_null(dcgm_code_name(-9999));
}

static void test_embedded_only_if_asked_for(void **state)
{
    struct dcgm *d = fresh(NULL);
    engine->down = true;
    assert_int_equal(read_at(d, two_gpus, 2, 0).code, -E_AGAIN);
    assert_int_equal(engine->embedded_n, 0);
    dcgm_unref(d);
    d = fresh(&(struct dcgm_options){.address = "unix:///run/dcgm.sock", .embedded = true});
    engine->down = true;
    struct step s = read_at(d, two_gpus, 2, 0);
    assert_int_equal(s.code, 0);
    assert_near(s.graphics[1], 0.75);
    assert_string_equal(engine->address, "/run/dcgm.sock");
    assert_true(engine->is_unix_socket);
    assert_int_equal(engine->embedded_n, 1);
    dcgm_close(d, 100);
    assert_int_equal(engine->embedded_n, 0);
    engine->no_embedded = true;
    assert_int_equal(read_at(d, two_gpus, 2, 5000).code, -E_AGAIN);
    dcgm_unref(d);
}

/* ---- under the driver ---- */

static const struct measure_reading *measure_now(struct node *n, const struct driver_reading *devices, int64_t deadline_ms)
{
    engine->now_us = loop_wall_us(n->l);
    struct measured m = node_measure(n, devices, deadline_ms);
    assert_int_equal(m.code, 0);
    return m.reading;
}

static double board_graphics(struct node *n, const struct driver_reading *devices, int64_t deadline_ms)
{
    const struct measure_reading *r = measure_now(n, devices, deadline_ms);
    double value = value_of(&r->gpus[0].board, MEASURE_GPM_GRAPHICS), power;
    assert_true(measure_get(&r->gpus[0].board, MEASURE_POWER_MW, &power)); /* NVML's are there whatever DCGM does */
    measure_reading_unref(r);
    return value;
}

static void node_with_dcgm(struct node *n, const char *model, uint32_t gpus_n)
{
    struct dcgm_options dcgm = {.path = library, .retry_ms = 1};
    engine_reset();
    node_init(n, model, gpus_n, &(struct driver_nvml_options){.dcgm = &dcgm, .call_ms = 5000, .step_ms = 60000});
}

static void engine_has(const struct driver_reading *devices)
{
    engine->gpus_n = devices->gpus_n;
    for (uint32_t i = 0; i < devices->gpus_n; i++)
        memcpy(engine->gpus[i].uuid, devices->gpus[i].uuid, sizeof engine->gpus[i].uuid);
}

static void test_a_driver_is_completed(void **state)
{
    struct node n;
    node_with_dcgm(&n, "a100-40gb", 1);
    struct driver_reading *devices = node_reading(&n);
    engine_has(devices);
    assert_near(board_graphics(&n, devices, 5000), -1); /* the first tells that it has no GPM */
    assert_near(board_graphics(&n, devices, 5000), 0.75);
    engine->down = true;
    assert_near(board_graphics(&n, devices, 5000), -1);
    engine->down = false;
    loop_run_for(n.l, 5, NULL);
    assert_near(board_graphics(&n, devices, 5000), 0.75);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_a_driver_does_not_hang(void **state)
{
    struct node n;
    node_with_dcgm(&n, "a100-40gb", 1);
    struct driver_reading *devices = node_reading(&n);
    engine_has(devices);
    (void)board_graphics(&n, devices, 5000);
    atomic_store(&engine->hang, true);
    assert_near(board_graphics(&n, devices, 300), -1);
    int64_t start_ms = loop_now_ms(n.l);
    assert_near(board_graphics(&n, devices, 20000), -1); /* it is not waited for again */
    assert_true(loop_now_ms(n.l) - start_ms < 15000);
    atomic_store(&engine->hang, false);
    double value = -1;
    for (int i = 0; i < 200 && value < 0; i++) {
        loop_run_for(n.l, 50, NULL);
        value = board_graphics(&n, devices, 5000);
    }
    assert_near(value, 0.75);
    atomic_store(&engine->hang, true);
    driver_reading_unref(devices);
    struct measured m;
    devices = node_reading(&n);
    node_measure_start(&n, devices, 5000, &m); /* freed while it hangs */
    driver_reading_unref(devices);
    node_free(&n);
    assert_false(m.done);
    atomic_store(&engine->hang, false);
    struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 6000 && atomic_load(&engine->reads_n) > 0; i++) /* until the thread has left what is freed after it */
        (void)nanosleep(&moment, NULL);
    assert_int_equal(engine->reads_n, 0);
    for (int i = 0; i < 10; i++) /* and what it does then, for the leak checkers */
        (void)nanosleep(&moment, NULL);
}

static void test_gpus_with_gpm_are_left_alone(void **state)
{
    struct node n;
    node_with_dcgm(&n, "h100-80gb", 1);
    struct driver_reading *devices = node_reading(&n);
    engine_has(devices);
    for (int i = 0; i < 3; i++)
        (void)board_graphics(&n, devices, 5000);
    assert_int_equal(engine->connects_n, 0);
    driver_reading_unref(devices);
    node_free(&n);
}

static void on_answer(void *arg, int code, const struct measure_reading *r, const struct err *e)
{
    struct measured *m = arg;
    (void)r, (void)e;
    m->code = code;
    m->done = true;
}

/* DCGM has no field for engines: it is not asked for nothing. */
static void test_engines_alone_want_no_dcgm(void **state)
{
    struct node n;
    struct measure_request engines = {.deadline_ms = 5000, .period_ms = PERIOD_MS};
    node_with_dcgm(&n, "a100-40gb", 1);
    struct driver_reading *devices = node_reading(&n);
    engine_has(devices);
    for (enum measure m = MEASURE_GPM_NVDEC_0; m <= MEASURE_GPM_NVOFA_1; m++)
        engines.wanted[m / 64] |= (uint64_t)1 << (m % 64);
    for (int i = 0; i < 3; i++) {
        struct measured m = {.code = -1};
        driver_measure(n.d, devices, &engines, on_answer, &m);
        for (int k = 0; k < 600 && !m.done; k++)
            loop_run_for(n.l, 100, NULL);
        assert_int_equal(m.code, 0);
    }
    assert_int_equal(engine->connects_n, 0);
    (void)board_graphics(&n, devices, 5000);
    assert_int_equal(engine->connects_n, 1);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_mig_steps_want_no_profiling(void **state)
{
    struct node n;
    node_with_dcgm(&n, "a100-40gb", 1);
    struct driver_reading *devices = node_reading(&n);
    engine_has(devices);
    (void)board_graphics(&n, devices, 5000);
    (void)board_graphics(&n, devices, 5000);
    assert_int_equal(engine->open_n, 1);
    driver_reading_unref(devices);
    assert_int_equal(node_step(&n, 0, (struct mig_step){.kind = MIG_STEP_MODE_ON}), 0);
    assert_int_equal(engine->open_n, 0);
    assert_int_equal(nvsim_reset(n.sim, 0, NULL), 0);
    node_make_mig(&n, 0, "3g.20gb", 0);
    devices = node_reading(&n);
    assert_int_equal(devices->gpus[0].migs_n, 1);
    engine->instances_n = 1;
    engine->instances[0].gi = devices->gpus[0].migs[0].gi;
    engine->instances[0].graphics = 0.375;
    (void)board_graphics(&n, devices, 5000);
    const struct measure_reading *r = measure_now(&n, devices, 5000);
    assert_near(value_of(&r->gpus[0].migs[0], MEASURE_GPM_GRAPHICS), 0.375);
    assert_near(value_of(&r->gpus[0].board, MEASURE_GPM_GRAPHICS), 0.75);
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

/* A reading of GPU 0 waits behind another when a step of GPU 1 begins: it must not connect again while the step goes on. */
static void test_queued_reading_spares_a_mig_step(void **state)
{
    struct node n;
    struct measured first, queued;
    struct answer step = {0};
    node_with_dcgm(&n, "a100-40gb", 2);
    struct driver_reading *devices = node_reading(&n), *both = node_reading(&n);
    devices->gpus_n = 1;
    engine_has(devices);
    (void)board_graphics(&n, devices, 5000);
    (void)board_graphics(&n, devices, 5000);
    atomic_store(&engine->hang, true);
    node_measure_start(&n, devices, 60000, &first);
    node_measure_start(&n, devices, 60000, &queued);
    node_fault(&n, 1, -1, -1, "hang", "60");
    step.l = n.l;
    driver_mig_step(n.d, both->gpus[1].uuid, &(struct mig_step){.kind = MIG_STEP_MODE_ON}, on_done, &step);
    loop_run_for(n.l, 200, NULL); /* enough, almost always, for the step to wait for the first reading */
    atomic_store(&engine->hang, false);
    for (int i = 0; i < 6000 && !(first.done && queued.done && engine->open_n == 0); i++)
        loop_run_for(n.l, 10, NULL);
    assert_true(first.done && queued.done);
    assert_int_equal(engine->open_n, 0);
    assert_int_equal(engine->connects_n, 1);
    assert_false(step.done);
    node_fault(&n, 1, -1, -1, "back", NULL);
    answer_wait(&step, 60000);
    assert_int_equal(step.code, 0);
    measure_reading_unref(first.reading);
    measure_reading_unref(queued.reading);
    driver_reading_unref(devices);
    driver_reading_unref(both);
    node_free(&n);
}

/* A step of GPU 1 never returns: from its deadline on the profiling of GPU 0 goes on. */
static void test_a_step_that_hangs(void **state)
{
    struct node n;
    struct answer step = {0};
    struct dcgm_options dcgm = {.path = library, .retry_ms = 1};
    engine_reset();
    node_init(&n, "a100-40gb", 2, &(struct driver_nvml_options){.dcgm = &dcgm, .call_ms = 5000, .step_ms = 1000});
    struct driver_reading *devices = node_reading(&n), *both = node_reading(&n);
    devices->gpus_n = 1;
    engine_has(devices);
    node_fault(&n, 1, -1, -1, "hang", "3600");
    step.l = n.l;
    driver_mig_step(n.d, both->gpus[1].uuid, &(struct mig_step){.kind = MIG_STEP_MODE_ON}, on_done, &step);
    answer_wait(&step, 60000);
    assert_int_equal(step.code, -E_AGAIN);
    double value = -1;
    for (int i = 0; i < 200 && value < 0; i++)
        value = board_graphics(&n, devices, 5000);
    assert_near(value, 0.75);
    node_fault(&n, 1, -1, -1, "back", NULL);
    driver_reading_unref(devices);
    driver_reading_unref(both);
    node_free(&n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_paused),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_some_fields),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_engine_dies_and_comes_back),
        cmocka_unit_test(test_other_libraries),
        cmocka_unit_test(test_embedded_only_if_asked_for),
        cmocka_unit_test(test_a_driver_is_completed),
        cmocka_unit_test(test_a_driver_does_not_hang),
        cmocka_unit_test(test_gpus_with_gpm_are_left_alone),
        cmocka_unit_test(test_engines_alone_want_no_dcgm),
        cmocka_unit_test(test_mig_steps_want_no_profiling),
        cmocka_unit_test(test_queued_reading_spares_a_mig_step),
        cmocka_unit_test(test_a_step_that_hangs),
    };
    assert_true(argc > 2);
    nvsim_library = argv[1];
    library = argv[2];
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    engine = dlsym(handle, "stand_in");
    assert_non_null(engine);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
