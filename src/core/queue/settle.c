#include "core/queue/settle.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/explain/why.h"
#include "core/group/later.h"
#include "core/group/places.h"
#include "core/group/starters.h"
#include "core/heal/hole.h"
#include "core/heal/refill.h"
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/preempt/promise.h"
#include "core/queue/admission.h"
#include "core/queue/checks.h"
#include "core/queue/gang.h"
#include "core/queue/consumption.h"
#include "core/queue/lost.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/queue/shrink.h"
#include "core/quota/deserve.h"
#include "core/quota/ledger.h"
#include "core/time/booking.h"

/* ---- what must end ---- */

const struct reason *settle_why_evict(struct cycle *c, const struct gang *g)
{
    if (!g->active)
        return reason_new(c->a, (struct reason){.code = REASON_DEACTIVATED});
    /* WHY not before the object says that it has quota: an answer to what was asked earlier would end each reservation before it is told */
    name_id check = g->planned && g->api_admitted ? checks_retried(g) : 0;
    if (check)
        return reason_new(c->a, (struct reason){.code = REASON_CHECK_RETRIED, .name = check});
    const struct local_queue *l = g->own->local_queue ? local_queue_find(c->s, g->own->local_queue) : NULL;
    if (g->queue && g->queue->stop == STOP_HOLD_AND_DRAIN)
        return reason_new(c->a, (struct reason){.code = REASON_STOPPED_QUEUE, .queue = g->queue->title, .queue_kind = g->queue->kind});
    if (l && l->stop == STOP_HOLD_AND_DRAIN)
        return reason_new(c->a,
                          (struct reason){.code = REASON_STOPPED_QUEUE, .queue = l->queue, .name = l->title, .queue_kind = QUEUE_LOCAL});
    if (g->restarts && g->phase >= GANG_ADMITTED)
        return reason_new(c->a, (struct reason){.code = REASON_RESTARTED});
    return ready_why_evict(c, g);
}

/* It was told to go, and has gone: what it held is free. */
static bool has_left(const struct gang *g)
{
    return g->answered && (g->planned ? !g->api_admitted : !g->bound_n);
}

/* ---- places for members ---- */

static bool parked(const struct gang *g)
{
    return g->park && g->park->at;
}

/* What another member of it waits for since just now wakes it, too. */
static bool place_or_explain(struct cycle *c, struct gang *g, struct want *wants, uint32_t n)
{
    struct parking park = {0};
    bool placed = places_take_or_say(c, g, wants, n, &park);
    if (!placed) {
        if (parked(g))
            parking_add(c->s, &park, g->park);
        order_park_gang(c->s, g, &park);
    }
    parking_release(c->s, &park);
    return placed;
}

/* WHY  former pods are none of bound_n: they give back where they stand, and whoever was let in beside them has places of his own, which
 * may not go for theirs. New pods would take any place then, also one that is promised to others. */
struct tally {
    int32_t bound_n, held_n, loose_n;
    int32_t live_n; /* of bound_n: not on their way out */
    int32_t lost_n; /* stood on a node that failed: no place is looked for yet */
};

static struct tally *count_sets(struct cycle *c, const struct gang *g, const uint32_t *loose, uint32_t loose_n)
{
    struct tally *t = arena_zero(c->a, g->sets_n + 1, sizeof *t);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &c->s->pods[g->members[i]];
        int32_t set = p->seat && !p->former && !lost_is_given_up(c->s, g, p) ? pod_set_index(g, p) : -1;
        if (set < 0)
            continue;
        t[set].bound_n++;
        t[set].live_n += !p->deleting;
    }
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        t[c->s->seats[g->own->seats[i]].pod_set].held_n++;
    for (uint32_t i = 0; i < loose_n; i++) {
        int32_t set = pod_set_index(g, &c->s->pods[loose[i]]);
        if (set >= 0)
            t[set].loose_n++;
    }
    return t;
}

/* Members that are over: the pods that succeeded, or more when the dialect knows of more. */
static int32_t over_n(const struct gang_set *set)
{
    return set->done_n > set->reclaimed_n ? set->done_n : set->reclaimed_n;
}

/* Places of members that turned out to be over are free again. */
static void drop_surplus(struct cycle *c, struct gang *g, struct tally *t)
{
    for (uint32_t i = g->own->seats_n; i-- > 0;) {
        uint32_t set = c->s->seats[g->own->seats[i]].pod_set;
        if (t[set].held_n <= 0 || t[set].bound_n + t[set].held_n + set_gone_n(&g->sets[set]) <= g->sets[set].count)
            continue;
        t[set].held_n--;
        admission_drop_held(c->s, g, i);
    }
}

