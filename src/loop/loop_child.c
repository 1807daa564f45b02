/* loop_child.c - child processes: run, collect standard output, tell the exit status
 *
 * OWNER  a child belongs to the loop from loop_child_run until its callback has run and both libuv handles are closed.
 */
#include <signal.h>
#include <stdlib.h>
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
    int open_n;         /* libuv handles not yet closed */
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
    uv_close((uv_handle_t *)&c->pipe, child_closed);
}

static void child_done(struct loop_child *c)
{
    if (!c->exited || !c->ended)
        return;
    loop_child_fn fn = c->fn;
    (void)buf_reserve(&c->output, 1); /* never NULL for the callback */
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

int loop_child_run(struct loop *l, char *const argv[], char *const env[], size_t max_bytes, int64_t timeout_ms,
                   loop_child_fn fn, void *arg, struct err *e)
{
    if (loop_is_virtual(l))
        return err_set(e, E_INVALID, "child processes do not exist in virtual time");
    struct loop_child *c = mem_zero(1, sizeof *c);
    c->l = l;
    c->max_bytes = max_bytes;
    c->fn = fn;
    c->arg = arg;
    buf_init(&c->output);
    (void)uv_pipe_init(&l->uv->uv, &c->pipe, 0);
    c->pipe.data = c->process.data = c;
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->pipe},
        {.flags = UV_INHERIT_FD, .data.fd = 2}};
    uv_process_options_t options = {.exit_cb = child_exits,
                                    .file = argv[0],
                                    .args = (char **)argv,
                                    .env = (char **)env,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    c->open_n = 2;
    c->next = l->uv->children;
    l->uv->children = c;
    int r = uv_spawn(&l->uv->uv, &c->process, &options);
    c->process.data = c;
    if (r < 0) {
        child_close(c);
        return err_set(e, r == UV_ENOENT ? E_NOTFOUND : E_IO, "run %s: %s", argv[0], uv_strerror(r));
    }
    (void)uv_read_start((uv_stream_t *)&c->pipe, chunk_give, child_reads);
    if (timeout_ms > 0) {
        c->timeout = loop_timer_new(l, child_times_out, c);
        loop_timer_start(c->timeout, timeout_ms, 0);
    }
    return 0;
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
