/* remedy_find.c - guesses at what would be enough, for remedy.c to prove and to make smaller */
#include "core/explain/remedy.h"
#include <string.h>
#include "base/amount.h"
#include "core/group/terms.h"
#include "core/moves/carry.h"
#include "core/place/fit.h"
#include "core/place/try.h"
#include "core/place/undo.h"
#include "core/place/view.h"
#include "core/preempt/candidates.h"
#include "core/preempt/lone.h"
#include "core/quota/ledger.h"
#include "core/preempt/tenure.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/count.h"
#include "core/time/booking.h"

/* ---- keeping what was found ---- */

static int compare_names(const struct intern *names, name_id a, name_id b)
{
    return a == b ? 0 : strcmp(intern_name(names, a), intern_name(names, b));
}

/* ORDER  names by their texts: the same one has another number after a restart. */
static int compare_measures(const struct intern *names, const struct measure *a, const struct measure *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    int r = compare_names(names, a->flavor, b->flavor);
    r = r ? r : compare_names(names, a->resource, b->resource);
    if (r)
        return r;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return a->gang == b->gang ? 0 : order_before(b->gang, a->gang) ? -1 : 1;
}

static void sort_measures(const struct intern *names, struct measures *m)
{
    for (uint32_t i = 1; i < m->n; i++) {
        struct measure one = m->all[i];
        uint32_t at = i;
        for (; at && compare_measures(names, &one, &m->all[at - 1]) < 0; at--)
            m->all[at] = m->all[at - 1];
        m->all[at] = one;
    }
}

static bool same_measures(const struct intern *names, const struct measures *a, const struct measures *b)
{
    for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
        if (compare_measures(names, &a->all[i], &b->all[i]) || a->all[i].amount != b->all[i].amount)
            return false;
    return a->n == b->n;
}

/* A guess: prove it, make it smaller, keep it when it is another one than those before. */
bool remedy_keep_if_proven(struct remedy_search *x, struct measures *m)
{
    if (x->found_n == REMEDIES_MAX || !x->trials_left)
        return false;
    if (m->overflow) {
        x->unsure = true;
        return false;
    }
    if (remedy_try(x, m) != VERDICT_YES)
        return false;
    if (!remedy_reduce(x, m)) {
        x->unsure = true;
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++)
        m->all[i].rank = m->all[i].node ? x->c->s->nodes.rank[m->all[i].node] : 0; /* slots differ after a restart */
    sort_measures(x->c->s->names, m);
    for (uint32_t i = 0; i < x->found_n; i++)
        if (same_measures(x->c->s->names, &x->found[i], m))
            return false;
    x->found[x->found_n++] = *m;
    return true;
}

/* ---- quota ---- */

static int64_t asked_of(const struct remedy_search *x, name_id resource)
{
    int64_t sum = 0;
    const struct gang *g = x->gang;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        int64_t each = count_of(x->c->s, x->queue, g->keeps_places, set_charged(&g->sets[i]), resource);
        sum = amount_plus(sum, amount_times(each, set_needs(&g->sets[i])));
    }
    return sum;
}

static void add_short_cell(struct remedy_search *x, struct measures *m, name_id flavor, name_id resource)
{
    int64_t missing = 0, need = asked_of(x, resource);
    if (!need || __builtin_sub_overflow(need, quota_available(&x->c->s->quota, x->queue->quota, flavor, resource), &missing) ||
        missing <= 0)
        return;
    measures_add(m, (struct measure){.kind = MEASURE_QUOTA, .flavor = flavor, .resource = resource, .amount = missing});
}

/* As much as all would take of the nth flavor of each group: the quota that is missing for it. False: there is no such flavor. */
static bool guess_quota(struct remedy_search *x, uint32_t nth, struct measures *m)
{
    const struct queue *q = x->queue;
    bool is_new = nth == 0;
    if (!q)
        return is_new;
    for (uint32_t g = 0; g < q->groups_n; g++) {
        const struct resource_group *group = &q->groups[g];
        is_new |= nth < group->flavors_n;
        name_id flavor = group->flavors_n ? group->flavors[nth < group->flavors_n ? nth : group->flavors_n - 1] : 0;
        for (uint32_t r = 0; r < group->resources_n; r++)
            add_short_cell(x, m, flavor, group->resources[r]);
    }
    for (uint32_t i = 0; i < q->quotas_n && !q->groups_n; i++)
        add_short_cell(x, m, 0, q->quotas[i].resource);
    return is_new;
}

