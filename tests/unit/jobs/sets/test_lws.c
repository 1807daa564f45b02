/* LeaderWorkerSets on the embedded cluster, on a virtual clock: their groups, made, restarted, updated; and queued, each by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "../world.h"

#define LWS "/apis/leaderworkerset.x-k8s.io/v1/namespaces/n/leaderworkersets/"
#define POD "/api/v1/namespaces/n/pods/"
#define WORKLOADS "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads"
#define QUEUED "\"kueue.x-k8s.io/queue-name\":\"lq\""
#define TEMPLATE(gpus) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"" gpus "\"}}}]}}"

static void lws(const char *name, const char *labels, int replicas, int size, const char *spec, const char *leader)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"n\",\"labels\":{%s}},\"spec\":{%s\"replicas\":%d,\"leaderWorkerTemplate\":{\"size\":%d,%s"
                        "\"workerTemplate\":" TEMPLATE("1") "}}}",
                        name, labels, spec, replicas, size, leader));
}

static int64_t ready_n(const char *name)
{
    return json_int64(json_path(get(arena_printf(w.a, LWS "%s", name)), "status", "readyReplicas", NULL), 0);
}

static const char *uid_of(const char *pod)
{
    return object_meta(get(arena_printf(w.a, POD "%s", pod)), "uid");
}

static const struct json *workload_of_group(const char *group)
{
    JSON_EACH (one, json_get(get(WORKLOADS), "items"))
        if (strcmp(object_annotation(one, "kueue.x-k8s.io/component-workload-index"), group) == 0)
            return one;
    return NULL;
}

static const char *env_of(const char *pod, const char *name)
{
    const struct json *containers = json_path(get(arena_printf(w.a, POD "%s", pod)), "spec", "containers", NULL);
    JSON_EACH (env, json_get(json_first(containers), "env"))
        if (strcmp(json_get_text(env, "name", ""), name) == 0)
            return json_get_text(env, "value", "");
    return "";
}

static void test_groups_are_made(void **state)
{
    (void)state;
    lws("m", "", 2, 3, "", "");
    run(20000);
    assert_int_equal(ready_n("m"), 2);
    const struct json *worker = get(POD "m-1-2"), *leader = get(POD "m-1");
    assert_string_equal(object_label(leader, "leaderworkerset.sigs.k8s.io/group-index"), "1");
    assert_string_equal(object_label(leader, "leaderworkerset.sigs.k8s.io/worker-index"), "0");
    assert_string_equal(object_label(worker, "leaderworkerset.sigs.k8s.io/group-index"), "1");
    assert_string_equal(object_label(worker, "leaderworkerset.sigs.k8s.io/worker-index"), "2");
    assert_string_equal(object_annotation(worker, "leaderworkerset.sigs.k8s.io/leader-name"), "m-1");
    assert_string_equal(env_of("m-1-2", "LWS_LEADER_ADDRESS"), "m-1.m.n");
    assert_string_equal(env_of("m-1-2", "LWS_GROUP_SIZE"), "3");
    assert_string_equal(env_of("m-1-2", "LWS_WORKER_INDEX"), "2");
    assert_string_equal(env_of("m-1", "LWS_WORKER_INDEX"), "0");
    assert_non_null(get("/api/v1/namespaces/n/services/m"));
    assert_null(get(POD "m-1-3"));
    assert_true(object_condition_true(get(LWS "m"), "Available"));
}

static void test_workers_wait_for_their_leader(void **state)
{
    (void)state;
    kubelets_free(w.kubelets); /* nobody gets ready */
    w.kubelets = NULL;
    lws("m", "", 1, 2, "\"startupPolicy\":\"LeaderReady\",", "");
    run(5000);
    assert_non_null(get(POD "m-0"));
    assert_null(get(POD "m-0-1"));
    w.kubelets = kubelets_new(w.client, &(struct kubelets_config){.speed = 1});
    run(20000);
    assert_int_equal(ready_n("m"), 1);
}

static void test_a_group_is_made_again_with_one_of_its_pods(void **state)
{
    (void)state;
    lws("m", "", 2, 2, "", "");
    run(20000);
    const char *leader = uid_of("m-0"), *other = uid_of("m-1");
    delete(POD "m-0-1");
    run(90000);
    assert_string_not_equal(uid_of("m-0"), leader);
    assert_string_equal(uid_of("m-1"), other);
    assert_int_equal(ready_n("m"), 2);
}

/* Eight GPUs, nine pods: one waits. */
static void test_a_group_that_has_not_started_is_left_alone_where_that_is_asked_for(void **state)
{
    (void)state;
    lws("m", "", 1, 9, "", "");
    patch(LWS "m", "{\"metadata\":{\"annotations\":{\"leaderworkerset.sigs.k8s.io/experimental-recreate-group-after-start\":\"true\"}}}");
    run(20000);
    const char *leader = uid_of("m-0"), *worker = uid_of("m-0-1");
    delete(POD "m-0-1");
    run(90000);
    assert_string_not_equal(uid_of("m-0-1"), worker);
    assert_string_equal(uid_of("m-0"), leader);
    patch(LWS "m", "{\"metadata\":{\"annotations\":null}}");
    delete(POD "m-0-2"); /* which runs: the other waits now */
    run(90000);
    assert_string_not_equal(uid_of("m-0"), leader);
}

