#include "core/rules/wish.h"
#include "base/memory.h"
#include "core/rules/domain_counts.h"

#define PART_MOST 100
enum { FOR_TAINTS = 3, FOR_NODES = 2, FOR_PODS = 2, FOR_SPREAD = 2 }; /* SOURCE kube-scheduler, default plugins */

struct wisher {
    const struct state *s;
    const struct shape *shape;
    name_id ns;
    const uint32_t *nodes;
    uint32_t n;
    int64_t *part, *total;     /* by place in `nodes` */
};

/* ---- taints ---- */

static int64_t avoided_by(const struct state *s, const struct shape *shape, uint32_t node)
{
    const struct node *at = &s->nodes.nodes[node];
    int64_t n = 0;
    for (uint32_t i = 0; i < at->taints_n; i++) {
        bool tolerated = at->taints[i].effect != TAINT_PREFER_NO_SCHEDULE;
        for (uint32_t k = 0; k < shape->tolerations_n && !tolerated; k++)
            tolerated = toleration_covers(&shape->tolerations[k], &at->taints[i]);
        n += !tolerated;
    }
    return n;
}

static int64_t most_of(const struct wisher *x)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < x->n; i++)
        most = x->part[i] > most ? x->part[i] : most;
    return most;
}

static void add_taints(struct wisher *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        x->part[i] = avoided_by(x->s, x->shape, x->nodes[i]);
    int64_t most = most_of(x);
    for (uint32_t i = 0; i < x->n && most; i++)
        x->total[i] -= FOR_TAINTS * (PART_MOST * x->part[i] / most);
}

/* ---- nodes ---- */

static void add_nodes(struct wisher *x)
{
    for (uint32_t i = 0; i < x->n; i++) {
        const struct label_list labels = node_labels(&x->s->nodes, x->nodes[i]);
        x->part[i] = 0;
        for (uint32_t k = 0; k < x->shape->node_wishes_n; k++)
            if (selector_matches(&x->shape->node_wishes[k].term, labels, x->s->nodes.nodes[x->nodes[i]].name, x->s->names))
                x->part[i] += x->shape->node_wishes[k].weight;
    }
    int64_t most = most_of(x);
    for (uint32_t i = 0; i < x->n && most; i++)
        x->total[i] += FOR_NODES * (PART_MOST * x->part[i] / most);
}

/* ---- pods ---- */

/* Answers about labels, asked once for each set of them: pods of one template have the same. */
struct answers {
    uint8_t *by_set;           /* 0: not asked yet; 1: no; 2: yes */
    const struct wisher *x;
    const struct pod_affinity *term;      /* one of both */
    const struct topology_spread *spread;
};

static bool selects(struct answers *a, uint32_t set)
{
    const struct wisher *x = a->x;
    const struct label_set *pod = &x->s->shapes.sets[set];
    if (!a->by_set[set]) {
        bool yes = a->term ? domain_term_selects(x->s, a->term, x->ns, pod)
                           : pod->ns == x->ns && selector_matches(&a->spread->pods, pod->labels, 0, x->s->names);
        a->by_set[set] = yes ? 2 : 1;
    }
    return a->by_set[set] == 2;
}

static void count_term(const struct wisher *x, const struct pod_affinity *term, struct domain_counts *d)
{
    const struct state *s = x->s;
    struct answers a = {.by_set = mem_zero(s->shapes.sets_n, 1), .x = x, .term = term};
    for (uint32_t i = 1; i < s->seats_n; i++)
        if (s->seats[i].node && !s->seats[i].lifted && selects(&a, s->seats[i].labels))
            domain_count_add(s, d, s->seats[i].node, term->anti ? -term->weight : term->weight);
    free(a.by_set);
}

static int64_t count_at(const struct wisher *x, const struct domain_counts *d, uint32_t node)
{
    const struct label *domain = domain_label(x->s, node, d->key);
    return domain ? domain_count(d, domain->value) : 0;
}

static void add_pods(struct wisher *x)
{
    memset(x->part, 0, x->n * sizeof *x->part);
    for (uint32_t k = 0; k < x->shape->pod_wishes_n; k++) {
        struct domain_counts d = {.key = x->shape->pod_wishes[k].topology_key};
        count_term(x, &x->shape->pod_wishes[k], &d);
        for (uint32_t i = 0; i < x->n && d.n; i++)
            x->part[i] += count_at(x, &d, x->nodes[i]);
        domain_counts_free(&d);
    }
    int64_t least = x->part[0], most = x->part[0];
    for (uint32_t i = 1; i < x->n; i++) {
        least = x->part[i] < least ? x->part[i] : least;
        most = x->part[i] > most ? x->part[i] : most;
    }
    for (uint32_t i = 0; i < x->n && most > least; i++)
        x->total[i] += FOR_PODS * (PART_MOST * (x->part[i] - least) / (most - least));
}

