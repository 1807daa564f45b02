/* promise_words.c - what a victim and its preemptor are told, as reasons */
#include "core/preempt/promise.h"
#include "core/state/model.h"

static void path_of(const struct state *s, uint32_t node, struct buf *out)
{
    const struct quota_node *n = &s->quota.nodes[node];
    if (n->parent)
        path_of(s, n->parent, out);
    buf_char(out, '/');
    buf_text(out, intern_name(s->names, n->name));
}

static name_id path_name(struct state *s, const struct queue *q)
{
    buf_clear(&s->text);
    if (q)
        path_of(s, q->quota, &s->text);
    return q ? intern_id(s->names, buf_view(&s->text)) : 0;
}

/* Of what the preemptor needs, the first of which the victim's queue has more than it deserves. */
static void note_deserved(const struct state *s, const struct gang *victim, struct reason *r)
{
    const struct promise *p = victim->preemptor->promise;
    r->pod_set = victim->preemptor->ns;
    r->queue = p->queue->title;
    r->flavor = victim->queue->title;
    for (uint32_t i = 0; i < p->charges_n && !r->resource; i++) {
        const struct quota_cell *cell = quota_find(&s->quota, victim->queue->quota, p->charges[i].flavor, p->charges[i].resource);
        if (!cell || cell->usage <= cell->subtree)
            continue;
        r->resource = p->charges[i].resource;
        r->need = cell->subtree;
    }
}

static void add_spared(const struct promise *p, struct arena *a, struct reason *to)
{
    if (p->spares)
        reason_add(to, reason_new(a, (struct reason){.code = REASON_SPARED, .name = p->spared, .pod_set = p->spared_ns,
                                                     .have = p->spares}));
}

const struct reason *promise_why(struct state *s, const struct gang *victim, struct arena *a)
{
    const struct gang *g = victim->preemptor;
    struct reason r = {.code = REASON_PREEMPTED, .name = g->key, .pod_set = g->uid, .have = victim->preempted_as};
    if (g->promise->by_priority) {
        r.flavor = g->promise->rooms->node_name;
        return reason_new(a, r);
    }
    if (victim->preempted_as == PREEMPTION_DESERVED && victim->queue) {
        note_deserved(s, victim, &r);
    } else if (victim->preempted_as == PREEMPTION_BY_PRIORITY) {
        r.pod_set = g->ns;
        r.taken = gang_is_lone(g);
    } else if (victim->preempted_as == PREEMPTION_LOWER_IN_QUEUE) {
        r.pod_set = g->ns;
        r.queue = g->promise->queue->title;
    } else {
        r.queue = path_name(s, g->promise->queue);
        r.flavor = path_name(s, victim->queue);
    }
    struct reason *why = reason_new(a, r);
    add_spared(g->promise, a, why);
    if (victim->shrinks)
        reason_add(why, reason_new(a, (struct reason){.code = REASON_SURPLUS, .need = victim->min_members}));
    return why;
}

struct reason *promise_what(const struct gang *g, struct arena *a)
{
    const struct promise *p = g->promise;
    struct reason *root = reason_new(a, (struct reason){.code = REASON_PREEMPTING, .need = p->victims_n});
    root->name = gang_is_lone(g) ? p->rooms->node_name : 0;
    root->queue = p->queue && p->queue->has_shares ? p->queue->title : 0;
    for (uint32_t i = 0; i < p->victims_n; i++) {
        const struct gang *v = p->victims[i];
        reason_add(root, reason_new(a, (struct reason){.code = REASON_PREEMPTED_GANG, .name = v->key, .pod_set = v->ns,
                                                       .have = v->preempted_as}));
        root->have += (root->queue && v->preempted_as == PREEMPTION_LOWER_IN_QUEUE) ||
                      (v->preempted_as == PREEMPTION_BY_PRIORITY && !gang_is_lone(v));
    }
    add_spared(p, a, root);
    if (p->members_n)
        reason_add(root, reason_new(a, (struct reason){.code = REASON_SURPLUS, .need = p->members_n}));
    return root;
}
