#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "apiserver/managed_fields.h"
#include "apiserver/managed_fields_set.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algebra),           cmocka_unit_test(sets_of_objects), cmocka_unit_test(two_appliers),
        cmocka_unit_test(updates_take_over), cmocka_unit_test(keyed_items),     cmocka_unit_test(no_change_is_no_write),
        cmocka_unit_test(without_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
