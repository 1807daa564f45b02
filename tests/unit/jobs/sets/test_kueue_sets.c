/* Sets that are queued by their pods, on a virtual clock: StatefulSets whole, their pods held, replaced, scaled and updated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "../world.h"

#define STS "/apis/apps/v1/namespaces/n/statefulsets/"
#define POD "/api/v1/namespaces/n/pods/"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"

static void stateful_set(const char *name, int replicas, const char *labels, const char *spec)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/queue-name\":\"lq\"%s}},\"spec\":{\"replicas\":%d,%s\"serviceName\":\"s\",\"selector\":{\"matchLabels\":{"
                        "\"app\":\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                        "\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}",
                        name, labels, replicas, spec, name, name));
}

static const struct json *workload_of(const char *owner)
{
    JSON_EACH (one, json_get(get(WORKLOADS), "items"))
        if (strcmp(object_annotation(one, "kueue.x-k8s.io/job-owner-name"), owner) == 0)
            return one;
    return NULL;
}

static int64_t count_of(const struct json *workload)
{
    return json_get_int64(json_item(json_path(workload, "spec", "podSets", NULL), 0), "count", 0);
}

static int64_t ready_n(const char *name)
{
    return json_int64(json_path(get(arena_printf(w.a, STS "%s", name)), "status", "readyReplicas", NULL), 0);
}

static bool admitted(const char *owner)
{
    return object_condition_true(workload_of(owner), "Admitted");
}

/* What the API server answers to a merge patch: its code and message. */
struct told {
    int code;
    char text[600];
    bool done;
};

static void on_told(void *arg, const struct kube_answer *answer)
{
    struct told *t = arg;
    const struct json *status = json_parse(w.a, answer->body, NULL, NULL);
    t->code = answer->code;
    (void)snprintf(t->text, sizeof t->text, "%s", json_get_text(status, "message", ""));
    t->done = true;
}

static const char *refusal(const char *path, const char *text)
{
    struct told t = {0};
    kube_patch(w.client, KUBE_PATCH_MERGE, path, bytes_of(text), on_told, &t);
    for (int i = 0; i < 200 && !t.done; i++)
        run(1);
    return t.code ? arena_text(w.a, t.text) : "";
}

