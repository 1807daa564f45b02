/* Types, pruning, defaults and validation by the built-in table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "codec/schema/field_errors.h"
#include "codec/schema/schema.h"
#include "codec/schema/schema_table.h"

static struct json *parse(struct arena *a, const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(a, bytes_of(text), NULL, &e);
    if (!v)
        print_error("%s\n", e.text);
    assert_non_null(v);
    return v;
}

static void assert_json(const struct json *v, const char *want)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf got;
    buf_init(&got);
    json_write(&got, v);
    if (!json_equal(v, parse(a, want)))
        assert_string_equal(got.data, want);
    buf_free(&got);
}

/* Whatever hint the member has: it may have come from an object of another type. */
static const struct schema_field *found_of(const struct schema *s, const char *name, size_t n, uint32_t near)
{
    const struct schema_field *f = schema_field_find(s, (struct bytes){name, n});
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t hints[] = {0, near, near + 1, UINT16_MAX};
        struct json member = {.type = JSON_NULL, .key = name, .key_n = (uint32_t)n, .hint = (uint16_t)hints[i]};
        assert_ptr_equal(schema_field_of(s, &member), f);
    }
    return f;
}

/* Each field is found by its name, and by no name that is a little longer, shorter or other. */
static void assert_fields_found(const struct schema *s)
{
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        char name[300];
        if (f->inlined)
            continue;
        assert_ptr_equal(found_of(s, f->name, f->name_n, i), f);
        int n = snprintf(name, sizeof name, "%s~", f->name);
        assert_null(found_of(s, name, (size_t)n, i));
        name[n - 2] ^= 0x40;
        assert_null(found_of(s, name, (size_t)n - 1, i));
        const struct schema_field *shorter = schema_field_find(s, (struct bytes){f->name, f->name_n - 1u});
        assert_true(!shorter || shorter->name_n == f->name_n - 1);
    }
}

static void test_find_every_field(void **state)
{
    for (uint32_t i = 0; i < schema_roots_n; i++)
        for (uint32_t f = 0; f < schema_roots[i].schema->fields_n; f++) {
            assert_fields_found(schema_roots[i].schema);
            assert_fields_found(schema_roots[i].schema->fields[f].type);
        }
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    const struct schema *custom;
    struct json *v = parse(a, "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
                              "\"z\":{\"type\":\"string\"},\"abcdefghz\":{\"type\":\"string\"},\"abcdefgh\":{\"type\":\"string\"},"
                              "\"abcdefgha\":{\"type\":\"string\"},\"\u00e4\":{\"type\":\"string\"},\"abc\":{\"type\":\"string\"}}}}}");
    assert_int_equal(schema_from_openapi(a, v, "x", &custom, &e), 0);
    assert_int_equal(schema_field_find(custom, BYTES("spec"))->type->fields_n, 6);
    assert_fields_found(schema_field_find(custom, BYTES("spec"))->type);
}

