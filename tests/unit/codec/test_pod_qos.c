#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "codec/decode/pod_qos.h"

static void check(const char *want, const char *spec)
{
    struct arena *a = arena_new();
    struct err e = {0};
    const struct json *v = json_parse(a, bytes_of(spec), NULL, &e);
    assert_non_null(v);
    assert_string_equal(pod_qos(v), want);
    arena_free(a);
}

#define BOTH "{\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}"

static void test_classes(void **state)
{
    (void)state;
    assert_string_equal(pod_qos(NULL), "BestEffort");
    check("BestEffort", "{\"containers\":[{\"name\":\"c\"}]}");
    check("BestEffort", "{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}");
    check("Guaranteed", "{\"containers\":[" BOTH "]}");
    check("Guaranteed", "{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                        "\"requests\":{\"cpu\":\"1000m\",\"memory\":\"1024Mi\"}}}]}");
    check("Burstable", "{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},"
                       "\"requests\":{\"cpu\":\"500m\"}}}]}");
    check("Burstable", "{\"containers\":[" BOTH ",{\"name\":\"other\"}]}");
    check("Burstable", "{\"containers\":[" BOTH "],\"initContainers\":[{\"name\":\"i\"}]}");
    check("Burstable", "{\"containers\":[{\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
