#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "exchange.h"

#define PODS "/api/v1/namespaces/default/pods"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

static void pod_make(struct api *api, const char *name, const char *spec)
{
    char body[400];
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"a\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}",
             name, spec);
    assert_int_equal(api_post(api, PODS, body), 201);
}

static void binding(void **state)
{
    struct api *api = *state;
    pod_make(api, "p", "");
    const char *bind = "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"capstan.dev/"
                       "devices\":\"0,1\"}},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}";
    assert_int_equal(
        api_post(api, PODS "/p/binding", "{\"metadata\":{\"uid\":\"other\"},\"target\":{\"name\":\"n1\"}}"), 409);
    assert_int_equal(api_post(api, PODS "/p/binding", "{\"target\":{}}"), 422);
    assert_int_equal(api_post(api, PODS "/p/binding", "{\"metadata\":{\"name\":\"q\"},\"target\":{\"name\":\"n1\"}}"),
                     400);
    assert_int_equal(api_post(api, PODS "/none/binding", "{\"target\":{\"name\":\"n1\"}}"), 404);
    assert_int_equal(api_post(api, PODS "/p/binding?dryRun=All", bind), 201);
    assert_int_equal(api_post(api, PODS "/p/binding", bind), 201);
    assert_string_equal(api_text(api, "status"), "Success");
    assert_int_equal(api_post(api, PODS "/p/binding", bind), 409);
    assert_non_null(strstr(api_text(api, "message"), "already assigned to node \"n1\""));
    assert_string_equal(api_text(api, "reason"), "Conflict");
    api_get(api, PODS "/p");
    assert_string_equal(api_text(api, "spec.nodeName"), "n1");
    assert_string_equal(json_text(json_path(api->body, "metadata", "annotations", "capstan.dev/devices", NULL), ""),
                        "0,1");
    assert_string_equal(api_text(api, "status.conditions.0.type"), "PodScheduled");
    assert_string_equal(api_text(api, "status.conditions.0.status"), "True");
    pod_make(api, "gated", "\"schedulingGates\":[{\"name\":\"g\"}],");
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/bindings",
                              "{\"metadata\":{\"name\":\"gated\"},\"target\":{\"name\":\"n1\"}}"),
                     409);
    pod_make(api, "q", "");
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/bindings",
                              "{\"metadata\":{\"name\":\"q\"},\"target\":{\"name\":\"n1\"}}"),
                     201);
}

static void ready(struct api *api, const char *name)
{
    char target[100];
    snprintf(target, sizeof target, PODS "/%s/status", name);
    assert_int_equal(
        api_patch(api, target, "merge",
                  "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"),
        200);
}

