/* decide.h - one cycle: quota, gang, nodes and devices decided together on one state
 *
 * For each next gang by queue policy: quota (which flavors could hold it) -> place (all members, nodes and devices, on the undo log) ->
 * commit (one plan entry per effect), or take everything back, ask whether others may go for it (preempt/preempt.h), and explain.
 *
 * Pure: no clock, no memory but the arena and the state's own, no floating point in decisions, no order by address or hash slot.
 * The same changes in the same order with the same now_ms give the same plan to the byte.
 */
#ifndef CORE_DECIDE_H
#define CORE_DECIDE_H
#include "core/policy.h"
#include "core/state/state.h"

struct decide_config {
    uint32_t gangs_max;   /* most gangs tried in one call (bounded turn); 0 = 1024 */
    uint32_t pods_max;    /* stop after this many placed pods; 0 = 20000 */
    bool no_remedies;     /* what would help is not looked for: for those who do not read it */
    bool no_counts;       /* the same: of who finds no place it is not counted what each node lacks */
    bool all_wake;        /* nobody stands in the order of shares (queue/standing.h): for those who compare what is decided without it */
    struct fair_policy fair; /* off: who borrows at a lower level comes first, and policies alone say who is preempted */
    struct lost_policy lost;
    bool node_wishes;     /* as in struct policy */
    bool hold;            /* nobody is let in, and nobody goes for anybody: what holds something already is settled */
    enum placement placement; /* default: fewest free GPUs first, whole-GPU fragments last */
    uint64_t placement_seed;  /* of PLACEMENT_RANDOM */
    bool keeps_whole;         /* PLACEMENT_CAPSTAN: idle nodes are kept for pods that ask for all of one (score/reserve.h), though others
                               * wait, and nobody tells them why */
};
void decide(struct state *s, const struct decide_config *config, int64_t now_ms, struct arena *a, struct plan *ret_plan);

/* True when a cycle would have something to try: pending gangs that were woken since (none, where the last one held). */
bool decide_tries(const struct state *s);
bool decide_has_work(const struct state *s); /* something to try, or to say why others wait, which the last one has put off */

#endif
