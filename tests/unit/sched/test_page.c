/* The page of a scheduler that serves an API server: which series there are, and what they say. */
#include "stage.h"
#include "codec/configuration/metrics_policy.h"
#include "kube/object.h"

#define KUEUE "/apis/kueue.x-k8s.io/v1beta2"

static int setup_with(struct scheduler_config config)
{
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", 16);
    queue();
    scheduler_start_with(config);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_with((struct scheduler_config){0});
}

static struct metrics_policy chosen = {.chosen = true};

static int setup_chosen(void **state)
{
    (void)state;
    return setup_with((struct scheduler_config){.metrics = &chosen});
}

static int setup_hasty(void **state)
{
    (void)state;
    return setup_with((struct scheduler_config){.policy.ready = {.timeout_ms = 10, .retries_most = -1, .backoff_ms = 60000,
                                                                 .backoff_most_ms = 60000}});
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

/* Of many that ask for the same one is looked at. */
static void what_asks_for_the_same_counts_once(void **state)
{
    (void)state;
#define HASHES(status, n) \
    "kueue_pending_scheduling_hashes{cluster_queue=\"cq\",status=\"" status "\",replica_role=\"standalone\"} " n "\n"
    assert_true(has(HASHES("inadmissible", "0")));
    workload("a", "lq", 9);
    workload("b", "lq", 9);
    workload("c", "lq", 10);
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\",replica_role=\"standalone\"} 3\n"));
    assert_true(has(HASHES("inadmissible", "2")));
    assert_true(has(HASHES("active", "0")));
    /* nobody stands in line any more */
    change(KUEUE "/clusterqueues/cq", "{\"spec\":{\"namespaceSelector\":{\"matchLabels\":{\"gone\":\"yes\"}}}}");
    assert_true(has("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\",replica_role=\"standalone\"} 3\n"));
    assert_true(has(HASHES("inadmissible", "2")));
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    assert_true(has(HASHES("inadmissible", "0")));
}

/* A LocalQueue has series as long as it has the label. */
static void only_those_that_were_chosen_have_series(void **state)
{
    (void)state;
    chosen.local_queues = json_parse(w.a, BYTES("{\"matchLabels\":{\"series\":\"yes\"}}"), NULL, NULL);
    workload("a", "lq", 1);
    assert_false(has("name=\"lq\""));
    assert_true(has("kueue_admitted_workloads_total{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 1\n"));
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"metadata\":{\"labels\":{\"series\":\"yes\"}}}");
    workload("b", "lq", 2);
    workload("c", "lq", 99);
    assert_true(has("kueue_local_queue_admitted_workloads_total{name=\"lq\",namespace=\"n\",priority_class=\"\",replica_role=\"standalone\"} 1\n"));
    assert_true(has("kueue_local_queue_reserving_active_workloads{name=\"lq\",namespace=\"n\",replica_role=\"standalone\"} 2\n"));
    assert_true(has("kueue_local_queue_status{name=\"lq\",namespace=\"n\",active=\"True\",replica_role=\"standalone\"} 1\n"));
    assert_true(has("kueue_local_queue_unadmitted_workloads{name=\"lq\",namespace=\"n\","));
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"metadata\":{\"labels\":{\"series\":\"no\"}}}");
    assert_false(has("name=\"lq\""));
    assert_true(has("kueue_unadmitted_workloads{cluster_queue=\"cq\","));
    chosen.local_queues = NULL;
    change(KUEUE "/namespaces/n/localqueues/lq", "{\"metadata\":{\"labels\":{\"series\":\"yes\"}}}");
    assert_false(has("name=\"lq\""));
}

/* Its time is up before anybody has looked at what was written. */
static void an_admission_that_ends_at_once_is_counted(void **state)
{
    (void)state;
    workload("a", "lq", 1);
    assert_true(has("kueue_evicted_workloads_total{cluster_queue=\"cq\",reason=\"PodsReadyTimeout\",underlying_cause=\"WaitForStart\","
                    "priority_class=\"\",replica_role=\"standalone\"} 1\n"));
    assert_true(has("kueue_quota_reserved_workloads_total{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 1\n"));
    assert_true(has("kueue_admitted_workloads_total{cluster_queue=\"cq\",priority_class=\"\",replica_role=\"standalone\"} 1\n"));
}

static void gates_that_were_opened_are_counted(void **state)
{
    (void)state;
    scheduler_pod_ungated(w.scheduler, "kueue.x-k8s.io/admission", "cq", true, 0.3);
    scheduler_pod_ungated(w.scheduler, "kueue.x-k8s.io/admission", "cq", true, -2); /* a clock that is behind */
#define OPENED "kueue_pod_scheduling_gate_removal_seconds"
#define OF_CQ "{cluster_queue=\"cq\",is_group=\"true\",name=\"kueue.x-k8s.io/admission\",replica_role=\"standalone\""
    assert_true(has(OPENED "_bucket" OF_CQ ",le=\"0.005\"} 1\n"));
    assert_true(has(OPENED "_bucket" OF_CQ ",le=\"0.5\"} 2\n"));
    assert_true(has(OPENED "_count" OF_CQ "} 2\n"));
    delete(KUEUE "/clusterqueues/cq");
    assert_false(has("cluster_queue=\"cq\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queues_that_are_gone_stay_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(only_those_that_were_chosen_have_series, setup_chosen, teardown),
        cmocka_unit_test_setup_teardown(an_admission_that_ends_at_once_is_counted, setup_hasty, teardown),
        cmocka_unit_test_setup_teardown(gates_that_were_opened_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(local_queues_have_what_is_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_held_back_by_a_local_queue_does_not_wait_in_its_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(what_asks_for_the_same_counts_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
