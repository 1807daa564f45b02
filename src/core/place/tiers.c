#include "core/place/tiers.h"
#include <stdlib.h>
#include "base/amount.h"
#include "base/memory.h"
#include "core/group/subgroups.h"
#include "core/group/terms.h"
#include "core/place/domain.h"
#include "core/place/undo.h"
#include "core/place/view.h"

struct room {
    uint64_t all;            /* places of all kinds, each for itself */
    int64_t left[3];         /* of the devices that the first one asks for, of cpu, of memory, on all nodes */
    uint32_t found_n;        /* wants that find one so */
    uint32_t domain;
};
/* Places all on nodes of the area (NULL: all), as place_in_area. */
typedef bool place_fn(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct area *area, uint32_t *steps,
                      struct misfit *ret_misfit);
struct tiers {
    struct state *s;
    struct gang *gang;
    struct want *wants;
    uint32_t n, *steps;
    place_fn *place;
    const struct tier_request *request;
    const struct area *within; /* nodes of one domain, whose subdomains are asked; NULL: all */
    const struct subgroups *in; /* only members of this subgroup count; NULL: all */
    uint32_t subgroup;
    const struct topology *t;
    uint32_t *standing;      /* leaves of members that stand */
    uint32_t standing_n;
    struct room *rooms;      /* by domain */
    struct misfit misfit;    /* of the last domain that was tried */
    uint32_t tried;          /* that domain; 0: none had room for each kind */
    const struct room *best; /* of all that count, the one that holds most; NULL: there is none */
};

/* ---- room ---- */

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

/* The domain counts: HyperNodes call it so, and it is all within those that are asked. */
static bool counts(const struct tiers *x, uint32_t domain)
{
    if (!x->t->domains[domain].value || !x->within)
        return x->t->domains[domain].value != 0;
    const struct area area = area_of(x->t, domain);
    return area.nodes >= x->within->nodes && area.nodes + area.n <= x->within->nodes + x->within->n;
}

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
    if (x->in && !x->in->all[x->subgroup].there_n)
        return;
    x->standing = mem_alloc((g->members_n + 1) * sizeof *x->standing);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &x->s->pods[g->members[i]];
        if (x->in && subgroup_of(x->in, g->members[i]) != x->subgroup)
            continue;
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
    for (size_t i = 0; i < sizeof a->left / sizeof *a->left; i++)
        if (a->left[i] != b->left[i])
            return a->left[i] < b->left[i] ? -1 : 1;
    return a->domain < b->domain ? -1 : a->domain > b->domain;
}

/* What is left on its nodes: of domains with as many places the fuller one comes first, as of nodes. */
static void count_left(struct tiers *x, struct room *r)
{
    const struct shape_class *c = &x->s->shapes.classes[x->wants->shape];
    const int32_t columns[] = {c->device_demand < 0 ? -1 : c->demands[c->device_demand].column, x->s->column_cpu, x->s->column_memory};
    const struct area area = area_of(x->t, r->domain);
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        r->left[k] = 0;
        for (uint32_t i = 0; i < area.n && columns[k] >= 0; i++) {
            int64_t left = node_free(&x->s->nodes, area.nodes[i])[columns[k]];
            r->left[k] = left > 0 ? amount_plus(r->left[k], left) : r->left[k];
        }
    }
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
        struct room *r = &x->rooms[at];
        if (!counts(x, at) || (x->standing_n && (at != only || !holds_standing(x, at, level))))
            continue;
        x->best = !x->best || r->found_n > x->best->found_n ? r : x->best;
        if (r->found_n < x->n)
            continue;
        count_left(x, r);
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

/* ---- one domain for all ---- */

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
    bool placed = x->place(x->s, x->gang, x->wants, x->n, x->within, NULL, &x->misfit);
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

static bool has_domain(const struct tiers *x, uint32_t level)
{
    for (uint32_t at = x->t->level_first[level]; at < x->t->level_first[level + 1]; at++)
        if (counts(x, at))
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
        *ret_any |= has_domain(x, level);
        placed = place_on_level(x, level);
    }
    return placed;
}

static bool place_together(struct tiers *x, struct misfit *ret_misfit)
{
    uint32_t topology = topology_with_tiers(x->s);
    bool any = false, required = x->request->mode == TOPOLOGY_REQUIRED;
    for (uint32_t i = 0; i < x->n; i++)
        x->wants[i].seat = 0;
    x->t = topology ? topology_sync(x->s, topology) : NULL;
    bool placed = topology && go_up(x, required, &any);
    if (!placed && required)
        refuse(x, topology, any);
    free(x->rooms);
    free(x->standing);
    if (!placed && !required)
        return x->place(x->s, x->gang, x->wants, x->n, x->within, x->steps, ret_misfit);
    *ret_misfit = x->misfit;
    return placed;
}

