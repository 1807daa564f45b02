/* What simulated kubelets do with pods: deadlines, ports of the node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "apiserver/apiserver.h"
#include "kube/object.h"
#include "net/http_local.h"
#include "sim/kubelet/kubelets.h"
#include "sim/node/node_object.h"

struct world {
    struct loop *loop;
    struct apiserver *server;
    struct kube_client *client;
    struct kubelets *kubelets;
    struct http_faults faults;
    struct arena *arena;
    struct json *body; /* of the last answer */
    int code;
};

static void on_answer(void *arg, const struct kube_answer *answer)
{
    struct world *w = arg;
    w->code = answer->code;
    w->body = json_clone(w->arena, json_parse(w->arena, answer->body, NULL, NULL));
}

static void kubelets_start(struct world *w, double speed)
{
    w->kubelets = kubelets_new(w->client, &(struct kubelets_config){.speed = speed, .heartbeat = true});
    loop_run_for(w->loop, 1000, NULL);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct node_shape shape;
    struct node_kind kind;
    int32_t n;
    w->loop = loop_new_virtual(1767225600000);
    w->arena = arena_new();
    assert_int_equal(apiserver_new(w->loop, &(struct apiserver_config){0}, &w->server, NULL), 0);
    assert_int_equal(node_shape_parse("2:cpu,name=node", &n, &shape, NULL), 0);
    node_kind_init(&kind, &shape);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            apiserver_create(w->server, w->arena, node_object_make(w->arena, &kind, i, i, loop_wall_ms(w->loop), false), NULL), 0);
    w->client = kube_client_wrap(w->loop, http_local_client_new(w->loop, apiserver_handle, w->server, &w->faults, 1));
    kubelets_start(w, 1);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    kubelets_free(w->kubelets);
    kube_client_free(w->client);
    apiserver_free(w->server);
    loop_free(w->loop);
    arena_free(w->arena);
    free(w);
    return 0;
}

static void pod_new(struct world *w, const char *name, const char *spec)
{
    const char *text = arena_printf(w->arena,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                                    "\"spec\":{%s}}",
                                    name, spec);
    struct err e = {0};
    if (apiserver_create(w->server, w->arena, json_parse(w->arena, bytes_of(text), NULL, NULL), &e) < 0)
        fail_msg("%s", e.text);
}

/* "Running", "Failed NodePorts" */
static const char *state_of(struct world *w, const char *name)
{
    kube_get(w->client, kube_path(w->arena, "", "v1", "pods", "default", name, NULL), on_answer, w);
    loop_run_for(w->loop, 20, NULL);
    const struct json *status = json_get(w->body, "status");
    const char *reason = json_get_text(status, "reason", "");
    return arena_printf(w->arena, "%s%s%s", json_get_text(status, "phase", ""), *reason ? " " : "", reason);
}

static void limit_set(struct world *w, const char *name, int seconds)
{
    const char *text = arena_printf(w->arena, "{\"spec\":{\"activeDeadlineSeconds\":%d}}", seconds);
    kube_patch(w->client, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", "default", name, NULL), bytes_of(text), on_answer, w);
    loop_run_for(w->loop, 20, NULL);
    assert_int_equal(w->code, 0);
}

#define CONTAINERS "\"containers\":[{\"name\":\"c\",\"image\":\"nginx\"}]"

static void a_pod_ends_at_its_deadline(void **state)
{
    struct world *w = *state;
    pod_new(w, "p", "\"nodeName\":\"node-0\",\"activeDeadlineSeconds\":5," CONTAINERS);
    loop_run_for(w->loop, 4500, NULL);
    assert_string_equal(state_of(w, "p"), "Running");
    loop_run_for(w->loop, 1500, NULL);
    assert_string_equal(state_of(w, "p"), "Failed DeadlineExceeded");
    const struct json *container = json_item(json_path(w->body, "status", "containerStatuses", NULL), 0);
    assert_int_equal(json_int64(json_path(container, "state", "terminated", "exitCode", NULL), 0), 137);
    loop_run_for(w->loop, 60000, NULL);
    assert_string_equal(state_of(w, "p"), "Failed DeadlineExceeded");
}

/* Whatever kept its status from being written, if it is still there. */
static void the_end_of_a_pod_is_told_until_it_is_known(void **state)
{
    static const struct http_faults all[] = {{.status_409_permille = 1000}, {.status_429_permille = 1000}, {.status_500_permille = 1000},
                                             {.refuse_permille = 1000}};
    struct world *w = *state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *name = arena_printf(w->arena, "p%zu", i);
        pod_new(w, name, "\"nodeName\":\"node-0\",\"activeDeadlineSeconds\":5," CONTAINERS);
        loop_run_for(w->loop, 3000, NULL);
        assert_string_equal(state_of(w, name), "Running");
        w->faults = all[i];
        loop_run_for(w->loop, 8000, NULL);
        w->faults = (struct http_faults){0};
        loop_run_for(w->loop, 8000, NULL);
        assert_string_equal(state_of(w, name), "Failed DeadlineExceeded");
    }
}

