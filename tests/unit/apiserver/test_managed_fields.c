#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <time.h>

#include "apiserver/apply/managed_fields.h"
#include "apiserver/apply/managed_fields_set.h"
#include "apiserver/store/apart.h"

static struct json *tree(struct arena *a, const char *text)
{
    struct err e = {0};
    char *copy = arena_text(a, text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    struct json *v = json_parse(a, bytes_of(copy), NULL, &e);
    if (!v)
        fail_msg("%s: %s", text, e.text);
    return v;
}

static void same(struct arena *a, const struct json *v, const char *expect)
{
    _cleanup_buf_ struct buf out = {0};
    if (v)
        json_write(&out, v);
    else
        buf_text(&out, "none");
    if (!v || !json_equal(v, tree(a, expect)))
        assert_string_equal(out.data, expect);
}

static void algebra(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct json *x = tree(a, "{'f:a':{'f:b':{},'f:c':{}},'f:d':{}}"),
                *y = tree(a, "{'f:a':{'f:b':{}},'f:d':{'f:e':{}}}");
    same(a, field_set_union(a, x, y), "{'f:a':{'f:b':{},'f:c':{}},'f:d':{'.':{},'f:e':{}}}");
    same(a, field_set_minus(a, x, y), "{'f:a':{'f:c':{}},'f:d':{}}");
    same(a, field_set_common(a, x, y), "{'f:a':{'f:b':{}}}");
    assert_null(field_set_minus(a, x, x));
    assert_null(field_set_minus(a, NULL, x));
    assert_null(field_set_common(a, x, NULL));
    same(a, field_set_union(a, NULL, y), "{'f:a':{'f:b':{}},'f:d':{'f:e':{}}}");
}

static void sets_of_objects(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct schema *pod = schema_of("", "v1", "Pod");
    const char *text =
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p','uid':'u','labels':{'a':'1'},'finalizers':['x']},"
        "'spec':{'containers':[{'name':'c','ports':[{'containerPort':80}],'args':['1','2']}],'nodeSelector':{'z':'1'}}"
        "}";
    same(a, field_set_of(a, pod, tree(a, text)),
         "{'f:metadata':{'f:labels':{'f:a':{}},'f:finalizers':{'v:\\\"x\\\"':{}}},'f:spec':{'f:containers':{'k:{"
         "\\\"name\\\":\\\"c\\\"}':"
         "{'.':{},'f:name':{},'f:args':{},'f:ports':{'k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}':{'.':{"
         "},'f:containerPort':{}}}}},"
         "'f:nodeSelector':{}}}");
}

struct world {
    struct arena *a;
    const struct schema *schema;
    struct json *live;
    struct managed_conflict *conflicts;
};

static int apply(struct world *w, const char *manager, const char *config, bool force)
{
    struct managed_writer writer = {manager, "v1", "", "2026-01-01T00:00:00Z"};
    struct err e = {0};
    w->conflicts = NULL;
    return managed_fields_apply(w->a, w->schema, w->live, tree(w->a, config), force, &writer, &w->live, &w->conflicts,
                                &e);
}

static void update(struct world *w, const char *manager, const char *object)
{
    struct managed_writer writer = {manager, "v1", "", "2026-01-01T00:00:00Z"};
    struct json *next = tree(w->a, object);
    const struct json *managed = json_path(w->live, "metadata", "managedFields", NULL);
    if (managed)
        json_set(w->a, json_ensure_object(w->a, next, "metadata"), "managedFields", json_clone(w->a, managed));
    managed_fields_update(w->a, w->schema, w->live, next, &writer);
    w->live = next;
}

static const struct json *owned(const struct world *w, const char *manager)
{
    JSON_EACH (entry, json_path(w->live, "metadata", "managedFields", NULL))
        if (strcmp(json_get_text(entry, "manager", ""), manager) == 0)
            return json_get(entry, "fieldsV1");
    return NULL;
}

static void two_appliers(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "ConfigMap")};
    assert_int_equal(apply(&w, "one", "{'data':{'a':'1','b':'1'}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'data':{'a':'1','c':'1'}}", false), 0); /* same value: shared */
    assert_int_equal(apply(&w, "two", "{'data':{'a':'2','c':'1'}}", false), 1);
    assert_string_equal(w.conflicts->manager, "one");
    assert_string_equal(w.conflicts->path, ".data.a");
    assert_null(w.conflicts->next);
    assert_int_equal(apply(&w, "two", "{'data':{'a':'2','c':'1'}}", true), 0);
    same(a, owned(&w, "one"), "{'f:data':{'f:b':{}}}");
    same(a, json_get(w.live, "data"), "{'a':'2','b':'1','c':'1'}");
    /* what a manager no longer sends goes, unless somebody else has it */
    assert_int_equal(apply(&w, "one", "{'data':{'c':'1'}}", false), 0);
    same(a, json_get(w.live, "data"), "{'a':'2','c':'1'}");
    assert_int_equal(apply(&w, "two", "{}", false), 0);
    same(a, json_get(w.live, "data"), "{'c':'1'}");
    assert_null(owned(&w, "two"));
}

