/* What a user may is judged by what would be executed: one reading of path and verb, nothing given away that one has not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "apiserver/access/token.h"
#include "exchange.h"

#define RBAC "/apis/rbac.authorization.k8s.io/v1"
#define DEFAULT RBAC "/namespaces/default"

/* anna has the rules in namespace default, and root everything; roles and pods as the tests need them. */
static void world_make(struct api *api, const char *rules)
{
    assert_int_equal(api_post(api, DEFAULT "/roles", arena_printf(api->arena, "{\"metadata\":{\"name\":\"r\"},\"rules\":%s}", rules)), 201);
    assert_int_equal(api_post(api, DEFAULT "/rolebindings",
                              "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
                              "\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":"
                              "\"anna\"}]}"),
                     201);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/pods",
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                     201);
    apiserver_add_token(api->server, "t-anna", "anna");
    api->server->config.authenticate = true;
}

static int as_anna(struct api *api, const char *method, const char *target, const char *type, const char *body)
{
    struct exchange e;
    char header[100];
    snprintf(header, sizeof header, "content-type: %s", type ? type : "application/json");
    exchange_open(&e, api, method, target, body, "authorization: Bearer t-anna", header, NULL);
    int status = e.status;
    exchange_close(&e);
    return status;
}

static const char pods[] = "/api/v1/namespaces/default/pods", pod[] = "/api/v1/namespaces/default/pods/p";

static void names_are_no_patterns(void **state)
{
    struct api *api = *state;
    world_make(api, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"resourceNames\":[\"*\",\"q*\"],\"verbs\":[\"get\"]}]");
    assert_int_equal(as_anna(api, "GET", pod, NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods/q1", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", pods, NULL, NULL), 403);
}

/* A list or watch that can show one object only is one of that object; nothing else that is selected, and no deletion, is. */
static void names_selected_by(void **state)
{
    struct api *api = *state;
    static const struct {
        const char *method, *query;
        int status;
    } cases[] = {
        {"GET", "?fieldSelector=metadata.name=p", 200},
        {"GET", "?fieldSelector=metadata.name==p,status.phase=Pending", 200},
        {"GET", "?watch=1&fieldSelector=status.phase=Pending,metadata.name=p", 200},
        {"GET", "?fieldSelector=metadata.name=p,metadata.name=q", 200}, /* shows nothing: the first counts */
        {"GET", "?fieldSelector=metadata.name=q", 403},
        {"GET", "?fieldSelector=metadata.name=q&fieldSelector=metadata.name=p", 403},
        {"GET", "?fieldSelector=metadata.name!=p", 403},
        {"GET", "?fieldSelector=metadata.name=", 403},
        {"GET", "?fieldSelector=metadata.name=p/q", 403},
        {"GET", "?fieldSelector=status.phase=p", 403},
        {"GET", "?labelSelector=metadata.name=p", 403},
        {"DELETE", "?fieldSelector=metadata.name=p", 403},
    };
    world_make(api, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"resourceNames\":[\"p\",\"p/q\"],\"verbs\":[\"list\","
                    "\"watch\",\"deletecollection\"]}]");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *target = arena_printf(api->arena, "%s%s", pods, cases[i].query);
        if (as_anna(api, cases[i].method, target, NULL, NULL) != cases[i].status)
            fail_msg("%s %s is not answered with %d", cases[i].method, target, cases[i].status);
    }
}

/* ?watch=true makes no watch of a log, and more behind a path is not what was asked about. */
static void what_is_executed(void **state)
{
    struct api *api = *state;
    world_make(api, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"pods/log\",\"pods/status\"],\"verbs\":[\"watch\"]}]");
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods/p/log?watch=true", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods/p/status?watch=1", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods?watch=true", NULL, NULL), 200);
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods?watch=false", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "//api//v1/namespaces/default/pods", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/api/v1/namespaces/default/pods/p/log/more", NULL, NULL), 404);
    assert_int_equal(as_anna(api, "GET", "/apifoo", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/versionX", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/version", NULL, NULL), 200);
}

