#include "core/preempt/victims.h"
#include <stdlib.h>
#include "core/place/undo.h"
#include "core/preempt/back.h"
#include "core/preempt/fair.h"
#include "core/preempt/promise.h"
#include "core/preempt/surplus.h"

enum preemption victim_reason(const struct candidate *one)
{
    if (one->class == CLASS_MOVED)
        return PREEMPTION_MOVED;
    if (gang_has_no_queue(one->gang))
        return PREEMPTION_BY_PRIORITY;
    if (one->gang->queue && one->gang->queue->has_shares)
        return one->class == CLASS_OWN ? PREEMPTION_LOWER_IN_QUEUE : PREEMPTION_DESERVED;
    if (one->class == CLASS_OWN)
        return PREEMPTION_IN_QUEUE;
    if (one->class == CLASS_FAIR)
        return PREEMPTION_FAIR_SHARING;
    return one->class == CLASS_PRIORITY && one->while_borrowing ? PREEMPTION_RECLAIM_WHILE_BORROWING : PREEMPTION_RECLAIM;
}

/* Of a charge of the i-th gang. */
static int64_t amount_given(const struct state *s, const struct victims *v, uint32_t i, const struct charge *c)
{
    int64_t sum = v->members ? 0 : c->amount;
    for (uint32_t k = 0; k < v->members_n; k++)
        sum += s->pods[v->members[k]].gang == v->all[i].gang ? surplus_amount(s, v->members[k], c->resource) : 0;
    return sum;
}

void victims_leave(struct state *s, const struct victims *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const struct gang *g = v->all[i].gang;
        for (uint32_t k = 0; k < g->own->charges_n && g->queue; k++)
            undo_charge(s, g->queue->quota, g->own->charges[k].flavor, g->own->charges[k].resource,
                        -amount_given(s, v, i, &g->own->charges[k]));
    }
}

/* One search, with or without borrowing. */
struct hunt {
    const struct preemptor *x;
    struct candidates *from;
    const uint32_t *members;   /* of each candidate, the pod that goes alone; NULL: all go whole */
    struct fair_order *fair;   /* NULL: no fair sharing */
    const struct want *wants;
    uint32_t wants_n;
    uint32_t *places, *chosen; /* nodes of the wants at the last try that held all; the same, sorted */
    bool only_leaving;         /* nobody goes but who does for it already */
    bool borrows, short_of_trials, quota_was_enough, looks_at_others, taken_back;
    struct candidate *gone;    /* in order, from `first` on; those before it have been put back */
    uint32_t *gone_members;    /* as members, of `gone` */
    uint32_t first, n, cap, members_cap;
    uint32_t *marks;           /* of the undo log, before the seats of each were lifted */
    uint32_t lifted_n, marks_cap; /* the first of `gone`, whose seats are lifted */
};

/* ---- quota ---- */

/* WHY not on the undo log: what is lifted stands there, and comes off it while others stay charged. */
static void charge(const struct hunt *h, uint32_t at, int sign)
{
    struct state *s = h->x->c->s;
    const struct gang *g = h->gone[at].gang;
    for (uint32_t i = 0; i < g->own->charges_n && g->queue; i++) {
        const struct charge *c = &g->own->charges[i];
        int64_t amount = h->members ? surplus_amount(s, h->gone_members[at], c->resource) : c->amount;
        quota_add(&s->quota, g->queue->quota, c->flavor, c->resource, sign * amount);
    }
}

static bool quota_holds(const struct hunt *h)
{
    const struct preemptor *x = h->x;
    const struct quota *t = &x->c->s->quota;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        const struct charge *need = &x->needs[i];
        const struct quota_cell *cell = quota_find(t, x->queue->quota, need->flavor, need->resource);
        int64_t after;
        if (need->amount > quota_available(t, x->queue->quota, need->flavor, need->resource))
            return false;
        if (!h->borrows && (!cell || __builtin_add_overflow(cell->usage, need->amount, &after) || after > cell->subtree))
            return false;
    }
    return true;
}

static uint32_t level_of(const struct preemptor *x, const struct charge *need)
{
    return quota_borrow_level(&x->c->s->quota, x->queue->quota, need->flavor, need->resource, need->amount);
}

