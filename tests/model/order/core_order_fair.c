/* core_order_fair.c - fair sharing, as Kueue does it: whose shares let him go, and which head is next. SOURCE core/preempt/fair.h and
 * core/queue/tournament.h say what is asked for; nothing is remembered here, all is asked anew at each step. */
#include "core_order.h"

static void put_needs(struct model *m, const struct plain_gang *g, const struct need *x, int sign)
{
    add_amounts(m, g->queue, &x->amount, sign);
}

/* ---- whose turn ---- */

struct hunt {
    struct model *m;
    const struct plain_gang *g;
    const struct need *x;
    struct victims from, later; /* still to be asked, best first; refused by the first strategy */
    const struct victims *gone;
    bool over[NODES], second;
    bool careful;              /* nobody goes whose queue would take it back at once */
};

static bool is_own_cohort(const struct hunt *h, int i)
{
    for (int at = h->m->nodes[COHORTS + h->g->queue].parent; at >= 0; at = h->m->nodes[at].parent)
        if (at == i)
            return true;
    return false;
}

static int first_of(const struct hunt *h, int queue)
{
    for (int i = 0; i < h->from.n; i++)
        if (h->m->gangs[h->from.all[i].gang].queue == queue)
            return i;
    return -1;
}

static bool cohort_name_before(int a, int b)
{
    return a < b; /* co0, co1... */
}

/* Is child a asked before child b? */
static bool is_asked_before(const struct hunt *h, int a, struct plain_share a_share, int b, struct plain_share b_share)
{
    int r = compare_shares(a_share, b_share);
    if (r)
        return r > 0;
    if ((a < COHORTS) != (b < COHORTS))
        return a < COHORTS;
    return a < COHORTS ? cohort_name_before(a, b)
                       : goes_before(h->m, &h->from.all[first_of(h, a - COHORTS)], &h->from.all[first_of(h, b - COHORTS)]);
}

/* The candidate whose turn it is below this cohort; -1: somebody was passed over for good, ask again. */
static int descend(struct hunt *h, int cohort)
{
    int best = -1;
    struct plain_share most = {0};
    for (int i = 0; i < NODES; i++) {
        if (h->m->nodes[i].parent != cohort || h->over[i])
            continue;
        struct plain_share share = plain_share(h->m, i);
        if (i >= COHORTS)
            h->over[i] = first_of(h, i - COHORTS) < 0 || (!share.borrows && i != COHORTS + h->g->queue);
        else
            h->over[i] = !share.borrows && !is_own_cohort(h, i);
        if (h->over[i] || (best >= 0 && !is_asked_before(h, i, share, best, most)))
            continue;
        best = i;
        most = share;
    }
    if (best < 0)
        h->over[cohort] = true;
    return best < 0 ? -1 : best >= COHORTS ? first_of(h, best - COHORTS) : descend(h, best);
}

static int whose_turn(struct hunt *h)
{
    int root = COHORTS + h->g->queue, at = -1;
    while (h->m->nodes[root].parent >= 0)
        root = h->m->nodes[root].parent;
    if (root >= COHORTS)
        return first_of(h, h->g->queue);
    while (at < 0 && !h->over[root])
        at = descend(h, root);
    return at;
}

/* ---- may he go? ---- */

static bool is_below(const struct model *m, int i, int cohort)
{
    while (i >= 0 && i != cohort)
        i = m->nodes[i].parent;
    return i >= 0;
}

static int shared_cohort(const struct model *m, int a, int b)
{
    int shared = m->nodes[a].parent;
    while (!is_below(m, b, shared))
        shared = m->nodes[shared].parent;
    return shared;
}

static int child_of(const struct model *m, int i, int cohort)
{
    while (m->nodes[i].parent != cohort)
        i = m->nodes[i].parent;
    return i;
}

/* Ours with him and without; his without the victim and with. */
struct four {
    struct plain_share with, without, less, all;
};

/* Those of this side who have gone, and do not leave anyway. */
static void take_side_off(const struct hunt *h, int side, int sign)
{
    for (int i = 0; i < h->gone->n; i++)
        if (is_below(h->m, COHORTS + h->m->gangs[h->gone->all[i].gang].queue, side) && !h->m->gangs[h->gone->all[i].gang].leaving)
            take_off(h->m, &h->gone->all[i], sign);
}

