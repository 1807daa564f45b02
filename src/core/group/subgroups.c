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

/* ---- the tree ---- */

static const struct tier_request *tiers_of(const struct subgroup_policy *p)
{
    return p->tiers.mode == TOPOLOGY_UNASKED ? NULL : &p->tiers;
}

/* One node each, those of policies above others first. SAFE  a circle hangs below the group. Returns, by policy, where it is. */
static uint32_t *add_policies(struct subgroups *x, const struct gang *g)
{
    const struct subgroup_policy *policies;
    uint32_t n = gang_subgroups(g, &policies), *at = mem_zero(n + 1, sizeof *at), before = UINT32_MAX;
    while (x->n < n) {
        bool is_circle = x->n == before;
        before = x->n;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t above = policies[i].above <= n ? policies[i].above : 0;
            if (at[i] || (above && !at[above - 1] && !is_circle))
                continue;
            at[i] = ++x->n;
            x->all[at[i]] = (struct subgroup){.policy = &policies[i], .above = above ? at[above - 1] : 0,
                                              .least_n = policies[i].least_n > 0 ? (uint32_t)policies[i].least_n : 0};
            is_circle = false;
        }
    }
    for (uint32_t i = 0; i < n; i++) /* where a policy selects pods, each of its subgroups has them */
        if (policies[i].above && policies[i].above <= n)
            x->all[at[policies[i].above - 1]].tiers = tiers_of(&policies[policies[i].above - 1]);
    uint32_t topmost_n = 0;
    for (uint32_t i = 1; i <= x->n; i++)
        topmost_n += !x->all[i].above;
    int32_t least = g->own->terms->subgroups_least;
    x->all[0].least_n = least > 0 ? (uint32_t)least : topmost_n;
    return at;
}

void subgroup_count(struct subgroup *all, uint32_t at, bool more)
{
    for (bool goes_on = true; goes_on; at = all[at].above) {
        bool was = subgroup_is_satisfied(&all[at]);
        all[at].there_n += more ? 1u : -1u;
        goes_on = at && was != subgroup_is_satisfied(&all[at]);
    }
}

/* Those that are satisfied with nothing are so from the beginning. */
static void count_satisfied(struct subgroups *x)
{
    for (uint32_t i = x->n; i > 0; i--)
        x->all[x->all[i].above].there_n += subgroup_is_satisfied(&x->all[i]);
}

struct subgroups *subgroups_of(const struct state *s, const struct gang *g)
{
    const struct subgroup_policy *policies;
    uint32_t policies_n = gang_subgroups(g, &policies);
    if (!policies_n)
        return NULL;
    struct subgroups *x = mem_zero(1, sizeof *x);
    struct found *all = find_all(s, g);
    x->all = mem_zero(policies_n + g->members_n + 1, sizeof *x->all);
    x->members = mem_alloc((g->members_n + 1) * sizeof *x->members);
    uint32_t *at = add_policies(x, g);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[all[i].pod];
        const struct subgroup_policy *policy = all[i].policy;
        if (policy && (!i || compare_found(&all[i - 1], &all[i]) != 0))
            x->all[++x->n] = (struct subgroup){.policy = policy, .above = at[policy - policies], .of_pods = true,
                                               .least_n = policy->size > 1 ? (uint32_t)policy->size : 1, .tiers = tiers_of(policy)};
        x->all[policy ? x->n : 0].there_n += policy && (p->seat || p->phase == POD_SUCCEEDED);
        x->members[x->members_n++] = (struct subgroup_member){all[i].pod, policy ? x->n : 0};
    }
    count_satisfied(x);
    free(at);
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

/* ---- units ---- */

/* A node while units are made. Lists are of indexes + 1, in the order of the pods. */
struct making {
    uint32_t below, last, next; /* nodes below it, and beside it, by their first pod */
    uint32_t pods, last_pod; /* of a subgroup: those that are not in a unit yet */
    uint32_t pods_n;
    bool met;                /* somebody of it is in the list */
    uint32_t after;          /* unit that satisfies it, or the one above; index + 1 */
};
struct maker {
    const struct subgroups *x;
    struct subgroup *all;    /* as they will stand */
    struct making *nodes;
    uint32_t *next_pod;      /* by position; position + 1 */
    uint32_t *unit_of;       /* by position; index + 1, 0: it cannot start */
    struct unit *units;
    uint32_t units_n;
};

