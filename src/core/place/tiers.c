#include "core/place/tiers.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/domain.h"
#include "core/place/undo.h"
#include "core/place/view.h"

struct room {
    uint64_t all;            /* places of all kinds, each for itself */
    uint32_t found_n;        /* wants that find one so */
    uint32_t domain;
};
struct tiers {
    struct state *s;
    struct gang *gang;
    struct want *wants;
    uint32_t n, *steps;
    place_in_area_fn *place;
    const struct tier_request *request;
    const struct topology *t;
    uint32_t *standing;      /* leaves of members that stand */
    uint32_t standing_n;
    struct room *rooms;      /* by domain */
    struct misfit misfit;    /* of the last domain that was tried */
    uint32_t tried;          /* that domain; 0: none had room for each kind */
    const struct room *best; /* of all that count, the one that holds most; NULL: there is none */
};

/* ---- room ---- */

static void add_kind(struct tiers *x, uint32_t shape, uint32_t n)
{
    const uint64_t *in = view_domains(x->s, view_scored(x->s, shape, gang_policy(x->s, x->gang)), (uint32_t)(x->t - x->s->topologies));
    for (uint32_t at = 1; at < x->t->domains_n; at++) {
        x->rooms[at].all += in[at];
        x->rooms[at].found_n += in[at] < n ? (uint32_t)in[at] : n;
    }
}

static int compare_shapes(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void count_rooms(struct tiers *x)
{
    uint32_t *shapes = mem_alloc(x->n * sizeof *shapes);
    for (uint32_t i = 0; i < x->n; i++)
        shapes[i] = x->wants[i].shape;
    qsort(shapes, x->n, sizeof *shapes, compare_shapes);
    x->rooms = mem_zero(x->t->domains_n, sizeof *x->rooms);
    for (uint32_t at = 0; at < x->t->domains_n; at++)
        x->rooms[at].domain = at;
    for (uint32_t i = 0, end; i < x->n; i = end) {
        for (end = i; end < x->n && shapes[end] == shapes[i]; end++)
            ;
        add_kind(x, shapes[i], end - i);
    }
    free(shapes);
}

/* ---- who stands already ---- */

static void find_standing(struct tiers *x)
{
    const struct gang *g = x->gang;
    x->standing = mem_alloc((g->members_n + 1) * sizeof *x->standing);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &x->s->pods[g->members[i]];
        if (p->seat && !p->former && !p->deleting && !x->s->seats[p->seat].lifted)
            x->standing[x->standing_n++] = topology_leaf(x->t, x->s->seats[p->seat].node);
    }
}

static bool holds_standing(const struct tiers *x, uint32_t domain, uint32_t level)
{
    for (uint32_t i = 0; i < x->standing_n; i++)
        if (!x->standing[i] || domain_above(x->t, x->standing[i], level) != domain)
            return false;
    return true;
}

/* ---- one tier ---- */

static int compare_rooms(const void *left, const void *right)
{
    const struct room *const *l = left, *const *r = right, *a = *l, *b = *r;
    if (a->all != b->all)
        return a->all < b->all ? -1 : 1;
    return a->domain < b->domain ? -1 : a->domain > b->domain;
}

/* Nodes of all leaves below stand side by side. */
static struct area area_of(const struct topology *t, uint32_t domain)
{
    uint32_t first = domain, last = domain, leaves = topology_first_leaf(t);
    while (first < leaves)
        first = t->domains[first].first;
    while (last < leaves)
        last = t->domains[last].first + t->domains[last].n - 1;
    uint32_t from = t->domains[first].first;
    return (struct area){&t->nodes[from], t->domains[last].first + t->domains[last].n - from};
}

static bool place_in_domain(struct tiers *x, uint32_t domain)
{
    const struct area area = area_of(x->t, domain);
    const struct misfit before = x->misfit;
    uint32_t mark = undo_mark(x->s);
    if (x->place(x->s, x->gang, x->wants, x->n, &area, x->steps, &x->misfit))
        return true;
    undo_back(x->s, mark);
    if (before.neighbours) /* that has to be looked at again when others come and go */
        x->misfit = before;
    else
        x->tried = domain;
    return false;
}

