#include "core/quota/claim.h"
#include "base/collections/map.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/flavor.h"

bool claim_may_stand(const struct queue *q, const struct gang *g)
{
    return q->strategy == QUEUE_STRICT_FIFO && q->cohort && !q->reclaims_any && g->planned;
}

bool claim_stands(const struct queue *q)
{
    const struct gang *g = q->strategy == QUEUE_STRICT_FIFO ? order_blocker(q) : NULL;
    return g && !g->promise && claim_may_stand(q, g) && (g->line->park.on & PARK_QUOTA);
}

static int64_t between(int64_t value, int64_t most)
{
    return most < 0 ? 0 : value < most ? value : most;
}

/* SOURCE Kueue: without borrowing, what is left of the nominal quota; else up to the borrowing limit, all of it without one. */
static int64_t kept(const struct quota_cell *cell, const struct charge *wanted, bool borrows)
{
    int64_t most;
    if (!borrows)
        return between(wanted->amount, cell->nominal - cell->usage);
    if (cell->borrowing_limit == NO_LIMIT)
        return wanted->amount;
    if (__builtin_add_overflow(cell->nominal, cell->borrowing_limit, &most))
        return wanted->amount;
    return between(wanted->amount, most - cell->usage);
}

uint32_t claim_find(struct state *s, const struct queue *q, const struct gang *g, struct arena *a, struct charge **ret_charges,
                    uint32_t *ret_borrow_level)
{
    struct flavor_search search;
    struct reason *unused = reason_new(a, (struct reason){.code = REASON_WAITING});
    struct flavor_demand *sets = arena_alloc(a, (g->sets_n + 1) * sizeof *sets);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        sets[i] = (struct flavor_demand){g->sets[i].name, set_charged(&g->sets[i]), set_needs(&g->sets[i]), set_topology(&g->sets[i]),
                                         g->sets[i].shape};
    flavor_search_begin(s, &search, q, sets, g->sets_n, a);
    search.others_give_way = true;
    if (!flavor_search_next(s, &search, a, unused))
        return 0;
    for (uint32_t i = 0; i < search.charges_n; i++) {
        const struct quota_cell *cell = quota_find(&s->quota, q->quota, search.charges[i].flavor, search.charges[i].resource);
        struct charge c = search.charges[i];
        c.amount = cell ? kept(cell, &search.charges[i], search.borrow_level > 0) : 0;
        if (c.amount > 0)
            search.charges[n++] = c;
    }
    *ret_charges = search.charges;
    *ret_borrow_level = search.borrow_level;
    return n;
}

/* WHY  a sum of texts: ids of names and of nodes, and the order in which they stand, are others after a sweep of names. */
static uint64_t sum_of_uses(const struct state *s, uint32_t id)
{
    const struct quota_node *node = &s->quota.nodes[id];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < node->cells_n && node->is_queue; i++) {
        const struct quota_cell *cell = &node->cells[i];
        uint64_t words[] = {intern_hash(s->names, node->name), intern_hash(s->names, (name_id)(cell->key >> 32)),
                            intern_hash(s->names, (name_id)cell->key), (uint64_t)cell->usage};
        sum += cell->usage ? hash_bytes(words, sizeof words, 0x75736573u) : 0;
    }
    for (uint32_t child = node->first_child; child; child = s->quota.nodes[child].next_child)
        sum += sum_of_uses(s, child); /* LIMIT_COHORT_DEPTH deep */
    return sum;
}

static uint64_t uses_of_tree(struct state *s, uint32_t root)
{
    struct quota_node *node = &s->quota.nodes[root];
    if (!node->uses)
        node->uses = sum_of_uses(s, root) | 1;
    return node->uses;
}

/* Of texts, since it is kept; and of the uses of its tree: they decide who borrows, and so who comes before the claim and who after it. */
static uint64_t hash_of_claim(struct state *s, const struct queue *q, struct arena *a)
{
    struct charge *charges;
    uint32_t level = 0, n = claim_stands(q) ? claim_find(s, q, order_blocker(q), a, &charges, &level) : 0;
    uint64_t h = n ? level + 1 + uses_of_tree(s, s->quota.nodes[q->quota].root) : 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t words[] = {h, intern_hash(s->names, charges[i].flavor), intern_hash(s->names, charges[i].resource),
                            (uint64_t)charges[i].amount};
        h = hash_bytes(words, sizeof words, 0x636c61696du);
    }
    return h;
}

bool claim_ended(struct state *s, struct arena *a)
{
    bool any = false;
    for (uint32_t i = 0; i < s->queues_n && s->strict_n; i++) {
        struct queue *q = s->queues[i];
        if (!q->claimed && !claim_stands(q))
            continue;
        uint64_t now = hash_of_claim(s, q, a);
        if (q->claimed && q->claimed != now)
            any |= order_wake_tree(s, s->quota.nodes[q->quota].root);
        q->claimed = now;
    }
    return any;
}
