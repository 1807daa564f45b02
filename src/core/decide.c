/* decide.c - the cycle
 *
 *   wake    who waits for something that changed; gangs that changed get in line, or are held back with a reason
 *   settle  gangs that hold something: bind members that came, replace lost places, evict what must end
 *   rounds  one head per queue, best first:  quota -> place -> commit
 *                                                 \       \-> take back, next flavor ... preempt? explain, park the line
 *                                                  \-> preempt? explain, park the line
 *   tell    those whose reason is another one now
 */
#include "core/decide.h"
#include <stdlib.h>
#include "core/cycle.h"
#include "core/explain/remedy.h"
#include "core/explain/why.h"
#include "core/heal/refill.h"
#include "core/moves/carry.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/queue/admission.h"
#include "core/queue/consumption.h"
#include "core/queue/lane.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/queue/settle.h"
#include "core/queue/shrink.h"
#include "core/queue/standing.h"
#include "core/preempt/lone.h"
#include "core/queue/tournament.h"
#include "core/preempt/preempt.h"
#include "core/quota/claim.h"
#include "core/quota/deserve.h"
#include "core/score/load.h"
#include "core/state/state_gang.h"
#include "core/time/booking.h"

#define GANGS_MAX_DEFAULT 1024
#define PODS_MAX_DEFAULT 20000

/* ---- gangs that changed ---- */

static void get_in_line(struct cycle *c, struct gang *g)
{
    uint8_t on;
    promise_drop(c->s, g); /* it, or its queue, is another one: whom it waits for is found anew */
    if (gang_is_over(c->s, g)) {
        order_forget(c->s, g);
        gang_enter(c->s, g, GANG_OVER);
        return;
    }
    if (!g->planned && g->bound_n && !gang_is_below_minimum(c->s, g)) {
        /* It runs already: we were started anew, or others have bound it. What must end is evicted, what is left over joins one by one. */
        name_id missing;
        admission_reserve(c->s, g, gang_asks_queue(c->s, g, &missing), NULL, 0, NULL, 0);
        order_wake(c->s, g);
        return;
    }
    const struct reason *end = !g->planned && g->bound_n ? settle_why_evict(c, g) : NULL;
    if (end) { /* it runs in part */
        cycle_evict(c, g, end);
        return;
    }
    end = refill_why_evict(c, g);
    if (end) {
        cycle_evict(c, g, end);
        return;
    }
    struct reason *why = why_not_ready(c, g, &on);
    if (why) {
        booking_drop(c->s, g);
        why->remedies = remedy_of_held(c, g, why);
        if (why->code == REASON_MEMBERS_MISSING) {
            remedy_note_missing(c, g, why);
            return;
        }
        if (why->code == REASON_QUEUE_STOPPED)
            remedy_note_stopped(c, g, why);
        else
            cycle_explain(c, g, why);
        g->retry_ms = gang_not_before_ms(g);
        order_hold(c->s, g, on);
        return;
    }
    free(g->reason);
    g->reason = NULL; /* from here on the line's; what it was told is remembered */
    if (!g->planned)
        order_sets_of_group(c->s, g);
    if (g->booked)
        booking_lined_up(c->s, g);
    g->alone |= g->booked || moved_is_kept(c->s, g); /* what it waits for, those like it do not */
    order_line_up(c->s, g);
    if (g->line->park.at && g->line->queue->strategy != QUEUE_STRICT_FIFO)
        cycle_tell_joined(c, g);
}

static void look_at(struct cycle *c, struct gang *g)
{
    get_in_line(c, g);
    refill_watch(c->s, g);
}

/* ORDER  as they came: of pods that are made one after the other, each joins the end of its line. */
static void line_up_all(struct cycle *c)
{
    struct state *s = c->s;
    for (uint32_t i = 0; i < s->fresh_n; i++) { /* some of them may be woken again meanwhile */
        struct gang *g = s->fresh[i];
        g->look_at = 0;
        look_at(c, g);
    }
    s->fresh_n = 0;
}

/* ---- one line ---- */

