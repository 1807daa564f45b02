#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <time.h>

#include "apiserver/apply/strategic_merge.h"

/* Texts use ' for ". */
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

static void merged(const char *target, const char *patch, const char *expect)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf out = {0}, want = {0};
    struct err e = {0};
    struct json *v = tree(a, target);
    if (strategic_merge(a, schema_of("", "v1", "Pod"), v, tree(a, patch), &e) < 0)
        fail_msg("%s", e.text);
    json_write(&out, v);
    json_write(&want, tree(a, expect));
    assert_string_equal(out.data, want.data);
}

static int refused(const char *target, const char *patch)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct err e = {0};
    return strategic_merge(a, schema_of("", "v1", "Pod"), tree(a, target), tree(a, patch), &e);
}

static void plain_values(void **state)
{
    merged("{}", "{}", "{}");
    merged("{'metadata':{'labels':{'a':'1','b':'2'}}}", "{'metadata':{'labels':{'a':null,'c':'3'}}}",
           "{'metadata':{'labels':{'b':'2','c':'3'}}}");
    merged("{}", "{'metadata':{'labels':{'a':null}}}", "{'metadata':{'labels':{}}}");
    merged("{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'$patch':'replace','b':'2'}}}",
           "{'metadata':{'labels':{'b':'2'}}}");
}

static void keyed_lists(void **state)
{
    merged("{'spec':{'containers':[{'name':'main','image':'a','env':[{'name':'A','value':'1'},{'name':'B','value':'2'}]"
           "}]}}",
           "{'spec':{'$setElementOrder/containers':[{'name':'main'}],'containers':[{'$setElementOrder/"
           "env':[{'name':'A'},{'name':'C'}],"
           "'env':[{'name':'C','value':'3'},{'$patch':'delete','name':'B'}],'image':'busybox:2','name':'main'}]}}",
           "{'spec':{'containers':[{'name':'main','image':'busybox:2','env':[{'name':'A','value':'1'},{'name':'C','"
           "value':'3'}]}]}}");
    merged("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
           "{'spec':{'containers':[{'$patch':'replace'},{'name':'c'}]}}", "{'spec':{'containers':[{'name':'c'}]}}");
    merged("{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}",
           "{'spec':{'tolerations':[{'key':'b'}]}}");
    merged("{'spec':{'containers':[{'image':'unnamed'}]}}", "{'spec':{'containers':[{'name':'a'},{'name':''}]}}",
           "{'spec':{'containers':[{'name':'a'},{'name':''},{'image':'unnamed'}]}}");
    merged("{}", "{'spec':{'containers':[{'name':'b'},{'name':'a'},{'name':'b','image':'x'}]}}",
           "{'spec':{'containers':[{'name':'b','image':'x'},{'name':'a'}]}}");
    merged("{'metadata':{'finalizers':['a','']}}", "{'metadata':{'finalizers':['','b',1,'1']}}",
           "{'metadata':{'finalizers':['a','','b',1,'1']}}");
}

static void order(void **state)
{
    merged(
        "{'spec':{'containers':[{'name':'a'},{'name':'server'},{'name':'b'}]}}",
        "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],'containers':[{'name':'b','image':'x'}]}}",
        "{'spec':{'containers':[{'name':'server'},{'name':'b','image':'x'},{'name':'a'}]}}");
}

/* SOURCE kubectl and kube-apiserver 1.33: what the patch brings stands before what only the server had. */
static void new_items_come_first(void **state)
{
    merged("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'containers':[{'name':'c'}]}}",
           "{'spec':{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}}");
    merged("{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
           "{'spec':{'containers':[{'name':'c','image':'x'},{'name':'a'}]}}",
           "{'spec':{'containers':[{'name':'b'},{'name':'c','image':'x'},{'name':'a'}]}}");
    merged("{'metadata':{'finalizers':['a']}}", "{'metadata':{'finalizers':['b']}}", "{'metadata':{'finalizers':['b','a']}}");
    merged("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
           "{'spec':{'containers':[{'$patch':'delete','name':'a'},{'name':'c'}]}}",
           "{'spec':{'containers':[{'name':'c'},{'name':'b'}]}}");
    merged("{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}", "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}}",
           "{'spec':{'containers':[{'name':'b'},{'name':'a'}]}}");
}

static void primitive_lists(void **state)
{
    merged("{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','a']}}",
           "{'metadata':{'finalizers':['c','a','b']}}");
    merged("{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
           "{'metadata':{'finalizers':['b']}}");
}

static void retained_keys(void **state)
{
    merged("{'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}",
           "{'spec':{'volumes':[{'$retainKeys':['name','hostPath'],'name':'v','hostPath':{'path':'/x'}}]}}",
           "{'spec':{'volumes':[{'name':'v','hostPath':{'path':'/x'}}]}}");
}

