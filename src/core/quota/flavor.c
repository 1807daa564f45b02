#include "core/quota/flavor.h"
#include "base/amount.h"
#include "base/memory.h"
#include "core/queue/order.h"
#include "core/quota/count.h"

#define TRIES_MAX 64 /* assignments tried on nodes for one gang in one cycle: bounds (flavors ^ pod sets) */

static bool has_topologies_only(const struct state *s, const struct queue *q)
{
    for (uint32_t g = 0; g < q->groups_n; g++)
        for (uint32_t i = 0; i < q->groups[g].flavors_n; i++) {
            const struct flavor *f = flavor_find(s, q->groups[g].flavors[i]);
            if (!f || !f->topology)
                return false;
        }
    return q->groups_n > 0;
}

void flavor_search_begin(const struct state *s, struct flavor_search *f, const struct queue *q, const struct flavor_demand *sets,
                         uint32_t sets_n, struct arena *a)
{
    size_t cells = (size_t)sets_n * q->groups_n + 1;
    size_t choices_max = 1;
    *f = (struct flavor_search){.queue = q, .sets = sets, .sets_n = sets_n, .topologies_only = has_topologies_only(s, q)};
    f->refused = arena_zero(a, cells, sizeof *f->refused);
    f->chosen = arena_alloc(a, cells);
    f->start = arena_zero(a, cells, 1);
    f->stopped = arena_alloc(a, cells);
    memset(f->chosen, -1, cells);
    memset(f->stopped, -1, cells);
    for (uint32_t i = 0; i < sets_n; i++)
        choices_max += s->shapes.classes[sets[i].shape].demands_n + q->shares.counts_n;
    f->choices = arena_alloc(a, choices_max * sizeof *f->choices);
    f->charges = arena_alloc(a, choices_max * sizeof *f->charges);
}

static struct charge *charge_of(struct flavor_search *f, name_id flavor, name_id resource)
{
    for (uint32_t i = 0; i < f->charges_n; i++)
        if (f->charges[i].flavor == flavor && f->charges[i].resource == resource)
            return &f->charges[i];
    f->charges[f->charges_n] = (struct charge){.flavor = flavor, .resource = resource};
    return &f->charges[f->charges_n++];
}

static int64_t charged(const struct flavor_search *f, name_id flavor, name_id resource)
{
    for (uint32_t i = 0; i < f->charges_n; i++)
        if (f->charges[i].flavor == flavor && f->charges[i].resource == resource)
            return f->charges[i].amount;
    return 0;
}

static bool group_covers(const struct resource_group *g, name_id resource)
{
    for (uint32_t i = 0; i < g->resources_n; i++)
        if (g->resources[i] == resource)
            return true;
    return false;
}

static bool group_is_asked(const struct resource_group *g, const struct shape_class *c)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (group_covers(g, c->demands[i].resource))
            return true;
    return false;
}

/* ---- sets of a group ----
 * SOURCE Kueue: they take one flavor together, which holds what all of them ask for of its resources and may be used by each. The first of
 * them chooses for all, and what all take is counted before a set that stands between them is asked. */

static name_id group_of(const struct flavor_search *f, uint32_t set)
{
    return f->sets[set].topology ? f->sets[set].topology->group : 0;
}

static bool goes_with(const struct flavor_search *f, uint32_t first, uint32_t set)
{
    return set == first || (group_of(f, first) && group_of(f, set) == group_of(f, first));
}

static uint32_t first_of(const struct flavor_search *f, uint32_t set)
{
    uint32_t first = group_of(f, set) ? 0 : set;
    while (!goes_with(f, first, set))
        first++;
    return first;
}

/* Behind the last that may be one of them. */
static uint32_t end_of(const struct flavor_search *f, uint32_t first)
{
    return group_of(f, first) ? f->sets_n : first + 1;
}

static int64_t value_of(const struct state *s, const struct flavor_search *f, uint32_t set, name_id resource)
{
    const struct shape_class *c = &s->shapes.classes[f->sets[set].shape];
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].resource == resource)
            return c->demands[i].value;
    return 0;
}

