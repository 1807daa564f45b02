#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

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

#define VCJOB "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
#define GROUPS "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"

/* Their status is written while their spec stays text: it is what it was, and is read and checked by whoever writes it. */
static void status_beside_a_spec_that_rests(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, VCJOB,
                              "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"tasks\":[{\"name\":\"w\",\"replicas\":1,\"topologyPolicy\":"
                              "\"best-effort\",\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":"
                              "\"i\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}}]}}"),
                     201);
    assert_non_null(strstr(api->warnings, "spec.tasks[0].topologyPolicy"));
    assert_int_equal(api_post(api, GROUPS,
                              "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"minMember\":2,\"minResources\":{\"cpu\":\"3\"}},\"status\":{"
                              "\"phase\":\"Pending\"}}"),
                     201);
    assert_int_equal(api_patch(api, VCJOB "/j/status", "merge", "{\"status\":{\"state\":{\"phase\":\"Running\"},\"running\":1}}"), 200);
    assert_string_equal(api->warnings, "");
    assert_int_equal(api_patch(api, GROUPS "/g", "merge",
                               "{\"metadata\":{\"annotations\":{\"a\":\"b\"}},\"status\":{\"phase\":\"Inqueue\"}}"),
                     200);
    assert_string_equal(api_text(api, "spec.minResources.cpu"), "3"); /* of the answer */
    assert_int_equal(api_get(api, VCJOB "/j"), 200);
    assert_string_equal(api_text(api, "status.state.phase"), "Running");
    assert_string_equal(api_text(api, "spec.tasks.0.topologyPolicy"), "best-effort");
    assert_string_equal(api_text(api, "spec.queue"), "default");
    assert_string_equal(api_text(api, "metadata.generation"), "1");
    assert_string_equal(api_text(api, "metadata.managedFields.1.subresource"), "status");
    assert_int_equal(api_patch(api, GROUPS "/g", "merge", "{\"metadata\":{\"annotations\":{\"no key\":\"b\"}}}"), 422);
    assert_int_equal(api_patch(api, GROUPS "/g", "merge", "{\"status\":{\"running\":\"many\"}}"), 422);
    assert_int_equal(api_patch(api, GROUPS "/g", "merge", "{\"spec\":{\"minMember\":-1}}"), 422);
    assert_int_equal(api_patch(api, GROUPS "/g", "merge", "{\"spec\":{\"minMember\":1},\"status\":{\"phase\":\"Running\"}}"), 200);
    assert_int_equal(api_get(api, GROUPS "/g"), 200);
    assert_string_equal(api_text(api, "spec.minMember"), "1");
    assert_string_equal(api_text(api, "spec.minResources.cpu"), "3");
    assert_string_equal(api_text(api, "metadata.annotations.a"), "b");
    assert_string_equal(api_text(api, "status.phase"), "Running");
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
    api_get(api, PODS "/p1"); /* another pod was meant: nobody is told that this one goes */
    JSON_EACH (condition, json_path(api->body, "status", "conditions", NULL))
        assert_string_not_equal(json_get_text(condition, "type", ""), "DisruptionTarget");
    assert_int_equal(api_post(api, PODS "/p1/eviction", "{\"deleteOptions\":{\"dryRun\":[\"All\"]}}"), 201);
    api_get(api, PODS "/p1");
    assert_null(json_path(api->body, "metadata", "deletionTimestamp", NULL));
    assert_int_equal(api_post(api, PODS "/p1/eviction", "{\"deleteOptions\":{\"dryRun\":[]}}"), 201);
    api_get(api, PODS "/p1");
    assert_non_null(json_path(api->body, "metadata", "deletionTimestamp", NULL));
    assert_int_equal(api_post(api, PODS "/p2/eviction", "{}"), 429);
    assert_int_equal(api_post(api, PODS "/none/eviction", "{}"), 404);
}

#define SETS "/apis/apps/v1/namespaces/default/statefulsets"

