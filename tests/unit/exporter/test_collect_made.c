/* Collections of a made-up driver in virtual time: many processes, many collections, hostile values, clocks and counters that jump */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exporter/collect/collect.h"
#include "sim/driver/driver_model.h"

#define ALL 0xffffffffu

static const struct sample_xid *find_xid(const struct sample *s, const char *uuid, uint32_t xid)
{
    for (uint32_t i = 0; i < s->xids_n; i++)
        if (text_equal(s->xids[i].gpu_uuid, uuid) && s->xids[i].xid == xid)
            return &s->xids[i];
    return NULL;
}

struct fake {
    struct driver driver;
    struct loop *loop;
    measure_fn fn;
    void *arg;
    const struct driver_reading *devices; /* a reference */
    uint32_t processes_n, first_pid;
    int64_t now_ms, wall_ahead_ms;
    double nvlink_kib;
    double utilization, ran_s; /* percent of each GPU; seconds of each process, to a sample now */
};

static void fake_answer(void *arg)
{
    struct fake *f = arg;
    struct measure_reading *r = measure_reading_new(f->devices, (f->now_ms + f->wall_ahead_ms) * 1000, f->now_ms);
    f->now_ms += 15000;
    for (uint32_t i = 0; i < f->devices->gpus_n; i++) {
        bool hostile = f->nvlink_kib <= 0; /* enormous, negative, */
        measure_set(&r->gpus[i].board, MEASURE_NVLINK_TX_KIB, hostile ? 1e18 : f->nvlink_kib);
        measure_set(&r->gpus[i].board, MEASURE_NVLINK_RX_KIB, hostile ? -5 : 0);
        if (f->utilization >= 0)
            measure_set(&r->gpus[i].board, MEASURE_UTILIZATION_GPU, f->utilization);
        measure_set(&r->gpus[i].board, MEASURE_CLOCK_EVENT_REASONS, 1e300);
    }
    r->processes = arena_zero(r->arena, f->processes_n + 1, sizeof *r->processes);
    for (uint32_t i = 0; i < f->processes_n; i++) {
        uint32_t per = f->processes_n / f->devices->gpus_n;
        r->processes[i] = (struct measure_process){.pid = f->first_pid + i,
                                                   .gpu = (uint16_t)(i / (per ? per : 1)),
                                                   .gi = ALL,
                                                   .ci = ALL,
                                                   .sm_seconds = f->ran_s,
                                                   .sm_percent = 50,
                                                   .samples_n = f->ran_s > 0,
                                                   .last_sample_us = (uint64_t)r->wall_us,
                                                   .memory_bytes = UINT64_MAX};
    }
    r->processes_n = f->processes_n;
    struct err e = {0};
    driver_reading_unref(f->devices); /* the reading has it */
    f->devices = NULL;
    f->fn(f->arg, 0, r, &e);
    measure_reading_unref(r);
}

static void fake_measure(void *self, const struct driver_reading *devices, const struct measure_request *request,
                         measure_fn fn, void *arg)
{
    struct fake *f = self;
    f->fn = fn;
    f->arg = arg;
    f->devices = driver_reading_ref(devices);
    loop_defer(f->loop, fake_answer, f);
}

static bool fake_cancel(void *self, const void *arg)
{
    struct fake *f = self;
    loop_forget(f->loop, fake_answer, f);
    driver_reading_unref(f->devices);
    f->devices = NULL;
    return true;
}

static const struct driver_ops fake_ops = {.measure = fake_measure, .cancel = fake_cancel};

static double everybody_since_s = 1;

static bool everybody(void *arg, uint32_t pid, const char **ret_command, double *ret_start_s,
                      struct pod_names *ret_names)
{
    static char pod[32];
    (void)snprintf(pod, sizeof pod, "pod-%u", pid % 100);
    *ret_command = "python3";
    *ret_start_s = everybody_since_s;
    *ret_names = (struct pod_names){.ns = "ml", .pod = pod, .container = "c"};
    return true;
}

struct many {
    struct loop *l;
    struct driver *model;
    struct inventory *inventory;
    struct fake fake;
    struct pods *pods;
    struct collect *collect;
};

