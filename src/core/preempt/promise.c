#include "core/preempt/promise.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/place/fit.h"
#include "core/place/undo.h"
#include "core/preempt/kept_gpus.h"
#include "core/preempt/surplus.h"
#include "core/queue/order.h"
#include "core/quota/ledger.h"

#define MOVES_MOST 4
#define SENT_AWAY_MOST 3 /* times in a row, each within a second of the one before */
#define REST_S 10

bool gang_leaves_places(const struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n && g->phase == GANG_WAITING; i++)
        if (s->pods[g->members[i]].seat && s->pods[g->members[i]].former)
            return true;
    return false;
}

bool promise_is_others(const struct gang *victim, const struct gang *g)
{
    const struct gang *other = victim->preemptor;
    return other && other != g && other->promise && other->promise->stands;
}

/* ---- those who begin again elsewhere ---- */

void moved_keep(struct state *s, struct promise *p, const struct gang *mover, const uint32_t *seats, const uint32_t *to, uint32_t n)
{
    MEM_RESERVE(p->movers, p->movers_cap, p->movers_n + 1);
    p->movers[p->movers_n++] = mover->key;
    for (uint32_t i = 0; i < n; i++) {
        const struct seat *from = &s->seats[seats[i]];
        shape_class_ref(&s->shapes, from->shape);
        label_set_ref(&s->shapes, from->labels);
        MEM_RESERVE(p->mover_places, p->mover_places_cap, p->mover_places_n + 1);
        p->mover_places[p->mover_places_n++] =
            (struct moved_place){mover->key, s->nodes.nodes[to[i]].name, to[i], from->shape, from->labels, from->pod_set};
    }
    for (uint32_t i = 0; i < mover->own->charges_n && mover->queue; i++) {
        MEM_RESERVE(p->mover_charges, p->mover_charges_cap, p->mover_charges_n + 1);
        p->mover_charges[p->mover_charges_n++] = (struct moved_charge){mover->key, mover->queue->name, mover->own->charges[i]};
    }
}

static void moved_release(struct state *s, struct promise *p)
{
    for (uint32_t i = 0; i < p->mover_places_n; i++) {
        shape_release(s, p->mover_places[i].shape);
        label_set_unref(&s->shapes, p->mover_places[i].labels);
    }
    p->mover_places_n = 0;
}

static void moved_free(struct promise *p)
{
    free(p->movers);
    free(p->mover_places);
    free(p->mover_charges);
}

/* In line, or about to be. */
static bool is_in_line(const struct gang *g)
{
    return g->phase == GANG_WAITING && (g->line || g->look_at);
}

bool moved_awaits(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && (g->phase == GANG_LEAVING || is_in_line(g));
}

bool moved_is_kept(const struct state *s, const struct gang *g)
{
    bool kept = false;
    for (uint32_t i = 0; i < s->promised_n; i++)
        for (uint32_t k = 0; k < s->promised[i]->promise->movers_n; k++)
            kept |= s->promised[i]->promise->movers[k] == g->key;
    return kept;
}

/* Where another one still stands who leaves as well: what there is of it. */
static void withhold_place(struct state *s, const struct moved_place *m)
{
    const struct shape_class *c = &s->shapes.classes[m->shape];
    for (uint32_t i = 0; i < c->demands_n; i++)
        undo_withhold(s, m->node, c->demands[i].resource, c->demands[i].value);
}

static void moved_put_places(struct state *s, const struct promise *p, const struct gang *against)
{
    for (uint32_t i = 0; i < p->mover_places_n; i++) {
        const struct moved_place *m = &p->mover_places[i];
        struct gang *g = gang_find(s, m->gang);
        if (g == against || !moved_awaits(s, m->gang) || !node_table_has(&s->nodes, m->node, m->node_name))
            continue;
        if (fit_room(s, &s->shapes.classes[m->shape], m->node))
            undo_seat(s, seat_take(s, m->node, m->shape, m->labels, g, m->pod_set, true));
        else
            withhold_place(s, m);
    }
}

/* WHY  while it leaves it is charged as before. */
static void moved_put_charges(struct state *s, const struct promise *p, const struct gang *against)
{
    for (uint32_t i = 0; i < p->mover_charges_n; i++) {
        const struct moved_charge *m = &p->mover_charges[i];
        const struct gang *g = gang_find(s, m->gang);
        const struct queue *q = queue_find(s, m->queue);
        if (g && q && g != against && is_in_line(g))
            undo_charge(s, q->quota, m->charge.flavor, m->charge.resource, m->charge.amount);
    }
}

