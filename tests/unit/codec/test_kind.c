/* The list of kinds, CRDs, and OpenAPI documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "codec/kinds/kind.h"
#include "codec/kinds/openapi_v2.h"
#include "codec/schema/field_errors.h"
#include "wire/protobuf.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(a, bytes_of(text), NULL, &e);
    if (!v)
        print_error("%s\n", e.text);
    assert_non_null(v);
    return v;
}

static void test_built_in(void **state)
{
    (void)state;
    struct kind_table *t = kind_table_new();
    const struct kind *pod = kind_find(t, "", "pods");
    assert_non_null(pod);
    assert_string_equal(pod->short_names[0], "po");
    assert_string_equal(pod->categories[0], "all");
    assert_true(pod->flags & KIND_NAMESPACED);
    assert_true(pod->flags & KIND_STATUS);
    assert_ptr_equal(kind_find_kind(t, "", "Pod"), pod);
    assert_null(kind_find(t, "", "podz"));
    assert_ptr_equal(kind_version_find(pod, "v1")->schema, schema_of("", "v1", "Pod"));
    const struct kind *queue = kind_find(t, "kueue.x-k8s.io", "clusterqueues");
    assert_int_equal(queue->versions_n, 2);
    assert_string_equal(queue->versions[0].version, "v1beta2");
    assert_int_equal(queue->storage, 0);
    assert_non_null(queue->versions[1].deprecation_warning);
    assert_string_equal(queue->versions[1].columns[0].json_path, ".spec.cohort");
    assert_false(kind_find(t, "scheduling.volcano.sh", "podgroups")->flags & KIND_STATUS);
    assert_string_equal(kind_at(t, kind_count(t) - 1)->group, "visibility.kueue.x-k8s.io"); /* computed ones come last */
    assert_null(kind_at(t, kind_count(t)));
    kind_table_free(t);
    kind_table_free(NULL);
}

static const char crd_text[] =
    "{\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{"
    "\"plural\":\"foos\",\"kind\":\"Foo\",\"shortNames\":[\"fo\"]},\"versions\":[{\"name\":\"v1beta1\",\"served\":true,"
    "\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}},"
    "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.n\","
    "\"statusReplicasPath\":\".status.n\"}},\"additionalPrinterColumns\":[{\"name\":\"N\",\"type\":\"integer\",\"jsonPath\":"
    "\".spec.n\"}],\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":"
    "[\"mode\"],\"properties\":{\"n\":{\"type\":\"integer\",\"format\":\"int32\",\"minimum\":1,\"default\":2},\"mode\":{\"type\":"
    "\"string\",\"enum\":[\"a\",\"b\"]},\"list\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":"
    "[\"k\"],\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"v\":{\"x-kubernetes-int-or-string\":true}}}},"
    "\"any\":{\"x-kubernetes-preserve-unknown-fields\":true},\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}}"
    "}}}}}}]}}";

static void test_crd(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct kind_table *t = kind_table_new();
    uint64_t before = kind_table_generation(t);
    struct field_errors errors;
    field_errors_init(&errors, a);
    assert_int_equal(kind_table_check_crd(t, parse(a, crd_text), &errors), 0);
    assert_null(kind_find(t, "example.com", "foos")); /* asked, not added */
    assert_int_equal(kind_table_add_crd(t, parse(a, crd_text), &errors), 0);
    assert_true(kind_table_generation(t) > before);
    const struct kind *k = kind_find(t, "example.com", "foos");
    assert_string_equal(k->singular, "foo");
    assert_string_equal(k->list_kind, "FooList");
    assert_string_equal(k->versions[0].version, "v1");
    assert_int_equal(k->storage, 0);
    assert_int_equal(k->flags, KIND_NAMESPACED | KIND_STATUS | KIND_SCALE | KIND_CUSTOM | KIND_GENERATION);
    assert_string_equal(k->scale_spec_path, ".spec.n");
    const struct schema *s = k->versions[0].schema;
    assert_string_equal(s->name, "com.example.v1.Foo");
    struct json *v = parse(a, "{\"metadata\":{\"name\":\"x\",\"bad\":1},\"spec\":{\"mode\":\"c\",\"odd\":1,\"any\":{\"z\":[1]},\"list\":"
                              "[{\"k\":\"1\",\"v\":\"x\"},{\"k\":\"1\"}],\"map\":{\"a\":true}}}");
    struct schema_findings found;
    struct err e = {0};
    assert_int_equal(schema_prune(a, s, v, &found, &e), 0);
    assert_int_equal(found.unknown_n, 2);
    assert_string_equal(found.unknown[1], "spec.odd");
    schema_default(a, s, v);
    assert_int_equal(json_get_int64(json_get(v, "spec"), "n", 0), 2);
    schema_validate(s, v, &errors);
    struct buf text;
    buf_init(&text);
    field_errors_text(&text, &errors);
    assert_non_null(strstr(text.data, "spec.mode: Unsupported value: \"c\": supported values: \"a\", \"b\""));
    assert_non_null(strstr(text.data, "spec.list[1]: Duplicate value"));
    buf_free(&text);
    assert_int_equal(kind_table_add_crd(t, parse(a, crd_text), &errors), 0); /* again: replaces */
    kind_table_remove_crd(t, "example.com", "foos");
    assert_null(kind_find(t, "example.com", "foos"));
    kind_table_remove_crd(t, "example.com", "foos");
    kind_table_free(t);
}

