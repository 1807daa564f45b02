/* state_gang.c - gangs, pods and outcomes come in */
#include "core/state/state_gang.h"
#include <stddef.h>
#include "base/memory.h"
#include "core/group/terms.h"
#include "core/heal/hole.h"
#include "core/preempt/promise.h"
#include "core/preempt/stakes.h"
#include "core/time/booking.h"
#include "core/queue/admission.h"
#include "core/queue/gang.h"
#include "core/queue/consumption.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/queue/shrink.h"
#include "core/quota/ledger.h"

#define RETRY_FIRST_MS 50    /* a failed write is tried again at once, then after this, doubled each time */
#define RETRY_MOST_MS 10000

/* ---- gangs ---- */

static struct gang *gang_of(struct state *s, name_id key)
{
    struct gang *g = gang_find(s, key);
    if (g)
        return g;
    g = mem_zero(1, sizeof *g);
    g->key = key;
    g->own = &gang_no_object;
    g->names = s->names;
    MEM_RESERVE(s->gangs, s->gangs_cap, s->gangs_n + 1);
    g->gang_at = s->gangs_n;
    s->gangs[s->gangs_n++] = g;
    id_map_put(&s->gang_by_key, key, s->gangs_n); /* index + 1 */
    return g;
}

void gang_free(struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++)
        free(g->sets[i].topology);
    if (g->sets != &g->only)
        free(g->sets);
    if (g->members != &g->member)
        free(g->members);
    gang_object_free(g);
    free(g->park);
    free(g->reason);
    promise_free(g->promise);
    free(g);
}

static void drop_reason(struct gang *g)
{
    free(g->reason);
    g->reason = NULL;
}

static void gang_drop_if_unused(struct state *s, struct gang *g)
{
    if (g->phase != GANG_UNKNOWN || g->members_n)
        return;
    order_forget(s, g);
    ready_forget(s, g);
    admission_forget(s, g);
    gang_drop_sets(s, g);
    stakes_drop(s, g);
    struct gang *last = s->gangs[--s->gangs_n];
    s->gangs[g->gang_at] = last;
    last->gang_at = g->gang_at;
    id_map_put(&s->gang_by_key, last->key, last->gang_at + 1);
    id_map_remove(&s->gang_by_key, g->key);
    gang_free(g);
}

static int32_t set_named(const struct gang *g, name_id name)
{
    for (uint32_t i = 0; i < g->sets_n; i++)
        if (g->sets[i].name == name)
            return (int32_t)i;
    return -1;
}

static int32_t between(int32_t n, int32_t least, int32_t most)
{
    return n < least ? least : n > most ? most : n;
}

static void take_set(struct state *s, const struct gang_record *r, const struct pod_set *from, struct gang_set *to)
{
    *to = (struct gang_set){.name = from->name, .asked_n = between(from->count, 0, LIMIT_GANG_MEMBERS), .in_turns = from->in_turns,
                            .later = from->later, .serial = from->serial};
    to->topology = topology_request_copy(&from->topology);
    to->min_count = from->min_count > 0 ? between(from->min_count, 1, to->asked_n) : to->asked_n;
    to->over_n = between(from->reclaimed, 0, to->asked_n);
    set_grant(to, r->admitted ? from->granted : 0);
    to->shape = shape_class_id(&s->shapes, &s->nodes, &from->shape, s->names);
    struct shape charged = from->shape;
    charged.requests = from->charged;
    charged.requests_n = from->charged_n;
    to->charged = from->is_charged ? shape_class_id(&s->shapes, &s->nodes, &charged, s->names) : 0;
    to->labels = label_set_id(&s->shapes, from->shape.ns ? from->shape.ns : r->ns, from->shape.labels, from->shape.labels_n);
}

