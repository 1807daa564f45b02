/* core_order.c - who is admitted, in which order, with which flavor, and who is preempted for whom: random cohort trees against Kueue's
 * cycle written out plainly
 *
 *   core_order [SEED [STEPS [RUNS]]]
 *
 * Nodes have room for all, so only quota and order decide. The cycle: the head of every queue; who borrows less comes first, then
 * priority, age, uid, or as shares say in every other world; each is tried with what those before it left, but for those who would borrow
 * while a queue that may take that back goes on within its own quota; a head that fails blocks a StrictFIFO queue and steps aside in a
 * BestEffortFIFO one; again until no queue has a head. StrictFIFO queues in a cohort may reclaim whatever they lent, so a blocked head
 * keeps nothing for itself. Of Volcano's queues those with the highest priority go first. A head for whom others must go steps aside as
 * well, and what is promised to it is nobody else's for the rest of the cycle; those who were told to leave do so some cycles later. Who
 * is admitted and who is evicted, in which order and for which reason, is what the core must say; on hold nobody is. Everybody is tried in
 * each cycle: queues are told anew before it, or, where all of them preempt and so wait for anything, a node gains room; then promises
 * outlive the cycle.
 * Objects say how long a job should run, when its last checkpoint was and how long its pods take to end; some have pods that budgets
 * protect: of equals those go by whose end less is lost.
 * In most worlds each queue has LocalQueues, and of most queues who has used less comes first. Now and then, in a copy of the core, all who
 * wait are tried though nothing woke them: nobody may start (forced.h).
 * Most gangs ask for an amount of their own. Of those that are alike in a queue, as the core's lines have it, the first is tried for all.
 */
#include "core_order.h"
#include <limits.h>
#include "../forced.h"

enum { FORCE_EVERY = 8 };      /* steps */

static uint32_t pick(struct model *m, uint32_t n)
{
    return (uint32_t)random_below(&m->random, n);
}

/* ---- the cycle ---- */

enum mode { MODE_FITS, MODE_RECLAIMS, MODE_PREEMPTS, MODE_NOT };
struct choice {
    int flavor, level;
    enum mode mode;
};

static bool preempts_to_borrow(const struct model *m, int queue)
{
    return m->nodes[queue].borrow != PREEMPT_NEVER || (m->w.fair.on && m->nodes[queue].reclaim != PREEMPT_NEVER);
}

/* One flavor and resource for itself. */
static enum mode mode_of(struct model *m, const struct plain_gang *g, int f, int r, int *ret_level)
{
    int queue = COHORTS + g->queue, i = queue;
    int64_t need = g->ask[r] * g->count, left = need;
    *ret_level = borrow_level(m, queue, f, r, need);
    if (need <= available(m, queue, f, r))
        return MODE_FITS;
    if (need > potential(m, queue, f, r))
        return MODE_NOT;
    while (m->nodes[i].parent >= 0 && usage(m, i, f, r) + left > subtree(m, i, f, r)) {
        left -= max0(kept(m, i, f, r) - usage(m, i, f, r));
        i = m->nodes[i].parent;
    }
    if (need > m->nodes[queue].quota[f][r].nominal && !preempts_to_borrow(m, queue) && m->nodes[i].parent < 0)
        return MODE_NOT;
    struct need x = {.flavor = f};
    x.amount[r] = need;
    x.is_short[r] = true;
    struct victims v = find_victims(m, g, &x, ret_level);
    enum mode mode = v.n || v.coming ? MODE_RECLAIMS : MODE_NOT;
    for (int k = 0; k < v.n; k++)
        mode = v.all[k].class == 2 ? MODE_PREEMPTS : mode;
    return mode;
}

/* Fitting is better than taking back, and that than ending one's own; then the lower level, or the level first. */
static bool is_better(const struct tree_node *own, const struct choice *a, const struct choice *b)
{
    if (own->level_first && a->level != b->level)
        return a->level < b->level;
    return a->mode < b->mode || (a->mode == b->mode && a->level < b->level);
}

