/* The scheduler against the API server, with kubelets played by hand: who is bound when pods with different limits meet on a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "base/log.h"
#include "net/http_local.h"
#include "sched/bind_gate.h"
#include "sched/sched.h"

#define PODS "/api/v1/namespaces/n/pods"

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client, *scheduler_client;
    struct http_faults faults; /* of the scheduler's calls */
    struct scheduler *scheduler;
    struct arena *a;
};
static struct world w;

static void create(const char *text)
{
    struct err e = {0};
    struct json *object = json_parse(w.a, bytes_of(text), NULL, &e);
    if (!object || apiserver_create(w.server, w.a, object, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void run(int64_t ms)
{
    struct err e = {0};
    assert_int_equal(loop_run_for(w.loop, ms, &e), 0);
}

static void scheduler_start(void)
{
    w.scheduler = scheduler_new(w.loop, w.scheduler_client, &(struct scheduler_config){.default_scheduler = true, .sweep_always = true});
    run(1500);
}

static int setup(void **state)
{
    (void)state;
    struct err e = {0};
    log_set_level(LOG_ERROR);
    w = (struct world){.loop = loop_new_virtual(1767225600000), .a = arena_new()};
    if (apiserver_new(w.loop, &(struct apiserver_config){0}, &w.server, &e) < 0)
        return -1;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}");
#define AMOUNTS                                                                                                        \
    "{\"cpu\":\"64\",\"memory\":\"256Gi\",\"pods\":\"110\",\"keti.com/mpsgpu\":\"16\",\"nvidia.com/gpu\":\"8\"}"
    create(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":" AMOUNTS
        ",\"capacity\":" AMOUNTS ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    w.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, NULL, 1));
    w.scheduler_client =
        kube_client_wrap(w.loop, http_local_client_new(w.loop, apiserver_handle, w.server, &w.faults, 2));
    scheduler_start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scheduler_free(w.scheduler);
    kube_client_free(w.client);
    kube_client_free(w.scheduler_client);
    apiserver_free(w.server);
    loop_free(w.loop);
    arena_free(w.a);
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

static void on_got(void *arg, const struct kube_answer *answer)
{
    const struct json **object = arg;
    *object = json_parse(w.a, answer->code == 0 ? answer->body : BYTES("{}"), NULL, NULL);
}

static bool is_bound(const char *name)
{
    const struct json *object = NULL;
    kube_get(w.client, arena_printf(w.a, PODS "/%s", name), on_got, &object);
    for (int i = 0; i < 100 && !object; i++)
        run(1);
    return json_is(json_path(object, "spec", "nodeName", NULL), JSON_STRING);
}

static void admit(const char *name)
{
    kube_patch(w.client, KUBE_PATCH_MERGE, arena_printf(w.a, PODS "/%s/status", name),
               BYTES("{\"status\":{\"startTime\":\"2026-01-01T00:00:00Z\"}}"), NULL, NULL);
    run(200);
}

static void take_away(const char *name)
{
    kube_delete(w.client, arena_printf(w.a, PODS "/%s", name), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
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
