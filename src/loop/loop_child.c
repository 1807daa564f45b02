/* loop_child.c - child processes: run, collect standard output, tell the exit status
 *
 * OWNER  a child belongs to the loop from loop_child_spawn until its callback has run and both libuv handles are closed.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/memory.h"
#include "loop/loop_uv.h"

struct loop_child {
    uv_process_t process;
    uv_pipe_t pipe;
    struct loop *l;
    struct loop_child *next;
    struct loop_timer *timeout;
    struct buf output;
    size_t max_bytes;
    loop_child_fn fn;
    void *arg;
    int exit_code;
    bool exited, ended; /* process gone; pipe at its end */
    int open_n;         /* libuv handles not yet closed: the process, and the pipe if output is kept */
    char chunk[4096];
};

static void child_closed(uv_handle_t *h)
{
    struct loop_child *c = h->data;
    if (--c->open_n)
        return;
    buf_free(&c->output);
    free(c);
}

static void child_unlink(struct loop_child *c)
{
    for (struct loop_child **at = &c->l->uv->children; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            return;
        }
    }
}

static void child_close(struct loop_child *c)
{
    child_unlink(c);
    loop_timer_free(c->timeout);
    c->timeout = NULL;
    uv_close((uv_handle_t *)&c->process, child_closed);
    if (c->open_n == 2)
        uv_close((uv_handle_t *)&c->pipe, child_closed);
}

static void child_done(struct loop_child *c)
{
    if (!c->exited || !c->ended)
        return;
    loop_child_fn fn = c->fn;
    (void)buf_reserve(&c->output, 1); /* never NULL for the callback */
    if (fn)
        fn(c->arg, c->exit_code, c->output.data, c->output.n);
    child_close(c);
}

static void child_exits(uv_process_t *p, int64_t status, int term_signal)
{
    struct loop_child *c = p->data;
    c->exit_code = term_signal ? 128 + term_signal : (int)status;
    c->exited = true;
    child_done(c);
}

static void child_times_out(void *arg)
{
    struct loop_child *c = arg;
    (void)uv_process_kill(&c->process, SIGKILL); /* may be gone already */
    if (!c->ended) {                             /* a grandchild may hold the pipe open */
        c->ended = true;
        (void)uv_read_stop((uv_stream_t *)&c->pipe);
        child_done(c);
    }
}

static void chunk_give(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct loop_child *c = h->data;
    *ret = uv_buf_init(c->chunk, sizeof c->chunk);
}

static void child_reads(uv_stream_t *s, ssize_t n, const uv_buf_t *chunk)
{
    struct loop_child *c = s->data;
    if (n > 0) {
        size_t room = c->max_bytes - c->output.n;
        buf_add(&c->output, chunk->base, (size_t)n < room ? (size_t)n : room);
        return;
    }
    if (n == 0)
        return;
    c->ended = true;
    (void)uv_read_stop(s);
    child_done(c);
}

/* A file without a name that holds the input: nothing has to be written while the child runs. */
static int input_open(struct bytes input)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && at < input.n;) {
        ssize_t n = write(fd, input.data + at, input.n - at);
        if (n <= 0) {
            fd_close_p(&fd);
            return -1;
        }
        at += (size_t)n;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET); /* a file that was just written can be read from its start */
    return fd;
}

static int child_start(struct loop_child *c, const struct loop_child_options *o, int input_fd)
{
    uv_stdio_container_t stdio[3] = {
        {.flags = input_fd >= 0 ? UV_INHERIT_FD : UV_IGNORE, .data.fd = input_fd},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = 2}};
    c->process.data = c->pipe.data = c;
    c->open_n = 1;
    if (o->max_bytes) {
        (void)uv_pipe_init(&c->l->uv->uv, &c->pipe, 0);
        c->open_n = 2;
        stdio[1] = (uv_stdio_container_t){.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->pipe};
    } else {
        c->ended = true;
    }
    uv_process_options_t options = {.exit_cb = child_exits,
                                    .file = o->argv[0],
                                    .args = (char **)o->argv,
                                    .env = (char **)o->env,
                                    .flags = o->new_session ? UV_PROCESS_DETACHED : 0,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    int r = uv_spawn(&c->l->uv->uv, &c->process, &options);
    c->process.data = c;
    return r;
}

int loop_child_spawn(struct loop *l, const struct loop_child_options *o, loop_child_fn fn, void *arg, struct loop_child **ret_child,
                     struct err *e)
{
    if (loop_is_virtual(l))
        return err_set(e, E_INVALID, "child processes do not exist in virtual time");
    _cleanup_close_ int input_fd = o->input.n ? input_open(o->input) : -1;
    if (o->input.n && input_fd < 0)
        return err_errno(e, errno, "keep the input of %s", o->argv[0]);
    struct loop_child *c = mem_zero(1, sizeof *c);
    c->l = l;
    c->max_bytes = o->max_bytes;
    c->fn = fn;
    c->arg = arg;
    buf_init(&c->output);
    c->next = l->uv->children;
    l->uv->children = c;
    int r = child_start(c, o, input_fd);
    if (r < 0) {
        child_close(c);
        return err_set(e, r == UV_ENOENT ? E_NOTFOUND : E_IO, "run %s: %s", o->argv[0], uv_strerror(r));
    }
    if (o->max_bytes)
        (void)uv_read_start((uv_stream_t *)&c->pipe, chunk_give, child_reads);
    if (o->timeout_ms > 0) {
        c->timeout = loop_timer_new(l, child_times_out, c);
        loop_timer_start(c->timeout, o->timeout_ms, 0);
    }
    *ret_child = c;
    return 0;
}

int loop_child_run(struct loop *l, char *const argv[], char *const env[], size_t max_bytes, int64_t timeout_ms,
                   loop_child_fn fn, void *arg, struct err *e)
{
    struct loop_child *c;
    const struct loop_child_options o = {.argv = argv, .env = env, .max_bytes = max_bytes, .timeout_ms = timeout_ms};
    return loop_child_spawn(l, &o, fn, arg, &c, e);
}

int loop_child_pid(const struct loop_child *c)
{
    return c->process.pid;
}

void loop_child_signal(struct loop_child *c, int signal_number)
{
    (void)uv_process_kill(&c->process, signal_number); /* may be gone already */
}

void loop_child_forget(struct loop_child *c)
{
    if (!c)
        return;
    c->fn = NULL;
    if (!c->exited)
        (void)uv_process_kill(&c->process, SIGKILL); /* may be gone already */
    if (!c->ended) {
        c->ended = true;
        (void)uv_read_stop((uv_stream_t *)&c->pipe);
    }
    child_done(c);
}

void loop_children_free(struct loop *l)
{
    while (l->uv->children) {
        struct loop_child *c = l->uv->children;
        if (!c->exited)
            (void)uv_process_kill(&c->process, SIGKILL); /* may be gone already */
        child_close(c);
    }
}