static void test_find(void **state)
{
    (void)state;
    assert_null(schema_of("", "v1", "Nothing"));
    assert_null(found_of(NULL, "x", 1, 0));
    assert_null(found_of(schema_of("", "v1", "Pod"), "", 0, 0));
    const struct schema *pod = schema_of("", "v1", "Pod");
    assert_non_null(pod);
    assert_string_equal(pod->name, "io.k8s.api.core.v1.Pod");
    const struct schema *spec = schema_field_find(pod, BYTES("spec"))->type;
    const struct schema_field *containers = schema_field_find(spec, BYTES("containers"));
    assert_string_equal(containers->merge_key, "name");
    assert_true(containers->required);
    assert_int_equal(containers->proto_number, 2);
    assert_int_equal(containers->type->list, SCHEMA_LIST_MAP);
    assert_string_equal(containers->type->list_keys[0], "name");
    const struct schema_field *ports = schema_field_find(containers->type->item, BYTES("ports"));
    assert_string_equal(ports->merge_key, "containerPort");
    assert_string_equal(ports->type->list_keys[1], "protocol");
    assert_null(schema_field_find(spec, BYTES("")));
    assert_null(schema_field_find(spec, BYTES("container")));
    assert_null(schema_field_find(spec, BYTES("containerss")));
    const struct schema_field *volumes = schema_field_find(spec, BYTES("volumes"));
    assert_true(volumes->merge_retain_keys);
    assert_non_null(schema_field_find(volumes->type->item, BYTES("emptyDir"))); /* inlined */
    const struct schema *meta = schema_field_find(pod, BYTES("metadata"))->type;
    assert_string_equal(schema_field_find(meta, BYTES("ownerReferences"))->merge_key, "uid");
    assert_string_equal(schema_field_find(meta, BYTES("finalizers"))->merge_key, "");
    assert_int_equal(schema_field_find(meta, BYTES("finalizers"))->type->list, SCHEMA_LIST_SET);
    assert_true(schema_field_find(spec, BYTES("nodeSelector"))->type->atomic);
    const struct schema *queue = schema_of("kueue.x-k8s.io", "v1beta2", "ClusterQueue");
    assert_non_null(queue);
    assert_true(schema_field_find(schema_field_find(queue, BYTES("spec"))->type, BYTES("namespaceSelector"))->type->atomic);
}

static void test_prune_and_default(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct schema *pod = schema_of("", "v1", "Pod");
    struct json *v = parse(a,
                           "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"creationTimestamp\":null,\"odd\":1,"
                           "\"annotations\":{\"a\":null}},\"spec\":{\"containers\":[{\"name\":\"c\",\"imagee\":\"x\",\"resources\":"
                           "{\"limits\":{\"cpu\":0.5,\"nvidia.com/gpu\":1,\"memory\":\"1024Mi\"}}}]},\"status\":{\"startTime\":"
                           "\"2026-01-01T02:00:00+01:00\"}}");
    struct schema_findings found;
    struct err e = {0};
    assert_int_equal(schema_prune(a, pod, v, &found, &e), 0);
    assert_int_equal(found.unknown_n, 2);
    assert_string_equal(found.unknown[0], "metadata.odd");
    assert_string_equal(found.unknown[1], "spec.containers[0].imagee");
    schema_default(a, pod, v);
    assert_json(v, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":\"\"}},\"spec\":{"
                   "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":\"500m\",\"nvidia.com/gpu\":\"1\","
                   "\"memory\":\"1Gi\"}},\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\"}],"
                   "\"restartPolicy\":\"Always\",\"dnsPolicy\":\"ClusterFirst\",\"schedulerName\":\"default-scheduler\","
                   "\"terminationGracePeriodSeconds\":30,\"securityContext\":{}},"
                   "\"status\":{\"startTime\":\"2026-01-01T01:00:00Z\"}}");
    struct buf first, second;
    buf_init(&first);
    buf_init(&second);
    json_write(&first, v);
    assert_int_equal(schema_prune(a, pod, v, &found, &e), 0);
    schema_default(a, pod, v);
    json_write(&second, v);
    assert_string_equal(first.data, second.data); /* doing it twice changes nothing */
    buf_free(&first);
    buf_free(&second);
}

static void test_wrong_types(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *want;
    } rows[] = {
        {"{\"containers\":\"x\"}", "spec.containers: expected a list, got the string \"x\""},
        {"{\"containers\":[3]}", "spec.containers[0]: expected an object, got the number 3"},
        {"{\"priority\":\"3\"}", "spec.priority: expected a number (without quotes), got the string \"3\""},
        {"{\"priority\":3.5}", "spec.priority: expected a whole number, got the number 3.5"},
        {"{\"priority\":4000000000}", "spec.priority: expected a whole number that fits 32 bits, got the number 4000000000"},
        {"{\"hostNetwork\":\"yes\"}", "spec.hostNetwork: expected true or false (without quotes), got the string \"yes\""},
        {"{\"nodeName\":{}}", "spec.nodeName: expected a string, got an object"},
        {"{\"nodeSelector\":{\"a\":1}}", "spec.nodeSelector.a: expected a string (put it in quotes), got the number 1"},
        {"{\"nodeSelector\":[]}", "spec.nodeSelector: expected a map of names to values, got a list"},
        {"[]", "spec: expected an object, got a list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *v = parse(a, arena_printf(a, "{\"spec\":%s}", rows[i].spec));
        struct err e = {0};
        assert_int_equal(schema_prune(a, schema_of("", "v1", "Pod"), v, NULL, &e), -E_INVALID);
        assert_string_equal(e.text, rows[i].want);
    }
}

