#include "core/preempt/surplus.h"
#include <stdlib.h>
#include "core/preempt/promise.h"
#include "core/quota/deserve.h"
#include "core/quota/share.h"

struct member {
    const struct state *s;
    uint32_t pod;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *x = left, *y = right;
    const struct pod *a = &x->s->pods[x->pod], *b = &y->s->pods[y->pod];
    bool a_goes = a->deleting || a->surplus, b_goes = b->deleting || b->surplus;
    if (a_goes != b_goes)
        return a_goes ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->created_ms != b->created_ms)
        return a->created_ms > b->created_ms ? -1 : 1;
    return strcmp(intern_name(x->s->names, b->key), intern_name(x->s->names, a->key));
}

/* Members that count for its minimum (task 0), or for that of the task. */
static int64_t there_n(const struct state *s, const struct gang *g, name_id task)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        n += (p->seat || p->phase == POD_SUCCEEDED) && (!task || p->pod_set == task);
    }
    return n;
}

static int64_t *left_of_tasks(const struct state *s, const struct gang *g, struct arena *a)
{
    int64_t *left = arena_zero(a, g->own->min_of_task_n + 1u, sizeof *left);
    for (uint32_t t = 0; t < g->own->min_of_task_n; t++)
        left[t] = there_n(s, g, g->own->min_of_task[t].resource) - g->own->min_of_task[t].value;
    return left;
}

/* Counts it off what its task can do without. False: nothing is left of that. */
static bool take_of_task(const struct gang *g, const struct pod *p, int64_t *left)
{
    uint32_t t = 0;
    while (t < g->own->min_of_task_n && g->own->min_of_task[t].resource != p->pod_set)
        t++;
    return t == g->own->min_of_task_n || left[t]-- > 0;
}

uint32_t surplus_of(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods)
{
    int64_t left = there_n(s, g, 0) - g->min_members, *left_of = NULL;
    uint32_t n = 0, kept_n = 0;
    if (g->planned || g->phase != GANG_BOUND || left <= 0)
        return 0;
    struct member *all = arena_alloc(a, (g->members_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_gives_place(g, &s->pods[g->members[i]]))
            all[n++] = (struct member){s, g->members[i]};
    if (n > 1)
        qsort(all, n, sizeof *all, compare_members);
    left_of = left_of_tasks(s, g, a);
    *ret_pods = arena_alloc(a, (n + 1) * sizeof **ret_pods);
    for (uint32_t i = 0; i < n && left > 0; i++) {
        if (!take_of_task(g, &s->pods[all[i].pod], left_of))
            continue;
        (*ret_pods)[kept_n++] = all[i].pod;
        left--;
    }
    return kept_n;
}

/* Something that is short, and of which its queue has more than it deserves, where it is another one. */
static bool helps(const struct preemptor *x, const struct candidate *one, uint32_t pod)
{
    const struct state *s = x->c->s;
    bool any = false;
    for (uint32_t i = 0; i < x->needs_n && !any; i++)
        any = x->is_short[i] && surplus_amount(s, pod, x->needs[i].resource) > 0 &&
              (one->class == CLASS_OWN ||
               share_borrows(&s->quota, one->gang->queue->quota, x->needs[i].flavor, x->needs[i].resource));
    return any;
}

bool surplus_helps(const struct preemptor *x, const struct candidate *one, uint32_t pod)
{
    const struct state *s = x->c->s;
    return helps(x, one, pod) &&
           (one->class == CLASS_OWN || deserve_spares_member(s, one->gang->queue, s->seats[s->pods[pod].seat].shape));
}
