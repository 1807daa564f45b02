/* state.c - changes come in: nodes, namespaces, flavors, cohorts, queues here; gangs, pods, outcomes in state_gang.c */
#include "core/state/budget.h"
#include "core/state/state.h"
#include <stddef.h>
#include "base/memory.h"
#include "core/group/terms.h"
#include "core/place/view.h"
#include "core/preempt/lone.h"
#include "core/preempt/promise.h"
#include "core/time/booking.h"
#include "core/queue/admission.h"
#include "core/queue/checks.h"
#include "core/queue/consumption.h"
#include "core/queue/lane.h"
#include "core/queue/lost.h"
#include "core/queue/order.h"
#include "core/queue/ready.h"
#include "core/quota/count.h"
#include "core/quota/ledger.h"
#include "core/score/load.h"
#include "core/score/target.h"
#include "core/score/twins.h"
#include "core/state/state_gang.h"
#include "core/state/state_unused.h"

/* ---- life ---- */

static struct queue *queue_of(struct state *s, name_id name)
{
    uint32_t at = name ? id_map_get(&s->queue_by_name, name) : 0;
    if (at)
        return s->queues[at];
    struct queue *q = mem_zero(1, sizeof *q);
    q->name = name;
    q->unlimited = !name;
    lane_queue_init(q);
    MEM_RESERVE(s->queues, s->queues_cap, s->queues_n + 1);
    if (name)
        id_map_put(&s->queue_by_name, name, s->queues_n);
    s->queues[s->queues_n++] = q;
    return q;
}

struct state *state_new(void)
{
    struct state *s = mem_zero(1, sizeof *s);
    s->names = intern_new();
    s->name_pods = intern_text_id(s->names, "pods");
    s->name_cpu = intern_text_id(s->names, "cpu");
    s->name_memory = intern_text_id(s->names, "memory");
    node_table_init(&s->nodes, s->name_pods, s->names);
    s->column_cpu = node_table_column(&s->nodes, s->name_cpu);
    s->column_memory = node_table_column(&s->nodes, s->name_memory);
    shape_table_init(&s->shapes);
    s->views = view_table_new();
    s->twins = map_new(sizeof(uint32_t));
    quota_init(&s->quota);
    order_init(s);
    ready_init(s);
    MEM_RESERVE(s->seats, s->seats_cap, 1);
    s->seats[s->seats_n++] = (struct seat){0};
    MEM_RESERVE(s->pods, s->pods_cap, 1);
    s->pods[s->pods_n++] = (struct pod){0};
    MEM_RESERVE(s->local_queues, s->local_queues_cap, 1);
    s->local_queues[s->local_queues_n++] = (struct local_queue){.used.weight_nano = WEIGHT_ONE};
    MEM_RESERVE(s->namespaces, s->namespaces_cap, 1);
    s->namespaces[s->namespaces_n++] = (struct name_space){0};
    MEM_RESERVE(s->topologies, s->topologies_cap, 1);
    s->topologies[s->topologies_n++] = (struct topology){0};
    MEM_RESERVE(s->flavors, s->flavors_cap, 1);
    s->flavors[s->flavors_n++] = (struct flavor){0};
    queue_of(s, 0)->known = true;
    buf_init(&s->text);
    s->load_next_ms = INT64_MAX;
    return s;
}

void state_set_ready_policy(struct state *s, const struct ready_policy *policy)
{
    s->ready_policy = *policy;
    for (uint32_t i = 0; i < s->gangs_n; i++)
        ready_follow(s, s->gangs[i]);
}

static void drop_targets(struct state *s)
{
    for (uint32_t i = 0; s->targets && i < s->targets->terms_n; i++)
        shape_release(s, s->targets->terms[i]);
    targets_free(s->targets);
    s->targets = NULL;
}

void state_set_targets(struct state *s, const struct target *all, uint32_t n, uint64_t total)
{
    drop_targets(s);
    s->targets = n ? targets_new(s, all, n, total) : NULL;
    view_table_forget(s);
}

