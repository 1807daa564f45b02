#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apiserver/request/accept.h"
#include "apiserver/tables/table.h"
#include "apiserver/tables/table_path.h"

#define NOW_MS 1767225600000ll /* 2026-01-01T00:00:00Z */

struct fixture {
    struct apiserver server;
    struct arena *arena;
};

static int setup(void **state)
{
    struct fixture *f = mem_zero(1, sizeof *f);
    f->server.loop = loop_new_virtual(NOW_MS);
    f->server.kinds = kind_table_new();
    f->arena = arena_new();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_free(f->arena);
    kind_table_free(f->server.kinds);
    loop_free(f->server.loop);
    free(f);
    return 0;
}

static struct json *parse(struct fixture *f, const char *text)
{
    struct err e = {0};
    struct json *v = json_parse(f->arena, bytes_of(text), NULL, &e);
    if (!v)
        fail_msg("%s in %s", e.text, text);
    return v;
}

/* The cells of object as JSON text. */
static const char *cells(struct fixture *f, const char *group, const char *plural, const char *object)
{
    struct request_info ri = {.server = &f->server, .kind = kind_find(f->server.kinds, group, plural)};
    struct buf out = {0};
    assert_non_null(ri.kind);
    ri.kind_version = &ri.kind->versions[0];
    table_begin(&out, &ri, "7", NULL, -1, true);
    table_row(&out, &ri, f->arena, parse(f, object), NULL, true);
    table_end(&out);
    const struct json *table = parse(f, out.data), *row = json_item(json_get(table, "rows"), 0);
    buf_free(&out);
    assert_int_equal(json_get(row, "cells")->n, json_get(table, "columnDefinitions")->n);
    assert_string_equal(json_text(json_path(row, "object", "kind", NULL), ""), "PartialObjectMetadata");
    json_write(&out, json_get(row, "cells"));
    const char *text = arena_text(f->arena, out.data);
    buf_free(&out);
    return text;
}

static void pod_words(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *pod, *cells;
    } cases[] = {
        {"{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"2025-12-31T23:59:55Z\"},\"spec\":{\"containers\":[{"
         "\"name\":\"a\"},{\"name\":\"b\"}],"
         "\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"containerStatuses\":[{"
         "\"name\":\"a\",\"ready\":true,"
         "\"restartCount\":0,\"state\":{\"running\":{}}},{\"name\":\"b\",\"ready\":false,\"restartCount\":3,\"state\":{"
         "\"waiting\":{\"reason\":"
         "\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"finishedAt\":\"2025-12-31T23:55:00Z\"}}}]}}",
         "[\"p\",\"1/2\",\"CrashLoopBackOff\",\"3 (5m ago)\",\"5s\",\"10.0.0.1\",\"n1\",\"<none>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\"}]},\"status\":{\"phase\":"
         "\"Succeeded\",\"containerStatuses\":[{"
         "\"name\":\"a\",\"ready\":false,\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":0,\"reason\":"
         "\"Completed\"}}}]}}",
         "[\"p\",\"0/1\",\"Completed\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\"}]},\"status\":{\"phase\":"
         "\"Pending\",\"conditions\":[{\"type\":"
         "\"PodScheduled\",\"status\":\"False\",\"reason\":\"SchedulingGated\"}]}}",
         "[\"p\",\"0/1\",\"SchedulingGated\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\"}],\"initContainers\":[{\"name\":"
         "\"i\"},{\"name\":\"j\"}]},"
         "\"status\":{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"name\":\"i\",\"state\":{\"terminated\":{"
         "\"exitCode\":0}}},{\"name\":\"j\","
         "\"state\":{\"running\":{}}}]}}",
         "[\"p\",\"0/1\",\"Init:1/2\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-01-01T00:00:30Z\"},\"spec\":{\"containers\":[{"
         "\"name\":\"a\"}]},\"status\":{"
         "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"a\",\"ready\":true,\"restartCount\":0,\"state\":{"
         "\"running\":{}}}]}}",
         "[\"p\",\"1/1\",\"Terminating\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
        {"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\"}]},\"status\":{\"phase\":\"Failed\","
         "\"containerStatuses\":[{"
         "\"name\":\"a\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":2}}}]}}",
         "[\"p\",\"0/1\",\"ExitCode:2\",\"0\",\"<unknown>\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cells(f, "", "pods", cases[i].pod), cases[i].cells);
}

