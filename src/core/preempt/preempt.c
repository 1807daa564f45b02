#include "core/preempt/preempt.h"
#include "core/place/undo.h"
#include "core/preempt/coming.h"
#include "core/queue/checks.h"
#include "core/time/booking.h"

/* ---- flavors ---- */

struct oracle {
    struct cycle *c;
    struct gang *gang;
    struct queue *queue;
    enum preemption_lack lack;
    struct fair_refusal refused; /* LACK_SHARES */
    bool any;                  /* it was asked */
};

static void note_lack(struct oracle *o, const struct victims *v)
{
    if (v->lack == LACK_SHARES && o->refused.why == FAIR_ALLOWS)
        o->refused = v->refused;
    o->lack = v->lack > o->lack ? v->lack : o->lack;
}

/* SOURCE Kueue, preemption oracle: one flavor and resource for itself. */
static enum quota_mode ask(void *arg, name_id flavor, name_id resource, int64_t amount, uint32_t *ret_level)
{
    struct oracle *o = arg;
    bool is_short = true;
    struct charge need = {flavor, resource, amount};
    struct preemptor x = {.c = o->c, .gang = o->gang, .queue = o->queue, .needs = &need, .needs_n = 1, .is_short = &is_short,
                          .alone = true};
    struct victims v;
    o->any = true;
    if (!victims_find(&x, NULL, 0, &v) && v.lack != LACK_COMING) {
        note_lack(o, &v);
        return QUOTA_NOBODY;
    }
    *ret_level = v.borrow_level;
    for (uint32_t i = 0; i < v.n; i++)
        if (v.all[i].class == CLASS_OWN)
            return QUOTA_PREEMPTS;
    return QUOTA_RECLAIMS;
}

struct flavor_oracle preempt_oracle(struct cycle *c, struct gang *g, struct queue *q)
{
    struct oracle *o = arena_alloc(c->a, sizeof *o);
    *o = (struct oracle){.c = c, .gang = g, .queue = q, .lack = LACK_CANDIDATES};
    const struct promise *p = g->promise && g->promise->victims_n && g->promise->queue == q ? g->promise : NULL;
    return (struct flavor_oracle){ask, o, p};
}

/* ---- one assignment ---- */

/* Where quota is enough and nodes said no, everything that it needs counts as short. */
static struct preemptor preemptor_of(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f)
{
    struct preemptor x = {.c = c, .gang = g, .queue = q, .needs = f->charges, .needs_n = f->charges_n,
                          .choices = f->choices, .choices_n = f->choices_n};
    bool any = false;
    x.is_short = arena_alloc(c->a, f->charges_n + 1);
    for (uint32_t i = 0; i < f->charges_n; i++) {
        const struct charge *need = &f->charges[i];
        x.is_short[i] = need->amount > quota_available(&c->s->quota, q->quota, need->flavor, need->resource);
        any |= x.is_short[i];
    }
    x.for_nodes = !any;
    for (uint32_t i = 0; i < f->charges_n && !any; i++)
        x.is_short[i] = f->charges[i].amount > 0;
    return x;
}

/* Quota and nodes have room for it. WHY  flavors that fit are looked for without preemption, and in another order: nobody goes for those
 * that only this search comes by. */
static bool needs_nobody(const struct preemptor *x, const struct flavor_search *f, struct want *wants, uint32_t n)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s), steps = PLACE_STEPS;
    struct misfit unused;
    bool fits = x->for_nodes && f->tries_n && place_all(s, x->gang, wants, n, &steps, &unused);
    undo_back(s, mark);
    return fits;
}

/* With them gone: do those whose start is promised have their quota then? */
static bool is_allowed(const struct preemptor *x, struct victims *v)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    if (!s->bookings_n)
        return true;
    victims_leave(s, v);
    for (uint32_t i = 0; i < x->needs_n; i++)
        undo_charge(s, x->queue->quota, x->needs[i].flavor, x->needs[i].resource, x->needs[i].amount);
    bool allowed = bookings_allow(s, x->queue);
    undo_back(s, mark);
    v->lack = allowed ? v->lack : LACK_QUOTA;
    return allowed;
}

static bool find_under(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f, bool stays, bool keep,
                       struct victims *ret_victims)
{
    struct preemptor x = preemptor_of(c, g, q, f);
    struct wishes w = {0};
    x.stays = stays;
    if (g->planned)
        w.wants = try_wish_all(c, g, f, &w.shapes, &w.n);
    else
        (void)try_wishes(c, g, q, 0, &w);
    w.shapes_n = g->planned ? g->sets_n : 0;
    uint32_t n = checks_demanded(q, f->choices, f->choices_n) ? 0 : w.n; /* else quota is all that it takes now */
    *ret_victims = (struct victims){.lack = LACK_CANDIDATES};
    bool found = !needs_nobody(&x, f, w.wants, n);
    uint32_t mark = undo_mark(c->s);
    if (queue_is_none(q))
        (void)coming_lift(c->s, g);
    found = found && victims_find(&x, w.wants, n, ret_victims) && is_allowed(&x, ret_victims);
    if (found && keep && !stays)
        victims_spare(&x, w.wants, n, ret_victims);
    undo_back(c->s, mark);
    if (found && keep)
        promise_make(&x, ret_victims, w.wants, n);
    wishes_release(c->s, &w);
    return found;
}

