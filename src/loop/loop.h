/* loop.h - one event loop, two bodies: real time on libuv, and virtual time for simulation
 *
 * Everything in Capstan runs in one thread on one loop, but calls of others' code that may take long: the driver's (agent/driver), SQLite's
 * commits (apiserver/store/store_writer.h). Callbacks only enqueue; work is done in the loop's own turn, in
 * bounded batches (loop_defer). In a virtual loop time jumps to the next timer when nothing else is to do, so a day
 * takes as long as its work.
 *
 * ORDER  timers fire by (due time, creation order); deferred calls in the order of deferring; the same in both bodies.
 * OWNER  handles belong to the loop's user: free them before the loop.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/err.h"

struct loop;
struct loop_timer;
struct loop_poll;
typedef void (*loop_fn)(void *arg);

struct loop *loop_new(void);                          /* real time */
struct loop *loop_new_virtual(int64_t start_wall_ms); /* virtual time; polls and signals are not available */
void loop_free(struct loop *l);                       /* NULL-safe */
bool loop_is_virtual(const struct loop *l);

/* Run until loop_stop, or (virtual) until nothing is left to do. Returns 0 or -E_IO. */
int loop_run(struct loop *l, struct err *e);
/* Run what is due for at most span_ms of the loop's own time, then return (tests, simulation steps). */
int loop_run_for(struct loop *l, int64_t span_ms, struct err *e);
void loop_stop(struct loop *l);

int64_t loop_now_ms(const struct loop *l);  /* monotonic, cached for the turn */
int64_t loop_wall_ms(const struct loop *l); /* since 1970, cached for the turn */
int64_t loop_wall_us(const struct loop *l);
int64_t loop_clock_us(const struct loop *l); /* monotonic, read now: for how long something took. Virtual: stands still in a turn */

/* Call fn(arg) in the next turn (after I/O and due timers of this one). */
void loop_defer(struct loop *l, loop_fn fn, void *arg);
/* Call fn(arg) at the end of this turn, after every callback and deferred call that is ready: group commit, flush.
 * Asked once per turn. */
void loop_at_turn_end(struct loop *l, loop_fn fn, void *arg);
/* Drop what loop_defer and loop_at_turn_end still hold for (fn, arg): arg is going to be freed. */
void loop_forget(struct loop *l, loop_fn fn, void *arg);

/* One-shot or (repeat_ms > 0) periodic. The handle stays valid until freed, also after firing. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn fn, void *arg);
void loop_timer_start(struct loop_timer *t, int64_t delay_ms, int64_t repeat_ms); /* restarts when running */
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_running(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL-safe; allowed inside its own callback */

/* File descriptors (real body only). events: bits of LOOP_READ, LOOP_WRITE. */
enum { LOOP_READ = 1, LOOP_WRITE = 2 };
typedef void (*loop_poll_fn)(void *arg, int events);
struct loop_poll *loop_poll_new(struct loop *l, int fd, loop_poll_fn fn, void *arg);
void loop_poll_set(struct loop_poll *p, int events); /* 0 stops */
void loop_poll_free(struct loop_poll *p);            /* NULL-safe; call before closing fd */

/* Signals (real body only): fn(arg) in the loop's turn. */
struct loop_signal;
struct loop_signal *loop_signal_new(struct loop *l, int signal_number, loop_fn fn, void *arg);
void loop_signal_free(struct loop_signal *s);

/* Call fn(arg) in the loop's turn because another thread asks for it (real body only). Several sends before the turn are one call; after
 * the last send there is at least one call that sees all that was written before it. loop_async_send is the only function of this file that
 * other threads may call; nobody may send once loop_async_free has begun. */
struct loop_async;
struct loop_async *loop_async_new(struct loop *l, loop_fn fn, void *arg);
void loop_async_send(struct loop_async *a);
void loop_async_free(struct loop_async *a); /* NULL-safe; fn is not called again */

/* Child processes (real body only): argv[0] is searched in PATH, stdout collected up to max_bytes; fn gets exit status
 * and output. */
typedef void (*loop_child_fn)(void *arg, int exit_code, const char *output, size_t n);
int loop_child_run(struct loop *l, char *const argv[], char *const env[], size_t max_bytes, int64_t timeout_ms,
                   loop_child_fn fn, void *arg, struct err *e);

/* The same with more to say, for children that live long or read their standard input. */
struct loop_child;
struct loop_child_options {
    char *const *argv, *const *env; /* env NULL: ours */
    struct bytes input;             /* its whole standard input; copied */
    size_t max_bytes;               /* of output kept; 0: standard output is /dev/null, and grandchildren may outlive the child */
    int64_t timeout_ms;             /* 0: none */
    bool new_session;               /* signals of our terminal do not reach it */
};
/* fn is called exactly once, when the child has ended, unless it is forgotten before; the handle is no longer good then. */
int loop_child_spawn(struct loop *l, const struct loop_child_options *o, loop_child_fn fn, void *arg, struct loop_child **ret_child,
                     struct err *e);
int loop_child_pid(const struct loop_child *c);
void loop_child_signal(struct loop_child *c, int signal_number); /* gone meanwhile: no effect */
void loop_child_forget(struct loop_child *c);                    /* NULL-safe; kills it, and fn is not called */

/* A copy of this process (fork) calls work(arg, out) and ends; what it put into `out` comes here as with a child (real body only). The copy
 * has memory and nothing else: its descriptors are closed but for standard error, other threads are not there, so it may hold no lock, and
 * must not touch the loop. It is killed after cpu_s seconds of work, and when this process ends. fn is called exactly once, unless it is
 * forgotten before; the handle is no longer good then. */
struct loop_copy;
typedef void (*loop_copy_fn)(void *arg, struct buf *out);
int loop_copy_run(struct loop *l, loop_copy_fn work, int64_t cpu_s, size_t max_bytes, loop_child_fn fn, void *arg,
                  struct loop_copy **ret_copy, struct err *e);
void loop_copy_forget(struct loop_copy *c); /* NULL-safe; kills it, and fn is not called */

#endif
