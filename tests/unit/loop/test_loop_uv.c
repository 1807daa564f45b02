/* What only the real body has: descriptors, signals, children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/bytes.h"
#include "loop/loop.h"

struct world {
    struct loop *l;
    struct loop_poll *p;
    struct buf log;
    int fd, exit_code;
};

static void pipe_reads(void *arg, int events)
{
    struct world *w = arg;
    char c;
    assert_int_equal(events & LOOP_READ, LOOP_READ);
    if (read(w->fd, &c, 1) == 1)
        buf_char(&w->log, c);
    if (c == 'x') {
        loop_poll_free(w->p);
        w->p = NULL;
        loop_stop(w->l);
    }
}

static void test_poll(void **state)
{
    struct world w = {.l = loop_new()};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    w.fd = fds[0];
    w.p = loop_poll_new(w.l, fds[0], pipe_reads, &w);
    assert_int_equal(write(fds[1], "abx", 3), 3);
    loop_run_for(w.l, 5, NULL); /* not watched yet */
    assert_null(w.log.data);
    loop_poll_set(w.p, LOOP_READ);
    loop_run(w.l, NULL);
    assert_string_equal(w.log.data, "abx");
    close(fds[0]);
    close(fds[1]);
    loop_poll_free(NULL);
    loop_free(w.l);
    buf_free(&w.log);
}