static void updates_take_over(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "ConfigMap")};
    assert_int_equal(apply(&w, "one", "{'data':{'a':'1','b':'1'}}", false), 0);
    update(&w, "edit", "{'data':{'a':'9','b':'1'}}");
    same(a, owned(&w, "one"), "{'f:data':{'f:b':{}}}");
    same(a, owned(&w, "edit"), "{'f:data':{'f:a':{}}}");
    assert_int_equal(apply(&w, "one", "{'data':{'a':'1','b':'1'}}", false), 1);
    assert_string_equal(w.conflicts->operation, "Update");
    update(&w, "edit", "{'data':{'b':'1'}}");
    assert_null(owned(&w, "edit"));
    assert_int_equal(apply(&w, "one", "{'data':{'a':'1','b':'1'}}", false), 0);
}

static void keyed_items(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "Pod")};
    assert_int_equal(
        apply(&w, "one", "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'1'}]}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'spec':{'containers':[{'name':'side','image':'1'}]}}", false), 0);
    assert_int_equal(json_path(w.live, "spec", "containers", NULL)->n, 3);
    assert_int_equal(apply(&w, "one", "{'spec':{'containers':[{'name':'a','image':'2'}]}}", false), 0);
    same(a, json_path(w.live, "spec", "containers", NULL), "[{'name':'a','image':'2'},{'name':'side','image':'1'}]");
    assert_int_equal(apply(&w, "three", "{'spec':{'containers':[{'name':'a','image':'3'}]}}", false), 1);
    assert_string_equal(w.conflicts->path, ".spec.containers[name=\"a\"].image");
    assert_int_equal(apply(&w, "one", "{'spec':{'containers':[{'image':'2'}]}}", false), -E_INVALID);
    assert_int_equal(apply(&w, "one", "{'spec':{'containers':[{'name':'a'},{'name':'a'}]}}", false), -E_INVALID);
}

/* Another has something in the item: it stays, and an item has its key. */
static void items_keep_their_key(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "Pod")};
    assert_int_equal(apply(&w, "one", "{'spec':{'containers':[{'name':'c','image':'1'}]}}", false), 0);
    update(&w, "editor", "{'spec':{'containers':[{'name':'c','image':'1','tty':true}]}}");
    assert_int_equal(apply(&w, "one", "{'spec':{'restartPolicy':'Never'}}", false), 0);
    same(a, json_path(w.live, "spec", "containers", NULL), "[{'name':'c','tty':true}]");
}