static void test_groups_are_updated_from_the_last(void **state)
{
    (void)state;
    lws("m", "", 2, 2, "", "");
    run(20000);
    const char *first = uid_of("m-0"), *last = uid_of("m-1");
    patch(LWS "m", "{\"spec\":{\"leaderWorkerTemplate\":{\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"new\","
                   "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}}}}");
    run(2000);
    assert_string_equal(uid_of("m-0"), first);
    run(200000);
    assert_string_not_equal(uid_of("m-1"), last);
    assert_string_not_equal(uid_of("m-0"), first);
    assert_int_equal(ready_n("m"), 2);
    assert_int_equal(json_int64(json_path(get(LWS "m"), "status", "updatedReplicas", NULL), 0), 2);
    assert_true(object_condition_true(get(LWS "m"), "Available"));
}

static const char *image_of(const char *pod)
{
    return json_get_text(json_first(json_path(get(arena_printf(w.a, POD "%s", pod)), "spec", "containers", NULL)), "image", "");
}

static int revisions_n(void)
{
    int n = 0;
    JSON_EACH (one, json_get(get("/apis/apps/v1/namespaces/n/controllerrevisions"), "items"))
        n += strcmp(object_controller(one, "kind"), "LeaderWorkerSet") == 0;
    return n;
}

#define PARTITION(n) "\"rolloutStrategy\":{\"type\":\"RollingUpdate\",\"rollingUpdateConfiguration\":{\"partition\":" n "}}"

/* Made again before its turn it is as it was: its workers are of the same template as its leader. */
static void test_a_group_that_waits_for_its_update_is_made_again_as_it_was(void **state)
{
    (void)state;
    lws("m", "", 2, 2, PARTITION("1") ",", "");
    run(20000);
    patch(LWS "m", "{\"spec\":{\"leaderWorkerTemplate\":{\"size\":3,\"workerTemplate\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"new\"}]}}}}}");
    run(60000);
    assert_string_equal(image_of("m-1-2"), "new");
    assert_string_equal(image_of("m-0-1"), "i");
    const char *was = uid_of("m-0-1");
    delete(POD "m-0-1");
    run(90000);
    assert_string_not_equal(uid_of("m-0-1"), was);
    assert_string_equal(image_of("m-0"), "i");
    assert_string_equal(image_of("m-0-1"), "i");
    assert_string_equal(env_of("m-0-1", "LWS_GROUP_SIZE"), "2");
    assert_null(get(POD "m-0-2"));
    assert_int_equal(revisions_n(), 2);
    assert_int_equal(ready_n("m"), 2);
    patch(LWS "m", "{\"spec\":{" PARTITION("0") "}}");
    run(90000);
    assert_string_equal(image_of("m-0-2"), "new");
    assert_int_equal(ready_n("m"), 2);
    assert_int_equal(revisions_n(), 1);
}

/* Five of eight: two groups of two, and not half of the third. */
static void test_each_group_is_queued_by_itself(void **state)
{
    (void)state;
    QUOTA("5");
    lws("m", QUEUED, 3, 2, "", "");
    run(30000);
    assert_int_equal(json_get(get(WORKLOADS), "items")->n, 3);
    assert_int_equal(ready_n("m"), 2);
    assert_int_equal(pods_n("leaderworkerset.sigs.k8s.io/name%3Dm", ""), 4);
    const struct json *workload = workload_of_group("0"), *set = json_item(json_path(workload, "spec", "podSets", NULL), 0);
    assert_memory_equal(object_meta(workload, "name"), "leaderworkerset-m-0-", 20);
    assert_string_equal(json_get_text(set, "name", ""), "main");
    assert_int_equal(json_get_int64(set, "count", 0), 2);
    const struct json *pod = get(POD "m-0-1");
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-name"), object_meta(workload, "name"));
    assert_string_equal(object_annotation(pod, "kueue.x-k8s.io/pod-group-total-count"), "2");
    assert_string_equal(json_text(json_path(pod, "spec", "nodeSelector", "gpu", NULL), ""), "a100");
    int waiting = 0;
    JSON_EACH (one, json_get(get(WORKLOADS), "items"))
        waiting += !object_condition_true(one, "Admitted");
    assert_int_equal(waiting, 1);
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
          "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"a100\",\"resources\":[{"
          "\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"8\"}]}]}]}}");
    run(60000);
    assert_int_equal(ready_n("m"), 3);
}