/* ---- making and dropping ---- */

static void count_on_node(struct state *s, const struct promise *p, uint32_t by)
{
    if (p->by_priority && node_table_has(&s->nodes, p->rooms->node, p->rooms->node_name))
        s->nodes.nodes[p->rooms->node].promised_n += by;
}

static void list_add(struct state *s, struct gang *g)
{
    MEM_RESERVE(s->promised, s->promised_cap, s->promised_n + 1);
    g->promise->at = s->promised_n;
    s->promised[s->promised_n++] = g;
    g->promise->queue->promised_n++;
    s->promised_anti_n += g->promise->anti;
    count_on_node(s, g->promise, 1);
}

static void list_remove(struct state *s, struct gang *g)
{
    struct gang *last = s->promised[--s->promised_n];
    s->promised[g->promise->at] = last;
    last->promise->at = g->promise->at;
    g->promise->queue->promised_n--;
    s->promised_anti_n -= g->promise->anti;
    count_on_node(s, g->promise, UINT32_MAX); /* modulo 2^32 */
}

/* Whoever may look again is ready. WHY only without a queue: who waits in a queue that preempts is woken by any gain. */
static void look_again(struct state *s, const struct promise *p, const struct gang *g)
{
    if (queue_is_none(p->queue) && g->line && g->line->park.at)
        order_line_ready(s, g->line, false);
}

/* It moved so often that what it kept before is not written down any more. */
static void gain_anywhere(struct state *s, const struct promise *p)
{
    if (p->moved_n < MOVES_MOST)
        return;
    if (!queue_is_none(p->queue))
        quota_gain(&s->quota, p->queue->quota);
    for (uint32_t slot = 1; slot < s->nodes.n; slot++)
        if (s->nodes.flags[slot] & NODE_KNOWN)
            node_table_gain(&s->nodes, slot);
}

static void let_go(struct gang *victim)
{
    victim->preemptor = NULL;
    victim->shrinks = false;
}

void promise_forget_victim(struct state *s, struct gang *g)
{
    struct gang *preemptor = g->preemptor;
    struct promise *p = preemptor ? preemptor->promise : NULL;
    uint32_t i = 0;
    let_go(g);
    if (preemptor && gang_has_no_queue(g))
        ledger_may_go_again(s, g);
    while (p && i < p->victims_n && p->victims[i] != g)
        i++;
    if (!p || i == p->victims_n)
        return;
    memmove(&p->victims[i], &p->victims[i + 1], (--p->victims_n - i) * sizeof *p->victims);
    gain_anywhere(s, p);
    p->moved_n = preemptor->unkept_n = 0;
    if (!p->victims_n) /* all have left: it starts, or others were faster, who are no victims of its */
        look_again(s, p, preemptor);
}

void promise_follow_members(struct state *s, struct gang *g)
{
    bool any = !g->shrinks;
    for (uint32_t i = 0; i < g->members_n && !any; i++)
        any = s->pods[g->members[i]].seat && s->pods[g->members[i]].surplus;
    if (!any)
        promise_forget_victim(s, g);
}

void promise_member_answered(struct state *s, struct gang *g, name_id pod, bool refused)
{
    uint32_t at = id_map_get(&s->pod_by_key, pod);
    struct gang *preemptor = g->shrinks ? g->preemptor : NULL;
    if (!refused || !at || s->pods[at].gang != g || s->pods[at].deleting)
        return;
    s->pods[at].surplus = false;
    promise_follow_members(s, g);
    if (preemptor && preemptor->line && preemptor->line->park.at)
        order_line_ready(s, preemptor->line, false);
}

/* Whom it kept out may fit now. */
static void gain(struct state *s, const struct promise *p)
{
    if (!queue_is_none(p->queue))
        quota_gain(&s->quota, p->queue->quota);
    for (uint32_t i = 0; i < p->rooms_n; i++)
        if (node_table_has(&s->nodes, p->rooms[i].node, p->rooms[i].node_name))
            node_table_gain(&s->nodes, p->rooms[i].node);
}

