/* test_decode_shares.c - what says how queues share: weights, and what LocalQueues have used */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decoder_world.h"

static void weights_are_exact(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *spec;
        bool has;
        int64_t nano;
    } cases[] = {
        {"{}", false, 0},
        {"{\"fairSharing\":null}", false, 0},
        {"{\"fairSharing\":{}}", false, 0},
        {"{\"fairSharing\":{\"weight\":null}}", false, 0},
        {"{\"fairSharing\":{\"weight\":2}}", true, 2000000000},
        {"{\"fairSharing\":{\"weight\":\"750m\"}}", true, 750000000},
        {"{\"fairSharing\":{\"weight\":\"0\"}}", true, 0},
        {"{\"fairSharing\":{\"weight\":\"2n\"}}", true, 2},
        {"{\"fairSharing\":{\"weight\":\"1E\"}}", true, INT64_MAX},
    };
    struct err e = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct queue_record q;
        struct cohort_record c;
        const struct json *v = tree(w, arena_printf(w->arena, "{\"metadata\":{\"name\":\"x\"},\"spec\":%s}", cases[i].spec));
        assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), 0);
        assert_int_equal(decode_cohort(&w->d, v, &c, &e), 0);
        assert_true(q.has_weight == cases[i].has && q.weight_nano == cases[i].nano);
        assert_true(c.has_weight == cases[i].has && c.weight_nano == cases[i].nano);
    }
    struct queue_record q;
    const struct json *v = tree(w, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"fairSharing\":{\"weight\":\"much\"}}}");
    assert_int_equal(decode_cluster_queue(&w->d, v, &q, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "spec.fairSharing.weight"));
}

static void what_a_local_queue_has_used_is_exact(void **state)
{
    struct world *w = *state;
#define USED(x) "{\"fairSharing\":{\"weightedShare\":0,\"admissionFairSharingStatus\":" x "}}"
#define AT "\"lastUpdate\":\"1970-01-01T00:00:07Z\""
    static const struct {
        const char *status;
        int64_t at_ms;
        uint32_t n;
        int64_t units;
        int32_t nano;
    } cases[] = {
        {"{}", 0, 0, 0, 0},
        {USED("null"), 0, 0, 0, 0},
        {USED("{" AT "}"), 7000, 0, 0, 0},
        {USED("{\"consumedResources\":{\"cpu\":\"3\"}}"), 0, 0, 0, 0},
        {USED("{\"consumedResources\":{\"cpu\":\"3\"},\"lastUpdate\":\"yesterday\"}"), 0, 0, 0, 0},
        {USED("{\"consumedResources\":{\"cpu\":\"3999999871n\"}," AT "}"), 7000, 1, 3, 999999871},
        {USED("{\"consumedResources\":{\"memory\":\"128Gi\",\"cpu\":\"0\",\"x\":\"-1\",\"y\":\"much\"}," AT "}"),
         7000, 1, INT64_C(137438953472), 0},
        {USED("{\"consumedResources\":{\"memory\":\"9999999E\"}," AT "}"), 7000, 1, INT64_MAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct local_queue_record l;
        struct err e = {0};
        const char *text = arena_printf(w->arena,
                                        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"n\"},"
                                        "\"spec\":{\"fairSharing\":{\"weight\":\"750m\"}},\"status\":%s}",
                                        cases[i].status);
        assert_int_equal(decode_local_queue(&w->d, tree(w, text), &l, &e), 0);
        if (!l.has_weight || l.weight_nano != 750000000 || l.consumed_ms != cases[i].at_ms || l.consumed_n != cases[i].n ||
            (l.consumed_n && (l.consumed[0].units != cases[i].units || l.consumed[0].nano != cases[i].nano)))
            fail_msg("%s: at %lld, %u amounts", cases[i].status, (long long)l.consumed_ms, l.consumed_n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(weights_are_exact, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_a_local_queue_has_used_is_exact, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
