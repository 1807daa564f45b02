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

/* ---- nodes that are removed ---- */

/* What the first write says of the pod's end, and whether it was told before the pod went. */
static const char *told_phase, *told_reason;
static int told_n, dropped_n;

static bool listens(struct http_exchange *x)
{
    if (strcmp(x->request.method, "DELETE") == 0 && text_ends(x->request.path, "/pods/p"))
        dropped_n += told_n > 0;
    if (strcmp(x->request.method, "PATCH") != 0 || !text_ends(x->request.path, "/pods/p/status"))
        return false;
    const struct json *body = json_parse(w.a, x->request.body, NULL, NULL), *target = object_condition(body, "DisruptionTarget");
    if (!target)
        return false;
    told_n++;
    told_phase = json_text(json_path(body, "status", "phase", NULL), "");
    told_reason = arena_printf(w.a, "%s %s: %s", json_get_text(target, "status", ""), json_get_text(target, "reason", ""),
                               json_get_text(target, "message", ""));
    return false;
}

static void listen(void)
{
    told_phase = told_reason = "";
    told_n = dropped_n = 0;
    w.takes = listens;
}

static void test_pods_of_a_removed_node_fail_and_go(void **state)
{
    (void)state;
    pod("p", "");
    run(2000);
    listen();
    delete("/api/v1/nodes/n1");
    run(3000);
    assert_int_equal(told_n, 0); /* it may come back */
    run(2000);
    assert_string_equal(told_phase, "Failed");
    assert_string_equal(told_reason, "True DeletionByPodGC: PodGC: node no longer exists");
    assert_int_equal(told_n, 1);
    assert_int_equal(dropped_n, 1);
    assert_int_equal(pods_there(), 0);
}

/* A pod that is over goes as it ended; one that is kept by a finalizer is told once, and stays as failed. */
static void test_who_is_over_is_not_told_to_have_failed(void **state)
{
    (void)state;
    pod("p", "");
    run(2000);
    patch("/api/v1/namespaces/n/pods/p/status", "{\"status\":{\"phase\":\"Succeeded\"}}");
    listen();
    delete("/api/v1/nodes/n1");
    run(6000);
    assert_int_equal(told_n, 0);
    assert_int_equal(pods_there(), 0);
}

static void test_who_is_kept_stays_as_failed(void **state)
{
    (void)state;
    pod("p", "");
    patch("/api/v1/namespaces/n/pods/p", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    run(2000);
    listen();
    delete("/api/v1/nodes/n1");
    run(60000);
    const struct json *kept = get("/api/v1/namespaces/n/pods/p");
    assert_int_equal(told_n, 1);
    assert_true(object_deleting(kept));
    assert_string_equal(json_text(json_path(kept, "status", "phase", NULL), ""), "Failed");
    assert_true(object_condition_true(kept, "DisruptionTarget"));
    assert_non_null(object_condition(kept, "Ready")); /* of its kubelet */
}

static bool refuses(struct http_exchange *x)
{
    if (strcmp(x->request.method, "PATCH") != 0 || !text_ends(x->request.path, "/pods/p/status"))
        return false;
    http_reply_text(x, 500, "text/plain", "no");
    told_n++;
    return true;
}

static void test_who_cannot_be_told_goes_all_the_same(void **state)
{
    (void)state;
    pod("p", "");
    run(2000);
    delete("/api/v1/nodes/n1");
    run(2000);
    told_n = 0;
    w.takes = refuses;
    run(60000);
    assert_int_equal(pods_there(), 0);
    assert_true(told_n >= 1 && told_n < 10);
}

/* ---- what Jobs make of it ---- */

static void spot_job(const char *name, const char *more)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                        "%s,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"1000\"}},"
                        "\"spec\":{\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":1,\"containers\":[{\"name\":\"c\","
                        "\"image\":\"i\"}]}}}}",
                        name, more));
}