static void test_leaders_of_another_kind(void **state)
{
    (void)state;
    QUOTA("8");
    lws("m", QUEUED, 1, 3, "\"startupPolicy\":\"LeaderReady\",", "\"leaderTemplate\":" TEMPLATE("2") ",");
    run(30000);
    const struct json *sets = json_path(workload_of_group("0"), "spec", "podSets", NULL);
    assert_int_equal(sets->n, 2);
    assert_string_equal(json_get_text(json_item(sets, 0), "name", ""), "leader");
    assert_int_equal(json_get_int64(json_item(sets, 0), "count", 0), 1);
    assert_string_equal(json_get_text(json_item(sets, 1), "name", ""), "worker");
    assert_int_equal(json_get_int64(json_item(sets, 1), "count", 0), 2);
    assert_string_equal(object_annotation(workload_of_group("0"), "capstan.dev/later-pod-sets"), "worker");
    assert_string_equal(object_label(get(POD "m-0"), "kueue.x-k8s.io/podset"), "leader");
    assert_string_equal(object_label(get(POD "m-0-1"), "kueue.x-k8s.io/podset"), "worker");
    assert_int_equal(ready_n("m"), 1);
}

static void test_scaled_and_restarted_with_its_quota(void **state)
{
    (void)state;
    QUOTA("4");
    lws("m", QUEUED, 2, 2, "", "");
    run(30000);
    assert_int_equal(ready_n("m"), 2);
    const char *workload = object_meta(workload_of_group("0"), "uid"), *leader = uid_of("m-0");
    delete(POD "m-0-1");
    run(90000);
    assert_string_not_equal(uid_of("m-0"), leader);
    assert_int_equal(ready_n("m"), 2);
    assert_string_equal(object_meta(workload_of_group("0"), "uid"), workload);
    patch(LWS "m", "{\"spec\":{\"replicas\":1}}");
    run(60000);
    assert_int_equal(json_get(get(WORKLOADS), "items")->n, 1);
    assert_int_equal(ready_n("m"), 1);
    patch(LWS "m", "{\"spec\":{\"replicas\":2}}");
    run(30000);
    assert_int_equal(ready_n("m"), 2);
    patch(LWS "m", "{\"spec\":{\"replicas\":0}}");
    run(60000);
    assert_int_equal(json_get(get(WORKLOADS), "items")->n, 0);
    delete(LWS "m");
    run(60000);
    assert_int_equal(json_get(get("/apis/apps/v1/namespaces/n/statefulsets"), "items")->n, 0);
}

static void test_preempted_whole(void **state)
{
    (void)state;
    QUOTA("4");
    patch("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq", "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":100}");
    lws("low", QUEUED, 2, 2, "", "");
    run(30000);
    lws("high", QUEUED ",\"kueue.x-k8s.io/priority-class\":\"high\"", 1, 2, "", "");
    run(90000);
    assert_int_equal(ready_n("high"), 1);
    assert_int_equal(ready_n("low"), 1);
    assert_int_equal(pods_n("leaderworkerset.sigs.k8s.io/name%3Dlow", ""), 2);
    delete(LWS "high");
    run(90000);
    assert_int_equal(ready_n("low"), 2);
}

static const char *refused(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    return apiserver_create(w.server, w.a, object, &e) < 0 ? arena_text(w.a, e.text) : "";
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const char form[] = "{\"apiVersion\":\"leaderworkerset.x-k8s.io/v1\",\"kind\":\"LeaderWorkerSet\",\"metadata\":{\"name\":\"%s\","
                               "\"namespace\":\"n\"},\"spec\":{\"replicas\":%s,\"leaderWorkerTemplate\":{\"size\":%s,"
                               "\"workerTemplate\":" TEMPLATE("1") "}}}";
    char longest[70] = {0};
    memset(longest, 'a', 61);
    assert_non_null(strstr(refused(arena_printf(w.a, form, "m", "1", "0")), "spec.leaderWorkerTemplate.size"));
    assert_non_null(strstr(refused(arena_printf(w.a, form, "m", "-1", "1")), "spec.replicas"));
    assert_non_null(strstr(refused(arena_printf(w.a, form, "m", "1", "1000000000")), "smaller groups"));
    assert_non_null(strstr(refused(arena_printf(w.a, form, longest, "1", "1")), "shorten it"));
    assert_non_null(strstr(refused(arena_printf(w.a, form, "0m", "1", "1")), "metadata.name"));
    assert_string_equal(refused(arena_printf(w.a, form, "zero", "0", "1")), "");
    assert_string_equal(refused(arena_printf(w.a, form, "alone", "1", "1")), "");
    run(20000);
    assert_int_equal(ready_n("alone"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(test_groups_are_made),
        T(test_workers_wait_for_their_leader),
        T(test_a_group_is_made_again_with_one_of_its_pods),
        T(test_a_group_that_has_not_started_is_left_alone_where_that_is_asked_for),
        T(test_groups_are_updated_from_the_last),
        T(test_a_group_that_waits_for_its_update_is_made_again_as_it_was),
        T(test_each_group_is_queued_by_itself),
        T(test_leaders_of_another_kind),
        T(test_scaled_and_restarted_with_its_quota),
        T(test_preempted_whole),
        T(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
