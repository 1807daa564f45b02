/* core_order_flavors.c - what can be done for a gang: flavors for all of its pod sets together, as they stand or once others have gone
 *
 * Pod set after pod set, in each group of the queue's resources, the best flavor is taken; what those before take of it counts. When
 * nothing is left for a later one, those before it go on after the flavor that ended their search, all others begin anew. When nobody
 * goes for what was found, the last choice is another one, and so on backwards: all that there are (core/quota/flavor.h). A pod set that
 * nodes refused takes another one itself, or one before it does; at last all that there are. Pod sets of a group are asked as one, where
 * the first of them stands.
 */
#include "core_order.h"

enum { ANEW_MOST = 64 };       /* times */
enum look { AS_IT_STANDS, ONCE_OTHERS_HAVE_GONE, ONLY_VICTIMS, AS_IF_OTHERS_GAVE_WAY };
enum mode { MODE_FITS, MODE_RECLAIMS, MODE_PREEMPTS, MODE_NOBODY, MODE_NOT }; /* nobody: can be preempted for that alone */
struct fitness {
    enum mode mode;
    int level;
    bool fits;                 /* all of it, as it stands */
};
struct search {
    struct model *m;
    const struct plain_gang *g;
    const struct tree_node *own;
    enum look look;
    int first[SETS][GROUPS], ended[SETS][GROUPS]; /* places in the group's list of flavors; ended: -1 at the end of it */
    struct answer found;
    bool fits, refused;        /* some whole choice was */
    int failed_set;
    int last_set;              /* that takes another flavor now: nodes refused it, whatever those after it have */
    bool others_matter, exhaustive;
};

static bool preempts_to_borrow(const struct model *m, const struct tree_node *own)
{
    return own->borrow != PREEMPT_NEVER || (m->w.fair.on && own->reclaim != PREEMPT_NEVER);
}

/* ---- one flavor and resource ---- */

/* Is there a cohort above that has not lent it all away? */
static bool may_be_reclaimed(const struct model *m, int queue, int f, int r, int64_t amount)
{
    int i = queue;
    for (; m->nodes[i].parent >= 0 && usage(m, i, f, r) + amount > subtree(m, i, f, r); i = m->nodes[i].parent)
        amount -= max0(kept(m, i, f, r) - usage(m, i, f, r));
    return m->nodes[i].parent >= 0;
}

/* Others leave for so much already. */
static bool is_promised(const struct search *h, int f, int r, int64_t amount)
{
    const struct plain_promise *p = promise_of(h->m, h->g);
    return p && p->victims.n && p->need.amount.of[f][r] >= amount;
}

static struct fitness ask_victims(const struct search *h, int f, int r, int64_t amount)
{
    struct need x = {.alone = true};
    struct fitness of = {.mode = MODE_NOBODY, .level = borrow_level(h->m, COHORTS + h->g->queue, f, r, amount)};
    x.amount.of[f][r] = amount;
    x.is_short[f][r] = true;
    struct victims v = find_victims(h->m, h->g, &x, &of.level);
    of.mode = v.n || v.coming ? MODE_RECLAIMS : MODE_NOBODY;
    for (int i = 0; i < v.n; i++)
        of.mode = v.all[i].class == 2 ? MODE_PREEMPTS : of.mode;
    if (of.mode == MODE_NOBODY)
        of.level = borrow_level(h->m, COHORTS + h->g->queue, f, r, amount);
    return of;
}

static struct fitness fitness_of(const struct search *h, int f, int r, int64_t amount)
{
    int queue = COHORTS + h->g->queue;
    struct fitness of = {.mode = MODE_FITS, .level = borrow_level(h->m, queue, f, r, amount), .fits = true};
    bool may_wait = amount <= h->own->quota[f][r].nominal || preempts_to_borrow(h->m, h->own);
    if (amount <= available(h->m, queue, f, r))
        return of;
    if (h->look == AS_IF_OTHERS_GAVE_WAY && amount <= potential(h->m, queue, f, r) && may_wait)
        return of;
    if ((h->look != ONCE_OTHERS_HAVE_GONE && h->look != ONLY_VICTIMS) || amount > potential(h->m, queue, f, r) ||
        (!may_wait && !may_be_reclaimed(h->m, queue, f, r, amount) && !is_promised(h, f, r, amount)))
        return (struct fitness){.mode = MODE_NOT};
    return ask_victims(h, f, r, amount);
}

/* ---- flavors of a group for a pod set ---- */

