/* gang.h - a gang's members, and the shapes that they have under the flavors that it was given */
#ifndef CORE_GANG_H
#define CORE_GANG_H
#include "base/arena.h"
#include "core/state/model.h"

/* Made when it has none. */
struct gang_object *gang_own(struct gang *g);
/* It is not tried before: so its object says, or it was sent away again and again. */
static inline int64_t gang_not_before_ms(const struct gang *g)
{
    int64_t rests_ms = (int64_t)g->own->sent_away_s * 1000;
    return g->own->not_before_ms > rests_ms ? g->own->not_before_ms : rests_ms;
}
void gang_object_free(struct gang *g);
/* Which of equal priority has the place in front? Who is due first, who is due at all, then who is older. */
static inline bool gang_is_in_front(const struct gang *a, const struct gang *b)
{
    bool same = a->due_ms == b->due_ms;
    return same ? a->created_ms < b->created_ms : a->due_ms && (!b->due_ms || a->due_ms < b->due_ms);
}
/* Which comes first? By priority, place, uid text, key text. */
bool order_before(const void *gang_a, const void *gang_b);
struct local_queue *local_queue_named(struct state *s, name_id key); /* made when new */

/* Shape with the node labels and tolerations of the flavors that `set` of the gang was given; the caller gets a reference. */
uint32_t gang_flavored_shape(struct state *s, uint32_t shape, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set);
/* The same of a pod that exists. WHY  its own tolerations only: who let it in added those of the flavors that it was let in with, which may
 * be others than the gang has by now. */
uint32_t gang_pod_shape(struct state *s, uint32_t shape, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set);
/* The flavor that a set was given for a resource (0: none, with true); false: it was given none. */
bool flavor_given(const struct gang *g, uint32_t set, name_id resource, name_id *ret_flavor);
void gang_drop_sets(struct state *s, struct gang *g);

/* Members to place, by (priority, creation, key): unbound, ours, not gated, not ending. In the arena. */
uint32_t gang_loose_members(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods);
/* Did it run in an admission that was given back, before the one that stands? Known of what was seen; else its times tell. WHY both: the
 * clocks of kubelets differ, and pods of a group are there before they are let in. */
static inline bool gang_member_is_former(const struct gang *g, const struct pod *p)
{
    return p->former || (p->started_ms && p->started_ms < g->reserved_ms && p->created_ms < g->reserved_ms);
}
static inline bool gang_member_is_loose(const struct state *s, uint32_t pod)
{
    const struct pod *p = &s->pods[pod];
    return !p->seat && p->ours && !p->gated && !p->deleting && !p->node_name && p->phase == POD_PENDING;
}
/* Of the pods that a minimum counts, how many are there: placed, done, or loose and not of a subgroup that lacks others. Of one task (name
 * of a pod set), or with 0 of all. */
int64_t gang_members_there(const struct state *s, const struct gang *g, name_id task);
/* Fewer of its subgroups are satisfied, or could be with the members that are loose, than it asks for. */
struct subgroup_lack;
bool gang_lacks_subgroups(const struct state *s, const struct gang *g, struct subgroup_lack *ret);
/* A pod group: of its pods that run or have succeeded there are fewer than it needs, in all or of some task. */
bool gang_is_below_minimum(const struct state *s, const struct gang *g);

#endif