static bool same_sets(const struct gang *g, const struct gang_set *sets, uint32_t n)
{
    bool same = n == g->sets_n;
    for (uint32_t i = 0; i < n && same; i++)
        same = sets[i].name == g->sets[i].name && sets[i].shape == g->sets[i].shape && sets[i].charged == g->sets[i].charged &&
               sets[i].count == g->sets[i].count && sets[i].reclaimed_n == g->sets[i].reclaimed_n && sets[i].labels == g->sets[i].labels &&
               sets[i].asked_n == g->sets[i].asked_n && sets[i].min_count == g->sets[i].min_count && sets[i].over_n == g->sets[i].over_n &&
               sets[i].in_turns == g->sets[i].in_turns && sets[i].later == g->sets[i].later &&
               sets[i].serial == g->sets[i].serial && topology_request_same(set_topology(&sets[i]), set_topology(&g->sets[i]));
    return same;
}

/* What the gang holds for its sets follows them by name; what it holds for a set that is gone is given back. */
static void move_held(struct state *s, struct gang *g, const struct gang *to)
{
    for (uint32_t i = g->own->seats_n; i-- > 0;) {
        int32_t at = set_named(to, g->sets[s->seats[g->own->seats[i]].pod_set].name);
        if (at < 0)
            admission_drop_held(s, g, i);
        else
            s->seats[g->own->seats[i]].pod_set = (uint32_t)at;
    }
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        int32_t at = p->seat ? set_named(to, p->pod_set) : -1;
        if (p->seat)
            s->seats[p->seat].pod_set = at < 0 ? 0 : (uint32_t)at;
    }
    struct gang_object *o = gang_own(g);
    uint32_t kept_n = 0;
    for (uint32_t i = 0; i < o->choices_n; i++) {
        int32_t at = o->choices[i].pod_set < g->sets_n ? set_named(to, g->sets[o->choices[i].pod_set].name) : -1;
        if (at < 0)
            continue;
        o->choices[kept_n] = o->choices[i];
        o->choices[kept_n++].pod_set = (uint16_t)at;
    }
    o->choices_n = kept_n;
    kept_n = 0;
    for (uint32_t i = 0; i < o->told_n; i++) {
        int32_t at = o->told[i].pod_set < g->sets_n ? set_named(to, g->sets[o->told[i].pod_set].name) : -1;
        if (at < 0)
            continue;
        o->told[kept_n] = o->told[i];
        o->told[kept_n++].pod_set = (uint16_t)at;
    }
    o->told_n = kept_n;
}

/* The record does not say yet what the gang was given. */
static void keep_granted(const struct gang *g, const struct gang_record *r, struct gang *fresh)
{
    for (uint32_t i = 0; i < fresh->sets_n && !r->admitted && gang_holds(g); i++) {
        int32_t old = set_named(g, fresh->sets[i].name);
        if (old >= 0 && g->sets[old].count < g->sets[old].asked_n)
            set_grant(&fresh->sets[i], g->sets[old].count);
    }
}

/* Same pod sets as before? Then places and charges stay as they are. */
static bool take_sets(struct state *s, struct gang *g, const struct gang_record *r)
{
    if (!r->planned)
        return true; /* found from its pods when it gets in line */
    struct gang fresh = {.sets_n = r->pod_sets_n};
    fresh.sets = r->pod_sets_n ? mem_zero(r->pod_sets_n, sizeof *fresh.sets) : NULL;
    for (uint32_t i = 0; i < r->pod_sets_n; i++)
        take_set(s, r, &r->pod_sets[i], &fresh.sets[i]);
    keep_granted(g, r, &fresh);
    if (g->planned && same_sets(g, fresh.sets, fresh.sets_n)) {
        gang_drop_sets(s, &fresh);
        return true;
    }
    for (uint32_t i = 0; i < fresh.sets_n; i++) {
        int32_t old = set_named(g, fresh.sets[i].name);
        if (old < 0)
            continue;
        fresh.sets[i].done_n = g->sets[old].done_n;
        fresh.sets[i].placed_shape = g->sets[old].placed_shape; /* taken over; made anew with the charges */
        g->sets[old].placed_shape = 0;
    }
    move_held(s, g, &fresh);
    gang_drop_sets(s, g);
    g->sets = fresh.sets;
    g->sets_n = fresh.sets_n;
    return false;
}

