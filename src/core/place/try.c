#include "core/place/try.h"
#include <string.h>
#include "core/explain/why.h"
#include "core/group/floor.h"
#include "core/group/starters.h"
#include "core/group/subgroups.h"
#include "core/place/undo.h"
#include "core/preempt/coming.h"
#include "core/preempt/lone.h"
#include "core/preempt/preempt.h"
#include "core/preempt/tenure.h"
#include "core/queue/admission.h"
#include "core/queue/checks.h"
#include "core/queue/gang.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/count.h"
#include "core/quota/deserve.h"
#include "core/quota/ledger.h"
#include "core/time/booking.h"

/* Who could start with fewer members waits for what others leave, if that is enough for all of them; and who could start in a flavor where
 * it borrows, if it is within its queue's own quota in another one. Somebody may take it meanwhile, and nothing that is given back wakes it
 * then. */
#define COMING_LOOK_AGAIN_MS 1000

void refusal_of_misfit(struct state *s, struct parking *park, const struct misfit *m, const struct want *wants, uint32_t n)
{
    park->on |= m->neighbours ? PARK_NODES | PARK_NEIGHBOURS : PARK_NODES;
    parking_add_shape(s, park, m->shape);
    for (uint32_t i = 0; i < n && (m->arrangement || m->mixed); i++) /* room for any kind may let all stand in another way */
        if (!i || wants[i].shape != wants[i - 1].shape)
            parking_add_shape(s, park, wants[i].shape);
}

/* Rules of its own look at others for all gangs of its line; rules of others look at this one. */
static bool others_rules(const struct state *s, const struct misfit *m)
{
    return m->neighbours && !s->shapes.classes[m->shape].neighbours;
}

/* ---- planned gangs: pod sets are known, members may not exist yet ---- */

struct want *try_wish_all(struct cycle *c, const struct gang *g, const struct flavor_search *f, uint32_t **ret_shapes, uint32_t *ret_n)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        n += (uint32_t)set_needs(&g->sets[i]);
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    uint32_t *shapes = arena_alloc(c->a, (g->sets_n + 1) * sizeof *shapes);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        uint32_t topology = domain_topology(c->s, f->choices, f->choices_n, i);
        shapes[i] = gang_flavored_shape(c->s, g->sets[i].shape, f->choices, f->choices_n, i);
        for (int32_t k = g->sets[i].reclaimed_n; k < g->sets[i].count; k++)
            wants[at++] = (struct want){.shape = shapes[i], .labels = g->sets[i].labels, .pod_set = i, .topology = topology};
    }
    *ret_shapes = shapes;
    *ret_n = n;
    return wants;
}

static name_id first_flavor(const struct flavor_search *f, uint32_t set)
{
    for (uint32_t i = 0; i < f->choices_n; i++)
        if (f->choices[i].pod_set == set)
            return f->choices[i].flavor;
    return 0;
}

/* Its other sets have chosen their domains first, and so that none is left for the one that was refused, which has room without them. WHY
 * where others take more, those may have to stand elsewhere. */
static bool others_stand_in_its_way(struct state *s, struct gang *g, const struct misfit *m, struct want *wants, uint32_t n)
{
    uint32_t first = 0, end, mark = undo_mark(s), steps = PLACE_STEPS;
    struct misfit unused;
    while (first < n && wants[first].pod_set != m->pod_set)
        first++;
    for (end = first; end < n && wants[end].pod_set == m->pod_set;)
        end++;
    uint32_t set_n = end - first;
    bool fits = m->mixed && !m->alone && set_n && set_n < n && place_all(s, g, &wants[first], set_n, &steps, &unused);
    undo_back(s, mark);
    return fits;
}

/* One assignment: charge it, place everybody (but one that has to wait for checks: core/queue/checks.h), or take all back and add to the
 * refusal why. `keep`: what fits is committed. */