static void eviction(void **state)
{
    struct api *api = *state;
    pod_make(api, "p1", "\"nodeName\":\"n\",");
    pod_make(api, "p2", "\"nodeName\":\"n\",");
    ready(api, "p1");
    ready(api, "p2");
    assert_int_equal(api_post(api, BUDGETS,
                              "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":\"100%\",\"selector\":{"
                              "\"matchLabels\":{\"app\":\"a\"}}}}"),
                     201);
    api_run(api, 1000);
    api_get(api, BUDGETS "/b");
    assert_string_equal(api_text(api, "status.expectedPods"), "2");
    assert_string_equal(api_text(api, "status.currentHealthy"), "2");
    assert_string_equal(api_text(api, "status.disruptionsAllowed"), "0");
    assert_int_equal(api_post(api, PODS "/p1/eviction", "{}"), 429);
    assert_string_equal(api_text(api, "reason"), "TooManyRequests");
    assert_string_equal(api_text(api, "message"), "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_string_equal(api_text(api, "details.causes.0.reason"), "DisruptionBudget");
    assert_int_equal(api_patch(api, BUDGETS "/b", "merge", "{\"spec\":{\"minAvailable\":1}}"), 200);
    assert_int_equal(api_post(api, PODS "/p1/eviction", "{\"deleteOptions\":{\"preconditions\":{\"uid\":\"other\"}}}"),
                     409);
    assert_int_equal(api_post(api, PODS "/p1/eviction", "{}"), 201);
    api_get(api, PODS "/p1");
    assert_non_null(json_path(api->body, "metadata", "deletionTimestamp", NULL));
    assert_int_equal(api_post(api, PODS "/p2/eviction", "{}"), 429);
    assert_int_equal(api_post(api, PODS "/none/eviction", "{}"), 404);
}

static void scale(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, DEPLOYMENTS,
                              "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{"
                              "\"app\":\"d\"}},\"template\":{"
                              "\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                              "\"image\":\"i\"}]}}}}"),
                     201);
    assert_int_equal(api_get(api, DEPLOYMENTS "/d/scale"), 200);
    assert_string_equal(api_text(api, "kind"), "Scale");
    assert_string_equal(api_text(api, "spec.replicas"), "2");
    assert_string_equal(api_text(api, "status.selector"), "app=d");
    assert_int_equal(api_patch(api, DEPLOYMENTS "/d/scale", "merge", "{\"spec\":{\"replicas\":5}}"), 200);
    assert_string_equal(api_text(api, "spec.replicas"), "5");
    assert_int_equal(
        api_put(api, DEPLOYMENTS "/d/scale", "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":6}}"),
        409);
    assert_int_equal(api_put(api, DEPLOYMENTS "/d/scale", "{\"spec\":{\"replicas\":0}}"), 200);
    assert_int_equal(api_patch(api, DEPLOYMENTS "/d/scale", "merge", "{\"spec\":{\"replicas\":-1}}"), 422);
    assert_int_equal(api_patch(api, DEPLOYMENTS "/d/scale", "merge", "{\"spec\":{\"replicas\":\"x\"}}"), 422);
    assert_int_equal(api_patch(api, DEPLOYMENTS "/d/scale", "merge", "{"), 400);
    api_get(api, DEPLOYMENTS "/d");
    assert_string_equal(api_text(api, "spec.replicas"), "0");
    assert_string_equal(api_text(api, "metadata.generation"), "3");
    assert_int_equal(api_get(api, DEPLOYMENTS "/none/scale"), 404);
    assert_int_equal(api_get(api, PODS "/none/scale"), 404);
}

/* ---- logs ---- */

static const char *log_text;

static bool pod_log(void *ctx, const char *ns, const char *name, const char *container, bool previous, struct buf *out)
{
    if (previous || !log_text)
        return false;
    buf_text(out, log_text);
    return true;
}

static const struct apiserver_node_ops nodes = {.pod_log = pod_log};

static void log_is(struct api *api, const char *query, int status, const char *text)
{
    struct exchange e;
    char target[200];
    snprintf(target, sizeof target, PODS "/p/log%s", query);
    exchange_open(&e, api, "GET", target, NULL, NULL);
    assert_int_equal(e.status, status);
    if (status == 200)
        assert_string_equal(e.text.data ? e.text.data : "", text);
    else
        assert_non_null(strstr(e.text.data, text));
    exchange_close(&e);
}

static void logs(void **state)
{
    struct api *api = *state;
    apiserver_set_nodes(api->server, &nodes, NULL);
    pod_make(api, "p", "\"nodeName\":\"n\",");
    log_text = NULL;
    log_is(api, "", 400, "waiting to start");
    log_text = "2025-12-31T23:00:00Z one\n2025-12-31T23:59:50Z two\n2025-12-31T23:59:59Z three\n";
    log_is(api, "", 200, "one\ntwo\nthree\n");
    log_is(api, "?container=c&tailLines=1", 200, "three\n");
    log_is(api, "?tailLines=0", 200, "");
    log_is(api, "?tailLines=9", 200, "one\ntwo\nthree\n");
    log_is(api, "?sinceSeconds=60", 200, "two\nthree\n");
    log_is(api, "?sinceTime=2025-12-31T23:59:55Z", 200, "three\n");
    log_is(api, "?tailLines=1&timestamps=true", 200, "2025-12-31T23:59:59Z three\n");
    log_is(api, "?limitBytes=5", 200, "one\nt");
    log_is(api, "?container=x", 400, "container x is not valid for pod p");
    log_is(api, "?previous=true", 400, "previous terminated container");
    log_is(api, "?tailLines=-1", 400, "tailLines");
}

