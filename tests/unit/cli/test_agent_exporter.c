/* The options of dcgm-exporter, as its DaemonSets and charts write them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/agent/agent_exporter.h"

struct given {
    struct agent_exporter_command c;
    struct options o;
    struct arena *a;
    int code; /* of the parser; -1 well */
};
/* The options of one command line, NULL ends them. */
static void given_init(struct given *g, ...)
{
    char *argv[16] = {(char[]){"agent"}};
    int argc = 1;
    va_list args;
    va_start(args, g);
    for (char *word; (word = va_arg(args, char *)); argc++)
        argv[argc] = word;
    va_end(args);
    g->a = arena_new();
    g->code = options_parse(&g->o, &command_rows[command_find("agent")], argc, argv);
    if (g->code == -1)
        agent_exporter_take(&g->c, g->a, &g->o);
    g->c.options.node_name = "n1";
}
static void given_free(struct given *g)
{
    options_free(&g->o);
    arena_free(g->a);
}
/* NULL: all is well. */
static const char *settle(struct given *g)
{
    const char *option, *bad = agent_exporter_settle(&g->c, g->a, &option);
    return bad ? arena_printf(g->a, "%s: %s", option, bad) : NULL;
}

static char *option_word_of(const char *name)
{
    static char word[96];
    (void)snprintf(word, sizeof word, "--%s", name);
    return word;
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
            given_init(&g, option_word_of(names[k]), rows[i].value, NULL);
            assert_int_equal(g.code, -1);
            const char *bad = settle(&g);
            const int64_t got[] = {g.c.options.period_ms, g.c.options.xid_window_ms, g.c.options.clock_window_ms};
            if (rows[i].ms > 0 && (bad || got[k] != rows[i].ms))
                fail_msg("--%s %s: %s", names[k], rows[i].value, bad ? bad : "another time");
            if (rows[i].ms == 0 && (!bad || !text_starts(bad, names[k])))
                fail_msg("--%s %s: taken", names[k], rows[i].value);
            given_free(&g);
        }
}

static void test_short_names(void **state)
{
    static const struct {
        const char *letter, *name;
    } rows[] = {{"f", "collectors"}, {"a", "address"},        {"c", "collect-interval"},       {"k", "kubernetes"},
                {"d", "devices"},    {"m", "configmap-data"}, {"r", "remote-hostengine-info"}, {"n", "no-hostname"},
                {"x", "xid-count-window-size"}, {"s", "switch-devices"}, {"p", "cpu-devices"}, {"rbmn", "replace-blanks-in-model-name"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct given g;
        char letter[16];
        (void)snprintf(letter, sizeof letter, "-%s=true", rows[i].letter);
        given_init(&g, letter, NULL);
        assert_int_equal(g.code, -1);
        int id = option_find(g.o.command, rows[i].name, strlen(rows[i].name));
        assert_true(id >= 0);
        /* what has no effect here is taken and not kept */
        assert_true(g.o.command->options[id].role == OPTION_IS_IGNORED || text_equal(option_text(&g.o, (uint32_t)id), "true"));
        given_free(&g);
    }
    struct given g;
    given_init(&g, "-z", NULL);
    assert_int_equal(g.code, EXIT_USAGE);
    given_free(&g);
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
        char word[64];
        (void)snprintf(word, sizeof word, "--use-old-namespace=%s", rows[i].value);
        given_init(&g, word, NULL);
        assert_int_equal(rows[i].is, g.code == -1 ? g.c.options.page.old_namespace : -1);
        given_free(&g);
    }
}

