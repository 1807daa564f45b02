#include "core/queue/lost.h"
#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/queue/admission.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"

/* WHY not what else makes a node unfit (its labels): that is nobody's failure, and who stands there goes on. SOURCE Kueue. */
static bool node_failed(const struct state *s, uint32_t shape, uint32_t node)
{
    enum fit_cause cause = fit_record(s, &s->shapes.classes[shape], node, NULL);
    return cause != FIT_OK && cause != FIT_SELECTOR;
}

/* The tree of a set that was told nodes; NULL: it was told none, or domains that are none. */
static const struct topology *tree_of(const struct state *s, const struct gang *g, uint32_t set)
{
    uint32_t at = g->sets[set].placed_shape ? domain_topology(s, g->own->choices, g->own->choices_n, set) : 0;
    return at && at != DOMAIN_SEVERAL && s->topologies[at].by_node ? &s->topologies[at] : NULL;
}

/* One row of what was told. The tree may be older than the nodes: then its leaf is looked for by the name of the node. */
static bool row_failed(struct state *s, const struct topology *t, const struct domain_choice *row, uint32_t shape)
{
    const struct topology *now = topology_sync(s, (uint32_t)(t - s->topologies));
    uint32_t leaf = id_map_get(&now->leaf_by_name, row->domain), node = leaf ? 0 : node_table_find(&s->nodes, row->domain);
    const struct domain *d = leaf ? &now->domains[leaf] : NULL;
    for (uint32_t i = 0; d && i < d->n; i++)
        if (!node_failed(s, shape, now->nodes[d->first + i]))
            return false;
    return d || !node || node_failed(s, shape, node);
}

static bool stands_in(const struct state *s, const struct topology *t, const struct domain_choice *row, uint32_t node)
{
    uint32_t leaf = topology_leaf(t, node);
    return leaf ? topology_leaf_name(t, leaf) == row->domain : s->nodes.nodes[node].name == row->domain;
}

bool lost_is_given_up(const struct state *s, const struct gang *g, const struct pod *p)
{
    int32_t set = p->seat && p->deleting && g->planned ? pod_set_index(g, p) : -1;
    return set >= 0 && tree_of(s, g, (uint32_t)set) && node_failed(s, g->sets[set].placed_shape, s->seats[p->seat].node);
}

/* Members of the set that are not over and have neither a place, nor a pod that stays, nor were told a node that stands. */
static int64_t lacking(struct state *s, const struct gang *g, uint32_t set, const struct topology *t)
{
    const struct gang_set *of = &g->sets[set];
    int64_t standing = 0, told = 0;
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        standing += s->seats[g->own->seats[i]].pod_set == set;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        standing += p->seat && !p->former && pod_set_index(g, p) == (int32_t)set && !lost_is_given_up(s, g, p);
    }
    for (uint32_t i = 0; i < g->own->told_n; i++)
        told += g->own->told[i].pod_set == set && !row_failed(s, t, &g->own->told[i], of->placed_shape) ? g->own->told[i].count : 0;
    return (int64_t)of->count - set_gone_n(of) - (told > standing ? told : standing);
}

/* SOURCE Kueue: while a pod of it goes on there nothing is lost. */
static bool somebody_is_left(const struct state *s, const struct gang *g, const struct topology *t, const struct domain_choice *row)
{
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->seat && !p->deleting && !p->former && stands_in(s, t, row, s->seats[p->seat].node))
            return true;
    }
    return false;
}

static void add_node(struct lost *to, name_id node)
{
    for (uint32_t i = 0; i < to->nodes_n; i++)
        if (to->nodes[i] == node)
            return;
    if (to->nodes_n < LOST_NODES)
        to->nodes[to->nodes_n++] = node;
}

static void find_of_set(struct cycle *c, const struct gang *g, uint32_t set, const struct topology *t, struct lost *to)
{
    struct state *s = c->s;
    int64_t left = -1;
    for (uint32_t i = 0; i < g->own->told_n && left; i++) {
        const struct domain_choice *row = &g->own->told[i];
        if (row->pod_set != set || !row_failed(s, t, row, g->sets[set].placed_shape) || somebody_is_left(s, g, t, row))
            continue;
        left = left < 0 ? lacking(s, g, set, t) : left;
        int64_t n = row->count < left ? row->count : left;
        if (n <= 0)
            return;
        add_node(to, row->domain);
        to->of_set = to->of_set ? to->of_set : arena_zero(c->a, g->sets_n, sizeof *to->of_set);
        to->of_set[set] += (int32_t)n;
        left -= n;
    }
}

struct lost lost_find(struct cycle *c, const struct gang *g)
{
    struct lost lost = {0};
    bool runs = (g->phase == GANG_ADMITTED || g->phase == GANG_BOUND) && g->planned && g->api_admitted && !g->reserved_only &&
                !g->own->told_evicted;
    if (!runs || c->s->lost_policy.off || g->of_one_pod)
        return lost;
    for (uint32_t set = 0; set < g->sets_n && g->own->told_n; set++) {
        const struct topology *t = tree_of(c->s, g, set);
        if (t)
            find_of_set(c, g, set, t, &lost);
    }
    return lost;
}

void lost_note(struct cycle *c, struct gang *g, const struct lost *lost)
{
    name_id node = lost->nodes_n ? lost->nodes[0] : 0;
    if (node == g->own->lost)
        return;
    struct gang_object *o = gang_own(g);
    o->lost = node;
    o->lost_ms = node ? c->now_ms : 0;
    cycle_lost(c, g);
}

bool lost_is_due(const struct cycle *c, const struct gang *g)
{
    return g->own->lost && c->now_ms >= g->own->lost_ms + LOST_WAIT_MS;
}

void lost_wait(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    int64_t at_ms = g->own->lost_ms + LOST_WAIT_MS;
    if (at_ms <= c->now_ms)
        at_ms = c->now_ms + LOST_WAIT_MS;
    s->lost_until_ms = at_ms > s->lost_until_ms ? at_ms : s->lost_until_ms;
    order_look_later(s, g, at_ms);
}

const struct reason *lost_why_evict(struct cycle *c, const struct lost *lost)
{
    struct reason *why = reason_new(c->a, (struct reason){.code = REASON_NODE_LOST, .name = lost->nodes[0], .need = lost->nodes_n});
    for (uint32_t i = 1; i < lost->nodes_n; i++)
        reason_add(why, reason_new(c->a, (struct reason){.code = REASON_NODE_LOST, .name = lost->nodes[i]}));
    return why;
}
