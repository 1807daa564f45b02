#include "core/quota/deserve.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/queue/gang.h"
#include "core/quota/count.h"

struct level {                 /* a queue; or a name above queues that is no queue */
    name_id name;
    struct queue *queue;       /* NULL: only named */
    uint32_t above, first_below, next;
    uint32_t below_n;
    bool is_reached;           /* from the top: it is in no cycle */
    struct quota_record *own, *cohort; /* one a resource: of the queue itself, but for those that it has none of; and of the cohort that
                                        * it is for those below it */
    uint32_t own_n;
    /* of the resource that is looked at */
    bool is_named, is_free, is_settled;
    int64_t deserved, guarantee, asked, least, most;
    int64_t guaranteed_below;
};
struct sharing {
    struct state *s;
    struct arena *a;
    struct level *levels;      /* 0 = none */
    uint32_t n;
    uint32_t *order;           /* levels from the top down; those in a cycle are missing */
    uint32_t order_n;
    name_id *resources;        /* by text */
    bool *is_only_counted;     /* [resource]: it is no resource of pods, but what some queue counts for others */
    uint32_t resources_n;
    bool by_weight;            /* somebody deserves by weight, or preempts, of all resources */
    bool has_moved;            /* somebody stands below another one now */
    bool some_by_weight;       /* or of one that somebody is guaranteed */
};

static int64_t minus(int64_t a, int64_t b)
{
    return a > b ? a - b : 0;
}

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* False: it is not named. */
static bool amount_of(const struct amount *all, uint32_t n, name_id resource, int64_t *ret_value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].resource != resource)
            continue;
        *ret_value = lower(higher(all[i].value, 0), NO_END);
        return true;
    }
    return false;
}

static int64_t guarantee_of(const struct queue *q, name_id resource)
{
    int64_t value = 0;
    if (q)
        (void)amount_of(q->shares.guarantee, q->shares.guarantee_n, resource, &value);
    return value;
}

/* NO_END: it is not bounded. */
static int64_t capability_of(const struct queue *q, name_id resource)
{
    int64_t value = NO_END;
    if (q)
        (void)amount_of(q->shares.capability, q->shares.capability_n, resource, &value);
    return value;
}

/* ---- the tree ---- */

static bool has_shares(const struct queue *q)
{
    return q && q->known && q->has_shares;
}

static uint32_t level_named(struct sharing *x, name_id name)
{
    for (uint32_t i = 1; i < x->n; i++)
        if (x->levels[i].name == name)
            return i;
    x->levels[x->n] = (struct level){.name = name};
    return x->n++;
}

static uint32_t level_above(struct sharing *x, const struct queue *q)
{
    struct queue *above = q->shares.parent ? queue_find(x->s, q->shares.parent) : NULL;
    if (has_shares(above))
        return above->level;
    return q->shares.parent ? level_named(x, q->shares.parent) : 0;
}

static void list_levels(struct sharing *x)
{
    struct state *s = x->s;
    x->levels = arena_zero(x->a, 2 * (size_t)s->queues_n + 2, sizeof *x->levels);
    x->n = 1;
    for (uint32_t i = 0; i < s->queues_n; i++) {
        if (!has_shares(s->queues[i]))
            continue;
        s->queues[i]->level = x->n;
        x->levels[x->n++] = (struct level){.name = s->queues[i]->name, .queue = s->queues[i]};
    }
    for (uint32_t i = 1, n = x->n; i < n; i++) {
        uint32_t above = level_above(x, x->levels[i].queue);
        x->levels[i].above = above;
        x->levels[i].next = above ? x->levels[above].first_below : 0;
        x->levels[above].first_below = i;
        x->levels[above].below_n++;
    }
    x->order = arena_alloc(x->a, (x->n + 1) * sizeof *x->order);
    for (uint32_t i = 1; i < x->n; i++)
        if (!x->levels[i].above)
            x->order[x->order_n++] = i;
    for (uint32_t i = 0; i < x->order_n; i++) {
        x->levels[x->order[i]].is_reached = true;
        for (uint32_t below = x->levels[x->order[i]].first_below; below; below = x->levels[below].next)
            x->order[x->order_n++] = below;
    }
}