/* What is about to go has no say in the order: the same document again would else put the items into another. */
static void order_without_what_goes(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "Service")};
    const char *config = "{'spec':{'ports':[{'port':3},{'port':2}]}}", *ports = "[{'port':3},{'port':2}]";
    assert_int_equal(apply(&w, "one", "{'spec':{'ports':[{'port':1},{'port':2},{'port':3}]}}", false), 0);
    assert_int_equal(apply(&w, "one", config, false), 0);
    same(a, json_path(w.live, "spec", "ports", NULL), ports);
    assert_int_equal(apply(&w, "one", config, false), 0);
    same(a, json_path(w.live, "spec", "ports", NULL), ports);
}

static void no_change_is_no_write(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a, .schema = schema_of("", "v1", "ConfigMap")};
    assert_int_equal(apply(&w, "one", "{'data':{'a':'1'}}", false), 0);
    struct json *before = w.live;
    struct managed_writer later = {"one", "v1", "", "2027-01-01T00:00:00Z"};
    struct err e = {0};
    assert_int_equal(managed_fields_apply(a, w.schema, w.live, tree(a, "{'data':{'a':'1'}}"), false, &later, &w.live,
                                          &w.conflicts, &e),
                     0);
    assert_true(json_equal(before, w.live));
}

static void without_schema(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a};
    assert_int_equal(apply(&w, "one", "{'spec':{'list':[1,2],'map':{'x':1}}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'spec':{'map':{'y':1}}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'spec':{'list':[1]}}", false), 1);
    assert_string_equal(w.conflicts->path, ".spec.list");
}

/* ---- time and memory grow as the object does ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Without schema a value takes the place of a map: who owned what was in the map owns it no longer. */
static void what_is_replaced_is_gone(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a};
    assert_int_equal(apply(&w, "one", "{'spec':{'map':{'x':1},'y':1}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'spec':{'map':5}}", true), 0);
    same(a, json_get(w.live, "spec"), "{'map':5,'y':1}");
    same(a, owned(&w, "one"), "{'f:spec':{'f:y':{}}}");
    same(a, owned(&w, "two"), "{'f:spec':{'f:map':{}}}");
}

/* An empty map was one's, what came into it another's: without the map neither is anybody's. */
static void what_is_removed_is_gone(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct world w = {.a = a};
    assert_int_equal(apply(&w, "one", "{'spec':{'map':{}}}", false), 0);
    assert_int_equal(apply(&w, "two", "{'spec':{'map':{'x':1}}}", false), 0);
    assert_non_null(owned(&w, "one"));
    update(&w, "three", "{'data':1}");
    assert_null(owned(&w, "one"));
    assert_null(owned(&w, "two"));
}

/* A ConfigMap with n entries, or a Pod whose container has n variables; backwards and with other values when `other`. */
static struct json *large(struct arena *a, bool pod, int n, bool other)
{
    _cleanup_buf_ struct buf out = {0};
    buf_text(&out, pod ? "{\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[" : "{\"data\":{");
    for (int i = 0; i < n; i++) {
        int k = other ? n - 1 - i : i;
        buf_printf(&out, pod ? "%s{\"name\":\"E%d\",\"value\":\"%d\"}" : "%s\"E%d\":\"%d\"", i ? "," : "", k, k + other);
    }
    buf_text(&out, pod ? "]}]}}" : "}}");
    return json_parse(a, buf_view(&out), NULL, NULL);
}