static void try_line(struct cycle *c, struct line *l)
{
    struct state *s = c->s;
    struct gang *g = line_first(l);
    struct queue *q = l->queue;
    struct refusal refusal;
    if (ready_blocks(s, g)) {
        g->wants_moves = false; /* it is told anew, when it is refused again */
        ready_hold_line(c, l);
        return;
    }
    if (!order_may_fit(s, l)) { /* somebody of another queue was first */
        const struct parking woken = l->woken;
        order_park_line(s, l, &woken);
        return;
    }
    c->gangs_left--;
    if (!carry_holds(c, g, &refusal) && try_gang(c, g, &refusal)) {
        bool alone_woken = l->recheck && l->woken_cycle == s->cycles_n && l->gangs.n > 1;
        order_forget(s, g);
        cycle_explained_away(g);
        if (alone_woken)
            order_try_again(s, l);
        if (g->planned || g->members_n > g->bound_n)
            order_wake(s, g); /* members that exist already, or are left over, are settled at the end of the round */
        parking_release(s, &refusal.park);
        booking_tried(s, q, g);
        return;
    }
    carry_begins(c, g, &refusal);
    bool booked = (s->bookings_n || q->backfill) && booking_refused(c, g, q, &refusal);
    if (!g->alone && (refusal.others || refusal.preempts || booked)) {
        order_step_aside(s, g); /* what it waits for, those behind it do not, nor those who come */
        l = g->line;
    }
    refill_watch(s, g);
    cycle_explain_line(c, l, refusal.why);
    order_park_line(s, l, &refusal.park);
    parking_release(s, &refusal.park);
    booking_tried(s, q, g);
}

/* ---- rounds ---- */

struct nominee {
    struct gang *gang;
    struct line *line;
    struct nomination as;
    struct share has;        /* of what its queue deserves, where queues have shares */
    struct queue *claims;    /* the gang is its blocked head: not tried, only its claim is put on the tree */
    struct charge *charges;
    uint32_t charges_n;
    bool claimed;            /* its claim stands on the tree */
};

struct borrower {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;
    bool others_give_way;
    struct nomination as;
};

static bool find_level(void *arg)
{
    struct borrower *b = arg;
    struct flavor_search search;
    struct reason *unused = reason_new(b->c->a, (struct reason){.code = REASON_WAITING});
    uint32_t n;
    const struct flavor_demand *sets = try_demands(b->c, b->gang, &n);
    flavor_search_begin(b->c->s, &search, b->queue, sets, n, b->c->a);
    search.others_give_way = b->others_give_way;
    if (!flavor_search_next(b->c->s, &search, b->c->a, unused))
        return false;
    b->as = (struct nomination){search.borrow_level, search.charges, search.charges_n};
    return true;
}

/* The promise may end before the round does. */
static const struct charge *copy_of_charges(struct cycle *c, const struct promise *p)
{
    struct charge *charges = arena_alloc(c->a, (p->charges_n + 1) * sizeof *charges);
    memcpy(charges, p->charges, p->charges_n * sizeof *charges);
    return charges;
}

/* As it stands, or once others have gone. */
static bool find_place(void *arg)
{
    struct borrower *b = arg;
    if (b->gang->planned && flavor_preempts_first(b->queue)) /* victims decide which flavor it is, as when it is tried (place/try.c) */
        return preempt_nominate(b->c, b->gang, b->queue, &b->as);
    return find_level(b) || (b->queue->preempts && preempt_nominate(b->c, b->gang, b->queue, &b->as));
}

static struct nomination nominate(struct cycle *c, struct gang *g)
{
    name_id missing;
    struct borrower b = {.c = c, .gang = g, .queue = gang_asks_queue(c->s, g, &missing)};
    const struct promise *p = g->promise;
    if (p) /* victims that are still there count for those who come after it, not for its own place */
        return (struct nomination){p->borrow_level, copy_of_charges(c, p), p->charges_n};
    bool is_counted = b.queue && (g->planned || b.queue->has_shares);
    if (!is_counted || find_place(&b))
        return b.as;
    bool found = shrink_may(g) && shrink_search(g, find_place, &b) && find_place(&b);
    shrink_back(g);
    if (found)
        return b.as;
    b.others_give_way = true; /* it will not fit, but its claim has a place in the order */
    b.as = (struct nomination){0};
    (void)find_level(&b);
    return b.as;
}

