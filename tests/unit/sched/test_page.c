/* The page of a scheduler that serves an API server: which series there are, and what they say. */
#include "stage.h"
#include "kube/object.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 16);
    queue();
    scheduler_start();
    return 0;
}

static void workload(const char *name, const char *queue, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"%s\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
                        "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}}]}}",
                        name, queue, gpus));
    run(2000);
}

static const char *page(void)
{
    struct buf text;
    buf_init(&text);
    scheduler_page(w.scheduler, false, &text);
    const char *copy = arena_text_n(w.a, text.data, text.n);
    buf_free(&text);
    return copy;
}

static bool has(const char *part)
{
    return strstr(page(), part) != NULL;
}

static void change(const char *path, const char *text)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(text), NULL, NULL);
    run(1000);
}

static void delete(const char *path)
{
    change(path, "{\"metadata\":{\"finalizers\":null}}"); /* by hand, whatever still is in it */
    kube_delete(w.user, path, (struct bytes){0}, NULL, NULL);
    run(1000);
}

static void finish(const char *name)
{
    change(arena_printf(w.a, WORKLOADS "/%s/status", name),
           "{\"status\":{\"conditions\":[{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\","
           "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Finished\",\"status\":\"True\",\"reason\":\"Succeeded\","
           "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:01:00Z\"}]}}");
}

/* What ends in a queue that is gone would be a series that nothing takes away again. */
static void queues_that_are_gone_stay_gone(void **state)
{
    (void)state;
    workload("a", "lq", 1);
    workload("b", "lq", 1);
    workload("c", "lq", 1);
    finish("a");
    assert_true(has("kueue_finished_workloads_total{cluster_queue=\"cq\""));
    assert_true(has("kueue_local_queue_finished_workloads_total{name=\"lq\""));
    delete(KUEUE "/namespaces/n/localqueues/lq");
    assert_false(has("name=\"lq\""));
    finish("b");
    assert_false(has("name=\"lq\""));
    assert_true(has("kueue_finished_workloads_total{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 2"));
    delete(KUEUE "/clusterqueues/cq");
    finish("c");
    assert_false(has("cluster_queue=\"cq\""));
}

static bool says(const char *series, const char *local, int gpus)
{
    return has(arena_printf(w.a, "\n%s{name=\"%s\",namespace=\"n\",flavor=\"f\",resource=\"nvidia.com/gpu\",replica_role=\"standalone\"} %d\n",
                            series, local, gpus));
}

/* Each LocalQueue has what its own Workloads hold, also where it leads elsewhere by now, or nowhere. */
static void local_queues_have_what_is_their_own(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"other\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"astray\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"missing\"}}");
    workload("a", "lq", 1);
    workload("b", "other", 2);
    workload("c", "lq", 3); /* waits */
    workload("d", "astray", 1);
    run(3000);
    assert_true(says("kueue_local_queue_resource_reservation", "lq", 1));
    assert_true(says("kueue_local_queue_resource_usage", "lq", 1));
    assert_true(says("kueue_local_queue_resource_reservation", "other", 2));
    assert_false(has("kueue_local_queue_resource_usage{name=\"astray\""));
    assert_true(has("kueue_cluster_queue_resource_pending{cluster_queue=\"cq\",resource=\"nvidia.com/gpu\",replica_role=\"standalone\"} 3\n"));
    assert_true(has("kueue_local_queue_status{name=\"other\",namespace=\"n\",active=\"True\",replica_role=\"standalone\"} 1\n"));
    /* what b holds is still cq's */
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq2\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"nvidia.com/gpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    delete(KUEUE "/namespaces/n/localqueues/other");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"other\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq2\"}}");
    run(1000);
    assert_true(says("kueue_local_queue_resource_reservation", "other", 0));
}

/* As in Kueue: a dashboard that shows what waits for room is not to show it. */
static void who_is_held_back_by_a_local_queue_does_not_wait_in_its_queue(void **state)
{
    (void)state;
    workload("large", "lq", 9);
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\",replica_role=\"standalone\"} 1\n"));
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\",replica_role=\"standalone\"} 0\n"));
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"active\",replica_role=\"standalone\"} 0\n"));
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\",replica_role=\"standalone\"} 1\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queues_that_are_gone_stay_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(local_queues_have_what_is_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_held_back_by_a_local_queue_does_not_wait_in_its_queue, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