/* Of all pods of the set, and of the other one of its group. */
static int64_t asked_together(const struct search *h, int first, int r)
{
    int64_t sum = 0;
    for (int i = first; i < h->g->sets_n; i++)
        sum += first_together(h->g, i) == first ? h->g->sets[i].ask[r] * h->g->sets[i].count : 0;
    return sum;
}

static bool asks_for_group(const struct search *h, int set, const struct group *group)
{
    bool any = false;
    for (int r = 0; r < RES_N; r++)
        any |= group->covers[r] && asked_together(h, set, r);
    return any;
}

/* Who asks for nothing stands in domains all the same, by a flavor of the first group. */
static bool has_choice(const struct search *h, int set, int group_at)
{
    bool any = false;
    for (int r = 0; r < RES_N; r++)
        any |= asked_together(h, set, r) > 0;
    return first_together(h->g, set) == set &&
           (asks_for_group(h, set, &h->own->groups[group_at]) || (h->m->places.n && !any && !group_at));
}

/* Fitting is better than taking back, and that than ending one's own; then the lower level, or the level first. */
static bool is_better(const struct tree_node *own, const struct fitness *a, const struct fitness *b)
{
    if ((a->mode == MODE_NOBODY) != (b->mode == MODE_NOBODY))
        return b->mode == MODE_NOBODY;
    if (own->level_first && a->level != b->level)
        return a->level < b->level;
    return a->mode < b->mode || (a->mode == b->mode && a->level < b->level);
}

/* As good as the resource that it is worst for; the level is the highest of all in *ret_level. */
static struct fitness fitness_of_all(const struct search *h, int set, const struct group *group, int f)
{
    struct fitness worst = {.mode = MODE_FITS, .fits = true};
    for (int r = 0; r < RES_N; r++) {
        int64_t asked = asked_together(h, set, r);
        if (!group->covers[r] || !asked)
            continue;
        struct fitness of = fitness_of(h, f, r, h->found.need.amount.of[f][r] + asked);
        bool fits = worst.fits && of.fits;
        if (of.mode == MODE_NOT)
            return of;
        if (is_better(h->own, &worst, &of))
            worst = of;
        worst.fits = fits;
    }
    return worst;
}

static bool ends_search(const struct tree_node *own, const struct fitness *of)
{
    return of->mode != MODE_NOBODY && (!of->level || own->borrow_stops) && (of->mode == MODE_FITS || own->preempt_stops);
}

/* Its place in the group's list; -1: there is none that was not refused. */
static int best_flavor(struct search *h, int set, int group_at, const bool refused[FLAVORS], struct fitness *ret)
{
    const struct group *group = &h->own->groups[group_at];
    int best = -1;
    h->ended[set][group_at] = -1;
    for (int at = h->first[set][group_at]; at < group->flavors_n; at++) {
        struct fitness of = refused[at] ? (struct fitness){.mode = MODE_NOT} : fitness_of_all(h, set, group, group->flavors[at]);
        if (of.mode == MODE_NOT)
            continue;
        if (best < 0 || is_better(h->own, &of, ret)) {
            best = at;
            *ret = of;
        }
        if (ends_search(h->own, &of)) {
            h->ended[set][group_at] = at + 1 < group->flavors_n ? at : -1;
            break;
        }
    }
    return best;
}

static void take_one(struct search *h, int set, const struct group *group, int f, int sign)
{
    const struct pod_group *asks = &h->g->sets[set];
    bool nothing = true;       /* that it asks for, of this group */
    for (int r = 0; r < RES_N; r++)
        nothing &= !group->covers[r] || !asks->ask[r];
    for (int r = 0; r < RES_N; r++) {
        if (!group->covers[r] || (!asks->ask[r] && !nothing))
            continue;
        nothing = false;
        h->found.given.flavor[set][r] = sign > 0 ? f : -1;
        h->found.need.amount.of[f][r] += sign * asks->ask[r] * asks->count;
    }
}

static void take(struct search *h, int first, const struct group *group, int f, int sign)
{
    for (int i = first; i < h->g->sets_n; i++)
        if (first_together(h->g, i) == first)
            take_one(h, i, group, f, sign);
}

/* ---- all of them ---- */

/* The flavor that ends the search may be one in which others go, though a later one fits. */
static bool preempts_first(const struct tree_node *own)
{
    return own->preempt_stops || own->level_first;
}

/* Where quota is enough all of it is looked for. */
static void find_short(const struct search *h, struct need *x)
{
    bool any = false;
    FOR_EACH_CELL(f, r) {
        int64_t amount = x->amount.of[f][r];
        x->is_short[f][r] = amount && amount > available(h->m, COHORTS + h->g->queue, f, r); /* below 0 after a cut */
        any |= x->is_short[f][r];
    }
    x->for_nodes = !any;
    FOR_EACH_CELL(f, r)
        x->is_short[f][r] |= !any && x->amount.of[f][r];
}