static bool try_assignment(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f, bool keep, uint32_t *steps,
                           struct refusal *refusal, struct misfit *ret_misfit)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s), n, *shapes;
    bool is_checked = checks_demanded(q, f->choices, f->choices_n);
    for (uint32_t i = 0; i < f->charges_n; i++)
        undo_charge(s, q->quota, f->charges[i].flavor, f->charges[i].resource, f->charges[i].amount);
    if (s->bookings_n && !bookings_allow(s, q)) {
        undo_back(s, mark);
        *ret_misfit = (struct misfit){0};
        return false; /* booking_refused says what it waits for */
    }
    struct want *wants = try_wish_all(c, g, f, &shapes, &n);
    bool placed = is_checked || place_all(s, g, wants, n, steps, ret_misfit);
    if (placed && !keep) {
        ; /* the caller takes it back */
    } else if (placed) {
        undo_keep(s, mark);
        admission_reserve(s, g, q, f->choices, f->choices_n, f->charges, f->charges_n);
        for (uint32_t i = 0; i < n && !is_checked; i++)
            admission_hold_seat(g, wants[i].seat);
        (void)domain_note(s, g);
    } else if (c->trial) {
        undo_back(s, mark);
    } else {
        uint32_t set = ret_misfit->pod_set;
        reason_add_once(refusal->why, why_unplaced(c, ret_misfit, g->sets[set].name, first_flavor(f, set)));
        undo_back(s, mark);
        refusal_of_misfit(s, &refusal->park, ret_misfit, wants, n);
        refusal->park.on |= others_stand_in_its_way(s, g, ret_misfit, wants, n) ? PARK_NEIGHBOURS : 0;
        refusal->others |= others_rules(s, ret_misfit);
    }
    for (uint32_t i = 0; i < g->sets_n; i++)
        shape_release(s, shapes[i]);
    return placed;
}

static struct flavor_demand *planned_demands(struct cycle *c, const struct gang *g)
{
    struct flavor_demand *sets = arena_alloc(c->a, (g->sets_n + 1) * sizeof *sets);
    for (uint32_t i = 0; i < g->sets_n; i++)
        sets[i] = (struct flavor_demand){.name = g->sets[i].name, .shape = set_charged(&g->sets[i]), .count = set_needs(&g->sets[i]),
                                         .topology = set_topology(&g->sets[i]), .requests = g->sets[i].shape};
    return sets;
}

static bool looks_for_victims(const struct cycle *c, const struct queue *q)
{
    return q && q->preempts && (!c->trial || c->trial_preempts);
}

static bool may_preempt(const struct cycle *c, const struct gang *g, const struct queue *q)
{
    return looks_for_victims(c, q) && c->s->now_ms >= tenure_preempts_from_ms(c->s, g);
}

/* That of lone pods is counted in preempt/lone.c, where lone pods have left. */
static bool all_have_left(const struct gang *g)
{
    return g->promise && !g->promise->victims_n && !g->promise->by_priority;
}

/* WHY  a search said that it would start once its victims were gone, and it does not: who was let into that room would be its next victim,
 * and so on for ever. So it waits before anybody else has to go for it. */
static bool others_may_go(const struct cycle *c, const struct gang *g, const struct queue *q)
{
    return may_preempt(c, g, q) && !all_have_left(g);
}

static bool try_counts(struct cycle *c, struct gang *g, struct queue *q, bool keep, struct refusal *refusal)
{
    struct flavor_search search = {0};
    struct misfit misfit;
    uint32_t steps = PLACE_STEPS, refused; /* refused: the set that takes another flavor first */
    if (q) {
        flavor_search_begin(c->s, &search, q, planned_demands(c, g), g->sets_n, c->a);
        search.park = &refusal->park;
        /* a flavor where it may preempt comes before a later one that fits, also while it has to wait before it does */
        if (flavor_preempts_first(q) && looks_for_victims(c, q))
            search.oracle = preempt_oracle(c, g, q);
    }
    do {
        struct victims victims;
        if (q && !flavor_search_next(c->s, &search, c->a, refusal->why)) {
            refusal->park.on |= PARK_QUOTA;
            return false;
        }
        if (search.preempts) { /* quota is too little as it stands */
            misfit = (struct misfit){0};
            refused = g->sets_n - 1;
            bool told = keep && others_may_go(c, g, q);
            bool found = (told && preempt_as_promised(c, g, q, true)) || preempt_assignment(c, g, q, &search, told, &victims);
            if (!found && victims.lack == LACK_COMING)
                return false;
            if (!found)
                continue;
            refusal->preempts = told;
            return !keep;
        }
        if (try_assignment(c, g, q, &search, keep, &steps, refusal, &misfit)) {
            if (keep)
                cycle_admit(c, g);
            return true;
        }
        refused = q ? flavor_chooser(&search, misfit.pod_set) : 0;
        /* another set's flavor may be one with a check: then places are not asked for yet */
    } while (q && flavor_refuse(&search, refused, misfit.alone && !checks_by_flavor(q)));
    return false;
}

static struct reason *why_it_waits(struct cycle *c, const struct queue *q)
{
    return reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = q ? q->title : 0});
}

