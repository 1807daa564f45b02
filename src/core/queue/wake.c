/* wake.c - whom do the changes since the last cycle help?
 *
 * SHAPE  gains are noted where they happen (nodes with more room, quota trees with more left, queues with another record). A cycle begins
 *        by holding them against the parkings. Where much has changed, all that may be helped are woken at once. Where little has
 *        (the usual case: one pod has ended), those that may be helped are only listed; each round wakes the first of each queue, and
 *        who no longer fits when its turn comes leaves the list unseen.
 */
#include "base/memory.h"
#include "core/place/fit.h"
#include "core/preempt/lone.h"
#include "core/queue/consumption.h"
#include "core/queue/lane.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/queue/standing.h"
#include "core/quota/ledger.h"
#include "core/time/booking.h"

#define FEW_NODES 4        /* so many may gain room, and lines are still woken one by one */
#define REFRESH_MAX 200    /* reasons found anew in one cycle: who may start does not wait for thousands of them */
#define REFRESH_PAUSE_MS 20

/* ---- may a line fit now? ---- */

static bool node_has(const struct state *s, const struct shape_class *c, uint32_t node)
{
    const int64_t *left = node_free(&s->nodes, node);
    if (c->device_demand >= 0) { /* the scarcest first: it says no most often */
        const struct demand *d = &c->demands[c->device_demand];
        if (d->column < 0 || left[d->column] < d->value)
            return false;
    }
    return fit_room(s, c, node) > 0 && fit_record(s, c, node, NULL) == FIT_OK;
}

/* Could one of the nodes that gained room hold one more of it? Each shape is asked once in a cycle, until some node is another. */
static bool class_helped(const struct state *s, struct shape_class *c)
{
    if (c->helped_cycle == s->cycles_n && c->helped_seq == s->nodes.seq)
        return c->helped;
    c->helped_cycle = s->cycles_n;
    c->helped_seq = s->nodes.seq;
    c->helped = false;
    for (uint32_t k = 0; k < s->helping_n && !c->helped; k++)
        c->helped = node_has(s, c, s->helping[k]);
    return c->helped;
}

static bool shape_helped(const struct state *s, const struct parking *p)
{
    bool helped = p->shapes_n > PARK_SHAPES && s->helping_n;
    for (uint32_t i = 0; i < p->shapes_n && p->shapes_n <= PARK_SHAPES && !helped; i++)
        helped = class_helped(s, &s->shapes.classes[p->shapes[i]]);
    return helped;
}

/* A lone pod: somebody of lower priority stands there, with whom it is perhaps enough. Who waits for other lone pods already is woken when
 * they have left (promise.c), and meanwhile by its own node and by nodes for which nobody waits but those of lower priority: what comes
 * free on the others is kept for those who do. */
static bool lone_helped(const struct state *s, const struct parking *p, const struct gang *g)
{
    bool helped = false;
    if (!g->promise)
        return shape_helped(s, p) || (!g->preempts_nobody && g->priority > s->helping_lowest);
    for (uint32_t i = 0; i < s->helping_n && !helped; i++) {
        const struct node *node = &s->nodes.nodes[s->helping[i]];
        bool may_help = s->helping[i] == g->promise->rooms->node || !node->promised_n || node->promised_highest < g->priority;
        for (uint32_t k = 0; k < p->shapes_n && p->shapes_n <= PARK_SHAPES && may_help; k++)
            helped |= node_has(s, &s->shapes.classes[p->shapes[k]], s->helping[i]);
    }
    return helped;
}

/* Whatever came free may be enough for a group that preempts by priority, together with those who go. */
static bool nodes_helped(const struct state *s, const struct parking *p)
{
    const struct gang *g = p->line ? line_first(p->line) : NULL;
    if (g && gang_is_lone(g))
        return lone_helped(s, p, g);
    return shape_helped(s, p) || (g && s->helping_n && gang_has_no_queue(g) && (g->promise || ledger_has_lower(s, g)));
}

bool order_hope_met(const struct state *s, const struct parking *p, const struct queue *q)
{
    if (p->hopes_n > PARK_HOPES || !p->hopes_n)
        return true;
    for (uint32_t i = 0; i < p->hopes_n; i++)
        if (quota_available(&s->quota, q->quota, p->hopes[i].flavor, p->hopes[i].resource) >= p->hopes[i].need)
            return true;
    return false;
}

