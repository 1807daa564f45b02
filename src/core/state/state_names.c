/* state_names.c - every name that the state keeps, marked for intern_sweep (base/collections/intern.h)
 *
 * CONTRACT  whoever adds a name_id to a record of core/state/model.h, or to a table that outlives a cycle, marks it here.
 *           tests/model/events/core_events.c sweeps after every step and compares with a run that never does.
 */
#include "core/state/model.h"
#include "core/state/state_unused.h"

static void mark(const struct state *s, name_id name)
{
    intern_mark(s->names, name);
}

static void mark_all(const struct state *s, const name_id *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        mark(s, names[i]);
}

static void mark_labels(const struct state *s, const struct label *labels, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark(s, labels[i].key);
        mark(s, labels[i].value);
    }
}

static void mark_taints(const struct state *s, const struct taint *taints, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark(s, taints[i].key);
        mark(s, taints[i].value);
    }
}

static void mark_tolerations(const struct state *s, const struct toleration *tolerations, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark(s, tolerations[i].key);
        mark(s, tolerations[i].value);
    }
}

static void mark_selector(const struct state *s, const struct selector *selector)
{
    for (uint32_t i = 0; i < selector->all_n; i++) {
        mark(s, selector->all[i].key);
        mark_all(s, selector->all[i].values, selector->all[i].values_n);
    }
}

/* ---- nodes, shapes ---- */

static void mark_nodes(const struct state *s)
{
    const struct node_table *t = &s->nodes;
    mark_all(s, t->columns, t->columns_n);
    for (uint32_t slot = 1; slot < t->n; slot++) {
        const struct node *node = &t->nodes[slot];
        mark(s, node->name);
        mark_labels(s, node->labels, node->labels_n);
        mark_taints(s, node->taints, node->taints_n);
        for (uint32_t i = 0; i < node->devices.n; i++) {
            mark(s, node->devices.all[i].resource);
            mark(s, node->devices.all[i].id);
        }
        for (uint32_t i = 0; node->feedback && i < node->feedback->n; i++)
            mark(s, node->feedback->all[i].id);
    }
}

static void mark_affinities(const struct state *s, const struct pod_affinity *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark_selector(s, &all[i].pods);
        mark_all(s, all[i].namespaces, all[i].namespaces_n);
        mark(s, all[i].topology_key);
    }
}

static void mark_spreads(const struct state *s, const struct topology_spread *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark_selector(s, &all[i].pods);
        mark(s, all[i].topology_key);
    }
}

/* What the canonical words of a class name, its shape names too, and what its demands name. So does the diagnosis of its view, but for
 * taints of nodes: it is made anew when a node changes. */
static void mark_class(const struct state *s, const struct shape_class *c)
{
    const struct shape *shape = &c->shape;
    for (uint32_t i = 0; i < shape->requests_n; i++)
        mark(s, shape->requests[i].resource);
    mark_labels(s, shape->node_labels, shape->node_labels_n);
    for (uint32_t i = 0; i < shape->node_terms_n; i++)
        mark_selector(s, &shape->node_terms[i]);
    for (uint32_t i = 0; i < shape->node_wishes_n; i++)
        mark_selector(s, &shape->node_wishes[i].term);
    mark_tolerations(s, shape->tolerations, shape->tolerations_n);
    for (uint32_t i = 0; i < shape->ports_n; i++)
        mark(s, shape->ports[i].address);
    mark_affinities(s, shape->affinities, shape->affinities_n);
    mark_affinities(s, shape->pod_wishes, shape->pod_wishes_n);
    mark_spreads(s, shape->spreads, shape->spreads_n);
    mark_spreads(s, shape->spread_wishes, shape->spread_wishes_n);
}

static void mark_shapes(const struct state *s)
{
    const struct shape_table *t = &s->shapes;
    for (uint32_t id = 1; id < t->classes_n; id++)
        if (t->classes[id].refs)
            mark_class(s, &t->classes[id]);
    for (uint32_t id = 1; id < t->sets_n; id++) {
        mark(s, t->sets[id].ns); /* a free set has none */
        mark_labels(s, t->sets[id].labels.all, t->sets[id].labels.n);
    }
}

/* ---- queues ---- */

static void mark_quotas(const struct state *s, const struct quota_record *quotas, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        mark(s, quotas[i].flavor);
        mark(s, quotas[i].resource);
    }
}

static void mark_tree(const struct state *s)
{
    for (uint32_t id = 1; id < s->quota.nodes_n; id++) {
        const struct quota_node *node = &s->quota.nodes[id];
        mark(s, node->name);
        mark(s, node->parent_name);
        mark_quotas(s, node->records, node->records_n);
        for (uint32_t i = 0; i < node->cells_n; i++) {
            mark(s, (name_id)(node->cells[i].key >> 32));
            mark(s, (name_id)node->cells[i].key);
        }
    }
}

