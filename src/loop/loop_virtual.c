/* loop_virtual.c - the body for simulation: waiting takes no time, the clock jumps */
#include <stdlib.h>
#include "base/memory.h"
#include "loop/loop_body.h"

static void virtual_wait(struct loop *l, int64_t wait_ms)
{
    if (wait_ms > 0)
        l->now_ms += wait_ms;
    l->wall_us = (l->start_wall_ms + l->now_ms) * 1000;
}

static void virtual_free(struct loop *l)
{
    (void)l; /* the body has nothing of its own */
}

static const struct loop_body virtual_body = {virtual_wait, virtual_free};

struct loop *loop_new_virtual(int64_t start_wall_ms)
{
    struct loop *l = mem_zero(1, sizeof *l);
    loop_init(l, &virtual_body);
    l->start_wall_ms = start_wall_ms;
    l->wall_us = start_wall_ms * 1000;
    return l;
}
