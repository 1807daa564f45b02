/* What who comes from Kueue relies on, on a virtual clock: queues, Workloads and the jobs behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "world.h"

#define CQ "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq"
#define JOB "/apis/batch/v1/namespaces/n/jobs/j"

/* ---- queues ---- */

static void test_queue_names_all_that_it_lacks(void **state)
{
    (void)state;
    QUOTA("8");
    patch(CQ, "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":["
              "{\"name\":\"x\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]},"
              "{\"name\":\"a100\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]},"
              "{\"name\":\"y\",\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "FlavorNotFound");
    assert_string_equal(said(get(CQ), "Active"),
                        "Can't admit new workloads: references missing ResourceFlavor(s): x,y.");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "Stopped");
    assert_string_equal(said(get(CQ), "Active"),
                        "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): x,y.");
}

/* ---- what is in use ---- */

#define HELD "kueue.x-k8s.io/resource-in-use"

static void test_queue_in_use_is_deleted_when_its_last_job_is_over(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_true(object_has_finalizer(get(CQ), HELD));
    assert_true(object_has_finalizer(get(FLAVOR), HELD));
    delete(FLAVOR);
    delete(CQ);
    run(3000);
    assert_string_equal(reason(get(CQ), "Active"), "Terminating");
    assert_non_null(get(FLAVOR));
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
    run(20000);
    assert_true(object_condition_true(get(JOB), "Complete"));
    assert_null(get(CQ));
    assert_null(get(FLAVOR));
}

static void test_queue_does_not_wait_for_what_was_evicted(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"of-nobody\",\"namespace\":\"n\"},"
           "\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":["
           "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}");
    run(2000);
    assert_true(object_condition_true(workload(), "Admitted"));
    delete(CQ);
    run(1000);
    assert_non_null(get(CQ));
    patch("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/of-nobody", "{\"spec\":{\"active\":false}}");
    run(2000);
    assert_true(object_condition_true(workload(), "Evicted")); /* nobody stops it, so its quota stays reserved */
    assert_null(get(CQ));
}

static void test_what_kueue_held_is_let_go(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"c\","
           "\"finalizers\":[\"example.com/mine\",\"" HELD "\"]},\"spec\":{\"controllerName\":\"x/y\"}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Topology\",\"metadata\":{\"name\":\"t\","
           "\"finalizers\":[\"" HELD "\"]},\"spec\":{\"levels\":[{\"nodeLabel\":\"rack\"}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},"
           "\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"a100\"},"
           "\"spec\":{\"nodeLabels\":{\"gpu\":\"a100\"},\"topologyName\":\"t\"}}");
    run(1000);
    delete("/apis/kueue.x-k8s.io/v1beta2/topologies/t");
    delete("/apis/kueue.x-k8s.io/v1beta2/admissionchecks/c");
    run(1000);
    assert_true(object_has_finalizer(get("/apis/kueue.x-k8s.io/v1beta2/topologies/t"), HELD));
    assert_true(object_has_finalizer(get("/apis/kueue.x-k8s.io/v1beta2/admissionchecks/c"), HELD));
    delete(CQ);
    delete(FLAVOR);
    run(1000);
    assert_null(get(CQ));
    assert_null(get("/apis/kueue.x-k8s.io/v1beta2/topologies/t"));
    const struct json *check = get("/apis/kueue.x-k8s.io/v1beta2/admissionchecks/c");
    assert_false(object_has_finalizer(check, HELD));
    assert_true(object_has_finalizer(check, "example.com/mine")); /* not ours to take off */
}

#define CHECK "/apis/kueue.x-k8s.io/v1beta2/admissionchecks/c"

static void test_what_nobody_names_is_not_held(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"c\"},"
           "\"spec\":{\"controllerName\":\"x/y\"}}");
    run(1000);
    assert_false(object_has_finalizer(get(CHECK), HELD));
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},"
           "\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}}}");
    run(1000);
    assert_true(object_has_finalizer(get(CHECK), HELD));
}

