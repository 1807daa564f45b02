/* What is asked of the visibility API; the answers: tests/api/queues/94-visibility.sh */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "base/limits.h"
#include "sched/serve/visibility.h"

static int asked(const char *limit, const char *offset, struct visibility_question *q, struct err *e)
{
    const struct http_param query[] = {{"limit", limit}, {"offset", offset}};
    const struct http_request r = {.query = query, .query_n = 2};
    return visibility_query(&r, q, e);
}

static void test_limits(void **state)
{
    static const struct {
        const char *limit, *offset;
        int64_t wanted_limit, wanted_offset;
    } cases[] = {
        {"", "", 1000, 0}, {"0", "0", 1000, 0}, {"7", "3", 7, 3}, {"-1", "-5", 0, 0},
        {"99999999999", "9223372036854775807", LIMIT_PENDING_ITEMS, INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct visibility_question q;
        struct err e = {0};
        assert_int_equal(asked(cases[i].limit, cases[i].offset, &q, &e), 0);
        assert_true(q.limit == cases[i].wanted_limit);
        assert_true(q.offset == cases[i].wanted_offset);
    }
}

static void test_what_is_no_number(void **state)
{
    static const char *const wrong[] = {"x", "1.5", "9223372036854775808", "1 "};
    struct visibility_question q;
    struct err e = {0};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(asked(wrong[i], "1", &q, &e), -E_INVALID);
        assert_int_equal(asked("1", wrong[i], &q, &e), -E_INVALID);
    }
    assert_string_equal(e.text, "offset: \"1 \" is no whole number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_what_is_no_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
