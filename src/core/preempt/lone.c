#include "core/preempt/lone.h"
#include <stdlib.h>
#include "core/place/fit.h"
#include "core/rules/neighbour.h"
#include "core/place/undo.h"
#include "core/preempt/promise.h"
#include "core/queue/order.h"
#include "core/state/budget.h"

struct victim_pod {            /* one who may have to go */
    uint32_t pod, mark;        /* mark: of the undo log before it was lifted */
    int32_t priority;
    int64_t started_ms;
    const char *key;
    bool leaves, deleted, broken; /* for this pod already; somebody has deleted it; its end would break a budget */
};
struct site {                  /* a node that would do */
    uint32_t node, victims_n, broken_n;
    int32_t highest;
    int64_t sum, started_ms;   /* of priorities; when the first of the highest began */
    struct victim_pod *victims; /* the most important first */
};
struct lone {
    struct cycle *c;
    struct gang *gang;
    struct want want;
    bool looks_at_others, out_of_trials;
    bool neighbours;           /* some node would do, but for pods that stay */
    struct victim_pod *all;    /* of the node that is looked at; as many as stand on any */
    uint32_t n, looked_n, sites_n, unbroken_n;
    uint32_t home;             /* the node where others leave for it already; 0: there is none */
    struct site best;
    struct reason *nodes;      /* children: why nodes would not do */
};

/* ---- who may go ---- */

static bool may_go(const struct state *s, const struct seat *seat)
{
    const struct pod *p = seat->pod ? &s->pods[seat->pod] : NULL;
    return p && p->gang && gang_is_lone(p->gang) && !p->gated;
}

/* Of a group: perhaps with all of it. WHY not only who holds: a pod that was bound by others is looked at later in the cycle. */
static bool may_go_somehow(const struct gang *g)
{
    return g && gang_has_no_queue(g) && !g->keeps_places;
}

int32_t lone_lowest(const struct state *s, uint32_t node)
{
    int32_t lowest = INT32_MAX;
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next)
        if (may_go_somehow(s->seats[at].gang) && s->seats[at].gang->priority < lowest)
            lowest = s->seats[at].gang->priority;
    return lowest;
}

bool lone_may_preempt_on(const struct state *s, const struct gang *g, uint32_t node)
{
    return gang_is_lone(g) && !g->preempts_nobody && lone_lowest(s, node) < g->priority;
}

bool lone_may_preempt_any(const struct state *s, const struct gang *g)
{
    bool any = false;
    for (uint32_t i = 0; i < s->nodes.sorted_n && !any && gang_is_lone(g); i++)
        any = lone_may_preempt_on(s, g, s->nodes.sorted[i]);
    return any;
}

bool lone_yields(const struct gang *promised, const struct gang *g)
{
    return gang_is_lone(promised) && gang_is_lone(g) && promised->priority < g->priority;
}

/* SOURCE kube-scheduler: higher priority, then who began first; who has not begun is the last. */
static int compare_importance(const void *left, const void *right)
{
    const struct victim_pod *a = left, *b = right;
    if (a->leaves != b->leaves)
        return a->leaves ? 1 : -1;
    if (a->deleted != b->deleted) /* the last to be taken back: it goes anyway */
        return a->deleted ? 1 : -1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->started_ms != b->started_ms)
        return a->started_ms < b->started_ms ? -1 : 1;
    return strcmp(a->key, b->key);
}

/* Those who leave are last, so that they are lifted first, and are no victims to weigh. */
static uint32_t gather(struct lone *x, uint32_t node)
{
    const struct state *s = x->c->s;
    uint32_t leaving_n = 0;
    x->n = 0;
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
        const struct pod *p = &s->pods[s->seats[at].pod];
        if (!may_go(s, &s->seats[at]) || !gang_holds(p->gang) || p->priority >= x->gang->priority || promise_is_others(p->gang, x->gang))
            continue;
        struct victim_pod *one = &x->all[x->n++];
        *one = (struct victim_pod){.pod = s->seats[at].pod, .priority = p->priority, .key = intern_name(s->names, p->key)};
        one->started_ms = p->started_ms ? p->started_ms : INT64_MAX;
        one->deleted = p->deleting;
        one->leaves = p->gang->preemptor == x->gang || (p->deleting && node == x->home);
        leaving_n += one->leaves;
    }
    return leaving_n;
}