/* ---- room on nodes ---- */

/* What the pod lacks of one resource on the node; -1: the node could not hold it if nobody were there. */
static int64_t lack_of(const struct state *s, const struct demand *d, uint32_t node)
{
    if (d->column < 0 || node_allocatable(&s->nodes, node)[d->column] < d->value)
        return -1;
    const struct node *n = &s->nodes.nodes[node];
    const struct device_span *span = n->devices.n ? device_table_span(&n->devices, d->resource) : NULL;
    int64_t left = node_free(&s->nodes, node)[d->column];
    left = span && span->free_n < left ? span->free_n : left;
    return left < d->value ? d->value - left : 0;
}

/* In thousandths. A part may be far more than the whole: others were bound to the node though it is full. */
static int64_t share(int64_t part, int64_t whole)
{
    const int64_t most = INT64_MAX / 1000;
    if (part <= most)
        return part * 1000 / whole;
    return whole >= 1000 && part / (whole / 1000) < most ? part / (whole / 1000) : most;
}

/* How far the node is from holding one more, by share of what it asks, in thousandths; -1: it could not ever, or does now. */
static int64_t distance(const struct state *s, const struct shape_class *c, uint32_t node)
{
    int64_t sum = 0;
    if (!(s->nodes.flags[node] & NODE_KNOWN))
        return -1;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        int64_t lack = lack_of(s, &c->demands[i], node);
        if (lack < 0)
            return -1;
        sum += lack ? 1 + share(lack, c->demands[i].value) : 0;
    }
    return sum ? sum : -1;
}

/* Others hold so much of it on the node: no more than that can come free. */
static int64_t held_by_others(const struct remedy_search *x, uint32_t node, name_id resource)
{
    const struct state *s = x->c->s;
    int64_t sum = 0;
    for (uint32_t at = s->nodes.nodes[node].first_seat; at; at = s->seats[at].next) {
        const struct shape_class *c = &s->shapes.classes[s->seats[at].shape];
        for (uint32_t i = 0; i < c->demands_n && s->seats[at].gang != x->gang; i++)
            sum += c->demands[i].resource == resource ? demand_taken(&c->demands[i]) : 0;
    }
    return sum;
}

static int64_t freed_so_far(const struct measures *m, uint32_t node, name_id resource)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->all[i].kind == MEASURE_FREE && m->all[i].node == node && m->all[i].resource == resource)
            return m->all[i].amount;
    return 0;
}

/* What has to come free on the node for one more, beside what `m` frees already. False: it cannot. */
static bool lacks_on_node(struct remedy_search *x, const struct shape_class *c, uint32_t node, const struct measures *m,
                          struct measures *ret_lacks)
{
    struct state *s = x->c->s;
    ret_lacks->n = 0;
    ret_lacks->overflow = false;
    if (distance(s, c, node) < 0 || fit_record(s, c, node, NULL) != FIT_OK || !fit_ports(s, c, node))
        return false;
    for (uint32_t i = 0; i < c->demands_n; i++) {
        name_id resource = c->demands[i].resource;
        int64_t lack = lack_of(s, &c->demands[i], node);
        if (!lack)
            continue;
        if (lack + freed_so_far(m, node, resource) > held_by_others(x, node, resource))
            return false;
        measures_add(ret_lacks, (struct measure){.kind = MEASURE_FREE, .node = node, .resource = resource, .amount = lack});
    }
    return !ret_lacks->overflow;
}