static bool may_fit(const struct state *s, const struct parking *p, const struct queue *q)
{
    if ((p->on & PARK_NEIGHBOURS) && (s->neighbours_helping || s->helping_n))
        return true;
    if ((p->on & PARK_NODES) && nodes_helped(s, p))
        return true;
    if (!(p->on & PARK_QUOTA) || !q || !q->quota)
        return false;
    const struct quota_node *root = &s->quota.nodes[s->quota.nodes[q->quota].root];
    if ((root->helping && order_hope_met(s, p, q)) || (root->taking && p->takes))
        return true;
    /* somebody's share is higher, or he has more than he deserves, or than is his own: others may be preempted now who might not before */
    return root->rising && q->reclaim != PREEMPT_NEVER && (s->fair.on || q->has_shares || (p->on & PARK_BORROWERS));
}

/* WHY  room that bookings withhold is there: whom they keep out waits for more than nodes, and is to be refused for it. */
bool order_may_fit(const struct state *s, const struct line *l)
{
    bool withheld = s->booking_view.stands && s->booking_view.withheld;
    return !l->recheck || l->woken_cycle != s->cycles_n || withheld || may_fit(s, &l->woken, l->queue);
}

/* ---- queues, flavors and namespaces with another record ---- */

static bool queue_changed(const struct state *s, const struct gang *g)
{
    const struct local_queue *l = g->own->local_queue ? &s->local_queues[id_map_get(&s->local_queue_by_key, g->own->local_queue)] : NULL;
    uint32_t ns = id_map_get(&s->namespace_by_name, g->ns);
    name_id name = l ? l->queue : g->own->queue_name;
    uint32_t at = name ? id_map_get(&s->queue_by_name, name) : 0;
    return (l && l->changed) || (at && s->queues[at]->changed) || (ns && s->namespaces[ns].changed && (l || at));
}

static void note_flavors(struct state *s)
{
    for (uint32_t i = 1; i < s->queues_n; i++) {
        struct queue *q = s->queues[i];
        for (uint32_t g = 0; g < q->groups_n && !q->changed; g++)
            for (uint32_t f = 0; f < q->groups[g].flavors_n && !q->changed; f++) {
                uint32_t at = id_map_get(&s->flavor_by_name, q->groups[g].flavors[f]);
                q->changed = at && s->flavors[at].changed;
            }
    }
}

static void note_cohorts(struct state *s)
{
    for (uint32_t i = 1; i < s->queues_n && s->quota.regrouped; i++)
        s->queues[i]->changed |= s->queues[i]->quota && quota_take_regrouped(&s->quota, s->queues[i]->quota);
    s->quota.regrouped = false;
}

static void add_candidate(struct state *s, struct line *l)
{
    MEM_RESERVE(s->candidates, s->candidates_cap, s->candidates_n + 1);
    s->candidates[s->candidates_n++] = l;
    l->queue->candidates_n++;
    l->candidate_at = s->candidates_n;
}

/* All of its gangs look for themselves whether they may still get in line, and in which. The line ends with the last of them. */
static void dissolve(struct state *s, struct line *l)
{
    for (size_t n = l->gangs.n; n > 0; n--)
        order_wake(s, l->gangs.items[n - 1]);
}

static void wake_queues(struct state *s)
{
    note_flavors(s);
    note_cohorts(s);
    for (uint32_t i = order_parked_n(s); i-- > 0;) { /* from the end: waking moves the last one down */
        struct parking *p = order_parked(s, i);
        if (p->gang && (p->on & PARK_QUEUE) && queue_changed(s, p->gang))
            order_wake(s, p->gang);
        else if (p->line && queue_changed(s, line_first(p->line)))
            add_candidate(s, p->line);
    }
    for (uint32_t i = 0; i < s->ready_n; i++) {
        size_t lane = 0, at = 0;
        for (struct line *l; (l = lane_next_ready(s->ready[i], &lane, &at));)
            if (queue_changed(s, line_first(l)))
                add_candidate(s, l);
    }
    while (s->candidates_n)
        dissolve(s, s->candidates[s->candidates_n - 1]);
    bookings_look_all(s); /* another queue of the tree may lend less: who counts on that gains nothing, and would never look */
}