static void mark_shares(const struct state *s, const struct queue_shares *x)
{
    mark(s, x->parent);
    for (uint32_t i = 0; i < x->deserved_n; i++)
        mark(s, x->deserved[i].resource);
    for (uint32_t i = 0; i < x->guarantee_n; i++)
        mark(s, x->guarantee[i].resource);
    for (uint32_t i = 0; i < x->capability_n; i++)
        mark(s, x->capability[i].resource);
    for (uint32_t i = 0; i < x->counts_n; i++) {
        mark(s, x->counts[i].as);
        mark(s, x->counts[i].resource);
        mark(s, x->counts[i].of);
    }
}

static void mark_queue(const struct state *s, const struct queue *q)
{
    mark_shares(s, &q->shares);
    mark(s, q->name);
    mark(s, q->title);
    mark(s, q->cohort);
    mark(s, q->closed_text);
    mark_selector(s, &q->namespaces);
    mark_quotas(s, q->quotas, q->quotas_n);
    for (uint32_t i = 0; i < q->groups_n; i++) {
        mark_all(s, q->groups[i].resources, q->groups[i].resources_n);
        mark_all(s, q->groups[i].flavors, q->groups[i].flavors_n);
    }
    for (uint32_t i = 0; i < q->checks_n; i++) {
        mark(s, q->checks[i].name);
        mark_all(s, q->checks[i].flavors, q->checks[i].flavors_n);
    }
}

static void mark_consumption(const struct state *s, const struct consumption *h)
{
    for (uint32_t i = 0; i < h->rows_n; i++)
        mark(s, h->rows[i].resource);
}

static void mark_queues(const struct state *s)
{
    for (uint32_t i = 0; i < s->queues_n; i++)
        mark_queue(s, s->queues[i]);
    for (uint32_t i = 1; i < s->local_queues_n; i++) {
        mark(s, s->local_queues[i].key);
        mark(s, s->local_queues[i].title);
        mark(s, s->local_queues[i].ns);
        mark(s, s->local_queues[i].queue);
        mark_consumption(s, &s->local_queues[i].consumption);
    }
    for (uint32_t i = 1; i < s->namespaces_n; i++) {
        mark(s, s->namespaces[i].name);
        mark_labels(s, s->namespaces[i].labels.all, s->namespaces[i].labels.n);
    }
    for (uint32_t i = 1; i < s->flavors_n; i++) {
        const struct flavor *f = &s->flavors[i];
        mark(s, f->name);
        mark(s, f->topology);
        mark_labels(s, f->labels.all, f->labels.n);
        mark_taints(s, f->taints, f->taints_n);
        mark_tolerations(s, f->tolerations, f->tolerations_n);
    }
}

/* ---- gangs, lines, pods ---- */

static void mark_reason(const struct state *s, const struct reason *r)
{
    for (; r; r = r->next) {
        mark(s, r->name);
        mark(s, r->queue);
        mark(s, r->flavor);
        mark(s, r->resource);
        mark(s, r->pod_set);
        mark_reason(s, r->child);
        mark_reason(s, r->remedies);
    }
}

static void mark_hopes(const struct state *s, const struct parking *p)
{
    for (uint32_t i = 0; i < p->hopes_n && p->hopes_n <= PARK_HOPES; i++) {
        mark(s, p->hopes[i].flavor);
        mark(s, p->hopes[i].resource);
    }
}

static void mark_topologies(const struct state *s)
{
    for (uint32_t i = 1; i < s->topologies_n; i++) {
        const struct topology *t = &s->topologies[i];
        mark(s, t->name);
        mark_all(s, t->levels, t->levels_n);
        mark_all(s, t->row_nodes, t->rows_n);
        mark_all(s, t->row_domains, t->rows_n * t->levels_n);
        for (uint32_t k = 1; k < t->domains_n; k++)
            mark(s, t->domains[k].value);
        for (uint32_t leaf = t->domains_n > 1 ? topology_first_leaf(t) : t->domains_n; leaf < t->domains_n; leaf++)
            mark(s, topology_leaf_name(t, leaf));
    }
}

static void mark_request(const struct state *s, const struct topology_request *r)
{
    mark(s, r->level);
    mark(s, r->group);
    for (uint32_t i = 0; i < r->slices_n; i++)
        mark(s, r->slices[i].level);
}

static void mark_what_is_held(const struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->own->choices_n; i++) {
        mark(s, g->own->choices[i].resource);
        mark(s, g->own->choices[i].flavor);
    }
    for (uint32_t i = 0; i < g->own->told_n; i++)
        mark(s, g->own->told[i].domain);
    mark(s, g->own->lost);
    for (uint32_t i = 0; i < g->own->charges_n; i++) {
        mark(s, g->own->charges[i].flavor);
        mark(s, g->own->charges[i].resource);
    }
}

