/* Discovery, OpenAPI, who may ask (hosts, tokens, roles), and kinds that come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "../folder.h"
#include "exchange.h"

#define V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA1 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

static void answers(struct api *api, const char *target, const char *accept, int status, const char *type,
                    const char *text)
{
    struct exchange e;
    struct err err = {0};
    exchange_open(&e, api, "GET", target, NULL, accept, NULL);
    assert_int_equal(e.status, status);
    assert_string_equal(e.type, type);
    assert_non_null(strstr(e.text.data ? e.text.data : "", text));
    if (strstr(type, "json") && !json_parse(e.arena, buf_view(&e.text), NULL, &err))
        fail_msg("%s: %s", target, err.text);
    exchange_close(&e);
}

static void both_forms(void **state)
{
    struct api *api = *state;
    answers(api, "/apis", "accept: " V2 "," V2BETA1 ",application/json", 200, V2, "\"apidiscovery.k8s.io/v2\"");
    answers(api, "/apis", "accept: " V2BETA1 ",application/json", 200, V2BETA1, "\"apidiscovery.k8s.io/v2beta1\"");
    answers(api, "/api", "accept: " V2 ",application/json", 200, V2,
            "{\"subresource\":\"eviction\",\"responseKind\":{\"group\":\"policy\"");
    answers(api, "/api", "accept: application/json, */*", 200, "application/json", "\"versions\":[\"v1\"]");
    answers(api, "/apis", "accept: application/json", 200, "application/json",
            "{\"name\":\"batch\",\"versions\":[{\"groupVersion\":\"batch/v1\"");
    answers(api, "/apis/kueue.x-k8s.io/", "accept: application/json", 200, "application/json",
            "\"preferredVersion\":{\"groupVersion\":\"kueue.x-k8s.io/v1beta2\"");
    answers(api, "/apis/batch/v1", "accept: application/json", 200, "application/json", "{\"name\":\"jobs/status\"");
    answers(api, "/api/v1", "accept: application/json", 200, "application/json",
            "\"name\":\"pods/eviction\",\"singularName\":\"\",\"namespaced\":true,"
            "\"group\":\"policy\",\"version\":\"v1\",\"kind\":\"Eviction\"");
    answers(api, "/", "accept: application/json", 200, "application/json", "\"/apis/batch/v1\"");
    answers(api, "/apis/batch/v9", "accept: application/json", 404, "application/json", "could not find");
    answers(api, "/version/", "accept: application/json", 200, "application/json", "\"minor\":\"32\"");
    answers(api, "/healthz", "accept: */*", 200, "text/plain; charset=utf-8", "ok");
    answers(api, "/livez/ping", "accept: */*", 200, "text/plain; charset=utf-8", "ok");
    answers(api, "/readyz/nonsense", "accept: */*", 404, "application/json", "");
    answers(api, "/openapi/v2", "accept: application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200,
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "2.0");
    answers(api, "/openapi/v2", "accept: application/json", 200, "application/json", "\"io.k8s.api.core.v1.Pod\":{");
    answers(api, "/openapi/v2", "accept: */*", 200, "application/json", "\"swagger\":\"2.0\"");
}

/* The answer to a review has no metadata and is no Table: who takes nothing else is told so. */
static void reviews_are_no_tables(void **state)
{
    static const char *const accepts[] = {"accept: application/json;as=Table;v=v1;g=meta.k8s.io",
                                          "accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json"};
    for (int i = 0; i < 2; i++) {
        struct exchange e;
        exchange_open(&e, *state, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                      "{\"spec\":{\"nonResourceAttributes\":{\"path\":\"/\",\"verb\":\"get\"}}}", accepts[i], NULL);
        assert_int_equal(e.status, i ? 201 : 406);
        exchange_close(&e);
    }
}

/* Metrics come last: their pods and nodes must not win over core's. */
static void group_order(void **state)
{
    struct exchange e;
    exchange_open(&e, *state, "GET", "/apis", NULL, "accept: application/json", NULL);
    const char *metrics = strstr(e.text.data, "\"name\":\"metrics.k8s.io\"");
    assert_non_null(metrics);
    assert_null(strstr(metrics + 10, "\"name\":\""));
    exchange_close(&e);
}