static bool same_checks(const struct gang *g, const struct gang_record *r)
{
    bool same = g->own->checks_n == r->checks_n && g->foreign == r->foreign;
    for (uint32_t i = 0; i < r->checks_n && same; i++)
        same = g->own->checks[i].name == r->checks[i].name && g->own->checks[i].state == r->checks[i].state;
    return same;
}

static void take_checks(struct gang *g, const struct gang_record *r)
{
    struct gang_object *o = gang_own(g);
    free(o->checks);
    o->checks = r->checks_n ? mem_alloc(r->checks_n * sizeof *o->checks) : NULL;
    for (uint32_t i = 0; i < r->checks_n; i++)
        o->checks[i] = r->checks[i];
    o->checks_n = r->checks_n;
    g->foreign = r->foreign;
}

static void take_record(struct gang *g, const struct gang_record *r)
{
    struct gang_object *o = gang_own(g);
    g->source = r->source;
    g->ns = r->ns;
    o->local_queue = r->local_queue;
    o->queue_name = r->queue;
    o->queue_title = r->queue_title ? r->queue_title : r->local_queue ? r->local_queue : r->queue;
    o->queue_kind = r->local_queue ? QUEUE_LOCAL : r->queue_kind;
    g->priority = r->priority;
    g->due_ms = r->due_ms;
    g->created_ms = r->created_ms;
    g->uid = r->uid;
    g->planned = r->planned;
    g->min_members = r->min_members;
    g->keeps_places = r->keeps_places;
    g->active = r->active;
    g->on_hold = r->on_hold;
    g->reserved_only = r->reserved_only;
    g->hold_is_fault = r->hold_is_fault;
    o->hold_text = r->hold_text;
    o->not_before_ms = r->not_before_ms;
    g->finished = r->finished;
    g->of_one_pod = r->of_one_pod;
    take_checks(g, r);
    group_take_amounts(&o->min_of_task, &o->min_of_task_n, r->min_of_task, r->min_of_task_n);
    group_take_terms(o, r);
}

/* Its object says that it is admitted, and what we hold is not what it says. */
static bool is_told_otherwise(const struct gang *g, const struct gang_record *r)
{
    return r->planned && r->admitted && gang_holds(g) && !admission_is_as_told(g, r);
}

/* Its object said that it is evicted, and no longer does, though its quota was not given back: somebody has reserved it anew. */
static bool is_eviction_lifted(const struct gang *g, const struct gang_record *r)
{
    return g->phase == GANG_LEAVING && g->own->told_evicted && g->api_admitted && r->admitted && !r->evicted;
}

/* Status writes of ours come back as changes that say nothing new: they must not wake anybody. */
static bool says_nothing_new(const struct state *s, const struct gang *g, const struct gang_record *r)
{
    bool same_pause = g->own->not_before_ms == r->not_before_ms || (g->own->not_before_ms <= s->now_ms && r->not_before_ms <= s->now_ms);
    return g->phase != GANG_UNKNOWN && g->source == r->source && g->ns == r->ns && g->own->local_queue == r->local_queue &&
           g->own->queue_name == r->queue && g->priority == r->priority && g->due_ms == r->due_ms && g->created_ms == r->created_ms &&
           g->uid == r->uid && g->planned == r->planned && g->min_members == r->min_members && g->active == r->active &&
           g->on_hold == r->on_hold && g->own->hold_text == r->hold_text && same_pause && g->finished == r->finished &&
           g->of_one_pod == r->of_one_pod && g->keeps_places == r->keeps_places && group_same_terms(g, r) &&
           g->api_admitted == r->admitted && g->reserved_only == r->reserved_only && same_checks(g, r) &&
           group_same_amounts(g->own->min_of_task, g->own->min_of_task_n, r->min_of_task, r->min_of_task_n);
}