/* The node that lacks least for it, of equals the first by name; the one before while it can take more. 0: none. */
static uint32_t nearest_node(struct remedy_search *x, uint32_t shape, uint32_t before, const struct measures *m, struct measures *ret_lacks)
{
    const struct state *s = x->c->s;
    const struct shape_class *c = &s->shapes.classes[shape];
    uint32_t best = 0;
    int64_t best_distance = INT64_MAX;
    if (before && lacks_on_node(x, c, before, m, ret_lacks))
        return before;
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        struct measures lacks;
        int64_t far = distance(s, c, slot);
        if (far < 0 || far > best_distance || (far == best_distance && s->nodes.rank[slot] > s->nodes.rank[best]) ||
            !lacks_on_node(x, c, slot, m, &lacks))
            continue;
        best = slot;
        best_distance = far;
        *ret_lacks = lacks;
    }
    return best;
}

static void add_or_raise(struct measures *m, const struct measure *one)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->all[i].kind == one->kind && m->all[i].node == one->node && m->all[i].resource == one->resource) {
            m->all[i].amount += one->amount;
            return;
        }
    measures_add(m, *one);
}

/* As many as find a place take it; each of the others gets the node where the least is missing. False: nobody could ever take one. */
static bool make_room(struct remedy_search *x, struct wishes *w, struct measures *m)
{
    struct state *s = x->c->s;
    uint32_t node = 0;
    bool unused;
    if (w->n)
        (void)place_some(s, x->gang, w->wants, w->n, &unused);
    for (uint32_t i = 0; i < w->n; i++) {
        struct measures lacks;
        if (w->wants[i].seat)
            continue;
        node = nearest_node(x, w->wants[i].shape, i && w->wants[i].shape == w->wants[i - 1].shape ? node : 0, m, &lacks);
        if (!node)
            return false;
        for (uint32_t k = 0; k < lacks.n; k++) {
            if (!undo_room(s, lacks.all[k].node, lacks.all[k].resource, lacks.all[k].amount))
                return false;
            add_or_raise(m, &lacks.all[k]);
        }
        if (m->overflow || !place_some(s, x->gang, &w->wants[i], 1, &unused))
            return !m->overflow;
    }
    return true;
}

static void guess_room(struct remedy_search *x, const struct measures *quota, uint32_t nth)
{
    struct state *s = x->c->s;
    struct measures m = *quota;
    struct wishes w;
    uint32_t mark = undo_mark(s);
    bool found = remedy_apply(x, quota) && try_wishes(x->c, x->gang, x->queue, nth, &w);
    if (found) {
        found = make_room(x, &w, &m);
        undo_back(s, mark);
        wishes_release(s, &w);
    }
    remedy_take_back(x, quota, mark);
    if (found)
        (void)remedy_keep_if_proven(x, &m);
}

/* Nodes that are only cordoned, by name. */
static void guess_uncordon(struct remedy_search *x, const struct measures *quota)
{
    const struct state *s = x->c->s;
    struct measures m = *quota;
    uint32_t before_n = m.n;
    for (uint32_t i = 0; i < s->nodes.sorted_n; i++) {
        uint32_t slot = s->nodes.sorted[i];
        uint8_t flags = s->nodes.flags[slot];
        if ((flags & (NODE_KNOWN | NODE_READY | NODE_UNSCHEDULABLE)) == (NODE_KNOWN | NODE_READY | NODE_UNSCHEDULABLE) &&
            m.n < REMEDY_MEASURES)
            measures_add(&m, (struct measure){.kind = MEASURE_UNCORDON, .node = slot});
    }
    if (m.n > before_n)
        (void)remedy_keep_if_proven(x, &m);
}

/* ---- gangs that end ---- */

#define ENDS_MAX 16

static bool touches_quota(const struct remedy_search *x, const struct gang *g)
{
    const struct quota *q = &x->c->s->quota;
    return x->queue && x->queue->quota && g->queue && g->queue->quota && g->own->charges_n &&
           q->nodes[g->queue->quota].root == q->nodes[x->queue->quota].root;
}

/* The least loss first: low priority, then those that came last. */
static bool ends_before(const struct gang *a, const struct gang *b)
{
    return order_before(b, a);
}