void state_free(struct state *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->queues_n; i++)
        queue_free(s->queues[i]);
    order_fini(s); /* lines, which the heaps of queues name; then gangs, which lines and heaps name */
    ready_fini(s);
    for (uint32_t i = 0; i < s->gangs_n; i++)
        gang_free(s->gangs[i]);
    for (uint32_t i = 0; i < s->topologies_n; i++)
        topology_free(&s->topologies[i]);
    for (uint32_t i = 0; i < s->flavors_n; i++)
        free(s->flavors[i].block);
    for (uint32_t i = 0; i < s->namespaces_n; i++)
        free((void *)s->namespaces[i].labels.all);
    struct id_map *maps[] = {&s->pod_by_key,         &s->gang_by_key,       &s->queue_by_name,
                             &s->local_queue_by_key, &s->namespace_by_name, &s->flavor_by_name, &s->topology_by_name};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        id_map_fini(maps[i]);
    budgets_free(s);
    free(s->stakes);
    free(s->promised);
    bookings_free(s);
    free(s->queues);
    free(s->gangs);
    free(s->pods);
    for (uint32_t i = 0; i < s->seats_n; i++)
        free(s->seats[i].more_devices);
    free(s->seats);
    free(s->anti_seats);
    consumption_fini(s);
    free(s->local_queues);
    free(s->namespaces);
    free(s->flavors);
    free(s->topologies);
    free(s->undo.steps);
    drop_targets(s);
    view_table_free(s->views);
    map_free(s->twins);
    quota_fini(&s->quota);
    shape_table_fini(&s->shapes);
    node_table_fini(&s->nodes);
    buf_free(&s->text);
    intern_free(s->names);
    free(s);
}

struct intern *state_names(struct state *s)
{
    return s->names;
}

struct queue *gang_queue_by_name(const struct state *s, const struct gang *g, name_id *ret_missing)
{
    name_id name = g->own->queue_name;
    if (g->own->local_queue) {
        const struct local_queue *l = local_queue_find(s, g->own->local_queue);
        *ret_missing = l ? 0 : g->own->local_queue;
        name = l ? l->queue : 0;
    }
    if (!name)
        return NULL;
    struct queue *q = queue_find(s, name);
    if (!q)
        *ret_missing = name;
    return q;
}

enum placement queue_policy(const struct state *s, const struct gang *g)
{
    name_id missing;
    const struct queue *q = g->queue ? g->queue : gang_asks_queue(s, g, &missing);
    return q && q->placement.own ? q->placement.by : s->placement;
}

/* ---- nodes ---- */

static struct device_bits translated(const struct device_table *from, const struct device_table *to, const struct device_bits *bits)
{
    struct device_bits out = {0};
    for (uint32_t i = 0; i < from->n; i++) {
        if (!device_bit(bits, i))
            continue;
        int32_t at = device_table_find(to, from->all[i].resource, from->all[i].id);
        if (at >= 0)
            device_bit_set(&out, (uint32_t)at);
    }
    return out;
}

static bool set_devices(struct state *s, uint32_t slot, const struct node_record *r)
{
    struct device_table fresh = {0}, *old = &s->nodes.nodes[slot].devices;
    if (!device_table_differs(old, r->devices, r->devices_n, s->names))
        return false;
    device_table_set(&fresh, r->devices, r->devices_n, s->names);
    for (uint32_t at = s->nodes.nodes[slot].first_seat; at; at = s->seats[at].next) {
        struct device_bits had = seat_devices(&s->seats[at]), bits = translated(old, &fresh, &had);
        seat_set_devices(&s->seats[at], &bits);
    }
    device_table_fini(old);
    *old = fresh;
    seats_new_devices(s, slot);
    return true;
}

/* A node has brought a resource that no node had before: pods that ask for it can be counted now. */
static void resolve_columns(struct state *s, uint32_t first)
{
    for (uint32_t id = 1; id < s->shapes.classes_n; id++) {
        struct shape_class *c = &s->shapes.classes[id];
        for (uint32_t i = 1; c->refs && i < c->demands_n; i++) {
            int32_t column = c->demands[i].column < 0 ? node_table_find_column(&s->nodes, c->demands[i].resource) : -1;
            if (column < (int32_t)first)
                continue;
            c->demands[i].column = column;
            c->absent_n--;
            view_forget_shape(s, id);
            for (uint32_t at = 1; at < s->seats_n; at++)
                if (s->seats[at].node && s->seats[at].shape == id)
                    node_free(&s->nodes, s->seats[at].node)[column] -= demand_taken(&c->demands[i]);
        }
    }
}

