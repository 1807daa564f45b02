#include "core/preempt/coming.h"
#include "core/place/undo.h"

/* The places of members that it loses are kept for those that come in their stead (heal/hole.h). */
static bool is_to_be_mended(const struct state *s, const struct gang *g)
{
    int64_t staying_n = 0;
    for (uint32_t i = 0; i < g->members_n && !gang_is_lone(g) && g->phase == GANG_BOUND && g->active; i++)
        staying_n += s->pods[g->members[i]].seat && !s->pods[g->members[i]].deleting;
    return staying_n && staying_n < g->min_members;
}

static bool comes_free(const struct state *s, const struct pod *p)
{
    return p->deleting && p->seat && !s->seats[p->seat].lifted && !s->nodes.nodes[s->seats[p->seat].node].has_devices_twice;
}

static bool may_leave_room(const struct gang *other, const struct gang *g)
{
    return other != g && other->bound_n && !other->preemptor && gang_has_no_queue(other) && other->priority < g->priority;
}

static uint32_t home_of(const struct state *s, const struct gang *lone)
{
    name_id nominated = s->pods[lone->members[0]].nominated;
    return nominated ? node_table_find(&s->nodes, nominated) : 0;
}

/* The next seat on the node, from `at` on, that comes free for the pod. 0: there is none. */
static uint32_t next_coming(const struct state *s, const struct gang *lone, uint32_t at)
{
    for (; at; at = s->seats[at].next) {
        const struct gang *other = s->seats[at].pod ? s->seats[at].gang : NULL;
        if (other && comes_free(s, &s->pods[s->seats[at].pod]) && may_leave_room(other, lone) && !is_to_be_mended(s, other))
            return at;
    }
    return 0;
}

static bool lift_coming_at_home(struct state *s, const struct gang *lone)
{
    uint32_t home = home_of(s, lone);
    bool of_groups = false;
    for (uint32_t at = home ? next_coming(s, lone, s->nodes.nodes[home].first_seat) : 0, next; at; at = next) {
        next = next_coming(s, lone, s->seats[at].next);
        of_groups |= !gang_is_lone(s->seats[at].gang);
        undo_lift(s, at);
    }
    return of_groups;
}

bool coming_lift(struct state *s, const struct gang *g)
{
    bool any = false;
    if (gang_is_lone(g))
        return lift_coming_at_home(s, g);
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *other = s->gangs[i];
        for (uint32_t k = 0; may_leave_room(other, g) && k < other->members_n; k++) {
            if (!comes_free(s, &s->pods[other->members[k]]) || is_to_be_mended(s, other))
                continue;
            undo_lift(s, s->pods[other->members[k]].seat);
            any = true;
        }
    }
    return any;
}

struct reason *coming_reason(const struct state *s, const struct gang *lone, struct arena *a)
{
    uint32_t home = home_of(s, lone);
    struct reason *root = reason_new(a, (struct reason){.code = REASON_PREEMPTING, .name = s->nodes.nodes[home].name});
    for (uint32_t at = next_coming(s, lone, s->nodes.nodes[home].first_seat); at; at = next_coming(s, lone, s->seats[at].next)) {
        const struct gang *other = s->seats[at].gang;
        const struct reason *known = root->child;
        while (known && known->name != other->key)
            known = known->next;
        if (known)
            continue;
        reason_add(root, reason_new(a, (struct reason){.code = REASON_PREEMPTED_GANG, .name = other->key, .pod_set = other->ns,
                                                       .have = PREEMPTION_BY_PRIORITY}));
        root->need++;
        root->have += !gang_is_lone(other);
    }
    return root;
}
