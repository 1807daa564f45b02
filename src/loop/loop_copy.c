/* loop_copy.c - a copy of this process that thinks something through and says what it found
 *
 * WHY    what would take too long here, or would spoil what it looks at, is done beside: memory is shared until somebody writes to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/memory.h"
#include "loop/loop.h"

enum { COPY_OUT = 3, COPY_NICE = 10 };

struct loop_copy {
    struct loop_poll *poll;
    int fd;
    pid_t pid;
    size_t max_bytes;
    struct buf output;
    loop_child_fn fn;
    void *arg;
};

static void copy_free(struct loop_copy *c)
{
    loop_poll_free(c->poll);
    (void)close(c->fd);
    buf_free(&c->output);
    free(c);
}

/* Its end of the pipe is closed, so it is over, or is about to be. */
static int copy_status(const struct loop_copy *c)
{
    int status = 0;
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            return 255;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void copy_reads(void *arg, int events)
{
    struct loop_copy *c = arg;
    char chunk[65536];
    (void)events;
    ssize_t n = read(c->fd, chunk, sizeof chunk);
    if (n > 0) {
        size_t room = c->max_bytes - c->output.n;
        buf_add(&c->output, chunk, (size_t)n < room ? (size_t)n : room);
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int exit_code = copy_status(c);
    (void)buf_reserve(&c->output, 1); /* never NULL for the callback */
    loop_poll_set(c->poll, 0);
    c->fn(c->arg, exit_code, c->output.data, c->output.n);
    copy_free(c);
}

/* WHY descriptors go: listening sockets would stay open where this process ends first, and clients would wait for a copy's answer. */
static _Noreturn void copy_works(int fd, pid_t parent, int64_t cpu_s, loop_copy_fn work, void *arg)
{
    const struct rlimit cpu = {(rlim_t)cpu_s, (rlim_t)cpu_s};
    struct buf out;
    buf_init(&out);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(fd, COPY_OUT) < 0 || close_range(COPY_OUT + 1, ~0U, 0) != 0 ||
        setrlimit(RLIMIT_CPU, &cpu) != 0)
        _exit(1);
    (void)signal(SIGTERM, SIG_DFL); /* they would be told to a loop that turns no more */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setpriority(PRIO_PROCESS, 0, COPY_NICE); /* as it is otherwise, too */
    work(arg, &out);
    for (size_t at = 0; at < out.n;) {
        ssize_t n = write(COPY_OUT, out.data + at, out.n - at);
        if (n <= 0)
            _exit(1);
        at += (size_t)n;
    }
    _exit(0);
}

int loop_copy_run(struct loop *l, loop_copy_fn work, int64_t cpu_s, size_t max_bytes, loop_child_fn fn, void *arg,
                  struct loop_copy **ret_copy, struct err *e)
{
    int ends[2];
    if (loop_is_virtual(l))
        return err_set(e, E_INVALID, "child processes do not exist in virtual time");
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(e, errno, "make a pipe");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        copy_works(ends[1], parent, cpu_s, work, arg);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return err_errno(e, errno, "copy this process");
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); /* a read follows an event only */
    struct loop_copy *c = mem_zero(1, sizeof *c);
    *c = (struct loop_copy){.fd = ends[0], .pid = pid, .max_bytes = max_bytes, .fn = fn, .arg = arg};
    buf_init(&c->output);
    c->poll = loop_poll_new(l, c->fd, copy_reads, c);
    loop_poll_set(c->poll, LOOP_READ);
    *ret_copy = c;
    return 0;
}

void loop_copy_forget(struct loop_copy *c)
{
    if (!c)
        return;
    (void)kill(c->pid, SIGKILL); /* may be over already */
    (void)copy_status(c);
    copy_free(c);
}
