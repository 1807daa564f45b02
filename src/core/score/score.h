/* score.h - which of the nodes that fit is best, as one integer; and which GPU of it, where parts of one are asked for
 *
 * UNIT   0 = does not fit; 1 .. 2^32-1, greater is better. Integers only: equal on every machine, no order of summation.
 * ORDER  binpack: nodes without devices that the pod does not ask for, then fewest devices left over, then least cpu left, then least
 *        memory left; spread: the other way round after the first. Others: published.h, stranding.h. Ties go to the node that comes
 *        first by name (view.c). random: all are equal, and place.c draws (score_draw).
 */
#ifndef CORE_SCORE_H
#define CORE_SCORE_H
#include "core/score/gpus.h"
#include "core/score/twins.h"

/* A shape about to be scored by a policy on many nodes: what is the same on all of them. Good until the state changes. */
struct scorer {
    struct state *s;
    const struct shape_class *c;
    enum placement by;
    struct gpu_ask ask;
    uint32_t classes_n;      /* of nodes, by what those who are expected demand of them */
};
void scorer_of_kinds(struct scorer *x); /* what is missing in one by a policy that looks at kinds of pods */
static inline struct scorer scorer_of(struct state *s, const struct shape_class *c, enum placement by)
{
    struct scorer x = {.s = s, .c = c, .by = by, .classes_n = 1};
    if (placement_looks_at_kinds(by))
        scorer_of_kinds(&x);
    return x;
}
uint32_t score_node(const struct scorer *x, uint32_t node);
uint32_t score_alike_of(const struct scorer *x, uint32_t node, uint32_t twins);
/* Nodes with the same number hold as many of the shape, if their records let it stand there at all, and score as much; 0: look at it. */
static inline uint32_t score_alike(const struct scorer *x, uint32_t node)
{
    const uint32_t twins = twins_idle(x->s, node);
    return !twins || (x->classes_n == 1 && !(x->by & PLACEMENT_BY_LOAD)) ? twins : score_alike_of(x, node, twins);
}
static inline uint32_t score_alike_most(const struct scorer *x)
{
    return x->s->twins_n * x->classes_n;
}
uint64_t score_meaning_of_kinds(struct state *s);
/* Once this is another number, scores by the policy are others, though no node was touched. */
static inline uint64_t score_meaning(struct state *s, enum placement by)
{
    return s->targets && placement_alone(by) == PLACEMENT_CAPSTAN ? score_meaning_of_kinds(s) : 0;
}
/* The devices that a pod of the shape takes there; fit_room says that there are enough. Of a GPU in parts: where it is best, or the fullest
 * that is enough. */
struct device_bits score_choose_devices(struct state *s, uint32_t shape, uint32_t node, enum placement by);
/* A number for who stands somewhere next: the same state and seed give the same. */
uint64_t score_draw(const struct state *s, uint64_t of);

#endif