/* SOURCE Kueue, order across cluster queues: who borrows less, then priority, then age. Volcano: before priority comes whose queue has less
 * of what it deserves. */
static int compare_nominees(const void *left, const void *right)
{
    const struct nominee *a = left, *b = right;
    if (a->as.borrow_level != b->as.borrow_level)
        return a->as.borrow_level < b->as.borrow_level ? -1 : 1;
    int by_share = share_compare(&a->has, &b->has);
    if (by_share)
        return by_share;
    return order_before(a->gang, b->gang) ? -1 : order_before(b->gang, a->gang);
}

/* WHY  found when the round begins, for heads that are tried now as for those that are blocked already: what one claims must not depend on
 * the claims of others, nor on whether it was refused in this round or in one before. SOURCE Kueue: all are nominated on one snapshot. */
static void find_claim(struct cycle *c, struct nominee *one, const struct queue *q)
{
    uint32_t unused;
    if (claim_may_stand(q, one->gang))
        one->charges_n = claim_find(c->s, q, one->gang, c->a, &one->charges, &unused);
}

static uint32_t nominate_claims(struct cycle *c, struct nominee *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->s->queues_n; i++) {
        struct queue *q = c->s->queues[i];
        if (!claim_stands(q))
            continue;
        struct nominee *one = &all[n++];
        *one = (struct nominee){.gang = order_blocker(q), .claims = q, .has = deserve_used(c->s, q)};
        one->as = nominate(c, one->gang);
        find_claim(c, one, q);
    }
    return n;
}

/* StrictFIFO: nobody waits for others behind somebody else. In a standstill nobody's turn comes, and what they left stays its own. */
static bool promise_is_due(const struct gang *g)
{
    struct queue *q = g->promise->queue;
    if (g->line && g->line->park.at && (g->line->park.on & PARK_READY))
        return true;
    const struct line *ready = lane_first_ready(q);
    return q->strategy != QUEUE_STRICT_FIFO || order_blocker(q) == g || (ready && line_first(ready) == g && !order_blocker(q));
}

/* WHY in vain, where all have left: whom it was overtaken by may be somebody who went for another one, and so may be whoever went for it:
 * each would start where the other was, and be told again, for ever. */
static void drop_undue_promises(struct state *s)
{
    for (uint32_t i = s->promised_n; i-- > 0;) {
        struct gang *g = s->promised[i];
        if (promise_is_due(g))
            continue;
        if (!g->promise->victims_n)
            promise_was_vain(s, g);
        promise_drop(s, g);
    }
}

static void charge_claim(struct cycle *c, const struct nominee *one, int sign)
{
    for (uint32_t i = 0; i < one->charges_n; i++)
        undo_charge(c->s, one->claims->quota, one->charges[i].flavor, one->charges[i].resource, sign * one->charges[i].amount);
}

static void put_claim(struct cycle *c, struct nominee *one)
{
    if (one->charges_n && !one->claims->claimed)
        one->claims->claimed = CLAIM_NEW; /* it may be over when the round is: then somebody must look again */
    one->claimed = true;
    charge_claim(c, one, 1);
}

/* What is promised to others the gang at `at` must leave alone. WHY  also where it comes before them: by another flavor than it was
 * nominated for it may borrow, or be somebody whom they could preempt, and each would take the other's place for ever. For the same reason
 * no claim stands against a promise: others have gone for it already, and who took their room would be its next victim. */
