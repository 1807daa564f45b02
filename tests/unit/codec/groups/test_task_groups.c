/* YuniKorn's task groups: the annotation, who is of which gang, and what is wrong in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "codec/groups/task_groups.h"
#include "../decoder_world.h"

#define GROUP(name, members) "{\"name\":\"" name "\",\"minMember\":" members ",\"minResource\":{\"cpu\":\"1\"}}"

static void finds_a_queue(void **state)
{
    (void)state;
    assert_string_equal(application_queue("a", "b", "c"), "a");
    assert_string_equal(application_queue("", "b", "c"), "b");
    assert_string_equal(application_queue(NULL, NULL, "c"), "c");
    assert_string_equal(application_queue(NULL, NULL, NULL), "");
    assert_true(is_queue_meant("root.team") && is_queue_meant("default.team") && is_queue_meant("team"));
    assert_false(is_queue_meant("") || is_queue_meant("default") || is_queue_meant("root.default"));
}

static void reads_task_groups(void **state)
{
    struct world *w = *state;
    struct task_groups g;
    struct err e = {0};
    const char *text = "[{\"name\":\"driver\",\"minMember\":1,\"minResource\":{\"cpu\":1,\"memory\":\"1Gi\"},\"nodeSelector\":{},\"tolerations\":null},"
                       "{\"Name\":\"worker\",\"MinMember\":4,\"minresource\":{\"nvidia.com/gpu\":\"8\"},\"nodeSelector\":{\"a\":\"b\"},"
                       "\"tolerations\":[{\"operator\":\"Exists\"}],\"colour\":1}]";
    assert_int_equal(task_groups_read(w->arena, bytes_of(text), &g, &e), 0);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.members, 5);
    assert_string_equal(g.all[0].name, "driver");
    assert_string_equal(g.all[1].name, "worker");
    assert_int_equal(g.all[1].min_member, 4);
    assert_string_equal(json_get_text(g.all[1].min_resource, "nvidia.com/gpu", ""), "8");
    assert_string_equal(g.unused, "worker.nodeSelector, worker.tolerations, worker.colour");
    assert_int_equal(task_groups_read(w->arena, bytes_of("[" GROUP("a", "20000") "]"), &g, &e), 0);
    assert_null(g.unused);
}

/* Each says where, and what to write. */
static void refuses_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "is no JSON"},
        {"{", "is no JSON"},
        {"{}", "write a list of 1 to"},
        {"[]", "write a list of 1 to"},
        {"[1]", "[0]: is no object"},
        {"[{\"minMember\":1,\"minResource\":{}}]", "[0].name: write"},
        {"[" GROUP("a", "1") "," GROUP("a", "1") "]", "[1].name: there is"},
        {"[" GROUP("a", "0") "]", "[0].minMember: write a whole number from 1"},
        {"[" GROUP("a", "-1") "]", "[0].minMember"},
        {"[" GROUP("a", "1.5") "]", "[0].minMember"},
        {"[" GROUP("a", "\"1\"") "]", "[0].minMember"},
        {"[" GROUP("a", "20001") "]", "[0].minMember"},
        {"[" GROUP("a", "99999999999999999999") "]", "[0].minMember"},
        {"[" GROUP("a", "20000") "," GROUP("b", "1") "]", "[1].minMember: with the groups before it"},
        {"[{\"name\":\"a\",\"minMember\":1}]", "[0].minResource: missing"},
        {"[{\"name\":\"a\",\"minMember\":1,\"minResource\":{\"cpu\":\"-1\"}}]", "[0].minResource[cpu]"},
        {"[{\"name\":\"a\",\"minMember\":1,\"minResource\":{\"cpu\":\"many\"}}]", "[0].minResource[cpu]"},
        {"[{\"name\":\"a\",\"minMember\":1,\"minResource\":{\"cpu\":{}}}]", "[0].minResource[cpu]"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct task_groups g;
        struct err e = {0};
        assert_int_equal(task_groups_read(w->arena, bytes_of(cases[i].text), &g, &e), -E_INVALID);
        if (!strstr(e.text, cases[i].says))
            fail_msg("%s: %s", cases[i].text, e.text);
    }
}

static void bounds_what_is_large(void **state)
{
    struct world *w = *state;
    struct task_groups g;
    struct err e = {0};
    _cleanup_buf_ struct buf text = {0};
    buf_text(&text, "[");
    for (int i = 0; i <= LIMIT_TASK_GROUPS; i++)
        buf_printf(&text, "%s{\"name\":\"g%d\",\"minMember\":1,\"minResource\":{}}", i ? "," : "", i);
    buf_text(&text, "]");
    assert_int_equal(task_groups_read(w->arena, buf_view(&text), &g, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "1 to 1000"));
    buf_clear(&text);
    while (text.n <= LIMIT_ANNOTATIONS_BYTES)
        buf_text(&text, "[[[[[[[[");
    assert_int_equal(task_groups_read(w->arena, buf_view(&text), &g, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "more than"));
    text.n = LIMIT_ANNOTATIONS_BYTES;
    assert_int_equal(task_groups_read(w->arena, buf_view(&text), &g, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "is no JSON"));
    buf_clear(&text);
    buf_text(&text, "[{\"name\":\"a\",\"minMember\":1,\"minResource\":{}");
    for (int i = 0; i < 2000; i++)
        buf_printf(&text, ",\"x%d\":1", i);
    buf_text(&text, "}]");
    assert_int_equal(task_groups_read(w->arena, buf_view(&text), &g, &e), 0);
    assert_true(strlen(g.unused) < 600);
}

