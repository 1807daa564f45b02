/* The options of dcgm-exporter, as its DaemonSets and charts write them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "cli/agent/agent_exporter.h"

struct given {
    struct agent_exporter_command c;
    struct arena *a;
};
static void given_init(struct given *g)
{
    g->a = arena_new();
    agent_exporter_defaults(&g->c);
    g->c.options.node_name = "n1";
}
static const char *take(struct given *g, const char *name, const char *value)
{
    bool is_flag;
    assert_true(agent_exporter_knows(name, &is_flag));
    return agent_exporter_take(&g->c, g->a, name, value);
}
/* NULL: all is well. */
static const char *settle(struct given *g)
{
    const char *option, *bad = agent_exporter_settle(&g->c, g->a, &option);
    return bad ? arena_printf(g->a, "%s: %s", option, bad) : NULL;
}

static void test_times(void **state)
{
    static const struct {
        const char *value;
        int64_t ms; /* 0: refused */
    } rows[] = {{"30000", 30000}, {"100", 100}, {"15s", 15000}, {"1m30s", 90000}, {"99", 0},        {"3", 0},
                {"0", 0},         {"-5", 0},    {"", 0},        {"soon", 0},      {"86400001", 0}, {"1e3", 0}};
    static const char *const names[] = {"collect-interval", "xid-count-window-size", "clock-events-count-window-size"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 3; k++) {
            struct given g;
            given_init(&g);
            assert_null(take(&g, names[k], rows[i].value));
            const char *bad = settle(&g);
            const int64_t got[] = {g.c.options.period_ms, g.c.options.xid_window_ms, g.c.options.clock_window_ms};
            if (rows[i].ms > 0 && (bad || got[k] != rows[i].ms))
                fail_msg("--%s %s: %s", names[k], rows[i].value, bad ? bad : "another time");
            if (rows[i].ms == 0 && (!bad || !text_starts(bad, names[k])))
                fail_msg("--%s %s: taken", names[k], rows[i].value);
            arena_free(g.a);
        }
}

static void test_short_names(void **state)
{
    static const struct {
        const char *letter, *name;
    } rows[] = {{"f", "collectors"}, {"a", "address"},        {"c", "collect-interval"},       {"k", "kubernetes"},
                {"d", "devices"},    {"m", "configmap-data"}, {"r", "remote-hostengine-info"}, {"n", "no-hostname"},
                {"x", "xid-count-window-size"}, {"s", "switch-devices"}, {"p", "cpu-devices"}, {"rbmn", "replace-blanks-in-model-name"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(agent_exporter_short(rows[i].letter), rows[i].name);
    assert_null(agent_exporter_short("z"));
}

static void test_flags(void **state)
{
    static const struct {
        const char *value;
        int is; /* -1: refused */
    } rows[] = {{"true", 1},  {"True", 1},  {"TRUE", 1}, {"T", 1}, {"1", 1},    {"t", 1},
                {"False", 0}, {"false", 0}, {"0", 0},    {"f", 0}, {"yes", -1}, {"", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct given g;
        given_init(&g);
        const char *bad = take(&g, "use-old-namespace", rows[i].value);
        assert_int_equal(rows[i].is, bad ? -1 : g.c.options.page.old_namespace);
        arena_free(g.a);
    }
}

static void test_words(void **state)
{
    static const struct {
        const char *name, *value, *error; /* error NULL: well */
    } rows[] = {{"kubernetes-gpu-id-type", "uid", NULL},
                {"kubernetes-gpu-id-type", "device-name", NULL},
                {"kubernetes-gpu-id-type", "uuid", "kubernetes-gpu-id-type: use uid or device-name"},
                {"devices", "f", NULL},
                {"devices", "g:0+i", NULL}, /* without effect, and said */
                {"configmap-data", "none", NULL},
                {"configmap-data", "ns:name", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct given g;
        given_init(&g);
        assert_null(take(&g, rows[i].name, rows[i].value));
        const char *bad = settle(&g);
        if (rows[i].error)
            assert_string_equal(bad, rows[i].error);
        else
            assert_null(bad);
        arena_free(g.a);
    }
}

/* dcgm-exporter takes a list, by commas or by the option standing several times; the environment gives way to the option. */
static void test_pod_labels(void **state)
{
    struct given g;
    given_init(&g);
    assert_null(settle(&g));
    assert_null(g.c.options.pod_label_allow);
    assert_int_equal(setenv("DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", "^app$,^team$", 1), 0);
    agent_exporter_environment(&g.c);
    assert_null(take(&g, "kubernetes-enable-pod-labels", "true"));
    assert_null(settle(&g));
    assert_string_equal(g.c.options.pod_label_allow, "^app$|^team$");
    assert_null(take(&g, "kubernetes-pod-label-allowlist-regex", "^a"));
    assert_null(take(&g, "kubernetes-pod-label-allowlist-regex", "^b,^c"));
    assert_null(settle(&g));
    assert_string_equal(g.c.options.pod_label_allow, "^a|^b|^c");
    assert_int_equal(unsetenv("DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"), 0);
    arena_free(g.a);
}

static void test_dcgm(void **state)
{
    struct given g;
    given_init(&g);
    assert_null(agent_exporter_dcgm(&g.c)->address); /* asked for by default, and only there where it is */
    assert_false(agent_exporter_dcgm(&g.c)->embedded);
    assert_null(take(&g, "remote-hostengine-info", "unix:/run/x"));
    assert_null(take(&g, "dcgm-embedded", "true"));
    assert_string_equal(agent_exporter_dcgm(&g.c)->address, "unix:/run/x");
    assert_true(agent_exporter_dcgm(&g.c)->embedded);
    assert_null(take(&g, "remote-hostengine-info", "none"));
    assert_null(agent_exporter_dcgm(&g.c));
    assert_null(take(&g, "remote-hostengine-info", "localhost:5555"));
    assert_null(take(&g, "exporter", "false"));
    assert_null(agent_exporter_dcgm(&g.c));
    arena_free(g.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times),      cmocka_unit_test(test_short_names),
                                       cmocka_unit_test(test_flags),      cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_pod_labels), cmocka_unit_test(test_dcgm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