/* From `set` on; 0: one before it asks for that resource, too, and all were counted there. */
static int64_t asked_from(const struct state *s, const struct flavor_search *f, uint32_t first, uint32_t set, name_id resource)
{
    int64_t sum = 0;
    for (uint32_t i = first; i < end_of(f, first); i++) {
        if (!goes_with(f, first, i) || !value_of(s, f, i, resource))
            continue;
        if (i < set)
            return 0;
        sum = amount_plus(sum, amount_times(value_of(s, f, i, resource), f->sets[i].count));
    }
    return sum;
}

static bool is_asked_by_any(const struct state *s, const struct flavor_search *f, uint32_t first, const struct resource_group *group)
{
    bool any = false;
    for (uint32_t i = first; i < end_of(f, first) && !any; i++)
        any = goes_with(f, first, i) && group_is_asked(group, &s->shapes.classes[f->sets[i].shape]);
    return any;
}

/* ---- domains ---- */

static bool asks_for_domains(const struct flavor_demand *set)
{
    return set->topology && (set->topology->mode != TOPOLOGY_UNASKED || set->topology->slices_n);
}

/* Who asks for nothing that quota counts, and is to stand in domains all the same, gets a flavor of the first group that has one with a
 * topology; groups_n: of none. SOURCE Kueue, where zero is an amount like any other. */
static uint32_t group_for_domains(const struct state *s, const struct flavor_search *f, const struct flavor_demand *set)
{
    const struct queue *q = f->queue;
    uint32_t first = first_of(f, (uint32_t)(set - f->sets));
    for (uint32_t g = 0; g < q->groups_n; g++)
        if (is_asked_by_any(s, f, first, &q->groups[g]))
            return q->groups_n;
    for (uint32_t g = 0; g < q->groups_n && (asks_for_domains(set) || f->topologies_only); g++)
        for (uint32_t i = 0; i < q->groups[g].flavors_n && q->groups[g].resources_n; i++) {
            const struct flavor *flavor = flavor_find(s, q->groups[g].flavors[i]);
            if (flavor && flavor->topology)
                return g;
        }
    return q->groups_n;
}

/* ---- affinity: only keys that the flavor itself labels its nodes with are looked at ---- */

static bool labels_name(struct label_list labels, name_id key)
{
    for (uint32_t i = 0; i < labels.n; i++)
        if (labels.all[i].key == key)
            return true;
    return false;
}

static bool term_allows(const struct state *s, const struct selector *term, struct label_list labels, bool *ret_empty)
{
    *ret_empty = true;
    bool matches = true;
    for (uint32_t i = 0; i < term->all_n; i++) {
        if (term->all[i].is_field || !labels_name(labels, term->all[i].key))
            continue;
        *ret_empty = false;
        matches &= requirement_matches(&term->all[i], labels, 0, s->names);
    }
    return matches;
}

static bool affinity_allows(const struct state *s, const struct shape *shape, struct label_list labels)
{
    for (uint32_t i = 0; i < shape->node_labels_n; i++)
        if (labels_name(labels, shape->node_labels[i].key) && !labels_contain(labels, &shape->node_labels[i], 1))
            return false;
    bool any = shape->node_terms_n == 0;
    for (uint32_t i = 0; i < shape->node_terms_n; i++) {
        bool empty;
        any |= term_allows(s, &shape->node_terms[i], labels, &empty);
        if (empty)
            return true; /* terms are ORed: one that says nothing about flavors allows all */
    }
    return any;
}

/* ---- one flavor for one set ---- */

/* As good as the resource that it is worst for. */
struct fitness {
    enum quota_mode mode;
    uint32_t level;
    bool preempts; /* some resource does not fit as it stands, if not that one */
};

/* SOURCE Kueue: by fair sharing, whoever may reclaim at all may do so for what it borrows. */
static bool may_preempt_to_borrow(const struct state *s, const struct queue *q)
{
    return q->preempts_to_borrow || (shares_fairly(s, q) && q->reclaim != PREEMPT_NEVER);
}

