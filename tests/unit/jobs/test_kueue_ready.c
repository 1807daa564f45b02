/* waitForPodsReady from job to job: what is written of pods that are late, of those that are evicted for it, and of those that wait for it;
 * on a virtual clock, and with schedulers that begin anew at any moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/clock.h"
#include "world.h"

/* Late after 20 s; back after 10 s, then 20 s. */
static const struct policy patient = {
    .ready = {.timeout_ms = 20000, .recovery_ms = 15000, .retries_most = -1, .backoff_ms = 10000, .backoff_most_ms = 20000}};
static struct policy policy;

static int begin_patient(void **state)
{
    (void)state;
    policy = patient;
    return setup_with(&policy);
}

static int begin_once(void **state)
{
    (void)state;
    policy = patient;
    policy.ready.retries_most = 1;
    return setup_with(&policy);
}

static int begin_blocking(void **state)
{
    (void)state;
    policy = patient;
    policy.ready.block_admission = true;
    return setup_with(&policy);
}

#define POD_SPEC                                                                                                       \
    "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"  \
    "\"nvidia.com/gpu\":\"1\"}}}]%s}"

/* Its pods take so long to start, and run for so long. */
static void slow_job(const char *name, int pods, int start_s, int run_s)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"parallelism\":%d,\"completions\":%d,\"suspend\":true,"
                        "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/start-seconds\":\"%d\",\"capstan.dev/run-seconds\":\"%d\"}},"
                        POD_SPEC "}}}", name, pods, pods, start_s, run_s, ""));
}