static void try_beside_promises(struct cycle *c, const struct nominee *all, uint32_t n, uint32_t at)
{
    struct state *s = c->s;
    uint32_t mark = undo_mark(s);
    for (uint32_t i = 0; i < n && all[at].gang->promise; i++)
        if (all[i].claimed)
            charge_claim(c, &all[i], -1);
    for (uint32_t i = 0; i < s->promised_n; i++)
        if (s->promised[i] != all[at].gang && !lone_yields(s->promised[i], all[at].gang))
            promise_put(s, s->promised[i], all[at].line->queue, all[at].gang);
    if (s->bookings_n)
        bookings_put(s, all[at].gang, all[at].as.borrow_level > 0, c->now_ms, booking_run_ms(all[at].gang, c->now_ms));
    try_line(c, all[at].line);
    undo_back(s, mark);
    promises_lie_down(s);
    bookings_lie_down(s);
}

/* The head was refused just now: its claim stands against those who come after it in this round, too. */
static void claim_if_blocked(struct cycle *c, struct nominee *one, struct queue *q)
{
    if (!claim_stands(q) || order_blocker(q) != one->gang)
        return;
    one->claims = q;
    put_claim(c, one);
}

/* It started, or others go for it, and its queue, which may take back what it lent, has more to try. */
static bool goes_on(const struct gang *g, struct queue *q)
{
    return q->cohort && q->reclaim != PREEMPT_NEVER && (gang_holds(g) || g->promise) && order_goes_on(q);
}

/* While a queue goes on within its own quota, who would borrow in its tree waits for a later round (`waits`: by root of the tree). WHY
 * what he borrowed would be taken back in the next one. Kueue lets him in and evicts him; it looks again at those who wait once a second,
 * so few are there to be let in. */
static void take_turn(struct cycle *c, struct nominee *all, uint32_t n, uint32_t at, bool *waits)
{
    if (all[at].claims) {
        put_claim(c, &all[at]);
        return;
    }
    struct queue *q = all[at].line->queue;
    bool *tree_waits = &waits[q->quota ? c->s->quota.nodes[q->quota].root : 0], borrows = all[at].as.borrow_level > 0;
    if (borrows && *tree_waits)
        return;
    try_beside_promises(c, all, n, at);
    claim_if_blocked(c, &all[at], q);
    *tree_waits |= !borrows && goes_on(all[at].gang, q);
}

static void take_turns(struct cycle *c, struct nominee *all, uint32_t n, bool *waits)
{
    qsort(all, n, sizeof *all, compare_nominees);
    for (uint32_t at = 0; at < n && c->gangs_left && c->pods_left; at++)
        take_turn(c, all, n, at, waits);
}

static void touch_promised(struct state *s, struct tournament *t)
{
    for (uint32_t i = 0; i < s->promised_n; i++)
        tournament_touch(t, s->promised[i]->promise->queue->quota);
}

/* Those of queues with shares of their own kind come to the end, in any order. Returns how many do not. */
static uint32_t put_last(struct nominee *all, uint32_t n)
{
    uint32_t fair_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nominee one = all[i];
        if ((one.claims ? one.claims : one.line->queue)->has_shares)
            continue;
        all[i] = all[fair_n];
        all[fair_n++] = one;
    }
    return fair_n;
}

/* Who is next depends on what those before have taken. */
static void take_turns_fairly(struct cycle *c, struct nominee *all, uint32_t n, bool *waits)
{
    struct contender *contenders = arena_alloc(c->a, n * sizeof *contenders);
    for (uint32_t i = 0; i < n; i++) {
        const struct queue *q = all[i].claims ? all[i].claims : all[i].line->queue;
        contenders[i] = (struct contender){all[i].gang, q->quota, all[i].as.borrow_level, all[i].as.charges, all[i].as.charges_n};
    }
    struct tournament *t = tournament_begin(c->s, c->a, contenders, n);
    for (uint32_t at; c->gangs_left && c->pods_left && (at = tournament_next(t)) < n;) {
        touch_promised(c->s, t);
        take_turn(c, all, n, at, waits);
        touch_promised(c->s, t);
    }
    tournament_end(t);
}

static uint32_t claims_n(const struct state *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->queues_n && s->strict_n; i++)
        n += claim_stands(s->queues[i]);
    return n;
}