static bool starts(struct search *h)
{
    struct answer *a = &h->found;
    int set = refused_set(h->m, h->g, &a->need, &a->on);
    a->what = set == h->g->sets_n ? STARTS : NOTHING;
    h->refused |= a->what == NOTHING;
    h->others_matter |= a->what == NOTHING && set > 0 && !has_several_topologies(&a->need, set);
    h->last_set = h->exhaustive ? SETS : set;
    return a->what != NOTHING;
}

/* All pod sets have their flavors. What fits was looked for before: who finds it here does not have others go, unless nodes refused it. */
static bool take_answer(struct search *h, bool fits, int level)
{
    struct answer *a = &h->found;
    struct seats unused;
    a->level = level;
    h->last_set = SETS;
    a->need.places = h->m->places.n && !h->m->blind && !is_checked(h->m, h->g, &a->given); /* else quota is all that it takes now */
    put_places_needed(h->g, &a->given, &a->need);
    if (h->look == AS_IT_STANDS || h->look == AS_IF_OTHERS_GAVE_WAY || (fits && h->look == ONCE_OTHERS_HAVE_GONE))
        return starts(h);
    const struct answer as_promised = h->look == ONCE_OTHERS_HAVE_GONE ? goes_on_waiting(h->m, h->g) : (struct answer){.what = NOTHING};
    if (as_promised.what != NOTHING) {
        *a = as_promised;
        return true;
    }
    find_short(h, &a->need);
    if (fits && (!a->need.places || (h->refused && nodes_hold(h->m, h->g, &a->need, &unused)))) {
        h->refused = true;
        h->others_matter |= h->g->sets_n > 1;
        return false;
    }
    a->victims = find_victims(h->m, h->g, &a->need, &a->level);
    a->what = a->victims.n ? OTHERS_GO : a->victims.coming ? OTHERS_LEAVE : NOTHING;
    h->refused |= a->what == NOTHING;
    h->others_matter |= a->what == NOTHING && h->g->sets_n > 1;
    return a->what != NOTHING;
}

/* `at`: pod set and group. Of those before, does it all fit, and at which level? */
static bool choose(struct search *h, int at, bool fits, int level)
{
    int set = at / h->own->groups_n, group_at = at % h->own->groups_n;
    const struct group *group = &h->own->groups[group_at];
    bool refused[FLAVORS] = {false};
    if (set == h->g->sets_n)
        return take_answer(h, fits, level);
    if (!has_choice(h, set, group_at))
        return choose(h, at + 1, fits, level);
    for (;;) {
        struct fitness of = {0};
        int best = best_flavor(h, set, group_at, refused, &of);
        h->failed_set = set;
        if (best < 0) {
            h->last_set = SETS;
            return false;
        }
        take(h, set, group, group->flavors[best], 1);
        if (choose(h, at + 1, fits && of.fits, of.level > level ? of.level : level))
            return true;
        take(h, set, group, group->flavors[best], -1);
        if (!h->refused || set > h->last_set)
            return false;
        refused[best] = true;
    }
}

/* Those before the one that nothing was left for go on, the others begin anew. False: there is nothing to go on with. */
static bool go_on(struct search *h)
{
    bool any = false;
    for (int set = 0; set < h->g->sets_n; set++)
        for (int i = 0; i < h->own->groups_n; i++) {
            bool goes_on = set < h->failed_set && has_choice(h, set, i) && h->ended[set][i] >= 0;
            h->first[set][i] = goes_on ? h->ended[set][i] + 1 : 0;
            any |= goes_on;
        }
    return any;
}

static struct answer search(struct model *m, const struct plain_gang *g, enum look look)
{
    struct search h = {.m = m, .g = g, .own = &m->nodes[COHORTS + g->queue], .look = look};
    for (int i = 0; i < SETS; i++)
        for (int r = 0; r < RES_N; r++)
            h.found.given.flavor[i][r] = -1;
    for (int i = 0; i < g->sets_n; i++)
        h.found.given.count[i] = g->sets[i].count;
    for (int n = 0; n <= ANEW_MOST; n++)
        if (choose(&h, 0, true, 0))
            return h.found;
        else if (h.refused && h.others_matter && !h.exhaustive && m->places.n)
            h.exhaustive = true;
        else if (h.refused || !go_on(&h))
            break;
    return (struct answer){.what = NOTHING};
}

