/* state_look.c - what others may see of the state */
#include "core/explain/why.h"
#include "core/place/domain.h"
#include "core/queue/admission.h"
#include "core/queue/consumption.h"
#include "core/queue/order.h"
#include "core/queue/shrink.h"
#include "core/quota/count.h"
#include "core/quota/share.h"
#include "core/state/state.h"
#include "core/state/state_gang.h"

static struct queue_counts counts_of(const struct counts *c)
{
    return (struct queue_counts){.pending_n = (int32_t)c->pending_n, .reserving_n = (int32_t)c->reserving_n,
                                 .admitted_n = (int32_t)c->admitted_n};
}

bool state_queue_counts(const struct state *s, name_id queue, struct queue_counts *ret_counts)
{
    const struct queue *q = queue_find(s, queue);
    if (!q)
        return false;
    *ret_counts = counts_of(&q->counts);
    return true;
}

bool state_queue_placement(const struct state *s, name_id queue, struct queue_placement *ret_placement)
{
    const struct queue *q = queue_find(s, queue);
    if (q)
        *ret_placement = q->placement;
    return q != NULL;
}

bool state_placed_by_kinds(const struct state *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->queues_n && s->placements_n && !any; i++)
        any = s->queues[i]->placement.own && placement_looks_at_kinds(s->queues[i]->placement.by);
    return any;
}

int32_t state_queue_held_n(const struct state *s, name_id queue)
{
    const struct queue *q = queue_find(s, queue);
    int32_t n = 0;
    for (uint32_t i = 0; i < s->local_queues_n && q; i++)
        n += s->local_queues[i].counted == q && s->local_queues[i].stop != STOP_NONE ? (int32_t)s->local_queues[i].counts.pending_n : 0;
    return n;
}

bool state_local_queue_counts(const struct state *s, name_id local_queue, struct queue_counts *ret_counts)
{
    const struct local_queue *l = local_queue_find(s, local_queue);
    if (!l)
        return false;
    *ret_counts = counts_of(&l->counts);
    return true;
}

/* ---- shares ---- */

bool state_share(struct state *s, name_id name, bool is_cohort, int64_t *ret_share)
{
    uint32_t node = name ? id_map_get(is_cohort ? &s->quota.cohorts : &s->quota.queues, name) : 0;
    if (!node)
        return false;
    quota_settle(&s->quota);
    *ret_share = share_weighted(share_of(&s->quota, node));
    return true;
}

uint32_t state_cohorts_above(const struct state *s, name_id queue, name_id *ret_cohorts, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t at = s->quota.nodes[id_map_get(&s->quota.queues, queue)].parent; at && n < most; at = s->quota.nodes[at].parent)
        ret_cohorts[n++] = s->quota.nodes[at].name;
    return n;
}

/* ---- usage ---- */

static struct queue_usage *row_of(struct queue_usage *rows, uint32_t n, name_id flavor, name_id resource)
{
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].flavor == flavor && rows[i].resource == resource)
            return &rows[i];
    return NULL;
}

static uint32_t usage_rows(const struct queue *q, struct arena *a, struct queue_usage **ret_rows)
{
    uint32_t n = 0, most = q->quotas_n;
    for (uint32_t g = 0; g < q->groups_n; g++)
        most += q->groups[g].resources_n * q->groups[g].flavors_n;
    struct queue_usage *rows = arena_zero(a, most + 1, sizeof *rows);
    for (uint32_t g = 0; g < q->groups_n; g++)
        for (uint32_t f = 0; f < q->groups[g].flavors_n; f++)
            for (uint32_t r = 0; r < q->groups[g].resources_n; r++)
                rows[n++] = (struct queue_usage){.flavor = q->groups[g].flavors[f], .resource = q->groups[g].resources[r],
                                                 .borrowing_limit = NO_LIMIT, .lending_limit = NO_LIMIT};
    for (uint32_t i = 0; i < q->quotas_n; i++) {
        if (count_kept_of(q, q->quotas[i].resource))
            continue; /* a part of what another row has */
        struct queue_usage *row = row_of(rows, n, q->quotas[i].flavor, q->quotas[i].resource);
        if (!row) {
            row = &rows[n++];
            *row = (struct queue_usage){.flavor = q->quotas[i].flavor, .resource = q->quotas[i].resource};
        }
        row->nominal = q->quotas[i].nominal;
        row->borrowing_limit = q->quotas[i].borrowing_limit;
        row->lending_limit = q->quotas[i].lending_limit;
    }
    *ret_rows = rows;
    return n;
}

