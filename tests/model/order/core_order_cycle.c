/* core_order_cycle.c - Kueue's cycle: the heads of all queues, whose turn it is, and what becomes of each */
#include "core_order.h"
#include <limits.h>

enum { UNKEPT_MOST = 4 };      /* promises */

bool is_in_front(const struct plain_gang *a, const struct plain_gang *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms && (!b->due_ms || a->due_ms < b->due_ms);
    return a->created_ms < b->created_ms;
}

bool gang_before(const struct plain_gang *a, const struct plain_gang *b)
{
    char left[16], right[16];
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->due_ms != b->due_ms || a->created_ms != b->created_ms)
        return is_in_front(a, b);
    snprintf(left, sizeof left, "g%d", a->serial);
    snprintf(right, sizeof right, "g%d", b->serial);
    return strcmp(left, right) < 0;
}

bool is_waiting(const struct model *m, const struct plain_gang *g)
{
    return g->exists && !g->admitted && g->active && g->not_before_ms <= m->w.now_ms;
}

/* Of those that wait, or but for those that had their turn in this cycle. */
static struct plain_gang *first_of(struct model *m, int queue, bool but_tried)
{
    struct plain_gang *first = NULL;
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!is_waiting(m, g) || (but_tried && g->tried) || g->queue != queue)
            continue;
        int used = first ? compare_used(m, g, first) : -1;
        m->counts.by_use_n += first && used && (used < 0) != gang_before(g, first);
        if (used < 0 || (!used && gang_before(g, first)))
            first = g;
    }
    return first;
}

static struct plain_gang *head_of(struct model *m, int queue, bool blocked)
{
    return blocked ? NULL : first_of(m, queue, true);
}

void note(struct model *m, int gang, int victim_of)
{
    m->decided[m->decided_n++] = (struct decision){gang, victim_of};
}

static enum preemption reason_of(const struct victim *v)
{
    static const enum preemption reasons[] = {PREEMPTION_RECLAIM, PREEMPTION_RECLAIM, PREEMPTION_IN_QUEUE, PREEMPTION_FAIR_SHARING};
    return v->class == 1 && v->while_borrowing ? PREEMPTION_RECLAIM_WHILE_BORROWING : reasons[v->class];
}

static void evict(struct model *m, const struct plain_gang *g, const struct answer *a)
{
    m->counts.preemptions_n++;
    m->counts.further_n += m->promises_n > 0;
    m->counts.freed_places_n += a->need.for_nodes;
    for (int i = 0; i < g->sets_n; i++)
        m->counts.fewer_by_others_n += a->given.count[i] < g->sets[i].asked_n;
    make_promise(m, g, a);
    for (int i = 0; i < a->victims.n; i++) {
        const struct victim *v = &a->victims.all[i];
        m->counts.checking_victims_n += m->gangs[v->gang].checking && !m->gangs[v->gang].leaving;
        if (!m->gangs[v->gang].leaving)
            note(m, v->gang, (int)reason_of(v));
        m->gangs[v->gang].leaving = true;
        forget_lost(&m->gangs[v->gang]);
    }
}

static void admit(struct model *m, struct plain_gang *g, const struct given *given, const struct seats *on)
{
    g->on = *on;
    g->admitted = true;
    g->alone = false;
    g->unkept_n = 0;
    g->reserved_ms = m->w.now_ms - m->w.now_ms % 1000; /* as the API will have it */
    g->given = *given;
    struct amounts a = charged_now(g);
    add_amounts(m, g->queue, &a, 1);
    consumption_enters(m, g);
    g->checking = is_checked(m, g, given);
    note(m, (int)(g - m->gangs), g->checking ? RESERVED : ADMITTED);
}

/* SOURCE Kueue, scheduling equivalence hashing: of another priority is not alike. Where nobody goes for anybody it makes no difference. */
static bool are_alike(const struct model *m, const struct plain_gang *a, const struct plain_gang *b)
{
    return a->queue == b->queue && a->local == b->local && a->charged_only == b->charged_only && !a->alone && !b->alone &&
           (a->priority == b->priority || !preempts(&m->nodes[COHORTS + a->queue])) && a->sets_n == b->sets_n &&
           !memcmp(a->sets, b->sets, sizeof a->sets);
}

/* What stops it stops all that are like it. */
static void stop_alike(struct model *m, const struct plain_gang *g)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *one = &m->gangs[i];
        bool stops = is_waiting(m, one) && !one->tried && are_alike(m, one, g);
        one->tried |= stops;
        m->counts.alike_n += stops;
    }
}

/* Where that happened often, nobody goes for it before it has waited. */
static void end_promise(struct model *m, struct plain_gang *g, struct plain_promise *p, bool starts)
{
    if (!starts && p->victims.n && ++g->unkept_n > UNKEPT_MOST) {
        g->unkept_n = 0;
        m->in_vain = true;
    }
    drop_promise(m, p);
}