static void forget_queue_changes(struct state *s)
{
    for (uint32_t i = 0; i < s->queues_n; i++)
        s->queues[i]->changed = false;
    for (uint32_t i = 1; i < s->local_queues_n; i++)
        s->local_queues[i].changed = false;
    for (uint32_t i = 1; i < s->namespaces_n; i++)
        s->namespaces[i].changed = false;
    for (uint32_t i = 1; i < s->flavors_n; i++)
        s->flavors[i].changed = false;
    s->queues_changed = false;
}

/* ---- the beginning of a cycle ---- */

bool order_has_changes(const struct state *s)
{
    bool gained = (s->ready_gained && !s->hold) || s->nodes.gained_n || s->quota.gained || s->quota.rose || s->quota.dirty;
    return s->fresh_n || s->queues_changed || (order_parked_n(s) && (gained || s->neighbours_changed));
}

/* The gains so far are this cycle's; what is gained from here on is the next one's. */
static void take_gains(struct state *s)
{
    MEM_RESERVE(s->helping, s->helping_cap, s->nodes.gained_n);
    s->helping_n = s->nodes.gained_n;
    if (s->helping_n)
        memcpy(s->helping, s->nodes.gained, s->helping_n * sizeof *s->helping);
    node_table_gained_clear(&s->nodes);
    s->helping_lowest = INT32_MAX;
    for (uint32_t i = 0; i < s->helping_n && s->parked_n; i++) {
        int32_t lowest = lone_lowest(s, s->helping[i]);
        s->helping_lowest = lowest < s->helping_lowest ? lowest : s->helping_lowest;
    }
    MEM_RESERVE(s->helping_roots, s->helping_roots_cap, s->quota.stirred_n);
    for (s->helping_roots_n = 0; s->quota.stirred_n;) {
        struct quota_node *node = &s->quota.nodes[s->quota.stirred[--s->quota.stirred_n]];
        s->helping_roots[s->helping_roots_n++] = (uint32_t)(node - s->quota.nodes);
        node->helping = node->gained;
        node->rising = node->rose;
        node->taking = node->took;
        node->gained = node->rose = node->took = false;
    }
    s->quota_helping = s->helping_roots_n > 0;
    s->neighbours_helping = s->neighbours_changed;
    s->quota.gained = s->quota.rose = s->neighbours_changed = false;
}

/* Nothing that lets it start, but what its reason counts may be another amount. */
static void note_outdated(struct state *s, struct parking *p, const struct queue *q)
{
    if (p->outdated || !p->line)
        return;
    bool quota = (p->on & PARK_QUOTA) && q->quota && s->quota.nodes[s->quota.nodes[q->quota].root].helping;
    p->outdated = quota || ((p->on & PARK_NODES) && s->helping_n);
    if (p->outdated)
        order_refresh_after(s, p->tried_ms);
}

/* WHY  whatever it was refused for: others who came, started or left since have taken what its reason counts, or would be tried beside it
 * with what is said to help. Or in the same cycle, after it was tried. */
static bool is_outdated(const struct state *s, const struct parking *p)
{
    return p->outdated || s->others_ms >= p->tried_ms || standing_outdated(p->line);
}

bool order_refresh(struct state *s, int64_t now_ms)
{
    if (!s->refresh_ms || s->refresh_ms > now_ms)
        return false;
    s->refresh_ms = 0;
    uint32_t n = 0;
    for (uint32_t i = order_parked_n(s); i-- > 0;) {
        const struct parking *p = order_parked(s, i);
        if (!p->line || !is_outdated(s, p))
            continue;
        if (p->tried_ms + REFRESH_MS > now_ms) {
            order_refresh_after(s, p->tried_ms);
        } else if (n++ < REFRESH_MAX) {
            order_line_ready(s, p->line, false);
        }
    }
    if (n > REFRESH_MAX)
        s->refresh_ms = now_ms + REFRESH_PAUSE_MS;
    standing_retried(s);
    return n > 0;
}

bool order_wake_tree(struct state *s, uint32_t root)
{
    bool any = false;
    for (uint32_t i = order_parked_n(s); i-- > 0;) { /* from the end: waking moves the last one down */
        struct parking *p = order_parked(s, i);
        const struct queue *q = p->line ? p->line->queue : p->gang->queue;
        if (!(p->on & PARK_QUOTA) || !q || !q->quota || s->quota.nodes[q->quota].root != root || !order_hope_met(s, p, q))
            continue;
        any = true;
        if (p->gang)
            order_wake(s, p->gang);
        else
            order_line_ready(s, p->line, false);
    }
    return any;
}