static uint32_t level_now(const struct preemptor *x)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < x->needs_n; i++) {
        uint32_t level = level_of(x, &x->needs[i]);
        most = level > most ? level : most;
    }
    return most;
}

/* ---- nodes ---- */

static void lift(struct state *s, uint32_t seat)
{
    if (seat && !s->seats[seat].lifted && !s->nodes.nodes[s->seats[seat].node].has_devices_twice)
        undo_lift(s, seat);
}

static void lift_gone(const struct hunt *h, uint32_t at)
{
    struct state *s = h->x->c->s;
    const struct gang *g = h->gone[at].gang;
    if (h->members) {
        lift(s, s->pods[h->gone_members[at]].seat);
        return;
    }
    for (uint32_t i = 0; i < g->members_n; i++)
        if (gang_gives_place(g, &s->pods[g->members[i]]))
            lift(s, s->pods[g->members[i]].seat);
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        lift(s, g->own->seats[i]);
}

static int compare_nodes(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static void note_nodes(struct hunt *h, const struct want *wants)
{
    for (uint32_t i = 0; i < h->wants_n; i++)
        h->places[i] = h->chosen[i] = h->x->c->s->seats[wants[i].seat].node;
    qsort(h->chosen, h->wants_n, sizeof *h->chosen, compare_nodes);
}

/* No more than the first n. WHY  they stay lifted from one trial to the next: most trials differ by few. */
static void lift_first(struct hunt *h, uint32_t n)
{
    struct state *s = h->x->c->s;
    if (h->lifted_n > n) {
        undo_back(s, h->marks[n]);
        h->lifted_n = n;
    }
    if (h->lifted_n < n)
        h->marks = arena_grow(h->x->c->a, h->marks, h->lifted_n, n - h->lifted_n, &h->marks_cap, sizeof *h->marks);
    for (; h->lifted_n < n; h->lifted_n++) {
        h->marks[h->lifted_n] = undo_mark(s);
        lift_gone(h, h->lifted_n);
    }
}

/* False: no more trials. */
static bool may_try(struct hunt *h)
{
    h->short_of_trials |= !h->x->c->preempt_trials_left;
    h->x->c->preempt_trials_left -= !h->short_of_trials;
    return !h->short_of_trials;
}

/* Do all members find places as it stands? */
static bool all_fit(struct hunt *h)
{
    struct cycle *c = h->x->c;
    uint32_t mark = undo_mark(c->s), steps = PLACE_STEPS;
    struct misfit unused;
    struct want *wants = arena_alloc(c->a, h->wants_n * sizeof *wants);
    memcpy(wants, h->wants, h->wants_n * sizeof *wants);
    bool hold = place_all(c->s, h->x->gang, wants, h->wants_n, &steps, &unused);
    if (hold)
        note_nodes(h, wants);
    undo_back(c->s, mark);
    return hold;
}

/* With the first n gone? */
static bool nodes_hold(struct hunt *h, uint32_t n)
{
    if (!h->wants_n)
        return true;
    if (!may_try(h))
        return false;
    lift_first(h, n);
    return all_fit(h);
}

/* With the first i, and all from `needed` on? */
static bool nodes_hold_without(struct hunt *h, uint32_t i, uint32_t needed)
{
    if (!may_try(h))
        return false;
    lift_first(h, i);
    uint32_t mark = undo_mark(h->x->c->s);
    for (uint32_t k = needed; k < h->n; k++)
        lift_gone(h, k);
    bool hold = all_fit(h);
    undo_back(h->x->c->s, mark);
    return hold;
}

static bool is_chosen(const struct hunt *h, uint32_t node)
{
    return bsearch(&node, h->chosen, h->wants_n, sizeof node, compare_nodes) != NULL;
}

/* Does it stand where the gang would? */
static bool is_in_the_way(const struct hunt *h, uint32_t at)
{
    const struct state *s = h->x->c->s;
    const struct gang *g = h->gone[at].gang;
    if (h->looks_at_others)
        return true;
    if (h->members)
        return is_chosen(h, s->seats[s->pods[h->gone_members[at]].seat].node);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (gang_gives_place(g, p) && is_chosen(h, s->seats[p->seat].node))
            return true;
    }
    for (uint32_t i = 0; i < g->own->seats_n; i++)
        if (is_chosen(h, s->seats[g->own->seats[i]].node))
            return true;
    return false;
}