static name_id choice_of(const struct gang *g, uint32_t set, name_id resource)
{
    for (uint32_t i = 0; i < g->own->choices_n; i++)
        if (g->own->choices[i].pod_set == set && g->own->choices[i].resource == resource)
            return g->own->choices[i].flavor;
    return 0;
}

/* Reserved, but not used: by members that are done, and by what is not admitted yet. */
static void subtract_unused(const struct state *s, const struct gang *g, struct queue_usage *rows, uint32_t n)
{
    bool unused = g->reserved_only || g->phase == GANG_CHECKING;
    for (uint32_t i = 0; unused && i < g->own->charges_n; i++) {
        struct queue_usage *row = row_of(rows, n, g->own->charges[i].flavor, g->own->charges[i].resource);
        if (row)
            row->used -= g->own->charges[i].amount;
    }
    for (uint32_t i = 0; !unused && i < g->sets_n; i++) {
        const struct shape_class *c = &s->shapes.classes[set_charged(&g->sets[i])];
        int32_t done_n = set_gone_n(&g->sets[i]) - g->sets[i].reclaimed_n; /* what is reclaimed is not reserved any more */
        for (uint32_t k = 0; k < c->demands_n && done_n; k++) {
            struct queue_usage *row = row_of(rows, n, choice_of(g, i, c->demands[k].resource), c->demands[k].resource);
            if (row)
                row->used -= c->demands[k].value * done_n;
        }
    }
}

static int64_t over(int64_t amount, int64_t nominal)
{
    return amount > nominal ? amount - nominal : 0;
}

uint32_t state_queue_usage(const struct state *s, name_id queue, struct arena *a, struct queue_usage **ret_rows)
{
    const struct queue *q = queue_find(s, queue);
    *ret_rows = NULL;
    if (!q)
        return 0;
    uint32_t n = usage_rows(q, a, ret_rows);
    for (uint32_t i = 0; i < n; i++) {
        struct queue_usage *row = &(*ret_rows)[i];
        const struct quota_cell *cell = quota_find(&s->quota, q->quota, row->flavor, row->resource);
        row->reserved = row->used = cell ? cell->usage : 0;
        row->borrowed = over(row->reserved, row->nominal);
        row->left_by_bounds = quota_left_by_bounds(&s->quota, q->quota, row->flavor, row->resource);
        const struct quota_cell *kept = quota_find(&s->quota, q->quota, row->flavor, count_as_kept(q, row->resource));
        row->kept = kept ? kept->usage : 0;
    }
    for (uint32_t i = 0; i < q->charged_n; i++)
        subtract_unused(s, q->charged[i], *ret_rows, n);
    for (uint32_t i = 0; i < n; i++)
        (*ret_rows)[i].used_borrowed = over((*ret_rows)[i].used, (*ret_rows)[i].nominal);
    return n;
}

static void add_held(const struct state *s, const struct gang *g, struct queue_usage *rows, uint32_t n)
{
    for (uint32_t k = 0; k < g->own->charges_n; k++) {
        struct queue_usage *row = row_of(rows, n, g->own->charges[k].flavor, g->own->charges[k].resource);
        if (!row)
            continue;
        row->reserved += g->own->charges[k].amount;
        row->used += g->own->charges[k].amount;
    }
    subtract_unused(s, g, rows, n);
}