static void find_broken(struct lone *x)
{
    uint32_t *pods = arena_alloc(x->c->a, (x->n + 1) * sizeof *pods);
    bool *broken = arena_alloc(x->c->a, x->n + 1);
    for (uint32_t i = 0; i < x->n; i++)
        pods[i] = x->all[i].pod;
    budgets_broken(x->c->s, pods, x->n, broken);
    for (uint32_t i = 0; i < x->n; i++)
        x->all[i].broken = broken[i];
}

/* ---- does it fit ---- */

static void add_reason(struct lone *x, struct reason content)
{
    for (const struct reason *r = x->nodes->child; r; r = r->next)
        if (r->code == content.code && r->resource == content.resource) {
            ((struct reason *)r)->nodes_n++; /* the tree is ours while it is built */
            return;
        }
    content.nodes_n = 1;
    reason_add(x->nodes, reason_new(x->c->a, content));
}

static enum neighbour_verdict neighbours_say(struct lone *x, uint32_t node)
{
    struct state *s = x->c->s;
    struct neighbours rules;
    if (!x->looks_at_others || !neighbour_prepare(s, x->want.shape, x->want.labels, &rules))
        return NEIGHBOUR_OK;
    x->out_of_trials = x->out_of_trials || !x->c->preempt_trials_left;
    x->c->preempt_trials_left -= x->c->preempt_trials_left > 0;
    enum neighbour_verdict verdict = neighbour_check(s, &rules, &s->shapes.classes[x->want.shape].shape, node);
    neighbour_release(&rules);
    return verdict;
}

static bool fits(struct lone *x, uint32_t node)
{
    const struct state *s = x->c->s;
    return fit_room(s, &s->shapes.classes[x->want.shape], node) && neighbours_say(x, node) == NEIGHBOUR_OK;
}

static const struct demand *first_short(const struct shape_class *c, const int64_t *left)
{
    for (uint32_t i = 0; i < c->demands_n; i++)
        if (c->demands[i].column < 0 || left[c->demands[i].column] < c->demands[i].value)
            return &c->demands[i];
    return NULL;
}

/* All that may go have gone, and it still does not fit. SOURCE kube-scheduler's words for a node that preemption does not help. */
static void say_why_not(struct lone *x, uint32_t node)
{
    const struct state *s = x->c->s;
    const struct shape_class *c = &s->shapes.classes[x->want.shape];
    const struct demand *lack = first_short(c, node_free(&s->nodes, node));
    static const enum reason_code by_verdict[] = {[NEIGHBOUR_OK] = REASON_NODE_DEVICE, [NEIGHBOUR_AFFINITY] = REASON_NOT_HELPFUL,
                                                  [NEIGHBOUR_ANTI] = REASON_NODE_ANTI_AFFINITY, [NEIGHBOUR_SPREAD] = REASON_NODE_SPREAD};
    if (lack)
        add_reason(x, (struct reason){.code = REASON_NODE_RESOURCE, .resource = lack->resource});
    else if (!fit_ports(s, c, node))
        add_reason(x, (struct reason){.code = REASON_NODE_PORT});
    else {
        enum neighbour_verdict verdict = fit_room(s, c, node) ? neighbours_say(x, node) : NEIGHBOUR_OK;
        x->neighbours |= verdict != NEIGHBOUR_OK;
        bool share = verdict == NEIGHBOUR_OK && c->share.n;
        add_reason(x, (struct reason){.code = share ? REASON_NODE_SHARE : by_verdict[verdict]});
    }
}

/* With all of them gone: is there enough of everything? WHY  most nodes are ruled out by this alone, and nothing is lifted there. */
static bool may_be_enough(const struct lone *x, uint32_t node)
{
    const struct state *s = x->c->s;
    const struct shape_class *c = &s->shapes.classes[x->want.shape];
    for (uint32_t i = 0; i < c->demands_n; i++) {
        int64_t sum = c->demands[i].column < 0 ? 0 : node_free(&s->nodes, node)[c->demands[i].column];
        for (uint32_t k = 0; k < x->n && sum < c->demands[i].value; k++) {
            const struct shape_class *other = &s->shapes.classes[s->seats[s->pods[x->all[k].pod].seat].shape];
            for (uint32_t d = 0; d < other->demands_n; d++)
                sum += other->demands[d].resource == c->demands[i].resource ? other->demands[d].value : 0;
        }
        if (sum < c->demands[i].value)
            return false;
    }
    return true;
}