static void test_what_is_let_go_by_hand_is_not_held_again(void **state)
{
    (void)state;
    QUOTA("8");
    run(1000);
    assert_true(object_has_finalizer(get(FLAVOR), HELD));
    patch(FLAVOR, "{\"metadata\":{\"finalizers\":null}}");
    patch(CQ, "{\"metadata\":{\"labels\":{\"looked\":\"at-again\"}}}");
    run(1000);
    assert_false(object_has_finalizer(get(FLAVOR), HELD));
    delete(FLAVOR);
    assert_null(get(FLAVOR));
}

static char *workload_path(void)
{
    return arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload(), "name"));
}

static void test_deleted_workload_stops_its_job_and_undoes_the_start(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_string_equal(json_text(json_path(get(JOB), "spec", "template", "spec", "nodeSelector", "gpu", NULL), ""),
                        "a100");
    const char *uid = object_meta(workload(), "uid");
    delete(LQ);
    delete(workload_path());
    run(5000);
    const struct json *j = get(JOB);
    assert_true(json_bool(json_path(j, "spec", "suspend", NULL), false));
    assert_null(json_path(j, "spec", "template", "spec", "nodeSelector", NULL));
    assert_null(json_path(j, "spec", "template", "metadata", "annotations", "kueue.x-k8s.io/workload", NULL));
    assert_int_equal(pods_n("job-name=j", ""), 0);
    assert_string_not_equal(object_meta(workload(), "uid"), uid); /* it stands in line again */
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    const struct json *usage = json_path(get(CQ), "status", "flavorsUsage", NULL);
    assert_string_equal(json_get_text(json_item(json_get(json_item(usage, 0), "resources"), 0), "total", ""), "0");
}

static void test_workload_goes_with_its_job(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_true(object_has_finalizer(workload(), HELD));
    delete(JOB);
    run(3000);
    assert_null(workload());
    job("j", 2, "true");
    run(30000);
    assert_true(object_condition_true(workload(), "Finished"));
    assert_false(object_has_finalizer(workload(), HELD)); /* nothing of ours is in the way of who deletes it */
}

/* A Workload of an older version, which did not read the annotations, and that still waits. */
static void test_a_topology_that_is_missing_is_asked_for(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"suspend\":true,\"template\":{\"metadata\":{\"annotations\":{"
           "\"kueue.x-k8s.io/podset-required-topology\":\"rack\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
           "\"image\":\"i\"}]}}}}");
    run(3000);
    const struct json *set = json_item(json_path(workload(), "spec", "podSets", NULL), 0);
    assert_string_equal(json_text(json_path(set, "topologyRequest", "required", NULL), ""), "rack");
    struct json *old = json_clone(w.a, set);
    (void)json_remove(old, "topologyRequest");
    struct buf text = {0};
    json_write(&text, old);
    patch(workload_path(), arena_printf(w.a, "{\"spec\":{\"podSets\":[%.*s]}}", (int)text.n, text.data));
    buf_free(&text);
    run(3000);
    set = json_item(json_path(workload(), "spec", "podSets", NULL), 0);
    assert_string_equal(json_text(json_path(set, "topologyRequest", "required", NULL), ""), "rack");
    const char *version = object_meta(workload(), "resourceVersion");
    run(30000);
    assert_string_equal(object_meta(workload(), "resourceVersion"), version); /* and that is all */
}

/* ---- priorities ---- */

#define PRIORITY_CLASS(name, value)                                                                                    \
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"" name    \
           "\"},\"value\":" value "}")
#define LABELLED(class) patch(JOB, "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"" class "\"}}}")

static int64_t priority(void)
{
    return json_int64(json_path(workload(), "spec", "priority", NULL), -1);
}

