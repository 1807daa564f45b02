/* Feedback: when it is written, what it says, how long it may get */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "exporter/push/feedback.h"
#include "exporter/push/session_note.h"
#include "wire/json.h"

static struct driver_gpu gpu = {.uuid = "GPU-a"};
static struct measure_values values;
static struct sample_unit unit = {.gpu = &gpu, .values = &values, .board = &values, .activity = 0.62};
static struct sample_xid xid = {.gpu_uuid = "GPU-a", .xid = 79};
static struct sample sample;

static void reset(void)
{
    memset(&values, 0, sizeof values);
    measure_set(&values, MEASURE_FB_USED_MIB, 10240);
    measure_set(&values, MEASURE_FB_TOTAL_MIB, 40960);
    measure_set(&values, MEASURE_TEMPERATURE, 60);
    measure_set(&values, MEASURE_TEMPERATURE_SLOWDOWN, 88);
    unit.activity = 0.62;
    xid.n = 0;
    xid.last_s = 0;
    sample = (struct sample){.wall_s = 1750000000.4, .units = &unit, .units_n = 1, .xids = &xid, .xids_n = 1};
}

static void says_what_is_known(void **state)
{
    reset();
    struct feedback *f = feedback_new(15000);
    struct buf out = {0}, sessions = {0};
    assert_true(feedback_update(f, &sample, 0, &out, &sessions));
    assert_string_equal(out.data, "{\"at\":1750000000,\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":0.62,"
                                  "\"memory\":[10240,40960],\"margin\":28,\"throttled\":false,\"xid\":0,\"xidAt\":0}]}");
    memset(&values, 0, sizeof values); /* nothing is known: absent, not 0 */
    unit.activity = -1;
    assert_true(feedback_update(f, &sample, 15000, &out, &sessions));
    assert_non_null(strstr(out.data, "[{\"id\":\"GPU-a\",\"throttled\":false,\"xid\":0,\"xidAt\":0}]"));
    feedback_free(f);
    feedback_free(NULL);
    buf_free(&out);
    buf_free(&sessions);
}

static void says_what_the_network_carries(void **state)
{
    reset();
    struct feedback *f = feedback_new(15000);
    struct buf out = {0}, sessions = {0};
    assert_true(feedback_update(f, &sample, 0, &out, &sessions));
    assert_null(strstr(out.data, "network")); /* nobody has counted it */
    feedback_network(f, 1000, false);
    assert_true(feedback_update(f, &sample, 15000, &out, &sessions)); /* it is known now */
    assert_non_null(strstr(out.data, "\"period\":15,\"network\":1000,\"networkOf\":\"ethernet\",\"units\":["));
    feedback_network(f, FEEDBACK_QUIET_BYTES - 1, false);
    assert_false(feedback_update(f, &sample, 30000, &out, &sessions));
    feedback_network(f, 5e9, true); /* quiet no more */
    assert_true(feedback_update(f, &sample, 45000, &out, &sessions));
    assert_non_null(strstr(out.data, "\"network\":5000000000,\"networkOf\":\"rdma\""));
    feedback_network(f, 9e9, true);
    assert_false(feedback_update(f, &sample, 60000, &out, &sessions));
    feedback_network(f, -1, false);
    assert_true(feedback_update(f, &sample, 75000, &out, &sessions));
    assert_null(strstr(out.data, "network"));
    feedback_free(f);
    buf_free(&out);
    buf_free(&sessions);
}