/* Careful: ours as if nobody of us had gone. */
static struct four shares_of(const struct hunt *h, const struct victim *v)
{
    int mine = COHORTS + h->g->queue, his = COHORTS + h->m->gangs[v->gang].queue, shared = shared_cohort(h->m, mine, his);
    mine = child_of(h->m, mine, shared);
    his = child_of(h->m, his, shared);
    struct four s = {.all = plain_share(h->m, his)};
    take_off(h->m, v, 1);
    s.less = plain_share(h->m, his);
    take_off(h->m, v, -1);
    if (h->careful)
        take_side_off(h, mine, -1);
    s.with = plain_share(h->m, mine);
    put_needs(h->m, h->g, h->x, -1);
    s.without = plain_share(h->m, mine);
    put_needs(h->m, h->g, h->x, 1);
    if (h->careful)
        take_side_off(h, mine, 1);
    return s;
}

static bool is_in(const struct victims *all, int gang)
{
    bool any = false;
    for (int i = 0; i < all->n; i++)
        any |= all->all[i].gang == gang;
    return any;
}

/* Somebody of our side has been put back: would it go now, too? `taken`: before any were. */
static bool still_goes(const struct hunt *h, const struct victims *taken, const struct victim *v)
{
    const struct fair_policy *fair = &h->m->w.fair;
    bool initial_first = fair->strategies_n && fair->strategies[0] == FAIR_LESS_THAN_INITIAL_SHARE, any = false;
    int mine = COHORTS + h->g->queue, side = child_of(h->m, mine, shared_cohort(h->m, mine, COHORTS + h->m->gangs[v->gang].queue));
    for (int i = 0; i < taken->n; i++) {
        const struct plain_gang *one = &h->m->gangs[taken->all[i].gang];
        any |= !one->leaving && is_below(h->m, COHORTS + one->queue, side) && !is_in(h->gone, taken->all[i].gang);
    }
    if (h->careful || !any)
        return true;
    take_off(h->m, v, -1);
    put_needs(h->m, h->g, h->x, 1);
    struct four s = shares_of(h, v);
    put_needs(h->m, h->g, h->x, -1);
    take_off(h->m, v, 1);
    bool final = !initial_first && compare_shares(s.with, s.less) <= 0, initial = compare_shares(s.with, s.all) < 0;
    return final || ((initial_first || fair->strategies_n != 1) && initial);
}

static bool strategy_allows(const struct hunt *h, const struct victim *v, const struct four *s)
{
    const struct fair_policy *fair = &h->m->w.fair;
    if (h->second || (fair->strategies_n && fair->strategies[0] == FAIR_LESS_THAN_INITIAL_SHARE))
        return compare_shares(s->with, s->all) < 0;
    bool all_alike = !compare_shares(s->without, s->all) && !compare_shares(s->with, s->less) && !compare_shares(s->with, s->all);
    return compare_shares(s->with, s->less) <= 0 && (!all_alike || h->m->gangs[v->gang].priority < h->g->priority);
}

/* Has the queue so much left of its own, of something that the preemptor is short of and the gang has, or asks for whatever the flavor? */
static bool takes_back(const struct hunt *h, const struct plain_gang *v, bool waits)
{
    int queue = COHORTS + v->queue;
    enum preemption_policy reclaim = h->m->nodes[queue].reclaim;
    struct amounts has = charged_now(v);
    bool takes = false;
    FOR_EACH_CELL(f, r) {
        int64_t amount = waits ? asked_of(v, r) : has.of[f][r];
        takes |= h->x->is_short[f][r] && amount && usage(h->m, queue, f, r) + amount <= subtree(h->m, queue, f, r);
    }
    return takes && (reclaim == PREEMPT_ANY || (reclaim == PREEMPT_LOWER_PRIORITY && v->priority > h->g->priority));
}

static bool gone_take_back(const struct hunt *h, int queue)
{
    bool any = false;
    for (int i = 0; i < h->gone->n; i++)
        any |= h->m->gangs[h->gone->all[i].gang].queue == queue && takes_back(h, &h->m->gangs[h->gone->all[i].gang], false);
    return any;
}

static bool waiting_take_back(const struct hunt *h, int queue)
{
    bool any = false;
    for (int i = 0; i < GANGS; i++)
        any |= is_waiting(h->m, &h->m->gangs[i]) && h->m->gangs[i].queue == queue && takes_back(h, &h->m->gangs[i], true);
    return any;
}

static bool is_in_vain(struct hunt *h, const struct victim *v)
{
    int queue = h->m->gangs[v->gang].queue;
    take_off(h->m, v, 1);
    bool vain = takes_back(h, &h->m->gangs[v->gang], false) || gone_take_back(h, queue) || waiting_take_back(h, queue);
    take_off(h->m, v, -1);
    return vain;
}