static void test_bad_crds(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *want;
    } rows[] = {
        {"\"foos.example.com\"", "\"foo.example.com\"", "metadata.name"},
        {"\"Namespaced\"", "\"Local\"", "spec.scope: Unsupported value: \"Local\""},
        {"\"storage\":true", "\"storage\":false", "exactly one version marked as storage"},
        {"\"type\":\"array\"", "\"type\":\"tuple\"", "spec.list: type must be one of"},
        {"\"kind\":\"Foo\"", "\"kind\":\"F o\"", "spec.names.kind: Invalid value: \"F o\""},
        {"\"group\":\"example.com\"", "\"group\":\"batch\"", "spec.group: Invalid value: \"batch\""},
        {"\"fo\"", "\"FO\"", "spec.names.shortNames: Invalid value: \"FO\""},
        {"\"v1beta1\"", "\"v1\"", "spec.versions: Duplicate value: \"v1\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        const char *at = strstr(crd_text, rows[i].from);
        assert_non_null(at);
        char *changed = arena_printf(a, "%.*s%s%s", (int)(at - crd_text), crd_text, rows[i].to, at + strlen(rows[i].from));
        struct kind_table *t = kind_table_new();
        struct field_errors errors;
        struct buf text;
        buf_init(&text);
        field_errors_init(&errors, a);
        assert_int_equal(kind_table_add_crd(t, parse(a, changed), &errors), -E_INVALID);
        field_errors_text(&text, &errors);
        if (!strstr(text.data, rows[i].want))
            assert_string_equal(text.data, rows[i].want);
        assert_null(kind_find(t, "example.com", "foos"));
        buf_free(&text);
        kind_table_free(t);
    }
}

static void test_built_in_kinds_stay(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct kind_table *t = kind_table_new();
    const char *text = "{\"metadata\":{\"name\":\"clusterqueues.kueue.x-k8s.io\"},\"spec\":{\"group\":\"kueue.x-k8s.io\",\"scope\":"
                       "\"Cluster\",\"names\":{\"plural\":\"clusterqueues\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"v1beta2\","
                       "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
    struct field_errors errors;
    field_errors_init(&errors, a);
    assert_int_equal(kind_table_add_crd(t, parse(a, arena_printf(a, text, "ClusterQueue")), &errors), 0);
    assert_int_equal(kind_find(t, "kueue.x-k8s.io", "clusterqueues")->versions_n, 2);
    assert_int_equal(kind_table_add_crd(t, parse(a, arena_printf(a, text, "Other")), &errors), -E_INVALID);
    kind_table_free(t);
}

static void test_openapi(void **state)
{
    (void)state;
    static const char *const versions[][2] = {
        {"", "v1"}, {"apps", "v1"}, {"batch", "v1"}, {"kueue.x-k8s.io", "v1beta1"}, {"jobset.x-k8s.io", "v1alpha2"}, {"example.com", "v1"}};
    _cleanup_arena_ struct arena *a = arena_new();
    struct kind_table *t = kind_table_new();
    assert_int_equal(kind_table_add_crd(t, parse(a, crd_text), NULL), 0);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct buf out;
        buf_init(&out);
        kind_openapi(t, versions[i][0], versions[i][1], &out);
        struct json_parse_info info = {0};
        struct err e = {0};
        struct json *doc = json_parse(a, buf_view(&out), &info, &e);
        assert_string_equal(e.text, "");
        assert_int_equal(info.duplicate_n, 0);
        const struct json *schemas = json_path(doc, "components", "schemas", NULL);
        assert_true(schemas->n > 5);
        for (const char *at = out.data; (at = strstr(at, "#/components/schemas/")); at++) { /* every reference leads somewhere */
            const char *name = at + strlen("#/components/schemas/");
            assert_non_null(json_get_n(schemas, (struct bytes){name, (size_t)(strchr(name, '"') - name)}));
        }
        buf_free(&out);
    }
    kind_table_free(t);
}