static const struct json *workload_of(const char *owner)
{
    JSON_EACH (one, json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items"))
        JSON_EACH (each, json_path(one, "metadata", "ownerReferences", NULL))
            if (text_equal(json_get_text(each, "name", ""), owner))
                return one;
    return NULL;
}

static int64_t retries_n(const char *owner)
{
    return json_int64(json_path(workload_of(owner), "status", "requeueState", "count", NULL), 0);
}

static const char *again_at(const char *owner)
{
    return json_text(json_path(workload_of(owner), "status", "requeueState", "requeueAt", NULL), "");
}

static bool is(const char *owner, const char *condition)
{
    return object_condition_true(workload_of(owner), condition);
}

static int64_t since_ms(const char *owner, const char *condition)
{
    int64_t ms = 0;
    (void)time_parse(bytes_of(json_get_text(object_condition(workload_of(owner), condition), "lastTransitionTime", "")), &ms);
    return ms;
}

/* Until it holds; how long that took. */
static int64_t until(const char *owner, const char *condition, bool status)
{
    int64_t ms = 0;
    for (; object_condition_true(workload_of(owner), condition) != status; ms += 100) {
        if (ms > 200000)
            fail_msg("%s of %s is never %d", condition, owner, status);
        run(100);
    }
    return ms;
}

static void test_job_in_time_is_left_alone(void **state)
{
    (void)state;
    QUOTA("8");
    slow_job("j", 2, 5, 100);
    (void)until("j", "Admitted", true);
    assert_false(is("j", "PodsReady"));
    assert_string_equal(reason(workload_of("j"), "PodsReady"), "WaitForStart");
    (void)until("j", "PodsReady", true);
    assert_string_equal(reason(workload_of("j"), "PodsReady"), "Started");
    run(60000);
    assert_false(is("j", "Evicted"));
    assert_int_equal(retries_n("j"), 0);
    (void)until("j", "Finished", true);
}

static void test_late_job_is_evicted_and_comes_back_after_a_pause(void **state)
{
    (void)state;
    QUOTA("8");
    slow_job("j", 2, 100, 100);
    (void)until("j", "Admitted", true);
    int64_t admitted_ms = since_ms("j", "Admitted");
    (void)until("j", "Evicted", true);
    assert_int_equal(since_ms("j", "Evicted") - admitted_ms, 20000);
    assert_string_equal(reason(workload_of("j"), "Evicted"), "PodsReadyTimeout");
    assert_string_equal(said(workload_of("j"), "Evicted"),
                        arena_printf(w.a, "Exceeded the PodsReady timeout n/%s", object_meta(workload_of("j"), "name")));
    assert_int_equal(retries_n("j"), 1);
    int64_t again_ms = 0;
    assert_true(time_parse(bytes_of(again_at("j")), &again_ms));
    assert_in_range(again_ms - since_ms("j", "Evicted"), 10000, 10999);
    assert_true(event_seen("EvictedDueToPodsReadyTimeout", said(workload_of("j"), "Evicted")));
    (void)until("j", "QuotaReserved", false);
    assert_string_equal(reason(workload_of("j"), "Requeued"), "PodsReadyTimeout");
    assert_false(is("j", "Requeued"));
    run(3000);
    assert_int_equal(pods_n("job-name=j", ""), 0);
    assert_string_equal(reason(workload_of("j"), "QuotaReserved"), "OnHold");
    (void)until("j", "Admitted", true);
    assert_in_range(since_ms("j", "Admitted"), again_ms, again_ms + 1000);
    assert_string_equal(again_at("j"), "");
    assert_int_equal(retries_n("j"), 1);
    assert_true(is("j", "Requeued"));
    assert_string_equal(reason(workload_of("j"), "Requeued"), "BackoffFinished");
    (void)until("j", "Evicted", true);
    assert_int_equal(retries_n("j"), 2);
    assert_true(time_parse(bytes_of(again_at("j")), &again_ms));
    assert_in_range(again_ms - since_ms("j", "Evicted"), 20000, 20999);
}

static void test_lost_pod_has_a_time_of_its_own(void **state)
{
    (void)state;
    QUOTA("8");
    slow_job("j", 2, 5, 1000);
    (void)until("j", "PodsReady", true);
    run(30000);
    const struct json *pod = json_item(json_get(get("/api/v1/namespaces/n/pods?labelSelector=job-name=j"), "items"), 0);
    delete(arena_printf(w.a, "/api/v1/namespaces/n/pods/%s", object_meta(pod, "name")));
    (void)until("j", "PodsReady", false);
    assert_string_equal(reason(workload_of("j"), "PodsReady"), "WaitForRecovery");
    (void)until("j", "PodsReady", true);
    assert_string_equal(reason(workload_of("j"), "PodsReady"), "Recovered");
    assert_false(is("j", "Evicted"));
    patch(arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s/status", object_meta(workload_of("j"), "name")),
          "{\"status\":{\"requeueState\":{\"count\":1}}}");
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":true}}"); /* nowhere to go */
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":true}}");
    pod = json_item(json_get(get("/api/v1/namespaces/n/pods?labelSelector=job-name=j"), "items"), 0);
    delete(arena_printf(w.a, "/api/v1/namespaces/n/pods/%s", object_meta(pod, "name")));
    (void)until("j", "PodsReady", false);
    int64_t lost_ms = since_ms("j", "PodsReady");
    (void)until("j", "Evicted", true);
    assert_in_range(since_ms("j", "Evicted") - lost_ms, 15000, 15999);
    assert_int_equal(retries_n("j"), 2);
}

static void test_too_often_late_is_deactivated(void **state)
{
    (void)state;
    QUOTA("8");
    slow_job("j", 1, 100, 100);
    (void)until("j", "Evicted", true);
    (void)until("j", "Evicted", false);
    assert_int_equal(retries_n("j"), 1);
    (void)until("j", "Evicted", true);
    assert_string_equal(reason(workload_of("j"), "Evicted"), "DeactivatedDueToRequeuingLimitExceeded");
    assert_string_equal(said(workload_of("j"), "Evicted"),
                        "The workload is deactivated due to exceeding the maximum number of re-queuing retries");
    assert_false(json_get_bool(json_get(workload_of("j"), "spec"), "active", true));
    assert_null(json_path(workload_of("j"), "status", "requeueState", NULL));
    run(60000);
    assert_false(is("j", "QuotaReserved"));
    assert_int_equal(pods_n("job-name=j", ""), 0);
    patch(arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload_of("j"), "name")),
          "{\"spec\":{\"active\":true}}");
    (void)until("j", "Admitted", true); /* and has all its tries again */
    assert_false(is("j", "DeactivationTarget"));
    (void)until("j", "Evicted", true);
    assert_string_equal(reason(workload_of("j"), "Evicted"), "PodsReadyTimeout");
    assert_int_equal(retries_n("j"), 1);
}

