/* test_latency.c - percentiles of times that are only counted by steps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "sim/trace/latency.h"

static struct latency l;

static void percentiles(void **state)
{
    (void)state;
    assert_int_equal(latency_percentile(&l, 50), 0);
    for (int64_t ns = 1; ns <= 100000; ns++)
        latency_add(&l, ns);
    assert_int_equal(l.n, 100000);
    assert_int_equal(l.most_ns, 100000);
    for (uint64_t p = 1; p <= 100; p++) {
        int64_t got = latency_percentile(&l, p), right = (int64_t)p * 1000;
        assert_true(got <= right && got >= right - right / 64 - 1);
    }
    latency_add(&l, -5); /* a clock that went back */
    latency_add(&l, INT64_MAX);
    assert_int_equal(l.most_ns, INT64_MAX);
    for (uint32_t bits = 0; bits < 63; bits++)
        assert_true(latency_step((uint64_t)1 << bits) < 64 * LATENCY_STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(percentiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
