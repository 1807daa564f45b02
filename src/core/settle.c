#include "core/settle.h"
#include <stdlib.h>
#include "base/memory.h"
#include "core/admission.h"
#include "core/fit.h"
#include "core/gang.h"
#include "core/order.h"
#include "core/undo.h"
#include "core/why.h"

/* ---- what must end ---- */

static const struct reason *why_evict(struct cycle *c, const struct gang *g)
{
    if (!g->active)
        return reason_new(c->a, (struct reason){.code = REASON_DEACTIVATED});
    const struct local_queue *l = g->local_queue ? local_queue_find(c->s, g->local_queue) : NULL;
    if (g->queue && g->queue->stop == STOP_HOLD_AND_DRAIN)
        return reason_new(c->a, (struct reason){.code = REASON_STOPPED_QUEUE, .queue = g->queue->name});
    if (l && l->stop == STOP_HOLD_AND_DRAIN)
        return reason_new(c->a, (struct reason){.code = REASON_STOPPED_QUEUE, .queue = l->queue, .name = l->key});
    return NULL;
}

/* ---- one wish list of a gang: place it or say why not ---- */

static void explain_misfit(struct cycle *c, struct gang *g, const struct misfit *m)
{
    name_id set = g->planned && m->pod_set < g->sets_n ? g->sets[m->pod_set].name : 0;
    struct reason *root = why_unplaced(c, m, set, 0);
    struct reason *top = root;
    if (g->planned) {
        top = reason_new(c->a, (struct reason){.code = REASON_WAITING});
        reason_add(top, root);
    }
    why_add_help(c, top);
    cycle_explain(c, g, top);
    order_park_shape(c->s, g, m->shape);
    order_park(c->s, g, m->neighbours ? PARK_NODES | PARK_NEIGHBOURS : PARK_NODES);
}

static bool place_or_explain(struct cycle *c, struct gang *g, struct want *wants, uint32_t n)
{
    uint32_t mark = undo_mark(c->s);
    struct misfit misfit;
    if (!n || gang_place(c->s, g, wants, n, 0, &misfit)) {
        undo_commit(c->s);
        return true;
    }
    explain_misfit(c, g, &misfit);
    undo_back(c->s, mark);
    return false;
}

/* ---- planned gangs ---- */

static bool seat_is_good(const struct state *s, const struct seat *seat)
{
    const struct shape_class *shape = &s->shapes.classes[seat->shape];
    if (fit_record(s, shape, seat->node, NULL) != FIT_OK)
        return false;
    const int64_t *left = node_free(&s->nodes, seat->node);
    for (uint32_t i = 0; i < shape->demands_n; i++)
        if (shape->demands[i].column < 0 || left[shape->demands[i].column] < 0)
            return false;
    const struct device_table *devices = &s->nodes.nodes[seat->node].devices;
    for (uint32_t i = 0; i < devices->n; i++)
        if (device_bit(&seat->devices, i) && !devices->all[i].healthy)
            return false;
    return !seat_lacks_devices(s, seat);
}

static void drop_bad_seats(struct state *s, struct gang *g)
{
    for (uint32_t i = 0; i < g->seats_n;) {
        if (seat_is_good(s, &s->seats[g->seats[i]]))
            i++;
        else
            admission_drop_held(s, g, i);
    }
}

struct tally {
    int32_t bound_n, held_n, loose_n;
    int32_t live_n; /* of bound_n: not on their way out */
};

static struct tally *count_sets(struct cycle *c, const struct gang *g, const uint32_t *loose, uint32_t loose_n)
{
    struct tally *t = arena_zero(c->a, g->sets_n + 1, sizeof *t);
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &c->s->pods[g->members[i]];
        int32_t set = p->seat ? pod_set_index(g, p) : -1;
        if (set < 0)
            continue;
        t[set].bound_n++;
        t[set].live_n += !p->deleting;
    }
    for (uint32_t i = 0; i < g->seats_n; i++)
        t[c->s->seats[g->seats[i]].pod_set].held_n++;
    for (uint32_t i = 0; i < loose_n; i++) {
        int32_t set = pod_set_index(g, &c->s->pods[loose[i]]);
        if (set >= 0)
            t[set].loose_n++;
    }
    return t;
}