static void mark_promise(const struct state *s, const struct promise *p)
{
    mark(s, p->spared);
    mark(s, p->spared_ns);
    for (uint32_t i = 0; i < p->charges_n; i++) {
        mark(s, p->charges[i].flavor);
        mark(s, p->charges[i].resource);
    }
    for (uint32_t i = 0; i < p->choices_n; i++) {
        mark(s, p->choices[i].flavor);
        mark(s, p->choices[i].resource);
    }
    for (uint32_t i = 0; i < p->rooms_n; i++) {
        mark(s, p->rooms[i].node_name);
        mark(s, p->rooms[i].resource);
    }
    for (uint32_t i = 0; i < p->movers_n; i++)
        mark(s, p->movers[i]);
    for (uint32_t i = 0; i < p->mover_places_n; i++)
        mark(s, p->mover_places[i].node_name);
    for (uint32_t i = 0; i < p->mover_charges_n; i++) {
        mark(s, p->mover_charges[i].queue);
        mark(s, p->mover_charges[i].charge.flavor);
        mark(s, p->mover_charges[i].charge.resource);
    }
}

static void mark_bookings(const struct state *s)
{
    for (uint32_t i = 0; i < s->bookings_n; i++) {
        const struct booking *b = s->bookings[i];
        for (uint32_t k = 0; k < b->places_n; k++)
            mark(s, b->places[k].node);
        for (uint32_t k = 0; k < b->quota_n; k++) {
            mark(s, b->quota[k].flavor);
            mark(s, b->quota[k].resource);
        }
        for (uint32_t k = 0; k < b->rooms_n; k++) {
            mark(s, b->rooms[k].node_name);
            mark(s, b->rooms[k].resource);
        }
    }
}

static void mark_subgroups(const struct state *s, const struct gang *g)
{
    const struct subgroup_policy *all;
    for (uint32_t i = 0, n = gang_subgroups(g, &all); i < n; i++) {
        mark(s, all[i].name);
        mark(s, all[i].tiers.title);
        mark_all(s, all[i].keys, all[i].keys_n);
        mark_selector(s, &all[i].pods);
    }
}

static void mark_gang(const struct state *s, const struct gang *g)
{
    const struct gang_object *o = g->own;
    mark_all(s, (const name_id[]){g->key, g->ns, o->local_queue, o->queue_name, o->queue_title, g->uid, o->hold_text, o->unknown_queue}, 8);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        mark(s, g->sets[i].name);
        mark_request(s, set_topology(&g->sets[i]));
    }
    for (uint32_t i = 0; i < g->own->min_of_task_n; i++)
        mark(s, g->own->min_of_task[i].resource);
    for (uint32_t i = 0; i < g->own->checks_n; i++)
        mark(s, g->own->checks[i].name);
    for (uint32_t i = 0; g->own->terms && i < g->own->terms->least_n; i++)
        mark(s, g->own->terms->least[i].resource);
    for (uint32_t i = 0; g->own->had && i < g->own->had->n; i++)
        mark(s, g->own->had->all[i].resource);
    if (gang_tiers(g))
        mark(s, gang_tiers(g)->title);
    mark_subgroups(s, g);
    mark_what_is_held(s, g);
    if (g->own->consumption) {
        mark(s, g->own->consumption->held_of);
        mark(s, g->own->consumption->entry_of);
        mark_consumption(s, &g->own->consumption->own);
    }
    mark_reason(s, g->reason);
    if (g->park)
        mark_hopes(s, g->park);
    if (g->promise)
        mark_promise(s, g->promise);
}

/* The names in a line's key are those of its queue and of every gang in it. */
static void mark_lines(const struct state *s)
{
    size_t at = 0;
    struct bytes key;
    struct line **slot;
    while ((slot = map_next(s->lines, &at, &key))) {
        const struct line *l = *slot;
        mark_reason(s, l->reason);
        mark_hopes(s, &l->park);
        if (l->recheck)
            mark_hopes(s, &l->woken);
    }
}

static void mark_pods(const struct state *s)
{
    for (uint32_t i = 1; i < s->pods_n; i++) {
        const struct pod *p = &s->pods[i];
        mark_all(s, (const name_id[]){p->key, p->uid, p->pod_set, p->node_name, p->nominated, p->devices}, 6); /* a free slot has none */
    }
}

static void mark_budgets(const struct state *s)
{
    for (uint32_t i = 0; i < s->budgets_n; i++) {
        const struct budget *b = &s->budgets[i];
        mark(s, b->key);
        mark(s, b->ns);
        mark_selector(s, &b->pods);
        mark_all(s, b->disrupted, b->disrupted_n);
    }
}

void state_mark_names(struct state *s)
{
    state_drop_unused(s);
    mark_all(s, (const name_id[]){s->name_pods, s->name_cpu, s->name_memory}, 3);
    for (uint32_t i = 0; i < s->consumption_weights_n; i++)
        mark(s, s->consumption_weights[i].resource);
    mark_nodes(s);
    mark_shapes(s);
    mark_tree(s);
    mark_queues(s);
    mark_topologies(s);
    for (uint32_t i = 0; i < s->gangs_n; i++)
        mark_gang(s, s->gangs[i]);
    mark_bookings(s);
    mark_lines(s);
    mark_pods(s);
    mark_budgets(s);
}
