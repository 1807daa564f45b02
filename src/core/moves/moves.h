/* moves.h - which jobs would have to stand elsewhere for a gang to start, and what that costs
 *
 *   o o o o . . . .   node a          x x x x x x x x   node a: the gang that asks for 8
 *   o o o o . . . .   node b   ──▶    o o o o o o o o   node b
 *
 * SHAPE  a move is of a whole Workload: it gives everything back and begins anew elsewhere, as one that was preempted, but its quota stays
 *        what it is, and each of its pods has a place then. Sets of them are tried on the undo log, those by which the least is lost
 *        first: all of them leave, the gang takes its places, and each finds its own beside it.
 * UNIT   lost work in thousandths of GPU-seconds: of each GPU the time since its job was let in, or since its last checkpoint.
 * LIMIT  the MOVERS_MOST of those who stand where the least would have to go; among them every set of up to MOVES_MOST, MOVES_TRIALS of
 *        those that could be enough by the sums. Within that no set is found by which less is lost. The gang takes the places that are
 *        best for it: that it could leave a better one to a mover is not looked at.
 * WHY    only Workloads: a lone pod does not come back, and who comes for it is somebody else. Not who stands in domains of a topology, or
 *        where other pods are or are not: where it may go is not known before all the others stand.
 * SOURCE docs/design/0023-reservations.md
 */
#ifndef CORE_MOVES_H
#define CORE_MOVES_H
#include "core/cycle.h"

#define MOVERS_MOST 12u
#define MOVES_MOST 8u
#define MOVES_TRIALS 48u
#define MOVE_REST_MS 600000 /* so long who has left for others is not moved again */

struct move {
    struct gang *gang;
    int64_t lost;
    uint32_t n;                /* pods */
    uint32_t *seats, *to;      /* of each: where it is, and the node where it would be; in the arena */
    enum move_leave leave;
};
struct moves {
    struct move all[MOVES_MOST]; /* ORDER as they find their places */
    uint32_t n;
    int64_t lost;
    int64_t gained;            /* what the gang asks for, in thousandths of GPUs */
};
/* Is there anybody to be moved for it? It asks for GPUs, and nodes were in its way. */
bool moves_may_help(const struct state *s, const struct gang *g);
/* The gang does not start. With these elsewhere it would; false: none were found. `allowed`: only such as their queues let go. Counts down
 * *trials, one for each that is tried; nothing stays on the undo log. */
bool moves_find(struct cycle *c, struct gang *g, bool allowed, uint32_t *trials, struct moves *ret_moves);
/* The cycle decides nothing any more: who could be moved is listed once for the rest of it. WHY  all gangs are weighed for that. */
void movers_know(struct cycle *c);
/* On the undo log: off its node; and onto those where it is to go, false: they do not hold it. */
void move_lift(struct state *s, const struct move *m);
bool move_put(struct state *s, const struct move *m);
/* As it is told: in whole GPU-seconds, never less, and so that a minute more is no news. */
int64_t moves_told_s(int64_t lost);

#endif
