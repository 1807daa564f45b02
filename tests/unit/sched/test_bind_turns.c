/* The scheduler against the API server, with kubelets played by hand: who is bound when pods with different limits meet on a node. */
#include "stage.h"
#include "sched/binding/bind_gate.h"

static int setup(void **state)
{
    (void)state;
    stage_open(NULL);
    node("n1", "keti.com/mpsgpu", 16);
    scheduler_start();
    return 0;
}

static void pod_with(const char *name, const char *annotation, const char *value, const char *labels, int shares)
{
    create(arena_printf(
        w.a,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"labels\":{%s},"
        "\"annotations\":{\"%s\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x\","
        "\"resources\":{\"limits\":{\"keti.com/mpsgpu\":\"%d\"}}}]}}",
        name, labels, annotation, value, shares));
    run(200);
}

static void pod(const char *name, const char *limits)
{
    pod_with(name, limits ? "GPUlimits" : "note", limits ? limits : "none", "", 1);
}

static bool is_bound(const char *name)
{
    return json_is(json_path(get(arena_printf(w.a, PODS "/%s", name)), "spec", "nodeName", NULL), JSON_STRING);
}

static void admit(const char *name)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, arena_printf(w.a, PODS "/%s/status", name),
               BYTES("{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\"}}"), NULL, NULL);
    run(200);
}

static void take_away(const char *name)
{
    kube_delete(w.user, arena_printf(w.a, PODS "/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
    run(200);
}

static void the_second_waits_for_the_first(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "4G");
    pod("c", NULL);
    assert_true(is_bound("a"));
    run(20000);
    assert_false(is_bound("b"));
    assert_false(scheduler_quiet(w.scheduler));
    admit("a");
    assert_true(is_bound("b"));
    assert_false(is_bound("c"));
    admit("b");
    assert_true(is_bound("c"));
    assert_int_equal(scheduler_counts(w.scheduler).bind_waits_n, 2);
    assert_int_equal(scheduler_counts(w.scheduler).bind_failures_n, 0);
    assert_true(scheduler_quiet(w.scheduler));
}

static void equal_limits_and_other_counts_go_together(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "2G");
    pod_with("c", "GPUlimits", "4G", "", 2);
    pod_with("d", "capstan.dev/mps-active-thread-percentage", "30", "", 3);
    assert_true(is_bound("a") && is_bound("b") && is_bound("c") && is_bound("d"));
    pod_with("e", "capstan.dev/mps-active-thread-percentage", "40", "", 3);
    assert_false(is_bound("e"));
    admit("d");
    assert_true(is_bound("e"));
}

static void unlimited_ones_are_known_when_the_gate_opens(void **state)
{
    (void)state;
    pod("a", NULL);
    pod("b", NULL);
    assert_true(is_bound("a") && is_bound("b"));
    pod("c", "2G");
    assert_false(is_bound("c"));
    admit("a");
    assert_false(is_bound("c"));
    admit("b");
    assert_true(is_bound("c"));
}

static void nobody_waits_for_ever(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "4G");
    pod("c", "6G");
    run(BIND_GATE_MS - 2000);
    assert_false(is_bound("b"));
    run(3000);
    assert_true(is_bound("b"));
    assert_false(is_bound("c"));
    run(BIND_GATE_MS);
    assert_true(is_bound("c"));
}

static void the_first_is_deleted(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "4G");
    take_away("a");
    assert_true(is_bound("b"));
}

static void one_that_waits_is_deleted(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "4G");
    pod("c", "2G");
    take_away("b");
    assert_true(is_bound("c")); /* b was all that it waited for */
    pod("d", "4G");
    take_away("d");
    pod("d", "2G"); /* a namesake */
    assert_true(is_bound("d"));
    assert_true(scheduler_quiet(w.scheduler));
    assert_int_equal(scheduler_counts(w.scheduler).bind_failures_n, 0);
}

static void the_scheduler_starts_again(void **state)
{
    (void)state;
    pod("a", "2G");
    pod("b", "4G");
    scheduler_free(w.scheduler);
    scheduler_start();
    assert_false(is_bound("b"));
    admit("a");
    assert_true(is_bound("b"));
    pod("c", "2G"); /* left waiting when the scheduler goes */
}

/* A gang whose members differ is bound member by member, as its kubelet takes them in. */
static void a_gang_follows_itself(void **state)
{
    (void)state;
    create("{\"apiVersion\":\"scheduling.x-k8s.io/"
           "v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\",\"namespace\":\"n\"},"
           "\"spec\":{\"minMember\":3}}");
    static const char *const names[] = {"g0", "g1", "g2"}, *const limits[] = {"2G", "4G", "2G"};
    for (int i = 0; i < 3; i++)
        pod_with(names[i], "GPUlimits", limits[i], "\"scheduling.x-k8s.io/pod-group\":\"g\"", 1);
    int bound_n = 0, turns_n = 0;
    for (bool admitted[3] = {0}; bound_n < 3 && turns_n < 5; turns_n++) {
        for (int i = 0; i < 3; i++)
            if (!admitted[i] && is_bound(names[i])) {
                admitted[i] = true;
                bound_n++;
                admit(names[i]);
            }
    }
    assert_int_equal(bound_n, 3);
    assert_true(scheduler_counts(w.scheduler).bind_waits_n >= 1);
    assert_int_equal(scheduler_counts(w.scheduler).bind_failures_n, 0);
    run(60000);
    assert_true(is_bound("g0") && is_bound("g1") && is_bound("g2"));
}

/* Answers get lost and are slow: still one after the other, and all in the end. */
static void faults_do_not_mix_the_order(void **state)
{
    (void)state;
    w.faults = (struct http_faults){
        .latency_ms_max = 20, .lose_answer_permille = 200, .status_500_permille = 200, .status_409_permille = 50};
    const char *limits[] = {"2G", "4G", "2G", "6G", "4G", NULL};
    for (int i = 0; i < 6; i++)
        pod(arena_printf(w.a, "p%d", i), limits[i]);
    bool admitted[6] = {0};
    int admitted_n = 0;
    for (int turn = 0; turn < 200 && admitted_n < 6; turn++) {
        const char *waiting = NULL;
        for (int i = 0; i < 6; i++) {
            const char *name = arena_printf(w.a, "p%d", i);
            if (admitted[i] || !is_bound(name))
                continue;
            const char *mine = limits[i] ? limits[i] : "none";
            assert_true(!waiting || text_equal(waiting, mine));
            waiting = mine;
        }
        for (int i = 0; i < 6; i++)
            if (!admitted[i] && is_bound(arena_printf(w.a, "p%d", i))) {
                admit(arena_printf(w.a, "p%d", i));
                admitted[i] = true;
                admitted_n++;
                break;
            }
        run(1000);
    }
    assert_int_equal(admitted_n, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_second_waits_for_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_limits_and_other_counts_go_together, setup, teardown),
        cmocka_unit_test_setup_teardown(unlimited_ones_are_known_when_the_gate_opens, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_for_ever, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_is_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_waits_is_deleted, setup, teardown),
        cmocka_unit_test_setup_teardown(the_scheduler_starts_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gang_follows_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(faults_do_not_mix_the_order, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
