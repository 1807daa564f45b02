#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "apiserver/strategic_merge.h"

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
}

static void order(void **state)
{
    merged(
        "{'spec':{'containers':[{'name':'a'},{'name':'server'},{'name':'b'}]}}",
        "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],'containers':[{'name':'b','image':'x'}]}}",
        "{'spec':{'containers':[{'name':'server'},{'name':'b','image':'x'},{'name':'a'}]}}");
}

static void primitive_lists(void **state)
{
    merged("{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','a']}}",
           "{'metadata':{'finalizers':['a','b','c']}}");
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
    assert_int_equal(refused("{'spec':{'containers':[]}}", "{'spec':{'$setElementOrder/containers':7}}"), -E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_values),  cmocka_unit_test(keyed_lists),
                                       cmocka_unit_test(order),         cmocka_unit_test(primitive_lists),
                                       cmocka_unit_test(retained_keys), cmocka_unit_test(wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
