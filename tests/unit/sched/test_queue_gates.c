/* Pods that wait at the gate of their Volcano queue: when it is opened, and for how many. */
#include "stage.h"
#include "kube/object.h"

#define GATE "scheduling.volcano.sh/queue-allocation-gate"

/* A queue that may have two GPUs, of a cluster with as many as given. */
static void begin(int gpus, void (*door)(void *ctx, struct http_exchange *x))
{
    stage_open(door);
    node("n1", "nvidia.com/gpu", gpus);
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"weight\":1,"
           "\"capability\":{\"nvidia.com/gpu\":\"2\"}}}");
    scheduler_start();
}

static void group(const char *name, int members)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"n\"},\"spec\":{\"minMember\":%d,\"queue\":\"q\"}}",
                        name, members));
}

/* Asks for a GPU; with the gate. selector "": any node. */
static void pod(const char *name, const char *of, const char *selector)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"annotations\":{"
                        "\"scheduling.k8s.io/group-name\":\"%s\",\"" GATE "\":\"true\"}},\"spec\":{\"schedulerName\":\"volcano\",%s"
                        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]},"
                        "\"status\":{\"phase\":\"Pending\"}}",
                        name, of, selector));
}
#define NOWHERE "\"nodeSelector\":{\"no-such\":\"node\"},"

static const struct json *pod_now(const char *name)
{
    return get(arena_printf(w.a, PODS "/%s", name));
}

static bool is_gated(const char *name)
{
    const struct json *gates = json_path(pod_now(name), "spec", "schedulingGates", NULL);
    return gates && gates->n;
}

static bool is_bound(const char *name)
{
    return json_text(json_path(pod_now(name), "spec", "nodeName", NULL), "")[0] != '\0';
}

static const char *told(const char *name)
{
    return json_get_text(object_condition(pod_now(name), "PodScheduled"), "reason", "");
}

static void remove_pod(const char *name)
{
    kube_delete(w.user, arena_printf(w.a, PODS "/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
}

static void opened_for_who_starts_alone(void **state)
{
    (void)state;
    begin(8, NULL);
    group("g", 2);
    pod("a", "g", "");
    assert_true(is_gated("a"));
    run(2000);
    assert_true(is_gated("a")); /* the other one is not there */
    pod("b", "g", "");
    run(2000);
    assert_true(is_bound("a") && is_bound("b") && !is_gated("a") && !is_gated("b"));
    group("h", 1);
    pod("c", "h", "");
    run(5000);
    assert_true(is_gated("c") && !is_bound("c")); /* the queue has its two */
    assert_string_equal(told("c"), "SchedulingGated");
    remove_pod("a");
    remove_pod("b");
    kube_delete(w.user, "/apis/scheduling.volcano.sh/v1beta1/namespaces/n/podgroups/g", BYTES(""), NULL, NULL);
    run(5000);
    assert_true(is_bound("c"));
}

static void opened_without_a_start_it_counts(void **state)
{
    (void)state;
    begin(8, NULL);
    group("g", 2);
    pod("a", "g", NOWHERE);
    pod("b", "g", NOWHERE);
    run(5000);
    assert_true(!is_gated("a") && !is_gated("b"));
    assert_string_equal(told("a"), "Unschedulable");
    assert_string_equal(told("b"), "Unschedulable");
    group("h", 1);
    pod("c", "h", NOWHERE);
    run(5000);
    assert_true(is_gated("c"));
    assert_string_equal(told("c"), "SchedulingGated");
    assert_non_null(strstr(json_get_text(object_condition(pod_now("c"), "PodScheduled"), "message", ""), "it stays at its gate"));
    group("i", 1);
    pod("d", "i", ""); /* nothing is kept from who finds a place */
    run(5000);
    assert_true(is_bound("d"));
    remove_pod("a");
    remove_pod("b");
    run(10000);
    assert_false(is_gated("c"));
    assert_string_equal(told("c"), "Unschedulable");
}

/* A gang is let through whole, or not: for a part nobody is to make nodes. */
static void not_in_part(void **state)
{
    (void)state;
    begin(8, NULL);
    group("g", 1);
    pod("a", "g", NOWHERE);
    run(5000);
    assert_false(is_gated("a"));
    group("h", 2);
    pod("b", "h", NOWHERE);
    pod("c", "h", NOWHERE);
    run(5000);
    assert_true(is_gated("b") && is_gated("c"));
    remove_pod("a");
    run(10000);
    assert_true(!is_gated("b") && !is_gated("c"));
}

static void gates_of_others_stay(void **state)
{
    (void)state;
    begin(8, NULL);
    group("g", 1);
    pod("a", "g", "\"schedulingGates\":[{\"name\":\"example.com/other\"}],");
    run(5000);
    assert_int_equal(json_path(pod_now("a"), "spec", "schedulingGates", NULL)->n, 2);
    assert_false(is_bound("a"));
    kube_patch(w.user, KUBE_PATCH_JSON, PODS "/a", BYTES("[{\"op\":\"remove\",\"path\":\"/spec/schedulingGates/0\"}]"), NULL, NULL);
    run(5000);
    assert_true(is_bound("a"));
}

static int refusals;
static void refuse_patches_of_pods(void *ctx, struct http_exchange *x)
{
    bool is_patch = text_equal(x->request.method, "PATCH") && text_starts(x->request.path, PODS "/") && !strstr(x->request.path, "/status");
    if (is_patch && refusals > 0) {
        refusals--;
        http_reply_text(x, 500, "text/plain", "not now");
        return;
    }
    apiserver_handle(ctx, x);
}

static void what_is_not_answered_is_asked_again(void **state)
{
    (void)state;
    refusals = 3;
    begin(8, refuse_patches_of_pods);
    group("g", 1);
    pod("a", "g", "");
    run(20000);
    assert_int_equal(refusals, 0);
    assert_true(is_bound("a"));
    refusals = 3;
    group("h", 1);
    pod("b", "h", NOWHERE);
    run(20000);
    assert_int_equal(refusals, 0);
    assert_false(is_gated("b"));
    assert_string_equal(told("b"), "Unschedulable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(opened_for_who_starts_alone, teardown),
        cmocka_unit_test_teardown(opened_without_a_start_it_counts, teardown),
        cmocka_unit_test_teardown(not_in_part, teardown),
        cmocka_unit_test_teardown(gates_of_others_stay, teardown),
        cmocka_unit_test_teardown(what_is_not_answered_is_asked_again, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
