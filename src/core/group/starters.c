#include "core/group/starters.h"
#include <string.h>
#include "core/group/subgroups.h"
#include "core/queue/lane.h"

/* How many of each task, of policies that are satisfied, and of all are still needed to make the group whole. */
struct needs {
    int64_t *of_task;
    int64_t policies, all;
};

static struct needs needs_of(const struct state *s, const struct gang *g, struct arena *a)
{
    struct subgroups *in = subgroups_of(s, g);
    struct needs x = {.all = g->min_members > 1 ? g->min_members : 1};
    x.policies = in ? (int64_t)in->all[0].least_n - in->all[0].there_n : 0;
    x.of_task = arena_zero(a, g->own->min_of_task_n + 1, sizeof *x.of_task);
    for (uint32_t t = 0; t < g->own->min_of_task_n; t++)
        x.of_task[t] = g->own->min_of_task[t].value;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (!p->seat && p->phase != POD_SUCCEEDED)
            continue;
        x.all--;
        for (uint32_t t = 0; t < g->own->min_of_task_n; t++)
            x.of_task[t] -= p->pod_set == g->own->min_of_task[t].resource;
    }
    subgroups_free(in);
    return x;
}

struct choice {
    const struct state *s;
    const struct gang *g;
    const uint32_t *pods;
    const struct unit *units;
    struct needs needs;
    bool *chosen;            /* by unit */
    uint32_t *order, n;      /* chosen units, as they were chosen */
};

/* Of the first task that needs one, at most. */
static bool task_needs(const struct choice *x, uint32_t pod, bool take)
{
    const struct gang_object *o = x->g->own;
    for (uint32_t t = 0; t < o->min_of_task_n; t++) {
        if (x->s->pods[pod].pod_set != o->min_of_task[t].resource || x->needs.of_task[t] <= 0)
            continue;
        x->needs.of_task[t] -= take;
        return true;
    }
    return false;
}

static bool is_needed(const struct choice *x, const struct unit *unit)
{
    bool needed = unit->counts && x->needs.policies > 0;
    for (uint32_t i = 0; i < unit->n && !needed; i++)
        needed = task_needs(x, x->pods[unit->first + i], false);
    return needed;
}

static void choose(struct choice *x, uint32_t at)
{
    const struct unit *unit = &x->units[at];
    if (x->chosen[at])
        return;
    if (unit->after && !x->chosen[unit->after - 1])
        choose(x, unit->after - 1); /* which comes after none */
    x->chosen[at] = true;
    x->order[x->n++] = at;
    x->needs.all -= unit->n;
    x->needs.policies -= unit->counts;
    for (uint32_t i = 0; i < unit->n; i++)
        (void)task_needs(x, x->pods[unit->first + i], true);
}

/* Pods of the chosen units to the front, in that order. Returns how many. */
static uint32_t to_the_front(const struct choice *x, uint32_t units_n, struct arena *a, uint32_t *pods, uint32_t n)
{
    uint32_t *sorted = arena_alloc(a, (n + 1) * sizeof *sorted), sorted_n = 0, chosen_n;
    for (uint32_t i = 0; i < x->n; sorted_n += x->units[x->order[i++]].n)
        memcpy(&sorted[sorted_n], &pods[x->units[x->order[i]].first], x->units[x->order[i]].n * sizeof *pods);
    chosen_n = sorted_n;
    for (uint32_t i = 0; i < units_n; i++) {
        if (x->chosen[i])
            continue;
        memcpy(&sorted[sorted_n], &pods[x->units[i].first], x->units[i].n * sizeof *pods);
        sorted_n += x->units[i].n;
    }
    memcpy(pods, sorted, sorted_n * sizeof *pods);
    return chosen_n;
}

/* pods: sorted into units. Nobody is chosen yet. */
static struct choice choice_begin(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n,
                                  uint32_t *ret_units)
{
    struct unit *units;
    *ret_units = group_units(s, g, a, pods, n, &units);
    struct choice x = {.s = s, .g = g, .pods = pods, .units = units, .needs = needs_of(s, g, a)};
    x.chosen = arena_zero(a, *ret_units + 1, sizeof *x.chosen);
    x.order = arena_alloc(a, (*ret_units + 1) * sizeof *x.order);
    return x;
}

uint32_t group_fewest(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t *n)
{
    uint32_t units_n;
    struct choice x = choice_begin(s, g, a, pods, *n, &units_n);
    for (uint32_t i = 0; i < units_n; i++)
        if (is_needed(&x, &x.units[i]))
            choose(&x, i);
    for (uint32_t i = 0; i < units_n && x.needs.all > 0; i++)
        choose(&x, i);
    *n = units_n ? x.units[units_n - 1].first + x.units[units_n - 1].n : 0;
    return to_the_front(&x, units_n, a, pods, *n);
}

bool group_is_enough(const struct state *s, const struct gang *g, struct arena *a, const uint32_t *pods, uint32_t n)
{
    uint32_t *some = arena_alloc(a, (n + 1) * sizeof *some), units_n;
    memcpy(some, pods, n * sizeof *some);
    struct choice x = choice_begin(s, g, a, some, n, &units_n);
    for (uint32_t i = 0; i < units_n; i++)
        choose(&x, i);
    bool enough = x.needs.all <= 0 && x.needs.policies <= 0;
    for (uint32_t t = 0; t < g->own->min_of_task_n; t++)
        enough = enough && x.needs.of_task[t] <= 0;
    return enough;
}

/* The gang is the first of its line: the next is one of the two below it. */
static bool is_followed(const struct line *l, const struct gang *g)
{
    bool any = false;
    for (size_t i = 1; i < l->gangs.n && i < 3 && !any; i++)
        any = ((const struct gang *)l->gangs.items[i])->priority >= g->priority;
    return any;
}

bool group_makes_way(const struct state *s, const struct gang *g, const struct queue *q)
{
    bool any = false;
    for (uint32_t i = 0; q && q->shares.by_turns && i < q->lines_n && !any; i++) {
        const struct line *l = q->lines[i];
        any = l == g->line ? is_followed(l, g) : line_first(l)->priority >= g->priority;
    }
    for (uint32_t i = 0; q && q->shares.by_turns && i < s->work_n && !any; i++)
        any = s->work[i]->queue == q && s->work[i]->priority >= g->priority;
    return any;
}