uint32_t state_local_queue_usage(const struct state *s, name_id local_queue, struct arena *a, struct queue_usage **ret_rows)
{
    const struct local_queue *l = local_queue_find(s, local_queue);
    const struct queue *q = l ? queue_find(s, l->queue) : NULL;
    *ret_rows = NULL;
    if (!q)
        return 0;
    uint32_t n = usage_rows(q, a, ret_rows);
    for (uint32_t i = 0; i < q->charged_n; i++)
        if (q->charged[i]->own->local_queue == local_queue)
            add_held(s, q->charged[i], *ret_rows, n);
    return n;
}

uint32_t state_local_queues_usage(const struct state *s, struct arena *a, struct local_usage **ret_all)
{
    struct local_usage *all = arena_zero(a, s->local_queues_n + 1, sizeof *all);
    struct local_usage **of = arena_zero(a, s->local_queues_n + 1, sizeof *of); /* by index of the LocalQueue */
    uint32_t n = 0;
    for (uint32_t i = 1; i < s->local_queues_n; i++) {
        const struct local_queue *l = &s->local_queues[i];
        const struct queue *q = l->known ? queue_find(s, l->queue) : NULL;
        if (!q)
            continue;
        of[i] = &all[n++];
        of[i]->local_queue = l->key;
        of[i]->rows_n = usage_rows(q, a, &of[i]->rows);
    }
    for (uint32_t i = 1; i < s->queues_n; i++)
        for (uint32_t k = 0; k < s->queues[i]->charged_n; k++) {
            const struct gang *g = s->queues[i]->charged[k];
            uint32_t at = g->own->local_queue ? id_map_get(&s->local_queue_by_key, g->own->local_queue) : 0;
            if (at && of[at] && queue_find(s, s->local_queues[at].queue) == s->queues[i])
                add_held(s, g, of[at]->rows, of[at]->rows_n);
        }
    *ret_all = all;
    return n;
}

const struct reason *state_queue_problem(const struct state *s, name_id queue, struct arena *a)
{
    const struct queue *q = queue_find(s, queue);
    if (!q)
        return reason_new(a, (struct reason){.code = REASON_QUEUE_MISSING, .name = queue});
    return why_queue_refuses(s, q, a);
}

/* ---- gangs ---- */

enum gang_phase state_gang_phase(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g ? g->phase : GANG_UNKNOWN;
}

bool state_gang_is_told(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && g->api_admitted;
}

bool state_gang_is_told_evicted(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && g->own->told_evicted;
}

bool state_gang_is_awaited(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && g->preemptor;
}

uint32_t state_gang_choices(const struct state *s, name_id gang, name_id *ret_queue, const struct flavor_choice **ret_choices)
{
    const struct gang *g = gang_find(s, gang);
    bool holds = g && gang_holds(g);
    *ret_queue = holds && g->queue ? g->queue->name : 0;
    *ret_choices = holds ? g->own->choices : NULL;
    return holds ? g->own->choices_n : 0;
}

uint32_t state_gang_domains(const struct state *s, name_id gang, const struct domain_choice **ret_domains)
{
    const struct gang *g = gang_find(s, gang);
    *ret_domains = g && gang_holds(g) ? g->own->told : NULL;
    return g && gang_holds(g) ? g->own->told_n : 0;
}

name_id state_gang_lost(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    return g && gang_holds(g) ? g->own->lost : 0;
}

uint32_t state_gang_levels(const struct state *s, name_id gang, uint32_t pod_set, const name_id **ret_levels)
{
    const struct gang *g = gang_find(s, gang);
    uint32_t topology = g && gang_holds(g) ? domain_topology(s, g->own->choices, g->own->choices_n, pod_set) : 0;
    if (!topology || topology == DOMAIN_SEVERAL)
        return 0;
    const struct topology *t = &s->topologies[topology];
    *ret_levels = t->by_node ? &t->levels[t->levels_n - 1] : t->levels;
    return t->by_node ? 1 : t->levels_n;
}

