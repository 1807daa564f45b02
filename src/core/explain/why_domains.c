/* why_domains.c - why no domain of a topology holds a pod set
 *
 * SOURCE Kueue counts the nodes that have the flavor's labels and those of the topology, are ready and take pods, and of these those that
 *        do not hold a single pod; where the lowest level is no node, it counts that level's domains.
 */
#include "core/explain/why.h"
#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/place/view.h"

/* What is counted of nodes with one taint: told apart by its ids, put in words once. */
struct taint_count {
    struct taint taint;
    uint32_t nodes_n;
};
struct exclusions {
    uint32_t looked_at_n, labels_n, affinity_n, ports_n, resources_n, taints_n;
    struct lack resources[LACKS_MAX];
    struct taint_count taints[LACKS_MAX];
};

static void count_resource(struct exclusions *to, name_id resource)
{
    uint32_t i = 0;
    while (i < to->resources_n && to->resources[i].name != resource)
        i++;
    if (i == to->resources_n && i < LACKS_MAX)
        to->resources[to->resources_n++] = (struct lack){.name = resource};
    to->resources[i < LACKS_MAX ? i : LACKS_MAX - 1].nodes_n++;
}

static void count_taint(struct exclusions *to, struct taint taint)
{
    uint32_t i = 0;
    while (i < to->taints_n && (to->taints[i].taint.key != taint.key || to->taints[i].taint.value != taint.value ||
                                to->taints[i].taint.effect != taint.effect))
        i++;
    if (i == to->taints_n && i < LACKS_MAX)
        to->taints[to->taints_n++] = (struct taint_count){.taint = taint};
    to->taints[i < LACKS_MAX ? i : LACKS_MAX - 1].nodes_n++;
}

/* The resource of which a node has the fewest places; of several the first by name. */
static name_id scarcest(const struct state *s, const struct shape_class *c, uint32_t node)
{
    const int64_t *left = node_free(&s->nodes, node);
    name_id scarce = 0;
    int64_t fewest = INT64_MAX;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const struct demand *d = &c->demands[i];
        int64_t n = d->column < 0 || left[d->column] < 0 ? 0 : left[d->column] / d->value;
        if (n > fewest || (n == fewest && strcmp(intern_name(s->names, d->resource), intern_name(s->names, scarce)) > 0))
            continue;
        fewest = n;
        scarce = d->resource;
    }
    return fewest ? 0 : scarce; /* there are enough, but not of those that can be given: ports, devices */
}

static name_id taint_text(struct state *s, const struct taint *taint)
{
    const char *value = intern_name(s->names, taint->value);
    buf_clear(&s->text);
    buf_printf(&s->text, "%s%s%s:%s", intern_name(s->names, taint->key), *value ? "=" : "", value,
               taint->effect == TAINT_NO_EXECUTE ? "NoExecute" : "NoSchedule");
    return intern_id(s->names, buf_view(&s->text));
}

/* Kueue counts nodes of the flavor only. */
static bool is_of_flavor(const struct state *s, const struct flavor *f, uint32_t node)
{
    return !f || labels_contain(node_labels(&s->nodes, node), f->labels.all, f->labels.n);
}

static void look_at(struct state *s, const struct view *v, const struct flavor *f, uint32_t node, struct exclusions *to)
{
    const struct shape_class *c = &s->shapes.classes[v->shape];
    enum fit_cause cause = (enum fit_cause)v->cause[node];
    const struct taint *taint = NULL;
    if (cause == FIT_UNKNOWN_NODE || cause == FIT_NOT_READY || cause == FIT_UNSCHEDULABLE || (cause != FIT_OK && !is_of_flavor(s, f, node)))
        return;
    to->looked_at_n++;
    if (cause == FIT_TAINT) {
        (void)fit_record(s, c, node, &taint);
        if (taint)
            count_taint(to, *taint);
    } else if (cause == FIT_SELECTOR) {
        bool labels = labels_contain(node_labels(&s->nodes, node), c->shape.node_labels, c->shape.node_labels_n);
        *(labels ? &to->affinity_n : &to->labels_n) += 1;
    } else if (!v->room[node]) {
        name_id resource = scarcest(s, c, node);
        if (resource)
            count_resource(to, resource);
        else
            to->ports_n++;
    }
}

/* A domain counts as one node: the first that says something of it. */
static void look_at_leaf(struct state *s, const struct view *v, const struct flavor *f, const struct topology *t, uint32_t leaf,
                         struct exclusions *to)
{
    const struct domain *d = &t->domains[leaf];
    uint32_t first = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t node = t->nodes[d->first + i];
        if (v->room[node]) {
            to->looked_at_n++;
            return;
        }
        first = !first || (v->cause[node] == FIT_OK && v->cause[first] != FIT_OK) ? node : first;
    }
    look_at(s, v, f, first, to);
}

