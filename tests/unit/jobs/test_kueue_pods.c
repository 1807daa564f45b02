/* Pods and groups of pods, queued the Kueue way, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "world.h"
#include "jobs/controllers.h"

static void pod(const char *name, const char *total, const char *gpus, const char *annotations)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                        "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/pod-group-name\":\"g\"},"
                        "\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"%s\"%s}},\"spec\":{"
                        "\"restartPolicy\":\"Never\","
                        "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"},{\"name\":\"kueue.x-k8s.io/topology\"}],"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%s\"}}}]}}",
                        name, total, annotations, gpus));
}

static const struct json *get_pod(const char *name)
{
    return get(arena_printf(w.a, "/api/v1/namespaces/n/pods/%s", name));
}

static void note_ungated(void *arg, const char *gate, const char *queue, bool is_group, double seconds)
{
    struct buf *opened = arg;
    assert_in_range((int)seconds, 0, 4);
    buf_printf(opened, "%s of %s%s\n", gate, queue, is_group ? ", in a group" : "");
}

static void test_pod_group_is_named_by_role_and_loses_its_gates(void **state)
{
    _cleanup_buf_ struct buf opened = {0};
    (void)state;
    QUOTA("8");
    w.jobs->config.on_ungated = note_ungated;
    w.jobs->config.arg = &opened;
    patch(FLAVOR, "{\"spec\":{\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}]}}");
    pod("a", "3", "1", ",\"kueue.x-k8s.io/role-hash\":\"zz\"");
    pod("b", "3", "2", ",\"kueue.x-k8s.io/role-hash\":\"aa\"");
    run(500);
    assert_null(workload());
    pod("c", "3", "1", ",\"kueue.x-k8s.io/role-hash\":\"zz\"");
    run(4000);
    const struct json *sets = json_path(workload(), "spec", "podSets", NULL);
    assert_int_equal(sets->n, 2);
    assert_string_equal(json_get_text(json_item(sets, 0), "name", ""), "aa");
    assert_string_equal(json_get_text(json_item(sets, 1), "name", ""), "zz");
    assert_int_equal(json_get_int64(json_item(sets, 1), "count", 0), 2);
    const struct json *a = get_pod("a");
    assert_null(json_path(a, "spec", "schedulingGates", NULL));
    assert_string_equal(json_text(json_path(a, "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    bool tolerates = false;
    JSON_EACH (toleration, json_path(a, "spec", "tolerations", NULL))
        tolerates = tolerates || strcmp(json_get_text(toleration, "key", ""), "gpu") == 0;
    assert_true(tolerates);
    assert_true(*json_text(json_path(a, "spec", "nodeName", NULL), ""));
    static const char each[] = "kueue.x-k8s.io/admission of cq, in a group\nkueue.x-k8s.io/topology of cq, in a group\n";
    assert_string_equal(opened.data, arena_printf(w.a, "%s%s%s", each, each, each)); /* of three pods, each once */
    w.jobs->config.on_ungated = NULL;
}

static void test_role_stays_when_the_flavor_changes_the_pod(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "1", "1", "");
    run(4000);
    const char *role = object_annotation(get_pod("a"), "kueue.x-k8s.io/role-hash");
    assert_int_equal(strlen(role), 8);
    assert_string_equal(object_label(get_pod("a"), "kueue.x-k8s.io/podset"), role);
    assert_string_equal(json_get_text(json_item(json_path(workload(), "spec", "podSets", NULL), 0), "name", ""), role);
}

static void test_group_may_be_named_by_annotation(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"},\"annotations\":{\"kueue.x-k8s.io/pod-group-name\":\"by-annotation\","
           "\"kueue.x-k8s.io/pod-group-total-count\":\"1\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    run(1000);
    assert_string_equal(object_meta(workload(), "name"), "by-annotation");
}

static void test_fast_group_does_not_wait_for_its_pods(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "3", "1", ",\"kueue.x-k8s.io/pod-group-fast-admission\":\"true\"");
    run(3000);
    assert_int_equal(json_get_int64(json_item(json_path(workload(), "spec", "podSets", NULL), 0), "count", 0), 3);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_null(json_path(get_pod("a"), "spec", "schedulingGates", NULL));
}

