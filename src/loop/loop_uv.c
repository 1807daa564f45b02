/* loop_uv.c - the body for real time: libuv waits, polls descriptors and catches signals */
#include <assert.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "loop/loop_uv.h"

enum { WAIT_MAX_MS = 3600 * 1000 };

struct loop_poll {
    uv_poll_t uv;
    loop_poll_fn fn;
    void *arg;
    int events;
    bool broken; /* libuv does not take the descriptor: events are never seen */
};

struct loop_signal {
    uv_signal_t uv;
    loop_fn fn;
    void *arg;
};

struct loop_async {
    uv_async_t uv;
    loop_fn fn;
    void *arg;
};

static void clock_read(struct loop *l)
{
    l->now_ms = clock_monotonic_us() / 1000;
    l->wall_us = clock_wall_us();
}

static void alarm_rings(uv_timer_t *t)
{
    uv_stop(t->loop); /* RACE  due before uv_run polls: without this the poll would wait for the alarm's next time, an hour */
}

static void real_wait(struct loop *l, int64_t wait_ms)
{
    if (wait_ms != 0) {
        uv_update_time(&l->uv->uv);
        uint64_t ms = wait_ms < 0 || wait_ms > WAIT_MAX_MS ? WAIT_MAX_MS : (uint64_t)wait_ms;
        (void)uv_timer_start(&l->uv->alarm, alarm_rings, ms, WAIT_MAX_MS);
    }
    clock_read(l); /* callbacks of this wait see a time that is at most this turn's old */
    (void)uv_run(&l->uv->uv, wait_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    clock_read(l);
}

static void real_free(struct loop *l)
{
    loop_children_free(l);
    uv_close((uv_handle_t *)&l->uv->alarm, NULL);
    (void)uv_run(&l->uv->uv, UV_RUN_NOWAIT);
    int r = uv_loop_close(&l->uv->uv);
    assert(r == 0 && "a poll or signal handle outlives its loop");
    (void)r;
    free(l->uv);
}

static const struct loop_body real_body = {real_wait, real_free};

struct loop *loop_new(void)
{
    struct loop *l = mem_zero(1, sizeof *l);
    loop_init(l, &real_body);
    l->uv = mem_zero(1, sizeof *l->uv);
    if (uv_loop_init(&l->uv->uv) < 0 || uv_timer_init(&l->uv->uv, &l->uv->alarm) < 0) {
        log_error("event loop cannot start: no epoll or event descriptor left (ulimit -n)");
        exit(70);
    }
    (void)uv_timer_start(&l->uv->alarm, alarm_rings, WAIT_MAX_MS, WAIT_MAX_MS);
    clock_read(l);
    return l;
}

static void handle_closed(uv_handle_t *h)
{
    free(h->data);
}

static void poll_ready(uv_poll_t *uv, int status, int uv_events)
{
    struct loop_poll *p = uv->data;
    int events = status < 0 ? p->events : 0; /* an error shows itself to whoever reads or writes */
    if (uv_events & UV_READABLE)
        events |= LOOP_READ;
    if (uv_events & UV_WRITABLE)
        events |= LOOP_WRITE;
    p->fn(p->arg, events);
}

struct loop_poll *loop_poll_new(struct loop *l, int fd, loop_poll_fn fn, void *arg)
{
    assert(!loop_is_virtual(l));
    struct loop_poll *p = mem_zero(1, sizeof *p);
    p->fn = fn;
    p->arg = arg;
    p->broken = uv_poll_init(&l->uv->uv, &p->uv, fd) < 0;
    p->uv.data = p;
    return p;
}

void loop_poll_set(struct loop_poll *p, int events)
{
    if (p->broken || p->events == events)
        return;
    p->events = events;
    if (events)
        (void)uv_poll_start(&p->uv, (events & LOOP_READ ? UV_READABLE : 0) | (events & LOOP_WRITE ? UV_WRITABLE : 0),
                            poll_ready);
    else
        (void)uv_poll_stop(&p->uv);
}

void loop_poll_free(struct loop_poll *p)
{
    if (!p)
        return;
    if (p->broken)
        free(p);
    else
        uv_close((uv_handle_t *)&p->uv, handle_closed);
}

static void signal_came(uv_signal_t *uv, int number)
{
    (void)number;
    struct loop_signal *s = uv->data;
    s->fn(s->arg);
}

struct loop_signal *loop_signal_new(struct loop *l, int signal_number, loop_fn fn, void *arg)
{
    assert(!loop_is_virtual(l));
    struct loop_signal *s = mem_zero(1, sizeof *s);
    s->fn = fn;
    s->arg = arg;
    (void)uv_signal_init(&l->uv->uv, &s->uv);
    s->uv.data = s;
    (void)uv_signal_start(&s->uv, signal_came, signal_number);
    return s;
}

void loop_signal_free(struct loop_signal *s)
{
    if (s)
        uv_close((uv_handle_t *)&s->uv, handle_closed);
}

static void async_woken(uv_async_t *uv)
{
    struct loop_async *a = uv->data;
    a->fn(a->arg);
}

struct loop_async *loop_async_new(struct loop *l, loop_fn fn, void *arg)
{
    assert(!loop_is_virtual(l));
    struct loop_async *a = mem_zero(1, sizeof *a);
    a->fn = fn;
    a->arg = arg;
    if (uv_async_init(&l->uv->uv, &a->uv, async_woken) < 0) {
        log_error("threads cannot wake the event loop: no event descriptor left (ulimit -n)");
        exit(70);
    }
    a->uv.data = a;
    return a;
}

void loop_async_send(struct loop_async *a)
{
    (void)uv_async_send(&a->uv); /* fails only for a handle of another kind */
}

void loop_async_free(struct loop_async *a)
{
    if (a)
        uv_close((uv_handle_t *)&a->uv, handle_closed);
}