/* SOURCE Volcano: the queue with the highest priority first, until none of its jobs is left to be tried. */
static int32_t highest_priority(const struct state *s)
{
    int32_t most = INT32_MIN;
    for (uint32_t i = 0; i < s->ready_n; i++)
        if (s->ready[i]->kind == QUEUE_VOLCANO && s->ready[i]->priority > most && order_first(s->ready[i]))
            most = s->ready[i]->priority;
    return most;
}

static struct line *head_of(struct queue *q, int32_t priority)
{
    return q->kind != QUEUE_VOLCANO || q->priority == priority ? order_first(q) : NULL;
}

/* The head of every queue, tried in order. False: there was none. Claims are taken back at the end; what was committed in between stays. */
static bool round_of_heads(struct cycle *c)
{
    struct state *s = c->s;
    struct line *single = NULL;
    ready_begin_round(c);
    int32_t priority = highest_priority(s);
    uint32_t heads_n = 0, claiming_n = claims_n(s), n = 0;
    for (uint32_t i = 0; i < s->ready_n; i++) {
        struct line *l = head_of(s->ready[i], priority);
        heads_n += l != NULL;
        single = l ? l : single;
    }
    if (!heads_n)
        return false;
    drop_undue_promises(s);
    if (heads_n == 1 && !claiming_n && !s->promised_n && !s->bookings_n) {
        try_line(c, single);
        return true;
    }
    struct nominee *all = arena_zero(c->a, heads_n + claiming_n, sizeof *all);
    n = claiming_n ? nominate_claims(c, all) : 0;
    for (uint32_t i = 0; i < s->ready_n; i++) {
        struct line *l = head_of(s->ready[i], priority);
        if (!l)
            continue;
        all[n] = (struct nominee){.gang = line_first(l), .line = l, .as = nominate(c, line_first(l)), .has = deserve_used(s, l->queue)};
        find_claim(c, &all[n++], l->queue);
    }
    uint32_t mark = undo_mark(s);
    uint32_t fair_n = s->fair.on ? put_last(all, n) : 0;
    bool *waits = arena_zero(c->a, s->quota.nodes_n + 1, sizeof *waits);
    if (fair_n)
        take_turns_fairly(c, all, fair_n, waits);
    take_turns(c, all + fair_n, n - fair_n, waits);
    undo_back(s, mark);
    return true;
}

/* ---- the whole ---- */

static void no_earlier(int64_t *wake_ms, int64_t other_ms)
{
    if (other_ms && (!*wake_ms || other_ms < *wake_ms))
        *wake_ms = other_ms;
}

bool decide_has_work(const struct state *s)
{
    return s->explain_by_ms || decide_tries(s);
}

bool decide_tries(const struct state *s)
{
    if (s->work_n || order_has_changes(s))
        return true;
    for (uint32_t i = 0; i < s->ready_n && !s->hold; i++)
        if (order_first(s->ready[i]))
            return true;
    return false;
}

/* Whom it lets preempt others may have waited. */
static void take_fair_sharing(struct state *s, const struct fair_policy *fair)
{
    bool same = s->fair.on == fair->on && s->fair.strategies_n == fair->strategies_n;
    for (uint32_t i = 0; i < fair->strategies_n && same; i++)
        same = s->fair.strategies[i] == fair->strategies[i];
    for (uint32_t i = 1; i < s->queues_n && !same; i++)
        quota_gain(&s->quota, s->queues[i]->quota);
    s->fair = *fair;
}

/* Are those that stand the only heads? */
static bool only_standing(const struct state *s)
{
    bool only = s->standing_root && !s->candidates_n && !s->promised_n && !s->bookings_n && !s->strict_n &&
                !s->ready_policy.block_admission;
    for (uint32_t i = 0; i < s->ready_n && only; i++)
        only = !order_first(s->ready[i]);
    return only;
}