/* Then all that its pods have is counted: who ends for whom follows from that. */
static bool preempts_within(const struct queue *q)
{
    return q->within != PREEMPT_NEVER;
}

/* Is there anybody to share with, or to be ended, or anything to keep, or a cycle to be told of? */
static bool is_shared(const struct sharing *x)
{
    uint32_t leaves_n = 0;
    bool any = x->order_n + 1 < x->n;
    for (uint32_t i = 1; i < x->n; i++) {
        const struct level *l = &x->levels[i];
        leaves_n += l->queue && !l->below_n && l->above;
        any |= l->queue && (l->queue->shares.guarantee_n || (l->below_n && l->queue->shares.capability_n) || preempts_within(l->queue));
    }
    return any || leaves_n > 1;
}

/* ---- resources ---- */

static void add_resource(struct sharing *x, uint32_t *cap, name_id name)
{
    for (uint32_t i = 0; i < x->resources_n; i++)
        if (x->resources[i] == name)
            return;
    x->resources = arena_grow(x->a, x->resources, x->resources_n, 1, cap, sizeof *x->resources);
    const char *text = intern_name(x->s->names, name);
    uint32_t at = x->resources_n++;
    for (; at && strcmp(intern_name(x->s->names, x->resources[at - 1]), text) > 0; at--)
        x->resources[at] = x->resources[at - 1];
    x->resources[at] = name;
}

static void add_resources(struct sharing *x, uint32_t *cap, const struct amount *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        add_resource(x, cap, all[i].resource);
}

/* Those that queues name; and where somebody deserves by weight, or may end others of his queue, all that nodes have, but for places of
 * pods. */
static void list_resources(struct sharing *x)
{
    uint32_t cap = 0;
    for (uint32_t i = 1; i < x->n; i++) {
        const struct queue *q = x->levels[i].queue;
        if (!q)
            continue;
        add_resources(x, &cap, q->shares.deserved, q->shares.deserved_n);
        add_resources(x, &cap, q->shares.guarantee, q->shares.guarantee_n);
        add_resources(x, &cap, q->shares.capability, q->shares.capability_n);
        x->by_weight |= x->levels[i].above && (!q->shares.deserved_n || preempts_within(q));
        x->some_by_weight |= q->shares.guarantee_n > 0;
    }
    for (uint32_t i = 1; i < x->s->nodes.columns_n && x->by_weight; i++)
        add_resource(x, &cap, x->s->nodes.columns[i]);
}

static int64_t demand_of(const struct shape_class *c, name_id resource)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].resource == resource)
            return lower(c->demands[i].value, NO_END);
    return 0;
}

static int64_t asked_by(const struct state *s, const struct gang *g, name_id resource)
{
    int64_t stands = 0, comes = 0, kept = 0, had = 0;
    const struct amount *all;
    uint32_t all_n = gang_least(g, &all);
    if (!g->members_n && g->phase == GANG_WAITING && g->active)
        (void)amount_of(all, all_n, resource, &comes);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        int64_t *sum = p->seat ? &stands : &comes;
        if (p->phase <= POD_RUNNING && !p->deleting)
            *sum = count_plus(*sum, demand_of(&s->shapes.classes[p->shape], resource));
    }
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        kept = count_plus(kept, demand_of(&s->shapes.classes[s->seats[g->own->seats[i]].shape], resource));
    if (g->own->had && g->active)
        (void)amount_of(g->own->had->all, g->own->had->n, resource, &had);
    return higher(count_plus(stands, higher(comes, kept)), had);
}