/* Members of a set that have neither a place nor are done. */
static int32_t lack_of(const struct gang_set *set, const struct tally *t)
{
    return set->count - t->bound_n - t->held_n - t->lost_n - set_gone_n(set);
}

/* Wants for all of them. */
static struct want *missing(struct cycle *c, const struct gang *g, const struct tally *t, uint32_t *ret_n)
{
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        int32_t lack = lack_of(&g->sets[i], &t[i]);
        n += lack > 0 ? (uint32_t)lack : 0;
    }
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct gang_set *set = &g->sets[i];
        uint32_t topology = domain_topology(c->s, g->own->choices, g->own->choices_n, i);
        for (int32_t k = lack_of(set, &t[i]); k > 0; k--)
            wants[at++] = (struct want){.shape = set->placed_shape, .labels = set->labels, .pod_set = i, .topology = topology};
    }
    *ret_n = n;
    return wants;
}

static void drop_all_held(struct state *s, struct gang *g)
{
    while (g->own->seats_n)
        admission_drop_held(s, g, g->own->seats_n - 1);
}

/* Places that were taken in this settling: the last of those that are held. */
struct taken {
    uint32_t n;
    bool neighbours_changed; /* before that */
};

/* What is held in vain others may need. WHY  what was taken a moment ago goes as if it had never been: nobody was refused for it, and the
 * gang would be woken by what it gives back itself, take it, and give it back again, for ever. */
static void give_up_held(struct state *s, struct gang *g, const struct taken *taken)
{
    struct gang_object *o = gang_own(g);
    if (taken->n)
        s->neighbours_changed = taken->neighbours_changed;
    for (uint32_t n = taken->n; n; n--)
        seat_untake(s, o->seats[--o->seats_n]);
    drop_all_held(s, g);
}

static bool hold_missing(struct cycle *c, struct gang *g, struct tally *t, struct taken *ret_taken)
{
    uint32_t n;
    struct want *wants = missing(c, g, t, &n);
    *ret_taken = (struct taken){.neighbours_changed = c->s->neighbours_changed};
    if (!n)
        return true;
    /* WHY all at once, and none when not all: two gangs that each lost a place must not hold the rest and wait for each other. */
    uint32_t mark = undo_mark(c->s), steps = PLACE_STEPS;
    struct misfit unused;
    if (!place_all(c->s, g, wants, n, &steps, &unused)) {
        undo_back(c->s, mark);
        drop_all_held(c->s, g);
        ret_taken->neighbours_changed = c->s->neighbours_changed;
        for (uint32_t i = 0; i < g->sets_n; i++)
            t[i].held_n = 0;
        wants = missing(c, g, t, &n);
        if (!place_or_explain(c, g, wants, n))
            return false;
    }
    ret_taken->n = n;
    undo_keep(c->s, mark);
    for (uint32_t i = 0; i < n; i++) {
        admission_hold_seat(g, wants[i].seat);
        t[wants[i].pod_set].held_n++;
    }
    cycle_moved(c, g);
    return true;
}

/* On the undo log, against a gang that has its quota. */
static void put_rooms(struct cycle *c, const struct gang *g, bool also_of_blocked)
{
    struct state *s = c->s;
    for (uint32_t i = 0; i < s->promised_n; i++)
        if (also_of_blocked || !ready_blocks(s, s->promised[i]))
            promise_put_rooms(s, s->promised[i]);
    bookings_put(s, g, true, c->now_ms, booking_run_ms(g, c->now_ms));
}

static void take_rooms_back(struct state *s, uint32_t mark)
{
    undo_back(s, mark);
    promises_lie_down(s);
    bookings_lie_down(s);
}

static bool any_is_blocked(const struct state *s)
{
    for (uint32_t i = 0; i < s->promised_n; i++)
        if (ready_blocks(s, s->promised[i]))
            return true;
    return false;
}

static bool missing_fit(struct cycle *c, struct gang *g, const struct tally *t)
{
    uint32_t n, mark = undo_mark(c->s), steps = PLACE_STEPS;
    struct want *wants = missing(c, g, t, &n);
    struct misfit unused;
    bool fit = place_all(c->s, g, wants, n, &steps, &unused);
    undo_back(c->s, mark);
    return fit;
}