static void restarts_do_not_move_the_deadline(void **state)
{
    struct world *w = *state;
    pod_new(w, "p", "\"nodeName\":\"node-0\",\"activeDeadlineSeconds\":10,\"containers\":[{\"name\":\"c\",\"image\":\"busybox\","
                    "\"command\":[\"sh\",\"-c\",\"sleep 2; exit 1\"]}]");
    loop_run_for(w->loop, 9000, NULL);
    assert_int_not_equal(state_of(w, "p")[0], 'F');
    loop_run_for(w->loop, 2000, NULL);
    assert_string_equal(state_of(w, "p"), "Failed DeadlineExceeded");
}

static void a_deadline_can_be_set_later_and_outlives_the_kubelet(void **state)
{
    struct world *w = *state;
    pod_new(w, "p", "\"nodeName\":\"node-0\"," CONTAINERS);
    loop_run_for(w->loop, 20000, NULL);
    limit_set(w, "p", 60);
    loop_run_for(w->loop, 20000, NULL);
    assert_string_equal(state_of(w, "p"), "Running");
    kubelets_free(w->kubelets);
    kubelets_start(w, 1);
    limit_set(w, "p", 50);
    loop_run_for(w->loop, 5000, NULL);
    assert_string_equal(state_of(w, "p"), "Running");
    loop_run_for(w->loop, 5000, NULL);
    assert_string_equal(state_of(w, "p"), "Failed DeadlineExceeded");
    limit_set(w, "p", 40); /* too late to matter */
    pod_new(w, "q", "\"nodeName\":\"node-0\"," CONTAINERS);
    loop_run_for(w->loop, 20000, NULL);
    limit_set(w, "q", 1);
    assert_string_equal(state_of(w, "q"), "Failed DeadlineExceeded");
}

static void a_fast_cluster_has_fast_deadlines(void **state)
{
    struct world *w = *state;
    kubelets_free(w->kubelets);
    kubelets_start(w, 10);
    pod_new(w, "p", "\"nodeName\":\"node-0\",\"activeDeadlineSeconds\":50," CONTAINERS);
    pod_new(w, "q", "\"nodeName\":\"node-0\",\"activeDeadlineSeconds\":50,\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
                    "\"image\":\"busybox\",\"command\":[\"sleep\",\"20\"]}]");
    loop_run_for(w->loop, 4500, NULL);
    assert_string_equal(state_of(w, "p"), "Running");
    assert_string_equal(state_of(w, "q"), "Succeeded");
    loop_run_for(w->loop, 1500, NULL);
    assert_string_equal(state_of(w, "p"), "Failed DeadlineExceeded");
    assert_string_equal(state_of(w, "q"), "Succeeded");
}

static void port_pod(struct world *w, const char *name, const char *node, const char *extra)
{
    pod_new(w, name, arena_printf(w->arena, "\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\",\"image\":\"nginx\",\"ports\":[{"
                                            "\"containerPort\":80,\"hostPort\":8080%s}]}]",
                                  node, extra));
    loop_run_for(w->loop, 1000, NULL);
}