static uint32_t list_ends(struct remedy_search *x, struct gang **ret_all)
{
    const struct state *s = x->c->s;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        struct gang *g = s->gangs[i];
        bool holds = gang_holds(g) && g->phase != GANG_LEAVING && (g->bound_n || g->own->seats_n || touches_quota(x, g));
        if (!holds)
            continue;
        uint32_t at = n < ENDS_MAX ? n++ : n;
        if (at == ENDS_MAX) {
            x->unsure = true;
            if (!ends_before(g, ret_all[--at]))
                continue;
        }
        for (; at && ends_before(g, ret_all[at - 1]); at--)
            ret_all[at] = ret_all[at - 1];
        ret_all[at] = g;
    }
    return n;
}

/* One that is enough alone, up to two of them; else as many as are enough together. */
static void guess_ends(struct remedy_search *x)
{
    struct gang *all[ENDS_MAX];
    uint32_t n = list_ends(x, all), found_n = 0;
    for (uint32_t i = 0; i < n && found_n < 2; i++) {
        struct measures m = {.n = 1, .all = {{.kind = MEASURE_END, .gang = all[i]}}};
        found_n += remedy_keep_if_proven(x, &m);
    }
    struct measures m = {0};
    for (uint32_t i = 0; i < n && i < REMEDY_MEASURES && !found_n; i++)
        measures_add(&m, (struct measure){.kind = MEASURE_END, .gang = all[i]});
    if (m.n > 1)
        (void)remedy_keep_if_proven(x, &m);
}

/* ---- jobs that are moved ---- */

#define TRIALS_OF_PROOF 40u /* left for remedy_reduce */

static bool is_allowed(const struct moves *m)
{
    bool allowed = true;
    for (uint32_t i = 0; i < m->n; i++)
        allowed &= m->all[i].leave == MOVE_ALLOWED;
    return allowed;
}

/* Where others may go for it, or anybody has a promise, who is moved could be one of those who go, so nothing is said. */
static void guess_moves(struct remedy_search *x)
{
    struct moves *found = arena_alloc(x->c->a, sizeof *found);
    const struct state *s = x->c->s;
    if (x->others_may_go || s->bookings_n || !moves_may_help(s, x->gang) || x->trials_left <= TRIALS_OF_PROOF)
        return;
    movers_know(x->c);
    uint32_t trials = x->trials_left - TRIALS_OF_PROOF < MOVES_TRIALS ? x->trials_left - TRIALS_OF_PROOF : MOVES_TRIALS, had = trials;
    bool any = moves_find(x->c, x->gang, true, &trials, found) || moves_find(x->c, x->gang, false, &trials, found);
    x->trials_left -= had - trials;
    struct measures m = {0};
    for (uint32_t i = 0; any && i < found->n; i++)
        measures_add(&m, (struct measure){.kind = MEASURE_MOVE, .gang = found->all[i].gang, .move = &found->all[i]});
    if (m.n && remedy_keep_if_proven(x, &m) && m.n == found->n && is_allowed(found) && carry_may(s, x->gang, found)) {
        int64_t after_ms = x->gang->own->preempts_after_ms; /* others have left for it in vain */
        x->gang->wants_moves = true;
        order_look_later(x->c->s, x->gang, after_ms > x->c->now_ms ? after_ms : x->c->now_ms);
    }
}

/* ---- members ---- */

static bool may_be_fewer(const struct gang_set *set)
{
    return set->min_count > 1 && set->min_count < set->asked_n - set->over_n;
}

/* Of pod sets, or of tasks of a group. */
static void guess_minima(struct remedy_search *x)
{
    const struct gang *g = x->gang;
    struct measures m = {0};
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++)
        if (may_be_fewer(&g->sets[i]))
            measures_add(&m, (struct measure){.kind = MEASURE_MINIMUM, .set = i, .amount = g->sets[i].min_count - 1});
    for (uint32_t t = 0; t < g->own->min_of_task_n && !g->planned; t++)
        if (g->own->min_of_task[t].value > 0)
            measures_add(&m, (struct measure){.kind = MEASURE_MINIMUM, .set = t + 1, .amount = g->own->min_of_task[t].value});
    if (m.n)
        (void)remedy_keep_if_proven(x, &m);
}