int32_t state_gang_granted(const struct state *s, name_id gang, name_id pod_set)
{
    const struct gang *g = gang_find(s, gang);
    for (uint32_t i = 0; g && gang_holds(g) && i < g->sets_n; i++)
        if (g->sets[i].name == pod_set)
            return set_needs(&g->sets[i]);
    return -1;
}

int32_t state_gang_set(const struct state *s, name_id gang, const char *pod_set)
{
    const struct gang *g = gang ? gang_find(s, gang) : NULL;
    for (uint32_t i = 0; g && i < g->sets_n; i++)
        if (!strcmp(intern_name(s->names, g->sets[i].name), pod_set) || (!*pod_set && g->sets_n == 1))
            return (int32_t)i;
    return -1;
}

const struct reason *state_gang_reason(const struct state *s, name_id gang)
{
    static _Thread_local struct reason behind, plain;
    const struct gang *g = gang_find(s, gang);
    if (!g)
        return NULL;
    if (g->reason || !g->line)
        return g->reason;
    const struct gang *front = order_blocker(g->line->queue);
    if ((!front || front == line_first(g->line)) && g->line->reason) {
        plain = *g->line->reason;
        if (plain.remedies && plain.remedies->name != gang)
            plain.remedies = NULL; /* those of the first of the line */
        return &plain;
    }
    if (!front || front == line_first(g->line))
        return NULL;
    const struct queue *q = g->line->queue;
    behind = (struct reason){.code = REASON_BEHIND, .queue_kind = q->kind, .queue = q->title, .name = front->key};
    return &behind;
}

static bool stands_in_line(const struct gang *g)
{
    return g->phase == GANG_WAITING && (g->line || (g->park && g->park->at));
}

name_id state_queue_front(const struct state *s, name_id queue, struct arena *a)
{
    const struct queue *q = queue_find(s, queue);
    const struct gang *front = q && q->strategy == QUEUE_STRICT_FIFO ? admission_front(s, q, NULL, a) : NULL;
    return front ? front->key : 0;
}

int32_t state_gang_position(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    if (!g || !stands_in_line(g))
        return -1;
    name_id missing;
    const struct queue *q = gang_asks_queue(s, g, &missing);
    int32_t position = 0;
    for (uint32_t i = 0; i < s->gangs_n; i++) {
        const struct gang *other = s->gangs[i];
        if (other != g && stands_in_line(other) && gang_asks_queue(s, other, &missing) == q)
            position += consumption_before(s, q, other, g);
    }
    return position;
}

const struct reason *state_gang_kept_out(const struct state *s, name_id gang, struct arena *a)
{
    const struct gang *g = gang_find(s, gang);
    return g && g->phase != GANG_UNKNOWN ? admission_why_kept_out(s, g, a) : reason_new(a, (struct reason){.code = REASON_NOT_TRIED});
}

uint32_t state_node_feedback(const struct state *s, name_id node, int64_t now_ms, const struct device_feedback **ret_feedback,
                             int64_t *ret_age_ms)
{
    uint32_t slot = node_table_find(&s->nodes, node);
    const struct node_feedback *f = slot ? s->nodes.nodes[slot].feedback : NULL;
    int64_t age_ms = f ? now_ms - f->at_ms : 0;
    /* Clocks of nodes are a little off; a sample from far in the future is as little worth as an old one. */
    if (!f || age_ms > FEEDBACK_PERIODS * f->period_ms || -age_ms > FEEDBACK_PERIODS * f->period_ms)
        return 0;
    *ret_feedback = f->all;
    *ret_age_ms = age_ms > 0 ? age_ms : 0;
    return f->n;
}