bool is_taken_back(struct model *m, const struct plain_gang *g, const struct need *x, struct victims *gone)
{
    const struct hunt h = {.m = m, .g = g, .x = x, .gone = gone};
    bool any = false;
    for (int i = 0; i < gone->n; i++)
        any |= gone->all[i].class == 1 && !is_mine(m, &m->gangs[gone->all[i].gang], g, x) &&
               gone_take_back(&h, m->gangs[gone->all[i].gang].queue);
    return any;
}

/* Is the preemptor's queue within its own, itself counted, in all that it needs, or in what of that is short? */
static bool is_within(const struct hunt *h, bool only_short)
{
    int queue = COHORTS + h->g->queue;
    FOR_EACH_CELL(f, r)
        if (h->x->amount.of[f][r] && (!only_short || h->x->is_short[f][r]) && usage(h->m, queue, f, r) > subtree(h->m, queue, f, r) &&
            h->m->nodes[queue].parent >= 0)
            return false;
    return true;
}

/* Sets its class. `within`, `within_all`: as it was before anybody went. */
static bool goes(struct hunt *h, struct victim *v, bool within, bool within_all)
{
    if (v->class == 2)
        return true;
    if (!may_go(h->m, &h->m->gangs[v->gang], h->x))
        return false;
    struct four s = shares_of(h, v);
    v->class = within ? 0 : 3;
    if (within_all)
        return true;
    if (within)
        return compare_shares(s.with, s.all) <= 0 && compare_shares(s.without, s.all) < 0;
    if (strategy_allows(h, v, &s))
        return !h->careful || !is_in_vain(h, v);
    if (!h->second)
        h->later.all[h->later.n++] = *v;
    return false;
}

/* ---- all of it ---- */

static struct victims fair_candidates(struct model *m, const struct plain_gang *g, const struct need *x)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    struct victims out = {.n = 0};
    int root = COHORTS + g->queue;
    while (m->nodes[root].parent >= 0)
        root = m->nodes[root].parent;
    for (int i = 0; i < GANGS; i++) {
        const struct plain_gang *v = &m->gangs[i];
        bool same = v->queue == g->queue;
        if (!v->exists || !v->admitted || is_held_for_others(m, v, g) || !uses_what_is_short(v, x) ||
            !gang_allows(same ? own->within : own->reclaim, g, v) ||
            (!same && (root >= COHORTS || !is_below(m, COHORTS + v->queue, root) || !is_above(m, COHORTS + v->queue, x) ||
                       !may_go(m, v, x))))
            continue;
        struct victim one = {.gang = i, .class = same ? 2 : 1, .while_borrowing = true, .shared = -1};
        out.all[out.n++] = one;
    }
    sort_victims(m, &out);
    int n = 0;
    for (int i = 0; i < out.n; i++) /* who leaves for it already goes before all of them */
        if (!is_mine(m, &m->gangs[out.all[i].gang], g, x))
            out.all[n++] = out.all[i];
    out.n = n;
    return out;
}

static struct victim take(struct victims *from, int at)
{
    struct victim one = from->all[at];
    memmove(&from->all[at], &from->all[at + 1], (size_t)(--from->n - at) * sizeof one);
    return one;
}

/* Who leaves for it already goes first, whatever shares say now. True: they are enough. */
static bool take_mine(struct hunt *h, struct victims *gone)
{
    struct victims mine = {.n = 0};
    bool enough = false;
    add_mine(h->m, h->g, h->x, &mine);
    for (int i = 0; i < mine.n && !enough; i++) {
        lift(h->m, &mine.all[i], true);
        gone->all[gone->n++] = mine.all[i];
        put_needs(h->m, h->g, h->x, -1);
        enough = is_enough(h->m, h->g, h->x, true, gone);
        put_needs(h->m, h->g, h->x, 1);
    }
    return enough;
}

/* True: enough have gone. */
static bool run_strategy(struct hunt *h, struct victims *gone)
{
    bool within = is_within(h, true), within_all = is_within(h, false);
    if (!h->second && take_mine(h, gone))
        return true;
    for (int at; (at = whose_turn(h)) >= 0;) {
        struct victim one = take(&h->from, at);
        int queue = h->m->gangs[one.gang].queue;
        bool enough = false;
        if (goes(h, &one, within && !h->second, within_all && !h->second)) {
            lift(h->m, &one, true);
            gone->all[gone->n++] = one;
            put_needs(h->m, h->g, h->x, -1);
            enough = is_enough(h->m, h->g, h->x, true, gone);
            put_needs(h->m, h->g, h->x, 1);
        }
        if (enough)
            return true;
        h->over[COHORTS + queue] |= h->second;
    }
    return false;
}

