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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queues_that_are_gone_stay_gone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
