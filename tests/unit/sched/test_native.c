/* Pod groups of Kubernetes itself on servers of several releases: a door that serves some versions of scheduling.k8s.io and not others */
#include <stdio.h>
#include "stage.h"
#include "kube/object.h"
#include "sched/telling/telling.h"

#define GROUP "/apis/scheduling.k8s.io/"
#define IN_N "/namespaces/n/podgroups/"

static struct {
    const char *served;  /* versions, by spaces */
    char written[256];   /* the last path of that group that was written */
} seen;

static void door(void *ctx, struct http_exchange *x)
{
    const struct http_request *r = &x->request;
    char version[32];
    (void)ctx;
    if (sscanf(r->path, GROUP "%31[^/]", version) == 1 && strcmp(version, "v1") != 0) {
        if (!strstr(seen.served, version)) {
            http_reply_text(x, 404, "text/plain", "404 page not found\n");
            return;
        }
        if (strcmp(r->method, "GET") != 0)
            snprintf(seen.written, sizeof seen.written, "%s %s", r->method, r->path);
    }
    apiserver_handle(w.server, x);
}

static int open_with(const char *served)
{
    memset(&seen, 0, sizeof seen);
    seen.served = served;
    stage_open(door);
    node("n0", "nvidia.com/gpu", 4);
    scheduler_start();
    return 0;
}

static void pod(const char *name, const char *group, int gpus)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":{%s,"
                        "\"containers\":[{\"name\":\"main\",\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}",
                        name, group, gpus));
}

static const char *node_of(const char *name)
{
    return json_text(json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", "nodeName", NULL), "");
}

static const char *told(const char *name)
{
    return json_get_text(object_condition(get(arena_printf(w.a, PODS "/%s", name)), "PodScheduled"), "message", "");
}

static void group(const char *version, const char *name, int n)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.k8s.io/%s\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}}}",
                        version, name, n));
}

static void member(const char *name, const char *of)
{
    pod(name, arena_printf(w.a, "\"schedulingGroup\":{\"podGroupName\":\"%s\"}", of), 1);
}

/* Two of three wait, and the third makes them start; the version's own condition says both, in that version. */
static void a_group_of(const char *version, const char *condition)
{
    const char *path = arena_printf(w.a, GROUP "%s" IN_N "g", version);
    group(version, "g", 3);
    member("g0", "g");
    member("g1", "g");
    run(2 * TELLING_MEMBERS_MS);
    assert_string_equal(node_of("g0"), "");
    assert_string_equal(json_get_text(object_condition(get(path), condition), "status", ""), "False");
    assert_string_equal(json_get_text(object_condition(get(path), condition), "reason", ""), "Unschedulable");
    assert_non_null(strstr(json_get_text(object_condition(get(path), condition), "message", ""), "2 of 3 pods exist"));
    assert_non_null(strstr(object_waiting(get(path)), "2 of 3 pods exist"));
    assert_non_null(strstr(seen.written, arena_printf(w.a, "PATCH " GROUP "%s" IN_N "g", version)));
    member("g2", "g");
    run(3000);
    assert_string_equal(node_of("g0"), "n0");
    assert_true(object_condition_true(get(path), condition));
    assert_string_equal(object_waiting(get(path)), "");
}

static void groups_of_1_37(void **state)
{
    (void)state;
    open_with("v1beta1 v1alpha3");
    a_group_of("v1beta1", "PodGroupInitiallyScheduled");
}

static void groups_of_1_36(void **state)
{
    (void)state;
    open_with("v1alpha2");
    a_group_of("v1alpha2", "PodGroupScheduled");
}

/* Nothing of it is served at first: nobody waits for that, and what comes with the next server is found. */
static void they_appear_later(void **state)
{
    (void)state;
    open_with("");
    assert_true(scheduler_counts(w.scheduler).leading);
    pod("alone", "\"nodeSelector\":{}", 1);
    run(2000);
    assert_string_equal(node_of("alone"), "n0");
    seen.served = "v1alpha2";
    run(31000);
    a_group_of("v1alpha2", "PodGroupScheduled");
}

