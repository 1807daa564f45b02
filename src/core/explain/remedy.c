#include "core/explain/remedy.h"
#include "core/place/undo.h"
#include "core/queue/gang.h"

void measures_add(struct measures *m, struct measure one)
{
    if (m->n == REMEDY_MEASURES) {
        m->overflow = true;
        return;
    }
    m->all[m->n++] = one;
}

/* ---- applying ---- */

static bool lift(struct state *s, uint32_t seat)
{
    if (s->nodes.nodes[s->seats[seat].node].has_devices_twice)
        return false;
    if (!s->seats[seat].lifted)
        undo_lift(s, seat);
    return true;
}

static bool end_gang(struct state *s, struct gang *g)
{
    g->ended = true;
    bool ok = true;
    for (uint32_t i = 0; i < g->members_n && ok; i++)
        ok = !s->pods[g->members[i]].seat || lift(s, s->pods[g->members[i]].seat);
    for (uint32_t i = 0; i < g->own->seats_n && ok; i++)
        ok = lift(s, g->own->seats[i]);
    undo_charges_of(s, g, -1);
    return ok;
}

/* Could it be told to go for the gang, whatever else its queue's policies say? */
static bool may_be_victim(const struct remedy_search *x, const struct gang *v)
{
    const struct quota *q = &x->c->s->quota;
    if (gang_has_no_queue(x->gang))
        return gang_has_no_queue(v) && v->priority < x->gang->priority;
    return x->queue && x->queue->preempts && v->queue && q->nodes[v->queue->quota].root == q->nodes[x->queue->quota].root;
}

/* WHY  that much coming free is one thing where others end who must stay, and another where those do who would be told to go anyway. */
static bool give_room(struct remedy_search *x, const struct measure *m)
{
    const struct state *s = x->c->s;
    for (uint32_t at = s->nodes.nodes[m->node].first_seat; at; at = s->seats[at].next) {
        const struct gang *g = s->seats[at].gang;
        x->room_of_victims |= g && may_be_victim(x, g);
        x->room_of_some |= g && (g->planned || gang_has_no_queue(g));
    }
    return undo_room(x->c->s, m->node, m->resource, m->amount);
}

/* As if so many more of them were there: the same one several times. */
static void add_members(struct remedy_search *x, const struct measure *m)
{
    struct gang *g = x->gang;
    uint32_t n = g->members_n, *all = arena_alloc(x->c->a, (n + (size_t)m->amount + 1) * sizeof *all);
    memcpy(all, g->members, n * sizeof *all);
    for (int64_t i = 0; i < m->amount; i++)
        all[n++] = m->pod;
    g->members = all;
    g->members_n = n;
}

static void lower_minimum(struct gang *g, const struct measure *m, int sign)
{
    if (g->planned)
        g->sets[m->set].min_count -= (int32_t)(sign * m->amount);
    else if (m->set)
        gang_own(g)->min_of_task[m->set - 1].value -= sign * m->amount;
    else
        g->min_members -= (int32_t)(sign * m->amount);
}

/* Those of tasks count where that of the whole is not below their sum (flow.h). */
static void count_tasks(struct remedy_search *x)
{
    const struct gang *g = x->gang;
    int64_t sum = 0;
    for (uint32_t t = 0; t < x->tasks_n; t++)
        sum += g->own->min_of_task[t].value > 0 ? g->own->min_of_task[t].value : 0;
    if (x->tasks_n)
        gang_own(x->gang)->min_of_task_n = g->min_members >= sum ? x->tasks_n : 0;
}