static void only_real_changes_and_once_a_period(void **state)
{
    reset();
    struct feedback *f = feedback_new(15000);
    struct buf out = {0}, sessions = {0};
    assert_true(feedback_update(f, &sample, 1000, &out, &sessions));
    assert_false(feedback_update(f, &sample, 16000, &out, &sessions));
    unit.activity = 0.71;
    measure_set(&values, MEASURE_FB_USED_MIB, 10240 + 2000);
    measure_set(&values, MEASURE_TEMPERATURE, 62);
    assert_false(feedback_update(f, &sample, 31000, &out, &sessions));
    unit.activity = 0.73; /* a tenth off what was written */
    assert_false(feedback_update(f, &sample, 15999, &out, &sessions));
    assert_true(feedback_update(f, &sample, 46000, &out, &sessions));
    measure_set(&values, MEASURE_FB_USED_MIB, 10240 + 2000 + 2048);
    assert_true(feedback_update(f, &sample, 61000, &out, &sessions));
    measure_set(&values, MEASURE_TEMPERATURE, 65);
    assert_true(feedback_update(f, &sample, 76000, &out, &sessions));
    measure_set(&values, MEASURE_CLOCK_EVENT_REASONS, 0x4); /* the power cap is no throttling */
    assert_false(feedback_update(f, &sample, 91000, &out, &sessions));
    measure_set(&values, MEASURE_CLOCK_EVENT_REASONS, 0x40);
    assert_true(feedback_update(f, &sample, 106000, &out, &sessions));
    assert_non_null(strstr(out.data, "\"throttled\":true"));
    xid.n = 1;
    xid.last_s = 1750000001;
    assert_true(feedback_update(f, &sample, 121000, &out, &sessions));
    assert_non_null(strstr(out.data, "\"xid\":79,\"xidAt\":1750000001"));
    assert_false(feedback_update(f, &sample, 121000 + 149999, &out, &sessions));
    assert_true(feedback_update(f, &sample, 121000 + 150000, &out, &sessions)); /* ten periods: still alive */
    sample.units_n = 0;
    assert_true(feedback_update(f, &sample, 121000 + 165000, &out, &sessions));
    assert_non_null(strstr(out.data, "\"units\":[]"));
    feedback_free(f);
    buf_free(&out);
    buf_free(&sessions);
}

static void groups_what_is_too_long(void **state)
{
    enum { GPUS = 64, EACH = 7 };
    static struct driver_gpu gpus[GPUS];
    static struct driver_mig migs[GPUS * EACH];
    static struct sample_unit units[GPUS * EACH];
    reset();
    for (int i = 0; i < GPUS * EACH; i++) {
        struct driver_gpu *g = &gpus[i / EACH];
        (void)snprintf(g->uuid, sizeof g->uuid, "GPU-%08d-0000-0000-0000-000000000000", i / EACH);
        (void)snprintf(migs[i].uuid, sizeof migs[i].uuid, "MIG-%08d-0000-0000-0000-000000000000", i);
        units[i] = unit;
        units[i].gpu = g;
        units[i].mig = &migs[i];
        units[i].activity = i % EACH == 0 ? 0.7 : 0;
    }
    sample.units = units;
    sample.units_n = GPUS * EACH;
    struct feedback *f = feedback_new(1000);
    struct buf out = {0}, sessions = {0};
    assert_true(feedback_update(f, &sample, 0, &out, &sessions));
    assert_true(out.n <= 16 << 10);
    struct arena *a = arena_new();
    struct json *v = json_parse(a, buf_view(&out), NULL, NULL), *list = json_get(v, "units");
    assert_int_equal(list->n, GPUS);
    assert_string_equal(json_get_text(list->first, "id", ""), gpus[0].uuid);
    assert_string_equal(json_get(list->first, "activity")->text, "0.10");
    assert_string_equal(json_path(list->first, "memory", NULL)->first->text, "71680");
    assert_false(feedback_update(f, &sample, 1000, &out, &sessions));
    arena_free(a);
    feedback_free(f);
    buf_free(&out);
    buf_free(&sessions);
}

/* ---- who is on which device ---- */

static struct driver_mig mig = {.uuid = "MIG-a"};
static struct measure_process measured[200];
static struct sample_container container = {.ns = "n", .pod = "p\"", .container = "main"};
static struct sample_process processes[200];