/* The server is a newer one: what runs goes on, what waits is read and written in its version. */
static void the_server_is_upgraded(void **state)
{
    (void)state;
    open_with("v1alpha2");
    group("v1alpha2", "runs", 1);
    member("r0", "runs");
    group("v1alpha2", "waits", 2);
    member("w0", "waits");
    run(2 * TELLING_MEMBERS_MS);
    assert_string_equal(node_of("r0"), "n0");
    seen.served = "v1beta1";
    run(11 * 60000); /* a watch ends by itself then */
    assert_string_equal(node_of("w0"), "");
    seen.written[0] = '\0';
    member("w1", "waits");
    run(3000);
    assert_string_equal(node_of("w0"), "n0");
    assert_non_null(strstr(seen.written, "/v1beta1/"));
    assert_true(object_condition_true(get(GROUP "v1beta1" IN_N "waits"), "PodGroupInitiallyScheduled"));
    assert_string_equal(node_of("r0"), "n0");
}

/* ---- 1.35 ---- */

static void workload(const char *name, const char *groups)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.k8s.io/v1alpha1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                        "\"spec\":{\"podGroups\":[%s]}}",
                        name, groups));
}

static void of(const char *name, const char *load, const char *of_group, const char *replica)
{
    pod(name, arena_printf(w.a, "\"workloadRef\":{\"name\":\"%s\",\"podGroup\":\"%s\"%s}", load, of_group,
                           *replica ? arena_printf(w.a, ",\"podGroupReplicaKey\":\"%s\"", replica) : ""), 1);
}

static int setup_1_35(void **state)
{
    (void)state;
    return open_with("v1alpha1");
}

/* Each replica of a group is a gang by itself; those of a group with the basic policy start as they can. */
static void replicas_start_one_by_one(void **state)
{
    (void)state;
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}},{\"name\":\"b\",\"policy\":{\"basic\":{}}}");
    of("g0-0", "a", "g", "0");
    of("g1-0", "a", "g", "1");
    of("b0", "a", "b", "");
    run(2 * TELLING_MEMBERS_MS);
    assert_string_equal(node_of("b0"), "n0");
    assert_string_equal(node_of("g0-0"), "");
    assert_string_equal(node_of("g1-0"), "");
    assert_non_null(strstr(told("g0-0"), "1 of 2 pods exist"));
    of("g1-1", "a", "g", "1");
    run(3000);
    assert_string_equal(node_of("g1-0"), "n0");
    assert_string_equal(node_of("g1-1"), "n0");
    assert_string_equal(node_of("g0-0"), "");
    assert_string_equal(seen.written, ""); /* a Workload has no status, and is left as it is */
}

/* SOURCE 1.35: who names a Workload that is not there, or a group that it does not have, waits until it is. */
static void the_workload_may_come_last(void **state)
{
    (void)state;
    of("p0", "a", "g", "");
    of("p1", "a", "g", "");
    of("x0", "a", "other", "");
    run(3000);
    assert_string_equal(node_of("p0"), "");
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    run(3000);
    assert_string_equal(node_of("p0"), "n0");
    assert_string_equal(node_of("p1"), "n0");
    assert_string_equal(node_of("x0"), "");
}

static void remove_at(const char *path)
{
    kube_delete(w.user, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(3000);
}

/* Its pods go, and others come in their place: a gang again, that must be whole. Its Workload goes: who waits, waits for that. */
static void a_replica_ends_and_begins_anew(void **state)
{
    (void)state;
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    of("p0", "a", "g", "0");
    of("p1", "a", "g", "0");
    run(3000);
    assert_string_equal(node_of("p0"), "n0");
    remove_at(PODS "/p0");
    remove_at(PODS "/p1");
    of("q0", "a", "g", "0");
    run(3000);
    assert_string_equal(node_of("q0"), "");
    remove_at(GROUP "v1alpha1/namespaces/n/workloads/a");
    of("q1", "a", "g", "0");
    run(3000);
    assert_string_equal(node_of("q0"), "");
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    run(3000);
    assert_string_equal(node_of("q0"), "n0");
    assert_string_equal(node_of("q1"), "n0");
}

static void of_class(const char *name, const char *load, const char *class)
{
    pod(name, arena_printf(w.a, "\"priorityClassName\":\"%s\",\"workloadRef\":{\"name\":\"%s\",\"podGroup\":\"g\"}", class, load), 2);
}

/* A group of that version has no priority: its pods have, and who has a higher one starts first. */
static void pods_give_their_group_a_priority(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"low\"},\"value\":-5}");
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    pod("holds", "\"nodeSelector\":{}", 4);
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    workload("b", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    run(3000);
    of_class("a0", "a", "low");
    of_class("a1", "a", "low");
    of_class("b0", "b", "low");
    run(3000);
    of_class("b1", "b", "high");
    run(3000);
    remove_at(PODS "/holds");
    assert_string_equal(node_of("b0"), "n0");
    assert_string_equal(node_of("b1"), "n0");
    assert_string_equal(node_of("a0"), "");
}

static void classes(void)
{
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"low\"},\"value\":-5}");
    create("{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"high\"},\"value\":1000}");
}

