/* What LimitRanges and RuntimeClasses make of a pod template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "codec/decode/template_rules.h"

#define POD(resources) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":" resources "}]}}"

static struct template_rules container_rules(const char *item)
{
    return (struct template_rules){
        .limit_ranges = parse(arena_printf(a, "[{\"spec\":{\"limits\":[{\"type\":\"Container\",%s}]}}]", item))};
}

static void applies(const char *template, const char *item, const char *expected)
{
    struct template_rules rules = container_rules(item);
    assert_true(json_equal(template_rules_apply(a, parse(template), &rules), parse(expected)));
}

static void test_defaults(void **state)
{
    (void)state;
    applies(POD("{}"), "\"defaultRequest\":{\"cpu\":\"1\"},\"default\":{\"cpu\":\"2\"}",
            POD("{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}"));
    applies(POD("{\"requests\":{\"cpu\":\"3\"}}"), "\"defaultRequest\":{\"cpu\":\"1\"},\"default\":{\"memory\":\"1Gi\"}",
            POD("{\"requests\":{\"cpu\":\"3\"},\"limits\":{\"memory\":\"1Gi\"}}"));
    /* A limit of its own is the request too. */
    applies(POD("{\"limits\":{\"cpu\":\"3\"}}"), "\"defaultRequest\":{\"cpu\":\"1\"}", POD("{\"limits\":{\"cpu\":\"3\"}}"));
    struct template_rules none = {0};
    const struct json *same = parse(POD("{}"));
    assert_ptr_equal(template_rules_apply(a, same, &none), same);
}

static void test_overhead(void **state)
{
    (void)state;
    struct template_rules rules = {.runtime_class = parse("{\"overhead\":{\"podFixed\":{\"cpu\":\"250m\"}}}")};
    const struct json *got = template_rules_apply(a, parse("{\"spec\":{\"runtimeClassName\":\"kata\"}}"), &rules);
    assert_string_equal(json_text(json_path(got, "spec", "overhead", "cpu", NULL), ""), "250m");
    got = template_rules_apply(a, parse("{\"spec\":{\"runtimeClassName\":\"kata\",\"overhead\":{\"cpu\":\"1\"}}}"), &rules);
    assert_string_equal(json_text(json_path(got, "spec", "overhead", "cpu", NULL), ""), "1");
    assert_null(json_path(template_rules_apply(a, parse("{\"spec\":{}}"), &rules), "spec", "overhead", NULL));
}

static const char *broken(const char *resources, const char *item)
{
    struct template_rules rules = container_rules(item);
    const struct json *template = parse(arena_printf(a, "{\"spec\":{\"containers\":[{},{\"resources\":%s}]}}", resources));
    return template_rules_broken(a, template, "spec.podSets[0].template", &rules);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_string_equal(
        broken("{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}", "\"max\":{}"),
        "resources validation failed: spec.podSets[0].template.spec.containers[1]: Invalid value: "
        "[\"cpu\"]: requests must not exceed its limits");
    assert_null(broken("{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"2000m\"}}", "\"max\":{\"cpu\":\"2\"}"));
    assert_string_equal(template_rules_broken(a, parse("{\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"3\"},\"limits\":{\"cpu\":\"2\"}},"
                                                       "\"containers\":[{}]}}"), "t", &(struct template_rules){0}),
                        "resources validation failed: t.spec.resources: Invalid value: [\"cpu\"]: requests must not exceed its limits");
    assert_non_null(strstr(broken("{\"limits\":{\"cpu\":\"3\"}}", "\"max\":{\"cpu\":\"2\"}"), "above the limitRange max"));
    assert_non_null(strstr(broken("{\"requests\":{\"cpu\":\"1\"}}", "\"min\":{\"cpu\":\"2\"}"), "below the limitRange min"));
}

static void test_whole_pod(void **state)
{
    (void)state;
    struct intern *names = intern_new();
    struct decoder d = {.names = names, .arena = a};
    struct template_rules rules = {
        .limit_ranges = parse("[{\"spec\":{\"limits\":[{\"type\":\"Pod\",\"max\":{\"cpu\":\"3\"},\"min\":{\"memory\":\"1Gi\"}}]}}]")};
    struct amount asks[] = {{intern_text_id(names, "cpu"), 4000}, {intern_text_id(names, "memory"), 1ll << 30}};
    struct shape shape = {.requests = asks, .requests_n = 2};
    assert_non_null(
        strstr(template_rules_pod_broken(&d, &shape, "t", &rules), "t.spec: Invalid value: [\"cpu\"]: requests must not be above"));
    asks[0].value = 3000;
    assert_null(template_rules_pod_broken(&d, &shape, "t", &rules));
    asks[1].value--;
    assert_non_null(strstr(template_rules_pod_broken(&d, &shape, "t", &rules), "[\"memory\"]: requests must not be below"));
    intern_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults), cmocka_unit_test(test_overhead),
                                       cmocka_unit_test(test_refusals), cmocka_unit_test(test_whole_pod)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