/* WHY not zeroed whole: each gang that is tried has one, and of 16 shapes and hopes hardly one is ever filled in. */
static void refusal_begin(struct cycle *c, const struct queue *q, struct refusal *r)
{
    r->why = why_it_waits(c, q);
    r->park.on = r->park.shapes_n = r->park.hopes_n = 0;
    r->preempts = r->floor = r->others = r->park.takes = false;
}

struct probe {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;
    struct refusal refusal; /* of the last counts that were tried; but what it waits for is that of all */
};

/* What others leave, who are told to already, will be enough for it. */
static bool is_coming(const struct refusal *refusal)
{
    const struct reason *lack = reason_find(refusal->why->child, REASON_NO_PREEMPTION);
    return lack && lack->have == LACK_COMING;
}

static bool counts_fit(void *arg)
{
    struct probe *p = arg;
    uint32_t mark = undo_mark(p->c->s);
    const struct parking park = p->refusal.park;
    bool others = p->refusal.others;
    refusal_begin(p->c, p->queue, &p->refusal);
    p->refusal.park = park;
    p->refusal.others = others;
    bool fit = try_counts(p->c, p->gang, p->queue, false, &p->refusal);
    undo_back(p->c->s, mark);
    return fit || (others_may_go(p->c, p->gang, p->queue) &&
                   (preempt_counts(p->c, p->gang, p->queue, false, p->refusal.why) || is_coming(&p->refusal)));
}

/* First of all what it was promised. WHY  under the flavors that others went for, and with no more members: with other ones it may borrow
 * (more), be preempted for that by somebody in whose way it would not have been, and so on for ever. */
static bool try_promised(struct cycle *c, struct gang *g, struct queue *q)
{
    const struct promise *p = c->trial ? NULL : g->promise;
    for (uint32_t i = 0; p && i < p->charges_n; i++)
        if (p->charges[i].amount > quota_available(&c->s->quota, q->quota, p->charges[i].flavor, p->charges[i].resource))
            p = NULL;
    if (!p || p->queue != q)
        return false;
    struct flavor_search as_promised = {.queue = q, .choices = p->choices, .choices_n = p->choices_n, .charges = p->charges,
                                        .charges_n = p->charges_n};
    struct refusal unused;
    struct misfit misfit;
    uint32_t steps = PLACE_STEPS;
    for (uint32_t i = 0; i < g->sets_n && p->granted; i++)
        set_grant(&g->sets[i], p->granted[i]);
    refusal_begin(c, q, &unused);
    bool placed = try_assignment(c, g, q, &as_promised, true, &steps, &unused, &misfit);
    if (placed)
        cycle_admit(c, g);
    else
        shrink_back(g);
    parking_release(c->s, &unused.park);
    return placed;
}

/* Others may have to go for it. SOURCE Kueue: before it starts with fewer members. */
static bool preempts(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    if (!refusal->preempts)
        refusal->preempts = others_may_go(c, g, q) && preempt_counts(c, g, q, !c->trial, refusal->why);
    return refusal->preempts;
}

/* Others are leaving for fewer members: it starts with those, or goes on to wait for them (refusal->preempts). WHY  who leaves counts as
 * gone, so more would fit by now; with more it might be preempted for its share (try_promised). */
static bool try_fewer_promised(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    const struct promise *p = c->trial || refusal->preempts ? NULL : g->promise;
    if (!p || !p->granted || !p->victims_n)
        return false;
    for (uint32_t i = 0; i < g->sets_n; i++)
        set_grant(&g->sets[i], p->granted[i]);
    if (try_counts(c, g, q, true, refusal))
        return true;
    (void)preempts(c, g, q, refusal);
    shrink_back(g);
    return false;
}

/* All, or the most that fit. A refusal is of the fewest, and tells of those; what was in the way of any may change, and more may fit where
 * those do not. WHY  not fewer while others leave whose room is enough for more: who had told them to leave himself would wait for it. */
static bool try_planned(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    if (try_promised(c, g, q) || try_counts(c, g, q, !c->trial, refusal) || try_fewer_promised(c, g, q, refusal))
        return true;
    if (preempts(c, g, q, refusal) || !shrink_may(g) || is_coming(refusal))
        return false;
    struct probe p = {.c = c, .gang = g, .queue = q, .refusal = {.park = refusal->park, .others = refusal->others}};
    bool fits = shrink_search(g, counts_fit, &p);
    *refusal = p.refusal;
    bool starts = fits && try_counts(c, g, q, !c->trial, refusal);
    if (fits && !starts)
        (void)preempts(c, g, q, refusal);
    if (!starts || c->trial)
        shrink_back(g);
    return starts;
}

