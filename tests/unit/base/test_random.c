#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/random.h"

static void test_sequence(void **state)
{
    struct random r = {0};
    assert_true(random_next(&r) == 0xe220a8397b1dcdafu); /* the published first value for seed 0 */
    struct random a = {42}, b = {42};
    for (int i = 0; i < 100; i++)
        assert_true(random_next(&a) == random_next(&b));
}

static void test_below(void **state)
{
    struct random r = {5};
    uint64_t hits[7] = {0};
    for (int i = 0; i < 70000; i++)
        hits[random_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(hits[i], 9500, 10500);
    assert_int_equal(random_below(&r, 1), 0);
    for (int i = 0; i < 1000; i++) {
        assert_false(random_permille(&r, 0));
        assert_true(random_permille(&r, 1000));
    }
    assert_true(random_seed_from_system() != random_seed_from_system());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sequence), cmocka_unit_test(test_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