static void wake_helped(struct state *s)
{
    bool few = s->helping_n <= FEW_NODES;
    for (uint32_t i = s->parked_n; i-- > 0;) { /* from the end: waking moves the last one down */
        struct parking *p = s->parked[i];
        const struct queue *q = p->line ? p->line->queue : p->gang->queue;
        if (!may_fit(s, p, q)) {
            note_outdated(s, p, q);
            continue;
        }
        if (p->gang)
            order_wake(s, p->gang);
        else if (few)
            add_candidate(s, p->line);
        else
            order_line_ready(s, p->line, false);
    }
}

/* ---- those that stand ---- */

static void wake_standing(struct state *s, uint32_t root)
{
    for (uint32_t i = standing_n(s); i-- > 0;) {
        struct line *l = standing_line(s, i);
        if (s->quota.nodes[l->queue->quota].root == root && standing_helped(l) && order_hope_met(s, &l->park, l->queue))
            add_candidate(s, l);
    }
}

void order_wake_standing(struct state *s)
{
    if (s->standing_root)
        wake_standing(s, s->standing_root);
    s->standing_root = 0;
}

/* Where one tree alone has gained, shares say whom of it that helps (decide.c); else they are woken as others are. */
static void help_standing(struct state *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->helping_roots_n && standing_n(s); i++) {
        uint32_t root = s->helping_roots[i];
        int64_t outdated_ms;
        if (!s->quota.nodes[root].helping || !standing_gained(s, root, s->now_ms, &outdated_ms))
            continue;
        if (outdated_ms != INT64_MAX)
            order_refresh_after(s, outdated_ms);
        s->standing_root = root;
        n++;
    }
    for (uint32_t i = 0; i < s->helping_roots_n && n > 1; i++)
        if (s->quota.nodes[s->helping_roots[i]].helping)
            wake_standing(s, s->helping_roots[i]);
    s->standing_root = n == 1 ? s->standing_root : 0;
    if (s->hold)
        order_wake_standing(s);
}

void order_begin(struct state *s, int64_t now_ms)
{
    s->cycles_n++;
    if (standing_is_old(s))
        order_end_standing(s);
    consumption_tick(s, now_ms);
    for (struct gang *g; (g = heap_first(&s->timers)) && g->retry_ms <= now_ms;)
        order_wake(s, g);
    ready_wake(s, now_ms);
    if (s->queues_changed)
        wake_queues(s);
    forget_queue_changes(s);
    take_gains(s);
    help_standing(s);
    if (s->parked_n && (s->helping_n || s->quota_helping || s->neighbours_helping))
        wake_helped(s);
}

void order_pick(struct state *s)
{
    for (uint32_t i = s->candidates_n; i-- > 0;) {
        struct line *l = s->candidates[i];
        if (!may_fit(s, &l->park, l->queue)) {
            order_no_candidate(s, l);
            continue;
        }
        struct queue *q = l->queue;
        if (!q->picked || lane_line_before(l, q->picked))
            q->picked = l;
    }
    for (uint32_t i = s->candidates_n; i-- > 0;) {
        struct line *l = s->candidates[i];
        struct queue *q = l->queue;
        if (q->picked != l)
            continue;
        q->picked = NULL;
        order_no_candidate(s, l);
        order_line_ready(s, l, true);
    }
}

void order_try_again(struct state *s, struct line *l)
{
    const struct parking woken = l->woken;
    order_park_again(s, l, &woken);
    if (!s->standing_root || !l->stand)
        add_candidate(s, l);
}

void order_end(struct state *s)
{
    if (s->others_changed && order_parked_n(s))
        order_refresh_after(s, s->now_ms);
    s->others_ms = s->others_changed ? s->now_ms : s->others_ms;
    s->others_changed = false;
    order_wake_standing(s);
    while (s->candidates_n) { /* the cycle was at its limit before their turn came: the next one tries them */
        struct line *l = s->candidates[s->candidates_n - 1];
        order_no_candidate(s, l);
        if (may_fit(s, &l->park, l->queue))
            order_line_ready(s, l, false);
    }
    for (uint32_t i = 0; i < s->helping_roots_n; i++) {
        struct quota_node *root = &s->quota.nodes[s->helping_roots[i]];
        root->helping = root->rising = root->taking = false;
    }
    s->helping_roots_n = 0;
    s->quota_helping = s->neighbours_helping = false;
    s->helping_n = 0;
    s->helping_lowest = INT32_MAX;
}
