#include "core/state/selector.h"

const struct label *label_find(struct label_list labels, name_id key)
{
    for (uint32_t i = 0; i < labels.n; i++)
        if (labels.all[i].key == key)
            return &labels.all[i];
    return NULL;
}

bool labels_contain(struct label_list labels, const struct label *wanted, uint32_t wanted_n)
{
    for (uint32_t i = 0; i < wanted_n; i++) {
        const struct label *have = label_find(labels, wanted[i].key);
        if (!have || have->value != wanted[i].value)
            return false;
    }
    return true;
}

static bool value_listed(const struct requirement *r, name_id value)
{
    for (uint32_t i = 0; i < r->values_n; i++)
        if (r->values[i] == value)
            return true;
    return false;
}

bool requirement_matches(const struct requirement *r, struct label_list labels, name_id node_name, const struct intern *names)
{
    const struct label *have = NULL;
    struct label field = {r->key, node_name};
    if (!r->is_field)
        have = label_find(labels, r->key);
    else if (node_name)
        have = &field;
    int64_t number;
    switch (r->op) {
    case REQUIRE_IN:
        return have && value_listed(r, have->value);
    case REQUIRE_NOT_IN:
        return !have || !value_listed(r, have->value);
    case REQUIRE_EXISTS:
        return have != NULL;
    case REQUIRE_NOT_EXISTS:
        return have == NULL;
    case REQUIRE_GREATER:
        return have && bytes_int64(bytes_of(intern_name(names, have->value)), &number) && number > r->number;
    case REQUIRE_LESS:
        return have && bytes_int64(bytes_of(intern_name(names, have->value)), &number) && number < r->number;
    }
    return false;
}

bool selector_matches(const struct selector *sel, struct label_list labels, name_id node_name, const struct intern *names)
{
    if (sel->matches_nothing)
        return false;
    for (uint32_t i = 0; i < sel->all_n; i++)
        if (!requirement_matches(&sel->all[i], labels, node_name, names))
            return false;
    return true;
}

bool node_terms_match(const struct shape *shape, struct label_list labels, name_id node_name, const struct intern *names)
{
    if (!labels_contain(labels, shape->node_labels, shape->node_labels_n))
        return false;
    if (!shape->node_terms_n)
        return true;
    for (uint32_t i = 0; i < shape->node_terms_n; i++) {
        /* SOURCE core/v1 NodeSelectorTerm: an empty term matches no node */
        if (shape->node_terms[i].all_n && selector_matches(&shape->node_terms[i], labels, node_name, names))
            return true;
    }
    return false;
}

bool toleration_covers(const struct toleration *t, const struct taint *taint)
{
    if (t->effects && !(t->effects & (uint8_t)taint->effect))
        return false;
    if (!t->key)
        return t->exists;
    return t->key == taint->key && (t->exists || t->value == taint->value);
}

static bool any_covers(const struct toleration *all, uint32_t n, const struct taint *taint)
{
    for (uint32_t i = 0; i < n; i++)
        if (toleration_covers(&all[i], taint))
            return true;
    return false;
}

const struct taint *taint_untolerated(const struct taint *taints, uint32_t taints_n, const struct toleration *a, uint32_t a_n,
                                      const struct toleration *b, uint32_t b_n)
{
    for (uint32_t i = 0; i < taints_n; i++) {
        if (taints[i].effect == TAINT_PREFER_NO_SCHEDULE)
            continue;
        if (!any_covers(a, a_n, &taints[i]) && !any_covers(b, b_n, &taints[i]))
            return &taints[i];
    }
    return NULL;
}

bool port_conflicts(const struct host_port *a, const struct host_port *b)
{
    if (a->port != b->port || a->protocol != b->protocol)
        return false;
    return !a->address || !b->address || a->address == b->address;
}

void *bump_copy(struct bump *b, const void *from, size_t count, size_t size)
{
    size_t at = (b->n + 7) & ~(size_t)7;
    b->n = at + count * size;
    if (!b->base || !count)
        return NULL;
    memcpy(b->base + at, from, count * size);
    return b->base + at;
}

struct selector bump_selector(struct bump *b, const struct selector *from)
{
    struct selector copy = *from;
    struct requirement *all = bump_copy(b, from->all, from->all_n, sizeof *all);
    for (uint32_t i = 0; i < from->all_n; i++) {
        const name_id *values = bump_copy(b, from->all[i].values, from->all[i].values_n, sizeof *values);
        if (all)
            all[i].values = values;
    }
    copy.all = all;
    return copy;
}

static const struct pod_affinity *bump_affinities(struct bump *b, const struct pod_affinity *from, uint32_t n)
{
    struct pod_affinity *all = bump_copy(b, from, n, sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        struct selector pods = bump_selector(b, &from[i].pods);
        const name_id *namespaces = bump_copy(b, from[i].namespaces, from[i].namespaces_n, sizeof *namespaces);
        if (all) {
            all[i].pods = pods;
            all[i].namespaces = namespaces;
        }
    }
    return all;
}

static const struct topology_spread *bump_spreads(struct bump *b, const struct topology_spread *from, uint32_t n)
{
    struct topology_spread *all = bump_copy(b, from, n, sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        struct selector pods = bump_selector(b, &from[i].pods);
        if (all)
            all[i].pods = pods;
    }
    return all;
}

void bump_shape(struct bump *b, const struct shape *from, struct shape *ret_shape)
{
    struct shape to = *from;
    to.requests = bump_copy(b, from->requests, from->requests_n, sizeof *to.requests);
    to.node_labels = bump_copy(b, from->node_labels, from->node_labels_n, sizeof *to.node_labels);
    to.tolerations = bump_copy(b, from->tolerations, from->tolerations_n, sizeof *to.tolerations);
    to.ports = bump_copy(b, from->ports, from->ports_n, sizeof *to.ports);
    to.labels = bump_copy(b, from->labels, from->labels_n, sizeof *to.labels);
    struct selector *terms = bump_copy(b, from->node_terms, from->node_terms_n, sizeof *terms);
    for (uint32_t i = 0; i < from->node_terms_n; i++) {
        struct selector term = bump_selector(b, &from->node_terms[i]);
        if (terms)
            terms[i] = term;
    }
    to.node_terms = terms;
    struct node_preference *wishes = bump_copy(b, from->node_wishes, from->node_wishes_n, sizeof *wishes);
    for (uint32_t i = 0; i < from->node_wishes_n; i++) {
        struct selector term = bump_selector(b, &from->node_wishes[i].term);
        if (wishes)
            wishes[i].term = term;
    }
    to.node_wishes = wishes;
    to.affinities = bump_affinities(b, from->affinities, from->affinities_n);
    to.pod_wishes = bump_affinities(b, from->pod_wishes, from->pod_wishes_n);
    to.spreads = bump_spreads(b, from->spreads, from->spreads_n);
    to.spread_wishes = bump_spreads(b, from->spread_wishes, from->spread_wishes_n);
    *ret_shape = to;
}