bool flavor_preempts_first(const struct queue *q)
{
    return q->preempts && (q->preempt_stops || q->preempts_over_borrowing);
}

static bool is_better(const struct queue *q, struct fitness a, struct fitness b)
{
    if ((a.mode == QUOTA_NOBODY) != (b.mode == QUOTA_NOBODY))
        return b.mode == QUOTA_NOBODY;
    bool by_level = a.level != b.level && (a.mode == b.mode || q->preempts_over_borrowing);
    return by_level ? a.level < b.level : a.mode < b.mode;
}

static void worsen(const struct queue *q, struct fitness *fitness, struct fitness by)
{
    by.preempts = fitness->preempts || by.mode != QUOTA_FITS;
    if (is_better(q, *fitness, by))
        *fitness = by;
    fitness->preempts = by.preempts;
}

static bool is_promised(const struct promise *p, name_id flavor, name_id resource, int64_t need)
{
    bool any = false;
    for (uint32_t i = 0; p && i < p->charges_n && !any; i++)
        any = p->charges[i].flavor == flavor && p->charges[i].resource == resource && p->charges[i].amount >= need;
    return any;
}

/* SOURCE Kueue: preemption is thought of where the amount is within the own nominal quota, or somebody above may have lent it away, or the
 * queue may preempt while it borrows. Here also where others leave for it already, whatever another one has been promised since: each has
 * what it waits for once they have left. `choice`: there are other flavors, so that it matters how good this one is. */
static bool oracle_allows(const struct state *s, const struct flavor_search *f, name_id flavor, name_id resource, int64_t need,
                          bool choice, struct fitness *fitness)
{
    const struct quota_cell *own = quota_find(&s->quota, f->queue->quota, flavor, resource);
    uint32_t level = quota_borrow_level(&s->quota, f->queue->quota, flavor, resource, need);
    if (!own || (need > own->nominal && !may_preempt_to_borrow(s, f->queue) &&
                 !quota_may_reclaim(&s->quota, f->queue->quota, flavor, resource, need) &&
                 !is_promised(f->oracle.promised, flavor, resource, need)))
        return false;
    enum quota_mode mode = choice ? f->oracle.ask(f->oracle.arg, flavor, resource, need, &level) : QUOTA_PREEMPTS;
    worsen(f->queue, fitness, (struct fitness){.mode = mode, .level = level});
    return true;
}

static bool quota_allows(struct state *s, struct flavor_search *f, const struct flavor_demand *set, name_id flavor, name_id resource,
                         int64_t asked, bool choice, struct fitness *fitness, struct arena *a, struct reason *why)
{
    int64_t taken = charged(f, flavor, resource), need = amount_plus(asked, taken);
    int64_t most = quota_potential(&s->quota, f->queue->quota, flavor, resource);
    int64_t have = quota_available(&s->quota, f->queue->quota, flavor, resource);
    const struct quota_cell *own = f->others_give_way ? quota_find(&s->quota, f->queue->quota, flavor, resource) : NULL;
    bool may_wait = own && need <= most && (need <= own->nominal || may_preempt_to_borrow(s, f->queue));
    if (need <= have || may_wait) {
        uint32_t level = quota_borrow_level(&s->quota, f->queue->quota, flavor, resource, need);
        worsen(f->queue, fitness, (struct fitness){.mode = QUOTA_FITS, .level = level});
        return true;
    }
    const name_id kept_of = count_kept_of(f->queue, resource); /* who has that goes for nobody */
    bool may_preempt = f->oracle.ask && !kept_of && need <= most && oracle_allows(s, f, flavor, resource, need, choice, fitness);
    if (f->park) /* WHY without what other sets charge: they may find another flavor by then */
        parking_add_hope(f->park, flavor, resource, asked);
    struct reason content = {.code = REASON_QUOTA_SHORT, .queue = f->queue->title, .flavor = flavor, .resource = resource,
                             .pod_set = set->name, .have = have > 0 ? have : 0, .need = need, .taken = taken};
    if (need > most) {
        content.code = REASON_QUOTA_EXCEEDS_MAX;
        content.have = most;
    }
    if (kept_of) {
        content.code = REASON_KEPT_OVER_QUOTA;
        content.resource = kept_of;
    }
    reason_add_once(why, reason_new(a, content));
    return may_preempt;
}

