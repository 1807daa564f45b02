/* loop_body.h - inside the loop room: what both bodies share
 *
 * A turn is the same for both: wait (body), due timers, deferred calls, turn end. A body only knows how to wait.
 * ORDER  timers: (due_ms, id); id is given at creation.
 */
#ifndef LOOP_LOOP_BODY_H
#define LOOP_LOOP_BODY_H
#include "base/collections/heap.h"
#include "loop/loop.h"

struct loop_call {
    loop_fn fn;
    void *arg;
};

struct loop_calls {
    struct loop_call *items;
    size_t n, cap;
};

struct loop_body {
    /* Wait for events at most wait_ms (-1: for ever), call their callbacks, set now_ms and wall_us. */
    void (*wait)(struct loop *l, int64_t wait_ms);
    void (*free)(struct loop *l);
};

struct loop {
    const struct loop_body *body;
    int64_t now_ms, wall_us;
    struct heap timers;
    uint64_t timer_last_id;
    struct loop_timer **due; /* timers of this turn's batch; NULL = stopped meanwhile */
    size_t due_n, due_cap;
    struct loop_calls deferred, running; /* two queues that change places each turn */
    struct loop_calls turn_end;
    size_t turn_end_at; /* the call of turn_end that runs now; older ones are done */
    bool stopped;
    int64_t start_wall_ms; /* virtual body */
    struct loop_uv *uv;    /* real body; NULL = virtual */
};

void loop_init(struct loop *l, const struct loop_body *body);

#endif
