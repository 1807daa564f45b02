/* loop.c - the turn: what is the same in real and in virtual time */
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/memory.h"
#include "loop/loop_body.h"

enum {
    TURN_END_ROUNDS_MAX = 4096
}; /* calls in one turn's end; the rest waits for the next turn, so I/O is never starved */

struct loop_timer {
    struct loop *l;
    loop_fn fn;
    void *arg;
    int64_t due_ms, repeat_ms;
    uint64_t id;
    size_t heap_at;
    size_t batch_at; /* index + 1 in l->due, 0 = not in this turn's batch */
};

static bool timer_before(const void *a, const void *b)
{
    const struct loop_timer *x = a, *y = b;
    return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->id < y->id;
}

void loop_init(struct loop *l, const struct loop_body *body)
{
    l->body = body;
    heap_init(&l->timers, offsetof(struct loop_timer, heap_at), timer_before);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    l->body->free(l);
    heap_fini(&l->timers);
    free(l->due);
    free(l->deferred.items);
    free(l->running.items);
    free(l->turn_end.items);
    free(l);
}

bool loop_is_virtual(const struct loop *l)
{
    return l->uv == NULL;
}

int64_t loop_now_ms(const struct loop *l)
{
    return l->now_ms;
}

int64_t loop_wall_ms(const struct loop *l)
{
    return l->wall_us / 1000;
}

int64_t loop_wall_us(const struct loop *l)
{
    return l->wall_us;
}

int64_t loop_clock_us(const struct loop *l)
{
    return loop_is_virtual(l) ? l->now_ms * 1000 : clock_monotonic_us();
}

void loop_stop(struct loop *l)
{
    l->stopped = true;
}

static void calls_add(struct loop_calls *c, loop_fn fn, void *arg)
{
    MEM_RESERVE(c->items, c->cap, c->n + 1);
    c->items[c->n++] = (struct loop_call){fn, arg};
}

void loop_defer(struct loop *l, loop_fn fn, void *arg)
{
    calls_add(&l->deferred, fn, arg);
}

void loop_at_turn_end(struct loop *l, loop_fn fn, void *arg)
{
    for (size_t i = l->turn_end_at; i < l->turn_end.n; i++)
        if (l->turn_end.items[i].fn == fn && l->turn_end.items[i].arg == arg)
            return;
    calls_add(&l->turn_end, fn, arg);
}

static void forgotten(void *arg)
{
    (void)arg;
}

static void calls_forget(struct loop_calls *c, size_t from, loop_fn fn, const void *arg)
{
    for (size_t i = from; i < c->n; i++)
        if (c->items[i].fn == fn && c->items[i].arg == arg)
            c->items[i].fn = forgotten;
}

void loop_forget(struct loop *l, loop_fn fn, void *arg)
{
    calls_forget(&l->deferred, 0, fn, arg);
    calls_forget(&l->running, 0, fn, arg);
    calls_forget(&l->turn_end, l->turn_end_at, fn, arg);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn fn, void *arg)
{
    struct loop_timer *t = mem_zero(1, sizeof *t);
    t->l = l;
    t->fn = fn;
    t->arg = arg;
    t->id = ++l->timer_last_id;
    return t;
}

void loop_timer_start(struct loop_timer *t, int64_t delay_ms, int64_t repeat_ms)
{
    int64_t due_ms = t->l->now_ms + (delay_ms > 0 ? delay_ms : 0);
    if (t->heap_at && t->due_ms == due_ms && t->repeat_ms == repeat_ms) /* as it stands, which queues that fill up ask for often */
        return;
    loop_timer_stop(t);
    t->due_ms = due_ms;
    t->repeat_ms = repeat_ms;
    heap_add(&t->l->timers, t);
}

void loop_timer_stop(struct loop_timer *t)
{
    heap_remove(&t->l->timers, t);
    if (t->batch_at)
        t->l->due[t->batch_at - 1] = NULL;
    t->batch_at = 0;
    t->repeat_ms = 0;
}

bool loop_timer_running(const struct loop_timer *t)
{
    return t->heap_at || t->batch_at;
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    loop_timer_stop(t);
    free(t);
}