static void reset_processes(int n)
{
    reset();
    static struct sample_unit units[2];
    units[0] = units[1] = unit;
    units[1].mig = &mig;
    sample.units = units;
    sample.units_n = 2;
    sample.containers = &container;
    sample.containers_n = 1;
    sample.processes = processes;
    sample.processes_n = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        measured[i] = (struct measure_process){.pid = 100 + (uint32_t)i, .memory_bytes = UINT64_C(1536) << 20};
        processes[i] = (struct sample_process){.measured = &measured[i], .command = "python3", .container = 0, .start_time_s = 1749990000.9,
                                               .start_ticks = 7, .sm_percent = 50};
    }
}

static void says_who_is_there(void **state)
{
    reset_processes(2);
    struct feedback *f = feedback_new(15000);
    struct buf out = {0}, sessions = {0};
    processes[1].unit = 1;
    processes[1].container = -1; /* nobody's, on a MIG device, of which little is known */
    processes[1].start_time_s = 0;
    measured[1].memory_bytes = UINT64_MAX;
    assert_true(feedback_update(f, &sample, 0, &out, &sessions));
    assert_string_equal(sessions.data,
                        "{\"at\":1750000000,\"period\":15,\"sessions\":[{\"unit\":\"GPU-a\",\"pid\":100,\"command\":\"python3\","
                        "\"pod\":\"n/p\\\"\",\"container\":\"main\",\"memory\":1536,\"busy\":50,\"since\":1749990000},"
                        "{\"unit\":\"MIG-a\",\"pid\":101,\"command\":\"python3\"}]}");
    struct buf patch = {0};
    feedback_patch(buf_view(&out), buf_view(&sessions), &patch);
    struct arena *a = arena_new();
    const struct json *annotations = json_path(json_parse(a, buf_view(&patch), NULL, NULL), "metadata", "annotations", NULL);
    assert_string_equal(json_get_text(annotations, "capstan.dev/gpu-sessions", ""), sessions.data);
    assert_string_equal(json_get_text(annotations, "capstan.dev/gpu-feedback", ""), out.data);
    arena_free(a);
    buf_free(&patch);
    feedback_free(f);
    buf_free(&out);
    buf_free(&sessions);
}

static void who_comes_and_goes_is_written(void **state)
{
    reset_processes(2);
    struct feedback *f = feedback_new(15000);
    struct buf out = {0}, sessions = {0};
    assert_true(feedback_update(f, &sample, 0, &out, &sessions));
    processes[1].sm_percent = 90; /* how busy they are is not who they are */
    measured[1].memory_bytes += 5;
    assert_false(feedback_update(f, &sample, 15000, &out, &sessions));
    processes[1].start_ticks = 8; /* another of the same number */
    assert_false(feedback_update(f, &sample, 14999, &out, &sessions)); /* once a period */
    assert_true(feedback_update(f, &sample, 30000, &out, &sessions));
    processes[1].unit = 1;
    assert_true(feedback_update(f, &sample, 45000, &out, &sessions));
    sample.processes_n = 1;
    assert_true(feedback_update(f, &sample, 60000, &out, &sessions));
    sample.processes_n = 0;
    assert_true(feedback_update(f, &sample, 75000, &out, &sessions));
    assert_non_null(strstr(sessions.data, "\"sessions\":[]"));
    feedback_free(f);
    buf_free(&out);
    buf_free(&sessions);
}

static void says_how_many_are_left_out(void **state)
{
    reset_processes(200);
    struct buf sessions = {0};
    sample.processes_left_out_n = 5;
    (void)session_note_text(&sample, 15000, &sessions);
    assert_true(sessions.n <= 16 << 10);
    struct arena *a = arena_new();
    const struct json *v = json_parse(a, buf_view(&sessions), NULL, NULL);
    assert_int_equal(json_get(v, "sessions")->n + json_get_int64(v, "more", 0), 205);
    assert_in_range(json_get(v, "sessions")->n, 90, 199);
    arena_free(a);
    buf_free(&sessions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_known),
        cmocka_unit_test(says_what_the_network_carries),
        cmocka_unit_test(only_real_changes_and_once_a_period),
        cmocka_unit_test(groups_what_is_too_long),
        cmocka_unit_test(says_who_is_there),
        cmocka_unit_test(who_comes_and_goes_is_written),
        cmocka_unit_test(says_how_many_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
