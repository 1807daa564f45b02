#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "core/quota/quota.h"

enum { F = 1, R = 2, A = 10, B = 11, C = 12 };

static struct quota_record record(int64_t nominal, int64_t borrowing, int64_t lending)
{
    return (struct quota_record){F, R, nominal, borrowing, lending};
}

static void empty(void **state)
{
    (void)state;
    struct quota q;
    quota_init(&q);
    quota_settle(&q);
    uint32_t a = quota_set_queue(&q, A, 0, NULL, 0);
    quota_settle(&q);
    assert_int_equal(quota_available(&q, a, F, R), 0);
    assert_null(quota_find(&q, a, F, R));
    assert_false(quota_names(&q, a, F, R));
    quota_add(&q, a, F, R, 5); /* a fact without a record */
    assert_int_equal(quota_find(&q, a, F, R)->usage, 5);
    quota_add(&q, a, F, R, -5);
    quota_fini(&q);
}

static void alone_limits_do_nothing(void **state)
{
    (void)state;
    struct quota q;
    quota_init(&q);
    struct quota_record r = record(16, 4, 2);
    uint32_t a = quota_set_queue(&q, A, 0, &r, 1);
    quota_settle(&q);
    assert_int_equal(quota_available(&q, a, F, R), 16);
    assert_int_equal(quota_potential(&q, a, F, R), 16);
    quota_add(&q, a, F, R, 20);
    assert_int_equal(quota_available(&q, a, F, R), -4); /* after a cut the root goes below zero */
    assert_int_equal(quota_borrow_level(&q, a, F, R, 1), 0);
    quota_fini(&q);
}

static void usage_survives_changes(void **state)
{
    (void)state;
    struct quota q;
    quota_init(&q);
    struct quota_record r = record(10, NO_LIMIT, NO_LIMIT);
    uint32_t a = quota_set_queue(&q, A, C, &r, 1), b = quota_set_queue(&q, B, C, &r, 1);
    quota_settle(&q);
    quota_add(&q, a, F, R, 15);
    assert_int_equal(quota_available(&q, b, F, R), 5);
    quota_set_queue(&q, A, 0, &r, 1); /* leaves the cohort with what it uses */
    quota_settle(&q);
    assert_int_equal(quota_available(&q, a, F, R), -5);
    assert_int_equal(quota_available(&q, b, F, R), 10);
    quota_queue_gone(&q, A);
    quota_settle(&q);
    assert_int_equal(quota_find(&q, a, F, R)->usage, 15);
    quota_fini(&q);
}

static void cycles_and_depth(void **state)
{
    (void)state;
    struct quota q;
    quota_init(&q);
    struct quota_record r = record(10, NO_LIMIT, NO_LIMIT);
    uint32_t a = quota_set_queue(&q, A, 20, &r, 1), b = quota_set_queue(&q, B, 0, &r, 1);
    quota_set_cohort(&q, 20, 21, NULL, 0);
    quota_set_cohort(&q, 21, 20, NULL, 0);
    quota_settle(&q);
    assert_true(q.nodes[a].broken);
    assert_false(q.nodes[b].broken);
    quota_set_cohort(&q, 21, 0, NULL, 0);
    quota_settle(&q);
    assert_false(q.nodes[a].broken);
    assert_int_equal(quota_available(&q, a, F, R), 10);
    for (uint32_t i = 0; i < LIMIT_COHORT_DEPTH + 1; i++)
        quota_set_cohort(&q, 100 + i, 101 + i, NULL, 0);
    quota_set_queue(&q, A, 100, &r, 1);
    uint32_t c = quota_set_queue(&q, C, 100 + LIMIT_COHORT_DEPTH, &r, 1);
    quota_settle(&q);
    assert_true(q.nodes[a].broken);
    assert_true(q.nodes[c].broken); /* the whole tree, also its shallow part */
    quota_fini(&q);
}

static void absurd_amounts(void **state)
{
    (void)state;
    struct quota q;
    quota_init(&q);
    struct quota_record r = record(INT64_MAX, INT64_MAX, NO_LIMIT);
    uint32_t a = quota_set_queue(&q, A, C, &r, 1), b = quota_set_queue(&q, B, C, &r, 1);
    quota_settle(&q);
    assert_int_equal(quota_potential(&q, a, F, R), INT64_MAX);
    quota_add(&q, b, F, R, INT64_MAX);
    assert_int_equal(quota_available(&q, a, F, R), 0);
    quota_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(empty), cmocka_unit_test(alone_limits_do_nothing),
                                       cmocka_unit_test(usage_survives_changes), cmocka_unit_test(cycles_and_depth),
                                       cmocka_unit_test(absurd_amounts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