/* While it waits: when the pod of the highest priority goes, its group is of those that are left; the older one is first then. */
static void who_leaves_takes_his_priority_along(void **state)
{
    (void)state;
    classes();
    pod("holds", "\"nodeSelector\":{}", 4);
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    workload("b", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":2}}}");
    run(3000);
    of_class("a0", "a", "low");
    of_class("a1", "a", "low");
    run(3000);
    of_class("b0", "b", "low");
    of_class("b1", "b", "low");
    of_class("b2", "b", "high");
    run(3000);
    remove_at(PODS "/b2");
    remove_at(PODS "/holds");
    assert_string_equal(node_of("a0"), "n0");
    assert_string_equal(node_of("a1"), "n0");
    assert_string_equal(node_of("b0"), "");
}

static void coscheduling_pod(const char *name, const char *of, const char *class)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{"
                        "\"scheduling.x-k8s.io/pod-group\":\"%s\"}},\"spec\":{\"priorityClassName\":\"%s\",\"containers\":[{\"name\":\"main\","
                        "\"image\":\"x\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}}",
                        name, of, class));
}

/* The same of coscheduling's groups. */
static void so_is_it_of_coscheduling(void **state)
{
    (void)state;
    classes();
    for (const char *g = "ab"; *g; g++)
        create(arena_printf(w.a, "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%c\","
                                 "\"namespace\":\"n\"},\"spec\":{\"minMember\":2}}", *g));
    pod("holds", "\"nodeSelector\":{}", 4);
    run(3000);
    coscheduling_pod("a0", "a", "low");
    coscheduling_pod("a1", "a", "low");
    run(3000);
    coscheduling_pod("b0", "b", "low");
    coscheduling_pod("b1", "b", "low");
    coscheduling_pod("b2", "b", "high");
    run(3000);
    remove_at(PODS "/b2");
    remove_at(PODS "/holds");
    assert_string_equal(node_of("a0"), "n0");
    assert_string_equal(node_of("b0"), "");
}

/* A gang that does not fit whole starts with none, and holds nothing meanwhile. */
static void all_or_none(void **state)
{
    (void)state;
    workload("a", "{\"name\":\"g\",\"policy\":{\"gang\":{\"minCount\":5}}}");
    for (int i = 0; i < 5; i++)
        of(arena_printf(w.a, "p%d", i), "a", "g", "");
    run(3000);
    for (int i = 0; i < 5; i++)
        assert_string_equal(node_of(arena_printf(w.a, "p%d", i)), "");
    assert_non_null(strstr(told("p0"), "only 4 of 5 pods can be placed"));
    pod("alone", "\"nodeSelector\":{}", 4);
    run(3000);
    assert_string_equal(node_of("alone"), "n0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(groups_of_1_37, teardown),
        cmocka_unit_test_teardown(groups_of_1_36, teardown),
        cmocka_unit_test_teardown(they_appear_later, teardown),
        cmocka_unit_test_teardown(the_server_is_upgraded, teardown),
        cmocka_unit_test_setup_teardown(replicas_start_one_by_one, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(the_workload_may_come_last, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(a_replica_ends_and_begins_anew, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(pods_give_their_group_a_priority, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(who_leaves_takes_his_priority_along, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(so_is_it_of_coscheduling, setup_1_35, teardown),
        cmocka_unit_test_setup_teardown(all_or_none, setup_1_35, teardown),
    };
    return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