bool remedy_apply(struct remedy_search *x, const struct measures *m)
{
    struct state *s = x->c->s;
    bool ok = true;
    for (uint32_t i = 0; i < m->n; i++) { /* to the last: all are taken back */
        const struct measure *one = &m->all[i];
        switch (one->kind) {
        case MEASURE_QUOTA:
            ok &= !one->amount || undo_nominal(s, x->queue->quota, one->flavor, one->resource, one->amount);
            break;
        case MEASURE_FREE:
            ok &= !one->amount || give_room(x, one);
            break;
        case MEASURE_END:
            ok &= end_gang(s, one->gang);
            break;
        case MEASURE_UNCORDON:
            undo_flags(s, one->node, s->nodes.flags[one->node] & (uint8_t)~NODE_UNSCHEDULABLE);
            break;
        case MEASURE_MEMBERS:
            add_members(x, one);
            break;
        case MEASURE_MINIMUM:
            lower_minimum(x->gang, one, 1);
            count_tasks(x);
            break;
        case MEASURE_MOVE: /* WHY all leave before the first comes: one may go where another was */
            one->gang->ended = true;
            move_lift(s, one->move);
            break;
        }
    }
    for (uint32_t i = 0; i < m->n && ok; i++)
        ok = m->all[i].kind != MEASURE_MOVE || move_put(s, m->all[i].move);
    return ok;
}

void remedy_take_back(struct remedy_search *x, const struct measures *m, uint32_t mark)
{
    undo_back(x->c->s, mark);
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->all[i].kind == MEASURE_END || m->all[i].kind == MEASURE_MOVE)
            m->all[i].gang->ended = false;
        if (m->all[i].kind == MEASURE_MINIMUM)
            lower_minimum(x->gang, &m->all[i], -1);
    }
    if (x->tasks_n)
        gang_own(x->gang)->min_of_task_n = x->tasks_n;
    x->gang->members = x->members;
    x->gang->members_n = x->members_n;
}

enum verdict remedy_try(struct remedy_search *x, const struct measures *m)
{
    uint32_t mark = undo_mark(x->c->s);
    enum verdict v = VERDICT_NO;
    x->room_of_victims = x->room_of_some = false;
    if (remedy_apply(x, m))
        v = remedy_verdict(x, m);
    remedy_take_back(x, m, mark);
    x->unsure |= v == VERDICT_MAYBE;
    x->others_matter |= v == VERDICT_MAYBE && x->trials_left;
    return v;
}

/* ---- just enough ---- */

static struct measures without(const struct measures *m, uint32_t at)
{
    struct measures out = *m;
    out.n--;
    for (uint32_t i = at; i < out.n; i++)
        out.all[i] = m->all[i + 1];
    return out;
}

bool measure_has_amount(const struct measure *m)
{
    return m->kind != MEASURE_END && m->kind != MEASURE_UNCORDON && m->kind != MEASURE_MOVE;
}

static enum verdict try_amount(struct remedy_search *x, const struct measures *m, uint32_t at, int64_t amount)
{
    struct measures less = *m;
    less.all[at].amount = amount;
    return remedy_try(x, &less);
}

/* From an amount that is enough to one that is while one less is not; 0 leaves it out. */
static bool reduce_amount(struct remedy_search *x, struct measures *m, uint32_t at)
{
    int64_t *enough = &m->all[at].amount, too_little = -1;
    for (int64_t guess = *enough - 1; *enough - too_little > 1; guess = too_little < 0 ? 0 : too_little + (*enough - too_little) / 2) {
        enum verdict v = try_amount(x, m, at, guess);
        if (v == VERDICT_MAYBE)
            return false;
        if (v == VERDICT_NO)
            too_little = guess;
        else
            *enough = guess;
    }
    return true;
}

/* Each measure once more against the final rest. */
static bool is_just_enough(struct remedy_search *x, const struct measures *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        struct measures less = without(m, i);
        if (remedy_try(x, &less) != VERDICT_NO ||
            (measure_has_amount(&m->all[i]) && try_amount(x, m, i, m->all[i].amount - 1) != VERDICT_NO))
            return false;
    }
    return m->n && remedy_try(x, m) == VERDICT_YES;
}

bool remedy_reduce(struct remedy_search *x, struct measures *m)
{
    for (uint32_t i = m->n; i-- > 0;) {
        if (measure_has_amount(&m->all[i])) {
            if (!reduce_amount(x, m, i))
                return false;
            if (!m->all[i].amount)
                *m = without(m, i);
            continue;
        }
        struct measures less = without(m, i);
        enum verdict v = m->n > 1 ? remedy_try(x, &less) : VERDICT_NO;
        if (v == VERDICT_MAYBE)
            return false;
        if (v == VERDICT_YES)
            *m = less;
    }
    return is_just_enough(x, m);
}