static bool pod_ended(const struct pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

/* A group that is no longer whole, and for which no places are kept, waits again with what it has left: pods that come now must make it
 * whole together. WHY  so it is decided from what the API shows, and a scheduler that starts anew decides the same. */
static void wait_again(struct state *s, struct gang *g)
{
    if (!g->planned && g->phase == GANG_BOUND && (!g->bound_n || gang_is_below_minimum(s, g)) && !holes_may_be_filled(s, g))
        admission_release(s, g);
}

/* It was told to leave, and somebody else has reserved quota for it: it had left before anybody looked, or had never been let in. It holds
 * that reservation from now on. WHY  it is not judged before its EVICT is answered: that may have come after the reservation, too. */
static void take_up(struct state *s, struct gang *g, const struct gang_record *r)
{
    bool answered = g->answered;
    admission_release(s, g);
    admission_restore(s, g, r);
    if (answered || r->evicted)
        return;
    gang_enter(s, g, GANG_LEAVING);
    g->let_in_again = true;
}

/* It need not leave, and goes on with what it holds. */
static void stay(struct state *s, struct gang *g)
{
    gang_enter(s, g, !g->planned || (g->bound_n && !g->reserved_only) ? GANG_BOUND : g->reserved_only ? GANG_CHECKING : GANG_ADMITTED);
    wait_again(s, g); /* its binds may have failed meanwhile */
}

/* Its object says whether it is admitted. WHY was_admitted: a record without it may be older than our own write; only after one with it
 * does it mean that somebody has taken it back. */
static void follow_admission(struct state *s, struct gang *g, const struct gang_record *r, bool was_foreign, bool sets_stay, bool lifted)
{
    if (gang_holds(g) && !sets_stay)
        admission_recount(s, g);
    bool was_admitted = g->api_admitted;
    g->api_admitted = r->admitted;
    if (lifted)
        stay(s, g);
    if (r->admitted && r->foreign && !(was_admitted && was_foreign) && g->phase == GANG_LEAVING)
        take_up(s, g, r);
    if (is_told_otherwise(g, r))
        admission_adopt(s, g, r);
    if (r->admitted && g->phase == GANG_WAITING)
        admission_restore(s, g, r);
    else if (r->admitted && !r->reserved_only && (g->phase == GANG_RESERVED || g->phase == GANG_CHECKING))
        gang_enter(s, g, GANG_ADMITTED);
    else if (!r->admitted && was_admitted && gang_holds(g))
        admission_release(s, g);
}

/* WHY not what was asked before it was let in: it has been let in again since, and whoever asked is answered. */
static bool is_to_restart(const struct gang *g, const struct gang_record *r)
{
    return gang_holds(g) && r->restart_ms > g->reserved_ms;
}

/* Its priority, or that it keeps its places, is another one: somebody may preempt it now. */
static void others_may_preempt(struct state *s, struct gang *g)
{
    struct queue *q = g->queue ? g->queue : s->queues[0];
    q->lowest_n = 0;
    if (g->queue)
        quota_gain(&s->quota, q->quota);
    else if (gang_is_lone(g) && s->pods[g->members[0]].seat)
        node_table_gain(&s->nodes, s->seats[s->pods[g->members[0]].seat].node);
    else
        ledger_may_go_again(s, g);
}

void state_apply_gang(struct state *s, const struct gang_record *r)
{
    struct gang *g = gang_of(s, r->key);
    bool lifted = is_eviction_lifted(g, r);
    bool nothing_new = !lifted && is_to_restart(g, r) == g->restarts && says_nothing_new(s, g, r);
    ready_take(s, g, r);
    if (g->own->stakes || stakes_are_told(r)) /* nobody waits for what is said of that */
        stakes_put(s, &gang_own(g)->stakes, r);
    nothing_new &= booking_take_run(s, g, r);
    bool sets_stay = take_sets(s, g, r);
    if (r->admitted && r->reserved_ms)
        g->reserved_ms = r->reserved_ms;
    bool counts_otherwise = g->keeps_places != r->keeps_places && g->queue && g->queue->shares.counts_n;
    if ((g->priority != r->priority || g->keeps_places != r->keeps_places) && g->charged_at)
        others_may_preempt(s, g);
    if (nothing_new && sets_stay && !is_told_otherwise(g, r)) {
        booking_take(s, g, r);
        return;
    }
    booking_drop(s, g); /* it may be another one */
    order_forget(s, g); /* its place in the order may change */
    s->shares_changed |= s->shares_n && (g->own->queue_name || r->queue);
    bool was_foreign = g->foreign;
    take_record(g, r);
    if (counts_otherwise)
        ledger_recount(s, g);
    if (r->finished) {
        admission_release(s, g);
        gang_enter(s, g, GANG_OVER);
    } else if (g->phase == GANG_UNKNOWN || g->phase == GANG_OVER) {
        gang_enter(s, g, GANG_WAITING);
    }
    if (r->finished || !g->planned)
        g->api_admitted = r->admitted;
    if (g->planned && !r->finished)
        follow_admission(s, g, r, was_foreign, sets_stay, lifted);
    admission_follow_pods(s, g);
    wait_again(s, g);
    admission_recount_queues(s, g);
    ready_follow(s, g);
    consumption_follow(s, g);
    booking_take(s, g, r);
    g->restarts = is_to_restart(g, r);
    order_wake(s, g);
}

void state_apply_gang_gone(struct state *s, name_id key)
{
    struct gang *g = gang_find(s, key);
    if (!g)
        return;
    const struct queue *q = s->shares_n && g->own->queue_name ? queue_find(s, g->own->queue_name) : NULL;
    s->shares_changed |= q != NULL;
    if (q && q->has_shares)
        quota_rise(&s->quota, q->quota); /* it holds nobody back any more (quota/deserve.h) */
    admission_release(s, g);
    admission_forget(s, g);
    g->phase = GANG_UNKNOWN;
    order_forget(s, g);
    drop_reason(g);
    gang_drop_if_unused(s, g);
}

/* ---- pods ---- */

bool gang_is_over(const struct state *s, const struct gang *g)
{
    if (g->finished)
        return true;
    if (g->planned || !g->members_n || g->bound_n)
        return false;
    for (uint32_t i = 0; i < g->members_n; i++)
        if (!pod_ended(&s->pods[g->members[i]]))
            return false;
    return true;
}

/* Some pod of this start stands, not only of one that was given back. */
static bool has_started(const struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->members_n; i++)
        if (s->pods[g->members[i]].seat && !s->pods[g->members[i]].former)
            return true;
    return false;
}