static void put_below(struct maker *m, uint32_t node)
{
    for (uint32_t above; node && !m->nodes[node].met; node = above) {
        above = m->all[node].above;
        m->nodes[node].met = true;
        uint32_t *to = m->nodes[above].last ? &m->nodes[m->nodes[above].last - 1].next : &m->nodes[above].below;
        *to = node + 1;
        m->nodes[above].last = node + 1;
    }
}

static void put_pod(struct maker *m, uint32_t node, uint32_t at)
{
    struct making *to = &m->nodes[node];
    put_below(m, node);
    if (to->last_pod)
        m->next_pod[to->last_pod - 1] = at + 1;
    else
        to->pods = at + 1;
    to->last_pod = at + 1;
    to->pods_n++;
}

/* Could those that are left satisfy it? */
static bool can_be_satisfied(const struct maker *m, uint32_t node)
{
    const struct subgroup *one = &m->all[node];
    uint32_t more_n = one->of_pods ? m->nodes[node].pods_n : 0;
    for (uint32_t at = one->of_pods ? 0 : m->nodes[node].below; at; at = m->nodes[at - 1].next)
        more_n += !subgroup_is_satisfied(&m->all[at - 1]) && can_be_satisfied(m, at - 1);
    return one->there_n + more_n >= one->least_n;
}

static void take_pod(struct maker *m, uint32_t node, uint32_t unit)
{
    struct making *from = &m->nodes[node];
    uint32_t at = from->pods - 1;
    from->pods = m->next_pod[at];
    from->pods_n--;
    m->unit_of[at] = unit;
    m->units[unit - 1].n++;
}

/* As many as satisfy it, which it can be. */
static void satisfy(struct maker *m, uint32_t node, uint32_t unit)
{
    struct subgroup *one = &m->all[node];
    m->nodes[node].after = unit;
    for (uint32_t at = m->nodes[node].below; at && !one->of_pods && !subgroup_is_satisfied(one); at = m->nodes[at - 1].next)
        if (!subgroup_is_satisfied(&m->all[at - 1]) && can_be_satisfied(m, at - 1)) {
            satisfy(m, at - 1, unit);
            one->there_n++;
        }
    for (; one->of_pods && !subgroup_is_satisfied(one); one->there_n++)
        take_pod(m, node, unit);
}

static uint32_t new_unit(struct maker *m, uint32_t after, bool counts)
{
    m->units[m->units_n++] = (struct unit){.after = after, .counts = counts};
    return m->units_n;
}

/* It is satisfied: whoever is left below it, in units of their own. `after`: of the unit that has to start before these. */
static void go_below(struct maker *m, uint32_t node, uint32_t after)
{
    while (m->all[node].of_pods && m->nodes[node].pods)
        take_pod(m, node, new_unit(m, after, false));
    for (uint32_t at = m->nodes[node].below; at; at = m->nodes[at - 1].next) {
        uint32_t below = at - 1, unit = m->nodes[below].after ? m->nodes[below].after : after;
        if (!subgroup_is_satisfied(&m->all[below])) {
            if (!can_be_satisfied(m, below))
                continue;
            unit = new_unit(m, after, node == 0);
            satisfy(m, below, unit);
        }
        go_below(m, below, unit);
    }
}

struct place_in_line {
    uint32_t first, unit, at, pod; /* first: where the unit's first pod stood */
};

