/* Tokens: full at first, empty after the burst, and back one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/bucket.h"

enum { BURST = 3, REFILL_MS = 100 };

static int take(struct bucket *b, int64_t now_ms)
{
    int n = 0;
    for (; bucket_wait_ms(b, now_ms, BURST, REFILL_MS) == 0; n++)
        bucket_take(b);
    return n;
}

static void test_burst_and_refill(void **state)
{
    (void)state;
    struct bucket b = {0};
    assert_int_equal(take(&b, 5000), BURST);
    assert_int_equal(bucket_wait_ms(&b, 5000, BURST, REFILL_MS), REFILL_MS);
    assert_int_equal(take(&b, 5099), 0);
    assert_int_equal(bucket_wait_ms(&b, 5099, BURST, REFILL_MS), 1);
    assert_int_equal(take(&b, 5100), 1);
    assert_int_equal(take(&b, 5250), 1);
    assert_int_equal(bucket_wait_ms(&b, 5250, BURST, REFILL_MS), 50); /* half of the next is there */
    assert_int_equal(take(&b, 5300), 1);
    assert_int_equal(take(&b, 1000000), BURST); /* never more than that */
}

static void test_long_run(void **state)
{
    (void)state;
    struct bucket b = {0};
    int n = 0;
    for (int64_t ms = 0; ms <= 100000; ms += 7)
        n += take(&b, ms);
    assert_int_equal(n, BURST + 100000 / REFILL_MS - 1); /* 99,996 ms is the last look */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_burst_and_refill), cmocka_unit_test(test_long_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