/* ---- spread ---- */

/* Natural logarithm in 1/256, rounded down; of n >= 1. */
static int64_t logarithm_256(uint32_t n)
{
    int64_t two = 31 - __builtin_clz(n); /* to the base of two; then eight digits behind the point */
    uint64_t x = (uint64_t)n << (31 - two);
    for (int digit = 0; digit < 8; digit++) {
        x = x * x >> 31;
        two = two << 1 | (int64_t)(x >> 32);
        x >>= x >> 32;
    }
    return two * 45426 >> 16; /* ln 2 in 1/65536 */
}

/* Nodes without one of the labels take no part. */
static bool has_keys(const struct wisher *x, uint32_t node)
{
    bool all = true;
    for (uint32_t i = 0; i < x->shape->spread_wishes_n && all; i++)
        all = domain_label(x->s, node, x->shape->spread_wishes[i].topology_key) != NULL;
    return all;
}

/* Of domains of the nodes that do: pods on whichever node that the pod's own selectors let it onto. */
static void count_spread(const struct wisher *x, const struct topology_spread *spread, struct domain_counts *d)
{
    const struct state *s = x->s;
    struct answers a = {.by_set = mem_zero(s->shapes.sets_n, 1), .x = x, .spread = spread};
    for (uint32_t i = 1; i < s->seats_n; i++) {
        const struct seat *seat = &s->seats[i];
        if (!seat->node || seat->lifted || s->pods[seat->pod].deleting || !selects(&a, seat->labels) || !has_keys(x, seat->node))
            continue;
        const struct label *domain = domain_label(s, seat->node, d->key);
        if (id_map_get(&d->by_value, domain->value + 1) &&
            node_terms_match(x->shape, node_labels(&s->nodes, seat->node), s->nodes.nodes[seat->node].name, s->names))
            ++*domain_count_slot(d, domain->value);
    }
    free(a.by_set);
}

static void add_spread(struct wisher *x)
{
    int64_t least = INT64_MAX, most = 0;
    memset(x->part, 0, x->n * sizeof *x->part);
    for (uint32_t k = 0; k < x->shape->spread_wishes_n; k++) {
        const struct topology_spread *spread = &x->shape->spread_wishes[k];
        struct domain_counts d = {.key = spread->topology_key};
        for (uint32_t i = 0; i < x->n; i++)
            if (has_keys(x, x->nodes[i]))
                (void)domain_count_slot(&d, domain_label(x->s, x->nodes[i], d.key)->value);
        count_spread(x, spread, &d);
        const int64_t weight = logarithm_256(d.n + 2);
        for (uint32_t i = 0; i < x->n; i++)
            x->part[i] += count_at(x, &d, x->nodes[i]) * weight + 256 * ((int64_t)spread->max_skew - 1);
        domain_counts_free(&d);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        x->part[i] = has_keys(x, x->nodes[i]) ? x->part[i] / 256 : -1;
        least = x->part[i] >= 0 && x->part[i] < least ? x->part[i] : least;
        most = x->part[i] > most ? x->part[i] : most;
    }
    for (uint32_t i = 0; i < x->n; i++)
        if (x->part[i] >= 0)
            x->total[i] += FOR_SPREAD * (most ? PART_MOST * (most + least - x->part[i]) / most : PART_MOST);
}

/* ---- all ---- */

bool wish_matters(const struct state *s, uint32_t shape, uint32_t best)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    return c->neighbour_wishes || c->shape.node_wishes_n || avoided_by(s, &c->shape, best);
}

uint32_t wish_pick(const struct state *s, uint32_t shape, uint32_t labels, uint32_t *nodes, uint32_t n)
{
    struct wisher x = {.s = s, .shape = &s->shapes.classes[shape].shape, .ns = s->shapes.sets[labels].ns, .nodes = nodes, .n = n};
    uint32_t best_n = 0, best = 0;
    x.part = mem_alloc(n * sizeof *x.part);
    x.total = mem_zero(n, sizeof *x.total);
    add_taints(&x);
    if (x.shape->node_wishes_n)
        add_nodes(&x);
    if (x.shape->pod_wishes_n)
        add_pods(&x);
    if (x.shape->spread_wishes_n)
        add_spread(&x);
    for (uint32_t i = 1; i < n; i++)
        best = x.total[i] > x.total[best] ? i : best;
    const int64_t most = x.total[best];
    for (uint32_t i = 0; i < n; i++)
        if (x.total[i] == most)
            nodes[best_n++] = nodes[i];
    free(x.part);
    free(x.total);
    return best_n;
}