/* ---- removing ---- */

static void take(struct hunt *h, const struct candidate *one, uint32_t member)
{
    h->gone = arena_grow(h->x->c->a, h->gone, h->n, 1, &h->cap, sizeof *h->gone);
    h->gone[h->n] = *one;
    if (h->members) {
        h->gone_members = arena_grow(h->x->c->a, h->gone_members, h->n, 1, &h->members_cap, sizeof *h->gone_members);
        h->gone_members[h->n] = member;
    }
    charge(h, h->n++, -1);
}

/* It was told to go for this preemptor: it goes, whatever the policies say by now. */
static bool member_leaves(const struct preemptor *x, const struct candidate *one, uint32_t pod)
{
    return one->gang->shrinks && one->gang->preemptor == x->gang && x->c->s->pods[pod].surplus && !candidates_ask_for_more(x);
}

static bool member_may_go(const struct hunt *h, const struct candidate *one, uint32_t pod)
{
    if (member_leaves(h->x, one, pod))
        return true;
    bool counts = one->gang->queue || queue_is_none(h->x->queue);
    return !h->only_leaving && counts && candidate_is_valid(h->x, one, h->borrows) && surplus_helps(h->x, one, pod);
}

/* Is there, with those who went before, still a reason to take the candidate? */
static bool may_go(const struct hunt *h, const struct candidate *one, uint32_t at)
{
    if (h->members)
        return member_may_go(h, one, h->members[at]);
    return h->only_leaving ? candidate_leaves(h->x, one) : candidate_is_valid(h->x, one, h->borrows);
}

/* The next that is still to be taken goes. False: there is none. */
static bool remove_next(struct hunt *h, uint32_t *at)
{
    if (h->fair) {
        struct candidate one;
        bool any = fair_next(h->fair, &one);
        if (any)
            take(h, &one, 0);
        return any;
    }
    for (; *at < h->from->n; ++*at) {
        const struct candidate *one = candidates_at(h->from, *at);
        if (!may_go(h, one, *at))
            continue;
        take(h, one, h->members ? h->members[*at] : 0);
        ++*at;
        return true;
    }
    return false;
}

/* Of the first `enough` that hold it, the fewest; `too_few` do not. */
static uint32_t fewest_for_nodes(struct hunt *h, uint32_t too_few, uint32_t enough)
{
    while (enough - too_few > 1) {
        uint32_t n = too_few + (enough - too_few) / 2;
        if (nodes_hold(h, n))
            enough = n;
        else
            too_few = n;
    }
    return enough;
}

/* False: not even with all of them gone. */
static bool remove_enough(struct hunt *h)
{
    uint32_t at = 0, tried_n = 0, next_n = 0;
    bool more = h->fair || h->from->n > 0;
    while (more) {
        more = remove_next(h, &at);
        if (!h->quota_was_enough) {
            h->quota_was_enough = more && quota_holds(h);
            tried_n = h->quota_was_enough ? h->n - 1 : 0;
            next_n = h->n;
        }
        if (!h->quota_was_enough || (more && h->n < next_n) || h->n == tried_n)
            continue;
        if (nodes_hold(h, h->n)) {
            uint32_t n = fewest_for_nodes(h, tried_n, h->n);
            bool hold = nodes_hold(h, n); /* so that what was chosen is known */
            while (h->n > n)
                charge(h, --h->n, 1);
            return hold;
        }
        if (h->short_of_trials)
            return false;
        tried_n = h->n;
        next_n = 2 * h->n;
    }
    return false;
}

static void swap_gone(struct hunt *h, uint32_t a, uint32_t b)
{
    const struct candidate one = h->gone[a];
    h->gone[a] = h->gone[b];
    h->gone[b] = one;
    if (!h->members)
        return;
    const uint32_t member = h->gone_members[a];
    h->gone_members[a] = h->gone_members[b];
    h->gone_members[b] = member;
}