/* It has not been let in yet: what was promised to others is not for it. WHY  they went for a gang that would lose its room to this one, be
 * told again as soon as they are back, and so on for ever. But nobody is let in while this one is not ready (queue/ready.h): where that
 * stops whom it was promised to, and there is no other room, each would wait for the other. */
static bool hold_beside_promises(struct cycle *c, struct gang *g, struct tally *t)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s);
    put_rooms(c, g, true);
    if (any_is_blocked(s) && !missing_fit(c, g, t)) {
        take_rooms_back(s, mark);
        put_rooms(c, g, false);
    }
    struct taken unused;
    bool held = hold_missing(c, g, t, &unused);
    take_rooms_back(s, mark);
    return held;
}

/* ---- members of planned gangs take their places ---- */

static bool same_demands(const struct shape_class *a, const struct shape_class *b)
{
    if (a->demands_n != b->demands_n || a->shape.ports_n != b->shape.ports_n || a->neighbours || b->neighbours)
        return false;
    for (uint32_t i = 0; i < a->shape.ports_n; i++)
        if (memcmp(&a->shape.ports[i].address, &b->shape.ports[i].address, sizeof(name_id)) ||
            a->shape.ports[i].port != b->shape.ports[i].port || a->shape.ports[i].protocol != b->shape.ports[i].protocol)
            return false;
    for (uint32_t i = 0; i < a->demands_n; i++)
        if (a->demands[i].resource != b->demands[i].resource || a->demands[i].value != b->demands[i].value)
            return false;
    return true;
}

/* The pod that came is not quite the pod that was planned (the API server added tolerations, say): may it have the place? */
static bool seat_suits(struct state *s, uint32_t seat, uint32_t shape)
{
    uint32_t old = s->seats[seat].shape;
    return old == shape || (same_demands(&s->shapes.classes[old], &s->shapes.classes[shape]) &&
                            fit_record(s, &s->shapes.classes[shape], s->seats[seat].node, NULL) == FIT_OK);
}

static void seat_becomes(struct state *s, uint32_t seat, uint32_t shape, uint32_t labels)
{
    uint32_t old_shape = s->seats[seat].shape, old_labels = s->seats[seat].labels;
    shape_class_ref(&s->shapes, shape);
    label_set_ref(&s->shapes, labels);
    s->seats[seat].shape = shape;
    s->seats[seat].labels = labels;
    shape_release(s, old_shape);
    label_set_unref(&s->shapes, old_labels);
}

/* One pod of the first burst, or one that comes later. */
struct arrival {
    struct want want;
    uint32_t held;           /* index in gang.seats of the place that suits it; NO_PLACE: it needs another one */
};
#define NO_PLACE UINT32_MAX

/* A held place of the set that suits the shape and that nobody else is given; they are looked through once a set. */
static uint32_t suitable(struct state *s, const struct gang *g, uint32_t set, uint32_t shape, uint32_t *from)
{
    for (; *from < g->own->seats_n; ++*from)
        if (s->seats[g->own->seats[*from]].pod_set == set && seat_suits(s, g->own->seats[*from], shape))
            return (*from)++;
    return NO_PLACE;
}

/* Which pods come now, and which held place each may have. LIMIT count of the set: quota was taken for that many; a job that was made
 * wider while it runs gets no more. The caller releases the shapes. */
static struct arrival *match(struct cycle *c, const struct gang *g, const uint32_t *loose, uint32_t loose_n, struct tally *t,
                             uint32_t *ret_n)
{
    struct state *s = c->s;
    struct arrival *all = arena_alloc(c->a, (loose_n + 1) * sizeof *all);
    uint32_t *from = arena_zero(c->a, g->sets_n + 1, sizeof *from), n = 0;
    for (uint32_t i = 0; i < loose_n; i++) {
        const struct pod *p = &s->pods[loose[i]];
        int32_t at = pod_set_index(g, p);
        if (at < 0 || t[at].live_n >= g->sets[at].count)
            continue;
        uint32_t set = (uint32_t)at;
        t[set].live_n++;
        uint32_t shape = gang_pod_shape(s, p->shape, g->own->choices, g->own->choices_n, set);
        struct arrival *one = &all[n++];
        one->want = (struct want){.shape = shape, .labels = p->labels, .pod_set = set, .pod = loose[i],
                                  .topology = domain_topology(s, g->own->choices, g->own->choices_n, set)};
        one->held = suitable(s, g, set, shape, &from[set]);
    }
    *ret_n = n;
    return all;
}

