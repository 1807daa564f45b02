/* What Kubernetes' own conformance specs look at, one small test each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../folder.h"
#include "api.h"

#define NS "/api/v1/namespaces/default"

static void status_takes_labels_and_annotations(void **state)
{
    struct api *api = *state;
    const char *patch = "{\"metadata\":{\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"1\"}},\"status\":{\"conditions\":[]}}";
    static const struct {
        const char *collection, *body, *name;
        bool labels, annotations;
    } cases[] = {
        {NS "/services", "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}", "s", true, true},
        {"/apis/apps/v1/namespaces/default/deployments",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"x\":\"y\"}},\"template\":{\"metadata\":{\"labels\":{\"x\":\"y\"}},"
         "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
         "d", false, true},
        {"/apis/kueue.x-k8s.io/v1beta1/resourceflavors", "{\"metadata\":{\"name\":\"f\"}}", "", false, false},
        {"/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "{\"metadata\":{\"name\":\"q\"},\"spec\":{}}", "q", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(api_post(api, cases[i].collection, cases[i].body), 201);
        if (!*cases[i].name)
            continue;
        assert_int_equal(api_patch(api, arena_printf(api->arena, "%s/%s/status", cases[i].collection, cases[i].name), "merge", patch), 200);
        assert_string_equal(api_text(api, "metadata.labels.l"), cases[i].labels ? "1" : "");
        assert_string_equal(api_text(api, "metadata.annotations.a"), cases[i].annotations ? "1" : "");
    }
}

static void binding_is_no_new_generation(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, NS "/pods", "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"), 201);
    assert_string_equal(api_text(api, "metadata.generation"), "1");
    assert_int_equal(api_post(api, NS "/pods/p/binding", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}"),
                     201);
    assert_int_equal(api_get(api, NS "/pods/p"), 200);
    assert_string_equal(api_text(api, "spec.nodeName"), "n");
    assert_string_equal(api_text(api, "metadata.generation"), "1");
}

static char *service(struct api *api, const char *name, const char *type, const char *ports)
{
    return arena_printf(api->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"type\":\"%s\",\"ports\":%s}}", name, type, ports);
}

static int64_t first_node_port(const struct api *api)
{
    return json_get_int64(json_item(json_path(api->body, "spec", "ports", NULL), 0), "nodePort", 0);
}

static void services_have_node_ports(void **state)
{
    struct api *api = *state;
    const char *services = NS "/services";
    assert_int_equal(
        api_post(api, services,
                 service(api, "n", "NodePort", "[{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":81,\"nodePort\":30081}]")),
        201);
    char first[10];
    snprintf(first, sizeof first, "%s", api_text(api, "spec.ports.0.nodePort"));
    assert_in_range(first_node_port(api), 30000, 32767);
    assert_string_equal(api_text(api, "spec.ports.1.nodePort"), "30081");
    assert_int_equal(api_post(api, services, service(api, "l", "LoadBalancer", "[{\"port\":80}]")), 201);
    assert_in_range(first_node_port(api), 30000, 32767);
    assert_string_not_equal(api_text(api, "spec.ports.0.nodePort"), first);
    assert_int_equal(api_post(api, services, service(api, "x", "NodePort", "[{\"port\":80,\"nodePort\":30081}]")), 422);
    assert_non_null(strstr(api_text(api, "message"), "already allocated"));
    assert_int_equal(api_post(api, services, service(api, "x", "NodePort", "[{\"port\":80,\"nodePort\":80}]")), 422);
    assert_non_null(strstr(api_text(api, "message"), "valid range"));
    /* kept by a write that does not say it, gone with the type */
    assert_int_equal(api_put(api, NS "/services/n", service(api, "n", "NodePort", "[{\"name\":\"a\",\"port\":80}]")), 200);
    assert_string_equal(api_text(api, "spec.ports.0.nodePort"), first);
    assert_int_equal(api_patch(api, NS "/services/n", "merge", "{\"spec\":{\"type\":\"ClusterIP\"}}"), 200);
    assert_string_equal(api_text(api, "spec.ports.0.nodePort"), "");
    assert_int_equal(api_post(api, services, service(api, "c", "ClusterIP", "[{\"port\":80}]")), 201);
    assert_string_equal(api_text(api, "spec.ports.0.nodePort"), "");
}

