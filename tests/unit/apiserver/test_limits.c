/* The limits that a client can reach in what it sends: at the limit it passes, one more is refused and told.
 * The others have their tests beside their parser (test_json_parse, test_yaml, test_patch), in test_http_server_raw
 * (URL, headers, body, silence), in test_ring (watch events), and in tests/api/server/95-hostile.py (connections). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/limits.h"

static const char config_maps[] = "/api/v1/namespaces/default/configmaps";

static void add_many(struct buf *out, char c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_char(out, c);
}

/* POST before + n times 'x' + after. Returns the HTTP status. */
static int post_long(struct api *api, const char *target, const char *before, size_t n, const char *after)
{
    _cleanup_buf_ struct buf body = {0};
    buf_text(&body, before);
    add_many(&body, 'x', n);
    buf_text(&body, after);
    return api_post(api, target, body.data);
}

static void names(void **state)
{
    struct api *api = *state;
    assert_int_equal(post_long(api, config_maps, "{\"metadata\":{\"name\":\"", LIMIT_NAME, "\"}}"), 201);
    assert_int_equal(post_long(api, config_maps, "{\"metadata\":{\"name\":\"", LIMIT_NAME + 1, "\"}}"), 422);
    assert_non_null(strstr(api_text(api, "message"), "metadata.name"));
    assert_int_equal(post_long(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"", LIMIT_LABEL, "\"}}"), 201);
    assert_int_equal(post_long(api, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"", LIMIT_LABEL + 1, "\"}}"), 422);
}

static void labels(void **state)
{
    struct api *api = *state;
    const char *before = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"k\":\"";
    assert_int_equal(post_long(api, config_maps, before, LIMIT_LABEL + 1, "\"}}}"), 422);
    assert_non_null(strstr(api_text(api, "message"), "metadata.labels"));
    assert_int_equal(post_long(api, config_maps, before, LIMIT_LABEL, "\"}}}"), 201);
    assert_int_equal(
        post_long(api, config_maps, "{\"metadata\":{\"name\":\"b\",\"labels\":{\"", LIMIT_LABEL + 1, "\":\"v\"}}}"),
        422);
    assert_int_equal(
        post_long(api, config_maps, "{\"metadata\":{\"name\":\"b\",\"labels\":{\"", LIMIT_LABEL, "\":\"v\"}}}"), 201);
}

static void annotations(void **state)
{
    struct api *api = *state;
    const char *before = "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"k\":\"";
    assert_int_equal(post_long(api, config_maps, before, LIMIT_ANNOTATIONS_BYTES, "\"}}}"), 422);
    assert_non_null(strstr(api_text(api, "message"), "262144"));
    assert_int_equal(post_long(api, config_maps, before, LIMIT_ANNOTATIONS_BYTES - 1, "\"}}}"), 201);
}

static int post_pod_sets(struct api *api, int n)
{
    _cleanup_buf_ struct buf body = {0};
    buf_printf(&body,
               "{\"apiVersion\":\"kueue.x-k8s.io/"
               "v1beta1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%d\"},\"spec\":{\"podSets\":[",
               n);
    for (int i = 0; i < n; i++)
        buf_printf(&body,
                   "%s{\"name\":\"s%d\",\"count\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":"
                   "[{\"name\":"
                   "\"c\",\"image\":\"i\"}]}}}",
                   i ? "," : "", i);
    buf_text(&body, "]}}");
    return api_post(api, "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads", body.data);
}

static void pod_sets(void **state)
{
    struct api *api = *state;
    assert_int_equal(post_pod_sets(api, LIMIT_PODSETS), 201);
    assert_int_equal(post_pod_sets(api, LIMIT_PODSETS + 1), 422);
    assert_non_null(strstr(api_text(api, "message"), "18"));
}

static int post_gang(struct api *api, int replicas)
{
    char body[600];
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\"},\"spec\":{"
             "\"minAvailable\":1,\"tasks\":[{\"name\":\"t\",\"replicas\":%d,\"template\":{\"spec\":{\"restartPolicy\":"
             "\"Never\","
             "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}]}}",
             replicas, replicas);
    return api_post(api, "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs", body);
}

static void gang_members(void **state)
{
    struct api *api = *state;
    assert_int_equal(post_gang(api, LIMIT_GANG_MEMBERS), 201);
    assert_int_equal(post_gang(api, LIMIT_GANG_MEMBERS + 1), 422);
    assert_non_null(strstr(api_text(api, "message"), "20000"));
}