static void owned_pod(struct api *api, const char *name, const char *kind, const char *owner, const char *uid)
{
    char body[600];
    snprintf(body, sizeof body,
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"a\"},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\","
             "\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}",
             name, kind, owner, uid);
    assert_int_equal(api_post(api, PODS, body), 201);
    ready(api, name);
}

static int64_t budget_number(struct api *api, const char *name, const char *field)
{
    api_run(api, 1000);
    char path[200];
    snprintf(path, sizeof path, BUDGETS "/%s", name);
    api_get(api, path);
    return json_int64(json_path(api->body, "status", field, NULL), -1);
}

/* What was read of a pod is kept, and what budgets asked of it: until the pod, or what they ask, is another. */
static void budgets_follow_pods_and_selectors(void **state)
{
    struct api *api = *state;
    char body[300], path[100];
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        pod_make(api, name, "\"nodeName\":\"n\",");
        ready(api, name);
    }
    for (int i = 0; i < 70; i++) { /* more than answers are kept of */
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"b%02d\"},\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}}}}", i,
                 i % 69 ? "other" : "a");
        assert_int_equal(api_post(api, BUDGETS, body), 201);
    }
    assert_int_equal(budget_number(api, "b00", "currentHealthy"), 3);
    assert_int_equal(budget_number(api, "b69", "currentHealthy"), 3);
    assert_int_equal(budget_number(api, "b01", "currentHealthy"), 0);
    snprintf(path, sizeof path, PODS "/p0");
    assert_int_equal(api_patch(api, path, "merge", "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}"), 200);
    assert_int_equal(budget_number(api, "b00", "currentHealthy"), 2);
    assert_int_equal(budget_number(api, "b01", "currentHealthy"), 1);
    assert_int_equal(budget_number(api, "b69", "currentHealthy"), 2);
    assert_int_equal(api_patch(api, BUDGETS "/b00", "merge", "{\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"other\"}}}}"), 200);
    assert_int_equal(budget_number(api, "b00", "currentHealthy"), 1);
    assert_int_equal(api_delete(api, PODS "/p0?gracePeriodSeconds=0", NULL), 200);
    assert_int_equal(budget_number(api, "b00", "expectedPods"), 0);
    pod_make(api, "p0", "\"nodeName\":\"n\","); /* another of that name, with other labels, and not ready */
    assert_int_equal(budget_number(api, "b00", "expectedPods"), 0);
    assert_int_equal(budget_number(api, "b69", "expectedPods"), 3);
    assert_int_equal(budget_number(api, "b69", "currentHealthy"), 2);
}