struct answer place_of_failing(struct model *m, const struct plain_gang *g)
{
    return search(m, g, AS_IF_OTHERS_GAVE_WAY);
}

/* ---- one gang ---- */

static bool holds_as_promised(const struct model *m, const struct plain_promise *p)
{
    bool holds = true;
    FOR_EACH_CELL(f, r)
        holds &= !p->need.amount.of[f][r] || p->need.amount.of[f][r] <= available(m, COHORTS + p->queue, f, r);
    return holds;
}

bool preempts(const struct tree_node *own)
{
    return own->within != PREEMPT_NEVER || (own->parent >= 0 && own->reclaim != PREEMPT_NEVER);
}

/* With as many pods as its sets count now. `nobody_goes`: it is not looked for. */
static struct answer with_counts(struct model *m, const struct plain_gang *g, bool nobody_goes)
{
    const struct tree_node *own = &m->nodes[COHORTS + g->queue];
    bool first = preempts(own) && preempts_first(own);
    struct answer a = search(m, g, first ? ONCE_OTHERS_HAVE_GONE : AS_IT_STANDS);
    if ((a.what != NOTHING && a.what != OTHERS_LEAVE) || !preempts(own) || nobody_goes)
        return a;
    struct answer as_promised = goes_on_waiting(m, g);
    if (as_promised.what != NOTHING)
        return as_promised;
    if (first && !m->places.n)
        return a;
    struct answer others_go = search(m, g, ONLY_VICTIMS); /* first in the flavor that only nodes refused */
    return others_go.what == NOTHING ? a : others_go;
}

/* ---- fewer pods ---- */

static int spare_of_all(const struct plain_gang *g)
{
    int n = 0;
    for (int i = 0; i < g->sets_n; i++)
        n += g->sets[i].asked_n - g->sets[i].fewest;
    return n;
}

/* Of all that its sets could do without so many are left out, of each set in proportion. */
static void leave_out(struct plain_gang *g, int part, int whole)
{
    for (int i = 0; i < g->sets_n; i++)
        g->sets[i].count = g->sets[i].asked_n - (g->sets[i].asked_n - g->sets[i].fewest) * part / whole;
}

/* The most pods, as halving finds them; all were refused before. */
static struct answer with_fewer(struct model *m, struct plain_gang *g, bool nobody_goes)
{
    struct answer best = {.what = NOTHING};
    int whole = spare_of_all(g), least = 0, most = whole + 1;
    while (whole && least < most) {
        int middle = (least + most) / 2;
        leave_out(g, middle, whole);
        struct answer a = middle ? with_counts(m, g, nobody_goes) : (struct answer){.what = NOTHING};
        bool will_do = a.what != NOTHING && !(nobody_goes && a.what == OTHERS_LEAVE); /* nor does it wait for anybody then */
        if (will_do)
            best = a;
        *(will_do ? &most : &least) = middle + !will_do;
    }
    if (whole)
        leave_out(g, 0, whole);
    return best;
}

static struct answer with_those_promised(struct model *m, struct plain_gang *g, const struct plain_promise *p)
{
    for (int i = 0; i < g->sets_n; i++)
        g->sets[i].count = p->given.count[i];
    struct answer a = with_counts(m, g, false);
    for (int i = 0; i < g->sets_n; i++)
        g->sets[i].count = g->sets[i].asked_n;
    return a;
}

static bool has_fewer(const struct plain_gang *g, const struct given *given)
{
    bool any = false;
    for (int i = 0; i < g->sets_n; i++)
        any |= given->count[i] < g->sets[i].asked_n;
    return any;
}

/* ---- all of it ---- */

struct answer decide_one(struct model *m, struct plain_gang *g, bool vain)
{
    const struct plain_promise *p = promise_of(m, g);
    struct answer promised = {.what = STARTS};
    if (p && holds_as_promised(m, p) && nodes_hold(m, g, &p->need, &promised.on)) {
        promised.given = p->given;
        promised.need = p->need;
        promised.level = p->level;
        return promised;
    }
    struct answer a = with_counts(m, g, true);
    if (a.what == NOTHING && p && p->victims.n && has_fewer(g, &p->given)) /* others leave for so many */
        a = with_those_promised(m, g, p);
    if (a.what == NOTHING || a.what == OTHERS_LEAVE)
        a = with_counts(m, g, false);
    if (a.what == STARTS || (!vain && a.what != NOTHING))
        return a;
    struct answer fewer = with_fewer(m, g, vain);
    return fewer.what == NOTHING ? a : fewer;
}
