/* loop_uv.h - inside the loop room: the libuv state of the real body */
#ifndef LOOP_LOOP_UV_H
#define LOOP_LOOP_UV_H
#include <uv.h>
#include "loop/loop_body.h"

struct loop_child;
struct loop_uv {
    uv_loop_t uv;
    uv_timer_t
        alarm; /* ends a wait when our next timer is due; always active, so a wait never returns for lack of work */
    struct loop_child *children; /* running; loop_free kills them */
};
void loop_children_free(struct loop *l);

#endif
