#include "core/explain/why.h"
#include "core/group/subgroups.h"
#include "core/place/fit.h"
#include "core/place/view.h"

static struct reason *make(struct arena *a, struct reason content)
{
    return reason_new(a, content);
}

/* ---- before anything is tried ---- */

static const struct flavor *without_topology(const struct state *s, const struct queue *q)
{
    for (uint32_t g = 0; g < q->groups_n; g++)
        for (uint32_t i = 0; i < q->groups[g].flavors_n; i++) {
            const struct flavor *f = flavor_find(s, q->groups[g].flavors[i]);
            if (f && f->topology && !topology_find(s, f->topology))
                return f;
        }
    return NULL;
}

struct reason *why_queue_refuses(const struct state *s, const struct queue *q, struct arena *a)
{
    if (q->closed) {
        struct reason *r = make(a, (struct reason){.code = REASON_QUEUE_INACTIVE, .queue = q->title, .queue_kind = q->kind});
        if (q->closed_text)
            reason_add(r, make(a, (struct reason){.code = REASON_ON_HOLD, .name = q->closed_text}));
        return r;
    }
    if (s->quota.nodes[q->quota].broken)
        return make(a, (struct reason){.code = REASON_QUEUE_INACTIVE, .queue = q->title, .queue_kind = q->kind, .name = q->cohort});
    for (uint32_t g = 0; g < q->groups_n; g++)
        for (uint32_t f = 0; f < q->groups[g].flavors_n; f++)
            if (!flavor_find(s, q->groups[g].flavors[f]))
                return make(a, (struct reason){.code = REASON_FLAVOR_MISSING, .queue = q->title, .name = q->groups[g].flavors[f],
                                               .flavor = q->groups[g].flavors[f]});
    const struct flavor *without = without_topology(s, q);
    if (without)
        return make(a, (struct reason){.code = REASON_TOPOLOGY_MISSING, .queue = q->title, .name = without->topology,
                                       .flavor = without->name});
    if (q->stop != STOP_NONE)
        return make(a, (struct reason){.code = REASON_QUEUE_STOPPED, .queue = q->title, .queue_kind = q->kind});
    return NULL;
}

static struct reason *why_no_queue(struct cycle *c, const struct gang *g, uint8_t *ret_park)
{
    name_id missing;
    struct queue *q = gang_asks_queue(c->s, g, &missing);
    *ret_park = PARK_QUEUE;
    const struct local_queue *l = g->own->local_queue ? local_queue_find(c->s, g->own->local_queue) : NULL;
    if (missing && l) /* which lead to ClusterQueues only */
        return make(c->a, (struct reason){.code = REASON_QUEUE_MISSING, .name = missing, .queue_kind = QUEUE_CLUSTER});
    if (missing)
        return make(c->a, (struct reason){.code = REASON_QUEUE_MISSING, .name = g->own->queue_title, .queue_kind = g->own->queue_kind});
    if (l && l->stop != STOP_NONE)
        return make(c->a, (struct reason){.code = REASON_QUEUE_STOPPED, .queue = l->queue, .name = l->title, .queue_kind = QUEUE_LOCAL});
    if (!q)
        return NULL;
    struct reason *r = why_queue_refuses(c->s, q, c->a);
    if (r && (r->code == REASON_FLAVOR_MISSING || r->code == REASON_TOPOLOGY_MISSING)) { /* the queue is at fault, whatever it would take */
        struct reason *root = make(c->a, (struct reason){.code = REASON_QUEUE_INACTIVE, .queue = q->title, .queue_kind = q->kind});
        reason_add(root, r);
        return root;
    }
    if (!r && !selector_matches(&q->namespaces, namespace_labels(c->s, g->ns), 0, c->s->names))
        r = make(c->a, (struct reason){.code = REASON_NAMESPACE_MISMATCH, .queue = q->title, .name = g->ns});
    return r;
}

static struct reason *why_not_whole_subgroups(struct cycle *c, const struct gang *g)
{
    struct subgroup_lack lack;
    if (!gang_lacks_subgroups(c->s, g, &lack))
        return NULL;
    return make(c->a, (struct reason){.code = REASON_MEMBERS_MISSING, .pod_set = lack.name, .have = lack.have, .need = lack.need,
                                      .taken = !lack.of_pods});
}

static struct reason *why_not_whole(struct cycle *c, const struct gang *g)
{
    int64_t need = g->min_members > 1 ? g->min_members : 1, have = gang_members_there(c->s, g, 0);
    name_id task = 0;
    for (uint32_t i = 0; i < g->own->min_of_task_n && have >= need; i++) {
        task = g->own->min_of_task[i].resource;
        need = g->own->min_of_task[i].value;
        have = gang_members_there(c->s, g, task);
    }
    struct reason *r = why_not_whole_subgroups(c, g); /* who cannot start for that does not count below */
    if (!r && have < need)
        r = make(c->a, (struct reason){.code = REASON_MEMBERS_MISSING, .name = task, .have = have, .need = need});
    if (!r)
        return NULL;
    int64_t gated_n = 0;
    for (uint32_t i = 0; i < g->members_n; i++)
        gated_n += c->s->pods[g->members[i]].gated;
    if (gated_n)
        reason_add(r, make(c->a, (struct reason){.code = REASON_GATED, .have = gated_n}));
    return r;
}