static void apply_node(struct state *s, const struct node_record *r)
{
    uint32_t columns_n = s->nodes.columns_n;
    uint32_t slot = node_table_slot(&s->nodes, r->name);
    if (!(s->nodes.flags[slot] & NODE_KNOWN))
        promises_follow(s, slot);
    bool new_devices = set_devices(s, slot, r);
    if (node_table_set(&s->nodes, slot, r)) {
        twins_take(s, slot);
        seats_wake_holders(s, slot);
        order_wake_lost(s);
        bookings_look_all(s);
        s->shares_changed |= s->shares_n > 0;
    } else if (new_devices) { /* who holds one that is not healthy any more looks for another place */
        twins_take(s, slot);
        seats_wake_holders(s, slot);
        node_table_gain(&s->nodes, slot);
    }
    load_take(s, slot);
    if (s->nodes.columns_n > columns_n)
        resolve_columns(s, columns_n);
}

static void apply_node_gone(struct state *s, name_id name)
{
    uint32_t slot = node_table_find(&s->nodes, name);
    if (!slot)
        return;
    s->shares_changed |= s->shares_n > 0;
    seats_wake_holders(s, slot);
    lone_node_gone(s, slot);
    s->neighbours_changed = true; /* pods on it kept others from its zone, or were too few there */
    node_table_gone(&s->nodes, slot);
    bookings_look_all(s);
    s->neighbours_changed = true; /* who stands there stands in no domain any more, and it counts in no spread */
}

/* ---- namespaces, flavors, queues ---- */

static void set_namespace(struct state *s, uint32_t at, const struct label *labels, uint32_t n)
{
    struct name_space *ns = &s->namespaces[at];
    if (ns->labels.n == n && (!n || !memcmp(ns->labels.all, labels, n * sizeof *labels)))
        return; /* events of namespaces that only say something else wake nobody */
    free((void *)ns->labels.all);
    struct label *copy = mem_alloc((n + 1) * sizeof *copy);
    if (n)
        memcpy(copy, labels, n * sizeof *copy);
    ns->labels = (struct label_list){copy, n};
    ns->changed = s->queues_changed = true;
}

static void apply_namespace(struct state *s, const struct namespace_record *r)
{
    uint32_t at = id_map_get(&s->namespace_by_name, r->name);
    if (!at) {
        MEM_RESERVE(s->namespaces, s->namespaces_cap, s->namespaces_n + 1);
        at = s->namespaces_n++;
        s->namespaces[at] = (struct name_space){.name = r->name};
        id_map_put(&s->namespace_by_name, r->name, at);
    }
    set_namespace(s, at, r->labels, r->labels_n);
}

/* Those who wait for other domains, and those with members to come. */
static void tiers_changed(struct state *s)
{
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if ((gang_tiers(s->gangs[i]) || group_has_subgroup_tiers(s->gangs[i])) && s->gangs[i]->phase != GANG_UNKNOWN)
            order_wake(s, s->gangs[i]);
}

static void apply_namespace_gone(struct state *s, name_id name)
{
    uint32_t at = id_map_get(&s->namespace_by_name, name);
    if (at)
        set_namespace(s, at, NULL, 0);
}

static void copy_flavor(struct bump *b, const struct flavor_record *r, struct flavor *f)
{
    f->labels = (struct label_list){bump_copy(b, r->node_labels, r->node_labels_n, sizeof *r->node_labels), r->node_labels_n};
    f->taints = bump_copy(b, r->taints, r->taints_n, sizeof *r->taints);
    f->taints_n = r->taints_n;
    f->tolerations = bump_copy(b, r->tolerations, r->tolerations_n, sizeof *r->tolerations);
    f->tolerations_n = r->tolerations_n;
}

static void apply_flavor(struct state *s, const struct flavor_record *r)
{
    uint32_t at = id_map_get(&s->flavor_by_name, r->name);
    if (!at) {
        MEM_RESERVE(s->flavors, s->flavors_cap, s->flavors_n + 1);
        at = s->flavors_n++;
        s->flavors[at] = (struct flavor){.name = r->name};
        id_map_put(&s->flavor_by_name, r->name, at);
    }
    struct flavor *f = &s->flavors[at];
    free(f->block);
    struct bump b = {0};
    copy_flavor(&b, r, f);
    f->block = mem_alloc(b.n + 1);
    b = (struct bump){.base = f->block};
    copy_flavor(&b, r, f);
    f->topology = r->topology;
    f->known = f->changed = s->queues_changed = true;
}

static void apply_flavor_gone(struct state *s, name_id name)
{
    struct flavor *f = flavor_find(s, name);
    if (!f)
        return;
    f->known = false;
    f->changed = s->queues_changed = true;
}

