/* lanes.h - which call may be sent next: calls wait in lanes, and each lane has room of its own
 *
 *   read     gets                                              beside all others
 *   lease    who leads                                         never behind anything
 *   bind     pods to nodes, and deletions that free nodes
 *   status   what people and controllers read; all other writes
 *   event    what may be missed
 *
 * ORDER  From bind down a lane has its whole room only while no lane above it has a call that waits; else it has its least room, which is
 *        never nothing: the last one goes on too. Within a lane first come, first sent.
 * WHY    Twenty thousand binds at 100 ms are minutes of writes; a lease lasts 15 s.
 * LIMIT  base/limits.h, LIMIT_CALLS_* and LIMIT_WAITING_*.
 */
#ifndef KUBE_LANES_H
#define KUBE_LANES_H
#include <stdbool.h>
#include <stdint.h>

enum kube_lane { KUBE_LANE_READ, KUBE_LANE_LEASE, KUBE_LANE_BIND, KUBE_LANE_STATUS, KUBE_LANE_EVENT, KUBE_LANES_N };

struct lane_item { /* first member of what waits */
    struct lane_item *next;
    enum kube_lane lane;
};
struct lane {
    struct lane_item *first, *last;
    uint32_t waiting_n, sent_n;
};
struct lanes {
    struct lane lane[KUBE_LANES_N];
    uint32_t times; /* as much room for binds and statuses; 0 is once */
};

/* False: the lane is full. */
bool lanes_add(struct lanes *l, struct lane_item *item);
/* Takes out the next that may be sent, and counts it as sent; NULL: none. */
struct lane_item *lanes_next(struct lanes *l);
/* Takes out one that waits in this lane, without sending it; NULL: none. */
struct lane_item *lanes_take(struct lanes *l, enum kube_lane lane);
void lanes_ended(struct lanes *l, enum kube_lane lane); /* one that was sent is over */
uint32_t lanes_room(void); /* all lanes' whole room */

#endif