/* Somebody of lower priority runs in its queue, which preempts nobody. */
static void say_if_never(struct cycle *c, const struct gang *g, struct queue *q, const struct refusal *refusal)
{
    if (q->within == PREEMPT_NEVER && !refusal->preempts && candidates_lower(q, g))
        reason_add_once(refusal->why,
                        reason_new(c->a, (struct reason){.code = REASON_NO_PREEMPTION, .queue = q->title, .have = LACK_POLICY}));
}

/* What nodes said becomes one of several reasons. */
static void make_one_of_several(struct cycle *c, const struct queue *q, struct refusal *refusal)
{
    struct reason *nodes = refusal->why;
    if (nodes->code == REASON_WAITING)
        return;
    refusal->why = why_it_waits(c, q);
    reason_add(refusal->why, nodes);
}

/* Its object asks that others are not ended for it yet. */
static void say_patience(struct cycle *c, const struct gang *g, const struct queue *q, struct refusal *refusal)
{
    if (!g->own->terms || !g->own->terms->patience_s)
        return;
    make_one_of_several(c, q, refusal);
    reason_add_once(refusal->why, reason_new(c->a, (struct reason){.code = REASON_NO_PREEMPTION, .queue = q->title, .queue_kind = q->kind,
                                                                   .have = LACK_DELAY, .need = tenure_preempts_from_ms(c->s, g)}));
}

static bool has_choice_of_flavors(const struct queue *q)
{
    bool any = false;
    for (uint32_t i = 0; i < q->groups_n; i++)
        any |= q->groups[i].flavors_n > 1;
    return any;
}

/* WHY  anything that is given back may be enough together with those who can be preempted by then. Who takes back may preempt more as soon
 * as others borrow more: nobody has to give anything back for that. */
static void park_widely(struct state *s, const struct queue *q, struct parking *p)
{
    if (q->cohort && q->reclaim != PREEMPT_NEVER)
        p->on |= PARK_BORROWERS;
    parking_release(s, p);
    p->shapes_n = PARK_SHAPES + 1;
    p->hopes_n = PARK_HOPES + 1;
    p->on |= PARK_QUOTA | PARK_NODES;
}

/* ---- pod groups and lone pods: members are the pods that exist ---- */

/* Pods that look alike, one after the other, are one set. */
static struct flavor_demand *demands_of_pods(struct cycle *c, const uint32_t *pods, uint32_t n, uint32_t *ret_n)
{
    const struct state *s = c->s;
    struct flavor_demand *sets = arena_alloc(c->a, (n + 1) * sizeof *sets);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct pod *p = &s->pods[pods[i]];
        if (*ret_n && sets[*ret_n - 1].shape == p->shape)
            sets[*ret_n - 1].count++;
        else
            sets[(*ret_n)++] = (struct flavor_demand){.name = p->pod_set, .shape = p->shape, .count = 1,
                                                      .keeps_places = p->gang && p->gang->keeps_places};
    }
    return sets;
}

struct reason *try_pod_quota(struct cycle *c, struct queue *q, const uint32_t *pods, uint32_t n, struct parking *park)
{
    struct state *s = c->s;
    struct reason *root = reason_new(c->a, (struct reason){.code = REASON_WAITING, .queue = q->title});
    if (q->groups_n) {
        /* A queue with flavors needs pod sets to assign them to; groups reach such queues as planned gangs. */
        struct reason uncovered = {.code = REASON_RESOURCE_UNCOVERED, .queue = q->title, .resource = s->name_pods};
        reason_add(root, reason_new(c->a, uncovered));
        return root;
    }
    uint32_t sets_n;
    struct flavor_demand *sets = demands_of_pods(c, pods, n, &sets_n);
    struct flavor_search search;
    flavor_search_begin(s, &search, q, sets, sets_n, c->a);
    search.park = park;
    return flavor_search_next(s, &search, c->a, root) ? NULL : root;
}

/* All members that may start, those that make the gang whole in front. Returns how many these are. */
static uint32_t fewest(struct cycle *c, const struct gang *g, uint32_t **ret_pods, uint32_t *ret_n)
{
    *ret_n = gang_loose_members(c->s, g, c->a, ret_pods);
    bool single = *ret_n == 1 && !gang_has_subgroups(g);
    return single ? 1 : group_fewest(c->s, g, c->a, *ret_pods, ret_n);
}

struct flavor_demand *try_demands(struct cycle *c, const struct gang *g, uint32_t *ret_n)
{
    *ret_n = g->sets_n;
    if (g->planned)
        return planned_demands(c, g);
    uint32_t *pods, all_n, n = fewest(c, g, &pods, &all_n);
    return demands_of_pods(c, pods, n, ret_n);
}

