/* Pod groups of Kubernetes itself, and of KAI's, whose pods have to stand on nodes with one value of a label, live */
#include <stdio.h>
#include "../stage.h"
#include "kube/object.h"
#include "sched/telling/telling.h"

#define GROUPS "/apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups"

static void node_in(const char *name, int gpus, const char *labels)
{
    const char *amounts = arena_printf(w.a, "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"%d\"}", gpus);
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},\"status\":{\"allocatable\":%s,"
                        "\"capacity\":%s,\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                        name, labels, amounts, amounts));
}

/* Zone a: a single node of three GPUs. Zone b: two of two, in racks of their own; another one is in no zone. */
static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node_in("a1", 3, "\"zone\":\"a\",\"rack\":\"r1\"");
    node_in("b1", 2, "\"zone\":\"b\",\"rack\":\"r2\"");
    node_in("b2", 2, "\"zone\":\"b\",\"rack\":\"r3\"");
    node_in("c1", 1, "\"rack\":\"r4\"");
    scheduler_start();
    return 0;
}

static void group(const char *name, const char *policy, const char *key)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"schedulingPolicy\":%s,\"schedulingConstraints\":{\"topology\":[{\"key\":\"%s\"}]}}}",
                        name, policy, key));
}

/* PODS "g0 g1": each one GPU, of group "g". */
static void members(const char *pods)
{
    char *save = NULL;
    for (char *name = strtok_r(arena_text(w.a, pods), " ", &save); name; name = strtok_r(NULL, " ", &save))
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{"
                            "\"schedulingGroup\":{\"podGroupName\":\"%c\"},\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{"
                            "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                            name, name[0]));
    run(3000);
}


/* "a1 a1 -", by pods that are named so. */
static const char *nodes_of(const char *pods)
{
    char *save = NULL;
    const char *text = "";
    for (char *name = strtok_r(arena_text(w.a, pods), " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        const char *at = json_text(json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", "nodeName", NULL), "-");
        text = arena_printf(w.a, "%s%s%s", text, *text ? " " : "", at);
    }
    return text;
}

static const char *told(const char *group_name)
{
    run(2 * TELLING_MEMBERS_MS);
    return json_get_text(object_condition(get(arena_printf(w.a, GROUPS "/%s", group_name)), "PodGroupInitiallyScheduled"), "message", "");
}