static void test_others_wait_until_all_are_ready(void **state)
{
    (void)state;
    QUOTA("8");
    slow_job("a", 1, 10, 100);
    (void)until("a", "Admitted", true);
    slow_job("b", 1, 2, 100);
    run(3000);
    assert_false(is("b", "QuotaReserved"));
    assert_string_equal(reason(workload_of("b"), "QuotaReserved"), "WaitingForPodsReady");
    (void)until("b", "Admitted", true);
    assert_in_range(since_ms("b", "Admitted") - since_ms("a", "PodsReady"), 0, 1000);
    slow_job("c", 1, 100, 100);
    (void)until("c", "Admitted", true);
    slow_job("d", 1, 2, 100);
    (void)until("d", "Admitted", true); /* once c has been taken back */
    assert_int_equal(retries_n("c"), 1);
}

/* Nobody's Workload: nobody stops a job, and nobody gives its quota back but we. */
static void test_pause_ends_though_the_quota_is_not_given_back(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"raw\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}");
    run(25000);
    assert_true(object_condition_true(workload(), "Evicted"));
    run(12000);
    assert_non_null(json_path(workload(), "status", "requeueState", "requeueAt", NULL)); /* nobody has said that its job has stopped */
    struct arena *a = w.a;
    struct json *conditions = object_conditions_copy(a, workload()), *status = json_new(a, JSON_OBJECT), *told = json_new(a, JSON_OBJECT);
    (void)object_condition_set(a, conditions, "Requeued", false, "PodsReadyTimeout", "by test", loop_wall_ms(w.loop), 1);
    json_set(a, status, "conditions", conditions);
    json_set(a, told, "status", status);
    struct buf text = {0};
    json_write(&text, told);
    patch("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/raw/status", arena_text_n(a, text.data, text.n));
    buf_free(&text);
    run(2000);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    assert_null(json_path(workload(), "status", "requeueState", "requeueAt", NULL));
    assert_int_equal(json_int64(json_path(workload(), "status", "requeueState", "count", NULL), 0), 1);
    assert_string_equal(reason(workload(), "Requeued"), "BackoffFinished");
    patch("/api/v1/nodes/n1", "{\"spec\":{\"unschedulable\":true}}");
    patch("/api/v1/nodes/n2", "{\"spec\":{\"unschedulable\":true}}");
    /* who did not write the admission cannot take it out by applying */
    patch("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/raw/status",
          "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"Pending\",\"message\":\"by test\","
          "\"lastTransitionTime\":\"2026-01-01T00:01:00Z\"}]}}");
    run(3000);
    assert_null(json_path(workload(), "status", "admission", NULL));
}

/* ---- other kinds ---- */

static void slow_pod(const char *name, const char *group, int start_s, int run_s)
{
    const char *annotations = arena_printf(w.a, "\"capstan.dev/start-seconds\":\"%d\",\"capstan.dev/run-seconds\":\"%d\"%s", start_s, run_s,
                                           *group ? ",\"kueue.x-k8s.io/pod-group-total-count\":\"2\"" : "");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\"%s},\"annotations\":{%s}}," POD_SPEC "}",
                        name, *group ? arena_printf(w.a, ",\"kueue.x-k8s.io/pod-group-name\":\"%s\"", group) : "", annotations, ""));
}

static void test_pods_say_when_they_are_ready(void **state)
{
    (void)state;
    QUOTA("8");
    slow_pod("p", "", 3, 100);
    (void)until("p", "Admitted", true);
    assert_string_equal(reason(workload_of("p"), "PodsReady"), "WaitForStart");
    (void)until("p", "PodsReady", true);
    run(60000);
    assert_false(is("p", "Evicted"));
}

/* A member that succeeds is as good as one that runs: the group goes on. */
static void test_group_is_ready_with_the_last_of_its_pods(void **state)
{
    (void)state;
    QUOTA("8");
    slow_pod("a", "g", 2, 10);
    slow_pod("b", "g", 15, 100);
    (void)until("a", "Admitted", true);
    run(12000);
    assert_false(is("a", "PodsReady"));
    (void)until("a", "PodsReady", true);
    run(60000);
    assert_true(is("a", "PodsReady"));
    assert_false(is("a", "Evicted"));
    (void)until("a", "Finished", true);
}