static bool has_levels(const struct topology *t, const struct topology_request *r)
{
    bool all = (r->mode != TOPOLOGY_REQUIRED && r->mode != TOPOLOGY_PREFERRED) || topology_level(t, r->level) >= 0;
    for (uint32_t i = 0; i < r->slices_n && all; i++)
        all = topology_level(t, r->slices[i].level) >= 0;
    return all;
}

/* SOURCE Kueue: who asks for domains gets flavors with a topology that has the levels, who does not gets others; all flavors of the queue
 * with one mean that everybody asks. A flavor that only counts what is no request of the pod need have none. */
static enum topology_mismatch topology_mismatch(const struct state *s, const struct flavor_search *f, const struct flavor_demand *set,
                                                const struct resource_group *group, const struct flavor *flavor)
{
    const struct topology *t = &s->topologies[topology_find(s, flavor->topology)];
    const struct shape_class *c = &s->shapes.classes[set->requests ? set->requests : set->shape];
    if (!asks_for_domains(set))
        return flavor->topology && !f->topologies_only ? TOPOLOGY_MISMATCH_ONLY : TOPOLOGY_MATCHES;
    if (!flavor->topology)
        return group_is_asked(group, c) || group_for_domains(s, f, set) < f->queue->groups_n ? TOPOLOGY_MISMATCH_LACKS : TOPOLOGY_MATCHES;
    return has_levels(t, set->topology) ? TOPOLOGY_MATCHES : TOPOLOGY_MISMATCH_LEVEL;
}

/* May the set use the flavor at all, quota aside? */
static bool flavor_allows(struct state *s, const struct flavor_search *f, const struct flavor_demand *set,
                          const struct resource_group *group, name_id name, struct arena *a, struct reason *why)
{
    const struct shape *shape = &s->shapes.classes[set->shape].shape;
    struct reason content = {.queue = f->queue->title, .flavor = name, .pod_set = set->name};
    const struct flavor *flavor = flavor_find(s, name);
    const struct taint *taint = NULL;
    if (flavor)
        taint = taint_untolerated(flavor->taints, flavor->taints_n, shape->tolerations, shape->tolerations_n, flavor->tolerations,
                                  flavor->tolerations_n);
    if (!flavor) {
        content.code = REASON_FLAVOR_MISSING;
        content.name = name;
    } else if (taint) {
        content.code = REASON_FLAVOR_TAINT;
        content.name = taint->key;
    } else if (!affinity_allows(s, shape, flavor->labels)) {
        content.code = REASON_FLAVOR_AFFINITY;
    } else {
        content.code = REASON_FLAVOR_TOPOLOGY;
        content.have = topology_mismatch(s, f, set, group, flavor);
        if (content.have == TOPOLOGY_MATCHES)
            return true;
    }
    reason_add_once(why, reason_new(a, content));
    return false;
}

/* Of one set that goes with the first. */
static bool quota_allows_set(struct state *s, struct flavor_search *f, uint32_t first, uint32_t set, const struct resource_group *group,
                             name_id flavor, struct fitness *fitness, struct arena *a, struct reason *why)
{
    const struct shape_class *c = &s->shapes.classes[f->sets[set].shape];
    bool fits = true, together = group_of(f, first) != 0;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        const struct demand *d = &c->demands[i];
        if (!group_covers(group, d->resource))
            continue;
        int64_t asked = together ? asked_from(s, f, first, set, d->resource) : amount_times(d->value, f->sets[set].count);
        if (asked || !together)
            fits &= quota_allows(s, f, &f->sets[set], flavor, d->resource, asked, group->flavors_n > 1, fitness, a, why);
    }
    return fits;
}