/* Flavors in order, each as good as the resource that it is worst for. */
static struct choice find_flavor(struct model *m, const struct plain_gang *g, int but)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct choice best = {.flavor = -1, .mode = MODE_NOT};
    bool best_fits = true;
    for (int f = 0; f < FLAVORS; f++) {
        struct choice one = {.flavor = f};
        bool may = !(but >> f & 1), fits = true;
        for (int r = 0; r < RES_N && may; r++) {
            struct choice of = {.flavor = f};
            of.mode = g->ask[r] ? mode_of(m, g, f, r, &of.level) : MODE_FITS;
            one = g->ask[r] && is_better(own, &one, &of) ? of : one;
            may = of.mode != MODE_NOT;
            fits &= of.mode == MODE_FITS;
        }
        if (!may)
            continue;
        if (best.flavor < 0 || is_better(own, &one, &best)) {
            best = one;
            best_fits = fits;
        }
        if ((!one.level || own->borrow_stops) && (one.mode == MODE_FITS || own->preempt_stops))
            break;
    }
    if (best.mode == MODE_FITS && !best_fits) /* it borrows more of what fits than of what does not */
        best.mode = MODE_PREEMPTS;
    return best;
}

static bool holds_as_promised(const struct model *m, const struct plain_promise *p)
{
    bool holds = true;
    for (int r = 0; r < RES_N; r++)
        holds &= !p->need.amount[r] || p->need.amount[r] <= available(m, COHORTS + p->queue, p->need.flavor, r);
    return holds;
}

/* The gang's end of the cycle: which flavor, or who must go. Flavors in which nobody can are passed over. */
static struct choice decide_one(struct model *m, const struct plain_gang *g, struct victims *ret_victims, struct need *ret_need)
{
    struct choice c;
    const struct plain_promise *p = promise_of(m, g);
    ret_victims->n = 0;
    ret_victims->coming = false;
    if (p && holds_as_promised(m, p))
        return (struct choice){p->need.flavor, p->level, MODE_FITS};
    for (int but = 0; (c = find_flavor(m, g, but)).flavor >= 0; but |= 1 << c.flavor) {
        struct need x = {.flavor = c.flavor};
        if (c.mode == MODE_FITS)
            return c;
        for (int r = 0; r < RES_N; r++) {
            x.amount[r] = g->ask[r] * g->count;
            x.is_short[r] = x.amount[r] && x.amount[r] > available(m, COHORTS + g->queue, c.flavor, r); /* below 0 after a cut */
        }
        *ret_victims = find_victims(m, g, &x, &c.level);
        *ret_need = x;
        if (ret_victims->n || ret_victims->coming)
            return c;
    }
    return c;
}

/* Where it stands in a round though nothing can be done for it: as if those in the way gave way. */
static struct choice place_of_failing(struct model *m, const struct plain_gang *g)
{
    int queue = COHORTS + g->queue;
    struct choice best = {.flavor = -1};
    for (int f = 0; f < FLAVORS; f++) {
        int level = 0;
        bool may = true;
        for (int r = 0; r < RES_N; r++) {
            int64_t need = g->ask[r] * g->count;
            int borrows = need ? borrow_level(m, queue, f, r, need) : 0;
            bool waits = need <= potential(m, queue, f, r) &&
                         (need <= m->nodes[queue].quota[f][r].nominal || preempts_to_borrow(m, queue));
            level = borrows > level ? borrows : level;
            may &= !need || need <= available(m, queue, f, r) || waits;
        }
        if (!may)
            continue;
        if (best.flavor < 0 || level < best.level)
            best = (struct choice){f, level, MODE_NOT};
        if (!level || m->nodes[queue].borrow_stops)
            break;
    }
    return best;
}

bool gang_before(const struct plain_gang *a, const struct plain_gang *b)
{
    char left[16], right[16];
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->created_ms != b->created_ms)
        return a->created_ms < b->created_ms;
    snprintf(left, sizeof left, "g%d", a->serial);
    snprintf(right, sizeof right, "g%d", b->serial);
    return strcmp(left, right) < 0;
}

