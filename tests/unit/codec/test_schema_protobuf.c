/* Protobuf bodies: what kubectl really sends, and what nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "base/random.h"
#include "codec/schema/schema.h"
#include "wire/protobuf.h"

#define BODIES_MAX 64

struct body {
    struct buf bytes;
    char *json;
};
static struct body bodies[BODIES_MAX];
static size_t bodies_n;

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static int load(void **state)
{
    (void)state;
    FILE *file = fopen(BODIES_PATH, "r");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (!file)
        return -1;
    while ((n = getline(&line, &cap, file)) > 0 && bodies_n < BODIES_MAX) {
        if (line[0] == '#')
            continue;
        line[n - 1] = 0;
        char *tab = strchr(line, '\t');
        struct body *b = &bodies[bodies_n++];
        buf_init(&b->bytes);
        for (char *c = line; c + 1 < tab; c += 2)
            buf_char(&b->bytes, (char)(hex_digit(c[0]) << 4 | hex_digit(c[1])));
        b->json = mem_text(tab + 1);
    }
    free(line);
    fclose(file);
    return bodies_n > 10 ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    for (size_t i = 0; i < bodies_n; i++) {
        buf_free(&bodies[i].bytes);
        free(bodies[i].json);
    }
    return 0;
}

static void test_kubectl_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < bodies_n; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct err e = {0};
        struct json *got = NULL;
        struct buf text;
        assert_int_equal(schema_decode_protobuf(a, buf_view(&bodies[i].bytes), &got, &e), 0);
        buf_init(&text);
        json_write(&text, got);
        if (!json_equal(got, json_parse(a, bytes_of(bodies[i].json), NULL, NULL)))
            assert_string_equal(text.data, bodies[i].json);
        buf_free(&text);
    }
}

/* Cut and flipped bodies may decode or not; they must end, and what decodes must print as JSON that parses. */
static void try_body(struct bytes body)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *got = NULL;
    struct err e = {0};
    if (schema_decode_protobuf(a, body, &got, &e) < 0) {
        assert_true(e.text[0] != 0);
        return;
    }
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    json_write(&text, got);
    struct json_parse_info info = {0};
    assert_non_null(json_parse(a, buf_view(&text), &info, NULL));
    assert_int_equal(info.duplicate_n, 0);
}

static void test_damaged_bodies(void **state)
{
    (void)state;
    struct random source = {7};
    for (size_t i = 0; i < bodies_n; i++) {
        struct buf *b = &bodies[i].bytes;
        for (size_t n = 0; n < b->n; n++) {
            try_body((struct bytes){b->data, n});
            char keep = b->data[n];
            b->data[n] = (char)random_next(&source);
            try_body(buf_view(b));
            b->data[n] = keep;
        }
    }
}

/* Writing of bodies by hand. */
static void put_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(b, (char)(v | 0x80));
    buf_char(b, (char)v);
}

static void put_bytes(struct buf *b, unsigned number, struct bytes v)
{
    put_varint(b, number << 3 | 2);
    put_varint(b, v.n);
    buf_bytes(b, v);
}

static void put_envelope(struct buf *b, const char *version, const char *kind, const struct buf *raw)
{
    struct buf type;
    buf_init(&type);
    put_bytes(&type, 1, bytes_of(version));
    put_bytes(&type, 2, bytes_of(kind));
    buf_add(b, "k8s\0", 4);
    put_bytes(b, 1, buf_view(&type));
    put_bytes(b, 2, buf_view(raw));
    buf_free(&type);
}

static int decode(struct arena *a, const char *version, const char *kind, const struct buf *raw, struct json **ret, struct err *e)
{
    struct buf body;
    buf_init(&body);
    put_envelope(&body, version, kind, raw);
    int r = schema_decode_protobuf(a, buf_view(&body), ret, e);
    buf_free(&body);
    return r;
}

static void test_refusals(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf raw;
    struct json *got = NULL;
    struct err e = {0};
    buf_init(&raw);
    assert_int_equal(schema_decode_protobuf(a, BYTES(""), &got, &e), -E_INVALID);
    assert_int_equal(schema_decode_protobuf(a, BYTES("{}  {}"), &got, &e), -E_INVALID);
    assert_int_equal(decode(a, "example.com/v1", "Odd", &raw, &got, &e), -E_NOTFOUND);
    assert_int_equal(decode(a, "kueue.x-k8s.io/v1beta2", "ClusterQueue", &raw, &got, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "send JSON"));
    buf_text(&raw, "\x0b"); /* group */
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), -E_INVALID);
    raw.n = 0;
    put_bytes(&raw, 1, BYTES("\x0a\x02\xff\xfe")); /* metadata.name is not UTF-8 */
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), -E_INVALID);
    raw.n = 0;
    put_bytes(&raw, 1, BYTES("\x08\x01")); /* metadata.name as a number */
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), -E_INVALID);
}

