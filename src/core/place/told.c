/* told.c - which domains the sets of a gang were given, as its object says: see domain.h */
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/domain.h"
#include "core/place/fit.h"
#include "core/queue/gang.h"

uint32_t domain_topology(const struct state *s, const struct flavor_choice *choices, uint32_t choices_n, uint32_t set)
{
    uint32_t found = 0;
    name_id first = 0;
    for (uint32_t i = 0; i < choices_n && s->topologies_n > 1; i++) {
        const struct flavor *f = choices[i].pod_set == set && choices[i].flavor != first ? flavor_find(s, choices[i].flavor) : NULL;
        uint32_t topology = f ? topology_find(s, f->topology) : 0;
        if (topology && found)
            return DOMAIN_SEVERAL;
        if (topology) {
            found = topology;
            first = choices[i].flavor;
        }
    }
    return found;
}

void domain_forget(struct gang *g)
{
    if (!g->own->told)
        return;
    struct gang_object *o = gang_own(g);
    free(o->told);
    o->told = NULL;
    o->told_n = 0;
    o->lost = 0;
    o->lost_ms = 0;
}

/* One leaf: pods that stand in it or for which a place is held, and how many were told. */
struct tally {
    uint32_t leaf;           /* 0: the tree has no such domain */
    name_id name;
    int64_t now, told, before; /* before: what is told of it so far */
    bool lost;               /* no node of it can be used */
};
struct tallies {
    struct tally *all;
    uint32_t n, cap;
    uint32_t *at;            /* by leaf: index + 1 in all */
    bool changed;            /* something else is to be told */
};

static struct tally *tally_of(struct tallies *t, uint32_t leaf, name_id name)
{
    if (leaf && t->at[leaf])
        return &t->all[t->at[leaf] - 1];
    MEM_RESERVE(t->all, t->cap, t->n + 1);
    t->all[t->n++] = (struct tally){.leaf = leaf, .name = name};
    if (leaf)
        t->at[leaf] = t->n;
    return &t->all[t->n - 1];
}

static void count_seat(const struct state *s, const struct topology *t, uint32_t seat, uint32_t set, struct tallies *to)
{
    uint32_t leaf = s->seats[seat].pod_set == set ? topology_leaf(t, s->seats[seat].node) : 0;
    if (leaf)
        tally_of(to, leaf, topology_leaf_name(t, leaf))->now++;
}

static bool is_lost(const struct state *s, const struct topology *t, uint32_t leaf, uint32_t shape)
{
    const struct domain *d = &t->domains[leaf];
    for (uint32_t i = 0; leaf && i < d->n; i++)
        if (fit_record(s, &s->shapes.classes[shape], t->nodes[d->first + i], NULL) == FIT_OK)
            return false;
    return true;
}

static int compare_tallies(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->leaf != b->leaf)
        return a->leaf < b->leaf ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* So many of what was told are elsewhere by now: of lost domains first. */
static void give_up(struct tallies *t, int64_t moved)
{
    for (int lost = 1; lost >= 0; lost--)
        for (uint32_t i = 0; i < t->n && moved > 0; i++) {
            int64_t missing = t->all[i].lost == (lost != 0) ? t->all[i].told - t->all[i].now : 0;
            missing = missing > moved ? moved : missing;
            if (missing <= 0)
                continue;
            t->all[i].told -= missing;
            moved -= missing;
        }
}

/* What the object says, of no more pods than the set has: anybody may have written it. */
static void count_told(const struct gang *g, const struct topology *t, uint32_t set, struct tallies *counts)
{
    int64_t left = g->sets[set].count;
    for (uint32_t i = 0; i < g->own->told_n; i++) {
        const struct domain_choice *row = &g->own->told[i];
        int64_t n = row->count < left ? row->count : left;
        counts->changed |= row->pod_set == set && row->count != n;
        if (row->pod_set != set || n <= 0)
            continue;
        struct tally *one = tally_of(counts, id_map_get(&t->leaf_by_name, row->domain), row->domain);
        one->told += n;
        one->before = one->told;
        left -= n;
    }
}

/* What stands where nothing, or less, was told has come from where more was told than stands. */
static void follow(const struct state *s, const struct gang *g, const struct topology *t, uint32_t set, struct tallies *counts)
{
    int64_t moved = 0;
    count_told(g, t, set, counts);
    for (uint32_t i = 0; i < counts->n; i++) {
        struct tally *one = &counts->all[i];
        one->lost = is_lost(s, t, one->leaf, g->sets[set].placed_shape);
        moved += one->now > one->told ? one->now - one->told : 0;
    }
    give_up(counts, moved);
    for (uint32_t i = 0; i < counts->n; i++)
        counts->all[i].told = counts->all[i].now > counts->all[i].told ? counts->all[i].now : counts->all[i].told;
    for (uint32_t i = 0; i < counts->n; i++)
        counts->changed |= counts->all[i].told != counts->all[i].before;
    if (counts->n > 1)
        qsort(counts->all, counts->n, sizeof *counts->all, compare_tallies);
}

struct told {
    struct domain_choice *all;
    uint32_t n, cap;
};

static void add(struct told *to, uint32_t set, name_id domain, int64_t count)
{
    MEM_RESERVE(to->all, to->cap, to->n + 1);
    to->all[to->n++] = (struct domain_choice){.pod_set = (uint16_t)set, .domain = domain, .count = (int32_t)count};
}

/* True: it is something else than before. */
static bool note_set(struct state *s, const struct gang *g, uint32_t set, uint32_t topology, struct told *to)
{
    const struct topology *t = topology_sync(s, topology);
    struct tallies counts = {.at = mem_zero(t->domains_n, sizeof *counts.at)};
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        count_seat(s, t, g->own->seats[i], set, &counts);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->seat && !p->former && !p->deleting)
            count_seat(s, t, p->seat, set, &counts);
    }
    follow(s, g, t, set, &counts);
    for (uint32_t i = 0; i < counts.n; i++)
        if (counts.all[i].told > 0)
            add(to, set, counts.all[i].name, counts.all[i].told);
    free(counts.all);
    free(counts.at);
    return counts.changed;
}

/* WHY  as it was where nothing has changed: a row whose node is gone has no place in the order of the tree any more, and pods that have
 * their ranks by the order of rows would change them. */
bool domain_note(struct state *s, struct gang *g)
{
    struct told told = {0};
    bool changed = false;
    for (uint32_t set = 0; set < g->sets_n && g->planned; set++) {
        uint32_t topology = domain_topology(s, g->own->choices, g->own->choices_n, set);
        if (topology && topology != DOMAIN_SEVERAL) {
            changed |= note_set(s, g, set, topology, &told);
            continue;
        }
        for (uint32_t i = 0; i < g->own->told_n; i++) /* its topology is gone: nobody moves for that */
            if (g->own->told[i].pod_set == set)
                add(&told, set, g->own->told[i].domain, g->own->told[i].count);
    }
    if (!changed) {
        free(told.all);
        return false;
    }
    struct gang_object *o = gang_own(g);
    free(o->told);
    o->told = told.all;
    o->told_n = told.n;
    return true;
}