struct want *try_wants(struct cycle *c, const uint32_t *pods, uint32_t n)
{
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    for (uint32_t i = 0; i < n; i++)
        wants[i] = (struct want){.shape = c->s->pods[pods[i]].shape, .labels = c->s->pods[pods[i]].labels, .pod = pods[i]};
    return wants;
}

void try_charge(struct state *s, const struct gang *g, const struct queue *q, uint32_t shape)
{
    struct amount one;
    if (!q)
        return;
    for (struct count x = count_begin(s, q, g->keeps_places, shape); count_next(&x, &one);)
        if (quota_names(&s->quota, q->quota, 0, one.resource))
            undo_charge(s, q->quota, 0, one.resource, one.value);
}

static void charge_on_trial(struct state *s, const struct gang *g, const struct queue *q, const struct want *wants, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (wants[i].seat)
            try_charge(s, g, q, wants[i].shape);
}

static void bind_all(struct cycle *c, struct gang *g, struct queue *q, const struct want *wants, uint32_t n)
{
    admission_reserve(c->s, g, q, NULL, 0, NULL, 0);
    cycle_admit(c, g);
    for (uint32_t i = 0; i < n; i++)
        if (wants[i].seat)
            cycle_bind(c, g, wants[i].pod, wants[i].seat);
}

/* Place these members now or nobody. */
static bool try_members(struct cycle *c, struct gang *g, struct queue *q, const uint32_t *pods, uint32_t n, uint32_t *steps,
                        struct refusal *refusal)
{
    struct state *s = c->s;
    struct reason *why = q ? try_pod_quota(c, q, pods, n, &refusal->park) : NULL;
    if (why) {
        refusal->why = why;
        refusal->park.on |= PARK_QUOTA;
        return false;
    }
    struct want *wants = try_wants(c, pods, n);
    uint32_t mark = undo_mark(s);
    struct misfit misfit;
    if (!place_all(s, g, wants, n, steps, &misfit)) {
        refusal->why = c->trial ? refusal->why : why_unplaced(c, &misfit, 0, 0);
        undo_back(s, mark);
        if (c->trial)
            return false;
        refusal_of_misfit(s, &refusal->park, &misfit, wants, n);
        refusal->others |= others_rules(s, &misfit);
        return false;
    }
    if (c->trial) {
        charge_on_trial(s, g, q, wants, n);
        return true;
    }
    undo_keep(s, mark);
    bind_all(c, g, q, wants, n);
    return true;
}

/* Does quota hold one more of them? Else `park` gets what would have to be available. */
static bool quota_holds(const struct state *s, const struct gang *g, const struct queue *q, uint32_t shape, struct parking *park)
{
    struct amount one;
    bool holds = true;
    if (!q)
        return true;
    for (struct count x = count_begin(s, q, g->keeps_places, shape); count_next(&x, &one);) {
        if (!quota_names(&s->quota, q->quota, 0, one.resource) || quota_available(&s->quota, q->quota, 0, one.resource) >= one.value)
            continue;
        parking_add_hope(park, 0, one.resource, one.value);
        holds = false;
    }
    return holds;
}

/* Members that find quota and a place, in their order. Returns how many. */
static uint32_t find_startable(struct cycle *c, struct gang *g, struct queue *q, const uint32_t *pods, uint32_t n, uint32_t *ret_pods,
                               struct parking *park)
{
    struct want *wants = try_wants(c, pods, n);
    uint32_t mark = undo_mark(c->s), wants_n = 0, found_n = 0;
    bool neighbours;
    for (uint32_t i = 0; i < n; i++)
        if (quota_holds(c->s, g, q, wants[i].shape, park))
            wants[wants_n++] = wants[i];
    (void)place_some(c->s, g, wants, wants_n, &neighbours);
    for (uint32_t i = 0; i < wants_n; i++) {
        if (!wants[i].seat || !quota_holds(c->s, g, q, wants[i].shape, park))
            continue;
        charge_on_trial(c->s, g, q, &wants[i], 1);
        ret_pods[found_n++] = wants[i].pod;
    }
    undo_back(c->s, mark);
    park->on |= neighbours ? PARK_NEIGHBOURS : 0;
    return found_n;
}

/* All of them, or nobody. */
static bool all_start(struct cycle *c, struct gang *g, struct queue *q, struct want *wants, uint32_t n, uint32_t *steps,
                      struct parking *park)
{
    uint32_t mark = undo_mark(c->s);
    struct misfit misfit = {0};
    bool starts = place_all(c->s, g, wants, n, steps, &misfit);
    for (uint32_t i = 0; i < n && starts; i++) {
        starts = quota_holds(c->s, g, q, wants[i].shape, park);
        charge_on_trial(c->s, g, q, &wants[i], starts);
    }
    if (!starts)
        undo_back(c->s, mark);
    park->on |= misfit.neighbours ? PARK_NEIGHBOURS : 0;
    return starts;
}