/* SOURCE Kueue, fill back: from the last but one to the first. */
static void put_back(struct hunt *h)
{
    uint32_t needed = h->n - 1; /* those from here on are */
    for (uint32_t i = needed; i-- > 0;) {
        charge(h, i, 1);
        if (quota_holds(h) && !(h->wants_n && is_in_the_way(h, i) && !nodes_hold_without(h, i, needed)))
            continue;
        charge(h, i, -1);
        swap_gone(h, i, --needed);
    }
    h->first = needed;
}

/* It would borrow what its victims take back at once.
 * WHY only by shares also by who waits in their queues: else he may take it back, but it does not go before him again, as their queue
 * borrows nothing then. */
static bool is_in_vain(const struct hunt *h)
{
    const struct preemptor *x = h->x;
    const struct gang **gone = arena_alloc(x->c->a, (h->n + 1) * sizeof *gone);
    enum candidate_class asked = h->fair ? CLASS_FAIR : CLASS_PRIORITY;
    bool vain = false;
    if (h->members || (!h->fair && (!h->borrows || !level_now(x))))
        return false; /* who gives members does not wait, and takes nothing back */
    for (uint32_t i = h->first; i < h->n; i++)
        gone[i - h->first] = h->gone[i].gang;
    for (uint32_t i = h->first; i < h->n && !vain; i++) {
        const struct queue *q = h->gone[i].gang->queue;
        vain = h->gone[i].class == asked && !candidate_leaves(x, &h->gone[i]) &&
               (back_taken_by_gone(x, q, gone, h->n - h->first) ||
                (h->fair && (back_taken_by_waiting(x, q) || !fair_still_allows(h->fair, h->gone[i].gang, h->gone, h->first))));
    }
    return vain;
}

static void say_who(const struct hunt *h, struct victims *ret_victims)
{
    uint32_t gangs_n = 0, n = h->n - h->first;
    struct candidate *all = arena_alloc(h->x->c->a, (n + 1) * sizeof *all);
    for (uint32_t i = h->first; i < h->n; i++) {
        uint32_t k = h->members ? 0 : gangs_n;
        while (k < gangs_n && all[k].gang != h->gone[i].gang)
            k++;
        all[k] = h->gone[i];
        gangs_n += k == gangs_n;
    }
    ret_victims->n = gangs_n;
    ret_victims->all = all;
    ret_victims->members = h->members ? &h->gone_members[h->first] : NULL;
    ret_victims->members_n = h->members ? n : 0;
}

static bool goes(const struct hunt *h, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = h->first; i < h->n && !any; i++)
        any = h->gone[i].gang == g;
    return any;
}

/* How far it borrows once they have gone. WHY  of one flavor and resource also without those who leave for another one of its needs: else
 * the flavor would not be as good as it was found before anybody was told, and another one, which fits, better when it looks again. */
static uint32_t level_then(const struct hunt *h)
{
    struct state *s = h->x->c->s;
    const struct promise *p = h->x->alone ? h->x->gang->promise : NULL;
    if (!p || p->queue != h->x->queue || p->members_n)
        return level_now(h->x);
    uint32_t mark = undo_mark(s);
    struct victims rest = {.all = arena_alloc(h->x->c->a, (p->victims_n + 1) * sizeof *rest.all)};
    for (uint32_t i = 0; i < p->victims_n; i++)
        if (!goes(h, p->victims[i]))
            rest.all[rest.n++] = (struct candidate){.gang = p->victims[i]};
    victims_leave(s, &rest);
    uint32_t level = level_now(h->x);
    undo_back(s, mark);
    return level;
}

static bool hunt(struct hunt *h, struct victims *ret_victims)
{
    struct state *s = h->x->c->s;
    uint32_t mark = undo_mark(s);
    h->first = h->n = h->lifted_n = 0;
    h->quota_was_enough = false;
    bool found = remove_enough(h);
    if (found) {
        put_back(h);
        h->taken_back = is_in_vain(h);
        found = !h->taken_back;
        say_who(h, ret_victims);
        ret_victims->borrows = h->borrows;
        ret_victims->borrow_level = level_then(h);
        ret_victims->places = h->places;
    }
    while (h->n > h->first)
        charge(h, --h->n, 1);
    undo_back(s, mark);
    return found;
}

