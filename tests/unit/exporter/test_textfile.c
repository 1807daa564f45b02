/* gpu_sessions.prom: whole or not at all, gone at the end, and what happens when the directory or another writer is in the way */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory.h"
#include "exporter/textfile.h"

struct place {
    char dir[64], path[96];
};

static int setup(void **state)
{
    static struct place p;
    const char *tmp = getenv("TMPDIR");
    snprintf(p.dir, sizeof p.dir, "%s/textfile.XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    assert_non_null(mkdtemp(p.dir));
    snprintf(p.path, sizeof p.path, "%s/gpu_sessions.prom", p.dir);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    unlink(p->path);
    return rmdir(p->dir); /* fails when a temporary file was left */
}

static void read_back(const char *path, char *text, size_t size)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, size - 1);
    assert_true(n >= 0);
    text[n] = '\0';
}

static void writes_and_goes(void **state)
{
    struct place *p = *state;
    char text[64];
    bool other = true;
    umask(077);
    struct textfile *t = textfile_new(p->path, false);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, NULL), 0);
    assert_false(other);
    assert_int_equal(textfile_write(t, BYTES("b 2\n"), &other, NULL), 0);
    assert_false(other);
    read_back(p->path, text, sizeof text);
    assert_string_equal(text, "b 2\n");
    struct stat s;
    assert_int_equal(stat(p->path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0644);
    textfile_free(t);
    assert_int_not_equal(access(p->path, F_OK), 0);
}

static void can_be_kept(void **state)
{
    struct place *p = *state;
    bool other;
    struct textfile *t = textfile_new(p->path, true);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, NULL), 0);
    textfile_free(t);
    assert_int_equal(access(p->path, F_OK), 0);
}

static void notices_another_writer(void **state)
{
    struct place *p = *state;
    bool other;
    struct textfile *a = textfile_new(p->path, false), *b = textfile_new(p->path, false);
    assert_int_equal(textfile_write(a, BYTES("a 1\n"), &other, NULL), 0);
    assert_int_equal(textfile_write(b, BYTES("b 1\n"), &other, NULL), 0);
    assert_int_equal(textfile_write(a, BYTES("a 2\n"), &other, NULL), 0);
    assert_true(other);
    textfile_free(b); /* not its file any more: stays */
    assert_int_equal(access(p->path, F_OK), 0);
    textfile_free(a);
    textfile_free(NULL);
}

static void says_what_is_wrong(void **state)
{
    struct place *p = *state;
    struct err e = {0};
    bool other;
    char missing[160];
    snprintf(missing, sizeof missing, "%s/none/x.prom", p->dir);
    struct textfile *t = textfile_new(missing, false);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "directory is missing"));
    textfile_free(t);
    t = textfile_new("/dev/full/x", false); /* not a directory */
    assert_true(textfile_write(t, BYTES("a 1\n"), &other, &e) < 0);
    textfile_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(can_be_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(notices_another_writer, setup, teardown),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