static void test_templates_of_custom_kinds_keep_their_shape(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct schema *job = schema_of("batch.volcano.sh", "v1alpha1", "Job");
    struct json *v = parse(a, "{\"spec\":{\"tasks\":[{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}]}}");
    assert_int_equal(schema_prune(a, job, v, NULL, NULL), 0);
    schema_default(a, job, v);
    assert_json(v, "{\"spec\":{\"tasks\":[{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}}],\"maxRetry\":3,"
                   "\"queue\":\"default\"}}");
    const struct schema *queue = schema_of("kueue.x-k8s.io", "v1beta2", "ClusterQueue");
    v = parse(a, "{\"spec\":{}}");
    schema_default(a, queue, v);
    assert_json(v, "{\"spec\":{\"flavorFungibility\":{\"whenCanBorrow\":\"MayStopSearch\",\"whenCanPreempt\":\"TryNextFlavor\"},"
                   "\"preemption\":{\"borrowWithinCohort\":{\"policy\":\"Never\"},\"reclaimWithinCohort\":\"Never\","
                   "\"withinClusterQueue\":\"Never\"},\"queueingStrategy\":\"BestEffortFIFO\",\"stopPolicy\":\"None\"}}");
}

static void test_built_in_defaults(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *v = parse(a, "{\"spec\":{}}");
    schema_default(a, schema_of("apps", "v1", "Deployment"), v);
    assert_json(v, "{\"spec\":{\"progressDeadlineSeconds\":600,\"replicas\":1,\"revisionHistoryLimit\":10,\"strategy\":{\"type\":"
                   "\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}}}}");
    v = parse(a, "{\"spec\":{\"restartPolicy\":\"\",\"containers\":[{\"livenessProbe\":{\"periodSeconds\":0}}],\"terminationGracePeriodSeconds\":0}}");
    schema_default(a, schema_of("", "v1", "Pod"), v);
    assert_string_equal(json_get_text(json_get(v, "spec"), "restartPolicy", ""), "Always");       /* no pointer: "" is absent */
    assert_int_equal(json_get_int64(json_get(v, "spec"), "terminationGracePeriodSeconds", 9), 0); /* a pointer: 0 is 0 */
    const struct json *probe = json_get(json_item(json_path(v, "spec", "containers", NULL), 0), "livenessProbe");
    assert_int_equal(json_get_int64(probe, "periodSeconds", 0), 10);
    v = parse(a, "{}");
    schema_default(a, schema_of("", "v1", "Secret"), v);
    assert_json(v, "{\"type\":\"Opaque\"}");
    v = parse(a, "{}");
    schema_default(a, schema_of("", "v1", "Namespace"), v);
    assert_json(v, "{\"status\":{\"phase\":\"Active\"}}");
}