/* CPU of one apply, of one update and of an apply that takes everything away again. */
static double cost(bool pod, int n)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct world w = {.a = a, .schema = schema_of("", "v1", pod ? "Pod" : "ConfigMap")};
        struct managed_writer writer = {"one", "v1", "", "2026-01-01T00:00:00Z"}, other = {"two", "v1", "", "2026-01-01T00:00:00Z"};
        struct json *first = large(a, pod, n, false), *second = large(a, pod, n, true);
        struct err e = {0};
        double start = seconds();
        assert_int_equal(managed_fields_apply(a, w.schema, NULL, first, false, &writer, &w.live, &w.conflicts, &e), 0);
        assert_int_equal(managed_fields_apply(a, w.schema, w.live, second, true, &writer, &w.live, &w.conflicts, &e), 0);
        managed_fields_update(a, w.schema, w.live, json_clone(a, first), &other);
        assert_int_equal(managed_fields_apply(a, w.schema, w.live, large(a, pod, 1, false), true, &writer, &w.live, &w.conflicts, &e), 0);
        double took = seconds() - start;
        best = took < best ? took : best;
        assert_true(arena_used(a) < (size_t)n * 20000 + (1u << 20));
    }
    return best;
}

static void grows_as_the_object_does(void **state)
{
    for (int pod = 0; pod < 2; pod++) {
        double small = cost(pod, 1000), big = cost(pod, 16000);
        if (big > 16 * 4 * small + 0.01)
            fail_msg("%s: 1,000 entries %.4f s, 16,000 entries %.4f s", pod ? "Pod" : "ConfigMap", small, big);
    }
}

/* Each key is as long as a page, each item once as deep: the text of a path is not made for each of them. */
static void long_paths(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0};
    struct world w = {.a = a, .schema = NULL};
    for (int i = 0; i < 60; i++)
        buf_printf(&out, "{\"%01000d\":", i);
    buf_char(&out, '{');
    for (int i = 0; i < 20000; i++)
        buf_printf(&out, "%s\"%d\":1", i ? "," : "", i);
    buf_char(&out, '}');
    for (int i = 0; i < 60; i++)
        buf_char(&out, '}');
    assert_int_equal(apply(&w, "one", out.data, false), 0);
    size_t before = arena_used(a);
    for (char *c = out.data; *c; c++)
        if (c[0] == ':' && c[1] == '1')
            c[1] = '3';
    assert_int_equal(apply(&w, "three", out.data, false), 1);
    assert_true(arena_used(a) - before < 100u << 20);
}