static void logs_follow(void **state)
{
    struct api *api = *state;
    struct exchange e;
    apiserver_set_nodes(api->server, &nodes, NULL);
    pod_make(api, "p", "\"nodeName\":\"n\",");
    ready(api, "p");
    log_text = "2025-12-31T23:00:00Z one\n";
    exchange_open(&e, api, "GET", PODS "/p/log?follow=true", NULL, NULL);
    exchange_pull(&e);
    assert_string_equal(e.text.data, "one\n");
    log_text = "2025-12-31T23:00:00Z one\n2025-12-31T23:00:01Z two\n";
    api_run(api, 1000);
    exchange_pull(&e);
    assert_string_equal(e.text.data, "one\ntwo\n");
    assert_false(e.ended);
    api_patch(api, PODS "/p/status", "merge", "{\"status\":{\"phase\":\"Succeeded\"}}");
    log_text = "2025-12-31T23:00:00Z one\n2025-12-31T23:00:01Z two\n2025-12-31T23:00:02Z end\n";
    api_run(api, 1000);
    exchange_pull(&e);
    assert_string_equal(e.text.data, "one\ntwo\nend\n");
    assert_true(e.ended);
    exchange_close(&e);
}

static void refusals(void **state)
{
    struct api *api = *state;
    pod_make(api, "p", "");
    assert_int_equal(api_get(api, PODS "/p/exec"), 501);
    assert_non_null(strstr(api_text(api, "message"), "simulated"));
    assert_int_equal(api_post(api, PODS "/p/attach", ""), 501);
    assert_int_equal(api_get(api, PODS "/p/nothing"), 404);
    assert_int_equal(api_get(api, PODS "/p/binding"), 405);
    assert_int_equal(api_delete(api, PODS "/p/log", NULL), 405);
}

static void resize(void **state)
{
    struct api *api = *state;
    pod_make(api, "p", "\"nodeName\":\"n1\",");
    assert_int_equal(api_patch(api, PODS "/p/resize", "strategic",
                               "{\"spec\":{\"nodeName\":\"other\",\"containers\":[{\"name\":\"c\",\"resources\":{"
                               "\"requests\":{\"cpu\":\"2\"}}}]}}"),
                     200);
    api_get(api, PODS "/p");
    assert_string_equal(api_text(api, "spec.containers.0.resources.requests.cpu"), "2");
    assert_string_equal(api_text(api, "spec.nodeName"), "n1");
    assert_int_equal(
        api_patch(api, PODS "/p/resize", "strategic",
                  "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"lots\"}}}]}}"),
        422);
    assert_int_equal(api_patch(api, PODS "/none/resize", "merge", "{}"), 404);
}

static void tokens(void **state)
{
    struct api *api = *state;
    const char *path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    assert_int_equal(api_post(api, path, "{\"spec\":{\"expirationSeconds\":600}}"), 201);
    assert_string_equal(api_text(api, "status.expirationTimestamp"), "2026-01-01T00:10:00Z");
    char review[300];
    snprintf(review, sizeof review, "{\"spec\":{\"token\":\"%s\"}}", api_text(api, "status.token"));
    assert_int_equal(api_post(api, "/apis/authentication.k8s.io/v1/tokenreviews", review), 201);
    assert_string_equal(api_text(api, "status.user.username"), "system:serviceaccount:default:default");
    api_run(api, 601000);
    api_post(api, "/apis/authentication.k8s.io/v1/tokenreviews", review);
    assert_string_equal(api_text(api, "status.authenticated"), "false");
    assert_int_equal(api_post(api, path, "{\"spec\":{\"expirationSeconds\":5}}"), 422);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/serviceaccounts/nobody/token", "{}"), 404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(binding, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(eviction, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(scale, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(logs, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(logs_follow, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(refusals, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(tokens, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(resize, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