static void wrong(void **state)
{
    assert_int_equal(refused("{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'image':'x'}]}}"),
                     -E_INVALID);
    assert_int_equal(refused("{}", "{'$patch':'explode'}"), -E_INVALID);
    assert_int_equal(refused("{}", "'text'"), -E_INVALID);
    assert_int_equal(refused("{'spec':{'containers':['x']}}", "{'spec':{'containers':[{'name':'a'},'y']}}"), -E_INVALID);
    assert_int_equal(refused("{'spec':{'containers':[]}}", "{'spec':{'$setElementOrder/containers':7}}"), -E_INVALID);
}

/* As many variables as there are ways to find one: the first goes, the middle one is changed twice, as many again come. */
static void few_and_many(void **state)
{
    for (int n = 2; n <= 40; n++) {
        _cleanup_arena_ struct arena *a = arena_new();
        _cleanup_buf_ struct buf target = {0}, patch = {0};
        buf_text(&target, "{'spec':{'containers':[{'name':'c','env':[");
        buf_text(&patch, "{'spec':{'containers':[{'name':'c','env':[{'name':'0','$patch':'delete'}");
        for (int i = 0; i < n; i++) {
            buf_printf(&target, "%s{'name':'%d','value':'old'}", i ? "," : "", i);
            buf_printf(&patch, ",{'name':'%d','value':'new'}", n + i);
        }
        buf_printf(&patch, ",{'name':'%d','value':'twice'},{'name':'%d','value':'last'}", n / 2, n / 2);
        struct json *v = tree(a, arena_printf(a, "%s]}]}}", target.data));
        assert_int_equal(strategic_merge(a, schema_of("", "v1", "Pod"), v, tree(a, arena_printf(a, "%s]}]}}", patch.data)), NULL), 0);
        const struct json *env = json_get(json_item(json_path(v, "spec", "containers", NULL), 0), "env");
        bool seen[80] = {0};
        assert_int_equal(env->n, 2 * n - 1);
        JSON_EACH (item, env) {
            int64_t i;
            assert_true(bytes_int64(bytes_of(json_get_text(item, "name", "")), &i) && i > 0 && i < 2 * n && !seen[i]);
            seen[i] = true;
            assert_string_equal(json_get_text(item, "value", ""), i == n / 2 ? "last" : i < n ? "old" : "new");
        }
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* n labels, variables and finalizers, the patch's in another order with an order of its own; also lists to delete from. */
static struct json *large(struct arena *a, int n, bool patch)
{
    static const char *const parts[][2] = {
        {"{\"metadata\":{\"labels\":{", "\"%d\":\"%d\""},
        {"},\"finalizers\":[", "\"f%d-%d\""},
        {"]},\"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[", "{\"name\":\"%d\",\"value\":\"%d\"}"},
        {"],\"$setElementOrder/env\":[", "{\"name\":\"%d\",\"value\":\"%d\"}"},
        {"],\"$deleteFromPrimitiveList/args\":[", "\"%d%d\""},
        {"],\"$retainKeys\":[\"name\",\"env\"", ",\"%d%d\""}};
    _cleanup_buf_ struct buf out = {0};
    for (size_t p = 0; p < (patch ? 6 : 3); p++) {
        buf_text(&out, parts[p][0]);
        for (int i = 0; i < n; i++) {
            int k = patch ? (i * 7919 + 13) % n : i;
            if (i && p != 5)
                buf_char(&out, ',');
            buf_printf(&out, parts[p][1], k, k);
        }
    }
    buf_text(&out, "]}]}}");
    struct json *v = json_parse(a, buf_view(&out), NULL, NULL);
    assert_non_null(v);
    return v;
}

static double cost(int n)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct json *target = large(a, n, false), *patch = large(a, n, true);
        size_t before = arena_used(a);
        double start = seconds();
        assert_int_equal(strategic_merge(a, schema_of("", "v1", "Pod"), target, patch, NULL), 0);
        double took = seconds() - start;
        best = took < best ? took : best;
        assert_true(arena_used(a) - before < (size_t)n * 4000 + (1u << 20));
        assert_int_equal(json_path(target, "metadata", "labels", NULL)->n, n);
        assert_int_equal(json_get(json_item(json_path(target, "spec", "containers", NULL), 0), "env")->n, n);
    }
    return best;
}

static void grows_as_the_object_does(void **state)
{
    double small = cost(1000), big = cost(16000);
    if (big > 16 * 4 * small + 0.01)
        fail_msg("1,000 of each: %.4f s, 16,000: %.4f s", small, big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(new_items_come_first), cmocka_unit_test(grows_as_the_object_does),
                                       cmocka_unit_test(plain_values),  cmocka_unit_test(keyed_lists),
                                       cmocka_unit_test(order),         cmocka_unit_test(primitive_lists),
                                       cmocka_unit_test(retained_keys), cmocka_unit_test(few_and_many),
                                       cmocka_unit_test(wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