/* Of those that wait, or but for those that had their turn in this cycle. */
static struct plain_gang *first_of(struct model *m, int queue, bool but_tried)
{
    struct plain_gang *first = NULL;
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->exists || g->admitted || (but_tried && g->tried) || g->queue != queue)
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

static void note(struct model *m, int gang, int victim_of)
{
    m->decided[m->decided_n++] = (struct decision){gang, victim_of};
}

static enum preemption reason_of(const struct victim *v)
{
    static const enum preemption reasons[] = {PREEMPTION_RECLAIM, PREEMPTION_RECLAIM, PREEMPTION_IN_QUEUE, PREEMPTION_FAIR_SHARING};
    return v->class == 1 && v->while_borrowing ? PREEMPTION_RECLAIM_WHILE_BORROWING : reasons[v->class];
}

static void evict(struct model *m, const struct plain_gang *g, const struct need *x, const struct victims *v, int level)
{
    m->counts.preemptions_n++;
    m->counts.further_n += m->promises_n > 0;
    make_promise(m, g, x, v, level);
    for (int i = 0; i < v->n; i++) {
        struct plain_gang *victim = &m->gangs[v->all[i].gang];
        if (!victim->leaving)
            note(m, v->all[i].gang, (int)reason_of(&v->all[i]));
        victim->leaving = true;
    }
}

static void admit(struct model *m, struct plain_gang *g, int f)
{
    g->admitted = true;
    g->alone = false;
    g->reserved_ms = m->w.now_ms; /* later than all that the API has told of */
    g->flavor = f;
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + g->queue].own[f][r] += g->ask[r] * g->count;
    consumption_enters(m, g);
    note(m, (int)(g - m->gangs), ADMITTED);
}

static bool are_alike(const struct plain_gang *a, const struct plain_gang *b)
{
    return a->queue == b->queue && a->local == b->local && a->count == b->count && a->charged_only == b->charged_only && !a->alone &&
           !b->alone && !memcmp(a->ask, b->ask, sizeof a->ask);
}

/* What stops it stops all that are like it. */
static void stop_alike(struct model *m, const struct plain_gang *g)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *one = &m->gangs[i];
        bool stops = one->exists && !one->admitted && !one->tried && are_alike(one, g);
        one->tried |= stops;
        m->counts.alike_n += stops;
    }
}

