/* The labels' file for node feature discovery: tried again until it is written, and said once why it is not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "../folder.h"
#include "agent/node/features_file.h"
#include "base/file.h"
#include "base/memory.h"

struct fixture {
    struct loop *loop;
    struct features_file *f;
    char dir[64], sub[80], path[96], log[80];
    int log_fd, stderr_fd;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);
    folder_make(x->dir, sizeof x->dir, "features");
    (void)snprintf(x->sub, sizeof x->sub, "%s/d", x->dir);
    (void)snprintf(x->path, sizeof x->path, "%s/gfd", x->sub);
    (void)snprintf(x->log, sizeof x->log, "%s/log", x->dir);
    x->log_fd = open(x->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    x->stderr_fd = dup(2);
    assert_true(x->log_fd >= 0 && x->stderr_fd >= 0 && dup2(x->log_fd, 2) == 2);
    x->loop = loop_new_virtual(0);
    x->f = features_file_new(x->loop);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;
    features_file_free(x->f);
    loop_free(x->loop);
    assert_int_equal(dup2(x->stderr_fd, 2), 2);
    (void)close(x->stderr_fd);
    (void)close(x->log_fd);
    folder_remove(x->dir);
    free(x);
    return 0;
}

static void assert_holds(const struct fixture *x, const char *text)
{
    _cleanup_buf_ struct buf is = {0};
    assert_int_equal(file_read(x->path, 1000, &is, NULL), 0);
    assert_string_equal(is.data, text);
}

static int logged(const struct fixture *x, const char *part)
{
    _cleanup_buf_ struct buf log = {0};
    assert_int_equal(file_read(x->log, 100000, &log, NULL), 0);
    int n = 0;
    for (const char *at = log.data; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void test_writes(void **state)
{
    struct fixture *x = *state;
    assert_true(features_file_written(x->f)); /* none is wanted */
    assert_int_equal(mkdir(x->sub, 0700), 0);
    features_file_set(x->f, x->path, BYTES("a=1\n"));
    assert_true(features_file_written(x->f));
    assert_holds(x, "a=1\n");
    features_file_set(x->f, x->path, BYTES("a=2\n"));
    assert_holds(x, "a=2\n");
    assert_int_equal(logged(x, "features"), 0);
}

static void test_tries_again(void **state)
{
    struct fixture *x = *state;
    features_file_set(x->f, x->path, BYTES("a=1\n"));
    assert_false(features_file_written(x->f));
    loop_run_for(x->loop, 600000, NULL);
    features_file_set(x->f, x->path, BYTES("a=2\n")); /* the last one counts */
    loop_run_for(x->loop, 600000, NULL);
    assert_int_equal(logged(x, "not written"), 1);
    assert_int_equal(mkdir(x->sub, 0700), 0);
    assert_int_equal(mkdir(x->path, 0700), 0); /* another cause */
    loop_run_for(x->loop, 60000, NULL);
    assert_false(features_file_written(x->f));
    assert_int_equal(logged(x, "not written"), 2);
    assert_int_equal(rmdir(x->path), 0);
    loop_run_for(x->loop, 60000, NULL);
    assert_true(features_file_written(x->f));
    assert_holds(x, "a=2\n");
    assert_int_equal(logged(x, "written again"), 1);
}

static void test_gives_up_what_is_not_wanted(void **state)
{
    struct fixture *x = *state;
    features_file_set(x->f, x->path, BYTES("a=1\n"));
    features_file_unset(x->f);
    assert_true(features_file_written(x->f));
    assert_int_equal(mkdir(x->sub, 0700), 0);
    loop_run_for(x->loop, 600000, NULL);
    assert_int_equal(access(x->path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tries_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gives_up_what_is_not_wanted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