static void test_running_job_takes_another_priority_class(void **state)
{
    (void)state;
    QUOTA("8");
    PRIORITY_CLASS("low", "10");
    PRIORITY_CLASS("high", "1000");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/priority-class\":\"low\"}},\"spec\":{\"suspend\":true,"
           "\"template\":{\"metadata\":{\"annotations\":{\"capstan.dev/run-seconds\":\"60\"}},\"spec\":{\"restartPolicy\":"
           "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(3000);
    assert_int_equal(priority(), 10);
    assert_true(object_condition_true(workload(), "Admitted"));
    LABELLED("high");
    run(1000);
    assert_int_equal(priority(), 1000);
    assert_string_equal(json_text(json_path(workload(), "spec", "priorityClassRef", "name", NULL), ""), "high");
    assert_true(object_condition_true(workload(), "Admitted"));
    LABELLED("gone");
    run(1000);
    assert_int_equal(priority(), 1000); /* it keeps what it has */
    assert_true(event_seen("WorkloadPriorityClassNotFound", "WorkloadPriorityClass \"gone\" not found"));
}

static void test_job_with_a_missing_priority_class_waits_for_it(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 1, "true");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    LABELLED("late");
    delete(workload() ? workload_path() : "/nothing");
    run(2000);
    assert_null(workload());
    assert_true(event_seen("WorkloadPriorityClassNotFound", "WorkloadPriorityClass \"late\" not found"));
    PRIORITY_CLASS("late", "77");
    run(1000);
    assert_int_equal(priority(), 77);
}

/* ---- what others write ---- */

#define QUOTA_IS(gpus)                                                                                                 \
    patch(CQ, "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"a100\"," \
              "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"" gpus "\"}]}]}]}}")

static int64_t count(const char *path, const char *key)
{
    return json_int64(json_path(get(path), "status", key, NULL), 0);
}

static const char *first_total(const char *path, const char *list)
{
    const struct json *flavor = json_item(json_path(get(path), "status", list, NULL), 0);
    return json_get_text(json_item(json_get(flavor, "resources"), 0), "total", "");
}

static void reserve(const char *checks)
{
    patch(arena_printf(w.a, "%s/status", workload_path()),
          arena_printf(w.a,
                       "{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\","
                       "\"count\":2,\"flavors\":{\"nvidia.com/gpu\":\"a100\"},\"resourceUsage\":{\"nvidia.com/gpu\":\"2\"}}"
                       "]},%s\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":\"ByHand\","
                       "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
                       checks));
    run(1500);
}