/* True: it is admitted, or others go for it. */
static bool try_one(struct model *m, struct plain_gang *g, bool blocked[QUEUES])
{
    struct victims v;
    struct need x;
    put_promises_beside(m, g);
    struct choice c = decide_one(m, g, &v, &x);
    struct plain_promise *p = promise_of(m, g);
    bool vain = g->patient || (p && !p->victims.n); /* others went for it: nobody else goes before it has waited */
    if (v.n && !vain)
        spare_equals(m, g, &x, &v, &c.level);
    take_promises_off(m);
    g->tried = true;
    m->counts.coming_n += v.coming;
    m->counts.kept_n += p && c.flavor >= 0;
    m->in_vain |= vain && (c.flavor < 0 || v.coming || v.n);
    if (vain && v.n) {
        v.n = 0;
        c.flavor = -1;
        m->counts.vain_n++;
    }
    if (p && !v.n)
        drop_promise(m, p);
    if (v.n)
        evict(m, g, &x, &v, c.level);
    else if (c.flavor >= 0 && !v.coming)
        admit(m, g, c.flavor);
    g->alone |= v.n > 0;
    if (!g->admitted && !v.n)
        stop_alike(m, g);
    if (!g->admitted)
        blocked[g->queue] |= m->nodes[COHORTS + g->queue].strict;
    return g->admitted || v.n;
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
    struct victims unused;
    struct need unused_need;
    for (int q = 0; q < QUEUES; q++)
        first[q] = head_of(m, q, blocked[q]);
    keep_highest(m, first);
    for (int q = 0; q < QUEUES; q++) {
        heads[q] = (struct plain_head){0};
        if (!first[q])
            continue;
        const struct plain_promise *p = promise_of(m, first[q]);
        struct choice c = p ? (struct choice){p->need.flavor, p->level, MODE_FITS} : decide_one(m, first[q], &unused, &unused_need);
        c = c.flavor < 0 ? place_of_failing(m, first[q]) : c;
        heads[q] = (struct plain_head){first[q], c.flavor, c.level};
    }
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

static void reference(struct model *m)
{
    bool blocked[QUEUES] = {false}, any = !m->w.hold;
    struct plain_head heads[QUEUES];
    m->decided_n = 0;
    consumption_cycle(m);
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].tried = m->gangs[i].patient = false;
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

/* ---- random steps ---- */

static void put_quotas(struct model *m, int i)
{
    for (int f = 0; f < FLAVORS; f++)
        for (int r = 0; r < RES_N; r++) {
            int64_t unit = r ? 1 : 1000;
            struct quota *q = &m->nodes[i].quota[f][r];
            q->named = i >= COHORTS || pick(m, 3) == 0;
            q->nominal = unit * pick(m, i < COHORTS ? 4 : 8);
            q->borrowing = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
            q->lending = pick(m, 3) ? NO_LIMIT : unit * pick(m, 5);
        }
}

static void put_policies(struct model *m, struct tree_node *n)
{
    static const enum preemption_policy within[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_LOWER_OR_NEWER_EQUAL_PRIORITY},
                                        reclaim[] = {PREEMPT_NEVER, PREEMPT_LOWER_PRIORITY, PREEMPT_ANY};
    n->within = within[pick(m, 3)];
    n->reclaim = n->strict && n->parent >= 0 ? PREEMPT_ANY : reclaim[pick(m, 3)];
    n->borrow = n->reclaim != PREEMPT_NEVER && pick(m, 2) ? PREEMPT_LOWER_PRIORITY : PREEMPT_NEVER;
    n->threshold = (int)pick(m, 4) - 1;
    n->preempt_stops = pick(m, 4) == 0;
    n->level_first = pick(m, 3) == 0;
    if (m->quiet && n->within == PREEMPT_NEVER && (n->parent < 0 || n->reclaim == PREEMPT_NEVER))
        n->within = PREEMPT_LOWER_PRIORITY;
    if (m->seed % 4 == 0) { /* nobody is preempted, but by heads of StrictFIFO queues that take back what they lent: longer lives */
        n->within = n->borrow = PREEMPT_NEVER;
        n->reclaim = n->strict && n->parent >= 0 ? PREEMPT_ANY : PREEMPT_NEVER;
    }
}

static void put_tree(struct model *m)
{
    static const int weights[] = {1000, 1000, 1000, 2000, 333, 0};
    for (int i = 0; i < NODES; i++) {
        struct tree_node *n = &m->nodes[i];
        n->parent = i < COHORTS ? (i && pick(m, 4) ? (int)pick(m, (uint32_t)i) : -1) : (int)pick(m, COHORTS + 1) - 1;
        n->strict = pick(m, 3) == 0;
        n->borrow_stops = pick(m, 2);
        n->weight_milli = weights[pick(m, sizeof weights / sizeof *weights)];
        n->volcano = m->seed % 3 == 0 && pick(m, 3);
        n->priority = n->volcano ? (int)pick(m, 3) - 1 : 0;
        n->by_consumption = pick(m, 3);
        put_policies(m, n);
        put_quotas(m, i);
    }
}

static void make_alike(struct plain_gang *g, const struct plain_gang *to)
{
    g->queue = to->queue;
    g->local = to->local;
    g->count = to->count;
    g->charged_only = to->charged_only;
    memcpy(g->ask, to->ask, sizeof g->ask);
}

static void new_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->exists)
        return;
    *g = (struct plain_gang){.exists = true, .leaves_for = -1, .serial = ++m->serial, .queue = (int)pick(m, QUEUES),
                             .local = (int)pick(m, LOCALS), .priority = (int)pick(m, 3), .created_ms = 1000 + pick(m, 6),
                             .count = 1 + (int)pick(m, 3)};
    g->ask[0] = 500 * (1 + pick(m, 4)) + (g - m->gangs); /* below GANGS: nobody else's who is there */
    g->ask[1] = pick(m, 4);
    g->charged_only = pick(m, 3) == 0;
    g->app = (int)pick(m, 1 + APPS);
    const struct plain_gang *other = &m->gangs[pick(m, GANGS)];
    if (other->exists && m->seed % 3)
        make_alike(g, other);
    put_stakes(m, g);
    gang_record(&m->w, record_of(m, g));
}