/* For all sets that go with the first. */
static bool quota_allows_all(struct state *s, struct flavor_search *f, uint32_t first, const struct resource_group *group, name_id flavor,
                             struct fitness *ret_fitness, struct arena *a, struct reason *why)
{
    bool fits = true;
    *ret_fitness = (struct fitness){0};
    for (uint32_t i = first; i < end_of(f, first); i++)
        fits &= !goes_with(f, first, i) || quota_allows_set(s, f, first, i, group, flavor, ret_fitness, a, why);
    return fits;
}

static bool flavor_allows_all(struct state *s, const struct flavor_search *f, uint32_t first, const struct resource_group *group,
                              name_id name, struct arena *a, struct reason *why)
{
    bool all = true;
    for (uint32_t i = first; i < end_of(f, first) && all; i++)
        all = !goes_with(f, first, i) || flavor_allows(s, f, &f->sets[i], group, name, a, why);
    return all;
}

/* SOURCE Kueue: what fits without borrowing ends the search; what borrows, or preempts, only where the queue says so. */
static bool ends_search(const struct queue *q, struct fitness fitness)
{
    return fitness.mode != QUOTA_NOBODY && (!fitness.level || q->borrow_stops) && (fitness.mode == QUOTA_FITS || q->preempt_stops);
}

static int pick(struct state *s, struct flavor_search *f, size_t cell, uint32_t first, const struct resource_group *group,
                struct fitness *ret_fitness, struct arena *a, struct reason *why)
{
    uint64_t refused = f->refused[cell];
    uint32_t n = group->flavors_n < 64 ? group->flavors_n : 64;
    int best = -1;
    f->stopped[cell] = -1;
    for (uint32_t i = (uint32_t)f->start[cell]; i < n; i++) {
        struct fitness fitness;
        if (refused >> i & 1)
            continue;
        if (!flavor_allows_all(s, f, first, group, group->flavors[i], a, why) ||
            !quota_allows_all(s, f, first, group, group->flavors[i], &fitness, a, why))
            continue;
        if (best < 0 || is_better(f->queue, fitness, *ret_fitness)) {
            best = (int)i;
            *ret_fitness = fitness;
        }
        if (ends_search(f->queue, fitness)) {
            f->stopped[cell] = i + 1 < n ? (int8_t)i : -1;
            break;
        }
    }
    return best;
}

/* ---- all sets ---- */

static void book(struct flavor_search *f, uint32_t set, name_id resource, int64_t value, name_id flavor)
{
    struct charge *charge = charge_of(f, flavor, resource);
    charge->amount = amount_plus(charge->amount, amount_times(value, f->sets[set].count));
}

static void book_set(const struct state *s, struct flavor_search *f, uint32_t set, const struct resource_group *group, name_id flavor)
{
    const struct shape_class *c = &s->shapes.classes[f->sets[set].shape];
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (group_covers(group, c->demands[i].resource))
            book(f, set, c->demands[i].resource, c->demands[i].value, flavor);
}

/* What the set is given by the flavors that the first chose: of its resources, and who asks for none, of the first of them, so that it
 * stands in domains. Its slot is that of "pods" then, which no group covers. */
static void note_choices(const struct state *s, struct flavor_search *f, uint32_t first, uint32_t set)
{
    const struct shape_class *c = &s->shapes.classes[f->sets[set].shape];
    const struct resource_group *any = NULL;
    name_id any_flavor = 0;
    uint32_t before_n = f->choices_n;
    for (uint32_t g = 0; g < f->queue->groups_n; g++) {
        const struct resource_group *group = &f->queue->groups[g];
        int chosen = f->chosen[(size_t)first * f->queue->groups_n + g];
        if (chosen < 0)
            continue;
        for (uint32_t i = 0; i < c->demands_n; i++)
            if (group_covers(group, c->demands[i].resource))
                f->choices[f->choices_n++] = (struct flavor_choice){(uint16_t)set, c->demands[i].resource, group->flavors[chosen]};
        const struct flavor *flavor = any ? NULL : flavor_find(s, group->flavors[chosen]);
        if (flavor && flavor->topology) {
            any = group;
            any_flavor = group->flavors[chosen];
        }
    }
    if (any && f->choices_n == before_n)
        f->choices[f->choices_n++] = (struct flavor_choice){(uint16_t)set, any->resources[0], any_flavor};
}