/* The first `least` start together, and as many more as there is room for. Returns how many. */
static uint32_t most_that_start(struct cycle *c, struct gang *g, struct queue *q, struct want *wants, uint32_t least, uint32_t n,
                                uint32_t *steps, struct parking *park)
{
    uint32_t mark = undo_mark(c->s), good = least, bad = n;
    if (all_start(c, g, q, wants, n, steps, park))
        return n;
    if (least == n || !all_start(c, g, q, wants, least, steps, park))
        return 0;
    while (bad - good > 1) {
        uint32_t middle = good + (bad - good) / 2;
        undo_back(c->s, mark);
        if (all_start(c, g, q, wants, middle, steps, park))
            good = middle;
        else
            bad = middle;
    }
    undo_back(c->s, mark);
    return all_start(c, g, q, wants, good, steps, park) ? good : 0;
}

/* The same, unit by unit, each with those of its subgroup that come after it. WHY together: where one stands says where the others may. */
static uint32_t find_units(struct cycle *c, struct gang *g, struct queue *q, uint32_t *pods, uint32_t n, uint32_t *ret_pods,
                           struct parking *park)
{
    struct unit *units;
    uint32_t units_n = group_units(c->s, g, c->a, pods, n, &units), mark = undo_mark(c->s), steps = PLACE_STEPS, found_n = 0;
    uint32_t *next = arena_zero(c->a, units_n + 1, sizeof *next), *some = arena_alloc(c->a, (n + 1) * sizeof *some);
    for (uint32_t i = units_n; i-- > 0;)
        if (units[i].after) { /* in a list of those after that unit; index + 1 */
            next[i] = next[units[i].after - 1];
            next[units[i].after - 1] = i + 1;
        }
    for (uint32_t i = 0; i < units_n; i++) {
        uint32_t some_n = 0;
        for (uint32_t at = i + 1; at && !units[i].after; at = next[at - 1])
            for (uint32_t k = 0; k < units[at - 1].n; k++)
                some[some_n++] = pods[units[at - 1].first + k];
        struct want *wants = try_wants(c, some, some_n);
        uint32_t starting_n = some_n ? most_that_start(c, g, q, wants, units[i].n, some_n, &steps, park) : 0;
        memcpy(&ret_pods[found_n], some, starting_n * sizeof *some);
        found_n += starting_n;
    }
    undo_back(c->s, mark);
    return found_n;
}

/* Members that differ: perhaps others than the first ones make it whole. All that may start, or the fewest of them. */
static bool try_others(struct cycle *c, struct gang *g, struct queue *q, uint32_t *pods, uint32_t n, uint32_t *steps,
                       struct refusal *refusal)
{
    uint32_t *found = arena_alloc(c->a, (n + 1) * sizeof *found);
    uint32_t found_n = gang_has_subgroups(g) ? find_units(c, g, q, pods, n, found, &refusal->park)
                                             : find_startable(c, g, q, pods, n, found, &refusal->park);
    if (!group_is_enough(c->s, g, c->a, found, found_n))
        return false;
    if (try_members(c, g, q, found, found_n, steps, refusal))
        return true;
    uint32_t needed = group_fewest(c->s, g, c->a, found, &found_n);
    return needed < found_n && try_members(c, g, q, found, needed, steps, refusal);
}

/* Any room that comes free may be what is missing. WHY not of one for whom others leave: they would go in vain. */
static bool is_above_floor(struct cycle *c, const struct gang *g, const uint32_t *pods, uint32_t needed, uint32_t n,
                           struct refusal *refusal)
{
    struct reason *why = c->no_floor == g || g->promise ? NULL : floor_lacks(c->s, g, pods, needed, n, c->a);
    if (!why)
        return true;
    refusal->floor = true;
    refusal->why = why;
    parking_release(c->s, &refusal->park);
    refusal->park.shapes_n = PARK_SHAPES + 1;
    refusal->park.on |= PARK_NODES;
    return false;
}