enum fate { HELD_STAYS, HELD_TAKEN, HELD_LIFTED };

/* Which held places are taken by whom they suit, and which are given up: one for each pod that needs another place, or all. */
static enum fate *fates(struct cycle *c, const struct gang *g, const struct arrival *all, uint32_t n, bool anew)
{
    enum fate *fate = arena_zero(c->a, g->own->seats_n + 1, sizeof *fate);
    for (uint32_t k = 0; k < g->own->seats_n && anew; k++)
        fate[k] = HELD_LIFTED;
    for (uint32_t i = 0; i < n && !anew; i++)
        if (all[i].held != NO_PLACE)
            fate[all[i].held] = HELD_TAKEN;
    for (uint32_t i = 0; i < n && !anew; i++) {
        uint32_t k = 0;
        while (k < g->own->seats_n && (fate[k] != HELD_STAYS || c->s->seats[g->own->seats[k]].pod_set != all[i].want.pod_set))
            k++;
        if (all[i].held == NO_PLACE && k < g->own->seats_n)
            fate[k] = HELD_LIFTED;
    }
    return fate;
}

/* Places for those that have none that suits; `anew`: for all of them. */
static bool find_places(struct cycle *c, struct gang *g, struct arrival *all, uint32_t n, bool anew, const enum fate *fate, bool explain)
{
    struct state *s = c->s;
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    uint32_t *of = arena_alloc(c->a, (n + 1) * sizeof *of), wants_n = 0, mark = undo_mark(s), steps = PLACE_STEPS;
    struct misfit unused;
    for (uint32_t i = 0; i < n; i++) {
        if (!anew && all[i].held != NO_PLACE)
            continue;
        of[wants_n] = i;
        wants[wants_n++] = all[i].want;
    }
    for (uint32_t k = 0; k < g->own->seats_n; k++)
        if (fate[k] == HELD_LIFTED)
            undo_lift(s, g->own->seats[k]);
    if (!(explain ? place_or_explain(c, g, wants, wants_n) : place_all(s, g, wants, wants_n, &steps, &unused))) {
        undo_back(s, mark);
        return false;
    }
    undo_keep(s, mark);
    for (uint32_t i = 0; i < wants_n; i++)
        all[of[i]].want.seat = wants[i].seat;
    return true;
}

/* All of them get a place, or nobody: pods that a webhook has enlarged must not leave a gang half bound. `may_move`: the gang is whole, so
 * that all its places may be chosen anew. */
static bool bind_arrivals(struct cycle *c, struct gang *g, struct arrival *all, uint32_t n, bool may_move)
{
    struct state *s = c->s;
    uint32_t lacking_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        lacking_n += all[i].held == NO_PLACE;
        all[i].want.seat = all[i].held != NO_PLACE ? g->own->seats[all[i].held] : 0;
    }
    const enum fate *fate = fates(c, g, all, n, false);
    if (lacking_n && !find_places(c, g, all, n, false, fate, !may_move)) {
        fate = may_move ? fates(c, g, all, n, true) : NULL;
        if (!may_move || !find_places(c, g, all, n, true, fate, true))
            return false;
    }
    struct gang_object *o = gang_own(g);
    uint32_t kept_n = 0;
    for (uint32_t k = 0; k < o->seats_n; k++)
        if (fate[k] == HELD_STAYS)
            o->seats[kept_n++] = o->seats[k];
    o->seats_n = kept_n;
    for (uint32_t i = 0; i < n; i++) {
        const struct want *w = &all[i].want;
        seat_becomes(s, w->seat, w->shape, w->labels);
        cycle_bind(c, g, w->pod, w->seat);
    }
    if (lacking_n)
        cycle_moved(c, g);
    return true;
}

static void release_shapes(struct state *s, const struct arrival *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        shape_release(s, all[i].want.shape);
}

/* Its places are lost before anybody heard that it has them: nothing is admitted that cannot be placed. Quota that was told stays. */
static void wait_if_untold(struct cycle *c, struct gang *g)
{
    if (g->phase == GANG_RESERVED && g->api_admitted && g->reserved_only && !g->foreign)
        gang_enter(c->s, g, GANG_CHECKING);
    if (g->phase != GANG_RESERVED || g->api_admitted)
        return;
    consumption_refund(c->s, g);
    admission_release(c->s, g);
    order_wake(c->s, g);
}