static void a_port_of_a_node_has_one_pod(void **state)
{
    struct world *w = *state;
    port_pod(w, "a", "node-0", "");
    port_pod(w, "b", "node-0", "");
    port_pod(w, "other-node", "node-1", "");
    port_pod(w, "other-protocol", "node-0", ",\"protocol\":\"UDP\"");
    port_pod(w, "address", "node-0", ",\"hostIP\":\"10.0.0.1\"");
    assert_string_equal(state_of(w, "a"), "Running");
    assert_string_equal(state_of(w, "b"), "Failed NodePorts");
    assert_string_equal(json_text(json_path(w->body, "status", "message", NULL), ""),
                        "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports");
    assert_string_equal(state_of(w, "other-node"), "Running");
    assert_string_equal(state_of(w, "other-protocol"), "Running");
    assert_string_equal(state_of(w, "address"), "Failed NodePorts");
    port_pod(w, "c", "node-0", ",\"hostIP\":\"10.0.0.1\",\"protocol\":\"SCTP\"");
    port_pod(w, "d", "node-0", ",\"hostIP\":\"10.0.0.2\",\"protocol\":\"SCTP\"");
    assert_string_equal(state_of(w, "d"), "Running");
    kubelets_free(w->kubelets);
    kubelets_start(w, 1); /* it knows what runs */
    port_pod(w, "e", "node-0", "");
    assert_string_equal(state_of(w, "e"), "Failed NodePorts");
    kube_delete(w->client, kube_path(w->arena, "", "v1", "pods", "default", "a", NULL), bytes_of("{}"), on_answer, w);
    loop_run_for(w->loop, 5000, NULL);
    port_pod(w, "f", "node-0", "");
    assert_string_equal(state_of(w, "f"), "Running");
    limit_set(w, "f", 1);
    loop_run_for(w->loop, 1000, NULL);
    assert_string_equal(state_of(w, "f"), "Failed DeadlineExceeded");
    port_pod(w, "g", "node-0", ""); /* one that has ended gives it back */
    assert_string_equal(state_of(w, "g"), "Running");
}

static void debug(struct world *w, const char *names)
{
    kube_patch(w->client, KUBE_PATCH_STRATEGIC, kube_path(w->arena, "", "v1", "pods", "default", "p", "ephemeralcontainers"),
               bytes_of(arena_printf(w->arena, "{\"spec\":{\"ephemeralContainers\":[%s]}}", names)), on_answer, w);
    loop_run_for(w->loop, 1000, NULL);
    assert_int_equal(w->code, 0);
}

/* "one:running two:terminated " */
static const char *debuggers(struct world *w)
{
    _cleanup_buf_ struct buf out = {0};
    (void)state_of(w, "p");
    JSON_EACH (c, json_path(w->body, "status", "ephemeralContainerStatuses", NULL)) {
        const struct json *state = json_get(c, "state");
        buf_printf(&out, "%s:%s ", json_get_text(c, "name", ""), state && state->first ? state->first->key : "");
    }
    return arena_text(w->arena, out.data ? out.data : "");
}

static const char *debugged_since(struct world *w)
{
    JSON_EACH (c, json_path(w->body, "status", "ephemeralContainerStatuses", NULL))
        if (text_equal(json_get_text(c, "name", ""), "one"))
            return arena_text(w->arena, json_text(json_path(c, "state", "running", "startedAt", NULL), ""));
    return "";
}