/* ---- one node ---- */

/* From the last to the `first`, so that they come back in their order. */
static void lift_from(struct lone *x, uint32_t first, bool broken)
{
    struct state *s = x->c->s;
    for (uint32_t i = x->n; i-- > first;) {
        struct victim_pod *one = &x->all[i];
        if (one->leaves || one->broken != broken)
            continue;
        one->mark = undo_mark(s);
        undo_lift(s, s->pods[one->pod].seat);
    }
}

static void lift_leaving(struct lone *x, const struct site *site)
{
    struct state *s = x->c->s;
    for (uint32_t i = 0; i < x->n; i++)
        if (x->all[i].leaves)
            undo_lift(s, s->pods[x->all[i].pod].seat);
    for (uint32_t i = 0; i < site->victims_n; i++)
        undo_lift(s, s->pods[site->victims[i].pod].seat);
}

/* Those of one half are taken back, the most important first, as long as it fits; who cannot be is a victim. They come back from the top of
 * the undo log; after a victim, which stays away, the log is laid anew. */
static void reprieve(struct lone *x, struct site *site, uint32_t mark, bool broken)
{
    struct state *s = x->c->s;
    for (uint32_t i = 0; i < x->n; i++) {
        struct victim_pod *one = &x->all[i];
        if (one->leaves || one->broken != broken)
            continue;
        undo_back(s, one->mark);
        if (fits(x, site->node))
            continue;
        site->victims[site->victims_n++] = *one;
        site->broken_n += one->broken;
        undo_back(s, mark);
        lift_leaving(x, site);
        if (broken)
            lift_from(x, 0, false);
        lift_from(x, i + 1, broken);
    }
}

static void sum_up(struct site *site)
{
    if (site->victims_n > 1)
        qsort(site->victims, site->victims_n, sizeof *site->victims, compare_importance);
    site->highest = INT32_MIN;
    site->started_ms = INT64_MAX;
    for (uint32_t i = 0; i < site->victims_n; i++) {
        const struct victim_pod *v = &site->victims[i];
        site->sum += (int64_t)v->priority - INT32_MIN;
        if (v->priority > site->highest)
            site->highest = v->priority;
        if (v->priority == site->highest && v->started_ms < site->started_ms)
            site->started_ms = v->started_ms;
    }
}

/* Who leaves already is gone, and of the others the fewest go. False: the node does not do. */
static bool look_at(struct lone *x, uint32_t node, struct site *ret_site)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    x->looked_n++;
    if (x->n > 1)
        qsort(x->all, x->n, sizeof *x->all, compare_importance);
    find_broken(x);
    *ret_site = (struct site){.node = node, .victims = arena_alloc(x->c->a, (x->n + 1) * sizeof *ret_site->victims)};
    lift_leaving(x, ret_site);
    lift_from(x, 0, false);
    lift_from(x, 0, true);
    bool does = fits(x, node);
    if (does) {
        reprieve(x, ret_site, mark, true);
        reprieve(x, ret_site, mark, false);
        sum_up(ret_site);
    } else {
        say_why_not(x, node);
    }
    undo_back(s, mark);
    return does && !x->out_of_trials;
}

/* Would the pod be let onto the node, were it empty? */
static bool is_suitable(const struct state *s, uint32_t shape, uint32_t node)
{
    const struct shape_class *c = &s->shapes.classes[shape];
    return fit_record(s, c, node, NULL) == FIT_OK && !first_short(c, node_allocatable(&s->nodes, node)) &&
           !s->nodes.nodes[node].has_devices_twice;
}

/* ---- which node ---- */

static bool is_better(const struct state *s, const struct site *a, const struct site *b)
{
    if (a->broken_n != b->broken_n)
        return a->broken_n < b->broken_n;
    if (a->highest != b->highest)
        return a->highest < b->highest;
    if (a->sum != b->sum)
        return a->sum < b->sum;
    if (a->victims_n != b->victims_n)
        return a->victims_n < b->victims_n;
    if (a->started_ms != b->started_ms)
        return a->started_ms > b->started_ms;
    return s->nodes.rank[a->node] < s->nodes.rank[b->node];
}