static void unchanged(void **state)
{
    struct api *api = *state;
    struct exchange e, again;
    char header[100];
    exchange_open(&e, api, "GET", "/apis", NULL, "accept: " V2, NULL);
    snprintf(header, sizeof header, "if-none-match: %s", e.etag);
    exchange_open(&again, api, "GET", "/apis", NULL, "accept: " V2, header, NULL);
    assert_int_equal(again.status, 304);
    assert_int_equal(again.text.n, 0);
    exchange_close(&again);
    exchange_close(&e);
}

static const char widget_crd[] = "{\"metadata\":{\"name\":\"widgets.test.io\"},\"spec\":{\"group\":\"test.io\","
                                 "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":"
                                 "\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                                 "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
                                 "\"spec\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

static void kinds_come_and_go(void **state)
{
    struct api *api = *state;
    const char *crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               *widgets = "/apis/test.io/v1/namespaces/default/widgets";
    assert_int_equal(api_get(api, widgets), 404);
    assert_int_equal(api_post(api, crds, widget_crd), 201);
    assert_string_equal(api_text(api, "status.conditions.1.type"), "Established");
    assert_string_equal(api_text(api, "status.acceptedNames.listKind"), "WidgetList");
    assert_string_equal(api_text(api, "status.storedVersions.0"), "v1");
    answers(api, "/apis/test.io/v1", "accept: application/json", 200, "application/json", "\"widgets\"");
    answers(api, "/openapi/v3", "accept: application/json", 200, "application/json", "apis/test.io/v1");
    answers(api, "/openapi/v3/apis/test.io/v1", "accept: application/json", 200, "application/json", "Widget");
    answers(api, "/openapi/v2", "accept: application/json", 200, "application/json", "\"io.test.v1.Widget\":{");
    assert_int_equal(api_post(api, widgets, "{\"metadata\":{\"name\":\"w\"},\"spec\":{\"a\":1}}"), 201);
    struct api_watch *w = api_watch_open(api, "/apis/test.io/v1/namespaces/default/widgets?watch=true");
    assert_int_equal(strncmp(api_watch_next(w), "ADDED w", 7), 0);
    /* Changed while somebody watches. */
    assert_int_equal(api_patch(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.io", "merge",
                               "{\"spec\":{\"names\":{\"shortNames\":[\"wg\"]}}}"),
                     200);
    assert_int_equal(api_patch(api, "/apis/test.io/v1/namespaces/default/widgets/w", "merge", "{\"spec\":{\"a\":2}}"),
                     200);
    assert_int_equal(strncmp(api_watch_next(w), "MODIFIED w", 10), 0);
    assert_int_equal(api_delete(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.io", NULL),
                     200);
    assert_int_equal(strncmp(api_watch_next(w), "DELETED w", 9), 0);
    api_watch_close(w);
    assert_int_equal(api_get(api, widgets), 404);
    assert_int_equal(api_post(api, crds, widget_crd), 201);
    assert_int_equal(api_get(api, widgets), 200);
    assert_int_equal(json_get(api->body, "items")->n, 0);
}

/* A definition that was stored is read once at the start: each further reading would keep the kind's memory another time. */
static void kinds_after_a_restart(void **state)
{
    (void)state;
    char dir[] = "/tmp/capstan-discovery-XXXXXX";
    struct api api;
    assert_non_null(mkdtemp(dir));
    api_open(&api, dir);
    uint64_t fresh = kind_table_generation(api.server->kinds);
    assert_int_equal(api_post(&api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widget_crd), 201);
    api_close(&api);
    api_open(&api, dir);
    assert_int_equal(kind_table_generation(api.server->kinds), fresh + 1);
    assert_int_equal(api_get(&api, "/apis/test.io/v1/namespaces/default/widgets"), 200);
    api_close(&api);
    folder_remove(dir);
}

static void wrong_names(void **state)
{
    struct api *api = *state;
    char body[600];
    snprintf(body, sizeof body, "%s", widget_crd);
    memcpy(strstr(body, "widgets.test.io"), "gadgets", 7);
    assert_int_equal(api_post(api, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body), 422);
    assert_string_equal(api_text(api, "details.causes.0.field"), "metadata.name");
}

static int status_of(struct api *api, const char *target, const char *first, const char *second)
{
    struct exchange e;
    exchange_open(&e, api, "GET", target, NULL, first, second, NULL);
    int status = e.status;
    exchange_close(&e);
    return status;
}

static void hosts(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *host, *origin;
        int status;
    } cases[] = {
        {"host: localhost:8080", NULL, 200},
        {"host: 127.0.0.1", NULL, 200},
        {"host: [::1]:8080", NULL, 200},
        {"host: LOCALHOST", NULL, 200},
        {"host: evil.example", NULL, 403},
        {"host: 127.0.0.1.evil.example", NULL, 403},
        {"host: localhost:8080", "origin: http://localhost:8080", 200},
        {"host: localhost:8080", "origin: http://localhost:9999", 403},
        {"host: localhost:8080", "origin: https://evil.example", 403},
        {"host: localhost:8080", "origin: null", 403},
    };
    api->server->config.check_host = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(status_of(api, "/version", cases[i].host, cases[i].origin), cases[i].status);
}

