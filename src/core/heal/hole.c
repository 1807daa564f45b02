#include "core/heal/hole.h"

static bool goes_on_there(const struct pod *p)
{
    return p->seat && !p->deleting;
}

static bool somebody_goes_on(const struct state *s, const struct gang *g, const struct pod *but)
{
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p != but && goes_on_there(p))
            return true;
    }
    return false;
}

bool hole_is_left(const struct state *s, const struct pod *p)
{
    const struct gang *g = p->gang;
    if (!p->seat || !g || g->planned || gang_is_lone(g) || g->phase != GANG_BOUND || !g->active || p->phase == POD_SUCCEEDED)
        return false;
    bool is_surplus = !g->own->min_of_task_n && !gang_has_subgroups(g) && (int64_t)g->bound_n > g->min_members;
    return !is_surplus && g->min_members > 1 && somebody_goes_on(s, g, p);
}

bool holes_may_be_filled(const struct state *s, const struct gang *g)
{
    return holes_are_kept(g) && g->active && somebody_goes_on(s, g, NULL);
}