static void test_validate(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct field_errors errors;
    field_errors_init(&errors, a);
    struct json *v = parse(a, "{\"spec\":{\"restartPolicy\":\"Sometimes\",\"containers\":[{\"image\":\"x\"},{\"name\":\"\"}]},"
                              "\"status\":{\"phase\":\"Odd\"}}");
    schema_validate(schema_of("", "v1", "Pod"), v, &errors);
    struct buf text;
    buf_init(&text);
    field_errors_text(&text, &errors);
    assert_non_null(strstr(text.data, "spec.containers[0].name: Required value"));
    assert_non_null(strstr(text.data, "spec.containers[1].name: Required value"));
    assert_non_null(strstr(text.data, "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\","));
    assert_int_equal(errors.n, 3);
    field_errors_init(&errors, a);
    v = parse(a, "{\"spec\":{\"weight\":0}}");
    schema_validate(schema_of("scheduling.volcano.sh", "v1beta1", "Queue"), v, &errors);
    text.n = 0;
    field_errors_text(&text, &errors);
    assert_string_equal(text.data, "spec.weight: Invalid value: 0: spec.weight in body should be greater than or equal to 1");
    field_errors_init(&errors, a);
    v = parse(a, "{\"spec\":{\"tasks\":[{\"maxRetry\":-1},{\"maxRetry\":-2}]}}"); /* -1: no limit */
    schema_validate(schema_of("batch.volcano.sh", "v1alpha1", "Job"), v, &errors);
    text.n = 0;
    field_errors_text(&text, &errors);
    assert_null(strstr(text.data, "tasks[0].maxRetry"));
    assert_non_null(strstr(text.data, "spec.tasks[1].maxRetry: Invalid value: -2"));
    buf_free(&text);
}

/* Of texts their length and their form, of lists and maps how many, of both what is in them. */
static void test_bounds(void **state)
{
    static const char long_name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; /* 64 */
    static const struct {
        const char *kind, *object, *error;
    } cases[] = {
        {"ClusterQueue", "{\"spec\":{\"cohortName\":\"a.b\"}}", ""},
        {"ClusterQueue", "{\"spec\":{\"cohortName\":\"a_b\"}}", "spec.cohortName: Invalid value: \"a_b\": should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$': a lowercase RFC"},
        {"ClusterQueue", "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[],\"flavors\":[]}]}}",
         "spec.resourceGroups[0].coveredResources: Invalid value: should be at least 1 items"},
        {"ClusterQueue", "{\"spec\":{\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"a\",\"onFlavors\":[\"b\",\"C\"]}]}}}",
         "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: Invalid value: \"C\""},
        {"AdmissionCheck", "{\"spec\":{\"controllerName\":\"\"}}", "spec.controllerName: Invalid value: \"\": should be at least 1 chars long"},
        {"AdmissionCheck", "{\"spec\":{\"controllerName\":\"c\",\"parameters\":{\"apiGroup\":\"a.b\",\"kind\":\"Some-Kind2\",\"name\":\"n\"}}}", ""},
        {"AdmissionCheck", "{\"spec\":{\"controllerName\":\"c\",\"parameters\":{\"apiGroup\":\"a.b\",\"kind\":\"2Kind\",\"name\":\"n\"}}}",
         "spec.parameters.kind: Invalid value: \"2Kind\": a kind must"},
        {"AdmissionCheck", "{\"spec\":{\"controllerName\":\"c\",\"parameters\":{\"apiGroup\":\"a.b\",\"kind\":\"Kind-\",\"name\":\"n\"}}}",
         "spec.parameters.kind: Invalid value: \"Kind-\""},
        {"ResourceFlavor", "{\"spec\":{\"nodeLabels\":{\"a\":\"1\",\"b\":\"1\",\"c\":\"1\",\"d\":\"1\",\"e\":\"1\",\"f\":\"1\",\"g\":\"1\",\"h\":\"1\"}}}", ""},
        {"ResourceFlavor",
         "{\"spec\":{\"nodeLabels\":{\"a\":\"1\",\"b\":\"1\",\"c\":\"1\",\"d\":\"1\",\"e\":\"1\",\"f\":\"1\",\"g\":\"1\",\"h\":\"1\",\"i\":\"1\"}}}",
         "spec.nodeLabels: Too many: 9: must have at most 8 items"},
        {"Topology", "{\"spec\":{\"levels\":[{\"nodeLabel\":\"example.com/rack\"}]}}", ""},
        {"Topology", "{\"spec\":{\"levels\":[{\"nodeLabel\":\"a b\"}]}}", "spec.levels[0].nodeLabel: Invalid value: \"a b\": name part must"},
    };
    _cleanup_arena_ struct arena *a = arena_new();
    struct field_errors errors;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        _cleanup_buf_ struct buf text = {0};
        field_errors_init(&errors, a);
        schema_validate(schema_of("kueue.x-k8s.io", "v1beta2", cases[i].kind), parse(a, cases[i].object), &errors);
        field_errors_text(&text, &errors);
        const char *said = text.data ? text.data : "";
        if (cases[i].error[0] ? !strstr(said, cases[i].error) : errors.n != 0)
            fail_msg("%s\nexpected %s\ngot %s", cases[i].object, cases[i].error, said);
    }
    static const struct {
        const char *reason;
        bool good;
    } reasons[] = {{"QuotaReserved", true}, {"A", true}, {"a_b:c,d_", true}, {"", false}, {"a b", false}, {"1a", false}, {"a,", false}, {"a:", false}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        field_errors_init(&errors, a);
        schema_validate(schema_of("kueue.x-k8s.io", "v1beta2", "LocalQueue"),
                        parse(a, arena_printf(a, "{\"status\":{\"conditions\":[{\"type\":\"a\",\"status\":\"True\",\"reason\":\"%s\","
                                                 "\"message\":\"m\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
                                              reasons[i].reason)), &errors);
        if ((errors.n == 0) != reasons[i].good)
            fail_msg("reason \"%s\": %u errors", reasons[i].reason, errors.n);
    }
    field_errors_init(&errors, a);
    schema_validate(schema_of("kueue.x-k8s.io", "v1beta2", "Workload"),
                    parse(a, arena_printf(a, "{\"spec\":{\"podSets\":[{\"name\":\"%s\",\"template\":{}}]}}", long_name)), &errors);
    assert_int_equal(errors.n, 2); /* too long, and so no name of a label */
    assert_int_equal(errors.first->type, FIELD_TOO_LONG);
}