static int compare_places(const void *left, const void *right)
{
    const struct place_in_line *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* Units as their first pods stand, their pods side by side. */
static uint32_t sort_units(struct maker *m, struct arena *a, uint32_t *pods, uint32_t n)
{
    struct place_in_line *line = arena_alloc(a, (n + 1) * sizeof *line);
    struct unit *sorted = arena_alloc(a, (m->units_n + 1) * sizeof *sorted);
    uint32_t *first = arena_alloc(a, (m->units_n + 1) * sizeof *first), *now = arena_alloc(a, (m->units_n + 1) * sizeof *now), units_n = 0;
    for (uint32_t i = n; i-- > 0;)
        first[m->unit_of[i]] = i;
    for (uint32_t i = 0; i < n; i++)
        line[i] = (struct place_in_line){m->unit_of[i] ? first[m->unit_of[i]] : n, m->unit_of[i], i, pods[i]};
    if (n > 1)
        qsort(line, n, sizeof *line, compare_places);
    for (uint32_t i = 0; i < n; i++) {
        pods[i] = line[i].pod;
        if (!line[i].unit || (i && line[i - 1].unit == line[i].unit))
            continue;
        sorted[units_n] = m->units[line[i].unit - 1];
        sorted[units_n].first = i;
        now[line[i].unit] = ++units_n;
    }
    for (uint32_t i = 0; i < units_n; i++)
        sorted[i].after = sorted[i].after ? now[sorted[i].after] : 0;
    m->units = sorted;
    return units_n;
}

static struct maker maker_begin(const struct subgroups *x, struct arena *a, uint32_t n)
{
    struct maker m = {.x = x};
    m.all = arena_alloc(a, (x->n + 1) * sizeof *m.all);
    memcpy(m.all, x->all, (x->n + 1) * sizeof *m.all);
    m.nodes = arena_zero(a, x->n + 1, sizeof *m.nodes);
    m.next_pod = arena_zero(a, n + 1, sizeof *m.next_pod);
    m.unit_of = arena_zero(a, n + 1, sizeof *m.unit_of);
    m.units = arena_alloc(a, (n + 1) * sizeof *m.units);
    return m;
}

static uint32_t subgroups_units(const struct subgroups *x, struct arena *a, uint32_t *pods, uint32_t n, struct unit **ret_units)
{
    struct maker m = maker_begin(x, a, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = subgroup_of(x, pods[i]);
        if (node)
            put_pod(&m, node, i);
        else {
            m.unit_of[i] = new_unit(&m, 0, false);
            m.units[m.units_n - 1].n = 1;
        }
    }
    go_below(&m, 0, 0); /* what the group asks for is asked of all units together */
    uint32_t units_n = sort_units(&m, a, pods, n);
    *ret_units = m.units;
    return units_n;
}

/* Right below it, satisfied or not: none of them can be done without, and this is the first that cannot be satisfied. 0: there is none. */
static uint32_t first_missing(const struct maker *m, uint32_t node)
{
    uint32_t below_n = 0, missing = 0;
    for (uint32_t i = m->x->n; i > 0; i--) {
        below_n += m->all[i].above == node;
        missing = m->all[i].above == node && !can_be_satisfied(m, i) ? i : missing;
    }
    return m->all[node].least_n >= below_n ? missing : 0;
}

bool subgroups_lack(const struct subgroups *x, struct arena *a, const uint32_t *pods, uint32_t n, struct subgroup_lack *ret)
{
    struct maker m = maker_begin(x, a, n);
    uint32_t node = 0;
    for (uint32_t i = 0; i < n; i++)
        if (subgroup_of(x, pods[i]))
            put_pod(&m, subgroup_of(x, pods[i]), i);
    if (can_be_satisfied(&m, 0))
        return false;
    for (uint32_t below; !m.all[node].of_pods && (below = first_missing(&m, node));)
        node = below;
    const struct subgroup *one = &m.all[node];
    *ret = (struct subgroup_lack){.name = one->policy ? one->policy->name : 0, .of_pods = one->of_pods, .need = one->least_n};
    ret->have = one->there_n + (one->of_pods ? m.nodes[node].pods_n : 0);
    for (uint32_t at = one->of_pods ? 0 : m.nodes[node].below; at; at = m.nodes[at - 1].next)
        ret->have += !subgroup_is_satisfied(&m.all[at - 1]) && can_be_satisfied(&m, at - 1);
    return true;
}

uint32_t group_units(const struct state *s, const struct gang *g, struct arena *a, uint32_t *pods, uint32_t n, struct unit **ret_units)
{
    struct subgroups *x = subgroups_of(s, g);
    if (x) {
        uint32_t units_n = subgroups_units(x, a, pods, n, ret_units);
        subgroups_free(x);
        return units_n;
    }
    *ret_units = arena_alloc(a, (n + 1) * sizeof **ret_units);
    for (uint32_t i = 0; i < n; i++)
        (*ret_units)[i] = (struct unit){.first = i, .n = 1};
    return n;
}
