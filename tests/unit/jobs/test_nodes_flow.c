/* Nodes that are not ready, and what becomes of their pods, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "jobs/lost_nodes.h"
#include "world.h"

static const char *taints_text(const struct json *taints)
{
    _cleanup_buf_ struct buf out = {0};
    JSON_EACH (taint, taints)
        buf_printf(&out, "%s:%s ", json_get_text(taint, "key", ""), json_get_text(taint, "effect", ""));
    return arena_text(w.a, out.data ? out.data : "");
}

static void test_taints_follow_the_condition(void **state)
{
    (void)state;
#define READY "node.kubernetes.io/not-ready:NoSchedule node.kubernetes.io/not-ready:NoExecute "
#define REACH "node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute "
#define TAINT(key, effect) "{\"key\":\"" key "\",\"effect\":\"" effect "\"}"
#define NOT_READY TAINT("node.kubernetes.io/not-ready", "NoSchedule") "," TAINT("node.kubernetes.io/not-ready", "NoExecute")
    static const struct {
        const char *ready, *taints, *wanted; /* wanted NULL: nothing to do */
    } cases[] = {
        {"True", "", NULL},
        {"True", TAINT("k", "NoExecute"), NULL},
        {"True", NOT_READY, ""},
        {"True", TAINT("k", "NoExecute") "," NOT_READY, "k:NoExecute "},
        {"False", "", READY},
        {"False", NOT_READY, NULL},
        {"False", TAINT("k", "NoExecute"), "k:NoExecute " READY},
        {"False", TAINT("node.kubernetes.io/not-ready", "NoExecute"), READY},
        {"Unknown", NOT_READY, REACH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(w.a, "{\"spec\":{\"taints\":[%s]},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                                        cases[i].taints, cases[i].ready);
        const struct json *made = lost_nodes_taints(w.a, json_parse(w.a, bytes_of(text), NULL, NULL), 1767225600000);
        if (cases[i].wanted)
            assert_string_equal(taints_text(made), cases[i].wanted);
        assert_int_equal(made != NULL, cases[i].wanted != NULL);
    }
    assert_null(lost_nodes_taints(w.a, json_parse(w.a, BYTES("{}"), NULL, NULL), 0)); /* says nothing */
}

static void ready(const char *status)
{
    patch("/api/v1/nodes/n1/status", arena_printf(w.a, "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}", status));
}

static void pod(const char *name, const char *more)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{\"app\":\"p\"}},"
                        "\"spec\":{\"nodeName\":\"n1\",\"terminationGracePeriodSeconds\":0,%s\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                        name, more));
}

static int pods_there(void)
{
    return (int)json_get(get("/api/v1/namespaces/n/pods?labelSelector=app=p"), "items")->n;
}

static void test_pods_of_a_lost_node_go_after_five_minutes(void **state)
{
    (void)state;
    pod("p", "");
    pod("stays", "\"tolerations\":[{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\"}],");
    run(2000);
    ready("Unknown");
    run(2000);
    assert_string_equal(taints_text(json_path(get("/api/v1/nodes/n1"), "spec", "taints", NULL)), REACH);
    run(280000);
    assert_int_equal(pods_there(), 2);
    run(30000);
    assert_int_equal(pods_there(), 1);
    ready("True");
    run(2000);
    assert_string_equal(taints_text(json_path(get("/api/v1/nodes/n1"), "spec", "taints", NULL)), "");
}

static void test_a_short_failure_ends_nobody(void **state)
{
    (void)state;
    pod("p", "");
    run(2000);
    for (int i = 0; i < 3; i++) {
        ready("False");
        run(200000);
        ready("True");
        run(10000);
    }
    assert_int_equal(pods_there(), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_taints_follow_the_condition),
        TEST(test_pods_of_a_lost_node_go_after_five_minutes),
        TEST(test_a_short_failure_ends_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
