#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "api.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define assert_text(api, path, expect) assert_string_equal(api_text(api, path), expect)

static int setup(void **state)
{
    api_setup(state);
    return api_post(*state, MAPS, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\"}}") != 201;
}

static void json_patch(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_patch(api, MAPS "/c", "json", "[{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"2\"}]"), 200);
    assert_text(api, "data.b", "2");
    assert_int_equal(api_patch(api, MAPS "/c", "json", "[{\"op\":\"test\",\"path\":\"/data/b\",\"value\":\"9\"}]"),
                     422);
    assert_int_equal(api_patch(api, MAPS "/c", "json", "[{\"op\":\"remove\",\"path\":\"/nothing/b\"}]"), 422);
    assert_int_equal(api_patch(api, MAPS "/c", "json", "{}"), 400);
    assert_int_equal(api_patch(api, MAPS "/c", "json", "[{\"op\":\"replace\",\"path\":\"/metadata\",\"value\":7}]"),
                     422);
    assert_int_equal(
        api_patch(api, MAPS "/c", "json", "[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"d\"}]"), 400);
    assert_int_equal(api_patch(api, MAPS "/c", "json", "[{\"op\":\"replace\",\"path\":\"/kind\",\"value\":\"Pod\"}]"),
                     400);
}

static void merge_patch(void **state)
{
    struct api *api = *state;
    assert_int_equal(api_patch(api, MAPS "/c", "merge", "{\"data\":{\"a\":null,\"b\":\"2\"}}"), 200);
    assert_text(api, "data.a", "");
    assert_int_equal(api_patch(api, MAPS "/c", "merge", "{\"metadata\":{\"resourceVersion\":\"1\"}}"), 409);
    assert_text(api, "reason", "Conflict");
    assert_int_equal(api_patch(api, MAPS "/c", "merge", "[]"), 400);
    assert_int_equal(api_patch(api, MAPS "/none", "merge", "{}"), 404);
    assert_int_equal(api_patch(api, MAPS "/c?fieldValidation=Strict", "merge", "{\"datta\":{}}"), 400);
    assert_int_equal(api_call(api, "PATCH", MAPS "/c", "application/json", "{}"), 415);
    assert_int_equal(api_patch(api, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/x", "strategic", "{}"), 415);
}

/* A pod keeps its spec, whole. */
static void spec_taken_away(void **state)
{
    struct api *api = *state;
    static const char pods[] = "/api/v1/namespaces/default/pods";
    assert_int_equal(api_post(api, pods,
                              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"m\",\"image\":\"i\"}]}}"),
                     201);
    static const char *const patches[] = {"{\"spec\":null}", "{\"spec\":{\"$patch\":\"delete\"}}", "{\"spec\":{\"$patch\":\"replace\"}}"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(api_patch(api, "/api/v1/namespaces/default/pods/p", "strategic", patches[i]), 422);
    assert_int_equal(api_patch(api, "/api/v1/namespaces/default/pods/p", "merge", patches[0]), 422);
    api_get(api, "/api/v1/namespaces/default/pods/p");
    assert_text(api, "spec.containers.0.image", "i");
}

static void unchanged(void **state)
{
    struct api *api = *state;
    char rv[24];
    api_get(api, MAPS "/c");
    snprintf(rv, sizeof rv, "%s", api_text(api, "metadata.resourceVersion"));
    assert_int_equal(api_patch(api, MAPS "/c", "merge", "{\"data\":{\"a\":\"1\"}}"), 200);
    assert_text(api, "metadata.resourceVersion", rv);
}

static void apply(void **state)
{
    struct api *api = *state;
    const char *config =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"1\"}}";
    assert_int_equal(api_patch(api, MAPS "/s", "apply", config), 422); /* who? */
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=one", "apply", config), 201);
    assert_text(api, "metadata.managedFields.0.operation", "Apply");
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=one", "apply", config), 200);
    assert_int_equal(
        api_patch(api, MAPS "/s?fieldManager=two", "apply", "apiVersion: v1\nkind: ConfigMap\ndata: {a: '2'}\n"), 409);
    assert_text(api, "message", "Apply failed with 1 conflict: conflict with \"one\" using v1: .data.a");
    assert_text(api, "details.causes.0.reason", "FieldManagerConflict");
    assert_text(api, "details.causes.0.field", ".data.a");
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two&force=true", "apply",
                               "apiVersion: v1\nkind: ConfigMap\ndata: {a: '2'}\n"),
                     200);
    assert_text(api, "data.a", "2");
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two", "apply", "kind: ConfigMap\n"), 400);
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two", "apply", "[1]\n"), 400);
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two", "apply", "apiVersion: v1\nkind: ConfigMap\nmetadata: [s]\n"), 400);
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two", "apply",
                               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"managedFields\":[]}}"),
                     400);
    assert_int_equal(api_patch(api, MAPS "/s?fieldManager=two", "apply",
                               "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}"),
                     400);
}

/* What kubectl does when an object of client-side apply is applied on the server for the first time. */
static void migration(void **state)
{
    struct api *api = *state;
    assert_int_equal(
        api_post(api, MAPS "?fieldManager=kubectl-client-side-apply",
                 "{\"metadata\":{\"name\":\"m\",\"annotations\":{\"k\":\"last\"}},\"data\":{\"a\":\"1\"}}"),
        201);
    const char *config =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"}}";
    assert_int_equal(api_patch(api, MAPS "/m?fieldManager=kubectl", "apply", config), 200);
    assert_int_equal(json_path(api->body, "metadata", "managedFields", NULL)->n, 2);
    char patch[500];
    snprintf(patch, sizeof patch,
             "[{\"op\":\"replace\",\"path\":\"/metadata/"
             "managedFields\",\"value\":[{\"manager\":\"kubectl\",\"operation\":\"Apply\",\"apiVersion\":\"v1\","
             "\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:data\":{\"f:a\":{}}}}]},"
             "{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"%s\"}]",
             api_text(api, "metadata.resourceVersion"));
    assert_int_equal(api_patch(api, MAPS "/m?fieldManager=kubectl", "json", patch), 200);
    assert_int_equal(json_path(api->body, "metadata", "managedFields", NULL)->n, 1);
    assert_int_equal(
        api_patch(
            api, MAPS "/m?fieldManager=kubectl", "apply",
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{\"b\":\"1\"}}"),
        200);
    assert_text(api, "data.a", "");
    assert_text(api, "data.b", "1");
}

static void apply_status(void **state)
{
    struct api *api = *state;
    const char *jobs = "/apis/batch/v1/namespaces/default/jobs";
    api_post(api, jobs,
             "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
             "\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}}}");
    const char *target = "/apis/batch/v1/namespaces/default/jobs/j/status?fieldManager=controller";
    assert_int_equal(
        api_patch(
            api, target, "apply",
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"spec\":{\"parallelism\":9},\"status\":{\"active\":2}}"),
        200);
    assert_text(api, "status.active", "2");
    assert_text(api, "spec.parallelism", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, api_teardown)
        T(json_patch), T(merge_patch), T(unchanged), T(spec_taken_away), T(apply), T(migration), T(apply_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
