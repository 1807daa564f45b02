/* Claims that a Volcano Job names or brings: their names, and where pods see them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/volcano/vcjob_volumes.h"

static void test_no_volumes(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"d\",\"uid\":\"u\"},\"spec\":{}}");
    struct json *spec = parse("{\"containers\":[{\"name\":\"c\"}]}");
    assert_int_equal(vcjob_volume_claims(a, job)->n, 0);
    vcjob_volumes_mount(a, job, spec);
    assert_true(json_equal(spec, parse("{\"containers\":[{\"name\":\"c\"}]}")));
}

static void test_named_claim_at_two_paths(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"d\",\"uid\":\"u\"},\"spec\":{\"volumes\":["
                            "{\"mountPath\":\"/x\",\"volumeClaimName\":\"data\"},"
                            "{\"mountPath\":\"/y\",\"volumeClaimName\":\"data\"}]}}");
    struct json *spec = parse("{\"containers\":[{\"name\":\"c\"}]}");
    assert_int_equal(vcjob_volume_claims(a, job)->n, 0);
    vcjob_volumes_mount(a, job, spec);
    assert_true(json_equal(spec, parse("{\"containers\":[{\"name\":\"c\",\"volumeMounts\":["
                                      "{\"name\":\"data\",\"mountPath\":\"/x\"},{\"name\":\"data\",\"mountPath\":\"/y\"}]}],"
                                      "\"volumes\":[{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]}")));
}

static void test_own_claims(void **state)
{
    (void)state;
    struct json *job = parse("{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{\"volumes\":["
                            "{\"mountPath\":\"/x\",\"volumeClaim\":{\"accessModes\":[\"ReadWriteOnce\"]}},"
                            "{\"mountPath\":\"/y\",\"volumeClaim\":{}}]}}");
    struct json *claims = vcjob_volume_claims(a, job), *spec = parse("{\"containers\":[{\"name\":\"c\"}]}");
    assert_int_equal(claims->n, 2);
    const char *first = json_text(json_path(json_item(claims, 0), "metadata", "name", NULL), "");
    const char *second = json_text(json_path(json_item(claims, 1), "metadata", "name", NULL), "");
    assert_int_equal(strlen(first), strlen("d-pvc-") + 12);
    assert_string_not_equal(first, second);
    assert_true(json_equal(json_get(json_item(claims, 0), "spec"), parse("{\"accessModes\":[\"ReadWriteOnce\"]}")));
    vcjob_volumes_mount(a, job, spec);
    const struct json *volume = json_item(json_get(spec, "volumes"), 0);
    assert_string_equal(json_text(json_path(volume, "persistentVolumeClaim", "claimName", NULL), ""), first);
    assert_string_equal(json_text(json_path(json_item(vcjob_volume_claims(a, job), 0), "metadata", "name", NULL), ""), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_volumes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_named_claim_at_two_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_claims, setup, teardown),
    };
    return cmocka_run_group_tests_name("jobs/vcjob_volumes", tests, NULL, NULL);
}
