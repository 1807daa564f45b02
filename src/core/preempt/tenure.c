#include "core/preempt/tenure.h"

/* Of the queue, or of the one above it, that stands just below `shared`. */
static const struct queue *side_of(const struct state *s, const struct queue *q, uint32_t shared)
{
    const struct quota_node *nodes = s->quota.nodes;
    uint32_t at = q->quota;
    while (nodes[at].parent && nodes[at].parent != shared)
        at = nodes[at].parent;
    const struct queue *side = queue_find(s, nodes[at].name);
    return side ? side : q;
}

static int64_t began_ms(const struct state *s, const struct gang *g)
{
    int64_t first = s->now_ms;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->seat && p->started_ms && p->started_ms < first)
            first = p->started_ms;
    }
    return first;
}

int64_t tenure_stays_until_ms(const struct state *s, const struct gang *g, uint32_t shared)
{
    if (!g->queue || !g->queue->has_shares)
        return 0;
    int64_t least = shared ? side_of(s, g->queue, shared)->shares.reclaim_after_ms : g->queue->shares.preempt_after_ms;
    int64_t until = least > 0 ? began_ms(s, g) + least : 0;
    return until > s->now_ms ? until : 0;
}

int64_t tenure_preempts_from_ms(const struct state *s, const struct gang *g)
{
    int64_t waits_ms = INT64_MAX, from = g->own->preempts_after_ms;
    int32_t patience_s = g->own->terms ? g->own->terms->patience_s : 0;
    if (patience_s <= 0)
        return from;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (!p->seat && p->phase <= POD_RUNNING && p->created_ms < waits_ms)
            waits_ms = p->created_ms;
    }
    waits_ms = waits_ms == INT64_MAX || waits_ms < g->created_ms ? g->created_ms : waits_ms;
    int64_t end = waits_ms + 1000 * (int64_t)patience_s;
    return end > from ? end : from;
}