static void test_reservation_of_another_is_completed(void **state)
{
    (void)state;
    QUOTA("8");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    job("j", 2, "true");
    run(1500);
    assert_false(object_condition_true(workload(), "Admitted"));
    reserve("");
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_string_equal(said(workload(), "Admitted"), "The workload is admitted");
    assert_string_equal(object_waiting(workload()), "");
    assert_int_equal(count(CQ, "admittedWorkloads"), 1);
    run(3000);
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

static void test_admission_of_another_ends_the_wait(void **state)
{
    (void)state;
    QUOTA("1");
    job("j", 2, "true");
    run(1500);
    assert_string_not_equal(object_waiting(workload()), "");
    patch(arena_printf(w.a, "%s/status", workload_path()),
          "{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\",\"count\":2,\"flavors\":{"
          "\"nvidia.com/gpu\":\"a100\"},\"resourceUsage\":{\"nvidia.com/gpu\":\"2\"}}]},\"conditions\":[{\"type\":\"QuotaReserved\","
          "\"status\":\"True\",\"reason\":\"ByHand\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Admitted\","
          "\"status\":\"True\",\"reason\":\"ByHand\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"capstan.dev/Waiting\","
          "\"status\":\"True\",\"reason\":\"Stale\",\"message\":\"{}\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(3000);
    assert_string_equal(object_waiting(workload()), "");
    assert_string_equal(reason(workload(), "Admitted"), "ByHand");
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

static void test_pods_are_not_ready_before_they_are(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(20);
    while (!object_condition_true(workload(), "Admitted"))
        run(1);
    assert_string_equal(reason(workload(), "PodsReady"), "WaitForStart"); /* in the same write */
    run(3000);
    assert_string_equal(reason(workload(), "PodsReady"), "Started");
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    patch(arena_printf(w.a, "%s/status", workload_path()),
          "{\"status\":{\"admission\":null,\"conditions\":[{\"type\":\"PodsReady\",\"status\":\"False\",\"reason\":\"WaitForRecovery\","
          "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}"); /* somebody takes it back */
    run(3000);
    assert_true(json_bool(json_path(get(JOB), "spec", "suspend", NULL), false));
    assert_string_equal(reason(workload(), "PodsReady"), "WaitForStart");
    assert_string_equal(said(workload(), "PodsReady"), "Not all pods are ready or succeeded");
}

/* Of one whose pods still stop, too. */
static void test_pods_are_not_ready_while_they_stop(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    assert_true(object_condition_true(workload(), "PodsReady"));
    embedded_controllers_free(w.controllers); /* whoever would stop them is away */
    w.controllers = NULL;
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    patch(arena_printf(w.a, "%s/status", workload_path()),
          "{\"status\":{\"admission\":null,\"conditions\":[{\"type\":\"PodsReady\",\"status\":\"True\",\"reason\":\"Started\","
          "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(3000);
    assert_true(pods_n("job-name=j", "Running") > 0);
    assert_string_equal(reason(workload(), "PodsReady"), "WaitForStart");
}

static void test_reservation_waits_for_its_checks(void **state)
{
    (void)state;
    QUOTA("8");
    patch(CQ, "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"a\",\"onFlavors\":[\"a100\"]}]}}}");
    job("j", 2, "true");
    run(1500);
    reserve("\"admissionChecks\":[{\"name\":\"a\",\"state\":\"Pending\",\"message\":\"\","
            "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],");
    assert_false(object_condition_true(workload(), "Admitted"));
    assert_int_equal(count(CQ, "reservingWorkloads"), 1);
    assert_int_equal(count(CQ, "admittedWorkloads"), 0);
    assert_int_equal(count(LQ, "reservingWorkloads"), 1);
    assert_int_equal(count(LQ, "admittedWorkloads"), 0);
    assert_string_equal(first_total(CQ, "flavorsReservation"), "2");
    assert_string_equal(first_total(CQ, "flavorsUsage"), "0");
    assert_string_equal(first_total(LQ, "flavorsUsage"), "0");
    assert_true(json_bool(json_path(get(JOB), "spec", "suspend", NULL), false));
    reserve("\"admissionChecks\":[{\"name\":\"a\",\"state\":\"Ready\",\"message\":\"\","
            "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_int_equal(count(CQ, "admittedWorkloads"), 1);
    assert_string_equal(first_total(LQ, "flavorsUsage"), "2");
    assert_int_equal(pods_n("job-name=j", "Running"), 2);
}

/* LIMIT_STATUS_FLAVORS, for longer lists are refused; quotas count all of them. */
static void test_status_lists_so_many_flavors(void **state)
{
    (void)state;
    _cleanup_buf_ struct buf flavors = {0};
    for (int i = 0; i < 80; i++)
        buf_printf(&flavors, "%s{\"name\":\"f%d\",\"resources\":[{\"name\":\"r%d\",\"nominalQuota\":1}]}", i % 40 ? "," : "", i, i / 40);
    const char *second = strstr(flavors.data, "{\"name\":\"f40\"");
    create(arena_printf(w.a, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},"
                             "\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"r0\"],\"flavors\":[%.*s]},"
                             "{\"coveredResources\":[\"r1\"],\"flavors\":[%s]}]}}", (int)(second - flavors.data), flavors.data, second));
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\","
           "\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"cq\"}}");
    run(3000);
    assert_int_equal(json_path(get(CQ), "status", "flavorsUsage", NULL)->n, LIMIT_STATUS_FLAVORS);
    assert_int_equal(json_path(get(LQ), "status", "flavorsReservation", NULL)->n, LIMIT_STATUS_FLAVORS);
    assert_string_not_equal(reason(get(CQ), "Active"), "");
}

static void test_lists_of_nothing_are_left_out(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},"
           "\"spec\":{\"namespaceSelector\":{}}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\","
           "\"namespace\":\"n\"},\"spec\":{\"clusterQueue\":\"none\"}}");
    run(1000);
    assert_string_equal(reason(get(CQ), "Active"), "Ready");
    assert_null(json_path(get(CQ), "status", "flavorsUsage", NULL));
    assert_null(json_path(get(CQ), "status", "flavorsReservation", NULL));
    assert_string_equal(reason(get(LQ), "Active"), "ClusterQueueDoesNotExist");
    assert_null(json_path(get(LQ), "status", "flavorsUsage", NULL));
}

static void test_deactivated_workload_forgets_its_retries(void **state)
{
    (void)state;
    QUOTA("1");
    job("j", 2, "true");
    run(1500);
    patch(arena_printf(w.a, "%s/status", workload_path()),
          "{\"status\":{\"requeueState\":{\"count\":2,\"requeueAt\":\"2026-01-01T01:00:00Z\"}}}");
    patch(workload_path(), "{\"spec\":{\"active\":false}}");
    run(2000);
    assert_null(json_path(workload(), "status", "requeueState", NULL));
    assert_string_equal(reason(workload(), "QuotaReserved"), "Deactivated");
    assert_string_equal(said(workload(), "QuotaReserved"), "The workload is deactivated");
    assert_true(object_condition_true(workload(), "Evicted"));
    assert_string_equal(reason(workload(), "Evicted"), "Deactivated");
    patch(workload_path(), "{\"spec\":{\"active\":true}}");
    QUOTA_IS("8");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_false(object_condition_true(workload(), "Evicted"));
    patch(workload_path(), "{\"spec\":{\"active\":false}}"); /* now it runs */
    run(3000);
    assert_int_equal(pods_n("job-name=j", ""), 0);
    assert_string_equal(reason(workload(), "QuotaReserved"), "Deactivated");
    assert_string_equal(said(workload(), "QuotaReserved"), "The workload is deactivated");
}

/* ---- what the API server makes of a template ---- */

#define LIMITS(name, item)                                                                                             \
    create("{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\"},"     \
           "\"spec\":{\"limits\":[" item "]}}")
#define TWO_RESOURCES                                                                                                  \
    "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\",\"memory\"],\"flavors\":[{\"name\":\"a100\",\"resources\":["   \
    "{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"},{\"name\":\"memory\",\"nominalQuota\":\"10Gi\"}]}]}]}}"

static const char *used(const char *resource)
{
    const struct json *set = json_item(json_path(workload(), "status", "admission", "podSetAssignments", NULL), 0);
    return json_text(json_path(set, "resourceUsage", resource, NULL), "");
}

static void test_defaults_of_the_namespace_and_overhead_count(void **state)
{
    (void)state;
    QUOTA("8");
    patch(CQ, TWO_RESOURCES);
    create("{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":\"RuntimeClass\",\"metadata\":{\"name\":\"kata\"},"
           "\"handler\":\"kata\",\"overhead\":{\"podFixed\":{\"memory\":\"1Gi\"}}}");
    LIMITS("l", "{\"type\":\"Container\",\"defaultRequest\":{\"memory\":\"2Gi\"}}");
    run(500);
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"parallelism\":2,\"suspend\":true,\"template\":{\"spec\":{"
           "\"runtimeClassName\":\"kata\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_string_equal(used("memory"), "6Gi"); /* 2 x (2Gi by default + 1Gi overhead) */
    assert_string_equal(used("nvidia.com/gpu"), "2");
}

static void test_what_no_pod_can_be_made_of_waits_and_says_why(void **state)
{
    (void)state;
    QUOTA("8");
    LIMITS("l", "{\"type\":\"Container\",\"max\":{\"nvidia.com/gpu\":\"2\"}}");
    run(500);
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
           "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
           "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}}}}");
    run(2000);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(reason(workload(), "QuotaReserved"), "Misconfigured");
    assert_string_equal(said(workload(), "QuotaReserved"),
                        "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec.containers[0]: "
                        "Invalid value: [\"nvidia.com/gpu\"]: requests must not be above the limitRange max");
    delete("/api/v1/namespaces/n/limitranges/l");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
}