/* ---- with and without borrowing ---- */

static bool is_under_nominal(const struct preemptor *x)
{
    for (uint32_t i = 0; i < x->needs_n; i++) {
        const struct quota_cell *cell = quota_find(&x->c->s->quota, x->queue->quota, x->needs[i].flavor, x->needs[i].resource);
        if (x->is_short[i] && (!cell || cell->usage >= cell->nominal))
            return false;
    }
    return true;
}

struct way {
    bool borrows, only_leaving, careful;
};

/* SOURCE Kueue: which of the first two is tried, and first. By shares: borrowing, which they are about; careful only where the set that was
 * found would be taken back.
 * WHY a third: others go so that it does not borrow. When somebody of its queue is promised, or takes, what is the queue's own, it would,
 * and then they are none who may go for it (candidates.c), though they do, and leave enough. Without its promise it would start with fewer
 * members meanwhile, and they had gone in vain. */
static uint32_t ways(const struct preemptor *x, const struct candidates *from, struct way ret_ways[3])
{
    bool forbidden = x->queue->borrow == PREEMPT_NEVER;
    if (x->stays) {
        ret_ways[0] = (struct way){.borrows = x->gang->promise->borrow_level || shares_fairly(x->c->s, x->queue), .only_leaving = true};
        return 1;
    }
    if (shares_fairly(x->c->s, x->queue)) {
        ret_ways[0] = (struct way){.borrows = true};
        ret_ways[1] = (struct way){.borrows = true, .careful = true};
        return 2;
    }
    if (!from->others || (forbidden && !is_under_nominal(x))) {
        ret_ways[0] = (struct way){.borrows = true};
        return 1;
    }
    ret_ways[0] = (struct way){.borrows = !(forbidden && !from->hierarchy)};
    ret_ways[1] = (struct way){.borrows = !ret_ways[0].borrows};
    ret_ways[2] = (struct way){.borrows = true, .only_leaving = true};
    return x->gang->promise && x->gang->promise->victims_n ? 3 : 2;
}

/* Who goes; where nobody else may, that is known. */
static bool goes_by_shares(const struct preemptor *x)
{
    return !x->stays && shares_fairly(x->c->s, x->queue);
}

static bool hunt_in_all_ways(struct hunt *h, struct victims *ret_victims)
{
    struct way all[3];
    bool fairly = goes_by_shares(h->x), quota_was_enough = false, found = false;
    for (uint32_t i = 0, n = ways(h->x, h->from, all); i < n && !found; i++) {
        if (all[i].careful && !h->taken_back)
            continue;
        h->borrows = all[i].borrows;
        h->only_leaving = all[i].only_leaving;
        fair_end(h->fair);
        h->fair = fairly ? fair_begin(h->x, all[i].careful) : NULL;
        found = hunt(h, ret_victims);
        quota_was_enough |= h->quota_was_enough;
    }
    h->quota_was_enough = quota_was_enough;
    return found;
}

static struct hunt hunt_for(const struct preemptor *x, struct candidates *from, const struct want *wants, uint32_t wants_n)
{
    struct hunt h = {.x = x, .from = from, .wants = wants, .wants_n = wants_n};
    h.places = arena_alloc(x->c->a, (wants_n + 1) * sizeof *h.places);
    h.chosen = arena_alloc(x->c->a, (wants_n + 1) * sizeof *h.chosen);
    h.looks_at_others = x->c->s->anti_seats_n > 0;
    for (uint32_t i = 0; i < wants_n; i++)
        h.looks_at_others |= x->c->s->shapes.classes[wants[i].shape].neighbours;
    return h;
}

/* ---- members alone ---- */

struct member_list {
    struct candidates all;
    uint32_t *pods, cap, pods_cap;
};