static void roles(void **state)
{
    struct api *api = *state;
    const char *pods = "/api/v1/namespaces/default/pods",
               *rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    char target[200];
    snprintf(target, sizeof target, "%s/roles", rbac);
    api_post(api, target,
             "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":["
             "\"list\"]}]}");
    snprintf(target, sizeof target, "%s/rolebindings", rbac);
    api_post(api, target,
             "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
             "\"name\":\"r\"},"
             "\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"anna\"}]}");
    assert_int_equal(api->status, 201);
    api_post(api, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
             "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
             "\"name\":\"cluster-admin\"},"
             "\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"root\"}]}");
    assert_int_equal(api->status, 201);
    api->server->config.authenticate = true;
    apiserver_add_token(api->server, "t-admin", "root");
    apiserver_add_token(api->server, "t-name", "kubernetes-admin"); /* a name alone gives nothing */
    assert_int_equal(status_of(api, pods, "authorization: Bearer t-name", NULL), 403);
    apiserver_add_token(api->server, "t-anna", "anna");
    assert_int_equal(status_of(api, pods, NULL, NULL), 401);
    assert_int_equal(status_of(api, "/readyz", NULL, NULL), 200);
    assert_int_equal(status_of(api, pods, "authorization: Bearer wrong", NULL), 401);
    assert_int_equal(status_of(api, pods, "authorization: Bearer t-admin", NULL), 200);
    assert_int_equal(status_of(api, pods, "authorization: Bearer t-anna", NULL), 200);
    assert_int_equal(status_of(api, "/api/v1/pods", "authorization: Bearer t-anna", NULL), 403);
    assert_int_equal(status_of(api, "/api/v1/namespaces/default/secrets", "authorization: Bearer t-anna", NULL), 403);
    assert_int_equal(status_of(api, "/apis", "authorization: Bearer t-anna", NULL), 200);
    assert_int_equal(status_of(api, pods, "authorization: Bearer t-anna", "impersonate-user: admin"), 403);
    assert_int_equal(status_of(api, "/api/v1/pods", "authorization: Bearer t-admin", "impersonate-user: anna"), 403);
}

static void reviews(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                              "{\"spec\":{\"resourceAttributes\":{\"verb\":\"create\",\"resource\":\"pods\"}}}"),
                     201);
    assert_string_equal(api_text(api, "status.allowed"), "true");
    assert_int_equal(api_post(api, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                              "{\"spec\":{\"namespace\":\"default\"}}"),
                     201);
    assert_string_equal(api_text(api, "status.resourceRules.0.verbs.0"), "*");
    assert_int_equal(api_post(api, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"), 201);
    assert_string_equal(api_text(api, "status.userInfo.groups.0"), "system:masters");
    assert_int_equal(api_get(api, "/apis/authentication.k8s.io/v1/selfsubjectreviews"), 405);
    assert_int_equal(api_get(api, "/apis/metrics.k8s.io/v1beta1/nodes"), 200);
    assert_string_equal(api_text(api, "kind"), "NodeMetricsList");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(both_forms),
        WITH_API(group_order),
        WITH_API(reviews_are_no_tables),
        WITH_API(unchanged),
        WITH_API(kinds_come_and_go),
        cmocka_unit_test(kinds_after_a_restart),
        WITH_API(wrong_names),
        WITH_API(hosts),
        WITH_API(roles),
        WITH_API(reviews),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