void deserve_forget(struct state *s, struct gang *g)
{
    if (!g->own->had)
        return;
    free(g->own->had);
    gang_own(g)->had = NULL;
    s->shares_changed |= s->shares_n > 0;
}

void deserve_note_phase(struct state *s, struct gang *g)
{
    if (g->phase != GANG_LEAVING && g->phase != GANG_WAITING)
        deserve_forget(s, g);
    if (g->phase != GANG_LEAVING || g->planned || !has_shares(g->queue))
        return;
    deserve_forget(s, g);
    struct gang_object *o = gang_own(g);
    o->had = mem_alloc(sizeof *o->had + o->charges_n * sizeof *o->had->all);
    o->had->n = o->charges_n;
    for (uint32_t i = 0; i < o->charges_n; i++)
        o->had->all[i] = (struct amount){o->charges[i].resource, o->charges[i].amount};
    s->shares_changed |= s->shares_n > 0;
}

/* What pods have and wait for, but for those that end, what groups ask for whose pods are not made yet, and places that are kept for pods
 * to come: a group that lost some is charged for them, and its queue would have more than it deserves. Of all resources at once:
 * asked[level * resources_n + resource]. */
static int64_t *find_asked(const struct sharing *x)
{
    const struct state *s = x->s;
    int64_t *asked = arena_zero(x->a, (size_t)x->n * x->resources_n + 1, sizeof *asked);
    for (uint32_t i = 0; i < s->gangs_n && (x->by_weight || x->some_by_weight); i++) {
        const struct gang *g = s->gangs[i];
        const struct queue *q = g->own->queue_name && !g->finished && g->phase != GANG_UNKNOWN ? queue_find(s, g->own->queue_name) : NULL;
        for (uint32_t r = 0; r < x->resources_n && has_shares(q); r++) {
            int64_t *sum = &asked[(size_t)q->level * x->resources_n + r];
            *sum = count_plus(*sum, asked_by(s, g, x->resources[r]));
        }
    }
    return asked;
}

/* ---- one resource ---- */

static void begin_resource(struct sharing *x, uint32_t r, const int64_t *asked)
{
    for (uint32_t i = 1; i < x->n; i++) {
        struct level *l = &x->levels[i];
        const struct queue *q = l->queue;
        l->asked = asked[(size_t)i * x->resources_n + r];
        l->guarantee = guarantee_of(q, x->resources[r]);
        l->deserved = l->guaranteed_below = 0;
        l->is_free = l->is_settled = false;
        l->is_named = q && amount_of(q->shares.deserved, q->shares.deserved_n, x->resources[r], &l->deserved);
    }
    for (uint32_t i = x->order_n; i-- > 0;) {
        struct level *l = &x->levels[x->order[i]], *above = &x->levels[l->above];
        l->guarantee = higher(l->guarantee, l->guaranteed_below); /* what is guaranteed below it is so through it */
        above->asked = count_plus(above->asked, l->asked);
        above->guaranteed_below = count_plus(above->guaranteed_below, l->guarantee);
    }
}

/* What is left for those who are not settled yet, and the sum of their weights. */
static int64_t rest_of(const struct sharing *x, const struct level *above, int64_t *ret_weights)
{
    int64_t rest = above->deserved;
    *ret_weights = 0;
    for (uint32_t i = above->first_below; i; i = x->levels[i].next) {
        const struct level *l = &x->levels[i];
        if (!l->is_settled)
            *ret_weights += l->queue->shares.weight;
        else if (!l->is_free)
            rest = minus(rest, l->deserved);
    }
    return rest;
}

/* What it would have of the rest, and what its limits leave of that; both times the sum of the weights, so that nothing is rounded. */
static __int128 part_of(const struct level *l, int64_t rest, int64_t weights, __int128 *ret_part)
{
    const __int128 most = (__int128)l->most * weights, least = (__int128)l->least * weights;
    *ret_part = (__int128)rest * l->queue->shares.weight;
    __int128 limited = *ret_part < most ? *ret_part : most;
    return limited > least ? limited : least;
}