void promise_free(struct promise *p)
{
    if (!p)
        return;
    free(p->victims);
    free(p->charges);
    free(p->kept);
    free(p->choices);
    free(p->granted);
    free(p->rooms);
    free(p->shares);
    moved_free(p);
    free(p);
}

static void release(struct state *s, struct promise *p)
{
    for (uint32_t i = 0; i < p->shares_n; i++)
        shape_release(s, p->shares[i].shape);
    moved_release(s, p);
    promise_free(p);
}

void promise_end(struct state *s, struct gang *g)
{
    struct promise *p = g->promise;
    list_remove(s, g);
    g->promise = NULL;
    for (uint32_t i = 0; i < p->victims_n; i++) {
        let_go(p->victims[i]);
        if (gang_has_no_queue(p->victims[i]))
            ledger_may_go_again(s, p->victims[i]);
    }
    gain(s, p);
    gain_anywhere(s, p);
    look_again(s, p, g); /* and is told that it waits for nobody now */
    release(s, p);
}

void promise_was_vain(const struct state *s, struct gang *g)
{
    gang_own(g)->preempts_after_ms = s->now_ms + ((int64_t)VAIN_FIRST_MS << g->vain_n);
    g->vain_n += g->vain_n < VAIN_DOUBLINGS;
}

/* WHY  what it kept from others may be what one of them counts on, so that each finds its victims only without the promise of the other, or
 * only beside it: the two would be made and ended in turns, without a write, until somebody has left. */
void promise_unkept(const struct state *s, struct gang *g)
{
    if (++g->unkept_n <= MOVES_MOST)
        return;
    g->unkept_n = 0;
    promise_was_vain(s, g);
}

static void *copy(const void *from, uint32_t n, size_t size)
{
    void *to = mem_alloc((n + 1) * size);
    if (n)
        memcpy(to, from, n * size);
    return to;
}

static int compare_rooms(const void *left, const void *right)
{
    const struct promised_room *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static void find_rooms(const struct state *s, struct promise *p, const struct want *wants, const uint32_t *places, uint32_t n)
{
    uint32_t cap = 0, sums_n = 0;
    for (uint32_t i = 0; i < n; i++)
        cap += s->shapes.classes[wants[i].shape].demands_n;
    p->rooms = mem_alloc((cap + 1) * sizeof *p->rooms);
    for (uint32_t i = 0; i < n; i++) {
        const struct shape_class *c = &s->shapes.classes[wants[i].shape];
        for (uint32_t k = 0; k < c->demands_n; k++)
            p->rooms[p->rooms_n++] = (struct promised_room){.node = places[i], .node_name = s->nodes.nodes[places[i]].name,
                                                             .resource = c->demands[k].resource, .amount = c->demands[k].value};
    }
    if (p->rooms_n > 1)
        qsort(p->rooms, p->rooms_n, sizeof *p->rooms, compare_rooms);
    for (uint32_t i = 0; i < p->rooms_n; i++) {
        if (sums_n && !compare_rooms(&p->rooms[sums_n - 1], &p->rooms[i]))
            p->rooms[sums_n - 1].amount += p->rooms[i].amount;
        else
            p->rooms[sums_n++] = p->rooms[i];
    }
    p->rooms_n = sums_n;
}

/* LIMIT  wants of one set, on one node, come one after the other as they are placed; else they are two entries of the same. */
static void find_shares(struct state *s, struct promise *p, const struct want *wants, const uint32_t *places, uint32_t n)
{
    uint32_t cap = 0;
    for (uint32_t i = 0; i < n; i++)
        cap += s->shapes.classes[wants[i].shape].share.n > 0;
    p->shares = cap ? mem_alloc(cap * sizeof *p->shares) : NULL;
    for (uint32_t i = 0; i < n && cap; i++) {
        struct promised_share *last = p->shares_n ? &p->shares[p->shares_n - 1] : NULL;
        if (!s->shapes.classes[wants[i].shape].share.n)
            continue;
        if (last && last->node == places[i] && last->shape == wants[i].shape) {
            last->n++;
            continue;
        }
        shape_class_ref(&s->shapes, wants[i].shape);
        p->shares[p->shares_n++] = (struct promised_share){places[i], wants[i].shape, 1};
    }
}

static bool same_content(const struct promise *a, const struct promise *b)
{
    if (a->queue != b->queue || a->charges_n != b->charges_n || a->rooms_n != b->rooms_n)
        return false;
    for (uint32_t i = 0; i < a->charges_n; i++)
        if (a->charges[i].flavor != b->charges[i].flavor || a->charges[i].resource != b->charges[i].resource ||
            a->charges[i].amount != b->charges[i].amount)
            return false;
    for (uint32_t i = 0; i < a->rooms_n; i++)
        if (compare_rooms(&a->rooms[i], &b->rooms[i]) || a->rooms[i].amount != b->rooms[i].amount)
            return false;
    return true;
}

/* WHY  the more leave for it the less is kept from others: what one more victim leaves may let somebody in who was refused before. */
static bool same_victims(const struct promise *old, const struct victims *v)
{
    bool same = old->victims_n == v->n && old->members_n == v->members_n;
    for (uint32_t i = 0; i < v->n && same; i++) {
        const struct gang *other = v->all[i].gang->preemptor;
        same = other && other->promise == old;
    }
    return same;
}

/* Who waited for this one before looks again: what it counted on is not coming. */
static void take_victim(struct state *s, struct gang *g, struct gang *victim, enum preemption as, bool shrinks)
{
    struct gang *before = victim->preemptor;
    if (before && before != g) {
        promise_forget_victim(s, victim);
        promise_drop(s, before);
    }
    victim->preemptor = g;
    victim->shrinks = shrinks;
    if (gang_holds(victim) && victim->phase != GANG_LEAVING) /* else it stays as it was told */
        victim->preempted_as = as;
}

/* Its writes were refused, and it is held until its time has come: then it asks for another look (queue/settle.c). */
static bool backs_off(const struct gang *g)
{
    return gang_holds(g) && g->phase != GANG_LEAVING && g->park && g->park->at && (g->park->on & PARK_TIME);
}

/* A lone pod that somebody has deleted. */
static bool goes_anyway(const struct state *s, const struct gang *g)
{
    return gang_is_lone(g) && s->pods[g->members[0]].deleting;
}

static int32_t *counts_of_fewer(const struct gang *g)
{
    int32_t *counts = mem_alloc((g->sets_n + 1) * sizeof *counts);
    bool fewer = false;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        counts[i] = g->sets[i].count;
        fewer |= g->sets[i].count < g->sets[i].asked_n;
    }
    if (!fewer)
        free(counts);
    return fewer ? counts : NULL;
}

