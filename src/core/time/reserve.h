/* reserve.h - where a gang could start now, and when it could start at the earliest: places and quota, together and for all of its time
 *
 * SHAPE  whatever is asked for is asked for [start, start + lasts_ms) on every node at once, so nobody who starts now takes anything from a
 *        promise that begins before he is expected to have ended.
 *        Now: each pod on a node that is best by `choice`. At the earliest: at now or at the end of a hold; of the nodes that are free by
 *        then those that become free last. WHY  the others are of use to somebody until then.
 * LIMIT  pods go the largest first, each to the best node then. That finds a way wherever there is one for pods of one size, and for pods
 *        that fill a node each and one that is smaller; for others a way may be missed, and a start found later than it could be.
 * ORDER  (choice, then the node's place).
 */
#ifndef CORE_TIME_RESERVE_H
#define CORE_TIME_RESERVE_H
#include "core/time/profile.h"

#define RESERVE_NO_QUOTA UINT32_MAX
#define RESERVE_NEVER INT64_MAX
struct reserve_ask {
    const int64_t *pods; /* amounts, the largest first, none 0 */
    uint32_t pods_n;
    uint32_t quota;   /* the row that it is charged to, with all pods together; RESERVE_NO_QUOTA */
    int64_t lasts_ms; /* expected; 0 is taken for the least there is */
    bool anywhere;    /* also on nodes that are kept for shorter ones (longest_ms) */
};
enum reserve_choice {
    RESERVE_FULLEST, /* least free */
    /* First where something runs for at least as long, then where something runs, then idle nodes. Of these where the last end is
     * nearest to its own, in powers of two of its length; then the least free. WHY  a node becomes free as a whole only when the
     * last on it ends: who ends together stands together */
    RESERVE_BY_END,
};
/* Nodes for all pods, in their order. False: not now. */
bool reserve_now(struct profile *p, const struct reserve_ask *ask, int64_t now_ms, enum reserve_choice choice, uint32_t *ret_nodes);
/* The first time from now_ms on, and nodes for it. RESERVE_NEVER: not even when nothing runs. */
int64_t reserve_when(struct profile *p, const struct reserve_ask *ask, int64_t now_ms, uint32_t *ret_nodes);
/* Holds of all that it asks for. */
void reserve_hold(struct profile *p, const struct reserve_ask *ask, uint32_t owner, const uint32_t *nodes, int64_t from_ms);
void reserve_drop(struct profile *p, const struct reserve_ask *ask, uint32_t owner, const uint32_t *nodes);

#endif
