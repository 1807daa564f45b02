/* The cache follows its watch and keeps objects lean. */
#include "kube/cache.h"
#include "kube/object_meta.h"
#include "kube/workqueue.h"
#include "script.h"

struct teller {
    struct buf told;
    struct kube_cache *k;
};

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct teller *t = arg;
    buf_printf(&t->told, "%c%s=%.*s ", "AMD"[event], key, (int)object.n, object.data);
}

static void on_synced(void *arg)
{
    struct teller *t = arg;
    buf_text(&t->told, "S ");
}

#define OBJECT(name, rv, more)                                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"resourceVersion\":\"" rv "\"}" more "}"

static void note_key(void *arg, struct work *w)
{
    buf_printf(arg, "%s ", w->key);
}

static void test_keys_to_look_at(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200,
         "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" OBJECT("x", "1", ",\"s\":\"word\"") "," OBJECT("y", "2", "") "]}"},
        {"watch=true", 0, NULL},
        {0},
    };
    struct script s;
    _cleanup_buf_ struct buf seen = {0};
    script_init(&s, steps);
    struct kube_cache *k = kube_cache_new(s.c, &(struct kube_cache_config){.watch = {.path = "/x"}});
    struct workqueue *q = workqueue_new(s.c, note_key, &seen);
    workqueue_add_all(q, k, NULL); /* nothing is there yet */
    loop_run_for(s.l, 50, NULL);
    assert_int_equal(seen.n, 0);
    workqueue_add_all(q, k, "\"word\"");
    loop_run_for(s.l, 50, NULL);
    assert_string_equal(seen.data, "n/x ");
    buf_clear(&seen);
    workqueue_add_all(q, k, NULL);
    loop_run_for(s.l, 50, NULL);
    assert_string_equal(seen.data, "n/x n/y ");
    workqueue_free(q);
    kube_cache_free(k);
    script_fini(&s);
}

static void test_follow(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200,
         "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" OBJECT("x", "1", ",\"s\":1") "," OBJECT("y", "2",
                                                                                                         "") "]}"},
        {"watch=true", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    _cleanup_arena_ struct arena *a = arena_new();
    struct bytes key, raw;
    size_t at = 0, n = 0;
    script_init(&s, steps);
    struct kube_cache_config config = {
        .watch = {.path = "/x"}, .on_change = on_change, .on_synced = on_synced, .arg = &t};
    struct kube_cache *k = kube_cache_new(s.c, &config);
    assert_false(kube_cache_synced(k));
    loop_run_for(s.l, 50, NULL);
    assert_true(kube_cache_synced(k));
    assert_int_equal(kube_cache_count(k), 2);
    assert_int_equal(json_get_int64(kube_cache_get(k, "n", "x", a), "s", 0), 1);
    assert_null(kube_cache_get(k, "n", "q", a));
    assert_int_equal(kube_cache_raw(k, NULL, "x").n, 0);
    struct bytes before = kube_cache_raw(k, "n", "x");
    script_feed(&s, "{\"type\":\"MODIFIED\",\"object\":" OBJECT(
                        "x", "7", ",\"s\":2") "}\n{\"type\":\"DELETED\",\"object\":" OBJECT("y", "8", "") "}\n");
    assert_non_null(before.data);
    buf_clear(&t.told);
    loop_run_for(s.l, 50, NULL);
    assert_string_equal(t.told.data, "Mn/x=" OBJECT("x", "7", ",\"s\":2") " Dn/y=" OBJECT("y", "2", "") " ");
    while (kube_cache_next(k, &at, &key, &raw)) {
        assert_true(bytes_is(key, "n/x"));
        n++;
    }
    assert_int_equal(n, 1);
    kube_cache_free(k);
    kube_cache_free(NULL);
    script_fini(&s);
    buf_free(&t.told);
}

static void lean(const char *in, const char *want)
{
    struct blob *out = object_without_managed_fields(bytes_of(in), NULL);
    assert_string_equal(out->data, want);
    assert_int_equal(out->n, strlen(want));
    blob_unref(out);
}