static void test_poll_stopped_and_started_again(void **state)
{
    struct world w = {.l = loop_new()};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    w.fd = fds[0];
    w.p = loop_poll_new(w.l, fds[0], pipe_reads, &w);
    loop_poll_set(w.p, LOOP_READ);
    loop_poll_set(w.p, 0);
    assert_int_equal(write(fds[1], "a", 1), 1);
    loop_run_for(w.l, 5, NULL);
    assert_null(w.log.data);
    loop_poll_set(w.p, LOOP_READ);
    loop_run_for(w.l, 5, NULL);
    assert_string_equal(w.log.data, "a");
    loop_poll_free(w.p);
    close(fds[0]);
    close(fds[1]);
    loop_free(w.l);
    buf_free(&w.log);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void raise_signal(void *arg)
{
    raise(SIGUSR1);
}

static void test_signal(void **state)
{
    struct loop *l = loop_new();
    struct loop_signal *s = loop_signal_new(l, SIGUSR1, stop, l);
    loop_defer(l, raise_signal, NULL);
    assert_int_equal(loop_run(l, NULL), 0);
    loop_signal_free(s);
    loop_free(l);
}

static void child_done(void *arg, int exit_code, const char *output, size_t n)
{
    struct world *w = arg;
    w->exit_code = exit_code;
    buf_add(&w->log, output, n);
    loop_stop(w->l);
}

static void test_child_output_is_collected_and_bounded(void **state)
{
    struct world w = {.l = loop_new()};
    char *argv[] = {"sh", "-c", "printf hello-world; exit 3", NULL};
    assert_int_equal(loop_child_run(w.l, argv, NULL, 5, 5000, child_done, &w, NULL), 0);
    loop_run(w.l, NULL);
    assert_int_equal(w.exit_code, 3);
    assert_string_equal(w.log.data, "hello");
    loop_free(w.l);
    buf_free(&w.log);
}

static void test_child_that_hangs_is_killed(void **state)
{
    struct world w = {.l = loop_new()};
    char *argv[] = {"sleep", "60", NULL};
    assert_int_equal(loop_child_run(w.l, argv, NULL, 5, 30, child_done, &w, NULL), 0);
    loop_run(w.l, NULL);
    assert_int_equal(w.exit_code, 128 + SIGKILL);
    loop_free(w.l);
    buf_free(&w.log);
}

static void test_child_that_does_not_exist(void **state)
{
    struct world w = {.l = loop_new()};
    struct err e;
    char *argv[] = {"no-such-program-here", NULL};
    assert_int_equal(loop_child_run(w.l, argv, NULL, 5, 30, child_done, &w, &e), -E_NOTFOUND);
    assert_non_null(strstr(e.text, "no-such-program-here"));
    loop_free(w.l);
}

static void test_child_reads_its_input(void **state)
{
    struct world w = {.l = loop_new()};
    char *argv[] = {"sh", "-c", "cat; cat", NULL};
    struct loop_child *c;
    const struct loop_child_options o = {.argv = argv, .input = BYTES("one\ntwo\n"), .max_bytes = 100, .timeout_ms = 5000};
    assert_int_equal(loop_child_spawn(w.l, &o, child_done, &w, &c, NULL), 0);
    assert_int_equal(loop_run(w.l, NULL), 0);
    assert_int_equal(w.exit_code, 0);
    assert_string_equal(w.log.data, "one\ntwo\n");
    buf_free(&w.log);
    loop_free(w.l);
}

static void test_child_is_signalled_or_forgotten(void **state)
{
    struct world w = {.l = loop_new(), .exit_code = -1};
    char *argv[] = {"sleep", "30", NULL};
    struct loop_child *a, *b;
    const struct loop_child_options o = {.argv = argv, .new_session = true};
    assert_int_equal(loop_child_spawn(w.l, &o, child_done, &w, &a, NULL), 0);
    assert_int_equal(loop_child_spawn(w.l, &o, child_done, &w, &b, NULL), 0);
    int pid = loop_child_pid(a);
    assert_int_equal(getpgid(pid), pid);
    int other = loop_child_pid(b);
    loop_child_forget(b);
    loop_child_forget(NULL);
    assert_int_equal(loop_run_for(w.l, 100, NULL), 0);
    assert_int_equal(w.exit_code, -1);
    assert_int_equal(kill(other, 0), -1); /* and reaped */
    loop_child_signal(a, SIGTERM);
    assert_int_equal(loop_run(w.l, NULL), 0);
    assert_int_equal(w.exit_code, 128 + SIGTERM);
    buf_free(&w.log);
    loop_free(w.l);
}

static void copy_counts(void *arg, struct buf *out)
{
    struct world *w = arg;
    int dir = open("/proc/self/fd/4", O_RDONLY | O_CLOEXEC);
    buf_printf(out, "%d %s", ++w->fd, dir < 0 ? "alone" : "with descriptors");
}

static void test_copy_thinks_by_itself(void **state)
{
    struct world w = {.l = loop_new(), .fd = 41};
    struct loop_copy *c;
    assert_int_equal(loop_copy_run(w.l, copy_counts, 5, 100, child_done, &w, &c, NULL), 0);
    assert_int_equal(loop_run(w.l, NULL), 0);
    assert_int_equal(w.exit_code, 0);
    assert_string_equal(w.log.data, "42 alone");
    assert_int_equal(w.fd, 41);
    buf_free(&w.log);
    loop_free(w.l);
}

static void copy_hangs(void *arg, struct buf *out)
{
    struct world *w = arg;
    for (volatile int *n = &w->fd; *n == 0;)
        buf_clear(out);
}

static void test_copy_that_hangs_is_killed(void **state)
{
    struct world w = {.l = loop_new()};
    struct loop_copy *c, *forgotten;
    assert_int_equal(loop_copy_run(w.l, copy_hangs, 60, 100, child_done, &w, &forgotten, NULL), 0);
    loop_copy_forget(forgotten);
    loop_copy_forget(NULL);
    assert_int_equal(loop_copy_run(w.l, copy_hangs, 1, 100, child_done, &w, &c, NULL), 0);
    assert_int_equal(loop_run(w.l, NULL), 0);
    assert_int_equal(w.exit_code, 128 + SIGKILL);
    buf_free(&w.log);
    loop_free(w.l);
}

static void test_free_with_a_running_child(void **state)
{
    struct world w = {.l = loop_new()};
    char *argv[] = {"sleep", "60", NULL};
    assert_int_equal(loop_child_run(w.l, argv, NULL, 5, 0, child_done, &w, NULL), 0);
    loop_run_for(w.l, 5, NULL);
    loop_free(w.l);
    assert_int_equal(w.exit_code, 0);
}

struct shared { /* between the loop and a thread */
    struct loop *l;
    struct loop_async *a;
    atomic_int written;
    int seen, calls;
};

static void *thread_writes(void *arg)
{
    struct shared *s = arg;
    for (int i = 1; i <= 1000; i++) {
        atomic_store(&s->written, i);
        loop_async_send(s->a);
    }
    return NULL;
}

static void thread_has_written(void *arg)
{
    struct shared *s = arg;
    s->seen = atomic_load(&s->written);
    s->calls++;
    if (s->seen == 1000)
        loop_stop(s->l);
}

static void test_another_thread_wakes_the_loop(void **state)
{
    struct shared s = {.l = loop_new()};
    s.a = loop_async_new(s.l, thread_has_written, &s);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_writes, &s), 0);
    loop_run(s.l, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(s.seen, 1000);
    assert_in_range(s.calls, 1, 1000);
    loop_async_free(s.a);
    loop_async_free(NULL);
    loop_free(s.l);
}

static void test_a_freed_async_is_not_called(void **state)
{
    struct shared s = {.l = loop_new()};
    s.a = loop_async_new(s.l, thread_has_written, &s);
    loop_async_send(s.a);
    loop_async_free(s.a);
    loop_run_for(s.l, 5, NULL);
    assert_int_equal(s.calls, 0);
    loop_free(s.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_poll_stopped_and_started_again),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_child_output_is_collected_and_bounded),
        cmocka_unit_test(test_child_that_hangs_is_killed),
        cmocka_unit_test(test_child_that_does_not_exist),
        cmocka_unit_test(test_child_reads_its_input),
        cmocka_unit_test(test_child_is_signalled_or_forgotten),
        cmocka_unit_test(test_copy_thinks_by_itself),
        cmocka_unit_test(test_copy_that_hangs_is_killed),
        cmocka_unit_test(test_free_with_a_running_child),
        cmocka_unit_test(test_another_thread_wakes_the_loop),
        cmocka_unit_test(test_a_freed_async_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