/* ---- Workloads made by others ---- */

#define PREBUILT(name, pods)                                                                                           \
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"" name                  \
           "\",\"namespace\":\"n\"},\"spec\":{\"priority\":7,\"podSets\":[{\"name\":\"main\",\"count\":" pods \
           ",\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"            \
           "\"nvidia.com/gpu\":\"1\"}}}]}}}]}}")
#define USER_OF(name)                                                                                                  \
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"labels\":{"   \
           "\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/prebuilt-workload-name\":\"" name                   \
           "\"}},\"spec\":{\"suspend\":true,\"parallelism\":2,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","           \
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}")

static void test_job_takes_the_workload_that_was_made_for_it(void **state)
{
    (void)state;
    QUOTA("8");
    USER_OF("made");
    run(2000);
    assert_null(workload()); /* none of its own */
    PREBUILT("made", "2");
    run(4000);
    assert_string_equal(object_meta(workload(), "name"), "made");
    assert_string_equal(object_controller(workload(), "uid"), object_meta(get(JOB), "uid"));
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_int_equal(json_get_int64(json_get(workload(), "spec"), "priority", 0), 7);
    assert_int_equal(pods_n("job-name=j", ""), 2);
}

static void test_workload_made_for_another_job_is_refused(void **state)
{
    (void)state;
    QUOTA("8");
    PREBUILT("made", "3");
    USER_OF("made");
    run(3000);
    assert_string_equal(reason(workload(), "Finished"), "OutOfSync");
    assert_int_equal(pods_n("job-name=j", ""), 0);
}