static bool assign_groups(struct state *s, struct flavor_search *f, uint32_t set, struct arena *a, struct reason *why)
{
    uint32_t first = first_of(f, set), for_domains = group_for_domains(s, f, &f->sets[set]);
    memset(&f->chosen[(size_t)set * f->queue->groups_n], -1, f->queue->groups_n);
    for (uint32_t g = 0; g < f->queue->groups_n && first == set; g++) {
        const struct resource_group *group = &f->queue->groups[g];
        size_t cell = (size_t)set * f->queue->groups_n + g;
        if (!is_asked_by_any(s, f, set, group) && g != for_domains)
            continue;
        struct fitness fitness = {0};
        int flavor = pick(s, f, cell, set, group, &fitness, a, why);
        if (flavor < 0)
            return false;
        f->chosen[cell] = (int8_t)flavor;
        f->borrow_level = fitness.level > f->borrow_level ? fitness.level : f->borrow_level;
        f->preempts |= fitness.preempts;
        for (uint32_t i = set; i < end_of(f, set); i++)
            if (goes_with(f, set, i))
                book_set(s, f, i, group, group->flavors[flavor]);
    }
    note_choices(s, f, first, set);
    return true;
}

/* Queues without flavors count under flavor 0, each resource for itself. */
static bool assign_plain(struct state *s, struct flavor_search *f, uint32_t set, struct arena *a, struct reason *why)
{
    struct amount one;
    bool fits = true;
    for (struct count x = count_begin(s, f->queue, f->sets[set].keeps_places, f->sets[set].shape); count_next(&x, &one);) {
        struct fitness fitness = {0};
        if (!quota_names(&s->quota, f->queue->quota, 0, one.resource))
            continue;
        int64_t asked = amount_times(one.value, f->sets[set].count);
        if (!quota_allows(s, f, &f->sets[set], 0, one.resource, asked, false, &fitness, a, why)) {
            fits = false;
            continue;
        }
        f->borrow_level = fitness.level > f->borrow_level ? fitness.level : f->borrow_level;
        f->preempts |= fitness.preempts;
        book(f, set, one.resource, one.value, 0);
    }
    return fits;
}

static bool covers_all(struct state *s, struct flavor_search *f, uint32_t set, struct arena *a, struct reason *why)
{
    const struct shape_class *c = &s->shapes.classes[f->sets[set].shape];
    bool all = true;
    for (uint32_t i = 1; i < c->demands_n && !f->queue->unlimited; i++) {
        name_id resource = c->demands[i].resource;
        bool covered = !f->queue->groups_n && quota_names(&s->quota, f->queue->quota, 0, resource);
        for (uint32_t g = 0; g < f->queue->groups_n && !covered; g++)
            covered = group_covers(&f->queue->groups[g], resource);
        if (covered)
            continue;
        all = false;
        reason_add_once(why, reason_new(a, (struct reason){.code = REASON_RESOURCE_UNCOVERED, .queue = f->queue->title,
                                                           .resource = resource, .pod_set = f->sets[set].name}));
    }
    return all;
}

/* The set found no quota: those before it go on after the flavor that they stopped at, the others begin anew. False: all have been to
 * the end. SOURCE Kueue: a workload with flavors left to try is queued again at once and goes on from the last one tried. */