/* Somebody else, who knows of no promise, has let one in where room is promised. */
static void new_gang_of_others(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    if (g->exists || !m->promises_n)
        return;
    const struct plain_promise *p = &m->promises[pick(m, (uint64_t)m->promises_n)];
    *g = (struct plain_gang){.exists = true, .admitted = true, .leaves_for = -1, .serial = ++m->serial, .queue = p->queue,
                             .local = (int)pick(m, LOCALS), .flavor = p->need.flavor, .priority = (int)pick(m, 3),
                             .created_ms = 1000 + pick(m, 6), .count = 1};
    g->reserved_ms = 1000 * (1 + pick(m, 4));
    g->ask[0] = p->need.amount[0] / 500 * 500 + GANGS + (g - m->gangs); /* once it waits it is like nobody else */
    g->ask[1] = p->need.amount[1];
    for (int r = 0; r < RES_N; r++)
        m->nodes[COHORTS + g->queue].own[g->flavor][r] += g->ask[r];
    put_stakes(m, g);
    gang_record(&m->w, record_of(m, g));
    consumption_lands(m, g);
}

static void end_gang(struct model *m)
{
    struct plain_gang *g = &m->gangs[pick(m, GANGS)];
    char name[16];
    if (!g->exists || (!g->admitted && pick(m, 3)) || (g->admitted && !g->leaving && pick(m, 3)))
        return;
    for (int r = 0; r < RES_N && g->admitted; r++)
        m->nodes[COHORTS + g->queue].own[g->flavor][r] -= g->ask[r] * g->count;
    forget_victim(m, g);
    if (promise_of(m, g))
        drop_promise(m, promise_of(m, g));
    if (g->admitted)
        consumption_leaves(m, g);
    tell_pods(m, g, NULL, false);
    snprintf(name, sizeof name, "g%d", g->serial);
    gone(&m->w, CHANGE_GANG_GONE, name);
    g->exists = false;
}

