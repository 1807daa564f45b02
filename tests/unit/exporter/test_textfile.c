/* gpu_sessions.prom: whole or not at all, gone at the end, and what happens when the directory or another writer is in the way */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../folder.h"
#include "base/memory.h"
#include "exporter/pages/textfile.h"

struct place {
    char dir[64], path[96], temporary[96];
};

static int setup(void **state)
{
    static struct place p;
    folder_make(p.dir, sizeof p.dir, "textfile");
    snprintf(p.path, sizeof p.path, "%s/gpu_sessions.prom", p.dir);
    snprintf(p.temporary, sizeof p.temporary, "%s/.gpu_sessions.prom.new", p.dir);
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

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_text(const char *path, const char *want)
{
    char text[64];
    read_back(path, text, sizeof text);
    assert_string_equal(text, want);
}

static void writes_and_goes(void **state)
{
    struct place *p = *state;
    bool other = true;
    umask(077);
    struct textfile *t = textfile_new(p->path, false);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, NULL), 0);
    assert_false(other);
    assert_int_equal(textfile_write(t, BYTES("b 2\n"), &other, NULL), 0);
    assert_false(other);
    assert_text(p->path, "b 2\n");
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

/* What a crash left is in nobody's way, and does not stay. */
static void takes_what_a_crash_left(void **state)
{
    struct place *p = *state;
    bool other;
    put(p->temporary, "half of a page that was much longer than the next o");
    struct textfile *t = textfile_new(p->path, true);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, NULL), 0);
    assert_text(p->path, "a 1\n");
    assert_int_not_equal(access(p->temporary, F_OK), 0);
    textfile_free(t);
}

/* Whoever may write into the directory must not choose what we write into. */
static void follows_no_link(void **state)
{
    struct place *p = *state;
    char secret[96];
    bool other;
    struct err e = {0};
    snprintf(secret, sizeof secret, "%s/secret", p->dir);
    put(secret, "s");
    struct textfile *t = textfile_new(p->path, false);
    assert_int_equal(symlink(secret, p->temporary), 0);
    assert_true(textfile_write(t, BYTES("a 1\n"), &other, &e) < 0);
    unlink(p->temporary);
    assert_int_equal(link(secret, p->temporary), 0);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, &e), -E_INVALID);
    unlink(p->temporary);
    assert_int_equal(mkfifo(p->temporary, 0600), 0);
    assert_true(textfile_write(t, BYTES("a 1\n"), &other, &e) < 0);
    unlink(p->temporary);
    assert_text(secret, "s");
    assert_int_equal(symlink(secret, p->path), 0); /* this one is replaced, as any other writer's */
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, &e), 0);
    assert_text(secret, "s");
    assert_text(p->path, "a 1\n");
    assert_int_equal(textfile_counts(t).failed_n, 3);
    assert_int_equal(textfile_counts(t).written_n, 1);
    textfile_free(t);
    unlink(secret);
}

static void waits_for_another_writer(void **state)
{
    struct place *p = *state;
    bool other;
    struct err e = {0};
    struct textfile *t = textfile_new(p->path, false);
    int fd = open(p->temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(write(fd, "half", 4), 4);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, &e), -E_AGAIN);
    assert_text(p->temporary, "half");
    assert_int_equal(close(fd), 0);
    assert_int_equal(textfile_write(t, BYTES("a 1\n"), &other, &e), 0);
    assert_text(p->path, "a 1\n");
    textfile_free(t);
}

/* In a child of its own, since what it may do is taken away: a limit of file sizes stands for a disk that is full. */
static void in_child(void (*fn)(struct place *p), struct place *p)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fn(p);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void write_too_much(struct place *p)
{
    struct textfile *t = textfile_new(p->path, true);
    bool other, ok = textfile_write(t, BYTES("a 1\n"), &other, NULL) == 0;
    (void)signal(SIGXFSZ, SIG_IGN);
    ok = ok && setrlimit(RLIMIT_FSIZE, &(struct rlimit){6, 6}) == 0;
    ok = ok && textfile_write(t, BYTES("a 2\nb 3\nc 4\n"), &other, NULL) == -E_IO;
    textfile_free(t);
    if (!ok)
        _exit(1);
}

static void a_full_disk_leaves_the_file_as_it_was(void **state)
{
    struct place *p = *state;
    in_child(write_too_much, p);
    assert_text(p->path, "a 1\n");
    assert_int_not_equal(access(p->temporary, F_OK), 0);
}

static void write_as_nobody(struct place *p)
{
    struct err e = {0};
    bool other;
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        _exit(1);
    struct textfile *t = textfile_new(p->path, false);
    int r = textfile_write(t, BYTES("a 1\n"), &other, &e);
    textfile_free(t);
    if (r != -E_DENIED || !strstr(e.text, p->dir))
        _exit(1);
}

static void a_directory_that_is_read_only(void **state)
{
    struct place *p = *state;
    assert_int_equal(chmod(p->dir, 0555), 0);
    in_child(write_as_nobody, p);
    assert_int_equal(chmod(p->dir, 0700), 0);
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
        cmocka_unit_test_setup_teardown(takes_what_a_crash_left, setup, teardown),
        cmocka_unit_test_setup_teardown(follows_no_link, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_another_writer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_file_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_read_only, setup, teardown),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
