/* test_file.c - whole files, up to the limit and not beyond */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static void replaces_whole_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/file-XXXXXX", path[64], beside[64];
    struct buf text = {0};
    struct err e = {0};
    struct stat st;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/a", folder);
    (void)snprintf(beside, sizeof beside, "%s/.a.new", folder);
    mode_t mask = umask(0077);
    assert_int_equal(file_replace(path, BYTES("first, and longer"), 0644, &e), 0);
    (void)umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(file_replace(path, BYTES("second"), 0600, &e), 0);
    assert_int_equal(file_read(path, 100, &text, &e), 0);
    assert_string_equal(text.data, "second");
    buf_free(&text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0); /* cannot be replaced */
    assert_int_equal(file_replace(path, BYTES("third"), 0600, &e), -E_IO);
    assert_non_null(strstr(e.text, path));
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(file_replace(path, BYTES("fourth"), 0600, &e), -E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_to_the_limit), cmocka_unit_test(an_empty_file_is_a_text),
                                       cmocka_unit_test(replaces_whole_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
