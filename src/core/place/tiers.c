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
struct tiers {
    struct state *s;
    struct gang *gang;
    struct want *wants;
    uint32_t n, *steps;
    const struct tier_request *request;
    const struct area *within; /* nodes of one domain, whose subdomains are asked; NULL: all */
    const struct subgroups *in; /* NULL: there are none */
    uint32_t node;           /* of their tree: only members below it count; 0: all */
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
    x->standing = mem_alloc((g->members_n + 1) * sizeof *x->standing);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &x->s->pods[g->members[i]];
        if (x->node && !subgroup_is_below(x->in, subgroup_of(x->in, g->members[i]), x->node))
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

/* Places all on nodes of the area (NULL: all): subgroups that ask for domains in some of their own. */
static bool place_below(struct tiers *x, const struct area *area, uint32_t *steps, struct misfit *ret_misfit);

static bool place_in_domain(struct tiers *x, uint32_t domain)
{
    const struct area area = area_of(x->t, domain);
    const struct misfit before = x->misfit;
    uint32_t mark = undo_mark(x->s);
    if (place_below(x, &area, x->steps, &x->misfit))
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
    bool placed = place_below(x, x->within, NULL, &x->misfit);
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
        return place_below(x, x->within, x->steps, ret_misfit);
    *ret_misfit = x->misfit;
    return placed;
}

/* ---- subgroups ---- */

/* Wants below one node that asks for a domain, or all others (node 0). */
struct part {
    const struct tier_request *request;
    uint32_t node, first, n; /* order[first .. first + n) */
};
struct sorted_want {
    uint32_t first, at, node; /* first: of its part */
};

static int compare_wants(const void *left, const void *right)
{
    const struct sorted_want *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
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

/* The widest that asks for a domain of those below `top` that the member is below; 0: none does. */
static uint32_t next_asking(const struct subgroups *in, uint32_t node, uint32_t top)
{
    uint32_t asking = 0;
    for (; node && node != top; node = in->all[node].above)
        asking = in->all[node].tiers ? node : asking;
    return asking;
}

/* ret_order: their wants, part by part. The caller frees both. */
static struct part *parts_below(const struct tiers *x, struct sorted_want **ret_order, uint32_t *ret_n)
{
    struct sorted_want *order = mem_alloc((x->n + 1) * sizeof *order);
    struct part *parts = mem_alloc((x->n + 1) * sizeof *parts);
    uint32_t parts_n = 0, *first = mem_alloc((x->in->n + 1) * sizeof *first);
    for (uint32_t i = 0; i <= x->in->n; i++)
        first[i] = UINT32_MAX;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t node = next_asking(x->in, subgroup_of(x->in, x->wants[i].pod), x->node);
        first[node] = first[node] < i ? first[node] : i; /* numbers of nodes say nothing */
        order[i] = (struct sorted_want){first[node], i, node};
    }
    qsort(order, x->n, sizeof *order, compare_wants);
    for (uint32_t i = 0; i < x->n; i++) {
        if (!i || order[i].first != order[i - 1].first)
            parts[parts_n++] = (struct part){order[i].node ? x->in->all[order[i].node].tiers : NULL, order[i].node, i, 0};
        parts[parts_n - 1].n++;
    }
    qsort(parts, parts_n, sizeof *parts, compare_parts);
    free(first);
    *ret_order = order;
    *ret_n = parts_n;
    return parts;
}

/* Each part in a domain of its own within the area. */
static bool place_parts(struct tiers *x, const struct part *parts, uint32_t parts_n, const struct sorted_want *order,
                        const struct area *area, uint32_t *steps, struct misfit *ret_misfit)
{
    struct want *some = mem_alloc((x->n + 1) * sizeof *some);
    bool placed = true;
    for (uint32_t i = 0; i < parts_n && placed; i++) {
        const struct part *part = &parts[i];
        for (uint32_t k = 0; k < part->n; k++)
            some[k] = x->wants[order[part->first + k].at];
        struct tiers below = {.s = x->s, .gang = x->gang, .wants = some, .n = part->n, .steps = steps, .request = part->request,
                              .within = area, .in = x->in, .node = part->node};
        placed = part->request ? place_together(&below, ret_misfit) : place_in_area(x->s, x->gang, some, part->n, area, steps, ret_misfit);
        for (uint32_t k = 0; k < part->n; k++)
            x->wants[order[part->first + k].at].seat = some[k].seat;
    }
    free(some);
    return placed;
}

static bool place_below(struct tiers *x, const struct area *area, uint32_t *steps, struct misfit *ret_misfit)
{
    if (!x->in || (x->node && x->in->all[x->node].of_pods))
        return place_in_area(x->s, x->gang, x->wants, x->n, area, steps, ret_misfit);
    struct sorted_want *order;
    uint32_t parts_n;
    struct part *parts = parts_below(x, &order, &parts_n);
    bool placed = place_parts(x, parts, parts_n, order, area, steps, ret_misfit);
    if (!placed && parts_n > 1)
        ret_misfit->mixed = true;
    free(parts);
    free(order);
    return placed;
}

/* ---- all ---- */

bool place_asks_for_tiers(const struct gang *g)
{
    return !g->planned && (gang_tiers(g) || group_has_subgroup_tiers(g));
}

bool place_in_tiers(struct state *s, struct gang *g, struct want *wants, uint32_t n, uint32_t *steps, struct misfit *ret_misfit)
{
    struct subgroups *in = group_has_subgroup_tiers(g) ? subgroups_of(s, g) : NULL;
    struct tiers x = {.s = s, .gang = g, .wants = wants, .n = n, .steps = steps, .request = gang_tiers(g), .in = in};
    bool placed = x.request ? place_together(&x, ret_misfit) : place_below(&x, NULL, steps, ret_misfit);
    subgroups_free(in);
    return placed;
}