/* ---- subgroups ---- */

/* Wants of one subgroup that asks for a domain, or all others (number 0). */
struct part {
    const struct tier_request *request;
    uint32_t number, first, n; /* by_part[first .. first + n) */
};
struct numbered {
    uint32_t number, at;
};

static int compare_numbered(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Who has fewer domains to choose from, then the large ones, then as the caller lists them; last those of no subgroup. */
static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (!a->request != !b->request)
        return a->request ? -1 : 1;
    if (a->request && a->request->mode != b->request->mode)
        return a->request->mode == TOPOLOGY_REQUIRED ? -1 : 1;
    if (a->request && a->request->mode == TOPOLOGY_REQUIRED && a->request->highest != b->request->highest)
        return a->request->highest < b->request->highest ? -1 : 1;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* ret_order: their wants, part by part, as indexes. The caller frees both. */
static struct part *parts_of(const struct subgroups *in, const struct want *wants, uint32_t n, struct numbered **ret_order,
                             uint32_t *ret_n)
{
    struct numbered *order = mem_alloc((n + 1) * sizeof *order);
    struct part *parts = mem_alloc((n + 1) * sizeof *parts);
    uint32_t parts_n = 0, *first = mem_alloc((in->n + 1) * sizeof *first);
    for (uint32_t i = 0; i <= in->n; i++)
        first[i] = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = subgroup_of(in, wants[i].pod);
        number = number && in->all[number].policy->tiers.mode != TOPOLOGY_UNASKED ? number : 0;
        first[number] = first[number] < i ? first[number] : i;
        order[i] = (struct numbered){first[number], i}; /* by its first want: numbers say nothing */
    }
    qsort(order, n, sizeof *order, compare_numbered);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = subgroup_of(in, wants[order[i].at].pod);
        bool asks = number && in->all[number].policy->tiers.mode != TOPOLOGY_UNASKED;
        if (!i || order[i].number != order[i - 1].number)
            parts[parts_n++] = (struct part){asks ? &in->all[number].policy->tiers : NULL, asks ? number : 0, i, 0};
        parts[parts_n - 1].n++;
    }
    qsort(parts, parts_n, sizeof *parts, compare_parts);
    free(first);
    *ret_order = order;
    *ret_n = parts_n;
    return parts;
}

/* Each subgroup in a domain of its own within the area. */
static bool place_subgroups(struct state *s, struct gang *g, struct want *wants, uint32_t n, const struct area *area, uint32_t *steps,
                            struct misfit *ret_misfit)
{
    struct subgroups *in = subgroups_of(s, g);
    struct numbered *order;
    uint32_t parts_n;
    struct part *parts = parts_of(in, wants, n, &order, &parts_n);
    struct want *some = mem_alloc((n + 1) * sizeof *some);
    bool placed = true;
    for (uint32_t i = 0; i < parts_n && placed; i++) {
        const struct part *part = &parts[i];
        for (uint32_t k = 0; k < part->n; k++)
            some[k] = wants[order[part->first + k].at];
        struct tiers x = {.s = s, .gang = g, .wants = some, .n = part->n, .place = place_in_area, .steps = steps,
                          .request = part->request, .within = area, .in = in, .subgroup = part->number};
        placed = part->request ? place_together(&x, ret_misfit) : place_in_area(s, g, some, part->n, area, steps, ret_misfit);
        for (uint32_t k = 0; k < part->n; k++)
            wants[order[part->first + k].at].seat = some[k].seat;
    }
    if (!placed && parts_n > 1)
        ret_misfit->mixed = true;
    free(some);
    free(parts);
    free(order);
    subgroups_free(in);
    return placed;
}

/* ---- all ---- */

bool place_asks_for_tiers(const struct gang *g)
{
    return !g->planned && (gang_tiers(g) || group_has_subgroup_tiers(g));
}

bool place_in_tiers(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit)
{
    place_fn *place = group_has_subgroup_tiers(g) ? place_subgroups : place_in_area;
    if (!gang_tiers(g))
        return place(s, g, wants, n, NULL, steps, ret_misfit);
    struct tiers x = {.s = s, .gang = g, .wants = wants, .n = n, .place = place, .steps = steps, .request = gang_tiers(g)};
    return place_together(&x, ret_misfit);
}