static void parsed(const char *in, bool with_spec, const char *want)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    json_write(&out, object_parse_lean(a, bytes_of(in), NULL, with_spec));
    assert_string_equal(out.data, want);
}

static void test_objects_are_read_without_their_spec(void **state)
{
    static const char pod[] = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"spec\":1}]},\"spec\":{\"a\":[\"}\"]},"
                              "\"status\":{\"spec\":2}}";
    parsed(pod, false, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"status\":{\"spec\":2}}");
    parsed(pod, true, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"a\":[\"}\"]},\"status\":{\"spec\":2}}");
    parsed("{\"spec\":{} , \"metadata\":{\"managedFields\":[],\"name\":\"a\"}}", false, "{\"metadata\":{\"name\":\"a\"}}");
    parsed("{\"metadata\":{\"name\":\"a\"},\"spec\":1}", false, "{\"metadata\":{\"name\":\"a\"}}");
    parsed("{\"spec\":1}", false, "{}");
    parsed("{\"a\":1}", false, "{\"a\":1}");
    _cleanup_arena_ struct arena *a = arena_new();
    assert_null(object_parse_lean(a, BYTES("{\"metadata\":{\"managedFields\":["), NULL, false));
    assert_null(object_parse_lean(a, BYTES(""), NULL, true));
}

/* The same of a body that says where its parts stand: it is not looked for. */
static void test_bodies_say_where_their_parts_stand(void **state)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"managedFields\":[1]},\"spec\":{},\"status\":{}}";
    static const char *const want[] = {"{\"metadata\":{\"name\":\"a\"},\"status\":{}}", "{\"metadata\":{\"name\":\"a\"},\"spec\":{},\"status\":{}}"};
    struct blob *body = blob_new(text, sizeof text - 1);
    struct bytes object = {body->data, body->n};
    const char *managed = strstr(text, ",\"managed"), *spec = strstr(text, ",\"spec");
    body->has_parts = true;
    for (int i = 0; i < 2; i++) { /* 0: as if it had none */
        _cleanup_arena_ struct arena *a = arena_new();
        if (i > 0) {
            body->managed = (struct blob_part){(uint32_t)(managed - text), (uint32_t)(spec - text) - 1};
            body->spec = (struct blob_part){(uint32_t)(spec - text), (uint32_t)(strstr(text, ",\"status") - text)};
        }
        struct blob *lean_body = object_without_managed_fields(object, body);
        assert_string_equal(lean_body->data, i ? want[1] : text);
        for (int with_spec = 0; with_spec < 2; with_spec++) {
            _cleanup_buf_ struct buf out = {0};
            json_write(&out, object_parse_lean(a, object, body, with_spec));
            assert_string_equal(out.data, i ? want[with_spec] : text);
        }
        blob_unref(lean_body);
    }
    blob_unref(body);
}

static void annotation(const char *in, const char *want)
{
    struct bytes value = object_text_annotation(bytes_of(in), "a/b");
    assert_int_equal(value.n, strlen(want));
    assert_memory_equal(value.n ? value.data : "", want, value.n);
}

static void test_an_annotation_is_found_in_the_text(void **state)
{
    annotation("{\"metadata\":{\"name\":\"x\",\"annotations\":{\"c\":\"\\\"a/b\\\":\",\"a/b\":\"v\"},\"labels\":{}},\"spec\":{}}", "v");
    annotation("{\"metadata\":{\"labels\":{\"a/b\":\"v\"},\"annotations\":{\"a/b\":\"\"}}}", "");
    annotation("{\"metadata\":{\"annotations\":{\"a/b\":1}}}", "");
    annotation("{\"spec\":{\"metadata\":{\"annotations\":{\"a/b\":\"v\"}}},\"metadata\":{}}", "");
    annotation("{\"metadata\":{\"annotations\":[\"a/b\"]}}", "");
    annotation("{\"metadata\":{\"annotations\":{\"a/b\":\"v", "");
    annotation("", "");
}