struct reason *why_not_ready(struct cycle *c, const struct gang *g, uint8_t *ret_park)
{
    *ret_park = PARK_SELF;
    if (!g->active)
        return make(c->a, (struct reason){.code = REASON_INACTIVE});
    if (g->on_hold)
        return make(c->a, (struct reason){.code = g->hold_is_fault ? REASON_MISCONFIGURED : REASON_ON_HOLD,
                                          .name = g->own->hold_text});
    int64_t not_before_ms = gang_not_before_ms(g);
    if (not_before_ms > c->now_ms) {
        *ret_park = PARK_TIME;
        return make(c->a, (struct reason){.code = REASON_BACKOFF, .need = not_before_ms});
    }
    struct reason *r = why_no_queue(c, g, ret_park);
    if (!r && !g->planned) {
        *ret_park = PARK_SELF;
        r = why_not_whole(c, g);
    }
    return r;
}

/* ---- placement ---- */

static void add_count(struct cycle *c, struct reason *r, enum reason_code code, uint32_t nodes_n)
{
    if (nodes_n)
        reason_add(r, make(c->a, (struct reason){.code = code, .nodes_n = nodes_n}));
}

/* Nodes with room that other pods keep this one from. */
static void add_neighbours(struct cycle *c, struct reason *r, const struct misfit *m, const struct view *v)
{
    struct neighbours rules;
    if (!neighbour_prepare(c->s, m->shape, m->labels, &rules))
        return;
    uint32_t counts[4] = {0};
    for (uint32_t slot = 1; slot < v->n; slot++)
        if (v->room[slot])
            counts[neighbour_check(c->s, &rules, &c->s->shapes.classes[m->shape].shape, slot)]++;
    neighbour_release(&rules);
    add_count(c, r, REASON_NODE_AFFINITY, counts[NEIGHBOUR_AFFINITY]);
    add_count(c, r, REASON_NODE_ANTI_AFFINITY, counts[NEIGHBOUR_ANTI]);
    add_count(c, r, REASON_NODE_SPREAD, counts[NEIGHBOUR_SPREAD]);
}

struct reason *why_unplaced(struct cycle *c, const struct misfit *m, name_id pod_set, name_id flavor)
{
    if (m->domains.topology)
        return why_no_domain(c, m, pod_set, flavor);
    struct view *v = view_sync(c->s, m->shape);
    struct reason *r = make(c->a, (struct reason){.code = REASON_PLACEMENT_FAILED, .pod_set = pod_set, .flavor = flavor,
                                                  .have = m->placed_n, .need = m->wanted_n, .nodes_n = c->s->nodes.known_n});
    if (!c->s->nodes.known_n) {
        reason_add(r, make(c->a, (struct reason){.code = REASON_NO_NODES}));
        return r;
    }
    if (m->arrangement)
        reason_add(r, make(c->a, (struct reason){.code = m->gave_up ? REASON_GAVE_UP : REASON_ARRANGEMENT,
                                                 .have = m->many_kinds ? PLACE_KINDS : 0, .need = PLACE_STEPS}));
    if (m->neighbours)
        add_neighbours(c, r, m, v);
    if (c->no_counts)
        return r;
    const struct diagnosis *d = view_diagnose(c->s, v, m->neighbours);
    for (uint32_t i = 0; i < d->resources_n; i++)
        reason_add(r, make(c->a, (struct reason){.code = REASON_NODE_RESOURCE, .resource = d->resources[i].name,
                                                 .nodes_n = d->resources[i].nodes_n, .have = d->resources[i].most,
                                                 .need = d->resources[i].need}));
    add_count(c, r, REASON_NODE_SELECTOR, d->selector_n);
    for (uint32_t i = 0; i < d->taints_n; i++)
        reason_add(r, make(c->a, (struct reason){.code = REASON_NODE_TAINT, .name = d->taints[i].name, .nodes_n = d->taints[i].nodes_n}));
    add_count(c, r, REASON_NODE_UNSCHEDULABLE, d->unschedulable_n);
    add_count(c, r, REASON_NODE_NOT_READY, d->not_ready_n);
    add_count(c, r, REASON_NODE_PORT, d->ports_n);
    add_count(c, r, c->s->shapes.classes[m->shape].share.n ? REASON_NODE_SHARE : REASON_NODE_DEVICE, d->devices_n);
    return r;
}