static bool resume(struct flavor_search *f, uint32_t failed_set)
{
    size_t cells = (size_t)f->sets_n * f->queue->groups_n, before = (size_t)failed_set * f->queue->groups_n;
    bool any = false;
    for (size_t cell = 0; cell < cells; cell++) {
        bool goes_on = cell < before && f->chosen[cell] >= 0 && f->stopped[cell] >= 0;
        f->start[cell] = goes_on ? (int8_t)(f->stopped[cell] + 1) : 0;
        any |= goes_on;
    }
    return any && ++f->resumed_n <= TRIES_MAX;
}

/* Count on like an odometer, from the last of the first `n` cells: one that ran out starts over and the one before moves on. What nodes
 * refused to cells behind it they refused beside the old choice: under the new one all flavors are open to them again. */
static bool move_on(struct flavor_search *f, size_t n)
{
    size_t cells = (size_t)f->sets_n * f->queue->groups_n;
    for (size_t cell = n; cell-- > 0;) {
        uint32_t flavors_n = f->queue->groups[cell % f->queue->groups_n].flavors_n;
        if (f->chosen[cell] < 0)
            continue;
        f->refused[cell] |= (uint64_t)1 << f->chosen[cell];
        memset(&f->refused[cell + 1], 0, (cells - cell - 1) * sizeof *f->refused);
        uint64_t all = flavors_n >= 64 ? UINT64_MAX : ((uint64_t)1 << flavors_n) - 1;
        if ((f->refused[cell] & all) != all)
            return true;
        f->refused[cell] = 0;
        f->chosen[cell] = -1;
    }
    return false;
}

/* Quota found nothing for one of the set's groups: what was chosen before it, for this set too, has to move. */
static bool refuse_before(struct flavor_search *f, uint32_t set)
{
    return ++f->tries_n <= TRIES_MAX && move_on(f, ((size_t)set + 1) * f->queue->groups_n);
}

/* Moving the set that nodes refused was not enough, and without the others it would have had room. */
static bool begin_exhaustive(struct flavor_search *f)
{
    if (f->exhaustive || !f->others_matter)
        return false;
    f->exhaustive = true;
    memset(f->refused, 0, (size_t)f->sets_n * f->queue->groups_n * sizeof *f->refused);
    return true;
}

/* The set found no quota beside what was chosen before, where there were other flavors. With less of the one that came first something else
 * may be chosen there, and what is left be enough for this one: Kueue has it so, and looks at no other combination. */
static bool chose_before(const struct flavor_search *f, uint32_t set)
{
    bool any = false;
    for (size_t cell = 0; cell < (size_t)(set + 1) * f->queue->groups_n && !any; cell++)
        any = f->chosen[cell] >= 0 && f->queue->groups[cell % f->queue->groups_n].flavors_n > 1;
    return any;
}

bool flavor_search_next(struct state *s, struct flavor_search *f, struct arena *a, struct reason *why)
{
    for (;;) {
        f->choices_n = f->charges_n = f->borrow_level = 0;
        f->preempts = false;
        uint32_t set = 0;
        for (; set < f->sets_n; set++) {
            if (!covers_all(s, f, set, a, why))
                return false;
            if (f->queue->groups_n ? !assign_groups(s, f, set, a, why) : !assign_plain(s, f, set, a, why))
                break;
        }
        if (set == f->sets_n)
            return true;
        if (f->park && chose_before(f, set))
            f->park->takes = true;
        /* WHY  quota stopped at this set; another flavor for a set before it may leave it room, but only after nodes refused one */
        if (!f->tries_n && resume(f, set))
            continue;
        if (!f->tries_n || (!refuse_before(f, set) && !begin_exhaustive(f)))
            return false;
    }
}

uint32_t flavor_chooser(const struct flavor_search *f, uint32_t set)
{
    return first_of(f, set);
}

bool flavor_refuse(struct flavor_search *f, uint32_t set, bool alone)
{
    size_t cells = (size_t)f->sets_n * f->queue->groups_n;
    f->others_matter |= !alone && f->sets_n > 1;
    if (++f->tries_n > TRIES_MAX || !cells)
        return false;
    return move_on(f, f->exhaustive ? cells : ((size_t)set + 1) * f->queue->groups_n) || begin_exhaustive(f);
}
