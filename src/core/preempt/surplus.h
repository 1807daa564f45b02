/* surplus.h - members that their pod groups can do without go before any group goes whole
 *
 *   group of 6, minimum 4   bound: m0 m1 m2 m3 │ m4 m5
 *                                     stays    └─ surplus: may go for another, and the group goes on
 *
 * SHAPE  groups in queues with shares only (Volcano's): of the same groups that may be preempted, in the same order, one member after the
 *        other. They are enough, or none of them goes (victims.c): who needs more than that asks for whole groups.
 * ORDER  in a group: those that are being deleted anyway, lower priority, made later, key. WHY  the first: a scheduler that begins anew
 *        counts on those that the one before has told to go.
 *        Whoever is of a subgroup (group/subgroups.h) goes while it stays whole, then all that is left of one that may be missing.
 * WHY    not of planned gangs: a Kueue Workload goes whole by Kueue's rule, and a job that it belongs to would make the pod anew.
 * SOURCE Volcano, plugin gang: victims only of what is above minAvailable; docs/design/0016-volcano-queues.md.
 */
#ifndef CORE_SURPLUS_H
#define CORE_SURPLUS_H
#include "core/preempt/candidates.h"
#include "core/quota/count.h"

/* Those that the group can do without, in order; in the arena. Returns how many. */
uint32_t surplus_of(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods);
/* These go. With those of their subgroups that would not be whole any more without them: *pods is another list then, in the arena. Returns
 * how many. */
uint32_t surplus_complete(const struct state *s, const struct gang *const *gangs, uint32_t gangs_n, struct arena *a,
                          const uint32_t **pods, uint32_t n);
/* Its gang may be preempted. With others gone by now: is there still a reason to take this member? */
bool surplus_helps(const struct preemptor *x, const struct candidate *one, uint32_t pod);
/* So much of what its gang is charged is the member's. */
static inline int64_t surplus_amount(const struct state *s, uint32_t pod, name_id resource)
{
    const struct pod *p = &s->pods[pod];
    return p->seat ? count_of(s, p->gang->queue, p->gang->keeps_places, s->seats[p->seat].shape, resource) : 0;
}

#endif
