/* When a reason is told, and how often figures are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "sched/telling/pace.h"
#include "sched/telling/telling.h"

static bool same_cause(const char *a, const char *b)
{
    return telling_cause(a) == telling_cause(b);
}

static void test_numbers_are_no_cause(void **state)
{
    (void)state;
    assert_true(same_cause("3 more needed", "12 more needed"));
    assert_true(same_cause("0/1000 nodes are available: 1000 Insufficient nvidia.com/gpu.",
                           "0/999 nodes are available: 998 Insufficient nvidia.com/gpu."));
    assert_true(same_cause("memory, 1.5Gi more needed", "memory, 800Mi more needed"));
    assert_true(same_cause("capacity (8 > 4)", "capacity (16 > 4)"));
    assert_false(same_cause("1 Insufficient cpu", "1 Insufficient memory"));
    assert_false(same_cause("in flavor a100, 3 more needed", "in flavor a40, 3 more needed")); /* a name */
    assert_false(same_cause("1 Insufficient nvidia.com/mig-1g.5gb", "1 Insufficient nvidia.com/mig-3g.40gb"));
    assert_false(same_cause("", "x"));
    assert_true(same_cause("", ""));
}

static int64_t wait(struct telling *t, const char *text, const char *said, int64_t now_ms)
{
    return telling_wait_ms(t, NULL, text, said, REST_IS_SAID, TELLING_SETTLE_MS, 0, now_ms);
}

static void test_one_object(void **state)
{
    (void)state;
    struct telling t = {0};
    assert_int_equal(wait(&t, "3 short", NULL, 1000), 500);
    assert_int_equal(wait(&t, "2 short", NULL, 1400), 100); /* it stands */
    assert_int_equal(wait(&t, "no node", NULL, 1400), 500); /* another cause does not */
    assert_int_equal(wait(&t, "no node", NULL, 1900), 0);
    assert_int_equal(wait(&t, "no node", NULL, 1950), 0); /* the write has failed, say */
    telling_sent(&t, 1950);
    assert_true(wait(&t, "no node", NULL, 1960) > 900);        /* it has not come back yet */
    assert_int_equal(wait(&t, "no node", "no node", 1970), -1); /* now it has */
    assert_int_equal(wait(&t, "3 short", "no node", 2000), 1950 + TELLING_AGAIN_MS - 2000);
    assert_int_equal(wait(&t, "3 short", "no node", 1950 + TELLING_AGAIN_MS), 0);
    telling_sent(&t, 7000);
    assert_int_equal(wait(&t, "3 short", "3 short", 7010), -1);
    assert_int_equal(wait(&t, "2 short", "3 short", 20000), 7000 + TELLING_NUMBERS_MS - 20000); /* a number alone */
    assert_int_equal(wait(&t, "3 short", "3 short", 30000), -1);
    assert_int_equal(wait(&t, "2 short", "3 short", 7000 + TELLING_NUMBERS_MS), 0);
}

/* The sentence is said, and what stands beside it has changed: as with a number. */
static void test_rest(void **state)
{
    (void)state;
    struct telling t = {0};
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_IS_SAID, TELLING_SETTLE_MS, 0, 1000), -1);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_DIFFERS, TELLING_SETTLE_MS, 0, 2000),
                                     1000 + TELLING_NUMBERS_MS - 2000);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_DIFFERS, TELLING_SETTLE_MS, 0, 1000 + TELLING_NUMBERS_MS), 0);
    telling_sent(&t, 1000 + TELLING_NUMBERS_MS);
    assert_true(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_DIFFERS, TELLING_SETTLE_MS, 0, 1010 + TELLING_NUMBERS_MS) > 900);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_IS_SAID, TELLING_SETTLE_MS, 0, 1020 + TELLING_NUMBERS_MS), -1);
}

/* What would help is known by now: that is told soon. */
static void test_help(void **state)
{
    (void)state;
    const char *none = "{\"message\":\"3 short\",\"notComputed\":\"depends\"}", *named = "{\"queue\":\"\\\"remedies\\\":[{\"}",
               *some = "{\"message\":\"3 short\",\"remedies\":[{\"all\":[]}]}", *others = "{\"remedies\":[{\"all\":[1]}]}";
    struct telling t = {0};
    assert_int_equal(telling_rest(some, some), REST_IS_SAID);
    assert_int_equal(telling_rest(some, none), REST_IS_NEWS);
    assert_int_equal(telling_rest(some, ""), REST_IS_NEWS);
    assert_int_equal(telling_rest(some, others), REST_DIFFERS);
    assert_int_equal(telling_rest(none, some), REST_DIFFERS);
    assert_int_equal(telling_rest(named, none), REST_DIFFERS);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_IS_SAID, TELLING_SETTLE_MS, 0, 1000), -1);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_IS_NEWS, TELLING_SETTLE_MS, 0, 2000),
                                     1000 + TELLING_AGAIN_MS - 2000);
    assert_int_equal(telling_wait_ms(&t, NULL, "3 short", "3 short", REST_IS_NEWS, TELLING_SETTLE_MS, 0, 1000 + TELLING_AGAIN_MS), 0);
}

