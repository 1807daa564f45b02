/* count.h - what quota counts of a pod: what it asks for, or what its queue counts for that
 *
 *   asks for             counts of its queue                          counted
 *   nvidia.com/gpu: 2    (none)                                       nvidia.com/gpu: 2
 *   nvidia.com/gpu: 2    nvidia.com/gpu -> gpu * 1000                 gpu: 2000
 *   cpu: 1500            cpu -> kept:cpu, of who keeps its place      cpu: 1500, and of a group that keeps its places kept:cpu: 1500
 *
 * SHAPE  a second bound is a resource like others: its nominal quota has no end, and the capability of a queue is the bound. So the tree,
 *        the ledger, hopes and promises know nothing of it (docs/design/0016-volcano-queues.md).
 * COST   of queues without counts, which are all but KAI's: one comparison.
 */
#ifndef CORE_COUNT_H
#define CORE_COUNT_H
#include "core/state/model.h"

/* Of amounts from 0 to NO_END, which the sum is at most, too. */
static inline int64_t count_plus(int64_t a, int64_t b)
{
    return a > NO_END - b ? NO_END : a + b;
}

struct count {                  /* goes through what is counted: no resource comes twice */
    const struct shape_class *shape;
    const struct queue_shares *by;
    uint32_t at, demand;
    bool keeps_places;
};
extern const struct queue_shares count_nothing_else;
bool count_next_of_counts(struct count *x, struct amount *ret_counted); /* as count_next, where the queue has some */
/* Of one pod of this shape in q (NULL: in none), of a gang that keeps its places or not. */
static inline struct count count_begin(const struct state *s, const struct queue *q, bool keeps_places, uint32_t shape)
{
    return (struct count){.shape = &s->shapes.classes[shape], .by = q ? &q->shares : &count_nothing_else, .keeps_places = keeps_places};
}
/* False: there is no more. Amounts are at least 1. */
static inline bool count_next(struct count *x, struct amount *ret_counted)
{
    if (x->by->counts_n)
        return count_next_of_counts(x, ret_counted);
    if (x->demand == x->shape->demands_n)
        return false;
    const struct demand *d = &x->shape->demands[x->demand++];
    *ret_counted = (struct amount){d->resource, d->value};
    return true;
}
/* So much of one resource; 0: none of it. */
int64_t count_of(const struct state *s, const struct queue *q, bool keeps_places, uint32_t shape, name_id resource);
/* The resource that stands for what gangs that keep their places have of another one: that one. Else 0. */
name_id count_kept_of(const struct queue *q, name_id resource);
name_id count_as_kept(const struct queue *q, name_id resource); /* the other way round */
/* The queue counts something else for that resource. */
bool count_replaces(const struct queue_shares *by, name_id resource);
bool count_is_same(const struct queue_shares *a, const struct queue_shares *b);

#endif
