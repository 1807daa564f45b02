#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "base/err.h"

static void test_set(void **state)
{
    struct err e = {0};
    errno = EINTR;
    assert_int_equal(err_set(&e, E_CONFLICT, "have %d", 3), -E_CONFLICT);
    assert_int_equal(errno, EINTR);
    assert_int_equal(e.code, E_CONFLICT);
    assert_string_equal(e.text, "have 3");
    assert_int_equal(err_set(NULL, E_GONE, "x"), -E_GONE);
    assert_int_equal(err_set(&e, E_IO, "again: %s", e.text), -E_IO);
    assert_string_equal(e.text, "again: have 3");
}

static void test_wrap(void **state)
{
    struct err e = {0};
    err_set(&e, E_NOTFOUND, "no such pod");
    assert_int_equal(err_wrap(&e, "bind %s", "a/b"), -E_NOTFOUND);
    assert_string_equal(e.text, "bind a/b: no such pod");
    assert_int_equal(err_wrap(NULL, "x"), -E_IO);
}

static void test_cut(void **state)
{
    struct err e = {0};
    char longer[2 * ERR_TEXT_MAX];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_set(&e, E_INVALID, "%s", longer);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    assert_int_equal(e.text[ERR_TEXT_MAX - 2], '+');
    err_wrap(&e, "outer");
    assert_memory_equal(e.text, "outer: xx", 9);
    assert_int_equal(e.text[ERR_TEXT_MAX - 2], '+');
}

static void test_errno(void **state)
{
    struct err e = {0};
    assert_int_equal(err_errno(&e, ENOENT, "open %s", "f"), -E_NOTFOUND);
    assert_string_equal(e.text, "open f: No such file or directory");
    assert_int_equal(err_errno(&e, EEXIST, "x"), -E_EXISTS);
    assert_int_equal(err_errno(&e, EACCES, "x"), -E_DENIED);
    assert_int_equal(err_errno(&e, EAGAIN, "x"), -E_AGAIN);
    assert_int_equal(err_errno(NULL, ENOSPC, "x"), -E_IO);
}

static void test_names(void **state)
{
    for (int code = 0; code <= E_PROTO; code++)
        assert_string_not_equal(err_name(code), "Unknown");
    assert_string_equal(err_name(-E_NOTFOUND), "NotFound");
    assert_string_equal(err_name(999), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_set), cmocka_unit_test(test_wrap), cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_errno), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
