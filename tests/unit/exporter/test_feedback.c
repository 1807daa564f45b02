/* Feedback: when it is written, what it says, how long it may get */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/arena.h"
#include "exporter/push/feedback.h"
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
    struct buf out = {0};
    assert_true(feedback_update(f, &sample, 0, &out));
    assert_string_equal(out.data, "{\"at\":1750000000,\"period\":15,\"units\":[{\"id\":\"GPU-a\",\"activity\":0.62,"
                                  "\"memory\":[10240,40960],\"margin\":28,\"throttled\":false,\"xid\":0,\"xidAt\":0}]}");
    memset(&values, 0, sizeof values); /* nothing is known: absent, not 0 */
    unit.activity = -1;
    assert_true(feedback_update(f, &sample, 15000, &out));
    assert_non_null(strstr(out.data, "[{\"id\":\"GPU-a\",\"throttled\":false,\"xid\":0,\"xidAt\":0}]"));
    feedback_free(f);
    feedback_free(NULL);
    buf_free(&out);
}

static void says_what_the_network_carries(void **state)
{
    reset();
    struct feedback *f = feedback_new(15000);
    struct buf out = {0};
    assert_true(feedback_update(f, &sample, 0, &out));
    assert_null(strstr(out.data, "network")); /* nobody has counted it */
    feedback_network(f, 1000, false);
    assert_true(feedback_update(f, &sample, 15000, &out)); /* it is known now */
    assert_non_null(strstr(out.data, "\"period\":15,\"network\":1000,\"networkOf\":\"ethernet\",\"units\":["));
    feedback_network(f, FEEDBACK_QUIET_BYTES - 1, false);
    assert_false(feedback_update(f, &sample, 30000, &out));
    feedback_network(f, 5e9, true); /* quiet no more */
    assert_true(feedback_update(f, &sample, 45000, &out));
    assert_non_null(strstr(out.data, "\"network\":5000000000,\"networkOf\":\"rdma\""));
    feedback_network(f, 9e9, true);
    assert_false(feedback_update(f, &sample, 60000, &out));
    feedback_network(f, -1, false);
    assert_true(feedback_update(f, &sample, 75000, &out));
    assert_null(strstr(out.data, "network"));
    feedback_free(f);
    buf_free(&out);
}

static void only_real_changes_and_once_a_period(void **state)
{
    reset();
    struct feedback *f = feedback_new(15000);
    struct buf out = {0};
    assert_true(feedback_update(f, &sample, 1000, &out));
    assert_false(feedback_update(f, &sample, 16000, &out));
    unit.activity = 0.71;
    measure_set(&values, MEASURE_FB_USED_MIB, 10240 + 2000);
    measure_set(&values, MEASURE_TEMPERATURE, 62);
    assert_false(feedback_update(f, &sample, 31000, &out));
    unit.activity = 0.73; /* a tenth off what was written */
    assert_false(feedback_update(f, &sample, 15999, &out));
    assert_true(feedback_update(f, &sample, 46000, &out));
    measure_set(&values, MEASURE_FB_USED_MIB, 10240 + 2000 + 2048);
    assert_true(feedback_update(f, &sample, 61000, &out));
    measure_set(&values, MEASURE_TEMPERATURE, 65);
    assert_true(feedback_update(f, &sample, 76000, &out));
    measure_set(&values, MEASURE_CLOCK_EVENT_REASONS, 0x4); /* the power cap is no throttling */
    assert_false(feedback_update(f, &sample, 91000, &out));
    measure_set(&values, MEASURE_CLOCK_EVENT_REASONS, 0x40);
    assert_true(feedback_update(f, &sample, 106000, &out));
    assert_non_null(strstr(out.data, "\"throttled\":true"));
    xid.n = 1;
    xid.last_s = 1750000001;
    assert_true(feedback_update(f, &sample, 121000, &out));
    assert_non_null(strstr(out.data, "\"xid\":79,\"xidAt\":1750000001"));
    assert_false(feedback_update(f, &sample, 121000 + 149999, &out));
    assert_true(feedback_update(f, &sample, 121000 + 150000, &out)); /* ten periods: still alive */
    sample.units_n = 0;
    assert_true(feedback_update(f, &sample, 121000 + 165000, &out));
    assert_non_null(strstr(out.data, "\"units\":[]"));
    feedback_free(f);
    buf_free(&out);
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
    struct buf out = {0};
    assert_true(feedback_update(f, &sample, 0, &out));
    assert_true(out.n <= 16 << 10);
    struct arena *a = arena_new();
    struct json *v = json_parse(a, buf_view(&out), NULL, NULL), *list = json_get(v, "units");
    assert_int_equal(list->n, GPUS);
    assert_string_equal(json_get_text(list->first, "id", ""), gpus[0].uuid);
    assert_string_equal(json_get(list->first, "activity")->text, "0.10");
    assert_string_equal(json_path(list->first, "memory", NULL)->first->text, "71680");
    assert_false(feedback_update(f, &sample, 1000, &out));
    arena_free(a);
    feedback_free(f);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_is_known),
        cmocka_unit_test(says_what_the_network_carries),
        cmocka_unit_test(only_real_changes_and_once_a_period),
        cmocka_unit_test(groups_what_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