static void on_devices(void *arg, int code, const struct driver_reading *r, const struct err *e)
{
    inventory_set_reading(((struct many *)arg)->inventory, r);
}

static void many_init(struct many *m, uint32_t processes_n)
{
    struct err e = {0};
    memset(m, 0, sizeof *m);
    m->l = loop_new_virtual(1767225600000);
    m->model = driver_model_new(m->l, gpu_model_find("h100-80gb"), 8, "n1");
    assert_int_equal(inventory_open(m->l, NULL, &m->inventory, &e), 0);
    driver_read(m->model, on_devices, m);
    (void)loop_run_for(m->l, 10, NULL);
    m->fake = (struct fake){.driver = {&fake_ops, &m->fake},
                            .loop = m->l,
                            .processes_n = processes_n,
                            .first_pid = 1000,
                            .utilization = 250, /* above 100 */
                            .now_ms = 1767225600000};
    struct pods_config p = {.root = "/nonexistent", .process_of = everybody};
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    m->pods = pods_new(m->l, &p);
    m->collect = collect_new(m->l, &m->fake.driver, m->inventory, m->pods, NULL, &c);
}

static void many_free(struct many *m)
{
    collect_free(m->collect);
    pods_free(m->pods);
    inventory_close(m->inventory);
    driver_free(m->model);
    loop_free(m->l);
}

static void test_hostile_values_and_the_cap(void **state)
{
    struct many m;
    many_init(&m, 5000);
    (void)loop_run_for(m.l, 3000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2000);
    assert_int_equal(s->processes_left_out_n, 3000);
    uint32_t sessions_n = 0, shown[8] = {0};
    for (uint32_t i = 0; i < s->units_n; i++)
        sessions_n += s->units[i].sessions_n;
    for (uint32_t i = 0; i < s->processes_n; i++)
        shown[s->processes[i].unit]++;
    assert_int_equal(sessions_n, 5000); /* counted, though not shown */
    for (int i = 0; i < 8; i++)
        assert_in_range(shown[i], 250, 250); /* each GPU has its part */
    assert_true(s->units[0].activity > 0.999 && s->units[0].activity < 1.001);
    many_free(&m);
}

static void next_sample(struct many *m)
{
    (void)loop_run_for(m->l, 15000, NULL);
}

/* A driver that makes numbers up: so many XIDs have series, and what has none is counted. */
static void test_xids_have_a_limit(void **state)
{
    struct many m;
    struct collect_state st;
    enum { EVENTS_N = 5000 };
    many_init(&m, 0);
    (void)loop_run_for(m.l, 3000, NULL);
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID};
    memcpy(e.uuid, collect_last(m.collect)->boards[0].gpu->uuid, sizeof e.uuid);
    uint32_t before_n = collect_last(m.collect)->xids_n;
    for (uint32_t i = 0; i < EVENTS_N; i++) {
        e.data = 10000 + i;
        collect_xid(m.collect, &e);
    }
    next_sample(&m);
    uint32_t shown_n = collect_last(m.collect)->xids_n;
    collect_state(m.collect, &st);
    assert_true(shown_n > before_n && shown_n < before_n + EVENTS_N);
    assert_int_equal(st.xids_dropped_n, before_n + EVENTS_N - shown_n);
    e.data = 79; /* one that has its series */
    collect_xid(m.collect, &e);
    collect_state(m.collect, &st);
    assert_int_equal(st.xids_dropped_n, before_n + EVENTS_N - shown_n);
    many_free(&m);
}

/* The driver counts GPUs otherwise after a restart: what a GPU had stays its own, and each number is there once, in the order of
 * indexes. */