static void look_at_any(struct lone *x, uint32_t node)
{
    const struct state *s = x->c->s;
    struct site site;
    if (!(s->nodes.flags[node] & NODE_KNOWN))
        return;
    if (!is_suitable(s, x->want.shape, node)) {
        add_reason(x, (struct reason){.code = REASON_NOT_HELPFUL});
        return;
    }
    (void)gather(x, node);
    if (!x->n)
        add_reason(x, (struct reason){.code = REASON_NO_VICTIMS});
    else if (!may_be_enough(x, node))
        say_why_not(x, node);
    else if (look_at(x, node, &site) && site.victims_n) {
        if (!x->sites_n || is_better(s, &site, &x->best))
            x->best = site;
        x->sites_n++;
        x->unbroken_n += !site.broken_n;
    }
}

/* The node where others leave for it already; 0: there is none. WHY the one that the API names: a scheduler that begins anew has promised
 * nothing, and those who leave must not be joined by others elsewhere. */
static uint32_t home_of(const struct lone *x)
{
    const struct state *s = x->c->s;
    const struct promise *p = x->gang->promise;
    name_id name = p ? p->rooms->node_name : s->pods[x->want.pod].nominated;
    uint32_t node = name ? node_table_find(&s->nodes, name) : 0;
    return node && is_suitable(s, x->want.shape, node) ? node : 0;
}

static bool look_at_home(struct lone *x)
{
    return x->home && gather(x, x->home) && may_be_enough(x, x->home) && look_at(x, x->home, &x->best);
}

static void look_everywhere(struct lone *x)
{
    const struct state *s = x->c->s;
    uint32_t enough = s->nodes.known_n / 10 > LONE_NODES ? s->nodes.known_n / 10 : LONE_NODES;
    for (uint32_t i = 0; i < s->nodes.sorted_n && !(x->unbroken_n && x->sites_n >= enough) && !x->out_of_trials; i++)
        look_at_any(x, s->nodes.sorted[i]);
}

/* ---- the whole ---- */

static bool is_victim(const struct site *site, uint32_t pod)
{
    bool any = false;
    for (uint32_t i = 0; i < site->victims_n && !any; i++)
        any = site->victims[i].pod == pod;
    return any;
}

/* WHY  the node is its home from here on, and who has been deleted there leaves for it: asked anew, it would count them (gather), and keep
 * less from others. */
static void promise(struct lone *x)
{
    struct state *s = x->c->s;
    const uint32_t node = x->home = x->best.node;
    (void)gather(x, node); /* ORDER first: x->n was that of the node looked at last */
    struct victims v = {.all = arena_alloc(x->c->a, (x->best.victims_n + x->n + 1) * sizeof *v.all), .places = &node};
    for (uint32_t i = 0; i < x->best.victims_n; i++)
        v.all[v.n++] = (struct candidate){.gang = s->pods[x->best.victims[i].pod].gang, .class = CLASS_OWN};
    for (uint32_t i = 0; i < x->n; i++)
        if (x->all[i].leaves && !is_victim(&x->best, x->all[i].pod))
            v.all[v.n++] = (struct candidate){.gang = s->pods[x->all[i].pod].gang, .class = CLASS_OWN};
    struct preemptor me = {.c = x->c, .gang = x->gang, .queue = s->queues[0], .by_node = true};
    bool is_new = x->best.victims_n || !x->gang->promise || x->gang->promise->rooms->node != node;
    promise_make(&me, &v, &x->want, 1);
    if (is_new) /* else those who were promised something since then were so beside it, and would be again: for ever */
        lone_goes_before(s, x->gang, node);
}

static uint32_t most_on_a_node(const struct state *s)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < s->nodes.sorted_n; i++) {
        uint32_t n = s->nodes.nodes[s->nodes.sorted[i]].seats_n;
        most = n > most ? n : most;
    }
    return most;
}