/* ---- TrainJobs ---- */

#define TRAINJOB "/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/t"
#define RUNTIME "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch"

static void runtime_make(void)
{
    create("{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"ClusterTrainingRuntime\",\"metadata\":{\"name\":\"torch\"},\"spec\":{"
           "\"mlPolicy\":{\"numNodes\":2},\"template\":{\"spec\":{\"replicatedJobs\":[{\"name\":\"main\",\"template\":{\"metadata\":{\"labels\":{"
           "\"trainer.kubeflow.org/trainjob-ancestor-step\":\"trainer\"}},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
           "\"containers\":[{\"name\":\"node\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}}]}}}}");
}

static void trainjob(const char *more_labels)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"metadata\":{\"name\":\"t\",\"namespace\":\"n\","
                        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"%s}},\"spec\":{\"suspend\":true,\"runtimeRef\":{\"name\":\"torch\"}}}",
                        more_labels));
}

/* As on a cluster whose own controller runs TrainJobs. The server takes none without its runtime: it is deleted before we begin anew. */
static void trainjob_without_runtime(const char *more_labels)
{
    jobs_free(w.jobs);
    runtime_make();
    trainjob(more_labels);
    delete(RUNTIME);
    w.jobs = jobs_new(w.client, &(struct jobs_config){.no_volcano = true});
    run(2000);
}

static int64_t event_count(const char *reason_)
{
    int64_t n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        if (strcmp(json_get_text(event, "reason", ""), reason_) == 0)
            n += json_get_int64(event, "count", 1);
    return n;
}

static void test_trainjob_waits_for_its_runtime(void **state)
{
    (void)state;
    QUOTA("8");
    trainjob_without_runtime("");
    assert_null(workload());
    assert_true(event_seen("ErrWorkloadCompose", "the runtime that spec.runtimeRef names does not exist"));
    run(60000);
    assert_int_equal(event_count("ErrWorkloadCompose"), 1); /* however often it is looked for */
    runtime_make();
    run(10000);
    assert_true(object_condition_true(workload(), "Admitted"));
    /* The trainer's webhook has nothing to add. */
    const struct json *ours = json_item(json_path(get(TRAINJOB), "spec", "runtimePatches", NULL), 0);
    assert_string_equal(json_get_text(ours, "time", ""), json_get_text(object_condition(workload(), "Admitted"), "lastTransitionTime", "-"));
}

