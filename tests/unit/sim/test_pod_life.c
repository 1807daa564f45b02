/* test_pod_life.c - the steps of a simulated pod by restart policy and exit code */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "kube/object.h"
#include "sim/kubelet/kubelets.h"
#include "sim/kubelet/pod_life.h"
#include "sim/kubelet/pod_status.h"

static struct pod_life *life(const char *restart_policy, const char *annotations, const char *extra)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text = arena_printf(
        a,
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\",\"annotations\":{%s}},\"spec\":{"
        "\"restartPolicy\":\"%s\",\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]%s}}",
        annotations, restart_policy, extra);
    struct json *pod = json_parse(a, bytes_of(text), NULL, NULL);
    assert_non_null(pod);
    struct pod_life *p = pod_life_new(pod, 1);
    pod_life_resume(p, pod, 1000, 1);
    return p;
}

static void never_succeeds_after_its_time(void **state)
{
    (void)state;
    struct pod_life *p = life("Never", "\"capstan.dev/run-seconds\":\"2.5\"", "");
    assert_int_equal(pod_life_advance(p, 1000, 1), 2500);
    assert_int_equal(p->step, POD_RUNNING_STEP);
    assert_int_equal(pod_life_advance(p, 3500, 1), -1);
    assert_int_equal(p->step, POD_DONE);
    assert_false(p->failed);
    pod_life_free(p);
}

static void never_fails_with_an_exit_code(void **state)
{
    (void)state;
    struct pod_life *p = life("Never", "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"3\"", "");
    pod_life_advance(p, 1000, 1);
    assert_int_equal(pod_life_advance(p, 2000, 1), -1);
    assert_true(p->failed);
    assert_int_equal(p->exit_code, 3);
    pod_life_free(p);
}

/* lastState is of the run that ended, also while another one runs and after the server was started again. */
static struct json *status_patch(struct arena *a, const struct pod_life *p, int64_t wall_ms)
{
    _cleanup_buf_ struct buf text = {0};
    pod_status_patch(&text, a, p, wall_ms, (struct device_health){0});
    struct json *patch = json_parse(a, buf_view(&text), NULL, NULL);
    assert_non_null(patch);
    return patch;
}

static void it_was_scheduled_when_its_binding_says(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    const char *text = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
                       "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},\"status\":{\"conditions\":["
                       "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:07Z\"}]}}";
    struct json *pod = json_parse(a, bytes_of(text), NULL, NULL);
    struct pod_life *p = pod_life_new(pod, 1);
    const struct json *scheduled = object_condition(status_patch(a, p, 1767225700000), "PodScheduled");
    assert_string_equal(json_get_text(scheduled, "lastTransitionTime", ""), "2026-01-01T00:00:07Z");
    pod_life_free(p);
}

static void the_last_run_has_its_own_times(void **state)
{
    (void)state;
    struct pod_life *p = life("Always", "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"1\"", "");
    static const char times[] = "\"startedAt\":\"1970-01-01T00:00:01Z\",\"finishedAt\":\"1970-01-01T00:00:02Z\"";
    _cleanup_arena_ struct arena *a = arena_new();
    struct device_health health = {0};
    pod_life_advance(p, 1000, 1);
    for (int runs = 0; runs < 2; runs++) {
        pod_life_advance(p, runs ? 12000 : 2000, 1);
        _cleanup_buf_ struct buf text = {0};
        pod_status_patch(&text, a, p, 12000, health);
        struct json *patch = json_parse(a, buf_view(&text), NULL, NULL);
        assert_true((strstr(text.data, times) != NULL));
        assert_int_equal(p->step, runs ? POD_RUNNING_STEP : POD_WAITING);
        struct json *pod = json_new(a, JSON_OBJECT);
        json_set(a, pod, "status", json_clone(a, json_get(patch, "status")));
        json_set_text(a, json_get(pod, "status"), "phase", "Running");
        pod_life_resume(p, pod, 13000, 1);
        assert_int_equal(p->step, runs ? POD_RUNNING_STEP : POD_WAITING);
        _cleanup_buf_ struct buf again = {0};
        pod_status_patch(&again, a, p, 13000, health);
        assert_true((strstr(again.data, times) != NULL));
    }
    pod_life_free(p);
}

static void on_failure_restarts_with_doubling_delay(void **state)
{
    (void)state;
    struct pod_life *p = life("OnFailure", "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"1\"", "");
    int64_t last_ms = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pod_life_advance(p, 1000, 1), 1000);
        int64_t delay_ms = pod_life_advance(p, 2000, 1);
        assert_int_equal(p->step, POD_WAITING);
        assert_true(delay_ms > last_ms);
        last_ms = delay_ms;
    }
    assert_int_equal(p->restarts_n, 3);
    pod_life_free(p);
}

static void always_runs_until_deleted(void **state)
{
    (void)state;
    struct pod_life *p = life("Always", "", "");
    assert_int_equal(pod_life_advance(p, 1000, 1), -1);
    assert_int_equal(p->step, POD_RUNNING_STEP);
    pod_life_free(p);
}

static void malformed_annotations_fall_back(void **state)
{
    (void)state;
    struct pod_life *p = life("Never", "\"capstan.dev/run-seconds\":\"-1\",\"capstan.dev/exit-code\":\"x\"", "");
    assert_int_equal(p->run_ms, SIM_DEFAULT_RUN_SECONDS * 1000);
    assert_int_equal(p->exit_code, 0);
    pod_life_free(p);
}

