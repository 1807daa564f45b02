/* Pods that wait at Kueue's gate for topologies, whose jobs are not here. */
#include "../stage.h"
#include "jobs/jobs.h"
#include "kube/object.h"
#include "sched/scheduler.h"

#define HOSTNAME "kubernetes.io/hostname"
#define GATES "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}],"
#define OWN "\"schedulerName\":\"capstan\","

static void tas_node(const char *name, const char *rack)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"" HOSTNAME "\":\"%s\","
                        "\"rack\":\"%s\",\"zone\":\"z\",\"tas\":\"yes\"}},\"status\":{\"allocatable\":{\"cpu\":\"1\",\"pods\":\"110\"},\"capacity\":{"
                        "\"cpu\":\"1\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                        name, name, rack));
}

static void begin(const char *levels)
{
    stage_open(NULL);
    tas_node("x1", "r1");
    tas_node("x2", "r2");
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Topology\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":[%s]}}",
                        levels));
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{"
           "\"nodeLabels\":{\"tas\":\"yes\"},\"topologyName\":\"t\"}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},"
           "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
           "\"nominalQuota\":\"4\"}]}]}]}}");
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"n\"},\"spec\":{"
           "\"clusterQueue\":\"cq\"}}");
    w.scheduler = scheduler_new(w.loop, w.client, &(struct scheduler_config){.sweep_always = true});
}

static void workload(void)
{
    create("{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"},\"spec\":{"
           "\"queueName\":\"lq\",\"podSets\":[{\"name\":\"main\",\"count\":2,\"topologyRequest\":{\"unconstrained\":true},\"template\":{\"spec\":{"
           "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}");
}

/* index "": none. */
static void pod(const char *name, const char *index, const char *spec)
{
    const char *label = *index ? arena_printf(w.a, ",\"batch.kubernetes.io/job-completion-index\":\"%s\"", index) : "";
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"kueue.x-k8s.io/podset\":\"main\"%s},\"annotations\":{\"kueue.x-k8s.io/podset-unconstrained-topology\":\"true\","
                        "\"kueue.x-k8s.io/workload\":\"a\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
                        "\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                        name, label, spec));
}

static const struct json *spec_of(const char *name, const char *field)
{
    return json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", field, NULL);
}

static const char *held_to(const char *name, const char *level)
{
    return json_get_text(spec_of(name, "nodeSelector"), level, "");
}

static void each_goes_to_the_domain_of_its_index(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"" HOSTNAME "\"}");
    workload();
    run(3000);
    pod("late", "1", GATES);
    run(2000);
    assert_string_equal(held_to("late", HOSTNAME), "x2");
    assert_null(spec_of("late", "schedulingGates"));
    _cleanup_buf_ struct buf page = {0};
    scheduler_page(w.scheduler, false, &page);
    assert_non_null(strstr(page.data, "\nkueue_pod_scheduling_gate_removal_seconds_count{cluster_queue=\"cq\",is_group=\"false\","
                                      "name=\"kueue.x-k8s.io/topology\",replica_role=\"standalone\"} 1\n"));
    pod("first", "0", GATES);
    pod("third", "2", GATES);
    run(2000);
    assert_string_equal(held_to("first", HOSTNAME), "x1");
    assert_string_equal(held_to("third", HOSTNAME), ""); /* more than there are places */
    assert_non_null(spec_of("third", "schedulingGates"));
}

static void takes_another_domain_where_its_own_is_taken(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"" HOSTNAME "\"}");
    workload();
    run(3000);
    pod("held", "1", "\"nodeSelector\":{\"" HOSTNAME "\":\"x1\"},");
    pod("other", "0", "\"nodeSelector\":{\"disk\":\"ssd\"}," GATES);
    run(2000);
    assert_string_equal(held_to("other", HOSTNAME), "x2");
    assert_string_equal(held_to("other", "disk"), "ssd");
    kube_delete(w.user, PODS "/held", BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    pod("new", "1", GATES);
    run(2000);
    assert_string_equal(held_to("new", HOSTNAME), "x1");
}

static void waits_for_its_workload(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"" HOSTNAME "\"}");
    pod("early", "", "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"},{\"name\":\"mine\"}],");
    run(3000);
    assert_int_equal(spec_of("early", "schedulingGates")->n, 2);
    workload();
    run(5000);
    assert_string_equal(held_to("early", HOSTNAME), "x1");
    assert_int_equal(spec_of("early", "schedulingGates")->n, 1);
}

static void labels_of_all_levels_where_the_lowest_is_no_node(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"zone\"},{\"nodeLabel\":\"rack\"}");
    workload();
    run(3000);
    pod("p", "1", GATES);
    run(2000);
    assert_string_equal(held_to("p", "zone"), "z");
    assert_string_equal(held_to("p", "rack"), "r2");
    assert_string_equal(held_to("p", HOSTNAME), "");
    pod("q", "1", GATES);
    run(2000);
    assert_string_equal(held_to("q", "rack"), "r1");
}

/* It is bound where it may stand, so that no selector keeps it there. */
static void ones_own_only_lose_the_gate(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"" HOSTNAME "\"}");
    workload();
    run(3000);
    pod("p", "0", OWN GATES);
    pod("q", "1", OWN GATES);
    run(3000);
    assert_null(spec_of("p", "schedulingGates"));
    assert_null(spec_of("p", "nodeSelector"));
    assert_string_equal(json_text(spec_of("p", "nodeName"), ""), "x1");
    assert_string_equal(json_text(spec_of("q", "nodeName"), ""), "x2");
}

static void who_does_not_lead_opens_no_gate(void **state)
{
    (void)state;
    begin("{\"nodeLabel\":\"" HOSTNAME "\"}");
    workload();
    run(3000);
    scheduler_follows();
    pod("p", "0", GATES);
    pod("own", "1", OWN GATES);
    run(5000);
    assert_non_null(spec_of("p", "schedulingGates"));
    assert_non_null(spec_of("own", "schedulingGates"));
    scheduler_comes_to_lead();
    assert_string_equal(held_to("p", HOSTNAME), "x1");
    assert_null(spec_of("own", "schedulingGates"));
}

int main(void)
{
#define GATED(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {GATED(each_goes_to_the_domain_of_its_index), GATED(takes_another_domain_where_its_own_is_taken),
                                       GATED(waits_for_its_workload), GATED(labels_of_all_levels_where_the_lowest_is_no_node),
                                       GATED(ones_own_only_lose_the_gate), GATED(who_does_not_lead_opens_no_gate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