static void test_workload_made_for_a_trainjob_waits_for_its_runtime(void **state)
{
    (void)state;
    QUOTA("8");
    PREBUILT("made", "2");
    trainjob_without_runtime(",\"kueue.x-k8s.io/prebuilt-workload-name\":\"made\"");
    assert_non_null(workload());
    assert_false(object_condition_true(workload(), "Finished"));
    runtime_make();
    run(10000);
    assert_string_equal(object_controller(workload(), "kind"), "TrainJob");
    assert_true(object_condition_true(workload(), "Admitted"));
    delete(RUNTIME);
    patch(TRAINJOB, "{\"metadata\":{\"labels\":{\"any\":\"change\"}}}");
    run(10000);
    assert_true(object_condition_true(workload(), "Admitted")); /* it has started: what it is made of is no question any more */
}

/* The controllers begin anew, and may read jobs before runtimes. */
static void test_runtime_that_is_not_read_yet_is_not_missed(void **state)
{
    (void)state;
    static const struct http_faults slow = {.latency_ms_max = 100};
    jobs_free(w.jobs);
    w.jobs = NULL;
    QUOTA("8");
    runtime_make();
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct kube_client *client = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, &slow, seed));
        trainjob("");
        struct jobs *jobs = jobs_new(client, &(struct jobs_config){.embedded = true});
        run(4000);
        assert_true(object_condition_true(workload(), "Admitted"));
        assert_false(event_seen("ErrWorkloadCompose", "the runtime that spec.runtimeRef names does not exist"));
        delete(TRAINJOB);
        run(40000);
        assert_null(workload());
        jobs_free(jobs);
        kube_client_free(client);
    }
}

/* ---- whose Workload it is ---- */

static int workloads_n(void)
{
    const struct json *items = json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items");
    return items ? (int)items->n : 0;
}

/* kubectl delete --cascade=orphan: nobody is left who could give its quota back. */
static void test_orphaned_workload_is_over(void **state)
{
    (void)state;
    QUOTA("2");
    job("j", 2, "true");
    run(3000);
    assert_true(object_condition_true(workload(), "Admitted"));
    kube_delete(w.client, JOB, bytes_of("{\"propagationPolicy\":\"Orphan\"}"), NULL, NULL);
    run(3000);
    assert_null(get(JOB));
    assert_string_equal(reason(workload(), "Finished"), "OwnerNotFound");
    assert_false(object_has_finalizer(workload(), HELD));
    job("k", 2, "true");
    run(3000);
    assert_int_equal(workloads_n(), 2);
    assert_int_equal(json_int64(json_path(get(CQ), "status", "admittedWorkloads", NULL), 0), 1);
}

/* Both are deleted while nobody looks. */
static void test_orphaned_workload_that_is_deleted_goes(void **state)
{
    (void)state;
    QUOTA("2");
    job("j", 2, "true");
    run(3000);
    const char *path = arena_printf(w.a, "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/%s", object_meta(workload(), "name"));
    kube_delete(w.client, JOB, bytes_of("{\"propagationPolicy\":\"Orphan\"}"), NULL, NULL);
    kube_delete(w.client, path, BYTES("{}"), NULL, NULL);
    run(5000);
    assert_null(workload());
}

/* Of one that goes with its job nothing is said first. */
static void test_collected_workload_is_not_finished_before(void **state)
{
    (void)state;
    QUOTA("2");
    job("j", 2, "true");
    run(3000);
    delete(JOB);
    run(5000);
    assert_null(workload());
    assert_false(event_seen("FinishedWorkload", ""));
}