static void apply_creates(void **state)
{
    struct api *api = *state;
    const char *type = "application/apply-patch+yaml", *target = "/api/v1/namespaces/default/configmaps/new?fieldManager=a";
    const char *body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"new\"}}";
    world_make(api, "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"patch\"]}]");
    assert_int_equal(as_anna(api, "PATCH", target, type, body), 403);
    api->server->config.authenticate = false;
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/configmaps/new"), 404);
    assert_int_equal(api_post(api, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"new\"}}"), 201);
    api->server->config.authenticate = true;
    assert_int_equal(as_anna(api, "PATCH", target, type, body), 200);
}

static void ephemeral_containers_only(void **state)
{
    struct api *api = *state;
    const char *debug = "/api/v1/namespaces/default/pods/p/ephemeralcontainers", *merge = "application/merge-patch+json";
    world_make(api, "[{\"apiGroups\":[\"\"],\"resources\":[\"pods/ephemeralcontainers\"],\"verbs\":[\"patch\",\"update\"]}]");
    assert_int_equal(as_anna(api, "PATCH", debug, merge,
                             "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"finalizers\":[\"x/y\"]},\"spec\":{\"activeDeadlineSeconds\":1,"
                             "\"containers\":[{\"name\":\"c\",\"image\":\"evil\"}],\"ephemeralContainers\":[{\"name\":\"d\",\"image\":"
                             "\"i\",\"terminationMessagePolicy\":\"File\"}]}}"),
                     200);
    api->server->config.authenticate = false;
    assert_int_equal(api_get(api, pod), 200);
    assert_string_equal(api_text(api, "spec.ephemeralContainers.0.name"), "d");
    assert_string_equal(api_text(api, "spec.containers.0.image"), "i");
    assert_string_equal(api_text(api, "spec.activeDeadlineSeconds"), "");
    assert_string_equal(api_text(api, "metadata.labels.a"), "");
    assert_string_equal(api_text(api, "metadata.finalizers.0"), "");
    /* and nobody adds one beside it */
    assert_int_equal(api_patch(api, pod, "merge", "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"d\",\"image\":\"i\"},{\"name\":\"e\","
                                                  "\"image\":\"i\"}]}}"),
                     422);
}

static const char own_role[] = "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\"]},"
                               "{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\",\"rolebindings\"],\"verbs\":["
                               "\"create\",\"update\",\"patch\",\"get\"]}]";

static char *role(struct api *api, const char *name, const char *rules)
{
    return arena_printf(api->arena, "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\",\"metadata\":{\"name\":\"%s\"},\"rules\":%s}",
                        name, rules);
}

static char *binding(struct api *api, const char *name, const char *kind, const char *role_name)
{
    return arena_printf(api->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"%s\","
                        "\"name\":\"%s\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"anna\"}]}",
                        name, kind, role_name);
}

/* A slash at the end is nothing to the server, so a rule for what lies below a path does not give the path itself. */
static void paths_in_normal_form(void **state)
{
    struct api *api = *state;
    world_make(api, "[]");
    api->server->config.authenticate = false;
    assert_int_equal(api_post(api, "/apis/rbac.authorization.k8s.io/v1/clusterroles",
                              "{\"metadata\":{\"name\":\"below\"},"
                              "\"rules\":[{\"nonResourceURLs\":[\"/metrics/*\"],\"verbs\":[\"get\"]}]}"),
                     201);
    assert_int_equal(api_post(api, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                              binding(api, "below", "ClusterRole", "below")),
                     201);
    api->server->config.authenticate = true;
    assert_int_equal(as_anna(api, "GET", "/metrics", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/metrics/", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "//metrics//", NULL, NULL), 403);
    assert_int_equal(as_anna(api, "GET", "/metrics/more", NULL, NULL), 404);
    assert_int_equal(as_anna(api, "GET", "//version/", NULL, NULL), 200);
}

static void nobody_gives_more_than_he_has(void **state)
{
    struct api *api = *state;
    static const char *const more[] = {
        "[{\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\"verbs\":[\"get\"]}]",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"delete\"]}]",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"*\"],\"verbs\":[\"get\"]}]",
        "[{\"apiGroups\":[\"*\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]}]",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"*\"]}]",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods/exec\"],\"verbs\":[\"get\"]}]",
        "[{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\"],\"verbs\":[\"escalate\"]}]",
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\"]},{\"apiGroups\":[\"batch\"],\"resources\":[\"jobs\"],\"verbs\":[\"get\"]}]",
    };
    world_make(api, own_role);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/roles", NULL,
                             role(api, "less", "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"resourceNames\":[\"p\"],\"verbs\":[\"get\"]}]")),
                     201);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        assert_int_equal(as_anna(api, "POST", DEFAULT "/roles", NULL, role(api, "more", more[i])), 403);
        assert_int_equal(as_anna(api, "PUT", DEFAULT "/roles/r", NULL, role(api, "r", more[i])), 403);
        assert_int_equal(as_anna(api, "PATCH", DEFAULT "/roles/r", "application/merge-patch+json",
                                 arena_printf(api->arena, "{\"rules\":%s}", more[i])),
                         403);
        assert_int_equal(
            as_anna(api, "PATCH", DEFAULT "/roles/more?fieldManager=a", "application/apply-patch+yaml", role(api, "more", more[i])), 403);
    }
    assert_int_equal(as_anna(api, "PATCH", DEFAULT "/roles/r", "application/merge-patch+json", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b1", "Role", "less")), 201);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b2", "ClusterRole", "cluster-admin")), 403);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b3", "ClusterRole", "edit")), 403);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b4", "Role", "absent")), 403);
}