/* WHY  whoever fits beside what others are promised, as it looks to him, may be in the way of what one of them finds next: he would be let
 * in and sent away for ever, without a moment going by where none of his pods exists yet. So he rests. */
static void note_sent_away(const struct cycle *c, struct gang *victim)
{
    struct gang_object *o = gang_own(victim);
    uint32_t now_s = (uint32_t)(c->now_ms / 1000);
    bool again = now_s - o->sent_away_s <= 1; /* whatever pods it has still from before */
    o->sent_away_n = again ? o->sent_away_n + 1 : 0;
    o->sent_away_s = now_s;
    if (o->sent_away_n < SENT_AWAY_MOST)
        return;
    o->sent_away_n = 0;
    o->sent_away_s += REST_S;
}

/* WHY  not while one of them is held: whoever went meanwhile would have gone in vain, should that one stay after all. */
static void tell_victims(struct cycle *c, const struct promise *p)
{
    bool wait = false;
    for (uint32_t i = 0; i < p->victims_n; i++)
        wait |= backs_off(p->victims[i]);
    for (uint32_t i = 0; i < p->victims_n && !wait; i++) {
        struct gang *victim = p->victims[i];
        if (!gang_holds(victim) || victim->phase == GANG_LEAVING || goes_anyway(c->s, victim))
            continue;
        note_sent_away(c, victim);
        cycle_evict(c, victim, promise_why(c->s, victim, c->a));
    }
}

/* One that is being deleted goes without being told. */
static void tell_members(struct cycle *c, const struct victims *v)
{
    for (uint32_t i = 0; i < v->members_n; i++) {
        struct pod *p = &c->s->pods[v->members[i]];
        if (!p->surplus && !p->deleting)
            cycle_evict_member(c, p->gang, v->members[i], promise_why(c->s, p->gang, c->a));
        p->surplus = true;
    }
}

