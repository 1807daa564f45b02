#include "core/rules/neighbour.h"
#include "base/memory.h"

static void forbid(const struct state *s, struct neighbours *rules, name_id key, uint32_t node)
{
    for (uint32_t i = 0; i < rules->forbidden_n; i++) {
        if (rules->forbidden[i].key == key) {
            domain_count_add(s, &rules->forbidden[i], node, 1);
            return;
        }
    }
    if (rules->forbidden_n == NEIGHBOUR_KEYS) {
        rules->too_many_keys = true;
        return;
    }
    rules->forbidden[rules->forbidden_n] = (struct domain_counts){.key = key};
    domain_count_add(s, &rules->forbidden[rules->forbidden_n++], node, 1);
}

static bool all_near_terms_select(const struct state *s, const struct shape *shape, name_id own_ns, const struct label_set *pod)
{
    for (uint32_t i = 0; i < shape->affinities_n; i++)
        if (!shape->affinities[i].anti && !domain_term_selects(s, &shape->affinities[i], own_ns, pod))
            return false;
    return true;
}

static void forbid_terms(struct state *s, const struct shape *shape, name_id own_ns, const struct label_set *pod, uint32_t node,
                         struct neighbours *rules)
{
    for (uint32_t i = 0; i < shape->affinities_n; i++)
        if (shape->affinities[i].anti && domain_term_selects(s, &shape->affinities[i], own_ns, pod))
            forbid(s, rules, shape->affinities[i].topology_key, node);
}

/* Other pods that do not want this one near them. */
static void forbid_by_others(struct state *s, const struct label_set *self, struct neighbours *rules)
{
    for (uint32_t i = 0; i < s->anti_seats_n; i++) {
        const struct seat *seat = &s->seats[s->anti_seats[i]];
        forbid_terms(s, &s->shapes.classes[seat->shape].shape, s->shapes.sets[seat->labels].ns, self, seat->node, rules);
    }
}

/* Lone pods that are promised room: where both could not stand, this one would take it. Nobody counts on it that they will be near.
 * SOURCE kube-scheduler, nominated pods. */
static void forbid_by_promised(struct state *s, const struct shape *shape, const struct label_set *self, struct neighbours *rules)
{
    for (uint32_t i = 0; i < s->promised_n; i++) {
        const struct gang *g = s->promised[i];
        if (!g->promise->stands || !g->promise->by_priority)
            continue;
        const struct pod *p = &s->pods[g->members[0]];
        const struct label_set *other = &s->shapes.sets[p->labels];
        forbid_terms(s, &s->shapes.classes[p->shape].shape, other->ns, self, g->promise->rooms->node, rules);
        forbid_terms(s, shape, self->ns, other, g->promise->rooms->node, rules);
    }
}

/* The pod's own affinity and anti-affinity, counted over all seats. */
static void count_own(struct state *s, const struct shape *shape, const struct label_set *self, struct neighbours *rules)
{
    bool any_near = false;
    for (uint32_t i = 1; i < s->seats_n; i++) {
        const struct seat *seat = &s->seats[i];
        if (!seat->node || seat->lifted)
            continue;
        const struct label_set *pod = &s->shapes.sets[seat->labels];
        bool near = rules->near_n && all_near_terms_select(s, shape, self->ns, pod);
        for (uint32_t k = 0, at = 0; k < shape->affinities_n; k++) {
            const struct pod_affinity *a = &shape->affinities[k];
            if (a->anti && domain_term_selects(s, a, self->ns, pod))
                forbid(s, rules, a->topology_key, seat->node);
            if (!a->anti && near)
                domain_count_add(s, &rules->near[at], seat->node, 1);
            at += !a->anti;
        }
        any_near |= near;
    }
    rules->first_of_group = rules->near_n && !any_near && all_near_terms_select(s, shape, self->ns, self);
}

static bool has_spread_keys(const struct state *s, const struct shape *shape, uint32_t node)
{
    for (uint32_t i = 0; i < shape->spreads_n; i++)
        if (!domain_label(s, node, shape->spreads[i].topology_key))
            return false;
    return true;
}

