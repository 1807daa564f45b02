/* Scheduler and job controllers against the API server, in one process on a virtual clock: what a user sees of each
 * kind of job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "world.h"

static void test_job_is_admitted_runs_and_ends(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 4, "false"); /* started by a user who forgot: it is suspended first */
    run(3000);
    const struct json *wl = workload();
    assert_true(object_condition_true(wl, "QuotaReserved"));
    assert_true(object_condition_true(wl, "Admitted"));
    assert_string_equal(json_get_text(object_condition(wl, "QuotaReserved"), "message", ""),
                        "Quota reserved in ClusterQueue cq");
    assert_string_equal(json_text(json_path(wl, "status", "admission", "clusterQueue", NULL), ""), "cq");
    const struct json *set = json_item(json_path(wl, "status", "admission", "podSetAssignments", NULL), 0);
    assert_string_equal(json_text(json_path(set, "flavors", "nvidia.com/gpu", NULL), ""), "a100");
    assert_string_equal(json_text(json_path(set, "resourceUsage", "nvidia.com/gpu", NULL), ""), "4");
    assert_int_equal(json_get_int64(set, "count", 0), 4);
    const struct json *j = get("/apis/batch/v1/namespaces/n/jobs/j");
    assert_string_equal(json_text(json_path(j, "spec", "template", "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    assert_int_equal(pods_n("job-name=j", "Running"), 4);
    const struct json *cq = get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq");
    assert_int_equal(json_int64(json_path(cq, "status", "admittedWorkloads", NULL), 0), 1);
    assert_true(object_condition_true(cq, "Active"));
    run(20000);
    assert_true(object_condition_true(get("/apis/batch/v1/namespaces/n/jobs/j"), "Complete"));
    assert_string_equal(json_get_text(object_condition(workload(), "Finished"), "reason", ""), "Succeeded");
    assert_int_equal(
        json_int64(json_path(get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"), "status", "admittedWorkloads", NULL),
                   9),
        0);
}

static void test_job_waits_whole_and_says_why(void **state)
{
    (void)state;
    QUOTA("3");
    job("j", 4, "true");
    run(2000);
    const struct json *wl = workload();
    assert_false(object_condition_true(wl, "QuotaReserved"));
    assert_non_null(object_condition(wl, "QuotaReserved"));
    assert_non_null(strstr(object_waiting(wl), "\"quota-"));
    assert_int_equal(pods_n("job-name=j", ""), 0);
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
          "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/"
          "gpu\"],\"flavors\":[{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/"
          "gpu\",\"nominalQuota\":\"4\"}]}]}]}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_string_equal(object_waiting(workload()), "");
    assert_int_equal(pods_n("job-name=j", ""), 4);
}

/* Its pods would have neither the nodes of its flavor nor its Workload's name. Its start waits for pods of an earlier one. */
static void test_a_job_that_is_resumed_before_its_start_is_started(void **state)
{
    (void)state;
    static const char path[] = "/apis/batch/v1/namespaces/n/jobs/j", status[] = "/apis/batch/v1/namespaces/n/jobs/j/status";
    QUOTA("8");
    embedded_controllers_free(w.controllers); /* who counts pods is away */
    w.controllers = NULL;
    job("j", 2, "true");
    patch(status, "{\"status\":{\"active\":1}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_true(json_bool(json_path(get(path), "spec", "suspend", NULL), false));
    patch(path, "{\"spec\":{\"suspend\":false}}");
    run(3000);
    patch(status, "{\"status\":{\"active\":0}}");
    run(3000);
    const struct json *template = json_path(get(path), "spec", "template", NULL);
    assert_false(json_bool(json_path(get(path), "spec", "suspend", NULL), false));
    assert_string_equal(object_annotation(template, "kueue.x-k8s.io/workload"), object_meta(workload(), "name"));
    assert_string_equal(json_text(json_path(template, "spec", "nodeSelector", "gpu", NULL), ""), "a100");
}

static void test_drained_queue_gives_everything_back(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(5000);
    const struct json *wl = workload(), *j = get("/apis/batch/v1/namespaces/n/jobs/j");
    assert_string_equal(json_get_text(object_condition(wl, "Evicted"), "reason", ""), "ClusterQueueStopped");
    assert_false(object_condition_true(wl, "QuotaReserved"));
    assert_null(json_path(wl, "status", "admission", NULL));
    assert_true(json_bool(json_path(j, "spec", "suspend", NULL), false));
    assert_null(json_path(j, "spec", "template", "spec", "nodeSelector", NULL));
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(4000);
    wl = workload();
    assert_true(object_condition_true(wl, "Admitted"));
    assert_false(object_condition_true(wl, "Evicted"));
    assert_true(text_starts(json_get_text(object_condition(wl, "Evicted"), "message", ""), "Previously: "));
    assert_string_equal(json_get_text(object_condition(wl, "Requeued"), "reason", ""), "ClusterQueueRestarted");
}

static void test_drained_local_queue_is_named(void **state)
{
    (void)state;
    static const char path[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/localqueues/lq";
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_true(object_condition_true(workload(), "PodsReady"));
    patch(path, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(5000);
    const struct json *wl = workload();
    assert_string_equal(json_get_text(object_condition(wl, "Evicted"), "reason", ""), "LocalQueueStopped");
    assert_string_equal(json_get_text(object_condition(wl, "PodsReady"), "reason", ""), "WaitForStart");
    assert_false(object_condition_true(wl, "PodsReady"));
    patch(path, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(4000);
    assert_string_equal(json_get_text(object_condition(workload(), "Requeued"), "reason", ""), "LocalQueueRestarted");
    assert_true(object_condition_true(workload(), "PodsReady"));
}

static bool suspended(const char *name)
{
    return json_bool(
        json_path(get(arena_printf(w.a, "/apis/batch/v1/namespaces/n/jobs/%s", name)), "spec", "suspend", NULL), false);
}

static void test_queue_keeps_the_order_within_a_second(void **state)
{
    (void)state;
    static const char *const names[] = {"e", "b", "d", "a", "c"};
    QUOTA("1");
    run(500);
    for (int i = 0; i < 5; i++) {
        job(names[i], 1, "true");
        run(20);
    }
    run(2000);
    for (int i = 0; i < 5; i++) { /* each runs 10 s */
        for (int k = i; k < 5; k++)
            assert_int_equal(suspended(names[k]), k != i);
        run(11000);
    }
}

static void test_widened_job_queues_again(void **state)
{
    (void)state;
    static const char path[] = "/apis/batch/v1/namespaces/n/jobs/j";
    QUOTA("4");
    job("j", 2, "true");
    run(2000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    patch(path, "{\"spec\":{\"parallelism\":1}}"); /* less: it keeps what it has */
    run(500);
    assert_false(suspended("j"));
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\","
           "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"parallelism\":2,\"completions\":9,"
           "\"suspend\":true,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"1000\"}},"
           "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(2000);
    assert_int_equal(pods_n("job-name=w", "Running"), 2);
    patch("/apis/batch/v1/namespaces/n/jobs/w", "{\"spec\":{\"parallelism\":5}}"); /* 5 of 4 */
    run(3000);
    assert_true(suspended("w"));
    assert_int_equal(pods_n("job-name=w", ""), 0);
    assert_null(json_path(get("/apis/batch/v1/namespaces/n/jobs/w"), "spec", "template", "spec", "nodeSelector", NULL));
    patch("/apis/batch/v1/namespaces/n/jobs/w", "{\"spec\":{\"parallelism\":4}}");
    run(30000); /* j has ended by now */
    assert_int_equal(pods_n("job-name=w", "Running"), 4);
}

/* Eight pods, two are enough, and quota is for four. */
static void test_job_starts_with_as_many_as_fit(void **state)
{
    (void)state;
    static const char path[] = "/apis/batch/v1/namespaces/n/jobs/p", cq[] = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq";
    QUOTA("4");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\","
           "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"},\"annotations\":{\"kueue.x-k8s.io/job-min-parallelism\":\"2\"}},"
           "\"spec\":{\"parallelism\":8,\"completions\":8,\"suspend\":true,\"template\":{\"metadata\":{\"annotations\":{"
           "\"capstan.dev/run-seconds\":\"1000\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(3000);
    assert_int_equal(pods_n("job-name=p", "Running"), 4);
    assert_int_equal(json_int64(json_path(get(path), "spec", "parallelism", NULL), 0), 4);
    const struct json *given = json_item(json_path(workload(), "status", "admission", "podSetAssignments", NULL), 0);
    assert_int_equal(json_get_int64(given, "count", 0), 4);
    assert_string_equal(json_text(json_path(given, "resourceUsage", "nvidia.com/gpu", NULL), ""), "4");
    assert_true(object_condition_true(workload(), "PodsReady"));
    assert_null(json_path(workload(), "status", "reclaimablePods", NULL));
    patch(cq, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(3000);
    assert_int_equal(pods_n("job-name=p", ""), 0);
    assert_int_equal(json_int64(json_path(get(path), "spec", "parallelism", NULL), 0), 8);
    assert_null(json_path(get(path), "spec", "template", "spec", "nodeSelector", NULL));
    patch(cq, "{\"spec\":{\"stopPolicy\":\"None\",\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":["
              "{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    run(3000);
    assert_int_equal(pods_n("job-name=p", "Running"), 8);
}

static void test_execution_time_is_limited(void **state)
{
    (void)state;
    QUOTA("4");
    job("j", 2, "true");
    run(2000);
    const char *path = arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s",
                                    object_meta(workload(), "name"));
    run(3000);
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(2000);
    int64_t past_s = json_int64(json_path(workload(), "status", "accumulatedPastExecutionTimeSeconds", NULL), 0);
    assert_in_range(past_s, 4, 6);
    patch(path, "{\"spec\":{\"maximumExecutionTimeSeconds\":8}}");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(2000);
    assert_true(object_condition_true(workload(), "Admitted"));
    run(5000);
    const struct json *wl = workload();
    assert_false(json_bool(json_path(wl, "spec", "active", NULL), true));
    assert_string_equal(json_get_text(object_condition(wl, "Evicted"), "reason", ""),
                        "DeactivatedDueToMaximumExecutionTimeExceeded");
    assert_false(object_condition_true(wl, "QuotaReserved"));
    assert_int_equal(pods_n("job-name=j", ""), 0);
    patch(path, "{\"spec\":{\"active\":true}}");
    run(2000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_string_equal(json_get_text(object_condition(workload(), "Requeued"), "reason", ""), "Reactivated");
    assert_string_equal(said(workload(), "Requeued"), "The workload was reactivated");
}

static void test_lost_node_is_made_good(void **state)
{
    (void)state;
    QUOTA("4");
    job("j", 4, "true");
    run(2000);
    const struct json *pods = json_get(get("/api/v1/namespaces/n/pods?labelSelector=job-name%3Dj"), "items");
    const char *node = json_text(json_path(json_item(pods, 0), "spec", "nodeName", NULL), "");
    assert_true(*node);
    kube_delete(w.client, arena_printf(w.a, "/api/v1/nodes/%s", node), (struct bytes){0}, NULL, NULL);
    run(6000);
    assert_int_equal(pods_n("job-name=j", "Running"), 4);
    pods = json_get(get("/api/v1/namespaces/n/pods?labelSelector=job-name%3Dj"), "items");
    JSON_EACH (pod, pods)
        assert_string_not_equal(json_text(json_path(pod, "spec", "nodeName", NULL), ""), node);
    run(12000);
    assert_true(object_condition_true(get("/apis/batch/v1/namespaces/n/jobs/j"), "Complete"));
}

static void test_quota_of_what_is_over_is_given_back(void **state)
{
    (void)state;
    QUOTA("3");
    job("j", 2, "true");
    run(3000);
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\","
           "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"parallelism\":2,\"completions\":3,"
           "\"suspend\":true,\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"20\"}},"
           "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(12000); /* j has ended, the first two of w run */
    assert_false(suspended("w"));
    job("k", 2, "true");
    run(8000);
    assert_true(suspended("k"));
    run(16000); /* the third of w alone */
    assert_int_equal(pods_n("job-name=w", "Running"), 1);
    assert_false(suspended("k"));
    run(30000);
    assert_true(object_condition_true(get("/apis/batch/v1/namespaces/n/jobs/w"), "Complete"));
    assert_true(object_condition_true(get("/apis/batch/v1/namespaces/n/jobs/k"), "Complete"));
}

static void test_priority_class_is_followed(void **state)
{
    (void)state;
    QUOTA("1");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
           "\"metadata\":{\"name\":\"low\"},\"value\":-1}");
    job("first", 1, "true");
    run(1000);
    job("last", 1, "true");
    job("low", 1, "true");
    patch("/apis/batch/v1/namespaces/n/jobs/low",
          "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"low\"}}}");
    run(1000);
    patch("/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses/low", "{\"value\":100}");
    run(12000);
    assert_false(suspended("low"));
    assert_true(suspended("last"));
}

/* Its pod was begun again more often than that, and goes: no other comes. */
static void test_a_job_that_has_failed_makes_no_more_pods(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{\"backoffLimit\":1,"
           "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"1\",\"capstan.dev/exit-code\":\"1\"}},\"spec\":{"
           "\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(120000);
    const struct json *job = get("/apis/batch/v1/namespaces/n/jobs/j");
    assert_true(object_condition_true(job, "Failed"));
    assert_string_equal(json_get_text(object_condition(job, "Failed"), "reason", ""), "BackoffLimitExceeded");
    assert_int_equal(pods_n("batch.kubernetes.io/job-name=j", "Running"), 0);
}

static int created_n;
static bool loses, blind;

/* The first pod is made, and the answer is lost; no watch of pods goes on meanwhile. */
static bool loses_an_answer(struct http_exchange *x)
{
    if (blind && text_equal(x->request.path, "/api/v1/pods") && http_query(&x->request, "watch")) {
        http_reply_text(x, 503, "text/plain", "not now");
        return true;
    }
    if (strcmp(x->request.method, "POST") != 0 || !text_ends(x->request.path, "/namespaces/n/pods"))
        return false;
    struct err e = {0};
    struct json *pod = json_parse(w.a, x->request.body, NULL, NULL);
    int r = apiserver_create(w.server, w.a, pod, &e);
    created_n += r == 0;
    bool lost = loses;
    loses = false;
    if (lost)
        http_reply_text(x, 500, "text/plain", "lost");
    else if (r < 0)
        http_reply_text(x, 409, "application/json", "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}");
    else
        http_reply_text(x, 201, "application/json", "{}");
    return true;
}

/* It is asked for once more, by the same name: another one would be one too many, for which a machine may be bought. */
static void test_a_pod_whose_answer_is_lost_is_made_once(void **state)
{
    (void)state;
    w.takes = loses_an_answer;
    loses = blind = true;
    created_n = 0;
    embedded_controllers_free(w.controllers);
    w.controllers = embedded_controllers_new(w.client, 1, 7);
    run(2000);
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{\"parallelism\":2,\"completions\":2,"
           "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"5\"}},\"spec\":{"
           "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(10000);
    blind = false;
    run(120000);
    w.takes = NULL;
    assert_true(object_condition_true(get("/apis/batch/v1/namespaces/n/jobs/j"), "Complete"));
    assert_int_equal(created_n, 2);
}

#define VCJOB(name, more)                                                                                              \
    "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name                    \
    "\",\"namespace\":\"n\"},\"spec\":{\"minAvailable\":3,\"schedulerName\":\"volcano\"," more                         \
    "\"plugins\":{\"svc\":[],\"env\":[]},\"tasks\":[{\"name\":\"master\",\"replicas\":1,\"policies\":[{\"event\":"     \
    "\"TaskCompleted\",\"action\":\"CompleteJob\"}],\"template\":{\"metadata\":"                                       \
    "{\"annotations\":{\"capstan.dev/"                                                                                 \
    "run-seconds\":\"10\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}},{\"name\":\"worker\","      \
    "\"replicas\":2,\"template\":{\"metadata\":"                                                                       \
    "{\"annotations\":{\"capstan.dev/"                                                                                 \
    "run-seconds\":\"1000\"}},\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"c\",\"image\":"    \
    "\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}"
#define VCJOB_PATH "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/v"

static const char *vc_phase(void)
{
    return json_text(json_path(get(VCJOB_PATH), "status", "state", "phase", NULL), "");
}

static void test_vcjob_completes_with_its_master(void **state)
{
    (void)state;
    create(VCJOB("v", ""));
    run(3000);
    assert_string_equal(vc_phase(), "Running");
    assert_int_equal(pods_n("volcano.sh/job-name=v", "Running"), 3);
    run(30000);
    assert_string_equal(vc_phase(), "Completed");
    assert_int_equal(pods_n("volcano.sh/job-name=v", ""), 1); /* the master's, for its log */
    const struct json *status = json_get(get(VCJOB_PATH), "status");
    assert_int_equal(json_get_int64(status, "succeeded", 0), 1);
    assert_int_equal(json_get_int64(status, "version", 0), 1);
    assert_null(get("/api/v1/namespaces/n/configmaps/v-svc"));
}

static void test_vcjob_restarts_when_a_pod_is_deleted(void **state)
{
    (void)state;
    create(VCJOB("v", "\"policies\":[{\"event\":\"PodEvicted\",\"action\":\"RestartJob\"}],"));
    run(3000);
    for (int i = 1; i <= 2; i++) {
        kube_delete(w.client, "/api/v1/namespaces/n/pods/v-worker-1", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
        run(5000);
        const struct json *status = json_get(get(VCJOB_PATH), "status");
        assert_string_equal(json_text(json_path(status, "state", "phase", NULL), ""), "Running");
        assert_int_equal(json_get_int64(status, "version", 0), i);
        assert_int_equal(json_get_int64(status, "retryCount", 0), i);
        assert_int_equal(pods_n("volcano.sh/job-name=v", "Running"), 3);
    }
    kube_delete(w.client, "/api/v1/namespaces/n/pods/v-worker-0", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(5000);
    assert_string_equal(vc_phase(), "Failed"); /* the third restart reaches maxRetry 3 */
}

static void command(const char *name, const char *action)
{
    create(arena_printf(
        w.a,
        "{\"apiVersion\":\"bus.volcano.sh/"
        "v1alpha1\",\"kind\":\"Command\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"action\":\"%s\","
        "\"target\":{\"apiVersion\":\"batch.volcano.sh/"
        "v1alpha1\",\"kind\":\"Job\",\"name\":\"v\",\"uid\":\"%s\",\"controller\":true}}",
        name, action, object_meta(get(VCJOB_PATH), "uid")));
    run(4000);
    assert_null(get(arena_printf(w.a, "/apis/bus.volcano.sh/v1alpha1/namespaces/n/commands/%s", name)));
}

static void test_vcjob_is_suspended_and_resumed(void **state)
{
    (void)state;
    create(VCJOB("v", ""));
    run(3000);
    command("c1", "AbortJob");
    assert_string_equal(vc_phase(), "Aborted");
    assert_int_equal(pods_n("volcano.sh/job-name=v", "Running"), 0);
    command("c2", "ResumeJob");
    assert_string_equal(vc_phase(), "Running");
    assert_int_equal(json_int64(json_path(get(VCJOB_PATH), "status", "retryCount", NULL), 0), 1);
}

static void test_coscheduling_gang_is_whole_or_not_at_all(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/"
           "v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},\"spec\":{\"minMember\":"
           "2}}");
    for (int i = 0; i < 2; i++) {
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"g-%d\",\"namespace\":"
                            "\"n\",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"},"
                            "\"annotations\":{\"capstan.dev/"
                            "run-seconds\":\"100\"}},\"spec\":{\"schedulerName\":\"coscheduling\",\"containers\":[{"
                            "\"name\":\"c\",\"image\":\"i\","
                            "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}}",
                            i));
        run(2000);
        assert_int_equal(pods_n("scheduling.x-k8s.io/pod-group=g", ""), i == 0 ? 0 : 2);
    }
    const struct json *group = get("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups/g");
    assert_string_equal(json_text(json_path(group, "status", "phase", NULL), ""), "Running");
}

static void test_unschedulable_pod_is_told(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"spec\":{"
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"5\"}}}]}}");
    run(1000);
    const struct json *pod = get("/api/v1/namespaces/n/pods/p"), *condition = object_condition(pod, "PodScheduled");
    assert_string_equal(json_get_text(condition, "reason", ""), "Unschedulable");
    assert_true(
        text_starts(json_get_text(condition, "message", ""), "0/2 nodes are available: 2 Insufficient nvidia.com/gpu"));
    assert_true(*object_annotation(pod, "capstan.dev/reason") != '\0');
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {FLOW(test_job_is_admitted_runs_and_ends),
                                       FLOW(test_job_waits_whole_and_says_why),
                                       FLOW(test_a_job_that_is_resumed_before_its_start_is_started),
                                       FLOW(test_drained_queue_gives_everything_back),
                                       FLOW(test_drained_local_queue_is_named),
                                       FLOW(test_queue_keeps_the_order_within_a_second),
                                       FLOW(test_widened_job_queues_again),
                                       FLOW(test_job_starts_with_as_many_as_fit),
                                       FLOW(test_execution_time_is_limited),
                                       FLOW(test_lost_node_is_made_good),
                                       FLOW(test_quota_of_what_is_over_is_given_back),
                                       FLOW(test_priority_class_is_followed),
                                       FLOW(test_a_job_that_has_failed_makes_no_more_pods),
                                       FLOW(test_a_pod_whose_answer_is_lost_is_made_once), FLOW(test_vcjob_completes_with_its_master),
                                       FLOW(test_vcjob_restarts_when_a_pod_is_deleted),
                                       FLOW(test_vcjob_is_suspended_and_resumed),
                                       FLOW(test_coscheduling_gang_is_whole_or_not_at_all),
                                       FLOW(test_unschedulable_pod_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
