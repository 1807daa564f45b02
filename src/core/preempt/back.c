#include "core/preempt/back.h"
#include "base/amount.h"
#include "core/queue/lane.h"
#include "core/queue/shrink.h"

static int64_t asked_of(const struct state *s, const struct gang *g, name_id resource)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        for (uint32_t k = 0; k < c->demands_n; k++)
            if (c->demands[k].resource == resource)
                sum = amount_plus(sum, amount_times(c->demands[k].value, set_needs(&g->sets[i])));
    }
    return sum;
}

static int64_t had_of(const struct gang *g, name_id flavor, name_id resource)
{
    for (uint32_t i = 0; i < g->own->charges_n; i++)
        if (g->own->charges[i].flavor == flavor && g->own->charges[i].resource == resource)
            return g->own->charges[i].amount;
    return 0;
}

/* What a queue has left of its own, of something that the preemptor needs; 0: nothing. */
static int64_t own_left(const struct preemptor *x, const struct queue *q, const struct charge *need)
{
    const struct quota_cell *cell = quota_find(&x->c->s->quota, q->quota, need->flavor, need->resource);
    return cell && cell->usage < cell->subtree ? cell->subtree - cell->usage : 0;
}

/* Could this one, waiting or gone for the preemptor, have something of that within its queue's own quota? */
static bool takes_back(const struct preemptor *x, const struct queue *q, const struct gang *g, bool waits)
{
    if (q->reclaim == PREEMPT_LOWER_PRIORITY && g->priority <= x->gang->priority)
        return false;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        const struct charge *need = &x->needs[i];
        int64_t asked = waits ? asked_of(x->c->s, g, need->resource) : had_of(g, need->flavor, need->resource);
        if (x->is_short[i] && asked > 0 && asked <= own_left(x, q, need))
            return true;
    }
    return false;
}

static bool has_some_left(const struct preemptor *x, const struct queue *q)
{
    bool any = false;
    for (uint32_t i = 0; i < x->needs_n && !any; i++)
        any = x->is_short[i] && own_left(x, q, &x->needs[i]) > 0;
    return any && q->reclaim != PREEMPT_NEVER;
}

bool back_taken_by_gone(const struct preemptor *x, const struct queue *q, const struct gang *const *gone, uint32_t gone_n)
{
    bool any = false;
    for (uint32_t i = 0, n = has_some_left(x, q) ? gone_n : 0; i < n && !any; i++)
        any = gone[i]->queue == q && takes_back(x, q, gone[i], false);
    return any;
}

bool back_taken_by_waiting(const struct preemptor *x, const struct queue *q)
{
    bool any = false;
    for (uint32_t i = 0, n = has_some_left(x, q) ? q->lines_n : 0; i < n && !any; i++)
        any = takes_back(x, q, line_first(q->lines[i]), true);
    return any;
}