static void test_xids_follow_their_gpu(void **state)
{
    struct many m;
    many_init(&m, 0);
    (void)loop_run_for(m.l, 3000, NULL);
    struct driver_reading *r = driver_reading_ref(inventory_now(m.inventory)->reading);
    struct driver_gpu first = r->gpus[0], last = r->gpus[7];
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, first.uuid, sizeof e.uuid);
    collect_xid(m.collect, &e);
    next_sample(&m);
    uint32_t before_n = collect_last(m.collect)->xids_n;
    r->gpus[0] = last;
    r->gpus[0].index = 0;
    r->gpus[7] = first;
    r->gpus[7].index = 7;
    inventory_set_reading(m.inventory, r);
    collect_xid(m.collect, &e);
    next_sample(&m);
    const struct sample *s = collect_last(m.collect);
    assert_int_equal(s->xids_n, before_n);
    assert_int_equal(find_xid(s, first.uuid, 79)->n, 2);
    assert_int_equal(find_xid(s, first.uuid, 79)->gpu, 7);
    assert_int_equal(find_xid(s, last.uuid, 79)->n, 0);
    assert_int_equal(find_xid(s, last.uuid, 79)->gpu, 0);
    for (uint32_t i = 1; i < s->xids_n; i++)
        assert_true(s->xids[i - 1].gpu < s->xids[i].gpu || (s->xids[i - 1].gpu == s->xids[i].gpu && s->xids[i - 1].xid < s->xids[i].xid));
    driver_reading_unref(r);
    many_free(&m);
}

static void test_a_hundred_thousand_processes(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    uint32_t n = 100000, sessions_n = 0;
    struct driver_process *list = calloc(n, sizeof *list);
    assert_non_null(list);
    for (uint32_t i = 0; i < n; i++)
        list[i] =
            (struct driver_process){.pid = i + 1, .gpu = (uint16_t)(i % 8), .gi = ALL, .ci = ALL, .memory_bytes = 1};
    driver_model_set_processes(m.model, list, n);
    free(list);
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 3000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2000);
    assert_int_equal(s->processes_left_out_n, n - 2000);
    for (uint32_t i = 0; i < s->units_n; i++)
        sessions_n += s->units[i].sessions_n;
    assert_int_equal(sessions_n, LIMIT_MEASURE_PROCESSES);
    struct collect_state st;
    collect_state(m.collect, &st);
    assert_int_equal(st.processes_dropped_n, st.collections_n * (n - 2000));
    many_free(&m);
}

/* Of whom nothing is known but the number: another start is another process. */
static void test_a_pid_is_used_again(void **state)
{
    struct many m;
    many_init(&m, 8);
    m.fake.ran_s = 4;
    next_sample(&m);
    next_sample(&m);
    const struct sample *s = collect_last(m.collect);
    double ran_s = s->processes[0].sm_seconds;
    assert_true(ran_s > 7.9 && s->processes[0].last_active_s > 0);
    m.fake.ran_s = 0;
    everybody_since_s = 2;
    next_sample(&m);
    s = collect_last(m.collect);
    assert_int_equal(s->processes[0].measured->pid, 1000);
    assert_true(s->processes[0].sm_seconds < 1e-9 && s->processes[0].last_active_s < 1e-9);
    assert_int_equal(s->processes[0].sm_percent, 0);
    everybody_since_s = 1;
    next_sample(&m); /* the first one is not back: nobody is */
    assert_true(collect_last(m.collect)->processes[0].sm_seconds < ran_s);
    many_free(&m);
}

/* What was busy a minute ago still was, an hour forth or back; nobody has run for an hour within a quarter of a minute. */
static void test_a_clock_that_is_set(void **state)
{
    struct many m;
    static const int64_t ahead_ms[] = {0, 3600000, 3600000, 0, -3600000, -3600000, 0};
    many_init(&m, 8);
    m.fake.ran_s = 4;
    next_sample(&m);
    double ran_s = collect_last(m.collect)->processes[0].sm_seconds;
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, collect_last(m.collect)->boards[0].gpu->uuid, sizeof e.uuid);
    collect_xid(m.collect, &e);
    double xid_ago_s = 0;
    for (size_t i = 0; i < sizeof ahead_ms / sizeof *ahead_ms; i++) {
        m.fake.utilization = 0;
        m.fake.ran_s = i == 1 ? 3604 : 0; /* as the driver dates it */
        m.fake.wall_ahead_ms = ahead_ms[i];
        next_sample(&m);
        const struct sample *s = collect_last(m.collect);
        double since_s = 15 * (double)(i + 1);
        assert_true(fabs(s->wall_s - s->units[0].last_active_s - since_s) < 0.001);
        assert_true(fabs(s->wall_s - s->processes[0].last_active_s - (i < 1 ? since_s : since_s - 30)) < 0.001);
        assert_true(s->processes[0].sm_seconds < ran_s + 15 + 2.001);
        assert_true(i == 0 || fabs(s->wall_s - find_xid(s, e.uuid, 79)->last_s - xid_ago_s - 15) < 0.001);
        xid_ago_s = s->wall_s - find_xid(s, e.uuid, 79)->last_s;
    }
    many_free(&m);
}

