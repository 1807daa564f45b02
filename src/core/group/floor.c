#include "core/group/floor.h"
#include "base/amount.h"

static int64_t asks(const struct state *s, uint32_t shape, name_id resource)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].resource == resource)
            return demand_taken(&c->demands[i]);
    return 0;
}

/* Whichever of them start, they ask for so much themselves, and need places for it. */
static int64_t asked_for(const struct state *s, const struct gang *g, name_id resource, const uint32_t *pods, uint32_t needed, uint32_t n)
{
    int64_t sum = 0;
    if (needed < n && g->sets_n > 1)
        return 0;
    for (uint32_t i = 0; i < needed; i++)
        sum = amount_plus(sum, asks(s, s->pods[pods[i]].shape, resource));
    return sum;
}

/* Once that is enough it goes on to no more nodes. */
static int64_t free_for(const struct state *s, const struct gang *g, name_id resource, int64_t enough)
{
    int32_t column = node_table_find_column(&s->nodes, resource);
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (s->pods[g->members[i]].seat)
            sum = amount_plus(sum, asks(s, s->pods[g->members[i]].shape, resource));
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        sum = amount_plus(sum, asks(s, s->seats[g->own->seats[i]].shape, resource));
    for (uint32_t slot = 1; slot < s->nodes.n && column >= 0 && sum < enough; slot++) {
        int64_t left = s->nodes.flags[slot] & NODE_KNOWN ? node_free(&s->nodes, slot)[column] : 0;
        sum = amount_plus(sum, left > 0 ? left : 0);
    }
    return sum;
}

static bool any_succeeded(const struct state *s, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < g->members_n && !any; i++)
        any = s->pods[g->members[i]].phase == POD_SUCCEEDED;
    return any;
}

struct reason *floor_lacks(const struct state *s, const struct gang *g, const uint32_t *pods, uint32_t needed, uint32_t n, struct arena *a)
{
    const struct amount *floor;
    uint32_t floor_n = gang_floor(g, &floor);
    struct reason *why = NULL;
    if (!floor_n || any_succeeded(s, g))
        return NULL;
    for (uint32_t i = 0; i < floor_n; i++) {
        int64_t asked = asked_for(s, g, floor[i].resource, pods, needed, n);
        if (asked >= floor[i].value)
            continue;
        int64_t have = free_for(s, g, floor[i].resource, floor[i].value);
        if (have >= floor[i].value)
            continue;
        struct reason *one = reason_new(a, (struct reason){.code = REASON_FREE_SHORT, .resource = floor[i].resource, .have = have,
                                                           .need = floor[i].value, .taken = asked});
        if (why)
            reason_add(why, one);
        else
            why = one;
    }
    return why;
}