static void other_kinds(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(
        cells(f, "", "nodes",
              "{\"metadata\":{\"name\":\"n\",\"labels\":{\"node-role.kubernetes.io/"
              "worker\":\"\",\"node-role.kubernetes.io/gpu\":\"\"}},"
              "\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
              "\"nodeInfo\":{\"kubeletVersion\":\"v1\"}}}"),
        "[\"n\",\"Ready,SchedulingDisabled\",\"gpu,worker\",\"<unknown>\",\"v1\",\"<none>\",\"<none>\",\"<unknown>\","
        "\"<unknown>\","
        "\"<unknown>\"]");
    assert_string_equal(cells(f, "batch", "jobs",
                              "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"completions\":4,\"selector\":{"
                              "\"matchLabels\":{\"b\":\"2\",\"a\":\"1\"}},"
                              "\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}},\"status\":"
                              "{\"succeeded\":4,\"startTime\":"
                              "\"2026-01-01T00:00:00Z\",\"completionTime\":\"2026-01-01T00:01:05Z\",\"conditions\":[{"
                              "\"type\":\"Complete\",\"status\":"
                              "\"True\"}]}}"),
                        "[\"j\",\"Complete\",\"4/4\",\"65s\",\"<unknown>\",\"c\",\"i\",\"a=1,b=2\"]");
    assert_string_equal(cells(f, "", "services",
                              "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":\"None\",\"ports\":[{\"port\":80,"
                              "\"nodePort\":30080},{\"port\":53,"
                              "\"protocol\":\"UDP\"}]}}"),
                        "[\"s\",\"ClusterIP\",\"None\",\"<none>\",\"80:30080/TCP,53/UDP\",\"<unknown>\",\"<none>\"]");
    assert_string_equal(
        cells(f, "", "events",
              "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},\"type\":"
              "\"Warning\",\"reason\":\"R\","
              "\"message\":\" m \\n\",\"eventTime\":\"2025-12-31T23:59:00.000000Z\",\"reportingComponent\":\"c\"}"),
        "[\"60s\",\"Warning\",\"R\",\"pod/p\",\"\",\"c\",\"m\",\"60s\",1,\"e\"]");
    assert_string_equal(cells(f, "", "configmaps",
                              "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"\"}}"),
                        "[\"c\",2,\"<unknown>\"]");
}

/* Every kind of the table prints an empty object without reading beyond it. */
static void empty_objects(void **state)
{
    struct fixture *f = *state;
    for (uint32_t i = 0; i < kind_count(f->server.kinds); i++) {
        const struct kind *k = kind_at(f->server.kinds, i);
        cells(f, k->group, k->plural, "{}");
        cells(f, k->group, k->plural, "{\"metadata\":[],\"spec\":\"x\",\"status\":7}");
    }
}

static void paths(void **state)
{
    struct fixture *f = *state;
    const struct json *object = parse(
        f, "{\"spec\":{\"a.b\":\"dot\",\"list\":[{\"n\":1},{\"n\":2}]},\"status\":{\"conditions\":[{\"type\":\"Ready\","
           "\"status\":\"False\"},{\"type\":\"Admitted\",\"status\":\"True\"}]},\"none\":null}");
    static const struct {
        const char *path, *value;
    } cases[] = {
        {".status.conditions[?(@.type==\"Admitted\")].status", "True"},
        {".status.conditions[?(@.type=='Ready')].status", "False"},
        {".status.conditions[?(@.type!=\"Ready\")].type", "Admitted"},
        {".spec.a\\.b", "dot"},
        {".spec['a.b']", "dot"},
        {"{.spec.list[1].n}", "2"},
        {".spec.list[-1].n", "2"},
        {".spec.list[*].n", "1"},
        {"$.spec.list[0].n", "1"},
        {".spec.missing", NULL},
        {".spec.list[9].n", NULL},
        {".none", NULL},
        {".status.conditions[?(@.type==\"No\")].status", NULL},
        {".spec.list[", NULL},
        {".spec.list[?(", NULL},
        {".spec['a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json *v = table_path_find(object, cases[i].path);
        if (!cases[i].value)
            assert_null(v);
        else
            assert_true(bytes_is(json_bytes(v), cases[i].value));
    }
}

static bool wants_table(const char *accept)
{
    const struct http_param header = {"accept", accept};
    const struct http_request r = {.headers = &header, .headers_n = 1};
    return table_wanted(&r);
}

static void accepting(void **state)
{
    assert_true(wants_table("application/json;as=Table;v=v1;g=meta.k8s.io,application/"
                            "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"));
    assert_true(wants_table("application/json; as=Table; v=v1; g=meta.k8s.io, application/json"));
    assert_false(wants_table("application/json,application/json;as=Table;v=v1;g=meta.k8s.io"));
    assert_false(wants_table("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"));
    assert_false(wants_table("application/json, */*"));
    assert_false(wants_table(""));
    assert_false(wants_table(",;,;as=Table"));
}

static bool wants_partial(const char *accept)
{
    const struct http_param header = {"accept", accept};
    const struct http_request r = {.headers = &header, .headers_n = 1};
    return accept_partial(&r);
}

static void only_metadata(void **state)
{
    assert_true(wants_partial("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
                              "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"));
    assert_true(wants_partial("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"));
    assert_false(wants_partial("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"));
    assert_false(wants_partial("application/json"));
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    const char *text = "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"n\"},\"data\":{}}";
    accept_partial_write(&out, json_parse(a, bytes_of(text), NULL, NULL));
    assert_string_equal(out.data, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                                  "\"metadata\":{\"name\":\"n\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pod_words, setup, teardown),
        cmocka_unit_test_setup_teardown(other_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(paths, setup, teardown),
        cmocka_unit_test_setup_teardown(accepting, setup, teardown),
        cmocka_unit_test(only_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