static void who_may_bind_and_escalate(void **state)
{
    struct api *api = *state;
    world_make(api, "[{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\",\"rolebindings\"],\"verbs\":[\"create\",\"escalate\"]},"
                    "{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"clusterroles\"],\"resourceNames\":[\"edit\"],\"verbs\":[\"bind\"]}]");
    assert_int_equal(as_anna(api, "POST", DEFAULT "/roles", NULL,
                             role(api, "more", "[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]")),
                     201);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b1", "ClusterRole", "edit")), 201);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b2", "Role", "more")), 403);
    assert_int_equal(as_anna(api, "POST", DEFAULT "/rolebindings", NULL, binding(api, "b3", "ClusterRole", "cluster-admin")), 403);
}

/* The administrator of a namespace manages its roles, and does not become the cluster's. */
static void admin_is_no_escalation(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_get(api, RBAC "/clusterroles/admin"), 200);
    JSON_EACH (rule, json_get(api->body, "rules")) {
        JSON_EACH (group, json_get(rule, "apiGroups")) {
            if (strcmp(json_text(group, ""), "rbac.authorization.k8s.io") != 0)
                continue;
            JSON_EACH (verb, json_get(rule, "verbs")) {
                assert_string_not_equal(json_text(verb, ""), "*");
                assert_string_not_equal(json_text(verb, ""), "escalate");
                assert_string_not_equal(json_text(verb, ""), "bind");
            }
        }
    }
}

static bool has_resource(struct api *api, const char *role, const char *resource)
{
    api_run(api, 100);
    assert_int_equal(api_get(api, arena_printf(api->arena, RBAC "/clusterroles/%s", role)), 200);
    JSON_EACH (rule, json_get(api->body, "rules"))
        JSON_EACH (item, json_get(rule, "resources"))
            if (strcmp(json_text(item, ""), resource) == 0)
                return true;
    return false;
}