static void remove_at(const char *path)
{
    kube_delete(w.user, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(3000);
}

static bool all_in(const char *nodes, char zone)
{
    for (const char *at = nodes; *at; at += at[2] ? 3 : 2)
        if (*at != zone)
            return false;
    return true;
}

/* Four fit in zone b alone, and who comes later would have to go there. */
static void a_gang_in_one_zone(void **state)
{
    (void)state;
    group("g", "{\"gang\":{\"minCount\":4}}", "zone");
    members("g0 g1 g2 g3");
    if (!all_in(nodes_of("g0 g1 g2 g3"), 'b'))
        fail_msg("%s", nodes_of("g0 g1 g2 g3"));
    members("g4");
    assert_string_equal(nodes_of("g4"), "-");
    remove_at(PODS "/g0");
    assert_true(all_in(nodes_of("g4"), 'b'));
}

/* Five stand nowhere together, and are told so; of three pods two may start in one rack. */
static void too_many_for_a_domain(void **state)
{
    (void)state;
    group("g", "{\"gang\":{\"minCount\":5}}", "zone");
    members("g0 g1 g2 g3 g4");
    assert_string_equal(nodes_of("g0 g4"), "- -");
    assert_non_null(strstr(told("g"), "no domain of label zone holds 5 pod(s) together: \"b\" has room for 4"));
    group("h", "{\"gang\":{\"minCount\":2}}", "disk");
    members("h0 h1");
    assert_non_null(strstr(told("h"), "no node is in a domain of label disk"));
}

/* Whose policy is basic: the first goes where there is room, the others to its domain. */
static void pods_of_a_basic_group(void **state)
{
    (void)state;
    group("g", "{\"basic\":{}}", "zone");
    members("g0");
    char zone = *nodes_of("g0");
    members("g1 g2");
    assert_true((zone == 'a' || zone == 'b') && all_in(nodes_of("g0 g1 g2"), zone));
}

/* Groups that ask for other labels come and go beside it. */
static void two_labels_at_once(void **state)
{
    (void)state;
    group("g", "{\"gang\":{\"minCount\":4}}", "zone");
    group("h", "{\"gang\":{\"minCount\":3}}", "rack");
    members("g0 g1 g2 g3 h0 h1 h2");
    assert_true(all_in(nodes_of("g0 g1 g2 g3"), 'b'));
    assert_string_equal(nodes_of("h0 h1 h2"), "a1 a1 a1");
    remove_at(GROUPS "/h");
    remove_at(PODS "/g0");
    members("g5");
    assert_true(all_in(nodes_of("g5"), 'b'));
}

/* A node gets the label: who waited for it starts. */
static void a_node_comes_into_the_domain(void **state)
{
    (void)state;
    group("g", "{\"gang\":{\"minCount\":5}}", "zone");
    members("g0 g1 g2 g3 g4");
    assert_string_equal(nodes_of("g0"), "-");
    kube_patch(w.user, KUBE_PATCH_MERGE, "/api/v1/nodes/c1", BYTES("{\"metadata\":{\"labels\":{\"zone\":\"b\"}}}"), NULL, NULL);
    run(3000);
    assert_string_equal(strchr(nodes_of("g0 g1 g2 g3 g4"), '-') ? "waits" : "", "");
}

static int ignored_n(void)
{
    int n = 0;
    JSON_EACH (event, json_get(get("/api/v1/namespaces/n/events"), "items"))
        n += strcmp(json_get_text(event, "reason", ""), "PodGroupIgnored") == 0;
    return n;
}

static void kai_group(const char *name, const char *constraint)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.run.ai/v2alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"minMember\":3,\"topologyConstraint\":{\"topology\":\"t\",%s}}}",
                        name, constraint));
    for (int i = 0; i < 3; i++)
        create(arena_printf(w.a,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s%d\",\"namespace\":\"n\",\"annotations\":{"
                            "\"pod-group-name\":\"%s\"}},\"spec\":{\"schedulerName\":\"kai-scheduler\",\"containers\":[{\"name\":\"main\","
                            "\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                            name, i, name));
    run(3000);
}

static void topology_of_kai(void)
{
    create("{\"apiVersion\":\"kai.scheduler/v1alpha1\",\"kind\":\"Topology\",\"metadata\":{\"name\":\"t\"},\"spec\":{\"levels\":["
           "{\"nodeLabel\":\"zone\"},{\"nodeLabel\":\"rack\",\"alias\":\"row\"}]}}");
    run(3000);
}

/* In one rack: r1 alone has three. Then in one zone, by preference in one rack, of which none has so many left. */
static void groups_of_kai(void **state)
{
    (void)state;
    kai_group("k", "\"requiredTopologyLevel\":\"row\"");
    assert_string_equal(nodes_of("k0 k1 k2"), "- - -"); /* there is no Topology yet */
    topology_of_kai();
    assert_string_equal(nodes_of("k0 k1 k2"), "a1 a1 a1");
    kai_group("l", "\"requiredTopologyLevel\":\"zone\",\"preferredTopologyLevel\":\"rack\"");
    assert_true(all_in(nodes_of("l0 l1 l2"), 'b'));
    kai_group("m", "\"requiredTopologyLevel\":\"zone\"");
    assert_string_equal(nodes_of("m0 m1 m2"), "- - -");
}

/* Who would only like to stands in the narrowest domain that holds him, and else anywhere. */
static void a_wish_of_kais(void **state)
{
    (void)state;
    topology_of_kai();
    kai_group("k", "\"preferredTopologyLevel\":\"rack\"");
    assert_string_equal(nodes_of("k0 k1 k2"), "a1 a1 a1");
    kai_group("l", "\"preferredTopologyLevel\":\"rack\"");
    assert_true(all_in(nodes_of("l0 l1 l2"), 'b'));
    kai_group("m", "\"preferredTopologyLevel\":\"rack\"");
    assert_string_equal(nodes_of("m0 m1 m2"), "- - -"); /* two are left */
    node_in("d1", 1, "\"disk\":\"d\"");
    run(3000);
    assert_null(strchr(nodes_of("m0 m1 m2"), '-'));
}

/* HyperNodes make the one topology that there is: who asks for a label is told, and starts; when they are gone, it counts. */
static void not_beside_hyper_nodes(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"topology.volcano.sh/v1alpha1\",\"kind\":\"HyperNode\",\"metadata\":{\"name\":\"s0\"},\"spec\":{\"tier\":1,"
           "\"members\":[{\"type\":\"Node\",\"selector\":{\"exactMatch\":{\"name\":\"a1\"}}}]}}");
    run(1000);
    group("g", "{\"gang\":{\"minCount\":6}}", "zone");
    members("g0 g1 g2 g3 g4 g5");
    assert_null(strchr(nodes_of("g0 g1 g2 g3 g4 g5"), '-'));
    run(2 * TELLING_MEMBERS_MS);
    assert_int_equal(ignored_n(), 1);
    group("h", "{\"gang\":{\"minCount\":5}}", "zone");
    members("h0 h1 h2 h3 h4");
    remove_at("/apis/topology.volcano.sh/v1alpha1/hypernodes/s0");
    for (int i = 0; i < 6; i++)
        remove_at(arena_printf(w.a, PODS "/g%d", i));
    assert_string_equal(nodes_of("h0"), "-");
    assert_non_null(strstr(told("h"), "no domain of label zone holds 5 pod(s) together: \"b\" has room for 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_gang_in_one_zone, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_for_a_domain, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_of_a_basic_group, setup, teardown),
        cmocka_unit_test_setup_teardown(two_labels_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_comes_into_the_domain, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_of_kai, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wish_of_kais, setup, teardown),
        cmocka_unit_test_setup_teardown(not_beside_hyper_nodes, setup, teardown),
    };
    return cmocka_run_group_tests_name("group_domains", tests, NULL, NULL);
}