static void volumes_have_a_phase(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/api/v1/persistentvolumes",
                              "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"
                              "\"hostPath\":{\"path\":\"/x\"}}}"),
                     201);
    assert_string_equal(api_text(api, "status.phase"), "Available");
    assert_int_equal(api_post(api, NS "/persistentvolumeclaims",
                              "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
                              "\"storage\":\"1Gi\"}}}}"),
                     201);
    assert_string_equal(api_text(api, "status.phase"), "Pending");
}

static void nodes_of_storage_without_drivers(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/apis/storage.k8s.io/v1/csinodes", "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"drivers\":null}}"), 201);
}

static void events_by_who_reports(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, NS "/events",
                              "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"namespace\":\"default\"},\"source\":{\"component\":\"s\"},"
                              "\"reportingComponent\":\"r\"}"),
                     201);
    assert_int_equal(api_get(api, NS "/events?fieldSelector=reportingComponent=r,source=s"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 1);
    assert_int_equal(api_get(api, NS "/events?fieldSelector=reportingComponent=x"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 0);
    assert_int_equal(api_get(api, "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=reportingController=r"), 200);
    assert_int_equal(json_get(api->body, "items")->n, 1);
}

static void continue_tokens_end(void **state)
{
    struct api *api = *state;
    for (int i = 0; i < 6; i++)
        assert_int_equal(api_post(api, NS "/secrets", arena_printf(api->arena, "{\"metadata\":{\"name\":\"s%d\"}}", i)), 201);
    assert_int_equal(api_get(api, NS "/secrets?limit=2"), 200);
    char *next = arena_printf(api->arena, NS "/secrets?limit=2&continue=%s", api_text(api, "metadata.continue"));
    assert_int_equal(api_get(api, next), 200);
    assert_string_equal(api_text(api, "items.0.metadata.name"), "s2");
    api_run(api, 301000);
    assert_int_equal(api_get(api, next), 410);
    assert_string_equal(api_text(api, "reason"), "Expired");
    /* the rest as it is now, for who can live with it */
    char *rest = arena_printf(api->arena, NS "/secrets?limit=2&continue=%s", api_text(api, "metadata.continue"));
    assert_int_equal(api_delete(api, NS "/secrets/s2", NULL), 200);
    assert_int_equal(api_get(api, rest), 200);
    assert_string_equal(api_text(api, "items.0.metadata.name"), "s3");
    assert_int_equal(api_get(api, NS "/secrets?continue=MCBh"), 400);
}

static void definitions_have_a_status_to_write(void **state)
{
    struct api *api = *state;
    const char *crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_int_equal(api_post(api, crds,
                              "{\"metadata\":{\"name\":\"as.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
                              "\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
                              "\"type\":\"object\"}}}]}}"),
                     201);
    assert_int_equal(api_get(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.test.io/status"), 200);
    assert_int_equal(api_patch(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.test.io/status", "json",
                               "[{\"op\":\"add\",\"path\":\"/status/conditions/-\",\"value\":{\"type\":\"StatusUpdate\",\"status\":\"True\"}}]"),
                     200);
    assert_int_equal(json_path(api->body, "status", "conditions", NULL)->n, 3);
    assert_int_equal(api_get(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/as.test.io"), 200);
    assert_int_equal(json_path(api->body, "status", "conditions", NULL)->n, 3);
    assert_string_equal(api_text(api, "status.acceptedNames.kind"), "A");
}

static void root_certificates_stay(void **state)
{
    struct api *api = *state;
    const char *map = NS "/configmaps/kube-root-ca.crt";
    assert_int_equal(api_delete(api, map, NULL), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, map), 200);
    assert_int_equal(api_put(api, map, "{\"metadata\":{\"name\":\"kube-root-ca.crt\"},\"data\":{\"x\":\"y\"}}"), 200);
    api_run(api, 1000);
    assert_int_equal(api_get(api, map), 200);
    assert_string_equal(api_text(api, "data.x"), "");
    assert_non_null(json_path(api->body, "data", "ca.crt", NULL));
    /* and keeps no namespace from ending */
    assert_int_equal(api_post(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"goes\"}}"), 201);
    assert_int_equal(api_delete(api, "/api/v1/namespaces/goes", NULL), 200);
    api_run(api, 10000);
    assert_int_equal(api_get(api, "/api/v1/namespaces/goes"), 404);
}

/* The server's certificates may be others after a restart: made anew, or made at all. Where they are the same nothing is written. */
static void root_certificates_follow_the_server(void **state)
{
    static const char *const given[] = {NULL, "one", "two", "two"};
    char dir[64];
    struct api *api = &(struct api){0};
    uint64_t rv = 0;
    (void)state;
    folder_make(dir, sizeof dir, "capstan-root");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        api_open_as(api, &(struct apiserver_config){.data_dir = dir, .ca_pem = given[i]});
        assert_int_equal(api_get(api, NS "/configmaps/kube-root-ca.crt"), 200);
        assert_string_equal(json_text(json_get(json_get(api->body, "data"), "ca.crt"), "absent"), given[i] ? given[i] : "");
        api_run(api, 2000);
        assert_int_equal(store_rv(api->server->store) != rv + (i ? STORE_START_JUMP : 0), i < 3);
        rv = store_rv(api->server->store);
        api_close(api);
    }
    folder_remove(dir);
}

static void what_is_applied_has_known_fields(void **state)
{
    struct api *api = *state;
    const char *target = NS "/configmaps/a?fieldManager=m&fieldValidation=Strict";
    assert_int_equal(api_patch(api, target, "apply", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatta: {}\n"), 400);
    assert_string_equal(api_text(api, "message"), "failed to create typed patch object (default/a; v1, Kind=ConfigMap): .datta: field not declared in schema");
    assert_int_equal(api_patch(api, target, "apply", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: a\n  k: b\n"), 400);
    assert_non_null(strstr(api_text(api, "message"), "line 6: key \"k\" already set in map"));
    assert_int_equal(api_post(api, NS "/configmaps?fieldValidation=Strict", "{\"metadata\":{\"name\":\"a\"},\"datta\":{},\"data\":{\"a\":\"1\",\"a\":\"2\"}}"), 400);
    assert_non_null(strstr(api_text(api, "message"), "unknown field \"datta\", duplicate field \"data.a\""));
}

static void the_server_is_a_service(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_get(api, NS "/services/kubernetes"), 200);
    assert_int_equal(api_get(api, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"), 200);
    assert_string_equal(api_text(api, "spec.cidrs.0"), "10.96.0.0/16");
}

static void addresses_are_names(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *name;
        int status;
    } cases[] = {{"255.255.255.255", 201}, {"fe80::42:1dff:fe84:f9e2", 201}, {"1.2.3", 422}, {"fe80:0::1", 422}, {"name", 422}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(api_post(api, "/apis/networking.k8s.io/v1/ipaddresses",
                                  arena_printf(api->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"parentRef\":{\"resource\":\"r\",\"name\":\"n\"}}}",
                                               cases[i].name)),
                         cases[i].status);
    assert_int_equal(api_get(api, "/apis/networking.k8s.io/v1/ipaddresses/fe80::42:1dff:fe84:f9e2"), 200);
}

#define CSRS "/apis/certificates.k8s.io/v1/certificatesigningrequests"

static void certificates_are_asked_for(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, CSRS,
                              "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"request\":\"Y3Ny\",\"signerName\":\"example.com/s\",\"usages\":[\"server auth\"],"
                              "\"username\":\"somebody\"},\"status\":{\"certificate\":\"Y2VydA==\"}}"),
                     201);
    assert_string_equal(api_text(api, "spec.username"), "system:admin");
    assert_string_equal(api_text(api, "status.certificate"), "");
    assert_int_equal(api_patch(api, CSRS "/c", "merge", "{\"spec\":{\"signerName\":\"other.io/s\"},\"metadata\":{\"annotations\":{\"a\":\"b\"}}}"), 200);
    assert_string_equal(api_text(api, "spec.signerName"), "example.com/s");
    /* approval says nothing of the certificate, status nothing of approval */
    assert_int_equal(api_patch(api, CSRS "/c/approval", "merge",
                               "{\"metadata\":{\"annotations\":{\"x\":\"y\"}},\"status\":{\"certificate\":\"Y2VydA==\",\"conditions\":[{\"type\":\"Approved\","
                               "\"status\":\"True\",\"reason\":\"r\"}]}}"),
                     200);
    assert_string_equal(api_text(api, "status.conditions.0.type"), "Approved");
    assert_true(*api_text(api, "status.conditions.0.lastUpdateTime"));
    assert_string_equal(api_text(api, "metadata.annotations.x"), "y");
    assert_string_equal(api_text(api, "status.certificate"), "");
    assert_int_equal(api_patch(api, CSRS "/c/status", "merge",
                               "{\"status\":{\"certificate\":\"Y2VydA==\",\"conditions\":[{\"type\":\"Denied\",\"status\":\"True\"},{\"type\":\"Failed\",\"status\":\"True\"}]}}"),
                     200);
    assert_string_equal(api_text(api, "status.conditions.0.type"), "Approved");
    assert_string_equal(api_text(api, "status.conditions.1.type"), "Failed");
    assert_int_equal(json_path(api->body, "status", "conditions", NULL)->n, 2);
    assert_string_equal(api_text(api, "status.certificate"), "Y2VydA==");
    assert_int_equal(api_get(api, CSRS "/c/approval"), 200);
    assert_int_equal(api_get(api, NS "/configmaps/kube-root-ca.crt/approval"), 404);
}

#define POD(spec) "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]" spec "}}"

static void runtime_classes_are_taken(void **state)
{
    struct api *api = *state;
    const char *classes = "/apis/node.k8s.io/v1/runtimeclasses", *named = POD(",\"runtimeClassName\":\"kata\"");
    assert_int_equal(api_post(api, NS "/pods?dryRun=All", named), 403);
    assert_string_equal(api_text(api, "message"), "pods \"p\" is forbidden: pod rejected: RuntimeClass \"kata\" not found");
    assert_int_equal(api_post(api, classes,
                              "{\"metadata\":{\"name\":\"kata\"},\"handler\":\"kata\",\"overhead\":{\"podFixed\":{\"cpu\":\"10m\"}},\"scheduling\":{"
                              "\"nodeSelector\":{\"vm\":\"yes\"},\"tolerations\":[{\"key\":\"vm\",\"operator\":\"Exists\"}]}}"),
                     201);
    assert_int_equal(api_post(api, NS "/pods?dryRun=All", named), 201);
    assert_string_equal(api_text(api, "spec.overhead.cpu"), "10m");
    assert_string_equal(api_text(api, "spec.nodeSelector.vm"), "yes");
    assert_int_equal(api_post(api, NS "/pods", POD(",\"runtimeClassName\":\"kata\",\"overhead\":{\"cpu\":\"1\"}")), 403);
    assert_int_equal(api_post(api, NS "/pods", POD(",\"runtimeClassName\":\"kata\",\"nodeSelector\":{\"vm\":\"no\"}")), 403);
    assert_non_null(strstr(api_text(api, "message"), "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes"));
    assert_int_equal(api_post(api, NS "/pods", POD(",\"overhead\":{\"cpu\":\"1\"}")), 403);
}

static void sysctls_have_names(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, NS "/pods",
                              POD(",\"securityContext\":{\"sysctls\":[{\"name\":\"foo-\",\"value\":\"1\"},{\"name\":\"kernel.shm_max\",\"value\":\"1\"},"
                                  "{\"name\":\"net/ipv4/x\",\"value\":\"1\"},{\"name\":\"bar..\",\"value\":\"1\"}]}")),
                     422);
    assert_non_null(strstr(api_text(api, "message"), "Invalid value: \"foo-\""));
    assert_non_null(strstr(api_text(api, "message"), "Invalid value: \"bar..\""));
    assert_null(strstr(api_text(api, "message"), "kernel.shm_max\""));
    assert_null(strstr(api_text(api, "message"), "net/ipv4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(status_takes_labels_and_annotations),
        WITH_API(binding_is_no_new_generation),
        WITH_API(volumes_have_a_phase),
        WITH_API(services_have_node_ports),
        WITH_API(nodes_of_storage_without_drivers),
        WITH_API(events_by_who_reports),
        WITH_API(continue_tokens_end),
        WITH_API(definitions_have_a_status_to_write),
        WITH_API(root_certificates_stay),
        cmocka_unit_test(root_certificates_follow_the_server),
        WITH_API(what_is_applied_has_known_fields),
        WITH_API(runtime_classes_are_taken),
        WITH_API(sysctls_have_names),
        WITH_API(certificates_are_asked_for),
        WITH_API(the_server_is_a_service),
        WITH_API(addresses_are_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