/* Whom limits of one kind, those which hold back more in all, hold back is settled; the others share the rest anew. False: all are settled.
 * SOURCE CSS flexible boxes, 9.7. */
static bool settle_some(struct sharing *x, const struct level *above)
{
    int64_t weights, rest = rest_of(x, above, &weights);
    __int128 gained = 0, part;
    for (uint32_t i = above->first_below; i && weights; i = x->levels[i].next)
        if (!x->levels[i].is_settled) {
            __int128 limited = part_of(&x->levels[i], rest, weights, &part);
            gained += limited - part;
        }
    for (uint32_t i = above->first_below; i && weights; i = x->levels[i].next) {
        struct level *l = &x->levels[i];
        __int128 limited = l->is_settled ? 0 : part_of(l, rest, weights, &part);
        if (l->is_settled || (gained > 0 && limited <= part) || (gained < 0 && limited >= part))
            continue;
        l->deserved = (int64_t)(limited / weights);
        l->is_settled = true;
    }
    return weights > 0;
}

static void share_out(struct sharing *x, const struct level *above, bool is_guaranteed, name_id resource)
{
    for (uint32_t i = above->first_below; i; i = x->levels[i].next) {
        struct level *l = &x->levels[i];
        int64_t capability = capability_of(l->queue, resource), others = minus(above->guaranteed_below, l->guarantee);
        l->is_free = !l->is_named && (above->is_free || (l->queue->shares.deserved_n && !is_guaranteed));
        l->is_settled = l->is_named || l->is_free;
        l->least = l->guarantee;
        l->most = higher(lower(lower(capability, l->asked), minus(above->deserved, others)), l->guarantee);
        if (l->is_named)
            l->deserved = higher(lower(l->deserved, capability), l->guarantee);
        if (l->is_free)
            l->deserved = NO_END;
    }
    while (settle_some(x, above))
        ;
}

/* ---- as quotas ---- */

static struct quota_record record_of(name_id resource, int64_t nominal, int64_t kept, int64_t bound)
{
    return (struct quota_record){.resource = resource, .nominal = nominal, .borrowing_limit = NO_LIMIT,
                                 .lending_limit = kept ? minus(nominal, kept) : NO_LIMIT, .is_bounded = bound != NO_END, .bound = bound};
}

/* Of a queue with queues below it, as a cohort: what it deserves beyond them, and keeps beyond what they keep. */
static struct quota_record cohort_record_of(const struct sharing *x, const struct level *l, bool is_guaranteed, name_id resource)
{
    int64_t below = 0, lent = 0, bound = capability_of(l->queue, resource);
    bool has_no_end = l->is_free || (!l->above && !is_guaranteed);
    for (uint32_t i = l->first_below; i; i = x->levels[i].next) {
        below = count_plus(below, x->levels[i].is_free ? 0 : x->levels[i].deserved);
        lent = count_plus(lent, minus(x->levels[i].deserved, x->levels[i].guarantee));
    }
    struct quota_record r = record_of(resource, has_no_end ? NO_END : minus(l->deserved, below), 0, bound);
    int64_t kept = l->above ? minus(l->guarantee, l->guaranteed_below) : 0;
    r.lending_limit = kept ? minus(count_plus(r.nominal, lent), kept) : NO_LIMIT;
    r.bound = bound == NO_END ? NO_END : minus(bound, l->guaranteed_below);
    return r;
}

/* What a queue counts for something else (quota/count.h) it has none of, nor have others of what only that one counts. */
static bool is_of(const struct sharing *x, const struct level *l, uint32_t r)
{
    if (!l->queue)
        return true;
    return l->queue->shares.counts_n ? !count_replaces(&l->queue->shares, x->resources[r]) : !x->is_only_counted[r];
}