/* ADMIT was refused. WHY not at once when it has started: binds of the same plan are under way, and when they land it runs. Quota of which
 * the API knows stays. */
static bool take_back_refused(struct state *s, struct gang *g)
{
    if (!g->planned || (g->api_admitted && !g->reserved_only) || !gang_holds(g) || has_started(s, g))
        return false;
    if (g->api_admitted) {
        gang_enter(s, g, GANG_CHECKING);
    } else {
        consumption_refund(s, g);
        admission_release(s, g);
    }
    return true;
}

static void members_changed(struct state *s, struct gang *g)
{
    s->shares_changed |= s->shares_n && g->own->queue_name;
    promise_follow_members(s, g);
    if (g->admit_refused && g->phase != GANG_LEAVING)
        (void)take_back_refused(s, g); /* its pods may have gone before their binds were answered */
    wait_again(s, g);
    if (gang_is_over(s, g)) {
        order_forget(s, g);
        if (g->phase == GANG_LEAVING && g->answered)
            admission_release(s, g); /* it was told to go, and has gone: who waits for it may start */
        if (g->phase == GANG_WAITING)
            gang_enter(s, g, GANG_OVER);
        return;
    }
    if (g->phase == GANG_OVER && !g->planned) /* a pod came after all others had ended */
        gang_enter(s, g, GANG_WAITING);
    order_wake(s, g);
}

static void add_member(struct gang *g, uint32_t at)
{
    if (!g->members_cap) {
        g->members = &g->member;
        g->members_cap = 1;
    } else if (g->members_n == g->members_cap) {
        uint32_t *old = g->members, *grown = NULL, cap = 0;
        MEM_RESERVE(grown, cap, g->members_n + 1);
        memcpy(grown, old, g->members_n * sizeof *grown);
        g->members = grown;
        g->members_cap = cap;
        if (old != &g->member)
            free(old);
    }
    g->members[g->members_n++] = at;
}