static bool try_group(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    uint32_t *pods, n, steps = PLACE_STEPS, needed = fewest(c, g, &pods, &n);
    if (!needed) { /* its minimum has ended well, and what is left is not to be bound yet */
        if (c->trial)
            return true;
        admission_reserve(c->s, g, q, NULL, 0, NULL, 0);
        return true;
    }
    if (!is_above_floor(c, g, pods, needed, n, refusal))
        return false;
    /* WHY  who went for it went for so many: with more it may have more than its queue deserves, and be the next to go */
    bool all = needed == n || c->trial || !(g->promise || (q && q->has_shares && q->preempts && deserve_holds_back(c->s, q)) ||
                                            group_makes_way(c->s, g, q));
    if (all && try_members(c, g, q, pods, n, &steps, refusal))
        return true;
    if (needed == n)
        return false;
    bool differ = g->sets_n > 1 || gang_has_subgroups(g);
    if (try_members(c, g, q, pods, needed, &steps, refusal) || (differ && try_others(c, g, q, pods, n, &steps, refusal)))
        return true;
    for (uint32_t i = 0; i < g->sets_n && !c->trial; i++) /* any kind may make up the minimum */
        parking_add_shape(c->s, &refusal->park, g->sets[i].shape);
    refusal->park.on |= PARK_NODES;
    return false;
}

/* Others may have to go for it, for the fewest members that make it whole. */
static bool group_preempts(struct cycle *c, struct gang *g, struct queue *q, struct refusal *refusal)
{
    make_one_of_several(c, q, refusal);
    return preempt_counts(c, g, q, !c->trial, refusal->why);
}

/* ---- one gang ---- */

static void end_promise(struct state *s, struct gang *g, bool started)
{
    if (started)
        g->vain_n = g->unkept_n = 0;
    else if (all_have_left(g))
        promise_was_vain(s, g);
    else if (g->promise && !g->promise->by_priority)
        promise_unkept(s, g);
    if (started && gang_is_lone(g) && g->bound_n)
        lone_goes_before(s, g, s->seats[s->pods[g->members[0]].seat].node);
    promise_drop(s, g);
}

static void lone_looks(struct cycle *c, struct gang *g, struct refusal *refusal, struct reason *why)
{
    bool neighbours, looks = c->s->shapes.classes[c->s->pods[g->members[0]].shape].neighbours;
    refusal->preempts = lone_preempts(c, g, why, &neighbours);
    if (refusal->preempts && looks) /* who comes meanwhile may keep it away when its victims have left */
        refusal->park.on |= PARK_NEIGHBOURS;
    if (!neighbours)
        return;
    refusal->park.on |= PARK_NEIGHBOURS;
    refusal->others |= !looks;
}

/* The fewest of its members have room once those are gone that are being deleted: nobody has to go for it. */
static bool coming_is_enough(struct cycle *c, struct gang *g)
{
    uint32_t *pods, all_n, mark = undo_mark(c->s), steps = PLACE_STEPS, n = fewest(c, g, &pods, &all_n);
    struct misfit unused;
    bool fits = coming_lift(c->s, g) && place_all(c->s, g, try_wants(c, pods, n), n, &steps, &unused);
    undo_back(c->s, mark);
    return fits;
}

/* Without a queue there is no policy: others without one go by priority. A lone pod looks node by node for lone pods first; then for pod
 * groups, too, where there are any: else it is kube-scheduler's decision alone. What nodes say of it stays as it is, in its words. */
static void preempts_by_priority(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    struct state *s = c->s;
    bool lone = gang_is_lone(g), waits_for_groups = g->promise && !g->promise->by_priority;
    bool may = (!c->trial || c->trial_preempts) && ledger_has_lower(s, g);
    bool coming = may && !g->promise && coming_is_enough(c, g);
    struct reason *of_lone = why_it_waits(c, NULL);
    if (lone && !waits_for_groups && !c->trial && !coming)
        lone_looks(c, g, refusal, of_lone);
    bool looks = !refusal->preempts && may && !coming && s->now_ms >= tenure_preempts_from_ms(s, g) && !all_have_left(g) &&
                 (!lone || waits_for_groups || ledger_has_lower_group(s, g));
    if (looks && lone)
        refusal->preempts = preempt_counts(c, g, s->queues[0], !c->trial, why_it_waits(c, NULL));
    else if (looks)
        refusal->preempts = group_preempts(c, g, s->queues[0], refusal);
    if (lone && coming && !c->trial)
        reason_add(refusal->why, coming_reason(s, g, c->a));
    if (!refusal->preempts && of_lone->child)
        reason_add(refusal->why, (struct reason *)of_lone->child); /* the tree is ours while it is built */
}

