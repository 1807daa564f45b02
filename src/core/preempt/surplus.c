#include "core/preempt/surplus.h"
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "core/group/subgroups.h"
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

/* ---- the list ---- */

struct spare {
    const struct gang *g;
    const struct state *s;
    const struct member *all; /* who may give his place, in order */
    uint32_t n, kept_n;
    int64_t left, *left_of;  /* of the minimum, of each task's */
    struct subgroups *in;    /* NULL: it has none; as they stand without those that are listed */
    bool *listed;
    uint32_t *pods;          /* out */
};

static void list_one(struct spare *x, uint32_t at)
{
    uint32_t node = subgroup_of(x->in, x->all[at].pod);
    x->listed[at] = true;
    x->pods[x->kept_n++] = x->all[at].pod;
    x->left--;
    if (node)
        subgroup_count(x->in->all, node, false);
}

/* It is satisfied, and would not be with one less right below it. */
static bool is_tight(const struct subgroup *one)
{
    return one->there_n == one->least_n && one->least_n;
}

/* Whoever is of a subgroup only while it stays whole. */
static void list_single(struct spare *x)
{
    for (uint32_t i = 0; i < x->n && x->left > 0; i++) {
        uint32_t node = subgroup_of(x->in, x->all[i].pod);
        bool needed = node && x->in->all[node].there_n <= x->in->all[node].least_n;
        if (!needed && take_of_task(x->g, &x->s->pods[x->all[i].pod], x->left_of))
            list_one(x, i);
    }
}

/* The lowest above the subgroup, or itself, that may go whole: what is above it can do without, or is not satisfied anyway. 0: none. */
static uint32_t may_go(const struct subgroups *in, uint32_t node)
{
    for (uint32_t above; node; node = above) {
        above = in->all[node].above;
        if (!subgroup_is_satisfied(&in->all[node]) || !is_tight(&in->all[above]))
            return node;
    }
    return 0;
}

/* Members below that node that are not listed yet: as many as give their place. */
static uint32_t rest_of(const struct spare *x, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        n += !x->listed[i] && subgroup_is_below(x->in, subgroup_of(x->in, x->all[i].pod), node);
    return n;
}

static bool list_rest(struct spare *x, uint32_t node)
{
    bool tasks_allow = true;
    for (uint32_t i = 0; i < x->n; i++)
        if (!x->listed[i] && subgroup_is_below(x->in, subgroup_of(x->in, x->all[i].pod), node))
            tasks_allow &= take_of_task(x->g, &x->s->pods[x->all[i].pod], x->left_of);
    for (uint32_t i = 0; i < x->n && tasks_allow; i++)
        if (!x->listed[i] && subgroup_is_below(x->in, subgroup_of(x->in, x->all[i].pod), node))
            list_one(x, i);
    return tasks_allow;
}

/* Then whole subgroups, each side by side. WHY none after one whose tasks do not allow it: what it took of those is not put back. */
static void list_subgroups(struct spare *x)
{
    bool goes_on = x->in != NULL;
    for (uint32_t i = 0; i < x->n && goes_on; i++) {
        uint32_t node = x->listed[i] ? 0 : may_go(x->in, subgroup_of(x->in, x->all[i].pod));
        if (node && rest_of(x, node) <= x->left)
            goes_on = list_rest(x, node);
    }
}

uint32_t surplus_of(struct state *s, const struct gang *g, struct arena *a, uint32_t **ret_pods)
{
    struct spare x = {.g = g, .s = s, .left = there_n(s, g, 0) - g->min_members};
    if (g->planned || g->phase != GANG_BOUND || x.left <= 0)
        return 0;
    struct member *all = arena_alloc(a, (g->members_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_gives_place(g, &s->pods[g->members[i]]))
            all[x.n++] = (struct member){s, g->members[i]};
    if (x.n > 1)
        qsort(all, x.n, sizeof *all, compare_members);
    x.all = all;
    x.left_of = left_of_tasks(s, g, a);
    x.in = subgroups_of(s, g);
    x.listed = arena_zero(a, x.n + 1, sizeof *x.listed);
    x.pods = arena_alloc(a, (x.n + 1) * sizeof *x.pods);
    list_single(&x);
    list_subgroups(&x);
    subgroups_free(x.in);
    *ret_pods = x.pods;
    return x.kept_n;
}

/* ---- those who go with others ---- */

static bool is_listed(const uint32_t *pods, uint32_t n, uint32_t pod)
{
    bool any = false;
    for (uint32_t i = 0; i < n && !any; i++)
        any = pods[i] == pod;
    return any;
}

/* Is it one of those that would not be satisfied any more, up to the last above it? */
static bool breaks(const struct subgroups *in, const struct subgroup *was, uint32_t node)
{
    bool any = false;
    for (; node && !any; node = in->all[node].above)
        any = subgroup_is_satisfied(&was[node]) && !subgroup_is_satisfied(&in->all[node]);
    return any;
}

/* WHY the rest of a subgroup, too, and of what is above it and not satisfied without it: it would hold what it has, and compute nothing. */
static uint32_t add_rest(const struct state *s, const struct gang *g, uint32_t *pods, uint32_t n)
{
    struct subgroups *in = subgroups_of(s, g);
    struct subgroup *was = mem_alloc((in->n + 1) * sizeof *was);
    const uint32_t first_n = n;
    bool *had_some = mem_zero(in->n + 1, sizeof *had_some);
    memcpy(was, in->all, (in->n + 1) * sizeof *was);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = s->pods[pods[i]].gang == g ? subgroup_of(in, pods[i]) : 0;
        had_some[node] = true;
        if (node)
            subgroup_count(in->all, node, false);
    }
    for (uint32_t i = 0; i < g->members_n; i++) {
        uint32_t pod = g->members[i], node = subgroup_of(in, pod);
        bool is_broken = node && had_some[node] && !subgroup_is_satisfied(&in->all[node]);
        if (node && (is_broken || breaks(in, was, node)) && gang_gives_place(g, &s->pods[pod]) && !is_listed(pods, first_n, pod))
            pods[n++] = pod;
    }
    free(had_some);
    free(was);
    subgroups_free(in);
    return n;
}

uint32_t surplus_complete(const struct state *s, const struct gang *const *gangs, uint32_t gangs_n, struct arena *a,
                          const uint32_t **pods, uint32_t n)
{
    for (uint32_t i = 0; i < gangs_n; i++) {
        if (!gang_has_subgroups(gangs[i]))
            continue;
        uint32_t *more = arena_alloc(a, (n + gangs[i]->members_n) * sizeof *more);
        memcpy(more, *pods, n * sizeof *more);
        n = add_rest(s, gangs[i], more, n);
        *pods = more;
    }
    return n;
}

/* ---- may it go? ---- */

/* Something that is short, and of which its queue has more than it deserves, where it is another one. Without queues nodes alone are
 * short. */
static bool helps(const struct preemptor *x, const struct candidate *one, uint32_t pod)
{
    const struct state *s = x->c->s;
    bool any = queue_is_none(x->queue);
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