static void test_finalizers_of_kueue_on_pods_are_taken_off(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\",\"namespace\":\"n\",\"finalizers\":["
           "\"kueue.x-k8s.io/managed\"],\"annotations\":{\"provreq.kueue.x-k8s.io/ValidUntilSeconds\":\"9\"},"
           "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"restartPolicy\":\"Never\","
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}");
    run(3000);
    assert_true(object_has_finalizer(get_pod("lone"), "kueue.x-k8s.io/managed"));
    assert_string_equal(object_annotation(workload(), "provreq.kueue.x-k8s.io/ValidUntilSeconds"), "9");
    delete("/api/v1/namespaces/n/pods/lone");
    run(40000);
    assert_null(get_pod("lone"));
    for (int i = 0; i < 2; i++)
        pod(i ? "b" : "a", "2", "1", "");
    patch("/api/v1/namespaces/n/pods/a", "{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"]}}");
    run(3000);
    delete("/api/v1/namespaces/n/pods/a");
    run(40000);
    assert_true(object_deleting(get_pod("a"))); /* the group goes on: it may still succeed, or has to be replaced */
    assert_true(object_condition_true(workload(), "WaitingForReplacementPods"));
    delete("/api/v1/namespaces/n/pods/b");
    run(40000);
    assert_null(get_pod("a"));
    assert_null(get_pod("b"));
}

static void stop_kubelets(void)
{
    kubelets_free(w.kubelets);
    w.kubelets = NULL;
}

static void start_kubelets(void)
{
    w.kubelets = kubelets_new(w.client, &(struct kubelets_config){.speed = 1});
}

static void fail_pod(const char *name)
{
    patch(arena_printf(w.a, "/api/v1/namespaces/n/pods/%s/status", name), "{\"status\":{\"phase\":\"Failed\"}}");
}

static void test_failed_member_of_a_group_is_replaced(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    run(4000);
    assert_true(object_condition_true(workload(), "Admitted"));
    const char *uid = object_meta(workload(), "uid");
    patch("/api/v1/namespaces/n/pods/b", "{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"]}}");
    fail_pod("b");
    run(1000);
    assert_false(object_condition_true(workload(), "Finished"));
    assert_true(object_has_finalizer(get_pod("b"), "kueue.x-k8s.io/managed"));
    assert_string_equal(said(workload(), "WaitingForReplacementPods"), "Some Failed pods need replacement");
    pod("c", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    run(4000);
    assert_non_null(get_pod("c")); /* not one too many */
    assert_false(object_has_finalizer(get_pod("b"), "kueue.x-k8s.io/managed")); /* nobody counts it any more */
    assert_null(json_path(get_pod("c"), "spec", "schedulingGates", NULL));
    assert_true(*json_text(json_path(get_pod("c"), "spec", "nodeName", NULL), ""));
    assert_string_equal(reason(workload(), "WaitingForReplacementPods"), "PodsReady");
    assert_false(object_condition_true(workload(), "WaitingForReplacementPods"));
    assert_string_equal(object_meta(workload(), "uid"), uid);
    pod("d", "2", "1", "");
    run(2000);
    assert_null(get_pod("d")); /* one too many */
}

static void test_group_of_one_has_one_workload(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "1", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    run(4000);
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_int_equal(json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items")->n, 1);
}

static void test_each_replacement_lets_one_that_failed_go(void **state)
{
    (void)state;
    static const char held[] = "kueue.x-k8s.io/managed";
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    run(4000);
    for (int i = 0; i < 2; i++) {
        patch(i ? "/api/v1/namespaces/n/pods/b" : "/api/v1/namespaces/n/pods/a", "{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"]}}");
        fail_pod(i ? "b" : "a");
    }
    run(1000);
    assert_true(object_has_finalizer(get_pod("a"), held) && object_has_finalizer(get_pod("b"), held));
    pod("c", "2", "1", ",\"capstan.dev/run-seconds\":\"60\"");
    run(1000);
    assert_false(object_has_finalizer(get_pod("a"), held)); /* the older one */
    assert_true(object_has_finalizer(get_pod("b"), held));
}

#define POD "/api/v1/namespaces/n/pods/"