static bool is_only_counted(const struct sharing *x, name_id resource)
{
    bool any = false;
    for (uint32_t i = 1; i < x->n && !any; i++) {
        const struct queue *q = x->levels[i].queue;
        for (uint32_t k = 0; q && k < q->shares.counts_n && !any; k++)
            any = q->shares.counts[k].as == resource && q->shares.counts[k].resource != resource;
    }
    return any;
}

static void deal_resource(struct sharing *x, uint32_t r, const int64_t *asked)
{
    name_id resource = x->resources[r];
    bool is_guaranteed = false;
    begin_resource(x, r, asked);
    for (uint32_t i = 1; i < x->n; i++)
        is_guaranteed |= x->levels[i].guarantee > 0;
    for (uint32_t i = 0; i < x->order_n; i++) {
        struct level *l = &x->levels[x->order[i]];
        if (!l->above) {
            l->is_free = false;
            l->deserved = lower(node_table_total(&x->s->nodes, resource), capability_of(l->queue, resource));
        }
        share_out(x, l, is_guaranteed, resource);
        l->cohort[r] = cohort_record_of(x, l, is_guaranteed, resource);
        bool stands_alone = !l->above && !l->below_n;
        if (!is_of(x, l, r))
            continue;
        l->own[l->own_n++] =
            l->below_n ? record_of(resource, 0, 0, NO_END)
                       : record_of(resource, stands_alone ? NO_END : l->deserved, l->guarantee, capability_of(l->queue, resource));
    }
}

/* ---- into the tree ---- */

static bool is_as_before(const struct quota_node *node, name_id parent, const struct quota_record *records, uint32_t n)
{
    bool same = node->known && node->parent_name == parent && node->records_n == n;
    for (uint32_t i = 0; i < n && same; i++) {
        const struct quota_record *a = &node->records[i], *b = &records[i];
        same = a->flavor == b->flavor && a->resource == b->resource && a->nominal == b->nominal && a->lending_limit == b->lending_limit &&
               a->borrowing_limit == b->borrowing_limit && a->is_bounded == b->is_bounded && a->bound == b->bound;
    }
    return same;
}

static void set_queue(struct sharing *x, struct queue *q, name_id parent, const struct quota_record *records, uint32_t n)
{
    struct state *s = x->s;
    bool takes_back = parent != 0, preempts = takes_back || preempts_within(q);
    if (q->preempts != preempts)
        q->changed = s->queues_changed = true;
    q->cohort = parent;
    q->reclaim = takes_back ? PREEMPT_ANY : PREEMPT_NEVER;
    q->reclaims_any = takes_back;
    q->preempts = preempts;
    if (is_as_before(&s->quota.nodes[q->quota], parent, records, n))
        return;
    x->has_moved |= s->quota.nodes[q->quota].parent_name != parent;
    q->dealt = mem_grow(q->dealt, n + 1, sizeof *q->dealt);
    if (n)
        memcpy(q->dealt, records, n * sizeof *records);
    q->quotas = q->dealt;
    q->quotas_n = n;
    q->quota = quota_set_queue(&s->quota, q->name, parent, records, n);
}

static void set_cohort(struct sharing *x, name_id name, name_id parent, const struct quota_record *records, uint32_t n)
{
    struct state *s = x->s;
    uint32_t id = id_map_get(&s->quota.cohorts, name);
    if (id && is_as_before(&s->quota.nodes[id], parent, records, n))
        return;
    x->has_moved |= !id || s->quota.nodes[id].parent_name != parent;
    id = quota_set_cohort(&s->quota, name, parent, records, n);
    s->quota.nodes[id].is_shared_out = true;
}

static bool is_cohort(const struct sharing *x, name_id name)
{
    for (uint32_t i = 1; i < x->n; i++)
        if (x->levels[i].name == name && x->levels[i].below_n)
            return true;
    return false;
}