/* Each copy doubles the text: the sum is bounded, not the count. */
static void copies_of_a_patch(void **state)
{
    struct api *api = *state;
    _cleanup_buf_ struct buf patch = {0};
    char target[200];
    assert_int_equal(post_long(api, config_maps, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"",
                               LIMIT_PATCH_COPY_BYTES / 8, "\"}}"),
                     201);
    buf_char(&patch, '[');
    for (int i = 0; i < 9; i++)
        buf_printf(&patch, "%s{\"op\":\"copy\",\"from\":\"/data/k\",\"path\":\"/metadata/annotations/k%d\"}",
                   i ? "," : "", i);
    buf_char(&patch, ']');
    snprintf(target, sizeof target, "%s/a", config_maps);
    assert_int_equal(
        api_patch(api, target, "json", "[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"a\":\"b\"}}]"),
        200);
    assert_int_equal(api_patch(api, target, "json", patch.data), 413);
    assert_non_null(strstr(api_text(api, "message"), "copy operations"));
    assert_int_equal(api_get(api, target), 200);
    assert_string_equal(api_text(api, "metadata.annotations.k0"), "");
    buf_clear(&patch);
    buf_char(&patch, '[');
    for (int i = 0; i < 40; i++)
        buf_printf(&patch, "%s{\"op\":\"copy\",\"from\":\"/metadata\",\"path\":\"/metadata/x%d\"}", i ? "," : "", i);
    buf_char(&patch, ']');
    assert_int_equal(api_patch(api, target, "json", patch.data), 413);
}

static void aliases_of_yaml(void **state)
{
    struct api *api = *state;
    _cleanup_buf_ struct buf body = {0};
    buf_text(&body, "metadata: {name: a}\ndata:\n  a: &a ");
    add_many(&body, 'x', LIMIT_YAML_ALIAS_BYTES / 100);
    for (int i = 0; i < 101; i++)
        buf_printf(&body, "\n  k%d: *a", i);
    buf_char(&body, '\n');
    assert_int_equal(api_call(api, "POST", config_maps, "application/yaml", body.data), 413);
    assert_non_null(strstr(api_text(api, "message"), "aliases"));
}

/* A list that is sent in pieces is the same list. */
static void large_lists(void **state)
{
    struct api *api = *state;
    char before[100];
    for (int i = 0; i < 30; i++) {
        snprintf(before, sizeof before, "{\"metadata\":{\"name\":\"l%02d\"},\"data\":{\"k\":\"", i);
        assert_int_equal(post_long(api, config_maps, before, 60000, "\"}}"), 201);
    }
    assert_int_equal(api_get(api, config_maps), 200);
    assert_string_equal(api_text(api, "kind"), "ConfigMapList");
    assert_string_equal(api_text(api, "items.29.metadata.name"), "l28"); /* after kube-root-ca.crt */
    assert_int_equal(api_get(api, "/api/v1/namespaces/default/configmaps?limit=25"), 200);
    assert_string_equal(api_text(api, "items.24.metadata.name"), "l23");
    assert_string_not_equal(api_text(api, "metadata.continue"), "");
}

static const char free_crd[] =
    "{\"metadata\":{\"name\":\"frees.test.io\"},\"spec\":{\"group\":\"test.io\",\"scope\":\"Namespaced\",\"names\":{"
    "\"plural\":\"frees\",\"kind\":\"Free\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";
static const char definitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                  frees[] = "/apis/test.io/v1/namespaces/default/frees";

/* {"a":{"a":... n objects inside each other */
static void add_nested(struct buf *out, size_t n)
{
    for (size_t i = 1; i < n; i++)
        buf_text(out, "{\"a\":");
    buf_text(out, "{}");
    add_many(out, '}', n - 1);
}

static int post_nested(struct api *api, size_t n)
{
    _cleanup_buf_ struct buf body = {0};
    buf_printf(&body, "{\"metadata\":{\"name\":\"n%zu\"},\"spec\":", n);
    add_nested(&body, n);
    buf_char(&body, '}');
    return api_post(api, frees, body.data);
}

/* What is stored can be read: by itself, in a list, as an event, and after it was changed. */
static void nesting_of_what_is_stored(void **state)
{
    struct api *api = *state;
    size_t stored_n = 0;
    assert_int_equal(api_post(api, definitions, free_crd), 201);
    for (size_t n = 90; n < LIMIT_JSON_DEPTH; n++) {
        int status = post_nested(api, n);
        assert_true(status == 201 || status == 413);
        stored_n += status == 201;
        char *one = arena_printf(api->arena, "%s/n%zu", frees, n);
        assert_int_equal(api_get(api, one), status == 201 ? 200 : 404);
        assert_int_equal(api_patch(api, one, "merge", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), status == 201 ? 200 : 404);
    }
    assert_true(stored_n > 10);
    assert_int_equal(api_get(api, frees), 200);
    assert_int_equal(json_get(api->body, "items")->n, (int)stored_n);
    /* by patches, deeper than any body */
    _cleanup_buf_ struct buf patch = {0};
    assert_int_equal(api_post(api, frees, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"x\":{}}}"), 201);
    buf_text(&patch, "[{\"op\":\"add\",\"path\":\"/spec/x\",\"value\":");
    add_nested(&patch, 60);
    buf_text(&patch, "},{\"op\":\"copy\",\"from\":\"/spec/x\",\"path\":\"/spec/x");
    for (int i = 0; i < 59; i++)
        buf_text(&patch, "/a");
    buf_text(&patch, "/a\"}]");
    assert_int_equal(api_patch(api, arena_printf(api->arena, "%s/p", frees), "json", patch.data), 413);
    assert_non_null(strstr(api_text(api, "message"), "inside each other"));
    assert_int_equal(api_get(api, arena_printf(api->arena, "%s/p", frees)), 200);
    assert_int_equal(json_path(api->body, "spec", "x", NULL)->n, 0);
}