static void test_managed_fields_are_cut_out(void **state)
{
    lean("{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"x\":[1,\"]\"]}],\"uid\":\"u\"},\"b\":1}",
         "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"b\":1}");
    lean("{\"metadata\":{\"managedFields\":[] , \"uid\":\"u\"}}", "{\"metadata\":{ \"uid\":\"u\"}}");
    lean("{\"metadata\":{\"name\":\"a\" , \"managedFields\":[]}}", "{\"metadata\":{\"name\":\"a\" }}");
    lean("{\"metadata\":{\"managedFields\":[]}}", "{\"metadata\":{}}");
    lean("{\"spec\":{\"managedFields\":[]},\"metadata\":{}}", "{\"spec\":{\"managedFields\":[]},\"metadata\":{}}");
    lean("{\"metadata\":1}", "{\"metadata\":1}");
    lean("[", "[");
}

/* Marked by a member of theirs, as they change. */
static void on_marked_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    struct teller *t = arg;
    struct arena *a = arena_new();
    if (event == KUBE_DELETED)
        buf_printf(&t->told, "%s ", kube_cache_marked(t->k, key));
    else
        kube_cache_mark(t->k, key, json_get_text(json_parse(a, object, NULL, NULL), "m", NULL));
    arena_free(a);
}

/* The names of a mark, in order. */
static const char *of(const struct kube_cache *k, const char *mark)
{
    static char text[200];
    struct bytes key, raw;
    size_t n = 0;
    text[0] = '\0';
    for (size_t at = 0; kube_cache_next_of(k, mark, &at, &key, &raw);) {
        assert_non_null(memmem(raw.data, raw.n, key.data + 2, key.n - 2));
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s ", (int)key.n - 2, key.data + 2);
    }
    return text;
}

static void test_marks(void **state)
{
    static const struct step steps[] = {
        {"limit=500", 200,
         "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" OBJECT("x", "1", ",\"m\":\"red\"") "," OBJECT(
             "y", "2", ",\"m\":\"red\"") "," OBJECT("z", "3", "") "]}"},
        {"watch=true", 0, NULL},
        {0},
    };
    struct script s;
    struct teller t = {0};
    script_init(&s, steps);
    struct kube_cache_config config = {.watch = {.path = "/x"}, .on_change = on_marked_change, .arg = &t};
    struct kube_cache *k = t.k = kube_cache_new(s.c, &config);
    assert_string_equal(of(k, "red"), "");
    loop_run_for(s.l, 50, NULL);
    assert_string_equal(of(k, "red"), "x y ");
    assert_string_equal(of(k, "blue"), "");
    assert_string_equal(kube_cache_marked(k, "n/x"), "red");
    assert_string_equal(kube_cache_marked(k, "n/z"), "");
    script_feed(&s, "{\"type\":\"MODIFIED\",\"object\":" OBJECT("x", "7", ",\"m\":\"blue\"") "}\n{\"type\":\"MODIFIED\",\"object\":" OBJECT(
                        "z", "8", ",\"m\":\"red\"") "}\n{\"type\":\"DELETED\",\"object\":" OBJECT("y", "9", "") "}\n");
    loop_run_for(s.l, 50, NULL);
    assert_string_equal(of(k, "red"), "z ");
    assert_string_equal(of(k, "blue"), "x ");
    assert_string_equal(t.told.data, " "); /* what is deleted is marked no more */
    kube_cache_mark(k, "n/x", NULL);
    kube_cache_mark(k, "n/absent", "red");
    assert_string_equal(of(k, "blue"), "");
    assert_string_equal(of(k, "red"), "z ");
    kube_cache_free(k);
    script_fini(&s);
    buf_free(&t.told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_follow), cmocka_unit_test(test_keys_to_look_at), cmocka_unit_test(test_marks),
                                       cmocka_unit_test(test_managed_fields_are_cut_out),
                                       cmocka_unit_test(test_objects_are_read_without_their_spec),
                                       cmocka_unit_test(test_bodies_say_where_their_parts_stand),
                                       cmocka_unit_test(test_an_annotation_is_found_in_the_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