static void count_spread(struct state *s, const struct shape *shape, const struct label_set *self, struct neighbours *rules)
{
    for (uint32_t node = 1; node < s->nodes.n; node++) {
        if (!(s->nodes.flags[node] & NODE_KNOWN) || !has_spread_keys(s, shape, node) ||
            !node_terms_match(shape, node_labels(&s->nodes, node), s->nodes.nodes[node].name, s->names))
            continue;
        for (uint32_t i = 0; i < shape->spreads_n; i++) {
            int64_t *count = domain_count_slot(&rules->spread[i], domain_label(s, node, shape->spreads[i].topology_key)->value);
            for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
                const struct label_set *pod = &s->shapes.sets[s->seats[at].labels];
                if (s->pods[s->seats[at].pod].deleting || pod->ns != self->ns)
                    continue;
                *count += selector_matches(&shape->spreads[i].pods, pod->labels, 0, s->names);
            }
        }
    }
    for (uint32_t i = 0; i < shape->spreads_n; i++) {
        const struct domain_counts *d = &rules->spread[i];
        int64_t least = d->n ? INT64_MAX : 0;
        for (uint32_t k = 0; k < d->n; k++)
            least = d->counts[k] < least ? d->counts[k] : least;
        if ((int32_t)d->n < shape->spreads[i].min_domains)
            least = 0;
        rules->spread_least[i] = least;
        rules->spread_self[i] = selector_matches(&shape->spreads[i].pods, self->labels, 0, s->names);
    }
}

bool neighbour_prepare(struct state *s, uint32_t shape_id, uint32_t labels, struct neighbours *ret_rules)
{
    const struct shape_class *c = &s->shapes.classes[shape_id];
    if (!neighbour_matters(s, shape_id))
        return false;
    const struct shape *shape = &c->shape;
    const struct label_set *self = &s->shapes.sets[labels];
    *ret_rules = (struct neighbours){0};
    forbid_by_others(s, self, ret_rules);
    forbid_by_promised(s, shape, self, ret_rules);
    if (!c->neighbours)
        return ret_rules->forbidden_n > 0 || ret_rules->too_many_keys;
    ret_rules->near = mem_zero(shape->affinities_n + 1, sizeof *ret_rules->near);
    for (uint32_t i = 0; i < shape->affinities_n; i++)
        if (!shape->affinities[i].anti)
            ret_rules->near[ret_rules->near_n++].key = shape->affinities[i].topology_key;
    if (shape->affinities_n)
        count_own(s, shape, self, ret_rules);
    ret_rules->spread_n = shape->spreads_n;
    ret_rules->spread = mem_zero(shape->spreads_n + 1, sizeof *ret_rules->spread);
    ret_rules->spread_least = mem_zero(shape->spreads_n + 1, sizeof *ret_rules->spread_least);
    ret_rules->spread_self = mem_zero(shape->spreads_n + 1, sizeof *ret_rules->spread_self);
    for (uint32_t i = 0; i < shape->spreads_n; i++)
        ret_rules->spread[i].key = shape->spreads[i].topology_key;
    if (shape->spreads_n)
        count_spread(s, shape, self, ret_rules);
    return true;
}

enum neighbour_verdict neighbour_check(const struct state *s, const struct neighbours *rules, const struct shape *shape, uint32_t node)
{
    if (rules->too_many_keys)
        return NEIGHBOUR_ANTI;
    for (uint32_t i = 0; i < rules->near_n; i++) {
        const struct label *domain = domain_label(s, node, rules->near[i].key);
        if (!domain || (!rules->first_of_group && !domain_count(&rules->near[i], domain->value)))
            return NEIGHBOUR_AFFINITY;
    }
    for (uint32_t i = 0; i < rules->forbidden_n; i++) {
        const struct label *domain = domain_label(s, node, rules->forbidden[i].key);
        if (domain && domain_count(&rules->forbidden[i], domain->value))
            return NEIGHBOUR_ANTI;
    }
    for (uint32_t i = 0; i < rules->spread_n; i++) {
        const struct label *domain = domain_label(s, node, rules->spread[i].key);
        if (!domain)
            return NEIGHBOUR_SPREAD;
        int64_t skew = domain_count(&rules->spread[i], domain->value) + rules->spread_self[i] - rules->spread_least[i];
        if (skew > shape->spreads[i].max_skew)
            return NEIGHBOUR_SPREAD;
    }
    return NEIGHBOUR_OK;
}

void neighbour_release(struct neighbours *rules)
{
    for (uint32_t i = 0; i < rules->forbidden_n; i++)
        domain_counts_free(&rules->forbidden[i]);
    for (uint32_t i = 0; i < rules->near_n; i++)
        domain_counts_free(&rules->near[i]);
    for (uint32_t i = 0; i < rules->spread_n; i++)
        domain_counts_free(&rules->spread[i]);
    free(rules->near);
    free(rules->spread);
    free(rules->spread_least);
    free(rules->spread_self);
    *rules = (struct neighbours){0};
}