static void copy_shares(struct bump *b, const struct queue_shares *r, struct queue_shares *shares)
{
    *shares = *r;
    shares->weight = r->weight < 1 ? 1 : r->weight > INT32_MAX ? INT32_MAX : r->weight;
    shares->deserved = bump_copy(b, r->deserved, r->deserved_n, sizeof *r->deserved);
    shares->guarantee = bump_copy(b, r->guarantee, r->guarantee_n, sizeof *r->guarantee);
    shares->capability = bump_copy(b, r->capability, r->capability_n, sizeof *r->capability);
    shares->counts = bump_copy(b, r->counts, r->counts_n, sizeof *r->counts);
}

static void copy_queue(struct bump *b, const struct queue_record *r, struct queue *q)
{
    q->namespaces = bump_selector(b, &r->namespaces);
    if (!r->shares) { /* else those that were dealt out to it stay until others are */
        q->quotas = bump_copy(b, r->quotas, r->quotas_n, sizeof *r->quotas);
        q->quotas_n = r->quotas_n;
    }
    struct resource_group *groups = bump_copy(b, r->groups, r->groups_n, sizeof *groups);
    for (uint32_t i = 0; i < r->groups_n; i++) {
        const name_id *resources = bump_copy(b, r->groups[i].resources, r->groups[i].resources_n, sizeof *resources);
        const name_id *flavors = bump_copy(b, r->groups[i].flavors, r->groups[i].flavors_n, sizeof *flavors);
        if (!groups)
            continue;
        groups[i].resources = resources;
        groups[i].flavors = flavors;
    }
    q->groups = groups;
    q->groups_n = r->groups_n;
    struct queue_check *checks = bump_copy(b, r->checks, r->checks_n, sizeof *checks);
    for (uint32_t i = 0; i < r->checks_n; i++) {
        const name_id *flavors = bump_copy(b, r->checks[i].flavors, r->checks[i].flavors_n, sizeof *flavors);
        if (checks)
            checks[i].flavors = flavors;
    }
    q->checks = checks;
    q->checks_n = r->checks_n;
    q->shares = (struct queue_shares){0};
    if (r->shares)
        copy_shares(b, r->shares, &q->shares);
}

/* Those that must go, if it is drained (groups that run in part, too); and those whose checks may be others now: also one that runs, where
 * a check that is only demanded now says that it is to come again later. */
static void wake_charged(struct state *s, const struct queue *q)
{
    for (uint32_t i = 0; i < q->charged_n; i++) {
        struct gang *g = q->charged[i];
        if (q->stop == STOP_HOLD_AND_DRAIN || g->phase == GANG_CHECKING || g->phase == GANG_RESERVED || checks_retried(g))
            order_wake(s, g);
    }
}

/* A queue came or went: gangs that name it directly are counted by it, or no longer. Local queues name theirs whether it exists or not. */
static void recount_direct(struct state *s, name_id name)
{
    for (uint32_t i = 0; i < s->gangs_n; i++)
        if (s->gangs[i]->own->queue_name == name)
            admission_recount_queues(s, s->gangs[i]);
}

static void recount_charged(struct state *s, const struct queue *q)
{
    for (uint32_t i = 0; i < q->charged_n; i++)
        ledger_recount(s, q->charged[i]);
}

static void queue_is_another(struct state *s, struct queue *q)
{
    q->changed = s->queues_changed = true;
}

static void take_quotas(struct state *s, struct queue *q, const struct queue_record *r)
{
    q->cohort = r->cohort;
    q->reclaims_any = r->reclaim_within_cohort == PREEMPT_ANY;
    q->preempts_to_borrow = r->borrow_within_cohort != PREEMPT_NEVER;
    q->reclaim = r->reclaim_within_cohort;
    q->borrow = r->borrow_within_cohort;
    q->preempts = r->within_queue != PREEMPT_NEVER || (r->cohort && r->reclaim_within_cohort != PREEMPT_NEVER);
    q->has_threshold = r->has_borrow_threshold;
    q->threshold = r->borrow_threshold;
    q->quota = quota_set_queue(&s->quota, r->name, r->cohort, r->quotas, r->quotas_n);
}

/* Shares become quotas when the next cycle begins (quota/deserve.h). */
static void take_shares(struct state *s, struct queue *q, const struct queue_record *r, bool is_new)
{
    uint32_t had_n = s->shares_n;
    s->shares_n += (uint32_t)(r->shares != NULL) - (uint32_t)(q->has_shares && !is_new);
    s->shares_changed |= had_n || s->shares_n;
    if (r->shares && (is_new || !q->has_shares)) {
        q->quota = quota_set_queue(&s->quota, r->name, 0, NULL, 0);
        q->quotas = NULL;
        q->quotas_n = 0;
        q->reclaim = q->borrow = PREEMPT_NEVER;
        q->preempts = q->preempts_to_borrow = q->reclaims_any = q->has_threshold = false;
        q->cohort = 0;
    }
    q->has_shares = r->shares != NULL;
    q->within = r->within_queue;
    if (!q->has_shares)
        take_quotas(s, q, r);
}