#define ON_DISRUPTION(action) \
    ",\"podFailurePolicy\":{\"rules\":[{\"action\":\"" action "\",\"onPodConditions\":[{\"type\":\"DisruptionTarget\"}]}]}"

/* "Failed/BackoffLimitExceeded 1 0": how it has ended, failed, active */
static const char *job_state(const char *name)
{
    const struct json *one = get(arena_printf(w.a, "/apis/batch/v1/namespaces/n/jobs/%s", name)), *status = json_get(one, "status");
    return arena_printf(w.a, "%s %lld %lld", reason(one, "Failed"), (long long)json_get_int64(status, "failed", 0),
                        (long long)json_get_int64(status, "active", 0));
}

static void spot_jobs(void)
{
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":true}}");
    spot_job("plain", "\"backoffLimit\":0");
    spot_job("ignores", "\"backoffLimit\":0" ON_DISRUPTION("Ignore"));
    spot_job("counts", "\"backoffLimit\":0" ON_DISRUPTION("Count"));
    spot_job("fails", "\"backoffLimit\":6" ON_DISRUPTION("FailJob"));
    spot_job("index", "\"completionMode\":\"Indexed\",\"completions\":1,\"backoffLimitPerIndex\":1" ON_DISRUPTION("FailIndex"));
    run(3000);
    assert_string_equal(job_state("plain"), " 0 1");
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":false}}");
}

static void jobs_have_seen_it(void)
{
    assert_string_equal(job_state("plain"), "BackoffLimitExceeded 1 0");
    assert_string_equal(job_state("ignores"), " 0 1");
    assert_string_equal(job_state("counts"), "BackoffLimitExceeded 1 0");
    assert_string_equal(job_state("fails"), "PodFailurePolicy 1 0");
    assert_non_null(strstr(said(get("/apis/batch/v1/namespaces/n/jobs/fails"), "Failed"),
                           "has condition DisruptionTarget matching FailJob rule at index 0"));
    assert_string_equal(job_state("index"), "FailedIndexes 1 0");
}

static void test_jobs_count_pods_of_a_removed_node(void **state)
{
    (void)state;
    spot_jobs();
    delete("/api/v1/nodes/n1");
    run(30000);
    jobs_have_seen_it();
}

/* Others write of the pod and delete it in one moment: no pass of the job stands between. */
static void test_jobs_count_pods_that_they_never_saw_fail(void **state)
{
    (void)state;
    spot_jobs();
    JSON_EACH (one, json_get(get("/api/v1/namespaces/n/pods"), "items")) {
        const char *path = arena_printf(w.a, "/api/v1/namespaces/n/pods/%s", object_meta(one, "name"));
        kube_patch(w.client, KUBE_PATCH_STRATEGIC, arena_printf(w.a, "%s/status", path),
                   BYTES("{\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}]}}"),
                   NULL, NULL);
        kube_delete(w.client, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    }
    run(30000);
    jobs_have_seen_it();
}

static void test_a_taint_is_a_disruption(void **state)
{
    (void)state;
    spot_jobs();
    patch("/api/v1/nodes/n1", "{\"spec\":{\"taints\":[{\"key\":\"spot\",\"effect\":\"NoExecute\"}]}}");
    run(30000);
    jobs_have_seen_it();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_taints_follow_the_condition),
        TEST(test_pods_of_a_lost_node_go_after_five_minutes),
        TEST(test_a_short_failure_ends_nobody),
        TEST(test_pods_of_a_removed_node_fail_and_go),
        TEST(test_who_is_over_is_not_told_to_have_failed),
        TEST(test_who_is_kept_stays_as_failed),
        TEST(test_who_cannot_be_told_goes_all_the_same),
        TEST(test_jobs_count_pods_of_a_removed_node),
        TEST(test_jobs_count_pods_that_they_never_saw_fail),
        TEST(test_a_taint_is_a_disruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