static void add_members(const struct preemptor *x, struct member_list *to, const struct candidate *of)
{
    bool whole = of->gang->own->terms && of->gang->own->terms->goes_whole;
    uint32_t *pods, n = whole ? 0 : surplus_of(x->c->s, of->gang, x->c->a, &pods), at = to->all.n;
    if (!n)
        return;
    to->all.all = arena_grow(x->c->a, to->all.all, at, n, &to->cap, sizeof *to->all.all);
    to->pods = arena_grow(x->c->a, to->pods, at, n, &to->pods_cap, sizeof *to->pods);
    for (uint32_t i = 0; i < n; i++) {
        to->all.all[at + i] = *of;
        to->pods[at + i] = pods[i];
    }
    to->all.n += n;
}

static bool is_among(const struct candidates *all, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < all->n && !any; i++)
        any = all->all[i].gang == g;
    return any;
}

/* WHY  as whole groups that leave (candidates.c): the policies may not allow it any more, and they go all the same. */
static void add_leaving_members(const struct preemptor *x, const struct candidates *gangs, struct member_list *to)
{
    const struct promise *p = x->gang->promise;
    for (uint32_t i = 0; p && i < p->victims_n; i++) {
        struct gang *g = p->victims[i];
        struct candidate one = {.gang = g, .class = candidate_is_own(x, g) ? CLASS_OWN : CLASS_PRIORITY, .while_borrowing = true};
        if (g->shrinks && !is_among(gangs, g))
            add_members(x, to, &one);
    }
}

/* Group by group as these would go; they stand in order. */
static void list_members(const struct preemptor *x, struct member_list *to)
{
    struct candidates gangs;
    candidates_find(x, &gangs);
    to->all = (struct candidates){.others = gangs.others, .hierarchy = gangs.hierarchy};
    add_leaving_members(x, &gangs, to);
    for (uint32_t i = 0; i < gangs.n; i++)
        add_members(x, to, candidates_at(&gangs, i));
    to->all.sorted_n = to->all.n;
}

/* Those that groups can do without, and that are enough. */
static bool find_members(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *ret_victims)
{
    struct preemptor of_members = *x;
    struct member_list from = {0};
    of_members.members = true;
    if (!x->stays && (x->queue->has_shares || queue_is_none(x->queue)))
        list_members(&of_members, &from);
    if (!from.all.n)
        return false;
    struct hunt h = hunt_for(&of_members, &from.all, wants, wants_n);
    h.members = from.pods;
    if (!hunt_in_all_ways(&h, ret_victims))
        return false;
    const struct gang **gangs = arena_alloc(x->c->a, (ret_victims->n + 1) * sizeof *gangs);
    for (uint32_t i = 0; i < ret_victims->n; i++)
        gangs[i] = ret_victims->all[i].gang;
    ret_victims->members_n = surplus_complete(x->c->s, gangs, ret_victims->n, x->c->a, &ret_victims->members, ret_victims->members_n);
    return true;
}

static bool find(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *ret_victims)
{
    struct candidates from = {0};
    bool fairly = goes_by_shares(x);
    *ret_victims = (struct victims){.lack = LACK_CANDIDATES};
    if (find_members(x, wants, wants_n, ret_victims))
        return true;
    if (x->stays)
        candidates_leaving(x, &from);
    else if (!fairly)
        candidates_find(x, &from);
    if (!fairly && !from.n)
        return false;
    struct hunt h = hunt_for(x, &from, wants, wants_n);
    bool found = hunt_in_all_ways(&h, ret_victims);
    bool any = found || !h.fair || fair_any(h.fair);
    fair_end(h.fair);
    if (found || !any)
        return found;
    ret_victims->lack = h.short_of_trials ? LACK_TRIALS : h.taken_back ? LACK_TAKEN_BACK : h.quota_was_enough ? LACK_ROOM : LACK_QUOTA;
    if (h.fair && fair_refused(h.fair)->why != FAIR_ALLOWS && !h.short_of_trials) {
        ret_victims->lack = fair_refused(h.fair)->why == FAIR_TAKEN_BACK ? LACK_TAKEN_BACK : LACK_SHARES;
        ret_victims->refused = *fair_refused(h.fair);
    }
    return false;
}

