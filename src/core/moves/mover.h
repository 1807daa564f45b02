/* mover.h - those who could be moved, what each would lose, and which of them stand where a gang could (inside core/moves only) */
#ifndef CORE_MOVER_H
#define CORE_MOVER_H
#include "core/moves/moves.h"
#include "core/place/try.h"

struct mover {
    struct gang *gang;
    int64_t lost, lost_s;      /* lost_s: pod-seconds, of those that lose as much */
    int64_t size;              /* the most thousandths of GPUs that one of its pods has */
    uint32_t *seats, n;
};
struct movers {
    struct mover *all;         /* ORDER who loses least first */
    uint32_t n;
    int64_t gained;            /* by the gang */
    bool any_allowed;          /* some queue lets its jobs be moved */
};
/* What one pod of the shape asks of GPUs, in thousandths. */
int64_t mover_gpus(const struct state *s, uint32_t shape);
enum move_leave mover_leave(const struct state *s, const struct gang *g, int64_t lost, int64_t gained); /* lost: by all who move */
/* By sums: at most so many more of the class, were these gone from the node. `left`: mover_scratch of wishes that have the class. */
int64_t mover_room_without(const struct state *s, const struct shape_class *c, uint32_t node, const struct mover *const *gone,
                           uint32_t gone_n, int64_t *left);
int64_t *mover_scratch(struct arena *a, const struct state *s, const struct wishes *w);
/* No pod before this one, of those before or its own, stands on the node. */
bool mover_is_first_on(const struct state *s, const struct mover *const *all, uint32_t i, uint32_t pod, uint32_t node);
/* All that could be moved for w, or only those whose queues allow it. */
void movers_list(struct cycle *c, const struct wishes *w, bool allowed, struct movers *ret_movers);
/* Of them the MOVERS_MOST to look at, in their order: who stands on the nodes where the least would have to go for a pod of w. Returns how
 * many. */
uint32_t movers_choose(struct cycle *c, const struct wishes *w, const struct movers *from, const struct mover *ret_chosen[MOVERS_MOST]);

#endif
