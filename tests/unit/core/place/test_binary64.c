/* test_binary64.c - numbers counted in integers against the machine's own */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/random.h"
#include "core/score/binary64.h"

static double number(binary64 b)
{
    double d;
    memcpy(&d, &b, sizeof d);
    return d;
}

static binary64 bits(double d)
{
    binary64 b;
    d += 0.0; /* no -0 */
    memcpy(&b, &d, sizeof b);
    return b;
}

/* Of the sizes that scores have, among them such as differ little. */
static double random_number(struct random *r)
{
    double d = (double)random_below(r, 1 << 20) / (double)(1 + random_below(r, 9000));
    if (random_below(r, 4) == 0)
        d = number(bits(d) + random_below(r, 3) - 1);
    if (random_below(r, 4) == 0)
        d *= 1e-13;
    if (random_below(r, 8) == 0)
        d = (double)random_below(r, 1000);
    return random_below(r, 2) ? d : -d;
}

static void as_the_machine(void **state)
{
    (void)state;
    struct random r = {7};
    for (int i = 0; i < 1000000; i++) {
        double a = random_number(&r), b = random_below(&r, 4) ? random_number(&r) : a;
        assert_int_equal(b64_plus(bits(a), bits(b)), bits(a + b));
        assert_int_equal(b64_minus(bits(a), bits(b)), bits(a - b));
        assert_int_equal(b64_times(bits(a), bits(b)), bits(a * b));
        if (b != 0)
            assert_int_equal(b64_over(bits(a), bits(b)), bits(a / b));
        assert_int_equal(b64_whole(bits(a)), (int64_t)a);
        assert_int_equal(b64_at_least(bits(a), bits(b)), a >= b);
        int64_t n = (int64_t)random_below(&r, UINT64_MAX) >> random_below(&r, 63);
        assert_int_equal(b64_of(n), bits((double)n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