static void test_second_workload_of_a_job_goes(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 2, "true");
    run(3000);
    const char *first = object_meta(workload(), "name");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"stray\",\"namespace\":"
                        "\"n\",\"finalizers\":[\"" HELD "\"],\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
                        "\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":3,"
                        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}}",
                        object_meta(get(JOB), "uid")));
    run(3000);
    assert_int_equal(workloads_n(), 1);
    assert_string_equal(object_meta(workload(), "name"), first);
    assert_true(event_seen("DeletedWorkload", "Deleted not matching Workload: n/stray"));
    assert_int_equal(pods_n("job-name=j", ""), 2); /* its own stays admitted */
}

/* Nor is it asked whose Workloads those of a job without a queue are. */
static void test_workload_of_a_job_that_is_not_ours_stays(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":{\"template\":{\"spec\":{"
           "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    run(1000);
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"mine\",\"namespace\":"
                        "\"n\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\","
                        "\"controller\":true}]},\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}}",
                        object_meta(get(JOB), "uid")));
    run(3000);
    assert_int_equal(workloads_n(), 1);
}

/* It has no Workload of its own, runs while that of the job above does, and is stopped with it. */
static void test_job_of_a_queued_job_follows_it(void **state)
{
    (void)state;
    QUOTA("8");
    job("j", 1, "true");
    run(3000);
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"child\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                        "\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                        object_meta(get(JOB), "uid")));
#define CHILD "/apis/batch/v1/namespaces/n/jobs/child"
    patch(CHILD, "{\"spec\":{\"suspend\":false}}");
    run(1000);
    assert_int_equal(workloads_n(), 1);
    assert_false(json_get_bool(json_get(get(CHILD), "spec"), "suspend", false));
    patch(CQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(3000);
    assert_true(json_get_bool(json_get(get(CHILD), "spec"), "suspend", false));
    assert_int_equal(workloads_n(), 1);
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_queue_names_all_that_it_lacks),
        FLOW(test_queue_in_use_is_deleted_when_its_last_job_is_over),
        FLOW(test_queue_does_not_wait_for_what_was_evicted),
        FLOW(test_what_kueue_held_is_let_go),
        FLOW(test_what_nobody_names_is_not_held),
        FLOW(test_what_is_let_go_by_hand_is_not_held_again),
        FLOW(test_deleted_workload_stops_its_job_and_undoes_the_start),
        FLOW(test_workload_goes_with_its_job),
        FLOW(test_a_topology_that_is_missing_is_asked_for),
        FLOW(test_running_job_takes_another_priority_class),
        FLOW(test_job_with_a_missing_priority_class_waits_for_it),
        FLOW(test_reservation_of_another_is_completed),
        FLOW(test_admission_of_another_ends_the_wait),
        FLOW(test_reservation_waits_for_its_checks),
        FLOW(test_pods_are_not_ready_before_they_are),
        FLOW(test_pods_are_not_ready_while_they_stop),
        FLOW(test_lists_of_nothing_are_left_out),
        FLOW(test_status_lists_so_many_flavors),
        FLOW(test_deactivated_workload_forgets_its_retries),
        FLOW(test_defaults_of_the_namespace_and_overhead_count),
        FLOW(test_what_no_pod_can_be_made_of_waits_and_says_why),
        FLOW(test_job_takes_the_workload_that_was_made_for_it),
        FLOW(test_workload_made_for_another_job_is_refused),
        FLOW(test_trainjob_waits_for_its_runtime),
        FLOW(test_workload_made_for_a_trainjob_waits_for_its_runtime),
        FLOW(test_runtime_that_is_not_read_yet_is_not_missed),
        FLOW(test_orphaned_workload_is_over),
        FLOW(test_orphaned_workload_that_is_deleted_goes),
        FLOW(test_collected_workload_is_not_finished_before),
        FLOW(test_second_workload_of_a_job_goes),
        FLOW(test_workload_of_a_job_that_is_not_ours_stays),
        FLOW(test_job_of_a_queued_job_follows_it),
    };
    return cmocka_run_group_tests_name("kueue_flow", tests, NULL, NULL);
}
