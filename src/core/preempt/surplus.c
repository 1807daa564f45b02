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
    struct subgroups *in;    /* NULL: it has none */
    uint32_t *there;         /* by subgroup: who is left of it */
    bool *listed;
    uint32_t *pods;          /* out */
};

static void list_one(struct spare *x, uint32_t at)
{
    x->listed[at] = true;
    x->pods[x->kept_n++] = x->all[at].pod;
    x->left--;
    if (x->in)
        x->there[subgroup_of(x->in, x->all[at].pod)]--;
}

/* Whoever is of a subgroup only while it stays whole. */
static void list_single(struct spare *x)
{
    for (uint32_t i = 0; i < x->n && x->left > 0; i++) {
        uint32_t number = subgroup_of(x->in, x->all[i].pod);
        bool needed = number && x->there[number] <= (uint32_t)x->in->all[number].policy->size;
        if (!needed && take_of_task(x->g, &x->s->pods[x->all[i].pod], x->left_of))
            list_one(x, i);
    }
}

/* Members of that subgroup that are not listed yet: as many as give their place. */
static uint32_t rest_of(const struct spare *x, uint32_t number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++)
        n += !x->listed[i] && subgroup_of(x->in, x->all[i].pod) == number;
    return n;
}

/* Its policy asks for no more of them, or it is not whole and counts for none. */
static bool is_spare(const struct spare *x, uint32_t number)
{
    const struct subgroup_policy *policy = x->in->all[number].policy;
    int64_t whole_n = 0;
    for (uint32_t i = 1; i <= x->in->n; i++)
        whole_n += x->in->all[i].policy == policy && x->there[i] >= (uint32_t)policy->size;
    return x->there[number] < (uint32_t)policy->size || whole_n > policy->least_n;
}

static bool list_rest(struct spare *x, uint32_t number)
{
    bool tasks_allow = true;
    for (uint32_t i = 0; i < x->n; i++)
        if (!x->listed[i] && subgroup_of(x->in, x->all[i].pod) == number)
            tasks_allow &= take_of_task(x->g, &x->s->pods[x->all[i].pod], x->left_of);
    for (uint32_t i = 0; i < x->n && tasks_allow; i++)
        if (!x->listed[i] && subgroup_of(x->in, x->all[i].pod) == number)
            list_one(x, i);
    return tasks_allow;
}

/* Then whole subgroups, each side by side. WHY none after one whose tasks do not allow it: what it took of those is not put back. */
static void list_subgroups(struct spare *x)
{
    bool goes_on = x->in != NULL;
    for (uint32_t i = 0; i < x->n && goes_on; i++) {
        uint32_t number = subgroup_of(x->in, x->all[i].pod);
        if (!x->listed[i] && number && is_spare(x, number) && rest_of(x, number) <= x->left)
            goes_on = list_rest(x, number);
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
    x.there = arena_zero(a, x.in ? x.in->n + 1 : 1, sizeof *x.there);
    for (uint32_t i = 1; x.in && i <= x.in->n; i++)
        x.there[i] = x.in->all[i].there_n;
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

/* WHY the rest of a subgroup, too: it would hold what it has, and compute nothing. */
static uint32_t add_rest(const struct state *s, const struct gang *g, uint32_t *pods, uint32_t n)
{
    struct subgroups *in = subgroups_of(s, g);
    uint32_t *gone_n = mem_zero(in->n + 1, sizeof *gone_n), first_n = n;
    for (uint32_t i = 0; i < n; i++)
        gone_n[s->pods[pods[i]].gang == g ? subgroup_of(in, pods[i]) : 0]++;
    for (uint32_t i = 0; i < g->members_n; i++) {
        uint32_t pod = g->members[i], number = subgroup_of(in, pod);
        const struct subgroup *one = &in->all[number];
        bool breaks = number && gone_n[number] && one->there_n < gone_n[number] + (uint32_t)one->policy->size;
        if (breaks && gang_gives_place(g, &s->pods[pod]) && !is_listed(pods, first_n, pod))
            pods[n++] = pod;
    }
    free(gone_n);
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