bool try_gang(struct cycle *c, struct gang *g, struct refusal *refusal)
{
    name_id missing;
    struct queue *q = gang_asks_queue(c->s, g, &missing);
    refusal_begin(c, q, refusal);
    c->stays_until_ms = 0;
    bool started = g->planned ? try_planned(c, g, q, refusal) : try_group(c, g, q, refusal);
    refusal->park.on |= refusal->park.hopes_n ? PARK_QUOTA : 0; /* also where nodes had the last word */
    if (!started && q && g->planned && !c->trial)
        say_if_never(c, g, q, refusal);
    if (!started && !g->planned && !refusal->floor && others_may_go(c, g, q))
        refusal->preempts = group_preempts(c, g, q, refusal);
    if (!started && gang_has_no_queue(g) && !refusal->floor)
        preempts_by_priority(c, g, refusal);
    if (refusal->preempts && !c->trial)
        reason_add(refusal->why, promise_what(g, c->a));
    else if (!c->trial)
        end_promise(c->s, g, started);
    bool patient = !may_preempt(c, g, q);
    if (!started && looks_for_victims(c, q) && (!patient || flavor_preempts_first(q))) /* there victims decide which flavor it is */
        park_widely(c->s, q, &refusal->park);
    /* WHY  it waits in a flavor for those who are to go, though another one may fit, until others take what makes that one worse */
    refusal->park.takes |= !started && looks_for_victims(c, q) && flavor_preempts_first(q) && has_choice_of_flavors(q);
    if (!started && patient && q && q->preempts && !c->trial) { /* others left for it in vain, or it is to wait: soon they may go */
        order_look_later(c->s, g, tenure_preempts_from_ms(c->s, g));
        say_patience(c, g, q, refusal);
    }
    if (!started && gang_has_no_queue(g) && !c->trial && c->s->now_ms < tenure_preempts_from_ms(c->s, g)) {
        order_look_later(c->s, g, tenure_preempts_from_ms(c->s, g));
        if (ledger_has_lower(c->s, g))
            say_patience(c, g, c->s->queues[0], refusal);
    }
    if (!started && !patient && !refusal->preempts && c->stays_until_ms && !c->trial)
        order_look_later(c->s, g, c->stays_until_ms);
    if (!started && refusal->preempts && !c->trial) /* WHY  it would be looked at anew, without its promise */
        order_look_later(c->s, g, 0);
    else if (!started && g->planned && is_coming(refusal) && !c->trial && (shrink_may(g) || flavor_preempts_first(q)))
        order_look_later(c->s, g, c->s->now_ms + COMING_LOOK_AGAIN_MS);
    return started;
}

bool try_on_trial(struct cycle *c, struct gang *g)
{
    struct refusal unused;
    c->trial = true;
    bool starts = try_gang(c, g, &unused);
    c->trial = false;
    parking_release(c->s, &unused.park);
    return starts;
}

bool try_on_trial_preempting(struct cycle *c, struct gang *g, bool *ret_starts)
{
    name_id missing;
    struct refusal refusal;
    const struct queue *q = gang_asks_queue(c->s, g, &missing);
    uint32_t mark = undo_mark(c->s);
    c->trial = c->trial_preempts = true;
    bool fits = try_gang(c, g, &refusal);
    c->trial = c->trial_preempts = false;
    parking_release(c->s, &refusal.park);
    undo_back(c->s, mark);
    *ret_starts = fits && !(q && flavor_preempts_first(q));
    return fits || refusal.preempts;
}

/* Wishes of a gang under the `nth` assignment that quota allows. False: there is no such. */
bool try_wishes(struct cycle *c, const struct gang *g, struct queue *q, uint32_t nth, struct wishes *ret_wishes)
{
    struct flavor_search search = {0};
    struct reason *unused = reason_new(c->a, (struct reason){.code = REASON_WAITING});
    *ret_wishes = (struct wishes){0};
    if (!g->planned) {
        uint32_t *pods, n;
        ret_wishes->n = fewest(c, g, &pods, &n);
        ret_wishes->wants = try_wants(c, pods, ret_wishes->n);
        return nth == 0;
    }
    if (q)
        flavor_search_begin(c->s, &search, q, planned_demands(c, g), g->sets_n, c->a);
    for (uint32_t i = 0; q && i <= nth; i++)
        if ((i && !flavor_refuse(&search, g->sets_n - 1, false)) || !flavor_search_next(c->s, &search, c->a, unused))
            return false;
    ret_wishes->wants = try_wish_all(c, g, &search, &ret_wishes->shapes, &ret_wishes->n);
    ret_wishes->shapes_n = g->sets_n;
    return q || !nth;
}

void wishes_release(struct state *s, struct wishes *w)
{
    for (uint32_t i = 0; i < w->shapes_n; i++)
        shape_release(s, w->shapes[i]);
    w->shapes_n = 0;
}
