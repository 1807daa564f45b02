#include "core/group/subgroups.h"
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "core/state/selector.h"

/* ---- who is in which ---- */

struct found {
    const struct state *s;
    const struct subgroup_policy *policy; /* NULL: none selects it */
    uint32_t pod;
};

static struct label_list labels_of(const struct state *s, uint32_t pod)
{
    return s->shapes.sets[s->pods[pod].labels].labels;
}

static name_id value_of(const struct found *one, uint32_t key)
{
    const struct label *label = label_find(labels_of(one->s, one->pod), one->policy->keys[key]);
    return label ? label->value : 0;
}

/* SOURCE Volcano: a value that is empty is none. */
static bool selects(const struct subgroup_policy *policy, const struct state *s, uint32_t pod)
{
    const struct found one = {s, policy, pod};
    bool all = selector_matches(&policy->pods, labels_of(s, pod), 0, s->names);
    for (uint32_t i = 0; i < policy->keys_n && all; i++) {
        name_id value = value_of(&one, i);
        all = value && *intern_name(s->names, value);
    }
    return all;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->policy != b->policy)
        return a->policy < b->policy ? -1 : 1;
    for (uint32_t i = 0; a->policy && i < a->policy->keys_n; i++) {
        name_id of_a = value_of(a, i), of_b = value_of(b, i);
        if (of_a != of_b)
            return of_a < of_b ? -1 : 1;
    }
    return 0;
}

static int compare_members(const void *left, const void *right)
{
    const struct subgroup_member *a = left, *b = right;
    return a->pod < b->pod ? -1 : a->pod > b->pod;
}

/* Those of one subgroup side by side. */
static struct found *find_all(const struct state *s, const struct gang *g)
{
    const struct subgroup_policy *policies;
    uint32_t policies_n = gang_subgroups(g, &policies);
    struct found *all = mem_alloc((g->members_n + 1) * sizeof *all);
    for (uint32_t i = 0; i < g->members_n; i++) {
        uint32_t at = 0;
        while (at < policies_n && !selects(&policies[at], s, g->members[i]))
            at++;
        all[i] = (struct found){s, at < policies_n ? &policies[at] : NULL, g->members[i]};
    }
    if (g->members_n > 1)
        qsort(all, g->members_n, sizeof *all, compare_found);
    return all;
}

struct subgroups *subgroups_of(const struct state *s, const struct gang *g)
{
    if (!gang_has_subgroups(g))
        return NULL;
    struct subgroups *x = mem_zero(1, sizeof *x);
    struct found *all = find_all(s, g);
    x->all = mem_zero(g->members_n + 1, sizeof *x->all);
    x->members = mem_alloc((g->members_n + 1) * sizeof *x->members);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[all[i].pod];
        if (all[i].policy && (!x->n || compare_found(&all[i - 1], &all[i]) != 0))
            x->all[++x->n].policy = all[i].policy;
        uint32_t number = all[i].policy ? x->n : 0;
        x->all[number].there_n += p->seat || p->phase == POD_SUCCEEDED;
        x->members[x->members_n++] = (struct subgroup_member){all[i].pod, number};
    }
    free(all);
    if (x->members_n > 1)
        qsort(x->members, x->members_n, sizeof *x->members, compare_members);
    return x;
}

void subgroups_free(struct subgroups *x)
{
    if (!x)
        return;
    free(x->all);
    free(x->members);
    free(x);
}

uint32_t subgroup_of(const struct subgroups *x, uint32_t pod)
{
    const struct subgroup_member wanted = {.pod = pod}, *found = NULL;
    if (x && x->members_n)
        found = bsearch(&wanted, x->members, x->members_n, sizeof *x->members, compare_members);
    return found ? found->subgroup : 0;
}

uint32_t subgroups_whole(const struct subgroups *x, const struct subgroup_policy *policy)
{
    uint32_t whole_n = 0;
    for (uint32_t i = 1; i <= x->n; i++)
        whole_n += x->all[i].policy == policy && !subgroup_lacks(&x->all[i]);
    return whole_n;
}

/* ---- units ---- */

/* Of one unit, or one that cannot start, in the order of the list. */
struct place_in_line {
    uint32_t unit, at, pod;
};

static int compare_places(const void *left, const void *right)
{
    const struct place_in_line *a = left, *b = right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* What is known of each subgroup while the list is gone through. */
struct beginning {
    uint32_t loose_n, unit, left_n; /* unit: that makes it whole, index + 1; left_n: so many more are of that */
};

static uint32_t policy_number(const struct gang *g, const struct subgroups *x, uint32_t number)
{
    const struct subgroup_policy *policies;
    (void)gang_subgroups(g, &policies);
    return (uint32_t)(x->all[number].policy - policies) + 1;
}

/* The unit of the next pod of that subgroup. UINT32_MAX: it cannot start. */
static uint32_t unit_of(const struct subgroups *x, const struct gang *g, struct beginning *b, uint32_t number, struct unit *units,
                        uint32_t *units_n)
{
    uint32_t lacks = number ? subgroup_lacks(&x->all[number]) : 0;
    if (lacks > b->loose_n)
        return UINT32_MAX;
    if (b->left_n) {
        b->left_n--;
        units[b->unit - 1].n++;
        return b->unit - 1;
    }
    units[*units_n] = (struct unit){.n = 1, .after = b->unit};
    if (lacks && !b->unit) {
        units[*units_n].policy = policy_number(g, x, number);
        b->unit = *units_n + 1;
        b->left_n = lacks - 1;
    }
    return (*units_n)++;
}

uint32_t subgroups_units(const struct subgroups *x, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n,
                         struct unit **ret_units)
{
    struct unit *units = arena_alloc(a, (n + 1) * sizeof *units);
    struct place_in_line *line = arena_alloc(a, (n + 1) * sizeof *line);
    struct beginning *begun = arena_zero(a, x->n + 1, sizeof *begun);
    uint32_t units_n = 0, first = 0;
    for (uint32_t i = 0; i < n; i++)
        begun[subgroup_of(x, pods[i])].loose_n++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = subgroup_of(x, pods[i]);
        line[i] = (struct place_in_line){unit_of(x, g, &begun[number], number, units, &units_n), i, pods[i]};
    }
    if (n > 1)
        qsort(line, n, sizeof *line, compare_places);
    for (uint32_t i = 0; i < n; i++)
        pods[i] = line[i].pod;
    for (uint32_t i = 0; i < units_n; first += units[i++].n)
        units[i].first = first;
    *ret_units = units;
    return units_n;
}

uint32_t group_units(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n, struct unit **ret_units)
{
    struct subgroups *x = subgroups_of(s, g);
    if (x) {
        uint32_t units_n = subgroups_units(x, g, a, pods, n, ret_units);
        subgroups_free(x);
        return units_n;
    }
    *ret_units = arena_alloc(a, (n + 1) * sizeof **ret_units);
    for (uint32_t i = 0; i < n; i++)
        (*ret_units)[i] = (struct unit){.first = i, .n = 1};
    return n;
}