/* Members that are over: the pods that succeeded, or more when the dialect knows of more. */
static int32_t over_n(const struct gang_set *set)
{
    return set->done_n > set->reclaimed_n ? set->done_n : set->reclaimed_n;
}

/* Hold a place for every member that is neither bound nor done. */
static bool hold_missing(struct cycle *c, struct gang *g, struct tally *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->sets_n; i++) {
        int32_t missing = g->sets[i].count - t[i].bound_n - t[i].held_n - over_n(&g->sets[i]);
        n += missing > 0 ? (uint32_t)missing : 0;
    }
    struct want *wants = arena_alloc(c->a, (n + 1) * sizeof *wants);
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        for (int32_t k = t[i].bound_n + t[i].held_n + over_n(&g->sets[i]); k < g->sets[i].count; k++)
            wants[at++] = (struct want){.shape = g->sets[i].placed_shape, .labels = g->sets[i].labels, .pod_set = i};
    if (!place_or_explain(c, g, wants, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        admission_hold_seat(g, wants[i].seat);
        t[wants[i].pod_set].held_n++;
    }
    return true;
}

static bool same_demands(const struct shape_class *a, const struct shape_class *b)
{
    if (a->demands_n != b->demands_n || a->shape.ports_n != b->shape.ports_n || a->neighbours || b->neighbours)
        return false;
    for (uint32_t i = 0; i < a->shape.ports_n; i++)
        if (memcmp(&a->shape.ports[i].address, &b->shape.ports[i].address, sizeof(name_id)) ||
            a->shape.ports[i].port != b->shape.ports[i].port || a->shape.ports[i].protocol != b->shape.ports[i].protocol)
            return false;
    for (uint32_t i = 0; i < a->demands_n; i++)
        if (a->demands[i].resource != b->demands[i].resource || a->demands[i].value != b->demands[i].value)
            return false;
    return true;
}

/* The pod that came is not quite the pod that was planned (the API server added tolerations, say): may it have the place? */
static bool seat_suits(struct state *s, uint32_t seat, uint32_t shape)
{
    uint32_t old = s->seats[seat].shape;
    if (old == shape)
        return true;
    if (!same_demands(&s->shapes.classes[old], &s->shapes.classes[shape]) ||
        fit_record(s, &s->shapes.classes[shape], s->seats[seat].node, NULL) != FIT_OK)
        return false;
    shape_class_ref(&s->shapes, shape);
    s->seats[seat].shape = shape;
    shape_release(s, old);
    return true;
}

static void take_labels(struct state *s, uint32_t seat, uint32_t labels)
{
    uint32_t old = s->seats[seat].labels;
    label_set_ref(&s->shapes, labels);
    s->seats[seat].labels = labels;
    label_set_unref(&s->shapes, old);
}

/* A held place of the set for the pod; a place that does not suit is given up. 0: none. */
static uint32_t claim(struct state *s, struct gang *g, uint32_t set, uint32_t pod, uint32_t shape)
{
    for (uint32_t i = 0; i < g->seats_n; i++) {
        uint32_t seat = g->seats[i];
        if (s->seats[seat].pod_set != set)
            continue;
        if (!seat_suits(s, seat, shape)) {
            admission_drop_held(s, g, i);
            return 0;
        }
        memmove(&g->seats[i], &g->seats[i + 1], (--g->seats_n - i) * sizeof *g->seats);
        take_labels(s, seat, s->pods[pod].labels);
        return seat;
    }
    return 0;
}

/* LIMIT  count of the set: quota was taken for that many; a job that was made wider while it runs gets no more. */
static void bind_member(struct cycle *c, struct gang *g, uint32_t pod, struct tally *t)
{
    struct state *s = c->s;
    int32_t set = pod_set_index(g, &s->pods[pod]);
    if (set < 0 || t[set].live_n >= g->sets[set].count)
        return;
    uint32_t shape = gang_flavored_shape(s, s->pods[pod].shape, g->choices, g->choices_n, (uint32_t)set);
    struct want want = {.shape = shape, .labels = s->pods[pod].labels, .pod_set = (uint32_t)set, .pod = pod};
    want.seat = claim(s, g, (uint32_t)set, pod, shape);
    if (want.seat || place_or_explain(c, g, &want, 1)) {
        cycle_bind(c, g, pod, want.seat);
        t[set].live_n++;
    }
    shape_release(s, shape);
}

