/* Endpoints and slices of a Service, from pods; services and pods as YAML, the result as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "jobs/apps/endpoints_make.h"
#include "wire/yaml.h"

static struct json *parse(struct arena *a, const char *yaml)
{
    struct json *docs;
    struct err e = {0};
    if (yaml_parse(a, bytes_of(yaml), &docs, NULL, &e) < 0)
        fail_msg("%s\n%s", e.text, yaml);
    return json_item(docs, 0);
}

static const char *text_of(struct arena *a, const struct json *v)
{
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, v);
    return arena_text(a, out.data);
}

#define POD(name, ip, more)                                                                                            \
    endpoints_pod_view(a, parse(a, "metadata: {namespace: ns, name: " name ", uid: u-" name ", labels: {app: web}" more "}\n" \
                                   "spec: {nodeName: n1, hostname: " name ", subdomain: web, containers: [{name: c, "    \
                                   "ports: [{name: http, containerPort: 8080, protocol: TCP}]}]}\n"                      \
                                   "status: {phase: Running, podIP: " ip ", conditions: [{type: Ready, status: 'True'}]}\n"))
#define UNREADY(name, ip)                                                                                              \
    endpoints_pod_view(a, parse(a, "metadata: {namespace: ns, name: " name ", uid: u-" name "}\nspec: {nodeName: n2}\n"  \
                                   "status: {phase: Running, podIP: " ip ", conditions: [{type: Ready, status: 'False'}]}\n"))
#define SERVICE(name, spec) parse(a, "metadata: {namespace: ns, name: " name ", uid: u}\nspec: {selector: {app: web}, " spec "}\n")
#define REF(name) "\"targetRef\":{\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"u-" name "\"}"

static void pods_without_an_address_are_none(void **state)
{
    struct arena *a = *state;
    assert_null(endpoints_pod_view(a, parse(a, "metadata: {name: p}\nstatus: {phase: Pending}\n")));
    assert_null(endpoints_pod_view(a, parse(a, "metadata: {name: p}\nstatus: {phase: Succeeded, podIP: 10.0.0.1}\n")));
    assert_null(endpoints_pod_view(a, parse(a, "metadata: {name: p}\nstatus: {phase: Failed, podIP: 10.0.0.1}\n")));
    assert_non_null(endpoints_pod_view(a, parse(a, "metadata: {name: p}\nstatus: {phase: Running, podIP: 10.0.0.1}\n")));
}

static void addresses_are_ready_or_not(void **state)
{
    struct arena *a = *state;
    const struct json *pods[] = {POD("a", "10.0.0.1", ""), UNREADY("b", "10.0.0.2"),
                                 POD("c", "10.0.0.3", ", deletionTimestamp: '2026-01-01T00:00:00Z'")};
    const struct json *service = SERVICE("other", "ports: [{port: 80, targetPort: 8080, protocol: TCP}]");
    assert_string_equal(text_of(a, json_get(endpoints_make(a, service, pods, 3), "subsets")),
                        "[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"nodeName\":\"n1\"," REF("a") "}],"
                        "\"notReadyAddresses\":[{\"ip\":\"10.0.0.2\",\"nodeName\":\"n2\"," REF("b") "}],"
                        "\"ports\":[{\"port\":8080,\"protocol\":\"TCP\"}]}]");
    const struct json *slice = json_item(endpoints_make_slices(a, service, pods, 3), 0);
    const char *const conditions[] = {"{\"ready\":true,\"serving\":true,\"terminating\":false}",
                                      "{\"ready\":false,\"serving\":false,\"terminating\":false}",
                                      "{\"ready\":false,\"serving\":true,\"terminating\":true}"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(text_of(a, json_get(json_item(json_get(slice, "endpoints"), i), "conditions")), conditions[i]);
    assert_string_equal(text_of(a, json_get(slice, "ports")), "[{\"port\":8080,\"protocol\":\"TCP\",\"name\":\"\"}]");
    /* a service that publishes all */
    service = SERVICE("other", "publishNotReadyAddresses: true, ports: [{port: 80, protocol: TCP}]");
    const struct json *subset = json_item(json_get(endpoints_make(a, service, pods, 3), "subsets"), 0);
    assert_int_equal(json_get(subset, "addresses")->n, 3);
    assert_null(json_get(subset, "notReadyAddresses"));
}