static void guess_minimum_of_all(struct remedy_search *x)
{
    struct measures m = {.n = 1, .all = {{.kind = MEASURE_MINIMUM, .amount = x->gang->min_members - 1}}};
    (void)remedy_keep_if_proven(x, &m);
}

/* WHY  asked before: a list of measures is large, and most gangs have no minimum. */
void remedy_guess_minimum(struct remedy_search *x)
{
    const struct gang *g = x->gang;
    bool any = !g->planned && g->own->min_of_task_n;
    for (uint32_t i = 0; i < g->sets_n && g->planned; i++)
        any |= may_be_fewer(&g->sets[i]);
    if (any)
        guess_minima(x);
    if (!g->planned && !gang_is_lone(g) && g->min_members > 1)
        guess_minimum_of_all(x);
}

/* ---- impossible ---- */

static void take_all_back(struct state *s, uint32_t mark)
{
    undo_back(s, mark);
    for (uint32_t i = 0; i < s->gangs_n; i++)
        s->gangs[i]->ended = false;
}

/* All quota that it asks for, and every node ready, empty and open: does it fit then? */
static bool fits_in_an_empty_cluster(struct remedy_search *x)
{
    struct state *s = x->c->s;
    uint32_t mark = undo_mark(s);
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        if (!gang_holds(s->gangs[i]))
            continue;
        struct measures m = {.n = 1, .all = {{.kind = MEASURE_END, .gang = s->gangs[i]}}};
        if (!remedy_apply(x, &m)) {
            take_all_back(s, mark);
            return true; /* who knows */
        }
    }
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        if (!(s->nodes.flags[slot] & NODE_KNOWN))
            continue;
        undo_flags(s, slot, (s->nodes.flags[slot] | NODE_READY) & (uint8_t)~NODE_UNSCHEDULABLE);
        for (uint32_t c = 0; c < s->nodes.columns_n; c++) {
            int64_t used = node_allocatable(&s->nodes, slot)[c] - node_free(&s->nodes, slot)[c];
            if (used > 0 && !undo_room(s, slot, s->nodes.columns[c], used)) {
                take_all_back(s, mark);
                return true;
            }
        }
    }
    bool fits = false;
    struct measures quota;
    for (uint32_t nth = 0; nth < 64 && !fits; nth++) {
        quota = (struct measures){0};
        if (!guess_quota(x, nth, &quota))
            break;
        uint32_t inner = undo_mark(s);
        fits = quota.overflow || (remedy_apply(x, &quota) && try_on_trial(x->c, x->gang));
        undo_back(s, inner);
    }
    take_all_back(s, mark);
    return fits;
}

/* What it was refused for, and no quota, room or end of others changes: its queue, flavors or topology have to be mended. NULL: nothing of
 * that. WHY flavors only where nothing else is short: another one of them may be meant for it. */
static struct reason *fault_of(struct remedy_search *x)
{
    static const enum reason_code faults[] = {REASON_RESOURCE_UNCOVERED, REASON_FLAVOR_MISSING, REASON_TOPOLOGY_MISSING,
                                              REASON_TOPOLOGY_UNFIT, REASON_FLAVOR_TAINT, REASON_FLAVOR_AFFINITY, REASON_FLAVOR_TOPOLOGY};
    const struct reason *why = x->gang->line ? x->gang->line->reason : x->gang->reason;
    bool others = reason_find(why, REASON_QUOTA_SHORT) || reason_find(why, REASON_QUOTA_EXCEEDS_MAX) ||
                  reason_find(why, REASON_KEPT_OVER_QUOTA) || reason_find(why, REASON_PLACEMENT_FAILED);
    for (size_t i = 0; i < (others ? 4 : sizeof faults / sizeof *faults); i++) {
        const struct reason *found = reason_find(why, faults[i]);
        if (!found)
            continue;
        struct reason *copy = reason_new(x->c->a, *found), *impossible = reason_new(x->c->a, (struct reason){.code = REASON_IMPOSSIBLE});
        copy->child = copy->next = NULL;
        reason_add(impossible, copy);
        return impossible;
    }
    return NULL;
}