/* ---- gangs that hold quota, and wait for their checks first ---- */

/* Does it go on to be RESERVED? Else it is told what it waits for. Another writer's reservation needs no places first: he has decided. */
static bool passes_checks(struct cycle *c, struct gang *g)
{
    if (!checks_ready(g)) {
        drop_all_held(c->s, g);
        if (g->phase != GANG_CHECKING)
            gang_enter(c->s, g, GANG_CHECKING);
        cycle_explain(c, g, checks_why(g, c->a));
        return false;
    }
    if (!g->foreign) {
        places_drop_bad(c->s, g);
        struct tally *t = count_sets(c, g, NULL, 0);
        drop_surplus(c, g, t);
        if (!hold_beside_promises(c, g, t))
            return false;
    }
    g->admit_refused = false;
    gang_enter(c->s, g, GANG_RESERVED);
    cycle_admit(c, g);
    return true;
}

static bool is_not_admitted_yet(const struct gang *g)
{
    return g->planned && (g->phase == GANG_CHECKING || (g->phase == GANG_RESERVED && !checks_ready(g)));
}

static bool set_is_whole(const struct gang_set *set, const struct tally *t)
{
    return t->live_n + t->loose_n + over_n(set) >= set->count;
}

/* Those that may be bound now: of a set that comes later all together, too. Returns how many. */
static uint32_t those_that_begin(struct cycle *c, const struct gang *g, const struct tally *t, uint32_t *loose, uint32_t loose_n)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loose_n; i++) {
        int32_t set = pod_set_index(g, &c->s->pods[loose[i]]);
        if (set < 0 || !g->sets[set].later || g->sets[set].serial || t[set].live_n || set_is_whole(&g->sets[set], &t[set]))
            loose[n++] = loose[i];
    }
    return n;
}

/* How many of LOOSE are bound together, of a gang that has begun: one, or all of a set that comes later and has nobody left, which begins
 * again. Those are moved to the front. */
static uint32_t those_at_once(struct cycle *c, const struct gang *g, const struct tally *t, uint32_t *loose, uint32_t loose_n)
{
    int32_t set = pod_set_index(g, &c->s->pods[loose[0]]);
    if (set < 0 || !g->sets[set].later || g->sets[set].serial || g->sets[set].in_turns || t[set].live_n)
        return 1;
    uint32_t n = 1;
    for (uint32_t i = 1; i < loose_n; i++) {
        if (pod_set_index(g, &c->s->pods[loose[i]]) != set)
            continue;
        uint32_t pod = loose[i];
        loose[i] = loose[n];
        loose[n++] = pod;
    }
    return n;
}

/* *ret_taken: what it took for members to come, and did not need yet. */
static void settle_members(struct cycle *c, struct gang *g, const struct lost *lost, struct taken *ret_taken)
{
    struct state *s = c->s;
    uint32_t *loose, loose_n = gang_loose_members(s, g, c->a, &loose);
    struct tally *t = count_sets(c, g, loose, loose_n);
    bool whole = true, begins = true, any_live = false, needs_no_more = true;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        t[i].lost_n = lost->of_set ? lost->of_set[i] : 0;
        whole &= set_is_whole(&g->sets[i], &t[i]);
        begins &= g->sets[i].later || g->sets[i].serial || set_is_whole(&g->sets[i], &t[i]);
        needs_no_more &= t[i].live_n + t[i].loose_n + set_gone_n(&g->sets[i]) >= g->sets[i].count;
        any_live |= t[i].live_n > 0;
    }
    if (g->phase == GANG_BOUND && !whole && !any_live)
        gang_enter(s, g, GANG_ADMITTED); /* nothing is left of it: it starts again, whole */
    if (g->phase < GANG_BOUND) {
        drop_surplus(c, g, t);
        bool comes = !lost_for_good(g);
        if (!needs_no_more && comes && !hold_missing(c, g, t, ret_taken)) { /* of a whole gang those count that came, not the plan */
            wait_if_untold(c, g);
            return;
        }
    }
    if (!begins && g->phase < GANG_BOUND && !any_live)
        return; /* the first burst waits for all members that are not made after others; those that end beside it are none of its own */
    bool first_burst = g->phase < GANG_BOUND;
    loose_n = those_that_begin(c, g, t, loose, loose_n);
    for (uint32_t i = 0, at_once; i < loose_n; i += at_once) {
        at_once = first_burst ? loose_n : those_at_once(c, g, t, &loose[i], loose_n - i);
        uint32_t n;
        struct arrival *all = match(c, g, &loose[i], at_once, t, &n);
        bool bound = bind_arrivals(c, g, all, n, first_burst && whole);
        release_shapes(s, all, n);
        if (!bound && first_burst) {
            give_up_held(s, g, ret_taken);
            *ret_taken = (struct taken){0};
            return;
        }
        if (n)
            *ret_taken = (struct taken){0};
    }
    if (whole && first_burst)
        gang_enter(s, g, GANG_BOUND);
    /* WHY parked: a gang keeps the pods that run, but while one of them waits for a place it holds none that others may be waiting for. */
    if (needs_no_more || parked(g))
        drop_all_held(s, g);
}