static void sets_from_outside(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    static const char *const odd[] = {"[1]", "{'f:data':[1,[2]]}", "{'f:data':'x'}", "{'f:data':{'f:a':[{}]}}", "7"};
    struct managed_writer writer = {"two", "v1", "", "2026-01-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct json *object = tree(a, arena_printf(a, "{'metadata':{'managedFields':[{'manager':'one','operation':'Update',"
                                                      "'apiVersion':'v1','fieldsV1':%s}]},'data':{'a':'1'}}", odd[i]));
        managed_fields_update(a, schema_of("", "v1", "ConfigMap"), NULL, object, &writer);
        assert_int_equal(json_path(object, "metadata", "managedFields", NULL)->n, 1);
        assert_string_equal(json_get_text(json_item(json_path(object, "metadata", "managedFields", NULL), 0), "manager", ""), "two");
    }
}

/* A tool that names itself anew each time. */
static void old_updates_become_one(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct schema *s = schema_of("", "v1", "ConfigMap");
    struct json *live = tree(a, "{'data':{}}");
    for (int i = 0; i < 40; i++) {
        struct managed_writer writer = {arena_printf(a, "tool-%d", i), "v1", "",
                                        arena_printf(a, "2026-01-01T00:00:%02dZ", i)};
        struct json *now = json_clone(a, live);
        json_set_text(a, json_ensure_object(a, now, "data"), arena_printf(a, "k%d", i), "v");
        managed_fields_update(a, s, live, now, &writer);
        live = now;
    }
    const struct json *entries = json_path(live, "metadata", "managedFields", NULL);
    assert_int_equal(entries->n, 10);
    uint32_t ancient_n = 0;
    JSON_EACH (entry, entries)
        if (strcmp(json_get_text(entry, "manager", ""), "ancient-changes") == 0)
            ancient_n += json_path(entry, "fieldsV1", "f:data", NULL)->n;
    assert_true(ancient_n >= 31);
    assert_string_equal(json_get_text(json_item(entries, 9), "manager", ""), "tool-39");
}

/* What a body that was printed says of its parts leads to the same as looking for them. False: it says nothing. */
static bool says_its_parts(struct arena *a, struct blob *body, const struct json *whole)
{
    if (!body->has_parts)
        return false;
    for (int without_spec = 0; without_spec < 2; without_spec++) {
        struct apart said = {0}, found = {0};
        struct json *by_parts = apart_split(a, body, without_spec, &said);
        body->has_parts = false;
        struct json *looked = apart_split(a, body, without_spec, &found);
        body->has_parts = true;
        assert_true(json_equal(by_parts, looked));
        assert_true(said.managed.data == found.managed.data && said.managed.n == found.managed.n);
        assert_true(said.spec.data == found.spec.data && said.spec.n == found.spec.n);
        apart_join(a, by_parts, &said);
        assert_true(json_equal(by_parts, whole));
    }
    const struct json_cut cuts[] = {{body->data + body->managed.from, body->data + body->managed.to},
                                    {body->data + body->spec.from, body->data + body->spec.to}};
    struct bytes text = {body->data, body->n};
    struct json *lean = json_parse_without(a, text, cuts, body->spec.to ? 2 : 1), *rest = json_clone(a, whole);
    (void)json_remove(json_get(rest, "metadata"), "managedFields"); /* some have none */
    (void)json_remove(rest, "spec");
    assert_true(json_equal(lean, rest));
    return true;
}

/* Apart and together again an object is what it was, wherever its managedFields and its spec stand. */
static void apart(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"kind\":\"A\",\"metadata\":{\"name\":\"n\",\"managedFields\":[{\"manager\":\"]}\\\"\"}]},\"spec\":{\"x\":1}}",
        "{\"metadata\":{\"managedFields\":[{\"a\":[]}],\"name\":\"n\"},\"spec\":{}}",
        "{\"metadata\":{\"name\":\"n\",\"managedFields\":[],\"labels\":{\"managedFields\":\"x\"}}}",
        "{\"metadata\":{\"managedFields\":[{}]},\"status\":{\"metadata\":{\"managedFields\":[1]}}}",
        "{\"metadata\":{\"name\":\"n\"},\"managedFields\":[1]}",
        "{\"metadata\":{}}",
        "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"metadata\":\"\\\"}\"},\"status\":{\"spec\":{}}}",
        "{\"metadata\":{\"managedFields\":[{}]},\"status\":{},\"spec\":{\"not\":\"behind metadata\"}}",
        "{ \"metadata\" : { \"managedFields\" : [ {} ] , \"name\" : \"n\" } }",
        "{ \"metadata\" : { \"name\" : \"n\" , \"managedFields\" : [ {} ] } }",
        "{\"metadata\":{\"managedFields\":{\"no\":\"list\"}}}",
    };
    size_t apart_n = 0, spec_n = 0, said_n = 0, whole_n = 0;
    for (size_t i = 0; i < 2 * (sizeof texts / sizeof *texts); i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        struct apart x = {0};
        const struct json *whole = json_parse(a, bytes_of(texts[i / 2]), NULL, NULL);
        struct blob *body = blob_new(texts[i / 2], strlen(texts[i / 2])), *again;
        struct json *object = apart_split(a, body, i % 2, &x);
        if (!object) { /* read whole, then */
            blob_unref(body);
            continue;
        }
        apart_n++;
        assert_null(json_path(object, "metadata", "managedFields", NULL));
        spec_n += x.spec.n > 0;
        assert_true(!x.spec.n || !json_get(object, "spec"));
        assert_true(!x.spec.n || i % 2);
        again = apart_write(&out, object, &x);
        assert_true(json_equal(json_parse(a, (struct bytes){again->data, again->n}, NULL, NULL), whole));
        said_n += says_its_parts(a, again, whole);
        apart_join(a, object, &x);
        assert_true(json_equal(object, whole) && !x.managed.n && !x.spec.n);
        blob_unref(again);
        again = apart_write(&out, object, &x); /* all of it as a tree */
        said_n += says_its_parts(a, again, whole);
        blob_unref(again);
        again = apart_write(&out, whole, &(struct apart){0});
        whole_n += says_its_parts(a, again, whole);
        blob_unref(again);
        blob_unref(body);
    }
    assert_int_equal(said_n, 2 * 2 * 8);
    assert_int_equal(whole_n, 2 * 6); /* not where managedFields stand before another member */
    assert_int_equal(spec_n, 3);
    assert_int_equal(apart_n, 2 * 8); /* those without spaces, as the store has them; and with a list */
}

/* What is added to a text stands where it would stand in the tree. */
static void added_to_texts(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"{\"metadata\":{\"name\":\"n\",\"managedFields\":[{\"a\":1}]},\"spec\":{\"x\":[1]},\"status\":{}}",
         "{\"metadata\":{\"name\":\"n\",\"managedFields\":[{\"a\":1},{\"m\":2}]},"
         "\"spec\":{\"x\":[1],\"nodeName\":\"a\",\"y\":{}},\"status\":{}}"},
        {"{\"metadata\":{\"managedFields\":[]},\"spec\":{}}",
         "{\"metadata\":{\"managedFields\":[{\"m\":2}]},\"spec\":{\"nodeName\":\"a\",\"y\":{}}}"},
        {"{\"metadata\":{\"managedFields\":[ ]},\"spec\":{ }}",
         "{\"metadata\":{\"managedFields\":[{\"m\":2}]},\"spec\":{\"nodeName\":\"a\",\"y\":{}}}"},
        {"{\"metadata\":{\"managedFields\":[{}]},\"spec\":{\"nodeName\":\"\",\"x\":\"y\"}}",
         "{\"metadata\":{\"managedFields\":[{},{\"m\":2}]},\"spec\":{\"nodeName\":\"a\",\"x\":\"y\",\"y\":{}}}"},
    };
    for (size_t i = 0; i < 2 * (sizeof texts / sizeof *texts); i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf out = {0};
        struct apart x;
        struct blob *body = blob_new(texts[i / 2][0], strlen(texts[i / 2][0]));
        struct json *object = apart_split(a, body, true, &x);
        assert_true(object && x.managed.n && x.spec.n);
        x.managed_added = json_parse(a, bytes_of("{\"m\":2}"), NULL, NULL);
        apart_spec_add(a, object, &x, "nodeName", json_new_text(a, "a"));
        apart_spec_add(a, object, &x, "y", json_new(a, JSON_OBJECT));
        assert_string_equal(json_text(apart_spec_get(a, object, &x, "nodeName"), ""), "a");
        assert_null(apart_spec_get(a, object, &x, "none"));
        if (i % 2)
            apart_join(a, object, &x);
        struct blob *written = apart_write(&out, object, &x);
        assert_string_equal(written->data, texts[i / 2][1]);
        blob_unref(written);
        blob_unref(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algebra),           cmocka_unit_test(sets_of_objects), cmocka_unit_test(two_appliers),
        cmocka_unit_test(updates_take_over), cmocka_unit_test(keyed_items),     cmocka_unit_test(no_change_is_no_write),
        cmocka_unit_test(without_schema),    cmocka_unit_test(grows_as_the_object_does),
        cmocka_unit_test(long_paths),        cmocka_unit_test(sets_from_outside),
        cmocka_unit_test(old_updates_become_one),
        cmocka_unit_test(what_is_replaced_is_gone), cmocka_unit_test(what_is_removed_is_gone),
        cmocka_unit_test(items_keep_their_key), cmocka_unit_test(order_without_what_goes),
        cmocka_unit_test(apart), cmocka_unit_test(added_to_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