static void fail(struct model *m, const char *what, int at)
{
    const struct plan *p = &m->w.plan;
    fprintf(stderr, "core_order: seed %" PRIu64 " step %" PRIu64 "%s: %s at %d\n  Kueue's cycle:", m->seed, m->step,
            m->told ? "" : " (queues not told)", what, at);
    for (int i = 0; i < m->decided_n; i++) {
        const struct plain_gang *g = &m->gangs[m->decided[i].gang];
        if (m->decided[i].victim_of == ADMITTED)
            fprintf(stderr, " g%d (q%d, %s)", g->serial, g->queue, flavors[g->flavor]);
        else
            fprintf(stderr, " -g%d", g->serial);
    }
    fprintf(stderr, "\n  the core:     ");
    for (uint32_t i = 0; i < p->entries_n; i++)
        if (p->entries[i].effect == EFFECT_EVICT)
            fprintf(stderr, " -%s", text_of(&m->w, p->entries[i].gang));
        else if (p->entries[i].effect == EFFECT_ADMIT)
            fprintf(stderr, " %s (%s, %s)", text_of(&m->w, p->entries[i].gang), text_of(&m->w, p->entries[i].queue),
                    p->entries[i].choices_n ? text_of(&m->w, p->entries[i].choices[0].flavor) : "-");
    fprintf(stderr, "\n");
    for (int i = 0; i < m->promises_n; i++) {
        const struct plain_promise *one = &m->promises[i];
        fprintf(stderr, "  promised to g%d, level %d, %s:", m->gangs[one->gang].serial, one->level, flavors[one->need.flavor]);
        for (int k = 0; k < one->victims.n; k++)
            fprintf(stderr, " g%d", m->gangs[one->victims.all[k].gang].serial);
        fprintf(stderr, "\n");
    }
    for (int i = 0; i < GANGS; i++)
        if (m->gangs[i].exists)
            fprintf(stderr, "  g%d: q%d priority %d created %d, %d x cpu %d gpu %d, %s%s\n", m->gangs[i].serial, m->gangs[i].queue,
                    m->gangs[i].priority, (int)m->gangs[i].created_ms, m->gangs[i].count, (int)m->gangs[i].ask[0], (int)m->gangs[i].ask[1],
                    m->gangs[i].admitted ? flavors[m->gangs[i].flavor] : why(&m->w, arena_printf(m->w.cycle, "g%d", m->gangs[i].serial)),
                    m->gangs[i].leaving ? ", leaves" : "");
    for (int i = COHORTS; i < NODES; i++)
        fprintf(stderr, "  q%d: weight %d within %d reclaim %d borrow %d max %d%s%s %d\n", i - COHORTS, m->nodes[i].weight_milli,
                m->nodes[i].within, m->nodes[i].reclaim, m->nodes[i].borrow, m->nodes[i].threshold, m->nodes[i].preempt_stops ? ", preempts first" : "",
                m->nodes[i].volcano ? ", Volcano" : "", m->nodes[i].priority);
    for (int i = 0; i < NODES; i++)
        for (int f = 0; f < FLAVORS; f++)
            fprintf(stderr, "  %s%d under co%d %s%s: %s cpu %s%d borrow %d lend %d, gpu %s%d borrow %d lend %d\n", i < COHORTS ? "co" : "q",
                    i < COHORTS ? i : i - COHORTS, m->nodes[i].parent, m->nodes[i].strict ? "strict " : "",
                    m->nodes[i].borrow_stops ? "stops" : "", flavors[f], m->nodes[i].quota[f][0].named ? "" : "-",
                    (int)m->nodes[i].quota[f][0].nominal, (int)m->nodes[i].quota[f][0].borrowing, (int)m->nodes[i].quota[f][0].lending,
                    m->nodes[i].quota[f][1].named ? "" : "-", (int)m->nodes[i].quota[f][1].nominal, (int)m->nodes[i].quota[f][1].borrowing,
                    (int)m->nodes[i].quota[f][1].lending);
    exit(1);
}

/* An entry of the plan beside what the reference decided. */
static void compare_one(struct model *m, const struct plan_entry *e, int at)
{
    const struct plain_gang *g = &m->gangs[m->decided[at].gang];
    int victim_of = m->decided[at].victim_of;
    const char *name = arena_printf(m->w.cycle, "g%d", g->serial);
    if (e->gang != id(&m->w, name) || (e->effect == EFFECT_ADMIT) != (victim_of == ADMITTED))
        fail(m, arena_printf(m->w.cycle, "not %s", name), at);
    for (uint32_t k = 0; k < e->choices_n; k++)
        if (e->choices[k].flavor != id(&m->w, flavors[g->flavor]))
            fail(m, "another flavor", at);
    if (victim_of == ADMITTED) {
        m->counts.admits_n++;
        return;
    }
    if (e->reason->code != REASON_PREEMPTED || e->reason->have != victim_of)
        fail(m, arena_printf(m->w.cycle, "another reason for %s than %s", name, preemption_name((enum preemption)victim_of)), at);
    m->counts.evicts_n[victim_of]++;
}

static void compare(struct model *m)
{
    int at = 0;
    for (uint32_t i = 0; i < m->w.plan.entries_n; i++) {
        const struct plan_entry *e = &m->w.plan.entries[i];
        if (e->effect != EFFECT_ADMIT && e->effect != EFFECT_EVICT)
            continue;
        if (at == m->decided_n)
            fail(m, "one too many", at);
        compare_one(m, e, at++);
    }
    if (at < m->decided_n)
        fail(m, "one is missing", at);
}