/* WHY  a pod of a set that has gone, and is not there again yet, is one that is away. */
static void budgets_count_what_controllers_should_have(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, SETS,
                              "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"replicas\":3,\"serviceName\":\"s\",\"selector\":{\"matchLabels\":{"
                              "\"app\":\"a\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":"
                              "\"c\",\"image\":\"i\"}]}}}}"),
                     201);
    char uid[64];
    snprintf(uid, sizeof uid, "%s", api_text(api, "metadata.uid"));
    owned_pod(api, "s-0", "StatefulSet", "s", uid);
    owned_pod(api, "s-1", "StatefulSet", "s", uid);
    assert_int_equal(
        api_post(api, BUDGETS,
                 "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"maxUnavailable\":1,\"selector\":{\"matchLabels\":{\"app\":\"a\"}}}}"),
        201);
    api_run(api, 1000);
    api_get(api, BUDGETS "/b");
    assert_string_equal(api_text(api, "status.expectedPods"), "3");
    assert_string_equal(api_text(api, "status.disruptionsAllowed"), "0");
    assert_int_equal(api_post(api, PODS "/s-0/eviction", "{}"), 429);
    owned_pod(api, "s-2", "StatefulSet", "s", uid);
    assert_int_equal(api_post(api, "/apis/apps/v1/namespaces/default/daemonsets",
                              "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"a\"}},\"template\":{\"metadata\":"
                              "{\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
                     201);
    snprintf(uid, sizeof uid, "%s", api_text(api, "metadata.uid"));
    owned_pod(api, "x-0", "DaemonSet", "x", uid); /* whose controller has no scale: each counts alone */
    owned_pod(api, "x-1", "DaemonSet", "x", uid);
    pod_make(api, "bare", "\"nodeName\":\"n\",");
    ready(api, "bare");
    api_run(api, 1000);
    api_get(api, BUDGETS "/b");
    assert_string_equal(api_text(api, "status.expectedPods"), "6");
    assert_string_equal(api_text(api, "status.disruptionsAllowed"), "1");
    assert_int_equal(api_patch(api, BUDGETS "/b", "merge", "{\"spec\":{\"maxUnavailable\":null,\"minAvailable\":\"50%\"}}"), 200);
    api_run(api, 1000);
    api_get(api, BUDGETS "/b");
    assert_string_equal(api_text(api, "status.desiredHealthy"), "3");
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
    assert_int_equal(api_get(api, PODS "/p/proxy"), 501);
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/services/s/exec"), 404); /* of pods alone */
    assert_int_equal(api_get(api, "/api/v1/pods/p/log"), 400);                         /* which p? */
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/configmaps/c/status"), 404);
    assert_int_equal(api_delete(api, PODS "/p/status", NULL), 405);
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

/* What is no resource is not stored by this way either, however deep it is. */
static void resize_to_resources_only(void **state)
{
    struct api *api = *state;
    _cleanup_buf_ struct buf patch = {0};
    pod_make(api, "p", "\"nodeName\":\"n1\",");
    buf_text(&patch, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"},\"no\":");
    for (int i = 0; i < 120; i++)
        buf_char(&patch, '[');
    for (int i = 0; i < 120; i++)
        buf_char(&patch, ']');
    buf_text(&patch, "}}]}}");
    assert_int_equal(api_patch(api, PODS "/p/resize?fieldValidation=Strict", "merge", patch.data), 400);
    assert_int_equal(api_patch(api, PODS "/p/resize", "merge", patch.data), 200);
    assert_non_null(strstr(api->warnings, "spec.containers[0].resources.no"));
    api_get(api, PODS "/p");
    assert_string_equal(api_text(api, "spec.containers.0.resources.requests.cpu"), "2");
    assert_null(json_get(json_path(json_item(json_path(api->body, "spec", "containers", NULL), 0), "resources", NULL), "no"));
    assert_int_equal(api_patch(api, PODS "/p/resize", "merge",
                               "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"claims\":5}}]}}"),
                     400);
}

/* A pod of a size that no pod may be made with would take no other change either. */
static void resize_to_what_can_be(void **state)
{
    struct api *api = *state;
    pod_make(api, "p", "\"nodeName\":\"n1\",");
    assert_int_equal(api_patch(api, PODS "/p/resize", "strategic",
                               "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"3\"},\"limits\":{"
                               "\"cpu\":\"1\"}}}]}}"),
                     422);
    assert_int_equal(api_patch(api, PODS "/p/resize", "strategic",
                               "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"no/such/name\":\"3\"}}}]}}"),
                     422);
    assert_int_equal(api_patch(api, PODS "/p", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    assert_int_equal(api_patch(api, PODS "/p/status", "merge", "{\"status\":{\"phase\":\"Running\"}}"), 200);
}

/* A namespace gets the finalizers that are sent when they are some, and when it is no trial. */
static void finalizing(void **state)
{
    struct api *api = *state;
    const char *path = "/api/v1/namespaces/n/finalize", *none = "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}";
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(api_put(api, path, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[[[{\"a\":1}]]]}}"), 400);
    assert_int_equal(api_put(api, "/api/v1/namespaces/n/finalize?dryRun=All", none), 200);
    assert_string_equal(api_text(api, "spec.finalizers.0"), "");
    assert_int_equal(api_put(api, "/api/v1/namespaces/gone/finalize?dryRun=All", "{\"spec\":{\"finalizers\":[]}}"), 404);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n"), 200);
    assert_string_equal(api_text(api, "spec.finalizers.0"), "kubernetes");
    assert_int_equal(api_put(api, path, none), 200);
    assert_int_equal(api_get(api, "/api/v1/namespaces/n"), 200);
    assert_string_equal(api_text(api, "spec.finalizers.0"), "");
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

static const char token_path[] = "/api/v1/namespaces/default/serviceaccounts/default/token";

static int token_make(struct api *api, const char *path, const char *spec, char out[100])
{
    int status = api_post(api, path, arena_printf(api->arena, "{\"spec\":%s}", spec));
    snprintf(out, 100, "%s", api_text(api, "status.token"));
    return status;
}

static bool token_good(struct api *api, const char *token, const char *audiences)
{
    api_post(api, "/apis/authentication.k8s.io/v1/tokenreviews",
             arena_printf(api->arena, "{\"spec\":{\"token\":\"%s\"%s}}", token, audiences));
    return strcmp(api_text(api, "status.authenticated"), "true") == 0;
}

/* Nobody pushes out the tokens of others, and a user's own oldest goes first. */
static void tokens_per_user(void **state)
{
    struct api *api = *state;
    char others[100], first[100], last[100];
    const char *other = "/api/v1/namespaces/default/serviceaccounts/other/token";
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/serviceaccounts", "{\"metadata\":{\"name\":\"other\"}}"), 201);
    assert_int_equal(token_make(api, other, "{}", others), 201);
    assert_int_equal(token_make(api, token_path, "{}", first), 201);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(token_make(api, token_path, "{}", last), 201);
        if (i == 0)
            assert_true(token_good(api, first, ""));
    }
    assert_true(token_good(api, others, ""));
    assert_true(token_good(api, last, ""));
    assert_false(token_good(api, first, ""));
}

static const char *claim(struct api *api, const char *name)
{
    return json_text(
        json_item(json_path(api->body, "status", "user", "extra", arena_printf(api->arena, "authentication.kubernetes.io/%s", name), NULL),
                  0),
        "");
}

/* A token for a pod says which and on which node, and is good until the pod is gone. */
static void tokens_are_bound(void **state)
{
    struct api *api = *state;
    char token[100], uid[64], of_node[100];
    assert_int_equal(api_post(api, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(api_post(api, PODS, "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"), 201);
    snprintf(uid, sizeof uid, "%s", api_text(api, "metadata.uid"));
    assert_int_equal(token_make(api, token_path, "{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"b\"}}", token),
                     201);
    assert_true(token_good(api, token, ""));
    assert_string_equal(claim(api, "pod-name"), "b");
    assert_string_equal(claim(api, "pod-uid"), uid);
    assert_string_equal(claim(api, "node-name"), "n");
    assert_true(*claim(api, "node-uid"));
    assert_int_equal(token_make(api, token_path, "{\"boundObjectRef\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"name\":\"n\"}}", of_node),
                     201);
    assert_true(token_good(api, of_node, ""));
    assert_string_equal(claim(api, "node-name"), "n");
    assert_string_equal(claim(api, "pod-name"), "");
    assert_int_equal(api_post(api, token_path, "{\"spec\":{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"none\"}}}"), 404);
    assert_int_equal(api_post(api, token_path, "{\"spec\":{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"b\",\"uid\":\"x\"}}}"), 409);
    assert_int_equal(api_post(api, token_path, "{\"spec\":{\"boundObjectRef\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"name\":\"b\"}}}"), 400);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/serviceaccounts", "{\"metadata\":{\"name\":\"other\"}}"), 201);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/serviceaccounts/other/token",
                              "{\"spec\":{\"boundObjectRef\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"name\":\"b\"}}}"),
                     400);
    assert_int_equal(api_delete(api, PODS "/b?gracePeriodSeconds=0", NULL), 200);
    assert_false(token_good(api, token, ""));
    assert_true(token_good(api, of_node, ""));
}

static void tokens_have_audiences(void **state)
{
    struct api *api = *state;
    char vault[100], both[100];
    assert_int_equal(token_make(api, token_path, "{\"audiences\":[\"vault\"]}", vault), 201);
    assert_string_equal(api_text(api, "spec.audiences.0"), "vault");
    assert_int_equal(token_make(api, token_path, "{\"audiences\":[\"vault\",\"https://kubernetes.default.svc\"]}", both), 201);
    assert_false(token_good(api, vault, ""));
    assert_true(token_good(api, vault, ",\"audiences\":[\"x\",\"vault\"]"));
    assert_string_equal(api_text(api, "status.audiences.0"), "vault");
    assert_true(token_good(api, both, ""));
    assert_false(token_good(api, both, ",\"audiences\":[\"x\"]"));
}

static void tokens_of_an_account_made_anew(void **state)
{
    struct api *api = *state;
    char token[100];
    const char *accounts = "/api/v1/namespaces/default/serviceaccounts", *path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    assert_int_equal(api_post(api, accounts, "{\"metadata\":{\"name\":\"robot\"}}"), 201);
    assert_int_equal(token_make(api, path, "{}", token), 201);
    assert_true(token_good(api, token, ""));
    assert_int_equal(api_delete(api, "/api/v1/namespaces/default/serviceaccounts/robot", NULL), 200);
    assert_false(token_good(api, token, ""));
    assert_int_equal(api_post(api, accounts, "{\"metadata\":{\"name\":\"robot\"}}"), 201);
    assert_false(token_good(api, token, ""));
}

static const char *const files[] = {"capstan.db", "capstan.db-wal", "capstan.db-shm", "lock"};

static bool folder_has(const char *dir, const char *text)
{
    bool found = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        _cleanup_buf_ struct buf path = {0}, content = {0};
        buf_printf(&path, "%s/%s", dir, files[i]);
        FILE *f = fopen(path.data, "rb");
        for (int c; f && (c = getc(f)) != EOF;)
            buf_char(&content, (char)c);
        if (f)
            fclose(f);
        found = found || (content.n && memmem(content.data, content.n, text, strlen(text)));
    }
    return found;
}

static void tokens_outlive_a_restart(void **state)
{
    struct api api;
    char dir[] = "/tmp/capstan-test-tokens-XXXXXX", token[100], expired[100];
    assert_non_null(mkdtemp(dir));
    api_open(&api, dir);
    assert_int_equal(token_make(&api, token_path, "{\"expirationSeconds\":7200}", token), 201);
    assert_int_equal(token_make(&api, token_path, "{\"expirationSeconds\":600}", expired), 201);
    api_run(&api, 601000);
    api_close(&api);
    assert_true(folder_has(dir, "serviceaccount:default:default"));
    assert_false(folder_has(dir, token));
    api_open(&api, dir);
    assert_true(token_good(&api, token, ""));
    api_run(&api, 601000);
    assert_false(token_good(&api, expired, ""));
    api_close(&api);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        _cleanup_buf_ struct buf path = {0};
        buf_printf(&path, "%s/%s", dir, files[i]);
        (void)unlink(path.data); /* not all are there */
    }
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(tokens_per_user),
        WITH_API(tokens_have_audiences),
        WITH_API(tokens_are_bound),
        WITH_API(tokens_of_an_account_made_anew),
        cmocka_unit_test(tokens_outlive_a_restart),
        WITH_API(binding),
        WITH_API(status_beside_a_spec_that_rests),
        WITH_API(eviction),
        WITH_API(budgets_count_what_controllers_should_have),
        WITH_API(budgets_follow_pods_and_selectors),
        WITH_API(scale),
        WITH_API(logs),
        WITH_API(logs_follow),
        WITH_API(refusals),
        WITH_API(tokens),
        WITH_API(resize),
        WITH_API(resize_to_resources_only),
        WITH_API(resize_to_what_can_be),
        WITH_API(finalizing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