static void test_words(void **state)
{
    static const struct {
        const char *name, *value;
        bool is_wrong;
    } rows[] = {{"kubernetes-gpu-id-type", "uid", false},
                {"kubernetes-gpu-id-type", "device-name", false},
                {"kubernetes-gpu-id-type", "uuid", true},
                {"devices", "f", false},
                {"devices", "g:0+i", false}, /* without effect, and said */
                {"configmap-data", "none", false},
                {"configmap-data", "ns:name", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct given g;
        given_init(&g, option_word_of(rows[i].name), rows[i].value, NULL);
        assert_int_equal(g.code, rows[i].is_wrong ? EXIT_USAGE : -1);
        assert_true(rows[i].is_wrong || !settle(&g));
        given_free(&g);
    }
}

/* dcgm-exporter takes a list, by commas or by the option standing several times; the environment gives way to the option. */
static void test_pod_labels(void **state)
{
    struct given g;
    given_init(&g, NULL);
    assert_null(settle(&g));
    assert_null(g.c.options.pod_label_allow);
    given_free(&g);
    assert_int_equal(setenv("DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX", "^app$,^team$", 1), 0);
    given_init(&g, "--kubernetes-enable-pod-labels", NULL);
    assert_null(settle(&g));
    assert_string_equal(g.c.options.pod_label_allow, "^app$|^team$");
    given_free(&g);
    given_init(&g, "--kubernetes-enable-pod-labels=true", "--kubernetes-pod-label-allowlist-regex", "^a",
               "--kubernetes-pod-label-allowlist-regex", "^b,^c", NULL);
    assert_null(settle(&g));
    assert_string_equal(g.c.options.pod_label_allow, "^a|^b|^c");
    assert_int_equal(unsetenv("DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"), 0);
    given_free(&g);
}

/* A variable that says neither true nor false to others is left out; one that has to be a word is refused. */
static void test_environment(void **state)
{
    struct given g;
    assert_int_equal(setenv("DCGM_EXPORTER_NO_HOSTNAME", "perhaps", 1), 0);
    given_init(&g, NULL);
    assert_int_equal(g.code, -1);
    assert_false(g.c.options.page.no_hostname);
    given_free(&g);
    assert_int_equal(setenv("DCGM_EXPORTER_NO_HOSTNAME", "true", 1), 0);
    given_init(&g, NULL);
    assert_true(g.c.options.page.no_hostname);
    given_free(&g);
    given_init(&g, "--no-hostname=false", NULL);
    assert_false(g.c.options.page.no_hostname);
    given_free(&g);
    assert_int_equal(unsetenv("DCGM_EXPORTER_NO_HOSTNAME"), 0);
    assert_int_equal(setenv("DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE", "uuid", 1), 0);
    given_init(&g, NULL);
    assert_int_equal(g.code, EXIT_USAGE);
    given_free(&g);
    assert_int_equal(unsetenv("DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE"), 0);
}

static void test_remote_write_labels(void **state)
{
    struct given g;
    given_init(&g, "--remote-write-label", "cluster=east", "--remote-write-label=zone=a=b", NULL);
    assert_null(settle(&g));
    assert_int_equal(g.c.options.remote_write.external_labels_n, 2);
    assert_string_equal(g.c.options.remote_write.external_labels[1].name, "zone");
    assert_string_equal(g.c.options.remote_write.external_labels[1].value, "a=b");
    given_free(&g);
    given_init(&g, "--remote-write-label", "cluster", NULL);
    assert_string_equal(settle(&g), "remote-write-label: NAME=VALUE is expected, as cluster=east");
    given_free(&g);
    given_init(&g, NULL);
    assert_null(settle(&g));
    assert_string_equal(g.c.options.remote_write.external_labels[1].value, "n1");
    given_free(&g);
}

static void test_dcgm(void **state)
{
    struct given g;
    given_init(&g, NULL);
    assert_null(agent_exporter_dcgm(&g.c)->address); /* asked for by default, and only there where it is */
    assert_false(agent_exporter_dcgm(&g.c)->embedded);
    given_free(&g);
    given_init(&g, "--remote-hostengine-info", "unix:/run/x", "--dcgm-embedded", NULL);
    assert_string_equal(agent_exporter_dcgm(&g.c)->address, "unix:/run/x");
    assert_true(agent_exporter_dcgm(&g.c)->embedded);
    given_free(&g);
    given_init(&g, "-r", "unix:/run/x", "-r=none", NULL);
    assert_null(agent_exporter_dcgm(&g.c));
    given_free(&g);
    given_init(&g, "--remote-hostengine-info", "localhost:5555", "--exporter=false", NULL);
    assert_null(agent_exporter_dcgm(&g.c));
    given_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_times),      cmocka_unit_test(test_short_names),
                                       cmocka_unit_test(test_flags),      cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_pod_labels), cmocka_unit_test(test_environment),
                                       cmocka_unit_test(test_remote_write_labels), cmocka_unit_test(test_dcgm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