/* After a restart the object says it already, or says something else. */
static void test_restart(void **state)
{
    (void)state;
    struct telling t = {0}, u = {0};
    assert_int_equal(wait(&t, "3 short", "3 short", 1000), -1);
    assert_int_equal(wait(&t, "2 short", "3 short", 2000), 1000 + TELLING_NUMBERS_MS - 2000);
    assert_int_equal(wait(&u, "no node", "3 short", 1000), TELLING_SETTLE_MS);
    assert_int_equal(wait(&u, "no node", "3 short", 1500), 0);
}

/* Members that are still being made: nothing until none has come for a while. */
static void test_members(void **state)
{
    (void)state;
    struct telling t = {0};
    for (int i = 1; i < 80; i++) {
        const char *text = i % 2 ? "6 of 80 pods exist" : "75 of 80 pods exist";
        assert_true(telling_wait_ms(&t, NULL, text, NULL, REST_IS_SAID, TELLING_MEMBERS_MS, i * 100, i * 100) > 0);
    }
    assert_int_equal(telling_wait_ms(&t, NULL, "79 of 80 pods exist", NULL, REST_IS_SAID, TELLING_MEMBERS_MS, 7900,
                                     7900 + TELLING_MEMBERS_MS), 0);
}

static void test_budget(void **state)
{
    (void)state;
    struct bucket all = {0};
    static struct telling t[LIMIT_TELLING_BURST + 20];
    int now_n = 0;
    for (int i = 0; i < LIMIT_TELLING_BURST + 20; i++)
        now_n += telling_wait_ms(&t[i], &all, "x", NULL, REST_IS_SAID, 0, 0, 1000) == 0;
    assert_int_equal(now_n, LIMIT_TELLING_BURST);
    struct telling *last = &t[LIMIT_TELLING_BURST + 19], one = {0};
    int64_t wait_ms = telling_wait_ms(last, &all, "x", NULL, REST_IS_SAID, 0, 0, 1000);
    assert_int_equal(wait_ms, 20 * 1000 / LIMIT_TELLING_PER_S);
    assert_int_equal(telling_wait_ms(last, &all, "x", NULL, REST_IS_SAID, 0, 0, 1000 + wait_ms), 0);                 /* its place is kept */
    for (int i = LIMIT_TELLING_BURST; i < LIMIT_TELLING_BURST + 20; i++)
        telling_drop(&t[i], &all, 1000);                                                             /* admitted meanwhile */
    assert_int_equal(telling_wait_ms(&one, &all, "x", NULL, REST_IS_SAID, 0, 0, 1000),
                                     1000 / LIMIT_TELLING_PER_S); /* theirs are given back */
}

static void test_pace(void **state)
{
    (void)state;
    struct pace *p = pace_new();
    int n = 0;
    for (int64_t ms = 1000; ms < 61000; ms += 100)
        if (pace_wait_ms(p, "q", ms) == 0) {
            pace_written(p, "q", ms);
            n++;
        }
    assert_int_equal(n, PACE_ROW + 1 + 10); /* six seconds, then every five of the other 54 */
    assert_int_equal(pace_wait_ms(p, "other", 60000), 0);
    pace_written(p, "q", 80000); /* quiet until then */
    assert_int_equal(pace_wait_ms(p, "q", 80000), PACE_MS);
    char key[16] = "k000000";
    for (int i = 0; i < 10000; i++) { /* more than are remembered */
        for (int d = 6, v = i; d > 0; d--, v /= 10)
            key[d] = (char)('0' + v % 10);
        pace_written(p, key, 90000);
    }
    assert_int_equal(pace_wait_ms(p, "q", 80000), 0);
    assert_int_equal(pace_wait_ms(p, key, 90000), PACE_MS);
    pace_free(p);
    pace_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_no_cause), cmocka_unit_test(test_one_object), cmocka_unit_test(test_rest),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_members),              cmocka_unit_test(test_budget),     cmocka_unit_test(test_pace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
