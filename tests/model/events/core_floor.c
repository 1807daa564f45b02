/* core_floor.c - pod groups that start only while all nodes together have so much free, and what their own pods have: summed up from what
 * the core was told. That none of them waits for what is there already is asked of a core that begins anew (core_rest.c) */
#include "core_model.h"
#include "core/state/model.h"

/* Of two groups in three, parts of what all nodes have: from little to nearly all of it. */
void floor_draw(const struct model *m, struct m_gang *g)
{
    memset(g->floor, 0, sizeof g->floor);
    if (g->type != TYPE_GROUP || g->serial % 3 == 0 || model_leaves_out("floor"))
        return;
    for (int r = RES_CPU; r <= RES_GPU; r++) {
        int64_t all = 0;
        for (int n = 0; n < NODES; n++)
            all += m->api.nodes[n].exists ? m->api.nodes[n].room[r] : 0;
        g->floor[r] = (g->serial >> r) % 4 ? all * (int64_t)(1 + (g->serial * 7 + (uint32_t)r * 3) % 8) / 8 : 0;
    }
}

void floor_tell(struct world *w, const struct m_gang *g, struct gang_record *r)
{
    struct amount *floor = arena_zero(w->records, RES_N, sizeof *floor);
    for (int i = 0; i < RES_N; i++)
        if (g->floor[i])
            floor[r->least_n++] = (struct amount){id(w, resource_names[i]), g->floor[i]};
    r->least = floor;
    r->least_is_free = r->least_n > 0;
}

static int64_t free_for(const struct life *l, int gang, int resource)
{
    int64_t left[NODES], sum = 0;
    for (int n = 0; n < NODES; n++)
        left[n] = l->seen.nodes[n].exists ? l->seen.nodes[n].room[resource] : 0;
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &l->seen.pods[i];
        int node = node_of(p, &l->assumed[i]);
        if (node < 0)
            continue;
        left[node] -= p->kind.ask[resource];
        sum += is_member(p, &l->seen.gangs[gang], gang) ? p->kind.ask[resource] : 0;
    }
    for (int n = 0; n < NODES; n++)
        sum += left[n] > 0 ? left[n] : 0;
    return sum;
}

void floor_check(struct model *m, const struct life *l, int gang)
{
    const struct m_gang *g = &l->seen.gangs[gang];
    int bound = 0, succeeded = 0;
    char key[40];
    for (int i = 0; i < PODS; i++) {
        const struct m_pod *p = &l->seen.pods[i];
        if (!is_member(p, g, gang))
            continue;
        succeeded += p->phase == POD_SUCCEEDED;
        bound += node_of(p, &l->assumed[i]) >= 0;
    }
    if (succeeded || bound >= g->min_members || l->went_for[gang] == g->serial) /* it runs already, or others have gone for it */
        return;
    for (int r = 0; r < RES_N; r++)
        if (g->floor[r] > free_for(l, gang, r))
            die(m, "%s starts while all nodes together have %" PRId64 " %s free, and wants %" PRId64, gang_key(g, key),
                free_for(l, gang, r), resource_names[r], g->floor[r]);
}

void floor_note(struct life *l)
{
    char key[40];
    for (int i = 0; i < GANGS; i++) {
        const struct m_gang *g = &l->seen.gangs[i];
        const struct gang *known = g->exists ? gang_find(l->w.s, intern_find(l->w.names, bytes_of(gang_key(g, key)))) : NULL;
        if (known && known->promise)
            l->went_for[i] = g->serial;
    }
}
