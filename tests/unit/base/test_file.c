/* test_file.c - whole files, up to the limit and not beyond */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"

static void make(char *path, size_t n)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(close(fd), 0);
}

static void reads_to_the_limit(void **state)
{
    (void)state;
    char path[] = "/tmp/file-XXXXXX";
    struct buf text = {0};
    struct err e = {0};
    make(path, 20000);
    assert_int_equal(file_read(path, 20000, &text, &e), 0);
    assert_int_equal(text.n, 20000);
    assert_int_equal(strlen(text.data), 20000);
    buf_clear(&text);
    assert_int_equal(file_read(path, 19999, &text, &e), -E_LIMIT);
    assert_non_null(strstr(e.text, "larger than 19999 bytes"));
    buf_free(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_read(path, 1, &text, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, path));
    assert_int_equal(file_read("/", 1, &text, &e), -E_IO);
    buf_free(&text);
}

static void an_empty_file_is_a_text(void **state)
{
    (void)state;
    char path[] = "/tmp/file-XXXXXX";
    struct buf text = {0};
    make(path, 0);
    assert_int_equal(file_read(path, 10, &text, NULL), 0);
    assert_string_equal(text.data, "");
    buf_free(&text);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_to_the_limit), cmocka_unit_test(an_empty_file_is_a_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