int64_t state_node_network(const struct state *s, name_id node, int64_t now_ms)
{
    const struct device_feedback *unused;
    int64_t age_ms;
    if (!state_node_feedback(s, node, now_ms, &unused, &age_ms))
        return -1;
    return s->nodes.nodes[node_table_find(&s->nodes, node)].feedback->network_bps - 1;
}

bool state_gang_look(const struct state *s, name_id gang, struct gang_look *ret_look)
{
    const struct gang *g = gang_find(s, gang);
    if (!g)
        return false;
    name_id missing;
    const struct queue *q = g->queue ? g->queue : gang_asks_queue(s, g, &missing);
    *ret_look = (struct gang_look){.ns = g->ns,
                                   .queue_title = q ? q->title : g->own->queue_title,
                                   .priority = g->priority,
                                   .bound_n = (int32_t)g->bound_n,
                                   .created_ms = g->created_ms,
                                   .active = g->active,
                                   .on_hold = g->on_hold,
                                   .finished = g->finished};
    for (uint32_t i = 0; g->planned && i < g->sets_n; i++)
        ret_look->asked_n += g->sets[i].asked_n;
    if (!g->planned)
        ret_look->fewest_n = g->min_members;
    if (!g->planned)
        ret_look->asked_n = g->min_members > (int32_t)g->members_n ? g->min_members : (int32_t)g->members_n;
    for (uint32_t i = 0; i < g->members_n; i++) {
        const struct pod *p = &s->pods[g->members[i]];
        if (p->started_ms && !p->former && (!ret_look->started_ms || p->started_ms < ret_look->started_ms))
            ret_look->started_ms = p->started_ms;
    }
    return true;
}

int64_t state_gang_unmade(const struct state *s, name_id gang)
{
    const struct gang *g = gang_find(s, gang);
    int64_t n = 0;
    for (uint32_t i = 0; g && g->planned && g->phase < GANG_BOUND && i < g->sets_n; i++) {
        const struct gang_set *set = &g->sets[i];
        int64_t over_n = set->reclaimed_n > set->done_n ? set->reclaimed_n - set->done_n : 0; /* those that succeeded are there */
        int64_t lack = set->count - over_n - gang_members_there(s, g, g->sets_n > 1 ? set->name : 0);
        n += lack > 0 && !set->later && !set->serial ? lack : 0;
    }
    return n;
}

/* ---- nodes ---- */

static void look_at_devices(const struct state *s, const struct node *node, struct node_detail *d)
{
    for (uint32_t seat = node->first_seat; seat; seat = s->seats[seat].next) {
        const struct seat *at = &s->seats[seat];
        struct device_bits bits = seat_devices(at);
        for (uint32_t i = 0; i < d->devices_n; i++)
            if (device_bit(&bits, i)) {
                d->devices[i].gang = at->gang ? at->gang->key : 0;
                d->devices[i].pod = at->pod ? s->pods[at->pod].key : 0;
            }
    }
}

static void look_at_taken(const struct state *s, const struct node *node, struct node_detail *d)
{
    for (uint32_t seat = node->first_seat; seat; seat = s->seats[seat].next) {
        const struct seat *at = &s->seats[seat];
        const struct shape_class *c = &s->shapes.classes[at->shape];
        for (uint32_t k = 0; k < c->demands_n; k++)
            for (uint32_t i = 0; i < d->amounts_n; i++)
                if (c->demands[k].resource == d->amounts[i].resource && c->demands[k].value > 0)
                    d->taken[d->taken_n++] = (struct amount_look){c->demands[k].resource, at->gang ? at->gang->key : 0,
                                                                  at->pod ? s->pods[at->pod].key : 0, c->demands[k].value};
    }
}

static uint16_t milli_of(const struct gpu_ledger *gpu, const struct gpu_share *share)
{
    int64_t memory = gpu_memory(gpu), mib = device_share_mib(gpu, share), of_memory = mib < memory ? mib * 1000 / memory : 1000;
    int64_t milli = share->parts > of_memory ? share->parts : of_memory;
    return (uint16_t)(milli < 1000 ? milli : 1000);
}

