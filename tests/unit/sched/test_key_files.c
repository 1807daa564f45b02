/* test_key_files.c - certificate and key are of one time, and nothing but files is read */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "sched/serve/key_files.h"

enum { GENERATIONS = 2000 };
static char root[] = "/tmp/key-files-XXXXXX";

static bool put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return written && close(fd) == 0;
}

static int in_root(void **state)
{
    (void)state;
    return mkdtemp(root) && chdir(root) == 0 ? 0 : -1;
}

static int out_of_root(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(root) : -1;
}

static void refuses(const char *cert, const char *key, int code, const char *says)
{
    struct key_pair pair = {0};
    struct err e = {0};
    assert_int_equal(key_files_read(cert, key, &pair, &e), code);
    if (!strstr(e.text, says))
        fail_msg("%s", e.text);
    assert_null(pair.cert_pem);
    assert_null(pair.key_pem);
}

static void one_pair(void **state)
{
    struct key_pair pair = {0};
    (void)state;
    assert_true(put("cert", "c") && put("key", ""));
    assert_int_equal(key_files_read("cert", "key", &pair, NULL), 0);
    assert_string_equal(pair.cert_pem, "c");
    assert_string_equal(pair.key_pem, "");
    key_pair_free(&pair);
    assert_null(pair.key_pem);
    key_pair_free(&pair);
    assert_int_equal(unlink("cert") | unlink("key"), 0);
}

/* A pipe that nobody writes into would be waited for until the test is ended. */
static void no_files(void **state)
{
    (void)state;
    assert_true(put("file", "x"));
    assert_int_equal(mkfifo("pipe", 0600), 0);
    refuses("none", "file", -E_NOTFOUND, "none");
    refuses("file", "none", -E_NOTFOUND, "none");
    refuses("pipe", "file", -E_INVALID, "pipe is no regular file");
    refuses("file", "/", -E_INVALID, "/ is no regular file");
    assert_int_equal(truncate("file", KEY_FILES_MAX_BYTES + 1), 0);
    refuses("file", "file", -E_LIMIT, "larger than");
    assert_int_equal(unlink("file") | unlink("pipe"), 0);
}

/* As a kubelet does it: a new folder, and the link to it is renamed. Each generation is another text. */
static void replace_for_ever(void)
{
    char folder[16], before[16] = "old", cert[32], key[32];
    for (int i = 0; i < GENERATIONS; i++) {
        snprintf(folder, sizeof folder, "%d", i);
        snprintf(cert, sizeof cert, "%s/cert", folder);
        snprintf(key, sizeof key, "%s/key", folder);
        if (mkdir(folder, 0700) || !put(cert, folder) || !put(key, folder) || symlink(folder, "new") || rename("new", "data"))
            _exit(1);
        snprintf(cert, sizeof cert, "%s/cert", before);
        snprintf(key, sizeof key, "%s/key", before);
        if (unlink(cert) || unlink(key) || rmdir(before))
            _exit(1);
        memcpy(before, folder, sizeof before);
    }
    _exit(0);
}

/* Pipe and file change places all the time, so that a pipe is there where a file was just seen. */
static void change_for_ever(void)
{
    for (int i = 0; i < GENERATIONS; i++)
        if (mkfifo("new", 0600) || rename("new", "key") || !put("new", "x") || rename("new", "key"))
            _exit(1);
    _exit(0);
}

static void never_waits_for_a_pipe(void **state)
{
    struct key_pair pair = {0};
    int status = 0;
    (void)state;
    assert_true(put("cert", "c") && put("key", "x"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        change_for_ever();
    do {
        int r = key_files_read("cert", "key", &pair, NULL);
        if (r < 0 && r != -E_INVALID)
            fail_msg("%d", r);
        if (r == 0)
            assert_string_equal(pair.key_pem, "x");
        key_pair_free(&pair);
    } while (waitpid(child, &status, WNOHANG) != child);
    assert_int_equal(status, 0);
    assert_int_equal(unlink("cert") | unlink("key"), 0);
}

static void never_of_two_times(void **state)
{
    struct key_pair pair = {0};
    int status = 0, read_n = 0;
    (void)state;
    assert_int_equal(mkdir("old", 0700) | symlink("old", "data"), 0);
    assert_true(put("data/cert", "old") && put("data/key", "old"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        replace_for_ever();
    for (bool ended = false; !ended || !read_n;) {
        ended = ended || waitpid(child, &status, WNOHANG) == child;
        if (key_files_read("data/cert", "data/key", &pair, NULL) < 0)
            continue; /* replaced too often, or gone between link and file */
        read_n++;
        assert_string_equal(pair.cert_pem, pair.key_pem);
        key_pair_free(&pair);
    }
    assert_int_equal(status, 0);
    char last[16];
    snprintf(last, sizeof last, "%d", GENERATIONS - 1);
    assert_int_equal(unlink("data/cert") | unlink("data/key") | unlink("data") | rmdir(last), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_pair), cmocka_unit_test(no_files),
                                       cmocka_unit_test(never_waits_for_a_pipe), cmocka_unit_test(never_of_two_times)};
    return cmocka_run_group_tests_name("sched/key_files", tests, in_root, out_of_root);
}