static void test_components(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf out;
    struct err e = {0};
    buf_init(&out);
    buf_char(&out, '{');
    schema_openapi_components(&out, schema_of("", "v1", "Pod"));
    buf_char(&out, '}');
    const struct json *doc = json_parse(a, buf_view(&out), NULL, &e);
    assert_string_equal(e.text, "");
    const struct json *spec = json_get(doc, "io.k8s.api.core.v1.PodSpec");
    const struct json *containers = json_path(spec, "properties", "containers", NULL);
    assert_string_equal(json_get_text(containers, "x-kubernetes-patch-merge-key", ""), "name");
    assert_string_equal(json_get_text(containers, "x-kubernetes-list-type", ""), "map");
    assert_string_equal(json_text(json_item(json_get(spec, "required"), 0), ""), "containers");
    assert_null(json_path(doc, "io.k8s.api.core.v1.Volume", "properties", "", NULL)); /* inlined members have no name */
    assert_non_null(json_path(doc, "io.k8s.api.core.v1.Volume", "properties", "emptyDir", NULL));
    buf_free(&out);
    buf_init(&out);
    buf_char(&out, '{');
    schema_openapi_components(&out, schema_of("kueue.x-k8s.io", "v1beta2", "ClusterQueue"));
    buf_char(&out, '}');
    const struct json *queues = json_parse(a, buf_view(&out), NULL, NULL);
    const struct json *queue = json_path(queues, "io.x-k8s.kueue.v1beta2.ClusterQueueSpec", "properties", NULL);
    assert_int_equal(json_int64(json_path(queue, "cohortName", "maxLength", NULL), 0), 253);
    assert_int_equal(json_int64(json_path(queue, "resourceGroups", "maxItems", NULL), 0), 16);
    assert_null(json_path(queue, "cohortName", "maximum", NULL));
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_every_field),
        cmocka_unit_test(test_prune_and_default),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_templates_of_custom_kinds_keep_their_shape),
        cmocka_unit_test(test_built_in_defaults),
        cmocka_unit_test(test_validate),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