/* WHY  The batch is taken before the first callback: a timer that a callback starts with delay 0 belongs to the next
 * turn. */
static void turn_timers(struct loop *l)
{
    struct loop_timer *t;
    l->due_n = 0;
    while ((t = heap_first(&l->timers)) && t->due_ms <= l->now_ms) {
        (void)heap_pop(&l->timers);
        MEM_RESERVE(l->due, l->due_cap, l->due_n + 1);
        l->due[l->due_n++] = t;
        t->batch_at = l->due_n;
    }
    for (size_t i = 0; i < l->due_n; i++) {
        t = l->due[i];
        if (!t)
            continue;
        t->batch_at = 0;
        if (t->repeat_ms > 0) {
            t->due_ms += t->repeat_ms;
            if (t->due_ms <= l->now_ms) /* late by more than a period: no burst of missed ticks */
                t->due_ms = l->now_ms + t->repeat_ms;
            heap_add(&l->timers, t);
        }
        t->fn(t->arg); /* may free t */
    }
    l->due_n = 0;
}

static void turn_deferred(struct loop *l)
{
    struct loop_calls batch = l->deferred;
    l->deferred = l->running; /* empty, its memory is used again */
    l->running = batch;
    for (size_t i = 0; i < batch.n; i++)
        batch.items[i].fn(batch.items[i].arg);
    l->running.n = 0;
}

static void turn_end(struct loop *l)
{
    size_t done_n = 0;
    while (done_n < l->turn_end.n && done_n < TURN_END_ROUNDS_MAX) {
        struct loop_call call = l->turn_end.items[done_n++];
        l->turn_end_at = done_n;
        call.fn(call.arg);
    }
    l->turn_end.n -= done_n;
    if (l->turn_end.n)
        memmove(l->turn_end.items, l->turn_end.items + done_n, l->turn_end.n * sizeof *l->turn_end.items);
    l->turn_end_at = 0;
}

/* Milliseconds until something of ours is due; -1 = nothing is. */
static int64_t turn_wait_ms(const struct loop *l)
{
    if (l->deferred.n || l->turn_end.n)
        return 0;
    const struct loop_timer *t = heap_first(&l->timers);
    if (!t)
        return -1;
    return t->due_ms > l->now_ms ? t->due_ms - l->now_ms : 0;
}

static void turn_run(struct loop *l, int64_t wait_ms)
{
    l->body->wait(l, wait_ms);
    turn_timers(l);
    turn_deferred(l);
    turn_end(l);
}

int loop_run(struct loop *l, struct err *e)
{
    (void)e; /* no body can fail today; the parameter is part of the contract */
    while (!l->stopped) {
        int64_t wait_ms = turn_wait_ms(l);
        if (wait_ms < 0 && loop_is_virtual(l))
            break;
        turn_run(l, wait_ms);
    }
    l->stopped = false;
    return 0;
}

static void run_for_virtual(struct loop *l, int64_t until_ms)
{
    while (!l->stopped) {
        int64_t wait_ms = turn_wait_ms(l);
        if (wait_ms < 0 || l->now_ms + wait_ms > until_ms)
            break;
        turn_run(l, wait_ms);
    }
    if (!l->stopped)
        l->body->wait(l, until_ms - l->now_ms);
}

static void run_for_real(struct loop *l, int64_t span_ms)
{
    l->body->wait(l, 0); /* WHY  the cached time may be old: the caller did something else since the last run */
    int64_t until_ms = l->now_ms + span_ms;
    do {
        int64_t left_ms = until_ms > l->now_ms ? until_ms - l->now_ms : 0;
        int64_t wait_ms = turn_wait_ms(l);
        turn_run(l, wait_ms < 0 || wait_ms > left_ms ? left_ms : wait_ms);
    } while (!l->stopped && l->now_ms < until_ms);
}

int loop_run_for(struct loop *l, int64_t span_ms, struct err *e)
{
    (void)e;
    if (loop_is_virtual(l))
        run_for_virtual(l, l->now_ms + span_ms);
    else
        run_for_real(l, span_ms);
    l->stopped = false;
    return 0;
}