static void test_stateful_set_starts_whole(void **state)
{
    (void)state;
    QUOTA("8");
    stateful_set("s", 3, "", "");
    run(20000);
    const struct json *workload = workload_of("s"), *pod = get(POD "s-0");
    assert_non_null(workload);
    assert_memory_equal(object_meta(workload, "name"), "statefulset-s-", 14);
    assert_int_equal(count_of(workload), 3);
    assert_string_equal(json_get_text(json_item(json_path(workload, "spec", "podSets", NULL), 0), "name", ""), "main");
    assert_string_equal(object_annotation(workload, "kueue.x-k8s.io/is-group-workload"), "true");
    const struct json *owner = json_item(json_path(workload, "metadata", "ownerReferences", NULL), 0);
    assert_string_equal(json_get_text(owner, "kind", ""), "StatefulSet");
    assert_null(json_get(owner, "controller"));
    assert_true(admitted("s"));
    assert_int_equal(ready_n("s"), 3);
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-name"), object_meta(workload, "name"));
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-total-count"), "3");
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-serving"), "true");
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-fast-admission"), "true");
    assert_string_equal(object_label(pod, "kueue.x-k8s.io/podset"), "main");
    assert_string_equal(object_label(pod, "kueue.x-k8s.io/queue-name"), "lq");
    assert_string_equal(json_text(json_path(pod, "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    assert_true(object_condition_true(workload, "PodsReady"));
}

/* Three of eight are free: nobody of four runs. */
static void test_stateful_set_waits_whole(void **state)
{
    (void)state;
    QUOTA("8");
    stateful_set("first", 5, "", "\"podManagementPolicy\":\"Parallel\",");
    run(10000);
    assert_int_equal(ready_n("first"), 5);
    stateful_set("second", 4, "", "\"podManagementPolicy\":\"Parallel\",");
    run(20000);
    assert_int_equal(pods_n("app%3Dsecond", ""), 0);
    assert_false(admitted("second"));
    assert_non_null(get(POD "second-3"));
    assert_non_null(json_path(get(POD "second-3"), "spec", "schedulingGates", NULL));
    delete(STS "first");
    run(60000);
    assert_null(workload_of("first"));
    assert_int_equal(ready_n("second"), 4);
}

static void test_scaled_to_zero_is_on_hold(void **state)
{
    (void)state;
    QUOTA("4");
    stateful_set("s", 2, "", "");
    run(10000);
    patch(STS "s", "{\"spec\":{\"replicas\":0}}");
    run(60000);
    const struct json *workload = workload_of("s");
    assert_string_equal(reason(workload, "QuotaReserved"), "OnHold");
    assert_null(json_path(workload, "status", "admission", NULL));
    stateful_set("other", 4, "", "");
    run(20000);
    assert_int_equal(ready_n("other"), 4); /* its quota is free */
    patch(STS "s", "{\"spec\":{\"replicas\":3}}");
    run(20000);
    assert_int_equal(count_of(workload_of("s")), 3);
    assert_false(admitted("s"));
    assert_int_equal(pods_n("app%3Ds", ""), 0);
    patch(STS "other", "{\"spec\":{\"replicas\":0}}");
    run(60000);
    assert_true(admitted("s"));
    assert_int_equal(ready_n("s"), 3);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    QUOTA("8");
    stateful_set("s", 2, "", "");
    run(10000);
    assert_non_null(strstr(refusal(STS "s", "{\"spec\":{\"replicas\":3}}"), "Scale to 0, then to 3"));
    assert_non_null(strstr(refusal(STS "s", "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"other\"}}}"), "scale to 0"));
    assert_non_null(strstr(refusal(STS "s", "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":null}}}"), "queue-name"));
    assert_non_null(strstr(refusal(STS "s", "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"x\"}}}"), "cannot be added"));
    assert_non_null(strstr(refusal(STS "s", "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}}}"),
                           "spec.template.spec.nodeSelector"));
    assert_non_null(strstr(refusal(STS "s",
                                   "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                                   "\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}}}"),
                           "spec.template.spec.containers[0].resources"));
    assert_string_equal(refusal(STS "s", "{\"spec\":{\"replicas\":2}}"), "");
    assert_string_equal(refusal(STS "s", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), "");
}

static void test_rolling_update_stays_in_its_group(void **state)
{
    (void)state;
    QUOTA("2");
    stateful_set("s", 2, "", "");
    run(10000);
    const char *uid = object_meta(workload_of("s"), "uid"), *old = object_meta(get(POD "s-1"), "uid");
    patch(STS "s",
          "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"new\",\"resources\":{\"limits\":{"
          "\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(120000);
    assert_string_not_equal(object_meta(get(POD "s-1"), "uid"), old);
    const struct json *set = get(STS "s");
    assert_int_equal(json_int64(json_path(set, "status", "updatedReplicas", NULL), 0), 2);
    assert_int_equal(ready_n("s"), 2);
    assert_string_equal(object_meta(workload_of("s"), "uid"), uid);
    assert_true(admitted("s"));
}

static void test_pods_of_a_lost_node_are_replaced(void **state)
{
    (void)state;
    QUOTA("8");
    stateful_set("s", 2, "", "");
    run(10000);
    const char *uid = object_meta(workload_of("s"), "uid");
    delete(POD "s-0");
    run(40000);
    assert_int_equal(ready_n("s"), 2);
    assert_string_equal(object_meta(workload_of("s"), "uid"), uid);
    assert_true(admitted("s"));
    assert_false(object_condition_true(workload_of("s"), "WaitingForReplacementPods"));
}

static void test_priority_evicts_and_brings_back(void **state)
{
    (void)state;
    QUOTA("4");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":100}");
    stateful_set("low", 4, "", "\"podManagementPolicy\":\"Parallel\",");
    run(10000);
    assert_int_equal(ready_n("low"), 4);
    stateful_set("high", 2, ",\"kueue.x-k8s.io/priority-class\":\"high\"", "");
    run(90000);
    assert_int_equal(json_get_int64(json_get(workload_of("high"), "spec"), "priority", 0), 100);
    assert_int_equal(ready_n("high"), 2);
    assert_int_equal(pods_n("app%3Dlow", ""), 0);
    assert_false(admitted("low"));
    delete(STS "high");
    run(90000);
    assert_int_equal(ready_n("low"), 4);
}

/* Where no rule keeps them as they are. */
static void test_changed_number_is_queued_again_as_a_whole(void **state)
{
    (void)state;
    QUOTA("4");
    stateful_set("s", 2, "", "");
    run(10000);
    const char *uid = object_meta(workload_of("s"), "uid"), *name = object_meta(workload_of("s"), "name");
    delete(arena_printf(w.a, WORKLOADS "/%s", name));
    run(60000); /* its pods stop with it, and it is made again */
    assert_string_not_equal(object_meta(workload_of("s"), "uid"), uid);
    assert_string_equal(object_meta(workload_of("s"), "name"), name);
    assert_int_equal(ready_n("s"), 2);
}

static void test_deleted_while_it_waits(void **state)
{
    (void)state;
    QUOTA("1");
    stateful_set("s", 2, "", "");
    run(5000);
    assert_false(admitted("s"));
    assert_non_null(get(POD "s-0"));
    delete(STS "s");
    run(60000);
    assert_null(get(STS "s"));
    assert_null(get(POD "s-0"));
    assert_null(workload_of("s"));
    stateful_set("zero", 0, "", "");
    run(5000);
    assert_null(workload_of("zero"));
}

/* As on an API server without a webhook: a pod that no gate holds is held all the same, and not taken for one that has lost its quota. */
static void test_pods_without_a_gate_wait(void **state)
{
    (void)state;
    QUOTA("1");
    create("{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"replicas\":2,\"serviceName\":\"s\",\"selector\":{\"matchLabels\":{\"app\":\"s\"}},"
           "\"template\":{\"metadata\":{\"labels\":{\"app\":\"s\",\"kueue.x-k8s.io/queue-name\":\"lq\"},\"annotations\":{"
           "\"kueue.x-k8s.io/workload\":\"not-yet\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
           "\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(3000);
    const char *uid = object_meta(get(POD "s-0"), "uid");
    assert_null(json_path(get(POD "s-0"), "spec", "schedulingGates", NULL));
    run(20000);
    assert_string_equal(object_meta(get(POD "s-0"), "uid"), uid);
    assert_int_equal(pods_n("app%3Ds", ""), 0);
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
          "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"a100\",\"resources\":[{"
          "\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    run(20000);
    assert_int_equal(ready_n("s"), 2);
}

/* A LeaderWorkerSet writes its labels onto the StatefulSets that it makes; that of workers is its leader's. */
static void test_sets_that_others_made_have_no_workload(void **state)
{
    (void)state;
    QUOTA("8");
    create("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"leader\",\"namespace\":\"n\"},\"spec\":{\"containers\":[{"
           "\"name\":\"c\",\"image\":\"i\"}]}}");
    stateful_set("s", 2, arena_printf(w.a, "},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"leader\",\"uid\":\"%s\","
                                           "\"controller\":true}],\"annotations\":{", object_meta(get(POD "leader"), "uid")), "");
    run(20000);
    assert_null(workload_of("s"));
}

static void test_longest_names(void **state)
{
    char name[53] = {0};
    (void)state;
    QUOTA("4");
    memset(name, 'a', 52); /* with an ordinal and a hash for its revision */
    stateful_set(name, 1, "", "");
    run(10000);
    assert_int_equal(ready_n(name), 1);
}

/* One of the same name, made after it was deleted with its pods left: it has a Workload of its own. */
static void test_next_of_the_same_name(void **state)
{
    (void)state;
    QUOTA("4");
    stateful_set("s", 2, "", "");
    run(10000);
    const char *was = object_meta(workload_of("s"), "name");
    delete(STS "s");
    run(60000);
    stateful_set("s", 2, "", "");
    run(10000);
    assert_string_not_equal(object_meta(workload_of("s"), "name"), was);
    assert_int_equal(ready_n("s"), 2);
}

static void test_deployments_pods_are_gated(void **state)
{
    (void)state;
    QUOTA("4");
    create("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\",\"namespace\":\"n\",\"labels\":{"
           "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"replicas\":5,\"selector\":{\"matchLabels\":{\"app\":\"d\"}},\"template\":{"
           "\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
           "\"nvidia.com/gpu\":\"1\"}}}]}}}}");
    run(20000);
    assert_int_equal(pods_n("app%3Dd", "Running"), 4);
    assert_int_equal(json_get(get(WORKLOADS), "items")->n, 5);
    JSON_EACH (pod, json_get(get("/api/v1/namespaces/n/pods?labelSelector=app%3Dd"), "items"))
        if (json_path(pod, "spec", "nodeName", NULL))
            assert_string_equal(json_text(json_path(pod, "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    assert_non_null(strstr(refusal("/apis/apps/v1/namespaces/n/deployments/d",
                                   "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/queue-name\":\"other\"}}}"),
                           "field is immutable"));
}

static int events_n(const char *reason_)
{
    int n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        n += strcmp(json_get_text(event, "reason", ""), reason_) == 0 ? (int)json_get_int64(event, "count", 1) : 0;
    return n;
}

/* Nobody writes its label into the template of a ReplicaSet: told once for all of its changes, and again for another one of its name. */
static void test_who_names_a_queue_in_vain_is_told(void **state)
{
    (void)state;
    static const char text[] = "its pods do not wait for quota, and its label kueue.x-k8s.io/queue-name does nothing: write it into "
                               "spec.template.metadata.labels, too, as kueue.x-k8s.io/queue-name: lq";
    static const char set[] = "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"r\",\"namespace\":\"n\",\"labels\":{"
                              "\"kueue.x-k8s.io/queue-name\":\"lq\"}},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"r\"}},"
                              "\"template\":{\"metadata\":{\"labels\":{\"app\":\"r\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}";
    create(set);
    run(10000);
    assert_int_equal(pods_n("app%3Dr", ""), 2);
    assert_int_equal(events_n("PodsNotHeld"), 1);
    assert_true(event_seen("PodsNotHeld", text));
    assert_string_equal(refusal("/apis/apps/v1/namespaces/n/replicasets/r", "{\"spec\":{\"replicas\":3}}"), "");
    run(10000);
    assert_int_equal(events_n("PodsNotHeld"), 1);
    delete("/apis/apps/v1/namespaces/n/replicasets/r");
    run(5000);
    create(set);
    run(10000);
    assert_int_equal(events_n("PodsNotHeld"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(test_stateful_set_starts_whole),
        T(test_stateful_set_waits_whole),
        T(test_scaled_to_zero_is_on_hold),
        T(test_what_is_refused),
        T(test_rolling_update_stays_in_its_group),
        T(test_pods_of_a_lost_node_are_replaced),
        T(test_priority_evicts_and_brings_back),
        T(test_changed_number_is_queued_again_as_a_whole),
        T(test_deleted_while_it_waits),
        T(test_pods_without_a_gate_wait),
        T(test_sets_that_others_made_have_no_workload),
        T(test_longest_names),
        T(test_next_of_the_same_name),
        T(test_deployments_pods_are_gated),
        T(test_who_names_a_queue_in_vain_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