static void headless_services_name_hosts(void **state)
{
    struct arena *a = *state;
    const struct json *pods[] = {POD("a", "10.0.0.1", "")};
    const struct json *made = endpoints_make(a, SERVICE("web", "clusterIP: None"), pods, 1);
    assert_string_equal(text_of(a, json_get(made, "subsets")),
                        "[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"hostname\":\"a\",\"nodeName\":\"n1\"," REF("a") "}]}]");
    assert_string_equal(json_text(json_path(made, "metadata", "labels", "service.kubernetes.io/headless", NULL), "absent"), "");
    const struct json *slice = json_item(endpoints_make_slices(a, SERVICE("web", "clusterIP: None"), pods, 1), 0);
    assert_string_equal(json_get_text(json_item(json_get(slice, "endpoints"), 0), "hostname", ""), "a");
    assert_int_equal(json_get(slice, "ports")->n, 0);
}

static void named_ports_are_the_pods(void **state)
{
    struct arena *a = *state;
    const struct json *pods[] = {POD("a", "10.0.0.1", ""), UNREADY("b", "10.0.0.2")}; /* b has no port http */
    const struct json *service = SERVICE("web", "ports: [{name: x, port: 80, targetPort: http, protocol: TCP}]");
    const struct json *subsets = json_get(endpoints_make(a, service, pods, 2), "subsets");
    assert_int_equal(subsets->n, 1);
    assert_string_equal(text_of(a, json_get(json_item(subsets, 0), "ports")), "[{\"name\":\"x\",\"port\":8080,\"protocol\":\"TCP\"}]");
    assert_null(json_get(json_item(subsets, 0), "notReadyAddresses"));
    /* pods that serve different ports stand in different subsets and slices */
    service = SERVICE("web", "ports: [{name: x, port: 80, targetPort: http, protocol: TCP}, {name: y, port: 81, protocol: TCP}]");
    assert_int_equal(json_get(endpoints_make(a, service, pods, 2), "subsets")->n, 2);
    assert_int_equal(endpoints_make_slices(a, service, pods, 2)->n, 2);
}

static void slices_hold_a_hundred(void **state)
{
    struct arena *a = *state;
    const struct json *pods[250], *service = SERVICE("web", "ports: [{port: 80, protocol: TCP}]");
    for (int i = 0; i < 250; i++)
        pods[i] = UNREADY("b", "10.0.0.2");
    const struct json *slices = endpoints_make_slices(a, service, pods, 250), *fewer = endpoints_make_slices(a, service, pods, 150);
    assert_int_equal(slices->n, 3);
    assert_int_equal(json_get(json_item(slices, 2), "endpoints")->n, 50);
    for (size_t i = 0; i < 2; i++) /* the names stay when there are fewer */
        assert_string_equal(json_text(json_path(json_item(slices, i), "metadata", "name", NULL), "a"),
                            json_text(json_path(json_item(fewer, i), "metadata", "name", NULL), "b"));
    assert_string_not_equal(json_text(json_path(json_item(slices, 0), "metadata", "name", NULL), ""),
                            json_text(json_path(json_item(slices, 1), "metadata", "name", NULL), ""));
    assert_int_equal(endpoints_make_slices(a, service, NULL, 0)->n, 1);
    const struct json **many = arena_alloc(a, 1001 * sizeof *many);
    for (int i = 0; i < 1001; i++)
        many[i] = pods[0];
    const struct json *made = endpoints_make(a, service, many, 1001);
    assert_int_equal(json_get(json_item(json_get(made, "subsets"), 0), "notReadyAddresses")->n, 1000);
    assert_string_equal(json_text(json_path(made, "metadata", "annotations", "endpoints.kubernetes.io/over-capacity", NULL), ""), "truncated");
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods_without_an_address_are_none), TEST(addresses_are_ready_or_not), TEST(headless_services_name_hosts),
        TEST(named_ports_are_the_pods),         TEST(slices_hold_a_hundred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