/* ---- nodes that failed ---- */

/* It was to begin, and found no places for all: what was found for a part of it, beside nobody, is nothing. */
static bool nothing_stands(const struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n; i++)
        if (s->pods[g->members[i]].seat)
            return false;
    return g->phase == GANG_ADMITTED && g->own->seats_n == 0;
}

/* Other places for what stood on the failed node, in the domain that the rest requires; or it has to go, or waits. */
static void replace_lost(struct cycle *c, struct gang *g, const struct lost *lost, const struct taken *taken)
{
    struct state *s = c->s;
    struct tally *t = arena_zero(c->a, g->sets_n + 1, sizeof *t);
    uint32_t n, mark = undo_mark(s), steps = PLACE_STEPS;
    struct misfit unused;
    for (uint32_t i = 0; i < g->sets_n; i++)
        t[i].bound_n = g->sets[i].count - set_gone_n(&g->sets[i]) - lost->of_set[i];
    struct want *wants = missing(c, g, t, &n);
    if (!place_all(s, g, wants, n, &steps, &unused)) {
        undo_back(s, mark);
        if (!s->lost_policy.patient)
            cycle_evict(c, g, lost_why_evict(c, lost));
        else if (!parked(g) && !place_or_explain(c, g, wants, n))
            give_up_held(s, g, taken);
        return;
    }
    if (parked(g)) { /* one of its pods waits: it holds none that others may be waiting for, and looks again when it is woken */
        undo_back(s, mark);
        if (nothing_stands(s, g) && !s->lost_policy.patient)
            cycle_evict(c, g, lost_why_evict(c, lost));
        return;
    }
    undo_keep(s, mark);
    for (uint32_t i = 0; i < n; i++)
        admission_hold_seat(g, wants[i].seat);
    gang_own(g)->lost = 0;
    cycle_moved(c, g);
}

static void settle_lost(struct cycle *c, struct gang *g, const struct taken *taken)
{
    const struct lost lost = lost_find(c, g);
    lost_note(c, g, &lost);
    if (!g->own->lost)
        return;
    if (lost_is_due(c, g) && !c->s->hold)
        replace_lost(c, g, &lost, taken);
    else
        lost_wait(c, g);
}

static void settle_planned(struct cycle *c, struct gang *g)
{
    places_drop_bad(c->s, g);
    const struct lost lost = lost_find(c, g);
    if (lost.nodes_n > 1) {
        cycle_evict(c, g, lost_why_evict(c, &lost));
        return;
    }
    struct taken taken = {0};
    settle_members(c, g, &lost, &taken);
    if (lost.nodes_n || g->own->lost)
        settle_lost(c, g, &taken);
}

static void has_settled(struct cycle *c, struct gang *g)
{
    if (!parked(g) && g->phase != GANG_LEAVING && !holes_are_kept(g))
        cycle_explained_away(g);
}

/* True: its members start by turns, which it has to be given. */
static bool settle_gang(struct cycle *c, struct gang *g)
{
    if (g->phase == GANG_LEAVING) {
        if (!has_left(g))
            return false;
        admission_release(c->s, g);
        cycle_explained_away(g);
        order_wake(c->s, g);
        return false;
    }
    const struct reason *evict = settle_why_evict(c, g);
    if (evict) {
        if (holes_are_kept(g))
            refill_drop(c->s, g);
        cycle_evict(c, g, evict);
        return false;
    }
    /* it was told, and that failed: is it still wanted? */
    if (g->preemptor && !g->shrinks && g->preemptor->line && g->preemptor->line->park.at)
        order_line_ready(c->s, g->preemptor->line, false);
    if (is_not_admitted_yet(g) && !passes_checks(c, g))
        return false;
    if (!g->planned && g->queue && g->queue->shares.by_turns)
        return true;
    if (g->planned)
        settle_planned(c, g);
    else
        (void)later_settle(c, g, false);
    has_settled(c, g);
    return false;
}