/* What the largest node has of what no node has enough of. */
static struct reason *why_impossible(struct remedy_search *x)
{
    const struct state *s = x->c->s;
    const struct gang *g = x->gang;
    struct reason *fault = fault_of(x);
    if (fault)
        return fault;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[g->sets[i].shape];
        for (uint32_t k = c->demands_n; k-- > 0;) {
            const struct demand *d = &c->demands[k];
            int64_t most = 0;
            for (uint32_t slot = 1; slot < s->nodes.n && d->column >= 0; slot++)
                if ((s->nodes.flags[slot] & NODE_KNOWN) && node_allocatable(&s->nodes, slot)[d->column] > most)
                    most = node_allocatable(&s->nodes, slot)[d->column];
            if (most < d->value)
                return reason_new(x->c->a,
                                  (struct reason){.code = REASON_IMPOSSIBLE, .resource = d->resource, .have = most, .need = d->value});
        }
    }
    return reason_new(x->c->a, (struct reason){.code = REASON_IMPOSSIBLE});
}

/* ---- all ---- */

static name_id set_name(const struct gang *g, uint32_t set)
{
    return g->planned ? g->sets[set].name : set ? g->own->min_of_task[set - 1].resource : 0;
}

/* Its nodes by name, and there its sets. */
static struct reason *of_move(struct cycle *c, const struct move *m)
{
    const struct gang *g = m->gang;
    struct reason *r = reason_new(c->a, (struct reason){.code = REASON_CHANGE_MOVE, .name = g->key, .pod_set = g->ns,
                                                        .queue = g->queue->title, .have = m->leave, .need = moves_told_s(m->lost)});
    for (uint32_t at = 0; at < c->s->nodes.sorted_n * g->sets_n; at++) {
        uint32_t node = c->s->nodes.sorted[at / g->sets_n], set = at % g->sets_n;
        int64_t n = 0;
        for (uint32_t k = 0; k < m->n; k++)
            n += m->to[k] == node && c->s->seats[m->seats[k]].pod_set == set;
        if (n)
            reason_add(r, reason_new(c->a, (struct reason){.code = REASON_MOVE_TO, .name = c->s->nodes.nodes[node].name, .need = n,
                                                           .pod_set = g->sets_n > 1 ? g->sets[set].name : 0}));
    }
    return r;
}

static struct reason *of_measure(struct remedy_search *x, const struct measure *m)
{
    const struct state *s = x->c->s;
    struct reason r = {.flavor = m->flavor, .resource = m->resource, .need = m->amount};
    switch (m->kind) {
    case MEASURE_QUOTA:
        r.code = REASON_CHANGE_QUOTA;
        r.resource = count_kept_of(x->queue, m->resource) ? count_kept_of(x->queue, m->resource) : m->resource;
        r.queue = x->queue->title;
        r.queue_kind = x->queue->kind;
        break;
    case MEASURE_FREE:
        r.code = REASON_CHANGE_FREE;
        r.name = s->nodes.nodes[m->node].name;
        break;
    case MEASURE_END:
        r.code = REASON_CHANGE_END;
        r.name = m->gang->key;
        r.pod_set = m->gang->ns;
        r.have = m->gang->source;
        break;
    case MEASURE_MOVE:
        return of_move(x->c, m->move);
    case MEASURE_UNCORDON:
        r.code = REASON_CHANGE_UNCORDON;
        r.name = s->nodes.nodes[m->node].name;
        break;
    case MEASURE_MEMBERS:
    case MEASURE_MINIMUM:
        r.code = m->kind == MEASURE_MEMBERS ? REASON_CHANGE_MEMBERS : REASON_CHANGE_MINIMUM;
        r.name = x->gang->key;
        r.pod_set = x->gang->ns;
        r.have = x->gang->source;
        r.flavor = set_name(x->gang, m->set);
        break;
    }
    return reason_new(x->c->a, r);
}