static void test_repeated_keys_and_parts(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf raw;
    struct json *got = NULL;
    struct err e = {0};
    buf_init(&raw);
    put_bytes(&raw, 1, BYTES("\x0a\x01n"));         /* metadata.name n */
    put_bytes(&raw, 1, BYTES("\x1a\x01s\x5a\x00")); /* metadata.namespace s, labels {"": ""} */
    put_bytes(&raw, 2, BYTES("\x0a\x01k\x12\x01x"));
    put_bytes(&raw, 2, BYTES("\x0a\x01l\x12\x01y"));
    put_bytes(&raw, 2, BYTES("\x0a\x01k\x12\x01z"));
    put_bytes(&raw, 99, BYTES("not known"));
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), 0);
    assert_string_equal(json_get_text(json_get(got, "metadata"), "name", ""), "n");
    assert_string_equal(json_get_text(json_get(got, "metadata"), "namespace", ""), "s");
    assert_int_equal(json_get(got, "data")->n, 2);
    assert_string_equal(json_get_text(json_get(got, "data"), "k", ""), "z");
    for (int i = 0; i < 100000; i++) { /* many entries, half of them repeated: linear */
        char entry[32];
        int n = snprintf(entry, sizeof entry, "%c%c%06d%c%cv", 0x0a, 6, i % 50000, 0x12, 1);
        put_bytes(&raw, 2, (struct bytes){entry, (size_t)n});
    }
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), 0);
    assert_int_equal(json_get(got, "data")->n, 50002);
    raw.n = 0;
    for (int i = 0; i < 5000; i++)
        put_bytes(&raw, 1, BYTES("\x0a\x01n"));
    assert_int_equal(decode(a, "v1", "ConfigMap", &raw, &got, &e), -E_LIMIT);
    buf_free(&raw);
}

static void test_depth(void **state)
{
    (void)state;
    _cleanup_arena_ struct arena *a = arena_new();
    struct buf inner, outer;
    struct json *got = NULL;
    struct err e = {0};
    buf_init(&inner);
    for (int i = 0; i < 100; i++) { /* compositePodGroupTemplates inside each other */
        buf_init(&outer);
        const struct schema *s = schema_of("scheduling.k8s.io", "v1beta1", "Workload");
        const struct schema *spec = schema_field_find(s, BYTES("spec"))->type;
        const struct schema_field *f = schema_field_find(spec, BYTES("compositePodGroupTemplates"));
        const struct schema_field *g = schema_field_find(f->type->item, BYTES("compositePodGroupTemplates"));
        put_bytes(&outer, i == 99 ? f->proto_number : g->proto_number, buf_view(&inner));
        if (i == 0)
            put_bytes(&outer, 1, BYTES("x"));
        buf_free(&inner);
        inner = outer;
    }
    buf_init(&outer);
    put_bytes(&outer, 2, buf_view(&inner));
    assert_int_equal(decode(a, "scheduling.k8s.io/v1beta1", "Workload", &outer, &got, &e), -E_LIMIT);
    buf_free(&inner);
    buf_free(&outer);
}

/* ---- definitions: JSON Schema is a message of its own ---- */

static void raw_json(struct buf *out, uint32_t number, const char *json)
{
    size_t mark = protobuf_begin(out, number);
    protobuf_text(out, 1, json);
    protobuf_end(out, mark);
}

/* properties[name] = {type, and what `more` writes} */
static size_t property_begin(struct buf *out, const char *name, const char *type, size_t *ret_entry)
{
    *ret_entry = protobuf_begin(out, 29);
    protobuf_text(out, 1, name);
    size_t mark = protobuf_begin(out, 2);
    protobuf_text_always(out, 1, ""); /* as Go writes what is not there */
    protobuf_text(out, 5, type);
    return mark;
}

static void property_end(struct buf *out, size_t mark, size_t entry)
{
    protobuf_end(out, mark);
    protobuf_end(out, entry);
}