/* True: it is admitted, or others go for it. */
static bool try_one(struct model *m, struct plain_gang *g, bool blocked[QUEUES])
{
    put_promises_beside(m, g);
    struct plain_promise *p = promise_of(m, g);
    bool vain = g->patient || (p && !p->victims.n); /* others went for it: nobody else goes before it has waited */
    struct answer a = decide_one(m, g, vain);
    if (a.what == OTHERS_GO && !vain)
        spare_equals(m, g, &a.need, &a.victims, &a.level);
    take_promises_off(m);
    g->tried = true;
    m->counts.coming_n += a.what == OTHERS_LEAVE;
    m->counts.kept_n += p && a.what != NOTHING;
    m->in_vain |= vain && a.what != STARTS;
    if (vain && a.what == OTHERS_GO) {
        a.what = NOTHING;
        m->counts.vain_n++;
    }
    if (p && a.what != OTHERS_GO)
        end_promise(m, g, p, a.what == STARTS);
    if (a.what == OTHERS_GO)
        evict(m, g, &a);
    else if (a.what == STARTS)
        admit(m, g, &a.given, &a.on);
    g->alone |= a.what == OTHERS_GO;
    if (a.what == NOTHING || a.what == OTHERS_LEAVE)
        stop_alike(m, g);
    if (!g->admitted)
        blocked[g->queue] |= m->nodes[COHORTS + g->queue].strict;
    return a.what == STARTS || a.what == OTHERS_GO;
}

/* The queue may take back what it lent, and has somebody more to try: until he had his turn nobody in its tree starts who would borrow. */
static bool goes_on(struct model *m, int queue, bool blocked)
{
    const struct tree_node *n = &m->nodes[COHORTS + queue];
    return n->parent >= 0 && n->reclaim != PREEMPT_NEVER && head_of(m, queue, blocked);
}

static bool comes_first(const struct plain_head *a, const struct plain_head *b)
{
    return a->level != b->level ? a->level < b->level : gang_before(a->gang, b->gang);
}

/* The queue whose head is next; -1: all had their turn. */
static int next_head(struct model *m, const struct plain_head heads[QUEUES])
{
    int best = -1;
    if (m->w.fair.on)
        return next_fairly(m, heads);
    for (int q = 0; q < QUEUES; q++)
        if (heads[q].gang && (best < 0 || comes_first(&heads[q], &heads[best])))
            best = q;
    return best;
}

/* Queues of Volcano whose priority is not the highest of those that have a head do without one. */
static void keep_highest(const struct model *m, struct plain_gang *heads[QUEUES])
{
    int most = INT_MIN;
    for (int q = 0; q < QUEUES; q++)
        if (heads[q] && m->nodes[COHORTS + q].volcano && m->nodes[COHORTS + q].priority > most)
            most = m->nodes[COHORTS + q].priority;
    for (int q = 0; q < QUEUES; q++)
        if (m->nodes[COHORTS + q].volcano && m->nodes[COHORTS + q].priority < most)
            heads[q] = NULL;
}

static void nominate(struct model *m, const bool blocked[QUEUES], struct plain_head heads[QUEUES])
{
    struct plain_gang *first[QUEUES];
    for (int q = 0; q < QUEUES; q++)
        first[q] = head_of(m, q, blocked[q]);
    keep_highest(m, first);
    m->blind = true;
    for (int q = 0; q < QUEUES; q++) {
        heads[q] = (struct plain_head){.gang = first[q]};
        if (!first[q])
            continue;
        const struct plain_promise *p = promise_of(m, first[q]);
        struct answer a = p ? (struct answer){.what = STARTS, .need = p->need, .level = p->level} : decide_one(m, first[q], false);
        if (a.what == NOTHING)
            a = place_of_failing(m, first[q]);
        heads[q].uses = a.need.amount;
        heads[q].level = a.level;
    }
    m->blind = false;
}

/* In a StrictFIFO queue nobody waits for others behind somebody else. */
static void drop_undue(struct model *m)
{
    for (int i = m->promises_n; i-- > 0;) {
        const struct plain_promise *p = &m->promises[i];
        if (!m->nodes[COHORTS + p->queue].strict || first_of(m, p->queue, false) == &m->gangs[p->gang])
            continue;
        m->gangs[p->gang].patient = !p->victims.n; /* nobody else goes for it before it has waited */
        m->in_vain |= !p->victims.n;
        drop_promise(m, &m->promises[i]);
    }
}

void reference(struct model *m)
{
    bool blocked[QUEUES] = {false}, any = !m->w.hold;
    struct plain_head heads[QUEUES];
    m->decided_n = 0;
    consumption_cycle(m);
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].tried = m->gangs[i].patient = false;
    settle_checks(m);
    while (any) {
        bool waits[NODES] = {false};
        drop_undue(m);
        nominate(m, blocked, heads);
        any = false;
        for (int next; (next = next_head(m, heads)) >= 0; any = true) {
            struct plain_gang *g = heads[next].gang;
            bool borrows = heads[next].level > 0, *tree_waits = &waits[root_of(m, COHORTS + next)];
            heads[next].gang = NULL;
            if (borrows && *tree_waits)
                continue;
            *tree_waits |= try_one(m, g, blocked) && !borrows && goes_on(m, next, blocked[next]);
        }
    }
}