static void mpi_workers_wait_for_ssh(void **state)
{
    (void)state;
    struct pod_life *p = life("OnFailure", "\"volcano.sh/job-name\":\"h\"",
                              ",\"volumes\":[{\"name\":\"k\",\"secret\":{\"secretName\":\"h-ssh\"}}]");
    assert_int_equal(p->run_ms, -1);
    pod_life_free(p);
}

static void status_names_the_phase(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct pod_life *p = life("Never", "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"7\"", "");
    pod_life_advance(p, 1000, 1);
    assert_string_equal(
        json_text(json_path(status_patch(a, p, 1000), "status", "phase", NULL), ""),
        "Running");
    pod_life_advance(p, 2000, 1);
    struct json *patch = status_patch(a, p, 2000);
    assert_string_equal(json_text(json_path(patch, "status", "phase", NULL), ""), "Failed");
    const struct json *container = json_item(json_path(patch, "status", "containerStatuses", NULL), 0);
    assert_int_equal(json_int64(json_path(container, "state", "terminated", "exitCode", NULL), -1), 7);
    pod_life_free(p);
}

static const char *at(const struct json *list, uint32_t i, const char *key, const char *inner)
{
    const struct json *item = json_item(list, i), *value = json_get(item, key);
    return json_text(inner ? json_get(json_first(value), inner) : value, "");
}

/* As with kubelets: init containers have ended, sidecars run until the others are done. */
static void init_containers_have_statuses_of_their_own(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct pod_life *p = life("OnFailure", "\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"3\"",
                              ",\"initContainers\":[{\"name\":\"i\",\"image\":\"x\"},"
                              "{\"name\":\"s\",\"image\":\"y\",\"restartPolicy\":\"Always\"}]");
    pod_life_advance(p, 1000, 1);
    pod_life_advance(p, 2000, 1);
    assert_int_equal(p->step, POD_WAITING);
    const struct json *status = json_get(status_patch(a, p, 2000), "status");
    const struct json *first = json_get(status, "initContainerStatuses"), *others = json_get(status, "containerStatuses");
    assert_int_equal(first->n, 2);
    assert_int_equal(others->n, 1);
    assert_string_equal(at(first, 0, "name", NULL), "i");
    assert_string_equal(at(first, 0, "state", "reason"), "Completed");
    assert_true(json_get_bool(json_item(first, 0), "ready", false));
    assert_string_equal(at(first, 1, "name", NULL), "s");
    assert_string_equal(at(first, 1, "state", "startedAt"), "1970-01-01T00:00:01Z"); /* it runs on */
    assert_true(json_get_bool(json_item(first, 1), "started", false));
    assert_string_equal(at(others, 0, "state", "reason"), "CrashLoopBackOff");
    p->step = POD_DONE;
    p->failed = true;
    status = json_get(status_patch(a, p, 2000), "status");
    assert_string_equal(at(json_get(status, "initContainerStatuses"), 1, "state", "reason"), "Completed");
    assert_string_equal(at(json_get(status, "containerStatuses"), 0, "state", "reason"), "Error");
    pod_life_free(p);
}

static void logs_have_a_line_a_second(void **state)
{
    (void)state;
    struct buf out = {0};
    struct pod_life *p = life("Never", "\"capstan.dev/run-seconds\":\"3\"", "");
    pod_life_advance(p, 1000, 1);
    pod_life_advance(p, 4000, 1);
    pod_life_log(p, "c", 9000, 1, &out);
    assert_non_null(strstr(out.data, "step 3\n"));
    assert_null(strstr(out.data, "step 4\n"));
    assert_non_null(strstr(out.data, "exit code 0\n"));
    buf_free(&out);
    pod_life_free(p);
}

static void what_is_told_to_end_ends_for_good(void **state)
{
    (void)state;
    struct pod_life *p = life("Always", "\"capstan.dev/run-seconds\":\"1\"", "");
    pod_life_end(p, 2000); /* it never ran */
    assert_int_equal(p->exit_code, 137);
    assert_true(p->step == POD_DONE && p->failed);
    pod_life_free(p);
    p = life("Always", "\"capstan.dev/run-seconds\":\"1\"", "");
    (void)pod_life_advance(p, 2000, 1);
    (void)pod_life_advance(p, 3000, 1);
    assert_int_equal(p->step, POD_WAITING);
    pod_life_end(p, 3500); /* between two runs, of which the last went well */
    assert_true(p->step == POD_DONE && !p->failed && p->ended_wall_ms == 3000);
    pod_life_free(p);
    p = life("Never", "", "");
    (void)pod_life_advance(p, 2000, 1);
    pod_life_end(p, 2500);
    assert_int_equal(p->exit_code, 143);
    assert_true(p->step == POD_DONE && p->failed && p->ended_wall_ms == 2500);
    pod_life_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_succeeds_after_its_time),
        cmocka_unit_test(what_is_told_to_end_ends_for_good),
        cmocka_unit_test(never_fails_with_an_exit_code),
        cmocka_unit_test(it_was_scheduled_when_its_binding_says),
        cmocka_unit_test(the_last_run_has_its_own_times),
        cmocka_unit_test(on_failure_restarts_with_doubling_delay),
        cmocka_unit_test(always_runs_until_deleted),
        cmocka_unit_test(malformed_annotations_fall_back),
        cmocka_unit_test(mpi_workers_wait_for_ssh),
        cmocka_unit_test(status_names_the_phase),
        cmocka_unit_test(init_containers_have_statuses_of_their_own),
        cmocka_unit_test(logs_have_a_line_a_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