static void schema_write(struct buf *out)
{
    size_t entry, mark, inner, inner_entry, list;
    protobuf_text(out, 5, "object");
    mark = property_begin(out, "count", "integer", &entry);
    protobuf_text(out, 6, "int32");
    raw_json(out, 8, "7");
    buf_char(out, (char)(9 << 3 | 1));
    buf_add(out, &(double){100}, 8);
    protobuf_uint(out, 13, 5);
    property_end(out, mark, entry);
    mark = property_begin(out, "list", "array", &entry);
    list = protobuf_begin(out, 24);
    inner = protobuf_begin(out, 1);
    protobuf_text(out, 5, "string");
    raw_json(out, 20, "\"a\"");
    raw_json(out, 20, "\"b\"");
    protobuf_end(out, inner);
    protobuf_end(out, list);
    protobuf_text_always(out, 41, "name");
    protobuf_text(out, 42, "map");
    property_end(out, mark, entry);
    mark = property_begin(out, "map", "object", &entry);
    list = protobuf_begin(out, 30);
    protobuf_uint(out, 1, 1);
    protobuf_end(out, list);
    property_end(out, mark, entry);
    mark = property_begin(out, "deep", "object", &entry);
    inner = property_begin(out, "x", "string", &inner_entry);
    property_end(out, inner, inner_entry);
    protobuf_text_always(out, 23, "x");
    protobuf_uint(out, 38, 1);
    list = protobuf_begin(out, 44);
    protobuf_text(out, 1, "self.x != ''");
    protobuf_end(out, list);
    property_end(out, mark, entry);
}

static void definition_write(struct buf *out)
{
    struct buf raw = {0};
    size_t mark = protobuf_begin(&raw, 1), names, version, schema, props;
    protobuf_text(&raw, 1, "foos.example.com");
    protobuf_end(&raw, mark);
    mark = protobuf_begin(&raw, 2);
    protobuf_text(&raw, 1, "example.com");
    names = protobuf_begin(&raw, 3);
    protobuf_text(&raw, 1, "foos");
    protobuf_text(&raw, 4, "Foo");
    protobuf_end(&raw, names);
    protobuf_text(&raw, 4, "Namespaced");
    version = protobuf_begin(&raw, 7);
    protobuf_text(&raw, 1, "v1");
    protobuf_uint(&raw, 2, 1);
    protobuf_uint(&raw, 3, 1);
    schema = protobuf_begin(&raw, 4);
    props = protobuf_begin(&raw, 1);
    schema_write(&raw);
    protobuf_end(&raw, props);
    protobuf_end(&raw, schema);
    protobuf_end(&raw, version);
    protobuf_end(&raw, mark);
    buf_add(out, "k8s", 4);
    mark = protobuf_begin(out, 1);
    protobuf_text(out, 1, "apiextensions.k8s.io/v1");
    protobuf_text(out, 2, "CustomResourceDefinition");
    protobuf_end(out, mark);
    mark = protobuf_begin(out, 2);
    buf_bytes(out, buf_view(&raw));
    protobuf_end(out, mark);
    buf_free(&raw);
}

static void test_definitions(void **state)
{
    _cleanup_buf_ struct buf body = {0}, text = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *crd = NULL;
    struct err e = {0};
    definition_write(&body);
    if (schema_decode_protobuf(a, buf_view(&body), &crd, &e) < 0)
        fail_msg("%s", e.text);
    json_write(&text, json_path(json_item(json_path(crd, "spec", "versions", NULL), 0), "schema", "openAPIV3Schema", NULL));
    assert_string_equal(
        text.data,
        "{\"type\":\"object\",\"properties\":{"
        "\"count\":{\"type\":\"integer\",\"format\":\"int32\",\"default\":7,\"maximum\":100,\"maxLength\":5},"
        "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},\"x-kubernetes-list-map-keys\":[\"name\"],"
        "\"x-kubernetes-list-type\":\"map\"},"
        "\"map\":{\"type\":\"object\",\"additionalProperties\":true},"
        "\"deep\":{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{\"type\":\"string\"}},"
        "\"x-kubernetes-preserve-unknown-fields\":true,\"x-kubernetes-validations\":[{\"rule\":\"self.x != ''\"}]}}}");
}

/* Cut and changed anywhere: refused or read, and what is read can be printed and read again. */
static void test_damaged_definitions(void **state)
{
    _cleanup_buf_ struct buf body = {0};
    struct random random = {5};
    definition_write(&body);
    for (int i = 0; i < 20000; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf damaged = {0}, text = {0};
        buf_bytes(&damaged, buf_view(&body));
        for (int k = 0; k < 1 + i % 3; k++)
            damaged.data[random_below(&random, damaged.n)] = (char)random_next(&random);
        size_t n = i % 2 ? damaged.n : random_below(&random, damaged.n + 1);
        struct json *crd = NULL;
        struct err e = {0};
        int r = schema_decode_protobuf(a, (struct bytes){damaged.data, n}, &crd, &e);
        assert_true(r == 0 || (e.code == -r && e.text[0]));
        if (r < 0)
            continue;
        struct json_parse_info info = {0};
        json_write(&text, crd);
        struct json *again = json_parse(a, buf_view(&text), &info, NULL);
        assert_non_null(again);
        assert_int_equal(info.duplicate_n, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions), cmocka_unit_test(test_damaged_definitions),
        cmocka_unit_test(test_kubectl_bodies),          cmocka_unit_test(test_damaged_bodies), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_repeated_keys_and_parts), cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