static void test_late_pod_goes(void **state)
{
    (void)state;
    QUOTA("8");
    slow_pod("p", "", 100, 100);
    (void)until("p", "Evicted", true);
    assert_string_equal(reason(workload_of("p"), "Evicted"), "PodsReadyTimeout");
    run(5000);
    const struct json *pod = get("/api/v1/namespaces/n/pods/p");
    assert_true(!pod || object_deleting(pod));
}

static void test_trainjob_says_when_it_is_ready(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\",\"metadata\":{\"name\":\"torch\"},\"spec\":{"
           "\"mlPolicy\":{\"numNodes\":2},\"template\":{\"spec\":{\"replicatedJobs\":[{\"name\":\"main\",\"template\":{\"metadata\":{\"labels\":{"
           "\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
           "\"capstan.dev/run-seconds\":\"100\"}},\"spec\":{\"restartPolicy\":\"Never\","
           "\"containers\":[{\"name\":\"node\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}}]}}}}");
    create("{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"metadata\":{\"name\":\"t\",\"namespace\":\"n\","
           "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"suspend\":true,\"runtimeRef\":{\"name\":\"torch\"}}}");
    (void)until("t", "Admitted", true);
    assert_false(is("t", "PodsReady"));
    (void)until("t", "PodsReady", true);
    run(60000);
    assert_false(is("t", "Evicted"));
}

/* ---- restarts ---- */

/* The way of a job that is late twice and then deactivated, as it is told in its conditions: the same however often, and whenever, the
 * scheduler and the controllers begin anew. */
static void live(int64_t every_ms)
{
    QUOTA("8");
    slow_job("j", 1, 100, 100);
    int64_t ms = 0, admissions_n = 0, evictions_n = 0;
    bool was_admitted = false, was_evicted = false;
    for (int64_t next_ms = every_ms; ms < 300000 && !text_starts(reason(workload_of("j"), "Evicted"), "Deactivated"); ms += 20) {
        if (every_ms && ms >= next_ms) {
            jobs_free(w.jobs);
            scheduler_free(w.scheduler);
            begin(&policy);
            next_ms += every_ms;
        }
        run(20);
        admissions_n += !was_admitted && is("j", "Admitted");
        evictions_n += !was_evicted && is("j", "Evicted");
        was_admitted = is("j", "Admitted");
        was_evicted = is("j", "Evicted");
        if (retries_n("j") > 1)
            fail_msg("every %lld ms: it was counted twice", (long long)every_ms);
    }
    if (admissions_n != 2 || evictions_n != 2 || ms >= 300000)
        fail_msg("every %lld ms: admitted %lld times, evicted %lld times", (long long)every_ms, (long long)admissions_n,
                 (long long)evictions_n);
    (void)until("j", "QuotaReserved", false);
    assert_false(json_get_bool(json_get(workload_of("j"), "spec"), "active", true));
}

static void test_restarts_change_nothing(void **state)
{
    static const int64_t every_ms[] = {0, 6100, 1330, 570, 310};
    for (size_t i = 0; i < sizeof every_ms / sizeof *every_ms; i++) {
        if (i) {
            (void)teardown(state);
            (void)begin_once(state);
        }
        live(every_ms[i]);
    }
}

#define WITH(begins, test) cmocka_unit_test_setup_teardown(test, begins, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(begin_patient, test_job_in_time_is_left_alone),
        WITH(begin_patient, test_late_job_is_evicted_and_comes_back_after_a_pause),
        WITH(begin_patient, test_lost_pod_has_a_time_of_its_own),
        WITH(begin_once, test_too_often_late_is_deactivated),
        WITH(begin_blocking, test_others_wait_until_all_are_ready),
        WITH(begin_patient, test_pause_ends_though_the_quota_is_not_given_back),
        WITH(begin_patient, test_pods_say_when_they_are_ready),
        WITH(begin_patient, test_group_is_ready_with_the_last_of_its_pods),
        WITH(begin_patient, test_late_pod_goes),
        WITH(begin_patient, test_trainjob_says_when_it_is_ready),
        WITH(begin_once, test_restarts_change_nothing),
    };
    return cmocka_run_group_tests_name("kueue_ready", tests, NULL, NULL);
}