/* Who was spared once stays so, while those go who were told to in his place. */
static void note_spared(const struct state *s, struct promise *p, const struct victims *v, const struct promise *old)
{
    const struct gang *spared = v->spared ? v->spared : old && old->spares ? gang_find(s, old->spared) : NULL;
    if (!spared || !gang_holds(spared))
        return;
    p->spares = v->spared ? v->spares : old->spares;
    p->spared = spared->key;
    p->spared_ns = spared->ns;
}

/* Whom the old one kept out looks again. LIMIT  MOVES_MOST times before a victim has left. WHY  whoever has a promise of his own looks
 * again as well, and makes it another one beside this one: two would move in turns, or one between two flavors, for ever. Those whom it
 * keeps out no more are woken when a victim leaves. */
static void replaces(struct state *s, struct promise *p, const struct promise *old, const struct victims *v)
{
    p->moved_n = old->moved_n;
    if ((same_content(old, p) && same_victims(old, v)) || p->moved_n == MOVES_MOST)
        return;
    p->moved_n++;
    gain(s, old);
}

/* It goes for this one no more, or goes on to: then others may have it, and `tells` those who wait where it stands. */
static void spare(struct state *s, struct gang *victim, const struct victims *v, bool tells)
{
    bool goes_on = false;
    for (uint32_t i = 0; i < v->n && !goes_on; i++)
        goes_on = v->all[i].gang == victim;
    let_go(victim);
    if (tells && !goes_on && gang_has_no_queue(victim))
        ledger_may_go_again(s, victim);
}

void promise_make(const struct preemptor *x, const struct victims *v, const struct want *wants, uint32_t wants_n)
{
    struct state *s = x->c->s;
    struct gang *g = x->gang;
    struct promise *p = mem_zero(1, sizeof *p), *old = g->promise;
    p->since_ms = old ? old->since_ms : s->now_ms;
    p->queue = x->queue;
    p->borrow_level = v->borrow_level;
    p->by_priority = x->by_node;
    p->anti = p->by_priority && s->shapes.classes[wants->shape].anti;
    p->granted = g->planned ? counts_of_fewer(g) : NULL;
    note_spared(s, p, v, old);
    p->charges = copy(x->needs, x->needs_n, sizeof *p->charges);
    p->charges_n = x->needs_n;
    p->kept = mem_zero(x->needs_n + 1u, sizeof *p->kept);
    p->choices = copy(x->choices, x->choices_n, sizeof *p->choices);
    p->choices_n = x->choices_n;
    find_rooms(s, p, wants, v->places, wants_n);
    find_shares(s, p, wants, v->places, wants_n);
    if (old) {
        replaces(s, p, old, v);
        for (uint32_t i = 0; i < old->victims_n; i++)
            spare(s, old->victims[i], v, p->moved_n < MOVES_MOST);
        list_remove(s, g);
        release(s, old);
    } else if (!p->by_priority) { /* for others it is as if this one had been let in */
        if (s->takers_awaited_n && !queue_is_none(p->queue))
            quota_take(&s->quota, p->queue->quota);
        s->neighbours_changed |= p->rooms_n > 0;
    }
    g->promise = p;
    list_add(s, g);
    p->victims = mem_alloc((v->n + 1) * sizeof *p->victims);
    for (uint32_t i = 0; i < v->n; i++) {
        struct gang *victim = v->all[i].gang;
        take_victim(s, g, victim, victim_reason(&v->all[i]), v->members != NULL);
        p->victims[p->victims_n++] = victim;
    }
    p->members_n = v->members_n;
    if (v->members)
        tell_members(x->c, v);
    else
        tell_victims(x->c, p);
}

/* ---- on the undo log ---- */

/* Of what the victim is charged: all, or what those of its members have that were told to go. */
static int64_t amount_given(const struct state *s, const struct gang *v, const struct charge *c)
{
    int64_t sum = v->shrinks ? 0 : c->amount;
    for (uint32_t i = 0; i < v->members_n && v->shrinks; i++)
        sum += s->pods[v->members[i]].surplus ? surplus_amount(s, v->members[i], c->resource) : 0;
    return sum;
}

static void charge_victims(struct state *s, const struct promise *p, int sign)
{
    for (uint32_t i = 0; i < p->victims_n; i++) {
        const struct gang *v = p->victims[i];
        for (uint32_t k = 0; k < v->own->charges_n && v->queue; k++)
            undo_charge(s, v->queue->quota, v->own->charges[k].flavor, v->own->charges[k].resource,
                        sign * amount_given(s, v, &v->own->charges[k]));
    }
}