/* Would queues of those who are left take back what is their own? */
static bool are_in_vain(const struct hunt *h, const struct victims *taken)
{
    bool any = false;
    for (int i = 0; i < h->gone->n; i++) {
        int queue = h->m->gangs[h->gone->all[i].gang].queue;
        any |= h->gone->all[i].class == 3 && !is_mine(h->m, &h->m->gangs[h->gone->all[i].gang], h->g, h->x) &&
               (gone_take_back(h, queue) || waiting_take_back(h, queue) || !still_goes(h, taken, &h->gone->all[i]));
    }
    return any;
}

static struct victims find_with_care(struct model *m, const struct plain_gang *g, const struct need *x, bool careful, bool *ret_vain,
                                     int *ret_level)
{
    struct hunt h = {.m = m, .g = g, .x = x, .from = fair_candidates(m, g, x), .careful = careful};
    struct victims gone = {.n = 0};
    h.gone = &gone;
    const struct fair_policy *fair = &m->w.fair;
    put_needs(m, g, x, 1);
    bool enough = run_strategy(&h, &gone);
    if (!enough && fair->strategies_n != 1) {
        struct victims later = h.later;
        h = (struct hunt){.m = m, .g = g, .x = x, .from = later, .gone = &gone, .second = true, .careful = careful};
        for (int i = 0; i < h.from.n; i++)
            h.from.all[i].class = 1;
        enough = run_strategy(&h, &gone);
    }
    put_needs(m, g, x, -1);
    const struct victims taken = gone;
    if (enough)
        put_back(m, g, x, true, &gone);
    *ret_vain = enough && are_in_vain(&h, &taken);
    *ret_level = enough ? level_without(m, g, x) : 0;
    for (int i = 0; i < gone.n; i++)
        lift(m, &gone.all[i], false);
    gone.n = enough ? gone.n : 0;
    return gone;
}

struct victims find_fairly(struct model *m, const struct plain_gang *g, const struct need *x, int *ret_level)
{
    bool vain;
    struct victims gone = find_with_care(m, g, x, false, &vain, ret_level);
    m->counts.taken_back_n += vain;
    return vain ? find_with_care(m, g, x, true, &vain, ret_level) : gone;
}

/* ---- heads ---- */

struct standing {
    struct plain_share share;
    bool borrows;
};

static struct standing standing_of(struct model *m, int i, const struct plain_head *h)
{
    bool is_promised = promise_of(m, h->gang); /* which counts anyway */
    if (!is_promised)
        add_amounts(m, h->gang->queue, &h->uses, 1);
    struct standing s = {.share = plain_share(m, i)};
    FOR_EACH_CELL(f, r)
        s.borrows |= h->uses.of[f][r] && usage(m, i, f, r) > subtree(m, i, f, r);
    if (!is_promised)
        add_amounts(m, h->gang->queue, &h->uses, -1);
    return s;
}

static int winner(struct model *m, int i, const struct plain_head heads[QUEUES])
{
    int best = -1;
    struct standing most = {0};
    if (i >= COHORTS)
        return heads[i - COHORTS].gang ? i - COHORTS : -1;
    for (int child = 0; child < NODES; child++) {
        int one = m->nodes[child].parent == i ? winner(m, child, heads) : -1;
        if (one < 0)
            continue;
        struct standing s = standing_of(m, child, &heads[one]);
        int r = best < 0 ? -1 : s.borrows != most.borrows ? (s.borrows ? 1 : -1) : compare_shares(s.share, most.share);
        if (r > 0 || (!r && !gang_before(heads[one].gang, heads[best].gang)))
            continue;
        best = one;
        most = s;
    }
    return best;
}

int next_fairly(struct model *m, const struct plain_head heads[QUEUES])
{
    int best = -1;
    put_whole_promises(m, 1);
    for (int i = 0; i < NODES; i++) {
        int one = m->nodes[i].parent < 0 ? winner(m, i, heads) : -1;
        if (one >= 0 && (best < 0 || heads[one].level < heads[best].level ||
                         (heads[one].level == heads[best].level && gang_before(heads[one].gang, heads[best].gang))))
            best = one;
    }
    put_whole_promises(m, -1);
    return best;
}