static void debug_containers_run_as_long_as_their_pod(void **state)
{
    struct world *w = *state;
    pod_new(w, "p", "\"nodeName\":\"node-0\"," CONTAINERS);
    loop_run_for(w->loop, 1000, NULL);
    assert_string_equal(debuggers(w), "");
    debug(w, "{\"name\":\"one\",\"image\":\"busybox\"}");
    assert_string_equal(debuggers(w), "one:running ");
    const char *since = debugged_since(w);
    kubelets_free(w->kubelets);
    kubelets_start(w, 1);
    debug(w, "{\"name\":\"two\",\"image\":\"busybox\"}");
    assert_string_equal(debuggers(w), "one:running two:running ");
    assert_string_equal(debugged_since(w), since);
    limit_set(w, "p", 1);
    loop_run_for(w->loop, 1000, NULL);
    assert_string_equal(debuggers(w), "one:terminated two:terminated ");
}

/* A pod whose object somebody else still holds when it is deleted. */
static void held_pod(struct world *w, const char *name, const char *spec)
{
    pod_new(w, name, spec);
    kube_patch(w->client, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", "default", name, NULL),
               bytes_of("{\"metadata\":{\"finalizers\":[\"example.com/books\"]}}"), on_answer, w);
    loop_run_for(w->loop, 1500, NULL);
    assert_int_equal(w->code, 0);
}

static void pod_delete(struct world *w, const char *name)
{
    kube_delete(w->client, kube_path(w->arena, "", "v1", "pods", "default", name, NULL), bytes_of("{}"), on_answer, w);
    loop_run_for(w->loop, 5000, NULL);
}

static void a_deleted_pod_that_is_held_has_ended(void **state)
{
    struct world *w = *state;
    held_pod(w, "p", "\"nodeName\":\"node-0\",\"containers\":[{\"name\":\"c\",\"image\":\"nginx\",\"ports\":[{\"containerPort\":80,"
                     "\"hostPort\":8080}]}]");
    held_pod(w, "done", "\"nodeName\":\"node-0\",\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"busybox\","
                        "\"command\":[\"true\"]}]");
    assert_string_equal(state_of(w, "p"), "Running");
    assert_string_equal(state_of(w, "done"), "Succeeded");
    kube_patch(w->client, KUBE_PATCH_STRATEGIC, kube_path(w->arena, "", "v1", "pods", "default", "p", "status"),
               bytes_of("{\"status\":{\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"Told\"}]}}"),
               on_answer, w);
    pod_delete(w, "p");
    pod_delete(w, "done");
    assert_string_equal(state_of(w, "done"), "Succeeded"); /* as before */
    assert_string_equal(state_of(w, "p"), "Failed");
    const struct json *container = json_item(json_path(w->body, "status", "containerStatuses", NULL), 0);
    assert_int_equal(json_int64(json_path(container, "state", "terminated", "exitCode", NULL), 0), 143);
    assert_true(object_condition_true(w->body, "DisruptionTarget")); /* somebody else's condition */
    const char *version = json_text(json_path(w->body, "metadata", "resourceVersion", NULL), "");
    loop_run_for(w->loop, 30000, NULL);
    assert_string_equal(state_of(w, "p"), "Failed");
    assert_string_equal(json_text(json_path(w->body, "metadata", "resourceVersion", NULL), ""), version); /* nothing is written twice */
    port_pod(w, "next", "node-0", ""); /* what it had is free */
    assert_string_equal(state_of(w, "next"), "Running");
    kubelets_free(w->kubelets);
    kubelets_start(w, 1);
    kube_patch(w->client, KUBE_PATCH_MERGE, kube_path(w->arena, "", "v1", "pods", "default", "p", NULL),
               bytes_of("{\"metadata\":{\"finalizers\":null}}"), on_answer, w);
    loop_run_for(w->loop, 10000, NULL);
    assert_string_equal(state_of(w, "p"), "");
    assert_int_equal(w->code, -E_NOTFOUND);
}

#define DEAF(grace) "\"nodeName\":\"node-0\",\"terminationGracePeriodSeconds\":" grace ",\"containers\":[{\"name\":\"c\"," \
                    "\"image\":\"busybox\",\"command\":[\"sh\",\"-c\",\"trap '' TERM; sleep 999\"]}]"