/* x as it stands once others have what they were promised: what is short of quota then. */
static struct preemptor preemptor_then(const struct preemptor *x)
{
    struct preemptor then = *x;
    if (x->for_nodes)
        return then;
    then.is_short = arena_alloc(x->c->a, x->needs_n + 1);
    for (uint32_t i = 0; i < x->needs_n; i++)
        then.is_short[i] = x->needs[i].amount > quota_available(&x->c->s->quota, x->queue->quota, x->needs[i].flavor, x->needs[i].resource);
    return then;
}

/* Quota comes by itself: nobody more has to go. Who has victims of its own looks whether it still needs them, not whether it needs any. */
static bool is_coming(const struct preemptor *x)
{
    const struct promise *own = x->gang->promise;
    for (uint32_t i = 0; i < x->needs_n; i++)
        if (x->is_short[i])
            return false;
    return !x->for_nodes && !(own && own->victims_n);
}

bool victims_find(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *ret_victims)
{
    uint32_t mark = undo_mark(x->c->s);
    if (queue_is_none(x->queue) || !promises_kept(x->c->s, x->gang, x->queue))
        return find(x, wants, wants_n, ret_victims);
    struct preemptor then = preemptor_then(x);
    bool found = false;
    if (is_coming(&then))
        *ret_victims = (struct victims){.lack = LACK_COMING, .borrow_level = level_now(&then)};
    else
        found = find(&then, wants, wants_n, ret_victims);
    undo_back(x->c->s, mark);
    return found;
}

/* ---- among equals ---- */

static struct harm harm(const struct preemptor *x, const struct victims *v)
{
    struct gang **gangs = arena_alloc(x->c->a, (v->n + 1) * sizeof(struct gang *));
    for (uint32_t i = 0; i < v->n; i++)
        gangs[i] = v->all[i].gang;
    return harm_of(x->c->s, x->c->a, gangs, v->n);
}

static bool goes_with(const struct victims *v, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < v->n && !any; i++)
        any = v->all[i].gang == g;
    return any;
}

/* Nobody is short of trials for it: it takes none of those that are left to the first searches of others. */
static bool find_spared(struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *ret_v)
{
    struct cycle *c = x->c;
    uint32_t of_first = c->preempt_trials_left;
    c->preempt_trials_left = c->spare_trials_left;
    bool found = victims_find(x, wants, wants_n, ret_v);
    c->spare_trials_left = c->preempt_trials_left;
    c->preempt_trials_left = of_first;
    return found;
}

static uint32_t *levels_without(const struct preemptor *x, const struct victims *v)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s), *levels = arena_alloc(x->c->a, (x->needs_n + 1) * sizeof *levels);
    victims_leave(s, v);
    for (uint32_t i = 0; i < x->needs_n; i++)
        levels[i] = level_of(x, &x->needs[i]);
    undo_back(s, mark);
    return levels;
}

/* Of anything that it needs. */
static bool borrows_farther(const struct preemptor *x, const struct victims *with, const struct victims *than_with)
{
    const uint32_t *levels = levels_without(x, with), *before = levels_without(x, than_with);
    bool farther = false;
    for (uint32_t i = 0; i < x->needs_n; i++)
        farther |= levels[i] > before[i];
    return farther;
}

/* WHY  a second search, and only where the first found somebody: whether anybody goes, and in which flavors, is Kueue's decision alone. So
 * it borrows from no farther away with those either, whatever it needs: another flavor may be better then, where it starts when it looks
 * again. */
void victims_spare(const struct preemptor *x, const struct want *wants, uint32_t wants_n, struct victims *v)
{
    struct preemptor sparing = *x;
    struct victims other;
    const struct harm by_order = harm(x, v);
    sparing.spares = true;
    if (v->members || !harm_may_be_less(x->c->s, &by_order) || !find_spared(&sparing, wants, wants_n, &other))
        return;
    if (borrows_farther(x, &other, v))
        return;
    const struct harm less = harm(x, &other);
    other.spares = harm_spares(&less, &by_order);
    if (other.spares == SPARES_NOBODY)
        return;
    for (uint32_t i = v->n; i-- > 0;)
        if (!goes_with(&other, v->all[i].gang))
            other.spared = v->all[i].gang;
    *v = other;
}