/* What of this the victims in the gang's own queue will give back. */
static int64_t given_back(const struct state *s, const struct promise *p, const struct charge *need)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->victims_n; i++) {
        const struct gang *v = p->victims[i];
        for (uint32_t k = 0; k < v->own->charges_n && v->queue == p->queue; k++)
            if (v->own->charges[k].flavor == need->flavor && v->own->charges[k].resource == need->resource)
                sum += amount_given(s, v, &v->own->charges[k]);
    }
    return sum;
}

/* What the gang needs of the quota beyond what its victims will give back to it. WHY  against others of its queue one that will not borrow
 * needs the queue's own quota, all of it now: victims in other queues give none of that back, and who took it meanwhile would be the next
 * victim. Against other queues it would count twice, with what the victims still have. */
static void put_charges(struct state *s, const struct promise *p, const struct queue *against)
{
    uint32_t mark = undo_mark(s), queue = p->queue->quota;
    int64_t *kept = p->kept;
    for (uint32_t i = 0; i < p->charges_n && p->movers_n; i++) { /* who is moved gives it nothing */
        kept[i] = p->charges[i].amount;
        undo_charge(s, queue, p->charges[i].flavor, p->charges[i].resource, kept[i]);
    }
    if (p->movers_n)
        return;
    charge_victims(s, p, -1);
    for (uint32_t i = 0; i < p->charges_n; i++)
        kept[i] = p->charges[i].amount - quota_available(&s->quota, queue, p->charges[i].flavor, p->charges[i].resource);
    undo_back(s, mark);
    for (uint32_t i = 0; i < p->charges_n; i++) {
        const struct charge *c = &p->charges[i];
        kept[i] += quota_available(&s->quota, queue, c->flavor, c->resource);
        int64_t own = p->borrow_level || against != p->queue ? 0 : c->amount - given_back(s, p, c);
        kept[i] = kept[i] > own ? kept[i] : own;
        kept[i] = kept[i] < c->amount ? kept[i] : c->amount;
        kept[i] = kept[i] > 0 ? kept[i] : 0;
        undo_charge(s, queue, c->flavor, c->resource, kept[i]);
    }
}

bool promises_kept(struct state *s, const struct gang *g, const struct queue *q)
{
    bool any = false;
    uint32_t root = s->quota.nodes[q->quota].root;
    for (uint32_t i = 0; i < s->promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        if (!p->stands || p->by_priority || s->promised[i] == g || s->quota.nodes[p->queue->quota].root != root)
            continue;
        any = true;
        if (p->movers_n)
            continue; /* all of it stands already */
        charge_victims(s, p, -1);
        for (uint32_t k = 0; k < p->charges_n; k++)
            undo_charge(s, p->queue->quota, p->charges[k].flavor, p->charges[k].resource, p->charges[k].amount - p->kept[k]);
    }
    return any;
}

void promises_follow(struct state *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->promised_n; i++) {
        struct promise *p = s->promised[i]->promise;
        bool moved = false;
        for (uint32_t k = 0; k < p->rooms_n && !p->by_priority; k++) {
            bool moves = p->rooms[k].node != node && p->rooms[k].node_name == s->nodes.nodes[node].name;
            for (uint32_t at = 0; at < p->shares_n && moves; at++)
                p->shares[at].node = p->shares[at].node == p->rooms[k].node ? node : p->shares[at].node;
            p->rooms[k].node = moves ? node : p->rooms[k].node;
            moved |= moves;
        }
        if (moved)
            qsort(p->rooms, p->rooms_n, sizeof *p->rooms, compare_rooms);
    }
}

