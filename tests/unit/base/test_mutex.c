/* A lock that is waited for with a limit: free, held by another, given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mutex.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct pipes { /* a byte says so */
    int held[2], give_back[2];
};

static void *hold(void *arg)
{
    struct pipes *p = arg;
    char c = 0;
    assert_int_equal(pthread_mutex_lock(&lock), 0);
    assert_int_equal(write(p->held[1], &c, 1), 1);
    assert_int_equal(read(p->give_back[0], &c, 1), 1);
    assert_int_equal(pthread_mutex_unlock(&lock), 0);
    return NULL;
}

static void test_a_lock_with_a_limit(void **state)
{
    struct pipes p;
    char c = 0;
    pthread_t holder;
    assert_true(pipe(p.held) == 0 && pipe(p.give_back) == 0);
    assert_true(mutex_lock_within(&lock, 0));
    assert_int_equal(pthread_mutex_unlock(&lock), 0);
    assert_int_equal(pthread_create(&holder, NULL, hold, &p), 0);
    assert_int_equal(read(p.held[0], &c, 1), 1);
    int64_t began_us = clock_monotonic_us();
    assert_false(mutex_lock_within(&lock, 20));
    assert_true(clock_monotonic_us() - began_us >= 20000);
    assert_int_equal(write(p.give_back[1], &c, 1), 1);
    assert_true(mutex_lock_within(&lock, 60000));
    assert_int_equal(pthread_mutex_unlock(&lock), 0);
    assert_int_equal(pthread_join(holder, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_true(close(p.held[i]) == 0 && close(p.give_back[i]) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lock_with_a_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
