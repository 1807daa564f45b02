/* How often figures are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "sched/telling/pace.h"

/* A row of writes, a second apart; returns when the last one was. */
static int64_t row(struct pace *p, int n)
{
    int64_t now_ms = 100000;
    for (int i = 0; i < n; i++, now_ms += PACE_MS)
        pace_written(p, "q", now_ms);
    return now_ms - PACE_MS;
}

static void the_first_is_written_at_once(void **state)
{
    (void)state;
    struct pace *p = pace_new();
    assert_int_equal(pace_rest_ms(p, "q", 1, 5), 0);
    int64_t last_ms = row(p, 1);
    assert_int_equal(pace_rest_ms(p, "q", 1, last_ms + 300), PACE_MS - 300);
    assert_int_equal(pace_rest_ms(p, "q", 1, last_ms + PACE_MS), 0);
    pace_free(p);
}

/* Every five seconds while they change, a second after they have stopped. */
static void a_long_row_waits_for_rest(void **state)
{
    (void)state;
    struct pace *p = pace_new();
    int64_t last_ms = row(p, PACE_ROW + 1);
    assert_int_equal(pace_wait_ms(p, "q", last_ms + 100), PACE_SLOW_MS - 100);
    assert_int_equal(pace_rest_ms(p, "q", 1, last_ms + 100), PACE_REST_MS);
    assert_int_equal(pace_rest_ms(p, "q", 2, last_ms + 1000), PACE_REST_MS); /* other figures */
    assert_int_equal(pace_rest_ms(p, "q", 2, last_ms + 1900), 100);
    assert_int_equal(pace_rest_ms(p, "q", 2, last_ms + 2000), 0);
    assert_int_equal(pace_rest_ms(p, "q", 3, last_ms + 2000), PACE_REST_MS);
    assert_int_equal(pace_rest_ms(p, "q", 4, last_ms + 4900), 100); /* never later than without a look at them */
    assert_int_equal(pace_rest_ms(p, "q", 5, last_ms + 5000), 0);
    pace_free(p);
}

static void what_rested_before_a_write_does_not_count_after_it(void **state)
{
    (void)state;
    struct pace *p = pace_new();
    int64_t last_ms = row(p, PACE_ROW + 1);
    assert_int_equal(pace_rest_ms(p, "q", 1, last_ms + 100), PACE_REST_MS);
    pace_written(p, "q", last_ms + 1100);
    assert_int_equal(pace_rest_ms(p, "q", 1, last_ms + 1200), PACE_REST_MS); /* the same figures again */
    pace_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_is_written_at_once), cmocka_unit_test(a_long_row_waits_for_rest),
                                       cmocka_unit_test(what_rested_before_a_write_does_not_count_after_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