/* What the API says by then of those that were admitted, and of those that were told to leave. */
static void carry_out(struct model *m)
{
    for (int i = 0; i < m->decided_n; i++) {
        struct plain_gang *g = &m->gangs[m->decided[i].gang];
        char name[16];
        snprintf(name, sizeof name, "g%d", g->serial);
        if (m->decided[i].victim_of != ADMITTED) {
            outcome(&m->w, EFFECT_EVICT, name, NULL, OUTCOME_DONE);
            continue;
        }
        if (!g->leaving)
            g->reserved_ms = 1000 * (1 + pick(m, 4));
        put_stakes(m, g);
        struct gang_record r = record_of(m, g);
        outcome(&m->w, EFFECT_ADMIT, name, NULL, OUTCOME_DONE);
        gang_record(&m->w, r);
        tell_pods(m, g, &r, true);
        consumption_lands(m, g);
    }
}

static void let_leave(struct model *m)
{
    for (int i = 0; i < GANGS; i++) {
        struct plain_gang *g = &m->gangs[i];
        if (!g->exists || !g->leaving || pick(m, 3) == 0)
            continue;
        for (int r = 0; r < RES_N; r++)
            m->nodes[COHORTS + g->queue].own[g->flavor][r] -= g->ask[r] * g->count;
        forget_victim(m, g);
        consumption_leaves(m, g);
        g->leaving = g->admitted = false;
        g->leaves_for = -1;
        tell_pods(m, g, NULL, false);
        gang_record(&m->w, record_of(m, g));
    }
}

/* Now and then another weight, another mode of a queue, or a status that somebody else has written. */
static void put_locals(struct model *m)
{
    static const int weights[] = {1000, 1000, 2000, 333, 0};
    if (!m->consumption.on || pick(m, 3))
        return;
    int q = (int)pick(m, QUEUES), l = (int)pick(m, LOCALS);
    m->locals[q][l].weight_milli = weights[pick(m, sizeof weights / sizeof *weights)];
    m->nodes[COHORTS + q].by_consumption = pick(m, 4);
    tell_local(m, q, l, pick(m, 3) ? -1 : (int)pick(m, 8), 100 * pick(m, 40));
}

/* So that everybody is tried: whom they wait for is found anew, too. */
static void tell_all(struct model *m)
{
    if (!pick(m, 12))
        put_quotas(m, (int)pick(m, NODES));
    while (m->promises_n)
        drop_promise(m, m->promises);
    for (int i = 0; i < GANGS; i++)
        m->gangs[i].alone = false;
    m->in_vain = false;
    m->w.now_ms += 400000; /* who was in vain has waited by then */
    for (int i = 0; i < COHORTS; i++)
        tell_cohort(m, i);
    put_locals(m);
    for (int i = 0; i < QUEUES; i++)
        tell_queue(m, i);
}

static void step(struct model *m)
{
    struct err e = {0};
    arena_reset(m->w.records);
    let_leave(m);
    put_budgets(m);
    for (uint32_t n = 1 + pick(m, 8); n; n--)
        new_gang(m);
    for (uint32_t n = pick(m, 16); n; n--)
        end_gang(m);
    if (pick(m, 4) == 0)
        new_gang_of_others(m);
    m->told = !m->quiet || !m->step || m->in_vain || !pick(m, 3);
    if (!m->told)
        node(&m->w, "n0", arena_printf(m->w.records, "cpu=%d,nvidia.com/gpu=%d", 1000000000 + (int)m->step, 1000000 + (int)m->step), "");
    else
        tell_all(m);
    m->w.hold = pick(m, m->quiet ? 4 : 8) == 0; /* lines stand ready when the next cycle begins */
    m->counts.held_n += m->w.hold;
    m->w.now_ms += pick(m, 3) ? pick(m, 3000) : 0;
    reference(m);
    run(&m->w);
    compare(m);
    if (!state_check(m->w.s, &e))
        fail(m, e.text, 0);
    carry_out(m);
    if ((m->seed + m->step) % FORCE_EVERY == 0 && !forced_world_rests(&m->w))
        fail(m, "somebody starts, or has others go, if only he is tried", 0);
}