struct reason *remedy_as_reason(struct remedy_search *x)
{
    struct reason *all = reason_new(x->c->a, (struct reason){.code = REASON_REMEDIES, .name = x->gang->key});
    for (uint32_t i = 0; i < x->found_n; i++) {
        struct reason *one = reason_new(x->c->a, (struct reason){.code = REASON_REMEDY});
        for (uint32_t k = 0; k < x->found[i].n; k++)
            reason_add(one, of_measure(x, &x->found[i].all[k]));
        reason_add(all, one);
    }
    if (!x->found_n)
        reason_add(all, why_impossible(x));
    return all;
}

bool remedy_looks_at_others(const struct state *s, const struct gang *g)
{
    for (uint32_t i = 0; i < g->sets_n; i++)
        if (s->shapes.classes[g->sets[i].shape].neighbours)
            return true;
    return s->anti_seats_n > 0;
}

#define FLAVORS_MAX 4

/* WHY  most guesses for a large group are refused by this alone */
static void note_least(struct remedy_search *x)
{
    struct wishes w;
    if (x->others_may_go || x->gang->planned || x->gang->sets_n != 1 || !try_wishes(x->c, x->gang, x->queue, 0, &w))
        return;
    x->shape = x->gang->sets[0].shape;
    x->least_n = w.n;
}

static void search(struct remedy_search *x)
{
    struct measures quota[FLAVORS_MAX];
    uint32_t n = 0;
    for (; n < FLAVORS_MAX; n++) {
        quota[n] = (struct measures){0};
        if (!guess_quota(x, n, &quota[n]))
            break;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct measures m = quota[i];
        if (m.n)
            (void)remedy_keep_if_proven(x, &m);
    }
    guess_ends(x);
    guess_moves(x);
    for (uint32_t i = 0; i < n && x->found_n < REMEDIES_MAX; i++)
        for (uint32_t nth = 0; nth <= i; nth++)
            guess_room(x, &quota[i], nth);
    for (uint32_t i = 0; i < n; i++)
        guess_uncordon(x, &quota[i]);
    remedy_guess_minimum(x);
}

void remedy_search_begin(struct remedy_search *x)
{
    x->members = x->gang->members;
    x->members_n = x->gang->members_n;
    x->tasks_n = x->gang->own->min_of_task_n;
}

static struct reason *not_computed(struct cycle *c, const struct gang *g, enum remedies_gap gap)
{
    struct reason *all = reason_new(c->a, (struct reason){.code = REASON_REMEDIES, .name = g->key});
    reason_add(all, reason_new(c->a, (struct reason){.code = REASON_NOT_COMPUTED, .have = gap}));
    return all;
}

static enum remedies_gap gap_of(const struct remedy_search *x)
{
    return x->others_matter || x->c->s->promised_n ? GAP_OTHERS : !x->trials_left ? GAP_TRIALS : GAP_MANY;
}

/* Another booking keeps it out, and it passes that where it is known to have ended before. */
static struct reason *remedy_by_limit(struct cycle *c, const struct gang *g, const struct reason *kept_out)
{
    struct reason *all = reason_new(c->a, (struct reason){.code = REASON_REMEDIES, .name = g->key});
    struct reason *one = reason_new(c->a, (struct reason){.code = REASON_REMEDY});
    reason_add(one, reason_new(c->a, (struct reason){.code = REASON_CHANGE_LIMIT, .name = g->key, .pod_set = g->ns, .have = g->source,
                                                     .need = kept_out->need}));
    reason_add(all, one);
    return all;
}

/* All nodes together have too little free for it: it starts where it asks for no more than they have, or than its pods ask for: then others
 * may go for it. */