static void member_join(struct state *s, uint32_t at, struct gang *g)
{
    struct pod *p = &s->pods[at];
    p->gang = g;
    if (!g)
        return;
    p->member_at = g->members_n;
    add_member(g, at);
    if (p->seat) {
        g->bound_n++;
        s->seats[p->seat].gang = g;
        ledger_seat(s, g, s->seats[p->seat].shape, 1);
    }
}

static void member_leave(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    struct gang *g = p->gang;
    p->gang = NULL;
    if (!g)
        return;
    uint32_t last = g->members[--g->members_n];
    g->members[p->member_at] = last;
    s->pods[last].member_at = p->member_at;
    promise_follow_members(s, g);
    if (p->seat) {
        g->bound_n--;
        s->seats[p->seat].gang = NULL;
        ledger_seat(s, g, s->seats[p->seat].shape, -1);
    }
}

static uint32_t pod_slot(struct state *s, name_id key)
{
    uint32_t at = s->pod_hole;
    if (at) {
        s->pod_hole = s->pods[at].member_at;
    } else {
        MEM_RESERVE(s->pods, s->pods_cap, s->pods_n + 1);
        at = s->pods_n++;
    }
    s->pods[at] = (struct pod){.key = key};
    s->pods_live_n++;
    id_map_put(&s->pod_by_key, key, at);
    return at;
}

static void pod_drop(struct state *s, uint32_t at)
{
    struct pod *p = &s->pods[at];
    struct gang *g = p->gang;
    pod_end_seat(s, at);
    member_leave(s, at);
    shape_release(s, p->shape);
    label_set_unref(&s->shapes, p->labels);
    id_map_remove(&s->pod_by_key, p->key);
    *p = (struct pod){.member_at = s->pod_hole};
    s->pod_hole = at;
    s->pods_live_n--;
    if (!g)
        return;
    if (g->source == GANG_POD && !g->members_n) {
        admission_release(s, g);
        g->phase = GANG_UNKNOWN;
    } else if (g->phase != GANG_UNKNOWN) {
        members_changed(s, g);
    }
    gang_drop_if_unused(s, g);
}

static struct gang *lone_gang(struct state *s, const struct pod_record *r)
{
    buf_clear(&s->text);
    buf_bytes(&s->text, BYTES("pod/"));
    buf_text(&s->text, intern_name(s->names, r->key));
    struct gang *g = gang_of(s, intern_id(s->names, buf_view(&s->text)));
    bool known = g->phase != GANG_UNKNOWN;
    if (known && g->source != GANG_POD)
        return g;
    if (known && g->priority == r->priority && g->created_ms == r->created_ms && g->uid == r->uid &&
        g->preempts_nobody == r->preempts_nobody)
        return g;
    if (known)
        order_forget(s, g); /* its place in the order changes */
    if (g->charged_at && g->priority != r->priority)
        others_may_preempt(s, g);
    g->active = true;
    g->source = GANG_POD;
    g->priority = r->priority;
    g->preempts_nobody = r->preempts_nobody;
    g->created_ms = r->created_ms;
    g->uid = r->uid;
    g->ns = r->shape.ns;
    g->min_members = 1;
    if (!known)
        g->phase = GANG_WAITING; /* it is in no queue: nobody counts it */
    return g;
}

static bool is_overfull(struct state *s, uint32_t node)
{
    const int64_t *left = node_free(&s->nodes, node);
    for (uint32_t i = 0; i < s->nodes.columns_n; i++)
        if (left[i] < 0)
            return true;
    return false;
}

