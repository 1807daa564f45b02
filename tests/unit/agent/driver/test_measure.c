/* driver.measure over libnvsim: values, processes, what MIG has and has not, lost and hanging GPUs */
#include "nvml_world.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/driver/measure/driver_nvml_measure.h"
#include "agent/driver/measure.h"

static double value_of(const struct measure_values *v, enum measure m)
{
    double value = -12345;
    if (!measure_get(v, m, &value))
        fail_msg("measure %d is absent", (int)m);
    return value;
}

static bool has(const struct measure_values *v, enum measure m)
{
    double value;
    return measure_get(v, m, &value);
}

static pid_t child_new(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

static void child_end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void work(struct node *n, pid_t pid, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t kind, uint32_t memory_mib,
                 uint32_t sm)
{
    struct nvsim_work w = {.pid = (uint32_t)pid,
                           .gpu = gpu,
                           .gi = gi,
                           .ci = ci,
                           .memory_mib = memory_mib,
                           .sm_permille = sm,
                           .memory_permille = sm / 2,
                           .kind = kind,
                           .name = "train",
                           .follow_pid = true};
    struct err e = {0};
    if (nvsim_work_start(n->sim, &w, &e) < 0)
        fail_msg("%s", e.text);
}

static void rest(struct node *n, int64_t ms)
{
    for (int64_t end_ms = loop_now_ms(n->l) + ms; loop_now_ms(n->l) < end_ms;)
        loop_run_for(n->l, end_ms - loop_now_ms(n->l), NULL);
}

static void test_an_idle_board(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    struct driver_reading *devices = node_reading(&n);
    const struct measure_reading *first = node_measured(&n, devices);
    assert_false(has(&first->gpus[0].board, MEASURE_GPM_GRAPHICS)); /* two samples are needed */
    rest(&n, 200);
    const struct measure_reading *r = node_measured(&n, devices);
    const struct gpu_model *m = gpu_model_find("h100-80gb");
    for (int i = 0; i < 2; i++) {
        const struct measure_values *v = &r->gpus[i].board;
        assert_int_equal((int)value_of(v, MEASURE_FB_TOTAL_MIB), m->memory_mib);
        assert_true(value_of(v, MEASURE_FB_RESERVED_MIB) > 0);
        assert_int_equal((int)(value_of(v, MEASURE_FB_USED_MIB) + value_of(v, MEASURE_FB_FREE_MIB) +
                               value_of(v, MEASURE_FB_RESERVED_MIB)),
                         m->memory_mib);
        assert_int_equal((int)value_of(v, MEASURE_UTILIZATION_GPU), 0);
        assert_in_range((int)value_of(v, MEASURE_TEMPERATURE), 20, 45);
        assert_in_range((int)value_of(v, MEASURE_MEMORY_TEMPERATURE), 20, 60);
        assert_true(value_of(v, MEASURE_POWER_MW) >= m->power_idle_mw * 0.9);
        assert_true(value_of(v, MEASURE_ENERGY_MJ) > value_of(&first->gpus[i].board, MEASURE_ENERGY_MJ));
        assert_true(value_of(v, MEASURE_CLOCK_SM_MHZ) > 0);
        assert_int_equal((int)value_of(v, MEASURE_CLOCK_EVENT_REASONS) & 1, 1);
        assert_int_equal((int)value_of(v, MEASURE_GPM_GRAPHICS), 0);
        assert_int_equal((int)value_of(v, MEASURE_PCIE_REPLAYS), 0);
        assert_int_equal((int)value_of(v, MEASURE_TEMPERATURE_SLOWDOWN), m->temperature_slowdown);
        assert_int_equal((int)value_of(v, MEASURE_NVLINK_TX_KIB), 0);
        assert_true(has(v, MEASURE_THROTTLE_HW_THERMAL_NS) && has(v, MEASURE_VIOLATION_POWER_NS));
        assert_int_equal((int)value_of(v, MEASURE_GPM_TENSOR_HMMA), 0);
        assert_true(has(v, MEASURE_GPM_TENSOR_IMMA) && has(v, MEASURE_GPM_TENSOR_DFMA));
        assert_true(has(v, MEASURE_GPM_NVDEC_0 + m->decoder_n - 1) && !has(v, MEASURE_GPM_NVDEC_0 + m->decoder_n));
        assert_true(has(v, MEASURE_GPM_NVJPG_0 + m->jpeg_n - 1) && !has(v, MEASURE_GPM_NVJPG_0 + m->jpeg_n));
        assert_true(has(v, MEASURE_GPM_NVOFA_0) && !has(v, MEASURE_GPM_NVOFA_1));
    }
    assert_int_equal(r->processes_n, 0);
    measure_reading_unref(first);
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

static void assert_nature(const struct measure_values *v, const struct gpu_model *m)
{
    const struct {
        enum measure measure;
        uint32_t value;
    } rows[] = {{MEASURE_TEMPERATURE_SHUTDOWN, m->temperature_shutdown},
                {MEASURE_TEMPERATURE_MAX, m->temperature_max},
                {MEASURE_MEMORY_TEMPERATURE_MAX, 95},
                {MEASURE_POWER_LIMIT_MW, m->power_default_mw},
                {MEASURE_POWER_LIMIT_SET_MW, m->power_default_mw},
                {MEASURE_POWER_LIMIT_DEFAULT_MW, m->power_default_mw},
                {MEASURE_POWER_LIMIT_MIN_MW, m->power_min_mw},
                {MEASURE_POWER_LIMIT_MAX_MW, m->power_max_mw},
                {MEASURE_CLOCK_SM_MAX_MHZ, m->clock_graphics_mhz},
                {MEASURE_CLOCK_SM_SET_MHZ, m->clock_graphics_mhz},
                {MEASURE_CLOCK_MEMORY_MAX_MHZ, m->clock_memory_mhz},
                {MEASURE_CLOCK_MEMORY_SET_MHZ, m->clock_memory_mhz},
                {MEASURE_PCIE_GENERATION, m->pcie_generation},
                {MEASURE_PCIE_GENERATION_MAX, m->pcie_generation},
                {MEASURE_PCIE_WIDTH, m->pcie_width},
                {MEASURE_PCIE_WIDTH_MAX, m->pcie_width},
                {MEASURE_BAR1_TOTAL_MIB, 1u << m->bar1_mib_log2},
                {MEASURE_ECC_MODE, 1},
                {MEASURE_ECC_MODE_PENDING, 1},
                {MEASURE_VIOLATION_SET_CLOCKS_NS, 0},
                {MEASURE_VIOLATION_BASE_CLOCKS_NS, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uint32_t)value_of(v, rows[i].measure) != rows[i].value)
            fail_msg("%s: row %zu: %g", m->key, i, value_of(v, rows[i].measure));
    assert_int_equal((int)(value_of(v, MEASURE_BAR1_USED_MIB) + value_of(v, MEASURE_BAR1_FREE_MIB)), 1 << m->bar1_mib_log2);
    assert_true(has(v, MEASURE_CLOCK_VIDEO_MAX_MHZ) && has(v, MEASURE_PERSISTENCE_MODE));
}

static void test_what_a_board_is(void **state)
{
    static const char *const models[] = {"a100-40gb", "h100-80gb", "b200"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct node n;
        node_init(&n, models[i], 1, NULL);
        struct driver_reading *devices = node_reading(&n);
        for (int k = 0; k < 2; k++) { /* from the library, and what was kept of it */
            const struct measure_reading *r = node_measured(&n, devices);
            assert_nature(&r->gpus[0].board, gpu_model_find(models[i]));
            assert_int_equal((int)value_of(&r->gpus[0].board, MEASURE_COMPUTE_MODE), 2 * k);
            measure_reading_unref(r);
            struct answer a = {.l = n.l};
            driver_set_compute_mode(n.d, devices->gpus[0].uuid, NVML_COMPUTE_EXCLUSIVE_PROCESS, on_done, &a);
            answer_wait(&a, 60000);
            assert_int_equal(a.code, 0);
            answer_free(&a);
        }
        driver_reading_unref(devices);
        node_free(&n);
    }
}

/* Unsupported: absent, asked for once. */
static void test_what_a_gpu_lacks(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    struct driver_reading *devices = node_reading(&n);
    const struct measure_reading *first = node_measured(&n, devices);
    rest(&n, 100);
    const struct measure_reading *r = node_measured(&n, devices);
    assert_false(has(&r->gpus[0].board, MEASURE_GPM_GRAPHICS));
    assert_false(has(&r->gpus[0].board, MEASURE_NVLINK_TX_KIB));
    assert_false(has(&r->gpus[0].board, MEASURE_MEMORY_TEMPERATURE));
    assert_false(has(&r->gpus[0].board, MEASURE_MEMORY_TEMPERATURE_MAX));
    assert_false(has(&r->gpus[0].board, MEASURE_GPM_TENSOR_HMMA) || has(&r->gpus[0].board, MEASURE_GPM_NVDEC_0));
    assert_true(has(&r->gpus[0].board, MEASURE_UTILIZATION_GPU));
    assert_true(first->errors_n > 0);
    for (uint32_t i = 0; i < r->errors_n; i++)
        fail_msg("asked again: %s code %d", r->errors[i].call, r->errors[i].code);
    measure_reading_unref(first);
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_processes(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    struct driver_reading *devices = node_reading(&n);
    pid_t a = child_new(), b = child_new(), c = child_new();
    work(&n, a, 0, ALL, ALL, 0, 4096, 400);
    work(&n, b, 0, ALL, ALL, 2, 1024, 100);
    work(&n, c, 1, ALL, ALL, 1, 512, 0);
    const struct measure_reading *first = node_measured(&n, devices);
    rest(&n, 1100);
    const struct measure_reading *r = node_measured(&n, devices);
    double ran_s = (double)(r->wall_us - first->wall_us) / 1e6; /* of a busy machine, more than it rested */
    assert_int_equal(r->processes_n, 3);
    const struct measure_process *p = r->processes;
    assert_int_equal(p[0].gpu + p[1].gpu, 0);
    assert_true(p[0].pid < p[1].pid);
    const struct measure_process *of_a = p[0].pid == (uint32_t)a ? &p[0] : &p[1],
                                 *of_b = p[0].pid == (uint32_t)a ? &p[1] : &p[0];
    assert_int_equal(of_a->pid, a);
    assert_int_equal(of_b->pid, b);
    assert_int_equal(of_a->memory_bytes >> 20, 4096);
    assert_true(of_b->mps && !of_a->mps && !of_a->graphics && p[2].graphics);
    assert_int_equal(of_a->gi, ALL);
    assert_int_equal(of_a->sm_percent, 40);
    assert_true(of_a->samples_n > 0);
    assert_true(of_a->sm_seconds > 0.4 * ran_s - 0.15 && of_a->sm_seconds < 0.4 * ran_s + 0.25);
    assert_true(of_b->sm_seconds > 0.1 * ran_s - 0.05 && of_b->sm_seconds < 0.1 * ran_s + 0.1);
    assert_in_range((int)value_of(&r->gpus[0].board, MEASURE_UTILIZATION_GPU), 40, 60);
    assert_true(value_of(&r->gpus[0].board, MEASURE_GPM_GRAPHICS) > 0.4);
    child_end(a);
    rest(&n, 300);
    const struct measure_reading *later = node_measured(&n, devices);
    assert_int_equal(later->processes_n, 2);
    child_end(b);
    child_end(c);
    measure_reading_unref(first);
    measure_reading_unref(later);
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

/* More than a reading lists: what is left out is counted, and what is listed is whole and in order. */
static void test_too_many_processes(void **state)
{
    enum { EACH = LIMIT_MEASURE_PROCESSES / 2 + 500 };
    struct node n;
    node_init(&n, "h100-80gb", 2, NULL);
    struct driver_reading *devices = node_reading(&n);
    for (uint32_t i = 0; i < 2 * EACH; i++) {
        struct nvsim_work w = {.pid = 5000000 + i, .gpu = i % 2, .gi = ALL, .ci = ALL, .memory_mib = 1, .name = "one of many"};
        struct err e = {0};
        if (nvsim_work_start(n.sim, &w, &e) < 0)
            fail_msg("%s", e.text);
    }
    struct measured m = node_measure(&n, devices, 120000);
    assert_int_equal(m.code, 0);
    assert_int_equal(m.reading->processes_n, LIMIT_MEASURE_PROCESSES);
    assert_int_equal(m.reading->processes_left_out_n, 2 * EACH - LIMIT_MEASURE_PROCESSES);
    for (uint32_t i = 1; i < m.reading->processes_n; i++)
        assert_true(measure_process_order(&m.reading->processes[i - 1], &m.reading->processes[i]) < 0);
    measure_reading_unref(m.reading);
    driver_reading_unref(devices);
    node_free(&n);
}

/* Over many short periods the seconds of a process add up to what it ran. */
static void test_seconds_add_up(void **state)
{
    struct node n;
    node_init(&n, "a100-40gb", 1, NULL);
    struct driver_reading *devices = node_reading(&n);
    pid_t a = child_new();
    work(&n, a, 0, ALL, ALL, 0, 100, 500);
    const struct measure_reading *r = node_measured(&n, devices);
    double sum = 0;
    int64_t start_us = 0, end_us = r->wall_us;
    start_us = r->wall_us;
    measure_reading_unref(r);
    for (int i = 0; i < 12; i++) {
        rest(&n, 170);
        r = node_measured(&n, devices);
        assert_int_equal(r->processes_n, 1);
        sum += r->processes[0].sm_seconds;
        end_us = r->wall_us;
        measure_reading_unref(r);
    }
    double ran = (double)(end_us - start_us) / 1e6 * 0.5;
    assert_true(sum > ran - 0.25 && sum < ran + 0.25);
    child_end(a);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_mig(void **state)
{
    struct node n;
    node_init(&n, "h100-80gb", 1, NULL);
    node_make_mig(&n, 0, "1g.10gb", 0);
    node_make_mig(&n, 0, "3g.40gb", 4);
    struct driver_reading *devices = node_reading(&n);
    const struct driver_gpu *g = &devices->gpus[0];
    assert_int_equal(g->migs_n, 2);
    uint32_t at = text_equal(g->migs[0].profile, "3g.40gb") ? 0 : 1;
    pid_t a = child_new();
    work(&n, a, 0, g->migs[at].gi, g->migs[at].ci, 0, 2048, 600);
    measure_reading_unref(node_measured(&n, devices));
    rest(&n, 300);
    const struct measure_reading *r = node_measured(&n, devices);
    const struct measure_values *busy = &r->gpus[0].migs[at], *idle = &r->gpus[0].migs[1 - at];
    assert_int_equal(r->gpus[0].migs_n, 2);
    assert_true(value_of(busy, MEASURE_FB_USED_MIB) >= 2048);
    assert_true(value_of(idle, MEASURE_FB_USED_MIB) < 1024);
    assert_true(value_of(busy, MEASURE_FB_TOTAL_MIB) > value_of(idle, MEASURE_FB_TOTAL_MIB));
    assert_true(value_of(busy, MEASURE_GPM_GRAPHICS) > 0.55 && value_of(busy, MEASURE_GPM_GRAPHICS) < 0.65);
    assert_true(value_of(idle, MEASURE_GPM_GRAPHICS) < 0.01);
    assert_false(has(busy, MEASURE_POWER_MW) || has(busy, MEASURE_TEMPERATURE) || has(busy, MEASURE_UTILIZATION_GPU));
    assert_false(has(&r->gpus[0].board, MEASURE_UTILIZATION_GPU));
    assert_true(has(&r->gpus[0].board, MEASURE_POWER_MW));
    assert_int_equal(r->processes_n, 1);
    assert_int_equal(r->processes[0].pid, a);
    assert_int_equal(r->processes[0].gi, g->migs[at].gi);
    assert_int_equal(r->processes[0].samples_n, 0);
    child_end(a);
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_a_lost_gpu(void **state)
{
    struct node n;
    node_init(&n, "a100-40gb", 2, NULL);
    struct driver_reading *devices = node_reading(&n);
    node_fault(&n, 0, -1, -1, "lost", "");
    const struct measure_reading *r = node_measured(&n, devices);
    assert_false(has(&r->gpus[0].board, MEASURE_TEMPERATURE));
    assert_false(has(&r->gpus[0].board, MEASURE_FB_TOTAL_MIB));
    assert_true(has(&r->gpus[1].board, MEASURE_TEMPERATURE));
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_fault(&n, 1, -1, -1, "lost", "");
    devices = node_reading(&n);
    assert_true(devices->gpus[0].lost && devices->gpus[1].lost);
    r = node_measured(&n, devices); /* nobody is asked: empty values */
    assert_false(has(&r->gpus[1].board, MEASURE_TEMPERATURE));
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_a_hanging_gpu(void **state)
{
    struct node n;
    node_init(&n, "a100-40gb", 2, NULL);
    struct driver_reading *devices = node_reading(&n);
    node_fault(&n, 1, -1, -1, "hang", "3");
    int64_t start_ms = loop_now_ms(n.l);
    struct measured m = node_measure(&n, devices, 400);
    assert_int_equal(m.code, 0);
    assert_true(loop_now_ms(n.l) - start_ms < 1500);
    assert_true(has(&m.reading->gpus[0].board, MEASURE_TEMPERATURE));
    assert_false(has(&m.reading->gpus[1].board, MEASURE_TEMPERATURE));
    bool told = false;
    for (uint32_t i = 0; i < m.reading->errors_n; i++)
        told = told || text_equal(m.reading->errors[i].call, "deadline");
    assert_true(told);
    measure_reading_unref(m.reading);
    node_fault(&n, 0, -1, -1, "hang", "3");
    m = node_measure(&n, devices, 200);
    assert_int_equal(m.code, -E_AGAIN);
    assert_null(m.reading);
    struct driver_reading *lost = node_reading(&n); /* the calls hang: both count as lost, */
    assert_true(lost->gpus[0].lost && lost->gpus[1].lost);
    m = node_measure(&n, lost, 200); /* and that is not taken for an answer */
    assert_int_equal(m.code, -E_AGAIN);
    driver_reading_unref(lost);
    rest(&n, 3300);
    driver_reading_unref(node_reading(&n));
    const struct measure_reading *r = node_measured(&n, devices);
    assert_true(has(&r->gpus[1].board, MEASURE_TEMPERATURE));
    measure_reading_unref(r);
    driver_reading_unref(devices);
    node_free(&n);
}

static void test_without_answers(void **state)
{
    struct node n;
    node_init(&n, "t4", 1, NULL);
    struct driver_reading *devices = node_reading(&n);
    struct measured m;
    node_measure_start(&n, devices, 1000, &m);
    node_free(&n); /* with a measurement under way: no answer */
    assert_false(m.done);
    driver_reading_unref(devices);
    node_init(&n, "t4", 1, NULL);
    struct driver_reading empty = {.refs = 2};
    m = node_measure(&n, &empty, 1000); /* the library was not opened yet */
    assert_int_equal(m.code, -E_NOTFOUND);
    node_free(&n);
}

/* ---- libraries that do what libnvsim does not ---- */

static size_t stride; /* of the entries that the library writes */

static int odd_processes(struct nvml_device *d, uint32_t *n, struct nvml_process *list)
{
    uint32_t room = list ? *n : 0;
    *n = 3;
    if (room < 3)
        return NVML_INSUFFICIENT_SIZE;
    for (uint32_t i = 0; i < 3; i++) {
        struct nvml_process_detail entry = {
            .pid = 100 + i, .used_bytes = i == 2 ? NVML_NONE_U64 : 1 << 20, .gpu_instance = 4, .protected_bytes = 77};
        memcpy((char *)list + i * stride, &entry, stride);
    }
    return NVML_OK;
}

static void test_entries_of_any_length(void **state)
{
    static const size_t strides[] = {16, 24, 32};
    struct nvml n = {.compute_processes = odd_processes};
    for (int i = 0; i < 3; i++) {
        struct nvml_process *list = NULL;
        uint32_t count = 0;
        stride = strides[i];
        assert_int_equal(gpu_process_list_read(&n, NULL, NVML_PROCESS_COMPUTE, &list, &count), NVML_OK);
        assert_int_equal(count, 3);
        for (uint32_t k = 0; k < 3; k++) {
            assert_int_equal(list[k].pid, 100 + k);
            assert_true(list[k].used_bytes == (k == 2 ? NVML_NONE_U64 : 1 << 20));
            assert_int_equal(list[k].gpu_instance, stride == 16 ? NVML_NONE_U32 : 4);
        }
        free(list);
    }
    uint32_t count;
    struct nvml_process *list;
    assert_int_equal(gpu_process_list_read(&n, NULL, NVML_PROCESS_MPS, &list, &count), NVML_FUNCTION_NOT_FOUND);
}

static int asked_n, lost_code;

static int counted_range(struct nvml_device *d, uint32_t *min_mw, uint32_t *max_mw)
{
    *min_mw = 100000;
    *max_mw = 400000;
    return asked_n++ == 0 ? NVML_TIMEOUT : NVML_OK;
}

static int counted_temperature(struct nvml_device *d, int sensor, uint32_t *celsius)
{
    *celsius = 40;
    return lost_code;
}

static struct meter_result meter_once(struct gpu_meter *k, bool wants_range)
{
    struct meter_input in = {.now_ms = 1, .now_us = 1};
    struct meter_result r = {.lost = false};
    in.wanted[MEASURE_TEMPERATURE / 64] |= (uint64_t)1 << (MEASURE_TEMPERATURE % 64);
    if (wants_range)
        in.wanted[MEASURE_POWER_LIMIT_MAX_MW / 64] |= (uint64_t)1 << (MEASURE_POWER_LIMIT_MAX_MW % 64);
    meter_read(k, &in, &r);
    return r;
}

/* What stays as it is costs one call that answers, and is there whenever it is wanted. */
static void test_constants(void **state)
{
    struct nvml n = {.power_limit_range = counted_range, .temperature = counted_temperature};
    atomic_store(&n.refs, 1);
    struct gpu_meter *k = gpu_meter_new(&n);
    asked_n = lost_code = 0;
    struct meter_result r = meter_once(k, true);
    assert_false(has(&r.board, MEASURE_POWER_LIMIT_MAX_MW)); /* it failed: asked again */
    for (int i = 0; i < 3; i++) {
        r = meter_once(k, true);
        assert_int_equal((int)value_of(&r.board, MEASURE_POWER_LIMIT_MAX_MW), 400000);
        assert_int_equal(asked_n, 2);
        r = meter_once(k, false);
        assert_false(has(&r.board, MEASURE_POWER_LIMIT_MAX_MW));
        assert_true(has(&r.board, MEASURE_TEMPERATURE));
    }
    lost_code = NVML_GPU_IS_LOST;
    r = meter_once(k, true);
    assert_true(r.lost);
    gpu_meter_unref(k);
}

#define T 1000000000ull /* microseconds */

static int odd_utilization(struct nvml_device *d, struct nvml_process_utilization_sample *list, uint32_t *n,
                           unsigned long long last_seen_us)
{
    static const struct nvml_process_utilization_sample all[] = {
        {.pid = 100, .timestamp_us = T + 9500000, .sm_percent = 50},
        {.pid = 100, .timestamp_us = T + 9000000, .sm_percent = 100},
        {.pid = 100, .timestamp_us = T - 5, .sm_percent = 90},        /* seen before */
        {.pid = 100, .timestamp_us = T + 9600000, .sm_percent = 300}, /* impossible */
        {.pid = 100, .timestamp_us = T * 50, .sm_percent = 90},       /* of the future */
        {.pid = 999, .timestamp_us = T + 9700000, .sm_percent = 90},  /* gone */
        {.pid = 101, .timestamp_us = T + 9700000, .sm_percent = 10, .memory_percent = 200}};
    uint32_t room = list ? *n : 0;
    *n = sizeof all / sizeof *all;
    if (room < *n)
        return NVML_INSUFFICIENT_SIZE;
    memcpy(list, all, sizeof all);
    return NVML_OK;
}

static void test_hostile_samples(void **state)
{
    struct nvml n = {.compute_processes = odd_processes,
                     .graphics_processes = odd_processes,
                     .process_utilization = odd_utilization};
    atomic_store(&n.refs, 1);
    stride = 24;
    struct gpu_meter *k = gpu_meter_new(&n);
    k->last_seen_us = T + 8900000;
    k->before_us = T + 9000000;
    struct meter_input in = {.processes = true, .now_ms = 1, .now_us = T + 10000000};
    struct meter_result r = {.lost = false};
    meter_read(k, &in, &r);
    assert_int_equal(r.processes_n, 3); /* in two lists, each once */
    assert_false(r.processes[0].graphics);
    assert_int_equal(r.processes[0].samples_n, 2);
    assert_int_equal(r.processes[0].sm_percent, 50); /* the newest */
    assert_true(r.processes[0].sm_seconds > 0.3499 &&
                r.processes[0].sm_seconds < 0.3501); /* 0.1 s of all, 0.5 s of half */
    assert_int_equal(r.processes[1].sm_percent, 10);
    assert_int_equal(r.processes[1].memory_percent, 0);
    assert_int_equal(r.processes[2].samples_n, 0);
    assert_true(r.processes[2].memory_bytes == UINT64_MAX);
    assert_int_equal(k->last_seen_us, T + 9700000);
    in.now_us = 5000; /* the clock was set back: nothing is lost for ever */
    free(r.processes);
    r = (struct meter_result){.lost = false};
    meter_read(k, &in, &r);
    assert_true(k->last_seen_us <= 5000);
    free(r.processes);
    gpu_meter_unref(k);
    assert_int_equal(atomic_load(&n.refs), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_idle_board),
        cmocka_unit_test(test_what_a_board_is),
        cmocka_unit_test(test_what_a_gpu_lacks),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_too_many_processes),
        cmocka_unit_test(test_seconds_add_up),
        cmocka_unit_test(test_mig),
        cmocka_unit_test(test_a_lost_gpu),
        cmocka_unit_test(test_a_hanging_gpu),
        cmocka_unit_test(test_without_answers),
        cmocka_unit_test(test_entries_of_any_length),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_hostile_samples),
    };
    assert_true(argc > 1);
    nvsim_library = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