/* Places of members that turned out to be over are free again. */
static void drop_surplus(struct cycle *c, struct gang *g, struct tally *t)
{
    for (uint32_t i = g->seats_n; i-- > 0;) {
        uint32_t set = c->s->seats[g->seats[i]].pod_set;
        if (t[set].held_n <= 0 || t[set].bound_n + t[set].held_n + over_n(&g->sets[set]) <= g->sets[set].count)
            continue;
        t[set].held_n--;
        admission_drop_held(c->s, g, i);
    }
}

static void settle_planned(struct cycle *c, struct gang *g)
{
    uint32_t *loose, loose_n = gang_loose_members(c->s, g, c->a, &loose);
    drop_bad_seats(c->s, g);
    struct tally *t = count_sets(c, g, loose, loose_n);
    if (!g->burst)
        drop_surplus(c, g, t);
    if (!g->burst && !hold_missing(c, g, t))
        return;
    bool whole = true, any_bound = g->bound_n > 0;
    for (uint32_t i = 0; i < g->sets_n; i++)
        whole &= t[i].bound_n + t[i].loose_n + over_n(&g->sets[i]) >= g->sets[i].count;
    if (!whole && !g->burst && !any_bound)
        return; /* the first burst waits until every member exists */
    for (uint32_t i = 0; i < loose_n; i++)
        bind_member(c, g, loose[i], t);
    if (!whole)
        return;
    g->burst = true;
    while (g->seats_n && !g->parked_at)
        admission_drop_held(c->s, g, g->seats_n - 1);
}

/* ---- groups: members that came later bind alone ---- */

static void settle_group(struct cycle *c, struct gang *g)
{
    struct state *s = c->s;
    uint32_t *loose, loose_n = gang_loose_members(s, g, c->a, &loose);
    uint32_t failed_shape = 0;
    for (uint32_t i = 0; i < loose_n && c->pods_left; i++) {
        uint32_t pod = loose[i];
        if (s->pods[pod].shape == failed_shape)
            continue;
        struct reason *why = group_quota_refuses(c, g, &pod, 1);
        struct want want = {.shape = s->pods[pod].shape, .labels = s->pods[pod].labels, .pod = pod};
        failed_shape = want.shape;
        if (why) {
            why_add_help(c, why);
            cycle_explain(c, g, why);
            order_park(s, g, PARK_QUOTA | PARK_QUEUE);
        } else if (place_or_explain(c, g, &want, 1)) {
            if (g->queue)
                seat_charge(s, want.seat, g->queue->quota);
            cycle_bind(c, g, pod, want.seat);
            failed_shape = 0;
        }
    }
    if (loose_n && !c->pods_left && !g->parked_at)
        order_wake(s, g);
}

void settle_gang(struct cycle *c, struct gang *g)
{
    const struct reason *evict = why_evict(c, g);
    if (evict && !g->evict_sent)
        cycle_evict(c, g, evict);
    if (g->evict_sent)
        return;
    if (g->say_again)
        cycle_admit(c, g);
    g->say_again = false;
    if (g->planned)
        settle_planned(c, g);
    else
        settle_group(c, g);
    if (!g->parked_at)
        cycle_explained_away(g);
}

static int compare_gangs(const void *a, const void *b)
{
    const struct gang *const *left = a, *const *right = b;
    return order_before(*left, *right) ? -1 : order_before(*right, *left);
}

void settle_all(struct cycle *c)
{
    struct state *s = c->s;
    uint32_t n = s->work_n;
    if (!n)
        return;
    struct gang **all = arena_alloc(c->a, n * sizeof *all);
    memcpy(all, s->work, n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i]->work_at = 0;
    s->work_n = 0;
    qsort(all, n, sizeof *all, compare_gangs);
    for (uint32_t i = 0; i < n; i++) {
        if (c->pods_left)
            settle_gang(c, all[i]);
        else
            order_wake(s, all[i]);
    }
}