/* The API's word on where the pod is. Where others have put it there are places held perhaps that are good no more. */
static void sit_where_told(struct state *s, uint32_t at, const struct pod_record *r, bool other_devices)
{
    struct pod *p = &s->pods[at];
    uint32_t node = node_table_find(&s->nodes, r->node);
    if (p->seat && s->seats[p->seat].node == node && (p->assumed || s->seats[p->seat].shape == p->shape)) {
        other_devices |= p->assumed;
        p->assumed = false; /* our own bind, now seen */
        if (other_devices)
            seat_take_told_devices(s, p->seat);
        return;
    }
    pod_leave_seat(s, at);
    int32_t set = p->gang && p->gang->planned ? pod_set_index(p->gang, p) : 0;
    if (p->gang && set >= 0)
        admission_leave_held(s, p, (uint32_t)set, node_table_find(&s->nodes, r->node));
    node = node_table_slot(&s->nodes, r->node); /* only now: leaving may have dropped the slot of an unknown node */
    uint32_t seat = seat_take(s, node, p->shape, p->labels, p->gang, set < 0 ? 0 : (uint32_t)set, false);
    pod_sit(s, at, seat);
    s->others_changed = true;
    seat_take_told_devices(s, seat);
    promises_shrink(s, node);
    if ((s->nodes.flags[node] & NODE_KNOWN) && is_overfull(s, node))
        seats_wake_holders(s, node);
}

static void take_shape(struct state *s, struct pod *p, const struct pod_record *r)
{
    uint32_t shape = shape_class_id(&s->shapes, &s->nodes, &r->shape, s->names);
    uint32_t labels = label_set_id(&s->shapes, r->shape.ns, r->shape.labels, r->shape.labels_n);
    uint32_t old_shape = p->shape, old_labels = p->labels;
    p->shape = shape;
    p->labels = labels;
    if (old_shape)
        shape_release(s, old_shape);
    label_set_unref(&s->shapes, old_labels);
}

static void take_fields(struct pod *p, const struct pod_record *r)
{
    p->uid = r->uid;
    p->pod_set = r->pod_set;
    p->priority = r->priority;
    p->created_ms = r->created_ms;
    p->started_ms = r->started_ms;
    p->nominated = r->nominated;
    p->deleting = r->deleting;
    p->gated = r->gated;
    p->ours = r->ours;
    p->preempts_nobody = r->preempts_nobody;
    p->node_name = r->node;
    p->devices = r->devices;
}

/* Watch events that only touch other fields wake nobody. */
static bool same_to_gang(const struct pod *a, const struct pod *b)
{
    return a->gang == b->gang && a->pod_set == b->pod_set && a->shape == b->shape && a->labels == b->labels && a->seat == b->seat &&
           a->phase == b->phase && a->deleting == b->deleting && a->gated == b->gated && a->ours == b->ours &&
           a->priority == b->priority && a->preempts_nobody == b->preempts_nobody && a->created_ms == b->created_ms;
}

static void count_done(struct gang *g, const struct pod *p)
{
    int32_t set = g && g->planned && gang_holds(g) && !gang_member_is_former(g, p) ? pod_set_index(g, p) : -1;
    if (set >= 0 && g->sets[set].done_n < g->sets[set].count)
        g->sets[set].done_n++;
}

void state_apply_pod(struct state *s, const struct pod_record *r)
{
    uint32_t at = id_map_get(&s->pod_by_key, r->key);
    if (at && s->pods[at].uid != r->uid) {
        pod_drop(s, at); /* deleted and made anew between two looks */
        at = 0;
    }
    if (!at)
        at = pod_slot(s, r->key);
    struct pod *p = &s->pods[at];
    bool was_over = pod_ended(p);
    const struct pod before = *p;
    take_fields(p, r);
    take_shape(s, p, r);
    struct gang *g = r->gang ? gang_of(s, r->gang) : r->ours ? lone_gang(s, r) : NULL;
    struct gang *old = p->gang;
    if (old != g) {
        member_leave(s, at);
        member_join(s, at, g);
    }
    p->phase = (uint8_t)r->phase;
    if (pod_ended(p)) {
        if (!was_over && p->phase == POD_SUCCEEDED)
            count_done(g, p);
        pod_end_seat(s, at);
    } else if (r->node) {
        sit_where_told(s, at, r, before.devices != r->devices);
    }
    p = &s->pods[at];
    if (p->deleting && !before.deleting && g && gang_is_lone(g))
        promises_gain_victim(s, p);
    if (g && p->seat && p->ours && !g->queue)
        admission_follow_pods(s, g);
    if (g && g->phase != GANG_UNKNOWN && !same_to_gang(&before, p))
        members_changed(s, g);
    if (old && old != g)
        gang_drop_if_unused(s, old);
}