static void begin_consumption(struct model *m)
{
    /* Cycles in which queues are not told are close to each other: there, too, what was used is another amount in each. */
    static const int64_t half_lives_ms[] = {400, 1500, 3000, 0, 200000, 800000, 60000000, 604800000};
    static const int64_t samplings_ms[] = {200, 1000, 150000, 300000, 600000};
    struct resource_weight weights[RES_N];
    for (int r = 0; r < RES_N; r++) {
        m->resource_weights[r] = (int)pick(m, 4);
        weights[r] = (struct resource_weight){resources[r], m->resource_weights[r] * INT64_C(1000000000)};
    }
    m->consumption = (struct consumption_policy){.on = m->seed % 5 < 3, .weights = weights, .weights_n = RES_N};
    m->consumption.half_life_ms = half_lives_ms[pick(m, m->quiet ? 4 : 8)];
    m->consumption.sampling_ms = samplings_ms[pick(m, m->quiet ? 3 : 5)];
    state_set_consumption_policy(m->w.s, &m->consumption);
}

static void begin(struct model *m)
{
    static const enum fair_strategy strategies[] = {FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FAIR_LESS_THAN_INITIAL_SHARE};
    m->w = world_new();
    if (m->seed / 4 % 2) {
        m->w.fair = (struct fair_policy){.on = true, .strategies_n = m->seed / 8 % 3, .strategies = {strategies[0], strategies[1]}};
        if (m->w.fair.strategies_n == 1 && m->seed / 24 % 2)
            m->w.fair.strategies[0] = strategies[1];
    }
    m->quiet = m->seed % 2;
    begin_consumption(m);
    memset(m->nodes, 0, sizeof m->nodes);
    memset(m->gangs, 0, sizeof m->gangs);
    for (int f = 0; f < FLAVORS; f++)
        flavor(&m->w, flavors[f], "");
    node(&m->w, "n0", "cpu=1000000000,nvidia.com/gpu=1000000", "");
    put_tree(m);
    for (int i = 0; i < QUEUES; i++)
        for (int l = 0; l < LOCALS; l++) {
            m->locals[i][l].weight_milli = 1000;
            tell_local(m, i, l, -1, 0);
        }
    for (int i = 0; i < QUEUES && m->seed % 2; i++)
        tell_queue(m, i); /* else gangs are told before their queues */
}

static void run_seed(uint64_t seed, uint64_t steps, struct counts *counts)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    m->counts = *counts;
    begin(m);
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    world_free(&m->w);
    *counts = m->counts;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 20;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;
    struct counts n = {0};
    for (uint64_t i = 0; i < runs; i++)
        run_seed(seed + i, steps, &n);
    printf("# %" PRIu64 " admissions in the order of Kueue's cycle, %" PRIu64 " preemptions (%" PRIu64 " after another in the cycle): "
           "%" PRIu64 " of the own queue, %" PRIu64 " of others, %" PRIu64 " of others while borrowing, %" PRIu64 " by shares; %" PRIu64
           " waited for what was coming; "
           "%" PRIu64 " cycles on hold, %" PRIu64 " found their promise kept, %" PRIu64 " had preempted in vain, %" PRIu64
           " came before others for having used less, %" PRIu64 " waited as one like them did; equals were spared %" PRIu64 " times by budgets, %" PRIu64
           " by how long they should run, %" PRIu64 " by what was lost, %" PRIu64 " by how soon they end\n",
           n.admits_n, n.preemptions_n, n.further_n, n.evicts_n[0], n.evicts_n[1], n.evicts_n[2], n.evicts_n[3], n.coming_n, n.held_n,
           n.kept_n, n.vain_n, n.by_use_n, n.alike_n, n.spared_n[0], n.spared_n[1], n.spared_n[2], n.spared_n[3]);
    bool spared = n.spared_n[0] && n.spared_n[1] && n.spared_n[2] && n.spared_n[3];
    bool each = n.evicts_n[0] && n.evicts_n[1] && n.evicts_n[2] && n.evicts_n[3];
    return n.by_use_n && n.alike_n && n.admits_n && n.kept_n && n.vain_n && n.further_n && n.coming_n && each && spared ? 0 : 1;
}