static void look_at_shares(const struct state *s, const struct node *node, struct arena *a, struct node_detail *d)
{
    const struct device_table *t = &node->devices;
    if (!t->gpus)
        return;
    const struct device_span *span = &t->spans[t->parts_at];
    d->shares = arena_alloc(a, ((size_t)node->seats_n * span->n + 1) * sizeof *d->shares);
    for (uint32_t seat = node->first_seat; seat; seat = s->seats[seat].next) {
        const struct seat *at = &s->seats[seat];
        const struct gpu_share *share = seat_share(s, at);
        struct device_bits bits = seat_devices(at);
        for (uint32_t i = span->first; share && i < (uint32_t)span->first + span->n; i++)
            if (device_bit(&bits, i))
                d->shares[d->shares_n++] = (struct share_look){at->gang ? at->gang->key : 0, at->pod ? s->pods[at->pod].key : 0,
                                                               t->all[i].gpu, milli_of(&t->gpus[t->gpu_of[i]], share)};
    }
}

bool state_node_detail(const struct state *s, name_id name, struct arena *a, struct node_detail *ret_detail)
{
    uint32_t slot = name ? node_table_find(&s->nodes, name) : 0;
    if (!slot || !(s->nodes.flags[slot] & NODE_KNOWN))
        return false;
    const struct node *node = &s->nodes.nodes[slot];
    const struct device_table *t = &node->devices;
    struct node_detail d = {.ready = s->nodes.flags[slot] & NODE_READY,
                            .unschedulable = s->nodes.flags[slot] & NODE_UNSCHEDULABLE,
                            .labels = node->labels,
                            .labels_n = node->labels_n,
                            .devices = arena_zero(a, t->n + 1u, sizeof *d.devices),
                            .devices_n = t->n,
                            .amounts = arena_zero(a, s->device_columns_n + 1, sizeof *d.amounts)};
    for (uint32_t i = 0; i < t->n; i++)
        d.devices[i] = (struct device_look){.resource = t->all[i].resource, .id = t->all[i].id, .gpu = t->all[i].gpu,
                                            .healthy = t->all[i].healthy};
    for (uint32_t i = 0; i < s->device_columns_n; i++) {
        name_id resource = s->nodes.columns[s->device_columns[i]];
        int64_t value = node_allocatable(&s->nodes, slot)[s->device_columns[i]];
        if (value > 0 && !device_table_span(t, resource))
            d.amounts[d.amounts_n++] = (struct amount){resource, value};
    }
    look_at_devices(s, node, &d);
    d.taken = arena_zero(a, (size_t)node->seats_n * d.amounts_n + 1, sizeof *d.taken);
    look_at_taken(s, node, &d);
    look_at_shares(s, node, a, &d);
    *ret_detail = d;
    return true;
}

struct ranked_node {
    uint32_t rank;
    struct node_look look;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked_node *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

uint32_t state_nodes(const struct state *s, struct arena *a, struct node_look **ret_nodes)
{
    struct ranked_node *all = arena_alloc(a, (s->nodes.n + 1) * sizeof *all);
    struct node_look *looks = arena_alloc(a, (s->nodes.n + 1) * sizeof *looks);
    uint32_t n = 0;
    for (uint32_t slot = 1; slot < s->nodes.n; slot++) {
        struct label_list labels = node_labels(&s->nodes, slot);
        if (s->nodes.flags[slot] & NODE_KNOWN)
            all[n++] = (struct ranked_node){s->nodes.rank[slot], {s->nodes.nodes[slot].name, labels.all, labels.n}};
    }
    if (n > 1)
        qsort(all, n, sizeof *all, compare_ranked);
    for (uint32_t i = 0; i < n; i++)
        looks[i] = all[i].look;
    *ret_nodes = looks;
    return n;
}

uint64_t state_nodes_seq(const struct state *s)
{
    return s->nodes.labels_seq;
}