void state_apply_pod_gone(struct state *s, name_id key)
{
    uint32_t at = id_map_get(&s->pod_by_key, key);
    if (at)
        pod_drop(s, at);
}

/* ---- outcomes ---- */

static void retry(struct state *s, struct gang *g)
{
    if (g->failures_n < 16)
        g->failures_n++;
    order_wake(s, g);
    if (g->failures_n == 1 || g->phase == GANG_UNKNOWN || g->phase == GANG_OVER)
        return;
    int64_t wait = RETRY_FIRST_MS << (g->failures_n - 2 < 8 ? g->failures_n - 2 : 8);
    g->retry_ms = s->now_ms + (wait < RETRY_MOST_MS ? wait : RETRY_MOST_MS);
    order_hold(s, g, PARK_TIME);
    drop_reason(g);
    g->reason = reason_copy(&(struct reason){.code = REASON_BACKOFF, .need = g->retry_ms});
}

static void outcome_done(struct state *s, struct gang *g, const struct outcome_record *r)
{
    bool is_granted = g->planned && (r->effect == EFFECT_ADMIT || r->effect == EFFECT_RESERVE); /* of a pod group nothing is written then */
    if (r->effect == EFFECT_BIND || is_granted)
        g->failures_n = 0;
    if (r->effect == EFFECT_ADMIT && g->phase == GANG_RESERVED)
        gang_enter(s, g, GANG_ADMITTED);
    if (r->effect == EFFECT_EVICT && g->phase == GANG_LEAVING) {
        if (g->let_in_again)
            gang_enter(s, g, g->reserved_only ? GANG_CHECKING : GANG_ADMITTED);
        else
            g->answered = true;
        order_wake(s, g);
    }
}

/* A write that failed, without which it has no quota, or is not admitted, as far as anybody knows. */
static bool refused_start(const struct gang *g, const struct outcome_record *r)
{
    bool knows_quota = r->effect == EFFECT_ADMIT && g->reserved_only && g->phase != GANG_LEAVING;
    return (r->effect == EFFECT_ADMIT || r->effect == EFFECT_RESERVE) && (!g->api_admitted || knows_quota);
}

void state_apply_outcome(struct state *s, const struct outcome_record *r)
{
    struct gang *g = gang_find(s, r->gang);
    if (g && r->effect == EFFECT_EVICT && r->pod)
        promise_member_answered(s, g, r->pod, r->outcome != OUTCOME_DONE);
    if (!g || (r->effect == EFFECT_EVICT && r->pod))
        return;
    if (r->outcome == OUTCOME_DONE) {
        outcome_done(s, g, r);
        return;
    }
    uint32_t at = r->effect == EFFECT_BIND ? id_map_get(&s->pod_by_key, r->pod) : 0;
    at = at && s->pods[at].gang == g ? at : 0; /* else it was made anew since, as a pod of somebody else */
    if (r->effect == EFFECT_EVICT && g->phase == GANG_LEAVING) {
        /* what it must leave for is found again, and told again; where nobody let it in there is nothing to leave */
        if (!take_back_refused(s, g))
            stay(s, g);
    } else if (refused_start(g, r) && take_back_refused(s, g)) {
        ; /* also while LEAVING: it was never let in, whatever becomes of its eviction */
    } else if (refused_start(g, r) && g->planned && gang_holds(g)) {
        g->admit_refused = true;
        return;
    } else if (at && s->pods[at].assumed) {
        pod_leave_seat(s, at);
        if (!g->planned)
            members_changed(s, g);
        else if (g->admit_refused)
            (void)take_back_refused(s, g);
    } else if (r->effect == EFFECT_EXPLAIN) {
        g->told_hash = g->told_codes = 0; /* say it again next time */
        return;
    } else {
        return;
    }
    retry(s, g);
}
