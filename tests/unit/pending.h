/* pending.h - the lists of who waits in each queue, against what is known otherwise, for tests and models of the core */
#ifndef TEST_PENDING_H
#define TEST_PENDING_H
#include "core/queue/consumption.h"
#include "core/state/state.h"

/* All gangs that wait in the queue, found the slow way: is one of them missing, or somebody else there, or out of order? */
static inline bool pending_of_queue(const struct state *s, const struct queue *q, struct arena *a, struct err *e)
{
    struct pending_gang *all;
    uint32_t n = state_queue_pending(s, q->name, a, &all), wanted_n = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *g = s->gangs[i];
        const struct queue *counted = g->own->counted_local ? s->local_queues[g->own->counted_local].counted : g->own->counted_queue;
        wanted_n += counted == q && g->phase == GANG_WAITING && g->active;
    }
    if (n != wanted_n || n != q->counts.pending_n)
        return err_set(e, E_INVALID, "queue %s lists %u that wait, has %u, counts %u", intern_name(s->names, q->name), n, wanted_n,
                       q->counts.pending_n), false;
    for (uint32_t i = 1; i < n; i++)
        if (!consumption_before(s, q, gang_find(s, all[i - 1].gang), gang_find(s, all[i].gang)))
            return err_set(e, E_INVALID, "queue %s lists %s in the wrong place", intern_name(s->names, q->name),
                           intern_name(s->names, all[i].gang)), false;
    return true;
}

static inline bool pending_check(const struct state *s, struct err *e)
{
    struct arena *a = arena_new();
    bool right = true;
    for (uint32_t i = 1; i < s->queues_n && right; i++)
        right = !s->queues[i]->known || pending_of_queue(s, s->queues[i], a, e);
    arena_free(a);
    return right;
}

#endif
