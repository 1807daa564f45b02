/* Pods that Kueue held to a node by their nodeSelector, and whose Workload is elsewhere. */
#include "../stage.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "sched/domains/stray_pods.h"

#define TOPOLOGY_ANNOTATION "\"kueue.x-k8s.io/podset-required-topology\":\"kubernetes.io/hostname\","

static void tas_node(const char *name)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\",\"tas\":\"yes\"}},"
                        "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"pods\":\"110\"},\"capacity\":{\"cpu\":\"4\",\"pods\":\"110\"},"
                        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                        name, name));
}

static void workload(const char *name, const char *cpu)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"topologyRequest\":{\"required\":"
                        "\"kubernetes.io/hostname\"},\"template\":{\"spec\":{\"nodeSelector\":{\"kubernetes.io/hostname\":\"x1\"},\"containers\":"
                        "[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}]}}",
                        name, cpu));
}

static void pod(const char *name, const char *workload, const char *node, const char *annotations, const char *spec)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{%s"
                        "\"kueue.x-k8s.io/workload\":\"%s\"}},\"spec\":{%s\"nodeSelector\":{\"kubernetes.io/hostname\":\"%s\"},"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},\"status\":{\"phase\":\"Pending\"}}",
                        name, annotations, workload, spec, node));
}

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    tas_node("x1");
    tas_node("x2");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Topology\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":[{"
           "\"nodeLabel\":\"kubernetes.io/hostname\"}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{"
           "\"nodeLabels\":{\"tas\":\"yes\"},\"topologyName\":\"t\"}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.sweep_always = true});
    workload("has", "1");
    workload("waits", "9");
    run(3000);
    assert_true(object_condition_true(get(WORKLOADS "/has"), "Admitted"));
    assert_false(object_condition_true(get(WORKLOADS "/waits"), "QuotaReserved"));
    return 0;
}

static const char *phase(const char *name)
{
    return json_text(json_path(get(arena_printf(w.a, PODS "/%s", name)), "status", "phase", NULL), "");
}

static void fails_where_its_workload_has_no_place(void **state)
{
    (void)state;
    pod("stray", "has", "x2", TOPOLOGY_ANNOTATION, "");
    pod("home", "has", "x1", TOPOLOGY_ANNOTATION, "");
    run(STRAY_WAIT_MS / 2);
    assert_string_equal(phase("stray"), "Pending");
    run(5000);
    assert_string_equal(phase("stray"), "Failed");
    assert_string_equal(json_get_text(object_condition(get(PODS "/stray"), "TerminatedByKueue"), "message", ""),
                        "Its Workload has no place on node x2");
    assert_string_equal(phase("home"), "Pending");
}

static void fails_where_its_workload_waits(void **state)
{
    (void)state;
    pod("p", "waits", "x1", TOPOLOGY_ANNOTATION, "");
    run(5000);
    assert_string_equal(phase("p"), "Failed");
}

static void is_left_alone(void **state)
{
    (void)state;
    pod("plain", "has", "x2", "", "");
    pod("ours", "has", "x2", TOPOLOGY_ANNOTATION, "\"schedulerName\":\"capstan\",");
    pod("gated", "has", "x2", TOPOLOGY_ANNOTATION, "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}],");
    pod("bound", "has", "x2", TOPOLOGY_ANNOTATION, "\"nodeName\":\"x2\",");
    pod("unknown", "none", "x2", TOPOLOGY_ANNOTATION, "");
    run(10000);
    static const char *const names[] = {"plain", "ours", "gated", "bound", "unknown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(phase(names[i]), "Pending");
}

static void is_left_alone_by_who_does_not_lead(void **state)
{
    (void)state;
    scheduler_follows();
    pod("stray", "has", "x2", TOPOLOGY_ANNOTATION, "");
    run(STRAY_WAIT_MS + 5000);
    assert_string_equal(phase("stray"), "Pending");
    scheduler_comes_to_lead();
    assert_string_equal(phase("stray"), "Failed");
}

int main(void)
{
#define STRAY(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {STRAY(fails_where_its_workload_has_no_place), STRAY(fails_where_its_workload_waits),
                                       STRAY(is_left_alone), STRAY(is_left_alone_by_who_does_not_lead)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