/* Cohorts of queues that have nobody below them any more; `all`: of all of them. */
static void drop_cohorts(struct sharing *x, bool all)
{
    struct quota *t = &x->s->quota;
    for (uint32_t id = 1; id < t->nodes_n; id++)
        if (t->nodes[id].is_shared_out && (all || !is_cohort(x, t->nodes[id].name)))
            quota_cohort_gone(t, t->nodes[id].name);
}

/* WHY  those in a cycle, too: the tree finds it, and says so. */
static void set_tree(struct sharing *x)
{
    for (uint32_t i = 1; i < x->n; i++) {
        const struct level *l = &x->levels[i];
        name_id above = x->levels[l->above].name; /* level 0 has none */
        if (l->below_n)
            set_cohort(x, l->name, above, l->cohort, l->is_reached ? x->resources_n : 0);
        if (l->queue)
            set_queue(x, l->queue, l->below_n ? l->name : above, l->own, l->is_reached ? l->own_n : 0);
    }
}

static void set_alone(struct sharing *x)
{
    for (uint32_t i = 1; i < x->n; i++) {
        struct queue *q = x->levels[i].queue;
        struct quota_record *records = arena_alloc(x->a, ((q ? q->shares.capability_n : 0) + 1) * sizeof *records);
        for (uint32_t k = 0; q && k < q->shares.capability_n; k++) {
            int64_t most = q->shares.capability[k].value;
            records[k] = record_of(q->shares.capability[k].resource, most, 0, most);
        }
        if (q)
            set_queue(x, q, 0, records, q->shares.capability_n);
    }
}

void deserve_settle(struct state *s, struct arena *a)
{
    struct sharing x = {.s = s, .a = a};
    if (!s->shares_changed)
        return;
    s->shares_changed = false;
    list_levels(&x);
    bool shared = is_shared(&x);
    drop_cohorts(&x, !shared);
    if (!shared) {
        set_alone(&x);
        return;
    }
    list_resources(&x);
    x.is_only_counted = arena_alloc(a, (x.resources_n + 1) * sizeof *x.is_only_counted);
    for (uint32_t r = 0; r < x.resources_n; r++)
        x.is_only_counted[r] = is_only_counted(&x, x.resources[r]);
    const int64_t *asked = find_asked(&x);
    for (uint32_t i = 1; i < x.n; i++) {
        x.levels[i].own = arena_zero(a, x.resources_n + 1, sizeof *x.levels[i].own);
        x.levels[i].cohort = arena_zero(a, x.resources_n + 1, sizeof *x.levels[i].cohort);
    }
    for (uint32_t r = 0; r < x.resources_n; r++)
        deal_resource(&x, r, asked);
    set_tree(&x);
    for (uint32_t i = 1; i < x.n && x.has_moved; i++) /* who was in a cycle, or too deep, may be in none now */
        if (x.levels[i].queue)
            x.levels[i].queue->changed = s->queues_changed = true;
}

struct share deserve_used(const struct state *s, const struct queue *q)
{
    struct share most = {.borrowed = 0, .lendable = 1, .weight_nano = WEIGHT_ONE};
    bool any = !q->has_shares || !q->cohort;
    for (uint32_t i = 0; i < q->quotas_n && q->has_shares && q->cohort; i++) {
        const struct quota_cell *cell = quota_find(&s->quota, q->quota, q->quotas[i].flavor, q->quotas[i].resource);
        if (!cell || !cell->nominal || cell->nominal == NO_END)
            continue;
        any = true;
        if ((__int128)cell->usage * most.lendable > (__int128)most.borrowed * cell->nominal) {
            most.borrowed = cell->usage;
            most.lendable = cell->nominal;
        }
    }
    most.borrowed = any ? most.borrowed : most.lendable;
    return most;
}

static bool is_kept_out(const struct state *s, const struct queue *q, const struct gang *g)
{
    bool any = false;
    const struct amount *least;
    for (uint32_t i = 0, n = gang_least(g, &least); i < n && !g->members_n; i++)
        any |= least[i].value > quota_left_by_bounds(&s->quota, q->quota, 0, least[i].resource);
    return any;
}