static bool place_on_level(struct tiers *x, uint32_t level)
{
    uint32_t first = x->t->level_first[level], end = x->t->level_first[level + 1], n = 0;
    uint32_t only = x->standing_n ? domain_above(x->t, x->standing[0], level) : 0;
    const struct room **fit = mem_alloc((end - first + 1) * sizeof *fit);
    for (uint32_t at = first; at < end; at++) {
        const struct room *r = &x->rooms[at];
        if (!x->t->domains[at].value || (x->standing_n && (at != only || !holds_standing(x, at, level))))
            continue;
        x->best = !x->best || r->found_n > x->best->found_n ? r : x->best;
        if (r->found_n == x->n)
            fit[n++] = r;
    }
    if (n > 1)
        qsort(fit, n, sizeof *fit, compare_rooms);
    bool placed = false;
    for (uint32_t i = 0; i < n && !placed; i++)
        placed = place_in_domain(x, fit[i]->domain);
    free(fit);
    return placed;
}

/* ---- all ---- */

static name_id tier_title(struct state *s, const struct tier_request *r)
{
    if (r->title)
        return r->title;
    buf_clear(&s->text);
    buf_printf(&s->text, "%lld", (long long)r->highest);
    return intern_id(s->names, buf_view(&s->text));
}

/* Where there is no place even if tiers did not matter, that is said: it has to change first. */
static bool lacks_anywhere(struct tiers *x)
{
    uint32_t mark = undo_mark(x->s);
    bool placed = x->place(x->s, x->gang, x->wants, x->n, NULL, NULL, &x->misfit);
    if (placed) /* else they stand: so it is explained */
        undo_back(x->s, mark);
    x->misfit.mixed = true; /* what is free in one domain may be of no use in another one */
    return !placed;
}

static void refuse(struct tiers *x, uint32_t topology, bool any)
{
    const struct room *shown = x->tried ? &x->rooms[x->tried] : x->best;
    const struct misfit last = x->misfit; /* of the domain that was tried */
    if (!x->tried && lacks_anywhere(x))
        return;
    struct domain_misfit d = {.topology = topology ? topology : DOMAIN_SEVERAL, .level = tier_title(x->s, x->request), .want = x->n};
    d.trouble = !any ? DOMAINS_TIER_NONE : !shown ? DOMAINS_TIER_APART : x->tried ? DOMAINS_TIER_TOGETHER : DOMAINS_TIER_SHORT;
    d.other = shown ? x->t->domains[shown->domain].value : 0;
    d.have = shown ? shown->found_n : 0;
    x->misfit = (struct misfit){.shape = x->wants->shape, .labels = x->wants->labels, .wanted_n = x->n, .mixed = true, .domains = d};
    if (!x->tried)
        return;
    x->misfit.shape = last.shape;
    x->misfit.labels = last.labels;
    x->misfit.neighbours = last.neighbours;
    x->misfit.gave_up = last.gave_up;
    x->misfit.many_kinds = last.many_kinds;
}

static bool has_domain(const struct topology *t, uint32_t level)
{
    for (uint32_t at = t->level_first[level]; at < t->level_first[level + 1]; at++)
        if (t->domains[at].value)
            return true;
    return false;
}

/* Tier by tier. ret_any: some domain counts, whether it has room or not. */
static bool go_up(struct tiers *x, bool required, bool *ret_any)
{
    bool placed = false;
    count_rooms(x);
    find_standing(x);
    for (uint32_t level = x->t->levels_n; level-- > 0 && !placed;) {
        if (required && x->t->tiers[level] > x->request->highest)
            break;
        *ret_any |= has_domain(x->t, level);
        placed = place_on_level(x, level);
    }
    return placed;
}

bool place_in_tiers(struct state *s, struct gang *g, struct want *wants, uint32_t n, place_in_area_fn *place, uint32_t *steps,
                    struct misfit *ret_misfit)
{
    struct tiers x = {.s = s, .gang = g, .wants = wants, .n = n, .place = place, .steps = steps, .request = gang_tiers(g)};
    uint32_t topology = topology_with_tiers(s);
    bool any = false, required = x.request->mode == TOPOLOGY_REQUIRED;
    for (uint32_t i = 0; i < n; i++)
        wants[i].seat = 0;
    x.t = topology ? topology_sync(s, topology) : NULL;
    bool placed = topology && go_up(&x, required, &any);
    if (!placed && required)
        refuse(&x, topology, any);
    free(x.rooms);
    free(x.standing);
    if (!placed && !required)
        return place(s, g, wants, n, NULL, steps, ret_misfit);
    *ret_misfit = x.misfit;
    return placed;
}