/* Counters that begin again (driver loaded anew, GPU reset) give no rate once, never a negative or a huge one. */
static void test_counters_that_begin_again(void **state)
{
    struct many m;
    static const double kib[] = {1.5e6, 3e6, 10, 1.5e6 + 10, 1e5}, rates[] = {-1, 100, -1, 100, -1};
    many_init(&m, 0);
    (void)loop_run_for(m.l, 3000, NULL);
    for (size_t i = 0; i < sizeof kib / sizeof *kib; i++) {
        m.fake.nvlink_kib = kib[i];
        next_sample(&m);
        assert_true(fabs(collect_last(m.collect)->boards[0].nvlink_mb_per_s - rates[i]) < 0.001);
    }
    many_free(&m);
}

/* Counts of lately, with windows of other lengths. */
static void test_windows(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct collect_config c = {.period_ms = 1000, .hostname = "n1", .xid_window_ms = 20000, .clock_window_ms = 3000};
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 9500, NULL);
    struct driver_event e = {.gi = ALL, .ci = ALL, .kind = DRIVER_EVENT_XID, .data = 79};
    memcpy(e.uuid, collect_last(m.collect)->boards[0].gpu->uuid, sizeof e.uuid);
    collect_xid(m.collect, &e);
    (void)loop_run_for(m.l, 18000, NULL);
    const struct sample *s = collect_last(m.collect);
    assert_int_equal(find_xid(s, e.uuid, 79)->window_n, 1);
    assert_int_equal(s->boards[0].clock_events[0], 3); /* idle: a sample a second */
    assert_int_equal(s->xid_window_ms + s->clock_window_ms, 23000);
    (void)loop_run_for(m.l, 5000, NULL);
    s = collect_last(m.collect);
    assert_int_equal(find_xid(s, e.uuid, 79)->window_n, 0);
    assert_int_equal(find_xid(s, e.uuid, 79)->n, 1);
    many_free(&m);
}

/* Since when a device is idle is kept in the books, over restarts and devices that are away. */
static void test_idle_since_before_the_start(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct account *books = account_open(NULL, "n1");
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    static const double lives[] = {50, -1, 0}; /* busy, not told, idle */
    double busy_s = 0;
    for (size_t life = 0; life < sizeof lives / sizeof *lives; life++) {
        m.fake.utilization = lives[life];
        m.collect = collect_new(m.l, &m.fake.driver, m.inventory, m.pods, books, &c);
        next_sample(&m);
        const struct sample *s = collect_last(m.collect);
        if (life == 0)
            busy_s = s->wall_s;
        assert_true(fabs(s->units[0].last_active_s - busy_s) < 0.001);
        collect_free(m.collect);
        m.collect = NULL;
    }
    many_free(&m);
    account_close(books);
}

/* COLLECTIONS=100000 in the environment: the long one. */
static void test_no_growth(void **state)
{
    struct many m;
    const char *text = getenv("COLLECTIONS");
    int64_t collections = text ? strtoll(text, NULL, 10) : 1000;
    many_init(&m, 200);
    (void)loop_run_for(m.l, 50 * 15000, NULL);
    size_t before = mallinfo2().uordblks;
    for (int64_t i = 0; i < collections; i++) {
        m.fake.first_pid = 1000 + (uint32_t)(i % 7) * 13; /* processes come and go */
        (void)loop_run_for(m.l, 15000, NULL);
    }
    size_t after = mallinfo2().uordblks;
    struct collect_state st;
    collect_state(m.collect, &st);
    assert_true(st.collections_n >= (uint64_t)collections);
    assert_int_equal(st.skipped_n + st.failures_n, 0);
    print_message("# %lld collections: %zu bytes before, %zu after\n", (long long)collections, before, after);
    assert_true(after < before + 65536);
    many_free(&m);
}