static void size_of_what_is_stored(void **state)
{
    struct api *api = *state;
    int status = 200, n = 0;
    assert_int_equal(api_post(api, definitions, free_crd), 201);
    assert_int_equal(api_post(api, frees, "{\"metadata\":{\"name\":\"s\"},\"spec\":{}}"), 201);
    for (; status == 200 && n < 6; n++) {
        _cleanup_buf_ struct buf patch = {0};
        buf_printf(&patch, "{\"spec\":{\"k%d\":\"", n);
        add_many(&patch, 'x', 2u << 20);
        buf_text(&patch, "\"}}");
        status = api_patch(api, arena_printf(api->arena, "%s/s", frees), "merge", patch.data);
    }
    assert_int_equal(status, 413);
    assert_int_equal(n, 4);
    assert_non_null(strstr(api_text(api, "message"), "bytes long"));
    assert_int_equal(api_get(api, arena_printf(api->arena, "%s/s", frees)), 200);
    assert_int_equal(json_get(api->body, "spec")->n, 3);
}

/* An object that an older program stored, deeper than is read: told as far as it can be, and it can be deleted. */
static void what_was_stored_before(void **state)
{
    struct api *api = *state;
    struct store *store = api->server->store;
    _cleanup_buf_ struct buf body = {0};
    assert_int_equal(api_post(api, definitions, free_crd), 201);
    buf_text(&body, "{\"kind\":\"Free\",\"apiVersion\":\"test.io/v1\",\"metadata\":{\"name\":\"old\",\"namespace\":\"default\",\"uid\":"
                    "\"u\",\"managedFields\":[{\"manager\":\"m\",\"fieldsV1\":");
    add_nested(&body, 300);
    buf_text(&body, "}],\"labels\":{\"a\":\"b\"}},\"spec\":{\"x\":1}}");
    uint64_t rv = store_next_rv(store);
    struct blob *blob = blob_new(body.data, body.n);
    assert_int_equal(store_create(store, store_kind(store, "test.io", "frees"), "default", "old", rv, blob, NULL), 0);
    blob_unref(blob);
    char *one = arena_printf(api->arena, "%s/old", frees);
    assert_int_equal(api_patch(api, one, "merge", "{\"spec\":{\"y\":2}}"), 200);
    assert_string_equal(api_text(api, "metadata.labels.a"), "b");
    assert_string_equal(api_text(api, "spec.x"), "1");
    assert_string_equal(api_text(api, "spec.y"), "2");
    assert_int_equal(api_get(api, one), 200);
    assert_int_equal(api_delete(api, one, NULL), 200);
    assert_int_equal(api_get(api, one), 404);
}

/* An object that an older program stored in another version than this one does. */
static void what_was_stored_in_another_version(void **state)
{
    struct api *api = *state;
    struct store *store = api->server->store;
    const char *flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors", *older = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors";
    const char *text = "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"old\",\"uid\":\"u\"},"
                       "\"spec\":{\"nodeLabels\":{\"a\":\"b\"}}}";
    struct blob *blob = blob_new(text, strlen(text));
    uint64_t rv = store_next_rv(store);
    assert_int_equal(store_create(store, store_kind(store, "kueue.x-k8s.io", "resourceflavors"), "", "old", rv, blob, NULL), 0);
    blob_unref(blob);
    for (int i = 0; i < 2; i++) {
        const char *version = i ? "kueue.x-k8s.io/v1beta1" : "kueue.x-k8s.io/v1beta2";
        assert_int_equal(api_get(api, arena_printf(api->arena, "%s/old", i ? older : flavors)), 200);
        assert_string_equal(api_text(api, "apiVersion"), version);
        assert_int_equal(api_get(api, i ? older : flavors), 200);
        assert_string_equal(api_text(api, "items.0.apiVersion"), version);
        struct api_watch *w = api_watch_open(api, arena_printf(api->arena, "%s?watch=1", i ? older : flavors));
        assert_string_equal(api_watch_next(w), "ADDED old -");
        assert_string_equal(json_get_text(api_watch_object(w), "apiVersion", ""), version);
        api_watch_close(w);
    }
    assert_int_equal(api_patch(api, arena_printf(api->arena, "%s/old", flavors), "merge", "{\"metadata\":{\"labels\":{\"c\":\"\"}}}"), 200);
    assert_string_equal(api_text(api, "apiVersion"), "kueue.x-k8s.io/v1beta2");
    assert_string_equal(api_text(api, "spec.nodeLabels.a"), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_API(nesting_of_what_is_stored), WITH_API(size_of_what_is_stored), WITH_API(what_was_stored_before),
        WITH_API(what_was_stored_in_another_version),
        WITH_API(names),           WITH_API(labels),       WITH_API(annotations),
        WITH_API(pod_sets),        WITH_API(gang_members), WITH_API(copies_of_a_patch),
        WITH_API(aliases_of_yaml), WITH_API(large_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