static struct reason *remedy_by_floor(struct remedy_search *x, const struct reason *lack)
{
    struct reason *all = reason_new(x->c->a, (struct reason){.code = REASON_REMEDIES, .name = x->gang->key});
    struct reason *one = reason_new(x->c->a, (struct reason){.code = REASON_REMEDY});
    struct measures nothing = {0};
    x->trials_left = x->c->trials_left;
    remedy_search_begin(x);
    x->c->no_floor = x->gang;
    enum verdict v = remedy_try(x, &nothing);
    x->c->no_floor = NULL;
    x->c->trials_left = x->trials_left;
    if (v != VERDICT_YES)
        return not_computed(x->c, x->gang, v == VERDICT_NO ? GAP_FLOOR : GAP_OTHERS);
    for (const struct reason *r = lack; r; r = r == lack ? lack->child : r->next)
        reason_add(one, reason_new(x->c->a, (struct reason){.code = REASON_CHANGE_FLOOR, .name = x->gang->key, .pod_set = x->gang->ns,
                                                            .have = x->gang->source, .resource = r->resource,
                                                            .need = r->need - (r->have > r->taken ? r->have : r->taken)}));
    reason_add(all, one);
    return all;
}

struct reason *remedy_find(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    name_id missing;
    struct remedy_search x = {.c = c, .gang = g, .queue = gang_asks_queue(s, g, &missing)};
    bool preempts = lone_may_preempt_any(s, g) || ledger_has_lower(s, g) || (x.queue && x.queue->preempts && candidates_any(s, x.queue, g));
    /* who would rather preempt than take the next flavor chooses others than who looks for nobody, also when there is nobody to preempt */
    x.others_may_go = preempts || s->promised_n || (x.queue && flavor_preempts_first(x.queue));
    if (!c->trials_left || s->fresh_n || s->work_n || g->promise)
        return NULL;
    const struct reason *kept_out = g->line && g->line->reason ? reason_find(g->line->reason, REASON_KEPT_OUT) : NULL;
    if (kept_out && kept_out->need)
        return remedy_by_limit(c, g, kept_out);
    if (bookings_bind(s, g))
        return not_computed(c, g, GAP_OTHERS);
    if (remedy_looks_at_others(s, g))
        return not_computed(c, g, GAP_NEIGHBOURS);
    if ((gang_tiers(g) && gang_tiers(g)->mode == TOPOLOGY_REQUIRED) || group_has_subgroup_tiers(g))
        return not_computed(c, g, GAP_TIERS);
    if (preempts && tenure_preempts_from_ms(s, g) > c->now_ms)
        return not_computed(c, g, GAP_PATIENCE); /* soon it may preempt without any */
    if (preempts && x.queue && x.queue->has_shares)
        return not_computed(c, g, GAP_DESERVED);
    const struct reason *floor = g->line && g->line->reason ? reason_find(g->line->reason, REASON_FREE_SHORT) : NULL;
    if (floor)
        return remedy_by_floor(&x, floor);
    x.trials_left = c->trials_left < REMEDY_TRIALS ? c->trials_left : REMEDY_TRIALS;
    uint32_t budget = x.trials_left;
    struct measures nothing = {0};
    remedy_search_begin(&x);
    shrink_to_fewest(g); /* the fewest let it start */
    note_least(&x);
    if (remedy_try(&x, &nothing) == VERDICT_NO)
        search(&x);
    else
        x.unsure = x.others_matter = true; /* something keeps it waiting that is not seen here */
    bool known = x.found_n || (!x.unsure && x.trials_left && !fits_in_an_empty_cluster(&x));
    c->trials_left -= budget - x.trials_left - x.unspent;
    struct reason *found = known ? remedy_as_reason(&x) : not_computed(c, g, gap_of(&x));
    shrink_back(g);
    return found;
}

struct reason *remedy_of_held(struct cycle *c, const struct gang *g, const struct reason *why)
{
    if (why->code != REASON_QUEUE_MISSING && why->code != REASON_QUEUE_INACTIVE && why->code != REASON_NAMESPACE_MISMATCH &&
        why->code != REASON_MISCONFIGURED)
        return NULL;
    struct reason *all = reason_new(c->a, (struct reason){.code = REASON_REMEDIES, .name = g->key});
    struct reason *impossible = reason_new(c->a, (struct reason){.code = REASON_IMPOSSIBLE});
    struct reason *cause = reason_new(c->a, *why);
    cause->child = why->child;
    reason_add(impossible, cause);
    reason_add(all, impossible);
    return all;
}