static int compare_gangs(const void *a, const void *b)
{
    const struct gang *const *left = a, *const *right = b;
    return order_before(*left, *right) ? -1 : order_before(*right, *left);
}

/* ---- by turns (group/later.h) ---- */

static int64_t above_minimum(const struct gang *g)
{
    return (int64_t)g->bound_n - g->min_members;
}

static int compare_turns(const void *a, const void *b)
{
    const struct gang *left = *(const struct gang *const *)a, *right = *(const struct gang *const *)b;
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (above_minimum(left) != above_minimum(right))
        return above_minimum(left) < above_minimum(right) ? -1 : 1;
    return order_before(left, right) ? -1 : order_before(right, left);
}

/* Sorted by turns: has nobody of its queue fewer above its minimum? */
static bool has_turn(struct gang *const *all, uint32_t at)
{
    uint32_t first = 0;
    while (all[first]->queue != all[at]->queue)
        first++;
    return above_minimum(all[first]) == above_minimum(all[at]);
}

/* Of one priority, until none of them goes on. */
static void rounds_of(struct cycle *c, struct gang **all, uint32_t n)
{
    bool *turns = arena_alloc(c->a, n * sizeof *turns);
    while (n) {
        uint32_t left_n = 0;
        qsort(all, n, sizeof *all, compare_turns);
        for (uint32_t i = 0; i < n; i++)
            turns[i] = has_turn(all, i);
        for (uint32_t i = 0; i < n; i++) {
            if (!c->pods_left)
                order_wake(c->s, all[i]);
            else if (!turns[i] || later_settle(c, all[i], true))
                all[left_n++] = all[i];
            else
                has_settled(c, all[i]);
        }
        n = left_n;
    }
}

/* Groups whose members start by turns: all of them, until nobody has a member that finds a place. */
static void take_turns(struct cycle *c, struct gang **all, uint32_t n)
{
    qsort(all, n, sizeof *all, compare_turns);
    for (uint32_t at = 0, end; at < n; at = end) {
        for (end = at; end < n && all[end]->priority == all[at]->priority; end++)
            ;
        rounds_of(c, &all[at], end - at);
    }
}

/* Who makes way for those that are tried in this cycle comes after them. Returns how many do not. */
static uint32_t put_off(struct state *s, struct gang **all, uint32_t n)
{
    uint32_t now_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (group_makes_way(s, all[i], all[i]->queue))
            order_wake(s, all[i]);
        else
            all[now_n++] = all[i];
    return now_n;
}

/* The highest priority of those without a queue that are tried in this cycle. INT32_MIN: there is none. */
static int32_t highest_tried(struct state *s)
{
    const struct line *first = order_first(s->queues[0]);
    int32_t highest = first ? line_first(first)->priority : INT32_MIN;
    for (uint32_t i = 0; i < s->candidates_n; i++) {
        int32_t priority = queue_is_none(s->candidates[i]->queue) ? line_first(s->candidates[i])->priority : INT32_MIN;
        highest = priority > highest ? priority : highest;
    }
    return highest;
}

/* Somebody without a queue, of higher priority, may preempt whoever took what came free. */
static bool lets_others_first(const struct gang *g, int32_t tried)
{
    return tried > g->priority && gang_has_no_queue(g) && g->phase == GANG_BOUND;
}

void settle_all(struct cycle *c, bool last)
{
    struct state *s = c->s;
    uint32_t n = s->work_n, turns_n = 0;
    if (!n)
        return;
    struct gang **all = arena_alloc(c->a, n * sizeof *all);
    memcpy(all, s->work, n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i]->look_at = 0;
    s->work_n = 0;
    qsort(all, n, sizeof *all, compare_gangs);
    const int32_t tried = last ? INT32_MIN : highest_tried(s);
    for (uint32_t i = 0; i < n; i++) {
        if (!c->pods_left || lets_others_first(all[i], tried))
            order_wake(s, all[i]);
        else if (settle_gang(c, all[i]))
            all[turns_n++] = all[i];
    }
    take_turns(c, all, last ? turns_n : put_off(s, all, turns_n));
}