/* Gangs that end sooner are other ones than those that are like them, where there are bookings (queue/order.c). */
static void take_backfill(struct state *s, struct queue *q, const struct queue_record *r)
{
    enum queue_backfill backfill = r->strategy == QUEUE_STRICT_FIFO ? BACKFILL_NONE : r->backfill;
    uint32_t had_n = s->backfills_n;
    s->backfills_n += (uint32_t)(backfill != BACKFILL_NONE) - (uint32_t)(q->backfill != BACKFILL_NONE);
    q->backfill = backfill;
    for (uint32_t i = 0; i < s->queues_n && !had_n != !s->backfills_n; i++)
        queue_is_another(s, s->queues[i]);
}

/* What is known of nodes by a policy that nobody has any more is of no use. */
static void take_placement(struct state *s, struct queue *q, const struct queue_record *r, bool is_new)
{
    struct queue_placement had = q->placement, now = r->placement.unread && !is_new ? had : r->placement;
    s->placements_n += (uint32_t)now.own - (uint32_t)had.own;
    q->placement = (struct queue_placement){.own = now.own, .by = now.by};
    if (had.own && !(now.own && now.by == had.by))
        view_table_forget(s);
}

/* Who waits, in whatever queue, may start by moves that were not allowed before. */
static void take_move_cost(struct state *s, struct queue *q, const struct queue_record *r)
{
    bool same = q->move_cost_s == r->move_cost_s;
    q->move_cost_s = r->move_cost_s;
    for (uint32_t i = 0; i < s->queues_n && !same; i++)
        queue_is_another(s, s->queues[i]);
}

static void apply_queue(struct state *s, const struct queue_record *r)
{
    struct queue *q = queue_of(s, r->name);
    static const struct queue_shares none;
    bool is_new = !q->known, kept = q->has_shares && q->shares.keeps;
    bool counts_stay = count_is_same(&q->shares, r->shares ? r->shares : &none);
    free(q->block);
    struct bump b = {0};
    copy_queue(&b, r, q);
    q->block = mem_alloc(b.n + 1);
    b = (struct bump){.base = q->block};
    copy_queue(&b, r, q);
    q->known = true;
    q->title = r->title ? r->title : r->name;
    q->kind = r->kind;
    s->strict_n += (r->strategy == QUEUE_STRICT_FIFO) - (q->strategy == QUEUE_STRICT_FIFO);
    q->strategy = r->strategy;
    take_backfill(s, q, r);
    take_placement(s, q, r, is_new);
    take_move_cost(s, q, r);
    q->stop = r->stop;
    q->unlimited = r->unlimited;
    q->priority = r->priority;
    q->borrow_stops = r->borrow_before_next_flavor;
    q->preempt_stops = r->preempt_before_next_flavor;
    q->preempts_over_borrowing = r->preempt_before_borrowing;
    q->by_consumption = r->by_consumption;
    q->closed = r->closed;
    q->closed_text = r->closed_text;
    take_shares(s, q, r, is_new);
    quota_set_weight(&s->quota, q->quota, r->has_weight ? r->weight_nano : WEIGHT_ONE);
    if (kept && !q->shares.keeps)
        quota_rise(&s->quota, q->quota); /* others may take back from it what they might not before */
    queue_is_another(s, q);
    if (!counts_stay)
        recount_charged(s, q);
    if (is_new) {
        recount_direct(s, r->name);
        admission_link(s, q);
    }
    wake_charged(s, q);
}

static void apply_queue_gone(struct state *s, name_id name)
{
    struct queue *q = queue_find(s, name);
    if (!q)
        return;
    q->known = false;
    s->shares_n -= q->has_shares;
    s->shares_changed |= q->has_shares;
    quota_queue_gone(&s->quota, name);
    queue_is_another(s, q);
    recount_direct(s, name);
    wake_charged(s, q);
}