/* A queue of the tree that takes in who waits, and somebody of it does. */
static bool is_rival(const struct state *s, const struct queue *q, const struct queue *own)
{
    return has_shares(q) && q != own && s->quota.nodes[q->quota].root == s->quota.nodes[own->quota].root && !q->closed &&
           q->stop == STOP_NONE && (q->counts.pending_n || q->counts.leaving_n);
}

static bool any_is_let_in(const struct state *s, const struct queue *own)
{
    bool any = false;
    for (uint32_t i = 0; i < s->gangs_n && !any; i++) {
        const struct gang *g = s->gangs[i];
        bool waits = (g->phase == GANG_WAITING || g->phase == GANG_LEAVING) && g->active && g->own->queue_name;
        const struct queue *q = waits ? queue_find(s, g->own->queue_name) : NULL;
        any = q && is_rival(s, q, own) && !is_kept_out(s, q, g);
    }
    return any;
}

/* COST  all gangs are looked at only where some queue counts somebody who waits, and none of those stands in a line. */
bool deserve_holds_back(const struct state *s, const struct queue *own)
{
    bool any_counted = false, any_in_line = false;
    for (uint32_t i = 0; i < s->queues_n && own->has_shares && !any_in_line; i++) {
        const struct queue *q = s->queues[i];
        bool is = is_rival(s, q, own);
        any_counted |= is;
        any_in_line = is && q->lines_n && !is_kept_out(s, q, heap_first(&q->lines[0]->gangs));
    }
    return any_in_line || (any_counted && any_is_let_in(s, own));
}

bool deserve_holds(const struct state *s, const struct gang *g, uint32_t shape)
{
    const struct queue *q = g->queue;
    struct amount one;
    bool holds = true;
    for (struct count x = count_begin(s, q, g->keeps_places, shape); holds && count_next(&x, &one);) {
        const struct quota_cell *cell = quota_find(&s->quota, q->quota, 0, one.resource);
        if (cell && one.value > 0 && quota_names(&s->quota, q->quota, 0, one.resource))
            holds = one.value <= cell->subtree - cell->usage;
    }
    return holds;
}

/* ---- guarantees ---- */

static int64_t used_below(const struct quota *t, uint32_t node, name_id resource)
{
    int64_t sum = 0;
    const struct quota_cell *cell = t->nodes[node].is_queue ? quota_find(t, node, 0, resource) : NULL;
    for (uint32_t below = t->nodes[node].is_queue ? 0 : t->nodes[node].first_child; below; below = t->nodes[below].next_child)
        sum += used_below(t, below, resource);
    return cell ? cell->usage : sum;
}

static bool spares(const struct state *s, const struct queue *of, name_id resource, int64_t amount)
{
    const struct quota *t = &s->quota;
    bool any_short = false;
    for (uint32_t node = of->quota; node && amount > 0 && !any_short; node = t->nodes[node].parent) {
        const struct queue *q = queue_find(s, t->nodes[node].name);
        int64_t guarantee = has_shares(q) && q->shares.guarantee_n ? guarantee_of(q, resource) : 0;
        any_short = guarantee && used_below(t, node, resource) - amount < guarantee;
    }
    return !any_short;
}

bool deserve_spares(const struct state *s, const struct gang *g)
{
    bool all = true;
    for (uint32_t i = 0; i < g->own->charges_n && all; i++)
        all = spares(s, g->queue, g->own->charges[i].resource, g->own->charges[i].amount);
    return all;
}

bool deserve_spares_member(const struct state *s, const struct queue *q, uint32_t shape)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    bool all = true;
    for (uint32_t i = 0; i < c->demands_n && all; i++)
        all = spares(s, q, c->demands[i].resource, c->demands[i].value);
    return all;
}