static void test_cost(void **state)
{
    struct many m;
    many_init(&m, 1000);
    (void)loop_run_for(m.l, 3000, NULL);
    uint64_t first = collect_last(m.collect)->number;
    clock_t start = clock();
    (void)loop_run_for(m.l, 50 * 15000, NULL);
    double ms = (double)(clock() - start) * 1000 / CLOCKS_PER_SEC / (double)(collect_last(m.collect)->number - first);
    print_message("# a collection with 1000 processes: %.2f ms besides /proc and the driver\n", ms);
    assert_true(ms < 50); /* the figure is the bench's; this only finds what grows with the square */
    many_free(&m);
}

/* ---- simulated nodes ---- */

static void test_a_simulated_node(void **state)
{
    struct many m;
    many_init(&m, 0);
    collect_free(m.collect);
    struct driver_process p[] = {{.pid = 1, .gpu = 0, .gi = ALL, .ci = ALL, .memory_bytes = 8ull << 30},
                                 {.pid = 2, .gpu = 1, .gi = ALL, .ci = ALL, .memory_bytes = 1ull << 30}};
    driver_model_set_processes(m.model, p, 2);
    driver_model_work(m.model, 1, ALL, ALL, 250, 100);
    struct collect_config c = {.period_ms = 15000, .hostname = "n1"};
    memset(c.wanted, 0xff, sizeof c.wanted);
    m.collect = collect_new(m.l, m.model, m.inventory, m.pods, NULL, &c);
    (void)loop_run_for(m.l, 40000, NULL);
    const struct sample *s = collect_last(m.collect);
    double busy_mw = 0, idle_mw = 0, used = 0, energy = 0;
    assert_non_null(s);
    assert_int_equal(s->processes_n, 2);
    assert_true(s->units[0].activity > 0.03);
    assert_true(s->units[1].activity > 0.249 && s->units[1].activity < 0.251);
    assert_true(s->units[2].activity >= 0 && s->units[2].activity < 1e-9);
    assert_true(measure_get(s->units[0].board, MEASURE_POWER_MW, &busy_mw) &&
                measure_get(s->units[2].board, MEASURE_POWER_MW, &idle_mw));
    assert_true(busy_mw > idle_mw);
    assert_true(measure_get(s->units[0].values, MEASURE_FB_USED_MIB, &used) && used > 8191 && used < 8193);
    assert_true(measure_get(s->units[2].board, MEASURE_ENERGY_MJ, &energy) && energy > idle_mw * 30 &&
                energy < idle_mw * 45);
    assert_true(s->processes[1].sm_seconds > 0.25 * 15 && s->processes[1].sm_seconds < 0.25 * 40);
    driver_model_set_processes(m.model, NULL, 0);
    driver_model_event(m.model, 3, ALL, ALL, DRIVER_EVENT_LOST, 0);
    driver_read(m.model, on_devices, &m);
    (void)loop_run_for(m.l, 31000, NULL);
    s = collect_last(m.collect);
    assert_int_equal(s->processes_n, 0);
    assert_true(s->units[0].activity < 1e-9);
    assert_true(s->boards[3].gpu->lost && !measure_get(s->boards[3].board, MEASURE_TEMPERATURE, &used));
    many_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_values_and_the_cap),
        cmocka_unit_test(test_xids_have_a_limit),
        cmocka_unit_test(test_xids_follow_their_gpu),
        cmocka_unit_test(test_a_hundred_thousand_processes),
        cmocka_unit_test(test_a_pid_is_used_again),
        cmocka_unit_test(test_a_clock_that_is_set),
        cmocka_unit_test(test_counters_that_begin_again),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_idle_since_before_the_start),
        cmocka_unit_test(test_no_growth),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_a_simulated_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