/* What is counted for the local queue is counted for the queue that it leads to. */
static void lead_to(struct state *s, struct local_queue *l, name_id queue)
{
    struct queue *to = queue ? queue_of(s, queue) : NULL;
    if (l->counted == to)
        return;
    struct counts c = l->counts;
    for (int side = 0; side < 2; side++) {
        struct queue *q = side ? to : l->counted;
        uint32_t sign = side ? 1 : UINT32_MAX; /* modulo 2^32: add, or take away */
        if (!q)
            continue;
        q->counts.pending_n += sign * c.pending_n;
        q->counts.reserving_n += sign * c.reserving_n;
        q->counts.admitted_n += sign * c.admitted_n;
        q->counts.leaving_n += sign * c.leaving_n;
    }
    l->counted = to;
}

static void apply_local_queue(struct state *s, const struct local_queue_record *r)
{
    struct local_queue *l = local_queue_named(s, r->key);
    l->known = true;
    l->title = r->title ? r->title : r->key;
    l->ns = r->ns;
    l->queue = r->queue;
    l->stop = r->stop;
    l->changed = s->queues_changed = true;
    lead_to(s, l, r->queue);
    consumption_take(s, l, r);
    for (uint32_t i = 0; i < s->gangs_n && r->stop == STOP_HOLD_AND_DRAIN; i++)
        if (gang_holds(s->gangs[i]) && s->gangs[i]->own->local_queue == r->key)
            order_wake(s, s->gangs[i]);
}

static void apply_local_queue_gone(struct state *s, name_id key)
{
    struct local_queue *l = local_queue_find(s, key);
    if (!l)
        return;
    l->known = false;
    l->queue = 0; /* what happens to that queue wakes nobody here any more: as if the slot had been dropped meanwhile (state_unused.c) */
    l->stop = STOP_NONE;
    l->changed = s->queues_changed = true;
    lead_to(s, l, 0);
    consumption_local_gone(s, l);
}

/* Which queues that helps is known when the trees are built again (queue/wake.c). */
static void cohort_is_another(struct state *s)
{
    s->queues_changed = true;
}

static void apply_cohort(struct state *s, const struct cohort_record *r)
{
    uint32_t node = quota_set_cohort(&s->quota, r->name, r->parent, r->quotas, r->quotas_n);
    quota_set_weight(&s->quota, node, r->has_weight ? r->weight_nano : WEIGHT_ONE);
    cohort_is_another(s);
}

void state_apply(struct state *s, const struct change *c)
{
    switch (c->type) {
    case CHANGE_NODE:
        apply_node(s, &c->node);
        break;
    case CHANGE_NODE_GONE:
        apply_node_gone(s, c->gone);
        break;
    case CHANGE_NAMESPACE:
        apply_namespace(s, &c->ns);
        break;
    case CHANGE_NAMESPACE_GONE:
        apply_namespace_gone(s, c->gone);
        break;
    case CHANGE_TOPOLOGY:
        if (topology_apply(s, &c->topology))
            tiers_changed(s);
        break;
    case CHANGE_TOPOLOGY_GONE:
        if (topology_gone(s, c->gone))
            tiers_changed(s);
        break;
    case CHANGE_FLAVOR:
        apply_flavor(s, &c->flavor);
        break;
    case CHANGE_FLAVOR_GONE:
        apply_flavor_gone(s, c->gone);
        break;
    case CHANGE_COHORT:
        apply_cohort(s, &c->cohort);
        break;
    case CHANGE_COHORT_GONE:
        quota_cohort_gone(&s->quota, c->gone);
        cohort_is_another(s);
        break;
    case CHANGE_QUEUE:
        apply_queue(s, &c->queue);
        break;
    case CHANGE_QUEUE_GONE:
        apply_queue_gone(s, c->gone);
        break;
    case CHANGE_LOCAL_QUEUE:
        apply_local_queue(s, &c->local_queue);
        break;
    case CHANGE_LOCAL_QUEUE_GONE:
        apply_local_queue_gone(s, c->gone);
        break;
    case CHANGE_GANG:
        state_apply_gang(s, &c->gang);
        break;
    case CHANGE_GANG_GONE:
        state_apply_gang_gone(s, c->gone);
        break;
    case CHANGE_POD:
        state_apply_pod(s, &c->pod);
        break;
    case CHANGE_POD_GONE:
        state_apply_pod_gone(s, c->gone);
        break;
    case CHANGE_BUDGET:
        budget_apply(s, &c->budget);
        break;
    case CHANGE_BUDGET_GONE:
        budget_gone(s, c->gone);
        break;
    case CHANGE_OUTCOME:
        state_apply_outcome(s, &c->outcome);
        break;
    }
}