static void a_pod_that_ignores_the_signal_stays_for_its_grace(void **state)
{
    struct world *w = *state;
    pod_new(w, "p", DEAF("60"));
    pod_new(w, "q", DEAF("10"));
    loop_run_for(w->loop, 2000, NULL);
    pod_delete(w, "q");
    assert_string_equal(state_of(w, "q"), "Running");
    assert_true(object_deleting(w->body));
    loop_run_for(w->loop, 7000, NULL);
    assert_string_equal(state_of(w, "q"), "");
    pod_delete(w, "p");
    loop_run_for(w->loop, 50000, NULL);
    assert_string_equal(state_of(w, "p"), "Running");
    kube_delete(w->client, kube_path(w->arena, "", "v1", "pods", "default", "p", NULL), bytes_of("{\"gracePeriodSeconds\":1}"), on_answer,
                w); /* again, with less of it */
    loop_run_for(w->loop, 2000, NULL);
    assert_string_equal(state_of(w, "p"), "");
}

static const char *renewed(struct world *w, const char *node)
{
    kube_get(w->client, kube_path(w->arena, "coordination.k8s.io", "v1", "leases", "kube-node-lease", node, NULL), on_answer, w);
    loop_run_for(w->loop, 20, NULL);
    return arena_text(w->arena, json_text(json_path(w->body, "spec", "renewTime", NULL), ""));
}

static void each_node_has_a_lease_that_is_renewed(void **state)
{
    static const char *const nodes[] = {"node-0", "node-1"};
    struct world *w = *state;
    for (int i = 0; i < 2; i++) {
        const char *first = renewed(w, nodes[i]);
        assert_string_not_equal(first, "");
        loop_run_for(w->loop, 11000, NULL);
        assert_string_not_equal(renewed(w, nodes[i]), first);
    }
    const char *path = kube_path(w->arena, "coordination.k8s.io", "v1", "leases", "kube-node-lease", "node-0", NULL);
    kube_delete(w->client, path, bytes_of("{}"), on_answer, w);
    loop_run_for(w->loop, 25000, NULL);
    assert_string_not_equal(renewed(w, "node-0"), ""); /* made anew */
    kube_delete(w->client, kube_path(w->arena, "", "v1", "nodes", NULL, "node-1", NULL), bytes_of("{}"), on_answer, w);
    loop_run_for(w->loop, 1000, NULL);
    const char *last = renewed(w, "node-1");
    loop_run_for(w->loop, 25000, NULL);
    assert_string_equal(renewed(w, "node-1"), last);
}

/* Kubelets that begin anew count addresses from the first. */
static void a_pod_that_is_taken_over_has_one_address(void **state)
{
    struct world *w = *state;
    const char *spec = "\"nodeName\":\"node-0\",\"containers\":[{\"name\":\"c\",\"image\":\"nginx\"}]";
    pod_new(w, "first", spec);
    loop_run_for(w->loop, 1500, NULL);
    held_pod(w, "second", spec);
    pod_delete(w, "first");
    kubelets_free(w->kubelets);
    kubelets_start(w, 1);
    loop_run_for(w->loop, 2000, NULL);
    pod_delete(w, "second");
    assert_string_equal(state_of(w, "second"), "Failed");
    const struct json *status = json_get(w->body, "status"), *addresses = json_get(status, "podIPs");
    assert_int_equal(addresses->n, 1);
    assert_string_equal(json_get_text(json_item(addresses, 0), "ip", ""), json_get_text(status, "podIP", "-"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pod_ends_at_its_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_of_a_pod_is_told_until_it_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(restarts_do_not_move_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deadline_can_be_set_later_and_outlives_the_kubelet, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fast_cluster_has_fast_deadlines, setup, teardown),
        cmocka_unit_test_setup_teardown(a_port_of_a_node_has_one_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(debug_containers_run_as_long_as_their_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deleted_pod_that_is_held_has_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_ignores_the_signal_stays_for_its_grace, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pod_that_is_taken_over_has_one_address, setup, teardown),
        cmocka_unit_test_setup_teardown(each_node_has_a_lease_that_is_renewed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