/* The group's quota is free again when the old pods have gone; who comes meanwhile has not started, and need not be stopped. */
static void test_replacements_are_not_stopped_with_their_group(void **state)
{
    (void)state;
    static const char *const old[] = {"a", "b"}, *const new[] = {"c", "d"};
    QUOTA("8");
    for (int i = 0; i < 2; i++)
        pod(old[i], "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    const char *group = object_meta(workload(), "uid");
    stop_kubelets();
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(1000);
    assert_true(object_deleting(get_pod("a")) && object_deleting(get_pod("b")));
    for (int i = 0; i < 2; i++)
        pod(new[i], "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(2000);
    assert_true(get_pod("c") && get_pod("d"));
    assert_int_equal(json_path(get_pod("c"), "spec", "schedulingGates", NULL)->n, 2);
    assert_true(object_condition_true(workload(), "QuotaReserved"));
    start_kubelets();
    run(40000);
    assert_null(get_pod("a"));
    assert_true(get_pod("c") && get_pod("d"));
    assert_string_equal(object_meta(workload(), "uid"), group);
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(4000);
    assert_int_equal(pods_n("", "Running"), 2);
}

static void test_member_that_succeeded_is_not_made_again(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
    pod("b", "2", "2", ",\"capstan.dev/run-seconds\":\"600\"");
    run(20000);
    const struct json *over = json_path(workload(), "status", "reclaimablePods", NULL);
    assert_int_equal(over ? over->n : 0, 1);
    assert_string_equal(json_get_text(json_item(over, 0), "name", ""), object_label(get_pod("a"), "kueue.x-k8s.io/podset"));
    assert_int_equal(json_get_int64(json_item(over, 0), "count", 0), 1);
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(4000);
    assert_null(get_pod("b"));
    pod("c", "2", "2", ",\"capstan.dev/run-seconds\":\"5\"");
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(20000);
    assert_true(object_condition_true(workload(), "Finished"));
}

/* One by one, until none is left of those for whom the Workload was made. */
static void test_workload_of_a_group_stays_with_its_replacements(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d"};
    QUOTA("8");
    for (int i = 0; i < 2; i++)
        pod(names[i], "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    const char *group = object_meta(workload(), "uid");
    for (int i = 0; i < 2; i++) {
        fail_pod(names[i]);
        pod(names[i + 2], "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
        run(4000);
        delete(arena_printf(w.a, POD "%s", names[i]));
        run(4000);
    }
    run(60000);
    assert_null(get_pod("a"));
    assert_int_equal(pods_n("", "Running"), 2);
    assert_non_null(workload());
    assert_string_equal(object_meta(workload(), "uid"), group);
    assert_true(object_condition_true(workload(), "Admitted"));
}

#define HOLD "{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/managed\"]}}"
#define WORKLOAD "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/"

/* As pods are that came through Kueue's webhook. */
static void test_stopped_member_stays_until_it_is_replaced(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "1", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    patch(POD "a", HOLD);
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(70000);
    assert_true(object_deleting(get_pod("a")));
    assert_string_equal(reason(get_pod("a"), "TerminationTarget"), "WorkloadEvictedDueToLocalQueueStopped");
    assert_string_equal(said(get_pod("a"), "TerminationTarget"), said(workload(), "Evicted"));
    assert_true(object_condition_true(workload(), "WaitingForReplacementPods"));
    assert_string_equal(reason(workload(), "WaitingForReplacementPods"), "LocalQueueStopped");
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    const char *group = object_meta(workload(), "uid");
    pod("b", "1", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    assert_null(get_pod("a"));
    assert_string_equal(reason(workload(), "WaitingForReplacementPods"), "PodsReady");
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(4000);
    assert_int_equal(pods_n("", "Running"), 1);
    assert_string_equal(object_meta(workload(), "uid"), group);
    delete(WORKLOAD "g");
    run(60000);
    assert_null(get_pod("b"));
    assert_null(workload());
}

/* Nobody is left with whom the group could go on. */
static void test_member_that_succeeded_goes_with_its_group(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    patch(POD "a", HOLD);
    patch(POD "b", HOLD);
    run(20000);
    assert_int_equal(pods_n("", "Succeeded"), 1);
    delete(POD "a");
    run(4000);
    assert_true(object_deleting(get_pod("a"))); /* it counts as long as the other runs */
    delete(POD "b");
    run(70000);
    assert_null(get_pod("b"));
    assert_null(get_pod("a"));
    assert_null(workload());
}

/* Whoever replaces a member may need a moment for it. */
static void test_member_that_succeeded_counts_until_the_last_other_is_gone(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    patch(POD "a", HOLD);
    patch(POD "b", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    run(20000);
    delete(POD "a");
    delete(POD "b");
    run(70000);
    assert_true(object_deleting(get_pod("a")));
    pod("c", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
    run(2000);
    patch(POD "b", "{\"metadata\":{\"finalizers\":null}}");
    run(20000);
    assert_null(get_pod("a"));
    assert_true(object_condition_true(workload(), "Finished"));
}

static void test_group_is_not_made_again_of_what_was_deleted(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    patch(POD "a", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    run(20000);
    assert_int_equal(pods_n("", "Succeeded"), 1);
    delete(POD "a");
    delete(POD "b");
    delete(WORKLOAD "g");
    run(70000);
    assert_null(workload());
    pod("c", "2", "1", "");
    run(2000);
    assert_true(object_deleting(get_pod("a")));
    assert_null(workload());
}

static void test_group_that_succeeded_unseen_is_over(void **state)
{
    (void)state;
    QUOTA("8");
    for (int i = 0; i < 2; i++) {
        pod(i ? "b" : "a", "2", "1", ",\"capstan.dev/run-seconds\":\"5\"");
        patch(i ? POD "b" : POD "a", HOLD);
    }
    run(4000);
    patch(WORKLOAD "g", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    jobs_free(w.jobs);
    run(20000);
    assert_int_equal(pods_n("", "Succeeded"), 2);
    delete(POD "a");
    delete(POD "b");
    w.jobs = jobs_new(w.client, &(struct jobs_config){.embedded = true});
    run(4000);
    assert_true(object_condition_true(workload(), "Finished"));
    assert_null(get_pod("a"));
    assert_null(get_pod("b"));
}

/* What it is told of its replacements stays as it was told first. */
static void test_cause_of_replacement_outlives_the_eviction(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    pod("b", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    patch(POD "a", HOLD);
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    run(70000);
    assert_string_equal(reason(workload(), "WaitingForReplacementPods"), "LocalQueueStopped");
    patch(LQ, "{\"spec\":{\"stopPolicy\":\"None\"}}");
    run(4000);
    assert_false(object_condition_true(workload(), "QuotaReserved")); /* SOURCE Kueue: not before it is whole again */
    assert_string_equal(said(workload(), "QuotaReserved"), "Waits for pods in the place of those that were stopped");
    assert_string_equal(reason(workload(), "WaitingForReplacementPods"), "LocalQueueStopped");
    pod("c", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    pod("d", "2", "1", ",\"capstan.dev/run-seconds\":\"600\"");
    run(4000);
    assert_false(object_condition_true(workload(), "Evicted"));
    assert_true(object_condition_true(workload(), "Admitted"));
    assert_false(object_condition_true(workload(), "WaitingForReplacementPods"));
}

static void managed_pod(const char *name, const char *more)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\",\"kueue.x-k8s.io/managed\":\"true\"%s},\"annotations\":{"
                        "\"capstan.dev/run-seconds\":\"600\"}},\"spec\":{\"restartPolicy\":\"Never\","
                        "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}],\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                        "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                        name, more));
}

static void test_pod_whose_quota_is_taken_stops(void **state)
{
    (void)state;
    QUOTA("8");
    managed_pod("one", "");
    run(4000);
    assert_int_equal(pods_n("", "Running"), 1);
    patch(POD "one", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    patch(arena_printf(w.a, WORKLOAD "%s/status", object_meta(workload(), "name")),
          "{\"status\":{\"admission\":null,\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"False\",\"reason\":\"ByHand\","
          "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Admitted\",\"status\":\"False\","
          "\"reason\":\"NoReservation\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(4000);
    assert_true(object_deleting(get_pod("one")));
    assert_string_equal(reason(get_pod("one"), "TerminationTarget"), "NotAdmitted");
}

/* Its node is lost: nobody says that it has ended. */
static void test_workload_of_a_stopped_pod_is_not_queued_again(void **state)
{
    (void)state;
    QUOTA("8");
    managed_pod("one", "");
    run(4000);
    patch(POD "one", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    stop_kubelets();
    patch(arena_printf(w.a, WORKLOAD "%s/status", object_meta(workload(), "name")),
          "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":\"QuotaReserved\",\"message\":\"\","
          "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\","
          "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Evicted\",\"status\":\"True\","
          "\"reason\":\"Preempted\",\"message\":\"by hand\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    run(70000);
    assert_true(object_deleting(get_pod("one")));
    assert_false(object_condition_true(workload(), "QuotaReserved"));
    assert_string_equal(reason(workload(), "Requeued"), "Preempted");
    assert_false(object_condition_true(workload(), "Requeued"));
}

static void test_pod_gives_way_to_a_higher_one(void **state)
{
    (void)state;
    QUOTA("1");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":5}");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}");
    managed_pod("low", "");
    run(4000);
    assert_int_equal(pods_n("", "Running"), 1);
    patch(POD "low", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
    managed_pod("high", ",\"kueue.x-k8s.io/priority-class\":\"high\"");
    run(70000);
    assert_true(object_deleting(get_pod("low")));
    assert_string_equal(reason(get_pod("low"), "TerminationTarget"), "WorkloadEvictedDueToPreempted");
    assert_string_equal(json_text(json_path(get_pod("low"), "status", "phase", NULL), ""), "Failed");
    assert_int_equal(pods_n("", "Running"), 1);
    JSON_EACH (one, json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items")) {
        bool is_low = strcmp(object_controller(one, "name"), "low") == 0;
        assert_true(object_condition_true(one, "Admitted"));
        assert_int_equal(object_condition_true(one, "Evicted"), is_low);
        assert_int_equal(object_condition_true(one, "Finished"), is_low); /* SOURCE Kueue: a lone pod is not made again */
        assert_int_equal(object_condition_true(one, "Requeued"), false);
    }
}

/* The controllers begin anew, and may read pods before classes. */
static void test_class_that_is_not_read_yet_counts(void **state)
{
    (void)state;
    static const struct http_faults slow = {.latency_ms_max = 100};
    jobs_free(w.jobs);
    w.jobs = NULL;
    QUOTA("0");
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"usual\"},\"value\":7,"
           "\"globalDefault\":true}");
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct kube_client *client = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, &slow, seed));
        managed_pod("one", "");
        struct jobs *jobs = jobs_new(client, &(struct jobs_config){.embedded = true});
        run(4000);
        assert_int_equal(json_get_int64(json_get(workload(), "spec"), "priority", 0), 7);
        delete(POD "one");
        run(4000);
        assert_null(workload());
        jobs_free(jobs);
        kube_client_free(client);
    }
}

static void made_workload(const char *name, const char *annotations, const char *set, int count)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\","
                        "\"annotations\":{%s}},\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"%s\",\"count\":%d,\"template\":{"
                        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
                        "\"nvidia.com/gpu\":\"1\"}}}]}}}]}}",
                        name, annotations, set, count));
}

static void test_pod_takes_the_workload_that_was_made_for_it(void **state)
{
    (void)state;
    QUOTA("8");
    managed_pod("one", ",\"kueue.x-k8s.io/prebuilt-workload-name\":\"made\"");
    run(2000);
    assert_null(workload());
    made_workload("made", "", "main", 1);
    run(4000);
    assert_int_equal(json_get(get("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"), "items")->n, 1);
    assert_string_equal(object_controller(workload(), "uid"), object_meta(get_pod("one"), "uid"));
    assert_int_equal(pods_n("", "Running"), 1);
}

/* It has no finalizer of its own: whoever deleted it would be rid of it at once, and nobody would stop the pod. chaos 51060 14 */
static void test_pod_is_stopped_whose_workload_is_deleted_that_was_made_for_it(void **state)
{
    (void)state;
    QUOTA("8");
    managed_pod("one", ",\"kueue.x-k8s.io/prebuilt-workload-name\":\"made\"");
    made_workload("made", "", "main", 1);
    run(4000);
    assert_int_equal(pods_n("", "Running"), 1);
    delete("/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/made");
    run(4000);
    assert_int_equal(pods_n("", "Running"), 0);
    assert_null(workload());
}

static void test_workload_made_for_other_pods_is_refused(void **state)
{
    (void)state;
    QUOTA("8");
    made_workload("made", "", "main", 2);
    managed_pod("one", ",\"kueue.x-k8s.io/prebuilt-workload-name\":\"made\"");
    run(4000);
    assert_string_equal(reason(workload(), "Finished"), "OutOfSync");
    assert_int_equal(pods_n("", "Running"), 0);
}

static void test_group_takes_the_workload_that_was_made_for_it(void **state)
{
    (void)state;
    static const char made[] = ",\"kueue.x-k8s.io/prebuilt-workload-name\":\"g\",\"kueue.x-k8s.io/role-hash\":\"worker\","
                               "\"capstan.dev/run-seconds\":\"600\"";
    QUOTA("8");
    pod("a", "2", "1", made);
    pod("b", "2", "1", made);
    run(2000);
    assert_null(workload()); /* not ours to make */
    made_workload("g", "\"kueue.x-k8s.io/is-group-workload\":\"true\"", "worker", 2);
    run(4000);
    assert_int_equal(json_path(workload(), "metadata", "ownerReferences", NULL)->n, 2);
    assert_int_equal(pods_n("", "Running"), 2);
}

static void test_group_that_serves_never_ends(void **state)
{
    (void)state;
    QUOTA("8");
    for (int i = 0; i < 2; i++)
        pod(i ? "b" : "a", "2", "1", ",\"kueue.x-k8s.io/pod-group-serving\":\"true\",\"capstan.dev/run-seconds\":\"5\"");
    run(20000);
    assert_int_equal(pods_n("", "Succeeded"), 2);
    assert_false(object_condition_true(workload(), "Finished"));
    assert_null(json_path(workload(), "status", "reclaimablePods", NULL));
    for (int i = 0; i < 2; i++) {
        patch(i ? POD "b" : POD "a", HOLD);
        delete(i ? POD "b" : POD "a");
    }
    run(4000);
    assert_int_equal(pods_n("", ""), 0);
    assert_null(workload());
}

static void test_group_that_does_not_want_a_replacement_is_over(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "1", "1", ",\"capstan.dev/run-seconds\":\"60\",\"kueue.x-k8s.io/retriable-in-group\":\"false\"");
    run(4000);
    fail_pod("a");
    run(1000);
    assert_true(object_condition_true(workload(), "Finished"));
}

static void test_workload_of_somebody_else_is_left_alone(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},"
           "\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":["
           "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}]}}");
    pod("a", "1", "1", "");
    run(3000);
    assert_int_equal(json_path(get_pod("a"), "spec", "schedulingGates", NULL)->n, 2);
    assert_null(json_path(workload(), "metadata", "ownerReferences", NULL));
    assert_true(event_seen("WorkloadNameConflict", "A Workload named \"g\" already exists but is not a pod group "
                                                   "workload; this pod group cannot be admitted"));
}

static void test_group_that_contradicts_itself_is_told(void **state)
{
    (void)state;
    QUOTA("8");
    pod("a", "2", "1", "");
    pod("b", "3", "1", "");
    run(2000);
    assert_null(workload());
    assert_true(event_seen("ErrWorkloadCompose",
                           "pods 'a' and 'b' of group g have different values of kueue.x-k8s.io/pod-group-total-count: "
                           "'2' and '3'; write the same in both"));
}

#define FLOW(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        FLOW(test_pod_group_is_named_by_role_and_loses_its_gates),
        FLOW(test_role_stays_when_the_flavor_changes_the_pod),
        FLOW(test_group_may_be_named_by_annotation),
        FLOW(test_fast_group_does_not_wait_for_its_pods),
        FLOW(test_finalizers_of_kueue_on_pods_are_taken_off),
        FLOW(test_failed_member_of_a_group_is_replaced),
        FLOW(test_group_of_one_has_one_workload),
        FLOW(test_each_replacement_lets_one_that_failed_go),
        FLOW(test_replacements_are_not_stopped_with_their_group),
        FLOW(test_member_that_succeeded_is_not_made_again),
        FLOW(test_workload_of_a_group_stays_with_its_replacements),
        FLOW(test_stopped_member_stays_until_it_is_replaced),
        FLOW(test_member_that_succeeded_goes_with_its_group),
        FLOW(test_member_that_succeeded_counts_until_the_last_other_is_gone),
        FLOW(test_group_is_not_made_again_of_what_was_deleted),
        FLOW(test_group_that_succeeded_unseen_is_over),
        FLOW(test_cause_of_replacement_outlives_the_eviction),
        FLOW(test_pod_whose_quota_is_taken_stops),
        FLOW(test_workload_of_a_stopped_pod_is_not_queued_again),
        FLOW(test_pod_gives_way_to_a_higher_one),
        FLOW(test_class_that_is_not_read_yet_counts),
        FLOW(test_pod_takes_the_workload_that_was_made_for_it),
        FLOW(test_pod_is_stopped_whose_workload_is_deleted_that_was_made_for_it),
        FLOW(test_workload_made_for_other_pods_is_refused),
        FLOW(test_group_takes_the_workload_that_was_made_for_it),
        FLOW(test_group_that_serves_never_ends),
        FLOW(test_group_that_does_not_want_a_replacement_is_over),
        FLOW(test_workload_of_somebody_else_is_left_alone),
        FLOW(test_group_that_contradicts_itself_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