static bool search(struct lone *x)
{
    struct state *s = x->c->s;
    x->all = arena_alloc(x->c->a, (most_on_a_node(s) + 1) * sizeof *x->all);
    x->looks_at_others = neighbour_matters(s, x->want.shape);
    if (look_at_home(x))
        return true;
    x->out_of_trials = false;
    look_everywhere(x);
    uint32_t cost = x->looked_n < LONE_COST ? x->looked_n : LONE_COST;
    x->c->gangs_left -= x->c->gangs_left < cost ? x->c->gangs_left : cost;
    return x->sites_n > 0;
}

/* All have left, and it has not started. Once is nothing: another pod was faster. WHY  who is told to go for nothing would come back, and
 * be told again, for ever. */
static void note_vain(const struct state *s, struct gang *g)
{
    if (!g->promise || g->promise->victims_n)
        return;
    if (g->vain_n)
        gang_own(g)->preempts_after_ms = s->now_ms + ((int64_t)VAIN_FIRST_MS << (g->vain_n - 1));
    g->vain_n += g->vain_n <= VAIN_DOUBLINGS;
}

static struct lone lone_of(struct cycle *c, struct gang *g)
{
    const struct state *s = c->s;
    const struct pod *p = &s->pods[g->members[0]];
    struct lone x = {.c = c, .gang = g, .want = {.shape = p->shape, .labels = p->labels, .pod = g->members[0]}};
    x.home = home_of(&x);
    x.nodes = reason_new(c->a, (struct reason){.code = REASON_NO_PREEMPTION, .have = LACK_NODES, .nodes_n = s->nodes.known_n});
    return x;
}

bool lone_would_preempt_on(struct cycle *c, struct gang *g, uint32_t node)
{
    struct lone x = lone_of(c, g);
    struct site site;
    if (g->preempts_nobody || c->s->now_ms < g->own->preempts_after_ms || !is_suitable(c->s, x.want.shape, node))
        return false;
    x.all = arena_alloc(c->a, (c->s->nodes.nodes[node].seats_n + 1) * sizeof *x.all);
    (void)gather(&x, node);
    return x.n && may_be_enough(&x, node) && look_at(&x, node, &site) && site.victims_n;
}

bool lone_would_preempt(struct cycle *c, struct gang *g)
{
    if (g->preempts_nobody || c->s->now_ms < g->own->preempts_after_ms || !c->s->nodes.known_n)
        return false;
    struct lone x = lone_of(c, g);
    return search(&x);
}

bool lone_preempts(struct cycle *c, struct gang *g, struct reason *why, bool *ret_neighbours)
{
    struct state *s = c->s;
    struct lone x = lone_of(c, g);
    *ret_neighbours = false;
    if (!s->nodes.known_n)
        return false;
    note_vain(s, g);
    if (g->preempts_nobody) {
        x.nodes->have = LACK_NEVER;
    } else if (s->now_ms < g->own->preempts_after_ms) {
        x.nodes->have = LACK_PATIENCE;
        order_look_later(s, g, g->own->preempts_after_ms);
    } else if (search(&x)) {
        promise(&x);
        return true;
    } else if (x.out_of_trials) {
        x.nodes->have = LACK_TRIALS;
    }
    *ret_neighbours = x.neighbours;
    reason_add(why, x.nodes);
    return false;
}

/* ---- others with a promise ---- */

void lone_goes_before(struct state *s, const struct gang *g, uint32_t node)
{
    for (uint32_t i = s->promised_n; i-- > 0;) {
        struct gang *other = s->promised[i];
        if (lone_yields(other, g) && other->promise->rooms->node == node)
            promise_drop(s, other);
    }
}

void lone_node_gone(struct state *s, uint32_t node)
{
    for (uint32_t i = s->promised_n; i-- > 0;) {
        struct gang *g = s->promised[i];
        if (gang_is_lone(g) && g->promise->rooms->node == node)
            promise_drop(s, g);
    }
}

void lone_drop_lost(struct state *s)
{
    for (uint32_t i = s->promised_n; i-- > 0;) {
        struct gang *g = s->promised[i];
        const struct promised_room *room = g->promise->rooms;
        if (!gang_is_lone(g))
            continue;
        uint32_t node = node_table_find(&s->nodes, room->node_name);
        if (node != room->node || !is_suitable(s, s->pods[g->members[0]].shape, node))
            promise_drop(s, g);
    }
}