/* Rounds of those that stand, whose order is known. */
static void let_in_standing(struct cycle *c)
{
    struct state *s = c->s;
    while (c->gangs_left && c->pods_left && only_standing(s)) {
        enum standing_round round = standing_begin_round(s, s->standing_root);
        if (round == STANDING_NOBODY)
            s->standing_root = 0;
        if (round != STANDING_ALL)
            break;
        for (struct line *l; c->gangs_left && c->pods_left && (l = standing_next(s, s->standing_root));) {
            order_line_ready(s, l, true);
            try_line(c, l);
        }
        for (struct line *l; !(c->gangs_left && c->pods_left) && (l = standing_left(s, s->standing_root));)
            order_line_ready(s, l, false); /* heads of the next cycle */
    }
    if (c->gangs_left && c->pods_left)
        order_wake_standing(s);
}

/* Everybody who may start, and everybody whose reason is looked for anew. */
static void let_in(struct cycle *c)
{
    struct state *s = c->s;
    let_in_standing(c);
    do
        order_pick(s);
    while (c->gangs_left && c->pods_left && (round_of_heads(c) || claim_ended(s, c->a)));
    /* WHY  last: nobody can start of those that are tried for their reason's sake, and they must not stand in anybody's way */
    if (s->refresh_ms && s->refresh_ms <= c->now_ms && !cycle_explains_later(c) && order_refresh(s, c->now_ms))
        while (c->gangs_left && c->pods_left && round_of_heads(c))
            ;
}

void decide(struct state *s, const struct decide_config *config, int64_t now_ms, struct arena *a, struct plan *ret_plan)
{
    *ret_plan = (struct plan){0};
    struct cycle c = {.s = s, .a = a, .plan = ret_plan, .now_ms = now_ms};
    c.gangs_left = config && config->gangs_max ? config->gangs_max : GANGS_MAX_DEFAULT;
    c.pods_left = config && config->pods_max ? config->pods_max : PODS_MAX_DEFAULT;
    c.no_remedies = config && config->no_remedies;
    c.trials_left = c.no_remedies ? 0 : CYCLE_TRIALS;
    c.no_counts = config && config->no_counts;
    c.find_remedies = remedy_find;
    c.preempt_trials_left = c.spare_trials_left = CYCLE_PREEMPT_TRIALS;
    load_begin(s, now_ms);
    s->now_ms = now_ms;
    enum placement placement = config ? config->placement : PLACEMENT_BINPACK;
    if (s->placement != placement)
        view_table_forget(s);
    s->placement = placement;
    s->placement_seed = config ? config->placement_seed : 0;
    s->keeps_whole = config && config->keeps_whole;
    if (s->hold && !(config && config->hold))
        order_wake_lost(s);
    s->hold = config && config->hold;
    s->all_wake = config && config->all_wake;
    s->node_wishes = config && config->node_wishes;
    s->lost_policy = config ? config->lost : (struct lost_policy){0};
    take_fair_sharing(s, config ? &config->fair : &(struct fair_policy){0});
    deserve_settle(s, a);
    quota_settle(&s->quota);
    promises_rank(s);
    order_begin(s, now_ms);
    line_up_all(&c);
    settle_all(&c, false);
    line_up_all(&c); /* those that have left */
    lone_drop_lost(s);
    bookings_begin(s);
    carry_begin(s);
    if (!s->hold)
        let_in(&c);
    settle_all(&c, true);
    for (uint32_t i = 0; i < s->ready_n; i++)
        if (order_first(s->ready[i]))
            c.trials_left = 0; /* not all have been tried: who would be next is not known */
    cycle_tell_lines(&c);
    remedy_tell_stopped(&c);
    remedy_tell_missing(&c);
    if (!c.explains_later)
        s->explain_by_ms = 0;
    order_end(s);
    const struct gang *first = heap_first(&s->timers);
    ret_plan->wake_ms = first ? first->retry_ms : 0;
    no_earlier(&ret_plan->wake_ms, s->refresh_ms);
    no_earlier(&ret_plan->wake_ms, ready_next_ms(s));
    no_earlier(&ret_plan->wake_ms, consumption_next_ms(s));
    no_earlier(&ret_plan->wake_ms, bookings_next_ms(s));
    no_earlier(&ret_plan->wake_ms, carry_next_ms(s));
}