bool preempt_assignment(struct cycle *c, struct gang *g, struct queue *q, const struct flavor_search *f, bool keep,
                        struct victims *ret_victims)
{
    return find_under(c, g, q, f, false, keep, ret_victims);
}

/* ---- as promised ---- */

static bool has_as_many_as_promised(const struct gang *g, const struct promise *p)
{
    bool same = true;
    for (uint32_t i = 0; i < g->sets_n; i++)
        same &= g->sets[i].count == (p->granted ? p->granted[i] : g->sets[i].asked_n);
    return same;
}

bool preempt_as_promised(struct cycle *c, struct gang *g, struct queue *q, bool keep)
{
    const struct promise *p = g->promise;
    struct victims unused;
    if (!p || !p->victims_n || p->queue != q || !g->planned || !has_as_many_as_promised(g, p))
        return false;
    const struct flavor_search as_promised = {.queue = q, .choices = p->choices, .choices_n = p->choices_n, .charges = p->charges,
                                              .charges_n = p->charges_n};
    return find_under(c, g, q, &as_promised, true, keep, &unused);
}

/* ---- all assignments ---- */

static void begin(struct cycle *c, struct gang *g, struct queue *q, struct flavor_search *search)
{
    uint32_t n;
    const struct flavor_demand *sets = try_demands(c, g, &n);
    flavor_search_begin(c->s, search, q, sets, n, c->a);
    search->oracle = preempt_oracle(c, g, q);
}

static void add_lack(struct cycle *c, const struct queue *q, enum preemption_lack lack,
                     const struct fair_refusal *refused, struct reason *why)
{
    struct reason *r =
        reason_new(c->a, (struct reason){.code = REASON_NO_PREEMPTION, .queue = q->title, .queue_kind = q->kind, .have = lack,
                                         .need = lack == LACK_EARLY ? c->stays_until_ms : 0});
    const struct queue *other = lack == LACK_SHARES && refused->other_is_queue ? queue_find(c->s, refused->other) : NULL;
    if (lack == LACK_SHARES)
        reason_add(r, reason_new(c->a, (struct reason){.code = REASON_SHARES, .queue = other ? other->title : 0,
                                                       .name = other ? 0 : refused->other, .have = refused->other_share,
                                                       .need = refused->own_share}));
    reason_add_once(why, r);
}

bool preempt_counts(struct cycle *c, struct gang *g, struct queue *q, bool keep, struct reason *why)
{
    struct flavor_search search;
    struct victims v = {0};
    struct reason *unused = reason_new(c->a, (struct reason){.code = REASON_WAITING});
    if (preempt_as_promised(c, g, q, keep))
        return true;
    begin(c, g, q, &search);
    struct oracle *asked = search.oracle.arg;
    bool thought_of = false;
    do {
        if (!flavor_search_next(c->s, &search, c->a, unused))
            break;
        thought_of = true;
        if (preempt_assignment(c, g, q, &search, keep, &v))
            return true;
        note_lack(asked, &v);
    } while (v.lack != LACK_COMING && flavor_refuse(&search, search.sets_n - 1, false));
    enum preemption_lack lack = asked->lack;
    /* quota is short, and no flavor is one where preemption is thought of */
    if (!thought_of && !asked->any && reason_find(why->child, REASON_QUOTA_SHORT))
        lack = shares_fairly(c->s, q) ? LACK_RECLAIM : LACK_BORROWING;
    if (q->has_shares && lack == LACK_CANDIDATES && search.borrow_level)
        lack = LACK_BORROWING;
    if (c->stays_until_ms && lack != LACK_COMING)
        lack = LACK_EARLY;
    add_lack(c, q, lack, &asked->refused, why);
    return false;
}

bool preempt_nominate(struct cycle *c, struct gang *g, struct queue *q, struct nomination *ret_nomination)
{
    struct flavor_search search;
    struct victims v;
    struct reason *unused = reason_new(c->a, (struct reason){.code = REASON_WAITING});
    begin(c, g, q, &search);
    do {
        if (!flavor_search_next(c->s, &search, c->a, unused))
            return false;
        if (!search.preempts && !flavor_preempts_first(q))
            continue; /* as in preempt_assignment */
        struct preemptor x = preemptor_of(c, g, q, &search);
        if (search.preempts && !victims_find(&x, NULL, 0, &v) && v.lack != LACK_COMING)
            continue;
        *ret_nomination = (struct nomination){search.preempts ? v.borrow_level : search.borrow_level, search.charges, search.charges_n};
        return true;
    } while (flavor_refuse(&search, search.sets_n - 1, false));
    return false;
}