/* Rooms are sorted by their nodes. */
static uint32_t first_room_on(const struct promise *p, uint32_t node)
{
    uint32_t low = 0, high = p->rooms_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->rooms[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void promise_each_left(struct state *s, const struct promise *p, const struct gang *but, left_seat_fn f, void *arg)
{
    for (uint32_t i = 0; i < p->victims_n; i++) {
        const struct gang *v = p->victims[i];
        if (v == but)
            continue;
        for (uint32_t k = 0; k < v->members_n; k++)
            if (victim_gives_place(v, &s->pods[v->members[k]]))
                f(s, p, s->pods[v->members[k]].seat, arg);
        for (uint32_t k = 0; k < v->own->seats_n && !v->shrinks; k++)
            f(s, p, v->own->seats[k], arg);
    }
}

static void note_taken(struct state *s, const struct promise *p, uint32_t seat, void *unused)
{
    (void)unused;
    const struct shape_class *c = &s->shapes.classes[s->seats[seat].shape];
    uint32_t node = s->seats[seat].node;
    for (uint32_t i = first_room_on(p, node); i < p->rooms_n && p->rooms[i].node == node; i++)
        for (uint32_t k = 0; k < c->demands_n; k++)
            if (c->demands[k].resource == p->rooms[i].resource)
                p->rooms[i].taken += c->demands[k].value;
}

/* WHY  by seat, not by room: a large gang is promised as many rooms as its victims have members. */
static void note_all_taken(struct state *s, const struct promise *p, const struct gang *but)
{
    for (uint32_t i = 0; i < p->rooms_n; i++)
        p->rooms[i].taken = 0;
    promise_each_left(s, p, but, note_taken, NULL);
}

static void lift(struct state *s, const struct promise *p, uint32_t seat, void *unused)
{
    (void)unused;
    if (s->seats[seat].node == p->rooms->node && !s->seats[seat].lifted)
        undo_lift(s, seat);
}

/* Of a lone pod. */
static bool is_short(struct state *s, const struct gang *g)
{
    uint32_t mark = undo_mark(s);
    promise_each_left(s, g->promise, NULL, lift, NULL);
    bool fits = fit_room(s, &s->shapes.classes[s->pods[g->members[0]].shape], g->promise->rooms->node);
    undo_back(s, mark);
    return !fits;
}

void promises_shrink(struct state *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->promised_n && s->nodes.nodes[node].promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        bool is_here = p->by_priority && p->rooms->node == node && node_table_has(&s->nodes, node, p->rooms->node_name);
        if (is_here && !p->stands && is_short(s, s->promised[i]))
            look_again(s, p, s->promised[i]);
    }
}

void promises_gain_victim(struct state *s, const struct pod *pod)
{
    uint32_t node = pod->seat ? s->seats[pod->seat].node : 0;
    for (uint32_t i = 0; i < s->promised_n && node && s->nodes.nodes[node].promised_n; i++) {
        const struct promise *p = s->promised[i]->promise;
        if (p->by_priority && p->rooms->node == node && s->promised[i]->priority > pod->priority)
            look_again(s, p, s->promised[i]);
    }
}

void promises_rank(struct state *s)
{
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < s->promised_n; i++) {
            const struct promise *p = s->promised[i]->promise;
            if (!p->by_priority || !node_table_has(&s->nodes, p->rooms->node, p->rooms->node_name))
                continue;
            int32_t *highest = &s->nodes.nodes[p->rooms->node].promised_highest, priority = s->promised[i]->priority;
            *highest = pass == 0 || priority > *highest ? priority : *highest;
        }
}

static void put_rooms(struct state *s, struct promise *p, const struct gang *but)
{
    p->stands = true;
    note_all_taken(s, p, but);
    for (uint32_t i = 0; i < p->rooms_n; i++) {
        const struct promised_room *r = &p->rooms[i];
        if (!node_table_has(&s->nodes, r->node, r->node_name))
            continue;
        undo_withhold(s, r->node, r->resource, r->amount - r->taken);
        if ((!i || r[-1].node != r->node) && s->nodes.nodes[r->node].devices.gpus)
            kept_gpus_put(s, p, r->node, but);
    }
    moved_put_places(s, p, but);
}

void promise_put(struct state *s, struct gang *g, const struct queue *q, const struct gang *against)
{
    if (!g->promise || g->promise->stands)
        return;
    put_charges(s, g->promise, q);
    moved_put_charges(s, g->promise, against);
    put_rooms(s, g->promise, against);
}

void promise_put_rooms(struct state *s, struct gang *g)
{
    if (g->promise && !g->promise->stands)
        put_rooms(s, g->promise, NULL);
}

void promises_lie_down(struct state *s)
{
    for (uint32_t i = 0; i < s->promised_n; i++)
        s->promised[i]->promise->stands = false;
}