/* A role with the label adds to edit, and thereby to admin; when it goes, so do its rules. */
static void roles_are_aggregated(void **state)
{
    struct api *api = *state;
    assert_false(has_resource(api, "edit", "widgets"));
    assert_int_equal(api_post(api, RBAC "/clusterroles",
                              "{\"metadata\":{\"name\":\"w\",\"labels\":{\"rbac.authorization.k8s.io/aggregate-to-edit\":\"true\"}},"
                              "\"rules\":[{\"apiGroups\":[\"test.io\"],\"resources\":[\"widgets\"],\"verbs\":[\"get\"]}]}"),
                     201);
    assert_true(has_resource(api, "edit", "widgets"));
    assert_true(has_resource(api, "admin", "widgets"));
    assert_false(has_resource(api, "view", "widgets"));
    assert_true(has_resource(api, "admin", "rolebindings"));
    assert_int_equal(api_post(api, RBAC "/clusterroles",
                              "{\"metadata\":{\"name\":\"own\"},\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"a\":\"b\"}}]}}"),
                     201);
    assert_int_equal(api_patch(api, RBAC "/clusterroles/w", "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), 200);
    assert_true(has_resource(api, "own", "widgets"));
    assert_int_equal(api_delete(api, RBAC "/clusterroles/w", NULL), 200);
    assert_false(has_resource(api, "own", "widgets"));
    assert_false(has_resource(api, "admin", "widgets"));
}

/* Aggregates that choose each other in a circle end with the rules of the plain roles among them, and are then left alone. */
static void circles_come_to_rest(void **state)
{
    struct api *api = *state;
    static const char *const circle[][3] = {{"a", "c", "pods"}, {"b", "a", "services"}, {"c", "b", "secrets"}}; /* name, whom it chooses */
    for (int i = 0; i < 3; i++)
        assert_int_equal(api_post(api, RBAC "/clusterroles",
                                  arena_printf(api->arena,
                                               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"is\":\"%s\"}},\"aggregationRule\":{"
                                               "\"clusterRoleSelectors\":[{\"matchLabels\":{\"is\":\"%s\"}}]},\"rules\":[{\"apiGroups\":[\"\"],"
                                               "\"resources\":[\"%s\"],\"verbs\":[\"get\"]}]}",
                                               circle[i][0], circle[i][0], circle[i][1], circle[i][2])),
                         201);
    assert_int_equal(api_post(api, RBAC "/clusterroles",
                              "{\"metadata\":{\"name\":\"plain\",\"labels\":{\"is\":\"a\"}},\"rules\":[{\"apiGroups\":[\"test.io\"],\"resources\":["
                              "\"widgets\"],\"verbs\":[\"get\"]}]}"),
                     201);
    api_run(api, 100);
    uint64_t rv = store_rv(api->server->store);
    api_run(api, 1000);
    assert_int_equal(store_rv(api->server->store), rv);
    for (int i = 0; i < 3; i++) {
        assert_true(has_resource(api, circle[i][0], "widgets"));
        assert_false(has_resource(api, circle[i][0], circle[i][2])); /* rules of an aggregate are not its own */
    }
}

/* Who may make roles does not gather what he does not have. */
static void aggregation_is_no_escalation(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_post(api, RBAC "/clusterroles",
                              "{\"metadata\":{\"name\":\"makes-roles\"},\"rules\":[{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":["
                              "\"clusterroles\"],\"verbs\":[\"create\"]}]}"),
                     201);
    assert_int_equal(api_post(api, RBAC "/clusterrolebindings",
                              "{\"metadata\":{\"name\":\"anna\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"makes-roles\"},\"subjects\":[{\"kind\":"
                              "\"User\",\"name\":\"anna\"}]}"),
                     201);
    world_make(api, own_role);
    assert_int_equal(as_anna(api, "POST", RBAC "/clusterroles", NULL, "{\"metadata\":{\"name\":\"none\"},\"rules\":[]}"), 201);
    assert_int_equal(as_anna(api, "POST", RBAC "/clusterroles", NULL,
                             "{\"metadata\":{\"name\":\"all\"},\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{"
                             "\"kubernetes.io/bootstrapping\":\"rbac-defaults\"}}]},\"rules\":[]}"),
                     403);
}

/* A rule of a million parts is refused, not looked at for minutes. */
static void large_rules(void **state)
{
    struct api *api = *state;
    _cleanup_buf_ struct buf rules = {0};
    static const char *const lists[] = {"[{\"apiGroups\":[\"\"", "],\"resources\":[\"pods\"", "],\"verbs\":[\"get\""};
    world_make(api, own_role);
    for (size_t l = 0; l < 3; l++) {
        buf_text(&rules, lists[l]);
        for (int i = 0; i < 200; i++)
            buf_text(&rules, l == 0 ? ",\"\"" : l == 1 ? ",\"pods\"" : ",\"get\"");
    }
    buf_text(&rules, "]}]");
    assert_int_equal(as_anna(api, "POST", DEFAULT "/roles", NULL, role(api, "many", rules.data)), 403);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(names_are_no_patterns),         WITH_API(what_is_executed),          WITH_API(apply_creates),
        WITH_API(ephemeral_containers_only),     WITH_API(nobody_gives_more_than_he_has), WITH_API(who_may_bind_and_escalate),
        WITH_API(admin_is_no_escalation),        WITH_API(large_rules),
        WITH_API(roles_are_aggregated),          WITH_API(circles_come_to_rest),      WITH_API(aggregation_is_no_escalation),
        WITH_API(paths_in_normal_form),  WITH_API(names_selected_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