static void add(struct cycle *c, struct reason *r, struct reason content)
{
    if (content.nodes_n)
        reason_add(r, reason_new(c->a, content));
}

static void add_exclusions(struct cycle *c, struct reason *r, const struct misfit *m, name_id flavor)
{
    struct state *s = c->s;
    const struct topology *t = topology_sync(s, m->domains.topology);
    const struct view *v = view_sync(s, m->shape);
    const struct flavor *f = flavor ? flavor_find(s, flavor) : NULL;
    struct exclusions *x = arena_zero(c->a, 1, sizeof *x);
    for (uint32_t leaf = topology_first_leaf(t); leaf < t->domains_n; leaf++) {
        if (!t->by_node)
            look_at_leaf(s, v, f, t, leaf, x);
        for (uint32_t i = 0; i < t->domains[leaf].n && t->by_node; i++)
            look_at(s, v, f, t->nodes[t->domains[leaf].first + i], x);
    }
    r->nodes_n = x->looked_at_n;
    add(c, r, (struct reason){.code = REASON_NODE_SELECTOR, .nodes_n = x->affinity_n});
    add(c, r, (struct reason){.code = REASON_NODE_LABELS, .nodes_n = x->labels_n});
    for (uint32_t i = 0; i < x->resources_n; i++)
        add(c, r, (struct reason){.code = REASON_NODE_RESOURCE, .resource = x->resources[i].name, .nodes_n = x->resources[i].nodes_n});
    for (uint32_t i = 0; i < x->taints_n; i++)
        add(c, r, (struct reason){.code = REASON_NODE_TAINT, .name = taint_text(s, &x->taints[i].taint), .nodes_n = x->taints[i].nodes_n});
    add(c, r, (struct reason){.code = REASON_NODE_PORT, .nodes_n = x->ports_n});
}

/* What would hold a pod, had it the labels of the topology: by the first that it lacks. */
static void add_outside(struct cycle *c, struct reason *r, const struct misfit *m, const struct flavor *f)
{
    struct state *s = c->s;
    const struct topology *t = topology_sync(s, m->domains.topology);
    const struct view *v = view_sync(s, m->shape);
    uint32_t lack_n[TOPOLOGY_LEVELS] = {0};
    for (uint32_t node = 1; node < s->nodes.n && !t->has_tiers; node++) {
        uint32_t level = 0;
        if (topology_leaf(t, node) || v->cause[node] != FIT_OK || !v->room[node] || !is_of_flavor(s, f, node))
            continue;
        while (level + 1 < t->levels_n && label_find(node_labels(&s->nodes, node), t->levels[level]))
            level++;
        lack_n[level]++;
    }
    for (uint32_t i = 0; i < t->levels_n; i++)
        add(c, r, (struct reason){.code = REASON_TOPOLOGY_OUTSIDE, .name = t->levels[i], .nodes_n = lack_n[i]});
}

struct reason *why_no_domain(struct cycle *c, const struct misfit *m, name_id pod_set, name_id flavor)
{
    const struct domain_misfit *d = &m->domains;
    struct reason content = {.code = REASON_TOPOLOGY_UNFIT, .name = d->level, .resource = d->other, .pod_set = pod_set, .flavor = flavor,
                             .have = d->trouble};
    if (d->trouble == DOMAINS_TIER_SHORT)
        content = (struct reason){.code = REASON_TIER_SHORT, .name = d->level, .resource = d->other, .have = d->have, .need = d->want};
    else if (d->trouble >= DOMAINS_TIER_SHORT)
        content.code = REASON_TIER_UNFIT;
    if (d->trouble != DOMAINS_SHORT)
        return reason_new(c->a, content);
    content = (struct reason){.code = d->is_sliced ? REASON_TOPOLOGY_SHORT_SLICES : REASON_TOPOLOGY_SHORT, .pod_set = pod_set,
                              .flavor = flavor, .name = c->s->topologies[d->topology].name, .have = d->have, .need = d->want};
    struct reason *r = reason_new(c->a, content);
    for (uint32_t i = 0; i < d->layers_n; i++)
        reason_add(r, reason_new(c->a, (struct reason){.code = REASON_TOPOLOGY_LAYER, .name = d->layers[i], .have = d->layer_have[i],
                                                       .need = d->layer_want[i]}));
    add_exclusions(c, r, m, flavor);
    add_outside(c, r, m, flavor ? flavor_find(c->s, flavor) : NULL);
    return r;
}
