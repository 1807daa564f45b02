/* lanes.c - a queue a lane; see lanes.h */
#include "kube/lanes.h"
#include <assert.h>
#include <stddef.h>
#include "base/limits.h"

static const struct {
    uint32_t least, whole, waiting_max;
} rooms[KUBE_LANES_N] = {
    [KUBE_LANE_READ] = {LIMIT_CALLS_READ, LIMIT_CALLS_READ, LIMIT_WAITING_CALLS},
    [KUBE_LANE_LEASE] = {LIMIT_CALLS_LEASE, LIMIT_CALLS_LEASE, LIMIT_WAITING_CALLS},
    [KUBE_LANE_BIND] = {LIMIT_CALLS_BIND, LIMIT_CALLS_BIND, LIMIT_WAITING_BINDS},
    [KUBE_LANE_STATUS] = {LIMIT_CALLS_STATUS_LEAST, LIMIT_CALLS_STATUS, LIMIT_WAITING_CALLS},
    [KUBE_LANE_EVENT] = {LIMIT_CALLS_EVENT_LEAST, LIMIT_CALLS_EVENT, LIMIT_WAITING_EVENTS},
};

uint32_t lanes_room(void)
{
    uint32_t n = 0;
    for (int i = 0; i < KUBE_LANES_N; i++)
        n += rooms[i].whole;
    return n;
}

bool lanes_add(struct lanes *l, struct lane_item *item)
{
    struct lane *lane = &l->lane[item->lane];
    if (lane->waiting_n >= rooms[item->lane].waiting_max)
        return false;
    item->next = NULL;
    *(lane->last ? &lane->last->next : &lane->first) = item;
    lane->last = item;
    lane->waiting_n++;
    return true;
}

struct lane_item *lanes_take(struct lanes *l, enum kube_lane at)
{
    struct lane *lane = &l->lane[at];
    struct lane_item *item = lane->first;
    if (!item)
        return NULL;
    lane->first = item->next;
    if (!lane->first)
        lane->last = NULL;
    lane->waiting_n--;
    return item;
}

static uint32_t room_of(const struct lanes *l, int lane, bool one_waits)
{
    uint32_t room = one_waits ? rooms[lane].least : rooms[lane].whole;
    return l->times && (lane == KUBE_LANE_BIND || lane == KUBE_LANE_STATUS) ? room * l->times : room;
}

struct lane_item *lanes_next(struct lanes *l)
{
    bool one_waits = false; /* in a lane above, from bind on */
    for (int i = 0; i < KUBE_LANES_N; i++) {
        struct lane *lane = &l->lane[i];
        if (lane->first && lane->sent_n < room_of(l, i, one_waits)) {
            lane->sent_n++;
            return lanes_take(l, (enum kube_lane)i);
        }
        one_waits = one_waits || (i >= KUBE_LANE_BIND && lane->first);
    }
    return NULL;
}

void lanes_ended(struct lanes *l, enum kube_lane lane)
{
    assert(l->lane[lane].sent_n > 0);
    l->lane[lane].sent_n--;
}
