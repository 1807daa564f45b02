/* state_check_domains.c - domains of topologies, found again the slow way */
#include "base/memory.h"
#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/place/view.h"
#include "core/score/score.h"
#include "core/state/state_check.h"

/* What a view counts of each domain is the sum of what it counts of the nodes below. */
static bool check_view(const struct state *s, const struct view *v, struct err *e)
{
    const struct topology *t = &s->topologies[v->topology];
    if (!v->leaves || !v->topology || t->built != v->built)
        return true;
    uint64_t *sums = mem_zero(t->domains_n, sizeof *sums);
    for (uint32_t slot = 1; slot < v->n; slot++)
        for (uint32_t at = topology_leaf(t, slot); at; at = t->domains[at].parent)
            sums[at] += v->room[slot];
    uint32_t at = 1;
    while (at < t->domains_n && sums[at] == v->room_in[at])
        at++;
    bool right = at == t->domains_n;
    if (!right)
        (void)err_set(e, E_INVALID, "topology %s: domain %u has room for %llu of a shape, counted %llu", intern_name(s->names, t->name), at,
                      (unsigned long long)sums[at], (unsigned long long)v->room_in[at]);
    free(sums);
    return right;
}

/* It is among its shape's, no other one of these is by its policy, and what it says of nodes that were not touched since is so. */
static bool check_looks(const struct state *s, uint32_t at, struct err *e)
{
    const struct view *v = &s->views->views[at], *other;
    const struct shape_class *c = &s->shapes.classes[v->shape];
    uint32_t listed_n = 0, alike_n = 0;
    for (uint32_t i = v->shape && v->leaves ? c->view : 0; i; i = other->next) {
        other = &s->views->views[i - 1];
        listed_n += other == v;
        alike_n += other->leaves && other->by == v->by;
    }
    if (v->shape && v->leaves && (listed_n != 1 || alike_n != 1))
        return err_set(e, E_INVALID, "view %u is listed %u times, and %u are by its policy", at, listed_n, alike_n), false;
    const bool is_old = v->leaves && v->meaning != score_meaning((struct state *)s, v->by);
    const struct scorer by = scorer_of((struct state *)s, c, v->by);
    const bool is_current = v->seq == s->nodes.seq && v->ranked_n == s->nodes.ranked_n;
    uint32_t best = 0;
    for (uint32_t slot = 1; slot < v->n && v->leaves; slot++) {
        uint32_t room = v->cause[slot] == FIT_OK ? fit_room(s, c, slot) : 0;
        if (s->nodes.touched[slot] > v->seq)
            continue;
        uint32_t score = room && !is_old ? score_node(&by, slot) : room ? v->score[slot] : 0;
        if (room != v->room[slot] || score != v->score[slot])
            return err_set(e, E_INVALID, "view %u says %u and %u of node %s, which are %u and %u", at, v->room[slot], v->score[slot],
                           intern_name(s->names, s->nodes.nodes[slot].name), room, score), false;
        if (score && (!best || score > v->score[best] || (score == v->score[best] && s->nodes.rank[slot] < s->nodes.rank[best])))
            best = slot;
    }
    if (v->leaves && is_current && view_best(v) != best)
        return err_set(e, E_INVALID, "view %u says that node %u is best, which is %u", at, view_best(v), best), false;
    return true;
}

/* Each node that is known is where its row says, and without a row in no domain with a value. */
static bool check_rows(const struct state *s, const struct topology *t, struct err *e)
{
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        uint32_t row = t->rows_n, at = topology_leaf(t, slot);
        bool known = s->nodes.flags[slot] & NODE_KNOWN, right = known == (at != 0);
        while (row && t->row_nodes[row - 1] != s->nodes.nodes[slot].name)
            row--;
        for (uint32_t l = t->levels_n; l-- > 0 && known && right; at = t->domains[at].parent)
            right = t->domains[at].value == (row ? t->row_domains[(row - 1) * t->levels_n + l] : 0);
        if (!right)
            return err_set(e, E_INVALID, "node %s is in another domain of tiers than its row says",
                           intern_name(s->names, s->nodes.nodes[slot].name)), false;
    }
    return true;
}

/* Where a labelled node is, and that domains of a level stand in order. */
static bool check_tree(const struct state *s, const struct topology *t, struct err *e)
{
    if (!t->built || t->labels_seq != s->nodes.labels_seq)
        return true;
    if (t->has_tiers)
        return check_rows(s, t, e);
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        struct label_list labels = node_labels(&s->nodes, slot);
        uint32_t has_n = 0, at = topology_leaf(t, slot);
        for (uint32_t l = t->levels_n; l-- > 0; at = at ? t->domains[at].parent : 0)
            for (uint32_t i = 0; i < labels.n; i++)
                has_n += labels.all[i].key == t->levels[l] && (!at || labels.all[i].value == t->domains[at].value);
        if ((has_n == t->levels_n) != (topology_leaf(t, slot) != 0))
            return err_set(e, E_INVALID, "topology %s: node %s is in a domain that its labels do not name", intern_name(s->names, t->name),
                           intern_name(s->names, s->nodes.nodes[slot].name)), false;
    }
    return true;
}

/* Nobody stands, and no place is held, where the object will not say so. */
static bool check_told(const struct state *s, const struct gang *g, uint32_t set, struct err *e)
{
    uint32_t topology = domain_topology(s, g->own->choices, g->own->choices_n, set);
    const struct topology *t = topology && topology != DOMAIN_SEVERAL ? &s->topologies[topology] : NULL;
    if (!t || !t->built || t->labels_seq != s->nodes.labels_seq)
        return true;
    int64_t all = 0;
    for (uint32_t i = 0; i < g->own->told_n; i++)
        all += g->own->told[i].pod_set == set ? g->own->told[i].count : 0;
    if (all > (int64_t)g->sets[set].count + g->own->seats_n + g->members_n)
        return err_set(e, E_INVALID, "gang %s was told %lld places for a set of %d", intern_name(s->names, g->key), (long long)all,
                       g->sets[set].count), false;
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++) {
        int64_t now = 0, told = 0;
        for (uint32_t i = 0; i < g->own->seats_n; i++)
            now += s->seats[g->own->seats[i]].pod_set == set && topology_leaf(t, s->seats[g->own->seats[i]].node) == leaf;
        for (uint32_t i = 0; i < g->own->told_n; i++)
            told += g->own->told[i].pod_set == set && g->own->told[i].domain == topology_leaf_name(t, leaf) ? g->own->told[i].count : 0;
        if (now > told)
            return err_set(e, E_INVALID, "gang %s holds %lld places in domain %s and was told %lld", intern_name(s->names, g->key),
                           (long long)now, intern_name(s->names, topology_leaf_name(t, leaf)), (long long)told), false;
    }
    return true;
}

bool state_check_domains(const struct state *s, struct err *e)
{
    for (uint32_t i = 1; i < s->topologies_n; i++)
        if (!check_tree(s, &s->topologies[i], e))
            return false;
    for (uint32_t i = 0; i < s->views->n; i++)
        if (!check_view(s, &s->views->views[i], e) || !check_looks(s, i, e))
            return false;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        if (!gang_holds(g) && g->own->told_n)
            return err_set(e, E_INVALID, "gang %s holds nothing, yet was told domains", intern_name(s->names, g->key)), false;
        for (uint32_t set = 0; set < g->sets_n && g->own->seats_n; set++)
            if (!check_told(s, g, set, e))
                return false;
    }
    return true;
}