static void names_applications(void **state)
{
    struct world *w = *state;
    assert_string_equal(application_of("a", "b", "c", "d"), "a");
    assert_string_equal(application_of("", "b", "c", "d"), "b");
    assert_string_equal(application_of(NULL, NULL, "c", "d"), "c");
    assert_string_equal(application_of(NULL, NULL, NULL, "d"), "d");
    assert_string_equal(application_of(NULL, NULL, NULL, NULL), "");
    assert_string_equal(application_of("ns-uniqueautogen", "b", NULL, NULL), "");
    assert_string_equal(application_group(w->arena, "spark-1"), "yunikorn-spark-1");
    const char *const odd[] = {"Spark_1", "spark_1", "a-", ".a", "a..b", "a/b", "a\xc3\xa9", ""};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const char *name = application_group(w->arena, odd[i]);
        assert_true(text_starts(name, "yunikorn-"));
        for (const char *c = name; *c; c++)
            assert_true((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-');
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name, application_group(w->arena, odd[k]));
    }
    char *most = arena_alloc(w->arena, LIMIT_ANNOTATIONS_BYTES + 1);
    memset(most, 'a', LIMIT_ANNOTATIONS_BYTES);
    most[LIMIT_ANNOTATIONS_BYTES] = '\0';
    assert_true(strlen(application_group(w->arena, most)) < 80);
}

static void finds_a_pods_gang(void **state)
{
    static const struct {
        const char *scheduler, *labels, *annotations, *gang, *task;
    } cases[] = {
        {"yunikorn", "\"applicationId\":\"x\"", "\"yunikorn.apache.org/task-group-name\":\"w\"", "volcano/ns/yunikorn-x", "w"},
        {"yunikorn", "\"yunikorn.apache.org/app-id\":\"y\",\"applicationId\":\"x\"",
         "\"yunikorn.apache.org/task-group-name\":\"w\",\"yunikorn.apache.org/app-id\":\"z\"", "volcano/ns/yunikorn-y", "w"},
        {"yunikorn", "\"applicationId\":\"x\"",
         "\"yunikorn.apache.org/app-id\":\"z\",\"yunikorn.apache.org/task-group-name\":\"w\"", "volcano/ns/yunikorn-z", "w"},
        {"yunikorn", "\"spark-app-selector\":\"x\"", "\"yunikorn.apache.org/task-group-name\":\"w\"", "volcano/ns/yunikorn-x", "w"},
        {"yunikorn", "\"spark-app-selector\":\"x\",\"spark-role\":\"driver\"", "\"yunikorn.apache.org/task-group-name\":\"w\"", "", ""},
        {"yunikorn", "\"applicationId\":\"x\"", "\"yunikorn.apache.org/task-groups\":\"[]\"", "", ""},
        {"yunikorn", "\"a\":\"b\"", "\"yunikorn.apache.org/task-group-name\":\"w\"", "", ""},
        {"volcano", "\"applicationId\":\"x\"", "\"yunikorn.apache.org/task-group-name\":\"w\"", "", ""},
        {"yunikorn", "\"applicationId\":\"x\"", "\"yunikorn.apache.org/task-group-name\":7", "", ""},
        {"yunikorn", "\"applicationId\":\"x\"", "\"yunikorn.apache.org/task-group-name\":\"w\",\"scheduling.k8s.io/group-name\":\"g\"",
         "volcano/ns/g", ""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pod_record p;
        struct err e = {0};
        const char *text = arena_printf(w->arena,
                                        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"labels\":{%s},\"annotations\":{%s}},"
                                        "\"spec\":{\"schedulerName\":\"%s\"}}",
                                        cases[i].labels, cases[i].annotations, cases[i].scheduler);
        assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
        assert_string_equal(intern_name(w->names, p.gang), cases[i].gang);
        assert_string_equal(intern_name(w->names, p.pod_set), cases[i].task);
        assert_int_equal(p.gang_source, *cases[i].gang ? GANG_VOLCANO : GANG_POD);
    }
}

/* A pod that YuniKorn made to keep a place is nobody's to start. */
static void leaves_placeholders(void **state)
{
    struct world *w = *state;
    static const char *const keys[] = {"yunikorn.apache.org/placeholder", "internal.yunikorn.apache.org/placeholder", "example.com/placeholder"};
    w->ours[0] = intern_text_id(w->names, "yunikorn");
    for (size_t i = 0; i < 3; i++) {
        struct pod_record p;
        struct err e = {0};
        const char *text = arena_printf(w->arena,
                                        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{\"%s\":\"true\"}},"
                                        "\"spec\":{\"schedulerName\":\"yunikorn\"}}", keys[i]);
        assert_int_equal(decode_pod(&w->d, bytes_of(text), &p, &e), 0);
        assert_int_equal(p.ours, i == 2);
    }
}

static void tells_what_parameters_do_nothing(void **state)
{
    struct world *w = *state;
    assert_null(scheduling_parameters_unused(w->arena, ""));
    assert_null(scheduling_parameters_unused(w->arena, "gangSchedulingStyle=Hard"));
    assert_non_null(strstr(scheduling_parameters_unused(w->arena, "placeholderTimeoutInSeconds=30 gangSchedulingStyle=Hard"), "Timeout"));
    assert_non_null(strstr(scheduling_parameters_unused(w->arena, "gangSchedulingStyle=Soft"), "no part of it"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
    const struct CMUnitTest tests[] = {TEST(reads_task_groups),  TEST(refuses_what_is_wrong), TEST(bounds_what_is_large),
                                       TEST(names_applications), TEST(finds_a_queue),         TEST(finds_a_pods_gang),
                                       TEST(leaves_placeholders), TEST(tells_what_parameters_do_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