static const struct json *crd_of(void *ctx, const struct kind *k)
{
    return strcmp(k->group, "example.com") == 0 ? ctx : NULL;
}

/* Every "$ref" of a v2 document leads somewhere, and what kubectl cannot read is not there. */
static void test_openapi_v2(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0}, message = {0};
    struct kind_table *t = kind_table_new();
    const char *crd =
        "{\"metadata\":{\"name\":\"foos.example.com\"},"
        "\"spec\":{\"group\":\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"foos\",\"kind\":\"Foo\"},\"ve"
        "rsions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\""
        ",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"n\",\"s\"],\"properties\":{\"n\":{\"type\":\"stri"
        "ng\",\"nullable\":true},\"s\":{\"type\":\"string\",\"pattern\":\"a|b\",\"enum\":[\"a\"]},\"o\":{\"oneOf\":[{\"ty"
        "pe\":\"string\"}],\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{\"x\":{\"typ"
        "e\":\"string\"}}}}}}}}},{\"name\":\"v2\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"ty"
        "pe\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{\"spec\":{\"type\":\"object\"}}}}}"
        ",{\"name\":\"v3\",\"served\":false,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
    assert_int_equal(kind_table_add_crd(t, parse(a, crd), NULL), 0);
    openapi_v2(t, a, crd_of, parse(a, crd), &out);
    struct json_parse_info info = {0};
    struct err e = {0};
    struct json *doc = json_parse(a, buf_view(&out), &info, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(info.duplicate_n, 0);
    const struct json *definitions = json_get(doc, "definitions");
    for (const char *at = out.data; (at = strstr(at, "#/definitions/")); at++) {
        const char *name = at + strlen("#/definitions/");
        assert_non_null(json_get_n(definitions, (struct bytes){name, (size_t)(strchr(name, '"') - name)}));
    }
    const struct json *pod = json_get(definitions, "io.k8s.api.core.v1.Pod"), *spec;
    assert_string_equal(json_text(json_path(pod, "properties", "spec", "$ref", NULL), ""), "#/definitions/io.k8s.api.core.v1.PodSpec");
    const struct json *foo = json_get(definitions, "com.example.v1.Foo");
    spec = json_path(foo, "properties", "spec", NULL);
    assert_string_equal(json_text(json_item(json_get(spec, "required"), 0), ""), "s");
    assert_int_equal(json_get(spec, "required")->n, 1);
    assert_null(json_path(spec, "properties", "n", "type", NULL));
    assert_string_equal(json_text(json_path(spec, "properties", "s", "pattern", NULL), ""), "a|b");
    const struct json *open = json_path(spec, "properties", "o", NULL);
    assert_true(open && !json_get(open, "oneOf") && !json_get(open, "type") && !json_get(open, "properties"));
    assert_string_equal(json_text(json_path(foo, "properties", "kind", "type", NULL), ""), "string");
    assert_null(json_get(json_get(definitions, "com.example.v2.Foo"), "properties")); /* any member would close it */
    assert_null(json_get(definitions, "com.example.v3.Foo"));
    assert_non_null(json_path(doc, "paths", "/apis/example.com/v1/foos/{name}", "patch", NULL));
    openapi_v2_protobuf(doc, &message);
    size_t named_n = 0;
    struct protobuf_reader r = protobuf_reader(buf_view(&message));
    int next;
    for (struct protobuf_field f; (next = protobuf_next(&r, &f)) > 0;) {
        struct protobuf_reader inner = protobuf_reader(f.bytes);
        for (struct protobuf_field d; f.number == 9 && protobuf_next(&inner, &d) > 0;)
            named_n++;
    }
    assert_int_equal(next, 0);
    assert_int_equal(named_n, definitions->n);
    kind_table_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_in), cmocka_unit_test(test_crd),     cmocka_unit_test(test_bad_crds),
        cmocka_unit_test(test_built_in_kinds_stay), cmocka_unit_test(test_openapi),
        cmocka_unit_test(test_openapi_v2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
